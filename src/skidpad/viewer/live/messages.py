"""What clients may say, checked to the last field.

A message is a JSON object with a `type` and the fields of that type, no more and no less. Whatever
else arrives is an `InvalidValue` whose text goes back to the client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from math import isfinite
from typing import Annotated, Any, get_args, get_type_hints

from ...errors import InvalidValue
from ...record import unknown_name
from ...units import Allowed, m, one

MOST_BYTES = 4096
"""Of a message."""
FACTORS = Allowed(0.1, 20.0)
"""Times real time."""
RATES = Allowed(0.5, 240.0)
"""Frames a second."""
_AXIS = Allowed(-1.0, 1.0)
_PLACE = Allowed(-1e4, 1e4)
_LONGEST_NAME = 200
_SHOWN = 40


class Message:
    """Something a client says."""


@dataclass(frozen=True)
class Take(Message):
    """Take the wheel, if nobody has it."""


@dataclass(frozen=True)
class Release(Message):
    """Let the wheel go."""


@dataclass(frozen=True)
class Drive(Message):
    """How keys, stick or pedals are held now."""

    vehicle: str
    ahead: Annotated[one, _AXIS]
    """1 is full drive, -1 full brake or reverse."""
    left: Annotated[one, _AXIS]
    """1 is as far to the left as it goes."""
    handbrake: bool = False
    sent: float = 0.0
    """When, in ms of the client's clock."""


@dataclass(frozen=True)
class Choose(Message):
    """Let a controller drive a vehicle."""

    vehicle: str
    controller: str


@dataclass(frozen=True)
class Param(Message):
    """Change a parameter of a vehicle."""

    vehicle: str
    name: str
    value: float


@dataclass(frozen=True)
class Drop(Message):
    """Put an obstacle somewhere."""

    x: Annotated[m, _PLACE]
    y: Annotated[m, _PLACE]
    kind: str


@dataclass(frozen=True)
class Pause(Message):
    """Stop the clock."""


@dataclass(frozen=True)
class Resume(Message):
    """Let the clock go on."""


@dataclass(frozen=True)
class Step(Message):
    """Some steps while the clock stands."""

    count: Annotated[int, Allowed(1, 1000)] = 1


@dataclass(frozen=True)
class Reset(Message):
    """Start again."""


@dataclass(frozen=True)
class Factor(Message):
    """How fast the clock goes."""

    value: Annotated[one, FACTORS]


@dataclass(frozen=True)
class Record(Message):
    """Begin or end a recording."""

    on: bool


@dataclass(frozen=True)
class Rate(Message):
    """Frames a second for this client."""

    value: Annotated[float, RATES]


_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind
    for kind in (
        *(Take, Release, Drive, Choose, Param, Drop),
        *(Pause, Resume, Step, Reset, Factor, Record, Rate),
    )
}


def parsed(text: str | bytes) -> Message:
    """The message in a text; raises `InvalidValue` for anything else."""
    if isinstance(text, bytes):
        raise InvalidValue("a client sends texts, not bytes")
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"not JSON: {_short(text)}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise InvalidValue(f"expected an object with a type, got {_short(text)}")
    return _built(message)


def _built(message: Mapping[str, Any]) -> Message:
    name = message["type"]
    kind = _KINDS.get(name)
    if kind is None:
        raise InvalidValue(unknown_name("the protocol", name[:_SHOWN], list(_KINDS), "message"))
    known: list[Any] = list(fields(kind))  # pyright: ignore[reportArgumentType]
    names = [field.name for field in known]
    for unknown in message.keys() - {"type", *names}:
        raise InvalidValue(unknown_name(name, unknown[:_SHOWN], names))
    hints = get_type_hints(kind, include_extras=True)
    values: dict[str, Any] = {}
    for field in known:
        if field.name in message:
            values[field.name] = _checked(f"{name}.{field.name}", hints[field.name], message)
        elif field.default is MISSING:
            raise InvalidValue(f"{name} needs {field.name}")
    return kind(**values)


def _checked(label: str, hint: Any, message: Mapping[str, Any]) -> Any:
    value = message[label.partition(".")[2]]
    base, *notes = get_args(hint) or (hint,)
    if base is str:
        if not isinstance(value, str) or len(value) > _LONGEST_NAME:
            raise InvalidValue(f"{label} must be a text of at most {_LONGEST_NAME} characters")
        return value
    if base is bool:
        if not isinstance(value, bool):
            raise InvalidValue(f"{label} must be true or false, got {_short(value)}")
        return value
    return _number(label, base, value, notes)


def _number(label: str, base: type, value: Any, notes: list[Any]) -> Any:
    kind_name = "a whole number" if base is int else "a finite number"
    kinds = int if base is int else int | float
    try:
        fits = isinstance(value, kinds) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        fits = False
    if not fits:
        raise InvalidValue(f"{label} must be {kind_name}, got {_short(value)}")
    for allowed in notes:
        if isinstance(allowed, Allowed) and value not in allowed:
            raise InvalidValue(f"{label} = {value:g} must be {allowed}")
    return base(value)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return ascii(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
