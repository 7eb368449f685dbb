"""Inspection and repair of recordings and of ROS 2 bags, also of truncated or damaged ones.

`info` and `recover` are for recordings, `bag_info` and `recover_bag` for bags; `bag_film` makes a
film of the poses in a bag.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.files import brief_repr, counted, path_of, reading, replacing, yaml_of
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from ...run.trajectory_table import Column, known_units
from ...study.logs.bags import SUFFIXES, bag_files, files_of_folder, opened_database, read_bag
from ...study.logs.log import Channel, Log
from ..film import Film
from ..stage import BodyShape, Stage
from ..stages import trajectory_stage
from . import bags
from .mcap import (
    ChunkPlace,
    Contents,
    Damaged,
    McapFile,
    MessageIndexes,
    intact,
    open_mcap,
    with_checksum,
)
from .reading import about, notes_of, stage_of
from .recorder import CHUNK_SIZE
from .topics import BODY, LOST, NOTES


class Topic(NamedTuple):
    name: str
    schema: str
    role: str
    """Role of the topic.

    "state", "pose", "poses", "transforms", "scan", "scene", "grid", "true imu", "contacts", or
    the kind of a sensor: "imu", "gnss", "odometry", "bumper".
    """
    messages: int
    rate: float
    """Messages per second of recorded time, in Hz."""


@dataclass(frozen=True)
class Info:
    """Summary of a recording, as `skidpad info` shows it."""

    path: Path
    size: int
    """Size of the file in bytes."""
    complete: bool
    """False if the file was not closed, has damaged chunks, or its recording failed."""
    lost: int
    """Unreadable bytes at the end of the file."""
    program: str
    format: int
    stage: Stage = field(repr=False)
    notes: Mapping[str, Any]
    start: float
    """Earliest message time in s."""
    end: float
    samples: int
    """Number of rows of channel values."""
    chunks: int
    damaged: int
    """Number of damaged chunks; their messages are not counted."""
    unpacked: int
    """Uncompressed size of the messages in bytes."""
    compression: str
    topics: tuple[Topic, ...] = field(repr=False)

    __repr__ = brief_repr

    @property
    def duration(self) -> float:
        """Time from the first message to the last, in s."""
        return self.end - self.start

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(topic.messages for topic in self.topics)


def info(path: str | os.PathLike[str]) -> Info:
    """Summary of a recording; raises if the file is not a recording."""
    file = path_of(path)
    with open_mcap(file) as contents:
        values, stage, notes = about(contents), stage_of(contents), notes_of(contents)
        chunks = contents.chunks
        counts, _, damaged = _count_messages(contents, checked=True)
        start = min((chunk.start_time for chunk in chunks), default=0) / 1e9
        end = max((chunk.end_time for chunk in chunks), default=0) / 1e9
        topics: list[Topic] = []
        for channel in contents.channels.values():
            count, name = counts[channel.id], contents.schemas[channel.schema_id].name
            rate = (count - 1) / (end - start) if count > 1 and end > start else 0.0
            topics.append(Topic(channel.topic, name, channel.metadata.get("role", ""), count, rate))
        states = [c.id for c in contents.by_role("state") if BODY in c.metadata]
        return Info(
            path=file,
            size=len(contents.data),
            complete=contents.complete and not damaged and LOST not in notes,
            lost=len(contents.data) - contents.end,
            program=values.get("program", ""),
            format=int(values["format"]),
            stage=stage,
            notes=notes,
            start=start,
            end=end,
            samples=max((counts[k] for k in states), default=0),
            chunks=len(chunks),
            damaged=damaged,
            unpacked=sum(chunk.size for chunk in chunks),
            compression=", ".join(dict.fromkeys(c.compression or "none" for c in chunks)),
            topics=tuple(topics),
        )


class Recovered(NamedTuple):
    path: Path
    chunks: int
    """Number of intact chunks, which were copied."""
    damaged: int
    """Number of damaged chunks, which were not."""
    lost: int
    """Unreadable bytes at the end of the original."""
    was_complete: bool


class NothingWhole(InvalidValue):
    """A file without any intact chunk."""


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Recovered:
    """Write a complete recording with everything that is intact in another.

    `out` is `NAME.recovered.mcap` next to the file by default; the file itself is only read.
    If no chunk of it is intact, it raises and writes nothing.
    """
    source = path_of(path)
    target = source.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
    with open_mcap(source) as contents:
        texts = contents.metadata
        contents.metadata = [(name, values) for name, values in texts if intact(name, values)]
        stage_of(contents)
        if target.exists() and target.samefile(source):
            raise InvalidValue(f"{target} is the damaged file itself; give another name")
        whole, chunks = _whole_chunks(contents), contents.chunks
        if not whole and (chunks or not contents.complete):
            why = "it ends before its first chunk of messages"
            if chunks:
                why = f"{counted(len(chunks), 'chunk')} of messages, none of them whole"
            raise NothingWhole(f"nothing of {source} can be saved: {why}")
        damaged, lost = len(chunks) - len(whole), len(contents.data) - contents.end
        note = json.dumps({"recovered": {"damaged_chunks": damaged}})
        with replacing(target) as temporary:
            _write(contents, whole, temporary, with_checksum(NOTES, {"notes": note}))
        complete = contents.complete and not damaged and contents.metadata == texts
        return Recovered(target, len(whole), damaged, lost, complete)


_Chunks = list[tuple[ChunkPlace, list[MessageIndexes]]]


def _whole_chunks(contents: Contents) -> _Chunks:
    """Intact chunks that have messages, each with its message indexes."""
    whole: _Chunks = []
    for chunk in contents.chunks:
        with contextlib.suppress(Damaged, IndexError):
            if indexes := message_indexes(contents, contents.messages(chunk)):
                whole.append((chunk, indexes))
    return whole


def _write(
    contents: Contents, chunks: _Chunks, path: Path, note: Mapping[str, str] | None = None
) -> None:
    """Write a complete file of these chunks and of the messages outside of chunks.

    With a `note`, the metadata and the note are written too.
    """
    schemas, channels = list(contents.schemas.values()), list(contents.channels.values())
    library, profile = contents.library, contents.profile
    file = McapFile(path, schemas, channels, {}, library=library, profile=profile)
    try:
        for name, values in contents.metadata if note else ():
            file.add_metadata(name, values)
        for chunk, indexes in chunks:
            file.add_chunk(contents.chunk(chunk), indexes)
        for block in loose_messages(contents, CHUNK_SIZE):
            indexes = message_indexes(contents, np.frombuffer(block, np.uint8))
            file.add_messages(memoryview(block), indexes)
        if note:
            file.add_metadata(NOTES, note)
        file.finish()
    finally:
        file.close()


def message_indexes(contents: Contents, data: NDArray[np.uint8]) -> list[MessageIndexes]:
    """Message indexes of a chunk, from a scan of its messages."""
    return [
        MessageIndexes(
            np.array([channel], np.uint16), those.times, those.begins[None].astype(np.uint64)
        )
        for channel, those in contents.places(data).items()
    ]


STORAGES = {".mcap": "mcap", ".db3": "sqlite3"}
"""Storage names of rosbag2 by file suffix."""


class BagTopic(NamedTuple):
    name: str
    type: str
    form: str
    """Serialisation format of its messages: "cdr"."""
    messages: int
    profiles: str = ""
    """Offered quality of service as the YAML text in the file."""
    type_hash: str = ""

    __repr__ = brief_repr


class BagFile(NamedTuple):
    path: Path
    closed: bool
    """Whether the file was closed properly, with an index."""
    start: int
    """Earliest message time in ns; 0 without messages."""
    end: int
    topics: tuple[BagTopic, ...]

    __repr__ = brief_repr

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(topic.messages for topic in self.topics)


@dataclass(frozen=True)
class BagInfo:
    """Summary of a bag, as `skidpad info` shows it."""

    path: Path
    files: tuple[BagFile, ...] = field(repr=False)
    metadata: str = ""
    """Fault of metadata.yaml; empty if it is valid, or for a single file."""

    __repr__ = brief_repr

    @property
    def storage(self) -> str:
        """Storage name of rosbag2: "mcap" or "sqlite3"."""
        return STORAGES[self.files[0].path.suffix.lower()]

    @property
    def size(self) -> int:
        """Total size of its files in bytes."""
        return sum(file.path.stat().st_size for file in self.files)

    @property
    def closed(self) -> bool:
        """Whether all files were closed properly."""
        return all(file.closed for file in self.files)

    @property
    def start(self) -> int:
        """Earliest message time in ns; 0 without messages."""
        return min((file.start for file in self.files if file.messages), default=0)

    @property
    def end(self) -> int:
        """Latest message time in ns."""
        return max((file.end for file in self.files if file.messages), default=0)

    @property
    def duration(self) -> float:
        """Time from the first message to the last, in s."""
        return (self.end - self.start) / 1e9

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(file.messages for file in self.files)

    @property
    def topics(self) -> tuple[BagTopic, ...]:
        """Topics of all files, merged and sorted by name."""
        return join_topics([topic for file in self.files for topic in file.topics])


def bag_info(path: str | os.PathLike[str]) -> BagInfo:
    """Summary of a bag: a folder, or one of its .mcap or .db3 files; raises for anything else."""
    bag = path_of(path)
    if not bag.is_dir():
        return BagInfo(bag, (bag_file(bag),))
    try:
        paths = bag_files(bag)
    except InvalidValue:
        paths = files_of_folder(bag)
    files = tuple(map(bag_file, paths))
    return BagInfo(bag, files, metadata_fault(bag, files))


def metadata_fault(folder: Path, files: Sequence[BagFile]) -> str:
    """Reason why metadata.yaml does not match these files; empty if it does."""
    if not (folder / bags.NAME).exists():
        return "missing"
    try:
        about: Any = yaml_of(folder / bags.NAME)[bags.ROOT]
        told = {
            (one["topic_metadata"]["name"], one["topic_metadata"]["type"]): one["message_count"]
            for one in about["topics_with_message_count"]
        }
        names = [Path(name).name for name in about["relative_file_paths"]]
    except (InvalidValue, KeyError, TypeError, IndexError):
        return "not readable"
    counts: Counter[tuple[str, str]] = Counter()
    for file in files:
        counts.update({(topic.name, topic.type): topic.messages for topic in file.topics})
    there = [file.path.name for file in files]
    return "" if (told, names) == (dict(counts), there) else "not that of its files"


def bag_file(path: Path) -> BagFile:
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"{path}: files of bags must be {' or '.join(SUFFIXES)}")
    if path.suffix.lower() == ".db3":
        return _of_database(path)
    with open_mcap(path) as contents:
        counts, span, _ = _count_messages(contents)
        topics: list[BagTopic] = []
        for channel in contents.channels.values():
            schema = contents.schemas.get(channel.schema_id)
            kind = "" if schema is None else schema.name
            texts = ("offered_qos_profiles", "topic_type_hash")
            more = [channel.metadata.get(key, "") for key in texts]
            count, form = counts[channel.id], channel.message_encoding
            topics.append(BagTopic(channel.topic, kind, form, count, more[0], more[1]))
        return BagFile(path, _is_closed(contents), *span, join_topics(topics))


def _is_closed(contents: Contents) -> bool:
    return contents.complete and contents.statistics is not None


def join_topics(topics: Sequence[BagTopic]) -> tuple[BagTopic, ...]:
    """Topics merged by identity, with their message counts added."""
    joined: dict[tuple[str, str], BagTopic] = {}
    for topic in topics:
        key = (topic.name, topic.type)
        first = joined.setdefault(key, topic._replace(messages=0))
        joined[key] = first._replace(messages=first.messages + topic.messages)
    return tuple(joined[key] for key in sorted(joined))


def loose_messages(contents: Contents, most: int) -> list[bytes]:
    """Messages outside of chunks, in blocks of about `most` bytes."""
    blocks: list[bytearray] = []
    for begin, end in contents.loose:
        if not blocks or len(blocks[-1]) > most:
            blocks.append(bytearray())
        blocks[-1] += contents.data[begin:end]
    return [bytes(block) for block in blocks]


def _count_messages(
    contents: Contents, *, checked: bool = False
) -> tuple[Counter[int], tuple[int, int], int]:
    """Message counts by channel, first and last time in ns, and number of damaged chunks.

    They come from the statistics of a closed file, if it has them, otherwise from a scan of all
    messages. With `checked`, the statistics are used only if all chunks match their checksums.
    """
    about, damaged = contents.statistics, 0
    if contents.complete and about is not None:
        with contextlib.suppress(Damaged):
            for chunk in contents.chunks if checked else ():
                contents.messages(chunk)
            span = about.message_start_time, about.message_end_time
            return Counter(about.channel_message_counts), span, 0
    counts: Counter[int] = Counter()
    times: list[int] = []
    blocks = [np.frombuffer(block, np.uint8) for block in loose_messages(contents, 1 << 24)]
    for block in (*contents.chunks, *blocks):
        try:
            data = block if isinstance(block, np.ndarray) else contents.messages(block)
            places = contents.places(data)
        except (Damaged, IndexError):
            damaged += 1
            continue
        for channel, those in places.items():
            counts[channel] += len(those.times)
            times += [int(those.times.min()), int(those.times.max())]
    return counts, (min(times, default=0), max(times, default=0)), damaged


def _of_database(path: Path) -> BagFile:
    with reading(path, "is not a readable bag"), contextlib.closing(opened_database(path)) as data:
        columns = {row[1] for row in data.execute("PRAGMA table_info(topics)")}
        more = [
            name if name in columns else "''"
            for name in ("offered_qos_profiles", "type_description_hash")
        ]
        counts: dict[Any, tuple[int, int, int]] = {
            number: (count, start, end)
            for number, count, start, end in data.execute(
                "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages "
                "GROUP BY topic_id"
            )
        }
        query = f"SELECT id, name, type, serialization_format, {', '.join(more)} FROM topics"
        topics = tuple(
            BagTopic(str(name), str(kind), str(form), counts.get(number, (0,))[0], str(q), str(h))
            for number, name, kind, form, q, h in data.execute(query)
        )
        start = min((int(start) for _, start, _ in counts.values()), default=0)
        end = max((int(end) for _, _, end in counts.values()), default=0)
        return BagFile(path, True, start, end, join_topics(topics))


class RecoveredBag(NamedTuple):
    path: Path
    files: tuple[Recovered, ...]
    metadata: str
    """Fault that metadata.yaml had; empty if it was valid, or for a single file."""

    __repr__ = brief_repr

    @property
    def was_complete(self) -> bool:
        """Whether no repair was needed."""
        return not self.metadata and all(file.was_complete for file in self.files)


def recover_bag(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> RecoveredBag:
    """Repair a bag, keeping everything that is intact in it.

    A folder is repaired in place: a truncated file is replaced, and the original renamed
    `NAME.torn`; metadata.yaml is rewritten unless it is valid. With `out`, a new folder, the
    original is only read. For a single .mcap file of a bag, `out` is `NAME.recovered.mcap` next
    to it by default, and nothing is written if no message of it is intact.
    """
    bag = path_of(path)
    if not bag.is_dir():
        target = bag.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
        return RecoveredBag(target, (_recover_file(bag, target, alone=True),), "")
    files = files_of_folder(bag)
    if len({file.suffix.lower() for file in files}) > 1:
        raise InvalidValue(f"{bag} has files of MCAP and of SQLite: a bag has one kind")
    folder = bag if out is None else path_of(out, "out")
    try:
        if out is not None:
            bags.make_bag_folder(folder)
    except OSError as error:
        raise InvalidValue(f"cannot write to {folder}: {error.strerror or error}") from error
    recovered = tuple(_recover_file(file, folder / file.name) for file in files)
    mended = [bag_file(file.path) for file in recovered]
    fault = metadata_fault(bag, mended)
    if fault or folder != bag:
        bags.write_metadata(folder, _metadata(bag, mended))
    return RecoveredBag(folder, recovered, fault)


def _recover_file(source: Path, target: Path, *, alone: bool = False) -> Recovered:
    """Repair a file, in place or to another path; a file that is `alone` must have an intact
    message."""
    if source.suffix.lower() == ".db3":
        bag_file(source)  # raises if the source is damaged
        return _copy(source, target, Recovered(target, 0, 0, 0, True))
    with open_mcap(source) as contents:
        chunks, loose = _whole_chunks(contents), len(contents.loose)
        damaged, lost = len(contents.chunks) - len(chunks), len(contents.data) - contents.end
        complete = _is_closed(contents) and not damaged
    if alone and not (complete or chunks or loose):
        raise NothingWhole(f"nothing of {source} can be saved: it has no complete message")
    kept = source.with_name(f"{source.name}.torn")
    if target == source and not complete and kept.exists():
        raise InvalidValue(f"{kept} exists already: move it, or give another OUT")
    result = Recovered(target, len(chunks), damaged, lost, complete)
    if complete:
        return _copy(source, target, result)
    with replacing(target) as temporary:
        with open_mcap(source) as contents:
            for k, channel in contents.channels.items():
                if profiles := channel.metadata.get("offered_qos_profiles"):
                    # In the form that all releases of ROS 2 read.
                    text = {"offered_qos_profiles": bags.qos_text(bags.qos_profiles(profiles))}
                    contents.channels[k] = replace(channel, metadata={**channel.metadata, **text})
            _write(contents, chunks, temporary)
        if target == source:
            try:
                os.link(source, kept)
            except OSError:  # not every file system has links
                shutil.copyfile(source, kept)
    return result


def _copy(source: Path, target: Path, result: Recovered) -> Recovered:
    if source != target:
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)
    return result


def _metadata(bag: Path, files: Sequence[BagFile]) -> str:
    """Text of metadata.yaml for these files, with distribution and custom data of the old one."""
    try:
        old: Any = yaml_of(bag / bags.NAME)[bags.ROOT]
        distro, custom = str(old.get("ros_distro", "unknown")), old.get("custom_data")
        # Readers take texts only.
        data = {str(key): str(value) for key, value in custom.items()} if custom else None
    except (InvalidValue, KeyError, TypeError, IndexError, AttributeError):
        distro, data = "unknown", None
    info = BagInfo(bag, tuple(files))
    spans = [bags.FileSpan(file.path.name, file.start, file.end, file.messages) for file in files]
    topics = [
        bags.TopicAndCount(
            bags.topic_text(
                t.name, t.type, t.form, bags.qos_text(bags.qos_profiles(t.profiles)), t.type_hash
            ),
            t.messages,
        )
        for t in info.topics
    ]
    storage = STORAGES[files[0].path.suffix.lower()]
    return bags.metadata_text(storage, spans, topics, ros_distro=distro, custom_data=data)


_Fields = dict[str, tuple[str, str]]
_BODIES: tuple[_Fields, ...] = (
    {"x": ("m", ".position.x"), "y": ("m", ".position.y"), "yaw": ("rad", ".orientation.yaw")},
    {"x": ("m", ".x"), "y": ("m", ".y"), "yaw": ("rad", ".phi")},
)
"""Unit and field suffix of a body's pose, for ROS messages and for brains2."""
_MOTION = {
    "v_x": ("m/s", ".twist.twist.linear.x"),
    "v_y": ("m/s", ".twist.twist.linear.y"),
    "omega": ("rad/s", ".twist.twist.angular.z"),
}
"""Unit and field suffix of the motion in odometry messages."""
_LENGTHS = (0.3, 4.5)
"""Least and largest drawn length of a body in m. A bag does not state the length, so it is 1/20
of the extent of the path, within these limits."""


def bag_film(path: Path) -> Film:
    """Film of the poses in a bag; raises if it has none."""
    bag = read_bag(path)
    log = Log(path.name, {name: Channel(*signal) for name, signal in bag.signals.items()})
    runs = {name: run for fields in _BODIES for name, run in _runs(log, fields).items()}
    runs = {name: run for name, run in runs.items() if len(run)}
    if not runs:
        raise InvalidValue(f"{path} has no topic with a pose, such as nav_msgs/Odometry, to show")
    shapes = {name: _shape(run) for name, run in runs.items()}
    stage, times, rows = trajectory_stage(runs, shapes, title=path.name)
    return Film(stage, times, rows.astype(np.float32))


def _runs(log: Log, fields: _Fields) -> dict[str, Trajectory]:
    """Trajectories of the bodies whose poses have these fields, by topic."""
    ends = tuple(field for _, field in fields.values())
    poses = [name.removesuffix(ends[0]) for name in log.channels if name.endswith(ends[0])]
    # Poses within sequences are left out: they are points of a path, or belong to other bodies.
    return {
        _topic(pose): _run(log, pose, fields)
        for pose in poses
        if "[" not in pose and all(pose + end in log.channels for end in ends)
    }


def _topic(pose: str) -> str:
    return pose.removesuffix(".pose").removesuffix(".pose")


def _run(log: Log, pose: str, fields: _Fields) -> Trajectory:
    """Trajectory of a body at the times of its pose."""
    series = {name: (unit, log.channels[pose + end]) for name, (unit, end) in fields.items()}
    for name, (unit, end) in _MOTION.items():
        motion = log.channels.get(_topic(pose) + end)
        if motion is not None and len(motion.t) == len(series["x"][1].t):
            series[name] = unit, motion
    finite = np.all([np.isfinite(one.values) for _, one in series.values()], axis=0)
    units = known_units()
    columns: list[Column] = []
    for name, (unit, one) in series.items():
        # A heading is interpolated, so it must not jump by a turn.
        values = np.unwrap(one.values[finite]) if name == "yaw" else one.values[finite]
        columns.append(Column(name, units[unit], "state", values))
    return Trajectory(series["x"][1].t[finite], tuple(columns), name=_topic(pose))


def _shape(run: Trajectory) -> BodyShape:
    """Kite shape that points forward."""
    way = float(max(np.ptp(run["x"]), np.ptp(run["y"])))
    length = float(np.clip(way / 20.0, *_LENGTHS))
    outline = ((0.6, 0.0), (-0.2, 0.25), (-0.4, 0.0), (-0.2, -0.25))
    return BodyShape((tuple((length * x, length * y) for x, y in outline),))
