"""Coefficients of a tyre from measurements: staged least squares with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..checks import one_of
from ..components.tyre.contract import record_of
from ..components.tyre.magic import magic_formula_type
from ..errors import InvalidValue
from ..progress import Choice, watching
from .fit_figure import Residuals
from .fit_kernel import rows_of
from .fit_problem import LOSSES, Problem, Solution, determined, solve
from .fit_result import Coefficient, Fit, StageFit, rms
from .fit_stages import BOUNDS, MAGIC_FORMULA, Stage
from .fit_start import frame_of, start_of
from .measurement_steps import BINS, levels, step_of
from .measurement_table import Measurements

_VERSIONS = {"5.2": 52, "6.1": 61, "6.2": 62}
_LEAST_LOAD = 0.05
"""Part of the largest load below which rows say more about the rig than about the tyre."""
_UPRIGHT = float(np.deg2rad(0.2))
_OUTLIER = 5.0
"""Median sizes of errors, times 1.48, from which a row is an outlier."""
_RADIUS = 0.3
"""Radius in m that moments are divided by where a tyre does not say its own."""
_SPEED = 16.7


def fit(
    measurements: Measurements,
    start: Any = None,
    *,
    version: str = "6.1",
    stages: Sequence[Stage] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    loss: str = "soft_l1",
    fixed: Sequence[str] = (),
    progress: Choice = None,
) -> Fit:
    """Fit the coefficients of a tyre to measurements.

    Each stage is a least squares problem of one force or moment, with what earlier stages found
    held fast. Coefficients that the rows do not tell, such as those of camber where there is none,
    stay as they are.

    Args:
        measurements: rows of a test; see `measurements` and `Measurements`.
        start: a tyre to begin with; or numbers that are known (`{"UNLOADED_RADIUS": 0.31,
            "FNOMIN": 4000.0}`) of a Magic Formula tyre, the rest of which is read off the rows.
        version: of the Magic Formula, if `start` is no tyre: "5.2", "6.1" or "6.2".
        stages: what to fit, in order; by default those of the Magic Formula.
        bounds: lowest and highest values of coefficients, beside the usual ones.
        loss: "soft_l1" lets rows far off count less; "linear" is plain least squares.
        fixed: coefficients that stay as they are.
        progress: see `skidpad.progress`; stages are counted.
    """
    if not isinstance(measurements, Measurements):
        raise InvalidValue(f"measurements must be Measurements, got {measurements!r:.80}")
    if not len(measurements):
        raise InvalidValue("measurements have no rows")
    one_of("loss", loss, LOSSES)
    task = _task(measurements, start, version, stages, bounds, fixed)
    done: list[tuple[StageFit, Residuals]] = []
    skipped: dict[str, str] = {}
    leaves = np.array(record.flatten(task.tyre), dtype=float)
    with watching(len(task.stages), "stages", "tyre fit", progress) as bar:
        for stage in task.stages:
            outcome = _fitted_stage(task, stage, leaves, loss)
            if isinstance(outcome, str):
                skipped[stage.name] = outcome
            else:
                leaves, *found = outcome
                done.append((found[0], found[1]))
            bar.advance(1)
    if not done:
        raise InvalidValue(
            "the measurements have no rows for any stage: "
            + "; ".join(f"{name}: {why}" for name, why in skipped.items())
        )
    tyre = record.build(task.kind, leaves)
    whole = replace(start, record=tyre) if hasattr(start, "record") else tyre
    return Fit(whole, tuple(s for s, _ in done), skipped, tuple(r for _, r in done))


@dataclass(frozen=True)
class _Task:
    """What is to be fitted."""

    table: Measurements
    tyre: Any
    """The record that it starts from."""
    fresh: bool
    """Whether starts are to be read off the rows."""
    known: frozenset[str]
    """Coefficients whose start the user gave, by their short names."""
    stages: tuple[Stage, ...]
    bounds: Mapping[int, tuple[float, float]]
    fixed: frozenset[int]

    @property
    def kind(self) -> type:
        return type(self.tyre)

    def place(self, name: str) -> int | None:
        """The place of a coefficient among the leaves, if the tyre has it."""
        return _places(self.kind).get(name)

    @property
    def pressure(self) -> float:
        place = self.place("NOMPRES")
        own = record.flatten(self.tyre)[place] if place is not None else self.tyre.pressure
        return float(own)

    @property
    def speed(self) -> float:
        place = self.place("LONGVL")
        return _SPEED if place is None else float(record.flatten(self.tyre)[place])

    @property
    def radius(self) -> float:
        place = self.place("UNLOADED_RADIUS")
        return _RADIUS if place is None else float(record.flatten(self.tyre)[place])


def _places(kind: type) -> dict[str, int]:
    """Places of leaves by their whole and by their short names."""
    names = record.names(kind)
    short = {name.rpartition(".")[2]: k for k, name in enumerate(names)}
    return short | {name: k for k, name in enumerate(names)}


def _task(
    table: Measurements,
    start: Any,
    version: str,
    stages: Sequence[Stage] | None,
    bounds: Mapping[str, tuple[float, float]] | None,
    fixed: Sequence[str],
) -> _Task:
    fresh = start is None or isinstance(start, Mapping)
    known: Mapping[str, float] = start if isinstance(start, Mapping) else {}
    tyre = _new_tyre(table, known, version) if fresh else record_of(start)
    places = _places(type(tyre))
    magic = "longitudinal.PCX1" in places
    if stages is None and not magic:
        raise InvalidValue(
            f"{type(tyre).__name__} is no tyre of the Magic Formula; say what to fit: "
            "stages=[Stage('lateral', 'F_y', ('C', 'D'))]"
        )
    if isinstance(fixed, str):
        raise InvalidValue(f"fixed = {fixed!r} must be a list of names, such as ['PEX4']")
    limits = {**(BOUNDS if magic else {}), **(bounds or {})}
    for what, names in (("bounds", bounds or {}), ("fixed", fixed)):
        for name in names:
            if name not in places:
                raise InvalidValue(f"{what}: {record.unknown_name('tyre', name, tuple(places))}")
    chosen = tuple(MAGIC_FORMULA if stages is None else stages)
    for stage in chosen if stages is not None else ():
        for name in stage.all_coefficients:
            if name not in places:
                raise InvalidValue(
                    f"stage {stage.name!r}: {record.unknown_name('tyre', name, tuple(places))}"
                )
    return _Task(
        table,
        tyre,
        fresh,
        frozenset(name.rpartition(".")[2] for name in known),
        chosen,
        {places[n]: _pair(n, pair) for n, pair in limits.items() if n in places},
        frozenset(places[name] for name in fixed),
    )


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in pair)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"bounds: {name} = {pair!r} must be lowest and highest") from error
    if not low < high:
        raise InvalidValue(f"bounds: {name} = {pair!r}: the lowest must be below the highest")
    return low, high


def _new_tyre(table: Measurements, known: Mapping[str, float], version: str) -> Any:
    one_of("version", version, tuple(_VERSIONS))
    kind = magic_formula_type(_VERSIONS[version])
    names, places = record.names(kind), _places(kind)
    for name in known:
        if name not in places:
            raise InvalidValue(f"start: {record.unknown_name(kind.__name__, name, tuple(places))}")
    short = {name.rpartition(".")[2]: value for name, value in known.items()}
    values = frame_of(table, short)
    return record.build(kind, {names[places[n]]: v for n, v in values.items() if n in places})


def _fitted_stage(
    task: _Task, stage: Stage, leaves: Array, loss: str
) -> tuple[Array, StageFit, Residuals] | str:
    """The leaves after a stage and what it found; why there is none if it found nothing."""
    table = task.table
    mask = stage.rows(table, _LEAST_LOAD * float(table.F_z.max()))
    if not mask.any():
        return f"no rows with {stage.response} at such slip"
    part = table.where(mask)
    before, start = leaves, _started(task, stage, part, leaves)
    why: dict[int, str] = {}
    solution: Solution | None = None
    free: tuple[int, ...] = ()
    for rows, names in _passes(task, stage, part):
        problem = _problem(task, stage, part.where(rows))
        wanted = _wanted(task, names)
        why = {k: "fixed by the user" for k in wanted if k in task.fixed}
        tries = [{}] if solution is not None or not task.fresh else [{}, *stage.tries]
        start = solution.leaves if solution is not None else start
        free, untold = _told(task, problem, start, [k for k in wanted if k not in why])
        why |= untold
        if not free:
            continue
        guesses = [_changed(task, start, values, free) for values in tries]
        found = [solve(problem, guess, free, task.bounds, loss) for guess in guesses]
        solution = min(found, key=lambda s: s.cost)
    if solution is None:
        return f"{len(part)} rows do not tell any of its coefficients"
    missing = {k: reason for k, reason in _absent(task, stage, part).items() if k not in free}
    return _stage_result(task, stage, part, free, solution, {**why, **missing}, before)


def _started(task: _Task, stage: Stage, part: Measurements, leaves: Array) -> Array:
    """The leaves with what the rows say at first sight, unless the user said it."""
    start = leaves.copy()
    if task.fresh:
        for name, value in start_of(stage.name, part, record.unflatten(task.kind, leaves)).items():
            place = task.place(name)
            if place is not None and name not in task.known and place not in task.fixed:
                start[place] = value
    return start


def _changed(
    task: _Task, start: Array, values: Mapping[str, float], free: tuple[int, ...]
) -> Array:
    guess = start.copy()
    for name, value in values.items():
        place = task.place(name)
        if place in free and name not in task.known:
            guess[place] = value
    return guess


def _passes(
    task: _Task, stage: Stage, part: Measurements
) -> list[tuple[AnyArray, tuple[str, ...]]]:
    """Rows and coefficients: upright at nominal pressure, then with camber, then all."""
    upright = np.abs(part.gamma) < _UPRIGHT
    nominal = ~(np.abs(part.p - task.pressure) > BINS["p"])  # an unknown pressure is nominal
    passes: list[tuple[AnyArray, tuple[str, ...]]] = []
    leant = bool((~upright).any()) and bool(stage.camber)
    inflated = bool((~nominal).any()) and bool(stage.pressure)
    names, everything = stage.coefficients, np.ones(len(part), dtype=bool)
    enough = 2 * len(names)
    if leant and np.sum(upright & nominal) > enough:
        passes.append((upright & nominal, names))
    if leant:
        names = (*names, *stage.camber)
    if inflated and np.sum(nominal) > 2 * len(names):
        passes.append((nominal, names))
    if inflated:
        names = (*names, *stage.pressure)
    passes.append((everything, names))
    return passes


def _wanted(task: _Task, names: Sequence[str]) -> list[int]:
    places = (task.place(name) for name in names)
    return [place for place in places if place is not None]


def _absent(task: _Task, stage: Stage, part: Measurements) -> dict[int, str]:
    """Coefficients of camber and pressure where these do not vary."""
    reasons: dict[int, str] = {}
    if not (np.abs(part.gamma) >= _UPRIGHT).any():
        reasons |= {k: "no row has camber" for k in _wanted(task, stage.camber)}
    if not (np.abs(part.p - task.pressure) > BINS["p"]).any():
        reasons |= {k: "pressure does not vary" for k in _wanted(task, stage.pressure)}
    return reasons


def _problem(task: _Task, stage: Stage, part: Measurements) -> Problem:
    radius = task.radius if stage.response.startswith("M") else 1.0
    rows = rows_of(part, task.tyre, task.speed)
    return Problem(
        task.kind, stage.response, rows, part[stage.response], 1.0 / (part.F_z * radius)
    )


def _told(
    task: _Task, problem: Problem, start: Array, wanted: list[int]
) -> tuple[tuple[int, ...], dict[int, str]]:
    """The coefficients that the rows tell, and why not the others."""
    # A row more than coefficients: errors must be able to show.
    few = {k: "there are too few rows" for k in wanted[max(len(problem.measured) - 1, 0) :]}
    rest = [k for k in wanted if k not in few]
    names = [name.rpartition(".")[2] for name in record.names(task.kind)]
    scales = np.maximum(np.abs(start[rest]), 0.1)
    untold = determined(problem, start, rest, scales) if rest else {}
    reasons = {
        k: "the rows do not depend on it" if other is None else f"not told apart from {names[other]}"
        for k, other in untold.items()
    }
    return tuple(k for k in rest if k not in reasons), {**few, **reasons}


def _stage_result(
    task: _Task,
    stage: Stage,
    part: Measurements,
    free: tuple[int, ...],
    solution: Solution,
    why: Mapping[int, str],
    before: Array,
) -> tuple[Array, StageFit, Residuals]:
    names = [name.rpartition(".")[2] for name in record.names(task.kind)]
    coefficients = tuple(
        Coefficient(names[k], float(before[k]), value, value - float(half), value + float(half))
        for k, half in zip(free, solution.half, strict=True)
        for value in (float(solution.leaves[k]),)
    )
    error = solution.errors
    steps = levels(part.F_z, BINS["F_z"])
    at = step_of(part.F_z, steps, BINS["F_z"])
    usual = 1.4826 * float(np.median(np.abs(error)))
    result = StageFit(
        stage.name,
        stage.response,
        coefficients,
        {names[k]: reason for k, reason in why.items()},
        len(part),
        len(task.table) - len(part),
        rms(error),
        {float(load): rms(error[at == k]) for k, load in enumerate(steps)},
        int(np.sum(np.abs(error) > _OUTLIER * max(usual, 1e-9))),
    )
    return solution.leaves, result, Residuals(stage, part, error)
