"""Compiled code does what was written, also where a number is NaN, infinite or zero."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import ops
from skidpad.units import one


class Numbers(NamedTuple):
    a: one = 0.0
    b: one = 0.0
    c: one = 0.0
    d: one = 0.0


class Given(NamedTuple):
    u: one = 0.0


class Divisor(NamedTuple):
    p: one = 1.0


class Results(NamedTuple):
    differs: one = 0.0
    same: one = 0.0
    share: one = 0.0
    difference: one = 0.0
    nothing: one = 0.0
    guarded: one = 0.0


def results(x: Any, u: Any, w: Any, p: Any) -> Results:
    # What CasADi would fold into 0, 1, 1, 0 and 0. The inputs are finite; what is made of them
    # need not be.
    v = x.a / x.b
    return Results(
        differs=ops.where(v != v, 1.0, 0.0),
        same=ops.where(v == v, 1.0, 0.0),
        share=x.b / x.b,
        difference=v - v,
        nothing=0.0 * v,
        guarded=ops.where(v != v, 7.0, v),
    )


MODEL = sp.Model(
    "as_written",
    Numbers,
    Given,
    Divisor,
    derivative=lambda x, u, w, p: Numbers(0.0, 0.0, x.a - x.a, 0.0 * x.a),
    outputs=results,
    Outputs=Results,
)
CAR = sp.Vehicle(MODEL, Divisor())


def directly(a: float, b: float) -> Results:
    """The same function on NumPy's numbers, which know NaN and infinity."""
    with np.errstate(all="ignore"):
        return results(Numbers(np.float64(a), np.float64(b)), Given(), None, Divisor())


@pytest.mark.parametrize("a", [0.0, 2.0, -3.0])
@pytest.mark.parametrize("b", [0.0, 1.5, -0.0])
@pytest.mark.parametrize("lanes", [1, 8])
def test_outputs_are_those_of_the_function(a: float, b: float, lanes: int) -> None:
    fleet = sp.Fleet(CAR, 0.01, "rk4", lanes=lanes, threads=1)
    compiled = fleet.outputs(np.tile([a, b, 0.0, 0.0], (9, 1)), {})
    wanted = np.array(directly(a, b), dtype=float)
    np.testing.assert_array_equal(compiled, np.tile(wanted, (9, 1)))


@pytest.mark.parametrize("integrator", ["rk4", "heun", "semi_implicit", "radau", "radau2"])
def test_a_guard_within_the_motion_holds(integrator: str) -> None:
    def motion(x: Any, u: Any, w: Any, p: Any) -> Numbers:
        v = u.u / u.u  # 0/0
        return Numbers(ops.where(v != v, 1.0, 0.0) - x.a, 0.0, 0.0, 0.0)

    car = sp.Vehicle(sp.Model("guarded", Numbers, Given, Divisor, derivative=motion), Divisor())
    after = sp.Simulator(car, 0.5, integrator).step(u=0.0)
    assert after.a == pytest.approx(1.0 - math.exp(-0.5), rel=0.3)


def test_a_policy_is_taken_as_written() -> None:
    def act(x: Any) -> Given:
        v = x.a / x.b
        return Given(ops.where(v != v, 3.0, 0.0))

    def motion(x: Any, u: Any, w: Any, p: Any) -> Numbers:
        return Numbers(0.0, 0.0, u.u, 0.0)

    car = sp.Vehicle(sp.Model("led", Numbers, Given, Divisor, derivative=motion), Divisor())
    policy = sp.Policy(act, name="guard")
    out = sp.Fleet(car, 0.5, "rk4").rollout({}, steps=1, policy=policy)
    assert out[-1, 0, 2] == pytest.approx(1.5)


def test_the_switch_is_put_back() -> None:
    import casadi

    def fails(x: Any, u: Any, w: Any, p: Any) -> Numbers:
        raise ZeroDivisionError

    car = sp.Vehicle(sp.Model("fails", Numbers, Given, Divisor, derivative=fails), Divisor())
    with pytest.raises(ZeroDivisionError):
        sp.Simulator(car, 0.01, "radau")
    assert casadi.GlobalOptions.getSimplificationOnTheFly()
    x = casadi.SX.sym("x")
    assert (x - x).is_zero()


@pytest.mark.parametrize("value", [1e300, -1e39, 1e-60])
def test_a_constant_that_single_precision_has_not_is_refused(value: float) -> None:
    def motion(x: Any, u: Any, w: Any, p: Any) -> Numbers:
        return Numbers(ops.minimum(x.a, value), 0.0, 0.0, 0.0)

    car = sp.Vehicle(sp.Model("constant", Numbers, Given, Divisor, derivative=motion), Divisor())
    sp.Simulator(car, 0.5, "rk4").step()
    with pytest.raises(sp.InvalidValue, match=r"constant .* too (large|small) for float32"):
        sp.Simulator(car, 0.5, "rk4", precision="float32").step()


@pytest.mark.parametrize("value", [5e-324, -1e-310])
def test_a_parameter_whose_reciprocal_is_infinite_is_refused(value: float) -> None:
    wanted = r"must be 0 or at least 2\.23e-308 in size"
    with pytest.raises(sp.InvalidValue, match=rf"Divisor\.p = .* {wanted}"):
        sp.Vehicle(MODEL, Divisor(value))
    with pytest.raises(sp.InvalidValue, match=rf"p of vehicle 1 is .* {wanted}"):
        sp.Fleet(CAR, 0.01, "rk4").rollout({}, {}, steps=1, params={"p": [1.0, value]})


def test_in_single_precision_that_begins_earlier() -> None:
    with pytest.raises(sp.InvalidValue, match=r"p of vehicle 0 is 9.99995e-41; .* 1\.18e-38"):
        sp.Fleet(CAR, 0.01, "rk4", precision="float32").rollout(
            {}, {}, steps=1, params={"p": 1e-40}
        )
    small = sp.Vehicle(MODEL, Divisor(1e-40))
    with pytest.raises(sp.InvalidValue, match=r"1\.18e-38"):
        sp.Fleet(small, 0.01, "rk4", precision="float32").rollout({}, {}, steps=1)
