"""Files of loggers: MoTeC, Racelogic VBOX, MDF4, CAN and AiM.

`asammdf` reads MDF, `python-can` and `cantools` read CAN messages and decode them by a DBC, and
`libxrk` reads files of AiM's loggers; all of them come with the extra `logs`.

**MoTeC** `.ld` files are read, and written for i2. The format is not published. Its layout is known
from descriptions made by inspection of files: `ldparser` (github.com/gotzl/ldparser) and
MotecLogGenerator (github.com/stevendaniluk/MotecLogGenerator). All numbers are little-endian.

    0      header: 64, pointers to the channels, their data and the event; device; date and time
    1762   vehicle, 5078 venue, 8180 event: texts, linked from the header backwards
    11336  channels of 124 bytes, a list linked in both directions, then the data of each

A stored integer n means `(n / scale * 10**-decimals + shift) * multiplier`. Each channel has a rate
of a whole number of samples per second from the beginning of the log, without times.

**VBOX** `.vbo` files are described in Racelogic's support centre (VBO File Format). A file is text
in sections: `[header]` names the channels in full and often with a unit, `[channel units]` gives
the units of the last ones, `[column names]` names them briefly, and `[data]` has rows separated by
spaces. Time is UTC as HHMMSS.SS, latitude and longitude are in minutes of arc, and longitude is
positive to the west. Without satellites both are zero.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from math import isclose
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...core.arrays import Array
from ...core.files import (
    bytes_of,
    counted,
    first_repeated,
    open_file,
    path_of,
    reading,
    regular_file,
    replacing,
    target_of,
)
from ...errors import InvalidValue, require
from .tables import UNIX, Timed, decoded_text, increasing, intact_rows, parsed_cells
from .units import same_unit, to_si

if TYPE_CHECKING:
    from .log import Channel, Log

MDF_SUFFIXES = (".mf4", ".mdf")
CAN_SUFFIXES = (".asc", ".blf", ".log", ".trc")
AIM_SUFFIXES = (".xrk", ".xrz")


def read_mdf(path: Path) -> Timed:
    """Channels of an MDF file, version 3 or 4. A name that several groups have gets the number of
    its group."""
    asammdf = require("asammdf", purpose=f"Reading {path}")
    columns: dict[str, tuple[Array, Array, str]] = {}
    unread: dict[str, str] = {}
    with (
        reading(path, "is not a readable MDF file"),
        open_file(path) as stream,
        _opened_mdf(asammdf, stream) as file,
    ):
        for signal in file.iter_channels(skip_master=True):
            name, values = signal.name, np.asarray(signal.samples)
            if name in columns or name in unread:
                name = f"{name} ({signal.group_index})"
            if values.ndim != 1 or values.dtype.kind not in "biuf":
                unread[name] = "it holds no numbers"
                continue
            times = np.asarray(signal.timestamps, dtype=float)
            lost = np.ma.getmaskarray(signal.samples)
            numbers = np.where(lost, np.nan, values.astype(float))
            columns[name] = *increasing(times, numbers), signal.unit or ""
        start = file.start_time.timestamp()
    return Timed(columns, unread, [], start if start > UNIX[0] else None)


def _opened_mdf(asammdf: Any, stream: BinaryIO) -> Any:
    try:
        return asammdf.MDF(stream)
    except Exception as error:
        # What the package has made of a damaged file by then would fail again when it is deleted.
        for frame, _ in walk_tb(error.__traceback__):
            made: Any = frame.f_locals.get("self")
            if hasattr(made, "_closed") and hasattr(made, "_tempfile"):
                made._closed = True
                made._tempfile.close()
        raise


def read_can(path: Path, dbc: str | os.PathLike[str] | None) -> Timed:
    """Signals of the messages of a CAN log, decoded by a definition.

    A signal that several messages have is called `message.signal`. The formats are those of
    python-can: Vector `.asc` and `.blf`, `.log` of `candump -l`, PEAK `.trc`.
    """
    if dbc is None:
        raise InvalidValue(
            f"{path} holds CAN messages; a definition of their signals is needed: dbc=, --dbc"
        )
    can = require("can", purpose=f"Reading {path}")
    cantools = require("cantools", purpose=f"Reading {path}")
    definition = path_of(dbc, "dbc")
    with reading(definition, "is not a readable definition of CAN messages"):
        database = cantools.database.load_file(os.fspath(regular_file(definition)), strict=False)
    messages = {message.frame_id: message for message in getattr(database, "messages", ())}
    shared = Counter(s.name for message in messages.values() for s in message.signals)
    units = {f"{m.name}.{s.name}": s.unit or "" for m in messages.values() for s in m.signals}
    samples: dict[str, tuple[array[float], array[float]]] = {}
    unknown, damaged, total = set[int](), Counter[str](), 0
    kind = {
        ".asc": can.ASCReader,
        ".blf": can.BLFReader,
        ".log": can.CanutilsLogReader,
        ".trc": can.TRCReader,
    }[path.suffix.lower()]
    with reading(path, "is not a readable CAN log"), open_file(path) as stream:
        is_text = kind is not can.BLFReader
        for frame in kind(TextIOWrapper(stream, "latin-1") if is_text else stream):
            if frame.is_error_frame or frame.is_remote_frame:
                continue
            total += 1
            message = messages.get(frame.arbitration_id)
            if message is None:
                unknown.add(frame.arbitration_id)
                continue
            try:
                values: Any = message.decode(frame.data, decode_choices=False)
            except Exception:  # of whatever kind, for data that the definition does not fit
                damaged[message.name] += 1
                continue
            for name, value in values.items():
                full = f"{message.name}.{name}"
                t, numbers = samples.setdefault(full, (array("d"), array("d")))
                t.append(frame.timestamp)
                numbers.append(float(value))
    if not samples:
        raise InvalidValue(
            f"{path}: none of its {counted(total, 'message')} is defined in {definition}"
        )
    begin = min(t[0] for t, _ in samples.values())
    start = begin if UNIX[0] < begin < UNIX[1] else None
    columns: dict[str, tuple[Array, Array, str]] = {}
    for full, (t, numbers) in samples.items():
        name = full.partition(".")[2]
        times = np.array(t) - (begin if start is not None else 0.0)
        sorted_ = increasing(times, np.array(numbers))
        columns[name if shared[name] == 1 else full] = *sorted_, units[full]
    notes = [f"{counted(len(unknown), 'identifier')} not defined in {definition.name}: "
             + ", ".join(f"0x{one:X}" for one in sorted(unknown)[:8])
             + (", ..." if len(unknown) > 8 else "")] if unknown else []  # fmt: skip
    notes += [
        f"{name}: {counted(count, 'message')} that the definition does not fit left out"
        for name, count in damaged.items()
    ]
    return Timed(columns, {}, notes, start)


def read_aim(path: Path) -> Timed:
    """Channels of a file of AiM's loggers, `.xrk` or compressed `.xrz`."""
    libxrk = require("libxrk", purpose=f"Reading {path}")
    columns: dict[str, tuple[Array, Array, str]] = {}
    unread: dict[str, str] = {}
    with reading(path, "is not a readable AiM log"), np.errstate(all="ignore"):
        file = libxrk.aim_xrk(os.fspath(regular_file(path)))
        for name, table in file.channels.items():
            field = table.schema.field(name)
            values = table.column(name).to_numpy()
            if values.ndim != 1 or values.dtype.kind not in "biuf":
                unread[name] = "it holds no numbers"
                continue
            times = 1e-3 * table.column("timecodes").to_numpy().astype(float)
            unit = (field.metadata or {}).get(b"units", b"").decode(errors="replace")
            columns[name] = *increasing(times, values.astype(float)), unit
    if not columns:
        raise InvalidValue(f"{path} is not a readable AiM log: it has no channels")
    return Timed(columns, unread, [], None)


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
    start: float | None = None
    for form in ("%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M:%S"):
        with suppress(ValueError, OverflowError):
            start = start or datetime.strptime(date, form).replace(tzinfo=UTC).timestamp()
    return Timed(columns, unread, [], start)


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("latin-1").strip()


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
    usual = {"m/s²": "m/s/s", "rad/s²": "rad/s/s", "N·m": "Nm", "1": "ratio"}
    for k, (name, (rate, values, unit)) in enumerate(named.items()):
        spelt = next((text for si, text in usual.items() if unit and same_unit(unit, si)), unit)
        place = _CHANNELS_AT + k * _CHANNEL.size
        after = place + _CHANNEL.size if k + 1 < len(named) else 0
        before = place - _CHANNEL.size if k else 0
        _CHANNEL.pack_into(
            content, place, before, after, len(content), len(values), 0x2EE1 + k, 7, 4, rate,
            0, 1, 1, 0, _bytes(name, 32), _bytes(name, 8), _bytes(spelt, 12),
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


def _bytes(text: str, size: int) -> bytes:
    """Text in Latin-1 of at most `size` bytes, with a zero at its end."""
    return text.encode("latin-1", errors="replace")[: size - 1]


_UNITS = {"heading": "deg", "true_head": "deg", "height": "m", "velocity": "km/h",
          "slip_angle": "deg", "yaw_rate": "deg/s", "lateral acceleration": "g",
          "longitudinal acceleration": "g"}  # fmt: skip
"""Units of channels whose names do not contain them."""
_MIDNIGHT = 43200.0


def read_vbox(path: Path) -> Timed:
    """Channels of a file `.vbo`, latitude and longitude in degrees, east and north positive."""
    sections = _sections(decoded_text(path))
    if "data" not in sections or not {"header", "column names"} & sections.keys():
        raise InvalidValue(f"{path} is not a VBOX log: it lacks the sections [header] and [data]")
    rows = [(k, line.replace(",", ".").split()) for k, line in sections["data"] if line.strip()]
    short = " ".join(line for _, line in sections.get("column names", [])).split()
    full = [line.strip() for _, line in sections.get("header", []) if line.strip()]
    names = full if len(full) == len(short) or not short else short
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{path}: channel {twice!r} appears twice; names must differ")
    plain = [(short if len(short) == len(names) else names)[k].lower() for k in range(len(names))]
    if "time" not in plain:
        raise InvalidValue(f"{path} has no channel 'time'; it has {', '.join(names)}")
    units = [line.strip() for _, line in sections.get("channel units", [])]
    units = ([""] * (len(names) - len(units)) + units)[-len(names) :]
    rows, notes = intact_rows(path, rows, len(names), names)
    lines = [line for line, _ in rows]
    cells = [
        parsed_cells(tuple(row[k] for _, row in rows), "", lines, lenient=True)
        for k in range(len(names))
    ]
    clock = cells[plain.index("time")].values
    if clock is None or not np.isfinite(clock).any():
        raise InvalidValue(f"{path}: the channel 'time' is not a number in the form HHMMSS.SS")
    known = np.isfinite(clock)
    hours, minutes = clock // 10000.0, clock // 100.0 % 100.0
    t = (3600.0 * hours + 60.0 * minutes + clock % 100.0)[known]
    t += 86400.0 * np.cumsum(np.diff(t, prepend=t[:1]) < -_MIDNIGHT)
    begin = float(t[0])
    columns: dict[str, tuple[np.ndarray, np.ndarray, str]] = {}
    unread: dict[str, str] = {}
    for name, key, unit, cell in zip(names, plain, units, cells, strict=True):
        if key == "time":
            continue
        if cell.values is None:
            unread[name] = cell.problem
            continue
        values, stem = cell.values[known], name
        match = re.fullmatch(r"(.+?)[ _](kmh|km/h|knots|mph|m/s|g|deg|deg/s)", name)
        if not unit and match and to_si(match[2]):
            stem, unit = match[1], match[2]
        if key in ("lat", "latitude"):
            stem, values, unit = "latitude", values / 60.0, "deg"
        elif key in ("long", "longitude"):
            stem, values, unit = "longitude", -values / 60.0, "deg"
        elif key == "heading":
            stem = "GPS heading"  # of the velocity, clockwise from north
        unit = unit or _UNITS.get(name.lower(), _UNITS.get(key, ""))
        times, values = increasing(t - begin, values)
        columns[stem if stem not in columns else name] = times, values, unit
    if {"latitude", "longitude"} <= columns.keys():
        times, north, unit = columns["latitude"]
        east = columns["longitude"][1]
        lost = (north == 0.0) & (east == 0.0)
        if lost.any():
            columns["latitude"] = times, np.where(lost, np.nan, north), unit
            columns["longitude"] = times, np.where(lost, np.nan, east), unit
            notes.append(f"latitude, longitude: {counted(int(lost.sum()), 'sample')} of {len(lost)}"
                         " without satellites left empty")  # fmt: skip
    created = re.search(r"created on (\d\d?)/(\d\d?)/(\d{4})", sections[""][0][1]) if (
        sections.get("")
    ) else None  # fmt: skip
    return Timed(columns, unread, notes, None if created is None else _start(created, begin))


def _start(created: re.Match[str], begin: float) -> float | None:
    day, month, year = map(int, created.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp() + begin
    except ValueError:
        return None


def _sections(text: str) -> dict[str, list[tuple[int, str]]]:
    """Lines with their numbers by the name of their section; "" is what comes before the first."""
    sections: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for k, line in enumerate(text.splitlines(), start=1):
        match = re.fullmatch(r"\s*\[([^\]]+)\]\s*", line)
        if match:
            name = match[1].strip().lower()
            sections.setdefault(name, [])
        elif line.strip() or name == "channel units":
            sections.setdefault(name, []).append((k, line))
    units = sections.get("channel units", [])
    if units and not units[-1][1].strip():
        units.pop()  # the blank line between sections
    return sections
