"""Air: drag at a height, downforce with a balance, ride heights, and wind."""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple

import pytest

import skidpad as sp
from skidpad.vehicles.parts.air import Aerodynamics, AirShape, PlainAir, Wind, aero_map
from skidpad.vehicles.parts.assembly import NoStates
from skidpad.vehicles.parts.chassis import Travel

LEVEL = Travel(0.0, 0.0, 0.0)


class At(NamedTuple):
    v_x: float = 0.0
    v_y: float = 0.0
    yaw: float = 0.0


class Car(NamedTuple):
    l_f: float = 1.0
    l_r: float = 1.5
    z_cg: float = 0.5
    C_drag: float = 0.792
    C_down: float = 2.4
    down_front: float = 0.4


P = Car()
CALM = Wind()


def test_drag_and_downforce_by_hand() -> None:
    """½ 1.2 2 c 30²: 356.4 N of drag with c 0.33, and 1080 N of downforce with c 1."""
    air = Aerodynamics(rho=1.2, A=2.0, c_x=0.33, c_z=1.0, balance=0.4, h=0.5)
    f = air.forces(At(30.0), CALM, LEVEL, P)
    assert f.F_x == pytest.approx(-356.4, rel=1e-6)
    assert (f.front, f.rear) == pytest.approx((432.0, 648.0), rel=1e-6)
    assert (f.F_y, f.M_z) == (0.0, 0.0)
    plain = PlainAir().forces(At(30.0), NoStates(), LEVEL, P)
    assert f == pytest.approx(plain, rel=1e-6)
    for v in (-20.0, 30.0):
        assert air.resistance(v, P) == pytest.approx(PlainAir().resistance(v, P), rel=1e-12)


def test_the_height_of_drag_moves_load_to_the_rear() -> None:
    """At constant speed the tyres push the drag at the ground, so h D / L moves: z_cg of it by
    the force of the tyres, the rest by the air."""
    f = Aerodynamics(h=0.9).forces(At(40.0), CALM, LEVEL, P)
    assert f.rear == pytest.approx(-f.F_x * (0.9 - 0.5) / 2.5, rel=1e-12)
    assert f.front == -f.rear


def test_only_the_velocity_against_the_air_counts() -> None:
    """A wind along turned axes is a change of speed, and one from the side pushes aside."""
    air = Aerodynamics(c_x=0.3, c_y=2.0, c_z=0.5, x_y=0.4)
    yaw = 0.7
    behind = Wind(10.0 * math.cos(yaw), 10.0 * math.sin(yaw))
    moving = air.forces(At(30.0, 0.0, yaw), behind, LEVEL, P)
    slower = air.forces(At(20.0), CALM, LEVEL, P)
    assert moving == pytest.approx(slower, rel=1e-12, abs=1e-9)
    from_right = air.forces(At(30.0), Wind(0.0, 10.0), LEVEL, P)
    speed = math.hypot(30.0, 10.0)
    assert from_right.F_y == pytest.approx(0.5 * 1.2 * 2.0 * 2.0 * speed * 10.0, rel=1e-6)
    assert from_right.F_x == pytest.approx(-0.5 * 1.2 * 2.0 * 0.3 * speed * 30.0, rel=1e-6)
    assert from_right.M_z == pytest.approx(0.4 * from_right.F_y)
    # A car at rest in a storm is pushed where it blows.
    assert air.forces(At(), Wind(20.0, 0.0), LEVEL, P).F_x > 0.0


def test_density_scales_all() -> None:
    thick, thin = (Aerodynamics(rho=rho, c_y=1.0, c_z=2.0, h=0.7) for rho in (1.2, 0.6))
    x, w = At(40.0, 2.0, 0.3), Wind(5.0, -3.0)
    pairs = zip(thick.forces(x, w, LEVEL, P), thin.forces(x, w, LEVEL, P), strict=True)
    assert all(a == pytest.approx(2.0 * b, rel=1e-12) for a, b in pairs)


FRONT, REAR = (0.02, 0.06), (0.03, 0.05, 0.09)


def mapped(**shape: float) -> Any:
    """Coefficients that are bilinear in the ride heights."""
    cells = [[[a + b * f + c * r + d * f * r for r in REAR] for f in FRONT] for a, b, c, d in LAWS]
    c_x, c_z_f, c_z_r = cells
    return aero_map(FRONT, REAR, c_x, c_z_f, c_z_r, AirShape(ride_f=0.04, ride_r=0.06, **shape))


LAWS = ((1.1, 0.5, -0.4, 2.0), (2.0, -12.0, 3.0, 10.0), (2.5, 4.0, -9.0, -20.0))


def test_a_map_of_ride_heights() -> None:
    """The body sinks by the compression of its axles; a bilinear map is met between its knots
    where these are."""
    x, travel = At(50.0), Travel(0.1, 0.01, -0.01)
    f = mapped(h=0.5).forces(x, CALM, travel, P)
    front, rear = 0.03, 0.07
    c_x, c_f, c_r = (a + b * front + c * rear + d * front * rear for a, b, c, d in LAWS)
    pressing = 0.5 * 1.2 * 2500.0
    assert f.F_x == pytest.approx(-pressing * c_x, rel=1e-6)
    assert (f.front, f.rear) == pytest.approx((pressing * c_f, pressing * c_r), rel=1e-9)
    outside = mapped(h=0.5).forces(x, CALM, Travel(0.0, 0.5, 0.5), P)
    edge = [a + b * 0.02 + c * 0.03 + d * 0.02 * 0.03 for a, b, c, d in LAWS]
    assert outside.front == pytest.approx(pressing * edge[1], rel=1e-9)
    a, b, c, d = LAWS[0]
    resting = a + b * 0.04 + c * 0.06 + d * 0.04 * 0.06
    assert mapped().resistance(10.0, P) == pytest.approx(60.0 * resting, rel=1e-12)


def test_a_map_is_a_record_that_travels() -> None:
    assert pickle.loads(pickle.dumps(mapped())) == mapped()
    with pytest.raises(sp.InvalidValue, match="c_z_f has 2 rows and 2 columns"):
        aero_map((0.0, 1.0), (0.0, 1.0), [[1.0, 1.0]] * 2, [[1.0]] * 2, [[1.0, 1.0]] * 2)
