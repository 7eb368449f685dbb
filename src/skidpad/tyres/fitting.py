"""Coefficients of a tyre from measurements: staged least squares with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..checks import one_of
from ..errors import InvalidValue
from ..progress import Choice, watching
from .fit_figure import Residuals
from .fit_kernel import Kernel, rows_of
from .fit_problem import LOSSES, Problem
from .fit_result import Coefficient, Fit, StageFit, rms
from .fit_rows import check_rows
from .fit_search import Search
from .fit_stages import Stage
from .fit_start import USUAL, start_of
from .fit_task import Task, task_of
from .measurement_steps import BINS, levels, step_of
from .measurement_table import Measurements
from .tyre import Tyre

_LEAST_LOAD = 0.05
"""Part of the largest load below which rows say more about the rig than about the tyre."""


def fit(
    measurements: Measurements,
    start: Any = None,
    *,
    version: str | float = "6.1",
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
        measurements: rows of a test; see `measurements` and `Measurements`. They are of the side of
            the car that `start` is for, if it is a tyre.
        start: a tyre to begin with, or its record; or numbers of a Magic Formula tyre that are
            known (`{"UNLOADED_RADIUS": 0.31, "FNOMIN": 4000.0}`): the rest is read off the rows.
        version: of the Magic Formula, if `start` is no tyre: "5.2", "6.1" or "6.2", or the number.
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
    check_rows(measurements)
    mirrored = isinstance(start, Tyre) and start.side != start.measured_on
    rows = measurements.mirrored() if mirrored else measurements
    task = task_of(rows, start, str(version), stages, bounds, fixed)
    done: list[tuple[StageFit, Residuals]] = []
    skipped: dict[str, str] = {}
    leaves = np.array(record.flatten(task.tyre), dtype=float)
    with watching(len(task.stages), "stages", "tyre fit", progress) as bar:
        for stage in task.stages:
            outcome = _fitted_stage(task, stage, leaves, loss)
            if isinstance(outcome, str):
                skipped[stage.name] = outcome + _filled(task, stage, leaves)
            else:
                leaves, stage_fit, residuals = outcome
                done.append((stage_fit, residuals))
            bar.advance(1)
    if not done:
        raise InvalidValue(
            "the measurements have no rows for any stage: "
            + "; ".join(f"{name}: {why}" for name, why in skipped.items())
        )
    tyre = _whole(task, start, leaves)
    residuals = tuple(r.mirrored() if mirrored else r for _, r in done)
    return Fit(tyre, tuple(s for s, _ in done), skipped, residuals)


def _whole(task: Task, start: Any, leaves: Array) -> Tyre:
    """The fitted tyre: that of the start with other numbers, if it is one."""
    if isinstance(start, Tyre):
        return start.with_values(dict(zip(record.names(task.kind), leaves.tolist(), strict=True)))
    return Tyre(record.build(task.kind, leaves))


def _fitted_stage(
    task: Task, stage: Stage, leaves: Array, loss: str
) -> tuple[Array, StageFit, Residuals] | str:
    """The leaves after a stage and what it found; why there is none if it found nothing."""
    table = task.table
    mask = stage.rows(table, _LEAST_LOAD * float(table.F_z.max()))
    part = table.where(mask)
    missed = stage.missed(part)
    if missed:
        return missed
    start = _started(task, stage, part, leaves)
    kernel = Kernel(task.kind, stage.response, tuple(task.places(stage.all_coefficients)))
    search = Search(task, loss)
    for rows, names in _passes(task, stage, part):
        search.go_on(start, _problem(task, stage, kernel, part.where(rows)), names, stage.tries)
    if search.solution is None:
        return f"{len(part)} rows do not tell any of its coefficients"
    return _stage_result(task, stage, part, search, start)


def _filled(task: Task, stage: Stage, leaves: Array) -> str:
    """Put usual values where a new tyre would otherwise have its full force in both directions at
    once; says which."""
    usual = USUAL.get(stage.name, {}) if task.fresh else {}
    names = [name for name in usual if name not in task.known and task.place(name) is not None]
    leaves[task.places(names)] = [usual[name] for name in names]
    return f"; {', '.join(names)} have usual values" if names else ""


def _started(task: Task, stage: Stage, part: Measurements, leaves: Array) -> Array:
    """The leaves with what the rows say at first sight, unless the user said it."""
    start = leaves.copy()
    if task.fresh:
        own = record.unflatten(task.kind, leaves.tolist())
        without = {*task.without_data(stage, part), *task.fixed}
        for name, value in start_of(stage.name, part, own).items():
            place = task.place(name)
            if place is not None and name not in task.known and place not in without:
                start[place] = value
    return start


def _passes(task: Task, stage: Stage, part: Measurements) -> list[tuple[AnyArray, tuple[str, ...]]]:
    """Rows and coefficients: upright at nominal pressure, then with camber, then all.

    Only of pure slip: rows with both slips are few, and each is needed.
    """
    upright, nominal = task.upright(part), task.nominal(part)
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


def _problem(task: Task, stage: Stage, kernel: Kernel, part: Measurements) -> Problem:
    rows = rows_of(part, task.tyre, task.speed)
    return Problem(kernel, rows, part[stage.response], task.weight(stage, part))


def _stage_result(
    task: Task, stage: Stage, part: Measurements, search: Search, start: Array
) -> tuple[Array, StageFit, Residuals]:
    solution = search.solution
    assert solution is not None
    names = task.names
    why = {**search.why, **task.without_data(stage, part)}
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
    measured = part[stage.response] * task.weight(stage, part)
    shown = Residuals(stage, part, measured, error, kept)
    return solution.leaves, result, shown
