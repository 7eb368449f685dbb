"""Formula Student events: smooth in the parameters, converged, and as fast as closed forms and
controllers written elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.arrays import Array
from skidpad.core.body import Demand, Pose, Velocity
from skidpad.errors import InvalidValue
from skidpad.ops import interpolate
from skidpad.run.trim import fastest_turn
from skidpad.study.manoeuvres import (
    FormulaAcceleration,
    FormulaSkidpad,
    Manoeuvre,
    SlowRamp,
    Subject,
    perform,
    sensitivity,
)
from skidpad.study.manoeuvres.case import Case
from skidpad.study.manoeuvres.case_run import CaseRun, cubic_at, passing_time
from skidpad.study.manoeuvres.cone_courses import CONE, box_of, reach
from skidpad.study.manoeuvres.events import peak_slip_of
from skidpad.study.manoeuvres.kernels import Kernels
from skidpad.study.manoeuvres.search import least_value
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer
from skidpad.tyres import BrushTyre
from skidpad.tyres.contract import Contact
from skidpad.vehicles.parts import EngineDrive, MotorDrive
from study.manoeuvres.fakes import KERNELS

SWEPT = {
    "m": 0.2,
    "z_cg": 0.3,
    "tyres.tyre.longitudinal.D": 0.1,
    "tyres.tyre.lateral.D": 0.1,
    "down_front": 0.4,
}
"""Parameters of `formula_student` and the share by which each is swept to either side: mass, height
of the centre of mass, friction along and across, and air balance."""
STEPS = 20
TWO_MS = Kernels(dt=0.002, every=5)
FOUR_MS = Kernels(dt=0.004, every=5)
"""Longer steps, for cases of the fast suite: the slow ones have the usual step, from which times of
launches with these differ by less than 0.05 % where the tyres do not just break loose."""


def own(vehicle: sp.Vehicle, name: str) -> float:
    return float(record.flatten(vehicle.params)[record.names(type(vehicle.params)).index(name)])


def sweep(
    event: Manoeuvre,
    vehicle: sp.Vehicle,
    spans: Mapping[str, float],
    steps: int = STEPS,
    kernels: Kernels = KERNELS,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Values of each parameter and the times with them, all as variants of one call."""
    rows = {name: np.full(steps * len(spans), own(vehicle, name)) for name in spans}
    for k, (name, span) in enumerate(spans.items()):
        rows[name][k * steps : (k + 1) * steps] *= np.linspace(1.0 - span, 1.0 + span, steps)
    (result,) = perform([event], [Subject(vehicle, rows)], kernels)
    part = {name: slice(k * steps, (k + 1) * steps) for k, name in enumerate(spans)}
    return {name: (rows[name][part[name]], result["time"][part[name]]) for name in spans}


def assert_smooth(
    event: Manoeuvre,
    vehicle: sp.Vehicle,
    spans: Mapping[str, float],
    steps: int = STEPS,
    kernels: Kernels = KERNELS,
) -> dict[str, float]:
    """Second differences of a sweep are small against its range, and its slope in the middle is
    the derivative of `sensitivity`; the slopes by parameter."""
    found = sweep(event, vehicle, spans, steps, kernels)
    result = sensitivity(event, vehicle, list(spans), kernels=kernels)
    row = result.derivatives[result.metrics.index("time")]
    slopes: dict[str, float] = {}
    for (name, (x, time)), derivative in zip(found.items(), row, strict=True):
        at, span = own(vehicle, name), float(np.ptp(time))
        assert np.isfinite(time).all(), name
        slopes[name] = float(np.polyfit(x - at, time, 4)[-2])
        if span < 1e-3 * time[0]:  # what does not matter has no slope to compare
            assert abs(derivative) * np.ptp(x) < 2e-3 * time[0], name
            continue
        # A parabola whose slope doubles on the way has second differences of 2/3 of 1 / steps².
        assert np.abs(np.diff(time, 2)).max() < 4.0 / steps**2 * span, name
        assert derivative == pytest.approx(slopes[name], rel=0.03), name
    return slopes


def test_a_cubic_between_samples_hides_the_sampling() -> None:
    """Of an even acceleration passing times are exact, wherever the samples are."""
    for first in (0.0, 0.003, 0.0071):
        t: Array = first + 0.01 * np.arange(400, dtype=float)
        x: Array = 2.5 * t[:, None] * t[:, None]
        v: Array = 5.0 * t[:, None]
        assert passing_time(t, x, v, 20.0)[0] == pytest.approx(np.sqrt(8.0), abs=1e-12)
        assert cubic_at(t, x * t[:, None], np.array([2.0]))[0] == pytest.approx(20.0, abs=1e-11)
    assert np.isnan(passing_time(t, x, v, 1e3)[0])


@pytest.mark.parametrize(
    "tyre",
    [
        sp.vehicles.two_track().params.tyres.tyre,
        sp.vehicles.formula_student().params.tyres.tyre,
        BrushTyre(),
    ],
    ids=["two_track", "formula_student", "brush"],
)
def test_slip_is_not_held_beyond_the_peak_of_a_tyre(tyre: Any) -> None:
    """Nor beyond where the force of a brush reaches its largest, which it keeps."""

    def force(kappa: float) -> float:
        return float(tyre.forces(Contact(F_z=3000.0, kappa=kappa, v_x=10.0, p=tyre.pressure)).F_x)

    peak = peak_slip_of(tyre, 3000.0)
    assert force(peak) == pytest.approx(0.9999 * max(map(force, np.linspace(0.01, 0.6, 5000))))
    assert force(0.98 * peak) < force(peak) < force(1.001 * peak)


def test_the_least_value_of_a_setting_has_no_steps() -> None:
    """Of (log q - c)² + c, whose minimum is c, for any c and also at the ends of the grid."""
    goals = np.linspace(-2.9, -1.1, 37)

    def case(setting: np.ndarray) -> Case:
        return Case(label="q", duration=1.0, v=setting)

    def driven(one: Case) -> CaseRun:
        values = (np.log(one.v) - goals) ** 2 + goals
        return CaseRun("q", np.arange(2.0), {"value": np.stack([values, values])})

    search = least_value(
        np.geomspace(np.exp(-3.0), np.exp(-1.0), 8),
        len(goals),
        case,
        lambda run: run["value"][0],
    )
    cases, found = next(search), None
    while found is None:
        try:
            cases = search.send([driven(one) for one in cases])
        except StopIteration as end:
            found = end.value
    setting, run = found
    np.testing.assert_allclose(np.log(setting), goals, atol=1e-9)
    np.testing.assert_allclose(run["value"][0], goals, atol=1e-12)


def test_time_of_a_point_with_an_even_acceleration() -> None:
    """sqrt(2 (s_0 + s) / a) - sqrt(2 s_0 / a), to the last of six digits."""
    car = sp.vehicles.get("double_integrator")()
    for event in (FormulaAcceleration(), FormulaAcceleration(way=40.0, before=1.0)):
        (result,) = perform([event], [Subject(car)], KERNELS)
        a, s_0, s = car.limits.a_max, event.before, event.before + event.way
        expected = np.sqrt(2.0 * s / a) - np.sqrt(2.0 * s_0 / a)
        assert result["time"][0] == pytest.approx(expected, rel=1e-6)
        assert result["end_speed"][0] == pytest.approx(np.sqrt(2.0 * a * s), rel=1e-6)


@pytest.mark.parametrize(
    ("kernels", "powers"),
    [
        pytest.param(FOUR_MS, (10e3, 40e3), id="two_powers"),
        pytest.param(KERNELS, (10e3, 20e3, 40e3), id="three_powers", marks=pytest.mark.slow),
    ],
)
def test_time_of_a_car_that_power_limits(kernels: Kernels, powers: tuple[float, ...]) -> None:
    """v² dv = P / m dx beyond v = P / (m a), with the inertia of the wheels in m; what is left is
    the slip of the tyres. Below it tyres give all of their grip, so a = D g of wheels of any
    inertia, if the axles share the load as they share the torque: the mass lies low."""
    values: dict[str, Any] = {
        "C_drag": 0.0,
        "C_down": 0.0,
        "powertrain.knee": 0.001,
        "powertrain.speed.spin_max": 1000.0,
        "tyres.tyre.carcass.rolling": 0.0,
        "z_cg": 0.02,
    }
    car = sp.vehicles.formula_student(**values)
    p, radius = car.params, car.geometry.wheels[0].radius
    power = np.array(powers)
    (result,) = perform(
        [FormulaAcceleration()], [Subject(car, {"powertrain.P_max": power})], kernels
    )
    m = p.m + 4.0 * p.I_w / radius**2
    a = p.tyres.tyre.longitudinal.D * p.g
    for P, time, v_end in zip(power, result["time"], result["end_speed"], strict=True):
        by_mass = p.powertrain.efficiency * P / m
        v_even = by_mass / a
        x_even = 0.5 * v_even**2 / a
        v = np.linspace(v_even, np.cbrt(v_even**3 + 3.0 * by_mass * (75.3 - x_even)), 100_001)
        to_line = np.sqrt(0.6 / a)
        if x_even < 0.3:  # power limits before the clock starts
            to_line = v_even / a + 0.5 * ((v_even**3 + 3.0 * by_mass * (0.3 - x_even)) ** (2 / 3)
                                          - v_even**2) / by_mass  # fmt: skip
        expected = v_even / a + 0.5 * (v[-1] ** 2 - v_even**2) / by_mass - to_line
        assert 1.0 < time / expected < 1.01
        assert 0.99 < v_end / v[-1] < 1.0


@cache
def peak_slip(car: Any) -> float:
    """Where the longitudinal force of the tyre is largest, by looking."""
    tyre, kappa = car.params.tyres.tyre, np.linspace(0.01, 0.5, 2000)
    force = [tyre.forces(Contact(F_z=600.0, kappa=k, v_x=10.0)).F_x for k in kappa.tolist()]
    return float(kappa[int(np.argmax(force))])


def slip_controlled_time(car: sp.Vehicle, driven: tuple[str, ...]) -> float:
    """75 m by a controller that reads load and slip of each wheel: the torque of the tyre's peak
    under this load, more or less with the slip that it has."""
    dt, goal, p = 0.001, peak_slip(car), car.params
    D, radius = p.tyres.tyre.longitudinal.D, car.geometry.wheels[0].radius
    sim = sp.Simulator(car, dt=dt)
    t, x = [0.0], [0.0]
    while x[-1] < 75.4 and t[-1] < 8.0:
        now, state = sim.outputs(), sim.state
        torque: dict[str, float] = {}
        for wheel in driven:
            slide = radius * getattr(state, f"spin_{wheel}") - state.v_x
            slip = slide / max(state.v_x, 2.0)
            grip = D * radius * getattr(now, f"F_z_{wheel}")
            torque[f"tau_{wheel}"] = float(np.clip(grip * (2.0 - slip / goal), 0.0, p.tau_max))
        sim.step(torque)
        t.append(t[-1] + dt)
        x.append(float(sim.state.x))
    return float(np.interp(75.3, x, t) - np.interp(0.3, x, t))


@pytest.mark.parametrize("drive_front", [0.5, 0.0])
def test_a_launch_is_as_fast_as_that_of_another_slip_controller(drive_front: float) -> None:
    """Within 1 %, with four driven wheels and with two that have torque to spare."""
    car = sp.vehicles.formula_student(drive_front=drive_front, tau_max=500.0)
    (result,) = perform([FormulaAcceleration()], [Subject(car)], KERNELS)
    driven = ("rl", "rr") if drive_front == 0.0 else ("fl", "fr", "rl", "rr")
    expected = slip_controlled_time(car, driven)
    assert result["time"][0] == pytest.approx(expected, rel=0.01)
    assert result["time"][0] < 1.002 * expected


def test_acceleration_does_not_depend_on_the_step() -> None:
    """Half of the step changes the time by less than 0.05 %."""
    cars = [Subject(sp.vehicles.formula_student())]
    (usual,) = perform([FormulaAcceleration()], cars, KERNELS)
    (fine,) = perform([FormulaAcceleration()], cars, Kernels(dt=0.0005, every=20))
    assert usual["time"][0] == pytest.approx(fine["time"][0], rel=1e-4)


@pytest.mark.parametrize(
    ("names", "steps", "kernels"),
    [
        pytest.param(("m", "z_cg"), 6, FOUR_MS, id="two"),
        pytest.param(
            ("m", "z_cg", "tyres.tyre.longitudinal.D", "down_front"),
            *(10, KERNELS),
            id="four",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_acceleration_is_smooth_in_the_parameters(
    names: tuple[str, ...], steps: int, kernels: Kernels
) -> None:
    """More mass is slower; a rear-driven car with torque to spare is faster with a higher centre of
    mass, which loads its driven wheels."""
    car = sp.vehicles.formula_student(drive_front=0.0, tau_max=500.0)
    spans = {name: SWEPT[name] for name in names}
    slopes = assert_smooth(FormulaAcceleration(), car, spans, steps, kernels)
    assert slopes["m"] > 0.0
    assert slopes["z_cg"] < -1.0
    assert slopes.get("tyres.tyre.longitudinal.D", -1.0) < 0.0
    assert slopes.get("down_front", 1.0) > 0.0


@pytest.mark.parametrize(
    ("steps", "bend", "kernels"),
    [
        pytest.param(8, 1.3e-3, TWO_MS, id="8_steps"),
        pytest.param(20, 1e-3, KERNELS, id="20_steps", marks=pytest.mark.slow),
    ],
)
def test_acceleration_has_no_steps_where_motors_just_break_tyres_loose(
    steps: int, bend: float, kernels: Kernels
) -> None:
    """There a launch has two slips, rolling and spinning, and the quickest slip to hold would jump.
    Height and torque make it faster, evenly."""
    car = sp.vehicles.formula_student(drive_front=0.0)
    found = sweep(FormulaAcceleration(), car, {"z_cg": 0.25, "tau_max": 0.25}, steps, kernels)
    # To what the search for the quickest launch leaves; more torque than it uses changes nothing.
    for _, time in found.values():
        assert (np.diff(time) < 1e-5 * time[0]).all()
    assert np.abs(np.diff(found["z_cg"][1], 2)).max() < bend * found["z_cg"][1][0]


@pytest.mark.parametrize(
    ("steps", "kernels"),
    [
        pytest.param(6, FOUR_MS, id="6_steps"),
        pytest.param(10, KERNELS, id="10_steps", marks=pytest.mark.slow),
    ],
)
def test_the_derivative_where_motors_just_break_tyres_loose(steps: int, kernels: Kernels) -> None:
    """It is the slope of the sweep."""
    car = sp.vehicles.formula_student(drive_front=0.0)
    event, z_cg = FormulaAcceleration(), car.params.z_cg
    x, time = sweep(event, car, {"z_cg": 0.05}, steps, kernels)["z_cg"]
    derivative = sensitivity(event, car, ["z_cg"], metrics=["time"], kernels=kernels).derivatives
    assert derivative[0, 0] == pytest.approx(np.polyfit(x - z_cg, time, 4)[-2], rel=0.03)


@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param(FOUR_MS, id="4_ms"),
        pytest.param(KERNELS, id="1_ms", marks=pytest.mark.slow),
    ],
)
def test_a_launch_does_not_overshoot_where_all_torque_just_breaks_tyres_loose(
    kernels: Kernels,
) -> None:
    """A heavier car is slower, and one with less torque is not faster, by 0.05 %."""
    car = sp.vehicles.two_track("sports")
    m = np.array([1400.0, 1450.0, 1459.2, 1460.0, 1461.0, 1480.0, 1450.0])
    torque = np.full(7, car.params.tau_max)
    torque[-1] *= 0.99
    rows = {"m": m, "tau_max": torque}
    (result,) = perform([FormulaAcceleration()], [Subject(car, rows)], kernels)
    *times, less = result["time"]
    assert (np.diff(times) > 0.0).all()
    assert times[1] < 1.0005 * less


@pytest.mark.parametrize(
    ("name", "torques", "kernels"),
    [
        ("sports", np.linspace(2000.0, 4400.0, 5), TWO_MS),
        pytest.param("sports", np.linspace(2000.0, 4400.0, 9), KERNELS, marks=pytest.mark.slow),
        pytest.param("suv", np.linspace(1500.0, 3300.0, 20), KERNELS, marks=pytest.mark.slow),
        pytest.param("race", np.linspace(1200.0, 2640.0, 20), KERNELS, marks=pytest.mark.slow),
    ],
)
def test_a_car_with_more_torque_is_not_slower(name: str, torques: Array, kernels: Kernels) -> None:
    """It can launch as one with less does: from torques that leave the tyres rolling to twice what
    breaks them loose, no time is above that of less torque by 0.05 %."""
    car = Subject(sp.vehicles.two_track(name), {"tau_max": torques})
    (result,) = perform([FormulaAcceleration()], [car], kernels)
    time = result["time"]
    assert (time <= 1.0005 * np.minimum.accumulate(time)).all()


@pytest.mark.slow
@pytest.mark.parametrize("drive_front", [0.0, 0.5, 1.0])
def test_acceleration_is_smooth_whichever_wheels_drive(drive_front: float) -> None:
    car = sp.vehicles.formula_student(drive_front=drive_front, tau_max=500.0)
    slopes = assert_smooth(FormulaAcceleration(), car, SWEPT)
    # Mass hardly matters where grip is proportional to load; driven front wheels lose less of it.
    assert slopes["m"] > 0.0 or drive_front == 1.0
    assert slopes["tyres.tyre.longitudinal.D"] < 0.0
    assert slopes["tyres.tyre.lateral.D"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "car",
    [
        sp.vehicles.two_track(powertrain=MotorDrive()),
        sp.vehicles.two_track(powertrain=EngineDrive()),
        sp.vehicles.full_car(tau_max=2500.0),
        sp.vehicles.single_track(),
        sp.vehicles.get("four_wheel")(),
        sp.vehicles.get("brains2")(),
    ],
    ids=["motor", "engine", "full_car", "single_track", "four_wheel", "brains2"],
)
def test_acceleration_of_other_drives_is_smooth_in_the_mass(car: sp.Vehicle) -> None:
    assert assert_smooth(FormulaAcceleration(), car, {"m": 0.05})["m"] > 0.0


def test_the_course_of_the_skidpad_is_a_figure_of_eight_between_its_cones() -> None:
    """The line keeps its distance to both centres where it is a circle, and passes through the
    point between them; timed laps have the length of the circle."""
    event, radius = FormulaSkidpad(), 8.6
    path, laps = event.course(radius)
    s = np.linspace(0.0, path.length, 20_001)
    x, y = interpolate(path.x, s), interpolate(path.y, s) - (event.middle - radius)
    (a, b), (c, d) = laps
    for centre, begin, end in ((-event.middle, a, b - 8.0), (event.middle, c, d)):
        on = (s > begin) & (s < end)
        np.testing.assert_allclose(np.hypot(x - 15.0, y - centre)[on], radius, atol=0.01)
    assert np.interp(b, s, x) == pytest.approx(15.0, abs=0.01)
    assert np.interp(b, s, y) == pytest.approx(0.0, abs=0.01)
    assert b - a == pytest.approx(2.0 * np.pi * radius, rel=5e-3)
    assert d - c == pytest.approx(2.0 * np.pi * radius)
    cones = event.cones(radius) - np.array([0.0, event.middle - radius])
    gap = np.hypot(cones[:, :1] - x, cones[:, 1:] - y).min()
    assert gap == pytest.approx(radius - 0.5 * event.inner, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"inner": 22.0}, "must be more than inner"),
        ({"margin": -0.1}, "margin"),
        ({"inner": 0.0}, "inner"),
    ],
)
def test_settings_of_a_skidpad_that_cannot_be_are_refused(
    settings: dict[str, float], said: str
) -> None:
    with pytest.raises(InvalidValue, match=said):
        FormulaSkidpad(**settings)


CARS = {
    "single_track": sp.vehicles.single_track(),
    "formula_student": sp.vehicles.formula_student(),
    "four_wheel": sp.vehicles.four_wheel(),
    "two_track": sp.vehicles.two_track(),
    "two_track_set": sp.vehicles.two_track("formula_student"),
    "full_car": sp.vehicles.full_car(),
}


def driven_limit(car: sp.Vehicle, radius: float, v: float, *, rate: float = 0.05) -> float:
    """Speed on a circle with the largest lateral acceleration v omega of a drive that begins at `v`
    and asks for more by `rate` in m/s², with the curvature of the path held by feedback."""
    dt, t, steer, a, most = 0.002, 0.0, car.geometry.wheel_base / radius, 0.0, 0.0
    sim = sp.Simulator(car, dt=dt)
    sim.reset(
        car.body.placed(car.State(), Pose(0.0, 0.0, 0.0), Velocity(v, 0.0, v / radius), car.params)
    )
    while t < 20.0:
        x = sim.state
        now, goal = float(np.hypot(x.v_x, x.v_y)), v + rate * max(t - 5.0, 0.0)
        missing = now / radius - x.omega
        steer, a, t = steer + 1.5 * missing * dt, a + 2.0 * (goal - now) * dt, t + dt
        demand = Demand(steer=steer + 0.1 * missing, a=4.0 * (goal - now) + a, v=float(x.v_x))
        sim.step(car.body.command(x, demand, car.params))
        if t > 5.0 and abs(x.omega * radius / now - 1.0) < 0.01:
            most = max(most, now * x.omega)
    return float(np.sqrt(most * radius))


@pytest.mark.parametrize(
    ("name", "share"),
    [
        pytest.param("formula_student", 0.96, marks=pytest.mark.slow),
        pytest.param("two_track", 0.953, marks=pytest.mark.slow),
        ("four_wheel", 0.97),
        ("single_track", 0.965),
    ],
)
def test_the_fastest_turn_is_the_limit_of_a_slow_ramp(name: str, share: float) -> None:
    """Of a drive that begins a little below it, to 0.2 %."""
    car = CARS[name]
    radius = FormulaSkidpad().line_radius(Subject(car))
    v = fastest_turn(car, radius).v
    assert driven_limit(car, radius, share * v) == pytest.approx(v, rel=2e-3)


@pytest.mark.parametrize("mu", [0.6, 1.0, 1.3])
def test_the_fastest_turn_of_a_car_without_load_transfer_is_that_of_its_friction(mu: float) -> None:
    """v = sqrt(mu g R) of a car whose tyres share one friction in all directions, less what the
    angles of its wheels take, which vanishes with the curvature."""
    friction = {
        f"tyres.tyre.{way}.{name}": value
        for way in ("lateral", "longitudinal")
        for name, value in (("mu", mu), ("mu_fall", 0.0))
    }
    level = {"z_cg": 1e-3, "C_drag": 0.0, "drive_front": 0.5, "tyres.tyre.carcass.rolling": 0.0}
    car = sp.vehicles.single_track(**friction, **level)
    for radius, most in ((9.0, 0.02), (30.0, 0.005), (100.0, 0.004)):
        assert 0.0 < 1.0 - fastest_turn(car, radius).v / np.sqrt(mu * 9.81 * radius) < most


def test_a_turn_without_end_is_refused() -> None:
    car = sp.vehicles.get("commonroad_kinematic_bicycle")()
    with pytest.raises(InvalidValue, match="no fastest turn on a circle of 9 m"):
        fastest_turn(car, 9.0)


def test_the_fastest_turn_is_one() -> None:
    """Nothing but the pose changes, and the centre of mass is on the circle."""
    car, radius = CARS["formula_student"], 8.6
    turn = fastest_turn(car, radius)
    rates = car.derivative(turn.x, turn.u)
    assert max(map(abs, record.flatten(rates)[3:])) < 2e-3
    assert np.hypot(turn.x.v_x, turn.x.v_y) == pytest.approx(turn.v, rel=1e-12)
    assert turn.x.omega * radius == pytest.approx(turn.v, rel=1e-9)
    assert np.arctan2(turn.x.v_y, turn.x.v_x) == pytest.approx(turn.sideslip, abs=1e-12)


@cache
def skidpad_of(name: str) -> Any:
    """Of the car as it is."""
    (result,) = perform([FormulaSkidpad()], [Subject(CARS[name])], KERNELS)
    return result


@pytest.mark.parametrize(
    "name",
    [
        "single_track",
        "formula_student",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("four_wheel", "two_track", "two_track_set", "full_car")
        ),
    ],
)
def test_a_car_drives_its_own_line_on_the_skidpad(name: str) -> None:
    """On the tightest circle clear of the cones; the figure of eight, too, touches none and is on
    the line to 0.2 m."""
    event, result = FormulaSkidpad(), skidpad_of(name)
    radius = event.line_radius(Subject(CARS[name]))
    assert not result.findings.notes
    assert result["radius"][0] == radius
    assert 0.5 * 15.25 < radius < event.middle
    assert result["time"][0] == pytest.approx(2.0 * np.pi * radius / result["speed"][0])
    (run,) = result.runs
    right = (run["progress"] > 40.0) & (run["progress"] < 100.0)
    away = np.hypot(run["x"] - 15.0, run["y"] + radius)[right]
    assert np.abs(away - radius).max() < 0.25


def test_room_beside_a_car_on_the_circle() -> None:
    """Without slip it is that of `reach`; of one that slides sideways, the least over its edge."""
    event, car = FormulaSkidpad(), Subject(CARS["single_track"])
    radius = event.line_radius(car)
    l_r = float(car.l_r[0])
    outside, inside = reach(car, radius)
    found = event.room(car, radius, float(np.arcsin(l_r / radius)))
    assert found[0] == pytest.approx(radius - inside - 0.5 * 15.25 - CONE)
    assert found[1] == pytest.approx(0.5 * 21.25 - CONE - radius - outside)
    assert found[0] == pytest.approx(event.margin)
    for slip in (-0.4, 0.1, 0.6):
        box, share = box_of(car), np.linspace(0.0, 1.0, 5001)
        sides = [
            np.stack([box.rear + share * (box.front - box.rear), np.full(5001, y)], axis=1)
            for y in (box.right, box.left)
        ]
        ends = [
            np.stack([np.full(5001, x), box.right + share * (box.left - box.right)], axis=1)
            for x in (box.rear, box.front)
        ]
        edge = np.concatenate([*sides, *ends])
        away = np.hypot(*(edge - radius * np.array([-np.sin(slip), np.cos(slip)])).T)
        inside, outside = event.room(car, radius, slip)
        assert inside == pytest.approx(away.min() - 0.5 * 15.25 - CONE, abs=1e-4)
        assert outside == pytest.approx(0.5 * 21.25 - CONE - away.max(), abs=1e-4)


def test_a_car_whose_equations_know_no_limit_gets_no_time() -> None:
    car = Subject(sp.vehicles.get("commonroad_dynamic_bicycle")())
    (result,) = perform([FormulaSkidpad()], [car], KERNELS)
    assert "nothing in them limits its tyres" in result.unfit


def test_skidpad_is_smooth_in_grip() -> None:
    """Six steps of the friction across, and the derivative there."""
    spans = {"tyres.tyre.lateral.D": 0.1}
    slopes = assert_smooth(FormulaSkidpad(), CARS["formula_student"], spans, steps=6)
    assert slopes["tyres.tyre.lateral.D"] < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", CARS)
def test_skidpad_is_smooth_in_all_parameters(name: str) -> None:
    """20 steps of mass, height, friction and air balance; of the car with springs with a lower
    centre of mass: where a wheel on the inside leaves the ground, there is a kink."""
    car = CARS[name]
    car = car.with_params({"z_cg": 0.8 * car.params.z_cg}) if name == "full_car" else car
    known = record.names(type(car.params))
    (friction,) = {"tyres.tyre.lateral.D", "tyres.tyre.lateral.mu", "tyre.D"} & set(known)
    spans = {"m": 0.2, "z_cg": 0.1, friction: 0.1, "down_front": 0.4}
    spans = {n: span for n, span in spans.items() if n in known}
    slopes = assert_smooth(FormulaSkidpad(), car, spans)
    assert slopes["m"] != 0.0
    assert slopes[friction] < 0.0


def test_the_fastest_steady_turn_is_below_the_limit_by_what_its_definition_says() -> None:
    car = Subject(sp.vehicles.two_track())
    *steady, ramp = perform([ConstantRadius(), ConstantSteer(), SlowRamp()], [car], KERNELS)
    ranges = ("3 to 20 %", 1.03, 1.2), ("26 to 66 %", 1.255, 1.665)
    for result, (words, low, high) in zip(steady, ranges, strict=True):
        assert result.findings is not None
        found = result.findings["largest_steady_lateral_acceleration"]
        assert words in found.definition
        assert low < ramp["max_lateral_acceleration"][0] / found.value[0] < high
