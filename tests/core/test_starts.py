"""Starts: the same by names in a simulator and a fleet, and possible wherever one has been."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Demand

# The large ones take seconds to compile and are started in the same way.
SMALL = [n for n in sp.vehicles.names() if n not in ("commonroad_mb", "formula_student")]


def moving(vehicle: sp.Vehicle) -> dict[str, float]:
    """Fields of a start ahead, with the wheels turned where the state has their angle."""
    names = record.names(vehicle.State)
    speed = next((n for n in ("v_x", "v", "v_s") if n in names), None)
    v = min(5.0, 0.5 * vehicle.limits.v_max)
    return {**({speed: v} if speed else {}), **({"steer": 0.1} if "steer" in names else {})}


@pytest.mark.parametrize("name", SMALL)
def test_names_stand_for_the_same_start_in_a_fleet(name: str) -> None:
    """Dependent fields, such as the spin of wheels, are made consistent in both."""
    vehicle = sp.vehicles.get(name)()
    start = moving(vehicle)
    there = sp.Simulator(vehicle, 0.001).reset(start)
    fleet = sp.Fleet(vehicle, 0.001, lanes=1)
    u = record.at_rest(vehicle.Input)
    for layout in ("aos", "soa"):
        x = fleet.rollout(start, u, steps=1, layout=layout)[0]
        np.testing.assert_array_equal(np.ravel(x), record.flatten(there))
    x = fleet.rollout(vehicle.State(**start), u, steps=1)[0, 0]
    np.testing.assert_array_equal(x, record.flatten(there))


def test_the_parameters_of_each_vehicle_count() -> None:
    """v_y = v l_r tan(steer) / l and omega = v tan(steer) / l of the car that rolls."""
    fleet = sp.Fleet(sp.vehicles.kinematic_bicycle(), 0.001)
    l_f = np.array([0.5, 1.0, 2.0])
    x = fleet.rollout({"v_x": 5.0, "steer": 0.1}, {}, steps=1, params={"l_f": l_f})[0]
    l_r = fleet.vehicle.params.l_r
    State = record.unflatten(fleet.vehicle.State, x.T)
    np.testing.assert_allclose(State.omega, 5.0 * np.tan(0.1) / (l_f + l_r), rtol=1e-12)
    np.testing.assert_allclose(State.v_y, l_r * State.omega, rtol=1e-12)


def test_a_study_starts_as_a_simulator_does() -> None:
    vehicle = sp.vehicles.kinematic_bicycle()
    study = sp.Fleet(vehicle, 0.001).monte_carlo({"v_x": 5.0, "steer": 0.1}, {}, runs=2, steps=3)
    there = sp.Simulator(vehicle, 0.001).reset(v_x=5.0, steer=0.1)
    np.testing.assert_array_equal(study.replay(0).states[0], record.flatten(there))


@pytest.mark.parametrize(
    "name",
    [
        *("commonroad_ks", "commonroad_kst", "commonroad_st", "commonroad_std"),
        *("commonroad_kinematic_bicycle", "commonroad_dynamic_bicycle", "ackermann_truck"),
    ],
)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_wherever_a_vehicle_was_driven_it_can_be_started(name: str, way: float) -> None:
    """A step may end beyond a limit that it began below."""
    vehicle = sp.vehicles.get(name)()
    sim = sp.Simulator(vehicle, 0.01)
    # A car with tyres that turns as hard as it can backwards spins, which is another matter.
    turning = {"steer_rate"} if "bicycle" in name or "ks" in name else set[str]()
    ranges = vehicle.limits.inputs.items()
    most = {n: max(ends) * way for n, ends in ranges if n in {"a", *turning}}
    body: Any = vehicle.model.body
    for _ in range(600):
        held = most or body.command(sim.state, Demand(v=100.0 * way, steer=0.5), vehicle.params)
        state = sim.step(held)
    assert sim.reset(state) is not None
    sp.Fleet(vehicle, 0.01, lanes=1).rollout(np.array([record.flatten(state)]), {}, steps=1)


@pytest.mark.slow_cases("10.0--8.0", "2.0-11.5")
@pytest.mark.parametrize(("v", "a"), [(2.0, 11.5), (10.0, -8.0), (30.0, -11.5)])
def test_wheels_that_a_command_spins_or_locks_are_stepped_by_default(v: float, a: float) -> None:
    """Their slip changes within a step, and Newton's iterations have further to go."""
    ends: list[float] = []
    for dt in (0.01, 0.001):
        sim = sp.Simulator(sp.vehicles.commonroad_std(), dt)
        sim.reset(v=v)
        ends.append(sim.run({"a": a}, duration=1.0)["x"][-1])
    assert ends[0] == pytest.approx(ends[1], abs=5e-3)
