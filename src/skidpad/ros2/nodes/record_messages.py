"""Message types made from records: a vehicle's state, input and outputs under their own names.

Fields of interface files are lower case, so `F_x` is `f_x` and `tyre.B` is `tyre_b` there. Units
and meanings are comments. Those who have ROS build the package that `write_package` writes, and
`ros2 topic echo` and their own nodes know the types; nobody needs it to run the node.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ... import record
from ...errors import InvalidValue
from ...files import replacing
from ...model import Vehicle
from ...ros_messages import MessageType, declare

__all__ = ["PACKAGE", "field_names", "interface", "type_name", "write_package"]

PACKAGE = "skidpad_msgs"
"""The package of these types."""
PARTS = ("State", "Input", "Outputs")
_HEADER = "std_msgs/Header header"


def field_names(Record: type) -> tuple[str, ...]:
    """The names of a record's leaves as fields of a message."""
    names = tuple(_field_name(name) for name in record.names(Record))
    if len({*names, "header"}) <= len(names):
        raise InvalidValue(f"{Record.__name__} has fields that differ only in their case: {names}")
    return names


def _field_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"f_{plain}"


def type_name(vehicle: Vehicle, part: str) -> str:
    """As "skidpad_msgs/msg/FourWheelState"."""
    words = re.split(r"[^A-Za-z0-9]+", vehicle.name)
    return f"{PACKAGE}/msg/{''.join(word.capitalize() for word in words)}{part}"


def interface(Record: type) -> str:
    """The text of the interface file of a record: a header, then its leaves."""
    lines = [_HEADER]
    for name, leaf in zip(field_names(Record), record.fields(Record), strict=True):
        meaning = " ".join(leaf.doc.split())
        lines.append(f"# {leaf.unit}{': ' if meaning else ''}{meaning}")
        default = f" {leaf.default!r}" if leaf.default else ""
        lines.append(f"float64 {name}{default}")
    return "\n".join(lines) + "\n"


def record_class(vehicle: Vehicle, part: str) -> type:
    """The class of a part of a vehicle: State, Input or Outputs."""
    return getattr(vehicle.model, part)


def declared(vehicle: Vehicle, part: str) -> MessageType:
    """The message type of a part of a vehicle."""
    return declare(type_name(vehicle, part), interface(record_class(vehicle, part)))


_MANIFEST = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.0.0</version>
  <description>States, inputs and outputs of vehicles, as skidpad publishes them.</description>
  <maintainer email="nobody@example.org">nobody</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>std_msgs</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
_BUILD = """cmake_minimum_required(VERSION 3.8)
project({package})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
find_package(std_msgs REQUIRED)
rosidl_generate_interfaces(${{PROJECT_NAME}}
{files}
  DEPENDENCIES std_msgs)
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""


def write_package(folder: str | os.PathLike[str], vehicles: Iterable[Vehicle]) -> Sequence[Path]:
    """Write a package of ROS 2 with the types of vehicles, to be built by colcon; gives its files.

    It goes into `folder`/skidpad_msgs. Files that are there are replaced.
    """
    messages: dict[str, str] = {}
    for vehicle in vehicles:
        for part in PARTS:
            if record.size(record_class(vehicle, part)):
                name = type_name(vehicle, part).rpartition("/")[2]
                messages[f"msg/{name}.msg"] = interface(record_class(vehicle, part))
    listed = "\n".join(f'  "{name}"' for name in messages)
    texts = {
        **messages,
        "package.xml": _MANIFEST.format(package=PACKAGE),
        "CMakeLists.txt": _BUILD.format(package=PACKAGE, files=listed),
    }
    root = Path(folder) / PACKAGE
    (root / "msg").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with replacing(root / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [root / name for name in texts]


def leaf_numbers(Record: type, message: Any) -> Any:
    """A record of the numbers in a message of its type; raises for those that are not allowed."""
    return record.build(Record, [getattr(message, name) for name in field_names(Record)])
