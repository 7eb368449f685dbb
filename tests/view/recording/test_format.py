"""The file as MCAP's own reader sees it: summary, indexes, sums, order."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import NonSeekingReader, SeekingReader
from mcap.records import ChunkIndex, Metadata
from mcap.stream_reader import StreamReader

from skidpad.view.recording import Recorder, recorder
from skidpad.view.recording import recorder as chunk
from view.recording.stages import full_stage, small_stage, some_rows

COUNT = 3000
TIMES = np.arange(COUNT) * 1e-3


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds at 1 kHz with scans in between, in many small chunks."""
    path = tmp_path_factory.mktemp("format") / "run.mcap"
    stage = full_stage()
    rows = some_rows(stage, COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "CHUNK_SIZE", 200_000)
        patch.setattr(chunk, "STILL_PERIOD", 1.0)
        with Recorder(path, stage, meta={"by": "a test"}) as writer:
            for k in range(0, COUNT, 100):
                writer.add_scan(0, k / 1000, np.full(5, k))
                writer.add_rows(TIMES[k : k + 100], rows[k : k + 100])
    return path


def test_the_summary_counts_everything(path: Path) -> None:
    with path.open("rb") as file:
        summary = SeekingReader(file).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    stats = summary.statistics
    assert (stats.message_start_time, stats.message_end_time) == (0, 2_999_000_000)
    assert stats.chunk_count == len(summary.chunk_indexes) > 5
    assert stats.schema_count == len(summary.schemas)
    assert stats.channel_count == len(summary.channels)
    assert stats.metadata_count == len(summary.metadata_indexes) == 2
    topics = {c.topic: stats.channel_message_counts.get(c.id, 0) for c in summary.channels.values()}
    assert topics["/car/state"] == topics["/crate/state"] == COUNT
    assert topics["/car/front_lidar"] == 30
    assert topics["/bodies"] == topics["/still"] == topics["/grid/0"] == 3
    assert topics["/tf"] == topics["/car/pose"] == 360, "as often as screens can show"
    assert sum(topics.values()) == stats.message_count


def test_indexed_and_linear_reading_find_the_same_messages(path: Path) -> None:
    with path.open("rb") as file:
        indexed = [(c.topic, m) for _, c, m in SeekingReader(file, True).iter_messages()]
    with path.open("rb") as file:
        linear = NonSeekingReader(file, validate_crcs=True)
        plain = [(c.topic, m) for _, c, m in linear.iter_messages(log_time_order=False)]
    assert [m.log_time for _, m in plain] == sorted(m.log_time for _, m in plain)
    assert sorted(map(repr, indexed)) == sorted(map(repr, plain))


def test_a_part_by_time_and_topic(path: Path) -> None:
    with path.open("rb") as file:
        reader = SeekingReader(file, validate_crcs=True)
        part = reader.iter_messages(
            ["/car/state"], starting_at=1_000_000_000, ending_before=1_500_000_000
        )
        times = [message.log_time for _, _, message in part]
        latest = reader.iter_messages(["/bodies"], ending_at=2_500_000_000, reverse=True)
        # Repeated with the first chunk of every second.
        assert 2_000_000_000 <= next(iter(latest))[2].log_time < 2_300_000_000
    assert times == [k * 1_000_000 for k in range(1000, 1500)]


def test_every_index_says_what_is_there(path: Path) -> None:
    with path.open("rb") as file:
        summary = SeekingReader(file).get_summary()
    assert summary is not None
    data = path.read_bytes()
    for index in summary.chunk_indexes:
        assert isinstance(index, ChunkIndex)
        assert data[index.chunk_start_offset] == 6
        for channel, offset in index.message_index_offsets.items():
            op, _, number = struct.unpack_from("<BQH", data, offset)
            assert (op, number) == (7, channel)


def test_records_that_are_looked_up_by_place(path: Path) -> None:
    with path.open("rb") as file:
        records = list(SeekingReader(file).iter_metadata())
    assert [record.name for record in records] == ["skidpad.recording", "skidpad.notes"]
    assert isinstance(records[1], Metadata)
    assert records[1].metadata["notes"] == '{"by": "a test"}'


def test_the_sum_of_the_summary(path: Path) -> None:
    """The reader does not check it; it covers everything from the summary to itself."""
    data = path.read_bytes()
    start, _, crc = struct.unpack_from("<QQI", data, len(data) - 8 - 20)
    assert zlib.crc32(data[start : len(data) - 8 - 4]) == crc


def test_schemas_and_channels_come_before_their_messages(path: Path) -> None:
    with path.open("rb") as file:
        kinds = [type(r).__name__ for r in StreamReader(file, emit_chunks=True).records]
    first = kinds.index("Chunk")
    assert kinds[0] == "Header"
    assert "Schema" not in kinds[first : kinds.index("DataEnd")]
    assert kinds[1:first].count("Channel") == kinds[kinds.index("DataEnd") :].count("Channel")


def test_a_recording_without_a_sample_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "none.mcap"
    Recorder(path, small_stage()).close()
    with path.open("rb") as file:
        assert list(SeekingReader(file, validate_crcs=True).iter_messages()) == []
    with path.open("rb") as file:
        assert list(NonSeekingReader(file, validate_crcs=True).iter_messages()) == []
