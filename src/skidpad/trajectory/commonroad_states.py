"""CommonRoad's states as a trajectory; they are read as they are, without `commonroad-io`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..checks import positive
from ..errors import InvalidValue
from ..units import m, m_s, m_s2, rad, rad_s

_NEEDED = {"orientation": ("yaw", rad), "velocity": ("v", m_s)}
_KNOWN = {
    "steering_angle": ("steer", rad),
    "slip_angle": ("beta", rad),
    "yaw_rate": ("omega", rad_s),
    "acceleration": ("a", m_s2),
}
"""Names and units of CommonRoad's fields."""


def read(kind: Any, source: Any, dt: float, name: str) -> Any:
    """See `Trajectory.from_commonroad`."""
    positive("dt", dt, "s")
    states = _states(source)
    steps = _steps(states)
    fields = _NEEDED | {n: field for n, field in _KNOWN.items() if all(_has(s, n) for s in states)}
    columns = [_positions(states), *(_column(states, n) for n in fields)]
    values = np.column_stack(columns)
    values[:, 2] = np.unwrap(values[:, 2])
    hints: dict[str, Any] = {"x": m, "y": m} | {ours: unit for ours, unit in fields.values()}
    State = record.define("CommonRoadState", hints, doc="What CommonRoad's states have.")
    return kind.from_arrays(steps * dt, (State, values), name=name, meta={"dt": float(dt)})


def _states(source: Any) -> Sequence[Any]:
    """The states of a list, a CommonRoad trajectory or an obstacle, whose first stands apart."""
    states: list[Any] = []
    if hasattr(source, "initial_state"):
        states.append(source.initial_state)
        source = getattr(getattr(source, "prediction", None), "trajectory", ())
    states += list(getattr(source, "state_list", source))
    if len(states) > 1 and getattr(states[0], "time_step", None) == states[1].time_step:
        states = states[1:]  # our own export has the first state in both places
    if not states:
        raise InvalidValue("there is no CommonRoad state to make a trajectory of")
    return states


def _has(state: Any, name: str) -> bool:
    return getattr(state, name, None) is not None


def _steps(states: Sequence[Any]) -> Array:
    steps = _column(states, "time_step")
    if (np.diff(steps) <= 0.0).any():
        late = int(np.argmax(np.diff(steps) <= 0.0))
        raise InvalidValue(
            f"time_step = {steps[late + 1]:g} follows {steps[late]:g}; time steps must increase"
        )
    return steps


def _positions(states: Sequence[Any]) -> Array:
    for k, state in enumerate(states):
        place: Any = getattr(state, "position", None)
        if np.shape(place) != (2,):
            raise InvalidValue(
                f"state {k} has position = {place!r}; a trajectory "
                "needs a point (x, y), not an area"
            )
    return np.array([state.position for state in states], dtype=float)


def _column(states: Sequence[Any], name: str) -> Array:
    for k, state in enumerate(states):
        value = getattr(state, name, None)
        if not isinstance(value, Real):
            raise InvalidValue(
                f"state {k} has {name} = {value!r}; a trajectory needs a number, not a range"
            )
    return np.array([float(getattr(state, name)) for state in states])
