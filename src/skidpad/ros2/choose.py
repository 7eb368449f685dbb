"""Which middleware a node speaks."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec

from ..errors import InvalidValue, MissingExtra
from .transport import Identity, Transport

_CLASSES = {
    "cyclonedds": ("cyclone", "CycloneTransport"),
    "zenoh": ("zenoh", "ZenohTransport"),
    "rclpy": ("rclpy", "RclpyTransport"),
}
"""Module and class of each, by the names of the packages that they need."""
_VARIABLE = "RMW_IMPLEMENTATION"
_OF_IMPLEMENTATION = {
    "rmw_zenoh_cpp": "zenoh",
    "rmw_cyclonedds_cpp": "cyclonedds",
    "rmw_fastrtps_cpp": "cyclonedds",
    "rmw_fastrtps_dynamic_cpp": "cyclonedds",
}
"""What speaks with each without ROS. Topics go between Cyclone DDS and Fast DDS, services do not:
in a sourced ROS 2 its own rclpy is the better one for the latter."""
_DEFAULT = "rmw_fastrtps_cpp"
"""What a sourced ROS 2 speaks if the variable is not set."""


def transport(kind: str, identity: Identity) -> Transport:
    """The connection of a node to others: "auto", "cyclonedds", "zenoh" or "rclpy".

    "auto" is what speaks with the peers that `RMW_IMPLEMENTATION` names. For those on Fast DDS, the
    default of ROS 2, that is the rclpy of a sourced ROS 2, else Cyclone DDS; without the variable
    and without ROS what is installed: Cyclone DDS, else zenoh.
    """
    if kind not in ("auto", *_CLASSES):
        raise InvalidValue(f"middleware {kind!r}: must be one of auto, {', '.join(_CLASSES)}")
    # Imported here: each brings its library.
    module, name = _CLASSES[_chosen() if kind == "auto" else kind]
    return getattr(import_module(f".{module}", __package__), name)(identity)


def _chosen() -> str:
    wanted = os.environ.get(_VARIABLE, "").strip()
    if (wanted or _DEFAULT).startswith("rmw_fastrtps") and _is_installed("rclpy"):
        return "rclpy"
    if wanted:
        # Others, as rmw_connextdds, are spoken by a sourced ROS 2 alone.
        kind = _OF_IMPLEMENTATION.get(wanted, "rclpy")
        if kind == "rclpy" and not _is_installed(kind):
            raise InvalidValue(
                f"{_VARIABLE}={wanted}: without rclpy skidpad speaks "
                f"{', '.join(_OF_IMPLEMENTATION)} only"
            )
        return kind
    for kind in ("cyclonedds", "zenoh"):
        if _is_installed(kind):
            return kind
    raise MissingExtra(
        "A node of ROS 2 needs cyclonedds, zenoh or a sourced ROS 2, and none is installed: "
        'pip install "skidpad[ros2]" or "skidpad[zenoh]"'
    )


def _is_installed(package: str) -> bool:
    if package == "rclpy":
        # A sourced ROS 2 is on the path of every Python, and works in one version of it only.
        try:
            import_module(package)
        except ImportError:
            return False
        return True
    return find_spec(package) is not None
