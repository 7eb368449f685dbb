"""Whether a step is too long for a vehicle, before it is made; and which method is not.

The fastest modes of a vehicle come from its exact Jacobian at speeds from rest on, straight ahead,
with the wheels turned, under full drive and brakes. An explicit method whose step lets one of them
grow at every speed of driving would end in infinity, so it is refused; where it grows at some
speeds, a warning says at which. `integrator="auto"` is RK4 where that is stable at all of them,
else Radau IIA, which is stable with every step. The choice depends on the model, its parameters and
dt alone.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..compile.plant import Plant, StableStep
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..model import Vehicle
from ..plausibility import accept
from ..units import s
from .modes import DRIVING, stable_steps

AUTO = "auto"
EXPLICIT, IMPLICIT = "rk4", "radau"
"""What "auto" chooses between."""
LONG: s = 0.02
"""Step above which the implicit method makes more iterations, as it starts further from the end."""
MORE_ITERATIONS = 4
SAME = 1.01
"""Ratio of the longest steps at two speeds up to which they count as equal."""


def chosen(
    vehicle: Vehicle,
    integrator: str | Integrator,
    dt: s,
    substeps: int | None = None,
    **options: Any,
) -> Integrator:
    """The method that steps a vehicle: the one that is asked for if it can be, or "auto"."""
    sub = substeps or vehicle.model.substeps
    if integrator == AUTO:
        if options:
            raise InvalidValue(f"options {', '.join(options)} go with a method, not with 'auto'")
        return automatic(vehicle, dt, sub)
    method = integrate.get(integrator, **options)
    check_step(vehicle, method, dt, sub)
    return method


def automatic(vehicle: Vehicle, dt: s, substeps: int = 1) -> Integrator:
    """RK4 where it is stable at every speed of the vehicle, else Radau IIA."""
    explicit = integrate.get(EXPLICIT)
    longest = [at.longest for at in stable_steps(vehicle, explicit)] or [np.inf]
    if dt / substeps <= min(longest):
        return explicit
    # Actuators are as fast at every speed. Where the fast modes are those of tyres, they change
    # within a step, and the iterations have further to go.
    if max(longest) > SAME * min(longest):
        return integrate.get(IMPLICIT, iterations=MORE_ITERATIONS)
    return integrate.get(
        IMPLICIT, **({"iterations": MORE_ITERATIONS} if dt / substeps > LONG else {})
    )


def takes(vehicle: Vehicle, integrator: str, dt: s) -> bool:
    """Whether a vehicle is stable at some speed with a method's steps of dt."""
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
    """Refuse a method whose steps of dt / substeps let the vehicle's modes grow at every speed;
    warn where it is some speeds, or if the model reproduces a program that does so.

    `has_substeps` says whether the caller has an option `substeps` that the text may advise.
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
    """The same for a plant, also one that was loaded and has no equations any more."""
    if plant.vehicle is not None and plant.method is not None:
        check_step(plant.vehicle, plant.method, dt, substeps)
        return
    if any(dt / substeps > at.longest for at in plant.stable_steps):
        subject = f"{plant.integrator} with dt = {dt:g} s is unstable for {plant.name!r}"
        way = "a file saved with another integrator"
        _complain(subject, plant.stable_steps, dt, substeps, way, refuse=not plant.reproduces)


def check_spread(plant: Plant, dt: s, substeps: int, params: AnyArray) -> None:
    """The same for the extremes among parameters (B, np): of each that differs, the vehicles with
    the least and the most of it."""
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
    """The rows at which it drives: a car that is stable at rest alone cannot be driven."""
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
        ways += [f"dt <= {_rounded_down(worst.longest * substeps):g} s"]
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


def _rounded_down(value: float) -> float:
    """To two digits, so that what is advised is allowed."""
    scale = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(np.floor(value / scale) * scale)
