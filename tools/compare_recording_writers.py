"""What writing a recording costs with our own chunks, with `foxglove-sdk` and with `mcap`.

All three get the same messages, encoded by us. Needs `pip install foxglove-sdk`, which skidpad does
not use; `docs/recording.md` has the figures.

    python tools/compare_recording_writers.py [PAIRS]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import foxglove
import numpy as np
from foxglove.mcap import MCAPCompression, MCAPWriteOptions
from mcap.writer import Writer

from skidpad.bench.world import crowd
from skidpad.core.arrays import Array
from skidpad.run.simulator import Simulator
from skidpad.vehicles import four_wheel
from skidpad.view.recording import WorldRecorder
from skidpad.view.recording.mcap import McapFile
from skidpad.view.recording.recorder import Batch, ChunkEncoder, _Part
from skidpad.view.recording.topics import Topics
from skidpad.view.stage import Stage
from skidpad.view.stages import WorldStage, trajectory_stage
from skidpad.world.world import World

_HEAD = 31
"""Bytes of an MCAP record before the message."""
Write = Callable[[Array, Array], None]
Log = Callable[[bytes, int], object]


def own(path: Path, stage: Stage) -> Write:
    """Our own chunks."""
    topics = Topics(stage)
    file, encoder = (
        McapFile(path, topics.schemas, topics.channels, {}, library=""),
        ChunkEncoder(topics),
    )
    return lambda times, rows: file.add_messages(*encoder.chunk(times, rows))


def one_by_one(stage: Stage, logs: Sequence[Log], flush: Callable[[], object]) -> Write:
    """Messages encoded by us, handed over one by one; their order in time is left out."""
    encoder = ChunkEncoder(Topics(stage))

    def write(times: Array, rows: Array) -> None:
        for part in encoder._samples(times, rows):
            _hand_over(part, logs)
        flush()

    return write


def _hand_over(part: _Part, logs: Sequence[Log]) -> None:
    begins = part.messages.offsets.astype(int).tolist()
    ends = [*begins[1:], part.messages.size]
    spans = [
        (logs[channel], begin + _HEAD, end)
        for channel, begin, end in zip(part.messages.channels.tolist(), begins, ends, strict=True)
    ]
    for row, ns in zip(part.rows, part.times.tolist(), strict=True):
        data = row.tobytes()
        for log, begin, end in spans:
            log(data[begin:end], ns)


def sdk(path: Path, stage: Stage) -> Write:
    """The writer of foxglove-sdk, with the fastest compression that it offers."""
    topics, context = Topics(stage), foxglove.Context()
    options = MCAPWriteOptions(
        compression=MCAPCompression.Zstd,
        compression_level=1,
        compression_threads=0,
        chunk_size=None,
    )
    writer = foxglove.open_mcap(path, context=context, writer_options=options)
    logs: list[Log] = [lambda data, ns: None]
    for channel in topics.channels:
        schema = topics.schemas[channel.schema_id - 1]
        described = foxglove.Schema(name=schema.name, encoding="protobuf", data=schema.data)
        raw = context._create_channel(channel.topic, message_encoding="protobuf", schema=described)
        logs.append(raw.log)
    # The context must outlive the writer: without it messages are dropped with a warning.
    return one_by_one(stage, logs, lambda context=context: writer.flush())


def mcap(path: Path, stage: Stage) -> Write:
    """The writer of the package mcap."""
    topics, writer = Topics(stage), Writer(str(path), chunk_size=4 << 20)
    writer.start()
    for schema in topics.schemas:
        writer.register_schema(schema.name, schema.encoding, schema.data)
    logs: list[Log] = [lambda data, ns: None]
    for channel in topics.channels:
        number = writer.register_channel(channel.topic, "protobuf", channel.schema_id)
        logs.append(lambda data, ns, number=number: writer.add_message(number, ns, data, ns))
    return one_by_one(stage, logs, lambda: None)


def cases() -> dict[str, tuple[Stage, Array, Array]]:
    """100 robots with 26 numbers each at 30 Hz, and every step of one car."""
    world = crowd("differential", 100)
    view = WorldStage(world)
    rows: list[Array] = []
    for _ in range(100):
        for _ in range(5):
            world.step()
        rows.append(view.row())
    car = four_wheel()
    simulator = Simulator(car, dt=0.001)
    simulator.reset(v_x=8.0)
    run = simulator.run(lambda t, x: car.Input(steer=0.1 * np.sin(t)), steps=8000)
    return {
        "100 robots": (view.stage, np.arange(100) / 30.0, np.array(rows)),
        "car": trajectory_stage({"car": run}, car),
    }


class SdkRecorder(WorldRecorder):
    """Records a world with the writer of foxglove-sdk in the thread."""

    def __init__(self, world: World, path: Path, rate: float | None) -> None:
        super().__init__(world, path, rate=rate)
        self._sdk = sdk(path.with_suffix(".sdk.mcap"), self.stage)

    def _write(self, batch: Batch) -> None:
        rows = np.concatenate(batch.rows).reshape(len(batch.times), self._width)
        self._sdk(np.array(batch.times), self._view.rows(rows))


def run(kind: type[WorldRecorder] | None, path: Path, steps: int = 1500) -> tuple[float, float]:
    """Time of a run of 100 robots that is recorded at every step, in s, until all is in the file;
    and the longest time but seven that a step took, in ms."""
    world = crowd("differential", 100)
    recorder = None if kind is None else kind(world, path, rate=None)
    marks = np.empty(steps + 1)
    for k in range(steps):
        marks[k] = perf_counter()
        world.step()
        if recorder is not None:
            recorder.sample()
    marks[steps] = perf_counter()
    if recorder is not None:
        recorder.flush()
    return perf_counter() - marks[0], float(np.sort(np.diff(marks))[-8] * 1e3)


def compare_runs(folder: Path, pairs: int) -> None:
    """Print runs with a recorder beside the run alone, medians of runs in turns."""
    kinds = {"own": WorldRecorder, "sdk": SdkRecorder}
    ratios: dict[str, list[float]] = {name: [] for name in kinds}
    waits: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(pairs):
        alone, _ = run(None, folder)
        for name, kind in kinds.items():
            time, wait = run(kind, folder / f"{name}{turn}.mcap")
            ratios[name].append(time / alone)
            waits[name].append(wait)
    for name in kinds:
        print(
            f"every step of 100 robots, {name}: {median(ratios[name]):.2f} times the run alone, "
            f"steps of up to {median(waits[name]):.1f} ms"
        )


def compare_writers(folder: Path, pairs: int) -> None:
    """Print µs a sample, medians of runs in turns."""
    for name, (stage, times, rows) in cases().items():
        kinds = {kind.__name__: kind for kind in (own, sdk, mcap)}
        writers = {k: kind(folder / f"{name} {k}", stage) for k, kind in kinds.items()}
        costs: dict[str, list[float]] = {k: [] for k in writers}
        for turn in range(pairs + 1):
            for k, write in writers.items():
                begin = perf_counter()
                write(times + turn * (times[-1] + 1.0), rows)
                costs[k].append((perf_counter() - begin) / len(times) * 1e6)
        shown = ", ".join(f"{k} {median(cost[1:]):.1f}" for k, cost in costs.items())
        print(f"{name}: {shown} µs a sample")


if __name__ == "__main__":
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as temporary:
        compare_writers(Path(temporary), turns)
        compare_runs(Path(temporary), turns)
