"""Motion of the vehicles of a group, between their own states and the world's axes.

What a vehicle's body reads from the state as it is, or writes into it as it is, is found once, by
asking the body about the columns of the state themselves. Only what it computes is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import cos, sin
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...arrays import AnyArray, Array
from ...body import Acceleration, Pose, Velocity, body_of
from ...plane.pose import rotated, turned, turned_back
from ...units import m, m_s, rad, rad_s
from ..contact.solids import Moving
from .groups import Group


class Bodies:
    """Poses and velocities of the vehicles of a group.

    Of what a contact does to a vehicle, that part stays which its body can do.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.body = body = body_of(group.vehicles[0], "a world")
        model = group.model
        # Records of views: what a step or a user changes is in them.
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
        """How often each vehicle was put elsewhere (B,): it did not move there."""
        self._written = self._fields_written()
        self._lean: _Lean | None = None
        self._projected = False

    def lie(self, pitch: Array, roll: Array, *, projected: bool = False) -> None:
        """Let the vehicles lie on ground of these slopes, (B,) each, from the next step on.

        Their velocities are along the ground; on the map they get less far, which those that are
        on a road have `projected` by themselves.
        """
        self._projected = projected
        level = not (pitch.any() or roll.any())
        self._lean = None if level else _Lean(np.cos(pitch), np.sin(pitch) * np.sin(roll), roll)

    def project(self, before: AnyArray) -> None:
        """Shorten the way that a step made from states (B, nx) to the one on the map."""
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
        """Columns of the state with its position: what the body reads, or by the usual names."""
        fields = self.group.fields
        if self._places.columns is not None:
            x, y = np.arange(len(fields))[self._places.columns].tolist()
            return x, y
        # A body seen from elsewhere moves on the map as the point that its state is about.
        return (fields["x"], fields["y"]) if "x" in fields and "y" in fields else None

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3), a copy."""
        return self._poses.now().copy()

    @property
    def places(self) -> Array:
        """Positions x, y (B, 2), as they are now: not to be kept."""
        return self._places.now()

    @property
    def motions(self) -> Array:
        """Pose x, y, yaw and velocity v_x, v_y, omega in body axes (B, 6), a copy."""
        return self._motions.now().copy()

    def motion(self, row: int) -> tuple[Pose, Velocity]:
        """Pose and velocity of one vehicle."""
        x, y, yaw, *velocity = self._motions.row(row)
        return Pose(x, y, yaw), Velocity._make(velocity)

    def speeds(self) -> Array:
        """How fast each vehicle moves (B,), in m/s."""
        velocities = self._velocities.now()
        return np.hypot(velocities[:, 0], velocities[:, 1])

    def places_in(self, states: AnyArray) -> Array:
        """Positions x, y (B, 2) in other states (B, nx) of the same vehicles."""
        if self._places.columns is not None:
            return states[:, self._places.columns]
        x = _record(self.group.model.State, states)
        return _stacked(self.body.pose(x, self.p)[:2])

    def moving(self, rows: Sequence[int], before: AnyArray) -> list[Moving]:
        """Poses before the step with the velocities after it, of some vehicles in world axes."""
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
        state, motions = self.group.state, [_in_body(*moving) for moving in movings]
        if self._lean is not None and motions:
            table = np.array(motions)
            lean = self._lean.of(rows)
            table[:, 3], table[:, 4] = lean.along_ground(table[:, 3], table[:, 4])
            motions = table.tolist()
        if self._written is not None:
            columns, chosen = self._written
            # Row by row: up to some twenty vehicles that is faster than one write of all.
            for row, motion in zip(rows, motions, strict=True):
                state[row, columns] = chosen(motion)
            return
        *pose, v_x, v_y, omega = np.array(motions).T
        x = _record(self.group.model.State, state[rows])
        p = _record(self.group.model.Params, self.group.params[rows])
        after = self.body.placed(x, Pose(*pose), Velocity(v_x, v_y, omega), p)
        state[rows] = _stacked(record.flatten(after))

    def restart(self, row: int, moving: Moving) -> None:
        """Let a vehicle begin anew, with this pose and velocity in world axes."""
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
        """Fields of states (B, nx) or of their outputs, of some vehicles: a list for each."""
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
        """Columns of the state that a motion is written to and what of it; None: it is computed."""
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
    """How vehicles lie: what a way along their axes is on the map, in axes turned by the yaw.

    The axes of a vehicle are turned by yaw, pitch and roll in this order.
    """

    ahead: Array
    """Way ahead on the map for one ahead along the ground."""
    aside: Array
    """Way ahead on the map for one to the left along the ground."""
    roll: Array

    def of(self, rows: Sequence[int]) -> _Lean:
        """That of some vehicles."""
        return _Lean(*(values[rows] for values in self))

    def on_map(self, ahead: Array, left: Array) -> tuple[Array, Array]:
        """From along the ground to the map."""
        return self.ahead * ahead + self.aside * left, np.cos(self.roll) * left

    def along_ground(self, ahead: Array, left: Array) -> tuple[Array, Array]:
        """From the map to along the ground."""
        left = left / np.cos(self.roll)
        return (ahead - self.aside * left) / self.ahead, left


class _Table:
    """Some quantities of all vehicles as one array: columns of the state where they are such."""

    def __init__(
        self, state: AnyArray, leaves: Sequence[Any], quantities: Callable[[], Sequence[Any]]
    ) -> None:
        self._state, self._quantities = state, quantities
        places = {id(leaf): k for k, leaf in enumerate(leaves)}
        values = quantities()
        columns = [places[id(value)] for value in values if id(value) in places]
        self.columns = columns_at(columns) if len(columns) == len(values) else None
        """Of the state; None: some of the quantities are computed."""

    def now(self) -> Array:
        """The quantities (B, n) as they are: not to be kept."""
        if self.columns is None:
            return _stacked(self._quantities())
        return self._state[:, self.columns]

    def row(self, row: int) -> list[float]:
        """Those of one vehicle."""
        values = self.now()[row] if self.columns is None else self._state[row, self.columns]
        return values.tolist()


def mean_acceleration(before: Sequence[Any], now: Sequence[Any], dt: Any) -> Acceleration:
    """Mean acceleration over `dt` seconds, from pose and velocity before and after, six each.

    It is the change of velocity over the time, impulses of contacts included, in the body axes at
    the end: turned into the world and summed over steps it gives the change of velocity exactly.
    """
    *_, yaw_before, v_x_before, v_y_before, omega_before = before
    *_, yaw, v_x, v_y, omega = now
    u_x, u_y = rotated(v_x_before, v_y_before, yaw_before - yaw)
    return Acceleration((v_x - u_x) / dt, (v_y - u_y) / dt, (omega - omega_before) / dt)


def _in_world(x: m, y: m, yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> Moving:
    return Moving(x, y, yaw, *turned(cos(yaw), sin(yaw), v_x, v_y), omega)


def _in_body(x: m, y: m, yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> tuple[float, ...]:
    return x, y, yaw, *turned_back(cos(yaw), sin(yaw), v_x, v_y), omega


def _record(kind: type, table: AnyArray) -> Any:
    """A record of the columns of a table (n, fields)."""
    return record.unflatten(kind, list(table.T))


def _stacked(values: Sequence[Any]) -> Array:
    """Columns side by side, (n, columns)."""
    return np.stack(np.broadcast_arrays(*values), axis=1)


def columns_at(indices: Sequence[int]) -> slice | list[int]:
    """Columns of an array as a slice where they lie side by side: NumPy is many times faster."""
    first = indices[0]
    if list(indices) == list(range(first, first + len(indices))):
        return slice(first, first + len(indices))
    return list(indices)
