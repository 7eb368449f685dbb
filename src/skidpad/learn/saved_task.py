"""A task in one file, without its functions: Programs, bounds, tracks and names.

A machine without CasADi loads it and runs it, on the CPU or on a GPU, with results that are the
same bit for bit: the tables of a track are saved, not recomputed. Files are checked on loading
(`check_programs`): kernels take array lengths from the ports of a Program, so inconsistent Programs
would access memory out of bounds. `task_of` finds a task by name and options, for
`gymnasium.make`.
"""

from __future__ import annotations

import base64
import inspect
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compile.plant import Plant
from ..compile.portable import described, record_type
from ..compile.program import Port, Program
from ..core import record
from ..core.arrays import AnyArray, ArrayNumber, shared_array
from ..core.checks import whole
from ..core.files import LARGEST_BLOCK, brief_repr, json_of, reading, replacing
from ..errors import InvalidValue
from ..geometry.maps.occupancy import Grid
from ..geometry.maps.track import Track
from ..units import s
from . import tasks
from .course import Courses, course_of
from .episodes import BOOKKEEPING, Rules
from .programs import TaskPrograms, compile_task
from .task import Lidar, Task

Sizes = dict[str, tuple[int, ...]]
"""Ports of a Program in order, each with its allowed sizes."""
_COURSE = 12
"""Number of leaves of a course."""


def check_programs(programs: TaskPrograms) -> None:
    """Raise unless the parts of a task are consistent."""
    task, plant = programs.task, programs.plant
    if record.names(task.Action) != record.names(plant.Input):
        raise InvalidValue("the actions of the task are not those of its plant")
    if (programs.courses is None) != (not task.tracks):
        raise InvalidValue("there must be a course for each track")
    x, p = record.size(plant.State), record.size(plant.Params)
    w = record.size(plant.Disturbance)
    rays = 0 if task.lidar is None or not task.reads_ranges else task.lidar.rays
    inner = {port.name: len(port.fields) for port in programs.judge.inputs}
    m, q = inner.get("m", 0), inner.get("q", 0)
    felt: Sizes = {
        "x": (x,), "a": (record.size(task.Action),), "p": (p,), "m": (m,), "q": (q,), "time": (1,),
        "others": (6 * (task.agents - 1),), "ranges": (rays,), "e": (len(programs.noise),),
    }  # fmt: skip
    seen: Sizes = {"observation": (record.size(task.Observation),)}
    disturbed = (w,) if task.disturb else (0,)
    judged: Sizes = {**seen, "reward": (1,), "ended": (1,), "m": (m,), "w": disturbed}
    begun: Sizes = {"x": (x,), "p": (p,), "m": (m,), "q": (q,), "w": (w,)}
    drawn: Sizes = {
        "d": (len(programs.draws),), "p": (p,), "agent": (1,), "courses": (bool(task.tracks),),
    }  # fmt: skip
    felt_alone: Sizes = {name: felt[name] for name in ("x", "a", "p")}
    sensed: Sizes = {"lidar": (3 if task.lidar else 0,), "motion": (6,)}
    _check("judge", programs.judge.inputs, felt)
    _check("judge", programs.judge.outputs, judged)
    _check("look", programs.look.inputs, felt)
    _check("look", programs.look.outputs, {**seen, "contact": (1,)})
    _check("start", programs.start.inputs, drawn)
    _check("start", programs.start.outputs, begun)
    _check("sense", programs.sense.inputs, felt_alone)
    _check("sense", programs.sense.outputs, sensed)
    for name, rows in (("advance", 1), ("conclude", task.agents)):
        program, (read, written) = getattr(programs, name), BOOKKEEPING[name]
        rules: Sizes = {"rules": (len(Rules._fields),)}
        _check(name, program.inputs, {**dict.fromkeys(read, (rows,)), **rules})
        _check(name, program.outputs, dict.fromkeys(written, (rows,)))
    if task.tracks and q < _COURSE:
        raise InvalidValue(f"the course of a track has {_COURSE} numbers, not {q}")
    if len(task.lowest) != len(task.highest) or len(task.lowest) != seen["observation"][0]:
        raise InvalidValue("there must be two bounds for each number of the observation")
    if not programs.reasons:
        raise InvalidValue("there must be a reason for which an episode ends")
    if programs.courses is not None and len(programs.courses.records) != len(task.tracks):
        raise InvalidValue("there must be a course for each track")


def _check(program: str, ports: Sequence[Port], sizes: Sizes) -> None:
    widths = {port.name: len(port.fields) for port in ports}
    fits = list(widths) == list(sizes) and all(widths[name] in sizes[name] for name in widths)
    if not fits:
        raise InvalidValue(f"{program} has the ports {widths}; expected {sizes}")


FORMAT = "skidpad-task"
VERSION = 1
_PROGRAMS = ("judge", "look", "start", "sense", "advance", "conclude")
_NUMBERS = ("agents", "substeps")


class SavedModel(NamedTuple):
    """The part of the vehicle's model that is saved in a file."""

    name: str
    State: type
    Disturbance: type


class SavedVehicle(NamedTuple):
    """The part of the vehicle that is saved in a file."""

    name: str
    model: SavedModel


@dataclass(frozen=True, eq=False)
class SavedTask:
    """Task loaded from a file; `Environments` takes it like a `Task`."""

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
    """Maximum episode length in control periods."""
    randomised: tuple[str, ...]
    """Names of the parameters that vary between episodes."""
    given: tuple[str, ...]
    """Names of the parameters supplied by `reset(given=...)`."""
    reads_ranges: bool
    """Whether one of its functions reads the lidar ranges."""
    reads_place: bool
    """Whether one of its functions reads the vehicle's place on the track."""
    successes: tuple[str, ...]
    """End reasons that mean success."""
    disturb: bool
    """Whether the task disturbs the vehicle."""
    delays: int
    """Longest delay of an action in control periods."""

    __repr__ = brief_repr

    @property
    def programs(self) -> TaskPrograms:
        return self.__dict__["_programs"]


def save_task(task: Task | SavedTask, path: str | Path) -> None:
    """Write a task to a file for `load_task`, which also works on a machine without CasADi."""
    document = _document(task)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def load_task(path: str | Path) -> SavedTask:
    """Load a task that `save_task` has written."""
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
    programs = compile_task(task)
    model = task.vehicle.model
    courses, lidar = programs.courses, task.lidar
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
        "lidar": None
        if lidar is None
        else {
            "rays": lidar.rays,
            "numbers": _hex([lidar.view, lidar.range, lidar.x, lidar.y, lidar.noise]),
        },
        "tracks": [_track_document(track) for track in task.tracks],
        "courses": None if courses is None else _courses_document(courses),
        "times": _hex([task.dt, task.duration]),
        "limit": task.limit,
        "delays": task.delays,
        **{name: getattr(task, name) for name in _NUMBERS},
        "randomised": list(task.randomised),
        "given": list(task.given),
        "reads_ranges": bool(lidar is not None and task.reads_ranges),
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
    """Leaves of all courses, with the values of shared arrays in place of their indices."""
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
    return whole(name, document[name], f"at least {least}", least, 2**31 - 1)


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


def task_of(
    task: Task | SavedTask | str, options: Mapping[str, Any], others: tuple[str, ...] = ()
) -> Any:
    """The task itself, or the task made from a name and options; raises if either is unknown.

    Args:
        task: a `Task`, a loaded task, or the name of a function of `skidpad.learn.tasks`.
        options: arguments of that function.
        others: names of further options of the caller, for the error message.
    """
    if isinstance(task, (Task, SavedTask)):
        if options:
            raise InvalidValue(f"{', '.join(options)}: options need the name of a task, got a Task")
        return task
    if not isinstance(task, str):
        raise InvalidValue(f"task must be a Task or a name, got a {type(task).__qualname__}")
    record.check_names("learn.tasks", [task], tasks.__all__, "task")
    make = getattr(tasks, task)
    # Option names of a function that makes a task: its arguments, and the fields of `Task` if it
    # has `**options`.
    arguments = inspect.signature(make).parameters.values()
    names = [a.name for a in arguments if a.kind is not inspect.Parameter.VAR_KEYWORD]
    if any(a.kind is inspect.Parameter.VAR_KEYWORD for a in arguments):
        names += [one.name for one in fields(Task) if one.name not in names]
    known = [*names, *others]
    record.check_names(f"task {task!r}", options, known, "option")
    key = tuple((name, type(value), value) for name, value in options.items())
    try:
        return _made(task, key)
    except TypeError:  # an unhashable or invalid option
        return make(**options)


@lru_cache(maxsize=8)
def _made(task: str, options: tuple[tuple[str, type, Any], ...]) -> Task:
    """Task by name, made and traced once per set of options: tasks are immutable."""
    return getattr(tasks, task)(**{name: value for name, _, value in options})


def require_drawable(task: Any, render_mode: str | None) -> Any:
    """Return the task; raises if it cannot be rendered because it was loaded from a file, which has
    no outline."""
    if render_mode is not None and not isinstance(task, Task):
        raise InvalidValue(
            f"render_mode = {render_mode!r}: task {task.name!r} was loaded from a file, which does "
            "not say what its vehicle looks like; allowed is None"
        )
    return task


def require_single(task: Any, interface: str) -> Any:
    """Return the task; raises if its worlds have several vehicles."""
    if task.agents != 1:
        raise InvalidValue(
            f"task {task.name!r} has {task.agents} agents and {interface} is for one: "
            "use SkidpadParallelEnv"
        )
    return task
