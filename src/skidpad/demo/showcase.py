"""`skidpad demo`: the best demos one after the other, with pictures of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import Demo


def showcase(demos: Sequence[Demo], out: Path, seed: int) -> None:
    """Perform demos into a folder and say where everything is."""
    from rich.console import Console
    from rich.text import Text

    from ..recording import read
    from ..runs import perform_into
    from ..runs.report import file_line, report, watched

    console = Console()
    for one in demos:
        console.print(Text.assemble((one.name, "bold"), f": {one.text}"))
        show = one.show(seed)
        with watched(show.duration, quiet=False) as watch:
            done = perform_into(show, out, one.name, watch=watch, meta={"seed": seed})
        report(show, done)
        if show.picture is not None and done.recording is not None:
            picture = out / f"{one.name}.png"
            show.picture(read(done.recording), picture)
            console.print(file_line("picture", picture), soft_wrap=True)
        console.print()
