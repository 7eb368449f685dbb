"""MCAP files that the format's own Python library wrote; see tests/data/identify."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.logs import read_log

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
    assert set(log.channels) == set(wanted)
    for key, (offset, values) in wanted.items():
        series = log.channels[key]
        np.testing.assert_array_equal(series.values, values)
        np.testing.assert_allclose(series.t, 0.025 * np.arange(len(values)) + offset, atol=1e-12)
    # Its messages are zeros, of which the first string has no end.
    assert log.unread.keys() == {"/odometry"}
    assert "header.frame_id does not end" in log.unread["/odometry"]


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
    for name, series in read_log(DATA / FILES[0]).channels.items():
        np.testing.assert_array_equal(read_log(cut).channels[name].values, series.values)
    cut.write_bytes(whole[: whole.index(data_end) - 1])
    with pytest.raises(sp.InvalidValue, match="is damaged"):
        read_log(cut)


def test_a_file_with_other_bytes_in_a_chunk_is_refused(tmp_path: Path) -> None:
    broken = bytearray((DATA / "drive_zstd.mcap").read_bytes())
    broken[400:500] = bytes(100)
    (tmp_path / "a.mcap").write_bytes(broken)
    with pytest.raises(sp.InvalidValue, match="is damaged"):
        read_log(tmp_path / "a.mcap")
