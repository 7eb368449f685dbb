"""Drawings of the report of a campaign: histograms, bands, surfaces and bars with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ...arrays import AnyArray, Array
from ...manoeuvres.evaluation import number_text
from ..report.axes import Axis, axis_of
from ..report.svg_chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Drawn, curve_svg, framed_svg
from .contours import contour
from .responses import Response, Surface, View
from .summaries import SHARES, Spread

__all__ = ["BarGroup", "bars_svg", "histogram_svg", "response_svg", "surface_html"]

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
    inner = [curve_svg(Drawn(*points, "", "points", 6), x, y)]
    known = np.isfinite(response.low) & np.isfinite(response.high)
    for run in _stretches(known):
        at = x.place(bins.centres[run])
        upper, lower = y.place(response.high[run]), y.place(response.low[run])
        outline = [*zip(at, upper, strict=True), *zip(at[::-1], lower[::-1], strict=True)]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        inner.append(f'<path class="band" d="M{path}z"/>')
    inner.append(curve_svg(Drawn(bins.centres, response.mean, "", "run", 0), x, y))
    if bins.parts <= 12:
        inner.append(curve_svg(Drawn(bins.centres, response.mean, "", "cones", 0), x, y))
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
