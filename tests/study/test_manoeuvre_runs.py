"""Manoeuvres as experiments: a run is what its vehicle does alone, to the bit."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.experiment import Column, Resources, Rows
from skidpad.study.manoeuvres import Slalom, StepSteer, Subject, perform
from skidpad.study.manoeuvres.linear_handling import RandomSteer
from skidpad.study.runs import ManoeuvreRuns
from study.own_manoeuvres import Moody
from study.test_function_runs import OTHER_PROCESS, TESTS, same

CAR = sp.vehicles.four_wheel()
ONE = Resources(threads=1)


def rows_of(**factors: Any) -> Rows:
    count = len(next(iter(factors.values())))
    columns = {name: np.asarray(values, dtype=float) for name, values in factors.items()}
    return Rows(np.arange(count) + 5, columns, 3)


@pytest.fixture(scope="module")
def steps() -> ManoeuvreRuns:
    return ManoeuvreRuns(CAR, ["step_steer"])


def test_columns_are_metrics_with_units_and_definitions(steps: ManoeuvreRuns) -> None:
    names = {column.name: column for column in steps.columns()}
    assert names["step_steer.yaw_rate_rise_time"] == Column(
        "step_steer.yaw_rate_rise_time",
        "s",
        "Time from half the angle to 90 % of the steady yaw rate.",
    )
    units = steps.factor_units()
    assert units["m"] == "kg"
    assert units["step_steer.speed"] == "m/s"
    assert "step_steer.sides" not in units
    counts = ManoeuvreRuns(CAR, [RandomSteer()], known=(Column("a"),)).factor_units()
    assert "random_steer.a_y" in counts
    assert "random_steer.drives" not in counts  # there are no 8.3 drives


def test_a_run_is_the_manoeuvre_of_its_vehicle_alone(steps: ManoeuvreRuns) -> None:
    rows = rows_of(m=[1200.0, 1500.0, 1900.0], **{"step_steer.speed": [20.0, 25.0, 30.0]})
    found = steps.evaluate(rows, ONE)
    for k, (m, speed) in enumerate(zip(*rows.factors.values(), strict=True)):
        vehicle = CAR.with_params(m=float(m))
        (alone,) = perform([StepSteer(speed=float(speed))], [Subject(vehicle)])
        assert alone.findings is not None
        for metric in alone.findings.metrics:
            assert found[f"step_steer.{metric.name}"][k] == metric.value[0]
    assert not found["failed"].any()
    assert len(set(found["step_steer.yaw_rate_rise_time"].tolist())) == 3


@pytest.mark.slow
def test_neither_chunks_nor_order_nor_threads_nor_process_show(steps: ManoeuvreRuns) -> None:
    share = np.random.default_rng(4).random((2, 19))
    rows = rows_of(m=1200.0 + 600.0 * share[0], **{"step_steer.a_y": 1.0 + 3.0 * share[1]})
    whole = steps.evaluate(rows, ONE)
    for cuts in ([1, 18], [7]):
        parts = [steps.evaluate(rows.part(one), ONE) for one in np.split(np.arange(19), cuts)]
        assert same({k: np.concatenate([p[k] for p in parts]) for k in whole}, whole)
    order = np.random.default_rng(5).permutation(19)
    shuffled = steps.evaluate(rows.part(order), Resources(threads=2))
    assert same(shuffled, {name: column[order] for name, column in whole.items()})
    identity, found = in_another_process(steps, rows.part(slice(4, 7)))
    assert identity == steps.identity()
    assert same(found, {name: column[4:7] for name, column in whole.items()})


def in_another_process(experiment: Any, rows: Rows) -> Any:
    path = os.pathsep.join((str(TESTS.parent / "src"), str(TESTS)))
    child = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        input=pickle.dumps((experiment, rows)),
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "9"},
    )
    return pickle.loads(child.stdout)


@pytest.mark.slow
def test_searches_do_not_look_at_other_runs() -> None:
    """Durations and brackets of a search come from speeds: here these differ a lot."""
    runs = ManoeuvreRuns(CAR, [Slalom()])
    rows = rows_of(**{"tyre.D": [0.5, 1.6], "slalom_18_m.spacing": [18.0, 22.0]})
    both = runs.evaluate(rows, ONE)
    speed = both["slalom_18_m.entry_speed"]
    assert speed[1] > 1.5 * speed[0]
    for k in (0, 1):
        alone = runs.evaluate(rows.part(slice(k, k + 1)), ONE)
        assert same(alone, {name: column[k : k + 1] for name, column in both.items()})
    # The search ends with drives that were too fast; what is replayed is the one that counts.
    replay = runs.replay(rows.part(slice(0, 1)))
    np.testing.assert_allclose(replay["v_x"][0], speed[0], rtol=1e-9)


def test_who_cannot_do_it_fails_alone() -> None:
    runs = ManoeuvreRuns(CAR, {"steps": StepSteer(), "own": Moody(heaviest=1700.0)})
    rows = rows_of(m=[1400.0, 1800.0, 1500.0, 1500.0], **{"steps.a_y": [4.0, 4.0, 4.0, 50.0]})
    found = runs.evaluate(rows, ONE)
    np.testing.assert_array_equal(found["failed"], [False, True, False, True])
    np.testing.assert_array_equal(np.isnan(found["own.way"]), [False, True, False, False])
    steered = [column for column in found if column.startswith("steps.")]
    assert all(np.isnan(found[column][3]) for column in steered)
    assert not any(np.isnan(found[column][1]) for column in steered)
    kept = runs.evaluate(rows.part(np.array([0, 2])), ONE)
    assert same(kept, {name: column[[0, 2]] for name, column in found.items()})
    np.testing.assert_allclose(found["own.way"][[0, 2]], 10.0 * 1.5, rtol=0.01)


def test_a_vehicle_that_spins_has_failed() -> None:
    runs = ManoeuvreRuns(CAR, {"own": Moody(speed=20.0)})
    rows = rows_of(**{"own.turning": [0.0, 12.0]})
    found = runs.evaluate(rows, ONE)
    assert found["failed"].tolist() == [False, True]
    assert np.isfinite(found["own.way"]).tolist() == [True, False]
    spun = runs.replay(rows.part(slice(1, 2)))
    assert np.abs(spun["yaw"]).max() > 1.0


def test_a_replay_is_the_drive_of_the_run(steps: ManoeuvreRuns) -> None:
    rows = rows_of(m=[1300.0, 1600.0])
    replay = steps.replay(rows.part(slice(1, 2)))
    found = steps.evaluate(rows, ONE)
    assert replay.name == "step_steer: left"
    turning = replay["omega"] * replay["v_x"]
    steady = turning[replay.t > replay.t[-1] - 0.5].mean()
    np.testing.assert_allclose(
        steady, found["step_steer.steady_lateral_acceleration"][1], rtol=0.01
    )
    (alone,) = perform([StepSteer()], [Subject(CAR.with_params(m=1600.0))])
    assert alone.last[0].states is not None
    assert replay.states.tobytes() == alone.last[0].states[:, 0].tobytes()


def test_the_replay_of_a_run_that_cannot_be_driven_says_why(steps: ManoeuvreRuns) -> None:
    replay = steps.replay(rows_of(**{"step_steer.a_y": [50.0]}))
    assert len(replay.t) == 1
    assert "grip" in str(replay.error)


def test_more_manoeuvres_extend_it_and_other_settings_do_not() -> None:
    one = ManoeuvreRuns(CAR, {"own": Moody()})
    known = (Column("own.way", "m"),)
    more = ManoeuvreRuns(CAR, {"own": Moody(), "fast": Moody(speed=20.0)}, known=known)
    assert more.extends(one.identity())
    assert not one.extends(more.identity())
    for other in (
        ManoeuvreRuns(CAR, {"own": Moody(speed=11.0)}, known=known),
        ManoeuvreRuns(CAR.with_params(m=1234.0), {"own": Moody()}, known=known),
        ManoeuvreRuns(CAR, {"own": Moody()}, dt=0.002, known=known),
    ):
        assert not other.extends(one.identity())
        assert other.identity() != one.identity()


def test_what_cannot_be_meant_is_refused(steps: ManoeuvreRuns) -> None:
    with pytest.raises(sp.InvalidValue, match="step_steer"):
        ManoeuvreRuns(CAR, ["step_ster"])
    with pytest.raises(sp.InvalidValue, match="step_steer more than once"):
        ManoeuvreRuns(CAR, [StepSteer(), StepSteer(speed=10.0)])
    with pytest.raises(sp.InvalidValue, match=r"step_steer: .* no tyres that slip"):
        ManoeuvreRuns(sp.vehicles.kinematic_bicycle(), ["step_steer"])
    with pytest.raises(sp.InvalidValue, match="m = -1"):
        steps.check({"m": (-1.0, 1500.0)})
    with pytest.raises(sp.InvalidValue, match="slalom"):
        ManoeuvreRuns(CAR, {"own": Moody()}, replayed="slalom", known=(Column("own.way"),))


def test_it_goes_through_pickle(steps: ManoeuvreRuns, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(steps))
    assert again.identity() == steps.identity()
    assert again.columns() == steps.columns()
