"""Variable gear ratio between steering wheel and tyre, after Autoware's vehicle_cmd_converter.

The ratio grows with speed and falls with the angle: ratio = a + b v² - c |wheel|.
"""

from __future__ import annotations

from ..ops import abs, maximum
from ..units import m_s, one, rad

SMALLEST_RATIO: one = 1e-5
"""The ratio never falls below this, so that a tyre angle can be had from any wheel angle."""


def gear_ratio(v_x: m_s, wheel: rad, a: one, b: float, c: float) -> one:
    """Steering wheel angle per tyre angle at a speed and a steering wheel angle.

    `b` is in s²/m², `c` in 1/rad.
    """
    return maximum(a + b * (v_x * v_x) - c * abs(wheel), SMALLEST_RATIO)


def wheel_angle(v_x: m_s, steer: rad, a: one, b: float, c: float) -> rad:
    """Steering wheel angle that holds the tyres at `steer`, before the ratio reaches its floor.

    It solves wheel = ratio(wheel) steer for wheel.
    """
    return (a + b * (v_x * v_x)) * steer / (1.0 + c * abs(steer))


def tyre_target(v_x: m_s, steer: rad, wheel: rad, a: one, b: float, c: float) -> rad:
    """Tyre angle asked for by a steering wheel angle, with the ratio at the present tyre angle."""
    return wheel / gear_ratio(v_x, wheel_angle(v_x, steer, a, b, c), a, b, c)
