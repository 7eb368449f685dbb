"""Keys drive every vehicle with a body: ahead, left and right, brake, back, and stop."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, radians
from typing import Any

import pytest

import skidpad as sp
from skidpad import vehicles
from skidpad.control.car import abilities_of
from skidpad.control.keyboard import (
    AHEAD_TIME,
    Axes,
    Memory,
    brake_acceleration,
    demand_of_keys,
    demand_to_stop,
    pedal_acceleration,
    steering,
)
from skidpad.core import record
from skidpad.core.body import Demand, Pose, Velocity
from skidpad.vehicles import wheeled
from skidpad.vehicles.registry import COMMAND_DRIVEN as AUTOWARE
from skidpad.vehicles.wheeled.description import KINDS, default_description
from vehicles.autoware.recordings import Recording

CAR = abilities_of(vehicles.formula_student())
DT = 0.005
WHEELED = [(kind, control) for kind, known in KINDS.items() for control in known.controllers]
COMMAND_DRIVEN = [name for name in AUTOWARE if name != "LEARNED_STEER_VEL"]
"""All but the one that is no model: it runs modules of its user's."""
NAMES = [*vehicles.names(), *COMMAND_DRIVEN, *(f"{kind} {control}" for kind, control in WHEELED)]
ALIKE = (
    *("commonroad_kinematic_bicycle", "IDEAL_STEER_ACC_GEARED", "differential raw"),
    *("differential twist_ideal", "differential_4_wheels raw", "ackermann twist_ideal"),
)
"""Commanded in the same ways as others that the fast tests drive."""


def named(name: str) -> sp.Vehicle:
    """A vehicle of one of these names."""
    if name in COMMAND_DRIVEN:
        # With its maps and parameters, as it was driven upstream.
        return Recording(f"{name}__s05_reverse").vehicle(None)
    if name in vehicles.names():
        return vehicles.get(name)()
    kind, control = name.split()
    described = default_description(kind, control=wheeled.Control(control))
    return wheeled.vehicle(described)


class Drive:
    """One vehicle in a simulator and how it moves at the end of each part of a drive."""

    def __init__(self, vehicle: sp.Vehicle) -> None:
        self.vehicle, self.can = vehicle, abilities_of(vehicle)
        substeps = ceil(DT / 4e-4) if vehicle.model.continuous else None
        self.sim = sp.Simulator(vehicle, DT, "rk4", substeps=substeps)
        self.sim.reset()
        self.memory, self.u = Memory(), record.build(vehicle.Input)

    def motion(self) -> tuple[Pose, Velocity]:
        body, p, x = self.vehicle.body, self.vehicle.params, self.sim.state
        return body.pose(x, p), body.velocity(x, self.u, p)

    def __call__(self, axes: Axes | None, duration: float) -> tuple[Pose, Velocity]:
        for _ in range(round(duration / DT)):
            now = self.motion()[1]
            if axes is None:
                demand, self.memory = demand_to_stop(self.memory, now, self.can, DT)
            else:
                demand, self.memory = demand_of_keys(axes, self.memory, now, self.can, DT)
            self.u = self.vehicle.body.command(self.sim.state, demand, self.vehicle.params)
            self.sim.step(self.u)
        return self.motion()


@pytest.mark.slow_cases(
    "ACTUATION_CMD_STEER_MAP",
    "ACTUATION_CMD_VGR",
    "DELAY_STEER_ACC",
    "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
    "DELAY_STEER_VEL",
    "IDEAL_STEER_ACC",
    "ackermann twist_front_steer_pid",
    "ackermann_drivetrain raw",
    "ackermann_drivetrain twist_front_steer_pid",
    "commonroad_ks",
    "commonroad_kst",
    "differential_3_wheels raw",
    "differential_3_wheels twist_ideal",
    "differential_3_wheels twist_pid",
    "differential_4_wheels twist_pid",
    "ACTUATION_CMD",
    "ACTUATION_CMD_MECHANICAL",
    "DELAY_STEER_MAP_ACC_GEARED",
    "ackermann front_steer_pid",
    "ackermann_drivetrain front_steer_pid",
    "brains2",
    "commonroad_st",
    "four_wheel",
    "single_track",
)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ALIKE else n for n in NAMES]
)
def test_every_vehicle_does_what_the_keys_say(name: str) -> None:
    drive = Drive(named(name))
    begin, ahead = drive.motion(), drive(Axes(1.0, 0.0), 1.5)
    assert ahead[1].v_x > 0.5
    assert abs(ahead[0].yaw - begin[0].yaw) < 0.01
    left = drive(Axes(0.2, 1.0), 1.0)
    straight = drive(Axes(0.2, 0.0), 1.0)
    right = drive(Axes(0.2, -1.0), 1.5)
    if name == "double_integrator":  # It never turns, but goes to the left and to the right.
        assert left[1].v_y > 1.0
        assert abs(straight[1].v_y) < 0.1 * left[1].v_y
        assert right[1].v_y < -1.0
    else:
        assert left[0].yaw > ahead[0].yaw + 0.05
        assert right[0].yaw < straight[0].yaw
    brake = drive(Axes(-1.0, 0.0), 0.7)
    assert brake[1].v_x < right[1].v_x
    back = drive(Axes(-1.0, 0.0), 6.0)
    if drive.vehicle.limits.v_min < 0.0:
        assert back[1].v_x < -0.3
    handbrake = drive(Axes(0.0, 0.0, handbrake=True), 4.0)
    assert abs(handbrake[1].v_x) < 0.2
    again = drive(Axes(1.0, 0.0), 1.5)
    assert again[1].v_x > 0.5
    stood = drive(None, 6.0)
    assert abs(stood[1].v_x) + abs(stood[1].v_y) < 0.1
    later = drive(None, 1.0)
    assert abs(later[0].x - stood[0].x) + abs(later[0].y - stood[0].y) < 0.1


def test_axes_follow_keys_over_a_tenth_of_a_second() -> None:
    memory, now = Memory(), Velocity(5.0, 0.0, 0.0)
    for _ in range(round(0.5 * AHEAD_TIME / DT)):
        _, memory = demand_of_keys(Axes(1.0, 0.0), memory, now, CAR, DT)
    assert memory.ahead == pytest.approx(0.5)
    first, _ = demand_of_keys(Axes(1.0, 1.0), Memory(), now, CAR, DT)
    assert first.a > 0.0, "the first step moves already"
    assert first.steer > 0.0


def test_brake_becomes_reverse_without_a_jump() -> None:
    speeds = [k * 0.01 for k in range(-300, 300)]
    pulls = [pedal_acceleration(-1.0, v, CAR) for v in speeds]
    assert max(abs(b - a) for a, b in pairwise(pulls)) < 0.25
    assert pedal_acceleration(-1.0, 10.0, CAR) == -CAR.a_brake
    assert pedal_acceleration(-1.0, -1.0, CAR) == -CAR.a_back
    assert pedal_acceleration(-1.0, -CAR.v_back, CAR) == 0.0
    assert pedal_acceleration(1.0, -5.0, CAR) == CAR.a_brake


def test_braking_opposes_motion_and_ends_with_it() -> None:
    assert brake_acceleration(3.0, 8.0) == -8.0
    assert brake_acceleration(-3.0, 8.0) == 8.0
    assert brake_acceleration(0.0, 8.0) == 0.0


def test_the_faster_the_less_the_wheels_turn() -> None:
    angles = [steering(1.0, Velocity(v, 0.0, 0.0), CAR) for v in (0.0, 3.0, 8.0, 15.0, 30.0)]
    assert angles[0] == CAR.steer_max
    assert angles == sorted(angles, reverse=True)
    # On the circle of that angle the lateral acceleration is what the tyres hold, not more.
    assert 15.0**2 * angles[3] / CAR.wheel_base == pytest.approx(CAR.a_turn, rel=0.01)


def test_wheels_turn_further_against_a_slide() -> None:
    sliding_left, straight = Velocity(10.0, 5.0, 0.0), Velocity(11.18, 0.0, 0.0)
    assert steering(1.0, sliding_left, CAR) > steering(1.0, straight, CAR) + radians(10.0)
    assert steering(-1.0, sliding_left, CAR) == pytest.approx(-steering(1.0, straight, CAR), 0.01)


def test_what_a_driver_asks_for_is_within_the_limits() -> None:
    for name in NAMES:
        vehicle = named(name)
        can, limits = abilities_of(vehicle), vehicle.limits
        assert can.v_max <= limits.v_max
        assert can.v_back <= -limits.v_min
        assert can.a_drive <= min(limits.a_max, limits.grip)
        assert can.a_brake <= min(-limits.a_min, limits.grip)
        assert can.steer_max <= limits.steer_max
        assert all(value >= 0.0 for value in can), name


@pytest.mark.parametrize("pull", [0.5, 1.0])
def test_the_handbrake_holds_the_rear_wheels_only(pull: float) -> None:
    car = vehicles.formula_student()
    for x in (car.State(v_x=10.0), car.State()):
        u = car.body.command(x, Demand(handbrake=pull), car.params)
        assert u.tau_fl == u.tau_rl == u.brake_fl == u.brake_fr == 0.0
        assert u.brake_rl == u.brake_rr == pull * car.params.brake_max
    # A driver pulls it as far as makes the tyres slide; who has none brakes instead.
    demand, _ = demand_of_keys(Axes(handbrake=True), Memory(), Velocity(10.0, 0.0, 0.0), CAR, DT)
    assert demand.handbrake == pytest.approx(car.limits.grip / car.limits.a_max)
    truck = abilities_of(vehicles.ackermann_truck())
    demand, _ = demand_of_keys(Axes(handbrake=True), Memory(), Velocity(0.7, 0.0, 0.0), truck, DT)
    assert (demand.handbrake, demand.a) == (0.0, -truck.a_brake)


def test_torques_stay_within_the_motors() -> None:
    car = vehicles.formula_student()
    for a in (-1e3, 1e3):
        u = car.body.command(car.State(v_x=10.0), Demand(a=a, handbrake=1.0), car.params)
        assert all(abs(tau) <= car.params.tau_max for tau in u[1:5])
        assert all(0.0 <= brake <= car.params.brake_max for brake in u[5:])


def test_a_gear_goes_with_the_direction() -> None:
    def commanded(name: str, v: float, a: float) -> Any:
        car = named(name)
        return car.body.command(car.State(v_x=v), Demand(a=a), car.params)

    forward, reverse = 2.0, 20.0
    for v, a, gear in (
        *((0.0, 1.0, forward), (5.0, -3.0, forward), (0.0, -1.0, reverse)),
        *((-2.0, 3.0, reverse), (-2.0, -1.0, reverse), (0.0, 0.0, forward)),
    ):
        u = commanded("DELAY_STEER_ACC_GEARED", v, a)
        assert (u.gear, u.acceleration) == (gear, a)
    pedal = commanded("DELAY_STEER_ACC_GEARED_WO_FALL_GUARD", -1.0, -1.0)
    assert pedal.acceleration == 1.0, "a pedal drives in the direction of its gear"
