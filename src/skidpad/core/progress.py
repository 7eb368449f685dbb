"""Progress of long work: a common mechanism, and bars in terminals and notebooks.

    with watching(steps, "steps", "rollout", progress) as bar:
        for _ in range(steps):
            ...
            bar.advance(1)

Meaning of the argument `progress`, in all functions that have it:

1. None: a bar appears after 2 s if it is visible, because stderr is a terminal or this is a
   notebook; never otherwise, and never within work that already shows its progress.
2. True: a bar from the start. False: no bar.
3. A callable: it is called with the amount done and the total, at most about 10 times a second and
   once at the end, in the thread that waits for the work. An exception from it ends the work.

Requirements on the work:

4. It advances by the total in all, from the thread that entered the block.
5. If it ends in an exception, the bar is removed and the callable is not called again.

Work of unknown length, such as compiling, has a line with its name and the elapsed time. It appears
after 1 s, only in a terminal, and disappears at the end of the work:

    with working("compiling two_track") as sign:
        alone(compile, sign.show)
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import threading
from collections.abc import Callable
from html import escape
from importlib import import_module
from time import perf_counter
from typing import Any, TypeAlias

from ..errors import InvalidValue

Report: TypeAlias = Callable[[float, float], object]
"""Callback `report(done, total)`."""
Choice: TypeAlias = bool | Report | None
"""Type of an argument `progress`."""

_PERIOD = 0.1
"""Time in s between two reports."""
_PATIENCE = 2.0
"""Time in s before a bar appears automatically."""
_SOON = 1.0
"""Time in s before a line with the name of the current work appears."""
_WIDEST = 30
"""Largest width of a bar in characters."""


class _Watched(threading.local):
    depth = 0
    """Number of nested blocks with progress in this thread."""
    silent = 0
    """Number of these blocks without a bar in the terminal, or with a line of `working`."""


_watched = _Watched()


class Progress:
    """Progress of some work, made by `watching`.

    Args:
        total: total amount of work.
        unit: unit of the amount, such as "steps"; with "s", simulated time.
        label: name of the work.
        progress: see the docstring of this module.
    """

    def __init__(self, total: float, unit: str, label: str, progress: Choice) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise InvalidValue(
                f"progress = {progress!r} must be None, True, False or a function of the "
                "completed and the total amount"
            )
        self.total, self.unit, self.label = total, unit, label
        self.done: float = 0
        self._before: float = 0
        self._progress = progress
        self._display: _Display | None = None
        self._begin, self._due = 0.0, math.inf
        self._says_nothing = progress is False or callable(progress)

    def __enter__(self) -> Progress:
        self._begin = perf_counter()
        alone, _watched.depth = _watched.depth == 0, _watched.depth + 1
        _watched.silent += self._says_nothing
        if callable(self._progress) or self._progress is True:
            self._due = self._begin
        elif self._progress is None and alone and interactive():
            self._due = self._begin + _PATIENCE
        return self

    def advance(self, count: float = 1) -> None:
        self.done += count
        if self._due is not math.inf and perf_counter() >= self._due:
            self._due = perf_counter() + _PERIOD
            self._shown().show(self._line())

    def resume(self, count: float) -> None:
        """Add an amount that was finished before, which does not count for the rate."""
        self._before += count
        self.advance(count)

    def part(self, total: float) -> Callable[[float], None]:
        """Make a callback that takes a fraction from 0 to 1 and advances the progress by up to
        `total`.
        """
        begin = self.done

        def reach(fraction: float) -> None:
            whole = isinstance(total, int)
            reached = int(fraction * total) if whole else fraction * total
            self.advance(begin + reached - self.done)

        return reach

    def __exit__(self, kind: Any, *_: object) -> None:
        _watched.depth -= 1
        _watched.silent -= self._says_nothing
        if self._display is None and (kind is not None or not callable(self._progress)):
            return
        if kind is None:
            self._shown().finish(self._line())
        else:
            self._shown().clear()

    def _shown(self) -> _Display:
        if self._display is None:
            if callable(self._progress):
                self._display = _Call(self._progress)
            else:
                self._display = _notebook_bar() or _TerminalBar()
        return self._display

    def _line(self) -> Line:
        elapsed = perf_counter() - self._begin
        return Line(self.label, self.unit, self.done, self.total, elapsed, self._before)


def watching(
    total: float, unit: str = "steps", label: str = "", progress: Choice = None
) -> Progress:
    """Context manager that shows the progress of some work; see the docstring of this module."""
    return Progress(total, unit, label, progress)


class Working:
    """A line in the terminal for work of unknown length, made by `working`."""

    def __init__(self, label: str) -> None:
        self.label = label
        """Name of the work; may be changed while it runs."""
        self._bar: _TerminalBar | None = None
        self._drawn = False
        self._begin = self._due = 0.0

    def __enter__(self) -> Working:
        self._begin = perf_counter()
        self._due = self._begin + _SOON
        # Show one line only: lines of several threads would overwrite each other.
        own = threading.current_thread() is threading.main_thread()
        if own and not _watched.silent and _in_terminal():
            self._bar = _TerminalBar()
        _watched.silent += 1
        return self

    def show(self) -> None:
        """Redraw the line if it is due; call it repeatedly."""
        now = perf_counter()
        if self._bar is not None and now >= self._due:
            self._due, self._drawn = now + _PERIOD, True
            elapsed = now - self._begin
            turn = "|/-\\"[int(elapsed / _PERIOD) % 4]
            self._bar.write(f"{turn} {self.label}, {_time(elapsed)}"[: max(_columns(), 0)])

    def __exit__(self, *_: object) -> None:
        _watched.silent -= 1
        if self._bar is not None and self._drawn:
            self._bar.clear()


def working(label: str) -> Working:
    """Context manager for work of unknown length; see the docstring of this module."""
    return Working(label)


def _in_terminal() -> bool:
    with contextlib.suppress(AttributeError, ValueError):
        return sys.stderr.isatty()
    return False


def interactive() -> bool:
    """Whether a bar would be visible, in a terminal or a notebook."""
    return _kernel() is not None or _in_terminal()


class Line:
    """Text of a progress bar for any width."""

    def __init__(
        self, label: str, unit: str, done: float, total: float, elapsed: float, before: float = 0.0
    ) -> None:
        self.label, self.unit = label, unit
        self.done, self.total, self.elapsed, self.before = done, total, elapsed, before
        # Count a total that is missed by rounding as reached, as times are sums of steps.
        self.whole = done >= total * (1.0 - 1e-9)
        """Whether all work is done."""
        self.fraction = 1.0 if self.whole or not total > 0 else done / total

    def words(self) -> list[str]:
        """Texts to place after the bar, from the longest to the shortest."""
        percent = f"{100.0 * self.fraction:3.0f} %"
        count = f"{percent}, {self._number(self.done)} of {self._number(self.total)} {self.unit}"
        if not (self.done > self.before and self.elapsed > 0.0):
            return [count, percent]
        speed = (self.done - self.before) / self.elapsed
        rate = f"{speed:.3g} times real time"
        if self.unit != "s":
            rate = f"{_short(speed)} {self.unit}/s"
        left = f"{_time(max(self.total - self.done, 0.0) / speed)} left"
        return [f"{count}, {rate}, {left}", f"{percent}, {left}", percent]

    def finished(self) -> list[str]:
        """Texts to place after the bar at the end of the work."""
        took = _time(self.elapsed)
        of = "" if self.whole else f" of {self._number(self.total)}"
        return [f"{self._number(self.done)}{of} {self.unit} in {took}", took]

    def drawn(self, width: int, *, finished: bool = False) -> str:
        """Text of the whole line, in at most `width` characters."""
        head = f"{self.label} " if self.label else ""
        words = self.finished() if finished else self.words()
        for text in words:
            cells = min(_WIDEST, width - len(head) - len(text) - 3)
            if cells >= 5:
                filled = math.floor(cells * self.fraction)
                return f"{head}[{'#' * filled}{'.' * (cells - filled)}] {text}"
        return words[-1][: max(width, 0)]

    def _number(self, value: float) -> str:
        return f"{value:.1f}" if self.unit == "s" else _short(value)


def _short(value: float) -> str:
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10.0 * factor:
            return f"{value / factor:.4g} {letter}"
    return f"{value:.4g}"


def _time(seconds: float) -> str:
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02} min"


class _Call:
    """Progress display that reports to a callable."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: float | None = None

    def show(self, line: Line) -> None:
        self._told = line.done
        self._report(line.done, line.total)

    def finish(self, line: Line) -> None:
        if self._told != line.done:
            self.show(line)

    def clear(self) -> None:
        pass


class _TerminalBar:
    """Progress display in a line on stderr that is redrawn."""

    def __init__(self) -> None:
        self._length = 0

    def show(self, line: Line) -> None:
        self.write(line.drawn(_columns()))

    def finish(self, line: Line) -> None:
        self.write(line.drawn(_columns(), finished=True), end="\n")

    def clear(self) -> None:
        self.write("", end="\r")

    def write(self, text: str, end: str = "") -> None:
        """Replace the previous text."""
        # Ignore a closed or full stderr, which must not end the work.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.write(f"\r{text.ljust(self._length)}{end}")
            sys.stderr.flush()
        self._length = len(text)


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, OSError, ValueError):
        columns = 0
    # The last column stays free: some terminals break the line as soon as it is full.
    return (columns or shutil.get_terminal_size().columns) - 1


class _NotebookBar:
    """Progress display in the output of a notebook cell."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, line: Line) -> None:
        self._put(line.fraction, line.label, line.words()[0])

    def finish(self, line: Line) -> None:
        self._put(line.fraction, line.label, line.finished()[0])

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def _put(self, fraction: float, label: str, words: str) -> None:
        text = f"{label} {words}".strip()
        html = f'<progress value="{fraction:.4f}" max="1"></progress> {escape(text)}'
        content = {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _kernel() -> Any:
    """IPython kernel of the notebook in which the process runs, or None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None)


def _notebook_bar() -> _NotebookBar | None:
    return None if _kernel() is None else _NotebookBar(import_module("IPython.display").display)


_Display: TypeAlias = _Call | _TerminalBar | _NotebookBar
