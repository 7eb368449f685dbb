"""The default car: `two_track` within the rules of Formula Student, from rest to the limit."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import skidpad as sp
from skidpad.core import record
from skidpad.tyres import BrushTyre
from skidpad.vehicles import two_track
from skidpad.vehicles.parts import HydraulicBrakes, MotorDrive, SteadySlip, WheelMotors
from skidpad.vehicles.parts.electric import SpeedLimit, WheelTorques

formula_student = sp.vehicles.formula_student
CAR = formula_student()
P = CAR.params
WHEELS = ("fl", "fr", "rl", "rr")
DRIVE = {f"tau_{wheel}": P.tau_max for wheel in WHEELS}
BRAKE = {f"brake_{wheel}": P.brake_max for wheel in WHEELS}
BASE = P.l_f + P.l_r
LIMITED = 80e3
"""W, of the rules."""


@cache
def fleet() -> sp.Fleet:
    return sp.Fleet(CAR, dt=0.002, integrator="rk4", threads=1)


def driven(inputs: dict[str, float], seconds: float, start: dict[str, float], **more: Any) -> Any:
    """States every 10 ms of one car under held inputs, as a record of columns."""
    u = np.array([record.flatten(CAR.Input(**inputs))])
    states = fleet().rollout(start, u, steps=round(seconds / 0.002), every=5, **more)
    return CAR.State(*states[:, 0].T)


def rolling(v: float, **more: float) -> Any:
    assert CAR.model.settle is not None
    return CAR.model.settle(CAR.State(v_x=v, **more), P)


def test_it_is_two_track_with_its_parameter_set() -> None:
    same = two_track("formula_student")
    assert record.flatten(P) == record.flatten(same.params)
    assert (CAR.State, CAR.Input) == (same.State, same.Input)
    x, u = rolling(12.0, steer=0.1, v_y=0.3), CAR.Input(steer=0.2, **DRIVE)
    assert CAR.derivative(x, u) == same.derivative(x, u)
    assert repr(CAR) == "formula_student()"
    assert CAR.model.Params() == P


def test_what_is_said_of_it_wins() -> None:
    car = formula_student(m=240.0, **{"tyres.tyre.lateral.D": 1.4})
    assert (car.params.m, car.params.tyres.tyre.lateral.D, car.params.l_f) == (240.0, 1.4, P.l_f)
    assert formula_student({"m": 240.0}).params == formula_student(m=240.0).params
    assert formula_student(car.params, I_z=130.0).params == car.params._replace(I_z=130.0)
    pedals = formula_student(powertrain=MotorDrive(), brakes=HydraulicBrakes(), tyre=BrushTyre())
    assert pedals.name == "formula_student"
    assert pedals.Input._fields == ("steer", "throttle", "gear", "brake", "handbrake")
    assert (pedals.params.m, type(pedals.params.tyres.tyre)) == (P.m, BrushTyre)
    for one in (CAR, car, pedals):
        again = pickle.loads(pickle.dumps(one))
        assert again.model is one.model
        assert again.params == one.params


def test_another_parameter_set_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="'sports' another"):
        formula_student("sports")


@pytest.mark.parametrize("steer", [-0.5, 0.0, 0.3])
def test_at_rest_nothing_moves(steer: float) -> None:
    rest = CAR.State(steer=steer)
    rate = CAR.derivative(rest, CAR.Input(steer=steer))
    assert record.flatten(rate) == (0.0,) * len(rate)


@pytest.mark.parametrize("steer", [0.0, 0.4])
def test_a_braked_car_stays_on_a_slope_of_20_percent(steer: float) -> None:
    w = np.array([record.flatten(CAR.model.Disturbance(F_x=-0.2 * P.m * 9.81))])
    x = driven(BRAKE | {"steer": steer}, 6.0, {"steer": steer}, disturbances=w)
    assert abs(x.x[-1]) < 0.01
    late = slice(-100, None)
    assert np.abs(np.array([x.v_x[late], x.v_y[late], x.omega[late]])).max() < 1e-6


def test_brakes_stop_it_and_do_not_reverse() -> None:
    x = driven(BRAKE, 4.0, {"v_x": 25.0})
    assert np.abs(x.v_x[-20:]).max() < 1e-6
    # It rests where it stopped, within what its tyres swing back.
    assert x.x.max() - x.x[-1] < 0.05
    # The wheels lock, so that it slides with the Magic Formula at a slip of -1, and downforce.
    B, C, D, E = P.tyres.tyre.longitudinal
    sliding = D * np.sin(C * np.arctan(B - E * (B - np.arctan(B))))
    most = 25.0**2 / (2.0 * P.g * sliding)
    assert 0.6 * most < x.x[-1] < most


@pytest.mark.parametrize("grip", [1.0, 0.1])
def test_its_wheels_take_no_more_than_the_power_of_the_rules(grip: float) -> None:
    """From rest at full torque; on ice all wheels spin up to where their motors stop to drive."""
    w = np.array([record.flatten(CAR.model.Disturbance(**{f"mu_{n}": grip for n in WHEELS}))])
    x = driven(DRIVE, 5.0, {"v_x": 0.0}, disturbances=w)
    out = CAR.outputs(x, CAR.Input())
    assert out.P_source.max() <= LIMITED
    assert out.P_source.max() > 0.97 * LIMITED
    spins = np.array([getattr(x, f"spin_{wheel}") for wheel in WHEELS])
    assert spins.max() <= P.powertrain.speed.spin_max
    radius = CAR.geometry.wheels[0].radius
    if grip < 1.0:
        assert (spins[:, 100] * radius > 4.0 * x.v_x[100]).all()
    # What the car has gained, and its wheels, is no more than they were given.
    given = np.concatenate([[0.0], np.cumsum(0.01 * out.P_wheels)])[:-1]
    kinetic = 0.5 * P.m * x.v_x**2 + 0.5 * P.I_w * (spins**2).sum(axis=0)
    assert (kinetic <= given + 0.02 * given[-1]).all()


def resistance(v: float) -> float:
    """Of air and of tyres under weight and downforce."""
    load = P.m * P.g + 0.5 * P.C_down * v * v
    return 0.5 * P.C_drag * v * v + P.tyres.tyre.carcass.rolling * load


def test_top_speed_is_where_power_meets_resistance() -> None:
    """Of motors that turn as fast as one likes; what slips is 0.5 % of the power."""
    limit = brentq(lambda v: v * resistance(v) - P.powertrain.efficiency * LIMITED, 5.0, 100.0)
    params = {"powertrain.speed.spin_max": 400.0}
    x = driven(DRIVE, 60.0, {"v_x": 0.95 * limit}, params=params)
    assert x.v_x[-1] - x.v_x[-500] < 1e-3
    assert x.v_x[-1] == pytest.approx(limit, rel=0.01)
    assert x.v_x[-1] < limit


def test_its_motors_are_too_slow_for_that() -> None:
    """They drive up to 160 rad/s, and fade before."""
    x = driven(DRIVE, 12.0, {"v_x": 25.0})
    radius = CAR.geometry.wheels[0].radius
    assert 0.95 < x.v_x[-1] / (P.powertrain.speed.spin_max * radius) < 1.0
    assert CAR.limits.v_max == pytest.approx(P.powertrain.speed.spin_max * radius)


def test_a_motor_that_is_told_to_brake_gives_power_back() -> None:
    braking = {f"tau_{wheel}": -50.0 for wheel in WHEELS}
    out = CAR.outputs(rolling(20.0, **braking), CAR.Input())
    assert out.P_wheels == pytest.approx(-200.0 * 20.0 / CAR.geometry.wheels[0].radius, rel=0.01)
    assert out.P_source == pytest.approx(0.9 * out.P_wheels)


@pytest.mark.parametrize(("v", "steer"), [(0.5, 0.5), (1.0, -0.3), (2.0, 0.2)])
def test_slow_driving_is_kinematic(v: float, steer: float) -> None:
    """The yaw rate of wheels that do not slip, and no tyre near its friction."""
    hold = resistance(v) * CAR.geometry.wheels[0].radius / 4.0
    x = driven({"steer": steer, **{f"tau_{n}": hold for n in WHEELS}}, 2.0, {"v_x": v})
    # The rear axle rolls straight ahead.
    assert x.omega[-1] == pytest.approx(x.v_x[-1] * np.tan(steer) / BASE, rel=0.02)
    assert x.v_y[-1] == pytest.approx(P.l_r * x.omega[-1], rel=0.03)


@pytest.mark.parametrize("steer", [-0.5, 0.2])
def test_a_car_that_rolls_about_one_centre_does_not_scrub(steer: float) -> None:
    """Ackermann's geometry: all wheels at right angles to the line to the centre of the turn."""
    steady = formula_student(slip=SteadySlip())
    for v in (0.5, 2.0, -2.0):
        omega = v * np.tan(steer) / BASE
        x = steady.State(v_x=v, v_y=P.l_r * omega, omega=omega, steer=steer)
        assert steady.model.settle is not None
        out = steady.outputs(steady.model.settle(x, steady.params), steady.Input())
        assert max(abs(getattr(out, f"alpha_{wheel}")) for wheel in WHEELS) < 1e-12
        assert max(abs(getattr(out, f"kappa_{wheel}")) for wheel in WHEELS) < 1e-12


@pytest.mark.parametrize("angle", np.linspace(-np.pi, np.pi, 9).tolist())
def test_locked_wheels_are_pulled_against_their_motion(angle: float) -> None:
    """Whichever way the car points. Friction along and across differs by a few percent."""
    car = formula_student(slip=SteadySlip(), C_drag=0.0, C_down=0.0)
    v = 8.0 * np.array([np.cos(angle), np.sin(angle)])
    rate = car.derivative(car.State(v_x=v[0], v_y=v[1]), car.Input(**BRAKE))
    a = np.array([rate.v_x, rate.v_y])
    assert a @ v < -0.97 * np.linalg.norm(a) * np.linalg.norm(v)
    assert np.linalg.norm(a) > 0.3 * 9.81


def test_gradients_are_finite_from_rest_to_full_lock() -> None:
    x, u = ca.SX.sym("x", record.size(CAR.State)), ca.SX.sym("u", record.size(CAR.Input))
    rate = CAR.derivative(CAR.State(*ca.vertsplit(x)), CAR.Input(*ca.vertsplit(u)))
    jacobian = ca.Function("J", [x, u], [ca.jacobian(ca.vertcat(*rate), ca.vertcat(x, u))])
    for v in (-2.0, 0.0, 0.5, 15.0, 32.0):
        for steer in (-0.5, 0.0, 0.5):
            for torque in (-P.tau_max, 0.0, P.tau_max):
                at = rolling(v, steer=steer, **{f"tau_{n}": torque for n in WHEELS})
                assert np.isfinite(jacobian(at, [steer, *[torque] * 4, *[0.0] * 4]).full()).all()


def test_other_drives_of_the_same_car() -> None:
    """The same motors without limits, and others: the record among the parameters says which."""
    free = formula_student(powertrain=WheelTorques())
    told = rolling(30.0, **DRIVE)
    rate, limited = (one.derivative(told, one.Input(**DRIVE)) for one in (free, CAR))
    assert rate.spin_rl > 2.0 * limited.spin_rl
    weak = formula_student(powertrain=WheelMotors(P_max=10e3, speed=SpeedLimit(spin_max=100.0)))
    assert weak.outputs(rolling(15.0, **DRIVE), weak.Input()).P_source <= 10e3
    assert weak.model is CAR.model


def test_gradients_of_rollouts_from_rest_are_their_slopes() -> None:
    """Standing, setting off, and braked to a stop; the wheels steered."""
    cars = sp.Fleet(CAR, 0.004, "rk4", threads=1, lanes=4)
    names, inputs = record.names(CAR.State), record.names(CAR.Input)
    x0, u = np.zeros((3, len(names))), np.zeros((60, 3, len(inputs)))
    x0[2, names.index("v_x")] = 0.02
    u[:, :, 0], u[:, 1, 1:5], u[:, 2, 5:] = 0.2, 60.0, 40.0
    cost = sp.Cost(
        stage=lambda x, u: (x.v_x - 3.0) ** 2 + x.y * x.y, terminal=lambda x: x.yaw * x.yaw
    )
    _, gradient = cars.gradient(x0, u, cost)
    for part in ("x0", "controls", "params"):
        assert np.isfinite(getattr(gradient, part)).all(), part
    h, ends = 1e-4, []
    for side in (h, -h):
        other = u.copy()
        other[10, 1, inputs.index("tau_rl")] += side
        ends.append(cars.gradient(x0, other, cost)[0][1])
    slope = (ends[0] - ends[1]) / (2.0 * h)
    assert gradient.controls[10, 1, inputs.index("tau_rl")] == pytest.approx(slope, rel=1e-5)
