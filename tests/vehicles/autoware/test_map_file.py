"""Tables and the CSV files they come from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.vehicles.command_driven.parameters import Table, read_table

TEXT = """\
default,  0.0,  2.0,  6.0
-1.0,    -4.0, -3.0, -1.0
 0.0,     0.0,  0.5,  1.5
 3.0,     6.0,  5.0,  4.0
"""
TABLE = Table(
    (-1.0, 0.0, 3.0),
    (0.0, 2.0, 6.0),
    ((-4.0, -3.0, -1.0), (0.0, 0.5, 1.5), (6.0, 5.0, 4.0)),
)


def saved(folder: Path, text: str | bytes) -> Path:
    file = folder / "map.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        "\n" + TEXT.replace("\n", "\n  \n\n"),
        TEXT.replace(" ", ""),
        TEXT.replace("\n", ",\n"),
        TEXT.rstrip("\n"),
        "\ufeff" + TEXT,
        TEXT.replace("default", ""),
        TEXT.replace("6.0", "6e0"),
    ],
    ids=["as is", "crlf", "blank lines", "dense", "last comma", "no end", "mark", "label", "e"],
)
def test_files_are_read_as_they_are(tmp_path: Path, text: str) -> None:
    assert read_table(saved(tmp_path, text)) == TABLE
    assert read_table(str(tmp_path / "map.csv")) == TABLE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"map\.csv: 0 rows"),
        ("a,0,1\n0,1,2\n", r"map\.csv: 1 rows .* at least 2"),
        ("a,0\n0,1\n1,2\n", r"line 1: 1 column coordinates; a table has at least 2"),
        ("a,0,1\n0,1,2\n1,2\n", r"line 3: 2 cells, but the first line has 3"),
        ("a,0,1\n0,1,2,3\n1,2,3\n", r"line 2: 4 cells, but the first line has 3"),
        ("a,0,1\n\n0,1,fast\n1,2,3\n", r"line 3, cell 3: 'fast' is not a number"),
        ("a,0,x\n0,1,2\n1,2,3\n", r"line 1, cell 3: 'x' is not a number"),
        ("a,0,1\n0,1,\n1,2,3\n", r"line 2: 2 cells"),
        ("a,0,1\n0,,1\n1,2,3\n", r"line 2, cell 2: '' is not a number"),
        ("a,0,1\n0,1,1_0\n1,2,3\n", r"line 2, cell 3: '1_0' is not a number"),
        ("a,0,1\n0,1,nan\n1,2,3\n", r"line 2, cell 3: nan must be finite"),
        ("a,0,inf\n0,1,2\n1,2,3\n", r"line 1, cell 3: inf must be finite"),
        ("a,0,2,1\n0,1,2,3\n1,2,3,4\n", r"line 1, cell 4: column coordinate 1 must be above 2"),
        ("a,0,0\n0,1,2\n1,2,3\n", r"line 1, cell 3: column coordinate 0 must be above 0"),
        ("a,0,1\n0,1,2\n\n-1,2,3\n", r"line 4, cell 1: row coordinate -1 must be above 0"),
        (b"a,0,1\n\xff,1,2\n", r"is not a text file in UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InvalidValue, match=said) as failure:
        read_table(saved(tmp_path, text))
    assert "map.csv" in str(failure.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"none\.csv cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InvalidValue, match="cannot be read"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        [
            ["label", 0, 2, 6],
            [-1, -4, -3, -1],
            [0, 0, 0.5, 1.5],
            [3, 6, 5, 4],
        ],
        {"rows": TABLE.rows, "columns": TABLE.columns, "values": np.array(TABLE.values)},
        np.array([[0, 0, 2, 6], [-1, -4, -3, -1], [0, 0, 0.5, 1.5], [3, 6, 5, 4]]),
    ],
)
def test_tables_of_many_things(given: Any) -> None:
    assert Table.of(given) == TABLE


def test_a_table_of_a_path(tmp_path: Path) -> None:
    assert Table.of(saved(tmp_path, TEXT)) == TABLE


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3.0, "cannot be made of 3.0"),
        ([["", 0, 1], [0, 1, 2]], "1 rows"),
        ([["", 0, 1], [0, 1, "a"], [1, 2, 3]], "table, row 1, cell 3: 'a' is not a number"),
        ([["", 0, 1], [0, 1, True], [1, 2, 3]], "cell 3: True is not a number"),
        ({"rows": [0, 1], "columns": [0, 1]}, "needs values too"),
        ({"rows": [0, 1], "columns": [0, 1], "value": 1}, "did you mean 'values'"),
        ({"rows": [0, 1, 2], "columns": [0, 1], "values": [[1, 2], [3, 4]]}, "3 row coordinates"),
    ],
)
def test_what_makes_no_table_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        Table.of(given)


@pytest.mark.parametrize(
    ("rows", "columns", "values", "said"),
    [
        ((0.0, 1.0), (0.0, 1.0), ((1.0, 2.0),), "2 row coordinates and 1 rows"),
        ((0.0, 1.0), (0.0, 1.0), ((1.0, 2.0), (1.0,)), "row 2: 2 cells"),
        ((1.0, 0.0), (0.0, 1.0), ((1.0, 2.0), (1.0, 2.0)), "row coordinate 0 must be above 1"),
        ((0.0, 1.0), (0.0, 1.0), ((1.0, math.nan), (1.0, 2.0)), "nan must be finite"),
    ],
)
def test_a_table_checks_itself(rows: Any, columns: Any, values: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        Table(rows, columns, values)


def test_values_at_and_between_the_coordinates() -> None:
    assert TABLE.value(0.0, 2.0) == pytest.approx(0.5)
    assert TABLE.value(-0.5, 0.0) == pytest.approx(-2.0)
    assert TABLE.value(0.0, 4.0) == pytest.approx(1.0)
    # Between four corners: the mean of 0.5, 1.5, 5 and 4.
    assert TABLE.value(1.5, 4.0) == pytest.approx(2.75)


def test_outside_the_edge_values_hold() -> None:
    assert TABLE.value(-9.0, -9.0) == -4.0
    assert TABLE.value(99.0, 99.0) == 4.0
    assert TABLE.value(0.0, 99.0) == pytest.approx(1.5)


@given(row=st.floats(-3.0, 5.0), column=st.floats(-3.0, 9.0))
def test_interpolation_along_columns_then_rows_gives_the_same(row: float, column: float) -> None:
    """Upstream goes along every row first; NumPy clamps and interpolates as it does."""
    along = [np.interp(column, TABLE.columns, line) for line in TABLE.values]
    expected = np.interp(row, TABLE.rows, along)
    assert TABLE.value(row, column) == pytest.approx(expected, abs=1e-12)
