"""Steps with folds: one Program for every target, and the motion of the Program without them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from compile import cuda_harness
from compile.called_cars import car as called_car
from compile.lanes_harness import canonical
from skidpad import ops
from skidpad.compile import cuda
from skidpad.compile.cpu import CpuRollout, RolloutArrays, StepOptions
from skidpad.compile.gpu import RolloutLaunch
from skidpad.compile.lower import lower
from skidpad.compile.plant import Plant
from skidpad.core import record
from skidpad.study.experiment import Resources
from skidpad.study.metrics import first_time, highest, integral, last, mean, rms, time_of_highest
from skidpad.study.rollouts import Drive

from .drive_models import HOLDING, mass, rows

COUNT, STEPS = 19, 12
METRICS = {
    "high": highest("v"), "when": time_of_highest("v * p.gain"), "way": integral("v"),
    "u": mean("abs(u.a)"), "fast": first_time("v > 1.2"),
}  # fmt: skip


def drive(until: str | None, substeps: int) -> Drive:
    return Drive(
        mass(), dt=0.125, steps=STEPS, x0={"v": 1.0}, policy=HOLDING, references={"v": 3.0},
        metrics=METRICS, until=until, substeps=substeps, integrator="rk4",
    )  # fmt: skip


@pytest.mark.slow_cases("float64-None-1")
@pytest.mark.parametrize(("until", "substeps"), [(None, 1), ("v > 1.5", 3)])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_cuda_text_has_the_bits_of_llvm(
    until: str | None, substeps: int, precision: str, tmp_path: Path
) -> None:
    """Run on the processor, in pieces as on a GPU, where long work is several launches."""
    setup = drive(until, substeps)._setup()
    loop, kind = setup.loop, np.dtype(precision).type
    ready = setup.prepare(rows(COUNT, gain=np.linspace(0.5, 2.0, COUNT)))
    kept = np.broadcast_to(np.array(loop.folding.start), (1, COUNT, len(loop.folding.start)))
    given = (np.concatenate([ready.x, kept], axis=2), ready.u, ready.w, ready.p)
    arrays = RolloutArrays(*(a.astype(precision) for a in given))
    step, outs = loop.plant.step, []
    source = cuda.emit(lower(step, precision), precision)
    kernel = cuda_harness.kernel(source, "rollout", tmp_path)
    for by_text in (False, True):
        out = np.full((2, COUNT, given[0].shape[2]), np.nan, precision)
        out[0] = arrays.x[0]
        if by_text:
            dt, tolerance = kind(0.125 / substeps), kind(1e-6)
            launch = RolloutLaunch(
                kernel, np, arrays, out, STEPS, substeps=substeps, dt=dt, tolerance=tolerance
            )
            for begin, end in pairwise([0, 5, STEPS]):
                launch(begin, end)
        else:
            options = StepOptions(0.125, 1e-6, precision, substeps)
            engine = CpuRollout(step, options, lanes=4, threads=1)
            engine.run(arrays, out, STEPS)
        outs.append(out)
    assert canonical(outs[0]) == canonical(outs[1])
    assert np.isfinite(outs[0][1, :, :3]).all()


@pytest.mark.slow_cases("radau2-brains2", "radau2-four_wheel")
@pytest.mark.parametrize("vehicle", ["kinematic_bicycle", "four_wheel", "brains2"])
@pytest.mark.parametrize("integrator", ["rk4", "radau2"])
def test_the_motion_keeps_its_bits(vehicle: str, integrator: str) -> None:
    """Whatever the folds compute of states, inputs and parameters, products and all."""
    car = sp.vehicles.get(vehicle)()
    names = record.names(car.model.State)
    sums = " + ".join(f"{a} * {b}" for a, b in pairwise(names))
    metrics = {"all": mean(sums), **{f"{n}_end": highest(n) for n in names}}
    x0 = record.build(car.model.State, {n: 8.0 for n in names if n in ("v", "v_x")})
    found = Drive(car, dt=0.002, steps=50, x0=x0, metrics=metrics, integrator=integrator)
    steer = next(n for n in record.names(car.model.Input) if "steer" in n)
    angles = np.linspace(-0.2, 0.2, 9)
    out = found.evaluate(rows(9, **{f"input.{steer}": angles}), Resources())
    fleet = sp.Fleet(car, 0.002, integrator)
    held = np.tile(np.array(record.flatten(record.build(car.model.Input))), (9, 1))
    held[:, record.names(car.model.Input).index(steer)] = angles
    states = fleet.rollout(x0, held, steps=50)
    for k, name in enumerate(names):
        assert out[f"{name}_end"].tolist() == states[:, :, k].max(axis=0).tolist()


def test_a_metric_has_its_bits_whatever_others_there_are() -> None:
    """Neither shared products nor shared divisors show."""
    texts = ["v * v", "v * v + x", "x * v", "v / (x + 3)", "x / (x + 3)", "v * v - x * v"]
    texts += ["u.a * v", "u.a", "u.a * p.gain + v"]
    several = {f"{fold.__name__} {t}": fold(t) for fold in (mean, rms, integral) for t in texts}
    options = {
        "dt": 0.07, "steps": 41, "x0": {"v": 1.1}, "policy": HOLDING, "references": {"v": 3.3},
        "integrator": "rk4",
    }  # fmt: skip
    wanted = rows(5, gain=np.linspace(0.5, 2.0, 5))
    together = Drive(mass(), metrics=several, **options).evaluate(wanted, Resources())
    for name in list(several)[::4]:
        alone = Drive(mass(), metrics={name: several[name]}, **options).evaluate(
            wanted, Resources()
        )
        assert alone[name].tobytes() == together[name].tobytes(), name


def bent(v: Any) -> Any:
    return ops.sin(v) * v


def twice(x: Any) -> Any:
    return ops.called(bent, x.v_x) + ops.called(bent, x.v_y)


def test_functions_of_folds_stand_behind_those_of_the_vehicle() -> None:
    car = called_car()
    motion = Plant.of(car, sp.integrate.get("rk4")).step
    assert motion.functions
    start = record.build(car.model.State, {"v_x": 8.0})
    found = Drive(car, dt=0.001, steps=7, x0=start, metrics={"b": last(twice)}, integrator="rk4")
    names = [function.name for function in found._setup().loop.plant.step.functions]
    assert names[: len(motion.functions)] == [function.name for function in motion.functions]
    assert "bent" in names[len(motion.functions) :]
    end = sp.Fleet(car, 0.001, "rk4").rollout(start, {}, steps=7)[-1, 0]
    x = record.unflatten(car.model.State, end)
    out = found.evaluate(rows(1), Resources())
    assert out["b"][0] == pytest.approx(twice(x), rel=1e-13)
