"""Model predictive path integral control (MPPI) of a Formula Student car with a fleet of rollouts.

At every control step a fleet of copies of the car tries out thousands of noisy variations of the
present plan, and the new plan is their mean, weighted by how well each did: Williams et al.,
"Information theoretic MPC for model-based reinforcement learning", ICRA 2017. Nothing is
differentiated and the cost may be any NumPy expression.

    python examples/mppi.py --out mppi.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import skidpad as sp

Array = NDArray[Any]
X, Y, YAW, V_X, V_Y = range(5)
"""Rows of the state that are used here."""


class Circuit(NamedTuple):
    """A closed line around the origin, r(θ) = radius (1 + bulge cos 3θ), driven to the left."""

    radius: float = 32.0
    bulge: float = 0.2
    lane: float = 4.0
    """Width of the lane around the line, m."""


def centre_line(circuit: Circuit, theta: Array, offset: float = 0.0) -> tuple[Array, Array]:
    """Points of the line at polar angles θ, or of its parallel at an offset to the outside."""
    r = circuit.radius * (1.0 + circuit.bulge * np.cos(3.0 * theta))
    slope = -3.0 * circuit.radius * circuit.bulge * np.sin(3.0 * theta)
    away = offset / np.hypot(r, slope)
    c, s = np.cos(theta), np.sin(theta)
    return r * c + away * (r * c + slope * s), r * s + away * (r * s - slope * c)


def beside(circuit: Circuit, x: Array, y: Array) -> Array:
    """Distance from the line in m, positive to the outside; to first order in that distance."""
    r = np.sqrt(x * x + y * y)
    c, s = x / r, y / r
    # cos 3θ and sin 3θ by the triple-angle formulas: no inverse tangent for 100 000 points.
    line = circuit.radius * (1.0 + circuit.bulge * (4.0 * c * c * c - 3.0 * c))
    slope = 3.0 * circuit.radius * circuit.bulge * (3.0 * s - 4.0 * s * s * s)
    return (r - line) * line / np.sqrt(line * line + slope * slope)


class Task(NamedTuple):
    """What the driver is asked for: weights of a mean over the horizon."""

    circuit: Circuit = Circuit()
    speed: float = 17.0
    """Wanted speed, m/s: more than the bends allow."""
    off_line: float = 2.0
    off_lane: float = 200.0
    off_speed: float = 0.3
    sideways: float = 0.5
    hasty: float = 4.0
    """For the change of the inputs from step to step, as shares of their limits."""


def cost_of(task: Task, states: Array, inputs: Array) -> Array:
    """Cost of each rollout (K,) from states (samples, nx, K) and inputs (steps, 2, K)."""
    beyond = np.abs(beside(task.circuit, states[:, X], states[:, Y]))
    outside = np.maximum(beyond - 0.5 * task.circuit.lane, 0.0)
    slower = states[:, V_X] - task.speed
    stage = task.off_line * beyond**2 + task.off_lane * outside**2
    stage += task.off_speed * slower**2 + task.sideways * states[:, V_Y] ** 2
    change = np.diff(inputs, axis=0)
    return stage.mean(axis=0) + task.hasty * len(change) * (change**2).sum(axis=1).mean(axis=0)


class Settings(NamedTuple):
    """How MPPI samples."""

    rollouts: int = 2048
    dt: float = 0.02
    """Step of the rollouts, s."""
    horizon: int = 60
    """Steps of a rollout."""
    held: int = 2
    """Steps between two plans; the control period is held * dt."""
    knots: int = 10
    """Points of the horizon at which noise is drawn; it is linear between them."""
    spread: tuple[float, float] = (0.25, 0.30)
    """Standard deviation of steering and torque as shares of their limits."""
    temperature: float = 0.5
    """How much worse a rollout may be and still count: weights fall by e per this much cost."""
    seed: int = 1


class Mppi:
    """The controller: `plan(state)` gives the inputs (steps, 2) for the coming horizon.

    Inputs are steering and one torque for all wheels, as shares of their limits.
    """

    def __init__(self, car: Any, cost: Callable[[Array, Array], Array], s: Settings) -> None:
        # The motors' lag of 1 ms would force steps of 2 ms on RK4. The rollouts' car has one of
        # 20 ms, the same as its steering: nothing that lasts as long as a bend notices.
        self.fleet = sp.Fleet(
            car.with_params(t_tau=s.dt), dt=s.dt, precision="float32", on_diverge="mask"
        )
        self.cost, self.settings = cost, s
        p = car.params
        self.limits = np.array([p.steer_max, *[p.tau_max] * 4], np.float32)
        self.noise = np.random.default_rng(s.seed)
        ends = np.linspace(0, s.horizon - 1, s.knots)
        self.hats = np.array([np.interp(np.arange(s.horizon), ends, k) for k in np.eye(s.knots)]).T
        self.nominal = np.zeros((s.horizon, 2), np.float32)
        self.controls = np.empty((s.horizon, 5, s.rollouts), np.float32)
        self.states = np.empty(0)
        self.weights = np.empty(0)

    def plan(self, state: Any) -> Array:
        """The plan from this state on; the previous plan, moved on in time, is improved."""
        sampled = self._sampled()
        self.controls[:, 0] = sampled[:, 0]
        self.controls[:, 1:] = sampled[:, 1:]
        self.controls *= self.limits[:, None]
        self.states = self.fleet.rollout(state, self.controls, layout="soa", every=2)
        costs = self.cost(self.states, sampled)
        costs = np.where(np.isfinite(costs), costs, np.inf)
        weights = np.exp((costs.min() - costs) / self.settings.temperature)
        self.weights = weights / weights.sum()
        plan = sampled @ self.weights
        held = self.settings.held
        self.nominal = np.concatenate([plan[held:], np.repeat(plan[-1:], held, axis=0)])
        return plan

    def _sampled(self) -> Array:
        s = self.settings
        drawn = self.noise.standard_normal((s.knots, 2 * s.rollouts), np.float32)
        noise = (self.hats.astype(np.float32) @ drawn).reshape(s.horizon, 2, s.rollouts)
        noise *= np.array(s.spread, np.float32)[:, None]
        noise[:, :, 0] = 0.0  # the plan itself takes part
        return np.clip(self.nominal[:, :, None] + noise, -1.0, 1.0)

    def inputs(self, plan: Array) -> Array:
        """The next inputs of the car, (held, 5)."""
        first = plan[: self.settings.held]
        return np.concatenate([first[:, :1], np.repeat(first[:, 1:], 4, axis=1)], 1) * self.limits


class Glimpse(NamedTuple):
    """What the controller thought at one instant."""

    states: Array
    weights: Array


class Drive(NamedTuple):
    """A drive: what happened, what was thought on the way and how long thinking took."""

    trajectory: Any
    glimpses: list[Glimpse]
    seconds: Array
    """Time each plan took."""


def drive(task: Task, settings: Settings, duration: float, glimpses: int = 6) -> Drive:
    """The car from standstill on the line, planned for every control period."""
    car = sp.vehicles.formula_student()
    mppi = Mppi(car, lambda states, inputs: cost_of(task, states, inputs), settings)
    sim = sp.Simulator(car, dt=settings.dt, integrator="radau")
    x, y = centre_line(task.circuit, np.zeros(1))
    sim.reset(x=x[0], y=y[0], yaw=0.5 * np.pi)
    count = round(duration / (settings.dt * settings.held))
    shown = set(np.linspace(0, count, glimpses, endpoint=False, dtype=int) + count // (2 * glimpses))
    seen, seconds, parts = [], [], []
    for k in range(count):
        begin = perf_counter()
        inputs = mppi.inputs(mppi.plan(sim.state))
        seconds.append(perf_counter() - begin)
        if k in shown:
            seen.append(Glimpse(mppi.states[:, :, ::16].copy(), mppi.weights[::16].copy()))
        parts.append(sim.run(inputs))
    return Drive(joined(parts), seen, np.array(seconds))
