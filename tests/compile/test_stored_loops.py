"""Traces of closed loops on disk: of skidpad's own policies alone, and never those of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import skidpad as sp
from skidpad.compile import closed_loop as loops
from skidpad.compile.closed_loop import closed_loop, policy_program
from skidpad.compile.plant import Plant
from skidpad.core import record
from skidpad.core.policy import Policy
from skidpad.integrate import get
from skidpad.study.manoeuvres.case import driver
from skidpad.vehicles.formula import Input


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("SKIDPAD_CACHE", str(tmp_path))
    return tmp_path


def traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.trace"))


def looped(policy: Policy | None = None, substeps: int = 1, **params: float) -> Plant:
    """A car with its driver, or with another policy."""
    car = sp.vehicles.kinematic_bicycle(**params)
    return closed_loop(car, get("rk4"), policy or driver(car), substeps)


def test_what_is_found_is_what_was_traced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = looped()
    monkeypatch.setattr(loops, "trace_records", None)  # nothing is traced any more
    found = looped()
    for program, own in ((found.step, traced.step), (found.outputs, traced.outputs)):
        assert program is not own
        assert program == own
        assert (program.digest, program.executed) == (own.digest, own.executed)
    assert loops.policy_of(found) == "driver"


def test_a_rollout_reads_no_code_of_what_is_compiled(folder: Path) -> None:
    car = sp.vehicles.kinematic_bicycle()
    for _ in range(2):
        loop = sp.Fleet(car, 0.001, "rk4").closed_loop(driver(car))
        loop.rollout(record.build(loop.plant.State), None, steps=1)
    assert "code" not in vars(loop.plant.step)


def test_other_loops_are_other_entries(folder: Path) -> None:
    looped()
    assert len(traces(folder)) == 2  # step and outputs
    looped(substeps=2)
    assert len(traces(folder)) == 3
    car = sp.vehicles.kinematic_bicycle()
    own = driver(car)
    act: Any = own.act
    free = replace(own, act=replace(act, pushes=(False,) * len(act.pushes)))
    assert looped(free).step != looped().step
    assert len(traces(folder)) == 5


class Gain(NamedTuple):
    """Of a user's policy."""

    k: float = 1.0


def steady(x: Any, p: Gain) -> Input:
    """A user's policy."""
    return Input(p.k * x.v_x, 0.0)


def test_policies_of_users_are_traced_by_everyone(folder: Path) -> None:
    wanted = {"v": 1.0}
    looped(Policy(steady, Params=Gain))
    for v in (1.0, 2.0):
        wanted["v"] = v
        plant = looped(Policy(lambda x: Input(0.125 * wanted["v"], 0.0)))
        assert f"{0.125 * v:g}" in str(plant.outputs)
    assert not traces(folder)


def driven() -> list[str]:
    """Vehicles that a driver can be compiled with."""
    models = {name: sp.vehicles.get(name)().model for name in sp.vehicles.names()}
    return [name for name, one in models.items() if one.body is not None and not one.dead_times]


@pytest.mark.parametrize("name", driven())
def test_no_number_of_a_vehicle_is_in_the_program_of_its_driver(name: str) -> None:
    """What is found on disk for one set of parameters is right for all."""
    car = sp.vehicles.get(name)()
    leaves = zip(record.fields(car.model.Params), record.flatten(car.params), strict=True)
    others = record.unflatten(car.model.Params, [_other(*pair) for pair in leaves])
    own, same = driver(car), driver(replace(car, params=others))
    act: Any = own.act
    # Which inputs push it is part of the entry's name: another split of the drive is another.
    own = replace(own, act=replace(act, pushes=same.act.pushes))  # type: ignore[attr-defined]
    assert policy_program(own, car.model).digest == policy_program(same, car.model).digest


def _other(leaf: Any, value: Any) -> Any:
    """Another value of a parameter that is allowed."""
    if not isinstance(value, float):
        return value
    others = (factor * value for factor in (1.03125, 0.96875))
    return next((v for v in others if leaf.allowed is None or v in leaf.allowed), value)
