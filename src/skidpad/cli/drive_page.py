"""`skidpad html --drive`: a vehicle or a world as a page that drives without a server."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import InvalidValue
from ..files import regular_file
from .targets import is_vehicle, refuse, vehicle_names

if TYPE_CHECKING:
    from ..viewer.drive_page import Place

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
    from ..viewer.drive_page import write_drive_page

    place = _vehicle_place(request) if is_vehicle(request.target) else _world_place(request)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_drive_page(place, out, **request.how)
    notes = [f"on the page {note}" for note in place.notes]
    notes += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    for note in notes:
        sys.stderr.write(f"note: {note}\n")


def _vehicle_place(request: DriveRequest) -> Place:
    from ..viewer.drive_page import plane_place, track_of, track_place
    from .test_request import set_values, vehicle_of

    refuse({"vehicle": request.vehicle, **request.reading}, "a world file")
    car = vehicle_of(request.target, request.params, set_values(request.settings), telling=True)
    if request.track is None:
        return plane_place(car)
    return track_place(car, track_of(request.track, car))


def _world_place(request: DriveRequest) -> Place:
    from ..extras import require_extras
    from ..viewer.drive_page import world_place
    from ..world.xml import WorldWarning, load
    from .test_request import parameter_changes, set_values

    refuse({"track": request.track}, "a vehicle; a world has its own ground")
    options: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        if request.target == PLAYGROUND:
            from ..viewer.live.playground import playground

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
    from ..record import unknown_name

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
