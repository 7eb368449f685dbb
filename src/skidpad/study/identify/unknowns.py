"""The unknowns of a fit by their names: parameters, factors on several of them, and delays.

| name | unknown |
|---|---|
| `I_z`, `tyres.front.lateral.K` | a parameter of the vehicle, by its dotted name |
| `tyres.*.lateral.mu` | a common factor on all parameters that match |
| `log.steer_offset` | a parameter of `Sensors` |
| `delay.omega`, `delay.u_steer` | the delay of a channel or a command of the log |
| `steer_time_delay` | a dead time of the vehicle, which is the delay of a command |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from math import inf, isfinite
from typing import NamedTuple

from ...core import record
from ...core.checks import positive
from ...core.files import brief_repr, listed
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import one, s
from ...vehicles.command_driven.records import PARAMETERS
from ...vehicles.registry import COMMAND_DRIVEN
from .observed import Sensors
from .replay import Replay

USUAL = (
    "I_z",
    *("*lateral.K", "*lateral.B", "tyre.B", "C_f", "C_r", "*.LKY"),
    *("*lateral.mu", "*lateral.D", "tyre.D", "*.LMUY"),
)
"""Patterns of the parameters of a car that are fitted by default, if the logs determine them."""
LATEST: s = 0.3
"""Largest delay of a measured channel, either way."""
_MATTERS: one = 0.3
"""Relative change of a parameter that matters."""
_MATTERS_AT_ZERO = {"s": 0.1, "rad": 0.05, "rad/s": 0.05, "m": 0.5, "m/s²": 0.5, "1": 0.2}
"""Change that matters of a parameter that is 0, by unit; 1 for others."""
_TURNING = ("omega", "yaw", "y")
"""Channels from which the true steering angle follows, as opposed to the measured one."""


class Unknown(NamedTuple):
    """A number to be estimated."""

    name: str
    unit: str
    start: float
    low: float
    high: float
    matters: float
    """A change that matters: a larger standard deviation means that the value is not known."""
    leaves: Mapping[str, float] = {}
    """Parameters that it sets, each with its value where the unknown is 1."""
    delay: str = ""
    """Command or channel that it delays."""
    prior: tuple[float, float] | None = None
    """Mean and standard deviation known beforehand."""

    __repr__ = brief_repr


def usual_names(car: Vehicle, replays: Sequence[Replay]) -> list[str]:
    """Names of the parameters that are fitted by default."""
    names = record.names(car.Params)
    compared = {name for replay in replays for name in replay.channels}
    if car.model.name in COMMAND_DRIVEN:
        ends = ("_time_constant", "_scaling_factor")
        found = [
            n
            for n in names
            if n in PARAMETERS
            and (
                n in car.model.dead_times.values()
                or n.endswith(ends)
                or (n == "steer_bias" and not compared.isdisjoint(_TURNING))
            )
        ]
    else:
        found = [n for n in names if any(fnmatchcase(n, pattern) for pattern in USUAL)]
        if any(replay.way.steer != "commanded" for replay in replays):
            ratio = not found or any("steering_wheel" in replay.sources for replay in replays)
            found += ["log.steer_ratio"] * ratio + ["log.steer_offset"]
    if not found:
        raise InvalidValue(
            f"{car.name} has nothing that is fitted by default; name parameters with --free "
            f"(free=), of {', '.join(names)}"
        )
    return found


def unknowns_of(
    car: Vehicle,
    replays: Sequence[Replay],
    wanted: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
    priors: Mapping[str, tuple[float, float]],
    longest: s,
) -> tuple[Unknown, ...]:
    """The unknowns of a fit by their names."""
    for what, given in (("bounds", bounds), ("priors", priors)):
        for name in given:
            if name not in wanted:
                raise InvalidValue(
                    f"{what} of {name}: it is not among --free (free=) {listed(wanted)}"
                )
    found = [_unknown(car, replays, name, longest) for name in wanted]
    set_by: dict[str, str] = {}
    for k, u in enumerate(found):
        for leaf in u.leaves or (f"delay.{u.delay}",):
            if leaf in set_by:
                other = set_by[leaf]
                twice = (
                    f"{u.name} is named twice"
                    if other == u.name
                    else f"{u.name} and {other} both set {leaf}"
                )
                raise InvalidValue(f"{twice} among the parameters to fit")
            set_by[leaf] = u.name
        if u.name in bounds:
            low, high = bounds[u.name]
            if not u.low <= low < high <= u.high:
                raise InvalidValue(
                    f"bounds of {u.name} = {low:g} to {high:g} must be numbers that go up, from "
                    f"{u.low:g} to {u.high:g}"
                )
            u = u._replace(low=low, high=high)
            u = u._replace(
                start=min(max(u.start, low), high),
                matters=0.25 * (high - low) if isfinite(high - low) else u.matters,
            )
        if u.name in priors:
            mean, sd = priors[u.name]
            positive(f"standard deviation of the prior of {u.name}", sd, u.unit)
            u = u._replace(prior=(mean, sd), matters=sd)
        found[k] = u
    return tuple(found)


def _unknown(car: Vehicle, replays: Sequence[Replay], name: str, longest: s) -> Unknown:
    leaves = {leaf.name: leaf for leaf in record.fields(car.Params)}
    values = dict(zip(leaves, record.flatten(car.params), strict=True))
    sensors = {f"log.{leaf.name}": leaf for leaf in record.fields(Sensors)}
    own = replays[0].observed.params.log
    values |= {n: float(v) for n, v in zip(sensors, own, strict=True)}
    dead = {parameter: f"u_{command}" for command, parameter in car.model.dead_times.items()}
    delay = dead.get(name, name.removeprefix("delay.") if name.startswith("delay.") else "")
    if delay:
        sources = dict.fromkeys(
            n for r in replays for n in (*r.drive.commands, *r.sources, *r.channels)
        )
        if delay not in sources:
            raise InvalidValue(
                record.unknown_name(replays[0].drive.name, delay, [*sources], "channel to delay")
            )
        low, high = (0.0, longest) if delay.startswith("u_") else (-LATEST, LATEST)
        start = min(replays[0].delay_of(delay), high)
        return Unknown(name, "s", start, low, high, 0.1, {}, delay)
    if "*" in name:
        own_values = {
            n: v for n, v in values.items() if fnmatchcase(n, name) and v and n not in sensors
        }
        if not own_values:
            why = f"{name} matches no parameter of {car.name}"
            if any(fnmatchcase(n, name) for n in leaves):
                why = (
                    f"{name} is a factor, and all parameters of {car.name} that it matches are 0, "
                    "which no factor changes"
                )
            raise InvalidValue(f"{why}; the parameters are {', '.join(leaves)}")
        ends = [_range(car, leaves[n], v) for n, v in own_values.items()]
        each = [
            sorted((low / v, high / v))
            for (low, high), v in zip(ends, own_values.values(), strict=True)
        ]
        low, high = max(max(e[0] for e in each), 1e-3), min(e[1] for e in each)
        return Unknown(name, "1", 1.0, low, high, _MATTERS, own_values)
    if name not in leaves and name not in sensors:
        allowed = tuple(n for n in leaves if car.name not in COMMAND_DRIVEN or n in PARAMETERS)
        raise InvalidValue(
            record.unknown_name(car.name, name, (*allowed, *sensors), "parameter to fit")
        )
    leaf = (leaves | sensors)[name]
    low, high = _range(car, leaf, values[name])
    start = min(max(values[name], low), high)
    unit = leaf.unit.symbol
    # An offset of a sensor is near zero, so that a share of it is no measure.
    matters = _MATTERS * abs(start) if name in leaves or leaf.default else 0.0
    matters = matters or _MATTERS_AT_ZERO.get(unit, 1.0)
    return Unknown(name, unit, start, low, high, matters, {name: 1.0})


def _range(car: Vehicle, leaf: record.Field, value: float) -> tuple[float, float]:
    """Lowest and highest value of a parameter that is to be fitted."""
    low, high = (-inf, inf) if leaf.allowed is None else (leaf.allowed.low, leaf.allowed.high)
    if leaf.name.endswith("_time_constant") and hasattr(car.params, "least_time_constant"):
        low = float(car.params.least_time_constant)
    elif leaf.name.endswith("_scaling_factor"):
        low = max(low, 0.0)
    if low == 0.0 and value > 0.0:  # moved by its logarithm
        low = 1e-3 * value
    return low, high
