"""A model in another process: by the places of its functions where that will do, else by Programs.

A function at the top of a module is found there again. One that is not (a lambda, a function within
a function, all of a notebook) is traced here and evaluated there: the same Programs and so
the same bits. Record classes go these two ways. What can go neither way, such as the shape of a
body that only a closure knows, says so where it is asked for.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

from .. import record
from ..body import Acceleration, Body, Pose, Velocity, Wish
from ..errors import InvalidValue, TraceError
from ..integrate.as_written import as_written
from ..model import Model
from .described import SCRIPTS, arrived, at, comes_whole, place_of, travelling
from .evaluate import evaluate
from .program import Port, Program
from .trace import trace

_KINDS = ("State", "Input", "Disturbance", "Params", "Outputs")
_HELD, _NUMBER = "Held", "number"
"""The record that `hold` gives; no record, but a number."""
_BODY_RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (Acceleration, Pose, Velocity, Wish)
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
    "command": ("State", "Wish", "Params", "Input"),
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
            # Nobody can run such an equation; what else there is may never be asked for.
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
