"""Report of a fit: estimates with intervals, what the data cannot tell, errors and overlays.

Tables show SI units as the results have them; charts and the head show angles in degrees.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.files import counted, listed
from ...errors import SkidpadError
from ...study.identify.axle_curves import AxleCurves, axle_curves
from ...study.identify.model_choice import ReplayedLog
from ...study.identify.replay import Guess, Replay
from ...study.manoeuvres.evaluation import difference_text
from ...units import s
from ..sheet import Html, Sheet
from .charts import INK, Trace, chart_svg, legend_html
from .log_page import drawn_unit, preparation_table, sections_page
from .page import write_page
from .replay_charts import (
    MOST_LOGS,
    Overlay,
    channel_words,
    error_text,
    horizon_charts,
    horizon_trace,
    in_order,
    log_sections,
    value_text,
)
from .report_shell import (
    badge,
    fact_cards,
    figure,
    header,
    notes_list,
    remark,
    side_by_side,
)
from .time_charts import interval_svg

if TYPE_CHECKING:
    from ...core.model import Vehicle
    from ...study.identify.fitting import Estimate, Fit
    from ...study.identify.training import ErrorRow

MOST_CORRELATED = 12
"""Most unknowns whose correlations are shown."""


def fit_report(fit: Fit, path: str | os.PathLike[str], *, date: str = "") -> None:
    """Write the report of a fit.

    Args:
        fit: a vehicle that was fitted to logs.
        path: HTML file, written atomically.
        date: printed below the title.
    """
    write_page(fit_html(fit, date=date), path)


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
    sections: dict[str, tuple[str, str]] = {
        "all-estimates": ("Estimates", table),
        "not-told": ("What the data cannot tell", _untold(fit)),
        "all-errors": ("Errors before and after", _error_table(fit) + _horizons_of_fit(fit)),
        **log_sections(_overlays(fit), _held_out_spans(fit), about),
        "axle-curves": ("Axle curves", _axles(fit)),
        "all-starts": ("Several starts", _starts(fit)),
        "preparation-lines": ("What the preparation did", prepared),
        "all-notes": ("Notes", notes_list(fit.notes)),
    }
    title = f"Fit: {fit.vehicle.name}"
    seconds = sum(float(drive.t[-1] - drive.t[0]) for drive in drives.values())
    what = (
        f"{counted(len(names), 'unknown')} of {fit.vehicle.name}, estimated from "
        f"{listed(list(drives))} ({seconds:.3g} s)."
    )
    bound = sum(bool(one.at_bound) for one in fit.estimates)
    badges = badge("bad", f"{bound} at a bound") if bound else ""
    badges += " " + badge("bad", counted(len(fit.untold), "doubt")) if fit.untold else ""
    verdict = f'<p class="verdict">{escape(_main_sentence(fit))}</p>'
    return sections_page(
        title, header(title, date, badges, verdict, f"<p>{escape(what)}</p>", _cards(fit)), sections
    )


def _judged(fit: Fit) -> tuple[str, dict[str, ErrorRow]]:
    """Part of the logs that judges the fit, and its errors over whole windows by channel."""
    part = "held out" if any(row.part == "held out" for row in fit.errors) else "training"
    rows = {r.channel: r for r in fit.errors if r.part == part and r.horizon == 0.0}
    return part, {name: rows[name] for name in in_order(list(rows))}


def _main_sentence(fit: Fit) -> str:
    part, rows = _judged(fit)
    replays = fit.held_out if part == "held out" else fit.replays
    length = max(r.steps * r.drive.dt for r in replays)
    where = "data held out of the fit" if part == "held out" else "the data of the fit itself"
    found: list[str] = []
    for row in list(rows.values())[:3]:
        unit, factor = drawn_unit(row.unit)
        before, after = (error_text(factor * one, unit) for one in (row.before, row.after))
        found.append(f"{after} in {channel_words(row.channel)} ({before} before the fit)")
    return f"Errors of free runs of {length:.3g} s over {where}: {listed(found)}."


def _cards(fit: Fit) -> str:
    rows = list(_judged(fit)[1].values())[:5]
    facts: dict[str, str] = {}
    notes: dict[str, str] = {}
    for row in rows:
        unit, factor = drawn_unit(row.unit)
        name = f"error of the {channel_words(row.channel)}"
        facts[name] = error_text(factor * row.after, unit)
        notes[name] = f"{error_text(factor * row.before, unit)} before the fit"
    return fact_cards(facts, notes)


def _untold(fit: Fit) -> str:
    items = "".join(f"<li>{escape(one.text[:1].upper() + one.text[1:])}</li>" for one in fit.untold)
    return f'<ul class="doubts">{items}</ul>' if items else ""


def _error_table(fit: Fit) -> str:
    """Errors over whole windows by channel, held out and of the training."""
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
    return remark(about) + Sheet(heads, rows, range(2, len(heads))).report()


def _horizons_of_fit(fit: Fit) -> str:
    curves: dict[str, list[Trace]] = {}
    units: dict[str, str] = {}
    for row in fit.errors:
        units[row.channel] = row.unit
    for channel, unit in units.items():
        for colour, part in enumerate(("held out", "training")):
            own = [r for r in fit.errors if (r.channel, r.part) == (channel, part) and r.horizon]
            for when, kind in (("after", "run"), ("before", "theory")):
                points = [(r.horizon, r.after if when == "after" else r.before) for r in own]
                curves.setdefault(channel, []).extend(
                    horizon_trace(points, unit, f"{part}, {when}", kind, colour)
                )
    return horizon_charts(curves, units)


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


def _held_out_spans(fit: Fit) -> dict[str, list[tuple[s, s]]]:
    spans: dict[str, list[tuple[s, s]]] = {}
    for replay in fit.held_out:
        t = replay.drive.t[replay.rows]
        spans.setdefault(replay.drive.name, []).append((float(t.min()), float(t.max())))
    return spans


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
    return remark(about) + Sheet(heads, rows, range(1, len(heads))).report()


def _axles(fit: Fit) -> str:
    """Axle curves of every log, with the tyres before and after the fit."""
    found = ""
    for replay in fit.replays[:MOST_LOGS]:
        drive, tyres = replay.drive, {"fitted": fit.vehicle, "before the fit": replay.vehicle}
        try:
            channels = _calibrated(replay, fit.guess)
            curves = axle_curves(fit.vehicle, channels, drive.t, noise=drive.noise)
            inner = axle_charts(curves, tyres)
        except SkidpadError as error:
            inner = remark(f"No axle curves: {error}.")
        found += f"<h3>{escape(drive.name)}</h3>{inner}"
    return found


def _calibrated(replay: Replay, guess: Guess) -> dict[str, Array]:
    """Channels of a log with the wheel angle and the speed that the fitted vehicle sees."""
    channels, sensors = dict(replay.drive.channels), replay.observed.params.log
    known = {f"log.{name}": value for name, value in sensors._asdict().items()}
    known.update(guess.params)
    angle = channels.get("steer", channels.get("steering_wheel"))
    if angle is not None:
        channels["steer"] = known["log.steer_ratio"] * angle + known["log.steer_offset"]
    if "v_x" in channels:
        channels["v_x"] = known["log.speed_ratio"] * channels["v_x"]
    return channels


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
        note = badge("bad", f"at its {'lowest' if one.at_bound == 'low' else 'highest'} value")
        rows.append(
            [
                one.name,
                value_text(one.start),
                Html(f'<b>{value_text(one.value)}</b> <span class="unit">{escape(unit)}</span>'),
                unit,
                Html(f"{extent}<small>{narrow}</small>"),
                Html(interval_svg(one.value, one.low, one.high, one.start)),
                Html(note) if one.at_bound else "",
            ]
        )
    heads = ("unknown", "start", "estimate", "unit", "95 % interval", "start and interval", "")
    about = (
        "The line in each picture is the start value, the dot the estimate, the bar its 95 % "
        "interval; each row has a scale of its own."
    )
    return remark(about) + Sheet(heads, rows, (1, 2, 4)).report()


def correlation_table(names: Sequence[str], correlations: Array) -> str:
    """Correlations of the estimates below the diagonal, coloured by their size."""
    if not 1 < len(names) <= MOST_CORRELATED:
        return ""
    rows: list[str] = []
    for i, name in enumerate(names):
        cells = "".join(
            f'<td style="--h:{100.0 * min(abs(float(value)), 1.0):.0f}%">'
            f"{float(value):.2f}</td>".replace(">-", ">−")
            for value in correlations[i, :i]
        )
        rows.append(f'<tr><th scope="row">{i + 1} {escape(name)}</th>{cells}</tr>')
    heads = "".join(f'<th scope="col">{k + 1}</th>' for k in range(len(names) - 1))
    about = "Correlations of the estimates: near 1 or −1, only a combination of the two is known."
    return (
        f'<h3>Correlations</h3>{remark(about)}<div class="scroll"><table class="matrix">'
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


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
            Trace(degrees * axle.alpha[known], scale * axle.F_y[known], "samples", "points", 6),
            Trace(degrees * bins[k].alpha, scale * bins[k].F_y, "medians", "marks", INK),
        ]
        for n, (name, tyre) in enumerate(tyres.items()):
            force = tyre.F_y_r if k else tyre.F_y_f
            kind = "run" if n == 0 else "theory"
            drawn.append(Trace(degrees * tyre.alpha, scale * force, name, kind, n))
        used = curves.friction_used[k]
        caption = f"{title} axle <small>friction used up to {used:.2f}</small>"
        chart = chart_svg(drawn, "slip angle in °", f"lateral force in {unit}")
        figures.append(figure(caption, chart + legend_html(drawn)))
    left = [f"{counted(n, 'sample')} left out: {why}" for why, n in curves.excluded.items() if n]
    return side_by_side(figures) + notes_list([*left, *curves.notes])
