"""Bad input to a fleet, and vehicles that fail on the way."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.core import record
from skidpad.errors import InvalidValue, SimulationDiverged, StepNotConverged
from unstable import unstable_fleet, unstable_simulator

BAD = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"precision": "float16"}, "precision = 'float16' is unknown; allowed are float64, float3"),
        ({"device": "gpu"}, "device = 'gpu' is unknown; allowed are cpu"),
        ({"on_diverge": "ignore"}, "'ignore' is unknown; allowed are raise, mask, return"),
        ({"lanes": 3}, "lanes = 3 is unknown; allowed are 1, 4, 8, 16, 32"),
        ({"threads": 0}, "threads = 0 must be at least 1"),
        ({"threads": 1.5}, "threads = 1.5 must be a whole number"),
        ({"dt": 0.0}, "dt = 0.0 s must be finite and greater than 0"),
        ({"dt": -1.0}, "dt = -1.0 s"),
        ({"dt": np.nan}, "dt = nan s"),
        ({"dt": np.inf}, "dt = inf s"),
        ({"dt": "soon"}, "dt = 'soon' must be a number"),
        ({"dt": 1e-60, "precision": "float32"}, "dt = 1e-60 s .* in float32"),
        ({"integrator": "rk5"}, "unknown integrator 'rk5'|no integrator 'rk5'"),
        (
            {"integrator": "scipy:RK45"},
            "'scipy:RK45' runs in a Simulator only; a Fleet takes euler",
        ),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_settings(bicycle: sp.Vehicle, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        sp.Fleet(bicycle, **{"dt": 0.01, **arguments})


def test_a_factory_is_not_a_vehicle() -> None:
    with pytest.raises(InvalidValue, match=r"Factory; call it: four_wheel\(\)"):
        sp.Fleet(sp.vehicles.four_wheel, dt=0.01)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("streamed", [True, False])
def test_inputs_that_are_not_finite(
    fleet: sp.Fleet, bicycle: sp.Vehicle, value: float, streamed: bool
) -> None:
    """Also in a torque, which the limits of the car would make finite again."""
    x0, u = starts(bicycle, 10), inputs(bicycle, 6, 10)
    u[4, 7, 1] = value
    if streamed:
        with pytest.raises(InvalidValue, match=f"controls: tau_fl of vehicle 7, step 4 is {value}"):
            fleet.rollout(x0, u, every=3)
    else:
        with pytest.raises(InvalidValue, match=f"controls: tau_fl of vehicle 7 is {value}"):
            fleet.rollout(x0, u[4], steps=6)


@pytest.mark.parametrize("value", BAD)
def test_one_input_for_all_that_is_not_finite(fleet: sp.Fleet, value: float) -> None:
    with pytest.raises(InvalidValue, match=r"Input\.tau_rl = .* must be finite"):
        fleet.rollout(np.zeros(11), {"tau_rl": value}, steps=2)


@pytest.mark.parametrize("value", BAD)
def test_states_and_parameters_that_are_not_finite(
    fleet: sp.Fleet, bicycle: sp.Vehicle, value: float
) -> None:
    x0 = starts(bicycle, 4)
    x0[2, 3] = value
    with pytest.raises(InvalidValue, match=f"x0: v_x of vehicle 2 is {value}"):
        fleet.rollout(x0, steps=1)
    good = starts(bicycle, 4)
    with pytest.raises(InvalidValue, match=f"params: m of vehicle 1 is {value}"):
        fleet.rollout(good, steps=1, params={"m": [230.0, value, 230.0, 230.0]})


def test_parameters_out_of_range(fleet: sp.Fleet, bicycle: sp.Vehicle) -> None:
    x0 = starts(bicycle, 2)
    with pytest.raises(InvalidValue, match="params: m = -1 kg of vehicle 1 must be greater than 0"):
        fleet.rollout(x0, steps=1, params={"m": [230.0, -1.0]})
    table = np.repeat([record.flatten(bicycle.params)], 2, axis=0)
    table[0, 2] = 0.0
    with pytest.raises(InvalidValue, match="params: l_f = 0 m of vehicle 0 must be greater than 0"):
        fleet.rollout(x0, steps=1, params=table)


def test_disturbances_out_of_range(car: sp.Vehicle) -> None:
    fleet = sp.Fleet(car, 0.001, "euler", lanes=4)
    x0, w = starts(car, 2), np.zeros((2, 4))
    w[:, 3] = [1.0, -0.5]
    with pytest.raises(InvalidValue, match=r"disturbances: mu_scale = -0.5 of vehicle 1 must be"):
        fleet.rollout(x0, steps=1, disturbances=w)
    w[:, 3] = [1.0, np.nan]
    with pytest.raises(InvalidValue, match="disturbances: mu_scale of vehicle 1 is nan"):
        fleet.rollout(x0, steps=1, disturbances=w)


@pytest.mark.parametrize(
    ("x0", "arguments", "message"),
    [
        (np.zeros((3, 10)), {"steps": 1}, r"x0 has shape \(3, 10\); expected \(B, 11\).*x, y, yaw"),
        (np.zeros((1, 3, 11)), {"steps": 1}, r"x0 has shape \(1, 3, 11\)"),
        (3.0, {"steps": 1}, r"x0 has shape \(\)"),
        (np.zeros((0, 11)), {"steps": 1}, "x0 has no vehicles"),
        ("fast", {"steps": 1}, "x0 must be an array of numbers"),
        ([[1.0], [1.0, 2.0]], {"steps": 1}, "x0 must be an array of numbers"),
        (None, {}, "give steps="),
        (None, {"steps": 0}, "steps = 0 must be at least 1"),
        (None, {"steps": -2}, "steps = -2"),
        (None, {"steps": 2.0}, "steps = 2.0 must be a whole number"),
        (None, {"steps": 6, "every": 4}, "every = 4 must be at least 1 and divide the 6 steps"),
        (None, {"steps": 6, "every": 0}, "every = 0 must be"),
        (None, {"steps": 6, "every": 1.5}, "every = 1.5 must be a whole number"),
        (None, {"controls": np.zeros((4, 3, 4))}, r"controls has shape \(4, 3, 4\); .*\(T, B, 5\)"),
        (None, {"controls": np.zeros((4, 2, 5))}, "differ: x0 has 3, controls has 2"),
        (None, {"controls": np.zeros((0, 3, 5))}, "number of steps = 0"),
        (None, {"controls": np.zeros((4, 3, 5)), "steps": 5}, "number of steps = 4 and 5"),
        (
            None,
            {"controls": {"steeer": 1.0}, "steps": 1},
            "no field 'steeer'; did you mean 'steer'",
        ),
        (
            None,
            {"params": {"mass": 1.0}, "steps": 1},
            r"params has no field 'mass'\. There are 15; the closest are m$",
        ),
        (None, {"params": np.zeros((3, 2)), "steps": 1}, r"params has shape \(3, 2\)"),
        (None, {"params": {"m": [[1.0]]}, "steps": 1}, r"params\['m'\] has shape \(1, 1\)"),
        (None, {"params": {"m": "heavy"}, "steps": 1}, r"params\['m'\] must be an array of number"),
        (None, {"params": {"m": [1.0, 2.0]}, "steps": 1}, "x0 has 3, params has 2"),
        (
            None,
            {"params": {"m": [1.0] * 3, "I_z": [1.0] * 2}, "steps": 1},
            r"params\['I_z'\] has 2 values, others 3",
        ),
        (None, {"layout": "columns", "steps": 1}, "layout = 'columns' is unknown; allowed are aos"),
        (None, {"disturbances": np.zeros((3, 1)), "steps": 1}, r"disturbances has shape \(3, 1\)"),
    ],
)
def test_shapes(fleet: sp.Fleet, x0: Any, arguments: dict[str, Any], message: str) -> None:
    start = np.zeros((3, 11)) if x0 is None else x0
    with pytest.raises(InvalidValue, match=message):
        fleet.rollout(start, **arguments)


def test_too_large_for_float32(bicycle: sp.Vehicle) -> None:
    fleet = sp.Fleet(bicycle, 0.001, "euler", precision="float32", lanes=4)
    with pytest.raises(InvalidValue, match="x0: v_x of vehicle 0 is inf"):
        fleet.rollout({"v_x": 1e300}, steps=1)
    with pytest.raises(InvalidValue, match="controls: steer of vehicle 0 is inf"):
        fleet.rollout(np.zeros(11), {"steer": 1e300}, steps=1)
    wide = sp.Fleet(bicycle.with_params(tau_max=1e39), 0.001, "euler", precision="float32", lanes=4)
    with pytest.raises(InvalidValue, match="params: tau_max of vehicle 0 is inf"):
        wide.rollout(np.zeros(11), steps=1)


def unstable(bicycle: sp.Vehicle, **settings: Any) -> tuple[sp.Fleet, np.ndarray, np.ndarray]:
    """Torque lags of 1 ms in steps of 50 ms: vehicles 2 and 5, which have torques, blow up."""
    fleet = unstable_fleet(bicycle, 0.05, "heun", lanes=4, threads=2, **settings)
    x0, u = np.zeros((7, 11)), np.zeros((7, 5))
    x0[:, 3] = 3.0
    u[2, 1] = 1e-3
    u[5, 2] = 1.0
    return fleet, x0, u


def _step_until_it_fails(simulator: sp.Simulator, row: np.ndarray) -> None:
    for _ in range(400):
        simulator.step(row)


def test_vehicles_that_diverge_are_named(bicycle: sp.Vehicle) -> None:
    fleet, x0, u = unstable(bicycle)
    with pytest.raises(
        SimulationDiverged, match=r"2 of 7 vehicles \(2, 5\) diverged; vehicle 2"
    ) as e:
        fleet.rollout(x0, u, steps=400, every=100)
    error = e.value
    assert error.vehicles == (2, 5)
    # A simulator, step by step, fails at the same time from the same state.
    simulator = unstable_simulator(bicycle, 0.05, "heun")
    simulator.reset(x0[2])
    with pytest.raises(SimulationDiverged) as alone:
        _step_until_it_fails(simulator, u[2])
    assert error.time == pytest.approx(alone.value.time)
    assert error.last_state == alone.value.last_state == simulator.state
    assert np.isfinite(tuple(error.last_state)).all()


def test_the_error_survives_pickling(bicycle: sp.Vehicle) -> None:
    fleet, x0, u = unstable(bicycle)
    with pytest.raises(SimulationDiverged) as caught:
        fleet.rollout(x0, u, steps=400, every=400)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.time, again.last_state, again.vehicles, str(again)) == (
        caught.value.time,
        caught.value.last_state,
        caught.value.vehicles,
        str(caught.value),
    )


def test_streamed_inputs_of_a_vehicle_that_diverges(bicycle: sp.Vehicle) -> None:
    fleet, x0, u = unstable(bicycle)
    streamed = np.zeros((300, 7, 5))
    streamed[150:] = u
    with pytest.raises(SimulationDiverged) as caught:
        fleet.rollout(x0, streamed, every=50)
    assert 150 * 0.05 < caught.value.time < 300 * 0.05


def test_mask_goes_on_without_them(bicycle: sp.Vehicle) -> None:
    fleet, x0, u = unstable(bicycle, on_diverge="mask")
    out = fleet.rollout(x0, u, steps=400, every=20)
    fine = np.array([0, 1, 3, 4, 6])
    assert np.isfinite(out[:, fine]).all()
    assert out[:, fine].tobytes() == fleet.rollout(x0[fine], u[fine], steps=400, every=20).tobytes()
    for vehicle in (2, 5):
        finite = np.isfinite(out[:, vehicle]).all(axis=1)
        first = int(np.argmin(finite))
        assert first > 0
        assert finite[:first].all()
        assert np.isnan(out[first:, vehicle]).all()


def test_a_step_that_does_not_converge(car: sp.Vehicle) -> None:
    fleet = sp.Fleet(car, 2.0, "radau2", lanes=1)
    x0 = np.zeros((3, 11))
    x0[:, 3] = [0.0, 20.0, 0.0]
    x0[1, 4] = 5.0
    with pytest.raises(
        StepNotConverged, match=r"1 of 3 vehicles \(1\).*vehicle 1 from t = 0 s"
    ) as e:
        fleet.rollout(x0, np.array([[0.0] * 5, [0.4] + [0.0] * 4, [0.0] * 5]), steps=10, every=10)
    simulator = sp.Simulator(car, 2.0, "radau2")
    simulator.reset(v_x=20.0, v_y=5.0)
    with pytest.raises(StepNotConverged) as alone:
        simulator.step(steer=0.4)
    assert e.value.time == alone.value.time == 0.0
    assert e.value.residual == alone.value.residual > 1e-6


def test_a_fleet_works_on_after_an_error(bicycle: sp.Vehicle) -> None:
    fleet, x0, u = unstable(bicycle)
    before = fleet.rollout(x0, steps=5).tobytes()
    with pytest.raises(SimulationDiverged):
        fleet.rollout(x0, u, steps=400, every=400)
    with pytest.raises(InvalidValue):
        fleet.rollout(x0, np.nan * u, steps=5)
    assert fleet.rollout(x0, steps=5).tobytes() == before
