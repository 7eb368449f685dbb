"""Elementary functions against mpmath and C99: accuracy, special values, cost, provenance."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest

from compile.c_harness import Evaluator, evaluators, program_of
from skidpad.compile import c, coefficients
from skidpad.compile.elementary import LONE, RULES
from skidpad.compile.program import Builder
from skidpad.compile.trigonometry import DOMAINS

PRECISIONS = ("float64", "float32")
BINARY = ("atan2", "hypot")
WORST = 2.0
POWERS = (2.0, 3.0, 4.0, 5.0, 6.0, 13.0, 64.0, 100.0, 101.0, -1.0, -2.0, -3.0, -4.0, -17.0)
POWERS += (0.5, 0.25, 0.75, 1.5, -0.5, -1.5, 1 / 3, 0.8, 2.5, 7.7, -0.3, 100.5)
SUBNORMAL = {"float64": 2.0**-1074, "float32": 2.0**-149}

UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": mpmath.sin,
    "lone_sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "expm1": mpmath.expm1,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
}
DENSE = {
    "sin": np.sin,
    "lone_sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
# Where polynomials and pieces meet; points within a few units of the last place are tried.
LN2 = math.log(2.0)
EDGES = {
    "sin": [k * math.pi / 4 for k in range(1, 9)],
    "asin": [0.5, 1.0],
    "acos": [0.5, 1.0],
    "atan": [0.62, 1.0, 1.6129, 2.0**30, 2.0**60],
    "sinh": [LN2 / 2, 3 * LN2 / 2, 12.5 * LN2, 27.0 * LN2, 88.0, 709.0, 710.4],
    "tanh": [0.26, LN2 * 3 / 8, LN2 * 7 / 8, 10.0, 20.0],
    "exp": [LN2 / 2, 3 * LN2 / 2, 64.5 * LN2, 1023.5 * LN2],
    "log": [0.5, math.sqrt(0.5), 1.0, math.sqrt(2.0), 2.0],
    "log1p": [math.sqrt(0.5) - 1, math.sqrt(2.0) - 1, 1.0],
    "expm1": [math.log(0.75), math.log(1.5), math.log(3.0), 2.0**-60],
    "asinh": [0.36, 1.0, 2.0**30, 2.0**60],
    "acosh": [1.0, 1.0625, 2.0, 2.0**30, 2.0**60],
    "atanh": [0.12, 0.18, 1 / 3, 0.5, 1.0],
}
EDGES |= {name: EDGES["sin"] for name in ("lone_sin", "cos", "tan")} | {"cosh": EDGES["sinh"]}


def domain(name: str, precision: str) -> tuple[float, float]:
    return DOMAINS[name.removeprefix("lone_")].accurate[precision]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Evaluator]:
    """Every rule in both precisions, as functions of arrays."""
    found: dict[tuple[str, str], Evaluator] = {}
    for precision in PRECISIONS:
        programs = {
            name: program_of(rule, precision, 2 if name in BINARY else 1)
            for name, rule in RULES.items()
            if name != "pow"
        }
        programs["lone_sin"] = program_of(LONE["sin"], precision, 1)
        for k, n in enumerate(POWERS):
            programs[f"pow{k}"] = program_of(RULES["pow"], precision, 1, n)
        folder = tmp_path_factory.mktemp(precision)
        with pytest.MonkeyPatch.context() as patch:
            # Optimisation changes no bit, as `test_parity` shows, and takes longer than the points.
            patch.setattr(c, "FLAGS", tuple(f for f in c.FLAGS if not f.startswith("-O")))
            # Named so that no function hides one of the C library.
            built = evaluators({f"f_{name}": p for name, p in programs.items()}, folder)
        found |= {(name.removeprefix("f_"), precision): f for name, f in built.items()}
    return found


def near_multiples(precision: str, limit: float) -> np.ndarray:
    """Numbers of the precision that come closest to multiples of π/2, up to the limit.

    For each exponent the best ones are convergents of the continued fraction of (π/2) / 2**e.
    """
    bits = np.finfo(precision).nmant + 1
    found: list[float] = []
    with mpmath.workprec(400):
        for e in range(-bits - 4, math.frexp(limit)[1] - bits + 1):
            ratio, numerator, before = mpmath.pi / 2 / mpmath.mpf(2) ** e, 1, 0
            while numerator < 2**bits:
                found.append(math.ldexp(numerator, e))
                whole = int(mpmath.floor(ratio))
                numerator, before = whole * numerator + before, numerator
                ratio = 1 / (ratio - whole)
    chosen = np.array(found)
    return chosen[(chosen > 0.5) & (chosen < limit)]


def points(name: str, precision: str, count: int) -> np.ndarray:
    """Arguments inside the domain: all magnitudes, a dense core, edges, near multiples of π/2."""
    rng = np.random.default_rng(abs(hash_of(name)))
    limits = np.finfo(precision)
    low, high = domain(name, precision)
    tiny, huge = math.log(float(limits.tiny)), math.log(float(limits.max))
    magnitude = np.exp(rng.uniform(tiny, min(huge, math.log(min(high, float(limits.max)))), count))
    core = rng.uniform(max(low, -4.0), min(high, 4.0), count)
    wide = rng.uniform(max(low, -1000.0), min(high, 1000.0), count // 2)
    above = low + np.exp(rng.uniform(-16.0, 2.0, count // 2)) if math.isfinite(low) else wide
    edges = np.array(EDGES[name])
    steps = 1.0 + np.outer(np.arange(-8, 9), [float(limits.eps)])
    values = [magnitude, -magnitude, core, wide, above, (edges * steps[:, :, None]).ravel()]
    if EDGES[name] is EDGES["sin"]:
        close = near_multiples(precision, high)
        values += [close, -close]
    found = np.concatenate(values).astype(precision)
    return np.unique(found[(found >= low) & (found <= high)])


def hash_of(name: str) -> int:
    """A seed from a name, the same in every run."""
    return sum(ord(c) * 31**k for k, c in enumerate(name))


def exact(function: Callable[..., Any], *operands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The true values as pairs of float64 numbers."""
    high, low = np.empty(len(operands[0])), np.empty(len(operands[0]))
    with mpmath.workprec(160):
        for k, values in enumerate(zip(*operands, strict=True)):
            value = function(*[mpmath.mpf(float(v)) for v in values])
            high[k] = float(value)
            low[k] = float(value - high[k]) if math.isfinite(high[k]) else 0.0
    return high, low


def ulps(got: np.ndarray, high: np.ndarray, low: np.ndarray | float = 0.0) -> np.ndarray:
    """Error in units of the last place of the true value (of the smallest normal number below)."""
    limits = np.finfo(got.dtype)
    unit = np.frexp(np.maximum(np.abs(high), float(limits.tiny)))[1] - 1 - limits.nmant
    overflow = np.abs(high) > float(limits.max)
    with np.errstate(invalid="ignore"):
        error = np.abs((got.astype(np.float64) - high) - low) / np.ldexp(1.0, unit)
    matches = np.isinf(got) & (np.sign(got) == np.sign(high))
    return np.where(overflow, np.where(matches, 0.0, np.inf), np.nan_to_num(error, nan=np.inf))


def check(error: np.ndarray, *operands: np.ndarray) -> None:
    worst = int(np.argmax(error))
    assert error[worst] <= WORST, f"{error[worst]} ulp at {[o[worst] for o in operands]}"
    assert np.mean(error <= 1.0) > 0.8


@pytest.mark.parametrize("count", [300, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", UNARY)
def test_accuracy(name: str, precision: str, count: int, functions: dict[Any, Evaluator]) -> None:
    x = points(name, precision, count)
    check(ulps(functions[name, precision](x), *exact(UNARY[name], x)), x)


@pytest.mark.parametrize("count", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DENSE)
def test_dense_in_single_precision(name: str, count: int, functions: dict[Any, Evaluator]) -> None:
    """Against NumPy in float64, whose error does not count here, on many more points."""
    x = points(name, "float32", count)
    with np.errstate(over="ignore", divide="ignore"):
        true = DENSE[name](x.astype(np.float64))
    check(ulps(functions[name, "float32"](x), true), x)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", BINARY)
def test_accuracy_of_two_operands(
    name: str, precision: str, functions: dict[Any, Evaluator]
) -> None:
    rng = np.random.default_rng(11)
    span = 300 if precision == "float64" else 36
    a = np.concatenate([rng.normal(size=1200), 10.0 ** rng.uniform(-span, span, 800)])
    b = np.concatenate([rng.normal(size=1200), a[1200:] * 10.0 ** rng.uniform(-3, 3, 800)])
    b[:200] = a[:200] * (1.0 + 1e-3 * rng.normal(size=200))
    a, b = (
        (v * rng.choice([-1.0, 1.0], v.size)).astype(precision).astype(np.float64) for v in (a, b)
    )
    reference = {"atan2": mpmath.atan2, "hypot": mpmath.hypot}[name]
    check(ulps(functions[name, precision](a, b), *exact(reference, a, b)), a, b)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("k", range(len(POWERS)), ids=[f"{n:g}" for n in POWERS])
def test_powers(k: int, precision: str, functions: dict[Any, Evaluator]) -> None:
    n = POWERS[k]
    whole = n.is_integer()
    rng = np.random.default_rng(k)
    limits = np.finfo(precision)
    # Results stay normal numbers: beyond, rounding is coarser than a unit of the last place.
    reach = math.log(float(limits.max)) * 0.97 / max(abs(n), 1.0)
    x = np.exp(np.concatenate([rng.uniform(-0.7, 0.7, 250), rng.uniform(-reach, reach, 250)]))
    x = (x * rng.choice([-1.0, 1.0], x.size) if whole else x).astype(precision)
    reference = (lambda v: v ** int(n)) if whole else (lambda v: v ** mpmath.mpf(n))
    check(ulps(functions[f"pow{k}", precision](x), *exact(reference, x)), x)


INF, NAN = math.inf, math.nan
ODD = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]
SPECIAL = {
    "sin": [*ODD, (INF, NAN), (-INF, NAN)],
    "lone_sin": [*ODD, (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tan": [*ODD, (INF, NAN), (-INF, NAN)],
    "asin": [*ODD, (1.5, NAN), (-1.5, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (-INF, NAN), (NAN, NAN)],
    "atan": ODD,
    "sinh": [*ODD, (INF, INF), (-INF, -INF), (1e4, INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-1e4, INF), (NAN, NAN)],
    "tanh": [*ODD, (INF, 1.0), (-INF, -1.0)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0), (NAN, NAN)],
    "log": [
        (1.0, 0.0),
        (0.0, -INF),
        (-0.0, -INF),
        (-1.0, NAN),
        (INF, INF),
        (-INF, NAN),
        (NAN, NAN),
    ],
    "log1p": [*ODD, (-1.0, -INF), (-2.0, NAN), (INF, INF)],
    "expm1": [*ODD, (INF, INF), (-INF, -1.0), (1e4, INF)],
    "asinh": [*ODD, (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "atanh": [*ODD, (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN)],
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, precision: str, functions: dict[Any, Evaluator]) -> None:
    arguments, expected = np.array(SPECIAL[name]).T
    _same(functions[name, precision](arguments), expected)


def _same(got: np.ndarray, expected: np.ndarray) -> None:
    """The same numbers with the same signs of zero; a NaN is a NaN."""
    numbers = ~np.isnan(expected)
    assert list(np.isnan(got)) == list(~numbers)
    assert list(got[numbers]) == list(expected[numbers])
    assert list(np.signbit(got[numbers])) == list(np.signbit(expected[numbers]))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_odd_functions_keep_subnormal_numbers(
    precision: str, functions: dict[Any, Evaluator]
) -> None:
    least = SUBNORMAL[precision]
    x = np.array([least, 3 * least, 1001 * least, float(np.finfo(precision).tiny)])
    x = np.concatenate([x, -x])
    for name in ("sin", "lone_sin", "tan", "asin", "atan", "sinh", "tanh", "expm1", "log1p"):
        assert list(functions[name, precision](x)) == list(x), name
    for name in ("asinh", "atanh"):
        assert list(functions[name, precision](x)) == list(x), name


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["log", "hypot"])
def test_subnormal_arguments(name: str, precision: str, functions: dict[Any, Evaluator]) -> None:
    k = np.array([1.0, 2.0, 3.0, 77.0, 12345.0])
    x = k * SUBNORMAL[precision]
    if name == "log":
        check(ulps(functions["log", precision](x), *exact(mpmath.log, x)), x)
    else:
        got = functions["hypot", precision](3 * x, 4 * x)
        assert list(got) == list(5 * x)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["sin", "lone_sin", "cos", "tan"])
def test_too_large_angles_are_nan(
    name: str, precision: str, functions: dict[Any, Evaluator]
) -> None:
    limit = domain(name, precision)[1] * 1.01
    x = limit * 2.0 ** np.linspace(0.0, 20.0, 2000)
    x = np.concatenate([x, -x, [float(np.finfo(precision).max)]])
    assert np.isnan(functions[name, precision](x)).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bounds_are_kept(precision: str, functions: dict[Any, Evaluator]) -> None:
    """Sine and cosine stay within 1, which their inverses need, and cos near 0 is 1."""
    steps = np.arange(-300, 301) * float(np.finfo(precision).eps)
    quarter = np.concatenate([(2 * k + 1) * math.pi / 2 * (1 + steps) for k in range(8)])
    for name in ("sin", "lone_sin"):
        assert np.abs(functions[name, precision](quarter)).max() == 1.0
    assert np.abs(functions["cos", precision](quarter - math.pi / 2)).max() == 1.0
    assert (functions["cos", precision](steps) == 1.0).all()
    assert (functions["tanh", precision](np.linspace(5.0, 50.0, 999)) <= 1.0).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_atan2_follows_c(precision: str, functions: dict[Any, Evaluator]) -> None:
    """Every pair of zeros, infinities, NaN, extreme and ordinary numbers, with signs."""
    limits = np.finfo(precision)
    sizes = [0.0, 1.0, 2.0, INF, NAN, float(limits.max), float(limits.tiny), SUBNORMAL[precision]]
    values = [*sizes, *[-s for s in sizes]]
    y, x = np.array([(a, b) for a in values for b in values]).T
    with np.errstate(under="ignore"):
        expected = np.array([math.atan2(a, b) for a, b in zip(y, x, strict=True)])
    got = functions["atan2", precision](y, x)
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(got), ~numbers)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))
    assert ulps(got[numbers], expected[numbers]).max() <= WORST
    assert np.array_equal(got[numbers] == 0.0, expected[numbers].astype(precision) == 0.0)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_hypot_at_the_ends(precision: str, functions: dict[Any, Evaluator]) -> None:
    large = 2.0 ** (np.finfo(precision).maxexp - 3)
    x, y = [0.0, -0.0, INF, -3.0, NAN, 3 * large], [0.0, 0.0, 1.0, -INF, 1.0, 4 * large]
    _same(functions["hypot", precision](x, y), np.array([0.0, 0.0, INF, INF, NAN, 5 * large]))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("k", range(len(POWERS)), ids=[f"{n:g}" for n in POWERS])
def test_powers_of_special_values(k: int, precision: str, functions: dict[Any, Evaluator]) -> None:
    n = POWERS[k]
    x = np.array([0.0, 1.0, INF, NAN])
    expected = np.array([0.0, 1.0, INF, NAN] if n > 0 else [INF, 1.0, 0.0, NAN])
    _same(functions[f"pow{k}", precision](x), expected)
    if n.is_integer():
        odd = n % 2 == 1
        _same(functions[f"pow{k}", precision](-x[:3]), np.copysign(expected[:3], 1 - 2 * odd))
    else:
        assert np.isnan(functions[f"pow{k}", precision]([-2.0, -1e-5])).all()


def test_trivial_powers_cost_what_they_must() -> None:
    cost = {0.0: [], 1.0: [], 2.0: ["mul"], 3.0: ["mul"] * 2, 4.0: ["mul"] * 2, 0.5: ["sqrt"]}
    cost |= {-1.0: ["div"], -2.0: ["div", "mul"]}
    for n, expected in cost.items():
        counts = program_of(RULES["pow"], "float64", 1, n).counts
        assert sorted(counts.elements()) == expected, n


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [n for n in RULES if n not in ("pow", "asinh")])
def test_at_most_one_division_or_root(name: str, precision: str) -> None:
    counts = program_of(RULES[name], precision, 2 if name in BINARY else 1).counts
    assert counts["div"] + counts["sqrt"] <= 1


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sine_and_cosine_share_their_work(precision: str) -> None:
    def both(b: Builder, x: int) -> int:
        return b.add(RULES["sin"](b, x), RULES["cos"](b, x))

    alone = program_of(RULES["sin"], precision, 1).operations
    assert program_of(both, precision, 1).operations <= alone + 5
    assert program_of(LONE["sin"], precision, 1).operations < alone


def test_every_rule_has_a_domain() -> None:
    assert set(DOMAINS) == set(RULES)
    assert set(UNARY) - {"lone_sin"} | set(BINARY) | {"pow"} == set(RULES)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = Path(__file__).parents[2] / "tools/derive_coefficients.py"
    specification = importlib.util.spec_from_file_location("derive_coefficients", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_tool_derives_the_constants(tool: ModuleType) -> None:
    for name, (meaning, numbers) in tool.CONSTANTS.items():
        table = {p: numbers(p) for p in PRECISIONS}
        assert table == getattr(coefficients, name)
        assert tool.entry(name, meaning, table) in Path(coefficients.__file__).read_text("utf-8")


@pytest.mark.slow
def test_the_tool_derives_the_short_polynomials(tool: ModuleType) -> None:
    """All of them take half a minute: python tools/derive_coefficients.py --check."""
    short = [p for p in tool.POLYNOMIALS if p.degree.get("float64", 99) <= 8]
    assert len(short) >= 4
    for p in short:
        assert tool.coefficients(p, "float64") == getattr(coefficients, p.name)["float64"], p.name
    for p in tool.POLYNOMIALS:
        free = p.degree["float32"] + 1 - len(p.pinned)
        assert len(getattr(coefficients, p.name)["float32"]) == free


def test_polynomials_are_as_good_as_their_format(tool: ModuleType) -> None:
    """The approximation error of every polynomial is below half a unit of the last place; that
    of fast mode below 1e-6."""
    for p in tool.POLYNOMIALS:
        for precision, numbers in getattr(coefficients, p.name).items():
            half_a_unit = mpmath.mpf(2) ** -tool.BITS[precision] / 2
            allowed = mpmath.mpf("1e-6") if p.name == "ATAN_SHORT" else half_a_unit
            whole = [mpmath.mpf(c) for c in (*p.pinned, *reversed(numbers))]
            low, high = mpmath.mpf(p.low), mpmath.mpf(p.high)
            for k in range(1, 40):
                z = low + (high - low) * (k - mpmath.mpf("0.37")) / 40
                error = abs(tool.value(whole, z) / p.function(z) - 1)
                assert error < allowed, (p.name, precision, float(z))
