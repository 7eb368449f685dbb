"""The shortest stop: by what tyres give along the road, to a fraction of a per cent."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Case, Result, Subject, perform, sensitivity
from skidpad.study.manoeuvres.case import before
from skidpad.study.manoeuvres.longitudinal import StraightBraking, braking, stopping_distance
from skidpad.study.manoeuvres.search import hardest_stop, tyre_deceleration
from study.manoeuvres.fakes import STOPS

ALONG, ACROSS = "tyres.tyre.longitudinal.mu", "tyres.tyre.lateral.mu"


SHARES = np.linspace(0.702, 0.842, 8)
"""Of the front brakes."""
WEAK = (10.0, 300.0)
"""Largest torques of brakes that lock no wheel."""


@cache
def driven() -> list[Result]:
    """All cars at once, which has the bits of each alone: see `grips`, `ways` and `weak`."""
    car = sp.vehicles.two_track()
    grips = {ALONG: np.array([1.0, 0.5, 1.0]), ACROSS: np.array([1.0, 1.0, 0.5])}
    cars = [Subject(car, grips), Subject(car, {"brake_front": SHARES})]
    cars += [Subject(sp.vehicles.two_track(brake_max=brake_max)) for brake_max in WEAK]
    return perform([StraightBraking()], cars, STOPS)


def grips() -> Result:
    """As it is, with half the grip along the road, and with half of that across."""
    return driven()[0]


def ways() -> np.ndarray:
    """Of each of the shares."""
    return driven()[1]["stopping_distance"]


def weak(brake_max: float) -> Result:
    return driven()[2 + WEAK.index(brake_max)]


@pytest.mark.slow
def test_grip_across_the_road_does_not_matter_for_a_stop_and_half_of_that_along_doubles_it() -> (
    None
):
    usual, slippery, across = grips()["stopping_distance"]
    assert across == pytest.approx(usual, rel=1e-6)
    assert 1.7 < slippery / usual < 2.2
    findings = grips().findings
    assert findings is not None
    theory = findings["stopping_distance"].theory
    assert theory[2] == theory[0]
    # A tyre's peak falls with load, so not quite.
    assert theory[1] / theory[0] == pytest.approx(2.0, rel=0.15)
    assert (theory < grips()["stopping_distance"]).all()


def test_locked_wheels_need_longer() -> None:
    assert (grips()["locked_stopping_distance"] > 1.05 * grips()["stopping_distance"]).all()


def test_a_stop_hardly_harder_than_the_hardest_locks_a_wheel() -> None:
    """Within 0.5 % of what was asked for: the way ends where the limit is."""
    way, v, car = grips()["stopping_distance"][0], StraightBraking().speed, grips().car.each[0]
    asked = next(float(run.label.split()[0]) for run in grips().last)
    cases = [
        Case(
            label=f"{share}", duration=8.0, v=v, speed=v, hold=before, rests=True,
            a=lambda t, a=asked * share: a * braking(t),
        )
        for share in (0.995, 1.005)
    ]  # fmt: skip
    softer, harder = STOPS.drive([(Subject(car), case) for case in cases])
    assert stopping_distance(softer)[0] == pytest.approx(way, rel=0.01)
    slowest = [np.min(run.since(0.3, 2.5)["spin_rl"]) for run in (softer, harder)]
    assert slowest[0] > 20.0
    assert slowest[1] < 10.0


def test_the_way_to_rest_changes_smoothly_with_the_balance_of_brakes() -> None:
    """No plateaus: rear wheels lock the later the less they are braked."""
    steps = np.diff(ways())
    assert (steps < 0.0).all()
    assert steps.min() > 1.1 * steps.mean()
    assert steps.max() < 0.7 * steps.mean()  # the last: front wheels are about to lock first
    assert steps[:6].max() < 0.95 * steps[:6].mean()


@pytest.mark.slow
def test_its_sensitivity_is_that_of_a_wide_step() -> None:
    table = sensitivity("straight_braking", sp.vehicles.two_track(), ["brake_front"])
    (row,) = (row for row in table.rows() if row["metric"] == "stopping_distance")
    wide = np.ptp(ways()) / -np.ptp(SHARES)
    assert row["derivative"] == pytest.approx(wide, rel=0.1)


@pytest.mark.parametrize(("brake_max", "stops"), [(WEAK[0], False), (WEAK[1], True)])
def test_of_weak_brakes_is_told_what_they_give(brake_max: float, stops: bool) -> None:
    """And not that wheels lock."""
    result, car = weak(brake_max), weak(brake_max).car
    assert result.findings is not None
    (note,) = result.findings.notes
    assert "give no more than" in note
    assert "without a locked wheel" not in note
    told = float(note.split("no more than ")[1].split()[0])
    p = car.vehicle.params
    brakes = 4.0 * brake_max / (car.geometry.wheels[0].radius * p.m)
    assert brakes * 0.8 < told < brakes + 0.4  # air and rolling
    assert np.isfinite(result["stopping_distance"][0]) == stops
    assert np.isnan(result["locked_stopping_distance"][0])


def test_each_variant_is_asked_for_its_own_deceleration() -> None:
    """To the bits of one that is asked for it alone."""
    car = sp.vehicles.two_track()
    params = {"m": np.array([1200.0, 1400.0])}

    def case(a: float, gain: object) -> Case:
        return Case(
            label="stop", duration=1.0, v=20.0, speed=20.0, hold=before, rests=True,
            a=lambda t: a * braking(t), a_gain=gain,
        )  # fmt: skip

    (both,) = STOPS.drive([(Subject(car, params), case(1.0, np.array([3.0, 5.0])))])
    for k, a in enumerate((3.0, 5.0)):
        (alone,) = STOPS.drive([(Subject(car, params), case(a, 1.0))])
        np.testing.assert_array_equal(both["v_x"][:, k], alone["v_x"][:, k])


@pytest.mark.parametrize("limit", [1.0, 3.0, 11.0, 70.0])
def test_the_limit_is_found_wherever_it_is(limit: float) -> None:
    """Also far from the guess: ways of even stops, none of which counts beyond the limit."""
    limits, asked = np.array([limit, 1.1 * limit]), list[np.ndarray]()

    def cases(a: np.ndarray, duration: float) -> list[Case]:
        asked.append(a)
        return [Case(label="", duration=duration)]

    def ways(_: object) -> np.ndarray:
        a = asked[len(seen)]
        seen.append(a)
        return np.where(a > limits, np.inf, 200.0 / a)

    seen = list[np.ndarray]()
    search, runs = hardest_stop(20.0, np.array([6.0, 6.0]), cases, ways), None
    while True:
        try:
            runs = search.send(runs)  # type: ignore[arg-type]
        except StopIteration as end:
            best, shortest = end.value
            break
    np.testing.assert_allclose(best, limits, rtol=0.001)
    np.testing.assert_allclose(shortest, 200.0 / best)


def test_tyres_give_their_longitudinal_peak_times_gravity() -> None:
    car = Subject(sp.vehicles.two_track(**{ALONG: 0.5, ACROSS: 0.9}))
    assert tyre_deceleration(car)[0] == pytest.approx(0.5 * 9.81, rel=0.15)
    assert np.isnan(tyre_deceleration(Subject(sp.vehicles.four_wheel()))).all()
