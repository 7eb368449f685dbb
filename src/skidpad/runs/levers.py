"""The inputs of a vehicle as levers, with the span that its parameters allow them."""

from __future__ import annotations

from typing import Any

from .. import record
from ..model import Vehicle
from .show import Lever

_LIMITS: dict[str, tuple[str, ...]] = {
    "steer": ("steer_max", "steer_lim"),
    "steer_rate": ("steer_rate_max",),
    "curvature": ("curvature_max",),
    "a": ("a_max",),
    "acceleration": ("vel_rate_lim",),
    **dict.fromkeys(("tau_fl", "tau_fr", "tau_rl", "tau_rr"), ("tau_max",)),
}
"""Parameters that say how far an input goes, either way, by its name."""
_ENDS = {"velocity": ("v_min", "v_max")}
"""Parameters that are the two ends of an input."""


def levers(vehicle: Vehicle, owner: int) -> list[Lever]:
    """The inputs of a vehicle, in the order of its record."""
    return [
        Lever(owner, name, vehicle.name, span(vehicle.params, name))
        for name in record.names(vehicle.Input)
    ]


def span(params: Any, name: str) -> float | None:
    """How far an input goes from end to end; None where the parameters do not say."""
    known = dict(zip(record.names(type(params)), record.flatten(params), strict=True))
    limit = next((known[one] for one in _LIMITS.get(name, ()) if one in known), None)
    if limit is not None:
        return 2.0 * float(limit)
    low, high = (known.get(one) for one in _ENDS.get(name, ("", "")))
    return None if low is None or high is None else float(high - low)
