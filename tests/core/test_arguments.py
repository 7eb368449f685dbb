"""Arguments of another kind are named, whoever is given them; nothing else is said of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control import Reference, lqr, pure_pursuit, stanley
from skidpad.errors import InvalidValue
from skidpad.geometry.maps import CentreLine
from skidpad.run.trajectory import Trajectory
from skidpad.run.trim import straight
from skidpad.sensors.lidar import Lidar
from skidpad.view import recording

CAR = sp.vehicles.commonroad_st()
NO_NUMBERS: list[Any] = ["a", b"1", True, np.True_, None, [1.0, 2.0], 1j, object(), float("nan")]


@cache
def run() -> Trajectory:
    return sp.Simulator(CAR, 0.01).run({}, steps=10)


def kind_of(value: Any) -> str:
    return type(value).__name__


NUMBERS: dict[str, Any] = {
    "Trajectory.at": lambda v: run().at(v),
    "Trajectory.between": lambda v: run().between(v, 1.0),
    "Trajectory.between, end": lambda v: run().between(0.0, v),
    "Trajectory.resample": lambda v: run().resample(dt=v) if v is not None else run().resample(),
    "Trajectory.starting_at": lambda v: run().starting_at(v),
    "Trajectory.state": lambda v: run().state(v),
    "Trajectory.from_points": lambda v: Trajectory.from_points([CAR.State()], delta_t=v),
    "Trajectory.from_points, t_0": lambda v: Trajectory.from_points(
        [CAR.State()], delta_t=0.1, t_0=v
    ),
    "Simulator": lambda v: sp.Simulator(CAR, v),
    "Simulator.reset": lambda v: sp.Simulator(CAR, 0.01).reset(time=v),
    "Fleet": lambda v: sp.Fleet(CAR, v),
    "Fleet.rollout": lambda v: sp.Fleet(CAR, 0.01).rollout({}, {}, steps=2, every=v),
    "linearise": lambda v: sp.linearise(CAR, {}, {}, v),
    "steering_response": lambda v: straight(CAR, v),
    "lqr.design": lambda v: lqr.design(CAR, v, 0.01, {"y": 1.0}, {"a": 1.0, "steer_rate": 1.0}),
    "start, v": lambda v: sp.vehicles.start(CAR, v=v),
    "read, rate": lambda v: recording.read("none.mcap", rate=v if v is not None else "a"),
    "read, start": lambda v: recording.read("none.mcap", start=v if v is not None else "a"),
    "read, end": lambda v: recording.read("none.mcap", end=v if v is not None else "a"),
}
"""Public functions that take a number."""


@pytest.mark.parametrize("who", NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=kind_of)
def test_what_is_no_number_is_refused(who: str, value: Any) -> None:
    with pytest.raises(InvalidValue, match=r" = .* must |resample takes"):
        NUMBERS[who](value)


THINGS: dict[str, Any] = {
    "Vehicle": lambda v: sp.Vehicle(v, CAR.params),
    "Vehicle, params": lambda v: sp.Vehicle(CAR.model, v),
    "register": sp.vehicles.register,
    "concat": Trajectory.concat,
    "concat, part": lambda v: Trajectory.concat([run(), v]),
    "stanley": lambda v: stanley.policy(CAR, v if v is not None else 5),
    "pure_pursuit": lambda v: pure_pursuit.policy(CAR, v if v is not None else 5),
    "CentreLine": CentreLine,
    "start": lambda v: sp.vehicles.start(v),
}
"""Public functions that take a thing of a class."""


@pytest.mark.parametrize("who", THINGS)
@pytest.mark.parametrize("value", [5, "a", None, [1.0, 2.0], object()], ids=kind_of)
def test_what_is_no_such_thing_is_refused(who: str, value: Any) -> None:
    with pytest.raises(InvalidValue):
        THINGS[who](value)


def test_shapes_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"centre_line has shape \(1, 2\)"):
        CentreLine([[0.0, 0.0]])  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"body has shape \(2,\); expected \(B, 3\): x, y, yaw"):
        Lidar().poses([1.0, 2.0])
    with pytest.raises(InvalidValue, match="start = 5 s must not be after end = 1 s"):
        recording.read("none.mcap", start=5.0, end=1.0)


def test_a_trajectory_and_something_else_have_no_sum() -> None:
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        run() + 5  # type: ignore[operator]


def test_equal_vehicles_have_equal_hashes() -> None:
    first, second = sp.vehicles.four_wheel(m=200.0), sp.vehicles.four_wheel(m=200.0)
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second, sp.vehicles.four_wheel()}) == 2
    assert hash(first.model) == hash(second.model)


def test_a_run_drives_its_steps_again() -> None:
    """As many samples, with the same bits; the array of its inputs has a row more than steps."""
    sim = sp.Simulator(CAR, 0.01)
    sim.reset(v=5.0)
    start = sim.snapshot()
    first = sim.run(lambda t, x: {"steer_rate": 0.1 * np.sin(9.0 * t), "a": 1.0}, steps=6)
    sim.restore(start)
    again = sim.run(first)
    assert len(again) == len(first) == 7
    np.testing.assert_array_equal(again.states, first.states)
    np.testing.assert_array_equal(again.inputs, first.inputs)
    assert len(sim.run(first, steps=3)) == 4
    with pytest.raises(InvalidValue, match="resample"):
        sp.Simulator(CAR, 0.02).run(first)
    with pytest.raises(InvalidValue, match="cannot drive 'four_wheel'"):
        sp.Simulator(sp.vehicles.four_wheel(), 0.01).run(first)


def test_a_reference_is_what_a_policy_follows() -> None:
    path = Reference.along(np.array([[0.0, 0.0], [10.0, 0.0]]), 5.0)
    assert stanley.policy(CAR, path).name == "stanley"
