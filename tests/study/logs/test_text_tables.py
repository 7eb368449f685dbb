"""Text tables of many loggers: delimiters, headings, units, damaged rows, and times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from skidpad.errors import InvalidValue
from skidpad.study.logs import Log, read_log

T = 0.02 * np.arange(120)
V = 20.0 + np.sin(T)
STEER = 0.1 * np.sin(3.0 * T)


def written(folder: Path, text: str, encoding: str = "utf-8", name: str = "log.csv") -> Log:
    (folder / name).write_bytes(text.encode(encoding))
    return read_log(folder / name)


def rows(delimiter: str, comma: bool = False, quote: str = "", end: str = "\n") -> str:
    def cell(value: float) -> str:
        text = repr(float(value))
        return quote + (text.replace(".", ",") if comma else text) + quote

    lines = (delimiter.join(map(cell, row)) for row in zip(T, 3.6 * V, STEER, strict=True))
    return "".join(line + end for line in lines)


def check(log: Log, names: tuple[str, str] = ("v_x", "steer")) -> None:
    for name, values in zip(names, (V, STEER), strict=True):
        np.testing.assert_allclose(log[name].values, values, rtol=1e-12)
        np.testing.assert_allclose(log[name].t, T, atol=1e-12)
    assert log[names[0]].unit == "m/s"


MOTEC = (
    '"Format","MoTeC CSV File",,,"Workbook",""\n"Venue","here",,,"Worksheet",""\n'
    '"Log Date","05.12.2018",,,"Origin Time","0.000","s"\n'
    '"Sample Rate","50.000","Hz",,"End Time","2.38","s"\n"Range","Lap 1"\n\n\n'
    '"Time","vx","steer"\n"s","km/h","rad"\n\n\n'
)
AIM = (
    'Format,AiM CSV File\nSession,Test\nDate,"Monday, May 5, 2025"\nTime,10:00 AM\n'
    "Sample Rate,50\nBeacon Markers,61.1,122.0\n\nTime,vx,steer\ns,km/h,rad\n\n"
)
RACECHRONO = (
    "This file is created using RaceChrono Pro v9.1.3 ( http://racechrono.com/ ).\nFormat,3\n"
    'Session title,"T"\nCreated,31/12/2025,02:54\nNote,\n\n'
    "elapsed_time,vx,steer\ns,km/h,rad\n,100: gps,calc\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "t,v_x [km/h],steer\n" + rows(","),
        "t,v_x (km/h),steer (rad)\n" + rows(","),
        "t,v_x_kmh,steer\n" + rows(","),
        "t,v_x [km/h],steer\r\n" + rows(",", end="\r\n"),
        "t;v_x [km/h];steer\n" + rows(";", comma=True),
        '"t","v_x [km/h]","steer"\n' + rows(",", comma=True, quote='"'),
        "t\tv_x [km/h]\tsteer\n" + rows("\t"),
        "t v_x_kmh steer\n" + rows(" "),
        "# t v_x_kmh steer\n" + rows(" "),
        "# a drive\n# of a car\n# t,v_x [km/h],steer\n" + rows(","),
        "t,v_x [km/h],steer,\n" + rows(",", end=",\n"),
        "t,v_x [km/h],steer\n" + rows(",", end=",\n"),
        MOTEC + rows(",", quote='"'),
        AIM + rows(","),
        RACECHRONO + rows(","),
    ],
)
def test_a_table_of_any_logger_is_the_same_log(text: str, tmp_path: Path) -> None:
    log = written(tmp_path, text)
    check(log)
    (note,) = (note for note in log.notes if note.startswith("v_x: "))
    assert note.endswith("converted from km/h to m/s")
    assert not log.unread


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_of_other_systems(encoding: str, tmp_path: Path) -> None:
    heading = "t,v_x [km/h],steer,Öl [°/s²]\n"
    text = heading + rows(",", end=",90\n")
    log = written(tmp_path, text, encoding)
    check(log)
    assert (log["Öl"].values == 0.5 * np.pi).all()
    assert log["Öl"].unit == "rad/s²"
    assert log["Öl"].source == "Öl [°/s²]"


def test_names_that_repeat_are_told_apart_by_the_line_below(tmp_path: Path) -> None:
    head = "elapsed_time,speed,speed\ns,m/s,km/h\n,100: gps,calc\n"
    log = written(tmp_path, head + rows(","))
    assert {"speed (100: gps)", "speed (calc)"} <= log.channels.keys() | {"x"}
    with pytest.raises(InvalidValue, match="'speed' appears twice"):
        written(tmp_path, "t,speed,speed\n" + rows(","))


def test_rows_cut_off_or_damaged_are_left_out_with_a_note(tmp_path: Path) -> None:
    lines = rows(",").splitlines()
    lines[60] = lines[60] + ",1"
    log = written(tmp_path, "\n".join(["t,v_x_kmh,steer", *lines, "2.4,71"]))
    assert len(log["v_x"].t) == len(T) - 1
    assert 60 * 0.02 not in np.round(log["v_x"].t, 6)
    assert log.notes[:2] == (
        "the last line, 122, was cut off (2 of 3 cells) and left out",
        "1 row with a wrong number of cells left out, the first in line 62",
    )
    for k in range(1, 60, 7):
        lines[k] = "1"
    with pytest.raises(InvalidValue, match=r"line 3: 1 values for 3 columns, and so are 9 other"):
        written(tmp_path, "\n".join(["t,v_x_kmh,steer", *lines]))


def test_a_few_texts_in_a_column_are_left_empty(tmp_path: Path) -> None:
    lines = rows(",").splitlines()
    lines[7] = "0.14,ERR,0.1"
    lines[9] = "0.18,,"
    log = written(tmp_path, "\n".join(["t,v_x_kmh,steer", *lines]))
    assert np.flatnonzero(np.isnan(log["v_x"].values)).tolist() == [7, 9]
    assert len(log["v_x"].t) == len(T)
    assert "line 9 has 'ERR', which is no number; left empty" in log.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("1,2\n3,4\n", "has no heading: a line with the names of the 2 columns is expected above"),
        ("t,v\0\n1,2\n", "contains zero bytes"),
        ('t,v\n1,"2\n' + "x" * 200_000, "not CSV: field larger than field limit"),
    ],
)
def test_files_that_are_no_tables(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        written(tmp_path, text)


def times(cells: list[str], heading: str = "time", folder: Path = Path()) -> Log:
    lines = [f"{cell},{k % 7}" for k, cell in enumerate(cells)]
    return written(folder, "\n".join([f"{heading},v", *lines]) + "\n")


@pytest.mark.parametrize(
    ("heading", "cells", "note"),
    [
        ("time [ms]", [f"{1e3 * t:.0f}" for t in T], "converted from ms to s"),
        ("time_ms", [f"{1e3 * t:.0f}" for t in T], "converted from ms to s"),
        ("time", [f"{1e3 * t:.0f}" for t in T], "converted from ms to s, since rows 20 s apart"),
        ("t", [f"{1e6 * t:.0f}" for t in T], "converted from µs to s, since rows 2e+04 s apart"),
        ("t", [f"{1e9 * t:.0f}" for t in T], "converted from ns to s, since rows"),
        ("t", [f"{1.7e9 + t:.2f}" for t in T], "seconds since 2023-11-14 22:13:20.000 UTC"),
        ("t [ms]", [f"{1.7e12 + 1e3 * t:.0f}" for t in T], "seconds since 2023-11-14 22:13:20"),
        ("when", [f"2024-01-01T12:00:{t:05.2f}+01:00" for t in T], "since 2024-01-01 11:00:00"),
        ("t", [f"2024-01-01 11:00:{t:05.2f}" for t in T], "since 2024-01-01 11:00:00.000 UTC"),
    ],
)
def test_times_become_seconds(heading: str, cells: list[str], note: str, tmp_path: Path) -> None:
    log = times(cells, heading, tmp_path)
    np.testing.assert_allclose(log["v"].t, T, atol=1e-6)
    assert any(note in one for one in log.notes)
    if "since 20" in note:
        assert log.start == pytest.approx(1704106800.0 if "2024" in note else 1.7e9, abs=1e-6)


def test_clock_times_continue_over_midnight(tmp_path: Path) -> None:
    seconds = np.round(86399.0 + T, 2)
    cells = [
        f"{int(s % 86400) // 3600:02d}:{int(s) // 60 % 60:02d}:{s % 60:05.2f}" for s in seconds
    ]
    np.testing.assert_allclose(times(cells, folder=tmp_path)["v"].t, seconds, atol=1e-9)
    minutes = [f"{int(s) // 60}:{s % 60:05.2f}" for s in T]
    np.testing.assert_allclose(times(minutes, folder=tmp_path)["v"].t, T, atol=1e-9)


@pytest.mark.parametrize(
    ("heading", "period", "message"),
    [
        ("t", 700.0, r"the rows are 700 s apart, .* 't \[ms\]', is converted"),
        ("t [s]", 25.0, "the rows are 25 s apart"),
        ("t [m]", 0.1, "the time 't' is in m, which is not a unit of time"),
    ],
)
def test_times_that_cannot_be_those_of_a_drive(
    heading: str, period: float, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValue, match=message):
        times([f"{period * k}" for k in range(20)], heading, tmp_path)


def test_rows_with_one_time_keep_the_last_value_of_each_column(tmp_path: Path) -> None:
    text = "t,a,b\n0,1,\n0,,2\n0.1,3,4\n0.1,5,\n0.2,6,7\n"
    log = written(tmp_path, text)
    assert log["a"].t.tolist() == [0.0, 0.1, 0.2]
    assert log["a"].values.tolist() == [1.0, 5.0, 6.0]
    assert log["b"].values.tolist() == [2.0, 4.0, 7.0]
    assert any("2 rows of 5 with the same time 't'" in note for note in log.notes)


def test_a_missing_time_is_interpolated(tmp_path: Path) -> None:
    log = written(tmp_path, "t,a\n0,1\n,2\n0.2,3\n")
    np.testing.assert_allclose(log["a"].t, [0.0, 0.1, 0.2])
    assert log.notes == ("t: 1 missing time interpolated",)


def test_units_in_names_are_read_alike_in_text_and_parquet(tmp_path: Path) -> None:
    columns = {
        "Time [ms]": 20.0 * np.arange(100),
        "Vehicle Speed [km/h]": np.linspace(36.0, 72.0, 100),
        "Yaw Rate (deg/s)": np.linspace(1.0, 2.0, 100),
        "Throttle [%]": np.linspace(0.0, 42.7, 100),
        "sensor[1]": np.arange(100.0),
        "gain (rear)": np.arange(100.0),
    }
    table = np.column_stack(list(columns.values()))
    head = ",".join(columns)
    np.savetxt(tmp_path / "log.csv", table, "%.17g", delimiter=",", header=head, comments="")
    parquet.write_table(arrow.table(columns), tmp_path / "log.parquet")
    logs = [read_log(tmp_path / f"log.{suffix}") for suffix in ("csv", "parquet")]
    for log in logs:
        assert log["speed"].values[0] == pytest.approx(10.0)
        assert log["omega"].values[0] == pytest.approx(np.deg2rad(1.0))
        assert log["throttle"].values[-1] == pytest.approx(0.427)
        assert log["speed"].t[1] == pytest.approx(0.02)
        assert log["gain (rear)"].unit == ""
        for heading in ("Vehicle Speed", "Vehicle Speed [km/h]"):
            source = tmp_path / log.name
            mapped = read_log(source, {heading: "v_x"})
            assert mapped["v_x"].values[0] == pytest.approx(10.0)


def test_a_column_without_a_name_that_numbers_the_rows_is_left_out(tmp_path: Path) -> None:
    lines = [f"{k},{0.02 * k:g},{20 + k % 7}" for k in range(100)]
    log = written(tmp_path, "\n".join([",t,v_x", *lines]) + "\n")
    assert list(log.channels) == ["v_x"]
    assert any("numbers the rows, left out" in note for note in log.notes)
    lines = [f"{k % 3},{0.02 * k:g},{20 + k % 7}" for k in range(100)]
    log = written(tmp_path, "\n".join([",t,v_x", *lines]) + "\n")
    assert list(log.channels) == ["column 1", "v_x"]
