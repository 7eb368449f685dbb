"""RIHS01, the hash of a type's description, which rmw_zenoh and bags since Iron name types by.

SHA-256 of a JSON text in the form that rosidl writes (REP 2011, rosidl_generator_type_description).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .fields import Field, Shape, Structure

_IDS = {
    "int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8,
    "uint64": 9, "float32": 10, "float64": 11, "bool": 15, "byte": 16, "string": 17,
    "char": 3,
}  # fmt: skip
"""Numbers of type_description_interfaces/msg/FieldType; rosidl takes `char` for uint8."""
_NESTED, _BOUNDED_STRING = 1, 21
_OF_SHAPE = {Shape.ONE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.SEQUENCE: 144}

_TIME = Structure(
    "builtin_interfaces/msg/Time", (Field("sec", "int32"), Field("nanosec", "uint32"))
)
_EVENT_INFO = Structure(
    "service_msgs/msg/ServiceEventInfo",
    (
        Field("event_type", "uint8"),
        Field("stamp", _TIME.name, nested=_TIME),
        Field("client_gid", "char", Shape.ARRAY, 16),
        Field("sequence_number", "int64"),
    ),
)


def message_hash(structure: Structure) -> str:
    """The hash of a message."""
    description = {
        "type_description": _described(structure),
        "referenced_type_descriptions": [_described(nested) for nested in structure.referenced],
    }
    return f"RIHS01_{hashlib.sha256(json.dumps(description).encode()).hexdigest()}"


def service_hash(name: str, request: Structure, response: Structure) -> str:
    """The hash of a service: of a structure of its request, its response and an event."""
    event = Structure(
        f"{name}_Event",
        (
            Field("info", _EVENT_INFO.name, nested=_EVENT_INFO),
            Field("request", request.name, Shape.BOUNDED, 1, nested=request),
            Field("response", response.name, Shape.BOUNDED, 1, nested=response),
        ),
    )
    parts = {"request_message": request, "response_message": response, "event_message": event}
    fields = tuple(Field(key, part.name, nested=part) for key, part in parts.items())
    return message_hash(Structure(name, fields))


def _described(structure: Structure) -> dict[str, Any]:
    return {
        "type_name": structure.name,
        "fields": [{"name": field.name, "type": _kind(field)} for field in structure.fields],
    }


def _kind(field: Field) -> dict[str, Any]:
    base = _NESTED if field.nested is not None else _IDS[field.base]
    if field.text_size:
        base = _BOUNDED_STRING
    return {
        "type_id": base + _OF_SHAPE[field.shape],
        "capacity": field.size,
        "string_capacity": field.text_size,
        "nested_type_name": field.nested.name if field.nested is not None else "",
    }
