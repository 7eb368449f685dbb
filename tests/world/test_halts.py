"""One vehicle that fails, or one absurd number, does not end a world for the others."""

from __future__ import annotations

import pickle
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.world.motion import FARTHEST, LARGEST_PLACE, LARGEST_YAW
from skidpad.world.scene import WorldWarning
from world.worlds import world

IDEAL = "<dynamics class='differential'><controller class='twist_ideal'/></dynamics>"
LASER = "<sensor class='laser' name='scan'><nrays>9</nrays></sensor>"
TWO = world(
    "<simul_timestep>0.01</simul_timestep>"
    f"<vehicle name='a'><init_pose>0 0 0</init_pose>{IDEAL}{LASER}</vehicle>"
    f"<vehicle name='b'><init_pose>0 3 0</init_pose>{IDEAL}{LASER}</vehicle>"
    "<walls><shape><pt>-9 -9</pt><pt>9 -9</pt></shape></walls>"
)
ABSURD = [1e9, -1e9, 3.5e38, 1e300, inf, -inf, nan]


def driving(**options: Any) -> sp.World:
    """Both robots at 0.5 m/s for 0.1 s."""
    made = sp.World(TWO, **options)
    for vehicle in made.vehicles.values():
        vehicle.command(v=0.5)
    made.run(0.1)
    return made


def everything(made: sp.World) -> tuple[Any, ...]:
    return made.motion().tolist(), [v.input for v in made.vehicles.values()], made.time


@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("axis", ["x", "y", "yaw"])
def test_a_pose_that_cannot_be_simulated_is_refused_by_name_and_value(
    axis: str, value: float
) -> None:
    made = driving()
    before = everything(made)
    with pytest.raises(InvalidValue, match=f"pose of a: {axis} = .* must be finite, from -1"):
        made.place("a", **{"x": 0.0, "y": 0.0, "yaw": 0.0, axis: value})
    assert everything(made) == before
    made.run(0.2)
    assert made.vehicles["b"].truth.x == pytest.approx(0.5 * 0.3)


def test_the_farthest_pose_that_is_taken_can_be_simulated() -> None:
    made = driving()
    made.place("a", LARGEST_PLACE, -LARGEST_PLACE, LARGEST_YAW)
    made.run(0.5)
    moved = np.hypot(made.motion()[0, 0] - LARGEST_PLACE, made.motion()[0, 1] + LARGEST_PLACE)
    assert moved == pytest.approx(0.5 * 0.5, abs=1e-7)
    assert not made.stopped


@pytest.mark.parametrize("value", ABSURD)
def test_a_command_that_cannot_be_simulated_is_refused(value: float) -> None:
    made = driving()
    before = everything(made)
    with pytest.raises(InvalidValue, match=r"v = .* must be finite"):
        made.vehicles["a"].command(v=value)
    with pytest.raises(InvalidValue, match=r"demand for a: v = .* must be finite"):
        made.vehicles["a"].drive(sp.Demand(v=value))
    assert everything(made) == before
    made.run(0.1)


def test_a_robot_that_runs_away_is_stopped_before_its_sensors_fail() -> None:
    made = driving()
    group = made.vehicles["a"].bodies.group
    group.state[made.vehicles["a"].row, group.fields["x"]] = FARTHEST - 1.0
    made.vehicles["a"].command(v=5.0)
    with pytest.warns(WorldWarning, match="a was stopped at t = .*ran away"):
        made.run(1.0)
    (name,) = made.stopped
    assert name == "a"
    assert abs(made.vehicles["a"].truth.x) <= FARTHEST
    assert made.vehicles["b"].truth.x == pytest.approx(0.5 * made.time)


def test_a_state_that_becomes_nan_stops_its_vehicle_alone() -> None:
    made, alone = driving(), driving()
    vehicle = made.vehicles["a"]
    at = vehicle.truth
    vehicle.bodies.group.params[vehicle.row] = nan
    with pytest.warns(WorldWarning, match="a was stopped at t = 0.11 s"):
        made.step()
    made.run(0.4)
    alone.run(0.41)
    assert made.stopped["a"].time == pytest.approx(0.11)
    assert "NaN" in made.stopped["a"].reason
    assert vehicle.truth == at._replace(v_x=0.0)
    assert made.motion()[1].tolist() == alone.motion()[1].tolist()
    vehicle.command(v=1.0)  # without effect
    made.run(0.1)
    assert vehicle.truth.x == at.x


def test_a_stopped_vehicle_goes_on_when_it_is_put_or_restored() -> None:
    made = driving()
    vehicle = made.vehicles["a"]
    params, kept = vehicle.bodies.group.params.copy(), made.snapshot()
    vehicle.bodies.group.params[vehicle.row] = nan
    with pytest.warns(WorldWarning):
        made.step()
    vehicle.bodies.group.params[:] = params
    copied = pickle.loads(pickle.dumps(made))
    assert list(copied.stopped) == ["a"]
    made.place("a", 1.0, 1.0, 0.0)
    assert not made.stopped
    vehicle.command(v=1.0)
    made.run(0.5)
    assert vehicle.truth.x == pytest.approx(1.5)
    copied.restore(kept)
    assert not copied.stopped
    copied.run(0.5)
    assert copied.vehicles["a"].truth.x == pytest.approx(0.5 * 0.6)


def test_a_stopped_vehicle_is_still_solid() -> None:
    made = driving()
    made.place("b", -1.5, 0.0, 0.0)
    vehicle = made.vehicles["a"]
    vehicle.bodies.group.params[vehicle.row] = nan
    with pytest.warns(WorldWarning):
        made.run(4.0)
    assert {"a", "b"} in [{event.a, event.b} for event in made.contact_events]
    assert vehicle.truth.x > made.vehicles["b"].truth.x


def test_raise_raises_and_the_step_is_not_made() -> None:
    made = driving(on_diverge="raise")
    before = everything(made)
    vehicle = made.vehicles["a"]
    vehicle.bodies.group.params[vehicle.row] = nan
    with pytest.raises(SimulationDiverged):
        made.step()
    assert everything(made) == before
    with pytest.raises(InvalidValue, match="on_diverge = 'mask' is unknown; allowed are"):
        made.on_diverge = "mask"  # pyright: ignore[reportAttributeAccessIssue]
