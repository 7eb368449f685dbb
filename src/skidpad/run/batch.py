"""What users hand to a fleet, as arrays (step, vehicle, field): checked, named in errors, not
copied.

A layout of "aos" has the field last, (T, B, n), as most array code does; "soa" has the vehicle
last, (T, n, B), which a kernel reads fastest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import check_room
from ..compile import gpu
from ..errors import InvalidValue

LAYOUTS = ("aos", "soa")


class Space(NamedTuple):
    """Where the arrays of a fleet live, and their precision."""

    device: str
    xp: Any
    """NumPy or CuPy. NumPy's functions that take arrays work on both."""
    dtype: Any

    @classmethod
    def of(cls, device: str, precision: str) -> Space:
        """The space of a device, if it can be used here."""
        return cls(device, np if device == "cpu" else gpu.cupy(), np.dtype(precision))


def where_wanted(out: Any, space: Space, *arguments: Any) -> Any:
    """A result where its caller wants it: on the device only if one of the arguments was there."""
    if space.device == "cpu":
        return out
    on_device = [argument for argument in arguments if gpu.is_on_device(argument)]
    return gpu.like(out, on_device[0]) if on_device else on_host(out)


def on_host(array: Any) -> AnyArray:
    """An array as NumPy, copied from the device if it is there."""
    return array.get() if hasattr(array, "get") else array


def states(kind: type, values: Any, space: Space, layout: str) -> AnyArray:
    """Start states as (1, B, n); one state is a batch of one."""
    return finite(kind, "x0", _shaped(kind, "x0", values, space, layout, timed=False))


def parameters(kind: type, base: Any, values: Any, space: Space) -> AnyArray:
    """Parameters as (1, B or 1, n): the vehicle's own, or per vehicle by array or by name."""
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
    table = np.repeat(row[None, :], count, axis=0)
    for name, column in columns.items():
        if len(column) not in (1, count):
            raise InvalidValue(f"params[{name!r}] has {len(column)} values, others {count}")
        table[:, record.names(kind).index(name)] = column
    return _normal(kind, in_range(kind, "params", finite(kind, "params", table[None])))


def _normal(kind: type, array: AnyArray) -> AnyArray:
    """Parameters (1, B, n), if one over each is finite: compiled code multiplies with that."""
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
    """Inputs or disturbances as (T or 1, B or 1, n); a record or mapping is one held row.

    Whether they are finite is left to the kernel, which reads them anyway.
    """
    if values is None or goes_by_name(kind, values):
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
    """Values for each of a set of states of leading shape `shape`, as (1, N, n); or one for all.

    With `masked` they may be NaN.
    """
    if values is None or goes_by_name(kind, values):
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
    # Not -1: without fields there is nothing to count by.
    array = array.reshape(1, math.prod(shape), n)
    return array if masked else in_range(kind, what, finite(kind, what, array))


def lengths(values: Any, steps: int, precision: str) -> AnyArray:
    """Lengths of steps in s, (steps,), checked."""
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
    """Room for samples (sample, vehicle, field), laid out in memory as `layout` says."""
    shape = (samples, count, size) if layout == "aos" else (samples, size, count)
    try:
        room = space.xp.empty(shape, space.dtype)
    except MemoryError as error:  # CuPy's own error is one too
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
    if goes_by_name(kind, values):
        values = record.flatten(record.build(kind, values))
    array = numbers(what, values, space)
    if layout == "soa" and array.ndim > 1:
        array = np.swapaxes(array, -1, -2)
    if array.ndim == 0 or array.shape[-1] != n or array.ndim > (3 if timed else 2):
        forms = {
            ("aos", True): f"(B, {n}) held or (T, B, {n})",
            ("soa", True): f"({n}, B) held or (T, {n}, B)",
            ("aos", False): f"(B, {n})",
            ("soa", False): f"({n}, B)",
        }
        raise InvalidValue(
            f"{what} has shape {_shape(values)}; expected {forms[layout, timed]} "
            f"with fields {', '.join(record.names(kind))}"
        )
    array = array.reshape((1,) * (3 - array.ndim) + array.shape)
    if math.prod(array.strides) == 0:  # one row in the place of many, which a run writes out
        check_room(f"vehicles in {what}", array.shape[1], n)
    aligned = getattr(array.flags, "aligned", True)
    whole = aligned and all(s % array.itemsize == 0 for s in array.strides)
    return array if whole else array.copy()


def goes_by_name(kind: type, values: Any) -> bool:
    """Whether it is a mapping or a record, which `record.build` takes, or refuses if it is one of
    another class: it has as many numbers, and other ones. So it does in a list."""
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
    """Anything array-like as an array in this space."""
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
    """The array (step, vehicle, field), if all of it is finite."""
    if not np.isfinite(array).all():
        raise InvalidValue(not_finite(kind, what, array))
    return array


def not_finite(kind: type, what: str, array: AnyArray) -> str:
    """The sentence for the first value of an array (step, vehicle, field) that is not finite."""
    step, vehicle, field = np.argwhere(~np.isfinite(array))[0].tolist()
    place = f"vehicle {vehicle}" + (f", step {step}" if array.shape[0] > 1 else "")
    name = record.names(kind)[field]
    return f"{what}: {name} of {place} is {array[step, vehicle, field]}; it must be finite"


def in_range(kind: type, what: str, array: AnyArray) -> AnyArray:
    """The array (step, vehicle, field), if every value is in the range its field allows."""
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
    """Places and fields of those of a record that allow not every number."""
    return tuple((k, leaf) for k, leaf in enumerate(record.fields(kind)) if leaf.allowed)


def batch_size(**arrays: AnyArray) -> int:
    """The number of vehicles these arrays agree on; a length of 1 fits any."""
    sizes = {name: a.shape[1] for name, a in arrays.items() if a.shape[1] != 1}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InvalidValue(f"numbers of vehicles differ: {listed}")
    if 0 in sizes.values():
        raise InvalidValue(f"{next(iter(sizes))} has no vehicles; at least 1 is needed")
    return next(iter(sizes.values()), 1)
