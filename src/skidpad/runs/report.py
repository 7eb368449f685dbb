"""What `skidpad run` prints while it runs and at the end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from . import Kept, Show
from .table import run_table


@contextmanager
def watched(duration: float, quiet: bool) -> Generator[Callable[[float], None] | None]:
    """A bar on stderr: simulated time, times real time, time left. Nothing if quiet."""
    if quiet or duration <= 0.0:
        yield None
        return
    bar = Progress(
        BarColumn(24),
        TextColumn("{task.fields[done]:.1f} of {task.total:.1f} s"),
        TextColumn("[cyan]{task.fields[factor]:.3g} times real time"),
        TextColumn("[dim]{task.fields[left]:.0f} s left"),
        console=Console(stderr=True),
    )
    begin: float | None = None
    task = bar.add_task("run", total=duration, done=0.0, factor=0.0, left=0.0)

    def watch(time: float) -> None:
        nonlocal begin
        now = perf_counter()
        if begin is None and time > 0.0:
            # The first step may have to compile.
            begin = now
        elapsed = now - (begin or now)
        factor = time / elapsed if elapsed > 0.0 else 0.0
        left = (duration - time) / factor if factor > 0.0 else 0.0
        bar.update(task, completed=time, done=time, factor=factor, left=left)

    with bar:
        watch(0.0)
        yield watch


def report(show: Show, kept: Kept) -> None:
    """The table of the vehicles, how fast the run was, and where its files are."""
    console = Console()
    console.print(run_table(kept.outcome, show.listed, console.width))
    for line in show.remarks:
        console.print(Text(line, "dim"))
    # soft_wrap: a path is to be copied, so it is never broken into lines.
    for what, path in (("recording", kept.recording), ("replay page", kept.page)):
        if path is not None:
            console.print(file_line(what, path), soft_wrap=True)


def file_line(what: str, path: Path) -> Text:
    """Where a file is."""
    size = path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    return Text.assemble((f"{what:12}", "cyan"), str(path), (f"  {shown}", "dim"))
