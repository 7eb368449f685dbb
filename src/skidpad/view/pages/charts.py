"""Charts as SVG: curves over axes, time charts that zoom, histograms, surfaces, bars, maps.

Colours are CSS classes, which the page defines for light, dark and paper. All charts over time of a
page show the same span (`identification/zoom.js`).
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
from ...units import s
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
        """Drawing coordinates of values on the axis."""
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
    """Make both axes equal in scale by extending one of them."""
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
    """Curve of a chart with its style."""

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
    if every.size:  # theory may be far outside of the driven range
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
            # The four crossings of a saddle are ambiguous.
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
        top, fit = k * _ROW + 4, ""
        if _LETTER * len(group.label) > _LABELS - 12:
            fit = f' textLength="{_LABELS - 12}" lengthAdjust="spacingAndGlyphs"'
        middle = top + 0.5 * (_ROW - 8)
        parts.append(
            f'<text class="tick y" x="{_LABELS - 8}" y="{middle + 4:.1f}"{fit}>'
            f"{escape(group.label)}</text>"
        )
        thick = (_ROW - 10) / len(group.bars)
        for n, bar in enumerate(group.bars):
            a = top + n * thick + 1
            at, begin, end = x.place(np.clip(bar, x.low, x.high)).tolist()
            centre = a + 0.5 * (thick - 2)
            parts.append(
                f'<path class="bar b{n}" '
                f'd="M{zero:.1f} {a:.1f}H{at:.1f}v{thick - 2:.1f}H{zero:.1f}z"/>'
                f'<path class="whisker" d="M{begin:.1f} {centre:.1f}H{end:.1f}'
                f'M{begin:.1f} {centre - 3:.1f}v6M{end:.1f} {centre - 3:.1f}v6"/>'
            )
    parts.append(f'<path class="axis" d="M{zero:.1f} 0V{floor}"/>')
    middle = 0.5 * (_LABELS + WIDTH - RIGHT)
    parts.append(
        f'<text class="label" x="{middle:.1f}" y="{height - 8}">{escape(label)}</text></svg>'
    )
    return "".join(parts)


TIME_HEIGHT = 270.0
MOST_TIME_POINTS = 6000
"""Most points of a curve over time: all samples of 60 s at 100 Hz."""
FINE = 40_000
"""Width of the drawing of a chart over time in its own units, so that zooming shows samples."""
MOST_MARKS = 80
"""Most window starts that are marked; more would hide the curves."""


def time_chart_svg(
    curves: Sequence[Trace],
    y_label: str,
    span: tuple[s, s],
    *,
    marks: Sequence[s] = (),
    shaded: Sequence[tuple[s, s]] = (),
    most: int = MOST_TIME_POINTS,
) -> str:
    """Chart of curves over time, which can be zoomed.

    Args:
        curves: curves whose x is time in s, increasing.
        y_label: quantity and unit.
        span: first and last time of the axis.
        marks: times that are marked by a thin line, such as starts of windows.
        shaded: spans with a shaded background.
        most: largest number of points of a curve; a longer curve is reduced to the lowest and
            highest point of each interval.
    """
    x = Axis(*span, LEFT, WIDTH - RIGHT)
    values = [np.asarray(curve.y, float) for curve in curves]
    y = axis_of(np.concatenate([np.zeros(0), *values]), TIME_HEIGHT - BOTTOM, TOP)
    fine = Axis(x.low, x.high, 0.0, FINE), Axis(y.low, y.high, FINE, 0.0)
    inner: list[str] = []
    for begin, end in shaded:
        a, b = np.clip(fine[0].place([begin, end]), 0, FINE).tolist()
        inner.append(f'<path class="shaded" d="M{a:.0f} 0H{b:.0f}V{FINE}H{a:.0f}z"/>')
    if 0 < len(marks) <= MOST_MARKS:
        lines = "".join(f"M{at:.0f} 0V{FINE}" for at in fine[0].place(marks))
        inner.append(f'<path class="start" d="{lines}"/>')
    ordered = sorted(curves, key=lambda one: ORDER.index(one.kind))
    for curve in ordered:
        t, values = thin_points(
            np.asarray(curve.x, float), np.asarray(curve.y, float), curve.kind in DOTS, most
        )
        known = np.isfinite(t) & np.isfinite(values)
        across = np.round(fine[0].place(t[known])).astype(int)
        up = np.round(np.clip(fine[1].place(values[known]), -FINE, 2 * FINE)).astype(int)
        # Whole numbers, each relative to the one before; a gap begins a new line.
        begins = np.flatnonzero(np.diff(np.flatnonzero(known), prepend=-2) > 1)
        steps_x, steps_y = np.diff(across, prepend=0).tolist(), np.diff(up, prepend=0).tolist()
        parts = [f"{a} {b}" if b >= 0 else f"{a}{b}" for a, b in zip(steps_x, steps_y, strict=True)]
        line = "".join(
            f"M{across[first]} {up[first]}" + "l".join(["", *parts[first + 1 : last]])
            for first, last in zip(begins, [*begins[1:], len(parts)], strict=True)
        )
        look = f'class="{curve.kind} {colour_class(curve.colour)}"{faint(curve.opacity)}'
        inner.append(f'<path {look} d="{line}"/>' if line else "")
    wide, high = WIDTH - LEFT - RIGHT, TIME_HEIGHT - TOP - BOTTOM
    drawing = (
        f'<svg class="span" x="{LEFT}" y="{TOP}" width="{wide}" height="{high:.0f}" '
        f'viewBox="0 0 {FINE} {FINE}" preserveAspectRatio="none" '
        f'data-low="{x.low:.9g}" data-high="{x.high:.9g}">{"".join(inner)}</svg>'
    )
    return framed_svg(x, y, "time in s", y_label, drawing, TIME_HEIGHT)


def zoom_bar(span: tuple[s, s]) -> str:
    """Fields and a button for the span that all charts over time show."""
    low, high = (f"{one:.3f}" for one in span)
    field = 'type="number" step="any" inputmode="decimal"'
    return (
        '<form class="zoom" aria-label="Span of the charts over time">'
        f'<label>from <input {field} name="low" value="{low}"> s</label> '
        f'<label>to <input {field} name="high" value="{high}"> s</label> '
        '<button type="submit">Show</button> <button type="reset">Whole log</button> '
        "<span>or drag across a chart; double-click for the whole log</span></form>"
    )


_SPARK = (150, 30)
_SPARK_POINTS = 260


def sparkline_svg(values: Array, label: str) -> str:
    """Small curve of even samples without axes; `label` describes it in words."""
    width, height = _SPARK
    rows, kept = thin_points(np.arange(float(len(values))), values, False, _SPARK_POINTS)
    x = Axis(0.0, max(len(values) - 1.0, 1.0), 1.0, width - 1.0)
    y = axis_of(kept, height - 1.0, 1.0)
    line, pen = "", "M"
    for a, b in zip(x.place(rows).tolist(), y.place(kept).tolist(), strict=True):
        line += f"{pen}{a:.1f} {b:.1f}" if isfinite(b) else ""
        pen = "L" if isfinite(b) else "M"
    return (
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(label)}"><path class="run c0" d="{line}"/></svg>'
    )


def interval_svg(
    value: float, low: float, high: float, start: float, scale: tuple[float, float] | None = None
) -> str:
    """Interval as a bar with a dot at the value, next to a line at the start value.

    If no scale is set, the picture spans the start value and the interval. Infinite ends reach the
    border.
    """
    width, height = 170, 22
    ends = np.array([v for v in scale or (low, high, start, value) if isfinite(v)])
    x = axis_of(ends, 6.0, width - 6.0)
    at = {
        name: float(x.place(np.clip(v, x.low, x.high)))
        for name, v in (("low", low), ("high", high), ("start", start), ("value", value))
    }
    at["low"] = at["low"] if isfinite(low) else 0.0
    at["high"] = at["high"] if isfinite(high) else float(width)
    text = (
        f"{number_text(value)}, from {number_text(low)} to {number_text(high)}, "
        f"started at {number_text(start)}"
    )
    return (
        f'<svg class="interval" viewBox="0 0 {width} {height}" role="img" aria-label="{text}">'
        f'<path class="grid" d="M0 11H{width}"/>'
        f'<path class="extent" d="M{at["low"]:.1f} 7H{at["high"]:.1f}V15H{at["low"]:.1f}z"/>'
        f'<path class="begin" d="M{at["start"]:.1f} 2V20"/>'
        f'<circle class="estimate" cx="{at["value"]:.1f}" cy="11" r="4"/></svg>'
    )


_MAP_POINTS = 6000


def map_html(x: Array, y: Array, values: Array) -> str:
    """Path on a map in metres with equal axes, coloured by the size of a quantity; with its scale.

    Colours end at the 99th percentile, so that a single large value does not hide the differences
    between the others.
    """
    known = np.isfinite(x) & np.isfinite(y)
    axes = equal_axes(x[known], y[known])
    size = np.abs(values)
    finite = size[np.isfinite(size) & known]
    top = float(np.percentile(finite, 99.0)) if finite.size else 0.0
    top = top if top > 0.0 else 1.0
    at = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MAP_POINTS)).astype(int))
    shade = np.where(
        np.isfinite(size[at]), np.clip(size[at] / top * SHADES, 0, SHADES - 1), -1
    ).astype(int)
    across, up = axes[0].place(x[at]), axes[1].place(y[at])
    lines: dict[int, list[str]] = {}
    lost = np.cumsum(~known)  # equal at two places if the path between them is known
    whole = known[at[:-1]] & (lost[at[1:]] == lost[at[:-1]])
    for k in range(len(at) - 1):
        if whole[k]:
            joined = k > 0 and shade[k - 1] == shade[k] and whole[k - 1]
            begin = "" if joined else f"M{across[k]:.1f} {up[k]:.1f}"
            lines.setdefault(int(shade[k]), []).append(
                f"{begin}L{across[k + 1]:.1f} {up[k + 1]:.1f}"
            )
    inner = "".join(
        f'<path class="heat" style="--h:{100 * k // (SHADES - 1)}%" d="{"".join(own)}"/>'
        if k >= 0
        else f'<path class="heat none" d="{"".join(own)}"/>'
        for k, own in sorted(lines.items())
    )
    first = int(np.argmax(known[at]))
    inner += f'<circle class="begin" cx="{across[first]:.1f}" cy="{up[first]:.1f}" r="5"/>'
    none = '<b class="none"></b>not known' if -1 in lines else ""
    more = " and more" if finite.size and finite.max() > top else ""
    scale = f'0<i class="heat"></i>{top:.3g}{more}{none}<b class="begin"></b>start'
    drawing = framed_svg(*axes[:2], "x in m", "y in m", inner, axes[2])
    return f'{drawing}<p class="scale">{scale}</p>'
