"""`skidpad info` and `skidpad recover`: what is inside a recording or a bag, and mending one.

`recording_document` and `bag_document` are what `--json` prints; docs/cli.md lists their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.files import counted
from .options import RecordingFile

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from ..view.recording.bag_tools import BagInfo
    from ..view.recording.inspection import Info, Recovered, Topic


def info(
    file: RecordingFile,
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
    from ..view.recording import bag_tools, inspection

    console = Console()
    known: Any = bag_tools.bag_info(file) if is_bag(file) else inspection.info(file)
    if json:
        from .output import print_json

        document: Callable[[Any], Any] = bag_document if is_bag(file) else recording_document
        print_json(document(known))
    elif is_bag(file):
        console.print(bag_sheet(known))
    else:
        console.print(recording_sheet(known, every=topics, width=console.width))


def recover(
    file: RecordingFile,
    out: Annotated[
        Path | None,
        typer.Argument(
            help="Where to; NAME.recovered.mcap next to it by default. The folder of a bag is "
            "mended where it is."
        ),
    ] = None,
) -> None:
    """Write a complete recording with everything that is whole in one that was cut off."""
    from ..study.identify.bags import is_bag
    from ..view.recording import bag_tools, inspection

    try:
        if is_bag(file):
            _print_recovered_bag(file, bag_tools.recover_bag(file, out))
            return
        recovery = inspection.recover(file, out)
    except inspection.NothingWhole as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    mended = inspection.info(recovery.path)
    if recovery.was_complete:
        typer.echo(f"{file} was complete")
    typer.echo(
        f"{recovery.path}: {counted(mended.samples, 'sample')}, {mended.duration:g} s, "
        f"{counted(recovery.chunks, 'chunk')} kept"
    )
    _print_left_out(recovery)


def _print_recovered_bag(bag: Path, recovery: Any) -> None:
    from ..view.recording.bag_tools import bag_info

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
        _print_left_out(file)


def _print_left_out(recovery: Recovered) -> None:
    if recovery.damaged or recovery.lost:
        damaged = counted(recovery.damaged, "damaged chunk")
        typer.echo(f"left out: {damaged}, {counted(recovery.lost, 'byte')} behind the last")


def recording_document(info: Info) -> dict[str, Any]:
    """A recording: when, how much, whose numbers, on which topics."""
    from .output import finite

    stage, some = info.stage, bool(info.messages)
    return {
        "schema": "info/1",
        "kind": "recording",
        "file": str(info.path),
        "title": stage.title,
        "complete": info.complete,
        "start": info.start if some else None,
        "end": info.end if some else None,
        "duration": info.duration if some else None,
        "samples": info.samples,
        "messages": info.messages,
        "chunks": info.chunks,
        "damaged": info.damaged,
        "size": info.size,
        "unpacked": info.unpacked,
        "lost": info.lost,
        "compression": info.compression or None,
        "program": info.program or None,
        "format": info.format,
        "bodies": [
            {
                "name": body.name,
                "kind": body.kind,
                "model": body.model or None,
                "channels": [
                    {"name": channel.name, "unit": channel.unit, "role": channel.role}
                    for channel in stage.channels
                    if channel.body == body.name
                ],
            }
            for body in stage.bodies
        ],
        "lidars": [
            {"name": scan.name, "body": scan.body, "rays": scan.count, "reach": scan.max_range}
            for scan in stage.scans
        ],
        "topics": [
            {
                "name": topic.name,
                "type": topic.schema,
                "role": topic.role or None,
                "messages": topic.messages,
                "rate": topic.rate,
            }
            for topic in info.topics
        ],
        "notes": finite(dict(info.notes)),
    }


def bag_document(info: BagInfo) -> dict[str, Any]:
    """A bag of ROS 2; its times are in ns since the epoch that the bag has."""
    some = bool(info.messages)
    return {
        "schema": "info/1",
        "kind": "bag",
        "file": str(info.path),
        "complete": info.closed and not info.metadata,
        "start_ns": info.start if some else None,
        "end_ns": info.end if some else None,
        "duration": info.duration if some else None,
        "messages": info.messages,
        "size": info.size,
        "storage": info.storage,
        "metadata": info.metadata or None,
        "files": [
            {"file": str(file.path), "closed": file.closed, "messages": file.messages}
            for file in info.files
        ],
        "topics": [
            {"name": topic.name, "type": topic.type, "messages": topic.messages}
            for topic in info.topics
        ],
    }


WIDE = 80
"""Columns of a screen on which everything has room."""
_SHOWN = 2
"""Names that are listed of things alike."""
_NUMBERS = ("numbers", "messages", "rate", "rays", "reach")
"""Columns that are aligned to the right."""
_OF_OUR_DAYS = 10**18
"""Times in ns from which on they count from 1970 rather than from the beginning of a simulation:
September 2001."""


def recording_sheet(info: Info, *, every: bool = False, width: int = WIDE) -> RenderableType:
    """Facts, bodies, topics (one line per kind, or `every` one) and notes; on a screen of less than
    80 columns without the types of the topics, whose long words would be broken."""
    from rich.console import Group
    from rich.text import Text

    from . import sheets
    from .output import size_text

    stage, packing = info.stage, ""
    if info.chunks:
        packing = f", {size_text(info.unpacked)} of messages before {info.compression}"
        packing = ", not compressed" if info.compression == "none" else packing
    facts = {
        "recording": Text(stage.title, "bold cyan"),
        "file": str(info.path),
        "duration": f"{info.duration:g} s, from {info.start:g} to {info.end:g} s",
        "samples": f"{info.samples} of {len(stage.channels)} numbers",
        "messages": f"{info.messages} in {counted(info.chunks, 'chunk')}",
        "size": size_text(info.size) + packing,
        "written by": f"{info.program}, format {info.format}",
        "state": _state(info),
    }
    parts: list[RenderableType] = [sheets.facts(facts.items()), "", _bodies(info)]
    if stage.scans:
        scans = [
            ((str(scan.count), f"{scan.max_range:g} m"), f"{scan.body}/{scan.name}")
            for scan in stage.scans
        ]
        parts += ["", _alike(("lidars", "rays", "reach", "on"), scans)]
    parts += ["", _topics(info.topics, every, with_types=width >= WIDE)]
    if info.notes:
        notes = [
            (name, Text(str(value), "red" if name == "error" else ""))
            for name, value in info.notes.items()
        ]
        parts += ["", sheets.facts(notes)]
    return Group(*parts)


def _state(info: Info) -> Text:
    from rich.text import Text

    from ..view.recording.topics import LOST

    if info.complete:
        return Text("complete", "green")
    if info.damaged:
        chunks = f"damaged: {info.damaged} of {counted(info.chunks, 'chunk')} not what was written"
        rest = "skidpad recover keeps the rest"
        nothing = info.damaged == info.chunks
        return Text(f"{chunks}; {'nothing can be saved' if nothing else rest}", "red")
    if LOST in info.notes:
        return Text(f"failed: {counted(info.notes[LOST]['count'], 'sample')} lost", "red")
    behind = f", {counted(info.lost, 'byte')} behind its last whole record" if info.lost else ""
    if not info.chunks:
        return Text(f"cut off before its first chunk{behind}; nothing can be saved", "red")
    return Text(f"cut off{behind}; skidpad recover makes it whole", "yellow")


def _bodies(info: Info) -> RenderableType:
    counts: dict[str, int] = {}
    for channel in info.stage.channels:
        counts[channel.body] = counts.get(channel.body, 0) + 1
    rows = [((b.kind, b.model, str(counts.get(b.name, 0))), b.name) for b in info.stage.bodies]
    return _alike(("bodies", "kind", "model", "numbers", "names"), rows)


def _topics(topics: Sequence[Topic], every: bool, *, with_types: bool) -> RenderableType:
    kinds: dict[tuple[str, ...], list[Topic]] = {}
    for topic in topics:
        key = (topic.schema, topic.role, topic.name if every else "")
        kinds.setdefault(key, []).append(topic)
    rows: list[tuple[str, ...]] = []
    for (schema, *_), those in kinds.items():
        rate, count = max(topic.rate for topic in those), sum(topic.messages for topic in those)
        shown = (schema,) if with_types else ()
        numbers = str(count), f"{rate:.3g} Hz" if rate > 0.0 else ""
        rows.append((str(len(those)), *shown, *numbers, _listed([one.name for one in those])))
    types = ("type",) if with_types else ()
    return _table(("topics", *types, "messages", "rate", "names"), rows)


def _alike(heads: Sequence[str], rows: Iterable[tuple[tuple[str, ...], str]]) -> RenderableType:
    """A row for all that have the same facts: how many they are, the facts, their names."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for facts, name in rows:
        alike.setdefault(facts, []).append(name)
    return _table(heads, [(str(len(n)), *facts, _listed(n)) for facts, n in alike.items()])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    from .sheets import plain_table

    table = plain_table()
    table.add_column(heads[0], justify="right", style="bold")
    for name in heads[1:]:
        justify = "right" if name in _NUMBERS else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _SHOWN else f"{names[0]} ... {names[-1]}"


def bag_sheet(info: BagInfo) -> RenderableType:
    """Facts as `ros2 bag info` has them, and a line for every topic."""
    from rich.console import Group
    from rich.text import Text

    from . import sheets
    from .output import size_text

    rows: list[tuple[str, str | Text]] = [
        ("bag", Text(info.path.name or str(info.path), "bold cyan")),
        *(("" if k else "files", str(file.path)) for k, file in enumerate(info.files)),
        ("storage", info.storage),
        ("size", size_text(info.size)),
        ("duration", f"{info.duration:.9g} s"),
    ]
    if info.messages:
        rows += [("start", _time(info.start)), ("end", _time(info.end))]
    rows += [
        ("messages", f"{info.messages} of {counted(len(info.topics), 'topic')}"),
        ("state", _bag_state(info)),
    ]
    table = sheets.plain_table()
    for name in ("topic", "type", "messages"):
        justify = "right" if name == "messages" else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for topic in info.topics:
        table.add_row(Text(topic.name), Text(topic.type), str(topic.messages))
    return Group(sheets.facts(rows), "", table)


def _time(ns: int) -> str:
    seconds = f"{ns // 10**9}.{ns % 10**9:09d} s"
    if ns < _OF_OUR_DAYS:
        return seconds
    date = datetime.fromtimestamp(ns // 10**9, UTC)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC ({seconds})"


def _bag_state(info: BagInfo) -> Text:
    from rich.text import Text

    faults = [] if info.closed else ["not closed: cut off, or still being written"]
    faults += [f"metadata.yaml is {info.metadata}"] if info.metadata else []
    if not faults:
        return Text("complete", "green")
    # Of a folder at least metadata.yaml is mended.
    hopeless = not info.messages and info.path.is_file()
    rest = "nothing can be saved" if hopeless else "skidpad recover mends it"
    return Text(f"{'; '.join(faults)}; {rest}", "yellow")
