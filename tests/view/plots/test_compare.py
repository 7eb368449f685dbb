"""Runs beside each other: names, alignment and differences with known values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.units import m, rad
from skidpad.view.plots.comparison import align_runs, common_columns, difference
from view.plots.drawn import curves, diagrams, keys, titles
from view.plots.laps import lap


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
    apart = difference(other, reference, "x")
    inside = (reference.t >= other.t[0]) & (reference.t <= other.t[-1])
    np.testing.assert_array_equal(apart.t, reference.t[inside])
    np.testing.assert_allclose(apart.values, 0.3, rtol=0.0, atol=1e-12)


def test_inputs_are_held_between_samples():
    reference, other = ramp([0.0, 0.5, 1.0, 1.5, 2.0]), ramp([0.0, 1.0, 2.0])
    assert difference(other, reference, "u_steer").values.tolist() == [0.0] * 5


def test_headings_differ_the_short_way():
    apart = difference(ramp([0.0, 1.0], yaw=-3.1), ramp([0.0, 1.0], yaw=3.1), "yaw")
    np.testing.assert_allclose(apart.values, 2.0 * np.pi - 6.2, rtol=1e-12)


def test_runs_that_do_not_overlap_have_no_difference():
    apart = difference(ramp([5.0, 6.0]), ramp([0.0, 1.0]), "x")
    assert apart.t.size == apart.values.size == 0
    assert sp.view.plots.compare(ramp([0.0, 1.0]), ramp([5.0, 6.0]), columns=["x"]).axes


def test_a_run_does_not_differ_from_itself():
    run = lap()
    below = [axes for axes in diagrams(sp.view.plots.compare(run, run)) if axes.get_ylabel() == "Δ"]
    assert len(below) == 6
    for axes in below:
        (curve,) = curves(axes)
        assert not curve.get_ydata().any()
        assert axes.get_ylim()[1] > 0.0


def test_runs_lie_over_each_other_with_their_differences_below():
    run, wider = lap(), lap(rate=0.6)
    figure = sp.view.plots.compare(run, wider)
    assert titles(figure) == [
        "Path [m]",
        "Velocity forward $v_{\\mathrm{x}}$ [m/s]",
        "Velocity to the left $v_{\\mathrm{y}}$ [m/s]",
        "Acceleration forward $a_{\\mathrm{x}}$ [m/s²]",
        "Acceleration to the left $a_{\\mathrm{y}}$ [m/s²]",
        "Yaw rate $ω$ [°/s]",
        "Steering angle [°]",
    ]
    path, *others = diagrams(figure)
    for line, shown in zip(curves(path), (run, wider), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([shown["x"], shown["y"]]))
    above, below = others[8:10]
    np.testing.assert_allclose([c.get_ydata()[0] for c in curves(above)], np.rad2deg([0.5, 0.6]))
    np.testing.assert_allclose(curves(below)[0].get_ydata(), np.rad2deg(0.1), rtol=1e-9)
    # The reference is thick and in ink, the other dashed, and the same colour below.
    reference, other = curves(above)
    assert reference.get_linewidth() > other.get_linewidth()
    assert (reference.get_linestyle(), other.get_linestyle()) == ("-", "--")
    assert curves(below)[0].get_color() == other.get_color() != reference.get_color()


def test_inputs_are_drawn_as_steps():
    (axes, _) = diagrams(
        sp.view.plots.compare(ramp([0.0, 1.0]), ramp([0.0, 1.0]), columns=["u_steer"])
    )
    assert {curve.get_drawstyle() for curve in curves(axes)} == {"steps-post"}


def test_a_run_that_ended_early_is_named():
    error = SimulationDiverged("v_x is NaN", time=5.0, last_state=None)
    figure = sp.view.plots.compare(lap(), lap(error=error), names=["whole", "short"])
    assert figure.get_supxlabel() == "short ended early at 10 s"


def test_starts_are_aligned_on_request():
    runs = (ramp([0.0, 1.0], name="a"), ramp([7.0, 8.0], name="b"))
    assert [r.t[0] for r in align_runs(runs, None, "time").values()] == [0.0, 7.0]
    assert [r.t[0] for r in align_runs(runs, None, "start").values()] == [0.0, 0.0]


def test_names_come_from_the_runs_and_are_told_apart():
    run = lap()
    assert list(align_runs((run, run), None, "time")) == ["lap 1", "lap 2"]
    assert list(align_runs((run, ramp([0.0, 1.0])), None, "time")) == ["lap", "run 2"]
    figure = sp.view.plots.compare(run, run, names=["dry", "wet 5 $"])
    assert keys(figure.legends[0]) == ["dry", r"wet 5 \$"]


def test_usual_columns_are_those_that_all_runs_have():
    assert common_columns({"a": lap(), "b": lap()}, None) == ["v_x", "v_y", "a_x", "a_y", "omega", "steer"]  # fmt: skip # noqa: E501
    with pytest.raises(InvalidValue, match="no column in common"):
        common_columns({"a": lap(), "b": ramp([0.0, 1.0])}, None)


def test_differences_can_be_left_out():
    run = lap()
    assert len(sp.view.plots.compare(run, run, columns=["v_x"], differences=False).axes) == 1
    assert len(sp.view.plots.compare(run, run, columns=["v_x"]).axes) == 2


def test_bad_requests_are_refused():
    run = lap()
    with pytest.raises(InvalidValue, match="at least 2"):
        sp.view.plots.compare(run)
    with pytest.raises(InvalidValue, match="1 names for 2"):
        sp.view.plots.compare(run, run, names=["one"])
    with pytest.raises(InvalidValue, match="must differ"):
        sp.view.plots.compare(run, run, names=["one", "one"])
    with pytest.raises(InvalidValue, match="'lap 1' has no column 'speed'"):
        sp.view.plots.compare(run, run, columns=["speed"])
    with pytest.raises(InvalidValue, match="align = 'end'"):
        sp.view.plots.compare(run, run, align="end")
    column = run.column("v_x")
    other = sp.Trajectory(run.t, (column._replace(unit=run.unit("omega")),), "other")
    with pytest.raises(InvalidValue, match="different units: m/s in 'lap', rad/s in 'other'"):
        sp.view.plots.compare(run, other, columns=["v_x"])
