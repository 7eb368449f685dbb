"""Recorded runs on a stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.stage import BodyShape, Wheel, shape_of
from skidpad.view.stages import trajectory_stage


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
    assert [w.steer for w in front] == [a.channels["steer_fl"], a.channels["steer_fr"]]
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


def test_a_state_without_a_pose_is_drawn_where_its_body_says() -> None:
    mass = sp.vehicles.double_integrator()
    sim = sp.Simulator(mass, dt=0.1)
    sim.reset(s=3.0, d=-1.0, v_s=2.0, v_d=0.5)
    run = sim.run(duration=0.5)
    stage, _, rows = trajectory_stage({"mass": run}, mass)
    (body,) = stage.bodies
    np.testing.assert_array_equal(rows[:, body.x], run["s"])
    np.testing.assert_array_equal(rows[:, body.y], run["d"])
    np.testing.assert_array_equal(rows[:, body.yaw], 0.0)
    # The page reads the speed from these.
    np.testing.assert_array_equal(rows[:, body.channels["v_x"]], 2.0)
    np.testing.assert_array_equal(rows[:, body.channels["v_y"]], 0.5)


def test_a_shape_alone_is_drawn_at_the_usual_columns() -> None:
    car = sp.vehicles.four_wheel()
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(x=4.0, steer=0.1)
    run = sim.run(duration=0.01)
    mine = BodyShape((((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)),), (Wheel("only", 1.0, 0.0, 0.6, 0.2),))
    stage, _, rows = trajectory_stage({"a": run}, mine)
    (body,) = stage.bodies
    assert rows[0, body.x] == 4.0
    assert body.wheels == mine.wheels
    whole = trajectory_stage({"a": run}, shape_of(car))
    assert whole[0] == trajectory_stage({"a": run}, car)[0]


def test_what_cannot_be_drawn_is_named() -> None:
    mass = sp.vehicles.double_integrator()
    run = sp.Simulator(mass, dt=0.1).run(duration=0.3)
    with pytest.raises(InvalidValue, match="at least one"):
        trajectory_stage({}, mass)
    with pytest.raises(InvalidValue, match="no vehicle is given for the trajectory 'a'"):
        trajectory_stage({"a": run}, {"b": mass})
    with pytest.raises(InvalidValue, match="'a' has no x, y, yaw, so it cannot be drawn"):
        trajectory_stage({"a": run}, shape_of(mass))
    car = sp.vehicles.four_wheel()
    other = sp.Simulator(car, dt=0.001).run(duration=0.003)
    with pytest.raises(InvalidValue, match="'a' has no s, d, v_s, v_d, so its position is unknown"):
        trajectory_stage({"a": other}, mass)
    bare = sp.Vehicle(replace(car.model, body=None), car.params)
    with pytest.raises(InvalidValue, match="a picture needs to know the body of 'four_wheel'"):
        trajectory_stage({"a": other}, bare)
