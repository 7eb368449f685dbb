"""Costs: which arguments they may name, and their value and gradient at the end of a rollout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from run.gradients.evaluate import evaluate
from skidpad import ops
from skidpad.compile.closed_loop import adjoint_program, terminal_program
from skidpad.core import record
from skidpad.core.policy import Cost, NoReference
from skidpad.errors import InvalidValue, TraceError
from skidpad.vehicles import kinematic_bicycle

CAR = kinematic_bicycle()
START = record.build(CAR.State, v_x=3.0, y=0.5)
PUSH = record.build(CAR.Input, steer=0.1)


class Point(NamedTuple):
    x: float
    y: float


def test_arguments_are_given_by_name() -> None:
    cost = Cost(
        stage=lambda u, x: 10.0 * x.v_x + u.steer,
        terminal=lambda r, p: r.x * p.m,
        Reference=Point,
    )
    point = Point(2.0, 0.0)
    assert cost.at_step(START, PUSH, CAR.params, point) == 10.0 * START.v_x + PUSH.steer
    assert cost.at_end(START, CAR.params, point) == 2.0 * CAR.params.m


def test_a_part_that_is_absent_costs_nothing() -> None:
    stage, terminal = Cost(stage=lambda x: x.y), Cost(terminal=lambda x: x.y)
    assert stage.at_end(START, CAR.params, NoReference()) == 0.0
    assert terminal.at_step(START, PUSH, CAR.params, NoReference()) == 0.0


def test_a_function_of_the_input_is_a_stage_cost() -> None:
    with_input = Cost.of(lambda x, u: u.steer)
    assert with_input.stage is not None
    assert with_input.terminal is None
    without = Cost.of(lambda x: x.y)
    assert without.stage is None
    assert without.terminal is not None
    assert Cost.of(without) is without


def test_a_name_with_a_default_is_the_functions_own() -> None:
    costs = [Cost.of(lambda x, goal=goal: x.y - goal) for goal in (1.0, 2.0)]
    values = [cost.at_end(START, CAR.params, NoReference()) for cost in costs]
    assert values == [START.y - 1.0, START.y - 2.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cost(), "neither"),
        (lambda: Cost(stage=lambda x, v: x), "'v'.*Allowed are x, u, p, r"),
        (lambda: Cost(terminal=lambda x, u: x), "'u'.*Allowed are x, p, r"),
        (lambda: Cost(terminal=lambda x, r: x), "no Reference"),
        (lambda: Cost(terminal=lambda *args: 0.0), "by name"),
        (lambda: Cost(terminal=lambda x, /: 0.0), "by name"),
        (lambda: Cost(terminal=3.0), "must be a function, got 3.0"),
        (lambda: Cost.of("y"), "must be a function, got 'y'"),
        (lambda: Cost(terminal=lambda x: x, Reference=dict), "NamedTuple"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()


def test_terminal_gradient() -> None:
    cost = Cost(
        terminal=lambda x, p, r: p.m * ((x.x - r.x) ** 2 + (x.y - r.y) ** 2) + ops.sin(x.yaw),
        Reference=Point,
    )
    program = terminal_program(CAR, cost)
    assert [port.name for port in program.inputs] == ["x", "p", "r"]
    assert [port.name for port in program.outputs] == ["x", "p", "value"]
    x = record.build(CAR.State, x=1.0, y=2.0, yaw=0.3)
    m = CAR.params.m
    found = evaluate(program, x=x, p=record.flatten(CAR.params), r=[4.0, -1.0])
    wanted = np.zeros(len(x))
    wanted[:3] = [-6.0 * m, 6.0 * m, np.cos(0.3)]
    np.testing.assert_allclose(found["x"][0], wanted, rtol=1e-14)
    assert found["value"][0, 0] == pytest.approx(18.0 * m + np.sin(0.3), rel=1e-14)
    by_name = dict(zip(record.names(CAR.model.Params), found["p"][0], strict=True))
    assert by_name.pop("m") == pytest.approx(18.0)
    assert not any(by_name.values())


def test_terminal_program_of_a_stage_cost_is_zero() -> None:
    program = terminal_program(CAR, Cost(stage=lambda x: x.y), params=False)
    found = evaluate(program, x=START, p=record.flatten(CAR.params))
    assert not found["x"].any()
    assert found["value"].tolist() == [[0.0]]
    assert found["p"].shape == (1, 0)


@pytest.mark.parametrize("value", [lambda x: "far", lambda x: (x.x, x.y), lambda x: None])
def test_a_cost_is_a_scalar(value: Any) -> None:
    with pytest.raises(InvalidValue, match="must return a scalar"):
        terminal_program(CAR, Cost(terminal=value))
    with pytest.raises(InvalidValue, match="must return a scalar"):
        adjoint_program(CAR, "euler", Cost(stage=value))


def test_a_branch_on_the_state_is_refused() -> None:
    with pytest.raises(TraceError, match="where"):
        terminal_program(CAR, Cost(terminal=lambda x: x.y if x.y > 0.0 else 0.0))


def test_a_constant_cost_has_no_gradient() -> None:
    found = evaluate(
        terminal_program(CAR, Cost(terminal=lambda: 2.0)), x=START, p=record.flatten(CAR.params)
    )
    assert found["value"].tolist() == [[2.0]]
    assert not found["x"].any()
