"""A small nonlinear model predictive controller on CasADi.

It predicts with any skidpad vehicle, a kinematic bicycle as a rule, and drives another one with the
same inputs. Solvers are those shipped with CasADi: IPOPT (Wächter and Biegler, 2006), FATROP
(Vanroye et al., IROS 2023), or its own SQP method. See `nmpc_problem` for what is solved.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Pose, Velocity
from ..brief import brief_repr
from ..checks import positive_step, vehicle_of, whole
from ..components.centre_track import drift
from ..errors import InvalidValue, SkidpadError
from ..ops import cos, sin
from ..run.stability import chosen
from ..units import m_s, rad, s
from .car import car_of, push
from .nmpc_problem import (
    Accelerations,
    Formulation,
    bounds,
    own_accelerations,
    packed,
    prediction_model,
    program,
    servos_of,
    solver_of,
    unpacked,
)
from .path_follower import kinematic_steer
from .reference import Point, Reference
from .regulator import weights
from .state_conversion import signed_speed, unwrapped

__all__ = ["Nmpc", "NmpcController", "Plan", "prediction_state"]

FEASIBLE = 1e-4
"""Largest violation of a constraint, in SI units, with which a plan is still used."""
EARLY = 1e-6
"""Share of a step by which a new plan may be made early."""


@dataclass(frozen=True)
class Plan:
    """What a solve gave."""

    states: Array
    """(N + 1, nx), the present one first."""
    inputs: Array
    """(N, nu)."""
    optimal: bool
    """Whether the solver converged."""
    feasible: bool
    """Whether this is what the solver found: it keeps to the constraints. Else it is the plan
    before, moved on by one step."""
    status: str
    """What the solver said."""
    iterations: int
    cost: float
    """Value of the objective."""
    violation: float
    """Largest violation of a constraint by what the solver found, in SI units."""
    seconds: s
    """Wall time of the solve."""

    __repr__ = brief_repr


class Nmpc:
    """A model predictive controller; it keeps its last plan, which the next solve starts from.

    Args:
        vehicle: prediction model, such as `commonroad_kinematic_bicycle()`.
        dt: step of the prediction in s.
        horizon: number of steps.
        Q, R: weights of the errors of state and input: by field, as a diagonal, or as a matrix.
        Q_final: weight of the error of the last state; Q if None.
        input_bounds, state_bounds: by field, one number for ± or a pair; those of the state hold
            from the second one on.
        accelerations: function of state and input records that gives longitudinal and lateral
            acceleration over what the tyres can do; their squares sum up to 1 at most. True for the
            vehicle's own, over its parameters a_long_max and a_lat_max; None for no constraint.
        solver: "ipopt", "fatrop" or "sqpmethod"; another one stands in where it is missing.
        max_iterations: of one solve.
        integrator: of the prediction; "auto" for RK4 where it is stable, else Radau IIA.
        substeps: steps of the integrator in one dt; those of the vehicle if None.
        options: passed to `casadi.nlpsol` over the ones set here.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        vehicle: Any,
        dt: s,
        horizon: int,
        *,
        Q: Any,
        R: Any,
        Q_final: Any = None,
        input_bounds: Mapping[str, Any] | None = None,
        state_bounds: Mapping[str, Any] | None = None,
        accelerations: Accelerations | bool | None = None,
        solver: str = "ipopt",
        max_iterations: int = 100,
        integrator: str = "rk4",
        substeps: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        vehicle, dt = vehicle_of(vehicle), positive_step(dt, "float64")
        constrained = _accelerations(vehicle, accelerations)
        count = vehicle.model.substeps
        if substeps is not None:
            count = whole("substeps", substeps, "at least 1")
        method = chosen(vehicle, integrator, dt, count)
        states, inputs = record.names(vehicle.State), record.names(vehicle.Input)
        q = weights("Q", states, Q)
        self.formulation = Formulation(
            vehicle=vehicle,
            dt=dt,
            horizon=whole("horizon", horizon, "at least 1"),
            Q=q,
            R=weights("R", inputs, R),
            Q_final=q if Q_final is None else weights("Q_final", states, Q_final),
            input_bounds=bounds(vehicle.Input, "input_bounds", input_bounds),
            state_bounds=bounds(vehicle.State, "state_bounds", state_bounds),
            accelerations=constrained,
            integrator=method,
            substeps=count,
            servos=servos_of(vehicle),
        )
        self._program = problem = program(self.formulation)
        limit = whole("max_iterations", max_iterations, "at least 1")
        self._solver = solver_of(problem, solver, limit, options or {})
        self._step: Callable[..., Any] = prediction_model(self.formulation).step
        self.plan: Plan | None = None
        """The last plan; None before the first solve."""

    @property
    def vehicle(self) -> Any:
        """The prediction model."""
        return self.formulation.vehicle

    @property
    def horizon(self) -> int:
        """Number of steps of the prediction."""
        return self.formulation.horizon

    def forget(self) -> None:
        """Drop the last plan, as before the first solve."""
        self.plan = None

    def solve(
        self, x: Any, x_ref: Any, u_ref: Any = None, *, x_init: Any = None, u_init: Any = None
    ) -> Plan:
        """The plan from a state on.

        Args:
            x: state of the prediction model, as record, mapping or array.
            x_ref: states to follow, (N + 1, nx).
            u_ref: inputs to follow, (N, nu); zero if None.
            x_init, u_init: where the solver starts, like the references. If None: the last plan
                moved on by one step, or the straight way from x to the last of x_ref.

        Where the solver finds nothing feasible, the last plan moved on by one step is returned, not
        marked `feasible`, with a warning; if there is none, SkidpadError is raised.
        """
        f = self.formulation
        start = np.array(record.flatten(record.build(f.vehicle.State, x)))
        targets = _table("x_ref", x_ref, (f.horizon + 1, f.nx))
        inputs = np.zeros((f.horizon, f.nu)) if u_ref is None else u_ref
        inputs = _table("u_ref", inputs, (f.horizon, f.nu))
        guess = self._guess(start, targets, inputs, x_init, u_init)
        begin = perf_counter()
        limits, x_scale, g_scale = (
            self._program.limits,
            self._program.x_scale,
            self._program.g_scale,
        )
        answer = self._solver(
            x0=packed(*guess) / x_scale,
            p=np.concatenate([start, targets.ravel(), inputs.ravel()]),
            lbx=limits.x_low / x_scale,
            ubx=limits.x_high / x_scale,
            lbg=limits.g_low / g_scale,
            ubg=limits.g_high / g_scale,
        )
        plan = self._read(answer, perf_counter() - begin)
        self.plan = plan if plan.feasible else self._instead(plan, start, inputs)
        return self.plan

    def compute_control_input(self, x0: Any, x_ref: Any, u_ref: Any = None) -> Any:
        """The first input of the plan from x0 on, a record; the name is commonroad-control's."""
        return self.first_input(self.solve(x0, x_ref, u_ref))

    def first_input(self, plan: Plan) -> Any:
        """The input of a plan's first step, an Input record of the prediction model."""
        return record.unflatten(self.vehicle.Input, plan.inputs[0].tolist())

    def controller(self, reference: Reference) -> NmpcController:
        """The controller that follows a reference, as `Simulator.run` calls one.

        It makes a new plan every dt of the prediction and holds its first input until the next.
        """
        return NmpcController(self, reference)

    def _guess(
        self, start: Array, targets: Array, inputs: Array, x_init: Any, u_init: Any
    ) -> tuple[Array, Array]:
        f = self.formulation
        if self.plan is not None and x_init is None and u_init is None:
            return self._moved_on(self.plan, inputs)
        share = np.linspace(0.0, 1.0, f.horizon + 1)[:, None]
        x = start + share * (targets[-1] - start) if x_init is None else x_init
        u = np.zeros((f.horizon, f.nu)) if u_init is None else u_init
        return _table("x_init", x, targets.shape), _table("u_init", u, inputs.shape)

    def _moved_on(self, plan: Plan, inputs: Array) -> tuple[Array, Array]:
        """States and inputs one step later; the last step is driven by the last reference input."""
        low, high = self.formulation.input_bounds
        last = np.clip(inputs[-1], low, high)
        end = np.array(self._step(plan.states[-1], last, self.formulation.dt)).ravel()
        return np.vstack([plan.states[1:], end]), np.vstack([plan.inputs[1:], last])

    def _read(self, answer: Mapping[str, Any], seconds: s) -> Plan:
        f, limits = self.formulation, self._program.limits
        values = np.array(answer["x"]).ravel() * self._program.x_scale
        g = np.array(answer["g"]).ravel() * self._program.g_scale
        beyond = [limits.x_low - values, values - limits.x_high, limits.g_low - g]
        violation = float(np.max(np.concatenate([*beyond, g - limits.g_high])))
        stats = self._solver.stats()
        states, inputs = unpacked(values, f.nx, f.nu)
        return Plan(
            states,
            # Solvers keep to bounds up to their tolerance; vehicles may refuse what is beyond.
            np.clip(inputs, *f.input_bounds),
            optimal=bool(stats["success"]),
            feasible=bool(np.isfinite(values).all() and violation <= FEASIBLE),
            status=_said(stats),
            iterations=int(stats.get("iter_count", 0)),
            cost=float(answer["f"]),
            violation=max(violation, 0.0),
            seconds=seconds,
        )

    def _instead(self, failed: Plan, start: Array, target_inputs: Array) -> Plan:
        """The last plan moved on, where the solver found none."""
        said = f"status {failed.status!r}, constraints violated by {failed.violation:.2g}"
        if self.plan is None:
            raise SkidpadError(
                f"the predictive controller found no plan from {start.tolist()}: {said}; there is "
                "no earlier plan to go on with"
            )
        warnings.warn(
            f"the predictive controller found no plan ({said}) and goes on with the last one",
            stacklevel=3,
        )
        states, inputs = self._moved_on(self.plan, target_inputs)
        return replace(failed, states=states, inputs=inputs)


class NmpcController:
    """A predictive controller as `Simulator.run` calls one: `controller(t, x)` gives an input.

    `plans` keeps what every solve gave.
    """

    __repr__ = brief_repr

    def __init__(self, nmpc: Nmpc, reference: Reference) -> None:
        self.nmpc, self.reference = nmpc, reference
        self.plans: list[Plan] = []
        self._car = car_of(nmpc.vehicle)
        self._began = -inf
        """Time of the last plan in s."""

    def __call__(self, t: s, x: Any) -> Any:
        """Input for the step that starts at time `t` in state `x` of the vehicle driven."""
        f = self.nmpc.formulation
        if t < self._began:
            self.nmpc.forget()
            self._began = -inf
        # The times of a simulator are sums of steps, so a plan may be due a rounding error early.
        if t - self._began >= f.dt * (1.0 - EARLY):
            seen = prediction_state(x, self.nmpc.vehicle.State)
            ahead = self.reference.horizon(t, f.horizon, f.dt)
            targets = self.targets(ahead, seen.yaw)
            self.plans.append(self.nmpc.solve(seen, targets, self._wanted(ahead)))
            self._began = t
        return self.nmpc.first_input(self.plans[-1])

    def targets(self, ahead: Point, yaw: rad) -> Array:
        """States (N + 1, nx) of the prediction model that rolls along points of a reference.

        Headings are those nearest to `yaw`, as a car may have turned round several times.
        """
        vehicle, g = self.nmpc.vehicle, self._car.geometry
        steer = kinematic_steer(ahead.curvature, g.l_f, g.l_r)
        beta = drift(steer, g.l_f, g.l_r)
        first = float(np.ravel(ahead.heading)[0])
        heading = ahead.heading + (unwrapped(yaw, first) - first)
        fields = record.names(vehicle.State)
        turned = {w.steer: steer for w in vehicle.geometry.wheels if w.steer in fields}
        v, none = ahead.v, np.zeros(np.shape(ahead.x))
        rolling = vehicle.body.placed(
            vehicle.State(**dict.fromkeys(fields, none) | turned),
            Pose(ahead.x, ahead.y, heading - beta),
            Velocity(v * cos(beta), v * sin(beta), v * ahead.curvature),
            vehicle.params,
        )
        return np.column_stack(record.flatten(rolling))

    def _wanted(self, ahead: Point) -> Array:
        """Inputs (N, nu) along the reference: what its acceleration takes."""
        return np.outer(np.asarray(ahead.a)[:-1], push(self._car, self.nmpc.vehicle.State))


def prediction_state(x: Any, State: type) -> Any:
    """The state of the prediction model from that of the vehicle driven, by their fields."""
    values: dict[str, Any] = {}
    for name in record.names(State):
        if hasattr(x, name):
            values[name] = getattr(x, name)
        elif name == "v" and hasattr(x, "v_x"):
            v_x: m_s = x.v_x
            values[name] = signed_speed(v_x, getattr(x, "v_y", 0.0))
        elif name == "v_x" and hasattr(x, "v"):
            values[name] = x.v
        else:
            raise InvalidValue(
                f"the prediction model needs {name!r}, which the vehicle's state has not: "
                f"{', '.join(record.names(type(x)))}"
            )
    return State(**values)


def _accelerations(vehicle: Any, choice: Accelerations | bool | None) -> Accelerations | None:
    if isinstance(choice, bool):
        return own_accelerations(vehicle) if choice else None
    return choice


def _said(stats: Mapping[str, Any]) -> str:
    """How a solve ended, in the solver's words; FATROP's are numbers, for which CasADi has some."""
    own = str(stats["return_status"])
    return str(stats.get("unified_return_status", own)) if own.lstrip("-").isdigit() else own


def _table(name: str, values: Any, shape: tuple[int, int]) -> Array:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} must be an array of numbers, shape {shape}") from None
    if array.shape != shape:
        raise InvalidValue(f"{name} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        raise InvalidValue(f"{name} must be finite")
    return array
