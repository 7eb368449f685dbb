"""`two_track` with powertrains and hydraulic brakes: conformance, energy, limits, standing."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Down, GroundUnder
from skidpad.run.arguments import Commands
from skidpad.tyres import Contact, LinearTyre
from skidpad.vehicles.parts import (
    AllWheelDrive,
    Battery,
    EngineDrive,
    FirstOrderSlip,
    HydraulicBrakes,
    LimitedSlip,
    LockedDifferential,
    ManualShift,
    MotorDrive,
    OpenDifferential,
    RearWheelDrive,
    gear_ratios,
)
from skidpad.vehicles.parts.actuators import BrakeTorques
from skidpad.vehicles.parts.electric import (
    CurveEnvelope,
    ElectricMotor,
    Supply,
    WheelTorques,
    loss_map,
)
from skidpad.vehicles.parts.gearing import FinalDrive
from vehicles.two_track_turns import LINEAR

two_track = sp.vehicles.two_track
WHEELS = ("fl", "fr", "rl", "rr")
G = 9.81
OPEN = AllWheelDrive(OpenDifferential(share=0.4), OpenDifferential(), OpenDifferential())
RWD_MOTOR = {"powertrain": MotorDrive(), "brakes": HydraulicBrakes()}
AWD_MOTOR = {"powertrain": MotorDrive(layout=OPEN), "brakes": HydraulicBrakes()}
AUTOMATIC = {"powertrain": EngineDrive(), "brakes": HydraulicBrakes()}
MANUAL = {"powertrain": EngineDrive(shift=ManualShift()), "brakes": HydraulicBrakes()}
CARS: dict[str, dict[str, Any]] = {
    "motor and limited slip": RWD_MOTOR,
    "all-wheel drive": AWD_MOTOR,
    "automatic": AUTOMATIC,
    "manual": MANUAL,
    "motor, brake torques": {"powertrain": MotorDrive(battery=Supply())},
    "wheel torques, pedal": {"brakes": HydraulicBrakes()},
}
QUICK = [name for name in sp.testing.checks() if name not in ("driving", "standing", "purity")]


def spins(x: Any) -> np.ndarray:
    return np.array([getattr(x, f"spin_{wheel}") for wheel in WHEELS], dtype=float)


@pytest.mark.slow_cases(
    "all-wheel drive", "manual", "motor, brake torques", "automatic", "motor and limited slip"
)
@pytest.mark.parametrize("name", CARS)
def test_it_conforms(name: str) -> None:
    sp.testing.check(two_track(**CARS[name]), QUICK).raise_if_failed()


@pytest.mark.slow_cases("automatic")
@pytest.mark.parametrize(
    "name", [pytest.param("motor and limited slip", marks=pytest.mark.slow), "automatic"]
)
def test_its_functions_are_pure(name: str) -> None:
    car = two_track(**CARS[name], slip=FirstOrderSlip())
    sp.testing.check(car, ["purity"]).raise_if_failed()


@pytest.mark.slow
@pytest.mark.parametrize("name", CARS)
def test_wishes_drive_it_and_it_stands_in_worlds(name: str) -> None:
    car = two_track(**CARS[name], slip=FirstOrderSlip())
    sp.testing.check(car, ["driving", "standing"]).raise_if_failed()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["motor and limited slip", "automatic"])
def test_wishes_drive_it_on_steady_slip(name: str) -> None:
    sp.testing.check(two_track(**CARS[name]), ["driving", "standing"]).raise_if_failed()


@pytest.mark.slow_cases("10.0-1.5-automatic", "10.0-1.5-motor and limited slip")
@pytest.mark.parametrize(
    # Two axles that are driven are told demands as one is.
    "name",
    [
        "motor and limited slip",
        pytest.param("all-wheel drive", marks=pytest.mark.slow),
        "automatic",
    ],
)
@pytest.mark.parametrize(("v", "a"), [(10.0, 1.5), (20.0, -4.0), (20.0, -0.5), (-3.0, -1.0)])
def test_a_demand_is_the_acceleration_that_comes(name: str, v: float, a: float) -> None:
    """Forward, braking, with less than the drag of an engine, and backward: what turns counts.

    Rolling resistance, 0.1 m/s², is not made up for."""
    car = two_track(**CARS[name], slip=FirstOrderSlip())
    sim = sp.Simulator(car, dt=0.005)
    x = sim.reset(v_x=v)
    speeds: list[float] = []
    for _ in range(400):
        x = sim.step(car.body.command(x, sp.Demand(a=a, v=v), car.params))
        speeds.append(x.v_x)
    assert (speeds[-1] - speeds[-101]) / 0.5 == pytest.approx(a, abs=0.17)


def energy_and_powers(car: sp.Vehicle, x: Any, u: Any) -> tuple[float, float]:
    """Rate of the energy of body, wheels and powertrain, and the power of all that acts on it.

    The powertrain gives its wheel power and what it stores; brakes, tyres and air take theirs.
    """
    assert car.model.energy is not None
    symbol = ca.SX.sym("x", record.size(car.State))
    value = ca.SX(car.model.energy(record.unflatten(car.State, ca.vertsplit(symbol)), car.params))
    slope = ca.Function("slope", [symbol], [ca.gradient(value, symbol)])(record.flatten(x))
    rate = np.array(record.flatten(car.derivative(x, u)))
    out, p = car.outputs(x, u), car.params
    spin = spins(x)
    forces = np.array([getattr(out, f"F_x_{w}") for w in WHEELS])
    sideways = np.array([getattr(out, f"F_y_{w}") for w in WHEELS])
    forward = np.array([p.l_f, p.l_f, -p.l_r, -p.l_r])
    left = 0.5 * np.array([p.track_f, -p.track_f, p.track_r, -p.track_r])
    velocity = x.v_x - left * x.omega + 1j * (x.v_y + forward * x.omega)
    velocity *= np.exp(-1j * np.array([out.steer_fl, out.steer_fr, 0.0, 0.0]))
    loads = [getattr(out, f"F_z_{w}") for w in WHEELS]
    R = np.array([LINEAR.radii(Contact(F_z=F_z)).effective for F_z in loads])
    road = float(forces @ (velocity.real - R * spin) + sideways @ velocity.imag)
    air = -0.5 * p.C_drag * x.v_x**2 * abs(x.v_x)
    turning = x.omega * sum(getattr(out, f"M_z_{w}") for w in WHEELS)
    acting = road + air + turning + out.P_wheels + out.P_stored
    return float(np.array(slope).ravel() @ rate), acting


@pytest.mark.parametrize("name", ["motor and limited slip", "all-wheel drive", "automatic"])
def test_power_into_wheels_and_losses_and_stored_are_the_power_of_the_source(name: str) -> None:
    """Whatever the car, its wheels and its motor do: of the car to rounding, and of the source."""
    car = two_track(**CARS[name], tyre=LINEAR)
    draw = np.random.default_rng(3).uniform
    moving = {"v_x": (-2.0, 30.0), "v_y": (-2.0, 2.0), "omega": (-1.0, 1.0), "steer": (-0.2, 0.2)}
    moving |= {f"spin_{wheel}": (-5.0, 120.0) for wheel in WHEELS}
    driven = {"tau_drive": (0.0, 230.0), "tau_regen": (0.0, 50.0), "soc": (0.1, 0.9)}
    driven |= {"spin_engine": (50.0, 650.0), "tau_engine": (0.0, 180.0), "gear_engaged": (1.0, 5.0)}
    ranges = moving | driven | {"twist_clutch": (-0.6, 0.6)}
    for _ in range(20):
        x = car.State(**{n: draw(*ranges[n]) for n in car.State._fields if n in ranges})
        u = car.Input(throttle=draw(0.0, 1.0))
        grown, acting = energy_and_powers(car, x, u)
        assert grown == pytest.approx(acting, rel=1e-9, abs=1e-5)
        out = car.outputs(x, u)
        balance = out.P_wheels + out.P_lost + out.P_stored
        assert out.P_source == pytest.approx(balance, rel=1e-9, abs=1e-5)


@pytest.mark.slow
def test_charge_pays_for_the_drive() -> None:
    """What the battery lost is the integral of the power of its source, losses included."""
    car = two_track(**RWD_MOTOR)
    battery: Any = car.params.powertrain.battery
    sim = sp.Simulator(car, dt=0.005)
    sim.reset()
    run = sim.run({"throttle": 0.7}, duration=4.0)
    first, last = (battery.States(run["soc"][k]) for k in (0, -1))
    power = run["P_source"]
    work = np.sum(0.5 * (power[1:] + power[:-1])) * 0.005
    assert battery.stored(first) - battery.stored(last) == pytest.approx(work, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1.0, 0.05])
@pytest.mark.parametrize("name", ["motor and limited slip", "all-wheel drive"])
def test_the_power_limit_holds_with_spinning_wheels(mu: float, name: str) -> None:
    """80 kW at the terminals of the battery and at the shaft, from rest to the rev limit."""
    car = two_track(**CARS[name])
    sim = sp.Simulator(car, dt=0.005)
    sim.disturb(**{f"mu_{wheel}": mu for wheel in WHEELS})
    run = sim.run({"throttle": 1.0}, duration=6.0)
    assert (run["I_battery"] * run["V_battery"]).max() <= 80e3
    assert (run["tau_motor"] * run["spin_motor"]).max() <= 80e3
    assert (run["P_wheels"] <= run["tau_motor"] * run["spin_motor"] + 1e-6).all()
    assert run["P_wheels"].max() > 60e3
    assert run["spin_motor"].max() <= 1200.0
    if mu < 1.0:
        assert run["spin_motor"].max() > 1100.0


@pytest.mark.parametrize("name", ["motor and limited slip", "all-wheel drive"])
def test_acceleration_is_torque_over_mass_and_reflected_inertia(name: str) -> None:
    """(m + 4 I_w / R² + J / R²) a = ratio efficiency tau / R, straight ahead without air."""
    car = two_track(**CARS[name], tyre=LINEAR, slip=FirstOrderSlip(), C_drag=0.0)
    p, R = car.params, LINEAR.carcass.radius
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=5.0)
    v = sim.run({"throttle": 0.3}, duration=1.0)["v_x"]
    tau = 0.3 * p.powertrain.motor.peak()
    inertia = p.m + (4.0 * p.I_w + p.powertrain.reflected().J) / R**2
    want = p.powertrain.final.ratio * p.powertrain.final.efficiency * tau / R / inertia
    assert (v[-1] - v[-101]) / 0.2 == pytest.approx(want, rel=5e-3)


def test_regeneration_slows_the_car_and_charges_the_battery() -> None:
    sim = sp.Simulator(two_track(**RWD_MOTOR), dt=0.005, integrator="radau2")
    sim.reset(v_x=20.0)
    run = sim.run({"throttle": -1.0}, duration=15.0)
    assert (np.diff(run["v_x"]) < 1e-9).all()
    assert run["soc"][-1] > run["soc"][0]
    assert sim.reset(sim.state) == sim.state
    assert (run["I_battery"] * run["V_battery"]).min() >= -40e3
    assert run["v_x"].min() > -0.01


@pytest.mark.slow
def test_limited_slip_pulls_away_where_an_open_differential_spins() -> None:
    """One wheel on ice: an open one has twice the grip of the ice, a locking one much more."""
    gained = {}
    for differential in (OpenDifferential(), LimitedSlip(), LockedDifferential(damping=500.0)):
        layout = RearWheelDrive(differential)
        car = two_track(powertrain=MotorDrive(layout=layout), slip=FirstOrderSlip())
        sim = sp.Simulator(car, dt=0.001, integrator="rk4")
        sim.disturb(mu_rl=0.05)
        run = sim.run({"throttle": 0.3}, duration=1.0)
        gained[type(differential)] = run["v_x"][-1]
        if isinstance(differential, LockedDifferential):
            assert abs(run["spin_rl"][-1] - run["spin_rr"][-1]) < 1.5
    assert gained[LimitedSlip] > 1.8 * gained[OpenDifferential]
    assert gained[LockedDifferential] > gained[LimitedSlip]


@pytest.mark.slow
@pytest.mark.parametrize("dt", [0.002, 0.005, 0.01])
def test_an_automatic_pulls_away_and_changes_up_without_hunting(dt: float) -> None:
    sim = sp.Simulator(two_track(**AUTOMATIC), dt=dt)
    sim.reset()
    run = sim.run({"throttle": 1.0}, duration=9.0)
    assert (np.diff(run["v_x"][round(0.5 / dt) :]) > 0.0).all()
    assert (np.diff(run["gear_engaged"]) > -1e-4).all()
    assert run["gear_engaged"][-1] == pytest.approx(3.0, abs=0.05)
    assert run["spin_engine"].max() < 500.0
    # The clutch is closed and the engine turns with the wheels.
    p: Any = two_track(**AUTOMATIC).params.powertrain
    shaft = 0.5 * (run["spin_rl"][-1] + run["spin_rr"][-1]) * p.final.ratio
    assert run["spin_engine"][-1] == pytest.approx(1.28 * shaft, rel=0.01)


@pytest.mark.slow
def test_a_manual_car_reaches_the_rev_limit_of_its_gear() -> None:
    """And no more: nothing burns there."""
    car = two_track(**MANUAL, slip=FirstOrderSlip())
    sim = sp.Simulator(car, dt=0.005)
    run = sim.run({"throttle": 1.0, "gear": 1.0}, duration=8.0)
    p: Any = car.params.powertrain
    top = p.engine.crank.spin_max / (p.final.ratio * 3.58)
    assert 0.95 * top < run["spin_rl"][-1] < top
    assert run["spin_engine"].max() < p.engine.crank.spin_max


def test_engine_and_gear_follow_the_speed_of_a_reset() -> None:
    car = two_track(**AUTOMATIC, slip=FirstOrderSlip())
    x = sp.Simulator(car, dt=0.005).reset(v_x=30.0)
    p: Any = car.params.powertrain
    assert x.gear_engaged == pytest.approx(5.0, abs=1.0)
    ratio = np.interp(x.gear_engaged, (1, 2, 3, 4, 5), (3.58, 1.93, 1.28, 0.95, 0.76))
    assert x.spin_engine == pytest.approx(ratio * p.final.ratio * x.spin_rl, rel=1e-6)
    assert sp.Simulator(car, dt=0.005).reset().spin_engine == p.engine.crank.spin_idle


@pytest.mark.slow_cases("pedal-wheel torques, pedal")
@pytest.mark.parametrize(
    # The brakes of the last are those of the others.
    "name",
    [
        "motor and limited slip",
        "automatic",
        pytest.param("wheel torques, pedal", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("u", [{"brake": 0.6}, {"handbrake": 1.0}], ids=["pedal", "parking"])
def test_brakes_hold_it_on_a_slope(name: str, u: dict[str, float]) -> None:
    """With first-order slip it does not creep: brakes and tyres hold the weight along the slope."""
    car = two_track(**CARS[name], slip=FirstOrderSlip())
    assert car.body.on_ground is not None
    ground = GroundUnder(G, Down(-0.15, 0.0))
    _, w = car.body.on_ground(car.State(), car.Input(), car.model.Disturbance(), ground, car.params)
    sim = sp.Simulator(car, dt=0.001)
    sim.disturb(w)
    run = sim.run(u, duration=16.0)
    assert abs(run["v_x"][-1]) < 1e-6
    assert np.abs(spins(sim.state)).max() < 1e-5
    assert abs(run["x"][-1]) < 0.02


def test_braking_is_the_torque_of_pressure_balance_and_discs() -> None:
    """m a = - sum of torques / R, with the inertia of wheels and rotor."""
    brakes = HydraulicBrakes(balance=0.6)
    car = two_track(
        powertrain=MotorDrive(), brakes=brakes, tyre=LINEAR, slip=FirstOrderSlip(), C_drag=0.0
    )
    p, R = car.params, LINEAR.carcass.radius
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=30.0)
    v = sim.run({"brake": 0.2}, duration=1.0)["v_x"]
    torque = 0.2 * 2.0 * sum(brakes.peaks())
    inertia = p.m + (4.0 * p.I_w + p.powertrain.reflected().J) / R**2
    assert (v[-1] - v[-101]) / 0.2 == pytest.approx(-torque / R / inertia, rel=1e-2)


@pytest.mark.slow
def test_full_pedal_locks_the_wheels_of_a_coupled_axle_and_stops_the_car() -> None:
    car = two_track(**AWD_MOTOR)
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=20.0)
    run = sim.run({"brake": 1.0, "handbrake": 1.0}, duration=5.0)
    assert max(np.abs(run[f"spin_{wheel}"][500:]).max() for wheel in WHEELS) < 1e-6
    assert abs(run["v_x"][-1]) < 1e-3


@pytest.mark.parametrize("name", ["motor and limited slip", "automatic"])
def test_a_fleet_has_the_bits_of_a_simulator(name: str) -> None:
    car = two_track(**CARS[name], slip=FirstOrderSlip())
    fleet, sim = sp.Fleet(car, dt=0.002), sp.Simulator(car, dt=0.002)
    u = {"steer": 0.05, "throttle": 0.6}
    speeds = [0.0, 3.0, 12.0, 31.0, 7.0]
    settle: Any = car.model.settle
    start = [record.flatten(settle(car.State(v_x=v), car.params)) for v in speeds]
    states = fleet.rollout(np.array(start), u, steps=60)
    for k, v in enumerate(speeds):
        sim.reset(v_x=v)
        assert np.array_equal(sim.run(u, steps=60).states, states[:, k])


def test_the_default_car_is_that_of_wheel_and_brake_torques() -> None:
    same = two_track(powertrain=WheelTorques(), brakes=BrakeTorques())
    assert same == two_track()
    assert same.model is sp.vehicles.get("two_track").model
    assert {"tau_max", "brake_max"} <= set(record.names(type(same.params)))


def test_numbers_of_parts_are_parameters() -> None:
    car = two_track(**RWD_MOTOR, **{"powertrain.final.ratio": 7.0, "brakes.front.mu": 0.3}, m=900.0)
    assert (car.params.powertrain.final.ratio, car.params.brakes.front.mu) == (7.0, 0.3)
    other = car.with_params(**{"powertrain.layout.differential.preload": 10.0})
    assert other.model is car.model
    assert other.params.powertrain.layout.differential.preload == 10.0
    with pytest.raises(sp.InvalidValue, match="tau_max"):
        two_track(**RWD_MOTOR, tau_max=500.0)
    with pytest.raises(sp.InvalidValue, match=r"powertrain\.final\.ratio"):
        two_track(powertrain=MotorDrive(final=FinalDrive(ratio=-1.0)))


def test_there_is_one_model_of_each_combination() -> None:
    cars = [two_track(**RWD_MOTOR), two_track(**RWD_MOTOR, m=900.0), two_track(**AWD_MOTOR)]
    assert cars[0].model is cars[1].model
    assert cars[0].model is not cars[2].model


MAPPED = MotorDrive(
    motor=ElectricMotor(
        envelope=CurveEnvelope(),
        losses=loss_map((0.0, 1200.0), (0.0, 250.0), ((0.0, 3000.0), (2000.0, 9000.0))),
    ),
    battery=Battery(),
)
SIX_SPEED = EngineDrive(ratios=gear_ratios(4.0, 2.5, 1.7, 1.2, 0.9, 0.7, reverse=3.5))


@pytest.mark.parametrize("powertrain", [MotorDrive(), MAPPED, SIX_SPEED, EngineDrive()])
def test_it_comes_back_from_a_pickle(powertrain: Any) -> None:
    car = two_track(powertrain=powertrain, brakes=HydraulicBrakes(p_max=7e6))
    back = pickle.loads(pickle.dumps(car))
    assert back == car
    assert back.model is car.model
    params = pickle.loads(pickle.dumps(car.params.powertrain))
    assert params == car.params.powertrain
    assert type(params) is type(car.params.powertrain)


@pytest.mark.slow
def test_another_process_takes_it(tmp_path: Path) -> None:
    """Its classes are at no place to import, and are made again."""
    file = tmp_path / "car.pickle"
    file.write_bytes(pickle.dumps(two_track(powertrain=MAPPED, brakes=HydraulicBrakes())))
    code = "import pickle, sys; print(len(pickle.load(open(sys.argv[1], 'rb')).State()))"
    told = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) == 18


@pytest.mark.parametrize("powertrain", [MAPPED, SIX_SPEED])
def test_maps_and_other_gears_conform(powertrain: Any) -> None:
    car = two_track(powertrain=powertrain, brakes=HydraulicBrakes())
    checks = ["mirror", "dimensions", "energy", "rest", "gradients"]
    sp.testing.check(car, checks).raise_if_failed()


def test_parameters_of_a_car_that_is_driven_otherwise() -> None:
    """What both have is taken over, what only the other one has is left."""
    plain = two_track(m=1100.0, tau_max=700.0)
    car = two_track(plain.params, **RWD_MOTOR)
    assert car.params.m == 1100.0
    assert two_track(car.params) == car
    back = two_track(car.params, powertrain=WheelTorques(), brakes=BrakeTorques())
    assert (back.params.m, back.params.tau_max) == (1100.0, two_track().params.tau_max)


@pytest.mark.parametrize("part", ["electric", 3.0, MotorDrive, LinearTyre(), HydraulicBrakes()])
def test_what_is_no_powertrain_is_refused(part: Any) -> None:
    with pytest.raises(sp.InvalidValue, match=r"powertrain must be .*MotorDrive or EngineDrive"):
        two_track(powertrain=part)


@pytest.mark.parametrize("part", ["disc", HydraulicBrakes, MotorDrive()])
def test_what_are_no_brakes_are_refused(part: Any) -> None:
    with pytest.raises(sp.InvalidValue, match=r"brakes must be .*HydraulicBrakes"):
        two_track(brakes=part)


@pytest.mark.parametrize(("car", "gear"), [(MANUAL, 6.0), ({"powertrain": EngineDrive()}, 2.0)])
def test_gears_beyond_the_box_are_refused(car: dict[str, Any], gear: float) -> None:
    """Of an automatic one the input says which way, not which gear."""
    commands = Commands(two_track(**{"brakes": HydraulicBrakes()} | car), "float64")
    commands.table({"gear": gear - 1.0}, 1)
    with pytest.raises(sp.InvalidValue, match=rf"gear = {gear:g} must be a whole number"):
        commands.table({"gear": gear}, 1)


@pytest.mark.parametrize(
    ("ratios", "reverse", "message"),
    [
        ((3.4, -2.1, 1.4), 3.0, r"ratio of gear 2 = -2.1 must be finite and greater than 0"),
        ((3.4, 2.1), 0.0, "ratio of reverse = 0.0 must be"),
        ((), 3.0, "takes 1 to 16 forward gears, got 0"),
        ((float("nan"),), 3.0, "ratio of gear 1 = nan must be"),
    ],
)
def test_impossible_gears_are_refused(
    ratios: tuple[float, ...], reverse: float, message: str
) -> None:
    with pytest.raises(sp.InvalidValue, match=message):
        gear_ratios(*ratios, reverse=reverse)


def test_gears_are_whole_numbers() -> None:
    sim = sp.Simulator(two_track(**MANUAL, slip=FirstOrderSlip()), dt=0.005)
    with pytest.raises(sp.InvalidValue, match=r"gear = 1.5 .*whole number from -1 to 5"):
        sim.step({"gear": 1.5})
