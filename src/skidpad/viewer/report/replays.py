"""Replays of the drives: films for one frame of the page, which are chosen from a list."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...manoeuvres import CaseRun, Chart, Curve, Evaluation, Result
from ...stage.description import Disc
from ...stage.film import Film
from ...stage.trajectory_stage import trajectory_stage
from ...trajectory.trajectory import Trajectory
from ..html import packed

__all__ = ["Replay", "cones_of", "replays"]

FPS = 25.0
"""Pictures a second."""
MOST_DRIVES = 8
"""Of a manoeuvre; of more, some evenly chosen, the first and the last among them."""
ROOM = 5.5e6
"""Bytes of all films together."""
LEAST_ROOM = 30e3
"""Bytes of one film: below that there are fewer of them."""
CONE_RADIUS = 0.15
"""In m."""


class Replay(NamedTuple):
    """A drive to look at."""

    manoeuvre: str
    """Title."""
    label: str
    film: str
    """Deflated and in base64, for the replay page."""


def replays(evaluation: Evaluation) -> list[Replay]:
    """The drives of every manoeuvre: vehicles that drove the same case are seen together."""
    reference = evaluation.reference
    results = [*evaluation.results, *(reference.results if reference is not None else ())]
    by_manoeuvre: dict[str, list[Result]] = {}
    for result in results:
        if result.runs:
            by_manoeuvre.setdefault(result.manoeuvre.name, []).append(result)
    drives = [
        (own[0].manoeuvre.title, label, runs, cones_of(own))
        for own in by_manoeuvre.values()
        for label, runs in _drives(own)
    ]
    if len(drives) * LEAST_ROOM > ROOM:
        kept = np.unique(np.linspace(0, len(drives) - 1, int(ROOM / LEAST_ROOM)).astype(int))
        drives = [drives[k] for k in kept.tolist()]
    made: list[Replay] = []
    for title, label, runs, cones in drives:
        film = _film(f"{title}: {label}", runs, cones)
        if film is not None:
            block = packed(film.thinned(FPS), ROOM / max(len(drives), 1))
            made.append(Replay(title, label, base64.b64encode(block).decode()))
    return made


def _drives(results: Sequence[Result]) -> list[tuple[str, dict[str, tuple[Result, CaseRun]]]]:
    """Runs by vehicle for each case: of the same label where there is one, else of the same
    place among the runs."""
    first = results[0]
    count = len(first.runs)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_DRIVES)).round().astype(int))
    listed: list[tuple[str, dict[str, tuple[Result, CaseRun]]]] = []
    for k in chosen.tolist():
        label = first.runs[k].label
        runs: dict[str, tuple[Result, CaseRun]] = {}
        for result in results:
            named = [run for run in result.runs if run.label == label]
            there = result.runs[k : k + 1]
            run = next(iter([*named, *there]), None)
            if run is not None:
                runs[result.car.name] = result, run
        listed.append((label, runs))
    return listed


def cones_of(results: Sequence[Result]) -> tuple[Disc, ...]:
    """Those of the charts of the ground, of all vehicles: some stand by the width of each."""
    places: dict[tuple[float, float], None] = {}
    for result in results:
        charts = result.findings.charts if result.findings is not None else ()
        ground = (own for chart in charts if chart.equal and (own := _cones(chart)))
        for curve in next(ground, ()):
            places |= dict.fromkeys(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    return tuple(Disc(float(x), float(y), CONE_RADIUS) for x, y in places)


def _cones(chart: Chart) -> list[Curve]:
    return [curve for curve in chart.curves if curve.kind == "cones"]


def _film(
    title: str, runs: dict[str, tuple[Result, CaseRun]], cones: tuple[Disc, ...]
) -> Film | None:
    """The film of the first variants; None where nothing can be drawn."""
    seen: dict[str, Trajectory] = {}
    vehicles: dict[str, Any] = {}
    for name, (result, run) in runs.items():
        drive = _trajectory(result, run)
        if drive is not None:
            seen[name], vehicles[name] = drive, result.car.each[0]
    if not seen:
        return None
    stage, times, rows = trajectory_stage(seen, vehicles, title=title, discs=cones)
    return Film(stage, times, rows.astype(np.float32))


def _trajectory(result: Result, run: CaseRun) -> Trajectory | None:
    """Until it diverges; None where less than two samples are left, or on a road of its own kind
    of car."""
    if run.states is None or run.inputs is None:
        return None
    vehicle, part = result.car.vehicle, run.since(0.0)
    states: Any = part.states
    inputs: Any = part.inputs
    finite = np.isfinite(states[:, 0]).all(axis=-1) & np.isfinite(inputs[:, 0]).all(axis=-1)
    end = len(finite) if finite.all() else int(np.argmin(finite))
    fits = states.shape[-1] == record.size(vehicle.State)
    if end < 2 or not fits:
        return None
    return Trajectory.from_arrays(
        part.t[:end],
        (vehicle.State, states[:end, 0]),
        (vehicle.Input, inputs[:end, 0]),
        name=vehicle.name,
    )
