"""Functions of a Program: traced from CasADi calls, cut down, looped, and the same bits on every
target."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from compile import cuda_harness
from compile.lanes_harness import LANES, PRECISIONS, canonical, runner, traced
from compile.numpy_model import evaluate
from skidpad import Program
from skidpad.compile import c, cuda
from skidpad.compile.lower import lower
from skidpad.compile.passes import scheduled, skipped_by
from skidpad.compile.program import Instruction
from skidpad.errors import InvalidValue, TraceError

MOST = 9


def called(name: str, inputs: Any, outputs: list[Any]) -> Any:
    return ca.Function(name, [inputs], [ca.vertcat(*outputs)], {"never_inline": True, "cse": True})


def root_iteration() -> Any:
    """One Newton iteration for the square root of a, with the memory (go_on, root, same)."""
    go_on, root, same, a = (ca.SX.sym(name) for name in ("go_on", "root", "same", "a"))
    following = 0.5 * (root + a / root)
    more = ca.if_else(ca.fabs(following - root) > 1e-3 * root, 1.0, 0.0)
    new, old = (more, following, same), (go_on, root, same)
    kept = [ca.if_else(go_on, n, o) for n, o in zip(new, old, strict=True)]
    return called("root", ca.vertcat(*old, a), kept)


def iterated_root(a: Any) -> Any:
    iteration, memory = root_iteration(), ca.vertcat(1.0, a, 0.0)
    for _ in range(MOST):
        (memory,) = iteration.call([ca.vertcat(memory, a)])
    return memory[1] + memory[2]


def mixed(a: Any, b: Any) -> Any:
    """A function called twice, one that calls it, and a loop."""
    x = ca.SX.sym("x", 2)
    inner = called("inner", x, [ca.sin(x[0]) * x[1], x[0] + x[1] * x[1]])
    y = ca.SX.sym("y")
    (once,) = inner.call([ca.vertcat(y, 2.0)])
    outer = called("outer", y, [once[0] - 0.25 * once[1]])
    first, second = inner.call([ca.vertcat(a, b)])[0], inner.call([ca.vertcat(b, a)])[0]
    (third,) = outer.call([first[1]])
    return first[0] + 0.5 * second[1], iterated_root(1.0 + a * a), third


def calls(program: Program) -> list[Instruction]:
    return [i for i in program.code if i.op == "call"]


def columns(precision: str, count: int = 2, size: int = 41) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    made = [rng.uniform(-30.0, 30.0, size).astype(precision) for _ in range(count)]
    made[0][:3] = [0.0, np.nan, np.inf]
    return made


def test_a_function_is_written_once() -> None:
    program = traced(mixed, 2)
    assert [f.name for f in program.functions] == ["inner", "root", "outer"]
    assert sorted(i.imm for i in calls(program)) == [(0, 1), (0, 1), (1, MOST), (2, 1)]
    assert [i.imm for i in calls(program.functions[2])] == [(0, 1)]
    assert program.counts["sin"] == 1


def test_values_are_those_of_casadi() -> None:
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    reference = ca.Function("reference", [a, b], [ca.vertcat(*mixed(a, b))])
    given = columns("float64")
    ours = runner(lower(traced(mixed, 2), "float64"))(np.stack(given, axis=1))[0]
    for k in range(3, len(given[0])):
        wanted = np.array(reference(given[0][k], given[1][k])).ravel()
        assert ours[k] == pytest.approx(wanted, rel=1e-13)


def test_a_loop_gives_the_square_root() -> None:
    program = lower(traced(iterated_root, 1), "float64")
    a = np.array([1.0, 2.0, 3.0, 100.0, 1e-3])
    assert runner(program)(a[:, None])[0][:, 0] == pytest.approx(np.sqrt(a), rel=1e-5)


def through_c(program: Program, table: np.ndarray, folder: Path) -> np.ndarray:
    library = c.compile_shared(c.emit(program, "one"), folder)
    out = np.empty((len(table), len(program.outputs[0].fields)), program.precision)
    for given, made in zip(np.ascontiguousarray(table), out, strict=True):
        pointers = ((ctypes.c_void_p * 1)(array.ctypes.data) for array in (given, made))
        library.one(*pointers)
    return out


def through_cuda(program: Program, table: np.ndarray, folder: Path) -> np.ndarray:
    source = cuda.emit_apply(program, str(program.precision))
    launch = cuda_harness.kernel(source, "apply", folder)
    out = np.empty((1, len(table), len(program.outputs[0].fields)), program.precision)
    launch(len(table), [np.ascontiguousarray(table)[None], out], [len(table)])
    return out[0]


@pytest.mark.slow_cases("float32")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_target_has_the_same_bits(precision: str, tmp_path: Path) -> None:
    program = lower(traced(mixed, 2, port="x"), precision)
    given = columns(precision)
    table = np.stack(given, axis=1)
    expected = canonical(np.stack(evaluate(program, *given), axis=1))
    for lanes in LANES:
        assert canonical(runner(program, lanes)(table)[0]) == expected, f"{lanes} lanes"
        assert canonical(runner(scheduled(program), lanes)(table)[0]) == expected
    assert canonical(through_c(program, table, tmp_path)) == expected
    assert canonical(through_cuda(program, table, tmp_path)) == expected


def test_times_are_kept_where_nothing_can_be_skipped(tmp_path: Path) -> None:
    """A lowered call says how often; that its function could be skipped is only for speed."""
    x = ca.SX.sym("x", 2)
    growth = called("growth", x, [x[0] * x[1] + 1.0])
    program = lower(traced(lambda a, b: growth.call([ca.vertcat(a, b)])[0], 2, port="x"), "float64")
    code = tuple(i._replace(imm=(0, 3)) if i.op == "call" else i for i in program.code)
    program = replace(program, code=code)
    table = np.array([[2.0, 3.0], [-1.0, 0.5]])
    expected = [((2.0 * 3.0 + 1.0) * 3.0 + 1.0) * 3.0 + 1.0, ((-0.5 + 1.0) * 0.5 + 1.0) * 0.5 + 1.0]
    assert runner(program, 4)(table)[0][:, 0].tolist() == expected
    assert through_c(program, table, tmp_path)[:, 0].tolist() == expected
    assert through_cuda(program, table, tmp_path)[:, 0].tolist() == expected


def test_only_what_is_used_is_kept() -> None:
    def one_of_three(a: Any) -> Any:
        x = ca.SX.sym("x")
        unused = called("unused", x, [ca.cos(x)])
        waves = called("waves", x, [ca.sin(x), ca.exp(x), unused.call([x])[0]])
        return waves.call([a])[0][1] + waves.call([2.0 * a])[0][1]

    program = traced(one_of_three, 1)
    assert [f.name for f in program.functions] == ["waves"]
    assert dict(program.functions[0].counts) == {"exp": 1}
    assert len(program.functions[0].outputs[0].fields) == 1
    assert [i.imm for i in program.code if i.op == "item"] == [0, 0]


def test_values_that_are_needed_in_between_prevent_a_loop() -> None:
    def first_and_second(a: Any) -> Any:
        iteration = root_iteration()
        (first,) = iteration.call([ca.vertcat(1.0, a, 0.0, a)])
        (second,) = iteration.call([ca.vertcat(first, a)])
        return first[1], *ca.vertsplit(second)

    program = traced(first_and_second, 1)
    assert [i.imm for i in calls(program)] == [(0, 1), (0, 1)]
    given = np.array([2.0, 5.0])
    first, _, second, _ = runner(lower(program, "float64"))(given[:, None])[0].T
    assert first == pytest.approx(0.5 * (given + 1.0))
    assert second == pytest.approx(0.5 * (first + given / first))


def test_other_arguments_prevent_a_loop() -> None:
    def changing(a: Any) -> Any:
        iteration, memory = root_iteration(), ca.vertcat(1.0, a, 0.0)
        for k in range(3):
            (memory,) = iteration.call([ca.vertcat(memory, a + float(k))])
        return tuple(ca.vertsplit(memory))

    assert [i.imm[1] for i in calls(traced(changing, 1))] == [1, 1, 1]


def test_what_can_be_skipped() -> None:
    iteration = traced(iterated_root, 1).functions[0]
    assert skipped_by(iteration) == 0
    assert skipped_by(lower(traced(iterated_root, 1), "float32").functions[0]) == 0
    assert skipped_by(traced(mixed, 2).functions[0]) is None


@pytest.mark.parametrize("precision", [None, *PRECISIONS])
def test_a_file_holds_the_functions(precision: str | None, tmp_path: Path) -> None:
    program = traced(mixed, 2)
    program = program if precision is None else lower(program, precision)
    program.save(tmp_path / "program.json")
    loaded = Program.load(tmp_path / "program.json")
    assert loaded == program
    assert loaded.digest == program.digest
    assert loaded.digest != traced(lambda a, b: mixed(b, a), 2).digest


def test_a_file_without_functions_can_be_read_by_older_versions() -> None:
    document = traced(lambda a: 2.0 * a).document()
    assert document["version"] == 1
    assert "functions" not in document


def _set(path: tuple[Any, ...], value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set(("functions",), []),
        _set(("functions", 0, "inputs", 0, 1), ["only_one"]),
        _set(("functions", 0, "code", 0), ["call", [], [0, 1]]),
        _set(("functions", 0, "precision"), "float32"),
        _set(("code", 2, 2), [7, 1]),
        _set(("code", 2, 2), [0, 0]),
        _set(("code", 3, 2), 5),
    ],
)
def test_a_damaged_file_is_rejected(change: Callable[[Any], None], tmp_path: Path) -> None:
    x = ca.SX.sym("x", 2)
    inner = called("inner", x, [x[0] * x[1]])
    program = traced(lambda a, b: inner.call([ca.vertcat(a, b)])[0], 2)
    assert [i.op for i in program.code] == ["input", "input", "call", "item"]
    document = json.loads(json.dumps(program.document()))
    change(document)
    (tmp_path / "program.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(InvalidValue, match="damaged"):
        Program.load(tmp_path / "program.json")


def test_functions_of_several_columns_are_rejected() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    inner = ca.Function("inner", [x, y], [x * y], {"never_inline": True})
    with pytest.raises(TraceError, match="inner has 2 inputs"):
        traced(lambda a, b: inner.call([a, b])[0], 2)


def test_functions_are_shown() -> None:
    text = str(traced(mixed, 2))
    assert "program inner" in text
    assert text.count(" = sin(") == 1
    assert f"up to {MOST} times" in text
