"""Small bags of ROS 2."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from skidpad.ros2.dds import DEFAULT
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import definition_text
from skidpad.view.recording import BagWriter

TYPES = {
    name: message_type(name)
    for name in (
        "autoware_control_msgs/msg/Control",
        "tf2_msgs/msg/TFMessage",
        "sensor_msgs/msg/Joy",
    )
}
TRANSFORM = message_type("geometry_msgs/TransformStamped").Record(child_frame_id="base")
MESSAGES = {
    "autoware_control_msgs/msg/Control": TYPES["autoware_control_msgs/msg/Control"].Record(),
    "tf2_msgs/msg/TFMessage": TYPES["tf2_msgs/msg/TFMessage"].Record([TRANSFORM] * 2),
    "sensor_msgs/msg/Joy": TYPES["sensor_msgs/msg/Joy"].Record(axes=[0.5], buttons=[1, 0]),
}


def write_bag(folder: Path) -> Path:
    """A bag in a folder; gives its file."""
    with BagWriter(folder) as bag:
        for name, type_ in TYPES.items():
            bag.topic(f"/{name}", type_, DEFAULT)
            for k in range(4):
                bag.write(f"/{name}", k, type_.encode(MESSAGES[name]))
    (file,) = folder.glob("*.mcap")
    return file


def write_database(path: Path) -> None:
    """A bag in SQLite, as rosbag2 writes it since Iron."""
    with sqlite3.connect(path) as data:
        data.execute("CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT"
                     " NOT NULL, serialization_format TEXT NOT NULL)")  # fmt: skip
        data.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,"
                     " timestamp INTEGER NOT NULL, data BLOB NOT NULL)")  # fmt: skip
        data.execute("CREATE TABLE message_definitions (id INTEGER PRIMARY KEY, topic_type TEXT,"
                     " encoding TEXT, encoded_message_definition TEXT)")  # fmt: skip
        for number, (name, type_) in enumerate(TYPES.items()):
            data.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", (number, f"/{name}", name))
            data.execute(
                "INSERT INTO message_definitions VALUES (?, ?, 'ros2msg', ?)",
                (number, name, definition_text(type_)),
            )
            for k in range(4):
                message = type_.encode(MESSAGES[name])
                row = (number * 4 + k, number, k, message)
                data.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", row)
    data.close()
