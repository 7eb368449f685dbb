"""Groups of vehicles of one model: a world step is one call of compiled code per model.

`Group` steps them; `Bodies` converts their motion between their states and world axes; `Halts`
holds vehicles that cannot be simulated any further; `warn_of_long_steps` names robots whose
controllers oscillate with the step of the world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from math import cos, sin
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np

from .. import integrate
from ..compile.cpu import BoundRollout, Late, RolloutArrays
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Acceleration, Demand, Pose, Velocity, body_of
from ..core.model import Vehicle
from ..errors import InvalidValue, SimulationDiverged
from ..geometry.pose import rotated, turned, turned_back
from ..run import arguments
from ..run.runner import Runner, Settings, cause_of_end
from ..units import m, m_s, one, rad, rad_s, s
from ..vehicles.wheeled.build import Assembly
from .contact.solids import Moving
from .scene import first_of, warn

LONGEST_SUBSTEP = 1e-3
"""Longest step in s of a model with a derivative: the motors of the cars respond within 1
ms."""


Part = Literal["State", "Input", "Disturbance", "Params"]


class Group:
    """Vehicles of one model, each with parameters and inputs of its own.

    Arrays have one row per vehicle, in the order of `names`.
    """

    def __init__(self, names: Sequence[str], vehicles: Sequence[Vehicle], dt: s) -> None:
        first = vehicles[0]
        model = first.model
        self.names, self.vehicles, self.model = tuple(names), tuple(vehicles), model
        self.fields = {name: k for k, name in enumerate(record.names(model.State))}
        """Columns of `state` by name."""
        parts = math.ceil(dt / LONGEST_SUBSTEP - 1e-9)
        substeps = parts if model.continuous else model.substeps
        method, count = integrate.get("rk4"), len(vehicles)
        # A small number of vehicles uses few lanes, which compile faster and run with the same
        # bits.
        lanes = next((n for n in (1, 4) if n >= count), None)
        settings = Settings(dt, method, threads=1, lanes=lanes, substeps=substeps)
        self._runner = Runner(Plant.of(first, method), settings, inputs="commands")
        self._out = arguments.empty(2, count, len(self.fields), self._runner.space, "soa")
        self.state: AnyArray = self._out[0]
        """States (B, nx); the next step starts from what is written here."""
        self.inputs: AnyArray = _rows(model.Input, [record.build(model.Input)] * count)
        """Inputs (B, nu)."""
        self.disturbances: AnyArray = _rows(
            model.Disturbance, [record.build(model.Disturbance)] * count
        )
        """Disturbances from the surroundings, (B, nw)."""
        self.params: AnyArray = _rows(model.Params, [v.params for v in vehicles])
        """Parameters (B, np); changes take effect from the next step."""
        self.state[:] = _rows(model.State, [record.build(model.State)] * count)
        # The tables are views: values written into them take effect in the next step.
        rows = (self.state, self.inputs, self.disturbances, self.params)
        kinds: tuple[Part, ...] = ("State", "Input", "Disturbance", "Params")
        self._tables = dict(zip(kinds, rows, strict=True))
        self._arrays = RolloutArrays(*(array[None] for array in rows))
        self._queue = self._own_queue()
        self.dt = dt
        """Length of a step in s."""
        self._bound: BoundRollout | None = None
        self.steps = 0
        self._before, self._dropped = self.state, self.inputs
        self.contains = False
        """Whether a vehicle whose state becomes NaN or infinite is listed in `failed` and stays
        where it was; otherwise an error is raised for the whole group."""
        self.failed: list[int] = []
        """Rows of the vehicles whose last step failed, if the group `contains` failures."""

    def _own_queue(self) -> Late | None:
        """Create a queue of delayed commands with a row per vehicle."""
        queue = self._runner.queue(self._arrays)
        if queue is None:
            return None
        count = len(self.names)
        return Late(*(np.repeat(a, count, axis=1) if a.shape[1] == 1 else a.copy() for a in queue))

    def step(self) -> AnyArray:
        """Advance all vehicles; returns their states (B, nx) before the step."""
        # The kernel is bound at the first step, so that a world that is only inspected needs no
        # compiler.
        if self._bound is None:
            self._bound = self._runner.bound(self._arrays, self._out, self._queue)
        state, queue, pending = self.state, self._queue, None
        self._before = before = state.copy()
        health = self._bound()
        flat = health.ravel()
        if not math.isfinite(flat.dot(flat)):
            self._judge(health)
        if queue is not None:
            pending, self._dropped = queue.pending, queue.pending[0].copy()
        # Python handles signals at calls and in loops, so the following assignments are not
        # interrupted.
        if pending is not None:
            pending[:-1] = pending[1:]
            pending[-1] = self.inputs
        state[:] = self._out[1]
        self.steps += 1
        return before

    def _judge(self, health: AnyArray) -> None:
        """Record which vehicles failed in a step, or raise an error; see `contains`."""
        diverged, bad_input, _ = ~np.isfinite(health)
        if not self.contains or bad_input.any():
            self._runner.judge(self._arrays, self._out, health, self._queue)
        self.failed = np.flatnonzero(diverged).tolist()
        self._out[1][self.failed] = self._before[self.failed]

    def clear_inputs(self, row: int) -> None:
        """Reset inputs and disturbances of a vehicle to their defaults, including delayed ones."""
        self.inputs[row] = record.flatten(record.build(self.model.Input))
        self.disturbances[row] = record.flatten(record.build(self.model.Disturbance))
        if self._queue is not None:
            self._queue.pending[:, row] = self.inputs[row]

    def take_back(self) -> None:
        """Undo the last step, except for inputs and disturbances."""
        self.state[:] = self._before
        if self._queue is not None:
            pending = self._queue.pending
            pending[1:] = pending[:-1].copy()
            pending[0] = self._dropped
        self.steps -= 1
        self.failed = []

    def column(self, name: str) -> AnyArray:
        """Column of the states, (B,); zeros if the model has no field of this name."""
        at = self.fields.get(name)
        return np.zeros(len(self.names)) if at is None else self.state[:, at]

    def record(self, kind: Part, row: int) -> Any:
        """Current State, Input, Disturbance or Params record of a vehicle."""
        return record.unflatten(getattr(self.model, kind), self._tables[kind][row].tolist())

    def outputs(self, row: int) -> Any:
        return self.vehicles[row].outputs(*(self.record(kind, row) for kind in self._tables))

    def snapshot(self) -> tuple[AnyArray, ...]:
        return tuple(array.copy() for array in self._moving())

    def restore(self, snapshot: tuple[AnyArray, ...]) -> None:
        for own, saved in zip(self._moving(), snapshot, strict=True):
            own[:] = saved

    def _moving(self) -> tuple[AnyArray, ...]:
        pending = () if self._queue is None else (self._queue.pending,)
        return self.state, self.inputs, self.disturbances, *pending


def _rows(kind: type, records: Sequence[Any]) -> AnyArray:
    return np.array([record.flatten(r) for r in records], dtype=float).reshape(
        len(records), record.size(kind)
    )


def group_by_model(vehicles: dict[str, Vehicle], dt: s) -> list[Group]:
    """Groups of vehicles with the same model, ordered by name, independent of the order of
    `vehicles`.
    """
    by_model: dict[int, list[str]] = {}
    for name in sorted(vehicles):
        by_model.setdefault(id(vehicles[name].model), []).append(name)
    ordered = sorted(by_model.values())
    return [Group(names, [vehicles[n] for n in names], dt) for names in ordered]


class Bodies:
    """Poses and velocities of the vehicles of a group, in world axes and in their own.

    Only those components of a contact's effect on a vehicle are applied that its body allows. State
    columns that the body returns or accepts unchanged are found once, by calling the body with the
    columns themselves; only computed quantities are evaluated again.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.body = body = body_of(group.vehicles[0], "a world")
        model = group.model
        # The records are views, so they show changes by steps and by the user.
        self.x = _record(model.State, group.state)
        self.u = _record(model.Input, group.inputs)
        self.w = _record(model.Disturbance, group.disturbances)
        self.p = _record(model.Params, group.params)
        """States, inputs, disturbances and parameters as records of columns (B,)."""
        table = group.state, record.flatten(self.x)
        self._poses = _Table(*table, lambda: body.pose(self.x, self.p))
        self._places = _Table(*table, lambda: body.pose(self.x, self.p)[:2])
        self._velocities = _Table(*table, lambda: body.velocity(self.x, self.u, self.p))
        self._motions = _Table(
            *table, lambda: (*body.pose(self.x, self.p), *body.velocity(self.x, self.u, self.p))
        )
        self.jumps = np.zeros(len(group.names), np.int64)
        """Number of teleports of each vehicle, (B,), which are not motion."""
        self._written = self._fields_written()
        self._lean: _Lean | None = None
        self._projected = False

    def lie(self, pitch: Array, roll: Array, *, projected: bool = False) -> None:
        """Set the attitude of the vehicles on the ground, (B,) each, from the next step on.

        Velocities are along the ground, so that the motion on the map is shorter; models that
        include the road have it `projected` already.
        """
        self._projected = projected
        level = not (pitch.any() or roll.any())
        self._lean = None if level else _Lean(np.cos(pitch), np.sin(pitch) * np.sin(roll), roll)

    def project(self, before: AnyArray) -> None:
        """Project the displacement of a step from states (B, nx) onto the map."""
        lean, at = self._lean, self._map_columns
        if lean is None or at is None or self._projected:
            return
        poses = _stacked(self.body.pose(_record(self.group.model.State, before), self.p))
        yaw = poses[:, 2]
        c, s = np.cos(yaw), np.sin(yaw)
        way = self.places - poses[:, :2]
        ahead, left = turned_back(c, s, way[:, 0], way[:, 1])
        x, y = turned(c, s, *lean.on_map(ahead, left))
        self.group.state[:, at[0]] += x - way[:, 0]
        self.group.state[:, at[1]] += y - way[:, 1]

    @cached_property
    def _map_columns(self) -> tuple[int, int] | None:
        """State columns of the position: those that the body reads, or those with the usual
        names."""
        fields = self.group.fields
        if self._places.columns is not None:
            x, y = np.arange(len(fields))[self._places.columns].tolist()
            return x, y
        # If the body's reference point differs from the point that the state describes, the motion
        # on the map is that of the state's point.
        return (fields["x"], fields["y"]) if "x" in fields and "y" in fields else None

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3), a copy."""
        return self._poses.now().copy()

    @property
    def places(self) -> Array:
        """Current positions x, y (B, 2); a view that later steps overwrite."""
        return self._places.now()

    @property
    def motions(self) -> Array:
        """Pose x, y, yaw and velocity v_x, v_y, omega in body axes (B, 6), a copy."""
        return self._motions.now().copy()

    def motion(self, row: int) -> tuple[Pose, Velocity]:
        x, y, yaw, *velocity = self._motions.row(row)
        return Pose(x, y, yaw), Velocity._make(velocity)

    def speeds(self) -> Array:
        """Speeds of the vehicles (B,), in m/s."""
        velocities = self._velocities.now()
        return np.hypot(velocities[:, 0], velocities[:, 1])

    def places_in(self, states: AnyArray) -> Array:
        """Positions x, y (B, 2) in other states (B, nx) of the same vehicles."""
        if self._places.columns is not None:
            return states[:, self._places.columns]
        x = _record(self.group.model.State, states)
        return _stacked(self.body.pose(x, self.p)[:2])

    def moving(self, rows: Sequence[int], before: AnyArray) -> list[Moving]:
        """Poses before the step and velocities after it, of some vehicles, in world axes."""
        if self._poses.columns is not None:
            then = before[:, self._poses.columns][rows].tolist()
        else:
            x = _record(self.group.model.State, before[rows])
            p = _record(self.group.model.Params, self.group.params[rows])
            then = _stacked(self.body.pose(x, p)).tolist()
        velocities = self._velocities.now()[rows]
        if self._lean is not None:
            ahead, left = self._lean.of(rows).on_map(velocities[:, 0], velocities[:, 1])
            velocities = _stacked([ahead, left, velocities[:, 2]])
        now = velocities.tolist()
        return [_in_world(*a, *b) for a, b in zip(then, now, strict=True)]

    def put(self, rows: Sequence[int], movings: Iterable[Moving]) -> None:
        """Write poses and velocities in world axes into the states of some vehicles."""
        state = self.group.state
        motions = [
            (x, y, yaw, *turned_back(cos(yaw), sin(yaw), v_x, v_y), omega)
            for x, y, yaw, v_x, v_y, omega in movings
        ]
        if self._lean is not None and motions:
            table = np.array(motions)
            lean = self._lean.of(rows)
            table[:, 3], table[:, 4] = lean.along_ground(table[:, 3], table[:, 4])
            motions = table.tolist()
        if self._written is not None:
            columns, chosen = self._written
            # Rows are written one by one, which is faster than one write for up to about twenty
            # vehicles.
            for row, motion in zip(rows, motions, strict=True):
                state[row, columns] = chosen(motion)
            return
        *pose, v_x, v_y, omega = np.array(motions).T
        x = _record(self.group.model.State, state[rows])
        p = _record(self.group.model.Params, self.group.params[rows])
        after = self.body.placed(x, Pose(*pose), Velocity(v_x, v_y, omega), p)
        state[rows] = _stacked(record.flatten(after))

    def restart(self, row: int, moving: Moving) -> None:
        """Restart a vehicle with this pose and velocity in world axes."""
        model, state = self.group.model, self.group.state
        state[row] = record.flatten(record.build(model.State))
        self.put([row], [moving])
        if model.settle is not None:
            state[row] = _stacked(record.flatten(model.settle(self.x, self.p)))[row]

    def settle(self) -> None:
        """Make dependent fields of all states consistent, as at the start of a run."""
        model, state = self.group.model, self.group.state
        if model.settle is not None:
            state[:] = _stacked(record.flatten(model.settle(self.x, self.p)))

    def fields(self, names: Sequence[str], rows: Sequence[int], states: AnyArray) -> list[Any]:
        """Fields of the states (B, nx) of some vehicles, or of their outputs, as a list for each
        field name."""
        known = self.group.fields
        if all(name in known for name in names):
            return states[rows][:, columns_at([known[name] for name in names])].tolist()
        model = self.group.model
        tables = (states, self.group.inputs, self.group.disturbances, self.group.params)
        kinds = (model.State, model.Input, model.Disturbance, model.Params)
        x, u, w, p = (_record(k, table[rows]) for k, table in zip(kinds, tables, strict=True))
        outputs = self.group.vehicles[0].outputs(x, u, w, p)
        values = [getattr(x if name in known else outputs, name) for name in names]
        return _stacked(values).tolist()

    def _fields_written(self) -> tuple[slice | list[int], Callable[[Any], Any]] | None:
        """State columns to which a motion is written, and the function that selects their values.

        Returns None if the columns are computed from the motion.
        """
        motion = [np.zeros(len(self.group.names)) for _ in range(6)]
        after = self.body.placed(self.x, Pose._make(motion[:3]), Velocity._make(motion[3:]), self.p)
        places = {id(value): k for k, value in enumerate(motion)}
        pairs = [
            (column, places.get(id(new)))
            for column, (old, new) in enumerate(
                zip(record.flatten(self.x), record.flatten(after), strict=True)
            )
            if new is not old
        ]
        columns, sources = zip(*pairs, strict=True)
        return None if None in sources else (columns_at(columns), itemgetter(*sources))


class _Lean(NamedTuple):
    """Projection between vectors along the ground and on the map, in axes turned by the yaw.

    The axes of a vehicle are turned by yaw, pitch and roll in this order.
    """

    ahead: Array
    """Distance ahead on the map per distance ahead along the ground."""
    aside: Array
    """Distance ahead on the map per distance to the left along the ground."""
    roll: Array

    def of(self, rows: Sequence[int]) -> _Lean:
        return _Lean(*(values[rows] for values in self))

    def on_map(self, ahead: Array, left: Array) -> tuple[Array, Array]:
        """Project a vector along the ground onto the map."""
        return self.ahead * ahead + self.aside * left, np.cos(self.roll) * left

    def along_ground(self, ahead: Array, left: Array) -> tuple[Array, Array]:
        """Map vector converted to one along the ground."""
        left = left / np.cos(self.roll)
        return (ahead - self.aside * left) / self.ahead, left


class _Table:
    """Quantities of all vehicles as one array: a view of state columns where possible."""

    def __init__(
        self, state: AnyArray, leaves: Sequence[Any], quantities: Callable[[], Sequence[Any]]
    ) -> None:
        self._state, self._quantities = state, quantities
        places = {id(leaf): k for k, leaf in enumerate(leaves)}
        values = quantities()
        columns = [places[id(value)] for value in values if id(value) in places]
        self.columns = columns_at(columns) if len(columns) == len(values) else None
        """State columns; None if some of the quantities are computed."""

    def now(self) -> Array:
        """Current quantities (B, n), possibly a view that later steps overwrite."""
        if self.columns is None:
            return _stacked(self._quantities())
        return self._state[:, self.columns]

    def row(self, row: int) -> list[float]:
        values = self.now()[row] if self.columns is None else self._state[row, self.columns]
        return values.tolist()


def mean_acceleration(before: Sequence[Any], now: Sequence[Any], dt: Any) -> Acceleration:
    """Mean acceleration over `dt` seconds, from pose and velocity before and after, six numbers
    each.

    The acceleration is the change of velocity divided by the time, contact impulses included, in
    the body axes at the end. Rotated to world axes and summed over steps it gives the change of
    velocity exactly.
    """
    *_, yaw_before, v_x_before, v_y_before, omega_before = before
    *_, yaw, v_x, v_y, omega = now
    u_x, u_y = rotated(v_x_before, v_y_before, yaw_before - yaw)
    return Acceleration((v_x - u_x) / dt, (v_y - u_y) / dt, (omega - omega_before) / dt)


def _in_world(x: m, y: m, yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> Moving:
    return Moving(x, y, yaw, *turned(cos(yaw), sin(yaw), v_x, v_y), omega)


def _record(kind: type, table: AnyArray) -> Any:
    """Record whose fields are the columns of a table (n, fields)."""
    return record.unflatten(kind, list(table.T))


def _stacked(values: Sequence[Any]) -> Array:
    return np.stack(np.broadcast_arrays(*values), axis=1)


def columns_at(indices: Sequence[int]) -> slice | list[int]:
    """Column indices as a slice where they are adjacent, which NumPy indexes many times faster."""
    first = indices[0]
    if list(indices) == list(range(first, first + len(indices))):
        return slice(first, first + len(indices))
    return list(indices)


LARGEST_PLACE: m = 1e7
"""Largest |x| and |y| of a placed vehicle: UTM northings end there. Doubles have a resolution
of 2 nm, and single precision, in which contacts are solved, 1 m before the solver's origin
follows."""
LARGEST_YAW: rad = 1e3
"""Largest |yaw| of a placed vehicle: single precision has a resolution of 6e-5 rad there."""
LARGEST_INPUT = 1e7
"""Largest magnitude of an input in SI units, beyond that of any actuator of a ground
vehicle."""
FARTHEST = 1e8
"""Largest |x|, |y| (m), |yaw| (rad) and velocities of a simulated vehicle; rays are cast up to
1e9 m."""
_LOOK_EVERY = 64
"""Steps between two checks for vehicles that have run away."""


class Halt(NamedTuple):
    """Reason and time of a vehicle's stop."""

    time: s
    """End of the step in which it happened."""
    reason: str


def check_place(name: str, x: m, y: m, yaw: rad, extent: m = 0.0) -> None:
    """Raise if a vehicle cannot be placed at a pose.

    `extent` is the largest initial distance of the world's vehicles from the origin, in m; up to
    twice that is allowed.
    """
    largest = max(LARGEST_PLACE, 2.0 * extent)
    on_map = ("x", x, "m", largest), ("y", y, "m", largest)
    for what, value, unit, most in (*on_map, ("yaw", yaw, "rad", LARGEST_YAW)):
        try:
            fits = abs(float(value)) <= most
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise InvalidValue(
                f"pose of {name}: {what} = {value} {unit} must be finite, from {-most:g} to "
                f"{most:g} {unit}"
            )


def check_sizes(of: str, fields: Any) -> None:
    """Raise if a number of a record is not finite or too large to be simulated."""
    numbers = record.flatten(fields)
    if all(abs(value) <= LARGEST_INPUT for value in numbers):
        return
    for leaf, value in zip(record.fields(type(fields)), numbers, strict=True):
        if not abs(value) <= LARGEST_INPUT:
            raise InvalidValue(
                f"{of}: {leaf.name} = {leaf.unit.behind(f'{value:g}')} must be finite, from "
                f"{-LARGEST_INPUT:g} to {leaf.unit.behind(f'{LARGEST_INPUT:g}')}"
            )


class Halts:
    """Vehicles of a world that cannot be simulated any further, held while others continue.

    A vehicle is held where it last was, at rest, when its state becomes NaN or infinite, or when it
    has run away beyond `FARTHEST`. Such a vehicle can still be detected, touched and pushed;
    commands to it have no effect. `World.place`, `World.restore` and `World.reset` release it.

    Args:
        groups: groups of the vehicles.
        raises: whether a vehicle that fails raises `SimulationDiverged` instead.
        extent: largest |x| or |y| at which a vehicle starts, in m.
    """

    def __init__(self, groups: Sequence[Bodies], *, raises: bool, extent: m = 0.0) -> None:
        self._groups, self.raises = groups, raises
        self._farthest = max(FARTHEST, 2.0 * extent)
        self.by_name: dict[str, Halt] = {}
        """Held vehicles and the reasons."""

    @property
    def raises(self) -> bool:
        """Whether a vehicle that fails raises `SimulationDiverged`."""
        return self._raises

    @raises.setter
    def raises(self, raises: bool) -> None:
        self._raises = raises
        for bodies in self._groups:
            bodies.group.contains = not raises

    def due(self, steps: int) -> bool:
        """Whether `hold` must be called after this number of steps."""
        if self.by_name or not steps % _LOOK_EVERY:
            return True
        return any(bodies.group.failed for bodies in self._groups)

    def hold(self, time: s) -> list[str]:
        """Stop vehicles that failed in the step that ends at `time`, and keep all stopped ones at
        rest.

        Returns the names of the newly stopped ones.
        """
        found = {name: halt for name, halt in self._failures(time) if name not in self.by_name}
        self.by_name |= found
        for bodies in self._groups:
            for row, name in enumerate(bodies.group.names):
                if name in found:
                    bodies.group.clear_inputs(row)
                if name in self.by_name:
                    pose = np.clip(bodies.poses[row], -self._farthest, self._farthest).tolist()
                    bodies.restart(row, Moving(*pose))
        for name, halt in found.items():
            warn(
                f"{name} was stopped at t = {time:g} s, the others go on: {halt.reason}. "
                f"World.place({name!r}, x, y, yaw) or World.reset() lets it go again",
                stacklevel=6,
            )
        return list(found)

    def _failures(self, time: s) -> Iterator[tuple[str, Halt]]:
        farthest = self._farthest
        for bodies in self._groups:
            group, motions = bodies.group, bodies.motions
            failed, group.failed = group.failed, []
            for row in failed:
                why = cause_of_end(group.vehicles[row], group.record("State", row))
                yield group.names[row], Halt(time, why or "its state became NaN or infinite")
            for row in np.flatnonzero(~(np.abs(motions) <= farthest).all(axis=1)).tolist():
                x, y, *_ = motions[row].tolist()
                why = f"it ran away to x = {x:.4g} m, y = {y:.4g} m; allowed are {farthest:g} m"
                if self.raises:
                    state, fault = group.record("State", row), f"{group.names[row]}: {why}"
                    raise SimulationDiverged(fault, time=time, last_state=state, vehicles=(row,))
                yield group.names[row], Halt(time, why)


SPEED: m_s = 1.0
"""Speed at which the growth is evaluated."""
GROWS: one = 1.001
"""Growth per step above which a controller counts as oscillating; poses and integrals grow by a
factor of 1."""
_SHIFT = 1e-6
"""Step of the finite differences of the states."""
_MOST_HALVES = 12


def growth(model: Any, params: Array, dt: s) -> Array:
    """Largest growth per step of any small deviation from straight driving, (B,).

    A controller that acts once per step forms a loop with the body: with long steps or large
    gains it oscillates, and the oscillation grows until the wheels slide. Computed by finite
    differences of the step itself.

    Args:
        model: model of a wheeled robot.
        params: rows of its parameters (B, np).
        dt: length of the step.
    """
    p = record.unflatten(model.Params, list(params.T[:, None, :]))
    w, u, x = _driving(model, p)
    x = model.update(x, u, w, p, dt)
    at = np.stack(np.broadcast_arrays(*record.flatten(x)))[:, 0, :]
    count = len(at)
    # Axes: state field, displaced field, vehicle.
    moved = at[:, None, :] + _SHIFT * np.eye(count)[:, :, None]
    back = at[:, None, :] - _SHIFT * np.eye(count)[:, :, None]
    after, before = (_flat(model, u, w, p, states, dt) for states in (moved, back))
    slopes = (after - before) / (2.0 * _SHIFT)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    return np.abs(np.linalg.eigvals(slopes.transpose(2, 0, 1))).max(axis=1)


def _driving(model: Any, p: Any) -> tuple[Any, Any, Any]:
    """Disturbance, input and state in straight driving with rolling wheels."""
    parts: Assembly = model.update.__self__
    x = record.at_rest(model.State)
    x = model.body.placed(x, model.body.pose(x, p), Velocity(SPEED, 0.0, 0.0), p)
    wheels = zip(parts.kind.wheels, parts.wheels(p), strict=True)
    x = x._replace(**{f"spin_{name}": SPEED / wheel.radius for name, wheel in wheels})
    return record.build(model.Disturbance), model.body.command(x, Demand(v=SPEED), p), x


def _flat(model: Any, u: Any, w: Any, p: Any, states: Array, dt: s) -> Array:
    with np.errstate(all="ignore"):
        after = model.update(record.unflatten(model.State, list(states)), u, w, p, dt)
    return np.stack(np.broadcast_arrays(*record.flatten(after), states[0])[:-1])


def warn_of_long_steps(groups: Iterable[Group], dt: s) -> None:
    """Warn of robots that oscillate with steps of this length, in one warning.

    Vehicles that reproduce another program are excluded.
    """
    names, calm = list[str](), dt
    for group in groups:
        model = group.model
        wheeled = isinstance(getattr(model.update, "__self__", None), Assembly)
        if not wheeled or model.reproduces:
            continue
        grown = growth(model, group.params, dt)
        swinging = [k for k, much in enumerate(grown.tolist()) if much > GROWS]
        if swinging:
            names += [group.names[k] for k in swinging]
            worst = group.params[int(grown.argmax())][None]
            shorter = (dt * 0.5**halves for halves in range(1, _MOST_HALVES))
            stable = (step for step in shorter if growth(model, worst, step)[0] <= GROWS)
            calm = min(calm, next(stable, 0.0))
    if names:
        remedy = f"simul_timestep = {calm:.2g} s, or " if calm else ""
        warn(
            f"steps of {dt:g} s are too long for the controllers of {first_of(sorted(names))}, "
            f"whose speeds swing: take {remedy}smaller gains",
            stacklevel=4,
        )
