"""Ground with heights and grip on a stage, and how runs lie on it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import skidpad as sp
from skidpad.road import Patch
from skidpad.view.solids import relief_mesh
from skidpad.view.stage import Relief, Stage, relief_of, reliefs_of, road_box
from skidpad.view.stages import WorldStage, trajectory_stage
from skidpad.world.scene import Pose, Scene, VehicleSpec
from world.grounds import grade
from world.worlds import world

NOWHERE = np.empty((0, 2))
HILLS = sp.Road.waves(2.0, 40.0, yaw=0.5).with_grip([Patch(value=0.25, length=10.0, width=6.0)])


def heights(relief: Relief) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z = np.frombuffer(relief.heights, "<u2").reshape(relief.height, relief.width)
    x = relief.x + relief.step * np.arange(relief.width)
    y = relief.y + relief.step * np.arange(relief.height)
    return x, y, relief.low + (relief.high - relief.low) * z / 65535.0


def test_a_relief_has_the_heights_and_the_grip_of_its_road() -> None:
    relief = relief_of(HILLS, (-20.0, -10.0, 30.0, 15.0))
    assert relief is not None
    x, y, z = heights(relief)
    expected = HILLS.height(*np.meshgrid(x, y))
    np.testing.assert_allclose(z, expected, atol=4.0 / 65535.0)
    grip = np.frombuffer(relief.grip, np.uint8).reshape(relief.height, relief.width)
    np.testing.assert_allclose(grip / 255.0, HILLS.grip(*np.meshgrid(x, y)), atol=0.003)
    assert x[-1] == pytest.approx(30.0, abs=relief.step)
    again = Stage.from_json(json.loads(json.dumps(Stage("s", (), (), reliefs=(relief,)).to_json())))
    assert again.reliefs == (relief,)


def test_stages_of_before_have_no_relief() -> None:
    plain = Stage("s", (), ()).to_json()
    del plain["reliefs"]
    assert Stage.from_json(plain).reliefs == ()


def test_level_ground_is_not_drawn() -> None:
    assert relief_of(sp.Road(), (0.0, 0.0, 9.0, 9.0)) is None
    assert relief_of(sp.Road().with_grip(0.5), (0.0, 0.0, 9.0, 9.0)) is not None


@pytest.mark.parametrize(
    ("road", "box"),
    [
        (sp.Road.grid(np.zeros((5, 9)), (1.0, 2.0), 0.5), (1.0, 2.0, 3.0, 6.0)),
        (sp.Road.iso8608("B", length=50.0, yaw=math.pi / 2), (-10.0, -10.0, 10.0, 60.0)),
        (sp.Road.curved(np.zeros(30), 1.0, x=5.0), (-5.0, -10.0, 45.0, 10.0)),
        (sp.Road.plane(0.1), (-40.0, -40.0, 40.0, 40.0)),
    ],
    ids=["lattice", "strip", "curved", "endless"],
)
def test_a_road_is_drawn_where_it_is(road: sp.Road, box: tuple[float, ...]) -> None:
    assert road_box(road, NOWHERE) == pytest.approx(box, abs=2.1)  # lines go on for 2 m


def test_an_endless_road_is_drawn_around_what_stands_on_it() -> None:
    assert road_box(sp.Road.plane(0.1), np.array([[100.0, 0.0], [120.0, 5.0]])) == pytest.approx(
        (60.0, -40.0, 160.0, 45.0)
    )


def test_elevation_maps_and_roads_of_worlds_are_drawn() -> None:
    described = world(grade(0.1, 0.0))
    (relief,) = reliefs_of(described)
    assert (relief.low, relief.high) == pytest.approx((-4.0, 4.0), rel=0.01)
    spec = VehicleSpec("c", Pose(5.0, 0.0), sp.vehicles.commonroad_ks())
    made = sp.World(Scene(vehicles=(spec,)), road=sp.Road.plane(slope=0.2))
    view = WorldStage(made)
    (relief,) = view.stage.reliefs
    assert relief.high - relief.low == pytest.approx(0.2 * 80.0, rel=0.01)
    made.step()
    channels, row = view.stage.body("c").channels, view.row()
    assert row[channels["z"]] == pytest.approx(1.0, abs=0.01)
    assert row[channels["pitch"]] == pytest.approx(-math.atan(0.2))


def test_runs_lie_on_their_road() -> None:
    road = sp.Road.plane(slope=0.1, bank=0.05, yaw=0.4)
    car = sp.vehicles.on_road(sp.vehicles.commonroad_ks(), road)
    sim = sp.Simulator(car, dt=0.01)
    sim.reset(v=5.0, yaw=0.4)
    run = sim.run(duration=1.0)
    stage, _, rows = trajectory_stage({"car": run}, car)
    at = stage.body("car").channels
    np.testing.assert_allclose(rows[:, at["z"]], road.height(run["x"], run["y"]), atol=1e-9)
    np.testing.assert_allclose(rows[:, at["pitch"]], -math.atan(0.1))
    np.testing.assert_allclose(rows[:, at["roll"]], math.atan(0.05 / math.hypot(1.0, 0.1)))
    assert len(stage.reliefs) == 1
    level, _, _ = trajectory_stage({"car": run}, sp.vehicles.commonroad_ks())
    assert level.reliefs == ()
    assert "z" not in level.body("car").channels


def test_the_mesh_of_a_recording_lies_on_the_road() -> None:
    road = sp.Road.plane(slope=0.2, bank=-0.1)
    relief = relief_of(road, (0.0, 0.0, 60.0, 30.0))
    assert relief is not None
    mesh = relief_mesh(relief)
    points, corners = np.array(mesh.points), np.array(mesh.corners).reshape(-1, 3)
    assert len(points) < 17_000
    np.testing.assert_allclose(points[:, 2], road.height(*points[:, :2].T), atol=2e-3)
    # All of it is covered, and all triangles look up.
    a, b, c = (points[corners[:, k]] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    assert (area[:, 2] > 0.0).all()
    assert area[:, 2].sum() == pytest.approx(np.prod(np.ptp(points[:, :2], axis=0)))
