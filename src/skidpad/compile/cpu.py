"""Engines that run compiled Programs on the processor, over arrays (step, vehicle, field).

Bound Programs are for repeated calls with the same arrays: the preparation of the arrays, which
takes longer than a step of a few vehicles, is done once. Their calls run on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.progress import Progress
from ..core.threads import cores
from . import host, pipeline
from .program import Program


class BoundMap:
    """A Program at one point or a few: a call reads the input arrays and fills the output arrays.

    Each is contiguous with a number per field of its port, or (1, rows, field) with any strides.
    """

    def __init__(
        self, program: Program, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]
    ) -> None:
        arrays = (*inputs, *outputs)
        self._arrays = [a if a.ndim == 3 else a.reshape(1, 1, -1) for a in arrays]
        rows = max(array.shape[1] for array in self._arrays)
        precision = str(self._arrays[0].dtype)
        self._kernel, _ = pipeline.apply_kernel(program, precision, 1)
        words = [word for array in self._arrays for word in host.writable(array)]
        self._block = np.array([*words, 0, rows], dtype=np.int64)
        self._address = int(self._block.ctypes.data)

    def __call__(self) -> None:
        """Evaluate the Program at what the input arrays hold."""
        self._kernel(self._address)


class BoundRollout:
    """A rollout of the same vehicles, a sample after every step; see `CpuRollout.bound`.

    Args:
        kernel: compiled `rollout`.
        arrays: its views in order, one row per vehicle.
        health: what it says of each vehicle, (3, B).
        samples: steps to make.
        tolerance: largest Newton residual allowed.
        rows: of the queue of pending inputs, where there is one.
    """

    def __init__(
        self,
        kernel: Any,
        arrays: Sequence[AnyArray],
        health: AnyArray,
        samples: int,
        tolerance: float,
        rows: Sequence[int],
    ) -> None:
        self.health, self._arrays, self._kernel = health, arrays, kernel
        words = [word for array in arrays for word in host.writable(array)]
        counts = [0, health.shape[1], *host.UNWATCHED, samples]
        self._step_at = len(words) + len(counts)
        limit = host.bits(tolerance, health.dtype)
        self._block = np.array([*words, *counts, 0, 0, 0, limit, *rows], dtype=np.int64)
        self._address = int(self._block.ctypes.data)

    def set_step(self, dt: float, substeps: int) -> None:
        """Set the length of a step, dt in s, and its number of sub-steps."""
        number = host.bits(dt / substeps, self.health.dtype)
        self._block[self._step_at : self._step_at + 3] = substeps, substeps, number

    def __call__(self) -> AnyArray:
        """Run from what the arrays hold; returns the health."""
        self._kernel(self._address)
        return self.health


class RolloutArrays(NamedTuple):
    """What goes into a rollout, each (step or 1, vehicle or 1, field)."""

    x: AnyArray
    u: AnyArray
    w: AnyArray
    p: AnyArray

    @property
    def vehicles(self) -> int:
        """How many there are."""
        return max(array.shape[1] for array in self)


class Late(NamedTuple):
    """What a rollout with delayed inputs needs besides."""

    pending: AnyArray
    """Inputs before the first ones, (rows, vehicle or 1, field), oldest first."""
    steps: AnyArray
    """Delay of each delayed input in steps, whole numbers (1, vehicle or 1, delayed input)."""


HEALTH = ("diverged", "bad_input", "residual")
"""What a rollout says of each vehicle: NaN if a sample was not finite, NaN if an input was not
finite, and the largest Newton residual."""


class CpuRollout:
    """A step Program in lanes and threads. It is compiled when first used."""

    def __init__(
        self,
        program: Program,
        *,
        dt: float,
        tolerance: float,
        precision: str,
        lanes: int | None,
        threads: int | None,
        substeps: int = 1,
        delayed: tuple[int, ...] = (),
    ) -> None:
        self.program, self.precision, self.substeps = program, precision, substeps
        self.delayed = delayed
        self.dtype: Any = np.dtype(precision)
        self.lanes = lanes or pipeline.default_lanes(program, precision)
        self.threads = threads or cores()
        self.dt, self.tolerance = dt, tolerance
        dt_bits = host.bits(dt / substeps, self.dtype)
        self._numbers = (substeps, dt_bits, host.bits(tolerance, self.dtype))
        self._kernels: dict[bool, tuple[Any, int]] = {}

    def run(
        self,
        arrays: RolloutArrays,
        out: AnyArray,
        every: int,
        late: Late | None = None,
        *,
        lengths: AnyArray | None = None,
        progress: Progress | None = None,
    ) -> AnyArray:
        """Fill `out` (sample, vehicle, field) after its first sample; returns the health.

        With delayed inputs, `late` is needed. `lengths` are those of the steps in s (step,) if it
        is not dt for all. The progress is advanced by the steps of all vehicles. A call that may
        take long can be interrupted; see `host.run`.
        """
        kernel, operations = self._compiled(timed=lengths is not None)
        samples, count = out.shape[0] - 1, out.shape[1]
        health = np.zeros((len(HEALTH), count), self.dtype)
        kept = [host.strided(a, self.lanes) for a in arrays]
        words = [word for _, described in kept for word in described]
        words += host.writable(out)
        words += (health.ctypes.data, count, 1, 0)
        tail = (samples, every * self.substeps, *self._numbers)
        if late is not None:
            kept += [host.strided(a, self.lanes) for a in late]
            words += [word for _, described in kept[-2:] for word in described]
            tail = (*tail, len(late.pending))
        if lengths is not None:
            parts = (lengths / self.substeps).astype(self.dtype)
            kept.append(host.strided(parts.reshape(-1, 1, 1), self.lanes))
            words += kept[-1][1]
        steps = samples * every
        load = host.Load(operations, steps * self.substeps, steps * count)
        keep = kept, out, health
        host.run(
            kernel, words, tail, count, self.lanes, self.threads,
            load=load, keep=keep, progress=progress,
        )  # fmt: skip
        return health

    def bound(
        self, arguments: RolloutArrays, out: AnyArray, late: Late | None = None
    ) -> BoundRollout:
        """`run` for the same arrays over and over, a sample after every step, on one thread.

        Every array has a row per vehicle, shared ones too. It is for few steps: nothing can
        interrupt it.
        """
        kernel, _ = self._compiled(timed=False)
        health = np.zeros((len(HEALTH), out.shape[1]), self.dtype)
        arrays = (*arguments, out, health.T[None], *(late or ()))
        rows = () if late is None else (len(late.pending),)
        bound = BoundRollout(kernel, arrays, health, out.shape[0] - 1, self.tolerance, rows)
        bound.set_step(self.dt, self.substeps)
        return bound

    def _compiled(self, *, timed: bool) -> tuple[Any, int]:
        """The kernel and the operations of a step."""
        # Two threads may both compile it: the kernels are the same.
        if timed not in self._kernels:
            kernel, _ = pipeline.rollout_kernel(
                self.program, self.precision, self.lanes, self.delayed, timed
            )
            self._kernels[timed] = kernel, self.program.executed
        return self._kernels[timed]


class CpuMap:
    """A Program applied to each vehicle once, such as the outputs. Compiled when first used.

    `shared` are the places of input ports that all vehicles share: what follows from them alone is
    computed once in a call.
    """

    def __init__(
        self, program: Program, precision: str, threads: int | None, shared: tuple[int, ...] = ()
    ) -> None:
        self.program, self.precision, self._shared = program, precision, shared
        # What the shared ports decide is kept throughout, and leaves no registers for a second
        # vector per value.
        self.lanes = pipeline.default_lanes(program, precision, registers=1 if shared else 2)
        self.threads = threads or cores()
        self._kernel: Any = None

    def run(
        self, ports: list[AnyArray], count: int, into: list[AnyArray] | None = None
    ) -> list[AnyArray]:
        """The output ports, each (1, count, field), for input ports (1, count or 1, field); `into`
        are arrays to write them to."""
        if self._kernel is None:
            kernel, _ = pipeline.apply_kernel(
                self.program, self.precision, self.lanes, self._shared
            )
            self._kernel = kernel, host.Load(self.program.executed)
        kernel, load = self._kernel
        assert all(ports[k].shape[1] == 1 for k in self._shared)
        sizes = [len(port.fields) for port in self.program.outputs]
        out = into or [np.empty((1, count, size), self.precision) for size in sizes]
        kept = [host.strided(a, self.lanes) for a in ports]
        words = [word for _, described in kept for word in described]
        words += [word for array in out for word in host.writable(array)]
        host.run(kernel, words, (), count, self.lanes, self.threads, load=load, keep=(kept, out))
        return out


class Backward(NamedTuple):
    """What goes into an adjoint sweep, each (step or 1, vehicle or 1, field)."""

    x: AnyArray
    """States at the start of every step."""
    u: AnyArray
    w: AnyArray
    p: AnyArray
    r: AnyArray
    """References of the stage cost."""
    lam: AnyArray
    """Derivative of everything later with respect to the state after the last step, one step."""
    seed: AnyArray
    """Added to λ at the start of every step; a single zero row if there is nothing to add."""


class Swept(NamedTuple):
    """What an adjoint sweep gives, each (step or 1, vehicle, field)."""

    x: AnyArray
    u: AnyArray
    p: AnyArray
    value: AnyArray


class CpuAdjoint:
    """An adjoint Program run backwards over a rollout. Compiled when first used."""

    def __init__(self, program: Program, *, dt: float, precision: str, threads: int | None) -> None:
        self.program, self.precision = program, precision
        self.threads = threads or cores()
        self.dtype: Any = np.dtype(precision)
        # The sums over parameters leave no registers for a second vector per value.
        self.lanes = pipeline.default_lanes(program, precision, registers=1)
        self._dt = host.bits(dt, self.dtype)
        self._kernel: Any = None

    def run(
        self, arrays: Backward, steps: int, count: int, *, progress: Progress | None = None
    ) -> Swept:
        """Derivatives with respect to the first state, the inputs and the parameters.

        The progress is advanced by the steps of all vehicles.
        """
        if self._kernel is None:
            kernel, _ = pipeline.adjoint_kernel(self.program, self.precision, self.lanes)
            self._kernel = kernel, self.program.executed
        kernel, operations = self._kernel
        swept = swept_arrays(np, self.program, arrays, count, self.dtype)
        kept = [host.strided(a, self.lanes) for a in arrays]
        words = [word for _, described in kept for word in described]
        words += [word for array in swept for word in host.writable(array)]
        host.run(
            kernel, words, (steps, self._dt), count, self.lanes, self.threads,
            load=host.Load(operations, steps, steps * count), keep=(kept, swept), progress=progress,
        )  # fmt: skip
        return swept


def swept_arrays(xp: Any, program: Program, arrays: Backward, count: int, dtype: Any) -> Swept:
    """Room for the results of an adjoint sweep, set to zero: most of them are sums."""
    sizes = [len(port.fields) for port in program.outputs]
    rows = (1, arrays.u.shape[0], 1, 1)
    # The vehicle last in memory: neighbouring lanes and threads then touch neighbouring numbers.
    room = (xp.zeros((n, size, count), dtype) for n, size in zip(rows, sizes, strict=True))
    return Swept(*(a.swapaxes(1, 2) for a in room))
