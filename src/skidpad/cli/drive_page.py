"""`skidpad html --drive`: a vehicle or a world as a page that drives without a server."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import vehicles
from ..errors import InvalidValue
from ..record import unknown_name
from ..vehicles.autoware import NAMES
from ..viewer.drive_page import (
    Place,
    plane_place,
    track_of,
    track_place,
    world_place,
    write_drive_page,
)
from .test_request import parameter_changes, set_values, vehicle_of

PLAYGROUND = "playground"
"""The world that `skidpad serve` shows by itself."""


def write_page(
    target: str,
    out: Path,
    *,
    params: Sequence[Path] | None,
    set: Sequence[str] | None,
    dt: float | None,
    integrator: str | None,
    substeps: int | None,
    track: str | None,
    vehicle: str | None,
) -> None:
    """Write the page of a vehicle, of a vehicle on a track, or of one of a world."""
    values, how = set_values(set), {"dt": dt, "integrator": integrator, "substeps": substeps}
    if target.partition(":")[0] in _vehicles():
        if vehicle is not None:
            raise InvalidValue("--vehicle goes with a world file")
        place = _vehicle_place(target, params or (), values, track)
    else:
        if track is not None:
            raise InvalidValue("--track goes with a vehicle; a world has its own ground")
        place = _world_place(target, vehicle)
        changes = parameter_changes(params or (), values)
        if changes:
            place = replace(place, vehicle=place.vehicle.with_params(changes))
    for note in place.notes:
        sys.stderr.write(f"note: on the page {note}\n")
    write_drive_page(place, out, **how)


def _vehicle_place(
    name: str, params: Sequence[Path], values: Mapping[str, float], track: str | None
) -> Place:
    car = vehicle_of(name, params, values)
    return plane_place(car) if track is None else track_place(car, track_of(track, car))


def _world_place(target: str, vehicle: str | None) -> Place:
    from ..extras import require_extras
    from ..world.xml import WorldWarning, load

    require_extras("world", purpose="a page that drives in a world")
    options: dict[str, Any] = {}
    if target == PLAYGROUND:
        from ..viewer.live.playground import playground

        play = playground()
        scene, options = play.scene, {"lines": play.lines, "title": play.title}
    else:
        if not Path(target).is_file():
            raise _unknown(target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorldWarning)
            scene = load(Path(target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return world_place(scene, vehicle, **options)


def _vehicles() -> list[str]:
    return [*vehicles.names(), *NAMES]


def _unknown(target: str) -> InvalidValue:
    """The error for what is neither a vehicle nor a file."""
    path = Path(target)
    if path.suffix or path.name != target:
        return InvalidValue(
            f"there is no file {target}; skidpad html --drive takes world files (.xml), vehicles "
            f"and {PLAYGROUND}"
        )
    known = [*_vehicles(), PLAYGROUND]
    return InvalidValue(unknown_name("skidpad html --drive", target, known, "vehicle"))
