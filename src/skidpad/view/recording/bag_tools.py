"""Bags of ROS 2: what is inside, also of one that was cut off; mending; showing them as a film."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.files import brief_repr, path_of, reading, replacing, yaml_of
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from ...run.trajectory_files import known_units
from ...run.trajectory_table import Column
from ...study.identify.bags import SUFFIXES, bag_files, files_of_folder, opened_database
from ...study.identify.log import Log, read_log
from ..film import Film
from ..stage import BodyShape
from ..stages import trajectory_stage
from .bags import (
    NAME,
    ROOT,
    FileSpan,
    TopicAndCount,
    make_bag_folder,
    metadata_text,
    qos_profiles,
    qos_text,
    topic_text,
    write_metadata,
)
from .inspection import NothingWhole, Recovered, message_indexes
from .mcap import ChunkPlace, Contents, Damaged, McapFile, MessageIndexes, open_mcap
from .recorder import CHUNK_SIZE

STORAGES = {".mcap": "mcap", ".db3": "sqlite3"}
"""Names of rosbag2 for kinds of files."""


class BagTopic(NamedTuple):
    """A topic and its messages."""

    name: str
    type: str
    form: str
    """Serialisation of its messages: "cdr"."""
    messages: int
    profiles: str = ""
    """The offered quality of service, as the file has it: YAML."""
    type_hash: str = ""

    __repr__ = brief_repr


class BagFile(NamedTuple):
    """A file of a bag."""

    path: Path
    closed: bool
    """Whether it was closed properly: has an index."""
    start: int
    """Earliest time of a message in ns; 0 without messages."""
    end: int
    topics: tuple[BagTopic, ...]

    __repr__ = brief_repr

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(topic.messages for topic in self.topics)


@dataclass(frozen=True)
class BagInfo:
    """Contents of a bag, as `skidpad info` shows them."""

    path: Path
    files: tuple[BagFile, ...] = field(repr=False)
    metadata: str = ""
    """Fault of metadata.yaml; empty if it is right, or for a file alone."""

    __repr__ = brief_repr

    @property
    def storage(self) -> str:
        """As rosbag2 calls it: "mcap" or "sqlite3"."""
        return STORAGES[self.files[0].path.suffix.lower()]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.path.stat().st_size for file in self.files)

    @property
    def closed(self) -> bool:
        """Whether all of its files were closed properly."""
        return all(file.closed for file in self.files)

    @property
    def start(self) -> int:
        """Earliest time of a message in ns; 0 without messages."""
        return min((file.start for file in self.files if file.messages), default=0)

    @property
    def end(self) -> int:
        """Latest time of a message in ns."""
        return max((file.end for file in self.files if file.messages), default=0)

    @property
    def duration(self) -> float:
        """From the first message to the last, in s."""
        return (self.end - self.start) / 1e9

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(file.messages for file in self.files)

    @property
    def topics(self) -> tuple[BagTopic, ...]:
        """Topics of all files together, by name."""
        return join_topics([topic for file in self.files for topic in file.topics])


def bag_info(path: str | os.PathLike[str]) -> BagInfo:
    """What is inside a bag: a folder, or one .mcap or .db3 of it; raises for anything else."""
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
    """Why metadata.yaml is not what it should be for these files; empty if it is."""
    if not (folder / NAME).exists():
        return "missing"
    try:
        about: Any = yaml_of(folder / NAME)[ROOT]
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
    """What is inside a file of a bag."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"{path}: files of bags must be {' or '.join(SUFFIXES)}")
    if path.suffix.lower() == ".db3":
        return _of_database(path)
    with open_mcap(path) as contents:
        closed = contents.complete and contents.statistics is not None
        if closed and contents.statistics is not None:
            about = contents.statistics
            counts = Counter(about.channel_message_counts)
            span = about.message_start_time, about.message_end_time
        else:
            counts, span = _count_messages(contents)
        return BagFile(path, closed, *span, topics_of(contents, counts))


def topics_of(contents: Contents, counts: Counter[int]) -> tuple[BagTopic, ...]:
    """The topics of an MCAP file, with the messages of each channel."""
    topics: list[BagTopic] = []
    for channel in contents.channels.values():
        schema = contents.schemas.get(channel.schema_id)
        topics.append(
            BagTopic(
                channel.topic,
                schema.name if schema is not None else "",
                channel.message_encoding,
                counts[channel.id],
                channel.metadata.get("offered_qos_profiles", ""),
                channel.metadata.get("topic_type_hash", ""),
            )
        )
    return join_topics(topics)


def join_topics(topics: Sequence[BagTopic]) -> tuple[BagTopic, ...]:
    """Each topic once, with the messages of all that are the same."""
    joined: dict[tuple[str, str], BagTopic] = {}
    for topic in topics:
        key = (topic.name, topic.type)
        first = joined.setdefault(key, topic._replace(messages=0))
        joined[key] = first._replace(messages=first.messages + topic.messages)
    return tuple(joined[key] for key in sorted(joined))


def loose_messages(contents: Contents, most: int) -> list[bytes]:
    """Messages that lie outside of chunks, in blocks of about `most` bytes."""
    blocks: list[bytearray] = []
    for begin, end in contents.loose:
        if not blocks or len(blocks[-1]) > most:
            blocks.append(bytearray())
        blocks[-1] += contents.data[begin:end]
    return [bytes(block) for block in blocks]


def _count_messages(contents: Contents) -> tuple[Counter[int], tuple[int, int]]:
    """Messages by channel, and first and last time, by looking at each of them."""
    counts: Counter[int] = Counter()
    times: list[int] = []
    blocks = [np.frombuffer(block, np.uint8) for block in loose_messages(contents, 1 << 24)]
    for block in (*contents.chunks, *blocks):
        try:
            data = block if isinstance(block, np.ndarray) else contents.messages(block)
            places = contents.places(data)
        except (Damaged, IndexError):
            continue
        for channel, those in places.items():
            counts[channel] += len(those.times)
            times += [int(those.times.min()), int(those.times.max())]
    return counts, (min(times, default=0), max(times, default=0))


def _of_database(path: Path) -> BagFile:
    with reading(path, "is not a readable bag"), closing(opened_database(path)) as data:
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
    """Result of mending a bag."""

    path: Path
    """Path of the mended bag."""
    files: tuple[Recovered, ...]
    metadata: str
    """Fault that metadata.yaml had; empty if it was right, or for a file alone."""

    __repr__ = brief_repr

    @property
    def was_complete(self) -> bool:
        """Whether nothing had to be done."""
        return not self.metadata and all(file.was_complete for file in self.files)


class _Whole(NamedTuple):
    """The parts of a file that are whole."""

    schemas: list[Any]
    channels: list[Any]
    chunks: list[tuple[ChunkPlace, list[MessageIndexes]]]
    damaged: int
    loose: int
    """Messages outside of chunks."""
    lost: int
    closed: bool


def recover_bag(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> RecoveredBag:
    """Make a bag readable again with everything that is whole in it.

    A folder is mended where it is: a file that was cut off is replaced, and kept as `NAME.torn`;
    metadata.yaml is written anew unless it is right. With `out`, a new folder, it is only read. Of
    one .mcap of a bag, `out` is `NAME.recovered.mcap` next to it by default, and nothing is
    written where no message of it is whole.
    """
    bag = path_of(path)
    if not bag.is_dir():
        target = bag.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
        return RecoveredBag(target, (_recover_file(bag, target, alone=True),), "")
    files = files_of_folder(bag)
    if len({file.suffix.lower() for file in files}) > 1:
        raise InvalidValue(f"{bag} has files of MCAP and of SQLite: a bag has one kind")
    folder = bag if out is None else path_of(out, "out")
    if out is not None:
        try:
            make_bag_folder(folder)
        except OSError as error:
            raise InvalidValue(f"cannot write to {folder}: {error.strerror or error}") from error
    recovered = tuple(_recover_file(file, folder / file.name) for file in files)
    mended = [bag_file(file.path) for file in recovered]
    fault = metadata_fault(bag, mended)
    if fault or folder != bag:
        write_metadata(folder, _metadata(bag, mended))
    return RecoveredBag(folder, recovered, fault)


def _recover_file(source: Path, target: Path, *, alone: bool = False) -> Recovered:
    """A file made whole, at its place or another; one that is `alone` must have something whole."""
    if source.suffix.lower() == ".db3":
        bag_file(source)  # which says what is wrong with it, if anything is
        return _copy(source, target, Recovered(target, 0, 0, 0, True))
    with open_mcap(source) as contents:
        whole = _whole(contents)
    complete = whole.closed and not whole.damaged
    if alone and not (complete or whole.chunks or whole.loose):
        raise NothingWhole(f"nothing of {source} can be saved: it has no message that is whole")
    kept = source.with_name(f"{source.name}.torn")
    if target == source and not complete and kept.exists():
        raise InvalidValue(f"{kept} is there already: move it away, or say where to with OUT")
    result = Recovered(target, len(whole.chunks), whole.damaged, whole.lost, complete)
    if complete:
        return _copy(source, target, result)
    with replacing(target) as temporary:
        with open_mcap(source) as contents:
            _write(contents, whole, temporary)
        if target == source:
            _keep(source, kept)
    return result


def _copy(source: Path, target: Path, result: Recovered) -> Recovered:
    if source != target:
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)
    return result


def _keep(file: Path, kept: Path) -> None:
    """A second name for a file that is about to be replaced."""
    try:
        os.link(file, kept)
    except OSError:  # not every file system has links
        shutil.copyfile(file, kept)


def _whole(contents: Contents) -> _Whole:
    chunks: list[tuple[ChunkPlace, list[MessageIndexes]]] = []
    damaged = 0
    for chunk in contents.chunks:
        try:
            indexes = message_indexes(contents, contents.messages(chunk))
        except (Damaged, IndexError):
            damaged += 1
            continue
        if indexes:
            chunks.append((chunk, indexes))
    return _Whole(
        list(contents.schemas.values()),
        [_for_all_releases(channel) for channel in contents.channels.values()],
        chunks,
        damaged,
        len(contents.loose),
        len(contents.data) - contents.end,
        contents.complete and contents.statistics is not None,
    )


def _for_all_releases(channel: Any) -> Any:
    """A channel with its quality of service in the form that all releases of ROS 2 read."""
    profiles = channel.metadata.get("offered_qos_profiles")
    if not profiles:
        return channel
    written = {"offered_qos_profiles": qos_text(qos_profiles(profiles))}
    return replace(channel, metadata={**channel.metadata, **written})


def _write(contents: Contents, whole: _Whole, path: Path) -> None:
    file = McapFile(
        path, whole.schemas, whole.channels, {}, library=contents.library, profile=contents.profile
    )
    try:
        for chunk, indexes in whole.chunks:
            file.add_chunk(contents.chunk(chunk), indexes)
        contents.channels = {channel.id: channel for channel in whole.channels}
        for block in loose_messages(contents, CHUNK_SIZE):
            indexes = message_indexes(contents, np.frombuffer(block, np.uint8))
            file.add_messages(memoryview(block), indexes)
        file.finish()
    finally:
        file.close()


def _metadata(bag: Path, files: Sequence[BagFile]) -> str:
    """Text of metadata.yaml for these files; distribution and custom data are those of the old
    one."""
    try:
        old: Any = yaml_of(bag / NAME)[ROOT]
        distro, custom = str(old.get("ros_distro", "unknown")), old.get("custom_data")
        # Readers take texts only.
        data = {str(key): str(value) for key, value in custom.items()} if custom else None
    except (InvalidValue, KeyError, TypeError, IndexError, AttributeError):
        distro, data = "unknown", None
    info = BagInfo(bag, tuple(files))
    spans = [FileSpan(file.path.name, file.start, file.end, file.messages) for file in files]
    topics = [
        TopicAndCount(
            topic_text(t.name, t.type, t.form, qos_text(qos_profiles(t.profiles)), t.type_hash),
            t.messages,
        )
        for t in info.topics
    ]
    storage = STORAGES[files[0].path.suffix.lower()]
    return metadata_text(storage, spans, topics, ros_distro=distro, custom_data=data)


_Fields = dict[str, tuple[str, str]]
_BODIES: tuple[_Fields, ...] = (
    {"x": ("m", ".position.x"), "y": ("m", ".position.y"), "yaw": ("rad", ".orientation.yaw")},
    {"x": ("m", ".x"), "y": ("m", ".y"), "yaw": ("rad", ".phi")},
)
"""Unit and field of what places a body, behind the name of its pose: of ROS, and of brains2."""
_MOTION = {
    "v_x": ("m/s", ".twist.twist.linear.x"),
    "v_y": ("m/s", ".twist.twist.linear.y"),
    "omega": ("rad/s", ".twist.twist.angular.z"),
}
"""Unit and field of the motion in an odometry, behind the name of its topic."""
_LENGTHS = (0.3, 4.5)
"""Least and largest length of a body in m, which a bag does not state. It is a twentieth of its
path, that, and no larger than a car."""


def bag_film(path: Path) -> Film:
    """The poses of a bag as a film; raises if it has none."""
    log = read_log(path)
    runs = {name: run for fields in _BODIES for name, run in _runs(log, fields).items()}
    runs = {name: run for name, run in runs.items() if len(run)}
    if not runs:
        raise InvalidValue(f"{path} has no topic with a pose, such as nav_msgs/Odometry, to show")
    shapes = {name: _shape(run) for name, run in runs.items()}
    stage, times, rows = trajectory_stage(runs, shapes, title=path.name)
    return Film(stage, times, rows.astype(np.float32))


def _runs(log: Log, fields: _Fields) -> dict[str, Trajectory]:
    """Trajectories of the bodies whose poses have these fields."""
    ends = tuple(field for _, field in fields.values())
    poses = [name.removesuffix(ends[0]) for name in log.series if name.endswith(ends[0])]
    # Not those within sequences: they are places on a path, or of others.
    return {
        _topic(pose): _run(log, pose, fields)
        for pose in poses
        if "[" not in pose and all(pose + end in log.series for end in ends)
    }


def _topic(pose: str) -> str:
    return pose.removesuffix(".pose").removesuffix(".pose")


def _run(log: Log, pose: str, fields: _Fields) -> Trajectory:
    """A body over the times of its pose."""
    series = {name: (unit, log.series[pose + end]) for name, (unit, end) in fields.items()}
    for name, (unit, end) in _MOTION.items():
        motion = log.series.get(_topic(pose) + end)
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
    """A kite that points forward."""
    way = float(max(np.ptp(run["x"]), np.ptp(run["y"])))
    length = float(np.clip(way / 20.0, *_LENGTHS))
    outline = ((0.6, 0.0), (-0.2, 0.25), (-0.4, 0.0), (-0.2, -0.25))
    return BodyShape((tuple((length * x, length * y) for x, y in outline),))
