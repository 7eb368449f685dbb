"""A disturbance of every state: x' = f + w."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import Model, Vehicle, with_disturbance
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.units import m, m_s, one, s
from skidpad.vehicles.parts.assembly import additive


class Inner(NamedTuple):
    level: m = 0.0


class State(NamedTuple):
    x: m = 0.0
    tank: Inner = Inner()


class Input(NamedTuple):
    v: m_s = 0.0


class Params(NamedTuple):
    t: s = 2.0


class Own(NamedTuple):
    x: m_s = 0.5
    grip: one = 1.0


def derivative(x: State, u: Input, w: Own, p: Params) -> State:
    return State(u.v * w.grip + w.x, Inner(x.tank.level / p.t))


def hold(x: State, u: Input, w: Own, p: Params) -> Input:
    return Input(u.v * w.grip)


def outputs(x: State, u: Input, w: Own, p: Params) -> Input:
    return Input(u.v + w.x)


MODEL = Model(
    "tank", State, Input, Params, derivative, outputs=outputs, Outputs=Input, Disturbance=Own
)


def test_names_units_and_defaults() -> None:
    kind = additive(MODEL).Disturbance
    assert record.names(kind) == ("x", "tank_level", "own_x", "grip")
    assert [str(leaf.unit) for leaf in record.fields(kind)] == ["m/s", "m/s", "m/s", "1"]
    assert [leaf.default for leaf in record.fields(kind)] == [0.0, 0.0, 0.5, 1.0]
    assert all(leaf.doc for leaf in record.fields(kind)[:2])


def test_it_is_added_and_the_models_own_still_acts() -> None:
    car = with_disturbance(Vehicle(MODEL, Params()))
    x, u = State(1.0, Inner(3.0)), Input(2.0)
    assert car.derivative(x, u) == MODEL.derivative(x, u, Own(), Params())
    w = car.model.Disturbance(x=0.1, tank_level=-1.0, own_x=0.25, grip=0.5)
    assert car.derivative(x, u, w) == State(2.0 * 0.5 + 0.25 + 0.1, Inner(1.5 - 1.0))
    assert car.outputs(x, u, w) == Input(2.25)


def test_what_is_held_sees_the_models_own_disturbance() -> None:
    car = with_disturbance(Vehicle(replace(MODEL, hold=hold), Params()))
    w = car.model.Disturbance(grip=0.5)
    assert car.derivative(State(), Input(4.0), w).x == 4.0 * 0.5 * 0.5 + 0.5


def test_a_second_time_changes_nothing() -> None:
    once = additive(MODEL)
    assert additive(once) is once
    assert additive(MODEL).Disturbance is once.Disturbance
    bicycle = sp.vehicles.commonroad_dynamic_bicycle()
    assert additive(bicycle.model) is bicycle.model
    assert record.names(bicycle.model.Disturbance) == record.names(bicycle.State)


def test_a_discrete_model_has_nothing_to_add_to() -> None:
    with pytest.raises(InvalidValue, match="'ackermann_truck' is a discrete model"):
        with_disturbance(sp.vehicles.ackermann_truck())


def test_a_disturbed_car_conforms_and_drifts() -> None:
    car = with_disturbance(sp.vehicles.four_wheel())
    names = record.names(car.model.Disturbance)
    assert names[-4:] == ("F_x", "F_y", "M_z", "mu_scale")
    sp.testing.check(car, ["mirror", "dimensions", "purity"]).raise_if_failed()
    sim = sp.Simulator(car, dt=1e-3, integrator="rk4")
    sim.reset(x=2.0)
    sim.disturb(x=0.5)
    for _ in range(100):
        sim.step()
    assert sim.state.x == pytest.approx(2.0 + 0.5 * 0.1, rel=1e-12)
    assert np.array(sim.state)[1:] == pytest.approx(np.zeros(10), abs=1e-15)
