"""`skidpad replay` and `skidpad html`: look at a recording, or make a page of it.

`skidpad html --drive` writes a vehicle or a world as a page that drives without a server.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..core.files import regular_file
from ..errors import InvalidValue, require_extras
from .completion import drive_targets
from .options import (
    NoBrowser,
    ParameterFiles,
    RecordingFile,
    Settings,
    WorldReading,
    is_vehicle,
    parameter_changes,
    refuse,
    set_values,
    vehicle_names,
    vehicle_of,
)

if TYPE_CHECKING:
    from ..view.film import Film
    from ..view.pages.drive import Place

PLAYGROUND = "playground"
"""The world that `skidpad serve` shows by itself."""


class Driving(NamedTuple):
    """What drives on a page, and how."""

    params: ParameterFiles = None
    settings: Settings = None
    dt: Annotated[float | None, typer.Option(help="Step in s: 0.01, or that of the world.")] = None
    integrator: Annotated[
        str | None, typer.Option(help="How a step is made, as in rk4; auto by itself.")
    ] = None
    substeps: Annotated[
        int | None, typer.Option(help="Steps of the integrator within one of dt.")
    ] = None
    track: Annotated[
        str | None, typer.Option(metavar="FILE|SEED", help="Drive on a track: a file, or a seed.")
    ] = None
    vehicle: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which vehicle of a world; the first by itself."),
    ] = None


def replay(
    file: RecordingFile,
    no_browser: NoBrowser = False,
    port: Annotated[int, typer.Option(help="Port of this machine; 0: any that is free.")] = 0,
    limit_mb: Annotated[
        float,
        typer.Option(
            help="Size of the page in MB; beyond it, pictures are left out, then numbers."
        ),
    ] = 60.0,
) -> None:
    """Open a recording in the browser; Ctrl-C ends it."""
    from .output import serve_film

    serve_film(_film(file), f"{file} is", limit_mb=limit_mb, port=port, browser=not no_browser)


def html(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|VEHICLE|WORLD",
            help="Recording: an .mcap file; or a bag of ROS 2. With --drive, a vehicle as "
            "`skidpad models` lists them, a world file, or playground.",
            show_default=False,
            autocompletion=drive_targets,
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Page to write.", show_default=False)],
    limit_mb: Annotated[
        float | None,
        typer.Option(
            help="Size of the page of a recording in MB, 15 by itself; beyond it, pictures are "
            "left out, then numbers."
        ),
    ] = None,
    drive: Annotated[
        bool, typer.Option("--drive", help="A page to drive a vehicle on, without a server.")
    ] = False,
    *,
    driving: Driving,
    reading: WorldReading,
) -> None:
    """Write a recording, or a vehicle to drive, as one self-contained page, to open from disk or to
    send."""
    if out.is_dir():
        raise InvalidValue(f"{out} is a folder: give the name of a file in it, as in replay.html")
    if drive:
        if limit_mb is not None:
            raise InvalidValue("--limit-mb goes with a recording, not with --drive")
        _write_drive_page(str(file), driving, reading, out)
    else:
        own = {("set" if name == "settings" else name): v for name, v in driving._asdict().items()}
        refuse({**own, **reading._asdict()}, "--drive")
        _film(file).to_html(out, limit_mb=15.0 if limit_mb is None else limit_mb)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _film(file: Path) -> Film:
    from ..study.identify.bags import is_bag
    from ..view.recording.bag_tools import bag_film
    from ..view.recording.reading import read

    if is_bag(file):
        return bag_film(file)
    recording = read(file)
    if not recording.times.size:
        raise InvalidValue(f"{file} has no samples: there is nothing to show")
    film = recording.film()
    return film if recording.complete else replace(film, note="the recording was cut off")


def _write_drive_page(target: str, driving: Driving, reading: WorldReading, out: Path) -> None:
    """Write the page of a vehicle, of a vehicle on a track, or of one of a world."""
    from ..view.pages.drive import write_drive_page

    place_of = _vehicle_place if is_vehicle(target) else _world_place
    place = place_of(target, driving, reading)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_drive_page(
            place, out, dt=driving.dt, integrator=driving.integrator, substeps=driving.substeps
        )
    notes = [f"on the page {note}" for note in place.notes]
    notes += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _vehicle_place(target: str, driving: Driving, reading: WorldReading) -> Place:
    from ..view.pages.drive import plane_place, track_of, track_place

    refuse({"vehicle": driving.vehicle, **reading._asdict()}, "a world file")
    car = vehicle_of(target, driving.params, driving.settings, telling=True)
    if driving.track is None:
        return plane_place(car)
    return track_place(car, track_of(driving.track, car))


def _world_place(target: str, driving: Driving, reading: WorldReading) -> Place:
    from ..view.pages.drive import world_place
    from ..world.scene import WorldWarning

    refuse({"track": driving.track}, "a vehicle; a world has its own ground")
    options: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        if target == PLAYGROUND:
            from ..view.live.sources import playground

            refuse(reading._asdict(), "a world file")
            play = playground()
            scene, options = play.scene, {"lines": play.lines, "title": play.title}
        elif not Path(target).is_file():
            raise _unknown(target)
        else:
            scene = reading.load(Path(target))
        require_extras("world", purpose="a page that drives in a world")
        place = world_place(scene, driving.vehicle, **options)
    changes = parameter_changes(driving.params, set_values(driving.settings))
    return replace(place, vehicle=place.vehicle.with_params(changes)) if changes else place


def _unknown(target: str) -> InvalidValue:
    """The error for what is neither a vehicle nor a file."""
    from ..core.record import unknown_name

    path = Path(target)
    if path.exists() and not path.is_dir():
        regular_file(path)
    if path.suffix or path.name != target:
        return InvalidValue(
            f"there is no file {target}; skidpad html --drive takes world files (.xml), vehicles "
            f"and {PLAYGROUND}"
        )
    known = [*vehicle_names(), PLAYGROUND]
    return InvalidValue(unknown_name("skidpad html --drive", target, known, "vehicle"))
