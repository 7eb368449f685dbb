"""A participant of Cyclone DDS: makes writers and readers with the quality of service of rmw."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import InvalidValue
from .cyclone_domain import enter_domain, leave_domain
from .cyclone_library import cyclone, delete
from .dds_names import user_data, user_pairs
from .dds_settings import Settings
from .transport import Qos

_MOST_ENDPOINTS = 10_000
"""Of all topics, that are remembered."""
_AT_ONCE = 1000
"""News of endpoints that are taken with one call."""


class Participant:
    """One per node. Its writers and readers live until `close`."""

    def __init__(self, settings: Settings) -> None:
        self.domain = settings.domain
        enter_domain(settings)
        qos = cyclone("qos")
        enclave = qos.Qos(qos.Policy.Userdata(data=user_data({"enclave": "/"})))
        try:
            self.entity = cyclone("domain").DomainParticipant(settings.domain, enclave)
        except cyclone("core").DDSException as error:
            leave_domain(settings.domain)
            raise InvalidValue(
                f"there is no room for one more participant in domain {settings.domain} "
                f"({error}): take another ROS_DOMAIN_ID"
            ) from error
        self.guid: bytes = self.entity.guid.bytes
        self._topics: dict[str, Any] = {}
        self._endpoints: list[Any] = []
        self._lock = threading.Lock()
        self._others = {writers: _Others(self.entity, writers) for writers in (True, False)}

    def writer(self, name: str, sample_type: Any, qos: Qos, pairs: dict[str, str]) -> Any:
        """A writer to a topic of DDS, with user data."""
        policies = [cyclone("qos").Policy.WriterDataLifecycle(autodispose=False)]
        return self._endpoint(cyclone("pub").DataWriter, name, sample_type, qos, pairs, policies)

    def reader(self, name: str, sample_type: Any, qos: Qos, pairs: dict[str, str]) -> Any:
        """A reader of a topic of DDS, with user data."""
        return self._endpoint(cyclone("sub").DataReader, name, sample_type, qos, pairs, [])

    def endpoints(self, name: str, writers: bool) -> list[tuple[bytes, bytes, str]]:
        """Everybody's writers or readers of a topic of DDS that are known at the moment: GUID, that
        of the participant, and the name of the type."""
        with self._lock:
            return [] if self.entity is None else self._others[writers].of_topic(name)

    def close(self) -> None:
        """Delete everything, which the others are told."""
        with self._lock:
            if self.entity is None:
                return
            news = [others.reader for others in self._others.values()]
            for entity in (*news, *self._endpoints, *self._topics.values(), self.entity):
                delete(entity)
            self._endpoints.clear()
            self._topics.clear()
            self.entity = None
            leave_domain(self.domain)

    def _endpoint(
        self,
        kind: Any,
        name: str,
        sample_type: Any,
        qos: Qos,
        pairs: dict[str, str],
        policies: list[Any],
    ) -> Any:
        data = cyclone("qos").Policy.Userdata(data=user_data(pairs))
        all_policies = dds_qos(qos, data, *policies)
        with self._lock:
            if self.entity is None:
                raise InvalidValue(f"{name}: the node is closed")
            made = kind(self.entity, self._topic(name, sample_type), all_policies)
            self._endpoints.append(made)
        return made

    def _topic(self, name: str, sample_type: Any) -> Any:
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = cyclone("topic").Topic(self.entity, name, sample_type)
        if topic.data_type is not sample_type:
            raise InvalidValue(
                f"{name} has the type {topic.data_type.__idl_typename__} in this node, "
                f"not {sample_type.__idl_typename__}"
            )
        return topic


class _Others:
    """Everybody's writers, or readers, by topic, from the news that DDS has of them."""

    def __init__(self, participant: Any, writers: bool) -> None:
        builtin = cyclone("builtin")
        kind = "BuiltinTopicDcpsPublication" if writers else "BuiltinTopicDcpsSubscription"
        self.reader = builtin.BuiltinDataReader(participant, getattr(builtin, kind))
        self._topics: dict[bytes, str] = {}
        """Topics by GUID."""
        self._known: dict[str, dict[bytes, tuple[bytes, bytes, str]]] = {}

    def of_topic(self, name: str) -> list[tuple[bytes, bytes, str]]:
        """GUID, that of the participant, and type of each endpoint of a topic."""
        while news := self.reader.take(_AT_ONCE):
            for one in news:
                self._note(one)
        return [*self._known.get(name, {}).values()]

    def _note(self, endpoint: Any) -> None:
        guid = endpoint.key.bytes
        if guid in self._topics:
            topic = self._topics.pop(guid)
            del self._known[topic][guid]
            if not self._known[topic]:
                del self._known[topic]
        # Of one that has left there is the GUID alone.
        if endpoint.topic_name is not None and len(self._topics) < _MOST_ENDPOINTS:
            self._topics[guid] = endpoint.topic_name
            entry = (guid, endpoint.participant_key.bytes, endpoint.type_name)
            self._known.setdefault(endpoint.topic_name, {})[guid] = entry


def dds_qos(qos: Qos, *more: Any) -> Any:
    """Quality of service in the terms of DDS, as rmw has it."""
    library = cyclone("qos")
    policy = library.Policy
    if qos.depth < 1:
        raise InvalidValue(f"depth is {qos.depth}, but must be at least 1")
    last = policy.History.KeepLast(qos.depth)
    policies = [
        # Nothing to wait for: what has no room takes the place of what was there.
        policy.Reliability.Reliable(0) if qos.reliable else policy.Reliability.BestEffort,
        policy.Durability.TransientLocal if qos.latched else policy.Durability.Volatile,
        policy.DataRepresentation(use_cdrv0_representation=True),
        last,
    ]
    if qos.latched:
        # How many who come later get; the default is one.
        policies.append(policy.DurabilityService(0, last, -1, -1, -1))
    return library.Qos(*policies, *more)


def pairs_of(endpoint: Any) -> dict[str, str]:
    """The user data of somebody's endpoint."""
    data = endpoint.qos[cyclone("qos").Policy.Userdata]
    return user_pairs(data.data) if data is not None else {}
