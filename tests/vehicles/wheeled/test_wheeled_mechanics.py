"""What friction allows a wheeled robot as a whole."""

from __future__ import annotations

import math

import pytest

import skidpad as sp
from skidpad.vehicles import wheeled
from skidpad.vehicles.wheeled.build import com_velocity


def over_ground(x, p) -> tuple[float, float]:
    """Velocity of the centre of mass in the world."""
    v = com_velocity(x.v_x, x.v_y, x.omega, p.body)
    c, s = math.cos(x.yaw), math.sin(x.yaw)
    return c * v.x - s * v.y, s * v.x + c * v.y


@pytest.mark.parametrize("make", [wheeled.differential, wheeled.ackermann])
def test_no_robot_is_faster_round_a_bend_than_friction_allows(make) -> None:
    """Braked or driven with all its might in a turn: |a| is at most mu g."""
    vehicle = wheeled.vehicle(make(loads="static"))
    sim = sp.Simulator(vehicle, dt=0.002)
    torques = [name for name in vehicle.Input._fields if name.startswith("tau")]
    for way in (1.0, -1.0):
        sim.reset(v_x=4.0, v_y=1.0, omega=2.0)
        for _ in range(200):
            before = over_ground(sim.state, vehicle.params)
            after = over_ground(sim.step(**dict.fromkeys(torques, way * 200.0)), vehicle.params)
            air = vehicle.params.body.linear_damping * math.hypot(*before)
            assert math.dist(before, after) / sim.dt <= 0.8 * 9.81 * (1.0 + 1e-9) + air
