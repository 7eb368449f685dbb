"""The transport over DDS by Eclipse Cyclone DDS: topics and services in the form of rmw_cyclonedds.

A service is a request topic and a reply topic, with a header of 16 bytes that names the client and
its request. Replies are volatile: one is sent when the reader of its client has been found, and
waits until then, up to a limit.

One thread waits for all that arrives, on a wait set: Listeners of the binding run Python in threads
of the C library, which crashes at times when the interpreter ends.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from ..errors import InvalidValue
from .dds import (
    FAST_DDS,
    LITTLE_ENDIAN,
    SERVICE_HEADER,
    TOPIC,
    DiscoveryInfo,
    NodeEntities,
    Settings,
    calls,
    cyclone,
    decoded_info,
    delete,
    encoded_info,
    endpoint_id,
    gid_size,
    graph_sample_type,
    leave_to_the_parent,
    reply_name,
    request_name,
    ros_type_name,
    sample_type,
    settings_of,
    silence,
    topic_name,
    user_data,
    user_pairs,
)
from .messages.types import MessageType, ServiceType
from .transport import LATCHED, Data, Identity, Notices, Qos, Reply, Types


@dataclass
class _Opened:
    settings: Settings
    domain: Any
    users: int = 0


@dataclass
class _Domains:
    opened: dict[int, _Opened] = field(default_factory=dict[int, _Opened])
    lock: threading.Lock = field(default_factory=threading.Lock)


_domains = _Domains()


def enter_domain(settings: Settings) -> None:
    """Open a domain, or share the one that this process has open with the same settings."""
    with _domains.lock:
        opened = _domains.opened.get(settings.domain)
        if opened is None:
            opened = _domains.opened[settings.domain] = _Opened(settings, _open(settings))
        if opened.settings != settings:
            raise InvalidValue(
                f"domain {settings.domain} is open in this process with other settings; "
                "ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE and CYCLONEDDS_URI must agree"
            )
        opened.users += 1


def leave_domain(number: int) -> None:
    """Close a domain when the last one leaves it: the next one may have other settings."""
    with _domains.lock:
        opened = _domains.opened[number]
        opened.users -= 1
        if opened.users == 0:
            del _domains.opened[number]
            # Deleted here, with its threads: at the end of the interpreter it would be too late.
            delete(opened.domain)


def _open(settings: Settings) -> Any:
    silence()
    leave_to_the_parent()
    try:
        return cyclone("domain").Domain(settings.domain, settings.xml)
    except cyclone("core").DDSException as error:
        _, _, users = settings.xml.partition("</CycloneDDS>,")
        cause = f"CYCLONEDDS_URI is {users!r}" if users else "other code in this process has it"
        raise InvalidValue(
            f"domain {settings.domain} cannot be opened by Cyclone DDS ({error}): {cause}"
        ) from error


_MOST_ENDPOINTS = 10_000
"""Largest number of stored endpoints."""
_BATCH = 1000
"""Number of samples taken with one call."""


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
        """Delete all entities, which notifies the other participants."""
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
    """The writers, or readers, of all participants by topic, from the built-in topics of DDS."""

    def __init__(self, participant: Any, writers: bool) -> None:
        builtin = cyclone("builtin")
        kind = "BuiltinTopicDcpsPublication" if writers else "BuiltinTopicDcpsSubscription"
        self.reader = builtin.BuiltinDataReader(participant, getattr(builtin, kind))
        self._topics: dict[bytes, str] = {}
        """Topics by GUID."""
        self._known: dict[str, dict[bytes, tuple[bytes, bytes, str]]] = {}

    def of_topic(self, name: str) -> list[tuple[bytes, bytes, str]]:
        """GUID, that of the participant, and type of each endpoint of a topic."""
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


def dds_qos(qos: Qos, *more: Any) -> Any:
    """Quality of service as policies of DDS, as in rmw."""
    library = cyclone("qos")
    policy = library.Policy
    if qos.depth < 1:
        raise InvalidValue(f"depth is {qos.depth}, but must be at least 1")
    last = policy.History.KeepLast(qos.depth)
    policies = [
        # Without waiting: a new sample replaces an old one if there is no room.
        policy.Reliability.Reliable(0) if qos.reliable else policy.Reliability.BestEffort,
        policy.Durability.TransientLocal if qos.latched else policy.Durability.Volatile,
        policy.DataRepresentation(use_cdrv0_representation=True),
        last,
    ]
    if qos.latched:
        # The depth for later readers, by default one.
        policies.append(policy.DurabilityService(0, last, -1, -1, -1))
    return library.Qos(*policies, *more)


def pairs_of(endpoint: Any) -> dict[str, str]:
    """The user data of an endpoint."""
    data = endpoint.qos[cyclone("qos").Policy.Userdata]
    return user_pairs(data.data) if data is not None else {}


RETRY = 5_000_000
"""Time between two attempts of a postponed action, in ns."""
_FOREVER = 2**63 - 1


class Waiting:
    """Calls the function of each reader that has samples, one at a time, in one thread."""

    def __init__(self, participant: Any, retry: Callable[[], bool]) -> None:
        core = cyclone("core")
        self._retry = retry
        """Called after each event; returns whether to call it again soon."""
        self._set = core.WaitSet(participant)
        self._wake = core.GuardCondition(participant)
        self._takers: dict[int, Callable[[], None]] = {}
        self._conditions: list[Any] = [self._wake]
        self._numbers = count(1)
        calls().attach(self._set._ref, self._wake._ref, 0)
        self._ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="skidpad-dds", daemon=True)
        self._thread.start()

    def add(self, reader: Any, take: Callable[[], None]) -> None:
        """Call a function whenever a reader has samples, some of which it takes."""
        core = cyclone("core")
        states = core.SampleState.NotRead | core.ViewState.Any | core.InstanceState.Any
        with self._lock:
            # A callback may have closed it meanwhile, and the reader with it.
            if self._ended:
                return
            condition = core.ReadCondition(reader, states)
            number = next(self._numbers)
            self._takers[number] = take
            self._conditions.append(condition)
            calls().attach(self._set._ref, condition._ref, number)
            self._wake.set(True)

    def wake(self) -> None:
        """Wake the thread."""
        with self._lock:
            if not self._ended:
                self._wake.set(True)

    def close(self) -> None:
        """End the thread and wait for it, unless it is the one that closes."""
        with self._lock:
            self._ended = True
            self._wake.set(True)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for entity in (self._set, *self._conditions):
            delete(entity)

    def _run(self) -> None:
        wait, wait_set, wake = calls().wait, self._set._ref, self._wake
        patience = _FOREVER
        while not self._ended:
            room = len(self._conditions)
            due = (ctypes.c_ssize_t * room)()
            many = wait(wait_set, due, room, patience)
            if many < 0:
                return
            # First, so that later requests wake the thread again.
            wake.set(False)
            for number in due[: min(many, room)]:
                taker = self._takers.get(number)
                if taker is not None and not self._ended:
                    taker()
            patience = RETRY if self._retry() else _FOREVER


OURS = "skidpad"
"""Marks skidpad's writers of the graph, which do not indicate the release of ROS 2 of others."""
_HEARD = Qos(latched=True, depth=1000)
_MOST_PARTICIPANTS = 1000
"""Largest number of participants whose nodes are stored."""


class Graph:
    """Writes and reads `ros_discovery_info`, the source of `ros2 node list`."""

    def __init__(
        self,
        participant: Participant,
        identity: Identity,
        distribution: str,
        notices: Notices,
    ) -> None:
        self._identity, self._distribution, self._notices = identity, distribution, notices
        self._guid = participant.guid
        kind = graph_sample_type()
        self._Sample = kind
        self._writer = participant.writer(TOPIC, kind, LATCHED, {OURS: "1"})
        self.reader = participant.reader(TOPIC, kind, _HEARD, {OURS: "1"})
        self._entities: NodeEntities | None = None
        self._gid_size = 0
        self._names: dict[bytes, str] = {}
        """Nodes by participant, the latest last."""
        self._lock = threading.Lock()

    def announce(self, readers: list[Any], writers: list[Any]) -> None:
        """Publish the endpoints of the node to present and later participants."""
        guids = (tuple(one.guid.bytes for one in ones) for ones in (readers, writers))
        with self._lock:
            self._entities = NodeEntities(self._identity, *guids)
            self._write(gid_size(self._distribution, self._others()))

    def take(self) -> None:
        """Read the nodes of other processes."""
        for sample in self.reader.take(100):
            if isinstance(sample, self._Sample):
                self._look_at(sample.data)
        # The sender may be the first, or the last, of another release of ROS 2.
        with self._lock:
            size = gid_size(self._distribution, self._others())
            if self._entities is not None and size != self._gid_size:
                self._write(size)

    def nodes_of(self, participant: bytes) -> str:
        """Full names of the known nodes of a participant."""
        return self._names.get(participant, "")

    def _write(self, size: int) -> None:
        assert self._entities is not None
        info = DiscoveryInfo(self._guid, (self._entities,))
        self._writer.write(self._Sample(encoded_info(info, size)))
        self._gid_size = size

    def _look_at(self, data: bytes) -> None:
        try:
            info = decoded_info(data)
        except InvalidValue:
            return
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
        endpoints = map(
            self.reader.get_matched_publication_data, self.reader.get_matched_publications()
        )
        pairs = [pairs_of(endpoint) for endpoint in endpoints if endpoint is not None]
        return [one for one in pairs if OURS not in one]


_POLICIES = {
    2: "the subscription asks for latched (transient local) and the publisher offers volatile",
    11: "the subscription asks for reliable and the publisher offers best effort",
}
"""Reasons by the number of the policy in the DDS standard."""
_TYPES = 24
"""Number of the policy that types must be the same. It applies to peers that announce only their
definitions: rmw_cyclonedds and, up to Jazzy, rmw_fastrtps announce the name of the type."""
_LOOKS = 3
"""Number of checks of an endpoint before a notice about it leaves out the name of its node."""


_PARTICIPANT = 12
"""Bytes of a GUID that its participant has in common."""


class Endpoint(NamedTuple):
    """A publisher or a subscription of a peer."""

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
        self._notices.add(
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
        self._notices.add_type(other.guid[:_PARTICIPANT], who, self._topic, other.node, types)
        return True

    def _check_type(self, endpoint: Any, who: str) -> None:
        """Compare definitions with a peer that announces its own, as ROS 2 does since Iron."""
        own = self._type.hash
        other = pairs_of(endpoint).get("typehash", own) if endpoint is not None else own
        if other != own:
            self._notices.add(
                ("type", who, self._topic),
                f"{who} {self._topic} has another definition of {self._type.name} ({other} there, "
                f"{own} here): messages are dropped or wrong",
            )


QOS = Qos(depth=1000)
"""Of requests and replies: rmw has 10, and 1000 for parameters; it is nothing that must agree."""
LONGEST_WAIT = 5.0
"""How long a reply waits for the reader of its client, in s."""
_BODY = 4 + SERVICE_HEADER


class _Pending(NamedTuple):
    client: str
    data: bytes
    until: float


class Service:
    """One service of a node."""

    def __init__(
        self,
        participant: Participant,
        number: int,
        name: str,
        type_: ServiceType,
        handler: Callable[[bytes, Reply], None],
        notices: Notices,
        wake: Callable[[], None],
    ) -> None:
        self.name, self._type, self._handler = name, type_, handler
        self._notices, self._wake = notices, wake
        self.closed = False
        self._Request = sample_type(type_.request, service=True)
        self._Response = sample_type(type_.response, service=True)
        pairs = {"serviceid": endpoint_id(participant.guid, number), "typehash": type_.hash}
        # The writer first: who sees the reader may ask at once.
        self.writer = participant.writer(reply_name(name), self._Response, QOS, pairs)
        self.reader = participant.reader(request_name(name), self._Request, QOS, pairs)
        self._pending: list[_Pending] = []
        self._seen: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Hand requests to the handler."""
        for sample in self.reader.take(100):
            if self.closed:
                return
            if isinstance(sample, self._Request) and self._understood(sample):
                data, writer = sample.data, sample.sample_info.publication_handle
                self._handler(data[:4] + data[_BODY:], self._reply(data[4:_BODY], writer))

    @property
    def waiting(self) -> bool:
        """Whether replies wait for their clients."""
        return bool(self._pending)

    def send_waiting(self) -> None:
        """Send the replies whose clients were found, and drop those that waited too long."""
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
        """Notice clients that cannot be answered."""
        handles = set(self.reader.get_matched_publications())
        for handle in handles - self._seen:
            endpoint = self.reader.get_matched_publication_data(handle)
            if endpoint is not None:
                self._notice(endpoint)
        self._seen = handles

    def _understood(self, sample: Any) -> bool:
        """Whether a request has the header; those of other implementations have none."""
        handle = sample.sample_info.publication_handle
        endpoint = self.reader.get_matched_publication_data(handle)
        return sample.data[:2] == LITTLE_ENDIAN and not (
            endpoint is not None and self._notice(endpoint)
        )

    def _notice(self, endpoint: Any) -> bool:
        """Whether an endpoint is one of Fast DDS; if so, the user is warned."""
        strange = endpoint.key.bytes[:2] == FAST_DDS
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
        """Send a reply if the reader of its client is there, and else keep it for a while."""
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
                f"service {self.name}: {len(data) - SERVICE_HEADER} bytes are no CDR of "
                f"{self._type.response.name}"
            ) from error

    def _clients(self) -> set[str]:
        """Clients whose readers of replies were found."""
        readers = map(self.writer.get_matched_subscription_data, self.writer.matched_sub)
        return {
            pairs_of(reader)["clientid"]
            for reader in readers
            if reader is not None and "clientid" in pairs_of(reader)
        }


_AT_ONCE = 100
"""Samples taken before others have their turn."""


class CyclonePublisher:
    """Writes messages of one type to one topic; see `Publisher`."""

    def __init__(
        self, transport: CycloneTransport, topic: str, type_: MessageType, writer: Any
    ) -> None:
        self._transport, self._topic, self._type, self._writer = transport, topic, type_, writer
        self._Sample, self._write = sample_type(type_), writer.write
        self._failure = cyclone("core").DDSException

    def write(self, cdr: Data) -> None:
        """Send a message. Never waits for a reader; after `close` it goes nowhere."""
        if self._transport.closed:
            return
        try:
            self._write(self._Sample(bytes(cdr) if isinstance(cdr, memoryview) else cdr))
        except self._failure as error:
            if not self._transport.closed:
                raise InvalidValue(
                    f"topic {self._topic}: {len(cdr)} bytes are no CDR of {self._type.name}"
                ) from error

    @property
    def readers(self) -> int:
        """How many subscriptions there are at the moment."""
        if self._transport.closed:
            return 0
        return int(self._writer.get_publication_matched_status().current_count)


class CycloneTransport:
    """A node's connection to DDS; see `Transport`.

    `environment` has the variables that ROS 2 users set: ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY,
    ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_DISTRO and CYCLONEDDS_URI; by default those of the process.
    """

    def __init__(self, identity: Identity, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self.identity, self.notices, self.closed = identity, Notices(), False
        self._participant = Participant(settings_of(environment))
        self.domain = self._participant.domain
        self._publishers: list[tuple[Any, Peers]] = []
        self._subscriptions: list[tuple[Any, Peers]] = []
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
        # Threads of the library that outlive the interpreter would call into it.
        atexit.register(self.close)

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> CyclonePublisher:
        """The publisher of a topic with the full name "/a/b"."""
        pairs = {"typehash": type_.hash}
        writer = self._participant.writer(topic_name(topic), sample_type(type_), qos, pairs)
        with self._lock:
            self._publishers.append((writer, Peers(topic, type_, self.notices, self._endpoints)))
        return CyclonePublisher(self, topic, type_, writer)

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Hand the bytes of every message of a topic to a function, in the thread that waits."""
        Sample, pairs = sample_type(type_), {"typehash": type_.hash}
        reader = self._participant.reader(topic_name(topic), Sample, qos, pairs)
        most = min(qos.depth, _AT_ONCE)

        def take() -> None:
            for sample in reader.take(most):
                # A sample without data says that a writer has left.
                if self.closed or not isinstance(sample, Sample):
                    continue
                if sample.data[:2] == LITTLE_ENDIAN:
                    callback(sample.data)
                else:
                    self.notices.add(
                        ("malformed", topic), f"messages on {topic} are not CDR, and are dropped"
                    )

        with self._lock:
            self._subscriptions.append((reader, Peers(topic, type_, self.notices, self._endpoints)))
        self._waiting.add(reader, self._guarded(topic, take))

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Call a function with each request of a service, and with the sender of its response."""
        number = next(self._numbers)
        service = Service(
            self._participant, number, name, type_, handler, self.notices, self._waiting.wake
        )
        with self._lock:
            self._services.append(service)
        self._waiting.add(service.reader, self._guarded(name, service.take))

    def announce(self) -> None:
        """Announce the node and its endpoints in the graph; again after endpoints were added."""
        with self._lock:
            if not self.closed:
                services = self._services
                readers = [reader for reader, _ in self._subscriptions]
                writers = [writer for writer, _ in self._publishers]
                self._graph.announce(
                    readers + [service.reader for service in services],
                    writers + [service.writer for service in services],
                )

    def warnings(self) -> list[str]:
        """New warnings, each once."""
        with self._lock:
            if not self.closed:
                for writer, peers in self._publishers:
                    peers.look_at_readers(writer)
                for reader, peers in self._subscriptions:
                    peers.look_at_writers(reader)
                for service in self._services:
                    service.look()
        return self.notices.take()

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

    def _endpoints(self, topic: str, writers: bool) -> list[Endpoint]:
        return [
            Endpoint(guid, ros_type_name(kind), self._graph.nodes_of(participant))
            for guid, participant, kind in self._participant.endpoints(topic_name(topic), writers)
        ]

    def _retry(self) -> bool:
        """Send replies that wait; true while there are some."""
        for service in tuple(self._services):
            self._guarded(service.name, service.send_waiting)()
        return not self.closed and any(service.waiting for service in tuple(self._services))

    def _guarded(self, name: str, take: Callable[[], None]) -> Callable[[], None]:
        """The callback, guarded so that an error of one topic does not end the common thread."""

        def guarded() -> None:
            try:
                take()
            except Exception as error:
                if not self.closed:
                    self.notices.add(("fault", name), f"{name}: {error!r}")

        return guarded
