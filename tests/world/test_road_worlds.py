"""Worlds on a road: the bits of a Simulator on it, closed forms, and who feels what of it."""

from __future__ import annotations

import math
import pickle
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.road import Patch
from skidpad.world.scene import (
    Pose,
    Scene,
    Settings,
    VehicleSpec,
    Velocity,
    WorldError,
    WorldWarning,
)
from world.grounds import grade, plane
from world.worlds import world

G = 9.81
ROBOT = (
    "<vehicle name='r'><init_pose>0 0 {yaw}</init_pose><dynamics class='differential'>"
    "<controller class='twist_ideal'/></dynamics></vehicle>"
)
HILLS = sp.Road.waves(1.0, 60.0, yaw=0.3)


def scene(vehicle: sp.Vehicle, v: float = 0.0) -> Scene:
    spec = VehicleSpec("c", Pose(), vehicle, velocity=Velocity(v_x=v, frame="body"))
    return Scene(settings=Settings(timestep=0.005), vehicles=(spec,))


@cache
def four_wheel() -> sp.Vehicle:
    return sp.vehicles.four_wheel(C_r0=0.0, C_r1=0.0, C_r2=0.0)


@pytest.mark.slow_cases("four_wheel-")
@pytest.mark.parametrize(
    ("vehicle", "commands"),
    [
        (four_wheel(), {"steer": 0.03, "tau_rl": 20.0, "tau_rr": 20.0}),
        (sp.vehicles.commonroad_ks(), {"steer_rate": 0.05, "a": 0.5}),
        pytest.param(sp.vehicles.two_track(), {"steer": 0.03}, marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_vehicle_alone_moves_as_in_a_simulator(
    vehicle: sp.Vehicle, commands: dict[str, float]
) -> None:
    """To the last bit, on heights and grip."""
    road = HILLS if vehicle.name == "commonroad_ks" else HILLS.with_grip(0.8)
    made = sp.World(scene(vehicle, 12.0), road=road)
    made.vehicles["c"].command(commands)
    on = sp.vehicles.on_road(vehicle, road)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of steps that are long at low speed
        sim = sp.Simulator(on, dt=0.005, substeps=5, integrator="rk4")
    placed = on.body.placed(
        on.State(),
        sp.core.body.Pose(0.0, 0.0, 0.0),
        sp.core.body.Velocity(12.0, 0.0, 0.0),
        on.params,
    )
    settle = on.model.settle
    sim.reset(placed if settle is None else settle(placed, on.params))
    for _ in range(40):
        made.step()
        sim.step(commands)
    assert made.vehicles["c"].state == sim.state
    z, pitch, _ = made.attitude("c")
    assert z == pytest.approx(HILLS.height(sim.state.x, sim.state.y), abs=0.02)
    assert pitch != 0.0


@pytest.mark.slow
def test_the_brakes_of_a_car_hold_m_g_sin_on_a_slope() -> None:
    slope = 0.15
    made = sp.World(scene(four_wheel()), road=sp.Road.plane(slope=slope))
    car = made.vehicles["c"].vehicle
    force = car.params.m * G * math.sin(math.atan(slope))
    tau = 0.25 * force / car.params.C_m0
    made.vehicles["c"].command({f"tau_{wheel}": tau for wheel in ("fl", "fr", "rl", "rr")})
    made.run(1.0)
    # The motors need some milliseconds to get there.
    assert abs(made.vehicles["c"].truth.v_x) < 0.02
    made.vehicles["c"].command({f"tau_{wheel}": 0.0 for wheel in ("fl", "fr", "rl", "rr")})
    before = made.vehicles["c"].truth
    made.run(1.0)
    after = made.vehicles["c"].truth
    assert 0.5 * after.v_x**2 == pytest.approx(
        0.5 * before.v_x**2 + G * (before.z - after.z), rel=0.01
    )
    assert after.z == pytest.approx(slope * after.x)
    assert after.pitch == pytest.approx(-math.atan(slope))


@pytest.mark.slow
def test_a_banked_curve_is_driven_without_side_force() -> None:
    """tan θ = v² / (g R) in a bowl: the tyres push nobody aside, and it stays on its circle."""
    radius, v = 120.0, 18.0
    tangent = v * v / (G * radius)
    x, y = np.meshgrid(np.arange(-20.0, 160.0, 2.0), np.arange(-20.0, 260.0, 2.0), indexing="ij")
    road = sp.Road.grid(tangent * np.hypot(x, y - radius), (-20.0, -20.0), 2.0, method="cubic")
    car = sp.vehicles.single_track(C_drag=0.0)
    made = sp.World(scene(car, v), road=road)
    base = car.params.l_f + car.params.l_r
    made.vehicles["c"].command(steer=base / radius * math.cos(math.atan(tangent)))
    made.run(4.0)
    truth, shown = made.vehicles["c"].truth, made.vehicles["c"].outputs()
    assert math.hypot(truth.x, truth.y - radius) == pytest.approx(radius, abs=1.0)
    assert abs(shown.F_y_f + shown.F_y_r) < 0.05 * car.params.m * v * v / radius
    # The right side, outside, is high: the left one is down.
    assert truth.roll == pytest.approx(-math.atan(tangent), rel=0.02)


def test_robots_go_along_the_road_and_those_that_feel_nothing_follow_its_height() -> None:
    slope = 0.3
    made = sp.World(world(ROBOT.format(yaw=0)), road=sp.Road.plane(slope=slope))
    made.vehicles["r"].command(v=1.0)
    made.run(2.0)
    truth = made.vehicles["r"].truth
    assert math.hypot(truth.x, truth.z) == pytest.approx(2.0, rel=1e-6)
    with pytest.warns(WorldWarning, match=r"c \(kinematic_bicycle\)"):
        deaf = sp.World(
            scene(sp.vehicles.kinematic_bicycle(), 2.0), road=sp.Road.plane(slope=slope)
        )
    deaf.run(0.5)
    truth = deaf.vehicles["c"].truth
    assert truth.z == pytest.approx(slope * truth.x)
    assert truth.pitch == pytest.approx(-math.atan(slope))


def test_whom_grip_does_nothing_to_is_named() -> None:
    icy = sp.Road.plane(slope=0.1).with_grip(0.3)
    with pytest.warns(WorldWarning, match=r"grip .* c \(commonroad_ks\)"):
        made = sp.World(scene(sp.vehicles.commonroad_ks()), road=icy)
    made.run(0.5)
    # Its heights are felt all the same.
    assert made.vehicles["c"].truth.v_x == pytest.approx(
        -0.5 * G * math.sin(math.atan(0.1)), rel=1e-9
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sp.World(scene(four_wheel()), road=icy)


def test_a_vehicle_with_a_road_of_its_own_is_named_in_a_level_world() -> None:
    own = sp.vehicles.on_road(sp.vehicles.commonroad_ks(), sp.Road.plane(slope=0.1))
    with pytest.warns(WorldWarning, match=r"road of their own.* c \(commonroad_ks\)"):
        sp.World(scene(own))
    made = sp.World(scene(own), road=sp.Road.plane(slope=0.2))
    assert made.vehicles["c"].built.vehicle.params.road.surface.slope == 0.2


def test_other_ground_over_a_road_counts_where_it_is() -> None:
    """On a level floor over a sloping road nothing pulls; where it ends the road does."""
    floor = plane(0.25, (-40.0, 2.0, -9.0, 9.0))
    road = sp.Road.plane(slope=0.02)
    spec = "<vehicle name='c'><init_pose>{x} 0 0</init_pose><dynamics class='skidpad:four_wheel'>"
    end = "<C_r0>0</C_r0><C_r1>0</C_r1><C_r2>0</C_r2></dynamics></vehicle>"
    for x, expected in ((-3.0, 0.0), (5.0, -0.5 * G * math.sin(math.atan(0.02)))):
        made = sp.World(world(spec.format(x=x) + end + floor), road=road)
        made.run(0.5)
        truth = made.vehicles["c"].truth
        assert truth.v_x == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert truth.z == pytest.approx(0.25 if x < 0.0 else 0.02 * truth.x)


def test_the_worlds_gravity_counts_on_a_road() -> None:
    moon = "<gravity>1.62</gravity>"
    for name in ("four_wheel", "commonroad_ks"):
        dynamics = f"<dynamics class='skidpad:{name}'/>"
        car = f"<vehicle name='c'><init_pose>0 0 0</init_pose>{dynamics}</vehicle>"
        made = sp.World(world(moon + car), road=sp.Road.plane(slope=0.1))
        assert made.vehicles["c"].built.vehicle.params.g == 1.62


def test_a_world_file_names_an_opencrg_file(tmp_path: Path) -> None:
    lines = ["$ROAD_CRG", "REFERENCE_LINE_INCREMENT = 1.0", "$", "$KD_DEFINITION", "#:LRFI"]
    lines += [f"D:long section at v = {v:.3f},m" for v in (-4.0, 4.0)] + ["$", "$$$$"]
    lines += [f"{0.05 * k:10.7f}{0.05 * k:10.7f}" for k in range(200)]
    (tmp_path / "ramp.crg").write_text("\n".join(lines) + "\n")
    element = "<element class='road'><file>ramp.crg</file><grip>0.5</grip></element>"
    car = (
        "<vehicle name='c'><init_pose>20 0 0</init_pose>"
        "<dynamics class='skidpad:four_wheel'/></vehicle>"
    )
    made = sp.World(world(car + element, folder=tmp_path))
    assert made.scene.road is not None
    assert made.attitude("c")[0] == pytest.approx(1.0, abs=0.05)
    assert made.scene.road.grip(3.0, 0.0) == 0.5
    with pytest.raises(WorldError, match=r"no\.crg does not exist"):
        world("<element class='road'><file>no.crg</file></element>", folder=tmp_path)
    with pytest.raises(WorldError, match="<file> is missing"):
        world("<element class='road'/>", folder=tmp_path)


def test_a_world_on_a_road_is_copied_reset_and_restored() -> None:
    made = sp.World(scene(four_wheel(), 10.0), road=HILLS)
    made.run(0.1)
    moment = made.snapshot()
    made.run(0.1)
    state = made.vehicles["c"].state
    made.restore(moment)
    made.run(0.1)
    assert made.vehicles["c"].state == state
    again = pickle.loads(pickle.dumps(made))
    assert again.vehicles["c"].state == state
    assert again.attitude("c") == made.attitude("c")
    assert again.scene.road == HILLS


def test_mistakes_are_named() -> None:
    for wrong in ("track.crg", 0.1, HILLS.record):
        with pytest.raises(sp.errors.InvalidValue, match="road must be a Road"):
            sp.World(scene(four_wheel()), road=wrong)  # pyright: ignore[reportArgumentType]
    both = scene(four_wheel()).on_road(HILLS)
    with pytest.raises(sp.errors.InvalidValue, match="2 roads"):
        Scene(elements=both.elements * 2)


def test_an_elevation_map_is_a_road_of_the_same_heights() -> None:
    from skidpad.world.terrain import Terrain

    described = world(grade(0.1, -0.05))
    (element,) = described.elements
    x, y = np.random.default_rng(1).uniform(-30.0, 30.0, (2, 50))
    terrain = Terrain(described)
    np.testing.assert_allclose(
        element.road.height(x, y),  # pyright: ignore[reportAttributeAccessIssue]
        terrain.height(x, y, np.full(50, np.inf)),
        atol=1e-12,
    )


def test_a_robot_with_ice_under_its_left_wheel_turns_left() -> None:
    """The left wheel slips, the right one drives on."""
    ice = Patch(value=0.0, x=0.0, y=1.0, length=50.0, width=1.9)
    made = sp.World(
        world(ROBOT.format(yaw=0).replace("twist_ideal", "twist_pid")),
        road=sp.Road().with_grip([ice]),
    )
    made.vehicles["r"].command(v=1.0)
    made.run(0.5)
    assert made.vehicles["r"].truth.yaw > 0.05
