"""What a worker process does, whoever started it."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from hashlib import blake2b
from time import perf_counter

from .engine import Chunk, Finished, Writer
from .experiment import Experiment, Means

ONE_THREAD = Means(threads=1)

_ready: dict[bytes, Experiment] = {}
"""Experiments by digest of their pickles: a worker keeps what it has compiled."""
_only: list[Experiment] = []


def made_ready(packed: bytes) -> None:
    """Take the one experiment of this process."""
    _only[:] = [pickle.loads(packed)]


def done_by(chunk: Chunk) -> Finished:
    """A chunk of the one experiment of this process."""
    return _done(_only[0], chunk)


def done_for(
    packed: bytes, chunk: Chunk, writer: Writer | None = None, folders: Sequence[str] = ()
) -> Finished:
    """A chunk of an experiment, in a process that may have several; kept by the writer, if any.

    `folders` is the `sys.path` of the process that pickled the experiment: modules next to a plan
    file are imported from there, after everything that this process finds by itself.
    """
    key = blake2b(packed, digest_size=16).digest()
    if key not in _ready:
        there = (one for one in folders if one not in sys.path and os.path.exists(one))
        sys.path.extend(there)
        _ready[key] = pickle.loads(packed)
    done = _done(_ready[key], chunk)
    if writer is None or done.columns is None:
        return done
    writer.write_part(chunk.begin, chunk.end, {**chunk.rows.factors, **done.columns})
    return done._replace(columns=None)


def _done(experiment: Experiment, chunk: Chunk) -> Finished:
    begin = perf_counter()
    columns = experiment.evaluate(chunk.rows, ONE_THREAD)
    return Finished(chunk, columns, perf_counter() - begin, f"process {os.getpid()}")
