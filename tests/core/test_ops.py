"""The vocabulary means the same on floats, NumPy, CasADi and JAX."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad import ops
from skidpad.errors import InvalidValue

if importlib.util.find_spec("jax") is not None:
    import jax
    import jax.numpy as jnp
else:
    jax = None

ANYWHERE = [-700.0, -3.7, -1.0, -0.25, -0.0, 0.0, 1e-9, 0.3, 1.0, 2.5, 31.0]
UNIT = [-1.0, -0.6, -0.0, 0.0, 1e-9, 0.5, 1.0]
POSITIVE = [1e-300, 1e-9, 0.3, 1.0, 2.5, 1e5]
MODERATE = [-20.0, -1.5, -0.0, 0.0, 1e-9, 0.7, 20.0]

UNARY: dict[str, tuple[Callable[[float], float], list[float]]] = {
    "sin": (math.sin, ANYWHERE),
    "cos": (math.cos, ANYWHERE),
    "tan": (math.tan, ANYWHERE),
    "asin": (math.asin, UNIT),
    "acos": (math.acos, UNIT),
    "atan": (math.atan, ANYWHERE),
    "sinh": (math.sinh, MODERATE),
    "cosh": (math.cosh, MODERATE),
    "tanh": (math.tanh, MODERATE),
    "exp": (math.exp, MODERATE),
    "log": (math.log, POSITIVE),
    "sqrt": (math.sqrt, [0.0, *POSITIVE]),
    "abs": (math.fabs, ANYWHERE),
    "floor": (lambda x: float(math.floor(x)), ANYWHERE),
    "sign": (lambda x: float((x > 0) - (x < 0)), ANYWHERE),
}
PAIRS = [(a, b) for a in MODERATE for b in MODERATE]
BINARY: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2,
    "hypot": math.hypot,
    "minimum": min,
    "maximum": max,
}


def on_floats(function: Any, *columns: Any) -> np.ndarray:
    return np.array([float(function(*row)) for row in zip(*columns, strict=True)])


def on_numpy(function: Any, *columns: Any) -> np.ndarray:
    return np.asarray(function(*(np.array(c) for c in columns)), float)


def on_casadi(function: Any, *columns: Any) -> np.ndarray:
    symbols = [ca.SX.sym(f"s{k}") for k in range(len(columns))]
    compiled = ca.Function("f", symbols, [function(*symbols)])
    return np.array([float(compiled(*row)) for row in zip(*columns, strict=True)])


def on_jax(function: Any, *columns: Any) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(function(*(jnp.array(c, float) for c in columns)), float)


def on_jitted_jax(function: Any, *columns: Any) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(function)(*(jnp.array(c, float) for c in columns)), float)


def on_numpy_scalars(function: Any, *columns: Any) -> np.ndarray:
    rows = zip(*(np.array(c) for c in columns), strict=True)
    return np.array([float(function(*row)) for row in rows])


BACKENDS = [on_floats, on_numpy, on_numpy_scalars, on_casadi]
if jax is not None:
    BACKENDS += [on_jax, on_jitted_jax]
backends = pytest.mark.parametrize("backend", BACKENDS, ids=lambda f: f.__name__[3:])


def _parts(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


def on_each(names: str, cases: Iterable[Any], few: Any) -> pytest.MarkDecorator:
    """All cases on all backends, those on JAX as it is called only if they are among a few.

    It compiles each function for each number of values, also without `jit`, which has them all.
    """
    crossed = [
        pytest.param(
            backend,
            *_parts(case),
            id="-".join(map(str, (backend.__name__[3:], *_parts(case)))),
            marks=[pytest.mark.slow] if backend is on_jax and case not in few else [],
        )
        for case in cases
        for backend in BACKENDS
    ]
    return pytest.mark.parametrize(f"backend, {names}", crossed)


@on_each("name", UNARY, {"sin", "floor", "sign"})
def test_functions_of_one(backend: Any, name: str) -> None:
    reference, values = UNARY[name]
    wanted = [reference(v) for v in values]
    np.testing.assert_allclose(backend(getattr(ops, name), values), wanted, rtol=1e-12, atol=1e-15)


@on_each("name", BINARY, {"atan2", "minimum"})
def test_functions_of_two(backend: Any, name: str) -> None:
    a, b = zip(*PAIRS, strict=True)
    wanted = [BINARY[name](*pair) for pair in PAIRS]
    np.testing.assert_allclose(backend(getattr(ops, name), a, b), wanted, rtol=1e-12, atol=1e-15)


@on_each("n", [0, 1, 2, 3, 7, -1, -2, 0.5, 1.5, -0.5, 2.3], {3, -1, 0.5})
def test_powers(backend: Any, n: float) -> None:
    values = POSITIVE[1:] if n < 0 or n != int(n) else [-2.5, *POSITIVE[1:]]
    wanted = [math.pow(v, n) for v in values]
    np.testing.assert_allclose(backend(lambda x: ops.pow(x, n), values), wanted, rtol=1e-12)


@backends
def test_logic_and_choice(backend: Any) -> None:
    def function(a: Any, b: Any) -> Any:
        both = ops.logical_and(ops.greater(a, 0.0), ops.less_equal(b, 1.0))
        either = ops.logical_or(ops.equal(a, b), ops.not_equal(a, 0.0))
        other = ops.logical_not(ops.less(a, b))
        odd = ops.greater_equal(b, 0.7)
        chosen = ops.where(odd, 3.0, ops.where(other, 5.0, 7.0))
        return ops.where(both, 1.0, 0.0) + ops.where(either, 10.0, 20.0) * chosen

    def plain(a: float, b: float) -> float:
        chosen = 3.0 if b >= 0.7 else 5.0 if not a < b else 7.0
        return (1.0 if a > 0 and b <= 1 else 0.0) + (10.0 if a == b or a != 0 else 20.0) * chosen

    a, b = zip(*PAIRS, strict=True)
    np.testing.assert_array_equal(backend(function, a, b), [plain(*pair) for pair in PAIRS])


@backends
def test_clip(backend: Any) -> None:
    wanted = [-1.0, -1.0, -1.0, -0.25, 0.0, 0.0, 1e-9, 0.3, 0.5, 0.5, 0.5]
    got = backend(lambda x: ops.clip(x, -1.0, 0.5), ANYWHERE)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    "backend", [b for b in BACKENDS if b is not on_casadi], ids=lambda f: f.__name__[3:]
)
def test_nan_propagates(backend: Any) -> None:
    """In CasADi's own evaluation it does not: its fmin and fmax are C's."""
    nan = [math.nan]
    for function in (
        lambda x: ops.minimum(x, 1.0),
        lambda x: ops.minimum(1.0, x),
        lambda x: ops.maximum(x, 1.0),
        lambda x: ops.maximum(1.0, x),
        lambda x: ops.clip(x, -1.0, 1.0),
        ops.sign,
        ops.abs,
        ops.floor,
        ops.sin,
        ops.sqrt,
    ):
        assert np.isnan(backend(function, nan)).all()


@on_each(
    "name, value, wanted",
    [
        ("asin", 1.5, math.nan),
        ("acos", -2.0, math.nan),
        ("sqrt", -1.0, math.nan),
        ("log", -1.0, math.nan),
        ("log", 0.0, -math.inf),
        ("exp", 1e4, math.inf),
        ("cosh", 1e4, math.inf),
        ("sinh", -1e4, -math.inf),
        ("tanh", -1e4, -1.0),
        ("atan", math.inf, math.pi / 2),
        ("sin", math.inf, math.nan),
        ("floor", -math.inf, -math.inf),
    ],
    {("log", 0.0, -math.inf)},
)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_outside_the_domain(backend: Any, name: str, value: float, wanted: float) -> None:
    np.testing.assert_array_equal(backend(getattr(ops, name), [value]), [wanted])


@backends
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_powers_outside_the_domain(backend: Any) -> None:
    assert np.isnan(backend(lambda x: ops.pow(x, 0.5), [-2.0])).all()
    np.testing.assert_array_equal(backend(lambda x: ops.pow(x, -1), [0.0]), [math.inf])


def test_integers_are_numbers() -> None:
    assert ops.pow(0, -1) == math.inf
    assert ops.pow(2, 3) == 8.0
    assert ops.maximum(1, 2.5) == 2.5
    assert ops.sqrt(4) == 2.0
    assert ops.where(True, 1, 2) == 1


@on_each("name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "sqrt", "floor"], {"sin"})
def test_odd_functions_keep_the_sign_of_zero(backend: Any, name: str) -> None:
    result = backend(getattr(ops, name), [-0.0, 0.0])
    assert list(np.signbit(result)) == [True, False]


@backends
def test_atan2_on_the_axes(backend: Any) -> None:
    y, x = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0, 0.0, 0.0]
    wanted = [0.0, -0.0, math.pi, -math.pi, math.pi / 2, -math.pi / 2]
    np.testing.assert_array_equal(backend(ops.atan2, y, x), wanted)


def test_numpy_gives_way_to_the_others() -> None:
    """Whatever the order: a NumPy constant does not take over."""
    x = ca.SX.sym("x")
    for constant in (2.0, 2, np.float64(2.0), np.float32(2.0), np.int64(2)):
        for value in (ops.maximum(constant, x), ops.maximum(x, constant), ops.hypot(constant, x)):
            assert isinstance(value, ca.SX)
        assert isinstance(ops.where(x > 0, constant, 1.0), ca.SX)
        if jax is not None:
            assert isinstance(ops.atan2(constant, jnp.array(1.0)), jax.Array)
            assert isinstance(ops.maximum(np.full(2, constant), jnp.zeros(2)), jax.Array)
    assert isinstance(ops.maximum(np.float64(1.0), np.zeros(3)), np.ndarray)


def test_another_scalar_type_joins() -> None:
    class Functions:
        @staticmethod
        def sin(x: Any) -> str:
            return "sine of mine"

    class Mine:
        __skidpad_ops__ = Functions

    assert ops.sin(Mine()) == "sine of mine"


def test_what_it_cannot_compute_with() -> None:
    with pytest.raises(InvalidValue, match=r"builtins\.str; allowed are float, NumPy, CasADi"):
        ops.sin("x")
    with pytest.raises(InvalidValue, match="constant exponent, got SX"):
        ops.pow(2.0, ca.SX.sym("n"))  # type: ignore[arg-type]


def gradient(function: Any, at: float) -> float:
    x = ca.SX.sym("x")
    return float(ca.Function("g", [x], [ca.gradient(function(x), x)])(at))


@pytest.mark.parametrize("at", [-2.0, -1e-3, 0.0, 1e-3, 2.0])
def test_smooth_forms_have_finite_gradients(at: float) -> None:
    assert gradient(lambda x: ops.smooth_abs(x, 0.1), at) == pytest.approx(
        at / math.hypot(at, 0.1), abs=1e-15
    )
    assert gradient(lambda x: ops.smooth_hypot(x, 0.0, 0.1), at) == pytest.approx(
        at / math.hypot(at, 0.1), abs=1e-15
    )
    assert math.isfinite(gradient(lambda x: ops.smooth_step(x, 0.0, 1.0), at))


def test_why_there_are_smooth_forms() -> None:
    assert not math.isfinite(gradient(lambda x: ops.hypot(x, 0.0 * x), 0.0))


@backends
def test_smooth_forms(backend: Any) -> None:
    x = np.array([-3.0, -0.1, 0.0, 0.1, 0.5, 0.9, 1.0, 3.0])
    got = backend(lambda v: ops.smooth_abs(v, 0.1), x)
    np.testing.assert_allclose(got, np.sqrt(x**2 + 0.01) - 0.1, rtol=1e-12, atol=1e-16)
    assert got[2] == 0.0
    step = backend(lambda v: ops.smooth_step(v, 0.0, 1.0), x)
    np.testing.assert_allclose(step[[0, 1, 2, 4, 6, 7]], [0.0, 0.0, 0.0, 0.5, 1.0, 1.0])
    assert (np.diff(step) >= 0.0).all()
    symmetric = backend(lambda v: ops.smooth_step(1.0 - v, 0.0, 1.0), x)
    np.testing.assert_allclose(step + symmetric, 1.0, rtol=1e-12)
