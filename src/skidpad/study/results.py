"""What a campaign found: its folder, read.

All runs of a campaign as one table: CSV or Parquet, in bounded memory.

Runs of a folder done again: with the same bits, or it is said that the code has changed.

What a campaign found in a few numbers, as plain values: for the command line and for scripts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.checks import whole
from ..core.files import counted, replacing, target_of
from ..core.record import unknown_name
from ..errors import InvalidValue, require
from ..run.monte_carlo_runs import Probability, proportion
from ..run.trajectory import Trajectory
from .design_forms import design_of
from .experiment import FAILED, RUN, Column, Experiment, Resources, Rows
from .folder import Folder
from .statistics import (
    Interval,
    SobolIndices,
    independent,
    mean_of,
    quantile_of,
    reason_against,
    reason_for_no_interval,
    share_of,
    sobol_indices,
)
from .storage import writer_of
from .tables import RUNS, arrow_module

SUFFIXES = (".csv", ".parquet")


def export(folder: Folder, path: str | os.PathLike[str]) -> int:
    """Write the runs that a folder has, in their order; how many there are.

    The end of the name says what is written. Units are in the metadata of Parquet's fields; in CSV
    what is no number is `nan`.
    """
    target = target_of(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidValue(f"{target} must end in {' or '.join(SUFFIXES)}")
    arrow = arrow_module("pyarrow")
    schema = _schema(arrow, folder)
    count = 0
    with replacing(target) as temporary, _writer(suffix, temporary, schema) as writer:
        for rows in folder.batches(schema.names):
            writer.write_table(arrow.table(rows, schema=schema))
            count += len(rows[RUN])
    return count


def _schema(arrow: Any, folder: Folder) -> Any:
    kinds = {"number": arrow.float64(), "truth": arrow.bool_()}
    fields = [
        arrow.field(one.name, kinds[one.kind], metadata={"unit": one.unit, "meaning": one.meaning})
        for one in folder.columns
    ]
    return arrow.schema([arrow.field(RUN, arrow.int64()), *fields])


def _writer(suffix: str, path: Any, schema: Any) -> Any:
    if suffix == ".csv":
        return arrow_module("pyarrow.csv").CSVWriter(path, schema)
    parquet = arrow_module("pyarrow.parquet")
    return parquet.ParquetWriter(path, schema, compression="zstd")


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
    again = source.experiment.evaluate(rows, Resources())
    kept = folder.read(tuple(again), run, run + 1)
    for name, values in again.items():
        before = kept[name]
        if before.tobytes() != values.astype(before.dtype).tobytes():
            raise InvalidValue(
                f"run {run}: {name} is {before[0]} in {folder.path} and {values[0]} now: the code "
                "that it was run with was another one"
            )


class Case(NamedTuple):
    """One run and the value that it was picked for."""

    run: int
    value: float


class Study:
    """The runs of a campaign, from its folder; also while the campaign goes on.

    Args:
        folder: as `Folder.open` gives it.
        campaign: what ran; needed to replay runs, and known already if the folder has the file that
            it was written in.
    """

    def __init__(self, folder: Folder, campaign: Source | None = None) -> None:
        self.folder, self._campaign = folder, campaign

    @classmethod
    def open(cls, folder: str | os.PathLike[str], campaign: Source | None = None) -> Study:
        """The study in a folder: a path, or a URL that fsspec knows."""
        return cls(Folder.open(folder), campaign)

    @property
    def plan(self) -> dict[str, Any]:
        """The campaign as plain values."""
        return self.folder.plan

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is known of each run: factors, what came out, whether it failed."""
        return self.folder.columns

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of what differs between runs."""
        return tuple(self.plan["factors"])

    @property
    def finished(self) -> bool:
        """Whether the campaign has come to its end, and all of its runs are there."""
        runs = self.folder.notes.get("runs")
        return runs is not None and not self.folder.missing(0, runs)

    @property
    def outcome(self) -> dict[str, Any]:
        """What its design found, such as the probability of a rare event; empty before the end."""
        return dict(self.folder.notes.get("outcome", {}))

    @property
    def runs(self) -> int:
        """How many are done."""
        return len(self[RUN])

    def __getitem__(self, name: str) -> AnyArray:
        """A column of all runs that are done, in their order."""
        self._check_column(name)
        return self.folder.read((name,))[name]

    def to_pandas(self) -> Any:
        """All runs as a table of pandas, by their numbers."""
        pandas = require("pandas", purpose="Study.to_pandas")
        names = (RUN, *(column.name for column in self.columns))
        return pandas.DataFrame(self.folder.read(names)).set_index(RUN)

    def digest(self) -> str:
        """Of all columns in the order of the runs: the same for the same plan, wherever, with
        whatever and in however many pieces it was run."""
        return self.folder.digest()

    def mean(self, name: str, level: float = 0.95) -> Interval:
        """Mean over the runs that have a number, with its confidence interval.

        As `quantile` and `probability` do, it raises for designs whose runs are chosen by what came
        out, and gives no interval (NaN, and `reason`) where runs were listed rather than drawn, and
        of the column that a `Converging` design looks at, whose interval is in `outcome`. Of a
        Saltelli design the runs count that are independent.
        """
        return self._as_sure(name, mean_of(self._numbers(name), level))

    def quantile(self, name: str, share: float, level: float = 0.95) -> Interval:
        """The value below which a share of the runs lies, with its confidence interval."""
        return self._as_sure(name, quantile_of(self._numbers(name), share, level))

    def probability(self, name: str, level: float = 0.95) -> Probability:
        """How likely something is that is true or false of a run, with its confidence interval.

        Nothing is true of runs that failed, which count as all others do.
        """
        values = self._representative(name)
        if values.dtype != np.bool_:
            truths = [column.name for column in self.columns if column.kind == "truth"]
            raise InvalidValue(
                f"{name} is a number; probabilities are of {', '.join(truths)}, or of a condition: "
                "skidpad.study.proportion(sum, runs)"
            )
        estimate = proportion(int(values.sum()), len(values), level)
        reason = reason_for_no_interval(self.plan, name)
        return share_of(estimate, reason) if reason else estimate

    def worst(self, name: str, count: int = 5, *, lowest: bool = False) -> tuple[Case, ...]:
        """The runs in which a column is highest (or lowest), worst first."""
        count = whole("count", count, "not negative", least=0)
        sign = 1.0 if lowest else -1.0
        runs, values = np.empty(0, np.int64), np.empty(0)
        for rows in self.folder.batches((RUN, name)):
            runs = np.concatenate([runs, rows[RUN]])
            values = np.concatenate([values, np.asarray(rows[name], float)])
            known = np.flatnonzero(~np.isnan(values))
            order = known[np.argsort(sign * values[known], kind="stable")[:count]]
            runs, values = runs[order], values[order]
        return tuple(map(Case, runs.tolist(), values.tolist()))

    def failed(self) -> tuple[int, ...]:
        """Numbers of the runs that failed."""
        read = self.folder.read((RUN, FAILED))
        return tuple(read[RUN][read[FAILED]].tolist())

    def sensitivity(self, name: str, level: float = 0.95) -> SobolIndices:
        """How much of a column's variance each factor explains; of a campaign with the design
        `Saltelli`."""
        return sobol_indices(self.folder, name, level)

    @property
    def campaign(self) -> Source:
        """What ran."""
        if self._campaign is None:
            from .plan_file import campaign_of_folder

            self._campaign = campaign_of_folder(self.folder)
        return self._campaign

    def replay(self, run: int | Case) -> Trajectory:
        """A run again, bit for bit, with all of its states; see `Trajectory.to_html` to look at it.

        Raises if what comes out is not what is in the folder: the code has changed since.
        """
        number = run.run if isinstance(run, Case) else whole("run", run, "not negative", least=0)
        return repeated(self.folder, self.campaign, number)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write one page with everything: what the design found, probabilities, distributions,
        sensitivities, responses and surfaces, the worst and the failed runs with their replays.

        Args:
            path: an HTML file that needs no other.
            options: `date`, a text below the title; `replay`, False for no films of the runs that
                were kept; `level`, the confidence of all intervals, 0.95 if not given.

        However many runs there are, memory and page are of one size.
        """
        from ..view.pages.campaign_report import write_campaign_report

        write_campaign_report(self, path, **options)

    def _check_column(self, name: str) -> None:
        names = (RUN, *(column.name for column in self.columns))
        if name not in names:
            raise InvalidValue(unknown_name("the campaign", name, names, "column"))

    def _numbers(self, name: str) -> Array:
        values = np.asarray(self._representative(name), float)
        return values[~np.isnan(values)]

    def _as_sure(self, name: str, interval: Interval) -> Interval:
        """Without its interval where none holds."""
        reason = reason_for_no_interval(self.plan, name)
        return interval._replace(low=np.nan, high=np.nan, reason=reason) if reason else interval

    def _representative(self, name: str) -> AnyArray:
        """A column of those runs that stand for all that the factors allow."""
        if reason := reason_against(self.plan, listed=True):
            raise InvalidValue(
                f"{name}: {reason}, so that they do not stand for all; see `outcome`, and "
                f"study[{name!r}] for the runs themselves"
            )
        self._check_column(name)
        read = self.folder.read((RUN, name))
        return read[name][independent(self.plan, read[RUN])]

    def _repr_html_(self) -> str:
        from ..view.pages.campaign_report import study_html

        return study_html(self)

    def __repr__(self) -> str:
        state = "finished" if self.finished else "under way"
        return f"<Study {self.plan['name']!r}: {counted(self.runs, 'run')}, {state}>"

    def names(self, kind: str) -> Sequence[str]:
        """Columns of a kind, "number" or "truth", beside the factors."""
        own = set(self.factors)
        return [one.name for one in self.columns if one.kind == kind and one.name not in own]


SHARES = (0.05, 0.5, 0.95)
"""Quantiles that are told."""


def summary_of(study: Study, level: float = 0.95) -> dict[str, Any]:
    """Numbers with mean and quantiles, truths with probabilities, what the design found.

    Where runs do not stand for all that the factors allow, `reason` says why, and there are only
    lowest and highest values. Where they do but no interval holds, `caution` says why.
    """
    reason = reason_against(study.plan, listed=True)
    own = [column for column in study.columns if column.name not in study.factors]
    return {
        **state_of(study),
        "reason": reason,
        "caution": reason_against(study.plan),
        "numbers": {
            column.name: _number(study, column, level, bool(reason))
            for column in own
            if column.kind == "number"
        },
        "truths": {
            column.name: _truth(study, column, level, bool(reason))
            for column in own
            if column.kind == "truth"
        },
        "outcome": study.outcome,
        "trajectories": list(study.folder.trajectories),
    }


def state_of(study: Study) -> dict[str, Any]:
    """How far a campaign is, also while it goes on."""
    folder = study.folder
    digest = study.digest()  # reads everything: what is damaged is left out of all that follows
    started = folder.notes.get("started")
    # A design of one's own is known by the campaign alone.
    most = started["most"] if started else design_of(study.plan["design"]).runs
    done = most - sum(end - begin for begin, end in folder.missing(0, most))
    failed = sum(int(np.count_nonzero(rows[FAILED])) for rows in folder.batches((FAILED,)))
    path = folder.path if isinstance(folder.path, Path) else None
    return {
        "name": study.plan["name"],
        "folder": str(folder.path),
        "finished": study.finished,
        "runs": done,
        "missing": lost_runs(study),
        "most": most,
        "failed": failed,
        "rate": _rate(study, path, done),
        "writer": writer_of(path) if path is not None else "",
        "bytes": None if path is None else sum(f.stat().st_size for f in _files(path)),
        "digest": digest,
        "damaged": folder.damaged(),
    }


def lost_runs(study: Study) -> int:
    """Runs that a campaign which came to its end has no more; 0 of one that goes on."""
    missing = study.folder.missing(0, study.folder.notes.get("runs", 0))
    return sum(end - begin for begin, end in missing)


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()]


def _rate(study: Study, path: Path | None, done: int) -> float | None:
    """Runs a second since the campaign was last started, until its last part was written."""
    started = study.folder.notes.get("started")
    if path is None or started is None:
        return None
    times = [file.stat().st_mtime for file in (path / RUNS).glob("*.parquet")]
    seconds = min(max(times, default=0.0), time()) - started["time"]
    new = done - started["done"]
    return new / seconds if seconds > 0.0 and new > 0 else None


def _number(study: Study, column: Column, level: float, chosen: bool) -> dict[str, Any]:
    values = np.asarray(study[column.name], float)
    known = values[~np.isnan(values)]
    about: dict[str, Any] = {
        "unit": column.unit,
        "runs": int(known.size),
        "lowest": _finite(known.min()) if known.size else None,
        "highest": _finite(known.max()) if known.size else None,
    }
    if chosen or not known.size:
        return about
    mean = study.mean(column.name, level)
    quantiles = {f"{share:g}": study.quantile(column.name, share, level) for share in SHARES}
    return {
        **about,
        "level": level,
        "mean": _interval(mean),
        "quantiles": {share: _interval(one) for share, one in quantiles.items()},
    }


def _truth(study: Study, column: Column, level: float, chosen: bool) -> dict[str, Any]:
    values = study[column.name]
    about: dict[str, Any] = {"happened": int(np.count_nonzero(values)), "runs": len(values)}
    if chosen or not len(values):
        return about
    try:
        return {**about, "level": level, **_interval(study.probability(column.name, level))}
    except InvalidValue:  # no run counts yet
        return about


def _interval(one: Any) -> dict[str, float | None]:
    return {"value": _finite(one.value), "low": _finite(one.low), "high": _finite(one.high)}


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if math.isfinite(value) else None
