"""Bodies: a sound one passes, and each fault is caught by the check meant for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from skidpad import testing
from skidpad.core.body import Acceleration, Limits, Pose, Velocity
from skidpad.ops import where
from skidpad.vehicles import wheeled
from testing.cart import BODY, State, cart, geometry, limits
from vehicles.autoware.recordings import Recording, files
from vehicles.wheeled.fleet_of_kinds import COMBINATIONS

CHECKS = ["motion", "shape", "driving", "standing"]


def failing(body: Any, **changes: Any) -> dict[str, str]:
    report = testing.check(cart(body=body, **changes), CHECKS)
    return {result.name: result.detail for result in report.failed}


def test_without_a_body_they_do_not_apply() -> None:
    report = testing.check(cart(), CHECKS)
    assert [result.status for result in report] == ["not applicable"] * 4
    assert "docs/bodies.md" in report["motion"].detail


def velocity(x: State, u: Any, p: Any) -> Velocity:
    return Velocity(x.v_x, x.v_y, x.omega)


def along(function: Any) -> Any:
    """The cart's body with another velocity."""
    return replace(BODY, velocity=function, acceleration=None)


MOTION = {
    "of another point": (
        along(lambda x, u, p: Velocity(x.v_x, x.v_y - p.l * x.omega, x.omega)),
        "velocity, from the rate of the pose: v_y is",
    ),
    "in world axes": (
        replace(BODY, pose=lambda x, p: Pose(x.x, x.y, 0.0 * x.yaw)),
        "velocity, from the rate of the pose: v_x is",
    ),
    "accelerations of the numbers alone": (
        replace(BODY, acceleration=lambda x, r, p: Acceleration(r.v_x, r.v_y, r.omega)),
        "acceleration, from the rate of the velocity: a_x is",
    ),
    "a command that pulls to one side": (
        replace(BODY, command=lambda x, w, p: BODY.command(x, w._replace(steer=w.steer + 0.01), p)),
        "command in the mirror: steer is",
        "mirror",
    ),
    "put beside where it was asked to": (
        replace(BODY, placed=lambda x, q, v, p: BODY.placed(x, q._replace(y=q.y + 0.1), v, p)),
        "pose, put elsewhere: y is",
    ),
    "put with half the speed": (
        replace(BODY, placed=lambda x, q, v, p: BODY.placed(x, q, v._replace(v_x=0.5 * v.v_x), p)),
        "velocity, put elsewhere: v_x is",
    ),
    "a quotient by speed": (
        along(lambda x, u, p: velocity(x, u, p)._replace(v_y=x.v_x * x.v_y / x.v_x)),
        "raised ZeroDivisionError",
    ),
    "a branch in Python": (
        along(lambda x, u, p: velocity(x, u, p)._replace(v_x=x.v_x if x.v_x > 0 else 2 * x.v_x)),
        "velocity on CasADi it raised",
        "purity",
    ),
    "another library": (
        replace(
            BODY, command=lambda x, w, p: BODY.command(x, w._replace(a=w.a * math.cos(x.v_x)), p)
        ),
        "command on NumPy it raised",
        "purity",
    ),
}


@pytest.mark.parametrize("name", MOTION)
def test_a_wrong_motion_is_caught(name: str) -> None:
    body, says, *elsewhere = MOTION[name]
    (check,) = elsewhere or ["motion"]
    assert says in testing.check(cart(body=body), [check])[check].detail


def test_the_motion_of_a_discrete_model_is_looked_at_over_a_step() -> None:
    def update(x: Any, u: Any, w: Any, p: Any, dt: float) -> Any:
        rate = cart().derivative(x, u, None, p)
        return State(*(a + dt * b for a, b in zip(x, rate, strict=True)))

    assert not failing(BODY, changed=None, update=update)
    off = along(lambda x, u, p: Velocity(x.v_x, 1.1 * x.v_y, x.omega))
    wrong = testing.check(cart(None, update=update, body=off), ["motion"])["motion"]
    assert "velocity, from the way of a step: v_y is" in wrong.detail


def shaped(**changes: Any) -> Any:
    return replace(BODY, geometry=lambda p: replace(geometry(p), **changes))


def limited(**changes: Any) -> Any:
    return replace(BODY, limits=lambda p: replace(limits(p), **changes))


SHAPE = {
    "wheels of another car": (shaped(front_axle=2.7, rear_axle=0.0), "the front axle at x = 2.7 m"),
    "axles exchanged": (
        shaped(front_axle=-0.7, rear_axle=0.7),
        "the front axle is behind the rear",
    ),
    "no mass": (shaped(mass=0.0), "mass 0.0 kg and inertia"),
    "an inertia in other units": (shaped(inertia=9e4), "the radius of gyration is"),
    "a mass beside it": (shaped(centre_of_mass=(0.0, 3.0)), "beside the vehicle"),
    "no outline": (shaped(outlines=()), "it has no outline"),
    "an outline that crosses itself": (
        shaped(outlines=(((-1.0, -0.5), (1.0, 0.5), (1.0, -0.5), (-1.0, 0.5)),)),
        "outlines must not cross",
    ),
    "a wheel that does not turn": (
        shaped(wheels=tuple(replace(w, steer="delta") for w in geometry(cart().params).wheels)),
        "names 'delta', which is neither a state nor an output",
    ),
    "limits upside down": (limited(a_max=-1.0, a_min=1.0), "a_min, a_max is out of order"),
    "limits of another input": (limited(inputs={"F_x": (-1.0, 1.0)}), "'F_x' is not an input"),
    "gravity of another planet": (replace(BODY, gravity="g"), "gravity = 'g' is not a parameter"),
}


@pytest.mark.parametrize("name", SHAPE)
def test_a_wrong_shape_is_caught(name: str) -> None:
    body, says = SHAPE[name]
    report = testing.check(cart(body=body), ["shape"])
    assert says in report["shape"].detail
    assert not report.passed


def commanded(**changes: Any) -> Any:
    """The cart's body with another demand in place of the one that is asked for."""

    def command(x: Any, demand: Any, p: Any) -> Any:
        return BODY.command(x, demand._replace(**{k: f(demand) for k, f in changes.items()}), p)

    return replace(BODY, command=command)


DRIVING = {
    "the brake drives": (commanded(a=lambda w: where(w.a > 0.0, w.a, -w.a)), "driven slower"),
    "nothing happens": (commanded(a=lambda w: 0.0 * w.a), "driven faster"),
    "left is right": (commanded(steer=lambda w: -w.steer), "driven to the left"),
    "more than it takes": (
        replace(
            BODY,
            limits=lambda p: replace(limits(p), inputs={"steer": (-0.1, 0.1)}),
        ),
        "the input steer = 0.15 is not from -0.1 to 0.1",
    ),
}


@pytest.mark.parametrize("name", DRIVING)
def test_wrong_driving_is_caught(name: str) -> None:
    body, says = DRIVING[name]
    report = testing.check(cart(body=body), ["driving"])
    assert says in report["driving"].detail
    assert not report.passed


def test_what_the_world_cannot_see_is_caught() -> None:
    """An outline that is not about the reference point: straight ahead there is nothing."""
    beside = tuple((x, y + 30.0) for x, y in geometry(cart().params).outlines[0])
    report = testing.check(cart(body=shaped(outlines=(beside,), wheels=())), ["standing"])
    assert "a laser straight ahead does not see it" in report["standing"].detail


ROBOTS = [name for name in COMBINATIONS if "-" in name]
"""Every kind with every controller, and every friction."""


@pytest.mark.slow_cases(
    "ackermann-front_steer_pid",
    "ackermann-raw",
    "ackermann-twist_front_steer_pid",
    "ackermann_drivetrain-raw",
    "differential_4_wheels-raw",
    "differential_4_wheels-twist_pid",
)
@pytest.mark.parametrize(
    # The friction of a wheel does not change the body, nor does a drivetrain or a third wheel; each
    # controller stays, and each kind.
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow)
        if n.count("-") > 1
        or n.startswith(("ackermann_drivetrain-f", "differential_3_wheels-t"))
        or n in ("differential-raw", "differential-twist_ideal", "ackermann-twist_ideal")
        else n
        for n in ROBOTS
    ],
)
def test_wheeled_robots_have_sound_bodies(name: str) -> None:
    testing.check(wheeled.vehicle(COMBINATIONS[name]), CHECKS).raise_if_failed()


COMMAND_DRIVEN = {name.split("__")[0]: name for name in reversed(files())}
"""A recording of each command-driven model, which has the parameters that it needs."""


@pytest.mark.parametrize(
    # One of each kind of command: the others differ in lags and maps, not in the body.
    "name",
    [
        name
        if name
        in (
            *("IDEAL_STEER_VEL", "IDEAL_STEER_ACC", "DELAY_STEER_ACC_GEARED"),
            *("ACTUATION_CMD_VGR", "ACTUATION_CMD_MECHANICAL"),
        )
        else pytest.param(name, marks=pytest.mark.slow)
        for name in COMMAND_DRIVEN
    ],
)
def test_command_driven_vehicles_have_sound_bodies(name: str) -> None:
    vehicle = Recording(COMMAND_DRIVEN[name]).vehicle(None)
    testing.check(vehicle, CHECKS).raise_if_failed()


def test_pedals_without_maps_have_sound_bodies() -> None:
    pedals = Recording(COMMAND_DRIVEN["ACTUATION_CMD"]).vehicle(
        None, convert_accel_cmd=False, convert_brake_cmd=False
    )
    testing.check(pedals, CHECKS).raise_if_failed()


def test_a_limit_may_be_infinite() -> None:
    free = replace(BODY, limits=lambda p: Limits())
    assert not failing(free)
