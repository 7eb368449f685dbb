"""`skidpad info` and `skidpad recover`: what is inside a recording, and mending one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..brief import counted

File = Annotated[Path, typer.Argument(help="Recording: an .mcap file.", show_default=False)]


def info(
    file: File,
    topics: Annotated[
        bool, typer.Option("--topics", help="Every topic, not only every kind.")
    ] = False,
) -> None:
    """Say what is inside a recording: how long, who, which topics, and whether it is whole."""
    from rich.console import Console

    from ..recording import info as look
    from .recording_table import recording_sheet

    console = Console()
    console.print(recording_sheet(look(file), every=topics, width=console.width))


def recover(
    file: File,
    out: Annotated[
        Path | None,
        typer.Argument(help="Where to; NAME.recovered.mcap beside it if not given."),
    ] = None,
) -> None:
    """Write a complete recording with everything that is whole in one that was cut off."""
    from ..recording import info as look
    from ..recording import recover as mend

    recovery = mend(file, out)
    mended = look(recovery.path)
    if recovery.was_complete:
        typer.echo(f"{file} was complete")
    typer.echo(
        f"{recovery.path}: {counted(mended.samples, 'sample')}, {mended.duration:g} s, "
        f"{counted(recovery.chunks, 'chunk')} kept"
    )
    if recovery.damaged or recovery.lost:
        damaged = counted(recovery.damaged, "damaged chunk")
        typer.echo(f"left out: {damaged}, {counted(recovery.lost, 'byte')} behind the last")
