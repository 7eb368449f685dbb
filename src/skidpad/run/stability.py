"""Stability limits of integrators: whether a step is too long for a vehicle, before it is made.

The fastest modes of a vehicle come from its exact Jacobian at speeds from rest on, straight ahead,
with the wheels turned, under full drive and brakes. An explicit method that is unstable at every
driving speed is refused, as it would end in infinity; if it is unstable at some speeds, a warning
names them. `integrator="auto"` is RK4 where that is stable at all of them, else Radau IIA, which is
stable with every step. The choice depends on the model, its parameters and dt alone.

Near a point a model moves in modes, each with an eigenvalue λ of the Jacobian in 1/s. One step of
an explicit Runge-Kutta method multiplies a mode by R(λ dt), a polynomial; a mode that decays in the
model (Re λ < 0) must not grow, |R(λ dt)| <= 1 (Hairer, Wanner, *Solving Ordinary Differential
Equations II*, section IV.2). Semi-implicit Euler moves states in two groups, so it has no such
polynomial: there the modes are those of its own step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from .. import integrate
from ..compile.pipeline import stored
from ..compile.plant import Plant, StableStep
from ..compile.trace import explained
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Body, Demand, Velocity, own_fields
from ..core.lazy import RecentCache
from ..core.model import Model, Vehicle, port_kinds
from ..core.plausibility import accept
from ..errors import InvalidValue
from ..integrate.base import Integrator, flat_result, making_expressions
from ..integrate.explicit import ExplicitRungeKutta, SemiImplicitEuler, Tableau
from ..units import m_s, s

GROWTH = 1e-3
"""Largest growth of a mode in one step that is tolerated.

Growth up to this value counts as rounding or as the drift of a low-order method, not as
instability.
"""
SHORTEST, LONGEST = 1e-7, 1e2
"""Range of steps in s in which the longest stable one is searched."""
_GRID = 181
"""Number of step lengths tried, 20 per decade, and again between the two lengths around the
limit.
"""


class LongestStep(NamedTuple):
    """The longest stable step and the mode that limits it."""

    dt: float
    """Longest stable step in s; infinite if every step is stable."""
    eigenvalue: complex
    """Eigenvalue of the mode that grows in longer steps, or of the fastest, in 1/s."""


def longest_step(method: Integrator, jacobian: Array) -> LongestStep:
    """The longest stable step of a method bound to a model with the Jacobian (nx, nx) in 1/s.

    Implicit methods of Radau type are stable with every step, and adaptive ones choose their own.
    """
    eigenvalues = np.linalg.eigvals(jacobian)
    fastest = complex(eigenvalues[np.argmax(np.abs(eigenvalues))]) if len(eigenvalues) else 0j
    if isinstance(method, ExplicitRungeKutta):
        damped = eigenvalues[np.real(eigenvalues) < 0.0]
        # Relative to the fastest mode: a mode at rest has an eigenvalue of rounding errors, of
        # either sign.
        damped = damped[-np.real(damped) > 1e-9 * np.abs(eigenvalues).max(initial=0.0)]
        if not len(damped):
            return LongestStep(np.inf, fastest)
        polynomial = np.polynomial.Polynomial(stability_polynomial(method.tableau))

        def factors(dt: Array) -> Array:
            return np.abs(polynomial(damped * dt[:, None]))

        dt = _last_below(lambda dt: factors(dt).max(axis=1))
        growing = damped[np.argmax(factors(np.array([min(1.01 * dt, LONGEST)]))[0])]
        return LongestStep(dt, complex(growing))
    if isinstance(method, SemiImplicitEuler):
        return LongestStep(_of_two_groups(method, jacobian, eigenvalues), fastest)
    return LongestStep(np.inf, fastest)


def stability_polynomial(tableau: Tableau) -> Array:
    """Coefficients of R(z), the constant first: 1, then b' Aᵏ 1 for k = 0, 1, ..."""
    stages = tableau.stages
    a, powers = np.zeros((stages, stages)), np.ones(stages)
    for i, row in enumerate(tableau.a):
        a[i, : len(row)] = [float(c) for c in row]
    b, coefficients = np.array([float(c) for c in tableau.b]), [1.0]
    for _ in range(stages):
        coefficients.append(float(b @ powers))
        powers = a @ powers
    return np.array(coefficients)


def _of_two_groups(method: SemiImplicitEuler, jacobian: Array, eigenvalues: AnyArray) -> float:
    last = np.zeros(len(jacobian))
    last[list(method.positions or ())] = 1.0
    first, unit = 1.0 - last, np.eye(len(jacobian))
    grows = max(0.0, float(np.real(eigenvalues).max(initial=0.0)))

    def factors(dt: Array) -> Array:
        h = dt[:, None, None]
        step = (unit + h * last[:, None] * jacobian) @ (unit + h * first[:, None] * jacobian)
        largest = np.abs(np.linalg.eigvals(step)).max(axis=1, initial=0.0)
        return largest / np.exp(np.minimum(grows * dt, 50.0))

    return _last_below(factors)


def _last_below(factors: Callable[[Array], Array]) -> float:
    """Longest step length up to which the growth factors (n,) do not exceed 1; infinite if none
    does.
    """
    grid = np.geomspace(SHORTEST, LONGEST, _GRID)
    for _ in range(3):
        fine = factors(grid) <= 1.0 + GROWTH
        if fine.all():
            return np.inf
        over = int(np.argmin(fine))
        if over == 0:
            return 0.0
        grid = np.linspace(grid[over - 1], grid[over], _GRID)
    return float(grid[0])


DRIVING: m_s = 1.0
"""Lowest speed of normal driving; below it a vehicle starts or stops."""
SPEEDS = (0.0, 0.1, 0.2, 0.5, DRIVING, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0)
"""Examined speeds in m/s, within the range of vehicle and model (`Model.slowest`)."""
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Examined fractions of the top speed, for a vehicle slower than twice `DRIVING`."""
TURNED = 0.9
"""Fraction of the largest steering angle at which the modes are examined as well.

It is below 1 because a model may have a corner at the largest angle.
"""


_TABLES: RecentCache[tuple[StableStep, ...]] = RecentCache()
_JACOBIANS: RecentCache[_Jacobian] = RecentCache()


def stable_steps(vehicle: Vehicle, method: Integrator) -> tuple[StableStep, ...]:
    """The longest stable step at each speed; empty where every step is stable.

    Every step is stable for discrete models and for implicit and adaptive methods.
    """
    model = vehicle.model
    if not model.continuous or method.implicit or method.adaptive:
        return ()
    key = (method, record.flatten(vehicle.params))
    return _TABLES.get(
        model,
        key,
        lambda: stored(model, ("modes", *key), lambda: tuple(_table(vehicle, method.bind(model)))),
    )


def _table(vehicle: Vehicle, method: Integrator) -> list[StableStep]:
    model = vehicle.model
    jacobian = _JACOBIANS.get(model, None, lambda: _Jacobian(model))
    rows: list[StableStep] = []
    for speed in _speeds(vehicle):
        matrices = (jacobian(vehicle, x, u) for x, u in _moments(vehicle, speed))
        # Examine equal Jacobians once: brakes and drive do not change the modes of every model.
        different = {matrix.tobytes(): matrix for matrix in matrices}.values()
        # Skip points at which the model has no finite Jacobian.
        ends = [longest_step(method, matrix) for matrix in different if np.isfinite(matrix).all()]
        if ends:
            dt, eigenvalue = min(ends, key=lambda end: end.dt)
            rows.append(StableStep(speed, dt, eigenvalue))
    return rows


def _speeds(vehicle: Vehicle) -> tuple[m_s | None, ...]:
    if vehicle.model.body is None:
        return (None,)
    top, least = vehicle.limits.v_max, vehicle.model.slowest
    speeds = tuple(share * top for share in SHARES) if top < 2.0 * DRIVING else SPEEDS
    return tuple(v for v in speeds if least <= v <= top) or (min(least, top),)


def _moments(vehicle: Vehicle, speed: m_s | None) -> Iterator[tuple[Any, Any]]:
    """States and inputs of driving at a speed, with actuators at rest.

    The motions are straight driving, wheels turned, full drive and full braking.
    """
    model, p = vehicle.model, vehicle.params
    rest = record.at_rest(model.State)
    if speed is None or model.body is None:
        yield rest, record.at_rest(model.Input)
        return
    body, limits = model.body, vehicle.limits
    turned, angle = _steering(model, body, p), TURNED * limits.steer_max
    demands = [Demand(v=speed), Demand(v=speed, a=limits.a_max), Demand(v=speed, a=limits.a_min)]
    if turned is not None:
        demands.append(Demand(v=speed, steer=angle))
    for demand in demands:
        if not all(map(isfinite, demand)):
            continue
        try:
            x = body.placed(rest, body.pose(rest, p), Velocity(speed, 0.0, 0.0), p)
            if turned is not None:
                leaves = list(record.flatten(x))
                leaves[turned] = demand.steer
                x = record.unflatten(type(x), leaves)
            x = x if model.settle is None else model.settle(x, p)
            yield x, body.command(x, demand, p)
        except ArithmeticError:  # a body that divides by its speed has no values at rest
            continue


def _steering(model: Model, body: Body, p: Any) -> int | None:
    """Index of the state that is the angle of the front wheels, or None."""
    if body.steer is None:
        return None
    steer, u = body.steer, record.at_rest(model.Input)
    (name,) = own_fields(model.State, lambda x: (steer(x, u, p),))
    return None if name is None else record.names(model.State).index(name)


class _Jacobian:
    """Jacobian of a model's rate with respect to its state; values held over a step are constant.

    CasADi's interpreter evaluates the Jacobian, since compiling would take longer than the few
    calls.
    """

    @making_expressions()
    def __init__(self, model: Model) -> None:
        import casadi as ca

        kinds = {"x": model.State, "start": model.State, **port_kinds(model)}
        columns = [ca.SX.sym(name, record.size(kind)) for name, kind in kinds.items()]
        x, start, u, w, p = (
            record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
            for kind, column in zip(kinds.values(), columns, strict=True)
        )
        assert model.derivative is not None
        with explained(model.name):
            rate = model.derivative(x, model.held_input(start, u, w, p), w, p)
        rates = flat_result(model, "derivative", rate)
        if len(rates) != columns[0].numel():
            raise InvalidValue(
                f"the derivative of {model.name!r} has {len(rates)} values for "
                f"{columns[0].numel()} states"
            )
        leaves = ca.vertcat(*(ca.SX(leaf) for leaf in rates))
        self._function = ca.Function("jacobian", columns, [ca.jacobian(leaves, columns[0])])
        self._calm = record.flatten(record.at_rest(model.Disturbance))

    def __call__(self, vehicle: Vehicle, x: Any, u: Any) -> Array:
        row = record.flatten(x)
        columns = (row, row, record.flatten(u), self._calm, record.flatten(vehicle.params))
        return np.array(self._function(*map(list, columns)).full())


AUTO = "auto"
EXPLICIT, IMPLICIT = "rk4", "radau"
"""The two methods between which "auto" chooses."""
LONG: s = 0.02
"""Step above which the implicit method needs more iterations, as its start is less accurate."""
MORE_ITERATIONS = 4
SAME = 1.01
"""Ratio up to which the longest stable steps at two speeds count as equal."""


def choose_integrator(
    vehicle: Vehicle,
    integrator: str | Integrator,
    dt: s,
    substeps: int | None = None,
    **options: Any,
) -> Integrator:
    """Return the named method, or the choice of "auto"; refuses one unstable for the vehicle."""
    sub = substeps or vehicle.model.substeps
    if integrator == AUTO:
        if options:
            raise InvalidValue(f"options {', '.join(options)} need a method other than 'auto'")
        return automatic(vehicle, dt, sub)
    method = integrate.get(integrator, **options)
    check_step(vehicle, method, dt, sub)
    return method


def automatic(vehicle: Vehicle, dt: s, substeps: int = 1) -> Integrator:
    """Return RK4 if it is stable at every speed of the vehicle, else Radau IIA."""
    explicit = integrate.get(EXPLICIT)
    longest = [at.longest for at in stable_steps(vehicle, explicit)] or [np.inf]
    if dt / substeps <= min(longest):
        return explicit
    # Actuators are equally fast at all speeds. If the fast modes belong to tyres, they change
    # within a step, and Newton's method needs more iterations.
    if max(longest) > SAME * min(longest):
        return integrate.get(IMPLICIT, iterations=MORE_ITERATIONS)
    return integrate.get(
        IMPLICIT, **({"iterations": MORE_ITERATIONS} if dt / substeps > LONG else {})
    )


def takes(vehicle: Vehicle, integrator: str, dt: s) -> bool:
    """Whether steps of dt by a method are stable for a vehicle at one driving speed at least."""
    table = stable_steps(vehicle, integrate.get(integrator))
    return not table or any(dt / vehicle.model.substeps <= at.longest for at in _driving(table))


def check_step(
    vehicle: Vehicle,
    method: Integrator,
    dt: s,
    substeps: int = 1,
    *,
    some_speeds: bool = True,
    has_substeps: bool = True,
) -> None:
    """Raise if steps of dt / substeps of a method are unstable for the vehicle at every speed.

    If the steps are unstable only at some speeds, or the model reproduces a program that takes such
    steps, warn instead. `has_substeps` tells whether the caller has an option `substeps` that the
    message may suggest.
    """
    table = stable_steps(vehicle, method)
    judged = table if some_speeds else _driving(table)
    judge = any if some_speeds else all
    if table and judge(dt / substeps > at.longest for at in judged):
        way = f"integrator='auto' ({automatic(vehicle, dt, substeps).name} here)"
        subject = f"{method.name} with dt = {dt:g} s is unstable for {vehicle.name!r}"
        refuse = not vehicle.model.reproduces
        _complain(subject, table, dt, substeps, way, refuse=refuse, has_substeps=has_substeps)


def check_plant(plant: Plant, dt: s, substeps: int = 1) -> None:
    """Like `check_step`, for a plant, which may come from a file and then has no equations."""
    if plant.vehicle is not None and plant.method is not None:
        check_step(plant.vehicle, plant.method, dt, substeps)
        return
    if any(dt / substeps > at.longest for at in plant.stable_steps):
        subject = f"{plant.integrator} with dt = {dt:g} s is unstable for {plant.name!r}"
        way = "a file saved with another integrator"
        _complain(subject, plant.stable_steps, dt, substeps, way, refuse=not plant.reproduces)


def check_spread(plant: Plant, dt: s, substeps: int, params: AnyArray) -> None:
    """Like `check_step`, for parameters (B, np) that differ between vehicles.

    For each parameter that differs, the vehicles with its lowest and its highest value are checked.
    """
    vehicle, method = plant.vehicle, plant.method
    if vehicle is None or method is None or method.implicit or not vehicle.model.continuous:
        return
    differing = np.flatnonzero(np.ptp(params, axis=0) > 0.0)
    rows = {int(f(params[:, k])) for k in differing for f in (np.argmin, np.argmax)} or {0}
    for row in sorted(rows):
        row_values = record.unflatten(vehicle.model.Params, params[row].astype(float).tolist())
        values = accept(row_values)
        check_step(Vehicle(vehicle.model, values, vehicle.outlines), method, dt, substeps)


def _driving(table: tuple[StableStep, ...]) -> tuple[StableStep, ...]:
    """Select the rows at driving speeds; stability at rest alone does not make a step usable."""
    return tuple(at for at in table if at.speed is None or at.speed >= DRIVING) or table


def _complain(
    subject: str,
    table: tuple[StableStep, ...],
    dt: s,
    substeps: int,
    way: str,
    *,
    refuse: bool,
    has_substeps: bool = True,
) -> None:
    broken = [at for at in table if dt / substeps > at.longest]
    worst = min(broken, key=lambda at: at.longest)
    where = "" if worst.speed is None else " at every speed"
    if any(at not in broken for at in _driving(table)):
        where = f" at {', '.join(f'{at.speed:g}' for at in broken)} m/s"
    within = f" in {substeps} sub-steps" if substeps > 1 else ""
    ways, why = [way], "with every step"
    if worst.longest > 0.0:
        why = f"which takes steps of {worst.longest:.3g} s at most"
        value = worst.longest * substeps
        # Round to two digits, so that the advised step is allowed.
        scale = 10.0 ** (np.floor(np.log10(value)) - 1.0)
        ways += [f"dt <= {float(np.floor(value / scale) * scale):g} s"]
        if has_substeps:
            ways += [f"substeps = {int(np.ceil(dt / worst.longest))}"]
    text = (
        f"{subject}{within}{where}, because of its mode with the eigenvalue "
        f"{_written(worst.eigenvalue)} 1/s, {why}. Take {', or '.join(ways)}"
    )
    if refuse and all(dt / substeps > at.longest for at in _driving(table)):
        raise InvalidValue(text)
    warnings.warn(text, stacklevel=5)


def _written(eigenvalue: complex) -> str:
    if abs(eigenvalue.imag) < 1e-6 * abs(eigenvalue):
        return f"{eigenvalue.real:.4g}"
    return f"{eigenvalue.real:.4g} ± {abs(eigenvalue.imag):.4g}i"
