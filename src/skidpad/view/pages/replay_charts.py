"""Replays of logs as charts: overlays over time, errors over the horizon, maps of errors.

The reports of fits and of comparisons share these parts, and the words and numbers of their tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import listed
from ...study.identify.model_choice import ReplayedLog
from ...study.logs.names import UNIT_OF
from ...study.manoeuvres.evaluation import number_text
from ...units import s
from .charts import INK, Trace, chart_svg, legend_html
from .log_page import drawn_unit, map_figure, zoomed_charts
from .report_shell import figure, remark, side_by_side

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
    """A number with four digits, without an exponent below a million."""
    large = 1e4 <= abs(value) < 1e6
    return f"{float(f'{value:.4g}'):.0f}".replace("-", "−") if large else number_text(value)


def in_order(channels: Sequence[str]) -> list[str]:
    """Channels in the order of the page, without repetition."""
    known = [name for name in WORDS if name in channels]
    return [*known, *(name for name in dict.fromkeys(channels) if name not in WORDS)]


def channel_words(channel: str) -> str:
    return WORDS.get(channel, channel)


def error_text(value: float, unit: str = "") -> str:
    """An error with its unit, or that the run diverged."""
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


def horizon_trace(
    points: Sequence[tuple[s, float]], unit: str, label: str, kind: str, colour: int
) -> list[Trace]:
    """Errors over the horizon, as a line with dots; nothing without errors."""
    if not any(isfinite(value) for _, value in points):
        return []
    x, y = np.array(sorted(points)).T
    y = drawn_unit(unit).factor * np.where(np.isfinite(y), y, np.nan)
    return [Trace(x, y, label, kind, colour), Trace(x, y, "", "marks", colour)]


def horizon_charts(curves: Mapping[str, list[Trace]], units: Mapping[str, str]) -> str:
    """Charts of errors over the time since the start of a window, by channel."""
    figures = [
        figure(
            escape(channel_words(name).capitalize()),
            chart_svg(
                # The first one is a point that is not drawn, so that the axes begin at zero.
                [Trace(np.zeros(1), np.zeros(1), "", "run", 0), *curves[name]],
                "time since the start of the window in s",
                f"error in {drawn_unit(units[name]).unit}",
            )
            + legend_html(curves[name]),
        )
        for name in in_order(list(curves))
        if curves[name]
    ]
    about = (
        "Root mean square over the windows of simulated minus measured, at one time after the "
        "start of the free run."
    )
    heading = "<h3>Over the horizon</h3>"
    return heading + remark(about) + side_by_side(figures, "charts three") if figures else ""


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
        inner = remark(about) if about else ""
        inner += overlay_charts(overlays, own, share)
        drawn = error_map(overlays[0])
        inner += f"<h3>Map of the drive</h3>{drawn}" if drawn else ""
        found[f"log-{k}"] = (f"Measured and simulated: {name}", inner)
    if len(logs) > MOST_LOGS:
        others = listed(list(logs)[MOST_LOGS:])
        found["logs-not-drawn"] = ("Other logs", remark(f"Not drawn: {others}."))
    return found


def overlay_charts(
    overlays: Sequence[Overlay], shaded: Sequence[tuple[s, s]] = (), share: float = 1.0
) -> str:
    """Measured and simulated channels of one log over time, in windows that do not overlap."""
    figures: list[tuple[str, str, list[Trace]]] = []
    every = [c for one in overlays for c in one.channels if c not in ("x", "y")]
    for name in in_order(every):
        unit, factor = drawn_unit(UNIT_OF.get(name, ""))
        drawn = [(one, "replayed") for one in overlays if name in one.channels]
        first = drawn[0][0]._replace(label="measured", kind="measured", colour=INK)
        curves: list[Trace] = []
        for one, what in [(first, "measured"), *drawn]:
            t, values = one.series(name, what)
            curves.append(Trace(t, factor * values, one.label, one.kind, one.colour))
        words = channel_words(name)
        label = f"{words} in {unit}" if unit not in ("", "1") else words
        figures.append((words.capitalize(), label, curves))
    t = np.concatenate([run.t.ravel() for one in overlays for run in one.runs])
    span = float(t.min()), float(t.max())
    return zoomed_charts(figures, span, marks=overlays[0].starts, shaded=shaded, share=share)


def error_map(overlay: Overlay) -> str:
    """Measured path coloured by the error of the yaw rate, or of the first channel there is."""
    if not {"x", "y"} <= set(overlay.channels):
        return ""
    name = in_order(overlay.channels)[0]
    unit, factor = drawn_unit(UNIT_OF.get(name, ""))
    x, y = (overlay.series(axis, "measured")[1] for axis in ("x", "y"))
    error = factor * overlay.series(name, "errors")[1]
    label = f"Colour: error of the {channel_words(name)} in {unit}, {overlay.label}"
    return map_figure(x, y, error, label)
