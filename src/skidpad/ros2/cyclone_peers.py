"""What is to be told of the others on a topic: those that do not fit."""

from __future__ import annotations

from typing import Any

from ..ros_messages import MessageType
from .cyclone_participant import pairs_of
from .notices import Notices

_POLICIES = {
    2: "the subscription asks for latched (transient local) and the publisher offers volatile",
    11: "the subscription asks for reliable and the publisher offers best effort",
}
"""Reasons by the numbers that the DDS standard gives to policies."""


class Peers:
    """Those on the other side of one endpoint, looked at once each."""

    def __init__(self, topic: str, type_: MessageType, notices: Notices) -> None:
        self._topic, self._type, self._notices = topic, type_, notices
        self._seen: set[int] = set()

    def look_at_readers(self, writer: Any) -> None:
        """Look at the subscriptions of a publisher."""
        status = writer.get_offered_incompatible_qos_status()
        self._check_policy(status, "a subscription to")
        for handle in self._new(writer.get_matched_subscriptions()):
            self._check_type(writer.get_matched_subscription_data(handle), "a subscription to")

    def look_at_writers(self, reader: Any) -> None:
        """Look at the publishers of a subscription."""
        status = reader.get_requested_incompatible_qos_status()
        self._check_policy(status, "a publisher of")
        for handle in self._new(reader.get_matched_publications()):
            self._check_type(reader.get_matched_publication_data(handle), "a publisher of")

    def _new(self, handles: list[int]) -> list[int]:
        new = [handle for handle in handles if handle not in self._seen]
        self._seen = set(handles)
        return new

    def _check_policy(self, status: Any, who: str) -> None:
        if status.total_count:
            number = int(status.last_policy_id)
            reason = _POLICIES.get(number, f"policy {number} of DDS does not fit")
            self._notices.tell(
                ("policy", who, self._topic, number),
                f"{who} {self._topic} is not connected, because its quality of service does not "
                f"fit: {reason}",
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
