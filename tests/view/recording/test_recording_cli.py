"""`skidpad info` and `skidpad recover`."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import skidpad.cli.recordings
from skidpad import __version__
from skidpad.cli import main
from skidpad.view.recording import Recorder, info, read, recorder
from skidpad.view.recording.mcap import open_mcap
from view.recording.stages import full_stage, some_rows

assert skidpad.cli.recordings


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(recorder, "CHUNK_SIZE", 40_000)
    stage = full_stage()
    with Recorder(tmp_path / "run.mcap", stage, meta={"seed": 7}) as writer:
        writer.add_rows(np.arange(201) / 100.0, some_rows(stage, 201))
        writer.add_scan(0, 1.0, np.zeros(5))
    return tmp_path / "run.mcap"


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == code
    output = capsys.readouterr()
    return " ".join((output.err if code else output.out).split())


def test_info_says_what_is_inside(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "info", str(path))
    for part in (
        "recording everything",
        "duration 2 s, from 0 to 2 s",
        "samples 201 of 24 numbers",
        f"written by skidpad {__version__}, format 1",
        "state complete",
        "2 vehicle four wheel 9 car, world",
        "1 5 20 m car/front lidar",
        "2 foxglove.PoseInFrame 402 100 Hz /car/pose, /world_2/pose",
        "seed 7",
    ):
        assert part in text


def test_info_lists_every_topic(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "info", str(path), "--topics")
    for topic in info(path).topics:
        assert topic.name in text


def test_a_torn_file_is_told_and_mended(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_bytes(path.read_bytes()[:-30_000])
    text = said(capsys, "info", str(path))
    assert "state cut off" in text
    assert "skidpad recover" in text
    samples = read(path).times.size
    text = said(capsys, "recover", str(path))
    assert f"run.recovered.mcap: {samples} samples" in text
    assert "left out: 0 damaged chunks, " in text
    mended = path.with_suffix(".recovered.mcap")
    assert "state complete" in said(capsys, "info", str(mended))
    other = path.with_name("other.mcap")
    assert "was complete" in said(capsys, "recover", str(mended), str(other))
    assert read(other).times.size == samples


def _spoil(path: Path, count: int) -> None:
    """Bytes inside of the first chunks are overwritten."""
    data = bytearray(path.read_bytes())
    with open_mcap(path) as contents:
        chunks = contents.chunks[:count]
    for chunk in chunks:
        data[chunk.end - 100 : chunk.end - 90] = bytes(10)
    path.write_bytes(data)


def test_a_damaged_chunk_is_told(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chunks = info(path).chunks
    _spoil(path, 1)
    text = said(capsys, "info", str(path))
    assert f"state damaged: 1 of {chunks} chunks not what was written" in text
    assert "skidpad recover keeps the rest" in text
    said(capsys, "recover", str(path))
    mended = info(path.with_suffix(".recovered.mcap"))
    assert (mended.complete, mended.chunks) == (True, chunks - 1)
    assert info(path).samples == mended.samples < 201


def test_a_file_of_which_nothing_is_whole(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_mcap(path) as contents:
        begin = contents.chunks[0].offset
    torn = path.with_name("torn.mcap")
    torn.write_bytes(path.read_bytes()[: begin + 50])
    _spoil(path, 1000)
    files = sorted(path.parent.iterdir())
    for file in (path, torn):
        text = said(capsys, "info", str(file))
        assert "nothing can be saved" in text
        assert "skidpad recover" not in text
        assert f"error: nothing of {file} can be saved" in said(
            capsys, "recover", str(file), code=1
        )
    assert sorted(path.parent.iterdir()) == files


def test_info_of_what_is_not_compressed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As pages that drive write it."""
    assert "kB of messages before zstd written by" in said(capsys, "info", str(path))
    with open_mcap(path) as contents:
        first = contents.chunks[0]
        messages = contents.messages(first).tobytes()
    content = struct.pack("<QQQI", first.start_time, first.end_time, len(messages), 0)
    content += struct.pack("<IQ", 0, len(messages)) + messages
    record = struct.pack("<BQ", 6, len(content)) + content
    path.write_bytes(path.read_bytes()[: first.offset] + record)
    assert "kB, not compressed written by" in said(capsys, "info", str(path))


def test_what_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of the kind")
    for command in ("info", "recover"):
        text = said(capsys, command, str(path), code=2)
        assert text.startswith("error:")
        assert "notes.txt is not a recording: it is not an MCAP file" in text
