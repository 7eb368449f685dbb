"""What `two_track` does for its chassis: loads that follow the tyres, and a start in balance."""

from __future__ import annotations

from typing import Any

from ..components.air import AeroMap
from ..components.assembly import base_of
from ..components.chassis import FOLLOWED, WheelMoments, push_of
from ..components.on_road import RoadUnderCar
from ..components.rigid_body import Acceleration
from .two_track_records import disturbance_type
from .two_track_trailers import pressed


def following_loads(x: Any, pushed: Acceleration, turned: WheelMoments, p: Any) -> dict[str, Any]:
    """Rates with which loads follow the force of the tyres and the moments of the wheels, as far
    as the chassis has them."""
    kept = p.chassis.follows
    if not kept:
        return {}
    more, by_t = push_of(turned, p), 1.0 / p.t_load
    along = pushed.x if p.chassis.turns_by_pitch else pushed.x + more.x
    pairs = zip(FOLLOWED, (along, pushed.y + more.y), strict=True)
    return {name: (now - getattr(x, name)) * by_t for name, now in pairs if name in kept}


def on_springs(x: Any, road: RoadUnderCar, p: Any) -> Any:
    """The state with body and wheels in balance, as far as the chassis has them move."""
    if not p.chassis.fills:
        return x
    at = x
    # On a map of ride heights a body that sinks is pressed down more.
    for _ in range(8 if base_of(type(p.air)) is AeroMap else 1):
        still = disturbance_type(type(p.air), type(p.trailers))()
        air = p.air.forces(at, still, p.chassis.travel(at, p), p)
        balance = p.chassis.settled(x, road, pressed(at, air, p), p)
        at = x._replace(**balance._asdict())
    return at
