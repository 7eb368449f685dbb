"""Wheel speeds against rolling about a common centre, and pulses that are not lost."""

from __future__ import annotations

import math
from dataclasses import replace

import casadi
import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.sensors import Channel, Motion, WheelSpeed

R, L_F, L_R, TRACK = 0.25, 0.9, 0.7, 1.3


def wheels(**settings: object) -> WheelSpeed:
    geometry = {"radius": R, "l_f": L_F, "l_r": L_R, "track": TRACK}
    return WheelSpeed(**{**geometry, **settings})  # type: ignore[arg-type]


def turn(v_rear: float, steer: float) -> Motion:
    """Rolling without slip: the rear axle moves along the car, the centre is on its line."""
    omega = v_rear * math.tan(steer) / (L_F + L_R)
    return Motion(v_x=v_rear, v_y=L_R * omega, omega=omega, steer=steer)


@pytest.mark.parametrize("steer", [0.3, -0.3, 0.0])
@pytest.mark.parametrize("v", [5.0, -2.0])
def test_wheels_that_roll_about_one_centre(steer: float, v: float) -> None:
    truth = turn(v, steer)
    found = wheels(steering="ackermann").measure(truth)
    half = 0.5 * TRACK * truth.omega
    sign = math.copysign(1.0, v)
    expected = [
        sign * math.hypot(v - half, truth.omega * (L_F + L_R)),
        sign * math.hypot(v + half, truth.omega * (L_F + L_R)),
        v - half,
        v + half,
    ]
    assert np.abs(np.array(found[:4]) * R - expected).max() < 1e-13


def test_parallel_wheels_take_the_part_of_the_velocity_along_them() -> None:
    truth = Motion(v_x=8.0, v_y=0.4, omega=0.6, steer=0.2)
    found = wheels().measure(truth)
    front = np.array([8.0 - 0.6 * TRACK / 2, 0.4 + 0.6 * L_F])
    assert found.fl * R == pytest.approx(front @ [math.cos(0.2), math.sin(0.2)])
    assert found.rr * R == pytest.approx(8.0 + 0.6 * TRACK / 2)


def test_geometry_of_a_vehicle() -> None:
    car = sp.vehicles.four_wheel()
    sensor = WheelSpeed.of(car, radius=0.23, rate=100.0)
    assert (sensor.l_f, sensor.l_r, sensor.track) == (car.params.l_f, car.params.l_r, 1.24)
    # Seen from its rear axle; the radius is that of its wheels if not given.
    shape = sp.vehicles.autoware("IDEAL_STEER_ACC").geometry
    sensor = WheelSpeed.of(sp.vehicles.autoware("IDEAL_STEER_ACC"))
    assert (sensor.l_f, sensor.l_r) == (shape.wheel_base, 0.0)
    assert (sensor.track, sensor.radius) == (shape.track, shape.wheels[0].radius)
    bare = sp.VehicleFactory(replace(car.model, body=None))()
    with pytest.raises(InvalidValue, match="a wheel speed sensor needs to know the body"):
        WheelSpeed.of(bare, radius=0.3)


def test_an_encoder_counts_every_pulse_once() -> None:
    t = np.arange(0.0, 20.0 + 1e-9, 0.01)
    v = 3.0 * np.sin(t)
    found = wheels(ticks=48, rate=50.0).along_fleet(t, Motion(v_x=v))
    quantum = 2.0 * math.pi / 48
    angle = 3.0 * (1.0 - np.cos(found.stamp)) / R
    # The angle is summed by trapezia of 0.02 s, which is off by 2e-4 rad at most.
    for wheel in ("fl", "rr"):
        ticks = found[f"ticks_{wheel}"][:, 0]
        assert (np.abs(ticks * quantum - angle + 0.5 * quantum) < 0.5 * quantum + 1e-3).all()
        whole = found[wheel][:, 0] * 0.02 / quantum
        assert np.abs(whole - np.round(whole)).max() < 1e-6
        assert np.round(np.cumsum(whole)).tolist() == ticks.tolist()


def test_slow_wheels_are_seen_in_the_mean() -> None:
    t = np.arange(0.0, 100.0, 0.01)
    found = wheels(ticks=20).along_fleet(t, Motion(v_x=0.05 * np.ones(t.size)))
    speeds = np.unique(np.round(found["rl"], 9))
    assert speeds.size == 2, "a pulse or none in a period"
    assert found["rl"].mean() == pytest.approx(0.05 / R, rel=0.02)


def test_wheels_err_apart() -> None:
    t = np.arange(1000) * 0.01
    found = wheels(channel=Channel(std=0.1)).along_fleet(t, Motion(v_x=np.ones(1000)))
    rows = np.array([found[name][:, 0] for name in ("fl", "fr", "rl", "rr")])
    correlation = np.corrcoef(rows)
    assert np.abs(correlation - np.eye(4)).max() < 6.0 / math.sqrt(1000.0)


def test_the_speeds_trace() -> None:
    sensor = wheels(steering="ackermann")
    symbols = casadi.SX.sym("motion", len(Motion._fields))
    expression = sensor.measure(Motion(*casadi.vertsplit(symbols)))
    traced = casadi.Function("wheels", [symbols], [casadi.vertcat(*expression[:4])])
    truth = turn(4.0, 0.2)
    assert np.abs(traced(list(truth)).full().ravel() - sensor.measure(truth)[:4]).max() < 1e-12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0.0}, "WheelSpeed.radius = 0.0 m must be greater than 0"),
        ({"track": math.nan}, "WheelSpeed.track = nan m must be finite"),
        ({"steering": "crab"}, "steering = 'crab' is unknown; allowed are parallel, ackermann"),
        ({"ticks": 0}, "WheelSpeed.ticks = 0 must be a whole number, at least 1"),
        ({"ticks": 1.5}, "WheelSpeed.ticks = 1.5 must be a whole number"),
        ({"channel": None}, "WheelSpeed.channel must be a Channel"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        wheels(**settings)
