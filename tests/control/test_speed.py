"""Speed control with limits."""

from __future__ import annotations

import pytest

from skidpad.control.speed import Memory, Params, torque

P = Params(k_p=40.0, k_i=40.0, tau_min=-60.0, tau_max=90.0)
DT = 0.01


def driven(target: float, seconds: float, load: float) -> list[float]:
    """Speeds of a cart of 10 kg with a wheel of 1 m under a constant opposing force, from rest."""
    v, memory = 0.0, Memory()
    speeds: list[float] = []
    for _ in range(round(seconds / DT)):
        tau, memory = torque(P, memory, v, target, DT)
        v += DT * (tau - load) / 10.0
        speeds.append(v)
    return speeds


def test_without_error_the_integral_holds_the_torque() -> None:
    assert torque(P, Memory(25.0), 7.0, 7.0, DT) == (25.0, Memory(25.0))


def test_proportional_and_integral_action() -> None:
    tau, memory = torque(P, Memory(10.0), 7.0, 7.5, DT)
    assert tau == pytest.approx(10.0 + 40.0 * 0.5)
    assert memory.integral == pytest.approx(10.0 + 40.0 * 0.5 * DT)


@pytest.mark.parametrize(("v", "limit"), [(0.0, 90.0), (50.0, -60.0)])
def test_at_a_limit_the_integral_rests(v: float, limit: float) -> None:
    memory = Memory(5.0)
    for _ in range(100):
        tau, memory = torque(P, memory, v, 25.0, DT)
        assert tau == limit
    assert memory == Memory(5.0)


def test_at_a_limit_the_integral_may_leave_it() -> None:
    tau, memory = torque(P, Memory(200.0), 10.5, 10.0, DT)
    assert tau == P.tau_max
    assert memory.integral < 200.0


def test_a_constant_load_leaves_no_error_and_little_overshoot() -> None:
    speeds = driven(target=20.0, seconds=12.0, load=30.0)
    assert speeds[-1] == pytest.approx(20.0, abs=1e-3)
    # The long launch at the limit would otherwise have gathered hundreds of newton metres.
    assert max(speeds) < 20.5
