"""The path of an optimal control problem: mesh, data and width of a track."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import Array
from ...geometry.line import Line
from ...geometry.maps.track import Track
from .transcription import Mesh, mesh_of

TURN = 0.06
"""Change of the direction of the centre line in rad that counts as much as a step of the mesh."""
FEWEST = 8
"""Least number of intervals."""


class Path(NamedTuple):
    """Mesh of a track with the data of its points."""

    mesh: Mesh
    data: Array
    """x, y, heading and curvature of the centre line, (n, 4)."""
    left: Array
    """Distance in m from the centre line to the left edge, (n,)."""
    right: Array
    """Distance in m to the right edge, (n,)."""


def path_of(track: Track, *, closed: bool, step: float, order: int) -> Path:
    """Mesh of a track, finer in bends: step / (1 + step |curvature| / TURN), smoothed.

    The curvature of a point is the mean over half of the steps to both neighbours.
    """
    line = track.line
    mesh = _mesh(line, closed=closed, step=step, order=order)
    s, steps = mesh.s, mesh.steps
    ahead = steps if closed else np.append(steps, 0.0)
    behind = np.roll(ahead, 1)
    ends = np.stack([s - 0.5 * behind, s + 0.5 * ahead])
    turn = line.heading[-1] - line.heading[0]
    laps, at = np.divmod(ends, line.length) if closed else (np.zeros_like(ends), ends)
    headings = np.interp(at, line.s, line.heading) + laps * turn
    curvature = (headings[1] - headings[0]) / (ends[1] - ends[0])
    x, y, heading = (np.interp(s, line.s, column) for column in (line.x, line.y, line.heading))
    sides = (np.append(w, w[0]) if track.closed else w for w in (track.left, track.right))
    left, right = (np.interp(s, line.s, side) for side in sides)
    return Path(mesh, np.column_stack([x, y, heading, curvature]), left, right)


def _mesh(line: Line, *, closed: bool, step: float, order: int) -> Mesh:
    density = 1.0 / step + np.abs(line.curvature) / TURN
    width = max(1, round(step * (len(line.s) - 1) / line.length))
    width = min(width, (len(density) - 2) // 2)
    ends = "wrap" if line.closed else "edge"
    padded = np.pad(density[:-1] if line.closed else density, width, mode=ends)
    smooth = np.convolve(padded, np.full(2 * width + 1, 1.0 / (2 * width + 1)), "valid")
    smooth = np.append(smooth, smooth[0]) if line.closed else smooth
    count = np.concatenate([[0.0], np.cumsum(0.5 * (smooth[1:] + smooth[:-1]) * np.diff(line.s))])
    total = max(FEWEST, round(count[-1]))
    nodes = np.interp(np.linspace(0.0, count[-1], total + 1), count, line.s)
    return mesh_of(nodes[:-1] if closed else nodes, line.length, closed=closed, order=order)
