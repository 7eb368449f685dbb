"""RIHS01 against rosbags and against what others have printed."""

from __future__ import annotations

import pytest

from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import MESSAGES, service_of, service_type

rosbags_types = pytest.importorskip("rosbags.typesys")
STORE = rosbags_types.get_typestore(rosbags_types.Stores.ROS2_JAZZY)


def has_char(name: str) -> bool:
    """rosbags hashes it as char, rosidl as uint8."""
    type_ = message_type(name)
    return any(field.base == "char" for s in (type_, *type_.referenced) for field in s.fields)


@pytest.mark.parametrize(
    "name", [name for name in sorted(MESSAGES) if name in STORE.fielddefs and not has_char(name)]
)
def test_hashes_are_those_of_rosbags(name: str) -> None:
    assert message_type(name).hash == STORE.hash_rihs01(name)


def test_char_counts_as_uint8() -> None:
    """As if the interface file had uint8, whose hash rosbags has."""
    from skidpad.ros2.messages.types import Definitions

    char = Definitions({"std_msgs/msg/UInt8": "char data"}).find("std_msgs/msg/UInt8")
    assert char.hash == STORE.hash_rihs01("std_msgs/msg/UInt8")


def test_hashes_that_rmw_zenoh_prints() -> None:
    """From the design document of rmw_zenoh."""
    assert message_type("std_msgs/String").hash == (
        "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    )
    service = service_of("example_interfaces/srv/AddTwoInts", "int64 a\nint64 b", "int64 sum")
    assert service.hash.startswith("RIHS01_e118de6b")
    assert len(service.hash) == len("RIHS01_") + 64
    assert service_type("std_srvs/Empty").hash != service_type("std_srvs/Trigger").hash
