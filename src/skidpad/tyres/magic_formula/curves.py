"""The sine and cosine curves of the Magic Formula, and small functions that all parts need."""

from __future__ import annotations

from typing import Any

from ...ops import atan, cos, equal, exp, log, maximum, sin, sqrt, where


def sign1(x: Any) -> Any:
    """-1 for negative x, else 1."""
    return where(x < 0.0, -1.0, 1.0)


def without_zero(x: Any, small: Any) -> Any:
    """x moved away from 0 by a small number of its unit."""
    return x + where(x < 0.0, -small, small)


def non_zero(x: Any) -> Any:
    """x, or 1 in place of 0: for a divisor that a file may have left out."""
    return where(equal(x, 0.0), 1.0, x)


def cos_atan(x: Any) -> Any:
    """cos(atan(x))."""
    return 1.0 / sqrt(1.0 + x * x)


def _bent(b: Any, E: Any) -> Any:
    return atan(b - E * (b - atan(b)))


def sin_curve(x: Any, B: Any, C: Any, D: Any, E: Any) -> Any:
    """D sin(C atan(Bx - E(Bx - atan Bx))), eq. 4.49."""
    return D * sin(C * _bent(B * x, E))


def cos_curve(x: Any, B: Any, C: Any, E: Any) -> Any:
    """cos(C atan(Bx - E(Bx - atan Bx))), eq. 4.59 without its peak."""
    return cos(C * _bent(B * x, E))


def power(x: Any, n: Any) -> Any:
    """x to the power n for x of at least 0 and an n that is a parameter; finite slopes at 0."""
    return exp(n * log(maximum(x, 1e-30)))


def reciprocal(x: Any) -> Any:
    """1/x of a pure number, and 0 at 0."""
    return x / (x * x + 1e-18)
