"""The work everybody gets: random fleets, a weave for single steps, and the reference solutions.

The same seed gives the same numbers in every process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import record, vehicles
from ..arrays import AnyArray
from ..model import Vehicle
from ..run.fleet import Fleet

SEED = 20240917
RK4_DT = 1e-3
"""Step of RK4 in s; with the torque actuators' time constant of 1 ms it is stable up to 2.8 ms."""
RADAU_DT = 1e-2
"""Step of Radau in s, ten time constants of the torque actuators."""
CONTROL_PERIOD = 1e-2
"""How long an input of the weave is held, in s, whatever the step."""
SPEED = 10.0
"""Speed at the start, in m/s."""
REFERENCE_TOLERANCE = 1e-12
"""rtol and atol of the reference solution by DOP853."""


class FleetWork(NamedTuple):
    """Vehicles to roll out, each with an input of its own that it holds."""

    vehicle: Vehicle
    dt: float
    steps: int
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (B, nu)."""
    checked: int
    """How many of them, from the first, have a reference."""

    def first(self, count: int) -> FleetWork:
        """The same work with only the first vehicles."""
        return self._replace(x0=self.x0[:count], u=self.u[:count])

    def cast(self, precision: str) -> FleetWork:
        """The same work in another precision."""
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


class Weave(NamedTuple):
    """A slalom at 10 m/s: steering 0.08 sin(π t), random constant torques that keep the speed."""

    vehicle: Vehicle
    x0: AnyArray
    """Start state (nx,)."""
    rows: AnyArray
    """Inputs (T, nu), each held for `CONTROL_PERIOD`."""

    def held_rows(self, dt: float) -> AnyArray:
        """An input for each step of `dt`."""
        return np.repeat(self.rows, round(CONTROL_PERIOD / dt), axis=0)


class Reference(NamedTuple):
    """Where the checked vehicles end."""

    end: AnyArray
    """End states (K, nx)."""
    scale: AnyArray
    """How large each field is (nx,)."""

    def error(self, end: Any) -> float:
        """Largest difference of end states (K, nx), or (nx,) of one, relative to the scales."""
        scale = np.where(self.scale > 0.0, self.scale, 1.0)
        return float((self._difference(end) / scale).max())

    def distance(self, end: Any, fields: int) -> float:
        """Largest difference of the first `fields` fields, in their units."""
        return float(self._difference(end)[:, :fields].max())

    def _difference(self, end: Any) -> AnyArray:
        return np.abs(np.asarray(end, dtype=float).reshape(self.end.shape) - self.end)


def fleet_work(count: int, dt: float, steps: int, checked: int) -> FleetWork:
    """`count` four-wheel cars at 10 m/s, steering within ±0.05 rad, torques from 0 to 20 N·m."""
    car = vehicles.four_wheel()
    random = np.random.default_rng(SEED)
    u = random.uniform((-0.05, 0.0, 0.0, 0.0, 0.0), (0.05, 20.0, 20.0, 20.0, 20.0), (count, 5))
    x0 = np.tile(_start(car), (count, 1))
    return FleetWork(car, dt, steps, x0, u, min(checked, count))


def weave(duration: float) -> Weave:
    """The slalom of `duration` seconds."""
    car = vehicles.four_wheel()
    t = CONTROL_PERIOD * np.arange(round(duration / CONTROL_PERIOD))
    torques = np.random.default_rng(SEED).uniform(33.0, 53.0, 4)
    rows = np.column_stack([0.08 * np.sin(np.pi * t), np.tile(torques, (len(t), 1))])
    return Weave(car, _start(car), rows)


def _start(car: Vehicle) -> AnyArray:
    return np.array(record.flatten(record.build(car.State, v_x=SPEED)))


def derivative_of(vehicle: Vehicle, u: Any) -> Any:
    """x' as a function of x (nx, ...), called directly on arrays, for inputs u (nu, ...) held."""
    model = vehicle.model
    assert model.derivative is not None
    equations, kind = model.derivative, model.State
    held = record.unflatten(model.Input, tuple(u))
    w, p = record.build(model.Disturbance), vehicle.params

    def derivative(x: AnyArray) -> AnyArray:
        return np.array(record.flatten(equations(record.unflatten(kind, tuple(x)), held, w, p)))

    return derivative


def settled(work: FleetWork, steps: int = 20) -> FleetWork:
    """The same work some steps later, when the torques have reached their targets.

    An adaptive solver takes small steps at the start. Timed over a few steps, it would be charged
    for that more than over a whole rollout; so peers are timed from here.
    """
    fleet = Fleet(work.vehicle, work.dt, "rk4", precision=str(work.x0.dtype), threads=1)
    return work._replace(x0=fleet.rollout(work.x0, work.u, steps=steps, every=steps)[-1])


def fleet_reference(work: FleetWork) -> Reference:
    """The end of the checked vehicles by DOP853 on the vehicle's function called on arrays."""
    few = work.first(work.checked)
    derivative = derivative_of(work.vehicle, few.u.T)
    end = _solve(derivative, few.x0.T, work.steps * work.dt).T
    return Reference(end, np.abs(end).max(axis=0))


def weave_reference(course: Weave) -> Reference:
    """The end of the weave, solved anew for each held input; scales are the largest on the way."""
    states = [course.x0]
    for row in course.rows:
        derivative = _float_derivative(course.vehicle, row)
        states.append(_solve(derivative, states[-1], CONTROL_PERIOD))
    return Reference(states[-1][None], np.abs(states).max(axis=0))


def _float_derivative(vehicle: Vehicle, row: AnyArray) -> Any:
    # One vehicle is faster on Python floats than on arrays of one element.
    derivative = derivative_of(vehicle, row.tolist())
    return lambda x: derivative(x.tolist())


def _solve(derivative: Any, x: AnyArray, duration: float) -> AnyArray:
    from scipy.integrate import solve_ivp

    def right_hand_side(_: float, y: AnyArray) -> AnyArray:
        return np.ravel(derivative(y.reshape(x.shape)))

    tolerance = REFERENCE_TOLERANCE
    solution: Any = solve_ivp(
        right_hand_side,
        (0.0, duration),
        np.ravel(x),
        method="DOP853",
        t_eval=(duration,),
        rtol=tolerance,
        atol=tolerance,
    )
    if not solution.success:
        raise RuntimeError(f"the reference solution failed: {solution.message}")
    return solution.y[:, -1].reshape(x.shape)
