"""One driver at a time, not too many messages, and frames at the pace of each viewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.view.live.app import SLOWEST, Bucket, Verdict, Viewer, Wheel
from skidpad.view.live.messages import Frame, Moment, Outbox, decode
from skidpad.view.stage import Ranges


def frame(sequence: int, *, new: bool = False, last: bool = False) -> Frame:
    scans = (Ranges(0, np.array([float(sequence)])),)
    moment = Moment(sequence, 0, 0.0, np.zeros(1), scans)
    return Frame(moment, frozenset({0} if new else ()), last=last)


def test_the_wheel_belongs_to_one() -> None:
    wheel = Wheel()
    with pytest.raises(InvalidValue, match="the wheel is free"):
        wheel.check(1)
    wheel.take(1, now=0.0)
    wheel.take(1, now=1.0)
    wheel.check(1)
    with pytest.raises(InvalidValue, match="viewer 1 has the wheel"):
        wheel.take(2, now=1.0)
    with pytest.raises(InvalidValue, match="viewer 1 has the wheel"):
        wheel.check(2)
    assert not wheel.release(2)
    assert wheel.release(1)
    wheel.take(2, now=2.0)
    assert wheel.driver == 2


def test_who_is_silent_loses_the_wheel() -> None:
    wheel = Wheel(silence=60.0)
    wheel.take(1, now=0.0)
    wheel.hear(2, now=59.0)
    wheel.hear(1, now=30.0)
    assert not wheel.expired(now=89.0)
    assert wheel.expired(now=91.0)
    assert wheel.driver is None
    assert not wheel.expired(now=200.0)


def test_a_steady_client_is_always_heard() -> None:
    bucket = Bucket(0.0, rate=100.0, burst=10.0)
    assert {bucket.take(0.0101 * k) for k in range(1000)} == {Verdict.HEAR}


def test_a_flood_is_warned_once_then_dropped_then_closed() -> None:
    bucket = Bucket(0.0, rate=100.0, burst=10.0)
    verdicts = [bucket.take(0.0) for _ in range(22)]
    assert verdicts == [
        *[Verdict.HEAR] * 10,
        Verdict.WARN,
        *[Verdict.DROP] * 9,
        *[Verdict.CLOSE] * 2,
    ]


def test_who_calms_down_is_heard_again() -> None:
    bucket = Bucket(0.0, rate=100.0, burst=10.0)
    for _ in range(15):
        bucket.take(0.0)
    assert bucket.take(1.0) is Verdict.HEAR
    assert [bucket.take(1.0) for _ in range(10)][-1] is Verdict.WARN


def test_of_frames_that_wait_only_the_last_is_kept() -> None:
    outbox, woken = Outbox(), []
    outbox.on_arrival(lambda: woken.append(1))
    first, second, third, fourth = (frame(k) for k in range(4))
    outbox.frame(first)
    outbox.frame(second)
    outbox.say("stage", stage="{}")
    outbox.frame(third)
    outbox.frame(fourth)
    items = outbox.take()
    assert items[0] is second
    assert items[2] is fourth
    assert len(items) == 3, "a stage stands between the frames before and after it"
    assert woken == [1], "one call for all that waits"
    outbox.frame(first)
    assert woken == [1, 1]


def test_what_is_said_before_anyone_listens_is_kept() -> None:
    outbox, woken = Outbox(), []
    outbox.say("status")
    outbox.on_arrival(lambda: woken.append(1))
    assert woken == [1]


def take_all(viewer: Viewer) -> list[Any]:
    """Everything that a viewer would be sent now."""
    return list(iter(viewer.poll, None))


def sequences(items: list[Any]) -> list[int]:
    return [decode(item, 1).sequence for item in items if isinstance(item, bytes)]


def test_a_viewer_who_does_not_read_misses_frames_and_gets_the_scans_later() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    viewer.offer(frame(1), 0.0)
    assert sequences(take_all(viewer)) == [1]
    viewer.offer(frame(2), 2.0 / 60.0)
    viewer.offer(frame(3, new=True), 3.0 / 60.0)
    viewer.offer(frame(4), 4.0 / 60.0)
    (last,) = take_all(viewer)
    assert decode(last, 1).sequence == 4
    assert [one.scan for one in decode(last, 1).scans] == [0], "though frame 3 was missed"
    viewer.offer(frame(5), 5.0 / 60.0)
    (following,) = take_all(viewer)
    assert decode(following, 1).scans == []


def test_a_viewer_who_reads_at_last_gets_the_newest_frame() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    for k in range(50):
        viewer.offer(frame(k), k / 60.0)
    assert sequences(take_all(viewer)) == [49]


def test_frames_come_at_the_rate_asked_for() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    viewer.ask(15.0)
    got = 0
    for k in range(240):
        viewer.offer(frame(k), k / 60.0)
        got += len(take_all(viewer))
    assert got == pytest.approx(60, abs=1)


def test_the_frame_of_a_pause_is_not_missed_whatever_the_rate() -> None:
    viewer = Viewer(1, 1.0, now=0.0)
    viewer.offer(frame(1), 0.0)
    assert sequences(take_all(viewer)) == [1]
    viewer.offer(frame(2), 0.1)
    assert sequences(take_all(viewer)) == []
    viewer.offer(frame(3, last=True), 0.2)
    assert sequences(take_all(viewer)) == [3]


def test_a_slow_viewer_gets_fewer_frames_until_it_keeps_up() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    for k in range(600):
        viewer.offer(frame(k), k / 60.0)
    assert viewer.rate == SLOWEST, "it has read nothing for 10 s"
    got: list[int] = []
    for k in range(600, 1800):
        viewer.offer(frame(k), k / 60.0)
        got += sequences(take_all(viewer))
    assert viewer.rate == 60.0
    assert got[-60:] == list(range(1740, 1800))


def test_a_frame_missed_now_and_then_is_no_reason_to_slow_down() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    for k in range(600):
        viewer.offer(frame(k), k / 60.0)
        if k % 3:
            take_all(viewer)
    assert viewer.rate == 60.0


def test_texts_come_before_frames_and_a_new_stage_drops_the_old_frame() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    viewer.offer(frame(1), 0.0)
    viewer.forget_frame()
    viewer.tell("stage")
    viewer.offer(frame(2), 0.1)
    first, second = take_all(viewer)
    assert first == "stage"
    assert decode(second, 1).sequence == 2


def test_a_viewer_with_too_many_texts_is_closed() -> None:
    viewer = Viewer(1, 60.0, now=0.0)
    for _ in range(1000):
        viewer.tell("again")
    assert len(take_all(viewer)) < 1000
    assert viewer.closing == 1008
