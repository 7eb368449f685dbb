"""How else CDR of an odometry message is made: by `rosbags`, and by the classes of `cyclonedds`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ros2.messages.types import MessageType

Make = Callable[[float], bytes]
"""The bytes of a message with its position at x."""


def rosbags_maker(type_: MessageType) -> Make:
    """A message object of `rosbags`, changed and serialised."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    message = _filled(type_, lambda name, fields: store.types[name](**fields), np.zeros)

    def make(x: float) -> bytes:
        message.pose.pose.position.x = x
        return bytes(store.serialize_cdr(message, type_.name))

    return make


def cyclone_maker(type_: MessageType) -> Make:
    """An `IdlStruct` of `cyclonedds`, changed and serialised."""
    from cyclonedds import idl

    made: dict[str, Any] = {}

    def build(name: str, fields: dict[str, Any]) -> Any:
        return made[name](**fields)

    def declare(one: Any) -> Any:
        from cyclonedds.idl import types

        fields: dict[str, Any] = {}
        for field in one.fields:
            value = declare(field.nested) if field.nested is not None else _named(types, field.base)
            fields[field.name] = types.array[value, field.size] if field.size else value
        if one.name not in made:
            dotted = one.dds_name.replace("::", ".")
            made[one.name] = idl.make_idl_struct(dotted.replace(".", "_"), dotted, fields)
        return made[one.name]

    declare(type_)
    message = _filled(type_, build, lambda size: [0.0] * size)

    def make(x: float) -> bytes:
        message.pose.pose.position.x = x
        return message.serialize()

    return make


def _named(types: Any, base: str) -> Any:
    return str if base == "string" else getattr(types, base)


def _filled(
    type_: Any, build: Callable[[str, dict[str, Any]], Any], zeros: Callable[[int], Any]
) -> Any:
    """A message of a type without sequences, all zero but for a unit quaternion."""
    fields: dict[str, Any] = {}
    for field in type_.fields:
        if field.nested is not None:
            value = _filled(field.nested, build, zeros)
        elif field.base == "string":
            value = "base_link"
        elif field.size:
            value = zeros(field.size)
        else:
            value = float(field.default) if field.base.startswith("float") else int(field.default)
        fields[field.name] = value
    return build(type_.name, fields)
