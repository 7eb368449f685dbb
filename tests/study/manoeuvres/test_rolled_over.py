"""A car that rolls over has no value there, and a note: its numbers are not those of a car."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import (
    Manoeuvre,
    Result,
    Slalom,
    SlowRamp,
    StepSteer,
    Subject,
    perform,
)
from skidpad.study.manoeuvres.cone_courses import DoubleLaneChange, ObstacleAvoidance
from skidpad.study.manoeuvres.longitudinal import BrakingInTurn
from skidpad.study.manoeuvres.steady_state import ConstantRadius
from skidpad.study.manoeuvres.transient_response import SineWithDwell
from study.manoeuvres.fakes import COARSE

HEIGHT = 1.6
TALL = Subject(sp.vehicles.two_track().with_params({"z_cg": HEIGHT}), name="tall")
TURNS = ConstantRadius(radius=60.0), SlowRamp()
TESTS = StepSteer(a_y=6.0), SineWithDwell(), BrakingInTurn(a_y=6.0)
COURSES = DoubleLaneChange(), ObstacleAvoidance(), Slalom()
TIPS = 9.81 * sp.vehicles.two_track().params.track_f / (2.0 * HEIGHT)
"""Lateral acceleration at which it tips over: that of a box, g track / (2 height)."""


@cache
def results(tests: tuple[Manoeuvre, ...]) -> dict[str, Result]:
    found = perform(tests, [TALL], COARSE)
    return {result.manoeuvre.name: result for result in found}


@pytest.mark.slow
def test_a_tall_car_turns_no_faster_than_it_tips() -> None:
    most = results(TURNS)["constant_radius"]["largest_steady_lateral_acceleration"]
    assert 0.7 * TIPS < most < 1.05 * TIPS < TALL.grip
    ramp = results(TURNS)["slow_ramp"]
    assert 0.7 * TIPS < ramp["max_lateral_acceleration"] < 1.05 * TIPS
    assert np.isnan(ramp["rear_gives_way"])  # neither end does
    assert ramp.findings is not None
    assert ramp.findings.notes == ["rolled over: left; right"]


def test_what_rolled_over_has_not_passed() -> None:
    dwell = results(TESTS)["sine_with_dwell"]
    assert dwell["largest_factor_passed"] < 3.0
    assert dwell.findings is not None
    (note,) = (one for one in dwell.findings.notes if "rolled" in one)
    assert note.startswith("rolled over: ")
    assert note.endswith("more")


def test_numbers_of_a_car_on_its_side_are_none() -> None:
    for name in ("step_steer", "braking_in_turn"):
        findings = results(TESTS)[name].findings
        assert findings is not None
        assert all(np.isnan(metric.value).all() for metric in findings.metrics), name
        assert any("rolled over" in note for note in findings.notes), name


@pytest.mark.slow
def test_a_course_on_two_wheels_is_not_passed() -> None:
    """Slower than a car that does not tip, and with no more than what it tips at: for moments a
    little more, which lift a wheel and do not turn it over."""
    car = Subject(sp.vehicles.two_track(), name="usual")
    for usual in perform(COURSES, [car], COARSE):
        tall = results(COURSES)[usual.manoeuvre.name]
        assert tall["entry_speed"] < 0.95 * usual["entry_speed"]
        assert tall["peak_lateral_acceleration"] < 1.1 * TIPS
