"""Slopes under skidpad's own vehicles, against closed forms, and who cannot be told of them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.contact.solids import Moving
from skidpad.world.ground import down
from skidpad.world.scene import WorldWarning
from skidpad.world.terrain import Terrain
from world.grounds import axes, grade, plane
from world.worlds import world

COASTING = "<C_r0>0</C_r0><C_r1>0</C_r1><C_r2>0</C_r2>"
"""Without resistance, so that gravity alone acts along the car."""


def car(name: str, inside: str = "", pose: str = "0 0 0", vehicle: str = "c") -> str:
    return (
        f"<vehicle name='{vehicle}'><init_pose>{pose}</init_pose>"
        f"<dynamics class='skidpad:{name}'>{inside}</dynamics></vehicle>"
    )


def disturbance(made: sp.World, vehicle: str = "c") -> dict[str, float]:
    handle = made.vehicles[vehicle]
    group = handle.bodies.group
    row = group.disturbances[handle.row].tolist()
    return dict(zip(group.model.Disturbance._fields, row, strict=True))


def test_down_is_where_the_axes_of_the_vehicle_say() -> None:
    rng = np.random.default_rng(5)
    for pitch, roll in rng.uniform(-1.2, 1.2, (50, 2)):
        expected = axes(0.0, pitch, roll).T @ (0.0, 0.0, -1.0)
        assert down(pitch, roll) == pytest.approx(tuple(expected[:2]), abs=1e-12)


@pytest.mark.parametrize("name", ["four_wheel"])
def test_a_car_without_resistance_falls_along_the_slope(name: str) -> None:
    slope = 0.12
    made = sp.World(world(car(name, COASTING, "0 0 0") + grade(slope, 0.0)))
    made.run(1.0)
    truth = made.vehicles["c"].truth
    assert truth.v_x == pytest.approx(-9.81 * math.sin(math.atan(slope)), rel=1e-6)
    assert truth.z == pytest.approx(slope * truth.x, abs=1e-9)
    # The other way round it is driven ahead.
    made = sp.World(world(car(name, COASTING, "0 0 180") + grade(slope, 0.0)))
    made.run(1.0)
    assert made.vehicles["c"].truth.v_x > 1.0


def test_a_motor_holds_a_car_on_a_slope() -> None:
    slope, mass, per_torque = 0.2, 230.0, 1.0 / 0.20809
    made = sp.World(world(car("formula_student") + grade(slope, 0.0)))
    force = mass * 9.81 * math.sin(math.atan(slope))
    made.vehicles["c"].command({n: 0.25 * force / per_torque for n in _TORQUES})
    made.run(2.0)
    # The motors need some milliseconds to get there.
    assert abs(made.vehicles["c"].truth.v_x) < 0.02


_TORQUES = ("tau_fl", "tau_fr", "tau_rl", "tau_rr")


def test_a_car_across_a_slope_leans_on_its_tyres() -> None:
    made = sp.World(world(car("formula_student", pose="0 0 90") + grade(0.1, 0.0)))
    made.run(3.0)
    told = made.vehicles["c"].outputs()
    across = sum(getattr(told, f"F_y_{wheel}") for wheel in ("fl", "fr", "rl", "rr"))
    weight = 230.0 * 9.81 * math.sin(math.atan(0.1))
    # The car heads along y, so that downhill is to its left: the tyres push to the right.
    assert disturbance(made)["F_y"] == pytest.approx(weight, rel=1e-3)
    assert across == pytest.approx(-weight, rel=0.02)
    # The wheels on the lower side, the left one, carry more.
    assert told.F_z_fl > told.F_z_fr + 10.0


def test_the_worlds_gravity_counts() -> None:
    moon = "<gravity>1.62</gravity>"
    made = sp.World(world(moon + car("four_wheel", COASTING) + grade(0.1, 0.0)))
    made.run(1.0)
    assert made.vehicles["c"].truth.v_x == pytest.approx(-1.62 * math.sin(math.atan(0.1)), rel=1e-6)
    loads = made.vehicles["c"].outputs()
    assert sum(loads[2:6]) == pytest.approx(230.0 * 1.62, rel=0.01)
    own = sp.World(world(moon + car("four_wheel", "<g>9.81</g>"))).vehicles["c"].built.vehicle
    assert own.params.g == 9.81


def test_pedals_feel_a_slope_through_their_input() -> None:
    pedals = car("DELAY_STEER_ACC_GEARED_WO_FALL_GUARD", pose="0 0 0")
    made = sp.World(world(pedals + grade(0.1, 0.0)))
    made.run(1.0)
    vehicle = made.vehicles["c"]
    expected = -9.81 * math.sin(math.atan(0.1))
    assert vehicle.input.slope == pytest.approx(expected)
    assert vehicle.truth.v_x == pytest.approx(expected, rel=0.02)
    # What the user commands stays.
    vehicle.command(acceleration=-expected)
    made.run(1.0)
    assert vehicle.input.acceleration == pytest.approx(-expected)
    assert vehicle.input.slope == pytest.approx(expected)


@pytest.mark.slow_cases("ackermann_truck")
@pytest.mark.parametrize("name", ["kinematic_bicycle", "ackermann_truck", "DELAY_STEER_ACC"])
def test_who_cannot_be_told_is_named_and_drives_as_on_level_ground(name: str) -> None:
    def driven(ground: str) -> Any:
        made = sp.World(world(car(name, pose="0 0 30", vehicle="slow") + ground))
        made.run(0.5)
        return made.vehicles["slow"].state

    with pytest.warns(WorldWarning, match=rf"slow \({name}\)"):
        on_slope = driven(grade(0.1, 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert driven("") == on_slope
        # A floor has no slopes, so that there is nothing to warn of.
        driven("<element class='horizontal_plane'><z>0.1</z></element>")


def test_those_that_can_be_told_are_not_named() -> None:
    both = car("four_wheel", vehicle="told") + car("brains2", vehicle="deaf", pose="9 9 0")
    with pytest.warns(WorldWarning) as caught:
        sp.World(world(both + grade(0.1, 0.0)))
    (text,) = {str(one.message) for one in caught}
    assert "deaf (brains2)" in text
    assert "told" not in text


@pytest.mark.slow_cases("grades0-200.0", "grades0-35.0", "grades0-90.0", "grades1-35.0")
@pytest.mark.parametrize("heading", [0.0, 35.0, 90.0, 200.0])
@pytest.mark.parametrize("grades", [(0.3, 0.0), (-0.2, 0.15)])
def test_speed_is_along_the_slope_and_the_map_shows_less(
    grades: tuple[float, float], heading: float
) -> None:
    """A robot that drives 1 m/s comes 1 m far in space, up or down or across."""
    robot = (
        f"<vehicle name='r'><init_pose>0 0 {heading}</init_pose><dynamics class='differential'>"
        "<controller class='twist_ideal'/></dynamics></vehicle>"
    )
    made = sp.World(world(robot + grade(*grades)))
    made.vehicles["r"].command(v=1.0)
    made.step()
    start = made.vehicles["r"].truth
    made.run(2.0)
    end = made.vehicles["r"].truth
    way = math.dist((start.x, start.y, start.z), (end.x, end.y, end.z))
    assert way == pytest.approx(2.0, rel=1e-6)
    assert end.v_x == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["four_wheel"])
@pytest.mark.parametrize("slope", [0.1, 0.3])
def test_a_car_that_coasts_up_a_slope_keeps_its_energy(name: str, slope: float) -> None:
    made = sp.World(world(car(name, COASTING) + grade(slope, 0.0, 60.0)))
    vehicle = made.vehicles["c"]
    vehicle.bodies.put([0], [Moving(0.0, 0.0, 0.0, 10.0 * math.cos(math.atan(slope)))])

    def energy() -> float:
        """Per mass."""
        return 0.5 * vehicle.truth.v_x**2 + 9.81 * vehicle.truth.z

    before = energy()
    made.run(1.0)
    assert vehicle.truth.z > 0.8
    assert energy() == pytest.approx(before, rel=2e-3)


@pytest.mark.parametrize(
    "name", ["four_wheel", "kinematic_bicycle", "double_integrator", "brains2"]
)
def test_every_kind_of_state_is_projected(name: str) -> None:
    """Fields of the position differ in their names, and bodies in the point that they show."""
    slope = 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        made = sp.World(world(car(name) + grade(slope, 0.0, 60.0)))
    vehicle = made.vehicles["c"]
    vehicle.bodies.put([0], [Moving(0.0, 0.0, 0.0, 4.0)])
    made.step()
    before = vehicle.truth
    made.step()
    after = vehicle.truth
    speed = 0.5 * (before.v_x + after.v_x)
    way = math.dist((before.x, before.z), (after.x, after.z))
    assert way == pytest.approx(speed * made.dt, rel=0.02)


def test_upstream_takes_the_way_on_the_map_for_the_one_along_the_slope() -> None:
    robot = (
        "<vehicle name='r'><init_pose>0 0 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_ideal'/></dynamics></vehicle>"
    )
    made = sp.World(world(robot + grade(0.3, 0.0), compat="upstream"))
    made.vehicles["r"].command(v=1.0)
    made.run(0.1)
    start = made.vehicles["r"].truth.x
    made.run(1.0)
    assert made.vehicles["r"].truth.x - start > 0.995


def test_the_contact_solver_keeps_the_speed_along_a_slope() -> None:
    robot = (
        "<vehicle name='r'><init_pose>0 0 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_ideal'/></dynamics></vehicle>"
    )
    wall = "<walls><shape><pt>-9 0.72</pt><pt>9 0.72</pt></shape></walls>"
    made = sp.World(world(robot + wall + grade(0.3, 0.0)))
    made.vehicles["r"].command(v=1.0)
    made.run(2.0)
    # Beside the wall it is in the solver all the time, and still 1 m/s along the ground.
    truth = made.vehicles["r"].truth
    assert math.hypot(truth.x, truth.z) == pytest.approx(2.0, rel=2e-3)
    assert truth.v_x == pytest.approx(1.0, rel=1e-3)


def test_a_flat_floor_off_zero_is_looked_at_once() -> None:
    """Ground that cannot change is not looked up in every step, and edges are not missed."""
    floor = plane(0.2, (-9.0, 9.0, -9.0, 9.0))
    robot = (
        "<vehicle name='r'><init_pose>0 0 0.2 0 0 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_ideal'/></dynamics></vehicle>"
    )
    made = sp.World(world(robot + floor))
    looked: list[float] = []
    height = Terrain.height

    def counted(self: Terrain, *args: Any, **kwargs: Any) -> Any:
        looked.append(made.time)
        return height(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Terrain, "height", counted)
        made.vehicles["r"].command(v=1.0)
        made.run(2.0)
        assert len(looked) <= 4
    assert made.vehicles["r"].truth.z == 0.2
    made.run(8.5)
    assert made.vehicles["r"].truth.z == 0.0
