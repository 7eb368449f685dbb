"""What `two_track` does for its chassis: loads that follow the tyres, and a start in balance."""

from __future__ import annotations

from typing import Any

from ..components.air import AeroMap
from ..components.assembly import base_of
from ..components.chassis import FOLLOWED, Pressed
from ..components.on_road import RoadUnderCar
from ..components.rigid_body import Acceleration
from .two_track_records import disturbance_type


def following_loads(x: Any, pushed: Acceleration, p: Any) -> dict[str, Any]:
    """Rates with which loads follow the force of the tyres, as far as the chassis has them."""
    kept, pairs = p.chassis.follows, zip(FOLLOWED, pushed, strict=True)
    if not kept:
        return {}
    by_t = 1.0 / p.t_load
    return {name: (now - getattr(x, name)) * by_t for name, now in pairs if name in kept}


def on_springs(x: Any, road: RoadUnderCar, p: Any) -> Any:
    """The state with body and wheels in balance, as far as the chassis has them move."""
    if not p.chassis.fills:
        return x
    at = x
    # On a map of ride heights a body that sinks is pressed down more.
    for _ in range(8 if base_of(type(p.air)) is AeroMap else 1):
        air = p.air.forces(at, disturbance_type(type(p.air))(), p.chassis.travel(at, p), p)
        balance = p.chassis.settled(x, road, Pressed(air.front, air.rear), p)
        at = x._replace(**balance._asdict())
    return at
