"""Paths over ground: vehicles where and as they were."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from plots.laps import lap
from skidpad.errors import InvalidValue
from skidpad.plots.figures.ground import ground_diagram, moments
from skidpad.plots.figures.sheet import Areas, Arrows, Dots
from skidpad.plots.numbers.bodies import moved, placed
from skidpad.stage import Body, BodyShape, Channel, Stage, Wheel

SQUARE = ((1.0, 0.5), (-1.0, 0.5), (-1.0, -0.5), (1.0, -0.5))


def test_points_are_turned_left_and_shifted():
    found = moved(np.array([[1.0, 0.0], [0.0, 2.0]]), 10.0, 20.0, np.pi / 2.0)
    np.testing.assert_allclose(found, [[10.0, 21.0], [8.0, 20.0]], atol=1e-12)


def test_a_steered_wheel_is_turned_about_its_own_middle():
    wheel = Wheel("fl", 1.0, 0.5, 0.6, 0.2, steer=3)
    names = ("x", "y", "yaw", "steer")
    stage = Stage(
        "one",
        tuple(Channel(name, "m", "car", "state") for name in names),
        (Body("car", "vehicle", (SQUARE,), 0, 1, 2, (wheel,)),),
    )
    (one,) = placed(stage, np.array([5.0, 6.0, np.pi / 2.0, np.pi / 2.0]))
    np.testing.assert_allclose(one.outlines[0].mean(axis=0), [5.0, 6.0], atol=1e-12)
    corners = one.wheels[0]
    np.testing.assert_allclose(corners.mean(axis=0), [4.5, 7.0], atol=1e-12)
    # Turned by half a turn in all: as long along x as it was.
    np.testing.assert_allclose(np.ptp(corners, axis=0), [0.6, 0.2], atol=1e-12)
    assert placed(stage, np.array([5.0, np.nan, 0.0, 0.0])) == []


def test_vehicles_stand_at_equal_distances():
    run = lap()
    times = moments(run, None, 5)
    x, y = (np.interp(times, run.t, run[name]) for name in ("x", "y"))
    # A circle of 10 m radius driven through at a constant rate: equal distances are equal angles.
    np.testing.assert_allclose(np.diff(times), run.duration / 4.0, rtol=1e-6)
    np.testing.assert_allclose(np.hypot(x, y - 10.0), 10.0, rtol=1e-3)


def test_vehicles_stand_so_many_seconds_apart():
    assert moments(lap(), 2.5, 12).tolist() == [0.0, 2.5, 5.0, 7.5, 10.0]


def test_a_parked_car_is_drawn_once():
    run = lap()
    still = tuple(
        c._replace(values=0.0 * c.values) if c.name in ("x", "y") else c for c in run.columns
    )
    assert moments(sp.Trajectory(run.t, still), None, 7).tolist() == [0.0]


def test_outlines_are_where_the_car_was():
    run = lap()
    diagram = ground_diagram(run, BodyShape((SQUARE,)), None, every=5.0)
    (bodies,) = (mark for mark in diagram.marks if isinstance(mark, Areas))
    for time, outline in zip((0.0, 5.0, 10.0), bodies.outlines, strict=True):
        sample = run.at(time)
        np.testing.assert_allclose(outline.mean(axis=0), [sample.x, sample.y], atol=1e-12)
        along = outline[0] - outline[1]
        assert np.arctan2(along[1], along[0]) == pytest.approx(
            np.arctan2(np.sin(sample.yaw), np.cos(sample.yaw))
        )
    assert not any(isinstance(mark, Arrows) for mark in diagram.marks)
    assert any(isinstance(mark, Arrows) for mark in ground_diagram(run, None, None).marks)


def test_cones_of_a_map_are_drawn_and_within_the_picture():
    cones = np.array([[-30.0, 0.0], [30.0, 25.0]])
    track = sp.Map(cones=cones, colours=("blue", "yellow"))
    diagram = ground_diagram(lap(), None, track)
    dots = [m for m in diagram.marks if isinstance(m, Dots) and m.label == ""]
    np.testing.assert_array_equal(np.vstack([np.column_stack([m.x, m.y]) for m in dots]), cones)
    assert diagram.x.low is not None
    assert diagram.x.low < -30.0
    figure = sp.plots.trajectory(lap(), sp.vehicles.formula_student(), map=track)
    assert figure.axes[0].get_title(loc="left") == "Path [m]"
    assert len(figure.axes) > 4


def test_a_trailer_follows_its_hitch():
    truck = sp.vehicles.commonroad_kst()
    sim = sp.Simulator(truck, dt=0.05)
    sim.reset(v=5.0)
    run = sim.run({"steer_rate": 0.0, "a": 0.0}, duration=1.0)
    marks = ground_diagram(run, truck, None, every=1.0).marks
    trailers, tractors, _ = (mark for mark in marks if isinstance(mark, Areas))
    assert len(trailers.outlines) == len(tractors.outlines) == 2
    for trailer, tractor in zip(trailers.outlines, tractors.outlines, strict=True):
        assert trailer[:, 0].mean() < tractor[:, 0].mean()


def test_bad_requests_are_refused():
    run, car = lap(), sp.vehicles.formula_student()
    with pytest.raises(InvalidValue, match="every = 0"):
        sp.plots.path(run, car, every=0.0)
    with pytest.raises(InvalidValue, match="draws 10001 vehicles"):
        sp.plots.path(run, car, every=0.001)
    bare = sp.Trajectory(run.t, tuple(c for c in run.columns if c.name != "yaw"))
    with pytest.raises(InvalidValue, match="yaw is missing"):
        sp.plots.path(bare, car)
    with pytest.raises(InvalidValue, match="needs the columns x and y"):
        sp.plots.path(sp.Trajectory(run.t, run.columns[2:]), car)
