"""Trailers: chains of rigid bodies in the plane, their records, states, road and loads.

**Chain dynamics.** Accelerations are exact, in closed form. A unit is a body whose joint to the
unit ahead is `c` ahead of its centre of mass; the joint of the next unit is `d` behind its own.
From the last unit forward, the force that a unit needs at its joint is affine in the acceleration
of that joint, F = M A + b, with a symmetric 2x2 apparent mass M, which the unit ahead carries like
a mass of its own. The first unit is the vehicle: its "joint" is its centre of mass, on which no
joint force acts, so M A = -b gives its acceleration. Then the accelerations follow from the first
unit back. There is no iteration, and angles may have any size.

**Records.** The class of a car's parameter `trailers` selects the equations: `NoTrailers`, or a
chain of one to four `Trailer`, each on tyres of any class. `twin_track.trailers` couples them to
the car.

**States, disturbances and outputs.** Their names end with the number of the trailer, from 1:
`hitch_1`, `spin_left_1`.

**Position, motion and loads.** Angles of the chain are in the plane of the road under the car. The
hitch is a ball joint: it carries a force and, by `damping` and the end stop, a yaw moment, but
neither roll nor pitch. So each trailer balances on its own axle and hitch: loads follow the forces
with the time constant `t_load` of the car, as states, like those of the car itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core import record
from ...core.files import brief_repr, shortened
from ...core.record import Recipe, made_once, recipe_of
from ...errors import InvalidValue
from ...geometry.pose import turned, turned_back
from ...ops import atan2, clip, cos, sin, sqrt
from ...road.records import FlatRoad, FullGrip, wheel_contact
from ...tyres.contract import record_of
from ...tyres.simple import LoadSensitiveTyre
from .actuators import ramp, ramp_integral
from .assembly import Fields, record_type, redefined
from .kinematics import Acceleration, kinetic_energy
from .load_transfer import Force, Velocity


class Joint(NamedTuple):
    """Joint between a unit and the one ahead."""

    c: si.one
    """Cosine of the unit's heading relative to the unit ahead, positive to the left."""
    s: si.one
    """Sine of that angle."""
    torque: si.Nm
    """Moment of the joint on the unit behind it, positive to the left."""


class Unit(NamedTuple):
    """One body of a chain, and the forces on it other than those of its joints, in its own axes."""

    m: si.kg
    I_z: si.kg_m2
    """Yaw inertia about the centre of mass."""
    c: si.m
    """Distance from its own joint back to the centre of mass."""
    d: si.m
    """Distance from the unit's own joint back to the joint of the next unit."""
    omega: si.rad_s
    """Yaw rate over ground, positive to the left."""
    force: Force
    """Force at the centre of mass."""
    moment: si.Nm
    """Moment about the centre of mass, positive to the left."""


class ChainMotion(NamedTuple):
    """Accelerations of all units, and the forces of the joints."""

    a: Acceleration
    """Acceleration of the first unit's centre of mass over ground, in its axes."""
    omega_rates: tuple[si.rad_s2, ...]
    """Yaw acceleration of each unit."""
    forces: tuple[Force, ...]
    """Force of each joint on the unit behind it, in the axes of that unit."""


class _JointLoad(NamedTuple):
    """Force that a joint transmits to all units behind it: F = M A + b in some axes."""

    xx: si.kg
    xy: si.kg
    yy: si.kg
    b_x: si.N
    b_y: si.N

    def in_axes_ahead(self, joint: Joint) -> _JointLoad:
        """Rotate a joint load into the axes of the unit ahead."""
        c, s = joint.c, joint.s
        cc, cs, ss = c * c, c * s, s * s
        twice = (2.0 * cs) * self.xy
        return _JointLoad(
            cc * self.xx - twice + ss * self.yy,
            cs * (self.xx - self.yy) + (cc - ss) * self.xy,
            ss * self.xx + twice + cc * self.yy,
            *turned(c, s, self.b_x, self.b_y),
        )


class _Swing(NamedTuple):
    """Yaw acceleration for a joint acceleration A: (k_x A_x + k_y A_y + k_0) / J."""

    k_x: float
    """In kg·m, like `k_y`."""
    k_y: float
    k_0: si.Nm
    by_J: float
    """In 1/(kg·m²)."""


def chain_motion(units: Sequence[Unit], joints: Sequence[Joint]) -> ChainMotion:
    """Motion of a chain of units, the vehicle first; `joints` connect successive units."""
    felt: _JointLoad | None = None
    own: list[tuple[_JointLoad, _Swing]] = []
    behind: si.Nm = 0.0
    for k in reversed(range(len(units))):
        ahead = joints[k - 1].torque if k else 0.0
        own.append(_at_joint(units[k], felt, ahead - behind))
        behind = ahead
        felt = own[-1][0].in_axes_ahead(joints[k - 1]) if k else None
    own.reverse()
    # No joint force acts on the first unit.
    free = own[0][0]
    by_det = 1.0 / (free.xx * free.yy - free.xy * free.xy)
    a = Acceleration(
        (free.xy * free.b_y - free.yy * free.b_x) * by_det,
        (free.xy * free.b_x - free.xx * free.b_y) * by_det,
    )
    rates: list[si.rad_s2] = []
    forces: list[Force] = []
    a_x: si.m_s2 = a.x
    a_y: si.m_s2 = a.y
    for k, (unit, (felt, swing)) in enumerate(zip(units, own, strict=True)):
        if k:
            a_x, a_y = turned_back(joints[k - 1].c, joints[k - 1].s, a_x, a_y)
            F_x = felt.xx * a_x + felt.xy * a_y + felt.b_x
            forces.append(Force(F_x, felt.xy * a_x + felt.yy * a_y + felt.b_y))
        rate = (swing.k_x * a_x + swing.k_y * a_y + swing.k_0) * swing.by_J
        rates.append(rate)
        a_x, a_y = a_x + unit.d * (unit.omega * unit.omega), a_y - unit.d * rate
    return ChainMotion(a, tuple(rates), tuple(forces))


def _at_joint(unit: Unit, behind: _JointLoad | None, torque: si.Nm) -> tuple[_JointLoad, _Swing]:
    """Force that a unit with all behind it needs at its joint, and its yaw response."""
    lever = unit.m * unit.c
    J = unit.I_z + lever * unit.c
    k_0 = unit.moment + torque - unit.c * unit.force.y
    w2 = unit.omega * unit.omega
    b_x, b_y = lever * w2 - unit.force.x, -unit.force.y
    if behind is None:
        by_J = 1.0 / J
        swing = _Swing(0.0 * lever, lever, k_0, by_J)
        yy = unit.m - (lever * lever) * by_J
        return _JointLoad(unit.m, 0.0 * unit.m, yy, b_x, b_y - lever * (k_0 * by_J)), swing
    d, spun = unit.d, unit.d * w2
    pull_x, pull_y = behind.b_x + behind.xx * spun, behind.b_y + behind.xy * spun
    k_x, k_y = d * behind.xy, lever + d * behind.yy
    by_J = 1.0 / (J + (d * d) * behind.yy)
    k_0 = k_0 + d * pull_y
    turned_by = k_0 * by_J
    felt = _JointLoad(
        unit.m + behind.xx - (k_x * k_x) * by_J,
        behind.xy - (k_x * k_y) * by_J,
        unit.m + behind.yy - (k_y * k_y) * by_J,
        b_x + pull_x - k_x * turned_by,
        b_y + pull_y - k_y * turned_by,
    )
    return felt, _Swing(k_x, k_y, k_0, by_J)


ORDINALS = ("first", "second", "third", "fourth")
"""Field names of a chain of trailers, from the car back."""


class Trailer(NamedTuple):
    """A trailer on one axle, or on several close together that count as one.

    The defaults are a caravan of 1.2 t; all values are estimates.
    """

    m: Annotated[si.kg, si.positive] = 1200.0
    """Mass with wheels."""
    I_z: Annotated[si.kg_m2, si.positive] = 2900.0
    """Yaw inertia about the centre of mass, with wheels."""
    behind: si.m = 0.9
    """Distance of the hitch behind the axle of the unit ahead (of a car the rear axle).
    Negative if ahead of it, like a fifth wheel."""
    l_axle: Annotated[si.m, si.positive] = 4.0
    """Distance from the hitch back to the axle; for several axles, to their middle."""
    l_cg: Annotated[si.m, si.non_negative] = 3.77
    """Distance from the hitch back to the centre of mass; less than l_axle loads the hitch."""
    track: Annotated[si.m, si.positive] = 2.0
    """Distance between the wheels of the two sides."""
    z_cg: Annotated[si.m, si.non_negative] = 0.75
    """Height of the centre of mass."""
    z_hitch: Annotated[si.m, si.non_negative] = 0.4
    """Height of the hitch."""
    wheels: Annotated[si.one, si.positive] = 1.0
    """Number of wheels on each side, which share its load (several axles or twin tyres)."""
    I_w: Annotated[si.kg_m2, si.positive] = 1.7
    """Inertia of a wheel about its axle."""
    brake: Annotated[si.one, si.non_negative] = 1.0
    """Brake torque of a wheel relative to the mean brake torque of the car's wheels; 0 without
    brakes."""
    C_drag: Annotated[si.N_s2_m2, si.non_negative] = 1.5
    """Additional air drag is ½ C_drag v² along the trailer, at its centre of mass."""
    damping: Annotated[si.Nm_s_rad, si.non_negative] = 0.0
    """Damping moment of the hitch per rate (a stabiliser)."""
    hitch_max: Annotated[si.rad, si.Allowed(0.1, pi)] = 1.7
    """Hitch angle at which the trailer touches the unit ahead, either side."""
    k_stop: Annotated[si.Nm_rad, si.non_negative] = 2e5
    """Moment of the end stop per angle beyond `hitch_max`."""
    t_stop: Annotated[si.s, si.non_negative] = 1.0
    """Relative growth of that moment per rate of the growing angle; this dissipates energy."""
    length: Annotated[si.m, si.positive] = 5.0
    """Length of the body, without drawbar; does not influence the motion."""
    tail: si.m = 2.4
    """Distance from the axle back to the end of the body; does not influence the motion."""
    width: Annotated[si.m, si.positive] = 2.3
    """Width of the body; does not influence the motion."""
    height: Annotated[si.m, si.positive] = 2.6
    """Height of the body; does not influence the motion."""
    tyre: Any = None
    """Tyre of each wheel: a record or one read from a file; None: a `LoadSensitiveTyre`."""

    __repr__ = brief_repr


class NoTrailers(NamedTuple):
    """Placeholder for a car without trailers."""


DEFAULT_TYRE = LoadSensitiveTyre()


@made_once
def trailer_type(tyre: type) -> Any:
    return redefined(Trailer, {"tyre": tyre}, {"tyre": None})


@made_once
def trailers_type(*tyres: type) -> Any:
    """Record type of a chain of trailers, each on a class of tyres."""
    kinds = {name: trailer_type(tyre) for name, tyre in zip(ORDINALS, tyres, strict=False)}
    docs = {name: f"The {name} trailer behind the car." for name in kinds}
    return record.define("Trailers", kinds, docs=docs, doc="Trailers behind a car, in order.")


def trailer_chain(trailers: Any) -> Any:
    """Return the trailer record of a car from one trailer, or from several in order."""
    kind: Any = type(trailers)
    recipe = recipe_of(kind)
    is_chain = isinstance(recipe, Recipe) and recipe.make is trailers_type
    if is_chain or isinstance(trailers, NoTrailers):
        return trailers
    several = isinstance(trailers, (list, tuple)) and not record.is_record_type(kind)
    parts: Any = trailers if several else (trailers,)
    chain: list[Any] = []
    for trailer in parts:
        own: Any = type(trailer)
        if not record.is_record_type(own) or {*own._fields} != {*Trailer._fields}:
            raise InvalidValue(
                "trailers must be a Trailer of skidpad.vehicles.parts, or several in a tuple, got "
                + shortened(repr(trailer), 80)
            )
        # The class of a trailer depends on that of its tyre.
        tyre = DEFAULT_TYRE if trailer.tyre is None else record_of(trailer.tyre)
        chain.append(trailer_type(type(tyre))(**trailer._asdict() | {"tyre": tyre}))
    if not chain:
        return NoTrailers()
    if len(chain) > len(ORDINALS):
        raise InvalidValue(f"trailers: at most {len(ORDINALS)} are allowed, got {len(chain)}")
    return trailers_type(*(type(trailer.tyre) for trailer in chain))(*chain)


SIDES = ("left", "right")


def trailer_spins(count: int) -> tuple[str, ...]:
    return tuple(f"spin_{side}_{k}" for k in range(1, count + 1) for side in SIDES)


def mirror_odd(count: int) -> dict[str, bool]:
    """Fields that change sign in a mirror image, in addition to those known by name."""
    names = ("hitch", "hitch_rate", "load_shift")
    return {f"{name}_{k}": True for k in range(1, count + 1) for name in names}


@made_once
def trailer_states(count: int, slip: bool) -> Any:
    """Record type of the states of `count` trailers; `slip`: whether slip is a state."""
    pull = "Lagged longitudinal force of the hitch on the car, which its wheel loads respond to; "
    fields: Fields = {"load_pull": (si.N, 0.0, f"{pull}forward positive.")}
    for k in range(1, count + 1):
        of, ahead = f"of trailer {k}", "the car" if k == 1 else f"trailer {k - 1}"
        spin, moved = f"Spin of the left wheel {of}, positive when it rolls forward.", f"Load {of}"
        fields |= {
            f"hitch_{k}": (
                si.rad,
                0.0,
                f"Heading {of} less that of {ahead}, positive to the left.",
            ),
            f"hitch_rate_{k}": (si.rad_s, 0.0, f"Rate of `hitch_{k}`."),
            f"spin_left_{k}": (si.rad_s, 0.0, spin),
            f"spin_right_{k}": (si.rad_s, 0.0, f"Spin of the right wheel {of}."),
            f"load_hitch_{k}": (si.N, 0.0, f"{moved} on its hitch added by motion."),
            f"load_shift_{k}": (si.N, 0.0, f"{moved} moved from its left to its right wheel."),
        }
        for side in SIDES if slip else ():
            of = f"of the {side} wheel of trailer {k}"
            fields[f"kappa_{side}_{k}"] = (si.one, 0.0, f"Lagged longitudinal slip {of}.")
            drift = f"Tangent of the lagged slip angle {of}, positive when it drifts to the left."
            fields[f"tan_alpha_{side}_{k}"] = (si.one, 0.0, drift)
    return record_type("TrailerStates", "", fields)


@made_once
def trailer_disturbances(count: int) -> Any:
    """Record type of the disturbances of `count` trailers; the defaults do nothing."""
    forces: Fields = {}
    grips: Fields = {}
    for k in range(1, count + 1):
        at = f"at the centre of mass of trailer {k}"
        forces[f"F_x_{k}"] = (si.N, 0.0, f"Force {at} along it, forward positive.")
        forces[f"F_y_{k}"] = (si.N, 0.0, f"Force {at} across it, positive to the left.")
        forces[f"M_z_{k}"] = (si.Nm, 0.0, f"Yaw moment on trailer {k}, positive to the left.")
        for side in SIDES:
            under = f"under the {side} wheels of trailer {k}"
            doc = f"Friction of the road {under}, relative to that of the tyre measurement."
            grips[f"mu_{side}_{k}"] = (Annotated[si.one, si.non_negative], 1.0, doc)
    return record_type("TrailerDisturbances", "", forces | grips)


@made_once
def trailer_outputs(count: int) -> Any:
    """Record type of the outputs of `count` trailers."""
    fields: Fields = {}
    for k in range(1, count + 1):
        of, on = f"of trailer {k}", f"of the hitch on trailer {k}"
        fields |= {
            f"x_trailer_{k}": (si.m, None, f"Position of the axle {of} in the world frame."),
            f"y_trailer_{k}": (si.m, None, f"Position of the axle {of} in the world frame."),
            f"yaw_trailer_{k}": (si.rad, None, f"Heading {of} in the world frame."),
            f"F_x_hitch_{k}": (si.N, None, f"Force {on} along it, positive when it pulls."),
            f"F_y_hitch_{k}": (si.N, None, f"Force {on} across it, positive to the left."),
            f"F_z_hitch_{k}": (si.N, None, f"Load {of} on its hitch, positive downwards."),
        }
        for side in SIDES:
            wheel = f"a {side} wheel of trailer {k}"
            slip = f"Slip angle of {wheel}, positive when the tyre pushes to the left."
            fields |= {
                f"F_x_{side}_{k}": (si.N, None, f"Force along {wheel}."),
                f"F_y_{side}_{k}": (si.N, None, f"Force across {wheel}, positive to the left."),
                f"F_z_{side}_{k}": (si.N, None, f"Load of {wheel}."),
                f"alpha_{side}_{k}": (si.rad, None, slip),
            }
    return record_type("TrailerOutputs", "", fields)


STOP_WIDTH: si.rad = 0.05
"""Angle over which an end stop engages, on either side of its angle."""


class Place(NamedTuple):
    """Position relative to the car's centre of mass and a heading, in the axes of the car."""

    x: si.m
    y: si.m
    c: si.one
    """Cosine of the heading relative to the car."""
    s: si.one
    """Sine of the heading relative to the car."""
    angle: si.rad
    """Heading relative to the car, not wrapped, positive to the left."""


class TrailerMotion(NamedTuple):
    """Position and motion of a trailer."""

    hitch: Place
    """Position of its hitch, and its heading."""
    c: si.one
    """Cosine of its heading relative to the unit ahead."""
    s: si.one
    """Sine of its heading relative to the unit ahead."""
    omega: si.rad_s
    """Yaw rate over ground."""
    v: Velocity
    """Velocity of its hitch over ground, in its own axes."""

    def behind(self, way: si.m) -> Place:
        """Place at the distance `way` behind its hitch."""
        hitch = self.hitch
        return hitch._replace(x=hitch.x - way * hitch.c, y=hitch.y - way * hitch.s)

    def velocity(self, way: si.m) -> Velocity:
        """Velocity of the point at the distance `way` behind its hitch, in its own axes."""
        return Velocity(self.v.x, self.v.y - way * self.omega)


class TrailerGround(NamedTuple):
    """Effect of the road under a trailer."""

    pull: Acceleration | None
    """Gravity along the road, in the axes of the trailer; None where it is level."""
    press: si.m_s2
    """Gravity normal to the road."""
    grip: tuple[si.one, si.one] | None
    """Friction of the road, left and right, relative to the tyres; None if 1 everywhere."""


def trailer_motions(x: Any, p: Any) -> list[TrailerMotion]:
    """Position and motion of each trailer of a car."""
    motions: list[TrailerMotion] = []
    origin = 0.0 * p.l_r
    place, v, omega = Place(origin, origin, 1.0, 0.0, 0.0), Velocity(x.v_x, x.v_y), x.omega
    way: si.m = p.l_r
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


def world_place(place: Place, x: Any, road: Any) -> tuple[si.m, si.m, si.rad]:
    """Position and heading in the world, projected onto the map."""
    ahead, aside, c, s, angle = place
    if not isinstance(road.surface, FlatRoad):
        ahead, aside = _seen_from_above(ahead, aside, x, road)
        c_above, s_above = turned_back(c, s, *_seen_from_above(c, s, x, road))
        angle = angle + atan2(s_above, c_above)
    dx, dy = turned(cos(x.yaw), sin(x.yaw), ahead, aside)
    return x.x + dx, x.y + dy, x.yaw + angle


def _seen_from_above(ahead: Any, aside: Any, x: Any, road: Any) -> tuple[Any, Any]:
    """Projection onto the map of a vector in road axes under the car; see `road.records`."""
    under = wheel_contact(road, x.x, x.y, x.yaw)
    e_2 = 1.0 + under.slope * under.slope
    e, n = sqrt(e_2), sqrt(e_2 + under.bank * under.bank)
    across = aside * (1.0 / (n * e))
    return ahead * (1.0 / e) - (under.slope * under.bank) * across, e_2 * across


def trailer_ground(x: Any, moving: Sequence[TrailerMotion], p: Any) -> list[TrailerGround]:
    """Road under the axle of each trailer. Vertical curvature of the road acts on the car alone."""
    road, grounds = p.road, list[TrailerGround]()
    flat, gripping = isinstance(road.surface, FlatRoad), isinstance(road.grip, FullGrip)
    for trailer, at in zip(p.trailers, moving, strict=True):
        axle = at.behind(trailer.l_axle)
        grips: tuple[si.one, si.one] | None = None
        if not gripping:
            half = 0.5 * trailer.track
            sides = (
                axle._replace(x=axle.x - side * axle.s, y=axle.y + side * axle.c)
                for side in (half, -half)
            )
            left, right = (road.grip.at(*world_place(side, x, road)[:2]) for side in sides)
            grips = (left, right)
        if flat:
            grounds.append(TrailerGround(None, p.g, grips))
            continue
        down = wheel_contact(road, *world_place(axle, x, road)).down
        pull = Acceleration(p.g * down.x, p.g * down.y)
        grounds.append(TrailerGround(pull, -p.g * down.z, grips))
    return grounds


def hitch_loads(x: Any, ground: Sequence[TrailerGround], p: Any) -> list[si.N]:
    """Load of each trailer on its hitch, positive downwards."""
    loads: list[si.N] = []
    behind: tuple[si.m, si.N] | None = None
    for k, (trailer, under) in reversed([*enumerate(zip(p.trailers, ground, strict=True), 1)]):
        by_axle = 1.0 / trailer.l_axle
        own = (trailer.m * (1.0 - trailer.l_cg * by_axle)) * under.press
        if behind is not None:
            # Load behind the axle lifts the hitch.
            own = own - (behind[0] * by_axle) * behind[1]
        loads.append(own + getattr(x, f"load_hitch_{k}"))
        behind = trailer.behind, own
    return loads[::-1]


def axle_loads(
    x: Any, hitches: Sequence[si.N], ground: Sequence[TrailerGround], p: Any
) -> list[tuple[si.N, si.N]]:
    """Load of a left and of a right wheel of each trailer, never negative."""
    loads: list[tuple[si.N, si.N]] = []
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
) -> list[tuple[si.N, si.N]]:
    """Loads that tyre and hitch forces add to each hitch, and move from left to right wheels.

    Forces are in the axes of each trailer.
    """
    targets: list[tuple[si.N, si.N]] = []
    behind: tuple[si.m, si.N, si.m, Force] | None = None
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


def joint_moment(angle: si.rad, rate: si.rad_s, trailer: Any) -> si.Nm:
    """Moment of the hitch on the trailer, by stabiliser and end stop."""
    left = ramp(angle - trailer.hitch_max, STOP_WIDTH)
    right = ramp(-angle - trailer.hitch_max, STOP_WIDTH)
    stop = left - right + (trailer.t_stop * rate) * (left + right)
    return -trailer.damping * rate - trailer.k_stop * stop


def trailers_energy(x: Any, p: Any) -> si.J:
    """Energy of all trailers: kinetic, of end stops, and potential."""
    total: si.J = 0.0
    for k, (trailer, at) in enumerate(zip(p.trailers, trailer_motions(x, p), strict=True), 1):
        v = at.velocity(trailer.l_cg)
        spins = [getattr(x, f"spin_{side}_{k}") for side in SIDES]
        turning = sum((spin * spin for spin in spins), 0.0)
        angle, most = getattr(x, f"hitch_{k}"), trailer.hitch_max
        beyond = ramp_integral(angle - most, STOP_WIDTH)
        stored = trailer.k_stop * (beyond + ramp_integral(-angle - most, STOP_WIDTH))
        own = kinetic_energy(v.x, v.y, at.omega, trailer.m, trailer.I_z) + stored
        total = total + own + (0.5 * trailer.wheels * trailer.I_w) * turning
        if not isinstance(p.road.surface, FlatRoad):
            there = world_place(at.behind(trailer.l_cg), x, p.road)
            total = total + trailer.m * p.g * p.road.surface.at(*there[:2]).z
    return total
