"""Runs of upstream's program, and the same calls made to an engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skidpad.compat.truck.engine import Engine
from skidpad.errors import InvalidValue

DATA = Path(__file__).parents[2] / "data" / "truck"
MAPS, MODELS = DATA / "maps", DATA / "models"
NAMES = sorted(path.stem for path in DATA.glob("s*.npz"))


class Recording(NamedTuple):
    """One run of the program."""

    scenario: dict[str, Any]
    meta: dict[str, Any]
    columns: list[str]
    state: np.ndarray
    arrays: dict[str, np.ndarray]


class Replay(NamedTuple):
    """The same calls made to an engine."""

    state: dict[str, np.ndarray]
    scan: np.ndarray
    rejected: list[str]
    """Calls that raised."""


def recording(name: str) -> Recording:
    with np.load(DATA / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    texts = (json.loads(str(arrays.pop(key))) for key in ("scenario", "meta"))
    columns = [str(column) for column in arrays.pop("columns")]
    return Recording(*texts, columns, arrays.pop("state"), arrays)


def model_path(name: str) -> Path:
    return MODELS / ("default.yaml" if name == "model.yaml" else name)


def engine_of(scenario: dict[str, Any], **options: Any) -> Engine:
    names = {"step": "integration_step", "precision": "precision", "noise": "noise"}
    given = {ours: scenario[theirs] for theirs, ours in names.items() if theirs in scenario}
    return Engine(model_path(scenario["model"]), **given, **options)


def row(engine: Engine) -> tuple[dict[str, float], np.ndarray]:
    """What the program recorded, from an engine; and its scan."""
    s, x = engine.state(), engine.rear
    spin, imu = s.wheel_velocity, (*s.gyro_angular_velocity, *s.accel_linear_acceleration)
    values = {"time_ns": s.time_ns, "status": int(s.status), "omega": s.base_angular_velocity}
    values |= dict(zip(("base_x", "base_y", "base_yaw"), s.odom_base_pose, strict=True))
    values |= dict(zip(("rear_x", "rear_y", "rear_yaw", "steering", "rear_v"), x, strict=True))
    for prefix, angles in (("steer", s.current_steering), ("tgt", s.target_steering)):
        values |= {
            f"{prefix}_{end[:3] if end == 'middle' else end}": angle
            for end, angle in angles._asdict().items()
        }
    values |= dict(zip(("base_curv", "base_v"), s.base_twist, strict=True))
    values |= dict(zip(("odom_vx", "odom_vy"), s.odom_base_linear_velocity, strict=True))
    values |= {"rps_cur": s.current_motor_rps, "rps_tgt": s.target_motor_rps}
    values |= {f"w_{wheel}": value for wheel, value in spin._asdict().items()}
    values |= dict(zip((f"{k}_{a}" for k in ("gyro", "acc") for a in "xyz"), imu, strict=True))
    return values, s.lidar_ranges


def replay(scenario: dict[str, Any], **options: Any) -> Replay:
    engine = engine_of(scenario, **options)
    rows: list[dict[str, float]] = []
    scans: list[np.ndarray] = []
    rejected: list[str] = []

    def record(scan: bool) -> None:
        values, ranges = row(engine)
        rows.append(values)
        if scan:
            scans.append(ranges)

    def advance(dt: float, count: int, every: int) -> None:
        for k in range(count):
            engine.advance(dt)
            record(bool(every) and (k + 1) % every == 0)

    calls = {
        "reset": lambda x, y, yaw, steer, v: engine.reset_base((x, y, yaw), steer, v),
        "control2": engine.set_base_control,
        "control3": engine.set_base_control,
        "map": lambda name: engine.reset_map(MAPS / name),
        "erase": engine.erase_map,
        "record": record,
        "advance": advance,
    }
    for name, *arguments in scenario["ops"]:
        try:
            calls[name](*arguments)
        except InvalidValue:
            rejected.append(name)
    table = {key: np.array([values[key] for values in rows]) for key in rows[0]}
    return Replay(table, np.array(scans), rejected)
