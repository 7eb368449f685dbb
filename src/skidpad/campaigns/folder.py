"""The folder that a campaign is kept in: its plan, its runs as Parquet, chosen trajectories.

```text
plan.json        what is run
manifest.json    what is known of the files, and notes
runs/            part-<begin>-<end>.parquet: runs begin to end - 1, all columns
trajectories/    run-<number>.parquet
damaged/         files that could not be read; runs of parts count as missing
lock             who writes
```

One process writes at a time; any number may read meanwhile. Every file is whole or not there, and
the names of the parts say what is done, so a process may be killed at any moment. One that is
killed while it merges leaves runs in two files, until the folder is opened for writing again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..arrays import AnyArray
from ..brief import counted
from ..checks import whole
from ..errors import InvalidValue, MissingFile
from ..files import parsed_json
from ..record import unknown_name
from ..trajectory.trajectory import Trajectory
from .cover import covering, gaps
from .experiment import RUN, Column
from .locks import LOCK, Lock, locked
from .manifest import plain_json
from .part_files import PartWriter, arrow_module
from .parts import RUNS, ColumnDigest, UnreadablePart
from .places import NotWritten, Place, place_of
from .plan_changes import Extends, check_goes_on, columns_of
from .run_table import RunTable
from .trajectory_files import (
    TRAJECTORIES,
    kept_runs,
    read_trajectory,
    remove_trajectory,
    unreadable,
    write_trajectory,
)

PLAN = "plan.json"
FORMAT = 1
"""Of the whole folder; newer ones are not read."""
T = TypeVar("T")
_FOLDERS = (RUNS, TRAJECTORIES)


class NoCampaign(InvalidValue):
    """A folder holds something else than a campaign; nothing was changed."""


class Folder:
    """A campaign on disk, or at any place that fsspec knows; `Folder.create`, `Folder.open`."""

    def __init__(self, place: Place, plan: dict[str, Any], lock: Lock | None) -> None:
        self.plan = plan
        """What is run, as plain values."""
        self.columns: tuple[Column, ...] = columns_of(plan, place.shown(PLAN))
        """What is kept of every run, beside its number."""
        self._place, self._lock = place, lock
        self._table = RunTable(place, self.columns, self._may_write)

    @classmethod
    def create(
        cls,
        where: str | os.PathLike[str],
        plan: Mapping[str, Any],
        *,
        extends: Extends | None = None,
        break_lock: bool = False,
    ) -> Folder:
        """A folder of this plan, to write to: a new one, or one that goes on.

        Args:
            where: a path, or a URL that fsspec knows.
            plan: plain values; `columns` in it says what is kept of every run.
            extends: by section of the plan, what tells whether that section goes on with the one
                in the folder (`{"design": design.extends}`); else they must be the same. Columns
                may be added. A plan that goes on replaces the one before, whose notes are dropped.
                What the folder has is read, and what is damaged is set aside.
            break_lock: see `open`.

        Raises `PlanChanged` for a folder of another plan, `CampaignInUse` for one that somebody
        writes to, `NoCampaign` for one of something else.
        """
        place = _known_place(where)
        plain_plan = parsed_json(plain_json("plan", plan), "plan")
        columns_of(plain_plan, "plan")
        entries = place.entries()
        if PLAN not in entries:
            _check_empty(place, entries)
            place.prepare(())
        lock = locked(place, break_lock=break_lock)
        try:
            folder = cls._going_on(place, plain_plan, lock, extends or {})
            if PLAN in entries:
                folder.verify()
            return folder
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _going_on(cls, place: Place, plan: dict[str, Any], lock: Lock, extends: Extends) -> Folder:
        before = _read_plan(place) if place.exists(PLAN) else None
        if before is not None:
            check_goes_on(before, plan, str(place.path), extends)
        place.prepare(_FOLDERS)
        place.sweep(("", *_FOLDERS))
        folder = cls(place, plan, lock)
        if before != plan:
            if before is not None:
                folder._table.forget_notes()
            place.write(PLAN, plain_json("plan", {"format": FORMAT, "plan": plan}))
        return folder

    @classmethod
    def open(
        cls, where: str | os.PathLike[str], *, write: bool = False, break_lock: bool = False
    ) -> Folder:
        """The campaign in a folder; with `write` nobody else may write until it is closed.

        `break_lock` takes a remote place from an owner that died on another machine.
        """
        place = _known_place(where)
        if PLAN not in place.entries():
            raise MissingFile(f"{place.path}: there is no campaign (no {PLAN})")
        if not write:
            return cls(place, _read_plan(place), None)
        lock = locked(place, break_lock=break_lock)
        try:
            return cls._going_on(place, _read_plan(place), lock, {})
        except BaseException:
            lock.release()
            raise

    @property
    def path(self) -> Path | str:
        """The path of a local folder, the URL of any other."""
        return self._place.path

    @property
    def writable(self) -> bool:
        """Whether it was opened for writing and is not closed yet."""
        return self._lock is not None and self._lock.held

    def missing(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Ranges of runs, among these, that are not there with all columns."""
        names = [column.name for column in self.columns]
        parts = self._table.listed()
        return gaps(covering(parts, names, begin, end), begin, end)

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """Keep the runs from `begin` to `end - 1`: all columns, (end - begin,) each, without `run`.

        Where the folder has some of these runs already, columns that both have must be the same,
        bit for bit.
        """
        begin = whole("begin", begin, "not negative", least=0)
        end = whole("end", end, "larger than begin", least=begin + 1)
        self._check_writable()
        self._table.write(begin, end, columns)

    def writer(self) -> PartWriter:
        """What other processes write parts with while this folder is held here; can be pickled."""
        return PartWriter(self._place, self.columns)

    def batches(
        self, names: Sequence[str], begin: int = 0, end: int | None = None
    ) -> Iterator[dict[str, AnyArray]]:
        """Columns (n,) of all runs of a range that have them, in order, many thousand at a time.

        Memory does not depend on how many there are. The campaign may go on meanwhile.
        """
        known = (RUN, *(column.name for column in self.columns))
        for name in names:
            if name not in known:
                raise InvalidValue(unknown_name("the campaign", name, known, "column"))
        return self._table.batches(tuple(names), begin, end)

    def read(
        self, names: Sequence[str], begin: int = 0, end: int | None = None
    ) -> dict[str, AnyArray]:
        """Columns (runs,) of all runs in a range that have them, in order."""
        return self._whole(lambda: self._read(names, begin, end))

    def _read(self, names: Sequence[str], begin: int, end: int | None) -> dict[str, AnyArray]:
        truths = {column.name for column in self.columns if column.kind == "truth"}
        kinds: dict[str, Any] = {
            name: np.int64 if name == RUN else np.bool_ if name in truths else np.float64
            for name in names
        }
        pieces: dict[str, list[AnyArray]] = {name: [np.empty(0, kinds[name])] for name in names}
        for rows in self.batches(names, begin, end):
            for name in names:
                pieces[name].append(rows[name])
        return {name: np.concatenate(values) for name, values in pieces.items()}

    def digest(self) -> str:
        """Of all columns of all runs in their order: the same however they were cut, written or
        merged, and whatever the order of the columns. All NaN count as one."""
        return self._whole(self._digest)

    def _digest(self) -> str:
        names = (RUN, *(column.name for column in self.columns))
        digests = {name: ColumnDigest() for name in names}
        for rows in self.batches(names):
            for name, digest in digests.items():
                digest.add(rows[name])
        total = ColumnDigest()
        for name, digest in sorted(digests.items()):
            total.add(np.frombuffer(f"{name}={digest.text()}\n".encode(), np.uint8))
        return total.text()

    def _whole(self, collect: Callable[[], T]) -> T:
        """What is collected from runs; by one who reads once more, without it, where a part turned
        out damaged when some of it was taken already."""
        while True:
            try:
                return collect()
            except UnreadablePart:
                if self.writable:
                    raise

    def merge(self) -> None:
        """Make few large parts of many small ones, where there are so many; cheap if not."""
        self._check_writable()
        self._table.merge()

    def verify(self) -> list[str]:
        """Read everything, and tell as `damaged` does."""
        self._table.verify()
        return self.verify_trajectories()

    def verify_trajectories(self) -> list[str]:
        """The same of runs that were kept as a whole alone."""
        for name, size, reason in unreadable(self._place):
            self._table.set_aside(TRAJECTORIES, name, size, reason)
        return self.damaged()

    def damaged(self) -> list[str]:
        """Files that could not be read, up to now, in words."""
        return self._table.damage()

    def note(self, name: str, value: Any) -> None:
        """Keep a small fact, as plain values."""
        self._check_writable()
        self._table.note(name, value)

    @property
    def notes(self) -> dict[str, Any]:
        """Facts that were kept, by name."""
        return self._table.notes()

    def write_trajectory(self, run: int, trajectory: Trajectory) -> None:
        """Keep a run as a whole."""
        self._check_writable()
        write_trajectory(self._place, whole("run", run, "not negative", least=0), trajectory)

    def trajectory(self, run: int) -> Trajectory:
        """A run that was kept as a whole."""
        return read_trajectory(self._place, run)

    def remove_trajectory(self, run: int) -> None:
        """Keep a run no longer as a whole."""
        self._check_writable()
        remove_trajectory(self._place, run)

    @property
    def trajectories(self) -> tuple[int, ...]:
        """Numbers of the runs that were kept as a whole."""
        return kept_runs(self._place)

    def close(self) -> None:
        """Let others write. May be called twice."""
        try:
            with suppress(NotWritten):  # all that is new in the manifest is in the files too
                if self.writable:
                    self._table.save()
        finally:
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Folder {self.path}: {counted(len(self.columns), 'column')}>"

    def _may_write(self) -> bool:
        return self.writable

    def _check_writable(self) -> None:
        if not self.writable:
            raise InvalidValue(
                f"{self.path} is not open for writing here: Folder.open(..., write=True)"
            )


def _known_place(where: str | os.PathLike[str]) -> Place:
    """The place, once it is sure that runs can be kept there: not after the first of them."""
    place = place_of(where)
    arrow_module("pyarrow.parquet")
    return place


def _check_empty(place: Place, entries: list[str]) -> None:
    """Raise for a folder of something else; what a creation that was killed left is none."""
    others = [name for name in entries if name != LOCK and not name.startswith(f".{PLAN}-")]
    if others:
        raise NoCampaign(
            f"{place.path} is no campaign (no {PLAN}), and it is not empty: it has "
            f"{', '.join(others[:3])}{', ...' if len(others) > 3 else ''}; take another folder"
        )


def _read_plan(place: Place) -> dict[str, Any]:
    source = place.shown(PLAN)
    content = parsed_json(place.read(PLAN), source)
    if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
        raise NoCampaign(f"{source} is not the plan of a campaign")
    if content.get("format") != FORMAT:
        raise InvalidValue(
            f"{source} has format {content.get('format')!r}; this skidpad knows {FORMAT}: a newer "
            "one wrote it"
        )
    return content["plan"]
