"""Messages and frames between clients and a session, and the outbox between their threads.

A client's message is a JSON object with a `type` and exactly the fields of that type. Anything else
raises an `InvalidValue` whose text is returned to the client. Frames are the channel values of one
moment as bytes. docs/live.md specifies both.
"""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from math import isfinite
from threading import Lock
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ...core.record import unknown_name
from ...errors import InvalidValue
from ...units import Allowed, m, one
from ..stage import Ranges, Stage

MOST_BYTES = 4096
"""Largest size of a client's message, in bytes."""
FACTORS = Allowed(0.1, 20.0)
"""Allowed speeds, as multiples of real time."""
RATES = Allowed(0.5, 240.0)
"""Allowed frame rates, in frames per second."""
_AXIS = Allowed(-1.0, 1.0)
_PLACE = Allowed(-1e4, 1e4)
_LONGEST_NAME = 200
_SHOWN = 40


class Message:
    """Message from a client."""


@dataclass(frozen=True)
class Take(Message):
    """Take the wheel, if it is free."""


@dataclass(frozen=True)
class Release(Message):
    """Release the wheel."""


@dataclass(frozen=True)
class Drive(Message):
    """Current position of keys, stick or pedals."""

    vehicle: str
    ahead: Annotated[one, _AXIS]
    """1 is full drive, -1 full brake or reverse."""
    left: Annotated[one, _AXIS]
    """1 is full left."""
    handbrake: bool = False
    sent: float = 0.0
    """Time of sending, in ms of the client's clock."""


@dataclass(frozen=True)
class Choose(Message):
    """Switch the controller of a vehicle."""

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
    """Drop an obstacle at a point."""

    x: Annotated[m, _PLACE]
    y: Annotated[m, _PLACE]
    kind: str


@dataclass(frozen=True)
class Pause(Message):
    """Stop the clock."""


@dataclass(frozen=True)
class Resume(Message):
    """Start the clock again."""


@dataclass(frozen=True)
class Step(Message):
    """Advance a paused world by some steps."""

    count: Annotated[int, Allowed(1, 1000)] = 1


@dataclass(frozen=True)
class Reset(Message):
    """Restart the world."""


@dataclass(frozen=True)
class Factor(Message):
    """Set the speed as a multiple of real time."""

    value: Annotated[one, FACTORS]


@dataclass(frozen=True)
class Record(Message):
    """Begin or end a recording."""

    on: bool


@dataclass(frozen=True)
class Rate(Message):
    """Set the frame rate of this client."""

    value: Annotated[float, RATES]


_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind
    for kind in (
        *(Take, Release, Drive, Choose, Param, Drop),
        *(Pause, Resume, Step, Reset, Factor, Record, Rate),
    )
}


def parse(text: str | bytes) -> Message:
    """Parse a message; raises `InvalidValue` if it is malformed."""
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
            values[field.name] = _check(f"{name}.{field.name}", hints[field.name], message)
        elif field.default is MISSING:
            raise InvalidValue(f"{name} needs {field.name}")
    return kind(**values)


def _check(label: str, hint: Any, message: Mapping[str, Any]) -> Any:
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


KIND = 1
PAUSED, RECORDING, DIVERGED = 1, 2, 4
"""Bits of a frame's flags."""

_HEAD = struct.Struct("<BBH4xd")
_COUNT = struct.Struct("<H")
_SCAN = struct.Struct("<HH")


class Moment(NamedTuple):
    """Contents of a frame: the state of the world at one moment."""

    sequence: int
    flags: int
    time: float
    """Time of the world, in s."""
    row: NDArray[Any]
    """Values of the stage's channels."""
    scans: Sequence[Ranges]


class Frame:
    """A moment, encoded once for all viewers.

    Args:
        moment: with the latest scan of every lidar.
        new: numbers of the scans that the previous frame did not have.
        last: whether no further frame may follow for a while, so that all viewers must get it.
        heard: client and sending time of the latest message whose effect this frame is the first
            to show.
    """

    def __init__(
        self,
        moment: Moment,
        new: frozenset[int],
        *,
        last: bool = False,
        heard: tuple[int, float] | None = None,
    ) -> None:
        self._moment, self._new = moment, new
        self.last, self.heard = last, heard

    @cached_property
    def whole(self) -> bytes:
        """Bytes with all scans, for viewers who missed the previous frame."""
        return encode(self._moment)

    @cached_property
    def changed(self) -> bytes:
        """Bytes with new scans only."""
        kept = [one for one in self._moment.scans if one.scan in self._new]
        return encode(self._moment._replace(scans=kept))


def encode(moment: Moment) -> bytes:
    head = _HEAD.pack(KIND, moment.flags, moment.sequence & 0xFFFF, moment.time)
    parts = [head, np.asarray(moment.row, "<f4").tobytes(), _COUNT.pack(len(moment.scans))]
    for scan, ranges in moment.scans:
        parts += [_SCAN.pack(scan, len(ranges)), np.asarray(ranges, "<f4").tobytes()]
    return b"".join(parts)


def decode(data: bytes, channels: int) -> Moment:
    """Decode a frame of a stage with this number of channels."""
    try:
        kind, flags, sequence, time = _HEAD.unpack_from(data)
        at = _HEAD.size + 4 * channels
        row = np.frombuffer(data, "<f4", channels, _HEAD.size)
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        scans: list[Ranges] = []
        for _ in range(count):
            scan, size = _SCAN.unpack_from(data, at)
            at += _SCAN.size
            scans.append(Ranges(scan, np.frombuffer(data, "<f4", size, at)))
            at += 4 * size
    except (struct.error, ValueError) as error:
        raise InvalidValue(f"a frame of {len(data)} bytes is cut short: {error}") from error
    if kind != KIND or at != len(data):
        raise InvalidValue(
            f"{len(data)} bytes of kind {kind} are not a frame of {channels} channels, "
            f"which has kind {KIND} and here {at} bytes"
        )
    return Moment(sequence, flags, time, row, scans)


_MOST = 1000
"""Most queued items; the queue fills only if the network thread has stopped."""


class Said(NamedTuple):
    """Text message from the session."""

    about: str
    """Type of the message."""
    fields: dict[str, Any]
    to: int | None = None
    """Number of the viewer that the text is for; None for all viewers."""


Item = Frame | Said


class Outbox:
    """Queue of messages and frames; consecutive frames collapse to the latest, so that it never
    fills.

    The callback of `on_arrival` is called, in the thread of the session, when there is something
    to `take`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._items: deque[Item] = deque(maxlen=_MOST)
        self._wake: Callable[[], object] | None = None
        self._woken = False

    def on_arrival(self, wake: Callable[[], object] | None) -> None:
        """Set the callback for new items; it is called at once if there are any."""
        with self._lock:
            self._wake, self._woken = wake, False
        self._notify()

    def frame(self, frame: Frame) -> None:
        """Queue a frame; it replaces a frame at the end of the queue."""
        with self._lock:
            missed = self._items[-1] if self._items else None
            if isinstance(missed, Frame):
                frame.heard = frame.heard or missed.heard
                self._items.pop()
            self._items.append(frame)
        self._notify()

    def say(self, about: str, to: int | None = None, **fields: Any) -> None:
        with self._lock:
            self._items.append(Said(about, fields, to))
        self._notify()

    def say_stage(self, stage: Stage) -> None:
        """Queue a stage message, serialised here because that takes long for a large world."""
        text = json.dumps(stage.to_json(), separators=(",", ":"), allow_nan=False)
        self.say("stage", stage=text)

    def say_status(self, **fields: Any) -> None:
        """Queue a status message; `fields` default to a world in real time without recording."""
        usual: dict[str, Any] = {"paused": False, "factor": 1.0, "real_time_factor": 1.0}
        usual |= {"recording": False, "file": None, "message": ""}
        self.say("status", None, **(usual | fields))

    def take(self) -> Sequence[Item]:
        """Remove and return all items."""
        with self._lock:
            items = tuple(self._items)
            self._items.clear()
            self._woken = False
        return items

    def _notify(self) -> None:
        with self._lock:
            if self._wake is None or self._woken or not self._items:
                return
            self._woken, wake = True, self._wake
        wake()
