"""Accelerations of vehicles that run into things: their integral is the change of velocity."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.arrays import Array
from skidpad.view.recording import WorldRecorder, read
from skidpad.view.recording.reading import Recording
from skidpad.view.stages import WorldStage
from skidpad.world.xml import loads
from view.recording.decoding import messages
from world.sensor_worlds import imu
from world.test_every_vehicle import KINDS

WALL = "<walls><shape><pt>5 -9</pt><pt>5 9</pt></shape></walls>"
CRATE = (
    "<block name='crate'><init_pose>5 0.6 20</init_pose><mass>200</mass><shape>"
    "<pt>-1 -1</pt><pt>1 -1</pt><pt>1 1</pt><pt>-1 1</pt></shape></block>"
)


def car(name: str = "v", pose: str = "0 0 8", speed: float = 10.0, kind: str = "four_wheel") -> str:
    return (
        f"<vehicle name='{name}'><init_pose>{pose}</init_pose><init_vel>{speed} 0 0</init_vel>"
        f"<dynamics class='skidpad:{kind}'></dynamics>{imu(period=0.01)}</vehicle>"
    )


OTHER = car("other", "8 0.7 170", 6.0)


def world_of(text: str) -> sp.World:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = "<simul_timestep>0.01</simul_timestep>"
        return sp.World(loads(f"<mvsim_world version='1.0'>{step}{text}</mvsim_world>"))


def driven(world: sp.World, path: Path, rate: float | None, steps: int = 150) -> Recording:
    with WorldRecorder(world, path, rate=rate) as recorder:
        recorder.sample()
        for _ in range(steps):
            world.step()
            recorder.sample()
    assert world.contact_events, "nothing was hit"
    return read(path)


def gained(t: Array, yaw: Array, a_x: Array, a_y: Array) -> Array:
    """Velocity in the world that accelerations along the body give, each since the row before."""
    c, s = np.cos(yaw[1:]), np.sin(yaw[1:])
    ahead, left, dt = a_x[1:], a_y[1:], np.diff(t)
    along = np.array([c * ahead - s * left, s * ahead + c * left])
    return np.cumsum(along * dt, axis=1)


def in_world(yaw: Array, v_x: Array, v_y: Array) -> Array:
    return np.array([np.cos(yaw) * v_x - np.sin(yaw) * v_y, np.sin(yaw) * v_x + np.cos(yaw) * v_y])


@pytest.mark.parametrize("rate", [None, 30.0])
@pytest.mark.parametrize("obstacle", [WALL, OTHER, CRATE], ids=["wall", "car", "block"])
def test_accelerations_sum_up_to_the_change_of_velocity(
    tmp_path: Path, obstacle: str, rate: float | None
) -> None:
    recording = driven(world_of(car() + obstacle), tmp_path / "hit.mcap", rate)
    for name in ["v"] + ["other"] * (obstacle is OTHER):
        run = recording.trajectory(name)
        yaw = run["yaw"]
        velocity = in_world(yaw, run["v_x"], run["v_y"])
        own = gained(run.t, yaw, run["a_x"], run["a_y"])
        np.testing.assert_allclose(own, velocity[:, 1:] - velocity[:, :1], atol=1e-9)
        # A hit: tyres alone give 10 to 20 m/s².
        assert np.hypot(run["a_x"], run["a_y"]).max() > 40.0


def test_they_are_those_of_the_centre_of_mass(tmp_path: Path) -> None:
    # Its reference is the middle of the rear axle.
    world = world_of(car(kind="commonroad_ks", pose="0 0 0") + WALL)
    centre = world.vehicles["v"].built.geometry.centre_of_mass[0]
    assert centre > 1.0
    world.vehicles["v"].command(steer_rate=0.3)
    run = driven(world, tmp_path / "hit.mcap", None, 100).trajectory("v")
    motion = world.vehicles["v"].bodies.body
    model = world.vehicles["v"].vehicle
    velocities = []
    for x, u in zip(run.states, run.inputs, strict=True):
        state = model.State(*x)
        v = motion.velocity(state, model.Input(*u), model.params)
        velocities.append((v.v_x, v.v_y + centre * v.omega))
    velocity = in_world(run["yaw"], *np.array(velocities).T)
    own = gained(run.t, run["yaw"], run["a_x"], run["a_y"])
    np.testing.assert_allclose(own, velocity[:, 1:] - velocity[:, :1], atol=1e-9)


def test_unit_file_page_and_trajectory_show_the_same(tmp_path: Path) -> None:
    world, path = world_of(car() + WALL), tmp_path / "hit.mcap"
    shown: list[tuple[float, float]] = []
    view = WorldStage(world)
    view.take()
    live: list[Array] = []
    with WorldRecorder(world, path, rate=None) as recorder:
        recorder.sample()
        for _ in range(100):
            world.step()
            recorder.sample()
            live.append(view.row())
            reading = world.vehicles["v"].sensors["imu"]
            shown.append((math.nan, math.nan) if reading is None else reading[:2])
    recording = read(path)
    run = recording.trajectory("v")
    accelerations = np.column_stack([run["a_x"], run["a_y"]])[1:]
    felt = np.array(shown)
    late = ~np.isnan(felt[:, 0])
    assert late.sum() >= 98
    np.testing.assert_allclose(felt[late], accelerations[late], rtol=1e-9, atol=1e-9)
    film = recording.film()
    place = film.stage.body("v").channels["a_x"]
    assert film.stage.channels[place].role == "measured"
    np.testing.assert_array_equal(film.rows[1:, place], accelerations[:, 0].astype(np.float32))
    assert np.array(live)[:, place].tolist() == accelerations[:, 0].tolist()
    recording.to_parquet(tmp_path / "hit")
    table = sp.Trajectory.from_parquet(tmp_path / "hit" / "v.parquet")
    assert table["a_x"].tolist() == run["a_x"].tolist()


def test_a_perfect_unit_feels_what_the_states_say(tmp_path: Path) -> None:
    text = (car() + WALL).replace(imu(period=0.01), "")
    run = driven(world_of(text), tmp_path / "hit.mcap", None).trajectory("v")
    shown = messages(tmp_path / "hit.mcap", "/v/imu")
    assert len(shown) == len(run)
    assert [m.value.linear_acceleration.x for m in shown] == run["a_x"].tolist()


def test_who_is_put_elsewhere_feels_nothing(tmp_path: Path) -> None:
    world = world_of(car(pose="0 0 0"))
    view = WorldStage(world)
    place = view.stage.body("v").channels["a_x"]
    start = view.row()
    world.step()
    world.place("v", 0.0, 50.0, 1.0)
    assert abs(view.row()[place]) < 20.0
    snapshot = world.snapshot()
    world.run(1.0)
    view.take()
    world.run(0.5)
    world.restore(snapshot)
    world.run(3.0)
    assert abs(view.row()[place]) < 20.0
    world.reset()
    assert view.row()[place] == start[place]


@pytest.mark.parametrize("kind", KINDS)
def test_every_vehicle_of_a_world_feels_a_wall(kind: str) -> None:
    world = world_of(car(pose="0 0 0", speed=6.0).replace("skidpad:four_wheel", kind) + WALL)
    vehicle, view = world.vehicles["v"], WorldStage(world)
    if "IDEAL_STEER_VEL" in kind:
        vehicle.command(velocity=6.0)
    x, y = vehicle.built.geometry.centre_of_mass
    body, channels = view.stage.body("v"), view.stage.channels
    accelerations = {
        channels[k].name.removeprefix("out_"): k
        for k in body.channels.values()
        if channels[k].role == "measured"
    }
    rows, yaws, velocities = [view.row()], [0.0], [(6.0, 0.0)]
    for _ in range(120):
        world.step()
        rows.append(view.row())
        yaw, v_x, v_y, omega = np.take(vehicle.truth, [3, 6, 7, 8])
        yaws.append(yaw)
        velocities.append((v_x - omega * y, v_y + omega * x))
    assert world.contact_events
    yaw, table = np.array(yaws), np.array(rows)
    felt = [table[:, accelerations[name]] for name in ("a_x", "a_y")]
    assert np.hypot(*felt).max() > 40.0
    velocity = in_world(yaw, *np.array(velocities).T)
    own = gained(world.dt * np.arange(len(rows)), yaw, *felt)
    np.testing.assert_allclose(own, velocity[:, 1:] - velocity[:, :1], atol=1e-6)


@pytest.mark.parametrize("kind", ["differential", "skidpad:DELAY_STEER_ACC"])
def test_an_acceleration_that_is_a_state_is_recorded_next_to_what_is_felt(
    tmp_path: Path, kind: str
) -> None:
    text = car(pose="0 0 0").replace("skidpad:four_wheel", kind).replace(imu(period=0.01), "")
    run = driven(world_of(text + WALL), tmp_path / "hit.mcap", None).trajectory("v")
    assert abs(run["a_x"]).max() < 40.0 < abs(run["out_a_x"]).max()
    shown = messages(tmp_path / "hit.mcap", "/v/imu")
    assert [m.value.linear_acceleration.x for m in shown] == run["out_a_x"].tolist()
