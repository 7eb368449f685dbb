"""Drives: the runs of a Monte Carlo, whatever the chunks, and what cannot be meant."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skidpad as sp
from skidpad import ops
from skidpad.compile import pipeline
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian, OrnsteinUhlenbeck, UncertaintyModel, Uniform
from skidpad.study import rollouts as drive_module
from skidpad.study.campaign import Campaign
from skidpad.study.experiment import Resources, Rows
from skidpad.study.folder import PlanChanged
from skidpad.study.metrics import first_time, highest, last, lowest, mean, time_of_highest
from skidpad.study.rollouts import Drive
from skidpad.units import one

from .drive_models import HOLDING, Input, explosive, fast, late, mass, rows

METRICS = {
    "high": highest("v"), "low": lowest("x"), "when": time_of_highest("v"), "end": last("x"),
    "middle": mean("v"), "u": highest("abs(u.a)"), "v": last("v"),
}  # fmt: skip
LOGGED = {"d": mean("v - log.v")}
WIND = Gaussian(mean=[0.0], std=[1.0])
NOISE = Gaussian(mean=[0.0, 0.0], std=[0.1, 0.2])
DT, STEPS, SEED = 0.1, 23, 7


class Gusts(UncertaintyModel):
    """Stronger the faster the mass is: it looks at the states."""

    def __init__(self) -> None:
        super().__init__(1)

    def sample(self, draw: Any, memory: Any = None, x: Any = None) -> tuple[Any, Any]:
        return draw.normal(1) * (1.0 + np.abs(x[:, 1:2])), None


def drive(**options: Any) -> Drive:
    settings = {"dt": DT, "steps": STEPS, "x0": {"v": 1.0}, "metrics": METRICS}
    return Drive(options.pop("vehicle", mass()), **(settings | options))


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(a[n].tobytes() == b[n].tobytes() for n in a)


STUDIES: dict[str, dict[str, Any]] = {
    "held": {"controls": {"a": 0.3}},
    "wind": {"controls": {"a": 0.3}, "disturbance": WIND},
    "memory": {"disturbance": OrnsteinUhlenbeck(mean=[0.0], std=[1.0], time_constant=0.5)},
    "states": {"disturbance": Gusts()},
    "table": {"controls": np.linspace(-1.0, 1.0, STEPS)[:, None], "disturbance": WIND},
    "policy": {"policy": HOLDING, "references": {"v": 2.0}, "disturbance": WIND},
    "noise": {"policy": HOLDING, "references": {"v": 2.0}, "disturbance": WIND, "noise": NOISE},
    "drawn": {
        "x0": Gaussian(mean=[0.0, 1.0], std=[1.0, 1.0]),
        "params": {"gain": Uniform([0.5], [2.0])},
        "policy": HOLDING,
        "policy_params": {"k": Uniform([0.5], [2.0]), "k_i": 0.3},
    },
    "late": {"vehicle": late(), "disturbance": WIND, "controls": {"a": 0.5}},
}


@pytest.mark.parametrize("study", STUDIES)
def test_runs_are_those_of_a_monte_carlo(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive_module, "LONGEST", 10)
    options = dict(STUDIES[study])
    vehicle = options.pop("vehicle", mass())
    found = drive(vehicle=vehicle, **options)
    x0 = options.pop("x0", {"v": 1.0})
    inputs = options.pop("references", options.pop("controls", None))
    monte = sp.Fleet(vehicle, DT, on_diverge="mask").monte_carlo(
        x0, inputs, runs=40, steps=STEPS, seed=SEED, **options
    )
    wanted = rows(40, SEED)
    out = found.evaluate(wanted, Resources())
    assert np.stack([out["end"], out["v"]], axis=1).tolist() == monte.final[:, :2].tolist()
    for name, quantity, lowest_too in (("high", "v", False), ("low", "x", True)):
        worst = {c.run: c.value for c in monte.worst(quantity, 40, lowest=lowest_too)}
        assert out[name].tolist() == [worst[k] for k in range(40)]
    assert not out["failed"].any()


GAINS = np.linspace(0.5, 1.5, 61)


@cache
def whole_study(study: str) -> tuple[Drive, dict[str, Any]]:
    """A drive, and the columns of all its runs at once."""
    found = drive(**STUDIES[study], metrics=METRICS)
    return found, found.evaluate(rows(61, SEED, gain=GAINS), Resources())


@settings(max_examples=15)
@given(
    st.sampled_from(["wind", "noise", "states", "late"]),
    st.integers(1, 3),
    st.lists(st.integers(0, 60), min_size=1, max_size=20, unique=True),
    st.integers(1, 9),
    st.sampled_from([1, 3, 1024]),
)
def test_bits_depend_on_run_and_seed_alone(
    study: str, threads: int, runs: list[int], most: int, strip: int
) -> None:
    """Not on the chunk, its order, the threads, the parts it is done in, nor the strips."""
    found, whole = whole_study(study)
    some = Rows(np.array(runs), {"gain": GAINS[runs]}, SEED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drive_module, "MOST_RUNS", {"cpu": most})
        patch.setattr(drive_module, "LONGEST", strip)
        part = found.evaluate(some, Resources(threads=threads))
    assert same(part, {name: column[runs] for name, column in whole.items()})


@pytest.mark.parametrize("study", ["wind", "noise", "drawn", "late", "states"])
def test_a_replay_tells_what_the_columns_tell(study: str) -> None:
    found = drive(**STUDIES[study])
    row = rows(1, SEED, begin=17)
    out, run = found.evaluate(row, Resources()), found.replay(row)
    assert len(run) == STEPS + 1
    assert out["high"][0] == run["v"].max()
    assert out["low"][0] == run["x"].min()
    assert out["end"][0] == run["x"][-1]
    assert out["when"][0] == run.t[run["v"].argmax()]
    assert out["middle"][0] == pytest.approx(run["v"].mean(), rel=1e-14)
    assert "w_a" in run.names


def test_metrics_change_no_bit_of_the_motion() -> None:
    """Products that the folds share with the motion are rounded in it as without them."""
    shared = {"c": highest("p.gain * (u.a + 0)"), "d": mean("u.a * p.gain"), "e": last("v * v")}
    metrics = METRICS | shared
    found = drive(
        metrics=metrics, controls={"a": 0.3}, integrator="rk4", events={"e2": "v * v > 2"}
    )
    gains = np.linspace(0.7, 1.3, 8)
    out = found.evaluate(rows(8, gain=gains), Resources())
    fleet = sp.Fleet(mass(), DT, "rk4")
    alone = fleet.rollout({"v": 1.0}, {"a": 0.3}, steps=STEPS, params={"gain": gains})[-1]
    assert np.stack([out["end"], out["v"]], axis=1).tolist() == alone.tolist()


@pytest.mark.parametrize("integrator", ["rk4", "radau"])
def test_runs_that_fail_are_rows_like_others(integrator: str) -> None:
    """x' = x² is infinite at t = 1 / x_0; an implicit step finds no solution on the way there."""
    metrics = {"x": highest("x"), "t": first_time("x > 1.5")}
    found = drive(
        vehicle=explosive(), x0={"x": 0.1}, metrics=metrics, events={"big": "x > 1.5"},
        integrator=integrator, dt=0.05, steps=20,
    )  # fmt: skip
    starts = np.array([0.1, 30.0, 0.5, 1e200])
    out = found.evaluate(rows(4, x0__x=starts), Resources())
    assert out["failed"].tolist() == [False, True, False, True]
    assert np.isnan(out["x"][[1, 3]]).all()
    assert not out["big"].any()
    calm = found.evaluate(rows(2, x0__x=starts[[0, 2]]), Resources())
    assert same({n: c[[0, 2]] for n, c in out.items()}, calm)
    exact = starts[[0, 2]] / (1.0 - starts[[0, 2]])
    np.testing.assert_allclose(calm["x"], exact, rtol=1e-4)
    assert len(found.replay(rows(1, x0__x=[30.0]))) < 21


class Passing(NamedTuple):
    k: one = 0.0
    y: one = 0.0


class Hole(NamedTuple):
    at: one = 5.0


def passing(x: Passing, u: Any, w: Any, p: Hole, dt: Any) -> Passing:
    return Passing(x.k + 1.0, 1.0 / (x.k - p.at))


def test_a_state_that_was_infinite_once_has_failed() -> None:
    """As in a Monte Carlo, though it is finite again at the end."""
    model = Model("passing", Passing, Input, Hole, update=passing)
    vehicle = VehicleFactory(model)()
    found = Drive(vehicle, dt=0.1, steps=9, metrics={"k": last("k")})
    holes = np.array([2.0, 5.5, 8.0, 9.0])
    out = found.evaluate(rows(4, at=holes), Resources())
    fleet = sp.Fleet(vehicle, 0.1, on_diverge="mask")
    monte = fleet.monte_carlo({}, runs=4, steps=9, params={"at": holes})
    assert np.flatnonzero(out["failed"]).tolist() == list(monte.diverged) == [0, 2]
    np.testing.assert_array_equal(out["k"], [np.nan, 9.0, np.nan, 9.0])


def test_large_arrays_are_identified_by_what_is_in_them() -> None:
    """Their numbers are those of one process; no factor may be between two of them."""

    def drawn(values: list[float]) -> Drive:
        heights = ops.grid(np.array(values), step=0.25)

        class Roads(NamedTuple):
            road: ops.Grid1 = heights

        def slope(x: Passing, u: Input, w: Any, p: Roads) -> Passing:
            return Passing(0.0, ops.interpolate(p.road, u.a))

        vehicle = VehicleFactory(Model("sloped", Passing, Input, Roads, derivative=slope))()
        return Drive(vehicle, dt=0.1, steps=10, metrics={"y": last("y")}, integrator="euler")

    first, again, other = (drawn([0.0, 1.0, 4.0, y]) for y in (9.0, 9.0, 8.0))
    assert first.identity() == again.identity() != other.identity()
    assert "road.values" not in first.factor_units()
    out = first.evaluate(rows(2, input__a=[0.25, 0.5]), Resources())
    np.testing.assert_allclose(out["y"], [1.0, 4.0])


def test_a_run_that_has_ended_cannot_fail() -> None:
    found = drive(
        vehicle=explosive(), x0={"x": 0.1}, metrics={"x": last("x")}, until="x > 2",
        integrator="rk4", dt=0.05, steps=40,
    )  # fmt: skip
    out = found.evaluate(rows(2, x0__x=[1.0, 0.1]), Resources())
    assert not out["failed"].any()
    assert 2.0 < out["x"][0] < 4.0
    assert out["ended_at"][0] == pytest.approx(0.5, abs=0.051)


def test_factors_set_what_they_name() -> None:
    """x = x_0 + v_0 t + gain (u + w) t² / 2."""
    found = drive(metrics={"end": last("x")}, integrator="rk4")
    names = ["gain", "x0.x", "x0.v", "input.a", "disturbance.a"]
    assert list(found.factor_units()) == names
    assert list(found.factor_units().values()) == ["", "m", "m/s", "m/s²", "m/s²"]
    values = np.random.default_rng(1).uniform(-2.0, 2.0, (5, 9))
    end = found.evaluate(Rows(np.arange(9), dict(zip(names, values, strict=True)), 0), Resources())
    t, (gain, x, v, u, w) = DT * STEPS, values
    np.testing.assert_allclose(end["end"], x + v * t + gain * (u + w) * t**2 / 2, atol=1e-12)
    loop = drive(policy=HOLDING, references={"v": 1.0})
    assert "policy.k_i" in loop.factor_units()
    out = loop.evaluate(rows(2, policy__k=[0.0, 1.0], policy__k_i=[0.0, 0.0]), Resources())
    assert out["u"].tolist() == [0.0, 0.0]


def test_a_start_fits_the_parameters_of_its_run() -> None:
    """A heavier car sits deeper: dependent fields of a start by names are those of each run."""
    car = sp.vehicles.full_car()
    found = Drive(car, dt=0.001, steps=1, x0={"v_x": 10.0}, metrics={"v": last("v_x")})
    masses = np.array([1.0, 1.2]) * car.params.m
    ready = found._setup().prepare(rows(2, m=masses))
    fleet = sp.Fleet(car, 0.001)
    starts = fleet.rollout({"v_x": 10.0}, {}, steps=1, params={"m": masses})[0]
    np.testing.assert_array_equal(ready.x[0], starts)
    assert (starts[0] != starts[1]).any()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"steps": None}, "number of steps: none given"),
    ({"duration": 2.35}, "whole number"),
    ({"duration": 2.0}, "20 and 23"),
    ({"steps": 0}, "steps = 0"),
    ({"dt": -1.0}, "dt = -1"),
    ({"integrator": "rk5"}, "rk5"),
    ({"x0": {"w": 1.0}}, "no field 'w'"),
    ({"controls": {"b": 1.0}}, "no field 'b'"),
    ({"controls": np.zeros((3, 4, 1))}, "values that differ between runs are factors"),
    ({"controls": [[np.nan]] * 23}, "finite"),
    ({"references": {"v": 1.0}}, "give policy="),
    ({"noise": NOISE}, "give policy="),
    ({"policy_params": {"k": 1.0}}, "give policy="),
    ({"policy": HOLDING, "controls": {"a": 1.0}}, "give references="),
    ({"policy": "stanley"}, "must be a Policy"),
    ({"params": {"gian": 1.0}}, "did you mean 'gain'"),
    ({"params": {"gain": [1.0, 2.0]}}, "are factors"),
    ({"params": {"gain": NOISE}}, "2 numbers"),
    ({"disturbance": NOISE}, "2 numbers"),
    ({"metrics": {"failed": last("v")}}, "this name is not allowed"),
    ({"metrics": {"e": last("v")}, "events": {"e": "v > 1"}}, "both"),
    ({"until": "v"}, "until"),
    ({"log": {"v": np.zeros(3)}, "metrics": LOGGED}, "24 samples"),
    ({"log": {"a b": np.zeros(24)}}, "must be a name"),
]


@pytest.mark.parametrize(("options", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        drive(**options)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"gian": (0, 1)}, "did you mean 'gain'"),
        ({"x0.w": (0, 1)}, "no factor 'x0.w'"),
        ({"gain": (0, float("inf"))}, "must be finite"),
        ({"input.a": (0, 1)}, "table"),
        ({"disturbance.a": (0, 1)}, "drawn at every step"),
    ],
)
def test_factors_that_cannot_be_meant(ends: dict[str, Any], words: str) -> None:
    found = drive(controls=np.zeros((STEPS, 1)), disturbance=WIND)
    with pytest.raises(InvalidValue, match=words):
        found.check(ends)
    found.check({"gain": (0.5, 2.0), "x0.v": (0.0, 1.0)})


def test_ranges_of_fields_are_looked_at() -> None:
    found = Drive(sp.vehicles.four_wheel(), dt=0.01, steps=3, x0={"v_x": 10.0})
    with pytest.raises(InvalidValue, match=r"factor m = -1\.0 kg must be"):
        found.check({"m": (-1.0, 300.0)})
    with pytest.raises(InvalidValue, match="steering angle"):
        found.check({"x0.steer": (-3.0, 3.0)})
    found.check({"m": (200.0, 300.0), "x0.v_x": (5.0, 20.0)})


def test_what_was_given_may_be_changed_afterwards() -> None:
    start, table, log = np.array([0.0, 1.0]), np.full((STEPS, 1), 0.3), np.ones(STEPS + 1)
    metrics = {"x": last("x"), "d": mean("v - log.v")}
    found = drive(x0=start, controls=table, log={"v": log}, metrics=metrics)
    before = found.evaluate(rows(1), Resources())
    for array in (start, table, log):
        array += 1.0
    assert same(before, found.evaluate(rows(1), Resources()))


def test_no_runs_are_no_rows() -> None:
    found = drive(events={"e": "v > 1"})
    none, some = (found.evaluate(rows(count), Resources()) for count in (0, 2))
    assert {n: c.dtype for n, c in none.items()} == {n: c.dtype for n, c in some.items()}
    assert all(len(column) == 0 for column in none.values())
    with pytest.raises(InvalidValue, match="device = 'tpu'"):
        found.evaluate(rows(1), Resources(device="tpu"))


def test_nothing_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = drive(controls={"a": 0.3})
    found.evaluate(rows(3), Resources(threads=1))
    arrived = pickle.loads(pickle.dumps(found))

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr(pipeline, "_kernel", never)
    monkeypatch.setattr("skidpad.compile.trace.trace", never)
    for same_drive in (found, arrived):
        same_drive.evaluate(rows(5, begin=3), Resources(threads=1))
        assert same_drive._setup() is found._setup()


def test_functions_travel_by_their_names() -> None:
    found = pickle.loads(pickle.dumps(drive(metrics={"v": highest(fast)})))
    assert [c.name for c in found.columns()] == ["v"]


IDENTITY = """
import json, sys
from study.test_drive import identified
print(json.dumps(identified()))
"""


def identified() -> list[Any]:
    return [drive(**STUDIES[s]).identity() for s in ("noise", "drawn", "table", "late")]


@pytest.mark.slow
def test_the_identity_is_the_same_in_every_process() -> None:
    own = json.loads(json.dumps(identified()))
    root = Path(__file__).parents[2]
    # Whatever this process hashes with, the other one does it differently.
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    found = subprocess.run(
        [sys.executable, "-c", IDENTITY],
        env={
            **os.environ, "PYTHONHASHSEED": other,
            "PYTHONPATH": f"{root / 'tests'}:{root / 'src'}",
        },
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(found.stdout) == own


OTHERS: list[dict[str, Any]] = [
    {"controls": {"a": 0.4}}, {"steps": 24}, {"dt": 0.2}, {"integrator": "heun"}, {"substeps": 2},
    {"x0": {"v": 2.0}}, {"params": {"gain": 2.0}}, {"vehicle": mass(gain=3.0)},
    {"metrics": {**METRICS, "high": highest("v + 1")}}, {"until": "v > 3"},
    {"disturbance": WIND}, {"disturbance": Gaussian(mean=[0.0], std=[2.0])},
    {"precision": "float32"}, {"controls": np.full((STEPS, 1), 0.3)}, {"events": {"e": "v > 1"}},
    {"log": {"v": np.zeros(STEPS + 1)}, "metrics": LOGGED},
    {"log": {"v": np.ones(STEPS + 1)}, "metrics": LOGGED}, {"policy": HOLDING, "controls": None},
]  # fmt: skip


def test_the_identity_tells_drives_apart() -> None:
    base = {"controls": {"a": 0.3}}
    texts = [json.dumps(drive(**(base | other)).identity()) for other in ({}, *OTHERS)]
    assert len(set(texts)) == len(texts)
    assert json.dumps(drive(**base).identity()) == texts[0]


def test_float32_has_its_own_bits_of_a_fleet() -> None:
    found = drive(precision="float32", controls={"a": 0.3}, integrator="rk4")
    fleet = sp.Fleet(mass(), DT, "rk4", precision="float32")
    alone = fleet.rollout({"v": 1.0}, {"a": 0.3}, steps=STEPS)[:, 0]
    out = found.evaluate(rows(3), Resources())
    assert out["high"].dtype == np.float64
    assert out["high"][2] == alone[:, 1].max()
    assert out["end"][0] == alone[-1, 0]


def test_a_log_is_beside_the_run() -> None:
    t = DT * np.arange(STEPS + 1)
    log = {"v": 1.0 + 0.3 * t + 0.5, "x": np.arange(STEPS + 1.0)}
    metrics = {"d": mean("v - log.v"), "x": last("log.x"), "f": highest(lambda log: log.x)}
    found = drive(log=log, metrics=metrics, controls={"a": 0.3}, integrator="rk4")
    out = found.evaluate(rows(2, input__a=[0.3, 0.3]), Resources())
    np.testing.assert_allclose(out["d"], -0.5, rtol=1e-12)
    assert out["x"].tolist() == out["f"].tolist() == [STEPS, STEPS]
    assert [c.unit for c in found.columns()] == ["m/s", "m", ""]


def test_a_campaign_of_drives_is_extended_by_metrics(tmp_path: Path) -> None:
    def campaign(**metrics: Any) -> Campaign:
        drive = Drive(
            sp.vehicles.kinematic_bicycle(),
            steps=50,
            dt=0.02,
            x0={"v_x": 5.0},
            controls={"steer": 0.1},
            metrics=metrics,
        )
        factors = {"x0.v_x": {"range": [4.0, 6.0]}}
        return Campaign(experiment=drive, factors=factors, design={"random": 40})

    few = campaign(y=last("y"))
    more = campaign(y=last("y"), far=highest("x"))
    few.run(tmp_path / "grown", progress=False)
    grown = more.run(tmp_path / "grown", progress=False)
    assert grown.digest() == more.run(tmp_path / "fresh", progress=False).digest()
    with pytest.raises(PlanChanged, match="metric y has changed"):
        campaign(y=last("2 * y"), far=highest("x"), more=last("x")).run(tmp_path / "grown")
    assert not few.experiment.extends(more.experiment.identity())
