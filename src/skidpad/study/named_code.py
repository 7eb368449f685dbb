"""Resolution of vehicles and other code by name, as in command lines and plan files.

`two_track` is a listed vehicle, `two_track:sports` the same with a parameter set, and `module:name`
code of the user: a vehicle, or a function that makes one. The module is searched in a folder (the
working directory, or the folder of the plan file) and among installed packages; it is executed on
import.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import vehicles
from ..core.files import CALIBRATION, WITH_FILE, parameter_changes
from ..core.model import Vehicle, VehicleFactory
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..vehicles.command_driven.parameters import AssumedParameter
from ..vehicles.registry import COMMAND_DRIVEN
from ..vehicles.twin_track.model import TYRES

TYRE_NAMES = tuple(name for group in TYRES for name in group)
"""Names in `settings` whose values are tyre files or tyre names."""

Fault = Callable[[str], InvalidValue]
"""Function that makes an error about a text from a description of the problem."""


def is_own(text: str) -> bool:
    """Whether a text has the form `module:name` of a user's vehicle."""
    head, colon, tail = text.partition(":")
    parts = (*head.split("."), *tail.split("."))
    return bool(colon) and head not in _known() and all(part.isidentifier() for part in parts)


def vehicle_by_text(
    text: str,
    settings: Mapping[str, float | str] | None = None,
    *,
    folder: str | os.PathLike[str] = ".",
    files: Sequence[Path] = (),
    telling: bool = False,
    fault: Fault | None = None,
) -> Vehicle:
    """Vehicle named by a text, with some parameters replaced.

    Args:
        text: `two_track`, `two_track:sports` with a parameter set, or `module:name` for a vehicle
            of the user or a function that makes one; each may be followed by a colon and a
            parameter file (`two_track:sports:mine.yaml`), whose calibration of a log is left out.
        settings: numbers by dotted names of parameters; `tyre`, or `front` and `rear`, or `fl`,
            `fr`, `rl` and `rr` are files (`.tir`) or names of tyres.
        folder: the folder in which the module of a user's vehicle is searched first.
        files: parameter files for Autoware's vehicles; others name theirs in the settings.
        telling: whether to warn about assumed parameters.
        fault: makes errors about a text that names code.
    """
    if own := WITH_FILE.fullmatch(text):
        text, files = own[1], (Path(folder) / own[2], *files)
        if text not in COMMAND_DRIVEN:
            typed = settings or {}
            every = parameter_changes(files, typed)
            left_out = {n for n in every if n not in typed and n.startswith(CALIBRATION)}
            settings = {n: v for n, v in every.items() if n not in left_out}
            files = ()
    given = dict(settings or {})
    tyres = {name: _tyre(name, given.pop(name)) for name in TYRE_NAMES if name in given}
    name, colon, chosen = text.partition(":")
    with warnings.catch_warnings():
        # Without parameters, the text asks for the defaults, so there is no warning about assumed
        # values.
        if not telling:
            warnings.simplefilter("ignore", AssumedParameter)
        if name in COMMAND_DRIVEN and not colon:
            if tyres:
                raise InvalidValue(f"{text} takes no tyre: its motion is kinematic")
            return vehicles.get(name)([*map(str, files), given] if files or given else None)
        if name in _known():
            return _listed(name, chosen if colon else None, given, tyres)
        if not colon:
            raise InvalidValue(
                unknown_name("skidpad", name, _known(), "vehicle")
                + "; one of your own is written module:name"
            )

        def about_vehicle(words: str) -> InvalidValue:
            return InvalidValue(f"vehicle = {text!r} {words}")

        car = _own(text, Path(folder), tyres, fault or about_vehicle)
        return car.with_params(given) if given else car


def _known() -> tuple[str, ...]:
    return (*vehicles.names(), *COMMAND_DRIVEN)


def _listed(
    name: str, chosen: str | None, given: Mapping[str, Any], tyres: Mapping[str, Any]
) -> Vehicle:
    if chosen is None:
        return vehicles.get(name)(given or None, **tyres)
    if name in COMMAND_DRIVEN:
        raise InvalidValue(f"{name}:{chosen}: {name} has no parameter sets; use --params")
    factory: Any = vehicles.get(name)
    try:
        car = factory(chosen)
    except InvalidValue as error:
        has_sets = "parameter set" in str(error)
        reason = error if has_sets else f"{name} has no parameter sets; use --params"
        raise InvalidValue(f"{name}:{chosen}: {reason}") from error
    car = factory(chosen, **tyres) if tyres else car
    return car.with_params(given) if given else car


def _own(text: str, folder: Path, tyres: Mapping[str, Any], fault: Fault) -> Vehicle:
    target = code_by_text(text, folder, fault)
    listed = ", ".join(tyres)
    if isinstance(target, Vehicle) and tyres:
        if target.model.name not in vehicles.names():
            raise fault(f"has no tyre to be exchanged; make it a function that takes {listed}")
        return vehicles.get(target.model.name)(target.params, **tyres)
    if isinstance(target, VehicleFactory):
        return target(**tyres)
    if callable(target) and not isinstance(target, Vehicle):
        return made_by_call(target, Vehicle, fault, tyres)
    if not isinstance(target, Vehicle):
        kind = "module" if isinstance(target, ModuleType) else type(target).__name__
        raise fault(f"must be a vehicle, got {kind}")
    return target


def made_by_call(
    target: Callable[..., Any], kind: type, fault: Fault, given: Mapping[str, Any] | None = None
) -> Any:
    """Object made by calling a function; raises unless it is an instance of `kind`."""
    try:
        made = target(**(given or {}))
    except Exception as error:
        how = f"with {', '.join(given)}" if given else "without arguments"
        raise fault(f"was called {how} and raised {_reason(error)}") from error
    if not isinstance(made, kind):
        raise fault(f"must be a {kind.__name__.lower()}, got {type(made).__name__}")
    return made


def _tyre(name: str, value: Any) -> Any:
    from .. import tyres

    if not isinstance(value, str):
        raise InvalidValue(f"{name} = {value!r} must be a file (.tir) or the name of a tyre")
    return tyres.get(value) if value in tyres.names() else tyres.read(value)


def code_by_text(text: str, folder: Path, fault: Fault) -> Any:
    """Import the object that a text such as `my_module:policy` or `package.module:Class.method`
    names."""
    module_name, colon, path = text.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *parts)):
        raise fault("must be module:name, as in my_module:policy")
    target: Any = _module(module_name, folder, fault)
    for k, part in enumerate(parts):
        if not hasattr(target, part):
            owner = ".".join([module_name, *parts[:k]])
            names = [name for name in dir(target) if not name.startswith("_")]
            raise fault(f"cannot be found: {unknown_name(owner, part, names, 'name')}")
        target = getattr(target, part)
    return target


def _module(name: str, folder: Path, fault: Fault) -> ModuleType:
    place = str(folder.resolve())
    if place not in sys.path:
        # Last, so that a file called random.py in it hides nothing; and not removed, because worker
        # processes import from the same folders.
        sys.path.append(place)
        importlib.invalidate_caches()
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise fault(
            f"cannot be imported, neither from {place} nor from what is installed: {error}"
        ) from error
    except Exception as error:
        raise fault(f"cannot be imported: {_reason(error)}") from error
    # A file in the folder must not be hidden by another module of the same name.
    top = name.partition(".")[0]
    files = [folder / f"{top}.py", folder / top / "__init__.py"]
    own = next((path for path in files if path.is_file()), None)
    loaded = getattr(sys.modules.get(top, module), "__file__", None)
    if own is not None and (loaded is None or Path(loaded).resolve() != own.resolve()):
        raise fault(f"means {own}, but another module {top} is loaded: {loaded}; rename it")
    return module


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
