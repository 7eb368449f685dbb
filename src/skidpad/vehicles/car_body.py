"""The body of the cars of `car_state`: Formula Student cars with four driven wheels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..body import Geometry, GroundUnder, Limits, Outline, Wish, box, four_wheels
from ..components.actuator import limited
from ..components.car_bodies import sliding_car
from ..components.resistance import resistance
from ..ops import clip, logical_and, maximum, where
from ..units import Nm, m, m_s, m_s2, s
from .car_params import WHEEL_RADIUS
from .car_state import Input, State

WHEEL_WIDTH: m = 0.19
"""Of a 16 x 7.5 inch tyre, usual in Formula Student."""
HEIGHT: m = 1.15
"""Of the main hoop."""
HOLD_TIME: s = 0.05
"""Time constant with which a car that is braked comes to rest and is held there."""
CREEP: m_s = 0.6
"""Speed below which the handbrake lets go, so that it stops the car and does not push it back."""


def geometry(p: Any) -> Geometry:
    """Tub, wings and wheels in proportion to wheelbase and track."""
    front, rear = p.l_f, -p.l_r
    wheels = four_wheels(front, rear, p.track, WHEEL_RADIUS, WHEEL_WIDTH)
    outlines = open_wheeler(front, rear, p.track)
    return Geometry(front, rear, wheels, outlines, HEIGHT, p.m, p.I_z)


def geometry_with_forces(p: Any) -> Geometry:
    """The same of a car whose outputs have the force of each wheel."""
    wheels = four_wheels(p.l_f, -p.l_r, p.track, WHEEL_RADIUS, WHEEL_WIDTH, forces=True)
    return replace(geometry(p), wheels=wheels)


def open_wheeler(front: m, rear: m, track: m) -> tuple[Outline, ...]:
    """Rear wing, front wing, and a tub with side pods between them."""
    base, half = front - rear, 0.5 * track
    nose, tail, middle = front + 0.3 * base, rear - 0.18 * base, rear + 0.5 * base
    side = (
        (tail, 0.22 * half),
        (rear + 0.12 * base, 0.3 * half),
        (middle - 0.12 * base, 0.62 * half),
        (middle + 0.1 * base, 0.6 * half),
        (middle + 0.22 * base, 0.36 * half),
        (front, 0.26 * half),
        (nose, 0.14 * half),
    )
    tub = (*((x, -y) for x, y in side), *reversed(side))
    return (
        box(rear - 0.34 * base, rear - 0.14 * base, 0.85 * track),
        box(nose - 0.08 * base, nose + 0.1 * base, track),
        tub,
    )


def torque_for(a: m_s2, v_x: m_s, p: Any) -> Nm:
    """Torque at each of four wheels for an acceleration along the car, in spite of resistance."""
    against = resistance(v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    return (a * p.m - against) / (4.0 * p.C_m0)


def limits(p: Any) -> Limits:
    """What steering, motors and tyres allow."""
    return replace(limits_of_actuators(p), grip=p.tyre.D * p.g)


def limits_of_actuators(p: Any) -> Limits:
    """What steering and motors allow."""
    drive = 4.0 * p.C_m0 * p.tau_max / p.m
    torques = {f"tau_{wheel}": (-p.tau_max, p.tau_max) for wheel in ("fl", "fr", "rl", "rr")}
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=drive,
        a_min=-drive,
        handbrake=True,
        inputs={"steer": (-p.steer_max, p.steer_max), **torques},
    )


def command(x: State, wish: Wish, p: Any) -> Input:
    """All wheels drive and brake alike; the handbrake locks the rear ones.

    Who asks to be slower stops and stays; the car reverses for who also asks for a speed below 0.
    """
    brakes = logical_and(wish.a < 0.0, wish.v >= 0.0)
    a = where(brakes, maximum(wish.a, -x.v_x * (1.0 / HOLD_TIME)), wish.a)
    # Who pulls the handbrake does not want the other wheels to keep up the speed.
    v_x = where(wish.handbrake > 0.0, 0.0, x.v_x)
    tau = limited(torque_for(a, v_x, p), p.tau_max)
    hand = wish.handbrake * p.tau_max * clip(x.v_x * (1.0 / CREEP), -1.0, 1.0)
    rear = limited(tau - hand, p.tau_max)
    return Input(limited(wish.steer, p.steer_max), tau, tau, rear, rear)


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Any) -> tuple[Input, Any]:
    """Gravity pulls at the centre of mass; friction is one factor on all tyres: the mean."""
    changes: dict[str, Any] = {}
    if ground.down is not None:
        weight = ground.g * p.m
        changes |= {"F_x": weight * ground.down.x, "F_y": weight * ground.down.y}
    shares = ground.friction_shares((p.tyre.D,) * 4)
    if shares is not None:
        fl, fr, rl, rr = shares
        changes["mu_scale"] = 0.25 * (fl + fr + rl + rr)
    return u, w._replace(**changes)


CAR = sliding_car(
    geometry=geometry_with_forces,
    limits=limits,
    command=command,
    on_ground=on_ground,
    gravity="g",
)
"""Of a car on tyres that can be pushed and whose outputs have the force of each wheel."""
