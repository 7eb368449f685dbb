"""Nodes go on, whatever arrives: random bytes, mutated messages, floods of names."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from ros2.rig import Rig, transform
from ros2.samples import random_record
from skidpad.ros2.messages import message_type
from skidpad.ros2.nodes import brains2, truck

COUNT = 10_000
"""Payloads for each topic, where a test is slow."""
FEW = 2000
"""Payloads for each topic, and for each service of a few."""
EVERY = 100
"""Payloads between two ticks."""


class Case(NamedTuple):
    """A node, and how it shows that it is well."""

    make: Callable[[], Rig]
    command: str
    good: Any
    speed: Callable[[Rig], float]
    """After good commands: above 0.4 m/s."""
    told: tuple[str, ...]
    """Topics all of whose numbers must be finite."""


CASES = {
    "truck": Case(
        lambda: Rig(truck.Truck, truck.NAME),
        "/control/command",
        message_type("truck_msgs/msg/Control").Record(velocity=0.5, curvature=0.5),
        lambda rig: rig.last("/simulator/state").speed,
        ("/simulator/localization", "/simulator/state", "/camera/imu", "/hardware/telemetry"),
    ),
    "brains2": Case(
        lambda: Rig(brains2.Brains2, brains2.NAME),
        "/brains2/target_controls",
        message_type("brains2/msg/Controls").Record(
            tau_fl=60.0, tau_fr=60.0, tau_rl=60.0, tau_rr=60.0
        ),
        lambda rig: rig.last("/brains2/velocity").v_x,
        ("/brains2/pose", "/brains2/velocity", "/brains2/acceleration", "/tf"),
    ),
}


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, (tuple, list, np.ndarray)):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, (int, float)):
        yield value


def payloads(type_: Any, good: bytes, rng: np.random.Generator, count: int) -> Iterator[bytes]:
    """Random bytes, with a header or without; messages of random content; and these, with some
    bytes changed, cut off, put in or added."""
    for k in range(count):
        kind = k % 5
        if kind == 0:
            header = b"\x00\x01\x00\x00" if k % 2 else b""
            yield header + rng.bytes(int(rng.integers(0, 400)))
            continue
        data = bytearray(type_.encode(random_record(type_, rng)) if kind == 1 else good)
        if kind == 2:
            for place in rng.integers(0, len(data), 1 + int(rng.integers(0, 8))):
                data[place] = rng.integers(0, 256)
        elif kind == 3:
            del data[int(rng.integers(0, len(data))) :]
        elif kind == 4:
            place = int(rng.integers(0, len(data)))
            data[place:place] = rng.bytes(int(rng.integers(1, 50)))
        yield bytes(data)


@pytest.mark.slow_cases("truck")
@pytest.mark.parametrize("name", CASES)
def test_a_node_goes_on_whatever_arrives(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_that_it_goes_on(CASES[name], FEW, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_node_goes_on_however_much_arrives(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_that_it_goes_on(CASES[name], COUNT, capsys)


def check_that_it_goes_on(case: Case, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    rig = case.make()
    rng = np.random.default_rng(7)
    began = time.monotonic()
    for topic in list(rig.node._subscribed):
        type_ = message_type(rig.exchange.types[topic])
        good = case.good if topic == case.command else transform("odom_ekf", "base", 1.0, 2.0, 0.3)
        for k, data in enumerate(payloads(type_, type_.encode(good), rng, count)):
            rig.publish_bytes(topic, data)
            if k % EVERY == 0:
                rig.tick()
                for told in case.told:
                    assert all(map(math.isfinite, numbers(rig.last(told)))) or not rig.heard[told]
    assert not rig.loop.paused
    # The log has a few lines a second for each topic, however much is wrong.
    lines = capsys.readouterr().err.splitlines()
    most = 5 * len(rig.node._subscribed) * (time.monotonic() - began + 1.0)
    assert 0 < len(lines) <= most
    assert rig.call(f"/{rig.node.identity.name}/reset").success
    rig.publish(case.command, case.good)
    rig.tick(200)
    assert case.speed(rig) > 0.4


@pytest.mark.slow_cases("brains2")
@pytest.mark.parametrize("name", CASES)
def test_services_answer_or_stay_silent_and_go_on(name: str) -> None:
    case = CASES[name]
    rig = case.make()
    rng = np.random.default_rng(8)
    for service, (type_, _) in list(rig.exchange.services.items()):
        good = type_.request.encode(type_.request.Record())
        for data in payloads(type_.request, good, rng, FEW // 2):
            rig.exchange.call(service, data, lambda reply: None)
            rig.node.handle()
    rig.loop.paused = False
    assert rig.call(f"/{rig.node.identity.name}/reset").success
    rig.publish(case.command, case.good)
    rig.tick(200)
    assert case.speed(rig) > 0.4


def test_a_flood_of_frames_does_not_push_out_what_is_told_again() -> None:
    rig = CASES["truck"].make()
    rig.publish("/tf", transform("odom_ekf", "base", 1.0, 0.0, 0.0))
    for k in range(12_000):
        rig.publish("/tf", transform("flood", f"frame_{k}", 0.0, 0.0, 0.0))
    rig.publish("/tf", transform("odom_ekf", "base", 5.0, 0.0, 0.0))
    rig.tick()
    (told,) = rig.last("/tf").transforms
    assert told.transform.translation.x == pytest.approx(-5.0)


def test_a_chain_of_frames_is_followed_so_far_and_no_farther() -> None:
    """Else each tick would walk through ten thousand."""
    rig = CASES["truck"].make()
    names = ["base", *(f"frame_{k}" for k in range(200))]
    for child, parent in itertools.pairwise(names):
        rig.publish("/tf", transform(parent, child, 1.0, 0.0, 0.0))
    listener = rig.program._messages._listener
    near = listener.where("base", "frame_49")
    assert near is not None
    assert near.translation == (50.0, 0.0, 0.0)
    assert listener.where("base", "frame_150") is None


def test_a_transform_without_end_is_not_passed_on() -> None:
    """Numbers that are finite, and whose product is not."""
    rig = CASES["truck"].make()
    rig.publish("/tf", transform("odom_ekf", "base", 1e308, 1e308, 3.0))
    rig.tick(3)
    assert all(map(math.isfinite, numbers([rig.last("/tf")] if rig.heard["/tf"] else [])))
    rig.publish("/tf", transform("odom_ekf", "base", 5.0, 0.0, 0.0))
    rig.tick()
    assert rig.last("/tf").transforms[0].transform.translation.x == pytest.approx(-5.0)
