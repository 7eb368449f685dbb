"""Performing a show: as fast as it goes, to its end, to an error or to Ctrl-C.

`perform_into` also leaves a recording and a replay page of it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from ..brief import brief_repr
from ..checks import not_negative, positive, steps_in
from ..errors import InvalidValue, SkidpadError
from ..extras import require_extras
from ..units import per_s, s
from .figures import Tally
from .film_buffer import FilmBuffer
from .show import Segment, Show

PERIOD: s = 0.05
"""Wall time between looks at the clock, at Ctrl-C, and at those who watch."""
MOST_STEPS = 20_000
"""Between two such looks, for the memory they take."""

Keeper = Callable[[Segment], object]
"""Takes what happened in a segment of the run."""


@dataclass(frozen=True)
class Outcome:
    """How a performance went."""

    tally: Tally
    wanted: s
    """How long it was to last."""
    done: s
    """How long it lasted."""
    elapsed: s
    """How long that took, of wall time; without the first step, which may have to compile."""
    error: SkidpadError | None
    """Why it could not go on."""

    __repr__ = brief_repr

    @property
    def stopped(self) -> bool:
        """Whether it ended before its time."""
        return self.done < self.wanted


def perform(
    show: Show,
    *,
    duration: s | None = None,
    rate: per_s | None = None,
    keepers: Sequence[Keeper] = (),
    watch: Callable[[s], None] | None = None,
) -> Outcome:
    """Run a show.

    Args:
        show: a fresh one.
        duration: simulated time; what the show suggests if None.
        rate: samples per second of simulated time, or a few more: every whole number of steps.
        keepers: called with every segment, the first moment too.
        watch: told the simulated time now and then.
    """
    count = _step_count(show, duration)
    every = max(1, int(1.0 / (checked_rate(show.rate if rate is None else rate) * show.dt) + 1e-9))
    first = show.begin(every)
    tally = Tally(show, first)
    for keep in keepers:
        keep(first)
    with _ctrl_c() as asked_to_stop:
        elapsed = _run(show, count, tally, keepers, watch, asked_to_stop)
    return Outcome(tally, count * show.dt, tally.steps * show.dt, elapsed, show.error)


def _step_count(show: Show, duration: s | None) -> int:
    # A show suggests a time, such as that of a lap, without looking at its steps.
    suggested = not_negative("duration", show.duration, "s")
    return round(suggested / show.dt) if duration is None else steps_in(duration, show.dt)


def _run(
    show: Show,
    count: int,
    tally: Tally,
    keepers: Sequence[Keeper],
    watch: Callable[[s], None] | None,
    asked_to_stop: Callable[[], bool],
) -> s:
    """Run to the end; returns how long it took after the first step."""
    steps, begin, before = 1, None, perf_counter()
    while tally.steps < count and show.error is None and not asked_to_stop():
        segment = show.advance(min(steps, count - tally.steps))
        tally.add(segment)
        for keep in keepers:
            keep(segment)
        if watch is not None:
            watch(tally.steps * show.dt)
        now = perf_counter()
        if begin is None:
            begin = before = now
            continue
        # As many steps as fit into a period, approached from below.
        fitting = steps * PERIOD / max(now - before, 1e-6)
        steps, before = int(min(max(fitting, 1), 4 * steps, MOST_STEPS)), now
    return 0.0 if begin is None else perf_counter() - begin


@contextmanager
def _ctrl_c() -> Generator[Callable[[], bool]]:
    """Whether somebody pressed Ctrl-C, which otherwise does nothing; pressed again it interrupts.

    An exception out of nowhere would tear whatever is being written.
    """
    pressed = False

    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Performance:
    """How a show went and what it left behind."""

    outcome: Outcome
    recording: Path | None
    page: Path | None

    __repr__ = brief_repr


def perform_into(
    show: Show,
    folder: Path,
    name: str,
    *,
    record: bool = True,
    page: bool = True,
    duration: s | None = None,
    rate: per_s | None = None,
    watch: Callable[[s], None] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Performance:
    """Perform a show and leave NAME.mcap and NAME.html in a folder, which is made if need be.

    The files are there whatever ends the run: its time, an error of the show or Ctrl-C. `meta` is
    noted in the recording.
    """
    if record:
        require_extras("recording", purpose="a recording")
    # Whatever is refused is refused before there is a folder.
    _step_count(show, duration)
    samples = checked_rate(show.rate if rate is None else rate)
    if record or page:
        make_folder(folder)
    recording, html = folder / f"{name}.mcap", folder / f"{name}.html"
    buffer = FilmBuffer(show.stage)
    with ExitStack() as stack:
        if record:
            stack.enter_context(show.record(recording, samples, meta or {}))
        keepers = [buffer.add] if page else []
        outcome = perform(show, duration=duration, rate=rate, keepers=keepers, watch=watch)
    if page:
        buffer.film(_note(outcome)).to_html(html)
    return Performance(outcome, recording if record else None, html if page else None)


def _note(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"ended at {outcome.done:.2f} s: {outcome.error}"
    return f"stopped at {outcome.done:.2f} s of {outcome.wanted:g} s" if outcome.stopped else ""


def make_folder(folder: Path) -> None:
    """Make a folder if need be; raises if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write into {folder}: {error.strerror}") from error


def checked_rate(rate: per_s) -> per_s:
    """A rate of samples; raises if it is none."""
    positive("rate", rate, "Hz")
    return float(rate)
