"""The graph of ROS 2 on DDS: what `ros2 node list` reads, and who has the same name."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ros2.dds import ENVIRONMENT, STRING, transport, wait_for
from skidpad.errors import InvalidValue
from skidpad.ros2.cyclone import CycloneTransport, Participant
from skidpad.ros2.dds import (
    DEFAULT,
    LATCHED,
    DiscoveryInfo,
    Identity,
    NodeEntities,
    decoded_info,
    encoded_info,
    endpoint_id,
    gid_size,
    graph_sample_type,
    settings_of,
    user_data,
    user_pairs,
)
from skidpad.ros2.messages.types import service_type
from texts import texts

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")
rosbags = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")

INFO = "rmw_dds_common/msg/ParticipantEntitiesInfo"
STORES = {24: rosbags.Stores.ROS2_HUMBLE, 16: rosbags.Stores.ROS2_JAZZY}
"""Where rosbags has the form with Gids of so many bytes."""
GUIDS = st.binary(min_size=16, max_size=16)
NAMES = texts(12, "abc_ä", min_size=1)


@st.composite
def infos(draw: st.DrawFn) -> DiscoveryInfo:
    some = st.lists(GUIDS, max_size=4).map(tuple)
    nodes = st.builds(NodeEntities, st.builds(Identity, NAMES, NAMES.map("/{}".format)), some, some)
    # A GUID of DDS begins with the vendor and is never all zeros.
    return DiscoveryInfo(b"\x01" + draw(GUIDS)[1:], tuple(draw(st.lists(nodes, max_size=3))))


def as_rosbags(store: Any, info: DiscoveryInfo, size: int) -> Any:
    """The same as objects of rosbags."""
    types = store.types

    def gid(guid: bytes) -> Any:
        kind = types["rmw_dds_common/msg/Gid"]
        return kind(data=np.frombuffer(guid.ljust(size, b"\x00"), "u1"))

    nodes = [
        types["rmw_dds_common/msg/NodeEntitiesInfo"](
            node_namespace=node.identity.namespace,
            node_name=node.identity.name,
            reader_gid_seq=[*map(gid, node.readers)],
            writer_gid_seq=[*map(gid, node.writers)],
        )
        for node in info.nodes
    ]
    return types[INFO](gid=gid(info.participant), node_entities_info_seq=nodes)


@pytest.mark.parametrize("size", [24, 16])
def test_both_forms_are_as_rosbags_has_them(size: int) -> None:
    store = rosbags.get_typestore(STORES[size])

    @given(infos())
    def check(info: DiscoveryInfo) -> None:
        theirs = bytes(store.serialize_cdr(as_rosbags(store, info, size), INFO))
        assert encoded_info(info, size) == theirs
        assert decoded_info(theirs) == info
        assert decoded_info(theirs + bytes(-len(theirs) % 4)) == info

    check()


@given(st.binary(max_size=200))
@example(b"")
@example(b"\x00\x01\x00\x00" + bytes(24) + b"\xff\xff\xff\xff")
def test_what_is_no_list_of_nodes_is_refused(data: bytes) -> None:
    try:
        info = decoded_info(data)
    except InvalidValue:
        return
    assert len(info.participant) == 16


@pytest.mark.parametrize(
    ("distribution", "others", "size"),
    [
        ("", [], 24),
        ("humble", [{"typehash": "RIHS01_"}], 24),
        ("jazzy", [{}], 16),
        ("rolling", [], 16),
        ("noetic", [], 24),  # ROS 1: says nothing about the ROS 2 beside it.
        ("", [{"typehash": "RIHS01_"}, {"typehash": "RIHS01_"}], 16),
        ("", [{"typehash": "RIHS01_"}, {}], 24),
    ],
)
def test_the_short_form_is_sent_where_nobody_ends_by_it(
    distribution: str, others: list[dict[str, str]], size: int
) -> None:
    assert gid_size(distribution, others) == size


def test_user_data_are_pairs() -> None:
    pairs = {"enclave": "/", "typehash": "RIHS01_ab"}
    assert user_data(pairs) == b"enclave=/;typehash=RIHS01_ab;"
    assert user_pairs(user_data(pairs)) == pairs
    assert user_pairs(b"\xff;a=b=c;;nothing") == {"a": "b=c"}
    assert endpoint_id(bytes(range(16)), 258) == "0.1.2.3.4.5.6.7.8.9.a.b.0.0.1.2"


class Observer:
    """Another process's view, with user data as an rmw of that release has them."""

    def __init__(self, **pairs: str) -> None:
        self.participant = Participant(settings_of(ENVIRONMENT))
        self._Sample = graph_sample_type()
        self.writer = self.participant.writer("ros_discovery_info", self._Sample, LATCHED, pairs)
        self.reader = self.participant.reader("ros_discovery_info", self._Sample, LATCHED, pairs)
        self.heard: list[bytes] = []
        self.tell()

    def tell(self, *nodes: NodeEntities) -> None:
        info = DiscoveryInfo(self.participant.guid, nodes)
        self.writer.write(self._Sample(encoded_info(info, 24)))

    def sizes(self) -> list[int]:
        """Bytes of the Gids of what was heard of others, the newest last."""
        samples = [one for one in self.reader.take(10) if isinstance(one, self._Sample)]
        self.heard += [one.data for one in samples if one.data[4:20] != self.participant.guid]
        return [
            24 if one.startswith(encoded_info(decoded_info(one), 24)) else 16 for one in self.heard
        ]


@contextmanager
def observer(**pairs: str) -> Generator[Observer]:
    opened = Observer(**pairs)
    try:
        yield opened
    finally:
        opened.participant.close()


def test_the_node_tells_its_endpoints() -> None:
    with transport("car") as here, observer() as other:
        here.publisher("/a", STRING, DEFAULT)
        here.announce()
        here.subscribe("/b", STRING, DEFAULT, lambda data: None)
        here.serve("/c", service_type("std_srvs/Empty"), lambda data, reply: None)
        here.announce()
        wait_for(lambda: other.sizes() and len(_nodes(other)[0].readers) == 2, "the node")
        (node,) = _nodes(other)
        assert node.identity == Identity("car")
        assert [len(node.readers), len(node.writers)] == [2, 2]
        own = decoded_info(other.heard[-1]).participant
        assert {guid[:12] for guid in node.readers + node.writers} == {own[:12]}


def _nodes(other: Observer) -> tuple[NodeEntities, ...]:
    return decoded_info(other.heard[-1]).nodes


def test_the_form_follows_those_who_are_there() -> None:
    with transport() as here, observer(typehash="RIHS01_ab") as modern:
        here.announce()
        wait_for(lambda: modern.sizes()[-1:] == [16], "the short form")
        with observer():
            wait_for(lambda: modern.sizes()[-1:] == [24], "the long form")


def test_one_of_ours_says_nothing_about_the_release() -> None:
    with transport("a"), transport("b") as here, observer(typehash="RIHS01_ab") as modern:
        here.announce()
        wait_for(lambda: modern.sizes()[-1:] == [16], "the short form")


def test_ros_distro_decides() -> None:
    with transport(ROS_DISTRO="jazzy") as here, observer() as humble:
        here.announce()
        wait_for(humble.sizes, "the node")
        assert set(humble.sizes()) == {16}


def test_another_node_of_the_same_name_is_told_of_once() -> None:
    with transport("car") as here, transport("car") as there:
        for one in (here, there):
            one.announce()
        for one in (here, there):
            told: list[str] = []
            wait_for(lambda one=one, told=told: told.extend(one.warnings()) or told, "word of it")
            one.announce()
            assert ["another node /car" in text for text in told] == [True]
        there.announce()
        assert here.warnings() == []


def test_namespaces_tell_nodes_apart() -> None:
    near = CycloneTransport(Identity("car", "/a"), ENVIRONMENT)
    try:
        with transport("car") as here, observer() as other:
            near.announce()
            here.announce()
            other.tell(NodeEntities(Identity("car", "/a")))
            told: list[str] = []
            wait_for(lambda: told.extend(near.warnings()) or told, "word of the observer")
            assert "/a/car" in told[0]
            assert here.warnings() == []
    finally:
        near.close()
