"""Vehicles with many variants: driven in blocks, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import Array
from .case_run import CaseRun
from .metric import Findings, Metric
from .subject import Subject

__all__ = ["FIRST", "alone", "bytes_of", "joined", "next_size", "part_of"]

FIRST = 64
"""Variants of the first block; vehicles with no more of them are driven at once."""
ROOM = 1e9
"""Bytes that the drives of a block may take."""
SIZES = (16, 256)
"""Smallest and largest number of variants of a block. Larger ones are not faster."""
MOST_THEORIES = 8
"""Variants up to which each has its linear theory."""


def next_size(used: float, variants: int) -> int:
    """How many variants the next block may have, from the bytes that one with some took."""
    each = max(used / variants, 1.0)
    return int(np.clip(ROOM / each, *SIZES))


def bytes_of(runs: Sequence[CaseRun]) -> float:
    """What drives take."""
    arrays = [array for run in runs for array in (run.states, run.inputs, *run.signals.values())]
    return float(sum(array.nbytes for array in arrays if array is not None))


def alone(run: CaseRun) -> CaseRun:
    """The first variant without the others, whose memory is let go."""
    first = run.variant(0)
    return CaseRun(
        run.label,
        run.t,
        {name: values.copy() for name, values in first.signals.items()},
        None if first.states is None else first.states.copy(),
        None if first.inputs is None else first.inputs.copy(),
    )


def part_of(car: Subject, begin: int, size: int) -> Subject:
    """Some of the variants of a vehicle, from one on."""
    rows = {name: row[begin : begin + size] for name, row in car.params.items()}
    return Subject(car.vehicle, rows, car.name)


def with_theory(car: Subject) -> Subject:
    """The variants whose linear theory is computed: all of up to `MOST_THEORIES`, of more the first
    alone, since a theory takes longer than its drive."""
    return car if car.variants <= MOST_THEORIES else part_of(car, 0, 1)


def joined(parts: Sequence[tuple[Findings | None, int]]) -> Findings | None:
    """Findings of blocks with so many variants, one behind the other; charts are of the first.

    A block that found nothing has NaN.
    """
    blocks = [findings for findings, _ in parts if findings is not None]
    if not blocks:
        return None
    kinds = {metric.name: metric for findings in reversed(blocks) for metric in findings.metrics}
    names = dict.fromkeys(metric.name for findings in blocks for metric in findings.metrics)
    notes = dict.fromkeys(note for findings in blocks for note in findings.notes)
    return Findings([_whole(kinds[name], parts) for name in names], blocks[0].charts, list(notes))


def _whole(kind: Metric, parts: Sequence[tuple[Findings | None, int]]) -> Metric:
    """A metric of all blocks."""
    own = list(_of_blocks(kind.name, parts))
    values = np.concatenate([value for value, _ in own])
    theories = [theory for _, theory in own]
    theory = None
    if any(one is not None for one in theories):
        theory = np.concatenate(
            [
                np.full(len(value), np.nan) if one is None else one
                for (value, _), one in zip(own, theories, strict=True)
            ]
        )
    reasons = (metric.rough for findings, _ in parts if findings for metric in findings.metrics
               if metric.name == kind.name)  # fmt: skip
    rough = next(filter(None, reasons), "")
    return Metric(kind.name, values, kind.unit, kind.definition, theory, rough)


def _of_blocks(
    name: str, parts: Sequence[tuple[Findings | None, int]]
) -> Iterator[tuple[Array, Array | None]]:
    """Values and theory of a metric in each block."""
    for findings, count in parts:
        metrics = () if findings is None else findings.metrics
        metric = next((one for one in metrics if one.name == name), None)
        yield (np.full(count, np.nan), None) if metric is None else (metric.value, metric.theory)
