"""The logs of a fit: what is fitted, what is held out, and the errors before and after.

Compared channels are taken as they were measured. The filters of a preparation have no delay, so
they smear a step forwards and backwards, which a fit would take for a slower vehicle. Channels that
drive the vehicle are filtered: noise of an input shows in the replay and not in the measurement,
which a fit would take for a weaker response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import one, s
from ..logs.log import Channel, Log
from ..logs.preparation import STEPS, Prepared, prepare
from .problem import Problem
from .replay import HORIZONS, LEAD, LONGEST_STEP, Guess, Replay
from .unknowns import LATEST, Unknown
from .window_errors import errors_by_horizon, replayed_log

PARTS = ("training", "held out")
"""Parts of the logs of a fit."""
Span = tuple[s, s] | None
"""Begin and end of a part of a log; None for all of it."""
SHORTEST_WINDOW: s = 1.5
"""Length of the windows that a fit begins with, and of the shortest it chooses."""
LEAST_HELD: s = 1.5
"""Shortest part of a log that is held out, besides the run-in and the time for delays."""


class ErrorRow(NamedTuple):
    """Error of a channel before and after the fit, in free runs from the measured state."""

    channel: str
    unit: str
    horizon: s
    """Time since the start of the windows; 0 for all of the windows."""
    part: str
    """ "training" or "held out"."""
    before: float
    """Root mean square with the initial parameters; infinite if a run diverges."""
    after: float

    __repr__ = brief_repr


@dataclass(frozen=True)
class Training:
    """The logs of a fit and how they are replayed."""

    vehicle: Vehicle
    fitted: Sequence[tuple[Prepared, Span]]
    """Logs that are fitted, each with the part of it that is."""
    held: Sequence[tuple[Prepared, Span]]
    """Logs that are held out."""
    longest: s
    """Longest delay of a command that is tried."""
    loss: str
    options: Mapping[str, Any]
    """Further arguments of `Replay`."""
    notes: tuple[str, ...] = ()

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the logs that are fitted."""
        return tuple(dict.fromkeys(drive.name for drive, _ in self.fitted))

    def with_ends_held_out(self, share: one) -> Training:
        """Hold out a share of each log, at its end."""
        if not 0.0 <= share < 1.0:
            raise InvalidValue(f"hold_out = {share:g} must be from 0 to below 1, or logs")
        fitted: list[tuple[Prepared, Span]] = []
        held: list[tuple[Prepared, Span]] = []
        notes: list[str] = []
        for drive, _ in self.fitted if share else ():
            begin, end = float(drive.t[0]), float(drive.t[-1])
            cut = end - share * (end - begin)
            if end - cut < self._ahead + LEAD + LEAST_HELD:
                fitted.append((drive, None))
                notes.append(f"{drive.name} is too short to hold out {share:.0%} of it")
            else:
                fitted.append((drive, (begin, cut)))
                held.append((drive, (cut, end)))
        return replace(self, fitted=fitted, held=held, notes=tuple(notes)) if share else self

    def with_smooth_sources(self) -> Training:
        """Filter the measured motion that drives the vehicle."""
        known: dict[int, Prepared] = {}
        for drive, span in (*self.fitted, *self.held):
            (replay,) = self._replays([(drive, span)], SHORTEST_WINDOW)
            own = {n: drive.channels[n] for n in replay.sources}
            if own and id(drive) not in known:
                log = Log(drive.name, {n: Channel(drive.t, values) for n, values in own.items()})
                fine = prepare(log, period=drive.dt, without=[n for n in STEPS if n != "filter"])
                smooth = {n: np.interp(drive.t, fine.t, fine[n]) for n in own}
                smooth = {n: np.where(np.isfinite(own[n]), v, np.nan) for n, v in smooth.items()}
                known[id(drive)] = replace(drive, channels={**drive.channels, **smooth})
        fitted, held = (
            [(known.get(id(drive), drive), span) for drive, span in part]
            for part in (self.fitted, self.held)
        )
        return replace(self, fitted=fitted, held=held)

    @property
    def _ahead(self) -> s:
        """Time before the first window in which commands act in it."""
        return self.longest if self.vehicle.model.dead_times else 0.0

    def _replays(
        self, parts: Sequence[tuple[Prepared, Span]], window: s, **more: Any
    ) -> tuple[Replay, ...]:
        more = {"longest": self._ahead, **self.options, **more}
        return tuple(
            Replay(self.vehicle, drive, window=window, span=span, **more) for drive, span in parts
        )

    def problem(self, unknowns: Sequence[Unknown], window: s, dt: s = LONGEST_STEP) -> Problem:
        """What is fitted in windows of some length, and what is unknown of it."""
        more: dict[str, Any] = {"dt": dt}
        if any(u.delay and not u.delay.startswith("u_") for u in unknowns):
            more["lead"] = max(self.options.get("lead") or LEAD, LATEST)
        return Problem(self._replays(self.fitted, window, **more), tuple(unknowns), self.loss)

    def replays(self, part: str, dt: s, **more: Any) -> tuple[Replay, ...]:
        """Replays in long windows of one of the `PARTS` of the logs."""
        parts = self.fitted if part == PARTS[0] else self.held
        return self._replays(parts, max(HORIZONS), dt=dt, **more)

    def errors(self, part: str, guess: Guess, dt: s) -> list[ErrorRow]:
        """Errors before and after a fit, by channel and horizon."""
        sides = {"before": Guess(), "after": guess}
        runs = [
            replayed_log(side, replay, one_guess, np.ones(replay.windows, dtype=bool))
            for replay in self.replays(part, dt, stride=1.0)
            for side, one_guess in sides.items()
        ]
        found = errors_by_horizon(list(sides), runs, HORIZONS)
        half = len(found) // 2
        return [
            ErrorRow(before.channel, before.unit, before.horizon, part, before.rmse, after.rmse)
            for before, after in zip(found[:half], found[half:], strict=True)
        ]
