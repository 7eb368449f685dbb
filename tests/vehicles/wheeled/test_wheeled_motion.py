"""What wheeled vehicles have to do by themselves, in the default mode."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control.pid import Gains
from skidpad.core import record
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts import Friction
from skidpad.vehicles.wheeled import Control
from skidpad.vehicles.wheeled.description import Description
from vehicles.wheeled.fleet_of_kinds import COMBINATIONS, RAW

DT = 0.005
MIRROR = {"left": "right", "right": "left", "fl": "fr", "fr": "fl", "rl": "rr", "rr": "rl"}
ODD = ("y", "yaw", "v_y", "omega", "a_y", "slope_y", "F_y", "M_z", "steer")


def mirrored(value: Any) -> Any:
    """A record in the mirror: sides exchanged, left-positive quantities with the other sign."""
    names = record.names(type(value))
    leaves = dict(zip(names, record.flatten(value), strict=True))

    def image(name: str) -> str:
        words = re.split(r"([._])", name)
        return "".join(MIRROR.get(word, word) for word in words)

    def odd(name: str) -> bool:
        return name in ODD or name.startswith("steer_")

    return record.unflatten(
        type(value), [(-1.0 if odd(name) else 1.0) * leaves[image(name)] for name in names]
    )


def a_state(vehicle: sp.Vehicle, seed: int) -> Any:
    draw = np.random.default_rng(seed).normal
    fields = {"v_x": draw(), "v_y": 0.2 * draw(), "omega": 0.5 * draw(), "yaw": draw()}
    for name in record.names(vehicle.State):
        if name.startswith("spin"):
            fields[name] = 5.0 * draw()
    return record.build(vehicle.State, fields)


@pytest.mark.parametrize("name", [*RAW, "torsen_4wd", "circle", "ackermann-full"])
def test_a_mirror_image_moves_as_the_mirror_image(name: str) -> None:
    vehicle = wheeled.vehicle(RAW.get(name) or COMBINATIONS[name])
    update, p = vehicle.model.update, vehicle.params
    assert update is not None
    for seed in range(20):
        x = a_state(vehicle, seed)
        draw = np.random.default_rng(100 + seed).normal
        u = vehicle.Input(
            *(draw() * (20.0 if n.startswith("tau") else 0.4) for n in vehicle.Input._fields)
        )
        w = record.build(vehicle.model.Disturbance, slope_x=0.05, slope_y=0.1, F_y=2.0, M_z=1.0)
        got = record.flatten(update(mirrored(x), mirrored(u), mirrored(w), p, DT))
        want = record.flatten(mirrored(update(x, u, w, p, DT)))
        assert got == pytest.approx(want, abs=1e-9)


@pytest.mark.slow_cases(
    "ackermann-wardiagnemma",
    "ackermann_drivetrain-wardiagnemma",
    "differential_3_wheels-ellipse",
    "differential_3_wheels-wardiagnemma",
    "differential_4_wheels-ellipse",
)
@pytest.mark.parametrize(
    # Each kind with one friction, and one kind with each.
    "name",
    [
        name
        if name.endswith("-default")
        or name in ("differential-ellipse", "differential-wardiagnemma")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in RAW
    ],
)
def test_energy_does_not_grow_without_drive(name: str) -> None:
    vehicle = wheeled.vehicle(RAW[name])
    energy = vehicle.model.energy
    assert energy is not None
    sim = sp.Simulator(vehicle, dt=DT)
    for seed in range(6):
        sim.reset(a_state(vehicle, seed))
        before = float(energy(sim.state, vehicle.params))
        for _ in range(200):
            now = float(energy(sim.step(), vehicle.params))
            assert now <= before * (1.0 + 1e-9) + 1e-9
            before = now


@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_rest_stays_rest(name: str, compat: str | None) -> None:
    vehicle = wheeled.vehicle(COMBINATIONS[name], compat)
    x = record.build(vehicle.State, x=3.0, y=-1.0, yaw=0.7)
    u, w = record.build(vehicle.Input), record.build(vehicle.model.Disturbance)
    assert vehicle.model.update is not None
    for _ in range(20):
        x = vehicle.model.update(x, u, w, vehicle.params, DT)
    assert (x.x, x.y, x.yaw) == (3.0, -1.0, 0.7)
    assert (x.v_x, x.v_y, x.omega) == (0.0, 0.0, 0.0)


def robot(**changes: Any) -> Description:
    """A robot whose wheels roll freely and whose axle holds its centre of mass."""
    chassis = replace(
        wheeled.differential().chassis,
        shape=((-0.4, -0.4), (-0.4, 0.4), (0.4, 0.4), (0.4, -0.4)),
        linear_damping=0.0,
        angular_damping=0.0,
    )
    return wheeled.differential(
        **{"chassis": chassis, "friction": Friction(C_damping=0.0), **changes}
    )


def test_a_rolling_robot_turns_by_the_difference_of_its_wheels() -> None:
    sim = sp.Simulator(
        wheeled.vehicle(robot(control=Control("twist_pid", Gains(KP=30.0, KI=40.0)))), DT
    )
    for _ in range(3000):
        x = sim.step(v=0.8, omega=0.5)
    left, right = 0.2 * x.spin_left, 0.2 * x.spin_right
    assert x.omega == pytest.approx((right - left) / 1.0, rel=1e-9)
    assert x.v_x == pytest.approx(0.5 * (left + right), rel=1e-9)
    assert (x.v_x, x.omega) == pytest.approx((0.8, 0.5), rel=1e-6)
    out = sim.outputs()
    assert (out.v_odometry, out.omega_odometry) == pytest.approx((x.v_x, x.omega), rel=1e-9)


def test_torque_accelerates_mass_and_spin() -> None:
    d = robot(control=Control("raw"))
    sim = sp.Simulator(wheeled.vehicle(d), dt=DT)
    for _ in range(200):
        x = sim.step(tau_left=1.0, tau_right=1.0)
    mass = d.chassis.mass + sum(w.mass for w in d.wheels)
    inertia = sum(w.spin_inertia for w in d.wheels)
    # F = (tau - I a / R) / R for each wheel, with the force of a step from the spin before it.
    a = 2.0 / 0.2 / (mass + inertia / 0.2**2)
    assert x.v_x == pytest.approx(200 * DT * a, rel=1e-2)


def test_a_wheel_that_spins_pushes_with_all_its_friction() -> None:
    d = robot(control=Control("raw"), friction=Friction(mu=0.3, C_damping=0.0))
    sim = sp.Simulator(wheeled.vehicle(d), dt=DT)
    for _ in range(100):
        x = sim.step(tau_left=50.0, tau_right=50.0)
    assert x.v_x == pytest.approx(100 * DT * 0.3 * 9.81, rel=1e-9)
    assert 0.2 * x.spin_left > x.v_x + 1.0


def test_drag_slows_a_coasting_robot_exponentially() -> None:
    d = robot(control=Control("raw"))
    d = replace(d, chassis=replace(d.chassis, linear_damping=0.2))
    sim = sp.Simulator(wheeled.vehicle(d), dt=DT)
    sim.reset(v_x=1.0, spin_left=5.0, spin_right=5.0)
    for _ in range(1000):
        x = sim.step()
    mass = d.chassis.mass + sum(w.mass for w in d.wheels)
    with_spin = mass + sum(w.spin_inertia for w in d.wheels) / 0.2**2
    assert x.v_x == pytest.approx(math.exp(-5.0 * 0.2 * mass / with_spin), rel=2e-3)


def test_a_car_follows_the_circle_of_its_steering() -> None:
    d = wheeled.ackermann(
        control=Control("front_steer_pid", Gains(KP=200.0, KI=50.0, max_torque=400.0))
    )
    sim = sp.Simulator(wheeled.vehicle(d), dt=DT)
    for _ in range(4000):
        x = sim.step(v=1.0, steer=0.2)
    assert x.omega / x.v_x == pytest.approx(math.tan(0.2) / 1.3, rel=1e-2)
    assert abs(x.v_y) < 0.01
    assert math.tan(x.steer_fl) > math.tan(0.2) > math.tan(x.steer_fr)


def test_loads_lean_with_the_forces() -> None:
    vehicle = wheeled.vehicle(wheeled.ackermann(control=Control("raw"), friction=Friction(mu=0.9)))
    sim = sp.Simulator(vehicle, dt=DT)
    sim.step()
    still = sim.outputs()
    for _ in range(200):
        sim.step(tau_fl=300.0, tau_fr=300.0)
    out, x, p = sim.outputs(), sim.state, vehicle.params
    loads = [getattr(out, f"F_z_{wheel}") for wheel in ("rl", "rr", "fl", "fr")]
    mass = p.body.chassis_mass + 4 * p.wheel_fl.mass
    assert sum(loads) == pytest.approx(mass * 9.81)
    moved = mass * x.a_x * p.body.com_z / 1.3
    assert x.a_x > 0.5
    assert out.F_z_rl + out.F_z_rr == pytest.approx(still.F_z_rl + still.F_z_rr + moved)


def test_in_a_left_turn_the_right_wheels_carry_more() -> None:
    vehicle = wheeled.vehicle(wheeled.ackermann(control=Control("front_steer_pid")))
    sim = sp.Simulator(vehicle, dt=DT)
    for _ in range(2000):
        sim.step(v=4.0, steer=0.2)
    out = sim.outputs()
    assert out.F_z_rr > out.F_z_rl + 100.0
    assert out.F_z_fr > out.F_z_fl + 100.0


def test_static_loads_do_not_lean() -> None:
    vehicle = wheeled.vehicle(wheeled.ackermann(control=Control("raw"), loads="static"))
    assert "a_x" not in vehicle.State._fields
    sim = sp.Simulator(vehicle, dt=DT)
    sim.step()
    before = sim.outputs()
    for _ in range(100):
        sim.step(tau_fl=300.0, tau_fr=300.0)
    assert sim.outputs().F_z_fl == before.F_z_fl


def test_a_slippery_side_turns_the_robot() -> None:
    d = robot(control=Control("raw"))
    sim = sp.Simulator(wheeled.vehicle(d), dt=DT)
    sim.disturb(mu_left=0.02)
    for _ in range(100):
        x = sim.step(tau_left=5.0, tau_right=5.0)
    assert x.omega > 0.1


def test_a_push_acts_at_the_centre_of_mass() -> None:
    vehicle = wheeled.vehicle(
        wheeled.differential(control=Control("raw"), friction=Friction(mu=0.0))
    )
    sim = sp.Simulator(vehicle, dt=DT)
    sim.disturb(F_y=10.0)
    x = sim.step()
    body, mass = vehicle.params.body, 15.0 + 2 * 2.0
    assert x.omega == 0.0
    assert x.v_y == pytest.approx(DT * 10.0 / mass / (1.0 + 0.1 * DT))
    sim.reset()
    sim.disturb(M_z=2.0)
    x = sim.step()
    assert x.omega == pytest.approx(DT * 2.0 / body.I_z / (1.0 + 0.1 * DT))
    assert x.v_y == pytest.approx(-x.omega * body.com_x, rel=1e-4)


def test_a_stopped_car_is_held_on_a_slope_and_an_idle_one_rolls() -> None:
    slope = math.sin(0.1)
    for control, rolls in (("twist_front_steer_pid", False), ("raw", True)):
        gains = Gains(max_torque=400.0) if not rolls else None
        sim = sp.Simulator(wheeled.vehicle(wheeled.ackermann(control=Control(control, gains))), DT)
        sim.disturb(slope_x=-slope)
        for _ in range(200):
            x = sim.step()
        if rolls:
            assert x.v_x == pytest.approx(-9.81 * slope, rel=0.1)
        else:
            assert abs(x.x) < 1e-9
        assert abs(x.y) < 1e-12


def test_a_parked_robot_does_not_slide_down_a_side_slope() -> None:
    sim = sp.Simulator(wheeled.vehicle(wheeled.differential(4, control=Control("raw"))), dt=DT)
    sim.disturb(slope_y=0.3)
    for _ in range(200):
        x = sim.step()
    assert abs(x.y) < 1e-9
    sim.reset()
    sim.disturb(slope_y=0.8)  # steeper than the friction holds: tan > 0.8
    for _ in range(200):
        x = sim.step()
    assert x.y > 0.1
