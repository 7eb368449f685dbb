"""Against Fast DDS, the middleware that ROS 2 has by default."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

from ros2.dds import STRING, string, transport, wait_for
from ros2.fast_dds import fast_dds
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR, TF, Identity, Qos, decoded_info
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from waiting import PATIENCE

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")
rosbags = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")

STORE = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
STORE.register(
    rosbags.get_types_from_msg(
        "builtin_interfaces/Time stamp\nbuiltin_interfaces/Time control_time\n"
        "Lateral lateral\nLongitudinal longitudinal",
        "autoware_control_msgs/msg/Control",
    )
    | rosbags.get_types_from_msg(
        "builtin_interfaces/Time stamp\nbuiltin_interfaces/Time control_time\n"
        "float32 steering_tire_angle\nfloat32 steering_tire_rotation_rate\n"
        "bool is_defined_steering_tire_rotation_rate",
        "autoware_control_msgs/msg/Lateral",
    )
    | rosbags.get_types_from_msg(
        "builtin_interfaces/Time stamp\nbuiltin_interfaces/Time control_time\n"
        "float32 velocity\nfloat32 acceleration\nfloat32 jerk\n"
        "bool is_defined_acceleration\nbool is_defined_jerk",
        "autoware_control_msgs/msg/Longitudinal",
    )
)
LETTERS = {DEFAULT: "r10", SENSOR: "b5", LATCHED: "rl1", TF: "r100"}
"""A quality of service for the peer."""


def made(name: str, **fields: Any) -> Any:
    """A message of rosbags; `a__b` is the type b of package a."""
    return STORE.types[name.replace("__", "/msg/")](**fields)


def stamp() -> Any:
    return made("builtin_interfaces__Time", sec=1_700_000_000, nanosec=123_456_789)


def header() -> Any:
    return made("std_msgs__Header", stamp=stamp(), frame_id="map")


def vector(kind: str, *values: float) -> Any:
    return made(f"geometry_msgs__{kind}", **dict(zip("xyzw", values, strict=False)))


def odometry() -> Any:
    pose = made(
        "geometry_msgs__Pose",
        position=vector("Point", 1.0, -2.0, 0.5),
        orientation=vector("Quaternion", 0.0, 0.0, 0.6, 0.8),
    )
    twist = made(
        "geometry_msgs__Twist",
        linear=vector("Vector3", 3.0, 0.25, 0.0),
        angular=vector("Vector3", 0.0, 0.0, -0.125),
    )
    covariance = np.arange(36.0)
    return made(
        "nav_msgs__Odometry",
        header=header(),
        child_frame_id="base_link",
        pose=made("geometry_msgs__PoseWithCovariance", pose=pose, covariance=covariance),
        twist=made("geometry_msgs__TwistWithCovariance", twist=twist, covariance=-covariance),
    )


def control() -> Any:
    lateral = made(
        "autoware_control_msgs__Lateral",
        stamp=stamp(),
        control_time=stamp(),
        steering_tire_angle=0.25,
        steering_tire_rotation_rate=-0.5,
        is_defined_steering_tire_rotation_rate=True,
    )
    longitudinal = made(
        "autoware_control_msgs__Longitudinal",
        stamp=stamp(),
        control_time=stamp(),
        velocity=8.0,
        acceleration=1.5,
        jerk=0.0,
        is_defined_acceleration=True,
        is_defined_jerk=False,
    )
    return made(
        "autoware_control_msgs__Control",
        stamp=stamp(),
        control_time=stamp(),
        lateral=lateral,
        longitudinal=longitudinal,
    )


def transforms() -> Any:
    transform = made(
        "geometry_msgs__Transform",
        translation=vector("Vector3", 1.0, 2.0, 3.0),
        rotation=vector("Quaternion", 0.0, 0.0, 0.0, 1.0),
    )
    some = [
        made(
            "geometry_msgs__TransformStamped",
            header=header(),
            child_frame_id=child,
            transform=transform,
        )
        for child in ("base", "lidar_link")
    ]
    return made("tf2_msgs__TFMessage", transforms=some)


def scan() -> Any:
    return made(
        "sensor_msgs__LaserScan",
        header=header(),
        angle_min=-2.0,
        angle_max=2.0,
        angle_increment=0.01,
        time_increment=0.0,
        scan_time=0.1,
        range_min=0.1,
        range_max=30.0,
        ranges=np.linspace(0.1, 30.0, 1080, dtype=np.float32),
        intensities=np.zeros(1080, dtype=np.float32),
    )


MESSAGES = [
    ("nav_msgs/msg/Odometry", odometry, DEFAULT),
    ("autoware_control_msgs/msg/Control", control, DEFAULT),
    ("tf2_msgs/msg/TFMessage", transforms, TF),
    ("sensor_msgs/msg/LaserScan", scan, SENSOR),
]


def filled(data: bytes) -> bytes:
    """Filled up to a multiple of 4, as everything on the wire."""
    return data + bytes(-len(data) % 4)


@pytest.mark.slow_cases(
    "autoware_control_msgs/msg/Control-control-qos1",
    "nav_msgs/msg/Odometry-odometry-qos0",
    "tf2_msgs/msg/TFMessage-transforms-qos2",
)
@pytest.mark.parametrize(("name", "message", "qos"), MESSAGES)
def test_messages_go_both_ways_unchanged(name: str, message: Any, qos: Qos) -> None:
    """The bytes, the types and what they look like on DDS come from others on both sides."""
    package, _, kind = name.split("/")
    arguments = [f"{package}::msg::dds_::{kind}_", LETTERS[qos]]
    data = bytes(STORE.serialize_cdr(message(), name))
    with (
        transport() as here,
        fast_dds("write", "rt/in", *arguments, "read", "rt/out", *arguments) as peer,
    ):
        heard: list[bytes] = []
        here.subscribe("/in", message_type(name), qos, heard.append)
        publisher = here.publisher("/out", message_type(name), qos)
        peer.wait_for_match("readers")
        peer.wait_for_match("writers")
        wait_for(lambda: publisher.readers == 1, "the reader of the peer")
        publisher.write(data)
        # Best effort may lose one, and nobody knows whether both sides were ready for the first.
        wait_for(lambda: peer.heard or publisher.write(data), "the message at the peer")
        wait_for(lambda: heard or peer.write(data), "the message of the peer")
        assert set(map(filled, peer.heard)) == {filled(data)}
        assert set(map(filled, heard)) == {filled(data)}


ARGUMENTS = ["rt/topic", "std_msgs::msg::dds_::String_"]


def test_who_comes_later_gets_what_is_latched() -> None:
    with transport() as here:
        here.publisher("/topic", STRING, LATCHED).write(string("ours"))
        with fast_dds("read", *ARGUMENTS, "rl1") as peer:
            wait_for(lambda: peer.heard, "what was written before")
            assert peer.heard == [string("ours")]
    with fast_dds("write", *ARGUMENTS, "rl1") as peer:
        peer.write(string("theirs"))
        with transport() as here:
            heard: list[bytes] = []
            here.subscribe("/topic", STRING, LATCHED, heard.append)
            wait_for(lambda: heard, "what was written before")
            assert heard == [string("theirs")]


def test_peers_of_another_type_are_told_of_though_they_announce_a_name_only() -> None:
    """As nodes of ROS 2 do up to Jazzy: TwistStamped where a Twist is taken, as Nav2 has it."""
    stamped = "geometry_msgs::msg::dds_::TwistStamped_"
    ends = ("write", "rt/cmd_vel", stamped, "r10", "read", "rt/out", stamped, "r10")
    with transport() as here:
        here.subscribe("/cmd_vel", message_type("geometry_msgs/Twist"), DEFAULT, lambda data: None)
        here.publisher("/out", STRING, DEFAULT)
        with fast_dds(*ends):
            told: list[str] = []
            wait_for(lambda: told.extend(here.warnings()) or len(told) == 2, "word of both")
        assert sorted(text.split(": change")[0] for text in told) == [
            "a publisher of /cmd_vel is not connected: its type is geometry_msgs/msg/TwistStamped, "
            "and here it is geometry_msgs/msg/Twist",
            "a subscription to /out is not connected: its type is geometry_msgs/msg/TwistStamped, "
            "and here it is std_msgs/msg/String",
        ]
        assert here.warnings() == []


def test_who_asks_for_more_than_is_offered_is_told_of() -> None:
    with transport() as here, fast_dds("read", *ARGUMENTS, "r10") as peer:
        here.publisher("/topic", STRING, SENSOR)
        told: list[str] = []
        wait_for(lambda: told.extend(here.warnings()) or told, "word of it")
        assert "best effort" in told[0]
        assert peer.counts["writers"] == 0
    with transport() as here, fast_dds("write", *ARGUMENTS, "r10") as peer:
        here.subscribe("/topic", STRING, LATCHED, lambda data: None)
        told = []
        wait_for(lambda: told.extend(here.warnings()) or told, "word of it")
        assert "transient local" in told[0]
        assert peer.counts["readers"] == 0


@pytest.mark.slow_cases("qos1-20000", "qos2-600000")
@pytest.mark.parametrize(("qos", "size"), [(DEFAULT, 100), (TF, 20_000), (LATCHED, 600_000)])
def test_a_peer_that_stops_or_dies_holds_nobody_up(qos: Qos, size: int) -> None:
    """While it is stopped all writes return; running again, it hears the newest.

    The two larger ones have more outstanding than Cyclone's watermark, 500 kB, above which writers
    with an unlimited history wait.
    """
    with (
        transport() as here,
        fast_dds("read", *ARGUMENTS, LETTERS[qos]) as peer,
        fast_dds("read", *ARGUMENTS, LETTERS[qos]) as doomed,
    ):
        publisher = here.publisher("/topic", STRING, qos)
        for one in (peer, doomed):
            wait_for(lambda one=one: one.heard or publisher.write(string("first")), "a message")
        peer.stop()
        doomed.process.kill()
        text = "x" * size
        returned = threading.Event()

        def write() -> None:
            for _ in range(200):
                publisher.write(string(text))
            publisher.write(string("last"))
            returned.set()

        writing = threading.Thread(target=write, daemon=True)
        writing.start()
        assert returned.wait(PATIENCE)
        peer.go_on()
        wait_for(lambda: string("last") in peer.heard, "the newest")


def is_string(data: bytes) -> bool:
    """Whether bytes are a string in CDR: its length fits, and it ends with a zero."""
    size = int.from_bytes(data[4:8], "little")
    return data[:2] == b"\x00\x01" and 0 < size <= len(data) - 8 and data[7 + size] == 0


@pytest.mark.parametrize("letters", ["r20000", "b20000"])
def test_random_payloads_hurt_nobody(letters: str, capfd: pytest.CaptureFixture[str]) -> None:
    """5,000 of a reliable peer, as many of one that is not; good ones in between still arrive.

    The latter with random headers too. A reliable one must not: Cyclone does not acknowledge what
    has no header of CDR, so nothing more comes from such a writer, and from that one alone.
    """
    chance = random.Random(1)
    with transport() as here, fast_dds("write", *ARGUMENTS, letters) as peer:
        heard: list[bytes] = []
        here.subscribe("/topic", STRING, Qos(letters[0] == "r", depth=20000), heard.append)
        peer.connect(heard)
        good = [string(f"good {k}") for k in range(10)]
        for k in range(5_000):
            header = b"\x00\x01\x00\x00" if letters[0] == "r" else chance.randbytes(4)
            peer.write(header + chance.randbytes(chance.randrange(4, 60)))
            if k % 500 == 250:
                peer.write(good[k // 500])
        if letters[0] == "r":
            wait_for(lambda: set(good) <= set(heard), "the good ones")
            assert [data for data in heard if data in set(good)] == good
        wait_for(lambda: peer.write(string("end")) or string("end") in heard, "the end")
        assert all(map(is_string, heard))
    # Cyclone would write a line for each.
    assert capfd.readouterr() == ("", "")


def test_a_writer_that_speaks_no_cdr_is_alone_with_that() -> None:
    with (
        transport() as here,
        fast_dds("write", *ARGUMENTS, "r100") as bad,
        fast_dds("write", *ARGUMENTS, "r100") as good,
    ):
        heard: list[bytes] = []
        here.subscribe("/topic", STRING, DEFAULT, heard.append)
        bad.wait_for_match("readers")
        good.connect(heard)
        for k in range(100):
            bad.write(b"\xff\xff\xff\xff" + bytes(8))
            good.write(string(f"good {k}"))
            wait_for(lambda k=k: heard and heard[-1] == string(f"good {k}"), "the good one")


def test_bytes_in_the_other_order_are_turned_round() -> None:
    with transport() as here, fast_dds("write", *ARGUMENTS, "rl1") as peer:
        heard: list[bytes] = []
        here.subscribe("/topic", STRING, LATCHED, heard.append)
        peer.write(b"\x00\x00\x00\x00\x00\x00\x00\x04big\x00")
        wait_for(lambda: heard, "the message")
        assert heard == [string("big")]


def test_a_client_of_a_service_is_told_of_and_not_taken_for_another() -> None:
    """Its requests have no header, and long ones would be taken for others."""
    asked: list[bytes] = []
    with (
        transport() as here,
        fast_dds("write", "rq/goRequest", "std_srvs::srv::dds_::Trigger_Request_", "r10") as peer,
    ):
        here.serve("/go", service_type("std_srvs/Trigger"), lambda data, _: asked.append(data))
        peer.wait_for_match("readers")
        for size in (4, 17, 20, 40):
            peer.write(b"\x00\x01\x00\x00" + bytes(size))
        told: list[str] = []
        wait_for(lambda: told.extend(here.warnings()) or told, "word of it")
        assert "service /go" in told[0]
        assert "rmw_fastrtps" in told[0]
        assert not asked
        assert here.warnings() == []


def test_the_node_is_announced_in_the_form_of_humble() -> None:
    """As rosbags decodes it; a form that Humble cannot read would end its processes."""
    kind = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    arguments = ["ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", "rl1"]
    with transport("car") as here, fast_dds("read", *arguments) as peer:
        here.publisher("/topic", STRING, DEFAULT)
        here.announce()
        wait_for(lambda: peer.heard, "the node")
        info = STORE.deserialize_cdr(peer.heard[-1], kind)
        (node,) = info.node_entities_info_seq
        assert (node.node_name, node.node_namespace) == ("car", "/")
        assert len(node.writer_gid_seq) == 1
        assert decoded_info(peer.heard[-1]).nodes[0].identity == Identity("car")
