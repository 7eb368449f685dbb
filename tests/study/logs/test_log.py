"""Reading logs: tables of other programs, names, units, and what is wrong with them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from mcap.writer import Writer
from pyarrow import parquet

import skidpad as sp
from skidpad.study.identify.replay import over_steps
from skidpad.study.logs import Log, read_log
from skidpad.study.logs.bags import Gathering
from skidpad.study.logs.log import Channel, unread_notes
from skidpad.study.logs.preparation import STEPS, prepare
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import MODEL, drive, noisy

GEARED = autoware(MODEL, wheel_base=2.79).model


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    return drive(steps=60)


def test_a_saved_trajectory_is_a_log_in_either_format(run: sp.Trajectory, tmp_path: Path) -> None:
    run.to_parquet(tmp_path / "run.parquet")
    run.to_csv(tmp_path / "run.csv")
    for source in (run, tmp_path / "run.parquet", tmp_path / "run.csv"):
        found = read_log(source)
        np.testing.assert_allclose(found["u_steer"].t, run.t, rtol=1e-12)
        for name in ("u_steer", "out_steer", "a_stop"):
            np.testing.assert_array_equal(found[name].values, run[name])


def test_a_table_of_another_program(tmp_path: Path) -> None:
    rows = [f"{k * 0.1},{k},{k % 3},{k / 10},text" for k in range(12)]
    text = "\n".join(["stamp,a_cmd,delta_cmd [rad],speed [m/s],who", *rows])
    (tmp_path / "log.csv").write_text(text + "\n", encoding="utf-8-sig")
    names = {"stamp": "t", "a_cmd": "u_acceleration", "delta_cmd": "u_steer", "speed": "v_x"}
    log = read_log(tmp_path / "log.csv", names)
    assert set(log.channels) == {"u_acceleration", "u_steer", "v_x"}
    assert log.unread == {"who": "line 2 has 'text', which is no number"}
    row = [log[name].values[4] for name in ("u_acceleration", "u_steer", "v_x")]
    assert row == [4.0, 1.0, 0.4]


def test_names_may_be_swapped(run: sp.Trajectory) -> None:
    log = read_log(run, {"u_steer": "steer", "steer": "u_steer"})
    assert log.channels["steer"].values is run["u_steer"]
    assert log.channels["u_steer"].values is run["steer"]


def test_times_of_a_clock_become_seconds(tmp_path: Path) -> None:
    ticks = 1_700_000_000_000_000_000 + 20_000_000 * np.arange(15)
    table = {
        "t": arrow.array(ticks, arrow.timestamp("ns")),
        "acceleration": np.ones(15),
        "u_steer": np.zeros(15, np.float32),
        "v_x": np.arange(15),
        "brand": ["x"] * 15,
    }
    parquet.write_table(arrow.table(table), tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet")
    assert log.unread == {"brand": "it holds string, not numbers"}
    np.testing.assert_allclose(log["v_x"].t, 0.02 * np.arange(15), atol=1e-9)


def with_holes(run: sp.Trajectory, folder: Path, kind: str) -> Path:
    """A drive without the values of rows 5 and 6 of a command and row 9 of a channel."""
    columns = noisy(run)
    holes = {"u_steer": (5, 6), "omega": (9,)}
    names = list(columns)
    rows = [
        [None if k in holes.get(n, ()) else float(columns[n][k]) for n in names]
        for k in range(len(columns["t"]))
    ]
    path = folder / f"log.{kind}"
    if kind == "csv":
        lines = [",".join("" if v is None else repr(v) for v in row) for row in rows]
        path.write_text("\n".join([",".join(names), *lines]) + "\n")
    elif kind == "parquet":
        cells = zip(names, zip(*rows, strict=True), strict=True)
        parquet.write_table(arrow.table(dict(cells)), path)
    else:
        with path.open("wb") as file:
            writer = Writer(file)
            writer.start()
            channel = writer.register_channel("/car", "json", 0)
            for row in rows:
                ns = round(1e9 * (row[0] or 0.0))
                data = json.dumps(dict(zip(names, row, strict=True))).encode()
                writer.add_message(channel, ns, data, ns)
            writer.finish()
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "mcap"])
def test_a_column_with_an_empty_cell_stays_and_the_hole_is_said(
    run: sp.Trajectory, tmp_path: Path, kind: str
) -> None:
    """Of every kind of file: a command is held, a measurement is linear in between."""
    columns = noisy(run)
    names = {f"/car.{n}": n for n in columns if n != "t"} if kind == "mcap" else {}
    log = read_log(with_holes(run, tmp_path, kind), names)
    assert np.isnan(log.channels["u_steer"].values[5:7]).all()
    steer = log.channels["u_steer"].values
    kept = [k for k in range(len(steer)) if k not in (5, 6)]
    np.testing.assert_array_equal(steer[kept], columns["u_steer"][kept])
    without = [name for name in STEPS if name not in ("stamps", "gaps")]
    found = prepare(log, without=without)
    assert over_steps(found.commands["u_steer"], found.t[4:8]).tolist() == [steer[4]] * 3
    between = 0.5 * (columns["omega"][8] + columns["omega"][10])
    assert found["omega"][9] == pytest.approx(between, rel=1e-6)
    lines = {line.channel: line.text for line in found.lines if line.step == "gaps"}
    assert "2 of" in lines["u_steer"]
    assert "1 of" in lines["omega"]


@pytest.mark.parametrize("cell", ["", " ", "NaN", "NA", "N/A", "null"])
def test_what_stands_for_no_value_is_none(tmp_path: Path, cell: str) -> None:
    rows = [f"{k},{cell if k == 3 else k},{cell},{'err' if k == 7 else k}" for k in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["t,v_x,omega,yaw", *rows]) + "\n")
    log = read_log(tmp_path / "a.csv")
    assert np.flatnonzero(np.isnan(log.channels["v_x"].values)).tolist() == [3]
    assert log.unread == {
        "omega": "it has no value in any sample",
        "yaw": "line 9 has 'err', which is no number",
    }


def test_a_minus_sign_reverses_a_column(run: sp.Trajectory) -> None:
    log = read_log(run, {"omega": "-omega"})
    np.testing.assert_array_equal(log.channels["omega"].values, -run["omega"])
    with pytest.raises(sp.InvalidValue, match="both to be 'omega'"):
        read_log(run, {"steer": "-omega", "yaw": "omega"})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "t,a\n1,2\n3\n4,5\n", "line 3: 1 values for 2 columns"),
        ("a.csv", "t,a,a\n1,2,3\n", "'a' appears twice"),
        ("a.csv", "zeit,a\n1,2\n", r"no column 't' .* It has zeit, a; .*--map COLUMN=t"),
        ("a.csv", "t,a\nnoon,2\n", "line 2 has 'noon'"),
        ("a.parquet", "t,a\n1,2\n", "not a readable Parquet file"),
        ("a.mcap", "t,a\n1,2\n", "not an MCAP file"),
        ("a.xlsx", "t", r"a log must be a \.csv, .*, \.parquet, .* file, or the folder"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(sp.InvalidValue, match=message):
        read_log(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("a.csv", "a.parquet", "a.mcap"):
        with pytest.raises(sp.InvalidValue, match="cannot be read"):
            read_log(tmp_path / name)


def test_names_are_checked(run: sp.Trajectory) -> None:
    with pytest.raises(sp.InvalidValue, match="no column 'u_ster'; did you mean 'u_steer'"):
        read_log(run, {"u_ster": "steer"})
    with pytest.raises(sp.InvalidValue, match="both to be 'steer'"):
        read_log(run, {"u_steer": "steer", "out_steer": "steer"})


def test_messages_that_were_lost_are_noted_where_their_topic_is_used() -> None:
    gathering = Gathering()
    t = np.arange(20.0)
    for k in range(3):
        gathering.refuse("/car", f"a message is malformed: reason {k}")
    log = Log("bag", {"/car.v": Channel(t, t), "/car.w": Channel(t, np.nan * t)}, gathering.unread)
    named = read_log(log, {"/car.v": "v_x"})
    assert unread_notes(named, ["v_x", "yaw"]) == [
        "v_x: a part of it could not be read: a message is malformed: reason 0, and 2 others"
    ]
    with pytest.raises(sp.InvalidValue, match=r"/car\.w cannot be used: it has no value"):
        read_log(log, {"/car.w": "yaw"})


def test_the_sheet_says_early_or_late_and_shows_digits_that_differ() -> None:
    from rich.console import Console

    from skidpad.cli.identify_sheets import log_sheet

    t = 0.01 * np.arange(3000)
    rng = np.random.default_rng(0)
    speed = 20.0 + 3.0 * np.sin(0.4 * t) + np.sin(1.9 * t)
    a_x = np.gradient(speed, t) + 0.05 * rng.normal(size=len(t))
    early = np.interp(t + 0.1, t, speed) + 0.02 * rng.normal(size=len(t))
    latitude = 48.2 + 1e-5 * t
    values = {"v_x": early, "a_x": a_x, "omega": 0.001 * rng.normal(size=len(t))}
    log = Log("drive", {k: Channel(t, v) for k, v in {**values, "latitude": latitude}.items()})
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(log_sheet(log, prepare(log), ""))
    text = console.export_text()
    assert re.search(r"v_x: 0\.\d+ s \(0\.\d+ to 0\.\d+ s\) early", text)
    low, high = re.findall(r"48\.\d+", next(x for x in text.splitlines() if "latitude" in x))
    assert float(low) < float(high)
