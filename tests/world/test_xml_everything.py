"""A world that uses every element of the format, value by value."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from skidpad.control.pid import Form, Gains
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts.wheel_friction import Ellipse, Friction, Splits, WardIagnemma
from skidpad.vehicles.wheeled.description import (
    FRICTIONS,
    Chassis,
    Description,
    Drivetrain,
    Wheel,
    default_description,
)
from skidpad.world import scene as described
from skidpad.world.scene import SENSORS, Scene, WorldWarning, ranges, written
from skidpad.world.xml import load
from skidpad.world.xml.reader import PICTURES, READERS
from skidpad.world.xml.shapes import GEOMETRIES
from skidpad.world.xml.vehicles import CLASSES, FRICTION_TAGS
from world.worlds import WORLDS

FILE = WORLDS / "everything.world.xml"
RECORDS = (
    *(described.Settings, described.Georeference, described.BlockSpec, described.ActorSpec),
    *(described.JointSpec, described.HorizontalPlane, described.VerticalPlane),
    *(described.PropertyRegion, described.OccupancyGrid, described.Opening),
    *SENSORS.values(),
)
TUPLES = (Gains, Splits, *FRICTIONS.values())


@pytest.fixture(scope="module")
def scene() -> Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return load(FILE)


def texts() -> str:
    return "".join(file.read_text("utf-8") for file in [FILE, *(WORLDS / "parts").glob("*.xml")])


def test_the_world_uses_every_tag_and_every_class() -> None:
    used = set(re.findall(r"[<\s]([\w:]+)(?=[\s=/>])", texts()))
    tags = {how.tags[0] for record in RECORDS for how in written(record).values()}
    tags |= {FRICTION_TAGS.get(name, name) for record in TUPLES for name in ranges(record)}
    tags |= {tag for wheels in CLASSES.values() for tag in wheels}
    assert not tags - used
    classes = set(re.findall(r"(?:class|type)=\"([\w:]+)\"", texts()))
    known = {*CLASSES, *SENSORS, *READERS, *PICTURES, *GEOMETRIES, *FRICTIONS}
    # Roads are skidpad's own: tests/world/test_road_worlds.py.
    assert not known - classes - {"road"}


def test_settings(scene: Scene) -> None:
    assert scene.settings == described.Settings(
        gravity=9.8,
        timestep=0.0,
        velocity_iterations=10,
        position_iterations=5,
        collision_threshold=0.02,
        joystick_enabled=True,
        server_address="127.0.0.1",
        save_to_rawlog="",
        rawlog_odometry_rate=20.0,
        save_ground_truth_trajectory="truth.txt",
        ground_truth_rate=25.0,
        max_slope_to_collide=0.4,
        min_slope_to_collide=-50.0,
    )
    # The shortest period of a sensor is below upstream's 5 ms.
    assert scene.timestep == 0.004
    assert scene.georeference == described.Georeference(36.8, -2.4, 12.0, math.pi / 2.0, False, 30)
    assert scene.gui["follow_vehicle"] == "car"
    assert scene.lights == {"enable_shadows": "false"}
    assert scene.variables["N"] == "3"


def test_a_robot_from_its_class(scene: Scene) -> None:
    robot = scene.vehicles[0]
    wheels = tuple(Wheel(0.0, y, 0.0, 0.2, 0.06, 1.5) for y in (0.25, -0.25))
    gains = Gains(KP=5.0, KI=2.0, max_torque=8.0)
    start = {"v": 0.5, "omega": math.radians(10.0)}
    shape = ((0.3, -0.2), (0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2))
    assert robot.shape is not None
    assert robot.shape.outline == shape
    assert robot.dynamics == default_description(
        "differential",
        chassis=Chassis(12.0, shape, 0.05, 0.4, 0.2, 0.3),
        wheels=wheels,
        control=wheeled.Control("twist_pid", gains, set_point=start),
        friction=Friction(0.7, 0.02, 0.01),
        gravity=9.8,
    )
    assert robot.pose == described.Pose(1.0, 2.0, yaw=math.radians(45.0))
    assert robot.velocity == described.Velocity(0.5, 0.0, math.radians(30.0), "body")
    assert robot.odometry == described.Odometry(1.01, 1.02, 0.97)
    assert robot.skip_elevation_adjust
    assert robot.log_path == "logs"
    assert robot.auto_start_recording
    assert robot.class_name == "bot"
    assert robot.publish == described.Publish(True, "/a/pose", 0.05, "/near", ("car", "crate"))
    front, rear = robot.sensors
    assert (front.name, front.pose, front.publish_topic) == (
        "front",
        described.Pose(0.2, 0.0, 0.3),
        "/a/front",
    )
    assert (rear.name, rear.pose.yaw, rear.publish_topic) == ("rear", math.pi, "/a/rear")


def test_the_other_wheeled_vehicles(scene: Scene) -> None:
    three, four, car, plain = (v.dynamics for v in scene.vehicles[1:5])
    assert isinstance(three, Description)
    assert isinstance(four, Description)
    assert three.wheels[2] == Wheel(0.3, 0.0, 0.0, 0.1, 0.03, 0.5)
    assert three.control == wheeled.Control("twist_ideal")
    assert four.wheels[0] == Wheel(-0.2, 0.25, math.radians(5.0), 0.2, 0.05, 1.0, 0.02)
    assert four.friction == Ellipse(0.2, 0.02, 6.0, 9.0, 0.15, 0.12, 0.4, 0.3)
    assert four.friction_circle
    rear = tuple(Wheel(0.0, y, 0.0, 0.6, 0.2, 8.0) for y in (0.8, -0.8))
    front = tuple(Wheel(2.4, y, 0.0, 0.6, 0.2, 8.0) for y in (0.8, -0.8))
    gains = Gains(300.0, 20.0, 1.0, 15.0, 600.0, 0.2, 0.9, 0.002, 0.04)
    form = Form(filtered_derivative=True, anti_windup=True, reference_order=2, feed_forward=True)
    start = {"v": 3.0, "steer": math.radians(5.0)}
    assert car == default_description(
        "ackermann_drivetrain",
        wheels=(*rear, *front),
        steer_max=math.radians(35.0),
        drivetrain=Drivetrain("torsen_rear", Splits(0.4, 1.6, 0.45, 1.7, 0.55, 2.0)),
        control=wheeled.Control("front_steer_pid", gains, form, start),
        friction=WardIagnemma(0.9, 0.3, 0.015, 40.0, 0.008, 0.03),
        loads="static",
        gravity=9.8,
    )
    # Torques in files are negative forward.
    raw = {"tau_fl": 10.0, "tau_fr": 12.0, "steer": math.radians(3.0)}
    assert plain == wheeled.ackermann(control=wheeled.Control("raw", set_point=raw), gravity=9.8)
    assert scene.vehicles[4].name == "veh1"
    assert scene.vehicles[1].pose == described.Pose(0.0, 5.0, 0.1, math.pi / 2.0)


def test_every_wheeled_vehicle_can_be_built(scene: Scene) -> None:
    for spec in scene.vehicles:
        if isinstance(spec.dynamics, Description):
            assert wheeled.vehicle(spec.dynamics).model.name == spec.dynamics.kind


def test_a_vehicle_of_skidpads_own(scene: Scene) -> None:
    own = scene.vehicles[5]
    assert own.dynamics == described.OwnDynamics("kinematic_bicycle", {"l_f": 1.2})
    assert own.shape is not None
    assert own.shape.outline == ((-1.0, -1.0), (2.0, -1.0), (2.0, 1.0), (-1.0, 1.0))


def test_sensors(scene: Scene) -> None:
    imu, gps, lidar, camera, depth, bumper = scene.vehicles[3].sensors
    assert imu == described.Imu("imu", period=0.004, **dict(zip(IMU, IMU_VALUES, strict=True)))
    assert gps == described.Gnss(
        "gps", period=0.2, horizontal_std_noise=0.5, vertical_std_noise=1.0
    )
    assert isinstance(lidar, described.Lidar3d)
    assert lidar.pose == described.Pose(0.0, 0.0, 1.6)
    assert lidar.vertical_ray_angles == tuple(math.radians(a) for a in (-10.0, 0.0, 10.0))
    # 1808.4... in the file: the fraction is cut off.
    assert (lidar.horz_nrays, lidar.vert_nrays) == (1808, 3)
    assert (lidar.min_range, lidar.max_range, lidar.range_std_noise) == (0.1, 60.0, 0.02)
    assert lidar.vert_fov == math.radians(45.0)
    assert lidar.ignore_parent_body
    assert lidar.generate_intensity
    assert isinstance(camera, described.Camera)
    assert camera.pose == described.Pose(0.0, 0.0, 0.5, math.pi / 2.0, 0.0, math.pi / 2.0)
    seen = (camera.ncols, camera.nrows, camera.cx, camera.cy, camera.fx, camera.fy)
    assert seen == (320, 240, 160.0, 120.0, 250.0, 260.0)
    assert isinstance(depth, described.RgbdCamera)
    assert depth.rgb_pose.x == 0.1
    assert (depth.depth_fy, depth.rgb_fy, depth.depth_clip_max) == (210.0, 230.0, 12.0)
    assert not depth.sense_rgb
    assert bumper == described.OwnSensor(
        "bumper", period=0.02, kind="bumper", parameters={"margin": "0.01"}
    )
    (post,) = scene.sensors
    assert post == described.Laser(
        "post",
        described.Pose(1.3, -18.3, yaw=math.pi / 2.0),
        publish_topic="/post",
        fov=math.radians(30.0),
        nrays=5,
        max_range=12.0,
        range_std_noise=0.02,
        angle_std_noise=math.radians(0.05),
        bodies_visible=False,
        raytrace_3d=True,
        ignore_parent_body=True,
    )


IMU = (
    *("angular_velocity_white_noise", "linear_acceleration_white_noise"),
    *("angular_velocity_random_walk", "linear_acceleration_random_walk"),
    *("measure_orientation", "orientation_std_noise"),
)
IMU_VALUES = (1e-4, 0.01, 1e-5, 1e-3, True, 0.01)


def test_blocks(scene: Scene) -> None:
    by_name = {block.name: block for block in scene.blocks}
    crate = by_name["crate"]
    numbers = (
        *(crate.mass, crate.ground_friction, crate.lateral_friction, crate.restitution),
        *(crate.linear_damping, crate.angular_damping, crate.shape.z_min, crate.shape.z_max),
    )
    assert numbers == (12.0, 0.3, 0.4, 0.2, 0.2, 0.3, 0.1, 0.5)
    assert crate.color == "#12ab34ff"
    assert crate.shape.outline == ((0.0, 0.0), (0.5, 0.0), (0.5, 0.4), (0.0, 0.4))
    assert len(by_name["column"].shape.outline) == 8
    assert by_name["column"].shape.z_max == 2.0
    assert by_name["ball"].shape.radius == pytest.approx(0.3)
    assert by_name["bump"].intangible
    assert by_name["bump"].geometry == described.Geometry("semi_cylinder_bump", 2.0, 0.2, 0.02)
    assert by_name["ramp"].static
    assert len(by_name["corner"].shape.parts) == 2
    assert by_name["post2"].pose == described.Pose(3.0, 10.0, yaw=math.radians(20.0))
    assert "extra3" in by_name
    assert "extra2" not in by_name
    door = by_name["door"]
    assert [frame.time for frame in door.animation] == [0.0, 4.0, 8.0]
    assert door.animation[2].pose == described.Pose(1.0, 0.0, 0.5, math.pi / 2.0)


def test_walls(scene: Scene) -> None:
    first, second, third, fourth = scene.walls
    # Scaled by 2, then moved by 1 m along x.
    assert (first.start, first.end) == ((-9.0, -10.0), (11.0, -10.0))
    assert (first.height, first.thickness, first.name) == (2.5, 0.15, "wall_0001")
    # The second begins where the first ends, and reaches half a thickness further there.
    assert min(y for _, y in second.outline) == pytest.approx(-10.075)
    assert max(y for _, y in second.outline) == pytest.approx(10.0)
    assert (third.start, third.end) == ((20.0, 0.0), (24.0, 0.0))
    assert (fourth.start, fourth.end) == ((24.0, 1.0), (24.0, 5.0))
    assert fourth.thickness == 0.1


def test_grids(scene: Scene) -> None:
    picture, ros, mrpt = (e for e in scene.elements if isinstance(e, described.OccupancyGrid))
    assert (picture.restitution, picture.lateral_friction) == (0.1, 0.6)
    # 3 x 5 pixels of 0.5 m; pixel (2, 1) from the lower left is the origin.
    assert picture.grid.origin == (-1.0, -0.5, 0.0)
    assert picture.grid.shape == (3, 5)
    # Black in the upper left and 100 of 255 in the lower right are occupied, 130 is not.
    assert picture.grid.at([[-0.9, 0.9], [1.4, -0.4], [-0.4, 0.1]]).tolist() == [True, True, False]
    assert ros.grid.resolution == 0.25
    assert ros.grid.origin == (-1.0, 2.0, 0.0)
    assert mrpt.grid.occupied.tolist() == [[True, False, False], [True, False, False]]


def test_heights(scene: Scene) -> None:
    matrix, picture, points = (e for e in scene.elements if isinstance(e, described.ElevationMap))
    assert matrix.heights.tolist() == [[0.0, 0.0, 0.5], [0.1, 0.1, 0.5]]
    assert (matrix.resolution, matrix.corner) == (2.0, (10.0, 20.0))
    assert not matrix.heights.flags.writeable
    # Shades 10 to 210 over -1 to 3 m; rows along x; the middle is at the origin.
    expected = [[-1.0, 0.0, 0.0], [-1.0, 1.0, 3.0]]
    assert np.allclose(picture.heights, expected)
    assert picture.corner == (-0.5, -1.0)
    # Points x y z with z = 10 + x + 10 y at the middles of the cells, moved by (100, 200, -10).
    assert points.corner == (100.5, 200.5)
    assert points.heights.tolist() == [[x + 10.0 * y for y in range(3)] for x in range(4)]


def test_planes_and_regions(scene: Scene) -> None:
    (floor,) = (e for e in scene.elements if isinstance(e, described.HorizontalPlane))
    assert (floor.x_min, floor.x_max, floor.y_min, floor.y_max, floor.z) == (-9, 9, -8, 8, 0.5)
    assert floor.pose == described.Pose(3.0, -1.0)
    assert floor.animation[1].pose.z == 3.0
    (wall,) = (e for e in scene.elements if isinstance(e, described.VerticalPlane))
    assert (wall.height, wall.thickness, wall.restitution) == (2.4, 1.5, 0.05)
    assert wall.openings == (
        described.Opening("door", 0.5, 1.0, 0.0, 2.0, "main"),
        described.Opening("window", 0.8, 0.5, 1.0, 1.5, "view"),
    )
    ice, deaf, yard = (e for e in scene.elements if isinstance(e, described.PropertyRegion))
    assert (ice.name, ice.value) == ("friction_mu", 0.2)
    assert (3.0, 1.0, 0.0) in ice
    assert (3.01, 1.0, 0.0) not in ice
    assert deaf.value is True
    assert (1e9, -1e9, 5.0) in deaf
    assert yard.value == "yard"


def test_joints_and_actors(scene: Scene) -> None:
    hinge, rope = scene.joints
    assert hinge == described.JointSpec(
        "revolute",
        *("a", "three", (-0.5, 0.0), (2.0, 0.5)),
        enable_limit=True,
        lower_angle=math.radians(-60.0),
        upper_angle=math.radians(45.0),
    )
    assert rope == described.JointSpec(
        "distance", "a", "crate", (-0.3, 0.0), (0.0, 0.0), 0.5, 2.0, 3.0, 4.0
    )
    (actor,) = scene.actors
    assert actor == described.ActorSpec(
        "p1",
        described.Pose(),
        *(1.1, 4.0, 1.8, 0.25, 1.75, "stand", "go", "race"),
        (
            described.Waypoint(described.Pose(2.0)),
            described.Waypoint(described.Pose(2.0, 2.0, 0.1, math.pi / 2.0), 1.5, "run"),
        ),
        loop=False,
        class_name="walker",
    )


def test_what_is_not_simulated_is_said_in_one_warning() -> None:
    with pytest.warns(WorldWarning) as caught:
        scene = load(FILE)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert all(line.partition(":")[0] in text for line in scene.warnings)
    assert len(text) < 1000
    full = "\n".join(scene.warnings)
    for name in ("camera cam of car", "rgbd_camera depth", "lidar3d l3", "skybox", "ground_grid"):
        assert name in full
    for name in ("pointcloud", "marker", "3-D models", "laser post"):
        assert name in full
    assert "unknown" not in full
    assert caught[0].filename == __file__


def test_everything_has_its_source(scene: Scene) -> None:
    things = [*scene.vehicles, *scene.blocks, *scene.walls, *scene.elements, *scene.joints]
    for thing in [*things, *scene.actors, *scene.sensors]:
        assert Path(thing.source.file) == FILE
        assert thing.source.line > 1


def test_a_scene_cannot_be_changed(scene: Scene) -> None:
    with pytest.raises(AttributeError):
        scene.vehicles[0].name = "other"  # type: ignore[misc]
