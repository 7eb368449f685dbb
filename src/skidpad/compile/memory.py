"""Strided memory as kernels see it: one field of N neighbouring vehicles is one vector.

A kernel reads arrays of any layout. Field f of vehicle v at step k lies at
`base + f*field + v*vehicle + k*step`, strides counted in numbers. Vehicles that lie side by side
are read as one vector, any other layout by gather. The last vehicles of a batch are repeated to
fill the lanes; storing them again writes the same bits to the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from llvmlite import ir

from .lines import I1, I64, POINTER, Target

SLOTS = ("base", "field", "vehicle", "step")
"""The 64-bit words that describe one array to a kernel, in order."""


def word(value: int) -> Any:
    """A 64-bit constant."""
    return ir.Constant(I64, value)


class View:
    """One strided array inside a kernel; its description is read from the argument block."""

    def __init__(self, target: Target, b: ir.IRBuilder, block: Any, slot: int) -> None:
        self.target = target
        read = [b.load(b.gep(block, [word(slot + k)], source_etype=I64), typ=I64) for k in range(4)]
        self.base = b.inttoptr(read[0], POINTER)
        self.field, self.vehicle, self.step = read[1:]

    def instead(self, **words: Any) -> View:
        """The view with other words: `base` as a pointer, `field`, `vehicle`, `step`."""
        other = copy(self)
        for name, value in words.items():
            setattr(other, name, value)
        return other

    def load_field(self, b: ir.IRBuilder, group: Group, field: int, step: Any) -> Any:
        """The vector of one field for this group of vehicles."""
        return self.load(b, group, range(field, field + 1), step)[0]

    def load(
        self, b: ir.IRBuilder, group: Group, fields: int | Sequence[int], step: Any = None
    ) -> list[Any]:
        """The vectors of some fields, or of the first so many, for this group of vehicles."""
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
        merged: list[Any] = []
        for near, far in zip(direct, gathered, strict=True):
            phi = b.phi(self.target.vector)
            phi.add_incoming(near, from_yes)
            phi.add_incoming(far, from_no)
            merged.append(phi)
        return merged

    def store(self, b: ir.IRBuilder, group: Group, values: list[Any], step: Any = None) -> None:
        """Write the vectors of all fields of this group of vehicles."""
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
                self.base,
                [b.add(first, self._offset(b, f, step))],
                source_etype=self.target.scalar,
            )
            for f in fields
        ]

    def _lane_pointers(self, b: ir.IRBuilder, group: Group, field: int, step: Any) -> Any:
        return self._pointers(b, group, self.target.splat(b, self._offset(b, field, step)))

    def pointers(self, b: ir.IRBuilder, group: Group, field: int, steps: Any) -> Any:
        """Where a field of each lane's vehicle lies, with a step for every lane."""
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
        """The numbers that the lanes' pointers point to."""
        t = self.target
        name = f"llvm.masked.gather.{t.suffix}.v{t.lanes}p0"
        everywhere = t.everywhere(ir.Constant(I1, 1))
        kind = ir.FunctionType(t.vector, [pointers.type, ir.IntType(32), everywhere.type, t.vector])
        function = t.module.globals.get(name) or ir.Function(t.module, kind, name)
        align = ir.Constant(ir.IntType(32), t.bytes)
        return b.call(function, [pointers, align, everywhere, t.number(0.0)])

    def _scatter(self, b: ir.IRBuilder, group: Group, field: int, value: Any, step: Any) -> None:
        t = self.target
        pointers = self._lane_pointers(b, group, field, step)
        name = f"llvm.masked.scatter.{t.suffix}.v{t.lanes}p0"
        everywhere = t.everywhere(ir.Constant(I1, 1))
        kind = ir.FunctionType(
            ir.VoidType(), [t.vector, pointers.type, ir.IntType(32), everywhere.type]
        )
        function = t.module.globals.get(name) or ir.Function(t.module, kind, name)
        b.call(function, [value, pointers, ir.Constant(ir.IntType(32), t.bytes), everywhere])


class Group:
    """The vehicles that one pass of the vector code works on: `first`, `first + 1`, ..."""

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
