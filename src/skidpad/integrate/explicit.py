"""Explicit methods: Runge-Kutta from a tableau, and semi-implicit Euler.

Butcher tableaux are data, each checked against its order conditions when it is made. An explicit
tableau is checked against the rooted-tree conditions (Hairer, Nørsett, Wanner, *Solving Ordinary
Differential Equations I*, theorem II.2.13), exactly if its coefficients are fractions. An implicit
one is checked against Butcher's simplifying assumptions B, C and D (*Solving Ordinary Differential
Equations II*, section IV.5), from which collocation methods are derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

from ..core import record
from ..core.files import brief_repr
from ..core.model import Model
from ..errors import InvalidValue
from .base import Derivative, Integrator, Scalars, same_length

Coefficient = Fraction | float

ROUNDING = 1e-13
"""Tolerance of a condition with float coefficients, a few roundings; fractions are exact."""
HIGHEST_EXPLICIT_ORDER = 5
"""Highest order of the explicit methods here; rooted trees can be generated for any order."""


@dataclass(frozen=True)
class Tableau:
    """A Runge-Kutta method: stage i is `x + dt Σ a[i][j] k[j]`, the result `x + dt Σ b[j] k[j]`."""

    name: str
    order: int
    a: tuple[tuple[Coefficient, ...], ...]
    """One row per stage; an explicit method may leave out the zeros from the diagonal on."""
    b: tuple[Coefficient, ...]
    c: tuple[Coefficient, ...]
    """Time of each stage as a fraction of the step."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if not len(self.a) == len(self.b) == len(self.c):
            raise InvalidValue(
                f"tableau {self.name!r} has {len(self.a)} rows a, {len(self.b)} weights b and "
                f"{len(self.c)} times c; the numbers must be equal"
            )
        if self.order < 1 or (self.explicit and self.order > HIGHEST_EXPLICIT_ORDER):
            raise InvalidValue(
                f"tableau {self.name!r} claims order {self.order}; "
                f"allowed is 1 or more, and at most {HIGHEST_EXPLICIT_ORDER} if it is explicit"
            )
        for condition, value, exact in _conditions(self):
            if not abs(value - exact) <= (0.0 if isinstance(value, (Fraction, int)) else ROUNDING):
                raise InvalidValue(
                    f"tableau {self.name!r} does not have order {self.order}: "
                    f"{condition} is {float(value):.17g}, must be {exact}"
                )

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def explicit(self) -> bool:
        """Whether the method is explicit: each stage needs only earlier stages."""
        return all(not any(row[i:]) for i, row in enumerate(self.a))


def _conditions(t: Tableau) -> Iterator[tuple[str, Coefficient, Fraction | Coefficient]]:
    """Order conditions of a tableau, each as (name, value, required value)."""
    for i, (row, time) in enumerate(zip(t.a, t.c, strict=True)):
        yield f"sum of row {i + 1} of a", sum(row), time
    if t.explicit:
        yield from _tree_conditions(t)
    else:
        yield from _simplifying_assumptions(t)


def _simplifying_assumptions(t: Tableau) -> Iterator[tuple[str, Coefficient, Coefficient]]:
    """B(order), C(stages) and D(stages - 1), which imply the order of a Radau IIA method."""
    stages = range(t.stages)
    for k in range(1, t.order + 1):
        value = sum(t.b[i] * t.c[i] ** (k - 1) for i in stages)
        yield f"B({k})", value, Fraction(1, k)
    for k in range(1, t.stages + 1):
        for i in stages:
            value = sum(t.a[i][j] * t.c[j] ** (k - 1) for j in stages)
            yield f"C({k}) of stage {i + 1}", value, t.c[i] ** k / k
    for k in range(1, t.stages):
        for j in stages:
            value = sum(t.b[i] * t.c[i] ** (k - 1) * t.a[i][j] for i in stages)
            yield f"D({k}) of stage {j + 1}", value, t.b[j] * (1 - t.c[j] ** k) / k


Tree = tuple["Tree", ...]
"""A rooted tree, as the subtrees of its root."""


def _tree_conditions(t: Tableau) -> Iterator[tuple[str, Coefficient, Fraction]]:
    """Σ b Φ(tree) = 1/γ(tree) for every rooted tree with at most `order` vertices."""
    for size in range(1, t.order + 1):
        for tree in rooted_trees(size):
            weights = _elementary_weights(t, tree)
            value = sum((b * w for b, w in zip(t.b, weights, strict=True)), Fraction(0))
            yield f"the condition of tree {_picture(tree)}", value, Fraction(1, density(tree))


@cache
def rooted_trees(size: int) -> tuple[Tree, ...]:
    """Every rooted tree with `size` vertices: 1, 1, 2, 4, 9, 20, ... of them."""
    return tuple(_forests(size - 1, size - 1))


def _forests(vertices: int, largest: int) -> Iterator[tuple[Tree, ...]]:
    """Every multiset of trees with `vertices` vertices in total, none larger than `largest`."""
    if vertices == 0:
        yield ()
        return
    for size in range(min(vertices, largest), 0, -1):
        for count in range(1, vertices // size + 1):
            for same in combinations_with_replacement(rooted_trees(size), count):
                for rest in _forests(vertices - count * size, size - 1):
                    yield (*same, *rest)


def vertices(tree: Tree) -> int:
    return 1 + sum(vertices(branch) for branch in tree)


def density(tree: Tree) -> int:
    """Density γ of a rooted tree: the product of the vertex counts of all its subtrees."""
    return vertices(tree) * math.prod(density(branch) for branch in tree)


def _elementary_weights(t: Tableau, tree: Tree) -> list[Coefficient]:
    """Elementary weight Φ of a rooted tree at each stage."""
    weights: list[Coefficient] = [Fraction(1)] * t.stages
    for branch in tree:
        below = _elementary_weights(t, branch)
        for i, row in enumerate(t.a):
            weights[i] *= _dot(row, below)
    return weights


def _dot(row: Iterable[Coefficient], values: Iterable[Coefficient]) -> Coefficient:
    # Use only as many values as the row of an explicit tableau, which is short, has entries.
    return sum((x * y for x, y in zip(row, values, strict=False)), Fraction(0))


def _picture(tree: Tree) -> str:
    return "[" + "".join(_picture(branch) for branch in tree) + "]"


def _fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(word) for word in text.split())


def explicit_tableau(name: str, order: int, rows: Iterable[str], weights: str) -> Tableau:
    """Butcher tableau from rows such as "3/40 9/40", without the empty row of the first stage.

    Each node c is the sum of its row.
    """
    a = ((), *(_fractions(row) for row in rows))
    c = tuple(sum(row, Fraction(0)) for row in a)
    return Tableau(name, order, a, _fractions(weights), c)


EULER = explicit_tableau("euler", 1, (), "1")
HEUN = explicit_tableau("heun", 2, ("1",), "1/2 1/2")
"""The second-order method of Heun (1900), with the trapezoidal rule."""
RK4 = explicit_tableau("rk4", 4, ("1/2", "0 1/2", "0 0 1"), "1/6 1/3 1/3 1/6")
"""The classical fourth-order method of Kutta (1901)."""
DOPRI5 = explicit_tableau(
    "dopri5",
    5,
    (
        "1/5",
        "3/40 9/40",
        "44/45 -56/15 32/9",
        "19372/6561 -25360/2187 64448/6561 -212/729",
        "9017/3168 -355/33 46732/5247 49/176 -5103/18656",
    ),
    "35/384 0 500/1113 125/192 -2187/6784 11/84",
)
"""The fifth-order method of Dormand and Prince, *J. Comput. Appl. Math.* 6 (1980) 19.

The seventh stage serves only the error estimate, which a fixed step does not use.
"""

POSE_FIELDS = frozenset({"x", "y", "z", "yaw", "pitch", "roll"})
"""State fields that semi-implicit Euler moves last, with the new velocities."""


@dataclass(frozen=True)
class ExplicitRungeKutta:
    """Explicit Runge-Kutta method of a tableau, with as few operations as the tableau allows."""

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
        return self.tableau.name

    @property
    def order(self) -> int:
        return self.tableau.order

    def bind(self, model: Model) -> Integrator:
        """Return the integrator itself: a Runge-Kutta method treats every state alike."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """Return the state after `dt` seconds; the residual is 0.0."""
        slopes: list[Scalars] = []
        for row in self.tableau.a:
            slopes.append(same_length(f, _advance(x, row, slopes, dt)))
        return _advance(x, self.tableau.b, slopes, dt), 0.0


def _advance(
    x: Scalars, weights: Sequence[Coefficient], slopes: Sequence[Scalars], dt: Any
) -> Scalars:
    """Advanced state x + dt Σ weights k, with the first nonzero weight factored out.

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
    """Weighted sum Σ ratio * (sum of the slopes with this ratio), for state i."""
    total: Any = None
    for ratio, slopes in grouped.items():
        term: Any = slopes[0][i]
        for slope in slopes[1:]:
            term = term + slope[i]
        term = _scaled(ratio, term)
        total = term if total is None else total + term
    return total


def _scaled(coefficient: Coefficient, value: Any) -> Any:
    return value if coefficient == 1 else float(Fraction(coefficient)) * value


@dataclass(frozen=True)
class SemiImplicitEuler:
    """Semi-implicit (symplectic) Euler: velocities first, then positions with the new velocities.

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
        """Return the method with the model's pose fields, also nested ones, as positions."""
        leaves = enumerate(record.names(model.State))
        return SemiImplicitEuler(
            tuple(i for i, name in leaves if name.rpartition(".")[2] in POSE_FIELDS)
        )

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """Return the state after `dt` seconds; the residual is 0.0."""
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
