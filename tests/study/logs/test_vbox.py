"""Files of VBOX: sections, minutes of arc, west-positive longitude, times over midnight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.study.logs import Log, read_log

# The example of Racelogic's page "VBO File Format" and of the guide of VBOX Pro Lite.
HEAD = """File created on 31/07/2006 at 09:55:20

[header]
satellites
time
latitude
longitude
velocity kmh
heading
height
vertical velocity kmh
Yaw_Rate
Lat_Acc

[channel units]
deg/s
g

[comments]
(c) 2001 2003 Racelogic
Log Rate (Hz) : 20.00

[column names]
sats time lat long velocity heading height vertvel Yaw_Rate Lat_Acc

[data]
"""


def row(time: str, k: int, lat: str = "+03119.09973", long: str = "+00058.49277") -> str:
    return f"137 {time} {lat} {long} {36 + k:07.3f} 321.85 +00152.58 +000.000 {k / 10} 1.0E-01"


def written(folder: Path, text: str) -> Log:
    (folder / "run.vbo").write_text(text, encoding="latin-1", newline="\r\n")
    return read_log(folder / "run.vbo")


def test_a_file_of_the_manual(tmp_path: Path) -> None:
    times = [f"16{22 + (k >= 20):02d}{35.4 + 0.05 * k - 60 * (k >= 492):05.2f}" for k in range(20)]
    log = written(tmp_path, HEAD + "\n".join(row(t, k) for k, t in enumerate(times)))
    # 3119.09973' = 51° 59.09973' north, 58.49277' west: near Buckingham.
    np.testing.assert_allclose(log["latitude"].values, 51.0 + 59.09973 / 60.0, rtol=1e-12)
    np.testing.assert_allclose(log["longitude"].values, -58.49277 / 60.0, rtol=1e-12)
    assert (log["latitude"].unit, log["longitude"].unit) == ("deg", "deg")
    np.testing.assert_allclose(log["speed"].values, (36.0 + np.arange(20)) / 3.6)
    np.testing.assert_allclose(log["speed"].t, 0.05 * np.arange(20), atol=1e-9)
    np.testing.assert_allclose(log["omega"].values, np.arange(20) / 10 * np.pi / 180.0)
    np.testing.assert_allclose(log["a_y"].values, 0.980665)
    # To the north-west, counterclockwise from east.
    np.testing.assert_allclose(log["course"].values, np.deg2rad(360.0 + 90.0 - 321.85))
    assert log["height"].values[0] == 152.58
    # `date -u -d '2006-07-31 16:22:35.4' +%s.%N`
    assert log.start == pytest.approx(1154362955.4, abs=1e-6)


def test_a_drive_over_midnight_and_rows_without_satellites(tmp_path: Path) -> None:
    times = ["235959.80", "235959.90", "000000.00", "000000.10"]
    rows = [row(t, k) for k, t in enumerate(times)]
    rows[1] = row(times[1], 1, "+00000.00000", "+00000.00000")
    log = written(tmp_path, HEAD + "\n".join(rows) + "\n137 0000")
    np.testing.assert_allclose(log["speed"].t, 0.1 * np.arange(4), atol=1e-9)
    assert np.isnan(log["latitude"].values).tolist() == [False, True, False, False]
    assert any("1 sample of 4 without satellites left empty" in note for note in log.notes)
    assert any("was cut off (2 of 10 cells)" in note for note in log.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a VBOX log: it lacks the sections"),
        ("[header]\ntime\n", "is not a VBOX log"),
        ("[data]\n1 2\n", "is not a VBOX log"),
        ("[header]\nsatellites\n[column names]\nsats\n[data]\n1\n", "has no channel 'time'"),
        ("[column names]\ntime time\n[data]\n1 2\n", "'time' appears twice"),
        ("[column names]\ntime a\n[data]\nx 2\n", "'time' is not a number in the form HHMMSS.SS"),
        ("[column names]\ntime a\n[data]\n", "'time' is not a number"),
        ("[column names]\ntime a\n[data]\n1 2 3\n4 5\n6\n7 8\n", "line 4: 3 values for 2 columns"),
    ],
)
def test_files_that_are_no_vbox_logs(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        written(tmp_path, text)
