"""Options that several commands share, and what they stand for: vehicles, parameters, world files.

A group of options is a NamedTuple whose fields are annotated for Typer. A command takes the group
as one parameter, and `with_groups` makes options of its fields:

    @with_groups
    def check(file: File, reading: WorldReading) -> None: ...

Nothing here loads what is heavy before it is needed, as completion imports this module.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from ..core.files import json_of, yaml_of
from ..errors import InvalidValue
from .completion import vehicles_and_sets

if TYPE_CHECKING:
    from ..core.model import Vehicle
    from ..world.scene import Scene


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of the NamedTuples among its parameters."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: kind for n, kind in hints.items() if issubclass(_class_of(kind), tuple)}
    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        fields, defaults = {name: hints[name]}, {name: own.default}
        if name in groups:
            fields = get_type_hints(groups[name], include_extras=True)
            defaults = groups[name]._field_defaults
        parameters += [
            inspect.Parameter(
                field, inspect.Parameter.KEYWORD_ONLY, default=defaults[field], annotation=hint
            )
            for field, hint in fields.items()
        ]

    @wraps(command)
    def ungrouped(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field: values.pop(field) for field in kind._fields})
        command(**values)

    changed: Any = ungrouped
    changed.__signature__ = inspect.Signature(parameters)
    changed.__annotations__ = {one.name: one.annotation for one in parameters}
    return changed


def _class_of(hint: Any) -> type:
    return hint if isinstance(hint, type) else object


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Only print the address of the page.")
]
RecordingFile = Annotated[
    Path, typer.Argument(help="Recording: an .mcap file; or a bag of ROS 2.", show_default=False)
]
ParameterFiles = Annotated[
    list[Path] | None,
    typer.Option("--params", metavar="FILE", help="Parameters in YAML or JSON; later files win."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter in SI, or tyre=FILE. May be repeated."
    ),
]
VehicleName = Annotated[
    str,
    typer.Argument(
        metavar="VEHICLE",
        help="As skidpad models lists it; NAME:SET has a set, MODULE:NAME is your own.",
        autocompletion=vehicles_and_sets,
    ),
]
Compat = Annotated[
    str | None, typer.Option(help='"upstream": read as the upstream program does, errors included.')
]


class WorldReading(NamedTuple):
    """How a world file is read."""

    compat: Compat = None
    variables: Annotated[
        list[str] | None,
        typer.Option("--var", metavar="NAME=VALUE", help="A world variable from the outside."),
    ] = None
    limit: Annotated[int | None, typer.Option(help="Most rounds of all loops together.")] = None
    allow_shell: Annotated[
        bool, typer.Option("--allow-shell", help="Let $(command) in the file run commands.")
    ] = False
    allow_download: Annotated[
        bool, typer.Option("--allow-download", help="Download models at remote addresses.")
    ] = False
    models: Annotated[
        Path | None, typer.Option("--models", help="Folder in which remote models are looked up.")
    ] = None

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `world.xml.reader.load`."""
        fault = "--var {}: expected NAME=VALUE, as in ROBOTS=20"
        options = {
            **self._asdict(),
            "variables": dict(split_pairs(self.variables, fault, empty=True)),
        }
        if self.limit is None:
            del options["limit"]
        return options

    def load(self, file: Path, **more: Any) -> Scene:
        """The scene of a file, without warnings of what is not simulated, which it lists."""
        from ..world.scene import WorldWarning
        from ..world.xml.reader import load

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldWarning)
            return load(file, **self.options(), **more)


class CampaignRun(NamedTuple):
    """How a campaign is to be run."""

    engine: Annotated[str, typer.Option(help="Who does the runs: local, cuda or ray.")] = "local"
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster that runs; without, one of this machine.")
    ] = None
    shared: Annotated[
        bool,
        typer.Option("--shared", help="All machines see the folder: workers of Ray write to it."),
    ] = False
    workers: Annotated[int | None, typer.Option(min=1, help="Processes of this machine.")] = None
    chunk_seconds: Annotated[
        float, typer.Option(help="Time that a chunk takes, about: what a stop may lose.")
    ] = 4.0
    page: Annotated[
        bool, typer.Option("--page", help="Show the progress as a page of this machine.")
    ] = False
    json: AsJson = False


def refuse(options: Mapping[str, Any], owner: str) -> None:
    """Raise if one of these options was given, which belong to something else."""
    for name, value in options.items():
        if value not in (None, False, (), []):
            option = {"variables": "var"}.get(name, name).replace("_", "-")
            raise InvalidValue(f"--{option} goes with {owner}")


def check_port(port: int | None) -> None:
    """Raise for a number that is not a port."""
    if port is not None and not 0 <= port <= 65535:
        raise InvalidValue(f"--port {port} must be from 0 to 65535")


def split_pairs(
    texts: Iterable[str] | None, fault: str, *, last: bool = False, empty: bool = False
) -> list[tuple[str, str]]:
    """`name=value` pairs; raises `fault`, with the text in place of {}, for other texts.

    Args:
        texts: as typed.
        fault: message of the error.
        last: split at the last equals sign, as names may have some, and not at the first.
        empty: values may be empty.
    """
    pairs: list[tuple[str, str]] = []
    for text in texts or ():
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        if not (sign and name and (value or empty)):
            raise InvalidValue(fault.format(text))
        pairs.append((name, value))
    return pairs


def number_of(option: str, name: str, text: str) -> float:
    """The number in the text of an option `name=text`."""
    try:
        return float(text)
    except ValueError:
        raise InvalidValue(f"{option} {name}={text}: {text!r} must be a number") from None


def set_values(settings: Sequence[str] | None) -> dict[str, float | str]:
    """Parameters from `--set` by dotted name; files or names for tyres."""
    from ..study.named_code import TYRE_NAMES

    pairs = split_pairs(settings, "--set {}: expected NAME=VALUE", last=True)
    return {n: text if n in TYRE_NAMES else number_of("--set", n, text) for n, text in pairs}


def parameter_changes(
    files: Sequence[Path] | None = None, values: Mapping[str, float | str] | None = None
) -> dict[str, Any]:
    """Parameters by dotted name: those of YAML or JSON files, later ones winning, then `values`."""
    changes: dict[str, Any] = {}
    for file in files or ():
        tree = json_of(file) if file.suffix.lower() == ".json" else yaml_of(file)
        if not isinstance(tree, Mapping):
            raise InvalidValue(f"{file} must be a mapping of parameters by name")
        changes |= dict(_leaves(tree, ""))
    return changes | dict(values or {})


def _leaves(tree: Mapping[Any, Any], prefix: str) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in tree.items():
        nested = isinstance(value, Mapping)
        leaves += _leaves(value, f"{prefix}{name}.") if nested else [(f"{prefix}{name}", value)]
    return leaves


def vehicle_of(
    name: str,
    files: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    *,
    telling: bool = False,
) -> Vehicle:
    """A vehicle with some parameters replaced: by those of files, then by `--set`.

    Args:
        name: of the vehicle, name and parameter set, or `module:name`.
        files: of parameters, later ones winning.
        settings: as typed behind `--set`.
        telling: warn of parameters that are assumed.
    """
    from ..study.named_code import vehicle_by_text
    from ..vehicles.command_driven.records import NAMES
    from .output import warnings_as_notes

    values = set_values(settings)
    with warnings_as_notes():
        if name in NAMES:  # files of Autoware's
            return vehicle_by_text(name, values, files=files or (), telling=telling)
        return vehicle_by_text(name, parameter_changes(files, values), telling=telling)


def vehicle_names() -> list[str]:
    """All vehicles, with Autoware's models."""
    from .. import vehicles
    from ..vehicles.command_driven.records import NAMES

    return [*vehicles.names(), *NAMES]


def is_vehicle(target: str) -> bool:
    """Whether a text names a vehicle: a listed one, one with a parameter set, or `module:name`."""
    from ..study.named_code import is_own

    return target.partition(":")[0] in vehicle_names() or is_own(target)
