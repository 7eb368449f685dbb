"""The marks of a diagram as SVG elements, in pixels of the diagram's own frame."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from .palette import shade
from .sheet import INK, Areas, Arrows, Band, Curve, Diagram, Dots, Mark, Rule, Trail, Words
from .symbols import svg
from .trail_pieces import pieces

SHADES = 24
NEAR = 0.8
"""Pixels below which a point of a line is left out."""


class Frame(NamedTuple):
    """From numbers to pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    size: tuple[float, float]
    log_x: bool = False
    log_y: bool = False

    def across(self, values: Any) -> Any:
        """Pixels from the left."""
        return self.size[0] * _share(values, self.x, self.log_x)

    def down(self, values: Any) -> Any:
        """Pixels from the top."""
        return self.size[1] * (1.0 - _share(values, self.y, self.log_y))


def _share(values: Any, ends: tuple[float, float], log: bool) -> Any:
    low, high = np.log10(ends) if log else ends
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.log10(values) if log else np.asarray(values, dtype=float)
    return (at - low) / (high - low if high > low else 1.0)


def colour(name: str | None, place: float = 0.0) -> str:
    """A colour as SVG has it: ink is that of the page's text; None is one of the scale."""
    if name is None:
        return shade(place)
    return "currentColor" if name == INK else escape(name, quote=True)


def number(value: float) -> str:
    """A short number: four digits, a true minus."""
    # Adding 0 takes the sign from a zero.
    return f"{value + 0.0:.4g}".replace("-", "−")


def painted(mark: Mark, diagram: Diagram, frame: Frame) -> str:
    """One mark as SVG."""
    painter: Callable[..., str] = _PAINTERS[type(mark)]
    return painter(mark, diagram, frame)


def line(x: Array, y: Array, *, steps: bool = False, closed: bool = False) -> str:
    """The `d` of a path through pixels; NaN breaks it, and points too near to be seen are left."""
    found: list[str] = []
    last: tuple[float, float] | None = None
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            last = None
            continue
        if last is None:
            found.append(f"M{a:.1f} {b:.1f}")
        elif abs(a - last[0]) < NEAR and abs(b - last[1]) < NEAR and not closed:
            continue
        else:
            found.append(f"H{a:.1f}V{b:.1f}" if steps else f"L{a:.1f} {b:.1f}")
        last = (a, b)
    return "".join(found) + ("Z" if closed and found else "")


def _stroke(name: str, width: float, opacity: float = 1.0, dash: str = "solid") -> str:
    dashes = {"solid": "", "dash": ' stroke-dasharray="5 3"', "dot": ' stroke-dasharray="1.5 2.5"'}
    clear = f' stroke-opacity="{opacity:g}"' if opacity < 1.0 else ""
    return (
        f'stroke="{name}" stroke-width="{1.1 * width:.2g}" stroke-linejoin="round"'
        f"{clear}{dashes[dash]}"
    )


def _curve(mark: Curve, diagram: Diagram, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.down(mark.y)
    if mark.x.size == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="2.5" fill="{colour(mark.colour)}"/>'
    look = _stroke(colour(mark.colour), mark.width, mark.opacity, mark.dash)
    return f'<path d="{line(x, y, steps=mark.steps)}" {look}/>'


def _band(mark: Band, diagram: Diagram, frame: Frame) -> str:
    known = np.isfinite(mark.low) & np.isfinite(mark.high)
    x = frame.across(mark.x[known])
    low, high = frame.down(mark.low[known]), frame.down(mark.high[known])
    d = line(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]), closed=True)
    return f'<path d="{d}" fill="{colour(mark.colour)}" fill-opacity="{mark.opacity:g}"/>'


def _dots(mark: Dots, diagram: Diagram, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.down(mark.y)
    r = 0.5 * mark.size
    shades: list[str] = [colour(mark.colour)] * mark.x.size
    if mark.values is not None and diagram.scale is not None:
        span = diagram.scale.high - diagram.scale.low
        shades = [
            colour(None, (v - diagram.scale.low) / (span or 1.0)) for v in mark.values.tolist()
        ]
    look = f' opacity="{mark.opacity:g}"' if mark.opacity < 1.0 else ""
    return "".join(
        _dot(mark.symbol, a, b, r, own, look)
        for a, b, own in zip(x.tolist(), y.tolist(), shades, strict=True)
        if np.isfinite(a) and np.isfinite(b)
    )


def _dot(symbol: str, x: float, y: float, r: float, own: str, look: str) -> str:
    if symbol in ("square", "diamond"):
        turned = f' transform="rotate(45 {x:.1f} {y:.1f})"' if symbol == "diamond" else ""
        return (
            f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:.1f}" height="{2 * r:.1f}"'
            f' fill="{own}"{turned}{look}/>'
        )
    if symbol == "cross":
        d = f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}"
        d += f"M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
        return f'<path d="{d}" stroke="{own}" stroke-width="1.6"{look}/>'
    fill = f'stroke="{own}" stroke-width="1.5"' if symbol == "ring" else f'fill="{own}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" {fill}{look}/>'


def _trail(mark: Trail, diagram: Diagram, frame: Frame) -> str:
    assert diagram.scale is not None
    # Points of one place on the screen would only lengthen the text.
    x, y = frame.across(mark.x), frame.down(mark.y)
    way = np.append(0.0, np.nancumsum(np.hypot(np.diff(x), np.diff(y))))
    rows = np.unique(np.searchsorted(way, np.arange(0.0, way[-1] + 1.0, 1.0)).clip(0, x.size - 1))
    seen = Trail(x[rows], y[rows], mark.values[rows])
    return "".join(
        f'<path d="{line(p.x, p.y)}" {_stroke(colour(None, p.shade), mark.width)}'
        ' stroke-linecap="round"/>'
        for p in pieces(seen, diagram.scale, SHADES)
    )


def _arrows(mark: Arrows, diagram: Diagram, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.down(mark.y)
    dx, dy = frame.across(mark.x + mark.dx) - x, frame.down(mark.y + mark.dy) - y
    r = 0.45 * mark.size
    head = (
        f"M{r:.1f} 0L{-0.7 * r:.1f} {-0.6 * r:.1f}L{-0.3 * r:.1f} 0L{-0.7 * r:.1f} {0.6 * r:.1f}Z"
    )
    return "".join(
        f'<path d="{head}" fill="{colour(mark.colour)}"'
        f' transform="translate({a:.1f} {b:.1f}) rotate({np.rad2deg(np.arctan2(v, u)):.0f})"/>'
        for a, b, u, v in zip(x, y, dx, dy, strict=True)
        if np.isfinite([a, b, u, v]).all()
    )


def _areas(mark: Areas, diagram: Diagram, frame: Frame) -> str:
    d = "".join(
        line(frame.across(o[:, 0]), frame.down(o[:, 1]), closed=True) for o in mark.outlines
    )
    edge = f" {_stroke(colour(mark.edge), mark.width)}" if mark.edge else ""
    fill = colour(mark.fill) if mark.fill else "none"
    return f'<path d="{d}" fill="{fill}" fill-opacity="{mark.opacity:g}"{edge}/>'


def _rule(mark: Rule, diagram: Diagram, frame: Frame) -> str:
    look = _stroke(colour(mark.colour), mark.width, 1.0, mark.dash)
    if mark.axis == "x":
        return f'<path d="M{frame.across(mark.at):.1f} 0V{frame.size[1]:.1f}" {look}/>'
    return f'<path d="M0 {frame.down(mark.at):.1f}H{frame.size[0]:.1f}" {look}/>'


def _words(mark: Words, diagram: Diagram, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.down(mark.y)
    shift = {"right": (5, 3), "left": (-5, 3), "above": (0, -4), "below": (0, 11)}[mark.side]
    anchor = {"right": "start", "left": "end"}.get(mark.side, "middle")
    return (
        f'<text x="{x + shift[0]:.1f}" y="{y + shift[1]:.1f}" text-anchor="{anchor}" font-size="9"'
        f' fill="currentColor" fill-opacity="0.65">{svg(mark.text)}</text>'
    )


_PAINTERS: dict[type, Callable[..., str]] = {
    Curve: _curve,
    Band: _band,
    Dots: _dots,
    Trail: _trail,
    Arrows: _arrows,
    Areas: _areas,
    Rule: _rule,
    Words: _words,
}
