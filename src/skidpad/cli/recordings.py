"""`skidpad info` and `skidpad recover`: what is inside a recording, and mending one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.files import counted

if TYPE_CHECKING:
    from ..view.recording.inspection import Recovered

File = Annotated[
    Path,
    typer.Argument(help="Recording: an .mcap file; or a bag of ROS 2.", show_default=False),
]


def info(
    file: File,
    topics: Annotated[
        bool, typer.Option("--topics", help="Every topic, not only every kind.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with every topic.")
    ] = False,
) -> None:
    """Say what is inside a recording: how long, who, which topics, and whether it is whole."""
    from rich.console import Console

    from ..study.identify.bags import is_bag
    from ..view.recording.bag_tools import bag_info
    from ..view.recording.inspection import info as look
    from .recording_tables import bag_sheet, recording_sheet

    if json:
        _print_json(file)
        return
    console = Console()
    if is_bag(file):
        console.print(bag_sheet(bag_info(file)))
        return
    console.print(recording_sheet(look(file), every=topics, width=console.width))


def _print_json(file: Path) -> None:
    from ..study.identify.bags import is_bag
    from ..view.recording.bag_tools import bag_info
    from ..view.recording.inspection import info as look
    from .documents import bag_document, recording_document
    from .output import print_json

    print_json(bag_document(bag_info(file)) if is_bag(file) else recording_document(look(file)))


def recover(
    file: File,
    out: Annotated[
        Path | None,
        typer.Argument(
            help="Where to; NAME.recovered.mcap beside it if not given. The folder of a bag is "
            "mended where it is."
        ),
    ] = None,
) -> None:
    """Write a complete recording with everything that is whole in one that was cut off."""
    from ..study.identify.bags import is_bag
    from ..view.recording.inspection import NothingWhole
    from ..view.recording.inspection import info as look
    from ..view.recording.inspection import recover as mend

    try:
        if is_bag(file):
            _recover_bag(file, out)
            return
        recovery = mend(file, out)
    except NothingWhole as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    mended = look(recovery.path)
    if recovery.was_complete:
        typer.echo(f"{file} was complete")
    typer.echo(
        f"{recovery.path}: {counted(mended.samples, 'sample')}, {mended.duration:g} s, "
        f"{counted(recovery.chunks, 'chunk')} kept"
    )
    _tell_left_out(recovery)


def _recover_bag(bag: Path, out: Path | None) -> None:
    from ..view.recording.bag_tools import bag_info, recover_bag

    recovery = recover_bag(bag, out)
    mended = bag_info(recovery.path)
    if recovery.was_complete:
        typer.echo(f"{bag} was complete")
    typer.echo(
        f"{recovery.path}: {counted(mended.messages, 'message')} of "
        f"{counted(len(mended.topics), 'topic')}, {mended.duration:g} s"
    )
    if recovery.metadata:
        typer.echo(f"metadata.yaml was {recovery.metadata}, and is written anew")
    for file in recovery.files:
        if not file.was_complete and recovery.path == bag:
            typer.echo(f"{file.path.name} as it was is {file.path.name}.torn")
        _tell_left_out(file)


def _tell_left_out(recovery: Recovered) -> None:
    if recovery.damaged or recovery.lost:
        damaged = counted(recovery.damaged, "damaged chunk")
        typer.echo(f"left out: {damaged}, {counted(recovery.lost, 'byte')} behind the last")
