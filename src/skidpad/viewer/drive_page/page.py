"""A page that drives a vehicle without a server, as one self-contained file."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...errors import InvalidValue
from ...export.exported import Exported, exported
from ...export.webassembly import LOADER, modules_of
from ...extras import require_extras
from ...files import replacing
from ...integrate.base import Integrator
from ...model import Vehicle
from ...shared_arrays import ArrayNumber
from ...units import s
from .. import page_files
from .description import vehicle_description
from .drive_stage import drive_stage
from .places import Place, plane_place
from .programs import programs_of
from .recording_templates import recording_templates

VERSION = 1
"""Of the block; a page refuses newer ones."""


def write_drive_page(
    vehicle: Vehicle | Place, path: str | os.PathLike[str], **options: Any
) -> None:
    """Write the page of a vehicle; options as of `drive_page`.

    It is written beside `path` first and renamed, so that it is whole or not there.
    """
    page = drive_page(vehicle, **options)
    with replacing(path) as temporary:
        temporary.write_text(page, "utf-8")


def drive_page(
    vehicle: Vehicle | Place,
    *,
    dt: s | None = None,
    integrator: str | Integrator | None = None,
    substeps: int | None = None,
) -> str:
    """The page as text: a vehicle on an empty plane, or where a place puts it.

    The vehicle is stepped as `Simulator` with the same arguments steps it, to the same bits. What
    is not given is as the place has it, else `dt` is 0.01 s and the integrator "auto".
    """
    require_extras("recording", purpose="a page that drives")
    place = vehicle if isinstance(vehicle, Place) else plane_place(vehicle)
    # Who asks for another step or method is not given the sub-steps that went with the old ones.
    own = dt is None and integrator is None and substeps is None
    made = exported(
        place.vehicle,
        place.dt or 0.01 if dt is None else dt,
        (place.integrator if own else None) or "auto" if integrator is None else integrator,
        substeps=place.substeps if own else substeps,
    )
    if made.precision != "float64":
        raise InvalidValue(f"precision = {made.precision!r}: a page has float64 only")
    return page_files.drive_page(place.title, drive_block(made, place), _own_files())


def drive_block(made: Exported, place: Place) -> bytes:
    """The deflated block of a page: a head as JSON, and the modules behind it."""
    arrays, numbers = _arrays(made.vehicle)
    modules = modules_of(programs_of(made), arrays)
    shown = drive_stage(place)
    about = vehicle_description(made, place)
    for column, number in numbers.items():
        about["params"][column] = number
    about["settles"] = made.settle is not None
    how = {key: about[key] for key in ("dt", "substeps", "integrator")}
    head = {
        "version": VERSION,
        "vehicle": about,
        "layout": modules.layout,
        "stage": shown.stage.to_json(),
        "sources": [list(source) for source in shown.sources],
        "row": shown.row.tolist(),
        "solids": [
            {"name": one.name, "points": [list(p) for p in one.points], "closed": one.closed}
            for one in place.solids
        ],
        "notes": list(place.notes),
        "recording": recording_templates(shown.stage, {"vehicle": place.vehicle.name, **how}),
    }
    return zlib.compress(_packed(head, {"fused": modules.fused, "exact": modules.exact}), 9)


def _packed(head: dict[str, Any], blobs: Mapping[str, bytes]) -> bytes:
    """Length of the head in four bytes, the head with the sizes of the blobs, the blobs."""
    head = {**head, "blobs": [[name, len(data)] for name, data in blobs.items()]}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([struct.pack("<I", len(text)), text, *blobs.values()])


def _arrays(vehicle: Vehicle) -> tuple[list[Array], dict[int, int]]:
    """The shared arrays among the parameters, and the number in the module of each by its place."""
    arrays, numbers = list[Array](), dict[int, int]()
    known: dict[float, int] = {}
    for column, value in enumerate(record.flatten(vehicle.params)):
        if isinstance(value, ArrayNumber):
            if float(value) not in known:
                arrays.append(np.array(value.values))
                known[float(value)] = len(arrays)
            numbers[column] = known[float(value)]
    return arrays, numbers


@cache
def _own_files() -> dict[str, str]:
    """Modules and styles that the page has besides those of all pages, by name."""
    entries = files("skidpad.viewer.drive_page").iterdir()
    own = {e.name: e.read_text("utf-8") for e in entries if e.name.endswith((".js", ".css"))}
    return own | {LOADER.name: LOADER.read_text("utf-8")}
