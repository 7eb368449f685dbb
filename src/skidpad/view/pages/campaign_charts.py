"""Drawings of the report of a campaign: histograms, bands, surfaces and bars with intervals.

The line on which a surface has a height.

Tables of the report of a campaign, as HTML.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import NamedTuple, TypeAlias

import numpy as np

from ...core.arrays import AnyArray, Array
from ...random.factors import Factor, Levels, LogRange, Normal, Steps, factor_of
from ...run.monte_carlo_runs import Probability
from ...study.manoeuvres.evaluation import number_text
from ...study.results import Study
from ...study.statistics import Interval, reason_against
from .campaign_data import SHARES, Response, Spread, Surface, View
from .charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Trace,
    axis_of,
    curve_svg,
    framed_svg,
)

_Point: TypeAlias = tuple[float, float]


def contour(x: Array, y: Array, heights: Array, height: float) -> list[tuple[_Point, _Point]]:
    """Straight pieces of the line, cell by cell between centres x (n,) and y (m,) of heights
    (m, n); NaN counts as its neighbours do."""
    if len(x) < 2 or len(y) < 2:
        return []
    level = _filled(heights) - height
    pieces: list[tuple[_Point, _Point]] = []
    for row in range(len(y) - 1):
        for column in range(len(x) - 1):
            corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
            crossings: list[_Point] = []
            for k, (a, b) in enumerate(corners):
                c, d = corners[(k + 1) % 4]
                first, last = level[a, b], level[c, d]
                if (first < 0.0) != (last < 0.0):
                    part = first / (first - last)
                    crossings.append(
                        (
                            float(x[b] + part * (x[d] - x[b])),
                            float(y[a] + part * (y[c] - y[a])),
                        )
                    )
            # Four of a saddle: which two belong together is not known.
            pieces += zip(crossings[::2], crossings[1::2], strict=True)
    return pieces


def _filled(heights: Array) -> Array:
    """With gaps closed by the mean of what is next to them, again and again."""
    filled = heights.copy()
    if not np.isfinite(filled).any():
        return np.zeros_like(filled)
    while np.isnan(filled).any():
        padded = np.pad(filled, 1, constant_values=np.nan)
        beside = np.stack(
            [padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
        )
        known = np.isfinite(beside)
        count = known.sum(axis=0)
        means = np.where(known, beside, 0.0).sum(axis=0) / np.maximum(count, 1)
        filled = np.where(np.isnan(filled) & (count > 0), means, filled)
    return filled


COLOURS = 16
"""Classes v0 to v15, from low to high."""
_MARKED = (0.05, 0.5, 0.95)
"""Quantiles that are drawn into histograms."""
_LABELS, _ROW = 150, 34
"""Width of names beside bars, and height of one of them."""
_LETTER = 6.8
"""Width of a letter, about."""


def histogram_svg(spread: Spread, label: str) -> str:
    """Bars of runs, and three quantiles, with their intervals where some hold."""
    edges, counts = spread.edges, spread.counts
    x = axis_of(edges, LEFT, WIDTH - RIGHT)
    y = Axis(0.0, 1.08 * float(counts.max(initial=1)), HEIGHT - BOTTOM, TOP)
    at, tops, floor = x.place(edges), y.place(counts), float(y.place(0.0))
    bars = "".join(
        f"M{a:.1f} {floor:.1f}V{top:.1f}H{b:.1f}V{floor:.1f}"
        for a, b, top in zip(at[:-1], at[1:], tops, strict=True)
        if top < floor
    )
    inner = [f'<path class="bar" d="{bars}"/>']
    for share in _MARKED:
        quantile = spread.quantiles[SHARES.index(share)]
        ends = np.clip([quantile.low, quantile.high], x.low, x.high)
        a, b = x.place(ends).tolist()
        if np.isfinite([quantile.low, quantile.high]).any():
            inner.append(f'<path class="span" d="M{a:.1f} {TOP}H{b:.1f}V{floor:.1f}H{a:.1f}z"/>')
        if x.low <= quantile.value <= x.high:
            middle = float(x.place(quantile.value))
            inner.append(f'<path class="mark" d="M{middle:.1f} {TOP}V{floor:.1f}"/>')
    return framed_svg(x, y, label, "runs", "".join(inner))


def response_svg(
    response: Response, view: View, points: tuple[Array, Array], labels: tuple[str, str]
) -> str:
    """The mean line and the band, over some of the runs."""
    bins = response.bins
    x = axis_of(bins.edges, LEFT, WIDTH - RIGHT, log=bins.log)
    y = axis_of(np.array(view), HEIGHT - BOTTOM, TOP)
    inner = [curve_svg(Trace(*points, "", "points", 6), x, y)]
    known = np.isfinite(response.low) & np.isfinite(response.high)
    for run in _stretches(known):
        at = x.place(bins.centres[run])
        upper, lower = y.place(response.high[run]), y.place(response.low[run])
        outline = [*zip(at, upper, strict=True), *zip(at[::-1], lower[::-1], strict=True)]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        inner.append(f'<path class="band" d="M{path}z"/>')
    inner.append(curve_svg(Trace(bins.centres, response.mean, "", "run", 0), x, y))
    if bins.parts <= 12:
        inner.append(curve_svg(Trace(bins.centres, response.mean, "", "cones", 0), x, y))
    return framed_svg(x, y, *labels, "".join(inner))


def _stretches(known: AnyArray) -> list[AnyArray]:
    """Numbers that follow each other."""
    at = np.flatnonzero(known)
    return [part for part in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if part.size]


def surface_html(
    surface: Surface, view: View, labels: tuple[str, str], threshold: float | None
) -> str:
    """Cells in the colours of a scale, the scale, and the line on which a threshold lies."""
    known = np.clip(surface.mean[np.isfinite(surface.mean)], *view)
    low, high = (float(known.min()), float(known.max())) if known.size else view
    x = _tight(surface.x_bins.edges, surface.x_bins.log, LEFT, WIDTH - RIGHT)
    y = _tight(surface.y_bins.edges, surface.y_bins.log, HEIGHT - BOTTOM, TOP)
    inner = _cells(surface, x, y, low, high)
    line = ""
    if threshold is not None:
        centres = surface.x_bins.centres, surface.y_bins.centres
        for a, b in contour(*centres, surface.mean, threshold):
            (x_1, x_2), (y_1, y_2) = x.place([a[0], b[0]]), y.place([a[1], b[1]])
            line += f"M{x_1:.1f} {y_1:.1f}L{x_2:.1f} {y_2:.1f}"
    if line:
        inner += f'<path class="halo" d="{line}"/><path class="threshold" d="{line}"/>'
    told = f"; line at {number_text(threshold)}" if line else ""
    return (
        framed_svg(x, y, *labels, inner)
        + f'<p class="scale">{number_text(low)}<i></i>{number_text(high)}{told}</p>'
    )


def _tight(edges: Array, log: bool, begin: float, end: float) -> Axis:
    return Axis(float(edges[0]), float(edges[-1]), begin, end, log)


def _cells(surface: Surface, x: Axis, y: Axis, low: float, high: float) -> str:
    """One path for each colour."""
    across, up = x.place(surface.x_bins.edges), y.place(surface.y_bins.edges)
    span = high - low if high > low else 1.0
    paths: dict[int, list[str]] = {}
    for (row, column), value in np.ndenumerate(surface.mean):
        if not np.isfinite(value):
            continue
        colour = int(np.clip((value - low) / span * COLOURS, 0, COLOURS - 1))
        a, b, c, d = across[column], across[column + 1], up[row], up[row + 1]
        paths.setdefault(colour, []).append(f"M{a:.1f} {c:.1f}H{b:.1f}V{d:.1f}H{a:.1f}z")
    return "".join(
        f'<path class="cell v{colour}" d="{"".join(own)}"/>' for colour, own in paths.items()
    )


class BarGroup(NamedTuple):
    """Bars beside one name, each with its interval."""

    label: str
    bars: Sequence[tuple[float, float, float]]
    """Values with lower and upper ends."""


def bars_svg(groups: Sequence[BarGroup], label: str, low: float, high: float) -> str:
    """Bars from zero to the right, one group below the other."""
    height = len(groups) * _ROW + BOTTOM
    x = Axis(low, high, _LABELS, WIDTH - RIGHT)
    zero, floor = float(x.place(max(low, 0.0))), height - BOTTOM
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label)}">'
    ]
    for value, text in x.ticks(6):
        at = float(x.place(value))
        parts.append(f'<path class="grid" d="M{at:.1f} 0V{floor}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{floor + 16}">{text}</text>')
    for k, group in enumerate(groups):
        parts += _bar_group(group, x, zero, k * _ROW + 4)
    parts.append(f'<path class="axis" d="M{zero:.1f} 0V{floor}"/>')
    middle = 0.5 * (_LABELS + WIDTH - RIGHT)
    parts.append(
        f'<text class="label" x="{middle:.1f}" y="{height - 8}">{escape(label)}</text></svg>'
    )
    return "".join(parts)


def _bar_group(group: BarGroup, x: Axis, zero: float, top: float) -> list[str]:
    room = _LABELS - 12
    wide = _LETTER * len(group.label) > room
    squeezed = f' textLength="{room}" lengthAdjust="spacingAndGlyphs"' if wide else ""
    middle = top + 0.5 * (_ROW - 8)
    parts = [
        f'<text class="tick y" x="{_LABELS - 8}" y="{middle + 4:.1f}"{squeezed}>'
        f"{escape(group.label)}</text>"
    ]
    thick = (_ROW - 10) / len(group.bars)
    for k, (value, low, high) in enumerate(group.bars):
        a = top + k * thick + 1
        at, *ends = x.place(np.clip([value, low, high], x.low, x.high)).tolist()
        centre = a + 0.5 * (thick - 2)
        parts.append(
            f'<path class="bar b{k}" d="M{zero:.1f} {a:.1f}H{at:.1f}v{thick - 2:.1f}H{zero:.1f}z"/>'
            f'<path class="whisker" d="M{ends[0]:.1f} {centre:.1f}H{ends[1]:.1f}'
            f'M{ends[0]:.1f} {centre - 3:.1f}v6M{ends[1]:.1f} {centre - 3:.1f}v6"/>'
        )
    return parts


_MOST_LISTED = 12
_UNFOLDED = 3
"""Columns of a table that fit on a narrow screen."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Rows of texts, of which `numbers` stand to the right; all are escaped."""
    body = [[escape(cell) for cell in row] for row in rows]
    return html_table(head, body, numbers)


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()
) -> str:
    """The same of cells that are HTML already.

    On narrow screens rows of many cells are folded: one line for each of them, with its head.
    """
    kinds = ["number" if k in numbers else "text" for k in range(len(head))]
    heads = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>'
        for kind, name in zip(kinds, head, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(
            f'<td class="{kind}" data-head="{escape(name)}">{cell}</td>'
            for kind, name, cell in zip(kinds[1:], head[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    folds = ' class="metrics"' if len(head) > _UNFOLDED else ""
    return (
        f'<div class="scroll"><table{folds}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def labelled(study: Study, name: str) -> str:
    """A name with its unit: "v_x in m/s"."""
    unit = next((one.unit for one in study.columns if one.name == name), "")
    return f"{name} in {unit}" if unit and unit != "1" else name


def percent(share: float) -> str:
    """As 95 % or 0.123 %."""
    return f"{100.0 * share:.3g} %".replace("-", "−")


def spread_table(study: Study, spreads: Sequence[Spread]) -> str:
    """Mean and quantiles of each column, with intervals where some hold."""
    meanings = {one.name: one.meaning for one in study.columns}
    quantiles = [percent(share) for share in SHARES]
    head = ("", "runs", "mean", "std", "lowest", *quantiles, "highest")
    rows: list[list[str]] = []
    for one in spreads:
        extent = one.extent
        lost = [f"{extent.without} without" if extent.without else "",
                f"{extent.infinite} infinite" if extent.infinite else ""]  # fmt: skip
        told = ", ".join(filter(None, lost))
        rows.append(
            [
                f"{escape(labelled(study, one.name))}"
                f"<small>{escape(meanings.get(one.name, ''))}</small>",
                f"{extent.runs}{f'<small>{told}</small>' if told else ''}",
                _with_interval(one.mean),
                number_text(extent.std),
                number_text(extent.low),
                *(_with_interval(quantile) for quantile in one.quantiles),
                number_text(extent.high),
            ]
        )
    return html_table(head, rows, range(1, len(head)))


def _with_interval(number: Interval) -> str:
    if number.reason:
        return number_text(number.value)
    low = number_text(number.low) if np.isfinite(number.low) else "?"
    high = number_text(number.high) if np.isfinite(number.high) else "?"
    return f"{number_text(number.value)}<small>{low} to {high}</small>"


def probability_table(study: Study, estimates: Mapping[str, Probability], level: float) -> str:
    """Of what is true or false of a run, with intervals where some hold."""
    meanings = {one.name: one.meaning for one in study.columns}
    intervals = any(np.isfinite(one.low) for one in estimates.values())
    drawn = not reason_against(study.plan)
    head = ["", "probability" if drawn else "share", f"{percent(level)} confidence", "runs"]
    rows = [
        [
            f"{escape(name)}<small>{escape(meanings.get(name, ''))}</small>",
            number_text(one.value),
            f"{number_text(one.low)} to {number_text(one.high)}" if np.isfinite(one.low) else "–",
            f"{one.happened} of {one.runs}",
        ]
        for name, one in estimates.items()
    ]
    if not intervals:
        del head[2]
        for row in rows:
            del row[2]
    return html_table(head, rows, range(1, len(head)))


def factor_table(study: Study) -> str:
    """What differs between runs."""
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units.get(name, ""))
        for name, plain in study.plan["factors"].items()
    ]
    return table(("factor", "values", "unit"), rows) if rows else ""


def factor_text(factor: Factor) -> str:
    """A factor in words: "1 to 5", "normal, 3 ± 0.1, 2 to 4"."""
    ends = f"{number_text(factor.low)} to {number_text(factor.high)}"
    match factor:
        case LogRange():
            return f"{ends}, ratios alike"
        case Normal(mean=mean, std=std):
            return f"normal, {number_text(mean)} ± {number_text(std)}, {ends}"
        case Steps(count=count):
            return f"{ends} in {count} steps"
        case Levels(values=values):
            shown = ", ".join(map(number_text, values[:_MOST_LISTED]))
            return f"{shown}, … ({len(values)} in all)" if len(values) > _MOST_LISTED else shown
        case _:
            return ends
