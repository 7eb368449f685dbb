"""Set-points by keys."""

from __future__ import annotations

from math import radians
from typing import Any, NamedTuple

import pytest

from skidpad import InvalidValue
from skidpad.control.keyboard import OWN, Steps, pressed, steps_of
from skidpad.control.wheeled import (
    FrontSteerInput,
    FrontTorques,
    MotorTorque,
    SideTorques,
    TwistInput,
)


def after(start: Any, keys: str, *rest: Any) -> Any:
    for key in keys:
        start = pressed(start, key, *rest)
    return start


def test_twists() -> None:
    assert after(TwistInput(), "wwsaA") == pytest.approx((0.1, radians(4.0)))
    assert after(TwistInput(), "Wd", steps_of("ackermann", "twist_front_steer_pid")) == (
        pytest.approx((0.1, -radians(1.0)))
    )
    assert after(TwistInput(), "wa ") == (0.0, 0.0)


def test_torques_of_both_sides() -> None:
    steps = steps_of("differential_4_wheels", "raw")
    assert after(SideTorques(), "ww", steps) == pytest.approx((0.1, 0.1))
    assert after(SideTorques(), "a", steps) == pytest.approx((-0.05, 0.05))
    assert after(SideTorques(), "wd ", steps) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("start", "went"),
    [
        (FrontTorques(), (2.0, 2.0)),
        (MotorTorque(), (2.0,)),
    ],
)
def test_torque_and_steering(start: Any, went: tuple[float, ...]) -> None:
    assert after(start, "wwa") == pytest.approx((*went, radians(1.0)))
    stopped = after(start, "wwa ")
    assert stopped[:-1] == (0.0,) * len(went)
    assert stopped.steer == pytest.approx(radians(1.0))


def test_steering_keeps_to_its_limit() -> None:
    u = after(FrontSteerInput(), "w" + 40 * "d", Steps(), radians(30.0))
    assert u == pytest.approx((0.1, -radians(30.0)))
    assert pressed(u, " ") == pytest.approx((0.0, -radians(30.0)))


class Velocity(NamedTuple):
    velocity: float = 0.0
    acceleration: float = 1000.0
    curvature: float = 0.0


class Torques(NamedTuple):
    steer: float = 0.0
    tau_l: float = 0.0
    tau_r: float = 0.0


class Pedals(NamedTuple):
    acceleration: float = 0.0
    steer: float = 0.0
    gear: float = 2.0


class Actuation(NamedTuple):
    accel: float = 0.0
    brake: float = 0.0


def test_other_inputs_are_known_by_their_names() -> None:
    # A velocity is what w and s change, whatever acceleration is given besides.
    assert after(Velocity(), "wwsa", OWN) == pytest.approx((0.1, 1000.0, 0.02))
    assert after(Velocity(curvature=0.3), "wd ", OWN) == pytest.approx((0.0, 1000.0, 0.28))
    assert after(Velocity(), 9 * "a", OWN, 0.1).curvature == 0.1
    assert after(Torques(), "wwda", OWN) == pytest.approx((0.0, 10.0, 10.0))
    assert after(Torques(tau_l=3.0), "w", OWN) == pytest.approx((0.0, 8.0, 5.0))
    assert after(Torques(tau_l=3.0), "a ", OWN) == pytest.approx((radians(1.0), 0.0, 0.0))
    assert after(Pedals(), "sd", OWN) == pytest.approx((-0.1, -radians(1.0), 2.0))
    assert steps_of("four_wheel", "") == OWN
    with pytest.raises(InvalidValue, match="Actuation has no keys: it has accel, brake"):
        pressed(Actuation(), "w")


def test_other_keys_are_refused() -> None:
    with pytest.raises(InvalidValue, match="key 'x' is unknown"):
        pressed(TwistInput(), "x")
    with pytest.raises(InvalidValue, match="float has no keys"):
        pressed(1.0, "w")
