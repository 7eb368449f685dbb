"""Kernels round to nearest whatever their caller does, and leave its way of rounding as it was.

A program that a Simulator runs in may have changed how the processor rounds, or that it flushes
tiny numbers to zero (code built with -ffast-math does when it is loaded). The bits of a kernel must
not follow that: it sets the processor's control register at its entry where that differs, and puts
it back at its end.
"""

from __future__ import annotations

import platform
from typing import Any, Protocol

from llvmlite import ir

I32, I64 = ir.IntType(32), ir.IntType(64)
POINTER = ir.PointerType()

X86_USUAL, X86_STATUS = 0x1F80, 0x3F
"""The control register MXCSR of a program that has changed nothing, and its bits that are not
control but note what has happened (Intel, *Software Developer's Manual*, volume 1, 10.2.3)."""
ARM_USUAL = 0
"""FPCR likewise (Arm, *Architecture Reference Manual*, C5.2)."""
INNER = ".inner"
"""Behind the name of a function that `entered` makes callable."""


def entered(module: ir.Module, *names: str) -> ir.Module:
    """The module with a function NAME for each NAME.inner, which it calls rounding to nearest."""
    machine = platform.machine().lower()
    register: _Register | None = None
    if machine in ("x86_64", "amd64"):
        register = _Mxcsr(module)
    elif machine in ("aarch64", "arm64"):
        register = _Fpcr(module)
    for name in names:
        _enter(module, name, register)
    return module


def _enter(module: ir.Module, name: str, register: _Register | None) -> None:
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


class _Register(Protocol):
    """The control register of a processor's floating-point unit."""

    usual: Any

    def read(self, b: ir.IRBuilder) -> Any:
        """Its content."""
        ...

    def write(self, b: ir.IRBuilder, value: Any) -> None:
        """Give it another content."""
        ...

    def is_usual(self, b: ir.IRBuilder, value: Any) -> Any:
        """Whether this content rounds as it should."""
        ...


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
