"""A node in the graph of ROS 2: announced to others, and others of the same name noticed."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import InvalidValue
from .cyclone_participant import Participant, pairs_of
from .dds_names import gid_size
from .dds_types import graph_sample_type
from .discovery_info import TOPIC, DiscoveryInfo, NodeEntities, decoded_info, encoded_info
from .notices import Notices
from .transport import LATCHED, Identity, Qos

OURS = "skidpad"
"""Marks our writers of the graph, which say nothing about the release of ROS 2 around them."""
_HEARD = Qos(latched=True, depth=1000)
_MOST_PARTICIPANTS = 1000
"""Whose nodes are remembered by name."""


class Graph:
    """Writes and reads `ros_discovery_info`, by which `ros2 node list` knows nodes."""

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
        """Of the nodes of participants, those told last behind the others."""
        self._lock = threading.Lock()

    def announce(self, readers: list[Any], writers: list[Any]) -> None:
        """Tell everybody, now and later, which endpoints the node has."""
        guids = (tuple(one.guid.bytes for one in ones) for ones in (readers, writers))
        with self._lock:
            self._entities = NodeEntities(self._identity, *guids)
            self._write(gid_size(self._distribution, self._others()))

    def take(self) -> None:
        """Look at what other processes tell of their nodes."""
        for sample in self.reader.take(100):
            if isinstance(sample, self._Sample):
                self._look_at(sample.data)
        # Who tells something may be the first, or the last, of another release of ROS 2.
        with self._lock:
            size = gid_size(self._distribution, self._others())
            if self._entities is not None and size != self._gid_size:
                self._write(size)

    def nodes_of(self, participant: bytes) -> str:
        """Full names of the nodes of a participant; empty if it has told none."""
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
            self._notices.tell(
                ("name", info.participant),
                f"there is another node {self._identity.full}: tools show one of the two, and "
                "parameters and services of that name may be answered by either",
            )

    def _others(self) -> list[dict[str, str]]:
        """User data of the writers of the graph that are not ours."""
        endpoints = map(
            self.reader.get_matched_publication_data, self.reader.get_matched_publications()
        )
        pairs = [pairs_of(endpoint) for endpoint in endpoints if endpoint is not None]
        return [one for one in pairs if OURS not in one]
