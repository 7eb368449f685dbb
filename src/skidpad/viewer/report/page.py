"""The report of an evaluation: one page that asks for nothing, for screens and for paper."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import get_args, get_type_hints

from ... import __version__
from ...files import replacing
from ...manoeuvres import Evaluation, Manoeuvre, Result, Subject
from ...manoeuvres.document import settings_of
from ...manoeuvres.evaluation import number_text
from ...units import Unit
from ..page_files import replay_page
from .overlays import gg_pictures, pictures_of
from .replays import Replay, replays
from .tables import key_figures, metric_table, unfit_table, verdict_table, words

__all__ = ["report_page", "write_report"]

_FOLDER = files("skidpad.viewer").joinpath("report")
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg "
    "fill='none' stroke='%230b6bcb' stroke-width='4'%3E%3Ccircle cx='16' cy='9.5' r='6.5'/%3E"
    "%3Ccircle cx='16' cy='22.5' r='6.5'/%3E%3C/g%3E%3C/svg%3E"
)


def write_report(
    evaluation: Evaluation, path: str | os.PathLike[str], *, date: str = "", replay: bool = True
) -> None:
    """Write the report; the file is whole or not there."""
    page = report_page(evaluation, date=date, replay=replay)
    with replacing(path) as temporary:
        temporary.write_text(page, "utf-8")


def report_page(evaluation: Evaluation, *, date: str = "", replay: bool = True) -> str:
    """The report as text; `date` is printed below the title, `replay` adds the drives."""
    by_manoeuvre: dict[str, list[Result]] = {}
    for result in evaluation.results:
        by_manoeuvre.setdefault(result.manoeuvre.name, []).append(result)
    driven = {name: own for name, own in by_manoeuvre.items() if any(one.findings for one in own)}
    films = replays(evaluation) if replay else []
    title = f"Proving ground: {', '.join(evaluation.cars)}"
    other = () if evaluation.reference is None else evaluation.reference.results
    gg = "".join(picture.html() for picture in gg_pictures([*evaluation.results, *other]))
    body = [
        _head(evaluation, title, date),
        _contents(driven, films),
        _section("key-figures", "Key figures", key_figures(evaluation)) if driven else "",
        *(_manoeuvre(evaluation, name, own, films) for name, own in driven.items()),
        _section("all-drives", "All drives", f'<div class="charts">{gg}</div>') if gg else "",
        _replay_section(films),
        _optional("not-driven", "Not driven", unfit_table(evaluation.results)),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="{ICON}">'
        f"<style>{_text('report.css')}</style></head><body><main>{''.join(body)}</main>"
        f"{_replay_data(films)}</body></html>\n"
    )


def _text(name: str) -> str:
    return _FOLDER.joinpath(name).read_text("utf-8")


def _section(anchor: str, heading: str, inner: str) -> str:
    """With an anchor: the name of a manoeuvre, or one with a hyphen, which no manoeuvre has."""
    return f'<section id="{escape(anchor)}"><h2>{escape(heading)}</h2>{inner}</section>'


def _optional(anchor: str, heading: str, inner: str) -> str:
    return _section(anchor, heading, inner) if inner else ""


def _head(evaluation: Evaluation, title: str, date: str) -> str:
    judged, failed = evaluation.judged, evaluation.failed
    badge = ""
    if judged:
        text = f"{len(failed)} of {len(judged)} limits broken" if failed else "all limits kept"
        badge = f'<span class="badge {"bad" if failed else "good"}">{text}</span>'
    made = ", ".join(filter(None, [date, f"skidpad {__version__}"]))
    beside = () if evaluation.reference is None else evaluation.reference.results
    cars = {result.car.name: result.car for result in (*evaluation.results, *beside)}
    facts = "".join(_facts(car) for car in cars.values())
    return (
        f"<header><h1>{escape(title)}</h1><p class='made'>{escape(made)} {badge}</p>"
        f"{_beside(evaluation)}<div class='cards cars'>{facts}</div>"
        f"{verdict_table(failed)}</header>"
    )


def _beside(evaluation: Evaluation) -> str:
    """What the vehicles are compared with, and what to know about it."""
    reference = evaluation.reference
    if reference is None:
        return ""
    missing = (f"{words(name)}: {reason}" for name, reason in evaluation.not_compared.items())
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*reference.notes, *missing))
    listed = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f"<p>Compared with <b>{escape(reference.name)}</b></p>{listed}"


def _facts(car: Subject) -> str:
    """What a vehicle is."""
    shape = car.geometry
    ahead = shape.centre_of_mass[0] - shape.rear_axle
    share = f"{100.0 * ahead / shape.wheel_base:.1f} %" if shape.wheel_base else ""
    facts = {
        "model": car.vehicle.name,
        "mass": f"{number_text(shape.mass)} kg",
        "wheel base": f"{number_text(shape.wheel_base)} m",
        "load in front": share,
        "variants": str(car.variants - 1) if car.variants > 1 else "",
    }
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text
    )
    return f'<div class="card"><h3>{escape(car.name)}</h3><dl>{lines}</dl></div>'


def _contents(driven: dict[str, list[Result]], films: Sequence[Replay]) -> str:
    entries = {name: own[0].manoeuvre.title for name, own in driven.items()}
    entries |= {"replay-section": "Replay"} if films else {}
    links = "".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in entries.items()
    )
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>" if links else ""


def _manoeuvre(
    evaluation: Evaluation, name: str, results: Sequence[Result], films: Sequence[Replay]
) -> str:
    manoeuvre = results[0].manoeuvre
    settings = ", ".join(_settings(manoeuvre))
    about = "; ".join(filter(None, [manoeuvre.source, settings]))
    notes = [
        f"{result.car.name}: {note}" if len(results) > 1 else note
        for result in results
        for note in (() if result.findings is None else result.findings.notes)
    ]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    charts = "".join(picture.html() for picture in pictures_of(evaluation, results))
    film = next((k for k, one in enumerate(films) if one.manoeuvre == manoeuvre.title), None)
    link = (
        ""
        if film is None
        else f'<a class="play" href="#replay-section" data-film="{film}">replay</a>'
    )
    return _section(
        name,
        manoeuvre.title,
        f'<p class="source">{escape(about)} {link}</p>'
        + (f'<ul class="notes">{listed}</ul>' if listed else "")
        + metric_table(evaluation, results)
        + (f'<div class="charts">{charts}</div>' if charts else ""),
    )


def _settings(manoeuvre: Manoeuvre) -> Iterator[str]:
    """Its settings with their units, such as "radius 60 m"."""
    try:
        hints = get_type_hints(type(manoeuvre), include_extras=True)
    except NameError:  # of a class within a function
        hints = {}
    for name, value in settings_of(manoeuvre).items():
        unit = next((str(note) for note in get_args(hints.get(name)) if type(note) is Unit), "")
        unit = f" {unit}" if unit not in ("", "1") else ""
        yield f"{name} {number_text(value) if isinstance(value, float) else value}{unit}"


def _replay_section(films: Sequence[Replay]) -> str:
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
    return _section(
        "replay-section",
        "Replay",
        f'<p><label>Drive <select id="replay-drive">{options}</select></label></p>'
        '<iframe id="replay-frame" title="Replay of a drive" sandbox="allow-scripts"></iframe>',
    )


def _replay_data(films: Sequence[Replay]) -> str:
    """The replay page once, and the films that it shows."""
    if not films:
        return ""
    page = base64.b64encode(replay_page("Replay", b"").encode()).decode()
    kind = 'type="application/octet-stream"'
    blocks = "".join(
        f'<script {kind} id="film-{k}">{film.film}</script>' for k, film in enumerate(films)
    )
    return (
        f'<script {kind} id="replay-page">{page}</script>{blocks}'
        f"<script>{_text('report.js')}</script>"
    )
