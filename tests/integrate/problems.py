"""Differential equations with known solutions, and ways to run an integrator on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from skidpad.integrate import Integrator
from skidpad.integrate.explicit import SemiImplicitEuler


@dataclass(frozen=True)
class Problem:
    """x' = f(x) from `start` over `duration`, which ends at `end`."""

    name: str
    f: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    start: tuple[float, ...]
    duration: float
    end: tuple[float, ...]
    positions: tuple[int, ...] = ()


def _logistic(x: tuple[Any, ...]) -> tuple[Any, ...]:
    return (x[0] * (1.0 - x[0]),)


def _hyperbola(x: tuple[Any, ...]) -> tuple[Any, ...]:
    # x = 1/(1 + t²) with time as a state of its own, so that the equation is autonomous.
    return (-2.0 * x[1] * x[0] * x[0], 0.0 * x[1] + 1.0)


def _circle(x: tuple[Any, ...]) -> tuple[Any, ...]:
    # A nonlinear oscillator whose orbits are circles; the one of radius 1 turns once in 2π.
    squared = x[0] * x[0] + x[1] * x[1]
    return (x[1] * squared, -x[0] * squared)


PROBLEMS = (
    Problem("logistic", _logistic, (0.1,), 2.0, (math.exp(2.0) / (9.0 + math.exp(2.0)),)),
    Problem("hyperbola", _hyperbola, (1.0, 0.0), 1.5, (1.0 / 3.25, 1.5)),
    Problem("circle", _circle, (1.0, 0.0), 2.0, (math.cos(2.0), -math.sin(2.0)), positions=(0,)),
)


def traced(method: Integrator, f: Callable[..., Any], size: int, **symbols: Any) -> Any:
    """The step as a CasADi function (x, dt, *symbols) -> (x, residual)."""
    x = [ca.SX.sym(f"x{i}") for i in range(size)]
    dt = ca.SX.sym("dt")
    after, residual = method.step(f, tuple(x), dt)
    inputs = [ca.vertcat(*x), dt, *symbols.values()]
    return ca.Function("step", inputs, [ca.vertcat(*after), residual], {"cse": True})


def end_error(method: Integrator, problem: Problem, steps: int) -> float:
    """Largest error at the end of the problem after `steps` equal steps."""
    if isinstance(method, SemiImplicitEuler):
        method = SemiImplicitEuler(problem.positions)
    step = traced(method, problem.f, len(problem.start))
    x = np.array(problem.start)
    for _ in range(steps):
        x = np.array(step(x, problem.duration / steps)[0]).ravel()
    return float(np.abs(x - problem.end).max())


def observed_order(method: Integrator, problem: Problem, steps: int) -> float:
    """Order seen when the step is halved."""
    coarse, fine = (end_error(method, problem, n) for n in (steps, 2 * steps))
    return math.log2(coarse / fine)
