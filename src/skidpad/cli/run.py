"""`skidpad run`: a world, a vehicle or a demo, without pictures and as fast as it goes."""

from __future__ import annotations

import difflib
import warnings
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .. import demo
from ..core.files import regular_file
from ..errors import InvalidValue, require_extras
from .completion import run_targets
from .options import WorldReading, is_vehicle, refuse, vehicle_names

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


class VehicleRun(NamedTuple):
    """Options that go with a vehicle, None where they are not given."""

    controller: Annotated[
        str | None, typer.Option(help="Who steers a vehicle: path_follower, pure_pursuit, stanley.")
    ] = None
    track: Annotated[
        str | None,
        typer.Option(help="Where to: circuit, lane_change, or a file with a centre line."),
    ] = None
    speed: Annotated[float | None, typer.Option(help="Fastest speed of a vehicle in m/s.")] = None


def run(
    target: Target = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time in s.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all random numbers.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the recording and the page; one of its own if not given."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Samples recorded per second of simulated time, in Hz.")
    ] = None,
    no_record: Annotated[bool, typer.Option("--no-record", help="Write no recording.")] = False,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no replay page.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No bar and no notes, only the result.")
    ] = False,
    *,
    driving: VehicleRun,
    reading: WorldReading,
) -> None:
    """Run a world, a vehicle or a demo and report on every vehicle; Ctrl-C ends the run early."""
    if target is None:
        from rich.console import Console

        Console().print(demo_list())
        return
    if duration is not None and not (isfinite(duration) and duration >= 0.0):
        raise InvalidValue(f"--duration {duration:g} must be finite and not negative, in s")
    if rate is not None and not (isfinite(rate) and rate > 0.0):
        raise InvalidValue(f"--rate {rate:g} must be finite and greater than 0, in Hz")
    if not no_record:
        require_extras("recording", purpose="skidpad run without --no-record")
    name, show = show_of(target, seed, driving, reading, quiet=quiet)
    from ..demo.performing import perform_into, progress_bar, report

    with progress_bar(show.duration if duration is None else duration, quiet) as watch:
        done = perform_into(
            show,
            new_folder(name) if out is None else out,
            name,
            record=not no_record,
            page=not no_page,
            duration=duration,
            rate=rate,
            watch=watch,
            meta={"name": name, "seed": seed},
        )
    report(show, done)
    if done.outcome.error is not None:
        raise done.outcome.error


def new_folder(name: str) -> Path:
    """A folder that does not exist yet, named after what runs and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder, number = FOLDER / f"{name}-{stamp}", 1
    while folder.exists():
        number += 1
        folder = FOLDER / f"{name}-{stamp}-{number}"
    return folder


_OTHERS = {
    ".mcap": "a recording: skidpad replay {0} shows it",
    ".py": "a Python program, not a world file: python {0} runs it",
    ".html": "a page: open it in a browser",
}
"""Advice on files that are not worlds, by their suffix."""


def show_of(
    target: str, seed: int, driving: VehicleRun, reading: WorldReading, *, quiet: bool
) -> tuple[str, Show]:
    """The show of a demo, a vehicle or a world file, and a name for its files."""
    if target in demo.DEMOS:
        refuse(driving._asdict(), "a vehicle")
        refuse(reading._asdict(), "a world file")
        return target, demo.DEMOS[target].show(seed)
    if is_vehicle(target):
        from ..demo import vehicle_run
        from ..study.named_code import vehicle_by_text

        refuse(reading._asdict(), "a world file")
        show = vehicle_run.show(vehicle_by_text(target), seed, **driving._asdict())
        return target.replace(":", "_"), show
    file = Path(target)
    if not file.is_file():
        raise InvalidValue(_unknown(target))
    if other := _OTHERS.get(file.suffix):
        raise InvalidValue(f"{target} is {other.format(target)}")
    refuse(driving._asdict(), "a vehicle")
    return file.name.split(".")[0], _world(file, seed, reading, quiet)


def _world(file: Path, seed: int, reading: WorldReading, quiet: bool) -> Show:
    """The world of a file, with a note on stderr for each thing in it that is not simulated."""
    from rich.console import Console

    from ..demo.shows import WorldShow
    from ..world.scene import WorldWarning
    from ..world.world import World
    from ..world.xml.markup import in_brief
    from . import sheets

    scene = reading.load(file, seed=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorldWarning)
        world = World(scene, seed=seed, on_diverge="raise")
    console = Console(stderr=True, soft_wrap=True, quiet=quiet)
    later = [str(w.message) for w in caught if issubclass(w.category, WorldWarning)]
    for line in sheets.notes([*in_brief(scene.warnings, scene.file), *later, *_idle(world)]):
        console.print(line)
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
        missing = "" if path.parent.is_dir() else f", nor the folder {path.parent}"
        return f"there is no file {target}{missing}; {takes}"
    close = difflib.get_close_matches(target, [*demo.DEMOS, *vehicle_names()], n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"there is no demo, vehicle or world file {target!r}; {hint}"
        f"demos are {', '.join(demo.DEMOS)}; skidpad models lists the vehicles"
    )


def demo_list() -> RenderableType:
    """The demos with a line on each."""
    from rich.console import Group
    from rich.text import Text

    from ..view.sheet import Sheet
    from .sheets import table

    rows = [(one.name, one.text) for one in demo.DEMOS.values()]
    hints = (
        "",
        "skidpad run lap             a demo",
        "skidpad run four_wheel      a vehicle on a circuit",
        "skidpad run FILE.world.xml  a world file",
    )
    listed = table(Sheet(("demo", "what one sees"), rows, wraps=(1,)), "bold cyan")
    return Group(listed, *(Text(hint, "dim") for hint in hints))
