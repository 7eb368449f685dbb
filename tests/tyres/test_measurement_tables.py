"""Tables of measurements as other programs write them: gaps, separators, headings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skidpad.errors import InvalidValue
from skidpad.tyres import Measurements, measurements

DATA = Path(__file__).parents[1] / "data" / "tyres"


def written(folder: Path, text: str) -> Path:
    file = folder / "rows.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_empty_cells_are_gaps(tmp_path: Path) -> None:
    text = "F_z,alpha,F_y,M_z,label\n4000,0.1,-3000,,a\n3000,0.1, ,5,\n,0.1,1,2,c\n"
    table = measurements(written(tmp_path, text))
    assert_array_equal(table.F_y, [-3000.0, np.nan])
    assert_array_equal(table.M_z, [np.nan, 5.0])
    assert table.label.tolist() == ["a", ""]
    assert "1 of 3 rows lack load" in table.notes[0]


@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_is_read_back(tmp_path: Path, index: bool) -> None:
    rows = Measurements(
        F_z=[4000.0, 3000.0], alpha=0.1, p=[2e5, np.nan], F_y=[np.nan, 0.1 + 0.2], label=["a", "b"]
    )
    file = tmp_path / "rows.csv"
    rows.to_pandas().to_csv(file, index=index)
    again = measurements(file)
    for name in ("F_z", "alpha", "p", "F_y", "M_z"):
        assert_array_equal(again[name], rows[name])
    assert again.label.tolist() == ["a", "b"]
    assert again.notes == ()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_cells_may_be_separated_otherwise(tmp_path: Path, separator: str) -> None:
    lines = [["F_z [kN]", "alpha [deg]", "F_y", "label"], ["4", "1", "-500", "run"]]
    text = "".join(separator.join(line) + "\n" for line in lines)
    table = measurements(written(tmp_path, text))
    assert_array_equal(table.F_z, [4000.0])
    assert_array_equal(table.F_y, [-500.0])
    assert table.label.tolist() == ["run"]


def test_other_separators_are_named_as_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="separated by commas, semicolons or tabs"):
        measurements(written(tmp_path, "F_z alpha F_y\n4000 0.1 -3000\n"))


def test_a_test_of_the_consortium_may_lack_its_title(tmp_path: Path) -> None:
    whole = (DATA / "ttc_like.dat").read_text(encoding="latin-1")
    file = tmp_path / "run.dat"
    file.write_text(whole.partition("\n")[2], encoding="latin-1")
    expected, table = measurements(DATA / "ttc_like.dat"), measurements(file)
    assert_array_equal(table.F_y, expected.F_y)
    assert set(table.label) == {"run"}
    file.write_text("SA\tFZ\nrad\n1\t2\n")
    with pytest.raises(InvalidValue, match="line 2: 1 units for 2 channels"):
        measurements(file)


def test_sections_of_tydex_may_say_more_behind_their_name(tmp_path: Path) -> None:
    source = next(DATA.glob("*.tdx"))
    text = source.read_text(encoding="latin-1").replace("**MEASURDATA", "**MEASURDATA   4 rows")
    file = tmp_path / "run.tdx"
    file.write_text(text, encoding="latin-1")
    assert_array_equal(measurements(file).F_y, measurements(source).F_y)
