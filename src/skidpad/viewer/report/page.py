"""The report of an evaluation: one page that asks for nothing, for screens and for paper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import get_args, get_type_hints

from ... import __version__
from ...files import replacing
from ...manoeuvres import Evaluation, Manoeuvre, Result, Subject
from ...manoeuvres.document import settings_of
from ...manoeuvres.evaluation import number_text
from ...units import Unit
from .overlays import gg_pictures, pictures_of
from .replays import Replay, replays
from .shell import (
    contents,
    document,
    optional_section,
    play_link,
    replay_data,
    replay_section,
    section,
)
from .tables import key_figures, metric_table, unfit_table, verdict_table, words

__all__ = ["report_page", "write_report"]


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
        section("key-figures", "Key figures", key_figures(evaluation)) if driven else "",
        *(_manoeuvre(evaluation, name, own, films) for name, own in driven.items()),
        section("all-drives", "All drives", f'<div class="charts">{gg}</div>') if gg else "",
        replay_section(films, "Drive"),
        optional_section("not-driven", "Not driven", unfit_table(evaluation.results)),
    ]
    return document(title, "".join(body), replay_data(films))


def _head(evaluation: Evaluation, title: str, date: str) -> str:
    judged, failed = evaluation.checked, evaluation.failed
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
    return contents(entries)


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
    link = "" if film is None else play_link(film)
    return section(
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
