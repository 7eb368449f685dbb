"""Pictures of a moment: what is where on them, never how a whole one looks."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.arrays import Array
from skidpad.core.body import Pose, box
from skidpad.errors import InvalidValue, MissingExtra
from skidpad.geometry.maps import Grid
from skidpad.geometry.polygon import distances, enclosed
from skidpad.geometry.pose import points_to_world, relative
from skidpad.vehicles import wheeled
from skidpad.vehicles.twin_track.trailers import DOLLY, SEMI_TRAILER, TRACTOR
from skidpad.view import colours, frames
from skidpad.view.frames import FramePainter
from skidpad.view.stage import Line, PlacedUnit, PlacedVehicle, Polygon, Wheel, place_vehicle
from skidpad.view.stages import trajectory_stage

SIZE = (320, 240)
CENTRE, SCALE = (100.0, -50.0), 16.0
RED = "#ff0000"
PAGE = Path(sp.__file__).parent / "view" / "pages" / "replay"


def places(size: tuple[int, int] = SIZE, scale: float = SCALE) -> Array:
    """Where in the world the middles of the pixels are, (height, width, 2), about `CENTRE`."""
    width, height = size
    x = CENTRE[0] + (np.arange(width) + 0.5 - 0.5 * width) / scale
    y = CENTRE[1] - (np.arange(height) + 0.5 - 0.5 * height) / scale
    return np.stack(np.meshgrid(x, y), axis=-1, dtype=np.float64)


def pixels_to(segments: Array) -> Array:
    """How far the middles of the pixels are from the nearest of some segments, in pixels."""
    away = distances(places().reshape(-1, 2), segments).min(axis=1)
    return SCALE * away.reshape(SIZE[::-1])


def frame(painter: FramePainter, *vehicles: PlacedVehicle, **options: Any) -> Any:
    view: dict[str, Any] = {"centre": CENTRE, "scale": SCALE}
    return painter.frame(vehicles, **view | options)


def bare(x: float, y: float, yaw: float = 0.0, colour: str = RED) -> PlacedVehicle:
    """A vehicle of 4 m by 2 m without wheels."""
    return PlacedVehicle(PlacedUnit(Pose(x, y, yaw), (box(-1.0, 3.0, 2.0),)), colour=colour)


def is_colour(pixels: Any, colour: str) -> Any:
    return (pixels == np.rint(colours.rgb(colour)).astype(np.uint8)).all(axis=-1)


def standing(vehicle: sp.Vehicle, **values: float) -> Any:
    return record.build(vehicle.State, base=record.at_rest(vehicle.State), **values)


def test_walls_colour_the_pixels_that_they_cross_and_no_others() -> None:
    walls = np.array([[96.0, -52.0, 103.0, -47.5], [98.0, -55.0, 98.0, -45.0]])
    found, empty = frame(FramePainter(walls, size=SIZE)), frame(FramePainter(size=SIZE))
    away = pixels_to(walls)
    assert is_colour(found, colours.WALL)[away < 0.25].all()
    # Half the width of a wall, and half the diagonal of a pixel.
    changed = (found != empty).any(axis=-1)
    assert not changed[away > 1.8].any()
    assert changed[away < 1.0].all()


def test_a_vehicle_covers_its_outline_at_its_pose() -> None:
    car = bare(*CENTRE, yaw=0.5)
    found, empty = frame(FramePainter(size=SIZE), car), frame(FramePainter(size=SIZE))
    points = places().reshape(-1, 2)
    ring = points_to_world(car.vehicle.pose, np.array(car.vehicle.outlines[0]))
    edges = np.hstack([ring, np.roll(ring, -1, axis=0)])
    inside = enclosed(points, ring).reshape(SIZE[::-1])
    depth = pixels_to(edges)
    deep = inside & (depth > 3.0)
    # The body, and the white mark that shows its front.
    red = is_colour(found, RED)
    assert deep.sum() > 1000
    assert red[deep].mean() > 0.8
    assert not red[~inside].any()
    # Its shadow falls to the lower right, 5 % of the width away.
    assert (found == empty)[~inside & (depth > 4.0)].all()


def test_the_mark_is_at_the_front() -> None:
    middle = bare(0.0, 0.0)
    for yaw, axis, sign in [(0.0, 1, 1), (np.pi, 1, -1), (np.pi / 2, 0, -1), (-np.pi / 2, 0, 1)]:
        turned = replace(middle, vehicle=replace(middle.vehicle, pose=Pose(0.0, 0.0, yaw)))
        found = FramePainter(size=(201, 201)).frame([turned], scale=20.0)
        red, white = is_colour(found, RED), is_colour(found, "#ffffff")
        ahead = np.argwhere(white).mean(axis=0) - np.argwhere(red).mean(axis=0)
        assert sign * ahead[axis] > 10.0, yaw


def test_a_quarter_turn_of_a_vehicle_turns_its_picture() -> None:
    car = sp.vehicles.single_track()
    painter = FramePainter(size=(240, 240))
    empty = painter.frame(centre=(0.0, 0.0), scale=30.0)
    looked = [
        painter.frame(
            [place_vehicle(car, standing(car, yaw=k * np.pi / 2, steer=0.3), colour=RED)],
            centre=(0.0, 0.0),
            scale=30.0,
        )
        for k in range(4)
    ]
    assert (looked[0] != empty).any()
    for k, turned in enumerate(looked):
        expected = np.rot90(looked[0], k)
        # Where no shadow lies and no line of the ground.
        for colour in (RED, colours.WHEEL):
            differs = is_colour(expected, colour) != is_colour(turned, colour)
            assert differs.mean() < 5e-4, (k, colour)


def test_left_is_left() -> None:
    """What a vehicle that drives to the right has to its left is above it."""
    painter = FramePainter(cones=[(3.0, 2.0), (3.0, -2.0)], cone_colours=["blue", "yellow"])
    found = painter.frame([bare(0.0, 0.0)])
    blue = np.argwhere(is_colour(found, colours.CONES["blue"])).mean(axis=0)
    yellow = np.argwhere(is_colour(found, colours.CONES["yellow"])).mean(axis=0)
    assert blue[0] < 240 < yellow[0]
    assert blue[1] > 320
    assert yellow[1] > 320


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_is_drawn(name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    assert_drawn_in_the_middle(vehicle)


@pytest.mark.parametrize(
    "vehicle",
    [
        wheeled.vehicle(wheeled.differential()),
        wheeled.vehicle(wheeled.ackermann()),
        sp.vehicles.commonroad_kst(parameters=4),
    ],
    ids=["differential", "ackermann", "truck"],
)
def test_robots_and_trucks_are_drawn(vehicle: sp.Vehicle) -> None:
    assert_drawn_in_the_middle(vehicle)


def assert_drawn_in_the_middle(vehicle: sp.Vehicle) -> None:
    one = place_vehicle(vehicle, record.at_rest(vehicle.State), colour=RED)
    painter = FramePainter(size=SIZE)
    found = painter.frame([one])
    rows, columns = np.nonzero(is_colour(found, RED))
    assert rows.size > 50
    # Half as wide as the vehicle, in pixels; it points to the right.
    across = [y for outline in vehicle.geometry.outlines for _, y in outline]
    along = [x for outline in vehicle.geometry.outlines for x, _ in outline]
    scale = np.ptp(columns) / (max(along) - min(along))
    assert np.ptp(rows) <= scale * (max(across) - min(across)) * 1.1 + 2.0
    middle = scale * 0.5 * (max(along) + min(along)) + 160
    assert abs(0.5 * (columns.min() + columns.max()) - middle) < 3.0


def test_trailers_hang_where_a_stage_has_them() -> None:
    truck = sp.vehicles.commonroad_kst(parameters=4)
    sim = sp.Simulator(truck, dt=0.01)
    sim.reset(x=3.0, y=-2.0, yaw=0.7, v=3.0, steer=0.3, hitch=-0.4)
    run = sim.run(duration=0.5)
    stage, _, rows = trajectory_stage({"truck": run}, truck)
    body, trailer = stage.bodies
    one = place_vehicle(truck, sim.state)
    for unit, at in zip(one.units, (body, trailer), strict=True):
        np.testing.assert_allclose(unit.pose, rows[-1, [at.x, at.y, at.yaw]], rtol=1e-12)
        assert unit.outlines == at.outlines


def test_a_road_train_bends_at_each_hitch() -> None:
    chain = (SEMI_TRAILER, DOLLY, SEMI_TRAILER._replace(behind=0.0))
    train = sp.vehicles.two_track(**TRACTOR, trailers=chain)
    one = place_vehicle(train, standing(train, yaw=0.2, hitch_1=-0.3, hitch_2=0.1, hitch_3=0.4))
    yaws = [unit.pose.yaw for unit in one.units]
    np.testing.assert_allclose(yaws, np.cumsum([0.2, -0.3, 0.1, 0.4]))
    ahead: Any = one.vehicle
    for unit, trailer in zip(one.trailers, train.geometry.trailers, strict=True):
        hitch = points_to_world(ahead.pose, np.array([trailer.hitch_x, 0.0]))
        behind = relative(unit.pose, (*hitch, 0.0))
        np.testing.assert_allclose(behind[:2], (trailer.drawbar, 0.0), atol=1e-12)
        ahead = unit
    found = FramePainter(size=SIZE).frame([replace(one, colour=RED)])
    assert is_colour(found, RED).any()


def test_wheels_turn_as_state_outputs_and_input_say() -> None:
    bicycle = sp.vehicles.single_track()
    angles = {
        w.name: w.yaw for w in place_vehicle(bicycle, standing(bicycle, steer=0.2)).vehicle.wheels
    }
    assert angles == {"fl": 0.2, "fr": 0.2, "rl": 0.0, "rr": 0.0}
    # This one tells the angle of each wheel among its outputs.
    car = sp.vehicles.two_track()
    x = standing(car, steer=0.2)
    told = car.outputs(x, record.at_rest(car.Input))
    wheels = {w.name: w.yaw for w in place_vehicle(car, x).vehicle.wheels}
    assert (wheels["fl"], wheels["fr"]) == (told.steer_fl, told.steer_fr)
    assert wheels["fl"] > 0.0
    # The state may be given as an array, the input by name.
    assert place_vehicle(car, np.array(record.flatten(x)), u={"steer": 0.2}) == place_vehicle(
        car, x
    )


def test_a_steered_wheel_is_seen_at_its_angle() -> None:
    """Along its axis there is rubber, and across it there is none."""
    wheel = Wheel("only", 0.0, 0.0, 2.0, 0.6, yaw=np.pi / 3)
    one = PlacedVehicle(PlacedUnit(Pose(*CENTRE, np.pi / 6), (box(-2.0, 2.0, 2.0),), (wheel,)))
    rubber = is_colour(frame(FramePainter(size=SIZE), one), colours.WHEEL)
    rows, columns = np.nonzero(rubber)
    assert np.ptp(rows) == pytest.approx(2.0 * SCALE, abs=3.0)
    assert np.ptp(columns) == pytest.approx(0.6 * SCALE, abs=3.0)


def test_other_parameters_give_another_shape() -> None:
    car = sp.vehicles.single_track()
    long = car.with_params(l_f=2.0)
    at = record.at_rest(car.State)
    assert place_vehicle(car, at, long.params) == place_vehicle(long, at) != place_vehicle(car, at)


def test_the_same_moment_gives_the_same_bytes() -> None:
    walls = np.array([[96.0, -52.0, 103.0, -47.5]])
    car = sp.vehicles.four_wheel()
    one = place_vehicle(car, standing(car, x=99.0, y=-50.0, yaw=0.3))
    hits = np.random.default_rng(0).uniform(90.0, 110.0, (50, 2)) - (0.0, 150.0)
    painter = FramePainter(walls, size=SIZE)
    first = painter.frame([one], lidar=hits, text="1")
    kept = first.copy()
    painter.frame([replace(one, colour=RED)], text="2", scale=5.0)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(painter.frame([one], lidar=hits, text="1"), kept)
    again = FramePainter(walls, size=SIZE).frame([one], lidar=hits, text="1")
    np.testing.assert_array_equal(again, kept)


@pytest.mark.parametrize("size", [(1, 1), (7, 300), (640, 480)])
def test_frames_have_the_size_that_was_asked_for(size: tuple[int, int]) -> None:
    found = FramePainter([[-5.0, 1.0, 5.0, 1.0]], size=size).frame([bare(0.0, 0.0)], text="v")
    assert found.shape == (size[1], size[0], 3)
    assert found.dtype == np.uint8
    assert found.flags.writeable


def test_the_view_follows_the_first_vehicle() -> None:
    found = FramePainter(size=SIZE).frame([bare(1e6, -3e5), bare(0.0, 0.0)])
    rows, columns = np.nonzero(is_colour(found, RED))
    assert abs(rows.mean() - 120) < 3.0
    assert abs(columns.mean() - 160) < 0.2 * 320


def test_a_picture_is_as_wide_as_suits_the_vehicle() -> None:
    """About 40 m around a car and 8 m around a robot: by the width of what is painted."""
    for length, width in [(4.5, 40.0), (0.4, 8.0), (0.9, 8.0), (20.0, 60.0)]:
        one = PlacedVehicle(
            PlacedUnit(Pose(0.0, 0.0, 0.0), (box(0.0, length, 0.5 * length),)), colour=RED
        )
        columns = np.nonzero(is_colour(FramePainter().frame([one]), RED))[1]
        assert np.ptp(columns) == pytest.approx(640 * length / width, abs=5.0)


def test_without_vehicles_everything_is_seen() -> None:
    walls = np.array([[-100.0, 0.0, 300.0, 0.0], [0.0, -40.0, 0.0, 80.0]])
    rows, columns = np.nonzero(is_colour(FramePainter(walls).frame(), colours.WALL))
    assert np.ptp(columns) == pytest.approx(0.9 * 640, abs=4.0)
    assert np.ptp(rows) == pytest.approx(0.9 * 640 * 120.0 / 400.0, abs=4.0)
    assert FramePainter().frame().shape == (480, 640, 3)


def test_what_stands_still_looks_the_same_while_the_view_moves() -> None:
    """Moved by whole pixels, however little the vehicle moves."""
    walls = np.array([[96.0, -52.0, 103.0, -47.5]])
    painter = FramePainter(walls, cones=[(99.3, -48.2)], size=SIZE)
    first = frame(painter)
    right = frame(painter, centre=(CENTRE[0] + 3.2 / SCALE, CENTRE[1]))
    np.testing.assert_array_equal(right[:, :-3], first[:, 3:])
    up = frame(painter, centre=(CENTRE[0], CENTRE[1] + 1.9 / SCALE))
    np.testing.assert_array_equal(up[2:], first[:-2])


def test_lidar_hits_are_seen_where_they_are() -> None:
    hits = np.array([[98.0, -48.0], [np.nan, 0.0], [np.inf, -np.inf], [103.0, -53.5]])
    echo = is_colour(frame(FramePainter(size=SIZE), lidar=hits), colours.ECHO)
    away = np.min([np.abs(places() - hits[k]).max(axis=-1) for k in (0, 3)], axis=0)
    assert echo[SCALE * away <= 0.5].all()
    assert not echo[SCALE * away > 2.0].any()


@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_cells_of_a_grid_are_seen_where_they_are(yaw: float) -> None:
    rng = np.random.default_rng(1)
    occupied, unknown = rng.random((12, 16)) < 0.3, rng.random((12, 16)) < 0.3
    grid = Grid(occupied, 0.5, (96.0, -54.0, yaw), unknown & ~occupied)
    found = frame(FramePainter(grid=grid, size=SIZE))
    cells = grid.cell_of(places().reshape(-1, 2)).reshape(*SIZE[::-1], 2)
    within: Any = ((cells >= 0) & (cells < grid.shape)).all(axis=-1)
    row, column = np.moveaxis(np.where(within[..., None], cells, 0), -1, 0)
    np.testing.assert_array_equal(
        is_colour(found, colours.OCCUPIED), within & grid.occupied[row, column]
    )
    known = grid.unknown
    assert known is not None
    np.testing.assert_array_equal(is_colour(found, colours.UNKNOWN), within & known[row, column])
    empty = frame(FramePainter(size=SIZE))
    np.testing.assert_array_equal(found[~within], empty[~within])


def test_thin_walls_of_a_grid_do_not_vanish_from_afar() -> None:
    occupied = np.zeros((1000, 1000), np.bool_)
    occupied[500] = True
    grid = Grid(occupied, 0.05, (75.0, -75.0, 0.0))
    found = frame(FramePainter(grid=grid, size=SIZE), scale=2.0)
    darkest = found[:, 120:200].min(axis=0).max()
    assert darkest < 0.75 * colours.rgb(colours.FREE).min()


def test_a_map_shows_its_lane_walls_and_cones() -> None:
    s = np.linspace(0.0, 20.0, 41)
    rows = np.column_stack([s, 90.0 + s, np.full(41, -50.0), 0 * s, 0 * s, np.full(41, 2.0)])
    ring = [(104.0, -47.0), (108.0, -47.0), (108.0, -44.0), (104.0, -44.0)]
    hole = [(105.0, -46.0), (107.0, -46.0), (107.0, -45.0), (105.0, -45.0)]
    cone = np.array([98.0, -52.0])
    angles = np.arange(8) * np.pi / 4
    octagon = cone + 0.114 * np.column_stack([np.cos(angles), np.sin(angles)])
    solid = sp.Map.from_polygons([[ring, hole], octagon])
    ground = replace(solid, cones=cone[None], colours=("blue",), centre_line=rows)
    painter = FramePainter.of_map(ground, size=SIZE)
    found, at = frame(painter), places()

    def seen(x0: float, y0: float, x1: float, y1: float) -> Array:
        return found[((at > (x0, y0)) & (at < (x1, y1))).all(axis=-1)]

    assert is_colour(seen(91.0, -51.8, 97.0, -48.2), colours.LANE).all()
    assert is_colour(seen(104.2, -46.8, 104.8, -44.2), colours.WALL).all()
    assert not is_colour(seen(105.2, -45.8, 106.8, -45.2), colours.WALL).any()
    # Its edges are walls to those who drive, and no ring around the cone to those who look.
    near = seen(97.7, -52.3, 98.3, -51.7)
    assert is_colour(near, colours.CONES["blue"]).any()
    assert not is_colour(near, colours.WALL).any()


def test_regions_let_the_ground_through_and_dashes_leave_gaps() -> None:
    patch = Polygon(tuple(box(96.0, 100.0, 4.0)), "region")
    patch = replace(patch, points=tuple((x, y - 50.0) for x, y in patch.points))
    y = -55.0 + 0.5 / SCALE  # The middle of a row of pixels.
    line = Line(((91.0, y), (109.0, y)), "centre")
    found = frame(FramePainter(polygons=[patch], lines=[line], size=SIZE))
    empty = frame(FramePainter(size=SIZE))
    at = places()
    inside = (np.abs(at - (98.0, -50.0)) < 1.8).all(axis=-1)
    mixed = empty + 0.12 * (colours.rgb(colours.REGION) - empty)
    np.testing.assert_allclose(found[inside], mixed[inside], atol=0.51)
    along = (np.abs(at - (100.0, y)) < (8.5, 0.4 / SCALE)).all(axis=-1)
    share = (found != empty).any(axis=-1)[along].mean()
    assert share == pytest.approx(10.0 / 18.0, abs=0.12)


def test_text_stands_in_the_upper_left_corner() -> None:
    painter = FramePainter(size=SIZE)
    plain, written = frame(painter), frame(painter, text="12.3 m/s\n\nlap 2")
    rows, columns = np.nonzero((plain != written).any(axis=-1))
    assert rows.max() < 80
    assert columns.max() < 100
    assert (written[:80, :100] < 60).any()
    frame(painter, text="   ")
    frame(painter, text="far too long for a picture " * 20)


def test_only_text_needs_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    frames.font.cache_clear()
    monkeypatch.setitem(sys.modules, "PIL.ImageFont", None)
    painter = FramePainter([[0.0, 0.0, 1.0, 1.0]], size=SIZE)
    frame(painter, bare(*CENTRE))
    with pytest.raises(MissingExtra, match=r"Text on a picture needs PIL.*skidpad\[maps\]"):
        frame(painter, text="v")


def test_far_vehicles_are_drawn_small_but_seen() -> None:
    cars = [bare(95.0 + 2.0 * k, -50.0) for k in range(5)]
    for scale in (20.0, 5.0, 1.0, 0.05):
        assert is_colour(frame(FramePainter(size=SIZE), *cars, scale=scale), RED).sum() >= 5
    point = PlacedVehicle(PlacedUnit(Pose(*CENTRE, 0.0), (((0.0, 0.0),) * 3,)))
    frame(FramePainter(size=SIZE), point)
    beside = frame(FramePainter(size=SIZE), bare(150.0, -50.0))
    np.testing.assert_array_equal(beside, frame(FramePainter(size=SIZE)))


def test_the_first_vehicle_is_on_top_and_each_has_its_colour() -> None:
    first, second = bare(*CENTRE, colour=""), bare(*CENTRE, colour="")
    found = frame(FramePainter(size=SIZE), first, second)
    assert is_colour(found, colours.VEHICLES[0]).sum() > 500
    assert not is_colour(found, colours.VEHICLES[1]).any()
    apart = frame(FramePainter(size=SIZE), first, bare(94.0, -50.0, colour=""))
    assert is_colour(apart, colours.VEHICLES[1]).sum() > 500


def test_colours_are_those_of_the_page() -> None:
    style = (PAGE / "page.css").read_text().split('[data-theme="dark"]')[0]
    page = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+);", style))
    names = (
        "ground grid grid-strong wall wall-edge block block-edge region accent lane boundary "
        "reference wheel wheel-edge free unknown occupied echo ink surface"
    )
    for name in names.split():
        assert getattr(colours, name.upper().replace("-", "_")) == page[name], name
    for name in ("glass", "shadow"):
        colour, opacity = (getattr(colours, name.upper() + end) for end in ("", "_OPACITY"))
        assert f"{colour}{round(255 * opacity):02x}" == page[name]
    lines = re.search(r"light: \[(.*?)\]", (PAGE / "colours.js").read_text())
    assert lines is not None
    assert tuple(re.findall(r"#[0-9a-f]{6}", lines[1])) == colours.VEHICLES


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": (0, 480)}, "width of size = 0 must be from 1 to 8192 pixels"),
        ({"size": (640, -1)}, "height of size = -1 must be"),
        ({"size": (640, 9000)}, "height of size = 9000 must be"),
        ({"size": (640.5, 480)}, "width of size = 640.5 must be a whole number"),
        ({"size": 640}, "size = 640 must be width and height"),
        ({"walls": [[0.0, 0.0, 1.0]]}, r"segments has shape \(1, 3\)"),
        ({"walls": [[0.0, 0.0, np.nan, 1.0]]}, "segment 0.*must be finite"),
        ({"grid": np.zeros((3, 3))}, "grid must be a Grid or None, got a ndarray"),
        ({"cones": [(0.0, 0.0)], "cone_colours": ["pink"]}, "colour = 'pink' must be"),
        ({"cones": [(0.0, 0.0)], "cone_colours": ["blue"] * 2}, "1 cones have 2 colours"),
        ({"lines": [Line(((0.0, 0.0), (1.0, 0.0)), "wavy")]}, "kind = 'wavy' is unknown"),
    ],
)
def test_bad_scenery_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        FramePainter(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"centre": (0.0, np.inf)}, "y of centre = inf m must be finite"),
        ({"centre": (2e9, 0.0)}, "x of centre = 2000000000.0 m must be from"),
        ({"centre": 3.0}, "centre = 3.0 must be two numbers"),
        ({"scale": 0.0}, "scale = 0.0 pixels/m must be from 0.001 to 100000"),
        ({"scale": np.nan}, "scale = nan pixels/m must be finite"),
        ({"lidar": np.zeros(5)}, r"lidar has shape \(5,\); allowed is \(n, 2\)"),
        (
            {"vehicles": [sp.vehicles.four_wheel]},
            r"vehicles must be PlacedVehicle.*view\.place_vehicle",
        ),
    ],
)
def test_bad_views_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        FramePainter(size=SIZE).frame(**options)


def test_vehicles_that_are_nowhere_are_refused() -> None:
    car = sp.vehicles.four_wheel()
    state = record.at_rest(car.State)
    with pytest.raises(InvalidValue, match=r"yaw = nan.*must be finite"):
        place_vehicle(car, state._replace(yaw=np.nan))
    with pytest.raises(InvalidValue, match=r"x = inf.*must be finite"):
        place_vehicle(car, state._replace(x=np.inf))
    with pytest.raises(InvalidValue, match=r"place \(1e\+12, 0\) .* within 1e\+09 m"):
        place_vehicle(car, state._replace(x=1e12))
    with pytest.raises(InvalidValue, match="y = nan of a vehicle must be finite"):
        bare(0.0, np.nan)
    with pytest.raises(InvalidValue, match="colour = 'red' must be of the form #rrggbb"):
        place_vehicle(car, state, colour="red")
