"""Driver aids for cars on four spinning wheels: they compile with car and driver into one kernel.

An `Aid` stands between a driver, any `Policy`, and the car: `aided(driver, stability(car),
anti_lock(car))` is a policy again. Aids read the state of the car, its true speed among it.
"""

from __future__ import annotations

from .aid import Aid, aided, told
from .power import power_limit
from .slip_control import anti_lock, traction
from .yaw_control import stability, torque_vectoring

__all__ = [
    "Aid",
    "aided",
    "anti_lock",
    "power_limit",
    "stability",
    "told",
    "torque_vectoring",
    "traction",
]
