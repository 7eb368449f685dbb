"""Pedal positions that an acceleration tells of: what the ACTUATION models report as status.

Facts from autoware.universe 0.43.0, `simple_planning_simulator` (getActuationStatus). Upstream
turns the brake map's accelerations around to search them, but not the pedal positions that belong
to them: weak braking is reported as a strong pedal. `compat="upstream"` repeats that.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...checks import one_of
from ...errors import InvalidValue
from .inverse_table import InverseTable, MapSource, falling, rising

__all__ = ["ActuationStatus", "actuation_status"]


class ActuationStatus:
    """Pedal positions from acceleration and speed, through the inverse of the pedal maps.

    A map that is `None` is a conversion that is switched off: its pedal is always at 0.
    """

    def __init__(
        self,
        accel_map: MapSource | None,
        brake_map: MapSource | None,
        compat: str | None = None,
        *,
        vel_lim: float = math.inf,
        vel_rate_lim: float = math.inf,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._vel_lim = _limit("vel_lim", vel_lim)
        self._vel_rate_lim = _limit("vel_rate_lim", vel_rate_lim)
        self._accel = None if accel_map is None else _accel_inverse(accel_map)
        self._brake = None if brake_map is None else _brake_inverse(brake_map, compat)

    def __call__(self, a_x: float, v_x: float) -> tuple[float, float] | None:
        """(accel, brake) at an acceleration in m/s² and a speed in m/s, both limited first.

        `None` if neither pedal has a map: then there is nothing to report.
        """
        if self._accel is None and self._brake is None:
            return None
        a = min(max(a_x, -self._vel_rate_lim), self._vel_rate_lim)
        v = min(max(v_x, -self._vel_lim), self._vel_lim)
        accel = 0.0 if self._accel is None else self._accel.row_of(a, v)
        brake = 0.0 if self._brake is None else self._brake.row_of(a, v)
        return accel, brake


def actuation_status(
    accel_map: MapSource | None,
    brake_map: MapSource | None,
    a_x: float,
    v_x: float,
    compat: str | None = None,
) -> tuple[float, float] | None:
    """(accel, brake) pedal positions for one acceleration in m/s² and speed in m/s.

    For many, make one `ActuationStatus`: it checks and prepares the maps only once.
    """
    return ActuationStatus(accel_map, brake_map, compat)(a_x, v_x)


def _accel_inverse(accel_map: MapSource) -> InverseTable:
    # Below what the lowest row gives, the pedal is at rest, whatever the number of that row.
    return replace(rising(accel_map, "accel_map"), below=0.0)


def _brake_inverse(brake_map: MapSource, compat: str | None) -> InverseTable:
    inverse = falling(brake_map, "brake_map")
    # Beyond the table upstream answers rightly, so only the rows are turned around.
    return inverse if compat is None else replace(inverse, rows=inverse.rows[::-1])


def _limit(name: str, value: float) -> float:
    if not value >= 0.0:
        raise InvalidValue(f"{name} = {value} must be at least 0")
    return value
