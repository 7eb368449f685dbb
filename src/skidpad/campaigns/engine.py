"""Who does the runs: this process, several, a GPU or a cluster, behind one interface.

The conductor hands chunks of rows out and takes what comes back in whatever order. Chunks know
nothing of each other, so an engine may lose one, try it again, or do it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..arrays import AnyArray
from ..brief import brief_repr
from .experiment import Experiment, Rows


class Chunk(NamedTuple):
    """Runs that are done together: some seconds of work."""

    begin: int
    end: int
    """Run numbers, the last not included."""
    rows: Rows

    __repr__ = brief_repr


class Finished(NamedTuple):
    """A chunk that is done."""

    chunk: Chunk
    columns: Mapping[str, AnyArray] | None
    """What came out; None where the worker has written it to the folder itself."""
    seconds: float
    """Time it took the worker."""
    worker: str = ""
    """Who did it, for the progress page."""

    __repr__ = brief_repr


class Writer(Protocol):
    """Writes chunks to the folder of a campaign, from any process; can be pickled."""

    def write_part(self, begin: int, end: int, columns: Mapping[str, AnyArray]) -> None:
        """All columns of the runs from `begin` to `end - 1`, factors included."""
        ...


class Engine(Protocol):
    """Does chunks of one experiment."""

    @property
    def name(self) -> str:
        """In progress and reports, such as "local"."""
        ...

    @property
    def slots(self) -> int:
        """Chunks that can be under way at a time."""
        ...

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Get ready: start workers, which may write what they have done themselves."""
        ...

    def submit(self, chunk: Chunk) -> None:
        """Begin a chunk; returns at once, or is done lazily by `finished`."""
        ...

    def finished(self) -> Finished:
        """Wait for any chunk; `KeyboardInterrupt` ends the wait. Raises what a run raised."""
        ...

    def close(self) -> None:
        """End all that was started, at once: what is under way is lost. May be called twice."""
        ...
