"""Charts of logs: channels over time that can be zoomed together, sparklines, intervals, maps.

Every chart is SVG in the colours of the page. `zoom_script` is the script that zooms charts over
time: all charts of a page show the same span.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from math import isfinite

import numpy as np

from ...core.arrays import Array
from ...study.manoeuvres.evaluation import number_text
from ...units import s
from .charts import (
    BOTTOM,
    DOTS,
    LEFT,
    ORDER,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Trace,
    axis_of,
    colour_class,
    equal_axes,
    framed_svg,
    thin_points,
)

HEIGHT = 270.0
MOST_POINTS = 6000
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
    most: int = MOST_POINTS,
) -> str:
    """Chart of curves over time, which can be zoomed.

    Args:
        curves: curves whose x is time in s, increasing.
        y_label: quantity and unit.
        span: first and last time of the axis.
        marks: times that are marked by a thin line, such as starts of windows.
        shaded: spans with a shaded background.
        most: most points of a curve; of more, the lowest and highest of each interval are drawn.
    """
    x = Axis(*span, LEFT, WIDTH - RIGHT)
    values = [np.asarray(curve.y, float) for curve in curves]
    y = axis_of(np.concatenate([np.zeros(0), *values]), HEIGHT - BOTTOM, TOP)
    fine = Axis(x.low, x.high, 0.0, FINE), Axis(y.low, y.high, FINE, 0.0)
    inner: list[str] = []
    for begin, end in shaded:
        a, b = np.clip(fine[0].place([begin, end]), 0, FINE).tolist()
        inner.append(f'<path class="shaded" d="M{a:.0f} 0H{b:.0f}V{FINE}H{a:.0f}z"/>')
    if 0 < len(marks) <= MOST_MARKS:
        lines = "".join(f"M{at:.0f} 0V{FINE}" for at in fine[0].place(marks))
        inner.append(f'<path class="start" d="{lines}"/>')
    ordered = sorted(curves, key=lambda one: ORDER.index(one.kind))
    inner += [_fine_curve(curve, *fine, most) for curve in ordered]
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    drawing = (
        f'<svg class="span" x="{LEFT}" y="{TOP}" width="{wide}" height="{high:.0f}" '
        f'viewBox="0 0 {FINE} {FINE}" preserveAspectRatio="none" '
        f'data-low="{x.low:.9g}" data-high="{x.high:.9g}">{"".join(inner)}</svg>'
    )
    return framed_svg(x, y, "time in s", y_label, drawing, HEIGHT)


def _fine_curve(curve: Trace, x: Axis, y: Axis, most: int) -> str:
    """Path of whole numbers, each relative to the one before; a gap begins a new line."""
    t, values = thin_points(
        np.asarray(curve.x, float), np.asarray(curve.y, float), curve.kind in DOTS, most
    )
    known = np.isfinite(t) & np.isfinite(values)
    across = np.round(x.place(t[known])).astype(int)
    up = np.round(np.clip(y.place(values[known]), -FINE, 2 * FINE)).astype(int)
    begins = np.flatnonzero(np.diff(np.flatnonzero(known), prepend=-2) > 1)
    steps_x, steps_y = np.diff(across, prepend=0).tolist(), np.diff(up, prepend=0).tolist()
    parts = [f"{a} {b}" if b >= 0 else f"{a}{b}" for a, b in zip(steps_x, steps_y, strict=True)]
    lines: list[str] = []
    for first, last in zip(begins, [*begins[1:], len(parts)], strict=True):
        lines.append(f"M{across[first]} {up[first]}" + "l".join(["", *parts[first + 1 : last]]))
    faint = "" if curve.opacity == 1.0 else f' stroke-opacity="{curve.opacity:g}"'
    look = f'class="{curve.kind} {colour_class(curve.colour)}"{faint}'
    return f'<path {look} d="{"".join(lines)}"/>' if lines else ""


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


def zoom_script() -> str:
    """Script of the charts over time."""
    return f"<script>{_text('zoom.js')}</script>"


def style() -> str:
    """Style of the charts of this module, in addition to that of reports."""
    return _text("identification.css")


def _text(name: str) -> str:
    return files("skidpad.view.pages").joinpath("identification", name).read_text("utf-8")


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

    Without the ends of a scale, the picture holds the start and the interval. Infinite ends reach
    the border.
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


SHADES = 16
_MAP_POINTS = 6000


def map_html(x: Array, y: Array, values: Array) -> str:
    """Path on a map in metres with equal axes, coloured by the size of a quantity; with its scale.

    Colours end at the 99th percentile, so that a single large value leaves the others apart.
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
