"""Numbers of ROS 2 messages by the names that users see: "pose.pose.position.x", "axes[0]".

A quaternion has its yaw besides, in rad, since that is what a plane is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import atan2
from operator import attrgetter
from typing import Any

from ..errors import InvalidValue
from ..ros_messages import MessageType, Shape, message_type
from ..ros_messages.definition_text import type_of_text
from ..ros_messages.fields import DUMMY, PRIMITIVES, Field, Structure
from ..ros_messages.records import attribute
from ..ros_messages.types import full_name
from .gathering import Gathering

MOST_VALUES = 64
"""Values of an array or a sequence that are columns: more are an image or a scan."""
_QUATERNION = "geometry_msgs/msg/Quaternion"


class MessageColumns:
    """The numbers of messages of one type."""

    def __init__(self, structure: Structure) -> None:
        self._names: list[str] = []
        self._paths: list[str] = []
        self._many: list[tuple[str, Callable[[Any], Any], MessageColumns | None]] = []
        self._rotations: list[tuple[str, Callable[[Any], Any]]] = []
        self._look_at(structure, "", "")
        self._numbers = _getter(self._paths)

    def _look_at(self, structure: Structure, name: str, path: str) -> None:
        for field in structure.fields:
            inner, place = f"{name}.{field.name}", f"{path}{attribute(field)}"
            if field.shape is not Shape.ONE:
                self._look_at_many(field, inner, place)
            elif field.nested is not None:
                self._look_at(field.nested, inner, f"{place}.")
                if field.base == _QUATERNION:
                    self._rotations.append((f"{inner}.yaw", attrgetter(place)))
            elif field.base in PRIMITIVES and field.name != DUMMY:
                self._names.append(inner)
                self._paths.append(place)

    def _look_at_many(self, field: Field, name: str, path: str) -> None:
        if field.nested is not None:
            self._many.append((name, attrgetter(path), MessageColumns(field.nested)))
        elif field.base in PRIMITIVES:
            self._many.append((name, attrgetter(path), None))

    def of(self, record: Any, prefix: str, unread: dict[str, str]) -> Iterator[tuple[str, float]]:
        """Names and numbers of a record; what has too many is noted as unread."""
        for name, number in zip(self._names, self._numbers(record), strict=True):
            yield prefix + name, float(number)
        for name, rotation in self._rotations:
            yield prefix + name, _yaw(*rotation(record))
        for name, values_of, inner in self._many:
            values = values_of(record)
            if len(values) > MOST_VALUES:
                unread[prefix + name] = f"it has more than {MOST_VALUES} values"
            elif inner is None:
                yield from zip(_elements(prefix + name, len(values)), values.tolist(), strict=True)
            else:
                for k, value in enumerate(values):
                    yield from inner.of(value, f"{prefix}{name}[{k}]", unread)


class RosTopic:
    """A topic of ROS 2 messages in a file."""

    def __init__(self, name: str, type_: MessageType) -> None:
        self._name, self._type = name, type_
        self._columns = MessageColumns(type_)

    def add(self, time: int, data: bytes, gathering: Gathering) -> None:
        """The numbers of a message; one that is malformed is noted."""
        try:
            record = self._type.decode(data)
        except InvalidValue as error:
            gathering.refuse(self._name, f"a message is malformed: {error}")
            return
        for name, number in self._columns.of(record, self._name, gathering.unread):
            gathering.add(name, time, number)


def ros_type(name: str, text: str | None) -> MessageType:
    """The type of a topic: that of the text in the file, or the one of this name."""
    name = full_name(name, "msg") if "/" in name else f"unnamed/msg/{name}"
    return type_of_text(name, text) if text else message_type(name)


def _getter(paths: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of paths; `attrgetter` alone gives one value of one path."""
    if len(paths) > 1:
        return attrgetter(*paths)
    return lambda record: tuple(attrgetter(path)(record) for path in paths)


@cache
def _elements(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}[{k}]" for k in range(count))


def _yaw(x: float, y: float, z: float, w: float) -> float:
    """Of the rotation; the quaternion need not be of length 1."""
    return atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
