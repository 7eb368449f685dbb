"""`full_car` against mechanics, other vehicles, and in every way a car is run."""

from __future__ import annotations

import math
import pickle
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.tyres import Contact, LinearTyre, LoadSensitiveTyre
from skidpad.tyres.contract import Carcass
from skidpad.vehicles.parts.air import AirShape, PlainAir, aero_map
from skidpad.vehicles.parts.chassis import (
    QuasiStatic,
    RollShare,
    Suspension,
    roll_levers,
    sprung_mass,
)
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip, SteadySlip
from skidpad.vehicles.parts.suspension import (
    LinearDamper,
    LinearSpring,
    SuspendedBody,
    corner,
    independent_suspension,
    roll_stiffness,
)
from skidpad.vehicles.twin_track.model import KINDS
from skidpad.vehicles.twin_track.sets import SETS
from vehicles.two_track_turns import steady_turn

full_car, two_track = sp.vehicles.full_car, sp.vehicles.two_track
WHEELS = ("fl", "fr", "rl", "rr")
G = 9.81
FREE = Carcass(rolling=0.0)
LAYOUT = SuspendedBody(h_rc_f=0.05, h_rc_r=0.12, anti_f=0.06, anti_r=0.1)


@cache
def default() -> sp.Simulator:
    """The one car that is compiled here, unless a test is about a road."""
    return sp.Simulator(full_car(), dt=0.001, integrator="rk4")


def four(value: Any, name: str) -> np.ndarray:
    return np.array([getattr(value, f"{name}_{wheel}") for wheel in WHEELS], dtype=float)


def settled(car: sp.Vehicle, **fields: float) -> Any:
    return car.model.settle(car.State(**fields), car.params)  # type: ignore[misc]


def stiff(layout: SuspendedBody, k: float, C_z: float) -> dict[str, Any]:
    held = corner(spring=LinearSpring(k=k), damper=LinearDamper(c=0.1 * k))
    tyre = LoadSensitiveTyre(trail=0.0, carcass=FREE._replace(C_z=C_z))
    return {"chassis": independent_suspension(layout, held, held), "tyre": tyre}


def test_it_is_listed_and_has_fourteen_degrees_of_freedom() -> None:
    car = full_car()
    assert "full_car" in sp.vehicles.names()
    assert sp.vehicles.get("full_car")().model is car.model
    assert car.name == "full_car"
    planar, spins = ("v_x", "v_y", "omega"), tuple(f"spin_{w}" for w in WHEELS)
    body, hop = ("heave_rate", "roll_rate", "pitch_rate"), tuple(f"v_z_{w}" for w in WHEELS)
    assert {*planar, *spins, *body, *hop} <= set(car.State._fields)
    assert not {"load_a_x", "load_a_y"} & set(car.State._fields)
    back = pickle.loads(pickle.dumps(car))
    assert back.model is car.model
    assert back.params == car.params


@pytest.mark.parametrize("v_x", [0.0, 60.0])
def test_a_start_is_in_balance(v_x: float) -> None:
    """At rest loads are those of a lever to 1e-12; at speed with the downforce on top."""
    car = full_car(C_down=3.0, down_front=0.4)
    p, x = car.params, settled(car, v_x=v_x)
    rate, out = car.derivative(x, car.Input()), car.outputs(x, car.Input())
    down, base = 0.5 * 3.0 * v_x**2, p.l_f + p.l_r
    front, rear = p.m * G * p.l_r / base + 0.4 * down, p.m * G * p.l_f / base + 0.6 * down
    assert four(out, "F_z") == pytest.approx(0.5 * np.array([front, front, rear, rear]), rel=1e-12)
    for name in ("heave_rate", "pitch_rate", *(f"v_z_{w}" for w in WHEELS)):
        assert getattr(rate, name) == pytest.approx(0.0, abs=1e-9)
    assert (x.heave < 0.0) == (v_x > 0.0)


def test_a_start_is_in_balance_on_a_map_of_ride_heights() -> None:
    """Downforce that grows as the car comes down."""
    heights, drag = (0.0, 0.2), [[0.8, 0.8], [0.8, 0.8]]
    down = [[3.0, 3.0], [1.0, 1.0]], [[2.0, 1.0], [2.0, 1.0]]
    car = full_car(air=aero_map(heights, heights, drag, *down, AirShape(ride_f=0.15, ride_r=0.15)))
    rate = car.derivative(settled(car, v_x=40.0), car.Input())
    assert abs(rate.heave_rate) + abs(rate.pitch_rate) < 1e-3


def test_named_states_of_a_start_stay_and_others_settle() -> None:
    car = full_car(C_down=3.0)
    sim = sp.Simulator(car, dt=0.001, integrator="rk4")
    assert sim.reset(v_x=50.0, heave=0.03).heave == 0.03
    want = settled(car, v_x=50.0)
    assert sim.state.z_fl == want.z_fl < 0.0
    assert sim.reset(v_x=50.0) == want


def energy_rate(car: sp.Vehicle, x: Any, u: Any) -> float:
    """Time derivative of the energy along the motion."""
    assert car.model.energy is not None
    z: Any = ca.SX.sym("x", record.size(car.State))
    symbols = record.unflatten(car.State, ca.vertsplit(z))
    gradient = ca.gradient(ca.SX(car.model.energy(symbols, car.params)), z)
    slope = np.array(ca.Function("slope", [z], [gradient])(record.flatten(x))).ravel()
    return float(slope @ np.array(record.flatten(car.derivative(x, u))))


@pytest.mark.parametrize("road", [sp.Road(), sp.Road.plane(0.2, 0.05)], ids=["flat", "slope"])
def test_power_in_is_what_is_stored_and_what_is_lost(road: sp.Road) -> None:
    """Drive, sliding at patches that body and wheels move, aligning, air and dampers; on a slope
    the height counts."""
    tyre = LoadSensitiveTyre(trail=0.0, carcass=FREE)
    chassis = independent_suspension(LAYOUT)
    car = full_car(chassis=chassis, tyre=tyre, slip=SteadySlip(), road=road)
    p, u = car.params, car.Input(steer=0.05)
    rng = np.random.default_rng(7)
    for _ in range(5):
        small = {n: rng.uniform(-0.02, 0.02) for n in chassis.States._fields}
        torques = {f"tau_{w}": rng.uniform(-300.0, 300.0) for w in WHEELS}
        spins = {f"spin_{w}": rng.uniform(55.0, 62.0) for w in WHEELS}
        x = car.State(
            yaw=0.3, v_x=20.0, v_y=0.4, omega=0.3, steer=0.05,
            **{n: 10.0 * v if "rate" in n or "v_z" in n else v for n, v in small.items()},
            **torques, **spins,
        )  # fmt: skip
        out, v = car.outputs(x, u), p.chassis.carried(x, p)
        forward = np.array([p.l_f, p.l_f, -p.l_r, -p.l_r])
        left = 0.5 * np.array([p.track_f, -p.track_f, p.track_r, -p.track_r])
        velocity = np.array([a.x + 1j * a.y for a in v]) - left * x.omega + 1j * forward * x.omega
        velocity *= np.exp(-1j * np.array([out.steer_fl, out.steer_fr, 0.0, 0.0]))
        spin, F_x, F_y = four(x, "spin"), four(out, "F_x"), four(out, "F_y")
        at = (Contact(F_z=F, omega=s) for F, s in zip(four(out, "F_z"), spin, strict=True))
        R = np.array([tyre.radii(contact).effective for contact in at])
        power = four(x, "tau") @ spin + F_x @ (velocity.real - R * spin) + F_y @ velocity.imag
        power += four(out, "M_z").sum() * x.omega - 0.5 * p.C_drag * x.v_x**3
        loss = p.chassis.loss(x, p)
        assert loss > 0.0
        size = abs(power) + loss + p.m * G
        assert energy_rate(car, x, u) == pytest.approx(power - loss, abs=1e-10 * size)


def test_stiff_springs_and_tyres_make_it_a_two_track() -> None:
    """The same steering and loads in a steady turn as the car in balance; the stiffer, the closer.

    Of levers past the springs, at the force of each axle here and at its share of mass there, see
    the tests of the suspension.
    """
    levers = {"h_u_f": 0.0, "h_u_r": 0.0, "h_rc_f": 0.0, "h_rc_r": 0.0}
    errors = []
    for factor in (1.0, 1000.0):
        k = 22000.0 * factor
        parts = stiff(SuspendedBody(**levers), k, 2e5 * factor**1.5)
        still = QuasiStatic(Suspension(**levers, k_f=k, k_r=k, bar_f=0.0, bar_r=0.0))
        cars = (full_car(slip=SteadySlip(), **parts), two_track(chassis=still, tyre=parts["tyre"]))
        turns = [steady_turn(car, 25.0, 5.0) for car in cars]
        outs = [
            car.outputs(turn.x, car.Input(steer=turn.steer), turn.w)
            for car, turn in zip(cars, turns, strict=True)
        ]
        loads = np.abs(four(outs[0], "F_z") - four(outs[1], "F_z")).max() / (cars[0].params.m * G)
        errors.append((abs(turns[0].steer / turns[1].steer - 1.0), loads))
    assert errors[1][0] < min(1e-5, 0.01 * errors[0][0])
    assert errors[1][1] < min(1e-5, 0.01 * errors[0][1])


def test_small_slip_makes_it_a_single_track() -> None:
    """Understeer of the linear range, W_f / C_f - W_r / C_r, and the turn of `single_track`."""
    tyres = {
        name: LinearTyre(C_y=C_y, trail=0.0, carcass=FREE)
        for name, C_y in (("front", 14.0), ("rear", 20.0))
    }
    car = full_car(slip=SteadySlip(), C_drag=0.0, **tyres)
    turn = steady_turn(car, 30.0, 0.1)
    base = car.params.l_f + car.params.l_r
    # Tyres whose stiffness is C_y times the load: the weight on an axle cancels.
    understeer = (1.0 / 14.0 - 1.0 / 20.0) / G
    assert turn.steer / 0.1 == pytest.approx(base / 30.0**2 + understeer, rel=2e-3)
    bicycle = sp.vehicles.single_track(C_drag=0.0, **tyres, m=car.params.m)
    x = bicycle.State(v_x=30.0, v_y=turn.x.v_y, omega=turn.x.omega, steer=turn.steer)
    rate = bicycle.derivative(x, bicycle.Input(steer=turn.steer))
    assert rate.v_y == pytest.approx(0.0, abs=2e-3 * 0.1)
    assert rate.omega == pytest.approx(0.0, abs=2e-3 * 0.1)


def test_a_fleet_does_what_a_simulator_does() -> None:
    sim, car = default(), full_car()
    start = {"v_x": 20.0}
    u = {"steer": 0.05, "brake_fl": 300.0}
    first = np.array([settled(car, **start)] * 3)
    ends = sp.Fleet(car, dt=0.001, integrator="rk4").rollout(first, u, steps=300)
    sim.reset(**start)
    sim.run(u, steps=300)
    for end in ends[-1]:
        assert tuple(end) == tuple(sim.state)


def test_its_gradient_is_finite_and_that_of_differences() -> None:
    """At rest, in a turn, with a wheel in the air and on a stop; of the flat road."""
    car = full_car()
    for fields in ({}, {"v_x": 20.0, "steer": 0.1, "omega": 0.3}, {"z_fl": 0.2}, {"heave": -0.09}):
        x = settled(car, **fields)
        _, A, B = car.linearise_continuous(x, car.Input())
        assert np.isfinite(A).all()
        assert np.isfinite(B).all()
        row = np.array(record.flatten(x))
        k = car.State._fields.index("roll_rate")
        up, down = row.copy(), row.copy()
        up[k], down[k] = row[k] + 1e-6, row[k] - 1e-6
        rates = [
            np.array(record.flatten(car.derivative(car.State(*each), car.Input())))
            for each in (up, down)
        ]
        numeric = (rates[0] - rates[1]) / 2e-6
        assert A[:, k] == pytest.approx(numeric, rel=1e-5, abs=1e-4 * np.abs(numeric).max())


def test_it_turns_and_stops_with_steps_of_a_millisecond() -> None:
    """Body and wheels go where a turn and a stop send them, and come to rest."""
    sim = default()
    sim.reset(v_x=25.0)
    turn = sim.run({"steer": 0.04}, duration=2.0)
    assert turn["roll"][-1] > 0.0
    assert turn["F_z_fr"][-1] > turn["F_z_fl"][-1]
    assert np.ptp(turn["roll"][-300:]) < 0.1 * turn["roll"][-1]
    brakes = {f"brake_{w}": 700.0 for w in WHEELS}
    stop = sim.run(brakes, duration=12.0)
    assert stop["pitch"].max() > 0.02
    assert abs(stop["v_x"][-1]) < 1e-4
    assert np.isfinite(stop["z_fl"]).all()


@pytest.mark.slow
def test_radau_takes_steps_of_five_milliseconds() -> None:
    """Through a turn and a stop, as RK4 with a fifth of the step."""
    ends = []
    for sim in (default(), sp.Simulator(full_car(), dt=0.005, integrator="radau")):
        sim.reset(v_x=20.0)
        sim.run({"steer": 0.05}, duration=2.0)
        turned = sim.state
        sim.run({f"brake_{w}": 900.0 for w in WHEELS}, duration=4.0)
        ends.append((turned, sim.state))
    (turned, stopped), (other, still) = ends
    assert record.flatten(other) == pytest.approx(record.flatten(turned), rel=1e-5, abs=1e-6)
    assert record.flatten(still) == pytest.approx(record.flatten(stopped), rel=1e-2, abs=5e-3)


def test_a_wheel_in_the_air_pushes_nowhere() -> None:
    car = full_car()
    x = settled(car, v_x=20.0, steer=0.1)._replace(z_fl=0.1, kappa_fl=0.2, tan_alpha_fl=0.2)
    out = car.outputs(x, car.Input())
    assert (out.F_z_fl, out.F_x_fl, out.F_y_fl, out.M_z_fl) == pytest.approx((0.0,) * 4, abs=1e-9)
    assert out.wheel_lift == 1.0


@pytest.mark.parametrize("name", SETS)
def test_parameter_sets_have_suspensions(name: str) -> None:
    """The car stands, loads shift by the share of `two_track`, and the body rolls as its kind."""
    car = full_car(name)
    p, kind = car.params, KINDS[name]
    layout, roll = p.chassis.body, math.radians(kind.roll) / G
    body = sprung_mass(layout, p)
    K_f, K_r = roll_stiffness(p.chassis, p)
    assert body.m * body.arm / (K_f + K_r - body.m * body.arm * G) == pytest.approx(roll, rel=1e-3)
    past_f, past_r = roll_levers(layout, p)
    front, rear = K_f * roll + past_f, K_r * roll + past_r
    assert front / (front + rear) == pytest.approx(SETS[name].values["roll_front"], abs=1e-3)
    rate = car.derivative(settled(car), car.Input())
    assert np.abs(np.array(record.flatten(rate))).max() < 1e-9
    assert p.m == SETS[name].values["m"]
    assert full_car(name, m=1.1 * p.m).params.m == 1.1 * p.m


def test_what_is_no_full_car_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match="chassis of a full_car must be an independent_suspension"
    ):
        full_car(chassis=RollShare())
    with pytest.raises(InvalidValue, match="independent_suspension, got a RollShare"):
        full_car(two_track().params)
    with pytest.raises(InvalidValue, match="no parameter set"):
        full_car("lorry")
    with pytest.raises(InvalidValue, match="roll_front"):
        full_car(roll_front=0.5)


def test_parts_are_exchanged_as_those_of_two_track() -> None:
    """Numbers of a suspension by their dotted names; other slip, air and springs; parameters of a
    full car make one again."""
    car = full_car(**{"chassis.front.spring.k": 30e3, "chassis.body.h_rc_f": 0.05}, air=PlainAir())
    assert car.params.chassis.front.spring.k == 30e3
    assert car.model is full_car().model
    again = full_car(car.params, m=1400.0)
    assert again.params.chassis == car.params.chassis
    assert again.params.m == 1400.0
    held = full_car(slip=FirstOrderSlip(), chassis=independent_suspension(front=corner()))
    assert held.model is not car.model
    assert two_track(chassis=independent_suspension()).name == "two_track"
