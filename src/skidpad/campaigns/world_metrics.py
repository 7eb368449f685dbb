"""What is kept of the run of a world: numbers and truths told from where everything was.

metrics = {
    "hit": collided("r1"),
    "gap": nearest("r1", "crate"),
    "arrived": time_to_reach("r1", 8.0, 0.0, 0.5),
    "spread": spread,  # a function of one's own that takes a WorldRun
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from ..arrays import Array
from ..body import Outline
from ..brief import brief_repr
from ..errors import InvalidValue
from ..plane.polygon import distances, enclosed, ring_edges
from ..plane.pose import points_to_body, points_to_world
from ..record import unknown_name
from ..signature import Constant
from ..units import m, rad, s
from ..world.contact.touches import ContactEvent
from .experiment import Column
from .functions import function_identity
from .identities import plain

FIELDS = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "v_y": "m/s", "omega": "rad/s"}
"""Columns of a vehicle's motion, with units."""


@dataclass(frozen=True, eq=False)
class WorldRun:
    """Where everything was in a run."""

    t: Array
    """Times in s, (T,), from the start to the end, a step apart."""
    motion: Mapping[str, Array]
    """Of vehicles by name, (T, 6): x, y, yaw, and v_x, v_y, omega along and across the vehicle."""
    places: Mapping[str, Array]
    """Of blocks, walls and actors by name: x, y, yaw, (T, 3) of what moves, (1, 3) of the rest."""
    outlines: Mapping[str, Outline]
    """Of everything that has one, as seen from its pose."""
    events: tuple[ContactEvent, ...]
    """Beginnings and ends of contacts."""

    __repr__ = brief_repr

    def pose(self, name: str) -> Array:
        """x, y, yaw of a thing over time, (T or 1, 3)."""
        if name in self.motion:
            return self.motion[name][:, :3]
        if name not in self.places:
            known = (*self.motion, *self.places)
            raise InvalidValue(unknown_name("the world", name, known, "thing"))
        return self.places[name]

    def series(self, name: str, field: str) -> Array:
        """A column of the motion of a vehicle over time, (T,)."""
        return self.motion[name][:, list(FIELDS).index(field)]


@dataclass(frozen=True, eq=False)
class WorldMetric(Constant):
    """A function of a `WorldRun`, with what its column is."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    """Handed to it after the run."""
    unit: str = ""
    kind: str = "number"
    meaning: str = ""
    things: tuple[str, ...] = ()
    """Names that must be there."""

    __repr__ = brief_repr

    def __call__(self, run: WorldRun) -> Any:
        """What it tells of a run."""
        return self.function(run, *self.arguments)

    def column(self, name: str) -> Column:
        """Its column under a name."""
        return Column(name, self.unit, self.meaning, self.kind)

    def identity(self) -> dict[str, Any]:
        """The function and its arguments."""
        own = function_identity("a metric", self.function)
        return {**own, "arguments": plain(self.arguments), "unit": self.unit, "kind": self.kind}


def metric_of(name: str, metric: Any) -> WorldMetric:
    """A metric, or a function of a run as one: a truth if it is annotated to return a bool."""
    if isinstance(metric, WorldMetric):
        return metric
    if not callable(metric):
        raise InvalidValue(f"metric {name} must be a function of a WorldRun, got {metric!r}")
    return measured(metric)


def measured(function: Callable[[WorldRun], Any], unit: str = "", meaning: str = "") -> WorldMetric:
    """A function of one's own as a metric, with the unit of what it returns."""
    try:
        truth = get_type_hints(function).get("return") is bool
    except (NameError, TypeError):
        truth = False
    words = meaning or " ".join((function.__doc__ or "").split())
    return WorldMetric(function, (), unit, "truth" if truth else "number", words)


def collided(name: str, other: str = "") -> WorldMetric:
    """Whether a vehicle or block touched something, or one other thing."""
    words = f"whether {name} touched {other or 'anything'}"
    return WorldMetric(_collided, (name, other), "", "truth", words, _named(name, other))


def collision_time(name: str, other: str = "") -> WorldMetric:
    """When a vehicle or block first touched something, or one other thing; NaN if never."""
    words = f"time at which {name} first touched {other or 'anything'}"
    return WorldMetric(_collision_time, (name, other), "s", "number", words, _named(name, other))


def nearest(name: str, other: str) -> WorldMetric:
    """The smallest gap between the outlines of two things; 0 if they met."""
    words = f"smallest gap between {name} and {other}"
    return WorldMetric(_nearest, (name, other), "m", "number", words, (name, other))


def reached(name: str, x: m, y: m, r: m) -> WorldMetric:
    """Whether the reference point of a vehicle or block was within a circle."""
    words = f"whether {name} was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_reached, (name, x, y, r), "", "truth", words, (name,))


def time_to_reach(name: str, x: m, y: m, r: m) -> WorldMetric:
    """When it first was there; NaN if never."""
    words = f"time at which {name} first was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_time_to_reach, (name, x, y, r), "s", "number", words, (name,))


def final(name: str, field: str) -> WorldMetric:
    """x, y, yaw, v_x, v_y or omega of a vehicle at the end; of a block x, y or yaw."""
    if field not in FIELDS:
        raise InvalidValue(unknown_name("final", field, tuple(FIELDS), "field"))
    return WorldMetric(
        _final, (name, field), FIELDS[field], "number", f"{field} of {name} at the end", (name,)
    )


def travelled(name: str) -> WorldMetric:
    """Length of the way of a vehicle or block."""
    return WorldMetric(_travelled, (name,), "m", "number", f"length of the way of {name}", (name,))


def _named(*names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name)


def _collision_time(run: WorldRun, name: str, other: str) -> s:
    for event in run.events:
        pair = event.a, event.b
        if event.kind == "begin" and name in pair and (not other or other in pair):
            return event.time
    return np.nan


def _collided(run: WorldRun, name: str, other: str) -> bool:
    return not np.isnan(_collision_time(run, name, other))


def _time_to_reach(run: WorldRun, name: str, x: m, y: m, r: m) -> s:
    at = run.pose(name)
    inside = np.hypot(at[:, 0] - x, at[:, 1] - y) <= r
    return float(run.t[np.argmax(inside)]) if inside.any() else np.nan


def _reached(run: WorldRun, name: str, x: m, y: m, r: m) -> bool:
    return not np.isnan(_time_to_reach(run, name, x, y, r))


def _final(run: WorldRun, name: str, field: str) -> float:
    if name in run.motion:
        return float(run.series(name, field)[-1])
    place: tuple[m, m, rad] = tuple(run.pose(name)[-1].tolist())
    return place[list(FIELDS).index(field)]


def _travelled(run: WorldRun, name: str) -> m:
    at = run.pose(name)
    return float(np.hypot(*np.diff(at[:, :2], axis=0).T).sum())


def _nearest(run: WorldRun, name: str, other: str) -> m:
    if _collided(run, name, other):
        return 0.0
    first, second = (np.array(run.outlines[one], dtype=float) for one in (name, other))
    poses = np.broadcast_arrays(run.pose(name), run.pose(other))
    reach = np.hypot(*first.T).max() + np.hypot(*second.T).max()
    apart = np.hypot(*(poses[0] - poses[1])[:, :2].T)
    # Where they are farther apart than at best they can be, corners need not be looked at.
    near = apart <= apart.min() + 2.0 * reach
    at, beside = (pose[near].T[..., None] for pose in poses)
    return min(_gap(first, second, at, beside), _gap(second, first, beside, at))


def _gap(outline: Array, corners: Array, at: Any, beside: Any) -> m:
    """Smallest distance of corners from an outline, both with poses (3, T, 1); 0 from inside."""
    seen = points_to_body(at, points_to_world(beside, corners)).reshape(-1, 2)
    if enclosed(seen, outline).any():
        return 0.0
    return float(distances(seen, ring_edges(outline)).min())
