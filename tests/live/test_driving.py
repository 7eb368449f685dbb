"""Keys drive every kind of vehicle: ahead, left and right, brake, back, and stop when let go."""

from __future__ import annotations

from itertools import pairwise
from math import radians
from typing import Any

import pytest

from live.worlds import arena, run
from skidpad import record, vehicles
from skidpad.viewer.live.abilities import abilities_of
from skidpad.viewer.live.arena import Arena
from skidpad.viewer.live.driving import (
    AHEAD_TIME,
    Axes,
    Held,
    Motion,
    Wish,
    braked,
    drivable,
    inputs_for,
    keyed,
    pedalled,
    steering,
)

OWN = (
    *("formula_student", "four_wheel", "kinematic_bicycle", "ackermann_truck"),
    *("commonroad_dynamic_bicycle", "IDEAL_STEER_VEL", "IDEAL_STEER_ACC", "DELAY_STEER_VEL"),
    *("DELAY_STEER_ACC_GEARED", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"),
)
WHEELED = (
    *(("differential", "twist_pid"), ("differential", "raw"), ("differential_4_wheels", "raw")),
    *(("ackermann", "raw"), ("ackermann", "front_steer_pid")),
    *(("ackermann", "twist_front_steer_pid"), ("ackermann_drivetrain", "raw")),
)
NAMES = [*OWN, *(f"{kind}.{control}" for kind, control in WHEELED)]
CAR = abilities_of(vehicles.formula_student())


def of_all_kinds() -> Arena:
    """One vehicle of each kind, far from each other."""
    elements = [
        f'<vehicle name="{name}"><init_pose>0 {300 * k} 0</init_pose>'
        f'<dynamics class="skidpad:{name}"/></vehicle>'
        for k, name in enumerate(OWN)
    ]
    elements += [
        f'<vehicle name="{kind}.{control}"><init_pose>3000 {300 * k} 0</init_pose>'
        f'<dynamics class="{kind}"><controller class="{control}"/></dynamics></vehicle>'
        for k, (kind, control) in enumerate(WHEELED)
    ]
    return arena(*elements)


class Drive:
    """All vehicles of a world driven alike, and how they moved at the end of each part."""

    def __init__(self) -> None:
        self.arena = of_all_kinds()
        for name in NAMES:
            self.arena.choose(name, "keyboard")

    def __call__(self, axes: Axes | None, duration: float) -> dict[str, Any]:
        for name in NAMES:
            pilot = self.arena._pilots[name]
            pilot.let_go() if axes is None else pilot.drive(axes)
        run(self.arena, duration)
        return {name: self.arena.world.vehicles[name].truth for name in NAMES}


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, Any]]:
    drive = Drive()
    return {
        "ahead": drive(Axes(1.0, 0.0), 1.5),
        "left": drive(Axes(0.2, 1.0), 1.0),
        "straight": drive(Axes(0.2, 0.0), 1.0),
        "right": drive(Axes(0.2, -1.0), 1.5),
        "brake": drive(Axes(-1.0, 0.0), 0.7),
        "back": drive(Axes(-1.0, 0.0), 4.0),
        "handbrake": drive(Axes(0.0, 0.0, handbrake=True), 4.0),
        "again": drive(Axes(1.0, 0.0), 1.5),
        "let go": drive(None, 6.0),
        "later": drive(None, 1.0),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_does_what_the_keys_say(name: str, parts: Any) -> None:
    at = {part: seen[name] for part, seen in parts.items()}
    assert at["ahead"].v_x > 0.5
    assert abs(at["ahead"].yaw) < 0.01
    assert at["left"].yaw > at["ahead"].yaw + 0.1
    assert at["right"].yaw < at["straight"].yaw
    assert at["brake"].v_x < at["right"].v_x
    assert at["back"].v_x < -0.3
    assert abs(at["handbrake"].v_x) < 0.2
    assert at["again"].v_x > 0.5
    assert abs(at["let go"].v_x) < 0.1


@pytest.mark.parametrize("name", NAMES)
def test_who_was_let_go_of_stands(name: str, parts: Any) -> None:
    before, after = parts["let go"][name], parts["later"][name]
    assert abs(after.x - before.x) + abs(after.y - before.y) < 0.1


def test_every_listed_vehicle_that_can_stand_in_a_world_can_be_driven() -> None:
    for name in vehicles.names():
        vehicle = vehicles.get(name)()
        if {"x", "y", "yaw", "v_x"} <= set(record.names(vehicle.State)):
            assert drivable(frozenset(record.names(vehicle.Input))), name


@pytest.mark.parametrize("names", [{"steer"}, {"tau_fl"}, {"velocity"}, {"a_s", "a_d"}, set()])
def test_inputs_that_keys_cannot_drive_are_known(names: set[str]) -> None:
    assert not drivable(frozenset(names))


def test_axes_follow_keys_over_a_tenth_of_a_second() -> None:
    held, now = Held(), Motion(5.0)
    for _ in range(round(0.5 * AHEAD_TIME / 0.005)):
        _, held = keyed(Axes(1.0, 0.0), held, now, CAR, 0.005)
    assert held.ahead == pytest.approx(0.5)
    first, _ = keyed(Axes(1.0, 1.0), Held(), now, CAR, 0.005)
    assert first.a > 0.0, "the first step moves already"
    assert first.steer > 0.0


def test_brake_becomes_reverse_without_a_jump() -> None:
    speeds = [k * 0.01 for k in range(-300, 300)]
    pulls = [pedalled(-1.0, v, CAR) for v in speeds]
    assert max(abs(b - a) for a, b in pairwise(pulls)) < 0.25
    assert pedalled(-1.0, 10.0, CAR) == -CAR.a_brake
    assert pedalled(-1.0, -1.0, CAR) == -CAR.a_back
    assert pedalled(-1.0, -CAR.v_back, CAR) == 0.0
    assert pedalled(1.0, -5.0, CAR) == CAR.a_brake


def test_braking_opposes_motion_and_ends_with_it() -> None:
    assert braked(3.0, 8.0) == -8.0
    assert braked(-3.0, 8.0) == 8.0
    assert braked(0.0, 8.0) == 0.0


def test_the_faster_the_less_the_wheels_turn() -> None:
    angles = [steering(1.0, Motion(v), CAR) for v in (0.0, 3.0, 8.0, 15.0, 30.0)]
    assert angles[0] == CAR.steer_max
    assert angles == sorted(angles, reverse=True)
    # On the circle of that angle the lateral acceleration is what the tyres hold, not more.
    assert 15.0**2 * angles[3] / CAR.wheel_base == pytest.approx(CAR.a_turn, rel=0.01)


def test_wheels_turn_further_against_a_slide() -> None:
    sliding_left = Motion(10.0, 5.0)
    straight = Motion(11.18)
    assert steering(1.0, sliding_left, CAR) > steering(1.0, straight, CAR) + radians(10.0)
    assert steering(-1.0, sliding_left, CAR) == pytest.approx(-steering(1.0, straight, CAR), 0.01)


def test_the_handbrake_holds_the_rear_wheels_only() -> None:
    names = frozenset(record.names(vehicles.formula_student().Input))
    wish = Wish(0.0, 0.0, 0.1, 0.0, handbrake=True)
    given = inputs_for(names, wish, Motion(10.0), CAR)
    assert given["tau_fl"] == given["tau_fr"] == 0.0
    assert given["tau_rl"] == given["tau_rr"] == -CAR.hand_torque
    assert inputs_for(names, wish, Motion(0.0), CAR)["tau_rl"] == 0.0


def test_torques_stay_within_the_motors() -> None:
    names = frozenset(record.names(vehicles.formula_student().Input))
    for a in (-1e3, 1e3):
        given = inputs_for(names, Wish(a, 0.0, 0.0, 0.0, handbrake=True), Motion(10.0), CAR)
        assert all(abs(given[n]) <= CAR.tau_max for n in given if n.startswith("tau"))


def test_a_gear_goes_with_the_direction() -> None:
    names = frozenset({"acceleration", "steer", "gear"})
    can = abilities_of(vehicles.autoware("DELAY_STEER_ACC_GEARED"))
    forward, reverse = 2.0, 20.0
    for v, a, gear in (
        *((0.0, 1.0, forward), (5.0, -3.0, forward), (0.0, -1.0, reverse)),
        *((-2.0, 3.0, reverse), (-2.0, -1.0, reverse), (0.0, 0.0, forward)),
    ):
        given = inputs_for(names, Wish(a, 0.0, 0.0, 0.0), Motion(v), can)
        assert (given["gear"], given["acceleration"]) == (gear, a)
    pedal = inputs_for(names | {"slope"}, Wish(-1.0, 0.0, 0.0, 0.0), Motion(-1.0), can)
    assert pedal["acceleration"] == 1.0, "a pedal drives in the direction of its gear"
