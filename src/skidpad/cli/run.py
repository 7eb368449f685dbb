"""`skidpad run`: a world, a vehicle or a demo, without pictures and as fast as it goes.

What commands have in common that take a vehicle, a world file or something else of a name.

What `skidpad run` can be given: names of demos and vehicles, and files.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .. import demo
from ..core.files import regular_file
from ..errors import InvalidValue, require_extras
from .completion import run_targets
from .world import Compat, Download, Limit, ModelFolder, Shell, Variables, reading_options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..demo.show import Show
    from ..world.world import World

FOLDER = Path("skidpad-runs")

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="WORLD|VEHICLE|DEMO",
        help="A world file, a vehicle as `skidpad models` lists them, or a demo; "
        "without one, the demos are listed.",
        autocompletion=run_targets,
    ),
]
Duration = Annotated[float | None, typer.Option(help="Simulated time in s.")]
Seed = Annotated[int, typer.Option(min=0, help="Of all random numbers.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the recording and the page; one of its own if not given."),
]
Rate = Annotated[
    float | None, typer.Option(help="Samples recorded per second of simulated time, in Hz.")
]
NoRecord = Annotated[bool, typer.Option("--no-record", help="Write no recording.")]
NoPage = Annotated[bool, typer.Option("--no-page", help="Write no replay page.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No bar and no notes, only the result.")]
Controller = Annotated[
    str | None, typer.Option(help="Who steers a vehicle: path_follower, pure_pursuit, stanley.")
]
Track = Annotated[
    str | None, typer.Option(help="Where to: circuit, lane_change, or a file with a centre line.")
]
Speed = Annotated[float | None, typer.Option(help="Fastest speed of a vehicle in m/s.")]


def run(
    target: Target = None,
    duration: Duration = None,
    seed: Seed = 0,
    out: Out = None,
    rate: Rate = None,
    no_record: NoRecord = False,
    no_page: NoPage = False,
    quiet: Quiet = False,
    controller: Controller = None,
    track: Track = None,
    speed: Speed = None,
    compat: Compat = None,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
) -> None:
    """Run a world, a vehicle or a demo and report on every vehicle; Ctrl-C ends the run early."""

    if target is None:
        from rich.console import Console

        Console().print(demo_list())
        return
    _check_numbers(duration, rate)
    if not no_record:
        require_extras("recording", purpose="skidpad run without --no-record")
    request = Request(
        target,
        seed,
        {"controller": controller, "track": track, "speed": speed},
        reading_options(compat, variables, limit, allow_shell, allow_download, models),
        quiet,
    )
    name, show = show_of(request)
    _performed(name, show, duration, rate, out, seed, not no_record, not no_page, quiet)


def _performed(
    name: str,
    show: Show,
    duration: float | None,
    rate: float | None,
    out: Path | None,
    seed: int,
    record: bool,
    page: bool,
    quiet: bool,
) -> None:
    from ..demo.performing import report, watched

    folder = own_folder(name) if out is None else out
    wanted = show.duration if duration is None else duration
    with watched(wanted, quiet) as watch:
        from ..demo.performing import perform_into

        done = perform_into(
            show,
            folder,
            name,
            record=record,
            page=page,
            duration=duration,
            rate=rate,
            watch=watch,
            meta={"name": name, "seed": seed},
        )
    report(show, done)
    if done.outcome.error is not None:
        raise done.outcome.error


def own_folder(name: str) -> Path:
    """A folder that is not there yet, named by what runs and by the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder, number = FOLDER / f"{name}-{stamp}", 1
    while folder.exists():
        number += 1
        folder = FOLDER / f"{name}-{stamp}-{number}"
    return folder


def _check_numbers(duration: float | None, rate: float | None) -> None:
    if duration is not None and not (isfinite(duration) and duration >= 0.0):
        raise InvalidValue(f"--duration {duration:g} must be finite and not negative, in s")
    if rate is not None and not (isfinite(rate) and rate > 0.0):
        raise InvalidValue(f"--rate {rate:g} must be finite and greater than 0, in Hz")


Params = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Parameters in YAML or JSON; later files win."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter in SI, or tyre=FILE. May be repeated."
    ),
]

NOT_GIVEN: tuple[Any, ...] = (None, False, (), {})
"""Values of options that were not given."""


def refuse(options: Mapping[str, Any], owner: str) -> None:
    """Raise if one of these options was given, which go with something else."""
    name = next((name for name, value in options.items() if value not in NOT_GIVEN), None)
    if name is not None:
        option = {"variables": "var"}.get(name, name).replace("_", "-")
        raise InvalidValue(f"--{option} goes with {owner}")


def is_vehicle(target: str) -> bool:
    """Whether a text names a vehicle: a listed one, one with a parameter set, or `module:name`."""
    from ..study.named_code import is_own

    return target.partition(":")[0] in vehicle_names() or is_own(target)


def vehicle_names() -> list[str]:
    """All vehicles, with Autoware's models."""
    from .. import vehicles
    from ..vehicles.command_driven.records import NAMES

    return [*vehicles.names(), *NAMES]


_OTHERS = {
    ".mcap": "a recording: skidpad replay {0} shows it",
    ".py": "a Python program, not a world file: python {0} runs it",
    ".html": "a page: open it in a browser",
}
"""What files are that are not worlds, by their suffix."""


class Request(NamedTuple):
    """What was asked for."""

    target: str
    seed: int
    of_vehicle: Mapping[str, Any]
    """Options that go with a vehicle, None where they are not given."""
    of_world: Mapping[str, Any]
    """Options that go with a world file."""
    quiet: bool


def show_of(request: Request) -> tuple[str, Show]:
    """The show that was asked for, and a name for its files."""
    target = request.target
    if target in demo.DEMOS:
        refuse(request.of_vehicle, "a vehicle")
        refuse(request.of_world, "a world file")
        return target, demo.DEMOS[target].show(request.seed)
    if is_vehicle(target):
        from ..demo import vehicle_run
        from ..study.named_code import vehicle_by_text

        refuse(request.of_world, "a world file")
        show = vehicle_run.show(vehicle_by_text(target), request.seed, **request.of_vehicle)
        return target.replace(":", "_"), show
    file = Path(target)
    if not file.is_file():
        raise InvalidValue(_unknown(target))
    other = _OTHERS.get(file.suffix)
    if other is not None:
        raise InvalidValue(f"{target} is {other.format(target)}")
    refuse(request.of_vehicle, "a vehicle")
    return file.name.split(".")[0], _world(file, request)


def _world(file: Path, request: Request) -> Show:
    """The world of a file, with a note on stderr for each thing in it that is not simulated."""
    from ..demo.shows import WorldShow
    from ..world.scene import WorldWarning
    from ..world.world import World
    from ..world.xml.markup import in_brief
    from ..world.xml.reader import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        scene = load(file, seed=request.seed, **request.of_world)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorldWarning)
        world = World(scene, seed=request.seed, on_diverge="raise")
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True, quiet=request.quiet)
    later = [str(w.message) for w in caught if issubclass(w.category, WorldWarning)]
    for line in (*in_brief(scene.warnings, scene.file), *later, *_idle(world)):
        console.print(Text(f"note: {line}", "yellow"))
    return WorldShow(world)


def _idle(world: World) -> list[str]:
    """A sentence on the vehicles that nothing commands and that therefore stand still."""
    idle = world.uncommanded
    if not idle:
        return []
    names = ", ".join(idle[:12]) + (f" and {len(idle) - 12} more" if len(idle) > 12 else "")
    stays = "it stays where it is unless something pushes it"
    if len(idle) > 1:
        stays = "they stay where they are unless something pushes them"
    return [
        f"nothing commands {names}: {stays}. A file "
        "commands with <V>, <W> in a <controller> or with a trajectory, Python with "
        "world.vehicles[name].command(...), skidpad serve with keys"
    ]


def _unknown(target: str) -> str:
    path = Path(target)
    if path.is_dir():
        return f"{target} is a folder; skidpad run takes a world file in it"
    if path.exists():
        regular_file(path)
    if path.suffix or path.name != target:
        takes = "skidpad run takes world files (.xml), vehicles and demos"
        folder = path.parent
        missing = f"nor the folder {folder}" if not folder.is_dir() else ""
        return f"there is no file {target}{missing and f', {missing}'}; {takes}"
    close = difflib.get_close_matches(target, [*demo.DEMOS, *vehicle_names()], n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"there is no demo, vehicle or world file {target!r}; {hint}"
        f"demos are {', '.join(demo.DEMOS)}; skidpad models lists the vehicles"
    )


def demo_list() -> RenderableType:
    """The demos with a line on each."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("demo", style="bold cyan", no_wrap=True)
    table.add_column("what one sees")
    for one in demo.DEMOS.values():
        table.add_row(one.name, one.text)
    hints = (
        "",
        "skidpad run lap             a demo",
        "skidpad run four_wheel      a vehicle on a circuit",
        "skidpad run FILE.world.xml  a world file",
    )
    return Group(table, *(Text(hint, "dim") for hint in hints))
