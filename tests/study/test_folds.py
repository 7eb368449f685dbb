"""Folds against closed forms of a mass on a line, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from skidpad import ops
from skidpad.errors import InvalidValue, SkidpadError
from skidpad.study.experiment import Resources
from skidpad.study.metrics import (
    Fold,
    at,
    first_time,
    fold_of,
    happened,
    highest,
    integral,
    last,
    lowest,
    mean,
    rms,
    time_of_highest,
)
from skidpad.study.rollouts import Drive

from .drive_models import HOLDING, fast, mass, rows

DT, STEPS = 0.125, 16
"""Powers of two and Euler's method: v = v_0 + a t, and no sum of it is rounded."""
T = DT * np.arange(STEPS + 1)


def drive(**options: Any) -> Drive:
    settings = {"dt": DT, "steps": STEPS, "integrator": "euler", "x0": {"v": 4.0}}
    return Drive(mass(), **(settings | {"controls": {"a": -4.0}} | options))


def column(fold: Fold, **options: Any) -> float:
    out = drive(metrics={"c": fold}, **options).evaluate(rows(1), Resources())
    assert not out["failed"][0]
    return out["c"][0]


V = 4.0 - 4.0 * T


CASES: list[tuple[Fold, float]] = [
    (highest("v"), 4.0),
    (highest("-v"), 4.0),
    (lowest("v"), -4.0),
    (lowest("abs(v)"), 0.0),
    (mean("v"), V.mean()),
    (mean("t"), T.mean()),
    (rms("v"), math.sqrt((V**2).mean())),
    (last("v"), -4.0),
    (last("t"), 2.0),
    (last("u.a * p.gain"), -4.0),
    (at("v", 0.0), 4.0),
    (at("v", 0.5), 2.0),
    (at("v", 2.0), -4.0),
    (integral("v"), 0.0),
    (integral("1"), 2.0),
    (integral("t"), 2.0),
    (time_of_highest("x"), 1.0),
    (time_of_highest("abs(v)"), 0.0),
    (first_time("v < 0"), 1.125),
    (first_time("v < -9"), math.nan),
    (first_time("t == 0"), 0.0),
    (highest(fast), 4.0),
    (highest(lambda x, t: x.v + 4.0 * t), 4.0),
    (highest("1 / v"), math.inf),
    (highest("0 / v"), math.nan),
    (time_of_highest("0 / v"), math.nan),
]


def test_folds_of_a_mass_that_brakes() -> None:
    """All in one drive, as none may disturb another."""
    metrics = {f"{k} {fold.meaning}": fold for k, (fold, _) in enumerate(CASES)}
    out = drive(metrics=metrics).evaluate(rows(1), Resources())
    assert not out["failed"][0]
    found = {name: out[name][0] for name in metrics}
    expected = dict(zip(metrics, (value for _, value in CASES), strict=True))
    assert found == pytest.approx(expected, abs=0.0, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize(("event", "expected"), [("v < 0", True), ("v < -4", False)])
def test_events_are_truths(event: str, expected: bool) -> None:
    found = drive(events={"e": event, "f": lambda x: x.v <= -4.0})
    out = found.evaluate(rows(1), Resources())
    assert out["e"].dtype == out["f"].dtype == np.bool_
    assert out["e"][0] == expected
    assert out["f"][0]
    assert [c.kind for c in found.columns()] == ["truth", "truth"]
    assert column(happened(event)) == expected


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_time_is_that_of_a_sample(substeps: int) -> None:
    """What is called "v at t = 0.55 s" would be v at another time; the neighbours are told."""
    with pytest.raises(
        InvalidValue, match=r"'c' = 0.55 s is not a whole number.* 0.5 s or 0.625 s"
    ):
        drive(metrics={"c": at("v", 0.55)}, substeps=substeps)
    with pytest.raises(InvalidValue, match=r"needs t = 2.125 s; a run ends at 2 s"):
        drive(metrics={"c": at("v", 2.125)}, substeps=substeps)
    sixtieth = {"dt": 1.0 / 60.0, "substeps": substeps, "x0": {"v": 0.0}}
    assert column(at("t", 0.016667), **sixtieth) == pytest.approx(1.0 / 60.0)


def test_a_fold_of_ones_own() -> None:
    """The range of a quantity: two numbers, and a result of both."""
    spread = Fold(
        (-math.inf, math.inf),
        lambda a, x: (ops.maximum(a[0], x.v), ops.minimum(a[1], x.v)),
        lambda a: a[0] - a[1],
        unit="m/s",
    )
    assert column(spread) == 8.0
    count = Fold((0.0,), lambda a: (a[0] + 1.0,), lambda a, n: a[0] - n)
    assert column(count) == 0.0


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_run_ends_at_the_sample_of_its_event(substeps: int) -> None:
    metrics = {"v": last("v"), "n": mean("1"), "t": integral("1"), "late": at("v", 1.5)}
    metrics |= {"low": lowest("v"), "x": last("x")}
    found = drive(metrics=metrics, until="v <= 0", events={"back": "v < 0"}, substeps=substeps)
    out = found.evaluate(rows(2, input__a=[-4.0, -1.0]), Resources())
    assert out["ended_at"][0] == 1.0
    assert math.isnan(out["ended_at"][1])
    assert (out["v"][0], out["t"][0], out["low"][0]) == (0.0, 1.0, 0.0)
    assert out["x"][0] == 2.0 + 0.25 / substeps  # Euler's method is ahead by a v dt / 2
    assert (out["v"][1], out["t"][1], out["low"][1]) == (2.0, 2.0, 2.0)
    assert math.isnan(out["late"][0])
    assert out["late"][1] == 2.5
    assert not out["back"].any()
    assert len(found.replay(rows(1))) == 9


def test_what_a_policy_is_told_and_commands() -> None:
    told = {
        "policy": HOLDING, "references": {"v": 3.0}, "controls": None,
        "metrics": {"r": last("r.v"), "u": at("u.a", 0.0), "x": last(lambda r, x: r.v - x.v)},
    }  # fmt: skip
    out = drive(**told).evaluate(rows(1), Resources())
    assert out["r"][0] == 3.0
    assert out["u"][0] == -1.0
    with pytest.raises(InvalidValue, match="no policy"):
        drive(metrics={"r": last(lambda r: r.v)})


def test_units_come_from_the_fields() -> None:
    metrics = {
        "a": highest("abs(v)"), "b": highest(fast), "c": highest(fast, "m/s"),
        "d": first_time("v > 1"), "e": last("x"), "f": integral("v", "m"), "g": last("x / v"),
    }  # fmt: skip
    units = [c.unit for c in drive(metrics=metrics).columns()]
    assert units == ["m/s", "", "m/s", "s", "m", "m", ""]


def test_sub_steps_fold_the_samples_of_whole_steps() -> None:
    metrics = {"n": Fold((0.0,), lambda a: (a[0] + 1.0,), lambda a: a[0]), "i": integral("v")}
    metrics |= {"t": last("t"), "a": at("v", 0.5)}
    out = drive(metrics=metrics, substeps=4).evaluate(rows(1), Resources())
    assert out["n"][0] == STEPS + 1
    assert out["t"][0] == 2.0
    assert (out["i"][0], out["a"][0]) == (0.0, 2.0)


def test_a_plan_file_names_folds() -> None:
    assert fold_of({"highest": "abs(v)"}) == highest("abs(v)")
    assert fold_of({"at": "v", "time": 0.5, "unit": "m/s"}).unit == "m/s"
    assert column(fold_of({"at": "v", "time": 0.5})) == 2.0
    assert fold_of({"happened": "v > 1"}).kind == "truth"
    assert fold_of(highest("v")) == highest("v")


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ("highest", "must map the name"),
        ({"most": "v"}, "allowed folds are highest"),
        ({"highest": 3}, "to an expression"),
        ({"highest": "v", "lowest": "v"}, "must map the name"),
        ({"highest": "v", "units": "m"}, "did you mean 'unit'"),
        ({"at": "v"}, "needs its time"),
        ({"at": "v", "time": "soon"}, "time"),
        ({"highest": "import os"}, "cannot be read"),
        (None, "must map the name"),
    ],
)
def test_plans_that_cannot_be_meant(plain: Any, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        fold_of(plain)


MISTAKES: list[tuple[Any, str]] = [
    (lambda: highest("w"), "no name 'w'"),
    (lambda: highest(lambda x, q: x.v), "uses 'q'"),
    (lambda: highest("v > 1"), "give a number"),
    (lambda: happened("v"), "whether something happens"),
    (lambda: happened(lambda x: x.v), "must say True or False"),
    (lambda: happened(lambda x: None), "return"),
    (lambda: at("v", 3.0), "ends at 2 s"),
    (lambda: at("v", -1.0), "time = -1"),
    (lambda: Fold((0.0,), lambda a: (1.0, 2.0), lambda a: a[0]), "tuple of 1"),
    (lambda: Fold((0.0,), lambda a: 1.0, lambda a: a[0]), "tuple of 1"),
    (lambda: Fold((0.0,), lambda a, v: (v,), lambda a: a[0]), "uses v"),
    (lambda: Fold((0.0,), lambda a, z: (z,), lambda a: a[0]), "uses z"),
    (lambda: highest(3), "must be a function"),
    (lambda: highest(lambda x, log: x.v - log.v), "no log"),
    (lambda: "highest", "must be a Fold"),
    (lambda: Fold(("a",), lambda a: a, lambda a: a[0]), "tuple of numbers"),
    (lambda: highest(lambda x: x.w), "metric 'c': .*attribute 'w'"),
    (lambda: highest(lambda x: 1.0 if x.v > 0 else 0.0), "metric 'c'.* branches in Python"),
    (lambda: highest(lambda x: math.sin(x.v)), "metric 'c'.* NaN constant|metric 'c'.*skidpad.ops"),
]


@pytest.mark.parametrize(("metric", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_named(metric: Any, words: str) -> None:
    with pytest.raises(SkidpadError, match=words):
        drive(metrics={"c": metric()})
