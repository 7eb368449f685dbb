"""ROS 2 over DDS by Eclipse Cyclone DDS: topics and services as rmw_cyclonedds has them."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from ..errors import InvalidValue
from ..ros_messages import MessageType, ServiceType
from .cyclone_graph import Graph
from .cyclone_library import cyclone
from .cyclone_participant import Participant
from .cyclone_peers import Endpoint, Peers
from .cyclone_services import Service
from .cyclone_waiting import Waiting
from .dds_names import ros_type_name, topic_name
from .dds_settings import settings_of
from .dds_types import LITTLE_ENDIAN, sample_type
from .notices import Notices
from .transport import Data, Identity, Qos, Reply

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
        """What writes to a topic: a full name, "/a/b"."""
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
                    self.notices.tell(
                        ("malformed", topic), f"messages on {topic} are not CDR, and are dropped"
                    )

        with self._lock:
            self._subscriptions.append((reader, Peers(topic, type_, self.notices, self._endpoints)))
        self._waiting.add(reader, self._guarded(topic, take))

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Hand every request of a service to a function, with what sends its response."""
        number = next(self._numbers)
        service = Service(
            self._participant, number, name, type_, handler, self.notices, self._waiting.wake
        )
        with self._lock:
            self._services.append(service)
        self._waiting.add(service.reader, self._guarded(name, service.take))

    def announce(self) -> None:
        """Tell the graph of the node and its endpoints; again after any were added."""
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
        """What a user should know and has not been told."""
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
        """Leave; tells the others. A second time does nothing."""
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
        """What takes, so that no fault of one topic ends the thread for all of them."""

        def guarded() -> None:
            try:
                take()
            except Exception as error:
                if not self.closed:
                    self.notices.tell(("fault", name), f"{name}: {error!r}")

        return guarded
