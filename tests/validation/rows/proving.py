"""Manoeuvres of the proving ground, driven by its driver, beside linear theory and closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.study.manoeuvres import (
    Case,
    ConstantSpeed,
    Kernels,
    Result,
    StepSteer,
    Subject,
    perform,
)
from skidpad.study.manoeuvres.case import straight
from skidpad.study.manoeuvres.linear_handling import SineSweep
from skidpad.study.manoeuvres.longitudinal import (
    CoastDown,
    StraightBraking,
    braking,
    mean_deceleration,
    stopping_distance,
)
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer, TurningCircle
from validation.rows.handling import stiffnesses
from validation.rows.row import Row, compared, recorded

THEORY = "linear theory by exact derivatives"
DRIVEN = 5e-3
"""Of drives with small angles beside theory for infinitely small ones: a tenth of the 5 % that
VDSim allows."""
SMALL = StepSteer(speed=20.0, a_y=0.5, rise=0.01)
GENTLE = SineSweep(speed=20.0, a_y=0.5)


WIDE = (ConstantRadius(radius=240.0), ConstantSpeed(), ConstantSteer(angle=0.0125))
"""Turns so wide that theory for small angles holds, and parallel front wheels hardly fight."""


@cache
def _results(name: str) -> dict[str, Result]:
    """A car that nothing resists: what drives it would turn it, too."""
    free = {"C_drag": 0.0, "tyres.tyre.carcass.rolling": 0.0}
    car = Subject(sp.vehicles.get(name)(free))
    found = perform((*WIDE, SMALL, GENTLE), [car], Kernels())
    return {result.manoeuvre.name: result for result in found}


def gradients(p: Any) -> tuple[float, float]:
    """Understeer and sideslip gradient: axle forces act by the trail behind the axles."""
    tyre, L = p.tyres.tyre, p.l_f + p.l_r
    C_f, C_r = stiffnesses(p, tyre)
    rear = p.m * (p.l_f - tyre.trail) / (L * C_r)
    return p.m * (p.l_r + tyre.trail) / (L * C_f) - rear, -rear


def _rows(name: str) -> Iterator[Row]:
    results = _results(name)
    K, slip = gradients(results["step_steer"].car.vehicle.params)
    for manoeuvre in WIDE:
        result = results[manoeuvre.name]
        words = f"{manoeuvre.name.replace('_', ' ')} (rad s²/m)"
        source = f"W_f / C_f - W_r / C_r per g with trail, closed form; {manoeuvre.source}"
        got = result["understeer_gradient"][0]
        yield compared(name, f"understeer gradient, {words}", source, K, got, DRIVEN)
        source = f"-W_r / C_r per g with trail, closed form; {manoeuvre.source}"
        got = result["sideslip_gradient"][0]
        yield compared(name, f"sideslip gradient, {words}", source, slip, got, DRIVEN)
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


def even_stop() -> Iterator[Row]:
    """From 25 m/s with 5 m/s², which the brakes reach with a lag T.

    v - a (t - T) is 0 at t = v / a + T, after v t - a (t² / 2 - T t + T²).
    """
    v, a = 25.0, 5.0
    car = Subject(sp.vehicles.single_track({"C_drag": 0.0, "tyres.tyre.carcass.rolling": 0.0}))
    case = Case(
        label="even stop",
        duration=10.0,
        v=v,
        speed=v,
        hold=lambda t: (t < 0.0).astype(float),
        a=lambda t: a * braking(t),
        path=straight(),
        rests=True,
    )
    (run,) = Kernels().drive([(car, case)])
    lag = car.vehicle.params.t_drive
    end = v / a + lag
    want = v * end - a * (0.5 * end * end - lag * end + lag * lag)
    source = f"closed form: even deceleration with a lag; {StraightBraking.source}"
    quantity = "stopping distance from 25 m/s with 5 m/s² (m)"
    yield compared(car.name, quantity, source, want, stopping_distance(run)[0], DRIVEN)
    quantity, source = (
        "mean fully developed deceleration (m/s²)",
        f"asked for; {StraightBraking.source}",
    )
    yield compared(car.name, quantity, source, a, mean_deceleration(run)[0], DRIVEN)
