"""Runs beside each other: names, alignment and differences with known values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from plots.laps import lap
from skidpad.errors import InvalidValue
from skidpad.plots.figures.compare import aligned, common_columns, compare_sheet, difference
from skidpad.plots.figures.sheet import Curve
from skidpad.units import m, rad


class Point(NamedTuple):
    x: m
    y: m
    yaw: rad


class Command(NamedTuple):
    steer: rad


def ramp(t, offset: float = 0.0, yaw: float = 0.0, name: str = "") -> sp.Trajectory:
    """x = 2 t + offset, y = 0, a constant heading, and a command that counts whole seconds."""
    t = np.asarray(t, dtype=float)
    states = np.column_stack([2.0 * t + offset, 0.0 * t, yaw + 0.0 * t])
    return sp.Trajectory.from_arrays(
        t, (Point, states), (Command, np.floor(t + 1e-9)[:, None]), name=name
    )


def test_a_difference_is_taken_at_the_times_of_the_reference_within_both():
    reference = ramp(np.arange(0.0, 2.001, 0.1))
    other = ramp(np.arange(0.5, 1.7, 0.07), offset=0.3)
    found = difference(other, reference, "x")
    inside = (reference.t >= other.t[0]) & (reference.t <= other.t[-1])
    np.testing.assert_array_equal(found.t, reference.t[inside])
    np.testing.assert_allclose(found.values, 0.3, rtol=0.0, atol=1e-12)


def test_inputs_are_held_between_samples():
    reference, other = ramp([0.0, 0.5, 1.0, 1.5, 2.0]), ramp([0.0, 1.0, 2.0])
    assert difference(other, reference, "u_steer").values.tolist() == [0.0] * 5


def test_headings_differ_the_short_way():
    found = difference(ramp([0.0, 1.0], yaw=-3.1), ramp([0.0, 1.0], yaw=3.1), "yaw")
    np.testing.assert_allclose(found.values, 2.0 * np.pi - 6.2, rtol=1e-12)


def test_runs_that_do_not_overlap_have_no_difference():
    found = difference(ramp([5.0, 6.0]), ramp([0.0, 1.0]), "x")
    assert found.t.size == found.values.size == 0
    assert sp.plots.compare(ramp([0.0, 1.0]), ramp([5.0, 6.0]), columns=["x"]).axes


def test_a_run_does_not_differ_from_itself():
    run = lap()
    sheet = compare_sheet({"a": run, "b": run})
    below = [cell.diagram for cell in sheet.cells if cell.diagram.y.label == "Δ"]
    assert len(below) == 6
    for diagram in below:
        curve = next(mark for mark in diagram.marks if isinstance(mark, Curve))
        assert not curve.y.any()
        assert diagram.y.high is not None
        assert diagram.y.high > 0.0


def test_starts_are_aligned_on_request():
    runs = (ramp([0.0, 1.0], name="a"), ramp([7.0, 8.0], name="b"))
    assert [r.t[0] for r in aligned(runs, None, "time").values()] == [0.0, 7.0]
    assert [r.t[0] for r in aligned(runs, None, "start").values()] == [0.0, 0.0]


def test_names_come_from_the_runs_and_are_told_apart():
    run = lap()
    assert list(aligned((run, run), None, "time")) == ["lap 1", "lap 2"]
    assert list(aligned((run, ramp([0.0, 1.0])), None, "time")) == ["lap", "run 2"]
    legend = sp.plots.compare(run, run, names=["dry", "wet"]).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["dry", "wet"]


def test_usual_columns_are_those_that_all_runs_have():
    assert common_columns({"a": lap(), "b": lap()}, None) == ["v_x", "v_y", "a_x", "a_y", "omega", "steer"]  # fmt: skip # noqa: E501
    with pytest.raises(InvalidValue, match="no column in common"):
        common_columns({"a": lap(), "b": ramp([0.0, 1.0])}, None)


def test_differences_can_be_left_out():
    run = lap()
    assert len(sp.plots.compare(run, run, columns=["v_x"], differences=False).axes) == 1
    assert len(sp.plots.compare(run, run, columns=["v_x"]).axes) == 2


def test_bad_requests_are_refused():
    run = lap()
    with pytest.raises(InvalidValue, match="at least 2"):
        sp.plots.compare(run)
    with pytest.raises(InvalidValue, match="1 names for 2"):
        sp.plots.compare(run, run, names=["one"])
    with pytest.raises(InvalidValue, match="must differ"):
        sp.plots.compare(run, run, names=["one", "one"])
    with pytest.raises(InvalidValue, match="'lap 1' has no column 'speed'"):
        sp.plots.compare(run, run, columns=["speed"])
    with pytest.raises(InvalidValue, match="align = 'end'"):
        sp.plots.compare(run, run, align="end")
    column = run.column("v_x")
    other = sp.Trajectory(run.t, (column._replace(unit=run.unit("omega")),), "other")
    with pytest.raises(InvalidValue, match="different units: m/s in 'lap', rad/s in 'other'"):
        sp.plots.compare(run, other, columns=["v_x"])
