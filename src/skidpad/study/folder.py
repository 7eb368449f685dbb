"""The folder of a campaign: its plan, its runs as Parquet, and stored trajectories.

```text
plan.json        the campaign as plain values
manifest.json    index of the files, and notes
runs/            part-<begin>-<end>.parquet: runs begin to end - 1, all columns
trajectories/    run-<number>.parquet
damaged/         files that could not be read; runs of parts count as missing
lock             the process that writes
```

One process writes at a time; any number may read meanwhile. Every file is written atomically, and
the names of the parts record which runs are finished, so a process may be killed at any moment. If
it is killed during a merge, some runs are in two files until the folder is next opened for writing.

`check_continues` compares the plan of a folder with the plan that continues it, `Keep` chooses the
runs whose trajectories are stored, `PlanText` stores the plan file in the folder, and `runs_bytes`,
`files_bytes` and `trajectory_bytes` estimate the space that a campaign needs.
"""

from __future__ import annotations

import heapq
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import log
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.arrays import AnyArray
from ..core.checks import whole
from ..core.files import brief_repr, bytes_of, counted, listed, parsed_json, shortened
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
    plain_json,
    run_of,
    trajectory_name,
)

Extends = Mapping[str, Callable[[Any], bool]]
"""For each section of a plan, a function that decides whether a change of the section is an
extension."""
_FREE = ("name", "keep")
"""Sections of a plan that do not influence any result."""
_COLUMNS = "columns"
_MOST_LISTED = 5
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{16,}")
_GROUPS = {"metrics": "metric", "programs": "the model of"}
"""For each section with digests by name, what error messages call an entry."""
_SINGLE = {
    "motion": "the motion of the vehicle",
    "program": "the model of the vehicle",
    "until": "the condition that ends a run",
    "scene": "the scene",
}
_NOTHING = object()


class PlanChanged(InvalidValue):
    """The folder has runs of another plan, as the message explains; nothing was changed."""


def columns_of(plan: Mapping[str, Any], source: str) -> tuple[Column, ...]:
    try:
        columns = tuple(Column(**column) for column in plan[_COLUMNS])
    except (KeyError, TypeError) as error:
        raise InvalidValue(f"{source}: the plan has no valid columns: {error}") from error
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
    """Raise `PlanChanged` unless all runs of the plan `before` are also runs of the plan `now`.

    Columns may be added, and their meanings reworded. Other sections must be the same, unless
    `extends` accepts the change.
    """
    changes: list[str] = []
    by_name = {column.name: column for column in columns_of(now, source)}
    for was in columns_of(before, source):
        column = by_name.get(was.name)
        if column is None:
            changes.append(f"column {was.name} is in the folder and not in the plan")
        elif (column.unit, column.kind) != (was.unit, was.kind):
            changes.append(
                f"column {was.name} is a {was.kind} in {was.unit or 'no unit'} in the folder and a "
                f"{column.kind} in {column.unit or 'no unit'} now"
            )
    for section in dict.fromkeys((*before, *now)):
        if section in _FREE or section == _COLUMNS:
            continue
        was, is_now = before.get(section, _NOTHING), now.get(section, _NOTHING)
        differences = list(_differences(section, was, is_now))
        both = was is not _NOTHING and is_now is not _NOTHING
        if differences and not (both and section in extends and extends[section](was)):
            changes += differences
    if changes:
        first = "; ".join(changes[:_MOST_LISTED])
        more = f"; and {len(changes) - _MOST_LISTED} more" if len(changes) > _MOST_LISTED else ""
        raise PlanChanged(
            f"{source} has runs of a different plan: {first}{more}. Use another folder, or "
            "restore the plan"
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
    elif before != now and (before == before or now == now):  # two NaN count as equal
        yield f"{path} is {_shown(before)} in the folder and {_shown(now)} now"


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _in_words(path: str, before: Any, now: Any, siblings: Mapping[str, Any]) -> str:
    """Describe a changed digest in a sentence; `siblings` is the mapping that contains it."""
    _, _, inner = path.partition(".")
    group, _, name = inner.partition(".")
    if path.endswith(".does"):
        kind = "function" if "function" in siblings else "class"
        what = f"the {kind} {siblings.get(kind, '')}".rstrip()
        if "method" in siblings:
            what = f"the method {siblings['method']} of {siblings.get('class', 'its class')}"
    elif name and group in _GROUPS:
        what = f"{_GROUPS[group]} {name}"
    else:
        what = _SINGLE.get(inner, path)
    if before is _NOTHING:
        return f"{what} is not in the folder"
    return (
        f"{what} is in the folder and not in the plan" if now is _NOTHING else f"{what} has changed"
    )


def _shown(value: Any) -> str:
    return "nothing" if value is _NOTHING else shortened(repr(value), 80)


PLAN = "plan.json"
FORMAT = 1
"""Version of the folder format; newer versions are not read."""
T = TypeVar("T")
_FOLDERS = (RUNS, TRAJECTORIES)


class NoCampaign(InvalidValue):
    """The folder contains something other than a campaign; nothing was changed."""


class Folder:
    """A campaign on disk or in remote storage; see `Folder.create` and `Folder.open`."""

    def __init__(self, storage: Storage, plan: dict[str, Any], lock: Lock | None) -> None:
        self.plan = plan
        """The campaign as plain values."""
        self.columns: tuple[Column, ...] = columns_of(plan, storage.shown(PLAN))
        """Columns of every run, without the run number."""
        self._storage, self._lock = storage, lock
        self._table = RunTable(storage, self.columns, lambda: self.writable)

    @classmethod
    def create(
        cls,
        where: str | os.PathLike[str],
        plan: Mapping[str, Any],
        *,
        extends: Extends | None = None,
        break_lock: bool = False,
    ) -> Folder:
        """Create a folder for a plan, or continue one, and open it for writing.

        The contents of an existing folder are verified, and damaged files are set aside.

        Args:
            where: a path, or a URL that fsspec knows.
            plan: plain values; its `columns` are the columns of every run.
            extends: by section of the plan, a function that decides whether the section continues
                that of the folder (`{"design": design.extends}`); other sections must be equal.
                Columns may be added. The plan in the folder is replaced and its notes are dropped.
            break_lock: see `open`.

        Raises:
            PlanChanged: the folder has another plan.
            CampaignInUse: another process writes to the folder.
            NoCampaign: the folder contains something other than a campaign.
        """
        storage = _writable_storage(where)
        plain_plan = parsed_json(plain_json("plan", plan), "plan")
        columns_of(plain_plan, "plan")
        entries = storage.entries()
        if PLAN not in entries:
            # An interrupted creation leaves these two kinds of files.
            others = [one for one in entries if one != LOCK and not one.startswith(f".{PLAN}-")]
            if others:
                raise NoCampaign(
                    f"{storage.path} is not a campaign (no {PLAN}), and it is not empty: it has "
                    f"{', '.join(others[:3])}{', ...' if len(others) > 3 else ''}; take another "
                    "folder"
                )
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
        """Open the campaign in a folder; `write` locks it until it is closed.

        `break_lock` takes over the lock of a remote storage whose owner died on another machine.
        """
        storage = _writable_storage(where)
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
        """Path of a local folder, otherwise the URL."""
        return self._storage.path

    @property
    def writable(self) -> bool:
        return self._lock is not None and self._lock.held

    def missing(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Ranges of runs from `begin` to `end - 1` of which not all columns exist."""
        names = [column.name for column in self.columns]
        parts = self._table.listed()
        return gaps(covering(parts, names, begin, end), begin, end)

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """Write the runs from `begin` to `end - 1`: all columns except `run`, (end - begin,) each.

        Columns of runs that exist already must be the same, bit for bit.
        """
        begin = whole("begin", begin, "not negative", least=0)
        end = whole("end", end, "larger than begin", least=begin + 1)
        self._check_writable()
        self._table.write(begin, end, columns)

    def writer(self) -> PartWriter:
        """Make a writer for other processes, valid while this one has the lock; can be pickled."""
        return PartWriter(self._storage, self.columns)

    def batches(
        self, names: Sequence[str], begin: int = 0, end: int | None = None
    ) -> Iterator[dict[str, AnyArray]]:
        """Iterate over columns (n,) of the finished runs of a range, in order, in batches of
        bounded size.

        Runs that lack one of the columns are skipped. The campaign may run meanwhile.
        """
        known = (RUN, *(column.name for column in self.columns))
        for name in names:
            if name not in known:
                raise InvalidValue(unknown_name("the campaign", name, known, "column"))
        return self._table.batches(tuple(names), begin, end)

    def read(
        self, names: Sequence[str], begin: int = 0, end: int | None = None
    ) -> dict[str, AnyArray]:
        """Columns (runs,) of the finished runs of a range, in order; runs that lack one are
        skipped."""
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
        """Digest of all columns of all runs, independent of chunks, merges and the order of the
        columns; all NaN count as the same."""
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
        """Result of `collect`, repeated if a part turns out to be damaged while it is read."""
        while True:
            try:
                return collect()
            except UnreadablePart:
                if self.writable:
                    raise

    def merge(self) -> None:
        """Merge small parts into large ones; returns quickly if there are few."""
        self._check_writable()
        self._table.merge()

    def verify(self) -> list[str]:
        """Read all runs and trajectories to find damaged files; returns `damaged()`."""
        self._table.verify()
        return self.verify_trajectories()

    def verify_trajectories(self) -> list[str]:
        """Read all trajectories to find damaged files; returns `damaged()`."""
        for name, size in self._storage.sizes(TRAJECTORIES).items():
            run = run_of(name)
            try:
                if run is not None:
                    self.trajectory(run)
            except InvalidValue as error:
                if self._storage.exists(f"{TRAJECTORIES}/{name}"):
                    reason = " ".join(str(error).split())
                    self._table.set_aside(TRAJECTORIES, name, size, reason)
        return self.damaged()

    def damaged(self) -> list[str]:
        """One sentence for each file that could not be read so far."""
        return self._table.damage()

    def note(self, name: str, value: Any) -> None:
        """Store a plain value under a name in the manifest."""
        self._check_writable()
        self._table.note(name, value)

    @property
    def notes(self) -> dict[str, Any]:
        return self._table.notes()

    def write_trajectory(self, run: int, trajectory: Trajectory) -> None:
        """Store the trajectory of a run atomically."""
        self._check_writable()
        name = trajectory_name(whole("run", run, "not negative", least=0))
        with tempfile.TemporaryDirectory(prefix="skidpad-") as folder:
            path = Path(folder) / name
            trajectory.to_parquet(path)
            self._storage.write(f"{TRAJECTORIES}/{name}", bytes_of(path))

    def trajectory(self, run: int) -> Trajectory:
        """Read the stored trajectory of a run; if there is none, the error lists the stored
        runs."""
        if run not in self.trajectories:
            kept = listed([str(number) for number in self.trajectories]) or "none"
            raise InvalidValue(f"run = {run} has no stored trajectory; stored are {kept}")
        storage, name = self._storage, f"{TRAJECTORIES}/{trajectory_name(run)}"
        if isinstance(storage.path, Path):
            return Trajectory.from_parquet(storage.path / name)
        with tempfile.TemporaryDirectory(prefix="skidpad-") as folder:
            path = Path(folder) / "run.parquet"
            path.write_bytes(storage.read(name))
            try:
                return Trajectory.from_parquet(path)
            except InvalidValue as error:
                raise InvalidValue(str(error).replace(str(path), storage.shown(name))) from error

    def remove_trajectory(self, run: int) -> None:
        self._check_writable()
        self._storage.remove(f"{TRAJECTORIES}/{trajectory_name(run)}")

    @property
    def trajectories(self) -> tuple[int, ...]:
        """Numbers of the runs with a stored trajectory, in order."""
        runs = map(run_of, self._storage.sizes(TRAJECTORIES))
        return tuple(sorted(run for run in runs if run is not None))

    def close(self) -> None:
        """Release the lock; may be called twice."""
        try:
            with suppress(NotWritten):  # the manifest can be recovered from the files
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

    def _check_writable(self) -> None:
        if not self.writable:
            raise InvalidValue(
                f"{self.path} is not open for writing here: Folder.open(..., write=True)"
            )


def _writable_storage(where: str | os.PathLike[str]) -> Storage:
    """Storage for writing; raises at once if Arrow is missing, before any run."""
    storage = storage_of(where)
    arrow_module("pyarrow.parquet")
    return storage


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
"""Bytes per value of a run: random numbers do not compress. Run numbers take as much as truth
values."""
_COLUMN_BYTES = 640
"""Overhead of a column in a file in bytes, without its texts."""
_PART_BYTES = 256
"""Bytes that a part takes in the manifest."""
_FILES_BYTES = 16_384
"""Bytes of all other files and notes, without the text of the plan."""


def runs_bytes(columns: Iterable[Column], runs: int) -> float:
    """Size of a number of runs in bytes, cut into as many parts as possible."""
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
    # Parts that wait at each level until they are merged, new parts, and row groups, whose headers
    # are as long as that of a file.
    levels = 1 + int(log(max(runs, 1), LEVEL))
    parts = min(runs, LEVEL * (levels + 1)) + runs // GROUP_ROWS
    return row * runs + parts * (head + _PART_BYTES)


def files_bytes(plan: bytes, text: str) -> float:
    """Size of plan, manifest and notes in bytes."""
    return _FILES_BYTES + 4.0 * len(plan) + 2.0 * len(text.encode())


def trajectory_bytes(run: Trajectory, identity: Mapping[str, Any]) -> float:
    """Size in bytes of the stored trajectory of a run like `run` that is not cut short.

    The number of steps is taken from the identity of the experiment, if it has one.
    """
    steps = 0
    if "steps" in identity:
        steps = int(identity["steps"])
    elif "duration" in identity and "dt" in identity:
        steps = round(identity["duration"] / identity["dt"])
    columns, samples = 1 + len(run.columns), max(len(run.t), 1 + steps)
    return columns * (NUMBER_BYTES * samples + 2.0 * _COLUMN_BYTES) + _FILES_BYTES


_CHANNEL = "campaign.keep"


@dataclass(frozen=True)
class Keep:
    """Selection of the runs whose trajectories are stored, in addition to their columns."""

    highest: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of runs with the largest values to store, by column."""
    lowest: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of runs with the smallest values to store, by column."""
    random: int = 0
    """Number of random runs to store, chosen by the seed."""
    failed: int = 0
    """Number of failed runs to store; the first ones are chosen."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for side in ("highest", "lowest"):
            for name, count in getattr(self, side).items():
                whole(f"keep.{side}[{name!r}]", count, "not negative", least=0)
        whole("keep.random", self.random, "not negative", least=0)
        whole("keep.failed", self.failed, "not negative", least=0)

    @property
    def most(self) -> int:
        """Largest number of stored trajectories."""
        return sum((*self.highest.values(), *self.lowest.values(), self.random, self.failed))

    def check(self, columns: tuple[Column, ...]) -> None:
        """Raise for an unknown column."""
        numbers = [column.name for column in columns if column.kind == "number"]
        for name in (*self.highest, *self.lowest):
            if name not in numbers:
                raise InvalidValue(unknown_name("keep", name, numbers, "column"))

    def identity(self) -> dict[str, Any]:
        """The settings as plain values."""
        return asdict(self)

    def choose(self, folder: Folder, runs: int, seed: int) -> list[int]:
        """Numbers of the runs to store, in order; reads the folder in bounded memory."""
        wanted = set(range(runs)) if self.random >= runs else set[int]()
        step = 0
        while len(wanted) < min(self.random, runs):
            shares = uniforms(seed, _CHANNEL, np.arange(step, step + self.random))[:, 0, 0]
            for share in shares.tolist():
                if len(wanted) < self.random:
                    wanted.add(int(share * runs))
            step += self.random
        extremes = [(1.0, *one) for one in self.highest.items()]
        extremes += [(-1.0, *one) for one in self.lowest.items()]
        for sign, name, count in extremes:
            best: list[tuple[float, int]] = []  # among equal values, the first runs are chosen
            for batch in folder.batches((RUN, name), 0, runs):
                values = sign * batch[name]
                known = np.flatnonzero(~np.isnan(values))
                order = known[np.argsort(-values[known], kind="stable")[:count]]
                best += [(float(values[k]), -int(batch[RUN][k])) for k in order.tolist()]
                best = heapq.nlargest(count, best)
            wanted.update(-number for _, number in best)
        failed: list[int] = []
        batches = folder.batches((RUN, FAILED), 0, runs)
        while len(failed) < self.failed and (batch := next(batches, None)) is not None:
            failed += batch[RUN][batch[FAILED]].tolist()
        return sorted(wanted.union(failed[: self.failed]))


_NOTE = "plan_file"


@dataclass(frozen=True)
class PlanText:
    """The text of a plan file, with the name and folder of the file."""

    name: str
    folder: str
    """Folder of the file, in which its modules and files are searched."""
    text: str

    def keep_in(self, folder: Folder) -> None:
        """Store the text in a folder that is open for writing."""
        folder.note(_NOTE, asdict(self))

    @classmethod
    def kept_in(cls, folder: Folder) -> PlanText | None:
        """Text stored in a folder; None if its campaign was made in Python."""
        kept = folder.notes.get(_NOTE)
        return None if kept is None else cls(**kept)
