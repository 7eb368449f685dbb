"""Cases of any length in one rollout: which go together, and that nothing of it shows."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from skidpad.study.manoeuvres import Case, Kernels, Subject
from skidpad.study.manoeuvres.kernels import MANY, MOST, SHORTER, group_cases

STEPS = st.lists(st.integers(10, 60_000), min_size=1, max_size=80)


@given(steps=STEPS, variants=st.integers(1, 100), lanes=st.sampled_from([1, 4, 8, 16, 32]))
def test_each_case_is_driven_once_and_short_ones_only_where_they_are_free(
    steps: list[int], variants: int, lanes: int
) -> None:
    groups = group_cases(steps, variants, lanes)
    assert sorted(k for group in groups for k in group) == list(range(len(steps)))
    for group in groups:
        longest = max(steps[k] for k in group)
        assert steps[group[0]] == longest
        assert len(group) == 1 or len(group) * variants * longest <= MOST
        assert len(group) == 1 or variants < MANY
        nearly = [k for k in group if steps[k] >= SHORTER * longest]
        # What is shorter fills up lanes that would have stayed empty.
        assert ceil(len(group) * variants / lanes) == ceil(len(nearly) * variants / lanes)


def test_a_case_in_company_is_the_same_to_the_last_bit() -> None:
    """With another run-in, length, speed and start beside it."""
    car = Subject(sp.vehicles.single_track(), {"m": np.array([1100.0, 1400.0])})
    turn = Case(label="turn", duration=0.7, v=20.0, speed=20.0, steer=lambda t: 0.03 * (t > 0.2))
    other = Case(label="long", duration=1.6, v=9.0, a=1.0, run_in=0.3, start={"v_y": 0.2})
    pushed = Case(label="hold", duration=0.5, v=np.array([5.0, 8.0]), run_in=0.0)
    kernels = Kernels()
    (alone,) = kernels.drive([(car, turn)])
    runs = kernels.drive([(car, other), (car, turn), (car, pushed)])
    assert [run.label for run in runs] == ["long", "turn", "hold"]
    np.testing.assert_array_equal(runs[1].t, alone.t)
    for name, values in alone.signals.items():
        np.testing.assert_array_equal(runs[1][name], values, err_msg=name)
    np.testing.assert_allclose(runs[0].t[[0, -1]], [-0.3, 1.6])
    np.testing.assert_allclose(runs[0]["v_y"][0], 0.2)
    np.testing.assert_allclose(runs[2]["v_x"][0], [5.0, 8.0])
    assert len(runs[2].t) == 51


def test_what_is_held_is_the_same_as_told_at_each_step() -> None:
    """To the last bit, of one variant and of several."""
    sets: list[dict[str, Any]] = [{}, {"m": np.array([1100.0, 1400.0])}]
    for params in sets:
        car = Subject(sp.vehicles.single_track(), params)
        numbers: dict[str, Any] = {
            "v": 12.0,
            "speed": 12.0,
            "steer": 0.02,
            "duration": 0.6,
            "label": "turn",
        }
        over_time: dict[str, Any] = numbers | {"steer": lambda t: np.full(t.shape, 0.02)}
        held, told = Kernels().drive([(car, Case(**numbers)), (car, Case(**over_time))])
        (alone,) = Kernels().drive([(car, Case(**numbers))])
        for name, values in told.signals.items():
            np.testing.assert_array_equal(held[name], values, err_msg=name)
            np.testing.assert_array_equal(alone[name], values, err_msg=name)


@pytest.mark.slow
def test_vehicles_of_different_kernels_drive_as_they_do_alone() -> None:
    """Beside each other in threads, on the ground and on a hill, from rest and at speed."""
    cars = [Subject(sp.vehicles.single_track()), Subject(sp.vehicles.kinematic_bicycle())]
    cases = [
        Case(label="turn", duration=0.5, v=15.0, speed=15.0, steer=0.02),
        Case(label="start", duration=0.5, a=2.0, rests=True, run_in=0.0),
    ]
    asked = [(car, case) for car in cars for case in cases]
    hill = sp.Road.plane(slope=0.1)
    asked.append((cars[0], Case(label="hill", duration=0.5, v=10.0, speed=10.0, road=hill)))
    both = Kernels(threads=2).drive(asked)
    for pair, run in zip(asked, both, strict=True):
        (alone,) = Kernels(threads=1).drive([pair])
        assert run.label == alone.label
        for name, values in alone.signals.items():
            np.testing.assert_array_equal(run[name], values, err_msg=name)
