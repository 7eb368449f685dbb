"""`read` as LLVM instructions: an element of a shared array for each lane, by its number.

The module has the address of the table of arrays (see `shared_arrays`) as a global, and a function
that sets it; whoever loads the module calls that. Where a number has no array, the block of a
single NaN takes its place, so that nothing branches and no address is ever wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from ..shared_arrays import HEADER, MOST_ARRAYS
from .lines import I1, I32, I64, POINTER, Target

SETTER = "skidpad_set_arrays_"
"""With the precision behind it, the function that tells a module where the table is."""

_TABLE, _NONE = "arrays", "no_array"


class LaneArrays(NamedTuple):
    """Where the arrays of some lanes are."""

    block: Any
    """Addresses of their blocks, as 64-bit integers."""
    last: Any
    """Their last indices, as numbers."""


def arrays_of(t: Target, b: ir.IRBuilder, number: Any) -> LaneArrays:
    """The array of each lane's number; reads of the same number share it."""
    table = b.load(_table(t), typ=I64)
    whole = b.fcmp_ordered("==", t.intrinsic(b, "floor", [number]), number)
    within = b.and_(
        b.fcmp_ordered(">=", number, t.number(1.0)),
        b.fcmp_ordered("<", number, t.number(float(MOST_ARRAYS))),
    )
    # No array has the number 0.
    known = b.select(b.and_(whole, within), number, t.number(0.0))
    offset = b.mul(_integer(t, b, known), _words(t, 8))
    entry = _load(t, b, b.add(t.splat(b, table), offset), I64)
    nothing = t.splat(b, b.ptrtoint(t.module.globals[_NONE], I64))
    block = b.select(b.icmp_signed("==", entry, _words(t, 0)), nothing, entry)
    count = _load(t, b, block, I64)
    return LaneArrays(block, b.sitofp(b.sub(count, _words(t, 1)), t.vector))


def element(t: Target, b: ir.IRBuilder, array: LaneArrays, index: Any) -> Any:
    """The element at each lane's index, the nearest one where it is outside, NaN where it is."""
    zero = t.number(0.0)
    at = b.select(b.fcmp_ordered(">", index, zero), index, zero)
    at = b.select(b.fcmp_ordered("<", at, array.last), at, array.last)
    offset = b.mul(_integer(t, b, at), _words(t, t.bytes))
    place = b.add(b.add(array.block, _words(t, HEADER)), offset)
    value = _load(t, b, place, t.scalar)
    return b.select(b.fcmp_ordered("ord", index, index), value, t.number(float("nan")))


def _word(value: int) -> Any:
    return ir.Constant(I64, value)


def _words(t: Target, value: int) -> Any:
    """The same word in every lane."""
    return t.everywhere(_word(value))


def _integer(t: Target, b: ir.IRBuilder, number: Any) -> Any:
    return b.fptosi(number, t.widen(I64))


def _load(t: Target, b: ir.IRBuilder, addresses: Any, kind: Any) -> Any:
    """What lies at each lane's address."""
    if t.lanes == 1:
        return b.load(b.inttoptr(addresses, POINTER), typ=kind)
    vector = t.widen(kind)
    size = 8 if kind is I64 else t.bytes
    name = {"double": "f64", "float": "f32"}.get(str(kind), str(kind))
    full = f"llvm.masked.gather.v{t.lanes}{name}.v{t.lanes}p0"
    pointers: Any = b.inttoptr(addresses, t.widen(POINTER))
    everywhere: Any = ir.Constant(t.widen(I1), [1] * t.lanes)
    signature = ir.FunctionType(vector, [pointers.type, I32, everywhere.type, vector])
    gather = t.module.globals.get(full) or ir.Function(t.module, signature, full)
    zero = ir.Constant(vector, [0] * t.lanes)
    return b.call(gather, [pointers, ir.Constant(I32, size), everywhere, zero])


def _table(t: Target) -> Any:
    """The global with the address of the table, and what goes with it."""
    known = t.module.globals.get(_TABLE)
    return _new_table(t) if known is None else known


def _new_table(t: Target) -> Any:
    table: Any = ir.GlobalVariable(t.module, I64, _TABLE)
    table.linkage, table.initializer = "internal", _word(0)
    block = ir.LiteralStructType([I64, t.scalar])
    nothing: Any = ir.GlobalVariable(t.module, block, _NONE)
    nothing.linkage, nothing.global_constant = "internal", True
    nothing.initializer = ir.Constant(block, [_word(1), ir.Constant(t.scalar, float("nan"))])
    kind = ir.FunctionType(ir.VoidType(), [I64])
    setter = ir.Function(t.module, kind, SETTER + t.precision)
    b = ir.IRBuilder(setter.append_basic_block())
    b.store(setter.args[0], table)
    b.ret_void()
    return table
