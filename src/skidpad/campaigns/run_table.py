"""The parts of a folder, as one table: what is there, read in order, merged, set aside if damaged.

The list of parts follows the files: other processes may write parts, and one that reads sees parts
come and go while the campaign runs.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import AnyArray
from ..brief import counted
from ..errors import InvalidValue
from .cover import Segment, covering, gaps, next_group, superseded
from .experiment import RUN, Column
from .manifest import MANIFEST, Manifest, plain_json
from .part_files import PartFile, inspect_part, read_part, write_part
from .parts import RUNS, Part, UnreadablePart, checked_columns, part_name, range_of
from .places import Place
from .trajectory_files import TRAJECTORIES, run_of

DAMAGED = "damaged"
_LOOKS = 20
"""How often files are listed until nothing moves."""
_UNSAVED = 64
"""Parts that the manifest may not know yet, and that are opened for it after a crash."""


class RunsDiffer(InvalidValue):
    """Runs that were done again came out differently; nothing was changed."""


class DamagedPart(UserWarning):
    """A file of a campaign cannot be read; its runs count as missing."""


class RunTable:
    """All parts of a place.

    Args:
        place: where they are.
        columns: what every run should have.
        may_write: whether files may be changed now.
    """

    def __init__(
        self, place: Place, columns: tuple[Column, ...], may_write: Callable[[], bool]
    ) -> None:
        self._place, self._columns, self._may_write = place, columns, may_write
        self._names = tuple(column.name for column in columns)
        self._unreadable: dict[str, tuple[int, str]] = {}
        """Of files that are still in their place: sizes and reasons."""
        self._manifest = self._read_manifest()
        self._parts = dict(self._manifest.parts)
        self.listed()
        if may_write():
            self._drop(superseded(list(self._parts.values()), self._names))

    def listed(self) -> list[Part]:
        """What is there now."""
        for _ in range(_LOOKS):
            sizes = self._place.sizes(RUNS)
            self._parts = self._known(sizes)
            # A merge that went on while we looked may have hidden the parts it made and those it
            # took away, so look until nothing moves. Nobody but one who may write takes any away.
            if self._may_write() or self._place.sizes(RUNS) == sizes:
                break
        return list(self._parts.values())

    def _known(self, sizes: Mapping[str, int]) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        for name, size in sizes.items():
            if range_of(name) is None or self._unreadable.get(name, (-1, ""))[0] == size:
                continue
            part = self._parts.get(name)
            if part is None or part.size != size:
                part = self._inspected(name, size)
            if part is not None:
                parts[name] = part
        return parts

    def _inspected(self, name: str, size: int) -> Part | None:
        try:
            return inspect_part(self._place, name)
        except UnreadablePart as error:
            if not _is_gone(error):  # merged while we looked
                self.set_aside(RUNS, name, size, str(error))
            return None

    def batches(
        self, names: tuple[str, ...], begin: int, end: int | None
    ) -> Iterator[dict[str, AnyArray]]:
        """Columns of runs, in order.

        One who reads goes on without a part that turns out damaged, unless some of it was given
        away already; one who writes must have its runs done again first.
        """
        wanted = [name for name in names if name != RUN]
        self.listed()
        while True:
            segments = covering(self._parts.values(), wanted, begin, end)
            for segment in segments:
                try:
                    for rows in self._read(segment, wanted):
                        begin = int(rows[RUN][-1]) + 1
                        yield {name: rows[name] for name in names}
                except _Changed:
                    break
                except UnreadablePart:
                    if self._may_write() or begin > segment.begin:
                        raise
                    break
            else:
                return

    def _read(self, segment: Segment, names: Sequence[str]) -> Iterator[dict[str, AnyArray]]:
        """Rows of a part; `_Changed` where somebody has replaced or merged it meanwhile."""
        begin, end, part = segment
        try:
            yield from read_part(self._place, part, names, begin, end)
        except UnreadablePart as error:
            name = part_name(part.begin, part.end)
            self._parts.pop(name, None)
            if not self._may_write() and self._is_another(part):
                self.listed()
                raise _Changed from error
            if not _is_gone(error):
                self.set_aside(RUNS, name, part.size, str(error))
            raise UnreadablePart(
                f"{error}. Its runs count as missing: run the campaign again to have them done"
            ) from error

    def _is_another(self, part: Part) -> bool:
        """Whether there is a whole part of this name that is not this one, or none at all."""
        try:
            return inspect_part(self._place, part_name(part.begin, part.end)) != part
        except UnreadablePart as error:
            return _is_gone(error)

    def write(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """Keep a part."""
        values = checked_columns(self._columns, columns, end - begin)
        self._check_same(begin, end, values)
        name = part_name(begin, end)
        if name in self._manifest.parts:
            # What it says of the file must not outlive the file.
            del self._manifest.parts[name]
            self._write_manifest()
        self._parts[name] = write_part(self._place, begin, end, self._columns, values)
        self._unreadable.pop(name, None)
        if len(self._parts.keys() - self._manifest.parts.keys()) >= _UNSAVED:
            self.save()

    def _check_same(self, begin: int, end: int, values: Mapping[str, AnyArray]) -> None:
        """Raise where runs that are there already have other numbers."""
        overlapping = [p for p in self._parts.values() if p.begin < end and p.end > begin]
        for part in overlapping:
            shared = [name for name in self._names if name in part.columns]
            low, high = max(begin, part.begin), min(end, part.end)
            try:
                for rows in self._read(Segment(low, high, part), shared):
                    self._compare(rows, values, shared, begin)
            except UnreadablePart:
                continue  # there is nothing to compare with any more

    def _compare(
        self,
        rows: Mapping[str, AnyArray],
        values: Mapping[str, AnyArray],
        names: Sequence[str],
        begin: int,
    ) -> None:
        runs = rows[RUN]
        for name in names:
            before, now = rows[name], values[name][runs[0] - begin : runs[-1] + 1 - begin]
            different = np.flatnonzero(_bits(before) != _bits(now))
            if len(different):
                k = int(different[0])
                raise RunsDiffer(
                    f"{self._place.path}: run {runs[k]} has {name} = {before[k]!r} in the folder "
                    f"and {now[k]!r} now: what is run has changed, or depends on more than a run's "
                    "number, factors and seed"
                )

    def merge(self) -> None:
        """Make large parts of small ones, and take away what is needed no more."""
        self._drop(superseded(self.listed(), self._names))
        while group := next_group(covering(self._parts.values(), self._names, 0, None)):
            self._merge(group)
        self.save()

    def _merge(self, group: Sequence[Segment]) -> None:
        begin, end = group[0].begin, group[-1].end
        name, pieces = part_name(begin, end), sum(segment.part.pieces for segment in group)
        with self._place.writing(f"{RUNS}/{name}") as file:
            writer = PartFile(file, begin, end, self._columns, pieces)
            with writer:
                for segment in group:
                    for rows in self._read(segment, self._names):
                        writer.add(rows)
        self._parts[name] = writer.part
        self._drop(superseded(list(self._parts.values()), self._names))

    def _drop(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self._place.remove(part.file)
            self._parts.pop(part_name(part.begin, part.end), None)

    def verify(self) -> None:
        """Read all that is there; what cannot be is remembered or set aside."""
        for part in self.listed():
            try:
                for _ in self._read(Segment(part.begin, part.end, part), sorted(part.columns)):
                    pass
            except (_Changed, UnreadablePart):
                continue

    def damage(self) -> list[str]:
        """What could not be read, in words."""
        aside = self._place.sizes(DAMAGED)
        reasons = {name: reason for name, (_, reason) in self._unreadable.items()}
        known = self._manifest.damaged if self._may_write() else self._read_manifest().damaged
        reasons |= {name: known.get(name, f"{name} is damaged") for name in aside}
        parts = self.listed()
        return [f"{reason}{self._fate(name, parts)}" for name, reason in sorted(reasons.items())]

    def _fate(self, name: str, parts: Iterable[Part]) -> str:
        runs = range_of(name)
        if runs is None:
            return self._fate_of_trajectory(name) if run_of(name) is not None else ""
        lost = gaps(covering(parts, self._names, *runs), *runs)
        count = sum(end - begin for begin, end in lost)
        if not count:
            return "; its runs have been done again"
        return f"; {counted(count, 'run')} of it {'counts' if count == 1 else 'count'} as missing"

    def _fate_of_trajectory(self, name: str) -> str:
        there = name not in self._unreadable and self._place.exists(f"{TRAJECTORIES}/{name}")
        return "; it has been made again" if there else "; the next run makes it again"

    def set_aside(self, folder: str, name: str, size: int, reason: str) -> None:
        """Take a damaged file of so many bytes out of the way, or at least out of mind."""
        if self._may_write():
            self._place.move(f"{folder}/{name}", f"{DAMAGED}/{name}")
            self._manifest.damaged[name] = reason
            self.save()
        else:
            self._unreadable[name] = size, reason
        others = [part for other, part in self._parts.items() if other != name]
        warnings.warn(f"{reason}{self._fate(name, others)}", DamagedPart, stacklevel=2)

    def note(self, name: str, value: Any) -> None:
        """Keep a fact."""
        before = dict(self._manifest.notes)
        self._manifest.notes[name] = json.loads(plain_json(f"note {name!r}", value))
        try:
            self.save()
        except BaseException:
            self._manifest.notes = before
            raise

    def notes(self) -> dict[str, Any]:
        """Facts that were kept; of a folder that somebody else writes, as they are now."""
        return dict(self._manifest.notes if self._may_write() else self._read_manifest().notes)

    def forget_notes(self) -> None:
        """Drop all facts: they were about another plan."""
        self._manifest.notes.clear()
        self._write_manifest()

    def save(self) -> None:
        """Let the manifest know all parts."""
        self._manifest.parts = dict(self._parts)
        self._write_manifest()

    def _write_manifest(self) -> None:
        data = self._manifest.to_bytes()
        self._place.write(MANIFEST, data)

    def _read_manifest(self) -> Manifest:
        """What is known; one that is damaged is put aside, as all but notes is in the files."""
        if not self._place.exists(MANIFEST):
            return Manifest()
        source = self._place.shown(MANIFEST)
        try:
            return Manifest.from_bytes(self._place.read(MANIFEST), source)
        except InvalidValue:
            raise
        except (ValueError, KeyError, TypeError, IndexError) as error:
            reason = (
                f"{source} is damaged: {error}; all but its notes is made again by the next run"
            )
            if MANIFEST not in self._unreadable:
                warnings.warn(reason, DamagedPart, stacklevel=2)
            if not self._may_write():
                self._unreadable[MANIFEST] = -1, reason
                return Manifest()
            self._place.move(MANIFEST, f"{DAMAGED}/{MANIFEST}")
            return Manifest(damaged={MANIFEST: reason})


class _Changed(Exception):
    """A part was replaced or merged by another process while it was to be read."""


def _is_gone(error: UnreadablePart) -> bool:
    return isinstance(error.__cause__, FileNotFoundError)


def _bits(values: AnyArray) -> AnyArray:
    """Numbers so that equal ones have equal bits, and all NaN are equal."""
    if values.dtype == np.bool_:
        return values
    return np.where(np.isnan(values), np.nan, values).view(np.int64)
