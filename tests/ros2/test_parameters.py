"""Parameters: declared, asked for, changed, refused."""

from __future__ import annotations

from typing import Any

import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.node import Kind, Parameters, kind_of


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, Kind.BOOL),
        (3, Kind.INTEGER),
        (3.0, Kind.DOUBLE),
        ("a", Kind.STRING),
        ([True, False], Kind.BOOL_ARRAY),
        ([1, 2], Kind.INTEGER_ARRAY),
        ([1, 2.0], Kind.DOUBLE_ARRAY),
        (["a"], Kind.STRING_ARRAY),
        (None, Kind.NOT_SET),
    ],
)
def test_kinds_have_the_numbers_of_ros(value: Any, kind: Kind) -> None:
    assert kind_of(value) is kind


@pytest.mark.parametrize("value", [[1, "a"], [1.0, "a"], [True, 1], {"a": 1}, [[1]], 1 << 63, 1j])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        kind_of(value)


def test_what_is_asked_for_replaces_the_default() -> None:
    parameters = Parameters({"rate": 5, "unknown": 1})
    assert parameters.declare("rate", 100.0) == 5.0
    assert type(parameters["rate"]) is float
    assert parameters.declare("name", "x") == "x"
    assert parameters.undeclared() == ["unknown"]
    assert dict(parameters) == {"rate": 5.0, "name": "x"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("fast", "rate = 'fast' is of type string, expected double"),
        (float("nan"), "rate = nan must be finite"),
        (True, "rate = True is of type bool, expected double"),
    ],
)
def test_wrong_values_are_named(value: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Parameters({"rate": value}).declare("rate", 1.0)


def test_a_change_is_whole_or_nothing() -> None:
    def positive(value: float) -> None:
        if value <= 0.0:
            raise InvalidValue(f"b = {value} must be greater than 0")

    parameters = Parameters()
    parameters.declare("a", 1.0, dynamic=True)
    parameters.declare("b", 2.0, dynamic=True, check=positive)
    parameters.declare("fixed", 3)
    told: list[tuple[str, Any]] = []
    parameters.changed.append(lambda name, value: told.append((name, value)))
    for wrong in ({"a": 5.0, "b": -1.0}, {"a": 5.0, "none": 1}, {"a": 5.0, "fixed": 4}):
        with pytest.raises(InvalidValue):
            parameters.set(wrong)
    assert dict(parameters) == {"a": 1.0, "b": 2.0, "fixed": 3}
    assert not told
    parameters.set({"a": 7, "fixed": 3})
    assert parameters["a"] == 7.0
    assert told == [("a", 7.0), ("fixed", 3)]


def test_of_many_parameters_an_unknown_one_names_the_closest() -> None:
    parameters = Parameters()
    for k in range(300):
        parameters.declare(f"vehicle.gain_{k}", 1.0, dynamic=True)
    with pytest.raises(
        InvalidValue, match=r"no parameter 'vehicle.gian_7'; did you mean"
    ) as caught:
        parameters.set({"vehicle.gian_7": 2.0})
    assert len(str(caught.value)) < 400
