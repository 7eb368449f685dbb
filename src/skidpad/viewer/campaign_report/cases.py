"""Runs to look at: the most extreme, those that failed, those that were kept; with their films."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...campaigns.experiment import RUN
from ...campaigns.study import Case, Study
from ...errors import SkidpadError
from ...manoeuvres.evaluation import number_text
from ...model import Vehicle
from ...stage.film import Film
from ...stage.trajectory_stage import trajectory_stage
from ...trajectory.trajectory import Trajectory
from ...vehicles import named
from ..html import packed
from ..report.replays import FPS, LEAST_ROOM, ROOM, Replay
from ..report.shell import play_link
from .summaries import Totals
from .tables import html_table, labelled

__all__ = ["MOST_FAILED", "CaseGroup", "case_groups", "cases_html", "films_of"]

MOST_FAILED = 10
"""Failed runs that are listed."""
_MOST, _MOST_OTHERS = 10, 20
"""Runs of a group, and of those that were kept for another reason."""
_UNASKED, _UNASKED_GROUPS = 3, 4
"""Runs of a column, and columns, where the plan does not say what is worst."""
_MOST_FACTORS = 12


class CaseGroup(NamedTuple):
    """Runs that are listed together."""

    title: str
    column: str
    """What they were picked for; empty of those that were not."""
    cases: tuple[Case, ...]


def case_groups(study: Study, totals: Totals) -> list[CaseGroup]:
    """As the plan keeps them; of one that keeps none, the highest of the first columns."""
    keep = study.plan.get("keep", {})
    groups = [
        CaseGroup(
            f"{side} {name}", name, study.worst(name, min(count, _MOST), lowest=side == "Lowest")
        )
        for side, wanted in (("Highest", keep.get("highest")), ("Lowest", keep.get("lowest")))
        for name, count in (wanted or {}).items()
    ]
    if not groups:
        groups = [
            CaseGroup(f"Highest {name}", name, study.worst(name, _UNASKED))
            for name in study.names("number")[:_UNASKED_GROUPS]
        ]
    if totals.first_failed:
        more = f", {len(totals.first_failed)} of {totals.failed}"
        title = f"Failed{more if totals.failed > len(totals.first_failed) else ''}"
        groups.append(CaseGroup(title, "", tuple(Case(k, np.nan) for k in totals.first_failed)))
    shown = {case.run for group in groups for case in group.cases}
    others = [k for k in study.folder.trajectories if k not in shown][:_MOST_OTHERS]
    if others:
        groups.append(CaseGroup("Others kept", "", tuple(Case(k, np.nan) for k in others)))
    return [group for group in groups if group.cases]


def cases_html(study: Study, groups: Sequence[CaseGroup], films: Mapping[int, int]) -> str:
    """A table for each group; `films` are the numbers of films by run."""
    return "".join(
        f"<h3>{escape(group.title)}</h3>{_group_table(study, group, films)}" for group in groups
    )


def _group_table(study: Study, group: CaseGroup, films: Mapping[int, int]) -> str:
    factors = study.factors[:_MOST_FACTORS]
    column = [group.column] if group.column else []
    head = ["run", *(labelled(study, name) for name in (*column, *factors)), ""]
    rows: list[list[str]] = []
    for case in group.cases:
        own = _factors_of(study, case.run)
        value = [f"<b>{number_text(case.value)}</b>"] if column else []
        link = play_link(films[case.run]) if case.run in films else ""
        rows.append([str(case.run), *value, *(number_text(own[name]) for name in factors), link])
    return html_table(head, rows, range(1, len(head) - 1))


def _factors_of(study: Study, run: int) -> dict[str, float]:
    """NaN where the run itself is missing, whose trajectory may be there."""
    read = study.folder.read((RUN, *study.factors), run, run + 1)
    return {name: float(read[name][0]) if len(read[RUN]) else np.nan for name in study.factors}


def films_of(study: Study, groups: Sequence[CaseGroup]) -> dict[int, Replay]:
    """Films by run, of the runs that were kept and can be drawn."""
    vehicle = _vehicle(study)
    kept = set(study.folder.trajectories)
    wanted = {
        case.run: (group, case) for group in groups for case in group.cases if case.run in kept
    }
    most = int(ROOM / LEAST_ROOM)
    films: dict[int, Replay] = {}
    for run, (group, case) in list(wanted.items())[:most]:
        film = _film(study, run, vehicle)
        if film is not None:
            block = packed(film.thinned(FPS), ROOM / min(len(wanted), most))
            value = f", {number_text(case.value)}" if group.column else ""
            coded = base64.b64encode(block).decode()
            films[run] = Replay(group.title, f"run {run}{value}", coded)
    return films


def _vehicle(study: Study) -> Vehicle | None:
    """What was driven, as far as the campaign or its plan knows."""
    try:
        vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    except (KeyError, SkidpadError):
        vehicle = None
    if isinstance(vehicle, Vehicle):
        return vehicle
    return _listed_vehicle(study.plan["experiment"].get("vehicle"))


def _listed_vehicle(name: Any) -> Vehicle | None:
    try:
        return named(name) if isinstance(name, str) else None
    except SkidpadError:
        return None


def _film(study: Study, run: int, vehicle: Vehicle | None) -> Film | None:
    """None where nothing can be drawn."""
    try:
        drive = _finite_part(study.folder.trajectory(run))
        vehicle = vehicle or _listed_vehicle(drive and drive.name)
        if drive is None or vehicle is None:
            return None
        own = record.names(type(vehicle.params))
        factors = {k: v for k, v in _factors_of(study, run).items() if k in own}
        driven = vehicle.with_params(**factors) if factors else vehicle
        title = f"{study.plan['name']}: run {run}"
        stage, times, rows = trajectory_stage({vehicle.name: drive}, driven, title=title)
    except SkidpadError:  # no pose, or not the states of this vehicle
        return None
    return Film(stage, times, rows.astype(np.float32))


def _finite_part(run: Trajectory) -> Trajectory | None:
    """Until it diverges; None where less than two samples are left."""
    driven = [one.values for one in run.columns if one.role in ("state", "input")]
    lost = np.flatnonzero(~np.isfinite(np.array(driven)).all(axis=0))
    end = int(lost[0]) if lost.size else len(run)
    return None if end < 2 else run if end == len(run) else run[:end]
