"""A client of services over DDS as rmw_cyclonedds has them, written from the layout alone."""

from __future__ import annotations

import itertools
import struct
from typing import Any

from ros2.dds import ENVIRONMENT, wait_for
from skidpad.ros2.cyclone import Participant, pairs_of
from skidpad.ros2.dds import Qos, sample_type, settings_of
from skidpad.ros2.messages.types import ServiceType

HEADER = struct.Struct("<Qq")
"""Client and sequence number."""
_numbers = itertools.count(1)


class Client:
    """Asks one service; `call` waits for the answer."""

    def __init__(self, service: str, type_: ServiceType, *, hears: bool = True) -> None:
        self.participant = Participant(settings_of(ENVIRONMENT))
        self.number = next(_numbers)
        name = ".".join(f"{byte:x}" for byte in self.participant.guid[:12])
        self.pairs = {"clientid": f"{name}.0.0.0.{self.number:x}"}
        self._service, self._type = service, type_
        self._Request = sample_type(type_.request, service=True)
        self._Response = sample_type(type_.response, service=True)
        self._reader: Any = None
        if hears:
            self.hear()
        self._writer = self.participant.writer(
            f"rq{service}Request", self._Request, Qos(), self.pairs
        )
        self._sequence = itertools.count(1)
        self.answers: dict[int, bytes] = {}

    def hear(self) -> None:
        """Have a reader of replies."""
        self._reader = self.participant.reader(
            f"rr{self._service}Reply", self._Response, Qos(), self.pairs
        )

    def found(self) -> bool:
        """Whether there is a service that hears and answers, as `wait_for_service` asks."""
        return bool(
            self._writer.get_matched_subscriptions()
            and (self._reader is None or self._reader.get_matched_publications())
        )

    def service_ids(self) -> list[str]:
        """What the endpoints of the service have as `serviceid`."""
        (reader,) = self._writer.get_matched_subscriptions()
        (writer,) = self._reader.get_matched_publications()
        return [
            pairs_of(self._writer.get_matched_subscription_data(reader))["serviceid"],
            pairs_of(self._reader.get_matched_publication_data(writer))["serviceid"],
        ]

    def ask(self, cdr: bytes) -> int:
        """Send a request; returns its number."""
        wait_for(self.found, "the service")
        sequence = next(self._sequence)
        self._writer.write(self._Request(cdr[:4] + HEADER.pack(self.number, sequence) + cdr[4:]))
        return sequence

    def heard(self, sequence: int) -> bool:
        """Whether the answer to a request has come."""
        for sample in self._reader.take(100):
            if isinstance(sample, self._Response):
                client, number = HEADER.unpack_from(sample.data, 4)
                if client == self.number:
                    self.answers[number] = sample.data[:4] + sample.data[4 + HEADER.size :]
        return sequence in self.answers

    def call(self, cdr: bytes) -> bytes:
        """The answer to a request."""
        sequence = self.ask(cdr)
        wait_for(lambda: self.heard(sequence), "the answer")
        return self.answers[sequence]

    def close(self) -> None:
        """Leave."""
        self.participant.close()
