"""Sensor models have rate, delay and lost samples as every sensor has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian, OrnsteinUhlenbeck, UncertaintyModel
from skidpad.sensors import (
    Channel,
    FullState,
    FullStateFeedback,
    Imu,
    MountedSensor,
    SelectedOutputs,
)
from skidpad.sensors.sensor import Instrument

CAR = sp.vehicles.four_wheel()
KNOBS: dict[str, Any] = {"rate": 30.0, "delay": 0.05, "dropout": 0.2}
WIND = OrnsteinUhlenbeck(0.0, 0.3, 0.5, dim=2)
MODELS = {
    "selected": SelectedOutputs(CAR, ["v_x", "a_y"], WIND, name="selected", **KNOBS),
    "state": FullStateFeedback(CAR, Gaussian(np.zeros(11), 0.1), rate=50.0),
    "mounted": MountedSensor(CAR, Imu(rate=20.0, gyroscope=Channel(std=0.01, bias=0.1))),
}


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    sim = sp.Simulator(CAR, dt=0.01, integrator="radau")
    sim.reset(v_x=10.0)
    return sim.run(lambda t, x: {"steer": 0.1 * math.sin(3.0 * t), "tau_rl": 60.0}, duration=1.5)


def led_there(run: sp.Trajectory, k: int) -> tuple[Any, Any]:
    return run.state(k), CAR.Input(*run.inputs[max(k - 1, 0)].tolist())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_it_is_a_sensor_in_a_loop_and_along_a_run(model: Any, run: sp.Trajectory) -> None:
    assert isinstance(model, Instrument)
    runner = model.runner(seed=4, vehicle=3)
    single = [
        (t, *reading)
        for k, t in enumerate(run.t.tolist())
        if (reading := runner.step(t, led_there(run, k))) is not None
    ]
    along = model.along(run, seed=4, vehicle=3)
    whole = np.column_stack([along.t, *(along[name] for name in along.names)])
    assert len(single) > 20
    assert np.allclose(np.array(single), whole, rtol=0.0, atol=1e-9)
    assert (along.t - along["stamp"] >= model.delay * (1.0 - 1e-6)).all()


def test_rate_delay_and_losses_are_those_of_other_sensors(run: sp.Trajectory) -> None:
    """The same settings and the same name: the same samples are taken, lost and late."""
    other = FullState.of(CAR, {"v_x": Channel(), "a_y": Channel()}, name="selected", **KNOBS)
    ours, theirs = MODELS["selected"].along(run, seed=9), other.along(run, seed=9)
    assert ours.t.tobytes() == theirs.t.tobytes()
    assert ours["stamp"].tobytes() == theirs["stamp"].tobytes()
    assert len(ours) < 0.95 * 30.0 * 1.45
    assert 0.03 < np.abs(ours["v_x"] - theirs["v_x"]).mean() < 1.0


def test_noise_that_remembers_goes_on_between_samples(run: sp.Trajectory) -> None:
    """At 100 Hz an error of 0.5 s changes by a fiftieth of its variance from sample to sample."""
    model = SelectedOutputs(CAR, ["v_x", "yaw"], WIND)
    errors = model.along(run, seed=2)["v_x"] - run.v_x
    change = np.sqrt(0.3**2 * -np.expm1(-2.0 * 0.01 / 0.5))
    assert np.diff(errors).std() == pytest.approx(change, rel=0.25)


def test_noise_sees_the_state_and_a_fleet_has_its_own(run: sp.Trajectory) -> None:
    class Tenth(UncertaintyModel):
        def sample(self, draw: Any, memory: Any = None, x: Any = None) -> tuple[Any, Any]:
            return 0.1 * x, None

    model = FullStateFeedback(CAR, Tenth(11))
    truth = model.truth_along(run, None)
    both = model.along_fleet(run.t, type(truth)(*(np.stack([a, 2.0 * a], axis=1) for a in truth)))
    assert np.allclose(both["v_x"], 1.1 * np.stack([run.v_x, 2.0 * run.v_x], axis=1))


def test_what_cannot_be_is_named(run: sp.Trajectory) -> None:
    with pytest.raises(InvalidValue, match=r"SelectedOutputs.rate = -1.0 Hz"):
        SelectedOutputs(CAR, ["v_x"], rate=-1.0)
    other = sp.vehicles.ackermann_truck()
    with pytest.raises(InvalidValue, match="has 11 states and 5 inputs; allowed are 5 and 3"):
        FullStateFeedback(other).along(run)
    with pytest.raises(InvalidValue, match="x: State"):
        MODELS["state"].runner().step(0.0, [1.0, 2.0])
