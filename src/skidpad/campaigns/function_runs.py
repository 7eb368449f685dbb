"""A function of one's own as the experiment of a campaign: for what no other experiment does.

def stopping(v: si.m_s, mu: si.one, draw: Draw) -> dict[str, Array]:
    grip = mu * (1.0 + 0.05 * draw.normal()[:, 0])
    return {"distance": v**2 / (2.0 * 9.81 * grip)}

FunctionRuns(stopping, [Column("distance", "m", "until it stands")])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import must_be, whole
from ..errors import InvalidValue
from ..random import Draw
from ..record import unknown_name
from ..signature import Constant, arguments, pickled_fields
from ..trajectory.columns import Column as Series
from ..trajectory.trajectory import Trajectory
from ..units import Unit
from .blocks import Block, in_blocks
from .experiment import FAILED, Column, Means, Rows
from .functions import FAILURES, argument_marks, function_identity

DRAW, RUN_NUMBER, SEED = "draw", "run", "seed"
"""What a function may ask for beside factors."""


@dataclass(frozen=True, eq=False)
class FunctionRuns(Constant):
    """Runs of a Python function that can be imported.

    Factors are its arguments, with units and ranges as they are annotated. It may also name `draw`,
    a `skidpad.random.Draw` of these runs, `run`, their numbers, and `seed`, that of the campaign.
    It returns a column, or columns by name, of which some may be kept; `failed` may be among them.
    Else runs with a NaN have failed, and so have those for which it raises a `ValueError` or an
    `ArithmeticError`. Nothing is true of a run that failed.
    """

    function: Callable[..., Any]
    gives: Sequence[Column | str]
    """What it returns, in order; a name alone is a number without a unit."""
    _: KW_ONLY
    vectorised: bool = True
    """Whether it takes arrays (n,) and returns such; else it is called for each run with numbers,
    `draw` being of one run."""
    block: int = 256
    """Rows that a vectorised function is always called with; see `blocks`."""
    trajectory: Callable[..., Trajectory] | None = None
    """What a run is replayed by: a function with the same arguments, which are numbers. Without
    one a replay has one sample, with the columns."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        whole("block", self.block, "at least 1")
        gives = self.gives
        listed = [gives] if isinstance(gives, (str, Column)) else list(gives)
        columns = tuple(Column(one) if isinstance(one, str) else one for one in listed)
        object.__setattr__(self, "gives", columns)
        if not self.vectorised:
            object.__setattr__(self, "block", 1)
        self.identity()

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a FunctionRuns", self, "take another function")

    @property
    def threaded(self) -> bool:
        """Python runs on one processor."""
        return False

    def factor_units(self) -> dict[str, str]:
        """Its arguments."""
        return {name: argument_marks(self.function, name)[0] for name in self._arguments()}

    def columns(self) -> tuple[Column, ...]:
        """As given."""
        return tuple(one for one in self.gives if isinstance(one, Column))

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for ends outside of what arguments are annotated with, and for arguments that have
        neither a factor nor a default."""
        for name, pair in ends.items():
            unit, allowed = argument_marks(self.function, name)
            for end in pair:
                must_be(f"factor {name}", end, allowed, unit)
        for name, usual in self._arguments().items():
            if usual is inspect.Parameter.empty and name not in ends:
                raise InvalidValue(f"argument {name} of {self._name} has no default and no factor")

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each."""
        out = self._nothing(len(rows.runs))
        for block in in_blocks(rows, self.block):
            for part, columns in self._of_block(block):
                for name, values in columns.items():
                    out[name][part.among] = values[part.places]
        return out

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows`."""
        if self.trajectory is not None:
            return self.trajectory(**self._numbers(rows, self.trajectory))
        columns = self.evaluate(rows, Means())
        series = [
            Series(one.name, Unit(one.unit or "1"), "output", columns[one.name].astype(float))
            for one in self.columns()
        ]
        return Trajectory(np.zeros(1), tuple(series), self._name)

    def identity(self) -> dict[str, Any]:
        """Where the function is imported from and what it does; see `functions`."""
        own = {"kind": "function", **function_identity("function", self.function)}
        return {**own, "vectorised": self.vectorised, "block": self.block}

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it is the same function: more of its columns may be kept."""
        return self.identity() == before

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def _arguments(self) -> dict[str, Any]:
        """Those that are factors, with their defaults."""
        parameters = inspect.signature(self.function).parameters
        arguments("function", self.function, tuple(parameters))
        return {
            name: one.default
            for name, one in parameters.items()
            if name not in (DRAW, RUN_NUMBER, SEED)
            and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        }

    def _of_block(self, block: Block) -> list[tuple[Block, dict[str, AnyArray]]]:
        """What came of a block; where it raises, of each of its runs that does not."""
        try:
            return [(block, self._called(block.rows))]
        except FAILURES:
            if len(block.places) == 1:
                return []
        alone = [block.alone(place) for place in block.places.tolist()]
        return [pair for one in alone for pair in self._of_block(one)]

    def _called(self, rows: Rows) -> dict[str, AnyArray]:
        if self.vectorised:
            values: dict[str, Any] = {**rows.factors, **_beside(rows)}
            answer = self.function(**_asked(self.function, values))
        else:
            answer = self.function(**self._numbers(rows, self.function))
        return self._columns_of(answer, len(rows.runs))

    def _numbers(self, rows: Rows, function: Callable[..., Any]) -> dict[str, Any]:
        """Arguments of a function of one run."""
        values: dict[str, Any] = {name: float(row[0]) for name, row in rows.factors.items()}
        return _asked(function, {**values, **_beside(rows), RUN_NUMBER: int(rows.runs[0])})

    def _columns_of(self, answer: Any, count: int) -> dict[str, AnyArray]:
        """What a function returned, by name and checked."""
        columns = self.columns()
        names = [column.name for column in columns]
        if not isinstance(answer, Mapping):
            if len(names) != 1:
                raise TypeError(f"{self._name} must return {', '.join(names)} by name: {answer!r}")
            answer = {names[0]: answer}
        out: dict[str, AnyArray] = {}
        for column in columns:
            if column.name not in answer:
                there = [str(name) for name in answer]
                raise TypeError(unknown_name(self._name, column.name, there, "column"))
            out[column.name] = self._column(column.name, answer[column.name], count, column.kind)
        lost = self._lost(out, count)
        failed = self._column(FAILED, answer[FAILED], count, "truth") if FAILED in answer else lost
        truths = {column.name for column in columns if column.kind == "truth"}
        out = {name: values & ~failed if name in truths else values for name, values in out.items()}
        return {**out, FAILED: failed}

    def _column(self, name: str, values: Any, count: int, kind: str) -> AnyArray:
        array = np.asarray(values, dtype=bool if kind == "truth" else float)
        if array.shape not in ((), (1,), (count,)):
            shape = array.shape
            raise TypeError(f"{self._name} returned {name} of shape {shape}; allowed is ({count},)")
        return np.broadcast_to(array, (count,))

    def _lost(self, out: Mapping[str, AnyArray], count: int) -> AnyArray:
        lost = np.zeros(count, dtype=bool)
        for column in self.columns():
            if column.kind == "number":
                lost |= np.isnan(out[column.name])
        return lost

    def _nothing(self, count: int) -> dict[str, Array]:
        """Rows of runs that have all failed."""
        kinds = {column.name: column.kind for column in self.columns()}
        empty: dict[str, Any] = {
            name: np.zeros(count, dtype=bool) if kind == "truth" else np.full(count, np.nan)
            for name, kind in kinds.items()
        }
        return {**empty, FAILED: np.ones(count, dtype=bool)}


def _beside(rows: Rows) -> dict[str, Any]:
    """What a function may ask for beside factors."""
    draw = Draw(rows.seed, "function", rows.runs)
    return {DRAW: draw, RUN_NUMBER: rows.runs, SEED: rows.seed}


def _asked(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that a function names."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in values.items() if name in names}
