"""The default integrator is right at walking pace, at rest and under the brakes, too."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import integrate
from skidpad.core import record
from skidpad.core.body import Demand, Velocity
from skidpad.run.stability import automatic, longest_step

BICYCLE = sp.vehicles.commonroad_dynamic_bicycle()


@pytest.mark.parametrize("dt", [0.004, 0.008, 0.01, 0.012, 0.05])
def test_a_slow_car_turns_as_its_wheels_point(dt: float) -> None:
    """Rolling without slip: yaw = v cos(beta) tan(steer) t / L, tan(beta) = l_r tan(steer) / L."""
    p, steer, speed, duration = BICYCLE.params, 0.3, 0.3, 3.0
    sim = sp.Simulator(BICYCLE, dt)
    sim.reset(v_x=speed, steer=steer)
    steps = round(duration / dt)
    yaw = sim.run({}, steps=steps)["yaw"][-1]
    rolled = speed * math.tan(steer) / (p.l_f + p.l_r) * steps * dt
    assert yaw == pytest.approx(rolled, rel=0.06)
    fleet = sp.Fleet(BICYCLE, dt).rollout({"v_x": speed, "steer": steer}, {}, steps=steps)
    assert fleet[-1, 0, BICYCLE.State._fields.index("yaw")] == pytest.approx(rolled, rel=0.06)


def test_braking_to_rest_agrees_with_an_adaptive_method() -> None:
    runs = []
    for integrator in ("auto", "scipy:Radau"):
        sim = sp.Simulator(BICYCLE, 0.01, integrator)
        sim.reset(v_x=3.0, steer=0.3)
        runs.append(sim.run({"a": -4.0}, duration=0.75))
    assert runs[0]["yaw"][-1] == pytest.approx(runs[1]["yaw"][-1], rel=1e-3)
    assert np.abs(runs[0]["a_y"]).max() == pytest.approx(np.abs(runs[1]["a_y"]).max(), rel=1e-2)


def test_a_method_that_is_asked_for_is_warned_about_with_the_speeds() -> None:
    with pytest.warns(UserWarning, match=r"unstable for 'commonroad_dynamic_bicycle' at 0, 0.1, "):
        sp.Simulator(BICYCLE, 0.008, "rk4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.Simulator(BICYCLE, 0.0035, "rk4")


def jacobian(car: sp.Vehicle, x: object, u: object) -> np.ndarray:
    """By central differences, what a model samples at the start of the step held: not the exact
    one under test."""
    model, at = car.model, np.array(record.flatten(x))
    w = record.build(model.Disturbance)
    held = model.held_input(x, u, w, car.params)

    def rate(row: np.ndarray) -> np.ndarray:
        state = record.unflatten(model.State, row.tolist())
        assert model.derivative is not None
        return np.array(record.flatten(model.derivative(state, held, w, car.params)), dtype=float)

    columns = []
    for k in range(len(at)):
        h = np.zeros(len(at))
        h[k] = 1e-6
        columns.append((rate(at + h) - rate(at - h)) / 2e-6)
    return np.array(columns).T


CARS = [name for name in sp.vehicles.names() if sp.vehicles.get(name)().model.continuous]


@pytest.mark.slow_cases(
    "0.005-brains2",
    "0.005-commonroad_dynamic_bicycle",
    "0.005-commonroad_kinematic_bicycle",
    "0.005-commonroad_ks",
    "0.005-commonroad_kst",
    "0.005-commonroad_st",
    "0.005-double_integrator",
    "0.005-four_wheel",
    "0.005-kinematic_bicycle",
    "0.005-single_track",
)
@pytest.mark.parametrize("name", CARS)
@pytest.mark.parametrize("dt", [0.001, 0.005, 0.01, 0.02])
def test_no_mode_of_driving_grows_under_the_automatic_choice(name: str, dt: float) -> None:
    """At speeds between those that it looks at, the wheels turned, driving and braking."""
    car = sp.vehicles.get(name)()
    method = automatic(car, dt, car.model.substeps)
    if method.implicit:
        return
    body, p, limits, step = car.body, car.params, car.limits, dt / car.model.substeps
    method = integrate.get(method).bind(car.model)
    rest = record.at_rest(car.State)
    for speed in np.concatenate([np.linspace(0.0, 3.0, 14), [7.0, 15.0, 40.0]]):
        if not car.model.slowest <= speed <= limits.v_max:
            continue
        for steer in (0.0, 0.5 * min(limits.steer_max, 1.0)):
            x = body.placed(rest, body.pose(rest, p), Velocity(float(speed), 0.0, 0.0), p)
            x = x._replace(steer=steer) if hasattr(x, "steer") else x
            x = x if car.model.settle is None else car.model.settle(x, p)
            for a in (0.0, max(limits.a_min, -8.0)):
                u = body.command(x, Demand(steer=steer, v=float(speed), a=a), p)
                matrix = jacobian(car, x, u)
                assert step <= 1.02 * longest_step(method, matrix).dt, (speed, steer, a)


def test_a_model_says_from_which_speed_it_is_meant() -> None:
    """`four_wheel` divides by the speed: at rest no explicit step is short enough."""
    assert sp.vehicles.four_wheel().model.slowest == 1.0
    assert sp.Simulator(sp.vehicles.four_wheel(), 0.001).integrator.name == "rk4"


def test_a_model_without_a_floor_is_stepped_implicitly() -> None:
    """A user's own bicycle that divides by its speed, body and all: NaN or an error at rest, as
    stiff as one likes near it. Rolling without slip is the answer."""
    car = sp.vehicles.commonroad_dynamic_bicycle()
    model = car.model

    def divided(x: Any, u: Any, w: Any, p: Any) -> Any:
        """Slip angles of small angles, over the speed itself."""
        front = x.steer - (x.v_y + p.l_f * x.omega) / x.v_x
        rear = -(x.v_y - p.l_r * x.omega) / x.v_x
        load = p.m * p.g / (p.l_f + p.l_r)
        F_f, F_r = p.C_f * load * p.l_r * front, p.C_r * load * p.l_f * rear
        return model.State(
            x.v_x, x.v_y, 0.0, (F_f + F_r) / p.m - x.v_x * x.omega, x.omega,
            (p.l_f * F_f - p.l_r * F_r) / p.I_z, u.steer_rate,
        )  # fmt: skip

    assert model.body is not None
    body = replace(model.body, command=lambda x, demand, p: model.Input(a=0.0 / x.v_x))
    own = sp.Model("own", model.State, model.Input, model.Params, derivative=divided, body=body)
    sim = sp.Simulator(sp.Vehicle(own, car.params), 0.01)
    assert sim.integrator.name == "radau"
    sim.reset(v_x=0.3, steer=0.1)
    yaw = sim.run({}, duration=3.0)["yaw"][-1]
    assert yaw == pytest.approx(0.3 * 0.1 / (car.params.l_f + car.params.l_r) * 3.0, rel=0.02)
    with pytest.warns(UserWarning, match=r"unstable for 'own' at 0.1, 0.2 m/s"):
        sp.Simulator(sp.Vehicle(own, car.params), 0.005, "rk4")
    with pytest.raises(sp.InvalidValue, match=r"slowest = -1.0 m/s must be finite and at least 0"):
        replace(own, slowest=-1.0)
    meant = sp.Vehicle(replace(own, slowest=5.0), car.params)
    assert sp.Simulator(meant, 0.01).integrator.name == "rk4"
