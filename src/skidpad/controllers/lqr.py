"""The linear-quadratic regulator as a policy: gains over speed, steady motion over curvature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ..checks import positive, vehicle_of
from ..errors import InvalidValue
from ..ops import clip, lookup
from ..policy import Policy
from ..units import m, one, s
from .car import Car, car_of, push
from .following import Seen, heading_error, progressed, seen_from
from .reference import KNOTS, Point, Reference, reference_of
from .regulator import Design, design, gain

__all__ = ["Design", "Memory", "Params", "command", "design", "gain", "policy", "scheduled"]

Bound = tuple[float, float] | None
"""Lowest and highest value of an input."""


class Memory(NamedTuple):
    """What the regulator of a compiled-in line remembers."""

    progress: m = 0.0
    """Distance along the line."""


class Params(NamedTuple):
    """What can be changed without a new design."""

    strength: one = 1.0
    """Factor on all gains; the design is 1."""
    feed_forward: one = 1.0
    """Share of the steady motion in a bend that is fed forward."""


def policy(
    vehicle: Any,
    dt: s,
    speeds: Any,
    Q: Any,
    R: Any,
    *,
    path: Reference | None = None,
    knots: int = KNOTS,
    integrator: str = "exact",
    limits: Mapping[str, float] | None = None,
    car: Car | None = None,
) -> Policy:
    """A regulator with gains for each of some speeds, linear between them.

    Args:
        vehicle, dt, Q, R, integrator: as in `design`.
        speeds: one speed in m/s for fixed gains, or several, increasing.
        path: the line, compiled in; without it the policy is told by `reference.rows(steps, dt)`.
        knots: points of the compiled-in line.
        limits: largest magnitude of inputs by name; what is not named keeps to the range that the
            vehicle's body gives it. `math.inf` is no limit.
        car: how to read and command the vehicle; by its body if None.

    With a weight for the distance ahead (`x`) in Q the car keeps to the times of the reference, so
    there is no `path`.
    """
    vehicle = vehicle_of(vehicle)
    grid = np.atleast_1d(np.asarray(speeds, dtype=float))
    if grid.ndim != 1 or not len(grid) or (np.diff(grid) <= 0.0).any():
        raise InvalidValue(f"speeds = {speeds!r} must be one speed, or several that increase")
    designs = [design(vehicle, v, dt, Q, R, integrator=integrator) for v in grid]
    return scheduled(vehicle, designs, path=path, knots=knots, limits=limits, car=car)


def scheduled(
    vehicle: Any,
    designs: Sequence[Design],
    *,
    path: Reference | None = None,
    knots: int = KNOTS,
    limits: Mapping[str, float] | None = None,
    car: Car | None = None,
) -> Policy:
    """The policy of regulators for increasing speeds; see `policy`."""
    known = car or car_of(vehicle)
    bounds = _bounds(vehicle, designs[0].inputs, limits or {})
    if path is None:
        return Policy(
            _told(vehicle, designs, known, bounds), Reference=Point, Params=Params, name="lqr"
        )
    ahead = designs[0].roles.ahead
    if ahead in designs[0].states:
        raise InvalidValue(f"Q weighs {ahead}: only references by time say where the car is to be")
    act = _followed(vehicle, designs, known, bounds, reference_of(path).table(knots))
    return Policy(act, Memory, Params=Params, name="lqr")


def _told(
    vehicle: Any, designs: Sequence[Design], car: Car, bounds: Sequence[Bound]
) -> Callable[..., Any]:
    def act(x: Any, r: Point, p: Params) -> Any:
        seen = seen_from(r, *designs[0].roles.place(x))
        return vehicle.Input(*command(designs, car, bounds, x, seen, p))

    return act


def _followed(
    vehicle: Any,
    designs: Sequence[Design],
    car: Car,
    bounds: Sequence[Bound],
    line: Callable[[Any], Point],
) -> Callable[..., Any]:
    def act(x: Any, m: Memory, p: Params) -> tuple[Any, Memory]:
        seen, here = progressed(line, m.progress, *designs[0].roles.place(x))
        return vehicle.Input(*command(designs, car, bounds, x, seen, p)), Memory(here)

    return act


def command(
    designs: Sequence[Design],
    car: Car,
    bounds: Sequence[Bound],
    x: Any,
    seen: Seen,
    p: Params,
) -> list[Any]:
    """The inputs, in the order of the designs: those of the steady motion, and the feedback."""
    error = _error(designs, x, seen, p)
    straight = _blend(designs, seen.v, lambda d: d.straight.u)
    turn = _blend(designs, seen.v, lambda d: d.slope.u)
    swing = _blend(designs, seen.v, lambda d: d.swing)
    gains = _blend(designs, car.speed(x), lambda d: d.K.ravel())
    ahead = [share * seen.a for share in push(car, type(x))]
    values: list[Any] = []
    for i, bound in enumerate(bounds):
        row = gains[i * len(error) : (i + 1) * len(error)]
        back = _sum(k * e for k, e in zip(row, error, strict=True))
        bend = seen.curvature * turn[i] + seen.sharpness * seen.v * swing[i]
        value = straight[i] + ahead[i] + p.feed_forward * bend - p.strength * back
        values.append(value if bound is None else clip(value, *bound))
    return values


def _error(designs: Sequence[Design], x: Any, seen: Seen, p: Params) -> list[Any]:
    """The state less the steady one of the reference, in the frame of the line."""
    roles = designs[0].roles
    yaw = getattr(x, roles.heading)
    measured = {
        roles.ahead: seen.ahead,
        roles.left: seen.left,
        roles.heading: heading_error(yaw, seen.heading),
    }
    # Speed is compared with the reference's also where no design is for that speed.
    own: dict[str, Any] = {roles.speed: seen.v}
    states = designs[0].states
    speeds = np.array([name in own for name in states])
    straight = _blend(designs, seen.v, lambda d: d.straight.x - speeds * d.v)
    turn = _blend(designs, seen.v, lambda d: d.slope.x)
    error: list[Any] = []
    for k, name in enumerate(states):
        value = measured[name] if name in measured else getattr(x, name)
        steady = own.get(name, 0.0) + straight[k] + p.feed_forward * seen.curvature * turn[k]
        error.append(value - steady)
    return error


def _blend(designs: Sequence[Design], v: Any, column: Any) -> list[Any]:
    """Values that the designs have, at a speed between theirs; those at the ends beyond them."""
    rows = np.array([column(d) for d in designs])
    if len(designs) == 1:
        return rows[0].tolist()
    knots = [d.v for d in designs]
    return [lookup(v, knots, values) for values in rows.T.tolist()]


def _sum(values: Any) -> Any:
    first, *rest = values
    for value in rest:
        first = first + value
    return first


def _bounds(vehicle: Any, inputs: Sequence[str], limits: Mapping[str, float]) -> list[Bound]:
    """Lowest and highest value of each input; None where it has no limit."""
    own = {} if vehicle.model.body is None else vehicle.limits.inputs
    bounds: dict[str, tuple[float, float]] = {name: own[name] for name in inputs if name in own}
    for name, value in limits.items():
        if name not in inputs:
            raise InvalidValue(f"limits: {name!r} is no input; allowed are {', '.join(inputs)}")
        if value != inf:
            positive(f"limits[{name!r}]", value)
        bounds[name] = (-float(value), float(value))
    free = (-inf, inf)
    return [None if bounds.get(name, free) == free else bounds[name] for name in inputs]
