"""Known parameters come back from noisy logs, within the intervals that are claimed for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.identify.fitting import Fit
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import BASE, DT, MODEL, NOISE, TRUTH, drive, fit_of, log_of, noisy


def fitted(seed: int, **options: Any) -> Fit:
    return fit_of(log_of(noisy(drive(seed), seed)), **options)


@pytest.fixture(scope="module")
def one_fit() -> Fit:
    return fitted(0)


@pytest.fixture(scope="module")
def fits(one_fit: Fit) -> list[Fit]:
    """As many as it takes to judge the intervals."""
    return [one_fit, *(fitted(seed) for seed in range(1, 8))]


def comes_back(found: Fit) -> None:
    assert [e.name for e in found.estimates] == list(TRUTH)
    for e in found.estimates:
        assert e.low <= e.value <= e.high
        if e.name.endswith("delay"):
            assert e.value == TRUTH[e.name]
        else:
            assert e.value == pytest.approx(TRUTH[e.name], rel=0.04)


def test_every_parameter_comes_back(one_fit: Fit) -> None:
    comes_back(one_fit)


@pytest.mark.slow
def test_every_parameter_comes_back_from_another_drive(fits: list[Fit]) -> None:
    comes_back(fits[1])


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(fits: list[Fit]) -> None:
    continuous = [name for name in TRUTH if not name.endswith("delay")]
    hits = [f[n].low <= TRUTH[n] <= f[n].high for f in fits for n in continuous]
    # 40 intervals of 95 %: fewer than 34 hits has a probability of 0.3 %.
    assert sum(hits) >= 34


@pytest.mark.slow
def test_intervals_are_as_wide_as_the_estimates_scatter(fits: list[Fit]) -> None:
    for name in TRUTH:
        values = [f[name].value for f in fits]
        half = np.mean([0.5 * (f[name].high - f[name].low) for f in fits])
        if name.endswith("delay"):
            assert DT <= half + 1e-9 < 1.5 * DT, "a step to either side, however sure"
        else:
            # The scatter of 8 estimates is known to a factor of two. Time constants are as
            # uncertain as the steps that the car moves in, which a noisy log does not tell.
            steps = 0.5 * DT + 0.005 if name.endswith("constant") else 0.0
            scatter = 1.96 * np.std(values, ddof=1)
            assert 0.4 * scatter < half < 2.5 * scatter + steps


def test_errors_fall_to_the_noise(one_fit: Fit) -> None:
    for name in ("a_x", "omega", "steer"):
        row = one_fit.error(name)
        assert row.after == pytest.approx(NOISE[name], rel=0.25)
        assert row.before > 1.5 * row.after


@pytest.mark.slow
def test_more_noise_gives_wider_intervals(one_fit: Fit) -> None:
    quiet, loud = one_fit, fit_of(log_of(noisy(drive(0), 0, scale=4.0)), BASE)
    for name in ("debug_acc_scaling_factor", "debug_steer_scaling_factor", "steer_bias"):
        widths = [f[name].high - f[name].low for f in (quiet, loud)]
        assert widths[1] > 2.5 * widths[0]
    for name in ("acc_time_constant", "steer_time_constant"):
        assert loud[name].high - loud[name].low > quiet[name].high - quiet[name].low


@pytest.mark.slow
def test_where_several_dead_times_are_likely_all_are_in_the_interval() -> None:
    columns = noisy(drive(2), 2, scale=5.0)
    kept = {n: v for n, v in columns.items() if n in ("t", "v_x") or n.startswith("u_")}
    found = fit_of(log_of(kept), BASE, free=["acc_time_delay", "acc_time_constant"])
    e = found["acc_time_delay"]
    assert e.high - e.low > 2.5 * DT
    assert e.low <= TRUTH["acc_time_delay"] <= e.high


@pytest.mark.slow
def test_errors_that_follow_each_other_widen_the_intervals() -> None:
    run = drive(3)
    white = noisy(run, 3)
    rng = np.random.default_rng(9)
    slow = dict(white)
    for name, sigma in NOISE.items():
        # First-order noise with the same variance and a correlation of 0.9 from row to row.
        drift = np.zeros(len(run))
        for i in range(1, len(run)):
            drift[i] = 0.9 * drift[i - 1] + np.sqrt(1.0 - 0.81) * sigma * rng.normal()
        source = f"out_{name}" if f"out_{name}" in run else name
        slow[name] = run[source] + drift
    a, b = (fit_of(log_of(columns), BASE) for columns in (white, slow))
    names = ("debug_acc_scaling_factor", "debug_steer_scaling_factor", "steer_bias")
    for name in names:
        assert b[name].high - b[name].low > 1.5 * (a[name].high - a[name].low)
    # Of three intervals of 95 %, two misses have a probability of 0.7 %.
    assert sum(b[name].low <= TRUTH[name] <= b[name].high for name in names) >= 2


def test_a_log_without_noise_gives_the_parameters_exactly() -> None:
    found = fit_of(drive(4, steps=300))
    for name, value in TRUTH.items():
        assert found[name].value == pytest.approx(value, rel=1e-5)
    assert found.error("position").after < 1e-3


def test_a_time_constant_at_its_least_stays_there() -> None:
    run = drive(5, steps=400, params={**TRUTH, "acc_time_constant": 0.01})
    e = fit_of(log_of(noisy(run, 5)), BASE)["acc_time_constant"]
    assert e.low == 0.03
    assert e.value < 0.035


@pytest.mark.slow
def test_uneven_times_still_give_the_parameters() -> None:
    run = drive(6)
    columns = noisy(run, 6)
    rng = np.random.default_rng(6)
    # Stamped up to 2 ms late: commands are held, so they are seen in the row they act in.
    columns["t"] = columns["t"] + rng.uniform(0.0, 0.002, len(run))
    found = fit_of(log_of(columns), BASE)
    for name in ("acc_time_delay", "steer_time_delay"):
        assert found[name].low <= TRUTH[name] <= found[name].high
    for name in ("acc_time_constant", "steer_time_constant"):
        assert found[name].value == pytest.approx(TRUTH[name], abs=DT)


def test_other_parameters_can_be_fitted() -> None:
    run = drive(7)
    known = {**BASE, **TRUTH, "wheel_base": 2.5}
    found = fit_of(log_of(noisy(run, 7)), known, free=["wheel_base"])
    (e,) = found.estimates
    assert e.start == 2.5
    assert e.low <= 2.79 <= e.high
    assert e.high - e.low < 0.02


def test_dead_times_count_as_upstream_counts_them() -> None:
    car = autoware(MODEL, {**BASE, **TRUTH, "acc_time_delay": 0.19}, compat="upstream")
    simulator = sp.Simulator(car, DT)
    simulator.reset(v_x=8.0)
    source = drive(0, steps=400)
    run = simulator.run(np.column_stack([source[f"u_{n}"] for n in car.Input._fields])[:-1])
    e = fit_of(log_of(noisy(run)), BASE, compat="upstream")["acc_time_delay"]
    assert e.value == 0.2, "7.6 updates are 8"
    assert e.low <= 0.19 <= e.high


def test_the_file_gives_the_same_car(one_fit: Fit, tmp_path: Path) -> None:
    one_fit.write(tmp_path / "fitted.yaml")
    car = autoware(MODEL, tmp_path / "fitted.yaml")
    for e in one_fit.estimates:
        assert getattr(car.params, e.name) == e.value
    assert car.params.wheel_base == BASE["wheel_base"]
