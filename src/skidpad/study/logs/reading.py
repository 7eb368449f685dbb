"""Reading of logs, from the files of loggers or a Trajectory.

`read_log` brings the files of loggers to SI and to the names of skidpad:

1. the reader of the format returns channels with the names and units of the file;
2. files of one drive are joined in one time;
3. names that the caller gives are applied, then usual names of loggers;
4. units that the file declares are converted;
5. units and names that are not declared follow from physics, where they are unambiguous.

Each change is a line of `Log.notes`. A Trajectory and a recording of skidpad are in SI already and
are only renamed by the caller.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import pi
from pathlib import Path
from typing import cast

import numpy as np

from ...core.files import path_of, reading
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from ...units import s
from .bags import SUFFIXES, read_bag
from .consistency import propose_names, propose_units
from .log import Channel, Log, moved, rename, renamed
from .logger_files import (
    AIM_SUFFIXES,
    CAN_SUFFIXES,
    MDF_SUFFIXES,
    read_aim,
    read_can,
    read_mdf,
    read_motec,
    read_vbox,
)
from .tables import UNIX, Cells, Timed, channels_of, name_and_unit, read_parquet, read_text_table
from .units import COURSE, TIME, quaternions, same_quantity, to_si, unit_in_name, usual_names

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".dat")
IN_DEGREES = ("latitude", "longitude")
"""Channels in degrees; all other angles are in rad."""


Source = str | os.PathLike[str] | Trajectory | Log


def read_log(
    source: Source | Sequence[Source],
    names: Mapping[str, str] | None = None,
    *,
    dbc: str | os.PathLike[str] | None = None,
) -> Log:
    """Read a recorded run, in SI and with the names of skidpad.

    Args:
        source: a text table (`.csv`, `.tsv`, `.txt`), Parquet, MCAP or a bag of ROS 2 (its folder
            or a file of it), MoTeC `.ld`, VBOX `.vbo`, MDF4 `.mf4`, a CAN log (`.asc`, `.blf`,
            `.log`, `.trc`), AiM `.xrk` or `.xrz`, a Trajectory or a Log; or several of them that
            recorded one drive. `FILE@SECONDS` adds an offset to the times of a file, whose clock is
            another.
        names: names used here for names in the file: `{"steer_cmd": "u_steer"}`. A minus sign, as
            in `{"acc_y": "-a_y"}`, reverses the sign of the values. A channel that several files
            have is called `file.name`.
        dbc: definition of the messages of a CAN log, by `cantools` (DBC, KCD, SYM, ARXML).

    Raises:
        InvalidValue: for a file that cannot be read, and for unknown names.
    """
    several = isinstance(source, list | tuple)
    sources = cast("list[Source]", list(source) if several else [source])
    if not sources:
        raise InvalidValue("source is empty; at least one log is needed")
    given = dict(names or {})
    times = [old for old, new in given.items() if new == TIME]
    parts: list[tuple[Log, bool]] = []
    for one in sources:
        plain, offset = _with_offset(one)
        part, finished = _raw(plain, times, dbc)
        parts.append((moved(part, offset) if offset else part, finished))
    log = _joined([part for part, _ in parts])
    if all(finished for _, finished in parts):
        return renamed(log, given)
    used = {old for old in times if all(old not in part.channels for part, _ in parts)}
    # A column may be called by its whole heading, with the unit.
    given = {old if old in {**log.channels, **log.unread} else name_and_unit(old)[0]: new
             for old, new in given.items() if old not in used}  # fmt: skip
    return _standard(log, given)


def _with_offset(source: Source) -> tuple[Source, s]:
    """The source and the offset of its times, from `FILE@SECONDS` if no such file exists."""
    if isinstance(source, str | os.PathLike) and not Path(source).exists():
        match = re.fullmatch(r"(.+)@([-+]?[\d.]+(?:[eE][-+]?\d+)?)", os.fspath(source))
        if match is not None:
            try:
                return match[1], float(match[2])
            except ValueError:
                pass
    return source, 0.0


def _raw(
    source: Source, times: Sequence[str], dbc: str | os.PathLike[str] | None
) -> tuple[Log, bool]:
    """Read one source with its own names and units; also, whether they are those of skidpad."""
    if isinstance(source, Log):
        return source, True
    if isinstance(source, Trajectory):
        return Log(source.name or "trajectory", _of_run(source)), True
    path = path_of(source, "log")
    suffix = path.suffix.lower()
    if suffix == ".mcap" and path.is_file():
        from ...view.recording.reading import recorded_runs

        runs = recorded_runs(path)
        if runs is not None:
            # With one vehicle by their own names, with several the vehicle's before them.
            prefixes = {body: f"{body}." if len(runs) > 1 else "" for body in runs}
            channels = {k: v for body, run in runs.items()
                        for k, v in _of_run(run, prefixes[body]).items()}  # fmt: skip
            return Log(path.name, channels), True
    if suffix in TEXT_SUFFIXES:
        columns, notes = read_text_table(path)
        return _of_table(path.name, columns, notes, times), False
    if suffix == ".parquet":
        return _of_table(path.name, read_parquet(path), [], times), False
    if suffix in SUFFIXES or path.is_dir():
        with reading(path, "cannot be read"):
            bag = read_bag(path)
        channels = {name: Channel(*one) for name, one in bag.signals.items()}
        start = bag.start if bag.start > UNIX[0] else None
        return Log(path.name, channels, bag.unread, tuple(bag.notes), start), False
    readers: dict[tuple[str, ...], Callable[[Path], Timed]] = {
        (".ld",): read_motec,
        (".vbo",): read_vbox,
        MDF_SUFFIXES: read_mdf,
        CAN_SUFFIXES: lambda path: read_can(path, dbc),
        AIM_SUFFIXES: read_aim,
    }
    reader = next((one for suffixes, one in readers.items() if suffix in suffixes), None)
    if reader is not None:
        return _of_columns(path.name, reader(path)), False
    known = (
        *TEXT_SUFFIXES,
        ".parquet",
        *SUFFIXES,
        *(suffix for suffixes in readers for suffix in suffixes),
    )
    raise InvalidValue(f"{path}: a log must be a {', '.join(known)} file, or the folder of a bag")


def _of_run(run: Trajectory, before: str = "") -> dict[str, Channel]:
    return {before + c.name: Channel(run.t, c.values, c.unit.symbol) for c in run.columns}


def _of_table(name: str, cells: Mapping[str, Cells], notes: list[str], times: Sequence[str]) -> Log:
    """Log of a table; `times` are names that the caller calls its time."""
    given = {*times, *(name_and_unit(old)[0] for old in times)}
    own = [name for name in cells if name in given]
    renamed = rename(name, dict(cells), dict.fromkeys(own, TIME))
    timed = channels_of(name, renamed)
    return _of_columns(name, timed._replace(notes=[*notes, *timed.notes]))


def _of_columns(name: str, timed: Timed) -> Log:
    channels = {key: Channel(*one) for key, one in timed.columns.items()}
    return Log(name, channels, timed.unread, tuple(timed.notes), timed.start)


def _joined(logs: Sequence[Log]) -> Log:
    """Join logs to one with a common time; a name that several have gets the name of its log."""
    if len(logs) == 1:
        return logs[0]
    problem = _no_common_time(logs)
    if problem:
        from .clocks import on_one_clock

        matched = on_one_clock([_standard(log, {}) for log in logs])
        if matched is None:
            raise InvalidValue(
                f"{problem}. If they are of one drive, add the difference of their clocks to the "
                f"times of a file, as in {logs[-1].name}@SECONDS"
            )
        logs = [
            replace(moved(log, offset), start=None, notes=(*log.notes, *[text] * bool(text)))
            for log, (offset, text) in zip(logs, matched, strict=True)
        ]
    start = min((log.start for log in logs if log.start is not None), default=None)
    count = Counter(name for log in logs for name in {**log.channels, **log.unread})
    stems = [Path(log.name).stem for log in logs]
    if len(set(stems)) < len(stems):
        stems = [f"{stem}_{k + 1}" for k, stem in enumerate(stems)]
    channels: dict[str, Channel] = {}
    unread: dict[str, str] = {}
    notes: list[str] = []
    for stem, log in zip(stems, logs, strict=True):
        later = 0.0 if log.start is None or start is None else log.start - start
        for name, one in log.channels.items():
            full = f"{stem}.{name}" if count[name] > 1 else name
            channels[full] = one._replace(t=one.t + later) if later else one
        unread |= {f"{stem}.{k}" if count[k] > 1 else k: why for k, why in log.unread.items()}
        notes += [f"{log.name}: {note}" for note in log.notes]
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        notes.append(f"in several logs, and called `log.name`: {', '.join(twice)}")
    if start is None and not problem:
        notes.append("the times of the logs are taken to be those of one clock")
    return Log(" + ".join(log.name for log in logs), channels, unread, tuple(notes), start)


def _no_common_time(logs: Sequence[Log]) -> str:
    """Why the times of logs cannot be those of one drive; empty if they can."""
    started = [log for log in logs if log.start is not None]
    if started and len(started) < len(logs):
        other = next(log.name for log in logs if log.start is None)
        return (
            f"the times of {other} have an unknown beginning, and those of {started[0].name} are "
            "since 1970: they cannot be brought to one time"
        )
    start = min((log.start for log in logs if log.start is not None), default=0.0)
    spans: list[tuple[float, float]] = []
    for log in logs:
        later = 0.0 if log.start is None else log.start - start
        ends = [(one.t[0], one.t[-1]) for one in log.channels.values() if len(one.t)]
        spans.append((later + min((a for a, _ in ends), default=0.0),
                      later + max((b for _, b in ends), default=0.0)))  # fmt: skip
    if max(a for a, _ in spans) <= min(b for _, b in spans):
        return ""
    texts = (f"{log.name} {a:.6g} to {b:.6g} s" for log, (a, b) in zip(logs, spans, strict=True))
    return f"the logs have no time in common: {', '.join(texts)}"


def _standard(log: Log, names: Mapping[str, str]) -> Log:
    """Return a log with the names of skidpad and in SI: by the caller, by usage, and by physics."""
    notes = list(log.notes)
    log = replace(log, channels=_with_yaw(log.channels, notes))
    given = {old: new for old, new in names.items() if old in log.channels or old in log.unread}
    raw = renamed(log, given)
    original = {new.removeprefix("-"): old for old, new in given.items()}
    fixed = {new.removeprefix("-") for new in names.values()}
    stated = {k: one.unit or unit_in_name(original.get(k, k))[1] for k, one in raw.channels.items()}
    logs = [f"{Path(part).stem}." for part in log.name.split(" + ")]
    usual, doubts = usual_names(dict.fromkeys(fixed, "") | stated, logs)
    usual = {old: new for old, new in usual.items() if old not in fixed}
    # A unit at the end of a name goes, as the values are converted.
    for old, one in raw.channels.items():
        stem, unit = unit_in_name(old)
        if unit and not one.unit and not {stem, old} & {*raw.channels, *usual, *usual.values()}:
            usual[old] = stem
    channels: dict[str, Channel] = {}
    for old, one in raw.channels.items():
        name, first = usual.get(old, old), original.get(old, old)
        changed, text = _in_si(one._replace(unit=stated[old]), name)
        if (text or name != first) and not one.source:
            source = f"{first} [{stated[old]}]" if stated[old] else first
            changed = changed._replace(source=source)
        if name == COURSE != old:
            turned = (1.5 * pi - changed.values) % (2.0 * pi) - pi
            changed = changed._replace(values=turned)
            text += ", turned from clockwise from north to counterclockwise from east"
        texts = [f"the column {old!r}"] * (name != old) + [text.removeprefix(", ")] * bool(text)
        notes += [f"{name}: {', '.join(texts)}"] * bool(texts)
        channels[name] = changed
    units, reasons = propose_units(
        {name: (one.t, one.values) for name, one in channels.items()},
        {name for name, one in channels.items() if not one.unit},
    )
    channels |= {k: _in_si(channels[k]._replace(unit=unit), k)[0] for k, unit in units.items()}
    found, more = propose_names(
        {name: (one.t, one.values) for name, one in channels.items()},
        {name: one.unit for name, one in channels.items()},
        fixed,
    )
    for old, new in found.items():
        one = channels.pop(old)
        channels[new] = one._replace(source=one.source or old)
    unread = {usual.get(k, k): why for k, why in raw.unread.items()}
    known = Log(log.name, channels, unread, (*notes, *doubts, *reasons, *more), log.start)
    return renamed(known, {old: new for old, new in names.items() if old not in given})


def _with_yaw(channels: Mapping[str, Channel], notes: list[str]) -> dict[str, Channel]:
    """Channels with the yaw of each quaternion among them."""
    found = [(prefix, names) for prefix, names in quaternions(channels) if prefix[:1] != "/"]
    result = dict(channels)
    for prefix, names in found:
        x, y, z, w = (channels[name].values for name in names)
        target = "yaw" if len(found) == 1 else f"{prefix}.yaw"
        norm = x * x + y * y + z * z + w * w
        if target not in channels and np.nanmax(np.abs(norm - 1.0), initial=0.0) < 1e-2:
            yaw = np.arctan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
            result[target] = Channel(channels[names[0]].t, yaw, "rad", f"quaternion {prefix}")
            notes.append(f"{target}: of the quaternion {', '.join(names)}")
    return result


def _in_si(one: Channel, name: str) -> tuple[Channel, str]:
    """Channel in SI, and what was converted; angles on the globe in degrees."""
    conversion = to_si(one.unit)
    if conversion is None:
        return one, ""
    if name in IN_DEGREES and same_quantity(one.unit, "deg"):
        factor = conversion.factor * 180.0 / pi
        if abs(factor - 1.0) < 1e-12:
            return one._replace(unit="deg"), ""
        return one._replace(values=factor * one.values, unit="deg"), (
            f"converted from {one.unit} to deg"
        )
    changed = one._replace(values=conversion.of(one.values), unit=conversion.unit)
    if conversion.changes_nothing:
        return changed, ""
    return changed, f"converted from {one.unit} to {conversion.unit or '1'}"
