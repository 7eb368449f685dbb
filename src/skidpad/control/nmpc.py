"""A small nonlinear model predictive controller on CasADi.

It predicts with any skidpad vehicle, usually a kinematic bicycle, and drives another one with the
same inputs. Solvers are those shipped with CasADi: IPOPT (Wächter and Biegler, 2006), FATROP
(Vanroye et al., IROS 2023), or its own SQP method.

The problem is solved by multiple shooting (Bock and Plitt, IFAC 1984): the states at all steps are
variables, coupled by the vehicle's own discrete step. Variables and constraints are ordered by
step, the structure that FATROP is made for.

    minimise  sum over k < N of  |x_k - x_ref_k|²_Q + |u_k - u_ref_k|²_R   +  |x_N - x_ref_N|²_Q_N
    subject to  x_0 given,  x_{k+1} = step(x_k, u_k),  bounds on u_k and on x_{k+1},
                |u_k - x_k| <= t rate_max of each actuator with a limited rate,
                a_long² + a_lat² <= 1 of the normalised accelerations at k < N

Actuators that are first-order lags with limits, such as the steering of most cars, are predicted
without these limits, which are constraints instead: a `clip` has zero slope beyond its corner, so
no solver finds its way back from there. The rate of a lag is largest at the start of a step, so if
the constraints hold the limits are never active, and the plan is a motion of the vehicle itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.body import Pose, Velocity
from ..core.checks import positive_step, whole
from ..core.files import brief_repr
from ..core.model import Vehicle, vehicle_of
from ..errors import InvalidValue, MissingExtra, SkidpadError
from ..integrate.base import Integrator
from ..ops import cos, sin
from ..run.stability import choose_integrator
from ..units import m_s, rad, s
from ..vehicles.parts.kinematics import drift
from .car import car_of, push, signed_speed, unwrapped
from .lqr import weights
from .path_following import kinematic_steer
from .reference import Point, Reference, numbers

SOLVERS = ("ipopt", "fatrop", "sqpmethod")
"""Supported solvers; if one is not installed, the next is used."""

Accelerations = Callable[[Any, Any], tuple[Any, Any]]
"""Function of state and input for longitudinal and lateral acceleration over limits."""


_SERVOS = (
    ("steer", "t_steer", "steer_max", "steer_rate_max"),
    *((f"tau_{wheel}", "t_tau", "tau_max", None) for wheel in ("fl", "fr", "rl", "rr")),
)
"""Possible actuators: field of state and input, parameters with the time constant and the
limits of target and rate."""
_FREE = 1e9
"""Limit that is never reached, in rad, rad/s or N·m."""
SCALES = {"rad": 0.1, "rad/s": 0.1, "N": 1e3, "N·m": 1e3}
"""Scale of a variable by its unit; 1 for others. Solvers regularise all variables alike."""


class Servo(NamedTuple):
    """Actuator that follows its input as a first-order lag within limits."""

    field: str
    """Field of the state, and of the input that is its target."""
    target_max: float
    reach: float
    """Largest distance of the target from the value if there is no rate limit."""
    params: tuple[str, ...]
    """Parameters that hold the limits."""


def servos_of(vehicle: Any) -> tuple[Servo, ...]:
    """Actuators of a vehicle that are lags with hard limits on target and rate."""
    states, inputs = record.names(vehicle.State), record.names(vehicle.Input)
    params = dict(
        zip(record.names(vehicle.model.Params), record.flatten(vehicle.params), strict=True)
    )
    servos: list[Servo] = []
    for field, t_name, max_name, rate_name in _SERVOS:
        names = tuple(name for name in (max_name, rate_name) if name is not None)
        if not vehicle.model.continuous or field not in states or field not in inputs:
            continue
        if not {t_name, *names} <= set(params):
            continue
        t, most = float(params[t_name]), float(params[max_name])
        rate = inf if rate_name is None else float(params[rate_name])
        if most > 0.0 and rate > 0.0 and _is_limited_lag(vehicle, field, t, most, rate):
            servos.append(Servo(field, most, t * rate, names))
    return tuple(servos)


def _is_limited_lag(vehicle: Any, field: str, t: s, most: float, rate: float) -> bool:
    """Whether a field's rate is clip((clip(target, ±most) - value) / t, ±rate).

    In other vehicles, parameters with the same names act differently, or smoothly.
    """
    for value, target in ((0.0, 0.01), (0.1, -0.01), (0.0, 0.9), (-0.2, 5.0), (0.3, -5.0)):
        x = record.build(vehicle.State, {field: value * most})
        u = record.build(vehicle.Input, {field: target * most})
        wanted = np.clip((np.clip(target, -1.0, 1.0) - value) * most / t, -rate, rate)
        if not np.isclose(float(getattr(vehicle.derivative(x, u), field)), wanted, rtol=1e-9):
            return False
    return True


@dataclass(frozen=True)
class Formulation:
    """Checked formulation of the optimal control problem."""

    vehicle: Any
    """Prediction model."""
    dt: s
    horizon: int
    """Number of prediction steps N."""
    Q: Array
    R: Array
    Q_final: Array
    input_bounds: tuple[Array, Array]
    """Lower and upper bounds, (nu,) each; infinite for an input without limits."""
    state_bounds: tuple[Array, Array]
    accelerations: Accelerations | None
    integrator: Integrator
    substeps: int
    """Integrator steps in one dt."""
    servos: tuple[Servo, ...]
    """Actuators whose limits are constraints."""

    @property
    def nx(self) -> int:
        return record.size(self.vehicle.State)

    @property
    def nu(self) -> int:
        return record.size(self.vehicle.Input)

    def path_constraints(self, x: Any, u: Any) -> Iterator[tuple[Any, float, float, float]]:
        """Path constraints of one step, each as expression, lower bound, upper bound and scale."""
        states, inputs = record.names(self.vehicle.State), record.names(self.vehicle.Input)
        for servo in self.servos:
            if servo.reach < inf:
                error = u[inputs.index(servo.field)] - x[states.index(servo.field)]
                yield error, -servo.reach, servo.reach, servo.reach
        if self.accelerations is not None:
            yield _circle(self, x, u), -inf, 1.0, 1.0


def bounds(kind: type, name: str, limited: Mapping[str, Any] | None) -> tuple[Array, Array]:
    """Lower and upper bounds of a record's fields.

    `limited` maps a field to a pair, or to one number for both sides.
    """
    fields = record.names(kind)
    low, high = np.full(len(fields), -inf), np.full(len(fields), inf)
    record.check_names(name, limited or {}, fields)
    for field, limits in (limited or {}).items():
        pair = np.asarray(limits, dtype=float)
        if pair.shape not in ((), (2,)) or np.isnan(pair).any():
            raise InvalidValue(f"{name}[{field!r}] = {limits!r} must be one number or a pair")
        if pair.ndim == 0 and not pair > 0.0:
            raise InvalidValue(
                f"{name}[{field!r}] = {limits!r} is a symmetric limit and must be greater than "
                "0; give a pair for different limits"
            )
        least, most = (-pair, pair) if pair.ndim == 0 else pair
        if not least < most:
            raise InvalidValue(f"{name}[{field!r}]: {least:g} must be less than {most:g}")
        k = fields.index(field)
        low[k], high[k] = least, most
    return low, high


def own_accelerations(vehicle: Any) -> Accelerations:
    """Function for accelerations relative to the vehicle's limits, from its
    `normalised_acceleration`.
    """
    from ..run.linearisation import PAIRS

    outputs, params = record.names(vehicle.model.Outputs), record.names(vehicle.model.Params)
    pair = next((pair for pair in PAIRS if set(pair) <= set(outputs)), None)
    if pair is None or not {"a_long_max", "a_lat_max"} <= set(params):
        raise InvalidValue(
            f"{vehicle.name!r} has no limits a_long_max and a_lat_max, or no accelerations among "
            "its outputs; give accelerations= as a function of x and u"
        )
    limits = vehicle.params.a_long_max, vehicle.params.a_lat_max

    def accelerations(x: Any, u: Any) -> tuple[Any, Any]:
        y = vehicle.outputs(x, u)
        along, across = (getattr(y, name) for name in pair)
        return along * (1.0 / limits[0]), across * (1.0 / limits[1])

    return accelerations


class Limits(NamedTuple):
    """Bounds of the program's variables and constraints."""

    x_low: Array
    x_high: Array
    g_low: Array
    g_high: Array


@dataclass(frozen=True)
class Program:
    """Nonlinear program in the form that CasADi takes."""

    nlp: Mapping[str, Any]
    limits: Limits
    """Bounds in SI units."""
    x_scale: Array
    """Scales of the variables."""
    g_scale: Array
    """Scales of the constraints."""
    equality: tuple[bool, ...]
    """Mask of the equality constraints."""


def program(f: Formulation) -> Program:
    """Build the nonlinear program; its parameters are the start state and the references, by
    column.
    """
    import casadi as ca

    model = prediction_model(f)
    freed = {name: _FREE for servo in f.servos for name in servo.params}
    p = model.parameters(freed)
    x_scale, u_scale = _scales(f.vehicle.State), _scales(f.vehicle.Input)
    input_low, input_high = _within(f.input_bounds, f.servos, record.names(f.vehicle.Input))
    X, U = ca.SX.sym("X", f.nx, f.horizon + 1), ca.SX.sym("U", f.nu, f.horizon)
    start = ca.SX.sym("start", f.nx)
    x_ref = ca.SX.sym("x_ref", f.nx, f.horizon + 1)
    u_ref = ca.SX.sym("u_ref", f.nu, f.horizon)
    variables, lows, highs, scales = [], [], [], []
    constraints: list[tuple[Any, Array, Array, Array]] = []
    cost = 0
    for k in range(f.horizon + 1):
        x = X[:, k] * x_scale
        variables.append(X[:, k])
        scales.append(x_scale)
        # The first state is fixed, so bounds on it could only make the problem infeasible.
        for side, values, none in zip((lows, highs), f.state_bounds, (-inf, inf), strict=True):
            side.append(values if k else np.full(f.nx, none))
        last = k == f.horizon
        cost += _square(x - x_ref[:, k], f.Q_final if last else f.Q)
        if last:
            break
        u = U[:, k] * u_scale
        variables.append(U[:, k])
        scales.append(u_scale)
        lows.append(input_low)
        highs.append(input_high)
        cost += _square(u - u_ref[:, k], f.R)
        zeros = np.zeros(f.nx)
        step = X[:, k + 1] - model.step(x, u, f.dt, p=p) / x_scale
        constraints.append((step, zeros, zeros, x_scale))
        if not k:
            constraints.append((X[:, 0] - start / x_scale, zeros, zeros, x_scale))
        for expression, low, high, scale in f.path_constraints(x, u):
            least, most, size = (np.array([value]) for value in (low, high, scale))
            constraints.append((expression / scale, least, most, size))
    g, g_low, g_high, g_scales = zip(*constraints, strict=True)
    limits = Limits(*(np.concatenate(part) for part in (lows, highs, g_low, g_high)))
    nlp = {
        "x": ca.vertcat(*variables),
        "p": ca.veccat(start, x_ref, u_ref),
        "f": cost,
        "g": ca.vertcat(*g),
    }
    sizes = np.concatenate(scales), np.concatenate(g_scales)
    return Program(nlp, limits, *sizes, tuple((limits.g_low == limits.g_high).tolist()))


def prediction_model(f: Formulation) -> Any:
    """Discrete step of the vehicle as CasADi expressions, with the formulation's sub-steps."""
    model = replace(f.vehicle.model, substeps=f.substeps)
    return Vehicle(model, f.vehicle.params).casadi(f.integrator)


def _scales(kind: type) -> Array:
    return np.array([SCALES.get(leaf.unit.symbol, 1.0) for leaf in record.fields(kind)])


def _within(
    limits: tuple[Array, Array], servos: tuple[Servo, ...], fields: Sequence[str]
) -> tuple[Array, Array]:
    """Input bounds intersected with the limits of the actuators."""
    low, high = (side.copy() for side in limits)
    for servo in servos:
        k = fields.index(servo.field)
        low[k] = max(low[k], -servo.target_max)
        high[k] = min(high[k], servo.target_max)
    return low, high


def _square(e: Any, weight: Array) -> Any:
    return e.T @ weight @ e


def _circle(f: Formulation, x: Any, u: Any) -> Any:
    """Sum of the squares of the normalised accelerations."""
    import casadi as ca

    assert f.accelerations is not None
    state = record.unflatten(f.vehicle.State, ca.vertsplit(x))
    inputs = record.unflatten(f.vehicle.Input, ca.vertsplit(u))
    along, across = f.accelerations(state, inputs)
    return along * along + across * across


def packed(states: Array, inputs: Array) -> Array:
    """Variables of the program from states (N + 1, nx) and inputs (N, nu)."""
    stages = np.hstack([states[:-1], inputs])
    return np.concatenate([stages.ravel(), states[-1]])


def unpacked(values: Array, nx: int, nu: int) -> tuple[Array, Array]:
    """States and inputs from the variables of the program; the inverse of `packed`."""
    stages = values[:-nx].reshape(-1, nx + nu)
    return np.vstack([stages[:, :nx], values[-nx:]]), stages[:, nx:].copy()


def _available(name: str, has: Callable[[str], bool]) -> str:
    if name not in SOLVERS:
        raise InvalidValue(f"solver = {name!r} is unknown; allowed are {', '.join(SOLVERS)}")
    candidates: Sequence[str] = [name, *(other for other in SOLVERS if other != name)]
    chosen = next((candidate for candidate in candidates if has(candidate)), None)
    if chosen is None:
        raise MissingExtra(
            f"this CasADi has none of the solvers {', '.join(SOLVERS)}; install casadi from PyPI"
        )
    if chosen != name:
        warnings.warn(
            f"this CasADi has no solver {name!r}; {chosen!r} takes its place", stacklevel=3
        )
    return chosen


FEASIBLE = 1e-4
"""Largest violation of a constraint, in SI units, up to which a plan is used."""
EARLY = 1e-6
"""Fraction of a step by which a new plan may be computed early."""


@dataclass(frozen=True)
class Plan:
    """Result of a solve."""

    states: Array
    """States (N + 1, nx), the current one first."""
    inputs: Array
    """Inputs, (N, nu)."""
    optimal: bool
    """Whether the solver converged."""
    feasible: bool
    """Whether this is the solver's result and satisfies the constraints.

    If not, it is the previous plan shifted by one step.
    """
    status: str
    """Status reported by the solver."""
    iterations: int
    cost: float
    """Value of the objective."""
    violation: float
    """Largest violation of a constraint by the solver's result, in SI units."""
    seconds: s
    """Wall time of the solve."""

    __repr__ = brief_repr


class Nmpc:
    """Model predictive controller that warm-starts each solve with its last plan.

    Args:
        vehicle: prediction model, such as `commonroad_kinematic_bicycle()`.
        dt: step of the prediction in s.
        horizon: number of steps.
        Q, R: weights of the errors of state and input: by field, as a diagonal, or as a matrix.
        Q_final: weight of the error of the last state; Q if None.
        input_bounds, state_bounds: by field, one number for ± or a pair; state bounds apply from
            the second state on.
        accelerations: function of state and input records that returns longitudinal and lateral
            acceleration over their limits; their squares sum up to 1 at most. True for the
            vehicle's own, over its parameters a_long_max and a_lat_max; None for no constraint.
        solver: "ipopt", "fatrop" or "sqpmethod"; replaced by another one if it is missing.
        max_iterations: largest number of iterations of one solve.
        integrator: integrator of the prediction; "auto" for RK4 where it is stable, else Radau IIA.
        substeps: integrator steps in one dt; those of the vehicle if None.
        options: passed to `casadi.nlpsol`, overriding the defaults set here.
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
        if isinstance(accelerations, bool):
            accelerations = own_accelerations(vehicle) if accelerations else None
        count = vehicle.model.substeps
        if substeps is not None:
            count = whole("substeps", substeps, "at least 1")
        method = choose_integrator(vehicle, integrator, dt, count)
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
            accelerations=accelerations,
            integrator=method,
            substeps=count,
            servos=servos_of(vehicle),
        )
        self._program = problem = program(self.formulation)
        limit = whole("max_iterations", max_iterations, "at least 1")
        # CasADi solver by name, or a replacement if its plug-in is missing.
        import casadi as ca

        chosen = _available(solver, ca.has_nlpsol)
        own: dict[str, dict[str, Any]] = {
            "ipopt": {"ipopt": {"print_level": 0, "sb": "yes", "max_iter": limit}},
            "fatrop": {
                "fatrop": {"print_level": 0, "max_iter": limit},
                "structure_detection": "auto", "equality": list(problem.equality),
            },
            "sqpmethod": {
                "max_iter": limit, "qpsol": "qrqp",
                # Regularising by the least eigenvalue shortens steps so much that 100 iterations do
                # not suffice.
                "convexify_strategy": "eigen-clip", "max_iter_eig": 1000,
                "print_header": False, "print_iteration": False, "print_status": False,
                "qpsol_options": {
                    "print_iter": False, "print_header": False, "error_on_fail": False,
                },
            },
        }  # fmt: skip
        settings = {"print_time": False, "error_on_fail": False, **own[chosen], **(options or {})}
        self._solver = ca.nlpsol("nmpc", chosen, dict(problem.nlp), settings)
        self._step: Callable[..., Any] = prediction_model(self.formulation).step
        self.plan: Plan | None = None
        """Last plan; None before the first solve."""

    @property
    def vehicle(self) -> Any:
        """Prediction model."""
        return self.formulation.vehicle

    @property
    def horizon(self) -> int:
        """Number of steps of the prediction."""
        return self.formulation.horizon

    def forget(self) -> None:
        """Forget the last plan, as before the first solve."""
        self.plan = None

    def solve(
        self, x: Any, x_ref: Any, u_ref: Any = None, *, x_init: Any = None, u_init: Any = None
    ) -> Plan:
        """Solve for a plan from a state on.

        Args:
            x: start state of the prediction model, as record, mapping or array.
            x_ref: reference states, (N + 1, nx).
            u_ref: reference inputs, (N, nu); zero if None.
            x_init, u_init: initial guess of the solver, in the form of the references. If None: the
                last plan shifted by one step, or a straight line from x to the last of x_ref.

        If the solver finds no feasible plan, the last plan shifted by one step is returned, not
        marked `feasible`, with a warning; without a last plan, SkidpadError is raised.
        """
        f = self.formulation
        start = np.array(record.flatten(record.build(f.vehicle.State, x)))
        targets = numbers("x_ref", x_ref, (f.horizon + 1, f.nx))
        inputs = np.zeros((f.horizon, f.nu)) if u_ref is None else u_ref
        inputs = numbers("u_ref", inputs, (f.horizon, f.nu))
        guess = self._guess(start, targets, inputs, x_init, u_init)
        begin = perf_counter()
        problem = self._program
        limits, x_scale, g_scale = problem.limits, problem.x_scale, problem.g_scale
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
        """Solve from x0 and return the first input of the plan, a record; named as in
        commonroad-control.
        """
        return self.first_input(self.solve(x0, x_ref, u_ref))

    def first_input(self, plan: Plan) -> Any:
        """Input of a plan's first step, an Input record of the prediction model."""
        return record.unflatten(self.vehicle.Input, plan.inputs[0].tolist())

    def controller(self, reference: Reference) -> NmpcController:
        """Controller that follows a reference, to be called by `Simulator.run`.

        It computes a new plan every dt of the prediction and holds its first input until the next.
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
        return numbers("x_init", x, targets.shape), numbers("u_init", u, inputs.shape)

    def _moved_on(self, plan: Plan, inputs: Array) -> tuple[Array, Array]:
        """States and inputs of a plan shifted by one step; the last step uses the last reference
        input.
        """
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
        # CasADi translates some of the numbers that FATROP gives as its status.
        status = str(stats["return_status"])
        if status.lstrip("-").isdigit():
            status = str(stats.get("unified_return_status", status))
        feasible = bool(np.isfinite(values).all() and violation <= FEASIBLE)
        # Solvers exceed bounds by their tolerance, which a vehicle may reject.
        return Plan(
            states,
            np.clip(inputs, *f.input_bounds),
            bool(stats["success"]),
            feasible,
            status,
            int(stats.get("iter_count", 0)),
            float(answer["f"]),
            max(violation, 0.0),
            seconds,
        )

    def _instead(self, failed: Plan, start: Array, target_inputs: Array) -> Plan:
        """Replacement for a failed plan: the last plan shifted by one step."""
        said = f"status {failed.status!r}, constraints violated by {failed.violation:.2g}"
        if self.plan is None:
            raise SkidpadError(
                f"the predictive controller found no plan from {start.tolist()}: {said}; there is "
                "no earlier plan to continue"
            )
        warnings.warn(
            f"the predictive controller found no plan ({said}) and goes on with the last one",
            stacklevel=3,
        )
        states, inputs = self._moved_on(self.plan, target_inputs)
        return replace(failed, states=states, inputs=inputs)


class NmpcController:
    """Predictive controller for `Simulator.run`: `controller(t, x)` returns an input.

    `plans` stores the result of every solve.
    """

    __repr__ = brief_repr

    def __init__(self, nmpc: Nmpc, reference: Reference) -> None:
        self.nmpc, self.reference = nmpc, reference
        self.plans: list[Plan] = []
        self._car = car_of(nmpc.vehicle)
        self._began = -inf
        """Time of the last plan in s."""

    def __call__(self, t: s, x: Any) -> Any:
        """Vehicle input for the step that starts at time `t` in state `x` of the driven vehicle."""
        f = self.nmpc.formulation
        if t < self._began:
            self.nmpc.forget()
            self._began = -inf
        # Times of a simulator are sums of steps, so allow for rounding when deciding whether a plan
        # is due.
        if t - self._began >= f.dt * (1.0 - EARLY):
            seen = prediction_state(x, self.nmpc.vehicle.State)
            ahead = self.reference.horizon(t, f.horizon, f.dt)
            targets = self.targets(ahead, seen.yaw)
            self.plans.append(self.nmpc.solve(seen, targets, self._wanted(ahead)))
            self._began = t
        return self.nmpc.first_input(self.plans[-1])

    def targets(self, ahead: Point, yaw: rad) -> Array:
        """Reference states (N + 1, nx) of the prediction model rolling along points of a reference.

        Headings are continuous with `yaw`, as a car may have turned round several times.
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
        """Reference inputs (N, nu) at points of a reference, from its acceleration."""
        return np.outer(np.asarray(ahead.a)[:-1], push(self._car, self.nmpc.vehicle.State))


def prediction_state(x: Any, State: type) -> Any:
    """State of the prediction model from the state of the driven vehicle, matched by field."""
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
                f"the prediction model needs {name!r}, which the vehicle's state lacks; it has "
                f"{', '.join(record.names(type(x)))}"
            )
    return State(**values)
