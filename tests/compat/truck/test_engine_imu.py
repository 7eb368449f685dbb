"""The engine's IMU: rigid-body readings at its mounting, in the axes of the camera."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compat.truck.recordings import model_path
from skidpad.compat.truck import Noise
from skidpad.compat.truck.engine import Engine
from skidpad.errors import InvalidValue
from skidpad.geometry.maps.map import Map

MODEL = model_path("lidar720.yaml")
AT = (0.43648, 0.01978)
"""The IMU from the middle of the rear axle, x forward and y left, in m."""
G = 9.81


def in_body(reading: tuple[float, float, float]) -> np.ndarray:
    """A reading along the camera's axes, x right, y down, z ahead, in x ahead, y left, z up."""
    x, y, z = reading
    return np.array([z, -x, -y])


def test_at_rest_it_shows_gravity_alone() -> None:
    state = Engine(MODEL).state()
    assert state.accel_linear_acceleration == pytest.approx((0.0, -G, 0.0), abs=1e-12)
    assert state.gyro_angular_velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_speeding_up_straight_ahead_it_shows_the_acceleration() -> None:
    truck = Engine(MODEL)
    truck.set_base_control(0.8, 0.6, 0.0)
    truck.advance(0.1)
    assert in_body(truck.state().accel_linear_acceleration) == pytest.approx((0.6, 0, G))


@pytest.mark.parametrize("curvature", [1.0, -1.5])
def test_in_a_steady_circle_it_points_to_the_centre(curvature: float) -> None:
    truck = Engine(MODEL)
    truck.set_base_control(0.5, curvature)
    truck.advance(3.0)
    state = truck.state()
    omega = 0.5 * curvature
    rear = math.sqrt(1.0 - (curvature * 0.2025) ** 2) / curvature
    # The centre of rotation is at (0, rear) from the rear axle; the pull is omega² times the way.
    want = omega**2 * np.array([-AT[0], rear - AT[1]])
    got = in_body(state.accel_linear_acceleration)
    assert got[:2] == pytest.approx(want, abs=1e-9)
    assert in_body(state.gyro_angular_velocity) == pytest.approx((0, 0, omega), abs=1e-12)


def test_it_is_the_second_derivative_of_the_way_of_the_imu() -> None:
    """Speed and steering change at once, so that all terms count."""
    truck = Engine(MODEL, integration_step=1e-4)
    truck.reset_base((0, 0, 0.3), 0.1, 0.2)
    truck.set_base_control(0.8, 1.5)
    truck.advance(0.05)
    places, readings = [], []
    h = 1e-3
    for _ in range(3):
        x = truck.rear
        c, s = math.cos(x.yaw), math.sin(x.yaw)
        places.append((x.x + c * AT[0] - s * AT[1], x.y + s * AT[0] + c * AT[1]))
        readings.append((in_body(truck.state().accel_linear_acceleration), c, s))
        truck.advance(h)
    second = np.diff(np.array(places), n=2, axis=0)[0] / h**2
    force, c, s = readings[1]
    world = [c * force[0] - s * force[1], s * force[0] + c * force[1]]
    assert world == pytest.approx(second, abs=2e-4)
    assert np.hypot(*second) > 1.0


@pytest.mark.slow
def test_noise_is_seeded_and_each_sensor_has_its_own() -> None:
    room = Map.from_polylines([[(-3, -3), (3, -3), (3, 3), (-3, 3)]], closed=True)
    levels = {"accel": 0.3, "gyro": Noise(0.5, 0.2), "lidar": {"mean": 1.0, "std": 0.1}}
    clean = Engine(MODEL, room).state()

    def readings(seed: int, **noise: object) -> tuple[np.ndarray, ...]:
        truck = Engine(MODEL, room, noise=noise, seed=seed)
        states = [truck.state() for _ in range(200)]
        return (
            np.array([s.accel_linear_acceleration for s in states])
            - clean.accel_linear_acceleration,
            np.array([s.gyro_angular_velocity for s in states]),
            np.array([s.lidar_ranges for s in states]) - clean.lidar_ranges,
        )

    accel, gyro, lidar = readings(1, **levels)
    for values, mean, std in ((accel, 0.0, 0.3), (gyro, 0.5, 0.2), (lidar, 1.0, 0.1)):
        # Four standard errors of 600 draws at least.
        assert values.mean() == pytest.approx(mean, abs=4 * std / math.sqrt(values.size))
        assert values.std() == pytest.approx(std, rel=0.12)
    for again, first in zip(readings(1, **levels), (accel, gyro, lidar), strict=True):
        np.testing.assert_array_equal(again, first)
    other = readings(2, **levels)
    assert not np.any(other[0] == accel)
    alone = readings(1, gyro=Noise(0.5, 0.2))
    np.testing.assert_array_equal(alone[1], gyro)
    assert not np.any(alone[2])


@pytest.mark.parametrize(
    ("noise", "match"),
    [
        ({"radar": 0.1}, "radar"),
        ({"gyro": -0.1}, r"gyro std.*at least 0"),
        ({"gyro": math.nan}, "gyro std"),
        ({"accel": {"variance": 0.1}}, "variance"),
        ({"lidar": "loud"}, "lidar std"),
        (0.1, "mapping"),
    ],
)
def test_noise_that_cannot_be_is_refused(noise: object, match: str) -> None:
    with pytest.raises(InvalidValue, match=match):
        Engine(MODEL, noise=noise)
