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

What differs between the plan of a folder and the one it is to go on with.

How many bytes a campaign takes on disk, at most: what is told, and what must be free.

Which runs are kept as whole trajectories: the worst, some at random, those that failed.

The file that a campaign was written in, kept in its folder.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import log
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.arrays import AnyArray
from ..core.checks import whole
from ..core.files import brief_repr, counted, parsed_json, shortened
from ..core.record import unknown_name
from ..errors import InvalidValue, MissingFile
from ..random.streams import uniforms
from ..run.trajectory import Trajectory
from .experiment import FAILED, RUN, Column
from .storage import LOCK, Lock, NotWritten, Storage, locked, storage_of
from .tables import (
    GROUP_ROWS,
    LEVEL,
    RUNS,
    TRAJECTORIES,
    ColumnDigest,
    PartWriter,
    RunTable,
    UnreadablePart,
    arrow_module,
    covering,
    gaps,
    kept_runs,
    plain_json,
    read_trajectory,
    remove_trajectory,
    unreadable,
    write_trajectory,
)

Extends = Mapping[str, Callable[[Any], bool]]
"""By section of a plan: whether it goes on with what the folder has there."""
_FREE = ("name", "keep")
"""Sections that no number depends on."""
_COLUMNS = "columns"
_MOST_TOLD = 5
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{16,}")
_GROUPS = {"metrics": "metric", "programs": "the model of"}
"""Sections of experiments that have digests by name, in words."""
_ALONE = {
    "motion": "the motion of the vehicle",
    "program": "the model of the vehicle",
    "until": "the condition that ends a run",
    "scene": "the scene",
}
_NOTHING = object()


class PlanChanged(InvalidValue):
    """A folder has runs of another plan; nothing was changed. The message says what differs."""


def columns_of(plan: Mapping[str, Any], source: str) -> tuple[Column, ...]:
    """The columns of a plan."""
    try:
        columns = tuple(Column(**column) for column in plan[_COLUMNS])
    except (KeyError, TypeError) as error:
        raise InvalidValue(f"{source}: the plan does not say its columns: {error}") from error
    names = [column.name for column in columns]
    for column in columns:
        if column.name == RUN or names.count(column.name) > 1:
            raise InvalidValue(f"{source}: there are two columns {column.name!r}")
        if column.kind not in ("number", "truth"):
            raise InvalidValue(
                f"{source}: column {column.name} is of kind {column.kind!r}; allowed are 'number' "
                "and 'truth'"
            )
    return columns


def check_continues(
    before: Mapping[str, Any], now: Mapping[str, Any], source: str, extends: Extends
) -> None:
    """Raise `PlanChanged` unless all runs of the plan before are runs of the one now.

    Columns may be added. Other sections must be the same, or `extends` knows better.
    """
    changes = list(_column_changes(columns_of(before, source), columns_of(now, source)))
    for section in dict.fromkeys((*before, *now)):
        if section in _FREE or section == _COLUMNS:
            continue
        was, is_now = before.get(section, _NOTHING), now.get(section, _NOTHING)
        differences = list(_differences(section, was, is_now))
        both = was is not _NOTHING and is_now is not _NOTHING
        if differences and not (both and section in extends and extends[section](was)):
            changes += differences
    if changes:
        told = "; ".join(changes[:_MOST_TOLD])
        more = f"; and {len(changes) - _MOST_TOLD} more" if len(changes) > _MOST_TOLD else ""
        raise PlanChanged(
            f"{source} has runs of another plan: {told}{more}. Take another folder, or the plan as "
            "it was"
        )


def _column_changes(before: tuple[Column, ...], now: tuple[Column, ...]) -> Iterator[str]:
    """What was must still be there; its meaning is only words."""
    by_name = {column.name: column for column in now}
    for was in before:
        column = by_name.get(was.name)
        if column is None:
            yield f"column {was.name} is in the folder and not in the plan"
        elif (column.unit, column.kind) != (was.unit, was.kind):
            yield (
                f"column {was.name} is a {was.kind} in {was.unit or 'no unit'} in the folder and a "
                f"{column.kind} in {column.unit or 'no unit'} now"
            )


def _differences(path: str, before: Any, now: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            was, is_now = before.get(name, _NOTHING), now.get(name, _NOTHING)
            if _is_digest(was) or _is_digest(is_now):
                if was != is_now:
                    yield _in_words(f"{path}.{name}", was, is_now, before)
            else:
                yield from _differences(f"{path}.{name}", was, is_now)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (was, is_now) in enumerate(zip(before, now, strict=True)):
            yield from _differences(f"{path}[{k}]", was, is_now)
    elif before != now and _is_digest(before) and _is_digest(now):
        yield f"{path} has changed"
    elif before != now and (before == before or now == now):  # two NaN are the same
        yield f"{path} is {_shown(before)} in the folder and {_shown(now)} now"


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _in_words(path: str, before: Any, now: Any, beside: Mapping[str, Any]) -> str:
    """What it means that a digest is another one; `beside` is what stands beside it."""
    _, _, inner = path.partition(".")
    group, _, name = inner.partition(".")
    if path.endswith(".does"):
        what = _code(beside)
    elif name and group in _GROUPS:
        what = f"{_GROUPS[group]} {name}"
    else:
        what = _ALONE.get(inner, path)
    if before is _NOTHING:
        return f"{what} is not in the folder"
    return (
        f"{what} is in the folder and not in the plan" if now is _NOTHING else f"{what} has changed"
    )


def _code(identity: Mapping[str, Any]) -> str:
    """The function or class that an identity is of."""
    if "method" in identity:
        return f"the method {identity['method']} of {identity.get('class', 'its class')}"
    kind = "function" if "function" in identity else "class"
    return f"the {kind} {identity.get(kind, '')}".rstrip()


def _shown(value: Any) -> str:
    return "nothing" if value is _NOTHING else shortened(repr(value), 80)


PLAN = "plan.json"
FORMAT = 1
"""Of the whole folder; newer ones are not read."""
T = TypeVar("T")
_FOLDERS = (RUNS, TRAJECTORIES)


class NoCampaign(InvalidValue):
    """A folder holds something else than a campaign; nothing was changed."""


class Folder:
    """A campaign on disk, or at any place that fsspec knows; `Folder.create`, `Folder.open`."""

    def __init__(self, storage: Storage, plan: dict[str, Any], lock: Lock | None) -> None:
        self.plan = plan
        """What is run, as plain values."""
        self.columns: tuple[Column, ...] = columns_of(plan, storage.shown(PLAN))
        """What is kept of every run, beside its number."""
        self._storage, self._lock = storage, lock
        self._table = RunTable(storage, self.columns, self._may_write)

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
        storage = _known_place(where)
        plain_plan = parsed_json(plain_json("plan", plan), "plan")
        columns_of(plain_plan, "plan")
        entries = storage.entries()
        if PLAN not in entries:
            _check_empty(storage, entries)
            storage.prepare(())
        lock = locked(storage, break_lock=break_lock)
        try:
            folder = cls._resume(storage, plain_plan, lock, extends or {})
            if PLAN in entries:
                folder.verify()
            return folder
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _resume(
        cls, storage: Storage, plan: dict[str, Any], lock: Lock, extends: Extends
    ) -> Folder:
        before = _read_plan(storage) if storage.exists(PLAN) else None
        if before is not None:
            check_continues(before, plan, str(storage.path), extends)
        storage.prepare(_FOLDERS)
        storage.sweep(("", *_FOLDERS))
        folder = cls(storage, plan, lock)
        if before != plan:
            if before is not None:
                folder._table.forget_notes()
            storage.write(PLAN, plain_json("plan", {"format": FORMAT, "plan": plan}))
        return folder

    @classmethod
    def open(
        cls, where: str | os.PathLike[str], *, write: bool = False, break_lock: bool = False
    ) -> Folder:
        """The campaign in a folder; with `write` nobody else may write until it is closed.

        `break_lock` takes a remote place from an owner that died on another machine.
        """
        storage = _known_place(where)
        if PLAN not in storage.entries():
            raise MissingFile(f"{storage.path}: there is no campaign (no {PLAN})")
        if not write:
            return cls(storage, _read_plan(storage), None)
        lock = locked(storage, break_lock=break_lock)
        try:
            return cls._resume(storage, _read_plan(storage), lock, {})
        except BaseException:
            lock.release()
            raise

    @property
    def path(self) -> Path | str:
        """The path of a local folder, the URL of any other."""
        return self._storage.path

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
        return PartWriter(self._storage, self.columns)

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
        for name, size, reason in unreadable(self._storage):
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
        write_trajectory(self._storage, whole("run", run, "not negative", least=0), trajectory)

    def trajectory(self, run: int) -> Trajectory:
        """A run that was kept as a whole."""
        return read_trajectory(self._storage, run)

    def remove_trajectory(self, run: int) -> None:
        """Keep a run no longer as a whole."""
        self._check_writable()
        remove_trajectory(self._storage, run)

    @property
    def trajectories(self) -> tuple[int, ...]:
        """Numbers of the runs that were kept as a whole."""
        return kept_runs(self._storage)

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


def _known_place(where: str | os.PathLike[str]) -> Storage:
    """The place, once it is sure that runs can be kept there: not after the first of them."""
    storage = storage_of(where)
    arrow_module("pyarrow.parquet")
    return storage


def _check_empty(storage: Storage, entries: list[str]) -> None:
    """Raise for a folder of something else; what a creation that was killed left is none."""
    others = [name for name in entries if name != LOCK and not name.startswith(f".{PLAN}-")]
    if others:
        raise NoCampaign(
            f"{storage.path} is no campaign (no {PLAN}), and it is not empty: it has "
            f"{', '.join(others[:3])}{', ...' if len(others) > 3 else ''}; take another folder"
        )


def _read_plan(storage: Storage) -> dict[str, Any]:
    source = storage.shown(PLAN)
    content = parsed_json(storage.read(PLAN), source)
    if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
        raise NoCampaign(f"{source} is not the plan of a campaign")
    if content.get("format") != FORMAT:
        raise InvalidValue(
            f"{source} has format {content.get('format')!r}; this skidpad knows {FORMAT}: a newer "
            "one wrote it"
        )
    return content["plan"]


NUMBER_BYTES, TRUTH_BYTES = 8.0, 1.0
"""Of one run: random numbers do not compress. Its number takes as much as a truth."""
_COLUMN_BYTES = 640
"""That a file takes for a column, whatever is in it, beside what the column is called."""
_PART_BYTES = 256
"""In the manifest."""
_FILES_BYTES = 16_384
"""Of the plan's own files and notes, beside its text."""


def runs_bytes(columns: Iterable[Column], runs: int) -> float:
    """Of so many runs, in the largest number of parts that they may be cut into."""
    if not runs:
        return 0.0
    known = list(columns)
    row = TRUTH_BYTES + sum(
        TRUTH_BYTES if column.kind == "truth" else NUMBER_BYTES for column in known
    )
    head = _COLUMN_BYTES + sum(
        _COLUMN_BYTES + 4 * len("".join((one.name, one.unit, one.meaning)).encode())
        for one in known
    )
    return row * runs + most_parts(runs) * (head + _PART_BYTES)


def most_parts(runs: int) -> int:
    """Files that a number of runs may be in: those that wait at each level until they are merged,
    new ones, and groups of rows, which are as long as a file's head."""
    levels = 1 + int(log(max(runs, 1), LEVEL))
    return min(runs, LEVEL * (levels + 1)) + runs // GROUP_ROWS


def files_bytes(plan: bytes, text: str) -> float:
    """Of plan, manifest and notes."""
    return _FILES_BYTES + 4.0 * len(plan) + 2.0 * len(text.encode())


def trajectory_bytes(run: Trajectory, identity: Mapping[str, Any]) -> float:
    """Of a run like this one that goes on to the end, as far as an experiment's identity tells
    how many steps that are."""
    columns = 1 + len(run.columns)
    samples = max(len(run.t), 1 + _steps(identity))
    return columns * (NUMBER_BYTES * samples + 2.0 * _COLUMN_BYTES) + _FILES_BYTES


def _steps(identity: Mapping[str, Any]) -> int:
    if "steps" in identity:
        return int(identity["steps"])
    if "duration" in identity and "dt" in identity:
        return round(identity["duration"] / identity["dt"])
    return 0


_CHANNEL = "campaign.keep"


@dataclass(frozen=True)
class Keep:
    """Runs whose trajectories are kept, beside the columns of all runs."""

    highest: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of the runs with the largest values, by column."""
    lowest: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of those with the smallest."""
    random: int = 0
    """How many of all, drawn by the seed."""
    failed: int = 0
    """How many of those that failed, the first ones."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for side in ("highest", "lowest"):
            for name, count in getattr(self, side).items():
                whole(f"keep.{side}[{name!r}]", count, "not negative", least=0)
        whole("keep.random", self.random, "not negative", least=0)
        whole("keep.failed", self.failed, "not negative", least=0)

    @property
    def most(self) -> int:
        """How many there are at most."""
        return sum((*self.highest.values(), *self.lowest.values(), self.random, self.failed))

    def check(self, columns: tuple[Column, ...]) -> None:
        """Raise for a column that there is not."""
        numbers = [column.name for column in columns if column.kind == "number"]
        for name in (*self.highest, *self.lowest):
            if name not in numbers:
                raise InvalidValue(unknown_name("keep", name, numbers, "column"))

    def identity(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "highest": dict(self.highest),
            "lowest": dict(self.lowest),
            "random": self.random,
            "failed": self.failed,
        }

    def chosen(self, folder: Folder, runs: int, seed: int) -> list[int]:
        """Numbers of the runs, in order; read from the folder in bounded memory."""
        wanted: set[int] = set(_drawn(self.random, runs, seed))
        for name, count in self.highest.items():
            wanted |= set(_extreme(folder, name, count, runs, 1.0))
        for name, count in self.lowest.items():
            wanted |= set(_extreme(folder, name, count, runs, -1.0))
        if self.failed:
            wanted |= set(_first_failed(folder, self.failed, runs))
        return sorted(wanted)


def _drawn(count: int, runs: int, seed: int) -> list[int]:
    """Different runs; the same ones in every process."""
    if count >= runs:
        return list(range(runs))
    drawn: dict[int, None] = {}
    step = 0
    while len(drawn) < count:
        shares = uniforms(seed, _CHANNEL, np.arange(step, step + count))[:, 0, 0]
        for share in shares.tolist():
            if len(drawn) < count:
                drawn[int(share * runs)] = None
        step += count
    return list(drawn)


def _extreme(folder: Folder, name: str, count: int, runs: int, sign: float) -> list[int]:
    """Runs with the largest values times the sign; of equal ones the first."""
    best: list[tuple[float, int]] = []
    for batch in folder.batches((RUN, name), 0, runs):
        values = sign * batch[name]
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(-values[known], kind="stable")[:count]]
        best += [(float(values[k]), -int(batch[RUN][k])) for k in order.tolist()]
        best = heapq.nlargest(count, best)
    return [-number for _, number in best]


def _first_failed(folder: Folder, count: int, runs: int) -> list[int]:
    failed: list[int] = []
    for batch in folder.batches((RUN, FAILED), 0, runs):
        failed += batch[RUN][batch[FAILED]].tolist()
        if len(failed) >= count:
            break
    return failed[:count]


_NOTE = "plan_file"


@dataclass(frozen=True)
class PlanText:
    """The text of a file, and where it was."""

    name: str
    """Of the file."""
    folder: str
    """Where it was: what it names is looked for there."""
    text: str

    def keep_in(self, folder: Folder) -> None:
        """Write it into a folder that is open for writing."""
        folder.note(_NOTE, asdict(self))

    @classmethod
    def kept_in(cls, folder: Folder) -> PlanText | None:
        """The text that a folder has; None where its campaign was made in Python."""
        kept = folder.notes.get(_NOTE)
        return None if kept is None else cls(**kept)
