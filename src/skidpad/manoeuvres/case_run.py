"""What was driven: signals over time of all variants of a vehicle, and how it ended for each.

Motion is that of the centre of mass, whatever point the vehicle's state is about. Signals have the
shape (T, V): samples and variants. A measured log becomes one with V = 1 (`from_columns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..units import m_s, rad, s

__all__ = ["OK", "CaseRun", "Source", "all_done", "endings", "from_columns", "picked"]

OK = "done"
"""How a drive ended that nothing went wrong in."""
SPUN: rad = np.deg2rad(60.0)
"""Sideslip from which on a vehicle counts as spun."""
MOVING: m_s = 2.0
"""Speed below which sideslip means nothing."""
MOST_NAMED = 4
"""Drives that a note names."""
MOST_COLUMNS = 12
"""Columns that a message names."""
TIPPED: s = 0.3
"""Time with both wheels of a side in the air from which on it counts as rolled over."""


class Source(NamedTuple):
    """What is to be known of the signals of a log beside their values."""

    steady: frozenset[str] = frozenset()
    """Signals that are right while nothing changes, and unknown when something does."""
    unused: tuple[str, ...] = ()
    """Columns of the log that are no signals."""

    @property
    def listed(self) -> str:
        """The columns that are not used, for messages."""
        more = len(self.unused) - MOST_COLUMNS
        return ", ".join(self.unused[:MOST_COLUMNS]) + (f" and {more} more" if more > 0 else "")


NOTHING = Source()


@dataclass(frozen=True, eq=False)
class CaseRun:
    """Signals of one case."""

    label: str
    t: Array
    """Times in s, (T,); negative during the run-in."""
    signals: Mapping[str, Array]
    """By name, each (T, V); see `docs/proving_ground.md` for their names and signs."""
    states: Array | None = None
    """Of the vehicle, (T, V, nx); None of a log."""
    inputs: Array | None = None
    """Of the vehicle, (T, V, nu); None of a log."""
    source: Source = NOTHING
    """Of a log; empty of a simulated drive."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.signals:
            known = ", ".join(sorted(self.signals))
            raise InvalidValue(f"{self.label} has no signal {name!r}; there are {known}")
        return self.signals[name]

    def __contains__(self, name: str) -> bool:
        return name in self.signals

    def changing(self, name: str) -> Array:
        """A signal for what changes in it, (T, V): NaN if it is right in a steady state alone."""
        values = self[name]
        return np.full(values.shape, np.nan) if name in self.source.steady else values

    @property
    def variants(self) -> int:
        """How many vehicles drove it."""
        return next(iter(self.signals.values())).shape[1]

    def since(self, begin: s, end: s = np.inf) -> CaseRun:
        """The part between two times."""
        first = int(np.searchsorted(self.t, begin - 1e-9))
        kept = slice(first, int(np.searchsorted(self.t, end + 1e-9, side="right")))
        parts = {name: values[kept] for name, values in self.signals.items()}
        states = None if self.states is None else self.states[kept]
        inputs = None if self.inputs is None else self.inputs[kept]
        return CaseRun(self.label, self.t[kept], parts, states, inputs, self.source)

    def variant(self, k: int) -> CaseRun:
        """One of the vehicles alone."""
        parts = {name: values[:, k : k + 1] for name, values in self.signals.items()}
        states = None if self.states is None else self.states[:, k : k + 1]
        inputs = None if self.inputs is None else self.inputs[:, k : k + 1]
        return CaseRun(self.label, self.t, parts, states, inputs, self.source)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """How it ended for each variant: "done", "diverged", "rolled over" or "spun"."""
        diverged: Any = ~np.isfinite(self["v_x"]).all(axis=0)
        moving = np.hypot(self["v_x"], self["v_y"]) > MOVING
        spun: Any = (moving & (np.abs(self["sideslip"]) > SPUN)).any(axis=0)
        happened = {"diverged": diverged, "rolled over": self._rolled_over(), "spun": spun}
        return tuple(
            next((name for name, those in happened.items() if those[k]), OK)
            for k in range(self.variants)
        )

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which variants came through, (V,)."""
        return np.array([outcome == OK for outcome in self.outcomes])

    def _rolled_over(self) -> NDArray[np.bool_]:
        sides = [("F_z_fl", "F_z_rl"), ("F_z_fr", "F_z_rr")]
        if any(name not in self for side in sides for name in side):
            return np.zeros(self.variants, dtype=bool)
        samples = max(int(TIPPED / (self.t[1] - self.t[0])), 1)
        rolled = np.zeros(self.variants, dtype=bool)
        for side in sides:
            air = np.logical_and.reduce([self[name] <= 1.0 for name in side])
            count = np.cumsum(air, axis=0)
            rolled |= (count[samples:] - count[:-samples] >= samples).any(axis=0)
        return rolled


def all_done(runs: Sequence[CaseRun]) -> NDArray[np.bool_]:
    """Which variants came through all of several runs, (V,)."""
    return np.logical_and.reduce([run.done for run in runs])


def endings(runs: Sequence[CaseRun]) -> list[str]:
    """How runs ended in which something went wrong for the first variant: a note for each kind."""
    kinds: dict[str, list[str]] = {}
    for run in runs:
        if run.outcomes[0] != OK:
            kinds.setdefault(run.outcomes[0], []).append(run.label)
    return [
        f"{kind}: {'; '.join(labels[:MOST_NAMED])}"
        + (f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else "")
        for kind, labels in kinds.items()
    ]


def picked(runs: Sequence[CaseRun], which: Any) -> CaseRun:
    """One run in which each variant drives that of its number in `which`, (V,), of several runs
    that are as long."""
    first, column = runs[int(which[0])], np.arange(len(which))

    def chosen(parts: Sequence[Array]) -> Array:
        return np.stack(parts)[which, :, column].swapaxes(0, 1)

    signals = {name: chosen([run[name] for run in runs]) for name in first.signals}
    rows = [[run.states for run in runs], [run.inputs for run in runs]]
    states, inputs = (
        None if parts[0] is None else chosen(parts)  # type: ignore[arg-type]
        for parts in rows
    )
    return CaseRun(first.label, first.t, signals, states, inputs, first.source)


def from_columns(
    label: str, t: Any, columns: Mapping[str, Any], source: Source = NOTHING
) -> CaseRun:
    """A measured log: times in s, (T,), and signals by the names of `CaseRun`, each (T,)."""
    times = np.asarray(t, dtype=float)
    signals = {name: np.asarray(values, dtype=float)[:, None] for name, values in columns.items()}
    for name, values in signals.items():
        if len(values) != len(times):
            raise InvalidValue(f"{name} has {len(values)} samples; expected {len(times)}, as t")
    return CaseRun(label, times, signals, source=source)
