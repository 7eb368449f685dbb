"""Loads on the four wheels of a sprung car, from how its tyres push the body.

The tyres push at the ground, so their force along the car moves load between the axles and that
across it between the sides, where `roll_front` says how much of the roll the front axle takes.
Loads add up to the weight on the car, and moments about the ground balance, also with wheels in
the air: what an axle with a lifted wheel cannot take goes to the other one. Only when both inner
wheels are up the roll balance is lost, as the car would tip over.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..ops import clip
from ..units import N, kg, m, m_s2, one
from .wheel import floored_speed

__all__ = [
    "AxleWeights",
    "Axles",
    "CornerLoads",
    "Springs",
    "axle_weights",
    "corner_loads",
    "loads_under",
    "spread_loads",
]


class Axles(Protocol):
    """Where the wheels are, and when they lift."""

    @property
    def l_f(self) -> m:
        """Centre of mass to front axle."""
        ...

    @property
    def l_r(self) -> m:
        """Centre of mass to rear axle."""
        ...

    @property
    def track_f(self) -> m:
        """Between the front wheels."""
        ...

    @property
    def track_r(self) -> m:
        """Between the rear wheels."""
        ...

    @property
    def F_lift(self) -> N:
        """Load below which a wheel begins to lift."""
        ...


class Springs(Axles, Protocol):
    """Parameters of the balance."""

    @property
    def m(self) -> kg:
        """Mass."""
        ...

    @property
    def z_cg(self) -> m:
        """Height of the centre of mass."""
        ...

    @property
    def roll_front(self) -> one:
        """Share of the front axle in the roll moment."""
        ...


class AxleWeights(NamedTuple):
    """Load of each axle of a car that its tyres do not push."""

    front: N
    rear: N


class CornerLoads(NamedTuple):
    """Load on each wheel, never negative."""

    fl: N
    fr: N
    rl: N
    rr: N


def axle_weights(weight: N, down: N, down_front: one, p: Axles) -> AxleWeights:
    """Loads under the weight at the centre of mass and a downforce, shared by `down_front`."""
    return loads_under(weight, down_front * down, (1.0 - down_front) * down, p)


def loads_under(weight: N, front: N, rear: N, p: Axles) -> AxleWeights:
    """Loads under the weight at the centre of mass and a force pressing each axle."""
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    return AxleWeights(
        (p.l_r * by_wheelbase) * weight + front, (p.l_f * by_wheelbase) * weight + rear
    )


def corner_loads(at_rest: AxleWeights, a_x: m_s2, a_y: m_s2, p: Springs) -> CornerLoads:
    """Loads while the tyres push with the mass times (a_x, a_y), in body axes."""
    leaning = p.m * p.z_cg
    pitch = (leaning * (1.0 / (p.l_f + p.l_r))) * a_x
    shift_f = (p.roll_front * leaning * (1.0 / p.track_f)) * a_y
    shift_r = ((1.0 - p.roll_front) * leaning * (1.0 / p.track_r)) * a_y
    return spread_loads(at_rest.front - pitch, at_rest.rear + pitch, shift_f, shift_r, p)


def spread_loads(front: N, rear: N, shift_f: N, shift_r: N, p: Axles) -> CornerLoads:
    """Loads of the wheels of two axles, of which a shift goes from each left one to the right one.

    The moment of an axle about the ground is its shift times its track. Loads of the
    axles may be negative, but not their sum.
    """
    spilt = _lift(front, p.F_lift) - _lift(rear, p.F_lift)
    mean_f, mean_r = 0.5 * (front + spilt), 0.5 * (rear - spilt)
    spilt_f = _spilt(shift_f, mean_f, p.F_lift)
    spilt_r = _spilt(shift_r, mean_r, p.F_lift)
    # A moment goes from one axle to the other, hence the ratio of the tracks.
    kept_f = shift_f - spilt_f + (p.track_r * (1.0 / p.track_f)) * spilt_r
    kept_r = shift_r - spilt_r + (p.track_f * (1.0 / p.track_r)) * spilt_f
    kept_f, kept_r = clip(kept_f, -mean_f, mean_f), clip(kept_r, -mean_r, mean_r)
    return CornerLoads(mean_f - kept_f, mean_f + kept_f, mean_r - kept_r, mean_r + kept_r)


def _lift(F_z: N, width: N) -> N:
    """What a load lacks to one that is not negative: 0 above `width`, then smoothly -F_z."""
    return 0.5 * (floored_speed(F_z, width) - F_z)


def _spilt(shift: N, mean: N, width: N) -> N:
    """What of a shift to the right an axle cannot take without pulling at the road."""
    return _lift(mean - shift, width) - _lift(mean + shift, width)
