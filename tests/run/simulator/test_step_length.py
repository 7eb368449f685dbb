"""Steps of another length than the simulator's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged, StepNotConverged
from unstable import unrefused

BICYCLE = sp.vehicles.kinematic_bicycle()
DT = 1e-3
ROWS = np.random.default_rng(5).uniform(-0.1, 0.1, (20, 5))


def simulator(dt: float = DT, integrator: str = "rk4", **options: Any) -> sp.Simulator:
    sim = sp.Simulator(BICYCLE, dt, integrator, **options)
    sim.reset(v_x=4.0, time=2.0)
    return sim


@pytest.mark.parametrize(
    ("integrator", "options"),
    [
        ("rk4", {}),
        ("radau2", {}),
        ("rk4", {"precision": "float32"}),
        ("heun", {"substeps": 3}),
        ("scipy:RK45", {"rtol": 1e-6}),
    ],
)
def test_the_length_of_a_step_is_all_that_counts(integrator: str, options: dict[str, Any]) -> None:
    usual = simulator(integrator=integrator, **options)
    same = simulator(integrator=integrator, **options)
    other = simulator(7e-4, integrator, **options)
    for row in ROWS:
        assert usual.step(row) == same.step(row, dt=DT) == other.step(row, dt=DT)
        assert usual.outputs() == same.outputs() == other.outputs()
        assert usual.input == other.input
    # What counts steps does not drift; lengths that are told are added up.
    assert usual.time == 2.0 + len(ROWS) * DT
    assert other.time == pytest.approx(usual.time, rel=1e-14)


def test_the_usual_length_comes_back() -> None:
    sim = simulator()
    sim.step(ROWS[0], dt=5e-4)
    moment, time = sim.snapshot(), sim.time
    assert time == 2.0 + 5e-4
    after = sim.step(ROWS[1])
    assert sim.time == time + DT
    sim.restore(moment)
    assert (sim.time, sim.step(ROWS[1])) == (time, after)
    trajectory = sim.run(ROWS[2:5])
    np.testing.assert_allclose(trajectory.t, time + DT + DT * np.arange(4), rtol=1e-15)


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf, "1 ms", 1e-60])
def test_a_length_that_is_none(dt: Any) -> None:
    sim = simulator(precision="float32")
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match=r"dt = .* must be"):
        sim.step(ROWS[0], dt=dt)
    assert sim.snapshot() == before


@pytest.mark.filterwarnings("ignore:rk4 with dt = 1e")
def test_a_step_too_long_leaves_the_simulator_as_it_was() -> None:
    for integrator, error in (("rk4", SimulationDiverged), ("radau2", StepNotConverged)):
        sim = sp.Simulator(unrefused(sp.vehicles.four_wheel()), DT, integrator)
        sim.reset(v_x=20.0, v_y=5.0, time=1.0)
        before = sim.snapshot()
        with pytest.raises(error) as caught:
            sim.step(steer=0.4, tau_rl=50.0, dt=1e160 if integrator == "rk4" else 2.0)
        assert caught.value.time == 1.0
        assert sim.snapshot() == before
        sim.step(steer=0.01)


BUS = sp.vehicles.autoware("DELAY_STEER_VEL", {"wheel_base": 3.0, "steer_time_delay": 0.1})


@pytest.mark.parametrize("dt", [0.0125, 0.025, 0.05, 0.04])
def test_dead_time_is_a_time_whatever_the_steps(dt: float) -> None:
    """What acts is the newest command that is at least 0.1 s old."""
    sim = sp.Simulator(BUS, 0.025)
    sim.reset(v_x=3.0)
    steps = 20
    for k in range(steps):
        sim.step(velocity=3.0, steer=0.001 * k, dt=dt)
        old = k - int(np.ceil(0.1 / dt - 1e-9))
        assert sim.input.steer == pytest.approx(max(0.0, 0.001 * old), abs=1e-15), k


def test_steps_of_any_length_age_a_command() -> None:
    """Two of 25 ms, then four of 12.5 ms make 0.1 s; so do those after a restore."""
    sim = sp.Simulator(BUS, 0.025)
    sim.step(steer=0.1)
    moment = sim.snapshot()
    for _ in range(2):
        for dt in (0.025, 0.025, 0.0125, 0.0125, 0.0125):
            sim.step(steer=0.2, dt=dt)
            assert sim.input.steer == 0.0
        sim.step(steer=0.2, dt=0.0125)
        assert sim.input.steer == 0.1
        sim.restore(moment)


def test_a_model_that_counts_updates_counts_them() -> None:
    bus = sp.vehicles.autoware(
        "DELAY_STEER_VEL", {"wheel_base": 3.0, "steer_time_delay": 0.1}, compat="upstream"
    )
    sim = sp.Simulator(bus, 0.025)
    for k in range(8):
        sim.step(steer=0.1, dt=0.001 * (k + 1))
        assert sim.input.steer == (0.0 if k < 4 else 0.1)
