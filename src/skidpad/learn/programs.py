"""A task and its vehicle as Programs, each compiled by itself: observing never changes the motion.

* the step, a closed loop of the vehicle whose policy is the action of the period,
* `sense`, the pose of the lidar and the motion,
* `judge`, observation, reward, end, memory and disturbance of the next period,
* `look`, the observation alone, and
* `start`, everything at the beginning of an episode.

`action_policy` is the action as a policy of the vehicle, with delays; `scaled_observation` the
observation as shares of its bounds; `touch_each_other` the contact of two vehicles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from ..compile.closed_loop import closed_loop
from ..compile.plant import Plant
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.backends import called
from ..core.body import Pose, Velocity, body_of
from ..core.lazy import RecentCache
from ..core.policy import Policy
from ..errors import InvalidValue
from ..geometry.pose import relative, to_world
from ..integrate.base import flat_result
from ..ops import clip, maximum, minimum, where
from ..run.stability import choose_integrator
from ..units import Allowed, one
from .course import Course, Courses, PlaceMemory, course_of, place_of, placed_at, touches
from .episode_info import DIVERGED, DURATION, OTHERS
from .task import Other, Parts, Start, Task, Unit, unit_poses, units_of


def action_policy(task: Task) -> Policy:
    """The action of a task as a policy of the vehicle, whose reference is the action itself.

    With delays the memory is a queue of the last actions. The policy knows the parameters of the
    task's vehicle, not those drawn for an episode.
    """
    Params = record.define(
        "Params", {"car": task.vehicle.model.Params, "q": task.Params, "delay": one},
        {"car": task.vehicle.params, "q": task.params, "delay": 0.0},
        doc="Parameters of an action.",
    )  # fmt: skip
    if not task.delays:
        return Policy(partial(_acted, task), Reference=task.Action, Params=Params, name="action")
    Memory = _queue(task)
    act = partial(_acted_late, task, Memory)
    return Policy(act, Memory, task.Action, Params, name="action")


def _acted(task: Task, x: Any, r: Any, p: Any, dt: Any) -> Any:
    return task.called("act", {"x": x, "a": r, "p": p.car, "q": p.q, "dt": dt})


def _acted_late(task: Task, Memory: type, x: Any, m: Any, r: Any, p: Any, dt: Any) -> Any:
    acting = record.flatten(r)
    for k, action in enumerate(m, 1):
        pairs = zip(acting, record.flatten(action), strict=True)
        acting = [where(p.delay < k - 0.5, new, old) for new, old in pairs]
    u = _acted(task, x, record.unflatten(task.Action, acting), p, dt)
    return u, Memory(r, *m[:-1])


def _queue(task: Task) -> type:
    zero = record.unflatten(task.Action, [0.0] * record.size(task.Action))
    names = [f"late_{k + 1}" for k in range(task.delays)]
    hints: dict[str, Any] = dict.fromkeys(names, task.Action)
    return record.define("Late", hints, dict.fromkeys(names, zero), doc="Actions that act late.")


class Joint(NamedTuple):
    """A port of several records."""

    kinds: tuple[type, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all leaves, with the number of their record before them."""
        numbered = enumerate(self.kinds)
        return tuple(f"{k}.{name}" for k, kind in numbered for name in record.names(kind))

    def records(self, values: Sequence[Any]) -> list[Any]:
        """The records of the values of all leaves."""
        records: list[Any] = []
        for kind in self.kinds:
            size = record.size(kind)
            own, values = values[:size], values[size:]
            records.append(course_of(own) if kind is Course else record.unflatten(kind, own))
        return records


def scaled_observation(task: Task, told: Mapping[str, Any]) -> tuple[Any, ...]:
    """The observation as shares of its bounds, from -1 to 1."""
    seen = task.called("observe", told)
    if not isinstance(seen, task.Observation):
        raise InvalidValue(
            f"task {task.name!r}: observe must return its {task.Observation.__name__} record, got "
            f"a {type(seen).__name__}"
        )
    scaled: list[Any] = []
    leaves = zip(record.names(task.Observation), record.flatten(seen), task.lowest, task.highest,
                 strict=True)  # fmt: skip
    for name, value, low, high in leaves:
        noisy = value + getattr(told["e"], name) if name in task.noise else value
        # The share is clipped, not the value: rounding must not lead out of the space.
        scaled.append(clip((2.0 * noisy - (high + low)) / (high - low), -1.0, 1.0))
    return tuple(scaled)


Corners = Sequence[tuple[Any, Any]]


def touch_each_other(pose: Pose, other: Pose, parts: Sequence[Corners]) -> Any:
    """1.0 if two vehicles with these convex parts have a point in common, else 0.0."""
    seen = relative(pose, other)
    hit: Any = 0.0
    for mine in parts:
        for its in parts:
            moved = [to_world(seen, x, y) for x, y in its]
            gap = maximum(_gap(mine, moved), _gap(moved, mine))
            hit = where(gap <= 0.0, 1.0, hit)
    return hit


def _gap(corners: Corners, others: Corners) -> Any:
    """Above 0 if an edge of the first polygon, counter-clockwise, separates the second from it."""
    widest: Any = -1.0
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        beyond: Any = None
        for x, y in others:
            height = (y1 - y0) * (x - x0) - (x1 - x0) * (y - y0)
            beyond = height if beyond is None else minimum(beyond, height)
        widest = maximum(widest, beyond)
    return widest


def action_bounds(task: Any) -> tuple[list[float], list[float]]:
    """Lowest and highest value of each field of a task's action; infinite without a bound."""
    allowed = [leaf.allowed or Allowed() for leaf in record.fields(task.Action)]
    return [one.low for one in allowed], [one.high for one in allowed]


def invalid_action(task: Any, row: int, field: int, value: float) -> InvalidValue:
    """The error for a field of an action that is not a finite number."""
    low, high = (ends[field] for ends in action_bounds(task))
    return InvalidValue(
        f"the action {record.names(task.Action)[field]} of environment {row // task.agents} is "
        f"{value}; it must be a number from {low:g} to {high:g}"
    )


def draws_parameters(task: Any) -> bool:
    """Whether environments differ in the parameters of the vehicle or in the delay of actions."""
    return any(name.startswith(("params.", "delay")) for name in task.randomised)


RESERVED = (DURATION, OTHERS, DIVERGED)
"""Reasons of ends that tasks cannot use."""


@dataclass(frozen=True)
class TaskPrograms:
    """The Programs of a task, for an engine."""

    task: Any
    """A `Task` or, without its functions, a `SavedTask`."""
    plant: Plant
    """The vehicle with the action as its policy."""
    courses: Courses | None
    judge: Program
    look: Program
    start: Program
    sense: Program
    draws: tuple[str, ...]
    """Names of the drawn shares that `start` takes."""
    noise: tuple[str, ...]
    """Names of the drawn shares that `judge` takes."""
    reasons: tuple[str, ...]
    """Reasons of ends: `ended` of `judge` is 1 for the first, 2 for the second."""
    parts: Parts
    """Convex pieces of the vehicle's outline without trailers, in m from its reference point."""


def compile_task(task: Any) -> TaskPrograms:
    """The Programs of a `Task`, traced once, or those of a loaded task."""
    if not isinstance(task, Task):
        return task.programs
    return _PROGRAMS.get(task, None, lambda: _traced(task))


_PROGRAMS: RecentCache[TaskPrograms] = RecentCache()


def _traced(task: Task) -> TaskPrograms:
    units = units_of(task.vehicle)
    parts = units[0].parts
    if task.agents > 1 and len(units) > 1:
        raise InvalidValue(
            f"task {task.name!r}: {task.vehicle.name!r} tows, and vehicles that share a world must "
            "not: agents = 1 is allowed"
        )
    radius = max(unit.radius for unit in units)
    courses = Courses(task.tracks, radius) if task.tracks else None
    method = choose_integrator(task.vehicle, task.integrator, task.dt, task.substeps)
    plant = closed_loop(task.vehicle, method, action_policy(task), task.substeps)
    maker = _Maker(task, courses, units, plant)
    return TaskPrograms(
        task, plant, courses, maker.judge(), maker.look(), maker.start(), maker.sense(),
        maker.draws, tuple(task.noise), maker.reasons, parts,
    )  # fmt: skip


class _Maker:
    """Traces the Programs of a task."""

    def __init__(
        self, task: Task, courses: Courses | None, units: tuple[Unit, ...], plant: Plant
    ) -> None:
        self.task, self.courses, self.units, self.plant = task, courses, units, plant
        self._touched = partial(touch_each_other, parts=units[0].parts)
        self.model = task.vehicle.model
        self.body = body_of(task.vehicle, "a task")
        on_track = courses is not None
        self.memory = Joint((*((PlaceMemory,) if on_track else ()), task.Memory))
        self.reasons: tuple[str, ...] = ()
        """Names of what `ended` gives, known when `judge` was traced."""
        self.numbers = Joint((*((Course,) if on_track else ()), task.Params))
        self.draws = (*(f"draw.{n}" for n in task.draws), *task.randomised)
        if courses is not None and len(courses.tracks) > 1:
            self.draws = (*self.draws, "track")

    def judge(self) -> Program:
        """Ports of `_moment` -> observation, reward, ended, memory, disturbance."""
        task, model = self.task, self.model
        w = record.names(model.Disturbance) if task.disturb else ()
        outputs = (
            Port("observation", record.names(task.Observation)),
            Port("reward", ("reward",)),
            Port("ended", ("ended",)),
            Port("m", self.memory.fields),
            Port("w", w),
        )

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            told, place_memory = self._arguments(*ports)
            reward = task.called("reward", told)
            ended = self._end(task.called("ended", told))
            if task.remember is not None:
                told["m"] = task.called("remember", told)
            disturbed = record.flatten(task.called("disturb", told)) if task.disturb else ()
            memory = (*place_memory, *record.flatten(told["m"]))
            return scaled_observation(self.task, told), (reward,), (ended,), memory, disturbed

        return trace(f"{task.name}.judge", function, self._moment(), outputs)

    def _end(self, ended: Any) -> Any:
        """The number of the first reason that holds, from 1 on, or 0."""
        task = self.task
        named = ended if isinstance(ended, Mapping) else {"ended": ended}
        reasons = cast("Mapping[str, Any]", named)
        self.reasons = tuple(reasons)
        for name in reasons:
            if not name or name in RESERVED:
                raise InvalidValue(
                    f"task {task.name!r}: ended gives the reason {name!r}; it must be a text, and "
                    f"none of {', '.join(RESERVED)}"
                )
        allowed = (*self.reasons, DURATION)
        for name in task.successes:
            if name not in allowed:
                raise InvalidValue(
                    record.unknown_name(f"task {task.name!r}: successes", name, allowed)
                )
        number: Any = 0.0
        for k in reversed(range(len(reasons))):
            number = where(reasons[self.reasons[k]], k + 1.0, number)
        return number

    def look(self) -> Program:
        """Ports of `_moment` -> observation, contact."""
        outputs = (
            Port("observation", record.names(self.task.Observation)), Port("contact", ("contact",)),
        )  # fmt: skip

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            told, _ = self._arguments(*ports)
            return scaled_observation(self.task, told), (told["contact"],)

        return trace(f"{self.task.name}.look", function, self._moment(), outputs)

    def _moment(self) -> tuple[Port, ...]:
        """Ports of a moment: x, a, p, m, q, time, others, ranges, shares of noise."""
        task = self.task
        rays = task.lidar.rays if task.lidar and task.reads_ranges else 0
        return (
            Port("x", record.names(self.plant.State)),
            Port("a", record.names(task.Action)),
            Port("p", record.names(self.plant.Params)),
            Port("m", self.memory.fields),
            Port("q", self.numbers.fields),
            Port("time", ("time",)),
            Port("others", tuple(f"o{k}" for k in range(6 * (task.agents - 1)))),
            Port("ranges", tuple(f"r{k}" for k in range(rays))),
            Port("e", tuple(task.noise)),
        )

    def _arguments(self, *ports: tuple[Any, ...]) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Arguments for the functions of a moment by name, and the memory of the place."""
        task, model = self.task, self.model
        x, a, p, m, q, (time,), others, ranges, shares = ports
        state = record.unflatten(model.State, x[: record.size(model.State)])
        car = record.unflatten(model.Params, p[: record.size(model.Params)])
        action = record.unflatten(task.Action, a)
        *before, memory = self.memory.records(m)
        *course, own = self.numbers.records(q)
        nominal = self._known(p).car
        u = task.called("act", {"x": state, "a": action, "p": nominal, "q": own, "dt": task.dt})
        pose, velocity = self.body.pose(state, car), self.body.velocity(state, u, car)
        beside = [
            Other(Pose(*others[k : k + 3]), Velocity(*others[k + 3 : k + 6]))
            for k in range(0, len(others), 6)
        ]
        told: dict[str, Any] = {
            "x": state, "u": u, "p": car, "a": action, "m": memory, "q": own, "pose": pose,
            "velocity": velocity, "ranges": tuple(ranges), "others": tuple(beside), "time": time,
            "dt": task.dt, "e": self._drawn("Noise", task.noise, list(task.noise), shares),
        }  # fmt: skip
        kept: tuple[Any, ...] = ()
        if course:
            told["place"], placed = place_of(course[0], before[0], pose, velocity)
            kept = tuple(placed)
        at = unit_poses(self.units, pose, state)
        told["contact"] = self._contact(course[0] if course else None, at, beside)
        return told, kept

    def _known(self, p: Sequence[Any]) -> Any:
        """The part of the parameters after the vehicle's: its nominal parameters and the numbers of
        the task. They are no constants, as they may be numbers of arrays."""
        return record.unflatten(type(self.plant.params), p).policy

    def _contact(
        self, course: Course | None, poses: Sequence[Pose], others: Sequence[Other]
    ) -> Any:
        hit: Any = 0.0
        if course is not None and self.courses is not None and self.courses.most_walls:
            for unit, pose in zip(self.units, poses, strict=True):
                most = self.courses.most_walls
                hit = maximum(hit, touches(course.walls, most, pose, unit.parts))
        for other in others:
            touched = called(self._touched, poses[0], other.pose)
            hit = where(touched > 0.5, 1.0, hit)
        return hit

    def start(self) -> Program:
        """Shares of the draws, base parameters, number of the agent, table of the courses -> x, p,
        m, q, w."""
        task, model = self.task, self.model
        inputs = (
            Port("d", self.draws),
            Port("p", record.names(self.plant.Params)),
            Port("agent", ("agent",)),
            Port("courses", ("courses",) if self.courses is not None else ()),
        )
        outputs = (
            Port("x", record.names(self.plant.State)),
            Port("p", record.names(self.plant.Params)),
            Port("m", self.memory.fields),
            Port("q", self.numbers.fields),
            Port("w", record.names(model.Disturbance)),
        )

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            shares, base, (agent,), table = ports
            told = dict(zip(self.draws, shares, strict=True))
            return self._started(told, base, agent, table)

        return trace(f"{task.name}.start", function, inputs, outputs)

    def _started(
        self, shares: dict[str, Any], base: Sequence[Any], agent: Any, table: Sequence[Any]
    ) -> tuple[Any, ...]:
        task, model = self.task, self.model
        drawn = {name: factor.traced(shares[name]) for name, factor in task.randomised.items()}
        whole = self._with_drawn(type(self.plant.params), base, drawn, {"params.": "", "delay": ""})
        car = record.unflatten(model.Params, whole[: record.size(model.Params)])
        numbers_of_task = record.flatten(self._known(base).q)
        own = self._with_drawn(task.Params, numbers_of_task, drawn, {"task.": ""})
        q = record.unflatten(task.Params, own)
        d = self._drawn("Draws", task.draws, [f"draw.{n}" for n in task.draws], shares)
        course = None
        if self.courses is not None:
            number = shares.get("track", 0.0) * float(len(self.courses.tracks))
            course = self.courses.course(number, table[0])
        told = {"x": record.build(model.State), "p": car, "q": q, "course": course, "d": d,
                "dt": task.dt, "agent": agent}  # fmt: skip
        begun = task.called("start", told)
        if not isinstance(begun, Start) or not isinstance(begun.x, model.State):
            raise InvalidValue(f"task {task.name!r}: start must return a Start with the state x")
        x = begun.x if model.settle is None else model.settle(begun.x, car)
        own_memory = task.Memory() if begun.m is None else begun.m
        now = self._at_first(x, car, own_memory, q)
        memory: list[Any] = []
        numbers: list[Any] = []
        if course is not None:
            now["place"], placed = placed_at(course, begun.s, now["pose"], now["velocity"])
            memory += placed
            numbers += [*course[:-1], *course.walls]
        memory += record.flatten(own_memory)
        w = self._first_disturbance(now, drawn)
        late = [0.0] * (record.size(self.plant.State) - record.size(model.State))
        state = (*flat_result(model, "start", x), *late)
        return state, tuple(whole), tuple(memory), (*numbers, *own), tuple(w)

    def _at_first(self, x: Any, car: Any, memory: Any, q: Any) -> dict[str, Any]:
        """What is known at the start of an episode; no contacts, ranges, others or noise."""
        task, rest = self.task, self._at_rest()
        u = task.called("act", {"x": x, "a": rest, "p": car, "q": q, "dt": task.dt})
        pose, velocity = self.body.pose(x, car), self.body.velocity(x, u, car)
        return {
            "x": x, "u": u, "p": car, "a": rest, "m": memory, "q": q, "pose": pose,
            "velocity": velocity, "time": 0.0, "dt": task.dt,
        }  # fmt: skip

    def _first_disturbance(self, now: dict[str, Any], drawn: dict[str, Any]) -> list[Any]:
        """That of the first period."""
        task, Disturbance = self.task, self.model.Disturbance
        if task.disturb is not None and now.keys() >= set(task.asks("disturb")):
            return list(record.flatten(task.called("disturb", now)))
        calm = record.flatten(record.build(Disturbance))
        return self._with_drawn(Disturbance, calm, drawn, {"disturbance.": ""})

    def _at_rest(self) -> Any:
        return record.unflatten(self.task.Action, [0.0] * record.size(self.task.Action))

    @staticmethod
    def _with_drawn(
        kind: type, base: Sequence[Any], drawn: dict[str, Any], prefixes: dict[str, str]
    ) -> list[Any]:
        """Leaves of a record with those that were drawn in their places."""
        values = list(base)
        for name, value in drawn.items():
            for prefix in prefixes:
                if name == "delay" == prefix:
                    values[record.names(kind).index("policy.delay")] = value
                elif name.startswith(prefix) and prefix != "delay":
                    values[record.names(kind).index(name.removeprefix(prefix))] = value
        return values

    @staticmethod
    def _drawn(title: str, factors: Any, keys: Sequence[str], shares: Any) -> Any:
        """What some factors give, as a record."""
        told = shares if isinstance(shares, dict) else dict(zip(keys, shares, strict=True))
        Drawn = record.define(title, dict.fromkeys(factors, one), doc="What was drawn.")
        values = [factors[name].traced(told[key]) for name, key in zip(factors, keys, strict=True)]
        return Drawn(*values)

    def sense(self) -> Program:
        """x, a, p -> pose of the lidar, then pose and velocity of the vehicle."""
        task, model = self.task, self.model
        inputs = (
            Port("x", record.names(self.plant.State)),
            Port("a", record.names(task.Action)),
            Port("p", record.names(self.plant.Params)),
        )
        fields = ("x", "y", "yaw")
        outputs = (
            Port("lidar", fields if task.lidar else ()),
            Port("motion", (*fields, "v_x", "v_y", "omega")),
        )

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            x, a, p = ports
            state = record.unflatten(model.State, x[: record.size(model.State)])
            car = record.unflatten(model.Params, p[: record.size(model.Params)])
            action, known = record.unflatten(task.Action, a), self._known(p)
            u = task.called(
                "act", {"x": state, "a": action, "p": known.car, "q": known.q, "dt": task.dt}
            )
            pose, velocity = self.body.pose(state, car), self.body.velocity(state, u, car)
            seen: tuple[Any, ...] = ()
            if task.lidar is not None:
                seen = (*to_world(pose, task.lidar.x, task.lidar.y), pose.yaw)
            return seen, (*pose, *velocity)

        return trace(f"{task.name}.sense", function, inputs, outputs)
