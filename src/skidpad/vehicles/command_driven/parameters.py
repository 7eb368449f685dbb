"""Parameters of the command-driven vehicles, read from Autoware's own files and checked.

    gather(["simulator_model.param.yaml", "vehicle_info.param.yaml"], "DELAY_STEER_ACC_GEARED")

Sources are YAML files of ROS 2 nodes and Python mappings, which are flattened; `records.PARAMETERS`
lists the parameters. An unknown name gives a warning, since files are shared with other nodes; a
value of the wrong type, a missing value or an unreadable map is an error.

A map is a `Table` from two coordinates to a number. Autoware keeps maps in CSV files: the first
line holds a label and the column coordinates, every other line a row coordinate and its values.
Rows are commands (acceleration, pedal, steering); columns are velocities (m/s), or in a steering
map steering angles (rad).
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ...core.files import (
    brief_repr,
    path_of,
    reading_yaml,
    replacing,
    text_of,
    yaml_loader,
    yaml_text_of,
)
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...ops import lookup2
from ..registry import COMMAND_DRIVEN
from .records import ALIASES, LEARNED, MAPS, PARAMETERS, SILENT, Parameter

ROOT = "ros__parameters"
"""The key under which ROS 2 puts the parameters of a node."""

_TABLES = {*MAPS, *(name for name, full in ALIASES.items() if full in MAPS)}


class Entry(NamedTuple):
    """One parameter as found in a source."""

    name: str
    """Dotted name below the node name."""
    value: Any
    place: str
    """Where the parameter was found, for error messages: file and line, or "parameters"."""
    folder: Path | None
    """Folder of the file, to which relative paths refer; None if not from a file."""
    stray: bool = False
    """Whether the entry is outside every node of its file, so that no node reads it."""
    repeated: str = ""
    """Warning text if the key, or a key above it, occurs twice in its file; otherwise empty."""


class _Leaf(NamedTuple):
    path: tuple[str, ...]
    value: Any
    line: int | None = None
    repeated: str = ""


def flatten(source: Any) -> Iterator[Entry]:
    """Yield the parameters of a source (mapping, path, sequence of these, or None) in order."""
    if source is None:
        return
    if isinstance(source, Mapping):
        yield from _named(_of_mapping(source, ()), None)
    elif isinstance(source, (str, os.PathLike)):
        file = Path(source)
        yield from _named(_of_file(file), file)
    elif isinstance(source, Sequence) and not isinstance(source, bytes):
        for part in source:
            yield from flatten(part)
    else:
        raise InvalidValue(
            f"parameters cannot be read from {source!r} ({type(source).__name__}); allowed are a "
            "mapping, the path of a YAML file, or a list of these"
        )


def files(source: Any) -> list[str]:
    if isinstance(source, (str, os.PathLike)):
        return [str(Path(source))]
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return [file for part in source for file in files(part)]
    return []


def _named(leaves: Iterator[_Leaf], file: Path | None) -> Iterator[Entry]:
    """Yield leaves under the parameter names that their nodes use.

    Node names and namespaces above `ros__parameters` are dropped: a file passed to the simulator is
    taken as addressed to it. Without that key the file is taken as it is.
    """
    all_leaves = list(leaves)
    nested = any(ROOT in leaf.path for leaf in all_leaves)
    spelt: dict[str, str] = {}
    for leaf in all_leaves:
        below = leaf.path[leaf.path.index(ROOT) + 1 :] if ROOT in leaf.path else leaf.path
        name = ".".join(below)
        place = "parameters" if file is None else f"{file}, line {leaf.line}"
        other = spelt.setdefault(ALIASES.get(name, name), name)
        if other != name:
            raise InvalidValue(f"{place}: {name} is the same parameter as {other}: give one")
        folder = None if file is None else file.parent
        stray = nested and ROOT not in leaf.path
        yield Entry(name, leaf.value, place, folder, stray, leaf.repeated)


def _of_mapping(mapping: Mapping[Any, Any], above: tuple[str, ...]) -> Iterator[_Leaf]:
    for key, value in mapping.items():
        path = (*above, str(key))
        # A table may be a mapping itself.
        if isinstance(value, Mapping) and key not in _TABLES:
            yield from _of_mapping(value, path)
        else:
            yield _Leaf(path, value)


def _of_file(file: Path) -> Iterator[_Leaf]:
    import yaml

    text = yaml_text_of(file)
    with reading_yaml(file):
        loader = _loader()(text)
        try:
            top = loader.get_single_node()
            if not isinstance(top, yaml.MappingNode):
                raise InvalidValue(f"{file} holds no parameters: a mapping of names is expected")
            return iter(list(_of_node(loader, file, top, ())))
        finally:
            loader.dispose()


def _of_node(loader: Any, file: Path, node: Any, above: tuple[str, ...]) -> Iterator[_Leaf]:
    import yaml

    last: dict[str, tuple[Any, int, str]] = {}
    for key_node, value_node in node.value:
        line, key = key_node.start_mark.line + 1, str(key_node.value)
        # As a node of ROS reads it: the last one counts.
        repeated = ""
        if key in last:
            before = last.pop(key)[1]
            repeated = f"{file}, line {line}: {key} was given in line {before} before; this counts"
        last[key] = value_node, line, repeated
    for key, (value_node, line, repeated) in last.items():
        if not isinstance(value_node, yaml.MappingNode):
            value = loader.construct_object(value_node, deep=True)
            yield _Leaf((*above, key), value, line, repeated)
            continue
        for leaf in _of_node(loader, file, value_node, (*above, key)):
            yield leaf._replace(repeated=repeated or leaf.repeated)


@cache
def _loader() -> Any:
    """Return a YAML loader without aliases, like ROS 2's own; this prevents alias expansion."""
    import yaml
    from yaml.composer import ComposerError

    class Loader(yaml_loader()):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise ComposerError(None, None, "aliases are not allowed", mark)
            return super().compose_node(parent, index)

    return Loader


Place = Callable[[int], str]
"""Function that names a line of a table for errors; line 0 holds the column coordinates."""


class NoTableInFile(InvalidValue):
    """A file that cannot be read or holds no rectangle of cells; raised before cells are parsed."""


@dataclass(frozen=True)
class Table:
    """Values over a grid: at least 2 rows and 2 columns, rising coordinates, all finite."""

    rows: tuple[float, ...]
    """Row coordinates, strictly increasing."""
    columns: tuple[float, ...]
    """Column coordinates, strictly increasing."""
    values: tuple[tuple[float, ...], ...]
    """One tuple per row, each with one value per column."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        _check(_lines(0.0, self.rows, self.columns, self.values), _line_of_table)

    @classmethod
    def of(cls, source: Any) -> Table:
        """Return a table from any of its representations.

        `source` is a table, the path of a CSV file, a mapping with `rows`, `columns` and
        `values`, or lines as in a CSV file: `[[label, c0, c1], [r0, v00, v01], [r1, v10, v11]]`.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, (str, os.PathLike)):
            return read_table(source)
        if isinstance(source, Mapping):
            parts = ("rows", "columns", "values")
            for name in source:
                if name not in parts:
                    raise InvalidValue(unknown_name("a table", name, parts, "part"))
            missing = [name for name in parts if name not in source]
            if missing:
                raise InvalidValue(
                    f"a table needs {', '.join(missing)} too; got {', '.join(source)}"
                )
            rows, columns, values = (list(source[name]) for name in parts)
            return _from_lines(_lines("", rows, columns, values), _line_of_table)
        try:
            lines = [list(line) for line in source]
        except TypeError:
            raise InvalidValue(
                f"a table cannot be made of {source!r}; allowed are a Table, a path, a mapping "
                "with rows, columns and values, or lines of numbers"
            ) from None
        return _from_lines(lines, _line_of_table)

    def value(self, row: float, column: float) -> float:
        """Value at these coordinates: bilinear inside the grid, edge values outside."""
        return float(lookup2(row, column, self.rows, self.columns, self.values))


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table from one of Autoware's CSV files; spaces, blank lines and CRLF are allowed.

    Raises:
        NoTableInFile: where upstream's reader finds no table.
        InvalidValue: for a table that can be read but not used.
    """
    file = path_of(path)
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise NoTableInFile(str(error)) from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]

    def place(line: int) -> str:
        return f"{file}, line {lines[line][0]}" if line < len(lines) else f"{file}"

    if not lines:
        raise NoTableInFile(f"{place(0)}: 0 rows; the file is empty")
    rows: list[list[str]] = []
    for number, (_, line) in enumerate(lines):
        cells = [cell.strip() for cell in line.split(",")]
        # Upstream reads up to each comma, so that one at the end of a line starts no further cell.
        rows.append(cells[:-1] if cells[-1] == "" else cells)
        if len(rows[0]) < 2:
            raise NoTableInFile(f"{place(0)}: no column coordinates; a table has at least 2")
        if len(rows[-1]) != len(rows[0]):
            raise NoTableInFile(_ragged(place(number), len(rows[-1]), len(rows[0])))
    return _from_lines(rows, place)


def _ragged(place: str, cells: int, width: int) -> str:
    return f"{place}: {cells} cells, but the first line has {width}"


def _lines(
    label: Any, rows: Sequence[Any], columns: Sequence[Any], values: Sequence[Sequence[Any]]
) -> list[tuple[Any, ...]]:
    """Lines of a table as in its file, the first with a label and the column coordinates."""
    if len(rows) != len(values):
        raise InvalidValue(
            f"table has {len(rows)} row coordinates and {len(values)} rows of values"
        )
    body = ((row, *line) for row, line in zip(rows, values, strict=True))
    return [(label, *columns), *body]


def _from_lines(lines: Sequence[Sequence[Any]], place: Place) -> Table:
    """Build a table from lines of cells; the first cell is a label and is ignored."""
    grid: list[tuple[float, ...]] = []
    for number, line in enumerate(lines):
        numbers = [_number(cell, place(number), k) for k, cell in enumerate(line[1:], start=2)]
        first = 0.0 if number == 0 or not line else _number(line[0], place(number), 1)
        grid.append((first, *numbers))
    _check(grid, place)
    (_, *columns), *body = grid
    return Table(tuple(line[0] for line in body), tuple(columns), tuple(line[1:] for line in body))


def _number(cell: Any, place: str, position: int) -> float:
    try:
        if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
            raise TypeError("not a number in the notation of such files")
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{place}, cell {position}: {cell!r} is not a number") from None


def _check(grid: Sequence[Sequence[float]], place: Place) -> None:
    """Raise unless the lines, the first with the column coordinates, form a valid table."""
    if len(grid) < 3:
        raise InvalidValue(
            f"{place(len(grid))}: {max(len(grid) - 1, 0)} rows below the line of column "
            "coordinates; a table has at least 2"
        )
    width = len(grid[0])
    if width < 3:
        raise InvalidValue(f"{place(0)}: {width - 1} column coordinates; a table has at least 2")
    for number, line in enumerate(grid):
        if len(line) != width:
            raise InvalidValue(_ragged(place(number), len(line), width))
        for k, value in enumerate(line, start=1):
            if not math.isfinite(value):
                raise InvalidValue(f"{place(number)}, cell {k}: {value} must be finite")
    for k, (before, after) in enumerate(pairwise(grid[0][1:]), start=3):
        if not before < after:
            raise InvalidValue(
                f"{place(0)}, cell {k}: column coordinate {after:g} must be above {before:g}"
            )
    for number, (before, after) in enumerate(pairwise(grid[1:]), start=2):
        if not before[0] < after[0]:
            raise InvalidValue(
                f"{place(number)}, cell 1: row coordinate {after[0]:g} must be above {before[0]:g}"
            )


def _line_of_table(line: int) -> str:
    return "table, column coordinates" if line == 0 else f"table, row {line}"


UPSTREAM = "upstream"
"""The value of `compat` that reproduces the upstream program."""

_CONVERSIONS = {"accel_map_path": "convert_accel_cmd", "brake_map_path": "convert_brake_cmd"}
"""Switch that enables each optional map."""
_FORGIVEN = ("acceleration_map_path", *_CONVERSIONS)
"""Maps whose absence the upstream program tolerates."""


class UnknownParameter(UserWarning):
    """Warning: a parameter that the simulator does not have; it is ignored."""


class AssumedParameter(UserWarning):
    """Warning: a parameter that should be given is missing; its default is used."""


class RepeatedParameter(UserWarning):
    """Warning: a key occurs twice in a file; the last one counts, as in ROS."""


def gather(source: Any, name: str | None = None, compat: str | None = None) -> dict[str, Any]:
    """Return all parameters; those of the model `name` are complete.

    Args:
        source: a mapping, the path of a YAML file, a sequence of these, in which later entries
            override earlier ones, or None for no parameters. Paths of maps are relative to the
            folder of the YAML file, those in a mapping to the working folder.
        name: one of `records.NAMES`; by default that of the parameter `vehicle_model_type`.
        compat: with "upstream" an acceleration, accel or brake map whose file cannot be read, or
            whose lines have unequal or too few cells, is ignored, as in the upstream program. Any
            other invalid map ends that program, and is an error here.

    In the result every parameter has its value, its default, or None if it has neither;
    `acceleration_map`, `accel_map`, `brake_map` and `steer_map` are tables, or None where the model
    uses no such map or its conversion is off.
    """
    if compat not in (None, UPSTREAM):
        raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None and {UPSTREAM!r}")
    entries = _entries(source)
    item = entries.get("vehicle_model_type")
    if name is not None:
        model = _known(name)
    elif item is not None:
        model = _known(item.value, f"{item.place}: ")
    else:
        model = PARAMETERS["vehicle_model_type"].default
    values = {key: p.default for key, p in PARAMETERS.items()}
    values |= {key: _checked(PARAMETERS[key], item) for key, item in entries.items()}
    values["vehicle_model_type"] = model
    missing = [
        key
        for key, parameter in PARAMETERS.items()
        if model in parameter.models
        and values[key] is None
        and (key not in MAPS or _uses_map(model, key, values))
    ]
    if missing:
        searched = files(source)
        where = f"is not in {', '.join(searched)}" if searched else "was not given"
        listed = "; ".join(f"{key} ({PARAMETERS[key].meaning})" for key in missing)
        raise InvalidValue(f"{model} needs a value that {where}: {listed}")
    # The wheelbase is in another file and therefore easily forgotten.
    wheel_base = PARAMETERS["wheel_base"]
    if entries and "wheel_base" not in entries and model in wheel_base.models:
        _warn(
            f"wheel_base is not given; {wheel_base.default} m is used, that of Autoware's sample "
            "vehicle. It stands in vehicle_info.param.yaml",
            AssumedParameter,
        )
    # The lists that describe the sub-models have equal lengths.
    lists = [key for key, parameter in PARAMETERS.items() if parameter.kind == "strings"]
    if model in LEARNED and len({len(values[key]) for key in lists}) > 1:
        places = sorted({entries[key].place for key in lists if key in entries})
        lengths = ", ".join(f"{key} has {len(values[key])}" for key in lists)
        raise InvalidValue(f"{'; '.join(places)}: {lengths}; the lists must be equally long")
    method = entries.get("convert_steer_cmd_method")
    if method is not None and model == "ACTUATION_CMD":
        _warn(
            f"{method.place}: {method.name} is not read; ACTUATION_CMD takes the tyre angle. "
            "The models with a conversion are ACTUATION_CMD_VGR and ACTUATION_CMD_STEER_MAP"
        )
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
    """Places in files that set one of these parameters, unless a later source overrides it."""
    last = {ALIASES.get(item.name, item.name): item for item in flatten(source) if not item.stray}
    return sorted({last[n].place for n in names if n in last and last[n].folder is not None})


def period(values: Mapping[str, Any]) -> float:
    """Nominal update period in s, from gathered parameters."""
    return values["timer_sampling_time_ms"] / 1000.0


def write(path: str | os.PathLike[str], values: Mapping[str, Any], name: str) -> None:
    """Write a parameter file for the model `name` that `gather` and Autoware read.

    Only those `values` (names as in `gather`) are written that the model or its simulator uses.
    Maps inside the folder of the file are written as relative paths. The file is written
    atomically.
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


def _entries(source: Any) -> dict[str, Entry]:
    """Last value given for each parameter, by canonical name."""
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
    """Warn at the line of user code that called the package."""
    level, frame = 1, inspect.currentframe()
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals["__name__"].startswith(f"{package}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, kind, stacklevel=level)


def _known(name: Any, place: str = "") -> str:
    if name not in COMMAND_DRIVEN:
        near = difflib.get_close_matches(str(name), COMMAND_DRIVEN, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise InvalidValue(
            f"{place}vehicle_model_type = {name!r} is unknown{hint} "
            f"Allowed are {', '.join(COMMAND_DRIVEN)}"
        )
    return name


def _checked(parameter: Parameter, item: Entry) -> Any:
    """Return the value after checking its type and range."""
    if parameter.kind == "path":
        return _path(item)
    if item.name == "queue_dt":
        # Decimal fractions of a second, such as 0.035, are whole ms in spite of rounding.
        value = round(_typed(Parameter(item.name, "double", None, "s", ""), item) * 1000.0, 9)
        value = int(value) if value == int(value) else value
    else:
        value = _typed(parameter, item)
    if parameter.allowed is not None and value not in parameter.allowed:
        raise InvalidValue(f"{item.place}: {item.name} = {value} must be {parameter.allowed}")
    return value


def _typed(parameter: Parameter, item: Entry) -> Any:
    value, kind = item.value, parameter.kind
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a NumPy scalar
    whole = isinstance(value, int) and not isinstance(value, bool)
    match kind:
        # C programs and tables write truth as 0 or 1; in a ROS file that is a mistake.
        case "bool" if isinstance(value, bool) or (
            item.folder is None and whole and value in (0, 1)
        ):
            return bool(value)
        case "string" if isinstance(value, str):
            return value
        case "strings" if isinstance(value, (list, tuple)) and all(
            isinstance(text, str) for text in value
        ):
            return tuple(value)
        case "integer" if whole:
            return value
        case "double" if isinstance(value, numbers.Real) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:  # a whole number of hundreds of digits
                number = math.inf
            if not math.isfinite(number):
                raise InvalidValue(f"{item.place}: {item.name} = {number} must be finite")
            return number
        case _:
            raise _wrong(item, value, kind)


def _wrong(item: Entry, value: Any, kind: str) -> InvalidValue:
    return InvalidValue(
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


def _path(item: Entry) -> str | Table:
    """Absolute path of a map, or the table given in its place."""
    value = item.value
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str) and text.strip():
            # Not resolved against anything while it holds something to be substituted.
            folder = Path.cwd() if item.folder is None else item.folder.absolute()
            return text if "$(" in text else str(folder / text)
    elif item.folder is None and value is not None and not isinstance(value, (bool, int, float)):
        try:
            return Table.of(value)
        except InvalidValue as error:
            raise InvalidValue(f"{item.place}: {item.name}: {error}") from error
    raise _wrong(item, value, "path")


def _uses_map(model: str, path: str, values: Mapping[str, Any]) -> bool:
    switch = _CONVERSIONS.get(path)
    return model in PARAMETERS[path].models and (switch is None or bool(values[switch]))


def _map(item: Entry, where: str | Table, compat: str | None) -> Table | None:
    """Table of a map that the model uses; None where upstream continues without it."""
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


def _written(value: Any, key: str, target: Path) -> Any:
    """Value as written to YAML; a map inside the folder of the file by its relative path."""
    if isinstance(value, Table):
        raise InvalidValue(f"{key} must be {_TYPES['path']} to be written, got a table")
    if key in MAPS:
        folder = target.absolute().parent
        inside = Path(value).is_relative_to(folder)
        return Path(value).relative_to(folder).as_posix() if inside else value
    return list(value) if isinstance(value, tuple) else value
