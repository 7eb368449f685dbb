"""`two_track` on roads: slopes, banks, crests and patches, in every way a car is run."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.road import Patch
from skidpad.tyres import LinearTyre
from skidpad.vehicles.parts import FirstOrderSlip
from vehicles.two_track_turns import FREE, LINEAR, SENSITIVE, steady_turn

two_track = sp.vehicles.two_track
G = 9.81
DRAWN = np.random.default_rng(3)
HILLS = 0.3 * DRAWN.normal(size=(30, 20))
ROADS = {
    "flat": sp.Road(),
    "plane": sp.Road.plane(0.1, 0.05, 0.3),
    "waves": sp.Road.waves(0.2, 30.0),
    "smooth profile": sp.Road.profile(HILLS[:, 0], 4.0, method="cubic"),
    "grid": sp.Road.grid(HILLS, (-20.0, -40.0), 4.0),
    "smooth grid": sp.Road.grid(HILLS, (-20.0, -40.0), 4.0, method="cubic"),
    "curved": sp.Road.curved(np.full(200, 0.02), 0.5, z=np.sin(np.arange(201) / 30.0), bank=0.05),
    "random": sp.Road.iso8608("B", 1, length=50.0),
    "patches": sp.Road().with_grip([Patch(value=0.3, x=8.0, length=6.0, width=3.0)]),
}


COMPILED = ("plane", "curved", "patches")
"""Roads on which a car is compiled in every run of the tests."""


@pytest.fixture(params=[name for name in ROADS if name != "flat"])
def road(request: pytest.FixtureRequest) -> sp.Road:
    return ROADS[request.param]


def rolling(road: sp.Road, **values: Any) -> sp.Vehicle:
    return two_track(road=road, tyre=LinearTyre(trail=0.0, carcass=FREE), C_drag=0.0, **values)


def settled(car: sp.Vehicle, **values: float) -> Any:
    """A state in which the wheels roll."""
    assert car.model.settle is not None
    return car.model.settle(car.State(**values), car.params)


def energy_of(car: sp.Vehicle, x: Any) -> float:
    assert car.model.energy is not None
    return car.model.energy(x, car.params)


@pytest.mark.slow_cases("0.05")
@pytest.mark.parametrize("angle", [0.05, -0.2, 0.4])
def test_it_rolls_down_a_slope_by_the_sine(angle: float) -> None:
    """Wheels that roll take their share of what gravity gives: I_w / R² each."""
    car = rolling(sp.Road.plane(math.tan(angle)))
    sim = sp.Simulator(car, dt=0.001)
    run = sim.run(duration=3.0)
    p = car.params
    radius = run["v_x"][-1] / run["spin_fl"][-1]
    a = -G * math.sin(angle) * p.m / (p.m + 4.0 * p.I_w / radius**2)
    # From rest it slips a little before it rolls.
    gained = run["v_x"][-1] - run["v_x"][1000]
    assert gained == pytest.approx(2.0 * a, rel=2e-3)
    way = run["x"][-1] - run["x"][1000]
    along = np.trapezoid(run["v_x"][1000:], dx=0.001)
    assert way == pytest.approx(along * math.cos(angle), rel=1e-9)


def test_loads_are_those_of_a_car_on_a_slope() -> None:
    """Held by a force at its centre of mass: together m g cos θ, shared as on level ground."""
    angle = 0.3
    car, level = (rolling(road) for road in (sp.Road.plane(math.tan(angle)), sp.Road()))
    w = car.model.Disturbance(F_x=car.params.m * G * math.sin(angle))
    still = [c.outputs(c.State(), c.Input(), w) for c in (car, level)]
    for wheel in ("fl", "fr", "rl", "rr"):
        tilted, flat = (getattr(out, f"F_z_{wheel}") for out in still)
        assert tilted == pytest.approx(flat * math.cos(angle))
    assert still[0].a_x == pytest.approx(0.0, abs=1e-12)


def test_a_banked_turn_at_its_speed_needs_no_tyres() -> None:
    """tan θ = v² / (g R): slip angles, side forces and the steering beyond L / R vanish."""
    radius, angle = 300.0, 0.2
    v = math.sqrt(G * radius * math.tan(angle))
    bends = np.full(4000, 1.0 / radius)
    back = 100.0
    road = sp.Road.curved(
        bends,
        0.05,
        width=14.0,
        bank=-math.tan(angle),
        x=-radius * math.sin(back / radius),
        y=radius - radius * math.cos(back / radius),
        yaw=-back / radius,
    )
    assert road.height(0.0, 0.0) == pytest.approx(0.0, abs=1e-3)
    omega = v / radius * math.cos(angle)
    banked = two_track(road=road, tyre=SENSITIVE, C_drag=0.0)
    level = two_track(tyre=SENSITIVE, C_drag=0.0)
    sides: list[float] = []
    steers: list[float] = []
    for car in (banked, level):
        turn = steady_turn(car, v, v * omega)
        out = car.outputs(turn.x, car.Input(steer=turn.x.steer), turn.w)
        sides.append(out.F_y_fl + out.F_y_fr + out.F_y_rl + out.F_y_rr)
        steers.append(turn.steer)
    needed = banked.params.m * v * omega
    assert sides[1] == pytest.approx(needed, rel=1e-2)
    assert abs(sides[0]) < 2e-3 * needed
    wheelbase = banked.params.l_f + banked.params.l_r
    assert steers[0] == pytest.approx(wheelbase * omega / v, rel=2e-2)


@pytest.mark.slow
def test_a_car_that_coasts_through_a_banked_bend_gains_no_energy() -> None:
    """Its wheelbase is not in the middle: axles stand at other heights than the centre of mass."""
    radius, angle = 30.0, math.radians(22.0)
    v = math.sqrt(G * radius * math.tan(angle))
    road = sp.Road.curved(np.full(1400, 1.0 / radius), 0.05, width=12.0, bank=-math.tan(angle))
    car = rolling(road, slip=FirstOrderSlip())
    p, bend = car.params, math.cos(angle) / radius
    sim = sp.Simulator(car, dt=0.002)
    steer = (p.l_f + p.l_r) * bend
    sim.reset(v_x=v, omega=v * bend, steer=steer, x=3.0, y=0.15, yaw=0.1)
    samples = sim.run({"steer": steer}, duration=5.0)
    # Not all: heights of a curved road take as long as the run.
    run = {name: samples[name][::25] for name in car.State._fields}
    z = np.array([road.height(x, y) for x, y in zip(run["x"], run["y"], strict=True)])
    energy = 0.5 * (p.m * (run["v_x"] ** 2 + run["v_y"] ** 2) + p.I_z * run["omega"] ** 2)
    turning = sum(run[f"spin_{wheel}"] ** 2 for wheel in ("fl", "fr", "rl", "rr"))
    energy = energy + p.m * G * z + 0.5 * p.I_w * turning
    assert energy[-1] / energy[0] == pytest.approx(1.0, abs=5e-3)
    assert energy.max() < 1.002 * energy[0]


@pytest.mark.slow
def test_a_bank_pulls_a_car_that_drives_straight_to_its_low_side() -> None:
    sim = sp.Simulator(two_track(road=sp.Road.plane(bank=0.05)), dt=0.005)
    sim.reset(v_x=20.0)
    run = sim.run(duration=2.0)
    assert run["y"][-1] < -0.1


@pytest.mark.slow
def test_brakes_on_split_grip_turn_the_car_to_its_good_side() -> None:
    ice = Patch(value=0.15, x=100.0, y=5.0, length=400.0, width=10.0)
    braking = {f"brake_{wheel}": 900.0 for wheel in ("fl", "fr", "rl", "rr")}
    yaws = []
    for road in (sp.Road().with_grip([ice]), sp.Road()):
        sim = sp.Simulator(two_track(road=road), dt=0.002)
        sim.reset(v_x=20.0)
        for _ in range(300):
            sim.step(braking)
        yaws.append(sim.state.yaw)
    assert yaws[0] < -0.02
    assert yaws[1] == pytest.approx(0.0, abs=1e-9)


def test_grip_multiplies_that_of_the_disturbance() -> None:
    road = sp.Road().with_grip(0.5)
    x = {"v_x": 15.0, "v_y": -3.0}
    one, both = two_track(road=road), two_track()
    w = one.model.Disturbance(mu_fl=0.6, mu_fr=0.6, mu_rl=0.6, mu_rr=0.6)
    w_both = w._replace(mu_fl=0.3, mu_fr=0.3, mu_rl=0.3, mu_rr=0.3)
    rates = (c.derivative(c.State(**x), c.Input(), v) for c, v in ((one, w), (both, w_both)))
    a, b = (record.flatten(rate) for rate in rates)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_flat_road_is_the_default_car() -> None:
    assert two_track(road=sp.Road()).model is two_track().model


@pytest.mark.slow_cases("curved", "patches", "random", "smooth grid", "smooth profile", "waves")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in COMPILED else pytest.mark.slow)
        for name in ROADS
        if name != "flat"
    ],
)
def test_compiled_and_called_agree_and_fleets_have_the_bits_of_simulators(name: str) -> None:
    car = two_track(road=ROADS[name], slip=FirstOrderSlip())
    start = {"v_x": 12.0, "y": 0.3, "yaw": 0.05}
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(start)
    controls = np.zeros((200, len(car.model.Input._fields)))
    controls[:, 0] = 0.03
    controls[:, 1:3] = 150.0
    for row in controls:
        sim.step(car.model.Input(*row))
    fleet = sp.Fleet(car, dt=0.002)
    x0 = np.tile(np.array(record.flatten(settled(car, **start))), (5, 1))
    rows = fleet.rollout(x0, controls[:, None, :].repeat(5, axis=1))
    last = rows[-1]
    np.testing.assert_array_equal(last[0], np.array(record.flatten(sim.state)))
    np.testing.assert_array_equal(last, np.tile(last[0], (5, 1)))
    called = car.derivative(sim.state, car.Input(steer=0.03), car.model.Disturbance())
    step = sp.Simulator(car, dt=1e-6, integrator="euler")
    step.reset(sim.state)
    before = np.array(record.flatten(sim.state))
    after = np.array(record.flatten(step.step(steer=0.03)))
    np.testing.assert_allclose(
        (after - before) / 1e-6, record.flatten(called), rtol=1e-5, atol=1e-4
    )


@pytest.mark.slow_cases("curved", "plane", "random", "smooth profile", "waves")
def test_it_conforms_on_every_road(road: sp.Road) -> None:
    """In what holds on every road: that all places and directions are alike holds on few."""
    car = two_track(road=road, slip=FirstOrderSlip())
    sp.testing.check(car, ["gradients", "dimensions", "shape"]).raise_if_failed()


def test_energy_is_kept_on_a_plane() -> None:
    """Rolling up and down again: what is lost in height is won in speed."""
    car = rolling(sp.Road.plane(0.1, 0.0))
    sim = sp.Simulator(car, dt=0.001, integrator="radau2")
    sim.reset(v_x=8.0)
    start = energy_of(car, sim.state)
    sim.run(duration=4.0)
    assert abs(sim.state.v_x - 8.0) > 3.0
    assert energy_of(car, sim.state) == pytest.approx(start, rel=2e-3)


@pytest.mark.slow
def test_vehicles_of_a_fleet_drive_on_roads_of_their_own() -> None:
    """Heights are parameters: another road of the same kind needs no other code."""
    roads = [sp.Road.grid(k * HILLS, (-20.0, -40.0), 4.0) for k in (1.0, 0.5)]
    cars = [two_track(road=road) for road in roads]
    assert cars[0].model is cars[1].model
    fleet = sp.Fleet(cars[0], dt=0.01)
    number = [car.params.road.surface.heights.values for car in cars]
    x0 = np.tile(
        np.array(record.flatten(settled(cars[0], v_x=10.0))),
        (2, 1),
    )
    controls = np.zeros((50, 2, len(cars[0].model.Input._fields)))
    rows = fleet.rollout(x0, controls, params={"road.surface.heights.values": number})
    last = rows[-1]
    for k, car in enumerate(cars):
        alone = sp.Fleet(car, dt=0.01).rollout(x0[:1], controls[:, :1])
        np.testing.assert_array_equal(alone[-1, 0], last[k])
    assert np.abs(last[0] - last[1]).max() > 1e-3


def test_it_comes_back_from_a_pickle(road: sp.Road) -> None:
    car = two_track(road=road)
    back = pickle.loads(pickle.dumps(car))
    assert back.model is car.model
    assert back.params == car.params
    assert two_track(car.params).model is car.model


def test_it_drives_alike_in_another_process() -> None:
    """With the values of its road and how is interpolated between them."""
    car = two_track(road=ROADS["smooth grid"])
    program = (
        "import pickle, sys; car = pickle.load(sys.stdin.buffer);"
        "x = car.State(v_x=12.0, x=3.0, y=0.3, yaw=0.05);"
        "print(repr(float(car.derivative(x, car.Input(), car.model.Disturbance()).v_x)))"
    )
    made = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(car), capture_output=True, check=True
    )
    x = car.State(v_x=12.0, x=3.0, y=0.3, yaw=0.05)
    here = car.derivative(x, car.Input(), car.model.Disturbance())
    assert float(made.stdout) == float(here.v_x)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smooth grid", "curved"])
def test_casadi_and_jax_have_the_same_rates(name: str) -> None:
    car = two_track(road=ROADS[name])
    x = car.State(v_x=12.0, x=7.0, y=0.3, yaw=0.05, omega=0.1)
    here = record.flatten(car.derivative(x, car.Input(), car.model.Disturbance()))
    model = car.casadi()
    rates = model.f_expl
    import casadi as ca

    function = ca.Function("rates", [model.x, model.u, model.w, model.p], [rates])
    zeros, own = np.zeros(len(model.u_names)), np.array(model.p_values)
    there = function(np.array(record.flatten(x)), zeros, np.array(model.w_values), own)
    np.testing.assert_allclose(there.full().ravel(), here, rtol=1e-9, atol=1e-9)
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        numbers = car.State(*(jax.numpy.asarray(float(v)) for v in x))
        rate = car.derivative(numbers, car.Input(), car.model.Disturbance())
        np.testing.assert_allclose([float(v) for v in rate], here, rtol=1e-9, atol=1e-9)


def test_the_steering_of_a_linear_car_is_that_of_level_ground_on_no_slope() -> None:
    """A plane without slope is flat ground by other equations."""
    plane, flat = (two_track(road=road, tyre=LINEAR) for road in (sp.Road.plane(), sp.Road()))
    a, b = (steady_turn(car, 20.0, 3.0) for car in (plane, flat))
    assert a.steer == pytest.approx(b.steer, rel=1e-9)


@pytest.mark.slow
def test_rollouts_have_gradients_with_respect_to_the_road() -> None:
    """By its slope, against differences."""
    car = two_track(road=sp.Road.plane(slope=0.05, bank=0.02))
    fleet = sp.Fleet(car, dt=0.01)
    start = np.array(record.flatten(settled(car, v_x=10.0)))[None]
    controls = np.zeros((30, 1, len(car.model.Input._fields)))

    def way(x: Any) -> Any:
        return x.x + x.y

    _, gradient = fleet.gradient(start, controls, way, wrt="params")
    names = record.names(car.model.Params)
    for name, value in (("road.surface.slope", 0.05), ("road.surface.bank", 0.02)):
        e = 1e-4
        ends = [
            fleet.rollout(start, controls, params={name: [value + d]})[-1, 0, :2].sum()
            for d in (-e, e)
        ]
        exact = gradient.params[0, names.index(name)]
        assert exact == pytest.approx((ends[1] - ends[0]) / (2.0 * e), rel=1e-5)
