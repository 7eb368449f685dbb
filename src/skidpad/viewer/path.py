"""The path over ground, coloured by speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..columns import Array
from ..trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#333333"
COLOUR_MAP = "viridis"
MOST_SEGMENTS = 4000
ARROWS = 7
"""Heading arrows along the path, at equal distances."""


def draw_path(axes: Axes, trajectory: Trajectory, speed: Array | None) -> None:
    """x to the right and y up, equal scales; start, end and headings marked."""
    x, y = trajectory["x"], trajectory["y"]
    axes.set_title("Path [m]")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.set_aspect("equal", adjustable="datalim")
    _line(axes, x, y, speed)
    _arrows(axes, trajectory)
    mark: dict[str, Any] = {"linestyle": "none", "zorder": 4, "markeredgewidth": 1.3}
    axes.plot(x[:1], y[:1], "o", ms=8, mfc="white", mec=INK, label="start", **mark)
    axes.plot(x[-1:], y[-1:], "s", ms=5, mfc=INK, mec="white", label="end", **mark)
    _reserve(axes, x, y)
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, handletextpad=0.2, borderaxespad=0.0
    )


def _line(axes: Axes, x: Array, y: Array, speed: Array | None) -> None:
    from matplotlib.collections import LineCollection

    step = max(1, x.size // MOST_SEGMENTS)
    rows = np.unique(np.append(np.arange(0, x.size, step), x.size - 1))
    if speed is None or _constant(speed[np.isfinite(speed)]) or rows.size < 2:
        axes.plot(x[rows], y[rows], color="#0072B2", linewidth=2.2, zorder=3)
        return
    points = np.column_stack([x[rows], y[rows]])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    middle = 0.5 * (speed[rows][:-1] + speed[rows][1:])
    line = LineCollection(list(segments), cmap=COLOUR_MAP, linewidth=2.2, zorder=3)
    line.set_array(middle)
    line.set_capstyle("round")
    axes.add_collection(line)
    bar = axes.figure.colorbar(line, ax=axes, fraction=0.035, pad=0.02, aspect=32)
    bar.set_label("speed [m/s]")
    bar.outline.set_visible(False)


def _constant(values: Array) -> bool:
    """Within one per cent: a scale of colours would only show ripple."""
    return values.size == 0 or bool(np.ptp(values) < 1e-2 * max(1.0, np.abs(values).max()))


def _arrows(axes: Axes, trajectory: Trajectory) -> None:
    """Small darts that point where the vehicle points, which in a slide is not along the path."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.transforms import Affine2D

    if "yaw" not in trajectory:
        return
    x, y, yaw = trajectory["x"], trajectory["y"], trajectory["yaw"]
    covered = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    if not covered[-1] > 0.0:
        return
    dart = np.array([[-0.7, -0.6], [1.0, 0.0], [-0.7, 0.6], [-0.3, 0.0], [-0.7, -0.6]])
    for distance in covered[-1] * (np.arange(ARROWS) + 0.5) / ARROWS:
        i = int(np.searchsorted(covered, distance))
        turned = Affine2D().rotate(float(yaw[i]))
        axes.plot(
            x[i],
            y[i],
            marker=MarkerStyle(dart, transform=turned),
            ms=9,
            color=INK,
            mew=0.0,
            zorder=5,
        )


def _reserve(axes: Axes, x: Array, y: Array) -> None:
    """Room around the path, and at least a metre across, so that a parked car has a place."""
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return
    corners = np.array([[x[known].min(), y[known].min()], [x[known].max(), y[known].max()]])
    short = np.maximum(0.0, 1.0 - np.ptp(corners, axis=0)) / 2.0
    axes.update_datalim(np.array([corners[0] - short, corners[1] + short]))
    axes.margins(0.08)
    axes.autoscale_view()
