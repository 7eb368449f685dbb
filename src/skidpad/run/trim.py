"""Steady motion of a vehicle: the state and input about which it is linearised.

In steady motion the rates of all states vanish but for

- position and heading, which follow from speed and curvature;
- fields that their record marks as `units.drifting`, such as the charge of a battery;
- integrals on which no rate depends, their own included, such as an odometer.

The latter two are held at their values. `straight` finds the acceleration to command the body of
the vehicle, so that the inputs are those that a driver gives; `steady` starts from there and finds
the inputs themselves, also in a bend. Both use Newton's method in the least-squares sense: it takes
the nearest of several solutions, and a state without a restoring rate, such as an angle that is
steered by its rate, stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Pose, Velocity, Wish, body_of, own_fields
from ..checks import finite, positive, vehicle_of
from ..errors import InvalidValue
from ..model import Vehicle
from ..units import m_s, m_s2, per_m
from .kept import Kept
from .linearisation import linearise_continuous

__all__ = ["Roles", "Trim", "roles_of", "slopes", "steady", "straight"]

STEPS = 40
"""Iterations of Newton's method."""
RATES = 1e-10
"""Rates in SI units that count as zero; larger ones do within rounding of their terms."""
ROUNDING = 1e-13
"""Rounding of a sum, relative to the sum of the sizes of its terms."""
NUDGE = 1e-5
"""Step of central differences of functions that are linear or nearly so."""

FAR: m_s2 = 1e6
"""An acceleration beyond what any vehicle does."""


class Trim(NamedTuple):
    """A steady motion."""

    x: Any
    """The state, a record."""
    u: Any
    """The input that holds it, a record."""
    a: m_s2
    """Acceleration that the body is commanded: 0 where nothing resists."""


class Roles(NamedTuple):
    """The fields of a state that a line is compared with."""

    ahead: str
    """Position along the world's x axis."""
    left: str
    """Position along the world's y axis."""
    heading: str
    speed: str

    def place(self, x: Any) -> tuple[Any, Any]:
        """The position in a state."""
        return getattr(x, self.ahead), getattr(x, self.left)


def roles_of(vehicle: Any) -> Roles:
    """Where the state of a vehicle has its position, heading and speed."""
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
    """A vehicle that drives straight ahead at a speed in m/s, along the world's x axis.

    Args:
        vehicle: one with a body. A discrete model is only placed, settled and commanded.
        v: speed, greater than 0.
        inputs: fields of the input that have these values, in place of what the body commands.
        may_change_speed: whether, where no command holds the speed, all else is in balance at a
            demand of no acceleration; else that is an error.
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
        return record.build(model.Input, held, base=body.command(x, Wish(a=a, v=v), p))

    if not model.continuous:
        return Trim(record.build(model.State, x), command(x, 0.0), 0.0)
    row = np.array(record.flatten(x), dtype=float)
    moved = slopes(lambda row: _motion(vehicle, row), row)
    # Position, heading and velocity are given; the rest has to be in balance.
    inner = np.flatnonzero(~(moved != 0.0).any(axis=0) & ~drifting(vehicle, row))
    # Demands so far apart that a drive at its limit differs, too.
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
    z, left = solved(imbalance, start, slice(None) if driven else slice(-1))
    if left is not None and may_change_speed:
        z, _ = solved(imbalance, start, slice(-1))
    elif left is not None:
        raise InvalidValue(
            f"nothing that its body commands holds {vehicle.name!r} at {v:g} m/s: give the inputs "
            f"or another speed{_worst(vehicle, left, inner)}"
        )
    row[inner] = z[:-1]
    x = _state(vehicle, row)
    return Trim(x, command(x, float(z[-1])), float(z[-1]))


def steady(vehicle: Vehicle, v: m_s, curvature: per_m = 0.0) -> Trim:
    """A vehicle that drives along a line at a speed in m/s, its path along the world's x axis.

    The curvature is positive to the left. Where several inputs do the same (the torques of four
    wheels) they share the work. Inputs that the body's command moves neither for steering nor for
    more speed, such as brakes and gears, stay what it commands straight ahead.
    """
    v, curvature = positive("v", v, "m/s"), finite("curvature", curvature, "1/m")
    roles = roles_of(vehicle)
    x, u, a = straight(vehicle, v)
    fields, size = record.names(vehicle.State), record.size(vehicle.State)
    start = np.concatenate([_flat(x), _flat(u)])
    wanted = np.zeros(size)
    wanted[[fields.index(roles.ahead), fields.index(roles.heading)]] = v, v * curvature
    fast = ~drifting(vehicle, start[:size])
    free = np.flatnonzero(np.concatenate([fast, _moved_inputs(vehicle, x, Wish(a=a, v=v))]))

    def imbalance(z: Array) -> tuple[Array, Array, Array]:
        full = start.copy()
        full[free] = z
        rate, A, B = linearise_continuous(vehicle, full[:size], full[size:])
        return (rate - wanted)[fast], np.hstack([A, B])[np.ix_(fast, free)], z

    z, left = solved(imbalance, start[free])
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


def solved(
    imbalance: Callable[[Array], tuple[Array, Array, Array]],
    z: Array,
    rows: slice = slice(None),
) -> tuple[Array, Array | None]:
    """Values at which an imbalance vanishes, in `rows`, and None; or what is left of it."""
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


_FELT: Kept[Any] = Kept()


def drifting(vehicle: Vehicle, x: Array) -> Any:
    """Which states are held though their rates need not vanish, (nx,) of truths."""
    marked = np.array([leaf.drifts for leaf in record.fields(vehicle.State)], dtype=bool)
    felt = _FELT.get(vehicle.model, (), lambda: _felt(vehicle))
    moved = slopes(lambda row: _motion(vehicle, row), x) != 0.0
    return marked | ~(felt | moved.any(axis=0))


def _felt(vehicle: Vehicle) -> Any:
    """Which states some rate depends on, (nx,) of truths."""
    import casadi as ca

    traced = vehicle.casadi()
    columns = ca.sum1(ca.DM(ca.jacobian_sparsity(traced.f_expl, traced.x), 1.0))
    return np.asarray(columns).ravel() > 0.0


def _moved_inputs(vehicle: Vehicle, x: Any, wish: Wish) -> Any:
    """Which inputs are commanded otherwise for steering and for more speed, (nu,) of truths."""
    more = {"a": wish.a + 0.1, "v": 1.01 * wish.v}
    wishes = [wish._replace(**{name: value}) for name, value in more.items()]
    wishes += [wish._replace(steer=0.01 * k, omega=0.01 * k) for k in (-1.0, 1.0)]
    usual, *others = (_flat(vehicle.body.command(x, w, vehicle.params)) for w in (wish, *wishes))
    return np.any([other != usual for other in others], axis=0)


def _motion(vehicle: Vehicle, row: Sequence[float]) -> tuple[float, ...]:
    """Velocity and pose of a state, without inputs."""
    body, p, x = vehicle.body, vehicle.params, _state(vehicle, row)
    return (*body.velocity(x, record.build(vehicle.Input), p), *body.pose(x, p))


def _state(vehicle: Vehicle, row: Sequence[float] | Array) -> Any:
    return record.unflatten(vehicle.State, [float(value) for value in row])


def _flat(values: Any) -> Array:
    return np.array(record.flatten(values), dtype=float)


def _worst(vehicle: Vehicle, left: Array, states: Any) -> str:
    """What is farthest from rest, for an error."""
    worst = int(np.argmax(np.abs(left)))
    if worst >= len(states) or not np.isfinite(left).all():
        return ""
    name = record.names(vehicle.State)[int(states[worst])]
    return (
        f". The rate of {name} does not vanish; the record of a state that changes in steady "
        "driving marks it Annotated[..., units.drifting]"
    )
