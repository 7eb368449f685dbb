"""Wheel loads balance the moments of the wheels: their spin-up, their gyroscopic moment as the car
yaws, and the overturning and rolling moments of their tyres, all by Euler's equation of the car."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.vehicles.bicycle import motion as axles
from skidpad.vehicles.parts import (
    FirstOrderSlip,
    FrontWheelDrive,
    HydraulicBrakes,
    MotorDrive,
    OpenDifferential,
    QuasiStatic,
    RollPitch,
    SuspendedBody,
    independent_suspension,
)
from skidpad.vehicles.parts.chassis import sprung_mass
from skidpad.vehicles.twin_track.model import motion
from vehicles.two_track_turns import steady_turn

WHEELS = ("fl", "fr", "rl", "rr")
TYRE = sp.tyres.get("passenger_car")
"""It has moments about all three axes."""
LAYOUT = SuspendedBody(h_rc_f=0.06, h_rc_r=0.14, anti_f=0.08, anti_r=0.12)


def four(value: Any, name: str) -> np.ndarray:
    return np.array([getattr(value, f"{name}_{w}") for w in WHEELS])


def moments(car: sp.Vehicle, x: Any, w: Any) -> tuple[float, float]:
    """Overturning and rolling moment of all tyres."""
    wheels = motion(x, w, car.params).wheels
    return sum(f.M_x for f in wheels), sum(f.M_y for f in wheels)


def pitching(car: sp.Vehicle, x: Any, u: Any) -> tuple[float, float]:
    """Moment about the lateral axis on the ground of all that acts on an unsteered car, and the
    change of angular momentum of its wheels."""
    p, w = car.params, car.model.Disturbance()
    out, rate = car.outputs(x, u, w), car.derivative(x, u, w)
    fl, fr, rl, rr = four(out, "F_z")
    loads = p.l_f * (fl + fr) - p.l_r * (rl + rr)
    turned = four(rate, "spin") + getattr(rate, "pitch_rate", 0.0)
    by_road = -loads - p.z_cg * four(out, "F_x").sum() + moments(car, x, w)[1]
    return by_road, p.I_w * turned.sum()


@pytest.mark.parametrize("braked", [True, False], ids=["braking", "driving"])
@pytest.mark.parametrize("chassis", [None, QuasiStatic()], ids=["share", "springs"])
def test_loads_of_a_car_that_is_braked_or_driven_balance(chassis: Any, braked: bool) -> None:
    """Loads follow within `t_load`; what a body without inertia lacks is what still changes."""
    car = sp.vehicles.two_track(tyre=TYRE, chassis=chassis, slip=FirstOrderSlip(), C_drag=0.0)
    brakes = {"brake_fl": 700.0, "brake_fr": 700.0, "brake_rl": 250.0, "brake_rr": 250.0}
    u = car.Input(**(brakes if braked else {"tau_fl": 600.0, "tau_fr": 600.0}))
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=30.0)
    sim.run(u._asdict(), duration=1.0)
    by_road, turned = pitching(car, sim.state, u)
    transfer = abs(car.params.z_cg * four(car.outputs(sim.state, u), "F_x").sum())
    assert by_road == pytest.approx(turned, abs=2e-3 * transfer)
    assert abs(turned) > 0.025 * transfer


def test_axle_loads_of_a_single_track_balance() -> None:
    car = sp.vehicles.single_track(tyre=TYRE, C_drag=0.0)
    p, u = car.params, car.Input(F_drive=-6000.0)
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=30.0)
    sim.run(u._asdict(), duration=1.0)
    out = car.outputs(sim.state, u)
    transfer = p.z_cg * (out.F_x_f + out.F_x_r)
    wheels = axles(sim.state, car.model.Disturbance(), p)
    lacking = p.l_f * out.F_z_f - p.l_r * out.F_z_r + transfer
    lacking -= wheels.front.M_y + wheels.rear.M_y
    turned = 4.0 * p.I_w * out.a_x / TYRE.radii(F_z=0.25 * p.m * p.g, v_x=25.0).effective
    assert -lacking == pytest.approx(turned, abs=2e-3 * abs(transfer))
    assert abs(turned) > 0.025 * abs(transfer)


def moving(car: sp.Vehicle, seed: int) -> Any:
    """A car that goes straight while all else moves as it likes."""
    rng = np.random.default_rng(seed)
    rates = {"roll_rate": 0.1, "pitch_rate": 0.2, "heave_rate": 0.1}
    rates |= {f"v_z_{w}": 0.1 for w in WHEELS} | {"pitch": 0.01, "heave": 0.01, "roll": 0.01}
    rates |= {f"tau_{w}": 300.0 for w in WHEELS} | {"load_a_x": 3.0}
    values = {n: s * rng.uniform(-1.0, 1.0) for n, s in rates.items() if n in car.State._fields}
    spins = {f"spin_{w}": rng.uniform(62.0, 66.0) for w in WHEELS}
    return car.State(v_x=20.0, **spins, **values)


CARS = {
    "roll and pitch": {"chassis": RollPitch()},
    "suspended": {"chassis": independent_suspension(LAYOUT)},
    "rotor": {
        "chassis": RollPitch(),
        "powertrain": MotorDrive(layout=FrontWheelDrive(OpenDifferential())),
        "brakes": HydraulicBrakes(),
    },
}


@pytest.mark.parametrize("name", CARS)
@pytest.mark.parametrize("seed", range(4))
def test_pitch_of_a_body_that_moves_balances_at_every_instant(name: str, seed: int) -> None:
    """The moments of the road change the angular momentum of wheels, body and heaving masses."""
    car = sp.vehicles.two_track(tyre=TYRE, C_drag=0.0, **CARS[name])
    x, p = moving(car, seed), car.params
    u = car.Input(brake=0.3) if name == "rotor" else car.Input(brake_fl=400.0, brake_rr=300.0)
    rate, (by_road, turned) = car.derivative(x, u), pitching(car, x, u)
    chassis = p.chassis.body if name == "suspended" else p.chassis.suspension
    body = sprung_mass(chassis, p)
    changes = turned + (chassis if name == "suspended" else p.chassis).I_y * rate.pitch_rate
    changes -= (p.l_f - body.l_f) * body.m * rate.heave_rate
    if name == "suspended":
        front, rear = rate.v_z_fl + rate.v_z_fr, rate.v_z_rl + rate.v_z_rr
        changes -= 0.5 * (p.l_f * chassis.m_u_f * front - p.l_r * chassis.m_u_r * rear)
    size = p.m * p.g * p.z_cg
    assert by_road == pytest.approx(changes, abs=1e-10 * size)
    assert abs(turned) > 1e-3 * size


@pytest.mark.parametrize(
    "chassis",
    [None, QuasiStatic(), RollPitch(), independent_suspension()],
    ids=["share", "springs", "roll and pitch", "suspended"],
)
def test_loads_of_a_steady_turn_balance_in_roll(chassis: Any) -> None:
    """m a_y z, the overturning moments, the spins that yaw with the car, and the weight that
    leans. Steering angles are small."""
    car = sp.vehicles.two_track(tyre=TYRE, chassis=chassis)
    turn = steady_turn(car, 30.0, 5.0)
    p, x = car.params, turn.x
    out = car.outputs(x, car.Input(steer=turn.steer), turn.w)
    fl, fr, rl, rr = four(out, "F_z")
    loads = 0.5 * (p.track_f * (fr - fl) + p.track_r * (rr - rl))
    over = moments(car, x, turn.w)[0]
    gyro = p.I_w * four(x, "spin").sum() * x.omega
    leaning = 0.0
    if chassis is not None:
        s = chassis.body if hasattr(chassis, "body") else chassis.suspension
        body = sprung_mass(s, p)
        leaning = body.m * body.arm * (x.roll if hasattr(x, "roll") else out.roll)
        if hasattr(chassis, "body"):
            by_f, by_r = (x.z_fl - x.z_fr) / p.track_f, (x.z_rl - x.z_rr) / p.track_r
            leaning += s.m_u_f * s.h_u_f * by_f + s.m_u_r * s.h_u_r * by_r
    want = p.m * p.z_cg * out.a_y + over + gyro + p.g * leaning
    # Unsprung masses of a suspended car are pushed by the forces of their own axles.
    assert loads == pytest.approx(want, rel=1e-3 if hasattr(chassis, "body") else 1e-4)
    assert over > 0.005 * want
    assert gyro > 0.02 * want


def test_spins_turn_a_car_that_rolls() -> None:
    """A body that rolls by φ' turns the momentum H of its wheels by H φ' about the vertical."""
    car = sp.vehicles.full_car(slip=FirstOrderSlip())
    p = car.params
    still = sp.Simulator(car, dt=0.001, integrator="rk4").reset(v_x=30.0)
    rates = [
        car.derivative(still._replace(roll_rate=rate), car.Input()).omega for rate in (0.0, 0.3)
    ]
    H = p.I_w * four(still, "spin").sum()
    assert p.I_z * (rates[1] - rates[0]) == pytest.approx(-0.3 * H, rel=1e-9)
