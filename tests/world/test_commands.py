"""What a vehicle of a world may be commanded."""

from __future__ import annotations

import math

import pytest

import skidpad as sp
from skidpad.world.scene import Pose, Scene, VehicleSpec
from world.test_every_vehicle import OWN, standing, world_of

KINDS = [kind for kind in OWN if kind != "skidpad:brains2"]  # repeats a program that clips


def angles(vehicle: sp.Vehicle) -> dict[str, float]:
    """Inputs that are angles, and the ends of their actuators."""
    ends = vehicle.limits.inputs
    return {
        leaf.name: max(map(abs, ends[leaf.name]))
        for leaf in sp.core.record.fields(vehicle.Input)
        if leaf.unit.symbol == "rad" and leaf.name in ends
    }


def check(made: sp.World) -> int:
    """Hold commands of a world against the Simulator's; how many angles there were."""
    vehicle = made.vehicles["v"]
    for name, end in angles(vehicle.vehicle).items():
        before = vehicle.command(**{name: 1.5 * end})
        for value in (math.degrees(end), -math.degrees(end)):
            with pytest.raises(sp.errors.InvalidValue, match="were degrees meant"):
                vehicle.command(**{name: value})
            with pytest.raises(sp.errors.InvalidValue, match="were degrees meant"):
                sp.Simulator(vehicle.vehicle, dt=0.001).step(**{name: value})
        assert vehicle.input == before
    return len(angles(vehicle.vehicle))


@pytest.mark.parametrize("kind", KINDS)
def test_degrees_are_refused_as_in_a_simulator(kind: str) -> None:
    check(world_of(standing(kind)))


@pytest.mark.parametrize("drivetrain", ["", "_drivetrain"])
@pytest.mark.parametrize("control", ["raw", "front_steer_pid"])
def test_degrees_are_refused_by_robots_that_steer(drivetrain: str, control: str) -> None:
    inside = f"<controller class='{control}'/>"
    text = standing(f"ackermann{drivetrain}").replace("</dynamics>", f"{inside}</dynamics>")
    assert check(world_of(text)) == 1


def test_who_clips_takes_any_angle() -> None:
    car = sp.vehicles.four_wheel().with_clipped_inputs()
    made = sp.World(Scene(vehicles=(VehicleSpec("v", Pose(), car),)))
    assert made.vehicles["v"].command(steer=20.0).steer == 20.0
