"""A vehicle as a linear system around a point: for MPC, for LQR, for limits of acceleration.

    x_next, A, B = linearise(car, x, u, dt=0.1)             # x_next + A dx + B du after dt
    rate, A, B = linearise_continuous(car, x, u)            # x' is about rate + A dx + B du
    along, across = normalised_acceleration(car, x, u)      # 1 is the limit of each

The derivatives are exact: those of the expressions that the simulator itself steps. They are
compiled once for a model and an integrator; after that a call takes some ten microseconds, and less
through a `Linearisation` that is kept. An input with dead time counts as the one that acts.

The step is one of RK4, and the derivatives are those of that step. Where that would be unstable at
every speed of driving ("auto"), or on demand ("exact"), the linear motion is followed exactly
instead: with the input held, x' = rate + A dx + B du has a closed solution, the exponential of its
matrix, which no step is too long for. The step of a simulator is that by `sim.integrator`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..checks import positive, positive_step, vehicle_of
from ..errors import InvalidValue, StepNotConverged
from ..integrate import compiled_integrator
from ..integrate.base import Integrator
from ..linear import Continuous, Discrete, LinearAcceleration, NormalisedAcceleration
from ..model import Vehicle
from .differentiated import ExactlyHeld, Function, differentiated
from .kept import Kept
from .stability import AUTO, EXPLICIT, automatic, check_step, takes

__all__ = [
    "AccelerationLimits",
    "ContinuousLinearisation",
    "Linearisation",
    "linearise",
    "linearise_acceleration",
    "linearise_continuous",
    "normalised_acceleration",
]

EXACT = "exact"
"""In place of an integrator: the solution of the linear motion with the input held."""
PAIRS = (("a_long", "a_lat"), ("a_x", "a_y"))
"""Outputs that are accelerations along and across a vehicle, in the order they are looked for."""


class _Around:
    """What the linearisations share: a vehicle, its compiled functions and its constants."""

    def __init__(self, vehicle: Vehicle, functions: Function) -> None:
        self._vehicle, self._functions = vehicle, functions
        model = vehicle.model
        self._p = np.array(record.flatten(vehicle.params), dtype=float)
        self._w = np.array(record.flatten(record.build(model.Disturbance)), dtype=float)
        self._kinds = (model.State, model.Input, model.Disturbance)

    @property
    def vehicle(self) -> Vehicle:
        """What is linearised."""
        return self._vehicle

    def _evaluated(self, x: Any, u: Any, w: Any, *rest: Any) -> list[AnyArray]:
        State, Input, Disturbance = self._kinds
        rows = (_row(State, x), _row(Input, u), self._w if w is None else _row(Disturbance, w))
        results = self._functions(*rows, self._p, *rest)
        if not np.isfinite(results[0]).all():
            # The rows are looked at only here, so that it costs nothing when all is well.
            for kind, row in zip(self._kinds, rows, strict=True):
                record.build(kind, np.array(record.flatten(row), dtype=float))
        return results


def _row(kind: type, values: Any) -> Any:
    """The numbers of a record, mapping or array; quickly where it is what it should be."""
    if type(values) is np.ndarray and values.shape == (record.size(kind),):
        return values
    if type(values) is kind and len(kind._fields) == record.size(kind):
        return values
    return record.flatten(record.build(kind, values))


class Linearisation(_Around):
    """One step of a vehicle, ready to be linearised around any state and input.

    around = Linearisation(car, dt=0.1)
    x_next, A, B = around(x, u)
    """

    def __init__(self, vehicle: Vehicle, dt: float, integrator: str | Integrator = AUTO) -> None:
        self._dt, model = positive_step(dt, "float64"), vehicle_of(vehicle).model
        if integrator == AUTO:
            integrator = EXPLICIT if takes(vehicle, EXPLICIT, self.dt) else EXACT
        if integrator == EXACT and model.continuous and model.hold is None:
            super().__init__(vehicle, ExactlyHeld(differentiated(vehicle, "derivative")))
            self._implicit = False
            return
        # What a model samples at the start of a step is not part of a motion with a derivative.
        method = automatic(vehicle, self.dt, model.substeps)
        if integrator != EXACT:
            method = compiled_integrator(integrator)
            check_step(
                vehicle, method, self.dt, model.substeps, some_speeds=False, has_substeps=False
            )
        super().__init__(vehicle, differentiated(vehicle, "step", method))
        self._implicit = model.continuous and method.implicit

    @property
    def dt(self) -> float:
        """Length of the step in s."""
        return self._dt

    def __call__(self, x: Any, u: Any, w: Any = None) -> Discrete:
        """The step from `x` with `u` held, given as records, mappings or arrays; `w` as well."""
        x_next, A, B, residual = self._evaluated(x, u, w, (self.dt,))
        if self._implicit and not residual[0] <= integrate.RESIDUAL_TOLERANCE:
            raise StepNotConverged(
                f"the step from {x} left a Newton residual of {residual[0]:.3g}; allowed is "
                f"{integrate.RESIDUAL_TOLERANCE:g}. Take a smaller dt than {self.dt:g} s",
                time=0.0,
                residual=float(residual[0]),
            )
        return Discrete(x_next, A, B)


class ContinuousLinearisation(_Around):
    """The motion of a vehicle, ready to be linearised around any state and input."""

    def __init__(self, vehicle: Vehicle) -> None:
        if not vehicle_of(vehicle).model.continuous:
            raise InvalidValue(
                f"{vehicle.name!r} is a discrete model: it has no derivative; use linearise"
            )
        super().__init__(vehicle, differentiated(vehicle, "derivative"))

    def __call__(self, x: Any, u: Any, w: Any = None) -> Continuous:
        """The rate at a state and input, given as records, mappings or arrays; `w` as well."""
        return Continuous(*self._evaluated(x, u, w)[:3])


class AccelerationLimits(_Around):
    """The accelerations of a vehicle over their limits, ready to be evaluated and linearised."""

    def __init__(
        self,
        vehicle: Vehicle,
        a_long_max: float | None = None,
        a_lat_max: float | None = None,
    ) -> None:
        names = record.names(vehicle_of(vehicle).model.Outputs)
        pair = next((pair for pair in PAIRS if set(pair) <= set(names)), None)
        if pair is None:
            raise InvalidValue(
                f"{vehicle.name!r} has no accelerations among its outputs "
                f"({', '.join(names) or 'none'}); needed are a_x and a_y"
            )
        super().__init__(vehicle, differentiated(vehicle, "outputs"))
        self._rows = [names.index(name) for name in pair]
        limits = {"a_long_max": a_long_max, "a_lat_max": a_lat_max}
        self.limits = np.array([_limit(vehicle, *item) for item in limits.items()])

    def __call__(self, x: Any, u: Any, w: Any = None) -> NormalisedAcceleration:
        """Accelerations over their limits."""
        along, across = self._evaluated(x, u, w)[0][self._rows] / self.limits
        return NormalisedAcceleration(float(along), float(across))

    def linearise(self, x: Any, u: Any, w: Any = None) -> LinearAcceleration:
        """Accelerations over their limits, with their derivatives."""
        y, by_x, by_u = self._evaluated(x, u, w)[:3]
        (along, across), by = y[self._rows] / self.limits, 1.0 / self.limits[:, None]
        along_x, across_x = by_x[self._rows] * by
        along_u, across_u = by_u[self._rows] * by
        return LinearAcceleration(float(along), float(across), along_x, along_u, across_x, across_u)


def _limit(vehicle: Vehicle, name: str, value: float | None) -> float:
    value = getattr(vehicle.params, name, None) if value is None else value
    if value is None:
        raise InvalidValue(f"{vehicle.name!r} has no parameter {name}: give {name}= in m/s²")
    return positive(name, value, "m/s²")


_LINEARISATIONS: Kept[Any] = Kept()


def _kept(kind: Any, vehicle: Vehicle, *options: Any) -> Any:
    """The linearisation of this kind and vehicle, made once while few are in use."""
    return _LINEARISATIONS.get(vehicle, (kind, *options), lambda: kind(vehicle, *options))


def linearise(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    dt: float,
    integrator: str | Integrator = AUTO,
    *,
    w: Any = None,
) -> Discrete:
    """One step of `dt` in s from `x` with `u` held, and its derivatives A and B.

    State, input and disturbance are records, mappings or arrays; without `w` nothing disturbs. The
    step is the vehicle's own by an `integrator`, or with "exact" that of the linearised motion,
    solved exactly; "auto" is RK4, and exact where that is unstable at every speed of driving. That
    of a simulator `sim` is its own by `sim.integrator`.
    """
    return _kept(Linearisation, vehicle, dt, integrator)(x, u, w)


def linearise_continuous(vehicle: Vehicle, x: Any, u: Any, *, w: Any = None) -> Continuous:
    """The time derivative at a state and input, and its derivatives A and B."""
    return _kept(ContinuousLinearisation, vehicle)(x, u, w)


def normalised_acceleration(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    *,
    w: Any = None,
    a_long_max: float | None = None,
    a_lat_max: float | None = None,
) -> NormalisedAcceleration:
    """Accelerations along and across a vehicle over their limits in m/s².

    They are its outputs `a_long`, `a_lat` if it has them, else `a_x`, `a_y`; the limits are its
    parameters of these names unless given.
    """
    return _kept(AccelerationLimits, vehicle, a_long_max, a_lat_max)(x, u, w)


def linearise_acceleration(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    *,
    w: Any = None,
    a_long_max: float | None = None,
    a_lat_max: float | None = None,
) -> LinearAcceleration:
    """`normalised_acceleration` with its derivatives, for constraints of an optimisation."""
    return _kept(AccelerationLimits, vehicle, a_long_max, a_lat_max).linearise(x, u, w)
