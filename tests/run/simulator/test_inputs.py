"""Every way to give an input, and every bad one, which leaves the simulator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue

BICYCLE = sp.vehicles.kinematic_bicycle()
CAR = sp.vehicles.four_wheel()
DT = 0.001


@pytest.fixture(params=["heun", "scipy:RK45", "float32"])
def sim(request: pytest.FixtureRequest) -> sp.Simulator:
    method, precision = request.param, "float64"
    if method == "float32":
        method, precision = "heun", "float32"
    simulator = sp.Simulator(BICYCLE, DT, method, precision=precision)
    simulator.reset(v_x=4.0, steer=0.1)
    simulator.step(tau_rl=5.0, steer=0.125)
    return simulator


def everything(sim: sp.Simulator) -> tuple[Any, ...]:
    return sim.state, sim.time, sim.input, sim.outputs()


@pytest.mark.parametrize(
    "given",
    [
        ((), {"steer": 0.25, "tau_rr": 3.0}),
        ((BICYCLE.Input(steer=0.25, tau_rr=3.0),), {}),
        (({"tau_rr": 3.0, "steer": 0.25},), {}),
        (([0.25, 0.0, 0.0, 0.0, 3.0],), {}),
        (((0.25, 0, 0, 0, 3),), {}),
        ((np.array([0.25, 0.0, 0.0, 0.0, 3.0]),), {}),
        ((np.array([0.25, 0.0, 0.0, 0.0, 3.0], np.float32),), {}),
        ((np.array([0.25, 9, 0, 9, 0, 9, 0, 9, 3.0])[::2],), {}),
        ((BICYCLE.Input(steer=0.25),), {"tau_rr": 3.0}),
        (({"steer": 9.0},), {"tau_rr": 3.0, "steer": 0.25}),
        (([0.25, 0.0, 0.0, 0.0, 0.0],), {"tau_rr": np.float64(3.0)}),
    ],
)
def test_forms(sim: sp.Simulator, given: Any) -> None:
    moment = sim.snapshot()
    wanted = sim.step([0.25, 0.0, 0.0, 0.0, 3.0])
    sim.restore(moment)
    args, fields = given
    assert sim.step(*args, **fields) == wanted
    assert sim.input == BICYCLE.Input(steer=0.25, tau_rr=3.0)


def test_what_is_not_given_is_zero_and_not_the_last_input(sim: sp.Simulator) -> None:
    sim.step()
    assert sim.input == BICYCLE.Input()


BAD = [
    (((), {"steeer": 1.0}), "Input has no field 'steeer'; did you mean 'steer'"),
    ((({"tau": 1.0},), {}), "Input has no field 'tau'"),
    (((), {"steer": np.nan}), r"Input\.steer = nan must be finite"),
    (((), {"tau_fl": np.inf}), r"Input\.tau_fl = inf must be finite"),
    (((), {"tau_fl": -np.inf}), r"Input\.tau_fl = -inf must be finite"),
    ((([0.0, np.nan, 0.0, 0.0, 0.0],), {}), r"Input\.tau_fl = nan must be finite"),
    (((np.array([0.0, 0.0, np.inf, 0.0, 0.0]),), {}), r"Input\.tau_fr = inf must be finite"),
    (((BICYCLE.Input(tau_rr=np.nan),), {}), r"Input\.tau_rr = nan must be finite"),
    ((({"steer": np.nan},), {}), r"Input\.steer = nan must be finite"),
    ((([0.0, 1.0],), {}), r"Input takes 5 numbers \(steer, tau_fl.*got shape \(2,\)"),
    (((np.zeros(6),), {}), r"Input takes 5 numbers.*got shape \(6,\)"),
    (((np.zeros((1, 5)),), {}), r"Input takes 5 numbers.*got shape \(1, 5\)"),
    ((([[1.0], [1.0, 2.0]],), {}), "Input takes 5 numbers"),
    (((3.0,), {}), r"Input takes 5 numbers.*got shape \(\)"),
    ((("left",), {}), "Input takes 5 numbers"),
    (((CAR.State(),), {}), "expected a Input record, got State"),
    (((), {"steer": "0.1"}), r"Input\.steer = '0.1' must be a number"),
    (((), {"steer": None}), r"Input\.steer = None must be a number"),
    (((), {"steer": 1j}), r"Input\.steer = 1j must be a number"),
    (((), {"steer": [0.1]}), r"Input\.steer = \[0.1\] must be a number"),
    (((), {"steer": 10**400}), "must be a number|too large"),
    (((np.array([None] * 5),), {}), "must be a number"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[m[:40] for _, m in BAD])
def test_bad_inputs_change_nothing(sim: sp.Simulator, given: Any, message: str) -> None:
    before = everything(sim)
    after = sim.step(steer=0.5)
    sim.restore(_restart(sim, before))
    args, fields = given
    with pytest.raises(InvalidValue, match=message):
        sim.step(*args, **fields)
    assert everything(sim) == before
    assert sim.step(steer=0.5) == after


def _restart(sim: sp.Simulator, before: tuple[Any, ...]) -> Any:
    """A snapshot of the moment of the fixture, taken by going there again."""
    sim.reset(v_x=4.0, steer=0.1)
    sim.step(tau_rl=5.0, steer=0.125)
    assert everything(sim) == before
    return sim.snapshot()


def test_too_large_for_float32() -> None:
    simulator = sp.Simulator(BICYCLE, DT, "heun", precision="float32")
    simulator.reset(v_x=4.0)
    before = everything(simulator)
    with pytest.raises(InvalidValue, match="too large for the precision"):
        simulator.step(tau_rl=1e300)
    with pytest.raises(InvalidValue, match=r"state: 1e\+300 is too large for float32"):
        simulator.reset(v_x=1e300)
    with pytest.raises(InvalidValue, match="controls: tau_rl"):
        simulator.run({"tau_rl": 1e300}, steps=3)
    assert everything(simulator) == before
    with pytest.raises(InvalidValue, match=r"parameters: 1e\+39 is too large for float32"):
        sp.Simulator(BICYCLE.with_params(tau_max=1e39), DT, "heun", precision="float32")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (((), {"vx": 1.0}), "State has no field 'vx'; did you mean 'v_x'"),
        (((), {"v_x": np.nan}), r"State\.v_x = nan must be finite"),
        (((), {"v_x": -np.inf}), r"State\.v_x = -inf must be finite"),
        (((), {"v_x": "fast"}), r"State\.v_x must be a number, got 'fast' \(str\)"),
        (((), {"v_x": "5"}), r"State\.v_x must be a number, got '5' \(str\)"),
        ((([1.0, 2.0],), {}), r"State takes 11 numbers \(x, y, yaw"),
        (((CAR.Input(),), {}), "expected a State record, got Input"),
        (((), {"time": np.nan}), "time = nan s must be finite"),
    ],
)
def test_bad_resets_change_nothing(sim: sp.Simulator, given: Any, message: str) -> None:
    before = everything(sim)
    args, fields = given
    with pytest.raises(InvalidValue, match=message):
        sim.reset(*args, **fields)
    assert everything(sim) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dt": 0.0}, "dt = 0.0 s must be finite and greater than 0"),
        ({"dt": -0.1}, "dt = -0.1 s"),
        ({"dt": np.nan}, "dt = nan s"),
        ({"dt": None}, "dt = None must be a number"),
        ({"precision": "double"}, "precision = 'double' is unknown; allowed are float64, float32"),
        ({"integrator": "scipy:RK45", "precision": "float32"}, "'scipy:RK45' has float64 only"),
        ({"integrator": "rk44"}, "'rk44'.*did you mean 'rk4'"),
        ({"integrator": "scipy:RK46"}, "'scipy:RK46'"),
        ({"integrator": "rk4", "rtol": 1e-3}, "rtol"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        sp.Simulator(BICYCLE, **settings)


def test_a_factory_is_not_a_vehicle() -> None:
    with pytest.raises(InvalidValue, match=r"call it: four_wheel\(\)"):
        sp.Simulator(sp.vehicles.four_wheel)  # type: ignore[arg-type]


def test_a_gear_that_does_not_exist_is_refused() -> None:
    bus = sp.vehicles.autoware("DELAY_STEER_ACC_GEARED", wheel_base=2.79)
    sim = sp.Simulator(bus, dt=0.025)
    for call in (lambda: sim.step(gear=25.0), lambda: sim.step([0.0, 0.0, -1.0])):
        with pytest.raises(sp.InvalidValue, match=r"gear = (25|-1) .* whole number from 0 to 24"):
            call()
    with pytest.raises(sp.InvalidValue, match="gear = 99"):
        sim.run(np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 99.0]]))
    assert sim.time == 0.0


def test_a_keyword_goes_before_what_it_stands_beside() -> None:
    car = sp.vehicles.four_wheel()
    moved = []
    for inputs, fields in (({"steer": 0.1}, {"steer": 0.2}), (None, {"steer": 0.2})):
        sim = sp.Simulator(car, 0.001)
        sim.reset(v_x=5.0)
        moved.append(sim.step(inputs, **fields))
    assert moved[0] == moved[1]
