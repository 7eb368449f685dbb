"""Message types against those that Foxglove and protobuf publish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import duration_pb2, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from skidpad.view.recording import messages
from view.recording.decoding import described, official

STANDARD = {
    "google.protobuf.Timestamp": timestamp_pb2.Timestamp,
    "google.protobuf.Duration": duration_pb2.Duration,
}


def fields(descriptor: Any) -> list[tuple[Any, ...]]:
    return [
        (
            field.number,
            field.name,
            field.type,
            field.label,
            field.message_type.full_name if field.message_type else "",
            [(v.name, v.number) for v in field.enum_type.values] if field.enum_type else [],
        )
        for field in sorted(descriptor.fields, key=lambda field: field.number)
    ]


@pytest.mark.parametrize(
    "name", [name for name in messages.MESSAGES if not name.startswith("skidpad.")]
)
def test_a_message_type_is_the_published_one(name: str) -> None:
    own = described(name, messages.descriptor_set(name)).DESCRIPTOR
    published = (STANDARD.get(name) or official(name)).DESCRIPTOR
    assert fields(own) == fields(published)
    assert own.file.name == published.file.name
    assert own.file.package == published.file.package


def test_a_state_has_a_double_for_each_name() -> None:
    state = described("skidpad.car", messages.state_descriptor("skidpad.car", ["v_x", "F_x_fl"]))
    assert [(f.number, f.name, f.type) for f in state.DESCRIPTOR.fields] == [
        (1, "t", 1),
        (16, "v_x", 1),
        (17, "F_x_fl", 1),
    ]


@given(st.integers(0, 2**34 * 10**9 - 1))
def test_a_time_of_fixed_length_is_read_as_it_was(ns: int) -> None:
    (data,) = messages.timestamps(np.array([ns], np.uint64))
    read = timestamp_pb2.Timestamp.FromString(data.tobytes())
    assert (read.seconds, read.nanos) == divmod(ns, 10**9)


@given(st.integers(0, 2**63))
def test_varints_are_protobufs(value: int) -> None:
    if value < 2**63:
        timestamp = timestamp_pb2.Timestamp.FromString(messages.integer(1, value).data)
        assert timestamp.seconds == value
    assert len(messages.varint(value)) == max(-(-value.bit_length() // 7), 1)
