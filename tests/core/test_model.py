"""Models, vehicles and factories."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest

import skidpad as sp
from skidpad import Model, Vehicle, VehicleFactory
from skidpad.core.model import NoOutputs
from skidpad.errors import InvalidValue
from skidpad.units import kg, m, m_s, positive


class State(NamedTuple):
    v: m_s = 0.0


class Input(NamedTuple):
    v: m_s = 0.0


class Shape(NamedTuple):
    length: Annotated[m, positive] = 2.0


class Params(NamedTuple):
    m: Annotated[kg, positive] = 4.0
    shape: Shape = Shape()


def derivative(x: Any, u: Any, w: Any, p: Any) -> State:
    return State((u.v - x.v) / p.m)


MODEL = Model("lag", State, Input, Params, derivative=derivative, summary="A lag")


def test_exactly_one_of_derivative_and_update() -> None:
    with pytest.raises(InvalidValue, match="'x' needs exactly one of derivative and update"):
        Model("x", State, Input, Params)
    with pytest.raises(InvalidValue, match="exactly one"):
        Model("x", State, Input, Params, derivative=derivative, update=lambda *a: a[0])


def test_only_a_model_that_reproduces_may_be_exempt() -> None:
    with pytest.raises(InvalidValue, match="exempt from energy but names no program"):
        Model("x", State, Input, Params, derivative=derivative, exempt={"energy": "no"})


def test_factory() -> None:
    factory = VehicleFactory(MODEL)
    car = factory({"m": 5.0}, **{"shape.length": 3.0})
    assert car.params == Params(5.0, Shape(3.0))
    assert factory(Params(6.0)).params.m == 6.0
    assert factory.__doc__ == "A lag"
    assert (car.name, car.State, car.Input) == ("lag", State, Input)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"m": -1.0}, r"Params\.m = -1 kg must be greater than 0"),
        ({"shape.length": 0.0}, r"Params\.shape\.length = 0 m must be greater than 0"),
        ({"mas": 1.0}, "Params has no field 'mas'"),
        ({"m": float("nan")}, r"Params\.m = nan must be finite"),
    ],
)
def test_bad_parameters(given: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        VehicleFactory(MODEL)(given)
    car = VehicleFactory(MODEL)()
    with pytest.raises(InvalidValue, match=message):
        car.with_params(given)
    assert car.params == Params()


CARS = [n for n in sp.vehicles.names() if "m" in sp.vehicles.get(n).model.Params._fields]


@pytest.mark.parametrize("name", CARS)
def test_vehicles_refuse_a_negative_mass_and_wheelbase(name: str) -> None:
    factory = sp.vehicles.get(name)
    for field in ("m", "l_f", "l_r"):
        with pytest.raises(InvalidValue, match=f"Params.{field} = -1 "):
            factory({field: -1.0})


def test_a_vehicle_has_the_record_classes_of_its_model() -> None:
    car = sp.vehicles.four_wheel(m=250.0)
    for name in ("State", "Input", "Params", "Outputs", "Disturbance"):
        assert getattr(car, name) is getattr(car.model, name)
    assert isinstance(car.params, car.Params)
    assert car.Params().m != car.params.m == 250.0


def test_with_params_makes_another_vehicle() -> None:
    car = VehicleFactory(MODEL)()
    heavy = car.with_params(m=8.0, shape=Shape(1.0))
    assert heavy.params == Params(8.0, Shape(1.0))
    assert car.params == Params()
    assert heavy.model is car.model


def test_parameters_of_another_class() -> None:
    with pytest.raises(InvalidValue, match="'lag' must be a Params record, got Shape"):
        Vehicle(MODEL, Shape())
    with pytest.raises(InvalidValue, match=r"Params\.m = -1 kg"):
        Vehicle(MODEL, Params(-1.0))


def test_direct_calls() -> None:
    car = VehicleFactory(MODEL)()
    assert car.derivative(State(1.0), Input(3.0)) == State(0.5)
    assert car.derivative(State(1.0), Input(3.0), p=Params(1.0)) == State(2.0)
    assert car.outputs(State(1.0), Input(3.0)) == NoOutputs()


def test_hold_takes_the_place_of_the_input() -> None:
    class Held(NamedTuple):
        v: m_s = 0.0

    def hold(x: Any, u: Any, w: Any, p: Any) -> Held:
        return Held(u.v * 10.0 + x.v)

    model = Model("held", State, Input, Params, derivative=derivative, hold=hold)
    assert Vehicle(model, Params()).derivative(State(1.0), Input(3.0)) == State(7.5)
    assert MODEL.held_input(State(), Input(3.0), None, Params()) == Input(3.0)


def test_a_discrete_model_has_no_derivative() -> None:
    model = Model("jump", State, Input, Params, update=lambda x, u, w, p, dt: x)
    assert not model.continuous
    with pytest.raises(InvalidValue, match="'jump' is a discrete model"):
        Vehicle(model, Params()).derivative(State(), Input())


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_texts_of_vehicles_are_short(name: str) -> None:
    factory = sp.vehicles.get(name)
    vehicle = factory()
    texts = [repr(item) for item in (factory, factory.model, vehicle, sp.Fleet(vehicle, 1e-3))]
    assert all(name in text and len(text) < 160 and " at 0x" not in text for text in texts), texts


def test_the_text_of_a_vehicle_says_what_is_not_as_usual() -> None:
    assert repr(sp.vehicles.four_wheel()) == "four_wheel()"
    car = sp.vehicles.four_wheel({"tyre.D": 1.5}, m=240.0)
    assert repr(car) == "four_wheel(m=240, tyre.D=1.5)"
    sim = sp.Simulator(car, dt=0.002)
    sim.step()
    assert repr(sim) == (
        "<Simulator of four_wheel(m=240, tyre.D=1.5): rk4, dt = 0.002 s, float64, at t = 0.002 s>"
    )


def test_texts_tell_what_changes_the_motion():
    """Two that move otherwise do not look alike."""
    car = sp.vehicles.four_wheel()
    assert repr(car) != repr(car.with_clipped_inputs())
    for made in (sp.Simulator, sp.Fleet):
        one, four = made(car, 0.001), made(car, 0.001, substeps=4)
        assert "sub-steps" not in repr(one)
        assert "dt = 0.001 s in 4 sub-steps" in repr(four)
