"""Logs of MoTeC, files `.ld`: read, and written for i2.

The format is not published. Its layout is known from descriptions made by inspection of files:
`ldparser` (github.com/gotzl/ldparser) and MotecLogGenerator
(github.com/stevendaniluk/MotecLogGenerator). All numbers are little-endian.

    0      header: 64, pointers to the channels, their data and the event; device; date and time
    1762   vehicle, 5078 venue, 8180 event: texts, linked from the header backwards
    11336  channels of 124 bytes, a list linked in both directions, then the data of each

A stored integer n means `(n / scale * 10**-decimals + shift) * multiplier`. Each channel has a rate
of a whole number of samples per second from the beginning of the log, without times.
"""

from __future__ import annotations

import os
import struct
from datetime import UTC, datetime
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from ...core.files import bytes_of, replacing, target_of
from ...errors import InvalidValue
from .clocks import Timed
from .units import same_unit

if TYPE_CHECKING:
    from .log import Channel, Log

_MARK = 64
_HEADER = struct.Struct("<I4xII20xI24xHHHI8sHHI4x16s16x16s16x64s64s64x64s64x1024xI66x64s126x")
_EVENT = struct.Struct("<64s64s1024sH")
_VENUE = struct.Struct("<64s1034xH")
_VEHICLE = struct.Struct("<64s128xI32s32s")
_CHANNEL = struct.Struct("<IIIIHHHHhhhh32s8s12s40x")
_VEHICLE_AT, _VENUE_AT, _EVENT_AT, _CHANNELS_AT = 1762, 5078, 8180, 11336
"""Places of the blocks in files of MoTeC's own loggers; i2 does not find them elsewhere."""
_CONSTANTS = (1, 0x4240, 0xF)
_DEVICE = (0x1F44, b"ADL", 420, 0xADB0)
"""Serial number, type, version and a constant of the logger that a written file names."""
_PRO_LOGGING = 0x0C81A4
"""Licence bits of a file of a logger with pro logging, without which i2 Pro opens no file."""
_TYPES = {
    (0x07, 4): np.dtype("<f4"),
    (0x07, 2): np.dtype("<f2"),
    **{(kind, 4): np.dtype("<i4") for kind in (0x00, 0x03, 0x05)},
    **{(kind, 2): np.dtype("<i2") for kind in (0x00, 0x03, 0x05)},
}
"""Types of samples by kind and size in bytes."""
MOST_CHANNELS = 20_000
NAMES = {
    "speed": "Ground Speed",
    "a_x": "G Force Long",
    "a_y": "G Force Lat",
    "a_z": "G Force Vert",
    "omega": "Gyro Yaw Velocity",
    "steering_wheel": "Steered Angle",
    "throttle": "Throttle Pos",
    "brake": "Brake Pos",
    "latitude": "GPS Latitude",
    "longitude": "GPS Longitude",
    "height": "GPS Altitude",
}
"""Names of channels that i2's usual worksheets look for, in `write_motec`."""


def read_motec(path: Path) -> Timed:
    """Channels of a file `.ld`. Its date has no time zone and is taken as UTC."""
    data = bytes_of(path)
    if len(data) < _HEADER.size or struct.unpack_from("<I", data)[0] != _MARK:
        raise InvalidValue(f"{path} is not a MoTeC log: it does not begin with the mark 64")
    header = _HEADER.unpack_from(data)
    place, date = header[1], f"{_text(header[12])} {_text(header[13])}"
    columns: dict[str, tuple[Array, Array, str]] = {}
    unread: dict[str, str] = {}
    seen = set[int]()
    while place:
        if place in seen or len(seen) >= MOST_CHANNELS:
            raise InvalidValue(f"{path} is damaged: the list of its channels has no end")
        if place + _CHANNEL.size - 40 > len(data):
            raise InvalidValue(
                f"{path} is damaged: channel {len(seen) + 1} begins at byte {place} of {len(data)}"
            )
        seen.add(place)
        # The last bytes of a channel's block are unknown and may be missing at the end of a file.
        block = data[place : place + _CHANNEL.size].ljust(_CHANNEL.size, b"\0")
        (_, place, begin, count, _, kind, size, rate, shift, factor, scale, decimals,
         name, short, unit) = _CHANNEL.unpack(block)  # fmt: skip
        name = _text(name) or _text(short) or f"channel {len(seen)}"
        while name in columns or name in unread:
            name += "'"
        dtype = _TYPES.get((kind, size))
        problem = (
            f"its samples are of an unknown type ({kind}, {size} bytes)" if dtype is None
            else "it has no rate" if not rate
            else "its scale is zero" if not scale
            else ""
        )  # fmt: skip
        if not problem and dtype is not None and begin + count * dtype.itemsize > len(data):
            problem = f"the file ends before its {count} samples do"
        if problem or dtype is None:
            unread[name] = problem
            continue
        raw = np.frombuffer(data, dtype, count, begin).astype(float)
        plain = (shift, factor, scale, decimals) == (0, 1, 1, 0)
        values = raw if plain else (raw / scale * 10.0**-decimals + shift) * factor
        columns[name] = np.arange(count) / rate, values, _text(unit)
    return Timed(columns, unread, [], _unix_time(date))


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("latin-1").strip()


def _unix_time(text: str) -> float | None:
    for form in ("%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except (ValueError, OverflowError):
            continue
    return None


def write_motec(
    log: Log,
    path: str | os.PathLike[str],
    *,
    driver: str = "",
    vehicle: str = "",
    venue: str = "",
    comment: str = "",
) -> Path:
    """Write a log as a file `.ld` for MoTeC i2; returns its path.

    Samples are float32. Channels whose times are even and begin at the first sample of the log keep
    their samples, to the bit of float32; others are interpolated to the next whole rate. Channels
    are called as i2's worksheets expect: `speed`, or else `v_x`, is Ground Speed. Units stay SI,
    and i2 converts them for display. The file follows the public descriptions of the format and was
    read by another program; it was not opened in i2 itself.

    Args:
        log: with at least one channel.
        path: the file to be written; a suffix `.ld` is expected by i2.
        driver: text in the details of the log, of at most 64 bytes, as are the other texts.
        vehicle: name of the vehicle.
        venue: name of the track.
        comment: short comment.
    """
    target = target_of(path)
    spans = [(one.t[0], one.t[-1]) for one in log.channels.values() if len(one.t)]
    if not spans:
        raise InvalidValue(f"log = {log.name} has no samples; a MoTeC log needs a channel")
    begin, end = min(a for a, _ in spans), max(b for _, b in spans)
    parts = {name: _samples(one, begin, end) for name, one in log.channels.items() if len(one.t)}
    names = NAMES if "speed" in parts else {**NAMES, "v_x": NAMES["speed"]}
    named = {names.get(name, name): part for name, part in parts.items()}
    date = datetime.fromtimestamp((log.start or 0.0) + begin, UTC)
    first = _CHANNELS_AT + _CHANNEL.size * len(named)
    texts = [_bytes(text, 64) for text in (driver, vehicle, venue)]
    serial, device, version, constant = _DEVICE
    header = _HEADER.pack(
        _MARK, _CHANNELS_AT, first, _EVENT_AT, *_CONSTANTS, serial, device, version, constant,
        len(named), date.strftime("%d/%m/%Y").encode(), date.strftime("%H:%M:%S").encode(),
        *texts, _PRO_LOGGING, _bytes(comment or log.name, 64),
    )  # fmt: skip
    content = bytearray(first)
    content[: len(header)] = header
    _VEHICLE.pack_into(content, _VEHICLE_AT, texts[1], 0, b"", b"")
    _VENUE.pack_into(content, _VENUE_AT, texts[2], _VEHICLE_AT)
    _EVENT.pack_into(content, _EVENT_AT, b"", b"", _bytes(comment, 1024), _VENUE_AT)
    for k, (name, (rate, values, unit)) in enumerate(named.items()):
        place = _CHANNELS_AT + k * _CHANNEL.size
        after = place + _CHANNEL.size if k + 1 < len(named) else 0
        before = place - _CHANNEL.size if k else 0
        _CHANNEL.pack_into(
            content, place, before, after, len(content), len(values), 0x2EE1 + k, 7, 4, rate,
            0, 1, 1, 0, _bytes(name, 32), _bytes(name, 8), _bytes(_ascii(unit), 12),
        )  # fmt: skip
        content += values.astype("<f4").tobytes()
    with replacing(target) as temporary:
        temporary.write_bytes(content)
    return target


def _samples(one: Channel, begin: float, end: float) -> tuple[int, Array, str]:
    """Rate, values and unit of a channel from the beginning of the log on, at a whole rate."""
    known = np.isfinite(one.values)
    t, values = one.t[known], one.values[known]
    period = float(np.median(np.diff(one.t))) if len(one.t) > 1 else 1.0
    rate = int(np.clip(round(1.0 / period), 1, 65535))
    grid = begin + np.arange(len(one.t)) / rate
    even = isclose(period * rate, 1.0, rel_tol=1e-3) and known.all()
    if even and np.abs(one.t - grid).max() < 0.01 / rate:
        return rate, one.values, one.unit
    grid = begin + np.arange(int((end - begin) * rate + 1e-6) + 1) / rate
    return rate, np.interp(grid, t, values) if t.size else np.zeros(len(grid)), one.unit


def _ascii(unit: str) -> str:
    """Unit as MoTeC spells it."""
    usual = {"m/s²": "m/s/s", "rad/s²": "rad/s/s", "N·m": "Nm", "1": "ratio"}
    return next((text for si, text in usual.items() if unit and same_unit(unit, si)), unit)


def _bytes(text: str, size: int) -> bytes:
    """Text in Latin-1 of at most `size` bytes, with a zero at its end."""
    return text.encode("latin-1", errors="replace")[: size - 1]
