"""Kernels, the loops around a Program: `rollout` over vehicles and time, `apply` over vehicles,
`tick` for one vehicle, and the discrete adjoint backwards over the recorded states of a rollout.

Each takes one block of 64-bit words (and numbers), with its layout in the docstring, so that a call
from Python passes a single pointer and may run without the interpreter lock.

Delayed inputs: in lanes, each delayed input is read some rows before the present one. Rows before
the first one of a rollout lie in a second array, `pending`, oldest first. Where all vehicles have
the same delay a row is read like any other; else every lane has its own row.

Parameters of a vehicle are values that a loop keeps in registers. A network has many hundreds:
written out one by one, their loads alone took LLVM most of its time, and all would be alive
throughout the loop. They, and sums over steps for each of them, lie in memory instead; loops over
the fields load and store them, and each is read where it is used.

The adjoint reads, for each step from the last to the first, the state and the input of the step,
calls the adjoint Program and carries λ, the derivative of all later costs with respect to the
state.

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
from typing import Any, NamedTuple

from llvmlite import ir

from .host import STRIP, TICK_BAD_INPUT, TICK_DIVERGED, TICK_NOT_CONVERGED, TICK_OK, WATCH_WORDS
from .llvm import Body, InMemory, finite_check, room
from .llvm_text import I1, I32, I64, POINTER, Target
from .passes import step_values
from .program import Program

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
    """A strided array inside a kernel; address and strides are read from the argument block."""

    def __init__(self, target: Target, b: ir.IRBuilder, block: Any, slot: int) -> None:
        self.target = target
        read = [b.load(b.gep(block, [word(slot + k)], source_etype=I64), typ=I64) for k in range(4)]
        self.base = b.inttoptr(read[0], POINTER)
        self.field, self.vehicle, self.step = read[1:]

    def instead(self, **words: Any) -> View:
        """Return a copy of the view with other words: `base` as a pointer, `field`, `vehicle`,
        `step`.
        """
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
        """Load selected fields, or the first `fields` fields, of this group of vehicles as
        vectors.
        """
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
    """Merge the values that two basic blocks compute, by phi nodes."""
    phis: list[Any] = []
    for value, other in zip(values, others, strict=True):
        phi = b.phi(value.type)
        phi.add_incoming(value, block)
        phi.add_incoming(other, other_block)
        phis.append(phi)
    return phis


class Watch:
    """Access to the `WATCH_WORDS` in an argument block, from word `at` on, and to the words after
    them.
    """

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


class LateViews(NamedTuple):
    """Arrays of the delayed inputs."""

    u: View
    """Inputs (step or 1, vehicle, field)."""
    pending: View
    """Rows before the first of `u`, oldest first."""
    late: View
    """Delay of each delayed input in steps, whole numbers (1, vehicle, delayed input)."""
    rows: Any
    """Number of rows of `pending`."""


class LateInputs:
    """The delayed inputs of one group of vehicles; `fields` are their indices in the input."""

    def __init__(
        self, target: Target, b: Any, views: LateViews, group: Group, fields: tuple[int, ...]
    ) -> None:
        self.target, self.views, self.group, self.fields = target, views, group, fields
        whole = I64 if target.lanes == 1 else ir.VectorType(I64, target.lanes)
        self.steps = [b.fptosi(n, whole) for n in views.late.load(b, group, len(fields))]
        self.shared = b.icmp_signed("==", views.late.vehicle, word(0))

    def load(self, b: Any, step: Any) -> list[Any]:
        """Load the delayed inputs in effect at a step, one vector per input."""
        pairs = zip(self.fields, self.steps, strict=True)
        if self.target.lanes == 1:
            return [self._together(b, field, b.sub(step, steps)) for field, steps in pairs]
        return [self._one(b, field, steps, step) for field, steps in pairs]

    def _one(self, b: Any, field: int, steps: Any, step: Any) -> Any:
        t = self.target
        with b.if_else(self.shared) as (yes, no):
            with yes:
                first = b.extract_element(steps, ir.Constant(ir.IntType(32), 0))
                near, from_yes = self._together(b, field, b.sub(step, first)), b.block
            with no:
                rows = b.sub(t.splat(b, step), steps)
                far, from_no = self._apart(b, field, rows), b.block
        return merged(b, [near], from_yes, [far], from_no)[0]

    def _together(self, b: Any, field: int, row: Any) -> Any:
        """Load the delayed inputs from one row for all lanes."""
        u, pending = self.views.u, self.views.pending
        older = b.icmp_signed("<", row, word(0))
        source = u.instead(
            base=b.select(older, pending.base, u.base),
            field=b.select(older, pending.field, u.field),
            vehicle=b.select(older, pending.vehicle, u.vehicle),
            step=b.select(older, pending.step, u.step),
        )
        row = b.select(older, b.add(row, self.views.rows), row)
        return source.load_field(b, self.group, field, row)

    def _apart(self, b: Any, field: int, rows: Any) -> Any:
        """Load an input field from a different row in each lane."""
        t = self.target
        older = b.icmp_signed("<", rows, t.everywhere(word(0)))
        before = b.add(rows, t.splat(b, self.views.rows))
        pointers = b.select(
            older,
            self.views.pending.pointers(b, self.group, field, before),
            self.views.u.pointers(b, self.group, field, rows),
        )
        return self.views.u.gather(b, pointers)


MOST_IN_REGISTERS = 256
"""Largest number of fields kept in registers; vehicles of the registry have fewer."""


def loaded_fields(target: Target, b: Any, view: View, group: Group, count: int) -> Sequence[Any]:
    """Fields of an array as a `Body` takes them: loaded values, or addresses if there are many."""
    if count <= MOST_IN_REGISTERS:
        return view.load(b, group, count)
    base = room(target, b, count)
    with counter(b, word(0), word(count), 1) as k:
        (value,) = _field_view(target, b, view, k).load(b, group, 1)
        target.store(b, value, b.gep(base, [k], source_etype=target.vector))
    return [InMemory(base, k) for k in range(count)]


def store_fields(target: Target, b: Any, view: View, group: Group, values: list[Any]) -> None:
    if len(values) <= MOST_IN_REGISTERS:
        view.store(b, group, values)
        return
    base = room(target, b, len(values))
    for k, value in enumerate(values):
        target.store(b, value, target.address(b, base, k))
    _store_from(target, b, view, group, base, len(values))


class Sums:
    """Sums over the steps of a loop, one per field: values carried by the loop, or in memory."""

    def __init__(self, target: Target, b: Any, count: int) -> None:
        self.target, self.count, self.base = target, count, None
        self.carried = [target.number(0.0)] * count
        """Initial values that the loop has to carry."""
        if count > MOST_IN_REGISTERS:
            self.carried, self.base = [], room(target, b, count)
            with counter(b, word(0), word(count), 1) as k:
                address = b.gep(self.base, [k], source_etype=target.vector)
                target.store(b, target.number(0.0), address)

    def added(self, b: Any, now: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The carried values after adding the contributions of one step."""
        if self.base is None:
            return [b.fadd(a, s) for a, s in zip(now, values, strict=True)]
        for k, value in enumerate(values):
            address = self.target.address(b, self.base, k)
            self.target.store(b, b.fadd(self.target.load(b, address), value), address)
        return []

    def store(self, b: Any, view: View, group: Group, after: list[Any]) -> None:
        """Write the sums to the fields of an array; `after` are the loop's final values."""
        if self.base is None:
            view.store(b, group, after)
        else:
            _store_from(self.target, b, view, group, self.base, self.count)


def _store_from(target: Target, b: Any, view: View, group: Group, base: Any, count: int) -> None:
    with counter(b, word(0), word(count), 1) as k:
        value = target.load(b, b.gep(base, [k], source_etype=target.vector))
        _field_view(target, b, view, k).store(b, group, [value])


def _field_view(target: Target, b: Any, view: View, field: Any) -> View:
    """View of an array from a given field on, whose index is known only at run time."""
    offset = b.mul(field, view.field)
    return view.instead(base=b.gep(view.base, [offset], source_etype=target.scalar))


ROLLOUT_VIEWS = ("x", "u", "w", "p", "out", "health")
"""Arrays of `rollout`: start states, inputs, disturbances, parameters, samples, and health.

The health of a vehicle is three numbers: NaN if a sample was not finite, NaN if an input was
not finite, and the largest Newton residual.
"""
LATE_VIEWS = ("pending", "late")
"""Further arrays of a `rollout` with delayed inputs; see `LateViews`."""
TIMED_VIEWS = ("dt",)
"""The last array of a `rollout` whose steps differ in length: sub-step length of each step."""
ROLLOUT_COUNTS = ("samples", "every", "substeps", "dt", "tolerance")
"""Words of `rollout` after the arrays and `host.WATCH_WORDS`.

Samples to write, sub-steps between them, sub-steps of a step, then the bits of two numbers: dt,
and the Newton residual above which a step counts as failed and its state becomes NaN. With
delayed inputs, the number of rows of `pending` follows.
"""

_DOUBLE = ir.DoubleType()

STEP_PORTS = ("x", "u", "w", "p", "dt", "start")
"""Input ports of a step Program, in order; its outputs are `x` and `residual`."""


def rollout_module(
    program: Program, lanes: int, delayed: tuple[int, ...] = (), timed: bool = False
) -> ir.Module:
    """LLVM module with the kernel `rollout(block)` for many vehicles and steps, the state held in
    registers.

    `delayed` are the indices of the delayed inputs; with `timed`, steps differ in length.
    """
    module, target, b, block = begin_kernel("rollout", program, lanes)
    names = (*ROLLOUT_VIEWS, *(LATE_VIEWS if delayed else ()), *(TIMED_VIEWS if timed else ()))
    views = {name: View(target, b, block, len(SLOTS) * k) for k, name in enumerate(names)}
    watch = Watch(b, block, len(SLOTS) * len(views))
    counts = watch.words(b, len(ROLLOUT_COUNTS) + bool(delayed))
    samples, every, substeps, dt_bits, tolerance_bits = counts[: len(ROLLOUT_COUNTS)]
    dt = target.splat(b, number_from_bits(target, b, dt_bits))
    tolerance = target.splat(b, number_from_bits(target, b, tolerance_bits))
    streamed = {n: b.icmp_signed("!=", views[n].step, word(0)) for n in ("u", "w")}
    count = {port.name: len(port.fields) for port in program.inputs}
    total = b.mul(samples, every)
    with counter(b, watch.begin, watch.end, lanes) as first:
        group = Group(target, b, first, watch.end)
        x = views["x"].load(b, group, count["x"])
        held = {n: views[n].load(b, group, count[n]) for n in ("u", "w")}
        late = None
        if delayed:
            sources = LateViews(views["u"], views["pending"], views["late"], counts[-1])
            late = LateInputs(target, b, sources, group, delayed)
        body = Body(target, program)
        p = loaded_fields(target, b, views["p"], group, count["p"])
        body.emit(b, {3: p, **({} if timed else {4: [dt]})})
        zero = target.number(0.0)
        sampled = _StartOfStep(target, b, program) if count["start"] else None
        # The health of the vehicles, the next sample to write and the sub-steps done by then.
        account = [zero, zero, zero, word(1), every]
        loop = strips(b, watch, total, [*x, *account])
        with loop as (done, now, pass_on):
            *now, bad, bad_input, worst, sample, due = now
            step = b.udiv(done, substeps)
            u, w = (_reload(b, views[n], group, held[n], streamed[n], step) for n in ("u", "w"))
            if late is not None:
                for place, value in zip(delayed, late.load(b, step), strict=True):
                    u[place] = value
            body_now = body.copy()
            length = {4: [views["dt"].load_field(b, group, 0, step)]} if timed else {}
            if sampled is not None:
                body_now.emit(b, {1: u, 2: w, **length})
                sampled.emit(b, body_now, now, b.urem(done, substeps))
            body_now.emit(b, {0: now, 1: u, 2: w, **length})
            state, residual = _converged(target, b, body_now, tolerance)
            bad_input = b.fadd(bad_input, finite_check(target, b, [*u, *w]))
            worst = _larger(b, residual, worst)
            between = b.block
            with b.if_then(b.icmp_signed("==", b.add(done, word(1)), due)):
                views["out"].store(b, group, state, step=sample)
                judged = b.fadd(bad, finite_check(target, b, state))
                written = [judged, b.add(sample, word(1)), b.add(due, every)]
                at_sample = b.block
            bad, sample, due = merged(b, [bad, sample, due], between, written, at_sample)
            pass_on([*state, bad, bad_input, worst, sample, due])
        views["health"].store(b, group, loop.after[-5:-2])
    b.ret_void()
    return entered(module, "rollout")


class _StartOfStep:
    """Values computed at the first sub-step of a step, kept in memory for the others."""

    def __init__(self, target: Target, b: Any, program: Program) -> None:
        self.target, self.kept = target, step_values(program).kept
        self.base = room(target, b, len(self.kept))

    def emit(self, b: Any, body: Body, state: list[Any], substep: Any) -> None:
        """Compute and store the values at the first sub-step, and load them into `body`.

        All their operands except the state must be emitted in `body` before.
        """
        target = self.target
        places = [target.address(b, self.base, k) for k in range(len(self.kept))]
        truths = list[int]()
        with b.if_then(b.icmp_signed("==", substep, word(0))):
            first = body.copy()
            first.emit(b, {5: state})
            for k, place in zip(self.kept, places, strict=True):
                value = first.loaded(b, k)
                if value.type == target.truth:
                    truths.append(k)
                    value = b.select(value, target.number(1.0), target.number(0.0))
                target.store(b, value, place)
        for k, place in zip(self.kept, places, strict=True):
            value = target.load(b, place)
            zero = target.number(0.0)
            body.values[k] = b.fcmp_unordered("!=", value, zero) if k in truths else value


def _converged(target: Target, b: Any, body: Body, tolerance: Any) -> tuple[list[Any], Any]:
    """Next state (NaN where an implicit step failed to converge) and Newton residual."""
    state = body.results(0)
    if not body.program.results[1]:
        return state, target.number(0.0)
    residual = body.results(1)[0]
    good = b.fcmp_ordered("<=", residual, tolerance)
    return [b.select(good, value, target.number(float("nan"))) for value in state], residual


def apply_module(program: Program, lanes: int, shared: tuple[int, ...] = ()) -> ir.Module:
    """LLVM module with the kernel `apply(block)`, which evaluates a Program once per vehicle.

    The block is a view per input port, a view per output port, then begin and end. `shared` are
    input ports that all vehicles share: values that depend on them alone are computed once.
    """
    module, target, b, block = begin_kernel("apply", program, lanes)
    arrays = len(program.inputs) + len(program.outputs)
    views = [View(target, b, block, len(SLOTS) * k) for k in range(arrays)]
    begin, end = (
        b.load(b.gep(block, [word(len(SLOTS) * len(views) + k)], source_etype=I64), typ=I64)
        for k in range(2)
    )
    sizes = {k: len(port.fields) for k, port in enumerate(program.inputs)}
    before = Body(target, program)
    if shared:
        group = Group(target, b, begin, end)
        before.emit(b, {k: loaded_fields(target, b, views[k], group, sizes[k]) for k in shared})
    with counter(b, begin, end, lanes) as first:
        group = Group(target, b, first, end)
        body = before.copy()
        own = {k: n for k, n in sizes.items() if k not in shared}
        body.emit(b, {k: loaded_fields(target, b, views[k], group, n) for k, n in own.items()})
        for k in range(len(program.outputs)):
            store_fields(target, b, views[len(sizes) + k], group, body.results(k))
    b.ret_void()
    return entered(module, "apply")


def tick_module(program: Program) -> ir.Module:
    """LLVM module with the kernels `tick`, `tick_of` and `drive`, which step one vehicle.

    Their block is numbers: x, u, w, p, dt of a sub-step, the largest Newton residual allowed, the
    actual one, the number of sub-steps, the x before the last step and the u of it. Behind these,
    at the next multiple of 8 bytes, is the clock: a time and an age (two doubles), and the steps
    made since that time (an integer). The age grows by 1 in every step unless it is set.

    `tick(block)` makes one step in place and returns a code. `tick_of(block, dt, time, age)` makes
    one whose sub-steps take dt and that ends at a time and an age. `drive(block, inputs, samples,
    steps, code)` makes `steps` of them with a row of inputs each, writes the state after each to
    `samples`, and returns how many succeeded. All changes of a step are made inside the kernel, so
    a signal handler that Python runs between two of its own operations never finds half a step.
    """
    module = ir.Module("tick")
    target = Target(module, str(program.precision), 1)
    sizes = [len(port.fields) for port in program.inputs]
    substep = _substep(target, program, sizes)
    tick = ir.Function(module, ir.FunctionType(I64, [POINTER]), "tick" + INNER)
    tick.attributes.add("noinline")
    b, block = ir.IRBuilder(tick.append_basic_block()), tick.args[0]
    nx, nu, limit_at = sizes[0], sizes[1], sum(sizes[:5])
    before_at = limit_at + 3
    inputs = [_load_at(target, b, block, nx + k) for k in range(nu + sizes[2])]
    _return_unless_finite(target, b, inputs, TICK_BAD_INPUT)
    start = [_load_at(target, b, block, k) for k in range(nx)]
    older = [_load_at(target, b, block, before_at + k) for k in range(nx)]
    _store_all(target, b, block, before_at, start)
    count = b.fptosi(_load_at(target, b, block, limit_at + 2), I64)
    with counter(b, word(0), count, 1):
        code = b.call(substep, [block])
        with b.if_then(b.icmp_signed("!=", code, word(TICK_OK)), likely=False):
            _store_all(target, b, block, 0, start)
            _store_all(target, b, block, before_at, older)
            b.ret(code)
    _store_all(target, b, block, before_at + nx, inputs[:nu])
    _, age, since = _clock(target, b, block, sizes)
    b.store(b.fadd(b.load(age, typ=_DOUBLE), ir.Constant(_DOUBLE, 1.0)), age)
    b.store(b.add(b.load(since, typ=I64), word(1)), since)
    b.ret(word(TICK_OK))
    _tick_of(target, tick, sizes)
    _drive(target, tick, sizes)
    return entered(module, "tick", "tick_of", "drive")


def _clock(target: Target, b: Any, block: Any, sizes: list[int]) -> list[Any]:
    """Addresses in the block of `tick` of the time, the age, and the steps since the time."""
    per_word = 8 // target.bytes
    at = -(-(sum(sizes[:5]) + 3 + sizes[0] + sizes[1]) // per_word)
    return [b.gep(block, [word(at + k)], source_etype=I64) for k in range(3)]


def _tick_of(target: Target, tick: ir.Function, sizes: list[int]) -> None:
    kind = ir.FunctionType(I64, [POINTER, _DOUBLE, _DOUBLE, _DOUBLE])
    function = ir.Function(target.module, kind, "tick_of" + INNER)
    block, dt, time, age = function.args
    b = ir.IRBuilder(function.append_basic_block())
    dt_at = sum(sizes[:4])
    usual = _load_at(target, b, block, dt_at)
    _store_at(target, b, block, dt_at, dt if target.bytes == 8 else b.fptrunc(dt, target.scalar))
    code = b.call(tick, [block])
    _store_at(target, b, block, dt_at, usual)
    with b.if_then(b.icmp_signed("==", code, word(TICK_OK))):
        for value, place in zip((time, age, word(0)), _clock(target, b, block, sizes), strict=True):
            b.store(value, place)
    b.ret(code)


def _substep(target: Target, program: Program, sizes: list[int]) -> ir.Function:
    """Emit a function that runs the Program once, on the block of `tick`, in place unless it
    fails.
    """
    function = ir.Function(target.module, ir.FunctionType(I64, [POINTER]), "substep")
    function.linkage = "internal"
    b, block = ir.IRBuilder(function.append_basic_block()), function.args[0]
    at = [sum(sizes[:k]) for k in range(6)]
    limit_at = at[5]
    ports = {k: [_load_at(target, b, block, at[k] + f) for f in range(sizes[k])] for k in range(5)}
    ports[5] = [_load_at(target, b, block, limit_at + 3 + f) for f in range(sizes[5])]
    body = Body(target, program)
    body.emit(b, ports)
    if program.results[1]:
        residual = body.results(1)[0]
        _store_at(target, b, block, limit_at + 1, residual)
        limit = _load_at(target, b, block, limit_at)
        _return_unless(b, b.fcmp_ordered("<=", residual, limit), TICK_NOT_CONVERGED)
    _return_unless_finite(target, b, body.results(0), TICK_DIVERGED)
    _store_all(target, b, block, 0, body.results(0))
    b.ret(word(TICK_OK))
    return function


def _drive(target: Target, tick: ir.Function, sizes: list[int]) -> None:
    kind = ir.FunctionType(I64, [POINTER, POINTER, POINTER, I64, POINTER])
    drive = ir.Function(target.module, kind, "drive" + INNER)
    block, inputs, samples, steps, code = drive.args
    b = ir.IRBuilder(drive.append_basic_block())
    nx, nu = sizes[0], sizes[1]
    with counter(b, word(0), steps, 1) as k:
        row = b.gep(inputs, [b.mul(k, word(nu))], source_etype=target.scalar)
        for f in range(nu):
            _store_at(target, b, block, nx + f, _load_at(target, b, row, f))
        status = b.call(tick, [block])
        b.store(status, code)
        with b.if_then(b.icmp_signed("!=", status, word(TICK_OK)), likely=False):
            b.ret(k)
        out = b.gep(samples, [b.mul(k, word(nx))], source_etype=target.scalar)
        for f in range(nx):
            _store_at(target, b, out, f, _load_at(target, b, block, f))
    b.ret(steps)


def begin_kernel(name: str, program: Program, lanes: int) -> tuple[Any, Target, Any, Any]:
    """Return module, target, builder and block of an empty kernel NAME.inner(block)."""
    module = ir.Module(name)
    target = Target(module, str(program.precision), lanes)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), name + INNER)
    target.align_stack(function)
    return module, target, ir.IRBuilder(function.append_basic_block()), function.args[0]


def _reload(
    b: Any, view: View, group: Group, held: list[Any], streamed: Any, step: Any
) -> list[Any]:
    """Values of an array at this step: read again if it has a row per step, else the held
    values.
    """
    if not held:
        return []
    before = b.block
    with b.if_then(streamed):
        fresh = view.load(b, group, len(held), step)
        after = b.block
    return merged(b, held, before, fresh, after)


def _larger(b: Any, value: Any, so_far: Any) -> Any:
    keep = b.fcmp_ordered("<=", value, so_far)
    raised = b.select(keep, so_far, value)
    return b.select(b.fcmp_unordered("uno", so_far, so_far), so_far, raised)


def number_from_bits(target: Target, b: Any, bits: Any) -> Any:
    return b.bitcast(bits if target.bytes == 8 else b.trunc(bits, I32), target.scalar)


def _load_at(target: Target, b: Any, base: Any, index: int) -> Any:
    return b.load(b.gep(base, [word(index)], source_etype=target.scalar), typ=target.scalar)


def _store_at(target: Target, b: Any, base: Any, index: int, value: Any) -> None:
    b.store(value, b.gep(base, [word(index)], source_etype=target.scalar))


def _store_all(target: Target, b: Any, base: Any, index: int, values: list[Any]) -> None:
    for k, value in enumerate(values):
        _store_at(target, b, base, index + k, value)


def _return_unless_finite(target: Target, b: Any, values: list[Any], code: int) -> None:
    check = finite_check(target, b, values)
    _return_unless(b, b.fcmp_ordered("==", check, target.number(0.0)), code)


def _return_unless(b: Any, condition: Any, code: int) -> None:
    with b.if_then(b.not_(condition), likely=False):
        b.ret(word(code))


ADJOINT_VIEWS = ("x", "u", "w", "p", "r", "lam", "seed", "grad_x", "grad_u", "grad_p", "value")
"""Arrays of `adjoint`: recorded states and the other inputs, followed by the results.

`x` are the states at the start of every step, `r` the references, `lam` is λ after the last
step, and `seed` is added to λ at the start of every step. `grad_u` is accumulated, so that an
input held over all steps collects the sum.
"""
ADJOINT_COUNTS = ("steps", "dt")
"""Words of `adjoint` after the arrays and `host.WATCH_WORDS`.

They are the number of steps to go back, and the bits of dt.
"""
ADJOINT_PORTS = ("x", "u", "w", "p", "dt", "r", "lam")
"""Input ports of an adjoint Program; its outputs are `x`, `u`, `p` and `value`."""


def adjoint_module(program: Program, lanes: int) -> ir.Module:
    """LLVM module with the kernel `adjoint(block)`, which runs an adjoint Program backwards over a
    rollout.
    """
    module, target, b, block = begin_kernel("adjoint", program, lanes)
    views = {name: View(target, b, block, len(SLOTS) * k) for k, name in enumerate(ADJOINT_VIEWS)}
    watch = Watch(b, block, len(SLOTS) * len(views))
    steps, dt_bits = watch.words(b, len(ADJOINT_COUNTS))
    dt = target.splat(b, number_from_bits(target, b, dt_bits))
    size = {port.name: len(port.fields) for port in program.inputs}
    place = {name: k for k, name in enumerate(ADJOINT_PORTS)}
    nx = size["x"]
    with counter(b, watch.begin, watch.end, lanes) as first:
        group = Group(target, b, first, watch.end)
        body = Body(target, program)
        p = loaded_fields(target, b, views["p"], group, size["p"])
        body.emit(b, {place["p"]: p, place["dt"]: [dt]})
        sums = Sums(target, b, len(program.results[2]))
        split = nx + len(sums.carried)
        value = [target.number(0.0)] * len(program.results[3])
        lam = views["lam"].load(b, group, nx)
        loop = strips(b, watch, steps, [*lam, *sums.carried, *value])
        with loop as (done, now, keep):
            step = b.sub(b.sub(steps, word(1)), done)
            here = {n: views[n].load(b, group, size[n], step) for n in ("x", "u", "w", "r")}
            inside = body.copy()
            inside.emit(b, {place["lam"]: now[:nx]} | {place[n]: v for n, v in here.items()})
            so_far = views["grad_u"].load(b, group, len(program.results[1]), step)
            added = [b.fadd(a, g) for a, g in zip(so_far, inside.results(1), strict=True)]
            views["grad_u"].store(b, group, added, step)
            seed = views["seed"].load(b, group, nx, step)
            lam = [b.fadd(a, s) for a, s in zip(inside.results(0), seed, strict=True)]
            on_p = sums.added(b, now[nx:split], inside.results(2))
            value = [b.fadd(a, s) for a, s in zip(now[split:], inside.results(3), strict=True)]
            keep([*lam, *on_p, *value])
        views["grad_x"].store(b, group, loop.after[:nx])
        sums.store(b, views["grad_p"], group, loop.after[nx:split])
        views["value"].store(b, group, loop.after[split:])
    b.ret_void()
    return entered(module, "adjoint")
