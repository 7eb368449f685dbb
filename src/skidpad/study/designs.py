"""All designs, and a design from its plain form.

Designs that go through lists: all combinations of them, or the rows of a table.

Runs until a mean, a probability or a quantile is known well enough.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.checks import finite, positive, whole
from ..core.files import brief_repr, path_of
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..random.factors import Factor, factor_of, level_counts
from ..random.streams import RUNS
from ..run.monte_carlo_runs import proportion
from .design import (
    Choosing,
    Design,
    LatinHypercube,
    Random,
    Round,
    Saltelli,
    Sobol,
    drawn_points,
    goes_on,
    identity_of,
    one_round,
)
from .experiment import Runs
from .rare_events import Refinement, SubsetSimulation
from .statistics import mean_of, quantile_of


@dataclass(frozen=True)
class Grid:
    """All combinations of factors that are lists; the last factor changes fastest.

    `Grid.of(factors)` counts for itself.
    """

    counts: tuple[int, ...]
    """How many numbers each factor has."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        counts = tuple(whole(f"counts[{k}]", n, "at least 1") for k, n in enumerate(self.counts))
        object.__setattr__(self, "counts", counts)
        if self.runs > RUNS:
            raise InvalidValue(f"counts = {counts} make {self.runs} runs; allowed are {RUNS}")

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Grid:
        """The grid of these factors; raises unless all are lists of numbers."""
        return cls(tuple(_counts("a grid", factors).values()))

    @property
    def runs(self) -> int:
        """The product of the counts."""
        return math.prod(self.counts)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round; raises unless there is a count for each factor."""
        if factors != len(self.counts):
            raise InvalidValue(
                f"counts = {self.counts} of Grid must be one for each factor; there are {factors}"
            )

        def points(numbers: Runs) -> Array:
            if not self.counts:
                return np.empty((len(numbers), 0))
            places = np.unravel_index(numbers, self.counts)
            return (np.stack(places, axis=1) + 0.5) / np.array(self.counts)

        return one_round(self.runs, points)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "grid")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Only itself: another grid has other neighbours."""
        return goes_on(self.identity(), before)


@dataclass(frozen=True)
class Table:
    """Runs that are listed: run k has the number k of each factor's list; see `table_of`."""

    runs: int
    """Rows of the table."""

    def __post_init__(self) -> None:
        if whole("runs", self.runs, "at least 1") > RUNS:
            raise InvalidValue(f"runs = {self.runs} must be at most {RUNS}")

    @classmethod
    def of(cls, factors: Mapping[str, Any]) -> Table:
        """The table of these factors: lists of one length, or single numbers, which are held."""
        counts = _counts("a table", factors)
        runs = max(counts.values(), default=1)
        for name, count in counts.items():
            if count not in (1, runs):
                raise InvalidValue(
                    f"factors[{name!r}] has {count} numbers, another {runs}; the lists of a table "
                    "must be equally long"
                )
        return cls(runs)

    def rounds(self, factors: int, seed: int) -> Choosing:
        """One round."""
        return one_round(self.runs, lambda numbers: self._points(numbers, factors))

    def _points(self, numbers: Runs, factors: int) -> Array:
        return np.repeat((numbers[:, None] + 0.5) / self.runs, factors, axis=1)

    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "table")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Only itself: longer lists are other factors."""
        return goes_on(self.identity(), before)


def table_of(
    rows: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, Factor], Table]:
    """The factors and the design of runs that are listed.

    Args:
        rows: columns by name, or a CSV or Parquet file of them.

    The numbers become part of the plan.
    """
    if isinstance(rows, Mapping):
        factors = {name: factor_of(name, values) for name, values in rows.items()}
        return factors, Table.of(factors)
    from .identify.log import read_csv, read_parquet

    path = path_of(rows)
    cells = (read_parquet if path.suffix == ".parquet" else read_csv)(path)
    columns: dict[str, Factor] = {}
    for name, column in cells.items():
        if column.values is None or not np.isfinite(column.values).all():
            fault = column.problem or _not_finite(column.values)
            raise InvalidValue(f"{path}: column {name!r} cannot be a factor: {fault}")
        if not column.values.size:
            raise InvalidValue(f"{path}: column {name!r} has no rows; at least 1 is needed")
        columns[name] = factor_of(name, column.values)
    return columns, Table.of(columns)


def _not_finite(values: Array | None) -> str:
    bad = np.flatnonzero(~np.isfinite(values)) if values is not None else np.array([0])
    return f"row {bad[0] + 1} is empty or not finite, and {len(bad) - 1} others"


def _counts(what: str, factors: Mapping[str, Any]) -> dict[str, int]:
    """Numbers that each factor has; raises for one that is no list."""
    made = {name: factor_of(name, form) for name, form in factors.items()}
    counts = dict(zip(made, level_counts(made), strict=True))
    for name, count in counts.items():
        if not count:
            raise InvalidValue(
                f"factors[{name!r}] = {made[name]} has no list of numbers, which {what} needs; "
                "allowed are levels, such as [1, 2, 5], and {'steps': [low, high, count]}"
            )
    return counts


@dataclass(frozen=True)
class Converging:
    """Drawn runs, in rounds, until the confidence interval of a quantity is narrow enough.

    Looking again and again at an interval of 95 % would find it narrow at a moment when it is
    wrong, more often than in one case of twenty. So what the level leaves is shared equally between
    the looks that there can be: whenever it stops, the interval holds the truth with at least the
    level, exactly for probabilities and quantiles, for means as far as Student's distribution
    holds. That takes about twice the runs of a single look, and no more since each round adds half
    of all before it, so that there are few.

    Runs without a number are left out of means and quantiles, and have not reached a threshold.

    What it found: `value`, `low`, `high`, `level`; `reached`, whether the interval is narrow
    enough; `looks`, how often it looked; `runs`, and `without`, how many of them have no number.
    """

    column: str
    """What is looked at."""
    width: float
    """Of the interval, from end to end, in the unit of the column."""
    quantity: str | tuple[str, float] = "mean"
    """"mean", "probability" or ("quantile", share)."""
    threshold: float | None = None
    """Of a probability: that the column is at least that; None for a column of truths."""
    level: float = 0.95
    """Confidence of the interval."""
    first: int = 1000
    """Runs of the first round."""
    growth: float = 1.5
    """How many times as many runs there are after each round."""
    most: int = 100_000
    """Runs after which it ends, narrow enough or not."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        positive("width", self.width)
        object.__setattr__(self, "quantity", _quantity(self.quantity))
        if self.threshold is not None and self.quantity != "probability":
            raise InvalidValue(f"threshold = {self.threshold} is for quantity = 'probability'")
        if self.threshold is not None:
            finite("threshold", self.threshold)
        if not 0.0 < finite("level", self.level) < 1.0:
            raise InvalidValue(f"level = {self.level} must be between 0 and 1, such as 0.95")
        whole("first", self.first, "at least 2", least=2)
        if not finite("growth", self.growth) > 1.0:
            raise InvalidValue(f"growth = {self.growth} must be greater than 1")
        if not self.first <= whole("most", self.most) <= RUNS:
            raise InvalidValue(f"most = {self.most} must be from first = {self.first} to {RUNS}")

    @property
    def runs(self) -> int:
        """How many there are at most."""
        return self.most

    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "converging")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs, or a narrower interval, go on where it ended: that may only be later."""
        return goes_on(self.identity(), before, larger=("most",), smaller=("width",))

    def totals(self) -> list[int]:
        """Runs after each of the rounds that there can be."""
        totals = [self.first]
        while totals[-1] < self.most:
            totals.append(min(self.most, max(totals[-1] + 1, int(totals[-1] * self.growth))))
        return totals

    def rounds(self, factors: int, seed: int) -> Choosing:
        """Rounds of drawn runs."""
        drawn, totals = drawn_points(factors, seed), self.totals()
        level = 1.0 - (1.0 - self.level) / len(totals)
        values, before, findings = np.empty(0), 0, dict[str, Any]()
        for look, total in enumerate(totals, start=1):
            read = yield Round(total - before, _after(drawn, before), self.reads())
            values, before = np.concatenate([values, self._numbers(read)]), total
            value, low, high = self._interval(values, level)
            findings = {
                "value": _plain(value),
                "low": _plain(low),
                "high": _plain(high),
                "level": self.level,
                "reached": bool(high - low <= self.width),
                "looks": look,
                "runs": total,
                "without": int(np.isnan(values).sum()),
            }
            if findings["reached"]:
                break
        return findings

    def _numbers(self, read: Mapping[str, AnyArray]) -> Array:
        return np.asarray(read[self.column], dtype=np.float64)

    def _interval(self, values: Array, level: float) -> tuple[float, float, float]:
        if self.quantity == "probability":
            limit = 0.5 if self.threshold is None else self.threshold
            share = proportion(int((values >= limit).sum()), len(values), level)
            return share.value, share.low, share.high
        known = values[~np.isnan(values)]
        if not known.size:
            return math.nan, -math.inf, math.inf
        if isinstance(self.quantity, tuple):
            return quantile_of(known, self.quantity[1], level)[:3]
        return mean_of(known, level)[:3]


def _quantity(quantity: Any) -> Any:
    if quantity in ("mean", "probability"):
        return quantity
    pair = tuple(quantity) if isinstance(quantity, (list, tuple)) else ()
    if len(pair) != 2 or pair[0] != "quantile" or not 0.0 < finite("quantity[1]", pair[1]) < 1.0:
        raise InvalidValue(
            f"quantity = {quantity!r} must be 'mean', 'probability' or ('quantile', share) with a "
            "share between 0 and 1, such as ('quantile', 0.95)"
        )
    return "quantile", float(pair[1])


def _after(drawn: Any, before: int) -> Any:
    def points(numbers: Runs) -> Array:
        return drawn(numbers + before)

    return points


def _plain(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


DESIGNS: Mapping[str, Any] = {
    "converging": Converging,
    "grid": Grid,
    "latin_hypercube": LatinHypercube,
    "random": Random,
    "refinement": Refinement,
    "saltelli": Saltelli,
    "sobol": Sobol,
    "subset_simulation": SubsetSimulation,
    "table": Table,
}
"""The classes of designs by what their identities call them."""


def design_of(
    plain: Any, factors: Mapping[str, Factor] | None = None, *, place: str = "design"
) -> Design:
    """The design of a plain form, as in a file or a plan; raises for what is none.

    Args:
        plain: `{"kind": "sobol", "runs": 4096}`, `{"sobol": {"runs": 4096}}`, `{"sobol": 4096}`,
            or its name alone where all settings have a default or follow from the factors. The
            `first` of a refinement may be a number alone, of Sobol points.
        factors: of the campaign, from which `grid` and `table` know what they go through,
            `refinement` what are lists, and `saltelli` the runs of so many `samples`.
        place: where it stands, for errors.
    """
    kind, settings = _parts(plain, place)
    if kind not in DESIGNS:
        raise InvalidValue(unknown_name(place, kind, tuple(DESIGNS), "kind"))
    if kind == "refinement" and "first" in settings:
        first = settings["first"]
        plainly = {"sobol": first} if isinstance(first, (int, float)) else first
        made = design_of(plainly, factors, place=f"{place}.refinement.first")
        settings = {**settings, "first": made}
    if factors is not None:
        settings = _COMPLETED.get(kind, _unchanged)(settings, factors, f"{place}.{kind}")
    _check_names(DESIGNS[kind], settings, f"{place}.{kind}")
    try:
        return DESIGNS[kind](**{name: _frozen(value) for name, value in settings.items()})
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(f"{place}.{kind}: {error}") from error


def _parts(plain: Any, place: str) -> tuple[str, dict[str, Any]]:
    """The kind and the settings."""
    if isinstance(plain, str):
        return plain, {}
    if isinstance(plain, Mapping) and "kind" in plain:
        return str(plain["kind"]), {str(n): value for n, value in plain.items() if n != "kind"}
    if isinstance(plain, Mapping) and len(plain) == 1:
        ((kind, settings),) = plain.items()
        if isinstance(settings, Mapping):
            return str(kind), {str(name): value for name, value in settings.items()}
        return str(kind), {} if settings is None else {"runs": settings}
    raise InvalidValue(
        f"{place} = {plain!r} must be one of {', '.join(DESIGNS)} with its settings, as in "
        "{'sobol': {'runs': 4096}}"
    )


def _check_names(kind: Any, settings: Mapping[str, Any], place: str) -> None:
    known = tuple(field.name for field in fields(kind))
    for name in settings:
        if name not in known:
            raise InvalidValue(unknown_name(place, name, known, "setting"))
    for field in fields(kind):
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in settings:
            raise InvalidValue(f"{place} needs {field.name}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Settings = dict[str, Any]


def _unchanged(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings


def _with_counts(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings if settings else {"counts": Grid.of(factors).counts}


def _with_rows(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings if settings else {"runs": Table.of(factors).runs}


def _with_levels(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    levels = level_counts(factors)
    return {"levels": levels if any(levels) else (), **settings}


def _with_runs(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    if "samples" not in settings:
        return settings
    if "runs" in settings:
        raise InvalidValue(f"{place} takes runs or samples, not both")
    second = settings.get("second_order", False)
    runs = Saltelli.of(settings["samples"], len(factors), second).runs
    return {"runs": runs, "second_order": second}


_COMPLETED: dict[str, Callable[[Settings, Mapping[str, Factor], str], Settings]] = {
    "grid": _with_counts,
    "table": _with_rows,
    "refinement": _with_levels,
    "saltelli": _with_runs,
}
