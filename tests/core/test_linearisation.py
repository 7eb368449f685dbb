"""Linearisation: upstream's recorded Jacobians, finite differences, limits and bad input."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import vehicles
from skidpad.core.model import NoOutputs
from skidpad.errors import InvalidValue, StepNotConverged
from skidpad.run import linearisation
from skidpad.run.linearisation import (
    AccelerationLimits,
    ContinuousLinearisation,
    Linearisation,
    linearise,
    linearise_acceleration,
    linearise_continuous,
    normalised_acceleration,
)
from skidpad.vehicles.commonroad import bicycles

FOLDER = Path(__file__).parents[1] / "data" / "commonroad"
RECORDED = {
    "KB": vehicles.commonroad_kinematic_bicycle(),
    "DB": vehicles.commonroad_dynamic_bicycle(compat="upstream"),
    "DI": vehicles.double_integrator(),
}


def deviation(got: Any, want: np.ndarray) -> float:
    """Largest difference, relative to the larger of the value and the scale of its entry."""
    scale = np.maximum(np.abs(want), np.abs(want).max(axis=0))
    return float(np.max(np.abs(np.array(got) - want) / np.where(scale > 0.0, scale, 1.0)))


@pytest.mark.parametrize("name", RECORDED)
def test_upstreams_step_and_jacobians(name: str) -> None:
    data = np.load(FOLDER / f"rhs_{name}.npz")
    count = len(data["A"])
    around = Linearisation(RECORDED[name], float(data["dt"]))
    found = [around(x, u) for x, u in zip(data["x"][:count], data["u"][:count], strict=True)]
    assert deviation([f.x_next for f in found], data["x_next_dt"]) <= 1e-12
    assert deviation([f.A for f in found], data["A"]) <= 1e-12
    assert deviation([f.B for f in found], data["B"]) <= 1e-12


@pytest.mark.parametrize("name", RECORDED)
def test_upstreams_acceleration_constraints(name: str) -> None:
    data = np.load(FOLDER / f"rhs_{name}.npz")
    count = len(data["A"])
    limits = AccelerationLimits(RECORDED[name])
    rows = list(zip(data["x"][:count], data["u"][:count], strict=True))
    found = [limits.linearise(x, u) for x, u in rows]
    for field, column in zip(
        found[0]._fields,
        ("a_long_norm", "a_lat_norm", "J_along_x", "J_along_u", "J_alat_x", "J_alat_u"),
        strict=True,
    ):
        assert deviation([getattr(f, field) for f in found], data[column]) <= 1e-12, field
    assert limits(*rows[0]) == (found[0].along, found[0].across)


def at(name: str) -> tuple[sp.Vehicle, np.ndarray, np.ndarray]:
    """A vehicle in a slight turn at 9 m/s, or as fast as it goes."""
    car = vehicles.get(name)()
    v = min(9.0, car.limits.v_max)
    wanted = {"v_x": v, "v": v, "yaw": 0.3, "steer": 0.02}
    x = car.State(**{k: v for k, v in wanted.items() if k in car.State._fields})
    if car.model.settle is not None:
        x = car.model.settle(x, car.params)
    return car, np.array(x, dtype=float), np.full(len(car.Input._fields), 0.01)


def differences(function: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The Jacobian of a function by central differences."""
    columns = []
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = h
        columns.append((function(x + step) - function(x - step)) / (2.0 * h))
    return np.stack(columns, axis=1)


STEPPED = [
    ("four_wheel", "rk4", False),
    ("kinematic_bicycle", "heun", False),
    pytest.param("four_wheel", "heun", False, marks=pytest.mark.slow),
    ("commonroad_st", "semi_implicit", False),
    ("kinematic_bicycle", "radau", False),
    ("commonroad_std", "rk4", True),
    ("ackermann_truck", "rk4", False),
]


@pytest.mark.slow_cases("four_wheel-rk4-False", "kinematic_bicycle-radau-False")
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.002 s is unstable for 'commonroad_std'")
@pytest.mark.parametrize(("name", "integrator", "staged"), STEPPED)
def test_the_step_is_the_simulators_and_its_jacobians_are_slopes(
    name: str, integrator: str, staged: bool
) -> None:
    car, x, u = at(name)
    dt = 2e-3
    around = Linearisation(car, dt, integrator)
    assert isinstance(around._functions, linearisation.StagedStep) == staged
    x_next, A, B = around(x, u)
    sim = sp.Simulator(car, dt=dt, integrator=integrator)
    sim.reset(x)
    np.testing.assert_allclose(x_next, np.array(sim.step(u)), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(A, differences(lambda z: around(z, u).x_next, x), atol=2e-7)
    np.testing.assert_allclose(B, differences(lambda z: around(x, z).x_next, u), atol=2e-7)


def test_a_stage_by_stage_step_is_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    car, x, u = at("commonroad_st")
    whole = Linearisation(car, 0.05)(x, u)
    monkeypatch.setattr(linearisation, "WHOLE_STEP", 0)
    other = vehicles.commonroad_st(compat="upstream")
    around = Linearisation(other, 0.05)
    assert isinstance(around._functions, linearisation.StagedStep)
    # Above walking pace the two models are one.
    for a, b in zip(around(x, u), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_what_is_held_over_a_step_is_sampled_at_its_start() -> None:
    def coasting(x: Any, u: Any, w: Any, p: Any) -> Any:
        return u._replace(a=u.a - 0.5 * x.v / 1.0)

    model = replace(bicycles.KINEMATIC_BICYCLE_MODEL, name="coasting", hold=coasting)
    car = sp.Vehicle(model, bicycles.KINEMATIC_BICYCLE_MODEL.Params())
    x, u, dt = np.array([0.0, 1.0, 9.0, 0.3, 0.1]), np.array([0.5, 0.1]), 0.1
    x_next, A, B = linearise(car, x, u, dt)
    # Held, the speed changes by one product; sampled at every stage it would follow e^(-dt/2).
    assert x_next[2] == pytest.approx(9.0 + dt * (0.5 - 4.5), rel=1e-14)
    assert A[2, 2] == pytest.approx(1.0 - 0.5 * dt, rel=1e-14)
    assert B[2, 0] == pytest.approx(dt, rel=1e-14)


def test_too_large_to_compile_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linearisation, "LARGEST", 10)
    car = vehicles.commonroad_kinematic_bicycle()
    slow = sp.Vehicle(replace(car.model, name="slow"), car.params)
    x, u = np.array([0.0, 1.0, 9.0, 0.3, 0.1]), np.array([0.5, 0.1])
    interpreted = linearise(slow, x, u, 0.1)
    monkeypatch.undo()
    for a, b in zip(interpreted, linearise(car, x, u, 0.1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["commonroad_dynamic_bicycle", "formula_student"])
def test_the_continuous_jacobians_are_slopes_of_the_derivative(name: str) -> None:
    car, x, u = at(name)
    around = ContinuousLinearisation(car)
    rate, A, B = around(x, u)
    direct = car.derivative(car.State(*x.tolist()), car.Input(*u.tolist()))
    np.testing.assert_allclose(rate, np.array(direct), rtol=1e-12, atol=1e-12)
    scale = 1e-6 * np.maximum(1.0, np.abs(A).max())
    np.testing.assert_allclose(A, differences(lambda z: around(z, u).rate, x), atol=scale)
    np.testing.assert_allclose(B, differences(lambda z: around(x, z).rate, u), atol=scale)


def test_records_mappings_and_arrays_are_one_and_results_are_the_callers() -> None:
    car = vehicles.commonroad_dynamic_bicycle()
    x, u = car.State(v_x=12.0, steer=0.05), car.Input(a=1.0)
    first = car.linearise(x, u, 0.1)
    kept = first.A.copy()
    for given in (x._asdict(), list(x), np.array(x)):
        again = car.linearise(given, u, dt=0.1)
        np.testing.assert_array_equal(again.A, first.A)
        again.A[:] = 0.0
    np.testing.assert_array_equal(first.A, kept)
    assert first.A.shape == (7, 7)
    assert first.B.shape == (7, 2)
    np.testing.assert_array_equal(linearise(car, x, u, 0.1).x_next, first.x_next)


def test_the_package_offers_the_function_whoever_imports_first() -> None:
    code = """if True:
        import skidpad as sp
        car = sp.vehicles.double_integrator()
        {}
        x_next, A, B = sp.linearise(car, [0.0, 0.0, 2.0, 0.0], [0.0, 1.0], dt=0.5)
        assert x_next.tolist() == [1.0, 0.125, 2.0, 0.5]
    """
    for before in ("pass", "car.linearise([0.0] * 4, [0.0] * 2, 0.1)"):
        subprocess.run([sys.executable, "-c", code.format(before)], check=True)


def test_parameters_and_disturbances_are_arguments() -> None:
    car, x, u = at("commonroad_dynamic_bicycle")
    w = car.model.Disturbance(v_y=0.5)
    calm, pushed = car.linearise_continuous(x, u), car.linearise_continuous(x, u, w=w)
    np.testing.assert_allclose(pushed.rate - calm.rate, np.array(w), atol=1e-12)
    heavy = car.with_params(I_z=2.0 * car.params.I_z)
    np.testing.assert_allclose(linearise_continuous(heavy, x, u).A[5], 0.5 * calm.A[5], rtol=1e-12)


def test_accelerations_of_other_vehicles_need_limits() -> None:
    car, x, u = at("four_wheel")
    out = car.outputs(car.State(*x.tolist()), car.Input(*u.tolist()))
    found = car.normalised_acceleration(x, u, a_long_max=8.0, a_lat_max=4.0)
    assert found == pytest.approx((out.a_x / 8.0, out.a_y / 4.0), rel=1e-12)
    slopes = linearise_acceleration(car, x, u, a_long_max=8.0, a_lat_max=4.0)

    def across(z: np.ndarray) -> np.ndarray:
        return np.array([normalised_acceleration(car, z, u, a_long_max=8.0, a_lat_max=4.0)[1]])

    np.testing.assert_allclose(slopes.across_x, differences(across, x)[0], atol=1e-6)
    with pytest.raises(InvalidValue, match="'four_wheel' has no parameter a_lat_max"):
        normalised_acceleration(car, x, u, a_long_max=8.0)
    with pytest.raises(InvalidValue, match=r"a_lat_max = -1\.0 m/s² must be finite and greater"):
        normalised_acceleration(car, x, u, a_long_max=8.0, a_lat_max=-1.0)
    bicycle = vehicles.commonroad_dynamic_bicycle()
    half = normalised_acceleration(bicycle, np.zeros(7), {"a": 2.0}, a_long_max=4.0)
    assert half == (0.5, 0.0)


def test_bad_input_is_named() -> None:
    car, x, u = at("commonroad_dynamic_bicycle")
    with pytest.raises(InvalidValue, match="dt = 0"):
        linearise(car, x, u, 0.0)
    with pytest.raises(InvalidValue, match="State takes 7 numbers"):
        linearise(car, x[:5], u, 0.1)
    with pytest.raises(InvalidValue, match="Input has no field 'acceleration'"):
        linearise(car, x, {"acceleration": 1.0}, 0.1)
    bad = x.copy()
    bad[2] = np.nan
    with pytest.raises(InvalidValue, match=r"State\.v_x = nan must be finite"):
        linearise(car, bad, u, 0.1)
    with pytest.raises(InvalidValue, match="scipy:RK45"):
        linearise(car, x, u, 0.1, "scipy:RK45")
    with pytest.raises(InvalidValue, match="call it: commonroad_dynamic_bicycle"):
        linearise(vehicles.commonroad_dynamic_bicycle, x, u, 0.1)
    with pytest.raises(InvalidValue, match="'ackermann_truck' is a discrete model"):
        linearise_continuous(vehicles.ackermann_truck(), np.zeros(7), np.zeros(2))
    silent = replace(car.model, name="silent", outputs=lambda *_: NoOutputs(), Outputs=NoOutputs)
    with pytest.raises(InvalidValue, match="'silent' has no accelerations among its outputs"):
        normalised_acceleration(sp.Vehicle(silent, car.params), x, u)


def test_an_implicit_step_that_fails_says_so() -> None:
    car, x, u = at("kinematic_bicycle")
    with pytest.raises(StepNotConverged, match="Newton residual"):
        linearise(car, np.where(np.arange(len(x)) == 6, 1.55, x), u, 50.0, "radau")


@pytest.mark.slow
def test_what_is_linearised_where_rk4_is_unstable() -> None:
    """A motor with 1 ms over 10 ms: exp(-10) exactly, R(-10) of Radau IIA by its name; the
    simulator's own step is that of its integrator."""
    car, dt = sp.vehicles.four_wheel(), 0.01
    motor = car.State._fields.index("tau_rl")
    x, u = car.State(v_x=10.0), car.Input(tau_rl=10.0)
    sim = sp.Simulator(car, dt)
    with pytest.raises(InvalidValue, match="unstable"):
        sp.linearise(car, x, u, dt, "rk4")
    for integrator in ("auto", "exact"):
        _, A, _ = sp.linearise(car, x, u, dt, integrator)
        assert A[motor, motor] == pytest.approx(np.exp(-10.0), rel=1e-9)
    z = -10.0
    kept = (1.0 + 0.4 * z + z * z / 20.0) / (1.0 - 0.6 * z + 3.0 * z * z / 20.0 - z**3 / 60.0)
    x_next, A, _ = sp.linearise(car, x, u, dt, sim.integrator)
    assert A[motor, motor] == pytest.approx(kept, rel=1e-9)
    sim.reset(x)
    np.testing.assert_allclose(x_next, sim.step(u), rtol=1e-12, atol=1e-13)
