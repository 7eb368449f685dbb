"""Frames and rotations of a mounting, against SciPy's rotations and axes named in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from skidpad.errors import InvalidValue
from skidpad.geometry.pose import Vector, rotation_turned, rotation_turned_back
from skidpad.sensors import Mounting, in_frame
from skidpad.sensors.motion import FRAMES, pose_in_world, rotation, sensor_axes

angle = st.floats(-math.pi, math.pi)


@given(roll=angle, pitch=angle, yaw=angle)
def test_turns_are_those_of_ros(roll: float, pitch: float, yaw: float) -> None:
    v = Vector(0.3, -1.2, 2.0)
    # "ZYX": about z, then the new y, then the new x.
    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).apply(v)
    there = rotation_turned(rotation(roll, pitch, yaw), v)
    assert np.abs(np.array(there) - expected).max() < 1e-14
    back = rotation_turned_back(rotation(roll, pitch, yaw), there)
    assert np.abs(np.array(back) - v).max() < 1e-14


@pytest.mark.parametrize(
    ("frame", "forward", "left", "up"),
    [
        ("body", (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ("optical", (0, 0, 1), (-1, 0, 0), (0, -1, 0)),
        ("frd", (1, 0, 0), (0, -1, 0), (0, 0, -1)),
    ],
)
def test_frames_by_name(
    frame: str, forward: tuple[int, ...], left: tuple[int, ...], up: tuple[int, ...]
) -> None:
    mounting = in_frame(frame, 0.1, 0.2, 0.3)
    assert mounting.position == (0.1, 0.2, 0.3)
    axes = (Vector(1.0, 0.0, 0.0), Vector(0.0, 1.0, 0.0), Vector(0.0, 0.0, 1.0))
    found = np.array([rotation_turned_back(sensor_axes(mounting), axis) for axis in axes])
    assert np.abs(found - np.array([forward, left, up])).max() < 1e-15


def test_all_frames_are_tested_and_others_are_named() -> None:
    assert set(FRAMES) == {"body", "optical", "frd"}
    with pytest.raises(InvalidValue, match="frame = 'ned' is unknown; allowed are body, optical"):
        in_frame("ned")


def test_a_position_that_is_no_number_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"Mounting.x = nan must be finite"):
        in_frame("body", math.nan)


def test_pose_in_the_world() -> None:
    found = pose_in_world(Mounting(x=2.0, y=1.0, yaw=0.1), 10.0, 20.0, math.pi / 2)
    assert np.abs(np.array(found) - (9.0, 22.0, math.pi / 2 + 0.1)).max() < 1e-14
