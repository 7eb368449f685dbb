"""Drawing a sheet as a small SVG text: for notebooks, without any library.

Lines of the frame and texts have the colour of the page's text, so that the drawing is at home on
light and on dark pages. Everything that comes from outside is escaped; there are no scripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from .sheet import (
    Areas,
    Axis,
    Band,
    Cell,
    Curve,
    Diagram,
    Dots,
    Key,
    Mark,
    Sheet,
    Trail,
    colour_of,
    legend,
    room,
)
from .svg_marks import Frame, colour, number, painted
from .symbols import plain, svg
from .ticks import ticks

PIXELS = 72.0
"""Per inch."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 10.0, 22.0, 20.0
_LABEL = 14.0
"""Pixels for the words of an axis."""
_LETTER = 5.6
"""Width of a letter, roughly."""
_SCALE, _KEYS = 70.0, 18.0
"""Pixels across for a scale of colours, and down for a legend of the whole sheet."""


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


def drawing(sheet: Sheet) -> str:
    """The sheet as an SVG element to be put into a page."""
    top = _KEYS if sheet.keys else 0.0
    width, height = PIXELS * sum(sheet.widths), PIXELS * sum(sheet.heights) + top
    across, down = (np.append(0.0, np.cumsum(v)) * PIXELS for v in (sheet.widths, sheet.heights))
    down = down + top
    parts = [
        _diagram(
            cell,
            _Box(
                float(across[cell.column]),
                float(down[cell.row]),
                float(across[cell.column + cell.columns]),
                float(down[cell.row + cell.rows]),
            ),
        )
        for cell in sheet.cells
    ]
    entries = [Key(mark.label, mark, colour_of(mark)) for mark in sheet.keys]
    parts.append(_keys(entries, width - _RIGHT, 12.0))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" fill="none" font-size="10"'
        ' font-family="system-ui, sans-serif" style="max-width:100%;height:auto">'
        f"<title>{escape(plain(sheet.title))}</title>{''.join(parts)}</svg>"
    )


def _diagram(cell: Cell, box: _Box) -> str:
    diagram = cell.diagram
    left = box.left + (_LEFT if diagram.y.ticks else 8.0) + (_LABEL if diagram.y.label else 0.0)
    bottom = box.bottom - (_BOTTOM if diagram.x.ticks else 8.0)
    bottom -= _LABEL if diagram.x.label else 0.0
    inner = _Box(left, box.top + _TOP, box.right - _RIGHT, bottom)
    size = (inner.right - inner.left, inner.bottom - inner.top)
    frame = Frame(*_ranges(diagram, size), size, diagram.x.log, diagram.y.log)
    marks = "".join(painted(mark, diagram, frame) for mark in diagram.marks)
    return (
        _frame(diagram, frame, inner)
        # An inner svg element cuts off what lies outside of it.
        + f'<svg x="{inner.left:.1f}" y="{inner.top:.1f}" width="{size[0]:.1f}"'
        f' height="{size[1]:.1f}">{marks}</svg>' + _heading(diagram, inner)
    )


def _ranges(
    diagram: Diagram, size: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    x = _range(diagram.x, [v for mark in diagram.marks for v in _values(mark, "x")], 0.02)
    y = _range(diagram.y, [v for mark in diagram.marks for v in _values(mark, "y")], 0.06)
    if not diagram.equal:
        return x, y
    # The longer way of the two per pixel rules.
    scale = max((x[1] - x[0]) / size[0], (y[1] - y[0]) / size[1])
    middles = (0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]))
    halves = (0.5 * scale * size[0], 0.5 * scale * size[1])
    x, y = ((m - h, m + h) for m, h in zip(middles, halves, strict=True))
    return x, y


def _range(axis: Axis, values: list[np.ndarray], share: float) -> tuple[float, float]:
    if axis.low is not None and axis.high is not None:
        return axis.low, axis.high
    if axis.log:
        low, high = room([np.log10(v[v > 0.0]) for v in values], share)
        return 10.0 ** (low if low is not None else 0.0), 10.0 ** (
            high if high is not None else 1.0
        )
    low, high = room(values, share)
    return (low, high) if low is not None and high is not None else (0.0, 1.0)


def _values(mark: Mark, axis: str) -> list[np.ndarray]:
    if isinstance(mark, (Curve, Dots, Trail)):
        return [np.asarray(getattr(mark, axis), dtype=float)]
    low = getattr(mark, "low", None)
    if low is not None:
        return [mark.x] if axis == "x" else [mark.low, mark.high]  # type: ignore[union-attr]
    outlines = getattr(mark, "outlines", ())
    return [outline[:, 0 if axis == "x" else 1] for outline in outlines]


def _frame(diagram: Diagram, frame: Frame, box: _Box) -> str:
    """Axes with round numbers, and faint lines across."""
    found: list[str] = []
    faint = 'stroke="currentColor" stroke-opacity="0.13"'
    for value in ticks(*frame.x, most=6, log=diagram.x.log):
        x = box.left + frame.across(value)
        if diagram.grid:
            found.append(f'<path d="M{x:.1f} {box.top:.1f}V{box.bottom:.1f}" {faint}/>')
        if diagram.x.ticks:
            found.append(_text(x, box.bottom + 12.0, number(value), "middle", 0.7))
    for value in ticks(*frame.y, most=4, log=diagram.y.log):
        y = box.top + frame.down(value)
        if diagram.grid:
            found.append(f'<path d="M{box.left:.1f} {y:.1f}H{box.right:.1f}" {faint}/>')
        if diagram.y.ticks:
            found.append(_text(box.left - 5.0, y + 3.5, number(value), "end", 0.7))
    corner = f"M{box.left:.1f} {box.top:.1f}V{box.bottom:.1f}H{box.right:.1f}"
    found.append(f'<path d="{corner}" stroke="currentColor" stroke-opacity="0.4"/>')
    if diagram.x.label:
        middle = 0.5 * (box.left + box.right)
        below = box.bottom + (_BOTTOM if diagram.x.ticks else 4.0) + 6.0
        found.append(_text(middle, below, diagram.x.label, "middle", 0.85))
    if diagram.y.label:
        x = box.left - (_LEFT if diagram.y.ticks else 8.0) + 2.0
        y = 0.5 * (box.top + box.bottom)
        turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"'
        found.append(_text(x, y, diagram.y.label, "middle", 0.85, turned))
    return "".join(found)


def _heading(diagram: Diagram, box: _Box) -> str:
    """Title at the left; legend and scale of colours from the right."""
    found = [_text(box.left, box.top - 7.0, diagram.title, "start", 1.0, ' font-weight="600"')]
    right = box.right
    if diagram.scale is not None:
        scale = diagram.scale
        label = f"{number(scale.low)} to {number(scale.high)} {_unit(scale.label)}"
        found.append(_text(right, box.top - 7.0, label, "end", 0.85))
        right -= _LETTER * len(label) + 6.0
        for k in range(16):
            x = right - _SCALE + k * _SCALE / 16.0
            shade = colour(None, (k + 0.5) / 16.0)
            found.append(
                f'<rect x="{x:.1f}" y="{box.top - 14.0:.1f}" width="{_SCALE / 16.0 + 0.3:.1f}"'
                f' height="7" fill="{shade}"/>'
            )
        right -= _SCALE + 12.0
    keys = [] if diagram.legend == "none" else legend(diagram)
    if len(keys) == 1 and isinstance(keys[0].mark, Curve) and keys[0].mark.dash == "solid":
        keys = []
    return "".join(found) + _keys(keys, right, box.top - 7.0)


def _keys(keys: Sequence[Key], right: float, y: float) -> str:
    """Entries of a legend, from the right."""
    found: list[str] = []
    for key in reversed(keys):
        found.append(_text(right, y, key.label, "end", 0.85))
        right -= _LETTER * len(plain(key.label)) + 4.0
        found.append(_key_look(key, right - 14.0, y - 3.5))
        right -= 24.0
    return "".join(found)


def _key_look(key: Key, x: float, y: float) -> str:
    """A short piece of a line, a box or a dot."""
    if isinstance(key.mark, (Band, Areas)):
        look = f'fill="{colour(key.colour)}" fill-opacity="{key.mark.opacity:g}"'
        return f'<rect x="{x:.1f}" y="{y - 4.0:.1f}" width="12" height="8" {look}/>'
    if isinstance(key.mark, Dots):
        hollow = key.mark.symbol == "ring"
        look = f'{"stroke" if hollow else "fill"}="{colour(key.colour)}"'
        return f'<circle cx="{x + 7.0:.1f}" cy="{y:.1f}" r="3" {look}/>'
    dashed = isinstance(key.mark, Curve) and key.mark.dash != "solid"
    dashes = ' stroke-dasharray="4 2"' if dashed else ""
    look = f'stroke-width="2" stroke="{colour(key.colour)}"{dashes}'
    return f'<path d="M{x:.1f} {y:.1f}h12" {look}/>'


def _unit(label: str) -> str:
    """What stands in brackets at the end of a label."""
    return label[label.index("[") + 1 : -1] if label.endswith("]") else label


def _text(x: float, y: float, text: str, anchor: str, opacity: float, more: str = "") -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor"'
        f' fill-opacity="{opacity:g}"{more}>{svg(text)}</text>'
    )
