"""Where trailers behind a car are, how they move and how their weight is carried.

Angles of the chain are in the plane of the road under the car. A trailer is held at its hitch by a
ball: it carries a force and, by `damping` and the end stop, a yaw moment, but neither roll nor
pitch. So each trailer balances alone, on its axle and its hitch: loads follow the forces with the
time constant `t_load` of the car, as states, like those of the car itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ops import abs, atan2, clip, cos, sin, sqrt
from ..plane.pose import turned, turned_back
from ..road.contact import wheel_contact
from ..road.grip import FullGrip
from ..road.surfaces import FlatRoad
from ..units import J, N, Nm, Nm_rad, m, m_s, m_s2, one, rad, rad_s
from .axle import Force
from .ramp import ramp, ramp_integral
from .rigid_body import Acceleration, kinetic_energy
from .trailer_records import SIDES
from .wheel import Velocity

__all__ = [
    "Place",
    "TrailerGround",
    "TrailerMotion",
    "axle_loads",
    "drag",
    "hitch_loads",
    "joint_moment",
    "load_targets",
    "stop_energy",
    "trailer_ground",
    "trailer_motions",
    "trailers_energy",
    "world_place",
]

STOP_WIDTH: rad = 0.05
"""Angle within which an end stop sets in, either side of its angle."""


class Place(NamedTuple):
    """A place from the centre of mass of the car and a heading, in the axes of the car."""

    x: m
    y: m
    c: one
    """Cosine of the heading from that of the car."""
    s: one
    """Sine of that angle."""
    angle: rad
    """That angle itself, not wrapped."""


class TrailerMotion(NamedTuple):
    """How a trailer stands and moves."""

    hitch: Place
    """Where it hangs, and its heading."""
    c: one
    """Cosine of its heading from that of the unit ahead."""
    s: one
    """Sine of that angle."""
    omega: rad_s
    """Yaw rate over ground."""
    v: Velocity
    """Velocity of its hitch over ground, in its own axes."""

    def behind(self, way: m) -> Place:
        """The place that is so far behind its hitch."""
        hitch = self.hitch
        return hitch._replace(x=hitch.x - way * hitch.c, y=hitch.y - way * hitch.s)

    def velocity(self, way: m) -> Velocity:
        """Velocity of the point that is so far behind its hitch, in its own axes."""
        return Velocity(self.v.x, self.v.y - way * self.omega)


class TrailerGround(NamedTuple):
    """The road under a trailer."""

    pull: Acceleration | None
    """Gravity along the road, in the axes of the trailer; None where it is level."""
    press: m_s2
    """Gravity onto the road."""
    grip: tuple[one, one] | None
    """Under the wheels, left and right; None where it is that of the tyres everywhere."""


def trailer_motions(x: Any, p: Any) -> list[TrailerMotion]:
    """Place and motion of each trailer of a car."""
    motions: list[TrailerMotion] = []
    origin = 0.0 * p.l_r
    place, v, omega = Place(origin, origin, 1.0, 0.0, 0.0), Velocity(x.v_x, x.v_y), x.omega
    way: m = p.l_r
    for k, trailer in enumerate(p.trailers, 1):
        way = way + trailer.behind
        angle, rate = getattr(x, f"hitch_{k}"), getattr(x, f"hitch_rate_{k}")
        c, s = cos(angle), sin(angle)
        heading = turned(place.c, place.s, c, s) if k > 1 else (c, s)
        at = (place.x - way * place.c, place.y - way * place.s)
        hitch = Place(*at, *heading, place.angle + angle)
        v = Velocity(*turned_back(c, s, v.x, v.y - way * omega))
        omega = omega + rate
        motions.append(TrailerMotion(hitch, c, s, omega, v))
        place, way = hitch, trailer.l_axle
    return motions


def world_place(place: Place, x: Any, road: Any) -> tuple[m, m, rad]:
    """Position and heading in the world, as seen from above."""
    ahead, aside, c, s, angle = place
    if not isinstance(road.surface, FlatRoad):
        ahead, aside = _seen_from_above(ahead, aside, x, road)
        c_above, s_above = turned_back(c, s, *_seen_from_above(c, s, x, road))
        angle = angle + atan2(s_above, c_above)
    dx, dy = turned(cos(x.yaw), sin(x.yaw), ahead, aside)
    return x.x + dx, x.y + dy, x.yaw + angle


def _seen_from_above(ahead: Any, aside: Any, x: Any, road: Any) -> tuple[Any, Any]:
    """A vector in the axes of the road under the car, as it lies in a map; see `road.contact`."""
    under = wheel_contact(road, x.x, x.y, x.yaw)
    e_2 = 1.0 + under.slope * under.slope
    e, n = sqrt(e_2), sqrt(e_2 + under.bank * under.bank)
    across = aside * (1.0 / (n * e))
    return ahead * (1.0 / e) - (under.slope * under.bank) * across, e_2 * across


def trailer_ground(x: Any, moving: Sequence[TrailerMotion], p: Any) -> list[TrailerGround]:
    """The road under the axle of each trailer. It bends under the car alone."""
    road, grounds = p.road, list[TrailerGround]()
    flat, gripping = isinstance(road.surface, FlatRoad), isinstance(road.grip, FullGrip)
    for trailer, at in zip(p.trailers, moving, strict=True):
        axle = at.behind(trailer.l_axle)
        grips = None if gripping else _grips(axle, 0.5 * trailer.track, x, road)
        if flat:
            grounds.append(TrailerGround(None, p.g, grips))
            continue
        down = wheel_contact(road, *world_place(axle, x, road)).down
        pull = Acceleration(p.g * down.x, p.g * down.y)
        grounds.append(TrailerGround(pull, -p.g * down.z, grips))
    return grounds


def _grips(axle: Place, half: m, x: Any, road: Any) -> tuple[one, one]:
    sides = (
        axle._replace(x=axle.x - side * axle.s, y=axle.y + side * axle.c) for side in (half, -half)
    )
    left, right = (road.grip.at(*world_place(at, x, road)[:2]) for at in sides)
    return left, right


def hitch_loads(x: Any, ground: Sequence[TrailerGround], p: Any) -> list[N]:
    """Load of each trailer on its hitch, positive downwards."""
    loads: list[N] = []
    behind: tuple[m, N] | None = None
    for k, (trailer, under) in reversed([*enumerate(zip(p.trailers, ground, strict=True), 1)]):
        by_axle = 1.0 / trailer.l_axle
        own = (trailer.m * (1.0 - trailer.l_cg * by_axle)) * under.press
        if behind is not None:
            # What hangs behind the axle lifts the hitch.
            own = own - (behind[0] * by_axle) * behind[1]
        loads.append(own + getattr(x, f"load_hitch_{k}"))
        behind = trailer.behind, own
    return loads[::-1]


def axle_loads(
    x: Any, hitches: Sequence[N], ground: Sequence[TrailerGround], p: Any
) -> list[tuple[N, N]]:
    """Load of a left and of a right wheel of each trailer, never negative."""
    loads: list[tuple[N, N]] = []
    for k, (trailer, under) in enumerate(zip(p.trailers, ground, strict=True)):
        carried = trailer.m * under.press - hitches[k]
        carried = carried + hitches[k + 1] if k + 1 < len(hitches) else carried
        mean, shift = 0.5 * ramp(carried, p.F_lift), getattr(x, f"load_shift_{k + 1}")
        beyond = ramp(shift - mean, p.F_lift) - ramp(-shift - mean, p.F_lift)
        transfer = clip(shift - beyond, -mean, mean)
        by_wheels = 1.0 / trailer.wheels
        loads.append(((mean - transfer) * by_wheels, (mean + transfer) * by_wheels))
    return loads


def load_targets(
    tyres: Sequence[Force], hitches: Sequence[Force], moving: Sequence[TrailerMotion], p: Any
) -> list[tuple[N, N]]:
    """What the forces of tyres and hitches, in the axes of each trailer, add to the load on its
    hitch, and what they move from its left wheels to the right ones."""
    targets: list[tuple[N, N]] = []
    behind: tuple[m, N, m, Force] | None = None
    for k, trailer in reversed([*enumerate(p.trailers)]):
        by_axle, lever = 1.0 / trailer.l_axle, trailer.z_cg - trailer.z_hitch
        tyre, hitch = tyres[k], hitches[k]
        pitch = -(trailer.z_cg * tyre.x) - lever * hitch.x
        roll = trailer.z_cg * tyre.y + lever * hitch.y
        if behind is not None:
            way, load, z_next, pulled = behind
            pitch = pitch + (trailer.z_cg - z_next) * pulled.x - way * load
            roll = roll - (trailer.z_cg - z_next) * pulled.y
        targets.append((pitch * by_axle, roll * (1.0 / trailer.track)))
        at = moving[k]
        pull = Force(*turned(at.c, at.s, hitch.x, hitch.y))
        behind = trailer.behind, targets[-1][0], trailer.z_hitch, pull
    return targets[::-1]


def joint_moment(angle: rad, rate: rad_s, trailer: Any) -> Nm:
    """Moment of the hitch on the trailer: of a stabiliser, and of the end stop."""
    left = ramp(angle - trailer.hitch_max, STOP_WIDTH)
    right = ramp(-angle - trailer.hitch_max, STOP_WIDTH)
    stop = left - right + (trailer.t_stop * rate) * (left + right)
    return -trailer.damping * rate - trailer.k_stop * stop


def stop_energy(angle: rad, k_stop: Nm_rad, hitch_max: rad) -> J:
    """Energy that the end stop stores."""
    left = ramp_integral(angle - hitch_max, STOP_WIDTH)
    return k_stop * (left + ramp_integral(-angle - hitch_max, STOP_WIDTH))


def trailers_energy(x: Any, p: Any) -> J:
    """Kinetic energy of all trailers, what their end stops store, and that of height."""
    total: J = 0.0
    for k, (trailer, at) in enumerate(zip(p.trailers, trailer_motions(x, p), strict=True), 1):
        v = at.velocity(trailer.l_cg)
        spins = [getattr(x, f"spin_{side}_{k}") for side in SIDES]
        turning = sum((spin * spin for spin in spins), 0.0)
        stored = stop_energy(getattr(x, f"hitch_{k}"), trailer.k_stop, trailer.hitch_max)
        own = kinetic_energy(v.x, v.y, at.omega, trailer.m, trailer.I_z) + stored
        total = total + own + (0.5 * trailer.wheels * trailer.I_w) * turning
        if not isinstance(p.road.surface, FlatRoad):
            there = world_place(at.behind(trailer.l_cg), x, p.road)
            total = total + trailer.m * p.g * p.road.surface.at(*there[:2]).z
    return total


def drag(v: m_s, C_drag: Any) -> N:
    """Force of the air along a trailer."""
    return (-0.5 * C_drag) * (v * abs(v))
