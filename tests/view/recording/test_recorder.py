"""What goes into a recording comes out of it again, to the bit."""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from skidpad.errors import InvalidValue
from skidpad.view.recording import Recorder, SensorMount, read, recorder
from skidpad.view.stage import Stage
from view.recording.stages import full_stage, same_bits, small_stage, some_rows, surroundings
from waiting import PATIENCE

BITS = arrays.arrays(np.uint64, arrays.array_shapes(min_dims=1, max_dims=1, max_side=40))


@given(BITS)
def test_any_bits_come_back(tmp_path_factory: pytest.TempPathFactory, bits: Any) -> None:
    stage, path = small_stage(), tmp_path_factory.mktemp("bits") / "run.mcap"
    rows = np.resize(bits.view(np.float64), (len(bits), 4))
    times = np.arange(len(bits)) / 3.0
    with Recorder(path, stage) as writer:
        writer.add_rows(times, rows)
    recording = read(path)
    assert recording.complete
    assert same_bits(recording.rows, rows)
    assert same_bits(recording.times, times)
    assert recording.stage == stage


def test_everything_comes_back(tmp_path: Path) -> None:
    stage, path = full_stage(), tmp_path / "run.mcap"
    rows, times = some_rows(stage, 500), np.cumsum(np.linspace(0.001, 0.02, 500))
    units = (SensorMount("unit", "world", oriented=True), SensorMount("other", "car"))
    readings = np.random.default_rng(2).normal(size=(20, 10))
    with Recorder(path, stage, meta={"seed": 3, "why": "ä"}, sensors=units) as writer:
        writer.add_rows(times, rows)
        for k in range(20):
            writer.add_scan(1, 0.1 * k, [k, np.inf, np.nan])
            writer.add_reading(0, 0.05 * k, readings[k])
        writer.note(laps=2)
    recording = read(path)
    assert same_bits(recording.rows, rows)
    assert recording.stage == stage
    assert recording.meta == {"seed": 3, "why": "ä", "laps": 2}
    assert [scan.time for scan in recording.scans] == pytest.approx([0.1 * k for k in range(20)])
    np.testing.assert_array_equal(recording.scans[7].ranges, [7, np.inf, np.nan])
    first, second = recording.sensors
    assert (first.mount, second.mount) == units
    assert same_bits(first.values, readings)
    assert second.values.shape == (0, 6)


def test_samples_one_by_one_are_those_in_bulk(tmp_path: Path) -> None:
    stage, rows, times = full_stage(), some_rows(full_stage(), 300), np.arange(300) / 250.0
    paths = tmp_path / "bulk.mcap", tmp_path / "single.mcap"
    with Recorder(paths[0], stage) as bulk, Recorder(paths[1], stage) as single:
        bulk.add_rows(times, rows)
        for t, row in zip(times, rows, strict=True):
            single.add(float(t), row)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("chunk", [1, 5_000, 1 << 20])
def test_chunks_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(recorder, "CHUNK_SIZE", chunk)
    stage, path = full_stage(), tmp_path / "run.mcap"
    rows = some_rows(stage, 200)
    with Recorder(path, stage) as writer:
        writer.add_rows(np.arange(200) / 100.0, rows)
    assert same_bits(read(path).rows, rows)


@pytest.mark.parametrize("bulk", [True, False])
def test_a_rate_thins_samples(tmp_path: Path, bulk: bool) -> None:
    stage, path = small_stage(), tmp_path / "run.mcap"
    times, rows = np.arange(200) * 0.005, some_rows(small_stage(), 200)
    with Recorder(path, stage, rate=30.0) as writer:
        if bulk:
            writer.add_rows(times[:77], rows[:77])
            writer.add_rows(times[77:], rows[77:])
        else:
            for t, row in zip(times, rows, strict=True):
                writer.add(float(t), row)
    recording = read(path)
    # The first sample of every thirtieth of a second.
    wanted = [int(np.ceil(k / 30.0 / 0.005 - 1e-6)) for k in range(30)]
    assert same_bits(recording.rows, rows[wanted])


def test_a_stage_without_bodies_has_its_times(tmp_path: Path) -> None:
    path = tmp_path / "empty.mcap"
    with Recorder(path, Stage("nothing", (), ())) as writer:
        writer.add_rows([0.5, 1.0], np.empty((2, 0)))
    recording = read(path)
    assert recording.times.tolist() == [0.5, 1.0]
    assert recording.rows.shape == (2, 0)


def test_names_that_are_alike_stay_apart(tmp_path: Path) -> None:
    stage, path = small_stage("x y yaw t a.b a_b a_b_2 1st", "my car"), tmp_path / "run.mcap"
    rows = some_rows(stage, 3)
    with Recorder(path, stage) as writer:
        writer.add_rows([0.0, 1.0, 2.0], rows)
    assert same_bits(read(path).rows, rows)


def test_parts_by_time_and_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "CHUNK_SIZE", 10_000)
    stage, path = small_stage(), tmp_path / "run.mcap"
    times, rows = np.arange(1000) / 100.0, some_rows(small_stage(), 1000)
    with Recorder(path, stage) as writer:
        writer.add_rows(times, rows)
    part = read(path, start=2.0, end=3.0)
    assert same_bits(part.rows, rows[200:301])
    assert same_bits(read(path).between(2.0, 3.0).rows, rows[200:301])
    thin = read(path, rate=10.0)
    assert same_bits(thin.rows, rows[::10])


def test_what_waits_is_written_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", 0.02)
    path = tmp_path / "run.mcap"
    with Recorder(path, small_stage()) as writer:
        writer.add(0.0, np.arange(4.0))
        limit = time.monotonic() + PATIENCE
        while not read(path).times.size and time.monotonic() < limit:
            time.sleep(0.01)
        recording = read(path)
    assert recording.rows.tolist() == [[0.0, 1.0, 2.0, 3.0]]
    assert not recording.complete


def test_flushed_samples_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with Recorder(path, small_stage()) as writer:
        for k in range(3):
            writer.add(k, np.full(4, k))
            writer.flush()
            assert read(path).times.tolist() == list(range(k + 1))


def test_whoever_is_faster_than_the_disk_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "CHUNK_SIZE", 10_000)
    stage, path = small_stage(), tmp_path / "run.mcap"
    may_write, most = threading.Event(), 0
    with Recorder(path, stage) as writer:
        put = writer._file._write

        def slow(*parts: Any) -> None:
            may_write.wait(PATIENCE)
            put(*parts)

        monkeypatch.setattr(writer._file, "_write", slow)
        rows, times = some_rows(stage, 4000), np.arange(4000) / 1000.0
        adding = threading.Thread(target=writer.add_rows, args=(times, rows))
        adding.start()
        waiting, limit = writer._thread._queue, time.monotonic() + PATIENCE
        while not waiting.full() and time.monotonic() < limit:
            time.sleep(0.01)
        assert adding.is_alive(), "there is more than may wait"
        most = waiting.qsize()
        may_write.set()
        adding.join()
    assert most == recorder.WAITING
    assert same_bits(read(path).rows, rows)


def test_an_error_is_noted_and_the_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"

    def run() -> None:
        with Recorder(path, small_stage()) as writer:
            writer.add(0.0, np.zeros(4))
            raise ZeroDivisionError("by hand")

    with pytest.raises(ZeroDivisionError):
        run()
    recording = read(path)
    assert recording.complete
    assert recording.meta == {"error": "ZeroDivisionError: by hand"}


def test_a_program_that_forgets_to_close_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    code = (
        "import sys\nfrom view.recording.stages import small_stage\n"
        "from skidpad.view.recording import Recorder\n"
        "writer = Recorder(sys.argv[1], small_stage())\nwriter.add(1.0, [1, 2, 3, 4])\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True, env=surroundings())
    recording = read(path)
    assert recording.complete
    assert recording.rows.tolist() == [[1.0, 2.0, 3.0, 4.0]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r: r.add(0.5, np.zeros(4)), "later than the last sample at 1.0 s"),
        (lambda r: r.add(np.nan, np.zeros(4)), "time = nan s"),
        (lambda r: r.add(2.0, np.zeros(5)), r"shape \(4,\), got \(5,\)"),
        (lambda r: r.add_rows([2.0, 2.0], np.zeros((2, 4))), "increase"),
        (lambda r: r.add_rows([0.5], np.zeros((1, 4))), "from 1.0 s on"),
        (lambda r: r.add_rows([np.inf], np.zeros((1, 4))), "finite"),
        (lambda r: r.add_rows([2.0, 3.0], np.zeros((3, 4))), r"shape \(2, 4\)"),
        (lambda r: r.add_scan(0, 2.0, [1.0]), "no lidar 0"),
        (lambda r: r.add_reading(2, 2.0, np.zeros(6)), "no sensor 2"),
        (lambda r: r.note(what=object()), "plain JSON"),
    ],
)
def test_what_is_refused_changes_nothing(tmp_path: Path, call: Any, says: str) -> None:
    path = tmp_path / "run.mcap"
    with Recorder(path, small_stage()) as writer:
        writer.add(1.0, np.zeros(4))
        with pytest.raises(InvalidValue, match=says):
            call(writer)
        writer.add(2.0, np.ones(4))
    recording = read(path)
    assert recording.times.tolist() == [1.0, 2.0]
    assert recording.meta == {}


def test_negative_times_are_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap", small_stage()) as writer:
        with pytest.raises(InvalidValue, match=r"time = -0.5 s must be .* not negative"):
            writer.add(-0.5, np.zeros(4))
        with pytest.raises(InvalidValue, match="not be negative"):
            writer.add_rows([-0.5, 1.0], np.zeros((2, 4)))
        writer.add(0.0, np.zeros(4))


def test_readings_of_one_sensor_come_in_order(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run.mcap", full_stage()) as writer:
        writer.add_scan(1, 1.0, np.zeros(3))
        writer.add_scan(0, 0.5, np.zeros(5))
        with pytest.raises(InvalidValue, match=r"time = 0.9 s must be .* not before 1.0 s"):
            writer.add_scan(1, 0.9, np.zeros(3))
        with pytest.raises(InvalidValue, match=r"shape \(3,\)"):
            writer.add_scan(1, 2.0, np.zeros(4))


def test_a_closed_recording_takes_no_more(tmp_path: Path) -> None:
    writer = Recorder(tmp_path / "run.mcap", small_stage())
    writer.close()
    writer.close()
    with pytest.raises(InvalidValue, match=r"run.mcap is closed"):
        writer.add(0.0, np.zeros(4))


@given(st.floats(max_value=0.0) | st.just(float("nan")) | st.just(float("inf")))
def test_a_rate_must_be_positive(tmp_path_factory: pytest.TempPathFactory, rate: float) -> None:
    path = tmp_path_factory.mktemp("rate") / "run.mcap"
    with pytest.raises(InvalidValue, match="rate"):
        Recorder(path, small_stage(), rate=rate)
    assert not path.exists()


def test_the_numbers_of_a_message_lie_where_the_format_says(tmp_path: Path) -> None:
    """Independent of the reader: the bytes of one sample, without compression."""
    import zstandard

    path = tmp_path / "run.mcap"
    with Recorder(path, small_stage("x y yaw")) as writer:
        writer.add(2.0, [1.5, -2.5, 0.0])
    data = path.read_bytes()
    at = data.index(b"\x28\xb5\x2f\xfd")
    unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
    message = b"\x09" + struct.pack("<d", 2.0)
    for number, value in ((16, 1.5), (17, -2.5), (18, 0.0)):
        message += bytes([(number << 3 | 1) & 0x7F | 0x80, number >> 4]) + struct.pack("<d", value)
    assert message in unpacked
