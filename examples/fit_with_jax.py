"""Tyre stiffness and yaw inertia from a recorded slalom: gradient descent with `vehicle.jax()`.

A car with worn tyres and a lighter body drives a slalom; its yaw rate and lateral velocity are
recorded with noise. The gradient of the misfit comes from JAX, through every step of the
simulation, and Adam (Kingma and Ba, ICLR 2015) walks from the catalogue values to the true ones.

    python examples/fit_with_jax.py --out fit.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import skidpad as sp
from skidpad.view.plots.style import STYLE

Array = NDArray[np.float64]
DT = 0.002
"""Step in s, for the recording and for the fit; the motors' lag of 1 ms allows no more with RK4."""
MEASURED = {"v_y": 0.02, "omega": 0.02}
"""What is recorded, and the standard deviation of its noise in m/s and rad/s."""
TRUE = {"tyre.B": 11.0, "I_z": 160.0}
"""What the fit is to find."""


def slalom(duration: float) -> Array:
    """Inputs (T, 5): a slalom that gets quicker, at a torque that about holds the speed."""
    t = DT * np.arange(round(duration / DT))
    steer = 0.07 * np.sin(2.0 * np.pi * (0.5 + 0.25 * t) * t)
    return np.column_stack([steer, *[np.full_like(t, 54.0)] * 4])


def recording(inputs: Array, seed: int = 1) -> tuple[Array, Array]:
    """Start state (11,) and noisy measurements (T, 2) of the car with the true parameters."""
    sim = sp.Simulator(sp.vehicles.four_wheel(TRUE), dt=DT, integrator="rk4")
    sim.reset(v_x=14.0)
    run = sim.run(inputs)
    clean = np.column_stack([run[name][1:] for name in MEASURED])
    noise = np.random.default_rng(seed).standard_normal(clean.shape)
    return run.states[0], clean + noise * np.array(list(MEASURED.values()))


class Problem(NamedTuple):
    """The misfit as a function of the logarithms of the parameters over their catalogue values."""

    simulated: Callable[[Any], Any]
    """Measurements (T, 2) that these parameters would give."""
    misfit: Callable[[Any], Any]
    """Mean square of what is left, in units of the noise: 1 at the truth."""
    values: Callable[[Any], Any]
    """The parameters themselves."""


def problem(x0: Array, inputs: Array, measured: Array) -> Problem:
    """Simulation and misfit, as JAX functions."""
    model = sp.vehicles.four_wheel().jax(integrator="rk4")
    start = jnp.array([model.p_values[model.p_names.index(name)] for name in TRUE])
    columns = jnp.array([model.x_names.index(name) for name in MEASURED])
    noise = jnp.array(list(MEASURED.values()))

    def values(log_ratio: Any) -> Any:
        return start * jnp.exp(log_ratio)

    @jax.jit
    def simulated(log_ratio: Any) -> Any:
        p = model.parameters(dict(zip(TRUE, values(log_ratio), strict=True)))

        def step(x: Any, u: Any) -> tuple[Any, Any]:
            after = model.step(x, u, DT, p=p)
            return after, after[columns]

        return jax.lax.scan(step, jnp.asarray(x0), jnp.asarray(inputs))[1]

    def misfit(log_ratio: Any) -> Any:
        return jnp.mean(((simulated(log_ratio) - measured) / noise) ** 2)

    return Problem(simulated, misfit, values)


class Fit(NamedTuple):
    """The way of the descent: parameters (n, 2) and misfit (n,)."""

    values: Array
    misfit: Array


def descend(fitted: Problem, iterations: int = 60, rate: float = 0.04) -> Fit:
    """Adam with its usual constants and a rate that falls to a tenth on the way."""
    # Forward mode: with two parameters it costs about three simulations and stores nothing.
    # With many parameters take jax.value_and_grad instead.
    gradient = jax.jit(jax.jacfwd(lambda at: (fitted.misfit(at),) * 2, has_aux=True))
    at, mean, square = (np.zeros(len(TRUE)) for _ in range(3))
    way, misfits = [], []
    for k in range(1, iterations + 1):
        slope, misfit = (np.asarray(each, dtype=float) for each in gradient(at))
        way.append(np.asarray(fitted.values(at)))
        misfits.append(float(misfit))
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        scaled = mean / (1.0 - 0.9**k) / np.sqrt(square / (1.0 - 0.999**k))
        at = at - rate * 0.1 ** (k / iterations) * scaled
    return Fit(np.array(way), np.array(misfits))


def figure(fitted: Problem, fit: Fit, measured: Array) -> Any:
    """Recording and simulation before and after, and the way of the descent."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        fig = Figure(figsize=(12.0, 5.2), layout="constrained")
        left, right = fig.add_gridspec(1, 2, width_ratios=(1.5, 1.0))
        draw_runs(left.subgridspec(2, 1).subplots(sharex=True), fitted, fit, measured)
        draw_descent(right.subgridspec(2, 1).subplots(sharex=True), fit)
    return fig


def draw_runs(panels: Any, fitted: Problem, fit: Fit, measured: Array) -> None:
    """What was measured, and what catalogue and fitted parameters make of the same inputs."""
    t = DT * np.arange(1, len(measured) + 1)
    ratios = np.log(fit.values / fit.values[0])
    before, after = (np.asarray(fitted.simulated(ratio)) for ratio in ratios[[0, -1]])
    titles = ("Lateral velocity [m/s]", "Yaw rate [rad/s]")
    for k, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        axes.plot(t, measured[:, k], ".", ms=1.5, color="#BBBBBB", label="recorded")
        axes.plot(t, before[:, k], color="#D55E00", ls=(0, (3, 1.6)), label="catalogue values")
        axes.plot(t, after[:, k], color="#0072B2", label="fitted")
        axes.set_title(title)
    panels[0].legend(ncols=3, loc="lower left", markerscale=5.0)
    panels[1].set_xlabel("t [s]")


def draw_descent(panels: Any, fit: Fit) -> None:
    """Parameters over their true values, and the misfit, by iteration."""
    ways = fit.values / np.array(list(TRUE.values()))
    for way, name, colour in zip(ways.T, TRUE, ("#0072B2", "#009E73"), strict=True):
        panels[0].plot(way, color=colour, label=name)
    panels[0].axhspan(0.99, 1.01, color="#E8E8E8", lw=0.0, label="1 %")
    panels[0].set_title("Parameters over their true values")
    panels[0].legend(ncols=3)
    panels[1].plot(fit.misfit, color="#0072B2")
    panels[1].set_title("Mean square misfit in units of the noise")
    panels[1].set_xlabel("iteration")


def main(arguments: Sequence[str] | None = None) -> Fit:
    """Record, fit, print the figures and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--out", default="fit.png")
    options = parser.parse_args(arguments)
    inputs = slalom(2.5)
    x0, measured = recording(inputs)
    fitted = problem(x0, inputs, measured)
    fit = descend(fitted, options.iterations)
    for name, first, last in zip(TRUE, fit.values[0], fit.values[-1], strict=True):
        off = 100.0 * (last / TRUE[name] - 1.0)
        print(f"{name:8} {first:8.2f} -> {last:8.2f}   true {TRUE[name]:8.2f}, off by {off:+.2f} %")
    print(f"misfit   {fit.misfit[0]:8.2f} -> {fit.misfit[-1]:8.2f}   in units of the noise")
    figure(fitted, fit, measured).savefig(options.out, dpi=150)
    print(f"plot     {options.out}")
    return fit


if __name__ == "__main__":
    main()
