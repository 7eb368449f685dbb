"""Descriptions: defaults, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from skidpad import InvalidValue
from skidpad.geometry.polygon import hull, moments
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts.wheel_friction import Friction
from skidpad.vehicles.wheeled import Control
from skidpad.vehicles.wheeled.description import (
    KINDS,
    Chassis,
    Drivetrain,
    Wheel,
    default_description,
    mass_properties,
)

SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wheel(0, 0, mass=-1.0), r"wheel mass = -1.0 must be greater than 0"),
        (lambda: Wheel(0, 0, diameter=0.0), r"wheel diameter = 0.0 must be greater than 0"),
        (lambda: Wheel(math.nan, 0), r"wheel x = nan must be finite"),
        (lambda: Chassis(-3.0, SQUARE, 0.1, 0.5), r"chassis mass = -3.0"),
        (lambda: Chassis(1.0, SQUARE[:2], 0.1, 0.5), r"shape has 2 corners; it needs at least 3"),
        (lambda: Chassis(1.0, SQUARE, 0.6, 0.5), r"z_max = 0.5 must not be below z_min = 0.6"),
        (lambda: Chassis(1.0, SQUARE, 0.1, 0.5, -1.0), r"linear_damping = -1.0 must be at least 0"),
        (lambda: Drivetrain("torsen"), r"no drivetrain 'torsen'; did you mean"),
        (lambda: wheeled.differential(5), r"wheels = 5 of a differential drive must be 2, 3 or 4"),
        (lambda: default_description("hovercraft"), r"no dynamics 'hovercraft'"),
        (
            lambda: wheeled.differential(control=Control("front_steer_pid")),
            r"differential has no controller 'front_steer_pid'",
        ),
        (
            lambda: wheeled.differential(control=Control("twist_pid", set_point={"steer": 1.0})),
            r"TwistInput has no field 'steer'",
        ),
        (lambda: wheeled.differential(loads="wet"), r"loads = 'wet' is unknown"),
        (lambda: wheeled.differential(gravity=0.0), r"gravity = 0.0 must be greater than 0"),
        (
            lambda: wheeled.differential(wheels=2, drivetrain=Drivetrain()),
            r"differential has no drivetrain",
        ),
        (
            lambda: replace(wheeled.differential(), wheels=(Wheel(0, -1), Wheel(0, 1))),
            r"the left one at y = -1 must stand to the left",
        ),
        (
            lambda: replace(wheeled.differential(), wheels=(Wheel(0, 1),)),
            r"differential has 2 wheels \(left, right\), got 1",
        ),
        (lambda: wheeled.ackermann(steer_max=2.0), r"steer_max = 2.0 rad must be from 0 to"),
        (
            lambda: wheeled.differential(friction=Friction(mu=-0.1)),
            r"Friction.mu = -0.1 must be at least 0",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="compat = 'mvsim' is unknown"):
        wheeled.vehicle(wheeled.differential(), compat="mvsim")


def test_wheels_in_line_cannot_share_a_load() -> None:
    wheels = (Wheel(0.0, 0.5), Wheel(0.0, -0.5), Wheel(0.0, 0.0))
    with pytest.raises(InvalidValue, match="stand in line"):
        replace(wheeled.differential(3), wheels=wheels)


def test_defaults_are_those_of_upstream() -> None:
    car = wheeled.ackermann("torsen_rear")
    assert (car.chassis.mass, car.chassis.z_min, car.chassis.z_max) == (500.0, 0.2, 1.4)
    assert [(w.x, w.y) for w in car.wheels] == [(0, 0.9), (0, -0.9), (1.3, 1.0), (1.3, -1.0)]
    assert car.steer_max == pytest.approx(math.radians(30.0))
    gains = {
        kind: [KINDS[kind].default_gains(c)[:5] for c in controllers]
        for kind, *controllers in (
            ("differential", "twist_pid"),
            ("ackermann", "twist_front_steer_pid", "front_steer_pid"),
            ("ackermann_drivetrain", "twist_front_steer_pid", "front_steer_pid"),
        )
    }
    assert gains == {
        "differential": [(10.0, 0.0, 0.0, 0.0, 100.0)],
        "ackermann": [(100.0, 0.0, 0.0, 0.0, 100.0)] * 2,
        "ackermann_drivetrain": [(100.0, 0.0, 0.0, 0.0, 400.0), (100.0, 0.0, 0.0, 0.0, 100.0)],
    }


def test_moments_of_a_polygon() -> None:
    far = [(x + 1e4, y - 1e4) for x, y in SQUARE]
    got = moments(far)
    assert (got.area, got.x, got.y) == pytest.approx((1.0, 1e4 + 0.5, -1e4 + 0.5))
    assert got.polar == pytest.approx(1.0 / 6.0)
    assert moments(SQUARE[::-1]) == pytest.approx(moments(SQUARE))
    with pytest.raises(InvalidValue, match="encloses no area"):
        moments([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)])


def test_the_hull_leaves_out_what_lies_inside() -> None:
    points = [*SQUARE, (0.5, 0.5), (0.5, 0.0)]
    assert sorted(hull(points)) == sorted(SQUARE)


def test_inertia_is_that_of_the_parts() -> None:
    d = wheeled.differential(4)
    got = mass_properties(d)
    masses = np.array([d.chassis.mass, *(w.mass for w in d.wheels)])
    assert got.mass == masses.sum()
    heights = [0.5 * (0.05 + 0.6), *(0.5 * w.diameter for w in d.wheels)]
    assert got.com_z == pytest.approx(masses @ heights / masses.sum())
    # Sampled: a plate of many points of the chassis outline, and boxes of the wheels.
    rng = np.random.default_rng(0).uniform(-1.0, 1.0, (400_000, 2))
    x, y = 0.6 * rng[:, 0], 0.5 * rng[:, 1]
    inside = (x > -0.4) & (x + np.abs(y) < 0.9)
    plate = d.chassis.mass * ((x[inside] - got.com_x) ** 2 + (y[inside] - got.com_y) ** 2).mean()
    boxes = sum(
        w.mass
        * ((w.diameter**2 + w.width**2) / 12 + (w.x - got.com_x) ** 2 + (w.y - got.com_y) ** 2)
        for w in d.wheels
    )
    assert got.I_z == pytest.approx(plate + boxes, rel=3e-3)
