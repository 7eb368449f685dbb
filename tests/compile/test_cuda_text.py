"""CUDA text without a GPU: nvcc accepts it, and run on the processor it has the bits of LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from compile import cuda_harness
from compile.called_cars import car as called_car
from compile.lanes_harness import PRECISIONS, canonical
from run.fleet.driving import inputs, starts
from skidpad.compile import cuda
from skidpad.compile.cpu import (
    Backward,
    CpuAdjoint,
    CpuMap,
    CpuRollout,
    RolloutArrays,
    StepOptions,
    swept_arrays,
)
from skidpad.compile.cuda import NATIVE
from skidpad.compile.gpu import AdjointLaunch, RolloutLaunch
from skidpad.compile.lower import lower
from skidpad.compile.plant import Plant
from skidpad.core import record
from skidpad.run.gradient import adjoint_of, terminal_of
from skidpad.run.runner import Settings

COUNT, STEPS = 37, 12
ONE_OR_BOTH = ["float64", pytest.param("float32", marks=pytest.mark.slow)]
"""Precisions, where a shorter test compares both: the texts differ in types and constants."""
CALLED = "called_rolling"
CASES = [
    ("kinematic_bicycle", "rk4", 1e-3, 1),
    ("four_wheel", "rk4", 1e-3, 1),
    ("brains2", "heun", 1e-2, 10),  # samples its input at the start of a step of ten sub-steps
    ("kinematic_bicycle", "radau", 1e-2, 1),
    (CALLED, "rk4", 1e-3, 1),  # calls functions, with parts that are held over the rollout
]
SMALL_OR_HELD = [
    case
    if case[0] != "four_wheel" and case[1] != "radau"
    else pytest.param(case, marks=pytest.mark.slow)
    for case in CASES
]
"""Cases where shorter tests have the others."""
BACKWARD = [("kinematic_bicycle", "rk4", 1e-3), ("four_wheel", "rk4", 1e-3)]
BACKWARD += [("kinematic_bicycle", "radau", 1e-2), (CALLED, "rk4", 1e-3)]
COST = sp.Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + x.y * x.y, terminal=lambda x: sp.ops.sin(x.yaw)
)
CAR_COST = sp.Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer**2, terminal=lambda x: x.yaw * x.yaw
)
needs_nvcc = pytest.mark.skipif(cuda_harness.NVCC is None, reason="nvcc is not installed")


def smallest_first(cases: list[Any]) -> list[Any]:
    """The first case as it is; the others, which nvcc builds in the same way, are slow."""
    return [cases[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in cases[1:])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where texts are built, which several tests run: nothing stays in a library of them."""
    return tmp_path_factory.mktemp("texts")


@cache
def plant(name: str, integrator: str) -> Plant:
    vehicle = called_car() if name == CALLED else sp.vehicles.get(name)()
    return Plant.of(vehicle, sp.integrate.get(integrator))


def cost(name: str) -> sp.Cost:
    return CAR_COST if name == "four_wheel" else COST


def driving(made: Plant, precision: str) -> RolloutArrays:
    """Start states, streamed inputs, calm air and parameters of its own for every vehicle."""
    assert made.vehicle is not None
    x0, u = starts(made.vehicle, COUNT), inputs(made.vehicle, STEPS, COUNT)
    calm = np.array(record.flatten(record.build(made.Disturbance)), float)
    spread = np.random.default_rng(3).uniform(0.95, 1.0, (COUNT, record.size(made.Params)))
    p = spread * np.array(record.flatten(made.params))
    given = (x0[None], u, np.tile(calm, (1, 1, 1)), p[None])
    return RolloutArrays(*(a.astype(precision) for a in given))


class Rolled:
    """The same rollout by LLVM in lanes and by CUDA text on the processor."""

    def __init__(
        self,
        case: tuple[str, str, float, int],
        precision: str,
        folder: Path,
        lengths: np.ndarray | None = None,
    ) -> None:
        name, integrator, self.dt, self.substeps = case
        self.lengths = lengths
        self.plant, self.precision = plant(name, integrator), precision
        self.tolerance = Settings(1.0, None, precision).tolerance
        lowered = lower(self.plant.step, precision)
        source = cuda.emit(lowered, precision, timed=lengths is not None)
        self.launch = cuda_harness.kernel(source, "rollout", folder)

    def by_llvm(self, given: RolloutArrays, out: np.ndarray, every: int) -> np.ndarray:
        options = StepOptions(self.dt, self.tolerance, self.precision, self.substeps)
        engine = CpuRollout(self.plant.step, options, lanes=4, threads=1)
        return engine.run(given, out, every, lengths=self.lengths)

    def by_text(
        self, given: RolloutArrays, out: np.ndarray, every: int, pieces: Sequence[int] = ()
    ) -> np.ndarray:
        kind = np.dtype(self.precision).type
        dt = kind(self.dt / self.substeps)
        if self.lengths is not None:
            dt = (self.lengths / self.substeps).astype(self.precision)
        launch = RolloutLaunch(
            self.launch,
            np,
            given,
            out,
            every,
            substeps=self.substeps,
            dt=dt,
            tolerance=kind(self.tolerance),
        )
        for begin, end in pairwise([0, *pieces, STEPS]):
            launch(begin, end)
        return launch.health

    def agree(self, given: RolloutArrays, every: int, layout: str = "aos") -> tuple[Any, Any]:
        """Samples and health, after checking that both ways give the same bytes."""
        results = []
        for run in (self.by_llvm, self.by_text):
            out = empty(STEPS // every + 1, given, layout)
            out[0] = given.x[0]
            results.append((out, run(given, out, every)))
        (wanted, health), (got, own_health) = results
        assert canonical(got) == canonical(wanted)
        assert canonical(own_health + 0.0) == canonical(health + 0.0)  # + 0.0 makes -0.0 a 0.0
        return got, own_health


def empty(samples: int, given: RolloutArrays, layout: str) -> np.ndarray:
    """Room for samples; what is not written there stays NaN."""
    count, size = max(a.shape[1] for a in given), given.x.shape[2]
    shape = (samples, count, size) if layout == "aos" else (samples, size, count)
    room = np.full(shape, np.nan, given.x.dtype)
    return room if layout == "aos" else room.swapaxes(1, 2)


@pytest.mark.slow_cases("brains2-heun-float64", "four_wheel-rk4-float64")
@pytest.mark.parametrize(
    ("case", "precision"),
    [
        # In single precision the shortest shows it: the texts differ in types and constants.
        pytest.param(c, p, marks=[pytest.mark.slow] if p == "float32" and c != CASES[0] else [])
        for c, p in product(CASES, PRECISIONS)
    ],
    ids=lambda v: v if isinstance(v, str) else f"{v[0]}-{v[1]}",
)
def test_rollouts_have_the_bits_of_llvm(
    case: tuple[str, str, float, int], precision: str, folder: Path
) -> None:
    both = Rolled(case, precision, folder)
    streamed = driving(both.plant, precision)
    samples, health = both.agree(streamed, every=3)
    assert np.isfinite(samples).all()
    assert np.isfinite(health).all()
    held = streamed._replace(u=streamed.u[:1], p=streamed.p[:, :1])
    ends, _ = both.agree(held, every=STEPS, layout="soa")
    assert canonical(ends[-1]) != canonical(samples[-1])


@pytest.mark.slow_cases("brains2-heun-float64", "called_rolling-rk4-float64")
@pytest.mark.parametrize("precision", ONE_OR_BOTH)
@pytest.mark.parametrize("case", SMALL_OR_HELD, ids=lambda c: f"{c[0]}-{c[1]}")
def test_steps_of_different_lengths(
    case: tuple[str, str, float, int], precision: str, folder: Path
) -> None:
    lengths = case[2] * np.random.default_rng(6).uniform(0.5, 1.0, STEPS)
    both = Rolled(case, precision, folder, lengths)
    given = driving(both.plant, precision)
    samples, _ = both.agree(given, every=3)
    pieces = empty(STEPS // 3 + 1, given, "aos")
    pieces[0] = given.x[0]
    both.by_text(given, pieces, 3, pieces=(4, 5))
    assert canonical(pieces) == canonical(samples)
    equal = Rolled(case, precision, folder)
    assert canonical(equal.agree(given, every=3)[0]) != canonical(samples)
    both.lengths = np.full(STEPS, case[2])
    assert canonical(both.agree(given, every=3)[0]) == canonical(equal.agree(given, every=3)[0])


PIECES = [(1,), (5, 6, 7), (3, 6, 9), (11,), tuple(range(1, STEPS))]
"""Where a rollout is cut."""


@pytest.mark.slow_cases("brains2-heun")
@pytest.mark.parametrize("case", SMALL_OR_HELD, ids=lambda c: f"{c[0]}-{c[1]}")
def test_a_rollout_in_pieces_has_the_bits_of_one_launch(
    case: tuple[str, str, float, int], folder: Path
) -> None:
    both = Rolled(case, "float64", folder)
    given = driving(both.plant, "float64")
    given.u[5, 2, 0] = np.nan
    for every in (1, 3, STEPS):
        (whole, health), *others = (rolled(both, given, every, cuts) for cuts in ((), *PIECES))
        assert np.isnan(health[1, 2])
        for split, split_health in others:
            assert canonical(split) == canonical(whole)
            assert canonical(split_health) == canonical(health)


def rolled(both: Rolled, arrays: Any, every: int, cuts: tuple[int, ...]) -> tuple[Any, Any]:
    """Samples and health of a rollout by the text, in launches that begin at the cuts."""
    out = empty(STEPS // every + 1, arrays, "aos")
    out[0] = arrays.x[0]
    return out, both.by_text(arrays, out, every, cuts)


def test_a_bad_input_and_a_lost_vehicle_are_reported_for_that_vehicle_alone(
    folder: Path,
) -> None:
    both = Rolled(CASES[0], "float64", folder)
    given = driving(both.plant, "float64")
    given.u[5, 2, 0] = np.nan
    given.x[0, 7, 3] = 1e308
    _, (diverged, bad_input, _) = both.agree(given, every=1)
    assert np.flatnonzero(np.isnan(bad_input)).tolist() == [2]
    assert np.flatnonzero(np.isnan(diverged)).tolist() == [2, 7]


def test_an_implicit_step_above_the_tolerance_leaves_nan(folder: Path) -> None:
    both = Rolled(CASES[3], "float64", folder)
    given = driving(both.plant, "float64")
    _, health = both.agree(given, every=STEPS)
    residuals = np.sort(health[2])
    both.tolerance = float(residuals[COUNT // 2])
    ends, health = both.agree(given, every=STEPS)
    lost = np.isnan(ends[-1]).all(axis=1)
    assert 0 < lost.sum() < COUNT
    assert (np.isnan(health[0]) == lost).all()


@pytest.mark.slow_cases("kinematic_bicycle-float32")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    "name", ["kinematic_bicycle", pytest.param("four_wheel", marks=pytest.mark.slow)]
)
def test_programs_applied_once_have_the_bits_of_llvm(
    name: str, precision: str, folder: Path
) -> None:
    made = plant(name, "rk4")
    given = driving(made, precision)
    for program, ports in (
        (made.outputs, [given.x, given.x, given.u[:1], given.w, given.p]),
        (terminal_of(made, cost(name), True), [given.x, given.p, np.zeros((1, 1, 0), precision)]),
    ):
        wanted = CpuMap(program, precision, 1).run(list(ports), COUNT)
        source = cuda.emit_apply(lower(program, precision), precision)
        got = [np.full_like(array, np.nan) for array in wanted]
        cuda_harness.kernel(source, "apply", folder)(COUNT, (*ports, *got), [COUNT])
        assert [canonical(a) for a in got] == [canonical(a) for a in wanted]
        assert all(np.isfinite(a).all() for a in got)


@pytest.mark.slow_cases("kinematic_bicycle-rk4-0.001-float64")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "integrator", "dt"), smallest_first(BACKWARD))
def test_adjoint_sweeps_have_the_bits_of_llvm(
    name: str, integrator: str, dt: float, precision: str, folder: Path
) -> None:
    made = plant(name, integrator)
    program = adjoint_of(made, cost(name), True)
    source = cuda.emit_adjoint(lower(program, precision), precision)
    launch = cuda_harness.kernel(source, "adjoint", folder)
    streamed = driving(made, precision)
    random = np.random.default_rng(8)
    nx = streamed.x.shape[2]
    states = np.repeat(streamed.x, STEPS, axis=0)
    lam, seed = (random.normal(size=(n, COUNT, nx)).astype(precision) for n in (1, STEPS))
    nothing = np.zeros((1, 1, 0), precision)
    for u, seeds in ((streamed.u, seed), (streamed.u[:1], np.zeros((1, 1, nx), precision))):
        back = Backward(states, u, streamed.w, streamed.p, nothing, lam, seeds)
        wanted = CpuAdjoint(program, dt=dt, precision=precision, threads=1).run(back, STEPS, COUNT)
        for pieces in ((), (5,), (1, 2, 11)):
            got = swept_arrays(np, program, back, COUNT, precision)
            sweep = AdjointLaunch(launch, back, got, STEPS, COUNT, np.dtype(precision).type(dt))
            for begin, end in pairwise([0, *pieces, STEPS]):
                sweep(begin, end)
            assert [canonical(a) for a in got] == [canonical(a) for a in wanted]
            assert np.abs(got.u).max() > 0.0


def test_fast_text_computes_the_same_function(folder: Path) -> None:
    """With another library's sines, so not the same bits; the equations are the same."""
    both = Rolled(CASES[1], "float32", folder)
    source = cuda.emit(lower(both.plant.step, "float32", NATIVE, careful=False), "float32")
    assert "sinf(" in source
    given = driving(both.plant, "float32")
    exact, _ = both.agree(given, every=STEPS)
    both.launch = cuda_harness.kernel(source, "rollout", folder)
    fast = empty(2, given, "aos")
    both.by_text(given, fast, STEPS)
    scale = np.abs(exact[-1]).max(axis=0)
    assert (np.abs(fast[-1] - exact[-1]).max(axis=0) <= 1e-4 * scale).all()


@needs_nvcc
@pytest.mark.parametrize("precision", ONE_OR_BOTH)
@pytest.mark.parametrize(("name", "integrator"), smallest_first([case[:2] for case in CASES]))
def test_nvcc_builds_rollouts(name: str, integrator: str, precision: str, tmp_path: Path) -> None:
    step = plant(name, integrator).step
    code = cuda_harness.cubin(cuda.emit(lower(step, precision), precision), tmp_path)
    assert b"rollout" in code


@needs_nvcc
@pytest.mark.parametrize("precision", ONE_OR_BOTH)
@pytest.mark.parametrize(("name", "integrator"), smallest_first([case[:2] for case in BACKWARD]))
def test_nvcc_builds_adjoints_and_maps(
    name: str, integrator: str, precision: str, tmp_path: Path
) -> None:
    made = plant(name, integrator)
    backward = lower(adjoint_of(made, cost(name), True), precision)
    assert b"adjoint" in cuda_harness.cubin(cuda.emit_adjoint(backward, precision), tmp_path)
    end = lower(terminal_of(made, cost(name), True), precision)
    assert b"apply" in cuda_harness.cubin(cuda.emit_apply(end, precision), tmp_path)


@needs_nvcc
def test_nvcc_builds_fast_text(tmp_path: Path) -> None:
    source = cuda.emit(
        lower(plant("four_wheel", "rk4").step, "float32", NATIVE, careful=False), "float32"
    )
    assert b"rollout" in cuda_harness.cubin(source, tmp_path, fast=True)
