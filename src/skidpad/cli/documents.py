"""What `--json` prints of vehicles, recordings and world files: the keys stay.

Each document says in `schema` what it is and which version of its shape, as in `models/1`. Keys may
be added under the same number; one that goes, or means another thing, takes the next. Numbers are
in SI units; what is unknown, infinite or not a number is null. docs/cli.md lists the keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core import record
from ..units import Allowed
from .tables import own_fields

if TYPE_CHECKING:
    from ..core.model import Vehicle
    from ..errors import SkidpadError
    from ..view.recording.bag_tools import BagInfo
    from ..view.recording.inspection import Info
    from ..world.scene import Scene

SECTIONS = {
    "states": "State",
    "inputs": "Input",
    "parameters": "Params",
    "disturbances": "Disturbance",
    "outputs": "Outputs",
}
"""Keys of a vehicle and the records of its model whose fields they list."""


def models_document(vehicles: Sequence[Vehicle], command_driven: Sequence[str]) -> dict[str, Any]:
    """Vehicles in full, and the names of further ones that are driven by commands."""
    return {
        "schema": "models/1",
        "vehicles": [_vehicle(vehicle) for vehicle in vehicles],
        "command_driven": list(command_driven),
    }


def _vehicle(vehicle: Vehicle) -> dict[str, Any]:
    model = vehicle.model
    return {
        "name": model.name,
        "summary": model.summary,
        "reproduces": model.reproduces or None,
        **{
            key: [_field(leaf) for leaf in own_fields(vehicle, getattr(model, kind))]
            for key, kind in SECTIONS.items()
        },
    }


def _field(leaf: record.Field) -> dict[str, Any]:
    allowed = leaf.allowed or Allowed()
    return {
        "name": leaf.name,
        "unit": leaf.unit.symbol,
        "default": _finite(leaf.default),
        "minimum": _finite(allowed.low),
        "maximum": _finite(allowed.high),
        "exclusive_minimum": allowed.open_low,
        "whole": allowed.whole,
        "meaning": " ".join(leaf.doc.split()),
    }


def recording_document(info: Info) -> dict[str, Any]:
    """A recording: when, how much, whose numbers, on which topics."""
    stage = info.stage
    return {
        "schema": "info/1",
        "kind": "recording",
        "file": str(info.path),
        "title": stage.title,
        "complete": info.complete,
        "start": info.start if info.messages else None,
        "end": info.end if info.messages else None,
        "duration": info.duration if info.messages else None,
        "samples": info.samples,
        "messages": info.messages,
        "chunks": info.chunks,
        "damaged": info.damaged,
        "size": info.size,
        "unpacked": info.unpacked,
        "lost": info.lost,
        "compression": info.compression or None,
        "program": info.program or None,
        "format": info.format,
        "bodies": [
            {
                "name": body.name,
                "kind": body.kind,
                "model": body.model or None,
                "channels": [
                    {"name": channel.name, "unit": channel.unit, "role": channel.role}
                    for channel in stage.channels
                    if channel.body == body.name
                ],
            }
            for body in stage.bodies
        ],
        "lidars": [
            {"name": scan.name, "body": scan.body, "rays": scan.count, "reach": scan.max_range}
            for scan in stage.scans
        ],
        "topics": [
            {
                "name": topic.name,
                "type": topic.schema,
                "role": topic.role or None,
                "messages": topic.messages,
                "rate": topic.rate,
            }
            for topic in info.topics
        ],
        "notes": _finite(dict(info.notes)),
    }


def bag_document(info: BagInfo) -> dict[str, Any]:
    """A bag of ROS 2; its times are in ns since the epoch that the bag has."""
    return {
        "schema": "info/1",
        "kind": "bag",
        "file": str(info.path),
        "complete": info.closed and not info.metadata,
        "start_ns": info.start if info.messages else None,
        "end_ns": info.end if info.messages else None,
        "duration": info.duration if info.messages else None,
        "messages": info.messages,
        "size": info.size,
        "storage": info.storage,
        "metadata": info.metadata or None,
        "files": [
            {"file": str(file.path), "closed": file.closed, "messages": file.messages}
            for file in info.files
        ],
        "topics": [
            {"name": topic.name, "type": topic.type, "messages": topic.messages}
            for topic in info.topics
        ],
    }


def check_document(
    file: Path, problems: Sequence[SkidpadError], notes: Sequence[str], scene: Scene | None
) -> dict[str, Any]:
    """What is wrong with a world file, and what it holds where nothing is."""
    usable = scene is not None and not problems
    return {
        "schema": "check/1",
        "file": str(file),
        "ok": usable,
        "problems": [_problem(error) for error in problems],
        "notes": list(notes),
        "counts": scene_counts(scene) if scene is not None and usable else None,
        "timestep": scene.timestep if scene is not None and usable else None,
    }


def scene_counts(scene: Scene) -> dict[str, int]:
    """How many of everything a world holds."""
    return {
        "vehicle": len(scene.vehicles),
        "block": len(scene.blocks),
        "wall": len(scene.walls),
        "element": len(scene.elements),
        "joint": len(scene.joints),
        "actor": len(scene.actors),
        "sensor": len(scene.sensors) + sum(len(v.sensors) for v in scene.vehicles),
    }


def _problem(error: SkidpadError) -> dict[str, Any]:
    from ..world.scene import WorldError

    if not isinstance(error, WorldError):
        return {"message": str(error), "file": None, "line": None, "column": None, "element": None}
    place = error.source
    return {
        "message": error.message,
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "column": None if place is None else place.column,
        "element": error.element or None,
    }


def _finite(value: Any) -> Any:
    """The value with None for whatever JSON has no word for."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
