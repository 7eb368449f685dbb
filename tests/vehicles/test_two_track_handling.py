"""Handling of `two_track` against the closed forms of the linear car on two tracks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import skidpad as sp
from skidpad.tyres import Contact
from vehicles.two_track_turns import LINEAR, SENSITIVE, spinning_height, steady_turn

two_track = sp.vehicles.two_track
G = 9.81


def understeer(car: sp.Vehicle, a_y: float, v_x: float = 30.0) -> float:
    """Steering beyond the angle of a slow car on the same circle, in rad."""
    p = car.params
    return steady_turn(car, v_x, a_y).steer - math.atan((p.l_f + p.l_r) * a_y / v_x**2)


@pytest.mark.parametrize("C_f", [14.0, 18.0, 22.0])
def test_understeer_gradient_of_two_tyres(C_f: float) -> None:
    """W_f / C_f - W_r / C_r per g: with stiffness in proportion to load, 1 / c_f - 1 / c_r."""
    car = two_track(front=LINEAR._replace(C_y=C_f), rear=LINEAR, C_drag=0.0)
    want = (1.0 / C_f - 1.0 / LINEAR.C_y) / G
    assert understeer(car, 0.1) / 0.1 == pytest.approx(want, rel=2e-3, abs=2e-6)


@pytest.mark.parametrize("l_f", [0.9, 1.2, 1.5])
@pytest.mark.parametrize("trail", [0.0, 0.04])
def test_understeer_gradient_by_weight_distribution(l_f: float, trail: float) -> None:
    """The same tyres on both axles, whose stiffness grows less than the load. An aligning moment
    is the lateral force acting by its trail further back."""
    tyre = SENSITIVE._replace(trail=trail)
    car = two_track(tyre=tyre, l_f=l_f, l_r=2.4 - l_f, C_drag=0.0)
    p, m_L = car.params, car.params.m / 2.4
    C_f, C_r = (
        2.0 * tyre.stiffness(Contact(F_z=0.5 * m_L * G * arm)).K_y for arm in (p.l_r, p.l_f)
    )
    want = m_L * ((p.l_r + trail) / C_f - (p.l_f - trail) / C_r)
    assert understeer(car, 0.1) / 0.1 == pytest.approx(want, rel=2e-3, abs=2e-6)


@pytest.mark.parametrize("roll_front", [0.3, 0.5, 0.8])
def test_the_roll_share_sets_the_balance_near_the_limit(roll_front: float) -> None:
    """Angle of each axle at which its two tyres, under the loads of closed form, carry its share of
    the lateral force."""
    a_y = 5.0
    car = two_track(tyre=SENSITIVE, roll_front=roll_front, C_drag=0.0)
    p = car.params
    base, height = p.l_f + p.l_r, spinning_height(car, SENSITIVE.carcass.radius)

    def axle_angle(arm: float, share: float, track: float) -> float:
        mean, shift = 0.5 * p.m * G * arm / base, share * p.m * a_y * height / track

        def missing(angle: float) -> float:
            pair = (Contact(F_z=F_z, alpha=-angle) for F_z in (mean - shift, mean + shift))
            return sum(SENSITIVE.forces(at).F_y for at in pair) - p.m * a_y * arm / base

        return float(np.asarray(brentq(missing, 0.0, 0.15)))

    want = axle_angle(p.l_r, roll_front, p.track_f) - axle_angle(p.l_f, 1.0 - roll_front, p.track_r)
    assert understeer(car, a_y, v_x=40.0) == pytest.approx(want, abs=2e-4)


def test_more_roll_stiffness_in_front_is_more_understeer() -> None:
    steers = [
        steady_turn(two_track(tyre=SENSITIVE, roll_front=share), 30.0, 6.0).steer
        for share in (0.2, 0.4, 0.6, 0.8)
    ]
    assert np.all(np.diff(steers) > 1e-3)


def linear_car(car: sp.Vehicle, v: float) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of v_y, omega and of the steering angle, of the linear car on two tracks.

    Turning it turns its wheels: those of a side speed up, those of the other slow down.
    """
    p, tyre = car.params, car.params.tyres.tyre
    load = 0.5 * p.m * G / (p.l_f + p.l_r)
    C_f, C_r = (2.0 * tyre.stiffness(Contact(F_z=load * arm)).K_y for arm in (p.l_r, p.l_f))
    turning = p.l_f * C_f - p.l_r * C_r
    halves = 2.0 * ((0.5 * p.track_f) ** 2 + (0.5 * p.track_r) ** 2)
    I_z = p.I_z + p.I_w * halves / tyre.carcass.radius**2
    A = np.array(
        [
            [-(C_f + C_r) / (p.m * v), -turning / (p.m * v) - v],
            [-turning / (I_z * v), -(p.l_f**2 * C_f + p.l_r**2 * C_r) / (I_z * v)],
        ]
    )
    return A, np.array([C_f / p.m, p.l_f * C_f / I_z])


@pytest.mark.parametrize("v", [15.0, 30.0, 45.0])
def test_frequency_and_damping_of_the_yaw_response(v: float) -> None:
    """Eigenvalues of the exact Jacobian; those of the wheels are far away."""
    car = two_track(tyre=SENSITIVE, C_drag=0.0)
    x = car.model.settle(car.State(v_x=v), car.params)  # type: ignore[misc]
    modes = np.linalg.eigvals(car.linearise_continuous(x, car.Input()).A)
    for mode in np.linalg.eigvals(linear_car(car, v)[0]):
        assert np.abs(modes - mode).min() < 0.01 * abs(mode)


def test_a_small_step_of_steering_is_answered_as_by_the_linear_car() -> None:
    v, steer, duration = 30.0, 1e-3, 0.5
    car = two_track(tyre=SENSITIVE, C_drag=0.0)
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=v, steer=steer)
    run = sim.run({"steer": steer}, duration=duration)
    A, b = linear_car(car, v)
    for time in (0.05, 0.1, 0.2, 0.5):
        want = np.linalg.solve(A, (expm(A * time) - np.eye(2)) @ b)[1] * steer
        assert run["omega"][round(time / 0.001)] == pytest.approx(want, rel=0.01)


def test_a_slow_car_on_ackermann_steering_rolls_about_one_centre() -> None:
    """All wheels roll on circles about a point on the line of the rear axle: no slip angles."""
    car = two_track(tyre=LINEAR, ackermann=1.0, C_drag=0.0)
    p = car.params
    base, steer = p.l_f + p.l_r, 0.5
    omega = 0.5 * math.tan(steer) / base
    x = car.State(v_x=0.5, v_y=p.l_r * omega, omega=omega, steer=steer)
    x = car.model.settle(x, p)  # type: ignore[misc]
    out = car.outputs(x, car.Input(steer=steer))
    assert max(abs(getattr(out, f"F_y_{w}")) for w in ("fl", "fr", "rl", "rr")) < 1e-9
    for angle, side in ((out.steer_fl, 1.0), (out.steer_fr, -1.0)):
        radius = base / math.tan(steer) - side * 0.5 * p.track_f
        assert angle == pytest.approx(math.atan2(base, radius), rel=1e-12)
    parallel = two_track(tyre=LINEAR).outputs(x, car.Input(steer=steer))
    assert (parallel.steer_fl, parallel.steer_fr) == pytest.approx((steer, steer), rel=1e-12)


def test_toe_and_camber_have_symmetric_signs() -> None:
    """Toe in: the wheels push each other inwards, and nothing aside; the car drives straight."""
    car = two_track(tyre=LINEAR, toe_f=0.01, toe_r=-0.02, C_drag=0.0)
    x = car.model.settle(car.State(v_x=20.0), car.params)  # type: ignore[misc]
    out = car.outputs(x, car.Input())
    assert (out.steer_fl, out.steer_fr) == pytest.approx((-0.01, 0.01))
    # A wheel that points to the right of its way is pushed to the right.
    assert out.F_y_fl == -out.F_y_fr < 0.0 < out.F_y_rl == -out.F_y_rr
    assert car.derivative(x, car.Input()).v_y == 0.0
    assert car.derivative(x, car.Input()).omega == 0.0


def test_downforce_adds_grip_on_the_axle_it_presses() -> None:
    car = two_track(C_down=4.0, down_front=0.25)
    p = car.params
    x = car.State(v_x=30.0)
    out = car.outputs(x, car.Input())
    down, base = 0.5 * 4.0 * 900.0, p.l_f + p.l_r
    assert out.F_z_fl + out.F_z_fr == pytest.approx(p.m * G * p.l_r / base + 0.25 * down)
    assert out.F_z_rl + out.F_z_rr == pytest.approx(p.m * G * p.l_f / base + 0.75 * down)


def test_loads_of_a_steady_turn_balance() -> None:
    """Weight, pitch and roll balance with what the tyres really push."""
    car = two_track(C_down=1.0)
    turn = steady_turn(car, 25.0, 5.0)
    p, out = car.params, car.outputs(turn.x, car.Input(steer=turn.steer), turn.w)
    loads = [getattr(out, f"F_z_{w}") for w in ("fl", "fr", "rl", "rr")]
    down = 0.5 * 625.0
    assert sum(loads) == pytest.approx(p.m * G + down, rel=1e-9)
    F_x = p.m * out.a_x - turn.w.F_x + 0.5 * p.C_drag * 625.0
    # The spin of the wheels yaws with the car, and their resistance presses the rear.
    spins = np.array([getattr(turn.x, f"spin_{w}") for w in ("fl", "fr", "rl", "rr")])
    tyre = p.tyres.tyre
    at = (Contact(F_z=F, omega=s) for F, s in zip(loads, spins, strict=True))
    rolling = sum(tyre.forces(contact).M_y for contact in at)
    pitch = p.l_f * (loads[0] + loads[1]) - p.l_r * (loads[2] + loads[3])
    assert pitch == pytest.approx(0.5 * down * (p.l_f - p.l_r) - F_x * p.z_cg + rolling, rel=1e-6)
    roll = 0.5 * p.track_f * (loads[1] - loads[0]) + 0.5 * p.track_r * (loads[3] - loads[2])
    gyro = p.I_w * spins.sum() * turn.x.omega
    assert roll == pytest.approx(p.m * out.a_y * p.z_cg + gyro, rel=1e-6)
    assert gyro > 0.025 * roll
    assert out.a_y == pytest.approx(5.0, rel=1e-6)
