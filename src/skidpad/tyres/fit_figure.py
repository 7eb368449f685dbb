"""The figure of a fit: measured against fitted, the error below."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import Array
from ..brief import brief_repr
from .fit_stages import Stage
from .measurement_table import Measurements

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Residuals(NamedTuple):
    """Rows of a stage and the errors of the fitted tyre in them."""

    stage: Stage
    rows: Measurements
    error: Array
    """Fitted less measured, over load; of moments over load times free radius."""

    __repr__ = brief_repr


def residual_figure(
    title: str, residuals: tuple[Residuals, ...], path: str | os.PathLike[str] | None = None
) -> Figure:
    raise NotImplementedError
