"""Elements of shared arrays, as each library reads them; `functions.read` says what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..errors import InvalidValue
from ..shared_arrays import LONGEST_FLOAT32, Blocks, alive, values_of

__all__ = ["casadi_reader", "of_arrays", "of_floats", "of_jax", "of_symbols"]


def of_floats(number: float, index: float) -> float:
    """The element for two floats."""
    values = values_of(number)
    if values is None or index != index:
        return math.nan
    last = values.size - 1
    return float(values[int(index) if 0.0 < index < last else last if index > 0.0 else 0])


def of_arrays(number: Any, index: Any) -> Any:
    """The elements for NumPy arrays or scalars, one of each broadcast with the other."""
    kind = np.result_type(number, index, np.float32)
    numbers, indices = np.broadcast_arrays(np.asarray(number, kind), np.asarray(index, kind))
    elements = np.full(numbers.shape, np.nan, kind)
    for n in np.unique(numbers).tolist():
        values = values_of(n)
        if values is not None and _has_indices(values.size, kind):
            here = (numbers == n) & (indices == indices)
            at = np.clip(indices[here], 0, values.size - 1).astype(np.int64)
            elements[here] = values[at]
    return elements[()]


def _has_indices(size: int, precision: Any) -> bool:
    """Whether the indices of an array are numbers of a precision."""
    return size <= LONGEST_FLOAT32 or np.dtype(precision).itemsize > 4


_readers: dict[str, Any] = {}
"""The one CasADi function that reads, once it is made."""


def casadi_reader() -> Any:
    """The CasADi function of a column, number and index, that reads.

    The tracer knows it and makes the operation `read` of its calls; CasADi itself evaluates it by
    calling back.
    """
    known = _readers.get("reader")
    # Two threads may both make one; all take the first.
    return _readers.setdefault("reader", _new_reader()) if known is None else known


def _new_reader() -> Any:
    import casadi as ca

    sparsity = ca.Sparsity.dense

    class Reader(ca.Callback):
        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.construct("skidpad_read", {"never_inline": True})

        def get_sparsity_in(self, i: int) -> Any:
            return sparsity(2, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return sparsity(1, 1)

        def eval(self, arguments: Any) -> Any:
            return [of_floats(*(float(value) for value in arguments[0].nonzeros()))]

        def has_forward(self, nfwd: int) -> bool:
            return True

        def has_reverse(self, nadj: int) -> bool:
            return True

        def get_forward(self, nfwd: int, name: str, inames: Any, onames: Any, opts: Any) -> Any:
            return _flat((2, nfwd), (1, nfwd), name, inames, onames, opts)

        def get_reverse(self, nadj: int, name: str, inames: Any, onames: Any, opts: Any) -> Any:
            return _flat((1, nadj), (2, nadj), name, inames, onames, opts)

    return Reader()


def _flat(
    seeds: tuple[int, int],
    shape: tuple[int, int],
    name: str,
    inputs: Any,
    outputs: Any,
    options: Any,
) -> Any:
    """A derivative that is zero, with the arguments that CasADi gives it."""
    import casadi as ca

    # Not sparse: of results that are no entries a call leaves what was in memory before.
    symbols = [ca.SX.sym("a", 2), ca.SX.sym("r"), ca.SX.sym("d", *seeds)]
    return ca.Function(name, symbols, [ca.SX.zeros(*shape)], inputs, outputs, options)


def of_symbols(number: Any, index: Any) -> Any:
    """The elements for CasADi's symbols or matrices."""
    import casadi as ca

    call = casadi_reader().call
    shape = next(
        (a.shape for a in (number, index) if getattr(a, "shape", ()) not in ((), (1, 1))), None
    )
    if shape is None:
        return call([ca.vertcat(number, index)])[0]
    pairs = [
        ca.vertsplit(ca.vec(a)) if getattr(a, "shape", None) == shape else [a] * math.prod(shape)
        for a in (number, index)
    ]
    elements = [call([ca.vertcat(n, i)])[0] for n, i in zip(*pairs, strict=True)]
    return ca.reshape(ca.vertcat(*elements), shape)


class _Joined(NamedTuple):
    """Arrays one after another, behind a NaN that unknown numbers read."""

    values: AnyArray
    start: AnyArray
    """Of the array of each number up to the largest."""
    last: AnyArray
    """Largest index of each."""


def of_jax(numpy: Any, number: Any, index: Any) -> Any:
    """The elements for JAX arrays: the arrays there are become constants of what is compiled."""
    kind = numpy.result_type(number, index, float)
    joined = _joined(alive(), kind)
    number, index = numpy.asarray(number, kind), numpy.asarray(index, kind)
    known = (number >= 1) & (number < len(joined.start)) & (numpy.floor(number) == number)
    n = numpy.where(known, number, 0).astype(int)
    last = numpy.asarray(joined.last)[n]
    at = numpy.clip(numpy.where(index == index, index, 0), 0, last).astype(int)
    element = numpy.asarray(joined.values)[numpy.asarray(joined.start)[n] + at]
    return numpy.where(index == index, element, numpy.nan)


_last_joined: list[tuple[Mapping[int, Blocks], Any, _Joined]] = []


def _joined(blocks: Mapping[int, Blocks], kind: Any) -> _Joined:
    """All arrays as one; the last is kept, for the many reads of one function."""
    for known, precision, joined in _last_joined:
        if known is blocks and precision == kind:
            return joined
    read = {n: values_of(n) for n in blocks}
    usable = {n: v for n, v in read.items() if v is not None and _has_indices(v.size, kind)}
    total = 1 + sum(v.size for v in usable.values())
    if total > np.iinfo(np.int32).max and np.dtype(kind).itemsize == 4:
        raise InvalidValue(f"JAX cannot count the {total} numbers of all shared arrays in int32")
    start = np.zeros(1 + max(usable, default=0), np.int64)
    last = np.zeros(len(start), np.int64)
    parts, at = [np.array([np.nan])], 1
    for n, values in usable.items():
        start[n], last[n] = at, values.size - 1
        parts.append(values)
        at += values.size
    joined = _Joined(np.concatenate(parts).astype(kind), start, last)
    _last_joined[:] = [(blocks, kind, joined)]
    return joined
