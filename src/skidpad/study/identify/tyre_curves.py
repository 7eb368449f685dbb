"""Lateral force over slip angle of each axle of a vehicle, as a car on the road would show it.

The vehicle drifts straight ahead: at a constant speed v_x, without yaw rate, with v_y = -v_x
tan(alpha_r) and steer = alpha_f - alpha_r. Its other states, such as wheel speeds, wheel loads and
the slip of tyres with a relaxation length, are in balance. The slip angle of one axle is varied,
that of the other one is such that the axles make no yaw moment, as in a steady turn: so the load
that a lateral acceleration moves is that of a turn, too. The forces follow from the accelerations,
like those of a log (`axle_curves`), so the names of a vehicle's states and outputs do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Velocity, body_of, own_fields
from ...core.checks import increasing, positive
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...run.linearisation import drifting, linearise_continuous, slopes, solve, straight
from ...units import m, m_s

ORIGIN = Pose(0.0, 0.0, 0.0)
NUDGE = 1e-6
"""Change of a slip angle in rad for the derivative of the state by it."""


class TyreCurve(NamedTuple):
    """Lateral forces of the axles of a vehicle over slip angle."""

    name: str
    """Name of the vehicle."""
    alpha: Array
    """Slip angle in rad, (points,); positive when the tyres push to the left."""
    F_y_f: Array
    """Force of the front axle in N, (points,); NaN where the vehicle finds no balance."""
    F_y_r: Array
    """Force of the rear axle in N, (points,)."""


def axle_distances(vehicle: Vehicle) -> tuple[m, m]:
    """Distances in m of the front and the rear axle from the centre of mass."""
    shape = vehicle.geometry
    ahead = shape.centre_of_mass[0]
    return shape.front_axle - ahead, ahead - shape.rear_axle


def tyre_curve(vehicle: Vehicle, alpha: Array, *, v_x: m_s) -> TyreCurve:
    """Lateral forces of the axles of a vehicle over slip angles, at a speed in m/s.

    Args:
        vehicle: continuous vehicle with a body, tyres that slip and steered front wheels.
        alpha: slip angles in rad, increasing, (points,).
        v_x: speed along the vehicle.
    """
    vehicle, angles = vehicle_of(vehicle), increasing("alpha", alpha, "rad")
    rig = _Rig(vehicle, positive("v_x", v_x, "m/s"))
    front, rear = (_sweep(rig, angles, axle) for axle in (0, 1))
    return TyreCurve(vehicle.name, angles, front, rear)


class _Rig:
    """A vehicle that drifts straight ahead, its other states in balance."""

    def __init__(self, vehicle: Vehicle, v_x: m_s) -> None:
        self.vehicle, self.v_x = vehicle, v_x
        self.body = body_of(vehicle, "a tyre curve")
        trim = straight(vehicle, v_x, may_change_speed=True)
        self.u, self.input = np.array(record.flatten(trim.u), dtype=float), trim.u
        self.start = np.array(record.flatten(trim.x), dtype=float)
        steer, p = self.body.steer, vehicle.params
        field = None
        if steer is not None:
            (field,) = own_fields(vehicle.State, lambda x: (steer(x, trim.u, p),))
        sideways = Velocity(v_x, 0.1 * v_x, 0.1)
        placed = self._placed(self.start, ORIGIN, sideways)
        drifts = np.allclose(self.velocity(placed.tolist()), sideways, rtol=1e-9)
        if not vehicle.model.continuous or field is None or not drifts:
            raise InvalidValue(
                f"{vehicle.name!r} has no tyre curve: lateral velocity, yaw rate and the angle of "
                "the front wheels must be among the states of a continuous model"
            )
        self.steer = record.names(vehicle.State).index(field)
        # Pose and velocity are held: all states that differ when the body is put elsewhere.
        moved = self._placed(self.start, Pose(1.0, 2.0, 0.5), Velocity(2.0 * v_x, 0.1, 0.1))
        held = (moved != self.start) | (placed != self.start)
        held[self.steer] = True
        self.inner = np.flatnonzero(~held & ~drifting(vehicle, self.start))

    def _placed(self, row: Array, pose: Pose, v: Velocity) -> Array:
        x = record.unflatten(self.vehicle.State, row.tolist())
        moved = self.body.placed(x, pose, v, self.vehicle.params)
        return np.array(record.flatten(moved), dtype=float)

    def velocity(self, row: Sequence[float]) -> Array:
        x = record.unflatten(self.vehicle.State, list(row))
        return np.array(self.body.velocity(x, self.input, self.vehicle.params), dtype=float)

    def at(self, row: Array, angles: tuple[float, float]) -> Array:
        """State with these slip angles of front and rear axle, the inner states as in `row`."""
        front, rear = angles
        moved = self._placed(row, ORIGIN, Velocity(self.v_x, -self.v_x * np.tan(rear), 0.0))
        moved[self.steer] = front - rear
        moved[self.inner] = row[self.inner]
        return moved

    def accelerations(self, row: Array) -> tuple[Array, Array, Array]:
        """Rates of the velocity (v_x, v_y, omega), all rates, and their derivatives by the
        state."""
        rate, A, _ = linearise_continuous(self.vehicle, row, self.u)
        by_state = slopes(self.velocity, row)
        return by_state @ rate, np.asarray(rate), np.asarray(A)

    def forces(self, row: Array) -> tuple[float, float]:
        """Forces in N across the wheels of front and rear axle."""
        (_, side, turn), _, _ = self.accelerations(row)
        shape, (l_f, l_r) = self.vehicle.geometry, axle_distances(self.vehicle)
        Y, M = shape.mass * (side + turn * shape.centre_of_mass[0]), shape.inertia * turn
        front, rear = (Y * l_r + M) / (l_f + l_r), (Y * l_f - M) / (l_f + l_r)
        return float(front / np.cos(row[self.steer])), float(rear)

    def balance(self, row: Array, angles: tuple[float, float], free: int | None) -> Array | None:
        """State with these slip angles in balance, or None; `free` is the axle (0 or 1) whose angle
        is such that there is no yaw moment, from the given one on."""

        def state(z: Array, inner: Array) -> Array:
            own = list(angles)
            if free is not None:
                own[free] = float(z[-1])
            full = self.at(row, (own[0], own[1]))
            full[self.inner] = inner
            return full

        def imbalance(z: Array) -> tuple[Array, Array, Array]:
            inner = z[: len(self.inner)]
            full = state(z, inner)
            motion, rate, A = self.accelerations(full)
            left, slope = rate[self.inner], A[np.ix_(self.inner, self.inner)]
            if free is None:
                return left, slope, z
            by_angle = (state(z + NUDGE, inner) - state(z - NUDGE, inner)) / (2.0 * NUDGE)
            by_rates = slopes(self.velocity, full)[2]
            rows = np.column_stack([A[:, self.inner], A @ by_angle])
            slope = np.vstack([rows[self.inner], by_rates @ rows])
            return np.append(left, motion[2]), slope, z

        extra = [] if free is None else [angles[free]]
        z, left = solve(imbalance, np.append(row[self.inner], extra))
        return None if left is not None else state(z, z[: len(self.inner)])

    def slip_angle(self, row: Array, axle: int) -> float:
        """Slip angle in rad of the front (0) or the rear (1) axle."""
        rear = -float(np.arctan2(self.velocity(row.tolist())[1], self.v_x))
        return rear if axle else float(row[self.steer]) + rear


def _sweep(rig: _Rig, angles: Array, axle: int) -> Array:
    """Forces of an axle over slip angles, from the smallest one outwards; each balance starts from
    the one before."""
    curve = np.full(len(angles), np.nan)
    middle = int(np.argmin(np.abs(angles)))
    for way in (range(middle, len(angles)), range(middle - 1, -1, -1)):
        row, other, free = rig.start, 0.0, True
        for k in way:
            own = float(angles[k])
            pair = (own, other) if axle == 0 else (other, own)
            found = rig.balance(row, pair, 1 - axle) if free else None
            if found is None:
                # The other axle makes no greater force: it keeps its angle from here on.
                free = False
                found = rig.balance(row, pair, None)
            if found is None:
                break
            row, other = found, rig.slip_angle(found, 1 - axle)
            curve[k] = rig.forces(row)[axle]
    return curve
