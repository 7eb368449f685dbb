"""Explicit methods: Runge-Kutta from a tableau, and semi-implicit Euler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .. import record
from ..brief import brief_repr
from ..errors import InvalidValue
from ..model import Model
from .base import Derivative, Integrator, Scalars, same_length
from .tableau import Coefficient, Tableau

POSE_FIELDS = frozenset({"x", "y", "z", "yaw", "pitch", "roll"})
"""State fields that semi-implicit Euler moves last, with the new velocities."""


@dataclass(frozen=True)
class ExplicitRungeKutta:
    """One step of an explicit tableau, written with as few operations as the tableau allows."""

    tableau: Tableau
    implicit: bool = field(default=False, init=False, repr=False)
    adaptive: bool = field(default=False, init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if not self.tableau.explicit:
            raise InvalidValue(
                f"tableau {self.tableau.name!r} is implicit, an explicit one is needed"
            )

    @property
    def name(self) -> str:
        """Name of the tableau."""
        return self.tableau.name

    @property
    def order(self) -> int:
        """Order of the tableau."""
        return self.tableau.order

    def bind(self, model: Model) -> Integrator:
        """Itself: a Runge-Kutta method treats every state alike."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """The state after `dt`; the residual is 0.0."""
        slopes: list[Scalars] = []
        for row in self.tableau.a:
            slopes.append(same_length(f, _advance(x, row, slopes, dt)))
        return _advance(x, self.tableau.b, slopes, dt), 0.0


def _advance(
    x: Scalars, weights: Sequence[Coefficient], slopes: Sequence[Scalars], dt: Any
) -> Scalars:
    """x + dt Σ weights k, with the first weight that is not zero taken out of the sum.

    For the classical method that gives x + dt/6 (k1 + k4 + 2 (k2 + k3)): the factor dt/6 is shared
    by all states, and the increment is rounded to the size of x only once.
    """
    used = [(w, k) for w, k in zip(weights, slopes, strict=False) if w]
    if not used:
        return x
    common = used[0][0]
    factor = _scaled(common, dt)
    grouped: dict[Coefficient, list[Scalars]] = {}
    for weight, slope in used:
        grouped.setdefault(weight / common, []).append(slope)
    return tuple(value + factor * _weighted_sum(grouped, i) for i, value in enumerate(x))


def _weighted_sum(grouped: dict[Coefficient, list[Scalars]], i: int) -> Any:
    """Σ ratio * (sum of the slopes that share it), for state i."""
    total: Any = None
    for ratio, slopes in grouped.items():
        term: Any = slopes[0][i]
        for slope in slopes[1:]:
            term = term + slope[i]
        term = _scaled(ratio, term)
        total = term if total is None else total + term
    return total


def _scaled(coefficient: Coefficient, value: Any) -> Any:
    """coefficient * value without a multiplication by one."""
    return value if coefficient == 1 else float(Fraction(coefficient)) * value


@dataclass(frozen=True)
class SemiImplicitEuler:
    """Euler with velocities first, then positions with the new velocities; also called symplectic.

    It keeps the energy of an oscillation bounded where explicit Euler lets it grow.
    """

    positions: tuple[int, ...] | None = None
    """Indices of the states that move last; `bind` finds them by name."""
    name: str = field(default="semi_implicit", init=False, repr=False)
    order: int = field(default=1, init=False, repr=False)
    implicit: bool = field(default=False, init=False, repr=False)
    adaptive: bool = field(default=False, init=False, repr=False)

    __repr__ = brief_repr

    def bind(self, model: Model) -> Integrator:
        """With the pose fields of the model's state, also nested ones, as positions."""
        leaves = enumerate(record.names(model.State))
        return SemiImplicitEuler(
            tuple(i for i, name in leaves if name.rpartition(".")[2] in POSE_FIELDS)
        )

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """The state after `dt`; the residual is 0.0."""
        if self.positions is None:
            raise InvalidValue("semi_implicit needs to know the positions: bind(model) comes first")
        slope = same_length(f, x)
        moved = [
            value if i in self.positions else value + dt * slope[i] for i, value in enumerate(x)
        ]
        slope = same_length(f, tuple(moved))
        for i in self.positions:
            moved[i] = moved[i] + dt * slope[i]
        return tuple(moved), 0.0
