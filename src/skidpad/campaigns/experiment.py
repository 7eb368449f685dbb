"""What a run of a campaign is: anything that turns factors and a run's number into numbers.

A drive of a vehicle, a manoeuvre, a world and a function of one's own are experiments. To write
one, make a frozen dataclass that can be pickled, because it goes to other processes and machines,
with the methods of `Experiment`:

1. A row of `evaluate` depends on its run's number, its factors and the seed, on nothing else: not
   on the other rows, the threads, the device or the order. Where the shape of an array could show
   (a sum over one rounds by it), rows are evaluated in blocks of fixed size, a row at its run's
   number modulo `block`, with copies of any row where there is none.
2. All randomness comes from counter-based streams: `skidpad.random.Draw(rows.seed, channel,
   rows.runs, step)`.
3. A run that fails (diverges, spins, ends early) is a row like any other, with NaN where there is
   no number, `failed` where it failed, and nothing true beside that; `evaluate` raises only for
   what no run could do.
4. `replay` repeats one run with the same bits, and more of it: a trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..trajectory.trajectory import Trajectory

Runs = NDArray[np.int64]
"""Numbers of runs, from 0."""
RUN, FAILED = "run", "failed"
"""Columns that every campaign has: the number of the run, and whether it failed."""


class Column(NamedTuple):
    """What a campaign keeps of every run."""

    name: str
    unit: str = ""
    """SI; empty of a ratio, of a count and of what is true or false."""
    meaning: str = ""
    """One sentence."""
    kind: str = "number"
    """"number" (float64) or "truth" (bool)."""


class Rows(NamedTuple):
    """Runs to be done, and what differs between them."""

    runs: Runs
    """(n,)"""
    factors: Mapping[str, Array]
    """By name, (n,) each, in the unit of what they set."""
    seed: int
    """Of the campaign; run k draws from the streams of this seed and k."""

    __repr__ = brief_repr

    def part(self, which: slice | AnyArray) -> Rows:
        """Some of the rows: a slice, or their places (n,)."""
        factors = {name: values[which] for name, values in self.factors.items()}
        return Rows(self.runs[which], factors, self.seed)


@dataclass(frozen=True)
class Means:
    """What an experiment may use."""

    threads: int | None = None
    """None for all processors."""
    device: str = "cpu"
    """"cpu" or "cuda"."""


class Experiment(Protocol):
    """What is run; see the text of this module for what it promises."""

    @property
    def block(self) -> int:
        """Chunks are cut at multiples of so many runs where they can be; 1 for any."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether one process keeps all processors busy; else several processes are used."""
        ...

    def factor_units(self) -> Mapping[str, str]:
        """Names that a factor may have, with units: parameters (`m`), starts (`x0.v_x`), ..."""
        ...

    def columns(self) -> tuple[Column, ...]:
        """What `evaluate` gives beside `failed`, in order."""
        ...

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise `InvalidValue` for factors whose smallest and largest values cannot be meant."""
        ...

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed` (bool), (n,) each."""
        ...

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows` again, with the same bits."""
        ...

    def identity(self) -> dict[str, Any]:
        """What it is, as plain values (JSON) that are the same in every process and change if and
        only if the numbers of `evaluate` may change: names, parameters, digests of Programs."""
        ...

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether its runs are those of the experiment with this identity, and it only gives more
        columns of each: then a folder of that one can be gone on with."""
        ...
