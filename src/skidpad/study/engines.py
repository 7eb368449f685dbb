"""Engines: this process, several processes, a GPU or a Ray cluster behind one interface.

The scheduler of a campaign submits chunks of rows and collects them in any order. Chunks are
independent of each other, so an engine may lose, repeat or duplicate one. `InProcess` executes
chunks one after the other; `Processes` uses worker processes of this machine, for experiments that
use one processor each; `RayEngine` submits tasks to a cluster. `engine_of` chooses by name.

`ProgressMonitor` collects what a page shows of a running campaign, in constant memory;
`MonitoredEngine` wraps an engine and reports to it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from hashlib import blake2b
from multiprocessing import get_context
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.arrays import AnyArray
from ..core.checks import whole
from ..core.files import brief_repr, counted
from ..core.threads import cores
from ..errors import InvalidValue, SkidpadError, require
from .experiment import FAILED, Column, Experiment, Resources, Rows


class Chunk(NamedTuple):
    """Range of runs that a worker executes at once, some seconds of work."""

    begin: int
    end: int
    """Number of the last run plus 1."""
    rows: Rows

    __repr__ = brief_repr


class Finished(NamedTuple):
    """A chunk that a worker has executed, with its results."""

    chunk: Chunk
    columns: Mapping[str, AnyArray] | None
    """Results; None if the worker has written them to the folder itself."""
    seconds: float
    """Time in s that the worker needed."""
    worker: str = ""
    """Name of the worker, for the progress page."""

    __repr__ = brief_repr


class Writer(Protocol):
    """Interface for writing chunks to the folder of a campaign from any process; can be pickled."""

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """Write all columns of the runs from `begin` to `end - 1`, factors included."""
        ...


class Engine(Protocol):
    """Interface of engines, which execute the chunks of one experiment."""

    @property
    def name(self) -> str:
        """Name in progress and reports, such as "local"."""
        ...

    @property
    def slots(self) -> int:
        """Number of chunks that can be in progress at the same time."""
        ...

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Start workers, which may write their results themselves."""
        ...

    def submit(self, chunk: Chunk) -> None:
        """Begin a chunk and return at once; the work may happen in `finished`."""
        ...

    def finished(self) -> Finished:
        """Wait for any chunk; `KeyboardInterrupt` ends the wait. Raises the errors of runs."""
        ...

    def close(self) -> None:
        """Stop all workers at once, losing the chunks in progress. May be called twice."""
        ...


class InProcess:
    """Executes chunks in this process, one after the other.

    Args:
        resources: threads and device that an experiment may use.
    """

    __repr__ = brief_repr

    def __init__(self, resources: Resources | None = None) -> None:
        self.resources = resources or Resources()
        self._experiment: Experiment | None = None
        self._waiting: deque[Chunk] = deque()

    @property
    def name(self) -> str:
        """Name in progress and reports."""
        return "local" if self.resources.device == "cpu" else self.resources.device

    @property
    def slots(self) -> int:
        """Always 1: `finished` executes the chunks one at a time."""
        return 1

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Set the experiment."""
        self._experiment = experiment

    def submit(self, chunk: Chunk) -> None:
        """Queue a chunk."""
        self._waiting.append(chunk)

    def finished(self) -> Finished:
        """Execute the next chunk."""
        assert self._experiment is not None, "an engine is started before it is used"
        chunk = self._waiting.popleft()
        begin = perf_counter()
        columns = self._experiment.evaluate(chunk.rows, self.resources)
        return Finished(chunk, columns, perf_counter() - begin, self.name)

    def close(self) -> None:
        """Drop the queued chunks."""
        self._waiting.clear()


ENGINES = ("local", "cuda", "ray")


def engine_of(engine: str | Engine, experiment: Experiment, workers: int | None = None) -> Engine:
    """Return the engine of this name for an experiment; an `Engine` is returned as it is."""
    if not isinstance(engine, str):
        return engine
    if engine == "ray":
        return RayEngine(workers=workers)
    if engine == "cuda":
        return InProcess(Resources(device="cuda"))
    if engine != "local":
        raise InvalidValue(f"engine = {engine!r} must be one of {', '.join(ENGINES)}")
    return InProcess() if workers is None and experiment.threaded else Processes(workers)


_packed_experiments: dict[bytes, Experiment] = {}
"""Experiments by digest of their pickles, so that a worker compiles each experiment only once."""
_worker_experiment: list[Experiment] = []
"""The experiment of this worker of `Processes`."""


def _start_worker(packed: bytes) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that started these ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker_experiment[:] = [pickle.loads(packed)]


def run_chunk(chunk: Chunk) -> Finished:
    """Execute a chunk of the experiment of this worker process."""
    return _evaluate(_worker_experiment[0], chunk)


def run_packed_chunk(
    packed: bytes, chunk: Chunk, writer: Writer | None = None, folders: Sequence[str] = ()
) -> Finished:
    """Execute a chunk of a pickled experiment, in a process that may serve several experiments.

    Args:
        packed: the pickled experiment.
        chunk: runs to execute.
        writer: writes the results to the folder; without it they are returned.
        folders: `sys.path` of the process that pickled the experiment, appended to the path of
            this process, so that modules next to a plan file can be imported.
    """
    key = blake2b(packed, digest_size=16).digest()
    if key not in _packed_experiments:
        sys.path.extend(one for one in folders if one not in sys.path and os.path.exists(one))
        _packed_experiments[key] = pickle.loads(packed)
    done = _evaluate(_packed_experiments[key], chunk)
    if writer is None or done.columns is None:
        return done
    writer.write_part(chunk.begin, chunk.end, {**chunk.rows.factors, **done.columns})
    return done._replace(columns=None)


def _evaluate(experiment: Experiment, chunk: Chunk) -> Finished:
    begin = perf_counter()
    columns = experiment.evaluate(chunk.rows, Resources(threads=1))
    return Finished(chunk, columns, perf_counter() - begin, f"process {os.getpid()}")


MOST_LOSSES = 5
"""Number of worker deaths after which a campaign is aborted."""
_LOOK = 0.2
"""Polling interval in s, so that Ctrl-C works on every system."""


class WorkersLost(SkidpadError):
    """Workers died repeatedly, most likely killed by the system because memory was short."""


class Processes:
    """Executes chunks in processes of this machine, each on one thread.

    A worker that dies is replaced and its chunk is repeated. Worker processes import the script
    that started them, as with `multiprocessing`, so its statements must stand under
    `if __name__ == "__main__":`.
    """

    __repr__ = brief_repr

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else whole("workers", workers, "at least 1")
        self._pool: ProcessPoolExecutor | None = None
        self._begin: Callable[[], ProcessPoolExecutor] | None = None
        self._under_way: dict[Future[Finished], Chunk] = {}
        self._losses = 0
        self._finished = False

    @property
    def name(self) -> str:
        return f"local, {self.workers} processes"

    @property
    def slots(self) -> int:
        """One more than the number of workers, so that no worker waits for a chunk."""
        return self.workers + 1

    def start(self, experiment: Experiment, writer: Writer) -> None:
        packed = pickle.dumps(experiment)
        self._begin = lambda: ProcessPoolExecutor(
            self.workers, get_context("spawn"), _start_worker, (packed,)
        )
        self._pool = self._begin()

    def submit(self, chunk: Chunk) -> None:
        assert self._pool is not None, "an engine is started before it is used"
        try:
            self._under_way[self._pool.submit(run_chunk, chunk)] = chunk
        except BrokenProcessPool:
            self._restart([*self._under_way.values(), chunk])

    def finished(self) -> Finished:
        while True:
            done, _ = wait(self._under_way, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    finished = future.result()
                except BrokenProcessPool:
                    self._restart([*self._under_way.values()])
                    break
                del self._under_way[future]
                self._finished = True
                return finished

    def _restart(self, chunks: list[Chunk]) -> None:
        """Start new workers and resubmit all chunks in progress."""
        self._losses += 1
        if self._losses > MOST_LOSSES or self._begin is None:
            raise WorkersLost(f"worker processes died {self._losses} times: {self._reason(chunks)}")
        self._end_pool()
        self._pool = self._begin()
        self._under_way = {self._pool.submit(run_chunk, chunk): chunk for chunk in chunks}

    def _reason(self, chunks: list[Chunk]) -> str:
        """The most likely reason why workers died."""
        if not self._finished:
            return (
                "none of them finished a chunk. They import the script that runs the campaign: it "
                'must do so under `if __name__ == "__main__":`'
            )
        return (
            f"with chunks of about {len(chunks[0].rows.runs)} runs; if memory is short, use fewer "
            "workers or a smaller chunk_seconds"
        )

    def _end_pool(self) -> None:
        if self._pool is None:
            return
        children = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.kill()
        for child in children:
            child.join()
        self._pool = None

    def close(self) -> None:
        self._end_pool()
        self._under_way.clear()


MOST_TRIES = 5
"""Attempts at a chunk after which a campaign is aborted."""
_AHEAD = 2
"""Chunks per processor of the cluster, so that no worker waits for the next."""
_LOOPBACK = "127.0.0.1"
_LOOPBACK_ONLY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
"""Environment variable that Ray reads when it is imported, on every system: without it, Ray
replaces the loopback address by one that other machines reach."""


class RayEngine:
    """Executes chunks as tasks of a Ray cluster, one processor each.

    Args:
        address: address of a running cluster; None starts one on this machine, which listens to
            this machine only and ends with the campaign.
        workers: processors of a cluster that is started here; all if None.
        shared: whether all machines reach the campaign's folder by the same name (a shared file
            system, or a URL that fsspec knows). Workers then write their chunks there; otherwise
            they send them back.
        options: for `ray.init`, such as `runtime_env`.

    Workers may join, leave or be killed; their chunks are repeated elsewhere. Every machine of a
    cluster needs the same version of skidpad; kernels are compiled once on each and cached there.
    Modules that a plan names are imported from the folders that this process imports from, as far
    as a worker's machine has them. Ray reports no usage unless `RAY_USAGE_STATS_ENABLED` is set.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        *,
        shared: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if address is not None and workers is not None:
            raise InvalidValue(
                f"workers = {workers} is allowed only for a cluster that is started here, not with "
                f"address = {address!r}"
            )
        self._address, self._options = address, dict(options or {})
        self._workers = None if workers is None else whole("workers", workers, "at least 1")
        self._shared = shared
        # Ray reads these variables when it is imported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            os.environ.setdefault(*_LOOPBACK_ONLY)
        self._ray: Any = require("ray", purpose='engine="ray"')
        self._writer: Any = None
        self._own = False
        self._task: Any = None
        self._folders: list[str] = []
        self._packed: Any = None
        self._under_way: dict[Any, Chunk] = {}
        self._tries: Counter[int] = Counter()

    @property
    def name(self) -> str:
        where = "this machine" if self._address is None else self._address
        return f"ray at {where}"

    @property
    def slots(self) -> int:
        if not self._ray.is_initialized():
            return 1
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        return max(1, _AHEAD * processors)

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Join the cluster, or start one; raises if there is no cluster."""
        if not self._ray.is_initialized():
            self._join()
        self._folders = [os.path.abspath(folder) for folder in sys.path]
        self._packed = self._ray.put(pickle.dumps(experiment))
        self._writer = self._ray.put(writer) if self._shared else None
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_packed_chunk)

    def _join(self) -> None:
        own: dict[str, Any] = {}
        if self._address is None:  # a cluster on this machine, reachable only from here
            if self._ray._private.services.get_node_ip_address() != _LOOPBACK:
                raise InvalidValue(
                    "Ray was imported before the campaign began and would accept connections "
                    f"from other machines: set {'='.join(_LOOPBACK_ONLY)} before, or start the "
                    "cluster yourself and pass its address"
                )
            own = {"num_cpus": self._workers, "include_dashboard": False}
            own["_node_ip_address"] = _LOOPBACK
        options = {"log_to_driver": False, **own, **self._options}
        try:
            self._ray.init(address=self._address, **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise InvalidValue(
                f"address = {self._address!r}: there is no Ray cluster to join: {error}"
            ) from error
        self._own = True

    def submit(self, chunk: Chunk) -> None:
        self._tries[chunk.begin] += 1
        self._under_way[self._task.remote(self._packed, chunk, self._writer, self._folders)] = chunk

    def finished(self) -> Finished:
        """Wait for a chunk; chunks of lost workers are resubmitted."""
        while True:
            done, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_LOOK)
            for reference in done:
                chunk = self._under_way.pop(reference)
                finished = self._result(reference, chunk)
                if finished is not None:
                    return finished

    def _result(self, reference: Any, chunk: Chunk) -> Finished | None:
        """Result of a task; None if its worker was lost and the chunk resubmitted."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:  # raised by the run itself
            cause = error.cause
            raise (cause if isinstance(cause, SkidpadError) else error) from error
        except errors.RayError as error:
            if self._tries[chunk.begin] >= MOST_TRIES:
                raise WorkersLost(
                    f"runs {chunk.begin} to {chunk.end - 1} were lost with their worker "
                    f"{counted(MOST_TRIES, 'time')}: {error}"
                ) from error
            self.submit(chunk)
            return None

    def close(self) -> None:
        """Cancel the chunks in progress and leave the cluster; end a cluster started here."""
        if not self._ray.is_initialized():
            return
        for reference in self._under_way:
            self._ray.cancel(reference, force=True)
        self._under_way.clear()
        if self._own:
            self._ray.shutdown()
            self._own = False


BINS = 64
_LARGEST = 1e300
"""Bound to which larger numbers are clipped, so that twice their span is finite."""


class RunningHistogram:
    """Histogram with equal bins that are merged in pairs when a number lies outside all of them."""

    def __init__(self) -> None:
        self._counts = np.zeros(BINS, np.int64)
        self._low, self._width = 0.0, 0.0
        self.without = 0
        """Number of NaN values."""
        self._total, self._count = 0.0, 0
        self._lowest, self._highest = np.inf, -np.inf

    def add(self, values: AnyArray) -> None:
        numbers = np.asarray(values, float)
        known = np.clip(numbers[~np.isnan(numbers)], -_LARGEST, _LARGEST)
        self.without += numbers.size - known.size
        if not known.size:
            return
        low, high = float(known.min()), float(known.max())
        if not self._count:
            # A single number has bins around it.
            span = (high - low) * (1.0 + 1e-9) or max(abs(low) * 1e-6, 1e-9)
            self._low, self._width = low if high > low else low - 0.5 * span, span / BINS
        self._reach(low, high)
        self._count += known.size
        self._total += float(known.sum())
        self._lowest, self._highest = min(low, self._lowest), max(high, self._highest)
        places = ((known - self._low) / self._width).astype(np.int64)
        self._counts += np.bincount(np.clip(places, 0, BINS - 1), minlength=BINS)

    def _reach(self, low: float, high: float) -> None:
        empty = np.zeros(BINS // 2, np.int64)
        while low < self._low or high > self._low + BINS * self._width:
            pairs = self._counts.reshape(-1, 2).sum(axis=1)
            if low < self._low:
                self._low -= BINS * self._width
                self._counts = np.concatenate([empty, pairs])
            else:
                self._counts = np.concatenate([pairs, empty])
            self._width *= 2.0

    def plain(self) -> dict[str, Any]:
        """The histogram as plain values: counts from the first to the last bin that is not empty,
        start of the first bin, bin width, smallest and largest value."""
        filled = np.flatnonzero(self._counts)
        if not filled.size:
            return {"counts": [], "mean": None, "without": self.without}
        first, last = int(filled[0]), int(filled[-1]) + 1
        return {
            "begin": self._low + first * self._width,
            "width": self._width,
            "lowest": self._lowest,
            "highest": self._highest,
            "counts": self._counts[first:last].tolist(),
            "mean": self._total / self._count,
            "without": self.without,
        }


_WINDOW = 30.0
"""Time in s over which the rate is averaged."""


class ProgressMonitor:
    """Progress of a running campaign, for a page; may be read from another thread.

    Args:
        name: name of the campaign.
        total: largest number of runs.
        done: number of runs that are already in the folder.
        columns: columns of the campaign.
    """

    def __init__(self, name: str, total: int, done: int, columns: Sequence[Column]) -> None:
        self._name, self._total, self._done = name, total, done
        self._columns = {column.name: column for column in columns}
        self._histograms = {one: RunningHistogram() for one in self._columns if one != FAILED}
        self._failed = self._seen = 0
        self._workers: dict[str, dict[str, float]] = {}
        self._begin = perf_counter()
        self._looks = deque([(self._begin, done)])
        self._state = "running"
        self._lock = Lock()

    def take(self, finished: Finished) -> None:
        begin, end, rows = finished.chunk
        with self._lock:
            self._done += end - begin
            self._looks.append((perf_counter(), self._done))
            while len(self._looks) > 2 and self._looks[-1][0] - self._looks[0][0] > _WINDOW:
                self._looks.popleft()
            worker = self._workers.setdefault(finished.worker, {"runs": 0, "seconds": 0.0})
            worker["runs"] += end - begin
            worker["seconds"] += finished.seconds
            if finished.columns is None:  # written by its worker
                return
            self._seen += end - begin
            for name, values in {**rows.factors, **finished.columns}.items():
                if name == FAILED:
                    self._failed += int(np.count_nonzero(values))
                elif name in self._histograms:
                    self._histograms[name].add(values)

    def end(self, state: str) -> None:
        """Set the final state, "finished" or "stopped"."""
        with self._lock:
            self._state = state

    def plain(self) -> dict[str, Any]:
        with self._lock:
            (first, before), (last, now) = self._looks[0], self._looks[-1]
            rate = (now - before) / (last - first) if last > first and now > before else None
            left = (self._total - self._done) / rate if rate else None
            return {
                "name": self._name,
                "state": self._state,
                "done": self._done,
                "total": self._total,
                "rate": rate,
                "seconds_left": left,
                "seconds": perf_counter() - self._begin,
                "failed": self._failed,
                "seen": self._seen,
                "workers": [{"name": name, **one} for name, one in self._workers.items()],
                "columns": [self._column(name) for name in self._histograms],
            }

    def _column(self, name: str) -> dict[str, Any]:
        column = self._columns[name]
        about = {"name": name, "unit": column.unit, "kind": column.kind, "meaning": column.meaning}
        return {**about, **self._histograms[name].plain()}


class MonitoredEngine:
    """Engine wrapper that reports finished chunks to a progress monitor."""

    def __init__(self, engine: Engine, monitor: ProgressMonitor) -> None:
        self._engine, self._monitor = engine, monitor

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def slots(self) -> int:
        return self._engine.slots

    def start(self, experiment: Experiment, writer: Writer) -> None:
        self._engine.start(experiment, writer)

    def submit(self, chunk: Chunk) -> None:
        self._engine.submit(chunk)

    def finished(self) -> Finished:
        done = self._engine.finished()
        self._monitor.take(done)
        return done

    def close(self) -> None:
        self._engine.close()
