"""The six services of parameters and `/parameter_events`: what `ros2 param` talks to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import InvalidValue
from ..ros_messages import message_type
from .node import Node
from .parameters import Kind, Parameters
from .transport import PARAMETERS

_FIELDS = {kind: f"{kind.name.lower()}_value" for kind in Kind if kind is not Kind.NOT_SET}
_SEPARATOR = "."


def message_of(kind: Kind, value: Any) -> Any:
    """A `rcl_interfaces/ParameterValue`."""
    Value = message_type("rcl_interfaces/msg/ParameterValue").Record
    return Value(type=int(kind), **({_FIELDS[kind]: value} if kind in _FIELDS else {}))


def value_of(message: Any) -> Any:
    """The value of a `rcl_interfaces/ParameterValue`."""
    try:
        kind = Kind(message.type)
    except ValueError as error:
        raise InvalidValue(f"parameter type {message.type} must be from 0 to 9") from error
    if kind is Kind.NOT_SET:
        raise InvalidValue("a parameter of this node cannot be deleted")
    value = getattr(message, _FIELDS[kind])
    if kind is Kind.BYTE_ARRAY:
        raise InvalidValue("this node has no parameter of type byte_array")
    return value if kind < Kind.BYTE_ARRAY else [_plain(entry) for entry in value]


def _plain(entry: Any) -> Any:
    return entry.item() if hasattr(entry, "item") else entry


class ParameterServices:
    """Lets others see and change the parameters of a node."""

    def __init__(self, node: Node) -> None:
        self._node, self._parameters = node, node.parameters
        self._events = node.publisher(
            "/parameter_events", "rcl_interfaces/msg/ParameterEvent", PARAMETERS
        )
        for name, answer in (
            ("GetParameters", self._get),
            ("GetParameterTypes", self._types),
            ("SetParameters", self._set),
            ("SetParametersAtomically", self._set_atomically),
            ("DescribeParameters", self._describe),
            ("ListParameters", self._list),
        ):
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
            node.serve(f"~/{snake}", f"rcl_interfaces/srv/{name}", _responding(name, answer))

    def announce(self) -> None:
        """Tell others which parameters there are, as every node does at its start."""
        self._tell("new_parameters", self._parameters)

    def _message(self, name: str) -> Any:
        declared = self._parameters.declared.get(name)
        if declared is None:
            return message_of(Kind.NOT_SET, None)
        return message_of(declared.kind, self._parameters[name])

    def _get(self, request: Any) -> dict[str, Any]:
        return {"values": [self._message(name) for name in request.names]}

    def _types(self, request: Any) -> dict[str, Any]:
        return {"types": [self._message(name).type for name in request.names]}

    def _set(self, request: Any) -> dict[str, Any]:
        return {"results": [self._changed([one]) for one in request.parameters]}

    def _set_atomically(self, request: Any) -> dict[str, Any]:
        return {"result": self._changed(request.parameters)}

    def _changed(self, wanted: Iterable[Any]) -> Any:
        Result = message_type("rcl_interfaces/msg/SetParametersResult").Record
        try:
            values = {one.name: value_of(one.value) for one in wanted}
            self._parameters.set(values)
        except InvalidValue as error:
            return Result(successful=False, reason=str(error))
        self._tell("changed_parameters", values)
        return Result(successful=True)

    def _tell(self, field: str, names: Iterable[str]) -> None:
        One = message_type("rcl_interfaces/msg/Parameter").Record
        parameters = [One(name=name, value=self._message(name)) for name in names]
        Event, node = self._events.type.Record, self._node
        event = Event(stamp=node.stamp(), node=node.identity.full, **{field: parameters})
        self._events.send(event)

    def _describe(self, request: Any) -> dict[str, Any]:
        return {"descriptors": [_descriptor(self._parameters, name) for name in request.names]}

    def _list(self, request: Any) -> dict[str, Any]:
        Result = message_type("rcl_interfaces/msg/ListParametersResult").Record
        names = [name for name in self._parameters if _wanted(name, request)]
        prefixes = {name.rpartition(_SEPARATOR)[0] for name in names} - {""}
        return {"result": Result(names=names, prefixes=sorted(prefixes))}


def _responding(name: str, answer: Any) -> Any:
    from ..ros_messages import service_type

    Response = service_type(f"rcl_interfaces/srv/{name}").response.Record
    return lambda request: Response(**answer(request))


def _descriptor(parameters: Parameters, name: str) -> Any:
    Descriptor = message_type("rcl_interfaces/msg/ParameterDescriptor").Record
    declared = parameters.declared.get(name)
    if declared is None:
        return Descriptor(name=name)
    return Descriptor(
        name=name,
        type=int(declared.kind),
        description=declared.description,
        read_only=not declared.dynamic,
    )


def _wanted(name: str, request: Any) -> bool:
    """By prefixes, and by levels below them; a depth of 0 is any."""
    if not request.prefixes:
        return not request.depth or name.count(_SEPARATOR) < request.depth
    return any(
        name == prefix
        or (
            name.startswith(prefix + _SEPARATOR)
            and (not request.depth or name.count(_SEPARATOR, len(prefix) + 1) < request.depth)
        )
        for prefix in request.prefixes
    )
