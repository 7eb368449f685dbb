"""What an engine refuses, and that it stays as it was."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from compat.truck.recordings import MAPS, model_path
from skidpad.compat.truck.engine import Engine
from skidpad.compat.truck.model_file import truck_model
from skidpad.errors import InvalidValue
from skidpad.vehicles.truck import Params

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def truck() -> Engine:
    engine = Engine(model_path("lidar720.yaml"), MAPS / "room.geojson")
    engine.reset_base((6, 4, 0.3), 0.1, 0.2)
    engine.set_base_control(0.5, 1.0)
    engine.advance(0.05)
    return engine


CALLS = [
    (lambda e: e.reset_base((NAN, 0, 0)), r"pose\.x = nan"),
    (lambda e: e.reset_base((0, INF, 0)), r"pose\.y"),
    (lambda e: e.reset_base((0, 0, "north")), r"pose\.yaw"),
    (lambda e: e.reset_base((0, 0)), "three numbers"),
    (lambda e: e.reset_base(5), "three numbers"),
    (lambda e: e.reset_base((0, 0, 0), NAN), "middle_steering"),
    (lambda e: e.reset_base((0, 0, 0), 0.7), r"middle_steering = 0\.7.*0\.60"),
    (lambda e: e.reset_base((0, 0, 0), 0.0, NAN), "linear_velocity"),
    (lambda e: e.set_base_control(NAN, 0.0), "velocity"),
    (lambda e: e.set_base_control(0.5, NAN), "curvature"),
    (lambda e: e.set_base_control(0.5, INF, 0.0), "acceleration"),
    (lambda e: e.set_base_control(0.5, -0.1, 0.5), r"acceleration = -0\.1.*at least 0"),
    (lambda e: e.set_base_control("fast", 0.5), "velocity"),
    (lambda e: e.advance(0.0), "greater than 0"),
    (lambda e: e.advance(-1.0), "greater than 0"),
    (lambda e: e.advance(NAN), "seconds"),
    (lambda e: e.advance(INF), "seconds"),
    (lambda e: e.reset_map("no such file.geojson"), "no such file"),
    (lambda e: e.reset_map(42), "path of a map file or a Map"),
]


@pytest.mark.parametrize(("call", "match"), CALLS)
def test_a_bad_call_is_refused_and_changes_nothing(truck: Engine, call: Any, match: str) -> None:
    def everything() -> tuple[Any, ...]:
        return truck.rear, truck.command, truck.time, truck.status, truck.map

    before = everything()
    with pytest.raises(InvalidValue, match=match):
        call(truck)
    assert everything() == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.5,), {}),
        ((0.5, 1.0, 0.1, 2.0), {}),
        ((0.5, 1.0), {"speed": 3.0}),
        ((0.5, 0.1, 1.0), {"curvature": 1.0}),
    ],
)
def test_a_command_with_the_wrong_arguments_is_a_type_error(
    truck: Engine, arguments: tuple[float, ...], named: dict[str, float]
) -> None:
    before = truck.command
    with pytest.raises(TypeError, match=r"velocity, acceleration, curvature"):
        truck.set_base_control(*arguments, **named)
    assert truck.command == before


def test_a_bad_map_leaves_the_old_one_and_upstream_with_none(tmp_path: Path) -> None:
    bad = tmp_path / "bad.geojson"
    bad.write_text('{"type": "FeatureCollection", "features": [{"geometry": {}}]}', "utf-8")
    for compat, kept in ((None, 24), ("upstream", 0)):
        engine = Engine(model_path("lidar720.yaml"), MAPS / "room.geojson", compat=compat)
        with pytest.raises(InvalidValue, match=r"bad\.geojson"):
            engine.reset_map(bad)
        assert len(engine.map.segments) == kept


def test_negative_coordinates_are_a_fault_of_upstream_alone() -> None:
    file = MAPS / "negative_coordinate.geojson"
    assert len(Engine(map=file).map.segments) == 3
    with pytest.raises(InvalidValue, match="negative"):
        Engine(map=file, compat="upstream")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"compat": "upstrem"}, "compat"),
        ({"integration_step": 0.0}, "integration_step"),
        ({"integration_step": NAN}, "integration_step"),
        ({"precision": -1e-8}, "precision"),
        ({"precision": 0.0, "compat": "upstream"}, "precision"),
        ({"seed": 0.5}, "seed"),
        ({"model": 7}, "model"),
        ({"model": "no such model.yaml"}, "no such model"),
    ],
)
def test_engines_that_cannot_be_made(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidValue, match=match):
        Engine(**options)


def content() -> dict[str, Any]:
    return yaml.safe_load(model_path("default.yaml").read_text("utf-8"))


def test_the_default_model_is_upstreams_file() -> None:
    default, file = truck_model(), truck_model(model_path("default.yaml"))
    assert default.params == file.params == Params()
    assert default.lidar == file.lidar
    assert default.servo_home_angles == file.servo_home_angles
    for frame in default.frames.names:
        here, there = (model.frames.pose(frame, "base") for model in (default, file))
        assert (here.rotation == there.rotation).all()
        assert (here.translation == there.translation).all()


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("shape.length", 0.0, r"shape\.length = 0\.0 must be greater than 0"),
        ("shape.base_to_rear", 0.6, r"shape\.base_to_rear = 0\.6 must be below the length"),
        ("shape.circles_count", 1, "circles_count"),
        ("wheel_base.base_to_rear", 0.5, r"wheel_base\.base_to_rear"),
        ("wheel.radius", NAN, r"wheel\.radius"),
        ("limits.steering.inner", 90.0, r"limits\.steering\.inner = 90\.0 must be from 0"),
        ("limits.steering.outer", -1.0, r"limits\.steering\.outer"),
        ("limits.velocity.min", 0.1, r"limits\.velocity\.min"),
        ("limits.velocity.max", 0.0, r"limits\.velocity\.max"),
        ("limits.max_acceleration", "quick", r"max_acceleration = 'quick' must be a finite number"),
        ("limits.max_deceleration", True, "max_deceleration"),
        ("lidar.angle_min", -1.0, "angle_min"),
        ("lidar.angle_max", 0.0, "angle_max"),
        ("lidar.angle_max", 400.0, "angle_max"),
        ("lidar.angle_increment", 400.0, "angle_increment"),
        ("lidar.angle_increment", 3.6e-4, "angle_increment"),
        ("lidar.range_min", 30.0, "range_max"),
        ("lidar.range_min", -1.0, "range_min"),
        ("gear_ratio", 0.0, "gear_ratio"),
        ("wheels", {}, "wheels.*did you mean 'wheel'"),
        ("lidar.range", 3.0, "lidar has no key 'range'"),
        ("shape", [1, 2], "shape.*mapping"),
        ("tf_static", {}, "tf_static.*list"),
    ],
)
def test_a_model_is_checked_by_key(key: str, value: Any, match: str) -> None:
    model = content()
    *path, last = key.split(".")
    inner = model
    for name in path:
        inner = inner[name]
    inner[last] = value
    with pytest.raises(InvalidValue, match=match):
        truck_model(model)


def test_a_missing_key_is_named_with_its_file(tmp_path: Path) -> None:
    model = content()
    del model["limits"]["steering"]["outer"]
    file = tmp_path / "truck.yaml"
    file.write_text(yaml.safe_dump(model), "utf-8")
    with pytest.raises(InvalidValue, match=r"truck\.yaml: limits\.steering\.outer is missing"):
        truck_model(file)


@pytest.mark.parametrize("text", ["- 1\n- 2\n", "a: [", "\x00"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "truck.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidValue, match=r"truck\.yaml"):
        truck_model(file)


def link(model: dict[str, Any], child: str) -> dict[str, Any]:
    return next(entry for entry in model["tf_static"] if entry["child_frame_id"] == child)


def test_a_missing_frame_is_named() -> None:
    model = content()
    model["tf_static"].remove(link(model, "camera_imu_optical_frame"))
    with pytest.raises(InvalidValue, match="no frame 'camera_imu_optical_frame'"):
        Engine(model)


def test_frames_must_be_a_tree_that_hangs_together() -> None:
    model = content()
    link(model, "camera_link")["frame_id"] = "somewhere"
    with pytest.raises(InvalidValue, match="does not connect"):
        Engine(model)
    link(model, "camera_link")["frame_id"] = "camera_imu_optical_frame"
    with pytest.raises(InvalidValue, match="is its own ancestor"):
        Engine(model)
    model = content()
    model["tf_static"].append(dict(link(model, "camera_link")))
    with pytest.raises(InvalidValue, match="two parents"):
        Engine(model)
    model = content()
    link(model, "camera_link")["rotation"]["w"] = 0.0
    with pytest.raises(InvalidValue, match="quaternion"):
        Engine(model)
