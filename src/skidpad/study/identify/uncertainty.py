"""Uncertainty of fitted parameters: intervals, correlations, and what the data cannot tell.

The errors of a real vehicle are not white: sensors drift, wind blows for a second, and the model is
wrong in the same way for a whole corner. The usual covariance, which counts samples, is then far
too small. `spread` therefore looks at stretches of the logs that are long compared with these
errors, the windows of the fit: it asks how far the estimates would move without each of them (the
jackknife; Bell and McCaffrey, Survey Methodology 28(2), 2002, show why the residuals themselves are
too small), and takes quantiles of Student's t, whose degrees of freedom are the effective number of
windows that inform the parameter.

All arrays are in changes of the unknowns that matter, so that numbers near 1 are vague knowledge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import listed
from .problem import Linear, Problem, Solution, Unknown

NORMAL_95 = 1.959964
"""Half width of a 95 % interval in standard deviations."""
CHI_SQUARE_95 = 3.841459
"""Rise of twice the negative log likelihood at the ends of the 95 % interval of a parameter."""
LEAST_PIECES = 5
"""Least number of stretches that a spread is estimated from; fewer windows are divided. Parts of a
window share its errors, so intervals from them are too narrow: of 95 %, they held in 85 % of logs
with 8 windows that were divided, and in 94 % undivided."""
_NOTHING = 100.0
"""Standard deviation, in changes that matter, of what is known without any data."""
_ALIKE = 0.9
"""Correlation from which two unknowns are named together."""
_SHARE = 0.25
"""Least component of a direction, relative to its largest, for an unknown to be named in it."""


class Spread(NamedTuple):
    """Uncertainty of the unknowns at a solution."""

    sd: Array
    """Standard deviations, as relative changes of unknowns whose logarithm is moved, in changes
    that matter of the others, (unknowns,)."""
    half: Array
    """Half widths of the 95 % intervals, in the same measure."""
    covariance: Array
    """In changes that matter, (unknowns, unknowns)."""
    alone: Array
    """Standard deviation of each unknown if all others were known, for white errors, in changes
    that matter."""
    excess: float
    """Mean variance relative to that for white errors."""


class Untold(NamedTuple):
    """A combination of unknowns that the data cannot tell."""

    names: tuple[str, ...]
    text: str
    """What is unknown, and how to drive or what to measure to know it."""


def spread(problem: Problem, solution: Solution) -> Spread:
    """Uncertainty of the unknowns at the solution of a fit."""
    from scipy.special import stdtrit

    linear = problem.linear(solution.point, solution.sigma)
    values, unknowns = solution.point.values, problem.unknowns
    # From sizes to changes that matter, which are relative to positive values.
    size, _ = problem.sizes(problem.at().values)
    unit = size / np.array([u.matters for u in unknowns])
    normals, pushes = _pieces(problem, linear)
    normals, pushes = normals / np.outer(unit, unit), pushes / unit
    precision = problem.prior(values)[0] / unit**2
    total = normals.sum(axis=0) + np.diag(precision) + np.eye(len(unknowns)) / _NOTHING**2
    inverse = np.linalg.inv(total)
    # The estimate without one piece, to first order.
    moves = np.linalg.solve(total - normals, pushes[..., None])[..., 0]
    # The usual factor (count - 1) / count would hold for windows that are independent.
    clustered = moves.T @ moves
    # Priors are independent evidence, which leaving out pieces does not vary.
    clustered += inverse @ np.diag(precision + _NOTHING**-2) @ inverse
    white = np.diag(inverse)
    excess = np.diag(clustered) / white
    wider = np.sqrt(np.maximum(excess, 1.0) / excess)
    covariance = clustered * np.outer(wider, wider)
    sd = np.sqrt(np.diag(covariance))
    told = np.einsum("ij,njk,ki->ni", inverse, normals, inverse)
    pieces = told.sum(axis=0) ** 2 / np.maximum((told**2).sum(axis=0), 1e-300)
    quantile = np.asarray(stdtrit(np.maximum(pieces - 1.0, 1.0), 0.975))
    alone = 1.0 / np.sqrt(np.maximum(np.diag(normals.sum(axis=0)), 1e-300))
    return Spread(sd / unit, quantile * sd / unit, covariance, alone, float(np.mean(excess)))


def _pieces(problem: Problem, linear: Sequence[Linear]) -> tuple[Array, Array]:
    """Information and push of the windows, or of equal parts of the windows if there are few."""
    windows = sum(len(one.errors) for one in linear)
    parts = -(-LEAST_PIECES // windows)
    normals: list[Array] = []
    pushes: list[Array] = []
    for one, replay in zip(linear, problem.replays, strict=True):
        if parts == 1:
            normals.append(one.normal)
            pushes.append(one.push)
            continue
        shape = (replay.windows, len(replay.channels), replay.steps + 1)
        slopes = one.eliminated.reshape(*shape, -1)
        weights, errors = one.weights.reshape(shape), one.errors.reshape(shape)
        for rows in np.array_split(np.arange(shape[2]), parts):
            own = slopes[:, :, rows]
            heavy = own * weights[:, :, rows, None]
            normals.append(np.einsum("wcrp,wcrq->wpq", heavy, own))
            pushes.append(-np.einsum("wcrp,wcr->wp", heavy, errors[:, :, rows]))
    return np.concatenate(normals), np.concatenate(pushes)


def correlations(covariance: Array) -> Array:
    """Correlation of each pair of unknowns."""
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def untold(
    unknowns: Sequence[Unknown], covariance: Array, unknown: Sequence[str] = ()
) -> tuple[Untold, ...]:
    """Combinations of unknowns that the data leave open, the vaguest first.

    They are the eigenvectors of the covariance along which the standard deviation exceeds a change
    that matters. Unknowns that are vague, or among the names `unknown`, and have a small share in
    these follow, each with the one that it is most correlated with.
    """
    found: list[Untold] = []
    variances, directions = np.linalg.eigh(covariance)
    for variance, direction in zip(variances[::-1], directions.T[::-1], strict=True):
        if variance <= 1.0:
            break
        parts = np.abs(direction)
        order = [k for k in np.argsort(-parts) if parts[k] > _SHARE * parts.max()]
        found.append(_in_words([unknowns[k] for k in order], direction[order], float(variance)))
    alike = correlations(covariance) - np.eye(len(unknowns))
    for k, u in enumerate(unknowns):
        vague = u.name in unknown or covariance[k, k] > 1.0
        if not vague or any(u.name in one.names for one in found):
            continue
        other = int(np.argmax(np.abs(alike[k])))
        parts, own = np.array([1.0]), [u]
        if abs(alike[k, other]) > _ALIKE:
            parts, own = np.array([1.0, alike[k, other]]), [u, unknowns[other]]
        found.append(_in_words(own, parts, float(covariance[k, k])))
    return tuple(found)


def _in_words(named: Sequence[Unknown], parts: Array, variance: float) -> Untold:
    names = tuple(u.name for u in named)
    kinds = [_kind(u) for u in named]
    advice = list(dict.fromkeys(_ADVICE[kind] for kind in kinds))[:3]
    if len(named) == 1:
        size, unit = np.sqrt(variance) * named[0].matters, named[0].unit
        width = f"standard deviation {size:.2g}{'' if unit == '1' else f' {unit}'}"
        width = "not at all" if variance > 0.1 * _NOTHING**2 else width
        text = f"the data hardly tell {names[0]} ({width})"
    else:
        signs = np.sign(parts) == np.sign(parts[0])
        same = [n for n, s in zip(names, signs, strict=True) if s]
        other = [n for n, s in zip(names, signs, strict=True) if not s]
        how = f"{listed(same)} may grow together" if len(same) > 1 else f"{same[0]} may grow"
        how += f" while {listed(other)} {'falls' if len(other) == 1 else 'fall'}" if other else ""
        text = f"{listed(list(names))} trade off: {how}, and the replay hardly changes"
        if "mass" in kinds and {"inertia", "stiffness", "grip"} & set(kinds):
            text += (
                ". In lateral motion m, I_z and the tyre forces have one common scale: give the "
                "mass, weighed, instead of fitting it"
            )
            advice = [a for a in advice if a != _ADVICE["mass"]]
    return Untold(names, f"{text}. {'. '.join(advice)}" if advice else text)


_KINDS = (
    ("delay", r"^delay\.|_time_delay$"),
    ("offset", r"bias|offset|tilt|^toe|^camber"),
    ("ratio", r"_ratio$|scaling_factor$"),
    ("place", r"^log\.(point|imu)_"),
    ("lag", r"_time_constant$|^t_|\.t_|sigma|speed_gain"),
    ("grip", r"(^|\.)(mu\w*|D|use_max|LMU\w|PD[XY]\d|p_d[xy]\d)$"),
    ("stiffness", r"(^|\.)(K|B|F_K|C_[fr]|C_alpha\w*|LKY|LKX|PK[XY]\d|p_k[xy]\d)$"),
    ("shape", r"(^|\.)(C|E|mu_fall|p_[ce][xy]\d|P[CE][XY]\d)$"),
    ("resistance", r"drag|rolling|C_r\d|down|lift"),
    ("limit", r"_lim$|_max$|_min$"),
)
"""Kinds of parameters by patterns of their names; others follow from their unit."""
_KINDS_BY_UNIT = {"kg·m²": "inertia", "kg": "mass", "m": "length", "s": "lag", "N": "force"}
_ADVICE = {
    "delay": "Give inputs that change sharply, and log them with their own times",
    "offset": "Drive straight for some seconds, and turn as often to the left as to the right",
    "ratio": "Drive slow, wide circles with a logged pose: without slip they show geometry alone",
    "place": "Measure the place of the sensor",
    "lag": "Give steps of the input, and log at ten samples per time constant or more",
    "grip": "Corner or brake closer to the limit of grip",
    "stiffness": "Corner in both directions at 2 to 5 m/s² and at several speeds, with v_y logged "
    "if possible",
    "shape": "Corner through the limit of grip, or keep the shape of the tyre's curve fixed",
    "resistance": "Coast down from high speed on a level road",
    "limit": "Reach the limit, or leave it out",
    "inertia": "Drive a faster steering input: steps, or a slalom with about one turn a second",
    "mass": "Weigh the vehicle, or log the forces that drive and brake it",
    "length": "Measure it: weights on the axles give the centre of mass",
    "force": "Accelerate and brake more strongly",
    "other": "Drive so that it matters, or leave it out",
}
"""How to drive, or what to measure, to determine a parameter of each kind."""


def _kind(unknown: Unknown) -> str:
    for kind, pattern in _KINDS:
        if re.search(pattern, unknown.name):
            return kind
    return _KINDS_BY_UNIT.get(unknown.unit, "other")


def advice(unknown: Unknown) -> str:
    """How to drive, or what to measure, to know an unknown."""
    return _ADVICE[_kind(unknown)]
