"""Recordings that fail, or whose process forks: what is lost is told, what was written stays."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.view.recording import Recorder, RecordingFailed, info, read, recorder, recover
from view.recording.stages import Array, full_stage, same_bits, small_stage, some_rows, surroundings
from waiting import PATIENCE

STAGE = full_stage()
COUNT = 400
ROWS, TIMES = some_rows(STAGE, COUNT), np.arange(COUNT) / 100.0


class FullDisk:
    """A file on a disk with room for so many bytes; the last write may be a part of one."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: Any) -> int:
        left = self._room - self._file.tell()
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data[:left])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def fill(path: Path, room: int) -> int:
    """Record to a disk that gets full; returns how many samples went in before it was told."""
    writer = Recorder(path, STAGE, meta={"seed": 1})
    writer._file._file = FullDisk(writer._file._file, room)  # type: ignore[assignment]
    for count, row in enumerate(ROWS):
        writer.add(count / 100.0, row)
        try:
            writer.flush()
        except RecordingFailed:
            with pytest.raises(
                RecordingFailed, match=r"cannot record to .*run.mcap: No space left"
            ):
                writer.add(1e3, row)
            with pytest.raises(RecordingFailed, match="No space left"):
                writer.close()
            return count
    raise AssertionError("the disk did not get full")


@pytest.mark.parametrize("room", [60_000, 61_234, 100_000])
def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path: Path, room: int) -> None:
    path = tmp_path / "run.mcap"
    count = fill(path, room)
    recording = read(path)
    assert recording.times.size == count > 5
    assert not recording.complete
    assert same_bits(recording.rows, ROWS[:count])
    assert path.stat().st_size <= room
    assert read(recover(path).path).times.size == count


def test_a_recording_that_failed_holds_no_view_of_its_buffers(tmp_path: Path) -> None:
    """From Python 3.13 on the end of a buffer that has views is an error on stderr."""
    writer = Recorder(tmp_path / "run.mcap", STAGE)
    writer._file._file = FullDisk(writer._file._file, 60_000)  # type: ignore[assignment]
    writer.add_rows(TIMES, ROWS)
    with pytest.raises(RecordingFailed) as failure:
        writer.flush()
    # The error stays, and with it the functions that it came through.
    assert failure.value.__cause__ is not None
    for buffer in (writer._buffer, writer._encoder._buffer):
        assert buffer.getvalue()
        buffer.close()  # BufferError while there is a view
    with pytest.raises(RecordingFailed):
        writer.close()


def test_a_recording_that_failed_says_what_is_lost(tmp_path: Path) -> None:
    """Here a chunk does not fit, and its summary would."""
    path = tmp_path / "run.mcap"
    writer = Recorder(path, STAGE, meta={"seed": 1})
    writer.add_rows(TIMES[:10], ROWS[:10])
    writer.flush()
    whole = writer._file._file
    writer._file._file = FullDisk(whole, whole.tell() + 120_000)  # type: ignore[assignment]
    writer.add_rows(TIMES[10:], ROWS[10:])
    with pytest.raises(RecordingFailed, match="No space left"):
        writer.close()
    writer.close()
    recording, contents = read(path), info(path)
    assert not recording.complete
    assert not contents.complete
    assert contents.lost == 0, "the file is whole"
    assert same_bits(recording.rows, ROWS[:10])
    assert recording.meta["seed"] == 1
    assert "No space left on device" in recording.meta["error"]
    assert recording.meta["lost_samples"] == {"count": COUNT - 10, "from": 0.1, "to": 3.99}


LIMITED = """
import resource, sys
import numpy as np
from view.recording.stages import full_stage
from skidpad.view.recording import Recorder, RecordingFailed
stage = full_stage()
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
rng = np.random.default_rng(1)
writer = Recorder(sys.argv[1], stage)
try:
    for k in range(100_000):
        writer.add(k / 100.0, rng.normal(size=len(stage.channels)))
        if k % 50 == 0:
            writer.flush()
except RecordingFailed as error:
    print(k, error)
"""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The system's own error, as a full disk gives it, without a disk that is full."""
    path = tmp_path / "run.mcap"
    said = subprocess.run(
        [sys.executable, "-c", LIMITED, path],
        check=True,
        env=surroundings(),
        capture_output=True,
        text=True,
    ).stdout
    told, reason = said.split(" ", 1)
    assert "cannot record to" in reason
    assert "File too large" in reason
    recording = read(path)
    assert not recording.complete
    assert 50 < recording.times.size <= int(told)


def test_what_computes_the_rows_may_fail(tmp_path: Path) -> None:
    def rows_of(rows: Array) -> Array:
        if rows[-1, 0] > 0.0:
            raise ArithmeticError("too large")
        return rows

    path = tmp_path / "run.mcap"
    writer = Recorder(path, small_stage(), rows_of=rows_of)
    writer.add(0.0, np.zeros(4))
    writer.flush()
    writer.add(1.0, np.ones(4))
    with pytest.raises(ArithmeticError, match="too large"):
        writer.flush()
    recording = read(path)
    assert recording.times.tolist() == [0.0]
    assert recording.meta["error"] == "ArithmeticError: too large"
    assert recording.meta["lost_samples"] == {"count": 1, "from": 1.0, "to": 1.0}
    assert not recording.complete
    with pytest.raises(ArithmeticError, match="too large"):
        writer.close()


FORKING = """
import os, sys
from view.recording.stages import small_stage
from skidpad.view.recording import Recorder
writer = Recorder(sys.argv[1], small_stage())
for k in range(100):
    writer.add(float(k), [k, k, k, k])
child = os.fork()
if child == 0:
    writer.add(1000.0, [1, 2, 3, 4])
    writer.add_rows([1001.0], [[1, 2, 3, 4]])
    writer.note(child=True)
    writer.flush()
    if sys.argv[2] == "close":
        writer.close()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
for k in range(100, 200):
    writer.add(float(k), [k, k, k, k])
writer.close()
"""


@pytest.mark.parametrize("how", ["close", "exit"])
def test_a_child_leaves_the_file_alone(tmp_path: Path, how: str) -> None:
    path = tmp_path / "run.mcap"
    command = [sys.executable, "-c", FORKING, path, how]
    subprocess.run(command, check=True, env=surroundings(), timeout=PATIENCE)
    recording = read(path)
    assert recording.complete
    assert recording.meta == {}
    assert recording.times.tolist() == [float(k) for k in range(200)]


def test_closing_may_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, may_write = tmp_path / "run.mcap", threading.Event()
    writer = Recorder(path, small_stage())
    write = writer._file._write

    def slow(*parts: Any) -> None:
        may_write.wait(PATIENCE)
        write(*parts)

    monkeypatch.setattr(writer._file, "_write", slow)
    writer.add(0.0, np.ones(4))
    raised: list[bool] = []

    def interrupt(_: int, frame: Any) -> None:
        """Once, and only inside of `close`, however late that begins."""
        while frame is not None and not raised:
            if frame.f_code is Recorder.close.__code__:
                raised.append(True)
                raise KeyboardInterrupt
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            writer.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    may_write.set()
    writer.close()
    recording = read(path)
    assert recording.complete
    assert recording.times.tolist() == [0.0]


def test_a_stage_too_large_to_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LARGEST_CHUNK", 1000)
    path = tmp_path / "run.mcap"
    with pytest.raises(ValueError, match=r"takes \d+ bytes; a recording takes at most 500"):
        Recorder(path, STAGE)
    assert not path.exists()
