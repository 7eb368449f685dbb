"""`single_track` against the closed forms of the linear bicycle, `two_track`, and mechanics."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Down, GroundUnder
from skidpad.tyres import BrushTyre, Contact, LinearTyre
from skidpad.vehicles.parts import AccelerationCommand, FirstOrderSlip
from skidpad.vehicles.parts.actuators import ForceCommand
from vehicles.two_track_turns import FREE, LINEAR, SENSITIVE

single_track, two_track = sp.vehicles.single_track, sp.vehicles.two_track
G = 9.81
CALM = {"C_drag": 0.0, "t_steer": 1e-3}


def stiffnesses(car: sp.Vehicle) -> tuple[float, float]:
    """Cornering stiffness of the front and of the rear axle."""
    p, tyre = car.params, car.params.tyres.tyre
    load = 0.5 * p.m * G / (p.l_f + p.l_r)
    front, rear = (2.0 * tyre.stiffness(Contact(F_z=load * arm)).K_y for arm in (p.l_r, p.l_f))
    return front, rear


def linear_bicycle(car: sp.Vehicle, v: float) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of v_y and omega, and of the steering angle (Riekert and Schunck 1940)."""
    p, (C_f, C_r) = car.params, stiffnesses(car)
    turning = p.l_f * C_f - p.l_r * C_r
    A = np.array(
        [
            [-(C_f + C_r) / (p.m * v), -turning / (p.m * v) - v],
            [-turning / (p.I_z * v), -(p.l_f**2 * C_f + p.l_r**2 * C_r) / (p.I_z * v)],
        ]
    )
    return A, np.array([C_f / p.m, p.l_f * C_f / p.I_z])


def lateral(car: sp.Vehicle, v: float) -> tuple[np.ndarray, np.ndarray]:
    """The same matrices of the car, linearised while it drives straight."""
    _, A, B = car.linearise_continuous(car.State(v_x=v), car.Input())
    names = record.names(car.State)
    rows, steer = [names.index("v_y"), names.index("omega")], names.index("steer")
    assert not np.any(np.asarray(B)[rows])
    return np.asarray(A)[np.ix_(rows, rows)], np.asarray(A)[rows, steer]


def gradient(car: sp.Vehicle) -> float:
    """Understeer gradient of the books, in rad per m/s²."""
    p, (C_f, C_r) = car.params, stiffnesses(car)
    return p.m / (p.l_f + p.l_r) * (p.l_r / C_f - p.l_f / C_r)


CARS = [
    single_track(tyre=SENSITIVE, **CALM),
    single_track(tyre=SENSITIVE, l_f=1.3, l_r=1.1, **CALM),
    single_track(tyre=LINEAR, m=900.0, I_z=800.0, **CALM),
]


@pytest.mark.parametrize("car", CARS)
@pytest.mark.parametrize("v", [5.0, 15.0, 40.0])
def test_it_is_the_linear_bicycle_at_small_slip(car: sp.Vehicle, v: float) -> None:
    for own, want in zip(lateral(car, v), linear_bicycle(car, v), strict=True):
        assert own == pytest.approx(want, rel=1e-6, abs=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("car", CARS)
@pytest.mark.parametrize("v", [10.0, 30.0])
def test_understeer_gradient_is_the_steering_beyond_the_slow_circle(
    car: sp.Vehicle, v: float
) -> None:
    """omega / steer = v / (L + K v²)."""
    A, b = lateral(car, v)
    gain = -np.linalg.solve(A, b)[1]
    base = car.params.l_f + car.params.l_r
    assert v / gain - base == pytest.approx(gradient(car) * v * v, rel=1e-5, abs=1e-6)


def test_yaw_gain_is_largest_at_the_characteristic_speed() -> None:
    """v_ch² = L / K, and the gain there is half that of a neutral car."""
    car = CARS[0]
    base = car.params.l_f + car.params.l_r
    v_ch = math.sqrt(base / gradient(car))
    gains = [-np.linalg.solve(*lateral(car, v))[1] for v in (0.97 * v_ch, v_ch, 1.03 * v_ch)]
    assert gains[1] > max(gains[0], gains[2])
    assert gains[1] == pytest.approx(0.5 * v_ch / base, rel=1e-6)


def test_a_car_that_oversteers_is_unstable_above_its_critical_speed() -> None:
    car = CARS[1]
    base = car.params.l_f + car.params.l_r
    assert gradient(car) < 0.0
    v_crit = math.sqrt(-base / gradient(car))
    below, above = (np.linalg.eigvals(lateral(car, f * v_crit)[0]) for f in (0.98, 1.02))
    assert below.real.max() < 0.0 < above.real.max()


@pytest.mark.parametrize("v", [15.0, 25.0, 45.0])
def test_frequency_and_damping_of_the_yaw_response(v: float) -> None:
    """omega_0² = C_f C_r L² / (m I_z v²) (1 + v² / v_ch²) and the damping as half the trace."""
    car = CARS[0]
    p, (C_f, C_r) = car.params, stiffnesses(car)
    base = p.l_f + p.l_r
    frequency2 = C_f * C_r / (p.m * p.I_z) * (base / v) ** 2 * (1.0 + v * v * gradient(car) / base)
    decay = 0.5 * ((C_f + C_r) / p.m + (p.l_f**2 * C_f + p.l_r**2 * C_r) / p.I_z) / v
    modes = np.linalg.eigvals(lateral(car, v)[0])
    assert np.prod(modes).real == pytest.approx(frequency2, rel=1e-5)
    assert -0.5 * modes.sum().real == pytest.approx(decay, rel=1e-5)
    steps = sp.Simulator(car, dt=0.001)
    steps.reset(v_x=v, steer=1e-4)
    run = steps.run({"steer": 1e-4}, duration=0.5)
    A, b = linear_bicycle(car, v)
    want = np.linalg.solve(A, (expm(0.5 * A) - np.eye(2)) @ b)[1] * 1e-4
    assert run["omega"][-1] == pytest.approx(want, rel=1e-4)


@pytest.mark.slow_cases("first order")
@pytest.mark.parametrize("slip", [None, FirstOrderSlip()], ids=["steady", "first order"])
def test_two_track_tends_to_it_with_small_slip(slip: Any) -> None:
    """Turning a car on four wheels spins them up and down, which is inertia in yaw."""
    four = two_track(tyre=SENSITIVE, slip=slip, C_drag=0.0)
    p = four.params
    wheels = p.I_w * 0.5 * (p.track_f**2 + p.track_r**2) / SENSITIVE.carcass.radius**2
    two = single_track(tyre=SENSITIVE, slip=slip, C_drag=0.0, I_z=p.I_z + wheels)
    apart = []
    for steer in (0.04, 0.01, 0.0025):
        ends = []
        for car in (two, four):
            sim = sp.Simulator(car, dt=0.002)
            sim.reset(v_x=25.0)
            ends.append(sim.run({"steer": steer}, duration=1.5)["omega"])
        apart.append(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1]).max())
    assert apart[0] > 3.0 * apart[1] > 3.0 * apart[2]
    assert apart[2] < 3e-3


@pytest.mark.parametrize("name", ["passenger_car", "race_slick"])
def test_offsets_of_a_tyre_cancel_on_an_axle(name: str) -> None:
    """A tyre that pulls to one side by itself has a mirror image beside it."""
    tyre = sp.tyres.get(name).record
    car = single_track(tyre=tyre)
    one = tyre.forces(Contact(F_z=4000.0, v_x=30.0, omega=100.0, p=tyre.pressure))
    assert one.F_y != 0.0
    rate = car.derivative(car.State(v_x=30.0, F_drive=900.0), car.Input())
    assert (rate.v_y, rate.omega) == (0.0, 0.0)


@pytest.mark.slow_cases("passenger_car-first order", "passenger_car-steady", "race_slick-steady")
@pytest.mark.parametrize("slip", [None, FirstOrderSlip()], ids=["steady", "first order"])
@pytest.mark.parametrize("tyre", ["passenger_car", "race_slick"])
def test_a_car_on_a_tyre_of_a_file_conforms(tyre: str, slip: Any) -> None:
    checks = ["rest", "dimensions", "mirror", "frame", "energy", "gradients", "motion", "shape"]
    car = single_track(tyre=sp.tyres.get(tyre), slip=slip)
    sp.testing.check(car, checks).raise_if_failed()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"slip": FirstOrderSlip()}, {"drive": AccelerationCommand()}])
def test_its_other_kinds_conform(kind: dict[str, Any]) -> None:
    sp.testing.check(single_track(**kind)).raise_if_failed()


@pytest.mark.parametrize("force", [1500.0, -4000.0])
def test_force_over_mass_is_the_acceleration_and_moves_load(force: float) -> None:
    car = single_track(tyre=LINEAR, C_drag=0.0)
    p = car.params
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=30.0)
    run = sim.run({"F_drive": force}, duration=1.0)
    out = car.outputs(sim.state, car.Input(F_drive=force))
    assert out.a_x == pytest.approx(force / p.m, rel=1e-3)
    assert np.diff(run["v_x"])[-1] / 0.002 == pytest.approx(out.a_x, rel=1e-6)
    share = p.drive_front if force > 0.0 else p.brake_front
    assert out.F_x_f == pytest.approx(share * force, rel=1e-3)
    base = p.l_f + p.l_r
    # Wheels that roll are sped up by a / R each.
    turning = 4.0 * p.I_w * out.a_x / LINEAR.carcass.radius
    want = (p.m * (G * p.l_r - out.a_x * p.z_cg) - turning) / base
    assert out.F_z_f == pytest.approx(want, rel=1e-4)
    assert out.F_z_f + out.F_z_r == pytest.approx(p.m * G, rel=1e-12)


def test_an_acceleration_is_a_force_over_the_mass() -> None:
    by_force, told = single_track(), single_track(drive=AccelerationCommand())
    mass = told.params.m
    x = told.State(v_x=12.0, omega=0.3, steer=0.1, F_drive=500.0)
    a = told.derivative(x, told.Input(steer=0.2, a_drive=-3.0))
    b = by_force.derivative(x, by_force.Input(steer=0.2, F_drive=-3.0 * mass))
    assert record.flatten(a) == pytest.approx(record.flatten(b), rel=1e-12)
    assert told.limits.a_max == 5.0
    assert by_force.limits.a_max == pytest.approx(6e3 / mass)


@pytest.mark.parametrize("mu", [1.0, 0.3])
@pytest.mark.parametrize("force", [-60e3, -5e3, 0.0, 3e3, 60e3])
@pytest.mark.parametrize("v_y", [0.0, 1.5, 6.0])
def test_no_axle_pushes_more_than_it_grips(mu: float, force: float, v_y: float) -> None:
    """Inside the friction ellipse, and along the wheels at most the share that may be used."""
    car = single_track(tyre=BrushTyre(mu=1.1, carcass=FREE))
    w = car.model.Disturbance(mu_f=mu, mu_r=mu)
    x = car.State(v_x=20.0, v_y=v_y, steer=0.1, F_drive=force)
    out = car.outputs(x, car.Input(), w)
    for F_x, F_y, F_z in (
        (out.F_x_f, out.F_y_f, out.F_z_f),
        (out.F_x_r, out.F_y_r, out.F_z_r),
    ):
        assert math.hypot(F_x, F_y) <= mu * 1.1 * F_z * (1.0 + 1e-9)
        assert abs(F_x) <= car.params.use_max * mu * 1.1 * F_z * (1.0 + 1e-9)


def test_braking_takes_grip_from_cornering() -> None:
    car = single_track()
    across = [
        car.outputs(car.State(v_x=20.0, steer=0.05, F_drive=F), car.Input()).F_y_f
        for F in (0.0, -5e3, -9e3)
    ]
    assert across[0] > across[1] > across[2] > 0.0


@pytest.mark.parametrize("slip", [None, FirstOrderSlip()], ids=["steady", "first order"])
def test_through_standstill_and_back(slip: Any) -> None:
    """It brakes, drives backwards, and turns there as its wheels roll; at rest it rests."""
    car = single_track(slip=slip)
    p = car.params
    sim = sp.Simulator(car, dt=0.005)
    sim.reset(v_x=3.0)
    sim.run({"F_drive": -3000.0, "steer": 0.2}, duration=1.2)
    assert sim.state.v_x < 0.5
    sim.run({"F_drive": -1500.0, "steer": 0.2}, duration=1.5)
    back = sim.run({"F_drive": 0.0, "steer": 0.2}, duration=0.5)
    v, omega = back["v_x"][-1], back["omega"][-1]
    assert -6.0 < v < -0.5
    assert omega == pytest.approx(v * math.tan(0.2) / (p.l_f + p.l_r), rel=0.03)
    sim.reset()
    rest = sim.run({"steer": 0.3}, duration=1.0)
    assert np.abs([rest["v_x"], rest["v_y"], rest["omega"]]).max() == 0.0


def test_rolling_resistance_and_air_slow_it_down() -> None:
    carcass = FREE._replace(rolling=0.02)
    car = single_track(tyre=LINEAR._replace(carcass=carcass), C_drag=2.0)
    out = car.outputs(car.State(v_x=20.0), car.Input())
    assert out.a_x == pytest.approx(-0.02 * G - 0.5 * 2.0 * 400.0 / car.params.m, rel=1e-5)


def test_downforce_presses_the_axles_by_its_share() -> None:
    car = single_track(C_down=4.0, down_front=0.25)
    p, out = car.params, car.outputs(car.State(v_x=30.0), car.Input())
    base = p.l_f + p.l_r
    assert out.F_z_f == pytest.approx(p.m * G * p.l_r / base + 0.25 * 1800.0)
    assert out.F_z_r == pytest.approx(p.m * G * p.l_f / base + 0.75 * 1800.0)


def test_an_axle_that_lifts_carries_nothing_and_the_other_all() -> None:
    car = single_track(z_cg=1.5)
    out = car.outputs(car.State(load_a_x=-15.0), car.Input())
    assert 0.0 <= out.F_z_r < 1e-9
    assert out.F_z_f == pytest.approx(car.params.m * G)


def test_the_ground_pulls_and_has_friction_by_axle() -> None:
    car = single_track(tyre=LINEAR)
    assert car.body.on_ground is not None
    ground = GroundUnder(G, Down(-0.1, 0.02), mu=(0.4, 0.2, -1.0, 0.5))
    w = car.body.on_ground(car.State(), car.Input(), car.model.Disturbance(), ground, car.params)[1]
    assert (w.mu_f, w.mu_r) == pytest.approx((0.3, 0.75))
    assert (w.F_x, w.F_y) == pytest.approx((-0.1 * car.params.m * G, 0.02 * car.params.m * G))


@pytest.mark.slow_cases("kind1")
@pytest.mark.parametrize("kind", [{}, {"slip": FirstOrderSlip(), "drive": AccelerationCommand()}])
def test_a_fleet_has_the_bits_of_a_simulator(kind: dict[str, Any]) -> None:
    car = single_track(**kind)
    fleet, sim = sp.Fleet(car, dt=0.005), sp.Simulator(car, dt=0.005)
    u = record.build(car.Input, {"steer": 0.05, car.Input._fields[1]: 2.0})
    starts = [record.flatten(car.State(v_x=v)) for v in (0.0, 3.0, 12.0, 31.0, -2.0)]
    states = fleet.rollout(np.array(starts), u, steps=80)
    for k, start in enumerate(starts):
        sim.reset(record.unflatten(car.State, start))
        assert np.array_equal(sim.run(u, steps=80).states, states[:, k])


def test_tyres_slip_and_drive_are_classes_of_records() -> None:
    car = single_track(front=LinearTyre(), rear=BrushTyre(), slip=FirstOrderSlip(), m=900.0)
    assert car.params.tyres._fields == ("front", "rear")
    assert car.with_params(**{"tyres.front.C_y": 12.0}).model is car.model
    assert single_track(car.params) == car
    back = pickle.loads(pickle.dumps(car))
    assert back == car
    assert back.model is car.model
    limited = single_track(drive=ForceCommand(F_max=2e3))
    assert limited.model is single_track.model


def test_a_road_is_put_under_it_by_on_road() -> None:
    with pytest.raises(sp.InvalidValue, match=r"on_road\(sp\.vehicles\.single_track"):
        sp.vehicles.single_track(road=sp.Road.plane(0.1))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"front": LinearTyre()}, "allowed are tyre, or front and rear"),
        ({"tyre": 3.0}, "tyre must be a tyre record"),
        ({"slip": FirstOrderSlip}, "slip must be a record of class SteadySlip or FirstOrderSlip"),
        ({"drive": "force"}, "drive must be a record of class ForceCommand or Acceleration"),
        ({"use_max": 1.0}, "use_max"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], text: str) -> None:
    with pytest.raises(sp.InvalidValue, match=text):
        single_track(**values)
