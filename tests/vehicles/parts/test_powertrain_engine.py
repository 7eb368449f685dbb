"""An engine: full load, drag, idle, rev limit, throttle and fuel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.gearing import Crankshaft, Engine, EngineStates, torque_curve

ENGINE = Engine()
CRANK = ENGINE.crank


def settled_torque(spin: float, throttle: float) -> float:
    """Torque at the shaft once what burns has followed the throttle, at constant spin."""
    most = ENGINE.most(spin)
    lag = ENGINE.torque_rate(EngineStates(spin, 0.0), throttle) * CRANK.t_lag
    assert 0.0 <= lag <= most
    return ENGINE.burning(EngineStates(spin, lag)) - ENGINE.dragging(spin)


def test_full_load_and_drag_are_the_curves() -> None:
    assert settled_torque(200.0, 1.0) == pytest.approx(140.0, rel=1e-2)
    assert settled_torque(310.0, 1.0) == pytest.approx(149.0, rel=1e-2)
    assert settled_torque(300.0, 0.0) == pytest.approx(-18.0, rel=1e-3)
    half = 0.5 * (140.0 + np.interp(200.0, (60, 300), (12, 18))) - np.interp(
        200.0, (60, 300), (12, 18)
    )
    assert settled_torque(200.0, 0.5) == pytest.approx(half, rel=1e-3)


@given(st.floats(680.0, 2000.0), st.floats(0.0, 500.0))
def test_nothing_burns_beyond_the_rev_limit(spin: float, tau: float) -> None:
    assert ENGINE.burning(EngineStates(spin, tau)) == 0.0
    assert ENGINE.dragging(spin) > 0.0


def test_an_engine_that_stands_or_turns_back_burns_nothing() -> None:
    for spin in (0.0, -50.0):
        assert ENGINE.burning(EngineStates(spin, 100.0)) == 0.0
    assert ENGINE.dragging(0.0) == 0.0
    assert ENGINE.dragging(-50.0) < 0.0


def idling(throttle: float, start: float, t: float) -> float:
    """Spin of the engine alone after a time."""
    spin, tau, dt = start, 0.0, 2e-3
    for _ in range(round(t / dt)):
        x = EngineStates(spin, tau)
        spin += dt * (ENGINE.burning(x) - ENGINE.dragging(spin)) / CRANK.J
        tau += dt * ENGINE.torque_rate(x, throttle)
    return spin


@pytest.mark.parametrize("start", [40.0, 85.0, 300.0])
def test_alone_it_comes_to_idle(start: float) -> None:
    """Drag is all that burns there."""
    assert idling(0.0, start, 10.0) == pytest.approx(CRANK.spin_idle, abs=0.1)


def test_alone_under_full_throttle_it_stops_below_the_rev_limit() -> None:
    assert 0.97 * CRANK.spin_max < idling(1.0, 100.0, 3.0) < CRANK.spin_max


def test_the_throttle_for_a_torque_gives_it() -> None:
    for tau in (-10.0, 0.0, 60.0, 120.0):
        throttle = ENGINE.throttle(tau, 250.0)
        assert settled_torque(250.0, throttle) == pytest.approx(tau, abs=1e-2)
    assert ENGINE.throttle(1e4, 250.0) == 1.0


def test_fuel_is_work_over_efficiency() -> None:
    engine = Engine(crank=Crankshaft(efficiency=0.25))
    assert engine.fuel(EngineStates(200.0, 100.0)) == pytest.approx(80e3, rel=1e-9)


def test_curves_of_another_engine() -> None:
    engine = Engine(full=torque_curve((0.0, 100.0), (50.0, 70.0)))
    assert engine.most(50.0) == pytest.approx(60.0 + 12.0)
