"""Campaigns: plan, run, resume and extend many runs of an experiment.

A `Campaign` consists of an experiment, factors, a design and a selection of the trajectories to
store. Its method `run` executes the runs that are missing in its folder. The `Scheduler` takes the
rounds of the design one by one, splits them into chunks of a few seconds of work (`ChunkSize`
adapts the number of runs per chunk) and submits these to an engine.

`design_of` makes a design from plain values, as in plan files, and `table_of` factors and a table
design from listed runs. `state_of` and `summary_of` return the progress and the main results of a
campaign as plain values, for the command line and scripts.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from time import perf_counter, time
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.checks import positive, whole
from ..core.files import brief_repr, counted, path_of
from ..core.progress import Choice, Progress, watching
from ..core.record import unknown_name
from ..core.threads import cores
from ..errors import InvalidValue
from ..random.factors import Factor, factor_of, level_counts
from .adaptive import Converging, Refinement, SubsetSimulation
from .designs import Design, Grid, LatinHypercube, Random, Round, Rounds, Saltelli, Sobol, Table
from .engines import Chunk, Engine, Finished, engine_of
from .experiment import FAILED, FAILURES, RUN, Column, Experiment, Resources, Rows
from .folder import Folder, Keep, PlanText, files_bytes, runs_bytes, trajectory_bytes
from .results import Study, lost_runs, reason_against, rows_in
from .storage import writer_of
from .tables import RUNS, plain_json

FIRST = 256
"""Number of runs in the first chunk; its duration sets the size of the later chunks."""
FIRST_ALONE = 4
"""Like `FIRST`, for experiments that are not threaded, whose runs may take seconds each."""
MOST = 1 << 16
"""Largest number of runs in a chunk, which makes a file of some megabytes."""
_GROWTH = 4.0
"""Largest ratio of the sizes of successive chunks."""


class ChunkSize:
    """Number of runs in the next chunk, which should take about `seconds`; it is adapted to the
    durations of finished chunks."""

    def __init__(self, seconds: float, block: int, first: int = FIRST) -> None:
        self._seconds, self._block = seconds, block
        self.runs = self._rounded(first)

    def learn(self, runs: int, seconds: float) -> None:
        """Update the size from the number of runs in a chunk and its duration in s."""
        wanted = runs * self._seconds / max(seconds, 1e-9)
        self.runs = self._rounded(min(wanted, _GROWTH * self.runs, MOST))

    def _rounded(self, runs: float) -> int:
        return max(1, int(runs) // self._block) * self._block


def cut(
    ranges: Iterable[tuple[int, int]], size: ChunkSize, block: int
) -> Iterator[tuple[int, int]]:
    """Split ranges of runs into chunks of the current size, where possible at multiples of
    `block`."""
    for begin, end in ranges:
        while begin < end:
            stop = begin + size.runs
            stop -= stop % block
            stop = min(end, stop if stop > begin else begin - begin % block + block)
            yield begin, stop
            begin = stop


_PARTS_TO_MERGE = 64
"""Number of new parts after which small ones are merged."""


def rows_of(
    factors: Mapping[str, Factor], chosen: Round, first: int, begin: int, end: int, seed: int
) -> Rows:
    """Rows of the runs from `begin` to `end - 1`, in a round whose first run has the number
    `first`."""
    runs = np.arange(begin, end, dtype=np.int64)
    points = chosen.points(runs - first)
    columns = {name: factor.value(points[:, k]) for k, (name, factor) in enumerate(factors.items())}
    return Rows(runs, columns, seed)


class Scheduler:
    """Executes the missing runs of a campaign.

    Args:
        campaign: the campaign.
        folder: folder of the campaign, open for writing.
        engine: executes the chunks.
        seconds: target duration of a chunk in s.
    """

    def __init__(self, campaign: Campaign, folder: Folder, engine: Engine, seconds: float) -> None:
        self._campaign, self._folder, self._engine = campaign, folder, engine
        experiment = campaign.experiment
        first = FIRST if experiment.threaded else FIRST_ALONE
        self._size = ChunkSize(seconds, experiment.block, first)
        self._written = 0
        self.done = 0

    def run(self, watch: Progress) -> tuple[int, Mapping[str, Any]]:
        """Execute all rounds; returns the number of runs and the findings of the design."""
        rounds = self._campaign.rounds()
        first = 0
        try:
            chosen = next(rounds)
            while True:
                self._run_round(chosen, first, watch)
                end = first + chosen.size
                read = self._folder.read(chosen.reads, first, end) if chosen.reads else {}
                first = end
                chosen = rounds.send(read)
        except StopIteration as end:
            self._folder.merge()
            return first, end.value or {}

    def _run_round(self, chosen: Round, first: int, watch: Progress) -> None:
        missing = self._folder.missing(first, first + chosen.size)
        done = chosen.size - sum(end - begin for begin, end in missing)
        self.done += done
        watch.resume(done)
        factors, seed = self._campaign.factors, self._campaign.seed
        chunks = (
            Chunk(begin, end, rows_of(factors, chosen, first, begin, end, seed))
            for begin, end in cut(missing, self._size, self._campaign.experiment.block)
        )
        in_progress = 0
        while True:
            while in_progress < self._engine.slots and (chunk := next(chunks, None)) is not None:
                self._engine.submit(chunk)
                in_progress += 1
            if not in_progress:
                return
            self._store(self._engine.finished(), watch)
            in_progress -= 1

    def _store(self, done: Finished, watch: Progress) -> None:
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
"""Target duration of a chunk in s: the work that is lost when the campaign is stopped."""
_LOOK = 1.0
"""Duration in s of the trial runs from which the total time is estimated."""
_SOON = 10.0
"""Duration in s below which start-up dominates: imports, kernels, processes."""
_LONG_RUN = 1e9
"""Free bytes per run above which any trajectory fits, so that no run is replayed to find its
size."""
_TRIED = 8
"""Largest number of runs that are replayed to estimate the size of a trajectory."""


class Estimate(NamedTuple):
    """Estimated time and disk space of a campaign."""

    runs: int
    """The largest number of runs."""
    seconds: float
    """Time on all processors of this machine, without imports, compiling and starting workers."""
    bytes: int
    """Largest size on disk in bytes, assuming that stored trajectories are as long as the first
    one."""
    may_end: bool = False
    """Whether the design may stop before the largest number of runs."""

    def __str__(self) -> str:
        hours, rest = divmod(round(self.seconds), 3600)
        time = f"about {hours} h {rest // 60} min" if hours else f"about {self.seconds:.3g} s"
        if self.seconds < _SOON:
            time = "some seconds with its start"
        runs = f"{'at most ' if self.may_end else ''}{counted(self.runs, 'run')}"
        return f"{runs}, {time}, at most {self.bytes / 1e6:.3g} MB"


@dataclass(frozen=True, kw_only=True, eq=False)
class Campaign:
    """Many runs of an experiment, chosen by a design and stored in a folder.

    The contents of the folder at the end depend on the campaign alone: not on the engine, the
    number of workers, how runs were cut into chunks, or how often it was stopped and resumed.
    """

    experiment: Experiment
    """The experiment, which defines what a run is."""
    factors: Mapping[str, Factor | Any] = field(default_factory=dict[str, Any])
    """Quantities that differ between runs, by name; plain values such as `{"range": [0, 1]}`
    work too."""
    design: Design | Any
    """The design, which chooses the runs; plain values such as `"grid"`, `{"sobol": 4096}` work
    too."""
    seed: int = 0
    """Seed of the design and of all random numbers of the runs."""
    keep: Keep = field(default_factory=Keep)
    """Runs whose trajectories are stored."""
    name: str = "campaign"
    """Name in progress and reports."""
    text: PlanText | None = field(default=None, repr=False)
    """The plan file from which the campaign was read, copied into the folder."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        factors = {name: factor_of(name, form) for name, form in self.factors.items()}
        object.__setattr__(self, "factors", factors)
        design: Any = self.design
        if isinstance(design, (str, Mapping)):
            object.__setattr__(self, "design", design_of(design, factors))
        whole("seed", self.seed, "not negative", least=0, most=None)
        self._check_names()
        self.rounds().close()  # raises if design and factors do not fit
        self.experiment.check({name: (one.low, one.high) for name, one in factors.items()})

    @property
    def runs(self) -> int:
        """The largest number of runs."""
        return self.design.runs

    def rounds(self) -> Rounds:
        """Rounds of the design, with the factors and the seed of the campaign."""
        return self.design.rounds(len(self.factors), self.seed)

    def first_round(self) -> Round:
        """First round of the design."""
        with closing(self.rounds()) as rounds:
            return next(rounds)

    def columns(self) -> tuple[Column, ...]:
        """All columns of a run, in order: factors, results and `failed`."""
        units = self.experiment.factor_units()
        factors = [Column(name, units[name], "factor") for name in self.factors]
        failed = Column(FAILED, "", "whether the run failed", "truth")
        return (*factors, *self.experiment.columns(), failed)

    def plan(self) -> dict[str, Any]:
        """The campaign as plain values, which identify its folder."""
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
        """Estimate time and size from a few trial runs, which are not stored."""
        chosen, resources = self.first_round(), resources or Resources()
        most = min(FIRST, chosen.size)
        rows = rows_of(self.factors, chosen, 0, 0, most, self.seed)
        self.experiment.evaluate(rows.part(slice(0, 1)), resources)  # compiles
        count, took = 1, 0.0
        while True:  # more runs if they are fast, since large batches are more efficient
            begin = perf_counter()
            self.experiment.evaluate(rows.part(slice(0, count)), resources)
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
        """Execute all runs that are missing in the folder.

        Args:
            folder: a path, or a URL that fsspec knows. A folder with a part of this campaign is
                continued; a folder of another campaign is refused.
            engine: "local" (threads or processes of this machine), "cuda", "ray", or an `Engine`.
            workers: number of processes of the engine; its default if None.
            chunk_seconds: target duration of a chunk in s; a stop loses the chunks in progress.
            progress: as in `Fleet.rollout`, counted in runs.

        Raises `KeyboardInterrupt` when stopped by Ctrl-C; call it again to resume.
        """
        positive("chunk_seconds", chunk_seconds, "s")
        who = engine_of(engine, self.experiment, workers)
        extends = {"design": self.design.extends, "experiment": self.experiment.extends}
        with closing(Folder.create(folder, self.plan(), extends=extends)) as store, closing(who):
            missing = sum(end - begin for begin, end in store.missing(0, self.runs))
            self._check_room(store, missing)
            done = {"time": time(), "done": self.runs - missing, "most": self.runs}
            store.note("started", done | {"engine": who.name})
            if self.text is not None:
                self.text.keep_in(store)
            who.start(self.experiment, store.writer())
            scheduler = Scheduler(self, store, who, chunk_seconds)
            begin, before = perf_counter(), float(store.notes.get("seconds", 0.0))
            try:
                with watching(self.runs, "runs", self.name, progress) as watch:
                    count, outcome = scheduler.run(watch)
                self._store_trajectories(store, count)
            except KeyboardInterrupt as stop:
                store.note("seconds", before + perf_counter() - begin)
                done = f"{scheduler.done} of {self.runs} runs are in {store.path}"
                raise KeyboardInterrupt(f"{done}; run it again to continue") from stop
            store.note("seconds", before + perf_counter() - begin)
            store.note("outcome", dict(outcome))
            store.note("runs", count)
        return Study.open(folder, self)

    def _store_trajectories(self, folder: Folder, runs: int) -> None:
        stored, wanted = set(folder.trajectories), self.keep.choose(folder, runs, self.seed)
        for run in wanted:
            if run not in stored:
                folder.write_trajectory(run, self.experiment.replay(rows_in(folder, self, run)))
        for run in sorted(stored.difference(wanted)):
            folder.remove_trajectory(run)

    def _bytes(self, runs: int, *, trajectories: bool) -> float:
        """Largest size on disk of a number of runs, in bytes."""
        plan = plain_json("plan", self.plan())
        text = "" if self.text is None else self.text.text
        size = runs_bytes(self.columns(), runs) + files_bytes(plan, text)
        kept = min(self.keep.most, self.runs)
        return size + (kept * self._trajectory_bytes() if trajectories and kept else 0.0)

    def _trajectory_bytes(self) -> float:
        """Size in bytes of the trajectory of the first run that can be replayed."""
        chosen = self.first_round()
        for run in range(min(_TRIED, chosen.size)):
            with suppress(*FAILURES):
                row = rows_of(self.factors, chosen, 0, run, run + 1, self.seed)
                return trajectory_bytes(self.experiment.replay(row), self.experiment.identity())
        return 0.0

    def _check_room(self, folder: Folder, missing: int) -> None:
        """Raise if the disk has too little space for the missing runs."""
        if not isinstance(folder.path, Path):
            return  # a remote storage raises when it is full
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
                raise InvalidValue(f"column {name!r}: there is another column of this name")
        for name in self.design.reads():
            if name not in names:
                raise InvalidValue(unknown_name("design", name, names, "column"))
        if isinstance(self.design, SubsetSimulation):
            self.design.check(columns)
        self.keep.check(columns)


SHARES = (0.05, 0.5, 0.95)
"""Quantiles in a summary."""


def summary_of(study: Study, level: float = 0.95) -> dict[str, Any]:
    """Results of a campaign as plain values: state, numbers with mean and quantiles, truth values
    with probabilities, and the findings of the design.

    If the runs do not represent the distribution of the factors, `reason` says why, and only lowest
    and highest values are given. If they do but intervals are not valid, `caution` says why.
    """
    reason = reason_against(study.plan, listed=True)
    numbers: dict[str, dict[str, Any]] = {}
    truths: dict[str, dict[str, Any]] = {}
    state = state_of(study)
    for column in study.columns:
        name = column.name
        if name in study.factors:
            continue
        values = study[name]
        if column.kind == "truth":
            truths[name] = {"happened": int(np.count_nonzero(values)), "runs": len(values)}
            if not reason and len(values):
                with suppress(InvalidValue):  # no run counts yet
                    share = study.probability(name, level)
                    truths[name] |= {"level": level, **_interval(share)}
            continue
        known = np.asarray(values, float)[~np.isnan(values)]
        numbers[name] = {
            "unit": column.unit,
            "runs": int(known.size),
            "lowest": _finite(known.min()) if known.size else None,
            "highest": _finite(known.max()) if known.size else None,
        }
        if not reason and known.size:
            quantiles = {f"{share:g}": study.quantile(name, share, level) for share in SHARES}
            numbers[name] |= {
                "level": level,
                "mean": _interval(study.mean(name, level)),
                "quantiles": {share: _interval(one) for share, one in quantiles.items()},
            }
    return {
        **state,
        "reason": reason,
        "caution": reason_against(study.plan),
        "numbers": numbers,
        "truths": truths,
        "outcome": study.outcome,
        "trajectories": list(study.folder.trajectories),
    }


def state_of(study: Study) -> dict[str, Any]:
    """Progress of a campaign as plain values, also while it runs."""
    folder = study.folder
    digest = study.digest()  # reads everything, so that damaged files are left out below
    started = folder.notes.get("started")
    # Designs of users have no plain form.
    most = started["most"] if started else design_of(study.plan["design"]).runs
    done = most - sum(end - begin for begin, end in folder.missing(0, most))
    failed = sum(int(np.count_nonzero(rows[FAILED])) for rows in folder.batches((FAILED,)))
    path = folder.path if isinstance(folder.path, Path) else None
    rate = size = None
    if path is not None:
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    if path is not None and started is not None:
        # Runs per second from the last start of the campaign to its last written part.
        times = [file.stat().st_mtime for file in (path / RUNS).glob("*.parquet")]
        seconds = min(max(times, default=0.0), time()) - started["time"]
        new = done - started["done"]
        rate = new / seconds if seconds > 0.0 and new > 0 else None
    return {
        "name": study.plan["name"],
        "folder": str(folder.path),
        "finished": study.finished,
        "runs": done,
        "missing": lost_runs(study),
        "most": most,
        "failed": failed,
        "rate": rate,
        "writer": writer_of(path) if path is not None else "",
        "bytes": size,
        "digest": digest,
        "damaged": folder.damaged(),
    }


def _interval(one: Any) -> dict[str, float | None]:
    return {"value": _finite(one.value), "low": _finite(one.low), "high": _finite(one.high)}


def _finite(value: float) -> float | None:
    """Return the number, or None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


DESIGNS: Mapping[str, Any] = {
    design.kind: design
    for design in (
        Converging,
        Grid,
        LatinHypercube,
        Random,
        Refinement,
        Saltelli,
        Sobol,
        SubsetSimulation,
        Table,
    )
}
"""Classes of designs by their name in plain values."""


def design_of(
    plain: Any, factors: Mapping[str, Factor] | None = None, *, place: str = "design"
) -> Design:
    """Make a design from plain values, as in a plan file; raises for any other value.

    Args:
        plain: `{"kind": "sobol", "runs": 4096}`, `{"sobol": {"runs": 4096}}`, `{"sobol": 4096}`,
            or the name alone if all settings have a default or follow from the factors. The
            `first` of a refinement may be a number, the number of Sobol points.
        factors: factors of the campaign. `grid` and `table` take their lists from them,
            `refinement` its levels, and `saltelli` computes `runs` from `samples`.
        place: position in the file, for error messages.
    """
    kind, form = plain, None
    if isinstance(plain, Mapping) and "kind" in plain:
        kind, form = str(plain["kind"]), {name: plain[name] for name in plain if name != "kind"}
    elif isinstance(plain, Mapping) and len(plain) == 1:
        ((kind, form),) = plain.items()
    elif not isinstance(plain, str):
        raise InvalidValue(
            f"{place} = {plain!r} must be one of {', '.join(DESIGNS)} with its settings, as in "
            "{'sobol': {'runs': 4096}}"
        )
    kind = str(kind)
    if kind not in DESIGNS:
        raise InvalidValue(unknown_name(place, kind, tuple(DESIGNS), "kind"))
    form = {} if form is None else form if isinstance(form, Mapping) else {"runs": form}
    settings: dict[str, Any] = {str(name): value for name, value in form.items()}
    own = f"{place}.{kind}"
    if kind == "refinement" and "first" in settings:
        first = settings["first"]
        form = {"sobol": first} if isinstance(first, (int, float)) else first
        settings["first"] = design_of(form, factors, place=f"{own}.first")
    if factors is not None:  # settings that follow from the factors
        if kind == "grid" and not settings:
            settings = {"counts": Grid.of(factors).counts}
        elif kind == "table" and not settings:
            settings = {"runs": Table.of(factors).runs}
        elif kind == "refinement":
            levels = level_counts(factors)
            settings = {"levels": levels if any(levels) else (), **settings}
        elif kind == "saltelli" and "samples" in settings:
            if "runs" in settings:
                raise InvalidValue(f"{own} takes runs or samples, not both")
            second = settings.get("second_order", False)
            runs = Saltelli.of(settings["samples"], len(factors), second).runs
            settings = {"runs": runs, "second_order": second}
    known = tuple(one.name for one in fields(DESIGNS[kind]))
    for name in settings:
        if name not in known:
            raise InvalidValue(unknown_name(own, name, known, "setting"))
    for one in fields(DESIGNS[kind]):
        needed = one.default is MISSING and one.default_factory is MISSING
        if needed and one.name not in settings:
            raise InvalidValue(f"{own} needs {one.name}")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
    try:
        return DESIGNS[kind](**values)
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(f"{own}: {error}") from error


def table_of(
    rows: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, Factor], Table]:
    """Factors and `Table` design of listed runs; the numbers become part of the plan.

    Args:
        rows: columns by name, or the path of a CSV or Parquet file.
    """
    if isinstance(rows, Mapping):
        factors = {name: factor_of(name, values) for name, values in rows.items()}
        return factors, Table.of(factors)
    from .logs.tables import read_csv, read_parquet

    path = path_of(rows)
    cells = (read_parquet if path.suffix == ".parquet" else read_csv)(path)
    columns: dict[str, Factor] = {}
    for name, column in cells.items():
        values = column.values
        if values is None or not np.isfinite(values).all():
            bad = np.array([0]) if values is None else np.flatnonzero(~np.isfinite(values))
            others = f"row {bad[0] + 1} is empty or not finite, and {len(bad) - 1} others"
            raise InvalidValue(
                f"{path}: column {name!r} cannot be a factor: {column.problem or others}"
            )
        if not values.size:
            raise InvalidValue(f"{path}: column {name!r} has no rows; at least 1 is needed")
        columns[name] = factor_of(name, values)
    return columns, Table.of(columns)
