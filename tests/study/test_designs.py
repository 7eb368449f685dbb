"""What all designs promise: any part by its numbers, identities, extension; and where runs lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import qmc

from skidpad.core.arrays import Array
from skidpad.errors import InvalidValue
from skidpad.random.factors import Levels, Range, Steps
from skidpad.random.streams import key_of
from skidpad.study import (
    Converging,
    Grid,
    LatinHypercube,
    Random,
    Refinement,
    Saltelli,
    Sobol,
    SubsetSimulation,
)
from skidpad.study.campaign import DESIGNS, design_of, table_of
from skidpad.study.designs import Design, Table, permutation
from study.scheduling import conducted

ALL: list[Design] = [
    Random(50),
    LatinHypercube(50),
    Sobol(50),
    Saltelli(50),
    Saltelli(48, second_order=True),
    Grid((2, 5, 3)),
    Table(7),
    Refinement("y", 1.3, first=Sobol(32), each=8, most=80),
    Refinement("y", 1.3, first=Random(32), each=8, most=50, levels=(0, 3, 4)),
    Converging("y", 0.2, first=40, most=300),
    Converging("y", 0.2, ("quantile", 0.9), first=40, most=300),
    Converging("y", 0.1, "probability", threshold=1.0, first=40, most=300),
    SubsetSimulation("y", 2.6, each=40, share=0.25, most_levels=4),
    SubsetSimulation("y", 0.3, above=False, each=40, share=0.5, correlation=0.7),
]
FACTORS = 3


def total(points: Array) -> Array:
    return points.sum(axis=1)


def test_all_kinds_are_looked_at() -> None:
    assert {design.identity()["kind"] for design in ALL} == set(DESIGNS)


@pytest.mark.parametrize("design", ALL, ids=repr)
def test_any_part_of_a_round_has_the_numbers_of_the_whole(design: Design) -> None:
    choosing = design.rounds(FACTORS, 3)
    asked = next(choosing)
    for _ in range(4):
        whole = asked.points(np.arange(asked.size))
        assert ((whole >= 0.0) & (whole <= 1.0)).all()
        chosen = np.random.default_rng(1).permutation(asked.size)[: asked.size // 2 + 1]
        assert (asked.points(chosen) == whole[chosen]).all()
        for begin in range(0, asked.size, 7):
            numbers = np.arange(begin, min(begin + 7, asked.size))
            assert (asked.points(numbers) == whole[numbers]).all()
        try:
            asked = choosing.send({name: total(whole) for name in asked.reads})
        except StopIteration:
            break


@pytest.mark.parametrize("design", ALL, ids=repr)
def test_a_design_is_its_plain_form(design: Design) -> None:
    plain = json.loads(json.dumps(design.identity()))
    assert design_of(plain) == design
    kind = plain.pop("kind")
    assert design_of({kind: plain}) == design
    assert design_of(design.identity()).identity() == design.identity()


@pytest.mark.parametrize("design", ALL, ids=repr)
def test_the_same_again_and_another_by_another_seed(design: Design) -> None:
    first, again = (conducted(design, FACTORS, 5, total) for _ in range(2))
    assert first.found == again.found
    assert (first.points == again.points).all()
    json.dumps(first.found, allow_nan=False)
    assert design.extends(design.identity())
    if not isinstance(design, (Grid, Table)):
        assert not (first.rounds[0] == conducted(design, FACTORS, 6, total).rounds[0]).any()


LONGER: list[tuple[Design, Design]] = [
    (Random(50), Random(90)),
    (Sobol(50), Sobol(1000)),
    (Saltelli(50), Saltelli(100)),
    (Saltelli(48, second_order=True), Saltelli(80, second_order=True)),
    (Refinement("y", 1.3, Sobol(32), 8, 50), Refinement("y", 1.3, Sobol(32), 8, 80)),
    (Converging("y", 0.3, first=40, most=99), Converging("y", 0.02, first=40, most=500)),
    (
        SubsetSimulation("y", 2.9, each=40, share=0.25, most_levels=2),
        SubsetSimulation("y", 2.9, each=40, share=0.25, most_levels=5),
    ),
]


@pytest.mark.parametrize(("before", "after"), LONGER, ids=repr)
def test_an_extended_design_begins_with_the_runs_it_had(before: Design, after: Design) -> None:
    assert after.extends(json.loads(json.dumps(before.identity())))
    assert not before.extends(after.identity())
    had, has = (conducted(design, FACTORS, 2, total).points for design in (before, after))
    assert len(has) > len(had)
    assert (has[: len(had)] == had).all()


def test_what_does_not_go_on() -> None:
    assert not LatinHypercube(60).extends(LatinHypercube(50).identity())
    assert not Grid((2, 6)).extends(Grid((2, 5)).identity())
    assert not Sobol(60).extends(Random(50).identity())
    assert not Saltelli(100, second_order=True).extends(Saltelli(50).identity())
    assert not Refinement("y", 1.0, most=2000).extends(Refinement("y", 2.0).identity())


@pytest.mark.parametrize("design", [Random(5), LatinHypercube(5), Sobol(5), Table(5), Grid(())])
def test_runs_may_have_no_factors(design: Design) -> None:
    assert conducted(design, 0, 0).points.shape == (design.runs, 0)


@pytest.mark.slow
@given(count=st.integers(1, 300), seed=st.integers(0, 5))
def test_permutations_have_every_place_once(count: int, seed: int) -> None:
    places = permutation(seed, "test", np.arange(count), count)
    assert sorted(places.tolist()) == list(range(count))


def test_orders_are_as_good_as_drawn() -> None:
    # Every number at every place as often: 24 orders of 4, 2400 times.
    orders = [tuple(permutation(seed, "test", np.arange(4), 4).tolist()) for seed in range(2400)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    # Chi-square of 23 degrees of freedom: 49.7 is exceeded once in a thousand.
    assert ((counts - 100) ** 2 / 100).sum() < 49.7


@pytest.mark.parametrize("runs", [1, 2, 7, 64, 1000])
def test_a_latin_hypercube_has_a_run_in_every_part(runs: int) -> None:
    points = conducted(LatinHypercube(runs), 4, 1).points
    parts = np.sort(np.floor(points * runs), axis=0)
    assert (parts == np.arange(runs)[:, None]).all()
    if runs == 1000:
        correlations = np.corrcoef(points.T) - np.eye(4)
        assert np.abs(correlations).max() < 4.0 / np.sqrt(runs)


def test_sobol_points_are_those_of_scipy() -> None:
    low, high = key_of(9, "campaign.sobol")
    expected = qmc.Sobol(6, seed=low | high << 32).random(256)
    # In the middle of cells of 2⁻³⁰ instead of at their corner.
    points = conducted(Sobol(256), 6, 9).points
    assert (points - expected == 2.0**-31).all()


def test_far_sobol_points_take_no_time_or_room() -> None:
    asked = next(Sobol(1 << 24).rounds(2, 1))
    points = asked.points(np.arange((1 << 24) - 1024, 1 << 24))
    # The last 2ᵏ points of a sequence of 2ⁿ lie in different columns of 2⁻ᵏ.
    assert len(np.unique(np.floor(points[:, 0] * 1024))) == 1024


@pytest.mark.parametrize("second_order", [False, True])
def test_saltelli_has_the_runs_of_salib(second_order: bool) -> None:
    sobol = pytest.importorskip("SALib.sample.sobol")
    low, high = key_of(4, "campaign.sobol")
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0.0, 1.0]] * 3}
    expected = sobol.sample(
        problem, 16, calc_second_order=second_order, seed=low | high << 32, skip_values=0
    )
    ours = conducted(Saltelli.of(16, 3, second_order), 3, 4)
    np.testing.assert_allclose(ours.points, expected, rtol=0, atol=2.0**-30)
    assert ours.found == {"samples": 16, "second_order": second_order}


def test_a_grid_has_all_combinations_the_last_fastest() -> None:
    factors = {"a": Levels((1.0, 2.0)), "b": Steps(0.0, 1.0, 3), "c": 5.0}
    grid = Grid.of(factors)
    assert grid == Grid((2, 3, 1))
    points = conducted(grid, 3, 0).points
    a, b = Levels((1.0, 2.0)).value(points[:, 0]), Steps(0.0, 1.0, 3).value(points[:, 1])
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert pairs == [(x, y) for x in (1.0, 2.0) for y in (0.0, 0.5, 1.0)]


def test_tables_go_through_rows(tmp_path: Path) -> None:
    rows = {"m": [1.0, 2.0, 2.0, 4.0], "v [m/s]": [5.0, 4.0, 3.0, 0.5]}
    (tmp_path / "rows.csv").write_text("m,v [m/s]\n1,5\n2,4\n2,3\n4,0.5\n")
    for given_rows in ({"m": rows["m"], "v": rows["v [m/s]"]}, tmp_path / "rows.csv"):
        factors, table = table_of(given_rows)
        points = conducted(table, 2, 0).points
        assert factors["m"].value(points[:, 0]).tolist() == rows["m"]
        assert factors["v"].value(points[:, 1]).tolist() == rows["v [m/s]"]


def test_tables_of_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.table({"m": [1.0, 3.0]}), tmp_path / "rows.parquet")
    factors, table = table_of(tmp_path / "rows.parquet")
    assert (factors, table) == ({"m": Levels((1.0, 3.0))}, Table(2))


def test_large_tables_have_every_row() -> None:
    values = np.arange(100_003.0)
    factors, table = table_of({"a": values})
    assert (factors["a"].value(conducted(table, 1, 0).points[:, 0]) == values).all()


def test_designs_that_follow_from_factors() -> None:
    factors: dict[str, Any] = {"a": Levels((1.0, 2.0)), "b": Steps(0.0, 1.0, 2)}
    assert design_of("grid", factors) == Grid((2, 2))
    assert design_of("table", factors) == Table(2)
    assert design_of({"saltelli": {"samples": 8}}, factors) == Saltelli(32)
    mixed = {**factors, "c": Range(0.0, 1.0)}
    refinement = {"refinement": {"column": "y", "threshold": 1, "first": {"sobol": 16}}}
    assert design_of(refinement, mixed) == Refinement("y", 1, Sobol(16), levels=(2, 2, 0))
    assert design_of(refinement, {"c": Range(0.0, 1.0)}) == Refinement("y", 1, Sobol(16))
    assert design_of({"sobol": 64}) == Sobol(64)


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"sobel": 10}, "did you mean 'sobol'"),
        ({"sobol": {"run": 10}}, "design.sobol has no setting 'run'"),
        ("sobol", "design.sobol needs runs"),
        ({"sobol": 0}, "runs = 0 must be at least 1"),
        ({"sobol": 2.5}, "runs = 2.5 must be a whole number"),
        ({"random": 2**33}, "at most"),
        ({"grid": {"counts": [2, 0]}}, "counts[1] = 0"),
        ({"grid": {"counts": 3}}, "design.grid"),
        (17, "design = 17 must be one of"),
        ({"refinement": {"column": "y", "threshold": 1, "first": "sobol"}}, "t.first.sobol needs"),
        ({"refinement": {"column": "y", "threshold": 1, "first": 0}}, "design.refinement.first"),
        ({"refinement": {"column": "y", "threshold": 1, "first": 2.5}}, "runs = 2.5 must be"),
        ({"refinement": {"column": "y", "threshold": 1, "most": 10}}, "most = 10 must be at least"),
        ({"converging": {"column": "y", "width": 0}}, "width = 0"),
        ({"converging": {"column": "y", "width": 1, "quantity": "median"}}, "quantity = 'median'"),
        ({"converging": {"column": "y", "width": 1, "threshold": 1}}, "is for quantity"),
        ({"converging": {"column": "y", "width": 1, "most": 10}}, "most = 10 must be from first"),
        ({"subset_simulation": {"column": "y", "threshold": 1, "share": 0.3}}, "share = 0.3"),
        ({"subset_simulation": {"column": "y", "threshold": 1, "each": 15}}, "multiple of 10"),
        ({"subset_simulation": {"column": "y", "threshold": float("nan")}}, "threshold = nan"),
    ],
)
def test_what_is_wrong_is_named(plain: Any, words: str) -> None:
    with pytest.raises(InvalidValue) as error:
        design_of(plain)
    assert words in str(error.value)


def test_a_number_of_first_runs_is_of_sobol_points() -> None:
    plain = {"refinement": {"column": "y", "threshold": 1.0, "first": 64}}
    assert design_of(plain) == Refinement("y", 1.0, Sobol(64))


def test_designs_that_do_not_fit_the_factors() -> None:
    with pytest.raises(InvalidValue, match="multiple of 5 for 3 factors, such as 10 or 15"):
        Saltelli(12).rounds(3, 0)
    with pytest.raises(InvalidValue, match="there are 3"):
        Grid((2, 2)).rounds(3, 0)
    with pytest.raises(InvalidValue, match="at least 1"):
        SubsetSimulation("y", 1.0).rounds(0, 0)
    with pytest.raises(InvalidValue, match=r"factors\['c'\].*has no list of numbers"):
        Grid.of({"c": Range(0.0, 1.0)})
    with pytest.raises(InvalidValue, match="equally long"):
        Table.of({"a": [1, 2], "b": [1, 2, 3]})


def test_tables_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("m,v\n1,fast\n")
    with pytest.raises(InvalidValue, match=r"column 'v' cannot be a factor: line 2 has 'fast'"):
        table_of(tmp_path / "rows.csv")
    (tmp_path / "rows.csv").write_text("m,v\n")
    with pytest.raises(InvalidValue, match="no rows"):
        table_of(tmp_path / "rows.csv")
    with pytest.raises(InvalidValue, match="No such file"):
        table_of(tmp_path / "nowhere.csv")
