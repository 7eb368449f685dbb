"""Optional packages: imported where they are used, and named in one sentence when absent."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import MissingExtra


def require(module: str, *, extra: str, purpose: str) -> Any:
    """The imported module; `purpose` begins the message, as in "Trajectory.to_pandas"."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs {package}, which is not installed: pip install skidpad[{extra}]"
        ) from error
