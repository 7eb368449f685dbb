"""A campaign: what is run, what differs between runs, how they are chosen and what is kept.

How runs are cut into chunks: some seconds of work each, whatever a run takes.

Brings a campaign about: round by round, chunk by chunk, into its folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, time
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.checks import positive, whole
from ..core.files import brief_repr, counted
from ..core.progress import Choice, Progress, watching
from ..core.record import unknown_name
from ..core.threads import cores
from ..errors import InvalidValue
from ..random.factors import Factor, factor_of
from .design_forms import design_of
from .designs import Design, Round
from .engines import Chunk, Engine, Finished, engine_of
from .experiment import FAILED, FAILURES, RUN, Column, Experiment, Resources, Rows
from .folder import Folder, Keep, PlanText, files_bytes, runs_bytes, trajectory_bytes
from .rare_events import SubsetSimulation
from .results import Study, rows_in
from .tables import plain_json

FIRST = 256
"""Runs of the first chunk, from which the time of the others is told."""
FIRST_ALONE = 4
"""The same of an experiment that does one run after the other, which may take seconds each."""
MOST = 1 << 16
"""Runs of the largest chunk: what a file of some megabytes holds."""
_GROWTH = 4.0
"""How many times as large as the one before a chunk may be."""


class ChunkSize:
    """The number of runs that take about `seconds`; learned from chunks that are done."""

    def __init__(self, seconds: float, block: int, first: int = FIRST) -> None:
        self._seconds, self._block = seconds, block
        self.runs = self._rounded(first)

    def learn(self, runs: int, seconds: float) -> None:
        """Take note of how long a chunk took."""
        wanted = runs * self._seconds / max(seconds, 1e-9)
        self.runs = self._rounded(min(wanted, _GROWTH * self.runs, MOST))

    def _rounded(self, runs: float) -> int:
        return max(1, int(runs) // self._block) * self._block


def cut(
    ranges: Iterable[tuple[int, int]], size: ChunkSize, block: int
) -> Iterator[tuple[int, int]]:
    """The ranges in pieces of the size that is right when each is asked for, cut at multiples of
    the block where they can be."""
    for begin, end in ranges:
        while begin < end:
            stop = begin + size.runs
            stop -= stop % block
            stop = min(end, stop if stop > begin else begin - begin % block + block)
            yield begin, stop
            begin = stop


_PARTS_TO_MERGE = 64
"""Parts that are written before small ones are merged again."""


def rows_of(
    factors: Mapping[str, Factor], asked: Round, first: int, begin: int, end: int, seed: int
) -> Rows:
    """Runs of a round that begins with run `first`, with what their factors are."""
    runs = np.arange(begin, end, dtype=np.int64)
    points = asked.points(runs - first)
    columns = {name: factor.value(points[:, k]) for k, (name, factor) in enumerate(factors.items())}
    return Rows(runs, columns, seed)


class Scheduler:
    """Does what is missing of a campaign.

    Args:
        experiment, factors, design, seed: of the campaign.
        folder: where the runs go, opened for writing.
        engine: who does them.
        seconds: time that a chunk should take.
    """

    def __init__(
        self,
        experiment: Experiment,
        factors: Mapping[str, Factor],
        design: Design,
        seed: int,
        folder: Folder,
        engine: Engine,
        seconds: float,
    ) -> None:
        self._experiment, self._factors, self._design = experiment, factors, design
        self._seed, self._folder, self._engine = seed, folder, engine
        first = FIRST if experiment.threaded else FIRST_ALONE
        self._size = ChunkSize(seconds, experiment.block, first)
        self._written = 0
        self.done = 0
        """Runs that are in the folder."""

    def conduct(self, watch: Progress) -> tuple[int, Mapping[str, Any]]:
        """All rounds; how many runs there are now, and what the design found."""
        choosing = self._design.rounds(len(self._factors), self._seed)
        first = 0
        try:
            asked = next(choosing)
            while True:
                self._do(asked, first, watch)
                end = first + asked.size
                read = self._folder.read(asked.reads, first, end) if asked.reads else {}
                first = end
                asked = choosing.send(read)
        except StopIteration as end:
            self._folder.merge()
            return first, end.value or {}

    def _do(self, asked: Round, first: int, watch: Progress) -> None:
        missing = self._folder.missing(first, first + asked.size)
        there = asked.size - sum(end - begin for begin, end in missing)
        self.done += there
        watch.resume(there)
        chunks = self._chunks(missing, asked, first)
        under_way = 0
        while True:
            while under_way < self._engine.slots and (chunk := next(chunks, None)) is not None:
                self._engine.submit(chunk)
                under_way += 1
            if not under_way:
                return
            self._take(self._engine.finished(), watch)
            under_way -= 1

    def _chunks(self, missing: list[tuple[int, int]], asked: Round, first: int) -> Iterator[Chunk]:
        for begin, end in cut(missing, self._size, self._experiment.block):
            yield Chunk(begin, end, rows_of(self._factors, asked, first, begin, end, self._seed))

    def _take(self, done: Finished, watch: Progress) -> None:
        begin, end, rows = done.chunk
        if done.columns is not None:
            columns: dict[str, AnyArray] = {**rows.factors, **done.columns}
            self._folder.write_part(begin, end, columns)
        self._size.learn(end - begin, done.seconds)
        self._written += 1
        if self._written % _PARTS_TO_MERGE == 0:
            self._folder.merge()
        self.done += end - begin
        watch.advance(end - begin)


CHUNK_SECONDS = 4.0
"""Time that a chunk takes, about: what a stop may lose."""
_LOOK = 1.0
"""Time in s that runs take from which the time of all is told."""
_SOON = 10.0
"""Time in s below which it is the start that counts: imports, kernels, processes."""
_LONG_RUN = 1e9
"""Bytes that no trajectory has: where so many are free for each, no run is looked at."""
_TRIED = 8
"""Runs that are replayed until one can be, to see how long it is."""


class Estimate(NamedTuple):
    """What a campaign will take, told from its first runs."""

    runs: int
    """At most."""
    seconds: float
    """On all processors of this machine, without the start: imports, kernels, processes."""
    bytes: int
    """On disk at most, with trajectories that are kept; of runs that differ in length, as if they
    were as long as the first."""
    may_end: bool = False
    """Whether its design may need fewer runs."""

    def __str__(self) -> str:
        hours, rest = divmod(round(self.seconds), 3600)
        time = f"about {hours} h {rest // 60} min" if hours else f"about {self.seconds:.3g} s"
        if self.seconds < _SOON:
            time = "some seconds with its start"
        runs = f"{'at most ' if self.may_end else ''}{counted(self.runs, 'run')}"
        return f"{runs}, {time}, at most {self.bytes / 1e6:.3g} MB"


@dataclass(frozen=True, kw_only=True, eq=False)
class Campaign:
    """Many runs, chosen by a design, done by any engine, kept in a folder.

    What is in the folder at the end depends on the campaign alone: not on the engine, the number of
    workers, how runs were cut into chunks, or how often it was stopped and resumed.
    """

    experiment: Experiment
    """What a run is."""
    factors: Mapping[str, Factor | Any] = field(default_factory=dict[str, Any])
    """What differs between runs, by name; plain forms as in a file: `{"range": [0, 1]}`."""
    design: Design | Any
    """How runs are chosen; plain forms as in a file: `"grid"`, `{"sobol": 4096}`."""
    seed: int = 0
    """Of the design and of all that the runs draw."""
    keep: Keep = field(default_factory=Keep)
    """Which runs are kept as trajectories."""
    name: str = "campaign"
    """In progress and reports."""
    text: PlanText | None = field(default=None, repr=False)
    """The file that it was written in, which is kept in the folder."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        factors = {name: factor_of(name, form) for name, form in self.factors.items()}
        object.__setattr__(self, "factors", factors)
        design: Any = self.design
        if isinstance(design, (str, Mapping)):
            object.__setattr__(self, "design", design_of(design, factors))
        whole("seed", self.seed, "not negative", least=0, most=None)
        self._check_names()
        self.design.rounds(len(factors), self.seed).close()  # raises where they do not fit
        self.experiment.check({name: (one.low, one.high) for name, one in factors.items()})

    @property
    def runs(self) -> int:
        """How many there are at most."""
        return self.design.runs

    def columns(self) -> tuple[Column, ...]:
        """All that is kept of a run, in order."""
        units = self.experiment.factor_units()
        factors = [Column(name, units[name], "factor") for name in self.factors]
        failed = Column(FAILED, "", "whether the run failed", "truth")
        return (*factors, *self.experiment.columns(), failed)

    def plan(self) -> dict[str, Any]:
        """The campaign as plain values, which its folder is known by."""
        return {
            "name": self.name,
            "experiment": self.experiment.identity(),
            "factors": {name: factor.identity() for name, factor in self.factors.items()},
            "design": self.design.identity(),
            "seed": self.seed,
            "keep": self.keep.identity(),
            "columns": [column._asdict() for column in self.columns()],
        }

    def estimate(self, resources: Resources | None = None) -> Estimate:
        """What the campaign will take, from some first runs, which are not kept."""
        choosing = self.design.rounds(len(self.factors), self.seed)
        asked = next(choosing)
        choosing.close()
        most = min(FIRST, asked.size)
        rows = rows_of(self.factors, asked, 0, 0, most, self.seed)
        self.experiment.evaluate(rows.part(slice(0, 1)), resources or Resources())  # compiles
        count, took = 1, 0.0
        while True:  # more of them where they are fast: many at once take less time each
            begin = perf_counter()
            self.experiment.evaluate(rows.part(slice(0, count)), resources or Resources())
            took = perf_counter() - begin
            if took > _LOOK or count == most:
                break
            count = min(4 * count, most)
        processes = 1 if self.experiment.threaded else cores()
        seconds = took * self.runs / count / processes
        size = self._bytes(self.runs, trajectories=True)
        return Estimate(self.runs, seconds, int(size), bool(self.design.reads()))

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        engine: str | Engine = "local",
        workers: int | None = None,
        chunk_seconds: float = CHUNK_SECONDS,
        progress: Choice = None,
    ) -> Study:
        """Do all runs that the folder does not have yet, and keep them there.

        Args:
            folder: a path, or a URL that fsspec knows. One that holds a part of this campaign is
                gone on with; one of another campaign is refused.
            engine: "local" (threads or processes of this machine), "cuda", "ray", or an `Engine`.
            workers: processes of the engine; as it sees fit if None.
            chunk_seconds: time that a chunk should take: a stop loses what is under way.
            progress: as in `Fleet.rollout`, in runs.

        Stopped by Ctrl-C it raises `KeyboardInterrupt`; call it again to go on.
        """
        positive("chunk_seconds", chunk_seconds, "s")
        who = engine_of(engine, self.experiment, workers)
        extends = {"design": self.design.extends, "experiment": self.experiment.extends}
        with closing(Folder.create(folder, self.plan(), extends=extends)) as place, closing(who):
            self._check_room(place)
            self._note_start(place, who)
            who.start(self.experiment, place.writer())
            scheduler = Scheduler(
                self.experiment, self.factors, self.design, self.seed, place, who, chunk_seconds
            )
            begin, before = perf_counter(), float(place.notes.get("seconds", 0.0))
            try:
                with watching(self.runs, "runs", self.name, progress) as watch:
                    count, outcome = scheduler.conduct(watch)
                self._keep_trajectories(place, count)
            except KeyboardInterrupt as stop:
                place.note("seconds", before + perf_counter() - begin)
                done = f"{scheduler.done} of {self.runs} runs are in {place.path}"
                raise KeyboardInterrupt(f"{done}; run it again to go on") from stop
            place.note("seconds", before + perf_counter() - begin)
            place.note("outcome", dict(outcome))
            place.note("runs", count)
        return Study.open(folder, self)

    def _note_start(self, folder: Folder, engine: Engine) -> None:
        """Keep the file, and from when and from where on runs were added, for who looks on."""
        missing = sum(end - begin for begin, end in folder.missing(0, self.runs))
        folder.note(
            "started",
            {
                "time": time(),
                "done": self.runs - missing,
                "most": self.runs,
                "engine": engine.name,
            },
        )
        if self.text is not None:
            self.text.keep_in(folder)

    def _keep_trajectories(self, folder: Folder, runs: int) -> None:
        there, wanted = set(folder.trajectories), self.keep.choose(folder, runs, self.seed)
        for run in wanted:
            if run not in there:
                folder.write_trajectory(run, self.experiment.replay(rows_in(folder, self, run)))
        for run in sorted(there.difference(wanted)):
            folder.remove_trajectory(run)

    def _bytes(self, runs: int, *, trajectories: bool) -> float:
        """What so many runs take on disk, at most."""
        plan = plain_json("plan", self.plan())
        text = "" if self.text is None else self.text.text
        size = runs_bytes(self.columns(), runs) + files_bytes(plan, text)
        kept = min(self.keep.most, self.runs)
        return size + (kept * self._trajectory_bytes() if trajectories and kept else 0.0)

    def _trajectory_bytes(self) -> float:
        """Of one run, told from the first that can be replayed."""
        choosing = self.design.rounds(len(self.factors), self.seed)
        asked = next(choosing)
        choosing.close()
        for run in range(min(_TRIED, asked.size)):
            with suppress(*FAILURES):
                row = rows_of(self.factors, asked, 0, run, run + 1, self.seed)
                return trajectory_bytes(self.experiment.replay(row), self.experiment.identity())
        return 0.0

    def _check_room(self, folder: Folder) -> None:
        """Raise where the disk has no room for what is missing."""
        if not isinstance(folder.path, Path):
            return  # a remote place tells when it is full
        missing = sum(end - begin for begin, end in folder.missing(0, self.runs))
        free = shutil.disk_usage(folder.path).free
        wanted = self._bytes(missing, trajectories=False)
        if missing and wanted + _LONG_RUN * self.keep.most > free:
            wanted = self._bytes(missing, trajectories=True)
        if missing and wanted > free:
            raise InvalidValue(
                f"{folder.path}: {counted(missing, 'run')} take up to {wanted / 1e9:.3g} GB, "
                f"but {free / 1e9:.3g} GB are free"
            )

    def _check_names(self) -> None:
        known = tuple(self.experiment.factor_units())
        for name in self.factors:
            if name not in known:
                raise InvalidValue(unknown_name("factors", name, known, "factor"))
        columns = self.columns()
        names = [column.name for column in columns]
        for name in names:
            if name in self.factors and names.count(name) > 1:
                raise InvalidValue(
                    f"column {name!r} is the name of a factor: give the column another one"
                )
            if names.count(name) > 1 or name == RUN:
                raise InvalidValue(f"column {name!r}: there is another one of this name")
        for name in self.design.reads():
            if name not in names:
                raise InvalidValue(unknown_name("design", name, names, "column"))
        if isinstance(self.design, SubsetSimulation):
            self.design.check(columns)
        self.keep.check(columns)
