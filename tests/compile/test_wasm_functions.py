"""Functions and shared arrays of Programs as WebAssembly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from compile import test_array_reads as reads
from compile import test_called as kernels
from compile import test_functions as functions
from compile.lanes_harness import PRECISIONS, canonical, traced
from compile.numpy_model import evaluate
from compile.wasm_harness import KINDS, Engine
from skidpad.compile.held_calls import with_held_parts
from skidpad.compile.lower import lower
from skidpad.compile.schedule import scheduled
from skidpad.errors import InvalidValue
from skidpad.export.webassembly import modules_of
from skidpad.shared_arrays import LONGEST_FLOAT32
from viewer.conftest import browser as browser


@pytest.fixture(scope="module")
def engine(browser: Any) -> Iterator[Engine]:
    found = Engine(browser)
    yield found
    found.page.close()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_functions_that_call_and_iterate(engine: Engine, precision: str) -> None:
    program = lower(traced(functions.mixed, 2, port="x"), precision)
    given = functions.columns(precision)
    expected = canonical(np.stack(evaluate(program, *given), axis=1))
    for kind in KINDS:
        for written in (program, scheduled(with_held_parts(program))):
            engine.load(modules_of({"f": written}), kind)
            (got,) = engine.apply("f", written, np.stack(given, axis=1))
            assert canonical(got) == expected, kind


@pytest.mark.parametrize("precision", PRECISIONS)
def test_kernels_with_held_arguments(engine: Engine, precision: str) -> None:
    program = lower(kernels.traced(kernels.by_call), precision)
    x, p = kernels.columns(precision)
    expected = canonical(np.stack(evaluate(program, *x, more=p), axis=1))
    for kind in KINDS:
        engine.load(modules_of({"f": scheduled(with_held_parts(program))}), kind)
        (got,) = engine.apply("f", program, np.stack(x, axis=1), np.stack(p, axis=1))
        assert canonical(got) == expected, kind


def test_times_are_kept_where_nothing_can_be_skipped(engine: Engine) -> None:
    x = ca.SX.sym("x", 2)
    growth = functions.called("growth", x, [x[0] * x[1] + 1.0])
    program = lower(traced(lambda a, b: growth.call([ca.vertcat(a, b)])[0], 2, port="x"), "float64")
    code = tuple(i._replace(imm=(0, 3)) if i.op == "call" else i for i in program.code)
    program = replace(program, code=code)
    for kind in KINDS:
        engine.load(modules_of({"f": program}), kind)
        (got,) = engine.apply("f", program, np.array([[2.0, 3.0], [-1.0, 0.5]]))
        assert got[:, 0].tolist() == [
            ((2.0 * 3.0 + 1.0) * 3.0 + 1.0) * 3.0 + 1.0,
            ((-0.5 + 1.0) * 0.5 + 1.0) * 0.5 + 1.0,
        ]


@pytest.mark.parametrize("how", reads.FUNCTIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_arrays_are_read_by_their_place(engine: Engine, precision: str, how: str) -> None:
    """The numbers 1 and 2 instead of those of the process."""
    number, index = reads.columns(precision)
    expected = canonical(np.stack(reads.expected(number, index), axis=1))
    places = number.copy()
    for place, shared in enumerate((reads.MANY, reads.FEW), 1):
        places[number == np.dtype(precision).type(shared)] = place
    program = reads.program(how, precision)
    modules = modules_of({"f": program}, [reads.MANY.values, reads.FEW.values])
    for kind in KINDS:
        engine.load(modules, kind)
        (got,) = engine.apply("f", program, np.stack([places, index], axis=1))
        assert canonical(got) == expected, kind


def test_without_arrays_every_number_reads_nan(engine: Engine) -> None:
    program = reads.program("copied", "float64")
    engine.load(modules_of({"f": program}))
    (got,) = engine.apply("f", program, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 5.0]]))
    assert np.isnan(got).all()
    with pytest.raises(InvalidValue, match="at least 1 number"):
        modules_of({"f": program}, [np.zeros(0)])
    long = np.broadcast_to(0.0, LONGEST_FLOAT32 + 1)
    with pytest.raises(InvalidValue, match="array 2 has 16777217 numbers"):
        modules_of({"f": reads.program("copied", "float32")}, [np.ones(3), long])
