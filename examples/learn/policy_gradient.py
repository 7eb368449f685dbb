"""A network learns to drive a wavy line by the exact gradient of what its drives cost.

A small network (6 inputs, 16 hidden, 2 outputs) steers and drives the four-wheel car. Vehicle and
network are compiled into one kernel; its adjoint goes back over every step of every drive and says
how the cost changes with each of the 146 weights. Adam follows that, and nothing else: there is no
value function, no noise to explore with, no model that was fitted. Each drive begins at another
place, off the line and at another speed; drives that no step was taken on are the measure.

    python examples/learn/policy_gradient.py --out policy_gradient.png
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import skidpad as sp
from skidpad.control import Reference, stanley
from skidpad.control.networks import Network, network_policy
from skidpad.ops import atan, cos, sin
from skidpad.view.plots.style import BLUE, COLOURS, GREY, INK, ORANGE, STYLE

Array = NDArray[np.float64]

CAR = sp.vehicles.four_wheel(t_tau=0.02)
"""The torque follows its command within 20 ms, so that a step may be 5 ms."""
DT = 0.005
"""Step and time between two commands, s."""
DURATION = 4.0
"""Of a drive, s."""
SPEED = 12.0
"""To hold, m/s."""
HEIGHT, LENGTH = 3.0, 45.0
"""Of the waves of the line, m. In their bends 12 m/s is 0.86 g."""
WAVE = 2.0 * np.pi / LENGTH

DRIVES = 64
"""For each gradient."""
RATE = 0.02
"""Of Adam, at the start; it falls to a tenth."""
GROWTH = 60
"""Iterations in which drives grow from a quarter to their whole length: a network that knows
nothing yet ends in a spin, and there derivatives are huge and say little."""
LARGEST_NORM = 20.0
"""To which the gradient of a single drive is cut, for the same reason."""


def line(x: Any) -> tuple[Any, Any]:
    """Where the line is at x, and its heading; for numbers, arrays and symbols."""
    return HEIGHT * sin(WAVE * x), atan(HEIGHT * WAVE * cos(WAVE * x))


def observe(x: Any) -> tuple[Any, ...]:
    """What the network sees: the car beside the line, its motion, and the line in half a second."""
    y, heading = line(x.x)
    _, ahead = line(x.x + 0.5 * x.v_x)
    return (
        0.5 * (x.y - y),
        2.0 * (x.yaw - heading),
        0.2 * (x.v_x - SPEED),
        0.5 * x.v_y,
        0.5 * x.omega,
        2.0 * (ahead - x.yaw),
    )


def act(outputs: tuple[Any, ...], x: Any) -> Any:
    """What its two outputs mean: up to 0.4 rad of steering, 6 m/s² ahead or back."""
    demand = sp.Demand(steer=0.4 * outputs[0], a=6.0 * outputs[1])
    return CAR.body.command(x, demand, CAR.params)


def stage(x: Any, u: Any) -> Any:
    """What a step costs: to be off the line, askew or at another speed, and to steer."""
    y, heading = line(x.x)
    off, askew = x.y - y, x.yaw - heading
    return DT * (off**2 + askew**2 + 0.1 * (x.v_x - SPEED) ** 2 + 2.0 * u.steer**2)


COST = sp.Cost(stage=stage)


def starts(count: int, rng: np.random.Generator) -> Array:
    """States beside the line, askew and at other speeds, (count, nx)."""
    states = np.zeros((count, len(CAR.State._fields)))
    states[:, 0] = rng.uniform(0.0, LENGTH, count)
    y, heading = line(states[:, 0])
    states[:, 1] = y + rng.uniform(-2.0, 2.0, count)
    states[:, 2] = heading + rng.uniform(-0.3, 0.3, count)
    states[:, 3] = rng.uniform(8.0, 14.0, count)
    return states


HELD_OUT = starts(256, np.random.default_rng(10_000))
"""Starts that no step of the training sees."""


def new_network(seed: int) -> Network:
    """Random weights; the last layer's are small, so that the car begins by rolling straight on."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(16, 6)) / np.sqrt(6.0), 0.1 * rng.normal(size=(2, 16)) / 4.0]
    return Network.mlp(weights, [np.zeros(16), np.zeros(2)], "tanh", final="tanh")


class Adam:
    """Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1."""

    def __init__(self, size: int, beta_1: float = 0.9, beta_2: float = 0.99) -> None:
        self.mean, self.square, self.count = np.zeros(size), np.zeros(size), 0
        self.beta_1, self.beta_2 = beta_1, beta_2

    def step(self, gradient: Array, rate: float) -> Array:
        """What to add to the weights."""
        self.count += 1
        self.mean += (1.0 - self.beta_1) * (gradient - self.mean)
        self.square += (1.0 - self.beta_2) * (gradient**2 - self.square)
        mean = self.mean / (1.0 - self.beta_1**self.count)
        square = self.square / (1.0 - self.beta_2**self.count)
        return -rate * mean / (np.sqrt(square) + 1e-8)


class Loop:
    """Car and network as one fleet, and its weights among all parameters."""

    def __init__(self) -> None:
        policy = network_policy(new_network(0), observe, act, trainable=True, name="learner")
        self.fleet = sp.Fleet(CAR, DT, "rk4").closed_loop(policy)
        self.params = np.array([sp.core.record.flatten(self.fleet.plant.params)])
        self.weights = np.s_[-new_network(0).weights.size :]

    def with_weights(self, weights: Array) -> Array:
        """Parameters (1, np) with these weights."""
        params = self.params.copy()
        params[0, self.weights] = weights
        return params

    def cost(self, weights: Array) -> float:
        """Mean over the drives that are held out."""
        values, _ = self.fleet.gradient(
            HELD_OUT, None, COST, steps=steps(), params=self.with_weights(weights), wrt=()
        )
        return float(values.mean())

    def gradient(self, weights: Array, x0: Array, count: int) -> Array:
        """Mean over drives of so many steps, each cut where it is too large."""
        _, gradient = self.fleet.gradient(
            x0, None, COST, steps=count, params=self.with_weights(weights), wrt="params"
        )
        own = gradient.params[:, self.weights]
        norms = np.linalg.norm(own, axis=1, keepdims=True)
        return (own * np.minimum(1.0, LARGEST_NORM / np.maximum(norms, 1e-12))).mean(axis=0)


class Learned(NamedTuple):
    """One training."""

    seed: int
    iterations: list[int]
    """After which the cost was taken."""
    costs: list[float]
    """Mean over the drives that are held out."""
    seconds: float
    weights: Array


def steps(share: float = 1.0) -> int:
    """Of a drive, or of the first part of it."""
    return round(share * DURATION / DT)


def train(loop: Loop, seed: int, iterations: int, *, every: int = 5) -> Learned:
    """Train a network that knows nothing."""
    rng = np.random.default_rng([seed, 1])
    weights = new_network(seed).weights
    adam, begun = Adam(weights.size), time.perf_counter()
    at, costs = [0], [loop.cost(weights)]
    for k in range(iterations):
        count = steps(min(1.0, 0.25 + 0.75 * k / GROWTH))
        gradient = loop.gradient(weights, starts(DRIVES, rng), count)
        rate = RATE * 0.1 ** (k / max(iterations - 1, 1))
        weights = weights + adam.step(gradient, rate)
        if (k + 1) % every == 0 or k == iterations - 1:
            at.append(k + 1)
            costs.append(loop.cost(weights))
            if (k + 1) % (4 * every) == 0:
                print(f"seed {seed}, iteration {k + 1:3d}: cost {costs[-1]:.3f}", flush=True)
    return Learned(seed, at, costs, time.perf_counter() - begun, weights)


def cost_of_stanley() -> float:
    """Of the same drives by Stanley's law with its usual gains, to compare."""
    x = np.linspace(-10.0, 140.0, 301)
    path = Reference.along(np.column_stack([x, line(x)[0]]), SPEED)
    fleet = sp.Fleet(CAR, DT, "rk4").closed_loop(stanley.policy(CAR, path))
    nothing = sp.core.record.flatten(sp.core.record.build(fleet.plant.State))[HELD_OUT.shape[1] :]
    x0 = np.concatenate([HELD_OUT, np.tile(nothing, (len(HELD_OUT), 1))], axis=1)
    values, _ = fleet.gradient(x0, None, COST, steps=steps(), wrt=())
    return float(values.mean())


def figure(loop: Loop, runs: Sequence[Learned], stanley_cost: float) -> Any:
    """Learning curves, and the same drives before and after."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        chart, (curve, before, after) = plt.subplots(
            1, 3, figsize=(10.0, 3.0), width_ratios=[1.2, 1, 1], layout="constrained"
        )
        for run, colour in zip(runs, (BLUE, *COLOURS[2:]), strict=False):
            curve.plot(run.iterations, run.costs, color=colour, label=f"seed {run.seed}")
        curve.axhline(stanley_cost, color=GREY, ls="--", label="Stanley's law")
        curve.set(yscale="log", xlabel="iteration", title="Mean cost of 256 drives held out")
        curve.legend()
        first, last = new_network(runs[0].seed).weights, runs[0].weights
        trained = f"After {runs[0].iterations[-1]} iterations"
        for axes, weights, title in ((before, first, "Before"), (after, last, trained)):
            params = loop.with_weights(weights)
            states = loop.fleet.rollout(HELD_OUT[:12], steps=steps(), params=params, every=10)
            x = np.linspace(-5.0, 110.0, 400)
            axes.plot(x, line(x)[0], color=INK, lw=1.0, ls="--")
            axes.plot(states[..., 0], states[..., 1], color=ORANGE, lw=0.9)
            axes.plot(states[0, :, 0], states[0, :, 1], ".", color=ORANGE, ms=5.0)
            axes.set(xlim=(-5.0, 110.0), ylim=(-12.0, 12.0), xlabel="x [m]", ylabel="y [m]")
            axes.set_title(title)
    return chart


def numbers(runs: Sequence[Learned], stanley_cost: float) -> dict[str, Any]:
    """What the picture shows."""
    curves = [
        {"seed": r.seed, "seconds": round(r.seconds, 1), "iterations": r.iterations,
         "costs": [round(c, 4) for c in r.costs]}
        for r in runs
    ]  # fmt: skip
    return {"weights": len(runs[0].weights), "stanley": round(stanley_cost, 4), "runs": curves}


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from several seeds, print the costs and write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--out", default="policy_gradient.png")
    parser.add_argument("--numbers", type=Path, help="a JSON file for the curves")
    options = parser.parse_args(arguments)
    loop, stanley_cost = Loop(), cost_of_stanley()
    runs = [train(loop, seed, options.iterations) for seed in options.seeds]
    for run in runs:
        print(
            f"seed {run.seed}: cost {run.costs[0]:.2f} before, {run.costs[-1]:.3f} after "
            f"{run.seconds:.0f} s; Stanley's law {stanley_cost:.3f}"
        )
    figure(loop, runs, stanley_cost).savefig(options.out, dpi=150)
    if options.numbers:
        text = json.dumps(numbers(runs, stanley_cost), indent=1)
        options.numbers.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
