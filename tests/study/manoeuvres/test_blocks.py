"""Many variants: the same numbers as few at a time, and memory that does not grow with them."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Findings, Kernels, Metric, Subject, perform
from skidpad.study.manoeuvres.proving_ground import (
    FIRST,
    SIZES,
    bytes_of,
    first_variant_of,
    join_blocks,
    next_size,
)
from study.manoeuvres.fakes import Drive

CAR = sp.vehicles.single_track()


@pytest.mark.slow
def test_blocks_give_what_single_vehicles_give() -> None:
    """Bit for bit, in order, and drives of the first alone."""
    N = FIRST + 7
    drag = np.linspace(0.0, 2.0, N)
    kernels = Kernels()
    (result,) = perform([Drive()], [Subject(CAR, {"C_drag": drag})], kernels)
    assert result["distance"].shape == (N,)
    for k in (0, FIRST - 1, FIRST, N - 1):
        (one,) = perform([Drive()], [Subject(CAR, {"C_drag": drag[k : k + 1]})], kernels)
        assert one["distance"][0] == result["distance"][k]
    assert result.findings is not None
    assert result.findings["distance"].theory.shape == (N,)
    assert {run.variants for run in result.runs} == {1}


@pytest.mark.slow
def test_cars_with_few_and_many_variants_keep_their_order() -> None:
    many = Subject(CAR, {"C_drag": np.linspace(0.0, 2.0, FIRST + 1)}, "many")
    results = perform([Drive(0.2)], [Subject(CAR, name="a"), many, Subject(CAR, name="b")])
    assert [result.car.name for result in results] == ["a", "many", "b"]


def test_a_block_without_findings_has_no_numbers() -> None:
    first = Findings([Metric("a", [1.0, 2.0], "m", "A.", 3.0)], notes=["one"])
    second = Findings([Metric("a", [4.0], "m", "A."), Metric("b", [5.0], "m", "B.")], notes=["one"])
    whole = join_blocks([(first, 2), (None, 2), (second, 1)])
    assert whole is not None
    np.testing.assert_array_equal(whole["a"].value, [1.0, 2.0, np.nan, np.nan, 4.0])
    np.testing.assert_array_equal(whole["a"].theory, [3.0, 3.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(whole["b"].value, [np.nan] * 4 + [5.0])
    assert whole.notes == ["one"]
    rough = Findings([Metric("a", [6.0], "m", "A.", rough="a count")])
    either = join_blocks([(second, 1), (rough, 1)])
    assert either is not None
    assert (either["a"].rough, either["b"].rough) == ("a count", "")
    assert join_blocks([(None, 2)]) is None


def test_what_is_kept_holds_nothing_of_the_others() -> None:
    (result,) = perform([Drive(0.2)], [Subject(CAR, {"C_drag": np.zeros(5)})])
    kept = first_variant_of(result.runs[0])
    assert all(values.base is None for values in kept.signals.values())
    assert bytes_of([kept]) == pytest.approx(bytes_of(result.runs[:1]) / 5.0)


@pytest.mark.parametrize("each", [1.0, 1e6, 3e6, 1e9])
def test_a_block_fits_into_its_room(each: float) -> None:
    size = next_size(64.0 * each, 64)
    assert SIZES[0] <= size <= SIZES[1]
    assert size * each <= 1e9 or size == SIZES[0]
