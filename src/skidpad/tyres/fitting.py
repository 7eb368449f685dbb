"""Coefficients of a tyre from measurements: staged least squares with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from .fit_kernel import Kernel, rows_of
from .fit_problem import LEAST_NOISE, LOSSES, Problem, Solution, beside, best_start, solve, untold
from .fit_result import Coefficient, Fit, StageFit, rms
from .fit_stages import BOUNDS, MAGIC_FORMULA, Stage, usual_size
from .fit_start import frame_of, start_of
from .measurement_steps import BINS, levels, step_of
from .measurement_table import Measurements
from .tyre import Tyre

_VERSIONS = {"5.2": 52, "6.1": 61, "6.2": 62}
_LEAST_LOAD = 0.05
"""Part of the largest load below which rows say more about the rig than about the tyre."""
_UPRIGHT = float(np.deg2rad(0.2))
_MOST_REFITS = 4
"""How often coefficients may turn out to be untold, and the rest be fitted again."""
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
        start: a tyre to begin with, or its record; or numbers that are known (`{"UNLOADED_RADIUS": 0.31,
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
    tyre = _whole(task, start, leaves)
    return Fit(tyre, tuple(s for s, _ in done), skipped, tuple(r for _, r in done))


def _whole(task: _Task, start: Any, leaves: Array) -> Tyre:
    """The fitted tyre: that of the start with other numbers, if it is one."""
    if isinstance(start, Tyre):
        return start.with_values(dict(zip(record.names(task.kind), leaves.tolist(), strict=True)))
    return Tyre(record.build(task.kind, leaves))


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
    magic: bool
    """Whether it is a tyre of the Magic Formula."""

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
    chosen = tuple(MAGIC_FORMULA if stages is None else stages)
    # Names of other versions of the Magic Formula are no mistakes.
    allowed = {*places, *(n for s in MAGIC_FORMULA for n in s.all_coefficients if magic)}
    asked = {f"stage {stage.name!r}": stage.all_coefficients for stage in chosen}
    for what, names in {"bounds": bounds or {}, "fixed": fixed, **asked}.items():
        for name in names:
            if name not in allowed:
                kind = type(tyre).__name__
                leaves = sorted({n for n in places if "." not in n})
                raise InvalidValue(f"{what}: {record.unknown_name(kind, name, leaves)}")
    return _Task(
        table,
        tyre,
        fresh,
        frozenset(name.rpartition(".")[2] for name in known),
        chosen,
        {places[n]: _pair(n, pair) for n, pair in limits.items() if n in places},
        frozenset(places[name] for name in fixed if name in places),
        magic,
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
            leaves = sorted({n for n in places if "." not in n})
            raise InvalidValue(f"start: {record.unknown_name(kind.__name__, name, leaves)}")
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
    start = _started(task, stage, part, leaves)
    kernel = Kernel(task.kind, stage.response, tuple(_wanted(task, stage.all_coefficients)))
    search = _Search(task, loss)
    for rows, names in _passes(task, stage, part):
        search.go_on(start, _problem(task, stage, kernel, part.where(rows)), names, stage.tries)
    if search.solution is None:
        return f"{len(part)} rows do not tell any of its coefficients"
    return _stage_result(task, stage, part, search, start)


class _Search:
    """A stage under way: what is free, what is not and why, the best so far."""

    def __init__(self, task: _Task, loss: str) -> None:
        self._task, self._loss = task, loss
        self._names = [name.rpartition(".")[2] for name in record.names(task.kind)]
        self._tried = not task.fresh
        self.free: tuple[int, ...] = ()
        self.why: dict[int, str] = {}
        self.solution: Solution | None = None

    def go_on(
        self,
        start: Array,
        problem: Problem,
        names: Sequence[str],
        tries: Sequence[Mapping[str, float]],
    ) -> None:
        """Fit these coefficients to these rows, from where the pass before ended."""
        task, before = self._task, self.solution
        wanted = _wanted(task, names)
        leaves = start if before is None else before.leaves
        self.why = {k: "fixed by the user" for k in wanted if k in task.fixed}
        noise = 0.0 if before is None else before.noise
        self._leave_untold(problem, beside(leaves, wanted), wanted, noise)
        if not self.free:
            return
        if not self._tried and tries and {n for t in tries for n in t} <= set(names):
            guesses = [_changed(task, leaves, values, self.free) for values in ({}, *tries)]
            leaves, self._tried = best_start(problem, guesses, self.free, task.bounds), True
        solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        for _ in range(_MOST_REFITS):
            free = self.free
            noise = max(solution.noise, LEAST_NOISE)
            self._leave_untold(problem, solution.leaves, free, noise)
            if self.free in (free, ()):
                break
            leaves = solution.leaves.copy()
            left = [k for k in free if k not in self.free]
            leaves[left] = start[left]
            solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        self.solution = solution

    def _leave_untold(
        self, problem: Problem, leaves: Array, wanted: Sequence[int], noise: float
    ) -> None:
        """Keep those free that the rows tell; `why` says why not the others."""
        # A row more than coefficients: errors must be able to show.
        few = wanted[max(len(problem.measured) - 1, 0) :]
        self.why |= dict.fromkeys(few, "there are too few rows")
        rest = [k for k in wanted if k not in self.why]
        sizes = np.array([self._size(k, leaves) for k in rest])
        for k, (half, other) in (
            untold(problem, leaves, rest, sizes, noise) if rest else {}
        ).items():
            self.why[k] = self._reason(half, other)
        self.free = tuple(k for k in rest if k not in self.why)

    def _reason(self, half: float, other: int | None) -> str:
        if np.isinf(half):
            return "the rows do not depend on it"
        mixed = "" if other is None else f"not told apart from {self._names[other]}"
        vague = "" if np.isnan(half) else f"known to no better than {half:.2g} either way"
        return ", ".join(part for part in (vague, mixed) if part)

    def _size(self, place: int, leaves: Array) -> float:
        """A change of a coefficient that would be large."""
        if self._task.magic:
            return usual_size(self._names[place])
        return 10.0 * max(abs(float(leaves[place])), 1.0)


def _started(task: _Task, stage: Stage, part: Measurements, leaves: Array) -> Array:
    """The leaves with what the rows say at first sight, unless the user said it."""
    start = leaves.copy()
    if task.fresh:
        own = record.unflatten(task.kind, leaves)
        without = {*_absent(task, stage, part), *task.fixed}
        for name, value in start_of(stage.name, part, own).items():
            place = task.place(name)
            if place is not None and name not in task.known and place not in without:
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
    """Rows and coefficients: upright at nominal pressure, then with camber, then all.

    Only of pure slip: rows with both slips are few, and each is needed.
    """
    upright = np.abs(part.gamma) < _UPRIGHT
    nominal = ~(np.abs(part.p - task.pressure) > BINS["p"])  # an unknown pressure is nominal
    passes: list[tuple[AnyArray, tuple[str, ...]]] = []
    leant = bool((~upright).any()) and bool(stage.camber)
    inflated = bool((~nominal).any()) and bool(stage.pressure)
    names, everything = stage.coefficients, np.ones(len(part), dtype=bool)
    enough = 2 * len(names)
    if leant and stage.below and np.sum(upright & nominal) > enough:
        passes.append((upright & nominal, names))
    if leant:
        names = (*names, *stage.camber)
    if inflated and stage.below and np.sum(nominal) > 2 * len(names):
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


def _problem(task: _Task, stage: Stage, kernel: Kernel, part: Measurements) -> Problem:
    rows = rows_of(part, task.tyre, task.speed)
    return Problem(kernel, rows, part[stage.response], _weight(task, stage, part))


def _weight(task: _Task, stage: Stage, part: Measurements) -> Array:
    """One over load, for moments over load times radius, so that all loads count alike."""
    return 1.0 / (part.F_z * (task.radius if stage.response.startswith("M") else 1.0))


def _stage_result(
    task: _Task, stage: Stage, part: Measurements, search: _Search, start: Array
) -> tuple[Array, StageFit, Residuals]:
    solution = search.solution
    assert solution is not None
    names = [name.rpartition(".")[2] for name in record.names(task.kind)]
    why = {**search.why, **_absent(task, stage, part)}
    coefficients = tuple(
        Coefficient(names[k], float(start[k]), value, value - float(half), value + float(half))
        for k, half in zip(search.free, solution.half, strict=True)
        for value in (float(solution.leaves[k]),)
    )
    error, kept = solution.errors, solution.kept
    steps = levels(part.F_z, BINS["F_z"])
    at = step_of(part.F_z, steps, BINS["F_z"])
    result = StageFit(
        stage.name,
        stage.response,
        coefficients,
        {names[k]: reason for k, reason in why.items()},
        len(part),
        len(task.table) - len(part),
        int(np.sum(~kept)),
        rms(error[kept]),
        {float(load): rms(error[kept & (at == k)]) for k, load in enumerate(steps)},
    )
    weight = _weight(task, stage, part)
    shown = Residuals(stage, part, part[stage.response] * weight, error, kept)
    return solution.leaves, result, shown
