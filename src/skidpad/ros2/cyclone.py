"""Transport over DDS by Eclipse Cyclone DDS: topics and services in the form of rmw_cyclonedds.

A service is a request topic and a reply topic, with a header of 16 bytes that identifies the client
and its request. Replies are volatile, so a reply is sent only after the reader of its client has
been discovered; until then it waits, up to a limit.

One thread waits for all arriving data, on a wait set: Listeners of the binding run Python in
threads of the C library, which sometimes crashes when the interpreter exits.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from ..errors import InvalidValue
from . import dds
from .dds import Data, Identity, Notices, Qos, Reply, Settings, Transport, Types, cyclone
from .messages.types import MessageType, ServiceType


@dataclass
class _Opened:
    settings: Settings
    domain: Any
    users: int = 0


_opened: dict[int, _Opened] = {}
_lock = threading.Lock()


def _enter_domain(settings: Settings) -> None:
    """Open a domain, or share it if this process has it open with the same settings."""
    number, xml = settings
    with _lock:
        opened = _opened.get(number)
        if opened is None:
            dds.prepare_library()
            try:
                domain = cyclone("domain").Domain(number, xml)
            except cyclone("core").DDSException as error:
                _, _, users = xml.partition("</CycloneDDS>,")
                other = "other code in this process has it"
                cause = f"CYCLONEDDS_URI is {users!r}" if users else other
                raise InvalidValue(
                    f"domain {number} cannot be opened by Cyclone DDS ({error}): {cause}"
                ) from error
            opened = _opened[number] = _Opened(settings, domain)
        if opened.settings != settings:
            raise InvalidValue(
                f"domain {number} is open in this process with other settings; "
                "ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE and CYCLONEDDS_URI must agree"
            )
        opened.users += 1


def _leave_domain(number: int) -> None:
    """Close a domain when the last user leaves it, so that the next one may have other settings."""
    with _lock:
        opened = _opened[number]
        opened.users -= 1
        if opened.users == 0:
            del _opened[number]
            # Delete the domain here, with its threads; at interpreter exit it would be too late.
            dds.delete(opened.domain)


_MOST_ENDPOINTS = 10_000
_BATCH = 1000
"""Number of samples taken with one call."""


class Participant:
    """DDS participant of one node; its writers and readers live until `close`."""

    def __init__(self, settings: Settings) -> None:
        self.domain = settings.domain
        _enter_domain(settings)
        qos = cyclone("qos")
        enclave = qos.Qos(qos.Policy.Userdata(data=dds.user_data({"enclave": "/"})))
        try:
            self.entity = cyclone("domain").DomainParticipant(settings.domain, enclave)
        except cyclone("core").DDSException as error:
            _leave_domain(settings.domain)
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
        """Create a writer for a DDS topic, with user data."""
        policy = cyclone("qos").Policy.WriterDataLifecycle(autodispose=False)
        return self._endpoint(cyclone("pub").DataWriter, name, sample_type, qos, pairs, policy)

    def reader(self, name: str, sample_type: Any, qos: Qos, pairs: dict[str, str]) -> Any:
        """Create a reader of a DDS topic, with user data."""
        return self._endpoint(cyclone("sub").DataReader, name, sample_type, qos, pairs)

    def endpoints(self, name: str, writers: bool) -> list[tuple[bytes, bytes, str]]:
        """All currently known writers or readers of a DDS topic, of any participant.

        Each entry has its GUID, the GUID of its participant, and the name of the type.
        """
        with self._lock:
            return [] if self.entity is None else self._others[writers].of_topic(name)

    def close(self) -> None:
        """Delete all entities, which notifies the other participants."""
        with self._lock:
            if self.entity is None:
                return
            news = [others.reader for others in self._others.values()]
            for entity in (*news, *self._endpoints, *self._topics.values(), self.entity):
                dds.delete(entity)
            self._endpoints.clear()
            self._topics.clear()
            self.entity = None
            _leave_domain(self.domain)

    def _endpoint(
        self, kind: Any, name: str, sample_type: Any, qos: Qos, pairs: dict[str, str], *more: Any
    ) -> Any:
        library = cyclone("qos")
        policy = library.Policy
        if qos.depth < 1:
            raise InvalidValue(f"depth is {qos.depth}, but must be at least 1")
        last = policy.History.KeepLast(qos.depth)
        # rmw_cyclonedds uses the same setting.
        policies = [
            # Writing never blocks: a new sample replaces an old one if the history is full.
            policy.Reliability.Reliable(0) if qos.reliable else policy.Reliability.BestEffort,
            policy.Durability.TransientLocal if qos.latched else policy.Durability.Volatile,
            policy.DataRepresentation(use_cdrv0_representation=True),
            last,
            policy.Userdata(data=dds.user_data(pairs)),
        ]
        if qos.latched:
            # Depth for later readers; the default is one.
            policies.append(policy.DurabilityService(0, last, -1, -1, -1))
        all_policies = library.Qos(*policies, *more)
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
    """Endpoints (writers or readers) of all participants by topic, from DDS built-in topics."""

    def __init__(self, participant: Any, writers: bool) -> None:
        builtin = cyclone("builtin")
        kind = "BuiltinTopicDcpsPublication" if writers else "BuiltinTopicDcpsSubscription"
        self.reader = builtin.BuiltinDataReader(participant, getattr(builtin, kind))
        self._topics: dict[bytes, str] = {}
        """Topics by GUID."""
        self._known: dict[str, dict[bytes, tuple[bytes, bytes, str]]] = {}

    def of_topic(self, name: str) -> list[tuple[bytes, bytes, str]]:
        """GUID, participant GUID and type of each endpoint of a topic."""
        while news := self.reader.take(_BATCH):
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
        # An endpoint that has left has only its GUID.
        if endpoint.topic_name is not None and len(self._topics) < _MOST_ENDPOINTS:
            self._topics[guid] = endpoint.topic_name
            entry = (guid, endpoint.participant_key.bytes, endpoint.type_name)
            self._known.setdefault(endpoint.topic_name, {})[guid] = entry


def pairs_of(endpoint: Any) -> dict[str, str]:
    """User data of an endpoint as pairs of key and value."""
    data = endpoint.qos[cyclone("qos").Policy.Userdata]
    return dds.user_pairs(data.data) if data is not None else {}


RETRY = 5_000_000
"""Time between two attempts of a postponed action, in ns."""
_FOREVER = 2**63 - 1


class Waiting:
    """Waiting thread that calls the function of each reader with new samples, one at a time."""

    def __init__(self, participant: Any, retry: Callable[[], bool]) -> None:
        core = cyclone("core")
        self._retry = retry
        """Called after each event; returns whether to call it again soon."""
        self._set = core.WaitSet(participant)
        self._wake = core.GuardCondition(participant)
        self._takers: dict[int, Callable[[], None]] = {}
        self._conditions: list[Any] = [self._wake]
        self._numbers = count(1)
        dds.calls().attach(self._set._ref, self._wake._ref, 0)
        self._ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="skidpad-dds", daemon=True)
        self._thread.start()

    def add(self, reader: Any, take: Callable[[], None]) -> None:
        """Call `take` whenever a reader has samples; each call takes at least one of them."""
        core = cyclone("core")
        states = core.SampleState.NotRead | core.ViewState.Any | core.InstanceState.Any
        with self._lock:
            # A previous callback may have closed the participant, and the reader with it.
            if self._ended:
                return
            condition = core.ReadCondition(reader, states)
            number = next(self._numbers)
            self._takers[number] = take
            self._conditions.append(condition)
            dds.calls().attach(self._set._ref, condition._ref, number)
            self._wake.set(True)

    def wake(self) -> None:
        with self._lock:
            if not self._ended:
                self._wake.set(True)

    def close(self) -> None:
        """End the thread and wait for it, unless called from that thread."""
        with self._lock:
            self._ended = True
            self._wake.set(True)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for entity in (self._set, *self._conditions):
            dds.delete(entity)

    def _run(self) -> None:
        wait, wait_set, wake = dds.calls().wait, self._set._ref, self._wake
        patience = _FOREVER
        while not self._ended:
            room = len(self._conditions)
            due = (ctypes.c_ssize_t * room)()
            many = wait(wait_set, due, room, patience)
            if many < 0:
                return
            # Clear the flag first, so that later requests wake the thread again.
            wake.set(False)
            for number in due[: min(many, room)]:
                taker = self._takers.get(number)
                if taker is not None and not self._ended:
                    taker()
            patience = RETRY if self._retry() else _FOREVER


OURS = "skidpad"
"""User data that marks skidpad's writers of the graph.

These writers do not indicate the ROS 2 release of the other nodes.
"""
_HEARD = Qos(latched=True, depth=1000)
_MOST_PARTICIPANTS = 1000


class Graph:
    """Writes and reads `ros_discovery_info`, the source of `ros2 node list`."""

    def __init__(
        self, participant: Participant, identity: Identity, distribution: str, notices: Notices
    ) -> None:
        self._identity, self._distribution, self._notices = identity, distribution, notices
        self._guid = participant.guid
        self._Sample = kind = dds.graph_sample_type()
        self._writer = participant.writer(dds.TOPIC, kind, dds.LATCHED, {OURS: "1"})
        self.reader = participant.reader(dds.TOPIC, kind, _HEARD, {OURS: "1"})
        self._entities: dds.NodeEntities | None = None
        self._gid_size = 0
        self._names: dict[bytes, str] = {}
        """Names of the nodes of each participant, the latest last."""
        self._lock = threading.Lock()

    def announce(self, readers: list[Any], writers: list[Any]) -> None:
        """Publish the endpoints of the node to present and later participants."""
        guids = (tuple(one.guid.bytes for one in ones) for ones in (readers, writers))
        with self._lock:
            self._entities = dds.NodeEntities(self._identity, *guids)
            self._write(dds.gid_size(self._distribution, self._others()))

    def take(self) -> None:
        for sample in self.reader.take(100):
            if isinstance(sample, self._Sample):
                with suppress(InvalidValue):
                    self._look_at(dds.decoded_info(sample.data))
        # This sender may be the first or last participant of another ROS 2 release, which affects
        # the Gid size.
        with self._lock:
            size = dds.gid_size(self._distribution, self._others())
            if self._entities is not None and size != self._gid_size:
                self._write(size)

    def nodes_of(self, participant: bytes) -> str:
        """Full names of the known nodes of a participant."""
        return self._names.get(participant, "")

    def _write(self, size: int) -> None:
        assert self._entities is not None
        info = dds.DiscoveryInfo(self._guid, (self._entities,))
        self._writer.write(self._Sample(dds.encoded_info(info, size)))
        self._gid_size = size

    def _look_at(self, info: dds.DiscoveryInfo) -> None:
        names = {node.identity.full for node in info.nodes}
        self._names.pop(info.participant, None)
        self._names[info.participant] = ", ".join(sorted(names))
        if len(self._names) > _MOST_PARTICIPANTS:
            del self._names[next(iter(self._names))]
        if info.participant != self._guid and self._identity.full in names:
            self._notices.add(
                ("name", info.participant),
                f"there is another node {self._identity.full}: tools show one of the two, and "
                "parameters and services of that name may be answered by either",
            )

    def _others(self) -> list[dict[str, str]]:
        """User data of the writers of the graph other than skidpad's."""
        data_of = self.reader.get_matched_publication_data
        endpoints = map(data_of, self.reader.get_matched_publications())
        pairs = [pairs_of(endpoint) for endpoint in endpoints if endpoint is not None]
        return [one for one in pairs if OURS not in one]


_POLICIES = {
    2: "the subscription asks for latched (transient local) and the publisher offers volatile",
    11: "the subscription asks for reliable and the publisher offers best effort",
}
"""Policies that can make the quality of service incompatible, by their number in the DDS standard.
"""
_TYPES = 24
"""Number of the policy that requires equal types.

It applies to peers that announce only their definitions: rmw_cyclonedds and, up to Jazzy,
rmw_fastrtps announce the name of the type.
"""
_LOOKS = 3
"""Number of checks of an endpoint before a notice about it leaves out the name of its node."""


_PARTICIPANT = 12
"""Number of leading bytes of a GUID that identify its participant."""


class Endpoint(NamedTuple):
    """A publisher or a subscription of a peer."""

    guid: bytes
    type: str
    """Type name in ROS form: "nav_msgs/msg/Odometry"."""
    node: str
    """Full names of the known nodes of its process."""


Lookup = Callable[[str, bool], list[Endpoint]]
"""Function that returns the endpoints of a topic: publishers if the flag is true, else
subscriptions."""


class Peers:
    """Checker of the peers of one endpoint, each peer once.

    Args:
        entity: the writer or reader of the endpoint.
        publishes: whether it is a publisher.
        topic: full name of its topic.
        type_: its type.
        notices: receives the warnings.
        lookup: finds the endpoints of a topic.
    """

    def __init__(
        self,
        entity: Any,
        publishes: bool,
        topic: str,
        type_: MessageType,
        notices: Notices,
        lookup: Lookup,
    ) -> None:
        self.entity, self.publishes = entity, publishes
        self._topic, self._type, self._notices, self._lookup = topic, type_, notices, lookup
        self._who = "a subscription to" if publishes else "a publisher of"
        self._seen: set[int] = set()
        self._misfits = 0
        self._other_definition = False
        """Whether a peer was refused because of its type definition."""
        self._looks: dict[bytes, int] = {}
        """Number of checks of each peer without a known node name."""

    def look(self) -> None:
        """Check the subscriptions matched with a publisher, or the publishers with a
        subscription."""
        entity = self.entity
        if self.publishes:
            data_of, handles = (
                entity.get_matched_subscription_data,
                entity.get_matched_subscriptions(),
            )
            status = entity.get_offered_incompatible_qos_status()
        else:
            data_of, handles = (
                entity.get_matched_publication_data,
                entity.get_matched_publications(),
            )
            status = entity.get_requested_incompatible_qos_status()
        self._check_policy(status)
        self._check_names(lambda: map(data_of, handles))
        for handle in handles:
            if handle not in self._seen:
                self._check_type(data_of(handle))
        self._seen = set(handles)

    def _check_policy(self, status: Any) -> None:
        if status.total_count == self._misfits:
            return
        self._misfits = status.total_count
        number = int(status.last_policy_id)
        if number == _TYPES:
            self._other_definition = True
            return
        reason = _POLICIES.get(number, f"policy {number} of DDS does not fit")
        self._notices.add(
            ("policy", self._who, self._topic, number),
            f"{self._who} {self._topic} is not connected, because its quality of service does not "
            f"fit: {reason}",
        )

    def _check_names(self, matched: Callable[[], Iterable[Any]]) -> None:
        """Warn about peers that are not connected because of their type."""
        endpoints = self._lookup(self._topic, not self.publishes)
        others = [one for one in endpoints if one.type != self._type.name]
        # If there are peers with another type name, they are the cause: the others may differ in
        # something else.
        if self._other_definition and not others:
            fitting = {one.key.bytes for one in matched() if one is not None}
            others = [one for one in endpoints if one.guid not in fitting]
            others = others or [Endpoint(b"", self._type.name, "")]
        told = [other for other in others if self._tell_type(other)]
        self._other_definition = self._other_definition and len(told) < len(others)

    def _tell_type(self, other: Endpoint) -> bool:
        """Warn why a peer is not connected, once the name of its node is known."""
        looks = self._looks[other.guid] = self._looks.get(other.guid, 0) + 1
        if not other.node and looks < _LOOKS:
            return False
        types, peer = Types(other.type, self._type.name), other.guid[:_PARTICIPANT]
        self._notices.add_type(peer, self._who, self._topic, other.node, types)
        return True

    def _check_type(self, endpoint: Any) -> None:
        """Compare type definitions with a peer that announces its own, as ROS 2 does since Iron."""
        own = self._type.hash
        other = pairs_of(endpoint).get("typehash", own) if endpoint is not None else own
        if other != own:
            self._notices.add(
                ("type", self._who, self._topic),
                f"{self._who} {self._topic} has another definition of {self._type.name} "
                f"({other} there, {own} here): messages are dropped or wrong",
            )


QOS = Qos(depth=1000)
"""Quality of service of requests and replies.

rmw has a depth of 10, and 1000 for parameters; the depth need not agree.
"""
LONGEST_WAIT = 5.0
"""Longest time in s that a reply waits for the reader of its client."""
_BODY = 4 + dds.SERVICE_HEADER


class _Pending(NamedTuple):
    client: str
    data: bytes
    until: float


class Service:
    def __init__(
        self,
        participant: Participant,
        number: int,
        name: str,
        type_: ServiceType,
        handler: Callable[[bytes, Reply], None],
        transport: CycloneTransport,
    ) -> None:
        self.name, self._type, self._handler = name, type_, handler
        self._notices, self._wake = transport.notices, transport.wake
        self.closed = False
        self._Request = dds.sample_type(type_.request, service=True)
        self._Response = dds.sample_type(type_.response, service=True)
        pairs = {"serviceid": dds.endpoint_id(participant.guid, number), "typehash": type_.hash}
        # Create the writer first: a client that discovers the reader may send a request at once.
        self.writer = participant.writer(dds.topic_name(name, "reply"), self._Response, QOS, pairs)
        self.reader = participant.reader(dds.topic_name(name, "request"), self._Request, QOS, pairs)
        self._pending: list[_Pending] = []
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> None:
        for sample in self.reader.take(100):
            if self.closed:
                return
            if isinstance(sample, self._Request) and self._understood(sample):
                data, writer = sample.data, sample.sample_info.publication_handle
                self._handler(data[:4] + data[_BODY:], self._reply(data[4:_BODY], writer))

    @property
    def waiting(self) -> bool:
        return bool(self._pending)

    def send_waiting(self) -> None:
        """Send the replies whose clients were discovered, and drop those that waited too long."""
        if not self._pending:
            return
        now, there = time.monotonic(), self._clients()
        with self._lock:
            pending = [one for one in self._pending if now < one.until]
            self._pending = [one for one in pending if one.client not in there]
        for one in pending:
            if one.client in there:
                self._send(one.data)

    def look(self) -> None:
        """Warn about clients that cannot be answered."""
        handles = set(self.reader.get_matched_publications())
        for handle in handles - self._seen:
            endpoint = self.reader.get_matched_publication_data(handle)
            if endpoint is not None:
                self._notice(endpoint)
        self._seen = handles

    def _understood(self, sample: Any) -> bool:
        """Whether a request starts with the header of rmw_cyclonedds, which other implementations
        do not send."""
        handle = sample.sample_info.publication_handle
        endpoint = self.reader.get_matched_publication_data(handle)
        return sample.data[:2] == dds.LITTLE_ENDIAN and not (
            endpoint is not None and self._notice(endpoint)
        )

    def _notice(self, endpoint: Any) -> bool:
        """Whether an endpoint belongs to Fast DDS; if so, the user is warned."""
        strange = endpoint.key.bytes[:2] == dds.FAST_DDS
        if strange:
            self._notices.add(
                ("service", self.name),
                f"service {self.name} has a client on rmw_fastrtps, which cannot be answered over "
                "Cyclone DDS and waits for ever: start it with "
                "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp, or both sides with Zenoh",
            )
        return strange

    def _reply(self, header: bytes, writer: int) -> Reply:
        used = threading.Lock()

        def reply(cdr: Data) -> None:
            if not used.acquire(blocking=False):
                raise InvalidValue(f"service {self.name}: this request has been answered")
            try:
                self._answer(writer, bytes(cdr[:4]) + header + bytes(cdr[4:]))
            except InvalidValue:
                used.release()
                raise

        return reply

    def _answer(self, writer: int, data: bytes) -> None:
        """Send a reply if the reader of its client is known, else store it for a while."""
        try:
            endpoint = self.reader.get_matched_publication_data(writer)
            client = pairs_of(endpoint).get("clientid") if endpoint is not None else None
            there = endpoint is not None and (client is None or client in self._clients())
        except cyclone("core").DDSException:
            if self.closed:
                return
            raise
        if there:
            self._send(data)
        elif client is not None:
            with self._lock:
                self._pending.append(_Pending(client, data, time.monotonic() + LONGEST_WAIT))
            self._wake()

    def _send(self, data: bytes) -> None:
        try:
            self.writer.write(self._Response(data))
        except cyclone("core").DDSException as error:
            if self.closed:
                return
            raise InvalidValue(
                f"service {self.name}: {len(data) - dds.SERVICE_HEADER} bytes are not CDR of "
                f"{self._type.response.name}"
            ) from error

    def _clients(self) -> set[str]:
        """Clients whose reply readers were discovered."""
        readers = map(self.writer.get_matched_subscription_data, self.writer.matched_sub)
        pairs = [pairs_of(reader) for reader in readers if reader is not None]
        return {known["clientid"] for known in pairs if "clientid" in known}


_AT_ONCE = 100
"""Largest number of samples taken from a reader before the other readers get their turn."""


class CyclonePublisher:
    """Writes messages of one type to one topic; see `Publisher`."""

    def __init__(
        self, transport: CycloneTransport, topic: str, type_: MessageType, writer: Any
    ) -> None:
        self._transport, self._topic, self._type, self._writer = transport, topic, type_, writer
        self._Sample, self._write = dds.sample_type(type_), writer.write
        self._failure = cyclone("core").DDSException

    def write(self, cdr: Data) -> None:
        """Send a message without waiting for readers; after `close` it is discarded."""
        if self._transport.closed:
            return
        try:
            self._write(self._Sample(bytes(cdr) if isinstance(cdr, memoryview) else cdr))
        except self._failure as error:
            if not self._transport.closed:
                raise InvalidValue(
                    f"topic {self._topic}: {len(cdr)} bytes are not CDR of {self._type.name}"
                ) from error

    @property
    def readers(self) -> int:
        if self._transport.closed:
            return 0
        return int(self._writer.get_publication_matched_status().current_count)


class CycloneTransport(Transport):
    """A node's connection to DDS.

    `environment` has the variables that ROS 2 users set: ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY,
    ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_DISTRO and CYCLONEDDS_URI; by default those of the process.
    """

    def __init__(self, identity: Identity, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        super().__init__(identity)
        self._participant = Participant(dds.settings_of(environment))
        self.domain = self._participant.domain
        self._peers: list[Peers] = []
        self._services: list[Service] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._process = os.getpid()
        try:
            distribution = environment.get("ROS_DISTRO", "").strip()
            self._graph = Graph(self._participant, identity, distribution, self.notices)
            self._waiting = Waiting(self._participant.entity, self._retry)
            self._waiting.add(self._graph.reader, self._guarded("the graph", self._graph.take))
        except BaseException:
            self._participant.close()
            raise
        # Close at exit: threads of the library that outlive the interpreter would still call into
        # it.
        atexit.register(self.close)

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> CyclonePublisher:
        pairs = {"typehash": type_.hash}
        writer = self._participant.writer(dds.topic_name(topic), dds.sample_type(type_), qos, pairs)
        self._watch(writer, True, topic, type_)
        return CyclonePublisher(self, topic, type_, writer)

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of every message of a topic, in the waiting thread."""
        Sample, pairs = dds.sample_type(type_), {"typehash": type_.hash}
        reader = self._participant.reader(dds.topic_name(topic), Sample, qos, pairs)
        most = min(qos.depth, _AT_ONCE)

        def take() -> None:
            for sample in reader.take(most):
                # A sample without data says that a writer has left.
                if self.closed or not isinstance(sample, Sample):
                    continue
                if sample.data[:2] == dds.LITTLE_ENDIAN:
                    callback(sample.data)
                else:
                    self.notices.add(
                        ("malformed", topic), f"messages on {topic} are not CDR, and are dropped"
                    )

        self._watch(reader, False, topic, type_)
        self._waiting.add(reader, self._guarded(topic, take))

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        service = Service(self._participant, next(self._numbers), name, type_, handler, self)
        with self._lock:
            self._services.append(service)
        self._waiting.add(service.reader, self._guarded(name, service.take))

    def announce(self) -> None:
        with self._lock:
            if not self.closed:
                readers = [one.entity for one in self._peers if not one.publishes]
                writers = [one.entity for one in self._peers if one.publishes]
                self._graph.announce(
                    readers + [service.reader for service in self._services],
                    writers + [service.writer for service in self._services],
                )

    def look(self) -> None:
        with self._lock:
            # Close publishers first.
            peers = sorted(self._peers, key=lambda one: not one.publishes)
            for one in () if self.closed else (*peers, *self._services):
                one.look()

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        if self._process != os.getpid():
            return  # A fork has none of the threads, and the connection is its parent's.
        with self._lock:
            if self.closed:
                return
            self.closed = True
            for service in self._services:
                service.closed = True
        atexit.unregister(self.close)
        self._waiting.close()
        self._participant.close()

    def _watch(self, entity: Any, publishes: bool, topic: str, type_: MessageType) -> None:
        with self._lock:
            peers = Peers(entity, publishes, topic, type_, self.notices, self._endpoints)
            self._peers.append(peers)

    def wake(self) -> None:
        """Try again soon to send waiting replies."""
        self._waiting.wake()

    def _endpoints(self, topic: str, writers: bool) -> list[Endpoint]:
        return [
            Endpoint(guid, dds.ros_type_name(kind), self._graph.nodes_of(participant))
            for guid, participant, kind in self._participant.endpoints(
                dds.topic_name(topic), writers
            )
        ]

    def _retry(self) -> bool:
        """Send waiting replies; returns whether some remain."""
        for service in tuple(self._services):
            self._guarded(service.name, service.send_waiting)()
        return not self.closed and any(service.waiting for service in tuple(self._services))

    def _guarded(self, name: str, take: Callable[[], None]) -> Callable[[], None]:
        """Guarded callback: an error of one topic does not end the common thread."""

        def guarded() -> None:
            try:
                take()
            except Exception as error:
                if not self.closed:
                    self.notices.add(("fault", name), f"{name}: {error!r}")

        return guarded
