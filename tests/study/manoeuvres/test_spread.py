"""Uncertain parameters: drawn within their widths, evenly, and refused where they make no sense."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import spread_out
from skidpad.study.manoeuvres.sensitivities import parse_spread

CAR = sp.vehicles.single_track()


def test_every_part_of_a_width_has_one_variant() -> None:
    N = 40
    car = spread_out(CAR, {"m": "5%", "l_f": 0.02}, N)
    for name, middle, width in (
        ("m", CAR.params.m, 0.05 * CAR.params.m),
        ("l_f", CAR.params.l_f, 0.02),
    ):
        first, *drawn = car.params[name]
        assert first == middle  # the vehicle itself
        places = (np.array(drawn) - middle) / width
        parts = np.floor((places + 1.0) * 0.5 * N).astype(int)
        assert sorted(parts) == list(range(N))
    assert abs(np.corrcoef(car.params["m"][1:], car.params["l_f"][1:])[0, 1]) < 0.5


def test_a_seed_gives_the_same_vehicles() -> None:
    one, same, other = (spread_out(CAR, {"m": "5%"}, 8, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.params["m"], same.params["m"])
    assert (one.params["m"][1:] != other.params["m"][1:]).all()


def test_a_star_takes_all_that_are_not_zero() -> None:
    tyres = {
        name: value
        for name, value in zip(
            sp.core.record.names(CAR.model.Params), sp.core.record.flatten(CAR.params), strict=True
        )
        if name.startswith("tyres.") and value
    }
    assert set(spread_out(CAR, {"tyres.*": "1%"}, 2).params) == set(tyres)


@pytest.mark.parametrize(
    ("widths", "count", "says"),
    [
        ({"mass": "5%"}, 5, "no parameter 'mass'"),
        ({"m": "five"}, 5, "'five' must be a positive number or a share"),
        ({"m": "-5%"}, 5, "must be a positive number"),
        ({"m": "nan"}, 5, "must be a positive number"),
        ({"m": "200%"}, 50, "must be greater than 0"),
        ({"C_down": "5%"}, 5, "the value is 0, so a percentage of it is 0"),
        ({}, 5, "variants need a spread"),
        ({"m": "5%"}, 0, "variants = 0 must be from 1"),
    ],
)
def test_spreads_that_make_no_sense(widths: dict[str, str], count: int, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        spread_out(CAR, widths, count)


def test_spreads_as_texts() -> None:
    assert parse_spread(["m=5%, tyres.*=10%", "l_f=0.1"]) == {
        "m": "5%",
        "tyres.*": "10%",
        "l_f": "0.1",
    }
    for text in ("m", "m=", "=5%", "m=5%,"):
        with pytest.raises(InvalidValue, match="expected NAME=WIDTH"):
            parse_spread([text])
