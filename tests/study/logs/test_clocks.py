"""Several clocks in one table, and several files of one drive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.logs import Channel, Log, read_log
from study.logs.faulty_logs import log_of, noisy, truth

FAST = 0.01 * np.arange(800)
"""Times at which a camera sends positions, and the logger writes a row."""
SLOW = 0.1 * np.arange(79)
"""Times at which a sensor measures; its values arrive 3 to 11 ms later."""
ZERO = 1_700_000_000.25


def wave(t: np.ndarray) -> np.ndarray:
    return np.sin(1.3 * t) + 0.1 * t


def two_clocks(folder: Path, heading: str = "sensor time,speed,camera time,x,never") -> Path:
    rng = np.random.default_rng(4)
    arrivals = SLOW + rng.uniform(0.003, 0.011, len(SLOW))
    rows: list[str] = []
    for t in FAST:
        k = int(np.searchsorted(arrivals, t, side="right")) - 1
        stamp, value = (SLOW[k] + 40.0, wave(SLOW)[k]) if k >= 0 else (0.0, 0.0)
        row = map(float, (stamp, value, ZERO + t, np.cos(t), 0.0))
        rows.append(",".join(map(repr, row)))
    path = folder / "log.csv"
    path.write_text("\n".join([heading, *rows]) + "\n")
    return path


def test_values_that_repeat_with_their_stamp_have_its_times(tmp_path: Path) -> None:
    log = read_log(two_clocks(tmp_path))
    assert len(log["x"].t) == len(log["never"].t) == len(FAST)
    np.testing.assert_allclose(log["x"].t, FAST, atol=1e-6)
    speed = log["speed"]
    # All stamps, without the rows before the first; late by the soonest arrival in a row.
    assert len(speed.t) == len(SLOW)
    late = speed.t - SLOW
    np.testing.assert_allclose(late, late[0], atol=1e-6)
    assert 0.0 <= late[0] <= 0.021
    np.testing.assert_array_equal(speed.values, wave(SLOW))
    assert any("speed: timed by 'sensor time', with which" in note for note in log.notes)


def test_the_caller_may_choose_the_slower_clock(tmp_path: Path) -> None:
    log = read_log(two_clocks(tmp_path), {"sensor time": "t"})
    np.testing.assert_allclose(log["speed"].t, SLOW + 40.0, atol=1e-9)
    assert log["x"].t[0] == pytest.approx(40.0, abs=0.021)
    np.testing.assert_allclose(np.diff(log["x"].t), 0.01, atol=1e-6)


def test_seconds_and_nanoseconds_are_one_time(tmp_path: Path) -> None:
    ns = 1_650_776_486_941_418_311 + np.arange(50) * 20_000_001
    lines = [f"{n // 10**9},{n % 10**9},{k}" for k, n in enumerate(ns.tolist())]
    (tmp_path / "log.csv").write_text("\n".join(["s,ns,v", *lines]) + "\n")
    log = read_log(tmp_path / "log.csv")
    assert log.start is not None
    exact = (ns - ns[0]) * 1e-9
    np.testing.assert_allclose(log["v"].t - log["v"].t[0], exact, atol=1e-12)
    assert log.start + log["v"].t[0] == pytest.approx(ns[0] * 1e-9, abs=1e-6)
    assert read_log(tmp_path / "log.csv", {"s": "t"})["v"].t.tolist() == log["v"].t.tolist()


def part(folder: Path, name: str, begin: float, **columns: np.ndarray) -> Path:
    t = begin + np.arange(len(next(iter(columns.values())))) * 0.05
    table = np.column_stack([t, *columns.values()])
    lines = [",".join(map(repr, row)) for row in table.tolist()]
    (folder / name).write_text("\n".join([",".join(["t", *columns]), *lines]) + "\n")
    return folder / name


def test_files_of_one_drive_become_one_log(tmp_path: Path) -> None:
    n = np.arange(100.0)
    one = part(tmp_path, "imu.csv", ZERO, gyro_z=np.sin(n), wx=n, temp=n)
    other = part(tmp_path, "odom.csv", ZERO + 0.5, vx=5.0 + np.cos(n), wx=-n)
    log = read_log([one, other])
    assert log.start == ZERO
    assert log["omega"].t[0] == 0.0
    assert log["v_x"].t[0] == pytest.approx(0.5, abs=1e-6)
    assert {"imu.wx", "odom.wx", "temp"} <= log.channels.keys()
    assert any("in several logs, and called `log.name`: wx" in note for note in log.notes)
    named = read_log([one, other], {"odom.wx": "-roll_rate"})
    np.testing.assert_array_equal(named["roll_rate"].values, n)


def test_a_quantity_of_two_files_is_left_to_the_caller(tmp_path: Path) -> None:
    n = np.arange(100.0)
    files = [part(tmp_path, f"{k}.csv", 0.0, wz=np.sin(n + k), vx=n) for k in range(2)]
    log = read_log(files)
    assert "omega" not in log
    doubt = "0.wz and 1.wz may each be omega; say which one it is with --map 0.wz=omega"
    assert any(note.startswith(doubt) for note in log.notes)
    assert read_log(files, {"1.wz": "omega"})["omega"].values[0] == np.sin(1.0)


def test_files_without_a_common_time_are_refused(tmp_path: Path) -> None:
    n = np.arange(100.0)
    unix, own = part(tmp_path, "a.csv", ZERO, v=n), part(tmp_path, "b.csv", 3.0, w=n)
    late = part(tmp_path, "c.csv", ZERO + 50.0, w=n)
    with pytest.raises(InvalidValue, match=r"times of b\.csv have an unknown beginning"):
        read_log([unix, own])
    with pytest.raises(InvalidValue, match=r"a\.csv 0 to 4\.95 s, c\.csv 50 to 54\.95 s"):
        read_log([unix, late])
    with pytest.raises(InvalidValue, match="source is empty"):
        read_log([])
    joined = read_log([own, Log("more", {"z": Channel(n, n)})])
    assert joined["z"].t is n
    assert any("one clock" in note for note in joined.notes)


def test_a_trajectory_keeps_its_names() -> None:
    t = np.array([0.0, 0.1, 0.2])
    column = sp.run.trajectory_table.Column("speed_kmh", sp.units.Unit("m/s"), "state", t)
    log = read_log(sp.Trajectory(t, (column,), "run"))
    assert (log["speed_kmh"].unit, log.notes) == ("m/s", ())


def test_a_clock_that_is_set_back_runs_on(tmp_path: Path) -> None:
    t = 0.1 * np.arange(100)
    stamps = np.where(np.arange(100) < 60, t, t - 4.0)
    stamps[20] = 1.0  # a row out of order
    lines = [f"{stamp!r},{k}" for k, stamp in enumerate(stamps.tolist())]
    (tmp_path / "log.csv").write_text("\n".join(["time,v", *lines]) + "\n")
    log = read_log(tmp_path / "log.csv")
    assert log["v"].values.tolist() == [k for k in range(100) if k != 20]
    np.testing.assert_allclose(log["v"].t, np.delete(t, 20), atol=1e-9)
    assert log.notes == (
        "time: set back by 4 s at 5.9 s; it continues",
        "time: 1 row out of order or repeated left out",
    )


def two_files(later: float, *, reverse: bool = False) -> list[Log]:
    """A drive by inertial sensors, and by positions at 10 Hz with a clock of their own."""
    columns = noisy(without=("x", "y", "yaw", "v_y"))
    columns["sideslip"] = np.arctan2(truth()["v_y"], truth()["v_x"])
    t = truth()["t"][3::10]
    path = {axis: Channel(t + later, noisy()[axis][3::10], "m") for axis in ("x", "y")}
    logs = [log_of(columns), Log("gnss.csv", path)]
    return logs[::-1] if reverse else logs


@pytest.mark.parametrize("reverse", [False, True])
def test_the_offset_of_two_clocks_is_found_by_the_motion(reverse: bool) -> None:
    log = read_log(two_files(812.4, reverse=reverse))
    (note,) = [note for note in log.notes if "since its clock is not" in note]
    low, high = map(float, note.split("(")[1].split(" s)")[0].split(" to "))
    offset = 812.4 if reverse else -812.4
    assert low < offset < high < low + 0.05
    assert log["x"].t[0] - log["omega"].t[0] == pytest.approx(0.03, abs=0.02)


def test_clocks_of_other_drives_are_refused_with_the_remedy() -> None:
    logs = two_files(812.4)
    other = logs[1].channels["x"]
    rng = np.random.default_rng(0)
    path = {"x": other._replace(values=np.cumsum(1.0 + 0.3 * rng.normal(size=len(other.t)))),
            "y": other._replace(values=np.cumsum(0.3 * rng.normal(size=len(other.t))))}  # fmt: skip
    with pytest.raises(InvalidValue, match=r"no time in common.*gnss\.csv@SECONDS"):
        read_log([logs[0], Log("gnss.csv", path)])


def test_the_caller_may_give_the_offset_of_a_file(tmp_path: Path) -> None:
    for name, begin in (("imu", 0.0), ("gnss", 500.0)):
        rows = [f"{begin + 0.1 * k},{k}" for k in range(20)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"t,{name}", *rows]) + "\n")
    log = read_log([tmp_path / "imu.csv", f"{tmp_path}/gnss.csv@-499.75"])
    assert log["gnss"].t[0] == pytest.approx(0.25)
    assert log.name == "imu.csv + gnss.csv"
    alone = read_log(f"{tmp_path}/gnss.csv@2e1")
    assert alone["gnss"].t[0] == pytest.approx(520.0)
