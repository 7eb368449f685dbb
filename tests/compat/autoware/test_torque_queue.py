"""The queue of torques that decides whether upstream's steering column may move."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from compat.autoware.test_motion import DATA, Recording
from skidpad.compat.autoware.motion import CompiledMotion, TorqueQueue

DELAY = 0.06


def torque_delayed(compat: str | None) -> CompiledMotion:
    """The recorded car with a torque delay of several steps; nothing else holds its column."""
    recording = Recording(DATA / "ACTUATION_CMD_MECHANICAL__s16_torque_delay.npz")
    recording.params["steer_time_delay"] = 0.0
    recording.params["mechanical_params.dead_zone_threshold"] = 0.0
    recording.params["mechanical_params.torque_delay_time"] = DELAY
    model = recording.model(compat)
    assert isinstance(model, CompiledMotion)
    return model


def jittered(model: CompiledMotion, steps: Any) -> tuple[list[bool], list[float]]:
    """Whether the column moved in each step, and the angle after it."""
    model.set_state(0.0, 0.0, 0.0, 3.0)
    moved, angles = [], [0.0]
    for k, dt in enumerate(steps):
        command = 3.0 * np.sin(0.2 * k + 1.0)
        model.set_input([0.0, 0.0, float(command), 2.0, 0.0])
        model.step(float(dt))
        angles.append(model.motion.steer)
        moved.append(angles[-1] != angles[-2])
    return moved, angles


def allowed(steps: Any) -> list[bool]:
    """Whether upstream's queue lets the column move in each step: its rules as they are written."""
    queue, now, ready = deque[float](), 0.0, []
    for dt in steps:
        now += float(dt)
        ready.append(bool(queue) and now - queue[0] >= DELAY)
        queue.append(now)
        if ready[-1]:
            queue.popleft()
    return ready


def test_under_jitter_the_column_stops_when_upstreams_queue_says_so() -> None:
    steps = np.random.default_rng(3).uniform(0.01, 0.04, 400)
    ready = allowed(steps)
    first = ready.index(True)
    assert not all(ready[first:]), "the jitter must make the column wait again"
    moved, _ = jittered(torque_delayed("upstream"), steps)
    assert moved == ready


def test_repaired_the_delay_postpones_the_first_motion_only() -> None:
    steps = np.random.default_rng(3).uniform(0.01, 0.03, 400)
    moved, _ = jittered(torque_delayed(None), steps)
    first = moved.index(True)
    assert np.cumsum(steps)[first] - steps[0] >= DELAY > np.cumsum(steps)[first - 1] - steps[0]
    assert all(moved[first:])


def test_a_reset_empties_the_queue() -> None:
    steps = np.random.default_rng(4).uniform(0.01, 0.04, 100)
    model = torque_delayed("upstream")
    assert jittered(model, steps)[0] == jittered(model, steps)[0] == allowed(steps)


@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_in_equal_updates_the_oldest_torque_keeps_its_age(delay: float) -> None:
    queue = TorqueQueue(delay)
    ages = [0.01 * k - queue.front_after(0.01 * k) for k in range(1, 50)]
    assert np.ptp(ages[5:]) < 1e-12
