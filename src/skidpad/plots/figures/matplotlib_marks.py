"""The marks of a diagram, drawn with Matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .sheet import Areas, Arrows, Band, Curve, Diagram, Dots, Mark, Rule, Trail, Words
from .symbols import mathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES: dict[str, Any] = {"solid": "-", "dash": (0, (3, 1.6)), "dot": (0, (1, 1.5))}
MARKERS = {"circle": "o", "ring": "o", "square": "s", "cross": "x", "diamond": "D"}
MOST_VECTORS = 3000
"""Points beyond which a cloud is a picture within a vector file, which would grow too large."""
_DART = np.array([[-0.7, -0.6], [1.0, 0.0], [-0.7, 0.6], [-0.3, 0.0], [-0.7, -0.6]])


def draw(axes: Axes, mark: Mark, diagram: Diagram, order: float) -> Any:
    """Draw one mark; returns what a colour scale belongs to, None for most."""
    painter: Callable[..., Any] = _PAINTERS[type(mark)]
    return painter(axes, mark, diagram, order)


def _curve(axes: Axes, mark: Curve, diagram: Diagram, order: float) -> None:
    alone = mark.x.size == 1
    axes.plot(
        mark.x,
        mark.y,
        color=mark.colour,
        label=mathtext(mark.label),
        linestyle=DASHES[mark.dash],
        linewidth=mark.width,
        drawstyle="steps-post" if mark.steps else "default",
        marker="o" if alone else "",
        markersize=4,
        alpha=mark.opacity,
        zorder=order,
    )


def _band(axes: Axes, mark: Band, diagram: Diagram, order: float) -> None:
    axes.fill_between(
        mark.x,
        mark.low,
        mark.high,
        color=mark.colour,
        alpha=mark.opacity,
        linewidth=0.0,
        label=mark.label,
        zorder=order,
    )


def _dots(axes: Axes, mark: Dots, diagram: Diagram, order: float) -> Any:
    if mark.values is not None:
        return axes.scatter(
            mark.x,
            mark.y,
            c=mark.values,
            s=mark.size**2,
            linewidths=0.0,
            alpha=mark.opacity,
            rasterized=mark.x.size > MOST_VECTORS,
            zorder=order,
        )
    hollow = mark.symbol == "ring"
    axes.plot(
        mark.x,
        mark.y,
        linestyle="none",
        marker=MARKERS[mark.symbol],
        markersize=mark.size,
        markerfacecolor="white" if hollow else mark.colour,
        markeredgecolor=mark.colour if hollow or mark.symbol == "cross" else "white",
        # A white rim sets a mark off the lines; a small dot would be all rim.
        markeredgewidth=1.3 if mark.size >= 4.0 else 0.0,
        alpha=mark.opacity,
        label=mark.label,
        # Markers lie on top of all lines.
        zorder=order + 2.0,
    )
    return None


def _trail(axes: Axes, mark: Trail, diagram: Diagram, order: float) -> Any:
    from matplotlib.collections import LineCollection

    points = np.column_stack([mark.x, mark.y])
    line = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), linewidth=mark.width, zorder=order
    )
    line.set_array(0.5 * (mark.values[:-1] + mark.values[1:]))
    line.set_capstyle("round")
    axes.add_collection(line)
    return line


def _arrows(axes: Axes, mark: Arrows, diagram: Diagram, order: float) -> None:
    from matplotlib.markers import MarkerStyle
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.transforms import Affine2D

    for x, y, dx, dy in zip(mark.x, mark.y, mark.dx, mark.dy, strict=True):
        if not diagram.equal:
            # In unequal axes a direction is known only when the figure is laid out.
            patch = FancyArrowPatch(
                (x - dx, y - dy),
                (x, y),
                arrowstyle="-|>",
                mutation_scale=mark.size,
                color=mark.colour,
                linewidth=0.0,
                shrinkA=0.0,
                shrinkB=0.0,
                zorder=order + 1.0,
            )
            axes.add_patch(patch)
            continue
        turned = Affine2D().rotate(float(np.arctan2(dy, dx)))
        axes.plot(
            x,
            y,
            marker=MarkerStyle(_DART, transform=turned),
            ms=mark.size,
            color=mark.colour,
            mew=0.0,
            zorder=order + 1.0,
        )


def _areas(axes: Axes, mark: Areas, diagram: Diagram, order: float) -> None:
    from matplotlib.collections import PolyCollection

    axes.add_collection(
        PolyCollection(
            list(mark.outlines),
            facecolor=mark.fill or "none",
            edgecolor=mark.edge or "none",
            linewidth=mark.width,
            alpha=mark.opacity,
            zorder=order,
        )
    )


def _rule(axes: Axes, mark: Rule, diagram: Diagram, order: float) -> None:
    across = mark.axis == "y"
    line = axes.axhline if across else axes.axvline
    line(
        mark.at,
        color=mark.colour,
        linestyle=DASHES[mark.dash],
        linewidth=mark.width,
        zorder=order,
    )
    if mark.label:
        axes.annotate(
            mathtext(mark.label),
            (0.99, mark.at) if across else (mark.at, 0.98),
            xycoords=axes.get_yaxis_transform() if across else axes.get_xaxis_transform(),
            xytext=(0, 2) if across else (3, 0),
            textcoords="offset points",
            ha="right" if across else "left",
            va="bottom" if across else "top",
            color=mark.colour,
            fontsize=7.5,
        )


_SIDES: dict[str, tuple[tuple[int, int], str, str]] = {
    "right": ((5, 0), "left", "center"),
    "left": ((-5, 0), "right", "center"),
    "above": ((0, 4), "center", "bottom"),
    "below": ((0, -4), "center", "top"),
}


def _words(axes: Axes, mark: Words, diagram: Diagram, order: float) -> None:
    offset, ha, va = _SIDES[mark.side]
    axes.annotate(
        mathtext(mark.text),
        (mark.x, mark.y),
        xytext=offset,
        textcoords="offset points",
        ha=ha,
        va=va,
        color=mark.colour,
        fontsize=7.5,
        annotation_clip=True,
        zorder=order + 3.0,
    )


_PAINTERS: dict[type, Callable[..., Any]] = {
    Curve: _curve,
    Band: _band,
    Dots: _dots,
    Trail: _trail,
    Arrows: _arrows,
    Areas: _areas,
    Rule: _rule,
    Words: _words,
}
