"""Charts as SVG: curves over axes, histograms, bands, surfaces, bars with intervals.

Colours are CSS classes, which the page defines for light, dark and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...core.arrays import Array
from ...study.manoeuvres.evaluation import number_text
from .campaign_data import SHARES, Response, Spread, Surface, View


@dataclass(frozen=True)
class Axis:
    """Linear map from a range of values to a range of coordinates in the drawing."""

    low: float
    high: float
    begin: float
    """Coordinate of `low`."""
    end: float
    log: bool = False

    def place(self, values: Any) -> Array:
        """Coordinates of values."""
        numbers = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.log10(numbers)
            low, high = log10(low), log10(high)
        return self.begin + (self.end - self.begin) * (numbers - low) / (high - low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round values within the axis, and their labels."""
        if self.log:
            low, high = self.low, self.high
            few = high / low < 300.0
            factors = (1.0, 2.0, 5.0) if few else (1.0,)
            powers = range(floor(log10(low)), ceil(log10(high)) + 1)
            values = [factor * 10.0**power for power in powers for factor in factors]
            inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
            return [(value, f"{value:g}") for value in inside]
        step = _round_step((self.high - self.low) / most)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        digits = max(0, -floor(log10(step) + 1e-9))
        return [(k * step, _text(k * step, digits)) for k in range(first, last + 1)]


def axis_of(values: Array, begin: float, end: float, *, log: bool = False) -> Axis:
    """An axis that holds all finite values, with a margin."""
    known = values[np.isfinite(values) & (values > 0.0 if log else True)]
    if not known.size:
        return Axis(1.0, 10.0, begin, end, log) if log else Axis(0.0, 1.0, begin, end)
    low, high = float(known.min()), float(known.max())
    if log:
        return Axis(low, high if high > low else 10.0 * low, begin, end, log)
    room = 0.04 * (high - low)
    if not room > 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * max(abs(high), 1e-3)
    return Axis(low - room, high + room, begin, end)


def equalise(x: Axis, y: Axis) -> tuple[Axis, Axis]:
    """Both axes at equal scale, one of them extended."""
    scales = [(one.high - one.low) / abs(one.end - one.begin) for one in (x, y)]
    wide: list[Axis] = []
    for one, scale in zip((x, y), scales, strict=True):
        middle = 0.5 * (one.low + one.high)
        half = 0.5 * max(scales) / scale * (one.high - one.low)
        wide.append(replace(one, low=middle - half, high=middle + half))
    return wide[0], wide[1]


def _round_step(least: float) -> float:
    """Next larger of 1, 2 and 5 times a power of ten."""
    if not (isfinite(least) and least > 0.0):
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= least)


def _text(value: float, digits: int) -> str:
    if digits > 4:
        return f"{value + 0.0:.3g}".replace("-", "−")
    return f"{value + 0.0:.{digits}f}".replace("-", "−")


WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 12, 10, 46
"""Margins around the axes."""
LOWEST, HIGHEST = 120.0, 460.0
"""Least and largest height of charts with equal axes."""
MOST_POINTS = 700
COLOURS = 8
"""Number of colour classes, c0 to c7."""
INK = -1
"""Number that stands for the colour of text."""
ORDER = ("points", "cones", "measured", "run", "marks", "limit", "theory")
"""Kinds of curves in drawing order, lowest first."""
DOTS = ("points", "cones", "marks")
"""Kinds of curves drawn as points."""
MOST_LEGEND = 12


class Trace(NamedTuple):
    """A curve and its style."""

    x: Array
    y: Array
    label: str
    kind: str
    colour: int
    opacity: float = 1.0


def chart_svg(
    curves: Sequence[Trace], x_label: str, y_label: str, *, x_log: bool = False, equal: bool = False
) -> str:
    """Chart as SVG; `equal` gives both axes the same scale."""
    x, y, height = _axes(curves, x_log, equal)
    ordered = sorted(curves, key=lambda one: ORDER.index(one.kind))
    inner = "".join(curve_svg(curve, x, y) for curve in ordered)
    return framed_svg(x, y, x_label, y_label, inner, height)


def framed_svg(
    x: Axis, y: Axis, x_label: str, y_label: str, inner: str, height: float = HEIGHT
) -> str:
    """Axes from `LEFT` to `WIDTH - RIGHT` and from `height - BOTTOM` up to `TOP`, around a drawing.

    The drawing `inner` is clipped to the axes.
    """
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(y_label)} over {escape(x_label)}">',
        *_frame(x, y, x_label, y_label, height),
        f'<svg x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
        f'height="{height - TOP - BOTTOM:.0f}" '
        f'viewBox="{LEFT} {TOP} {WIDTH - LEFT - RIGHT} {height - TOP - BOTTOM:.0f}">',
        inner,
        "</svg></svg>",
    ]
    return "".join(parts)


def _axes(curves: Sequence[Trace], x_log: bool, equal: bool) -> tuple[Axis, Axis, float]:
    def joined(values: Iterable[Any]) -> Array:
        return np.concatenate([np.zeros(0), *(np.asarray(own, float) for own in values)])

    xs = joined(curve.x for curve in curves)
    ys = joined(curve.y for curve in curves if curve.kind != "theory")
    every = joined(curve.y for curve in curves if curve.kind == "theory")
    if every.size:  # which may leave what was driven far behind
        every = every[np.isfinite(every)]
        known = ys[np.isfinite(ys)]
        if known.size and not equal:
            room = 0.3 * max(float(np.ptp(known)), 1e-12)
            every = np.clip(every, known.min() - room, known.max() + room)
        ys = np.concatenate([ys, every])
    if equal:
        return equal_axes(xs, ys)
    x = axis_of(xs, LEFT, WIDTH - RIGHT, log=x_log)
    return x, axis_of(ys, HEIGHT - BOTTOM, TOP), float(HEIGHT)


def equal_axes(xs: Array, ys: Array) -> tuple[Axis, Axis, float]:
    """Axes at equal scale that hold some points, and the height of their chart."""
    x, plain = axis_of(xs, LEFT, WIDTH - RIGHT), axis_of(ys, 0.0, 1.0)
    tall = (WIDTH - LEFT - RIGHT) * (plain.high - plain.low) / (x.high - x.low)
    height = float(np.clip(tall, LOWEST, HIGHEST)) + TOP + BOTTOM
    x, y = equalise(x, axis_of(ys, height - BOTTOM, TOP))
    return x, y, height


def _frame(x: Axis, y: Axis, x_label: str, y_label: str, height: float) -> list[str]:
    bottom = height - BOTTOM
    parts = ['<g class="across">']
    for value, text in x.ticks(7):
        at = f"{float(x.place(value)):.1f}"
        parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom:.1f}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16:.1f}">{text}</text>')
    parts.append("</g>")
    for value, text in y.ticks(max(2, min(6, int((bottom - TOP) / 40.0)))):
        at = float(y.place(value))
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="tick y" x="{LEFT - 6}" y="{at + 4:.1f}">{text}</text>')
    middle = 0.5 * (LEFT + WIDTH - RIGHT), 0.5 * (TOP + bottom)
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom:.1f}H{WIDTH - RIGHT}"/>')
    parts.append(
        f'<text class="label" x="{middle[0]:.1f}" y="{height - 8:.1f}">{escape(x_label)}</text>'
    )
    room = bottom - TOP + 30.0
    fit = f' textLength="{room:.0f}" lengthAdjust="spacingAndGlyphs"'
    parts.append(
        f'<text class="label" transform="translate(13 {middle[1]:.1f}) rotate(-90)"'
        f"{fit if 6.6 * len(y_label) > room else ''}>{escape(y_label)}</text>"
    )
    return parts


def curve_svg(curve: Trace, x: Axis, y: Axis) -> str:
    kept = thin_points(np.asarray(curve.x, float), np.asarray(curve.y, float), curve.kind in DOTS)
    at_x, at_y = x.place(kept[0]), y.place(kept[1])
    # Numbers far outside the picture would make a file large and some browsers slow.
    known = (np.abs(at_x) < 1e5) & (np.abs(at_y) < 1e5)
    look = f'class="{curve.kind} {colour_class(curve.colour)}"{faint(curve.opacity)}'
    if curve.kind in DOTS:
        size = {"cones": 3.2, "marks": 2.6}.get(curve.kind, 1.4)
        places = "".join(
            f"M{a:.1f} {b:.1f}h0" for a, b in zip(at_x[known], at_y[known], strict=True)
        )
        return f'<path {look} stroke-width="{2 * size:g}" d="{places}"/>'
    line, pen = "", "M"
    for a, b, there in zip(at_x.tolist(), at_y.tolist(), known.tolist(), strict=True):
        line += f"{pen}{a:.1f} {b:.1f}" if there else ""
        pen = "L" if there else "M"
    return f'<path {look} d="{line}"/>' if line else ""


def thin_points(x: Array, y: Array, dots: bool, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Points thinned to `most`; for a line, the lowest and highest of each interval."""
    if len(x) <= most:
        return x, y
    if dots or not (np.diff(x) > 0.0).all():
        at = np.unique(np.linspace(0, len(x) - 1, most).astype(int))
        return x[at], y[at]
    parts = np.array_split(np.arange(len(x)), most // 2)
    filled = np.nan_to_num(y)
    ends = [(part[np.argmin(filled[part])], part[np.argmax(filled[part])]) for part in parts]
    at = np.unique([0, len(x) - 1, *(int(k) for pair in ends for k in pair)])
    return x[at], y[at]


def legend_html(curves: Sequence[Trace]) -> str:
    entries = dict.fromkeys(
        (curve.label, curve.kind, colour_class(curve.colour), curve.opacity)
        for curve in curves
        if curve.label
    )
    parts = [_entry(*entry) for entry in list(entries)[:MOST_LEGEND]]
    if len(entries) > MOST_LEGEND:
        parts.append(f"<li>and {len(entries) - MOST_LEGEND} more</li>")
    return f'<ul class="legend">{"".join(parts)}</ul>' if parts else ""


def colour_class(number: int) -> str:
    return "ink" if number == INK else f"c{number % COLOURS}"


def faint(opacity: float) -> str:
    return "" if opacity == 1.0 else f' stroke-opacity="{opacity:g}"'


def _entry(label: str, kind: str, colour: str, opacity: float) -> str:
    mark = 'd="M11 4h0" stroke-width="6"' if kind in DOTS else 'd="M1 4H21"'
    line = f'<path class="{kind} {colour}"{faint(opacity)} {mark}/>'
    swatch = f'<svg viewBox="0 0 22 8" aria-hidden="true">{line}</svg>'
    return f"<li>{swatch}{escape(label)}</li>"


_Point: TypeAlias = tuple[float, float]


def contour(x: Array, y: Array, heights: Array, height: float) -> list[tuple[_Point, _Point]]:
    """Segments of a contour line, cell by cell between centres x (n,) and y (m,) of heights (m, n).

    NaN is filled from neighbouring cells.
    """
    if len(x) < 2 or len(y) < 2:
        return []
    level = _fill_gaps(heights) - height
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
                        (float(x[b] + part * (x[d] - x[b])), float(y[a] + part * (y[c] - y[a])))
                    )
            # Four of a saddle: which two belong together is not known.
            pieces += zip(crossings[::2], crossings[1::2], strict=True)
    return pieces


def _fill_gaps(heights: Array) -> Array:
    """Heights with gaps filled by repeated means of their neighbours."""
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


SHADES = 16
"""Number of shade classes, v0 to v15, from low to high."""
_MARKED = (0.05, 0.5, 0.95)
"""Quantiles marked in histograms."""
_LABELS, _ROW = 150, 34
"""Width of the bar labels, and height of a row."""
_LETTER = 6.8
"""Approximate width of a letter."""


def histogram_svg(spread: Spread, label: str) -> str:
    """Histogram with three quantiles, and their intervals where they are valid."""
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
    """Chart of a column over a factor: mean line and band, over a sample of the runs."""
    bins = response.bins
    x = axis_of(bins.edges, LEFT, WIDTH - RIGHT, log=bins.log)
    y = axis_of(np.array(view), HEIGHT - BOTTOM, TOP)
    inner = [curve_svg(Trace(*points, "", "points", 6), x, y)]
    known = np.isfinite(response.low) & np.isfinite(response.high)
    at = np.flatnonzero(known)
    for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if at.size else ():
        across = x.place(bins.centres[run])
        upper, lower = y.place(response.high[run]), y.place(response.low[run])
        outline = [*zip(across, upper, strict=True), *zip(across[::-1], lower[::-1], strict=True)]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        inner.append(f'<path class="band" d="M{path}z"/>')
    inner.append(curve_svg(Trace(bins.centres, response.mean, "", "run", 0), x, y))
    if bins.parts <= 12:
        inner.append(curve_svg(Trace(bins.centres, response.mean, "", "cones", 0), x, y))
    return framed_svg(x, y, *labels, "".join(inner))


def surface_html(
    surface: Surface, view: View, labels: tuple[str, str], threshold: float | None
) -> str:
    """Heat map with its colour scale and the contour line of a threshold."""
    known = np.clip(surface.mean[np.isfinite(surface.mean)], *view)
    low, high = (float(known.min()), float(known.max())) if known.size else view
    places = ((LEFT, WIDTH - RIGHT), (HEIGHT - BOTTOM, TOP))
    x, y = (
        Axis(float(bins.edges[0]), float(bins.edges[-1]), *ends, bins.log)
        for bins, ends in zip((surface.x_bins, surface.y_bins), places, strict=True)
    )
    inner = _cells(surface, x, y, low, high)
    line = ""
    if threshold is not None:
        centres = surface.x_bins.centres, surface.y_bins.centres
        for a, b in contour(*centres, surface.mean, threshold):
            (x_1, x_2), (y_1, y_2) = x.place([a[0], b[0]]), y.place([a[1], b[1]])
            line += f"M{x_1:.1f} {y_1:.1f}L{x_2:.1f} {y_2:.1f}"
    if line:
        inner += f'<path class="halo" d="{line}"/><path class="threshold" d="{line}"/>'
    shown = f"; line at {number_text(threshold)}" if line else ""
    return (
        framed_svg(x, y, *labels, inner)
        + f'<p class="scale">{number_text(low)}<i></i>{number_text(high)}{shown}</p>'
    )


def _cells(surface: Surface, x: Axis, y: Axis, low: float, high: float) -> str:
    """Cells of the heat map, one SVG path per colour."""
    across, up = x.place(surface.x_bins.edges), y.place(surface.y_bins.edges)
    span = high - low if high > low else 1.0
    paths: dict[int, list[str]] = {}
    for (row, column), value in np.ndenumerate(surface.mean):
        if not np.isfinite(value):
            continue
        colour = int(np.clip((value - low) / span * SHADES, 0, SHADES - 1))
        a, b, c, d = across[column], across[column + 1], up[row], up[row + 1]
        paths.setdefault(colour, []).append(f"M{a:.1f} {c:.1f}H{b:.1f}V{d:.1f}H{a:.1f}z")
    return "".join(
        f'<path class="cell v{colour}" d="{"".join(own)}"/>' for colour, own in paths.items()
    )


class BarGroup(NamedTuple):
    """Bars under one label, each with its interval."""

    label: str
    bars: Sequence[tuple[float, float, float]]
    """Values, lower ends and upper ends."""


def bars_svg(groups: Sequence[BarGroup], label: str, low: float, high: float) -> str:
    """Horizontal bars that begin at zero, one group below the other."""
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
