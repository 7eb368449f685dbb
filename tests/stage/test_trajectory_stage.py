"""Recorded runs on a stage."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.stage import BodyShape, shape_of
from skidpad.stage.trajectory_stage import trajectory_stage


def test_rows_are_the_columns_of_the_runs() -> None:
    car = sp.vehicles.formula_student()
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=8.0)
    long = sim.run({"steer": 0.1}, duration=0.3)
    sim.reset(v_x=4.0)
    short = sim.run({"steer": -0.1}, duration=0.1)
    stage, times, rows = trajectory_stage({"a": long, "b": short}, car, title="two")
    assert np.array_equal(times, long.t)
    a, b = stage.body("a"), stage.body("b")
    assert np.array_equal(rows[:, a.channels["v_y"]], long["v_y"])
    assert np.array_equal(rows[: len(short), b.x], short["x"])
    # The shorter run stands still at its end.
    assert (rows[len(short) :, b.x] == short["x"][-1]).all()
    front = [w for w in a.wheels if w.name in ("fl", "fr")]
    assert {w.steer for w in front} == {a.channels["steer"]}
    assert all(w.F_z == a.channels[f"F_z_{w.name}"] for w in a.wheels)


def test_a_trailer_hangs_on_its_hitch() -> None:
    truck = sp.vehicles.commonroad_kst(parameters=4)
    sim = sp.Simulator(truck, dt=0.01)
    sim.reset(v=3.0, steer=0.3, hitch=-0.4)
    run = sim.run(duration=2.0)
    stage, _, rows = trajectory_stage({"truck": run}, truck)
    body, trailer = stage.bodies
    assert trailer.kind == "trailer"
    shape = shape_of(truck)
    x, y, yaw = rows[:, body.x], rows[:, body.y], rows[:, body.yaw]
    hitch = np.stack([x + shape.hitch_x * np.cos(yaw), y + shape.hitch_x * np.sin(yaw)])
    behind = np.stack([rows[:, trailer.x], rows[:, trailer.y]])
    np.testing.assert_allclose(np.hypot(*(hitch - behind)), shape.drawbar)
    # It rolls: its axle does not move sideways.
    step = np.diff(behind, axis=1)
    heading = 0.5 * (rows[1:, trailer.yaw] + rows[:-1, trailer.yaw])
    sideways = -np.sin(heading) * step[0] + np.cos(heading) * step[1]
    assert np.abs(sideways).max() < 2e-4 * np.hypot(*step).max() + 1e-6


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_has_a_shape(name: str) -> None:
    shape = shape_of(sp.vehicles.get(name)())
    assert isinstance(shape, BodyShape)
    along = [x for outline in shape.outlines for x, _ in outline]
    across = [y for outline in shape.outlines for _, y in outline]
    # The nose is ahead, the body as wide to the left as to the right, the wheels within its length.
    assert max(along) > 0.0
    assert max(across) == pytest.approx(-min(across))
    assert all(min(along) <= w.x <= max(along) for w in shape.wheels)


def test_a_run_without_a_pose_is_refused() -> None:
    oscillator = sp.vehicles.double_integrator()
    run = sp.Simulator(oscillator, dt=0.1).run(duration=0.3)
    with pytest.raises(InvalidValue, match="no x, y, yaw"):
        trajectory_stage({"a": run}, oscillator)
    with pytest.raises(InvalidValue, match="at least one"):
        trajectory_stage({}, oscillator)
