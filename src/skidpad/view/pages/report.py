"""Report of an evaluation on the proving ground: tables, key figures, charts, replays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from math import pi
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...run.trajectory import Trajectory
from ...study.manoeuvres.case_run import CaseRun
from ...study.manoeuvres.evaluation import (
    FAIL,
    NONE,
    PASS,
    Evaluation,
    Row,
    difference_text,
    number_text,
    settings_of,
)
from ...study.manoeuvres.manoeuvre import Chart, Curve, Manoeuvre
from ...study.manoeuvres.proving_ground import Result
from ...study.manoeuvres.subject import Subject
from ...units import Unit
from ..film import Film
from ..sheet import Html, Sheet
from ..stage import Disc
from ..stages import trajectory_stage
from . import page as html
from .charts import INK, Trace, chart_svg, legend_html

KEYS = (
    "understeer_gradient",
    "max_lateral_acceleration",
    "roll_gradient",
    "yaw_rate_rise_time",
    "yaw_rate_overshoot",
    "yaw_rate_bandwidth",
    "stopping_distance",
    "entry_speed",
    "largest_factor_passed",
    "time_to_100_km_h",
    "kerb_to_kerb",
    "lap_time",
)
"""Metrics shown first, if present."""
MOST_KEYS = 10
CUSTOMARY = {
    "rad·s²/m": ("°/g", 9.80665 * 180.0 / pi),
    "rad": ("°", 180.0 / pi),
    "rad/s": ("°/s", 180.0 / pi),
    "m/s": ("km/h", 3.6),
    "m/s²": ("g", 1.0 / 9.80665),
}
"""Customary unit of an SI unit, and the conversion factor."""


UNITS = {"km h": "km/h", "hz": "Hz"}
"""Units as in names of metrics, and in their usual spelling."""


class _Column(NamedTuple):
    head: str
    cell: Callable[[Row], str]
    kind: str = "number"


def metric_table(evaluation: Evaluation, results: Sequence[Result]) -> str:
    """Table of all metrics of a manoeuvre, with several vehicles below each other."""
    rows = [row for result in results for row in evaluation.rows_of(result)]
    if not rows:
        return ""
    columns = _columns(evaluation, rows)
    cells: list[list[str]] = []
    failed: list[int] = []
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        about = next((row.definition for row in own if row.definition), "")
        if reason := next((row.rough for row in own if row.rough), ""):
            about = f"{about} It has no derivative by parameters: {reason}.".strip()
        title = f'<span title="{escape(about)}">{escape(words(name))}</span>'
        head = Html(f"{title}<small>{escape(about)}</small>")
        for row in own:
            failed += [len(cells)] if row.verdict == FAIL else []
            cells.append([head, *(column.cell(row) for column in columns)])
    numbers = [k for k, column in enumerate(columns, start=1) if column.kind == "number"]
    heads = ("metric", *(column.head for column in columns))
    return Sheet(heads, cells, numbers, failed=failed, grouped=True).report(kind="metrics")


def _columns(evaluation: Evaluation, rows: Sequence[Row]) -> list[_Column]:
    cars, reference = evaluation.cars, evaluation.reference
    several, theory = len(cars) > 1, any(row.theory is not None for row in rows)
    judged = any(row.verdict for row in rows)
    base = {row.name: row.value for row in rows if row.car == cars[0]}

    def from_first(row: Row) -> str:
        return _difference(row, base.get(row.name)) if row.car != cars[0] else ""

    columns: list[tuple[Any, ...]] = [
        (several, "vehicle", lambda row: row.car, "text"),
        (True, "value", _value),
        (True, "unit", lambda row: row.unit, "text"),
        (any(row.interval for row in rows), "5 to 95 %", _interval),
        (several, f"from {cars[0]}", from_first),
        (theory, "theory", lambda row: _if(row.theory)),
        (theory, "difference", lambda row: _difference(row, row.theory)),
        (reference, reference and reference.name, lambda row: _if(row.reference)),
        (reference, "difference", lambda row: _difference(row, row.reference)),
        (judged, "limit", lambda row: str(row.limit or "")),
        (judged, "verdict", _verdict, "text"),
    ]
    return [_Column(*column) for shown, *column in columns if shown]


def _value(row: Row) -> str:
    """Value with its unit, which is shown where the screen is too narrow for the column of
    units."""
    return Html(f'<b>{number_text(row.value)}</b> <span class="unit">{escape(row.unit)}</span>')


def _if(value: float | None) -> str:
    return "" if value is None else number_text(value)


def _difference(row: Row, base: float | None) -> str:
    return "" if base is None else difference_text(row.value, base, row.unit)


def _interval(row: Row) -> str:
    if row.interval is None:
        return NONE
    low, high = map(number_text, row.interval)
    lacking = f"<small>{row.lacking} without</small>" if row.lacking else ""
    return Html(f"{low} to {high}{lacking}")


def _verdict(row: Row) -> str:
    if not row.verdict:
        return ""
    kind = {PASS: "good", FAIL: "bad"}.get(row.verdict, "dim")
    reason = f"<small>{escape(row.reason)}</small>" if row.reason else ""
    return Html(html.badge(kind, row.verdict) + reason)


def key_figures(evaluation: Evaluation) -> str:
    """The most telling metrics as cards, in customary units."""
    rows = [row for row in evaluation.rows if number_text(row.value) != NONE]
    names = list(dict.fromkeys(row.name for row in rows))
    first = [name for name in KEYS if name in names]
    of_each = {row.manoeuvre: row.name for row in reversed(rows)}
    of_each = [of_each[manoeuvre] for manoeuvre in dict.fromkeys(row.manoeuvre for row in rows)]
    chosen = list(dict.fromkeys([*first, *of_each]))[:MOST_KEYS]
    beside = "" if evaluation.reference is None else evaluation.reference.name
    cards = ""
    for name in chosen:
        manoeuvre = next(row.manoeuvre for row in rows if row.name == name)
        own = [row for row in rows if row.name == name and row.manoeuvre == manoeuvre]
        cards += f'<div class="card"><h3>{escape(words(name))}</h3>'
        for row in own:
            car = f"<i>{escape(row.car)}</i>" if len(own) > 1 else ""
            value = f"<b>{number_text(row.value)}</b> <span>{escape(row.unit)}</span>"
            cards += f"<p>{car}{value}{_in_words(row, beside)}</p>"
        link = f'<a href="#{escape(manoeuvre)}">{escape(words(manoeuvre))}</a>'
        cards += f"<footer>{link}</footer></div>"
    return f'<div class="cards">{cards}</div>'


def _in_words(row: Row, beside: str) -> str:
    """The value in its customary unit, and the value of the reference."""
    text = ""
    if row.unit in CUSTOMARY:
        unit, factor = CUSTOMARY[row.unit]
        text = f"<small>{number_text(factor * row.value)} {unit}</small>"
    if row.reference is None or number_text(row.reference) == NONE:
        return text
    # The unit belongs to its number.
    apart = escape(difference_text(row.value, row.reference, row.unit)).replace(" ", "\u00a0")
    share = "" if apart == NONE else f" ({apart})"
    return f"{text}<small>{escape(beside)}: {number_text(row.reference)}{share}</small>"


def words(name: str) -> str:
    """Name of a metric in words: "yaw rate rise time"."""
    text = name.replace("_", " ")
    for plain, unit in UNITS.items():
        text = f"{text} ".replace(f" {plain} ", f" {unit} ").rstrip()
    return text


MOST_DOTS = 600
"""Most points per vehicle in the g-g diagram."""
MOST_NAMED, FADING = 3, 0.6
"""Most curves of a kind and vehicle with labels of their own, and the opacity ratio of
successive ones."""
SHARED = ("cones", "limit")
"""Kinds of curves that are usually equal for all vehicles and are then drawn once. Some depend on
the width of the vehicle."""


@dataclass
class Picture:
    """Picture of the report: a chart with the curves of all vehicles."""

    chart: Chart
    curves: list[Trace] = field(default_factory=list[Trace])

    def html(self) -> str:
        chart = self.chart
        drawing = chart_svg(
            self.curves, chart.x_label, chart.y_label, x_log=chart.x_log, equal=chart.equal
        )
        return html.figure(escape(chart.title), drawing + legend_html(self.curves))


class Layer(NamedTuple):
    """Layer of an overlay: the chart of one vehicle."""

    name: str
    number: int
    """Index of the vehicle, which sets its colour."""
    chart: Chart


def gg_pictures(results: Sequence[Result]) -> list[Picture]:
    """g-g diagrams over all drives of each vehicle: longitudinal over lateral acceleration."""
    layers: list[tuple[str, Sequence[Chart]]] = []
    for name, car in {result.car.name: result.car for result in results}.items():
        own = [run for one in results if one.car.name == name for run in one.runs]
        parts = [
            np.stack([run["a_y"][:, 0], run["a_x"][:, 0]])
            for run in (run.since(0.0) for run in own)
            if "a_x" in run and "a_y" in run
        ]
        if not parts:
            continue
        points: Array = np.concatenate(parts, axis=1)
        points = points[:, np.isfinite(points).all(axis=0)]
        at = np.unique(np.linspace(0, max(points.shape[1] - 1, 0), MOST_DOTS).astype(int))
        curves = [Curve(points[0, at], points[1, at], "all drives", "points")]
        if car.grip < np.inf:
            angle = np.linspace(0.0, 2.0 * np.pi, 121)
            x, y = car.grip * np.cos(angle), car.grip * np.sin(angle)
            curves.append(Curve(x, y, "grip", "theory"))
        labels = "lateral acceleration in m/s²", "longitudinal acceleration in m/s²"
        layers.append((name, [Chart("g-g diagram", *labels, curves, equal=True)]))
    return laid_over(layers)


def laid_over(layers: Sequence[tuple[str, Sequence[Chart]]]) -> list[Picture]:
    """Overlay charts of the same title and axes, of vehicles with these names."""
    together: dict[tuple[str, str, str], list[Layer]] = {}
    for number, (name, charts) in enumerate(layers):
        for chart in charts:
            key = chart.title, chart.x_label, chart.y_label
            together.setdefault(key, []).append(Layer(name, number, chart))
    pictures: list[Picture] = []
    for own in together.values():
        first, traces = own[0].chart, list[Trace]()
        if len(layers) > 1:
            traces = [one for layer in own for one in (*_shared(layer, own), *_of_several(layer))]
        else:
            # Each run has its own colour, and each theory that of its run, by order.
            several = [curve.kind for curve in first.curves].count("theory") > 1
            counts: dict[str, int] = {}
            for curve in first.curves:
                colour = counts.get(curve.kind, 0)
                counts[curve.kind] = colour + 1
                shown = colour if several or curve.kind != "theory" else INK
                traces.append(Trace(curve.x, curve.y, curve.label, curve.kind, shown))
        pictures.append(Picture(first, traces))
    return pictures


def _shared(layer: Layer, layers: Sequence[Layer]) -> list[Trace]:
    """Curves that several vehicles may share (kinds in `SHARED`), drawn with the first of them.

    The label lists the vehicles that share the curve, unless all vehicles do.
    """
    drawn: list[Trace] = []
    for curve in layer.chart.curves:
        if curve.kind not in SHARED:
            continue
        those = [one for one in layers if any(_same(curve, c) for c in one.chart.curves)]
        others = [one for one in layers if any(curve.kind == c.kind for c in one.chart.curves)]
        if those[0] is layer:
            names = "" if len(those) == len(others) else f"{', '.join(o.name for o in those)}: "
            drawn.append(Trace(curve.x, curve.y, f"{names}{curve.label}", curve.kind, layer.number))
    return drawn


def _same(one: Curve, other: Curve) -> bool:
    alike = (one.kind, one.label) == (other.kind, other.label)
    return alike and np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y)


def _of_several(layer: Layer) -> list[Trace]:
    """Curves in the colour of their vehicle; a few fade successively, many share one label."""
    own = [curve for curve in layer.chart.curves if curve.kind not in SHARED]
    counts: dict[str, int] = {}
    drawn: list[Trace] = []
    for curve in own:
        many = [one.kind for one in own].count(curve.kind) > MOST_NAMED
        k = counts.get(curve.kind, 0)
        counts[curve.kind] = k + 1
        label = f"{layer.name}, {curve.kind}s" if many else f"{layer.name}: {curve.label}"
        opacity = 1.0 if many else FADING**k
        drawn.append(Trace(curve.x, curve.y, label, curve.kind, layer.number, opacity))
    return drawn


MOST_DRIVES = 8
"""Largest number of replays per manoeuvre; if there are more drives, evenly spaced ones, including
the first and the last, are shown."""
CONE_RADIUS = 0.15
"""Radius of drawn cones, in m."""


def replays(evaluation: Evaluation) -> list[html.Replay]:
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
    if len(drives) * html.LEAST_ROOM > html.ROOM:
        kept = np.unique(
            np.linspace(0, len(drives) - 1, int(html.ROOM / html.LEAST_ROOM)).astype(int)
        )
        drives = [drives[k] for k in kept.tolist()]
    return [
        html.Replay.of(title, label, film, html.ROOM / len(drives))
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
    """Samples until the run diverges; None if fewer than two are left, or if the run has states of
    another vehicle."""
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


def write_report(
    evaluation: Evaluation, path: str | os.PathLike[str], *, date: str = "", replay: bool = True
) -> None:
    """Write the report atomically."""
    html.write_page(report_page(evaluation, date=date, replay=replay), path)


def report_page(evaluation: Evaluation, *, date: str = "", replay: bool = True) -> str:
    """Text of the report; `date` is printed below the title, `replay` adds the replays."""
    by_manoeuvre: dict[str, list[Result]] = {}
    for result in evaluation.results:
        by_manoeuvre.setdefault(result.manoeuvre.name, []).append(result)
    driven = {name: own for name, own in by_manoeuvre.items() if any(one.findings for one in own)}
    films = replays(evaluation) if replay else []
    title = f"Proving ground: {', '.join(evaluation.cars)}"
    other = () if evaluation.reference is None else evaluation.reference.results
    gg = html.side_by_side(picture.html() for picture in gg_pictures([*evaluation.results, *other]))
    entries = {name: own[0].manoeuvre.title for name, own in driven.items()}
    entries |= {"replay-section": "Replay"} if films else {}
    unfit = [(one.manoeuvre.title, one.unfit) for one in evaluation.results if one.unfit]
    reasons = Sheet(("manoeuvre", "reason"), unfit).report() if unfit else ""
    body = [
        _head(evaluation, title, date),
        html.contents(entries),
        html.section("key-figures", "Key figures", key_figures(evaluation)) if driven else "",
        *(_manoeuvre(evaluation, name, own, films) for name, own in driven.items()),
        html.section("all-drives", "All drives", gg) if gg else "",
        html.replay_section(films, "Drive"),
        html.section("not-driven", "Not driven", reasons) if unfit else "",
    ]
    return html.document(title, "".join(body), html.replay_data(films))


def _head(evaluation: Evaluation, title: str, date: str) -> str:
    judged, failed, reference = evaluation.checked, evaluation.failed, evaluation.reference
    verdict = compared = ""
    if judged:
        text = f"{len(failed)} of {len(judged)} limits broken" if failed else "all limits kept"
        verdict = html.badge("bad" if failed else "good", text)
    if reference is not None:
        missing = (f"{words(name)}: {reason}" for name, reason in evaluation.not_compared.items())
        notes = html.notes_list((*reference.notes, *missing))
        compared = f"<p>Compared with <b>{escape(reference.name)}</b></p>{notes}"
    others = () if reference is None else reference.results
    cars = {result.car.name: result.car for result in (*evaluation.results, *others)}
    facts = "".join(_facts(car) for car in cars.values())
    cards = f"<div class='cards cars'>{facts}</div>"
    items = "".join(
        f"<li>{html.badge('bad', FAIL)} <b>{escape(row.car)}</b>, "
        f'<a href="#{escape(row.manoeuvre)}">{escape(words(row.manoeuvre))}</a>, '
        f"{escape(words(row.name))}: {escape(row.reason)} {escape(row.unit)}</li>"
        for row in failed
    )
    violations = f'<ul class="plain">{items}</ul>' if items else ""
    return html.header(title, date, verdict, compared, cards, violations)


def _facts(car: Subject) -> str:
    """Card with data of a vehicle."""
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
    return f'<div class="card"><h3>{escape(car.name)}</h3>{html.facts_list(facts)}</div>'


def _manoeuvre(
    evaluation: Evaluation, name: str, results: Sequence[Result], films: Sequence[html.Replay]
) -> str:
    manoeuvre = results[0].manoeuvre
    settings = ", ".join(_settings(manoeuvre))
    about = "; ".join(filter(None, [manoeuvre.source, settings]))
    notes = [
        f"{result.car.name}: {note}" if len(results) > 1 else note
        for result in results
        for note in (() if result.findings is None else result.findings.notes)
    ]
    # Charts with the same title and axes are overlaid.
    layers = [(one.car.name, one.findings.charts) for one in results if one.findings is not None]
    reference = evaluation.reference
    if reference is not None:
        findings = reference.of(results[0].car.name, manoeuvre.name)
        layers += [] if findings is None else [(reference.name, findings.charts)]
    film = next((k for k, one in enumerate(films) if one.manoeuvre == manoeuvre.title), None)
    link = "" if film is None else html.play_link(film)
    return html.section(
        name,
        manoeuvre.title,
        f'<p class="source">{escape(about)} {link}</p>'
        + html.notes_list(notes)
        + metric_table(evaluation, results)
        + html.side_by_side(picture.html() for picture in laid_over(layers)),
    )


def _settings(manoeuvre: Manoeuvre) -> Iterator[str]:
    """Settings of a manoeuvre with their units, such as "radius 60 m"."""
    try:
        hints = get_type_hints(type(manoeuvre), include_extras=True)
    except NameError:  # the name of a class within a function
        hints = {}
    for name, value in settings_of(manoeuvre).items():
        unit = next((str(note) for note in get_args(hints.get(name)) if type(note) is Unit), "")
        unit = f" {unit}" if unit not in ("", "1") else ""
        yield f"{name} {number_text(value) if isinstance(value, float) else value}{unit}"
