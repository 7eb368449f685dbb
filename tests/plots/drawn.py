"""What figures of both libraries show, in one form: numbers by diagram."""

from __future__ import annotations

from typing import Any

import numpy as np


def matplotlib_axes(figure: Any) -> list[Any]:
    """The axes of a figure that are diagrams, not colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def matplotlib_curves(axes: Any) -> list[np.ndarray]:
    """Lines of more than one point (n, 2), in the order they were drawn."""
    lines = [a for a in axes.lines if a.get_linestyle() != "None" and len(a.get_xdata()) > 1]
    return [
        np.asarray(line.get_xydata()) for line in lines if line.get_transform() == axes.transData
    ]


def matplotlib_dots(axes: Any) -> list[np.ndarray]:
    lines = [line for line in axes.lines if line.get_linestyle() == "None"]
    return [np.asarray(line.get_xydata()) for line in lines]


def plotly_traces(figure: Any, number: int) -> list[Any]:
    """The traces of a diagram by its number from 0, without those that only a legend shows."""
    axis = "x" if number == 0 else f"x{number + 1}"
    own = [trace for trace in figure.data if (trace.xaxis or "x") == axis]
    return [trace for trace in own if len(trace.x) and trace.x[0] is not None]


def plotly_curves(traces: list[Any]) -> list[np.ndarray]:
    lines = [t for t in traces if t.mode == "lines" and t.fill is None and len(t.x) > 1]
    return [points(line) for line in lines]


def plotly_dots(traces: list[Any]) -> list[np.ndarray]:
    dots = [t for t in traces if t.mode == "markers" and t.marker.symbol != "arrow"]
    return [points(t) for t in dots if t.marker.coloraxis is None and len(t.x)]


def points(trace: Any) -> np.ndarray:
    return np.column_stack([np.asarray(trace.x, float), np.asarray(trace.y, float)])


def parts(table: np.ndarray) -> list[np.ndarray]:
    """A table of points broken at NaN."""
    gaps = np.flatnonzero(np.isnan(table[:, 0]))
    found = np.split(table, gaps)
    return [part[~np.isnan(part[:, 0])] for part in found]
