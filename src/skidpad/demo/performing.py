"""Running shows as fast as possible, until the end, an error or Ctrl-C, with their statistics.

`perform_into` also writes a recording and a replay page. `report` prints a few numbers of each
vehicle:

* distance: length of the path of its reference point;
* accelerations: the largest change of velocity in a step, divided by the length of the step, in the
  longitudinal and lateral direction of the vehicle before the step;
* effort: the amount of steering, driving and braking. The total variation of each input (the sum of
  its absolute changes), relative to its span, summed over the inputs: 1 is one input once from end
  to end. The span is the range that the vehicle's limits allow or, without limits, the range over
  which inputs of that name and model varied in this run.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import degrees
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.arrays import Array
from ..core.checks import not_negative, positive, steps_in
from ..core.files import brief_repr, counted
from ..core.progress import interactive, watching
from ..errors import InvalidValue, SkidpadError, require_extras
from ..geometry.pose import unrotated
from ..units import m, m_s, m_s2, per_s, s
from ..units import one as figures_one
from .shows import FilmBuffer, Laps, Segment, Show


class Figures(NamedTuple):
    """Statistics of one vehicle over a run; see the module docstring for their definitions."""

    name: str
    distance: m
    lap_times: tuple[s, ...] | None
    """Times of the completed laps in s; None for a vehicle without a start line."""
    top_speed: m_s
    a_along: m_s2
    """Largest longitudinal acceleration in m/s², regardless of sign."""
    a_across: m_s2
    """Largest lateral acceleration in m/s², regardless of sign."""
    collisions: int | None
    """Number of contacts that began; None if there is nothing to touch."""
    effort: figures_one
    pose: tuple[float, float, float]
    """Final pose: x and y in m, yaw in rad."""

    __repr__ = brief_repr


class Tally:
    """Accumulates statistics of a run; arrays have one entry per vehicle, in show order."""

    __repr__ = brief_repr

    def __init__(self, show: Show, first: Segment) -> None:
        count = len(show.vehicles)
        self._show = show
        self.steps = 0
        self.distance, self.top_speed = np.zeros(count), np.zeros(count)
        self.a_along, self.a_across = np.zeros(count), np.zeros(count)
        self.collisions: NDArray[np.int64] = np.zeros(count, np.int64)
        self.laps = Laps(show.vehicles, show.start_lines)
        self._t, self._motion = first.t[-1:], first.motion[-1:]
        self.laps.start(float(self._t[0]), self._motion[0, :, :2])
        self._see_speed(self._motion)
        self._inputs: Array | None = None
        inputs = len(show.inputs)
        self._way = np.zeros(inputs)
        self._low, self._high = np.full(inputs, np.inf), np.full(inputs, -np.inf)

    def add(self, segment: Segment) -> None:
        if not len(segment.t):
            return
        t = np.concatenate([self._t, segment.t])
        motion = np.concatenate([self._motion, segment.motion])
        moved = np.diff(motion, axis=0)
        self.distance += np.hypot(moved[..., 0], moved[..., 1]).sum(axis=0)
        self._see_speed(segment.motion)
        change = moved[..., 3:5] / np.diff(t)[:, None, None]
        along, across = unrotated(change[..., 0], change[..., 1], motion[:-1, :, 2])
        self.a_along = np.maximum(self.a_along, np.abs(along).max(axis=0))
        self.a_across = np.maximum(self.a_across, np.abs(across).max(axis=0))
        inputs = segment.inputs
        known = inputs if self._inputs is None else np.concatenate([self._inputs, inputs])
        self._way += np.abs(np.diff(known, axis=0)).sum(axis=0)
        self._low = np.minimum(self._low, inputs.min(axis=0))
        self._high = np.maximum(self._high, inputs.max(axis=0))
        self._inputs = inputs[-1:]
        self.laps.add(t, motion[..., :2])
        self.collisions += segment.collisions
        self._t, self._motion = t[-1:], motion[-1:]
        self.steps += len(segment.t)

    def _see_speed(self, motion: Array) -> None:
        speed = np.hypot(motion[..., 3], motion[..., 4])
        self.top_speed = np.maximum(self.top_speed, speed.max(axis=0))

    @property
    def effort(self) -> Array:
        """Control effort of each vehicle; see the module docstring for the definition."""
        seen: dict[tuple[str, str], tuple[float, float]] = {}
        columns = self._show.inputs
        for k, column in enumerate(columns):
            low, high = seen.get((column.model, column.name), (np.inf, -np.inf))
            seen[column.model, column.name] = min(low, self._low[k]), max(high, self._high[k])
        effort = np.zeros(len(self._show.vehicles))
        for k, column in enumerate(columns):
            low, high = seen[column.model, column.name]
            span = high - low if column.span is None else column.span
            if self._way[k] > 0.0 and span > 0.0:
                effort[column.vehicle] += self._way[k] / span
        return effort

    def figures(self) -> list[Figures]:
        effort, show = self.effort, self._show
        return [
            Figures(
                name=name,
                distance=float(self.distance[k]),
                lap_times=self.laps.times(k) if self.laps.counted(k) else None,
                top_speed=float(self.top_speed[k]),
                a_along=float(self.a_along[k]),
                a_across=float(self.a_across[k]),
                collisions=int(self.collisions[k]) if show.meets else None,
                effort=float(effort[k]),
                pose=tuple(self._motion[0, k, :3].tolist()),
            )
            for k, name in enumerate(show.vehicles)
        ]


PERIOD: s = 0.05
"""Wall time in s between checks of the clock, of Ctrl-C and of the progress callback."""
MOST_STEPS = 20_000
"""Largest number of steps between such checks, to limit the memory."""

Keeper = Callable[[Segment], object]


@dataclass(frozen=True)
class Outcome:
    """Statistics, durations and error of a performed show."""

    tally: Tally
    wanted: s
    """Requested duration in s of simulated time."""
    done: s
    """Achieved duration in s of simulated time."""
    elapsed: s
    """Wall time in s, without the first step, which may have to compile."""
    error: SkidpadError | None

    __repr__ = brief_repr

    @property
    def stopped(self) -> bool:
        """Whether the run ended before the requested duration."""
        return self.done < self.wanted


def perform(
    show: Show,
    *,
    duration: s | None = None,
    rate: per_s | None = None,
    keepers: Sequence[Keeper] = (),
    watch: Callable[[s], None] | None = None,
) -> Outcome:
    """Run a show and accumulate its statistics.

    Args:
        show: a new show.
        duration: simulated time in s; the show's default if None.
        rate: samples per second of simulated time, or slightly more: every whole number of steps.
        keepers: called with every segment, including the initial one.
        watch: called repeatedly with the simulated time in s.
    """
    count = _step_count(show, duration)
    rate = positive("rate", show.rate if rate is None else rate, "Hz")
    first = show.begin(max(1, int(1.0 / (rate * show.dt) + 1e-9)))
    tally = Tally(show, first)
    for keep in keepers:
        keep(first)
    steps, begin, before = 1, None, perf_counter()
    with _ctrl_c() as asked_to_stop:
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
            # The largest number of steps that fits into a sample period.
            fitting = steps * PERIOD / max(now - before, 1e-6)
            steps, before = int(min(max(fitting, 1), 4 * steps, MOST_STEPS)), now
        elapsed = 0.0 if begin is None else perf_counter() - begin
    return Outcome(tally, count * show.dt, tally.steps * show.dt, elapsed, show.error)


def _step_count(show: Show, duration: s | None) -> int:
    # The default duration of a show, such as a lap time, need not be a multiple of its step.
    suggested = not_negative("duration", show.duration, "s")
    return round(suggested / show.dt) if duration is None else steps_in(duration, show.dt)


@contextmanager
def _ctrl_c() -> Generator[Callable[[], bool]]:
    """Context manager that yields a function that returns whether Ctrl-C was pressed.

    The first Ctrl-C has no other effect, so that no file is interrupted while it is written; the
    second one interrupts.
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
    """Outcome of a performed show, and the files that it wrote."""

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
    """Run a show and write NAME.mcap and NAME.html to a folder, which is created if needed.

    The files are written however the run ends: normally, by an error of the show or by Ctrl-C.
    `meta` is stored in the recording.
    """
    if record:
        require_extras("recording", purpose="a recording")
    # Check all arguments before the folder is created.
    _step_count(show, duration)
    samples = positive("rate", show.rate if rate is None else rate, "Hz")
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
        note = f"stopped at {outcome.done:.2f} s of {outcome.wanted:g} s" if outcome.stopped else ""
        if outcome.error is not None:
            note = f"ended at {outcome.done:.2f} s: {outcome.error}"
        buffer.film(note).to_html(html)
    return Performance(outcome, recording if record else None, html if page else None)


def make_folder(folder: Path) -> None:
    """Create a folder if needed; raises if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write into {folder}: {error.strerror}") from error


MOST_ROWS = 60
"""Largest number of vehicles that are listed, the first ones."""
WIDE = 110
"""Terminal width in characters from which final poses are shown."""
NONE = "–"


class Column(NamedTuple):
    """Column of the table of vehicle statistics."""

    name: str
    unit: str
    cell: Callable[[Figures], str]


def _count(value: int | None) -> str:
    return NONE if value is None else str(value)


COLUMNS = (
    Column("distance", "m", lambda one: f"{one.distance:.2f}"),
    Column("laps", "", lambda one: _count(None if one.lap_times is None else len(one.lap_times))),
    Column("best\nlap", "s", lambda one: f"{min(one.lap_times):.2f}" if one.lap_times else NONE),
    Column("top\nspeed", "m/s", lambda one: f"{one.top_speed:.2f}"),
    Column("peak acc.\nalong", "m/s²", lambda one: f"{one.a_along:.2f}"),
    Column("\nacross", "m/s²", lambda one: f"{one.a_across:.2f}"),
    Column("colli-\nsions", "", lambda one: _count(one.collisions)),
    Column("effort", "", lambda one: f"{one.effort:.2f}"),
)
LAPS = ("laps", "best\nlap")
"""Columns that are omitted if there are no start lines."""
LEAST = ("effort", "\nacross", "peak acc.\nalong", "laps", "colli-\nsions", "top\nspeed")
"""Columns that are omitted, in this order, if the terminal is too narrow."""
POSES = (
    Column("ends at\nx", "m", lambda one: f"{one.pose[0]:.2f}"),
    Column("\ny", "m", lambda one: f"{one.pose[1]:.2f}"),
    Column("\nyaw", "°", lambda one: f"{degrees(one.pose[2]):.1f}"),
)


def run_table(outcome: Outcome, listed: Sequence[str], width: int = 80) -> RenderableType:
    """Table with a row for each listed vehicle, and the speed of the run."""
    every = {one.name: one for one in outcome.tally.figures()}
    figures = [every[name] for name in listed[:MOST_ROWS]]
    laps = any(one.lap_times is not None for one in figures)
    columns = [one for one in COLUMNS if laps or one.name not in LAPS]
    columns += POSES if width >= WIDE else ()
    while _needed(figures, columns) > width and len(columns) > 1:
        least = next((name for name in LEAST if name in [one.name for one in columns]), None)
        columns = [one for one in columns if one.name != least] if least else columns[:-1]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("vehicle", style="bold cyan", overflow="fold", min_width=7)
    for one in columns:
        table.add_column(f"{one.name}\n{one.unit}", justify="right", no_wrap=True)
    for vehicle in figures:
        table.add_row(vehicle.name, *(one.cell(vehicle) for one in columns))
    parts: list[RenderableType] = [table]
    if len(figures) < len(every):
        parts.append(Text(f"and {len(every) - len(figures)} more", "dim"))
    done, elapsed = outcome.done, outcome.elapsed
    how = f"stopped at {done:.3f} s of {outcome.wanted:g} s" if outcome.stopped else f"{done:.3f} s"
    factor = f": {done / elapsed:.3g} times real time" if done and elapsed > 0.0 else ""
    summary = f"{how} in {elapsed:.3f} s{factor}, {counted(len(every), 'vehicle')}"
    return Group(*parts, Text(summary, "dim"))


def _needed(figures: Sequence[Figures], columns: Sequence[Column]) -> int:
    """Width in characters that a table needs so that no word is broken."""
    widest = max(len("vehicle"), *(len(one.name) for one in figures)) if figures else 7
    cells = [
        [*column.name.split("\n"), column.unit, *(column.cell(one) for one in figures)]
        for column in columns
    ]
    # One space on either side of each column, but none around the table.
    return min(widest, 20) + sum(2 + max(map(len, texts)) for texts in cells)


@contextmanager
def progress_bar(duration: s, quiet: bool) -> Generator[Callable[[s], None]]:
    """Context manager for a progress bar unless quiet; yields a function of the simulated time in
    s."""
    with watching(duration, "s", "run", progress=not quiet and interactive()) as bar:
        yield lambda time: bar.advance(time - bar.done)


def report(show: Show, performance: Performance) -> None:
    """Print the table of the vehicles, the speed of the run, and the paths of its files."""
    console = Console()
    console.print(run_table(performance.outcome, show.listed, console.width))
    for line in show.remarks:
        console.print(Text(line, "dim"))
    # soft_wrap: paths are never wrapped, so that they can be copied.
    for what, path in (("recording", performance.recording), ("replay page", performance.page)):
        if path is not None:
            console.print(file_line(what, path), soft_wrap=True)


def file_line(what: str, path: Path) -> Text:
    size = path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    return Text.assemble((f"{what:12}", "cyan"), str(path), (f"  {shown}", "dim"))
