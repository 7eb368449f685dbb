"""Pickling of models and record classes for other processes and for files.

A function at the top level of a module is found in the other process by its name. Any other (a
lambda, a nested function, any function of a notebook) is traced here and evaluated there: the same
Programs and so the same bits. A function that can be transferred neither way, such as the shape of
a body that only a closure knows, raises when it is used there.

A record class at the top level of its module is transferred as its name, one made by a function as
its recipe, and so are the classes of nested records. Any other is described by rows of numbers and
text, from which an equal class is made, without methods. Its name is transferred as well, so that a
process that has the class uses its own.

`evaluate` runs a traced Program with `skidpad.ops`: on floats, arrays or symbols, or to retrace it.
"""

from __future__ import annotations

import math
import operator
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import import_module
from types import FunctionType
from typing import Annotated, Any, NamedTuple, get_type_hints
from uuid import uuid4
from weakref import WeakValueDictionary

from .. import ops
from ..core import record
from ..core.arrays import ArrayNumber
from ..core.backends import called
from ..core.body import Acceleration, Body, Demand, Pose, Velocity
from ..core.model import Model
from ..core.record import Recipe, recipe_of
from ..errors import InvalidValue, TraceError
from ..integrate.base import as_written
from ..ops import METHODS
from ..units import Allowed, Unit
from .program import Port, Program
from .trace import trace

_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{op: getattr(operator, op) for op in ("add", "sub", "mul", "neg")},
    **{"div": operator.truediv, "lt": ops.less, "le": ops.less_equal, "eq": ops.equal},
    **{"ne": ops.not_equal, "select": ops.where, "min": ops.minimum, "max": ops.maximum},
    **{op: getattr(ops, f"logical_{op}") for op in ("not", "and", "or")},
}
"""Functions of operations that are operators or named differently in `ops`."""


def evaluate(program: Program, ports: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the values of a traced Program's output ports for the values of its input ports."""
    return _values(program, ports, program.functions)


def _values(
    program: Program, ports: Sequence[Sequence[Any]], functions: tuple[Program, ...]
) -> list[list[Any]]:
    values: list[Any] = []
    for op, args, imm in program.code:
        operands = [values[k] for k in args]
        match op:
            case "const":
                value: Any = imm
            case "input":
                value = ports[imm[0]][imm[1]]
            case "pow":
                value = ops.pow(operands[0], imm)
            case "call":
                value = _called(functions, imm, operands)
            case "item":
                value = operands[0][imm]
            case _:
                value = (_OPERATIONS.get(op) or getattr(ops, op))(*operands)
        values.append(value)
    return [[values[k] for k in result] for result in program.results]


def _called(functions: tuple[Program, ...], imm: Any, arguments: list[Any]) -> Sequence[Any]:
    """Results of a function called repeatedly, each time on its own results."""
    number, times = imm
    results: Sequence[Any] = []
    for _ in range(times):
        results = called(_Kernel(functions, number), *arguments)
        arguments = [*results, *arguments[len(results) :]]
    return results


class _Kernel:
    """A Program's function as a callable; when it is retraced, all its calls share one function."""

    def __init__(self, functions: tuple[Program, ...], number: int) -> None:
        self._functions, self._number = functions, number
        self.__name__ = functions[number].name

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        (results,) = _values(self._functions[self._number], [arguments], self._functions)
        return tuple(results)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Kernel)
            and self._functions is other._functions
            and self._number == other._number
        )

    def __hash__(self) -> int:
        return hash((id(self._functions), self._number))


Place = tuple[str, str]
"""Module and qualified name of an object at the top level of a module."""
SCRIPTS = ("__main__", "__mp_main__")
"""Modules whose contents another process may lack."""
_MARK = "_skidpad_mark"


def place_of(thing: Any) -> Place:
    """Module and qualified name that a class or function reports for itself."""
    return getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "")


def at(place: Place) -> Any:
    """Import the object with this module and qualified name; None if this process has none."""
    module, path = place
    try:
        there: Any = import_module(module)
        for name in path.split("."):
            there = getattr(there, name)
    except (AttributeError, ImportError, ValueError):
        return None
    return there


def importable(kind: type) -> bool:
    """Whether any process can import a class by its module and qualified name."""
    place = place_of(kind)
    return place[0] not in SCRIPTS and at(place) is kind


class MadeRecord(NamedTuple):
    """A record class made by a function, in picklable form."""

    recipe: Recipe
    """Function and arguments that make the class, with the arguments in picklable form."""

    def here(self) -> type:
        """Make the class in this process."""
        return self.recipe.make(*from_picklable(self.recipe.arguments))


class KnownRecord(NamedTuple):
    """A record class described by its fields, in picklable form."""

    mark: str
    """Identifies the class, so that it is rebuilt once, and not at all in its own process."""
    place: Place
    rows: list[list[Any]]
    kinds: dict[str, Any]
    """For each field the class of its record, in picklable form; None for a number."""

    def here(self) -> type:
        """Return the class in this process: itself, the same one at its place, or an equal one."""
        kind = _described_known.get(self.mark)
        if kind is None:
            kinds = {name: from_picklable(part) for name, part in self.kinds.items()}
            like = _with_kinds(self.place[1].rpartition(".")[2], self.rows, kinds)
            kind = at(self.place)
            if not (record.is_record_type(kind) and _alike(kind, like)):
                kind = like
                kind.__module__, kind.__qualname__ = self.place
            _remember(kind, self.mark)
        return kind

    @classmethod
    def of(cls, kind: type) -> KnownRecord:
        """Describe a record class for another process, and make its records picklable."""
        mark = vars(kind).get(_MARK) or uuid4().hex
        _remember(kind, mark)
        kinds = {name: to_picklable(part) for name, part in _kinds(kind).items()}
        return cls(mark, place_of(kind), described(kind), kinds)


def _alike(kind: Any, other: Any) -> bool:
    return (
        kind._fields == other._fields
        and described(kind) == described(other)
        and record.interpolations(kind) == record.interpolations(other)
    )


def to_picklable(thing: Any) -> Any:
    """Convert a record class, or the record classes in a tuple, to picklable form; other values are
    unchanged.
    """
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        if isinstance(recipe, Recipe):
            return MadeRecord(Recipe(recipe.make, to_picklable(recipe.arguments)))
        return thing if importable(thing) else KnownRecord.of(thing)
    if isinstance(thing, tuple):
        return _like(thing, map(to_picklable, thing))
    return thing


def keeps_methods(thing: Any) -> bool:
    """Whether a record class, or every class in a tuple, arrives with its methods in another
    process."""
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        return keeps_methods(recipe.arguments) if isinstance(recipe, Recipe) else importable(thing)
    return not isinstance(thing, tuple) or all(map(keeps_methods, thing))


def from_picklable(thing: Any) -> Any:
    """Restore what `to_picklable` converted, in the process that received it."""
    if isinstance(thing, (MadeRecord, KnownRecord)):
        return thing.here()
    return _like(thing, map(from_picklable, thing)) if isinstance(thing, tuple) else thing


def _like(thing: Any, parts: Any) -> Any:
    return thing._make(parts) if record.is_record_type(type(thing)) else tuple(parts)


def recipe_of_model(model: Any) -> tuple[Any, ...] | None:
    """Pickle a model by the function that built it and its arguments.

    None without such a function or if another process could not restore all arguments.
    """
    build, arguments = vars(model).get("_recipe", (None, ()))
    if build is None or not keeps_methods(arguments):
        return None
    return rebuild_model, (build, to_picklable(arguments))


def rebuild_model(build: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Rebuild a model from the function that builds it and its transferred arguments."""
    return build(*from_picklable(arguments))


def unpickled(kind: Any, leaves: tuple[Any, ...]) -> Any:
    """Rebuild a record from its transferred class and its leaves."""
    return record.unflatten(from_picklable(kind), leaves)


_described_known: WeakValueDictionary[str, type] = WeakValueDictionary()
"""Record classes of this process that were transferred, by their marks."""


def _remember(kind: Any, mark: str) -> None:
    _described_known[mark] = kind
    if _MARK not in vars(kind):
        setattr(kind, _MARK, mark)
    if not importable(kind):
        kind.__reduce__ = reduced


def _kinds(kind: Any) -> dict[str, Any]:
    """Record class of each field of a record class; None for a number."""
    hints = get_type_hints(kind, include_extras=True)
    return {n: hints[n] if record.is_record_type(hints[n]) else None for n in kind._fields}


def reduced(instance: Any) -> tuple[Any, ...]:
    """Reduce a record for `pickle`; with its class, if no other process can import that."""
    kind = type(instance)
    if importable(kind):
        return kind, tuple(instance)
    return unpickled, (to_picklable(kind), record.flatten(instance))


def described(kind: type) -> list[list[Any]]:
    """Describe a record class, a row per leaf: name, unit, exponents, default, range, doc."""
    rows: list[list[Any]] = []
    for leaf in record.fields(kind):
        allowed = leaf.allowed
        bounds = None if allowed is None else list(astuple(allowed))
        if bounds:
            bounds = [b if isinstance(b, bool) or math.isfinite(b) else str(b) for b in bounds]
        unit = leaf.unit
        # The index of a shared array is meaningless in another process.
        default = None if isinstance(leaf.default, ArrayNumber) else leaf.default
        rows.append([leaf.name, unit.symbol, [*unit.dimension], default, bounds, leaf.doc])
    return rows


def record_type(
    name: str, rows: list[list[Any]], interpolations: Mapping[str, str] | None = None
) -> type:
    """Make a record class from rows of `described`; dotted names become nested records.

    `interpolations` names the interpolation of the records that are grids and not linear, by dotted
    name.
    """
    kinds: dict[str, Any] = {}
    known = interpolations or {}
    for entry, members in _by_field(rows).items():
        if members[0][0] == entry:
            kinds[entry] = None
            continue
        inner = [[m[0].partition(".")[2], *m[1:]] for m in members]
        below = {path: method for path, method in known.items() if path.startswith(f"{entry}.")}
        below = {path.partition(".")[2]: method for path, method in below.items()}
        kinds[entry] = record_type(entry, inner, below)
        if entry in known:
            setattr(kinds[entry], record.INTERPOLATION, known[entry])
    kind = _with_kinds(name, rows, kinds)
    if record.interpolations(kind) != known or not {*known.values()} <= {*METHODS}:
        raise InvalidValue(f"{name} has no grids with interpolations {known!r:.200}")
    return kind


def _with_kinds(name: str, rows: list[list[Any]], kinds: Mapping[str, Any]) -> Any:
    """Make a record class from its described leaves and the classes of its nested records."""
    groups = _by_field(rows)
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    docs: dict[str, str] = {}
    for entry, inner in kinds.items():
        if inner is not None:
            hints[entry] = inner
            defaults[entry] = record.unflatten(inner, [row[3] for row in groups.get(entry, ())])
            continue
        _, symbol, dimension, defaults[entry], bounds, docs[entry] = groups[entry][0]
        hints[entry] = _annotated(symbol, dimension, bounds)
    return record.define(name, hints, defaults, docs)


def _by_field(rows: list[list[Any]]) -> dict[str, list[list[Any]]]:
    groups: dict[str, list[list[Any]]] = {}
    for row in rows:
        # Raise unless a row is one that `described` could have written; it may come from a file
        name, symbol, dimension, default, bounds, doc = row
        texts = all(isinstance(text, str) for text in (name, symbol, doc))
        numbers = [*dimension, *(() if default is None else (default,))]
        plain = all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
        if not (texts and plain and len(dimension) == 3):
            raise InvalidValue(f"{row!r:.200} describes no field of a record")
        if bounds is not None:
            low, high, *marks = bounds
            marked = len(marks) in (1, 2) and all(type(mark) is bool for mark in marks)
            if not marked or not float(low) <= float(high):
                raise InvalidValue(f"{name}: {bounds!r:.200} is not a range")
        groups.setdefault(row[0].partition(".")[0], []).append(row)
    return groups


def _annotated(symbol: str, dimension: list[float], bounds: list[Any] | None) -> Any:
    unit = Unit(symbol, *dimension)
    if bounds is None:
        return Annotated[float, unit]
    low, high, *marks = bounds
    return Annotated[float, unit, Allowed(float(low), float(high), *map(bool, marks))]


_KINDS = ("State", "Input", "Disturbance", "Params", "Outputs")
_HELD, _NUMBER = "Held", "number"
"""Names in signatures: the record returned by `hold`, and a plain number."""
_BODY_RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (Acceleration, Pose, Velocity, Demand)
}
_EQUATIONS: dict[str, tuple[str, ...]] = {
    "derivative": ("State", _HELD, "Disturbance", "Params", "State"),
    "update": ("State", "Input", "Disturbance", "Params", _NUMBER, "State"),
    "outputs": ("State", _HELD, "Disturbance", "Params", "Outputs"),
    "hold": ("State", "Input", "Disturbance", "Params", _HELD),
    "settle": ("State", "Params", "State"),
    "energy": ("State", "Params", _NUMBER),
}
"""Signatures of the functions of a model: the arguments and, last, the result."""
_BODY: dict[str, tuple[str, ...]] = {
    "pose": ("State", "Params", "Pose"),
    "velocity": ("State", "Input", "Params", "Velocity"),
    "placed": ("State", "Pose", "Velocity", "Params", "State"),
    "command": ("State", "Demand", "Params", "Input"),
    "acceleration": ("State", "State", "Params", "Acceleration"),
    "steer": ("State", "Input", "Params", _NUMBER),
    "odometry": ("State", "Input", "Params", "Velocity"),
    "speed": ("State", "Params", _NUMBER),
    "geometry": (),
    "limits": (),
    "on_ground": (),
    "wheels": (),
}
"""Signatures of the functions of a body.

The last four return no record, so they cannot be transferred as Programs.
"""


@dataclass(frozen=True, repr=False)
class ProgramFunction:
    """A pure function of records, evaluated by its Program on floats, arrays or symbols."""

    program: Program
    Result: type | None
    """Class of the returned record; None for a number."""

    def __repr__(self) -> str:
        return f"<{self.program.name} by its Program>"

    def __call__(self, *arguments: Any) -> Any:
        flat = [record.flatten(a) if isinstance(a, tuple) else (a,) for a in arguments]
        (values,) = evaluate(self.program, flat)
        return values[0] if self.Result is None else record.unflatten(self.Result, values)


class _Traced(NamedTuple):
    """A traced function in picklable form: the document of its Program and the name of its
    result.
    """

    document: dict[str, Any]
    result: str


@dataclass(frozen=True)
class _Absent:
    """A function that could not be transferred; `place` is where this process may have it."""

    name: str
    place: tuple[str, str]

    def __call__(self, *arguments: Any) -> Any:
        """Call the function at the place in this process; raises if it does not exist."""
        function = at(self.place)
        if function is None:
            raise InvalidValue(
                f"{self.name} was not transferred from the process that pickled the vehicle: "
                f"{'.'.join(self.place)} is not at the top level of a module of this process. "
                "Define it there, or register the vehicle where it is used "
                "(skidpad.vehicles.register)"
            )
        return function(*arguments)


class _Payload(NamedTuple):
    """A model in picklable form."""

    mark: str
    """Identifies the model, so that it is rebuilt once, and not at all in its own process."""
    values: dict[str, Any]
    records: dict[str, Any]
    """Record classes of the model, in picklable form."""
    functions: dict[str, Any]
    body: dict[str, Any] | None


_known: WeakValueDictionary[str, Model] = WeakValueDictionary()
"""Models of this process that were transferred, by their marks."""


def portable(model: Model) -> tuple[Callable[..., Model], tuple[_Payload]]:
    """Reduce a model for `pickle`."""
    kept = model.__dict__
    if "_payload" not in kept:
        kept["_payload"] = _Packing(model).payload()
    _known[kept["_payload"].mark] = model
    return unpacked, (kept["_payload"],)


class _Packing:
    """Converts a model to a payload."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds: dict[str, type] = {kind: getattr(model, kind) for kind in _KINDS}
        self.kinds[_HELD] = model.Input if model.hold is None else self._held()
        # A function at the top of a module may use methods of its records, which a class that is
        # described would not have.
        self.by_place = all(map(keeps_methods, self.kinds.values()))

    def payload(self) -> _Payload:
        model, body = self.model, self.model.body
        taken = {*_KINDS, *_EQUATIONS, "body"}
        values = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in taken}
        values = {n: dict(v) if isinstance(v, Mapping) else v for n, v in values.items()}
        if not _importable(model.check):  # pickled parameters have already been checked
            values["check"] = None
        return _Payload(
            mark=uuid4().hex,
            values=values,
            records={name: to_picklable(kind) for name, kind in self.kinds.items()},
            functions={name: self._packed(model, name, _EQUATIONS[name]) for name in _EQUATIONS},
            body=None if body is None else self._packed_body(body),
        )

    def _packed_body(self, body: Body) -> dict[str, Any]:
        functions = {name: self._packed(body, name, _BODY[name]) for name in _BODY}
        return {"reference": body.reference, "gravity": body.gravity, **functions}

    def _packed(self, owner: Any, name: str, signature: tuple[str, ...]) -> Any:
        function = getattr(owner, name)
        if function is None or (self.by_place and _importable(function)):
            return function
        absent = _Absent(f"{name} of {self.model.name!r}", place_of(function))
        if not signature:
            return absent
        try:
            return _Traced(self._program(name, function, signature).document(), signature[-1])
        except TraceError:
            # Raise for an equation, without which the model cannot run; other functions may never
            # be used.
            if name in _EQUATIONS and name != "energy":
                raise
            return absent

    def _program(self, name: str, function: Callable[..., Any], signature: Any) -> Program:
        kinds = [_kind(kind, self.kinds) for kind in signature]

        def flat(*ports: Sequence[Any]) -> Any:
            pairs = zip(kinds, ports, strict=False)
            arguments = [p[0] if k is None else record.unflatten(k, p) for k, p in pairs]
            with as_written(next((leaf for port in ports for leaf in port), None)):
                result = function(*arguments)
            return (record.flatten(result) if isinstance(result, tuple) else (result,),)

        *inputs, output = (
            Port(f"{place}_{kind}", (kind,) if of is None else record.names(of))
            for place, (kind, of) in enumerate(zip(signature, kinds, strict=True))
        )
        return trace(f"{self.model.name}.{name}", flat, inputs, (output,), whole_kernels=True)

    def _held(self) -> type:
        model, results = self.model, list[Any]()
        assert model.hold is not None
        hold = model.hold
        four = [getattr(model, kind) for kind in _KINDS[:4]]

        def seen(*ports: Sequence[Any]) -> Any:
            records = [record.unflatten(k, p) for k, p in zip(four, ports, strict=True)]
            results.append(hold(*records))
            return ()

        trace(f"{model.name}.hold", seen, [Port(k.__name__, record.names(k)) for k in four], ())
        kind = type(results[0])
        if not record.is_record_type(kind):
            raise TypeError(
                f"{model.name!r} cannot be pickled: hold must give a record, not {kind}"
            )
        return kind


def unpacked(payload: _Payload) -> Model:
    """Rebuild the model of a payload; returns the same object each time."""
    model = _known.get(payload.mark)
    if model is None:
        kinds = {name: from_picklable(kind) for name, kind in payload.records.items()}
        model = Model(
            **payload.values,
            **{name: kinds[name] for name in _KINDS},
            **{name: _function(f, kinds) for name, f in payload.functions.items()},
            body=None if payload.body is None else _body(payload.body, kinds),
        )
        model.__dict__["_payload"] = payload
        _known[payload.mark] = model
    return model


def _body(parts: dict[str, Any], kinds: dict[str, type]) -> Body:
    return Body(**{name: _function(part, kinds) for name, part in parts.items()})


def _function(packed: Any, kinds: dict[str, type]) -> Any:
    if not isinstance(packed, _Traced):
        return packed
    program = Program.from_document(packed.document, "a pickled vehicle")
    return ProgramFunction(program, _kind(packed.result, kinds))


def _kind(name: str, kinds: Mapping[str, type]) -> type | None:
    return None if name == _NUMBER else kinds.get(name) or _BODY_RECORDS[name]


class _Importable(pickle.Pickler):
    """Pickler that refuses classes and functions of scripts, which other processes cannot
    import.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType)) and obj.__module__ in SCRIPTS:
            raise pickle.PicklingError(f"{obj!r} is in a script")
        return NotImplemented


class _Nowhere:
    """Writable file object that discards its content."""

    def write(self, data: Any) -> int:
        return len(data)


def _importable(thing: Any) -> bool:
    try:
        _Importable(_Nowhere()).dump(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
