"""MCAP files that the format's own Python library wrote; see tests/data/identify."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.identify import read_log
from skidpad.study.identify.replay import recording
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import MODEL

DATA = Path(__file__).parents[2] / "data" / "identify"
FILES = ("drive_plain.mcap", "drive_lz4.mcap", "drive_zstd.mcap")
K = np.arange(60)
"""Messages were numbered; every value and time follows from the number."""


@pytest.mark.parametrize("name", FILES)
def test_numbers_have_names_times_and_values(name: str) -> None:
    log = read_log(DATA / name)
    wanted = {
        "/command.longitudinal.acceleration": (0.0, K / 8),
        "/command.lateral.0": (0.0, K / 1024),
        "/command.ok": (0.0, np.ones(60)),
        "/speed.data": (0.003, 5 + K / 16),
        "/wheel.side": (0.001, np.ones(60)),
        "/wheel.angle": (0.001, K / 512),
        "/wheel.rate": (0.001, -K / 4),
        "/gear": (0.0, np.array([2.0])),
    }
    assert set(log.series) == set(wanted)
    for key, (offset, values) in wanted.items():
        series = log.series[key]
        np.testing.assert_array_equal(series.values, values)
        np.testing.assert_allclose(series.t, 0.025 * np.arange(len(values)) + offset, atol=1e-12)
    # Its messages are zeros, of which the first string has no end.
    assert log.unread.keys() == {"/odometry"}
    assert "header.frame_id does not end" in log.unread["/odometry"]


def test_topics_come_onto_one_grid() -> None:
    names = {
        "/command.longitudinal.acceleration": "u_acceleration",
        "/command.lateral.0": "u_steer",
        "/speed.data": "v_x",
        "/wheel.angle": "steer",
        "/gear": "u_gear",
    }
    model = autoware(MODEL, wheel_base=2.79).model
    found = recording(read_log(DATA / FILES[0], names), model)
    assert found.t0 == pytest.approx(0.003)
    np.testing.assert_allclose(found.measured["v_x"][:50], 5 + K[:50] / 16, atol=1e-9)
    # 3 ms after its message a command is held, and the wheel, reported 1 ms after it, moves on.
    np.testing.assert_array_equal(found.commands[:50, 0], K[:50] / 8)
    np.testing.assert_allclose(found.measured["steer"][:50], (K[:50] + 2 / 25) / 512, atol=1e-9)
    assert (found.commands[:, 2] == 2.0).all()


def test_missing_topics_are_told_with_the_unreadable_ones() -> None:
    with pytest.raises(sp.InvalidValue, match=r"/odometry: a message is malformed"):
        recording(read_log(DATA / FILES[0]), autoware(MODEL, wheel_base=2.79).model)


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_is_refused(name: str, tmp_path: Path) -> None:
    whole = (DATA / name).read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(sp.InvalidValue, match="is damaged"):
        read_log(cut)


def test_a_file_that_ends_behind_a_record_is_read(tmp_path: Path) -> None:
    """As a program that was killed leaves it: without the record of the end and what follows."""
    whole = (DATA / FILES[0]).read_bytes()
    data_end = b"\x0f" + (4).to_bytes(8, "little")
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole[: whole.index(data_end)])
    for name, series in read_log(DATA / FILES[0]).series.items():
        np.testing.assert_array_equal(read_log(cut).series[name].values, series.values)
    cut.write_bytes(whole[: whole.index(data_end) - 1])
    with pytest.raises(sp.InvalidValue, match="is damaged"):
        read_log(cut)


def test_a_file_with_other_bytes_in_a_chunk_is_refused(tmp_path: Path) -> None:
    broken = bytearray((DATA / "drive_zstd.mcap").read_bytes())
    broken[400:500] = bytes(100)
    (tmp_path / "a.mcap").write_bytes(broken)
    with pytest.raises(sp.InvalidValue, match="is damaged"):
        read_log(tmp_path / "a.mcap")
