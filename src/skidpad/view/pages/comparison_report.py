"""Report of a comparison: which vehicle the logs support, its errors, overlays and maps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ...core.files import counted, listed
from ..sheet import Html, Sheet
from .charts import Trace
from .log_page import sections_page
from .page import write_page
from .replay_charts import (
    DIVERGED,
    Overlay,
    channel_words,
    error_text,
    horizon_charts,
    horizon_trace,
    in_order,
    log_sections,
)
from .report_shell import (
    header,
    notes_list,
    remark,
)
from .time_charts import interval_svg

if TYPE_CHECKING:
    from ...study.identify.comparison import Comparison, Error
    from ...study.identify.model_choice import Pair

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
    write_page(comparison_html(comparison, date=date), path)


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
    sections: dict[str, tuple[str, str]] = {
        "all-models": ("Vehicles", _pair_table(comparison.pairs)),
        "all-errors": ("Errors", _model_table(comparison) + _horizons_of_models(comparison)),
        **log_sections(logs),
        "all-notes": ("Notes", notes_list(comparison.notes)),
    }
    title = f"Comparison: {', '.join(names)}"
    about = (
        f"{counted(comparison.windows, 'window')} of {comparison.window:.3g} s of "
        f"{listed(list(comparison.logs))}, replayed by every vehicle from the same measured state."
    )
    verdict = f'<p class="verdict">{escape(comparison.verdict)}</p>' if comparison.verdict else ""
    head = header(title, date, "", verdict, f"<p>{escape(about)}</p>")
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
    return remark(about) + Sheet(heads, rows, range(1, len(heads))).report()


def _cell(error: Error | None, best: float) -> str:
    if error is None:
        return ""
    if not isfinite(error.rmse):
        return DIVERGED
    text = error_text(error.rmse)
    text = f"<b>{text}</b>" if error.rmse == best else text
    return Html(f"{text}<small>{error_text(error.max)}</small>")


def _pair_table(pairs: Sequence[Pair]) -> str:
    """Vehicles against the best one, with intervals."""
    if not pairs:
        return ""
    rows: list[tuple[str, ...]] = []
    ends = [1.0 + v for pair in pairs for v in (pair.low, pair.high) if isfinite(v)]
    scale = min([1.0, *ends]), max([1.0, *ends])
    for pair in pairs:
        value, low, high = (1.0 + one for one in (pair.difference, pair.low, pair.high))
        known = f"{max(low, 0.0):.3g} to {high:.3g}" if isfinite(low) else "–"
        certain = "certainly worse" if pair.is_certain else "may be equal"
        picture = Html(interval_svg(value, low, high, 1.0, scale))
        rows.append((pair.vehicle, f"{value:.3g}", known, picture, certain, str(pair.windows)))
    about = (
        f"Errors of all channels together as multiples of that of {pairs[0].other}, window by "
        "window. In the pictures the line is at 1: a bar that crosses it may be chance."
    )
    heads = ("vehicle", "multiple", "95 % interval", "", "", "windows")
    return remark(about) + Sheet(heads, rows, (1, 2, 5)).report()


def _horizons_of_models(comparison: Comparison) -> str:
    curves: dict[str, list[Trace]] = {}
    for channel, unit in comparison.channels.items():
        for k, name in enumerate(comparison.vehicles):
            own = [e for e in comparison.errors if (e.vehicle, e.channel) == (name, channel)]
            points = [(e.horizon, e.rmse) for e in own if e.horizon]
            curves.setdefault(channel, []).extend(horizon_trace(points, unit, name, "run", k))
    return horizon_charts(curves, comparison.channels)
