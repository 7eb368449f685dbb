"""Records: names, order, defaults, documentation, and what `build` makes of user input."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad import vehicles
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.units import Allowed, kg, m, m_s, non_negative, one, positive, rad


class Tyre(NamedTuple):
    """A tyre."""

    B: one = 10.0
    """Stiffness."""
    D: Annotated[one, non_negative] = 1.5


class Axle(NamedTuple):
    tyre: Tyre = Tyre(B=12.0)
    track: Annotated[m, positive] = 1.2
    """Distance between
    the wheels."""


class Car(NamedTuple):
    m: Annotated[kg, positive]
    """Mass."""
    front: Axle = Axle()
    rear: Axle = Axle(tyre=Tyre(8.0, 1.0))
    steer: Annotated[rad, Allowed(-0.5, 0.5)] = 0.0
    plain: float = 3


NAMES = (
    *("m", "front.tyre.B", "front.tyre.D", "front.track"),
    *("rear.tyre.B", "rear.tyre.D", "rear.track", "steer", "plain"),
)


def test_names_are_dotted_and_in_order() -> None:
    assert record.names(Car) == NAMES
    assert record.size(Car) == 9


def test_fields() -> None:
    fields = {field.name: field for field in record.fields(Car)}
    assert fields["m"].default is None
    assert fields["m"].unit.symbol == "kg"
    assert fields["m"].doc == "Mass."
    assert fields["front.tyre.B"].default == 12.0
    assert fields["rear.tyre.B"].default == 8.0
    assert fields["rear.tyre.B"].doc == "Stiffness."
    assert fields["front.tyre.D"].doc == ""
    assert fields["front.track"].doc == "Distance between\nthe wheels."
    assert fields["front.track"].allowed == positive
    assert fields["steer"].allowed == Allowed(-0.5, 0.5)
    assert fields["plain"].unit.symbol == "1"
    assert fields["plain"].default == 3.0


@given(st.lists(st.floats(allow_nan=False), min_size=9, max_size=9))
def test_flatten_and_unflatten_are_inverse(leaves: list[float]) -> None:
    car = record.unflatten(Car, leaves)
    assert isinstance(car.rear.tyre, Tyre)
    assert record.flatten(car) == tuple(leaves)
    assert record.unflatten(Car, record.flatten(car)) == car


@pytest.mark.parametrize("name", vehicles.names())
def test_records_of_vehicles(name: str) -> None:
    model = vehicles.get(name).model
    for kind in (model.State, model.Input, model.Params, model.Disturbance, model.Outputs):
        leaves = list(range(record.size(kind)))
        assert list(record.flatten(record.unflatten(kind, leaves))) == leaves
        assert all(field.doc for field in record.fields(kind)), kind
        assert len(set(record.names(kind))) == len(leaves)


def test_leaves_may_be_anything() -> None:
    leaves = [np.zeros(3)] * 9
    assert record.flatten(record.unflatten(Car, leaves))[4] is leaves[4]


def test_unflatten_checks_the_number() -> None:
    with pytest.raises(InvalidValue, match="Car has 9 values, got 8"):
        record.unflatten(Car, range(8))


def test_what_is_not_a_record() -> None:
    for kind in (int, tuple, dict):
        with pytest.raises(InvalidValue, match="NamedTuple"):
            record.fields(kind)


def test_build_fills_in_defaults() -> None:
    assert record.build(Car, m=100) == Car(100.0)
    assert record.build(Tyre) == Tyre()
    built = record.build(Car, m=np.float32(2.5), plain=True)
    assert all(type(value) is float for value in record.flatten(built))


@pytest.mark.parametrize(
    "given",
    [
        {"m": 5.0, "rear.tyre.B": 7.0},
        {"m": 5.0, "rear": Axle(Tyre(7.0, 1.0))},
        {"m": 5.0, "rear.tyre": Tyre(7.0, 1.0)},
        Car(5.0, rear=Axle(Tyre(7.0, 1.0))),
        [5.0, 12.0, 1.5, 1.2, 7.0, 1.0, 1.2, 0.0, 3.0],
        np.array([5.0, 12.0, 1.5, 1.2, 7.0, 1.0, 1.2, 0.0, 3.0]),
    ],
)
def test_build_takes_many_forms(given: Any) -> None:
    assert record.build(Car, given) == Car(5.0, rear=Axle(Tyre(7.0, 1.0)))


def test_keywords_and_base() -> None:
    base = Car(1.0, plain=9.0)
    assert record.build(Car, {"plain": 4.0}, base=base, plain=5.0) == Car(1.0, plain=5.0)
    assert record.build(Car, base=base, front=Axle(track=2.0)) == Car(1.0, Axle(track=2.0), plain=9)
    assert base == Car(1.0, plain=9.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Car needs a value for m"),
        ({"mass": 1.0}, "Car has no field 'mass'"),
        ({"m": 1.0, "stear": 0.1}, "Car has no field 'stear'; did you mean 'steer'"),
        ({"m": 1.0, "front.tyre.C": 0.1}, "'front.tyre.C'; did you mean 'front.tyre."),
        ({"m": 1.0, "plain": Tyre()}, "no field 'plain.B'"),
        ({"m": np.nan}, r"Car\.m = nan must be finite"),
        ({"m": -np.inf}, r"Car\.m = -inf must be finite"),
        ({"m": -5.0}, r"Car\.m = -5 kg must be greater than 0"),
        ({"m": 0.0}, r"Car\.m = 0 kg must be greater than 0"),
        ({"m": 1.0, "front.tyre.D": -0.1}, r"Car\.front\.tyre\.D = -0.1 must be at least 0"),
        ({"m": 1.0, "steer": 0.6}, r"Car\.steer = 0.6 rad must be from -0.5 to 0.5"),
        ({"m": "heavy"}, r"Car\.m must be a number, got 'heavy' \(str\)"),
        ({"m": "5"}, r"Car\.m must be a number, got '5' \(str\)"),
        ({"m": 1j}, r"Car\.m must be a number, got 1j \(complex\)"),
        ({"m": 10**400}, r"Car\.m must be a number"),
    ],
)
def test_build_says_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        record.build(Car, arguments)
    with pytest.raises(InvalidValue, match=message):
        record.build(Car, **arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], r"Car takes 9 numbers \(m, front.*got shape \(2,\)"),
        (np.zeros((1, 9)), r"got shape \(1, 9\)"),
        (5.0, r"got shape \(\)"),
        ("car", "Car takes 9 numbers"),
        ([[1.0], [2.0, 3.0]], r"Car takes 9 numbers.*got \[\[1.0\], \[2.0, 3.0\]\]"),
        (Tyre(), "expected a Car record, got Tyre; fields are m, front.tyre.B"),
        ([None] * 9, "Car takes 9 numbers|must be"),
    ],
)
def test_build_says_what_shape_is_wrong(given: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        record.build(Car, given)


def test_names_without_a_neighbour_get_no_guess() -> None:
    text = record.unknown_name("Car", "zzzz", ("m", "steer"))
    assert text == "Car has no field 'zzzz'. Allowed are m, steer"
    assert record.unknown_name("Car", "x", ()) == "Car has no field 'x'. Allowed are none"


def test_of_many_names_the_closest_are_listed_and_where_all_are() -> None:
    many = [f"key{k}" for k in range(299)] + ["tyre.front.B"]
    meant = record.unknown_name("Car", "key29_", many)
    assert meant.startswith("Car has no field 'key29_'; did you mean 'key29")
    assert "There are 300; the closest are key29" in meant
    unlike = record.unknown_name("Car", "zzzz", many, see="`skidpad models car` lists them")
    assert "There are 300: key0, key1, " in unlike
    assert unlike.endswith("; `skidpad models car` lists them")
    assert "the closest are tyre.front.B" in record.unknown_name("Car", "B", many)
    assert max(map(len, (meant, unlike, record.unknown_name("Car", "z" * 9999, many)))) < 300


def test_an_unknown_parameter_of_a_large_vehicle_is_told_in_few_words() -> None:
    with pytest.raises(InvalidValue) as caught:
        vehicles.two_track(mass=1400.0)
    assert len(str(caught.value)) < 300
    assert str(caught.value).endswith("skidpad.core.record.names(Params) gives all")


def test_check_of_a_record_made_by_hand() -> None:
    with pytest.raises(InvalidValue, match=r"Tyre\.B must be a number, got 'stiff'"):
        record.check(Tyre(B="stiff"))  # type: ignore[arg-type]


def test_a_record_without_source() -> None:
    made = NamedTuple("made", [("a", m_s)])  # noqa: UP014 - a class body would have source
    assert record.fields(made)[0].doc == ""
    assert record.fields(made)[0].unit.symbol == "m/s"


def test_documentation_is_that_of_the_class_wherever_it_is_written() -> None:
    class Local(NamedTuple):
        a: one = 0.0
        """Within a function."""

    class Car(NamedTuple):
        m: one = 0.0
        """Not that of the module's own."""

    assert [leaf.doc for leaf in record.fields(Local)] == ["Within a function."]
    assert [leaf.doc for leaf in record.fields(Car)] == ["Not that of the module's own."]


def test_a_record_of_another_class_with_the_same_names_is_taken() -> None:
    """As that of a fleet that was loaded from a file."""

    class Wheel(NamedTuple):
        B: float = 9.0

    class Tyre(NamedTuple):
        B: float = 10.0

    class Rim(NamedTuple):
        C: float = 10.0

    assert record.build(Tyre, Wheel(8.0)) == Tyre(8.0)
    with pytest.raises(InvalidValue, match="Rim; fields are B"):
        record.build(Tyre, Rim())
