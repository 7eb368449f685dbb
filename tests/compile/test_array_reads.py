"""The operation `read`: the same bits in every target, whatever numbers come in, and no slope."""

from __future__ import annotations

import ctypes
import gc
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

from compile import cuda_harness
from compile.lanes_harness import LANES, PRECISIONS, canonical, run
from skidpad import Program, ops
from skidpad.compile import c, cuda, kernels, native
from skidpad.compile.gpu import ModuleArrays
from skidpad.compile.lower import lower
from skidpad.compile.passes import scheduled, with_held_parts
from skidpad.compile.portable import evaluate
from skidpad.compile.program import Port
from skidpad.compile.trace import trace
from skidpad.core.arrays import MOST_ARRAYS, table_address
from skidpad.errors import InvalidValue, TraceError
from skidpad.integrate.derivatives import linearised, pullback, pushforward
from skidpad.ops import called, interpolate, read, shared_array, where

RANDOM = np.random.default_rng(11)
FEW, MANY = shared_array(RANDOM.normal(size=7)), shared_array(RANDOM.normal(size=1000))
IN, OUT = Port("p", ("number", "index")), Port("y", ("element", "sum"))
ODD = (0.0, -1.0, 1.5, 1e6, MOST_ARRAYS, 1e30, np.inf, -np.inf, np.nan)


def neighbours(number: Any, index: Any) -> Any:
    return read(number, index) + read(number, index + 1.0)


def function(p: tuple[Any, ...]) -> Any:
    return ((read(p[0], p[1]), neighbours(*p)),)


def called_function(p: tuple[Any, ...]) -> Any:
    return ((read(p[0], p[1]), called(neighbours, *p)),)


FUNCTIONS = {"copied": function, "called": called_function}


def columns(precision: str) -> list[np.ndarray]:
    numbers = RANDOM.choice([FEW, MANY, *ODD], 301, p=[0.4, 0.4, *[0.2 / len(ODD)] * len(ODD)])
    indices = np.floor(RANDOM.uniform(-20.0, 1100.0, 301))
    indices[::9] = RANDOM.choice([np.nan, np.inf, -np.inf, -1e30, 1e30, -0.0], 34)
    return [a.astype(precision) for a in (numbers, indices)]


def elements(number: np.ndarray, index: np.ndarray) -> np.ndarray:
    """By hand, one by one."""
    arrays = {float(n): n.values.astype(index.dtype) for n in (FEW, MANY)}
    found = np.full(len(number), np.nan, index.dtype)
    for k, (n, i) in enumerate(zip(number.tolist(), index.tolist(), strict=True)):
        if n in arrays and i == i:
            found[k] = arrays[n][int(min(max(i, 0.0), len(arrays[n]) - 1.0))]
    return found


def expected(number: np.ndarray, index: np.ndarray) -> list[np.ndarray]:
    first = elements(number, index)
    return [first, first + elements(number, index + index.dtype.type(1.0))]


def program(how: str, precision: str) -> Program:
    return lower(trace("f", FUNCTIONS[how], (IN,), (OUT,)), precision)


@pytest.mark.parametrize("how", FUNCTIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("lanes", LANES)
def test_lanes(how: str, precision: str, lanes: int) -> None:
    given = columns(precision)
    prepared = scheduled(with_held_parts(program(how, precision)))
    assert canonical(run(prepared, *given, lanes=lanes)) == canonical(expected(*given))


@pytest.mark.parametrize("how", FUNCTIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_c(how: str, precision: str, tmp_path: Path) -> None:
    library = c.compile_shared(c.emit(program(how, precision), "f"), tmp_path)
    given = columns(precision)
    table = np.stack(given, axis=1)
    out = np.empty((len(table), 2), precision)

    def run_all() -> None:
        for row, result in zip(table, out, strict=True):
            library.f(
                (ctypes.c_void_p * 1)(row.ctypes.data), (ctypes.c_void_p * 1)(result.ctypes.data)
            )

    run_all()
    assert np.isnan(out).all(), "without a table there are no arrays"
    library.f_set_arrays(ctypes.c_void_p(table_address(precision)), ctypes.c_int64(MOST_ARRAYS))
    run_all()
    assert canonical(list(out.T)) == canonical(expected(*given))


def test_c_with_a_table_of_ones_own(tmp_path: Path) -> None:
    """As the text of the source describes it, without the package."""
    source = c.emit(program("copied", "float64"), "f")
    source += """
    static const struct { int64_t count; double values[3]; } one = {3, {5.0, 6.0, 7.0}};
    static const void* const table[] = {0, 0, &one};
    double element(double number, double index);
    double element(double number, double index) {
        const double p[] = {number, index}; const double* in[] = {p};
        double y[2]; double* out[] = {y};
        f_set_arrays(table, 3);
        f(in, out);
        return y[0];
    }
    """
    element = c.compile_shared(source, tmp_path).element
    element.restype, element.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    assert [element(2.0, i) for i in (-1.0, 0.0, 1.0, 2.0, 9.0)] == [5.0, 5.0, 6.0, 7.0, 7.0]
    assert all(np.isnan(element(n, 0.0)) for n in (0.0, 1.0, 1.5, 3.0, -1.0, np.nan))


@pytest.mark.parametrize("how", FUNCTIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_cuda_text(how: str, precision: str, tmp_path: Path) -> None:
    launch, library = device(program(how, precision), precision, tmp_path)
    words = (ctypes.c_uint64 * 2).in_dll(library, "shared_arrays")
    words[:] = table_address(precision), MOST_ARRAYS
    given = columns(precision)
    out = np.empty((1, len(given[0]), 2), precision)
    launch(out.shape[1], [np.stack(given, axis=1)[None], out], [out.shape[1]])
    assert canonical(list(out[0].T)) == canonical(expected(*given))


def device(low: Program, precision: str, folder: Path) -> tuple[Any, Any]:
    """A kernel of CUDA text on the processor, and the library that it is in."""
    launch = cuda_harness.kernel(cuda.emit_apply(low, precision), "apply", folder)
    return launch, ctypes.CDLL(str(next(folder.glob("*.so"))))


@pytest.mark.slow_cases("float32")
@pytest.mark.skipif(cuda_harness.NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_cuda_text_is_compiled_by_nvcc(precision: str, tmp_path: Path) -> None:
    assert cuda_harness.cubin(cuda.emit_apply(program("called", precision), precision), tmp_path)


class _Device:
    """What `gpu_arrays` asks of CuPy, in the memory of the processor."""

    uint64 = np.uint64

    def __init__(self) -> None:
        self.waits = self.copies = 0
        self.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0, synchronize=self._wait))

    def _wait(self) -> None:
        self.waits += 1

    def asarray(self, array: np.ndarray) -> Any:
        self.copies += 1
        copied = array.copy()
        return _DeviceArray(copied, SimpleNamespace(ptr=copied.ctypes.data))


class _DeviceArray(NamedTuple):
    array: np.ndarray
    data: Any

    def __len__(self) -> int:
        return len(self.array)


@pytest.fixture
def forgotten_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skidpad.compile.gpu._on_devices", {})


@pytest.mark.slow_cases("float64")
@pytest.mark.usefixtures("forgotten_devices")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_device_gets_arrays_when_they_change(precision: str, tmp_path: Path) -> None:
    launch, library = device(program("copied", precision), precision, tmp_path)
    words = (ctypes.c_uint64 * 2).in_dll(library, "shared_arrays")
    place = SimpleNamespace(
        copy_from_host=lambda source, size: ctypes.memmove(ctypes.addressof(words), source, size)
    )
    xp = _Device()
    arrays = ModuleArrays(xp, SimpleNamespace(get_global=lambda name: place), precision)

    def element(number: float) -> float:
        arrays.update()
        out = np.empty((1, 1, 2), precision)
        launch(1, [np.array([[[number, 1.0]]], precision), out], [1])
        return float(out[0, 0, 0])

    assert element(MANY) == precision_of(MANY.values[1], precision)
    copies = xp.copies
    assert element(FEW) == precision_of(FEW.values[1], precision)
    assert xp.copies == copies, "nothing has changed"
    other = shared_array(RANDOM.normal(size=3))
    assert element(other) == precision_of(other.values[1], precision)
    assert xp.copies == copies + 2, "the new array and the table"
    gone = float(other)
    del other
    gc.collect()
    waits = xp.waits
    assert np.isnan(element(gone))
    assert xp.waits > waits, "kernels under way may read what is freed"
    assert element(MANY) == precision_of(MANY.values[1], precision)


def precision_of(value: float, precision: str) -> float:
    return float(np.dtype(precision).type(value))


@pytest.mark.slow_cases("float32")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_dropped_array_reads_nan_in_compiled_code(precision: str) -> None:
    low = program("copied", precision)
    number = shared_array(RANDOM.normal(size=5))
    last = float(number)
    assert np.isfinite(run(low, [last], [2.0])[0]).all()
    del number
    gc.collect()
    new = shared_array(RANDOM.normal(size=5))
    assert np.isnan(run(low, [last], [2.0])[0]).all()
    assert run(low, [new], [2.0])[0][0] == precision_of(new.values[2], precision)


def test_arrays_that_single_precision_cannot_index_read_nan_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("skidpad.core.arrays.LONGEST_FLOAT32", 100)
    monkeypatch.setattr("skidpad.core.backends.LONGEST_FLOAT32", 100)
    long, short = shared_array(RANDOM.normal(size=101)), shared_array(RANDOM.normal(size=100))
    assert np.isnan(run(program("copied", "float32"), [long], [2.0])[0]).all()
    assert np.isnan(read(np.float32(long), np.float32(2.0)))
    assert np.isfinite(run(program("copied", "float32"), [short], [2.0])[0]).all()
    assert np.isfinite(run(program("copied", "float64"), [long], [2.0])[0]).all()


def test_the_program_has_one_operation_for_each_read() -> None:
    for how in FUNCTIONS:
        low = program(how, "float64")
        assert low.reads_arrays
        assert low.counts["read"] == (2 if how == "copied" else 3)
        assert "read(p.number, p.index)" in str(low)


def test_it_is_evaluated_and_traced_again() -> None:
    first = trace("f", called_function, (IN,), (OUT,))
    (values,) = evaluate(first, [[FEW, 2.0]])
    assert values == [FEW.values[2], FEW.values[2] + FEW.values[3]]
    again = trace("f", lambda p: evaluate(first, [p]), (IN,), (OUT,))
    assert again.digest == first.digest


def test_program_files_keep_it(tmp_path: Path) -> None:
    first = trace("f", called_function, (IN,), (OUT,))
    first.save(tmp_path / "f.program")
    assert Program.load(tmp_path / "f.program") == first
    document = json.loads((tmp_path / "f.program").read_text())
    assert document["version"] == 3
    document["code"][2][1] = [0]
    (tmp_path / "f.program").write_text(json.dumps(document))
    with pytest.raises(InvalidValue, match="damaged"):
        Program.load(tmp_path / "f.program")


def constant(p: tuple[Any, ...]) -> Any:
    return ((read(FEW, p[1]), 0.0),)


def constant_choice(p: tuple[Any, ...]) -> Any:
    return ((read(where(p[0] > 0.0, FEW, p[0]), p[1]), 0.0),)


def constant_of_a_call(p: tuple[Any, ...]) -> Any:
    return ((called(neighbours, FEW, p[1]), 0.0),)


GRID = ops.grid(RANDOM.normal(size=(4, 5)))


def constant_grid(p: tuple[Any, ...]) -> Any:
    return ((interpolate(GRID, p[0], p[1]), 0.0),)


@pytest.mark.parametrize("function", [constant, constant_choice, constant_of_a_call, constant_grid])
def test_a_number_must_not_be_a_constant(function: Callable[..., Any]) -> None:
    """It would be written into files and caches, where it means nothing."""
    with pytest.raises(TraceError, match="a field of the parameters"):
        trace("f", function, (IN,), (OUT,))


def symbols() -> tuple[Any, Any]:
    x = ca.vertcat(ca.SX.sym("number"), ca.SX.sym("x"))
    y = read(x[0], ca.floor(x[1])) * ca.sin(x[1]) + x[0] * read(x[0], 2.0)
    return x, y


def test_derivatives_are_those_of_a_constant() -> None:
    """y = a sin(x) + n b with elements a, b: y' = (b, a cos(x))."""
    x, y = symbols()
    at, (a, b) = [float(MANY), 3.4], MANY.values[[3, 2]]
    wanted = [b, a * np.cos(3.4)]
    rows = {
        "jacobian": linearised(y, x).jacobian,
        "pullback": pullback(y, ca.SX(1), x).T,
        "pushforward": ca.horzcat(*(pushforward(y, x, d) for d in ca.horzsplit(ca.SX.eye(2)))),
        "casadi": ca.jacobian(y, x),
        "reverse": ca.gradient(y, x).T,
        "forward": ca.jtimes(y, x, ca.SX.eye(2)),
    }
    for how, row in rows.items():
        found = np.array(ca.Function("f", [x], [row])(at)).ravel()
        assert np.allclose(found, wanted, rtol=1e-14, atol=0.0), how


def test_casadi_evaluates_it() -> None:
    """Of matrices too, and in functions of functions."""
    x = ca.SX.sym("x", 2, 3)
    values = ca.Function("f", [x], [read(float(MANY), x)])(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(np.array(values), MANY.values[:6].reshape(2, 3))
    m, s = ca.MX.sym("m", 2), ca.SX.sym("s", 2)
    inner = ca.Function("g", [s], [read(s[0], s[1]) ** 2])
    outer = ca.Function("h", [m], [inner(m) + inner(m + ca.DM([0, 1]))])
    assert float(outer([MANY, 4.0])) == pytest.approx(MANY.values[4] ** 2 + MANY.values[5] ** 2)


def test_a_library_without_reads_is_called_directly() -> None:
    """What keeps arrays alive costs nothing where there are none."""
    low = lower(trace("f", lambda p: ((p[0], p[1]),), (IN,), (OUT,)), "float64")
    library = native.Library(native.object_code(str(kernels.apply_module(low, 1))))
    assert hasattr(library.function("apply"), "restype")
