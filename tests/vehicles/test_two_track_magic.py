"""`two_track` on tyres of property files."""

from __future__ import annotations

import pytest

import skidpad as sp
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip, SteadySlip

# Left out: what drives or compiles for long, which tests of the default tyre cover.
PROPERTIES = ["rest", "dimensions", "mirror", "frame", "energy", "gradients", "motion", "shape"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["passenger_car", "race_slick"])
@pytest.mark.parametrize("slip", [SteadySlip, FirstOrderSlip])
def test_a_car_on_a_tyre_of_a_file_conforms(name: str, slip: type) -> None:
    car = sp.vehicles.two_track(tyre=sp.tyres.get(name), slip=slip())
    sp.testing.check(car, PROPERTIES).raise_if_failed()


def test_one_tyre_in_front_another_behind_sets_the_balance() -> None:
    """More grip behind than in front: the car pushes its nose out, and the other way round."""
    soft, hard = sp.tyres.get("passenger_car"), sp.tyres.get("passenger_car")
    soft = soft.with_values(LKY=0.6)
    yaw: dict[bool, float] = {}
    for front, rear in ((soft, hard), (hard, soft)):
        car = sp.vehicles.two_track(front=front, rear=rear, slip=FirstOrderSlip())
        sim = sp.Simulator(car, dt=0.002)
        end = sim.reset(v_x=20.0)
        for _ in range(750):
            end = sim.step(car.Input(steer=0.01))
        yaw[front is soft] = end.omega
    assert 0.0 < yaw[True] < yaw[False]
