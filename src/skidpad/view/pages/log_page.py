"""Page of a prepared log: what is in it, what looks wrong, and what the preparation changed.

Parts that the report of a fit shows, too, are functions of their own: charts over time, the map of
the drive and the lines of the preparation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from math import pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import counted
from ...study.logs.units import UNIT_OF
from ...study.manoeuvres.evaluation import number_text
from ...units import s
from ..sheet import Html, Sheet
from . import charts
from . import page as html

if TYPE_CHECKING:
    from ...study.logs.log import Channel, Log
    from ...study.logs.preparation import Line, Prepared

DOUBTS = ("consistency", "stamps", "frozen")
"""Steps of a preparation whose lines express doubts about the log."""
MUCH = 0.02
"""Share of the samples above which a gap or spikes are shown first."""
LOSSES = ("gaps", "spikes")
"""Steps that leave samples out."""
TOGETHER = (
    ("Speed", ("v_x", "speed", "wheel_speed", "u_speed")),
    ("Lateral velocity", ("v_y",)),
    ("Sideslip", ("sideslip",)),
    ("Yaw rate", ("omega",)),
    ("Acceleration", ("a_x", "a_y", "u_acceleration")),
    ("Angle of the front wheels", ("steer", "u_steer")),
    ("Angle of the steering wheel", ("steering_wheel",)),
    ("Pedals", ("throttle", "brake", "u_throttle", "u_brake")),
)
"""Channels that are drawn over time, by chart; the channels of a chart share a unit."""
_POINTS = 120_000
"""Most points of all curves over time on a page, about 0.7 MB."""


def log_page(
    prepared: Prepared, path: str | os.PathLike[str], *, log: Log | None = None, date: str = ""
) -> None:
    """Write the page of a prepared log.

    Args:
        prepared: the log after its preparation.
        path: HTML file, written atomically.
        log: the log as it was read, for rates, names in the file and columns that are not used.
        date: printed below the title.
    """
    html.write_page(log_html(prepared, log=log, date=date), path)


def log_html(prepared: Prepared, *, log: Log | None = None, date: str = "") -> str:
    """Text of the page of a prepared log."""
    doubts = [
        line.text if line.step == "consistency" else f"{line.channel}: {line.text}"
        for line in prepared.lines
        if line.step in DOUBTS or (line.step in LOSSES and line.share > MUCH)
    ]
    finite = {name: values[np.isfinite(values)] for name, values in prepared.channels.items()}
    if constant := [name for name, known in finite.items() if known.size and not np.ptp(known)]:
        doubts.append(f"{', '.join(constant)}: the same value in every sample")
    doubts += [] if log is None else [f"{n} is not used: {why}" for n, why in log.unread.items()]
    drive = drive_map(prepared)
    sections = {
        "look-first": ("What to look at first", html.notes_list(doubts, "doubts")),
        "all-channels": ("Channels", _channel_table(prepared, log)),
        "over-time": ("Over time", _over_time(prepared)),
        "drive-map": ("Map of the drive", drive),
        "preparation-lines": ("What the preparation did", preparation_table(prepared.lines)),
        "reading-notes": (
            "What reading changed",
            "" if log is None else "".join(html.remark(note) for note in log.notes),
        ),
    }
    gaps = [end - begin for begin, end in prepared.gaps]
    facts = {
        "duration": f"{prepared.t[-1] - prepared.t[0]:.1f} s",
        "channels": str(len(prepared.channels)),
        "commands": str(len(prepared.commands)),
        "sample period": f"{number_text(1e3 * prepared.dt)} ms",
        "time in gaps": f"{sum(gaps):.3g} s" if gaps else "none",
    }
    notes = {
        "sample period": "of the common grid",
        "time in gaps": f"{counted(len(gaps), 'gap')}, at most {max(gaps):.3g} s" if gaps else "",
    }
    text = f"{counted(len(doubts), 'thing')} to look at" if doubts else "nothing suspicious"
    title = f"Log: {prepared.name}"
    badges = html.badge("bad" if doubts else "good", text)
    return sections_page(
        title, html.header(title, date, badges, html.fact_cards(facts, notes)), sections
    )


def sections_page(title: str, head: str, sections: Mapping[str, tuple[str, str]]) -> str:
    """Page of sections with charts over time: headings and contents by anchor, without empty
    ones."""
    shown = {anchor: pair for anchor, pair in sections.items() if pair[1]}
    entries = html.contents({anchor: heading for anchor, (heading, _) in shown.items()})
    body = [head, entries, *(html.section(anchor, *pair) for anchor, pair in shown.items())]
    script = f"<script>{html.asset('identification/zoom.js')}</script>"
    return html.document(
        title, "".join(body), script, html.asset("identification/identification.css")
    )


class Drawn(NamedTuple):
    """Unit in which a quantity is drawn: degrees for angles, else SI."""

    unit: str
    factor: float


def drawn_unit(unit: str) -> Drawn:
    angle = {"rad": "°", "rad/s": "°/s"}
    return Drawn(angle[unit], 180.0 / pi) if unit in angle else Drawn(unit, 1.0)


def _channel_table(prepared: Prepared, log: Log | None) -> str:
    """Channels and commands with their shape, unit, rate, range, noise, gaps and latency."""
    heads = ("channel", "over the log", "unit", "rate", "range", "noise", "unknown", "latency")
    rows = [
        _channel_row(name, values, prepared, None if log is None else log.channels.get(name))
        for name, values in prepared.channels.items()
    ]
    for name, command in prepared.commands.items():
        at = np.searchsorted(command.t, prepared.t, side="right") - 1
        held = np.where(at >= 0, command.values[np.maximum(at, 0)], np.nan)
        rows.append(_channel_row(name, held, prepared, command))
    about = (
        "Range and noise (standard deviation) are in the unit of the row. Latency is in ms behind "
        "the reference channel, with its 95 % interval."
    )
    return Sheet(heads, rows, (3, 4, 5, 6, 7)).report(about)


def _channel_row(
    name: str, values: Array, prepared: Prepared, raw: Channel | None
) -> tuple[str, ...]:
    unit = (raw.unit if raw is not None else "") or UNIT_OF.get(name, "")
    unit = "" if unit == "1" else unit
    source = raw.source if raw is not None and raw.source else ""
    known = values[np.isfinite(values)]
    ends = [number_text(one) for one in (known.min(), known.max())] if known.size else []
    extent = Html(f'{" to ".join(ends)} <span class="unit">{escape(unit)}</span>')
    rate = 1.0 / prepared.dt
    if raw is not None and len(raw.t) > 1:
        rate = 1.0 / float(np.median(np.diff(raw.t)))
    elif name not in prepared.commands:
        source = source or "computed"
    noise, late = prepared.noise.get(name), prepared.latency.get(name)
    missing, latency = 1.0 - known.size / max(values.size, 1), ""
    if late is not None:
        seconds = (late.value, late.low, late.high)
        value, low, high = (f"{1e3 * one:.1f}".replace("-", "−") for one in seconds)
        latency = Html(f"{value}<small>{low} to {high}</small>")
    label = f"{name}, {' to '.join(ends)} {unit}".strip() if ends else f"{name}, no value"
    return (
        Html(f"{escape(name)}<small>{escape(source)}</small>"),
        Html(charts.sparkline_svg(values, label)),
        unit,
        f"{rate:.4g} Hz",
        extent,
        "" if noise is None else number_text(float(f"{noise:.2g}")),
        html.percent(missing) if missing else "",
        latency,
    )


def _over_time(prepared: Prepared) -> str:
    """Charts of the main channels and commands."""
    figures: list[tuple[str, str, list[charts.Trace]]] = []
    for title, names in TOGETHER:
        curves: list[charts.Trace] = []
        unit, factor = drawn_unit(UNIT_OF.get(names[0], ""))
        for name in names:
            if name in prepared.channels:
                y = factor * prepared.channels[name]
                curves.append(charts.Trace(prepared.t, y, name, "run", len(curves)))
            elif name in prepared.commands:
                held = prepared.commands[name]
                t = np.repeat(held.t, 2)[1:]
                y = factor * np.repeat(held.values, 2)[:-1]
                curves.append(charts.Trace(t, y, f"{name} (command)", "theory", len(curves)))
        if curves:
            words = title.lower() + (f" in {unit}" if unit not in ("", "1") else "")
            figures.append((title, words, curves))
    span = float(prepared.t[0]), float(prepared.t[-1])
    return zoomed_charts(figures, span, shaded=prepared.gaps)


def zoomed_charts(
    figures: Sequence[tuple[str, str, list[charts.Trace]]],
    span: tuple[s, s],
    *,
    marks: Sequence[s] = (),
    shaded: Sequence[tuple[s, s]] = (),
    share: float = 1.0,
) -> str:
    """Charts over a span of time that are zoomed together: title, label of y, curves.

    `share` is the part of the page's points that these charts may have.
    """
    if not figures:
        return ""
    count = sum(len(curves) for _, _, curves in figures)
    most = min(charts.MOST_TIME_POINTS, int(share * _POINTS / count))
    drawn = (
        html.figure(
            escape(title),
            charts.time_chart_svg(curves, label, span, marks=marks, shaded=shaded, most=most)
            + (charts.legend_html(curves) if len(curves) > 1 else ""),
        )
        for title, label, curves in figures
    )
    return f'<div class="zoomed">{charts.zoom_bar(span)}{html.side_by_side(drawn)}</div>'


def drive_map(prepared: Prepared) -> str:
    """Map of the drive coloured by lateral acceleration; empty if its path is not known.

    Without positions, the path is integrated from speed and yaw rate.
    """
    channels = prepared.channels
    values, label = np.full(prepared.t.shape, np.nan), ""
    if "a_y" in channels:
        values, label = channels["a_y"], "Colour: lateral acceleration in m/s²"
    elif {"v_x", "omega"} <= channels.keys():
        values = channels["v_x"] * channels["omega"]
        label = "Colour: speed times yaw rate in m/s²"
    if {"x", "y"} <= channels.keys():
        return map_figure(channels["x"], channels["y"], values, label)
    if not {"v_x", "omega"} <= channels.keys():
        return ""
    v, omega = (np.nan_to_num(channels[name]) for name in ("v_x", "omega"))
    yaw = np.cumsum(omega) * prepared.dt
    x, y = np.cumsum(v * np.cos(yaw)) * prepared.dt, np.cumsum(v * np.sin(yaw)) * prepared.dt
    about = "The log has no positions: the path is integrated from speed and yaw rate, and drifts."
    return html.remark(about) + map_figure(x, y, values, label)


def map_figure(x: Array, y: Array, values: Array, label: str) -> str:
    """Map of a path (n,) in m, coloured by the size of a quantity (n,)."""
    return html.figure(escape(label), charts.map_html(x, y, values))


def preparation_table(lines: Sequence[Line]) -> str:
    """Lines of a preparation: step, channel, what was done, and the share of the samples."""
    rows = [
        (line.step, line.channel, line.text, html.percent(line.share) if line.share else "")
        for line in lines
    ]
    heads = ("step", "channel", "what was done", "of the samples")
    return f'<div class="lines">{Sheet(heads, rows, (3,)).report()}</div>' if rows else ""
