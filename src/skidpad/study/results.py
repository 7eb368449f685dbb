"""Results of a campaign: `Study` reads its folder, also while the campaign runs.

Means, quantiles and probabilities have confidence intervals, as far as `reason_against` and
`reason_for_no_interval` find them valid for the plan. Sobol indices are estimated by SALib from the
runs of the design `Saltelli`; its bootstrap draws from a fixed seed, so that the intervals are
reproducible. `export` writes all runs as one table, and `Study.replay` repeats a run with the same
bits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.checks import between, finite, whole
from ..core.files import brief_repr, counted, replacing, target_of
from ..core.record import unknown_name
from ..errors import InvalidValue, require
from ..run.monte_carlo import Probability, mean_bounds, proportion, quantile_ranks
from ..run.trajectory import Trajectory
from .designs import saltelli_block
from .experiment import FAILED, RUN, Column, Experiment, Resources, Rows, Runs
from .folder import Folder
from .tables import arrow_module


class Interval(NamedTuple):
    """A number estimated from runs, with its confidence interval."""

    value: float
    low: float
    """Lower end of the confidence interval; minus infinity where the runs are too few."""
    high: float
    """Upper end of the confidence interval; infinity where the runs are too few."""
    runs: int
    """Number of runs that are not NaN."""
    level: float
    """Confidence of the interval, such as 0.95."""
    reason: str = ""
    """Reason why there is no interval (its ends are NaN); empty otherwise."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:.4g} ({self.runs} runs; no interval: {self.reason})"
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.runs} runs)"


class Share(Probability):
    """A share of runs without a confidence interval; the ends of its interval are NaN."""

    reason: str = ""
    """Reason why there is no interval."""

    def __str__(self) -> str:
        of = f"{self.happened} of {self.runs} runs"
        return f"{self.value:.4g} ({of}; no interval: {self.reason})"


def share_of(one: Probability, reason: str) -> Share:
    made = Share(one.value, np.nan, np.nan, one.happened, one.runs, one.level)
    made.reason = reason
    return made


class QuantilePlaces(NamedTuple):
    """Ranks (from 0) of the ordered values that determine a quantile and its interval."""

    below: int
    above: int
    part: float
    """Weight of the value at `above`; the remainder is the weight of the value at `below`."""
    low: int
    """Rank of the lower end; below 0 if the runs are too few."""
    high: int
    """Rank of the upper end; beyond the last if the runs are too few."""

    @classmethod
    def of(cls, runs: int, share: float, level: float) -> QuantilePlaces:
        place = share * (runs - 1)
        below = min(int(place), runs - 1)
        low, high = quantile_ranks(runs, share, level)
        return cls(below, min(below + 1, runs - 1), place - below, low - 1, high - 1)

    def interval(self, value_at: Callable[[int], float], runs: int, level: float) -> Interval:
        """Quantile with its interval, from the values at these ranks."""
        below, above = value_at(self.below), value_at(self.above)
        # Infinite values cannot be interpolated.
        value = below if below == above or not self.part else below + self.part * (above - below)
        low = value_at(self.low) if self.low >= 0 else -np.inf
        high = value_at(self.high) if self.high < runs else np.inf
        # With few runs, even the first lies beyond a quantile such as 0.1 %.
        return Interval(min(max(value, low), high), low, high, runs, level)


def mean_of(values: Array, level: float = 0.95) -> Interval:
    """Mean of independent values, with its interval from Student's distribution."""
    if not values.size:
        raise InvalidValue("no run has a number: there is no mean")
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return mean_interval(float(values.mean()), math.nan, values.size, level)
    # Exact sums, so that the result depends neither on the order nor on the machine.
    mean = math.fsum(values.tolist()) / values.size
    square = math.fsum(((values - mean) ** 2).tolist())
    return mean_interval(mean, math.sqrt(square / max(values.size - 1, 1)), values.size, level)


def mean_interval(mean: float, std: float, runs: int, level: float) -> Interval:
    """Mean with its interval, from mean, standard deviation and number of the values."""
    low, high = mean_bounds(np.asarray(mean), np.asarray(std), runs, level)
    if not np.isfinite(mean):
        return Interval(mean, -np.inf, np.inf, runs, level)
    return Interval(mean, float(low), float(high), runs, level)


def quantile_of(values: Array, share: float, level: float = 0.95) -> Interval:
    """Value below which a share of independent values lies, with its distribution-free interval."""
    if not 0.0 <= finite("share", share) <= 1.0:
        raise InvalidValue(f"share = {share} must be from 0 to 1")
    if not values.size:
        raise InvalidValue("no run has a number: there is no quantile")
    ordered = np.sort(values)
    places = QuantilePlaces.of(values.size, share, level)
    return places.interval(lambda k: float(ordered[k]), values.size, level)


_RESAMPLES = 100
"""Number of bootstrap resamples."""
_AT_ONCE = 1_000_000
"""Number of values that are resampled at a time, to bound the memory."""
_SEED = 1
"""Seed of the bootstrap; SALib ignores 0."""


class SobolIndices(NamedTuple):
    """Sobol indices: shares of the variance that the factors explain, with confidence intervals."""

    factors: tuple[str, ...]
    first: Array
    """First-order index of each factor, (factors,); estimates may lie slightly outside of 0 to
    1."""
    first_low: Array
    first_high: Array
    total: Array
    """Total index of each factor, interactions included, (factors,)."""
    total_low: Array
    total_high: Array
    samples: int
    """Number of blocks of runs that the estimate uses."""
    left_out: int
    """Number of blocks that are left out because a run or a number is missing."""
    level: float

    __repr__ = brief_repr

    def __str__(self) -> str:
        lines = [
            f"{name}: {self.first[k]:.3f} ({self.first_low[k]:.3f} to {self.first_high[k]:.3f}) "
            f"alone, {self.total[k]:.3f} ({self.total_low[k]:.3f} to {self.total_high[k]:.3f}) "
            "with others"
            for k, name in enumerate(self.factors)
        ]
        less = f", {self.left_out} left out" if self.left_out else ""
        return "\n".join([*lines, f"{counted(self.samples, 'sample')}{less}"])


def sobol_indices(folder: Folder, name: str, level: float = 0.95) -> SobolIndices:
    """Sobol indices of a column; raises unless the design is `Saltelli`."""
    design, factors = folder.plan["design"], tuple(folder.plan["factors"])
    if design.get("kind") != "saltelli":
        raise InvalidValue(
            f"design = {design.get('kind')!r}: Sobol's indices need the runs of Saltelli"
        )
    known = [column.name for column in folder.columns if column.name not in factors]
    if name not in known:
        raise InvalidValue(unknown_name("the campaign", name, known, "column"))
    between("level", level, 0.0, 1.0, hint=", such as 0.95")
    second = bool(design.get("second_order"))
    block = saltelli_block(len(factors), second)
    read = folder.read((RUN, name))
    samples, place = np.divmod(read[RUN], block)
    count = int(samples.max()) + 1 if len(samples) else 0
    table = np.full((count, block), np.nan)
    table[samples, place] = np.asarray(read[name], float)
    begun = np.zeros(count, bool)
    begun[samples] = True
    complete = np.isfinite(table).all(axis=1)
    values, left_out = table[complete], int((begun & ~complete).sum())
    if len(values) < 2:
        raise InvalidValue(
            f"{name}: {counted(len(values), 'sample')} of {block} runs have a number in all of "
            "them; at least 2 are needed"
        )
    ends = values[:, [0, -1]]
    if np.ptp(ends) == 0.0:
        raise InvalidValue(f"{name} = {ends[0, 0]:g} in all runs: there is no variance to explain")
    sobol: Any = require("SALib.analyze.sobol", purpose="Study.sensitivity")
    from scipy.special import ndtri

    # Runs for the indices of pairs are not needed.
    outputs = values[:, [*range(len(factors) + 1), -1]] if second else values
    at_once = min(max(_AT_ONCE // len(values), 2), _RESAMPLES)
    analyses: list[Any] = [
        sobol.analyze(
            {"num_vars": len(factors), "names": list(factors)},
            outputs.ravel(),
            calc_second_order=False,
            num_resamples=at_once,
            keep_resamples=True,
            seed=_SEED + k,
        )
        for k in range(-(-_RESAMPLES // at_once))
    ]

    def index(name: str) -> tuple[Array, Array, Array]:
        """Indices with interval ends from the scatter of all resamples, as in SALib."""
        value = np.asarray(analyses[0][name], float)
        resampled = np.concatenate([one[f"{name}_conf_all"] for one in analyses])
        reach = float(ndtri(0.5 + 0.5 * level)) * resampled.std(axis=0, ddof=1)
        return value, value - reach, value + reach

    return SobolIndices(factors, *index("S1"), *index("ST"), len(values), left_out, level)


def reason_against(plan: Mapping[str, Any], *, listed: bool = False) -> str:
    """Reason why shares of the runs of a plan are not probabilities; empty if they are.

    Runs of a grid or a table are listed, not random; with `listed` they are accepted, as equally
    likely.
    """
    kind = plan["design"].get("kind", "")
    if kind in ("refinement", "subset_simulation"):
        return f"the runs of a {kind.replace('_', ' ')} were chosen by what came out of others"
    if listed or kind in ("random", "converging", "latin_hypercube", "sobol", "saltelli"):
        return ""
    if kind in ("grid", "table"):
        return f"the runs of a {kind} were listed, not drawn"
    return f"whether the runs of the design {kind!r} were drawn is not known"


def reason_for_no_interval(plan: Mapping[str, Any], column: str) -> str:
    """Reason why the usual confidence interval of a column is not valid; empty if it is."""
    design = plan["design"]
    if design.get("kind") == "converging" and design.get("column") == column:
        return f"the design looked at {column} until it was narrow; the one that holds is its own"
    return reason_against(plan)


def independent(plan: Mapping[str, Any], runs: Runs) -> AnyArray:
    """Mask of the independent runs: all runs, except in a Saltelli design.

    There only the first and the last run of each block count, since the other runs are combinations
    of these.
    """
    design = plan["design"]
    if design.get("kind") != "saltelli":
        return np.ones(len(runs), bool)
    block = saltelli_block(len(plan["factors"]), bool(design.get("second_order")))
    place = runs % block
    return (place == 0) | (place == block - 1)


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
    """Interface of a campaign that is needed to repeat its runs."""

    @property
    def experiment(self) -> Experiment: ...

    @property
    def factors(self) -> Mapping[str, Any]: ...

    @property
    def seed(self) -> int: ...


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
        """The runs in which a column is highest or, on request, lowest, worst first."""
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
        """The campaign passed to the constructor, or that of the plan file in the folder; raises
        without either."""
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
        """Remove the interval of an estimate if it would not be valid."""
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


def lost_runs(study: Study) -> int:
    """Number of missing runs of a finished campaign; 0 while it runs."""
    missing = study.folder.missing(0, study.folder.notes.get("runs", 0))
    return sum(end - begin for begin, end in missing)
