"""Models and record classes in other processes and in files.

A function at the top of a module is found there again by its name. Any other (a lambda, a function
within a function, all of a notebook) is traced here and evaluated there: the same Programs and so
the same bits. Anything that can travel neither way, such as the shape of a body that only a closure
knows, raises when it is used there.

A record class at the top of its module travels as its name, one made by a function as its recipe,
and so do the classes of the records in it. Any other is described by rows of numbers and text, from
which an equal class is made, without methods. Its name travels along, so that a process that has
the class uses its own.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import import_module
from types import FunctionType
from typing import Annotated, Any, NamedTuple, get_type_hints
from uuid import uuid4
from weakref import WeakValueDictionary

from ..core import record
from ..core.arrays import ArrayNumber
from ..core.body import Acceleration, Body, Demand, Pose, Velocity
from ..core.model import Model
from ..core.record import Recipe, recipe_of
from ..errors import InvalidValue, TraceError
from ..integrate.base import as_written
from ..ops import METHODS
from ..units import Allowed, Unit
from .evaluate import evaluate
from .program import Port, Program
from .trace import trace

Place = tuple[str, str]
"""Module and qualified name of something at the top of a module."""
SCRIPTS = ("__main__", "__mp_main__")
"""Modules whose contents another process may have or not."""
_MARK = "_skidpad_mark"


def place_of(thing: Any) -> Place:
    """Where a class or a function says that it is."""
    return getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "")


def at(place: Place) -> Any:
    """What is at a place in this process; None if there is nothing."""
    module, path = place
    try:
        there: Any = import_module(module)
        for name in path.split("."):
            there = getattr(there, name)
    except (AttributeError, ImportError, ValueError):
        return None
    return there


def importable(kind: type) -> bool:
    """Whether any process finds a class at its place."""
    place = place_of(kind)
    return place[0] not in SCRIPTS and at(place) is kind


class MadeRecord(NamedTuple):
    """A record class that a function made, on its way to another process."""

    recipe: Recipe
    """With arguments that travel."""

    def here(self) -> type:
        """The class."""
        return self.recipe.make(*arrived(self.recipe.arguments))


class KnownRecord(NamedTuple):
    """A record class that is described, on its way to another process."""

    mark: str
    """Tells classes apart: one that comes back to where it is, or a second time, is the same."""
    place: Place
    rows: list[list[Any]]
    kinds: dict[str, Any]
    """By field the class of the record there, as it travels; None for a number."""

    def here(self) -> type:
        """The class itself or, in another process, the one at its place if that is the same, else
        one like it."""
        kind = _described_known.get(self.mark)
        if kind is None:
            kinds = {name: arrived(part) for name, part in self.kinds.items()}
            like = _with_kinds(self.place[1].rpartition(".")[2], self.rows, kinds)
            kind = at(self.place)
            if not (record.is_record_type(kind) and _alike(kind, like)):
                kind = like
                kind.__module__, kind.__qualname__ = self.place
            _remember(kind, self.mark)
        return kind


def _alike(kind: Any, other: Any) -> bool:
    return (
        kind._fields == other._fields
        and described(kind) == described(other)
        and record.interpolations(kind) == record.interpolations(other)
    )


def travelling(thing: Any) -> Any:
    """A record class, or a tuple with such, as another process takes it; all else as it is."""
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        if isinstance(recipe, Recipe):
            return MadeRecord(Recipe(recipe.make, travelling(recipe.arguments)))
        return thing if importable(thing) else known_record(thing)
    if isinstance(thing, tuple):
        return _like(thing, map(travelling, thing))
    return thing


def comes_whole(thing: Any) -> bool:
    """Whether a record class, or a tuple with such, has its methods in any other process."""
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        return comes_whole(recipe.arguments) if isinstance(recipe, Recipe) else importable(thing)
    return not isinstance(thing, tuple) or all(map(comes_whole, thing))


def arrived(thing: Any) -> Any:
    """What `travelling` was given, in the process that it has come to."""
    if isinstance(thing, (MadeRecord, KnownRecord)):
        return thing.here()
    return _like(thing, map(arrived, thing)) if isinstance(thing, tuple) else thing


def _like(thing: Any, parts: Any) -> Any:
    return thing._make(parts) if record.is_record_type(type(thing)) else tuple(parts)


def recipe_of_model(model: Any) -> tuple[Any, ...] | None:
    """For `pickle`: the function that built a model and its arguments; None without such a function
    or if another process could not have all of them."""
    build, arguments = vars(model).get("_recipe", (None, ()))
    if build is None or not comes_whole(arguments):
        return None
    return built_again, (build, travelling(arguments))


def built_again(build: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The model that a function builds of arguments that have travelled."""
    return build(*arrived(arguments))


def unpickled(kind: Any, leaves: tuple[Any, ...]) -> Any:
    """A record of a class that has travelled."""
    return record.unflatten(arrived(kind), leaves)


_described_known: WeakValueDictionary[str, type] = WeakValueDictionary()
"""The record classes of this process that have travelled, by their marks."""


def _remember(kind: Any, mark: str) -> None:
    _described_known[mark] = kind
    if _MARK not in vars(kind):
        setattr(kind, _MARK, mark)
    if not importable(kind):
        kind.__reduce__ = reduced


def known_record(kind: type) -> KnownRecord:
    """A record class as another process will know it. Its records can be pickled from now on."""
    mark = vars(kind).get(_MARK) or uuid4().hex
    _remember(kind, mark)
    kinds = {name: travelling(part) for name, part in _kinds(kind).items()}
    return KnownRecord(mark, place_of(kind), described(kind), kinds)


def _kinds(kind: Any) -> dict[str, Any]:
    """By field the class of the record there; None for a number."""
    hints = get_type_hints(kind, include_extras=True)
    return {n: hints[n] if record.is_record_type(hints[n]) else None for n in kind._fields}


def reduced(instance: Any) -> tuple[Any, ...]:
    """What `pickle` makes a record of again; with its class, where no process could import that."""
    kind = type(instance)
    if importable(kind):
        return kind, tuple(instance)
    return unpickled, (travelling(kind), record.flatten(instance))


def described(kind: type) -> list[list[Any]]:
    """One row per leaf: name, unit, exponents, default, allowed range, doc."""
    rows: list[list[Any]] = []
    for leaf in record.fields(kind):
        allowed = leaf.allowed
        bounds = None if allowed is None else list(astuple(allowed))
        if bounds:
            bounds = [b if isinstance(b, bool) or math.isfinite(b) else str(b) for b in bounds]
        unit = leaf.unit
        # The number of an array means nothing in another process.
        default = None if isinstance(leaf.default, ArrayNumber) else leaf.default
        rows.append([leaf.name, unit.symbol, [*unit.dimension], default, bounds, leaf.doc])
    return rows


def record_type(
    name: str, rows: list[list[Any]], interpolations: Mapping[str, str] | None = None
) -> type:
    """A record class from its described leaves; dotted names become nested records.

    `interpolations` says by dotted name which records are grids that are not linear.
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
    """A record class from its described leaves and the classes of the records among its fields."""
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
        _check_row(row)
        groups.setdefault(row[0].partition(".")[0], []).append(row)
    return groups


def _check_row(row: Any) -> None:
    """Raise unless a row is one that `described` could have written; it may come from a file."""
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
            raise InvalidValue(f"{name}: {bounds!r:.200} is no range")


def _annotated(symbol: str, dimension: list[float], bounds: list[Any] | None) -> Any:
    unit = Unit(symbol, *dimension)
    if bounds is None:
        return Annotated[float, unit]
    low, high, *marks = bounds
    return Annotated[float, unit, Allowed(float(low), float(high), *map(bool, marks))]


_KINDS = ("State", "Input", "Disturbance", "Params", "Outputs")
_HELD, _NUMBER = "Held", "number"
"""The record that `hold` gives; no record, but a number."""
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
"""Functions of a model: what they take and, last, what they give."""
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
"""Those of a body; the last four give what is no record, so that there is no Program of them."""


@dataclass(frozen=True, repr=False)
class ProgramFunction:
    """A pure function of records, known by its Program. It takes floats, arrays and symbols."""

    program: Program
    Result: type | None
    """The record that it gives; None for a number."""

    def __repr__(self) -> str:
        return f"<{self.program.name} by its Program>"

    def __call__(self, *arguments: Any) -> Any:
        """The function on records and numbers."""
        flat = [record.flatten(a) if isinstance(a, tuple) else (a,) for a in arguments]
        (values,) = evaluate(self.program, flat)
        return values[0] if self.Result is None else record.unflatten(self.Result, values)


class _Traced(NamedTuple):
    """A function on its way: the document of its Program and the name of what it gives."""

    document: dict[str, Any]
    result: str


@dataclass(frozen=True)
class _Absent:
    """A function that could not come along; `place` is where this process may have it."""

    name: str
    place: tuple[str, str]

    def __call__(self, *arguments: Any) -> Any:
        """Call what this process has at the place; raises where it has nothing there."""
        function = at(self.place)
        if function is None:
            raise InvalidValue(
                f"{self.name} did not come along from the process that pickled the vehicle: "
                f"{'.'.join(self.place)} is not at the top of a module that this process has. "
                "Define it there, or register the vehicle where it is used "
                "(skidpad.vehicles.register)"
            )
        return function(*arguments)


class _Payload(NamedTuple):
    """A model on its way."""

    mark: str
    """Tells models apart: one that comes back to where it is, or a second time, is the same."""
    values: dict[str, Any]
    records: dict[str, Any]
    """Their classes, as they travel."""
    functions: dict[str, Any]
    body: dict[str, Any] | None


_known: WeakValueDictionary[str, Model] = WeakValueDictionary()
"""The models of this process that have travelled, by their marks."""


def portable(model: Model) -> tuple[Callable[..., Model], tuple[_Payload]]:
    """What `pickle` makes the model of again."""
    kept = model.__dict__
    if "_payload" not in kept:
        kept["_payload"] = _Packing(model).payload()
    _known[kept["_payload"].mark] = model
    return unpacked, (kept["_payload"],)


class _Packing:
    """Takes a model apart."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.kinds: dict[str, type] = {kind: getattr(model, kind) for kind in _KINDS}
        self.kinds[_HELD] = model.Input if model.hold is None else self._held()
        # A function at the top of a module may use methods of its records, which a class that is
        # described would not have.
        self.by_place = all(map(comes_whole, self.kinds.values()))

    def payload(self) -> _Payload:
        model, body = self.model, self.model.body
        taken = {*_KINDS, *_EQUATIONS, "body"}
        values = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in taken}
        values = {n: dict(v) if isinstance(v, Mapping) else v for n, v in values.items()}
        if not _importable(model.check):  # parameters that travel have been checked
            values["check"] = None
        return _Payload(
            mark=uuid4().hex,
            values=values,
            records={name: travelling(kind) for name, kind in self.kinds.items()},
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
            # Such an equation cannot be run at all; the other functions may never be used.
            if name in _EQUATIONS and name != "energy":
                raise
            return absent

    def _program(self, name: str, function: Callable[..., Any], signature: Any) -> Program:
        kinds = [self._kind(kind) for kind in signature]

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

    def _kind(self, name: str) -> type | None:
        return _kind(name, self.kinds)

    def _held(self) -> type:
        """The class of what `hold` gives."""
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
    """The model of a payload; the same object whenever it is the same model."""
    model = _known.get(payload.mark)
    if model is None:
        kinds = {name: arrived(kind) for name, kind in payload.records.items()}
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
    """A record class by its name; None for a number."""
    return None if name == _NUMBER else kinds.get(name) or _BODY_RECORDS[name]


class _Importable(pickle.Pickler):
    """Pickles only what any process can import."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType)) and obj.__module__ in SCRIPTS:
            raise pickle.PicklingError(f"{obj!r} is in a script")
        return NotImplemented


class _Nowhere:
    """A file that forgets."""

    def write(self, data: Any) -> int:
        return len(data)


def _importable(thing: Any) -> bool:
    try:
        _Importable(_Nowhere()).dump(thing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
