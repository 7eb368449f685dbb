"""The interface files of the messages and services that skidpad speaks, without their comments.

Facts of the packages named, at the revisions that docs/ros2.md lists.
"""

from __future__ import annotations

MESSAGES: dict[str, str] = {
    "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/msg/String": "string data",
}
"""Fields of each message, one a line, as in its interface file."""
SERVICES: dict[str, tuple[str, str]] = {
    "std_srvs/srv/Empty": ("", ""),
    "std_srvs/srv/Trigger": ("", "bool success\nstring message"),
}
"""Fields of the request and of the response."""
