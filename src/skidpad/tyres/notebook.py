"""What a notebook shows of a tyre: its forces over slip, and what matters in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plots.layout import new_figure
from ..plots.notebook.drawing import drawing
from ..plots.notebook.html_parts import beside, folded, heading, page, short, table, warning
from .figure import draw_forces
from .summary import Summary, summary
from .tyre import Tyre


def tyre_html(tyre: Tyre) -> str:
    """The page of a tyre."""
    facts = summary(tyre)
    about = f"{facts.model}, {facts.side}"
    left_out = folded(f"{len(facts.filled)} keys were left out", ", ".join(facts.filled))
    return page(
        heading(facts.name, about if facts.name != facts.model else facts.side),
        beside(_drawing(tyre), table(("", "value", "unit"), _rows(facts), [1])),
        *map(warning, facts.warnings),
        left_out if facts.filled else "",
    )


def _drawing(tyre: Tyre) -> str:
    def draw(figure: Any, grid: Any) -> None:
        draw_forces(figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1]), tyre)

    return drawing(tyre.name, new_figure((3.4, 3.4), (2.6,)), draw)


def _rows(facts: Summary) -> list[tuple[str, str, str]]:
    """What matters at the middle one of the loads."""
    at = facts.at[len(facts.at) // 2]
    rows = [
        ("load", at.F_z, "N"),
        ("free radius", facts.radius, "m"),
        ("peak friction, driving", at.mu_x, ""),
        ("peak friction, lateral", at.mu_y, ""),
        ("slip stiffness", at.K_x, "N"),
        ("cornering stiffness", at.K_y, "N/rad"),
        ("angle of the lateral peak", _degrees(at.alpha_peak), "°"),
        ("trail at small slip", at.trail, "m"),
        ("relaxation across", at.sigma_y, "m"),
        ("effective radius", at.effective, "m"),
    ]
    return [(name, short(value), unit) for name, value, unit in rows if value is not None]


def _degrees(angle: float | None) -> float | None:
    return None if angle is None else float(np.rad2deg(angle))
