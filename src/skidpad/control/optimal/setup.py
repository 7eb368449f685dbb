"""Parameters of a vehicle that minimise the time of its lap, found together with the lap.

The parameters are further variables of the nonlinear program. The distribution of drive and brakes
is a plain function of parameters; within a round it is linear in them, and rounds are repeated
until the parameters stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core import record
from ...core.progress import Choice
from ...errors import InvalidValue, NotOptimal
from .point import Equations, PointFunctions, PointProblem
from .sensitivities import chain_of
from .solver import Evaluations, solve
from .transcription import Transcription

Lap = Any
"""A `lap.Lap`, whose module imports this one."""
ROUNDS = 20
"""Largest number of rounds."""
SETTLED = 1e-6
"""Change of all parameters in a round, over their ranges, after which they stay."""


def optimise_setup(
    lap: Lap, ranges: Mapping[str, tuple[float, float]], *, progress: Choice = None
) -> Lap:
    """Return the lap of least cost over parameters within ranges; see `Lap.optimised`."""
    names = tuple(ranges)
    _check(lap, ranges)
    low, high = (np.array([float(ranges[name][k]) for name in names]) for k in (0, 1))
    span = high - low
    functions = PointFunctions(_with_setup(lap.model.problem, names), names)
    of = lap.evaluations.of
    transcription = Transcription(functions, of.mesh, of.data, span)
    for _ in range(ROUNDS):
        values = np.array([lap.parameter(name) for name in names])
        inner = np.clip(values, low, high)
        if (inner != values).any():
            lap = lap.changed(dict(zip(names, inner.tolist(), strict=True)), progress=progress)
            values = inner
        chain, moving = chain_of(lap, names)
        fixed = [
            name
            for name, *ends in zip(names, *(side.T for side in moving), strict=True)
            if np.any(ends)
        ]
        if fixed:
            raise InvalidValue(
                f"{fixed[0]} is a limit of the vehicle's commands or its width, which is not "
                "optimised; see the sensitivity to it"
            )
        count = record.size(lap.vehicle.model.Params)
        p = np.concatenate([lap.evaluations.params, values, chain[count:].T.ravel()])
        ends = (
            np.append(bound, side / span)
            for bound, side in zip(lap.bounds, (low, high), strict=True)
        )
        before = lap.solution
        solution = solve(
            Evaluations(transcription, p),
            np.append(before.x, values / span),
            *ends,
            previous=before._replace(
                bound_multipliers=np.append(before.bound_multipliers, 0.0 * low)
            ),
            options={"mu_init": 1e-4},
            progress=progress,
        )
        if not solution.converged:
            raise NotOptimal(
                f"the setup of {lap.vehicle.name!r} did not converge (IPOPT: {solution.status}); "
                "give narrower ranges",
                lap=lap,
            )
        found = np.clip(solution.x[-len(names) :] * span, low, high)
        lap = lap.changed(dict(zip(names, found.tolist(), strict=True)), progress=progress)
        if np.abs(found - values).max(initial=0.0) <= SETTLED * span.min():
            break
    return lap


def _check(lap: Lap, ranges: Mapping[str, tuple[float, float]]) -> None:
    known = {leaf.name: leaf for leaf in record.fields(type(lap.vehicle.params))}
    if not ranges:
        raise InvalidValue("no parameters to optimise; give their ranges by name")
    for name, (low, high) in ranges.items():
        if name not in known:
            raise InvalidValue(record.unknown_name("params", name, tuple(known)))
        if not -np.inf < low < high < np.inf:
            raise InvalidValue(f"{name}: range {low:g} to {high:g} must increase and be finite")
        allowed = known[name].allowed
        for end in (low, high):
            if allowed is not None and end not in allowed:
                raise InvalidValue(f"{name} = {end:g} must be {allowed}")


def _with_setup(problem: PointProblem, names: Sequence[str]) -> PointProblem:
    """The problem with a distribution of controls that is linear in parameters.

    Its further parameters are the values of the named ones where the distribution is exact, and the
    slopes of every entry of the distribution by each of them.
    """
    count = len(problem.params)
    spread = [k for k, name in enumerate(problem.params) if name.startswith(("base ", "share "))]
    where = [problem.params.index(name) for name in names]

    def equations(z: Any, d: Any, p: Any) -> Equations:
        own, origin = list(p[:count]), p[count : count + len(names)]
        for f, at in enumerate(where):
            change = p[at] - origin[f]
            slopes = p[count + len(names) + f * len(spread) :]
            for k, slope in zip(spread, slopes, strict=False):
                own[k] = own[k] + slope * change
        return problem.equations(z, d, tuple(own))

    origins = [f"origin {name}" for name in names]
    slopes = [f"slope {name} {problem.params[k]}" for name in names for k in spread]
    return replace(problem, params=(*problem.params, *origins, *slopes), equations=equations)
