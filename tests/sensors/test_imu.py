"""The IMU against closed forms and against the second derivative of a simulated path."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.sensors import Channel, Imu, Motion, Mounting, in_frame, motion_along

G = 9.81


def close(found: object, expected: object, tolerance: float = 1e-13) -> bool:
    return bool(np.abs(np.array(found, float) - np.array(expected, float)).max() < tolerance)


def test_at_rest_on_level_ground_it_feels_the_road_push_up() -> None:
    assert Imu().measure(Motion()) == (0.0, 0.0, G, 0.0, 0.0, 0.0, 0.0)


def test_a_steady_circle() -> None:
    v, radius = 12.0, 30.0
    omega = v / radius
    circle = Motion(v_x=v, omega=omega, a_y=v * omega)
    assert close(Imu().measure(circle)[:6], (0.0, v * v / radius, G, 0.0, 0.0, omega))
    # Each point of the body feels the centripetal acceleration of its own circle.
    ahead, outside = 1.5, -0.7
    found = Imu(mounting=Mounting(x=ahead, y=outside)).measure(circle)
    assert close(found[:3], (-(omega**2) * ahead, omega**2 * (radius - outside), G))


def test_a_right_turn_is_the_mirror_image_of_a_left_one() -> None:
    left = Imu(mounting=Mounting(x=0.4, y=0.2)).measure(Motion(omega=0.5, a_y=3.0, omega_rate=1.0))
    right = Imu(mounting=Mounting(x=0.4, y=-0.2)).measure(
        Motion(omega=-0.5, a_y=-3.0, omega_rate=-1.0)
    )
    assert close(right[:3], (left.f_x, -left.f_y, left.f_z))
    assert right.omega_z == -left.omega_z


def test_a_body_that_spins_up_about_its_own_point() -> None:
    omega, alpha, x, y = 2.0, 3.0, 0.5, -0.4
    found = Imu(mounting=Mounting(x=x, y=y)).measure(Motion(omega=omega, omega_rate=alpha))
    assert close(found[:3], (-alpha * y - omega**2 * x, alpha * x - omega**2 * y, G))


def test_acceleration_up_a_slope() -> None:
    slope, a = math.radians(8.0), 1.7
    # Nose up is a negative pitch.
    found = Imu().measure(Motion(a_x=a, pitch=-slope))
    assert close(found[:3], (a + G * math.sin(slope), 0.0, G * math.cos(slope)))
    parked_nose_down = Imu().measure(Motion(pitch=slope))
    assert parked_nose_down.f_x == pytest.approx(-G * math.sin(slope))


def test_a_bank_with_its_right_side_down() -> None:
    bank = 0.2
    found = Imu().measure(Motion(roll=bank))
    assert close(found[:3], (0.0, G * math.sin(bank), G * math.cos(bank)))


def test_the_size_of_gravity_does_not_depend_on_the_attitude() -> None:
    found = Imu(mounting=Mounting(roll=0.3, pitch=-1.0, yaw=2.0)).measure(
        Motion(roll=-0.6, pitch=0.4, yaw=1.0)
    )
    assert math.hypot(*found[:3]) == pytest.approx(G, rel=1e-14)


def test_the_axes_of_a_camera() -> None:
    imu = Imu(mounting=in_frame("optical"))
    assert close(imu.measure(Motion())[:3], (0.0, -G, 0.0), 1e-14)
    found = imu.measure(Motion(omega=0.5, a_x=1.0, a_y=2.0))
    assert close(found[:6], (-2.0, -G, 1.0, 0.0, -0.5, 0.0), 1e-14)


def test_a_tilted_unit_projects_onto_its_axes() -> None:
    # Turned by 30 degrees to the left and then pointed 20 degrees down.
    yaw, pitch = math.radians(30.0), math.radians(20.0)
    found = Imu(mounting=Mounting(yaw=yaw, pitch=pitch), g=0.0).measure(Motion(a_x=1.0))
    expected = (math.cos(yaw) * math.cos(pitch), -math.sin(yaw), math.cos(yaw) * math.sin(pitch))
    assert close(found[:3], expected)


def test_the_relations_of_a_truck_that_rolls_on_its_rear_axle() -> None:
    # Body point in the middle of the rear axle: yaw rate v tan(steer)/L, so that its derivative is
    # (a tan(steer) + v w/cos²(steer))/L while steering at the rate w.
    L, v, a, steer, w = 0.405, 0.9, 0.4, 0.3, 0.5
    x, y = 0.43648, 0.01978
    omega = v * math.tan(steer) / L
    alpha = (a * math.tan(steer) + v * w / math.cos(steer) ** 2) / L
    truth = Motion(v_x=v, omega=omega, a_x=a, a_y=v * omega, omega_rate=alpha)
    found = Imu(mounting=Mounting(x=x, y=y)).measure(truth)
    expected = (a - alpha * y - omega**2 * x, v * omega + alpha * x - omega**2 * y, G)
    assert close(found[:3], expected)


def test_rolling_and_pitching_bodies() -> None:
    # About the x axis with rate p: a point at height z is accelerated to the axis and across it.
    p, p_rate, z = 0.7, -1.1, 1.2
    found = Imu(mounting=Mounting(z=z), g=0.0).measure(Motion(omega_x=p, omega_x_rate=p_rate))
    assert close(found[:6], (0.0, -p_rate * z, -(p**2) * z, p, 0.0, 0.0))
    q, q_rate = -0.4, 0.9
    found = Imu(mounting=Mounting(z=z), g=0.0).measure(Motion(omega_y=q, omega_y_rate=q_rate))
    assert close(found[:6], (q_rate * z, 0.0, -(q**2) * z, 0.0, q, 0.0))


@pytest.mark.parametrize("name", ["four_wheel", "formula_student", "kinematic_bicycle"])
def test_the_path_of_the_mounting_differentiated_twice(name: str) -> None:
    car = sp.vehicles.get(name)()
    dt, apart = 2e-4, 10
    sim = sp.Simulator(car, dt=dt)
    sim.reset(v_x=9.0)
    # Small enough that the steering meets no rate limit: the motion has no kinks.
    run = sim.run({"steer": 0.018, "tau_rl": 40.0, "tau_rr": 25.0}, duration=0.6)
    mounting = Mounting(x=0.8, y=-0.5, z=0.3, roll=0.2, pitch=-0.1, yaw=0.4)
    imu = Imu(mounting=mounting)
    found = imu.measure(motion_along(run, car))

    c, s = np.cos(run.yaw), np.sin(run.yaw)
    path = np.array(
        [run.x + c * mounting.x - s * mounting.y, run.y + s * mounting.x + c * mounting.y]
    )
    h = apart * dt
    a = second_derivative(path, apart, h)
    turning = first_derivative(run.yaw, apart, h)
    rows = slice(2 * apart, -2 * apart)
    c, s = c[rows], s[rows]
    body = np.array([c * a[0] + s * a[1], c * a[1] - s * a[0], np.full_like(c, G)])
    # Into the axes of the unit, by the matrices of the three turns.
    into = turn(0, mounting.roll) @ turn(1, mounting.pitch) @ turn(2, mounting.yaw)
    settled = slice(300, None)  # the torques have come up by then
    force = (into @ body)[:, settled]
    rate = (into @ np.array([0 * turning, 0 * turning, turning]))[:, settled]
    seen = np.array([np.broadcast_to(leaf, run.t.shape)[rows][settled] for leaf in found[:6]])
    assert np.abs(seen[:2]).max() > 1.0
    assert np.abs(seen[:3] - force).max() < 2e-5
    assert np.abs(seen[3:] - rate).max() < 1e-6


def second_derivative(q: np.ndarray, k: int, h: float) -> np.ndarray:
    """Fourth-order central difference over every k-th sample."""
    n = q.shape[-1]
    at = [q[..., j * k : n - (4 - j) * k] for j in range(5)]
    return (-at[0] + 16.0 * at[1] - 30.0 * at[2] + 16.0 * at[3] - at[4]) / (12.0 * h * h)


def first_derivative(q: np.ndarray, k: int, h: float) -> np.ndarray:
    n = q.shape[-1]
    at = [q[..., j * k : n - (4 - j) * k] for j in range(5)]
    return (at[0] - 8.0 * at[1] + 8.0 * at[3] - at[4]) / (12.0 * h)


def turn(axis: int, angle: float) -> np.ndarray:
    """Components in axes turned by the angle about an axis, from those before."""
    c, s = math.cos(angle), math.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    out = np.eye(3)
    out[i, i] = out[j, j] = c
    out[i, j], out[j, i] = s, -s
    return out


def test_the_reading_traces() -> None:
    imu = Imu(mounting=Mounting(0.5, 0.2, 0.1, 0.3, 0.2, 0.1))
    symbols = casadi.SX.sym("motion", len(Motion._fields))
    expression = imu.measure(Motion(*casadi.vertsplit(symbols)))
    traced = casadi.Function("imu", [symbols], [casadi.vertcat(*expression[:6])])
    values = np.linspace(-1.0, 2.0, len(Motion._fields))
    direct = imu.measure(Motion(*values.tolist()))
    assert close(traced(values).full().ravel(), direct[:6])


def test_arrays_give_what_numbers_give() -> None:
    imu = Imu(mounting=Mounting(0.5, 0.2, 0.1, 0.3, 0.2, 0.1))
    rows = np.random.default_rng(0).normal(size=(20, len(Motion._fields)))
    found = imu.measure(Motion(*rows.T))
    direct = np.array([imu.measure(Motion(*row.tolist()))[:6] for row in rows])
    assert close(np.array(found[:6]).T, direct)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"g": -1.0}, "Imu.g = -1.0 m/s² must be at least 0"),
        ({"accelerometer": (Channel(), Channel())}, "Imu.accelerometer must be a Channel or one"),
        ({"gyroscope": 0.1}, "Imu.gyroscope must be a Channel or one"),
        ({"mounting": Mounting(y=math.nan)}, "Mounting.y = nan must be finite"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Imu(**settings)  # type: ignore[arg-type]
