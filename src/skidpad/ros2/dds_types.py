"""Types of ROS 2 as Cyclone DDS wants them: their structure for its checks, bytes as their values.

Cyclone checks every sample against the structure of its type, when it is written and when it comes
in. The values stay CDR all the way: no objects are made of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..errors import InvalidValue
from ..ros_messages import Field, MessageType, Shape
from ..ros_messages.fields import Structure
from .cyclone_library import cyclone

SERVICE_HEADER = 16
"""Bytes in front of requests and responses of rmw_cyclonedds: client and sequence number."""
LITTLE_ENDIAN = b"\x00\x01"
"""Beginning of plain CDR; Cyclone turns what comes in the other order into this one."""
GRAPH_TYPE = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"


@cache
def sample_type(type_: MessageType, service: bool = False) -> Any:
    """The class of samples of a type, made from bytes, with its bytes as `data`.

    Of a service: with the header that rmw_cyclonedds has in front of the fields.
    """
    types = cyclone("idl.types")
    header = {"client_guid": types.uint64, "sequence_number": types.int64} if service else {}
    fields = {field.name: _annotation(field) for field in type_.fields}
    return _holding_bytes(_structure(type_.dds_name, {**header, **fields}))


@cache
def graph_sample_type() -> Any:
    """The class of samples of `ros_discovery_info`.

    Only what both of its forms begin with is declared, and more is let through: a topic has one
    structure, and neighbours may have either form.
    """
    types = cyclone("idl.types")
    return _holding_bytes(_structure(GRAPH_TYPE, {"gid": types.array[types.uint8, 16]}))


def _structure(dds_name: str, fields: dict[str, Any]) -> Any:
    """A class of the binding; values of every type in ROS are "final", without room for more."""
    idl = cyclone("idl")
    made = idl.make_idl_struct(
        dds_name.replace("::", "_"), dds_name.replace("::", "."), fields, dataclassify=False
    )
    return cyclone("idl.annotations").final(made)


def _holding_bytes(structure: Any) -> Any:
    # Not by inheritance: the binding takes every base class for a structure.
    structure.__init__ = _keep
    structure.serialize = _kept
    structure.deserialize = structure.deserialize_key = classmethod(_from_bytes)
    return structure


def _keep(self: Any, data: bytes) -> None:
    self.data = data


def _kept(self: Any, **_form: Any) -> bytes:
    return self.data


def _from_bytes(kind: Any, data: bytes, **_form: Any) -> Any:
    return kind(data)


@cache
def _nested(type_: Structure) -> Any:
    return _structure(type_.dds_name, {field.name: _annotation(field) for field in type_.fields})


def _annotation(field: Field) -> Any:
    types = cyclone("idl.types")
    one = _value(field)
    if field.shape is Shape.ONE:
        return one
    if field.shape is Shape.ARRAY:
        return types.array[one, field.size]
    return types.sequence[one, field.size] if field.shape is Shape.BOUNDED else types.sequence[one]


def _value(field: Field) -> Any:
    types = cyclone("idl.types")
    if field.nested is not None:
        return _nested(field.nested)
    if field.base == "string":
        return types.bounded_str[field.text_size] if field.text_size else str
    if field.base == "bool":
        return bool
    # `char` of ROS 2 is a number; `byte` is one too, and on the wire all three are the same.
    name = "uint8" if field.base in ("char", "byte") else field.base
    kind = getattr(types, name, None)
    if kind is None:
        raise InvalidValue(f"{field.name}: {field.base} has no form on DDS")
    return kind
