"""Run compiled Programs on the CPU, over arrays (step, vehicle, field).

Bound Programs are for repeated calls with the same arrays: the preparation of the arrays, which
takes longer than a step of a few vehicles, is done once. Their calls run on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..core.progress import Progress
from ..core.threads import cores
from . import host, pipeline
from .program import Program


class BoundMap:
    """A compiled Program bound to fixed arrays: a call reads the inputs and fills the outputs.

    Each array is contiguous, with one number per field of its port, or has the shape
    (1, rows, field) and any strides.
    """

    def __init__(
        self, program: Program, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]
    ) -> None:
        arrays = (*inputs, *outputs)
        self._arrays = [a if a.ndim == 3 else a.reshape(1, 1, -1) for a in arrays]
        rows = max(array.shape[1] for array in self._arrays)
        precision = str(self._arrays[0].dtype)
        self._kernel = pipeline.apply_kernel(program, precision, 1)
        words = [word for array in self._arrays for word in host.writable(array)]
        self._block = np.array([*words, 0, rows], dtype=np.int64)
        self._address = int(self._block.ctypes.data)

    def __call__(self) -> None:
        """Evaluate the Program on the present content of the input arrays."""
        self._kernel(self._address)


class BoundRollout:
    """A rollout bound to fixed arrays, with a sample after every step; see `CpuRollout.bound`.

    Args:
        kernel: compiled `rollout`.
        arrays: the arrays of the kernel in order, one row per vehicle.
        health: status of each vehicle, (3, B); see `HEALTH`.
        samples: number of steps.
        tolerance: largest Newton residual allowed.
        rows: length of the queue of pending inputs, if there is one.
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
        """Run the rollout on the present content of the arrays; return the health, (3, B)."""
        self._kernel(self._address)
        return self.health


class RolloutArrays(NamedTuple):
    """States, inputs, disturbances and parameters of a rollout.

    Each array has the shape (step or 1, vehicle or 1, field).
    """

    x: AnyArray
    u: AnyArray
    w: AnyArray
    p: AnyArray

    @property
    def vehicles(self) -> int:
        return max(array.shape[1] for array in self)


class Late(NamedTuple):
    """Additional arrays of a rollout with delayed inputs."""

    pending: AnyArray
    """Inputs before the first step, (rows, vehicle or 1, field), oldest first."""
    steps: AnyArray
    """Delay of each delayed input in steps, whole numbers (1, vehicle or 1, delayed input)."""


HEALTH = ("diverged", "bad_input", "residual")
"""Names of the three status numbers of a vehicle after a rollout, the rows of `health`.

NaN if a sample was not finite, NaN if an input was not finite, and the largest Newton residual.
"""


class StepOptions(NamedTuple):
    """Options of a compiled step that the CPU and a GPU share."""

    dt: float
    """Step length in s."""
    tolerance: float
    """Newton residual above which a step counts as failed."""
    precision: str
    substeps: int = 1
    delayed: tuple[int, ...] = ()
    """Indices of the delayed inputs."""


class _Engine:
    """Base of the CPU runners: a Program run in SIMD lanes and threads, compiled at the first
    call.
    """

    def __init__(
        self, program: Program, precision: str, lanes: int | None, threads: int | None
    ) -> None:
        self.program, self.precision = program, precision
        self.dtype: Any = np.dtype(precision)
        self.lanes = lanes or pipeline.default_lanes(program, precision)
        self.threads = threads or cores()

    def _launch(
        self,
        kernel: Any,
        load: host.Load,
        read: Sequence[AnyArray],
        written: Sequence[AnyArray],
        tail: Sequence[int] = (),
        *,
        late: Sequence[AnyArray] = (),
        progress: Progress | None = None,
    ) -> None:
        """Run a kernel whose block has the arrays read, the arrays written and those of `late`."""
        count = written[0].shape[1]
        first, last = ([host.strided(a, self.lanes) for a in some] for some in (read, late))
        places = [*(w for _, w in first), *map(host.writable, written), *(w for _, w in last)]
        words = [word for place in places for word in place]
        keep = first, written, last
        host.run(
            kernel, words, tail, count, self.lanes, self.threads,
            load=load, keep=keep, progress=progress,
        )  # fmt: skip


class CpuRollout(_Engine):
    """A step Program run over many vehicles and steps."""

    def __init__(
        self, program: Program, options: StepOptions, lanes: int | None, threads: int | None
    ) -> None:
        super().__init__(program, options.precision, lanes, threads)
        self.dt, self.tolerance, _, self.substeps, self.delayed = options
        numbers = (host.bits(x, self.dtype) for x in (self.dt / self.substeps, self.tolerance))
        self._numbers = (self.substeps, *numbers)
        self._kernels: dict[bool, Any] = {}

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

        With delayed inputs, `late` is required. `lengths` (step,) are the step lengths in s if they
        differ from dt. The progress advances by the steps of all vehicles. A long call can be
        interrupted; see `host.run`.
        """
        kernel = self._compiled(timed=lengths is not None)
        samples, count = out.shape[0] - 1, out.shape[1]
        health = np.zeros((len(HEALTH), count), self.dtype)
        tail = (samples, every * self.substeps, *self._numbers)
        further: list[AnyArray] = []
        if late is not None:
            further, tail = [*late], (*tail, len(late.pending))
        if lengths is not None:
            further.append((lengths / self.substeps).astype(self.dtype).reshape(-1, 1, 1))
        steps = samples * every
        load = host.Load(self.program.executed, steps * self.substeps, steps * count)
        written = (out, health.T[None])
        self._launch(kernel, load, arrays, written, tail, late=further, progress=progress)
        return health

    def bound(
        self, arguments: RolloutArrays, out: AnyArray, late: Late | None = None
    ) -> BoundRollout:
        """Return a rollout that reruns the same arrays on one thread, with a sample per step.

        Every array has one row per vehicle, shared ones too. Meant for few steps: a call cannot be
        interrupted.
        """
        kernel = self._compiled(timed=False)
        health = np.zeros((len(HEALTH), out.shape[1]), self.dtype)
        arrays = (*arguments, out, health.T[None], *(late or ()))
        rows = () if late is None else (len(late.pending),)
        bound = BoundRollout(kernel, arrays, health, out.shape[0] - 1, self.tolerance, rows)
        bound.set_step(self.dt, self.substeps)
        return bound

    def _compiled(self, *, timed: bool) -> Any:
        # Two threads may both compile it: the kernels are the same.
        if timed not in self._kernels:
            self._kernels[timed] = pipeline.rollout_kernel(
                self.program, self.precision, self.lanes, self.delayed, timed
            )
        return self._kernels[timed]


class CpuMap(_Engine):
    """A Program applied to each vehicle once, such as the outputs.

    `shared` are the indices of input ports that all vehicles share: values that depend on them
    alone are computed once per call.
    """

    def __init__(
        self, program: Program, precision: str, threads: int | None, shared: tuple[int, ...] = ()
    ) -> None:
        # Values that depend on shared ports alone occupy registers throughout, which leaves none
        # for a second vector per value.
        lanes = pipeline.default_lanes(program, precision, registers=1 if shared else 2)
        super().__init__(program, precision, lanes, threads)
        self._shared = shared

    @cached_property
    def _kernel(self) -> Any:
        return pipeline.apply_kernel(self.program, self.precision, self.lanes, self._shared)

    def run(
        self, ports: list[AnyArray], count: int, into: list[AnyArray] | None = None
    ) -> list[AnyArray]:
        """Return the output ports, each (1, count, field), for input ports (1, count or 1, field).

        `into` are arrays to write the outputs to.
        """
        assert all(ports[k].shape[1] == 1 for k in self._shared)
        sizes = [len(port.fields) for port in self.program.outputs]
        out = into or [np.empty((1, count, size), self.precision) for size in sizes]
        self._launch(self._kernel, host.Load(self.program.executed), ports, out)
        return out


class Backward(NamedTuple):
    """Arguments of an adjoint sweep, each (step or 1, vehicle or 1, field)."""

    x: AnyArray
    """States at the start of every step."""
    u: AnyArray
    w: AnyArray
    p: AnyArray
    r: AnyArray
    lam: AnyArray
    """Derivative of all later costs with respect to the state after the last step."""
    seed: AnyArray
    """Cost derivatives (cotangents) added to λ at the start of every step; one row of zeros for
    none.
    """


class Swept(NamedTuple):
    """Results of an adjoint sweep, each (step or 1, vehicle, field)."""

    x: AnyArray
    u: AnyArray
    p: AnyArray
    value: AnyArray


class CpuAdjoint(_Engine):
    """An adjoint Program run backwards over a rollout."""

    def __init__(self, program: Program, *, dt: float, precision: str, threads: int | None) -> None:
        # The gradient sums over parameters leave no registers for a second vector per value.
        lanes = pipeline.default_lanes(program, precision, registers=1)
        super().__init__(program, precision, lanes, threads)
        self._dt = host.bits(dt, self.dtype)

    @cached_property
    def _kernel(self) -> Any:
        return pipeline.adjoint_kernel(self.program, self.precision, self.lanes)

    def run(
        self, arrays: Backward, steps: int, count: int, *, progress: Progress | None = None
    ) -> Swept:
        """Return the derivatives with respect to the first state, the inputs and the parameters.

        The progress advances by the steps of all vehicles.
        """
        swept = swept_arrays(np, self.program, arrays, count, self.dtype)
        load = host.Load(self.program.executed, steps, steps * count)
        self._launch(self._kernel, load, arrays, swept, (steps, self._dt), progress=progress)
        return swept


def swept_arrays(xp: Any, program: Program, arrays: Backward, count: int, dtype: Any) -> Swept:
    """Zero arrays for the results of an adjoint sweep, which are accumulated into them."""
    sizes = [len(port.fields) for port in program.outputs]
    rows = (1, arrays.u.shape[0], 1, 1)
    # The vehicle is the fastest axis in memory, so that neighbouring lanes and threads touch
    # neighbouring numbers.
    room = (xp.zeros((n, size, count), dtype) for n, size in zip(rows, sizes, strict=True))
    return Swept(*(a.swapaxes(1, 2) for a in room))
