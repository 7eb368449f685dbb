"""Parameters of the command-driven vehicles, read from Autoware's own files and checked.

    gather(["simulator_model.param.yaml", "vehicle_info.param.yaml"], "DELAY_STEER_ACC_GEARED")

Sources are YAML files of ROS 2 nodes and Python mappings, made flat; `records.PARAMETERS` lists the
parameters. An unknown name gives a warning, since files are shared with other nodes; a value of the
wrong type, a missing one or an unreadable map is an error.

A map is a `Table` from two coordinates to a number, and the CSV files in which Autoware keeps them:
the first line holds a label and the column coordinates, every other line a row coordinate and its
values. Rows are commands (acceleration, pedal, steering); columns are velocities (m/s), in a
steering map steering angles (rad).
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
from .records import ALIASES, LEARNED, MAPS, NAMES, PARAMETERS, SILENT, Parameter

ROOT = "ros__parameters"
"""The key under which ROS 2 puts the parameters of a node."""

_TABLES = {*MAPS, *(name for name, full in ALIASES.items() if full in MAPS)}


class Entry(NamedTuple):
    """One parameter as it stands in a source."""

    name: str
    """Dotted name below the node."""
    value: Any
    place: str
    """Where it was found, for errors: file and line, or "parameters"."""
    folder: Path | None
    """Folder of its file, from which relative paths lead; None: not from a file."""
    stray: bool = False
    """Whether it lies beside the nodes of a file, so that no node reads it."""
    repeated: str = ""
    """What to tell of it, or of a key above it, if that stands twice in its file."""


class _Leaf(NamedTuple):
    path: tuple[str, ...]
    value: Any
    line: int | None = None
    repeated: str = ""


def flatten(source: Any) -> Iterator[Entry]:
    """The parameters of a source in order: a mapping, a path, or a sequence of these; or None."""
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
    """The files among the sources."""
    if isinstance(source, (str, os.PathLike)):
        return [str(Path(source))]
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return [file for part in source for file in files(part)]
    return []


def _named(leaves: Iterator[_Leaf], file: Path | None) -> Iterator[Entry]:
    """Leaves with the names their nodes know them by.

    Node names and namespaces above `ros__parameters` are dropped, whatever they are: a file is
    meant for the simulator if it is given to it. Without that key the file is taken as it is.
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
    """The loader of settings that allows no aliases, as ROS 2's own reader: it also keeps small
    files small."""
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
"""How to name a line of a table in an error; line 0 holds the column coordinates."""


class NoTableInFile(InvalidValue):
    """A file that cannot be read or holds no rectangle of cells; its cells were not looked at."""


@dataclass(frozen=True)
class Table:
    """Values over a grid: at least 2 rows and 2 columns, rising coordinates, all finite."""

    rows: tuple[float, ...]
    """Row coordinates, rising."""
    columns: tuple[float, ...]
    """Column coordinates, rising."""
    values: tuple[tuple[float, ...], ...]
    """One tuple per row, each with one value per column."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows):
            raise InvalidValue(
                f"table has {len(self.rows)} row coordinates and {len(self.values)} rows of values"
            )
        grid = [
            (0.0, *self.columns),
            *((row, *line) for row, line in zip(self.rows, self.values, strict=True)),
        ]
        _check(grid, _line_of_table)

    @classmethod
    def of(cls, source: Any) -> Table:
        """A table from whatever describes one.

        That is a table, the path of a CSV file, a mapping with `rows`, `columns` and `values`, or
        lines as in a CSV file: `[[label, c0, c1], [r0, v00, v01], [r1, v10, v11]]`.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, (str, os.PathLike)):
            return read_table(source)
        if isinstance(source, Mapping):
            return _from_mapping(source)
        try:
            lines = [list(line) for line in source]
        except TypeError:
            raise InvalidValue(
                f"a table cannot be made of {source!r}; allowed are a Table, a path, a mapping "
                "with rows, columns and values, or lines of numbers"
            ) from None
        return _from_lines(lines, _line_of_table)

    def value(self, row: float, column: float) -> float:
        """The value at these coordinates: bilinear, with edge values outside the grid."""
        return float(lookup2(row, column, self.rows, self.columns, self.values))


def read_table(path: str | os.PathLike[str]) -> Table:
    """The table in a CSV file of Autoware. Spaces, blank lines and CRLF are allowed.

    Raises `NoTableInFile` where upstream's reader finds no table, and `InvalidValue` for what it
    reads and cannot use.
    """
    file = path_of(path)
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise NoTableInFile(str(error)) from error
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    cells = [_cells(line) for _, line in lines]

    def place(line: int) -> str:
        return f"{file}, line {lines[line][0]}" if line < len(lines) else f"{file}"

    _check_rectangle(cells, place)
    return _from_lines(cells, place)


def _check_rectangle(cells: Sequence[Sequence[str]], place: Place) -> None:
    if not cells:
        raise NoTableInFile(f"{place(0)}: 0 rows; the file is empty")
    width = len(cells[0])
    if width < 2:
        raise NoTableInFile(f"{place(0)}: no column coordinates; a table has at least 2")
    for number, line in enumerate(cells):
        if len(line) != width:
            raise NoTableInFile(_ragged(place(number), len(line), width))


def _ragged(place: str, cells: int, width: int) -> str:
    return f"{place}: {cells} cells, but the first line has {width}"


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.split(",")]
    # Upstream reads up to each comma, so that one at the end of a line starts no further cell.
    return cells[:-1] if cells[-1] == "" else cells


def _from_mapping(mapping: Mapping[str, Any]) -> Table:
    parts = ("rows", "columns", "values")
    for name in mapping:
        if name not in parts:
            raise InvalidValue(unknown_name("a table", name, parts, "part"))
    missing = [name for name in parts if name not in mapping]
    if missing:
        raise InvalidValue(f"a table needs {', '.join(missing)} too; got {', '.join(mapping)}")
    rows, values = list(mapping["rows"]), list(mapping["values"])
    if len(rows) != len(values):
        raise InvalidValue(
            f"table has {len(rows)} row coordinates and {len(values)} rows of values"
        )
    lines = [[row, *line] for row, line in zip(rows, values, strict=True)]
    return _from_lines([["", *mapping["columns"]], *lines], _line_of_table)


def _from_lines(lines: Sequence[Sequence[Any]], place: Place) -> Table:
    """The table in these lines of cells; the first cell is a label and can be anything."""
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
            raise TypeError("not a number as such files have them")
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{place}, cell {position}: {cell!r} is no number") from None


def _check(grid: Sequence[Sequence[float]], place: Place) -> None:
    """Raise unless the lines, the first with the column coordinates, make a table."""
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
    None stands for no parameters. `name` is one of `records.NAMES`; without it `vehicle_model_type`
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
