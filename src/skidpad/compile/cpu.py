"""Engines that run compiled Programs on the processor, over arrays (step, vehicle, field)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from . import host, pipeline
from .program import Program


class Given(NamedTuple):
    """What goes into a rollout, each (step or 1, vehicle or 1, field)."""

    x: AnyArray
    u: AnyArray
    w: AnyArray
    p: AnyArray


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
        self.threads = threads or host.cores()
        dt_bits = host.bits(dt / substeps, self.dtype)
        self._numbers = (substeps, dt_bits, host.bits(tolerance, self.dtype))
        self._kernel: Any = None

    def run(self, given: Given, out: AnyArray, every: int, late: Late | None = None) -> AnyArray:
        """Fill `out` (sample, vehicle, field) after its first sample; returns the health.

        With delayed inputs, `late` is needed.
        """
        self._compiled()
        samples, count = out.shape[0] - 1, out.shape[1]
        health = np.zeros((len(HEALTH), count), self.dtype)
        kept = [host.strided(a, self.lanes) for a in given]
        words = [word for _, described in kept for word in described]
        words += host.writable(out)
        words += (health.ctypes.data, count, 1, 0)
        tail = (samples, every * self.substeps, *self._numbers)
        if late is not None:
            kept += [host.strided(a, self.lanes) for a in late]
            words += [word for _, described in kept[-2:] for word in described]
            tail = (*tail, len(late.pending))
        host.run(self._kernel, words, tail, count, self.lanes, self.threads)
        return health

    def bound(self, given: Given, out: AnyArray, every: int) -> Callable[[], AnyArray]:
        """`run` for the same arrays over and over, one row per vehicle, on one thread.

        What a run has to work out about its arrays is worked out once: a step of a few vehicles
        takes less time than that.
        """
        self._compiled()
        samples, count = out.shape[0] - 1, out.shape[1]
        health = np.zeros((len(HEALTH), count), self.dtype)
        words = [word for array in (*given, out) for word in host.writable(array)]
        words += [health.ctypes.data, count, 1, 0, 0, count]
        words += [samples, every * self.substeps, *self._numbers]
        block, kernel = np.array(words, dtype=np.int64), self._kernel
        address, kept = block.ctypes.data, (block, *given, out)

        def again() -> AnyArray:
            assert kept
            health[:] = 0.0
            kernel(address)
            return health

        return again

    def _compiled(self) -> None:
        if self._kernel is None:
            self._kernel, _ = pipeline.rollout_kernel(
                self.program, self.precision, self.lanes, self.delayed
            )


class CpuMap:
    """A Program applied to each vehicle once, such as the outputs. Compiled when first used."""

    def __init__(self, program: Program, precision: str, threads: int | None) -> None:
        self.program, self.precision = program, precision
        self.lanes = pipeline.default_lanes(program, precision)
        self.threads = threads or host.cores()
        self._kernel: Any = None

    def run(self, given: list[AnyArray], count: int) -> list[AnyArray]:
        """The output ports, each (1, count, field), for input ports (1, count or 1, field)."""
        if self._kernel is None:
            self._kernel, _ = pipeline.apply_kernel(self.program, self.precision, self.lanes)
        sizes = [len(port.fields) for port in self.program.outputs]
        out = [np.empty((1, count, size), self.precision) for size in sizes]
        kept = [host.strided(a, self.lanes) for a in given]
        words = [word for _, described in kept for word in described]
        words += [word for array in out for word in host.writable(array)]
        host.run(self._kernel, words, (), count, self.lanes, self.threads)
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
        self.threads = threads or host.cores()
        self.dtype: Any = np.dtype(precision)
        # The sums over parameters leave no registers for a second vector per value.
        self.lanes = pipeline.default_lanes(program, precision, registers=1)
        self._dt = host.bits(dt, self.dtype)
        self._kernel: Any = None

    def run(self, given: Backward, steps: int, count: int) -> Swept:
        """Derivatives with respect to the first state, the inputs and the parameters."""
        if self._kernel is None:
            self._kernel, _ = pipeline.adjoint_kernel(self.program, self.precision, self.lanes)
        made = swept_arrays(np, self.program, given, count, self.dtype)
        kept = [host.strided(a, self.lanes) for a in given]
        words = [word for _, described in kept for word in described]
        words += [word for array in made for word in host.writable(array)]
        host.run(self._kernel, words, (steps, self._dt), count, self.lanes, self.threads)
        return made


def swept_arrays(xp: Any, program: Program, given: Backward, count: int, dtype: Any) -> Swept:
    """Room for the results of an adjoint sweep, with the inputs' part set to zero."""
    sizes = [len(port.fields) for port in program.outputs]
    # The vehicle last in memory: neighbouring lanes and threads then touch neighbouring numbers.
    x, p, value = (xp.empty((1, size, count), dtype) for size in (sizes[0], *sizes[2:]))
    u = xp.zeros((given.u.shape[0], sizes[1], count), dtype)
    return Swept(*(a.swapaxes(1, 2) for a in (x, u, p, value)))
