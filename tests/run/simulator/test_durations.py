"""A time to run is a whole number of steps, in whatever runs; nothing is lost to rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from skidpad.core.checks import steps_in
from skidpad.errors import InvalidValue
from skidpad.study import manoeuvres

CAR = sp.vehicles.commonroad_kinematic_bicycle()
DT = 0.01
SCENE = """<mvsim_world version="1.0"><simul_timestep>0.01</simul_timestep></mvsim_world>"""


def world() -> sp.World:
    from skidpad.world.xml import loads

    return sp.World(loads(SCENE))


def perform(duration: Any) -> None:
    from skidpad.demo.performing import perform as performed
    from skidpad.demo.shows import WorldShow

    performed(WorldShow(world()), duration=duration)


RUNS: dict[str, Any] = {
    "simulator": lambda duration: sp.Simulator(CAR, DT).run({}, duration=duration),
    "world": lambda duration: world().run(duration),
    "monte carlo": lambda duration: sp.Fleet(CAR, DT).monte_carlo(
        {}, {}, runs=2, duration=duration
    ),
    "show": perform,
}


@pytest.mark.parametrize("what", RUNS)
@pytest.mark.parametrize("duration", [1e-9, 0.004, 0.025, 0.1 / 3.0, 1.0001, 1000.004, 987654.325])
def test_a_time_that_is_no_whole_number_of_steps_is_refused(what: str, duration: float) -> None:
    with pytest.raises(InvalidValue, match=r"not a whole number of steps of 0.01 s: take .* s or "):
        RUNS[what](duration)


@pytest.mark.parametrize("what", RUNS)
@pytest.mark.parametrize(
    "duration", ["1", b"1", True, np.True_, -0.1, float("nan"), float("inf"), 1e300, [1.0], 1j]
)
def test_a_time_is_a_number_that_can_be(what: str, duration: Any) -> None:
    with pytest.raises(InvalidValue, match="duration = "):
        RUNS[what](duration)


def test_the_error_names_durations_that_are_taken() -> None:
    with pytest.raises(InvalidValue, match=r"duration = 0.25 s .* take 0.2 s or 0.3 s"):
        sp.Simulator(CAR, 0.1).run({}, duration=0.25)
    with pytest.raises(InvalidValue, match=r"= 1000.004 s .* take 1000 s or 1000.01 s"):
        steps_in(1000.004, 0.01)
    for duration, steps in ((0.2, 2), (0.3, 3)):
        assert len(sp.Simulator(CAR, 0.1).run({}, duration=duration).t) == steps + 1


@pytest.mark.parametrize("steps", [0, 1, 3, 7, 999, 123456])
@pytest.mark.parametrize("dt", [0.1, 0.01, 1.0 / 3.0, 1.0 / 60.0, 0.016667, 0.007])
def test_rounding_of_the_numbers_does_not_matter(dt: float, steps: int) -> None:
    assert steps_in(steps * dt, dt) == steps
    assert steps_in(float(f"{steps * dt:.12g}"), dt) == steps
    assert steps_in(sum([dt] * min(steps, 1000)), dt) == min(steps, 1000)


@given(
    dt=st.floats(1e-4, 10.0),
    steps=st.integers(0, 10**9),
    off=st.floats(-0.5, 0.5).filter(lambda off: abs(off) > 0.02),
)
def test_no_run_is_longer_or_shorter_than_asked_by_a_part_of_a_step(
    dt: float, steps: int, off: float
) -> None:
    """However long it is: a slack that grows with the time would take any time at last."""
    assert steps_in(steps * dt, dt) == steps
    if steps + off > 0.0:
        with pytest.raises(InvalidValue, match="not a whole number of steps"):
            steps_in((steps + off) * dt, dt)


@pytest.mark.parametrize(
    ("written", "dt"), [(0.016667, 1 / 60), (0.033333, 1 / 30), (0.33333, 1 / 3), (0.66667, 1 / 3)]
)
def test_a_fraction_of_a_second_may_be_written_with_five_digits(written: float, dt: float) -> None:
    assert steps_in(written, dt) == round(written / dt)


def test_a_manoeuvre_lasts_whole_samples() -> None:
    car = manoeuvres.Subject(sp.vehicles.single_track())
    with pytest.raises(InvalidValue, match=r"step_steer: duration = 2.005 s .* take 2 s or 2.01 s"):
        manoeuvres.perform([manoeuvres.StepSteer(duration=2.005)], [car])
    with pytest.raises(InvalidValue, match=r"step_steer: duration = 0.0 s must be .* greater than"):
        manoeuvres.perform([manoeuvres.StepSteer(duration=0.0)], [car])


@pytest.mark.parametrize("wrong", [{"duration": 0.025}, {"rate": -1.0}])
def test_a_run_that_is_refused_leaves_no_folder(wrong: dict[str, float], tmp_path: Path) -> None:
    from skidpad.demo.performing import perform_into
    from skidpad.demo.shows import WorldShow

    with pytest.raises(InvalidValue, match=r"duration|rate"):
        perform_into(WorldShow(world()), tmp_path / "new", "w", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_short_runs_add_up() -> None:
    sim = sp.Simulator(CAR, DT)
    for _ in range(100):
        sim.run({}, duration=0.02)
    assert sim.time == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize(
    ("length", "message"),
    [
        ({"duration": 1e15}, "memory, more than there is"),
        ({"steps": 10**12}, "memory, more than there is"),
        ({"steps": 10**20}, r"steps = 10\^20 must be at most 9007199254740992"),
    ],
)
def test_more_steps_than_there_is_room_for_are_refused(length: Any, message: str) -> None:
    sim = sp.Simulator(CAR, 1.0)
    before = sim.snapshot()
    for controls in ({}, lambda t, x: {}):
        with pytest.raises(InvalidValue, match=message):
            sim.run(controls, **length)
    assert sim.snapshot() == before


def test_a_step_too_short_for_its_reciprocal_is_refused() -> None:
    with pytest.raises(InvalidValue, match="dt = 1e-320 s must be finite and greater than 0"):
        sp.Simulator(CAR, 1e-320)


@pytest.mark.parametrize("integrator", [None, 3, True, b"rk4", int, [], sp.integrate.radau.Radau])
def test_an_integrator_is_a_name_or_a_method(integrator: Any) -> None:
    for make in (sp.Simulator, sp.Fleet):
        with pytest.raises(InvalidValue, match=r"integrator = .* must be a name or an Integrator"):
            make(CAR, 0.01, integrator)
    with pytest.raises(InvalidValue, match=r"integrator = .* must be a name or an Integrator"):
        sp.linearise(CAR, {}, {}, 0.01, integrator)


@pytest.mark.parametrize("dt", [0.005, 0.1, 1.0 / 3.0])
def test_times_are_numbers_of_steps_times_dt_everywhere(dt: float) -> None:
    car, steps = sp.vehicles.kinematic_bicycle(), 600
    expected = [k * dt for k in range(steps + 1)]
    sim = sp.Simulator(car, dt)
    sim.reset()
    times = [sim.time]
    for _ in range(steps):
        sim.step({})
        times.append(sim.time)
    assert times == expected
    asked: list[float] = []

    def controls(t: float, x: Any) -> Any:
        asked.append(t)
        return {}

    run = sp.Simulator(car, dt).run(controls, steps=steps)
    assert asked == expected[:-1]
    assert run.t.tolist() == expected
