"""Backing a trailer, with a truck and a trailer that roll without slip."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.core.body import Pose
from skidpad.demo.trailers import Hitch, Path, turning

DT = 0.02


def backed(
    hitch: Hitch,
    truck: Pose,
    phi: float,
    line: np.ndarray,
    seconds: float,
    *,
    steering: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the trailer's axle and angles at the hitch, (T, 2) and (T,).

    The kinematics are integrated from the truck's motion alone: the hitch moves with the truck,
    and the trailer's axle follows it along the trailer.
    """
    path, v = Path(line), -1.5
    x, y, yaw = truck
    theta = yaw - phi
    places, angles = [], []
    for _ in range(round(seconds / DT)):
        hitch_x, hitch_y = x - hitch.M * np.cos(yaw), y - hitch.M * np.sin(yaw)
        tail = Pose(hitch_x - hitch.L * np.cos(theta), hitch_y - hitch.L * np.sin(theta), theta)
        goal = path.goal(tail.x, tail.y, hitch.ahead)
        omega = turning(hitch, Pose(x, y, yaw), tail, goal, v) if steering else 0.0
        x, y, yaw = x + DT * v * np.cos(yaw), y + DT * v * np.sin(yaw), yaw + DT * omega
        moved = x - hitch.M * np.cos(yaw) - hitch_x, y - hitch.M * np.sin(yaw) - hitch_y
        theta += (np.cos(theta) * moved[1] - np.sin(theta) * moved[0]) / hitch.L
        places.append((tail.x, tail.y))
        angles.append(yaw - theta)
    return np.array(places), np.array(angles)


STRAIGHT = np.column_stack([np.arange(0.0, -60.0, -0.25), np.zeros(240)])


@pytest.mark.parametrize("M", [-0.4, 0.0, 1.2])
def test_a_trailer_comes_back_to_a_straight_line_and_stays(M: float) -> None:
    hitch = Hitch(M=M, L=6.0)
    places, angles = backed(hitch, Pose(8.0, 1.5, 0.1), 0.2, STRAIGHT, 30.0)
    assert abs(places[0, 1]) > 0.8
    assert np.abs(places[-300:, 1]).max() < 0.05
    assert np.abs(angles[-300:]).max() < 0.02
    assert places[-1, 0] < -35.0


def test_pushed_straight_back_it_folds_up() -> None:
    hitch = Hitch(M=0.0, L=6.0)
    _, angles = backed(hitch, Pose(8.0, 0.0, 0.02), 0.05, STRAIGHT, 25.0, steering=False)
    assert np.abs(angles).max() > 1.0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_trailer_backs_round_a_bend(side: float) -> None:
    a = np.linspace(0.0, 0.5 * np.pi, 60)
    bend = np.column_stack([-12.0 * np.sin(a) - 15.0, side * (12.0 - 12.0 * np.cos(a))])
    before = np.column_stack([np.arange(0.0, -15.0, -0.25), np.zeros(60)])
    after = np.column_stack([np.full(80, -27.0), side * (12.0 + np.arange(80) * 0.25)])
    line = np.vstack([before, bend[1:], after[1:]])
    hitch = Hitch(M=-0.4, L=6.6)
    places, angles = backed(hitch, Pose(6.2, 0.0, 0.0), 0.0, line, 26.0)
    gap = np.hypot(*(places[:, None] - line).transpose(2, 0, 1)).min(axis=1)
    assert gap.max() < 0.9
    # In the bend the angle is about that of a steady turn.
    assert np.abs(angles).max() == pytest.approx(np.arcsin(6.2 / 12.0), rel=0.35)
    assert side * places[-1, 1] > 14.0
    assert places[-1, 0] == pytest.approx(-27.0, abs=0.3)
