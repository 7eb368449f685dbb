"""Results of a campaign: `Study` reads its folder, also while the campaign runs.

`export` writes all runs as one table, `summary_of` returns the main results as plain values for the
command line and scripts, and `Study.replay` repeats a run with the same bits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import partial
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
    """Write the runs of a folder as one table, in order and in bounded memory; returns their
    number.

    The file suffix chooses the format. Units are in the field metadata of Parquet; in CSV, missing
    numbers are `nan`.
    """
    target = target_of(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidValue(f"{target} must end in {' or '.join(SUFFIXES)}")
    arrow = arrow_module("pyarrow")
    kinds = {"number": arrow.float64(), "truth": arrow.bool_()}
    fields = [
        arrow.field(one.name, kinds[one.kind], metadata={"unit": one.unit, "meaning": one.meaning})
        for one in folder.columns
    ]
    schema = arrow.schema([arrow.field(RUN, arrow.int64()), *fields])
    if suffix == ".csv":
        open_writer = arrow_module("pyarrow.csv").CSVWriter
    else:
        open_writer = partial(arrow_module("pyarrow.parquet").ParquetWriter, compression="zstd")
    count = 0
    with replacing(target) as temporary, open_writer(temporary, schema) as writer:
        for rows in folder.batches(schema.names):
            writer.write_table(arrow.table(rows, schema=schema))
            count += len(rows[RUN])
    return count


class Source(Protocol):
    """Interface of a campaign for repeating its runs."""

    @property
    def experiment(self) -> Experiment:
        """The experiment of the runs."""
        ...

    @property
    def factors(self) -> Mapping[str, Any]:
        """Quantities that differ between runs, by name."""
        ...

    @property
    def seed(self) -> int:
        """Seed of all random numbers of the runs."""
        ...


def rows_in(folder: Folder, source: Source, run: int) -> Rows:
    """Row of a single run of a folder."""
    read = folder.read((RUN, *source.factors), run, run + 1)
    if not len(read[RUN]):
        raise InvalidValue(f"run = {run} is not in {folder.path}")
    return Rows(read[RUN], {name: read[name] for name in source.factors}, source.seed)


class Case(NamedTuple):
    """A run and the value for which it was selected."""

    run: int
    value: float


class Study:
    """Results of a campaign, read from its folder; also while the campaign runs.

    Args:
        folder: an open folder.
        campaign: the campaign, needed to replay runs unless the folder has its plan file.
    """

    def __init__(self, folder: Folder, campaign: Source | None = None) -> None:
        self.folder, self._campaign = folder, campaign

    @classmethod
    def open(cls, folder: str | os.PathLike[str], campaign: Source | None = None) -> Study:
        """Open the results in a folder: a path, or a URL that fsspec knows."""
        return cls(Folder.open(folder), campaign)

    @property
    def plan(self) -> dict[str, Any]:
        """The campaign as plain values."""
        return self.folder.plan

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of each run: factors, results, and `failed`."""
        return self.folder.columns

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(self.plan["factors"])

    @property
    def finished(self) -> bool:
        """Whether the campaign ended and all of its runs exist."""
        runs = self.folder.notes.get("runs")
        return runs is not None and not self.folder.missing(0, runs)

    @property
    def outcome(self) -> dict[str, Any]:
        """Findings of the design, such as the probability of a rare event; empty before the end."""
        return dict(self.folder.notes.get("outcome", {}))

    @property
    def runs(self) -> int:
        """Number of finished runs."""
        return len(self[RUN])

    def __getitem__(self, name: str) -> AnyArray:
        """A column of all finished runs, in order."""
        self._check_column(name)
        return self.folder.read((name,))[name]

    def to_pandas(self) -> Any:
        """All runs as a pandas table, indexed by their numbers."""
        pandas = require("pandas", purpose="Study.to_pandas")
        names = (RUN, *(column.name for column in self.columns))
        return pandas.DataFrame(self.folder.read(names)).set_index(RUN)

    def digest(self) -> str:
        """Digest of all columns in the order of the runs: the same for the same plan on any machine
        and engine, with any chunks."""
        return self.folder.digest()

    def mean(self, name: str, level: float = 0.95) -> Interval:
        """Mean over the runs that are not NaN, with its confidence interval.

        Like `quantile` and `probability`, it raises for designs that choose runs by results. There
        is no interval (NaN, with a `reason`) if runs were listed rather than random, and for the
        column that a `Converging` design estimates, whose interval is in `outcome`. Only the
        independent runs of a Saltelli design count.
        """
        return self._valid(name, mean_of(self._numbers(name), level))

    def quantile(self, name: str, share: float, level: float = 0.95) -> Interval:
        """Value below which a share of the runs lies, with its confidence interval; see `mean`."""
        return self._valid(name, quantile_of(self._numbers(name), share, level))

    def probability(self, name: str, level: float = 0.95) -> Probability:
        """Probability that a column of truth values is true, with its confidence interval; see
        `mean`.

        Failed runs count as false.
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
        """Sobol indices: the share of a column's variance that each factor explains; `Saltelli`
        only."""
        return sobol_indices(self.folder, name, level)

    @property
    def campaign(self) -> Source:
        """The campaign: as given, or from the plan file in the folder; raises without either."""
        if self._campaign is None:
            from .plan_file import campaign_of_folder

            self._campaign = campaign_of_folder(self.folder)
        return self._campaign

    def replay(self, run: int | Case) -> Trajectory:
        """Repeat a run, bit for bit, with all of its states; see `Trajectory.to_html`.

        Raises if the results differ from those in the folder because the code has changed.
        """
        number = run.run if isinstance(run, Case) else whole("run", run, "not negative", least=0)
        folder, experiment = self.folder, self.campaign.experiment
        rows = rows_in(folder, self.campaign, number)
        again = experiment.evaluate(rows, Resources())
        stored = folder.read(tuple(again), number, number + 1)
        for name, values in again.items():
            before = stored[name]
            if before.tobytes() != values.astype(before.dtype).tobytes():
                raise InvalidValue(
                    f"run {number}: {name} is {before[0]} in {folder.path} and {values[0]} now: "
                    "the code has changed since the run"
                )
        return experiment.replay(rows)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write one page with all results: findings of the design, probabilities, distributions,
        sensitivities, responses and surfaces, the worst and the failed runs with their replays.

        Memory and the size of the page do not depend on the number of runs.

        Args:
            path: path of the HTML file, which is self-contained.
            options: `date`, a text below the title; `replay`, False to omit animations of stored
                runs; `level`, the confidence of all intervals, 0.95 by default.
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

    def _valid(self, name: str, interval: Interval) -> Interval:
        """The estimate, with its interval removed if that would not be valid."""
        reason = reason_for_no_interval(self.plan, name)
        return interval._replace(low=np.nan, high=np.nan, reason=reason) if reason else interval

    def _representative(self, name: str) -> AnyArray:
        """A column of the runs that represent the distribution of the factors."""
        if reason := reason_against(self.plan, listed=True):
            raise InvalidValue(
                f"{name}: {reason}, so they do not represent all runs; see `outcome`, and "
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
        """Names of the columns of a kind, "number" or "truth", without the factors."""
        own = set(self.factors)
        return [one.name for one in self.columns if one.kind == kind and one.name not in own]


SHARES = (0.05, 0.5, 0.95)
"""Quantiles in a summary."""


def summary_of(study: Study, level: float = 0.95) -> dict[str, Any]:
    """Summary: state, numbers with mean and quantiles, truth values with probabilities, and
    findings.

    If the runs do not represent the distribution of the factors, `reason` says why, and only lowest
    and highest values are given. If they do but intervals are not valid, `caution` says why.
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
    """Progress of a campaign as plain values, also while it runs."""
    folder = study.folder
    digest = study.digest()  # reads everything, so that damaged files are left out below
    started = folder.notes.get("started")
    # Designs of users have no plain form.
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
        "bytes": None
        if path is None
        else sum(file.stat().st_size for file in path.rglob("*") if file.is_file()),
        "digest": digest,
        "damaged": folder.damaged(),
    }


def lost_runs(study: Study) -> int:
    """Number of missing runs of a finished campaign; 0 while it runs."""
    missing = study.folder.missing(0, study.folder.notes.get("runs", 0))
    return sum(end - begin for begin, end in missing)


def _rate(study: Study, path: Path | None, done: int) -> float | None:
    """Runs per second from the last start of the campaign to its last written part."""
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
    """The number; None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None
