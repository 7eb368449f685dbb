"""A recorded run: channels over time.

Commands are `u_` and the name of the model's input (`u_steer`), as in a Trajectory; measurements
have plain names (`v_x`, `steer`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import s

_NO_VALUE = "it has no value in any sample"


class Channel(NamedTuple):
    """One quantity over time."""

    t: Array
    """Times in s, strictly increasing."""
    values: Array
    """Values, NaN for missing samples."""
    unit: str = ""
    """SI unit of the values; empty if it is not known."""
    source: str = ""
    """Name and unit in the file, as `Ground Speed [km/h]`; empty if they are the same."""

    __repr__ = brief_repr


T = TypeVar("T")


@dataclass(frozen=True)
class Log:
    """The channels of a recorded run."""

    name: str
    """Name of the file or run, for messages and titles."""
    channels: Mapping[str, Channel]
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that could not be read, each with the reason; if also in `channels`, only in part."""
    notes: tuple[str, ...] = ()
    """What reading changed, such as units and names."""
    start: float | None = None
    """Unix time in s of t = 0; None if it is not known."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        empty = {
            k: _NO_VALUE
            for k, one in self.channels.items()
            if one.values.size and np.isnan(one.values).all()
        }
        if empty:
            channels = {k: one for k, one in self.channels.items() if k not in empty}
            object.__setattr__(self, "channels", channels)
            object.__setattr__(self, "unread", {**self.unread, **empty})

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __getitem__(self, name: str) -> Channel:
        if name not in self.channels:
            raise InvalidValue(
                f"{self.name} has no channel {name!r}. It has {', '.join(self.channels) or 'none'}"
            )
        return self.channels[name]


def renamed(log: Log, names: Mapping[str, str]) -> Log:
    """Log with channels under other names; a minus sign before a name reverses the values."""
    for old in names:
        if old in log.unread and old not in log:
            raise InvalidValue(f"{log.name}: {old} cannot be used: {log.unread[old]}")
    channels = rename(log.name, dict(log.channels), names)
    for key, one in channels.items():
        where, t = f"{log.name}, {key}", one.t
        if (bad := np.flatnonzero(~np.isfinite(t))).size:
            raise InvalidValue(
                f"{where}: the time of row {bad[0]} is {t[bad[0]]}; it must be finite"
            )
        if (back := np.flatnonzero(np.diff(t) <= 0.0)).size:
            i = int(back[0])
            raise InvalidValue(
                f"{where}: time does not increase from row {i} ({t[i]:.9g} s) to row {i + 1} "
                f"({t[i + 1]:.9g} s)"
            )
    # Of a topic, under the names of its quantities.
    partly = {
        names.get(old, old).removeprefix("-"): reason
        for topic, reason in log.unread.items()
        for old in log.channels
        if old.startswith(f"{topic}.")
    }
    return replace(log, channels=channels, unread={**log.unread, **partly})


def moved(log: Log, offset: s) -> Log:
    """Log with an offset added to the times of all channels."""
    channels = {name: one._replace(t=one.t + offset) for name, one in log.channels.items()}
    return replace(log, channels=channels)


def rename(where: str, columns: dict[str, T], names: Mapping[str, str]) -> dict[str, T]:
    """Return columns or channels under new names; others with these names are dropped.

    A minus sign before a name reverses the sign of the values.
    """
    reversed_ = {old for old, new in names.items() if new.startswith("-")}
    names = {old: new.removeprefix("-") for old, new in names.items()}
    for old in names:
        if old not in columns:
            near = difflib.get_close_matches(old, columns, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise InvalidValue(
                f"{where} has no column {old!r}{hint} It has {', '.join(columns) or 'none'}"
            )
    if len(set(names.values())) < len(names):
        twice = next(n for n in names.values() if list(names.values()).count(n) > 1)
        raise InvalidValue(f"two columns of {where} are both to be {twice!r}; give one")
    kept = {k: v for k, v in columns.items() if k not in names and k not in names.values()}
    for old, new in names.items():
        column: Any = columns[old]
        if old in reversed_ and column.values is not None:
            column = column._replace(values=-column.values)
        kept[new] = column
    return kept


def unread_notes(log: Log, names: Iterable[str]) -> list[str]:
    """Notes on the named columns whose numbers could not be read."""
    return [
        f"{name}: a part of it could not be read: {log.unread[name]}"
        if name in log
        else f"{name} is in the log and not used: {log.unread[name]}"
        for name in names
        if name in log.unread
    ]
