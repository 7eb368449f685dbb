"""A called kernel may be handed a state that it does not look at, also in an implicit step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.backends import inlined
from skidpad.ops import called, tanh


def pull(x: Any, idle: Any) -> Any:
    """A kernel of one state; the other is what some other kernel in its place would need."""
    return -tanh(3.0 * x)


class Params(NamedTuple):
    k: float = 2.0


def model(size: int, *, copied: bool = False) -> sp.Model:
    """A chain of states, each pulled by its neighbour, and one that follows their sum unseen."""
    names = [f"s_{i}" for i in range(size)]
    fields = [*names, "unseen"]
    State = record.define("State", dict.fromkeys(fields, float), dict.fromkeys(fields, 0.0))
    Input = record.define("Input", {"push": float}, {"push": 0.0})

    def rates(x: Any, u: Any, w: Any, p: Any) -> Any:
        chain = x[:-1]
        pulled = [
            p.k * called(pull, a + 0.5 * b, x.unseen) + u.push
            for a, b in zip(chain, (*chain[1:], chain[0]), strict=True)
        ]
        return type(x)(*pulled, sum(chain) - 5.0 * x.unseen)

    def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
        if not copied:
            return rates(x, u, w, p)
        with inlined():
            return rates(x, u, w, p)

    return sp.Model(
        name=f"chain_{size}", State=State, Input=Input, Params=Params, derivative=derivative
    )


@pytest.mark.slow_cases("radau2-large", "radau2-one", "radau2-unrolled")
@pytest.mark.parametrize("size", [1, 3, 5], ids=["one", "unrolled", "large"])
@pytest.mark.parametrize("integrator", ["radau", "radau2"])
def test_a_step_does_not_miss_it(size: int, integrator: str) -> None:
    ends = []
    for copied in (False, True):
        car = sp.Vehicle(model(size, copied=copied), Params())
        sim = sp.Simulator(car, dt=0.05, integrator=integrator)
        sim.reset([1.0 + 0.1 * i for i in range(size + 1)])
        ends.append(record.flatten([sim.step({"push": 0.1}) for _ in range(5)][-1]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


def test_derivatives_of_a_step_do_not_miss_it() -> None:
    """The unseen state changes nothing but itself: of its decay, the method's stability function
    (1 + z/3) / (1 - 2z/3 + z²/6)."""
    car = sp.Vehicle(model(5), Params())
    A = car.linearise([0.3] * 6, [0.1], dt=0.05, integrator="radau2").A
    assert np.abs(A[:5, 5]).max() == 0.0
    z = -5.0 * 0.05
    want = (1.0 + z / 3.0) / (1.0 - 2.0 * z / 3.0 + z * z / 6.0)
    assert A[5, 5] == pytest.approx(want, rel=1e-12)
