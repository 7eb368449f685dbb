"""What a notebook shows of a Monte Carlo: fans of its quantities, and how likely events are."""

from __future__ import annotations

import numpy as np

from ...brief import counted
from ...run.monte_carlo import MonteCarlo
from ..figures.fan import draw_fans
from ..layout import new_figure
from ..numbers.fans import study_fans
from ..words import factor, screen_unit
from .drawing import drawing
from .html_parts import folded, heading, page, short, table, warning

MOST_FANS = 3


def monte_carlo_html(study: MonteCarlo) -> str:
    """The page of a Monte Carlo."""
    about = f"{counted(study.runs, 'run')} of {study.t[-1]:g} s, seed {study.seed}"
    lost = study.diverged
    return page(
        heading("Monte Carlo", about),
        _fans(study),
        _events(study),
        warning(f"{counted(len(lost), 'run')} diverged: not counted after that") if lost else "",
        folded(
            counted(len(study.quantities), "quantity", "quantities") + " at the end", _ends(study)
        ),
    )


def _fans(study: MonteCarlo) -> str:
    """Those that spread; the others would be lines."""
    names = [name for name in study.quantities if _spreads(study, name)][:MOST_FANS]
    if not names:
        return ""
    fans = study_fans(study, names, lines=0, worst=0, units={})
    return drawing(
        "Monte Carlo",
        new_figure((3.6,) * len(fans), (2.6,)),
        lambda figure, grid: draw_fans(figure, grid, fans, {}, title=""),
    )


def _spreads(study: MonteCarlo, name: str) -> bool:
    """Whether the runs differ by something that can be seen beside what they have in common."""
    mean, most = study.mean(name), float(np.nanmax(study.std(name)))
    return most > 0.02 * float(np.nanmax(mean) - np.nanmin(mean))


def _events(study: MonteCarlo) -> str:
    if not study.events:
        return ""
    probabilities = {name: study.probability(name) for name in study.events}
    rows = [
        (
            name,
            f"{one.value:.4g}",
            f"{one.low:.4g} to {one.high:.4g}",
            f"{one.happened} of {one.runs}",
        )
        for name, one in probabilities.items()
    ]
    level = next(iter(probabilities.values())).level
    return table(("event", "probability", f"{level:.0%} confidence", "runs"), rows, [1, 3])


def _ends(study: MonteCarlo) -> str:
    rows: list[tuple[str, ...]] = []
    for name in study.quantities:
        unit = study.unit(name)
        by = factor(unit)
        values = [float(study.mean(name)[-1]), float(study.std(name)[-1])]
        values += [float(study.quantile(name, level)[-1]) for level in study.levels]
        rows.append((name, screen_unit(unit), *(short(by * value) for value in values)))
    levels = [f"{100.0 * level:g} %" for level in study.levels]
    head = ("quantity", "unit", "mean", "std", *levels)
    return table(head, rows, range(2, len(head)))
