"""Patches of friction: where they lie, and which lies on top."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.random import Draw, FrictionPatches, Scatter
from skidpad.random.patches import Patch, on_top, same_for_all, strip

ICE = Scatter(
    count=3, value=(0.1, 0.3), x=(0.0, 100.0), y=(-4.0, 4.0), length=(1.0, 9.0), width=(2.0, 2.0)
)


def at(model: FrictionPatches, *places: tuple[float, float]) -> list[float]:
    states = np.array(places, float)
    draw = Draw(1, "ground", np.arange(len(states)))
    return model.sample(draw, None, states)[0][:, 0].tolist()


def test_a_rectangle_has_its_edges() -> None:
    model = FrictionPatches([Patch(value=0.3, x=10.0, y=2.0, length=4.0, width=2.0)], base=0.9)
    inside = [(10.0, 2.0), (8.0, 1.0), (12.0, 3.0), (11.9, 1.1)]
    outside = [(7.99, 2.0), (12.01, 2.0), (10.0, 0.99), (10.0, 3.01), (0.0, 0.0)]
    assert at(model, *inside) == [0.3] * 4
    assert at(model, *outside) == [0.9] * 5


def test_a_turned_rectangle() -> None:
    """Along the diagonal: 45 degrees to the left, 4 m long and 1 m wide."""
    patch = Patch(value=0.2, x=1.0, y=1.0, length=4.0, width=1.0, yaw=math.pi / 4)
    model = FrictionPatches([patch])
    reach = 1.99 / math.sqrt(2.0)
    assert at(model, (1.0 + reach, 1.0 + reach), (1.0 - reach, 1.0 - reach)) == [0.2, 0.2]
    # Across it only half a metre, that is 0.35 m in x and in y.
    assert at(model, (1.35, 0.65), (1.36, 0.64), (1.0 + reach, 1.0 - reach)) == [0.2, 1.0, 1.0]


def test_a_strip_has_no_end() -> None:
    model = FrictionPatches([strip(0.5, 10.0, 20.0)])
    assert at(model, (10.0, -1e6), (20.0, 1e6), (9.9, 0.0), (20.1, 0.0)) == [0.5, 0.5, 1.0, 1.0]
    across = FrictionPatches([strip(0.5, 10.0, 20.0, yaw=math.pi / 2)])
    assert at(across, (1e6, 15.0), (15.0, 1.0)) == [0.5, 1.0]


def test_later_patches_lie_on_top() -> None:
    big = Patch(value=0.5, length=10.0, width=10.0)
    small = Patch(value=0.9, length=2.0, width=2.0)
    assert at(FrictionPatches([big, small]), (0.0, 0.0), (3.0, 0.0)) == [0.9, 0.5]
    assert at(FrictionPatches([small, big]), (0.0, 0.0), (3.0, 0.0)) == [0.5, 0.5]
    x = np.array([0.0, 3.0])
    assert on_top(same_for_all((big, small)), x, 0.0 * x, np.ones(2)).tolist() == [0.9, 0.5]


def test_the_position_may_stand_anywhere_in_the_state() -> None:
    model = FrictionPatches([strip(0.5, 10.0, 20.0)], position=(2, 0))
    states = np.array([[0.0, 0.0, 15.0], [15.0, 15.0, 0.0]])
    assert model.sample(Draw(1, "g", [0, 1]), None, states)[0][:, 0].tolist() == [0.5, 1.0]
    State = sp.vehicles.four_wheel().State
    by_name = FrictionPatches([strip(0.5, 10.0, 20.0)], state=State, position=("y", "x"))
    state = sp.core.record.build(State, y=15.0)
    assert by_name.sample(Draw(1, "g", [0]), None, np.array([state]))[0].item() == 0.5


def test_patches_thrown_at_random_stay_where_they_are() -> None:
    model = FrictionPatches([ICE])
    runs = np.arange(2000)
    places = np.column_stack([np.full(2000, 50.0), np.zeros(2000)])
    draw = Draw(7, "ground", runs, 0, 0.1)
    first, memory = model.sample(draw, None, places)
    later, _ = model.sample(draw.at(55), memory, places)
    forgotten, _ = model.sample(draw.at(55), None, places)
    assert np.array_equal(first, later)
    assert np.array_equal(first, forgotten)
    alone, _ = model.sample(Draw(7, "ground", [1234], 3), None, places[:1])
    assert np.array_equal(alone, first[1234:1235])


def test_how_often_a_place_is_hit_by_chance() -> None:
    """One patch hits x = 50 with probability mean length / 100, and y = 0 with 2/8."""
    runs = np.arange(20_000)
    places = np.column_stack([np.full(runs.size, 50.0), np.zeros(runs.size)])
    drawn = FrictionPatches([ICE]).sample(Draw(7, "ground", runs), None, places)[0][:, 0]
    hit = drawn < 1.0
    missed = (1.0 - 0.05 * 0.25) ** 3
    expected = stats.binom(runs.size, 1.0 - missed)
    assert expected.ppf(1e-6) < hit.sum() < expected.isf(1e-6)
    assert ((drawn[hit] >= 0.1) & (drawn[hit] <= 0.3)).all()
    assert stats.kstest(drawn[hit], "uniform", (0.1, 0.2)).pvalue > 1e-6


def test_two_scatters_do_not_lie_on_each_other() -> None:
    twice = FrictionPatches([ICE, ICE])
    states = np.zeros((4, 2))
    _, ground = twice.sample(Draw(7, "ground", np.arange(4)), None, states)
    assert not np.array_equal(ground.scattered[0].x, ground.scattered[1].x)


def test_the_nominal_value_is_the_base() -> None:
    assert FrictionPatches([ICE], base=0.8).nominal_value.tolist() == [0.8]
    assert FrictionPatches([ICE], 0.8, 0.5).nominal_value.tolist() == [0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Patch(value=-0.1, length=1.0, width=1.0), "Patch.value = -0.1 must be at least 0"),
        (lambda: Patch(value=0.1, length=-1.0, width=1.0), "Patch.length = -1.0 must be at least"),
        (lambda: Patch(value=0.1, length=1.0, width=math.nan), "Patch.width = nan must be at lea"),
        (lambda: Patch(value=0.1, x=math.inf, length=1, width=1), "Patch.x = inf must be finite"),
        (lambda: Patch(value="0.1", length=1, width=1), "Patch.value = '0.1' must be a number"),  # type: ignore[arg-type]
        (lambda: strip(0.1, 3.0, 2.0), "begin = 3 m must be at most end = 2 m"),
        (lambda: strip(0.1, math.nan, 2.0), "begin = nan must be finite"),
        (lambda: thrown(count=0), "Scatter.count = 0 must be a whole number, at least 1"),
        (
            lambda: thrown(x=(2.0, 1.0)),
            r"Scatter.x = \(2.0, 1.0\) must be a pair \(low, high\), finite",
        ),
        (lambda: thrown(length=(-1.0, 1.0)), r"Scatter.length\[0\] = -1.0 must be .*at least 0"),
        (lambda: thrown(value=0.5), "Scatter.value = 0.5 must be a pair"),
        (lambda: FrictionPatches([0.5]), r"patches\[0\] = 0.5 must be a Patch"),  # type: ignore[list-item]
        (lambda: FrictionPatches([], base=-1.0), "base = -1 must be at least 0"),
        (lambda: FrictionPatches([], base=math.nan), "base = nan must be a number"),
        (lambda: FrictionPatches([], position=(0, -1)), "position = -1 must be at least 0"),
        (lambda: FrictionPatches([], position=(0,)), r"position = \(0,\) must be two numbers"),  # type: ignore[arg-type]
        (lambda: FrictionPatches([], position=("x", "y")), "state has no field 'x'"),
        (lambda: at_no_place(None), "x = None: FrictionPatches needs the states"),
        (lambda: at_no_place(np.zeros((3, 4))), r"x has shape \(3, 4\); allowed is \(2, nx\)"),
        (lambda: at_no_place(np.zeros((2, 1))), r"x has shape \(2, 1\); allowed is \(2, nx\)"),
    ],
)
def test_bad_patches_are_named(make: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()  # type: ignore[operator]


def thrown(**changes: object) -> Scatter:
    settings: dict[str, object] = {"count": 1, "value": (0.1, 0.2), "x": (0.0, 1.0)}
    settings |= {"y": (0.0, 1.0), "length": (1.0, 2.0), "width": (1.0, 2.0)}
    return Scatter(**settings | changes)  # type: ignore[arg-type]


def at_no_place(x: object) -> None:
    FrictionPatches([]).sample(Draw(1, "g", [0, 1]), None, x)  # type: ignore[arg-type]
