"""Emit the operations of a lowered Program as LLVM vector instructions, one lane per vehicle.

Vector types are explicit (`<16 x double>`), no auto-vectoriser is involved, and no fast-math flag
is set, so every lane computes the same bits at every width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from ..errors import UnknownOperation
from . import llvm_text
from .llvm_text import I1, I32, POINTER, Target
from .native import effort
from .passes import skipped_by
from .program import MAGIC, Instruction, Program

_MANTISSA_BITS = {"float64": 52, "float32": 23}
_BIAS = {"float64": 1023, "float32": 127}
_PIECE = 500
"""Approximate number of instructions per basic block for LLVM without optimisation.

Unoptimised code is compiled block by block, and a block of 20,000 instructions took five times as
long as its pieces. With optimisation LLVM would join the pieces again.
"""


def _plain(op: str) -> Callable[..., Any]:
    return lambda t, b, args, imm: t.apply(b, op, args[0].type, args)


def _compare(predicate: str) -> Callable[..., Any]:
    return lambda t, b, args, imm: t.apply(b, f"fcmp {predicate}", t.truth, args)


def _intrinsic(name: str) -> Callable[..., Any]:
    return lambda t, b, args, imm: t.intrinsic(b, name, args)


def _select(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    operands = ", ".join([f"{a.type} {a.get_reference()}" for a in args])
    return t.write(b, args[1].type, f"select {operands}")


def _not(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    return t.apply(b, "xor", t.truth, [args[0], t.everywhere(ir.Constant(I1, 1))])


def _testbit(t: Target, b: ir.IRBuilder, args: list[Any], bit: int) -> Any:
    word = t.cast(b, "bitcast", args[0], t.bits)
    masked = t.apply(b, "and", t.bits, [word, t.word(1 << bit)])
    return t.apply(b, "icmp ne", t.truth, [masked, t.word(0)])


def _pow2(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    shifted = t.apply(b, "fadd", t.vector, [args[0], t.number(MAGIC[t.precision])])
    word = t.cast(b, "bitcast", shifted, t.bits)
    biased = t.apply(b, "add", t.bits, [word, t.word(_BIAS[t.precision])])
    moved = t.apply(b, "shl", t.bits, [biased, t.word(_MANTISSA_BITS[t.precision])])
    return t.cast(b, "bitcast", moved, t.vector)


def _mantissa(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    width = _MANTISSA_BITS[t.precision]
    word = t.cast(b, "bitcast", args[0], t.bits)
    fraction = t.apply(b, "and", t.bits, [word, t.word((1 << width) - 1)])
    number = t.apply(b, "or", t.bits, [fraction, t.word(_BIAS[t.precision] << width)])
    return t.cast(b, "bitcast", number, t.vector)


def _exponent(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    bias = _BIAS[t.precision]
    word = t.cast(b, "bitcast", args[0], t.bits)
    field = t.apply(b, "lshr", t.bits, [word, t.word(_MANTISSA_BITS[t.precision])])
    biased = t.apply(b, "and", t.bits, [field, t.word(2 * bias + 1)])
    return t.cast(b, "sitofp", t.apply(b, "sub", t.bits, [biased, t.word(bias)]), t.vector)


_EMIT: dict[str, Callable[..., Any]] = {
    **{op: _plain(f"f{op}") for op in ("add", "sub", "mul", "div", "neg")},
    **{op: _plain(op) for op in ("and", "or", "xor")},
    **{op: _intrinsic(op) for op in ("fma", "sqrt", "rint", "floor", "copysign")},
    **{op: _compare(f"o{op}") for op in ("lt", "le", "eq")},
    "ne": _compare("une"),
    "abs": _intrinsic("fabs"),
    "select": _select,
    "not": _not,
    "testbit": _testbit,
    "pow2": _pow2,
    "mantissa": _mantissa,
    "exponent": _exponent,
}


class Body:
    """The operations of a Program, emitted in parts: the values constant over a rollout, then the
    rest.

    Emitting a part only moves operations; it changes no rounding, so the bits stay the same. The
    value of a call is the address of its results; values in memory are loaded at their first use.
    """

    def __init__(
        self, target: Target, program: Program, functions: tuple[Program, ...] | None = None
    ) -> None:
        self.target = target
        self.program = program
        self.functions = program.functions if functions is None else functions
        self.values: dict[int, Any] = {}
        self.kept_at: dict[int, list[InMemory]] = {}
        """Addresses to store values at as soon as they are known, by instruction."""
        self.memory: dict[int, InMemory] = {}
        """Addresses of values that lie in memory, by instruction."""
        self.arrays: dict[int, llvm_text.LaneArrays] = {}
        """Shared arrays already looked up, by the instruction of their number."""

    def copy(self) -> Body:
        """A body with the values emitted so far, to continue inside a loop."""
        other = Body(self.target, self.program, self.functions)
        other.values, other.memory = dict(self.values), dict(self.memory)
        other.arrays = dict(self.arrays)
        return other

    def emit(self, builder: ir.IRBuilder, inputs: Mapping[int, Sequence[Any]]) -> None:
        """Emit every operation that depends only on these ports and on values emitted before.

        `inputs` maps a port number to the vector values of its fields.
        """
        in_pieces = effort() == 0
        for k, i in enumerate(self.program.code):
            if k in self.values:
                continue
            if in_pieces and len(builder.block.instructions) > _PIECE:
                piece = builder.append_basic_block()
                builder.branch(piece)
                builder.position_at_end(piece)
            if i.op == "const":
                self.values[k] = self.target.number(i.imm)
            elif i.op == "input":
                if i.imm[0] in inputs:
                    self._set(k, inputs[i.imm[0]][i.imm[1]])
            elif i.op == "item":
                if i.args[0] in self.values:
                    self._set(k, InMemory(self.values[i.args[0]], i.imm))
            else:
                if i.op == "read":
                    self._find(builder, i.args[0])
                if all(a in self.values for a in i.args):
                    self.values[k] = self._value(builder, i)
                    for place in self.kept_at.pop(k, ()):
                        address = place.address(self.target, builder)
                        self.target.store(builder, self.values[k], address)
        for r in (r for result in self.program.results for r in result if r in self.values):
            self.loaded(builder, r)

    def _set(self, k: int, value: Any) -> None:
        self.values[k] = value
        if isinstance(value, InMemory):
            self.memory[k] = value

    def _find(self, builder: ir.IRBuilder, number: int) -> None:
        """Look up a shared array as soon as its number is known; if that is held, once per
        rollout.
        """
        if number in self.values and number not in self.arrays:
            value = self.loaded(builder, number)
            self.arrays[number] = llvm_text.LaneArrays.of(self.target, builder, value)

    def _value(self, builder: ir.IRBuilder, i: Instruction) -> Any:
        if i.op == "call":
            return self._called(builder, i)
        args = [self.loaded(builder, a) for a in i.args]
        if i.op == "read":
            return llvm_text.element(self.target, builder, self.arrays[i.args[0]], args[1])
        emit = _EMIT.get(i.op)
        if emit is None:
            raise UnknownOperation(f"the LLVM target has no operation {i.op!r}")
        return emit(self.target, builder, args, i.imm)

    def _called(self, builder: ir.IRBuilder, i: Instruction) -> Any:
        count = len(self.functions[i.imm[0]].inputs[0].fields)
        args = [self.loaded(builder, a) for a in i.args[:count]]
        held = [self.memory[a].address(self.target, builder) for a in i.args[count:]]
        return _call(self.target, builder, self.functions, i.imm, args, held)

    def loaded(self, builder: ir.IRBuilder, k: int) -> Any:
        """Value of an emitted instruction, loaded from memory if necessary."""
        value = self.values[k]
        if isinstance(value, InMemory):
            address = value.address(self.target, builder)
            value = self.values[k] = self.target.load(builder, address)
        return value

    def results(self, port: int) -> list[Any]:
        """The values of an output port, once everything it needs is emitted."""
        return [self.values[r] for r in self.program.results[port]]


class InMemory(NamedTuple):
    """A value in memory that is not loaded yet: a base address and an offset in values."""

    base: Any
    place: int

    def address(self, target: Target, b: ir.IRBuilder) -> Any:
        return target.address(b, self.base, self.place)


def _call(
    target: Target,
    b: ir.IRBuilder,
    functions: tuple[Program, ...],
    what: tuple[int, int],
    args: list[Any],
    held: list[Any],
) -> Any:
    """Emit a repeated call of a function; returns the address of its results.

    `held` is the address of its held values, if it has some.
    """
    number, times = what
    called, function = _function(target, functions, number), functions[number]
    arguments = room(target, b, len(args))
    for k, value in enumerate(args):
        target.store(b, value, InMemory(arguments, k).address(target, b))
    condition = skipped_by(function)
    if condition is None:
        results = room(target, b, len(function.results[0]))
        b.call(called, [arguments, results, *held])
        if times == 1:
            return results
        again = [InMemory(results, k) for k in range(len(function.results[0]))]
        first = [target.load(b, place.address(target, b)) for place in again]
        return _call(target, b, functions, (number, times - 1), [*first, *args[len(first) :]], held)
    # The results overwrite the first arguments, which the function reads before it writes.
    loop, run, after = (b.append_basic_block() for _ in range(3))
    before = b.block
    b.branch(loop)
    b.position_at_end(loop)
    count = b.phi(I32)
    count.add_incoming(ir.Constant(I32, 0), before)
    more = b.icmp_unsigned("<", count, ir.Constant(I32, times))
    asked = _any_lane(target, b, InMemory(arguments, condition).address(target, b))
    b.cbranch(b.and_(more, asked), run, after)
    b.position_at_end(run)
    b.call(called, [arguments, arguments, *held])
    count.add_incoming(b.add(count, ir.Constant(I32, 1)), b.block)
    b.branch(loop)
    b.position_at_end(after)
    return arguments


def _any_lane(target: Target, b: ir.IRBuilder, address: Any) -> Any:
    value = target.load(b, address)
    asked = b.fcmp_unordered("!=", value, target.number(0.0))
    if target.lanes == 1:
        return asked
    lanes = ir.IntType(target.lanes)
    return b.icmp_unsigned("!=", b.bitcast(asked, lanes), ir.Constant(lanes, 0))


def _function(target: Target, functions: tuple[Program, ...], number: int) -> Any:
    """The LLVM function of a Program's function: it reads its arguments and writes its results.

    A third pointer refers to the fields of its second port, if it has one.
    """
    compiled = target.functions.get(number)
    if compiled is not None:
        return compiled
    function = functions[number]
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * (1 + len(function.inputs)))
    compiled = ir.Function(target.module, kind, f"function{number}")
    compiled.linkage = "internal"
    compiled.attributes.add("noinline")
    target.align_stack(compiled)
    target.functions[number] = compiled
    b = ir.IRBuilder(compiled.append_basic_block())
    inputs = {
        port: [InMemory(compiled.args[2 * port], k) for k in range(len(fields))]
        for port, (_, fields) in enumerate(function.inputs)
    }
    body = Body(target, function, functions)
    if skipped_by(function) is None:
        for pointer in compiled.args:
            pointer.add_attribute("noalias")
        # Store results at once: kept until the end, the many results of an elimination would
        # displace other values from the registers.
        for k, r in enumerate(function.results[0]):
            body.kept_at.setdefault(r, []).append(InMemory(compiled.args[1], k))
        early = set(body.kept_at)
    else:
        early = set[int]()
    body.emit(b, inputs)
    for k, r in enumerate(function.results[0]):
        if r not in early or r in body.kept_at:
            target.store(b, body.values[r], InMemory(compiled.args[1], k).address(target, b))
    b.ret_void()
    return compiled


def room(target: Target, b: ir.IRBuilder, count: int) -> Any:
    """Allocate stack memory for `count` values, once, in the entry block."""
    with b.goto_entry_block():
        place = b.alloca(ir.ArrayType(target.vector, count))
    # Replace llvmlite's typed pointer, which current LLVM no longer has.
    place.type = POINTER
    return place


def finite_check(target: Target, builder: ir.IRBuilder, values: Iterable[Any]) -> Any:
    """Finiteness check: 0 in lanes where all values are finite, else NaN (the sum of the values
    times 0).
    """
    zero = target.number(0.0)
    total = zero
    for value in values:
        total = target.intrinsic(builder, "fma", [value, zero, total])
    return total
