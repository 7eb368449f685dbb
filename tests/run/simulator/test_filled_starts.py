"""Wheels of a start by names: those that are given keep their spin, also 0, and the others roll."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.vehicles import commonroad_mb, commonroad_std, two_track

CARS = {
    "two_track": (two_track(), "v_x"),
    "commonroad_std": (commonroad_std(), "v"),
    "commonroad_mb": (commonroad_mb(), "v_x"),
}
every_car = pytest.mark.parametrize("name", list(CARS))


def start_of(name: str) -> tuple[sp.Vehicle, sp.Simulator[Any, Any], dict[str, float]]:
    car, speed = CARS[name]
    assert car.model.fills
    return car, sp.Simulator(car, dt=0.001), {speed: 20.0}


@every_car
def test_wheels_that_nobody_names_roll(name: str) -> None:
    car, sim, moving = start_of(name)
    for x in (sim.reset(**moving), sim.reset(moving), sim.reset(car.State(**moving))):
        assert all(50.0 < getattr(x, wheel) < 80.0 for wheel in car.model.fills)


@every_car
def test_wheels_that_are_given_as_locked_are_locked(name: str) -> None:
    car, sim, moving = start_of(name)
    locked = dict.fromkeys(car.model.fills, 0.0)
    for x in (sim.reset(**moving, **locked), sim.reset(moving | locked)):
        assert all(getattr(x, wheel) == 0.0 for wheel in car.model.fills)


@every_car
@pytest.mark.parametrize("spin", [0.0, 3.0])
def test_one_wheel_that_is_given_leaves_the_others_rolling(name: str, spin: float) -> None:
    car, sim, moving = start_of(name)
    one, *others = car.model.fills
    rolling = sim.reset(**moving)
    x = sim.reset(**moving, **{one: spin})
    assert getattr(x, one) == spin
    assert x == rolling._replace(**{one: spin})
    assert others


@every_car
def test_a_whole_state_with_turning_wheels_stays_as_it_is(name: str) -> None:
    car, sim, moving = start_of(name)
    x = sim.reset(**moving)._replace(**{car.model.fills[0]: 1.0, car.model.fills[1]: 0.0})
    assert sim.reset(x) == x
    assert sim.reset(record.flatten(x)) == x


@every_car
def test_fleets_start_alike(name: str) -> None:
    car, sim, moving = start_of(name)
    for fields in (moving, moving | {car.model.fills[0]: 0.0}):
        x = sim.reset(fields)
        fleet = sp.Fleet(car, dt=0.001, integrator=sim.integrator.name)
        sim.step()
        states = fleet.rollout(fields, {}, steps=1)
        assert np.asarray(states)[-1].ravel() == pytest.approx(record.flatten(sim.state), rel=1e-12)
        assert x == sim.reset(fields)


def rolled(states: Any, wheels: int) -> Any:
    """The first states of a fleet, those of the vehicle itself."""
    return np.asarray(states)[0].reshape(-1, np.shape(states)[-1])[:, :wheels]


def idle(car: sp.Vehicle) -> sp.Policy:
    """A driver that remembers something, and lets the car roll."""
    return sp.Policy(lambda x, m: (car.Input(), m._replace(n=m.n + 1.0)), Count, name="idle")


class Count(NamedTuple):
    n: sp.units.one = 0.0


@pytest.mark.parametrize(
    "name",
    [
        "two_track",
        pytest.param("commonroad_std", marks=pytest.mark.slow),
        pytest.param("commonroad_mb", marks=pytest.mark.slow),
    ],
)
def test_closed_loops_and_loaded_plants_start_alike(name: str, tmp_path: Path) -> None:
    """A start by names stands for the same wherever it is given."""
    car, sim, moving = start_of(name)
    fleet = sp.Fleet(car, dt=0.001)
    closed = fleet.closed_loop(idle(car))
    fleet.save(tmp_path / "open.plant")
    closed.save(tmp_path / "closed.plant")
    loaded = [sp.Fleet.load(tmp_path / f"{kind}.plant") for kind in ("open", "closed")]
    again = [pickle.loads(pickle.dumps(one)) for one in (*loaded, closed)]
    for fields in (moving, moving | {car.model.fills[0]: 0.0}):
        want = record.flatten(sim.reset(fields))
        for one in (fleet, closed, *loaded, *again):
            x0 = one.rollout(fields, steps=1)
            assert rolled(x0, len(want))[0] == pytest.approx(want, rel=1e-12)
    resaved = tmp_path / "again.plant"
    loaded[0].save(resaved)
    assert sp.Fleet.load(resaved).plant.fills == car.model.fills
    end = closed.rollout(moving | {"memory.n": 5.0}, steps=3)[-1, 0]
    assert end[-1] == 8.0


def test_drawn_starts_roll_with_the_parameters_of_their_run() -> None:
    car, _ = CARS["two_track"]
    start = sp.random.Gaussian({"v_x": 20.0}, {"v_x": 1.0}, fields=car.State)
    radius = {"tyres.tyre.carcass.radius": np.array([0.25, 0.35])}
    for policy in (None, idle(car)):
        # By a step that compiles quickly: it is the start that is looked at.
        result = sp.Fleet(car, dt=0.0003, integrator="rk4").monte_carlo(
            start, runs=2, steps=1, policy=policy, params=radius
        )
        for run in range(2):
            first = result.replay(result.seed_of(run))
            rolls = first["v_x"][0] / first["spin_fl"][0]
            assert rolls == pytest.approx(radius["tyres.tyre.carcass.radius"][run], rel=0.05)


def test_a_damaged_rule_of_starts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "car.plant"
    sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.01).save(path)
    sound = json.loads(path.read_text("utf-8"))
    for change, wanted in (
        ({"fills": ["spin"]}, "spin"),
        ({"settle": sound["outputs"]}, "inputs of settle"),
    ):
        path.write_text(json.dumps(sound | change), "utf-8")
        with pytest.raises(sp.InvalidValue, match=wanted):
            sp.Fleet.load(path)
