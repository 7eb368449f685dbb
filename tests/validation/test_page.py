"""The validation report: its rows are within their tolerances, and its page is what they give."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import skidpad as sp
from pages import tables
from validation.rows.row import Check, Row, compared, recorded, texts
from validation.rows.table import CHECKS, PAGE, page, rows_of

FAST = [check for check in CHECKS if not check.slow]
Key = tuple[str, str, str]


def number(cell: str) -> float:
    """Of a cell; "< 1e-9" is its number."""
    return float(cell.removeprefix("< "))


@cache
def written() -> dict[Key, tuple[str, ...]]:
    """Rows of the page by what they compare."""
    found = [row for table in tables(PAGE.read_text("utf-8")) for row in table[1:] if len(row) == 8]
    rows = {(row[0], row[1], row[7]): tuple(row) for row in found}
    assert len(rows) == len(found), "two rows compare the same"
    return rows


def assert_written(row: Row) -> None:
    """The page has this row: words to the letter, numbers but for rounding."""
    cells = texts(row)
    old = written()[cells[0], cells[1], cells[7]]
    assert old[5:] == cells[5:]
    for k, value in ((2, row.reference), (3, row.ours)):
        assert number(old[k]) == pytest.approx(value, rel=1e-5, abs=0.1 * row.tolerance * row.scale)
    slack = 0.1 * row.tolerance + 0.1 * row.difference
    assert number(old[4]) == pytest.approx(row.difference, abs=slack)


def name_of(check: Check) -> str:
    """Module and function."""
    return f"{check.rows.__module__.rpartition('.')[2]}.{check.rows.__name__}"


@pytest.mark.parametrize("check", FAST, ids=name_of)
def test_rows_are_within_and_on_the_page(check: Check) -> None:
    for row in check.rows():
        assert row.good, texts(row)
        assert_written(row)


@pytest.mark.slow
def test_the_whole_page_is_what_the_code_gives() -> None:
    parts = rows_of(CHECKS)
    rows = [row for part in parts.values() for row in part]
    for row in rows:
        assert row.good, texts(row)
        assert_written(row)
    assert {(row.subject, row.quantity, row.source) for row in rows} == set(written())
    text = PAGE.read_text("utf-8")
    new = page(parts)
    words = [[line for line in one.splitlines() if not line.startswith("|")] for one in (text, new)]
    assert words[0] == words[1]


def test_what_devices_gave_is_that_of_the_benchmarks() -> None:
    text = PAGE.read_text("utf-8")
    assert page({}).partition("## Devices")[2] == text.partition("## Devices")[2]
    assert "DIFFERENT" not in text
    assert "the same bits" in text


def test_the_page_has_every_vehicle_and_sixty_rows() -> None:
    assert len(written()) >= 60
    subjects = {key[0] for key in written()}
    # Other tests list vehicles of their own.
    assert set(sp.vehicles.names()) & set(sp.vehicles.__all__) <= subjects
    assert "OUTSIDE" not in PAGE.read_text("utf-8")


def test_where_theory_gives_the_number_the_tolerance_is_at_most_half_a_per_cent() -> None:
    """A tenth of what VDSim allows. Orders of methods, single precision and random roads are what
    their references are."""
    others = ("order of the method", "recorded", "G_d(n_0)", "published")
    for key, row in written().items():
        if not any(word in key[2] for word in others):
            assert number(row[5]) <= 5e-3, key


def test_a_number_that_is_none_is_not_within() -> None:
    assert not compared("a", "b", "c", 1.0, math.nan, 0.1).good
    assert not recorded("a", "b", "c", [1.0, 2.0], [1.0, math.nan], 0.1).good
    assert recorded("a", "b", "c", [1.0, math.nan], [1.0, math.nan], 0.1).good
    assert not recorded("a", "b", "c", [1.0, 2.0], [math.inf, 2.0], 0.1).good
    # A ray that meets nothing is no reason to forgive the others.
    assert recorded("a", "b", "c", [1.0, math.inf], [1.0, math.inf], 0.1).good
    assert not recorded("a", "b", "c", [1.0, math.inf], [2.0, math.inf], 0.1).good
    assert not recorded("a", "b", "c", [1.0, math.inf], [1.0, -math.inf], 0.1).good


def test_differences_are_of_the_reference_of_the_column_or_of_a_scale() -> None:
    assert compared("a", "b", "c", -2.0, -2.2, 0.2).difference == pytest.approx(0.1)
    assert compared("a", "b", "c", -2.0, -2.2, 0.1, scale=1.0).difference == pytest.approx(0.2)
    want = np.array([[1.0, 100.0], [2.0, 50.0]])
    row = recorded("a", "b", "c", want, want + np.array([[0.0, 1.0], [0.1, 0.0]]), 0.2)
    assert row.difference == pytest.approx(0.05)
    assert (row.reference, row.ours) == (100.0, 101.0)
    assert texts(row)[6] == "within"
    assert texts(recorded("a", "b", "c", want, want + 1.0, 0.2))[6] == "OUTSIDE"
