"""Feedback of the measured tyre angle: proportional, integral and differential, each limited.

Structure, limits and default gains are those of `raw_vehicle_cmd_converter` in Autoware (its
`pid.cpp` and its parameter file).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import abs, clip, logical_and, where
from ...units import Allowed, Unit, m_s, non_negative, one, rad, s

command = Annotated[float, Unit("1")]
"""In the unit of the steering command: rad, or whatever the rows of a steer map are in."""
per_rad = Annotated[float, Unit("1/rad")]
"""Steering command per angle."""
per_rad_s = Annotated[float, Unit("1/(rad·s)", time=-1)]
"""Steering command per angle and time."""
s_per_rad = Annotated[float, Unit("s/rad", time=1)]
"""Steering command per rate of an angle."""

INTEGRATES_FROM: m_s = 0.01
"""Speed below which the integral fades instead of growing."""


class SteerFeedback(NamedTuple):
    """Gains and limits; the defaults are Autoware's, made for a steer map with rows to ±10."""

    kp: Annotated[per_rad, non_negative] = 150.0
    """Command per error."""
    ki: Annotated[per_rad_s, non_negative] = 15.0
    """Growth of the command per error and second."""
    kd: Annotated[s_per_rad, non_negative] = 0.0
    """Command per rate of the error."""
    max: command = 8.0
    """Largest sum of the three terms."""
    min: command = -8.0
    """Smallest sum of the three terms."""
    max_p: command = 8.0
    """Largest proportional term."""
    min_p: command = -8.0
    """Smallest proportional term."""
    max_i: command = 8.0
    """Largest integral term."""
    min_i: command = -8.0
    """Smallest integral term."""
    max_d: command = 0.0
    """Largest differential term."""
    min_d: command = 0.0
    """Smallest differential term."""
    invalid_integration_decay: Annotated[one, Allowed(0.0, 1.0)] = 0.97
    """Share of the integral term that a call at standstill leaves."""


class Memory(NamedTuple):
    """What the feedback remembers from call to call."""

    integral: command = 0.0
    """The integral term."""
    error: rad = 0.0
    """Error of the call before."""
    calls: one = 0.0
    """0 before the first call, then 1: only a second call knows a rate."""


def feedback(
    p: SteerFeedback, memory: Memory, error: rad, v_x: m_s, dt: s
) -> tuple[command, Memory]:
    """The term to add to the steering command, and the memory after the call.

    `error` is the wanted less the measured tyre angle, positive to the left; `dt` the time since
    the call before. With `dt` = 0 nothing is integrated and no rate is known.
    """
    proportional = clip(p.kp * error, p.min_p, p.max_p)
    grown = clip(memory.integral + p.ki * error * dt, p.min_i, p.max_i)
    faded = memory.integral * p.invalid_integration_decay
    integral = where(abs(v_x) >= INTEGRATES_FROM, grown, faded)
    known = logical_and(memory.calls > 0.0, dt > 0.0)
    rate = where(known, (error - memory.error) / where(dt > 0.0, dt, 1.0), 0.0)
    differential = clip(p.kd * rate, p.min_d, p.max_d)
    total = clip(proportional + integral + differential, p.min, p.max)
    return total, Memory(integral, error, 1.0)
