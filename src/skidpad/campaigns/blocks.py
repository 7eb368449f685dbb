"""Rows in blocks of fixed size: a row at its run's number modulo the size, whatever comes along.

Sums over an array round by its shape, and loops of NumPy treat its last elements apart. In such
a block neither shows: a row has the same place and the same number of neighbours in every chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .experiment import Rows, Runs


class Block(NamedTuple):
    """Rows that are evaluated together."""

    rows: Rows
    """As many as a block has; places without a run have a copy of another row."""
    places: Runs
    """Of the runs in the block."""
    among: Runs
    """Of the same runs among the rows that were cut into blocks."""

    def alone(self, place: int) -> Block:
        """The run at a place of the block, with copies of it everywhere else."""
        which = self.places == place
        rows = self.rows.part(np.full(len(self.rows.runs), place))
        return Block(rows, self.places[which], self.among[which])


def in_blocks(rows: Rows, size: int) -> Iterator[Block]:
    """The rows in blocks; runs of one block may be anywhere among them."""
    numbers = rows.runs // size
    for number in np.unique(numbers).tolist():
        among = np.flatnonzero(numbers == number)
        places = rows.runs[among] % size
        filled = np.full(size, among[0])
        filled[places] = among
        yield Block(rows.part(filled), places, among)
