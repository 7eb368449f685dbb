"""Parts of kernels: counted loops, the rounding mode, and strided memory.

`counter` is a plain loop. `strips` is a long loop that can be watched and stopped: a kernel that
may run long reads a flag in memory between strips of `STRIP` steps and returns early once it is
set. Reading it at every step made rollouts 4 to 26 % slower.

Kernels round to nearest whatever the mode of their caller, and restore that mode. A program that
hosts a Simulator may have changed the rounding of the processor, or flush tiny numbers to zero
(code built with -ffast-math does when it is loaded). The bits of a kernel must not depend on that:
it sets the processor's control register at its entry if necessary, and restores it at its end.

A kernel reads arrays of any layout. Field f of vehicle v at step k lies at
`base + f*field + v*vehicle + k*step`, strides counted in numbers. Neighbouring vehicles in memory
are read as one vector, any other layout by gather. The last vehicles of a batch are repeated to
fill the lanes; storing them again writes the same bits to the same place.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from copy import copy
from typing import Any

from llvmlite import ir

from .host import STRIP, WATCH_WORDS
from .llvm_text import I1, I32, I64, POINTER, Target

X86_USUAL, X86_STATUS = 0x1F80, 0x3F
"""Default value of the control register MXCSR, and the mask of its status bits.

Status bits only record exceptions (Intel, *Software Developer's Manual*, volume 1, 10.2.3).
"""
ARM_USUAL = 0
"""Default value of the control register FPCR (Arm, *Architecture Reference Manual*, C5.2)."""
INNER = ".inner"
"""Suffix of the functions that `entered` makes callable."""


def entered(module: ir.Module, *names: str) -> ir.Module:
    """Add a function NAME for each NAME.inner, which it calls with rounding to nearest."""
    machine = platform.machine().lower()
    register: _Mxcsr | _Fpcr | None = None
    if machine in ("x86_64", "amd64"):
        register = _Mxcsr(module)
    elif machine in ("aarch64", "arm64"):
        register = _Fpcr(module)
    for name in names:
        _enter(module, name, register)
    return module


def _enter(module: ir.Module, name: str, register: _Mxcsr | _Fpcr | None) -> None:
    inner: Any = module.globals[name + INNER]
    inner.linkage = "internal"
    outer = ir.Function(module, inner.function_type, name)
    b = ir.IRBuilder(outer.append_basic_block())
    before = usual = None
    if register is not None:
        before = register.read(b)
        usual = register.is_usual(b, before)
        with b.if_then(b.not_(usual), likely=False):
            register.write(b, register.usual)
    result = b.call(inner, outer.args)
    if register is not None:
        with b.if_then(b.not_(usual), likely=False):
            register.write(b, before)
    if isinstance(inner.function_type.return_type, ir.VoidType):
        b.ret_void()
    else:
        b.ret(result)


class _Mxcsr:
    usual: Any = ir.Constant(I32, X86_USUAL)

    def __init__(self, module: ir.Module) -> None:
        kind = ir.FunctionType(ir.VoidType(), [POINTER])
        self._store = ir.Function(module, kind, "llvm.x86.sse.stmxcsr")
        self._load = ir.Function(module, kind, "llvm.x86.sse.ldmxcsr")

    def read(self, b: ir.IRBuilder) -> Any:
        place = b.alloca(I32)
        b.call(self._store, [place])
        return b.load(place, typ=I32)

    def write(self, b: ir.IRBuilder, value: Any) -> None:
        with b.goto_entry_block():
            place = b.alloca(I32)
        b.store(value, place)
        b.call(self._load, [place])

    def is_usual(self, b: ir.IRBuilder, value: Any) -> Any:
        control = b.and_(value, ir.Constant(I32, 0xFFFF & ~X86_STATUS))
        return b.icmp_unsigned("==", control, self.usual)


class _Fpcr:
    usual: Any = ir.Constant(I64, ARM_USUAL)

    def __init__(self, module: ir.Module) -> None:
        self._get = ir.Function(module, ir.FunctionType(I64, []), "llvm.aarch64.get.fpcr")
        kind = ir.FunctionType(ir.VoidType(), [I64])
        self._set = ir.Function(module, kind, "llvm.aarch64.set.fpcr")

    def read(self, b: ir.IRBuilder) -> Any:
        return b.call(self._get, [])

    def write(self, b: ir.IRBuilder, value: Any) -> None:
        b.call(self._set, [value])

    def is_usual(self, b: ir.IRBuilder, value: Any) -> Any:
        return b.icmp_unsigned("==", value, self.usual)


SLOTS = ("base", "field", "vehicle", "step")
"""The 64-bit words that describe one array to a kernel, in order."""


def word(value: int) -> Any:
    return ir.Constant(I64, value)


class View:
    """One strided array inside a kernel; its description is read from the argument block."""

    def __init__(self, target: Target, b: ir.IRBuilder, block: Any, slot: int) -> None:
        self.target = target
        read = [b.load(b.gep(block, [word(slot + k)], source_etype=I64), typ=I64) for k in range(4)]
        self.base = b.inttoptr(read[0], POINTER)
        self.field, self.vehicle, self.step = read[1:]

    def instead(self, **words: Any) -> View:
        """A copy of the view with other words: `base` as a pointer, `field`, `vehicle`, `step`."""
        other = copy(self)
        for name, value in words.items():
            setattr(other, name, value)
        return other

    def load_field(self, b: ir.IRBuilder, group: Group, field: int, step: Any) -> Any:
        """Load one field of this group of vehicles as a vector."""
        return self.load(b, group, range(field, field + 1), step)[0]

    def load(
        self, b: ir.IRBuilder, group: Group, fields: int | Sequence[int], step: Any = None
    ) -> list[Any]:
        """Load some fields, or the first `fields` ones, of this group of vehicles as vectors."""
        fields = range(fields) if isinstance(fields, int) else fields
        if not fields:
            return []
        if self.target.lanes == 1:
            return [
                self._aligned(b.load(p, typ=self.target.scalar))
                for p in self._addresses(b, group, fields, step)
            ]
        side_by_side = b.icmp_signed("==", self.vehicle, word(1))
        shared = b.icmp_signed("==", self.vehicle, word(0))
        contiguous = b.or_(b.and_(side_by_side, group.full), shared)
        with b.if_else(contiguous) as (yes, no):
            with yes:
                direct = [
                    self._aligned(b.load(p, typ=self.target.vector))
                    for p in self._addresses(b, group, fields, step)
                ]
                from_yes = b.block
            with no:
                gathered = [self._gather(b, group, f, step) for f in fields]
                from_no = b.block
        return merged(b, direct, from_yes, gathered, from_no)

    def store(self, b: ir.IRBuilder, group: Group, values: list[Any], step: Any = None) -> None:
        """Store the vectors of all fields of this group of vehicles."""
        if self.target.lanes == 1:
            self._store_direct(b, group, values, step)
            return
        side_by_side = b.icmp_signed("==", self.vehicle, word(1))
        with b.if_else(b.and_(side_by_side, group.full)) as (yes, no):
            with yes:
                self._store_direct(b, group, values, step)
            with no:
                for f, value in enumerate(values):
                    self._scatter(b, group, f, value, step)

    def _store_direct(self, b: ir.IRBuilder, group: Group, values: list[Any], step: Any) -> None:
        for pointer, value in zip(
            self._addresses(b, group, range(len(values)), step), values, strict=True
        ):
            self._aligned(b.store(value, pointer))

    def _aligned(self, access: Any) -> Any:
        access.align = self.target.bytes
        return access

    def _offset(self, b: ir.IRBuilder, field: int, step: Any) -> Any:
        offset = b.mul(word(field), self.field)
        return offset if step is None else b.add(offset, b.mul(step, self.step))

    def _addresses(
        self, b: ir.IRBuilder, group: Group, fields: Sequence[int], step: Any
    ) -> list[Any]:
        first = b.mul(group.first, self.vehicle)
        return [
            b.gep(
                self.base, [b.add(first, self._offset(b, f, step))], source_etype=self.target.scalar
            )
            for f in fields
        ]

    def _lane_pointers(self, b: ir.IRBuilder, group: Group, field: int, step: Any) -> Any:
        return self._pointers(b, group, self.target.splat(b, self._offset(b, field, step)))

    def pointers(self, b: ir.IRBuilder, group: Group, field: int, steps: Any) -> Any:
        """Pointers to a field of each lane's vehicle, with a step per lane."""
        t = self.target
        rows = b.mul(steps, t.splat(b, self.step))
        return self._pointers(b, group, b.add(rows, t.splat(b, self._offset(b, field, None))))

    def _pointers(self, b: ir.IRBuilder, group: Group, offsets: Any) -> Any:
        t = self.target
        offsets = b.add(b.mul(group.lanes, t.splat(b, self.vehicle)), offsets)
        pointers = ir.VectorType(POINTER, t.lanes)
        base = b.ptrtoint(self.base, I64)
        scaled = b.mul(offsets, t.everywhere(word(t.bytes)))
        return b.inttoptr(b.add(scaled, t.splat(b, base)), pointers)

    def _gather(self, b: ir.IRBuilder, group: Group, field: int, step: Any) -> Any:
        return self.gather(b, self._lane_pointers(b, group, field, step))

    def gather(self, b: ir.IRBuilder, pointers: Any) -> Any:
        """Load the numbers at the lanes' pointers."""
        t = self.target
        name = f"llvm.masked.gather.{t.suffix}.v{t.lanes}p0"
        everywhere = t.everywhere(ir.Constant(I1, 1))
        kind = ir.FunctionType(t.vector, [pointers.type, I32, everywhere.type, t.vector])
        function = t.module.globals.get(name) or ir.Function(t.module, kind, name)
        align = ir.Constant(I32, t.bytes)
        return b.call(function, [pointers, align, everywhere, t.number(0.0)])

    def _scatter(self, b: ir.IRBuilder, group: Group, field: int, value: Any, step: Any) -> None:
        t = self.target
        pointers = self._lane_pointers(b, group, field, step)
        name = f"llvm.masked.scatter.{t.suffix}.v{t.lanes}p0"
        everywhere = t.everywhere(ir.Constant(I1, 1))
        kind = ir.FunctionType(ir.VoidType(), [t.vector, pointers.type, I32, everywhere.type])
        function = t.module.globals.get(name) or ir.Function(t.module, kind, name)
        b.call(function, [value, pointers, ir.Constant(I32, t.bytes), everywhere])


class Group:
    """The vehicles processed by one pass of the vector code: `first`, `first + 1`, ..."""

    def __init__(self, target: Target, b: ir.IRBuilder, first: Any, end: Any) -> None:
        self.first = first
        n = target.lanes
        if n == 1:
            return
        self.full = b.icmp_signed("<=", b.add(first, word(n)), end)
        steps = ir.Constant(ir.VectorType(I64, n), list(range(n)))
        indices = b.add(target.splat(b, first), steps)
        last = target.splat(b, b.sub(end, word(1)))
        beyond = b.icmp_signed(">", indices, last)
        self.lanes = b.select(beyond, last, indices)
        """Index of the vehicle in each lane, the last one repeated past the end of the batch."""


class counter:
    """`with counter(b, start, stop, step)`: a loop that is skipped when empty.

    With `carried` values it yields (index, current values, setter of the next values); after the
    loop the values are in the setter's `after`.
    """

    def __init__(
        self, b: ir.IRBuilder, start: Any, stop: Any, step: int, carried: list[Any] | None = None
    ) -> None:
        self.b, self.start, self.stop, self.step = b, start, stop, step
        self.carried = carried
        self.following: list[Any] = []
        self.after: list[Any] = []

    def __call__(self, following: list[Any]) -> None:
        """Set the values for the start of the next pass."""
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
    """Merge the values of two blocks by phi nodes."""
    phis: list[Any] = []
    for value, other in zip(values, others, strict=True):
        phi = b.phi(value.type)
        phi.add_incoming(value, block)
        phi.add_incoming(other, other_block)
        phis.append(phi)
    return phis


class Watch:
    """The `WATCH_WORDS` in an argument block, from word `at` on, and the words after them."""

    def __init__(self, b: ir.IRBuilder, block: Any, at: int) -> None:
        self._block, self._at = block, at
        self.begin, self.end, flag = (self._load(b, k) for k in range(3))
        self._flag = b.inttoptr(flag, POINTER)

    def words(self, b: ir.IRBuilder, count: int) -> list[Any]:
        """The first `count` words after the `WATCH_WORDS`."""
        return [self._load(b, len(WATCH_WORDS) + k) for k in range(count)]

    def return_if_stopped(self, b: ir.IRBuilder) -> None:
        """Return from the kernel if the stop flag is set. The flag is read anew every time."""
        stopped = b.load_atomic(self._flag, "monotonic", 8, typ=I64)
        with b.if_then(b.icmp_signed("!=", stopped, word(0)), likely=False):
            b.ret_void()

    def count_strip(self, b: ir.IRBuilder) -> None:
        """Count a finished strip, for the thread that watches."""
        place = self._address(b, WATCH_WORDS.index("strips"))
        b.store(b.add(b.load(place, typ=I64), word(1)), place)

    def _address(self, b: ir.IRBuilder, k: int) -> Any:
        return b.gep(self._block, [word(self._at + k)], source_etype=I64)

    def _load(self, b: ir.IRBuilder, k: int) -> Any:
        return b.load(self._address(b, k), typ=I64)


class strips:
    """`with strips(b, watch, stop, carried)`: a `counter` from 0 that a flag can stop."""

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
        return self._outer.after
