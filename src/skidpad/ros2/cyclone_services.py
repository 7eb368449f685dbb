"""Services over DDS, as rmw_cyclonedds has them: a request topic, a reply topic, a header in both.

The header of 16 bytes names the client and its request, and is copied from one into the other.
Replies are volatile: one is sent when the reader of the client has been found, and until then, or
until it is too late, it waits beside the thread that waits for everything else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import InvalidValue
from ..ros_messages import ServiceType
from .cyclone_library import cyclone
from .cyclone_participant import Participant, pairs_of
from .dds_names import FAST_DDS, endpoint_id, reply_name, request_name
from .dds_types import LITTLE_ENDIAN, SERVICE_HEADER, sample_type
from .notices import Notices
from .transport import Data, Qos, Reply

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
        """Whether there are replies whose clients have not been found."""
        return bool(self._pending)

    def send_waiting(self) -> None:
        """Send the replies whose clients are there now, and forget those that waited too long."""
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
        """Whether a request has the header; where it came from a stranger, it has none."""
        handle = sample.sample_info.publication_handle
        endpoint = self.reader.get_matched_publication_data(handle)
        return sample.data[:2] == LITTLE_ENDIAN and not (
            endpoint is not None and self._notice(endpoint)
        )

    def _notice(self, endpoint: Any) -> bool:
        """Whether an endpoint is one of Fast DDS, of which the user is then told."""
        strange = endpoint.key.bytes[:2] == FAST_DDS
        if strange:
            self._notices.tell(
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
        """Clients whose readers of replies have been found."""
        readers = map(self.writer.get_matched_subscription_data, self.writer.matched_sub)
        return {
            pairs_of(reader)["clientid"]
            for reader in readers
            if reader is not None and "clientid" in pairs_of(reader)
        }
