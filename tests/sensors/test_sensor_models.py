"""Sensor models: y = h(x, u, w) + n, for every listed vehicle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.random import (
    Draw,
    Gaussian,
    NoUncertainty,
    OrnsteinUhlenbeck,
    Recorded,
    UncertaintyModel,
)
from skidpad.sensors import FullStateFeedback, OutputFunction, SelectedOutputs
from skidpad.sensors.models import SensorModel
from skidpad.units import m_s, rad

CAR = sp.vehicles.four_wheel()
NX = record.size(CAR.State)


def some_state(vehicle: sp.Vehicle) -> Any:
    """A state with a different number in each field."""
    names = record.names(vehicle.State)
    return record.unflatten(vehicle.State, [0.3 + 0.01 * k for k in range(len(names))])


def noise(dim: int, mean: float = 0.5) -> Gaussian:
    return Gaussian(np.full(dim, mean), 0.1 + np.arange(dim))


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_full_state_feedback_of_every_vehicle(name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    size = record.size(vehicle.State)
    errors = noise(size)
    sensor = FullStateFeedback(vehicle, errors)
    x, u = some_state(vehicle), record.build(vehicle.Input)
    draw = Draw(3, "noise", [4], 6, 0.1)
    expected = np.array(record.flatten(x)) + errors.sample(draw.at(6))[0][0]
    y = sensor.measure(x, u, draw)
    assert isinstance(y, vehicle.State)
    assert record.flatten(y) == tuple(expected)
    assert record.flatten(sensor.nominal_output(x, u)) == record.flatten(x)
    quiet = sensor.measure(x, u, draw, random=False)
    assert record.flatten(quiet) == tuple(np.array(record.flatten(x)) + 0.5)
    assert sensor.measure(x, u, rand_noise=False) == quiet
    assert (sensor.output_dimension, sensor.state_dimension) == (size, size)
    assert sensor.input_dimension == record.size(vehicle.Input)
    assert sensor.noise_model is errors


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_selected_fields_of_every_vehicle(name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    states, outputs = record.names(vehicle.State), record.names(vehicle.model.Outputs)
    wanted = [states[-1], states[0], *(n for n in outputs[-2:] if n not in states)]
    sensor = SelectedOutputs(vehicle, wanted, noise(len(wanted)))
    x, u = some_state(vehicle), record.build(vehicle.Input)
    told = {
        **dict(zip(outputs, record.flatten(vehicle.outputs(x, u)), strict=True)),
        **dict(zip(states, record.flatten(x), strict=True)),
    }
    expected = np.array([told[n] for n in wanted])
    assert np.array(sensor.nominal_output(x, u)).tolist() == expected.tolist()
    drawn = noise(len(wanted)).sample(Draw(3, "noise", [4]))[0][0]
    assert np.array(sensor.measure(x, u, Draw(3, "noise", [4]))).tolist() == list(expected + drawn)
    assert sensor.fields == tuple(wanted)
    units = {leaf.name: leaf.unit for kind in (vehicle.model.Outputs, vehicle.State)
             for leaf in record.fields(kind)}  # fmt: skip
    assert [leaf.unit for leaf in record.fields(sensor.Output)] == [units[n] for n in wanted]


class Seen(NamedTuple):
    """Speed and course."""

    speed: m_s
    course: rad


def seen(x: Any, u: Any) -> Seen:
    from skidpad.ops import atan2, hypot

    return Seen(hypot(x.v_x, x.v_y), x.yaw + atan2(x.v_y, x.v_x))


def test_any_function_can_be_the_output() -> None:
    sensor = OutputFunction(Seen, seen, Gaussian([0.0, 0.1], [0.2, 0.0]), vehicle=CAR)
    x = record.build(CAR.State, v_x=3.0, v_y=4.0, yaw=0.5)
    assert sensor.nominal_output(x) == Seen(5.0, 0.5 + np.arctan2(4.0, 3.0))
    y = sensor.measure(x, draw=Draw(1, "noise", [0]))
    assert y.course == 0.5 + np.arctan2(4.0, 3.0) + 0.1
    assert y.speed != 5.0
    assert sensor.output_dimension == 2


def test_the_output_traces() -> None:
    """The output function is pure, so a filter can have its exact Jacobian."""
    sensor = OutputFunction(Seen, seen, vehicle=CAR)
    symbols = ca.SX.sym("x", NX)
    state = record.unflatten(CAR.State, ca.vertsplit(symbols))
    y = sensor.output(state, record.build(CAR.Input))
    jacobian = ca.Function("H", [symbols], [ca.jacobian(ca.vertcat(*y), symbols)])
    row = np.array(jacobian(record.build(CAR.State, v_x=3.0, v_y=4.0)))[0]
    expected = np.zeros(NX)
    expected[[CAR.State._fields.index("v_x"), CAR.State._fields.index("v_y")]] = 0.6, 0.8
    assert np.abs(row - expected).max() < 1e-15


def test_an_output_sees_disturbance_and_parameters_if_it_names_them() -> None:
    def pushed(w: Any, p: Any, x: Any, gain: float = 2.0) -> Seen:
        return Seen(gain * w.F_y / p.m, x.yaw + w.mu_scale)

    sensor = OutputFunction(Seen, pushed, vehicle=CAR)
    at_rest = record.build(CAR.State)
    assert sensor.nominal_output(at_rest) == Seen(0.0, 1.0)
    wind = record.build(CAR.model.Disturbance, F_y=10.0)
    assert sensor.nominal_output(at_rest, w=wind).speed == 20.0 / CAR.params.m


@pytest.mark.parametrize("form", ["array", "record", "mapping", "upstream"])
def test_states_come_in_many_forms(form: str) -> None:
    class Upstream:
        def convert_to_array(self) -> np.ndarray:
            return np.arange(float(NX))

    state = record.unflatten(CAR.State, list(np.arange(float(NX))))
    given = {
        "array": np.arange(float(NX)),
        "record": state,
        "mapping": state._asdict(),
        "upstream": Upstream(),
    }[form]
    assert FullStateFeedback(CAR).measure(given, np.zeros(5), random=False) == state


def test_many_runs_at_once_are_the_same_as_each_alone() -> None:
    sensor = SelectedOutputs(CAR, ["v_x", "a_y"], Gaussian([0.0, 1.0], [0.5, 2.0]))
    states = np.random.default_rng(0).uniform(0.5, 2.0, (6, NX))
    runs = np.array([3, 8, 9, 20, 21, 22])
    together = sensor.measure(states, None, Draw(5, "noise", runs, 2, 0.1))
    for k, run in enumerate(runs):
        alone = sensor.measure(states[k], None, Draw(5, "noise", [run], 2, 0.1))
        assert isinstance(alone.v_x, float)
        assert (together.v_x[k], together.a_y[k]) == pytest.approx(tuple(alone), abs=1e-12)
        assert together.v_x[k] == alone.v_x


def test_without_a_noise_model_there_is_none() -> None:
    x = some_state(CAR)
    sensor = FullStateFeedback(CAR)
    assert isinstance(sensor.noise_model, NoUncertainty)
    assert sensor.measure(x, None, Draw(1, "noise", [0])) == x
    assert sensor.measure(x) == x


def test_noise_from_the_own_stream_of_its_model() -> None:
    errors = noise(NX)
    errors.reset(4)
    first = FullStateFeedback(CAR, errors).measure(some_state(CAR))
    second = FullStateFeedback(CAR, errors).measure(some_state(CAR))
    errors.reset(4)
    assert FullStateFeedback(CAR, errors).measure(some_state(CAR)) == first != second


def test_noise_that_remembers() -> None:
    errors = OrnsteinUhlenbeck(0.0, 1.0, 5.0, dim=NX)
    sensor, x = FullStateFeedback(CAR, errors), some_state(CAR)
    draw = Draw(2, "noise", [1], 0, 0.1)
    memory, own = None, errors.start(1)
    for k in range(4):
        y, memory = sensor.measured(x, None, draw.at(k), memory)
        drawn, own = errors.sample(draw.at(k), own)
        assert np.array_equal(np.array(y), np.array(x) + drawn[0])
        _, memory = sensor.measured(x, None, None, memory, random=False)


def test_noise_may_depend_on_the_state() -> None:
    class Tenth(UncertaintyModel):
        def sample(self, draw: Draw, memory: Any = None, x: Any = None) -> tuple[Any, Any]:
            return 0.1 * x, None

    x = some_state(CAR)
    y = FullStateFeedback(CAR, Tenth(NX)).measure(x, None, Draw(1, "noise", [0]))
    assert np.allclose(np.array(y), 1.1 * np.array(x), rtol=1e-15)


def test_full_state_feedback_from_dimensions() -> None:
    sensor = FullStateFeedback(
        noise_model=Recorded([[1.0, 2.0]]), state_dimension=2, input_dimension=1
    )
    y = sensor.measure([10.0, 20.0], [0.0], Draw(1, "noise", [0]))
    assert tuple(y) == (11.0, 22.0)
    assert (sensor.output_dimension, sensor.input_dimension) == (2, 1)


class Factory:
    """As commonroad-control's factories are."""

    state_dimension = NX

    def state_from_numpy_array(self, values: np.ndarray) -> tuple[str, list[float]]:
        return "made", values.tolist()


def test_measurements_can_be_made_by_a_factory() -> None:
    x = some_state(CAR)
    sensor = FullStateFeedback(CAR, state_output_factory=Factory())
    assert sensor.measure(x, random=False) == ("made", list(x))


def test_a_vehicle_may_be_its_factory_or_its_model() -> None:
    for given in (sp.vehicles.four_wheel, CAR.model, CAR):
        assert FullStateFeedback(given).State is CAR.State


def test_a_sensor_says_what_it_is() -> None:
    sensor = SelectedOutputs(CAR, ["v_x", "a_y"])
    assert repr(sensor) == "SelectedOutputs(v_x, a_y; noise=NoUncertainty(dim=2, fields=v_x, a_y))"


def wrong(x: Any) -> Any:
    return 1.0, 2.0


CASES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: FullStateFeedback(CAR, noise(3)),
        "noise has dim = 3; allowed is 11, one value for each of x, y, yaw",
    ),
    (lambda: FullStateFeedback(CAR, 0.1), "noise = 0.1 must be an UncertaintyModel"),  # type: ignore[arg-type]
    (lambda: FullStateFeedback(3), "vehicle must be a Vehicle, got 3"),
    (lambda: FullStateFeedback(), "state_dimension = None must be a whole number, at least 0"),
    (lambda: FullStateFeedback(state_dimension=2), "input_dimension = None must be a whole"),
    (
        lambda: FullStateFeedback(CAR, state_dimension=5),
        "state_dimension = 5 must be 11, the number of fields of 'four_wheel'",
    ),
    (
        lambda: FullStateFeedback(CAR, input_dimension=2),
        "input_dimension = 2 must be 5, the number of fields of 'four_wheel'",
    ),
    (
        lambda: FullStateFeedback(CAR, noise(NX), noise_model=noise(NX)),
        r"noise \(also called noise_model\) must be given once, got both",
    ),
    (
        lambda: FullStateFeedback(
            state_dimension=2, input_dimension=1, state_output_factory=Factory()
        ),
        "state_output_factory has state_dimension = 11; allowed is 2",
    ),
    (lambda: SelectedOutputs(CAR, ["v_z"]), "four_wheel has no field 'v_z'; did you mean 'v_"),
    (lambda: SelectedOutputs(CAR, []), r"fields = \[\] must be a list of different names"),
    (lambda: SelectedOutputs(CAR, "v_x"), "fields = 'v_x' must be a list of different names"),
    (lambda: SelectedOutputs(CAR, ["x", "x"]), "fields = .* must be a list of different names"),
    (lambda: SelectedOutputs(CAR, ["x"], noise(2)), "noise has dim = 2; allowed is 1"),
    (lambda: OutputFunction(Seen, seen, noise(3), vehicle=CAR), "noise has dim = 3; allowed is 2"),
    (lambda: OutputFunction(dict, seen, vehicle=CAR), "Output = .* must be a record"),
    (lambda: OutputFunction(Seen, 3, vehicle=CAR), "function must be a function, got 3"),  # type: ignore[arg-type]
    (lambda: OutputFunction(Seen, lambda z: z, vehicle=CAR), "function has no argument 'z'"),
    (
        lambda: OutputFunction(Seen, wrong, vehicle=CAR).nominal_output(record.build(CAR.State)),
        "function returned a tuple; allowed is a Seen record",
    ),
    (
        lambda: FullStateFeedback(CAR).measure([1.0, 2.0]),
        r"x: State takes 11 numbers .* shape \(2,",
    ),
    (lambda: FullStateFeedback(CAR).measure({"v_z": 1.0}), "x: State has no field 'v_z'"),
    (lambda: FullStateFeedback(CAR).measure(CAR.State(), [1.0]), r"u: Input takes 5 numbers"),
    (lambda: FullStateFeedback(CAR).measure(np.zeros((3, 4))), r"x has shape \(3, 4\); allowed is"),
    (
        lambda: FullStateFeedback(CAR).measure(np.zeros((3, NX)), None, Draw(1, "noise", [0])),
        "x has 3 runs but the draw has 1",
    ),
    (
        lambda: FullStateFeedback(CAR).measured(CAR.State(), None, None),
        "draw = None: random noise needs a Draw",
    ),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message for _, message in CASES])
def test_it_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()


def test_an_output_must_be_given() -> None:
    with pytest.raises(TypeError, match="abstract"):
        SensorModel(Seen, State=CAR.State, Input=CAR.Input)  # type: ignore[abstract]
