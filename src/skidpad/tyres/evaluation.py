"""What a tyre answers at a contact, for numbers, arrays and symbols.

Numbers and arrays go to compiled code: one number each to a kernel that is bound to its memory
once, arrays to one call in lanes and threads, with the same bits. Symbols of CasADi and values of
JAX go to the equations themselves.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..compile.bound import BoundMap
from ..compile.cpu import CpuMap
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..components.tyre.contract import (
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    TyreForces,
    mounted,
)
from ..components.tyre.magic import Everything, evaluate
from ..components.tyre.magic import rolling_spin as magic_spin
from ..errors import InvalidValue
from ..ops import abs as absolute
from ..ops import tan
from ..units import rad_s
from .keys import version_of

__all__ = ["Evaluation", "Evaluator", "MagicEvaluation", "rolling_spin"]


class Evaluation(NamedTuple):
    """All that a tyre answers at a contact."""

    forces: TyreForces
    """Forces and moments on the wheel."""
    stiffness: SlipStiffness
    """Slopes at small slip."""
    peaks: Peaks
    """Largest friction."""
    relaxation: Relaxation
    """Relaxation lengths."""
    radii: Radii
    """Radii and vertical stiffness."""
    omega: rad_s
    """Spin of the wheel."""


class MagicEvaluation(NamedTuple):
    """All that a Magic Formula tyre answers at a contact."""

    forces: TyreForces
    """Forces and moments on the wheel."""
    stiffness: SlipStiffness
    """Slopes at small slip."""
    peaks: Peaks
    """Largest friction."""
    relaxation: Relaxation
    """Relaxation lengths."""
    radii: Radii
    """Radii and vertical stiffness."""
    omega: rad_s
    """Spin of the wheel."""
    formula: Everything
    """What all this is made of, as on the side on which the tyre was measured."""


ANSWERS: dict[str, type] = {
    "forces": TyreForces,
    "stiffness": SlipStiffness,
    "peaks": Peaks,
    "relaxation": Relaxation,
    "radii": Radii,
    "evaluate": Evaluation,
}
"""Records by the name of the method that gives them."""

FREE = ("F_z", "kappa", "alpha", "gamma", "phi_t", "v_x", "p", "mu")
"""What a caller says of a contact; the spin of a wheel comes last if it is given."""
_NOT_NEGATIVE = ("p", "mu")
_P, _MU = (FREE.index(name) for name in _NOT_NEGATIVE)
_UNITS = {field.name: field.unit for field in record.fields(Contact)}
_ITERATIONS = 8
"""Steps towards the spin of a wheel, each some twenty times as near as the one before."""
_PLAIN = frozenset({float, int, np.float64})
_ARRAYS = (int, float, np.generic, np.ndarray, list, tuple)


def rolling_spin(tyre: Any, at: Contact) -> rad_s:
    """Spin of a wheel from its slip: omega R_e = v_x + kappa |v_x|, where R_e depends on omega."""
    if version_of(type(tyre)):
        return magic_spin(tyre, at.F_z, at.kappa, at.v_x, at.p)
    speed = at.v_x + at.kappa * absolute(at.v_x)
    omega = 0.0 * speed
    for _ in range(_ITERATIONS):
        omega = speed / tyre.radii(at._replace(omega=omega)).effective
    return omega


def answer(name: str, tyre: Any, side: Any, values: tuple[Any, ...]) -> Any:
    """What a tyre record on one side of a car (1 left, -1 right) answers, in plain operations.

    `values` are those of `FREE`, then the spin if it is known.
    """
    at = Contact(**dict(zip((*FREE, "omega"), values, strict=False)))
    at = at._replace(v_y=absolute(at.v_x) * tan(at.alpha))
    s = side * tyre.measured_on
    if len(values) == len(FREE):
        at = at._replace(omega=rolling_spin(tyre, _mirrored(at, s)))
    if name == "forces":
        return mounted(tyre, at, side)
    own = _mirrored(at, s)
    if name != "evaluate":
        return getattr(tyre, name)(own)
    answers = (
        mounted(tyre, at, side),
        tyre.stiffness(own),
        tyre.peaks(own),
        tyre.relaxation(own),
        tyre.radii(own),
        at.omega,
    )
    if version_of(type(tyre)):
        return MagicEvaluation(*answers, evaluate(tyre, own))
    return Evaluation(*answers)


def kind_of_answer(name: str, kind: type) -> type:
    """The record that a kind of tyre answers with."""
    if name == "evaluate" and version_of(kind):
        return MagicEvaluation
    return ANSWERS[name]


def _mirrored(at: Contact, s: Any) -> Contact:
    """The contact as it is on the side on which the tyre was measured."""
    return at._replace(alpha=s * at.alpha, gamma=s * at.gamma, phi_t=s * at.phi_t, v_y=s * at.v_y)


@lru_cache(maxsize=256)
def _program(kind: type, name: str, spinning: bool) -> Program:
    """The answer of a kind of tyre as a Program of the contact, the tyre's numbers and the side."""

    def function(at: tuple[Any, ...], leaves: tuple[Any, ...], side: tuple[Any, ...]) -> Any:
        return (record.flatten(answer(name, record.unflatten(kind, leaves), side[0], at)),)

    fields = (*FREE, "omega") if spinning else FREE
    inputs = (Port("at", fields), Port("tyre", record.names(kind)), Port("side", ("side",)))
    outputs = (Port("answer", record.names(kind_of_answer(name, kind))),)
    return trace(f"{kind.__name__}.{name}", function, inputs, outputs)


@lru_cache(maxsize=256)
def _lanes(kind: type, name: str, spinning: bool) -> CpuMap:
    return CpuMap(_program(kind, name, spinning), "float64", None, shared=(1, 2))


class _Bound(NamedTuple):
    """A kernel with its memory: for one call at a time."""

    call: BoundMap
    put: Callable[..., None]
    at: Any
    take: Callable[..., tuple[float, ...]]
    out: Any


class Evaluator:
    """Compiled answers of one tyre record on one side of a car, 1 left or -1 right."""

    def __init__(self, tyre: Any, side: float) -> None:
        self._tyre, self._side, self._kind = tyre, side, type(tyre)
        self._leaves = np.array(record.flatten(tyre), dtype=float)
        # No pressure is none of a tyre that has one; tyres without a say have 0 themselves.
        self._least = {"p": math.ulp(0.0) if float(tyre.pressure) > 0.0 else 0.0, "mu": 0.0}
        self._least_p = self._least["p"]
        # A list takes and gives its last item in one piece, so threads and signal handlers that
        # call the same tyre at the same time have a kernel each.
        self._idle: dict[tuple[str, int], list[_Bound]] = {}

    def __call__(self, name: str, values: tuple[Any, ...]) -> Any:
        """The answer at `values`, those of `FREE` and then the spin if it is known."""
        if not _PLAIN.issuperset(map(type, values)):
            return self._of_others(name, values)
        return self._of_numbers(name, values)

    def _of_numbers(self, name: str, values: tuple[Any, ...]) -> Any:
        key = (name, len(values))
        try:
            total = sum(values)
        except OverflowError:  # a whole number beyond all floats
            total = math.inf
        # What is not finite leaves a trace in the sum, and so does what is far too large.
        if total - total != 0.0 or values[_MU] < 0.0 or values[_P] < self._least_p:
            self._check(values)
        try:
            bound = self._idle[key].pop()
        except (KeyError, IndexError):
            bound = self._bound(*key)
        call, put, at, take, out = bound
        put(at, 0, *values)
        call()
        leaves = take(out)
        self._idle[key].append(bound)
        kind: Any = kind_of_answer(name, self._kind) if name == "evaluate" else ANSWERS[name]
        return record.unflatten(kind, leaves) if name == "evaluate" else kind._make(leaves)

    def _bound(self, name: str, count: int) -> _Bound:
        program = _program(self._kind, name, count > len(FREE))
        ports = (program.inputs[0], program.outputs[0])
        arrays: list[Any] = [np.zeros(len(port.fields)) for port in ports]
        at, out = arrays
        self._idle.setdefault((name, count), [])
        call = BoundMap(program, (at, self._leaves, np.array([self._side])), (out,))
        put, take = (struct.Struct(f"{array.size}d") for array in arrays)
        memory = [memoryview(array).cast("B") for array in arrays]
        return _Bound(call, put.pack_into, memory[0], take.unpack_from, memory[1])

    def _of_others(self, name: str, values: tuple[Any, ...]) -> Any:
        if not all(isinstance(value, _ARRAYS) for value in values):
            if any(_symbolic(value) for value in values):
                return answer(name, self._tyre, self._side, values)
            self._check(values)
        arrays = [_array(field, v) for field, v in zip((*FREE, "omega"), values, strict=False)]
        try:
            shape = np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError as error:
            shapes = ", ".join(
                f"{n} {a.shape}" for n, a in zip((*FREE, "omega"), arrays, strict=False) if a.shape
            )
            raise InvalidValue(f"shapes do not fit each other: {shapes}") from error
        self._check(arrays)
        if not shape:
            return self._of_numbers(name, tuple(float(array) for array in arrays))
        return self._of_arrays(name, arrays, shape)

    def _of_arrays(self, name: str, arrays: list[Array], shape: tuple[int, ...]) -> Any:
        count = math.prod(shape)
        if not count:
            kind = kind_of_answer(name, self._kind)
            return record.unflatten(kind, [np.empty(shape)] * record.size(kind))
        at = np.empty((1, len(arrays), *shape))
        for k, array in enumerate(arrays):
            at[0, k] = array
        compiled = _lanes(self._kind, name, len(arrays) > len(FREE))
        ports = [at.reshape(1, len(arrays), count).swapaxes(1, 2), self._leaves[None, None]]
        out = compiled.run([*ports, np.array([[[self._side]]])], count)[0][0]
        columns = [np.ascontiguousarray(out[:, k]).reshape(shape) for k in range(out.shape[1])]
        return record.unflatten(kind_of_answer(name, self._kind), columns)

    def _check(self, values: Any) -> None:
        """Raise for the first value that is no finite number or not allowed."""
        for field, value in zip((*FREE, "omega"), values, strict=False):
            array = _array(field, value)
            least = self._least.get(field, -math.inf)
            wrong = ~(np.isfinite(array) & (array >= least))
            if wrong.any():
                value = _UNITS[field].behind(str(array[wrong].flat[0]))
                raise InvalidValue(f"{field} = {value} must be {_allowed(field, least)}")


def _allowed(field: str, least: float) -> str:
    if field == "p" and least > 0.0:
        return "finite and greater than 0, or None for the tyre's own"
    return "finite and at least 0" if math.isfinite(least) else "finite"


def _array(field: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu" and array.size:
            raise TypeError(array.dtype)
        return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{field} = {value!r:.60} must be a number or an array of them"
        ) from error


def _symbolic(value: Any) -> bool:
    """Whether a value is one of CasADi or JAX, or says itself how to calculate with it."""
    home = type(value).__module__.partition(".")[0]
    return home in ("casadi", "jax", "jaxlib") or hasattr(value, "__skidpad_ops__")
