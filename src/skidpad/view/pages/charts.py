"""A chart as SVG. Colours are classes, so that the page decides them for light, dark and paper.

Axes of a chart: from numbers to places on the page, and where the ticks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array


@dataclass(frozen=True)
class Axis:
    """A range of numbers on a range of places."""

    low: float
    high: float
    begin: float
    """Place of `low`."""
    end: float
    log: bool = False

    def place(self, values: Any) -> Array:
        """Where numbers are."""
        numbers = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = np.log10(numbers)
            low, high = log10(low), log10(high)
        return self.begin + (self.end - self.begin) * (numbers - low) / (high - low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Round numbers within it, and their texts."""
        if self.log:
            return _decades(self.low, self.high)
        step = _round_step((self.high - self.low) / most)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        digits = max(0, -floor(log10(step) + 1e-9))
        return [(k * step, _text(k * step, digits)) for k in range(first, last + 1)]


def axis_of(values: Array, begin: float, end: float, *, log: bool = False) -> Axis:
    """An axis that holds all finite numbers, with a little room."""
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


def equalised(x: Axis, y: Axis) -> tuple[Axis, Axis]:
    """Both axes, one of them extended so that a metre is as long on both."""
    scales = [(one.high - one.low) / abs(one.end - one.begin) for one in (x, y)]
    scale = max(scales)
    return _widened(x, scale / scales[0]), _widened(y, scale / scales[1])


def _widened(axis: Axis, factor: float) -> Axis:
    middle, half = 0.5 * (axis.low + axis.high), 0.5 * factor * (axis.high - axis.low)
    return Axis(middle - half, middle + half, axis.begin, axis.end)


def _round_step(least: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    if not (isfinite(least) and least > 0.0):
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= least)


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    few = high / low < 300.0
    factors = (1.0, 2.0, 5.0) if few else (1.0,)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in factors]
    inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
    return [(value, f"{value:g}") for value in inside]


def _text(value: float, digits: int) -> str:
    if digits > 4:
        return f"{value + 0.0:.3g}".replace("-", "−")
    return f"{value + 0.0:.{digits}f}".replace("-", "−")


WIDTH, HEIGHT = 560, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 12, 10, 46
"""Margins around the axes."""
LOWEST, HIGHEST = 120.0, 460.0
"""Of axes on which a metre is as long both ways."""
MOST_POINTS = 700
"""Of a line."""
COLOURS = 8
"""Classes c0 to c7."""
INK = -1
"""The colour of text, in place of a number."""
ORDER = ("points", "cones", "measured", "run", "limit", "theory")
"""Kinds of curves from the lowest to the highest."""
DOTS = ("points", "cones")
"""Kinds of curves that are drawn as points."""
MOST_LEGEND = 12


class Trace(NamedTuple):
    """A curve and how it looks."""

    x: Array
    y: Array
    label: str
    kind: str
    colour: int
    opacity: float = 1.0


def chart_svg(
    curves: Sequence[Trace],
    x_label: str,
    y_label: str,
    *,
    x_log: bool = False,
    equal: bool = False,
) -> str:
    """The chart; `equal`: a metre is as long on both axes."""
    x, y, height = _axes(curves, x_log, equal)
    ordered = sorted(curves, key=lambda one: ORDER.index(one.kind))
    return framed_svg(
        x, y, x_label, y_label, "".join(curve_svg(curve, x, y) for curve in ordered), height
    )


def framed_svg(
    x: Axis, y: Axis, x_label: str, y_label: str, inner: str, height: float = HEIGHT
) -> str:
    """Axes from `LEFT` to `WIDTH - RIGHT` and from `height - BOTTOM` up to `TOP`, with drawings
    that are cut off there."""
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
    xs = np.concatenate([np.asarray(curve.x, float) for curve in curves] or [np.zeros(0)])
    seen = [np.asarray(curve.y, float) for curve in curves if curve.kind != "theory"]
    ys = np.concatenate(seen or [np.zeros(0)])
    y_theory = [np.asarray(curve.y, float) for curve in curves if curve.kind == "theory"]
    if y_theory:  # which may leave what was driven far behind
        every = np.concatenate(y_theory)
        every = every[np.isfinite(every)]
        known = ys[np.isfinite(ys)]
        if known.size and not equal:
            room = 0.3 * max(float(np.ptp(known)), 1e-12)
            every = np.clip(every, known.min() - room, known.max() + room)
        ys = np.concatenate([ys, every])
    height = float(HEIGHT)
    x = axis_of(xs, LEFT, WIDTH - RIGHT, log=x_log)
    if equal:
        plain = axis_of(ys, 0.0, 1.0)
        tall = (WIDTH - LEFT - RIGHT) * (plain.high - plain.low) / (x.high - x.low)
        height = float(np.clip(tall, LOWEST, HIGHEST)) + TOP + BOTTOM
    y = axis_of(ys, height - BOTTOM, TOP)
    if equal:
        x, y = equalised(x, y)
    return x, y, height


def _frame(x: Axis, y: Axis, x_label: str, y_label: str, height: float) -> list[str]:
    """Grid, ticks and labels."""
    bottom = height - BOTTOM
    parts: list[str] = []
    for value, text in x.ticks(7):
        at = f"{float(x.place(value)):.1f}"
        parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom:.1f}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16:.1f}">{text}</text>')
    for value, text in y.ticks(max(2, min(6, int((bottom - TOP) / 40.0)))):
        at = float(y.place(value))
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="tick y" x="{LEFT - 6}" y="{at + 4:.1f}">{text}</text>')
    middle = 0.5 * (LEFT + WIDTH - RIGHT), 0.5 * (TOP + bottom)
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom:.1f}H{WIDTH - RIGHT}"/>')
    parts.append(
        f'<text class="label" x="{middle[0]:.1f}" y="{height - 8:.1f}">{escape(x_label)}</text>'
    )
    parts.append(
        f'<text class="label" transform="translate(13 {middle[1]:.1f}) rotate(-90)"'
        f"{_squeezed(y_label, bottom - TOP)}>{escape(y_label)}</text>"
    )
    return parts


def _squeezed(text: str, room: float) -> str:
    """What keeps a long label within its axis."""
    wide = 6.6 * len(text) > room + 30.0
    return f' textLength="{room + 30.0:.0f}" lengthAdjust="spacingAndGlyphs"' if wide else ""


def curve_svg(curve: Trace, x: Axis, y: Axis) -> str:
    """A curve on axes."""
    kept = _thinned(np.asarray(curve.x, float), np.asarray(curve.y, float), curve.kind in DOTS)
    at_x, at_y = x.place(kept[0]), y.place(kept[1])
    # Numbers far outside the picture would make a file large and some browsers slow.
    known = np.isfinite(at_x) & np.isfinite(at_y) & (np.abs(at_x) < 1e5) & (np.abs(at_y) < 1e5)
    look = f'class="{curve.kind} {_colour(curve.colour)}"{_faint(curve.opacity)}'
    if curve.kind in DOTS:
        size = 3.2 if curve.kind == "cones" else 1.4
        places = "".join(
            f"M{a:.1f} {b:.1f}h0" for a, b in zip(at_x[known], at_y[known], strict=True)
        )
        return f'<path {look} stroke-width="{2 * size:g}" d="{places}"/>'
    line, pen = "", "M"
    for a, b, there in zip(at_x.tolist(), at_y.tolist(), known.tolist(), strict=True):
        line += f"{pen}{a:.1f} {b:.1f}" if there else ""
        pen = "L" if there else "M"
    return f'<path {look} d="{line}"/>' if line else ""


def _thinned(x: Array, y: Array, dots: bool) -> tuple[Array, Array]:
    """At most some hundred points; of a line the lowest and highest of each stretch."""
    if len(x) <= MOST_POINTS:
        return x, y
    if dots or not (np.diff(x) > 0.0).all():
        at = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
        return x[at], y[at]
    parts = np.array_split(np.arange(len(x)), MOST_POINTS // 2)
    filled = np.nan_to_num(y)
    ends = [(part[np.argmin(filled[part])], part[np.argmax(filled[part])]) for part in parts]
    at = np.unique([0, len(x) - 1, *(int(k) for pair in ends for k in pair)])
    return x[at], y[at]


def legend_html(curves: Sequence[Trace]) -> str:
    """What the lines are, below a chart."""
    entries = dict.fromkeys(
        (curve.label, curve.kind, _colour(curve.colour), curve.opacity)
        for curve in curves
        if curve.label
    )
    parts = [_entry(*entry) for entry in list(entries)[:MOST_LEGEND]]
    if len(entries) > MOST_LEGEND:
        parts.append(f"<li>and {len(entries) - MOST_LEGEND} more</li>")
    return f'<ul class="legend">{"".join(parts)}</ul>' if parts else ""


def _colour(number: int) -> str:
    return "ink" if number == INK else f"c{number % COLOURS}"


def _faint(opacity: float) -> str:
    return "" if opacity == 1.0 else f' stroke-opacity="{opacity:g}"'


def _entry(label: str, kind: str, colour: str, opacity: float) -> str:
    mark = 'd="M11 4h0" stroke-width="6"' if kind in DOTS else 'd="M1 4H21"'
    line = f'<path class="{kind} {colour}"{_faint(opacity)} {mark}/>'
    swatch = f'<svg viewBox="0 0 22 8" aria-hidden="true">{line}</svg>'
    return f"<li>{swatch}{escape(label)}</li>"
