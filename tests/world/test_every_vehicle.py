"""Every vehicle stands in a world as the body that it is: outline, mass, sensors, slopes."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.vehicles.wheeled.description import KINDS
from skidpad.world.scene import Pose, Scene, VehicleSpec
from world.grounds import grade
from world.worlds import world

OWN = [
    *(f"skidpad:{name}" for name in sp.vehicles.names()),
    "skidpad:IDEAL_STEER_VEL",
    "skidpad:IDEAL_STEER_ACC",
    "skidpad:IDEAL_STEER_ACC_GEARED",
    "skidpad:DELAY_STEER_VEL",
    "skidpad:DELAY_STEER_ACC",
    "skidpad:DELAY_STEER_ACC_GEARED",
    "skidpad:DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
]
KINDS = [*OWN, *KINDS]
LED = {"skidpad:IDEAL_STEER_VEL", "skidpad:DELAY_STEER_VEL", "skidpad:ackermann_truck"}
"""Those that are commanded a speed, and take no other for long."""
SENSORS = (
    "<sensor class='laser' name='scan'><fov_degrees>360</fov_degrees><nrays>5</nrays>"
    "<max_range>60</max_range><range_std_noise>0</range_std_noise><angle_std_noise_deg>0"
    "</angle_std_noise_deg></sensor><sensor class='imu' name='imu'/>"
    "<sensor class='gnss' name='gnss'/>"
)
GEO = "<georeference><latitude>47</latitude><longitude>8</longitude></georeference>"


def standing(kind: str, pose: str = "0 0 0", speed: float = 0.0, name: str = "v") -> str:
    return (
        f"<vehicle name='{name}'><init_pose>{pose}</init_pose><init_vel>{speed} 0 0</init_vel>"
        f"<dynamics class='{kind}'></dynamics>{SENSORS}</vehicle>"
    )


def world_of(text: str) -> sp.World:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sp.World(world(GEO + text))


@cache
def alone(kind: str) -> Any:
    """A vehicle of a world that nobody steps."""
    return world_of(standing(kind)).vehicles["v"]


def extent(vehicle: Any) -> tuple[float, float]:
    """How far its outline and wheels reach back and forward."""
    shape = vehicle.built.geometry
    ends = [x for outline in shape.outlines for x, _ in outline]
    ends += [wheel.x + side * wheel.radius for wheel in shape.wheels for side in (-1.0, 1.0)]
    return min(ends), max(ends)


@pytest.mark.slow_cases(
    "skidpad:DELAY_STEER_ACC",
    "skidpad:DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
    "skidpad:DELAY_STEER_VEL",
    "skidpad:IDEAL_STEER_ACC",
    "skidpad:IDEAL_STEER_ACC_GEARED",
    "skidpad:commonroad_kinematic_bicycle",
    "skidpad:commonroad_ks",
    "skidpad:commonroad_kst",
    "skidpad:IDEAL_STEER_VEL",
)
@pytest.mark.parametrize("kind", KINDS)
def test_its_nose_stops_at_a_wall(kind: str) -> None:
    wall = "<walls><shape><pt>{0} -9</pt><pt>{0} 9</pt><pt>90 -9</pt><pt>90 9</pt></shape></walls>"
    nose = extent(alone(kind))[1]
    made = world_of(standing(kind, speed=6.0) + wall.format(nose + 1.0))
    vehicle, farthest = made.vehicles["v"], 0.0
    for _ in range(150):
        if kind in LED:
            vehicle.drive(sp.Demand(v=6.0))
        made.step()
        farthest = max(farthest, vehicle.truth.x)
        assert all(math.isfinite(value) for value in vehicle.truth)
    # The wall is 0.1 m thick; the solver lets it in by some centimetres at this speed.
    assert farthest == pytest.approx(1.0 - 0.05, abs=0.06)
    assert {(e.a, e.b) for e in made.contact_events} == {("v", "wall_0001")}
    assert abs(vehicle.truth.v_x) < 0.5 or kind in LED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LED])
def test_it_hits_with_its_own_mass(kind: str) -> None:
    """A free block ahead: the momentum of both together stays, and they go on together."""
    speed, mass = 3.0, alone(kind).built.geometry.mass
    nose = extent(alone(kind))[1]
    block = (
        f"<block name='b'><mass>{mass}</mass><ground_friction>0</ground_friction>"
        f"<init_pose>{nose + 0.52} 0 0</init_pose>"
        "<shape><pt>-0.5 -0.5</pt><pt>0.5 -0.5</pt><pt>0.5 0.5</pt><pt>-0.5 0.5</pt></shape>"
        "</block>"
    )
    made = world_of(standing(kind, speed=speed) + block)
    while not made.contacts:
        made.step()
    for _ in range(2):
        made.step()
    assert made.block("b").v_x == pytest.approx(0.5 * speed, rel=0.06)


@pytest.mark.parametrize("kind", KINDS)
def test_others_see_it_where_its_outline_is(kind: str) -> None:
    watcher = standing("differential", "-30 0 0", name="watcher")
    made = world_of(standing(kind) + watcher)
    made.run(0.11)
    rays = made.vehicles["watcher"].sensors["scan"].ranges
    tail = extent(made.vehicles["v"])[0]
    trailer = made.vehicles["v"].built.geometry.trailer
    if trailer is not None:
        tail = trailer.hitch_x - trailer.drawbar + min(x for x, _ in trailer.outlines[0])
    # Straight ahead, at the middle of its tail.
    assert rays[2] == pytest.approx(30.0 + tail, abs=0.02)
    assert not np.isfinite(rays[[1, 3]]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_its_sensors_show_that_it_stands(kind: str) -> None:
    made = world_of(standing(kind, "3 4 90"))
    made.run(0.31)
    shown = made.vehicles["v"].sensors
    assert shown["imu"].f_z == pytest.approx(9.81, abs=0.1)
    assert abs(shown["imu"].f_x) < 0.1
    assert abs(shown["imu"].omega_z) < 1e-2
    assert shown["gnss"].latitude == pytest.approx(47.0, abs=1e-3)
    assert shown["odometry"].v_x == pytest.approx(0.0, abs=1e-9)
    assert not shown["bumper"].touching
    truth = made.vehicles["v"].truth
    yaw = 0.0 if kind == "skidpad:double_integrator" else 0.5 * math.pi
    assert (truth.x, truth.y, truth.yaw) == pytest.approx((3.0, 4.0, yaw), abs=1e-6)


def test_no_two_of_them_are_one_box() -> None:
    """Vehicles had one outline of 4.5 m and one mass for all of them."""
    shapes = [alone(kind).built for kind in OWN]
    lengths = {round(extent_of(built), 3) for built in shapes}
    assert len(lengths) >= 5
    assert len({round(built.inertia.mass, 1) for built in shapes}) >= 6


def extent_of(built: Any) -> float:
    x = [x for part in built.parts for x, _ in part.outline]
    return max(x) - min(x)


@pytest.mark.slow_cases("mb", "std")
@pytest.mark.parametrize(
    "name",
    ["ks", "kst", "kinematic_bicycle", "dynamic_bicycle", "st", "std", "mb", "double_integrator"],
)
def test_commonroads_cars_roll_down_a_slope(name: str) -> None:
    """Without anybody at the brake they gain g sin(slope)."""
    slope = 0.08
    full = name if name == "double_integrator" else f"commonroad_{name}"
    made = world_of(standing(f"skidpad:{full}") + grade(slope, 0.0))
    made.run(1.0)
    expected = -9.81 * math.sin(math.atan(slope))
    # The wheels of the last two take some of it for their spin.
    spins = {"std": 0.05, "mb": 0.05}.get(name, 1e-3)
    assert made.vehicles["v"].truth.v_x == pytest.approx(expected, rel=spins)


def test_a_trailer_is_met_and_seen_where_it_is() -> None:
    """It stands at a right angle to its tractor, to the right of it."""
    made = world_of(
        standing("skidpad:commonroad_kst") + standing("differential", "0.6 -30 90", name="watcher")
    )
    truck = made.vehicles["v"]
    group = truck.bodies.group
    group.state[truck.row, group.fields["hitch"]] = 0.5 * math.pi
    made.run(0.11)
    trailer = truck.built.geometry.trailer
    assert trailer is not None
    end = -trailer.drawbar + min(x for x, _ in trailer.outlines[0])
    ray = made.vehicles["watcher"].sensors["scan"].ranges[2]
    assert ray == pytest.approx(30.0 + end, abs=0.02)


def test_the_scene_may_say_another_outline() -> None:
    """A chassis in the file takes the place of the vehicle's own; one without a shape does not."""
    box = "<pt>-1 -1</pt><pt>2.5 -1</pt><pt>2.5 1</pt><pt>-1 1</pt>"
    told = f"<chassis mass='3'><shape>{box}</shape></chassis>"
    for inside, front in ((told, 2.5), ("<chassis mass='3'/>", None)):
        text = standing("skidpad:commonroad_ks").replace("></dynamics>", f">{inside}</dynamics>")
        vehicle = world_of(text).vehicles["v"]
        own = sp.vehicles.commonroad_ks().geometry
        outline = vehicle.vehicle.geometry.outlines
        assert outline == (own.outlines if front is None else outline)
        assert extent_front(vehicle.built.geometry) == front or front is None
        assert vehicle.built.inertia.mass == own.mass


def extent_front(shape: Any) -> float:
    return max(x for outline in shape.outlines for x, _ in outline)


def test_a_vehicle_without_a_body_is_told_what_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    from skidpad import vehicles

    bare = sp.VehicleFactory(replace(sp.vehicles.four_wheel.model, name="bare", body=None))
    monkeypatch.setitem(vehicles.registry._FACTORIES, "bare", bare)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(
        sp.InvalidValue, match=r"a world needs to know the body of 'bare'.*docs/bod"
    ):
        world_of(standing("skidpad:bare"))


@pytest.mark.parametrize("kind", ["skidpad:kinematic_bicycle", "skidpad:commonroad_st"])
def test_what_a_body_computes_is_read_and_written_too(kind: str) -> None:
    """Vehicles side by side whose velocity is not in their state: each has its own."""
    text = "".join(standing(kind, f"0 {9 * k} {30 * k}", 2.0 + k, f"v{k}") for k in range(3))
    made = world_of(text)
    for k in range(3):
        truth = made.vehicles[f"v{k}"].truth
        assert (truth.v_x, truth.v_y, truth.omega) == pytest.approx((2.0 + k, 0.0, 0.0))
    made.run(0.5)
    moved = made.motion()
    for k in range(3):
        yaw, speed = math.radians(30 * k), math.hypot(*moved[k, 3:5])
        assert moved[k, :2] == pytest.approx(
            (moved[k, 3] / speed * 0.5 * speed, 9 * k + 0.5 * moved[k, 4]), abs=0.3
        )
        assert moved[k, 2] == pytest.approx(yaw, abs=1e-6)


def test_what_is_no_scene_or_no_vehicle_is_told_so() -> None:
    car = sp.vehicles.commonroad_ks()
    with pytest.raises(sp.InvalidValue, match=r"got a str: World\.load reads a file"):
        sp.World("car_park.world.xml")  # pyright: ignore[reportArgumentType]
    spec = VehicleSpec("a", Pose(0.0, 0.0), sp.vehicles.commonroad_ks)  # pyright: ignore[reportArgumentType]
    with pytest.raises(sp.InvalidValue, match=r"call it: commonroad_ks\(\)"):
        sp.World(Scene(vehicles=(spec,)))
    twice = (VehicleSpec("a", Pose(0.0, 0.0), car), VehicleSpec("a", Pose(9.0, 0.0), car))
    with pytest.raises(sp.InvalidValue, match="two vehicles are named 'a'"):
        Scene(vehicles=twice)
