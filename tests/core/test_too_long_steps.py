"""Steps that are too long for a vehicle are noticed before they are made, and "auto" is stable."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import InvalidValue
from skidpad.core import record
from skidpad.run.stability import automatic, stable_steps
from skidpad.units import m, m_s, one, s

STIFF = ["four_wheel", "kinematic_bicycle"]
"""Vehicles whose motors follow their torques within 1 ms: λ = -1000 1/s."""
RK4_END = 2.785293563405282


class Place(NamedTuple):
    x: m = 0.0
    v: m_s = 0.0


class Push(NamedTuple):
    v: m_s = 0.0


class Lag(NamedTuple):
    tau: s = 0.01


def lagging(x: Place, u: Push, w: object, p: Lag) -> Place:
    return Place(x.v, (u.v - x.v) / p.tau)


CART = sp.Vehicle(sp.Model("cart", Place, Push, Lag, derivative=lagging), Lag())


def driven(vehicle: sp.Vehicle, dt: float, steps: int, **options: object) -> np.ndarray:
    sim = sp.Simulator(vehicle, dt, **options)  # type: ignore[arg-type]
    sim.reset(v_x=10.0)
    return sim.run({"steer": 0.02}, steps=steps).states


@pytest.mark.parametrize("name", STIFF)
def test_an_explicit_method_that_is_unstable_at_every_speed_is_refused(name: str) -> None:
    car = sp.vehicles.get(name)()
    with pytest.raises(InvalidValue, match=r"rk4 with dt = .* is unstable for .*-1000 1/s"):
        sp.Simulator(car, dt=0.01, integrator="rk4")
    with pytest.raises(InvalidValue, match=r"integrator='auto' \(radau here\)"):
        sp.Fleet(car, dt=0.01, integrator="rk4")


def test_what_the_error_advises_is_taken() -> None:
    car = sp.vehicles.four_wheel()
    with pytest.raises(InvalidValue, match=r"or dt <= 0\.0027 s, or substeps = 4"):
        sp.Simulator(car, dt=0.01, integrator="rk4")
    for options in ({"dt": 0.0027}, {"dt": 0.01, "substeps": 4}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            states = driven(car, steps=300, integrator="rk4", **options)  # type: ignore[arg-type]
        assert np.isfinite(states).all()
        assert states[-1, 3] < 12.0


def test_the_bound_is_where_it_blows_up() -> None:
    """One per cent below the longest step a run stays near; one above it ends in infinity."""
    car = sp.vehicles.four_wheel()
    longest = min(at.longest for at in stable_steps(car, sp.integrate.get("rk4")))
    assert longest == pytest.approx(RK4_END / 1000.0, rel=1e-3)
    fine = driven(car, 0.99 * longest, 3000, integrator="rk4")
    assert np.abs(fine[:, 7:]).max() < 1e3
    vehicle = sp.Vehicle(
        sp.Model(**{**vars_of(car.model), "reproduces": "what blows up", "exempt": {}}), car.params
    )
    with pytest.warns(UserWarning, match="unstable"):
        sim = sp.Simulator(vehicle, 1.02 * longest, "rk4")
    sim.reset(v_x=10.0)
    with pytest.raises(sp.SimulationDiverged):
        sim.run({"steer": 0.02, "tau_rl": 20.0}, steps=5000)


def vars_of(model: sp.Model) -> dict[str, object]:
    return {n: v for n, v in vars(model).items() if not n.startswith("_")}


@pytest.mark.parametrize("name", sp.vehicles.names())
@pytest.mark.parametrize("dt", [0.001, 0.01, 0.05])
def test_the_automatic_choice_is_stable_at_every_speed(name: str, dt: float) -> None:
    car = sp.vehicles.get(name)()
    method = automatic(car, dt, car.model.substeps)
    table = stable_steps(car, method)
    assert all(dt / car.model.substeps <= at.longest for at in table)
    if method.name == "radau":
        explicit = stable_steps(car, sp.integrate.get("rk4"))
        assert any(dt / car.model.substeps > at.longest for at in explicit)


def test_the_default_is_shown() -> None:
    assert "radau" in repr(sp.Simulator(sp.vehicles.four_wheel(), 0.01))
    assert "rk4" in repr(sp.Simulator(sp.vehicles.four_wheel(), 0.001))
    assert "radau" in repr(sp.Fleet(sp.vehicles.four_wheel(), 0.01))


def test_a_vehicle_without_a_body_is_judged_where_it_starts() -> None:
    assert sp.Simulator(CART, 0.02).integrator.name == "rk4"
    assert sp.Simulator(CART, 0.05).integrator.name == "radau"
    with pytest.raises(InvalidValue, match=r"'cart', because of its mode .*-100 1/s"):
        sp.Simulator(CART, 0.05, "rk4")


def test_parameters_of_a_fleet_are_judged_by_their_extremes() -> None:
    fleet = sp.Fleet(CART, 0.02, "rk4")
    fleet.rollout({}, np.ones((3, 1)), steps=10, params={"tau": [0.01, 0.02, 0.03]})
    with pytest.raises(InvalidValue, match=r"-1000 1/s"):
        fleet.rollout({}, np.ones((3, 1)), steps=10, params={"tau": [0.01, 0.001, 0.03]})


def test_longer_single_steps_are_judged_too() -> None:
    sim = sp.Simulator(CART, 0.01, "rk4")
    sim.step(v=1.0, dt=0.02)
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match="unstable"):
        sim.step(v=1.0, dt=0.05)
    assert sim.snapshot() == before
    fleet = sp.Fleet(CART, 0.01, "rk4")
    with pytest.raises(InvalidValue, match="unstable"):
        fleet.rollout({}, np.ones((1, 1)), dt=[0.01, 0.05])


def test_a_saved_fleet_knows_its_longest_step(tmp_path: object) -> None:
    file = f"{tmp_path}/car.plant"
    sp.Fleet(sp.vehicles.four_wheel(), 0.001, "rk4").save(file)
    sp.Fleet.load(file, dt=0.002)
    with pytest.raises(InvalidValue, match=r"unstable for 'four_wheel'.*-1000 1/s"):
        sp.Fleet.load(file, dt=0.01)


def test_a_program_that_is_reproduced_may_be_unstable() -> None:
    car = sp.vehicles.brains2()
    assert car.model.reproduces
    with pytest.warns(UserWarning, match="unstable for 'brains2' in 10 sub-steps at every speed"):
        sp.Simulator(car, 0.1, "rk4")


def test_some_speeds_are_a_warning_with_the_speeds() -> None:
    with pytest.warns(UserWarning, match=r"unstable for 'commonroad_std' at 1.5, 2, 3, 5 m/s"):
        sp.Simulator(sp.vehicles.commonroad_std(), 0.002, "rk4")


@pytest.mark.parametrize("dt", ["0.01", True, np.True_, b"1", math.nan, 0.0, -1.0, None])
def test_a_step_is_a_positive_number(dt: object) -> None:
    with pytest.raises(InvalidValue, match="dt = "):
        sp.Simulator(CART, dt=dt)  # type: ignore[arg-type]


def test_linearised_steps_are_exact_however_long() -> None:
    """Against the closed form of a lag: A = exp(-dt/τ), B = 1 - A."""
    for dt in (0.001, 0.05, 2.0):
        after, A, B = sp.linearise(CART, {"v": 3.0}, {"v": 1.0}, dt, "exact")
        if dt > 0.03:  # where RK4 is unstable, it is what is taken
            np.testing.assert_array_equal(sp.linearise(CART, {"v": 3.0}, {"v": 1.0}, dt).A, A)
        kept = math.exp(-dt / 0.01)
        np.testing.assert_allclose(A, [[1.0, 0.01 * (1.0 - kept)], [0.0, kept]], rtol=1e-12)
        np.testing.assert_allclose(
            B, [[dt - 0.01 * (1.0 - kept)], [1.0 - kept]], rtol=1e-12, atol=1e-15
        )
        assert after[1] == pytest.approx(1.0 + 2.0 * kept, rel=1e-12)


def test_a_regulator_of_a_stiff_car_drives_forwards() -> None:
    car = sp.vehicles.four_wheel()
    design = sp.control.lqr.design(
        car, 15.0, 0.01, {"y": 1.0, "yaw": 1.0, "v_x": 1.0},
        dict.fromkeys(record.names(car.Input), 1e-3) | {"steer": 10.0},
    )  # fmt: skip
    closed = design.A - design.B @ design.K
    assert np.abs(np.linalg.eigvals(closed)).max() < 1.0
    assert np.abs(np.linalg.eigvals(design.A)).max() < 1.0 + 1e-9


class Ratio(NamedTuple):
    r: one = 0.0


def growing(x: Ratio, u: Push, w: object, p: Lag) -> Ratio:
    return Ratio(x.r * x.r)


BLOW_UP = sp.Vehicle(sp.Model("blow_up", Ratio, Push, Lag, derivative=growing), Lag())
"""r' = r² from r = 1 ends in infinity at t = 1 s."""


def test_divergence_raises_with_the_trajectory_so_far() -> None:
    sim = sp.Simulator(BLOW_UP, 0.01, "rk4")
    sim.reset(r=1.0)
    before = sim.snapshot()
    with pytest.raises(sp.SimulationDiverged) as caught:
        sim.run(duration=2.0)
    kept = caught.value.trajectory
    assert 0.95 < kept.t[-1] < 1.2
    assert np.isfinite(kept.states).all()
    np.testing.assert_allclose(kept.states[:90, 0], 1.0 / (1.0 - kept.t[:90]), rtol=1e-4)
    assert sim.snapshot() == before


def test_divergence_is_returned_or_masked_on_demand() -> None:
    sim = sp.Simulator(BLOW_UP, 0.01, "rk4", on_diverge="return")
    sim.reset(r=1.0)
    with pytest.warns(UserWarning, match="run ended at t = "):
        returned = sim.run(duration=2.0)
    assert isinstance(returned.error, sp.SimulationDiverged)
    assert sim.time == pytest.approx(returned.t[-1])
    sim = sp.Simulator(BLOW_UP, 0.01, "rk4", on_diverge="mask")
    sim.reset(r=1.0)
    masked = sim.run(duration=2.0)
    good = len(returned.t)
    assert len(masked.t) == 201
    np.testing.assert_array_equal(masked.states[:good], returned.states)
    assert np.isnan(masked.states[good:]).all()
    with pytest.raises(InvalidValue, match="on_diverge = 'ignore' is unknown"):
        sp.Simulator(BLOW_UP, 0.01, on_diverge="ignore")


def test_a_fleet_has_the_same_words() -> None:
    x0 = np.array([[1.0], [0.1]])
    held = np.zeros((2, 1))
    with pytest.raises(sp.SimulationDiverged):
        sp.Fleet(BLOW_UP, 0.01, "rk4").rollout(x0, held, steps=200)
    masked = sp.Fleet(BLOW_UP, 0.01, "rk4", on_diverge="mask").rollout(x0, held, steps=200)
    with pytest.warns(UserWarning, match="rollout ended after"):
        returned = sp.Fleet(BLOW_UP, 0.01, "rk4", on_diverge="return").rollout(x0, held, steps=200)
    assert 96 <= len(returned) < 120
    np.testing.assert_array_equal(returned, masked[: len(returned)])
    assert np.isfinite(masked[:, 1]).all()
