"""Steering responses: against the textbook's transfer function and against a simulated sine."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import ops, units
from skidpad.core import body, record
from skidpad.errors import InvalidValue
from skidpad.run.trim import steady, straight
from skidpad.vehicles.parts import FrontWheelDrive, MotorDrive, OpenDifferential, RearWheelDrive
from skidpad.view.plots import steering_response
from skidpad.view.plots.handling import phase, steering_system
from view.plots.drawn import curves, diagrams, keys, titles
from view.plots.renamed import renamed

ST = sp.vehicles.commonroad_st()
FREQUENCY = np.geomspace(0.05, 20.0, 25)


def single_track(p, v: float, frequency):
    """Yaw rate and lateral acceleration per steering angle of the linear single-track model.

    Equations of motion of Riekert and Schunck (1940) in slip angle and yaw rate, solved by
    Cramer's rule; loads are those at rest.
    """
    base = p.l_f + p.l_r
    C_f, C_r = p.C_f * p.m * p.g * p.l_r / base, p.C_r * p.m * p.g * p.l_f / base
    s = 2j * np.pi * np.asarray(frequency)
    a11 = s + (C_f + C_r) / (p.m * v)
    a12 = 1.0 + (C_f * p.l_f - C_r * p.l_r) / (p.m * v**2)
    a21 = (C_f * p.l_f - C_r * p.l_r) / p.I_z
    a22 = s + (C_f * p.l_f**2 + C_r * p.l_r**2) / (p.I_z * v)
    b1, b2 = C_f / (p.m * v), C_f * p.l_f / p.I_z
    det = a11 * a22 - a12 * a21
    beta, omega = (b1 * a22 - a12 * b2) / det, (a11 * b2 - a21 * b1) / det
    return omega, v * (s * beta + omega)


@pytest.mark.parametrize("v", [8.0, 20.0, 35.0])
def test_the_linear_car_answers_as_the_textbook_says(v):
    answer = steering_response(ST, v, FREQUENCY)
    omega, a_y = single_track(ST.params, v, FREQUENCY)
    np.testing.assert_allclose(answer.yaw_rate, omega, rtol=1e-9)
    np.testing.assert_allclose(answer.lateral_acceleration, a_y, rtol=1e-9)


def test_a_slow_sine_gets_the_gain_of_a_steady_turn():
    p, v = ST.params, 25.0
    base = p.l_f + p.l_r
    C_f, C_r = p.C_f * p.m * p.g * p.l_r / base, p.C_r * p.m * p.g * p.l_f / base
    gradient = p.m * (C_r * p.l_r - C_f * p.l_f) / (C_f * C_r * base)
    answer = steering_response(ST, v, 1e-5)
    assert abs(answer.yaw_rate[0]) == pytest.approx(v / (base + gradient * v**2), rel=1e-8)


def amplitude(t, values, frequency: float) -> complex:
    """Complex amplitude of a sine in a signal with a mean and a trend, by least squares."""
    angle = 2.0 * np.pi * frequency * t
    columns = np.column_stack([np.sin(angle), np.cos(angle), np.ones_like(t), t])
    sine, cosine, *_ = np.linalg.lstsq(columns, values, rcond=None)[0]
    return complex(sine, cosine)


@pytest.mark.parametrize("name", ["four_wheel", "formula_student"])
def test_a_simulated_sine_has_the_gain_and_phase_of_the_diagram(name):
    car, v, hertz = sp.vehicles.get(name)(), 15.0, 1.6
    x, u, _ = straight(car, v)
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(x)
    run = sim.run(
        lambda t, _: u._replace(steer=1e-4 * np.sin(2.0 * np.pi * hertz * t)), duration=2.5
    )
    settled = run.between(0.625, 2.5)
    t = settled.t
    wheels, omega, a_y = (amplitude(t, settled[n], hertz) for n in ("steer", "omega", "a_y"))
    answer = steering_response(car, v, hertz)
    assert omega / wheels == pytest.approx(answer.yaw_rate[0], rel=2e-4)
    assert a_y / wheels == pytest.approx(answer.lateral_acceleration[0], rel=2e-4)
    # What is commanded holds over a step, so on average it acts half a step late.
    late = np.exp(-2j * np.pi * hertz * 0.0005)
    through = steering_response(car, v, hertz, input="u_steer").yaw_rate[0]
    assert omega / 1e-4 == pytest.approx(through * late, rel=1e-3)


def test_the_command_goes_through_the_actuator():
    car = sp.vehicles.four_wheel()
    wheels = steering_response(car, 20.0, FREQUENCY)
    command = steering_response(car, 20.0, FREQUENCY, input="u_steer")
    lag = 1.0 / (1.0 + 2j * np.pi * FREQUENCY * car.params.t_steer)
    np.testing.assert_allclose(command.yaw_rate, wheels.yaw_rate * lag, rtol=1e-9)


def test_only_what_leads_to_the_answers_is_kept():
    system, commands_an_angle = steering_system(ST, *straight(ST, 20.0)[:2])
    assert system.A.shape == (3, 3)  # slip angle, yaw rate and the angle of the wheels
    assert not commands_an_angle
    car = sp.vehicles.four_wheel()
    system, commands_an_angle = steering_system(car, *straight(car, 20.0)[:2])
    assert len(system.A) < 11
    assert commands_an_angle


def test_straight_driving_takes_the_torque_that_the_resistance_needs():
    car, v = sp.vehicles.four_wheel(), 20.0
    x, u, _ = straight(car, v)
    p = car.params
    drag = p.C_r0 + p.C_r1 * v + p.C_r2 * v**2
    assert u.tau_rl == pytest.approx(drag / (4.0 * p.C_m0), rel=1e-9)
    assert abs(car.derivative(x, u).v_x) < 1e-9
    assert straight(ST, 5.0)[0].v == 5.0


LAYOUTS = {
    "front": (FrontWheelDrive(OpenDifferential()), 1.0),
    "rear": (RearWheelDrive(OpenDifferential()), 0.0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_car_whose_charge_drains_steers_like_one_with_ideal_torques(layout):
    """Both push with the same force at the same wheels, so that lateral motion is the same."""
    wheels, share = LAYOUTS[layout]
    ideal = sp.vehicles.two_track(drive_front=share)
    electric = sp.vehicles.two_track(powertrain=MotorDrive(layout=wheels))
    wanted, answer = (steering_response(car, 20.0, FREQUENCY) for car in (ideal, electric))
    np.testing.assert_allclose(answer.yaw_rate, wanted.yaw_rate, rtol=1e-12)
    np.testing.assert_allclose(answer.lateral_acceleration, wanted.lateral_acceleration, rtol=1e-12)
    # The torque at the wheels is that of the ideal car, and the charge is what it was.
    x, u, _ = straight(electric, 20.0)
    ratio, rest = electric.params.powertrain.final.ratio, electric.State().soc
    rate = electric.derivative(x, u)
    assert x.soc == rest
    assert rate.soc < 0.0
    others = rate._replace(x=0.0, soc=0.0)
    np.testing.assert_allclose(others, 0.0, atol=1e-9)
    pushed = sum(u for name, u in straight(ideal, 20.0).u._asdict().items() if "tau_" in name)
    final = electric.params.powertrain.final
    assert x.tau_drive * ratio * final.efficiency == pytest.approx(pushed, rel=0.01)
    assert len(diagrams(sp.view.plots.bode(electric, speed=20.0))) == 4


class WornState(NamedTuple):
    """A point that rolls: its tyres wear, which weakens its drive, and an odometer counts."""

    x: units.m = 0.0
    y: units.m = 0.0
    yaw: units.rad = 0.0
    v: units.m_s = 0.0
    wear: Annotated[units.one, units.drifting] = 0.25
    odometer: units.m = 3.0


class Push(NamedTuple):
    a: units.m_s2 = 0.0
    omega: units.rad_s = 0.0


class NoParams(NamedTuple):
    pass


def worn(State: type = WornState) -> sp.Vehicle:
    """x' = v, v' = (1 - wear) a - v / 10, wear' = 1e-4 v."""

    def derivative(x, u, w, p):
        speed = (1.0 - x.wear) * u.a - 0.1 * x.v
        along = (x.v * ops.cos(x.yaw), x.v * ops.sin(x.yaw))
        return State(*along, u.omega, speed, 1e-4 * x.v, x.v)

    told = body.Body(
        "centre",
        lambda x, p: body.Pose(x.x, x.y, x.yaw),
        lambda x, u, p: body.Velocity(x.v, 0.0, u.omega),
        lambda x, pose, velocity, p: x._replace(x=pose.x, y=pose.y, yaw=pose.yaw, v=velocity.v_x),
        lambda p: body.car_geometry(
            front_axle=1.0, rear_axle=-1.0, front=1.5, rear=-1.5, width=1.5, height=1.0
        ),
        lambda p: body.Limits(),
        lambda x, demand, p: Push(demand.a, demand.omega),
    )
    model = sp.Model("worn", State, Push, NoParams, derivative=derivative, body=told)
    return sp.Vehicle(model, NoParams())


def test_wear_and_an_odometer_stay_where_they_are():
    x, u, a = straight(worn(), 20.0)
    assert (x.wear, x.odometer) == (0.25, 3.0)
    assert u.a == a == pytest.approx(0.1 * 20.0 / (1.0 - 0.25), rel=1e-12)
    assert steady(worn(), 20.0, 0.01)[1] == pytest.approx((u.a, 0.2), rel=1e-12)


def test_what_drifts_without_a_mark_is_named():
    hints = {name: units.one for name in WornState._fields}
    Unmarked = record.define("Unmarked", hints, WornState._field_defaults)
    with pytest.raises(InvalidValue, match=r"rate of wear does not vanish.*units\.drifting"):
        straight(worn(Unmarked), 20.0)


def test_phase_is_continuous_and_starts_near_zero():
    angles = np.deg2rad([-170.0, -178.0, 175.0, 160.0])
    np.testing.assert_allclose(phase(np.exp(1j * angles)), [-170.0, -178.0, -185.0, -200.0])


def test_gain_and_phase_of_every_speed_are_drawn():
    figure = sp.view.plots.bode(ST, speed=[10.0, 20.0])
    turning, across, turning_phase, across_phase = diagrams(figure)
    assert titles(figure) == [
        "Yaw rate per steering angle",
        "Lateral acceleration per steering angle",
    ]
    hertz = curves(across)[1].get_xdata()
    omega, a_y = single_track(ST.params, 20.0, hertz)
    # Angles are degrees on screen: gains per radian and per degree of steering.
    for axes, wanted in ((turning, np.abs(omega)), (across, np.deg2rad(np.abs(a_y)))):
        assert [curve.get_label() for curve in curves(axes)] == ["10 m/s", "20 m/s"]
        np.testing.assert_allclose(curves(axes)[1].get_ydata(), wanted, rtol=1e-9)
        assert axes.get_xscale() == axes.get_yscale() == "log"
    for axes, answer in ((turning_phase, omega), (across_phase, a_y)):
        wanted = np.rad2deg(np.unwrap(np.angle(answer)))
        np.testing.assert_allclose(curves(axes)[1].get_ydata(), wanted, atol=1e-7)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("frequency [Hz]", "phase [°]")
        assert axes.get_xlim() == pytest.approx((0.1, 10.0))
    assert (turning.get_ylabel(), across.get_ylabel()) == ("gain [1/s]", "gain [(m/s²)/°]")
    assert keys(figure.legends[0]) == ["10 m/s", "20 m/s"]
    assert figure.get_suptitle() == "Steering response of commonroad_st"


@pytest.mark.parametrize("car", [ST, sp.vehicles.four_wheel()], ids=lambda car: car.name)
def test_names_of_fields_and_outputs_do_not_matter(car):
    other = renamed(car)
    for wanted, row in zip(straight(car, 20.0)[:2], straight(other, 20.0)[:2], strict=True):
        np.testing.assert_allclose(row, wanted, rtol=1e-12)
    wanted, answer = (steering_response(each, 20.0, FREQUENCY) for each in (car, other))
    np.testing.assert_allclose(answer.yaw_rate, wanted.yaw_rate, rtol=1e-12)
    np.testing.assert_allclose(answer.lateral_acceleration, wanted.lateral_acceleration, rtol=1e-12)
    assert len(diagrams(sp.view.plots.bode(other, speed=10.0))) == 4


@pytest.mark.parametrize("name", ["kinematic_bicycle", "commonroad_ks"])
def test_a_car_that_rolls_turns_as_its_wheels_say(name):
    """omega = v tan(steer) / l at the rear axle, at every frequency."""
    car, v = sp.vehicles.get(name)(), 12.0
    answer = steering_response(car, v, FREQUENCY)
    np.testing.assert_allclose(answer.yaw_rate, v / car.geometry.wheel_base, rtol=1e-9)


@pytest.mark.parametrize("name", ["formula_student", "commonroad_std", "commonroad_mb"])
def test_in_straight_driving_nothing_changes_but_the_place(name):
    car = sp.vehicles.get(name)()
    x, u, _ = straight(car, 15.0)
    rate = car.derivative(x, u)
    assert rate.x == pytest.approx(15.0, rel=1e-12)
    np.testing.assert_allclose(rate._replace(x=0.0), 0.0, atol=1e-8)


def test_held_inputs_are_left_alone():
    car = sp.vehicles.four_wheel()
    coasting = {f"tau_{wheel}": 0.0 for wheel in ("fl", "fr", "rl", "rr")}
    x, u, _ = straight(car, 20.0, coasting)
    assert (*u[1:], x.tau_fl) == (0.0,) * 5
    assert car.derivative(x, u).v_x < -1.0
    x, u, _ = straight(car, 20.0, {"tau_fl": 0.0, "tau_fr": 0.0})
    assert u.tau_rl == pytest.approx(2.0 * straight(car, 20.0)[1].tau_rl, rel=1e-9)
    with pytest.raises(InvalidValue, match="nothing that its body commands holds"):
        straight(car, 300.0)


def test_bad_requests_are_refused():
    with pytest.raises(InvalidValue, match="does not steer"):
        sp.view.plots.bode(sp.vehicles.double_integrator(), speed=10.0)
    with pytest.raises(InvalidValue, match="discrete model"):
        sp.view.plots.bode(sp.vehicles.ackermann_truck(), speed=5.0)
    with pytest.raises(InvalidValue, match="input = 'rack' is unknown"):
        sp.view.plots.bode(ST, speed=10.0, input="rack")
    with pytest.raises(InvalidValue, match="speed = -1"):
        sp.view.plots.bode(ST, speed=-1.0)
    with pytest.raises(InvalidValue, match="no speed is given"):
        sp.view.plots.bode(ST, speed=[])
    with pytest.raises(InvalidValue, match="input = 'u_steer'"):
        sp.view.plots.bode(ST, speed=10.0, input="u_steer")
    with pytest.raises(InvalidValue, match="frequency"):
        sp.view.plots.bode(ST, speed=10.0, frequency=(1.0, 0.1))
