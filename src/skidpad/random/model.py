"""What an uncertainty model is: a distribution over vectors, sampled step by step for many runs.

To write one, derive from `UncertaintyModel`:

1. Call `super().__init__(dim, nominal_value)`.
2. `sample(draw, memory, x)` returns one row per run, (runs, dim), and what to remember. All
   randomness comes from `draw`; rows depend on their own run only, so no sums over runs and no
   matrix products, whose rounding depends on the number of rows.
3. If samples depend on those before, `start(runs)` returns the memory at the first step. A model
   keeps nothing in itself.

Vectors as users give them: arrays, lists, records, mappings of names, or one number for all.

Lower and upper bounds of the values of a model.

No uncertainty: always the nominal value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import Array
from ..core.checks import whole
from ..core.files import shown
from ..errors import InvalidValue
from . import streams
from .draw import Draw

Names = tuple[str, ...]


def read_only(values: Any) -> Array:
    """A copy that nobody can write to."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


class Shape(NamedTuple):
    """How many values a model has, their names if they have any, and what they are at rest."""

    dim: int
    names: Names | None
    rest: Array
    """Values that change nothing: the defaults of the record, zero without one."""

    @classmethod
    def of(cls, dim: int | None, fields: Any = None, **arguments: Any) -> Shape:
        """The shape that `dim`, `fields` and the vectors given agree on.

        A vector of numbers gives its length, a record its fields; single numbers and mappings give
        nothing. With nothing at all, single numbers make a model of one value.
        """
        if isinstance(fields, Shape):
            return fields
        kinds = [type(value) for value in arguments.values() if _is_record(value)]
        named = _agreed([*([] if fields is None else [fields]), *kinds])
        size = None if dim is None else whole("dim", dim, "at least 0", least=0)
        if named is None:
            size = _longest(arguments) if size is None else size
            return cls(size, None, np.zeros(size))
        names, rest = named
        if size not in (None, len(names)):
            raise InvalidValue(
                f"dim = {size} but there are {len(names)} fields: {', '.join(names)}"
            )
        return cls(len(names), names, rest)

    def vector(self, name: str, argument: Any, unnamed: Any = 0.0) -> Array:
        """The values of one argument, (dim,); raises for another length, or what is no number.

        A mapping may leave out names, which get the value `unnamed`.
        """
        if isinstance(argument, Mapping):
            values = self._by_name(name, argument, unnamed)
        else:
            values = numbers_of(name, argument)
        if values.ndim == 0:
            values = np.full(self.dim, float(values))
        if values.shape != (self.dim,):
            raise InvalidValue(
                f"{name} has shape {values.shape}; allowed are {self.dim} numbers"
                + (f": {', '.join(self.names)}" if self.names else "")
            )
        self.require(name, values, ~np.isnan(values), "a number, not NaN")
        return values

    def finite(self, name: str, argument: Any, unnamed: Any = 0.0) -> Array:
        """As `vector`; raises for infinite values too."""
        values = self.vector(name, argument, unnamed)
        self.require(name, values, np.isfinite(values), "finite")
        return values

    def require(self, name: str, values: Array, good: NDArray[np.bool_], allowed: str) -> None:
        """Raise for the first value that is not good, naming it."""
        if not good.all():
            k = int(np.flatnonzero(~good)[0])
            raise InvalidValue(f"{name}{self.place(k)} = {values[k]:g} must be {allowed}")

    def place(self, k: int) -> str:
        """How value k of an argument is called in an error."""
        if self.names is not None:
            return f"[{k}] ({self.names[k]})"
        return f"[{k}]" if self.dim > 1 else ""

    def _by_name(self, name: str, argument: Mapping[str, Any], unnamed: Any) -> Array:
        if self.names is None:
            raise InvalidValue(
                f"{name} = {dict(argument)!r} goes by names, which are not known: "
                "give fields=, a record class or a list of names"
            )
        values = np.array(np.broadcast_to(unnamed, (self.dim,)), dtype=float)
        for field, value in argument.items():
            if field not in self.names:
                raise InvalidValue(record.unknown_name(name, field, self.names))
            number = numbers_of(f"{name}[{field!r}]", value)
            if number.ndim:
                raise InvalidValue(f"{name}[{field!r}] = {value!r} must be one number")
            values[self.names.index(field)] = number
        return values


def numbers_of(name: str, argument: Any) -> Array:
    """A record, a list, an array or whatever has `convert_to_array`, as an array of floats."""
    if _is_record(argument):
        argument = record.flatten(argument)
    elif hasattr(argument, "convert_to_array"):
        argument = argument.convert_to_array()
    try:
        raw = np.asarray(argument)
        if raw.dtype.kind not in "fiu" and raw.size:
            raise TypeError("not real numbers")
        return raw.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(argument)} must be numbers") from None


def rest_of(kind: type) -> Array:
    """The defaults of a record's fields, zero where a field has none."""
    return np.array([leaf.default or 0.0 for leaf in record.fields(kind)])


def _is_record(value: Any) -> bool:
    return record.is_record_type(type(value))


def _agreed(kinds: Sequence[Any]) -> tuple[Names, Array] | None:
    """Names and values at rest that all of `given`, records and lists of names, have."""
    shapes = [_named(fields) for fields in kinds]
    for names, _ in shapes[1:]:
        if names != shapes[0][0]:
            raise InvalidValue(
                f"fields differ: {', '.join(shapes[0][0])} and {', '.join(names)}; "
                "allowed is one set of fields"
            )
    return shapes[0] if shapes else None


def _named(fields: Any) -> tuple[Names, Array]:
    if record.is_record_type(fields):
        return record.names(fields), rest_of(fields)
    names = () if isinstance(fields, str) or not isinstance(fields, Sequence) else tuple(fields)
    if names and all(isinstance(n, str) for n in names) and len(set(names)) == len(names):
        return names, np.zeros(len(names))
    raise InvalidValue(f"fields = {fields!r} must be a record class or a list of different names")


def _longest(arguments: Mapping[str, Any]) -> int:
    """The length of the first vector; the others are held against it one by one."""
    for name, value in arguments.items():
        if value is not None and not isinstance(value, Mapping):
            shape = numbers_of(name, value).shape
            if shape:
                return shape[0]
    return 1


Fields = type | Sequence[str]
"""A record class, or names."""


class UncertaintyModel(ABC):
    """A random vector of `dim` numbers that may change from step to step."""

    _own: _Own | None = None

    def __init__(
        self, dim: int | None, nominal_value: Any = None, *, fields: Fields | Shape | None = None
    ) -> None:
        """`fields` names the values: a record class, whose defaults are what the nominal value is
        if not given, or a list of names; without a record it is zero."""
        shape = Shape.of(dim, fields, nominal_value=nominal_value)
        self._shape = shape
        value = shape.rest if nominal_value is None else nominal_value
        self._nominal = read_only(shape.finite("nominal_value", value, shape.rest))

    @property
    def dim(self) -> int:
        """Number of values."""
        return self._shape.dim

    @property
    def nominal_value(self) -> Array:
        """What the nominal system sees, (dim,), read-only."""
        return self._nominal

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Names of the values, if they have any."""
        return self._shape.names

    @property
    def named_places(self) -> Mapping[int, str]:
        """Names of those values that have one, by their places in the vector."""
        return dict(enumerate(self.fields or ()))

    def check_state(self, State: type) -> None:  # noqa: B027 - most models do not look at states
        """Raise if the states that `sample` will be shown, rows of this record, are not those that
        the model was made for."""

    def start(self, runs: int) -> Any:
        """Memory at the first step of so many runs; None if the model has none."""
        return None

    @abstractmethod
    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """One row per run, (runs, dim), and the memory for the next step.

        `memory` is what `start` or the call before returned, None at the first step; `x` are the
        states of the runs, (runs, nx).
        """

    def reset(self, seed: int | None = None) -> None:
        """Begin the own stream of `sample_uncertainty` again; None for a fresh seed."""
        self._own = _Own(streams.fresh() if seed is None else streams.checked(seed))

    def sample_uncertainty(self, x: Any = None, dt: float = 0.1) -> Array:
        """The next value (dim,) of the model's own stream, which `reset` seeds.

        For trying a model out and for code that knows no draws: simulations have streams of their
        own. `x` is the state of the one run, `dt` the time until the next sample in s.
        """
        if self._own is None:
            self.reset()
        own = cast(_Own, self._own)
        state = None if x is None else np.asarray(x, float)[None, :]
        draw = Draw.of_seed(own.seed, "sample_uncertainty", own.step, dt, own.time)
        memory = self.start(1) if own.step == 0 else own.memory
        rows, own.memory = sampled(self, draw, memory, state)
        own.step, own.time = own.step + 1, own.time + dt
        return rows[0]

    def __repr__(self) -> str:
        named = f", fields={', '.join(self.fields)}" if self.fields else ""
        return f"{type(self).__name__}(dim={self.dim}{named})"


class _Own:
    """Where the own stream of a model stands."""

    def __init__(self, seed: int) -> None:
        self.seed, self.step, self.time = seed, 0, 0.0
        self.memory: Any = None


def checked_model(name: str, model: Any, names: Sequence[str], what: str) -> UncertaintyModel:
    """The uncertainty model, if it has a value for each of these names.

    Values that have names have to have these, in this order: nothing goes by its place alone to a
    field of another name. `name` and `what` are the argument and what it is about, for the error.
    """
    if not isinstance(model, UncertaintyModel):
        raise InvalidValue(f"{name} must be an UncertaintyModel, got a {type(model).__qualname__}")
    if model.dim != len(names):
        raise InvalidValue(
            f"{name} has {model.dim} numbers, but {what} has {len(names)}: {', '.join(names)}"
        )
    for place, field in model.named_places.items():
        if field != names[place]:
            listed = (model.named_places.get(k, "a value without a name") for k in range(model.dim))
            raise InvalidValue(
                f"{name} is a model of {', '.join(listed)}, but {what} has {', '.join(names)}"
            )
    return model


def sampled(
    model: UncertaintyModel, draw: Draw, memory: Any = None, x: Array | None = None
) -> tuple[Array, Any]:
    """`model.sample`, checked: the rows (runs, size) must be finite and as many as drawn."""
    rows, memory = model.sample(draw, memory, x)
    expected = (draw.count, model.dim)
    if np.shape(rows) != expected:
        raise InvalidValue(
            f"{type(model).__name__}.sample returned shape {np.shape(rows)}; "
            f"expected (runs, dim) = {expected}"
        )
    values = np.asarray(rows, dtype=float)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidValue(
            f"{type(model).__name__}.sample returned {values[row, column]} for value {column} of "
            f"run {draw.runs[row]} at step {draw.step}; allowed are finite numbers"
        )
    return values, memory


def one_name(names: tuple[str, str], first: Any, second: Any) -> Any:
    """An argument that goes by two names; raises unless it is given under one of them."""
    if (first is None) == (second is None):
        amount = "both" if first is not None else "neither"
        raise InvalidValue(f"{names[0]} (also called {names[1]}) must be given once, got {amount}")
    return second if first is None else first


def check_order(shape: Shape, lower: Array, upper: Array) -> None:
    """Raise if a lower bound is above its upper one; equal bounds are allowed."""
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        k = int(crossed[0])
        raise InvalidValue(
            f"lower{shape.place(k)} = {lower[k]:g} must be at most upper{shape.place(k)} = "
            f"{upper[k]:g}"
        )


def check_within(shape: Shape, name: str, values: Array, lower: Array, upper: Array) -> None:
    """Raise unless each value lies between its bounds."""
    outside = np.flatnonzero(~((lower <= values) & (values <= upper)))
    if outside.size:
        k = int(outside[0])
        raise InvalidValue(
            f"{name}{shape.place(k)} = {values[k]:g} must be from {lower[k]:g} to {upper[k]:g}, "
            "the bounds"
        )


class NoUncertainty(UncertaintyModel):
    """The nominal value at every step; if none is given, the defaults of the record or zero."""

    def __init__(
        self,
        dim: int | None = None,
        nominal_value: Any = None,
        *,
        fields: Fields | None = None,
        mean: Any = None,
        std_deviation: Any = None,
    ) -> None:
        """`mean` and `std_deviation` are taken and not used, so that code may make this and a
        Gaussian with the same keywords."""
        super().__init__(dim, nominal_value, fields=fields)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """The nominal value in every row, (runs, size)."""
        return np.tile(self.nominal_value, (draw.count, 1)), None
