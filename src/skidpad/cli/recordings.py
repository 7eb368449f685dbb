"""`skidpad info` and `skidpad recover`: describe a recording or a bag, and repair one.

`recording_document` and `bag_document` make the JSON that `--json` prints; docs/cli.md lists the
keys.

`skidpad replay` and `skidpad html` show a recording, or write it as a page.

`skidpad html --drive` writes a page on which a vehicle or a world is driven without a server.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument

from ..core.files import counted, regular_file
from ..errors import InvalidValue, require_extras
from ..view.sheet import Sheet
from .options import (
    NoBrowser,
    ParameterFiles,
    RecordingFile,
    Settings,
    WorldReading,
    drive_targets,
    is_vehicle,
    parameter_changes,
    refuse,
    set_values,
    vehicle_names,
    vehicle_of,
)
from .output import caught_texts, finite, print_json, serve_film, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..view.film import Film
    from ..view.pages.drive import Place
    from ..view.recording.bag_tools import BagInfo, Info, Topic
    from .sheets import Text


def info(file: RecordingFile, topics: bool = False, json: bool = False) -> None:
    """Describe a recording: duration, vehicles, topics, and whether it is complete.

    Args:
        topics: List every topic, instead of one line per kind of topic.
        json: Print one JSON object, with every topic.
    """
    from ..study.logs.bags import is_bag
    from ..view.recording import bag_tools
    from .sheets import Console

    console = Console()
    known = bag_tools.bag_info(file) if is_bag(file) else bag_tools.info(file)
    bag = isinstance(known, bag_tools.BagInfo)
    if json:
        print_json(bag_document(known) if bag else recording_document(known))
    elif bag:
        console.print(bag_sheet(known))
    else:
        console.print(recording_sheet(known, every=topics, width=console.width))


def recover(file: RecordingFile, out: Annotated[Path | None, Argument()] = None) -> None:
    """Repair a truncated recording: write a complete file with all intact records.

    Args:
        out: File to write; by default NAME.recovered.mcap next to the recording. The folder of a
            bag is repaired in place.
    """
    from ..study.logs.bags import is_bag
    from ..view.recording import bag_tools

    bag = is_bag(file)
    try:
        recovery: Any = (bag_tools.recover_bag if bag else bag_tools.recover)(file, out)
    except bag_tools.NothingWhole as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    if recovery.was_complete:
        typer.echo(f"{file} was complete")
    if bag:
        mended = bag_tools.bag_info(recovery.path)
        kept = f"{counted(mended.messages, 'message')} of {counted(len(mended.topics), 'topic')}"
        typer.echo(f"{recovery.path}: {kept}, {mended.duration:g} s")
        if recovery.metadata:
            typer.echo(f"metadata.yaml was {recovery.metadata}, and is written anew")
    else:
        mended = bag_tools.info(recovery.path)
        kept = f"{mended.duration:g} s, {counted(recovery.chunks, 'chunk')} kept"
        typer.echo(f"{recovery.path}: {counted(mended.samples, 'sample')}, {kept}")
    for one in recovery.files if bag else [recovery]:
        if bag and not one.was_complete and recovery.path == file:
            typer.echo(f"{one.path.name} as it was is {one.path.name}.torn")
        if one.damaged or one.lost:
            damaged = counted(one.damaged, "damaged chunk")
            typer.echo(f"left out: {damaged}, {counted(one.lost, 'byte')} behind the last")


def recording_document(info: Info) -> dict[str, Any]:
    """JSON document that describes a recording: times, sizes, vehicles and topics."""
    stage, channels = info.stage, dict[str, list[Any]]()
    for channel in stage.channels:
        channels.setdefault(channel.body, []).append(_picked(channel, "name unit role"))
    return {
        **{"schema": "info/1", "kind": "recording", "file": str(info.path), "title": stage.title},
        "complete": info.complete,
        **_picked(info, "start end duration", known=bool(info.messages)),
        **_picked(info, "samples messages chunks damaged size unpacked lost"),
        **{"compression": info.compression or None, "program": info.program or None},
        "format": info.format,
        "bodies": [
            _picked(body, "name kind")
            | {"model": body.model or None, "channels": channels.get(body.name, [])}
            for body in stage.bodies
        ],
        "lidars": [
            {"name": scan.name, "body": scan.body, "rays": scan.count, "reach": scan.max_range}
            for scan in stage.scans
        ],
        "topics": [
            {
                **{"name": topic.name, "type": topic.schema, "role": topic.role or None},
                **_picked(topic, "messages rate"),
            }
            for topic in info.topics
        ],
        "notes": finite(dict(info.notes)),
    }


def _picked(record: Any, names: str, *, known: bool = True) -> dict[str, Any]:
    """Named fields of a record as a dictionary; every value is None unless `known`."""
    return {name: getattr(record, name) if known else None for name in names.split()}


def bag_document(info: BagInfo) -> dict[str, Any]:
    """JSON document that describes a ROS 2 bag; times are in ns since the epoch of the bag."""
    times = _picked(info, "start end duration", known=bool(info.messages))
    return {
        **{"schema": "info/1", "kind": "bag", "file": str(info.path)},
        "complete": info.closed and not info.metadata,
        **{"start_ns": times["start"], "end_ns": times["end"], "duration": times["duration"]},
        **_picked(info, "messages size storage"),
        "metadata": info.metadata or None,
        "files": [{"file": str(f.path), **_picked(f, "closed messages")} for f in info.files],
        "topics": [_picked(topic, "name type messages") for topic in info.topics],
    }


WIDE = 80
"""Screen width in characters from which on all columns fit."""
_SHOWN = 2
"""Largest number of names listed for similar rows."""
_NUMBERS = ("numbers", "messages", "rate", "rays", "reach")
"""Right-aligned columns."""
_OF_OUR_DAYS = 10**18
"""Times in ns above which they count from 1970 rather than from the start of a simulation.

It is a time in September 2001.
"""


def recording_sheet(info: Info, *, every: bool = False, width: int = WIDE) -> RenderableType:
    """Sheet of a recording: facts, bodies, topics (one line per kind, or all if `every`) and notes.

    Below 80 columns the types of the topics are left out, as their long names would wrap.
    """
    from . import sheets
    from .sheets import Group, Text

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
    counts = Counter(channel.body for channel in stage.channels)
    bodies = [((b.kind, b.model, str(counts[b.name])), b.name) for b in stage.bodies]
    heads = ("bodies", "kind", "model", "numbers", "names")
    parts: list[RenderableType] = [sheets.facts(facts.items()), "", _alike(heads, bodies)]
    scans = [((str(s.count), f"{s.max_range:g} m"), f"{s.body}/{s.name}") for s in stage.scans]
    if scans:
        parts += ["", _alike(("lidars", "rays", "reach", "on"), scans)]
    parts += ["", _topics(info.topics, every, with_types=width >= WIDE)]
    if info.notes:
        styles = {"error": "red"}
        notes = ((n, Text(str(value), styles.get(n, ""))) for n, value in info.notes.items())
        parts += ["", sheets.facts(notes)]
    return Group(*parts)


def _state(info: Info) -> Text:
    from ..view.recording.topics import LOST
    from .sheets import Text

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
    """Group rows with equal facts; each group has the number of rows, the facts and the names."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for facts, name in rows:
        alike.setdefault(facts, []).append(name)
    return _table(heads, [(str(len(n)), *facts, _listed(n)) for facts, n in alike.items()])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    from .sheets import table

    every = range(len(heads))
    numbers = [k for k in every if k == 0 or heads[k] in _NUMBERS]
    return table(Sheet(heads, rows, numbers, wraps=every), first="bold")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _SHOWN else f"{names[0]} ... {names[-1]}"


def bag_sheet(info: BagInfo) -> RenderableType:
    """Sheet of a bag: the facts that `ros2 bag info` prints, and a line for every topic."""
    from . import sheets
    from .sheets import Group, Text

    rows: list[tuple[str, str | Text]] = [
        ("bag", Text(info.path.name or str(info.path), "bold cyan")),
        *(("" if k else "files", str(file.path)) for k, file in enumerate(info.files)),
        ("storage", info.storage),
        ("size", size_text(info.size)),
        ("duration", f"{info.duration:.9g} s"),
    ]
    if info.messages:
        rows += [("start", _time(info.start)), ("end", _time(info.end))]
    faults = [] if info.closed else ["not closed: cut off, or still being written"]
    faults += [f"metadata.yaml is {info.metadata}"] if info.metadata else []
    # In a folder, at least metadata.yaml is repaired.
    hopeless = not info.messages and info.path.is_file()
    rest = "nothing can be saved" if hopeless else "skidpad recover mends it"
    state = Text(f"{'; '.join(faults)}; {rest}", "yellow") if faults else Text("complete", "green")
    messages = f"{info.messages} of {counted(len(info.topics), 'topic')}"
    rows += [("messages", messages), ("state", state)]
    topics = [(topic.name, topic.type, str(topic.messages)) for topic in info.topics]
    listed = Sheet(("topic", "type", "messages"), topics, numbers=(2,), wraps=(0, 1, 2))
    return Group(sheets.facts(rows), "", sheets.table(listed, first=""))


def _time(ns: int) -> str:
    seconds = f"{ns // 10**9}.{ns % 10**9:09d} s"
    if ns < _OF_OUR_DAYS:
        return seconds
    date = datetime.fromtimestamp(ns // 10**9, UTC)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC ({seconds})"


PLAYGROUND = "playground"
"""Name of the default world of `skidpad serve`."""


class Driving(NamedTuple):
    """Options for the vehicle on a driving page and its simulation.

    Args:
        dt: Step in s; by default 0.01, or the step of the world.
        integrator: Integration method, such as rk4. [default: auto]
        substeps: Integrator steps within each step of dt.
        track [FILE|SEED]: Track to drive on: a file, or the seed of a random track.
        vehicle [NAME]: Vehicle of the world to drive; by default the first one.
    """

    params: ParameterFiles = None
    settings: Settings = None
    dt: float | None = None
    integrator: str | None = None
    substeps: int | None = None
    track: str | None = None
    vehicle: str | None = None


def replay(
    file: RecordingFile, no_browser: NoBrowser = False, port: int = 0, limit_mb: float = 60.0
) -> None:
    """Open a recording in the browser; Ctrl-C ends it.

    Args:
        port: Port on this machine; 0 selects a free port.
        limit_mb: Largest size of the page in MB; pictures and then numbers are dropped to meet it.
    """
    serve_film(_film(file), f"{file} is", limit_mb=limit_mb, port=port, browser=not no_browser)


def html(
    file: Annotated[Path, Argument(show_default=False, autocompletion=drive_targets)],
    out: Annotated[Path, Argument(show_default=False)],
    limit_mb: float | None = None,
    drive: bool = False,
    *,
    driving: Driving,
    reading: WorldReading,
) -> None:
    """Write a recording, or a vehicle to drive, as one self-contained HTML page.

    Args:
        file [FILE|VEHICLE|WORLD]: Recording: an .mcap file; or a bag of ROS 2. With --drive, a
            vehicle as `skidpad models` lists them, a world file, or playground.
        out: Page to write.
        limit_mb: Largest size of the page of a recording in MB, 15 by default; pictures and then
            numbers are dropped to meet it.
        drive: Write a page for driving a vehicle, without a server.
    """
    if out.is_dir():
        raise InvalidValue(f"{out} is a folder: give the name of a file in it, as in replay.html")
    if drive:
        if limit_mb is not None:
            raise InvalidValue("--limit-mb needs a recording and is not allowed with --drive")
        from ..view.pages.drive import write_drive_page

        place = _place(str(file), driving, reading)
        with caught_texts(UserWarning) as caught:
            how: Any = {name: getattr(driving, name) for name in ("dt", "integrator", "substeps")}
            write_drive_page(place, out, **how)
        for note in (*(f"on the page {note}" for note in place.notes), *caught):
            sys.stderr.write(f"note: {note}\n")
    else:
        own = {("set" if name == "settings" else name): v for name, v in driving._asdict().items()}
        refuse({**own, **reading._asdict()}, "--drive")
        _film(file).to_html(out, limit_mb=15.0 if limit_mb is None else limit_mb)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _film(file: Path) -> Film:
    from ..study.logs.bags import is_bag
    from ..view.recording.bag_tools import bag_film
    from ..view.recording.reading import read

    if is_bag(file):
        return bag_film(file)
    recording = read(file)
    if not recording.times.size:
        raise InvalidValue(f"{file} has no samples: there is nothing to show")
    film = recording.film()
    return film if recording.complete else replace(film, note="the recording was cut off")


def _place(target: str, driving: Driving, reading: WorldReading) -> Place:
    """Vehicle and surroundings for a driving page: a plane, a track or a world."""
    from ..view.pages.drive import plane_place, track_of, track_place, world_place
    from ..world.scene import WorldWarning

    if is_vehicle(target):
        refuse({"vehicle": driving.vehicle, **reading._asdict()}, "a world file")
        car = vehicle_of(target, driving.params, driving.settings, telling=True)
        track = driving.track
        return plane_place(car) if track is None else track_place(car, track_of(track, car))
    refuse({"track": driving.track}, "a vehicle; a world has its own ground")
    options: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        if target == PLAYGROUND:
            from ..view.live.arena import playground

            refuse(reading._asdict(), "a world file")
            play = playground()
            scene, options = play.scene, {"lines": play.lines, "title": play.title}
        elif not Path(target).is_file():
            raise _unknown(target)
        else:
            scene = reading.load(Path(target))
        require_extras("world", purpose="a page that drives in a world")
        place = world_place(scene, driving.vehicle, **options)
    changes = parameter_changes(driving.params, set_values(driving.settings))
    return replace(place, vehicle=place.vehicle.with_params(changes)) if changes else place


def _unknown(target: str) -> InvalidValue:
    """Error for a target that is neither a vehicle nor a file."""
    from ..core.record import unknown_name

    path = Path(target)
    if path.exists() and not path.is_dir():
        regular_file(path)
    if path.suffix or path.name != target:
        return InvalidValue(
            f"there is no file {target}; skidpad html --drive takes world files (.xml), vehicles "
            f"and {PLAYGROUND}"
        )
    known = [*vehicle_names(), PLAYGROUND]
    return InvalidValue(unknown_name("skidpad html --drive", target, known, "vehicle"))
