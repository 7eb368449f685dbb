"""Vehicles of a world driven by keys."""

from __future__ import annotations

from math import radians

import pytest

import skidpad as sp
from world.worlds import world


def made_of(kind: str, controller: str = "", inside: str = "") -> sp.WorldVehicle:
    control = f"<controller class='{controller}'/>" if controller else ""
    text = (
        f"<vehicle name='r'><init_pose>0 0 0</init_pose>"
        f"<dynamics class='{kind}'>{control}{inside}</dynamics></vehicle>"
    )
    return sp.World(world(text)).vehicles["r"]


def after(vehicle: sp.WorldVehicle, keys: str) -> tuple[float, ...]:
    for key in keys:
        told = vehicle.press(key)
        assert told == vehicle.input
    return tuple(vehicle.input)


DEGREE = radians(1.0)


@pytest.mark.parametrize(
    ("kind", "controller", "told"),
    [
        ("differential", "raw", (0.05, 0.15)),
        ("differential_3_wheels", "twist_pid", (0.2, 2 * DEGREE)),
        ("differential_4_wheels", "twist_ideal", (0.2, 2 * DEGREE)),
        ("ackermann", "raw", (2.0, 2.0, DEGREE)),
        ("ackermann", "twist_front_steer_pid", (0.2, DEGREE)),
        ("ackermann", "front_steer_pid", (0.2, DEGREE)),
        ("ackermann", "twist_ideal", (0.2, 2 * DEGREE)),
        ("ackermann_drivetrain", "raw", (2.0, DEGREE)),
        ("ackermann_drivetrain", "twist_front_steer_pid", (0.2, DEGREE)),
        ("ackermann_drivetrain", "front_steer_pid", (0.2, DEGREE)),
    ],
)
def test_upstreams_steps(kind: str, controller: str, told: tuple[float, ...]) -> None:
    assert after(made_of(kind, controller), "wwa") == pytest.approx(told)


def test_steering_stops_at_the_vehicles_limit() -> None:
    narrow = made_of("ackermann", "front_steer_pid", "<max_steer_ang_deg>3</max_steer_ang_deg>")
    assert after(narrow, "wdddddd") == pytest.approx((0.1, -3 * DEGREE))
    assert after(made_of("skidpad:formula_student"), 60 * "a")[0] == pytest.approx(0.5)
    bus = made_of(
        "skidpad:DELAY_STEER_VEL", inside="<steer_lim>0.1</steer_lim><wheel_base>3</wheel_base>"
    )
    assert after(bus, 9 * "d") == pytest.approx((0.0, -0.1))


@pytest.mark.parametrize(
    ("name", "told", "stopped"),
    [
        ("four_wheel", (DEGREE, 10.0, 10.0, 10.0, 10.0), (DEGREE, 0.0, 0.0, 0.0, 0.0)),
        ("kinematic_bicycle", (DEGREE, 10.0, 10.0, 10.0, 10.0), (DEGREE, 0.0, 0.0, 0.0, 0.0)),
        ("ackermann_truck", (0.2, 1000.0, 0.02), (0.0, 1000.0, 0.02)),
        ("IDEAL_STEER_VEL", (0.2, DEGREE), (0.0, DEGREE)),
        ("DELAY_STEER_ACC", (0.2, DEGREE), (0.0, DEGREE)),
    ],
)
def test_skidpads_own_vehicles(
    name: str, told: tuple[float, ...], stopped: tuple[float, ...]
) -> None:
    vehicle = made_of(f"skidpad:{name}")
    assert after(vehicle, "wwa") == pytest.approx(told)
    assert after(vehicle, " ") == pytest.approx(stopped)


def test_a_key_drives() -> None:
    scene = (
        "<vehicle name='r'><init_pose>0 0 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_ideal'/></dynamics></vehicle>"
    )
    made = sp.World(world(scene))
    for key in "wwwww":
        made.vehicles["r"].press(key)
    made.run(2.0)
    assert made.vehicles["r"].truth.x == pytest.approx(1.0, rel=0.01)
    made.vehicles["r"].press(" ")
    made.run(1.0)
    assert made.vehicles["r"].truth.v_x == pytest.approx(0.0, abs=1e-6)


def test_another_key_is_refused_and_changes_nothing() -> None:
    vehicle = made_of("differential", "twist_pid")
    before = vehicle.press("w")
    for key in ("x", "", "ww"):
        with pytest.raises(sp.InvalidValue, match=f"key {key!r} is unknown"):
            vehicle.press(key)
    assert vehicle.input == before
