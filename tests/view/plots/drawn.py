"""What a figure shows, as numbers and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection


def diagrams(figure: Any) -> list[Any]:
    """The axes of a figure that are diagrams, not colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def titles(figure: Any) -> list[str]:
    """Titles of the diagrams that have one."""
    return [title for axes in figure.axes if (title := axes.get_title(loc="left"))]


def curves(axes: Any) -> list[Any]:
    """Lines of more than one point, in the order they were drawn; no rules across the diagram."""
    lines = [a for a in axes.lines if a.get_linestyle() != "None" and len(a.get_xdata()) > 1]
    return [line for line in lines if line.get_transform() == axes.transData]


def labelled(axes: Any, label: str) -> Any:
    """The one artist with a label."""
    (artist,) = (a for a in (*axes.lines, *axes.collections) if a.get_label() == label)
    return artist


def outlines(collection: Any) -> list[np.ndarray]:
    """Corners (n, 2) of each area, the first not repeated."""
    return [np.asarray(path.vertices)[:-1] for path in collection.get_paths()]


def areas(axes: Any) -> list[Any]:
    """Collections of filled areas."""
    return [c for c in axes.collections if isinstance(c, PolyCollection)]


def keys(legend: Any) -> list[str]:
    """Texts of a legend."""
    return [text.get_text() for text in legend.get_texts()]
