"""Manoeuvres of the proving ground, driven by its driver, beside linear theory and closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

import skidpad as sp
from skidpad.manoeuvres import (
    CoastDown,
    ConstantRadius,
    ConstantSpeed,
    ConstantSteer,
    Kernels,
    Manoeuvre,
    Result,
    SineSweep,
    StepSteer,
    Subject,
    TurningCircle,
    perform,
)
from validation.rows.row import Row, compared, recorded

THEORY = "linear theory by exact derivatives"
DRIVEN = 5e-3
"""Of drives with small angles beside theory for infinitely small ones: a tenth of the 5 % that
VDSim allows."""
SMALL = StepSteer(speed=20.0, a_y=0.5, rise=0.01)
GENTLE = SineSweep(speed=20.0, a_y=0.5)


@cache
def _results(name: str) -> dict[str, Result]:
    """A car without drag, which would drive front wheels and so turn the car."""
    car = Subject(sp.vehicles.get(name)(C_drag=0.0))
    gentle: tuple[Manoeuvre, ...] = (ConstantRadius(), ConstantSpeed(), ConstantSteer(), SMALL)
    found = perform((*gentle, GENTLE), [car], Kernels())
    return {result.manoeuvre.name: result for result in found}


def _rows(name: str) -> Iterator[Row]:
    results = _results(name)
    for manoeuvre in ("constant_radius", "constant_speed", "constant_steer"):
        result = results[manoeuvre]
        assert result.findings is not None
        slip = result.findings["sideslip_gradient"]
        quantity = f"sideslip gradient, {manoeuvre.replace('_', ' ')} (rad s²/m)"
        source = f"{THEORY}; {_source(result)}"
        yield compared(name, quantity, source, slip.theory[0], slip.value[0], DRIVEN)
    step = results["step_steer"]
    run, theory = step.runs[-2], step.car.theory(20.0)
    linear = theory.step(run.t - 0.5 * SMALL.rise)["omega"] * run["steer"][-1, 0]
    late = run.t > 0.03
    quantity = "yaw rate after a step of 0.5 m/s² (rad/s)"
    yield recorded(
        name, quantity, f"{THEORY}; {_source(step)}", linear[late], run["omega"][late, 0], DRIVEN
    )
    sweep = results["sine_sweep"]
    assert sweep.findings is not None
    for metric in sweep.findings.metrics:
        if metric.theory is not None and np.isfinite(metric.theory).all():
            words = metric.name.replace("_", " ")
            quantity = f"{words} ({metric.unit or '1'})"
            want, got = metric.theory[0], metric.value[0]
            yield compared(name, quantity, f"{THEORY}; {_source(sweep)}", want, got, DRIVEN)


def _source(result: Result) -> str:
    return result.manoeuvre.source


def single_track() -> Iterator[Row]:
    """The bicycle."""
    yield from _rows("single_track")


def two_track() -> Iterator[Row]:
    """The car on four wheels."""
    yield from _rows("two_track")


def along_the_road() -> Iterator[Row]:
    """Coasting and the tightest turn."""
    car = Subject(sp.vehicles.single_track())
    (coast,) = perform([CoastDown()], [car], Kernels())
    p = sp.vehicles.single_track().params
    source = f"C_drag / (2 m); {_source(coast)}"
    want = 0.5 * p.C_drag / p.m
    quantity = "square term of a coast-down (1/m)"
    yield compared("single_track", quantity, source, want, coast["resistance_square"][0], 1e-3)
    rolls = Subject(sp.vehicles.kinematic_bicycle())
    (turn,) = perform([TurningCircle()], [rolls], Kernels())
    assert turn.findings is not None
    kerb = turn.findings["kerb_to_kerb"]
    source = f"rolling without slip; {_source(turn)}"
    quantity = "turning circle, kerb to kerb (m)"
    yield compared("kinematic_bicycle", quantity, source, kerb.theory[0], kerb.value[0], 1e-9)
