"""A limit on the power of all motors together, as of an engine or of the rules of a race."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import maximum
from ...policy import Nothing
from ...units import Unit, positive, s
from .aid import Aid
from .wheels import WHEELS, chassis

__all__ = ["Params", "power_limit"]

W = Annotated[float, Unit("W", length=2, mass=1, time=-3)]


class Params(NamedTuple):
    """The limit."""

    power: Annotated[W, positive]
    """Largest power at the wheels together."""


def within_power(x: Any, u: Any, m: Nothing, p: Params, dt: s) -> tuple[Any, Nothing]:
    """Scales all torques so that together they give no more than the power."""
    wheels = [(f"tau_{wheel}", getattr(x, f"spin_{wheel}")) for wheel in WHEELS]
    asked = sum((getattr(u, name) * spin for name, spin in wheels), 0.0 * p.power)
    share = p.power / maximum(asked, p.power)
    return u._replace(**{name: share * getattr(u, name) for name, _ in wheels}), m


def power_limit(vehicle: Any, power: W) -> Aid:
    """An engine behind all wheels: torques are scaled to a power, in W."""
    chassis(vehicle)
    return Aid("power_limit", within_power, Params(power))
