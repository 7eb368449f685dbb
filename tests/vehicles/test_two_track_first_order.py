"""`two_track` with first-order slip: the same motion at every step, at the limit and at rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.integrate import get
from skidpad.run.stability import stable_steps
from skidpad.tyres import BrushTyre, Contact, LoadSensitiveTyre
from skidpad.vehicles import two_track
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip

WHEELS = ("fl", "fr", "rl", "rr")
NAMED = 0.005
"""The step that docs/vehicles.md names, in s."""
FINE = 0.0002
TYRES = {
    "passenger_car": lambda: sp.tyres.get("passenger_car"),
    "race_slick": lambda: sp.tyres.get("race_slick"),
    "load sensitive": LoadSensitiveTyre,
    "brush": BrushTyre,
}
LAUNCH = {"tau_rl": 1000.0, "tau_rr": 1000.0}
every_tyre = pytest.mark.parametrize("tyre", ["passenger_car", "race_slick", "load sensitive"])


@cache
def car_on(tyre: str) -> sp.Vehicle:
    return two_track(tyre=TYRES[tyre](), slip=FirstOrderSlip(), brake_max=5000.0)


def each(name: str, value: float) -> dict[str, float]:
    return {f"{name}_{wheel}": value for wheel in WHEELS}


def driven(
    car: sp.Vehicle,
    u: dict[str, float],
    seconds: float,
    dt: float = NAMED,
    integrator: str = "auto",
    *,
    mu: float = 1.0,
    F_x: float = 0.0,
    **start: float,
) -> dict[str, np.ndarray]:
    """States over time, by a fleet, which needs no code for the outputs."""
    rows = sp.Fleet(car, dt=dt, integrator=integrator).rollout(
        start, u, steps=round(seconds / dt), disturbances=each("mu", mu) | {"F_x": F_x}
    )
    return dict(zip(sp.core.record.names(car.State), rows[:, 0].T, strict=True))


@pytest.mark.slow_cases("25.0-0.06-passenger_car", "25.0-0.06-race_slick")
@every_tyre
@pytest.mark.parametrize(("v_x", "steer"), [(25.0, 0.06), (40.0, 0.1)])
def test_a_wheel_that_lifts_in_a_bend_is_followed_by_the_named_step(
    tyre: str, v_x: float, steer: float
) -> None:
    coarse, fine = (
        driven(car_on(tyre), {"steer": steer}, 2.0, dt, "rk4", v_x=v_x) for dt in (NAMED, FINE)
    )
    for name in ("v_x", "v_y", "omega"):
        assert coarse[name][-1] == pytest.approx(fine[name][-1], abs=1e-4)
    for name in (*each("kappa", 0.0), *each("tan_alpha", 0.0)):
        assert np.abs(coarse[name]).max() < 1.0


@every_tyre
def test_a_fleet_at_the_limit_stays_finite(tyre: str) -> None:
    car = car_on(tyre)
    settle, p = car.model.settle, car.params
    assert settle is not None
    speeds = (20.0, 30.0, 40.0, 60.0)
    start = np.array([sp.core.record.flatten(settle(car.State(v_x=v), p)) for v in speeds])
    ends = sp.Fleet(car, dt=NAMED, integrator="rk4").rollout(start, {"steer": 0.1}, steps=300)
    names = sp.core.record.names(car.State)
    slips = [names.index(name) for name in (*each("kappa", 0.0), *each("tan_alpha", 0.0))]
    assert np.abs(ends[:, :, slips]).max() < 2.0


@pytest.mark.parametrize("brake", [300.0, 1000.0, 2500.0, 5000.0])
@pytest.mark.parametrize("tyre", list(TYRES))
def test_a_car_that_is_braked_to_a_stop_comes_to_rest(tyre: str, brake: float) -> None:
    """It swings back once, about as fast as a spring without damping throws it, and stands."""
    car = car_on(tyre)
    v = driven(car, each("brake", brake), 6.0, v_x=10.0)["v_x"]
    stop, second = int(np.argmax(v < 0.0)), round(1.0 / NAMED)
    assert stop > 0
    after = np.abs(v[stop:])
    assert after[second:].max() < 1.5e-2
    assert after[2 * second :].max() < 1e-3
    on_car, at = car.params.tyres.tyre, Contact(F_z=car.params.m * 9.81 / 4.0)
    stiff = on_car.stiffness(at).K_x / on_car.relaxation(at).sigma_x
    swing = np.sqrt(4.0 * stiff / car.params.m)
    hardest = -np.diff(v[:stop]).min() / NAMED
    assert after.max() < 1.5 * hardest / swing


@pytest.mark.parametrize("tyre", list(TYRES))
def test_a_car_that_slides_sideways_comes_to_rest(tyre: str) -> None:
    run = driven(car_on(tyre), each("brake", 2500.0), 3.0, v_x=3.0, v_y=5.0, omega=2.0)
    for name in ("v_x", "v_y", "omega"):
        assert np.abs(run[name][-200:]).max() < 1e-3


@every_tyre
@pytest.mark.parametrize("brake", [1000.0, 5000.0])
def test_on_a_slope_it_is_held_without_creep(tyre: str, brake: float) -> None:
    car = car_on(tyre)
    run = driven(car, each("brake", brake), 6.0, F_x=-0.196 * 9.81 * car.params.m)
    assert np.abs(run["v_x"][-200:]).max() < 1e-6
    assert abs(run["x"][-1]) < 0.02


@pytest.mark.slow_cases(
    "0.2-passenger_car", "0.5-passenger_car", "0.5-race_slick", "0.2-race_slick"
)
@every_tyre
@pytest.mark.parametrize("mu", [0.5, 0.2])
def test_wheels_that_spin_at_the_start_are_followed_by_the_named_step(tyre: str, mu: float) -> None:
    coarse, fine = (driven(car_on(tyre), LAUNCH, 1.0, dt, "rk4", mu=mu) for dt in (NAMED, 0.0001))
    for name in ("v_x", "spin_rl"):
        assert coarse[name][-1] == pytest.approx(fine[name][-1], rel=1e-3)
    assert coarse["kappa_rl"].min() >= 0.0
    # The wheels slide: no more than the friction of the rear axle, and not much less.
    steady = driven(two_track(tyre=TYRES[tyre]()), LAUNCH, 1.0, 0.005, "radau2", mu=mu)
    assert fine["v_x"][-1] == pytest.approx(steady["v_x"][-1], rel=0.15)


@pytest.mark.slow
@every_tyre
def test_radau_follows_stop_bend_and_launch_too(tyre: str) -> None:
    car = car_on(tyre)
    for u, v_x, mu in (
        (each("brake", 2500.0), 10.0, 1.0),
        ({"steer": 0.1}, 40.0, 1.0),
        (LAUNCH, 0.0, 0.5),
    ):
        implicit, explicit = (
            driven(car, u, 1.5, dt, method, v_x=v_x, mu=mu)["v_x"][-1]
            for dt, method in ((NAMED, "radau"), (0.001, "rk4"))
        )
        assert implicit == pytest.approx(explicit, abs=2e-3)


@pytest.mark.slow
@every_tyre
def test_the_named_step_is_stable_and_longer_ones_are_implicit(tyre: str) -> None:
    car = car_on(tyre)
    assert min(at.longest for at in stable_steps(car, get("rk4"))) > NAMED
    assert sp.Simulator(car, dt=NAMED).integrator.name == "rk4"
    assert sp.Simulator(car, dt=0.01).integrator.name == "radau"
