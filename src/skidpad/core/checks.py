"""Checks of single values that the front doors share; errors name the value and what is allowed."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Generator
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..units import Allowed
from .files import shown
from .model import Vehicle, VehicleFactory
from .policy import Policy

ROUNDING = 3e-5
"""Share of a time by which it may differ from a whole number of steps: 0.016667 s is a sixtieth."""
MOST_ROUNDING = 0.01
"""Share of a step by which it may differ, however many there are."""
MOST_STEPS = 2**53
"""Beyond that not every whole number is a float."""


def vehicle_of(vehicle: Any) -> Vehicle:
    """The vehicle; raises for anything else, such as a factory that was not called."""
    if isinstance(vehicle, Vehicle):
        return vehicle
    hint = f"; call it: {vehicle.model.name}()" if isinstance(vehicle, VehicleFactory) else ""
    raise InvalidValue(f"vehicle must be a Vehicle, got a {type(vehicle).__qualname__}{hint}")


def positive_step(dt: float, precision: str) -> float:
    """dt as a float; raises unless it is a finite number above 0 in this precision, in s."""
    try:
        value = _number(dt)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"dt = {shown(dt)} must be a number of seconds") from error
    with np.errstate(all="ignore"):
        rounded = np.dtype(precision).type(value)
    # Of smaller numbers one over them is infinite.
    least = float(np.finfo(precision).tiny)
    if not (np.isfinite(rounded) and rounded >= least):
        raise InvalidValue(
            f"dt = {value} s must be finite and greater than 0 in {precision}, "
            f"at least {least:.3g} s"
        )
    return value


def steps_in(duration: Any, dt: float, name: str = "duration") -> int:
    """How many steps of dt in s a time has; raises unless they are a whole number.

    Rounding decides what they are, never how long a run is: time that is lost in each of many short
    runs would be missed by nobody.
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


def whole(
    name: str,
    value: Any,
    allowed: str = "",
    least: int | None = 1,
    most: int | None = MOST_STEPS,
) -> int:
    """The value as an integer; raises unless it is one from `least` to `most`.

    `most` applies only together with `least`; without one of them, as of a seed, there is no limit.
    """
    number = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(value)
    if number is None:
        kind = f"a whole number, {allowed}" if allowed else "a whole number"
        raise InvalidValue(f"{name} = {shown(value)} must be {kind}")
    if least is not None and number < least:
        raise InvalidValue(f"{name} = {shown(number)} must be {allowed}")
    if least is not None and most is not None and number > most:
        raise InvalidValue(f"{name} = {shown(number)} must be at most {most}")
    return number


def check_room(name: str, count: int, each: int = 1) -> None:
    """Raise if `count` things of `each` numbers do not fit into the memory."""
    try:
        np.empty((count, each))
    except (MemoryError, ValueError, OverflowError) as error:
        raise no_room(name, count, 8.0 * each) from error


@contextlib.contextmanager
def making_room(name: str, count: int) -> Generator[None]:
    """A block that allocates memory for a count of things; if there is too little, the error names
    the count."""
    try:
        yield
    except MemoryError as error:
        raise no_room(name, count) from error


def no_room(name: str, count: int, each: float = 0.0) -> InvalidValue:
    """The error about a count of things, of `each` bytes, for which there is too little memory."""
    takes = f"{count * each / 1e9:.3g} GB of memory, more than" if each else "more memory than"
    return InvalidValue(f"{name} = {shown(count)} takes {takes} there is: take less")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise unless the value is one of those allowed."""
    if value not in allowed:
        raise InvalidValue(
            f"{name} = {shown(value)} is unknown; allowed are {', '.join(map(str, allowed))}"
        )


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


def must_be_policy(policy: Any) -> None:
    """Raise unless it is a policy."""
    if not isinstance(policy, Policy):
        raise InvalidValue(f"policy must be a Policy, got a {type(policy).__qualname__}")


def must_be(name: str, value: Any, allowed: Allowed, unit: str = "") -> float:
    """The value as a float; raises unless it is a finite number in the range."""
    number = _as_float(name, value, unit)
    if not math.isfinite(number):
        raise InvalidValue(f"{_shown(name, value, unit)} must be finite")
    if number not in allowed:
        raise InvalidValue(f"{_shown(name, value, unit)} must be {allowed}")
    return number


def finite(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is a finite number."""
    return must_be(name, value, Allowed(), unit)


def number(name: str, value: Any, unit: str = "") -> float:
    """The value as a float; raises unless it is a number, which may be infinite."""
    value = _as_float(name, value, unit)
    if math.isnan(value):
        raise InvalidValue(f"{_shown(name, value, unit)} must be a number")
    return value


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


def flag(name: str, value: Any) -> bool:
    """The value; raises unless it is True or False."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} = {shown(value)} must be True or False")
    return value


def _as_float(name: str, value: Any, unit: str) -> float:
    try:
        return _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{_shown(name, value, unit)} must be a number") from error


def _number(value: Any) -> float:
    """The value as a float. Python makes one of a truth and of a text, too; nobody means that."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or np.ndim(value):
        raise TypeError("not a number")
    return float(value)


def _shown(name: str, value: Any, unit: str) -> str:
    # A number of NumPy's as its digits alone.
    text = str(value) if isinstance(value, np.generic) else shown(value)
    return f"{name} = {text}" + (f" {unit}" if unit not in ("", "1") else "")
