"""Checks of arguments: each returns the value in its plain type, or raises `InvalidValue`.

Every error is one sentence, "name = value must be ...", with the unit where there is one. Numbers:
`finite`, `positive`, `not_negative`, `between`, `must_be` (a range of `skidpad.units`), `number`
(may be infinite), `whole`. Other values: `flag`, `one_of`, `text`, `function`, `instance_of`,
`interval`. Arrays: `array`, `floats`, `increasing`. Time and memory: `positive_step`, `steps_in`,
`check_room`, `making_room`. The leaves of a record are checked by `skidpad.core.record.check`.

No value passes for a number that only converts to one: True, "1.0" and arrays of one are refused.
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
"""Share of a time by which it may differ from a whole number of steps: 0.016667 s is a sixtieth."""
MOST_ROUNDING = 0.01
"""Share of a step by which it may differ, however many there are."""
MOST_STEPS = 2**53
"""Beyond that not every whole number is a float."""
FINITE = Allowed()
"""The range of every finite number."""


def finite(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is a finite number."""
    return must_be(name, value, FINITE, unit)


def positive(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is finite and greater than 0."""
    number = _as_float(name, value, unit)
    if not 0.0 < number < math.inf:
        raise InvalidValue(f"{_shown(name, value, unit)} must be finite and greater than 0")
    return number


def not_negative(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is finite and at least 0."""
    number = _as_float(name, value, unit)
    if not 0.0 <= number < math.inf:
        raise InvalidValue(f"{_shown(name, value, unit)} must be finite and at least 0")
    return number


def between(
    name: str, value: Any, low: float, high: float, unit: str = "", hint: str = ""
) -> float:
    """The value as a float; raises unless it lies between `low` and `high`, without the ends.

    `hint` ends the sentence, as in ", such as 0.95".
    """
    number = _as_float(name, value, unit)
    if not low < number < high:
        raise InvalidValue(
            f"{_shown(name, value, unit)} must be between {low:g} and {high:g}{hint}"
        )
    return number


def must_be(name: str, value: Any, allowed: Allowed, unit: str = "") -> float:
    """The value as a float; raises unless it is a finite number in the range."""
    number = _as_float(name, value, unit)
    if not math.isfinite(number):
        raise InvalidValue(f"{_shown(name, value, unit)} must be finite")
    if number not in allowed:
        raise InvalidValue(f"{_shown(name, value, unit)} must be {allowed}")
    return number


def number(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is a number, which may be infinite."""
    value = _as_float(name, value, unit)
    if math.isnan(value):
        raise InvalidValue(f"{_shown(name, value, unit)} must be a number")
    return value


def whole(
    name: str,
    value: Any,
    allowed: str = "",
    least: int | None = 1,
    most: int | None = MOST_STEPS,
) -> int:
    """The value as an integer; raises unless it is a whole number from `least` to `most`.

    Args:
        name: of the argument, for the error.
        value: any integer type; a float is refused even if it is whole.
        allowed: what the error says is allowed; "at least `least`" if empty.
        least: the smallest value; without it (as for a seed) there are no limits at all.
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
    """The value; raises unless it is True or False."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} = {shown(value)} must be True or False")
    return value


def one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise unless the value is one of those allowed."""
    if value not in allowed:
        raise InvalidValue(
            f"{name} = {shown(value)} is unknown; allowed are {', '.join(map(str, allowed))}"
        )


def text(name: str, value: Any) -> str:
    """The value; raises unless it is a string."""
    if not isinstance(value, str):
        raise InvalidValue(f"{name} = {shown(value)} must be a text")
    return value


def function(name: str, value: Any, what: str = "a function") -> Callable[..., Any]:
    """The value; raises unless it can be called. `what` says more, as in "a function of x"."""
    if not callable(value):
        raise InvalidValue(f"{name} = {shown(value)} must be {what}")
    return value


def instance_of(name: str, value: Any, kind: type[Kind], hint: str = "") -> Kind:
    """The value; raises unless it is of this class. `hint` ends the sentence."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        got = type(value).__qualname__
        raise InvalidValue(f"{name} must be {article} {kind.__name__}, got a {got}{hint}")
    return value


def interval(name: str, value: Any, unit: str = "") -> tuple[float, float]:
    """A pair (low, high) as floats; raises unless both are finite and low is at most high."""
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
    """The values as an array of floats, not copied if they are one; raises unless they fit.

    Args:
        name: of the argument, for the error.
        values: anything array-like; texts, truth values and complex numbers are refused.
        shape: lengths of the axes, as in `("n", 2)`; a name allows any length, and the same name
            twice the same length.
        allowed: the range of each number, which must be finite; any number, NaN too, if None.
        unit: of the numbers, for the error.
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
    """Numbers of any shape as an array of floats, not copied if they are one."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(values)} must be numbers") from None


def increasing(name: str, values: Any, unit: str = "") -> NDArray[np.float64]:
    """The values as an array (n,) of floats; raises unless each is greater than the one before."""
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
    """dt as a float; raises unless it is a finite number above 0 in this precision, in s."""
    try:
        value = _number(dt)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"dt = {shown(dt)} must be a number of seconds") from error
    with np.errstate(all="ignore"):
        rounded = np.dtype(precision).type(value)
    # The reciprocal of a smaller number is infinite.
    least = float(np.finfo(precision).tiny)
    if not (np.isfinite(rounded) and rounded >= least):
        raise InvalidValue(
            f"dt = {value} s must be finite and greater than 0 in {precision}, "
            f"at least {least:.3g} s"
        )
    return value


def steps_in(duration: Any, dt: float, name: str = "duration") -> int:
    """Number of steps of dt in a duration, both in s; raises unless it is a whole number.

    A duration is never rounded to the nearest number of steps: over many short runs the lost time
    would add up unnoticed. Only a difference that rounding of the values explains is accepted.
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
            f"{name} = {length:.12g} s is no whole number of steps of {dt:g} s: take "
            f"{few * dt:.12g} s or {(few + 1) * dt:.12g} s"
        )
    return count


def steps_of(steps: int | None, *series: Any) -> int:
    """The number of steps that `steps` and the arrays with a row per step agree on."""
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
    """Raise if `count` things of `each` numbers do not fit into the memory."""
    try:
        np.empty((count, each))
    except (MemoryError, ValueError, OverflowError) as error:
        raise no_room(name, count, 8.0 * each) from error


@contextlib.contextmanager
def making_room(name: str, count: int) -> Generator[None]:
    """A block that allocates memory for `count` things; where there is too little memory, the error
    names the count."""
    try:
        yield
    except MemoryError as error:
        raise no_room(name, count) from error


def no_room(name: str, count: int, each: float = 0.0) -> InvalidValue:
    """The error for too little memory for `count` things of `each` bytes (0 if unknown)."""
    takes = f"{count * each / 1e9:.3g} GB of memory, more than" if each else "more memory than"
    return InvalidValue(f"{name} = {shown(count)} takes {takes} there is: take less")


def _check_each(
    name: str, numbers: NDArray[np.float64], good: NDArray[np.bool_], allowed: str, unit: str
) -> None:
    if not good.all():
        place = tuple(np.argwhere(~good)[0].tolist())
        index = f"[{', '.join(map(str, place))}]" if place else ""
        raise InvalidValue(f"{_shown(f'{name}{index}', numbers[place], unit)} must be {allowed}")


def _as_float(name: str, value: Any, unit: str) -> float:
    try:
        return _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{_shown(name, value, unit)} must be a number") from error


def _number(value: Any) -> float:
    # `float` would convert truth values and texts.
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or np.ndim(value):
        raise TypeError("not a number")
    return float(value)


def _shown(name: str, value: Any, unit: str) -> str:
    # A NumPy number as its digits alone.
    text = str(value) if isinstance(value, np.generic) else shown(value)
    return f"{name} = {text}" + (f" {unit}" if unit not in ("", "1") else "")
