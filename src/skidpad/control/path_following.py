"""Following a line with a steering law: what the laws share, and a law of its own.

The line comes in one of two ways. By rows: the policy gets the point of the reference that belongs
to the time, and takes the line to be the circle that touches it there. Or compiled in: the policy
has the whole line as a table and remembers how far along it is, so that it needs no references and
does not hurry after a reference that drives away.

`steer` steers along a line by curvature feed-forward and by feedback of a spring and damper over
distance. Without feed-forward errors the deviation e from the line obeys e'' + 2 ζ/d e' + e/d² = 0,
where the dash is a derivative over distance driven and d is `settling`. Written over distance
instead of time, the gains need no schedule over speed: the vehicle returns to the line on the same
path at any pace, and at standstill, where steering moves nothing, the command stays finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import record
from ..core.arrays import Array
from ..core.body import Demand
from ..core.model import vehicle_of
from ..core.policy import Policy
from ..core.record import made_once
from ..errors import InvalidValue
from ..geometry.line import Line, LinePoint, Nearest
from ..ops import atan2, clip, maximum, sqrt, tan
from ..units import m, m_s, m_s2, non_negative, one, per_m, positive, rad, rad_s, s
from ..vehicles.parts.actuators import limited
from .car import Car, Deviation, Motion, advance, car_of, deviation, upstream, wrapped
from .pid import SpeedGains, SpeedMemory, pid_control
from .reference import Point, Reference, per_m2, reference_of

NEAREST_TO_CENTRE: one = 0.1
"""Share of a bend's radius that a place is taken to keep from its centre, for finite slopes."""

CRUISE = SpeedGains(k_p=1.5, k_i=0.3, limit=4.0)
"""Speed control of the followers, unless said otherwise."""


class Seen(NamedTuple):
    """A place seen from the line: from the foot of the perpendicular to it."""

    ahead: m
    """Distance along the line from the point of the reference to the foot."""
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


def locate(point: Point, x: m, y: m) -> Seen:
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


def locate_along(table: Callable[[Any], Point], progress: m, x: m, y: m) -> tuple[Seen, m]:
    """A place seen from a line, and the distance along it to the foot, from the last such one."""
    before = table(progress)
    off = deviation(Motion(x, y, 0.0, 0.0, 0.0), _touching(before))
    here = progress + advance(off, before.curvature)
    return locate(table(here), x, y), here


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
    """The line a distance in m beyond the foot; by rows, the point of the reference."""


class Law(NamedTuple):
    """A steering law: which place of the car it looks from, and the angle it wants."""

    place: Callable[[Motion, Any], tuple[m, m]]
    steer: Callable[[Any, Any, View], rad]
    """Angle from the policy's `law` parameters, the geometry and the view."""


def cruise(
    p: SpeedGains, memory: SpeedMemory, v: m_s, seen: Seen, dt: s
) -> tuple[m_s2, SpeedMemory]:
    """Acceleration that holds the speed of the reference, with its own rate fed forward."""
    return pid_control(p, memory, v, seen.v, dt, anti_windup=True, feed_forward=seen.a)


def demand_of(steer: rad, a: m_s2, v: m_s, g: Any) -> Demand:
    """What a law asks for: an angle within its limit, and the yaw rate that goes with it."""
    angle = limited(steer, g.steer_max)
    return Demand(angle, a, v, omega=v * tan(angle) * (1.0 / (g.l_f + g.l_r)))


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
        return Policy(_follow_rows(law, known), SpeedMemory, Point, Params, params, name=name)
    act = _follow_path(law, known, reference_of(path).table(knots))
    return Policy(act, PathMemory, Params=Params, params=params, name=name)


@made_once
def _params(Geometry: type, Gains: type) -> Any:
    hints = {"geometry": Geometry, "law": Gains, "speed": SpeedGains}
    return record.define("Params", hints, doc="Parameters of the policy.")


def _follow_rows(law: Law, car: Car) -> Callable[..., Any]:
    def act(x: Any, m: SpeedMemory, r: Point, p: Any, dt: s) -> tuple[Any, SpeedMemory]:
        motion = car.motion(x, p.geometry)
        seen = locate(r, *law.place(motion, p.geometry))
        view = View(motion, car.omega(x, p.geometry), seen, lambda _: r)
        return _commanded(law, car, x, view, m, p, dt)

    return act


def _follow_path(law: Law, car: Car, line: Callable[[Any], Point]) -> Callable[..., Any]:
    def act(x: Any, m: PathMemory, p: Any, dt: s) -> tuple[Any, PathMemory]:
        motion = car.motion(x, p.geometry)
        seen, here = locate_along(line, m.progress, *law.place(motion, p.geometry))
        view = View(motion, car.omega(x, p.geometry), seen, lambda ahead: line(here + ahead))
        u, memory = _commanded(law, car, x, view, m.speed, p, dt)
        return u, PathMemory(here, memory)

    return act


def _commanded(
    law: Law, car: Car, x: Any, view: View, memory: SpeedMemory, p: Any, dt: s
) -> tuple[Any, SpeedMemory]:
    a, memory = cruise(p.speed, memory, car.speed(x), view.seen, dt)
    demand = demand_of(law.steer(p.law, p.geometry, view), a, view.seen.v, p.geometry)
    return car.command(x, demand, p.geometry), memory


def nearest(line: Array, places: Array, ends: tuple[float, float] | None = None) -> Nearest:
    """The nearest point of the line for each of the places (k, 2).

    With `ends`, headings in rad, the line goes on straight at its start and its end.
    """
    whole = Line.through(line, name="line")
    if ends is not None:
        inner = whole.heading[1:-1]
        whole = replace(whole, heading=np.concatenate([ends[:1], inner, ends[1:]]))
    return whole.project(places, beyond=ends is not None)


def signed_distance(points: ArrayLike, line: ArrayLike, *, compat: str | None = None) -> Any:
    """Distance from each point to the line, which ends at its ends; positive to its left, m.

    One point (2,) gives a number, (k, 2) an array. At a corner the left is that of the mean
    direction there, at an end that of the first or last segment; straight ahead of an end is left.
    `compat="upstream"` repeats commonroad-control, for which all places nearest to the start are to
    its left.
    """
    places = np.atleast_2d(np.asarray(points, dtype=float))
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise InvalidValue(f"points must be finite and of shape (2,) or (k, 2), got {points!r}")
    s, left = Line.through(line, name="line").project(places)
    if upstream(compat):
        left = np.where(s == 0.0, np.abs(left), left)
    return float(left[0]) if np.ndim(points) == 1 else left


LEAST_COS2 = 1e-4
"""Floor on the squared cosine of the slip angle: finite gradients for turns that are too tight."""


class Params(NamedTuple):
    """Geometry of the vehicle and the manner of its return to the line."""

    l_f: Annotated[m, positive]
    """Distance from the point that follows the line to the front axle."""
    l_r: Annotated[m, non_negative]
    """Distance from that point to the rear axle."""
    steer_max: Annotated[rad, positive]
    """Largest steering angle asked for, either side."""
    settling: Annotated[m, positive] = 3.0
    """Length over which a deviation dies out."""
    damping: Annotated[one, positive] = 1.0
    """Damping ratio of the return; 1 does not overshoot."""
    v_least: Annotated[m_s, positive] = 1.0
    """Speed below which the damping fades, as the direction of travel gets vague."""


def kinematic_steer(curvature: per_m, l_f: m, l_r: m) -> rad:
    """Steering angle with which a bicycle without tyre slip gives a point this path curvature.

    The point lies `l_f` behind the front and `l_r` before the rear axle. It slips by asin(l_r κ)
    against the heading, hence tan(steer) = (l_f + l_r) κ / sqrt(1 - (l_r κ)²).
    """
    sine = l_r * curvature
    cos2 = maximum(1.0 - sine * sine, LEAST_COS2)
    return atan2((l_f + l_r) * curvature, sqrt(cos2))


def steer(p: Params, seen: Deviation, speed: m_s, curvature: per_m) -> rad:
    """Steering target, positive to the left; this controller needs no memory.

    `seen` is the vehicle from its foot on the line, `speed` its speed over ground, `curvature` the
    feed-forward: that of the line, or its mean over a stretch ahead where the steering is slow.
    """
    slope = seen.v_left / maximum(speed, p.v_least)
    back = (2.0 * p.damping * slope + seen.left / p.settling) / p.settling
    angle = kinematic_steer(curvature - back, p.l_f, p.l_r)
    return clip(angle, -p.steer_max, p.steer_max)
