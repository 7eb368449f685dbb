"""Recorded runs as the arguments of `fit` and `compare` name them, read and prepared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...vehicles.registry import get as registered
from ..logs.log import Log
from ..logs.preparation import Prepared, prepare
from ..logs.reading import Source, read_log

Drives = Source | Prepared | Sequence[Source | Prepared | Sequence[Source]]
"""One run, or a sequence of runs; a run in several files is a sequence in this sequence."""
REPORTED = "out_"
"""Beginning of the names of a simulated vehicle's outputs, in a Trajectory."""


def prepare_logs(
    logs: Drives,
    names: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    *,
    dbc: str | os.PathLike[str] | None = None,
) -> tuple[Prepared, ...]:
    """Read and prepare recorded runs; those that are prepared already are returned as they are.

    Args:
        logs: one run, or a sequence of runs; a run that was recorded in several files with clocks
            of their own is a sequence in this sequence.
        names: names used here for names in the files, see `read_log`.
        without: steps of the preparation to leave out, see `prepare`.
        dbc: definition of the messages of CAN logs, see `read_log`.
    """
    several = cast("Sequence[Any]", logs if isinstance(logs, list | tuple) else [logs])
    if not several:
        raise InvalidValue("no recorded run is given; at least one is needed")
    return tuple(
        one
        if isinstance(one, Prepared)
        else prepare(reported(read_log(one, names, dbc=dbc)), without=without)
        for one in several
    )


def vehicle_named(one: Vehicle | str) -> Vehicle:
    """A vehicle, or that of a name such as `two_track:sports`."""
    if not isinstance(one, str):
        return vehicle_of(one)
    name, _, parameter_set = one.partition(":")
    factory: Any = registered(name)
    return factory(parameter_set) if parameter_set else factory()


def reported(log: Log) -> Log:
    """Log with the outputs of a simulated vehicle, such as `out_steer`, under their plain names.

    A vehicle may report other values than those of its state, such as an angle with a bias.
    """
    outputs = {
        name.removeprefix(REPORTED): channel
        for name, channel in log.channels.items()
        if name.startswith(REPORTED)
    }
    others = {n: c for n, c in log.channels.items() if not n.startswith(REPORTED)}
    return replace(log, channels={**others, **outputs}) if outputs else log
