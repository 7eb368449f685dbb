"""The engine of several processes: for experiments that keep one processor busy each."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from ..brief import brief_repr
from ..checks import whole
from ..errors import SkidpadError
from ..workers import cores
from .engine import Chunk, Finished, Writer
from .experiment import Experiment
from .work import done_by, made_ready

MOST_LOSSES = 5
"""How often workers may die before the campaign gives up."""
_LOOK = 0.2
"""Time in s between two looks, so that Ctrl-C is answered on every system."""


class WorkersLost(SkidpadError):
    """Workers died again and again: killed by the system for want of memory, most likely."""


class Processes:
    """Does chunks in processes of this machine, each on one thread.

    A worker that dies is replaced and its chunk is done again. Worker processes import the script
    that started them, as with `multiprocessing`: what it does must stand under
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
        """In progress and reports."""
        return f"local, {self.workers} processes"

    @property
    def slots(self) -> int:
        """One more than workers, so that none of them waits."""
        return self.workers + 1

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Start the workers."""
        packed = pickle.dumps(experiment)
        self._begin = lambda: ProcessPoolExecutor(
            self.workers, get_context("spawn"), _ready, (packed,)
        )
        self._pool = self._begin()

    def submit(self, chunk: Chunk) -> None:
        """Hand a chunk to whoever is free."""
        assert self._pool is not None, "an engine is started before it is used"
        try:
            self._under_way[self._pool.submit(done_by, chunk)] = chunk
        except BrokenProcessPool:
            self._again([*self._under_way.values(), chunk])

    def finished(self) -> Finished:
        """Wait for a chunk."""
        while True:
            done, _ = wait(self._under_way, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    finished = future.result()
                except BrokenProcessPool:
                    self._again([*self._under_way.values()])
                    break
                del self._under_way[future]
                self._finished = True
                return finished

    def _again(self, chunks: list[Chunk]) -> None:
        """New workers, for all that was under way."""
        self._losses += 1
        if self._losses > MOST_LOSSES or self._begin is None:
            raise WorkersLost(f"worker processes died {self._losses} times: {self._reason(chunks)}")
        self._end_pool()
        self._pool = self._begin()
        self._under_way = {self._pool.submit(done_by, chunk): chunk for chunk in chunks}

    def _reason(self, chunks: list[Chunk]) -> str:
        """The likely one."""
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
        """End the workers, at once."""
        self._end_pool()
        self._under_way.clear()


def _ready(packed: bytes) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that started these ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    made_ready(packed)
