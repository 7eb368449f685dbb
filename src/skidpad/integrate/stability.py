"""The longest step at which a method keeps the modes of a model from growing.

Near a point a model moves in modes, each with an eigenvalue λ of the Jacobian in 1/s. One step of
an explicit Runge-Kutta method multiplies a mode by R(λ dt), a polynomial; what dies out in the
model (Re λ < 0) must not grow, |R(λ dt)| <= 1 (Hairer, Wanner, *Solving Ordinary Differential
Equations II*, section IV.2). Semi-implicit Euler moves states in two groups, so it has no such
polynomial: there the modes are those of its own step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import AnyArray, Array
from .base import Integrator
from .explicit import ExplicitRungeKutta, SemiImplicitEuler
from .tableau import Tableau

GROWTH = 1e-3
"""Growth of a mode in one step that is taken for rounding, or for the drift of a method of low
order, and not for a step that is too long."""
SHORTEST, LONGEST = 1e-7, 1e2
"""Steps in s among which the longest is looked for."""
_GRID = 181
"""Steps that are tried, 20 in a factor of ten; then as many between the two that matter."""


class LongestStep(NamedTuple):
    """How long a step may be, and what keeps it from being longer."""

    dt: float
    """In s; infinite where every step is stable."""
    eigenvalue: complex
    """Of the mode that grows in longer steps, in 1/s; the fastest where none does."""


def longest_step(method: Integrator, jacobian: Array) -> LongestStep:
    """The longest stable step of a method bound to a model, whose Jacobian (nx, nx) is in 1/s.

    Implicit methods of Radau type take every step, and adaptive ones choose their own.
    """
    eigenvalues = np.linalg.eigvals(jacobian)
    fastest = complex(eigenvalues[np.argmax(np.abs(eigenvalues))]) if len(eigenvalues) else 0j
    if isinstance(method, ExplicitRungeKutta):
        return _of_modes(method.tableau, eigenvalues, fastest)
    if isinstance(method, SemiImplicitEuler):
        return LongestStep(_of_two_groups(method, jacobian, eigenvalues), fastest)
    return LongestStep(np.inf, fastest)


def stability_polynomial(tableau: Tableau) -> Array:
    """Coefficients of R(z), the constant first: 1, then b' Aᵏ 1 for k = 0, 1, ..."""
    stages = tableau.stages
    a, powers = np.zeros((stages, stages)), np.ones(stages)
    for i, row in enumerate(tableau.a):
        a[i, : len(row)] = [float(c) for c in row]
    b, coefficients = np.array([float(c) for c in tableau.b]), [1.0]
    for _ in range(stages):
        coefficients.append(float(b @ powers))
        powers = a @ powers
    return np.array(coefficients)


def _of_modes(tableau: Tableau, eigenvalues: AnyArray, fastest: complex) -> LongestStep:
    damped = eigenvalues[np.real(eigenvalues) < 0.0]
    # Beside the fastest one: a mode at rest has an eigenvalue of rounding, of either sign.
    damped = damped[-np.real(damped) > 1e-9 * np.abs(eigenvalues).max(initial=0.0)]
    if not len(damped):
        return LongestStep(np.inf, fastest)
    polynomial = np.polynomial.Polynomial(stability_polynomial(tableau))

    def factors(dt: Array) -> Array:
        return np.abs(polynomial(damped * dt[:, None]))

    dt = _last_below(lambda dt: factors(dt).max(axis=1))
    growing = damped[np.argmax(factors(np.array([min(1.01 * dt, LONGEST)]))[0])]
    return LongestStep(dt, complex(growing))


def _of_two_groups(method: SemiImplicitEuler, jacobian: Array, eigenvalues: AnyArray) -> float:
    last = np.zeros(len(jacobian))
    last[list(method.positions or ())] = 1.0
    first, unit = 1.0 - last, np.eye(len(jacobian))
    grows = max(0.0, float(np.real(eigenvalues).max(initial=0.0)))

    def factors(dt: Array) -> Array:
        h = dt[:, None, None]
        step = (unit + h * last[:, None] * jacobian) @ (unit + h * first[:, None] * jacobian)
        largest = np.abs(np.linalg.eigvals(step)).max(axis=1, initial=0.0)
        return largest / np.exp(np.minimum(grows * dt, 50.0))

    return _last_below(factors)


def _last_below(factors: Callable[[Array], Array]) -> float:
    """The step up to which the factors of steps (n,) stay at 1; infinite if they do at all."""
    grid = np.geomspace(SHORTEST, LONGEST, _GRID)
    for _ in range(3):
        fine = factors(grid) <= 1.0 + GROWTH
        if fine.all():
            return np.inf
        over = int(np.argmin(fine))
        if over == 0:
            return 0.0
        grid = np.linspace(grid[over - 1], grid[over], _GRID)
    return float(grid[0])
