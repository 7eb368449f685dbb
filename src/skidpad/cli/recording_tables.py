"""What is inside a recording, as it looks on a screen.

What is inside a bag of ROS 2, as it looks on a screen: what `ros2 bag info` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.files import counted
from ..view.recording.bag_tools import BagInfo
from ..view.recording.inspection import Info, Topic
from ..view.recording.topics import LOST
from ..view.stage import Body

WIDE = 80
"""Columns of a screen on which everything has room."""
_SHOWN = 2
"""Names that are listed of things alike."""


def recording_sheet(info: Info, *, every: bool = False, width: int = WIDE) -> RenderableType:
    """Facts, bodies, topics (one line per kind, or `every` one) and notes; on a screen of less than
    80 columns without the types of the topics, whose long words would be broken."""
    parts: list[RenderableType] = [_facts(info), "", _bodies(info)]
    if info.stage.scans:
        parts += ["", _lidars(info)]
    parts += ["", _topics(info.topics, every, with_types=width >= WIDE)]
    if info.notes:
        parts += ["", _notes(info)]
    return Group(*parts)


def _facts(info: Info) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("recording", Text(info.stage.title, "bold cyan"))
    table.add_row("file", Text(str(info.path)))
    table.add_row("duration", f"{info.duration:g} s, from {info.start:g} to {info.end:g} s")
    table.add_row("samples", f"{info.samples} of {len(info.stage.channels)} numbers")
    table.add_row("messages", f"{info.messages} in {counted(info.chunks, 'chunk')}")
    table.add_row("size", size_text(info.size) + _packing(info))
    table.add_row("written by", f"{info.program}, format {info.format}")
    table.add_row("state", _state(info))
    return table


def _packing(info: Info) -> str:
    if not info.chunks:
        return ""
    if info.compression == "none":
        return ", not compressed"
    return f", {size_text(info.unpacked)} of messages before {info.compression}"


def _state(info: Info) -> Text:
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


def _bodies(info: Info) -> Table:
    table = _table("bodies", "kind", "model", "numbers", "names")
    alike: dict[tuple[str, str, int], list[Body]] = {}
    counts: dict[str, int] = {}
    for channel in info.stage.channels:
        counts[channel.body] = counts.get(channel.body, 0) + 1
    for body in info.stage.bodies:
        key = (body.kind, body.model, counts.get(body.name, 0))
        alike.setdefault(key, []).append(body)
    for (kind, model, numbers), those in alike.items():
        names = _listed([body.name for body in those])
        table.add_row(str(len(those)), kind, model, str(numbers), names)
    return table


def _lidars(info: Info) -> Table:
    table = _table("lidars", "rays", "reach", "on")
    alike: dict[tuple[int, float], list[str]] = {}
    for scan in info.stage.scans:
        alike.setdefault((scan.count, scan.max_range), []).append(f"{scan.body}/{scan.name}")
    for (rays, reach), those in alike.items():
        table.add_row(str(len(those)), str(rays), f"{reach:g} m", _listed(those))
    return table


def _topics(topics: Sequence[Topic], every: bool, *, with_types: bool) -> Table:
    types = ("type",) if with_types else ()
    table = _table("topics", *types, "messages", "rate", "names")
    alike: dict[tuple[str, ...], list[Topic]] = {}
    for topic in topics:
        key = (topic.schema, topic.role, topic.name if every else "")
        alike.setdefault(key, []).append(topic)
    for (schema, *_), those in alike.items():
        rates = [topic.rate for topic in those]
        table.add_row(
            str(len(those)),
            *((schema,) if with_types else ()),
            str(sum(topic.messages for topic in those)),
            f"{max(rates):.3g} Hz" if max(rates) > 0.0 else "",
            _listed([topic.name for topic in those]),
        )
    return table


def _notes(info: Info) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in info.notes.items():
        table.add_row(name, Text(str(value), "red" if name == "error" else ""))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, justify="right", style="bold")
    for name in others:
        justify = "right" if name in ("numbers", "messages", "rate", "rays", "reach") else "left"
        table.add_column(name, justify=justify, overflow="fold")
    return table


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(known[:_SHOWN])
    return shown if len(known) <= _SHOWN else f"{known[0]} ... {known[-1]}"


def size_text(count: int) -> str:
    """Bytes as people say them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


_OF_OUR_DAYS = 10**18
"""Times in ns from which on they count from 1970 rather than from the beginning of a simulation:
September 2001."""


def bag_sheet(info: BagInfo) -> RenderableType:
    """Facts, and a line for every topic."""
    return Group(_bag_table_facts(info), "", _bag_table_topics(info))


def _bag_table_facts(info: BagInfo) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    table.add_row("bag", Text(info.path.name or str(info.path), "bold cyan"))
    for k, file in enumerate(info.files):
        table.add_row("" if k else "files", Text(str(file.path)))
    table.add_row("storage", info.storage)
    table.add_row("size", size_text(info.size))
    table.add_row("duration", f"{info.duration:.9g} s")
    if info.messages:
        table.add_row("start", _time(info.start))
        table.add_row("end", _time(info.end))
    table.add_row("messages", f"{info.messages} of {counted(len(info.topics), 'topic')}")
    table.add_row("state", _bag_table_state(info))
    return table


def _time(ns: int) -> str:
    seconds = f"{ns // 10**9}.{ns % 10**9:09d} s"
    if ns < _OF_OUR_DAYS:
        return seconds
    date = datetime.fromtimestamp(ns // 10**9, UTC)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC ({seconds})"


def _bag_table_state(info: BagInfo) -> Text:
    faults: list[str] = []
    if not info.closed:
        faults.append("not closed: cut off, or still being written")
    if info.metadata:
        faults.append(f"metadata.yaml is {info.metadata}")
    if not faults:
        return Text("complete", "green")
    # Of a folder at least metadata.yaml is mended.
    hopeless = not info.messages and info.path.is_file()
    rest = "nothing can be saved" if hopeless else "skidpad recover mends it"
    return Text(f"{'; '.join(faults)}; {rest}", "yellow")


def _bag_table_topics(info: BagInfo) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("topic", "type", "messages"):
        justify = "right" if name == "messages" else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for topic in info.topics:
        table.add_row(Text(topic.name), Text(topic.type), str(topic.messages))
    return table
