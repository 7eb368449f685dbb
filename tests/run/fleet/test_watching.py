"""Long rollouts and sweeps tell how far they are, and stop when the one who listens says so."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.compile import host, pipeline
from skidpad.compile.closed_loop import adjoint_program
from skidpad.compile.cpu import Backward, CpuAdjoint, CpuRollout, RolloutArrays, StepOptions
from skidpad.core.progress import watching
from skidpad.core.threads import NEVER, Stop
from skidpad.integrate import get

COUNT, STEPS = 50, 3000


@pytest.fixture(scope="module")
def engine() -> CpuRollout:
    step = pipeline.step_program(sp.vehicles.kinematic_bicycle())
    return CpuRollout(step, StepOptions(1e-3, 1.0, "float64", substeps=2), lanes=4, threads=2)


def arrays(steps: int = STEPS) -> tuple[RolloutArrays, np.ndarray]:
    vehicle = sp.vehicles.kinematic_bicycle()
    x0, u = starts(vehicle, COUNT), inputs(vehicle, steps, COUNT)
    p = np.array(sp.core.record.flatten(vehicle.params))[None, None]
    out = np.full((steps // 100 + 1, *x0.shape), np.nan)
    out[0] = x0
    return RolloutArrays(x0[None], u, np.zeros((1, 1, 0)), p), out


def test_a_rollout_tells_how_far_it_is(engine: CpuRollout) -> None:
    given, plain = arrays()
    engine.run(given, plain, 100)
    told: list[tuple[float, float, int]] = []

    def report(done: float, total: float) -> None:
        told.append((done, total, threading.get_ident()))

    watched = plain.copy()
    watched[1:] = np.nan
    total = 2 * STEPS * COUNT
    with watching(total, "steps", progress=report) as bar:
        engine.run(given, watched, 100, progress=bar)
        assert bar.done == STEPS * COUNT
        engine.run(given, watched, 100, progress=bar)
    assert watched.tobytes() == plain.tobytes()
    assert told[-1] == (total, total, threading.get_ident())
    assert {thread for *_, thread in told} == {threading.get_ident()}


def test_a_long_call_is_watched_while_it_runs(
    engine: CpuRollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to wait for nothing, the one who waits sees strips done one after the other."""
    monkeypatch.setattr("skidpad.core.threads._LOOK", 1e-4)
    monkeypatch.setattr("skidpad.core.progress._PERIOD", 0.0)
    given, out = arrays()
    told: list[float] = []
    with watching(STEPS * COUNT, progress=lambda done, total: told.append(done)) as bar:
        engine.run(given, out, 100, progress=bar)
    assert told == sorted(told)
    assert told[-1] == STEPS * COUNT


def test_what_the_listener_raises_ends_the_rollout(engine: CpuRollout) -> None:
    """And the threads are back by then: the same arrays give the right bytes."""
    given, plain = arrays()
    engine.run(given, plain, 100)

    def refuse(done: float, total: float) -> None:
        raise ArithmeticError("enough")

    for _ in range(5):
        out = plain.copy()
        with pytest.raises(ArithmeticError), watching(1, progress=refuse) as bar:
            engine.run(given, out, 100, progress=bar)
        out[1:] = np.nan
        engine.run(given, out, 100)
        assert out.tobytes() == plain.tobytes()


def test_a_sweep_tells_how_far_it_is() -> None:
    vehicle = sp.vehicles.kinematic_bicycle()
    given, _ = arrays(600)
    program = adjoint_program(vehicle, get("rk4"), sp.Cost(stage=lambda x, u: x.y * x.y))
    engine = CpuAdjoint(program, dt=1e-3, precision="float64", threads=2)
    states, lam = np.repeat(given.x, 600, axis=0), np.ones_like(given.x)
    nothing = np.zeros((1, 1, 0)), np.zeros((1, 1, lam.shape[2]))
    back = Backward(states, given.u, given.w, given.p, nothing[0], lam, nothing[1])
    plain = engine.run(back, 600, COUNT)
    with watching(600 * COUNT) as bar:
        watched = engine.run(back, 600, COUNT, progress=bar)
        assert bar.done == 600 * COUNT
    assert [a.tobytes() for a in watched] == [a.tobytes() for a in plain]


def test_a_kernel_that_is_stopped_returns_at_the_next_strip(engine: CpuRollout) -> None:
    """By the block that a thread would get: nothing else can say when the flag is set."""
    kernel = pipeline.rollout_kernel(engine.program, "float64", 4)
    given, out = arrays()
    tiles = [host.strided(a, 4) for a in given]
    words = [w for _, described in tiles for w in described] + [*host.writable(out)]
    health, stop = np.zeros((3, COUNT)), Stop()
    words += [health.ctypes.data, COUNT, 1, 0]
    flag, strips = (len(words) + host.WATCH_WORDS.index(name) for name in ("stop", "strips"))
    words += [0, COUNT, stop.address, 0]
    words += [STEPS // 100, 100, 1, host.bits(1e-3, np.float64), host.bits(1.0, np.float64)]
    block = np.array(words, np.int64)
    stop.set()
    kernel(block.ctypes.data)
    assert np.isnan(out[1:]).all()
    assert block[strips] == 0
    block[flag] = NEVER.address
    kernel(block.ctypes.data)
    assert np.isfinite(out).all()
    assert block[strips] == -(-COUNT // 4) * -(-STEPS // host.STRIP)
