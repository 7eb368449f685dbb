"""Programs of a task and its vehicle, each compiled separately: observing never changes the motion.

* the step: a closed loop of the vehicle whose policy is the action of the period,
* `sense`: the pose of the lidar and the motion,
* `judge`: observation, reward, end, and the memory and disturbance of the next period,
* `look`: the observation alone,
* `start`: everything at the beginning of an episode, and
* `advance` and `conclude`: the bookkeeping of `episodes`.

`action_policy` is the action as a policy of the vehicle, with delays; `scaled_observation` is the
observation normalised by its bounds; `touch_each_other` tests two vehicles for contact.
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
from .episodes import DURATION, RESERVED, trace_bookkeeping
from .task import Other, Parts, Start, Task, Unit, unit_poses, units_of


def action_policy(task: Task) -> Policy:
    """Action of a task as a policy of the vehicle, whose reference is the action itself.

    With delays the memory is a queue of the last actions. The policy knows the parameters of the
    task's vehicle, not those sampled for an episode.
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
    """Port that joins several records."""

    kinds: tuple[type, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all leaves, each prefixed with the index of its record."""
        numbered = enumerate(self.kinds)
        return tuple(f"{k}.{name}" for k, kind in numbered for name in record.names(kind))

    def records(self, values: Sequence[Any]) -> list[Any]:
        records: list[Any] = []
        for kind in self.kinds:
            size = record.size(kind)
            own, values = values[:size], values[size:]
            records.append(course_of(own) if kind is Course else record.unflatten(kind, own))
        return records


def scaled_observation(task: Task, known: Mapping[str, Any]) -> tuple[Any, ...]:
    """Observation of a task, normalised by its bounds to [-1, 1]."""
    seen = task.called("observe", known)
    if not isinstance(seen, task.Observation):
        raise InvalidValue(
            f"task {task.name!r}: observe must return its {task.Observation.__name__} record, got "
            f"a {type(seen).__name__}"
        )
    scaled: list[Any] = []
    leaves = zip(record.names(task.Observation), record.flatten(seen), task.lowest, task.highest,
                 strict=True)  # fmt: skip
    for name, value, low, high in leaves:
        noisy = value + getattr(known["e"], name) if name in task.noise else value
        # The share is clipped, not the value: rounding must not lead out of the space.
        scaled.append(clip((2.0 * noisy - (high + low)) / (high - low), -1.0, 1.0))
    return tuple(scaled)


Corners = Sequence[tuple[Any, Any]]


def touch_each_other(pose: Pose, other: Pose, parts: Sequence[Corners]) -> Any:
    """1.0 if two vehicles with these convex parts touch, else 0.0."""
    seen = relative(pose, other)
    hit: Any = 0.0
    for mine in parts:
        for its in parts:
            moved = [to_world(seen, x, y) for x, y in its]
            gap = maximum(_gap(mine, moved), _gap(moved, mine))
            hit = where(gap <= 0.0, 1.0, hit)
    return hit


def _gap(corners: Corners, others: Corners) -> Any:
    """Separation along the first polygon's edge normals: above 0 if one of its edges separates the
    two.

    The corners of the first polygon are counter-clockwise.
    """
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
    low, high = (ends[field] for ends in action_bounds(task))
    return InvalidValue(
        f"the action {record.names(task.Action)[field]} of environment {row // task.agents} is "
        f"{value}; it must be a number from {low:g} to {high:g}"
    )


def draws_parameters(task: Any) -> bool:
    """Whether environments differ in vehicle parameters or in the delay of actions."""
    return any(name.startswith(("params.", "delay")) for name in task.randomised)


@dataclass(frozen=True)
class TaskPrograms:
    """Programs of a task, as engines need them."""

    task: Any
    """A `Task`, or a `SavedTask`, which has no functions."""
    plant: Plant
    """Vehicle with the action as its policy."""
    courses: Courses | None
    judge: Program
    look: Program
    start: Program
    sense: Program
    advance: Program
    conclude: Program
    draws: tuple[str, ...]
    """Names of the uniform samples that `start` takes."""
    noise: tuple[str, ...]
    """Names of the uniform samples that `judge` takes."""
    reasons: tuple[str, ...]
    """Reasons of ends: `ended` of `judge` is 1 for the first, 2 for the second, and so on."""
    parts: Parts
    """Convex parts of the vehicle's outline without trailers, in m from its reference point."""


def compile_task(task: Any) -> TaskPrograms:
    """Programs of a `Task`, traced once, or the Programs of a loaded task."""
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
        *trace_bookkeeping(task.agents),
        maker.draws, tuple(task.noise), maker.reasons, parts,
    )  # fmt: skip


def _ports(**fields: tuple[str, ...]) -> tuple[Port, ...]:
    return tuple(Port(name, names) for name, names in fields.items())


class _Maker:
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
        """Names of the conditions of `ended`, known after `judge` has been traced."""
        self.numbers = Joint((*((Course,) if on_track else ()), task.Params))
        self.draws = (*(f"draw.{n}" for n in task.draws), *task.randomised)
        if courses is not None and len(courses.tracks) > 1:
            self.draws = (*self.draws, "track")

    def judge(self) -> Program:
        """Program: ports of `_moment` to observation, reward, ended, memory, disturbance."""
        task, model = self.task, self.model
        w = record.names(model.Disturbance) if task.disturb else ()
        outputs = _ports(
            observation=record.names(task.Observation),
            reward=("reward",),
            ended=("ended",),
            m=self.memory.fields,
            w=w,
        )

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            known, place_memory = self._arguments(*ports)
            reward = task.called("reward", known)
            ended = self._end(task.called("ended", known))
            if task.remember is not None:
                known["m"] = task.called("remember", known)
            disturbed = record.flatten(task.called("disturb", known)) if task.disturb else ()
            memory = (*place_memory, *record.flatten(known["m"]))
            return scaled_observation(self.task, known), (reward,), (ended,), memory, disturbed

        return trace(f"{task.name}.judge", function, self._moment(), outputs)

    def _end(self, ended: Any) -> Any:
        """Number of the first condition that holds, counted from 1, or 0."""
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
        record.check_names(f"task {task.name!r}: successes", task.successes, allowed)
        number: Any = 0.0
        for k in reversed(range(len(reasons))):
            number = where(reasons[self.reasons[k]], k + 1.0, number)
        return number

    def look(self) -> Program:
        """Program from the ports of `_moment` to observation and contact."""
        names = record.names(self.task.Observation)
        outputs = _ports(observation=names, contact=("contact",))

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            known, _ = self._arguments(*ports)
            return scaled_observation(self.task, known), (known["contact"],)

        return trace(f"{self.task.name}.look", function, self._moment(), outputs)

    def _moment(self) -> tuple[Port, ...]:
        """Input ports of `judge` and `look`: x, a, p, m, q, time, others, ranges, noise samples."""
        task = self.task
        rays = task.lidar.rays if task.lidar and task.reads_ranges else 0
        return _ports(
            x=record.names(self.plant.State),
            a=record.names(task.Action),
            p=record.names(self.plant.Params),
            m=self.memory.fields,
            q=self.numbers.fields,
            time=("time",),
            others=tuple(f"o{k}" for k in range(6 * (task.agents - 1))),
            ranges=tuple(f"r{k}" for k in range(rays)),
            e=tuple(task.noise),
        )

    def _arguments(self, *ports: tuple[Any, ...]) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Keyword arguments for the task's functions, and the place memory."""
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
        known: dict[str, Any] = {
            "x": state, "u": u, "p": car, "a": action, "m": memory, "q": own, "pose": pose,
            "velocity": velocity, "ranges": tuple(ranges), "others": tuple(beside), "time": time,
            "dt": task.dt, "e": self._drawn("Noise", task.noise, shares),
        }  # fmt: skip
        kept: tuple[Any, ...] = ()
        if course:
            known["place"], placed = place_of(course[0], before[0], pose, velocity)
            kept = tuple(placed)
        at = unit_poses(self.units, pose, state)
        known["contact"] = self._contact(course[0] if course else None, at, beside)
        return known, kept

    def _known(self, p: Sequence[Any]) -> Any:
        """The ports that follow the sampled parameters: nominal parameters of the vehicle and
        parameters of the task.

        They are inputs rather than constants, as they may be indices of shared arrays.
        """
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
        """Program that starts an episode.

        Inputs are samples, base parameters, index of the agent and table of the courses; outputs
        are x, p, m, q and w.
        """
        task, model, Params = self.task, self.model, record.names(self.plant.Params)
        table_port = ("courses",) if self.courses is not None else ()
        inputs = _ports(d=self.draws, p=Params, agent=("agent",), courses=table_port)
        outputs = _ports(
            x=record.names(self.plant.State),
            p=Params,
            m=self.memory.fields,
            q=self.numbers.fields,
            w=record.names(model.Disturbance),
        )

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            drawn_shares, base, (agent,), table = ports
            shares = dict(zip(self.draws, drawn_shares, strict=True))
            drawn = {name: factor.traced(shares[name]) for name, factor in task.randomised.items()}
            whole = self._with_drawn(type(self.plant.params), base, drawn, "params.")
            car = record.unflatten(model.Params, whole[: record.size(model.Params)])
            numbers_of_task = record.flatten(self._known(base).q)
            own = self._with_drawn(task.Params, numbers_of_task, drawn, "task.")
            q = record.unflatten(task.Params, own)
            d = self._drawn("Draws", task.draws, [shares[f"draw.{n}"] for n in task.draws])
            course = None
            if self.courses is not None:
                number = shares.get("track", 0.0) * float(len(self.courses.tracks))
                course = self.courses.course(number, table[0])
            known = {"x": record.build(model.State), "p": car, "q": q, "course": course, "d": d,
                    "dt": task.dt, "agent": agent}  # fmt: skip
            begun = task.called("start", known)
            if not isinstance(begun, Start) or not isinstance(begun.x, model.State):
                raise InvalidValue(
                    f"task {task.name!r}: start must return a Start with the state x"
                )
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

        return trace(f"{task.name}.start", function, inputs, outputs)

    def _at_first(self, x: Any, car: Any, memory: Any, q: Any) -> dict[str, Any]:
        """Arguments known at the start of an episode; no contacts, ranges, others or noise."""
        task = self.task
        rest = record.unflatten(task.Action, [0.0] * record.size(task.Action))
        u = task.called("act", {"x": x, "a": rest, "p": car, "q": q, "dt": task.dt})
        pose, velocity = self.body.pose(x, car), self.body.velocity(x, u, car)
        return {
            "x": x, "u": u, "p": car, "a": rest, "m": memory, "q": q, "pose": pose,
            "velocity": velocity, "time": 0.0, "dt": task.dt,
        }  # fmt: skip

    def _first_disturbance(self, now: dict[str, Any], drawn: dict[str, Any]) -> list[Any]:
        task, Disturbance = self.task, self.model.Disturbance
        if task.disturb is not None and now.keys() >= set(task.asks("disturb")):
            return list(record.flatten(task.called("disturb", now)))
        calm = record.flatten(record.build(Disturbance))
        return self._with_drawn(Disturbance, calm, drawn, "disturbance.")

    @staticmethod
    def _with_drawn(
        kind: type, base: Sequence[Any], drawn: dict[str, Any], group: str
    ) -> list[Any]:
        """Leaves of a record in which the sampled values of a group replace the base values."""
        values, names = list(base), record.names(kind)
        for name, value in drawn.items():
            if name.startswith(group):
                values[names.index(name.removeprefix(group))] = value
            elif name == "delay" and group == "params.":
                values[names.index("policy.delay")] = value
        return values

    @staticmethod
    def _drawn(title: str, factors: Mapping[str, Any], shares: Sequence[Any]) -> Any:
        """Sampled values of some random factors, as a record."""
        Drawn = record.define(title, dict.fromkeys(factors, one), doc="What was drawn.")
        pairs = zip(factors.values(), shares, strict=True)
        return Drawn(*(factor.traced(share) for factor, share in pairs))

    def sense(self) -> Program:
        """Program: x, a, p to the pose of the lidar, and pose and velocity of the vehicle."""
        task, model = self.task, self.model
        inputs = _ports(
            x=record.names(self.plant.State),
            a=record.names(task.Action),
            p=record.names(self.plant.Params),
        )
        fields = ("x", "y", "yaw")
        motion = (*fields, "v_x", "v_y", "omega")
        outputs = _ports(lidar=fields if task.lidar else (), motion=motion)

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
