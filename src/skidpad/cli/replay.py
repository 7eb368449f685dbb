"""`skidpad replay` and `skidpad html`: look at a recording, or make a page of it.

`skidpad html --drive`: a vehicle or a world as a page that drives without a server.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..core.files import regular_file
from ..errors import InvalidValue
from .completion import drive_targets
from .run import Params, Settings, is_vehicle, refuse, vehicle_names
from .world import Compat, Download, Limit, ModelFolder, Shell, Variables, reading_options

if TYPE_CHECKING:
    from ..view.film import Film
    from ..view.pages.drive import Place

PLAYGROUND = "playground"
"""The world that `skidpad serve` shows by itself."""

Dt = Annotated[float | None, typer.Option(help="Step in s: 0.01, or that of the world.")]
IntegratorName = Annotated[
    str | None, typer.Option(help="How a step is made, as in rk4; auto by itself.")
]
Substeps = Annotated[int | None, typer.Option(help="Steps of the integrator within one of dt.")]
Track = Annotated[
    str | None, typer.Option(metavar="FILE|SEED", help="Drive on a track: a file, or a seed.")
]
VehicleName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which vehicle of a world; the first by itself.")
]


class DriveRequest(NamedTuple):
    """What was asked for."""

    target: str
    params: tuple[Path, ...]
    settings: tuple[str, ...]
    how: Mapping[str, Any]
    """Step, integrator and sub-steps; None where they are not given."""
    track: str | None
    vehicle: str | None
    reading: Mapping[str, Any]
    """How a world file is read."""

    def must_be_empty(self) -> None:
        """Raise where an option is given that a recording cannot take."""
        options = {"params": self.params, "set": self.settings, **self.how, "track": self.track}
        refuse({**options, "vehicle": self.vehicle, **self.reading}, "--drive")


def write_page(request: DriveRequest, out: Path) -> None:
    """Write the page of a vehicle, of a vehicle on a track, or of one of a world."""
    from ..view.pages.drive import write_drive_page

    place = _vehicle_place(request) if is_vehicle(request.target) else _world_place(request)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_drive_page(place, out, **request.how)
    notes = [f"on the page {note}" for note in place.notes]
    notes += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _vehicle_place(request: DriveRequest) -> Place:
    from ..view.pages.drive import plane_place, track_of, track_place
    from .test_work import set_values, vehicle_of

    refuse({"vehicle": request.vehicle, **request.reading}, "a world file")
    car = vehicle_of(request.target, request.params, set_values(request.settings), telling=True)
    if request.track is None:
        return plane_place(car)
    return track_place(car, track_of(request.track, car))


def _world_place(request: DriveRequest) -> Place:
    from ..errors import require_extras
    from ..view.pages.drive import world_place
    from ..world.scene import WorldWarning
    from ..world.xml.reader import load
    from .test_work import parameter_changes, set_values

    refuse({"track": request.track}, "a vehicle; a world has its own ground")
    options: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        if request.target == PLAYGROUND:
            from ..view.live.sources import playground

            refuse(request.reading, "a world file")
            play = playground()
            scene, options = play.scene, {"lines": play.lines, "title": play.title}
        else:
            file = Path(request.target)
            if not file.is_file():
                raise _unknown(request.target)
            scene = load(file, **request.reading)
        require_extras("world", purpose="a page that drives in a world")
        place = world_place(scene, request.vehicle, **options)
    changes = parameter_changes(request.params, set_values(request.settings))
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


File = Annotated[
    Path,
    typer.Argument(help="Recording: an .mcap file; or a bag of ROS 2.", show_default=False),
]
LimitMb = Annotated[
    float,
    typer.Option(help="Size of the page in MB; beyond it, pictures are left out, then numbers."),
]


def replay(
    file: File,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address of the page.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of this machine; 0: any that is free.")] = 0,
    limit_mb: LimitMb = 60.0,
) -> None:
    """Open a recording in the browser; Ctrl-C ends it."""
    import webbrowser

    from ..view.pages.page import PageServer, html_of

    page = html_of(_film(file), limit_mb=limit_mb)
    server = PageServer(page, port)
    typer.echo(f"{file} is at {server.url}  (Ctrl-C ends it)")
    sys.stdout.flush()
    if not no_browser:
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        typer.echo("")


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
    params: Params = None,
    settings: Settings = None,
    dt: Dt = None,
    integrator: IntegratorName = None,
    substeps: Substeps = None,
    track: Track = None,
    vehicle: VehicleName = None,
    compat: Compat = None,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
) -> None:
    """Write a recording, or a vehicle to drive, as one self-contained page, to open from disk or to
    send."""
    if out.is_dir():
        raise InvalidValue(f"{out} is a folder: give the name of a file in it, as in replay.html")
    request = DriveRequest(
        str(file),
        (*(params or ()),),
        (*(settings or ()),),
        {"dt": dt, "integrator": integrator, "substeps": substeps},
        track,
        vehicle,
        reading_options(compat, variables, limit, allow_shell, allow_download, models),
    )
    if drive:
        if limit_mb is not None:
            raise InvalidValue("--limit-mb goes with a recording, not with --drive")
        write_page(request, out)
    else:
        request.must_be_empty()
        _film(file).to_html(out, limit_mb=15.0 if limit_mb is None else limit_mb)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _film(file: Path) -> Film:
    from dataclasses import replace

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
