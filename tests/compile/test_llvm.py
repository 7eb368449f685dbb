"""Every lowered operation at every lane width, and every memory layout, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compile.lanes_harness import LANES, PRECISIONS, canonical, runner
from compile.numpy_model import MANTISSA, evaluate
from skidpad import Program, vehicles
from skidpad.compile import llvm, native, pipeline
from skidpad.compile.kernels import apply_module
from skidpad.compile.program import BOOL_OPS, LOWERED_OPS, Builder, Instruction, Port
from skidpad.errors import InvalidValue, UnknownOperation

EVERYWHERE = [(p, n) for p in PRECISIONS for n in LANES]


def specials(precision: str) -> np.ndarray:
    """Numbers that tell operations apart: both zeros, subnormals, ends of the range, ties, NaN."""
    info = np.finfo(precision)
    least = float(np.nextafter(np.dtype(precision).type(0), np.dtype(precision).type(1)))
    ends = [info.max, info.tiny, info.tiny / 4, least, np.inf]
    middle = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 0.1, np.pi, 1.0 + info.eps, 7e5]
    values = np.array([*middle, *ends], precision)
    return np.concatenate([values, -values, np.array([np.nan], precision)])


def triples(precision: str) -> list[np.ndarray]:
    """Three columns: every pair of special values, and a third chosen at random."""
    rng = np.random.default_rng(7)
    values = specials(precision)
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    c = rng.choice(values, a.shape)
    # Sums that cancel, where one rounding and two differ.
    near = rng.uniform(1.0, 2.0, (2, 100)).astype(precision)
    with np.errstate(all="ignore"):
        c2 = -(near[0] * near[1])
    return [np.concatenate(pair) for pair in ((a, near[0]), (b, near[1]), (c, c2))]


def every_operation(precision: str) -> Program:
    """A Program with one result per operation; booleans come out as 1 and 0."""
    b = Builder(precision)
    inputs = [b.emit("input", imm=(0, k)) for k in range(3)]
    truths = [b.lt(inputs[0], inputs[1]), b.le(inputs[1], inputs[2])]
    names: list[str] = []
    results: list[int] = []
    for op, arity in LOWERED_OPS.items():
        if op in ("const", "input", "pow2"):
            continue
        if op in ("and", "or", "xor", "not"):
            value = b.emit(op, *truths[:arity])
        elif op == "select":
            value = b.emit(op, truths[0], inputs[1], inputs[2])
        elif op == "testbit":
            continue
        else:
            value = b.emit(op, *inputs[:arity])
        names.append(op)
        results.append(value)
    width = 64 if precision == "float64" else 32
    for bit in (0, 1, MANTISSA[precision] - 1, MANTISSA[precision], width - 1):
        names.append(f"testbit{bit}")
        results.append(b.testbit(inputs[0], bit))
    one, zero = b.const(1.0), b.const(0.0)
    numbers = [b.select(r, one, zero) if b.is_bool(r) else r for r in results]
    ports = (Port("in", ("a", "b", "c")),), (Port("out", tuple(names)),)
    return Program("operations", *ports, tuple(b.code), (tuple(numbers),), precision)


@pytest.fixture(scope="module", params=PRECISIONS)
def expected(request: pytest.FixtureRequest) -> tuple[Program, list[np.ndarray], list[np.ndarray]]:
    program = every_operation(request.param)
    columns = triples(request.param)
    return program, columns, evaluate(program, *columns)


@pytest.mark.parametrize("lanes", LANES)
def test_operations(expected: Any, lanes: int) -> None:
    program, columns, wanted = expected
    results = runner(program, lanes)(np.stack(columns, axis=1))[0].T
    for name, got, want in zip(program.outputs[0].fields, results, wanted, strict=True):
        assert canonical(got) == canonical(want.astype(program.precision)), name


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("effort", [0, 1, 3])
def test_other_effort_of_the_code_generator_has_the_same_bits(
    expected: Any, lanes: int, effort: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIDPAD_OPTIMISATION", str(effort))
    test_operations(expected, lanes)


def test_steps_have_the_same_bits_whatever_the_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    program = pipeline.step_program(vehicles.four_wheel(), "rk4", "float64")
    rng = np.random.default_rng(5)
    rows = [rng.uniform(0.1, 2.0, (9, len(port.fields))) for port in program.inputs]
    found: list[bytes] = []
    for effort in (2, 0):
        monkeypatch.setenv("SKIDPAD_OPTIMISATION", str(effort))
        found.append(canonical(np.concatenate(runner(program, 8)(*rows), axis=1)))
    assert found[0] == found[1]


def blocks(program: Program) -> list[int]:
    """How many lines each block of a Program's kernel has."""
    lines = str(apply_module(program, 1)).splitlines()
    begins = [k for k, line in enumerate(lines) if line.endswith(":")]
    return np.diff([*begins, len(lines)]).tolist()


def test_without_effort_large_code_is_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM takes several times as long for one block of them; with effort it makes it one."""
    program = pipeline.step_program(vehicles.four_wheel(), "rk4", "float64")
    assert max(blocks(program)) > 1000
    monkeypatch.setenv("SKIDPAD_OPTIMISATION", "0")
    assert max(blocks(program)) < 1000


def test_an_unknown_effort_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKIDPAD_OPTIMISATION", "fast")
    with pytest.raises(InvalidValue, match="SKIDPAD_OPTIMISATION = 'fast' is unknown; allowed"):
        native.effort()


def test_code_of_another_effort_is_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = native.identity()
    monkeypatch.setenv("SKIDPAD_OPTIMISATION", "0")
    assert native.identity() != usual


@pytest.mark.parametrize(("precision", "lanes"), EVERYWHERE)
def test_powers_of_two(precision: str, lanes: int) -> None:
    b = Builder(precision)
    result = b.pow2(b.emit("input", imm=(0, 0)))
    ports = (Port("in", ("n",)),), (Port("out", ("y",)),)
    program = Program("pow2", *ports, tuple(b.code), ((result,),), precision)
    info = np.finfo(precision)
    n = np.arange(info.minexp, info.maxexp, dtype=precision)
    got = runner(program, lanes)(n[:, None])[0][:, 0]
    assert canonical(got) == canonical(np.ldexp(np.ones_like(n), n.astype(int)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bit_operations_never_trap(precision: str) -> None:
    """`pow2` of anything is some number; the kernel must only come back."""
    b = Builder(precision)
    result = b.pow2(b.emit("input", imm=(0, 0)))
    ports = (Port("in", ("n",)),), (Port("out", ("y",)),)
    program = Program("pow2", *ports, tuple(b.code), ((result,),), precision)
    values = specials(precision)
    assert len(runner(program, 8)(values[:, None])[0]) == len(values)


def test_constants_keep_their_bits() -> None:
    for precision in PRECISIONS:
        b = Builder(precision)
        b.emit("input", imm=(0, 0))
        values = [*specials(precision), 1 / 3, -0.0]
        results = tuple(b.const(float(v)) for v in values)
        names = tuple(f"c{k}" for k in range(len(values)))
        program = Program(
            "c", (Port("in", ("a",)),), (Port("out", names),), tuple(b.code), (results,), precision
        )
        for lanes in (1, 8):
            got = runner(program, lanes)(np.zeros((3, 1), precision))[0]
            assert canonical(got[2]) == canonical(np.array(values, precision))


def test_an_unknown_operation_is_named() -> None:
    code = (Instruction("input", (), (0, 0)), Instruction("gamma", (0,)))
    program = Program("f", (Port("in", ("a",)),), (Port("out", ("y",)),), code, ((1,),), "float64")
    with pytest.raises(UnknownOperation, match="'gamma'"):
        apply_module(program, 4)


def test_the_emitter_knows_every_lowered_operation() -> None:
    # Of its table, as no program has them all. What reads arrays has a file of its own.
    assert set(llvm._EMIT) == set(LOWERED_OPS) - {"const", "input", "read"}
    assert set(BOOL_OPS) < set(LOWERED_OPS)


def test_no_flag_allows_other_roundings() -> None:
    text = str(apply_module(every_operation("float64"), 8))
    for flag in ("fast", "reassoc", "contract", "nnan", "ninf", "nsz", "arcp", "afn"):
        assert f" {flag} " not in text


def test_loading_a_function_that_is_not_there() -> None:
    library = native.Library(native.object_code(str(apply_module(every_operation("float64"), 1))))
    assert library.address("apply")
    with pytest.raises(KeyError):
        library.address("missing")


@pytest.fixture(scope="module")
def mixer() -> Program:
    """Three fields in, two out, on two ports; depends on the order of everything."""
    b = Builder("float64")
    x = [b.emit("input", imm=(0, k)) for k in range(3)]
    p = [b.emit("input", imm=(1, k)) for k in range(2)]
    first = b.fma(x[0], p[0], x[1])
    second = b.sub(b.mul(x[2], p[1]), x[0])
    ports = (
        (Port("x", ("a", "b", "c")), Port("q", ("d", "e"))),
        (
            Port("y", ("u", "v")),
            Port("z", ("w",)),
        ),
    )
    return Program("mixer", *ports, tuple(b.code), ((first, second), (second,)), "float64")


def layouts(table: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers (B, n) in different places of memory."""
    count, n = table.shape
    spread = np.zeros((2 * count, n))
    spread[::2] = table
    padded = np.zeros((count, n + 3))
    padded[:, 1 : n + 1] = table
    return {
        "rows": table.copy(),
        "columns": np.asfortranarray(table),
        "every other row": spread[::2],
        "reversed": table[::-1].copy()[::-1],
        "columns reversed": np.asfortranarray(table[::-1])[::-1],
        "part of wider rows": padded[:, 1 : n + 1],
        "fields reversed": table[:, ::-1].copy()[:, ::-1],
    }


@pytest.mark.parametrize("lanes", LANES)
def test_layouts_and_batch_sizes(mixer: Program, lanes: int) -> None:
    apply = runner(mixer, lanes)
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 7, 8, 9, 31, 33, 100):
        x, q = rng.normal(size=(count, 3)), rng.normal(size=(count, 2))
        first = [evaluate_mixer(row, p) for row, p in zip(x, q, strict=True)]
        want = np.array(first)
        for name, view in layouts(x).items():
            y, z = apply(view, q)
            np.testing.assert_array_equal(y, want, err_msg=f"{name}, {count}")
            np.testing.assert_array_equal(z[:, 0], want[:, 1], err_msg=f"{name}, {count}")


def evaluate_mixer(x: np.ndarray, p: np.ndarray) -> list[float]:
    from compile.numpy_model import fma

    return [float(fma(x[0], p[0], x[1], "float64")), float(x[2] * p[1] - x[0])]


@pytest.mark.parametrize("lanes", LANES)
def test_values_shared_by_all_vehicles(mixer: Program, lanes: int) -> None:
    apply = runner(mixer, lanes)
    rng = np.random.default_rng(4)
    x, q = rng.normal(size=(21, 3)), rng.normal(size=(1, 2))
    alone, repeated = apply(x, q), apply(x, np.repeat(q, 21, axis=0))
    broadcast = apply(x, np.broadcast_to(q, (21, 2)))
    for one, other, third in zip(alone, repeated, broadcast, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)


@pytest.mark.parametrize("lanes", LANES)
def test_nothing_is_written_beside_the_batch(mixer: Program, lanes: int) -> None:
    """The last group is padded; the padding must not reach memory."""
    import ctypes

    from skidpad.compile import host

    kernel = native.Library(native.object_code(str(apply_module(mixer, lanes)))).function(
        "apply", ctypes.c_void_p
    )
    for layout in ("aos", "soa"):
        x, q = np.ones((1, 5, 3)), np.ones((1, 1, 2))
        room = np.full((1, 64, 2) if layout == "aos" else (1, 2, 64), -7.0)
        y = room if layout == "aos" else np.swapaxes(room, 1, 2)
        z = np.full((1, 64, 1), -7.0)
        kept = [host.strided(a, lanes) for a in (x, q)]
        words = [w for _, described in kept for w in described]
        words += [*host.writable(y[:, 10:15]), *host.writable(z[:, 10:15])]
        host.run(kernel, words, (), 5, lanes, 1)
        assert (y[0, 10:15] == [2.0, 0.0]).all()
        assert (y[0, :10] == -7.0).all()
        assert (y[0, 15:] == -7.0).all()
        assert (z[0, :10] == -7.0).all()
        assert (z[0, 15:] == -7.0).all()
