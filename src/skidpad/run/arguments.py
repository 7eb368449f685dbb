"""Arguments of runs as arrays (step, vehicle, field): checked, and not copied where possible.

For a fleet: `states`, `series`, `parameters` and `rows`. In the layout "aos" the field is last, (T,
B, n), as in most array code; in "soa" the vehicle is last, (T, n, B), which a kernel reads fastest.
For one vehicle: `Commands` and `step_count`. For both: start states with dependent fields
(`make_consistent`) and sanity checks (`Plausible`) for angles far beyond their actuators,
impossible start states, and parameters too stiff for the step.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from functools import cache, reduce
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..compile import gpu
from ..compile.cpu import RolloutArrays
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import check_room, steps_in, whole
from ..core.model import Model, Vehicle
from ..errors import InvalidValue
from ..units import m_s, rad, s
from .stability import check_spread
from .trajectory import Trajectory

LAYOUTS = ("aos", "soa")


class Space(NamedTuple):
    """Device and precision of the arrays of a fleet."""

    device: str
    xp: Any
    """NumPy or CuPy. NumPy's functions on arrays work on both."""
    dtype: Any

    @classmethod
    def of(cls, device: str, precision: str) -> Space:
        """The space of a device; raises if the device cannot be used here."""
        return cls(device, np if device == "cpu" else gpu.cupy(), np.dtype(precision))


def to_callers_device(out: Any, space: Space, *arguments: Any) -> Any:
    """Move a result to the host unless one of the arguments is on the device."""
    if space.device == "cpu":
        return out
    on_device = [argument for argument in arguments if gpu.is_on_device(argument)]
    return gpu.like(out, on_device[0]) if on_device else on_host(out)


def on_host(array: Any) -> AnyArray:
    """Return an array as NumPy; an array on the device is copied to the host."""
    return array.get() if hasattr(array, "get") else array


def states(kind: type, values: Any, space: Space, layout: str) -> AnyArray:
    """Convert start states to (1, B, n); a single state is a batch of one."""
    return finite(kind, "x0", _shaped(kind, "x0", values, space, layout, timed=False))


def parameters(kind: type, base: Any, values: Any, space: Space) -> AnyArray:
    """Convert parameters to (1, B or 1, n): the vehicle's own, or per vehicle by array or by
    name.
    """
    row = numbers("params", record.flatten(base), space)
    if values is None:
        return _normal(kind, finite(kind, "params", row.reshape(1, 1, -1)))
    if not isinstance(values, Mapping):
        table = _shaped(kind, "params", values, space, "aos", timed=False)
        return _normal(kind, in_range(kind, "params", finite(kind, "params", table)))
    columns: dict[str, AnyArray] = {}
    for name, value in values.items():
        if name not in record.names(kind):
            raise InvalidValue(record.unknown_name("params", name, record.names(kind)))
        columns[name] = np.atleast_1d(numbers(f"params[{name!r}]", value, space))
        if columns[name].ndim != 1:
            raise InvalidValue(f"params[{name!r}] has shape {_shape(value)}; expected (B,)")
    count = max((len(c) for c in columns.values()), default=1)
    check_room("vehicles in params", count, row.size)
    table = np.repeat(row[None, :], count, axis=0)
    for name, column in columns.items():
        if len(column) not in (1, count):
            raise InvalidValue(f"params[{name!r}] has {len(column)} values, others {count}")
        table[:, record.names(kind).index(name)] = column
    return _normal(kind, in_range(kind, "params", finite(kind, "params", table[None])))


def _normal(kind: type, array: AnyArray) -> AnyArray:
    # Compiled code multiplies with the reciprocals of parameters (1, B, n), which must be finite.
    smallest = float(np.finfo(array.dtype).tiny)
    tiny = (array != 0.0) & (np.abs(array) < smallest)
    if bool(tiny.any()):
        _, vehicle, field = np.argwhere(tiny)[0].tolist()
        raise InvalidValue(
            f"params: {record.names(kind)[field]} of vehicle {vehicle} is "
            f"{float(array[0, vehicle, field]):g}; it must be 0 or at least {smallest:.3g} in size"
        )
    return array


def series(kind: type, what: str, values: Any, space: Space, layout: str) -> AnyArray:
    """Convert inputs or disturbances to (T or 1, B or 1, n); a record or mapping is one held row.

    NaN and infinity are not checked here, since the kernel checks every value that it reads.
    """
    if values is None or is_named(kind, values):
        row = record.flatten(record.build(kind, values))
        return numbers(what, row, space).reshape(1, 1, -1)
    return in_range(kind, what, _shaped(kind, what, values, space, layout, timed=True))


def rows(
    kind: type,
    what: str,
    values: Any,
    space: Space,
    shape: tuple[int, ...],
    *,
    masked: bool = False,
) -> AnyArray:
    """Convert values that belong to states of leading shape `shape` to (1, N, n), or to one row for
    all states.

    With `masked` they may be NaN.
    """
    if values is None or is_named(kind, values):
        return series(kind, what, values, space, "aos")
    array = numbers(what, values, space)
    n = record.size(kind)
    if array.ndim == 0 or array.shape[-1] != n:
        raise InvalidValue(
            f"{what} has shape {array.shape}; expected (..., {n}) with fields "
            f"{', '.join(record.names(kind))}"
        )
    try:
        array = np.broadcast_to(array, (*shape, n))
    except ValueError:
        raise InvalidValue(
            f"{what} has shape {array.shape}, which does not fit states of shape {(*shape, n)[:-1]}"
        ) from None
    # The number of rows is explicit: without fields, -1 could not be inferred.
    array = array.reshape(1, math.prod(shape), n)
    return array if masked else in_range(kind, what, finite(kind, what, array))


def lengths(values: Any, steps: int, precision: str) -> AnyArray:
    """Check step lengths in s, (steps,)."""
    array = numbers("dt", values, Space.of("cpu", "float64"))
    if array.shape != (steps,):
        raise InvalidValue(f"dt has shape {array.shape}; expected ({steps},), one for each step")
    with np.errstate(all="ignore"):
        rounded = array.astype(precision)
    bad = np.flatnonzero(~(np.isfinite(rounded) & (rounded > 0.0)))
    if len(bad):
        raise InvalidValue(
            f"dt of step {bad[0]} is {array[bad[0]]} s; it must be finite and greater than 0 in "
            f"{precision}"
        )
    return array


def empty(samples: int, count: int, size: int, space: Space, layout: str) -> AnyArray:
    """An uninitialised array for samples (sample, vehicle, field), stored as `layout` says."""
    shape = (samples, count, size) if layout == "aos" else (samples, size, count)
    try:
        room = space.xp.empty(shape, space.dtype)
    except MemoryError as error:  # CuPy's error is a subclass
        gigabytes = math.prod(shape) * space.dtype.itemsize / 1e9
        raise InvalidValue(
            f"{samples} samples of {count} vehicles take {gigabytes:.1f} GB of memory, more than "
            f"there is on the {space.device}: take a larger `every` or fewer vehicles"
        ) from error
    return room if layout == "aos" else np.swapaxes(room, 1, 2)


def _shaped(
    kind: type, what: str, values: Any, space: Space, layout: str, *, timed: bool
) -> AnyArray:
    n = record.size(kind)
    if is_named(kind, values):
        values = record.flatten(record.build(kind, values))
    array = numbers(what, values, space)
    if layout == "soa" and array.ndim > 1:
        array = np.swapaxes(array, -1, -2)
    if array.ndim == 0 or array.shape[-1] != n or array.ndim > (3 if timed else 2):
        each = f"B, {n}" if layout == "aos" else f"{n}, B"
        raise InvalidValue(
            f"{what} has shape {_shape(values)}; expected ({each}) "
            f"{f'held or (T, {each}) ' if timed else ''}"
            f"with fields {', '.join(record.names(kind))}"
        )
    array = array.reshape((1,) * (3 - array.ndim) + array.shape)
    if math.prod(array.strides) == 0:  # a broadcast row, which a run copies
        check_room(f"vehicles in {what}", array.shape[1], n)
    aligned = getattr(array.flags, "aligned", True)
    whole = aligned and all(s % array.itemsize == 0 for s in array.strides)
    return array if whole else array.copy()


def is_named(kind: type, values: Any) -> bool:
    """Whether values are a mapping or a record, which `record.build` converts.

    Raises for a list that holds records of another class, whose numbers have another meaning.
    """
    if isinstance(values, (Mapping, kind)):
        return True
    if isinstance(values, (list, tuple)):
        if record.is_record_type(type(values)):
            return True
        for value in values:
            if isinstance(value, tuple) and record.is_record_type(type(value)):
                record.build(kind, value)
    return False


def numbers(what: str, values: Any, space: Space) -> AnyArray:
    """Convert array-like values to an array in this space."""
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is refused
            if space.device == "cuda":
                return gpu.device_array(what, values, space.dtype)
            array = np.asarray(values)
            if array.dtype.kind in "cUS":
                raise InvalidValue(
                    f"{what} must be an array of numbers, real ones, got {array.dtype}"
                )
            return np.asarray(array, dtype=space.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"{what} must be an array of numbers: {error}") from error


def _shape(values: Any) -> tuple[int, ...]:
    return tuple(values.shape) if hasattr(values, "shape") else np.shape(values)


def finite(kind: type, what: str, array: AnyArray) -> AnyArray:
    """Return the array (step, vehicle, field); raises unless all of it is finite."""
    if not np.isfinite(array).all():
        raise InvalidValue(not_finite(kind, what, array))
    return array


def not_finite(kind: type, what: str, array: AnyArray) -> str:
    """Error message for the first non-finite value of an array (step, vehicle, field)."""
    step, vehicle, field = np.argwhere(~np.isfinite(array))[0].tolist()
    place = f"vehicle {vehicle}" + (f", step {step}" if array.shape[0] > 1 else "")
    name = record.names(kind)[field]
    return f"{what}: {name} of {place} is {array[step, vehicle, field]}; it must be finite"


def in_range(kind: type, what: str, array: AnyArray) -> AnyArray:
    """Return the array (step, vehicle, field); raises if a value is outside its range."""
    for k, leaf in _limited(kind):
        allowed = leaf.allowed
        column = array[:, :, k]
        bad = column <= allowed.low if allowed.open_low else column < allowed.low
        if allowed.high < math.inf:
            bad |= column > allowed.high
        if allowed.whole:
            bad |= column % 1.0 != 0.0
        if bool(bad.any()):
            step, vehicle = np.argwhere(bad)[0].tolist()
            value = float(column[step, vehicle])
            where = f"{leaf.name} = {leaf.unit.behind(f'{value:g}')} of vehicle {vehicle}"
            raise InvalidValue(f"{what}: {where} must be {allowed}")
    return array


@cache
def _limited(kind: type) -> tuple[tuple[int, Any], ...]:
    """Indices and fields of the record's fields with a restricted range."""
    return tuple((k, leaf) for k, leaf in enumerate(record.fields(kind)) if leaf.allowed)


def batch_size(**arrays: AnyArray) -> int:
    """Number of vehicles that these arrays have in common; an array for one vehicle fits any
    number."""
    sizes = {name: a.shape[1] for name, a in arrays.items() if a.shape[1] != 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InvalidValue(f"numbers of vehicles differ: {listed}")
    if 0 in sizes.values():
        raise InvalidValue(f"{next(iter(sizes))} has no vehicles; at least 1 is needed")
    return next(iter(sizes.values()), 1)


FAR_BEYOND = 2.0
"""Multiple of the actuator's limit above which an angle is refused, usually as a mistake of units.

Below it, a controller may demand more than the actuator can do.
"""


class AngleEnd(NamedTuple):
    """An input field that is an angle, and the limit of its actuator."""

    place: int
    name: str
    end: rad
    """Limit of the actuator in the direction in which it is larger."""

    def mistake(self, value: float, where: str = "") -> InvalidValue:
        """Make the error for an angle far beyond the actuator's limit."""
        return InvalidValue(
            f"{self.name} = {value:g} rad{where} is far beyond ±{self.end:g} rad, where the "
            f"actuator ends: were degrees meant? {value:g}° are {math.radians(value):.4g} rad. To "
            "let the actuator stop at its end, take vehicle.with_clipped_inputs()"
        )


def angle_ends(vehicle: Vehicle | None) -> tuple[AngleEnd, ...]:
    """Angles among a vehicle's inputs that are refused far beyond their actuators' limits.

    Empty for a vehicle that clips its inputs, or reproduces a program that does.
    """
    if vehicle is None or vehicle.clips_inputs or vehicle.model.reproduces:
        return ()
    if vehicle.model.body is None:
        return ()
    ranges = vehicle.limits.inputs
    return tuple(
        AngleEnd(k, leaf.name, max(map(abs, ranges[leaf.name])))
        for k, leaf in enumerate(record.fields(vehicle.Input))
        if leaf.unit.symbol == "rad" and leaf.name in ranges
    )


def check_angles(ends: tuple[AngleEnd, ...], what: str, array: AnyArray) -> None:
    """Raise for the first angle of an array (step, vehicle, field) far beyond its limit."""
    if not ends or not array.size:
        return
    # Use reductions, since arrays may be large, and transfer a single result from a GPU. Infinite
    # values are reported by the kernel.
    worst = [_beyond(angle, array) for angle in ends]
    if not bool(reduce(operator.or_, worst)):
        return
    angle = next(angle for angle, bad in zip(ends, worst, strict=True) if bool(bad))
    column = array[:, :, angle.place]
    step, vehicle = np.argwhere(np.abs(column) > FAR_BEYOND * angle.end)[0].tolist()
    place = f" of vehicle {vehicle}" + (f", step {step}" if len(column) > 1 else "")
    named = angle._replace(name=f"{what}: {angle.name}")
    raise named.mistake(float(column[step, vehicle]), place)


def check_row(ends: tuple[AngleEnd, ...], row: Any) -> None:
    """Raise for the first angle in the numbers of one input far beyond its limit."""
    for place, name, end in ends:
        try:
            value = float(row[place])
        except (TypeError, ValueError, IndexError, OverflowError):  # reported on reading
            continue
        if FAR_BEYOND * end < abs(value) < inf:
            raise AngleEnd(place, f"Input.{name}", end).mistake(value)


def _beyond(angle: AngleEnd, array: AnyArray) -> Any:
    column, most = array[:, :, angle.place], FAR_BEYOND * angle.end
    high, low = column.max(), column.min()
    return ((high > most) & (high < inf)) | ((low < -most) & (low > -inf))


class Commands:
    """Converts inputs of one vehicle to numbers, in one precision."""

    def __init__(self, vehicle: Vehicle, precision: str) -> None:
        self.Input = Input = vehicle.Input
        self.angles = angle_ends(vehicle)
        """Angles that are rejected far beyond the limits of their actuators."""
        self.defaults = record.flatten(record.build(Input))
        self._flat = len(self.defaults) == len(Input._fields)
        self._places = {name: k for k, name in enumerate(record.names(Input))}
        self._space = Space.of("cpu", precision)
        leaves = enumerate(record.fields(Input))
        self.ranges = [(k, leaf.allowed) for k, leaf in leaves if leaf.allowed is not None]
        """Indices and ranges of the inputs that have a range, such as gears."""

    def row(self, inputs: Any) -> Any:
        """The numbers of an input given as record, mapping, sequence or None."""
        if type(inputs) is self.Input:
            return inputs if self._flat else record.flatten(inputs)
        if inputs is None:
            return self.defaults
        if type(inputs) is np.ndarray and inputs.shape == (len(self.defaults),):
            return inputs.tolist()
        if isinstance(inputs, Mapping):
            return self.with_fields(None, inputs)
        return record.flatten(record.build(self.Input, inputs))

    def with_fields(self, inputs: Any, fields: Mapping[str, float]) -> list[Any]:
        """The numbers of an input with some fields replaced, by (dotted) name."""
        row = list(self.row(inputs))
        try:
            for name, value in fields.items():
                row[self._places[name]] = value
        except KeyError as error:
            allowed = record.names(self.Input)
            raise InvalidValue(record.unknown_name("Input", error.args[0], allowed)) from None
        return row

    def check_ranges(self, row: Any) -> None:
        """Raise if a number is outside its range, or an angle far beyond its limit."""
        check_row(self.angles, row)
        for k, allowed in self.ranges:
            if k < len(row) and not isinstance(row[k], str) and row[k] not in allowed:
                record.check(record.unflatten(self.Input, row))

    def table(self, controls: Any, count: int) -> AnyArray:
        """Convert held or tabulated controls to a checked array (count, nu)."""
        size = len(self.defaults)
        if controls is None or isinstance(controls, (Mapping, self.Input)):
            controls = record.flatten(record.build(self.Input, controls))
        table = numbers("controls", controls, self._space)
        if table.shape == (size,):
            table = np.repeat(table[None], count, axis=0)
        if table.ndim != 2 or table.shape[1] != size or len(table) < count:
            raise InvalidValue(
                f"controls have shape {table.shape}; expected ({count}, {size}) with fields "
                f"{', '.join(self._places)}"
            )
        if not np.isfinite(table).all():
            raise InvalidValue(not_finite(self.Input, "controls", table[:, None]))
        in_range(self.Input, "controls", table[:, None])
        check_angles(self.angles, "controls", table[:, None])
        return np.ascontiguousarray(table[:count])


OVERSHOOT: s = 0.1
"""Time in s by which the largest acceleration may carry a start state beyond a speed limit.

A step that begins below the limit may end above it, and every simulated state has to be a valid
start.
"""
SPEED_SLACK: m_s = 0.1
"""Allowed excess over a speed limit where no acceleration is known."""
INNER_WHEEL = 0.25
"""Fraction of the steering limit by which a start state may exceed it.

The limit may be that of a virtual wheel in the middle, and the wheel on the inside of a bend is
turned further.
"""


def make_consistent(
    model: Model | Plant, start: Any, params: Any, source: Any, named: Collection[str]
) -> Any:
    """Make the dependent fields of a start state consistent.

    The start state was built from `source` and the fields `named`. Fields of `Model.fills` keep
    their values if they were named; the others are filled, unless the source is a whole state, for
    which only the model can tell whether 0 means "not set".
    """
    if model.settle is None:
        return start
    names = {*named, *(source if isinstance(source, Mapping) else ())}
    explicit = {name: getattr(start, name) for name in model.fills if name in names}
    if explicit and (source is None or isinstance(source, Mapping)):
        start = start._replace(**dict.fromkeys(explicit, 0.0))
    return model.settle(start, params)._replace(**explicit)


def consistent_states(plant: Plant, start: Any, params: AnyArray, layout: str = "aos") -> Any:
    """Make the dependent fields of start states given by name or as a record consistent, as in
    `Simulator.reset`.

    The result is (nx,) or (B, nx), in the layout "soa" (nx, B), for parameters (1, B, np). Arrays
    are whole states and are returned unchanged.
    """
    if not isinstance(start, (Mapping, plant.State)):
        return start
    source, start = start, record.build(plant.State, start)
    if plant.settle is None:
        return record.flatten(start)
    whole = make_consistent(plant, start, record_of_rows(plant.Params, params), source, ())
    columns = np.broadcast_arrays(*record.flatten(whole))
    return np.stack(columns, axis=0 if layout == "soa" and columns[0].ndim else -1)


def consistent_rows(plant: Plant, rows: Array, params: AnyArray) -> Array:
    """Make the dependent fields of sampled start states (B, nx) consistent."""
    if plant.settle is None:
        return rows
    x = record.unflatten(plant.State, list(rows.T))
    whole = plant.settle(x, record_of_rows(plant.Params, params))
    return np.stack([np.broadcast_to(c, len(rows)) for c in record.flatten(whole)], axis=-1)


def record_of_rows(Params: type, params: AnyArray) -> Any:
    """Parameters (1, B, np) as a record, with a number where all rows are the same.

    A start state computed from equal parameters is then a single state for all.
    """
    rows = on_host(params)[0].astype(float)
    return record.unflatten(Params, [c[0] if (c == c[0]).all() else c for c in rows.T])


def check_start(vehicle: Vehicle, start: Any, of: str = "") -> None:
    """Raise if the wheels of a start state are turned beyond their limit, or it is too fast.

    The start is a state record, or an array (B, nx) of them, where `of` is " of vehicle {}". A
    vehicle without a body has no such limits, and neither has one that reproduces a program.
    """
    model, p = vehicle.model, vehicle.params
    if model.body is None or model.reproduces:
        return
    many = not isinstance(start, model.State)
    x = record.unflatten(model.State, list(start.T)) if many else start
    u, limits = record.at_rest(model.Input), vehicle.limits
    looks: list[_StartCheck] = []
    if "v" not in limits.not_kept:
        speed, ends = model.body.speed_of(x, u, p), (limits.v_min, limits.v_max)
        slack = OVERSHOOT * limits.a_max if isfinite(limits.a_max) else SPEED_SLACK
        looks.append(_StartCheck("velocity along the vehicle", "m/s", speed, *ends, slack))
    if model.body.steer is not None and "steer" not in limits.not_kept:
        angle, end = model.body.steer(x, u, p), limits.steer_max
        looks.append(_StartCheck("steering angle", "rad", angle, -end, end, INNER_WHEEL * end))
    if not looks:
        return
    # Combine all checks, so that a GPU transfers a single result.
    if bool(np.any(reduce(operator.or_, (look.outside for look in looks)))):
        raise next(look for look in looks if bool(np.any(look.outside))).mistake(of)


class _StartCheck(NamedTuple):
    """A quantity of one or many start states, with its allowed range."""

    what: str
    unit: str
    value: Any
    low: float
    high: float
    slack: float

    @property
    def outside(self) -> Any:
        return (self.value < self.low - self.slack) | (self.value > self.high + self.slack)

    def mistake(self, of: str) -> InvalidValue:
        """The error for the first value outside the range."""
        place = int(np.argmax(self.outside)) if np.ndim(self.value) else 0
        bad = float(np.atleast_1d(self.value)[place])
        return InvalidValue(
            f"the start{of.format(place)} has a {self.what} of {bad:g} {self.unit}; allowed is "
            f"from {self.low:g} to {self.high:g} {self.unit}"
        )


class Plausible:
    """Sanity checks of the arguments of one plant's rollouts; no checks for a plant from a file.

    Args:
        plant: of a vehicle alone.
        dt: step in s.
        substeps: steps of the integrator within dt.
        inputs: the caller's name of the inputs; None if they are not the vehicle's own.
    """

    def __init__(self, plant: Plant, dt: s, substeps: int, inputs: str | None) -> None:
        self.plant, self._dt, self._substeps, self._inputs = plant, dt, substeps, inputs
        self._angles = () if inputs is None else angle_ends(plant.vehicle)
        own = np.array(record.flatten(plant.params), dtype=float)
        self._known = (own, own)
        """Lowest and highest parameters for which the step is known to be short enough."""

    def driven(self) -> Plausible:
        """Return the checks for closed loops, whose inputs are the policy's references."""
        return Plausible(self.plant, self._dt, self._substeps, None)

    def check(self, arrays: RolloutArrays, *, own_params: bool) -> None:
        """Raise for implausible arguments; the vehicle's own fields come first in each array.

        `own_params` tells whether all vehicles have the plant's parameters. The limits for other
        parameters are not known, so start states are not checked then.
        """
        plant = self.plant
        if plant.vehicle is None:
            return
        if self._inputs is not None:
            check_angles(self._angles, self._inputs, arrays.u)
        if own_params:
            start = arrays.x[0][:, : record.size(plant.State)]
            check_start(plant.vehicle, start, " of vehicle {}")
        else:
            params = on_host(arrays.p[0][:, : record.size(plant.Params)])
            low, high = params.min(axis=0), params.max(axis=0)
            known_low, known_high = self._known
            if (low < known_low).any() or (high > known_high).any():
                check_spread(plant, self._dt, self._substeps, params)
                self._known = (np.minimum(low, known_low), np.maximum(high, known_high))


def step_count(controls: Any, dt: s, duration: float | None, steps: int | None) -> int:
    """Number of steps of length dt in a run."""
    if duration is not None and steps is not None:
        raise InvalidValue(f"give duration or steps, not both (got {duration!r} s and {steps})")
    if duration is not None:
        return steps_in(duration, dt)
    if steps is not None:
        return whole("steps", steps, "not negative", least=0)
    if np.ndim(controls) == 2:
        return len(controls)
    raise InvalidValue("say how long to run: duration= in s, steps=, or an array (T, nu)")


def inputs_of_run(run: Trajectory, vehicle: Vehicle, dt: s) -> AnyArray:
    """Inputs that repeat a run, (T, nu): one row fewer than the run has samples."""
    wanted = tuple(f"u_{name}" for name in record.names(vehicle.Input))
    names = tuple(column.name for column in run.columns if column.role == "input")
    if names != wanted:
        raise InvalidValue(
            f"a run with the inputs {', '.join(names) or 'none'} cannot drive "
            f"{vehicle.name!r}, which has {', '.join(wanted)}"
        )
    lengths = np.diff(run.t)
    if not np.allclose(lengths, dt, rtol=1e-6, atol=0.0):
        raise InvalidValue(
            f"the run has steps of {lengths.min():g} to {lengths.max():g} s, the simulator of "
            f"{dt:g} s: take run.resample(dt={dt:g})"
        )
    return run.inputs[:-1]


def check_sample_room(vehicle: Vehicle, count: int) -> None:
    """Raise if the samples of `count` steps do not fit into memory."""
    model = vehicle.model
    width = sum(map(record.size, (model.State, model.Input, model.Outputs)))
    try:
        np.empty((count + 1, width))
    except (MemoryError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{count} steps of {vehicle.name!r} take {8e-9 * count * width:.3g} GB of "
            "memory, more than there is: run it in parts"
        ) from error


def padded(rows: AnyArray, count: int) -> AnyArray:
    """Pad rows with NaN to (count, n)."""
    return np.vstack([rows, np.full((count - len(rows), rows.shape[1]), np.nan)])
