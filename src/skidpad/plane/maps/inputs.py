"""Checks of what readers and queries are given; errors name the file or the argument."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ...errors import InvalidValue


def text_of(file: Path) -> str:
    """The text of a file in UTF-8; raises for one that cannot be read or is not text."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} is not a text file in UTF-8: {error}") from error


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise unless the value is one of those allowed."""
    if value not in allowed:
        raise InvalidValue(f"{name} = {value!r} is unknown; allowed are {', '.join(allowed)}")


def positive(name: str, value: Any, unit: str) -> float:
    """The value as a float; raises unless it is finite and above 0."""
    number = finite(name, value, unit)
    if not number > 0.0:
        raise InvalidValue(f"{name} = {value!r} must be finite and above 0 {unit}")
    return number


def not_negative(name: str, value: Any, unit: str) -> float:
    """The value as a float; raises unless it is finite and at least 0."""
    number = finite(name, value, unit)
    if not number >= 0.0:
        raise InvalidValue(f"{name} = {value!r} must be finite and at least 0 {unit}")
    return number


def finite(name: str, value: Any, unit: str) -> float:
    """The value as a float; raises unless it is finite."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {value!r} must be a number in {unit}") from None
    if isinstance(value, (bool, str)) or not math.isfinite(number):
        raise InvalidValue(f"{name} = {value!r} must be a finite number in {unit}")
    return number
