"""The whole simulator against recordings of the upstream program.

`cmd` is what the node was told, `u` what its model then saw, `out` what the model reported.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.compat.autoware.reports import ActuationCommand, ControlCommand, Reports, yaw_of
from skidpad.compat.autoware.simulator import translation
from skidpad.vehicles.parts.actuators import Gear
from skidpad.vehicles.registry import COMMAND_DRIVEN

DATA = Path(__file__).parents[2] / "data" / "autoware"
RECORDINGS = sorted(file.stem for file in DATA.glob("*.npz"))
COLUMNS = ("x", "y", "yaw", "v_x", "v_y", "a_x", "omega", "steer")
INPUTS = {
    ("vel", "steer"): ("velocity", "steer"),
    ("acc_combined", "steer"): ("acceleration", "steer"),
    ("acc", "gear", "slope_acc", "steer"): ("acceleration", "steer", "gear", "slope"),
    ("accel", "brake", "slope_acc", "steer", "gear"): ("accel", "brake", "steer", "gear", "slope"),
}
"""Upstream's inputs and ours, which have the same numbers in another order."""
OUR_NAMES = {"vel": "velocity", "acc": "acceleration", "acc_combined": "acceleration"}
OUR_NAMES |= {"slope_acc": "slope"}


class Recording(NamedTuple):
    meta: dict[str, Any]
    dt: np.ndarray
    gears: list[Gear]
    cmd: np.ndarray
    u: np.ndarray
    out: np.ndarray
    status: np.ndarray | None


@cache
def recording(stem: str) -> Recording:
    with np.load(DATA / f"{stem}.npz") as file:
        status = file.get("actuation_status")
        gears = [Gear(int(number)) for number in file["gear"]]
        meta = json.loads(str(file["meta"]))
        return Recording(meta, file["dt"], gears, file["cmd"], file["u"], file["out"], status)


def kind(run: Recording) -> type[ControlCommand] | type[ActuationCommand]:
    return ActuationCommand if "accel_cmd" in run.meta["cmd_names"] else ControlCommand


@pytest.mark.parametrize("stem", RECORDINGS)
def test_commands_become_the_inputs_the_program_made_of_them(stem: str) -> None:
    run = recording(stem)
    theirs = tuple(run.meta["u_names"])
    ours = INPUTS[theirs]
    translated = translation(ours)
    order = [ours.index(OUR_NAMES.get(name, name)) for name in theirs]
    for row, gear, expected in zip(run.cmd.tolist(), run.gears, run.u.tolist(), strict=True):
        inputs = translated(kind(run)(*row[:3]), gear, row[3])
        assert [inputs[k] for k in order] == expected


COMPILED = [name for name in COMMAND_DRIVEN if name != "LEARNED_STEER_VEL"]


def started(run: Recording) -> sp.PlanningSimulator:
    """A simulator at the start of a recording, with its clock at 0."""
    params = dict(run.meta["params"])
    for name, value in params.items():
        if name.endswith("_map_path"):
            params[name] = str(DATA / "maps" / value)
    simulator = sp.PlanningSimulator(run.meta["model"], params, compat="upstream")
    x, y, yaw, *rest = run.meta["initial_state"]
    simulator.initial_pose(x=x, y=y, yaw=yaw)
    simulator.initial_twist(rest[0] if rest else 0.0)
    # The program's first tick advances by 0 s; the recordings begin after it.
    simulator.engage(False)
    simulator.tick(0.0)
    simulator.engage()
    return simulator


def reported(reports: Reports) -> list[float]:
    odometry, acceleration, steering = reports.odometry, reports.acceleration, reports.steering
    assert odometry is not None
    assert acceleration is not None
    assert steering is not None
    yaw = yaw_of(odometry.pose.orientation)
    position = [odometry.pose.x, odometry.pose.y, yaw]
    return [*position, odometry.v_x, 0.0, acceleration.a_x, odometry.omega, steering.steer]


@pytest.mark.parametrize("scenario", ["s05_reverse", "s06_gear_sequence"])
@pytest.mark.parametrize("name", COMPILED)
def test_reports_are_those_of_the_program(name: str, scenario: str) -> None:
    run = recording(f"{name}__{scenario}")
    simulator = started(run)
    found: list[list[float]] = []
    now = 0.0
    for row, gear, dt in zip(run.cmd.tolist(), run.gears, run.dt.tolist(), strict=True):
        simulator.command(kind(run)(*row[:3]))
        simulator.gear(gear)
        now += dt
        reports = simulator.tick(now)
        found.append(reported(reports))
        if run.status is not None:
            assert reports.actuation_status is not None
            accel, brake = reports.actuation_status[2:4]
            assert (accel, brake) == pytest.approx(run.status[len(found)], rel=1e-9, abs=1e-9)
    got, expected = np.array(found), run.out[1:].copy()
    got[:, 2] = np.unwrap(got[:, 2])
    got[:, 2] += math.tau * np.round((expected[0, 2] - got[0, 2]) / math.tau)
    expected[:, 7] = expected[:, 7].astype(np.float32)
    scale = np.abs(expected).max(axis=0).clip(min=1e-3)
    # A steering angle may be rounded to the neighbouring 32-bit float.
    allowed = np.where(np.array(COLUMNS) == "steer", 1e-7, 1e-9) * scale
    assert (np.abs(got - expected).max(axis=0) <= allowed).all()
