"""Every message of a recording, decoded by the classes that others publish."""

from __future__ import annotations

from math import cos, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.view.recording import Recorder, SensorMount
from skidpad.view.stage import Body, Channel, Stage
from view.recording.decoding import Message, messages, official
from view.recording.stages import Array, full_stage, some_rows

TIMES = np.array([0.0, 0.1, 0.25, 1.0 / 3.0])
STAGE = full_stage()
ROWS = some_rows(STAGE, len(TIMES))
UNITS = (
    SensorMount("unit", "world", "imu", 0.1, 0.2, 0.3, yaw=0.5, oriented=True),
    SensorMount("second unit", "world"),
)
READING = np.arange(1.0, 11.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("messages") / "run.mcap"
    with Recorder(path, STAGE, sensors=UNITS) as recorder:
        recorder.add_rows(TIMES, ROWS)
        recorder.add_scan(0, 0.2, [1.0, 2.5, np.inf, -np.inf, np.nan])
        recorder.add_scan(1, 0.25, [0.1, 0.2, 0.3])
        recorder.add_reading(0, 0.2, READING)
        recorder.add_reading(1, 0.2, -READING[:6])
    return path


def numbers(vector: Any, names: str) -> list[float]:
    return [getattr(vector, name) for name in names]


def one(path: Path, topic: str) -> Any:
    (message,) = messages(path, topic)
    return message.value


def column(body: str, name: str, rows: Array = ROWS) -> Array:
    return rows[:, STAGE.body(body).channels[name]]


def test_foxgloves_classes_read_what_the_file_describes(path: Path) -> None:
    theirs = [one for one in messages(path) if one.schema.startswith("foxglove.")]
    kinds = {"FrameTransforms", "PoseInFrame", "LaserScan", "SceneUpdate", "Grid"}
    assert {one.schema for one in theirs} == {f"foxglove.{kind}" for kind in kinds}
    for message in theirs:
        assert str(official(message.schema).FromString(message.data)) == str(message.value)


def test_transforms_put_bodies_and_steered_wheels_in_place(path: Path) -> None:
    decoded = messages(path, "/tf")
    assert [message.time for message in decoded] == [0, 100_000_000, 250_000_000, 333_333_333]
    for k, message in enumerate(decoded):
        by_child = {t.child_frame_id: t for t in message.value.transforms}
        assert list(by_child) == ["car", "world_2", "car_trailer", "crate", "car/fl"]
        for name, frame in (("car", "car"), ("crate", "crate"), ("car trailer", "car_trailer")):
            transform, yaw = by_child[frame], column(name, "yaw")[k]
            assert transform.parent_frame_id == "world"
            assert transform.timestamp.ToNanoseconds() == message.time
            place = [column(name, "x")[k], column(name, "y")[k], 0.0]
            assert numbers(transform.translation, "xyz") == place
            turned = [0.0, 0.0, sin(0.5 * yaw), cos(0.5 * yaw)]
            assert numbers(transform.rotation, "xyzw") == pytest.approx(turned, abs=1e-15)
        wheel = by_child["car/fl"]
        angle = 0.1 + column("car", "steer.left")[k]
        assert wheel.parent_frame_id == "car"
        assert numbers(wheel.translation, "xyz") == [0.8, 0.5, 0.0]
        assert wheel.rotation.z == pytest.approx(sin(0.5 * angle), abs=1e-15)
        assert wheel.rotation.w == pytest.approx(cos(0.5 * angle), abs=1e-15)


def rotation(yaw: float, pitch: float, roll: float) -> Array:
    """By matrices: about z, then the new y, then the new x."""
    z = np.array([[cos(yaw), -sin(yaw), 0], [sin(yaw), cos(yaw), 0], [0, 0, 1]])
    y = np.array([[cos(pitch), 0, sin(pitch)], [0, 1, 0], [-sin(pitch), 0, cos(pitch)]])
    x = np.array([[1, 0, 0], [0, cos(roll), -sin(roll)], [0, sin(roll), cos(roll)]])
    return z @ y @ x


def matrix(q: Any) -> Array:
    x, y, z, w = numbers(q, "xyzw")
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_what_tilts_is_turned_about_all_axes(path: Path) -> None:
    angles = [column("world", name) for name in ("yaw", "pitch", "roll")]
    for k, message in enumerate(messages(path, "/world_2/pose")):
        pose = message.value.pose
        assert message.value.frame_id == "world"
        assert pose.position.z == column("world", "z")[k]
        wanted = rotation(*(float(angle[k]) for angle in angles))
        np.testing.assert_allclose(matrix(pose.orientation), wanted, atol=1e-14)


def test_the_numbers_of_a_body_are_exact_and_named(path: Path) -> None:
    decoded = messages(path, "/car/state")
    names = [f.name for f in decoded[0].value.DESCRIPTOR.fields]
    assert " ".join(names) == "t x y yaw omega steer_left u_steer a_x a_y F_x_fl"
    for k, message in enumerate(decoded):
        assert message.schema == "skidpad.four_wheel"
        assert message.value.t == TIMES[k]
        assert [getattr(message.value, name) for name in names[1:]] == ROWS[k, :9].tolist()


def test_scans_say_where_the_beams_are(path: Path) -> None:
    scan = one(path, "/car/front_lidar")
    assert scan.timestamp.ToNanoseconds() == 200_000_000
    assert scan.frame_id == "car"
    assert (scan.start_angle, scan.end_angle) == (-1.0, 1.0)
    assert numbers(scan.pose.position, "xyz") == [0.9, 0.1, 0.0]
    assert scan.pose.orientation.z == pytest.approx(sin(0.1))
    np.testing.assert_array_equal(scan.ranges, [1.0, 2.5, np.inf, -np.inf, np.nan])


def test_units_have_rates_forces_and_where_they_sit(path: Path) -> None:
    first, second = one(path, "/world_2/unit"), one(path, "/world_2/second_unit")
    assert first.frame_id == "world_2/unit"
    assert numbers(first.angular_velocity, "xyz") == [1.0, 2.0, 3.0]
    assert numbers(first.linear_acceleration, "xyz") == [4.0, 5.0, 6.0]
    assert numbers(first.orientation, "xyzw") == [7.0, 8.0, 9.0, 10.0]
    assert not second.HasField("orientation")
    assert numbers(second.linear_acceleration, "xyz") == [-4.0, -5.0, -6.0]
    mounts = {t.child_frame_id: t for t in one(path, "/tf_static").transforms}
    assert numbers(mounts["world_2/unit"].translation, "xyz") == [0.1, 0.2, 0.3]
    assert mounts["world_2/unit"].rotation.z == pytest.approx(sin(0.25))


def test_a_vehicle_without_a_unit_shows_what_a_perfect_one_would(path: Path) -> None:
    for k, message in enumerate(messages(path, "/car/imu")):
        shown = message.value
        assert shown.angular_velocity.z == column("car", "omega")[k]
        force = [column("car", "a_x")[k], column("car", "a_y")[k], 9.81]
        assert numbers(shown.linear_acceleration, "xyz") == force
    assert not messages(path, "/world_2/imu")


def test_bodies_are_drawn_in_their_frames(path: Path) -> None:
    entities = {entity.id: entity for entity in one(path, "/bodies").entities}
    assert list(entities) == ["car", "car fl", "world", "car trailer", "crate"]
    assert all(entity.frame_locked for entity in entities.values())
    assert entities["car fl"].frame_id == "car/fl"
    (rear,) = entities["car"].cylinders
    assert numbers(rear.pose.position, "xyz") == [-0.8, 0.5, 0.3]
    # Its axis, z in its own frame, lies across the car.
    np.testing.assert_allclose(matrix(rear.pose.orientation)[:, 2], [0.0, -1.0, 0.0], atol=1e-15)
    crate = entities["crate"]
    assert numbers(crate.triangles[0].color, "rgba") == [1.0, 128 / 255, 0.0, 1.0]
    assert len(crate.lines) == 1, "the outline that crosses itself is drawn as a line"
    assert covered(crate.triangles[0]) == pytest.approx(1.5)


def covered(mesh: Any) -> float:
    """Area of the triangles of a mesh that face upwards, seen from above."""
    points = np.array([numbers(p, "xyz") for p in mesh.points])[list(mesh.indices)]
    a, b, c = points.reshape(-1, 3, 3).swapaxes(0, 1)
    return float(0.5 * np.cross(b - a, c - a)[:, 2].sum())


def test_what_stands_still_is_drawn_by_kind(path: Path) -> None:
    entities = {entity.id: entity for entity in one(path, "/still").entities}
    assert list(entities) == ["still wall", "still region", "still centres", "still discs"]
    assert sum(covered(mesh) for mesh in entities["still wall"].triangles) == pytest.approx(
        2.0 + 1.5
    )
    (line,) = entities["still centres"].lines
    assert [numbers(p, "xy") for p in line.points] == [[0.0, 0.0], [5.0, 1.0], [9.0, 0.0]]
    cone, post = entities["still discs"].cylinders
    assert numbers(cone.size, "xy") == [0.3, 0.3]
    assert cone.top_scale < 0.5 < post.top_scale


def test_a_grid_is_dark_where_it_is_occupied(path: Path) -> None:
    grid = one(path, "/grid/0")
    assert (grid.column_count, grid.row_stride, grid.cell_stride) == (3, 12, 4)
    assert numbers(grid.pose.position, "xy") == [-1.0, -2.0]
    assert [field.name for field in grid.fields] == ["red", "green", "blue", "alpha"]
    shades = np.frombuffer(grid.data, np.uint8).reshape(2, 3, 4)
    assert (shades[..., 3] == [[0, 255, shades[0, 2, 3]], [255, 0, 0]]).all()
    assert 0 < shades[0, 2, 3] < 255


def crowd(count: int) -> Stage:
    """Vehicles whose numbers lie field by field, with names of different lengths."""
    names = [f"r{k}" for k in range(count)]
    channels = [Channel(f, "m", n, "state") for f in ("x", "y", "yaw") for n in names]
    shape = (((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)),)
    bodies = [
        Body(n, "vehicle", shape, k, count + k, 2 * count + k, (), {}, model="robot")
        for k, n in enumerate(names)
    ]
    return Stage("crowd", tuple(channels), tuple(bodies))


@pytest.mark.parametrize("count", [3, 30, 120])
def test_all_vehicles_of_a_crowd_are_where_they_are(tmp_path: Path, count: int) -> None:
    stage, path = crowd(count), tmp_path / "crowd.mcap"
    rows = some_rows(stage, 3)
    with Recorder(path, stage) as recorder:
        recorder.add_rows([0.0, 0.5, 1.0], rows)
    decoded: list[Message] = messages(path)
    transforms = [m.value.transforms for m in decoded if m.topic == "/tf"]
    assert [[t.translation.x for t in at] for at in transforms] == rows[:, :count].tolist()
    states = [m.value.y for m in decoded if m.topic.endswith("/state")]
    assert states == rows[:, count : 2 * count].ravel().tolist()
    poses = [
        m.value for m in decoded if m.schema in ("foxglove.PoseInFrame", "foxglove.PosesInFrame")
    ]
    shown = [p.pose for p in poses] if count <= 20 else [p for m in poses for p in m.poses]
    assert [p.position.y for p in shown] == rows[:, count : 2 * count].ravel().tolist()
