"""Kernels against values worked by hand, and the limits they promise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.tyres.contract import use
from skidpad.tyres.simple import MagicFormula, cornering_stiffness, friction
from skidpad.vehicles.parts.actuators import lag, limited_lag, rate_limited_lag
from skidpad.vehicles.parts.air import downforce, resistance
from skidpad.vehicles.parts.kinematics import (
    Acceleration,
    body_acceleration,
    kinetic_energy,
    pose_rate,
    velocity_rate,
)
from skidpad.vehicles.parts.load_transfer import (
    AxleLoad,
    Force,
    Friction,
    Velocity,
    accelerations,
    axle_friction,
    axle_load,
    contact_velocities,
    drive_force,
    in_wheel_frame,
    rigid_load_law,
    slip_angle,
    smooth_slip_angle,
    tyre_force,
    under_force,
    wheel_loads,
    yaw_moment,
)

number = st.floats(-30.0, 30.0)


def test_pose_rate_turns_the_velocity_into_the_world() -> None:
    north = pose_rate(math.pi / 2, 3.0, 1.0, 0.2)
    assert north == pytest.approx((-1.0, 3.0, 0.2))


@given(number, number, number, number, number)
def test_body_acceleration_undoes_velocity_rate(a_x, a_y, v_x, v_y, omega) -> None:
    a = Acceleration(a_x, a_y)
    back = body_acceleration(velocity_rate(a, v_x, v_y, omega), v_x, v_y, omega)
    assert back == pytest.approx(a, abs=1e-9)


def test_circular_motion_has_centripetal_acceleration() -> None:
    assert velocity_rate(Acceleration(0.0, 10.0 * 0.5), 10.0, 0.0, 0.5) == pytest.approx((0.0, 0.0))
    assert kinetic_energy(3.0, 4.0, 2.0, m=10.0, I_z=5.0) == pytest.approx(125.0 + 10.0)


def test_contact_velocities_of_a_car_turning_on_the_spot() -> None:
    v = contact_velocities(0.0, 0.0, 2.0, l_f=1.0, l_r=1.5, track=1.2)
    assert v.fl == pytest.approx((-1.2, 2.0))
    assert v.fr == pytest.approx((1.2, 2.0))
    assert v.rl == pytest.approx((-1.2, -3.0))
    assert v.rr == pytest.approx((1.2, -3.0))


def test_slip_angle_pushes_against_the_drift_forwards_and_backwards() -> None:
    for along in (5.0, -5.0):
        assert slip_angle(Velocity(along, 0.5), 1e-3) == pytest.approx(-math.atan(0.1))
    steered = in_wheel_frame(Velocity(5.0, 0.0), math.cos(0.1), math.sin(0.1))
    assert slip_angle(steered, 1e-3) == pytest.approx(0.1)
    assert slip_angle(Velocity(0.0, 0.0), 1e-3) == 0.0


@given(st.floats(-20.0, 20.0), st.floats(-5.0, 5.0))
def test_smooth_slip_angle_keeps_the_sign_and_joins_the_exact_one(along, across) -> None:
    smooth = smooth_slip_angle(Velocity(along, across), 2.0)
    exact = slip_angle(Velocity(along, across), 1e-3)
    assert smooth * across <= 0.0
    assert abs(smooth) <= abs(exact) * (1.0 + 1e-12)
    if abs(along) >= 2.0:
        assert smooth == pytest.approx(exact, rel=1e-12)


def test_smooth_slip_angle_has_two_continuous_derivatives_at_the_joint() -> None:
    def rolling(v: float) -> float:
        return -1e-6 / math.tan(smooth_slip_angle(Velocity(v, 1e-6), 2.0))

    h = 1e-3
    slope = (rolling(2.0 + h) - rolling(2.0 - h)) / (2 * h)
    curvature = (rolling(2.0 + h) - 2.0 * rolling(2.0) + rolling(2.0 - h)) / h**2
    assert slope == pytest.approx(1.0, abs=1e-5)
    assert curvature == pytest.approx(0.0, abs=2e-3)
    assert rolling(0.0) == pytest.approx(0.75)


def test_magic_formula_slope_peak_and_sign() -> None:
    p = MagicFormula(B=10.0, C=1.5, D=1.2, E=0.0)
    assert friction(1e-6, p) / 1e-6 * 800.0 == pytest.approx(cornering_stiffness(800.0, p))
    # With E = 0 the peak is where C atan(B alpha) = π / 2.
    peak = math.tan(math.pi / 3.0) / 10.0
    assert friction(peak, p) == pytest.approx(1.2)
    assert friction(-peak, p) == pytest.approx(-1.2)


@given(
    st.floats(-1.6, 1.6),
    st.builds(
        MagicFormula,
        st.floats(1.0, 30.0),
        st.floats(0.5, 2.0),
        st.floats(0.1, 2.0),
        st.floats(-3, 1),
    ),
)
def test_friction_never_exceeds_its_peak_and_never_turns_round(alpha, p) -> None:
    mu = friction(alpha, p)
    assert abs(mu) <= p.D
    assert mu * alpha >= -1e-15


@given(st.floats(-3000.0, 3000.0), st.floats(0.0, 3000.0), st.floats(0.1, 0.99))
def test_use_of_friction_stays_on_the_ellipse(demand, limit, most) -> None:
    share = use(demand, limit, most, floor=1.0)
    along = share.firm + share.sliding
    assert abs(along) <= most * (1.0 + 1e-12)
    assert along * demand >= 0.0
    assert along**2 + share.across**2 == pytest.approx(1.0)


def test_use_follows_a_small_demand_and_saturates_without_a_corner() -> None:
    def along(r: float) -> float:
        share = use(1000.0 * r, 1000.0, 0.95, floor=1.0)
        return share.firm + share.sliding

    assert along(0.3) == pytest.approx(0.3, rel=1e-4)
    assert along(5.0) == pytest.approx(0.95)
    end, h = 0.95 * 9.0 / 8.0, 1e-5
    assert (along(end) - along(end - h)) / h == pytest.approx(0.0, abs=1e-3)


def test_use_splits_into_the_tangent_over_load() -> None:
    """d(limit * along) / d limit is `sliding`: a gripping wheel does not feel its load."""
    for demand in (100.0, 800.0, 950.0, 2000.0):
        h = 1e-3
        force = [
            limit * (share.firm + share.sliding)
            for limit in (1000.0 - h, 1000.0 + h)
            for share in [use(demand, limit, 0.95, floor=1.0)]
        ]
        slope = (force[1] - force[0]) / (2 * h)
        assert slope == pytest.approx(use(demand, 1000.0, 0.95, floor=1.0).sliding, abs=1e-6)


def test_actuators_keep_their_limits() -> None:
    assert lag(1.0, 3.0, 0.5) == pytest.approx(4.0)
    assert limited_lag(9.0, 50.0, 0.5, limit=10.0) == pytest.approx(2.0)
    assert limited_lag(10.0, 50.0, 0.5, limit=10.0) == 0.0
    assert rate_limited_lag(0.0, 0.4, 0.02, limit=0.5, rate_limit=1.0) == 1.0
    assert rate_limited_lag(0.0, -0.4, 0.02, limit=0.5, rate_limit=1.0) == -1.0
    assert rate_limited_lag(0.0, 0.01, 0.02, limit=0.5, rate_limit=1.0) == pytest.approx(0.5)


@given(st.floats(0.0, 60.0))
def test_resistance_is_odd_and_opposes(v_x) -> None:
    ahead = resistance(v_x, 350.0, 20.0, 3.0, 0.1)
    assert resistance(-v_x, 350.0, 20.0, 3.0, 0.1) == -ahead
    assert ahead <= 0.0
    assert downforce(v_x, 4.0) == pytest.approx(2.0 * v_x * v_x)


def test_resistance_at_speed() -> None:
    assert resistance(10.0, 350.0, 20.0, 3.0, 0.1) == pytest.approx(-850.0)
    assert resistance(-10.0, 350.0, 20.0, 3.0, 0.1) == pytest.approx(850.0)
    assert resistance(0.0, 350.0, 20.0, 3.0, 0.1) == 0.0


def test_drive_torque_difference_turns_the_car_to_the_left() -> None:
    rear = drive_force(100.0, 300.0, 1.0, 0.0)
    front = drive_force(0.0, 0.0, 1.0, 0.0)
    assert yaw_moment(front, rear, l_f=1.0, l_r=1.0, track=1.5) == pytest.approx(150.0)
    steered = drive_force(200.0, 200.0, math.cos(0.2), math.sin(0.2))
    nothing = drive_force(0.0, 0.0, 1.0, 0.0)
    moment = yaw_moment(steered, nothing, l_f=1.1, l_r=1.0, track=1.5)
    assert moment == pytest.approx(1.1 * 400.0 * math.sin(0.2))


def test_axle_force_is_the_sum_of_its_wheels() -> None:
    left, right = Friction(0.1, -0.4), Friction(-0.2, -0.7)
    force = tyre_force(axle_friction(left, right), AxleLoad(mean=500.0, shift=120.0))
    assert force.x == pytest.approx(0.1 * 380.0 - 0.2 * 620.0)
    assert force.y == pytest.approx(-0.4 * 380.0 - 0.7 * 620.0)
    assert force.difference == pytest.approx(-0.2 * 620.0 - 0.1 * 380.0)


CAR = {"m": 200.0, "l_f": 0.9, "l_r": 0.6, "track": 1.2, "z_cg": 0.3}
WEIGHT = 200.0 * 9.81


def test_rigid_loads_balance_pitch_and_roll() -> None:
    law = rigid_load_law(WEIGHT, **CAR)
    a = Acceleration(-3.0, 5.0)
    fl, fr, rl, rr = wheel_loads(axle_load(a, law.front), axle_load(a, law.rear))
    assert fl + fr + rl + rr == pytest.approx(WEIGHT)
    # Moments about the ground below the centre of mass.
    assert 0.9 * (fl + fr) - 0.6 * (rl + rr) == pytest.approx(200.0 * 3.0 * 0.3)
    assert 0.6 * (fr + rr - fl - rl) == pytest.approx(200.0 * 5.0 * 0.3)
    assert fr - fl == pytest.approx(rr - rl)


def test_force_at_the_centre_of_mass_leans_on_the_tyres() -> None:
    """Held in place against a push of 100 N, the tyres carry a moment of 100 N times the height."""
    law = under_force(rigid_load_law(WEIGHT, **CAR), Force(100.0, -50.0), 200.0)
    still = Acceleration(0.0, 0.0)
    fl, fr, rl, rr = wheel_loads(axle_load(still, law.front), axle_load(still, law.rear))
    assert 0.9 * (fl + fr) - 0.6 * (rl + rr) == pytest.approx(100.0 * 0.3)
    assert 0.6 * (fr + rr - fl - rl) == pytest.approx(50.0 * 0.3)


friction_value = st.floats(-1.6, 1.6)
friction_vector = st.builds(Friction, friction_value, friction_value)


@given(friction_vector, friction_vector, friction_vector, friction_vector)
def test_accelerations_close_the_loop(fl, fr, rl, rr) -> None:
    law = rigid_load_law(WEIGHT, **CAR)
    front, rear = axle_friction(fl, fr), axle_friction(rl, rr)
    a = accelerations(Force(120.0, -80.0), front, rear, law, 200.0)
    force_f = tyre_force(front, axle_load(a, law.front))
    force_r = tyre_force(rear, axle_load(a, law.rear))
    scale = 1.0 + abs(a.x) + abs(a.y)
    assert 200.0 * a.x == pytest.approx(120.0 + force_f.x + force_r.x, abs=1e-9 * 200.0 * scale)
    assert 200.0 * a.y == pytest.approx(-80.0 + force_f.y + force_r.y, abs=1e-9 * 200.0 * scale)
