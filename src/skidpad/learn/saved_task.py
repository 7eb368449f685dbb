"""A task in one file, without its functions: Programs, bounds, tracks and names.

A machine without CasADi loads it and runs it, on the processor or on a GPU, with the same bits:
what follows from a track is kept, not computed anew.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..brief import brief_repr
from ..compile.described import described, record_type
from ..compile.plant import Plant
from ..compile.program import Program
from ..errors import InvalidValue
from ..files import LARGEST_BLOCK, json_of, reading, replacing
from ..plane.maps.grid import Grid
from ..plane.maps.track import Track
from ..shared_arrays import ArrayNumber, shared_array
from ..units import s
from .checked_task import check_programs
from .course import Courses, course_of
from .lidar import Lidar
from .programs import TaskPrograms, compiled

if TYPE_CHECKING:
    from .task import Task

FORMAT = "skidpad-task"
VERSION = 1
_PROGRAMS = ("judge", "look", "start", "sense")
_NUMBERS = ("agents", "substeps")


class SavedModel(NamedTuple):
    """What there is of the vehicle's model."""

    name: str
    State: type
    Disturbance: type


class SavedVehicle(NamedTuple):
    """What there is of the vehicle."""

    name: str
    model: SavedModel


@dataclass(frozen=True, eq=False)
class SavedTask:
    """A task that was loaded: `Environments` takes it like a `Task`."""

    name: str
    vehicle: SavedVehicle
    Observation: type
    Action: type
    lowest: tuple[float, ...]
    """Lower bounds of the observation."""
    highest: tuple[float, ...]
    """Upper bounds of the observation."""
    tracks: tuple[Track, ...]
    lidar: Lidar | None
    agents: int
    dt: s
    substeps: int
    duration: s
    limit: int
    """Control periods of the longest episode."""
    randomised: tuple[str, ...]
    """Names of what differs between episodes."""
    given: tuple[str, ...]
    """Names of what `reset(given=...)` says."""
    reads_ranges: bool
    """Whether one of its functions reads the lidar itself."""
    reads_place: bool
    """Whether one of its functions reads the place on the track."""
    successes: tuple[str, ...]
    """Reasons of ends that count as success."""
    disturb: bool
    """Whether it disturbs the vehicle."""
    delays: int
    """Control periods that an action may act late, at most."""

    __repr__ = brief_repr

    @property
    def programs(self) -> TaskPrograms:
        """What its functions were compiled to."""
        return self.__dict__["_programs"]


def save_task(task: Task | SavedTask, path: str | Path) -> None:
    """Write a task to a file that `load_task` reads, where there may be no CasADi."""
    document = _document(task)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def load_task(path: str | Path) -> SavedTask:
    """The task of a file that `save_task` wrote."""
    document = json_of(path, "a skidpad task file")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue(f"{path} is not a skidpad task file (no format {FORMAT!r})")
    if document.get("version") != VERSION:
        raise InvalidValue(
            f"{path} has task format version {document.get('version')!r}; "
            f"this skidpad reads version {VERSION}"
        )
    with reading(path, "is a damaged task file"):
        return _decoded(document, str(path))


def _document(task: Task | SavedTask) -> dict[str, Any]:
    programs = compiled(task)
    model = task.vehicle.model
    courses = programs.courses
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": task.name,
        "vehicle": task.vehicle.name,
        "model": model.name,
        "records": {
            "State": described(model.State),
            "Observation": described(task.Observation),
            "Action": described(task.Action),
        },
        "bounds": [_hex(task.lowest), _hex(task.highest)],
        "plant": programs.plant.document(task.dt),
        **{name: getattr(programs, name).document() for name in _PROGRAMS},
        "draws": list(programs.draws),
        "noise": list(programs.noise),
        "parts": [[_hex(point) for point in part] for part in programs.parts],
        "lidar": None if task.lidar is None else _lidar_document(task.lidar),
        "tracks": [_track_document(track) for track in task.tracks],
        "courses": None if courses is None else _courses_document(courses),
        "times": _hex([task.dt, task.duration]),
        "limit": task.limit,
        "delays": task.delays,
        **{name: getattr(task, name) for name in _NUMBERS},
        "randomised": list(task.randomised),
        "given": list(task.given),
        "reads_ranges": bool(task.lidar is not None and task.reads_ranges),
        "reads_place": bool(task.tracks) and task.reads_place,
        "reasons": list(programs.reasons),
        "successes": list(task.successes),
        "disturb": bool(task.disturb),
    }


def _decoded(document: dict[str, Any], where: str) -> SavedTask:
    kinds = {name: record_type(name, rows) for name, rows in document["records"].items()}
    plant, _ = Plant.from_document(document["plant"], where)
    lowest, highest = (_floats(values) for values in document["bounds"])
    dt, duration = _floats(document["times"])
    model = SavedModel(str(document["model"]), kinds["State"], plant.Disturbance)
    lidar = document["lidar"]
    task = SavedTask(
        name=str(document["name"]),
        vehicle=SavedVehicle(str(document["vehicle"]), model),
        Observation=kinds["Observation"],
        Action=kinds["Action"],
        lowest=lowest,
        highest=highest,
        tracks=tuple(_track(entry) for entry in document["tracks"]),
        lidar=None if lidar is None else Lidar(lidar["rays"], *_floats(lidar["numbers"])),
        dt=dt,
        duration=duration,
        limit=_whole(document, "limit"),
        delays=_whole(document, "delays", least=0),
        **{name: _whole(document, name) for name in _NUMBERS},
        randomised=_texts(document["randomised"]),
        given=_texts(document.get("given", ())),
        reads_ranges=document["reads_ranges"] is True,
        reads_place=document.get("reads_place") is True,
        successes=_texts(document.get("successes", ())),
        disturb=document["disturb"] is True,
    )
    programs = TaskPrograms(
        task=task,
        plant=plant,
        courses=_courses(document["courses"], task.tracks),
        **{name: Program.from_document(document[name], where) for name in _PROGRAMS},
        draws=_texts(document["draws"]),
        noise=_texts(document["noise"]),
        reasons=_texts(document.get("reasons", ("ended",))),
        parts=tuple(tuple(_point(point) for point in part) for part in document["parts"]),
    )
    check_programs(programs)
    task.__dict__["_programs"] = programs
    return task


def _lidar_document(lidar: Lidar) -> dict[str, Any]:
    numbers = (lidar.view, lidar.range, lidar.x, lidar.y, lidar.noise)
    return {"rays": lidar.rays, "numbers": _hex(numbers)}


def _track_document(track: Track) -> dict[str, Any]:
    grid = track.grid
    return {
        "name": track.name,
        "closed": bool(track.closed),
        **{name: _packed(getattr(track, name)) for name in ("centre", "left", "right", "walls")},
        "grid": None
        if grid is None
        else {
            "occupied": _packed(grid.occupied),
            "numbers": _hex([grid.resolution, *grid.origin]),
        },
    }


def _track(entry: dict[str, Any]) -> Track:
    arrays = {name: _unpacked(entry[name]) for name in ("centre", "left", "right", "walls")}
    grid = None
    if entry["grid"] is not None:
        resolution, x, y, yaw = _floats(entry["grid"]["numbers"])
        grid = Grid(_unpacked(entry["grid"]["occupied"]) > 0.5, resolution, (x, y, yaw))
    return Track(**arrays, closed=entry["closed"] is True, grid=grid, name=str(entry["name"]))


def _courses_document(courses: Courses) -> dict[str, Any]:
    """Leaves of all courses; of a shared array its values: its number means nothing elsewhere."""
    leaves = [[*course[:-1], *course.walls] for course in courses.records]
    return {
        "most_walls": courses.most_walls,
        "leaves": [
            [_packed(v.values) if isinstance(v, ArrayNumber) else float(v).hex() for v in row]
            for row in leaves
        ],
    }


def _courses(document: dict[str, Any] | None, tracks: tuple[Track, ...]) -> Courses | None:
    if document is None:
        return None
    records = [
        course_of([
            shared_array(_unpacked(v)) if isinstance(v, dict) else float.fromhex(v) for v in row
        ])
        for row in document["leaves"]
    ]  # fmt: skip
    return Courses.restored(tracks, records, _whole(document, "most_walls", least=0))


def _hex(values: Any) -> list[str]:
    return [float(value).hex() for value in values]


def _floats(texts: Any) -> tuple[float, ...]:
    return tuple(float.fromhex(text) for text in texts)


def _point(texts: Any) -> tuple[float, float]:
    x, y = _floats(texts)
    return x, y


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _whole(document: dict[str, Any], name: str, least: int = 1) -> int:
    value = document[name]
    if type(value) is not int or not least <= value < 2**31:
        raise InvalidValue(f"{name} = {value!r} must be a whole number, at least {least}")
    return value


def _packed(values: Any) -> dict[str, Any]:
    array = np.asarray(values)
    plain = array.astype("u1" if array.dtype == np.bool_ else "<f8")
    data = zlib.compress(plain.tobytes(), 9)
    text = base64.b64encode(data).decode("ascii")
    return {"shape": list(plain.shape), "type": plain.dtype.str, "data": text}


def _unpacked(document: dict[str, Any]) -> AnyArray:
    kind = document["type"]
    if kind not in ("|u1", "<f8"):
        raise InvalidValue(f"an array of type {kind!r} is not known")
    reader = zlib.decompressobj()
    data = reader.decompress(base64.b64decode(document["data"], validate=True), LARGEST_BLOCK)
    if reader.unconsumed_tail:
        raise InvalidValue(f"an array has more than {LARGEST_BLOCK} bytes")
    return np.frombuffer(data, kind).astype(kind[1:]).reshape(document["shape"])
