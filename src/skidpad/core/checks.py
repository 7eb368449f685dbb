"""Checks of arguments: each returns the value in its plain type, or raises `InvalidValue`.

Every error is one sentence, "name = value must be ...", with the unit where there is one. Numbers:
`finite`, `positive`, `not_negative`, `between`, `must_be` (a range of `skidpad.units`), `number`
(may be infinite), `whole`. Other values: `flag`, `one_of`, `text`, `function`, `instance_of`,
`interval`. Arrays: `array`, `floats`, `increasing`. Time and memory: `positive_step`, `steps_in`,
`check_room`, `making_room`. The leaves of a record are checked by `skidpad.core.record.check`.

Values that would merely convert to numbers are refused: True, "1.0" and arrays of one element.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Collection, Generator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue
from ..units import Allowed
from .files import shown

Kind = TypeVar("Kind")

ROUNDING = 3e-5
"""Relative difference of a duration from a whole number of steps that counts as rounding, so
that 0.016667 s is accepted as a sixtieth."""
MOST_ROUNDING = 0.01
"""Largest rounding difference of a duration as a fraction of a step, for any number of steps."""
MOST_STEPS = 2**53
"""Largest number up to which every integer is exactly a float."""
FINITE = Allowed()
"""Range of all finite numbers."""


def finite(name: str, value: Any, unit: str = "") -> float:
    """Return the value as a float; raises unless it is a finite number."""
    return must_be(name, value, FINITE, unit)


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return the value as a float; raises unless it is finite and greater than 0."""
    allowed = "finite and greater than 0"
    return _checked(name, value, unit, lambda x: 0.0 < x < math.inf, allowed)


def not_negative(name: str, value: Any, unit: str = "") -> float:
    """Return the value as a float; raises unless it is finite and at least 0."""
    return _checked(name, value, unit, lambda x: 0.0 <= x < math.inf, "finite and at least 0")


def between(
    name: str, value: Any, low: float, high: float, unit: str = "", hint: str = ""
) -> float:
    """Return the value as a float; raises unless it is strictly between `low` and `high`.

    `hint` is appended to the error message, as in ", such as 0.95".
    """
    allowed = f"between {low:g} and {high:g}{hint}"
    return _checked(name, value, unit, lambda x: low < x < high, allowed)


def must_be(name: str, value: Any, allowed: Allowed, unit: str = "") -> float:
    """Return the value as a float; raises unless it is a finite number in the range."""
    _checked(name, value, unit, math.isfinite, "finite")
    return _checked(name, value, unit, allowed.__contains__, allowed)


def number(name: str, value: Any, unit: str = "") -> float:
    """Return the value as a float; raises unless it is a number, which may be infinite."""
    return _checked(name, value, unit, lambda x: not math.isnan(x), "a number")


def _checked(
    name: str, value: Any, unit: str, fine: Callable[[float], bool], allowed: object
) -> float:
    try:
        number = _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{_shown(name, value, unit)} must be a number") from error
    if not fine(number):
        raise InvalidValue(f"{_shown(name, value, unit)} must be {allowed}")
    return number


def whole(
    name: str, value: Any, allowed: str = "", least: int | None = 1, most: int | None = MOST_STEPS
) -> int:
    """Return the value as an integer; raises unless it is an integer from `least` to `most`.

    Args:
        name: name of the argument, for the error.
        value: any integer type; a float is refused even if it has an integer value.
        allowed: what the error says is allowed; "at least `least`" if empty.
        least: the smallest value; None (as for a seed) removes both limits.
        most: the largest value; no limit if None.
    """
    number = None
    if not isinstance(value, (bool, np.bool_)):
        with contextlib.suppress(TypeError):
            number = operator.index(value)
    if number is None:
        kind = f"a whole number, {allowed}" if allowed else "a whole number"
        raise InvalidValue(f"{name} = {shown(value)} must be {kind}")
    if least is not None and number < least:
        raise InvalidValue(f"{name} = {shown(number)} must be {allowed or f'at least {least}'}")
    if least is not None and most is not None and number > most:
        raise InvalidValue(f"{name} = {shown(number)} must be at most {most}")
    return number


def flag(name: str, value: Any) -> bool:
    """Return the value; raises unless it is True or False."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} = {shown(value)} must be True or False")
    return value


def one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    if value not in allowed:
        raise InvalidValue(
            f"{name} = {shown(value)} is unknown; allowed are {', '.join(map(str, allowed))}"
        )


def text(name: str, value: Any) -> str:
    """Return the value; raises unless it is a string."""
    if not isinstance(value, str):
        raise InvalidValue(f"{name} = {shown(value)} must be a text")
    return value


def function(name: str, value: Any, what: str = "a function") -> Callable[..., Any]:
    """Return the value; raises unless it is callable. `what` is more specific, as in "a function of
    x"."""
    if not callable(value):
        raise InvalidValue(f"{name} = {shown(value)} must be {what}")
    return value


def instance_of(name: str, value: Any, kind: type[Kind], hint: str = "") -> Kind:
    """Return the value; raises unless it is an instance of `kind`. `hint` is appended to the error
    message."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        got = type(value).__qualname__
        raise InvalidValue(f"{name} must be {article} {kind.__name__}, got a {got}{hint}")
    return value


def interval(name: str, value: Any, unit: str = "") -> tuple[float, float]:
    """Return a pair (low, high) as floats; raises unless both are finite and low <= high."""
    try:
        low, high = (_number(end) for end in value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(value)} must be a pair (low, high)") from None
    if not -math.inf < low <= high < math.inf:
        raise InvalidValue(
            f"{_shown(name, value, unit)} must be a pair (low, high), finite with low at most high"
        )
    return low, high


def array(
    name: str,
    values: Any,
    shape: tuple[int | str, ...],
    allowed: Allowed | None = FINITE,
    unit: str = "",
) -> NDArray[np.float64]:
    """Return the values as an array of floats, without copying if possible; raises unless they fit.

    Args:
        name: name of the argument, for the error.
        values: anything array-like; texts, truth values and complex numbers are refused.
        shape: lengths of the axes, as in `("n", 2)`; a name stands for any length, which must be
            the same where the name is repeated.
        allowed: the range of each number, which must be finite; None allows any, NaN included.
        unit: unit of the numbers, for the error.
    """
    expected = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "fiuO" and raw.size:
            raise TypeError("not real numbers")
        numbers = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"{name} = {shown(values)} must be numbers in an array of shape {expected}"
        ) from None
    lengths = dict(zip(shape, numbers.shape, strict=False))
    if numbers.shape != tuple(lengths.get(n, 0) if isinstance(n, str) else n for n in shape):
        raise InvalidValue(f"{name} has shape {numbers.shape}; it must be {expected}")
    if allowed is None:
        return numbers
    _check_each(name, numbers, np.isfinite(numbers), "finite", unit)
    above = numbers > allowed.low if allowed.open_low else numbers >= allowed.low
    inside = above & (numbers <= allowed.high)
    _check_each(name, numbers, inside & ~(allowed.whole & (numbers % 1.0 > 0)), f"{allowed}", unit)
    return numbers


def floats(name: str, values: Any, dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
    """Convert numbers of any shape to an array of floats, without copying if possible."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(values)} must be numbers") from None


def increasing(name: str, values: Any, unit: str = "") -> NDArray[np.float64]:
    """Return the values as a float array (n,); raises unless they increase strictly."""
    numbers = array(name, values, ("n",), unit=unit)
    falls = np.flatnonzero(np.diff(numbers) <= 0.0)
    if falls.size:
        k = int(falls[0]) + 1
        raise InvalidValue(
            f"{_shown(f'{name}[{k}]', numbers[k], unit)} must be greater than the one before, "
            f"{numbers[k - 1]}"
        )
    return numbers


def positive_step(dt: float, precision: str) -> float:
    """Return dt as a float, in s; raises unless it is finite and above 0 in this precision."""
    try:
        value = _number(dt)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"dt = {shown(dt)} must be a number of seconds") from error
    with np.errstate(all="ignore"):
        rounded = np.dtype(precision).type(value)
    # Refuse smaller numbers, whose reciprocal is infinite.
    least = float(np.finfo(precision).tiny)
    if not (np.isfinite(rounded) and rounded >= least):
        raise InvalidValue(
            f"dt = {value} s must be finite and greater than 0 in {precision}, "
            f"at least {least:.3g} s"
        )
    return value


def steps_in(duration: Any, dt: float, name: str = "duration") -> int:
    """Number of steps of dt in a duration, both in s; raises unless it is an integer.

    A duration is never rounded to the nearest number of steps: over many short runs the lost time
    would accumulate unnoticed. Only a difference within the rounding of the values is accepted.
    """
    length = not_negative(name, duration, "s")
    ratio = length / dt
    if not ratio <= MOST_STEPS:
        raise InvalidValue(
            f"{name} = {length:g} s has more steps of {dt:g} s than can be counted, {MOST_STEPS}"
        )
    count = round(ratio)
    if abs(ratio - count) > min(ROUNDING * ratio, MOST_ROUNDING):
        few = math.floor(ratio)
        raise InvalidValue(
            f"{name} = {length:.12g} s is not a whole number of steps of {dt:g} s: take "
            f"{few * dt:.12g} s or {(few + 1) * dt:.12g} s"
        )
    return count


def steps_of(steps: int | None, *series: Any) -> int:
    """Number of steps from `steps` and from arrays with a row per step; raises if they differ."""
    lengths = {len(rows) for rows in series if getattr(rows, "ndim", np.ndim(rows)) == 3}
    if steps is not None:
        lengths.add(whole("steps", steps, "at least 1"))
    if not lengths:
        raise InvalidValue("held controls do not say how long to run: give steps=")
    if len(lengths) > 1 or min(lengths) < 1:
        listed = " and ".join(map(str, sorted(lengths)))
        raise InvalidValue(f"number of steps = {listed}: must be one number, at least 1")
    return lengths.pop()


def check_room(name: str, count: int, each: int = 1) -> None:
    """Raise if `count` objects of `each` numbers do not fit into the memory."""
    try:
        np.empty((count, each))
    except (MemoryError, ValueError, OverflowError) as error:
        raise no_room(name, count, 8.0 * each) from error


@contextlib.contextmanager
def making_room(name: str, count: int) -> Generator[None]:
    """Context manager for allocating `count` objects; if memory is short, the error names the
    count."""
    try:
        yield
    except MemoryError as error:
        raise no_room(name, count) from error


def no_room(name: str, count: int, each: float = 0.0) -> InvalidValue:
    """Make the error about insufficient memory for `count` objects of `each` bytes (0 if
    unknown).
    """
    takes = f"{count * each / 1e9:.3g} GB of memory, more than" if each else "more memory than"
    return InvalidValue(f"{name} = {shown(count)} takes {takes} there is: take less")


def _check_each(
    name: str, numbers: NDArray[np.float64], good: NDArray[np.bool_], allowed: str, unit: str
) -> None:
    if not good.all():
        place = tuple(np.argwhere(~good)[0].tolist())
        index = f"[{', '.join(map(str, place))}]" if place else ""
        raise InvalidValue(f"{_shown(f'{name}{index}', numbers[place], unit)} must be {allowed}")


def _number(value: Any) -> float:
    if type(value) is float:  # fast path, as some interfaces check a value in every step
        return value
    # `float` would convert truth values and texts.
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or np.ndim(value):
        raise TypeError("not a number")
    return float(value)


def _shown(name: str, value: Any, unit: str) -> str:
    # Show a NumPy number by its digits, without its type.
    text = str(value) if isinstance(value, np.generic) else shown(value)
    return f"{name} = {text}" + (f" {unit}" if unit not in ("", "1") else "")
