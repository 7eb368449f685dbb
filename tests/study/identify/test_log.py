"""Reading logs: tables of other programs, names, units, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from mcap.writer import Writer
from pyarrow import parquet

import skidpad as sp
from skidpad.study.identify import Log, read_log
from skidpad.study.identify.bags import Gathering
from skidpad.study.identify.log import Series, unread_notes
from skidpad.study.identify.replay import Recording, recording
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import DT, MODEL, drive, log_of, noisy

GEARED = autoware(MODEL, wheel_base=2.79).model


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    return drive(steps=60)


def aligned(columns: dict[str, np.ndarray]) -> Recording:
    return recording(log_of(columns), GEARED)


def test_a_saved_trajectory_is_a_log_in_either_format(run: sp.Trajectory, tmp_path: Path) -> None:
    run.to_parquet(tmp_path / "run.parquet")
    run.to_csv(tmp_path / "run.csv")
    for source in (run, tmp_path / "run.parquet", tmp_path / "run.csv"):
        found = recording(read_log(source), GEARED)
        assert found.dt == pytest.approx(DT, rel=1e-12)
        assert found.notes == ()
        np.testing.assert_array_equal(found.commands[:, 1], run["u_steer"])
        np.testing.assert_array_equal(found.measured["steer"], run["out_steer"])
        np.testing.assert_array_equal(found.states["a_stop"], run["a_stop"])


def test_a_table_of_another_program(tmp_path: Path) -> None:
    rows = [f"{k * 0.1},{k},{k % 3},{k / 10},text" for k in range(12)]
    text = "\n".join(["stamp,a_cmd,delta_cmd [rad],speed [m/s],who", *rows])
    (tmp_path / "log.csv").write_text(text + "\n", encoding="utf-8-sig")
    names = {"stamp": "t", "a_cmd": "u_acceleration", "delta_cmd": "u_steer", "speed": "v_x"}
    log = read_log(tmp_path / "log.csv", names)
    assert set(log.series) == {"u_acceleration", "u_steer", "v_x"}
    assert log.unread == {"who": "line 2 has 'text', which is no number"}
    found = recording(log, GEARED)
    assert found.notes == ("not in the log, taken as the default: gear = 2",)
    assert found.commands[4].tolist() == [4.0, 1.0, 2.0]


def test_names_may_be_swapped(run: sp.Trajectory) -> None:
    log = read_log(run, {"u_steer": "steer", "steer": "u_steer"})
    assert log.series["steer"].values is run["u_steer"]
    assert log.series["u_steer"].values is run["steer"]


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
    found = recording(log, GEARED)
    assert (found.t0, found.dt) == (0.0, pytest.approx(0.02, rel=1e-9))


def test_uneven_times_hold_commands_and_interpolate_measurements(run: sp.Trajectory) -> None:
    t = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1])
    columns = {
        "t": t,
        "v_x": 2.0 * t,
        "yaw": np.mod(3.0 + t + np.pi, 2.0 * np.pi) - np.pi,
        "u_acceleration": np.floor(10.0 * t + 0.01),
        "u_steer": np.zeros(12),
    }
    found = aligned(columns)
    np.testing.assert_allclose(found.t, 0.1 * np.arange(12), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.measured["v_x"], 2.0 * found.t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.measured["yaw"], 3.0 + found.t, rtol=0, atol=1e-9)
    # At 0.5 s the command of 0.45 s is still held.
    assert found.commands[:7, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 6.0]


def test_jitter_and_gaps_are_reported(run: sp.Trajectory) -> None:
    columns = noisy(run)
    rng = np.random.default_rng(3)
    shaken = {**columns, "t": columns["t"] + rng.uniform(-0.008, 0.008, len(run))}
    (note,) = aligned(shaken).notes
    assert "jitter" in note
    assert "25" in note
    late = columns["t"].copy()
    late[30:] += 0.5
    found = aligned({**columns, "t": late})
    assert found.gaps == ((pytest.approx(29 * DT), pytest.approx(30 * DT + 0.5)),)
    assert "1 gap without samples, the longest of 0.525 s at t = 0.725 s" in found.notes[0]


def test_missing_columns_are_named_with_what_there_is(run: sp.Trajectory) -> None:
    columns = noisy(run)
    columns["acceleration_cmd"] = columns.pop("u_acceleration")
    del columns["v_x"]
    with pytest.raises(sp.InvalidValue) as caught:
        aligned(columns)
    text = str(caught.value)
    assert (
        "lacks columns that DELAY_STEER_ACC_GEARED needs: u_acceleration (command acceleration"
        in text
    )
    assert "v_x (velocity along the car, m/s)" in text
    assert "It has x, y, yaw, a_x, omega, steer, u_steer, u_gear, acceleration_cmd" in text
    assert "--map acceleration_cmd=u_acceleration" in text


def test_a_column_that_is_no_number_is_missing_with_the_reason(tmp_path: Path) -> None:
    rows = [f"{k},1,0,{'fast' if k == 3 else k}" for k in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["t,u_acceleration,u_steer,v_x", *rows]))
    with pytest.raises(sp.InvalidValue, match=r"v_x .* there, but line 5 has 'fast'"):
        recording(read_log(tmp_path / "a.csv"), GEARED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": lambda t: np.where(np.arange(len(t)) == 7, 0.0, t)}, "from row 6 .* to row 7"),
        ({"t": lambda t: np.where(np.arange(len(t)) == 7, np.nan, t)}, "time of row 7 is nan"),
        ({"omega": lambda v: np.where(np.arange(len(v)) > 5, np.inf, v)}, "omega is inf in row 6"),
        ({"u_gear": lambda v: v + 30.0}, r"u_gear = 32 at t = 0 s; it must be"),
    ],
)
def test_bad_values_are_named_with_their_place(
    run: sp.Trajectory, change: dict[str, object], message: str
) -> None:
    columns = noisy(run)
    for name, function in change.items():
        columns[name] = function(columns[name])  # type: ignore[operator]
    with pytest.raises(sp.InvalidValue, match=message):
        recording(read_log(log_of(columns)), GEARED)


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
    assert np.isnan(log.series["u_steer"].values[5:7]).all()
    found = recording(log, GEARED)
    steer = found.commands[:, 1]
    kept = [k for k in range(len(steer)) if k not in (5, 6)]
    np.testing.assert_array_equal(steer[kept], columns["u_steer"][kept])
    np.testing.assert_array_equal(steer[5:7], columns["u_steer"][4])
    between = 0.5 * (columns["omega"][8] + columns["omega"][10])
    assert found.measured["omega"][9] == pytest.approx(between, rel=1e-6)
    count, t = len(columns["t"]), columns["t"]
    assert [note for note in found.notes if "no value" in note] == [
        f"u_steer has no value in 2 of {count} samples, the first at t = {t[5]:.6g} s: the last "
        f"value is held, over {3 * DT:.3g} s at most",
        f"omega has no value in 1 of {count} samples, the first at t = {t[9]:.6g} s: interpolated, "
        f"over {2 * DT:.3g} s at most",
    ]


@pytest.mark.parametrize("cell", ["", " ", "NaN", "NA", "N/A", "null"])
def test_what_stands_for_no_value_is_none(tmp_path: Path, cell: str) -> None:
    rows = [f"{k},{cell if k == 3 else k},{cell},{'err' if k == 7 else k}" for k in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["t,v_x,omega,yaw", *rows]) + "\n")
    log = read_log(tmp_path / "a.csv")
    assert np.flatnonzero(np.isnan(log.series["v_x"].values)).tolist() == [3]
    assert log.unread == {
        "omega": "it has no value in any sample",
        "yaw": "line 9 has 'err', which is no number",
    }


def test_a_channel_that_cannot_be_read_is_noted(run: sp.Trajectory, tmp_path: Path) -> None:
    columns = {name: values for name, values in noisy(run).items() if name != "x"}
    rows = [
        [*map(repr, map(float, row)), "err" if k == 4 else "1"]
        for k, row in enumerate(zip(*columns.values(), strict=True))
        if k < 40
    ]
    head = ",".join([*columns, "x"])
    (tmp_path / "a.csv").write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    assert recording(read_log(tmp_path / "a.csv"), GEARED).notes[0] == (
        "x is in the log and not used: line 6 has 'err', which is no number"
    )


def test_a_minus_sign_reverses_a_column(run: sp.Trajectory) -> None:
    log = read_log(run, {"omega": "-omega"})
    np.testing.assert_array_equal(log.series["omega"].values, -run["omega"])
    with pytest.raises(sp.InvalidValue, match="both to be 'omega'"):
        read_log(run, {"steer": "-omega", "yaw": "omega"})


def test_few_rows_are_refused(run: sp.Trajectory) -> None:
    with pytest.raises(sp.InvalidValue, match="has 9 rows; at least 10 are needed"):
        aligned({name: values[:9] for name, values in noisy(run).items()})


def test_columns_without_common_times_are_refused(run: sp.Trajectory) -> None:
    log = log_of(noisy(run))
    late = log.series["v_x"]._replace(t=log.series["v_x"].t + 1.4)
    shifted = type(log)(log.name, {**log.series, "v_x": late})
    with pytest.raises(sp.InvalidValue, match=r"0\.1 s in common"):
        recording(shifted, GEARED)


def test_another_unit_is_refused(tmp_path: Path) -> None:
    rows = [f"{k},1,0,{k}" for k in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["t,u_acceleration,u_steer [deg],v_x", *rows]))
    with pytest.raises(sp.InvalidValue, match="u_steer is in deg; it must be in rad"):
        recording(read_log(tmp_path / "a.csv"), GEARED)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "t,a\n1,2\n3\n", "line 3: 1 values for 2 columns"),
        ("a.csv", "t,a,a\n1,2,3\n", "'a' appears twice"),
        ("a.csv", "time,a\n1,2\n", r"no column 't' .* It has time, a; .*--map time=t"),
        ("a.csv", "t,a\nnoon,2\n", "line 2 has 'noon'"),
        ("a.parquet", "t,a\n1,2\n", "not a readable Parquet file"),
        ("a.mcap", "t,a\n1,2\n", "not an MCAP file"),
        ("a.xlsx", "t", r"must be a \.parquet, \.csv, \.mcap or \.db3 file"),
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


@pytest.mark.parametrize(
    ("heading", "scale", "message"),
    [
        ("t [ms]", 1e3, "the time 't' is in ms"),
        ("t", 1e3, "is it in ms"),
        ("t", 1e6, "is it in ms"),
    ],
)
def test_times_in_ms_are_refused(
    run: sp.Trajectory, tmp_path: Path, heading: str, scale: float, message: str
) -> None:
    path = tmp_path / "log.csv"
    rows = zip(run.t * scale, run["u_steer"], run["v_x"], strict=True)
    lines = [",".join(map(repr, map(float, row))) for row in rows]
    path.write_text("\n".join([f"{heading},u_steer,v_x", *lines]) + "\n")
    with pytest.raises(sp.InvalidValue, match=message):
        read_log(path)


def test_messages_that_were_lost_are_noted_where_their_topic_is_used() -> None:
    gathering = Gathering()
    t = np.arange(20.0)
    for k in range(3):
        gathering.refuse("/car", f"a message is malformed: reason {k}")
    log = Log("bag", {"/car.v": Series(t, t), "/car.w": Series(t, np.nan * t)}, gathering.unread)
    named = read_log(log, {"/car.v": "v_x"})
    assert unread_notes(named, ["v_x", "yaw"]) == [
        "v_x: a part of it could not be read: a message is malformed: reason 0, and 2 others"
    ]
    with pytest.raises(sp.InvalidValue, match=r"/car\.w cannot be used: it has no value"):
        read_log(log, {"/car.w": "yaw"})
