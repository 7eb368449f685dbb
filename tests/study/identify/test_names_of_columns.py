"""The column that an error proposes is the one that a reader would have proposed."""

from __future__ import annotations

from pathlib import Path

import pytest

from skidpad.errors import InvalidValue
from skidpad.study.identify import read_log
from skidpad.study.identify.log import how_to_name


@pytest.mark.parametrize(
    ("name", "there", "nearest"),
    [
        ("t", ("Time", "VehSpd", "Beta"), "Time"),
        ("t", ("Beta", "TimeStamp"), "TimeStamp"),
        ("t", ("Beta", "timestamp_s", "latitude"), "timestamp_s"),
        ("t", ("Beta", "T"), "T"),
        ("t", ("Beta", "data"), "COLUMN"),
        ("v_x", ("Time", "VehSpd", "YawRate"), "VehSpd"),
        ("v_x", ("Vx", "speed"), "Vx"),
        ("u_steer", ("delta", "Steer"), "Steer"),
    ],
)
def test_the_nearest_name_is_proposed(name: str, there: tuple[str, ...], nearest: str) -> None:
    assert f"--map {nearest}={name} " in how_to_name(name, there)


def test_a_unit_tells_where_no_name_does(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("Zeit [s],Beta [deg]\n0,1\n1,2\n")
    with pytest.raises(InvalidValue, match="--map Zeit=t "):
        read_log(file)
