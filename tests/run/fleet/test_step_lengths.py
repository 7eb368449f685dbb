"""Rollouts whose steps differ in length."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, SimulationDiverged, StepNotConverged
from unstable import unrefused

CAR = sp.vehicles.four_wheel()
DT, STEPS, COUNT = 1e-3, 24, 5


@pytest.fixture(scope="module")
def drive() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    x0 = np.tile(np.array(CAR.State(v_x=8.0)), (COUNT, 1))
    x0[:, 3] += rng.uniform(-2.0, 2.0, COUNT)
    return x0, rng.uniform(-0.1, 0.1, (STEPS, COUNT, 5)) * [1.0, 50.0, 50.0, 50.0, 50.0]


def lengths(count: int = STEPS) -> np.ndarray:
    return np.random.default_rng(8).uniform(0.3e-3, 1.5e-3, count)


def fleet(**options: Any) -> sp.Fleet:
    return sp.Fleet(CAR, DT, **{"integrator": "rk4", **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"precision": "float32", "lanes": 4},
        pytest.param({"integrator": "radau2", "threads": 2}, marks=pytest.mark.slow),
        {"substeps": 3, "lanes": 1},
    ],
)
def test_equal_lengths_have_the_bytes_of_one(options: Any, drive: Any) -> None:
    x0, u = drive
    many = fleet(**options)
    wanted = many.rollout(x0, u, every=4)
    assert many.rollout(x0, u, every=4, dt=np.full(STEPS, DT)).tobytes() == wanted.tobytes()
    # Whatever the fleet's own.
    other = sp.Fleet(CAR, 0.0005, **{"integrator": "rk4", **options})
    assert other.rollout(x0, u, every=4, dt=[DT] * STEPS).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("options", [{}, {"precision": "float32"}, {"substeps": 2}])
def test_a_simulator_has_the_same_bits(options: Any, drive: Any) -> None:
    x0, u = drive
    dt = lengths()
    out = fleet(**options).rollout(x0, u, dt=dt)
    for vehicle in (0, COUNT - 1):
        sim = sp.Simulator(CAR, DT, **options)
        sim.reset(x0[vehicle])
        for k in range(STEPS):
            state = sim.step(u[k, vehicle], dt=dt[k])
            assert np.array(state, out.dtype).tobytes() == out[k + 1, vehicle].tobytes()
        assert sim.time == pytest.approx(dt.sum(), rel=1e-14)


def test_parts_of_one_length_are_runs_of_fleets_of_that_length(drive: Any) -> None:
    """Some steps, then twice as many of half the length, as two fleets one after the other."""
    x0, u = drive
    first = fleet().rollout(x0, u[:6])
    halves = sp.Fleet(CAR, 0.5 * DT).rollout(first[-1], u[6:18])
    together = fleet().rollout(x0, u[:18], dt=[DT] * 6 + [0.5 * DT] * 12)
    assert together.tobytes() == np.concatenate([first, halves[1:]]).tobytes()


def test_every_lane_width_and_layout(drive: Any) -> None:
    x0, u = drive
    dt = lengths()
    wanted = fleet(lanes=1, threads=1).rollout(x0, u, dt=dt, every=3)
    for lanes, threads in ((4, 1), (8, 2), (16, 1)):
        out = fleet(lanes=lanes, threads=threads).rollout(
            x0.T, np.swapaxes(u, 1, 2), dt=dt, every=3, layout="soa"
        )
        assert np.swapaxes(out, 1, 2).tobytes() == wanted.tobytes()


def test_held_inputs_take_the_number_of_steps_from_the_lengths(drive: Any) -> None:
    x0, _ = drive
    dt = lengths(7)
    assert fleet().rollout(x0, {"steer": 0.1}, dt=dt).shape == (8, COUNT, 11)
    with pytest.raises(InvalidValue, match="number of steps = 7 and 8"):
        fleet().rollout(x0, np.zeros((8, COUNT, 5)), dt=dt)


class Memory(NamedTuple):
    integral: float = 0.0


def test_a_policy_sees_the_length_of_each_step(drive: Any) -> None:
    def act(x: Any, m: Memory, dt: Any) -> Any:
        return CAR.Input(steer=0.01 * m.integral), Memory(m.integral + dt)

    x0, _ = drive
    dt = lengths()
    policy = sp.Policy(act, Memory=Memory)
    _, memory = fleet().rollout(x0, dt=dt, policy=policy, return_memory=True)
    np.testing.assert_allclose(memory[:, 0, 0], [0.0, *np.cumsum(dt)], rtol=1e-14)


@pytest.mark.parametrize(
    ("dt", "message"),
    [
        ([DT] * 3, r"number of steps = 3 and 24"),
        (np.full((STEPS, 1), DT), r"dt has shape \(24, 1\); expected \(T,\)"),
        (DT, r"dt has shape \(\); expected \(T,\)"),
        ([DT] * 5 + [0.0] + [DT] * 18, "dt of step 5 is 0.0 s; it must be finite and greater"),
        ([-DT] * STEPS, "dt of step 0 is -0.001 s"),
        ([DT] * 23 + [np.nan], "dt of step 23 is nan s"),
        ([np.inf] * STEPS, "dt of step 0 is inf s"),
        (["slow"] * STEPS, "dt must be an array of numbers"),
    ],
)
def test_lengths_that_are_none(dt: Any, message: str, drive: Any) -> None:
    with pytest.raises(InvalidValue, match=message):
        fleet().rollout(*drive, dt=dt)


@pytest.mark.filterwarnings("ignore:rk4 with dt = 1e")
def test_when_something_goes_wrong_the_time_is_right() -> None:
    def fleet(integrator: str = "rk4", **options: Any) -> sp.Fleet:
        return sp.Fleet(unrefused(CAR), DT, integrator, **options)

    x0 = np.tile(np.array(CAR.State(v_x=20.0, v_y=5.0)), (3, 1))
    dt = np.array([1e-3, 2e-3, 1e160, 1e-3])
    with pytest.raises(SimulationDiverged) as caught:
        fleet().rollout(x0, {"steer": 0.1}, dt=dt, every=2)
    assert caught.value.time == pytest.approx(3e-3)
    wanted = fleet().rollout(x0, {"steer": 0.1}, dt=dt[:2])[-1, 0]
    assert np.array(caught.value.last_state).tobytes() == wanted.tobytes()
    with pytest.raises(StepNotConverged) as failed:
        fleet(integrator="radau2").rollout(x0, {"steer": 0.4}, dt=[1e-3, 2.0], every=2)
    assert failed.value.time == pytest.approx(1e-3)
    assert failed.value.residual > 1e-6
    masked = fleet(on_diverge="mask").rollout(x0, {"steer": 0.1}, dt=dt, every=1)
    assert np.isfinite(masked[:3]).all()
    assert np.isnan(masked[3:]).all()


BUS = sp.vehicles.autoware("DELAY_STEER_ACC_GEARED", {"wheel_base": 4.76, "steer_time_delay": 0.1})


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_dead_time_as_in_a_simulator(compat: str | None) -> None:
    bus = sp.vehicles.autoware(
        "DELAY_STEER_ACC_GEARED",
        {"wheel_base": 4.76, "steer_time_delay": 0.1, "acc_time_delay": 0.05},
        compat=compat,
    )
    rng = np.random.default_rng(9)
    dt = rng.uniform(0.005, 0.05, 40)
    u = rng.uniform(-0.2, 0.2, (40, 3, 3))
    u[..., 2] = 2.0
    delays = np.array([0.03, 0.1, 0.4])
    x0 = np.array(bus.State(v_x=5.0))
    out = sp.Fleet(bus, 0.025).rollout(x0, u, dt=dt, params={"steer_time_delay": delays})
    for vehicle, delay in enumerate(delays):
        sim = sp.Simulator(bus.with_params(steer_time_delay=delay), 0.025)
        sim.reset(x0)
        for k in range(40):
            sim.step(u[k, vehicle], dt=dt[k])
        assert np.array(sim.state).tobytes() == out[-1, vehicle].tobytes()


def test_a_queue_needs_steps_of_one_length() -> None:
    many, u = sp.Fleet(BUS, 0.025), {"steer": 0.1, "gear": 2}
    for queue in ({"return_pending": True}, {"pending": np.zeros((8, 1, 3))}):
        with pytest.raises(InvalidValue, match="steps of one length"):
            many.rollout(BUS.State(), u, dt=[0.01] * 4, **queue)
