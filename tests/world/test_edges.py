"""Vehicles that drive over edges, against the closed forms of free fall."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.scene import Scene
from world.test_steep import CONTROLLERS
from world.worlds import world

g = 9.81
HEIGHTS = (0.15, 0.3, 0.67)
EDGE = 1.0
"""Where the upper ground ends, in m along x."""
HALF = 0.2
"""Of the points on which the two wheels stand, ahead of and behind the axle, in m."""


def plateau(h: float) -> str:
    return (
        "<element class='horizontal_plane'><x_min>-60</x_min><x_max>1</x_max><y_min>-60</y_min>"
        f"<y_max>60</y_max><z>{h}</z></element>"
    )


def bank(h: float) -> str:
    """An elevation map that falls by h between x = 1 m and x = 1.5 m."""
    return elevation([[z] * 40 for z in [h] * 23 + [0.0] * 60], -10.0, -5.0, 0.5)


def elevation(heights: Any, x: float, y: float, resolution: float) -> str:
    rows = ";".join(" ".join(f"{z:.5f}" for z in row) for row in heights)
    return (
        f"<element class='elevation_map'><resolution>{resolution}</resolution>"
        f"<corner_min_x>{x}</corner_min_x><corner_min_y>{y}</corner_min_y>"
        f"<elevation_data_matrix>[{rows}]</elevation_data_matrix></element>"
    )


def scene(dynamics: str, ground: str, h: float, v: float, dt: float, **options: Any) -> Scene:
    yaw = options.pop("yaw", 0.0)
    x, y = -3.0 * math.cos(yaw), -3.0 * math.sin(yaw)
    robot = (
        f"<vehicle name='r'><init_pose3d>{x} {y} {h} {math.degrees(yaw)} 0 0</init_pose3d>"
        f"<init_vel>{v} 0 0</init_vel>{dynamics}</vehicle>"
    )
    return world(f"<simul_timestep>{dt}</simul_timestep>{robot}{ground}", **options)


def robot(kind: str = "differential") -> str:
    return f"<dynamics class='{kind}'>{CONTROLLERS[kind]}</dynamics>"


def car(name: str) -> str:
    return f"<dynamics class='skidpad:{name}'/>"


COASTING = (
    "<dynamics class='skidpad:four_wheel'><C_r0>0</C_r0><C_r1>0</C_r1><C_r2>0</C_r2></dynamics>"
)


def fallen(t: float) -> float:
    return 0.5 * g * max(t, 0.0) ** 2


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.01])
@pytest.mark.parametrize("h", HEIGHTS)
def test_a_robot_falls_as_a_stone_does(h: float, dt: float) -> None:
    """Ends that leave at different times fall alone: the fall lasts sqrt(2 h / g), over a range of
    v sqrt(2 h / g) from the edge."""
    v = 4.0
    made = sp.World(scene(robot(), plateau(h), h, v, dt))
    made.vehicles["r"].command(v=v, omega=0.0)
    lasts = math.sqrt(2.0 * h / g)
    seen, left, last = [], math.nan, 0.0
    for _ in range(round(1.6 / dt)):
        made.step()
        truth = made.vehicles["r"].truth
        if math.isnan(left) and truth.x + HALF > EDGE:
            left = made.time - (truth.x + HALF - EDGE) / v
        front = h - fallen(made.time - left) if left == left else h
        rear = h - fallen(made.time - left - 2.0 * HALF / v) if left == left else h
        front, rear = max(front, 0.0), max(rear, 0.0)
        late = 1.05 * g * lasts * dt + 1e-9
        assert truth.z == pytest.approx(0.5 * (front + rear), abs=late)
        pitch = math.atan((rear - front) / (2.0 * HALF))
        assert truth.pitch == pytest.approx(pitch, abs=2.0 * late / (2.0 * HALF))
        if made.is_flying("r"):
            seen.append((truth.v_x, truth.v_y, truth.omega))
        if truth.z > 0.0:
            last = truth.x
    assert last - HALF - EDGE == pytest.approx(v * lasts, abs=3.0 * v * dt + 0.01 * v * lasts)
    assert len(seen) * dt == pytest.approx(lasts - 2.0 * HALF / v, abs=3.0 * dt)
    assert np.ptp(seen, axis=0) == pytest.approx(0.0, abs=1e-12)
    assert not made.contact_events


def steps(made: sp.World, count: int) -> list[Any]:
    truths = [made.vehicles["r"].truth]
    for _ in range(count):
        made.step()
        truths.append(made.vehicles["r"].truth)
    return truths


def check_continuous(truths: list[Any], h: float, dt: float, *, half: float = HALF) -> None:
    """No step is longer than the way of the speed, fallen speed included, and some millimetres."""
    speed = max(math.hypot(t.v_x, t.v_y) for t in truths)
    down = math.sqrt(2.0 * g * h)
    for a, b in itertools.pairwise(truths):
        assert math.dist(a[:2], b[:2]) <= speed * dt + 0.001
        assert abs(b.z - a.z) <= (down + speed) * dt + 0.003
        assert abs(b.pitch - a.pitch) <= ((down + speed) * dt + 0.003) / half
        assert abs(b.roll - a.roll) <= ((down + speed) * dt + 0.003) / half


@pytest.mark.parametrize("yaw", [0.0, 0.6, 1.2])
@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize("h", HEIGHTS)
def test_nothing_jumps_at_an_edge(kind: str, h: float, yaw: float) -> None:
    dt = 0.005
    made = sp.World(scene(robot(kind), plateau(h), h, 1.5, dt, yaw=yaw))
    made.vehicles["r"].command(v=1.5, omega=0.0)
    truths = steps(made, 1700)
    check_continuous(truths, h, dt)
    assert truths[-1].z == 0.0
    assert not made.contact_events
    across = [abs(t.v_y) for t in truths]
    assert max(across) < 0.3


@pytest.mark.parametrize("yaw", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("h", HEIGHTS)
@pytest.mark.parametrize("v", [3.0, 12.0])
def test_a_coasting_car_keeps_its_momentum_over_an_edge(v: float, h: float, yaw: float) -> None:
    """The ground is level on both sides: it pushes up alone."""
    made = sp.World(scene(COASTING, plateau(h), h, v, 0.005, yaw=yaw))
    truths = steps(made, round(12.0 / v / 0.005))
    check_continuous(truths, h, 0.005)
    end = truths[-1]
    assert end.z == 0.0
    assert (end.v_x, end.v_y, end.omega, end.yaw) == pytest.approx((v, 0.0, 0.0, yaw), abs=1e-9)
    way = end.x - truths[0].x, end.y - truths[0].y
    assert way == pytest.approx((12.0 * math.cos(yaw), 12.0 * math.sin(yaw)), abs=0.02)


CARS = (
    "four_wheel",
    "formula_student",
    "two_track",
    "single_track",
    "kinematic_bicycle",
    "DELAY_STEER_ACC",
    "ackermann_truck",
)


@pytest.mark.filterwarnings("ignore:slopes do not pull")
@pytest.mark.parametrize("name", CARS)
def test_whatever_a_model_is_it_flies_on_straight(name: str) -> None:
    """Also with its wheels turned, its motors at work and its set-points elsewhere."""
    made = sp.World(scene(car(name), plateau(0.67), 0.67, 12.0, 0.005))
    handle = made.vehicles["r"]
    flight: list[Any] = []
    for _ in range(250):
        made.step()
        if made.is_flying("r"):
            flight.append((*handle.truth[:2], handle.truth.yaw, *made.motion()[0, 3:]))
            if len(flight) == 2:
                handle.drive(sp.Demand(steer=0.2, a=-3.0, v=1.0, omega=1.0))
    assert len(flight) >= 5
    ways = np.diff(flight[1:], axis=0)[:, :3] / 0.005
    assert np.ptp(ways, axis=0) == pytest.approx(0.0, abs=1e-9)
    assert ways[0, 0] > 5.0


@pytest.mark.parametrize("h", HEIGHTS)
@pytest.mark.parametrize("kind", CONTROLLERS)
def test_a_bank_of_an_elevation_map_is_an_edge_too(kind: str, h: float) -> None:
    made = sp.World(scene(robot(kind), bank(h), h, 1.5, 0.005))
    made.vehicles["r"].command(v=1.5, omega=0.0)
    truths = steps(made, 1200)
    check_continuous(truths, h, 0.005)
    assert truths[-1].z == 0.0
    assert not made.contact_events


def test_energy_never_grows_over_an_edge() -> None:
    """Of a car without drive or resistance: kinetic energy, of the fall too, and height."""
    for h in HEIGHTS:
        for yaw in (0.0, 0.7):
            made = sp.World(scene(COASTING, plateau(h), h, 6.0, 0.002, yaw=yaw))
            truths = steps(made, 1000)
            z = np.array([t.z for t in truths])
            plane = np.array([0.5 * (t.v_x**2 + t.v_y**2) for t in truths])
            fall = 0.5 * (np.diff(z) / 0.002) ** 2
            energy = plane[1:] + fall + g * 0.5 * (z[1:] + z[:-1])
            assert energy.max() <= 0.5 * 6.0**2 + g * h + 0.02
            assert energy[-1] == pytest.approx(0.5 * 6.0**2, abs=1e-6)


def test_a_driven_robot_rolls_over_hills_and_off_their_map() -> None:
    """An elevation map of smooth hills up to 0.67 m whose end is a cliff."""
    x, y = np.meshgrid(np.arange(0.0, 12.0, 0.25), np.arange(0.0, 12.0, 0.25), indexing="ij")
    z = 0.67 * (0.5 - 0.5 * np.cos(0.9 * x) * np.cos(0.7 * y))
    hills = elevation(z, -6.0, -6.0, 0.25)
    for kind in CONTROLLERS:
        made = sp.World(scene(robot(kind), hills, 0.0, 1.5, 0.005))
        made.vehicles["r"].command(v=1.5, omega=0.05)
        made.step()
        truths = steps(made, 1900)
        check_continuous(truths, 0.67, 0.005)
        told = [truth.z for truth in truths]
        assert max(told) > 0.4
        assert told[-1] == 0.0
        assert not made.contact_events


@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize("yaw", [0.0, -0.53])
@pytest.mark.parametrize("way", [1.0, 1.6])
def test_a_robot_that_turns_back_astride_an_edge_does_not_jump(
    kind: str, yaw: float, way: float
) -> None:
    """Wheels that have fallen stand before a wall then."""
    h, dt = 0.4, 0.005
    text = (
        f"<simul_timestep>{dt}</simul_timestep><vehicle name='r'><init_pose3d>0 0.3 {h} "
        f"{math.degrees(yaw)} 0 0</init_pose3d><init_vel>0.3 0 0</init_vel>{robot(kind)}</vehicle>"
    )
    made = sp.World(world(text + plateau(h)))
    made.vehicles["r"].command(v=0.3, omega=0.0)
    truths = steps(made, round(way / 0.3 / dt))
    made.vehicles["r"].command(v=-0.3, omega=0.1)
    truths += steps(made, 400)
    speed = max(math.hypot(t.v_x, t.v_y) for t in truths)
    # The obstacle that stops a wheel there threw robots back by 15 to 38 mm.
    assert max(math.dist(a[:2], b[:2]) for a, b in itertools.pairwise(truths)) < speed * dt + 0.006
    assert max(abs(a.yaw - b.yaw) for a, b in itertools.pairwise(truths)) < 0.02


def test_what_is_recorded_falls_too() -> None:
    made = sp.World(scene(robot(), plateau(0.67), 0.67, 4.0, 0.005))
    made.vehicles["r"].command(v=4.0, omega=0.0)
    told = []
    for _ in range(400):
        made.step()
        told.append(made.attitudes()[0])
    z, pitch, _ = np.array(told).T
    assert np.abs(np.diff(z)).max() < (math.sqrt(2.0 * g * 0.67) + 0.5) * 0.005
    assert (z[0], z[-1]) == (0.67, 0.0)
    assert np.abs(np.diff(pitch)).max() < 0.06


def test_an_inertial_unit_feels_nothing_in_flight() -> None:
    imu = "<sensor class='imu' name='imu'><sensor_period>0.005</sensor_period></sensor>"
    quiet = "".join(
        f"<{name}>0</{name}>"
        for name in (
            "linear_acceleration_std_noise",
            "angular_velocity_std_noise",
            "linear_acceleration_white_noise_std_noise",
            "angular_velocity_white_noise_std_noise",
        )
    )
    unit = imu.replace("</sensor>", quiet + "</sensor>")
    made = sp.World(scene(COASTING + unit, plateau(0.67), 0.67, 12.0, 0.005))
    felt = []
    for _ in range(200):
        flew = made.is_flying("r")
        made.step()
        if flew and made.is_flying("r"):
            felt.append(made.vehicles["r"].sensors["imu"][:3])
    assert len(felt) > 10
    assert np.abs(felt).max() < 0.05


def in_flight() -> sp.World:
    made = sp.World(scene(robot(), plateau(0.67), 0.67, 4.0, 0.002))
    made.vehicles["r"].command(v=4.0, omega=0.0)
    while not (made.is_flying("r") and made.vehicles["r"].truth.z < 0.6):
        made.step()
    return made


def test_a_moment_in_flight_comes_back() -> None:
    made = in_flight()
    other, moment = copy.deepcopy(made), made.snapshot()
    ends = [steps(one, 200) for one in (made, other)]
    made.restore(moment)
    ends.append(steps(made, 200))
    assert ends[0] == ends[1] == ends[2]


def test_one_that_is_put_elsewhere_in_flight_stands_there() -> None:
    made = in_flight()
    made.place("r", -2.0, 1.0, 0.0)
    assert not made.is_flying("r")
    made.vehicles["r"].command(v=0.0)
    made.run(0.1)
    truth = made.vehicles["r"].truth
    assert (truth.x, truth.y) == pytest.approx((-2.0, 1.0))
    # It is taken to stand on the lower ground, as it does at the start of a world.
    assert truth.z == 0.0


def test_a_wall_stops_one_in_flight() -> None:
    wall = (
        "<block name='wall'><static>true</static><init_pose>2 0 0</init_pose><zmax>5</zmax>"
        "<shape><pt>0 -3</pt><pt>1 -3</pt><pt>1 3</pt><pt>0 3</pt></shape></block>"
    )
    made = sp.World(scene(robot(), plateau(0.67) + wall, 0.67, 4.0, 0.002))
    made.vehicles["r"].command(v=4.0, omega=0.0)
    truths = steps(made, 1500)
    assert max(t.x for t in truths) < 1.7
    assert truths[-1].z == 0.0
    assert max(math.hypot(t.v_x, t.v_y) for t in truths) < 4.05
    event = made.contact_events[0]
    assert (event.a, event.b) == ("r", "wall")


def test_upstreams_vehicles_are_on_the_ground_at_once() -> None:
    made = sp.World(scene(robot("ackermann"), plateau(0.3), 0.3, 1.5, 0.002, compat="upstream"))
    made.vehicles["r"].command(v=1.5, omega=0.0)
    z = [truth.z for truth in steps(made, 2500)]
    assert min(np.diff(z)) < -0.1
