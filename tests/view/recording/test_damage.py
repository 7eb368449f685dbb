"""Files whose bytes are not what was written, by accident or on purpose; and those of old."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from skidpad.errors import InvalidValue
from skidpad.view.recording import Recorder, info, read, recover
from skidpad.view.recording.mcap import open_mcap
from view.recording.stages import full_stage, same_bits, small_stage, some_rows, surroundings

OLD = Path(__file__).parents[2] / "data" / "recordings" / "format_1.mcap"
"""See the README beside it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path, stage = tmp_path / "run.mcap", full_stage()
    with Recorder(path, stage, meta={"seed": 1}) as writer:
        writer.add_rows(np.arange(50) / 10.0, some_rows(stage, 50))
        writer.add_scan(0, 1.0, np.zeros(5))
    return path


@pytest.mark.parametrize(
    ("written", "instead", "what"),
    [
        (b'"title":"everything"', b'"title":"everythong"', "skidpad.recording"),
        (b'"max_range":20.0', b'"max_range":90.0', "skidpad.recording"),
        (b'{"seed": 1}', b'{"seed": 7}', "skidpad.notes"),
    ],
)
def test_damaged_texts_are_noticed(path: Path, written: bytes, instead: bytes, what: str) -> None:
    data = path.read_bytes()
    assert data.count(written) == 1
    path.write_bytes(data.replace(written, instead))
    for call in (read, info):
        with pytest.raises(
            InvalidValue, match=f"run.mcap is damaged: {what} differs from what was"
        ):
            call(path)


def test_a_damaged_topic_is_taken_from_the_summary_or_noticed(path: Path) -> None:
    """Which lidar a topic is of: another number would be another lidar."""
    rows, data = read(path).rows, path.read_bytes()
    place = data.index(b"number\x01\x00\x00\x000")
    bad = data[: place + 10] + b"\x001"[1:] + data[place + 11 :]
    path.write_bytes(bad)
    assert same_bits(read(path).rows, rows)
    assert read(path).scans[0].index == 0
    with open_mcap(path) as contents:
        end = contents.chunks[-1].end
    path.write_bytes(bad[:end])
    with pytest.raises(InvalidValue, match="/car/front_lidar differs from what was written"):
        read(path)


def test_a_damaged_summary_is_a_file_that_was_not_closed(path: Path) -> None:
    whole, data = read(path), bytearray(path.read_bytes())
    data[-60] ^= 1
    path.write_bytes(data)
    recording = read(path)
    assert not recording.complete
    assert same_bits(recording.rows, whole.rows)
    assert read(recover(path).path).complete


def _with_chunk(path: Path, size: int, stored: bytes) -> None:
    """The file up to its first chunk, and a chunk that says that it holds so many bytes."""
    with open_mcap(path) as contents:
        begin = contents.chunks[0].offset
    content = struct.pack("<QQQI", 0, 0, size, 0) + struct.pack("<I4sQ", 4, b"zstd", len(stored))
    record = struct.pack("<BQ", 6, len(content) + len(stored)) + content + stored
    path.write_bytes(path.read_bytes()[:begin] + record)


def test_a_chunk_that_claims_too_much_is_not_unpacked(path: Path) -> None:
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=2 << 30)
    zeros = bytes(64 << 20)
    parts = [compressor.compress(zeros) for _ in range(32)]
    bomb = b"".join([*parts, compressor.flush()])
    assert len(bomb) < 1 << 20
    _with_chunk(path, 2 << 30, bomb)
    with pytest.raises(InvalidValue, match="claims to hold 2147483648 bytes; at most 536870912"):
        read(path)
    _with_chunk(path, 1000, bomb)
    with pytest.raises(InvalidValue, match="its number of bytes differs from the declared one"):
        read(path)
    with pytest.raises(InvalidValue, match="can be saved: 1 chunk of messages, none of them whole"):
        recover(path)
    assert not path.with_suffix(".recovered.mcap").exists()


@pytest.mark.parametrize("cut", [None, -500])
def test_recordings_of_the_first_format_are_read(tmp_path: Path, cut: int | None) -> None:
    path = tmp_path / "old.mcap"
    path.write_bytes(OLD.read_bytes()[:cut])
    recording, stage = read(path), full_stage()
    assert recording.complete == (cut is None)
    assert recording.stage == stage
    assert same_bits(recording.times, np.arange(40) / 32.0)
    wanted = np.arange(40)[:, None] + np.arange(len(stage.channels)) / 64.0
    assert same_bits(recording.rows, wanted)
    assert recording.meta == {"seed": 3, "why": "ä", "laps": 2}
    assert [scan.time for scan in recording.scans] == [0.0, 0.25, 0.5, 0.75, 1.0]
    np.testing.assert_array_equal(recording.scans[1].ranges, [8.0, 2.5, np.inf, -np.inf, np.nan])
    (log,) = recording.sensors
    assert (log.mount.name, log.mount.body) == ("unit", "world")
    assert log.values.tolist() == [[k + j for j in range(6)] for k in range(0, 40, 8)]
    assert info(path).samples == 40
    assert same_bits(read(recover(path).path).rows, wanted)


WITHOUT = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mcap", "zstandard", "lz4"):
            raise ImportError(name)


sys.meta_path.insert(0, Absent())
from view.recording.stages import small_stage
from skidpad.errors import MissingExtra
from skidpad.view.recording import Recorder, info, read, recover

for call in (lambda: Recorder(sys.argv[2], small_stage()), *(
    lambda f=f: f(sys.argv[1]) for f in (read, info, recover)
)):
    try:
        call()
    except MissingExtra as error:
        print(error)
"""


def test_without_the_packages_of_the_extra(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, path, tmp_path / "other.mcap"]
    said = subprocess.run(
        command, check=True, env=surroundings(), capture_output=True, text=True
    ).stdout.splitlines()
    assert len(said) == 4
    assert set(said) == {
        'a recording needs mcap, which is not installed: pip install "skidpad[recording]"'
    }
    assert not (tmp_path / "other.mcap").exists()


def test_a_recording_is_shown_in_a_line(path: Path, tmp_path: Path) -> None:
    assert repr(read(path)) == (
        f"Recording({str(path)!r}: 4 bodies, 50 samples from 0 to 4.9 s, complete)"
    )
    Recorder(tmp_path / "none.mcap", small_stage()).close()
    assert repr(read(tmp_path / "none.mcap")).endswith("none.mcap': 1 body, 0 samples, complete)")
    assert len(repr(info(path))) < 600


def test_a_chunk_that_is_not_one_any_more_is_missed(path: Path) -> None:
    """Its opcode says that it is something else, which others would pass over."""
    data = bytearray(path.read_bytes())
    with open_mcap(path) as contents:
        data[contents.chunks[0].offset] = 0x86
    path.write_bytes(data)
    recording = read(path)
    assert recording.times.size == 0
    assert not recording.complete
    with open_mcap(path) as contents:
        end = contents.end
    path.write_bytes(data[:end])
    assert read(path).times.size == 0
