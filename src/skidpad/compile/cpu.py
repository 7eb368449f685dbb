"""Engines that run compiled Programs on the processor, over arrays (step, vehicle, field)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import host, pipeline
from .host import Array
from .program import Program


class Given(NamedTuple):
    """What goes into a rollout, each (step or 1, vehicle or 1, field)."""

    x: Array
    u: Array
    w: Array
    p: Array


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
    ) -> None:
        self.program, self.precision = program, precision
        self.dtype: Any = np.dtype(precision)
        self.lanes = lanes or pipeline.default_lanes(program, precision)
        self.threads = threads or host.cores()
        self._numbers = (host.bits(dt, self.dtype), host.bits(tolerance, self.dtype))
        self._kernel: Any = None

    def run(self, given: Given, out: Array, every: int) -> Array:
        """Fill `out` (sample, vehicle, field) after its first sample; returns the health."""
        if self._kernel is None:
            self._kernel, _ = pipeline.rollout_kernel(self.program, self.precision, self.lanes)
        samples, count = out.shape[0] - 1, out.shape[1]
        health = np.zeros((len(HEALTH), count), self.dtype)
        kept = [host.strided(a, self.lanes) for a in given]
        words = [word for _, described in kept for word in described]
        words += host.writable(out)
        words += (health.ctypes.data, count, 1, 0)
        tail = (samples, every, *self._numbers)
        host.run(self._kernel, words, tail, count, self.lanes, self.threads)
        return health


class CpuMap:
    """A Program applied to each vehicle once, such as the outputs. Compiled when first used."""

    def __init__(self, program: Program, precision: str, threads: int | None) -> None:
        self.program, self.precision = program, precision
        self.lanes = pipeline.default_lanes(program, precision)
        self.threads = threads or host.cores()
        self._kernel: Any = None

    def run(self, given: list[Array], count: int) -> Array:
        """The first output port, (1, count, field), for input ports (1, count or 1, field)."""
        if self._kernel is None:
            self._kernel, _ = pipeline.apply_kernel(self.program, self.precision, self.lanes)
        out = np.empty((1, count, len(self.program.outputs[0].fields)), self.precision)
        kept = [host.strided(a, self.lanes) for a in given]
        words = [word for _, described in kept for word in described] + list(host.writable(out))
        host.run(self._kernel, words, (), count, self.lanes, self.threads)
        return out
