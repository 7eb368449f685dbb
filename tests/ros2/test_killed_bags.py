"""Bags whose program was killed, or that were cut off anywhere: read by rosbags, and mended."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcap.writer import CompressionType, Writer
from typer.testing import CliRunner

from core.files.bags import write_bag, write_database
from ros2.rosbag2_readers import RELEASES, BadConversion, read_metadata, read_qos
from ros2.test_rosbag2_writer import KILLED
from skidpad.cli import app
from skidpad.errors import InvalidValue
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import definition_text
from skidpad.study.logs import read_log
from skidpad.view.recording.bag_tools import bag_info, recover_bag
from skidpad.view.recording.bags import ROOT
from skidpad.view.recording.mcap import open_mcap
from waiting import PATIENCE

rosbag2 = pytest.importorskip("rosbags.rosbag2")
NUMBER = message_type("std_msgs/msg/Float64")
OLD_QOS = """- history: 1
  depth: 7
  reliability: 2
  durability: 1
  deadline: {sec: 0, nsec: 0}
  lifespan: {sec: 0, nsec: 0}
  liveliness: 1
  liveliness_lease_duration: {sec: 0, nsec: 0}
  avoid_ros_namespace_conventions: false
"""
"""As rosbag2 of Humble writes it, with the numbers of rmw."""
NEW_QOS = (
    OLD_QOS.replace("history: 1", "history: keep_last")
    .replace("reliability: 2", "reliability: best_effort")
    .replace("durability: 1", "durability: transient_local")
    .replace("liveliness: 1", "liveliness: automatic")
)
"""As Jazzy writes it."""
COUNT = 40


def theirs(bag: Path) -> list[tuple[str, int, bytes]]:
    """What rosbags reads."""
    with rosbag2.Reader(bag) as reader:
        messages = [(c.topic, time, bytes(data)) for c, time, data in reader.messages()]
        assert reader.message_count == len(messages)
        counts = {name: topic.msgcount for name, topic in reader.topics.items()}
        for name, count in counts.items():
            assert count == sum(topic == name for topic, *_ in messages)
        if messages:
            times = [time for _, time, _ in messages]
            assert reader.start_time == min(times)
            assert reader.duration == max(times) - min(times) + 1
    return messages


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag of 100 numbers whose program was killed."""
    bag = tmp_path_factory.mktemp("killed") / "bag"
    command = [sys.executable, "-c", KILLED, str(bag)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "there\n"
        program.send_signal(signal.SIGKILL)
        program.wait(PATIENCE)
    return bag


def opened_channels(bag: Path) -> dict[str, dict[str, str]]:
    """Metadata of the channels by topic."""
    with open_mcap(bag / "bag_0.mcap") as contents:
        return {channel.topic: dict(channel.metadata) for channel in contents.channels.values()}


def as_rosbag2(bag: Path, *, chunked: bool, qos: str = OLD_QOS) -> list[tuple[str, int, bytes]]:
    """A bag as others write it: definitions within chunks, or no chunks at all."""
    bag.mkdir()
    messages: list[tuple[str, int, bytes]] = []
    with (bag / "bag_0.mcap").open("wb") as file:
        writer = Writer(
            file, chunk_size=300, compression=CompressionType.NONE, use_chunking=chunked
        )
        writer.start(profile="ros2", library="other")
        schema = writer.register_schema(NUMBER.name, "ros2msg", definition_text(NUMBER).encode())
        metadata = {"offered_qos_profiles": qos}
        channels = {
            name: writer.register_channel(name, "cdr", schema, metadata) for name in ("/a", "/b")
        }
        for k in range(COUNT):
            for name, channel in channels.items():
                messages.append((name, 5 + k, NUMBER.encode(NUMBER.Record(k))))
                writer.add_message(channel, 5 + k, messages[-1][2], 5 + k)
        writer.finish()
    return messages


def test_rosbags_reads_what_a_killed_program_left_as_it_is(killed: Path) -> None:
    assert [time for _, time, _ in theirs(killed)] == list(range(100))
    assert bag_info(killed).metadata == ""
    assert not bag_info(killed).closed


def test_a_killed_bag_is_mended_where_it_is(killed: Path, tmp_path: Path) -> None:
    bag = Path(shutil.copytree(killed, tmp_path / "bag"))
    before, messages = (bag / "bag_0.mcap").read_bytes(), theirs(bag)
    said = CliRunner().invoke(app, ["recover", str(bag)])
    assert said.exit_code == 0
    assert "100 messages of 1 topic" in said.output
    assert "bag_0.mcap as it was is bag_0.mcap.torn" in said.output
    assert bag_info(bag).closed
    assert theirs(bag) == messages
    assert (bag / "bag_0.mcap.torn").read_bytes() == before
    said = CliRunner().invoke(app, ["recover", str(bag)])
    assert f"{bag} was complete" in said.output.replace("\n", "")
    assert theirs(bag) == messages


@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("chunked", [True, False])
def test_a_bag_of_others_that_was_cut_off_anywhere(tmp_path: Path, chunked: bool) -> None:
    """Whatever is whole is kept: the messages are the first ones, and no fewer than the cut
    allows."""
    messages = as_rosbag2(tmp_path / "bag", chunked=chunked)
    data = (tmp_path / "bag/bag_0.mcap").read_bytes()
    kept: list[int] = []
    # Closer together at the end, where every message is there but not what closes the file.
    ends = sorted({*range(200, len(data), 397), *range(len(data) - 97, len(data), 31)})
    for k, end in enumerate(ends):
        bag = tmp_path / str(k)
        bag.mkdir()
        (bag / "bag_0.mcap").write_bytes(data[:end])
        recovery = recover_bag(bag)
        assert recovery.metadata == "missing"
        there = theirs(bag) if bag_info(bag).topics else []
        assert sorted(there) == sorted(messages[: len(there)])
        kept.append(len(there))
        assert bag_info(bag).closed
        assert recover_bag(bag).was_complete
    assert kept == sorted(kept)
    assert kept[-1] == len(messages)
    assert len(set(kept)) > 5


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("qos", [OLD_QOS, NEW_QOS], ids=["numbers", "names"])
def test_recovered_bags_of_every_release_are_read_by_all(
    tmp_path: Path, release: str, qos: str
) -> None:
    """Also that of a newer release by an older one, as far as metadata.yaml goes."""
    as_rosbag2(tmp_path / "bag", chunked=True, qos=qos)
    before = opened_channels(tmp_path / "bag")
    recover_bag(tmp_path / "bag")
    assert opened_channels(tmp_path / "bag") == before
    topics = read_metadata((tmp_path / "bag/metadata.yaml").read_text(), release)
    assert topics.keys() == {"/a", "/b"}
    for kind, count, (offered,) in topics.values():
        assert (kind, count, offered.depth) == (NUMBER.name, COUNT, 7)
        assert offered.policies["reliability"] == "best_effort"
        assert offered.policies["durability"] == "transient_local"
        assert set(offered.durations.values()) == {0}
    with rosbag2.Reader(tmp_path / "bag") as reader:
        for connection in reader.connections:
            (theirs,) = connection.ext.offered_qos_profiles
            assert (theirs.depth, theirs.reliability.name) == (7, "BEST_EFFORT")
            assert theirs.durability.name == "TRANSIENT_LOCAL"


@pytest.mark.parametrize("release", RELEASES)
def test_channels_of_a_mended_file_are_read_by_all(tmp_path: Path, release: str) -> None:
    """`ros2 bag play` takes the quality of service from the file, not from metadata.yaml."""
    as_rosbag2(tmp_path / "bag", chunked=True, qos=NEW_QOS)
    file = tmp_path / "bag/bag_0.mcap"
    file.write_bytes(file.read_bytes()[:-40])
    recover_bag(tmp_path / "bag")
    channels = opened_channels(tmp_path / "bag")
    assert len(channels) == 2
    for metadata in channels.values():
        (offered,) = read_qos(metadata["offered_qos_profiles"], release)
        assert (offered.depth, offered.policies["reliability"]) == (7, "best_effort")


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
@pytest.mark.parametrize("release", RELEASES)
def test_bags_that_rosbags_wrote_are_recovered_for_every_release(
    tmp_path: Path, version: Any, storage: str, release: str
) -> None:
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability
    from rosbags.interfaces import QosTime as Time

    latched = Qos(
        QosHistory.KEEP_LAST,
        3,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        Time(1, 2),
        Time(3, 4),
        QosLiveliness.MANUAL_BY_TOPIC,
        Time(5, 6),
        avoid_ros_namespace_conventions=False,
    )
    plugin = rosbag2.StoragePlugin[storage]
    with rosbag2.Writer(tmp_path / "bag", version=version, storage_plugin=plugin) as writer:
        writer.set_custom_data("weather", "rain")
        connection = writer.add_connection(
            "/a",
            NUMBER.name,
            msgdef=definition_text(NUMBER),
            rihs01=NUMBER.hash,
            offered_qos_profiles=[latched],
        )
        writer.write(connection, 5, NUMBER.encode(NUMBER.Record(1.0)))
    file = tmp_path / "bag/metadata.yaml"
    if version == 9 and release != "jazzy":
        with pytest.raises(BadConversion):
            read_metadata(file.read_text(), release)
    else:
        assert read_metadata(file.read_text(), release)["/a"][1] == 1
    file.write_text(file.read_text().replace("message_count: 1", "message_count: 2"))
    assert recover_bag(tmp_path / "bag").metadata == "not that of its files"
    ((kind, count, profiles),) = read_metadata(file.read_text(), release).values()
    assert (kind, count) == (NUMBER.name, 1)
    (offered,) = profiles
    assert offered.depth == 3
    assert [*offered.policies.values()] == [
        "keep_last",
        "reliable",
        "transient_local",
        "manual_by_topic",
    ]
    assert [*offered.durations.values()] == [1 * 10**9 + 2, 3 * 10**9 + 4, 5 * 10**9 + 6]
    assert yaml.safe_load(file.read_text())[ROOT]["custom_data"] == {"weather": "rain"}


@pytest.mark.parametrize("metadata", [None, "", "rosbag2_bagfile_information: {}", "a: [", "stale"])
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_metadata_is_written_anew(tmp_path: Path, metadata: str | None, storage: str) -> None:
    bag = tmp_path / "bag"
    if storage == "mcap":
        write_bag(bag)
    else:
        bag.mkdir()
        write_database(bag / "bag_0.db3")
        recover_bag(bag)
    messages = theirs(bag)
    file = bag / "metadata.yaml"
    text = file.read_text()
    file.unlink()
    if metadata is not None:
        file.write_text(text.replace("/sensor", "/other") if metadata == "stale" else metadata)
    assert bag_info(bag).metadata
    recovery = recover_bag(bag)
    assert recovery.metadata
    assert all(one.was_complete for one in recovery.files)
    assert theirs(bag) == messages
    assert bag_info(bag).metadata == ""


def test_a_damaged_chunk_is_left_out(tmp_path: Path) -> None:
    messages = as_rosbag2(tmp_path / "bag", chunked=True)
    file = tmp_path / "bag/bag_0.mcap"
    data = bytearray(file.read_bytes())
    # A number in the first chunk that has it: its check sum is wrong then.
    at = data.index(NUMBER.encode(NUMBER.Record(20)))
    data[at + 7] ^= 1
    file.write_bytes(data)
    recovery = recover_bag(tmp_path / "bag")
    assert recovery.files[0].damaged == 1
    there = theirs(tmp_path / "bag")
    assert set(there) < set(messages)
    assert len(there) > len(messages) - 20


def test_another_folder_is_written_and_the_bag_only_read(killed: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in killed.iterdir()}
    recovery = recover_bag(killed, tmp_path / "new")
    assert recovery.path == tmp_path / "new"
    assert theirs(tmp_path / "new") == theirs(killed)
    assert before == {file.name: file.read_bytes() for file in killed.iterdir()}
    with pytest.raises(InvalidValue, match="a bag needs a folder that is new or empty"):
        recover_bag(killed, tmp_path / "new")


def test_a_file_alone_is_mended_beside_it(killed: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(killed / "bag_0.mcap", tmp_path))
    assert recover_bag(file).path == tmp_path / "bag_0.recovered.mcap"
    assert theirs(tmp_path / "bag_0.recovered.mcap") == theirs(killed)


def test_what_was_kept_is_not_overwritten(killed: Path, tmp_path: Path) -> None:
    bag = Path(shutil.copytree(killed, tmp_path / "bag"))
    (bag / "bag_0.mcap.torn").write_text("mine")
    before = (bag / "bag_0.mcap").read_bytes()
    with pytest.raises(InvalidValue, match=r"bag_0\.mcap\.torn exists already"):
        recover_bag(bag)
    assert (bag / "bag_0.mcap.torn").read_text() == "mine"
    assert (bag / "bag_0.mcap").read_bytes() == before


def spoilt(bag: Path, how: str) -> None:
    """What may be wrong with a bag."""
    if how == "torn":
        file = bag / "bag_0.mcap"
        file.write_bytes(file.read_bytes()[:-200])
    elif how == "empty":
        (bag / "metadata.yaml").write_text("")
    else:
        file = bag / "metadata.yaml"
        file.write_text(file.read_text().replace("bag_0", "bag_1"))


@pytest.mark.parametrize("how", ["torn", "empty", "stale"])
def test_readers_say_what_to_do(killed: Path, tmp_path: Path, how: str) -> None:
    bag = Path(shutil.copytree(killed, tmp_path / "bag"))
    spoilt(bag, how)
    with pytest.raises(InvalidValue, match="skidpad recover"):
        read_log(bag)
    params = tmp_path / "params.yaml"
    params.write_text("wheel_base: 2.79\n")
    arguments: dict[str, list[Any]] = {
        "replay": [str(bag), "--no-browser"],
        "compare": ["IDEAL_STEER_VEL", "--params", str(params), "--log", str(bag)],
    }
    for command, more in arguments.items():
        said = CliRunner().invoke(app, [command, *more])
        assert isinstance(said.exception, InvalidValue)
        assert f"skidpad recover {bag}" in str(said.exception)
    recover_bag(bag)
    assert "/number.data" in read_log(bag).channels or how == "torn"


def test_files_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    messages = write_bag(bag)
    for k in (1, 2, 10):
        shutil.copy(messages, bag / f"bag_{k}.mcap")
    shutil.copy(messages, bag / "bag_0.recovered.mcap")
    recover_bag(bag)
    names = [file.path.name for file in bag_info(bag).files]
    assert names == [f"bag_{k}.mcap" for k in (0, 1, 2, 10)]
    assert len(theirs(bag)) == 4 * 12
