"""An axle under a sprung body: tyre loads, springs, dampers, anti-roll bar, camber, roll centre.

These are components of CommonRoad's multi-body car, which goes back to the vehicle dynamics model
of the US Department of Transportation (R. W. Allen and others); equations as facts from the package
`commonroad-vehicle-models` 3.0.2.

Signs follow that model, whose equations are the same when read with y to the left. An axle has
lean, its rotation about the forward axis with its left side down, and drop, its distance below the
height at which its tyres begin to carry. The body likewise has lean, squat (nose up), and drop
below its static height. `right` and `left` are the sides of the car.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import cos, sin
from ...units import (
    N,
    N_m,
    N_s_m,
    Nm,
    kg,
    kg_m2,
    m,
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
    """Parameters that differ between the axles of the car."""

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
    """Camber per spring deflection."""
    E: per_m2
    """Camber per squared spring deflection."""
    h_ra: m
    """Height of the roll centre above the road."""


class Body(NamedTuple):
    """Position and velocity of the sprung mass relative to the road."""

    lean: rad
    lean_rate: rad_s
    squat: rad
    squat_rate: rad_s
    drop: m
    drop_rate: m_s
    h: m
    """Height of the centre of mass above the road at rest."""


class Axle(NamedTuple):
    """Position and velocity of an axle."""

    lean: rad
    lean_rate: rad_s
    drop: m
    drop_rate: m_s
    shift: m
    """Lateral offset of the body from the axle, positive to the left."""
    shift_rate: m_s


class Pair(NamedTuple):
    """A value for the right and the left wheel."""

    right: float
    left: float

    @property
    def sum(self) -> float:
        """Sum of both values."""
        return self.right + self.left


class Levers(NamedTuple):
    """Lever arms of the forces between an axle and the body, in the axes of the leaning body."""

    aside: m
    """Offset to the left of the axle's middle, where the resultant of the springs acts."""
    below: m
    """Distance of the roll centre below the body's centre of mass."""
    above: m
    """Distance of the roll centre above the middle of the axle."""


class Suspension(NamedTuple):
    """Forces, cambers and lever arms of the suspension of one axle."""

    load: Pair
    """Load on each tyre."""
    spring: Pair
    """Force of spring, damper and anti-roll bar on each side; positive pushes the body up."""
    camber: Pair
    joint: N
    """Lateral force at the roll centre; positive pushes the body to the left."""
    levers: Levers


def suspension(
    axle: Axle, body: Body, at: m, static: N, car: Any, p: AxleParams, *, upstream: bool = False
) -> Suspension:
    """Forces between the road and the body at one axle.

    Args:
        at: distance of the axle ahead of the centre of mass, negative behind it.
        static: force of one spring at rest.
        car: parameters of the car.
        upstream: as in CommonRoad's program, a tyre that has left the road pulls, and the body
            stays above its axles however far it is displaced sideways.
    """
    travel = upstream_spring_travel if upstream else spring_travel
    deflection, rate = travel(axle, body, at, car.R_w, p)
    # Tyre deflections; negative for a wheel in the air.
    middle = axle.drop + car.R_w * (cos(axle.lean) - 1.0)
    side = 0.5 * p.track * sin(axle.lean)
    load = Pair((middle - side) * car.K_zt, (middle + side) * car.K_zt)
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
        joint=joint_force(axle, body, car, p),
        levers=(upstream_levers if upstream else levers)(axle, body, car.R_w, p),
    )


def height_above(axle: Axle, body: Body, R_w: m) -> m:
    """Height of the body's centre of mass above the middle of an axle."""
    return body.h - R_w + axle.drop - body.drop


def levers(axle: Axle, body: Body, R_w: m, p: AxleParams) -> Levers:
    """Lever arms from the positions of body and axle."""
    above, arm = height_above(axle, body, R_w), p.h_ra - R_w
    c, s = cos(body.lean), sin(body.lean)
    link = arm * cos(body.lean - axle.lean)
    return Levers(above * s - axle.shift * c, above * c + axle.shift * s - link, link)


def upstream_levers(axle: Axle, body: Body, R_w: m, p: AxleParams) -> Levers:
    """Lever arms as upstream computes them: springs always below the body's centre of mass."""
    above = body.h - body.drop - R_w + axle.drop
    below = (above - (p.h_ra - R_w) * cos(axle.lean)) / cos(body.lean)
    return Levers(0.0 * body.h, below, p.h_ra - R_w)


def spring_travel(axle: Axle, body: Body, at: m, R_w: m, p: AxleParams) -> tuple[Pair, Pair]:
    """Extension of each spring from its static length, and the rate of extension."""
    above, above_rate = height_above(axle, body, R_w), axle.drop_rate - body.drop_rate
    c, s = cos(body.lean), sin(body.lean)
    middle = above * c + axle.shift * s - (body.h - R_w) + at * body.squat
    aside = above * s - axle.shift * c
    turning = above_rate * c + axle.shift_rate * s - aside * body.lean_rate
    return _by_side(middle, turning + at * body.squat_rate, axle, body, p)


def upstream_spring_travel(
    axle: Axle, body: Body, at: m, R_w: m, p: AxleParams
) -> tuple[Pair, Pair]:
    """Spring travel as upstream computes it: body above its axles, lean rate ignored."""
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


def joint_force(axle: Axle, body: Body, car: Any, p: AxleParams) -> N:
    """Force of the compliant roll-centre joint, parallel to the floor of the leaning body."""
    c, s = cos(body.lean), sin(body.lean)
    above = height_above(axle, body, car.R_w)
    between = body.lean - axle.lean
    arm = p.h_ra - car.R_w
    offset = above * s - axle.shift * c - arm * sin(between)
    rate = (
        (above * c + axle.shift * s) * body.lean_rate
        + (axle.drop_rate - body.drop_rate) * s
        - axle.shift_rate * c
        - arm * cos(between) * (body.lean_rate - axle.lean_rate)
    )
    return offset * car.K_ras + rate * car.K_rad


def axle_moment(axle: Axle, now: Suspension, across: Pair, F_y: N, car: Any, p: AxleParams) -> Nm:
    """Moment on the axle about the forward axis; positive leans it to the left.

    `across` are the lateral forces in the axes of the wheels; each moves its contact patch by
    `car.K_lt` times the force. `F_y` is their sum in the axes of the car.
    """
    half = 0.5 * p.track
    c, s = half * cos(axle.lean), car.R_w * sin(axle.lean)
    return (
        half * (now.spring.left - now.spring.right)
        - now.joint * now.levers.above
        + now.load.right * (s + c - car.K_lt * across.right)
        + now.load.left * (s - c - car.K_lt * across.left)
        - F_y * (car.R_w - axle.drop)
    )


def body_moment(now: Suspension, p: AxleParams) -> Nm:
    """Moment of an axle on the body about the forward axis; positive leans it to the left."""
    apart = 0.5 * p.track * (now.spring.right - now.spring.left)
    return apart - now.spring.sum * now.levers.aside - now.joint * now.levers.below
