"""Loops in kernels: `counter` counts, `strips` counts long and can be watched and stopped.

A kernel that may run long looks at a flag in memory between strips of `STRIP` steps and returns
early once it is set. Looking at every step was tried: it made rollouts 4 to 26 % slower.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .host import STRIP, WATCH_WORDS
from .lines import I64, POINTER
from .memory import word


class counter:
    """`with counter(b, start, stop, step)`: a loop that is skipped when empty.

    With `carried` values it yields (index, values now, set values next); after the loop the values
    are in `set.after`.
    """

    def __init__(
        self, b: ir.IRBuilder, start: Any, stop: Any, step: int, carried: list[Any] | None = None
    ) -> None:
        self.b, self.start, self.stop, self.step = b, start, stop, step
        self.carried = carried
        self.following: list[Any] = []
        self.after: list[Any] = []

    def __call__(self, following: list[Any]) -> None:
        """Set the values that the next pass starts with."""
        self.following = following

    def __enter__(self) -> Any:
        b = self.b
        self.before = b.block
        self.loop = b.append_basic_block()
        self.done = b.append_basic_block()
        b.cbranch(b.icmp_signed("<", self.start, self.stop), self.loop, self.done)
        b.position_at_end(self.loop)
        self.index = b.phi(I64)
        self.index.add_incoming(self.start, self.before)
        if self.carried is None:
            return self.index
        self.now = [b.phi(v.type) for v in self.carried]
        for phi, value in zip(self.now, self.carried, strict=True):
            phi.add_incoming(value, self.before)
        return self.index, self.now, self

    def __exit__(self, *_: object) -> None:
        b = self.b
        following = b.add(self.index, word(self.step))
        self.index.add_incoming(following, b.block)
        latch = b.block
        for phi, value in zip(getattr(self, "now", []), self.following, strict=True):
            phi.add_incoming(value, latch)
        b.cbranch(b.icmp_signed("<", following, self.stop), self.loop, self.done)
        b.position_at_end(self.done)
        if self.carried is not None:
            self.after = merged(b, self.carried, self.before, self.following, latch)


def merged(b: Any, values: list[Any], block: Any, others: list[Any], other_block: Any) -> list[Any]:
    """Values as they come from either of two blocks."""
    phis: list[Any] = []
    for value, other in zip(values, others, strict=True):
        phi = b.phi(value.type)
        phi.add_incoming(value, block)
        phi.add_incoming(other, other_block)
        phis.append(phi)
    return phis


class Watch:
    """The `WATCH_WORDS` of a block, which begin at word `at`, and the words after them."""

    def __init__(self, b: ir.IRBuilder, block: Any, at: int) -> None:
        self._block, self._at = block, at
        self.begin, self.end, flag = (self._load(b, k) for k in range(3))
        self._flag = b.inttoptr(flag, POINTER)

    def words(self, b: ir.IRBuilder, count: int) -> list[Any]:
        """The first words after those of the watch."""
        return [self._load(b, len(WATCH_WORDS) + k) for k in range(count)]

    def return_if_stopped(self, b: ir.IRBuilder) -> None:
        """Leave the kernel if the flag is set. The flag is read anew every time."""
        stopped = b.load_atomic(self._flag, "monotonic", 8, typ=I64)
        with b.if_then(b.icmp_signed("!=", stopped, word(0)), likely=False):
            b.ret_void()

    def count_strip(self, b: ir.IRBuilder) -> None:
        """Let whoever watches know that a strip is done."""
        place = self._address(b, WATCH_WORDS.index("strips"))
        b.store(b.add(b.load(place, typ=I64), word(1)), place)

    def _address(self, b: ir.IRBuilder, k: int) -> Any:
        return b.gep(self._block, [word(self._at + k)], source_etype=I64)

    def _load(self, b: ir.IRBuilder, k: int) -> Any:
        return b.load(self._address(b, k), typ=I64)


class strips:
    """`with strips(b, watch, stop, carried)`: a `counter` from 0 that stops when it is told to."""

    def __init__(self, b: ir.IRBuilder, watch: Watch, stop: Any, carried: list[Any]) -> None:
        self._b, self._watch, self._stop = b, watch, stop
        self._outer = counter(b, word(0), stop, STRIP, carried)

    def __enter__(self) -> Any:
        b = self._b
        first, now, _ = self._outer.__enter__()
        self._watch.return_if_stopped(b)
        past = b.add(first, word(STRIP))
        past = b.select(b.icmp_signed("<", past, self._stop), past, self._stop)
        self._inner = counter(b, first, past, 1, now)
        return self._inner.__enter__()

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)
        self._watch.count_strip(self._b)
        self._outer(self._inner.after)
        self._outer.__exit__(*error)

    @property
    def after(self) -> list[Any]:
        """The carried values after the loop."""
        return self._outer.after
