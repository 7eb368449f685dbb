"""Report of a fit: estimates with intervals, what the data cannot tell, errors and overlays.

Tables show SI units as the results have them; charts and the head show angles in degrees.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import counted, listed
from ...errors import SkidpadError
from ...study.identify.axle_curves import AxleCurves
from ...study.identify.drives import logged_axle_curves
from ...study.identify.replay import Guess
from ...study.identify.window_errors import ReplayedLog
from ...study.logs.units import UNIT_OF
from ...study.manoeuvres.evaluation import difference_text, number_text
from ...units import s
from ..sheet import Html, Sheet
from . import charts
from . import page as html
from .log_page import drawn_unit, map_figure, preparation_table, sections_page, zoomed_charts

if TYPE_CHECKING:
    from ...core.model import Vehicle
    from ...study.identify.comparison import Comparison, Error, Pair
    from ...study.identify.fitting import Estimate, Fit
    from ...study.identify.problem import ErrorRow


WORDS = {
    "omega": "yaw rate",
    "v_y": "lateral velocity",
    "sideslip": "sideslip angle",
    "a_y": "lateral acceleration",
    "v_x": "longitudinal velocity",
    "speed": "speed",
    "a_x": "longitudinal acceleration",
    "steer": "angle of the front wheels",
    "position": "position",
    "yaw": "heading",
    "x": "position x",
    "y": "position y",
}
"""Channels in words, in the order of the page; others follow by their own names."""
MOST_LOGS = 4
"""Most logs that are drawn over time."""
DIVERGED = "diverged"
"""Text in place of the error of a run that diverged."""


def value_text(value: float) -> str:
    """Text of a number with four digits, without an exponent below a million."""
    large = 1e4 <= abs(value) < 1e6
    return f"{float(f'{value:.4g}'):.0f}".replace("-", "−") if large else number_text(value)


def in_order(channels: Sequence[str]) -> list[str]:
    """Channels in the order of the page, without repetition."""
    known = [name for name in WORDS if name in channels]
    return [*known, *(name for name in dict.fromkeys(channels) if name not in WORDS)]


def channel_words(channel: str) -> str:
    return WORDS.get(channel, channel)


def error_text(value: float, unit: str = "") -> str:
    """Text of an error with its unit, or a note that the run diverged."""
    if not isfinite(value):
        return DIVERGED
    return f"{number_text(float(f'{value:.3g}'))} {unit}".rstrip()


class Overlay(NamedTuple):
    """Replays of one log by one vehicle, drawn over the measurement."""

    label: str
    runs: Sequence[ReplayedLog]
    """Replays of separate parts of the log."""
    kind: str
    """Kind of its curves, see `charts.ORDER`."""
    colour: int

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for run in self.runs for name in run.channels))

    def series(self, channel: str, what: str) -> tuple[Array, Array]:
        """Times and values of a channel, "measured", "replayed" or "errors", in windows that do
        not overlap. A gap replaces the last sample of each window."""
        parts: list[tuple[Array, Array]] = []
        for run in self.runs:
            rows = run.in_sequence
            t, values = run.t[rows], np.full((len(rows), run.t.shape[1]), np.nan)
            if channel in run.channels:
                values = getattr(run, what)[run.channels.index(channel), rows].copy()
            t[:, -1] -= 0.5 * (t[:, -1] - t[:, -2])
            values[:, -1] = np.nan
            parts.append((t.ravel(), values.ravel()))
        t, values = (np.concatenate(own) for own in zip(*parts, strict=True))
        order = np.argsort(t, kind="stable")
        return t[order], values[order]

    @property
    def starts(self) -> list[s]:
        """Times at which the windows start."""
        return [float(t) for run in self.runs for t in run.t[run.in_sequence, 0]]


class HorizonErrors(NamedTuple):
    """Errors of one channel over the time since the start of a window."""

    channel: str
    unit: str
    points: Sequence[tuple[s, float]]
    """Horizons and errors in SI units; an error that is not finite leaves a gap."""
    label: str
    kind: str
    """Kind of its curve, see `charts.ORDER`."""
    colour: int


def horizon_charts(errors: Sequence[HorizonErrors]) -> str:
    """Charts of errors over the horizon, by channel, as lines with dots."""
    units = {one.channel: one.unit for one in errors}
    curves: dict[str, list[charts.Trace]] = {channel: [] for channel in units}
    for channel, unit, points, label, kind, colour in errors:
        if any(isfinite(value) for _, value in points):
            x, y = np.array(sorted(points)).T
            y = drawn_unit(unit).factor * np.where(np.isfinite(y), y, np.nan)
            curves[channel].append(charts.Trace(x, y, label, kind, colour))
            curves[channel].append(charts.Trace(x, y, "", "marks", colour))
    figures = [
        html.figure(
            escape(channel_words(name).capitalize()),
            charts.chart_svg(
                # The first one is a point that is not drawn, so that the axes begin at zero.
                [charts.Trace(np.zeros(1), np.zeros(1), "", "run", 0), *curves[name]],
                "time since the start of the window in s",
                f"error in {drawn_unit(units[name]).unit}",
            )
            + charts.legend_html(curves[name]),
        )
        for name in in_order(list(curves))
        if curves[name]
    ]
    about = (
        "Root mean square over the windows of simulated minus measured, at one time after the "
        "start of the window."
    )
    heading = "<h3>Over the horizon</h3>"
    return (
        heading + html.remark(about) + html.side_by_side(figures, "charts three") if figures else ""
    )


def log_sections(
    logs: Mapping[str, Sequence[Overlay]],
    shaded: Mapping[str, Sequence[tuple[s, s]]] | None = None,
    about: str = "",
) -> dict[str, tuple[str, str]]:
    """A section for each log with overlays over time, and a map of the error of the first one."""
    found: dict[str, tuple[str, str]] = {}
    for k, (name, overlays) in enumerate(list(logs.items())[:MOST_LOGS]):
        own = (shaded or {}).get(name, ())
        share = 1.0 / min(len(logs), MOST_LOGS)
        inner = html.remark(about) if about else ""
        figures: list[tuple[str, str, list[charts.Trace]]] = []
        every = [c for one in overlays for c in one.channels if c not in ("x", "y")]
        for channel in in_order(every):
            unit, factor = drawn_unit(UNIT_OF.get(channel, ""))
            overlaid = [(one, "replayed") for one in overlays if channel in one.channels]
            first = overlaid[0][0]._replace(label="measured", kind="measured", colour=charts.INK)
            curves: list[charts.Trace] = []
            for one, what in [(first, "measured"), *overlaid]:
                t, values = one.series(channel, what)
                curves.append(charts.Trace(t, factor * values, one.label, one.kind, one.colour))
            words = channel_words(channel)
            label = f"{words} in {unit}" if unit not in ("", "1") else words
            figures.append((words.capitalize(), label, curves))
        t = np.concatenate([run.t.ravel() for one in overlays for run in one.runs])
        span = float(t.min()), float(t.max())
        inner += zoomed_charts(figures, span, marks=overlays[0].starts, shaded=own, share=share)
        first = overlays[0]
        if {"x", "y"} <= set(first.channels):
            # The measured path is coloured by the error of the yaw rate, else of the first channel.
            channel = in_order(first.channels)[0]
            unit, factor = drawn_unit(UNIT_OF.get(channel, ""))
            x, y = (first.series(axis, "measured")[1] for axis in ("x", "y"))
            error = factor * first.series(channel, "errors")[1]
            label = f"Colour: error of the {channel_words(channel)} in {unit}, {first.label}"
            inner += f"<h3>Map of the drive</h3>{map_figure(x, y, error, label)}"
        found[f"log-{k}"] = (f"Measured and simulated: {name}", inner)
    if len(logs) > MOST_LOGS:
        others = listed(list(logs)[MOST_LOGS:])
        found["logs-not-drawn"] = ("Other logs", html.remark(f"Not drawn: {others}."))
    return found


MOST_VEHICLES = 5
"""Most vehicles that are drawn over time: those with the smallest errors."""


def comparison_report(
    comparison: Comparison, path: str | os.PathLike[str], *, date: str = ""
) -> None:
    """Write the report of a comparison.

    Args:
        comparison: errors of some vehicles over the same windows of some logs.
        path: HTML file, written atomically.
        date: printed below the title.
    """
    html.write_page(comparison_html(comparison, date=date), path)


def comparison_html(comparison: Comparison, *, date: str = "") -> str:
    """Text of the report of a comparison."""
    names = list(comparison.vehicles)
    means = {pair.vehicle: pair.difference for pair in comparison.pairs}
    order = sorted(names, key=lambda name: means.get(name, 0.0 if comparison.pairs else np.inf))
    shown = {name: names.index(name) for name in order[:MOST_VEHICLES]}
    logs: dict[str, list[Overlay]] = {log: [] for log in comparison.logs}
    for name, colour in shown.items():
        for run in comparison.replays:
            if run.vehicle == name:
                logs[run.log].append(Overlay(name, [run], "run", colour))
    horizons: list[HorizonErrors] = []
    for channel, unit in comparison.channels.items():
        for number, vehicle in enumerate(comparison.vehicles):
            own = [e for e in comparison.errors if (e.vehicle, e.channel) == (vehicle, channel)]
            points = [(e.horizon, e.rmse) for e in own if e.horizon]
            horizons.append(HorizonErrors(channel, unit, points, vehicle, "run", number))
    sections: dict[str, tuple[str, str]] = {
        "all-models": ("Vehicles", _pair_table(comparison.pairs)),
        "all-errors": ("Errors", _model_table(comparison) + horizon_charts(horizons)),
        **log_sections(logs),
        "all-notes": ("Notes", html.notes_list(comparison.notes)),
    }
    title = f"Comparison: {', '.join(names)}"
    about = (
        f"{counted(comparison.windows, 'window')} of {comparison.window:.3g} s of "
        f"{listed(list(comparison.logs))}, replayed by every vehicle from the same measured state."
    )
    verdict = f'<p class="verdict">{escape(comparison.verdict)}</p>' if comparison.verdict else ""
    head = html.header(title, date, "", verdict, f"<p>{escape(about)}</p>")
    return sections_page(title, head, sections)


def _model_table(comparison: Comparison) -> str:
    """Errors of all samples of the windows: a row for each vehicle, a column for each channel."""
    whole = [e for e in comparison.errors if e.horizon == 0.0]
    units = {e.channel: e.unit for e in whole}
    channels = in_order(list(units))
    best = {c: min((e.rmse for e in whole if e.channel == c), default=np.inf) for c in channels}
    rows: list[list[str]] = []
    for name in comparison.vehicles:
        own = {e.channel: e for e in whole if e.vehicle == name}
        diverged = max((e.diverged for e in own.values()), default=0)
        note = f"{counted(diverged, 'window')} diverged" if diverged else ""
        cells = [Html(f"{escape(name)}<small>{note}</small>")]
        cells += [_cell(own.get(c), best[c]) for c in channels]
        rows.append(cells)
    heads = ["vehicle", *(f"{channel_words(c)} in {units[c]}" for c in channels)]
    about = (
        "Root mean square of simulated minus measured, over all samples of the windows. The "
        "smallest error of each channel is in bold, the largest single error is below."
    )
    return Sheet(heads, rows, range(1, len(heads))).report(about)


def _cell(error: Error | None, best: float) -> str:
    if error is None:
        return ""
    if not isfinite(error.rmse):
        return DIVERGED
    text = error_text(error.rmse)
    text = f"<b>{text}</b>" if error.rmse == best else text
    return Html(f"{text}<small>{error_text(error.max)}</small>")


def _pair_table(pairs: Sequence[Pair]) -> str:
    """Comparison of each vehicle with the best one, with intervals."""
    if not pairs:
        return ""
    rows: list[tuple[str, ...]] = []
    ends = [1.0 + v for pair in pairs for v in (pair.low, pair.high) if isfinite(v)]
    scale = min([1.0, *ends]), max([1.0, *ends])
    for pair in pairs:
        value, low, high = (1.0 + one for one in (pair.difference, pair.low, pair.high))
        known = f"{max(low, 0.0):.3g} to {high:.3g}" if isfinite(low) else "–"
        certain = "certainly worse" if pair.is_certain else "may be equal"
        picture = Html(charts.interval_svg(value, low, high, 1.0, scale))
        rows.append((pair.vehicle, f"{value:.3g}", known, picture, certain, str(pair.windows)))
    about = (
        f"Errors of all channels together as multiples of that of {pairs[0].other}, window by "
        "window. In the pictures the line is at 1: a bar that crosses it may be chance."
    )
    heads = ("vehicle", "multiple", "95 % interval", "", "", "windows")
    return Sheet(heads, rows, (1, 2, 5)).report(about)


MOST_CORRELATED = 12
"""Most unknowns whose correlations are shown."""


def fit_report(fit: Fit, path: str | os.PathLike[str], *, date: str = "") -> None:
    """Write the report of a fit.

    Args:
        fit: a vehicle that was fitted to logs.
        path: HTML file, written atomically.
        date: printed below the title.
    """
    html.write_page(fit_html(fit, date=date), path)


def fit_html(fit: Fit, *, date: str = "") -> str:
    """Text of the report of a fit."""
    drives = {r.drive.name: r.drive for r in (*fit.replays, *fit.held_out)}
    names = [one.name for one in fit.estimates]
    table = parameter_table(fit.estimates) + correlation_table(names, fit.correlations)
    prepared = "".join(
        (f"<h3>{escape(name)}</h3>" if len(drives) > 1 else "") + preparation_table(drive.lines)
        for name, drive in drives.items()
    )
    about = (
        "Every window starts from the measured state, at a dotted line, and runs freely to its "
        "end. The shaded part was held out of the fit."
    )
    spans: dict[str, list[tuple[s, s]]] = {}
    for replay in fit.held_out:
        t = replay.drive.t[replay.rows]
        spans.setdefault(replay.drive.name, []).append((float(t.min()), float(t.max())))
    horizons: list[HorizonErrors] = []
    for channel, unit in {row.channel: row.unit for row in fit.errors}.items():
        for colour, part in enumerate(("held out", "training")):
            own = [r for r in fit.errors if (r.channel, r.part) == (channel, part) and r.horizon]
            for when, kind in (("after", "run"), ("before", "theory")):
                points = [(r.horizon, r.after if when == "after" else r.before) for r in own]
                label = f"{part}, {when}"
                horizons.append(HorizonErrors(channel, unit, points, label, kind, colour))
    doubts = [one.text[:1].upper() + one.text[1:] for one in fit.untold]
    sections: dict[str, tuple[str, str]] = {
        "all-estimates": ("Estimates", table),
        "not-told": ("What the data cannot tell", html.notes_list(doubts, "doubts")),
        "all-errors": ("Errors before and after", _error_table(fit) + horizon_charts(horizons)),
        **log_sections(_overlays(fit), spans, about),
        "axle-curves": ("Axle curves", _axles(fit)),
        "all-starts": ("Several starts", _starts(fit)),
        "preparation-lines": ("What the preparation did", prepared),
        "all-notes": ("Notes", html.notes_list(fit.notes)),
    }
    title = f"Fit: {fit.title}"
    seconds = sum(float(drive.t[-1] - drive.t[0]) for drive in drives.values())
    what = (
        f"{counted(len(names), 'unknown')} of {fit.title}, estimated from {listed(list(drives))} "
        f"({seconds:.3g} s) in {counted(fit.windows, 'window')} of {fit.window:.3g} s."
    )
    bound = sum(bool(one.at_bound) for one in fit.estimates)
    badges = html.badge("bad", f"{bound} at a bound") if bound else ""
    badges += " " + html.badge("bad", counted(len(fit.untold), "doubt")) if fit.untold else ""
    verdict = f'<p class="verdict">{escape(_main_sentence(fit))}</p>'
    rows = list(_judged(fit)[1].values())[:5]
    facts: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in rows:
        unit, factor = drawn_unit(row.unit)
        name = f"error of the {channel_words(row.channel)}"
        facts[name] = error_text(factor * row.after, unit)
        notes[name] = f"{error_text(factor * row.before, unit)} before the fit"
    cards = html.fact_cards(facts, notes)
    head = html.header(title, date, badges, verdict, f"<p>{escape(what)}</p>", cards)
    return sections_page(title, head, sections)


def _judged(fit: Fit) -> tuple[str, dict[str, ErrorRow]]:
    """Errors of the fit over whole windows by channel, and the data on which they are measured.

    These are the held-out windows, or the training windows if none are held out.
    """
    part = "held out" if any(row.part == "held out" for row in fit.errors) else "training"
    rows = {r.channel: r for r in fit.errors if r.part == part and r.horizon == 0.0}
    return part, {name: rows[name] for name in in_order(list(rows))}


def _main_sentence(fit: Fit) -> str:
    part, rows = _judged(fit)
    length = fit.error_window(part)
    where = "data held out of the fit" if part == "held out" else "the data of the fit itself"
    found: list[str] = []
    for row in list(rows.values())[:3]:
        unit, factor = drawn_unit(row.unit)
        before, after = (error_text(factor * one, unit) for one in (row.before, row.after))
        found.append(f"{after} in {channel_words(row.channel)} ({before} before the fit)")
    return f"Errors over windows of {length:.3g} s of {where}: {listed(found)}."


def _error_table(fit: Fit) -> str:
    """Errors over whole windows by channel, for held-out and training data."""
    rows: list[list[str]] = []
    by = {(r.part, r.channel): r for r in fit.errors if r.horizon == 0.0}
    parts = [p for p in ("held out", "training") if any(part == p for part, _ in by)]
    for channel in in_order([channel for _, channel in by]):
        own = [by.get((part, channel)) for part in parts]
        unit = next(r.unit for r in own if r is not None)
        cells = [channel_words(channel), unit]
        for row in own:
            texts = ["", "", ""]
            if row is not None:
                change = difference_text(row.after, row.before)
                texts = [error_text(row.before), Html(f"<b>{error_text(row.after)}</b>"), change]
            cells += texts
        rows.append(cells)
    heads = [
        "channel",
        "unit",
        *(f"{p}: {w}" for p in parts for w in ("before", "after", "change")),
    ]
    about = (
        "Root mean square of simulated minus measured, over all samples of the windows, before and "
        "after the fit."
    )
    return Sheet(heads, rows, range(2, len(heads))).report(about)


def _overlays(fit: Fit) -> dict[str, list[Overlay]]:
    """Replays of each log with the estimates and with the initial parameters."""
    after: dict[str, list[ReplayedLog]] = {}
    before: dict[str, list[ReplayedLog]] = {}
    for replay in (*fit.replays, *fit.held_out):
        name, t = replay.drive.name, replay.drive.t[replay.rows]
        runs = replay.run([Guess(), fit.guess])
        for found, values in zip((before, after), runs, strict=True):
            run = (name, replay.channels, t, replay.measured, values, replay.errors(values))
            found.setdefault(name, []).append(ReplayedLog(fit.vehicle.name, *run))
    return {
        name: [
            Overlay("after the fit", after[name], "run", 0),
            Overlay("before the fit", before[name], "theory", 1),
        ]
        for name in after
    }


def _starts(fit: Fit) -> str:
    """Table of the values that the fit reached from several initial values."""
    if len(fit.starts) < 2:
        return ""
    heads = ("start", "loss above the best", *fit.names)
    rows = [
        (str(k + 1), f"{one.loss:.3g}", *map(value_text, one.values))
        for k, one in enumerate(fit.starts)
    ]
    about = (
        "Values reached from the initial values of the vehicle (1) and from random ones. The loss "
        "is twice the negative logarithm of the likelihood; a difference below 4 tells nothing."
    )
    return Sheet(heads, rows, range(1, len(heads))).report(about)


def _axles(fit: Fit) -> str:
    """Axle curves of every log, with the tyres before and after the fit."""
    found = ""
    for replay in fit.replays[:MOST_LOGS]:
        tyres = {"fitted": fit.vehicle, "before the fit": replay.vehicle}
        sensors = replay.observed.params.log._asdict()
        calibration = {f"log.{name}": float(value) for name, value in sensors.items()}
        calibration |= dict(fit.guess.params)
        calibration |= {f"delay.{name}": value for name, value in fit.guess.delays.items()}
        try:
            curves = logged_axle_curves(fit.vehicle, replay.drive, calibration)
            inner = axle_charts(curves, tyres)
        except SkidpadError as error:
            inner = html.remark(f"No axle curves: {error}.")
        found += f"<h3>{escape(replay.drive.name)}</h3>{inner}"
    return found


def parameter_table(estimates: Sequence[Estimate]) -> str:
    """Start, estimate and 95 % interval of every unknown."""
    rows: list[list[str]] = []
    for one in estimates:
        half = 0.5 * (one.high - one.low)
        relative = abs(half / one.value) if one.value else np.inf
        narrow = f"±{100.0 * relative:.2g} %" if relative < 1.0 else ""
        known = isfinite(one.low) and isfinite(one.high)
        extent = f"{value_text(one.low)} to {value_text(one.high)}" if known else "not known"
        unit = "" if one.unit == "1" else one.unit
        note = html.badge("bad", f"at its {'lowest' if one.at_bound == 'low' else 'highest'} value")
        rows.append(
            [
                one.name,
                value_text(one.start),
                Html(f'<b>{value_text(one.value)}</b> <span class="unit">{escape(unit)}</span>'),
                unit,
                Html(f"{extent}<small>{narrow}</small>"),
                Html(charts.interval_svg(one.value, one.low, one.high, one.start)),
                Html(note) if one.at_bound else "",
            ]
        )
    heads = ("unknown", "start", "estimate", "unit", "95 % interval", "start and interval", "")
    about = (
        "The line in each picture is the start value, the dot the estimate, the bar its 95 % "
        "interval; each row has a scale of its own."
    )
    return Sheet(heads, rows, (1, 2, 4)).report(about)


def correlation_table(names: Sequence[str], correlations: Array) -> str:
    """Correlations of the estimates below the diagonal, coloured by their size."""
    if not 1 < len(names) <= MOST_CORRELATED:
        return ""
    rows: list[list[str]] = []
    for i, name in enumerate(names):
        sizes = [float(value) for value in correlations[i, :i]]
        texts = [(f"{one:.2f}".replace("-", "−"), 100.0 * min(abs(one), 1.0)) for one in sizes]
        rows.append([f"{i + 1} {name}", *(Html(text, f"--h:{h:.0f}%") for text, h in texts)])
    heads = ("", *(str(k + 1) for k in range(len(names) - 1)))
    about = "Correlations of the estimates: near 1 or −1, only a combination of the two is known."
    sheet = Sheet(heads, rows, range(1, len(heads)))
    return f"<h3>Correlations</h3>{sheet.report(about, 'matrix')}"


def axle_charts(curves: AxleCurves, vehicles: Mapping[str, Vehicle]) -> str:
    """Lateral force over slip angle of both axles: samples, medians and the tyres of vehicles."""
    bins = [axle.bins(window=curves.window) for axle in (curves.front, curves.rear)]
    largest = max(float(np.abs(b.F_y).max(initial=0.0)) for b in bins)
    unit, scale = ("kN", 1e-3) if largest > 500.0 else ("N", 1.0)
    degrees = drawn_unit("rad").factor
    tyres = {name: curves.tyre_curve(vehicle) for name, vehicle in vehicles.items()}
    figures: list[str] = []
    for k, (title, axle) in enumerate({"Front": curves.front, "Rear": curves.rear}.items()):
        known = np.isfinite(axle.alpha) & np.isfinite(axle.F_y)
        drawn = [
            charts.Trace(
                degrees * axle.alpha[known], scale * axle.F_y[known], "samples", "points", 6
            ),
            charts.Trace(
                degrees * bins[k].alpha, scale * bins[k].F_y, "medians", "marks", charts.INK
            ),
        ]
        for n, (name, tyre) in enumerate(tyres.items()):
            force = tyre.F_y_r if k else tyre.F_y_f
            kind = "run" if n == 0 else "theory"
            drawn.append(charts.Trace(degrees * tyre.alpha, scale * force, name, kind, n))
        used = curves.friction_used[k]
        caption = f"{title} axle <small>friction used up to {used:.2f}</small>"
        chart = charts.chart_svg(drawn, "slip angle in °", f"lateral force in {unit}")
        figures.append(html.figure(caption, chart + charts.legend_html(drawn)))
    left = [f"{counted(n, 'sample')} left out: {why}" for why, n in curves.excluded.items() if n]
    return html.side_by_side(figures) + html.notes_list([*left, *curves.notes])
