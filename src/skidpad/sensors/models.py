"""Sensors of a vehicle's state and input, y = h(x, u, w) + n, and sensors of selected fields.

`SensorModel` is the base; the noise n may be any distribution of `skidpad.random`. To write a
sensor, derive from it, or pass the function to `OutputFunction`:

1. Call `super().__init__(Output, noise, State=..., Input=...)`; `Output` is the measured record.
2. `output(x, u, w)` returns an `Output` record without noise, from records of numbers, arrays or
   symbols. It is written in `skidpad.ops`, and has neither memory nor random numbers.

`measure` and `measured` evaluate one instant; `runner`, `along` and `along_fleet` are those of
every sensor, with `rate`, `delay` and `dropout`.

`FullStateFeedback` and `SelectedOutputs` return values that the vehicle has anyway. `MountedSensor`
makes a model of an IMU, odometry, GNSS receiver or wheel speed sensor: its reading without errors
at one instant, plus noise; delays, lost samples and errors that wander or grow need a sensor in a
loop, see `Sensor.runner`. `FullState` is a sensor with channels for any fields by name, as logged
on a test bench.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.files import brief_repr, shown
from ..core.model import Model, Vehicle, VehicleFactory, arguments
from ..core.record import is_record_type
from ..errors import InvalidValue
from ..random.distributions import Gaussian
from ..random.model import NoUncertainty, UncertaintyModel, checked_model, draw_sample, one_name
from ..random.streams import Draw
from ..run.trajectory import Trajectory
from ..units import Unit, one, s
from .motion import Motion, motion_of
from .sensor import PERFECT, Channel, Instrument, NoiseErrors, Sensor, checked_channel


class SensorModel(Instrument):
    """Measurement model of a vehicle, y = h(x, u, w) + n; without a noise model, n is 0."""

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
        """Record class of the measurement."""
        self.State, self.Input = State, Input
        self.name, self.rate, self.delay, self.dropout = name, rate, delay, dropout
        self.check_sampling()
        names = record.names(Output)
        self._noise = NoUncertainty(fields=names) if noise is None else noise
        if not isinstance(self._noise, UncertaintyModel):
            raise InvalidValue(f"noise = {noise!r} must be an UncertaintyModel")
        if self._noise.dim != len(names):
            raise InvalidValue(
                f"noise has dim = {self._noise.dim}; allowed is {len(names)}, one value for each "
                f"of {', '.join(names)}"
            )
        checked_model("noise", self._noise, names, "what it is added to")
        self._noise.check_state(State)

    @property
    def nameless(self) -> bool:
        """Whether fields are matched by position, for any vehicle with as many fields."""
        return False

    @property
    def noise_model(self) -> UncertaintyModel:
        """Noise model of the outputs, with one value per output."""
        return self._noise

    @property
    def output_dimension(self) -> int:
        """Number of measured values."""
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
        """Output without noise, from records of state and input; `w` is the disturbance, its
        default if None.
        """

    def nominal_output(self, x: Any, u: Any = None, w: Any = None) -> Any:
        """Output without noise, from any form of state and input.

        `x` and `u` are records, mappings of names or vectors; for many runs records of arrays, or
        arrays with one row per run. `u` defaults to the defaults of its record.
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
        """Take a measurement; return an Output record and the memory of the noise.

        Args:
            x: state, a record.
            u: input, a record.
            draw: random numbers of the step.
            memory: memory returned by the previous call, None at first.
            random: if false, the nominal value of the noise is added.
            w: disturbance.
        """
        state = as_record("x", self.State, x)
        clean = record.flatten(self.output(state, as_record("u", self.Input, u), w))
        if not random:
            return self._added(clean, self._noise.nominal_value[None, :]), memory
        if draw is None:
            raise InvalidValue("draw = None: random noise needs a Draw")
        noise, memory = draw_sample(self._noise, draw, memory, _rows(state, draw))
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
        """Take one measurement, an Output record; noise with memory is sampled as at its first
        step.

        Without a draw, one vehicle is measured with the noise model's own stream (see
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
        """Convert an Output record to the type that `measure` returns."""
        return y

    def _added(self, clean: tuple[Any, ...], noise: Array) -> Any:
        if len(noise) == 1 and all(np.ndim(leaf) == 0 for leaf in clean):
            pairs = zip(clean, noise[0].tolist(), strict=True)
            return record.unflatten(self.Output, [value + error for value, error in pairs])
        leaves = [value + noise[:, k] for k, value in enumerate(clean)]
        return record.unflatten(self.Output, leaves)

    @property
    def Truth(self) -> type:
        """Record class of state and input side by side, the result of `as_truth`."""
        return self._records[0]

    @property
    def Reading(self) -> type:
        """Record class of the output and the stamp, with dots in names replaced by underscores."""
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

    def as_truth(self, truth: Any) -> Any:
        """Record of state and input, from a pair or a state alone; leaves: numbers or arrays."""
        if isinstance(truth, self.Truth):
            return truth
        pair = isinstance(truth, tuple) and not isinstance(truth, self.State) and len(truth) == 2
        x, u = truth if pair else (truth, None)
        state, command = as_record("x", self.State, x), as_record("u", self.Input, u)
        return record.unflatten(self.Truth, [*record.flatten(state), *record.flatten(command)])

    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """States along a trajectory, each with the input that led to it."""
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

    def true_values(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """Output without noise, as a flat sequence of values."""
        leaves = record.flatten(truth)
        x = record.unflatten(self.State, leaves[: self.state_dimension])
        return record.flatten(
            self.output(x, record.unflatten(self.Input, leaves[self.state_dimension :]))
        )

    def errors(self, seed: int, vehicles: Any) -> NoiseErrors:
        """Noise of some vehicles, as an error source."""

        def states(truth: Any) -> Array:
            leaves = record.flatten(truth)[: self.state_dimension]
            return np.stack([np.atleast_1d(leaf) for leaf in leaves], axis=1)

        return NoiseErrors(self.name, self._noise, states, self.dropout, seed, vehicles)

    def __repr__(self) -> str:
        outputs = ", ".join(record.names(self.Output))
        return f"{type(self).__name__}({outputs}; noise={self._noise!r})"


def as_record(name: str, kind: type, values: Any) -> Any:
    """Record of a state or an input from any of its forms; error messages begin with `name`."""
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
    if isinstance(vehicle, Vehicle):
        return vehicle
    if isinstance(vehicle, VehicleFactory):
        return vehicle()
    if isinstance(vehicle, Model):
        return VehicleFactory(vehicle)()
    raise InvalidValue(f"vehicle must be a Vehicle, got {vehicle!r}")


def _rows(state: Any, draw: Draw) -> Array:
    """Convert states to rows (runs, nx), the form that the noise model takes."""
    leaves = record.flatten(state)
    columns = np.array(np.broadcast_arrays(*leaves), dtype=float) if leaves else np.empty((0, 1))
    rows = np.atleast_2d(columns.T)
    if len(rows) != draw.count:
        raise InvalidValue(f"x has {len(rows)} runs but the draw has {draw.count}")
    return rows


@dataclass(frozen=True, kw_only=True)
class FullState(Sensor):
    """Selected fields by name, each with a channel: `FullState(fields={"v_x": Channel(std=0.1)})`.

    It reads a record, a mapping or a sample of a trajectory that has the fields, or a list of
    these: `[x, sim.outputs()]`. A dot in a name becomes an underscore in the reading.
    """

    name: str = "full_state"
    fields: Mapping[str, Channel]
    """Channel of each field, in the order of the reading."""
    units: Mapping[str, Unit] = field(default_factory=dict[str, Unit])
    """Units of the fields, for the record and the columns; dimensionless by default."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidValue("FullState.fields is empty: name at least one field")
        for name, channel in self.fields.items():
            checked_channel(f"FullState.fields[{name!r}]", channel)
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "units", dict(self.units))
        super().__post_init__()

    @classmethod
    def of(
        cls, vehicle: Vehicle, fields: Mapping[str, Channel] | None = None, **settings: Any
    ) -> FullState:
        """Sensor of a vehicle's state and outputs, with their units; the whole state by default."""
        kinds = (vehicle.model.Outputs, vehicle.State)
        units = {leaf.name: leaf.unit for kind in kinds for leaf in record.fields(kind)}
        channels = (
            dict.fromkeys(record.names(vehicle.State), Channel()) if fields is None else fields
        )
        record.check_names(vehicle.name, channels, units)
        return cls(fields=channels, units={name: units[name] for name in channels}, **settings)

    @cached_property
    def _records(self) -> tuple[type, type]:
        leaves: dict[str, Any] = {
            name.replace(".", "_"): Annotated[float, self.units.get(name, record.NO_UNIT)]
            for name in self.fields
        }
        reading = record.define("FullStateReading", {**leaves, "stamp": s})
        return record.define("Truth", leaves), reading

    @property
    def Truth(self) -> type:
        """Record class of the selected fields."""
        return self._records[0]

    @property
    def Reading(self) -> type:
        """Record class of the selected fields and the stamp."""
        return self._records[1]

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels, one per field."""
        return tuple(self.fields.values())

    def measure(self, truth: Any) -> Any:
        """Reading of the fields without errors."""
        return self.Reading(*self.as_truth(truth), 0.0)

    def as_truth(self, truth: Any) -> Any:
        """Values of the selected fields, found by name."""
        if isinstance(truth, self.Truth):
            return truth
        parts = truth if isinstance(truth, list) else [truth]
        # Earlier fields take precedence: a state over an output of the same name, as in a
        # trajectory.
        named: dict[str, Any] = {}
        for part in reversed(parts):
            named |= by_field(part)
        record.check_names("FullState: truth", self.fields, named)
        return self.Truth(*(named[name] for name in self.fields))

    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """Columns of the fields in a trajectory."""
        return self.Truth(*(trajectory[name] for name in self.fields))


def by_field(part: Any) -> Mapping[str, Any]:
    """Leaves of a record by name; a mapping is returned as it is."""
    if isinstance(part, Mapping):
        return part
    if is_record_type(type(part)):
        return dict(zip(record.names(type(part)), record.flatten(part), strict=True))
    raise InvalidValue(
        f"FullState takes a record, a mapping or a list of them, got {type(part).__qualname__}"
    )


class FullStateFeedback(SensorModel):
    """Full state feedback, y = x + n, as a State record.

    The sensor is made for a vehicle, or for given numbers of states and inputs. `noise_model` is
    another name of `noise`; with `state_output_factory`, an object as in commonroad-control,
    measurements are made by its `state_from_numpy_array`.
    """

    def __init__(
        self,
        vehicle: Any = None,
        noise: UncertaintyModel | None = None,
        *,
        noise_model: UncertaintyModel | None = None,
        state_dimension: int | None = None,
        input_dimension: int | None = None,
        state_output_factory: Any = None,
        **sampling: Any,
    ) -> None:
        if noise is not None or noise_model is not None:
            noise = one_name(("noise", "noise_model"), noise, noise_model)
        State, Input = _records(vehicle, state_dimension, input_dimension)
        size = getattr(state_output_factory, "state_dimension", None)
        if state_output_factory is not None and size != record.size(State):
            raise InvalidValue(
                f"state_output_factory has state_dimension = {size}; "
                f"allowed is {record.size(State)}"
            )
        self._factory = state_output_factory
        self._nameless = vehicle is None
        super().__init__(State, noise, State=State, Input=Input, **sampling)

    @property
    def nameless(self) -> bool:
        """Whether the sensor was made from numbers of states and inputs, without a vehicle."""
        return self._nameless

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """State, unchanged."""
        return x

    def _returned(self, y: Any) -> Any:
        if self._factory is None:
            return y
        return self._factory.state_from_numpy_array(np.array(record.flatten(y), dtype=float))


class SelectedOutputs(SensorModel):
    """Selected fields of a vehicle's state and outputs: `SelectedOutputs(car, ["v_x", "a_y"])`.

    If state and outputs share a name, the state's field is used. A dot in a name becomes an
    underscore in the record.
    """

    def __init__(
        self,
        vehicle: Any,
        fields: Sequence[str],
        noise: UncertaintyModel | None = None,
        **sampling: Any,
    ) -> None:
        self._vehicle = car = vehicle_of(vehicle)
        states = {leaf.name: leaf.unit for leaf in record.fields(car.State)}
        others = {leaf.name: leaf.unit for leaf in record.fields(car.model.Outputs)}
        is_list = isinstance(fields, Sequence) and not isinstance(fields, str)
        self._fields = tuple(fields) if is_list else ()
        if not self._fields or len(set(self._fields)) != len(self._fields):
            raise InvalidValue(
                f"fields = {fields!r} must be a list of different names, at least one"
            )
        record.check_names(car.name, self._fields, others | states)
        self._only_state = all(name in states for name in self._fields)
        units = others | states
        Output = record.define(
            "Output",
            {name.replace(".", "_"): Annotated[float, units[name]] for name in self._fields},
            doc=f"Chosen fields of {car.name}.",
        )
        super().__init__(Output, noise, State=car.State, Input=car.Input, **sampling)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields, as in the vehicle."""
        return self._fields

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """Values of the selected fields, found by name."""
        outputs = {} if self._only_state else by_field(self._vehicle.outputs(x, u, w))
        values = {**outputs, **by_field(x)}
        return self.Output._make(values[name] for name in self._fields)


def _records(vehicle: Any, states: int | None, inputs: int | None) -> tuple[type, type]:
    if vehicle is None:
        return _numbered("State", "x", states), _numbered("Input", "u", inputs)
    car = vehicle_of(vehicle)
    for name, size, kind in (
        ("state_dimension", states, car.State),
        ("input_dimension", inputs, car.Input),
    ):
        if size not in (None, record.size(kind)):
            raise InvalidValue(
                f"{name} = {size!r} must be {record.size(kind)}, the number of fields of "
                f"{car.name!r}: {', '.join(record.names(kind))}"
            )
    return car.State, car.Input


MOST_NUMBERED = 10_000
"""Largest size of a state or input without a vehicle."""


def _numbered(name: str, letter: str, size: int | None) -> Any:
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_NUMBERED:
        what = "state_dimension" if letter == "x" else "input_dimension"
        raise InvalidValue(
            f"{what} = {shown(size)} must be a whole number, at least 0 and at most "
            f"{MOST_NUMBERED}, unless a vehicle is given"
        )
    return record.define(name, {f"{letter}{k}": one for k in range(size)})


_TAKEN = ("std", "density", "bias", "drift_time")
"""Settings of a channel that memoryless noise supports; `drift_time` alone causes no error."""
_GIVE_MOTION = "give motion=, a function of x, u and w that returns a sensors.Motion"


class MountedSensor(SensorModel):
    """A sensor on a vehicle: `MountedSensor(car, Imu(gyroscope=Channel(std=0.01)))`.

    The output has the values that the sensor measures, without a stamp. By default the noise
    consists of the white noise and the bias of the sensor's channels. `motion(x, u, w)` returns the
    `sensors.Motion` of a vehicle whose body does not provide it.
    """

    def __init__(
        self,
        vehicle: Any,
        sensor: Sensor,
        noise: UncertaintyModel | None = None,
        *,
        motion: Callable[[Any, Any, Any], Motion] | None = None,
    ) -> None:
        ridden = vehicle_of(vehicle)
        if not isinstance(sensor, Sensor) or sensor.Truth is not Motion:
            raise InvalidValue(
                f"sensor = {sensor!r} must be a Sensor that measures a Motion, such as Imu, "
                "Odometry or Gnss"
            )
        kind = type(sensor).__name__
        instant = "in a sensor model, which measures at one instant; a runner of the sensor has it"
        for name in ("delay", "dropout"):
            if getattr(sensor, name) != 0.0:
                raise InvalidValue(f"{kind}.{name} = {getattr(sensor, name)} must be 0 {instant}")
        if sensor.spread([1.0] * len(sensor.channels), 1.0) is not None:
            raise InvalidValue(f"{kind}.growth must be 0 {instant}")
        if motion is None:
            if ridden.model.body is None:
                raise InvalidValue(f"vehicle = {ridden.name!r} has no body: {_GIVE_MOTION}")
            if not ridden.model.continuous and sensor.shows_accelerations:
                raise InvalidValue(
                    f"vehicle = {ridden.name!r} provides no accelerations, which {kind} measures: "
                    f"{_GIVE_MOTION}"
                )
        self._sensor = sensor
        self._motion = motion or partial(motion_of, ridden)
        count = len(sensor.channels)
        shown = record.flatten(sensor.measure(Motion()))[:count]
        self._kept = [k for k, value in enumerate(shown) if not math.isnan(value)]
        leaves = [record.fields(sensor.Reading)[k] for k in self._kept]
        Output = record.define(
            f"{type(sensor).__name__}Output",
            {leaf.name: Annotated[float, leaf.unit] for leaf in leaves},
            docs={leaf.name: leaf.doc for leaf in leaves},
            doc=f"What {sensor.name!r} measures on {ridden.name}.",
        )
        own = _noise_of(sensor, self._kept) if noise is None else noise
        super().__init__(
            Output,
            own,
            State=ridden.State,
            Input=ridden.Input,
            name=sensor.name,
            rate=sensor.rate,
        )

    @property
    def sensor(self) -> Sensor:
        """The mounted sensor."""
        return self._sensor

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """Reading of the sensor without errors."""
        reading = record.flatten(self._sensor.measure(self._motion(x, u, w)))
        return record.unflatten(self.Output, [reading[k] for k in self._kept])


def _noise_of(sensor: Sensor, kept: Sequence[int]) -> Gaussian:
    channels = [sensor.channels[k] for k in kept]
    names = [record.names(sensor.Reading)[k] for k in kept]
    for name, channel in zip(names, channels, strict=True):
        for setting in (f.name for f in fields(Channel) if f.name not in _TAKEN):
            value = getattr(channel, setting)
            if value != getattr(PERFECT, setting):
                raise InvalidValue(
                    f"{type(sensor).__name__}: the channel of {name} has {setting} = {value}; "
                    "allowed in a sensor model are std, density and bias. Give noise=, or use a "
                    "runner of the sensor"
                )
    return Gaussian(
        mean=[channel.bias for channel in channels],
        std=[channel.white(sensor.rate) for channel in channels],
        fields=names,
    )


ARGUMENTS = ("x", "u", "w", "p")


class OutputFunction(SensorModel):
    """Sensor whose output is any pure function of a vehicle's records, plus noise.

    `function` takes some of the arguments `x` (state), `u` (input), `w` (disturbance) and `p`
    (parameters), by name, and returns an `Output` record.
    """

    def __init__(
        self,
        Output: type,
        function: Callable[..., Any],
        noise: UncertaintyModel | None = None,
        *,
        vehicle: Any,
        **sampling: Any,
    ) -> None:
        self._vehicle = car = vehicle_of(vehicle)
        if not record.is_record_type(Output):
            raise InvalidValue(f"Output = {Output!r} must be a record, a typing.NamedTuple class")
        self._wanted = arguments("function", function, ARGUMENTS)
        record.check_names("function", self._wanted, ARGUMENTS, "argument")
        self._function = function
        super().__init__(Output, noise, State=car.State, Input=car.Input, **sampling)

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """Result of the function, checked to be an Output record."""
        known: dict[str, Any] = {"x": x, "u": u, "p": self._vehicle.params}
        if "w" in self._wanted:
            known["w"] = record.build(self._vehicle.model.Disturbance) if w is None else w
        y = self._function(**{name: known[name] for name in self._wanted})
        if not isinstance(y, self.Output):
            raise InvalidValue(
                f"function returned a {type(y).__qualname__}; allowed is a "
                f"{self.Output.__qualname__} record"
            )
        return y
