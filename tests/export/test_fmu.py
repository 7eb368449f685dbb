"""FMUs of FMI 2.0 and 3.0 as another tool runs them, against `Simulator`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2LastSuccessfulTime
from fmpy.validation import validate_fmu

import skidpad as sp
from fmu_cart import DT, Unit, cart, cart_fmu, cart_folder
from skidpad.run.linearisation import linearise_continuous

VERSIONS = (2, 3)
FORCES = 60.0 * np.sin(0.7 * np.arange(40))


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def unit(version: int) -> Iterator[Unit]:
    unit = Unit(cart_folder(version))
    yield unit
    unit.close()


def simulator(**start: float) -> Any:
    sim = sp.Simulator(cart(), DT, "rk4")
    sim.reset(**start)
    return sim


def refused(unit: Unit, call: Any, *said: str) -> None:
    """The call fails, says why, and changes nothing."""
    before = unit.states(), unit.read("time", "output.a_x")
    with pytest.raises(FMICallException):
        call()
    for text in said:
        assert text in unit.said[-1]
    assert (unit.states(), unit.read("time", "output.a_x")) == before


@pytest.mark.slow_cases("2")
def test_fmpy_finds_no_problem_and_steps_with_the_same_bits(version: int) -> None:
    path = str(cart_fmu(version))
    assert validate_fmu(path) == []
    names = ["state.x", "state.yaw", "state.v_x", "state.spin", "output.a_x", "output.slip"]
    found = fmpy.simulate_fmu(
        path,
        fmi_type="CoSimulation",
        stop_time=1.0,
        step_size=DT,
        output_interval=DT,
        start_values={"input.F_x": 30.0, "state.v_x": 4.0},
        output=names,
    )
    sim = simulator(v_x=4.0)
    rows = [[*sim.step(F_x=30.0), *sim.outputs()] for _ in range(100)]
    assert np.array([list(row)[1:] for row in found])[1:].tolist() == rows


def test_steps_with_other_inputs_disturbances_and_parameters(unit: Unit) -> None:
    unit.start(state__v_x=6.0, params__m=55.0, params__tyre__k=700.0)
    car = cart(m=55.0, tyre=cart().params.tyre._replace(k=700.0))
    sim = sp.Simulator(car, DT, "rk4")
    sim.reset(v_x=6.0)
    for k, force in enumerate(FORCES.tolist()):
        unit.set(input__F_x=force, disturbance__F_wind=force / 7.0)
        sim.disturb(F_wind=force / 7.0)
        unit.step(k * DT)
        assert unit.states() == list(sim.step(F_x=force))
        assert unit.read("output.a_x", "output.slip") == list(sim.outputs())
    assert unit.read("time") == [sim.time]


def test_a_parameter_is_tuned_between_steps(unit: Unit) -> None:
    unit.start()
    unit.step(0.0)
    reached = unit.states()
    unit.set(params__m=80.0)
    assert unit.states() == reached
    unit.step(DT)
    heavy = sp.Simulator(cart(m=80.0), DT, "rk4")
    heavy.reset(dict(zip(("x", "yaw", "v_x", "spin"), reached, strict=True)))
    assert unit.states() == list(heavy.step())


def test_arrays_are_set_as_a_whole_and_number_by_number() -> None:
    three, two = Unit(cart_folder(3)), Unit(cart_folder(2))
    three.write(["params.drag.value"], [0.0, 50.0, 60.0])
    two.write(["params.drag.value[2]", "params.drag.value[3]"], [50.0, 60.0])
    assert three.read("params.drag.value", count=3) == [0.0, 50.0, 60.0]
    for unit in (three, two):
        unit.start(state__v_x=12.0)
        unit.step(0.0)
    assert three.states() == two.states()
    with pytest.raises(FMICallException):
        three.write(["params.drag.value"], [0.0, 50.0])
    assert "2 values are given to variables that have 3" in three.said[-1]
    three.close()
    two.close()


def test_a_step_of_many_is_many_steps(unit: Unit) -> None:
    unit.start(input__F_x=20.0)
    sim = simulator()
    # As the clock of a master gives it: a difference of two times that are sums of steps.
    clock = 0.0
    for _ in range(7):
        following = clock + 3 * DT
        unit.step(clock, following - clock)
        clock = following
        for _ in range(3):
            sim.step(F_x=20.0)
    assert unit.states() == list(sim.state)
    assert unit.read("time") == [sim.time]


@pytest.mark.parametrize(("length", "count"), [(0.004, 1), (0.025, 3), (0.0101, 2)])
def test_a_step_that_is_no_multiple_is_made_of_equal_ones(
    unit: Unit, length: float, count: int
) -> None:
    unit.start(input__F_x=20.0)
    unit.step(0.0, length)
    sim = simulator()
    for _ in range(count):
        sim.step(F_x=20.0, dt=length / count)
    assert unit.states() == list(sim.state)
    assert unit.read("time") == [sim.time]
    unit.step(sim.time)
    assert unit.states() == list(sim.step(F_x=20.0))


@pytest.mark.parametrize("length", [0.0, -DT, math.nan, math.inf, 1e12])
def test_steps_that_cannot_be_made(unit: Unit, length: float) -> None:
    unit.start()
    unit.step(0.0)
    refused(unit, lambda: unit.step(DT, length), "step of")


def test_a_step_from_elsewhere(unit: Unit) -> None:
    unit.start(5.0)
    assert unit.read("time") == [5.0]
    refused(unit, lambda: unit.step(0.0), "begins at 0 s", "is at 5 s")
    unit.step(5.0)
    assert unit.read("time") == [5.0 + DT]


def test_values_that_are_refused(unit: Unit) -> None:
    unit.start()
    refused(unit, lambda: unit.set(input__F_x=math.nan), "input.F_x = ", "must be finite")
    refused(unit, lambda: unit.set(params__m=0.0), "params.m = 0", "greater than 0")
    refused(unit, lambda: unit.set(params__r=2.5), "params.r = 2.5", "from 0.1 to 2")
    refused(unit, lambda: unit.set(state__v_x=1.0), "state.v_x cannot be set", "step mode")
    refused(unit, lambda: unit.set(output__a_x=1.0), "output.a_x cannot be set")
    # One that is refused leaves the others unset, too.
    call = lambda: unit.write(["input.F_x", "params.m"], [9.0, -1.0])  # noqa: E731
    refused(unit, call, "params.m = -1")
    assert unit.read("input.F_x") == [0.0]
    unit.reference["nothing"] = 9999
    refused(unit, lambda: unit.read("nothing"), "value reference 9999")


def test_a_step_that_diverges_leaves_the_vehicle_as_it_was(unit: Unit) -> None:
    unit.start(state__v_x=4.0)
    unit.step(0.0)
    # The first of these steps succeed: the wheel, of 1 kg·m, spins up by 2.9e307 rad/s².
    unit.set(input__F_x=2.9e307)
    refused(unit, lambda: unit.step(DT, 700 * DT), "NaN or infinite in the step from t = 6.")
    if unit.version == 2:
        status = unit.fmu.getRealStatus(fmi2LastSuccessfulTime)
        assert status == DT
    unit.set(input__F_x=0.0)
    unit.step(DT)
    sim = simulator(v_x=4.0)
    sim.step()
    assert unit.states() == list(sim.step())


def test_calls_out_of_order(unit: Unit) -> None:
    refused(unit, lambda: unit.step(0.0), "DoStep cannot be called", "instantiated")
    unit.start()
    refused(unit, unit.fmu.exitInitializationMode, "step mode")


def test_another_token_makes_no_instance(version: int) -> None:
    unit = Unit(cart_folder(version))
    unit.fmu.guid = "{another}"
    with pytest.raises(Exception, match="instantiate"):
        unit.fmu.instantiate(**({} if version == 3 else {"callbacks": unit.callbacks}))
    unit.close()


def test_starts_are_made_consistent(unit: Unit) -> None:
    """As `Simulator.reset`: the wheel rolls unless a start says how it spins."""
    unit.start(state__v_x=5.0, params__r=0.5)
    assert unit.read("state.spin") == [5.0 / 0.5]
    unit.fmu.reset()
    unit.start(state__v_x=5.0, state__spin=0.0)
    assert unit.states() == list(simulator(v_x=5.0, spin=0.0).state)
    unit.step(0.0)
    assert unit.states() == list(simulator(v_x=5.0, spin=0.0).step())


def test_values_before_the_start_are_those_of_the_start(unit: Unit) -> None:
    unit.set(state__v_x=5.0, input__F_x=10.0)
    if unit.version == 2:
        unit.fmu.setupExperiment(startTime=0.0)
    unit.fmu.enterInitializationMode()
    assert unit.read("state.spin") == [20.0]
    assert unit.read("output.slip") == [0.01]
    unit.set(params__r=0.5)
    assert unit.read("state.spin") == [10.0]
    unit.fmu.exitInitializationMode()
    assert unit.read("output.slip") == [0.01]


def test_instances_and_fmus_side_by_side() -> None:
    """Two of one FMU and one of another in one process, by turns."""
    units = [Unit(cart_folder(3)), Unit(cart_folder(3)), Unit(cart_folder(2))]
    sims = [simulator(v_x=v) for v in (3.0, 7.0, 11.0)]
    for unit, speed in zip(units, (3.0, 7.0, 11.0), strict=True):
        unit.start(state__v_x=speed)
    for k, force in enumerate(FORCES[:12].tolist()):
        for n, (unit, sim) in enumerate(zip(units, sims, strict=True)):
            unit.set(input__F_x=force * n)
            unit.step(k * DT)
            assert unit.states() == list(sim.step(F_x=force * n))
    for unit in units:
        unit.close()


def test_saved_states_come_back(unit: Unit) -> None:
    unit.start(input__F_x=15.0)
    unit.step(0.0)
    saved, here = unit.save(), unit.states()
    for k in range(1, 5):
        unit.step(k * DT)
    there = unit.states()
    unit.restore(saved)
    assert (unit.states(), unit.read("time")) == (here, [DT])
    for k in range(1, 5):
        unit.step(k * DT)
    assert unit.states() == there
    unit.forget(saved)


def test_saved_states_travel_as_bytes(unit: Unit) -> None:
    unit.start(input__F_x=15.0)
    unit.step(0.0)
    saved, other = unit.save(), Unit(cart_folder(unit.version))
    text = unit.written(saved)
    revived = other.revived(text)
    other.restore(revived)
    for one in (unit, other):
        one.step(DT)
    assert other.states() == unit.states()
    with pytest.raises(FMICallException):
        unit.revived(b"x" * len(text))
    assert "not a state that was saved by this FMU" in unit.said[-1]
    exchanging = Unit(cart_folder(unit.version), "ModelExchange")
    with pytest.raises(FMICallException):
        exchanging.restore(saved)
    assert "the state is one of co-simulation" in exchanging.said[-1]
    unit.forget(saved)
    other.forget(revived)
    other.close()
    exchanging.close()


def test_model_exchange_has_the_rates_of_the_model(version: int) -> None:
    unit = Unit(cart_folder(version), "ModelExchange")
    unit.start(state__v_x=5.0, input__F_x=12.0)
    x = unit.states()
    rates = unit.read(*(f"der(state.{name})" for name in ("x", "yaw", "v_x", "spin")))
    around = linearise_continuous(cart(), x, {"F_x": 12.0})
    assert rates == pytest.approx(around.rate.tolist(), rel=1e-12, abs=1e-12)
    unit.close()


def test_model_exchange_by_a_solver_of_others(version: int) -> None:
    """Euler's method of fmpy in short steps comes to what RK4 here does, as h does."""

    def end(step: float) -> Any:
        found = fmpy.simulate_fmu(
            str(cart_fmu(version)),
            fmi_type="ModelExchange",
            solver="Euler",
            stop_time=0.5,
            step_size=step,
            output_interval=step,
            start_values={"input.F_x": 30.0, "state.v_x": 4.0},
            output=["state.x", "state.v_x", "state.spin"],
        )
        return np.array(list(found[-1])[1:])

    sim = simulator(v_x=4.0)
    for _ in range(50):
        sim.step(F_x=30.0)
    exact = np.array([sim.state.x, sim.state.v_x, sim.state.spin])
    coarse, fine = (np.abs(end(h) - exact) for h in (1e-3, 2.5e-4))
    assert (coarse < [1e-2, 1e-2, 5e-2]).all()
    assert (fine < 0.3 * coarse).all()
