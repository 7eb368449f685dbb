"""Bags that rosbags wrote, as MCAP and as SQLite, and those of BagWriter."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.ros2.dds import DEFAULT
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import definition_text
from skidpad.study.logs import read_log
from skidpad.view.recording import BagWriter

rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")

CONTROL = message_type("autoware_control_msgs/Control")
ODOMETRY = message_type("nav_msgs/Odometry")
OWN = "my_msgs/msg/Status"
OWN_TEXT = (
    "# not known to skidpad\nuint8 ON=1\nstring name 'x # y'\nfloat32[3] currents\n"
    "Part[] parts\nstring<=5 from\nbool ok\n" + "=" * 80 + "\nMSG: my_msgs/Part\nint16 class\n"
)
START = 1_700_000_000_000_000_000
COMMANDS, STATE, STATUS = "/control/command/control_cmd", "/localization/kinematic_state", "/status"
K = np.arange(40)


def control(k: int) -> bytes:
    plain = CONTROL.Record()
    return CONTROL.encode(
        plain._replace(
            lateral=plain.lateral._replace(steering_tire_angle=k / 64),
            longitudinal=plain.longitudinal._replace(acceleration=k / 8),
        )
    )


def odometry(k: int) -> bytes:
    """A car that turns by 0.01 rad a message."""
    plain = ODOMETRY.Record()
    pose, twist = plain.pose.pose, plain.twist.twist
    turned = pose.orientation._replace(z=np.sin(0.005 * k), w=np.cos(0.005 * k))
    pose = pose._replace(position=pose.position._replace(x=0.5 * k), orientation=turned)
    twist = twist._replace(linear=twist.linear._replace(x=20.0))
    return ODOMETRY.encode(
        plain._replace(pose=plain.pose._replace(pose=pose), twist=plain.twist._replace(twist=twist))
    )


def rosbags_bag(folder: Path, storage: str, version: int = 9) -> Path:
    """Controls, odometry 3 ms later, and a status of a type of its own."""
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for name, text in {CONTROL.name: definition_text(CONTROL), OWN: OWN_TEXT}.items():
        types = typesys.get_types_from_msg(text, name)
        store.register({k: v for k, v in types.items() if k not in store.fielddefs})
    plugin = rosbag2.StoragePlugin[storage]
    with rosbag2.Writer(folder, version=version, storage_plugin=plugin) as bag:
        connections = {
            topic: bag.add_connection(topic, name, typestore=store)
            for topic, name in {
                COMMANDS: CONTROL.name,
                STATE: ODOMETRY.name,
                STATUS: OWN,
            }.items()
        }
        status, part = store.types[OWN], store.types["my_msgs/msg/Part"]
        for k in K.tolist():
            time = START + k * 25_000_000
            bag.write(connections[COMMANDS], time, control(k))
            bag.write(connections[STATE], time + 3_000_000, odometry(k))
            currents = np.array([k, 2 * k, 3 * k], np.float32)
            message = status("é", currents, [part(k), part(-k)], "here", True)
            bag.write(connections[STATUS], time, store.serialize_cdr(message, OWN))
    return folder


def check(log: Any) -> None:
    wanted = {
        "u_steer": (0.0, K / 64),
        "u_acceleration": (0.0, K / 8),
        "x": (0.003, 0.5 * K),
        "yaw": (0.003, 0.01 * K),
        f"{STATE}.pose.covariance[35]": (0.003, 0.0 * K),
        "v_x": (0.003, 20.0 + 0.0 * K),
    }
    for name, (offset, values) in wanted.items():
        series = log.channels[name]
        np.testing.assert_allclose(series.values, values, atol=1e-12)
        np.testing.assert_allclose(series.t, 0.025 * K + offset, atol=1e-9)


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
@pytest.mark.parametrize("version", [8, 9])
def test_bags_of_rosbags(storage: str, version: int, tmp_path: Path) -> None:
    folder = rosbags_bag(tmp_path / "bag", storage, version)
    suffix = {"MCAP": "mcap", "SQLITE3": "db3"}[storage]
    (file,) = folder.glob(f"*.{suffix}")
    for source in (folder, file):
        log = read_log(source)
        check(log)
        np.testing.assert_array_equal(log.channels[f"{STATUS}.currents[2]"].values, 3 * K)
        np.testing.assert_array_equal(log.channels[f"{STATUS}.parts[1].class"].values, -K)
        assert (log.channels[f"{STATUS}.ok"].values == 1.0).all()
        assert f"{STATUS}.name" not in log.channels
        assert not log.unread
    (folder / "metadata.yaml").unlink()
    check(read_log(folder))


def test_bags_without_definitions_are_read_by_the_names_of_types(tmp_path: Path) -> None:
    """As SQLite bags were before Iron; a type that nobody knows is told."""
    folder = rosbags_bag(tmp_path / "bag", "SQLITE3")
    (file,) = folder.glob("*.db3")
    with sqlite3.connect(file) as data:
        data.execute("DROP TABLE message_definitions")
    data.close()
    log = read_log(folder)
    check(log)
    assert log.unread.keys() == {STATUS}
    assert "'my_msgs/msg/Status' is not known" in log.unread[STATUS]


def test_bags_of_several_files_have_one_beginning(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    folder.mkdir()
    names: list[str] = []
    for part in range(2):
        with BagWriter(tmp_path / f"part{part}") as bag:
            bag.topic(COMMANDS, CONTROL, DEFAULT)
            bag.topic(STATE, ODOMETRY, DEFAULT)
            for k in K[20 * part : 20 * part + 20].tolist():
                bag.write(COMMANDS, START + k * 25_000_000, control(k))
                bag.write(STATE, START + k * 25_000_000 + 3_000_000, odometry(k))
        names.append(f"part{part}_0.mcap")
        (tmp_path / f"part{part}" / names[-1]).rename(folder / names[-1])
    (folder / "metadata.yaml").write_text(
        f"rosbag2_bagfile_information:\n  relative_file_paths: [{', '.join(names)}]\n"
    )
    check(read_log(folder))


@pytest.mark.parametrize("late", [0.02, 5.0], ids=["transported", "other clock"])
def test_messages_are_timed_by_their_stamps(late: float, tmp_path: Path) -> None:
    """If these are of the clock of the bag; a bag of a simulation has another."""
    plain = ODOMETRY.Record()
    with BagWriter(tmp_path / "bag") as bag:
        bag.topic(STATE, ODOMETRY, DEFAULT)
        bag.topic("/text", message_type("std_msgs/Float64"), DEFAULT)
        for k in K.tolist():
            time = START + k * 25_000_000
            sec, nanosec = divmod(time, 1_000_000_000)
            stamp = plain.header.stamp._replace(sec=sec, nanosec=nanosec)
            message = plain._replace(header=plain.header._replace(stamp=stamp))
            # The messages arrive late, and not evenly.
            bag.write(STATE, time + round((late + 0.004 * (k % 2)) * 1e9), ODOMETRY.encode(message))
    log = read_log(tmp_path / "bag")
    period = np.diff(log["v_x"].t)
    if late < 1.0:
        np.testing.assert_allclose(period, 0.025, atol=1e-9)
        assert any("timed by the stamps" in note for note in log.notes)
        assert log.start == START * 1e-9
    else:
        np.testing.assert_allclose(period, np.resize([0.029, 0.021], len(period)), atol=1e-9)
        assert any("of another clock" in note for note in log.notes)


def test_a_bag_can_be_compared_with_a_model(tmp_path: Path) -> None:
    folder = rosbags_bag(tmp_path / "bag", "MCAP")
    names = {
        f"{COMMANDS}.longitudinal.acceleration": "u_acceleration",
        f"{COMMANDS}.lateral.steering_tire_angle": "u_steer",
        f"{STATE}.twist.twist.linear.x": "v_x",
        f"{STATE}.pose.pose.orientation.yaw": "yaw",
    }
    found = read_log(folder, names)
    np.testing.assert_allclose(found["u_acceleration"].values[:30], K[:30] / 8)
    np.testing.assert_allclose(found["yaw"].values[:30], 0.01 * K[:30], atol=1e-9)


def test_what_is_long_or_malformed_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    scan, text = message_type("sensor_msgs/LaserScan"), message_type("std_msgs/String")
    with BagWriter(tmp_path / "bag") as bag:
        bag.topic("/scan", scan, DEFAULT)
        bag.topic("/text", text, DEFAULT)
        bag.topic(COMMANDS, CONTROL, DEFAULT)
        bag.write("/scan", START, scan.encode(scan.Record(ranges=np.zeros(1080), range_max=7.0)))
        bag.write("/text", START, text.encode(text.Record("no number")))
        for k in range(3):
            data = control(k) if k != 1 else control(k)[:-9]
            bag.write(COMMANDS, START + k, data)
    log = read_log(tmp_path / "bag")
    assert log.channels["/scan.range_max"].values.tolist() == [7.0]
    assert log.unread["/scan.ranges"] == "it has more than 64 values"
    assert "a message is malformed" in log.unread[COMMANDS]
    assert len(log.channels["u_steer"].t) == 2
    assert "a message is malformed" in log.unread["u_steer"]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("[", "metadata.yaml"),
        ("a: 1", "metadata.yaml names no files of a bag"),
        ("rosbag2_bagfile_information: {relative_file_paths: []}", "names no files of a bag"),
        ("rosbag2_bagfile_information: {relative_file_paths: [3]}", "3 is no file of the bag"),
        ("rosbag2_bagfile_information: {relative_file_paths: [../a.mcap]}", "is no file of the"),
        ("rosbag2_bagfile_information: {relative_file_paths: [/a.mcap]}", "is no file of the bag"),
        ("rosbag2_bagfile_information: {relative_file_paths: [a.mcap]}", "a.mcap does not exist"),
        ("rosbag2_bagfile_information: {relative_file_paths: [a.db3.zstd]}", "ros2 bag convert"),
    ],
)
def test_metadata_that_is_none(metadata: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(metadata)
    with pytest.raises(InvalidValue, match=message):
        read_log(tmp_path)


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as data:
        for statement in statements:
            data.execute(statement)
    data.close()
    return path


TOPICS = "CREATE TABLE topics (id INTEGER, name TEXT, type TEXT, serialization_format TEXT)"
MESSAGES = "CREATE TABLE messages (id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB)"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["CREATE TABLE a (b)"], "it has no tables of topics and messages"),
        ([TOPICS, "CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT 1 "
          "FROM n) SELECT x AS id, x AS topic_id, x AS timestamp, '' AS data FROM n"], "no tables"),
        ([TOPICS, MESSAGES, "INSERT INTO topics VALUES (1, NULL, 'a', 'cdr')"], "no name or no"),
        ([TOPICS, MESSAGES, "INSERT INTO messages VALUES (1, 1, 'noon', 'x')"], "no time or no"),
        ([TOPICS, MESSAGES, "INSERT INTO messages VALUES (1, 1, -1, x'00')"], "no time or no data"),
        ([TOPICS, "CREATE TABLE messages (a)"], "is not a readable bag"),
    ],
)  # fmt: skip
def test_databases_that_are_no_bags(statements: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        read_log(database(tmp_path / "a.db3", *statements))


def test_files_that_are_no_bags(tmp_path: Path) -> None:
    (tmp_path / "a.db3").write_bytes(b"no database, but long enough to be looked at" * 20)
    with pytest.raises(InvalidValue, match=r"a.db3 is not a readable bag"):
        read_log(tmp_path / "a.db3")
    with pytest.raises(sp.errors.MissingFile, match=r"b.db3 cannot be read: No such file"):
        read_log(tmp_path / "b.db3")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidValue, match=r"empty is no bag: it has neither metadata.yaml"):
        read_log(tmp_path / "empty")
    assert not (tmp_path / "b.db3").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my_msgs/Status again", "contains itself"),
        ("float64 x[3]", "is not a field"),
        ("wstring x", "wstring is not supported"),
        ("float64[4000000000] x", "out of range|is not a field"),
        ("float64[2000000] x", "out of range"),
        ("float64 x\nfloat64 x", "two fields of one name"),
        ("nothing/Known x", "'nothing/msg/Known' is not known"),
        ("time x", "is not known"),
        ("IDL: my_msgs/msg/Status\nmodule a {}", "is not one of lines with fields"),
        ("A a\nA b" + "".join(
            f"\n{'=' * 80}\nMSG: my_msgs/{one}\n{two} a\n{two} b"
            for one, two in zip("ABCDEFGHIJKLMN", "BCDEFGHIJKLMNO", strict=True)
        ) + f"\n{'=' * 80}\nMSG: my_msgs/O\nfloat64 a", "more than 10000"),
        ("T0 a" + "".join(
            f"\n{'=' * 80}\nMSG: my_msgs/T{k}\nT{k + 1} a" for k in range(5000)
        ), "nests more than 32 others"),
    ],
)  # fmt: skip
def test_definitions_of_strangers_are_refused_by_name(
    text: str, message: str, tmp_path: Path
) -> None:
    path = database(
        tmp_path / "a.db3",
        TOPICS,
        MESSAGES,
        "CREATE TABLE message_definitions (topic_type, encoding, encoded_message_definition)",
        f"INSERT INTO topics VALUES (1, '/status', '{OWN}', 'cdr')",
        f"INSERT INTO message_definitions VALUES ('{OWN}', 'ros2msg', '{text}')",
        "INSERT INTO messages VALUES (1, 1, 5, x'00010000')",
    )
    log = read_log(path)
    assert not log.channels
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(log.unread["/status"])
