"""What a vehicle is held to: smallest and largest values of metrics, from a file.

    two_track:sports:
      step_steer:
        yaw_rate_rise_time: {max: 0.25}
        yaw_rate_overshoot: {min: 0.0, max: 0.2}
    all:
      slow_ramp:
        max_lateral_acceleration: {min: 7.0}

`all` is every vehicle under test; what a vehicle is held to under its own name wins over it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any, NamedTuple

from .. import vehicles
from ..errors import InvalidValue
from ..files import yaml_of
from ..record import unknown_name
from ..vehicles.autoware import NAMES
from .catalogue import names as manoeuvre_names

__all__ = ["EVERY", "Limit", "Limits"]

EVERY = "all"
"""The name in a file that stands for every vehicle."""


class Limit(NamedTuple):
    """What a metric may be, in its unit."""

    low: float = -inf
    high: float = inf

    def __str__(self) -> str:
        if self.low == -inf:
            return f"≤ {self.high:.6g}"
        return f"≥ {self.low:.6g}" if self.high == inf else f"{self.low:.6g} to {self.high:.6g}"

    def broken_by(self, value: float) -> str:
        """What is wrong with a value, a clause; empty if it is within."""
        if isnan(value):
            return "there is no value"
        if value < self.low:
            return f"{value:.6g} is less than {self.low:.6g}"
        return f"{value:.6g} is more than {self.high:.6g}" if value > self.high else ""


@dataclass(frozen=True)
class Limits:
    """Limits by vehicle, manoeuvre and metric."""

    by_name: Mapping[str, Mapping[str, Mapping[str, Limit]]]
    source: str = "limits"
    """Begins errors."""

    @classmethod
    def read(cls, file: str | os.PathLike[str]) -> Limits:
        """From a YAML file."""
        return cls.of(yaml_of(file), os.fspath(file))

    @classmethod
    def of(cls, tree: Any, source: str = "limits") -> Limits:
        """From nested mappings; names and numbers are checked, those of metrics once it is known
        which there are."""
        by_name: dict[str, dict[str, dict[str, Limit]]] = {}
        for car, its in _mapping(tree, source, "vehicles").items():
            _check_vehicle(car, source)
            place = f"{source}, {car}"
            for manoeuvre, metrics in _mapping(its, place, "manoeuvres").items():
                inner = f"{place}, {manoeuvre}"
                pairs = _mapping(metrics, inner, "metrics").items()
                limits = {name: _limit(entry, f"{inner}, {name}") for name, entry in pairs}
                by_name.setdefault(car, {})[manoeuvre] = limits
        return cls(by_name, source)

    @property
    def summary(self) -> str:
        """What has limits, such as "two_track (step_steer), all (bump)"."""
        return ", ".join(f"{car} ({', '.join(its)})" for car, its in self.by_name.items())

    def check_manoeuvres(self, known: Iterable[str]) -> None:
        """Raise for a manoeuvre that is neither of these nor in the catalogue."""
        allowed = list(dict.fromkeys([*known, *manoeuvre_names()]))
        for car, its in self.by_name.items():
            for name in its:
                if name not in allowed:
                    place = f"{self.source}, {car}: skidpad"
                    raise InvalidValue(unknown_name(place, name, allowed, "manoeuvre"))

    def check_metrics(self, names_by_drive: Mapping[tuple[str, str], Iterable[str]]) -> None:
        """Raise for a metric that a manoeuvre does not give, by names of metrics for each vehicle
        and manoeuvre that was driven."""
        for car, by_manoeuvre in self.by_name.items():
            for manoeuvre, metrics in by_manoeuvre.items():
                driven = [
                    names
                    for (other, name), names in names_by_drive.items()
                    if name == manoeuvre and car in (EVERY, other)
                ]
                allowed = list(dict.fromkeys(name for names in driven for name in names))
                wrong = next((name for name in metrics if name not in allowed), None)
                if driven and wrong is not None:
                    place = f"{self.source}, {car}: {manoeuvre}"
                    raise InvalidValue(unknown_name(place, wrong, allowed, "metric"))

    def of_car(self, car: str, manoeuvre: str) -> dict[str, Limit]:
        """Limits of a vehicle in a manoeuvre, by metric."""
        return {**self._of(EVERY, manoeuvre), **self._of(car, manoeuvre)}

    def own(self, car: str, manoeuvre: str) -> Mapping[str, Limit]:
        """Those under the vehicle's own name."""
        return self._of(car, manoeuvre)

    def _of(self, car: str, manoeuvre: str) -> Mapping[str, Limit]:
        return self.by_name.get(car, {}).get(manoeuvre, {})


def _mapping(value: Any, place: str, of: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        shown = "nothing" if value is None else repr(value)
        raise InvalidValue(f"{place}: expected a mapping by names of {of}, got {shown:.80}")
    return dict(value)


def _check_vehicle(name: str, source: str) -> None:
    known = [EVERY, *vehicles.names(), *NAMES]
    if name.partition(":")[0] not in known:
        raise InvalidValue(unknown_name(f"{source}: skidpad", name, known, "vehicle"))


def _limit(entry: Any, place: str) -> Limit:
    ends = _mapping(entry, place, "its ends, min and max")
    for name, end in ends.items():
        if name not in ("min", "max"):
            raise InvalidValue(f"{place}: {name!r} is unknown; allowed are min, max")
        if isinstance(end, bool) or not isinstance(end, int | float) or not isfinite(end):
            raise InvalidValue(f"{place}: {name} = {end!r} must be a finite number")
    if not ends:
        raise InvalidValue(f"{place}: give min, max or both")
    limit = Limit(float(ends.get("min", -inf)), float(ends.get("max", inf)))
    if limit.low > limit.high:
        raise InvalidValue(f"{place}: min = {limit.low:g} is above max = {limit.high:g}")
    return limit
