"""`skidpad run`: a world, a vehicle or a demo, without pictures and as fast as it goes."""

from __future__ import annotations

from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from ..extras import require_extras
from .completion import run_targets
from .world import Compat, Download, Limit, ModelFolder, Shell, Variables, reading_options

if TYPE_CHECKING:
    from ..runs import Show

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
    from .run_targets import Request, demo_list, show_of

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
    from ..runs.report import report, watched

    folder = own_folder(name) if out is None else out
    wanted = show.duration if duration is None else duration
    with watched(wanted, quiet) as watch:
        from ..runs import perform_into

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
