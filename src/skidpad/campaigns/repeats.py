"""Runs of a folder done again: with the same bits, or it is said that the code has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..errors import InvalidValue
from ..trajectory.trajectory import Trajectory
from .experiment import RUN, Experiment, Means, Rows
from .folder import Folder


class Source(Protocol):
    """What a run of a folder comes from: a campaign."""

    @property
    def experiment(self) -> Experiment:
        """What a run is."""
        ...

    @property
    def factors(self) -> Mapping[str, Any]:
        """What differs between runs, by name."""
        ...

    @property
    def seed(self) -> int:
        """Of all that the runs draw."""
        ...


def rows_in(folder: Folder, source: Source, run: int) -> Rows:
    """One run as it is in a folder."""
    read = folder.read((RUN, *source.factors), run, run + 1)
    if not len(read[RUN]):
        raise InvalidValue(f"run = {run} is not in {folder.path}")
    return Rows(read[RUN], {name: read[name] for name in source.factors}, source.seed)


def repeated(folder: Folder, source: Source, run: int) -> Trajectory:
    """A run of a folder again, with all that there is of it."""
    rows = rows_in(folder, source, run)
    _check(folder, source, rows, run)
    return source.experiment.replay(rows)


def _check(folder: Folder, source: Source, rows: Rows, run: int) -> None:
    """Raise unless a run comes out again as it is in a folder, bit for bit."""
    again = source.experiment.evaluate(rows, Means())
    kept = folder.read(tuple(again), run, run + 1)
    for name, values in again.items():
        before = kept[name]
        if before.tobytes() != values.astype(before.dtype).tobytes():
            raise InvalidValue(
                f"run {run}: {name} is {before[0]} in {folder.path} and {values[0]} now: the code "
                "that it was run with was another one"
            )
