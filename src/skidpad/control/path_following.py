"""Following a line with a steering law: common parts of all laws, and one law.

The line is supplied in one of two ways. By rows: the policy receives the point of the reference for
the current time, and approximates the line by the circle that touches it there. Or compiled in: the
policy has the whole line as a table and remembers its distance along it, so that it needs no
references and does not chase a reference that drives away.

`steer` steers along a line by curvature feed-forward and feedback like a spring and damper over
distance. Without feed-forward errors the deviation e from the line obeys e'' + 2 ζ/d e' + e/d² = 0,
where the prime is a derivative by distance driven and d is `settling`. As the law is written over
distance instead of time, the gains need no schedule over speed: the vehicle returns to the line on
the same path at any speed, and at standstill, where steering has no effect, the command stays
finite.
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
from .car import (
    NEAREST_TO_CENTRE,
    Car,
    Deviation,
    Motion,
    advance,
    car_of,
    deviation,
    upstream,
    wrapped,
)
from .pid import SpeedGains, SpeedMemory, pid_control
from .reference import Point, Reference, per_m2, reference_of

CRUISE = SpeedGains(k_p=1.5, k_i=0.3, limit=4.0)
"""Default speed control of the followers."""


class Seen(NamedTuple):
    """Foot of the perpendicular from a position to the line, and the position's offset from the
    line.
    """

    ahead: m
    """Distance along the line from the point of the reference to the foot."""
    left: m
    """Distance of the position from the foot, positive to the left of the line."""
    heading: rad
    """Direction of the line at the foot."""
    curvature: per_m
    """Curvature of the line at the foot, positive to the left."""
    v: m_s
    """Speed of the reference at the foot."""
    a: m_s2
    """Time derivative of the reference speed."""
    sharpness: per_m2
    """Derivative of the curvature by distance."""


def locate(point: Point, x: m, y: m) -> Seen:
    """Foot and offset of a position, for the circle or straight line tangent to the path at a
    point.
    """
    off = deviation(Motion(x, y, 0.0, 0.0, 0.0), LinePoint(*point[:4]))
    kappa = point.curvature
    q = off.left - 0.5 * kappa * (off.ahead * off.ahead + off.left * off.left)
    # `ratio` is the distance from the centre over the radius; (1 - ratio) / kappa is computed
    # without dividing by kappa.
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


def locate_along(table: Callable[[Any], Point], progress: m, x: m, y: m) -> tuple[Seen, m]:
    """Foot and offset of a position, and the foot's distance along a tabulated line.

    `progress` is the distance along the line at the previous call.
    """
    before = table(progress)
    off = deviation(Motion(x, y, 0.0, 0.0, 0.0), LinePoint(*before[:4]))
    here = progress + advance(off, before.curvature)
    return locate(table(here), x, y), here


def heading_error(yaw: rad, heading: rad) -> rad:
    """Yaw minus a heading, in [-π, π): positive if the car points to the left of it."""
    return wrapped(yaw - heading)


class PathMemory(NamedTuple):
    """Memory of a follower of a compiled-in line."""

    progress: m = 0.0
    """Distance along the line."""
    speed: SpeedMemory = SpeedMemory()


class View(NamedTuple):
    """Inputs of a steering law."""

    motion: Motion
    """Motion of the vehicle's reference point."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    seen: Seen
    """Foot and offset of the law's own point of the car."""
    goal: Callable[[m], Point]
    """Point of the line at a distance in m beyond the foot; the reference itself if the line is not
    compiled in."""


class Law(NamedTuple):
    """Steering law: the point of the car that it uses, and its steering angle."""

    place: Callable[[Motion, Any], tuple[m, m]]
    steer: Callable[[Any, Any, View], rad]
    """Steering angle from the policy's `law` parameters, the geometry and the view."""


def cruise(
    p: SpeedGains, memory: SpeedMemory, v: m_s, seen: Seen, dt: s
) -> tuple[m_s2, SpeedMemory]:
    """Acceleration that holds the reference speed, with feed-forward of its derivative."""
    return pid_control(p, memory, v, seen.v, dt, anti_windup=True, feed_forward=seen.a)


def demand_of(steer: rad, a: m_s2, v: m_s, g: Any) -> Demand:
    """Demand for a steering angle, limited, with the corresponding yaw rate and the acceleration
    `a`.
    """
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
    """Policy of a steering law with these gains and with speed control.

    Its parameters are `law`, the gains, `speed` (`SpeedGains`) and `geometry`, the geometry of the
    car.
    """
    known = car or car_of(vehicle_of(vehicle))
    Params = _params(type(known.geometry), type(gains))
    params = Params(known.geometry, gains, record.build(SpeedGains, speed, base=CRUISE))

    def commanded(x: Any, view: View, m: SpeedMemory, p: Any, dt: s) -> tuple[Any, SpeedMemory]:
        a, memory = cruise(p.speed, m, known.speed(x), view.seen, dt)
        demand = demand_of(law.steer(p.law, p.geometry, view), a, view.seen.v, p.geometry)
        return known.command(x, demand, p.geometry), memory

    if path is None:

        def follow_rows(x: Any, m: SpeedMemory, r: Point, p: Any, dt: s) -> tuple[Any, SpeedMemory]:
            motion = known.motion(x, p.geometry)
            seen = locate(r, *law.place(motion, p.geometry))
            view = View(motion, known.omega(x, p.geometry), seen, lambda _: r)
            return commanded(x, view, m, p, dt)

        return Policy(follow_rows, SpeedMemory, Point, Params, params, name=name)
    line = reference_of(path).table(knots)

    def follow_path(x: Any, m: PathMemory, p: Any, dt: s) -> tuple[Any, PathMemory]:
        motion = known.motion(x, p.geometry)
        seen, here = locate_along(line, m.progress, *law.place(motion, p.geometry))
        view = View(motion, known.omega(x, p.geometry), seen, lambda ahead: line(here + ahead))
        u, memory = commanded(x, view, m.speed, p, dt)
        return u, PathMemory(here, memory)

    return Policy(follow_path, PathMemory, Params=Params, params=params, name=name)


@made_once
def _params(Geometry: type, Gains: type) -> Any:
    hints = {"geometry": Geometry, "law": Gains, "speed": SpeedGains}
    return record.define("Params", hints, doc="Parameters of the policy.")


def nearest(line: Array, places: Array, ends: tuple[float, float] | None = None) -> Nearest:
    """Nearest point of the line for each of the positions (k, 2).

    With `ends`, headings in rad, the line is extended straight at its start and its end.
    """
    whole = Line.through(line, name="line")
    if ends is not None:
        inner = whole.heading[1:-1]
        whole = replace(whole, heading=np.concatenate([ends[:1], inner, ends[1:]]))
    return whole.project(places, beyond=ends is not None)


def signed_distance(points: ArrayLike, line: ArrayLike, *, compat: str | None = None) -> Any:
    """Signed distance in m from points to a line without extension; positive to its left.

    One point (2,) gives a number, (k, 2) an array. "Left" refers to the mean direction at a corner,
    and to the first or last segment at an end; straight ahead of an end is left.
    `compat="upstream"` reproduces commonroad-control, for which all points nearest to the start
    count as left of the line.
    """
    places = np.atleast_2d(np.asarray(points, dtype=float))
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise InvalidValue(f"points must be finite and of shape (2,) or (k, 2), got {points!r}")
    s, left = Line.through(line, name="line").project(places)
    if upstream(compat):
        left = np.where(s == 0.0, np.abs(left), left)
    return float(left[0]) if np.ndim(points) == 1 else left


LEAST_COS2 = 1e-4
"""Lower bound of the squared cosine of the slip angle, for finite gradients."""


class Params(NamedTuple):
    """Geometry of the vehicle, and parameters of its return to the line."""

    l_f: Annotated[m, positive]
    """Distance from the point that follows the line to the front axle."""
    l_r: Annotated[m, non_negative]
    """Distance from the point that follows the line back to the rear axle."""
    steer_max: Annotated[rad, positive]
    """Largest demanded steering angle, in either direction."""
    settling: Annotated[m, positive] = 3.0
    """Characteristic distance over which a deviation decays."""
    damping: Annotated[one, positive] = 1.0
    """Damping ratio of the return; 1 is without overshoot."""
    v_least: Annotated[m_s, positive] = 1.0
    """Speed below which the damping fades, as the direction of travel is ill-defined."""


def kinematic_steer(curvature: per_m, l_f: m, l_r: m) -> rad:
    """Steering angle with which a bicycle without tyre slip gives a point this path curvature.

    The point lies `l_f` behind the front axle and `l_r` in front of the rear axle. It moves at the
    angle asin(l_r κ) to the heading, hence tan(steer) = (l_f + l_r) κ / sqrt(1 - (l_r κ)²).
    """
    sine = l_r * curvature
    cos2 = maximum(1.0 - sine * sine, LEAST_COS2)
    return atan2((l_f + l_r) * curvature, sqrt(cos2))


def steer(p: Params, seen: Deviation, speed: m_s, curvature: per_m) -> rad:
    """Steering target in rad, positive to the left; this controller needs no memory.

    `seen` is the vehicle relative to its foot on the line, `speed` its speed over ground,
    `curvature` the feed-forward: that of the line, or its mean over a stretch ahead if the steering
    is slow.
    """
    slope = seen.v_left / maximum(speed, p.v_least)
    back = (2.0 * p.damping * slope + seen.left / p.settling) / p.settling
    angle = kinematic_steer(curvature - back, p.l_f, p.l_r)
    return clip(angle, -p.steer_max, p.steer_max)
