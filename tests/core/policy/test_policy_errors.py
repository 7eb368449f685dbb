"""What a policy may not be or do, and what the errors say."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from core.policy.drivers import FOLLOW, Params, Reference
from skidpad.core.policy import Policy
from skidpad.errors import InvalidValue, SimulationDiverged, TraceError
from skidpad.vehicles.formula import Input

BICYCLE = sp.vehicles.kinematic_bicycle()


class Number(NamedTuple):
    """A memory of one number."""

    value: float = 0.0


class Bare(NamedTuple):
    """A record without defaults."""

    value: float


@pytest.fixture(scope="module")
def fleet() -> sp.Fleet:
    return sp.Fleet(BICYCLE, 1e-3, "euler", threads=1)


MADE_WRONG = [
    ({"act": lambda x, speed: Input()}, r"policy 'policy' has no argument 'speed'.*x, m, r, p, dt"),
    ({"act": lambda *x: Input()}, r"takes \*x, but its arguments are given by name"),
    ({"act": lambda x, r: Input()}, "takes r, but has no Reference record"),
    ({"act": lambda x, m: Input()}, "takes m, but has no Memory record"),
    ({"act": lambda p: Input()}, "takes p, but has no Params record"),
    ({"act": 3.0}, "act must be a function, got 3.0"),
    ({"act": lambda x: Input(), "Memory": Bare}, "needs initial values: Bare needs a value"),
    ({"act": lambda x: Input(), "Params": Bare}, "Bare needs a value for value"),
    ({"act": lambda x: Input(), "Reference": dict}, r"<class 'dict'> must be a typing.NamedTuple"),
    ({"act": lambda x: Input(), "Params": Params, "params": {"k_z": 1.0}}, "no field 'k_z'"),
    ({"act": lambda x: Input(), "Params": Params, "params": {"k_y": -1.0}}, "Params.k_y = -1"),
]


@pytest.mark.parametrize(("given", "sentence"), MADE_WRONG)
def test_a_policy_that_cannot_work_is_not_made(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        Policy(**given)


def test_own_defaults_of_a_policy_are_its_own_business(fleet: sp.Fleet) -> None:
    policies = [Policy(lambda x, gain=gain: Input(steer=gain * x.v_x)) for gain in (0.0, 0.01)]
    ends = [fleet.rollout({"v_x": 5.0}, steps=5, policy=policy)[-1, 0] for policy in policies]
    assert ends[0][6] == 0.0
    assert ends[1][6] > 0.0


def number(answer: Any) -> Policy:
    return Policy(lambda x: answer, Memory=Number)


ANSWERS_WRONG = [
    (Policy(lambda x: {"steer": 0.1}), r"must return the vehicle's input, a record; it returned"),
    (Policy(lambda x: Reference()), r"must command 'kinematic_bicycle' with its Input record \(st"),
    (number(Input()), r"must return \(u, m\) with m a Number record"),
    (number((Input(), 1.0)), r"must return \(u, m\) with m a Number record"),
    (number((Number(), Input())), r"must return \(u, m\) with m a Number record"),
]


@pytest.mark.parametrize(("policy", "sentence"), ANSWERS_WRONG)
def test_an_answer_that_is_no_command(fleet: sp.Fleet, policy: Policy, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        fleet.rollout({"v_x": 5.0}, steps=5, policy=policy)


def test_a_branch_in_python_names_the_policy_and_what_to_use(fleet: sp.Fleet) -> None:
    def act(x: Any) -> Input:
        return Input(steer=0.1 if x.y < 0.0 else -0.1)

    policy = Policy(act, name="bang_bang")
    with pytest.raises(TraceError, match=r"policy 'bang_bang' branches in Python.*ops\.where"):
        fleet.rollout({"v_x": 5.0}, steps=5, policy=policy)


def test_a_function_of_the_math_module_names_the_policy(fleet: sp.Fleet) -> None:
    policy = Policy(lambda x: Input(steer=float(x.y)), name="numeric")
    with pytest.raises(TraceError, match="policy 'numeric' holds a NaN constant"):
        fleet.rollout({"v_x": 5.0}, steps=5, policy=policy)


CALLED_WRONG = [
    ({"policy": FOLLOW}, "give steps="),
    ({"policy": FOLLOW, "steps": 5, "memory": {"sum": 1.0}}, "no field 'sum'"),
    ({"policy": FOLLOW, "steps": 5, "memory": np.zeros((1, 2))}, r"memory has shape \(1, 2\)"),
    ({"policy": FOLLOW, "steps": 5, "memory": [math.nan]}, "memory: integral of vehicle 0 is nan"),
    ({"policy": FOLLOW, "steps": 5, "policy_params": {"k": 1.0}}, "policy_params: .* field 'k'"),
    (
        {"policy": FOLLOW, "steps": 5, "policy_params": {"k_y": [0.1, -0.1]}},
        "policy_params: .*k_y = -0.1 .* of vehicle 1 must be",
    ),
    (
        {"policy": FOLLOW, "steps": 5, "memory": np.zeros((2, 1)), "params": {"m": [1.0] * 3}},
        "numbers of vehicles differ: memory has 2, params has 3",
    ),
    ({"policy": lambda t, x: Input(), "steps": 5}, "policy must be a Policy, got a function"),
    ({"steps": 5, "memory": [0.0]}, "need policy="),
    ({"steps": 5, "return_memory": True}, "need policy="),
]


@pytest.mark.parametrize(("given", "sentence"), CALLED_WRONG)
def test_a_rollout_that_does_not_fit(fleet: sp.Fleet, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        fleet.rollout({"v_x": 5.0}, **given)


def test_a_reference_that_is_not_finite_is_named(fleet: sp.Fleet) -> None:
    references = np.full((6, 3, 2), 5.0)
    references[4, 1, 0] = np.nan
    with pytest.raises(InvalidValue, match="references: v of vehicle 1, step 4 is nan"):
        fleet.rollout(np.zeros((3, 11)), references, policy=FOLLOW)
    with pytest.raises(InvalidValue, match=r"references has shape \(6, 3, 1\).*with fields v, y"):
        fleet.rollout(np.zeros((3, 11)), references[..., :1], policy=FOLLOW)


def test_a_memory_that_runs_away_is_a_divergence(fleet: sp.Fleet) -> None:
    policy = Policy(lambda m: (Input(), Number(10.0 * m.value)), Memory=Number, name="runaway")
    with pytest.raises(SimulationDiverged, match=r"1 of 2 vehicles \(1\) diverged") as caught:
        fleet.rollout(
            {"v_x": 5.0}, steps=20, every=10, policy=policy, memory=np.array([[0.0], [1e300]])
        )
    # 1e300 grows tenfold a step: the ninth step leaves the range of the numbers.
    assert caught.value.time == pytest.approx(8e-3)
    assert caught.value.last_state.memory.value == pytest.approx(1e308)


def test_a_closed_loop_is_closed_once(fleet: sp.Fleet) -> None:
    closed = fleet.closed_loop(FOLLOW)
    with pytest.raises(InvalidValue, match="make the closed loop first"):
        closed.closed_loop(FOLLOW)
    with pytest.raises(InvalidValue, match="is a closed loop: it has no model"):
        closed.vehicle  # noqa: B018


def test_a_vehicle_with_a_field_of_the_loops_name_is_refused() -> None:
    class State(NamedTuple):
        memory: float = 0.0

    class Command(NamedTuple):
        rate: float = 0.0

    class Empty(NamedTuple):
        pass

    model = sp.Model("tape", State, Command, Empty, derivative=lambda x, u, w, p: State(u.rate))
    fleet = sp.Fleet(sp.Vehicle(model, Empty()), 0.1)
    policy = Policy(lambda m: (Command(1.0), m), Memory=Number)
    with pytest.raises(InvalidValue, match=r"State\.memory: this name is reserved"):
        fleet.closed_loop(policy)
