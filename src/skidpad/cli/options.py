"""Options shared by several commands, and parsing of their values: vehicles, parameters, worlds.

`with_options` turns a function into a command. The help texts of the options come from the section
"Args" of its docstring: "name: text" or "name [METAVAR]: text". A group of options is a NamedTuple
with such a docstring; a command takes it as one parameter, and its fields become options:

    @with_options
    def check(file: File, reading: WorldReading) -> None: ...

Heavy modules are imported only when needed, as completion imports this module.

Shell completion: names of vehicles, tyres, demos, manoeuvres and groups of benchmarks.

A shell asks at every key press, so nothing here imports heavy modules. Loading all vehicles or
manoeuvres takes a second; their names are listed here, and a test compares them with the real ones.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

import typer
from typer import Argument, Option

from ..core.files import CALIBRATION, WITH_FILE, listed, parameter_changes
from ..errors import InvalidValue
from .output import warnings_as_notes

if TYPE_CHECKING:
    from ..core.model import Vehicle
    from ..world.scene import Scene

VEHICLES = (
    *("ackermann_truck", "brains2", "commonroad_dynamic_bicycle", "commonroad_kinematic_bicycle"),
    *("commonroad_ks", "commonroad_kst", "commonroad_mb", "commonroad_st", "commonroad_std"),
    *("double_integrator", "formula_student", "four_wheel", "full_car", "kinematic_bicycle"),
    *("single_track", "two_track"),
)
"""Vehicle names, equal to `skidpad.vehicles.names()`."""

COMMAND_DRIVEN = (
    *("IDEAL_STEER_VEL", "IDEAL_STEER_ACC", "IDEAL_STEER_ACC_GEARED", "DELAY_STEER_VEL"),
    *("DELAY_STEER_ACC", "DELAY_STEER_ACC_GEARED", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"),
    *("DELAY_STEER_MAP_ACC_GEARED", "LEARNED_STEER_VEL", "ACTUATION_CMD", "ACTUATION_CMD_VGR"),
    *("ACTUATION_CMD_STEER_MAP", "ACTUATION_CMD_MECHANICAL"),
)
"""Names of Autoware's models, values of its parameter `vehicle_model_type`."""

MANOEUVRES = (
    *("constant_radius", "constant_speed", "constant_steer", "slow_ramp", "step_steer"),
    *("single_sine", "sine_sweep", "random_steer", "weave", "transition", "sine_with_dwell"),
    *("double_lane_change", "obstacle_avoidance"),
    *("straight_braking", "braking_in_turn", "split_braking"),
    *("acceleration", "coast_down", "turning_circle", "slalom_18_m", "slalom_36_m"),
    *("formula_skidpad", "formula_acceleration", "autocross"),
    *("hill_hold", "hill_start", "rough_road", "bump"),
    *("command_steps", "stop_from_speed", "spin_in_place", "straight_and_arc", "square_path"),
)
"""Manoeuvre names, equal to `skidpad.study.manoeuvres.names()`."""


SETS = ("compact", "sports", "suv", "race", "formula_student", "small_scale")
"""Parameter sets of the vehicles in `WITH_SETS`."""
WITH_SETS = ("full_car", "single_track", "two_track")

TYRES = ("passenger_car", "race_slick", "robot")
"""Tyre names, equal to `skidpad.tyres.names()`."""


def vehicle_choices(incomplete: str) -> list[str]:
    """Names of vehicles that start with `incomplete`, command-driven ones last."""
    return _beginning(incomplete, (*VEHICLES, *COMMAND_DRIVEN))


def vehicles_and_sets(incomplete: str) -> list[str]:
    """Names of vehicles with this prefix or, after a colon, parameter sets of the vehicle."""
    vehicle, colon, beginning = incomplete.partition(":")
    if colon:
        return [f"{vehicle}:{name}" for name in _sets(vehicle, beginning)]
    words = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0"))
    parted = words[at - 2] if at >= 2 and words[at - 1 : at] == [":"] else ""
    return _sets(parted, incomplete) if parted else vehicle_choices(incomplete)


def drive_targets(context: typer.Context, incomplete: str) -> list[str]:
    """Names of vehicles and worlds with this prefix, for `--drive`; the shell itself completes
    files.
    """
    if not context.params.get("drive"):
        return []
    return [*vehicle_choices(incomplete), *_beginning(incomplete, ("playground",))]


def tyre_names(incomplete: str) -> list[str]:
    return _beginning(incomplete, TYRES)


def manoeuvre_names(incomplete: str) -> list[str]:
    return _beginning(incomplete, MANOEUVRES)


def run_targets(incomplete: str) -> list[tuple[str, str]]:
    """Names of demos (with descriptions) and vehicles with this prefix; the shell itself completes
    files.
    """
    from ..demo import DEMOS

    demos = [(demo.name, demo.text) for demo in DEMOS.values() if demo.name.startswith(incomplete)]
    return [*demos, *((name, "a vehicle") for name in vehicle_choices(incomplete))]


def bench_groups(incomplete: str) -> list[str]:
    from ..bench import GROUPS

    return _beginning(incomplete, tuple(GROUPS))


def _sets(vehicle: str, incomplete: str) -> list[str]:
    return _beginning(incomplete, SETS if vehicle in WITH_SETS else ())


def _beginning(incomplete: str, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


ENTRY = re.compile(r"^(\w+)(?: \[(.+?)\])?: ", re.M)
"""Beginning of the text of an option in a docstring: its name and metavar."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into a command whose option help comes from docstrings; see the module."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: kind for n, kind in hints.items() if issubclass(_class_of(kind), tuple)}
    text, described = _described(command)
    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        fields, defaults, texts = {name: hints[name]}, {name: own.default}, described
        if name in groups:
            fields = get_type_hints(groups[name], include_extras=True)
            defaults, texts = groups[name]._field_defaults, _described(groups[name])[1]
        for field, hint in fields.items():
            default = defaults[field]
            if field in texts:  # a parameter without default is an argument
                kind, *infos = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
                flag = [f"--{field.replace('_', '-')}"] if default is False else []
                plain = Argument() if default is inspect.Parameter.empty else Option(*flag)
                info: Any = copy(infos[0]) if infos else plain
                metavar, info.help = texts[field]
                info.metavar = metavar or info.metavar
                hint = Annotated[kind, info]
            how: Any = {"default": default, "annotation": hint}
            parameters.append(inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, **how))

    @wraps(command)
    def ungrouped(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field: values.pop(field) for field in kind._fields})
        command(**values)

    changed: Any = ungrouped
    changed.__doc__ = text
    changed.__signature__ = inspect.Signature(parameters)
    changed.__annotations__ = {one.name: one.annotation for one in parameters}
    return changed


def command_of(app: typer.Typer, **settings: Any) -> Callable[[Callable[..., None]], Any]:
    """Decorator that adds a function `with_options` to a group of commands."""
    return lambda command: app.command(**settings)(with_options(command))


def _described(owner: Any) -> tuple[str, dict[str, tuple[str, str]]]:
    """Split a docstring into its text without the section "Args", and each option's metavar and
    help.
    """
    text, _, options = (inspect.getdoc(owner) or "").partition("\n\nArgs:\n")
    _, *parts = ENTRY.split(inspect.cleandoc(options))
    texts = (" ".join(part.split()) for part in parts[2::3])
    return text, dict(zip(parts[::3], zip(parts[1::3], texts, strict=True), strict=True))


def _class_of(hint: Any) -> type:
    return hint if isinstance(hint, type) else object


AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]
NoBrowser = Annotated[bool, Option("--no-browser", help="Only print the address of the page.")]
RecordingFile = Annotated[
    Path, Argument(help="Recording: an .mcap file; or a bag of ROS 2.", show_default=False)
]
ParameterFiles = Annotated[
    list[Path] | None,
    Option("--params", metavar="FILE", help="Parameters in YAML or JSON; later files win."),
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A parameter in SI, or tyre=FILE. May be repeated."),
]
VehicleName = Annotated[
    str,
    Argument(
        metavar="VEHICLE",
        help="As skidpad models lists it; NAME:SET has a set, NAME:FILE parameters of a file, "
        "MODULE:NAME is your own.",
        autocompletion=vehicles_and_sets,
    ),
]
Compat = Annotated[
    str | None, Option(help='"upstream": read as the upstream program does, errors included.')
]


class WorldReading(NamedTuple):
    """Options for reading a world file.

    Args:
        variables [NAME=VALUE]: Value of a variable that the world file uses.
        limit: Largest total number of loop iterations in the file.
        allow_shell: Let $(command) in the file run commands.
        allow_download: Download models at remote addresses.
        models: Folder in which remote models are looked up.
    """

    compat: Compat = None
    variables: Annotated[list[str] | None, Option("--var")] = None
    limit: int | None = None
    allow_shell: bool = False
    allow_download: bool = False
    models: Path | None = None

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `world.xml.reader.load`."""
        fault = "--var {}: expected NAME=VALUE, as in ROBOTS=20"
        variables = dict(split_pairs(self.variables, fault, empty=True))
        options = {**self._asdict(), "variables": variables}
        return {n: value for n, value in options.items() if n != "limit" or value is not None}

    def load(self, file: Path, **more: Any) -> Scene:
        """Load the scene of a file, without warnings about unsupported elements, which the scene
        lists."""
        from ..world.scene import WorldWarning
        from ..world.xml.reader import load

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldWarning)
            return load(file, **self.options(), **more)


class CampaignRun(NamedTuple):
    """Options for running a campaign.

    Args:
        engine: Engine that executes the runs: local, cuda or ray.
        address: Address of a running Ray cluster; by default, start one on this machine.
        shared: The folder is on a file system shared by all machines, so Ray workers write to it
            directly.
        workers: Number of worker processes on this machine.
        chunk_seconds: Approximate duration of a chunk in s; a stop loses at most one chunk per
            worker.
        page: Serve a progress page on this machine.
    """

    engine: str = "local"
    address: str | None = None
    shared: bool = False
    workers: Annotated[int | None, Option(min=1)] = None
    chunk_seconds: float = 4.0
    page: bool = False
    json: AsJson = False


def refuse(options: Mapping[str, Any], owner: str) -> None:
    """Raise an error if any of these options was given; they are allowed only with `owner`."""
    for name, value in options.items():
        if value not in (None, False, (), []):
            option = {"variables": "var"}.get(name, name).replace("_", "-")
            raise InvalidValue(f"--{option} needs {owner}")


def check_port(port: int | None) -> None:
    """Raise an error for a number that is not a valid port."""
    if port is not None and not 0 <= port <= 65535:
        raise InvalidValue(f"--port {port} must be from 0 to 65535")


def split_pairs(
    texts: Iterable[str] | None, fault: str, *, last: bool = False, empty: bool = False
) -> list[tuple[str, str]]:
    """Split texts of the form `name=value` into pairs; other texts raise an error.

    Args:
        texts: arguments as typed.
        fault: error message, in which {} stands for the invalid text.
        last: split at the last equals sign instead of the first, for names that may contain one.
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
    """Number given for `name` in an option `name=text`; raises an error for any other text."""
    try:
        return float(text)
    except ValueError:
        raise InvalidValue(f"{option} {name}={text}: {text!r} must be a number") from None


def pairs_of(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs (name, value) from the texts of an option `NAME=VALUE`, with surrounding spaces
    removed.
    """
    pairs = split_pairs(texts, f"{option} {{}}: expected a name, = and a value")
    return [(name.strip(), value.strip()) for name, value in pairs]


def names_of(texts: Iterable[str] | None) -> list[str]:
    """Names given to an option that may be repeated and accepts comma-separated lists."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def bounds_of(
    texts: Iterable[str] | None, option: str = "--bounds"
) -> dict[str, tuple[float, float]]:
    """Lower and upper bounds by parameter name, from texts of `--bounds NAME=LOW:HIGH`."""
    ends: dict[str, tuple[float, float]] = {}
    for name, text in pairs_of(option, texts or ()):
        low, colon, high = text.partition(":")
        if not colon:
            raise InvalidValue(f"{option} {name}={text}: expected NAME=LOW:HIGH, as in l_f=1.0:1.4")
        ends[name] = number_of(option, name, low), number_of(option, name, high)
    return ends


def set_values(settings: Sequence[str] | None) -> dict[str, float | str]:
    """Parameter values by dotted name, from texts of `--set`; tyres are given as files or names."""
    from ..study.named_code import TYRE_NAMES

    pairs = split_pairs(settings, "--set {}: expected NAME=VALUE", last=True)
    return {n: text if n in TYRE_NAMES else number_of("--set", n, text) for n, text in pairs}


def vehicle_of(
    name: str,
    files: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    *,
    telling: bool = False,
) -> Vehicle:
    """Vehicle by name, with parameters overridden by files and then by `--set`.

    Args:
        name: vehicle name, `name:set` or `module:name`; each may be followed by a colon and a
            parameter file.
        files: parameter files; later files override earlier ones.
        settings: texts given to `--set`.
        telling: warn about assumed parameters.
    """
    return _vehicle(name, files, set_values(settings), telling=telling)[0]


def calibrated_vehicle(
    name: str, files: Sequence[Path] | None = None, settings: Sequence[str] | None = None
) -> tuple[Vehicle, dict[str, float]]:
    """Vehicle as returned by `vehicle_of`, and the parameters with the prefixes `log.` and
    `delay.`.
    """
    return _vehicle(name, files, set_values(settings), calibrated=True)


def _vehicle(
    name: str,
    files: Sequence[Path] | None,
    values: dict[str, float | str],
    *,
    telling: bool = False,
    calibrated: bool = False,
) -> tuple[Vehicle, dict[str, float]]:
    from ..study.named_code import vehicle_by_text
    from ..vehicles.registry import COMMAND_DRIVEN

    if own := WITH_FILE.fullmatch(name):
        name, files = own[1], (Path(own[2]), *(files or ()))
    with warnings_as_notes():
        if name in COMMAND_DRIVEN:  # read Autoware's parameter files
            apart = {n: v for n, v in values.items() if calibrated and n.startswith(CALIBRATION)}
            values = {n: v for n, v in values.items() if n not in apart}
            car = vehicle_by_text(name, values, files=files or (), telling=telling)
        else:
            typed, values = values, parameter_changes(files, values)
            # Parameter files from an identification contain `log.` and `delay.` values, which only
            # commands that read logs use.
            apart = {
                n: v
                for n, v in values.items()
                if n.startswith(CALIBRATION) and (calibrated or n not in typed)
            }
            values = {n: v for n, v in values.items() if n not in apart}
            car = vehicle_by_text(name, values, telling=telling)
    return car, {n: float(v) for n, v in apart.items()}


def compared_vehicles(
    names: Sequence[str],
    texts: Sequence[str],
    files: Sequence[Path] | None,
    settings: Sequence[str] | None,
) -> tuple[dict[str, tuple[Vehicle, dict[str, float]]], list[str]]:
    """Vehicles and calibrations by name, and notes on parameters that only some of them have.

    Each of several vehicles takes the parameters of the files that it has.
    """
    from ..core import record
    from ..vehicles.registry import COMMAND_DRIVEN

    if not files or len(texts) == 1 or any(text in COMMAND_DRIVEN for text in texts):
        pairs = zip(names, texts, strict=True)
        return {n: calibrated_vehicle(text, files, settings) for n, text in pairs}, []
    given, typed = parameter_changes(files), set_values(settings)
    fields = {text: record.names(vehicle_of(text).Params) for text in texts}
    for name in given:
        if not (name.startswith(CALIBRATION) or any(name in own for own in fields.values())):
            calibrated_vehicle(texts[0], files, settings)  # raises for the unknown name
    found: dict[str, tuple[Vehicle, dict[str, float]]] = {}
    notes: list[str] = []
    for label, text in zip(names, texts, strict=True):
        lacks = [n for n in given if n not in fields[text] and not n.startswith(CALIBRATION)]
        values = {n: value for n, value in given.items() if n not in lacks}
        found[label] = _vehicle(text, None, {**values, **typed}, calibrated=True)
        if lacks:
            notes.append(f"{label} has no {listed(lacks, 12)} of {listed(list(map(str, files)))}")
    return found, notes


def vehicle_names() -> list[str]:
    """Names of all vehicles, including Autoware's models."""
    from .. import vehicles
    from ..vehicles.registry import COMMAND_DRIVEN

    return [*vehicles.names(), *COMMAND_DRIVEN]


def is_vehicle(target: str) -> bool:
    """Whether a text names a vehicle: a listed name, `name:set`, or `module:name`."""
    from ..study.named_code import is_own

    return target.partition(":")[0] in vehicle_names() or is_own(target)
