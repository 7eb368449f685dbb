"""Checks of a model's equations: invariances, purity, energy balance, gradients and units.

* `frame`: no position or direction of the world is special on a plane.
* `mirror`: a symmetric vehicle behaves in a mirror as its mirror image.
* `purity`: the same call gives the same result on every kind of number, and has no side effects.
* `energy`: no energy is created without drive.
* `gradients`: values and gradients are finite, also at rest and at full lock.
* `dimensions`: every equation balances in its units, checked by evaluating it with units.

A `Quantity` carries its dimension through a model function: adding metres to seconds raises, and so
does the sine of a length. A plain number is dimensionless, but 0 and infinity fit every dimension.
The value is carried along so that comparisons have a result.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import ops
from ..core import record
from ..core.arrays import Array
from ..core.body import Demand, Pose, Velocity
from ..errors import SkidpadError, require
from ..geometry.pose import rotated
from ..units import Unit
from .subject import (
    DEMAND,
    DT,
    Function,
    NotApplicable,
    Point,
    Subject,
    arguments,
    column,
    differences,
    headings,
    is_effort,
    lock,
    mirror_signs,
    mirrored,
    position_pairs,
    symbols,
    table,
    tokens,
)

TOLERANCE = 1e-9
SHIFT = (37.0, -81.0)
"""Displacement of the world, or of a body in it, in m."""
TURN = 2.1
"""Its rotation in rad; not near a multiple of a quarter turn."""


def frame(subject: Subject) -> list[str]:
    """Check that moving and rotating the world rotates rates of position and nothing else."""
    model = subject.model
    if not position_pairs(model.State) and not headings(model.State):
        raise NotApplicable("the state has no position x, y and no yaw")
    points = subject.calm_points
    moved = [point._replace(x=_moved(point.x)) for point in points]
    turned = _turned(model.State, subject.rates(points))
    placed = [_moved_row(model.Outputs, row) for row in subject.outputs(points)]
    faults: list[str] = []
    for kind, values, want in (
        (model.State, subject.rates(moved), turned),
        (model.Outputs, subject.outputs(moved), np.array(placed).reshape(len(points), -1)),
    ):
        faults += differences("in a turned world", kind, values, want, TOLERANCE, points)
    return faults


def _turned(kind: type, table: Array) -> Array:
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = table.copy()
    for pair in position_pairs(kind):
        x, y = (index[name] for name in pair)
        result[:, x], result[:, y] = rotated(table[:, x], table[:, y], TURN)
    return result


def _moved_row(kind: type, row: Array) -> Array:
    """Row with positions moved and rotated, headings rotated, and all else unchanged."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = _turned(kind, row[np.newaxis])[0]
    for pair in position_pairs(kind):
        for name, shift in zip(pair, SHIFT, strict=True):
            result[index[name]] += shift
    for name in headings(kind):
        result[index[name]] += TURN
    return result


def _moved(x: Point) -> Point:
    row = _moved_row(type(x), np.array(record.flatten(x), dtype=float))
    return record.unflatten(type(x), row.tolist())


def mirror(subject: Subject) -> list[str]:
    """Check that mirrored arguments give mirrored rates, outputs and body functions."""
    model = subject.model
    kinds = (model.State, model.Input, model.Disturbance, model.Outputs)
    signs = {kind: mirror_signs(kind, model.mirror_odd) for kind in kinds}
    # Parameters describe the vehicle: they change sides but have no left-positive quantities.
    even = dict.fromkeys(record.names(model.Params), 1.0)
    p = mirrored(subject.params, even)
    points = subject.points
    images = [Point(*(mirrored(part, signs[type(part)]) for part in point)) for point in points]
    faults: list[str] = []
    for kind, answer, plain in (
        (model.State, subject.rates(images, p), subject.rates(points)),
        (model.Outputs, subject.outputs(images, p), subject.outputs(points)),
    ):
        want = _mirrored_table(kind, plain, signs[kind])
        faults += differences("in the mirror", kind, answer, want, TOLERANCE, points)
    return faults + (_body(subject, images, signs[model.Input]) if model.body else [])


def _body(subject: Subject, images: list[Point], of_input: Mapping[str, float]) -> list[str]:
    """Faults of the body under mirroring: pose, velocity and command."""
    body, points, p = subject.body, subject.points, subject.params
    there = mirrored(DEMAND, mirror_signs(Demand, None))
    faults: list[str] = []
    functions: list[tuple[str, type, Mapping[str, float], Callable[[Point, Demand], Any]]] = [
        ("pose", Pose, mirror_signs(Pose, None), lambda q, _: body.pose(q.x, p)),
        ("velocity", Velocity, mirror_signs(Velocity, None), lambda q, _: body.velocity(*q[:2], p)),
        ("command", subject.model.Input, of_input, lambda q, demand: body.command(q.x, demand, p)),
    ]
    for what, kind, signs, call in functions:
        want = _mirrored_table(kind, table(call(q, DEMAND) for q in points), signs)
        values, what = table(call(q, there) for q in images), f"{what} in the mirror"
        faults += differences(what, kind, values, want, TOLERANCE, points, floor=1.0)
    return faults


def _mirrored_table(kind: type, rows: Array, signs: Mapping[str, float]) -> Array:
    columns = mirrored(record.unflatten(kind, list(rows.T)), signs)
    result = rows.copy()
    for j, values in enumerate(record.flatten(columns)):
        result[:, j] = values
    return result


PURITY_TOLERANCE = 1e-12
"""Relative tolerance between libraries, which differ in the sine and in contraction."""


def purity(subject: Subject) -> list[str]:
    """Check that repeated calls give equal results, also on NumPy, CasADi and JAX if installed."""

    def on_numpy(subject: Subject, function: Function) -> Array:
        x, u, w = _arrays(subject)
        return _stacked(function.call(x, u, w, subject.params), len(subject.points))

    def on_casadi(subject: Subject, function: Function) -> Array:
        import casadi

        symbol = symbols(subject)
        value = column(function.call(*symbol.records))
        traced = casadi.Function("f", list(symbol.columns), [value])
        rows = (np.asarray(traced(*arguments(subject, point))) for point in subject.points)
        return np.array([row.ravel() for row in rows])

    backends: dict[str, Callable[[Subject, Function], Array]] = {}
    backends |= {"NumPy": on_numpy, "CasADi": on_casadi}
    functions = subject.functions()
    if find_spec("jax") is not None:
        backends["JAX"] = _compiled_together(functions)
    points, p, faults = subject.points, subject.params, list[str]()
    for function in functions:
        label, kind = function.name, function.kind
        values = table(function.call(*point, p) for point in points)
        again = table(function.call(*point, p) for point in reversed(points))[::-1]
        faults += differences(f"{label}called again", kind, again, values, 0.0, points)
        for name, evaluate in backends.items():
            try:
                other = evaluate(subject, function)
            except Exception as error:
                # If one library fails on the model, the others are still checked.
                faults.append(f"{label}on {name} it raised {type(error).__name__}: {error}")
                continue
            what, floor = f"{label}on {name}, unlike on floats", function.floor
            faults += differences(what, kind, other, values, PURITY_TOLERANCE, points, floor)
        # Only arrays show whether a function changes its arguments in place.
        shown, kept = _arrays(subject), _arrays(subject)
        with suppress(Exception):  # the failure on NumPy is reported above
            function.call(shown[0], shown[1], shown[2], p)
            for letter, after, before in zip("xuw", shown, kept, strict=True):
                pairs = zip(record.flatten(after), record.flatten(before), strict=True)
                faults += [
                    f"the call changed its argument {letter}.{name}"
                    for name, (a, b) in zip(record.names(type(after)), pairs, strict=True)
                    if a.tobytes() != b.tobytes()
                ]
    return faults


def _arrays(subject: Subject) -> list[Any]:
    parts: list[Any] = []
    for rows in zip(*subject.points, strict=True):
        leaves = table(rows).T
        parts.append(record.unflatten(type(rows[0]), [leaf.copy() for leaf in leaves]))
    return parts


def _stacked(value: Any, count: int) -> Array:
    leaves = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in record.flatten(value)]
    return np.column_stack(leaves) if leaves else np.empty((count, 0))


def _compiled_together(functions: list[Function]) -> Callable[[Subject, Function], Array]:
    """Values on JAX, which compiles all functions together in 60 % of the time of one by one.

    If that fails, each is compiled separately, to find those that fail. No function is called
    before its values are needed: side effects of a trace in an impure model must not show on
    floats.
    """

    @cache
    def tables(subject: Subject) -> dict[Function, Array]:
        try:
            return dict(zip(functions, _on_jax(subject, functions), strict=True))
        except Exception:
            return {}

    def evaluate(subject: Subject, function: Function) -> Array:
        every = tables(subject)
        return every[function] if function in every else _on_jax(subject, [function])[0]

    return evaluate


def _on_jax(subject: Subject, functions: list[Function]) -> list[Array]:
    purpose = "The purity check on JAX"
    jax = require("jax", purpose=purpose)

    def values(x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        return [function.call(x, u, w, p) for function in functions]

    # Older releases have the switch to 64 bits among the experiments.
    home = jax if hasattr(jax, "enable_x64") else require("jax.experimental", purpose=purpose)
    with home.enable_x64(True):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        return [_stacked(value, len(subject.points)) for value in jax.jit(values)(x, u, w, p)]


ROUNDING = 1e-11
"""Tolerance for rounding, relative to the sum of the powers that cancel."""


def energy(subject: Subject) -> list[str]:
    """Check that power is not positive without drive, at states with all wheels on the road."""
    if subject.model.energy is None:
        raise NotApplicable("the model gives no energy function")

    def without(value: Any, drives: Callable[[Unit], bool]) -> list[float]:
        leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
        return [0.0 if drives(leaf.unit) else float(number) for leaf, number in leaves]

    # Only angles and their rates are inputs that do no work on the body by themselves.
    undriven = [
        subject.point(
            without(point.x, is_effort),
            without(point.u, lambda unit: not unit.symbol.startswith("rad")),
        )
        for point in subject.calm_points
    ]
    points = _loaded(subject, undriven)
    if not points:
        return ["no sampled state has all wheel loads positive, so nothing could be checked"]
    gained, rounding = _power(subject, points)
    # Written as a negation, so that NaN is a fault too.
    wrong = np.flatnonzero(~(gained <= ROUNDING * rounding))
    return [
        f"with no drive, energy grows by {gained[i]:.6g} W at {points[i].x}, input {points[i].u}"
        for i in wrong[:3]
    ]


def _loaded(subject: Subject, points: list[Point]) -> list[Point]:
    """Those of `points` at which all wheels are on the road."""
    names = record.names(subject.model.Outputs)
    loads = [j for j, name in enumerate(names) if tokens(name)[:2] == ("F", "z")]
    if not loads:
        return points
    table = subject.outputs(points)[:, loads]
    return [point for point, row in zip(points, table, strict=True) if min(row) > 0.0]


def _power(subject: Subject, points: list[Point]) -> tuple[Array, Array]:
    """Rate of change of energy at each point, and the sum of the magnitudes of its terms, in W."""
    model = subject.model
    assert model.energy is not None
    if not model.continuous:
        before = np.array([model.energy(point.x, subject.params) for point in points], dtype=float)
        rates = subject.rates(points)
        now = np.array([record.flatten(point.x) for point in points], dtype=float)
        after = [
            model.energy(record.unflatten(model.State, row.tolist()), subject.params)
            for row in now + DT * rates
        ]
        return (np.array(after, dtype=float) - before) / DT, (before + np.abs(after)) / DT
    import casadi

    symbol = symbols(subject)
    x, _, _, p = symbol.records
    slope = casadi.gradient(casadi.SX(model.energy(x, p)), symbol.columns[0])
    terms = slope * column(subject.rate(*symbol.records))
    function = casadi.Function("power", list(symbol.columns), [terms])
    table = np.array([np.asarray(function(*arguments(subject, q))).ravel() for q in points])
    return table.sum(axis=1), np.abs(table).sum(axis=1)


TORQUE = 50.0
"""Torque applied at standstill, in N·m."""


def gradients(subject: Subject) -> list[str]:
    """Check exact Jacobians of rates and outputs with respect to all arguments and parameters."""
    import casadi

    symbol, model = symbols(subject), subject.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    names = [f"{letter}.{leaf}" for letter, kind in kinds.items() for leaf in record.names(kind)]
    faults: list[str] = []
    for what, kind, value in (
        ("rate of ", subject.model.State, subject.rate(*symbol.records)),
        ("output ", subject.model.Outputs, subject.vehicle.outputs(*symbol.records)),
    ):
        flat = column(value)
        jacobian = casadi.jacobian(flat, casadi.vertcat(*symbol.columns))
        function = casadi.Function("J", list(symbol.columns), [flat, jacobian])
        rows = [f"{what}{name}" for name in record.names(kind)]
        for label, point in _places(subject):
            faults += _not_finite(function(*arguments(subject, point)), rows, names, label)
    return faults


def _not_finite(results: Any, rows: list[str], names: list[str], label: str) -> list[str]:
    values, jacobian = (
        np.asarray(part.full() if hasattr(part, "full") else part) for part in results
    )
    faults = [
        f"{rows[i]} is {values.ravel()[i]} {label}"
        for i in np.flatnonzero(~np.isfinite(values.ravel()))
    ]
    bad = np.argwhere(~np.isfinite(jacobian.reshape(len(rows), len(names))))
    if bad.size:
        i, j = bad[0]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        faults.append(
            f"the gradient of the {rows[i]} with respect to {names[j]} is {jacobian[i, j]} "
            f"{label}{more}"
        )
    return faults


def _places(subject: Subject) -> Iterator[tuple[str, Point]]:
    """Points that optimisers start from or pass through, each with a description."""
    yield "at rest", _place(subject)
    for side, angle in (("left", lock(subject.params)), ("right", -lock(subject.params))):
        yield f"at rest, full lock {side}", _place(subject, steer=angle)
        yield f"at rest with torque, full lock {side}", _place(subject, steer=angle, torque=TORQUE)
        yield f"in reverse, full lock {side}", _place(subject, steer=angle, forward=-2.0)
    yield "at rest with torque", _place(subject, torque=TORQUE)
    yield "in reverse", _place(subject, forward=-2.0)
    yield "turning on the spot", _place(subject, turning=0.5)
    for point in subject.points:
        yield f"at {point.x}", point


def _place(
    subject: Subject,
    *,
    steer: float = 0.0,
    torque: float = 0.0,
    forward: float = 0.0,
    turning: float = 0.0,
) -> Point:
    def values(kind: type) -> list[float]:
        return [_value(leaf) for leaf in record.fields(kind)]

    def _value(leaf: record.Field) -> float:
        words, symbol = set(tokens(leaf.name)), leaf.unit.symbol
        if symbol == "rad" and words & {"steer", "steering", "delta"}:
            return steer
        if symbol == "N·m":
            return torque
        if leaf.name in ("v_x", "v"):
            return forward
        return turning if leaf.name == "omega" else 0.0

    return subject.point(values(subject.model.State), values(subject.model.Input))


Dimension = tuple[float, float, float]
"""Exponents of metre, kilogram and second."""
NUMBER: Dimension = (0.0, 0.0, 0.0)


class DimensionError(SkidpadError, TypeError):
    """Quantities of different dimensions were combined, or a function does not accept one."""


class Quantity:
    """A value with its dimension, the exponents of metre, kilogram and second; `skidpad.ops`
    accepts it."""

    __slots__ = ("dimension", "value")
    __skidpad_ops__: Any
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, dimension: Dimension = NUMBER) -> None:
        self.value = float(value)
        self.dimension = dimension

    def __repr__(self) -> str:
        return f"{self.value:g} {symbol(self.dimension)}"

    def __add__(self, other: Any) -> Quantity:
        return Quantity(self.value + _value(other), _common("add", self, other))

    def __sub__(self, other: Any) -> Quantity:
        return Quantity(self.value - _value(other), _common("subtract", self, other))

    def __rsub__(self, other: Any) -> Quantity:
        return Quantity(_value(other) - self.value, _common("subtract", self, other))

    def __mul__(self, other: Any) -> Quantity:
        return Quantity(self.value * _value(other), _product(self, other, 1.0))

    def __truediv__(self, other: Any) -> Quantity:
        return Quantity(_quotient(self.value, _value(other)), _product(self, other, -1.0))

    def __rtruediv__(self, other: Any) -> Quantity:
        return Quantity(_quotient(_value(other), self.value), _product(other, self, -1.0))

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, n: Any) -> Quantity:
        return power(self, n)

    def __neg__(self) -> Quantity:
        return Quantity(-self.value, self.dimension)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return Quantity(abs(self.value), self.dimension)

    def __lt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> bool:
        return _compared(self, other, lambda a, b: a == b)

    def __ne__(self, other: object) -> bool:
        return _compared(self, other, lambda a, b: a != b)


def symbol(dimension: Dimension) -> str:
    """Symbol of a dimension in SI base units, such as `m·s^-2`."""
    parts = [
        name if exponent == 1 else f"{name}^{exponent:g}"
        for name, exponent in zip(("m", "kg", "s"), dimension, strict=True)
        if exponent != 0
    ]
    return "·".join(parts) or "1"


def same(a: Dimension, b: Dimension) -> bool:
    """Whether two dimensions agree to within rounding, as exponents may come from roots."""
    return all(math.isclose(p, q, abs_tol=1e-9) for p, q in zip(a, b, strict=True))


def power(x: Any, n: Any) -> Quantity:
    if isinstance(n, Quantity):
        raise DimensionError(f"the exponent must be a plain number, got {n!r}")
    exponents = _dimension(x)
    value = ops.pow(_value(x), float(n))
    return Quantity(value, (exponents[0] * n, exponents[1] * n, exponents[2] * n))


def fits_anything(x: Any) -> bool:
    """Whether x is a literal 0 or infinity, which fit every dimension."""
    return not isinstance(x, Quantity) and (x == 0 or math.isinf(x))


def _value(x: Any) -> float:
    return x.value if isinstance(x, Quantity) else float(x)


def _dimension(x: Any) -> Dimension:
    return x.dimension if isinstance(x, Quantity) else NUMBER


def _common(verb: str, a: Any, b: Any) -> Dimension:
    if fits_anything(a):
        return _dimension(b)
    if fits_anything(b) or same(_dimension(a), _dimension(b)):
        return _dimension(a)
    raise DimensionError(f"cannot {verb} {symbol(_dimension(a))} and {symbol(_dimension(b))}")


def _product(a: Any, b: Any, sign: float) -> Dimension:
    return _combine(_dimension(a), _dimension(b), sign)


def _combine(p: Dimension, q: Dimension, sign: float) -> Dimension:
    return (p[0] + sign * q[0], p[1] + sign * q[1], p[2] + sign * q[2])


def _quotient(a: float, b: float) -> float:
    return a / b if b != 0.0 else math.nan


def _compared(a: Any, b: Any, holds: Callable[[float, float], bool]) -> bool:
    _common("compare", a, b)
    return holds(_value(a), _value(b))


def _of_numbers(name: str) -> Callable[..., Quantity]:
    """Wrap a function of dimensionless numbers, such as the sine."""
    function = getattr(ops, name)

    def applied(x: Any) -> Quantity:
        if not same(_dimension(x), NUMBER):
            raise DimensionError(
                f"{name} takes a pure number or an angle, got {symbol(x.dimension)}"
            )
        return Quantity(function(_value(x)))

    return applied


def _of_two(name: str, *, pure: bool = False) -> Callable[..., Quantity]:
    """Wrap a function of two quantities of the same dimension; `pure` if its result is
    dimensionless."""
    function = getattr(ops, name)

    def applied(a: Any, b: Any) -> Quantity:
        dimension = _common(f"take {name} of", a, b)
        return Quantity(function(_value(a), _value(b)), NUMBER if pure else dimension)

    return applied


def _where(condition: Any, a: Any, b: Any) -> Quantity:
    dimension = _common("choose between", a, b)
    return Quantity(_value(a) if _value(condition) else _value(b), dimension)


def _read(number: Any, index: Any) -> Quantity:
    """Read an element of a shared array; `number`, which identifies the array, carries the
    dimension of its elements.
    """
    if not same(_dimension(index), NUMBER):
        raise DimensionError(f"read takes a pure number as index, got {symbol(index.dimension)}")
    return Quantity(ops.read(_value(number), _value(index)), _dimension(number))


_PURE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "floor")

Quantity.__skidpad_ops__ = SimpleNamespace(
    **{name: _of_numbers(name) for name in _PURE},
    atan2=_of_two("atan2", pure=True),
    hypot=_of_two("hypot"),
    minimum=_of_two("minimum"),
    maximum=_of_two("maximum"),
    sqrt=lambda x: power(x, 0.5),
    pow=power,
    abs=abs,
    sign=lambda x: Quantity(ops.sign(_value(x))),
    where=_where,
    read=_read,
    logical_and=lambda a, b: bool(_value(a)) and bool(_value(b)),
    logical_or=lambda a, b: bool(_value(a)) or bool(_value(b)),
    logical_not=lambda a: not _value(a),
)

SECOND = Unit("s", time=1)
JOULE: Dimension = (2.0, 1.0, -2.0)
_HERE = {Path(ops.__file__ or ""), Path(__file__)}


def dimensions(subject: Subject) -> list[str]:
    """Check that rates have the unit of the state per second, and outputs their own units."""
    model = subject.model
    x, u, w = (_with_units(part) for part in subject.points[0])
    p = _with_units(subject.params)
    per_second = {
        leaf.name: _combine(leaf.unit.dimension, SECOND.dimension, -1.0)
        for leaf in record.fields(model.State)
    }
    declared = {leaf.name: leaf.unit.dimension for leaf in record.fields(model.Outputs)}
    dt = Quantity(DT, SECOND.dimension)
    faults = _faults("the rate of ", lambda: subject.rate(x, u, w, p, dt), per_second)
    faults += _faults("the output ", lambda: subject.vehicle.outputs(x, u, w, p), declared)
    if (energy := model.energy) is not None:
        faults += _faults("the ", lambda: (energy(x, p),), {"energy": JOULE})
    return faults


def _with_units(value: Any) -> Any:
    leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
    return record.unflatten(
        type(value), [Quantity(number, leaf.unit.dimension) for leaf, number in leaves]
    )


def _faults(what: str, call: Callable[[], Any], expected: dict[str, Dimension]) -> list[str]:
    try:
        leaves = record.flatten(call())
    except DimensionError as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if Path(frame.filename) not in _HERE][-1]
        return [f"{error}, in {Path(last.filename).name}, line {last.lineno}: {last.line}"]
    return [
        f"{what}{name} comes out in {symbol(_dimension(leaf))}, expected {symbol(want)}"
        for (name, want), leaf in zip(expected.items(), leaves, strict=True)
        if not fits_anything(leaf) and not same(_dimension(leaf), want)
    ]
