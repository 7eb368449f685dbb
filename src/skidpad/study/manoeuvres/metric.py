"""Findings of a manoeuvre: metrics with units and definitions, charts and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.checks import floats
from ...core.files import brief_repr


@dataclass(frozen=True, eq=False)
class Metric:
    """A number that a manoeuvre gives for each variant of a vehicle."""

    name: str
    """Snake case, unique within its manoeuvre, such as "understeer_gradient"."""
    value: Any
    """(V,); NaN where a variant has none."""
    unit: str
    """SI, such as "rad·s²/m"; empty of a ratio."""
    definition: str
    """One sentence that says how it is computed."""
    theory: Any = None
    """Value of linear theory or of a closed form, (V,) or a number; None without one."""
    rough: str = ""
    """Why the metric is not smooth in the vehicle's parameters, such as a search to a resolution;
    empty if it is. A rough metric has no derivative, and `sensitivity` refuses it."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", np.atleast_1d(floats("value", self.value)))
        if self.theory is not None:
            theory = np.broadcast_to(floats("theory", self.theory), self.value.shape)
            object.__setattr__(self, "theory", theory)


@dataclass(frozen=True, eq=False)
class Curve:
    """A line of a chart."""

    x: Array
    y: Array
    label: str = ""
    kind: str = "run"
    """"run", "theory", "limit", "measured", "points" or "cones" (points, too)."""

    __repr__ = brief_repr


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture as data: what the report draws, and what may be overlaid with another car's."""

    title: str
    x_label: str
    """With the unit, such as "lateral acceleration in m/s²"."""
    y_label: str
    curves: Sequence[Curve]
    x_log: bool = False
    equal: bool = False
    """Whether a metre is as long on both axes."""

    __repr__ = brief_repr


@dataclass(frozen=True, eq=False)
class Findings:
    """All that a manoeuvre finds."""

    metrics: Sequence[Metric]
    charts: Sequence[Chart] = field(default_factory=tuple[Chart, ...])
    notes: Sequence[str] = field(default_factory=tuple[str, ...])
    """Sentences for the reader, such as why a number is missing."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Metric:
        by_name = {metric.name: metric for metric in self.metrics}
        if name not in by_name:
            raise KeyError(f"there is no metric {name!r}; there are {', '.join(by_name)}")
        return by_name[name]
