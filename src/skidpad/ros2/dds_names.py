"""How the rmw packages name topics, services and endpoints on DDS.

Facts of rmw_cyclonedds_cpp and rmw_dds_common (Apache-2.0), seen from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import InvalidValue

FAST_DDS = bytes([0x01, 0x0F])
"""First bytes of the GUIDs of eProsima's Fast DDS: the vendor id of the DDS standard."""
HUMBLE_GID, IRON_GID = 24, 16
"""Bytes of a Gid in `ros_discovery_info`: up to Humble, and since Iron."""

_NAME = re.compile(r"(/[A-Za-z_]\w*)+", re.ASCII)
_UP_TO_HUMBLE = ("dashing", "eloquent", "foxy", "galactic", "humble")
_SINCE_IRON = ("iron", "jazzy", "kilted", "lyrical", "rolling")


def topic_name(topic: str) -> str:
    """The DDS topic of a topic of ROS: "/a/b" is "rt/a/b"."""
    return f"rt{_checked(topic, 'topic')}"


def request_name(service: str) -> str:
    """The DDS topic on which a service is asked."""
    return f"rq{_checked(service, 'service')}Request"


def reply_name(service: str) -> str:
    """The DDS topic on which a service answers."""
    return f"rr{_checked(service, 'service')}Reply"


def ros_type_name(name: str) -> str:
    """A type of DDS as ROS names it: "std_msgs::msg::dds_::String_" is "std_msgs/msg/String"."""
    return name.replace("::dds_::", "::").removesuffix("_").replace("::", "/")


def user_data(pairs: Mapping[str, str]) -> bytes:
    """Pairs as rmw writes them into the user data of endpoints: "key=value;"."""
    return "".join(f"{key}={value};" for key, value in pairs.items()).encode("ascii")


def user_pairs(data: bytes) -> dict[str, str]:
    """Pairs of somebody's user data; what is none is left out."""
    parts = data.decode("latin-1").split(";")
    return dict(part.split("=", 1) for part in parts if "=" in part)


def endpoint_id(participant: bytes, number: int) -> str:
    """What `serviceid` and `clientid` are: 12 bytes of a participant's GUID and a number."""
    return ".".join(f"{byte:x}" for byte in participant[:12] + number.to_bytes(4, "big"))


def gid_size(distribution: str, others: list[dict[str, str]]) -> int:
    """Bytes of a Gid that is safe to send.

    Processes of Humble on Fast DDS end with `std::bad_alloc` when they read the short form; to
    later ones the long form is an empty list. So it is long unless ROS_DISTRO says otherwise, or
    all writers of `ros_discovery_info` (`others`: their user data) have a type hash, as since Iron.
    """
    if distribution in _UP_TO_HUMBLE + _SINCE_IRON:
        return IRON_GID if distribution in _SINCE_IRON else HUMBLE_GID
    modern = bool(others) and all("typehash" in pairs for pairs in others)
    return IRON_GID if modern else HUMBLE_GID


def _checked(name: str, kind: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{kind} {name!r} is no full name: each part begins with a slash, "
            "then a letter or an underscore, then letters, digits and underscores"
        )
    return name
