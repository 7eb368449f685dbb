"""Columns, slices, interpolation and joining of trajectories."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.run.trajectory import Trajectory
from skidpad.run.trajectory_table import Column
from skidpad.units import Unit

from .conftest import Input, Outputs, Pose, State, make

METRE = Unit("m", length=1)


def test_names_tell_states_inputs_and_outputs_apart(run):
    assert run.names == (
        *("pose.x", "pose.y", "pose.yaw", "v_x", "steer"),
        *("u_steer", "u_F"),
        *("a_x", "out_steer", "omega"),
    )
    assert [run.column(name).role for name in ("steer", "u_steer", "out_steer")] == [
        *("state", "input", "output")
    ]


def test_columns_by_bracket_and_attribute(run):
    assert run["v_x"].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert run.v_x is run["v_x"]
    assert run["t"] is run.t
    assert "v_x" in run
    assert "t" not in run.names
    assert "v_x" in dir(run)
    assert not hasattr(run, "v_z")


def test_units(run):
    assert str(run.unit("v_x")) == "m/s"
    assert run.unit("u_F").dimension == (1, 1, -2)
    assert str(run.unit("t")) == "s"
    assert {name: str(unit) for name, unit in run.units.items()}["pose.yaw"] == "rad"


def test_arrays_are_read_only_and_independent_of_what_was_given():
    t = np.array([0.0, 1.0])
    given_states = np.arange(10.0).reshape(2, 5)
    trajectory = Trajectory.from_arrays(t, (State, given_states))
    t[0] = given_states[0, 0] = 99.0
    assert trajectory.t[0] == 0.0
    assert trajectory["pose.x"][0] == 0.0
    for array in (trajectory.t, trajectory["v_x"], trajectory[0:1]["v_x"], trajectory.states):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        trajectory.name = "other"  # type: ignore[misc]


def test_a_read_only_view_of_a_writable_array_is_copied():
    values = np.array([1.0, 2.0])
    view = values.view()
    view.flags.writeable = False
    trajectory = Trajectory(np.array([0.0, 1.0]), (Column("a", METRE, "state", view),))
    values[0] = 7.0
    assert trajectory.a[0] == 1.0


def test_matrices_and_state_records(run):
    assert run.states.shape == (9, 5)
    assert run.inputs.shape == (9, 2)
    assert run.outputs.shape == (9, 3)
    assert run.state(2) == State(Pose(3.0, 1.0, 0.1), 5.0, 0.2)
    assert run.state(-1).v_x == 11.0
    assert Trajectory.from_arrays([0.0], (State, np.zeros((1, 5)))).inputs.shape == (1, 0)


def test_length_duration_and_samples(run):
    assert len(run) == 9
    assert run.duration == 4.0
    assert run[-1].t == 4.0
    assert run[-1].v_x == run[-1]["v_x"] == 11.0
    assert [sample.t for sample in run] == run.t.tolist()
    assert dict(run[0])["pose.x"] == 0.0
    assert "v_x" in run[0]


def test_slices_by_sample(run):
    part = run[2:7:2]
    assert part.t.tolist() == [1.0, 2.0, 3.0]
    assert part.v_x.tolist() == [5.0, 7.0, 9.0]
    assert part.name == "toy"
    assert part.state(0) == run.state(2)


def test_a_part_is_what_the_constructor_would_make_of_it(run):
    part = run[2:7:2]
    columns = tuple(c._replace(values=c.values[2:7:2]) for c in run.columns)
    made = Trajectory(run.t[2:7:2], columns, run.name, run.meta, run.error, run.State, run.Point)
    assert part.same_data(made)
    assert {**vars(part), "t": 0, "columns": 0, "_index": 0} == {
        **vars(made),
        "t": 0,
        "columns": 0,
        "_index": 0,
    }
    assert part.meta is not run.meta
    assert not any(c.values.flags.writeable for c in part.columns)
    assert pickle.loads(pickle.dumps(part)).same_data(part)


def test_between_includes_both_ends(run):
    assert run.between(1.0, 2.0).t.tolist() == [1.0, 1.5, 2.0]
    assert run.between(0.9, 1.1).t.tolist() == [1.0]
    summed = make(np.cumsum(np.full(3, 0.1)))  # the last time is 0.30000000000000004
    assert len(summed.between(0.0, 0.3)) == 3


def test_interpolation_is_linear_for_states_and_held_for_inputs(run):
    sample = run.at(1.2)
    assert sample.t == 1.2
    assert sample.v_x == pytest.approx(5.4, rel=1e-15)
    # y = t² at the samples 1.0 and 1.5: 1 + (0.2 / 0.5)·1.25
    assert sample["pose.y"] == pytest.approx(1.5, rel=1e-15)
    assert sample.u_steer == 1.0
    assert run.at(1.999).u_steer == 1.0
    assert run.at(2.0).u_steer == 2.0
    assert run.at(4.0).u_steer == 4.0


def test_resample_by_times_and_by_spacing(run):
    moved = run.resample([0.25, 3.75])
    assert moved.t.tolist() == [0.25, 3.75]
    assert moved.v_x.tolist() == [3.5, 10.5]
    assert moved.units == run.units
    assert run.resample(dt=1.6).t.tolist() == [0.0, 1.6, 3.2]
    assert len(make(np.linspace(0.0, 0.3, 2)).resample(dt=0.1)) == 4


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12, unique=True))
def test_resampling_at_its_own_times_changes_no_bit(times):
    trajectory = make(np.sort(np.array(times)))
    assert trajectory.resample(trajectory.t).same_data(trajectory)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.data())
def test_cutting_and_joining_gives_back_the_whole(last, data):
    whole = make(np.arange(0.0, 10.5, 0.5), name="toy")
    cut = data.draw(st.integers(1, last))
    assert (whole[:cut] + whole[cut:]).same_data(whole)
    # The shared sample of two runs in a row is kept once.
    assert (whole[: cut + 1] + whole[cut:]).same_data(whole)


def test_joining_keeps_the_input_of_the_later_run():
    first = make(np.array([0.0, 1.0]))
    second = make(np.array([1.0, 2.0]))
    replaced = [
        c._replace(values=c.values + 0.5) if c.role == "input" else c for c in second.columns
    ]
    joined = first + Trajectory(second.t, tuple(replaced))
    assert joined.t.tolist() == [0.0, 1.0, 2.0]
    assert joined.u_steer.tolist() == [0.0, 1.5, 2.5]


def test_joining_keeps_the_error_and_the_notes():
    error = SimulationDiverged("v_x", time=2.0, last_state=None)
    first = make(np.array([0.0, 1.0]), meta={"a": 1, "b": 1})
    joined = first + make(np.array([2.0]), error=error, meta={"b": 2})
    assert joined.error is error
    assert joined.meta == {"a": 1, "b": 2}


def test_starting_at_shifts_time():
    assert make(np.array([2.0, 3.0])).starting_at(0.0).t.tolist() == [0.0, 1.0]


def test_repr_names_columns_units_and_the_error(run):
    text = repr(run)
    assert "toy: 9 samples, 0 to 4 s" in text
    assert "v_x [m/s]" in text
    assert "inputs: u_steer [rad], u_F [N]" in text
    broken = make(np.array([0.0]), error=SimulationDiverged("lost", time=0.0, last_state=None))
    assert "ended early: SimulationDiverged: lost" in repr(broken)
    assert "v_x=3" in repr(run[0])


def test_copies_and_pickles_stay_read_only(run):
    for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run), copy.copy(run)):
        assert other.same_data(run)
        assert other.name == "toy"
        assert not other.v_x.flags.writeable


def test_same_data_sees_one_bit(run):
    values = run.v_x.copy()
    values[3] = np.nextafter(values[3], 9.9)
    columns = tuple(c._replace(values=values) if c.name == "v_x" else c for c in run.columns)
    assert not Trajectory(run.t, columns).same_data(run)
    assert not run[1:].same_data(run)


def test_a_recording_may_hold_nan_but_not_in_time():
    states = np.full((2, 5), np.nan)
    assert np.isnan(Trajectory.from_arrays([0.0, 1.0], (State, states)).v_x).all()
    with pytest.raises(InvalidValue, match=r"t\[1\] = nan s must be finite"):
        Trajectory.from_arrays([0.0, np.nan], (State, states))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run["vx"], "no column 'vx'; did you mean 'v_x'"),
        (lambda run: run.unit("nothing"), "no column 'nothing'"),
        (lambda run: run[0]["vx"], "no column 'vx'"),
        (lambda run: run[9], "sample 9 does not exist; there are 9 samples"),
        (lambda run: run.state(-10), "sample -10 does not exist"),
        (lambda run: run[5:5], "takes none of the 9 samples"),
        (lambda run: run[::-1], "step -1 is not allowed: time must increase"),
        (lambda run: run.at(4.1), "time 4.1 s is outside the trajectory, 0 to 4 s"),
        (lambda run: run.at(float("nan")), "t = nan s must be a number"),
        (lambda run: run.resample([0.0, -0.5]), "time -0.5 s is outside"),
        (lambda run: run.resample([1.0, 0.5]), r"t\[0\] = 1 s, then t\[1\] = 0.5 s"),
        (lambda run: run.resample(dt=0.0), "dt = 0.0 s must be finite and greater than 0"),
        (lambda run: run.resample(), "either times or dt"),
        (lambda run: run.resample([0.0], dt=0.1), "either times or dt"),
        (lambda run: run.between(5.0, 6.0), "no sample between 5 and 6 s; there are 0 to 4 s"),
        (lambda run: run + run, "begins at 0 s, before the first ends at 4 s"),
        (lambda run: run + run.starting_at(4.0), "pose.x jumps from 12 to 0 m"),
        (lambda run: run + Trajectory(np.array([9.0]), ()), "10 and 0 columns"),
        (lambda run: Trajectory.concat([]), "at least one trajectory"),
        (lambda run: Trajectory(run.t, (run.columns[0], run.columns[0])), "'pose.x' appears twice"),
        (lambda run: Trajectory(run.t, run.columns).state(0), "give it: state"),
        (lambda run: Trajectory(np.array([]), ()), "at least one sample"),
        (lambda run: Trajectory(np.array([[1.0]]), ()), r"one axis, got shape \(1, 1\)"),
        (lambda run: Trajectory(run.t[:2], run.columns), "'pose.x' has 9 values for 2 times"),
    ],
)
def test_bad_requests_name_what_is_wrong(run, call, message):
    with pytest.raises(InvalidValue, match=message):
        call(run)


def test_bad_columns_are_named():
    t = np.array([0.0, 1.0])
    with pytest.raises(InvalidValue, match=r"states must have shape .* \(2, 5\) .* got \(5, 2\)"):
        Trajectory.from_arrays(t, (State, np.zeros((5, 2))))
    with pytest.raises(InvalidValue, match=r"inputs must have shape .* for Input, got \(2, 1\)"):
        Trajectory.from_arrays(t, (State, np.zeros((2, 5))), (Input, np.zeros((2, 1))))
    with pytest.raises(InvalidValue, match="outputs must be an array of numbers"):
        Trajectory.from_arrays(
            t, (State, np.zeros((2, 5))), None, (Outputs, [["a", 0.0, 0.0], [0.0, 0.0, 0.0]])
        )
    with pytest.raises(
        InvalidValue, match="'a' has role 'speed'; allowed are state, input, output"
    ):
        Trajectory(t, (Column("a", METRE, "speed", t),))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="column 'a' must hold numbers"):
        Trajectory(t, (Column("a", METRE, "state", ["x", "y"]),))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="'t' appears twice"):
        Trajectory(t, (Column("t", METRE, "state", t),))


def test_joining_different_columns_names_them(run):
    renamed = (run.columns[0]._replace(name="q"), *run.columns[1:])
    with pytest.raises(InvalidValue, match=r"'pose.x' \(state, m\) meets 'q' \(state, m\)"):
        _ = run + Trajectory(run.t + 10.0, renamed)
