"""Following a line with a steering law: what the laws share.

The line comes in one of two ways. By rows: the policy is told the point of the reference that
belongs to the time, and takes the line to be the circle that touches it there. Or compiled in: the
policy knows the whole line as a table and remembers how far along it is, so that it needs no
references and does not hurry after a reference that drives away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import record
from ..body import Wish
from ..checks import vehicle_of
from ..components.actuator import limited
from ..ops import atan2, maximum, sqrt, tan
from ..policy import Policy
from ..recipes import made_once
from ..units import m, m_s, m_s2, one, per_m, rad, rad_s, s
from .car import Car, car_of
from .line import LinePoint, Motion, advance, deviation
from .pid_long_lat import SpeedGains, SpeedMemory, answer
from .reference import Point, Reference, per_m2, reference_of
from .state_conversion import wrapped

NEAREST_TO_CENTRE: one = 0.1
"""Share of a bend's radius that a place is taken to keep from its centre, for finite slopes."""

CRUISE = SpeedGains(k_p=1.5, k_i=0.3, limit=4.0)
"""Speed control of the followers, unless said otherwise."""


class Seen(NamedTuple):
    """A place seen from the line: from the foot of the perpendicular to it."""

    ahead: m
    """Distance along the line from the point that was told to the foot."""
    left: m
    """Distance from the foot, positive to the left of the line."""
    heading: rad
    """Direction of the line at the foot."""
    curvature: per_m
    """Curvature of the line at the foot, positive to the left."""
    v: m_s
    """Speed of the reference."""
    a: m_s2
    """Rate of that speed."""
    sharpness: per_m2
    """Rate of the curvature over distance."""


def seen_from(point: Point, x: m, y: m) -> Seen:
    """A place seen from the circle (or straight) that touches the line at a point of it."""
    off = deviation(Motion(x, y, 0.0, 0.0, 0.0), _touching(point))
    kappa = point.curvature
    q = off.left - 0.5 * kappa * (off.ahead * off.ahead + off.left * off.left)
    # The distance from the centre over the radius; (1 - ratio) / kappa without dividing by kappa.
    ratio = sqrt(maximum(1.0 - 2.0 * kappa * q, NEAREST_TO_CENTRE * NEAREST_TO_CENTRE))
    turned = atan2(kappa * off.ahead, maximum(1.0 - kappa * off.left, NEAREST_TO_CENTRE))
    return Seen(
        advance(off, kappa),
        2.0 * q / (1.0 + ratio),
        point.heading + turned,
        kappa,
        point.v,
        point.a,
        point.sharpness,
    )


def _touching(point: Point) -> LinePoint:
    return LinePoint(point.x, point.y, point.heading, point.curvature)


def progressed(table: Callable[[Any], Point], progress: m, x: m, y: m) -> tuple[Seen, m]:
    """A place seen from a line, and the distance along it to the foot, from the last such one."""
    before = table(progress)
    off = deviation(Motion(x, y, 0.0, 0.0, 0.0), _touching(before))
    here = progress + advance(off, before.curvature)
    return seen_from(table(here), x, y), here


def heading_error(yaw: rad, heading: rad) -> rad:
    """Yaw less a heading, in [-π, π): positive if the car points to the left of it."""
    return wrapped(yaw - heading)


class PathMemory(NamedTuple):
    """What a follower of a compiled-in line remembers."""

    progress: m = 0.0
    """Distance along the line."""
    speed: SpeedMemory = SpeedMemory()


class View(NamedTuple):
    """What a steering law is given."""

    motion: Motion
    """Motion of the state's point."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    seen: Seen
    """The law's own place of the car, seen from the line."""
    goal: Callable[[m], Point]
    """The line a distance in m beyond the foot; by rows, the point that was told."""


class Law(NamedTuple):
    """A steering law: which place of the car it looks from, and the angle it wants."""

    place: Callable[[Motion, Any], tuple[m, m]]
    steer: Callable[[Any, Any, View], rad]
    """Of the policy's `law` parameters, the geometry and what is seen."""


def cruise(
    p: SpeedGains, memory: SpeedMemory, v: m_s, seen: Seen, dt: s
) -> tuple[m_s2, SpeedMemory]:
    """Acceleration that holds the speed of the reference, with its own rate fed forward."""
    return answer(p, memory, v, seen.v, dt, anti_windup=True, feed_forward=seen.a)


def wish_of(steer: rad, a: m_s2, v: m_s, g: Any) -> Wish:
    """What a law asks for: an angle within its limit, and the yaw rate that goes with it."""
    angle = limited(steer, g.steer_max)
    return Wish(angle, a, v, omega=v * tan(angle) * (1.0 / (g.l_f + g.l_r)))


def follower(
    name: str,
    vehicle: Any,
    law: Law,
    gains: Any,
    *,
    speed: Any,
    path: Reference | None,
    knots: int,
    car: Car | None,
) -> Policy:
    """The policy of a steering law with these gains and with cruise control.

    Its parameters are `law`, the gains, `speed` (`SpeedGains`) and `geometry`, that of the car.
    """
    known = car or car_of(vehicle_of(vehicle))
    Params = _params(type(known.geometry), type(gains))
    params = Params(known.geometry, gains, record.build(SpeedGains, speed, base=CRUISE))
    if path is None:
        return Policy(_told(law, known), SpeedMemory, Point, Params, params, name=name)
    act = _followed(law, known, reference_of(path).table(knots))
    return Policy(act, PathMemory, Params=Params, params=params, name=name)


@made_once
def _params(Geometry: type, Gains: type) -> Any:
    hints = {"geometry": Geometry, "law": Gains, "speed": SpeedGains}
    return record.define("Params", hints, doc="Parameters of the policy.")


def _told(law: Law, car: Car) -> Callable[..., Any]:
    def act(x: Any, m: SpeedMemory, r: Point, p: Any, dt: s) -> tuple[Any, SpeedMemory]:
        motion = car.motion(x, p.geometry)
        seen = seen_from(r, *law.place(motion, p.geometry))
        view = View(motion, car.omega(x, p.geometry), seen, lambda _: r)
        return _commanded(law, car, x, view, m, p, dt)

    return act


def _followed(law: Law, car: Car, line: Callable[[Any], Point]) -> Callable[..., Any]:
    def act(x: Any, m: PathMemory, p: Any, dt: s) -> tuple[Any, PathMemory]:
        motion = car.motion(x, p.geometry)
        seen, here = progressed(line, m.progress, *law.place(motion, p.geometry))
        view = View(motion, car.omega(x, p.geometry), seen, lambda ahead: line(here + ahead))
        u, memory = _commanded(law, car, x, view, m.speed, p, dt)
        return u, PathMemory(here, memory)

    return act


def _commanded(
    law: Law, car: Car, x: Any, view: View, memory: SpeedMemory, p: Any, dt: s
) -> tuple[Any, SpeedMemory]:
    a, memory = cruise(p.speed, memory, car.speed(x), view.seen, dt)
    wish = wish_of(law.steer(p.law, p.geometry, view), a, view.seen.v, p.geometry)
    return car.command(x, wish, p.geometry), memory
