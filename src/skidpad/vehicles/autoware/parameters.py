"""Parameters of the command-driven vehicles, read from Autoware's own files and checked.

    gather(["simulator_model.param.yaml", "vehicle_info.param.yaml"], "DELAY_STEER_ACC_GEARED")

`schema` lists the parameters. A name nobody knows gives a warning, since files are shared with
other nodes; a value of the wrong type, a missing one or an unreadable map is an error.
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import InvalidValue
from ...files import path_of, replacing
from ...record import unknown_name
from .map_file import NoTableInFile, Table, read_table
from .schema import ALIASES, LEARNED, MAPS, NAMES, PARAMETERS, SILENT, Parameter, table
from .sources import ROOT, Entry, files, flatten

__all__ = [
    "AssumedParameter",
    "RepeatedParameter",
    "UnknownParameter",
    "gather",
    "period",
    "table",
    "write",
]

UPSTREAM = "upstream"
"""The value of `compat` that reproduces the upstream program."""

_CONVERSIONS = {"accel_map_path": "convert_accel_cmd", "brake_map_path": "convert_brake_cmd"}
"""Maps that are used only if a switch is on."""
_FORGIVEN = ("acceleration_map_path", *_CONVERSIONS)
"""Maps without which the upstream program goes on."""


class UnknownParameter(UserWarning):
    """A parameter that the simulator does not have; it is ignored."""


class AssumedParameter(UserWarning):
    """A parameter that should be given and is not; its default is used."""


class RepeatedParameter(UserWarning):
    """A key that stands twice in a file; the last one counts, as in ROS."""


def gather(source: Any, name: str | None = None, compat: str | None = None) -> dict[str, Any]:
    """All parameters, those of the model `name` complete.

    `source` is a mapping, the path of a YAML file, or a sequence of these in which later ones win;
    None stands for no parameters. `name` is one of `schema.NAMES`; without it `vehicle_model_type`
    chooses. In the result every parameter has its value, its default, or None if it has neither;
    `acceleration_map`, `accel_map`, `brake_map` and `steer_map` are tables, or None where the model
    uses no such map or its conversion is off. Paths of maps lead from the folder of the YAML file,
    those in a mapping from the working folder.

    With `compat="upstream"` an acceleration, accel or brake map counts as none, as in the upstream
    program, if its file cannot be read or its lines have unequal or too few cells. Any other map
    that is wrong ends that program, and is an error here.
    """
    if compat not in (None, UPSTREAM):
        raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None and {UPSTREAM!r}")
    entries = _entries(source)
    model = _model(entries, name)
    values = {key: p.default for key, p in PARAMETERS.items()}
    values |= {key: _checked(PARAMETERS[key], item) for key, item in entries.items()}
    values["vehicle_model_type"] = model
    _require(model, values, files(source))
    _warn_of_wheel_base(model, entries)
    _check_lists(model, values, entries)
    _warn_of_method(model, entries)
    for path, short in MAPS.items():
        values[short] = None
        if _uses_map(model, path, values):
            values[short] = _map(entries[path], values[path], compat)
            if values[short] is None and path in _CONVERSIONS:
                values[_CONVERSIONS[path]] = False
        if isinstance(values[path], Table):
            values[path] = None
    return values


def written_in_files(source: Any, names: Collection[str]) -> list[str]:
    """Where files among the sources give one of these parameters that nothing later overrides."""
    last = {ALIASES.get(item.name, item.name): item for item in flatten(source) if not item.stray}
    return sorted({last[n].place for n in names if n in last and last[n].folder is not None})


def period(values: Mapping[str, Any]) -> float:
    """The nominal period of updates among gathered parameters, in s."""
    return values["timer_sampling_time_ms"] / 1000.0


def write(path: str | os.PathLike[str], values: Mapping[str, Any], name: str) -> None:
    """Write a parameter file for the model `name` that `gather` and Autoware read.

    Of `values`, by the names of `gather`, those are written that the model or the simulator around
    it uses. Maps inside the folder of the file are written as relative paths. The file is whole or
    not there.
    """
    import yaml

    _known(name)
    target = path_of(path)
    for key in values:
        if key not in PARAMETERS and key not in ALIASES:
            raise InvalidValue(unknown_name("the parameter file", key, tuple(PARAMETERS)))
    entries = {
        ALIASES.get(key, key): Entry(key, value, "parameters", None)
        for key, value in values.items()
        if value is not None and key not in MAPS.values()
    }
    lines: dict[str, Any] = {"vehicle_model_type": name}
    for key, parameter in PARAMETERS.items():
        used = not parameter.models or name in parameter.models
        if key == "vehicle_model_type" or not used or parameter.unread:
            continue
        if key in MAPS and key not in entries and values.get(MAPS[key]) is not None:
            raise InvalidValue(f"{MAPS[key]} was not read from a file, so {key} cannot be written")
        if key in entries:
            *above, last = key.split(".")
            inner = lines.setdefault(above[0], {}) if above else lines
            inner[last] = _written(_checked(parameter, entries[key]), key, target)
    with replacing(target) as temporary:
        text = yaml.safe_dump({"/**": {ROOT: lines}}, sort_keys=False, width=10_000)
        temporary.write_text(text, encoding="utf-8")


def _warn_of_wheel_base(model: str, entries: Mapping[str, Entry]) -> None:
    """It stands in another file than the rest, so it is easily forgotten."""
    if entries and "wheel_base" not in entries and model in PARAMETERS["wheel_base"].models:
        _warn(
            f"wheel_base is not given; {PARAMETERS['wheel_base'].default} m is used, that of "
            "Autoware's sample vehicle. It stands in vehicle_info.param.yaml",
            AssumedParameter,
        )


def _entries(source: Any) -> dict[str, Entry]:
    """The last value given for each parameter, by its own name."""
    chosen: dict[str, Entry] = {}
    entries = list(flatten(source))
    for text in dict.fromkeys(item.repeated for item in entries if item.repeated):
        _warn(text, RepeatedParameter)
    for item in entries:
        key = ALIASES.get(item.name, item.name)
        if item.stray:
            _warn(f"{item.place}: {item.name} is outside of {ROOT} and ignored")
        elif key in PARAMETERS:
            chosen[key] = item
        elif key not in SILENT:
            near = difflib.get_close_matches(key, [*PARAMETERS, *ALIASES], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            _warn(f"{item.place}: {item.name} is not a parameter of the simulator, ignored{hint}")
    return chosen


def _warn(message: str, kind: type[Warning] = UnknownParameter) -> None:
    """Warn where the user's code calls the package, however deep in the package this is."""
    level, frame = 1, inspect.currentframe()
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals["__name__"].startswith(f"{package}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def _model(entries: Mapping[str, Entry], name: str | None) -> str:
    if name is not None:
        return _known(name)
    item = entries.get("vehicle_model_type")
    if item is None:
        return PARAMETERS["vehicle_model_type"].default
    return _known(item.value, f"{item.place}: ")


def _known(name: Any, place: str = "") -> str:
    if name not in NAMES:
        near = difflib.get_close_matches(str(name), NAMES, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise InvalidValue(
            f"{place}vehicle_model_type = {name!r} is unknown{hint} Allowed are {', '.join(NAMES)}"
        )
    return name


def _checked(parameter: Parameter, item: Entry) -> Any:
    """The value, if it has the type and the range of the parameter."""
    value = item.value
    if item.name == "queue_dt":
        value = _milliseconds(item)
    elif parameter.kind == "path":
        return _path(item)
    else:
        value = _typed(parameter, item)
    if parameter.allowed is not None and value not in parameter.allowed:
        raise InvalidValue(f"{item.place}: {item.name} = {value} must be {parameter.allowed}")
    return value


def _typed(parameter: Parameter, item: Entry) -> Any:
    value, kind = item.value, parameter.kind
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a NumPy scalar
    if kind == "bool":
        # C programs and tables have no other way to write it; in a ROS file it is a mistake.
        if item.folder is None and isinstance(value, int) and value in (0, 1):
            return bool(value)
        if isinstance(value, bool):
            return value
    elif kind == "string" and isinstance(value, str):
        return value
    elif kind == "strings" and isinstance(value, (list, tuple)):
        if all(isinstance(text, str) for text in value):
            return tuple(value)
    elif isinstance(value, bool):
        pass
    elif kind == "integer" and isinstance(value, int):
        return value
    elif kind == "double" and isinstance(value, numbers.Real):
        return _finite(item, value)
    raise InvalidValue(
        f"{item.place}: {item.name} must be {_TYPES[kind]}, got {value!r} ({type(value).__name__})"
    )


_TYPES = {
    "double": "a number",
    "integer": "a whole number",
    "bool": "true or false",
    "string": "text",
    "strings": "a list of texts",
    "path": "the path of a CSV file",
}


def _finite(item: Entry, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise InvalidValue(f"{item.place}: {item.name} = {number} must be finite")
    return number


def _milliseconds(item: Entry) -> float:
    seconds = _typed(Parameter(item.name, "double", None, "s", ""), item)
    # Decimal fractions of a second, such as 0.035, are whole numbers of ms in spite of rounding.
    value = round(seconds * 1000.0, 9)
    return int(value) if value == int(value) else value


def _path(item: Entry) -> str | Table:
    """The absolute path of a map, or the table that was given in its place."""
    value = item.value
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str) and text.strip():
            # Not resolved against anything while it holds something to be substituted.
            folder = Path.cwd() if item.folder is None else item.folder.absolute()
            return text if "$(" in text else str(folder / text)
    elif item.folder is None and value is not None and not isinstance(value, (bool, int, float)):
        return _table_of(item)
    raise InvalidValue(
        f"{item.place}: {item.name} must be {_TYPES['path']}, got {value!r} "
        f"({type(value).__name__})"
    )


def _table_of(item: Entry) -> Table:
    try:
        return Table.of(item.value)
    except InvalidValue as error:
        raise InvalidValue(f"{item.place}: {item.name}: {error}") from error


def _uses_map(model: str, path: str, values: Mapping[str, Any]) -> bool:
    switch = _CONVERSIONS.get(path)
    return model in PARAMETERS[path].models and (switch is None or bool(values[switch]))


def _map(item: Entry, where: str | Table, compat: str | None) -> Table | None:
    """The table of a map the model uses; None where upstream goes on without it."""
    if isinstance(where, Table):
        return where
    if "$(" in where:
        raise InvalidValue(
            f"{item.place}: {item.name} = {where!r} holds a substitution that only ROS 2's launch "
            "system can make; it must be replaced by a real path"
        )
    try:
        return read_table(where)
    except InvalidValue as error:
        forgiven = ALIASES.get(item.name, item.name) in _FORGIVEN
        if compat == UPSTREAM and forgiven and isinstance(error, NoTableInFile):
            return None
        raise InvalidValue(f"{item.place}: {item.name}: {error}") from error


def _require(model: str, values: Mapping[str, Any], looked_at: list[str]) -> None:
    missing = [
        key
        for key, parameter in PARAMETERS.items()
        if model in parameter.models
        and values[key] is None
        and (key not in MAPS or _uses_map(model, key, values))
    ]
    if missing:
        where = f"is not in {', '.join(looked_at)}" if looked_at else "was not given"
        listed = "; ".join(f"{key} ({PARAMETERS[key].meaning})" for key in missing)
        raise InvalidValue(f"{model} needs a value that {where}: {listed}")


def _check_lists(model: str, values: Mapping[str, Any], entries: Mapping[str, Entry]) -> None:
    """Raise unless the lists of sub-models, which belong together, have equal lengths."""
    lists = [key for key, parameter in PARAMETERS.items() if parameter.kind == "strings"]
    if model in LEARNED and len({len(values[key]) for key in lists}) > 1:
        places = sorted({entries[key].place for key in lists if key in entries})
        lengths = ", ".join(f"{key} has {len(values[key])}" for key in lists)
        raise InvalidValue(f"{'; '.join(places)}: {lengths}; the lists must be equally long")


def _warn_of_method(model: str, entries: Mapping[str, Entry]) -> None:
    """Say that a documented way to choose the steering conversion has no effect."""
    item = entries.get("convert_steer_cmd_method")
    if item is not None and model == "ACTUATION_CMD":
        _warn(
            f"{item.place}: {item.name} is not read; ACTUATION_CMD takes the tyre angle. "
            "The models with a conversion are ACTUATION_CMD_VGR and ACTUATION_CMD_STEER_MAP"
        )


def _written(value: Any, key: str, target: Path) -> Any:
    """A value as YAML has it; a map inside the folder of the file by its relative path."""
    if isinstance(value, Table):
        raise InvalidValue(f"{key} must be {_TYPES['path']} to be written, got a table")
    if key in MAPS:
        folder = target.absolute().parent
        inside = Path(value).is_relative_to(folder)
        return Path(value).relative_to(folder).as_posix() if inside else value
    return list(value) if isinstance(value, tuple) else value
