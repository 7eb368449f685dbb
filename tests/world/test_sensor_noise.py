"""Noise of sensors in a world: its size, whose it is, and that it comes back with the seed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import skidpad as sp
from skidpad.geometry.maps import Grid
from skidpad.world.scene import OccupancyGrid, Scene
from world.sensor_worlds import IDEAL, after, imu, laser, robot, shown
from world.worlds import world

RARE = 1e-4
"""Chance that a right sensor with another seed would not pass; the seeds here are fixed."""
ROOM = "<walls><shape><pt>5 -30</pt><pt>5 30</pt><pt>-60 5</pt><pt>60 5</pt></shape></walls>"
WALL = "<walls><shape><pt>5 -30</pt><pt>5 30</pt></shape></walls>"
FAST = "<simul_timestep>0.02</simul_timestep>"
GEO = "<georeference><latitude>36.8</latitude><longitude>-2.4</longitude></georeference>"


def assert_normal(errors: Any, sigma: float) -> None:
    """Whether errors have mean 0 and this standard deviation, with about the chance `RARE`."""
    errors = np.asarray(errors).ravel()
    low, high = chi2.ppf([0.5 * RARE, 1.0 - 0.5 * RARE], len(errors))
    assert low < np.sum((errors / sigma) ** 2) < high
    assert abs(errors.mean()) < 3.9 * sigma / math.sqrt(len(errors))


def readings(scene: Scene, sensor: str, count: int, seed: int = 3) -> list[Any]:
    """The next readings of a sensor, each once."""
    made = sp.World(scene, seed=seed)
    found: list[Any] = []
    while len(found) < count:
        made.step()
        new = shown(made, sensor)
        if new is not None and (not found or new.stamp > found[-1].stamp):
            found.append(new)
    return found


def quick(sensor: str) -> str:
    """The sensor, read at every step."""
    return sensor.replace("</sensor>", "<sensor_period>0</sensor_period></sensor>")


@pytest.mark.parametrize("sigma", [0.02, 0.3])
def test_ranges_err_as_declared(sigma: float) -> None:
    text = FAST + robot(quick(laser(90, 200, sigma))) + WALL
    scans = readings(world(text), "scan", 20)
    exact = readings(world(FAST + robot(quick(laser(90, 200))) + WALL), "scan", 1)[0]
    errors = np.array([scan.ranges - exact.ranges for scan in scans])
    assert np.isfinite(errors).all()
    assert_normal(errors, sigma)
    # From ray to ray and from scan to scan there is nothing in common.
    for a, b in ((errors[:, :-1], errors[:, 1:]), (errors[:-1], errors[1:])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.07


@pytest.mark.parametrize("degrees", [0.05, 2.0])
def test_angles_err_as_declared(degrees: float) -> None:
    """The front of a wall at x = 4.95 m tells from the range along which angle a ray went."""
    text = FAST + robot(quick(laser(60, 301, shake=degrees))) + WALL
    angles = np.linspace(-math.pi / 6.0, math.pi / 6.0, 301)
    aside = np.abs(angles) > 0.2
    scans = readings(world(text), "scan", 30)
    went = np.arccos(4.95 / np.array([scan.ranges[aside] for scan in scans]))
    assert_normal(went * np.sign(angles[aside]) - angles[aside], math.radians(degrees))


def grid(where: tuple[float, float]) -> OccupancyGrid:
    return OccupancyGrid(Grid(np.ones((4, 400), bool), 0.05, (where[0], where[1], 0.0)))


OBSTACLES = {
    "wall": "<walls><shape><pt>-10 -4</pt><pt>10 -4</pt><pt>-9 9</pt><pt>9 9</pt></shape></walls>",
    "block": "<block><init_pose>0 -4 0</init_pose><mass>900</mass>"
    "<shape><pt>-9 -0.5</pt><pt>9 -0.5</pt><pt>9 0</pt><pt>-9 0</pt></shape></block>",
    "vehicle": robot(name="o", pose="0 -4 0"),
    "grid": "",
}


@pytest.mark.parametrize("kind", OBSTACLES)
@pytest.mark.parametrize("compat", [None, "upstream"])
def test_all_obstacles_are_seen_along_rays_that_err_but_upstream_maps_only(
    kind: str, compat: str | None
) -> None:
    def scan(shake: float) -> Any:
        text = robot(laser(20, 50, shake=shake), pose="0 0 -90") + OBSTACLES[kind]
        scene = world(text, compat=compat)
        if kind == "grid":
            scene = dataclasses.replace(scene, elements=(grid((-10.0, -4.0)),))
        return shown(after(scene, 0.2), "scan").ranges

    exact, shaken = scan(0.0), scan(0.5)
    errs = compat is None or kind == "grid"
    assert (not np.array_equal(exact, shaken)) == errs
    # Seen from 4 m, half a degree at most 10 degrees aside is some 7 mm.
    seen = np.isfinite(exact) & np.isfinite(shaken)
    assert seen.sum() > 10
    assert np.abs(exact[seen] - shaken[seen]).max() < 0.1


def test_upstream_sees_the_nearer_of_map_and_bodies() -> None:
    text = robot(laser(20, 21, shake=0.5), pose="0 0 -90") + robot(name="o", pose="0.5 -3 0")
    scene = world(text, compat="upstream")
    mapped = dataclasses.replace(scene, elements=(grid((-10.0, -4.0)),))
    ranges = shown(after(mapped, 0.2), "scan").ranges
    body = shown(after(scene, 0.2), "scan").ranges
    met = np.isfinite(body)
    assert 5 < met.sum() < 15
    np.testing.assert_array_equal(ranges[met], body[met])
    assert (ranges[~met] > 3.7).all()
    assert np.isfinite(ranges).all()


def test_what_is_not_seen_stays_so() -> None:
    scan = shown(after(world(robot(laser(350, 99, 0.5, 2.0)) + WALL), 0.2), "scan").ranges
    assert np.isinf(scan).sum() > 40
    assert not np.isnan(scan).any()


RATE, FORCE, LEAN = 0.03, 0.2, 0.02
NOISY = (
    f"<angular_velocity_white_noise_std_noise>{RATE}</angular_velocity_white_noise_std_noise>"
    f"<linear_acceleration_white_noise_std_noise>{FORCE}"
    "</linear_acceleration_white_noise_std_noise><measure_orientation>true</measure_orientation>"
    f"<orientation_std_noise>{LEAN}</orientation_std_noise>"
)


def test_an_inertial_unit_errs_as_declared() -> None:
    found = readings(world(FAST + robot(imu(NOISY, 0.0), control=IDEAL)), "imu", 400)
    shown_ = np.array([list(one)[:9] for one in found])
    shown_[:, 2] -= 9.81
    for columns, sigma in ((slice(0, 3), FORCE), (slice(3, 6), RATE), (slice(6, 9), LEAN)):
        assert_normal(shown_[:, columns], sigma)
    mixed = np.corrcoef(shown_.T) - np.eye(9)
    assert np.abs(mixed).max() < 0.2


def test_a_receiver_errs_as_declared() -> None:
    gps = (
        "<sensor class='gnss' name='gps'><sensor_period>0</sensor_period>"
        "<horizontal_std_noise>1.5</horizontal_std_noise>"
        "<vertical_std_noise>4</vertical_std_noise></sensor>"
    )
    found = readings(world(FAST + robot(gps, control=IDEAL) + GEO), "gps", 400)
    at = np.array([one[:3] for one in found])
    assert_normal(at[:, :2], 1.5)
    assert_normal(at[:, 2], 4.0)
    # Degrees of latitude are some 111 km, and the receiver errs there as much.
    assert np.std([one.latitude for one in found]) == pytest.approx(1.5 / 111e3, rel=0.15)


def test_factors_of_odometry_are_spread_as_upstreams() -> None:
    robots = "".join(robot(name=f"r{k}", pose=f"0 {2 * k} 0", control=IDEAL) for k in range(150))
    made = sp.World(world(robots), seed=2)
    for vehicle in made.vehicles.values():
        vehicle.command(v=1.0)
    made.run(0.1)
    way = [shown(made, "odometry", name).x / made.vehicles[name].truth.x for name in made.vehicles]
    assert_normal(np.array(way) - 1.0, 0.02)


ALL = laser(90, 40, 0.1, 0.5) + imu(NOISY) + "<sensor class='gnss' name='gps'/>"
MORE = (
    "<sensor class='laser' name='another'><nrays>30</nrays></sensor>"
    "<sensor class='imu' name='second'><sensor_period>0.05</sensor_period></sensor>"
    "<sensor class='gnss' name='spare'><sensor_period>0.07</sensor_period></sensor>"
)


def seen(made: sp.World, vehicle: str = "r") -> dict[str, str]:
    readings = made.sensing.of(vehicle)
    found = {name: readings[name] or () for name in readings}
    return {name: repr([np.asarray(v).tolist() for v in found[name]]) for name in found}


def built(*parts: str, seed: int = 7) -> sp.World:
    made = sp.World(world(FAST + "".join(parts)), seed=seed)
    made.vehicles["r"].command(v=0.3, omega=0.2)
    return made


@pytest.mark.slow
def test_another_sensor_or_vehicle_changes_no_reading() -> None:
    alone, more = built(robot(ALL, control=IDEAL), ROOM, GEO), None
    # Far enough not to be seen.
    other = robot(ALL, name="a", pose="-40 -40 0")
    for sensors, rest in ((ALL + MORE, ""), (MORE + ALL, ""), (ALL, other), (ALL + MORE, other)):
        more = built(robot(sensors, control=IDEAL), rest, ROOM, GEO)
        alone.reset()
        alone.vehicles["r"].command(v=0.3, omega=0.2)
        for _ in range(40):
            alone.step()
            more.step()
            both = seen(alone), seen(more)
            assert both[0] == {name: both[1][name] for name in both[0]}
        assert "another" not in seen(alone)
    assert more is not None
    # Those of one kind do not show the same either.
    assert shown(more, "imu", "a")[:3] != shown(more, "imu", "r")[:3]


def test_the_order_of_elements_does_not_show() -> None:
    robots = [
        robot(ALL, name=n, pose=p, control=IDEAL) for n, p in (("r", "0 0 0"), ("b", "0 -3 0"))
    ]
    rest = [WALL, GEO, OBSTACLES["block"].replace("0 -4 0", "-5 6 0")]
    one, other = built(*robots, *rest), built(*rest[::-1], *robots[::-1])
    for made in (one, other):
        made.run(1.0)
    assert seen(one) == seen(other)
    assert seen(one, "b") == seen(other, "b")


@pytest.mark.parametrize("go_back", ["restore", "reset", "reset to another seed"])
def test_readings_come_back(go_back: str) -> None:
    made = built(robot(ALL + MORE, control=IDEAL), ROOM, GEO)
    made.run(0.32)
    moment, then = made.snapshot(), seen(made)
    later: list[dict[str, str]] = []
    for _ in range(30):
        made.step()
        later.append(seen(made))
    if go_back != "restore":
        made.reset(None if go_back == "reset" else 99)
        made.run(0.1)
    made.restore(moment)
    assert seen(made) == then
    assert made.seed == 7
    for expected in later:
        made.step()
        assert seen(made) == expected


def test_a_seed_gives_the_same_run_and_another_seed_another() -> None:
    made = built(robot(ALL, control=IDEAL), ROOM, GEO)

    def run(start: Callable[[], None]) -> dict[str, str]:
        start()
        made.vehicles["r"].command(v=0.3, omega=0.2)
        made.run(0.5)
        return seen(made)

    first = run(lambda: None)
    assert run(made.reset) == first
    other = run(lambda: made.reset(8))
    for name in ("scan", "imu", "gps", "odometry"):
        assert other[name] != first[name]
    assert run(lambda: made.reset(7)) == first


def test_asking_for_the_odometry_changes_no_bit_of_it() -> None:
    asked, left_alone = (built(robot(control=IDEAL)) for _ in range(2))
    for _ in range(70):
        asked.step()
        left_alone.step()
        shown(asked, "odometry")
    assert shown(asked, "odometry") == shown(left_alone, "odometry")


@pytest.mark.parametrize("period", [0.0, 0.004, 0.005, 0.012, 0.02, 0.033])
def test_when_a_sensor_is_read(period: float) -> None:
    """Upstream's rule: by the time before the step, first after a period; stamped after it."""
    text = "<simul_timestep>0.005</simul_timestep>" + robot(imu(period=period))
    made, last, due = sp.World(world(text)), 0.0, []
    stamps: list[float] = []
    for k in range(40):
        began = 0.005 * k
        if began >= last + period - 1e-6:
            last = began
            due.append(began + 0.005)
        made.step()
        reading = shown(made, "imu")
        if reading is not None and (not stamps or reading.stamp > stamps[-1]):
            stamps.append(reading.stamp)
    assert stamps == pytest.approx(due)
    assert len(due) >= 5
