"""Cars that do not move in the simulator's steps, and logs with times as real ones have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.identify.fitting import Fit
from skidpad.study.identify.replay import over_steps
from skidpad.study.logs.log import Channel
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import (
    AMPLITUDES,
    BASE,
    DT,
    MODEL,
    NOISE,
    TRUTH,
    commands,
    drive,
    fit_of,
    log_of,
    noisy,
)

FINE = 25
"""Steps of the car in a period of its log: 1 ms each."""
CAR = {**TRUTH, "steer_time_constant": 0.2, "steer_time_delay": 0.1537, "acc_time_delay": 0.207}
"""Dead times that are no whole numbers of periods."""


def logged(seed: int, jitter: float, rows: int = 600) -> dict[str, np.ndarray]:
    """A drive in continuous time, nearly; each row is stamped when it was taken and commanded."""
    rng = np.random.default_rng(seed)
    table = commands(rng, rows, AMPLITUDES)
    step = DT / FINE
    late = rng.uniform(0.0, jitter, rows) if jitter else np.zeros(rows)
    at = np.round((DT * np.arange(rows) + late - late[0]) / step).astype(int)
    held = table[np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1]
    simulator = sp.Simulator(autoware(MODEL, {**BASE, **CAR}), step)
    simulator.reset(v_x=8.0)
    run = simulator.run(held)
    columns = {"t": at * step}
    for name, sigma in NOISE.items():
        source = f"out_{name}" if f"out_{name}" in run else name
        columns[name] = run[source][at] + sigma * rng.normal(size=rows)
    return columns | {
        f"u_{n}": table[:, k] for k, n in enumerate(("acceleration", "steer", "gear"))
    }


def missed(found: Fit, truth: dict[str, float]) -> list[str]:
    return [n for n, value in truth.items() if not found[n].low <= value <= found[n].high]


@pytest.mark.slow_cases("uneven")
@pytest.mark.parametrize(
    "jitter",
    [pytest.param(0.0, id="even", marks=pytest.mark.slow), pytest.param(0.01, id="uneven")],
)
def test_intervals_hold_the_truth_of_a_continuous_car(jitter: float) -> None:
    """The steering constant of 0.2 s was estimated as 0.2227 ± 0.0005 s."""
    misses: list[str] = []
    for seed in range(3):
        found = fit_of(log_of(logged(seed, jitter)))
        misses += missed(found, CAR)
        assert found["steer_time_constant"].value == pytest.approx(0.2, abs=0.006)
        assert found["steer_time_constant"].high - found["steer_time_constant"].low < 0.03
        assert any("does not move in the simulator's steps" in note for note in found.notes)
    # 21 intervals of 95 %: more than 4 misses has a probability of 0.3 %.
    assert len(misses) <= 4


@pytest.mark.slow
def test_where_the_log_does_not_tell_the_steps_the_intervals_hold_for_either() -> None:
    found = fit_of(log_of(noisy(drive(0), 0)))
    assert any("does not tell whether the car moves in steps" in note for note in found.notes)
    assert not missed(found, TRUTH)
    half = 0.5 * (found["steer_time_constant"].high - found["steer_time_constant"].low)
    assert half > 0.4 * (DT / 2.0), "Euler's steps of 25 ms shift it by half of one"


@pytest.mark.slow
def test_the_simulators_own_steps_are_told_by_a_log_without_noise() -> None:
    found = fit_of(drive(4))
    assert not found.notes
    assert found["steer_time_constant"].value == pytest.approx(TRUTH["steer_time_constant"])


def test_commands_act_at_their_own_times() -> None:
    """The mean over parts of a period has the command's integral, whatever its times are."""
    columns: dict[str, Any] = logged(0, 0.01, rows=80)
    steer = Channel(columns["t"], columns["u_steer"])
    times = columns["t"][5] + 0.005 * np.arange(276)
    begin, end = times[0], times[-1]
    inside = (steer.t > begin) & (steer.t < end)
    knots = np.concatenate([[begin], steer.t[inside], [end]])
    held = steer.values[np.searchsorted(steer.t, knots[:-1], side="right") - 1]
    total = float((held * np.diff(knots)).sum())
    assert over_steps(steer, times).sum() * 0.005 == pytest.approx(total, rel=1e-9)
