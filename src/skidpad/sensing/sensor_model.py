"""A sensor that looks at a vehicle's state and input: y = h(x, u, w) + n, with any noise.

To write one, derive from `SensorModel`, or give the function to `OutputFunction`:

1. Call `super().__init__(Output, noise, State=..., Input=...)`; `Output` is the record it gives.
2. `output(x, u, w)` returns an `Output` record without noise, from records of numbers, arrays or
   symbols. It is written in `skidpad.ops`, remembers nothing and draws nothing.

`measure` and `measured` look at one instant; `runner`, `along` and `along_fleet` are those of every
sensor, with `rate`, `delay` and `dropout`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Model, Vehicle, VehicleFactory
from ..random.draw import Draw
from ..random.model import UncertaintyModel, checked_model, sampled
from ..random.none import NoUncertainty
from ..trajectory.trajectory import Trajectory
from ..units import s
from .error_source import NoiseErrors
from .instrument import Instrument


class SensorModel(Instrument):
    """Measures a vehicle; without a noise model, without noise."""

    def __init__(
        self,
        Output: type,
        noise: UncertaintyModel | None = None,
        *,
        State: type,
        Input: type,
        name: str = "sensor",
        rate: float | None = None,
        delay: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        self.Output = Output
        """The record that is measured."""
        self.State, self.Input = State, Input
        self.name, self.rate, self.delay, self.dropout = name, rate, delay, dropout
        self.check_sampling()
        names = record.names(Output)
        self._noise = NoUncertainty(fields=names) if noise is None else noise
        _check_noise(self._noise, names)
        self._noise.check_state(State)

    @property
    def nameless(self) -> bool:
        """Whether states and inputs go by their places: it is for any vehicle with so many."""
        return False

    @property
    def noise_model(self) -> UncertaintyModel:
        """The noise, of one value per output."""
        return self._noise

    @property
    def output_dimension(self) -> int:
        """Number of values measured."""
        return record.size(self.Output)

    @property
    def state_dimension(self) -> int:
        """Number of values of the state."""
        return record.size(self.State)

    @property
    def input_dimension(self) -> int:
        """Number of values of the input."""
        return record.size(self.Input)

    @abstractmethod
    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """The output without noise, from records; `w` is the disturbance, at rest if None."""

    def nominal_output(self, x: Any, u: Any = None, w: Any = None) -> Any:
        """The output without noise, from whatever stands for a state and an input.

        `x` and `u` are records, mappings of names or vectors; for many runs records of arrays, or
        arrays with a row per run. `u` has the defaults of its record if not given.
        """
        return self.output(as_record("x", self.State, x), as_record("u", self.Input, u), w)

    def measured(
        self,
        x: Any,
        u: Any,
        draw: Draw | None,
        memory: Any = None,
        random: bool = True,
        w: Any = None,
    ) -> tuple[Any, Any]:
        """What is measured, an Output record, and what the noise remembers.

        With `random` false, the nominal value of the noise is what is added. `memory` is what the
        call before returned, None at first.
        """
        state = as_record("x", self.State, x)
        clean = record.flatten(self.output(state, as_record("u", self.Input, u), w))
        if not random:
            return self._added(clean, self._noise.nominal_value[None, :]), memory
        if draw is None:
            raise InvalidValue("draw = None: random noise needs a Draw")
        noise, memory = sampled(self._noise, draw, memory, _rows(state, draw))
        return self._added(clean, noise), memory

    def measure(
        self,
        x: Any,
        u: Any = None,
        draw: Draw | None = None,
        random: bool = True,
        *,
        w: Any = None,
        rand_noise: bool | None = None,
    ) -> Any:
        """One measurement, an Output record; noise that remembers is as at its first step.

        Without a draw, one vehicle is measured with the own stream of the noise model (see
        `UncertaintyModel.sample_uncertainty`). `rand_noise` is another name of `random`.
        """
        noisy = random if rand_noise is None else rand_noise
        if draw is not None or not noisy:
            return self._returned(self.measured(x, u, draw, None, noisy, w)[0])
        state = as_record("x", self.State, x)
        clean = record.flatten(self.output(state, as_record("u", self.Input, u), w))
        row = self._noise.sample_uncertainty(record.flatten(state))
        return self._returned(self._added(clean, row[None, :]))

    def _returned(self, y: Any) -> Any:
        """What `measure` returns for an Output record."""
        return y

    def _added(self, clean: tuple[Any, ...], noise: Array) -> Any:
        if len(noise) == 1 and all(np.ndim(leaf) == 0 for leaf in clean):
            pairs = zip(clean, noise[0].tolist(), strict=True)
            return record.unflatten(self.Output, [value + error for value, error in pairs])
        leaves = [value + noise[:, k] for k, value in enumerate(clean)]
        return record.unflatten(self.Output, leaves)

    @property
    def Truth(self) -> type:
        """State and input, side by side: what `seen` makes of a pair of records."""
        return self._records[0]

    @property
    def Reading(self) -> type:
        """The output, its dots as underscores, and the stamp."""
        return self._records[1]

    @cached_property
    def _records(self) -> tuple[type, type]:
        seen = {
            f"{letter}_{leaf.name.replace('.', '_')}": Annotated[float, leaf.unit]
            for letter, kind in (("x", self.State), ("u", self.Input))
            for leaf in record.fields(kind)
        }
        shown = {
            leaf.name.replace(".", "_"): Annotated[float, leaf.unit]
            for leaf in record.fields(self.Output)
        }
        Reading = record.define(f"{self.Output.__name__}Reading", {**shown, "stamp": s})
        return record.define("Instant", seen), Reading

    def seen(self, truth: Any) -> Any:
        """State and input from a pair of them, or a state alone; numbers or arrays as leaves."""
        if isinstance(truth, self.Truth):
            return truth
        pair = isinstance(truth, tuple) and not isinstance(truth, self.State) and len(truth) == 2
        x, u = truth if pair else (truth, None)
        state, command = as_record("x", self.State, x), as_record("u", self.Input, u)
        return record.unflatten(self.Truth, [*record.flatten(state), *record.flatten(command)])

    def seen_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """States, each with the input that led to it."""
        led_there = np.vstack([trajectory.inputs[:1], trajectory.inputs[:-1]])
        leaves = [*trajectory.states.T, *led_there.T]
        if len(leaves) != record.size(self.Truth):
            raise InvalidValue(
                f"the trajectory has {trajectory.states.shape[1]} states and {led_there.shape[1]} "
                f"inputs; allowed are {self.state_dimension} and {self.input_dimension}"
            )
        names = tuple(column.name for column in trajectory.columns if column.role == "state")
        if not (self.nameless or names == record.names(self.State)):
            raise InvalidValue(
                f"the trajectory has the states {', '.join(names)}; allowed are "
                f"{', '.join(record.names(self.State))}"
            )
        return record.unflatten(self.Truth, leaves)

    def compared(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """The output without noise."""
        leaves = record.flatten(truth)
        x = record.unflatten(self.State, leaves[: self.state_dimension])
        return record.flatten(
            self.output(x, record.unflatten(self.Input, leaves[self.state_dimension :]))
        )

    def errors(self, seed: int, vehicles: Any) -> NoiseErrors:
        """The noise on some vehicles."""

        def states(truth: Any) -> Array:
            leaves = record.flatten(truth)[: self.state_dimension]
            return np.stack([np.atleast_1d(leaf) for leaf in leaves], axis=1)

        return NoiseErrors(self.name, self._noise, states, self.dropout, seed, vehicles)

    def __repr__(self) -> str:
        outputs = ", ".join(record.names(self.Output))
        return f"{type(self).__name__}({outputs}; noise={self._noise!r})"


def as_record(name: str, kind: type, values: Any) -> Any:
    """The record that stands for a state or an input; the error begins with the argument's name."""
    if isinstance(values, kind):
        return values
    if hasattr(values, "convert_to_array"):
        values = values.convert_to_array()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.shape[1] != record.size(kind):
            raise InvalidValue(
                f"{name} has shape {values.shape}; allowed is (runs, {record.size(kind)}): "
                f"{', '.join(record.names(kind))}"
            )
        return record.unflatten(kind, list(values.T))
    try:
        return record.build(kind, values)
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None


def vehicle_of(vehicle: Any) -> Vehicle:
    """The vehicle, also from its factory."""
    if isinstance(vehicle, Vehicle):
        return vehicle
    if isinstance(vehicle, VehicleFactory):
        return vehicle()
    if isinstance(vehicle, Model):
        return VehicleFactory(vehicle)()
    raise InvalidValue(f"vehicle must be a Vehicle, got {vehicle!r}")


def _check_noise(noise: Any, names: tuple[str, ...]) -> None:
    if not isinstance(noise, UncertaintyModel):
        raise InvalidValue(f"noise = {noise!r} must be an UncertaintyModel")
    if noise.dim != len(names):
        raise InvalidValue(
            f"noise has dim = {noise.dim}; allowed is {len(names)}, one value for each of "
            f"{', '.join(names)}"
        )
    checked_model("noise", noise, names, "what it is added to")


def _rows(state: Any, draw: Draw) -> Array:
    """The state as the noise model sees it, (runs, nx)."""
    leaves = record.flatten(state)
    columns = np.array(np.broadcast_arrays(*leaves), dtype=float) if leaves else np.empty((0, 1))
    rows = np.atleast_2d(columns.T)
    if len(rows) != draw.count:
        raise InvalidValue(f"x has {len(rows)} runs but the draw has {draw.count}")
    return rows
