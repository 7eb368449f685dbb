"""Whole vehicles against MVSim's recordings, in the mode that repeats it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from skidpad import Simulator
from skidpad.core import record
from skidpad.vehicles import wheeled
from skidpad.vehicles.wheeled.build import assembly
from skidpad.vehicles.wheeled.description import KINDS, Description, mass_properties
from vehicles.wheeled.recordings import (
    Array,
    Region,
    commands,
    description,
    regions,
    scenarios,
    start_pose,
    table,
)

FIRST = 41
POSE = {"x": "x", "y": "y", "yaw": "yaw"}
MOTION = POSE | {"vx": "v_x", "vy": "v_y", "omega": "omega"}


def surroundings(
    areas: list[Region], d: Description, x: Any, pitch: float, roll: float
) -> dict[str, float]:
    """What the ground under a vehicle in a state does to it."""
    c, s = math.cos(x.yaw), math.sin(x.yaw)
    # The down vector in the axes of a body with this pitch and roll.
    found = {"slope_x": math.sin(pitch), "slope_y": -math.cos(pitch) * math.sin(roll)}
    for name, wheel in zip(KINDS[d.kind].wheels, d.wheels, strict=True):
        place = x.x + c * wheel.x - s * wheel.y, x.y + s * wheel.x + c * wheel.y
        for region in areas:
            field = {"friction_mu": "mu", "friction_C_rr": "rolling"}[region.name]
            if region.holds(*place):
                found.setdefault(f"{field}_{name}", region.value)
    return found


def rerun(name: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Recorded columns of a scenario and ours at the same times."""
    scenario, dt = scenarios()[name], scenarios()[name]["dt"]
    recorded = table("trajectories", f"traj_{name}")
    d = description(scenario)
    vehicle = wheeled.vehicle(d, compat="upstream")
    sim = Simulator(vehicle, dt=dt)
    sim.reset(**start_pose(scenario))
    told, areas = commands(scenario, record.names(vehicle.Input)), regions(scenario)
    samples = np.array([round(t / dt) for t in recorded["t"]])
    begins = np.array([t for t, _ in told]) - 1e-9
    inputs = np.array([row for _, row in told])
    rows = inputs[np.searchsorted(begins, dt * np.arange(samples[-1]), side="right") - 1]
    wheels = KINDS[d.kind].wheels
    if not areas and not np.any(recorded["pitch"]) and not np.any(recorded["roll"]):
        run = sim.run(rows)
        known = {*record.names(vehicle.State), *record.names(vehicle.model.Outputs)}
        return recorded, {
            column: run[field][samples] if field in known else np.zeros(len(samples))
            for column, field in shown(wheels).items()
        }
    ours = {column: np.zeros(len(samples)) for column in shown(wheels)}
    for k in range(samples[-1] + 1):
        for at in np.flatnonzero(samples == k):
            x, out = sim.state._asdict(), sim.outputs()._asdict()
            for column, field in shown(wheels).items():
                ours[column][at] = (x | out).get(field, 0.0)
        if k == samples[-1]:
            break
        # The attitude is that at the end of the step; these slopes are even.
        at = np.searchsorted(recorded["t"], (k + 0.5) * dt)
        at = min(int(at), len(recorded["t"]) - 1)
        sim.disturb(surroundings(areas, d, sim.state, recorded["pitch"][at], recorded["roll"][at]))
        sim.step(rows[k])
    return recorded, ours


def shown(wheels: tuple[str, ...]) -> dict[str, str]:
    """Columns that are compared, and our fields; wheels that do not steer have none for it."""
    turning = {f"wheel{k}_w": f"spin_{wheel}" for k, wheel in enumerate(wheels)}
    steering = {f"wheel{k}_yaw": f"steer_{wheel}" for k, wheel in enumerate(wheels)}
    odometry = {"odo_vx": "v_odometry", "odo_omega": "omega_odometry"}
    return MOTION | odometry | turning | steering


@pytest.mark.parametrize("name", scenarios())
def test_recorded_trajectories(name: str) -> None:
    recorded, ours = rerun(name)
    for column in POSE:
        np.testing.assert_allclose(
            ours[column][:FIRST], recorded[column][:FIRST], rtol=0.0, atol=1e-6, err_msg=column
        )
    whole = 5e-3 if "ellipse" in name else 1e-3
    wheels = [c for c in recorded if c.startswith("wheel") and c.endswith(("_w", "_yaw"))]
    for column in (*MOTION, "odo_vx", "odo_omega", *wheels):
        np.testing.assert_allclose(
            ours[column], recorded[column], rtol=0.0, atol=whole, err_msg=column
        )


@pytest.mark.parametrize("name", ["ack_twist_default", "diff_raw_ward", "drv_raw_torsen_4wd"])
def test_recorded_torques_and_forces(name: str) -> None:
    """The forces of the first steps, which the state at their start and the command decide."""
    scenario, dt = scenarios()[name], scenarios()[name]["dt"]
    recorded = table("trajectories", f"traj_{name}")
    vehicle = wheeled.vehicle(description(scenario), compat="upstream")
    parts, p = assembly(vehicle), vehicle.params
    sim = Simulator(vehicle, dt=dt)
    u = vehicle.Input(*commands(scenario, record.names(vehicle.Input))[0][1])
    w = record.build(vehicle.model.Disturbance)
    for k in range(1, 10):
        x = sim.state
        drive = parts.drive(x, u, w, p, dt)
        for wheel, push in enumerate(parts.pushes(x, w, p, drive, dt)):
            torque = drive.torques[wheel]
            assert torque == pytest.approx(recorded[f"wheel{wheel}_torque"][k], rel=1e-5, abs=1e-4)
            assert push.F_x == pytest.approx(recorded[f"wheel{wheel}_Fx"][k], rel=1e-4, abs=1e-2)
            assert push.F_y == pytest.approx(recorded[f"wheel{wheel}_Fy"][k], rel=1e-4, abs=1e-2)
        sim.step(u)


@pytest.mark.parametrize("name", scenarios())
def test_recorded_mass_properties(name: str) -> None:
    scenario = scenarios()[name]
    d = description(scenario)
    got = mass_properties(d, hull=True)
    assert got.mass == pytest.approx(scenario["body_mass"])
    assert (got.com_x, got.com_y) == pytest.approx(scenario["local_center"], abs=1e-6)
    about_origin = got.I_z + got.mass * (got.com_x**2 + got.com_y**2)
    assert about_origin == pytest.approx(scenario["body_inertia_about_origin"], rel=1e-6)
    assert [w.spin_inertia for w in d.wheels] == pytest.approx(scenario["Iyy"])
    body = wheeled.vehicle(d, compat="upstream").params.body
    assert body.linear_damping == pytest.approx(scenario["linear_damping"], abs=1e-7)
    assert body.angular_damping == pytest.approx(scenario["angular_damping"], abs=1e-7)
