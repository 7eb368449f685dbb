"""Eight-lane vector arithmetic: vector instructions written out for LLVM, and numba kernels.

`Lanes` makes the instructions look like arithmetic. Each product and sum is rounded separately,
here and in everything built on this, so that other targets can be bit-identical. The
auto-vectoriser is not used: it treats the few blocks of rays that a segment covers as a loop with a
scalar remainder, which costs more than the work itself.

Kernels have one signature each and are cached on disk (see `compile.loops`). Unit vectors
(`fill_units`) are bit-identical on CPU and GPU: the system's own sine differs between the two, so
it is written out from the reduction and the polynomials of `compile.elementary`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partialmethod
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from ...compile.coefficients import COS, HALF_PI, SIN, TWO_OVER_PI
from ...compile.loops import kept
from ...compile.program import MAGIC

LANES = 8
"""Numbers in a block: one AVX-512 register of float64, two of AVX2, four of SSE2 or NEON."""


class Emitter(NamedTuple):
    """Position at which instructions are emitted: a numba context and an LLVM builder."""

    context: Any
    builder: Any

    def data(self, array: Any) -> Any:
        """Pointer to the numbers of an array, given with its type."""
        kind, value = array
        return self.context.make_array(kind)(self.context, self.builder, value).data


def instruction(result: str, operands: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a function that emits instructions, for use in kernels; see numba's `intrinsic`.

    `operands` are numba's types, or `array` for one of any type. The function takes an `Emitter`
    and the operands, of which an array is a pair of its type and value.
    """

    def decorated(function: Callable[..., Any]) -> Any:
        def typed(typing: Any, *given: Any) -> Any:
            pairs = list(zip(operands.split(), given, strict=True))
            own = [it if kind == "array" else getattr(types, kind) for kind, it in pairs]

            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                arrays = [isinstance(kind, types.Array) for kind in own]
                values = [(k, v) if a else v for k, v, a in zip(own, args, arrays, strict=True)]
                value = function(Emitter(context, builder), *values)
                return context.get_dummy_value() if value is None else value

            return getattr(types, result)(*own), generate

        typed.__name__ = function.__name__
        typed.__signature__ = inspect.signature(function)
        return extending.intrinsic(typed)

    return decorated


_DOUBLE, _LONG, _INT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)


class Lanes:
    """Eight numbers or eight truth values, whose operations emit instructions to a builder."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: Lanes | float) -> Any:
        return other.value if isinstance(other, Lanes) else ir.Constant(_VECTOR, [other] * LANES)

    def _with(self, name: str, other: Lanes | float) -> Lanes:
        return Lanes(self.builder, getattr(self.builder, name)(self.value, self._of(other)))

    def _under(self, name: str, other: float) -> Lanes:
        return Lanes(self.builder, getattr(self.builder, name)(self._of(other), self.value))

    def _compared(self, sign: str, other: Lanes | float) -> Lanes:
        return Lanes(self.builder, self.builder.fcmp_ordered(sign, self.value, self._of(other)))

    __add__ = partialmethod(_with, "fadd")
    __sub__ = partialmethod(_with, "fsub")
    __rsub__ = partialmethod(_under, "fsub")
    __mul__ = partialmethod(_with, "fmul")
    __truediv__ = partialmethod(_with, "fdiv")
    __rtruediv__ = partialmethod(_under, "fdiv")
    __and__ = partialmethod(_with, "and_")
    __or__ = partialmethod(_with, "or_")
    __lt__ = partialmethod(_compared, "<")
    __le__ = partialmethod(_compared, "<=")
    __gt__ = partialmethod(_compared, ">")
    __ge__ = partialmethod(_compared, ">=")

    def __invert__(self) -> Lanes:
        return Lanes(self.builder, self.builder.not_(self.value))

    def pick(self, yes: Lanes | float, no: Lanes | float) -> Lanes:
        """Select `yes` in lanes where the truth value holds, else `no`."""
        return Lanes(self.builder, self.builder.select(self.value, self._of(yes), self._of(no)))

    def _called(self, name: str, *more: Lanes) -> Lanes:
        operands = [x.value for x in (self, *more)]
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(operands))
        full_name = f"llvm.{name}.v{LANES}f64"
        function = cgutils.get_or_insert_function(self.builder.module, kind, full_name)
        return Lanes(self.builder, self.builder.call(function, operands))

    def size(self) -> Lanes:
        """Magnitude of each number."""
        return self._called("fabs")

    def root(self) -> Lanes:
        return self._called("sqrt")

    def signed_as(self, other: Lanes) -> Lanes:
        """Magnitude of these numbers with the signs of the others."""
        return self._called("copysign", other)

    def within(self, low: Lanes | float, high: Lanes | float) -> Lanes:
        """Numbers clamped to limits."""
        raised = (self < low).pick(low, self)
        return (raised > high).pick(high, raised)

    def raised_to(self, other: Lanes) -> Lanes:
        """Maximum of two numbers per lane, of which this one must be at least 0.

        Such numbers have the order of their bits as integers. A comparison of the floats would
        become a masked store, which delays the next load.
        """
        kind = ir.VectorType(_LONG, LANES)
        name = f"llvm.smax.v{LANES}i64"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind, kind]), name
        )
        bits = [self.builder.bitcast(x.value, kind) for x in (self, other)]
        return Lanes(self.builder, self.builder.bitcast(self.builder.call(function, bits), _VECTOR))

    def _rotated(self, by: int) -> Lanes:
        order = [(n + by) % LANES for n in range(LANES)]
        places = ir.Constant(ir.VectorType(_INT, LANES), order)
        return Lanes(self.builder, self.builder.shuffle_vector(self.value, self.value, places))

    def largest(self) -> Any:
        """Largest of the eight, as a scalar; NaN is not allowed."""
        rest = self
        for half in (4, 2, 1):
            other = rest._rotated(half)
            rest = (rest > other).pick(rest, other)
        return self.builder.extract_element(rest.value, ir.Constant(_INT, 0))

    def quarters_of_octaves(self) -> Any:
        """Logarithmic sizes in steps of about a quarter of an octave, as integers from 0 to 255.

        Above 0 they are counted from 2^-32; inf has 255.
        """
        kind = ir.VectorType(_LONG, LANES)
        low, high = (ir.Constant(kind, [n] * LANES) for n in (4 * (1023 - 32), 255))
        # The exponent and the first two bits of the mantissa.
        bits = self.builder.bitcast(self.value, kind)
        steps = self.builder.ashr(bits, ir.Constant(kind, [50] * LANES))
        above = self.builder.sub(steps, low)
        zero = ir.Constant(kind, [0] * LANES)
        above = self.builder.select(self.builder.icmp_signed("<", above, zero), zero, above)
        return self.builder.select(self.builder.icmp_signed(">", above, high), high, above)

    def blocks(self) -> Any:
        """Block indices of these element indices, as integers; for numbers of 0 or more."""
        whole = self.builder.fptosi(self.value, ir.VectorType(_LONG, LANES))
        return self.builder.lshr(whole, ir.Constant(whole.type, [3] * LANES))

    def bits(self) -> Any:
        """Truth values as the low bits of a 64-bit integer."""
        return self.builder.zext(self.builder.bitcast(self.value, ir.IntType(LANES)), _LONG)


class Block:
    """A block of an array: several consecutive vectors."""

    def __init__(self, emit: Emitter, array: Any, block: Any, width: int) -> None:
        builder, data = emit.builder, emit.data(array)
        start = builder.mul(block, ir.Constant(_LONG, width * LANES))
        vector = ir.VectorType(data.type.pointee, LANES)
        self.builder = builder
        self.pointer = builder.bitcast(builder.gep(data, [start]), vector.as_pointer())

    def _place(self, number: int) -> Any:
        return self.builder.gep(self.pointer, [ir.Constant(_LONG, number)])

    def __getitem__(self, number: int) -> Lanes:
        return Lanes(self.builder, self.builder.load(self._place(number), align=8))

    def __setitem__(self, number: int, value: Lanes) -> None:
        # Arrays need not start at a multiple of the size of a vector.
        self.builder.store(value.value, self._place(number), align=8)


def repeated(builder: Any, scalar: Any) -> Lanes:
    """Broadcast a scalar to all lanes."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, scalar, ir.Constant(_INT, 0))
    order = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    return Lanes(builder, builder.shuffle_vector(first, nothing, order))


def constant(builder: Any, value: float) -> Lanes:
    """Broadcast a constant to all lanes."""
    return Lanes(builder, ir.Constant(_VECTOR, [value] * LANES))


def scalars(emit: Emitter, array: Any, count: int) -> list[Lanes]:
    """The first `count` numbers of an array, each broadcast to all lanes."""
    builder, data = emit.builder, emit.data(array)
    places = [builder.gep(data, [ir.Constant(_LONG, n)]) for n in range(count)]
    return [repeated(builder, builder.load(place, align=8)) for place in places]


def loop(builder: Any, first: Any, last: Any, step: int, body: Callable[[Any], Any]) -> Any:
    """Emit a loop that runs at least once, and as long as `body` returns true, if it returns
    anything.

    Returns the last value. Most loops end early, so they are not unrolled.
    """
    before = builder.block
    inside, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(inside)
    builder.position_at_end(inside)
    number = builder.phi(_LONG)
    number.add_incoming(first, before)
    holds = body(number)
    following = builder.add(number, _LONG(step))
    number.add_incoming(following, builder.block)
    more = builder.icmp_signed("<=", following, last)
    more = more if holds is None else builder.and_(more, holds)
    again = builder.cbranch(more, inside, after)
    # LLVM's mark of a loop that is not unrolled has itself as its first operand.
    module = builder.module
    demand = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    mark = ir.MDValue(module, [demand, demand], name=str(len(module.metadata)))
    mark.operands = (mark, demand)
    again.set_metadata("llvm.loop", mark)
    builder.position_at_end(after)
    return holds


def store_in_row(emit: Emitter, array: Any, row: Any, block: Any, value: Lanes) -> None:
    """Store a block in a row of a matrix of float64 or float32, up to the end of the row."""
    (context, builder), (kind, matrix) = emit, array
    view = context.make_array(kind)(context, builder, matrix)
    columns = builder.extract_value(view.shape, 1)
    first = builder.mul(block, ir.Constant(_LONG, LANES))
    place = builder.gep(view.data, [builder.add(builder.mul(row, columns), first)])
    number = view.data.type.pointee
    vector, mask = ir.VectorType(number, LANES), ir.VectorType(ir.IntType(1), LANES)
    stored = value.value if number == _DOUBLE else builder.fptrunc(value.value, vector)
    places = ir.Constant(ir.VectorType(_LONG, LANES), list(range(LANES)))
    left = builder.sub(columns, first)
    lefts = builder.insert_element(ir.Constant(places.type, ir.Undefined), left, _INT(0))
    order = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    lefts = builder.shuffle_vector(lefts, lefts, order)
    within = builder.icmp_signed("<", places, lefts)
    pointer = builder.bitcast(place, vector.as_pointer())
    arguments = [stored, pointer, _INT(number.get_abi_size(context.target_data)), within]
    shape = ir.FunctionType(ir.VoidType(), [vector, pointer.type, _INT, mask])
    name = f"llvm.masked.store.v{LANES}{'f64' if number == _DOUBLE else 'f32'}.p0"
    builder.call(cgutils.get_or_insert_function(builder.module, shape, name), arguments)


@instruction("float64", "float64 float64 float64")
def fma(emit: Emitter, a: Any, b: Any, c: Any) -> Any:
    """Fused multiply-add a*b + c, rounded once."""
    return emit.builder.fma(a, b, c)


@instruction("int64", "int64")
def lowest_bit(emit: Emitter, bits: Any) -> Any:
    """Index of the lowest set bit; at least one must be set."""
    return emit.builder.cttz(bits, ir.Constant(ir.IntType(1), 1))


# A contraction or a reassociation would change the bits, so no fast-math flag is given.
# Without numba's runtime no reference is counted: it would be, with an atomic instruction, for
# every array that is handed from one function to the next. Nothing is allocated in kernels.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "_nrt": False}

_JIT: Any = numba.njit


def kernel(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: compile a function for one signature at its first call, or load it from disk.

    If the cache folder is not writable, every process compiles; this is not an error.
    """

    def dispatcher(function: Callable[..., Any]) -> Any:
        jit = _JIT(nogil=True, no_cfunc_wrapper=True, **OPTIONS)
        return kept(jit(function), function, signature)

    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Decorator of a function that is inlined into kernels."""
    return _JIT(inline="always", **OPTIONS)(function)


def called(function: Callable[..., Any]) -> Any:
    """Decorator of a function that kernels call; compiled separately, which is faster for long
    ones."""
    return _JIT(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)


S0, S1, S2, S3, S4, S5 = SIN["float64"]
C0, C1, C2, C3, C4, C5, C6 = COS["float64"]
P0, P1, P2 = HALF_PI["float64"]
PER_QUADRANT, ROUNDER = TWO_OVER_PI["float64"][0], MAGIC["float64"]


@kernel("void(float64[::1], float64[::1], float64[::1])")
def fill_units(angles: Any, cos: Any, sin: Any) -> None:
    """Write cosines and sines of angles in rad, each within about an ulp."""
    for at in range(len(angles)):
        n = fma(angles[at], PER_QUADRANT, ROUNDER) - ROUNDER
        r = fma(n, -P2, fma(n, -P1, fma(n, -P0, angles[at])))
        z = r * r
        s = fma(fma(fma(fma(fma(S0, z, S1), z, S2), z, S3), z, S4), z, S5)
        sine = fma(r * z, s, r)
        c = fma(fma(fma(fma(fma(fma(C0, z, C1), z, C2), z, C3), z, C4), z, C5), z, C6)
        cosine = fma(c, z, 1.0)
        quadrant = int(n) & 3
        if quadrant & 1:
            cosine, sine = -sine, cosine
        if quadrant & 2:
            cosine, sine = -cosine, -sine
        cos[at], sin[at] = cosine, sine
