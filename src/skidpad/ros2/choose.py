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
"""Where each is; in the order in which what is installed is taken, by the names of the packages."""
_VARIABLE = "RMW_IMPLEMENTATION"
_OF_IMPLEMENTATION = {
    "rmw_zenoh_cpp": "zenoh",
    "rmw_cyclonedds_cpp": "cyclonedds",
    "rmw_fastrtps_cpp": "cyclonedds",
    "rmw_fastrtps_dynamic_cpp": "cyclonedds",
}


def transport(kind: str, identity: Identity) -> Transport:
    """The connection of a node to others: "auto", "cyclonedds", "zenoh" or "rclpy".

    "auto" is what speaks with the peers that `RMW_IMPLEMENTATION` names, and without it what is
    installed: Cyclone DDS, else zenoh, else the rclpy of a sourced ROS 2.
    """
    if kind not in ("auto", *_CLASSES):
        raise InvalidValue(f"middleware {kind!r}: must be one of auto, {', '.join(_CLASSES)}")
    # Imported here: each brings its library.
    module, name = _CLASSES[_chosen() if kind == "auto" else kind]
    return getattr(import_module(f".{module}", __package__), name)(identity)


def _chosen() -> str:
    wanted = os.environ.get(_VARIABLE, "").strip()
    if wanted:
        # Others, as rmw_connextdds, are spoken by a sourced ROS 2 alone.
        kind = _OF_IMPLEMENTATION.get(wanted, "rclpy")
        if kind == "rclpy" and not _is_installed(kind):
            raise InvalidValue(
                f"{_VARIABLE}={wanted}: without rclpy skidpad speaks "
                f"{', '.join(_OF_IMPLEMENTATION)} only"
            )
        return kind
    for kind in _CLASSES:
        if _is_installed(kind):
            return kind
    raise MissingExtra(
        "A node of ROS 2 needs cyclonedds, zenoh or a sourced ROS 2, and none is installed: "
        'pip install "skidpad[ros2]" or "skidpad[zenoh]"'
    )


def _is_installed(package: str) -> bool:
    return find_spec(package) is not None
