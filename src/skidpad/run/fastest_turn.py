"""The fastest steady turn of a vehicle on a circle: what its equations of motion allow.

It involves no driver, and the turn need not be stable, since a driver may hold an unstable one.
With the steering angle and the demanded acceleration, the steady turns on one circle are a curve in
the space of states. It is followed from a slow turn (pseudo-arclength continuation) to its first
fold: with more slip of the axles, or of a lightly loaded wheel that begins to spin, the vehicle is
slower again. At the fold the derivative of the speed along the curve vanishes, so the highest speed
is as smooth in the parameters as the equations are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.backends import inlined
from ..core.body import Demand
from ..core.checks import positive
from ..core.lazy import RecentCache
from ..core.model import Vehicle, vehicle_of
from ..errors import InvalidValue
from ..integrate.base import making_expressions
from ..ops import atan2, sqrt
from ..units import m, m_s, m_s2, rad
from . import linearisation
from .linearisation import Differentiated, Function, linearise_continuous, solve, steady

SLOW = 0.3
"""Speed of the first turn over the speed at full lateral grip (at most `MOST_GRIP`)."""
MOST_GRIP: m_s2 = 20.0
STRIDE: rad = 0.02
"""Largest stride between turns on the curve, in rad, over angle, sideslip and weighted others.

It is halved where the next turn is not found.
"""
SHORTEST: rad = 1e-6
STRAIGHT, SHARP = 0.8, 1e-4
"""Thresholds at which a stride is rejected because the curve bends too sharply.

A stride longer than `SHARP`, in rad, is halved if the cosine of the angle between successive
tangents is below `STRAIGHT`: the next turn must not belong to another part of the curve.
"""
PER_SPEED, PER_DEMAND, PER_SLIP = 0.03, 0.02, 0.2
"""Weights of 1 m/s, 1 m/s² of demanded acceleration and the slip of a wheel in a stride, in rad."""
IN_AIR = 1e-4
"""Rate in 1/s at which the spin of a wheel approaches that of rolling.

Negligible compared with a tyre on the ground, but without it the spin of a wheel in the air
would be undetermined.
"""
LIGHT = 0.05
"""Load over the mean load below which the slip of a wheel has less weight."""
MOST = 1000
"""Largest number of turns along the curve."""
RESOLUTION = 1e-9
"""Resolution of the location of the fold, relative to the stride."""
FLAT = 1e-6
"""Slope of the speed in m/s per rad below which steering or drive are at their limit."""

TIPPED = -1.0
"""Slope of the speed assigned to turns in which no inside wheel is on the ground."""


class FastestTurn(NamedTuple):
    """The fastest steady turn on a circle, to the left."""

    x: Any
    """The state, a record."""
    u: Any
    """The input that maintains the turn, a record."""
    v: m_s
    """Speed of the centre of mass."""
    sideslip: rad
    """Sideslip at the centre of mass, negative where the vehicle points into the circle."""
    steer: rad
    """Demanded angle of the front wheels."""
    a: m_s2
    """Demanded acceleration of the body."""


def fastest_turn(vehicle: Vehicle, radius: m) -> FastestTurn:
    """Compute the fastest steady left turn with the centre of mass on a circle of `radius` in m.

    If steering or drive reach their limit before the tyres, it is the fastest turn within that
    limit; if both inside wheels lift off, it is the fastest turn before that.

    Raises:
        InvalidValue: if the steady turns cannot be followed to a fastest one.
    """
    curve = _Curve(vehicle_of(vehicle), positive("radius", radius, "m"))
    here, stride = curve.first(), STRIDE
    for _ in range(MOST):
        after = curve.after(here, stride)
        if after is None or (stride > SHARP and after.across @ here.tangent < STRAIGHT):
            stride *= 0.5
        elif after.rise > FLAT:
            here, stride = after, min(2.0 * stride, STRIDE)
        else:
            return curve.turn(curve.peak(here, stride, after))
        if stride < SHORTEST:
            break
    raise InvalidValue(
        f"{vehicle.name!r} has no fastest turn on a circle of {radius:g} m: its steady turns could "
        f"not be followed beyond {here.v:g} m/s"
    )


class _Point(NamedTuple):
    z: Array
    """Inner states, then the demanded angle and acceleration."""
    tangent: Array
    """Tangent of the curve of turns, per rad of a stride."""
    across: Array
    """Normal of the plane in which the next turn is searched; it measures a stride."""
    v: m_s
    rise: float
    """Slope of the speed along the tangent, in m/s per rad, or `TIPPED`."""


class _Curve:
    """The steady turns of a vehicle on a circle."""

    def __init__(self, vehicle: Vehicle, radius: m) -> None:
        self._vehicle, self._radius = vehicle, radius
        shape = vehicle.geometry
        self._about = [*shape.centre_of_mass, radius]
        self._p = record.flatten(vehicle.params)
        self._commanded = _COMMANDED.get(vehicle.model, (), lambda: _commanded(vehicle))
        v = SLOW * float(np.sqrt(min(vehicle.limits.grip, MOST_GRIP) * radius))
        start = steady(vehicle, v, 1.0 / radius)
        self._row = np.array(record.flatten(start.x), dtype=float)
        roles = linearisation.roles_of(vehicle)
        fields = record.names(vehicle.State)
        fast = ~linearisation.drifting(vehicle, self._row)
        pose = [fields.index(name) for name in roles[:3]]
        fast[pose] = False
        self._inner = np.flatnonzero(fast)
        own = [fields[k] for k in self._inner]
        wheels = [wheel for wheel in shape.wheels if wheel.spin in own]
        outputs = record.names(vehicle.model.Outputs)
        tells = all(wheel.F_z in outputs for wheel in wheels)
        self._tells = [wheel.F_z for wheel in wheels] if tells else []
        self._left = np.array([wheel.y > shape.centre_of_mass[1] for wheel in wheels])
        self._speeds = np.zeros((len(wheels), len(own) + 2))
        """Circumferential speed of each wheel as a linear function of z."""
        for row, wheel in zip(self._speeds, wheels, strict=True):
            row[own.index(wheel.spin)] = wheel.radius
        assert vehicle.body.steer is not None
        steer = float(vehicle.body.steer(start.x, start.u, vehicle.params))
        self._slow = np.array([*self._row[self._inner], steer, start.a]), v

    def first(self) -> _Point:
        z, v = self._slow

        def at_speed(z: Array) -> tuple[Array, Array, Array]:
            left, slope, motion, by = self._balance(z)
            return np.append(left, motion[0] - v), np.vstack([slope, by[0]]), z

        z, left = solve(at_speed, z)
        if left is not None:
            raise InvalidValue(
                f"{self._vehicle.name!r} has no steady turn on a circle of {self._radius:g} m at "
                f"{v:g} m/s"
            )
        by = self._balance(z)[3]
        return self._point(z, by[0])

    def after(self, point: _Point, stride: rad) -> _Point | None:
        """The turn one stride farther along the curve, or None if the search failed."""
        across = point.across
        goal = across @ (point.z + stride * point.tangent)

        def on_plane(z: Array) -> tuple[Array, Array, Array]:
            left, slope, _, _ = self._balance(z)
            return np.append(left, across @ z - goal), np.vstack([slope, across]), z

        z, left = solve(on_plane, point.z + stride * point.tangent)
        return None if left is not None else self._point(z, across)

    def peak(self, point: _Point, stride: rad, after: _Point) -> _Point:
        """The fastest turn within a stride, beyond which turns are slower again."""
        from scipy.optimize import brentq

        found = {0.0: point, 1.0: after}

        def rise(share: float) -> float:
            if share not in found:
                found[share] = self.after(point, share * stride) or point
            return found[share].rise - FLAT

        brentq(rise, 0.0, 1.0, xtol=RESOLUTION)
        standing = (one for one in found.values() if one.rise != TIPPED)
        return max(standing, key=lambda one: one.v)

    def turn(self, point: _Point) -> FastestTurn:
        motion, u = self._balance(point.z)[2], self._input(point.z)[0]
        return FastestTurn(
            record.unflatten(self._vehicle.State, self._state(point.z).tolist()),
            record.unflatten(self._vehicle.Input, u.tolist()),
            float(motion[0]),
            float(motion[1]),
            *map(float, point.z[-2:]),
        )

    def _point(self, z: Array, across: Array) -> _Point:
        """The point at z, with the tangent that continues in the direction of `across`."""
        _, slope, motion, by = self._balance(z)
        tangent = _last(np.vstack([slope, across]))
        load = self._loads(z)
        angle, a = np.eye(len(z))[-2:]
        share = np.minimum(load / (LIGHT * load.sum()) * len(load), 1.0)
        slips = share[:, None] * (self._speeds - by[0]) / motion[0]
        metric = np.stack([PER_SPEED * by[0], by[1], angle, PER_DEMAND * a])
        metric = np.vstack([metric, PER_SLIP * slips])
        tangent = tangent / np.linalg.norm(metric @ tangent)
        rise = float(by[0] @ tangent) if self._stands(load) else TIPPED
        return _Point(z, tangent, metric @ tangent @ metric, float(motion[0]), rise)

    def _stands(self, load: Array) -> bool:
        return not self._tells or bool((load[self._left] > 0.0).any())

    def _loads(self, z: Array) -> Array:
        """Loads of the wheels in the unit of the outputs; 1 for each without such outputs."""
        if not self._tells:
            return np.ones(len(self._speeds))
        x = record.unflatten(self._vehicle.State, self._state(z).tolist())
        u = record.unflatten(self._vehicle.Input, self._input(z)[0].tolist())
        y = self._vehicle.outputs(x, u)
        return np.array([max(getattr(y, name), 0.0) for name in self._tells])

    def _state(self, z: Array) -> Array:
        state = self._row.copy()
        state[self._inner] = z[:-2]
        return state

    def _input(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """Input and motion with their derivatives by z.

        The motion is speed, sideslip and deviation from the circle in m/s.
        """
        values, by_x, by_demand = self._commanded(self._state(z), z[-2:], self._p, self._about)
        by, n = np.hstack([by_x, by_demand]), len(values) - 3
        return values[:n], by[:n], values[n:], by[n:]

    def _balance(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """The imbalance, its derivatives by z, and speed and sideslip with theirs."""
        u, u_by, motion, motion_by = self._input(z)
        rate, A, B = linearise_continuous(self._vehicle, self._state(z), u)
        nx = len(rate)
        slope = B @ u_by
        slope[:, :nx] += A
        columns = np.append(self._inner, [nx, nx + 1])
        slope = np.vstack([slope[self._inner], motion_by[2]])[:, columns]
        left, motion_by = np.append(rate[self._inner], motion[2]), motion_by[:, columns]
        for speed in self._speeds:
            k = int(np.argmax(speed))
            left[k] += IN_AIR * (motion[0] - speed @ z) / speed[k]
            slope[k] += IN_AIR * (motion_by[0] - speed) / speed[k]
        return left, slope, motion[:2], motion_by[:2]


def _last(matrix: Array) -> Array:
    """The vector that the last row of a matrix maps to 1 and the others to 0."""
    goal = np.zeros(len(matrix))
    goal[-1] = 1.0
    found: Array = np.linalg.lstsq(matrix, goal, rcond=1e-13)[0].astype(float)
    return found


_COMMANDED: RecentCache[Function] = RecentCache()


@making_expressions()
def _commanded(vehicle: Vehicle) -> Function:
    """A function that returns the input, then speed, sideslip and deviation from the circle in m/s.

    Its arguments are the state, the demanded angle and acceleration, the parameters, and centre of
    mass and radius.
    """
    import casadi as ca

    x, p = (ca.SX.sym(n, record.size(k)) for n, k in (("x", vehicle.State), ("p", vehicle.Params)))
    demand, about = ca.SX.sym("demand", 2), ca.SX.sym("about", 3)
    steer: Any
    a: Any
    steer, a = ca.vertsplit(demand)
    c_x, c_y, radius = ca.vertsplit(about)
    state = record.unflatten(vehicle.State, ca.vertsplit(x))
    params = record.unflatten(type(vehicle.params), ca.vertsplit(p) if p.numel() else [])
    body = vehicle.body
    with inlined():
        v = body.speed_of(state, record.build(vehicle.Input), params)
        u = body.command(state, Demand(steer=steer, a=a, v=v), params)
        now = body.velocity(state, u, params)
    ahead, aside = now.v_x - now.omega * c_y, now.v_y + now.omega * c_x
    speed = sqrt(ahead * ahead + aside * aside)
    motion = [speed, atan2(aside, ahead), speed - now.omega * radius]
    values = ca.vertcat(*map(ca.SX, [*record.flatten(u), *motion]))
    return Differentiated(f"{vehicle.name}.commanded", [x, demand, p, about], values, ())
