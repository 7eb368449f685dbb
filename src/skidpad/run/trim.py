"""Trim of a vehicle: the state and input of a steady motion, straight ahead or in a bend.

In a trim, `straight` or `steady`, the rates of all states vanish except

- position and heading, which follow from speed and curvature;
- fields marked as `units.drifting`, such as the charge of a battery;
- integrals on which no rate depends, their own included, such as an odometer.

Drifting fields and such integrals are held at their values. `straight` finds the acceleration to
command, so that the inputs are those of a driver; `steady` starts there and finds the inputs
themselves, also in a bend. Both use Newton's method in the least-squares sense: it finds the
nearest of several solutions, and a state without a restoring rate, such as an angle that is steered
by its rate, keeps its value.

`fastest_turn` is the fastest steady turn on a circle that the equations of motion allow. It
involves no driver, and the turn need not be stable, since a driver may hold an unstable one. With
the steering angle and the demanded acceleration, the steady turns on one circle are a curve in the
space of states. It is followed from a slow turn (pseudo-arclength continuation) to its first fold:
with more slip of the axles, or of a lightly loaded wheel that begins to spin, the vehicle is slower
again. At the fold the derivative of the speed along the curve vanishes, so the highest speed is as
smooth in the parameters as the equations are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.backends import inlined
from ..core.body import Demand, Pose, Velocity, body_of, own_fields
from ..core.checks import finite, positive
from ..core.lazy import RecentCache
from ..core.model import (
    Vehicle,
    vehicle_of,
)
from ..errors import InvalidValue
from ..integrate.base import making_expressions
from ..ops import atan2, sqrt
from ..units import m, m_s, m_s2, per_m, rad
from .linearisation import Differentiated, Function, linearise_continuous

STEPS = 40
"""Largest number of iterations of Newton's method."""
RATES = 1e-10
"""Rates in SI units that count as zero; larger rates also do if they are within rounding."""
ROUNDING = 1e-13
"""Rounding of a sum, relative to the sum of the sizes of its terms."""
NUDGE = 1e-5
"""Step of central differences for functions that are linear or nearly so."""

FAR: m_s2 = 1e6
"""Acceleration in m/s² that no vehicle reaches."""


class Trim(NamedTuple):
    """A steady motion: state, input and commanded acceleration."""

    x: Any
    """State of the vehicle, a State record."""
    u: Any
    """Input that maintains the motion, an Input record."""
    a: m_s2
    """Acceleration commanded of the body; 0 if nothing resists the motion."""


class Roles(NamedTuple):
    """Names of the state fields with the position, heading and speed of a vehicle."""

    ahead: str
    """Field of the position along the world's x axis."""
    left: str
    """Field of the position along the world's y axis."""
    heading: str
    speed: str

    def place(self, x: Any) -> tuple[Any, Any]:
        """The position in a state."""
        return getattr(x, self.ahead), getattr(x, self.left)


def roles_of(vehicle: Any) -> Roles:
    """Find the state fields of position, heading and speed; raises if the vehicle lacks one."""
    body, p = body_of(vehicle, "a steady motion"), vehicle.params
    at_rest = record.build(vehicle.Input)

    def compared(x: Any) -> tuple[Any, ...]:
        return (*body.pose(x, p), body.speed_of(x, at_rest, p))

    fields = own_fields(vehicle.State, compared)
    if not vehicle.model.continuous or None in fields:
        raise InvalidValue(
            f"{vehicle.name!r} must be a continuous model with its position, heading and speed in "
            "its state"
        )
    return Roles(*(str(field) for field in fields))


def straight(
    vehicle: Vehicle,
    v: m_s,
    inputs: Mapping[str, float] | None = None,
    *,
    may_change_speed: bool = False,
) -> Trim:
    """Trim a vehicle to drive straight ahead at a speed in m/s, along the world's x axis.

    Args:
        vehicle: one with a body. A discrete model is only placed, made consistent and commanded.
        v: speed, greater than 0.
        inputs: fields of the input with these values, in place of the body's command.
        may_change_speed: accept a state in which all rates but that of the speed vanish with no
            acceleration demanded, if no command holds the speed; else that is an error.
    """
    v, vehicle = positive("speed", v, "m/s"), vehicle_of(vehicle)
    model, body, p = vehicle.model, body_of(vehicle, "straight driving"), vehicle.params
    held = dict(inputs or {})
    rest, none = record.build(model.State), record.build(model.Input)
    x = body.placed(rest, Pose(0.0, 0.0, 0.0), Velocity(v, 0.0, 0.0), p)
    if abs(body.velocity(x, none, p).v_x - v) > 1e-9 * v:
        raise InvalidValue(f"{vehicle.name!r} cannot be set in motion at {v:g} m/s")
    x = x if model.settle is None else model.settle(x, p)

    def command(x: Any, a: m_s2) -> Any:
        return record.build(model.Input, held, base=body.command(x, Demand(a=a, v=v), p))

    if not model.continuous:
        return Trim(record.build(model.State, x), command(x, 0.0), 0.0)
    row = np.array(record.flatten(x), dtype=float)
    moved = slopes(lambda row: _motion(vehicle, row), row)
    # Position, heading and velocity are fixed; the rates of all other states have to vanish.
    inner = np.flatnonzero(~(moved != 0.0).any(axis=0) & ~drifting(vehicle, row))
    # The demands are so far apart that the input differs even for a drive at its limit.
    driven = command(x, -FAR) != command(x, FAR)

    def imbalance(z: Array) -> tuple[Array, Array, Array]:
        state = row.copy()
        state[inner], a = z[:-1], float(z[-1])
        here = record.unflatten(model.State, state.tolist())
        u = np.array(record.flatten(command(here, a)))
        rate, A, B = linearise_continuous(vehicle, state, u)
        by_x = slopes(lambda row: _flat(command(_state(vehicle, row), a)), state)
        by_a = slopes(lambda one: _flat(command(here, one[0])), [a])
        J = np.hstack([(A + B @ by_x)[:, inner], B @ by_a])
        along = moved[0]
        rows = [rate[inner], [along @ rate]], [J[inner], [along @ J]]
        return np.concatenate(rows[0]), np.concatenate(rows[1]), np.append(state[inner], a)

    start = np.append(row[inner], 0.0)
    z, left = solve(imbalance, start, slice(None) if driven else slice(-1))
    if left is not None and may_change_speed:
        z, _ = solve(imbalance, start, slice(-1))
    elif left is not None:
        raise InvalidValue(
            f"nothing that its body commands holds {vehicle.name!r} at {v:g} m/s: give the inputs "
            f"or another speed{_worst(vehicle, left, inner)}"
        )
    row[inner] = z[:-1]
    x = _state(vehicle, row)
    return Trim(x, command(x, float(z[-1])), float(z[-1]))


def steady(vehicle: Vehicle, v: m_s, curvature: per_m = 0.0) -> Trim:
    """Trim a vehicle to drive at a speed in m/s with constant curvature, along the world's x axis.

    The curvature is positive to the left. Several inputs with the same effect (the torques of four
    wheels) share it. Inputs that the body's command changes neither for steering nor for more
    speed, such as brakes and gears, keep their values of straight driving.
    """
    v, curvature = positive("v", v, "m/s"), finite("curvature", curvature, "1/m")
    roles = roles_of(vehicle)
    x, u, a = straight(vehicle, v)
    fields, size = record.names(vehicle.State), record.size(vehicle.State)
    start = np.concatenate([_flat(x), _flat(u)])
    wanted = np.zeros(size)
    wanted[[fields.index(roles.ahead), fields.index(roles.heading)]] = v, v * curvature
    fast = ~drifting(vehicle, start[:size])
    demand = Demand(a=a, v=v)
    # Mask (nu,) of the inputs that the body's command changes for steering or for more speed
    demands = [demand, demand._replace(a=demand.a + 0.1), demand._replace(v=1.01 * demand.v)]
    demands += [demand._replace(steer=0.01 * k, omega=0.01 * k) for k in (-1.0, 1.0)]
    usual, *others = (_flat(vehicle.body.command(x, d, vehicle.params)) for d in demands)
    free = np.flatnonzero(
        np.concatenate([fast, np.any([other != usual for other in others], axis=0)])
    )

    def imbalance(z: Array) -> tuple[Array, Array, Array]:
        full = start.copy()
        full[free] = z
        rate, A, B = linearise_continuous(vehicle, full[:size], full[size:])
        return (rate - wanted)[fast], np.hstack([A, B])[np.ix_(fast, free)], z

    z, left = solve(imbalance, start[free])
    if left is not None:
        raise InvalidValue(
            f"{vehicle.name!r} has no steady motion at v = {v:g} m/s and curvature "
            f"{curvature:g} 1/m{_worst(vehicle, left, np.flatnonzero(fast))}"
        )
    start[free] = z
    x = _state(vehicle, start[:size])
    x = x if vehicle.model.settle is None else vehicle.model.settle(x, vehicle.params)
    return Trim(x, record.unflatten(vehicle.Input, start[size:].tolist()), a)


def slopes(function: Callable[[Sequence[float]], Any], at: Sequence[float] | Array) -> Array:
    """Derivatives (values, arguments) of a nearly linear function by central differences."""
    point, columns = [float(value) for value in at], list[Array]()
    for k, value in enumerate(point):
        ends = ([*point[:k], value + side * NUDGE, *point[k + 1 :]] for side in (1.0, -1.0))
        high, low = (np.array(function(end), dtype=float) for end in ends)
        columns.append((high - low) * (0.5 / NUDGE))
    return np.stack(columns, axis=1)


def solve(
    imbalance: Callable[[Array], tuple[Array, Array, Array]], z: Array, rows: slice = slice(None)
) -> tuple[Array, Array | None]:
    """Solve an imbalance for zero by Newton's method in the least-squares sense, restricted to
    `rows`.

    Returns the values and None, or the remaining imbalance if it did not converge.
    """
    left = np.full(1, np.inf)
    for _ in range(STEPS):
        left, slope, z = imbalance(z)
        left, slope = left[rows], slope[rows]
        if not (np.isfinite(left).all() and np.isfinite(slope).all()):
            break
        if (np.abs(left) <= RATES + ROUNDING * (np.abs(slope) @ np.abs(z))).all():
            return z, None
        z = z - np.linalg.lstsq(slope, left, rcond=1e-12)[0]
    return z, left


_COUPLED: RecentCache[Any] = RecentCache()


def drifting(vehicle: Vehicle, x: Array) -> Any:
    """Mask (nx,) of the states that are held although their rates need not vanish."""
    marked = np.array([leaf.drifts for leaf in record.fields(vehicle.State)], dtype=bool)
    coupled = _COUPLED.get(vehicle.model, (), lambda: _coupled(vehicle))
    moved = slopes(lambda row: _motion(vehicle, row), x) != 0.0
    return marked | ~(coupled | moved.any(axis=0))


def _coupled(vehicle: Vehicle) -> Any:
    """Mask (nx,) of the states on which some rate depends."""
    import casadi as ca

    traced = vehicle.casadi()
    columns = ca.sum1(ca.DM(ca.jacobian_sparsity(traced.f_expl, traced.x), 1.0))
    return np.asarray(columns).ravel() > 0.0


def _motion(vehicle: Vehicle, row: Sequence[float]) -> tuple[float, ...]:
    """Velocity and pose of the body at a state, with the default input."""
    body, p, x = vehicle.body, vehicle.params, _state(vehicle, row)
    return (*body.velocity(x, record.build(vehicle.Input), p), *body.pose(x, p))


def _state(vehicle: Vehicle, row: Sequence[float] | Array) -> Any:
    return record.unflatten(vehicle.State, [float(value) for value in row])


def _flat(values: Any) -> Array:
    return np.array(record.flatten(values), dtype=float)


def _worst(vehicle: Vehicle, left: Array, states: Any) -> str:
    """Describe the state with the largest remaining rate, as part of an error message."""
    worst = int(np.argmax(np.abs(left)))
    if worst >= len(states) or not np.isfinite(left).all():
        return ""
    name = record.names(vehicle.State)[int(states[worst])]
    return (
        f". The rate of {name} does not vanish; the record of a state that changes in steady "
        "driving marks it Annotated[..., units.drifting]"
    )


SLOW = 0.3
"""Speed of the first turn over the speed at full lateral grip (at most `MOST_GRIP`)."""
MOST_GRIP: m_s2 = 20.0
STRIDE: rad = 0.02
"""Largest stride between turns on the curve, in rad, over angle, sideslip and weighted others.

The stride is halved where the next turn is not found.
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
"""Rate in 1/s at which the spin of a wheel approaches the spin of free rolling.

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
    """State of the vehicle, a State record."""
    u: Any
    """Input that maintains the turn, an Input record."""
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
    """Inner states, then the demanded steering angle and acceleration."""
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
        roles = roles_of(vehicle)
        fields = record.names(vehicle.State)
        fast = ~drifting(vehicle, self._row)
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
        """Loads of the wheels in the unit of the outputs; 1 for each wheel if there are no such
        outputs."""
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
        """The imbalance and its derivatives by z, and speed and sideslip with their derivatives."""
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
