"""The elementary functions of `skidpad.ops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..errors import InvalidValue
from .backends import PLAIN, backend_of

T = TypeVar("T")


def sin(x: T) -> T:
    """Sine; x in rad."""
    return backend_of(x).sin(x)


def cos(x: T) -> T:
    """Cosine; x in rad."""
    return backend_of(x).cos(x)


def tan(x: T) -> T:
    """Tangent; x in rad."""
    return backend_of(x).tan(x)


def asin(x: T) -> T:
    """Arc sine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return backend_of(x).asin(x)


def acos(x: T) -> T:
    """Arc cosine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return backend_of(x).acos(x)


def atan(x: T) -> T:
    """Arc tangent in rad, in (-π/2, π/2)."""
    return backend_of(x).atan(x)


def atan2(y: T, x: Any) -> T:
    """Angle of the vector (x, y) in rad, in [-π, π]. Its gradient is NaN at the origin."""
    return backend_of(y, x).atan2(y, x)


def sinh(x: T) -> T:
    """Hyperbolic sine."""
    return backend_of(x).sinh(x)


def cosh(x: T) -> T:
    """Hyperbolic cosine."""
    return backend_of(x).cosh(x)


def tanh(x: T) -> T:
    """Hyperbolic tangent."""
    return backend_of(x).tanh(x)


def exp(x: T) -> T:
    """Exponential."""
    return backend_of(x).exp(x)


def log(x: T) -> T:
    """Natural logarithm; -inf at 0, NaN below."""
    return backend_of(x).log(x)


def sqrt(x: T) -> T:
    """Square root; NaN below 0. Its gradient is infinite at 0."""
    return backend_of(x).sqrt(x)


def hypot(x: T, y: Any) -> T:
    """Length of the vector (x, y). Its gradient is NaN at the origin: see `smooth_hypot`."""
    return backend_of(x, y).hypot(x, y)


def pow(x: T, n: float) -> T:
    """x to a constant power n. A power that is not a whole number needs x >= 0."""
    if type(n) not in PLAIN:
        raise InvalidValue(f"pow takes a constant exponent, got {type(n).__name__}")
    return backend_of(x).pow(x, n)


def abs(x: T) -> T:
    """|x|. Its gradient jumps at 0: see `smooth_abs`."""
    return backend_of(x).abs(x)


def sign(x: T) -> T:
    """-1, 0 or 1."""
    return backend_of(x).sign(x)


def minimum(a: T, b: Any) -> T:
    """The smaller one; NaN if either is NaN."""
    return backend_of(a, b).minimum(a, b)


def maximum(a: T, b: Any) -> T:
    """The larger one; NaN if either is NaN."""
    return backend_of(a, b).maximum(a, b)


def clip(x: T, low: Any, high: Any) -> T:
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


def floor(x: T) -> T:
    """Largest whole number not above x."""
    return backend_of(x).floor(x)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b. Both are evaluated, so both must be finite for
    gradients."""
    return backend_of(condition, a, b).where(condition, a, b)


def less(a: Any, b: Any) -> Any:
    """a < b, as the operator. Comparisons with NaN do not hold, except `not_equal`."""
    return a < b


def less_equal(a: Any, b: Any) -> Any:
    """a <= b, as the operator."""
    return a <= b


def greater(a: Any, b: Any) -> Any:
    """a > b, as the operator."""
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    """a >= b, as the operator."""
    return a >= b


def equal(a: Any, b: Any) -> Any:
    """a == b, as the operator."""
    return a == b


def not_equal(a: Any, b: Any) -> Any:
    """a != b, as the operator."""
    return a != b


def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return backend_of(a, b).logical_and(a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Whether at least one condition holds."""
    return backend_of(a, b).logical_or(a, b)


def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return backend_of(a).logical_not(a)


def read(number: Any, index: Any) -> Any:
    """The element at a whole index of a shared array (see `shared_array`), by its number.

    An index before the first element or behind the last one reads that one. A number that no array
    has, or has any more, and a NaN read NaN. Derivatives are zero.
    """
    return backend_of(number, index).read(number, index)


def smooth_abs(x: T, width: Any) -> T:
    """sqrt(x² + width²) - width: |x| with a rounded corner of about `width`, smooth everywhere."""
    return sqrt(x * x + width * width) - width  # type: ignore[operator]


def smooth_hypot(x: T, y: Any, width: Any) -> T:
    """sqrt(x² + y² + width²): the length of (x, y) with finite gradient at the origin."""
    return sqrt(x * x + y * y + width * width)  # type: ignore[operator]


def smooth_step(x: T, low: Any, high: Any) -> T:
    """0 below `low`, 1 above `high`, and the C² quintic 6t⁵-15t⁴+10t³ between them."""
    t: Any = clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def weighted_sum(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    """The sum of the products of two lists, from the first on."""
    total: Any = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
    return total
