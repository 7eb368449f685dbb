"""A model is traced once for each thing that is made of it, however many ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile.closed_loop import adjoint_program, tangent_program
from skidpad.compile.pipeline import outputs_program, step_program
from skidpad.core.policy import Cost
from skidpad.units import m, m_s, one


class Place(NamedTuple):
    y: m = 1.0


class Push(NamedTuple):
    v: m_s = 0.0


class Gain(NamedTuple):
    k: one = 1.0


def counted() -> tuple[sp.Vehicle, list[int]]:
    """A cart, and a list that grows by one whenever its derivative is asked for."""
    calls: list[int] = []

    def rate(x: Place, u: Push, w: object, p: Gain) -> Place:
        calls.append(1)
        return Place(p.k * u.v * x.y)

    model = sp.Model("cart", Place, Push, Gain, derivative=rate)
    return sp.Vehicle(model, Gain()), calls


PROGRAMS: dict[str, Callable[..., Any]] = {
    "step": step_program,
    "outputs": outputs_program,
    "adjoint": adjoint_program,
    "adjoint, states and inputs alone": lambda *of: adjoint_program(*of, params=False),
    "tangent": tangent_program,
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_second_trace_is_the_first(what: str) -> None:
    cart, calls = counted()
    method = ("heun",) if what != "outputs" else ()
    first = PROGRAMS[what](cart, *method)
    calls.clear()
    other = sp.Vehicle(cart.model, Gain(2.0))
    assert PROGRAMS[what](other, *method) is first
    assert not calls


def test_other_methods_and_outputs_are_traced_apart() -> None:
    cart, _ = counted()
    made = [
        adjoint_program(cart, "euler"),
        adjoint_program(cart, "heun"),
        adjoint_program(cart, "heun", params=False),
        tangent_program(cart, "euler"),
        tangent_program(cart, "heun"),
        step_program(cart, "heun"),
    ]
    assert len({program.digest for program in made}) == len(made)


def test_a_cost_that_reads_another_number_is_traced_again() -> None:
    """Costs are functions of the user's own: nothing of them is kept between fleets."""
    cart, _ = counted()
    wanted = {"y": 0.0}
    cost = Cost(stage=lambda x: (x.y - wanted["y"]) ** 2)
    found = []
    for y in (0.0, 3.0):
        wanted["y"] = y
        value, _ = sp.Fleet(cart, 0.1, "euler").gradient({"y": 1.0}, np.zeros((1, 1, 1)), cost)
        found.append(float(np.ravel(value)[0]))
    assert found == [1.0, 4.0]
