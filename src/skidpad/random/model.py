"""What an uncertainty model is: a distribution over vectors, sampled step by step for many runs.

To write one, derive from `UncertaintyModel`:

1. Call `super().__init__(dim, nominal_value)`.
2. `sample(draw, memory, x)` returns one row per run, (runs, dim), and what to remember. All
   randomness comes from `draw`; rows depend on their own run only, so no sums over runs and no
   matrix products, whose rounding depends on the number of rows.
3. If samples depend on those before, `start(runs)` returns the memory at the first step. A model
   keeps nothing in itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from . import seeds
from .draw import Draw
from .vectors import Shape, read_only

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
        self._own = _Own(seeds.fresh() if seed is None else seeds.checked(seed))

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
