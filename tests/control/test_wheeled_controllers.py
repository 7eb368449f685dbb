"""Controllers of wheeled robots, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from skidpad.control.pid import Form, Gains
from skidpad.control.wheeled import (
    Command,
    Controller,
    FrontSteerInput,
    FrontTorques,
    MotorTorque,
    Seen,
    SideTorques,
    TwistInput,
    ackermann_controller,
    differential_controller,
    drivetrain_controller,
)
from skidpad.core import record
from skidpad.vehicles.parts.kinematics import FrontWheels
from skidpad.vehicles.parts.load_transfer import Place
from skidpad.vehicles.parts.wheel_friction import Twist

DT = 0.01
GAINS = Gains(KP=10.0, KI=4.0, max_torque=50.0)
STILL = Twist(0.0, 0.0)
BASE, TRACK, LOCK = 1.3, 2.0, 0.5


def robot(odometry: Twist = STILL, slope_torque: float = 0.0) -> Seen:
    return Seen(odometry, track=0.6, slope_torque=slope_torque)


def car(odometry: Twist = STILL, angles: tuple[float, float] = (0.0, 0.0)) -> Seen:
    return Seen(
        odometry,
        track=TRACK,
        wheel_base=BASE,
        steer_max=LOCK,
        front=(Place(BASE, 1.0), Place(BASE, -1.0)),
        angles=angles,
        angles_of=lambda steer: FrontWheels(min(LOCK, steer), min(LOCK, steer)),
    )


def asked(
    controller: Controller, seen: Seen, u: Any, memory: Any = None, p: Any = GAINS
) -> Command:
    memory = record.build(controller.Memory) if memory is None else memory
    return controller.act(seen, u, memory, p, DT)


def test_raw_hands_on_what_it_gets() -> None:
    form = Form()
    robot_raw = asked(differential_controller("raw", form), robot(), SideTorques(3.0, -1.0))
    assert robot_raw.torques == (3.0, -1.0)
    car_raw = asked(ackermann_controller("raw", form), car(), FrontTorques(3.0, -1.0, 0.2))
    assert (car_raw.torques, car_raw.steer) == ((3.0, -1.0), 0.2)
    motor = asked(drivetrain_controller("raw", form), car(), MotorTorque(7.0, -0.1))
    assert (motor.torques, motor.steer) == ((7.0,), -0.1)


def test_each_side_follows_its_own_speed() -> None:
    controller = differential_controller("twist_pid", Form())
    got = asked(controller, robot(Twist(0.4, 0.1)), TwistInput(1.0, 0.5))
    errors = (1.0 - 0.15) - (0.4 - 0.03), (1.0 + 0.15) - (0.4 + 0.03)
    assert got.torques == pytest.approx([(10.0 + 4.0 * DT) * e for e in errors])
    assert got.memory.left.integral == pytest.approx(4.0 * DT * errors[0])


@pytest.mark.parametrize("speed", [0.3, -0.3])
def test_a_stop_brakes_and_does_not_drive(speed: float) -> None:
    controller = differential_controller("twist_pid", Form())
    side = controller.Memory.__annotations__["left"]
    # An integral that still wants to go on in the direction of travel, and one that brakes.
    onwards, back = (side(integral=sign * 20.0 * speed / abs(speed)) for sign in (1.0, -1.0))
    memory = controller.Memory(onwards, back)
    got = asked(controller, robot(Twist(speed, 0.0)), TwistInput(), memory)
    assert got.torques[0] == 0.0
    assert got.torques[1] * speed < 0.0


def test_who_has_stopped_forgets() -> None:
    controller = differential_controller("twist_pid", Form())
    side = controller.Memory.__annotations__["left"]
    memory = controller.Memory(side(5.0, 0.2, 1.0), side(-5.0, 0.1, 1.0))
    got = asked(controller, robot(Twist(0.04, 0.0)), TwistInput(), memory)
    assert got.torques == (0.0, 0.0)
    assert record.flatten(got.memory) == (0.0,) * 6


@pytest.mark.parametrize(("upstream", "held"), [(False, 6.0), (True, 0.0)])
def test_who_has_stopped_is_held_on_a_slope(upstream: bool, held: float) -> None:
    controller = differential_controller("twist_pid", Form(upstream=upstream))
    assert asked(controller, robot(slope_torque=6.0), TwistInput()).torques == (held, held)
    steep = asked(controller, robot(slope_torque=900.0), TwistInput()).torques
    assert steep == ((0.0, 0.0) if upstream else (50.0, 50.0))


def test_feed_forward_adds_the_slope() -> None:
    controller = differential_controller("twist_pid", Form(feed_forward=True))
    level, climbing = (
        asked(controller, robot(slope_torque=tau), TwistInput(1.0)).torques for tau in (0.0, 5.0)
    )
    assert climbing == pytest.approx([tau + 5.0 for tau in level])


def test_front_wheels_follow_their_speeds_along_themselves() -> None:
    controller = ackermann_controller("twist_front_steer_pid", Form())
    v, omega, seen = 2.0, 0.5, Twist(1.5, 0.2)
    got = asked(controller, car(seen, (0.1, 0.2)), TwistInput(v, omega))
    steer = math.atan(BASE * omega / v)
    assert got.steer == pytest.approx(steer)
    want: list[float] = []
    for y, now in ((1.0, 0.1), (-1.0, 0.2)):
        wanted = math.cos(steer) * (v - omega * y) + math.sin(steer) * omega * BASE
        actual = math.cos(now) * (1.5 - 0.2 * y) + math.sin(now) * 0.2 * BASE
        want.append((10.0 + 4.0 * DT) * (wanted - actual))
    assert got.torques == pytest.approx(want)


@pytest.mark.parametrize("make", [ackermann_controller, drivetrain_controller])
def test_speed_and_steering_is_the_twist_of_that_steering(make: Any) -> None:
    form, steer = Form(), 0.3
    by_steer = asked(make("front_steer_pid", form), car(), FrontSteerInput(1.5, steer))
    twist = TwistInput(1.5, 1.5 * math.tan(steer) / BASE)
    by_twist = asked(make("twist_front_steer_pid", form), car(), twist)
    assert by_steer.torques == pytest.approx(by_twist.torques)
    assert by_steer.steer == pytest.approx(by_twist.steer)
    assert asked(make("front_steer_pid", form), car(), FrontSteerInput(0.0, steer)).steer == steer


def test_one_motor_follows_the_speed_of_the_vehicle() -> None:
    controller = drivetrain_controller("twist_front_steer_pid", Form())
    got = asked(controller, car(Twist(0.5, 0.3)), TwistInput(2.0, 0.4))
    assert got.torques == pytest.approx(((10.0 + 4.0 * DT) * 1.5,))


def test_ideal_controllers_name_the_motion() -> None:
    form = Form()
    got = asked(differential_controller("twist_ideal", form), robot(), TwistInput(0.5, 0.2))
    assert (got.torques, got.twist) == ((0.0, 0.0), (0.5, 0.2))
    got = asked(ackermann_controller("twist_ideal", form), car(), TwistInput(2.0, 0.4))
    assert got.steer == pytest.approx(math.atan(BASE * 0.4 / 2.0))
    spot = asked(ackermann_controller("twist_ideal", form), car(), TwistInput(0.0, 0.1))
    assert spot.steer == pytest.approx(BASE * 0.1)
    assert asked(ackermann_controller("twist_ideal", form), car(), TwistInput(0, 9.0)).steer == LOCK
