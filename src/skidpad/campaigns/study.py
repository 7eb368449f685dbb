"""What a campaign found: its folder, read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import counted
from ..checks import whole
from ..errors import InvalidValue
from ..extras import require
from ..record import unknown_name
from ..run.monte_carlo.intervals import Probability, proportion
from ..trajectory.trajectory import Trajectory
from .answers import Interval, mean_of, quantile_of, share_of
from .drawn import independent, reason_against, reason_for_no_interval
from .experiment import FAILED, RUN, Column
from .folder import Folder
from .indices import SobolIndices, sobol_indices
from .repeats import Source, repeated


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
                "skidpad.campaigns.proportion(sum, runs)"
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
        from ..viewer.campaign_report.page import write_campaign_report

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
        from ..viewer.campaign_report.notebook import study_html

        return study_html(self)

    def __repr__(self) -> str:
        state = "finished" if self.finished else "under way"
        return f"<Study {self.plan['name']!r}: {counted(self.runs, 'run')}, {state}>"

    def names(self, kind: str) -> Sequence[str]:
        """Columns of a kind, "number" or "truth", beside the factors."""
        own = set(self.factors)
        return [one.name for one in self.columns if one.kind == kind and one.name not in own]
