"""Model predictive path integral control (MPPI) of a Formula Student car with a fleet of rollouts.

At every control step a fleet of copies of the car tries out a thousand noisy variations of the
present plan, and the new plan is their mean, weighted by how well each did: Williams et al.,
"Information theoretic MPC for model-based reinforcement learning", ICRA 2017. Nothing is
differentiated and the cost may be any NumPy expression.

    python examples/mppi.py --out mppi.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import skidpad as sp
from skidpad.view.plots.style import STYLE

Array = NDArray[Any]
X, Y, YAW, V_X, V_Y = range(5)
"""Rows of the state that are used here."""
SHOWN = 160
"""Rollouts that the plot shows at an instant, about."""


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
    speed: float = 22.0
    """Wanted speed, m/s: more than the bends allow."""
    off_line: float = 6.0
    off_lane: float = 200.0
    off_speed: float = 0.3
    sideways: float = 0.5
    hasty: float = 20.0
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

    rollouts: int = 1024
    dt: float = 0.02
    """Step of the rollouts, s."""
    substeps: int = 4
    """Of RK4 within it, with which it is stable from rest on."""
    horizon: int = 60
    """Steps of a rollout."""
    held: int = 2
    """Steps between two plans; the control period is held * dt."""
    knots: int = 10
    """Points of the horizon at which noise is drawn; it is linear between them."""
    spread: tuple[float, float] = (0.15, 0.30)
    """Standard deviation of steering and torque as shares of their limits."""
    temperature: float = 1.0
    """How much worse a rollout may be and still count: weights fall by e per this much cost."""
    seed: int = 1


class Mppi:
    """The controller: `plan(state)` gives inputs (steps, 2) for the coming horizon.

    Inputs are steering and one torque for all wheels, as shares of their limits.
    """

    def __init__(self, car: Any, cost: Callable[[Array, Array], Array], s: Settings) -> None:
        self.fleet = sp.Fleet(
            car,
            dt=s.dt,
            precision="float32",
            on_diverge="mask",
            substeps=s.substeps,
        )
        self.cost, self.settings = cost, s
        # The motors brake, too: the brakes have a share of 0.
        limits = [car.params.steer_max, *[car.params.tau_max] * 4, *[0.0] * 4]
        self.limits = np.array(limits, np.float32)
        self.random = np.random.default_rng(s.seed)
        at = np.linspace(0, s.horizon - 1, s.knots)
        hats = [np.interp(np.arange(s.horizon), at, knot) for knot in np.eye(s.knots)]
        self.hats = np.array(hats, np.float32).T
        self.nominal = np.zeros((s.horizon, 2), np.float32)
        self.controls = np.empty((s.horizon, 9, s.rollouts), np.float32)
        self.states = self.weights = np.empty(0)
        self.fleet.rollout(car.State(), steps=2)  # compiles, so that the first plan takes no longer

    def plan(self, state: Any) -> Array:
        """The plan from this state on: the previous one, moved on in time and improved."""
        sampled = self._sampled()
        self.controls[:, :1] = sampled[:, :1]
        self.controls[:, 1:] = sampled[:, 1:]
        self.controls *= self.limits[:, None]
        self.states = self.fleet.rollout(state, self.controls, layout="soa", every=2)
        costs = np.nan_to_num(self.cost(self.states, sampled), nan=np.inf)
        weights = np.exp((costs.min() - costs) / self.settings.temperature)
        self.weights = weights / weights.sum()
        plan = np.einsum("tik,k->ti", sampled, self.weights)
        held = self.settings.held
        self.nominal = np.concatenate([plan[held:], np.repeat(plan[-1:], held, axis=0)])
        return plan

    def _sampled(self) -> Array:
        """Variations of the plan (steps, 2, K); the first is the plan itself."""
        s = self.settings
        drawn = self.random.standard_normal((s.knots, 2 * s.rollouts), np.float32)
        # Not `@`: the threads of a BLAS would fight those of the fleet over the processors.
        noise = np.einsum("tk,kn->tn", self.hats, drawn).reshape(s.horizon, 2, s.rollouts)
        noise *= np.array(s.spread, np.float32)[:, None]
        noise[:, :, 0] = 0.0
        return np.clip(self.nominal[:, :, None] + noise, -1.0, 1.0)


class Glimpse(NamedTuple):
    """What the controller saw at one instant: some of its rollouts (samples, nx, n)."""

    time: float
    states: Array
    weights: Array
    """Relative to the largest."""


class Driver:
    """Drives by the latest plan and makes a new one every `held` steps; for `Simulator.run`."""

    def __init__(self, mppi: Mppi, glimpses: Sequence[float] = ()) -> None:
        self.mppi, self.wanted = mppi, list(glimpses)
        self.rows: list[Array] = []
        self.seconds: list[float] = []
        self.glimpses: list[Glimpse] = []

    def __call__(self, t: float, x: Any) -> Array:
        """The inputs (9,) for the coming step."""
        if not self.rows:
            begin = perf_counter()
            plan = self.mppi.plan(x)
            self.seconds.append(perf_counter() - begin)
            held = plan[: self.mppi.settings.held, [0, *[1] * 8]]
            self.rows = list(held * self.mppi.limits)
            self._look(t)
        return self.rows.pop(0)

    def _look(self, t: float) -> None:
        if self.wanted and t >= self.wanted[0]:
            self.wanted.pop(0)
            order = np.argsort(-self.mppi.weights)
            some = order[:: max(1, len(order) // SHOWN)]
            weights = self.mppi.weights[some] / self.mppi.weights.max()
            self.glimpses.append(Glimpse(t, self.mppi.states[:, :, some].copy(), weights))


class Drive(NamedTuple):
    """What happened, what was seen on the way, and how long each plan took in s."""

    trajectory: sp.Trajectory
    glimpses: list[Glimpse]
    seconds: Array


def drive(task: Task, settings: Settings, duration: float, glimpses: Sequence[float] = ()) -> Drive:
    """The car from standstill on the line, a new plan in every control period."""
    car = sp.vehicles.formula_student()
    mppi = Mppi(car, lambda states, inputs: cost_of(task, states, inputs), settings)
    driver = Driver(mppi, glimpses)
    sim = sp.Simulator(car, dt=settings.dt, integrator="radau")
    sim.reset(x=task.circuit.radius * (1.0 + task.circuit.bulge), yaw=0.5 * np.pi)
    return Drive(sim.run(driver, duration=duration), driver.glimpses, np.array(driver.seconds))


def report(task: Task, settings: Settings, run: Drive) -> str:
    """The figures of a drive."""
    path = run.trajectory
    off = np.abs(beside(task.circuit, path["x"], path["y"]))
    laps = np.unwrap(np.arctan2(path["y"], path["x"]))[-1] / (2.0 * np.pi)
    each = float(np.median(run.seconds))
    period = settings.held * settings.dt
    return "\n".join(
        [
            f"driven            {laps:.2f} laps in {path.duration:.1f} s, "
            f"top speed {path['v_x'].max():.1f} m/s, {np.abs(path['a_y']).max() / 9.81:.2f} g",
            f"beside the line   {off.mean():.2f} m on average, {off.max():.2f} m at most",
            f"plans             {1.0 / each:.0f} per second, {1.0 / period:.0f} needed; each from "
            f"{settings.rollouts} rollouts of {settings.horizon * settings.dt:.1f} s",
            f"rollouts          {settings.rollouts / each:,.0f} per second, "
            f"{settings.rollouts * settings.horizon / each / 1e6:.1f} million steps per second",
        ]
    )


def figure(task: Task, settings: Settings, run: Drive) -> Any:
    """The circuit with the path and the glimpses, and the drive over time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        fig = Figure(figsize=(13.0, 7.4), layout="constrained")
        grid = fig.add_gridspec(4, 2, width_ratios=(1.45, 1.0))
        draw_circuit(fig.add_subplot(grid[:, 0]), task, run)
        draw_signals([fig.add_subplot(grid[k, 1]) for k in range(4)], task, run)
        fig.suptitle(
            f"MPPI: {settings.rollouts} rollouts of {settings.horizon * settings.dt:.1f} s behind "
            f"every input of a Formula Student car",
            x=0.01,
            ha="left",
            fontweight="bold",
        )
    return fig


def draw_circuit(axes: Any, task: Task, run: Drive) -> None:
    """Lane, line, path coloured by speed, and fans of rollouts shaded by weight."""
    from matplotlib.collections import LineCollection

    theta = np.linspace(0.0, 2.0 * np.pi, 721)
    half = 0.5 * task.circuit.lane
    inner, outer = (centre_line(task.circuit, theta, side) for side in (-half, half))
    axes.fill(*np.hstack([outer, np.flip(inner, axis=1)]), color="#EFEFEF", lw=0.0)
    for edge in (inner, outer):
        axes.plot(*edge, color="#BBBBBB", lw=0.8)
    axes.plot(*centre_line(task.circuit, theta), color="#888888", lw=0.8, ls=(0, (6, 4)))
    path = run.trajectory
    points = np.column_stack([path["x"], path["y"]])
    line = LineCollection(np.stack([points[:-1], points[1:]], 1), cmap="viridis", lw=2.6, zorder=3)
    line.set_array(path["v_x"])
    line.set_clim(0.5 * task.speed, task.speed)
    axes.add_collection(line)
    axes.figure.colorbar(
        line, ax=axes, fraction=0.03, pad=0.01, aspect=40, label="speed [m/s]", extend="min"
    )
    for glimpse in run.glimpses:
        draw_glimpse(axes, glimpse)
    axes.set_aspect("equal")
    axes.set_title("Path, and what the controller had in mind at some instants [m]")


def draw_glimpse(axes: Any, glimpse: Glimpse) -> None:
    """Rollouts as thin lines, the better the darker, and the car."""
    from matplotlib.collections import LineCollection

    order = np.argsort(glimpse.weights)
    lines = np.moveaxis(glimpse.states[:, :2, order], (0, 1, 2), (1, 2, 0))
    strength = np.clip(0.12 + 0.8 * glimpse.weights[order], 0.0, 1.0)
    colours = np.column_stack([np.tile([0.835, 0.369, 0.0], (len(order), 1)), strength])
    axes.add_collection(LineCollection(lines, colors=colours, lw=0.6, zorder=4))
    x, y, yaw = glimpse.states[0, :3, 0]
    body = np.array([[1.2, 0.7], [-1.2, 0.7], [-1.2, -0.7], [1.2, -0.7]])
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    axes.fill(*(body @ turn + [x, y]).T, color="#222222", lw=0.0, zorder=5)


def draw_signals(panels: Any, task: Task, run: Drive) -> None:
    """Speed, steering, distance from the line and accelerations over time."""
    path = run.trajectory
    speed, steer, off, grip = panels
    speed.axhline(task.speed, color="#888888", lw=0.8, ls=(0, (6, 4)))
    speed.plot(path.t, path["v_x"], color="#0072B2")
    speed.set_title("Speed [m/s], dashed: wanted")
    steer.step(
        path.t, np.rad2deg(path["u_steer"]), where="post", color="#D55E00", lw=0.7, alpha=0.6
    )
    steer.plot(path.t, np.rad2deg(path["steer"]), color="#0072B2")
    steer.set_title("Steering angle [°], thin: target")
    half = 0.5 * task.circuit.lane
    off.axhspan(-half, half, color="#EFEFEF", lw=0.0)
    off.plot(path.t, -beside(task.circuit, path["x"], path["y"]), color="#0072B2")
    off.set_title("Distance to the left of the line [m], grey: lane")
    grip.plot(path.t, path["a_x"] / 9.81, color="#D55E00", lw=0.7)
    grip.plot(path.t, path["a_y"] / 9.81, color="#0072B2")
    grip.set_title("Acceleration across [g], thin: along")
    grip.set_xlabel("t [s]")
    for panel in panels:
        panel.set_xlim(0.0, path.t[-1])
        for glimpse in run.glimpses:
            panel.axvline(glimpse.time, color="#D55E00", lw=0.6, alpha=0.5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Drive, print the figures and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=14.0, help="s")
    parser.add_argument("--rollouts", type=int, default=Settings().rollouts)
    parser.add_argument("--seed", type=int, default=Settings().seed)
    parser.add_argument("--out", default="mppi.png")
    options = parser.parse_args(arguments)
    task, settings = Task(), Settings(rollouts=options.rollouts, seed=options.seed)
    instants = options.duration * np.array([0.02, 0.17, 0.33, 0.50, 0.66])
    run = drive(task, settings, options.duration, instants)
    print(report(task, settings, run))
    figure(task, settings, run).savefig(options.out, dpi=150)
    print(f"plot              {options.out}")


if __name__ == "__main__":
    main()
