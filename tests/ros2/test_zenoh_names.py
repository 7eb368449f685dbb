"""Keys, tokens and attachments are those of rmw_zenoh, and nothing else is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR, Identity, Qos
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.zenoh import (
    PUBLISHER,
    SERVICE,
    SUBSCRIPTION,
    Endpoint,
    Graph,
    Tokens,
    attachment,
    endpoint,
    gid,
    qos_text,
    read_attachment,
    read_token,
)
from texts import texts

STRING_HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
ADD_HASH = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"
CHATTER = Endpoint("/chatter", "std_msgs::msg::dds_::String_", STRING_HASH)
ADD = Endpoint("/add_two_ints", "example_interfaces::srv::dds_::AddTwoInts_", ADD_HASH)

# The examples of docs/design.md of rmw_zenoh, whose endpoints are the tenth of their nodes.
LISTENER = "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener"
LISTENERS = (
    "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MS/%/%/listener/%chatter/"
    f"std_msgs::msg::dds_::String_/{STRING_HASH}/::,10:,:,:,,"
)
TALKERS = (
    "@ros2_lv/2/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/"
    f"std_msgs::msg::dds_::String_/{STRING_HASH}/::,7:,:,:,,"
)
SERVERS = (
    "@ros2_lv/2/f9980ee0495eaafb3e38f0d19e2eae12/0/10/SS/%/%/add_two_ints_server/%add_two_ints/"
    f"example_interfaces::srv::dds_::AddTwoInts_/{ADD_HASH}/::,10:,:,:,,"
)


def test_tokens_are_those_of_the_design_document() -> None:
    listener = Tokens(2, "aac3178e146ba6f1fc6e6a4085e77f21", Identity("listener"))
    talker = Tokens(2, "8b20917502ee955ac4476e0266340d5c", Identity("talker"))
    server = Tokens(2, "f9980ee0495eaafb3e38f0d19e2eae12", Identity("add_two_ints_server"))
    assert listener.node == LISTENER
    assert listener.endpoint(10, SUBSCRIPTION, CHATTER) == LISTENERS
    assert talker.endpoint(10, PUBLISHER, CHATTER, Qos(depth=7)) == TALKERS
    assert server.endpoint(10, SERVICE, ADD) == SERVERS


def test_slashes_of_names_are_percent_signs() -> None:
    tokens = Tokens(0, "ab", Identity("sim", "/robots/one"))
    assert tokens.node == "@ros2_lv/0/ab/0/0/NN/%/%robots%one/sim"
    odometry = Endpoint("/robots/one/odom", "nav_msgs::msg::dds_::Odometry_", "RIHS01_00")
    token = tokens.endpoint(3, PUBLISHER, odometry)
    assert token.split("/")[9] == "%robots%one%odom"
    assert odometry.key(0) == "0/robots/one/odom/nav_msgs::msg::dds_::Odometry_/RIHS01_00"


def test_qualities_of_service_leave_out_what_is_usual() -> None:
    assert qos_text(DEFAULT) == "::,10:,:,:,,"
    assert qos_text(SENSOR) == "2::,5:,:,:,,"
    assert qos_text(LATCHED) == ":1:,1:,:,:,,"
    assert qos_text(Qos(reliable=False, latched=True, depth=3)) == "2:1:,3:,:,:,,"


def test_keys_have_the_hash_of_the_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    assert endpoint("/chatter", message_type("std_msgs/msg/String")) == CHATTER
    assert CHATTER.key(5) == f"5/chatter/std_msgs::msg::dds_::String_/{STRING_HASH}"


def test_keys_of_humble_have_a_word_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "humble")
    end = endpoint("/reset", service_type("std_srvs/srv/Trigger"))
    assert end.key(0) == "0/reset/std_srvs::srv::dds_::Trigger_/TypeHashNotSupported"


def test_what_a_token_says_is_what_was_put_into_it() -> None:
    for text, kind, end in [
        (LISTENERS, "MS", CHATTER),
        (TALKERS, "MP", CHATTER),
        (SERVERS, "SS", ADD),
    ]:
        token = read_token(text)
        assert token is not None
        assert (token.kind, token.end, token.identity.namespace) == (kind, end, "/")
    node = read_token(LISTENER)
    assert node is not None
    assert (node.identity.full, node.end) == ("/listener", None)
    below = read_token(Tokens(0, "ab", Identity("sim", "/robots/one")).node)
    assert below is not None
    assert below.identity.full == "/robots/one/sim"


@given(texts(80, "@ros2_lv/%NMP0:"))
def test_other_tokens_are_none(text: str) -> None:
    token = read_token(text)
    assert token is None or len(text.split("/")) in (9, 13)
    graph = Graph()
    graph.change(text, alive=True)
    graph.change(text, alive=False)
    assert graph.nodes() == []


def test_the_graph_counts_each_token_once() -> None:
    graph = Graph()
    for _ in range(2):
        graph.change(LISTENER, alive=True)
        graph.change(LISTENERS, alive=True)
        graph.change(TALKERS, alive=True)
    assert graph.nodes() == [Identity("listener")]
    assert graph.subscriptions(CHATTER) == 1
    assert graph.subscriptions(CHATTER._replace(type_hash="RIHS01_00")) == 0
    for _ in range(2):
        graph.change(LISTENERS, alive=False)
    assert graph.subscriptions(CHATTER) == 0


def test_attachments_are_laid_out_as_documented() -> None:
    data = attachment(258, 1_700_000_000_123_456_789, bytes(range(16)))
    assert len(data) == 33
    assert data[:8] == b"\x02\x01" + bytes(6)
    assert int.from_bytes(data[8:16], "little") == 1_700_000_000_123_456_789
    assert data[16:] == b"\x10" + bytes(range(16))
    assert read_attachment(data) == (258, bytes(range(16)))


@given(st.none() | st.binary(max_size=64))
def test_other_attachments_are_refused_with_what_they_are(data: bytes | None) -> None:
    if data is not None and len(data) == 33 and data[16] == 16:
        return
    with pytest.raises(InvalidValue, match="attachment"):
        read_attachment(data)


def test_an_endpoint_is_named_by_its_token() -> None:
    names = {gid(LISTENERS), gid(TALKERS), gid(SERVERS)}
    assert len(names) == 3
    assert {len(name) for name in names} == {16}
    assert gid(LISTENERS) == gid(LISTENERS)
