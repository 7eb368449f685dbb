"""Trajectories as points: by step, by time, as arrays, one more."""

from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.run.trajectory import Trajectory
from skidpad.run.trajectory_table import Column, Layout, TrajectoryMode
from skidpad.units import Unit, m, m_s2, rad

from .conftest import Input, Pose, State, make


class Spot(NamedTuple):
    x: m
    y: m
    yaw: rad
    wheel: rad


class Push(NamedTuple):
    a: m_s2
    b: m_s2


SPOTS = [Spot(float(k), 2.0 * k, 0.1 * k, 3.0 * k) for k in range(5)]


@pytest.fixture
def spots():
    return Trajectory.from_points(SPOTS, delta_t=0.1, t_0=1.0, name="walk")


def test_a_trajectory_of_points_knows_its_times_and_ends(spots):
    assert spots.mode is TrajectoryMode.State
    assert spots.mode == "state"
    assert (spots.t_0, spots.delta_t, spots.dim) == (1.0, 0.1, 4)
    assert spots.t_final == pytest.approx(1.4)
    assert spots.steps == [0, 1, 2, 3, 4]
    assert spots.initial_point == SPOTS[0]
    assert spots.final_point == SPOTS[4]
    assert spots.point(2) == spots.point(-3) == SPOTS[2]
    assert spots.points == dict(enumerate(SPOTS))
    assert Trajectory.from_points(dict(enumerate(SPOTS)), delta_t=0.1, t_0=1.0).same_data(spots)


def test_modes_follow_from_what_is_held(run):
    assert run.mode == "state"
    assert run.dim == 5
    assert run.point(1) == State(Pose(1.5, 0.25, 0.05), 4.0, 0.1)
    t = np.array([0.0, 1.0])
    commands = Trajectory.from_arrays(t, inputs=(Input, [[0.1, 5.0], [0.2, 6.0]]))
    assert commands.mode is TrajectoryMode.Input
    assert commands.names == ("u_steer", "u_F")
    assert commands.final_point == Input(0.2, 6.0)
    assert commands.State is None
    pushes = Trajectory.from_points(
        [Push(1.0, 2.0), Push(3.0, 4.0)], delta_t=1.0, mode="disturbance"
    )
    assert pushes.mode is TrajectoryMode.Disturbance
    assert pushes.names == ("w_a", "w_b")
    assert pushes.disturbances.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert pushes.final_point == Push(3.0, 4.0)
    assert "disturbances: w_a [m/s²], w_b [m/s²]" in repr(pushes)


def test_modes_have_the_values_of_commonroad_control():
    assert {mode.name: mode.value for mode in TrajectoryMode} == {
        "State": "state",
        "Input": "input",
        "Disturbance": "disturbance",
    }


def test_outputs_alone_are_no_points():
    table = Trajectory(np.array([0.0]), (Column("a_x", Unit("m/s²"), "output", np.zeros(1)),))
    with pytest.raises(InvalidValue, match="no points: it has neither states nor inputs nor dist"):
        _ = table.mode


def test_points_before_and_after_a_time(spots):
    assert spots.points_around(1.25) == (SPOTS[2], SPOTS[3], 2, 3)
    for k, t in enumerate((1.0, 1.1, 1.2, 1.3, 1.4)):
        for rounding in (0.0, 1e-13, -1e-13, 2e-16):
            assert spots.points_around(t + rounding) == (SPOTS[k], SPOTS[k], k, k)
            assert spots.point_at(t + rounding) == SPOTS[k]
    assert spots.get_point_before_and_after_time(1.05)[2:] == (0, 1)


def test_times_outside_name_themselves_and_the_range(spots):
    for t in (0.99, 1.41, float("nan"), 1.0 - 1e-9):
        with pytest.raises(InvalidValue, match=r"time .* s is outside the trajectory, 1 to 1\.4 s"):
            spots.points_around(t)
        with pytest.raises(InvalidValue, match="outside the trajectory"):
            spots.point_at(t)
        with pytest.raises(InvalidValue, match="outside the trajectory"):
            spots.to_array([1.1, t])


def test_points_between_steps_are_linear_and_count_from_t_0(spots):
    assert spots.point_at(1.05) == pytest.approx(Spot(0.5, 1.0, 0.05, 1.5))
    assert spots.get_point_at_time(1.05) == pytest.approx(Spot(0.5, 1.0, 0.05, 1.5))


def test_inputs_and_disturbances_are_held_unless_linear_is_asked_for():
    for mode in ("input", "disturbance"):
        pushes = Trajectory.from_points([Push(1.0, 2.0), Push(3.0, 4.0)], delta_t=1.0, mode=mode)
        assert pushes.point_at(0.75) == Push(1.0, 2.0)
        assert pushes.point_at(0.75, held=False) == Push(2.5, 3.5)
        assert pushes.get_point_at_time(0.75) == Push(2.5, 3.5)
        # Off by rounding, it is the next one that acts.
        assert pushes.point_at(1.0 - 1e-14) == Push(3.0, 4.0)
    states = Trajectory.from_points([Push(1.0, 2.0), Push(3.0, 4.0)], delta_t=1.0)
    assert states.point_at(0.75, held=True) == Push(1.0, 2.0)


@given(
    start=st.floats(-20.0, 20.0),
    turn=st.floats(-3.1, 3.1),
    part=st.floats(0.001, 0.999),
    rounds=st.integers(-3, 3),
)
def test_a_heading_takes_the_short_way_wrapped_or_not(start, turn, part, rounds):
    end = start + turn + 2.0 * np.pi * rounds
    found = Trajectory.from_points(
        [Spot(0.0, 0.0, start, 0.0), Spot(0.0, 0.0, end, 0.0)], delta_t=1.0
    ).point_at(part)
    assert found.yaw == pytest.approx(start + part * turn, abs=1e-9)


def test_only_headings_are_unwrapped():
    ends = [Spot(0.0, 0.0, 3.0, 3.0), Spot(0.0, 0.0, -3.0, -3.0)]
    found = Trajectory.from_points(ends, delta_t=1.0)
    turned = 2.0 * np.pi - 6.0
    for middle in (found.point_at(0.5), found.at(0.5), found.resample([0.5])[0]):
        assert middle.yaw == pytest.approx(3.0 + 0.5 * turned)
        assert middle.wheel == pytest.approx(0.0)
    nested = make(np.array([0.0, 1.0]))
    columns = [
        c._replace(values=np.array([3.0, -3.0])) if c.name == "pose.yaw" else c
        for c in nested.columns
    ]
    found = Trajectory(nested.t, tuple(columns), State=State)
    assert found.point_at(0.5).pose.yaw == pytest.approx(3.0 + 0.5 * turned)


def test_headings_that_are_not_finite_stay_what_they_are():
    yaw = np.array([np.inf, np.inf, np.nan, 1.0])
    spots = np.column_stack([np.zeros((4, 2)), yaw, np.zeros(4)])
    found = Trajectory.from_arrays(np.arange(4.0), (Spot, spots))
    np.testing.assert_array_equal(found.resample(found.t).yaw, yaw)
    assert np.isnan(found.at(1.5).yaw)


def test_arrays_of_points(spots):
    assert spots.to_array().shape == (5, 4)
    near = spots.to_array([1.04, 1.06, 1.4])
    assert near.tolist() == [list(SPOTS[0]), list(SPOTS[1]), list(SPOTS[4])]
    between = spots.to_array([1.05, 1.4], interpolate=True)
    np.testing.assert_allclose(between, [[0.5, 1.0, 0.05, 1.5], list(SPOTS[4])])
    assert spots.convert_to_numpy_array([1.04, 1.06]).shape == (4, 2)
    np.testing.assert_allclose(
        spots.convert_to_numpy_array([1.05], linear_interpolate=True)[:, 0], between[0]
    )


def test_of_two_equally_near_points_the_even_one_is_taken():
    spots = Trajectory.from_points(SPOTS, delta_t=0.5)
    assert spots.to_array([0.25, 0.75, 1.25])[:, 0].tolist() == [0.0, 2.0, 2.0]


def test_one_more_point(spots):
    longer = spots.append(Spot(9.0, 9.0, 9.0, 9.0))
    assert len(spots) == 5
    assert len(longer) == 6
    assert longer.final_point == Spot(9.0, 9.0, 9.0, 9.0)
    assert longer.t_final == pytest.approx(1.5)
    assert longer.delta_t == 0.1
    assert longer[:5].same_data(spots)
    for form in (Spot(*[9.0] * 4)._asdict(), [9.0] * 4, np.full(4, 9.0)):
        assert spots.append(form).same_data(longer)
    assert spots.append_point(Spot(*[9.0] * 4)).same_data(longer)
    one = Trajectory.from_points(SPOTS[:1], delta_t=0.25)
    assert one.append(SPOTS[1]).t.tolist() == [0.0, 0.25]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.append({"x": 1.0}), "Spot needs a value for y, yaw, wheel"),
        (lambda s: s.append(Push(1.0, 2.0)), "expected a Spot record, got Push"),
        (lambda s: s.append([1.0]), "Spot takes 4 numbers"),
        (lambda s: s.append(Spot(np.nan, 0.0, 0.0, 0.0)), "Spot.x = nan must be finite"),
        (lambda s: s.point(5), "sample 5 does not exist; there are 5 samples"),
        (lambda s: Trajectory.from_points([], delta_t=0.1), "at least one point, got none"),
        (
            lambda s: Trajectory.from_points([None], delta_t=0.1),
            "point 0 is a NoneType; points must",
        ),
        (
            lambda s: Trajectory.from_points([SPOTS[0], Push(1.0, 2.0)], delta_t=0.1),
            "point 1 is a Push; points must be records of one class, that of the first: Spot",
        ),
        (lambda s: Trajectory.from_points({1: SPOTS[0]}, delta_t=0.1), r"without gaps, got \[1\]"),
        (lambda s: Trajectory.from_points(SPOTS, delta_t=0.0), r"delta_t = 0\.0 s must be finite"),
        (
            lambda s: Trajectory.from_points(SPOTS, delta_t=0.1, mode="stat"),
            "mode = 'stat' is unkn",
        ),
        (lambda s: make(np.arange(3.0)).append([0.0] * 5), "also has inputs and outputs; use"),
        (lambda s: Trajectory(s.t, s.columns).point(0), "does not know the record of its points"),
        (lambda s: Trajectory(s.t, s.columns, State=Push).point(0), "points of Push need .* a, b"),
        (
            lambda s: Trajectory.from_arrays([0.0, 1.0, 3.0], (Push, np.zeros((3, 2)))).delta_t,
            r"delta_t is not one number: t\[\d\] = \d s is followed by \d s",
        ),
        (lambda s: Trajectory.from_arrays([0.0], (Push, [[1.0, 2.0]])).delta_t, "no spacing"),
    ],
)
def test_bad_requests_name_what_is_wrong(spots, call, message):
    with pytest.raises(InvalidValue, match=message):
        call(spots)


def test_a_step_that_does_not_exist_is_none_under_commonroad_controls_name(spots):
    assert spots.get_point_at_time_step(4) == SPOTS[4]
    assert spots.get_point_at_time_step(5) is None
    assert spots.get_point_at_time_step(-1) is None


def test_a_factory_makes_the_point_in_between(spots):
    class Factory:
        @staticmethod
        def state_from_numpy_array(x_np):
            return ("made", *x_np.tolist())

    assert spots.get_point_at_time(1.05, Factory)[0] == "made"


def test_delta_t_is_what_was_noted_and_not_a_difference_of_times(spots):
    assert spots.delta_t == 0.1
    assert spots.resample(dt=0.2).delta_t == pytest.approx(0.2)
    assert Trajectory(spots.t, spots.columns).delta_t == pytest.approx(0.1, rel=1e-12)


@pytest.fixture
def unchecked():
    """A trajectory as simulations make them."""
    t, rows = np.arange(3.0), np.arange(12.0).reshape(3, 4)
    for array in (t, rows):
        array.flags.writeable = False
    return Trajectory.of_rows(t, rows, Layout.of(Spot, "state", "walk"), {"dt": 1.0})


def test_a_trajectory_of_rows_is_one_like_any_other(unchecked):
    expected = Trajectory.from_arrays(
        np.arange(3.0), (Spot, np.arange(12.0).reshape(3, 4)), name="walk", meta={"dt": 1.0}
    )
    assert unchecked.final_point == expected.final_point
    assert unchecked.states is unchecked.to_array()
    assert unchecked.mode == "state"
    assert unchecked.x.tolist() == [0.0, 4.0, 8.0]
    assert unchecked.same_data(expected)
    assert repr(unchecked) == repr(expected)
    assert unchecked.names == expected.names
    assert unchecked[1:].same_data(expected[1:])
    assert unchecked.append(SPOTS[0]).same_data(expected.append(SPOTS[0]))
    with pytest.raises(ValueError, match="read-only"):
        unchecked.x[0] = 1.0


def test_a_trajectory_of_rows_is_copied_and_pickled_before_and_after_its_columns_are_made(
    unchecked,
):
    for _ in range(2):
        for again in (copy.copy(unchecked), pickle.loads(pickle.dumps(unchecked))):
            assert again.same_data(unchecked)
            assert again.final_point == unchecked.final_point
            assert again.Point is Spot
    assert not hasattr(unchecked, "speed")
