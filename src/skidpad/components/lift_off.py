"""Wheel loads of a car that may lift wheels: never negative, balanced as far as the road allows.

An axle that pitch would pull off the road carries nothing and the other one everything. When the
inner wheel of an axle lifts, that axle has shifted all it can and the other axle takes the rest of
the roll moment; once both inner wheels are up the roll balance cannot be kept (the car would tip).
Between these events the loads are affine in acceleration, so a law in force at one acceleration can
be solved exactly with `load_transfer.accelerations`.
"""

from __future__ import annotations

from ..ops import abs, clip, logical_and, sign, where
from ..units import N, one
from .axle import AxleLoad
from .load_transfer import AxleLoadLaw, CarLoad, LoadLaw, axle_load
from .rigid_body import Acceleration


def road_load(a: Acceleration, rigid: LoadLaw) -> CarLoad:
    """Loads at an acceleration; `rigid` is the law with all wheels on the road."""
    whole = rigid.front.mean_0 + rigid.rear.mean_0
    load = axle_load(a, rigid.front)
    front = clip(load.mean, 0.0 * whole, whole)
    rear = whole - front
    spilt = load.shift - clip(load.shift, -rear, rear)
    shift_f = clip(load.shift + spilt, -front, front)
    shift_r = clip(2.0 * load.shift - shift_f, -rear, rear)
    return CarLoad(AxleLoad(front, shift_f), AxleLoad(rear, shift_r))


def road_law(a: Acceleration, load: CarLoad, rigid: LoadLaw) -> LoadLaw:
    """The affine law in force at `a`, where `road_load` gave `load`.

    A wheel is up when its axle has shifted all its load, which is what `road_load` limits it to.
    """
    whole = rigid.front.mean_0 + rigid.rear.mean_0
    pitched = rigid.front.mean_0 + rigid.front.mean_x * a.x
    down = logical_and(pitched > 0.0 * whole, pitched < whole)
    front_0 = where(down, rigid.front.mean_0, load.front.mean)
    front_x = where(down, rigid.front.mean_x, 0.0 * rigid.front.mean_x)
    rear_0, rear_x = whole - front_0, -front_x
    side = sign(load.front.shift + load.rear.shift)
    lift_f = abs(load.front.shift) >= load.front.mean
    lift_r = abs(load.rear.shift) >= load.rear.mean
    roll = rigid.front
    return LoadLaw(
        _shifted(front_0, front_x, rear_0, rear_x, side, lift_f, lift_r, roll),
        _shifted(rear_0, rear_x, front_0, front_x, side, lift_r, lift_f, roll),
    )


def _shifted(
    mean_0: N,
    mean_x: float,
    other_0: N,
    other_x: float,
    side: one,
    lifted: bool,
    other_lifted: bool,
    roll: AxleLoadLaw,
) -> AxleLoadLaw:
    """Law of an axle: at its own limit, taking what the other axle cannot, or sharing evenly."""

    def choose(at_limit: float, shared: float, rest: float) -> float:
        return where(lifted, at_limit, where(other_lifted, rest, shared))

    return AxleLoadLaw(
        mean_0,
        mean_x,
        choose(side * mean_0, roll.shift_0, 2.0 * roll.shift_0 - side * other_0),
        choose(side * mean_x, roll.shift_x, 2.0 * roll.shift_x - side * other_x),
        choose(0.0 * roll.shift_y, roll.shift_y, 2.0 * roll.shift_y),
    )
