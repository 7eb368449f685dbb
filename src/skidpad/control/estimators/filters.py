"""Kalman filters as discrete models: the state is the estimate, an update predicts and corrects.

The covariance is kept as P = U diag(D) Uᵀ, with U unit upper triangular: it is symmetric by
construction and stays positive definite in single precision. Both filters propagate it by weighted
Gram-Schmidt orthogonalisation (C. L. Thornton, *Triangular Covariance Factorizations for Kalman
Filtering*, JPL Technical Memorandum 33-798, 1976) and correct it one measurement after the other
(G. J. Bierman, *Factorization Methods for Discrete Sequential Estimation*, 1977, chapter V).

* `extended`: A and H are the exact Jacobians of the vehicle's step and measurements.
* `unscented`: 2 n + 1 points at a distance of sqrt(n + κ) standard deviations are stepped instead
  (S. Julier, J. Uhlmann, *Proc. IEEE* 92 (2004) 401). Their weights are κ/(n + κ) for the centre
  and 1/(2 (n + κ)) for the others. κ >= 0 keeps all of them positive, so that the factors exist;
  there is no scaling by a small α, which makes the central weight negative. κ = 0 is the cubature
  filter. A linear regression over the points' measurements gives the slope in place of H; the
  scatter around it adds to the noise of the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ...core import record
from ...core.model import Model, built_once
from ...errors import InvalidValue
from ...integrate.base import Integrator, simplified
from ...ops import called, sqrt
from ...units import Unit, non_negative, positive
from .structure import TURNING, Structure, measured_leaf

if TYPE_CHECKING:
    from .system import System

SX = Any
"""A scalar of CasADi's symbolic type."""
TINY = 1e-30
"""Variance below which a direction counts as known exactly."""


class Kind(NamedTuple):
    """Kind of a filter and its options."""

    name: str
    """ "ekf" or "ukf"."""
    gate: float | None = None
    """Measurements farther than this number of standard deviations from their prediction are
    ignored; None for no limit."""
    kappa: float = 0.0
    """Parameter κ of the points of an unscented filter."""


class Parts(NamedTuple):
    """Parts of the state of an estimator, in order, as lists of numbers."""

    z: Any
    """Estimated states and parameters, (n,)."""
    s: Any
    """Simulated states."""
    D: Any
    """Diagonal factor, (n,)."""
    U: Any
    """Entries of the triangular factor above the diagonal by rows, (n (n - 1) / 2,)."""
    innovations: Any
    """Measurement minus prediction at the last update, (m,); 0 if missing."""
    scores: Any
    """Innovations in standard deviations, each after the measurements before it, (m,)."""

    @classmethod
    def split(cls, leaves: Any, structure: Structure) -> Parts:
        """Split a state, or an array of them with the fields last."""
        n, r, m = len(structure.names), len(structure.simulated), len(structure.measured)
        parts: list[Any] = []
        for size in (n, r, n, n * (n - 1) // 2, m, m):
            parts.append(leaves[..., :size] if hasattr(leaves, "ndim") else list(leaves[:size]))
            leaves = leaves[..., size:] if hasattr(leaves, "ndim") else leaves[size:]
        return cls(*parts)

    def leaves(self) -> list[Any]:
        return [leaf for part in self for leaf in part]


Matrix = list[list[Any]]


def orthogonalised(rows: Sequence[dict[int, SX]], weights: Sequence[SX]) -> tuple[Matrix, list[SX]]:
    """Factors U, D of W diag(weights) Wᵀ; each row of W has its nonzero entries by column."""
    import casadi as ca

    n, left = len(rows), [dict(row) for row in rows]
    U: Matrix = [[ca.SX(0)] * n for _ in range(n)]
    D: list[SX] = [ca.SX(0)] * n
    for j in reversed(range(n)):
        scaled = {k: weights[k] * value for k, value in left[j].items()}
        D[j] = _dot(left[j], scaled)
        inverse = ca.if_else(D[j] > TINY, 1.0 / D[j], 0.0)
        for i in range(j):
            if not scaled.keys() & left[i].keys():
                continue
            U[i][j] = _dot(left[i], scaled) * inverse
            for k, value in left[j].items():
                left[i][k] = left[i].get(k, ca.SX(0)) - U[i][j] * value
    return U, D


def _dot(row: dict[int, SX], scaled: dict[int, SX]) -> SX:
    total: SX = 0.0
    for k, value in row.items():
        if k in scaled:
            total = total + value * scaled[k]
    return total


class Correction(NamedTuple):
    """Result of one measurement."""

    D: list[SX]
    gain: list[SX]
    """Change of the estimate per innovation."""
    score: SX
    """Innovation in standard deviations."""


def corrected(
    U: Matrix, D: list[SX], h: Sequence[SX], r: SX, e: SX, weight: SX, gate: float | None
) -> Correction:
    """Correct the factors by one measurement with slope h, noise variance r and innovation e.

    U is changed in place. The weight is 1, or 0 for a missing measurement.
    """
    import casadi as ca

    n = len(D)
    f = [h[j] + sum((h[i] * U[i][j] for i in range(j)), ca.SX(0)) for j in range(n)]
    v = [d * a for d, a in zip(D, f, strict=True)]
    spread = sum((a * b for a, b in zip(f, v, strict=True)), r)
    if gate is not None:
        weight = ca.if_else(e * e <= (gate * gate) * spread, weight, 0.0)
    before, variances, gain = ca.SX(r), list[SX](), list[SX]()
    for j in range(n):
        inverse = 1.0 / before
        after = before + weight * f[j] * v[j]
        variances.append(D[j] * before / after)
        slope = weight * f[j] * inverse
        for i in range(j):
            old = U[i][j]
            U[i][j] = old - slope * gain[i]
            gain[i] = gain[i] + v[j] * old
        gain.append(v[j])
        before = after
    share = weight / before
    score = e * ca.sqrt(share)
    return Correction(variances, [share * g for g in gain], score)


class Measurements(NamedTuple):
    """Measurements of one update."""

    values: list[SX]
    weights: list[SX]
    """1, or 0 for a missing one."""
    noise: list[SX]
    """Standard deviations."""


class Prediction(NamedTuple):
    """Linearised measurements before an update."""

    y: list[SX]
    H: Matrix
    """Slopes of the measurements, by rows."""
    R: list[SX]
    """Variances of the noise."""
    mixing: Matrix
    """Unit lower triangular L of the decorrelation: the noise of L⁻¹ y is independent."""


def extended(system: System, parts: Parts, given: Any, told: Measurements, q: list[SX]) -> Any:
    """Predict the estimate by the Jacobian of the step; returns z, s, U, D and the measurements."""
    import casadi as ca

    n, _, m = system.sizes
    after, jacobian = system.advance_linear(parts.z, parts.s, given)
    A, before = jacobian[:n, :], _matrix(parts.U, n)
    rows: list[dict[int, SX]] = []
    for i in range(n):
        row: dict[int, SX] = {n + i: ca.SX(1)}
        for j in range(n):
            terms = [A[i, k] * before[k][j] for k in range(j + 1) if A.has_nz(i, k)]
            if terms:
                row[j] = sum(terms[1:], terms[0])
        rows.append(row)
    upper, D = orthogonalised(rows, [*parts.D, *q])
    values = ca.vertsplit(after)
    z, s = values[:n], values[n:]
    y, H = system.observe_linear(z, s, (parts.z, parts.s), given)
    slopes = [[H[j, i] for i in range(n)] for j in range(m)]
    mixing = [[ca.SX(0)] * m for _ in range(m)]
    told_y = Prediction(ca.vertsplit(y), slopes, [sd * sd for sd in told.noise], mixing)
    return z, s, upper, D, told_y


def unscented(
    system: System, parts: Parts, given: Any, told: Measurements, q: list[SX], kappa: float
) -> Any:
    """Predict the estimate by stepped points; returns z, s, U, D and the measurements."""
    import casadi as ca

    n, _, m = system.sizes
    reach, side = (n + kappa) ** 0.5, 0.5 / (n + kappa)
    weights = [kappa / (n + kappa)] + [side] * (2 * n)

    def step(z: Any, s: Any, *leaves: Any) -> tuple[Any, ...]:
        with simplified():
            return tuple(system.advance([*z], [*s], system.exogenous(leaves)))

    def look(z: Any, s: Any, z_0: Any, s_0: Any, *leaves: Any) -> tuple[Any, ...]:
        with simplified():
            start = ([*z_0], [*s_0])
            return tuple(system.observe([*z], [*s], start, system.exogenous(leaves)))

    leaves, s = given.leaves, tuple(parts.s)
    begun = tuple(parts.z)
    points = _points(parts.z, _matrix(parts.U, n), parts.D, reach)
    stepped = [list(called(step, tuple(z), s, *leaves)) for z in points]
    s = tuple(stepped[0][n:])
    z = _mean([point[:n] for point in stepped], weights)
    rows = [
        {k: point[i] - z[i] for k, point in enumerate(stepped) if weights[k]}
        | {2 * n + 1 + i: ca.SX(1)}
        for i in range(n)
    ]
    U, D = orthogonalised(rows, [*map(ca.SX, weights), *q])
    points = _points(z, U, D, reach)
    seen = [list(called(look, tuple(z), s, begun, tuple(parts.s), *leaves)) for z in points]
    y = _mean(seen, weights)
    slopes: Matrix = []
    for j in range(m):
        h: list[SX] = []
        for i in range(n):
            slope = (seen[1 + 2 * i][j] - seen[2 + 2 * i][j]) * (0.5 / reach)
            known = D[i] > TINY
            f = ca.if_else(known, slope / ca.sqrt(ca.if_else(known, D[i], 1.0)), 0.0)
            h.append(f - sum((h[k] * U[k][i] for k in range(i)), ca.SX(0)))
        slopes.append(h)
    # What is left of the scatter around the slope is noise, correlated between measurements.
    bends: list[list[SX]] = [[seen[0][j] - y[j] for j in range(m)]]
    for i in range(n):
        pair = zip(seen[1 + 2 * i], seen[2 + 2 * i], y, strict=True)
        bends.append([0.5 * (a + b) - c for a, b, c in pair])
    scatter = [weights[0]] + [2.0 * side] * n
    noise = [
        {k: told.weights[j] * bend[j] for k, bend in enumerate(bends) if scatter[k]}
        | {n + 1 + j: ca.SX(1)}
        for j in range(m)
    ]
    # In reverse order, an upper triangular factor is a lower one.
    variances = [told.noise[j] * told.noise[j] for j in range(m)]
    upper, R = orthogonalised(noise[::-1], [*map(ca.SX, scatter), *variances])
    mixing = [row[::-1] for row in upper[::-1]]
    return z, list(s), U, D, Prediction(y, slopes, R[::-1], mixing)


def _points(z: list[SX], U: Matrix, D: list[SX], reach: float) -> list[list[SX]]:
    """The centre, then for each column of the factor a point on either side."""
    import casadi as ca

    points = [list(z)]
    for i in range(len(z)):
        far = reach * ca.sqrt(ca.fmax(D[i], 0.0))
        shift = [U[k][i] * far for k in range(i)] + [far]
        rest = z[i + 1 :]
        points += [
            [a + side * b for a, b in zip(z, shift, strict=False)] + rest for side in (1.0, -1.0)
        ]
    return points


def _mean(points: list[list[SX]], weights: list[float]) -> list[SX]:
    """Weighted mean, as a sum of differences from the centre, which are small."""
    return [
        values[0] + sum(w * (v - values[0]) for w, v in zip(weights[1:], values[1:], strict=True))
        for values in zip(*points, strict=True)
    ]


def _matrix(entries: Sequence[SX], n: int) -> Matrix:
    """Unit upper triangular matrix from its entries above the diagonal."""
    import casadi as ca

    rest = iter(entries)
    return [[next(rest) if j > i else ca.SX(float(i == j)) for j in range(n)] for i in range(n)]


def _update(
    system: System, kind: Kind, leaves: Sequence[SX], u: Any, p: Any, given: Any
) -> list[SX]:
    """State of the estimator after a prediction and the measurements."""
    import casadi as ca

    n, _, m = system.sizes
    parts = Parts.split(leaves, system.structure)
    dt = given.dt
    q = [sd * sd * dt for sd in p.process]
    told = Measurements([*u[:m]], [*u[m:]], [*p.noise])
    predict = extended if kind.name == "ekf" else partial(unscented, kappa=kind.kappa)
    z, s, U, variances, seen = predict(system, parts, given, told, q)
    innovations: list[SX] = []
    for name, value, y, weight in zip(
        system.structure.measured, told.values, seen.y, told.weights, strict=True
    ):
        e = value - y
        if name in TURNING:  # sensors may wrap it
            e = ca.atan2(ca.sin(e), ca.cos(e))
        innovations.append(ca.if_else(weight > 0.0, e, 0.0))
    moved: list[SX] = [ca.SX(0)] * n
    left, slopes, scores = list(innovations), [list(h) for h in seen.H], list[SX]()
    for j in range(m):
        for k in range(j):
            left[j] = left[j] - seen.mixing[j][k] * left[k]
            slopes[j] = [
                a - seen.mixing[j][k] * b for a, b in zip(slopes[j], slopes[k], strict=True)
            ]
        e = left[j] - sum((a * b for a, b in zip(slopes[j], moved, strict=True)), ca.SX(0))
        variances, gain, score = corrected(
            U, variances, slopes[j], seen.R[j], e, told.weights[j], kind.gate
        )
        moved = [a + g * e for a, g in zip(moved, gain, strict=True)]
        scores.append(score)
    z = [a + b for a, b in zip(z, moved, strict=True)]
    z = system.bounded(z)
    above = [U[i][j] for i in range(n) for j in range(i + 1, n)]
    return Parts(z, s, variances, above, innovations, scores).leaves()


@built_once
def filter_model(
    model: Model,
    method: Integrator,
    substeps: int,
    structure: Structure,
    leaves: tuple[record.Field, ...],
    start: tuple[float, ...],
    kind: Kind,
) -> Model:
    """Model of an estimator.

    Args:
        model: of the vehicle whose state is estimated.
        method, substeps: how its step is integrated.
        structure: what is estimated.
        leaves: fields of the estimated states and parameters.
        start: default state of the estimator.
        kind: kind of the filter.
    """
    State, Input, Params, Outputs = records(model, structure, leaves, start)
    n, m = len(structure.names), len(structure.measured)

    def update(x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        from .system import Exogenous, System

        own = record.unflatten(model.Input, record.flatten(u)[: -2 * m])
        system = System(model, method, substeps, structure)
        with simplified():
            given = Exogenous(own, w, p.vehicle, dt)
            return State._make(_update(system, kind, x, u[-2 * m :], p, given))

    def outputs(x: Any, u: Any, w: Any, p: Any) -> Any:
        parts = Parts.split(x, structure)
        entries, variances = iter(parts.U), list(parts.D)
        for i in range(n):
            for j in range(i + 1, n):
                entry = next(entries)
                variances[i] = variances[i] + entry * entry * parts.D[j]
        nis = sum(score * score for score in parts.scores)
        return Outputs(*map(sqrt, variances), nis)

    return Model(
        name=f"{model.name}_{kind.name}",
        State=State,
        Input=Input,
        Params=Params,
        Disturbance=model.Disturbance,
        Outputs=Outputs,
        update=update,
        outputs=outputs,
        dead_times={field(name): f"vehicle.{delay}" for name, delay in model.dead_times.items()},
        dead_time_rule=model.dead_time_rule,
        slowest=model.slowest,
        summary=f"Estimator of {', '.join(structure.names)} of {model.name}",
    )


def records(
    model: Model, structure: Structure, leaves: tuple[record.Field, ...], start: tuple[float, ...]
) -> tuple[Any, Any, Any, Any]:
    """Classes State, Input, Params and Outputs of an estimator; `leaves` are what it estimates."""
    known = {leaf.name: leaf for leaf in record.fields(model.State)}
    simulated = [known[name] for name in structure.simulated]
    seen = [measured_leaf(model, name)._replace(name=name) for name in structure.measured]
    above = [
        b._replace(name=f"{a.name}_{b.name}", unit=_product(a.unit, b.unit, -1.0))
        for k, a in enumerate(leaves)
        for b in leaves[k + 1 :]
    ]
    State = _record(
        "State",
        _fields("", leaves, "Estimate"),
        _fields("", simulated, "Simulated"),
        _fields("D_", leaves, "Diagonal factor", lambda unit: _product(unit, unit)),
        _fields("U_", above, "Triangular factor"),
        _fields("innovation_", seen, "Measured - predicted"),
        _fields("score_", seen, "Innovation in standard deviations", lambda _: ONE),
        defaults=start,
    )
    if record.size(State) != len(start):
        raise InvalidValue(f"two of {', '.join(structure.names)} have the same name")
    own = record.fields(model.Input)
    defaults = [leaf.default or 0.0 for leaf in own] + [0.0] * (2 * len(seen))
    Input = _record(
        "Input",
        _fields("", own, "Input"),
        _fields("measured_", seen, "Measured after the step"),
        _fields("weight_", seen, "1, or 0 for no measurement", lambda _: ONE),
        defaults=defaults,
    )
    noises = {
        "vehicle": model.Params,
        "process": _record("Process", _fields("", leaves, "Growth", _per_root, non_negative)),
        "noise": _record("Noise", _fields("", seen, "Deviation", mark=positive)),
    }
    nis = record.Field("nis", ONE, "Sum of the squared scores.", None, None)
    Outputs = _record(
        "Outputs",
        _fields("deviation_", leaves, "Standard deviation"),
        _fields("", [nis], "Normalised innovation squared"),
    )
    return State, Input, record.define("Params", noises), Outputs


ONE = Unit("1")
_Columns = dict[str, tuple[Any, str]]
"""Annotation and docstring by field."""


def _fields(
    prefix: str,
    leaves: Sequence[record.Field],
    what: str,
    unit: Callable[[Unit], Unit] = lambda unit: unit,
    mark: Any = None,
) -> _Columns:
    """Fields of a record for some leaves."""
    marks = () if mark is None else (mark,)
    return {
        prefix + field(leaf.name): (
            Annotated[float, unit(leaf.unit), *marks],
            f"{what}. {leaf.doc}",
        )
        for leaf in leaves
    }


def _record(name: str, *groups: _Columns, defaults: Sequence[float] = ()) -> Any:
    columns = {field: column for group in groups for field, column in group.items()}
    hints, docs = ({f: column[k] for f, column in columns.items()} for k in (0, 1))
    return record.define(name, hints, dict(zip(columns, defaults, strict=False)), docs, f"{name}.")


def field(name: str) -> str:
    """Field name of a dotted name."""
    return name.replace(".", "_")


def _product(a: Unit, b: Unit, power: float = 1.0) -> Unit:
    """Unit of a b or, with the power -1, of a/b."""
    parts = (x + power * y for x, y in zip(a.dimension, b.dimension, strict=True))
    return Unit(f"({a}) ({b})" if power > 0.0 else f"({a})/({b})", *parts)


def _per_root(unit: Unit) -> Unit:
    """Unit of a random walk's deviation per square root of a second."""
    length, mass, time = unit.dimension
    return Unit(f"{unit}/√s", length, mass, time - 0.5)
