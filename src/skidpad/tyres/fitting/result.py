"""Result of a fit: coefficients with intervals, errors by load, and what was not fitted and why.

Figure of a fit: measured and fitted forces over slip, with the error below.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray, Array, Mask
from ...core.files import brief_repr
from ...core.record import check_names
from ...view.plots.style import COLOURS, GREY, RED, check, headings, new_figure, room, write_figure
from ..tyre import Tyre
from .measurements import BINS, Measurements, levels, numbers_of_steps, step_of
from .stages import Stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE_BY_SIDE = 3
_FEWEST = 6
"""Smallest number of rows of a curve that is drawn."""
_MOST_LOADS = len(COLOURS)
_WIDTHS = {"alpha": np.deg2rad(0.5), "kappa": 0.01}
"""Largest difference, within one curve, of the slip that is not on its axis (rad for alpha)."""
_MEASURED: Any = {"marker": "o", "markersize": 2.6, "linestyle": "none", "alpha": 0.45,
                  "markeredgewidth": 0.0}  # fmt: skip


_OUTLIER: Any = {"marker": "x", "markersize": 3.0, "linestyle": "none", "color": RED,
                 "markeredgewidth": 0.8}  # fmt: skip


class Residuals(NamedTuple):
    """Rows of a stage, and the errors of the fitted tyre in them."""

    stage: Stage
    rows: Measurements
    measured: Array
    """Measured force over load, or moment over load times free radius."""
    error: Array
    """Fitted minus measured value, normalised like `measured`."""
    kept: Mask
    """Rows that are not outliers."""

    __repr__ = brief_repr

    def mirrored(self) -> Residuals:
        """Residuals mirrored to the other side of the car."""
        sign = -1.0 if self.stage.response in ("F_y", "M_x", "M_z") else 1.0
        return self._replace(
            rows=self.rows.mirrored(), measured=sign * self.measured, error=sign * self.error
        )


def _draw(above: Axes, below: Axes, part: Residuals, loads: Array) -> None:
    slip, label = _over(part)
    x = np.rad2deg(part.rows[slip]) if slip == "alpha" else part.rows[slip]
    by = "(F_z R_0)" if part.stage.response.startswith("M") else "F_z"
    letter, index = part.stage.response.split("_")
    above.set_title(f"{part.stage.name}: ${letter}_{index} / {by}$")
    at = step_of(part.rows.F_z, loads, BINS["F_z"])
    for k in range(-1, len(loads)):
        rows = (at == k) & part.kept
        colour = GREY if k < 0 else COLOURS[k]
        above.plot(x[rows], part.measured[rows], color=colour, **_MEASURED)
        below.plot(x[rows], 100.0 * part.error[rows], color=colour, **_MEASURED)
    fitted = part.measured + part.error
    for rows in _curves(part.rows, slip):
        colour = GREY if at[rows[0]] < 0 else COLOURS[at[rows[0]]]
        above.plot(x[rows], fitted[rows], color=colour, linewidth=0.9)
    below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
    below.set_ylabel("error [%]")
    below.set_xlabel(label)
    most = max(115.0 * float(np.abs(part.error[part.kept]).max(initial=0.0)), 1e-6)
    # Outliers would decide the scale: they stand at its end.
    far = ~part.kept
    below.plot(x[far], np.clip(100.0 * part.error[far], -0.94 * most, 0.94 * most), **_OUTLIER)
    above.set_ylim(*room([part.measured[part.kept], fitted]))
    below.set_ylim(-most, most)
    below.locator_params(axis="y", nbins=3)


def _over(part: Residuals) -> tuple[str, str]:
    """Column and axis label of the slip that varies most in the rows of a stage."""
    spans = {n: np.ptp(part.rows[n]) / w for n, w in _WIDTHS.items()}
    # Where both vary, a longitudinal force is looked at over longitudinal slip.
    along = part.stage.response == "F_x" or "kappa" in part.stage.above
    if spans["kappa"] > 1.0 and (along or spans["alpha"] <= 1.0):
        return "kappa", "longitudinal slip"
    return "alpha", "slip angle [°]"


def _curves(rows: Measurements, slip: str) -> Iterator[AnyArray]:
    """Rows with the same steps, label and other slip, sorted by the slip."""
    other = "kappa" if slip == "alpha" else "alpha"
    steps = numbers_of_steps({n: rows[n] for n in BINS})
    _, labels = np.unique(rows.label, return_inverse=True)
    keys = np.column_stack([steps, labels, np.round(rows[other] / _WIDTHS[other])])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    for k in range(int(group.max()) + 1):
        members = np.flatnonzero(group.reshape(-1) == k)
        if len(members) >= _FEWEST and (steps[members[0]] >= 0).all():
            yield members[np.argsort(rows[slip][members], kind="stable")]


def _keys(loads: Array, outliers: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=COLOURS[k], linewidth=2.0, label=f"{load:.0f} N")
        for k, load in enumerate(loads)
    ]
    looks: dict[str, Any] = {
        "measured": {"color": GREY, **_MEASURED, "markersize": 4.0},
        "fitted": {"color": GREY, "linewidth": 0.9},
    }
    if outliers:
        looks["outlier"] = _OUTLIER
    return [*keys, *(Line2D([], [], label=label, **look) for label, look in looks.items())]


class Coefficient(NamedTuple):
    name: str
    start: float
    value: float
    low: float
    """Limits `low` and `high` of the 95 % confidence interval; NaN for a value at a bound."""
    high: float


@dataclass(frozen=True)
class StageFit:
    """Result of one stage of a fit."""

    name: str
    response: str
    coefficients: tuple[Coefficient, ...]
    fixed: Mapping[str, str]
    """Coefficients that kept their values, and why."""
    used: int
    """Number of rows in the slip range of the stage with this force or moment."""
    dropped: int
    """Number of other rows in the table."""
    outliers: int
    """Number of used rows that were dropped as outliers."""
    rms: float
    """Root mean square of the error over load, or, for moments, over load times free radius.

    Outliers are excluded.
    """
    rms_by_load: Mapping[float, float]
    """Root mean square error by step of load in N, normalised like `rms`."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.used} rows ({self.dropped} others, {self.outliers} outliers), "
            f"error {100.0 * self.rms:.3g} % of load{' times radius' * (self.response[0] == 'M')}"
        ]
        for c in self.coefficients:
            interval = "at its bound" if np.isnan(c.low) else f"[{c.low:.5g}, {c.high:.5g}]"
            lines.append(f"  {c.name:<8}{c.start:>12.5g} -> {c.value:<12.6g} {interval}")
        for reason in dict.fromkeys(self.fixed.values()):
            names = [name for name, why in self.fixed.items() if why == reason]
            lines.append(f"  left: {', '.join(names)}: {reason}")
        if self.rms_by_load:
            parts = [f"{load:.0f} N {100.0 * rms:.3g} %" for load, rms in self.rms_by_load.items()]
            lines.append(f"  by load: {', '.join(parts)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Fit:
    """A fitted tyre and how well it follows the measurements; `print` shows it as a table."""

    tyre: Tyre
    """Fitted tyre: the start tyre with new values, or a new tyre."""
    stages: tuple[StageFit, ...]
    skipped: Mapping[str, str]
    """Stages without usable rows, and why."""
    residuals: tuple[Residuals, ...]
    """Measured values and errors of the fitted tyre, stage by stage."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        parts = [str(stage) for stage in self.stages]
        parts += [f"{name}: left out, {why}" for name, why in self.skipped.items()]
        return "\n".join(parts)

    def __getitem__(self, name: str) -> Coefficient:
        """A fitted coefficient."""
        fitted = {c.name: c for stage in self.stages for c in stage.coefficients}
        check_names("Fit", [name], fitted, "fitted coefficient")
        return fitted[name]

    def stage(self, name: str) -> StageFit:
        """Result of a stage by its name."""
        by_name = {stage.name: stage for stage in self.stages}
        check_names("Fit", [name], by_name, "stage")
        return by_name[name]

    @property
    def fixed(self) -> dict[str, str]:
        """All coefficients that kept their values, and why."""
        return {name: why for stage in self.stages for name, why in stage.fixed.items()}

    def residual_plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Figure of measured and fitted forces over slip, with errors; saved if there is a path."""
        check(path, "matplotlib", None)
        parts = self.residuals
        columns = min(_SIDE_BY_SIDE, len(parts))
        stacks = -(-len(parts) // columns)
        loads = levels(np.concatenate([r.rows.F_z for r in parts]), BINS["F_z"])[:_MOST_LOADS]
        with new_figure((3.9,) * columns, (2.1, 1.0) * stacks) as (figure, grid):
            for k, part in enumerate(parts):
                row, column = divmod(k, columns)
                above = figure.add_subplot(grid[2 * row, column])
                below = figure.add_subplot(grid[2 * row + 1, column], sharex=above)
                _draw(above, below, part, loads)
                above.tick_params(labelbottom=False)
            rows = max(stage.used + stage.dropped for stage in self.stages)
            title = f"{self.tyre.name} fitted to {rows} rows"
            headings(figure, title, _keys(loads, not all(r.kept.all() for r in parts)))
        return write_figure(figure, path)


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
