"""Stopping and holding: brakes, and what a demand to brake does."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Demand
from skidpad.vehicles import with_brakes

MAKERS = (sp.vehicles.four_wheel, sp.vehicles.kinematic_bicycle)
every_car = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.model.name)
BRAKES = {f"tau_{wheel}": -200.0 for wheel in ("fl", "fr", "rl", "rr")}


def moving(car: sp.Vehicle, v_x: float) -> Any:
    x = car.State(v_x=v_x)
    return x if car.model.settle is None else car.model.settle(x, car.params)


@every_car
def test_a_torque_that_brakes_reverses_and_a_brake_does_not(maker) -> None:
    # Fleets, which need no code for outputs. Rolling forwards and backwards:
    start = np.array([record.flatten(moving(maker(), v_x)) for v_x in (15.0, -5.0)])
    motors, brakes = (
        sp.Fleet(car, dt=0.001).rollout(start, BRAKES, steps=5000)
        for car in (maker(), with_brakes(maker()))
    )
    fields = maker().State._fields
    x, v_x = fields.index("x"), fields.index("v_x")
    assert motors[4000, 0, v_x] < -10.0
    assert abs(brakes[4000, 0, v_x]) < 1e-6
    assert brakes[5000, 0, x] == pytest.approx(brakes[4000, 0, x], abs=1e-6)
    assert abs(brakes[3000, 1, v_x]) < 1e-6


@every_car
def test_drive_and_the_way_forwards_are_the_cars_own(maker) -> None:
    car, braked = maker(), with_brakes(maker())
    x = car.State(v_x=12.0, steer=0.05, tau_fl=50.0, tau_rr=30.0)
    assert braked.derivative(x, car.Input()) == pytest.approx(car.derivative(x, car.Input()))
    slower = car.State(v_x=12.0, tau_fl=-50.0, tau_fr=-50.0)
    ours, theirs = (one.derivative(slower, car.Input()).v_x for one in (braked, car))
    assert ours == pytest.approx(theirs, rel=1e-4)


@every_car
def test_brakes_only_take_energy(maker) -> None:
    car = with_brakes(maker())
    p = car.params
    random = np.random.default_rng(4)
    for _ in range(300):
        v_x, v_y, omega = random.uniform((-10.0, -3.0, -2.0), (20.0, 3.0, 2.0))
        x = car.State(v_x=v_x, v_y=v_y, omega=omega)
        if maker is sp.vehicles.kinematic_bicycle:
            x = car.model.settle(x, p)
        free = car.model.energy(x, p)
        rates = [
            car.derivative(x._replace(**torques), car.Input())
            for torques in ({}, dict.fromkeys(BRAKES, -150.0))
        ]
        gains = [p.m * (x.v_x * r.v_x + x.v_y * r.v_y) + p.I_z * x.omega * r.omega for r in rates]
        assert free >= 0.0
        assert gains[1] <= gains[0] + 1e-6 * p.m * 100.0


def test_a_car_on_a_slope_is_held() -> None:
    car = with_brakes(sp.vehicles.four_wheel())
    p = car.params
    sim = sp.Simulator(car, dt=0.001)
    sim.disturb(F_x=-0.2 * p.m * 9.81)
    sim.run(dict.fromkeys(BRAKES, -p.tau_max), duration=3.0)
    # It creeps at the share of the slope in its brakes of the 0.05 m/s that a brake takes.
    assert abs(sim.state.v_x) < 1.01 * 0.05 * 0.2 * p.m * 9.81 / (4.0 * p.C_m0 * p.tau_max)
    with pytest.raises(sp.InvalidValue, match="'brains2' has no torques that could brake"):
        with_brakes(sp.vehicles.brains2())
    with pytest.raises(sp.InvalidValue, match="'formula_student' already has brakes"):
        with_brakes(sp.vehicles.formula_student())
    again = pickle.loads(pickle.dumps(car))
    assert again.model is car.model


@pytest.mark.slow_cases("four_wheel")
@every_car
def test_who_wishes_to_brake_stops_and_stays(maker) -> None:
    """A demand of a < 0 reverses with a demand of v < 0 only."""
    for car in (maker(), with_brakes(maker())):
        sim = sp.Simulator(car, dt=0.005)
        sim.reset(v_x=12.0)
        body = car.model.body
        for _ in range(600):
            sim.step(body.command(sim.state, Demand(a=-9.0), car.params))
        assert abs(sim.state.v_x) < 1e-3
    sim = sp.Simulator(maker(), dt=0.005)
    for _ in range(200):
        sim.step(maker.model.body.command(sim.state, Demand(a=-2.0, v=-3.0), maker().params))
    assert sim.state.v_x < -1.0
