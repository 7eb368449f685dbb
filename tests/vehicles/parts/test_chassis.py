"""Load transfer by roll centres, roll stiffness and links, against sums by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.chassis import (
    Pressed,
    QuasiStatic,
    RollPitch,
    RollPitchState,
    Suspension,
    link_shares,
    roll_gradient,
    roll_stiffness,
    sprung_mass,
    wheel_travel,
)
from skidpad.vehicles.parts.kinematics import Acceleration
from vehicles.parts.sprung_car import BY_HAND, CALM, LEVEL, At, G, Moving, P, acting

HEIGHT = st.floats(-0.05, 0.25)
PUSH = st.floats(-4.0, 4.0)
SHARE = st.floats(-0.3, 1.2)


def test_sprung_mass_by_hand() -> None:
    """1000 kg of 1200: moments about the front axle give its place, about the ground its height."""
    body = sprung_mass(BY_HAND, P)
    assert body.m == 1000.0
    # Whole car: 1200 * 1.0 m behind the front axle; the rear axle has 120 * 2.5 of it.
    assert body.l_f == pytest.approx((1200.0 - 300.0) / 1000.0, rel=1e-14)
    assert body.l_r == pytest.approx(1.6, rel=1e-14)
    assert (body.front, body.rear) == pytest.approx((640.0, 360.0), rel=1e-14)
    height = (1200.0 * 0.5 - 80.0 * 0.3 - 120.0 * 0.25) / 1000.0
    assert height == pytest.approx(0.546)
    assert body.arm == pytest.approx(0.546 - (0.64 * 0.06 + 0.36 * 0.14), rel=1e-14)


def test_wheel_loads_of_a_turn_by_hand() -> None:
    """Milliken, 18.4: each axle gets its roll stiffness times the roll, its sprung mass at the roll
    centre, and its unsprung mass at its height, all over its track."""
    K_f, K_r = 0.5 * 20000.0 * 1.4**2 + 8000.0, 0.5 * 30000.0 * 1.5**2 + 2000.0
    assert roll_stiffness(BY_HAND, P) == pytest.approx((K_f, K_r), rel=1e-14)
    arm, a_y = 0.546 - 0.0888, 5.0
    roll = 1000.0 * arm * a_y / (K_f + K_r - 1000.0 * G * arm)
    assert roll_gradient(BY_HAND, P) * a_y == pytest.approx(roll, rel=1e-12)
    fl, fr, rl, rr = QuasiStatic(BY_HAND).loads(At(0.0, a_y), LEVEL, CALM, P)
    front = K_f * roll + 640.0 * a_y * 0.06 + 80.0 * a_y * 0.3
    rear = K_r * roll + 360.0 * a_y * 0.14 + 120.0 * a_y * 0.25
    assert (fr - fl) / 2.0 == pytest.approx(front / 1.4, rel=1e-12)
    assert (rr - rl) / 2.0 == pytest.approx(rear / 1.5, rel=1e-12)
    assert fl + fr == pytest.approx(P.m * G * 1.5 / 2.5, rel=1e-14)


@given(h_rc_f=HEIGHT, h_rc_r=HEIGHT, a_x=PUSH, a_y=PUSH, bar_f=st.floats(0.0, 4e4))
def test_moments_about_the_ground_balance(
    h_rc_f: float, h_rc_r: float, a_x: float, a_y: float, bar_f: float
) -> None:
    """The tyres push m a at the ground; the weight of the body is out by its arm times the roll."""
    s = BY_HAND._replace(h_rc_f=h_rc_f, h_rc_r=h_rc_r, bar_f=bar_f)
    chassis, x, down = QuasiStatic(s), At(a_x, a_y), Pressed(300.0, 500.0)
    fl, fr, rl, rr = chassis.loads(x, LEVEL, down, P)
    body, roll = sprung_mass(s, P), chassis.travel(x, P).roll
    across = 0.5 * P.track_f * (fr - fl) + 0.5 * P.track_r * (rr - rl)
    want = P.m * a_y * P.z_cg + body.m * G * body.arm * roll
    assert across == pytest.approx(want, rel=1e-9, abs=1e-9)
    along = P.l_f * (fl + fr - 300.0) - P.l_r * (rl + rr - 500.0)
    assert along == pytest.approx(-P.m * a_x * P.z_cg, rel=1e-9, abs=1e-8)
    assert fl + fr + rl + rr == pytest.approx(P.m * G + 800.0, rel=1e-12)


def test_the_bars_set_the_distribution() -> None:
    """Without roll centres and unsprung mass the share of an axle is its share of stiffness; a
    bar that is stiff enough takes any share."""
    light = Suspension(m_u_f=0.0, m_u_r=0.0, bar_f=0.0, bar_r=0.0)
    K_f, K_r = roll_stiffness(light, P)
    for share in (0.5, 0.7, 0.9):
        bar = (share * K_r - (1.0 - share) * K_f) / (1.0 - share)
        s = light._replace(bar_f=bar)
        fl, fr, rl, rr = QuasiStatic(s).loads(At(0.0, 3.0), LEVEL, CALM, P)
        front, rear = P.track_f * (fr - fl), P.track_r * (rr - rl)
        assert front / (front + rear) == pytest.approx(share, rel=1e-12)


def test_a_roll_axis_through_the_centre_of_mass_does_not_roll() -> None:
    s = BY_HAND._replace(h_rc_f=0.546, h_rc_r=0.546)
    assert abs(roll_gradient(s, P)) < 1e-15


def test_links_take_their_share_of_dive_and_squat() -> None:
    """Compression of an axle is (1 - anti) m a h / (2 k L); with all of it in the links, none."""
    s = BY_HAND._replace(anti_dive=0.4, anti_lift_r=0.25, anti_squat=1.0, anti_lift_f=0.1)
    moved = P.m * 6.0 * P.z_cg / 2.5
    _, front, rear, _ = QuasiStatic(s).travel(At(-6.0), P)
    assert front == pytest.approx(0.6 * moved / 40000.0, rel=1e-12)
    assert rear == pytest.approx(-0.75 * moved / 60000.0, rel=1e-12)
    _, front, rear, _ = QuasiStatic(s).travel(At(6.0), P)
    assert front == pytest.approx(-0.9 * moved / 40000.0, rel=1e-12)
    assert rear == 0.0
    assert link_shares(0.0, s) == pytest.approx((0.25, 0.625))


def test_loads_of_axles_do_not_depend_on_links() -> None:
    """How the load gets there does not change how much: springs and links add up to all of it."""
    s = BY_HAND._replace(anti_dive=0.7, anti_lift_r=0.9)
    plain, linked = (QuasiStatic(t).loads(At(-5.0, 2.0), LEVEL, CALM, P) for t in (BY_HAND, s))
    assert plain == linked


def test_the_outer_wheels_are_compressed() -> None:
    """To the left, the right side is down by half the track times the roll."""
    roll, *_ = travel = QuasiStatic(BY_HAND).travel(At(0.0, 4.0), P)
    assert roll > 0.0
    assert wheel_travel(travel, P) == pytest.approx(
        (-0.7 * roll, 0.7 * roll, -0.75 * roll, 0.75 * roll), rel=1e-14
    )


@given(a_x=PUSH, a_y=PUSH, down_f=st.floats(0.0, 900.0), anti=SHARE, lift=SHARE)
def test_the_body_comes_to_rest_where_it_is_in_balance(
    a_x: float, a_y: float, down_f: float, anti: float, lift: float
) -> None:
    """At the posture of the quasi-static body no rate of `RollPitch` is left, and loads are those
    of the quasi-static one."""
    s = BY_HAND._replace(anti_dive=anti, anti_squat=anti, anti_lift_r=lift, anti_lift_f=0.5 * lift)
    still, moving = QuasiStatic(s), RollPitch(s)
    at, air, body = At(a_x, a_y), Pressed(down_f, 400.0), sprung_mass(s, P)
    roll, front, rear, _ = still.travel(at, P)
    # The downforce sinks this body, too.
    front, rear = front + down_f / (2.0 * s.k_f), rear + 400.0 / (2.0 * s.k_r)
    pitch = (front - rear) / 2.5
    x = Moving(a_x, a_y, roll=roll, pitch=pitch, heave=body.l_f * pitch - front)
    assert moving.travel(x, P)[:3] == pytest.approx((roll, front, rear), abs=1e-15)
    rates = moving.rates(x, acting(Acceleration(a_x, a_y), air), P)
    assert rates == pytest.approx(RollPitchState(), abs=1e-9)
    want = still.loads(at, LEVEL, air, P)
    assert moving.loads(x, LEVEL, air, P) == pytest.approx(want, rel=1e-9)


def test_a_body_in_the_air_presses_on_no_wheel() -> None:
    chassis = RollPitch(BY_HAND)
    flying: Any = Moving(heave=0.5, roll=0.1, pitch=0.05)
    assert chassis.loads(flying, LEVEL, CALM, P) == pytest.approx((0.0,) * 4, abs=1e-9)
    tipped: Any = Moving(heave=0.08, roll=0.3)
    assert min(chassis.loads(tipped, LEVEL, CALM, P)) >= 0.0
