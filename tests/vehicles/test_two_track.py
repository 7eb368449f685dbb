"""Mechanics of `two_track`: braking, sliding, energy, rest, and the same bits wherever it runs."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Down, GroundUnder
from skidpad.tyres import BrushTyre, Contact, LinearTyre, LoadSensitiveTyre, ProportionalTyre
from skidpad.tyres.simple import LoadSensitiveLaw
from skidpad.vehicles.parts import FirstOrderSlip
from vehicles.two_track_turns import FREE, LINEAR

two_track = sp.vehicles.two_track
WHEELS = ("fl", "fr", "rl", "rr")
G = 9.81


def four(value: Any, name: str) -> np.ndarray:
    return np.array([getattr(value, f"{name}_{wheel}") for wheel in WHEELS], dtype=float)


def brakes(front: float, rear: float) -> dict[str, float]:
    return {"brake_fl": front, "brake_fr": front, "brake_rl": rear, "brake_rr": rear}


def settled(car: sp.Vehicle, **fields: float) -> Any:
    return car.model.settle(car.State(**fields), car.params)  # type: ignore[misc]


def felt(car: sp.Vehicle, ground: GroundUnder) -> Any:
    """What the car feels of a ground."""
    assert car.body.on_ground is not None
    x, u, w = car.State(), car.Input(), car.model.Disturbance()
    return car.body.on_ground(x, u, w, ground, car.params)[1]


def test_braking_straight_decelerates_by_the_forces_of_the_tyres() -> None:
    """m a = sum of F_x, and with the wheels' inertia (m + sum I_w / R²) a = sum of torques / R."""
    car = two_track(tyre=LINEAR, C_drag=0.0)
    p, R = car.params, LINEAR.carcass.radius
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=30.0)
    run = sim.run(brakes(700.0, 250.0), duration=1.0)
    out = car.outputs(sim.state, car.Input(**brakes(700.0, 250.0)))
    assert out.a_x == pytest.approx(four(out, "F_x").sum() / p.m, rel=1e-12)
    # The rim of a braked wheel is slower than the car by its slip, and so are its changes.
    want = -2.0 * (700.0 + 250.0) / R / (p.m + 4.0 * p.I_w / R**2)
    assert out.a_x == pytest.approx(want, rel=3e-3)
    steps = np.diff(run["v_x"]) / 0.001
    assert steps[-1] == pytest.approx(out.a_x, rel=1e-4)
    # Wheels that slow down turn the car with what is left of the torques.
    rates = car.derivative(sim.state, car.Input(**brakes(700.0, 250.0)))
    turning = p.I_w * four(rates, "spin").sum()
    pitch = (p.m * out.a_x * p.z_cg + turning) / (p.l_f + p.l_r)
    front = four(out, "F_z")[:2].sum()
    assert front == pytest.approx(p.m * G * p.l_r / (p.l_f + p.l_r) - pitch, rel=1e-4)


def test_air_drag_alone() -> None:
    """1/v grows by C_drag / 2m per second, with the inertia of the wheels in m."""
    car = two_track(tyre=LINEAR, C_drag=2.0, slip=FirstOrderSlip())
    p, R = car.params, LINEAR.carcass.radius
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=40.0)
    v = sim.run({}, duration=5.0)["v_x"][-1]
    assert 1.0 / v - 1.0 / 40.0 == pytest.approx(5.0 / (p.m + 4.0 * p.I_w / R**2), rel=1e-3)


def test_rolling_resistance_alone() -> None:
    """The moment M_y of all tyres slows the car by the coefficient times g."""
    tyre = LINEAR._replace(carcass=FREE._replace(rolling=0.02))
    car = two_track(tyre=tyre, C_drag=0.0, slip=FirstOrderSlip())
    p, R = car.params, FREE.radius
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=20.0)
    v = sim.run({}, duration=2.0)["v_x"][::5]
    want = 0.02 * p.m * G / (p.m + 4.0 * p.I_w / R**2)
    assert v[100] - v[200] == pytest.approx(want, rel=1e-3)


SAME = LoadSensitiveLaw(mu=1.0, mu_fall=0.0)
ALIKE = {
    "brush": (BrushTyre(carcass=FREE), 1.0),
    "linear": (LinearTyre(carcass=FREE), 1.0),
    "proportional": (ProportionalTyre(carcass=FREE), None),
    "load sensitive": (LoadSensitiveTyre(lateral=SAME, longitudinal=SAME, carcass=FREE), None),
}
"""Tyres with the same friction along and across, and that friction where it is one number."""


def sliding(car: sp.Vehicle, v: tuple[float, ...], steer: float) -> tuple[np.ndarray, Any]:
    """Velocity of each patch in the axes of its wheel as a complex number, and the outputs of a
    car whose wheels stand."""
    p = car.params
    x = car.State(v_x=v[0], v_y=v[1], omega=v[2], steer=steer)
    steers = np.array([steer, steer, 0.0, 0.0])
    forward = np.array([p.l_f, p.l_f, -p.l_r, -p.l_r])
    left = 0.5 * np.array([p.track_f, -p.track_f, p.track_r, -p.track_r])
    velocity = (v[0] - left * v[2] + 1j * (v[1] + forward * v[2])) * np.exp(-1j * steers)
    return velocity, car.outputs(x, car.Input())


@pytest.mark.parametrize("kind", ALIKE)
@given(
    speed=st.floats(0.3, 40.0),
    course=st.floats(-np.pi, np.pi),
    omega=st.floats(-0.5, 0.5),
    steer=st.floats(-0.5, 0.5),
)
@settings(max_examples=40, deadline=None)
def test_the_force_of_a_locked_wheel_is_against_its_velocity(
    kind: str, speed: float, course: float, omega: float, steer: float
) -> None:
    """Whichever way car and wheel point, also slower than the floor of the slip."""
    tyre, mu = ALIKE[kind]
    v = (speed * np.cos(course), speed * np.sin(course), omega)
    velocity, out = sliding(two_track(tyre=tyre), v, steer)
    assume(np.abs(velocity).min() > 0.25)
    force = four(out, "F_x") + 1j * four(out, "F_y")
    assert np.angle(-force / velocity) == pytest.approx(np.zeros(4), abs=1e-6)
    if mu is not None:
        assert np.abs(force) == pytest.approx(mu * four(out, "F_z"), rel=0.03)


@pytest.mark.parametrize("name", ["default", "passenger_car", "race_slick"])
def test_tyres_with_other_friction_across_slide_nearly_so(name: str) -> None:
    """The default one by the ratio of its frictions, those of files as their coefficients say."""
    car = two_track() if name == "default" else two_track(tyre=sp.tyres.get(name))
    for course in np.linspace(-np.pi, np.pi, 25):
        v = (12.0 * np.cos(course), 12.0 * np.sin(course), 0.0)
        velocity, out = sliding(car, v, 0.2)
        force = four(out, "F_x") + 1j * four(out, "F_y")
        most = 0.1 if name == "default" else 0.3
        assert np.abs(np.angle(-force / velocity)).max() < most


def test_full_brakes_lock_the_wheels_and_stop_the_car() -> None:
    car = two_track(tyre=BrushTyre(carcass=FREE), C_drag=0.0, brake_max=6000.0)
    sim = sp.Simulator(car, dt=0.001, integrator="radau2")
    sim.reset(v_x=20.0)
    run = sim.run(brakes(6000.0, 6000.0), duration=4.0)
    spin = np.array([run[f"spin_{w}"] for w in WHEELS])
    assert np.abs(spin[:, 300:]).max() < 1e-6
    assert run["v_x"][1000] == pytest.approx(20.0 - G, abs=0.15)
    assert abs(run["v_x"][-1]) < 1e-6
    # v² / 2 mu g, and the little way until the wheels are locked.
    assert run["x"][-1] == pytest.approx(20.0**2 / (2.0 * G), rel=0.01)


def test_a_brake_resists_turning_and_holds() -> None:
    """All of it against a fast spin; what stops a slow wheel in the time t_hold, whatever else
    turns it, as long as that is less than there is."""
    car = two_track()
    p = car.params
    for spin in (-20.0, -1.0, 0.0, 0.2, 20.0):
        x = car.State(**{f"spin_{w}": spin for w in WHEELS}, **{f"tau_{w}": 300.0 for w in WHEELS})
        x = x._replace(v_x=spin * 0.3)
        free, braked = (
            four(car.derivative(x, car.Input(**brakes(b, b))), "spin") for b in (0.0, 1500.0)
        )
        want = -spin / p.t_hold if abs(spin) <= 1.0 else free - 1500.0 / p.I_w * np.sign(spin)
        assert braked == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_parked_on_a_slope_with_first_order_slip_it_does_not_creep() -> None:
    """Deflected tyres and held wheels carry the weight along a slope of 20 %."""
    car = two_track(slip=FirstOrderSlip())
    down = Down(-0.196, 0.05)
    w = felt(car, GroundUnder(G, down))
    sim = sp.Simulator(car, dt=0.001)
    sim.disturb(w)
    run = sim.run(brakes(1000.0, 2000.0), duration=15.0)
    assert abs(run["v_x"][-1]) < 1e-6
    assert abs(run["v_y"][-1]) < 1e-6
    assert abs(run["x"][-1]) < 0.02
    out = car.outputs(sim.state, car.Input(**brakes(1000.0, 2000.0)), w)
    assert four(out, "F_x").sum() == pytest.approx(0.196 * G * car.params.m, rel=1e-4)


@pytest.mark.slow_cases("implicit")
@pytest.mark.parametrize(
    ("slip", "most"), [(FirstOrderSlip(), 0.0), (None, 1e-15)], ids=["explicit", "implicit"]
)
def test_rolling_straight_stays_straight(slip: Any, most: float) -> None:
    """What is alike on both sides cancels to the last bit; an implicit step has rounding."""
    car = two_track(toe_f=0.005, toe_r=0.002, slip=slip)
    sim = sp.Simulator(car, dt=0.005)
    sim.reset(v_x=30.0)
    run = sim.run({"tau_fl": 150.0, "tau_fr": 150.0}, duration=5.0)
    for name in ("y", "yaw", "v_y", "omega", "load_a_y"):
        assert np.abs(run[name]).max() <= most
    assert run["v_x"][-1] > 25.0


def powers(car: sp.Vehicle, x: Any, u: Any) -> dict[str, float]:
    """Power of everything that acts on the car, in W."""
    p, out, rate = car.params, car.outputs(x, u), car.derivative(x, u)
    tyre, spin, F_z = p.tyres.tyre, four(x, "spin"), four(out, "F_z")
    forward = np.array([p.l_f, p.l_f, -p.l_r, -p.l_r])
    left = 0.5 * np.array([p.track_f, -p.track_f, p.track_r, -p.track_r])
    velocity = x.v_x - left * x.omega + 1j * (x.v_y + forward * x.omega)
    velocity *= np.exp(-1j * np.array([out.steer_fl, out.steer_fr, 0.0, 0.0]))
    at = [Contact(F_z=F, omega=s) for F, s in zip(F_z, spin, strict=True)]
    R = np.array([tyre.radii(c).effective for c in at])
    M_y = np.array([tyre.forces(c).M_y for c in at])
    F_x, F_y, tau = four(out, "F_x"), four(out, "F_y"), four(x, "tau")
    brake = tau + M_y - R * F_x - p.I_w * four(rate, "spin")
    return {
        "drive": float(tau @ spin),
        "brakes": -float(brake @ spin),
        "rolling": float(M_y @ spin),
        "sliding": float(F_x @ (velocity.real - R * spin) + F_y @ velocity.imag),
        "aligning": float(four(out, "M_z").sum() * x.omega),
        "air": -0.5 * p.C_drag * x.v_x**2 * abs(x.v_x),
    }


def test_power_in_is_what_is_stored_and_what_is_lost() -> None:
    """At every instant to rounding, and over a run to the accuracy of integration."""
    car = two_track()
    assert car.model.energy is not None
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=15.0)
    u = {"steer": 0.1, "tau_fl": 600.0, "tau_fr": 400.0, "brake_rl": 80.0, "brake_rr": 120.0}
    run = sim.run(u, duration=2.0)
    states = [record.unflatten(car.State, row.tolist()) for row in run.states]
    held = car.Input(**u)
    total = []
    for x in states:
        each = powers(car, x, held)
        assert max(each[name] for name in ("brakes", "rolling", "sliding", "air")) <= 0.0
        total.append(sum(each.values()))
    energy = np.array([car.model.energy(x, car.params) for x in states])
    work = np.sum(0.5 * (np.array(total)[1:] + np.array(total)[:-1])) * 0.002
    assert energy[-1] - energy[0] == pytest.approx(work, rel=1e-4)
    x = states[400]
    symbol = ca.SX.sym("x", record.size(car.State))
    slope = ca.gradient(
        ca.SX(car.model.energy(record.unflatten(car.State, ca.vertsplit(symbol)), car.params)),
        symbol,
    )
    at = np.array(ca.Function("slope", [symbol], [slope])(record.flatten(x))).ravel()
    rate = np.array(record.flatten(car.derivative(x, held)))
    assert float(at @ rate) == pytest.approx(total[400], rel=1e-10)


def test_split_grip_brakes_and_turns_towards_the_better_side() -> None:
    car = two_track(tyre=LINEAR)
    x = settled(car, v_x=20.0)
    x = x._replace(**{f"spin_{w}": 0.0 for w in WHEELS[:2]})
    ice = car.model.Disturbance(mu_fr=0.2, mu_rr=0.2)
    out, rate = car.outputs(x, car.Input(), ice), car.derivative(x, car.Input(), ice)
    assert out.F_x_fr == pytest.approx(0.2 * out.F_x_fl, rel=1e-3)
    assert rate.omega > 0.5


def test_ground_gives_each_tyre_its_own_friction() -> None:
    """A ground of half the friction of a tyre is half the grip; a negative one is its own."""
    car = two_track()
    own = [
        car.params.tyres.tyre.peaks(Contact(F_z=F)).mu_y
        for F in four(car.outputs(car.State(), car.Input()), "F_z")
    ]
    ground = GroundUnder(G, mu=(0.5 * own[0], -1.0, own[2], 0.0))
    assert four(felt(car, ground), "mu") == pytest.approx([0.5, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("slip", [None, FirstOrderSlip()], ids=["steady", "first order"])
def test_a_fleet_has_the_bits_of_a_simulator(slip: Any) -> None:
    car = two_track(slip=slip)
    fleet = sp.Fleet(car, dt=0.002)
    sim = sp.Simulator(car, dt=0.002)
    u = {"steer": 0.05, "tau_fl": 200.0, "tau_fr": 200.0, "brake_rl": 300.0}
    speeds = [0.0, 3.0, 12.0, 31.0, 7.0]
    start = np.array([record.flatten(settled(car, v_x=v)) for v in speeds])
    states = fleet.rollout(start, u, steps=100)
    for k, v in enumerate(speeds):
        sim.reset(v_x=v)
        assert np.array_equal(sim.run(u, steps=100).states, states[:, k])


def test_first_order_slip_comes_to_the_steady_one() -> None:
    """After some relaxation lengths the two cars turn alike."""
    ends = []
    for slip in (None, FirstOrderSlip()):
        sim = sp.Simulator(two_track(slip=slip, C_drag=0.0), dt=0.002)
        sim.reset(v_x=25.0)
        ends.append(sim.run({"steer": 0.03, "tau_fl": 40.0, "tau_fr": 40.0}, duration=4.0))
    steady, first = ends
    for name in ("omega", "v_y", "alpha_fl", "F_z_rr", "kappa_fr"):
        column = f"out_{name}" if name.startswith("kappa") else name
        assert first[column][-1] == pytest.approx(steady[name][-1], rel=5e-3)


def test_wheels_given_as_standing_roll_and_others_stay() -> None:
    car = two_track()
    x = settled(car, v_x=20.0, omega=0.5, steer=0.1)
    assert np.abs(four(car.outputs(x, car.Input()), "kappa")).max() < 1e-9
    y = settled(car, v_x=20.0, spin_fl=3.0)
    assert four(y, "spin").tolist() == [3.0, 0.0, 0.0, 0.0]
