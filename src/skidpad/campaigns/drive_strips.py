"""What drives the runs of a drive, strip by strip: inputs, the log beside them, drawn numbers.

Disturbances and noise of many steps are drawn ahead, so that one call of the kernel runs them all.
A model that looks at the states of the runs gets them: then a strip is one step.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..arrays import Array
from ..random import UncertaintyModel
from ..random.model import sampled as drawn
from .drive_loop import Strip
from .drive_rows import Prepared, RowArrays
from .experiment import Rows

MOST_NUMBERS = 4_000_000
"""Numbers in the arrays of a strip: 32 MB."""
LONGEST = 1024
"""Steps of a strip of runs for which something is drawn."""


class Course(NamedTuple):
    """How long, and what happens on the way."""

    steps: int
    disturbance: UncertaintyModel | None
    noise: UncertaintyModel | None
    log: Array | None
    """(steps + 1, columns)"""


class Strips:
    """Called with the states of all runs, (runs, n), it gives the next strip; None at the end."""

    def __init__(
        self,
        course: Course,
        arrays: RowArrays,
        rows: Rows,
        prepared: Prepared,
        threads: int | None = None,
    ) -> None:
        self._course, self._arrays, self._rows, self._prepared = course, arrays, rows, prepared
        self._threads = threads
        count = len(rows.runs)
        self._models = {"disturbance": course.disturbance, "noise": course.noise}
        self._memory = {
            name: None if model is None else model.start(count)
            for name, model in self._models.items()
        }
        self._done, self._longest = 0, self._length(count)

    def _length(self, count: int) -> int:
        """Steps of a strip: all of them, where its arrays stay small."""
        course, (_, _, u, w) = self._course, self._prepared
        drawing = course.disturbance is not None or course.noise is not None
        if not drawing and (course.log is None or u.shape[1] == 1):
            return course.steps
        noise = 0 if course.noise is None else course.noise.dim
        width = u.shape[2] + w.shape[2] + noise
        return max(1, min(LONGEST, MOST_NUMBERS // (count * max(width, 1))))

    def __call__(self, states: Array) -> Strip | None:
        """The next steps."""
        if self._done == self._course.steps:
            return None
        steps = min(self._longest, self._course.steps - self._done)
        try:
            drawn_ahead = self._drawn(steps, _AHEAD if steps > 1 else states)
        except _StatesNeeded:
            self._longest = steps = 1
            drawn_ahead = self._drawn(steps, states)
        strip = self._strip(steps, drawn_ahead)
        self._done += steps
        return strip

    def _drawn(self, steps: int, states: Any) -> dict[str, Array]:
        """Rows (steps, runs, n) of what is drawn; states of the vehicle for one step, else none."""
        memory, table = dict(self._memory), dict[str, list[Array]]()
        draws = {
            name: self._arrays.draw(self._rows, name, self._threads)
            for name, model in self._models.items()
            if model is not None
        }
        for step in range(self._done, self._done + steps):
            for name, draw in draws.items():
                model = self._models[name]
                assert model is not None
                numbers, memory[name] = drawn(model, draw.at(step), memory[name], states)
                table.setdefault(name, []).append(numbers)
        self._memory = memory
        return {name: np.stack(numbers) for name, numbers in table.items()}

    def _strip(self, steps: int, drawn_ahead: dict[str, Array]) -> Strip:
        _, _, u, w = self._prepared
        rows = slice(self._done, self._done + steps)
        u = u if len(u) == 1 else u[rows]
        u = _beside(u, drawn_ahead.get("noise"))
        log = self._course.log
        last = u[-1:]
        if log is not None:
            last = _beside(last, log[None, rows.stop : rows.stop + 1])
            u = _beside(u, log[rows, None])
        return Strip(steps, u, drawn_ahead.get("disturbance", w), last)


def _beside(a: Array, b: Array | None) -> Array:
    """The fields of two arrays (1 or steps, 1 or runs, field) in one."""
    if b is None:
        return a
    outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
    return np.concatenate(
        [np.broadcast_to(part, (*outer, part.shape[2])) for part in (a, b)], axis=2
    )


class _StatesNeeded(Exception):
    """A model looked at the states, which are not there yet."""


class _Ahead:
    """Stands for states that are not there yet: whoever looks at them is told."""

    def _needed(self, *_: Any, **__: Any) -> NoReturn:
        raise _StatesNeeded

    __getattr__ = __getitem__ = __len__ = __iter__ = __bool__ = __float__ = _needed
    __array__ = __array_ufunc__ = __array_function__ = __eq__ = __ne__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __abs__ = _needed
    __hash__ = object.__hash__


_AHEAD: Any = _Ahead()
