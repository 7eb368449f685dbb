from __future__ import annotations

import pytest

from skidpad import vehicles
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.vehicles.formula import MODEL, Input, Params, State


def test_names_are_sorted_and_lead_to_the_factories() -> None:
    assert vehicles.names() == sorted(vehicles.names())
    for name in ("brains2", "formula_student", "four_wheel", "kinematic_bicycle"):
        assert vehicles.get(name) is getattr(vehicles, name)
        assert vehicles.get(name)().name == name


def test_unknown_name_suggests_a_near_one() -> None:
    with pytest.raises(InvalidValue, match="'four_weel'; did you mean 'four_wheel'"):
        vehicles.get("four_weel")
    with pytest.raises(InvalidValue, match=r"There are \d+; the closest are .*kinematic_bicycle"):
        vehicles.get("bicycle")


def test_a_second_model_cannot_take_a_name() -> None:
    def derivative(x, u, w, p):
        return x

    other = Model("four_wheel", State, Input, Params, derivative=derivative)
    with pytest.raises(InvalidValue, match="already registered"):
        vehicles.register(VehicleFactory(other))
    assert vehicles.get("four_wheel").model is MODEL
    assert vehicles.register(VehicleFactory(MODEL)).model is MODEL


@pytest.mark.parametrize("name", vehicles.names())
def test_the_cars_share_state_and_input(name: str) -> None:
    model = vehicles.get(name).model
    targets = ["steer", "tau_fl", "tau_fr", "tau_rl", "tau_rr"]
    words = ["x", "y", "yaw", "v_x", "v_y", "omega", *targets]
    if {"tau_fl", "v_y"} <= set(model.State._fields):
        assert list(model.State._fields[: len(words)]) == words
        assert list(model.Input._fields[: len(targets)]) == targets


@pytest.mark.parametrize(
    ("field", "value"), [("m", -1.0), ("l_f", 0.0), ("t_tau", 0.0), ("I_z", float("nan"))]
)
@pytest.mark.parametrize("name", ["brains2", "formula_student", "four_wheel", "kinematic_bicycle"])
def test_impossible_parameters_are_refused_by_name(name: str, field: str, value: float) -> None:
    with pytest.raises(InvalidValue, match=field):
        vehicles.get(name)(**{field: value})


def test_nested_tyre_parameters() -> None:
    assert vehicles.four_wheel(**{"tyre.D": 1.2}).params.tyre.D == 1.2
    with pytest.raises(InvalidValue, match=r"tyre\.C"):
        vehicles.four_wheel(**{"tyre.C": 2.5})
