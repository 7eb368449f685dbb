"""Outputs of many vehicles at once."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.core import record
from skidpad.errors import InvalidValue


@pytest.fixture(scope="module")
def cars(car: sp.Vehicle) -> sp.Fleet:
    return sp.Fleet(car, 0.001, "euler", lanes=4)


def directly(vehicle: sp.Vehicle, x: np.ndarray, u: np.ndarray, **more: object) -> np.ndarray:
    """The outputs of each row by calling the vehicle."""
    rows = [
        record.flatten(
            vehicle.outputs(
                record.unflatten(vehicle.State, state.tolist()),
                record.unflatten(vehicle.Input, row.tolist()),
                **more,  # type: ignore[arg-type]
            )
        )
        for state, row in zip(x, u, strict=True)
    ]
    return np.array(rows)


def close(got: np.ndarray, wanted: np.ndarray) -> None:
    scale = np.maximum(np.abs(wanted), np.abs(wanted).max(axis=0))
    assert np.all(np.abs(got - wanted) <= 1e-12 * scale + 1e-14)


def test_a_batch(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x, u = starts(car, 9), inputs(car, 1, 9)[0]
    close(cars.outputs(x, u), directly(car, x, u))


def test_along_a_rollout(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x0, u = starts(car, 5), inputs(car, 4, 5)
    x = cars.rollout(x0, u)[1:]
    y = cars.outputs(x, u)
    assert y.shape == (4, 5, record.size(car.model.Outputs))
    for k in range(4):
        assert y[k].tobytes() == cars.outputs(x[k], u[k]).tobytes()
    held = cars.outputs(x, u[0])
    assert held[2].tobytes() == cars.outputs(x[2], u[0]).tobytes()


def test_one_state(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x, u = starts(car, 1), inputs(car, 1, 1)[0]
    assert cars.outputs(x[0], u[0]).tobytes() == cars.outputs(x, u)[0].tobytes()
    state, row = car.State(*x[0]), car.Input(*u[0])
    assert cars.outputs(state, row).tobytes() == cars.outputs(x, u)[0].tobytes()


@pytest.mark.parametrize(("samples", "count"), [(7, 3), (3, 40), (1, 5), (40, 33)])
def test_parameters_per_vehicle_along_masked_rollouts(
    car: sp.Vehicle, samples: int, count: int
) -> None:
    """More samples than vehicles, or fewer; one of the vehicles has diverged."""
    fleet = sp.Fleet(car, 0.001, "euler", lanes=4, on_diverge="mask")
    x = np.stack([starts(car, count) + 0.01 * k for k in range(samples)])
    x[samples // 2 :, 1] = np.nan
    u = inputs(car, samples, count)
    masses = np.linspace(200.0, 300.0, count)
    y = fleet.outputs(x, u, params={"m": masses})
    held = fleet.outputs(x, u[0], params={"m": masses})
    assert y.shape == (samples, count, record.size(car.model.Outputs))
    for k in (0, 1, count - 1):
        alone = sp.Fleet(car.with_params(m=masses[k]), 0.001, "euler", lanes=4, on_diverge="mask")
        assert alone.outputs(x[:, k], u[:, k]).tobytes() == y[:, k].tobytes()
        assert alone.outputs(x[:, k], u[0, k]).tobytes() == held[:, k].tobytes()
    with pytest.raises(InvalidValue, match="expected"):
        fleet.outputs(x[..., 1:], u, params={"m": masses})


def test_parameters_per_vehicle(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x0, masses = starts(car, 3), np.array([200.0, 230.0, 300.0])
    x = cars.rollout(x0, steps=2, params={"m": masses})
    y = cars.outputs(x, params={"m": masses})
    for k, mass in enumerate(masses):
        fleet = sp.Fleet(car.with_params(m=mass), 0.001, "euler", lanes=4)
        assert fleet.outputs(x[:, k]).tobytes() == y[:, k].tobytes()


def test_disturbances(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x, u = starts(car, 4), inputs(car, 1, 4)[0]
    w = car.model.Disturbance(F_x=100.0, mu_scale=0.5)
    y = cars.outputs(x, u, disturbances=w)
    close(y, directly(car, x, u, w=w))
    assert not np.allclose(y, cars.outputs(x, u))


def test_the_start_of_the_step_decides_what_was_held() -> None:
    """The brains2 program chooses its model by the state at the start of a step."""
    vehicle = sp.vehicles.brains2()
    fleet = sp.Fleet(vehicle, 0.01, "euler", lanes=4)
    at = record.names(vehicle.model.Outputs).index("dynamic")
    slow, fast = np.zeros(11), np.zeros(11)
    fast[3] = 5.0
    assert fleet.outputs(fast)[at] == 1.0
    assert fleet.outputs(fast, start=slow)[at] == 0.0
    assert fleet.outputs(slow, start=fast)[at] == 1.0


def test_bad_arguments(cars: sp.Fleet, car: sp.Vehicle) -> None:
    x, u = starts(car, 4), inputs(car, 1, 4)[0]
    with pytest.raises(InvalidValue, match=r"x has shape \(4, 3\); expected \(\.\.\., 11\)"):
        cars.outputs(x[:, :3])
    with pytest.raises(InvalidValue, match="controls has shape"):
        cars.outputs(x, u[:3])
    with pytest.raises(InvalidValue, match="start has shape"):
        cars.outputs(x, u, start=x[:2])
    with pytest.raises(InvalidValue, match="params has shape"):
        cars.outputs(x, u, params={"m": [200.0, 300.0]})
    with pytest.raises(InvalidValue, match="params: m = -1 kg of vehicle 2 must be greater than 0"):
        cars.outputs(x, u, params={"m": [200.0, 300.0, -1.0, 0.0]})
    with pytest.raises(InvalidValue, match="must be an array of numbers"):
        cars.outputs([[1.0], [1.0, 2.0]])
    u[2, 0] = np.nan
    with pytest.raises(InvalidValue, match="controls: steer of vehicle 2 is nan"):
        cars.outputs(x, u)
    x[1, 3] = np.inf
    with pytest.raises(InvalidValue, match="x: v_x of vehicle 1 is inf"):
        cars.outputs(x)


def test_masked_vehicles_have_no_outputs(car: sp.Vehicle, cars: sp.Fleet) -> None:
    fleet = sp.Fleet(car, 0.001, "euler", lanes=4, on_diverge="mask")
    x = starts(car, 3)
    good = cars.outputs(x)
    x[1] = np.nan
    y = fleet.outputs(x)
    assert y[[0, 2]].tobytes() == good[[0, 2]].tobytes()
    assert np.isnan(y[1, :2]).all()
