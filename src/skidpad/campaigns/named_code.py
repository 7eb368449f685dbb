"""Code that a plan file names as `module:name`: beside the file, or installed. It is run."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InvalidValue
from ..record import unknown_name
from .plan_node import Node


def code_of(node: Node) -> Any:
    """What a text such as `my_module:policy` or `package.module:Class.method` names."""
    text = node.text()
    module_name, colon, path = text.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *parts)):
        raise node.fault("must be module:name, as in my_module:policy")
    target: Any = _module(module_name, node)
    for k, part in enumerate(parts):
        if not hasattr(target, part):
            owner = ".".join([module_name, *parts[:k]])
            names = [name for name in dir(target) if not name.startswith("_")]
            words = unknown_name(owner, part, names, "name")
            raise InvalidValue(f"{node.file}: {node.place}: {words}")
        target = getattr(target, part)
    return target


def _module(name: str, node: Node) -> ModuleType:
    folder = str(node.folder.resolve())
    if folder not in sys.path:
        # Last, so that a file called random.py beside the plan hides nothing; and left there,
        # because worker processes import from where this one does.
        sys.path.append(folder)
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise node.fault(
            f"cannot be imported, neither from {folder} nor from what is installed: {error}"
        ) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise node.fault(f"cannot be imported: {reason:.300}") from error
    _check_not_hidden(module, name, node)
    return module


def _check_not_hidden(module: ModuleType, name: str, node: Node) -> None:
    """Raise if the file beside the plan is not what was imported."""
    top = name.partition(".")[0]
    beside = [node.folder / f"{top}.py", node.folder / top / "__init__.py"]
    own = next((path for path in beside if path.is_file()), None)
    loaded = getattr(sys.modules.get(top, module), "__file__", None)
    if own is not None and (loaded is None or Path(loaded).resolve() != own.resolve()):
        raise node.fault(f"means {own}, but another module {top} is loaded: {loaded}; rename it")
