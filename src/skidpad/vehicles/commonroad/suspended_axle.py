"""An axle under a sprung body: tyre loads, springs, dampers, anti-roll bar, camber, roll centre.

The parts of the multi-body car of CommonRoad, which goes back to the vehicle dynamics model of the
US Department of Transportation (R. W. Allen and others); equations as facts from the package
`commonroad-vehicle-models` 3.0.2.

Signs follow that model, whose equations are the same when read with y to the left. An axle has
lean: how far it is rotated about the forward axis with its left side down; drop: how far it is
below the height at which its tyres begin to carry; the body likewise has lean, squat (nose up) and
drop below its height when the springs carry it. `right` and `left` are the sides of the car.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import cos, sin
from ...units import (
    N,
    N_m,
    N_s_m,
    Nm,
    kg,
    kg_m2,
    m,
    m_N,
    m_s,
    non_negative,
    per_m,
    per_m2,
    positive,
    rad,
    rad_s,
)
from ..parts.load_transfer import on_road


class AxleParams(NamedTuple):
    """What differs between the axles of the car."""

    m: Annotated[kg, positive]
    """Mass of the axle with its wheels."""
    I: Annotated[kg_m2, positive]  # noqa: E741 (the symbol of the books)
    """Inertia of the axle about the forward axis."""
    track: Annotated[m, positive]
    """Distance between its wheels."""
    K_s: Annotated[N_m, non_negative]
    """Stiffness of a spring."""
    K_sd: Annotated[N_s_m, non_negative]
    """Damping of a damper."""
    K_ts: Nm
    """Stiffness of the anti-roll bar per rad of lean between body and axle; negative resists."""
    D: per_m
    """Camber per deflection of the spring."""
    E: per_m2
    """Camber per squared deflection."""
    h_ra: m
    """Height of the roll centre above the road."""


class Body(NamedTuple):
    """The sprung mass as an axle sees it."""

    lean: rad
    lean_rate: rad_s
    squat: rad
    squat_rate: rad_s
    drop: m
    drop_rate: m_s
    h: m
    """Height of its centre of mass above the road when it stands."""


class Axle(NamedTuple):
    """Where an axle is and how it moves."""

    lean: rad
    lean_rate: rad_s
    drop: m
    drop_rate: m_s
    shift: m
    """How far the body is to the left of the axle."""
    shift_rate: m_s


class Pair(NamedTuple):
    """A value for the right and the left wheel."""

    right: float
    left: float


class Levers(NamedTuple):
    """Where the forces between an axle and the body act, in the axes of the leaning body."""

    aside: m
    """How far the middle of the axle, and with it the resultant of the springs, is to the left."""
    below: m
    """How far the roll centre is below the body's centre of mass."""
    above: m
    """How far the roll centre is above the middle of the axle."""


class Suspension(NamedTuple):
    """What an axle passes on between road and body."""

    load: Pair
    """Load on each tyre."""
    spring: Pair
    """Force of spring, damper and anti-roll bar of each side; pushes the body up."""
    camber: Pair
    joint: N
    """Lateral force at the roll centre; pushes the body to the left."""
    levers: Levers


def suspension(
    axle: Axle, body: Body, at: m, static: N, R_w: m, K_zt: N_m, K_ras: N_m, K_rad: N_s_m,
    p: AxleParams, *, upstream: bool = False,
) -> Suspension:  # fmt: skip
    """Everything between the road and the body at one axle.

    `at` is its place ahead of the centre of mass, negative behind it; `static` the force of one
    spring when the car stands. As CommonRoad's program has it (`upstream`), a tyre that has left
    the road pulls, and the body is on top of its axles however far it hangs out.
    """
    travel = upstream_spring_travel if upstream else spring_travel
    deflection, rate = travel(axle, body, at, R_w, p)
    load = tyre_loads(axle, R_w, K_zt, p)
    roll_bar = (body.lean - axle.lean) * p.K_ts * (1.0 / p.track)
    return Suspension(
        load=load if upstream else Pair(*map(on_road, load)),
        spring=Pair(
            static - deflection.right * p.K_s - rate.right * p.K_sd + roll_bar,
            static - deflection.left * p.K_s - rate.left * p.K_sd - roll_bar,
        ),
        camber=Pair(
            body.lean + deflection.right * (p.D + p.E * deflection.right),
            body.lean - deflection.left * (p.D + p.E * deflection.left),
        ),
        joint=joint_force(axle, body, R_w, K_ras, K_rad, p),
        levers=(upstream_levers if upstream else levers)(axle, body, R_w, p),
    )


def tyre_loads(axle: Axle, R_w: m, K_zt: N_m, p: AxleParams) -> Pair:
    """Load on each tyre from how far its wheel has sunk; negative for a wheel in the air."""
    middle = axle.drop + R_w * (cos(axle.lean) - 1.0)
    side = 0.5 * p.track * sin(axle.lean)
    return Pair((middle - side) * K_zt, (middle + side) * K_zt)


def height_above(axle: Axle, body: Body, R_w: m) -> m:
    """How far the body's centre of mass is above the middle of an axle."""
    return body.h - R_w + axle.drop - body.drop


def levers(axle: Axle, body: Body, R_w: m, p: AxleParams) -> Levers:
    """The levers from where body and axle are."""
    above, arm = height_above(axle, body, R_w), p.h_ra - R_w
    c, s = cos(body.lean), sin(body.lean)
    link = arm * cos(body.lean - axle.lean)
    return Levers(above * s - axle.shift * c, above * c + axle.shift * s - link, link)


def upstream_levers(axle: Axle, body: Body, R_w: m, p: AxleParams) -> Levers:
    """The levers of a body whose springs always stand below its centre of mass."""
    above = body.h - body.drop - R_w + axle.drop
    below = (above - (p.h_ra - R_w) * cos(axle.lean)) / cos(body.lean)
    return Levers(0.0 * body.h, below, p.h_ra - R_w)


def spring_travel(axle: Axle, body: Body, at: m, R_w: m, p: AxleParams) -> tuple[Pair, Pair]:
    """How far each spring is extended beyond its length when the car stands, and how fast."""
    above, above_rate = height_above(axle, body, R_w), axle.drop_rate - body.drop_rate
    c, s = cos(body.lean), sin(body.lean)
    middle = above * c + axle.shift * s - (body.h - R_w) + at * body.squat
    aside = above * s - axle.shift * c
    turning = above_rate * c + axle.shift_rate * s - aside * body.lean_rate
    return _by_side(middle, turning + at * body.squat_rate, axle, body, p)


def upstream_spring_travel(
    axle: Axle, body: Body, at: m, R_w: m, p: AxleParams
) -> tuple[Pair, Pair]:
    """The same for a body that stays above its axles, without the rate of its lean."""
    height = body.h - R_w
    middle = (height + axle.drop - body.drop) / cos(body.lean) - height + at * body.squat
    middle_rate = axle.drop_rate - body.drop_rate + at * body.squat_rate
    return _by_side(middle, middle_rate, axle, body, p)


def _by_side(
    middle: m, middle_rate: m_s, axle: Axle, body: Body, p: AxleParams
) -> tuple[Pair, Pair]:
    side = 0.5 * (body.lean - axle.lean) * p.track
    side_rate = 0.5 * (body.lean_rate - axle.lean_rate) * p.track
    return (
        Pair(middle + side, middle - side),
        Pair(middle_rate + side_rate, middle_rate - side_rate),
    )


def joint_force(axle: Axle, body: Body, R_w: m, K_ras: N_m, K_rad: N_s_m, p: AxleParams) -> N:
    """Force of the compliant joint at the roll centre, along the floor of the leaning body."""
    c, s = cos(body.lean), sin(body.lean)
    above = height_above(axle, body, R_w)
    between = body.lean - axle.lean
    arm = p.h_ra - R_w
    offset = above * s - axle.shift * c - arm * sin(between)
    rate = (
        (above * c + axle.shift * s) * body.lean_rate
        + (axle.drop_rate - body.drop_rate) * s
        - axle.shift_rate * c
        - arm * cos(between) * (body.lean_rate - axle.lean_rate)
    )
    return offset * K_ras + rate * K_rad


def axle_moment(
    axle: Axle, now: Suspension, across: Pair, F_y: N, R_w: m, K_lt: m_N, p: AxleParams
) -> Nm:
    """Moment on the axle about the forward axis, positive leans it to the left.

    `across` are the lateral forces in the axes of the wheels, which move the contact patches by
    `K_lt` each; `F_y` is their sum in the axes of the car.
    """
    half = 0.5 * p.track
    c, s = half * cos(axle.lean), R_w * sin(axle.lean)
    return (
        half * (now.spring.left - now.spring.right)
        - now.joint * now.levers.above
        + now.load.right * (s + c - K_lt * across.right)
        + now.load.left * (s - c - K_lt * across.left)
        - F_y * (R_w - axle.drop)
    )


def body_moment(now: Suspension, p: AxleParams) -> Nm:
    """Moment of an axle on the body about the forward axis, positive leans it to the left."""
    apart = 0.5 * p.track * (now.spring.right - now.spring.left)
    resultant = now.spring.right + now.spring.left
    return apart - resultant * now.levers.aside - now.joint * now.levers.below
