"""A row of the validation report: a number of ours beside one that is not ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Check", "Row", "compared", "recorded", "texts"]


@dataclass(frozen=True)
class Row:
    """One comparison."""

    subject: str
    """The vehicle or part that is looked at."""
    quantity: str
    """What is compared, with its unit in brackets."""
    source: str
    """Where the reference is from."""
    reference: float
    ours: float
    difference: float
    """Over the scale."""
    tolerance: float
    """Largest difference, from the accuracy of the reference."""
    scale: float
    """What the difference is relative to."""

    @property
    def good(self) -> bool:
        """Whether it is within the tolerance; a NaN is not."""
        return self.difference <= self.tolerance


@dataclass(frozen=True)
class Check:
    """A function that gives rows of one part of the report."""

    part: str
    """Heading of the part of the page that its rows are in."""
    rows: Callable[[], Sequence[Row]]
    slow: bool = False
    """Whether only the slow tests run it."""


def compared(
    subject: str,
    quantity: str,
    source: str,
    reference: Any,
    ours: Any,
    tolerance: float,
    scale: float | None = None,
) -> Row:
    """A number beside a reference; the difference is relative to `scale`, or to the reference."""
    want, got = float(reference), float(ours)
    size = abs(want) if scale is None else scale
    return Row(subject, quantity, source, want, got, abs(got - want) / size, tolerance, size)


def recorded(
    subject: str,
    quantity: str,
    source: str,
    reference: Any,
    ours: Any,
    tolerance: float,
    scale: Any = None,
) -> Row:
    """Many numbers beside a recording of them, (N, columns) or (N,).

    The row shows the largest number of the recording and ours in its place. The difference is the
    largest of all, relative to `scale`, by default the largest of its column.
    """
    want = np.asarray(reference, dtype=float)
    got = np.broadcast_to(np.asarray(ours, dtype=float), want.shape)
    finite = np.isfinite(want) & np.isfinite(got)
    if not np.array_equal(want[~finite], got[~finite], equal_nan=True):
        return Row(subject, quantity, source, math.nan, math.nan, math.nan, tolerance, 1.0)
    want, got = (np.where(finite, part, 0.0) for part in (want, got))
    size = np.abs(want).max(axis=0) if scale is None else np.asarray(scale, dtype=float)
    size = np.broadcast_to(np.where(size > 0.0, size, 1.0), want.shape)
    away = float((np.abs(got - want) / size).max())
    place = np.unravel_index(np.argmax(np.abs(want)), want.shape)
    shown = (float(part[place]) for part in (want, got))
    count = f"{quantity}, largest of {want.size} values"
    return Row(subject, count, source, *shown, away, tolerance, float(size[place]))


def texts(row: Row) -> tuple[str, ...]:
    """The cells of a row on the page."""
    # Digits that are rounding alone differ between machines.
    least = 0.01 * row.tolerance
    difference = f"{row.difference:.1e}" if row.difference >= least else f"< {least:.0e}"
    verdict = "within" if row.good else "OUTSIDE"
    numbers = (f"{number:.6g}" for number in (row.reference, row.ours))
    return (
        row.subject,
        row.quantity,
        *numbers,
        difference,
        f"{row.tolerance:.0e}",
        verdict,
        row.source,
    )
