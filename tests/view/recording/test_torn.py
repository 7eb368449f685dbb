"""Recordings that were cut off, damaged, or are none: what is whole is kept, the rest is said."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import NonSeekingReader, SeekingReader
from mcap.writer import Writer

from skidpad.errors import InvalidValue, SkidpadError
from skidpad.view import stage
from skidpad.view.recording import Recorder, RecordingFailed, info, read, recorder, recover
from skidpad.view.recording import mcap as file_contents
from view.recording.stages import full_stage, same_bits, small_stage, some_rows, surroundings

COUNT = 400
STAGE = full_stage()
ROWS, TIMES = some_rows(STAGE, COUNT), np.arange(COUNT) / 100.0


def whole(path: Path) -> Path:
    """A recording in several chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_SIZE", 40_000)
        with Recorder(path, STAGE, meta={"seed": 1}) as writer:
            writer.add_rows(TIMES, ROWS)
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole(tmp_path_factory.mktemp("torn") / "run.mcap")


def mcap_rows(path: Path) -> int:
    """Samples of the car that MCAP's own reader finds, both ways."""
    with path.open("rb") as file:
        indexed = list(SeekingReader(file, validate_crcs=True).iter_messages(["/car/state"]))
    with path.open("rb") as file:
        linear = list(NonSeekingReader(file, validate_crcs=True).iter_messages(["/car/state"]))
    assert len(indexed) == len(linear)
    return len(linear)


CHILD = """
import sys
import numpy as np
from view.recording.stages import full_stage
from skidpad.view.recording import Recorder, recorder
recorder.CHUNK_SIZE = 40_000
stage = full_stage()
writer = Recorder(sys.argv[1], stage)
k = 0
while True:
    writer.add(k / 100.0, np.full(len(stage.channels), float(k)))
    k += 1
    if k % 200 == 0:
        writer.flush()
        print(k, flush=True)
"""


def test_a_program_that_is_killed_leaves_all_but_its_last_chunk(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE, env=surroundings()
    ) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(3)]
        time.sleep(0.05)
        child.kill()
    recording = read(path)
    assert not recording.complete
    assert recording.times.size >= told[-1] == 600
    assert same_bits(recording.rows[:, 0].copy(), np.arange(recording.times.size, dtype=float))
    done = recover(path)
    assert done.path == tmp_path / "run.recovered.mcap"
    mended = read(done.path)
    assert mended.complete
    assert same_bits(mended.rows, recording.rows)
    assert mcap_rows(done.path) == recording.times.size


@given(st.integers(0, 10**9) | st.integers(0, 12_000))
def test_cut_off_anywhere(
    tmp_path_factory: pytest.TempPathFactory, source: Path, length: int
) -> None:
    data = source.read_bytes()
    length %= len(data)
    path = tmp_path_factory.mktemp("cut") / "run.mcap"
    path.write_bytes(data[:length])
    # Of the record behind the stage, nine bytes and the length of its name come before the name.
    if length < data.index(b"skidpad.notes") - 9 - 4:
        for call in (read, info, recover):
            with pytest.raises(InvalidValue, match=r"run\.mcap"):
                call(path)
        return
    recording = read(path)
    count = recording.times.size
    assert not recording.complete
    assert same_bits(recording.rows, ROWS[:count])
    assert info(path).samples == count
    if not info(path).chunks:
        with pytest.raises(InvalidValue, match=r"nothing of .*run\.mcap can be saved"):
            recover(path)
        return
    mended = read(recover(path).path)
    assert mended.complete
    assert same_bits(mended.rows, ROWS[:count])
    assert mcap_rows(path.with_suffix(".recovered.mcap")) == count


def test_only_what_was_not_whole_is_missing(tmp_path: Path, source: Path) -> None:
    path, data = tmp_path / "run.mcap", source.read_bytes()
    path.write_bytes(data)
    with file_contents.open_mcap(path) as contents:
        ends = [chunk.end for chunk in contents.chunks]
    assert len(ends) > 5
    for k, end in enumerate(ends):
        counts = [_samples(path, data[:length]) for length in (end - 1, end, end + 20)]
        assert counts[1] == counts[2] > counts[0]
        assert (counts[0] == 0) == (k == 0)


def _samples(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    count = read(path).times.size
    assert info(path).samples == count
    return count


def test_a_damaged_chunk_is_told_and_left_out(tmp_path: Path, source: Path) -> None:
    path, data = tmp_path / "run.mcap", source.read_bytes()
    path.write_bytes(data)
    with file_contents.open_mcap(path) as contents:
        chunk = contents.chunks[2]
    bad = bytearray(data)
    bad[(chunk.offset + chunk.end) // 2] ^= 0x55
    path.write_bytes(bad)
    with pytest.raises(
        InvalidValue, match=rf"run.mcap is damaged: the chunk at byte {chunk.offset}"
    ):
        read(path)
    done = recover(path, tmp_path / "mended.mcap")
    assert (done.damaged, done.lost, done.was_complete) == (1, 0, False)
    mended = read(done.path)
    missing = COUNT - mended.times.size
    first = int(np.flatnonzero(np.diff(mended.times) > 0.015)[0]) + 1
    assert 0 < missing < COUNT // 2
    kept = np.r_[0:first, first + missing : COUNT]
    assert same_bits(mended.rows, ROWS[kept])
    assert mended.meta == {"seed": 1, "recovered": {"damaged_chunks": 1}}


@given(st.integers(0, 10**9) | st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_never_passes_as_a_number(
    tmp_path_factory: pytest.TempPathFactory, source: Path, at: int, change: int
) -> None:
    path = tmp_path_factory.mktemp("changed") / "run.mcap"
    bad = bytearray(source.read_bytes())
    bad[at % len(bad)] ^= change
    path.write_bytes(bad)
    with contextlib.suppress(SkidpadError):
        recover(path)
    try:
        recording = read(path)
    except SkidpadError:
        return
    # Bytes that say how the file goes on may end it early, but what is read was written.
    assert same_bits(recording.rows, ROWS[: recording.times.size])
    assert same_bits(recording.times, TIMES[: recording.times.size])
    assert recording.stage == STAGE
    if recording.complete:
        assert recording.times.size == COUNT
        assert recording.meta == {"seed": 1}


def test_a_whole_file_needs_no_mending(tmp_path: Path, source: Path) -> None:
    path, data = tmp_path / "run.mcap", source.read_bytes()
    path.write_bytes(data)
    done = recover(path)
    assert (done.was_complete, done.damaged, done.lost) == (True, 0, 0)
    assert same_bits(read(done.path).rows, ROWS)
    with pytest.raises(InvalidValue, match="is the damaged file itself"):
        recover(path, path)
    assert path.read_bytes() == data


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "file.mcap"
    for content in (b"", b"short", b"this is no recording at all", bytes(1000)):
        path.write_bytes(content)
        for call in (read, info, recover):
            with pytest.raises(InvalidValue, match=r"file.mcap is not a recording"):
                call(path)
    with pytest.raises(InvalidValue, match=r"absent.mcap cannot be read"):
        read(tmp_path / "absent.mcap")
    with pytest.raises(InvalidValue, match="cannot be read: it is a folder"):
        read(tmp_path)


def test_mcap_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "other.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/a", "json", 0)
        writer.add_message(channel, 0, b"{}", 0)
        writer.finish()
    for call in (read, info, recover):
        with pytest.raises(InvalidValue, match="not a recording of skidpad"):
            call(path)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.mcap"
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "FORMAT", 2)
        Recorder(path, small_stage()).close()
    with pytest.raises(InvalidValue, match=r"newer skidpad .*format 2.*up to format 1"):
        read(path)


def test_a_newer_stage_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.mcap"
    with monkeypatch.context() as patch:
        patch.setattr(stage, "VERSION", 9)
        Recorder(path, small_stage()).close()
    with pytest.raises(InvalidValue, match=r"new.mcap: the stage has version 9"):
        read(path)


def test_files_that_others_wrote_again_are_read(tmp_path: Path) -> None:
    """As MCAP's own tools do, which keep messages and metadata but not how they are packed."""
    source, target = whole(tmp_path / "run.mcap"), tmp_path / "again.mcap"
    for compression in ("NONE", "LZ4", "ZSTD"):
        _copied(source, target, compression)
        recording = read(target)
        assert recording.complete
        assert same_bits(recording.rows, ROWS)
        assert recording.meta == {"seed": 1}


def _copied(source: Path, target: Path, compression: str) -> None:
    from mcap.writer import CompressionType

    with source.open("rb") as old, target.open("wb") as new:
        reader, writer = SeekingReader(old), Writer(new, 100_000, CompressionType[compression])
        writer.start()
        for record in reader.iter_metadata():
            writer.add_metadata(record.name, record.metadata)
        known: dict[int, int] = {}
        schemas: dict[int, int] = {}
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if schema.id not in schemas:
                schemas[schema.id] = writer.register_schema(
                    schema.name, schema.encoding, schema.data
                )
            if channel.id not in known:
                known[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, schemas[schema.id], channel.metadata
                )
            times = message.log_time, message.publish_time
            writer.add_message(known[channel.id], times[0], message.data, times[1])
        writer.finish()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordingFailed, match=r"cannot record to .*run.mcap: No such file"):
        Recorder(tmp_path / "absent" / "run.mcap", small_stage())


def test_notes_are_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with pytest.raises(InvalidValue, match="plain JSON"):
        Recorder(path, small_stage(), meta={"what": {1, 2}})
    assert not path.exists()
