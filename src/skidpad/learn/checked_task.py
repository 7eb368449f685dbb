"""What a task from a file must be: Programs whose ports fit the records and each other.

Kernels take the number of values in an array from the ports of a Program. Where two Programs
differ, memory of others is read and written.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import record
from ..compile.program import Port
from ..errors import InvalidValue
from .programs import TaskPrograms

Sizes = dict[str, tuple[int, ...]]
"""The ports of a Program in their order, each with the sizes that it may have."""
_COURSE = 12
"""Leaves of a course."""


def check_programs(programs: TaskPrograms) -> None:
    """Raise unless the parts of a task fit together."""
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
