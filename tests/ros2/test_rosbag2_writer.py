"""Bags as rosbags reads them back: messages, types, quality of service; and after a crash."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader

from ros2.rosbag2_readers import DURATIONS, RELEASES, Offered, read_metadata, read_qos
from ros2.samples import random_record
from skidpad.errors import InvalidValue
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import MESSAGES, MessageType, definition_text, type_of_text
from skidpad.study.logs import read_log
from skidpad.view.recording import BagWriter, RecordingFailed
from skidpad.view.recording.mcap import McapFile
from waiting import PATIENCE

rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")
TOPICS = {
    "/odom": (message_type("nav_msgs/Odometry"), DEFAULT),
    "/scan": (message_type("sensor_msgs/LaserScan"), SENSOR),
    "/map": (message_type("nav_msgs/OccupancyGrid"), LATCHED),
    "/control/command/control_cmd": (message_type("autoware_control_msgs/Control"), DEFAULT),
    "/other/odom": (message_type("nav_msgs/Odometry"), DEFAULT),
}


def written(folder: Path, count: int = 50) -> list[tuple[str, int, bytes]]:
    """A bag of random messages, and what is in it."""
    rng = np.random.default_rng(1)
    messages: list[tuple[str, int, bytes]] = []
    with BagWriter(folder) as bag:
        for name, (type_, qos) in TOPICS.items():
            bag.topic(name, type_, qos)
        for k in range(count):
            for name, (type_, _) in TOPICS.items():
                messages.append((name, 10**18 + k * 10**7, type_.encode(random_record(type_, rng))))
                bag.write(*messages[-1])
    return messages


def test_rosbags_reads_what_was_written(tmp_path: Path) -> None:
    messages = written(tmp_path / "bag")
    with rosbag2.Reader(tmp_path / "bag") as reader:
        there = [(c.topic, t, bytes(data)) for c, t, data in reader.messages()]
        assert sorted(there) == sorted(messages)
        assert reader.message_count == len(messages)
        assert reader.duration == 49 * 10**7 + 1
        for connection in reader.connections:
            type_, qos = TOPICS[connection.topic]
            assert connection.msgtype == type_.name
            assert connection.digest == type_.hash
            (offered,) = connection.ext.offered_qos_profiles
            assert offered.depth == qos.depth
            assert offered.reliability.name == ("RELIABLE" if qos.reliable else "BEST_EFFORT")
            assert offered.durability.name == ("TRANSIENT_LOCAL" if qos.latched else "VOLATILE")
            known = typesys.get_types_from_msg(connection.msgdef.data, connection.msgtype)
            assert type_.name in known


def test_the_definitions_in_the_bag_suffice_to_decode(tmp_path: Path) -> None:
    written(tmp_path / "bag", 3)
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    with rosbag2.Reader(tmp_path / "bag") as reader:
        for connection in reader.connections:
            types = typesys.get_types_from_msg(connection.msgdef.data, connection.msgtype)
            store.register({k: v for k, v in types.items() if k not in store.fielddefs})
        for connection, _, data in reader.messages():
            theirs = store.deserialize_cdr(data, connection.msgtype)
            ours = TOPICS[connection.topic][0].decode(data)
            if connection.topic == "/odom":
                assert ours.pose.pose.position.x == theirs.pose.pose.position.x


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_texts_of_definitions_are_read_back(name: str) -> None:
    type_ = message_type(name)
    text = definition_text(type_)
    assert type_of_text(name, text) == type_
    known = typesys.get_types_from_msg(text, name)
    assert known.keys() == {name, *(nested.name for nested in type_.referenced)}


@pytest.mark.parametrize("release", RELEASES)
def test_humble_iron_and_jazzy_read_metadata_and_channels(tmp_path: Path, release: str) -> None:
    written(tmp_path / "bag", 2)
    forever = dict.fromkeys(DURATIONS, 2**63 - 1)  # rmw's RMW_DURATION_INFINITE, in ns
    policies = {
        name: {
            "history": "keep_last",
            "reliability": "reliable" if qos.reliable else "best_effort",
            "durability": "transient_local" if qos.latched else "volatile",
            "liveliness": "automatic",
        }
        for name, (_, qos) in TOPICS.items()
    }
    expected = {
        name: (type_.name, 2, [Offered(qos.depth, policies[name], forever)])
        for name, (type_, qos) in TOPICS.items()
    }
    text = (tmp_path / "bag/metadata.yaml").read_text()
    assert read_metadata(text, release) == expected
    with (tmp_path / "bag/bag_0.mcap").open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary is not None
        channels = {
            channel.topic: read_qos(channel.metadata["offered_qos_profiles"], release)
            for channel in summary.channels.values()
        }
        (record,) = reader.iter_metadata()
    assert channels == {name: profiles for name, (_, _, profiles) in expected.items()}
    embedded = record.metadata["serialized_metadata"]
    root = "rosbag2_bagfile_information:\n" + textwrap.indent(embedded, "  ")
    assert read_metadata(root, release) == expected


def test_metadata_names_files_and_type_hashes(tmp_path: Path) -> None:
    written(tmp_path / "bag", 2)
    about = yaml.safe_load((tmp_path / "bag/metadata.yaml").read_text())
    about = about["rosbag2_bagfile_information"]
    assert about["storage_identifier"] == "mcap"
    assert about["relative_file_paths"] == ["bag_0.mcap"]
    assert about["message_count"] == 10
    hashes = {
        entry["topic_metadata"]["name"]: entry["topic_metadata"]["type_description_hash"]
        for entry in about["topics_with_message_count"]
    }
    assert hashes == {name: type_.hash for name, (type_, _) in TOPICS.items()}


def test_an_empty_bag_and_topics_that_come_late_can_be_read(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "empty") as bag:
        bag.topic("/odom", *TOPICS["/odom"])
    with rosbag2.Reader(tmp_path / "empty") as reader:
        assert [c.topic for c in reader.connections] == ["/odom"]
        assert reader.message_count == 0
    odometry, qos = TOPICS["/odom"]
    data = odometry.encode(odometry.Record())
    with BagWriter(tmp_path / "late") as bag:
        bag.topic("/odom", odometry, qos)
        bag.write("/odom", 5, data)
        bag.flush()
        bag.topic("/late", odometry, qos)
        bag.topic("/late", odometry, qos)
        bag.write("/late", 3, data)
    with rosbag2.Reader(tmp_path / "late") as reader:
        assert [(c.topic, t) for c, t, _ in reader.messages()] == [("/late", 3), ("/odom", 5)]


KILLED = """
import sys, time
from skidpad.view.recording import BagWriter
from skidpad.ros2.messages import message_type
number = message_type("std_msgs/Float64")
bag = BagWriter(sys.argv[1])
bag.topic("/number", number)
for k in range(100):
    bag.write("/number", k, number.encode(number.Record(k)))
bag.flush()
print("there", flush=True)
time.sleep(600)
"""


def test_what_was_flushed_is_there_when_the_program_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "bag")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "there\n"
        program.send_signal(signal.SIGKILL)
        program.wait(PATIENCE)
    log = read_log(tmp_path / "bag")
    assert log.channels["/number.data"].values.tolist() == [float(k) for k in range(100)]


def test_a_full_disk_is_told_and_what_was_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odometry, qos = TOPICS["/odom"]
    data = odometry.encode(odometry.Record())
    bag = BagWriter(tmp_path / "bag")
    bag.topic("/odom", odometry, qos)
    bag.write("/odom", 1, data)
    bag.flush()

    def full(*_: object) -> None:
        raise RecordingFailed("cannot record to bag: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(McapFile, "add_messages", full)
        bag.write("/odom", 2, data)
        with pytest.raises(RecordingFailed, match="No space left"):
            bag.flush()
    for attempt in (lambda: bag.write("/odom", 3, data), bag.flush, bag.close):
        with pytest.raises(RecordingFailed, match="No space left"):
            attempt()
    bag.close()
    with rosbag2.Reader(tmp_path / "bag") as reader:
        assert [time for _, time, _ in reader.messages()] == [1]
        assert reader.message_count == 1
        assert reader.topics["/odom"].msgcount == 1


def test_a_child_of_the_program_leaves_the_bag_alone(tmp_path: Path) -> None:
    odometry, qos = TOPICS["/odom"]
    data = odometry.encode(odometry.Record())
    bag = BagWriter(tmp_path / "bag")
    bag.topic("/odom", odometry, qos)
    bag.write("/odom", 1, data)
    bag._process += 1  # pyright: ignore[reportPrivateUsage]  as in a child
    bag.write("/odom", 2, data)
    bag.topic("/other", odometry, qos)
    bag.close()
    bag._process -= 1  # pyright: ignore[reportPrivateUsage]
    bag.close()
    with rosbag2.Reader(tmp_path / "bag") as reader:
        assert [(c.topic, time) for c, time, _ in reader.messages()] == [("/odom", 1)]
        assert len(reader.connections) == 1


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    odometry, qos = TOPICS["/odom"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    with pytest.raises(InvalidValue, match="exists; a bag needs a folder that is new or empty"):
        BagWriter(tmp_path / "full")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RecordingFailed, match="cannot record to"):
        BagWriter(tmp_path / "file/bag")
    with BagWriter(tmp_path / "bag") as bag:
        bag.topic("/odom", odometry, qos)
        data = odometry.encode(odometry.Record())
        for name, when, cdr, message in [
            ("/other", 1, data, "there is no topic '/other' in the bag; there are /odom"),
            ("/odom", -1, data, "time_ns = -1 of /odom must be within"),
            ("/odom", 1 << 63, data, "must be within 0 to"),
            ("/odom", 1, b"", "has 0 bytes; CDR has 4 or more"),
        ]:
            with pytest.raises(InvalidValue, match=message):
                bag.write(name, when, cdr)
        with pytest.raises(InvalidValue, match="already exists, with type nav_msgs/msg/Odometry"):
            bag.topic("/odom", TOPICS["/scan"][0], qos)
        with pytest.raises(InvalidValue, match="must be a full name"):
            bag.topic("odom", odometry, qos)
    with pytest.raises(InvalidValue, match="is closed"):
        bag.write("/odom", 1, data)
    bag.close()
    with rosbag2.Reader(tmp_path / "bag") as reader:
        assert reader.message_count == 0


def test_many_types(tmp_path: Path) -> None:
    """Every type in one bag, each decoded from the bag alone by rosbags."""
    rng = np.random.default_rng(2)
    records: dict[str, tuple[MessageType, bytes]] = {}
    with BagWriter(tmp_path / "bag") as bag:
        for name in sorted(MESSAGES):
            type_ = message_type(name)
            topic = "/" + name
            records[topic] = type_, type_.encode(random_record(type_, rng))
            bag.topic(topic, type_, DEFAULT)
            bag.write(topic, time.time_ns(), records[topic][1])
    with rosbag2.Reader(tmp_path / "bag") as reader:
        there = {c.topic: (c.msgtype, bytes(data)) for c, _, data in reader.messages()}
    assert there == {topic: (type_.name, data) for topic, (type_, data) in records.items()}
