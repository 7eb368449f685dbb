"""Logs in formats that other packages read: MDF4, CAN and AiM, with the extra `logs`.

`asammdf` reads MDF, `python-can` and `cantools` read CAN messages and decode them by a DBC, and
`libxrk` reads files of AiM's loggers.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from io import TextIOWrapper
from pathlib import Path
from traceback import walk_tb
from typing import Any, BinaryIO

import numpy as np

from ...core.arrays import Array
from ...core.files import counted, open_file, path_of, reading, regular_file
from ...errors import InvalidValue, require
from .clocks import UNIX, Timed, increasing

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
