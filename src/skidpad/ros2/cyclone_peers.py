"""What is to be told of the others on a topic: those that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..ros_messages import MessageType
from .cyclone_participant import pairs_of
from .notices import Notices, Types

_POLICIES = {
    2: "the subscription asks for latched (transient local) and the publisher offers volatile",
    11: "the subscription asks for reliable and the publisher offers best effort",
}
"""Reasons by the numbers that the DDS standard gives to policies."""
_TYPES = 24
"""The number of the policy that types must be the same. It is heard of peers that announce their
definitions only: rmw_cyclonedds and, up to Jazzy, rmw_fastrtps announce the name of the type."""
_LOOKS = 3
"""Number of looks at an endpoint before a notice about it does without the name of its node."""


_PARTICIPANT = 12
"""Bytes of a GUID that its participant has in common."""


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
        self._other_definition = False
        """Whether a peer was refused for its definition of the type."""
        self._looks: dict[bytes, int] = {}
        """How often peers without a name were looked at."""

    def look_at_readers(self, writer: Any) -> None:
        """Look at the subscriptions of a publisher."""
        data_of = writer.get_matched_subscription_data
        matched = writer.get_matched_subscriptions()
        status = writer.get_offered_incompatible_qos_status()
        self._check_policy(status, "a subscription to")
        self._check_names("a subscription to", lambda: map(data_of, matched))
        for handle in self._new(matched):
            self._check_type(data_of(handle), "a subscription to")

    def look_at_writers(self, reader: Any) -> None:
        """Look at the publishers of a subscription."""
        data_of, matched = reader.get_matched_publication_data, reader.get_matched_publications()
        status = reader.get_requested_incompatible_qos_status()
        self._check_policy(status, "a publisher of")
        self._check_names("a publisher of", lambda: map(data_of, matched))
        for handle in self._new(matched):
            self._check_type(data_of(handle), "a publisher of")

    def _new(self, handles: list[int]) -> list[int]:
        new = [handle for handle in handles if handle not in self._seen]
        self._seen = set(handles)
        return new

    def _check_policy(self, status: Any, who: str) -> None:
        if status.total_count == self._misfits:
            return
        self._misfits = status.total_count
        number = int(status.last_policy_id)
        if number == _TYPES:
            self._other_definition = True
            return
        reason = _POLICIES.get(number, f"policy {number} of DDS does not fit")
        self._notices.tell(
            ("policy", who, self._topic, number),
            f"{who} {self._topic} is not connected, because its quality of service does not "
            f"fit: {reason}",
        )

    def _check_names(self, who: str, matched: Callable[[], Iterable[Any]]) -> None:
        """Give notice of peers that are not connected because of their type."""
        endpoints = self._lookup(self._topic, who.startswith("a publisher"))
        others = [one for one in endpoints if one.type != self._type.name]
        # If there are some of another type, it is those: the rest may differ in something else.
        if self._other_definition and not others:
            fitting = {one.key.bytes for one in matched() if one is not None}
            others = [one for one in endpoints if one.guid not in fitting]
            others = others or [Endpoint(b"", self._type.name, "")]
        told = [other for other in others if self._tell_type(who, other)]
        self._other_definition = self._other_definition and len(told) < len(others)

    def _tell_type(self, who: str, other: Endpoint) -> bool:
        """Say why a peer is not connected, as soon as the name of its node is known."""
        looks = self._looks[other.guid] = self._looks.get(other.guid, 0) + 1
        if not other.node and looks < _LOOKS:
            return False
        types = Types(other.type, self._type.name)
        self._notices.tell_type(other.guid[:_PARTICIPANT], who, self._topic, other.node, types)
        return True

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
