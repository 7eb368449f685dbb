"""A trained network as a `skidpad.Policy`, with the observation and the action of its task.

It drives as in the environments of its task wherever policies run: in `Fleet.rollout`, Monte Carlo
studies, campaigns, replays and gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..control.networks.network import Network
from ..core import record
from ..core.body import body_of
from ..core.model import Constant
from ..core.policy import Policy
from ..errors import InvalidValue
from ..ops import clip
from ..units import one
from .course import Courses, PlaceMemory, place_of
from .programs import scaled_observation
from .task import Task, units_of


def task_policy(task: Task, network: Network, *, track: int = 0, name: str = "learned") -> Policy:
    """Policy of a network that was trained on a task, compiled with the vehicle.

    Args:
        task: task of the training, without a lidar and for one vehicle.
        network: maps the observation of the environments to the action. Its first outputs are the
            action, in order, clipped to the bounds.
        track: index of the task's track to drive on.
        name: name of the policy.

    The policy's memory starts at the beginning of the track: set `memory.place.s` in m if the
    vehicle starts elsewhere on it. The policy's step is the task's control period.
    """
    if task.lidar is not None:
        raise InvalidValue(
            f"task {task.name!r} has a lidar, which cannot be compiled into a loop; drive its "
            "environments instead"
        )
    if task.agents > 1:
        raise InvalidValue(f"task {task.name!r} has {task.agents} agents; a policy drives one")
    law = LearnedDriver(task, network, track)
    return Policy(law, Memory=law.Memory, Params=law.Params, params=law.params, name=name)


class LearnedDriver(Constant):
    """Control law of `task_policy`: a function of state, memory, parameters and step."""

    def __init__(self, task: Task, network: Network, track: int) -> None:
        self._task, self._network, self._track = task, network, track
        seen, done = record.size(task.Observation), record.size(task.Action)
        if network.inputs != seen or network.outputs < done:
            raise InvalidValue(
                f"the network takes {network.inputs} numbers and gives {network.outputs}; task "
                f"{task.name!r} needs one that takes {seen} and gives at least {done}"
            )

    @cached_property
    def _courses(self) -> Courses | None:
        task = self._task
        reach = max(unit.radius for unit in units_of(task.vehicle))
        return Courses(task.tracks, reach) if task.tracks else None

    @cached_property
    def Memory(self) -> Any:
        """Record of the place on the track, the memories of task and network, the last action."""
        task = self._task
        still = record.unflatten(task.Action, [0.0] * record.size(task.Action))
        hidden = record.define(
            "Hidden", {f"h_{k}": one for k in range(self._network.hidden)},
            {f"h_{k}": 0.0 for k in range(self._network.hidden)}, doc="Memory of a network.",
        )  # fmt: skip
        fields: dict[str, Any] = {"place": PlaceMemory(), "task": task.Memory(), "hidden": hidden(),
                                  "action": still}  # fmt: skip
        return record.define(
            "Memory", {name: type(value) for name, value in fields.items()}, fields,
            doc="Memory of a learned driver.",
        )  # fmt: skip

    @property
    def Params(self) -> Any:
        """Record of the training vehicle's parameters, the task's parameters and the track."""
        return type(self.params)

    @cached_property
    def params(self) -> Any:
        task = self._task
        values: dict[str, Any] = {"car": task.vehicle.params, "q": task.params}
        if self._courses is not None:
            values["course"] = self._courses.records[self._track]
        kind = record.define(
            "Params", {name: type(value) for name, value in values.items()}, values,
            doc="Parameters of a learned driver.",
        )  # fmt: skip
        return kind()

    def __call__(self, x: Any, m: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """Input for the coming control period, and the memory after it."""
        task, body = self._task, body_of(self._task.vehicle, "a policy")
        acting = {"x": x, "a": m.action, "p": p.car, "q": p.q, "dt": dt}
        u = task.called("act", acting)
        known: dict[str, Any] = {
            **acting, "u": u, "m": m.task, "pose": body.pose(x, p.car),
            "velocity": body.velocity(x, u, p.car), "contact": 0.0, "time": 0.0, "others": (),
            "e": _Quiet(task.noise),
        }  # fmt: skip
        place = m.place
        if self._courses is not None:
            known["place"], place = place_of(p.course, place, known["pose"], known["velocity"])
        outputs, hidden = self._network.step(scaled_observation(task, known), tuple(m.hidden))
        leaves = [leaf.allowed for leaf in record.fields(task.Action)]
        action = record.unflatten(task.Action, [
            clip(value, a.low, a.high) if a else value
            for value, a in zip(outputs, leaves, strict=False)
        ])  # fmt: skip
        known["a"] = action
        kept = m.task if task.remember is None else task.called("remember", known)
        u = task.called("act", {**acting, "a": action})
        return u, self.Memory(place, kept, type(m.hidden)(*hidden), action)


class _Quiet:
    """Observation noise of a task, all zero."""

    def __init__(self, noise: Mapping[str, Any]) -> None:
        self._noise = noise

    def __getattr__(self, name: str) -> float:
        if name.startswith("_") or name not in self._noise:
            raise AttributeError(name)
        return 0.0
