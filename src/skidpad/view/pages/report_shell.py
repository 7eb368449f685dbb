"""Common parts of all reports: the page around their sections, HTML elements, and replays.

A report is one page without external requests, for screens and paper. Its replays are films shown
in one frame of the page and chosen from a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...core import record
from ...run.trajectory import Trajectory
from ...study.manoeuvres.case_run import CaseRun
from ...study.manoeuvres.evaluation import Evaluation
from ...study.manoeuvres.proving_ground import Result
from ..film import Film
from ..stage import Disc
from ..stages import trajectory_stage
from .page import base64_text, pack_film, replay_page

FPS = 25.0
"""Frame rate of replays."""
MOST_DRIVES = 8
"""Most replays per manoeuvre; of more drives, evenly chosen ones with the first and the
last."""
ROOM = 5.5e6
"""Budget of all films together, in bytes."""
LEAST_ROOM = 30e3
"""Least budget of one film in bytes; below it, fewer films are shown."""
CONE_RADIUS = 0.15
"""Radius of drawn cones, in m."""


class Replay(NamedTuple):
    """Film of a drive in a report."""

    manoeuvre: str
    """Title of its group."""
    label: str
    film: str
    """Film data for the replay page, deflated and in base64."""

    @classmethod
    def of(cls, group: str, label: str, film: Film, room: float) -> Replay:
        """Replay of a film, thinned to `room` bytes."""
        return cls(group, label, base64_text(pack_film(film.thinned(FPS), room)))


def replays(evaluation: Evaluation) -> list[Replay]:
    """Replays of every manoeuvre; vehicles that drove the same case share a film."""
    reference = evaluation.reference
    by_manoeuvre: dict[str, list[Result]] = {}
    for result in (*evaluation.results, *(reference.results if reference is not None else ())):
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
    return [
        Replay.of(title, label, film, ROOM / len(drives))
        for title, label, runs, cones in drives
        if (film := _film(f"{title}: {label}", runs, cones)) is not None
    ]


def _drives(results: Sequence[Result]) -> list[tuple[str, dict[str, tuple[Result, CaseRun]]]]:
    """Label and runs by vehicle of each case: runs with the same label if there are any, else with
    the same index."""
    first = results[0]
    count = len(first.runs)
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_DRIVES)).round().astype(int))
    listed: list[tuple[str, dict[str, tuple[Result, CaseRun]]]] = []
    for k in chosen.tolist():
        label = first.runs[k].label
        runs = {
            result.car.name: (result, own[0])
            for result in results
            if (own := [*(r for r in result.runs if r.label == label), *result.runs[k : k + 1]])
        }
        listed.append((label, runs))
    return listed


def cones_of(results: Sequence[Result]) -> tuple[Disc, ...]:
    """Cones of all vehicles' ground charts; some positions depend on the width of the vehicle."""
    places: dict[tuple[float, float], None] = {}
    for result in results:
        charts = result.findings.charts if result.findings is not None else ()
        cones = ([c for c in chart.curves if c.kind == "cones"] for chart in charts if chart.equal)
        for curve in next(filter(None, cones), ()):
            places |= dict.fromkeys(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    return tuple(Disc(float(x), float(y), CONE_RADIUS) for x, y in places)


def _film(
    title: str, runs: dict[str, tuple[Result, CaseRun]], cones: tuple[Disc, ...]
) -> Film | None:
    """Film of a case, for the first variants of the vehicles; None if nothing can be drawn."""
    drives = {name: _trajectory(result, run) for name, (result, run) in runs.items()}
    seen = {name: drive for name, drive in drives.items() if drive is not None}
    vehicles = {name: runs[name][0].car.each[0] for name in seen}
    return Film.of(*trajectory_stage(seen, vehicles, title=title, discs=cones)) if seen else None


def _trajectory(result: Result, run: CaseRun) -> Trajectory | None:
    """Samples until the run diverges; None if fewer than two are left, or if the run's states are
    not those of the vehicle."""
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
    driven = (vehicle.State, states[:end, 0]), (vehicle.Input, inputs[:end, 0])
    return Trajectory.from_arrays(part.t[:end], *driven, name=vehicle.name)


_FOLDER = files("skidpad.view.pages").joinpath("evaluation")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg "
    "fill='none' stroke='%230b6bcb' stroke-width='4'%3E%3Ccircle cx='16' cy='9.5' r='6.5'/%3E"
    "%3Ccircle cx='16' cy='22.5' r='6.5'/%3E%3C/g%3E%3C/svg%3E"
)


def document(title: str, body: str, data: str = "", style: str = "") -> str:
    """The whole page; `style` is appended to the reports' style, `data` to the body."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="{ICON}">'
        f"<style>{_text('report.css')}{style}</style></head><body><main>{body}</main>"
        f"{data}</body></html>\n"
    )


def section(anchor: str, heading: str, inner: str) -> str:
    """Section element; `anchor` is the name of a manoeuvre, or has a hyphen, which no manoeuvre
    has."""
    return f'<section id="{escape(anchor)}"><h2>{escape(heading)}</h2>{inner}</section>'


def header(title: str, date: str, badges: str, *inner: str) -> str:
    """Head of a report: title, date and program, and badges."""
    made = ", ".join(filter(None, [date, f"skidpad {__version__}"]))
    return (
        f"<header><h1>{escape(title)}</h1><p class='made'>{escape(made)} {badges}</p>"
        f"{''.join(inner)}</header>"
    )


def badge(kind: str, text: str) -> str:
    """A word in a coloured box; `kind` is good, bad or dim."""
    return f'<span class="badge {kind}">{escape(text)}</span>'


def facts_list(facts: Mapping[str, str]) -> str:
    """List of names and values; those without a value are left out."""
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text
    )
    return f"<dl>{lines}</dl>"


def fact_cards(facts: Mapping[str, str], notes: Mapping[str, str] | None = None) -> str:
    """Cards with a value in large print, and a note below where there is one."""
    cards = "".join(
        f'<div class="card"><h3>{escape(name)}</h3><p><b>{escape(text)}</b>'
        f"<small>{escape((notes or {}).get(name, ''))}</small></p></div>"
        for name, text in facts.items()
    )
    return f'<div class="cards">{cards}</div>'


def percent(share: float) -> str:
    """A share as a percentage, such as 95 % or 0.123 %."""
    return f"{100.0 * share:.3g} %".replace("-", "−")


def notes_list(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if items else ""


def remark(text: str) -> str:
    """Paragraph in a lighter colour."""
    return f'<p class="source">{escape(text)}</p>'


def figure(caption: str, inner: str) -> str:
    """Figure element; the caption is HTML."""
    return f"<figure><figcaption>{caption}</figcaption>{inner}</figure>"


def side_by_side(figures: Iterable[str], kind: str = "charts") -> str:
    drawn = "".join(figures)
    return f'<div class="{kind}">{drawn}</div>' if drawn else ""


def contents(entries: Mapping[str, str]) -> str:
    """Table of contents: titles by anchor."""
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in entries.items()
    )
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if links else ""


def play_link(film: int) -> str:
    """Link that shows a film in the frame."""
    return f'<a class="play" href="#replay-section" data-film="{film}">replay</a>'


def replay_section(films: Sequence[Replay], what: str) -> str:
    """Frame with the list that a film is chosen from; `what` names an entry, such as "Drive"."""
    if not films:
        return ""
    groups: dict[str, list[str]] = {}
    for k, film in enumerate(films):
        option = f'<option value="{k}">{escape(film.label)}</option>'
        groups.setdefault(film.manoeuvre, []).append(option)
    options = "".join(
        f'<optgroup label="{escape(title)}">{"".join(own)}</optgroup>'
        for title, own in groups.items()
    )
    return section(
        "replay-section",
        "Replay",
        f'<p><label>{escape(what)} <select id="replay-drive">{options}</select></label></p>'
        f'<iframe id="replay-frame" title="Replay of a {escape(what.lower())}" '
        'sandbox="allow-scripts"></iframe>',
    )


def replay_data(films: Sequence[Replay]) -> str:
    """Data of the frame: the replay page once, and the films."""
    if not films:
        return ""
    page = base64_text(replay_page("Replay", b"").encode())
    kind = 'type="application/octet-stream"'
    blocks = "".join(
        f'<script {kind} id="film-{k}">{film.film}</script>' for k, film in enumerate(films)
    )
    return (
        f'<script {kind} id="replay-page">{page}</script>{blocks}'
        f"<script>{_text('report.js')}</script>"
    )


def _text(name: str) -> str:
    return _FOLDER.joinpath(name).read_text("utf-8")
