"""Derivatives that an FMU gives, against the simulator's linearisation and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fmu_cart import DT, Unit, cart, cart_folder
from skidpad.run.linearisation import linearise_continuous

STATES = ("state.x", "state.yaw", "state.v_x", "state.spin")
RATES = tuple(f"der({name})" for name in STATES)
OUTPUTS = ("output.a_x", "output.slip")
INPUTS = ("input.F_x", "input.v_x")
MOMENT = {"state__v_x": 6.0, "state__yaw": 0.4, "state__spin": 25.0, "input__F_x": 30.0}


@pytest.mark.slow_cases("ModelExchange-3")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["ModelExchange", "CoSimulation"])
def test_the_exact_jacobians(version: int, kind: str) -> None:
    unit = Unit(cart_folder(version), kind).start(**MOMENT)
    around = linearise_continuous(cart(), unit.states(), {"F_x": 30.0})
    assert np.array(unit.jacobian(RATES, STATES)) == pytest.approx(around.A, rel=1e-12, abs=1e-14)
    assert np.array(unit.jacobian(RATES, INPUTS)) == pytest.approx(around.B, rel=1e-12, abs=1e-14)
    assert np.array(unit.jacobian(STATES, STATES)).tolist() == np.eye(4).tolist()
    # slip = r spin - v_x + 0.001 F_x
    slip = unit.jacobian(["output.slip"], [*STATES, *INPUTS, "params.r", "time"])
    assert slip[0] == pytest.approx([0, 0, -1.0, 0.25, 0.001, 0, 25.0, 0])
    wind = unit.jacobian(["output.a_x"], ["disturbance.F_wind"])
    assert wind[0] == pytest.approx([-1.0 / 40.0])
    unit.close()


@pytest.mark.parametrize("version", [2, 3])
def test_before_the_start_derivatives_go_through_the_start(version: int) -> None:
    """The wheel rolls: what depends on its spin depends on the speed and the radius."""
    unit = Unit(cart_folder(version))
    unit.set(state__v_x=6.0)
    if version == 2:
        unit.fmu.setupExperiment(startTime=0.0)
    unit.fmu.enterInitializationMode()
    spin = unit.jacobian(["state.spin"], ["state.v_x", "params.r"])
    assert spin[0] == pytest.approx([1.0 / 0.25, -6.0 / 0.25**2])
    slip = unit.jacobian(["output.slip"], ["state.v_x", "params.r", "input.F_x"])
    assert slip[0] == pytest.approx([0.0, 0.0, 0.001], abs=1e-12)
    unit.set(state__spin=25.0)
    assert unit.jacobian(["state.spin"], ["state.v_x", "params.r"])[0] == [0.0, 0.0]
    slip = unit.jacobian(["output.slip"], ["state.v_x", "params.r"])
    assert slip[0] == pytest.approx([-1.0, 25.0])
    unit.fmu.exitInitializationMode()
    unit.close()


def numbers(unit: Unit, names: Any) -> list[int]:
    return [unit.reference[name] for name in names]


@pytest.mark.parametrize("started", [False, True])
def test_the_adjoint_is_the_transpose(started: bool) -> None:
    """w · (J v) = (Jᵀ w) · v, with arrays among the knowns, before and after the start."""
    unit, random = Unit(cart_folder(3)), np.random.default_rng(4)
    unit.set(state__v_x=12.0, input__F_x=30.0)
    unit.fmu.enterInitializationMode()
    if started:
        unit.fmu.exitInitializationMode()
        unit.step(0.0)
    unknowns = [*RATES, *OUTPUTS, "state.v_x", "state.spin"]
    knowns = ["state.x", "state.yaw", "state.v_x", *INPUTS, "params.drag.value", "params.m"]
    v, w = random.normal(size=9), random.normal(size=8)
    rows, columns = numbers(unit, unknowns), numbers(unit, knowns)
    forward = unit.fmu.getDirectionalDerivative(rows, columns, v.tolist())
    backward = unit.fmu.getAdjointDerivative(rows, columns, w.tolist(), 9)
    assert len(backward) == 9
    assert np.dot(w, forward) == pytest.approx(np.dot(backward, v), rel=1e-12)
    assert abs(np.dot(w, forward)) > 1e-3
    unit.close()


def test_what_has_no_derivative() -> None:
    unit = Unit(cart_folder(3)).start()
    for unknowns, knowns in ((["params.m"], ["state.x"]), (["output.slip"], ["output.a_x"])):
        with pytest.raises(Exception, match="status 3"):
            unit.jacobian(unknowns, knowns)
        assert "derivatives" in unit.said[-1]
    unit.step(0.0, DT)
    unit.close()
