"""Short texts of objects: what they are and how much they hold, never all of it.

`__repr__ = brief_repr` in a class gives the text of its fields: those of a dataclass or a
NamedTuple that are not as usual, the public attributes of any other object. Arrays are shown by
their shape, long collections by their length, functions by their name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

__all__ = ["LONGEST", "brief_repr", "counted", "listed", "shortened", "shown"]

LONGEST = 240
"""Characters of a text."""
_LONGEST_PART = 60
"""Characters of one field in it."""
_MOST_ITEMS = 4
_MOST_DIGITS = 20
"""Digits of a whole number that are all shown."""
_DOTS = "..."


def shortened(text: str, length: int = LONGEST) -> str:
    """A text in one line; of a long one the beginning and its last character, a bracket."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 4]}{_DOTS}{line[-1]}"


def shown(value: Any) -> str:
    """A rejected value, for an error: whole numbers of many digits by their power of ten,
    other long texts by their beginning."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_MOST_DIGITS:
        exponent = int(math.log10(2.0) * (abs(value).bit_length() - 1))
        exponent += abs(value) >= 10 ** (exponent + 1)
        sign = "-" if value < 0 else ""
        exact = abs(value) == 10**exponent
        return f"{sign}10^{exponent}" if exact else f"about {sign}10^{exponent}"
    try:
        return shortened(repr(value))
    except ValueError:  # a whole number within it that Python does not print
        return f"a {type(value).__qualname__} with a number of thousands of digits"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 chunk", "2 chunks"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names; of many the first and how many there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 2])}, {_DOTS} ({len(names)})"


def brief_repr(self: Any) -> str:
    """The text of an object with its fields, cut off where it becomes long."""
    name, shown, size = type(self).__name__, list[str](), 0
    for field, value in _fields(self):
        part = f"{field}={_part(value)}"
        size += len(part) + 2
        if len(name) + size + len(_DOTS) + 2 > LONGEST:
            shown.append(_DOTS)
            break
        shown.append(part)
    return f"{name}({', '.join(shown)})"


def _fields(thing: Any) -> Iterator[tuple[str, Any]]:
    """Names and values worth telling."""
    if is_dataclass(thing):
        usual = {field.name: field.default for field in fields(thing) if field.repr}
    elif isinstance(thing, tuple):
        defaults: dict[str, Any] = getattr(thing, "_field_defaults", {})
        usual = {name: defaults.get(name, MISSING) for name in getattr(thing, "_fields", ())}
    else:
        usual = {name: MISSING for name in vars(thing) if not name.startswith("_")}
    for name, default in usual.items():
        value = getattr(thing, name, default)
        if not _same(value, default) and not _empty(value):
            yield name, value


def _same(value: Any, default: Any) -> bool:
    plain = isinstance(value, (str, int, float)) and isinstance(default, (str, int, float))
    return value is default or (plain and value == default)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, Sequence, Mapping, Set)) and not len(value))


def _part(value: Any) -> str:
    text = _text(value)
    address = " at 0x" in text
    return f"<{type(value).__name__}>" if address else shortened(text, _LONGEST_PART)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str):
        # What is cut off is not looked at: a text may be a whole file.
        return repr(value[:_LONGEST_PART])
    if isinstance(value, type) or (isinstance(value, Callable) and hasattr(value, "__qualname__")):
        return value.__qualname__.rpartition("<locals>.")[2]
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"array[{' x '.join(str(n) for n in shape)}]"
    if isinstance(value, Mapping):
        return f"<{len(value)} by name>"
    if isinstance(value, (list, tuple, Set)) and not hasattr(value, "_fields"):
        return _items(value)
    return repr(value)


def _items(values: Any) -> str:
    """Few plain ones as they are, of others the number and the kind."""
    if len(values) <= _MOST_ITEMS and all(isinstance(v, (str, int, float)) for v in values):
        return f"({', '.join(_text(v) for v in values)})"
    kind = type(next(iter(values))).__name__
    return f"<{len(values)} x {kind}>"
