"""What is to be told of the others on a topic: those that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..ros_messages import MessageType
from .cyclone_participant import pairs_of
from .notices import Notices

_POLICIES = {
    2: "the subscription asks for latched (transient local) and the publisher offers volatile",
    11: "the subscription asks for reliable and the publisher offers best effort",
}
"""Reasons by the numbers that the DDS standard gives to policies."""
_TYPES = 24
"""The number of the policy that types must be the same."""


class Endpoint(NamedTuple):
    """A publisher or a subscription of somebody."""

    guid: bytes
    type: str
    """As ROS has it: "nav_msgs/msg/Odometry"."""
    node: str
    """Full names of the nodes of its process, as far as they are known."""


Lookup = Callable[[str, bool], list[Endpoint]]
"""All endpoints of a topic: its publishers, if true, or its subscriptions."""


class Peers:
    """Those on the other side of one endpoint, looked at once each."""

    def __init__(self, topic: str, type_: MessageType, notices: Notices, lookup: Lookup) -> None:
        self._topic, self._type, self._notices = topic, type_, notices
        self._lookup = lookup
        self._seen: set[int] = set()
        self._misfits = 0

    def look_at_readers(self, writer: Any) -> None:
        """Look at the subscriptions of a publisher."""
        data_of = writer.get_matched_subscription_data
        matched = writer.get_matched_subscriptions()
        status = writer.get_offered_incompatible_qos_status()
        self._check_policy(status, "a subscription to", [*map(data_of, matched)])
        for handle in self._new(matched):
            self._check_type(data_of(handle), "a subscription to")

    def look_at_writers(self, reader: Any) -> None:
        """Look at the publishers of a subscription."""
        data_of, matched = reader.get_matched_publication_data, reader.get_matched_publications()
        status = reader.get_requested_incompatible_qos_status()
        self._check_policy(status, "a publisher of", [*map(data_of, matched)])
        for handle in self._new(matched):
            self._check_type(data_of(handle), "a publisher of")

    def _new(self, handles: list[int]) -> list[int]:
        new = [handle for handle in handles if handle not in self._seen]
        self._seen = set(handles)
        return new

    def _check_policy(self, status: Any, who: str, matched: list[Any]) -> None:
        if status.total_count == self._misfits:
            return
        self._misfits = status.total_count
        number = int(status.last_policy_id)
        if number == _TYPES:
            self._tell_types(who, {one.key.bytes for one in matched if one is not None})
            return
        reason = _POLICIES.get(number, f"policy {number} of DDS does not fit")
        self._notices.tell(
            ("policy", who, self._topic, number),
            f"{who} {self._topic} is not connected, because its quality of service does not "
            f"fit: {reason}",
        )

    def _tell_types(self, who: str, matched: set[bytes]) -> None:
        """Those that are not connected because of their type."""
        endpoints = self._lookup(self._topic, who.startswith("a publisher"))
        apart = [one for one in endpoints if one.guid not in matched]
        # If there are some of another type, it is those: the rest may differ in something else.
        others = [one for one in apart if one.type != self._type.name] or apart
        own = self._type.name
        for other in others or [Endpoint(b"", own, "")]:
            of_node = f" (node {other.node})" if other.node else ""
            package = own.partition("/")[0]
            reason = (
                f"its type is {other.type}, and here it is {own}: change one of them, or remap the "
                "topic of one"
                if other.type != own
                else f"its definition of {own} is another one than here: build it against the "
                f"version of {package} that the rest of the system has, or remap the topic of one"
            )
            self._notices.tell(
                ("types", who, self._topic, other.type, other.node),
                f"{who} {self._topic}{of_node} is not connected: {reason}",
            )

    def _check_type(self, endpoint: Any, who: str) -> None:
        """Compare definitions where the other side tells its own, as ROS 2 does since Iron."""
        own = self._type.hash
        other = pairs_of(endpoint).get("typehash", own) if endpoint is not None else own
        if other != own:
            self._notices.tell(
                ("type", who, self._topic),
                f"{who} {self._topic} has another definition of {self._type.name} ({other} there, "
                f"{own} here): messages are dropped or wrong",
            )
