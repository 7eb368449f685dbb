"""Uncertainty models: random vectors that are sampled step by step for many runs.

To write one, derive from `UncertaintyModel`:

1. Call `super().__init__(dim, nominal_value)`.
2. `sample(draw, memory, x)` returns one row per run, (runs, dim), and the memory. All randomness
   comes from `draw`; rows depend on their own run only, so no sums over runs and no matrix
   products, whose rounding depends on the number of rows.
3. If samples depend on earlier ones, `start(runs)` returns the memory at the first step. A model
   has no state of its own.

`Shape` turns the vectors of users (arrays, lists, records, mappings of names, one number for all)
into arrays. `NoUncertainty` is the simplest model; `distributions` has the others.
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
from .streams import Draw

Names = tuple[str, ...]


def read_only(values: Any) -> Array:
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


class Shape(NamedTuple):
    """Number of values of a model, their names, if any, and their neutral values."""

    dim: int
    names: Names | None
    rest: Array
    """Neutral values: the defaults of the record, zero without one."""

    @classmethod
    def of(cls, dim: int | None, fields: Any = None, **arguments: Any) -> Shape:
        """Determine the common shape of `dim`, `fields` and the vector arguments.

        A vector of numbers has a length, a record has fields; single numbers and mappings have
        neither. If there are only single numbers, the model has one value.
        """
        if isinstance(fields, Shape):
            return fields
        kinds = [type(value) for value in arguments.values() if _is_record(value)]
        shapes = [_named(kind) for kind in ([] if fields is None else [fields]) + kinds]
        for names, _ in shapes[1:]:
            if names != shapes[0][0]:
                raise InvalidValue(
                    f"fields differ: {', '.join(shapes[0][0])} and {', '.join(names)}; "
                    "allowed is one set of fields"
                )
        size = None if dim is None else whole("dim", dim, "at least 0", least=0)
        if not shapes:
            size = _longest(arguments) if size is None else size
            return cls(size, None, np.zeros(size))
        names, rest = shapes[0]
        if size not in (None, len(names)):
            raise InvalidValue(
                f"dim = {size} but there are {len(names)} fields: {', '.join(names)}"
            )
        return cls(len(names), names, rest)

    def vector(self, name: str, argument: Any, unnamed: Any = 0.0) -> Array:
        """Convert one argument to values (dim,); raises for another length and for NaN.

        Names that a mapping leaves out get the value `unnamed`.
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
        """Like `vector`, but also raises for infinite values."""
        values = self.vector(name, argument, unnamed)
        self.require(name, values, np.isfinite(values), "finite")
        return values

    def require(self, name: str, values: Array, good: NDArray[np.bool_], allowed: str) -> None:
        """Raise InvalidValue for the first value that is not `good`; `allowed` describes what
        is."""
        if not good.all():
            k = int(np.flatnonzero(~good)[0])
            raise InvalidValue(f"{name}{self.place(k)} = {values[k]:g} must be {allowed}")

    def place(self, k: int) -> str:
        """Index and name of value k, for errors."""
        if self.names is not None:
            return f"[{k}] ({self.names[k]})"
        return f"[{k}]" if self.dim > 1 else ""

    def _by_name(self, name: str, argument: Mapping[str, Any], unnamed: Any) -> Array:
        if self.names is None:
            raise InvalidValue(
                f"{name} = {dict(argument)!r} uses names, but no fields are known: "
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
    """Convert a record, list, array or object with `convert_to_array` to an array of floats."""
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


def _is_record(value: Any) -> bool:
    return record.is_record_type(type(value))


def _named(fields: Any) -> tuple[Names, Array]:
    if record.is_record_type(fields):
        rest = [leaf.default or 0.0 for leaf in record.fields(fields)]
        return record.names(fields), np.array(rest)
    names = () if isinstance(fields, str) or not isinstance(fields, Sequence) else tuple(fields)
    if names and all(isinstance(n, str) for n in names) and len(set(names)) == len(names):
        return names, np.zeros(len(names))
    raise InvalidValue(f"fields = {fields!r} must be a record class or a list of different names")


def _longest(arguments: Mapping[str, Any]) -> int:
    """Length of the first argument that is a vector, else 1."""
    for name, value in arguments.items():
        if value is not None and not isinstance(value, Mapping):
            shape = numbers_of(name, value).shape
            if shape:
                return shape[0]
    return 1


Fields = type | Sequence[str]
"""Type of an argument that names values: a record class, or a list of names."""


class UncertaintyModel(ABC):
    """A random vector of `dim` numbers that may change from step to step."""

    _own: _Own | None = None

    def __init__(
        self, dim: int | None, nominal_value: Any = None, *, fields: Fields | Shape | None = None
    ) -> None:
        """`fields` names the values: a record class, whose defaults are the default of the nominal
        value, or a list of names; without a record the default is zero."""
        shape = Shape.of(dim, fields, nominal_value=nominal_value)
        self._shape = shape
        value = shape.rest if nominal_value is None else nominal_value
        self._nominal = read_only(shape.finite("nominal_value", value, shape.rest))

    @property
    def dim(self) -> int:
        """Number of values in a sample."""
        return self._shape.dim

    @property
    def nominal_value(self) -> Array:
        """Value for the nominal system, (dim,), read-only."""
        return self._nominal

    @property
    def fields(self) -> tuple[str, ...] | None:
        """Names of the values; None without names."""
        return self._shape.names

    @property
    def named_places(self) -> Mapping[int, str]:
        """Names of the values that have one, by index."""
        return dict(enumerate(self.fields or ()))

    def check_state(self, State: type) -> None:  # noqa: B027 - most models do not look at states
        """Raise if the model was made for states of another record than this one."""

    def start(self, runs: int) -> Any:
        """Memory at the first step of a number of runs; None if the model has none."""
        return None

    @abstractmethod
    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Return one row per run, (runs, dim), and the memory for the next step.

        `memory` comes from `start` or the previous call, None at the first step; `x` are the states
        of the runs, (runs, nx).
        """

    def reset(self, seed: int | None = None) -> None:
        """Restart the stream of `sample_uncertainty`; None for a fresh seed."""
        self._own = _Own(streams.fresh() if seed is None else streams.checked(seed))

    def sample_uncertainty(self, x: Any = None, dt: float = 0.1) -> Array:
        """Return the next value (dim,) of the model's own stream, which `reset` seeds.

        For trials and for code without draws; simulations have their own streams. `x` is the state
        of the one run, `dt` the time until the next sample in s.
        """
        if self._own is None:
            self.reset()
        own = cast(_Own, self._own)
        state = None if x is None else np.asarray(x, float)[None, :]
        draw = Draw.of_seed(own.seed, "sample_uncertainty", own.step, dt, own.time)
        memory = self.start(1) if own.step == 0 else own.memory
        rows, own.memory = draw_sample(self, draw, memory, state)
        own.step, own.time = own.step + 1, own.time + dt
        return rows[0]

    def __repr__(self) -> str:
        named = f", fields={', '.join(self.fields)}" if self.fields else ""
        return f"{type(self).__name__}(dim={self.dim}{named})"


class _Own:
    def __init__(self, seed: int) -> None:
        self.seed, self.step, self.time = seed, 0, 0.0
        self.memory: Any = None


def checked_model(name: str, model: Any, names: Sequence[str], what: str) -> UncertaintyModel:
    """Return the model; raises InvalidValue unless it has a value for each of these names.

    Named values must have these names in this order, so that no value is assigned to a field of
    another name. `name` and `what` are the argument and its description, for errors.
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


def draw_sample(
    model: UncertaintyModel, draw: Draw, memory: Any = None, x: Array | None = None
) -> tuple[Array, Any]:
    """Sample a model; raises unless it returns a finite row (dim,) for each run."""
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
    """Value of an argument that has two names; raises InvalidValue unless exactly one is used."""
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
    """Model of values without uncertainty: the nominal value at every step.

    The nominal value is by default that of the record, or zero.
    """

    def __init__(
        self,
        dim: int | None = None,
        nominal_value: Any = None,
        *,
        fields: Fields | None = None,
        mean: Any = None,
        std_deviation: Any = None,
    ) -> None:
        """`mean` and `std_deviation` are ignored, so that this and a `Gaussian` take the same
        keywords."""
        super().__init__(dim, nominal_value, fields=fields)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """The nominal value in every row, (runs, size)."""
        return np.tile(self.nominal_value, (draw.count, 1)), None
