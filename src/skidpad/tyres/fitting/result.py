"""What a fit found: coefficients with intervals, errors by load, what was left alone and why."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.record import unknown_name
from ...errors import InvalidValue
from ..tyre import Tyre
from .figures import Residuals, residual_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Coefficient(NamedTuple):
    """One coefficient."""

    name: str
    start: float
    value: float
    low: float
    """The 95 % interval; NaN for a value at a bound, of which it says nothing."""
    high: float


@dataclass(frozen=True)
class StageFit:
    """What one stage found."""

    name: str
    response: str
    coefficients: tuple[Coefficient, ...]
    fixed: Mapping[str, str]
    """Coefficients that were left as they were, and why."""
    used: int
    """Rows at such slip with this force or moment."""
    dropped: int
    """Other rows of the table."""
    outliers: int
    """Of the used rows those that did not count in the end."""
    rms: float
    """Root mean square of the error over load; of moments over load times free radius. Outliers
    do not count."""
    rms_by_load: Mapping[float, float]
    """The same for each step of load in N."""

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
    """A fitted tyre and how well it follows the measurements. `print` shows it as a table."""

    tyre: Tyre
    """The fitted tyre: that of the start with other numbers, or a new one."""
    stages: tuple[StageFit, ...]
    skipped: Mapping[str, str]
    """Stages that there were no rows for, and why."""
    residuals: tuple[Residuals, ...]
    """What was measured and what the fitted tyre gives, stage by stage."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        parts = [str(stage) for stage in self.stages]
        parts += [f"{name}: left out, {why}" for name, why in self.skipped.items()]
        return "\n".join(parts)

    def __getitem__(self, name: str) -> Coefficient:
        """A fitted coefficient."""
        fitted = {c.name: c for stage in self.stages for c in stage.coefficients}
        if name not in fitted:
            raise InvalidValue(unknown_name("Fit", name, tuple(fitted), "fitted coefficient"))
        return fitted[name]

    def stage(self, name: str) -> StageFit:
        """What a stage found."""
        by_name = {stage.name: stage for stage in self.stages}
        if name not in by_name:
            raise InvalidValue(unknown_name("Fit", name, tuple(by_name), "stage"))
        return by_name[name]

    @property
    def fixed(self) -> dict[str, str]:
        """All coefficients that were left as they were, and why."""
        return {name: why for stage in self.stages for name, why in stage.fixed.items()}

    def residual_plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A figure of measured and fitted forces over slip, errors below; written if there is a
        path."""
        rows = max(stage.used + stage.dropped for stage in self.stages)
        title = f"{self.tyre.name} fitted to {rows} rows"
        return residual_figure(title, self.residuals, path)


def rms(values: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
