"""What is inside a bag of ROS 2, as it looks on a screen: what `ros2 bag info` tells."""

from __future__ import annotations

from datetime import UTC, datetime

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..brief import counted
from ..recording import BagInfo
from .recording_table import size_text

_OF_OUR_DAYS = 10**18
"""Times in ns from which on they count from 1970 rather than from the beginning of a simulation:
September 2001."""


def bag_sheet(info: BagInfo) -> RenderableType:
    """Facts, and a line for every topic."""
    return Group(_facts(info), "", _topics(info))


def _facts(info: BagInfo) -> Table:
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
    table.add_row("state", _state(info))
    return table


def _time(ns: int) -> str:
    seconds = f"{ns // 10**9}.{ns % 10**9:09d} s"
    if ns < _OF_OUR_DAYS:
        return seconds
    date = datetime.fromtimestamp(ns // 10**9, UTC)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC ({seconds})"


def _state(info: BagInfo) -> Text:
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


def _topics(info: BagInfo) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("topic", "type", "messages"):
        justify = "right" if name == "messages" else "left"
        table.add_column(name, justify=justify, overflow="fold")
    for topic in info.topics:
        table.add_row(Text(topic.name), Text(topic.type), str(topic.messages))
    return table
