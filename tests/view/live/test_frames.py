"""The bytes of a frame, read by hand."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.view.live.messages import DIVERGED, PAUSED, Frame, Moment, decode, encode
from skidpad.view.stage import Ranges

ROW = np.array([1.5, -2.25, 1e9])
MOMENT = Moment(
    sequence=65536 + 7,
    flags=PAUSED | DIVERGED,
    time=12.125,
    row=ROW,
    scans=(Ranges(4, np.array([0.5, np.inf])), Ranges(9, np.array([3.0]))),
)


def test_every_number_lies_where_the_protocol_says() -> None:
    data = encode(MOMENT)
    assert struct.unpack_from("<BBH", data, 0) == (1, 1 | 4, 7)
    assert data[4:8] == bytes(4)
    assert struct.unpack_from("<d", data, 8) == (12.125,)
    assert struct.unpack_from("<3f", data, 16) == (1.5, -2.25, 1e9)
    assert struct.unpack_from("<H", data, 28) == (2,)
    assert struct.unpack_from("<HH2f", data, 30) == (4, 2, 0.5, float("inf"))
    assert struct.unpack_from("<HHf", data, 42) == (9, 1, 3.0)
    assert len(data) == 50


def test_a_frame_reads_back() -> None:
    read = decode(encode(MOMENT), 3)
    assert (read.sequence, read.flags, read.time) == (7, PAUSED | DIVERGED, 12.125)
    np.testing.assert_array_equal(read.row, ROW.astype(np.float32))
    assert [one.scan for one in read.scans] == [4, 9]
    np.testing.assert_array_equal(read.scans[0].ranges, [0.5, np.inf])


def test_those_who_saw_the_frame_before_get_new_scans_only() -> None:
    frame = Frame(MOMENT, frozenset({9}))
    assert [one.scan for one in decode(frame.whole, 3).scans] == [4, 9]
    assert [one.scan for one in decode(frame.changed, 3).scans] == [9]
    assert frame.whole is frame.whole, "it is encoded once for all viewers"


@pytest.mark.parametrize("channels", [2, 4])
def test_a_frame_of_another_stage_is_refused(channels: int) -> None:
    with pytest.raises(InvalidValue, match=r"not a frame of|cut short"):
        decode(encode(MOMENT._replace(scans=())), channels)


@pytest.mark.parametrize("size", [0, 5, 20, 31, 49])
def test_a_frame_that_is_cut_is_refused(size: int) -> None:
    with pytest.raises(InvalidValue):
        decode(encode(MOMENT)[:size], 3)
