"""What LLVM makes of a kernel: values aligned on the stack, operations in the order given."""

from __future__ import annotations

import ctypes
import platform
import re
from typing import Any

import numpy as np
import pytest

from compile.lanes_harness import lowered, traced
from skidpad import Program
from skidpad.compile import host, native, pipeline
from skidpad.compile.kernels import apply_module
from skidpad.ops import called, sin

X86 = platform.machine().lower() in ("x86_64", "amd64")


def crowded(a: Any, b: Any) -> Any:
    """More values at once than there are registers."""
    values = [a * (k + 1.0) + b for k in range(80)]
    return sum((x * y for x, y in zip(values, reversed(values), strict=True)), 0.0)


def _calls(a: Any, b: Any) -> Any:
    return called(_crowded_tuple, a, b)[0] + called(_crowded_tuple, b, sin(a))[0]


def _crowded_tuple(a: Any, b: Any) -> tuple[Any, ...]:
    return (crowded(a, b),)


def machine_text(program: Program, lanes: int) -> str:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(str(apply_module(program, lanes)))
    return native._target_machine().emit_assembly(module)


@pytest.mark.skipif(not X86, reason="reads the text of x86")
@pytest.mark.parametrize("function", [crowded, _calls])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_vectors_on_the_stack_are_aligned(function: Any, precision: str) -> None:
    """Those that are not lie across two lines of the cache, each access costs two."""
    lanes = native.vector_bits() // (64 if precision == "float64" else 32)
    text = machine_text(lowered(function, 2, precision), lanes)
    kept = re.findall(r"\t(v?mov[au]p[sd])\s+%[xyz]mm\d+, -?\d*\(%r[sb]p\)", text)
    assert len(kept) > 10, "nothing had to go to the stack, so nothing is shown"
    assert not [name for name in kept if "movu" in name]


@pytest.mark.parametrize("lanes", [1, 8])
def test_the_order_of_operations_changes_no_bits(lanes: int) -> None:
    program = lowered(_calls, 2)
    text = str(apply_module(program, lanes))
    table = np.random.default_rng(5).normal(size=(1, 21, 2))
    results: list[bytes] = []
    for in_order in (False, True):
        library = native.Library(native.object_code(text, in_order=in_order))
        out, (_, words) = np.empty((1, 21, 1)), host.strided(table, lanes)
        kernel = library.function("apply", ctypes.c_void_p)
        host.run(kernel, [*words, *host.writable(out)], (), 21, lanes, 1)
        results.append(out.tobytes())
    assert results[0] == results[1]
    np.testing.assert_allclose(np.frombuffer(results[0]), _calls(*table[0].T), rtol=1e-12)


def test_keeping_the_order_of_one_module_leaves_others_as_they_were() -> None:
    """LLVM has one setting for the process, which other libraries share."""
    text = str(apply_module(lowered(crowded, 2), 4))
    before, in_order, after = (
        native.object_code(text, in_order=choice) for choice in (False, True, False)
    )
    assert before == after
    assert in_order != before


def test_the_order_is_put_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[str] = []
    monkeypatch.setattr(native.llvm, "set_option", lambda _, option: options.append(option))
    with pytest.raises(ZeroDivisionError), native._unscheduled():
        raise ZeroDivisionError
    assert options == ["-enable-misched=false", "-enable-misched=true"]


def _chain(length: int) -> Any:
    def kernel(a: Any, b: Any) -> tuple[Any, ...]:
        for k in range(length):
            a = sin(a) * b + k
        return (a,)

    return kernel


def test_large_functions_have_one_vector_per_value() -> None:
    short, long = (
        traced(lambda a, b, kernel=kernel: called(kernel, a, b)[0], 2)
        for kernel in (_chain(20), _chain(pipeline._WIDE_FUNCTION))
    )
    for precision in ("float64", "float32"):
        lanes = [pipeline.default_lanes(program, precision) for program in (short, long)]
        assert lanes[0] == 2 * lanes[1]
