"""Runs of vehicles whose states have other names: the figures show what the body tells."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.plots.runs import with_motion
from view.plots.drawn import areas, curves, diagrams, outlines, titles
from view.plots.laps import lap
from view.plots.renamed import renamed

CAR = sp.vehicles.four_wheel()
OTHER = renamed(CAR)


def drive(car: sp.Vehicle) -> sp.Trajectory:
    """A bend; the inputs in the order of the car's record."""
    sim = sp.Simulator(car, dt=0.01, substeps=10)
    start = CAR.State(x=3.0, y=-2.0, yaw=0.4, v_x=8.0)
    sim.reset(car.State(*start))
    return sim.run(lambda t, x: car.Input(0.1 * np.sin(3.0 * t), *[30.0] * 4), duration=0.6)


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    return drive(CAR)


@pytest.fixture(scope="module")
def other() -> sp.Trajectory:
    return drive(OTHER)


def test_the_columns_of_the_motion_are_those_of_the_body(run, other):
    moving = with_motion(other, OTHER)
    for name in ("x", "y", "yaw", "v_x", "v_y", "omega", "steer"):
        np.testing.assert_array_equal(moving[name], run[name])
        assert moving.unit(name) == run.unit(name)
    for name in ("a_x", "a_y"):
        np.testing.assert_allclose(moving[name], run[name], rtol=1e-9, atol=1e-9)


def test_recorded_accelerations_stay_as_they_know_of_disturbances():
    sim = sp.Simulator(CAR, dt=0.01, substeps=10)
    sim.reset(v_x=8.0)
    sim.disturb(F_y=800.0)
    pushed = sim.run({}, duration=0.1)
    np.testing.assert_array_equal(with_motion(pushed, CAR)["a_y"], pushed["a_y"])
    assert pushed["a_y"].max() > 1.0


def test_a_run_is_as_recorded_without_a_vehicle_or_with_another(run):
    assert with_motion(run, None) is run
    assert with_motion(run, OTHER) is run
    assert with_motion(run, sp.vehicles.commonroad_st()) is run


def test_the_same_path_is_drawn_with_the_same_cars_on_it(run, other):
    pictures = (sp.view.plots.path(r, v, count=4).axes[0] for r, v in ((run, CAR), (other, OTHER)))
    wanted, shown = pictures
    for one, two in zip(areas(wanted), areas(shown), strict=True):
        corners = [np.vstack(outlines(area)) for area in (one, two)]
        np.testing.assert_allclose(corners[1], corners[0], rtol=0.0, atol=1e-12)
    lines = [axes.collections[0].get_segments() for axes in (wanted, shown)]
    np.testing.assert_array_equal(lines[1], lines[0])


def test_the_figure_of_a_run_has_the_panels_of_its_motion(other):
    assert titles(sp.view.plots.trajectory(other, OTHER)) == [
        "Path [m]",
        "Speed [m/s]",
        "Acceleration [m/s²]",
        "Steering angle [°]",
        "Yaw rate [°/s]",
    ]


def test_a_run_without_usual_names_shows_its_states(other):
    assert titles(other.plot())[0] == "q0, q1 [m]"
    assert "<svg" in other._repr_html_()
    with pytest.raises(InvalidValue, match="or else the vehicle that the run was recorded with"):
        sp.view.plots.path(other)


def test_a_mass_on_rails_is_drawn():
    mass = sp.vehicles.get("double_integrator")()
    sim = sp.Simulator(mass, dt=0.05)
    sim.reset(v_s=5.0)
    run = sim.run({}, duration=1.0)
    (axes, *_) = diagrams(sp.view.plots.trajectory(run, mass))
    (line,) = curves(axes)
    np.testing.assert_allclose(np.ptp(line.get_xydata(), axis=0), [5.0, 0.0], atol=1e-12)


def test_accelerations_come_from_the_body_where_none_were_recorded(run, other):
    for options in ({"vehicle": OTHER}, {"limit": 9.0, "vehicle": [OTHER]}):
        points = (
            sp.view.plots.gg(other, colour="none", **options).axes[0].collections[0].get_offsets()
        )
        wanted = np.column_stack([run["a_y"], run["a_x"]])
        np.testing.assert_allclose(points, wanted, rtol=1e-9, atol=1e-9)
    with pytest.raises(InvalidValue, match="or vehicle="):
        sp.view.plots.gg(other)


def test_the_limit_of_a_vehicle_also_tells_its_accelerations(run):
    bare = sp.Trajectory(run.t, tuple(c for c in run.columns if c.role != "output"))
    points = sp.view.plots.gg(bare, limit=CAR, colour="none").axes[0].collections[0].get_offsets()
    wanted = np.column_stack([run["a_y"], run["a_x"]])
    np.testing.assert_allclose(points, wanted, rtol=1e-9, atol=1e-9)


def test_runs_of_different_vehicles_are_compared_by_their_motion(run, other):
    figure = sp.view.plots.compare(run, other, vehicle=[CAR, OTHER])
    assert titles(figure)[0] == "Path [m]"
    below = [axes for axes in diagrams(figure) if axes.get_ylabel() == "Δ"]
    assert len(below) == 6
    for axes in below:
        np.testing.assert_allclose(curves(axes)[0].get_ydata(), 0.0, atol=1e-7)
    with pytest.raises(InvalidValue, match="or give vehicle="):
        sp.view.plots.compare(run, other)
    with pytest.raises(InvalidValue, match="1 vehicles for 2"):
        sp.view.plots.compare(run, other, vehicle=[CAR])


def test_the_path_lies_above_the_vehicles():
    axes = sp.view.plots.path(lap(), CAR).axes[0]
    line = next(c for c in axes.collections if c not in areas(axes))
    assert line.get_zorder() > max(area.get_zorder() for area in areas(axes))
