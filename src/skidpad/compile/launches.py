"""Kernels on a device, piece by piece of time: a launch lasts at most some 0.2 s.

A launch cannot be stopped, so a long rollout or sweep is split in time and Python runs between the
pieces. What one piece hands to the next (states, sums, the health of the vehicles) goes through
memory; steps are counted from the start of the whole, so the bits are those of a single launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from ..progress import Progress
from .cpu import HEALTH, Backward, Late, RolloutArrays, Swept

Launch = Callable[[int, Sequence[Any], Sequence[Any]], object]
"""`launch(count, arrays, tail)`: one thread per vehicle, with views of arrays (step, vehicle,
field), then arrays by their address alone and numbers."""

_SHORT, _FIRST, _LONG = 0.05, 0.01, 0.1
"""Times in s: what is estimated to take less is one launch; else the first piece is to take so much
by the estimate, and the others by what was measured."""
_GROWTH = 16
"""Most times as long as the one before that a piece may be: a short one is measured badly."""


class RolloutLaunch:
    """The launches of one rollout. `health` are (3, vehicle), the numbers of `cpu.HEALTH`.

    Args:
        launch: runs the kernel of `cuda.emit`.
        xp: the library of the arrays.
        arrays, out, every, late: as in `CudaRollout.run`.
        substeps: of a step.
        dt, tolerance: of a sub-step, as numbers of the precision; dt may be an array of one for
            each step.
    """

    def __init__(
        self,
        launch: Launch,
        xp: Any,
        arrays: RolloutArrays,
        out: Any,
        every: int,
        late: Late | None = None,
        *,
        substeps: int,
        dt: Any,
        tolerance: Any,
    ) -> None:
        self._launch, self._xp, self._out = launch, xp, out
        self._x, *self._held = (*arrays, *(late or ()))
        self._every, self._substeps = every, substeps
        self._numbers = [dt, tolerance]
        self._pending = [] if late is None else [len(late.pending)]
        self.steps: int = (out.shape[0] - 1) * every
        self.count: int = out.shape[1]
        self.health = xp.zeros((len(HEALTH), self.count), out.dtype)

    def __call__(self, begin: int, end: int) -> None:
        """Launch the steps from `begin` to before `end`; those before must have been launched."""
        n, more = self._substeps, end < self.steps
        after = self._states() if more else self._out[:1]
        steps = [begin * n, end * n, self.steps * n, self._every * n, n]
        tail = [self.health, self.count, *steps, *self._numbers, *self._pending]
        self._launch(self.count, (self._x, *self._held, self._out, after), tail)
        if more:
            self._x = after

    def _states(self) -> Any:
        # The vehicle last in memory: neighbouring threads then touch neighbouring numbers.
        room = self._xp.empty((1, self._out.shape[2], self.count), self._out.dtype)
        return room.swapaxes(1, 2)


class AdjointLaunch:
    """The launches of one adjoint sweep into `swept`, whose arrays must be zero at first.

    Args:
        launch: runs the kernel of `cuda.emit_adjoint`.
        arrays, steps: as in `CudaAdjoint.run`.
        swept: the results.
        dt: step, as a number of the precision.
    """

    def __init__(
        self, launch: Launch, arrays: Backward, swept: Swept, steps: int, count: int, dt: Any
    ) -> None:
        self._launch, self._arrays, self._swept = launch, arrays, swept
        self.steps, self.count, self._dt = steps, count, dt

    def __call__(self, begin: int, end: int) -> None:
        """Launch the steps from `begin` to before `end`, counted backwards from the last one."""
        if begin:
            self._arrays = self._arrays._replace(lam=self._swept.x.copy())
        steps = [self.steps - end, self.steps - begin]
        self._launch(self.count, (*self._arrays, *self._swept), [self.count, *steps, self._dt])


class Pieces:
    """Splits the steps of one kernel into launches and learns how long a step takes.

    Args:
        operations: of one vehicle in one step, at most.
        wait: waits until everything launched is done.
        clock: the time in s.
    """

    def __init__(
        self,
        operations: int,
        wait: Callable[[], object],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._operations, self._wait, self._clock = operations, wait, clock
        self._measured: dict[int, float] = {}
        """Time of a step in s, by the number of vehicles."""

    def run(self, launch: RolloutLaunch | AdjointLaunch, progress: Progress | None = None) -> None:
        """Launch all steps; returns when all but the last piece are done."""
        steps, count = launch.steps, launch.count
        step, first = self._measured.get(count), _LONG
        if step is None:
            step, first = self._estimate(count), _FIRST
        size = steps if steps * step <= _SHORT else max(1, int(first / step))
        if size < steps:
            self._wait()
        begin = 0
        while begin < steps:
            end, start = min(steps, begin + size), self._clock()
            launch(begin, end)
            if end < steps:
                self._wait()
                step = self._measured[count] = (self._clock() - start) / (end - begin)
                size = max(1, min(_GROWTH * size, int(_LONG / max(step, 1e-12))))
            if progress is not None:
                progress.advance((end - begin) * count)
            begin = end

    def _estimate(self, count: int) -> float:
        """The most time in s that a step takes on a slow device: latency and throughput."""
        return self._operations * (2e-8 + 2e-11 * count)
