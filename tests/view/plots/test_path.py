"""Paths over ground: vehicles where and as they were."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.geometry.pose import points_to_world
from skidpad.view.plots.runs import DARTS, moments
from skidpad.view.stage import (
    Body,
    BodyShape,
    Channel,
    Disc,
    Grid,
    Line,
    Polygon,
    Stage,
    Wheel,
    place_bodies,
)
from view.plots.drawn import areas, diagrams, labelled, outlines, titles
from view.plots.laps import lap

SQUARE = ((1.0, 0.5), (-1.0, 0.5), (-1.0, -0.5), (1.0, -0.5))


def test_points_are_turned_left_and_shifted():
    places = points_to_world((10.0, 20.0, np.pi / 2.0), np.array([[1.0, 0.0], [0.0, 2.0]]))
    np.testing.assert_allclose(places, [[10.0, 21.0], [8.0, 20.0]], atol=1e-12)


def test_a_steered_wheel_is_turned_about_its_own_middle():
    wheel = Wheel("fl", 1.0, 0.5, 0.6, 0.2, steer=3)
    names = ("x", "y", "yaw", "steer")
    stage = Stage(
        "one",
        tuple(Channel(name, "m", "car", "state") for name in names),
        (Body("car", "vehicle", (SQUARE,), 0, 1, 2, (wheel,)),),
    )
    ((_, one),) = place_bodies(stage, np.array([5.0, 6.0, np.pi / 2.0, np.pi / 2.0]))
    np.testing.assert_allclose(one.world_outlines[0].mean(axis=0), [5.0, 6.0], atol=1e-12)
    corners = one.world_wheels[0]
    np.testing.assert_allclose(corners.mean(axis=0), [4.5, 7.0], atol=1e-12)
    # Turned by half a turn in all: as long along x as it was.
    np.testing.assert_allclose(np.ptp(corners, axis=0), [0.6, 0.2], atol=1e-12)
    assert place_bodies(stage, np.array([5.0, np.nan, 0.0, 0.0])) == []


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
    axes = sp.view.plots.path(run, BodyShape((SQUARE,)), every=5.0).axes[0]
    (bodies,) = areas(axes)
    for time, outline in zip((0.0, 5.0, 10.0), outlines(bodies), strict=True):
        sample = run.at(time)
        np.testing.assert_allclose(outline.mean(axis=0), [sample.x, sample.y], atol=1e-12)
        along = outline[0] - outline[1]
        assert np.arctan2(along[1], along[0]) == pytest.approx(
            np.arctan2(np.sin(sample.yaw), np.cos(sample.yaw))
        )
    assert not darts(axes)


def darts(axes):
    """Places of the marks that are neither start nor end."""
    ends = ("start", "end")
    dots = [line for line in axes.lines if len(line.get_xdata()) == 1]
    return [line.get_xydata()[0] for line in dots if line.get_label() not in ends]


def test_darts_point_where_the_car_points_at_equal_distances():
    run = lap()
    axes = sp.view.plots.path(run).axes[0]
    places = np.array(darts(axes))
    assert len(places) == DARTS
    # Equal distances on a circle of 10 m radius are equal angles, but for the samples' spacing.
    angles = np.unwrap(np.arctan2(places[:, 0], 10.0 - places[:, 1]))
    np.testing.assert_allclose(np.diff(angles), 5.0 / DARTS, atol=0.03)


def test_a_path_coloured_by_speed_carries_the_speeds():
    run = lap()
    axes, bar = sp.view.plots.path(run).axes
    (line,) = axes.collections
    middles = 0.5 * (run["v_x"][1:] + run["v_x"][:-1])
    np.testing.assert_allclose(line.get_array(), middles, rtol=1e-15)
    assert line.get_clim() == (5.0, 6.0)
    assert bar.get_ylabel() == "speed [m/s]"
    segments = np.array(line.get_segments())
    np.testing.assert_array_equal(segments[:, 0, 0], run["x"][:-1])
    np.testing.assert_array_equal(segments[:, 1, 1], run["y"][1:])


def test_a_long_path_has_few_pieces_and_keeps_its_end():
    run = lap(20_001)
    pieces = sp.view.plots.path(run).axes[0].collections[0].get_segments()
    assert 3000 < len(pieces) <= 4001
    assert pieces[-1][-1].tolist() == [run["x"][-1], run["y"][-1]]


def test_cones_of_a_map_are_drawn_and_within_the_picture():
    cones = np.array([[-30.0, 0.0], [30.0, 25.0]])
    track = sp.Map(cones=cones, colours=("blue", "yellow"))
    axes = sp.view.plots.path(lap(), map=track).axes[0]
    dots = [c.get_offsets() for c in axes.collections if isinstance(c, PathCollection)]
    np.testing.assert_array_equal(np.vstack(dots[1:]), cones)
    assert axes.get_xlim()[0] < -30.0
    assert axes.get_xlim()[1] > 30.0
    figure = sp.view.plots.trajectory(lap(), sp.vehicles.formula_student(), map=track)
    assert titles(figure)[0] == "Path [m]"
    assert len(diagrams(figure)) == 7


def test_what_stands_on_a_stage_is_drawn_and_within_the_picture():
    cells = np.zeros((2, 5), np.uint8)
    cells[0, 1:4], cells[1, 0] = 255, 128
    stage = Stage(
        "ground",
        (),
        (),
        lines=(Line(((0.0, 0.0), (40.0, 0.0)), "centre", "#112233"),),
        polygons=(Polygon(((1.0, 1.0), (2.0, 1.0), (2.0, 2.0)), "wall", "no colour"),),
        discs=(Disc(5.0, -30.0, 0.15, "cone", ""), Disc(6.0, -30.0, 0.15, "cone", "")),
        grids=(Grid(10.0, 20.0, 0.5, 5, 2, cells.tobytes()),),
    )
    axes = sp.view.plots.path(lap(), map=stage).axes[0]
    (wall,) = areas(axes)
    np.testing.assert_array_equal(outlines(wall), [stage.polygons[0].points])
    line = next(each for each in axes.lines if each.get_color() == "#112233")
    assert line.get_xydata().tolist() == [[0.0, 0.0], [40.0, 0.0]]
    cones = next(each for each in axes.lines if len(each.get_xdata()) == 2 and each is not line)
    assert cones.get_xydata().tolist() == [[5.0, -30.0], [6.0, -30.0]]
    (picture,) = axes.images
    np.testing.assert_array_equal(picture.get_array()[..., 3] > 0.0, cells == 255)
    corners = picture.get_transform() - axes.transData
    np.testing.assert_allclose(corners.transform([[0.0, 0.0], [2.5, 1.0]]), [[10, 20], [12.5, 21]])
    assert axes.get_ylim()[0] < -30.0


def test_a_trailer_follows_its_hitch():
    truck = sp.vehicles.commonroad_kst()
    sim = sp.Simulator(truck, dt=0.05)
    sim.reset(v=5.0)
    run = sim.run({"steer_rate": 0.0, "a": 0.0}, duration=1.0)
    trailers, tractors, _ = map(outlines, areas(sp.view.plots.path(run, truck, every=1.0).axes[0]))
    assert len(trailers) == len(tractors) == 2
    for trailer, tractor in zip(trailers, tractors, strict=True):
        assert trailer[:, 0].mean() < tractor[:, 0].mean()


def test_start_and_end_are_marked():
    run = lap()
    axes = sp.view.plots.path(run, title="").axes[0]
    for label, k in (("start", 0), ("end", -1)):
        assert labelled(axes, label).get_xydata().tolist() == [[run["x"][k], run["y"][k]]]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_aspect()) == ("x", "y", 1.0)


def test_bad_requests_are_refused():
    run, car = lap(), sp.vehicles.formula_student()
    with pytest.raises(InvalidValue, match="every = 0"):
        sp.view.plots.path(run, car, every=0.0)
    with pytest.raises(InvalidValue, match="draws 10001 vehicles"):
        sp.view.plots.path(run, car, every=0.001)
    bare = sp.Trajectory(run.t, tuple(c for c in run.columns if c.name != "yaw"))
    with pytest.raises(InvalidValue, match="to draw a vehicle yaw"):
        sp.view.plots.path(bare, car)
    with pytest.raises(InvalidValue, match="needs the columns x and y"):
        sp.view.plots.path(sp.Trajectory(run.t, run.columns[2:]), car)
