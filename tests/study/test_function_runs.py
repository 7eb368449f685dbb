"""Functions of one's own as experiments."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.random.factors import Range
from skidpad.study.campaign import Campaign
from skidpad.study.designs import Random
from skidpad.study.experiment import Column, Resources, Rows, function_identity
from skidpad.study.runs import FunctionRuns
from study import own_functions
from study.own_functions import scalar_stopping, stop_replay, stopping, sums

COLUMNS = (Column("distance", "m", "until it stands"), Column("long", kind="truth"))
TESTS = Path(__file__).parents[1]


def rows_of(count: int, fastest: float = 70.0, begin: int = 0) -> Rows:
    runs = np.arange(begin, begin + count)
    share = np.random.default_rng(1).random((2, 1000))[:, runs]
    return Rows(runs, {"v": 5.0 + fastest * share[0], "mu": 0.3 + share[1]}, 11)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one
    )


def test_factors_come_by_name_with_their_units() -> None:
    runs = FunctionRuns(stopping, COLUMNS)
    assert runs.factor_units() == {"v": "m/s", "mu": ""}
    assert [column.name for column in runs.columns()] == ["distance", "long"]
    assert FunctionRuns(scalar_stopping, "distance").columns() == (Column("distance"),)


def test_distance_is_that_of_the_closed_form() -> None:
    runs = FunctionRuns(scalar_stopping, ["distance"], vectorised=False)
    rows = rows_of(20, fastest=30.0)
    v, mu = rows.factors["v"], rows.factors["mu"]
    found = runs.evaluate(rows, Resources())
    np.testing.assert_allclose(found["distance"], v**2 / (2.0 * 9.81 * mu), rtol=1e-14)
    assert not found["failed"].any()


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_run_that_raises_fails_alone(vectorised: bool) -> None:
    runs = FunctionRuns(
        stopping if vectorised else scalar_stopping,
        COLUMNS if vectorised else COLUMNS[:1],
        vectorised=vectorised,
        block=16,
    )
    rows = rows_of(40)
    found = runs.evaluate(rows, Resources())
    fast = rows.factors["v"] > 60.0
    assert 0 < fast.sum() < 20
    np.testing.assert_array_equal(found["failed"], fast)
    np.testing.assert_array_equal(np.isnan(found["distance"]), fast)
    slow = Rows(rows.runs, {**rows.factors, "v": np.where(fast, 20.0, rows.factors["v"])}, 11)
    whole = runs.evaluate(slow, Resources())
    assert whole["distance"][~fast].tobytes() == found["distance"][~fast].tobytes()


@pytest.mark.parametrize("function", [stopping, sums])
def test_neither_chunks_nor_order_show(function: Any) -> None:
    runs = FunctionRuns(function, COLUMNS if function is stopping else ["sum"], block=16)
    rows = rows_of(50, fastest=40.0, begin=3)
    rows = rows if function is stopping else Rows(rows.runs, {"a": rows.factors["v"]}, 11)
    whole = runs.evaluate(rows, Resources())
    for cuts in ([1, 2, 20], [13, 29], list(range(1, 50))):
        parts = [
            runs.evaluate(rows.part(one), Resources()) for one in np.split(np.arange(50), cuts)
        ]
        assert same({k: np.concatenate([p[k] for p in parts]) for k in whole}, whole)
    order = np.random.default_rng(2).permutation(50)
    shuffled = runs.evaluate(rows.part(order), Resources(threads=2))
    assert same(shuffled, {name: column[order] for name, column in whole.items()})


OTHER_PROCESS = """
import pickle, sys
from skidpad.study.experiment import Resources
experiment, rows = pickle.loads(sys.stdin.buffer.read())
columns = experiment.evaluate(rows, Resources(1))
sys.stdout.buffer.write(pickle.dumps((experiment.identity(), columns)))
"""


@pytest.mark.slow
def test_another_process_has_the_same_identity_and_bits() -> None:
    runs, rows = FunctionRuns(stopping, COLUMNS), rows_of(10)
    path = os.pathsep.join((str(TESTS.parent / "src"), str(TESTS)))
    child = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS],
        input=pickle.dumps((runs, rows)),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
    )
    identity, found = pickle.loads(child.stdout)
    assert identity == runs.identity()
    assert same(found, runs.evaluate(rows, Resources()))


def test_a_replay_has_the_numbers_of_the_run() -> None:
    rows = rows_of(5, fastest=10.0)
    one = FunctionRuns(stopping, COLUMNS)
    run = rows.part(slice(3, 4))
    assert one.replay(run)["distance"][0] == one.evaluate(rows, Resources())["distance"][3]
    longer = FunctionRuns(stopping, COLUMNS, trajectory=stop_replay)
    assert longer.replay(run)["v"][0] == rows.factors["v"][3]


def test_what_cannot_be_meant_is_refused() -> None:
    def local(a: float) -> float:
        return a

    with pytest.raises(sp.InvalidValue, match="top of a module"):
        FunctionRuns(local, ["b"])
    with pytest.raises(sp.InvalidValue, match="function"):
        FunctionRuns(lambda a: a, ["b"])
    runs = FunctionRuns(stopping, COLUMNS)
    with pytest.raises(sp.InvalidValue, match="mu"):
        runs.check({"v": (0.0, 1.0), "mu": (-1.0, 1.0)})
    with pytest.raises(sp.InvalidValue, match="argument mu of stopping"):
        runs.check({"v": (0.0, 1.0)})
    with pytest.raises(TypeError, match="stopping has no column 'width'"):
        FunctionRuns(stopping, [*COLUMNS, "width"]).evaluate(rows_of(3, 10.0), Resources())


def test_more_of_its_columns_extend_it() -> None:
    some, whole = FunctionRuns(stopping, COLUMNS[:1]), FunctionRuns(stopping, COLUMNS)
    assert whole.extends(some.identity())
    assert not FunctionRuns(sums, ["sum"]).extends(some.identity())
    rows = rows_of(9, 10.0)
    kept = some.evaluate(rows, Resources())
    assert same(kept, {name: whole.evaluate(rows, Resources())[name] for name in kept})


def edited(tmp_path: Path, before: str, after: str, name: str) -> Any:
    """The module of functions with a piece of text replaced, imported under the same name."""
    text = Path(own_functions.__file__).read_text()
    assert before in text
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(before, after))
    spec = importlib.util.spec_from_file_location(own_functions.__name__, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("0.05 *", "0.06 *", True),
        ("GRAVITY = 9.81", "GRAVITY = 9.80", True),
        ("return GRAVITY * mu", "return GRAVITY * mu * 1.01", True),
        ("assert isinstance(v, float)", "assert v", False),
        ("Distance and time of braking", "How far it goes", False),
        ("GRAVITY = 9.81", "# a comment\n\n\nGRAVITY = 9.81", False),
    ],
)
def test_identity_changes_with_what_a_function_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, changes: bool
) -> None:
    own = FunctionRuns(stopping, COLUMNS).identity()
    module = edited(tmp_path, before, after, "edited")
    monkeypatch.setitem(sys.modules, own_functions.__name__, module)
    assert (FunctionRuns(module.stopping, COLUMNS).identity() != own) is changes


def test_settings_of_what_is_called_are_part_of_it() -> None:
    one = function_identity("function", partial(scalar_stopping, mu=0.5))
    assert one != function_identity("function", partial(scalar_stopping, mu=0.6))
    assert one == function_identity("function", partial(scalar_stopping, mu=0.5))


@pytest.mark.slow
def test_a_campaign_of_a_function(tmp_path: Path) -> None:
    campaign = Campaign(
        experiment=FunctionRuns(stopping, COLUMNS, block=64),
        factors={"v": Range(5.0, 62.0), "mu": Range(0.3, 1.0)},
        design=Random(300),
    )
    one = campaign.run(tmp_path / "one", workers=1, progress=False)
    two = campaign.run(tmp_path / "two", chunk_seconds=1e-6, workers=2, progress=False)
    assert one.digest() == two.digest()
    worst = one.worst("distance", 1)[0]
    assert one.replay(worst)["distance"][0] == worst.value


@pytest.mark.parametrize("function", [own_functions.giving_up, own_functions.giving_up_itself])
@pytest.mark.parametrize("vectorised", [True, False])
def test_nothing_is_true_of_a_run_that_failed(function: Any, vectorised: bool) -> None:
    """As of all experiments, however it failed."""
    made = FunctionRuns(function, ["y", Column("high", kind="truth")], vectorised=vectorised)
    a = np.array([0.1, 0.5, 0.9])
    out = made.evaluate(Rows(np.arange(3), {"a": a}, 0), Resources())
    assert out["failed"].tolist() == [False, False, True]
    assert out["high"].tolist() == [False, True, False]
