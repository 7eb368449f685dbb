"""`Tyre`: a tyre as its record, the file it came from and compiled results.

`Evaluator` computes results at a contact for numbers, arrays and symbols. Numbers and arrays go to
compiled code: single numbers to a kernel with pre-bound memory, arrays to one call in lanes and
threads, with bit-identical results. CasADi symbols and JAX values are evaluated by the equations
themselves.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Required, TypedDict, Unpack

import numpy as np

from ..compile.cpu import BoundMap, CpuMap
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core import record
from ..core import record as records
from ..core.arrays import Array
from ..core.files import listed, shortened
from ..errors import InvalidValue
from ..ops import abs as absolute
from ..ops import tan
from ..units import rad_s
from .contract import (
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    TyreForces,
    mounted,
    record_of,
)
from .magic_formula.formula import Everything, evaluate
from .magic_formula.radii import rolling_spin as magic_spin
from .tir_file import Document, has_key, values_in_si, version_of, with_other_keys

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Evaluation(NamedTuple):
    """All results of a tyre at a contact."""

    forces: TyreForces
    """Forces and moments on the wheel."""
    stiffness: SlipStiffness
    """Slopes of the forces at small slip."""
    peaks: Peaks
    """Largest friction coefficients."""
    relaxation: Relaxation
    """Relaxation lengths."""
    radii: Radii
    """Radii and vertical stiffness."""
    omega: rad_s
    """Spin of the wheel."""


@record.extended
class MagicEvaluation(Evaluation):
    """All results of a Magic Formula tyre at a contact."""

    formula: Everything
    """Intermediate values, for the side on which the tyre was measured."""


RESULTS: dict[str, type] = {
    "forces": TyreForces, "stiffness": SlipStiffness, "peaks": Peaks, "relaxation": Relaxation,
    "radii": Radii, "evaluate": Evaluation,
}  # fmt: skip
"""Result class by the name of the method."""

FREE = ("F_z", "kappa", "alpha", "gamma", "phi_t", "v_x", "p", "mu")
"""Fields of a contact that a caller supplies; the spin of the wheel comes last if supplied."""
FIELDS = (*FREE, "omega")
_NOT_NEGATIVE = ("p", "mu")
_P, _MU = (FREE.index(name) for name in _NOT_NEGATIVE)
_UNITS = {field.name: field.unit for field in record.fields(Contact)}
_ITERATIONS = 8
"""Iterations for the spin of a wheel; each reduces the error about twentyfold."""
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


def evaluate_at(name: str, tyre: Any, side: Any, values: tuple[Any, ...]) -> Any:
    """Result of a tyre record on one side of a car (1 left, -1 right), in plain operations.

    `name` is the method; `values` are those of `FREE`, then the spin if it is known.
    """
    at = Contact(**dict(zip(FIELDS, values, strict=False)))
    at = at._replace(v_y=absolute(at.v_x) * tan(at.alpha))
    s = side * tyre.measured_on
    if len(values) == len(FREE):
        at = at._replace(omega=rolling_spin(tyre, _mirrored(at, s)))
    if name == "forces":
        return mounted(tyre, at, side)
    own = _mirrored(at, s)
    if name != "evaluate":
        return getattr(tyre, name)(own)
    results = (
        mounted(tyre, at, side), tyre.stiffness(own), tyre.peaks(own), tyre.relaxation(own),
        tyre.radii(own), at.omega,
    )  # fmt: skip
    if version_of(type(tyre)):
        return MagicEvaluation._make((*results, evaluate(tyre, own)))
    return Evaluation(*results)


def result_class(name: str, kind: type) -> type:
    if name == "evaluate" and version_of(kind):
        return MagicEvaluation
    return RESULTS[name]


def _mirrored(at: Contact, s: Any) -> Contact:
    """Contact mirrored to the side on which the tyre was measured."""
    return at._replace(alpha=s * at.alpha, gamma=s * at.gamma, phi_t=s * at.phi_t, v_y=s * at.v_y)


@lru_cache(maxsize=256)
def _program(kind: type, name: str, spinning: bool) -> Program:
    """Result of a kind of tyre as a Program of the contact, the tyre's leaves and the side."""

    def function(at: tuple[Any, ...], leaves: tuple[Any, ...], side: tuple[Any, ...]) -> Any:
        return (record.flatten(evaluate_at(name, record.unflatten(kind, leaves), side[0], at)),)

    fields = FIELDS if spinning else FREE
    inputs = (Port("at", fields), Port("tyre", record.names(kind)), Port("side", ("side",)))
    outputs = (Port("answer", record.names(result_class(name, kind))),)
    return trace(f"{kind.__name__}.{name}", function, inputs, outputs)


@lru_cache(maxsize=256)
def _lanes(kind: type, name: str, spinning: bool) -> CpuMap:
    return CpuMap(_program(kind, name, spinning), "float64", None, shared=(1, 2))


class _Bound(NamedTuple):
    """Kernel with its own memory, for one call at a time."""

    call: BoundMap
    put: Callable[..., None]
    at: Any
    take: Callable[..., tuple[float, ...]]
    out: Any


class Evaluator:
    """Compiled methods of one tyre record on one side of a car, 1 left or -1 right."""

    def __init__(self, tyre: Any, side: float) -> None:
        self._tyre, self._side, self._kind = tyre, side, type(tyre)
        self._leaves = np.array(record.flatten(tyre), dtype=float)
        # A tyre with a pressure needs one above 0; tyres that ignore it have 0 themselves.
        self._least = {"p": math.ulp(0.0) if float(tyre.pressure) > 0.0 else 0.0, "mu": 0.0}
        self._least_p = self._least["p"]
        # Lists append and pop atomically, so threads and signal handlers that call the same tyre at
        # the same time each get a kernel of their own.
        self._idle: dict[tuple[str, int], list[_Bound]] = {}

    def __call__(self, name: str, values: tuple[Any, ...]) -> Any:
        """Result of the method `name` at `values`: those of `FREE`, then the spin if known."""
        if not _PLAIN.issuperset(map(type, values)):
            return self._of_others(name, values)
        return self._of_numbers(name, values)

    def _of_numbers(self, name: str, values: tuple[Any, ...]) -> Any:
        key = (name, len(values))
        try:
            total = sum(values)
        except OverflowError:  # a whole number beyond all floats
            total = math.inf
        # NaN, infinite and extremely large values make the sum non-finite, so one test finds them
        # all.
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
        kind: Any = result_class(name, self._kind) if name == "evaluate" else RESULTS[name]
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
            homes = {type(value).__module__.partition(".")[0] for value in values}
            overloaded = any(hasattr(value, "__skidpad_ops__") for value in values)
            if overloaded or homes & {"casadi", "jax", "jaxlib"}:
                return evaluate_at(name, self._tyre, self._side, values)
            self._check(values)
        arrays = [_array(field, v) for field, v in zip(FIELDS, values, strict=False)]
        try:
            shape = np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError as error:
            shapes = ", ".join(
                f"{n} {a.shape}" for n, a in zip(FIELDS, arrays, strict=False) if a.shape
            )
            raise InvalidValue(f"shapes cannot be broadcast together: {shapes}") from error
        self._check(arrays)
        if not shape:
            return self._of_numbers(name, tuple(float(array) for array in arrays))
        return self._of_arrays(name, arrays, shape)

    def _of_arrays(self, name: str, arrays: list[Array], shape: tuple[int, ...]) -> Any:
        count = math.prod(shape)
        if not count:
            kind = result_class(name, self._kind)
            return record.unflatten(kind, [np.empty(shape)] * record.size(kind))
        at = np.empty((1, len(arrays), *shape))
        for k, array in enumerate(arrays):
            at[0, k] = array
        compiled = _lanes(self._kind, name, len(arrays) > len(FREE))
        ports = [at.reshape(1, len(arrays), count).swapaxes(1, 2), self._leaves[None, None]]
        out = compiled.run([*ports, np.array([[[self._side]]])], count)[0][0]
        columns = [np.ascontiguousarray(out[:, k]).reshape(shape) for k in range(out.shape[1])]
        return record.unflatten(result_class(name, self._kind), columns)

    def _check(self, values: Any) -> None:
        """Raise for the first value that is not a finite number or not allowed."""
        for field, value in zip(FIELDS, values, strict=False):
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


SIDES = {"left": 1.0, "right": -1.0}
"""Sides of a car, as sign."""


class ContactArguments(TypedDict, total=False):
    """Keyword arguments of every tyre method; see `Tyre.forces`."""

    F_z: Required[Any]
    kappa: Any
    alpha: Any
    gamma: Any
    phi_t: Any
    v_x: Any
    p: Any
    mu: Any
    omega: Any


@dataclass(frozen=True, eq=False, repr=False)
class Tyre:
    """A tyre with its forces, stiffness, peaks, relaxation lengths and radii.

    Each method takes numbers, evaluated by compiled code in some microseconds; arrays, which
    broadcast; or values of CasADi and JAX. Tyres are equal if they give the same results for every
    contact: same record, same side, same kind of transients.

    Args:
        record: any tyre record: a Magic Formula, a `BrushTyre`, one of your own.
        document: the text of the file it was read from, if any.
        name: name in texts; by default that of the record's class.
        filled: keys that were missing in the file, in the order of its sections.
        transient: whether forces lag behind slip by a relaxation length.
        side: "left" or "right", the side of the car for which the results hold; by default the side
            on which the tyre was measured. On the other side it is its own mirror image.
    """

    record: Any
    document: Document | None = None
    name: str = ""
    filled: tuple[str, ...] = ()
    transient: bool = True
    side: str = ""

    def __post_init__(self) -> None:
        kept = record_of(self.record)
        records.check(kept)
        if abs(kept.measured_on) != 1.0:
            sides = "1 (left) or -1 (right)"
            raise InvalidValue(f"measured_on = {kept.measured_on!r} of a tyre must be {sides}")
        if not self.side:
            object.__setattr__(self, "side", "right" if kept.measured_on < 0 else "left")
        if self.side not in SIDES:
            raise InvalidValue(f"side = {self.side!r} must be 'left' or 'right'")
        object.__setattr__(self, "record", kept)
        object.__setattr__(self, "name", self.name or type(kept).__name__)

    @property
    def version(self) -> str:
        """Version of the Magic Formula: "5.2", "6.1" or "6.2"; empty for other tyres."""
        return version_of(type(self.record))

    @property
    def measured_on(self) -> str:
        """Side of the car on which the tyre was measured: "left" or "right"."""
        return "right" if self.record.measured_on < 0 else "left"

    @property
    def pressure(self) -> float:
        """Default inflation pressure of the methods, in Pa."""
        return self._pressure

    @property
    def file_values(self) -> Mapping[str, Mapping[str, float | str | None]]:
        """All values of the file by section and key, numbers in SI.

        Includes keys that are not in the record, such as `file_values["INERTIA"]["MASS"]`. Empty
        without a file.
        """
        return {} if self.document is None else values_in_si(self.document)

    def forces(
        self,
        *,
        F_z: Any,
        kappa: Any = 0.0,
        alpha: Any = 0.0,
        gamma: Any = 0.0,
        phi_t: Any = 0.0,
        v_x: Any = 10.0,
        p: Any = None,
        mu: Any = 1.0,
        omega: Any = None,
    ) -> TyreForces:
        """Steady-state forces and moments on the wheel in N and N·m, in wheel axes (ISO 8855).

        A positive slip angle (the patch drifts to the left) gives a negative lateral force.

        Args:
            F_z: load in N, positive when pressed on the road.
            kappa: longitudinal slip, positive when driving, -1 locked.
            alpha: slip angle in rad.
            gamma: camber in rad, positive when the top leans to the right.
            phi_t: turn slip in 1/m.
            v_x: speed along the wheel in m/s; 10 by default.
            p: inflation pressure in Pa; the tyre's own if None.
            mu: grip of the road relative to the road on which the tyre was measured.
            omega: spin of the wheel in rad/s; from `kappa` and `v_x` if None.
        """
        values = (F_z, kappa, alpha, gamma, phi_t, v_x, self._pressure if p is None else p, mu)
        return self._evaluator("forces", values if omega is None else (*values, omega))

    def stiffness(self, **contact: Unpack[ContactArguments]) -> SlipStiffness:
        """Slopes of the forces at small slip, in N and N/rad; arguments as in `forces`."""
        return self._evaluate("stiffness", contact)

    def peaks(self, **contact: Unpack[ContactArguments]) -> Peaks:
        """Largest friction coefficients in pure slip; arguments as in `forces`."""
        return self._evaluate("peaks", contact)

    def relaxation(self, **contact: Unpack[ContactArguments]) -> Relaxation:
        """Relaxation lengths in m; arguments as in `forces`."""
        return self._evaluate("relaxation", contact)

    def radii(self, **contact: Unpack[ContactArguments]) -> Radii:
        """Radii in m and vertical stiffness in N/m; arguments as in `forces`."""
        return self._evaluate("radii", contact)

    def evaluate(self, **contact: Unpack[ContactArguments]) -> Evaluation | MagicEvaluation:
        """All results at once, the same up to rounding; arguments as in `forces`.

        For a Magic Formula tyre also the intermediate values, such as trail and contact patch.
        """
        return self._evaluate("evaluate", contact)

    def _evaluate(self, name: str, arguments: ContactArguments) -> Any:
        contact: dict[str, Any] = {**arguments}
        omega = contact.pop("omega", None)
        if contact.get("p") is None:
            contact["p"] = self._pressure
        records.check_names(f"Tyre.{name}", contact, (*_USUAL, "omega"), "argument")
        if "F_z" not in contact:
            raise InvalidValue(f"Tyre.{name} needs a value for F_z, the load in N")
        values = tuple(contact.get(key, usual) for key, usual in _USUAL.items())
        return self._evaluator(name, values if omega is None else (*values, omega))

    @cached_property
    def _pressure(self) -> float:
        return float(self.record.pressure)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.record, SIDES[self.side])

    def mirrored(self) -> Tyre:
        """The tyre mounted on the other side of the car: its results are mirror images."""
        return replace(self, side="left" if self.side == "right" else "right")

    def with_values(self, values: Mapping[str, float] | None = None, /, **more: float) -> Tyre:
        """The tyre with new values, in SI: `tyre.with_values(PKY1=-20.0, LMUY=0.8)`.

        Names are the file's keys, with or without their part of the record (`lateral.PKY1`). Keys
        of the file that the equations do not use, such as `MASS`, are changed in its text.
        """
        kind = type(self.record)
        asked = {**(values or {}), **more}
        document = self.document
        others = {
            n: v
            for n, v in asked.items()
            if not _leaves(kind, n) and document is not None and has_key(document, n)
        }
        wanted = {_leaf(kind, n): value for n, value in asked.items() if n not in others}
        changed = records.build(kind, wanted, base=self.record)
        before = dict(zip(records.names(kind), records.flatten(self.record), strict=True))
        new = {n.rpartition(".")[2] for n, value in wanted.items() if before[n] != value}
        filled = tuple(key for key in self.filled if key not in new)
        if document is not None and others:
            document = with_other_keys(document, others)
        return replace(self, record=changed, document=document, filled=filled)

    def plot(
        self,
        *others: Tyre,
        loads: Iterable[float] | float | None = None,
        cambers: Iterable[float] | float | None = None,
        pressures: Iterable[float | None] | float | None = None,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Sheet of curves of this tyre, overlaid with those of other tyres.

        Args:
            others: tyres to compare with.
            loads: in N; by default 0.5, 1 and 1.5 times each tyre's nominal load.
            cambers: in rad, for the camber diagram.
            pressures: in Pa; each adds a set of curves.
            path: PNG, SVG or PDF file to write, by its suffix.
            title: title in place of the tyre's name.
            size: width and height in inches.
        """
        from ..view.plots.tyres import sheet

        return sheet(
            (self, *others), loads=loads, cambers=cambers, pressures=pressures, path=path,
            title=title, size=size,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        from ..view.plots.notebook import tyre_html

        return tyre_html(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tyre) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)

    @property
    def _same(self) -> tuple[Any, ...]:
        leaves = records.flatten(self.record)
        return type(self.record), leaves, self.side, self.transient

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        kind = f"Magic Formula {self.version}" if self.version else type(self.record).__name__
        parts = [repr(self.name)] if self.name != type(self.record).__name__ else []
        parts += [kind, self.side] + ([] if self.transient else ["steady"])
        if self.filled:
            parts.append(f"filled: {listed(self.filled, 4)}")
        return shortened(f"Tyre({', '.join(parts)})")


_USUAL: dict[str, Any] = {
    "F_z": np.nan, "kappa": 0.0, "alpha": 0.0, "gamma": 0.0, "phi_t": 0.0, "v_x": 10.0, "p": None,
    "mu": 1.0,
}  # fmt: skip
"""Arguments of the tyre methods and their defaults."""
assert tuple(_USUAL) == tuple(name for name in Contact._fields if name in _USUAL)


def _leaves(kind: type, name: str) -> list[str]:
    """Dotted names of the leaves that match a name, with or without its part of the record."""
    leaves = records.names(kind)
    if name in leaves:
        return [name]
    matches = [leaf for leaf in leaves if leaf.rpartition(".")[2] == str(name).upper()]
    return matches or [leaf for leaf in leaves if leaf.upper() == str(name).upper()]


def _leaf(kind: type, name: str) -> str:
    """Dotted name of a leaf, from a name with or without its part of the record."""
    leaves, matches = records.names(kind), _leaves(kind, name)
    if len(matches) != 1:
        names = {leaf.rpartition(".")[2]: leaf for leaf in leaves}
        close = get_close_matches(str(name).rpartition(".")[2].upper(), names, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        hint = hint or ", nor has its file a number of that name"
        raise InvalidValue(f"{kind.__name__} has no key {name!r}{hint}")
    return matches[0]
