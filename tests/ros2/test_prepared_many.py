"""Messages of one layout for many, filled in as columns."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import PreparedMany

Odometry = message_type("nav_msgs/msg/Odometry")
Header = message_type("std_msgs/msg/Header").Record


def test_what_is_written_into_columns_is_what_each_message_says() -> None:
    names = ["ab", "cd", "ef"]
    many = PreparedMany(
        Odometry, [Odometry.Record(Header(frame_id=name), "base") for name in names]
    )
    many.column("header.stamp.sec")[:] = 7
    many.column("pose.pose.position.x")[:] = [1.5, -2.5, 1e300]
    many.column("pose.covariance[7]")[:] = np.arange(3)
    for k, row in enumerate(many.rows):
        message = Odometry.decode(bytes(row))
        assert message.header.frame_id == names[k]
        assert message.header.stamp.sec == 7
        assert message.pose.pose.position.x == (1.5, -2.5, 1e300)[k]
        assert message.pose.covariance.tolist() == [0.0] * 7 + [float(k)] + [0.0] * 28
        position = message.pose.pose.position
        alone = Odometry.Record(Header(message.header.stamp, names[k]), "base")
        alone = alone._replace(
            pose=alone.pose._replace(
                pose=alone.pose.pose._replace(position=position),
                covariance=message.pose.covariance,
            )
        )
        assert bytes(row) == Odometry.encode(alone)


def test_messages_of_other_layouts_are_refused() -> None:
    both = [Odometry.Record(Header(frame_id=name)) for name in ("a", "long name")]
    with pytest.raises(InvalidValue, match="differ in lengths"):
        PreparedMany(Odometry, both)
    many = PreparedMany(Odometry, both[:1])
    for path in ("header.frame_id", "pose.covariance", "nothing"):
        with pytest.raises(InvalidValue, match=path):
            many.column(path)
