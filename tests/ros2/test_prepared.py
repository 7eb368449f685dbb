"""A prepared message that was patched is the message encoded anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ros2.samples import random_record
from skidpad.errors import InvalidValue
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import MESSAGES, Prepared, leaves

ODOMETRY = message_type("nav_msgs/msg/Odometry")


@pytest.mark.parametrize("frame", ["", "m", "map", "odom_frame"])
def test_patched_equals_encoded(frame: str) -> None:
    """Frames of any length, so that what follows lies anywhere."""
    plain = ODOMETRY.Record(child_frame_id="base")
    prepared = Prepared(ODOMETRY, plain._replace(header=plain.header._replace(frame_id=frame)))
    put = prepared.patcher(
        "pose.pose.orientation.w", "header.stamp.sec", "header.stamp.nanosec",
        "twist.twist.angular.z", "pose.pose.position.x", "pose.pose.position.y",
        "pose.covariance[7]", "pose.covariance[0]",
    )  # fmt: skip
    put(0.5, -3, 7, 1.5, 2.5, 3.5, 4.5, 5.5)
    expected = ODOMETRY.decode(ODOMETRY.encode(plain))
    expected.pose.covariance[[7, 0]] = 4.5, 5.5
    pose, twist = expected.pose.pose, expected.twist.twist
    pose = pose._replace(
        position=pose.position._replace(x=2.5, y=3.5), orientation=pose.orientation._replace(w=0.5)
    )
    expected = expected._replace(
        header=type(plain.header)(type(plain.header.stamp)(-3, 7), frame),
        pose=expected.pose._replace(pose=pose),
        twist=expected.twist._replace(twist=twist._replace(angular=twist.angular._replace(z=1.5))),
    )
    assert bytes(prepared.data) == ODOMETRY.encode(expected)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_every_number_of_every_type_can_be_patched(name: str) -> None:
    """A message patched to the numbers of another, with the same strings and lengths, is it."""
    type_, rng = message_type(name), np.random.default_rng(5)
    one = random_record(type_, rng)
    data = type_.encode(one)
    prepared = Prepared(type_, _zeroed(one))
    numbers = [leaf for leaf in leaves(type_, data) if leaf.base != "string"]
    single = [leaf.path for leaf in numbers if leaf.length is None]
    if single:
        prepared.patcher(*single)(*(_value(one, path) for path in single))
    for leaf in numbers:
        if leaf.length is not None:
            prepared.array(leaf.path)[:] = _value(one, leaf.path)
    assert bytes(prepared.data) == data


def _value(record: Any, path: str) -> Any:
    for part in path.replace("]", "").replace("[", ".").split("."):
        record = record[int(part)] if part.isdecimal() else getattr(record, part)
    return record


def _zeroed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    if isinstance(value, tuple):
        parts = [_zeroed(one) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value if isinstance(value, str) else type(value)()


def test_arrays_of_sequences_write_into_the_message() -> None:
    scan = message_type("sensor_msgs/LaserScan")
    prepared = Prepared(scan, scan.Record(ranges=np.zeros(5)))
    prepared.array("ranges")[:] = np.arange(5.0)
    assert scan.decode(prepared.data).ranges.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert prepared.array("intensities").shape == (0,)


def test_a_refused_value_changes_nothing() -> None:
    prepared = Prepared(ODOMETRY, ODOMETRY.Record())
    put = prepared.patcher("header.stamp.sec", "header.stamp.nanosec", "pose.pose.position.x")
    put(1, 2, 3.0)
    before = bytes(prepared.data)
    with pytest.raises(InvalidValue, match=r"nanosec = -1 must be a whole number"):
        put(5, -1, 4.0)
    with pytest.raises(InvalidValue, match=r"pose.pose.position.x = 'a' must be a number"):
        put(5, 6, "a")
    assert bytes(prepared.data) == before


def test_truths_are_patched_as_such() -> None:
    type_ = message_type("std_msgs/Bool")
    prepared = Prepared(type_, type_.Record())
    put = prepared.patcher("data")
    put(True)
    assert type_.decode(prepared.data).data
    with pytest.raises(InvalidValue, match="data = 'no' must be true or false"):
        put("no")
    assert type_.decode(prepared.data).data


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["pose.x"], "there is no 'pose.x'; there are header.stamp.sec"),
        (["child_frame_id"], "child_frame_id is not a number"),
        (["pose.covariance"], "pose.covariance is not a number"),
        (["pose.covariance[36]"], "pose.covariance has 36 values"),
        (["pose.covariance[-1]"], "pose.covariance has 36 values"),
        (["header.stamp.sec", "header.stamp.sec"], "each path once"),
        ([], "one at least"),
    ],
)
def test_paths_are_looked_at_when_the_patcher_is_made(paths: list[str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Prepared(ODOMETRY, ODOMETRY.Record()).patcher(*paths)


def test_only_numbers_have_arrays() -> None:
    prepared = Prepared(ODOMETRY, ODOMETRY.Record())
    for path in ("child_frame_id", "header.stamp.sec", "nothing"):
        with pytest.raises(InvalidValue, match=path):
            prepared.array(path)
