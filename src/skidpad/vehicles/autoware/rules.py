"""Where the models and the program they come from part: the repairs, each beside what it repairs.

docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from ...components.actuator import limited
from ...components.gear import forbids
from ...ops import maximum, where
from ...units import m_s, m_s2, one, rad, s


class Stop(NamedTuple):
    """What a stop by the gear leaves behind."""

    a_x: m_s2
    """Acceleration that the drive is left with."""
    a_stop: m_s2
    """Acceleration reported for the update, besides that of the drive."""


@dataclass(frozen=True)
class Rules:
    """The points on which the two modes differ."""

    velocity_change: Callable[[m_s, m_s, s, Any, m_s2], m_s2]
    """Acceleration from the velocities before and after dt; last, the one reported before."""
    stop: Callable[[m_s, s, Any], Stop]
    """What a stop from a velocity within dt leaves behind."""
    steer_map_column: Callable[[m_s, rad], float]
    """Column coordinate of the steering map, from velocity and tyre angle."""
    dead_time: str
    """Which command acts after a dead time; see `skidpad.model.Model.dead_time_rule`."""
    reproduces: str = ""
    """The program whose numbers these rules repeat; empty where it is repaired."""

    @property
    def upstream(self) -> bool:
        """Whether these are the rules of the upstream program."""
        return bool(self.reproduces)


def _change(before: m_s, after: m_s, dt: s, p: Any, reported: m_s2) -> m_s2:
    """Change of velocity per time; over no time, what was reported before stays."""
    passes = dt > 0.0
    # The reciprocal is taken of a number above 0 in either case: Python would raise at 0.
    return where(passes, (after - before) * (1.0 / where(passes, dt, p.least_dt)), reported)


def _upstream_change(before: m_s, after: m_s, dt: s, p: Any, reported: m_s2) -> m_s2:
    """Change of velocity per time; over no time infinite or NaN."""
    passes = dt > 0.0
    return (after - before) * where(passes, 1.0 / where(passes, dt, p.least_dt), inf)


def _stop(v_x: m_s, dt: s, p: Any) -> Stop:
    """The drive lets go; what is reported keeps to the limit of acceleration."""
    return Stop(0.0, limited(_stopping(v_x, dt, p), p.vel_rate_lim))


def _upstream_stop(v_x: m_s, dt: s, p: Any) -> Stop:
    """The drive is left with the whole deceleration, and recovers from it at its own pace."""
    return Stop(_stopping(v_x, dt, p), 0.0)


def _stopping(v_x: m_s, dt: s, p: Any) -> m_s2:
    return v_x * (-1.0 / maximum(dt, p.least_dt))


REPAIRED = Rules(
    velocity_change=_change,
    stop=_stop,
    steer_map_column=lambda v_x, steer: steer,
    dead_time="at_least",
)
UPSTREAM = Rules(
    velocity_change=_upstream_change,
    stop=_upstream_stop,
    steer_map_column=lambda v_x, steer: v_x,
    dead_time="nearest",
    reproduces="simple_planning_simulator of autoware.universe 0.43.0 (b8ce82e)",
)


def guarded(before: Any, after: Any, gear: one, dt: s, p: Any, rules: Rules) -> Any:
    """The state after an update, or that of a stopped car if the gear forbids its velocity.

    A stop puts the car back to where the update began; its steering has moved nevertheless.
    """
    stops = forbids(gear, after.v_x)
    stop = rules.stop(before.v_x, dt, p)
    return after._replace(
        x=where(stops, before.x, after.x),
        y=where(stops, before.y, after.y),
        yaw=where(stops, before.yaw, after.yaw),
        v_x=where(stops, 0.0, after.v_x),
        a_x=where(stops, stop.a_x, after.a_x),
        a_stop=where(stops, stop.a_stop, 0.0),
    )
