"""Slow ramp of the angle to the limit (ISO 4138): the largest lateral acceleration, and what gives
way there.

At constant speed the wheels are turned ever further, so slowly that the vehicle is always near
balance. A first, faster ramp finds how far, so that all vehicles come to their limit at one time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..units import m_s, one, rad, s
from .case import Case, ramp
from .case_run import CaseRun, endings
from .fitness import speed_needed, tyres_needed
from .how_driven import must_tell, steering_of
from .metric import Chart, Curve, Findings, Metric
from .proving_ground import Performing
from .steady_state import A_FIT, slope_at_zero
from .step_response import first_time
from .subject import Subject
from .theory import Bicycle

__all__ = ["SlowRamp"]

SIDES = {"left": 1.0, "right": -1.0}
FAST: s = 16.0
"""How long the first ramp takes."""
FIRST: one = 4.0
"""Angle to which it goes, over that of linear theory at the grip of the tyres."""
WIDEST: rad = 0.6
"""Largest angle of all ramps, if the vehicle can."""
MOST_TRIES = 3
"""Tests with ever larger angles, of vehicles whose first ramp ended too soon."""
BEYOND: one = 1.5
"""Angle of the test over that at which the first ramp came to the limit."""
NEAR: one = 0.99
"""Share of the largest lateral acceleration that counts as the limit: about it more angle changes
little, and where exactly the largest is says nothing."""
BALANCE: one = 0.05
"""Share of grip by which lateral acceleration may differ from speed times yaw rate; beyond, the
vehicle is about to spin, and what it has there no steady turn does."""
MOST_SLIP: rad = 0.35
"""Sideslip beyond the kinematic one from which on it does not count as a turn, either."""
LEAST_FIT: one = 0.15
"""Share of the lateral acceleration up to which gradients are fitted, from which on they are: it
takes a while until a vehicle follows a ramp evenly."""
REACHED: one = 0.97
"""Share of the last angle beyond which the limit may lie further."""
SLOWEST: s = 10.0
"""From a tenth of the limit to it, that a log has to take."""


@dataclass(frozen=True)
class SlowRamp:
    """An angle that grows evenly at constant speed, to the left and to the right."""

    speed: m_s = 80.0 / 3.6
    duration: s = 45.0
    """In which the angle grows to one and a half of that at the limit."""
    sides: tuple[str, ...] = ("left", "right")
    """To which it is driven; metrics are means of both."""
    name: ClassVar[str] = "slow_ramp"
    title: ClassVar[str] = "Slow ramp to the limit"
    source: ClassVar[str] = "ISO 4138:2021, constant speed, slowly growing angle"

    __repr__ = brief_repr

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        return tyres_needed(car) or speed_needed(car, self.speed)

    def perform(self, car: Subject) -> Performing:
        """A faster ramp finds the angle at the limit, the others are the test."""
        most = min(car.limits.steer_max, WIDEST)
        gain = car.theory(self.speed).gains["a_y"]
        wide = min(most, FIRST * car.grip / gain) if gain > 0.0 else most
        squared = self._case("finds the limit", FAST, lambda t: (np.maximum(t, 0.0) / FAST) ** 2)
        (fast,) = yield [replace(squared, amplitude=wide)]
        limit = _limit(car, fast).angle
        top = np.minimum(np.where(np.isfinite(limit), BEYOND * limit, wide), most)
        even = [self._case(side, self.duration, ramp(1.0 / self.duration)) for side in self.sides]
        runs: Sequence[CaseRun] = ()
        for _ in range(MOST_TRIES):
            runs = yield [replace(case, amplitude=SIDES[case.label] * top) for case in even]
            short = np.logical_or.reduce([_limit(car, run).grows for run in runs]) & (top < most)
            if not short.any():
                break
            top = np.where(short, np.minimum(2.0 * top, most), top)
        return _findings(car, runs, self.speed)

    def _case(self, label: str, duration: s, steer: Callable[[Array], Array]) -> Case:
        v = self.speed
        return Case(label=label, duration=duration, v=v, speed=v, steer=steer)

    def adapted_to(self, drive: CaseRun) -> SlowRamp:
        """With the speed and the side of a log."""
        told = steering_of(drive)
        must_tell(drive, "a_y", "how far the ramp goes is unknown")
        angle, a_y = (told.side * drive[name] for name in ("steer", "a_y"))
        ends = [first_time(drive.t, a_y, share * a_y.max())[0] for share in (0.1, NEAR)]
        slow = np.isfinite(ends).all() and ends[1] - ends[0] > SLOWEST
        if not slow or angle.min() < -0.1 * told.angle:
            raise InvalidValue(
                f"{drive.label} has no slow ramp: the angle has to grow to one side, for at least "
                f"{SLOWEST:g} s until lateral acceleration is at its largest"
            )
        side = next(name for name, sign in SIDES.items() if sign == told.side)
        return replace(self, speed=told.v, sides=(side,))

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """From a log of one ramp."""
        # What comes after the largest angle is the way back.
        end = drive.t[int(np.abs(drive["steer"][:, 0]).argmax())]
        return _findings(car, [drive.since(-np.inf, float(end))], self.speed)


class _Limit(NamedTuple):
    """What one ramp tells, each (V,), as of one to the left."""

    a_y: Array
    angle: Array
    sideslip: Array
    beyond: Array
    """Angle beyond the kinematic one."""
    gradient: Array
    """Of that over lateral acceleration, at zero."""
    rear: Array
    """1 if the rear gives way, 0 if the front does, NaN where neither is told."""
    grows: NDArray[np.bool_]
    """Whether lateral acceleration still grows at the last angle."""


def _in_balance(car: Subject, run: CaseRun) -> tuple[Array, Array, Array, Array]:
    """Lateral acceleration, angle, sideslip and angle beyond the kinematic one, (T, V) each, as of
    a ramp to the left; NaN from where on a vehicle is no longer in balance."""
    side = np.sign(np.nansum(run["steer"], axis=0))
    a_y, steer, slip, omega = (side * run[name] for name in ("a_y", "steer", "sideslip", "omega"))
    curvature = omega / np.maximum(run["v_x"], 0.1)
    with np.errstate(invalid="ignore"):
        held = np.abs(a_y - run["v_x"] * omega) < BALANCE * car.grip
        # A log need not tell the sideslip.
        held &= ~(np.abs(slip - np.arctan(car.l_r * curvature)) >= MOST_SLIP)
    for wheels in (("F_z_fl", "F_z_rl"), ("F_z_fr", "F_z_rr")):
        if all(name in run for name in wheels):
            held &= np.logical_or.reduce([run[name] > 1.0 for name in wheels])
    lost = np.logical_or.accumulate(~held, axis=0)
    beyond = steer - np.arctan(car.wheel_base * curvature)
    a_y, steer, slip, beyond = (np.where(lost, np.nan, row) for row in (a_y, steer, slip, beyond))
    return a_y, steer, slip, beyond


def _limit(car: Subject, run: CaseRun) -> _Limit:
    a_y, steer, slip, beyond = _in_balance(car, run)
    most = np.fmax.reduce(a_y, axis=0)
    when = first_time(run.t, a_y / most, NEAR)
    angle, sideslip, own = (
        np.array([np.interp(when[k], run.t, row[:, k]) for k in range(run.variants)])
        for row in (steer, slip, beyond)
    )
    even = (a_y > LEAST_FIT * A_FIT) & (run.t[:, None] < when)
    gradient = slope_at_zero(np.where(even, a_y, np.inf), beyond, A_FIT)
    spins = np.isnan(a_y[-1]) | (own < gradient * most)
    grows = np.isfinite(a_y[-1]) & (angle > REACHED * np.fmax.reduce(steer, axis=0))
    ended = [outcome in ("rolled over", "diverged") for outcome in run.outcomes]
    # Where lateral acceleration is made of the yaw rate, both agree in a spin, too.
    untold = np.array(ended) | np.isnan(most) | grows | ("a_y" in run.source.steady)
    rear = np.where(untold, np.nan, spins)
    return _Limit(most, angle, sideslip, own, gradient, rear, grows)


def _findings(car: Subject, runs: Sequence[CaseRun], v: m_s) -> Findings:
    each = [_limit(car, run) for run in runs]
    limit = _Limit(*(np.mean(parts, axis=0) for parts in zip(*each, strict=True)))
    bicycles = [theory.bicycle for theory in car.theories(v)]
    metrics = [
        Metric(
            "max_lateral_acceleration", limit.a_y, "m/s²",
            "Largest lateral acceleration in balance: the limit.",
        ),
        Metric(
            "understeer_gradient", limit.gradient, "rad·s²/m",
            "Angle of the front wheels beyond the kinematic one per lateral acceleration, at zero; "
            "positive: understeer.",
            [own.understeer_gradient for own in bicycles],
        ),
        Metric(
            "angle_at_limit", limit.angle, "rad",
            "Of the front wheels, where lateral acceleration is first 99 % of the largest.",
        ),
        Metric(
            "sideslip_at_limit", limit.sideslip, "rad",
            "There, of the centre of mass in a turn to the left; negative: the tail is outside.",
        ),
        Metric(
            "understeer_at_limit", limit.beyond - limit.gradient * limit.a_y, "rad",
            "Angle beyond the kinematic one there, less that of the gradient; positive: the front "
            "has slid further, negative: the rear.",
        ),
        Metric(
            "rear_gives_way", limit.rear, "",
            "1: beyond the limit it spins, or the rear has slid further; 0: it goes wide.",
            rough="either 0 or 1",
        ),
    ]  # fmt: skip
    return Findings(metrics, [_chart(car, runs[0], bicycles[0])], _notes(runs, limit))


def _notes(runs: Sequence[CaseRun], limit: _Limit) -> list[str]:
    """What happens at the limit of the first variant."""
    notes = endings(runs)
    if limit.rear[0] in (0.0, 1.0):
        notes.append(f"the {'rear' if limit.rear[0] else 'front'} gives way at the limit")
    if any("a_y" in run.source.steady for run in runs):
        notes.append(
            "the log has no a_y, v_y or sideslip, and does not tell a spin: where it ends in one, "
            "the largest lateral acceleration is too large"
        )
    if limit.grows[0]:
        last = np.abs(runs[0]["steer"][:, 0]).max()
        notes.append(f"lateral acceleration still grows at {last:.3g} rad, the largest angle")
    return notes


def _chart(car: Subject, run: CaseRun, bicycle: Bicycle) -> Chart:
    a_y, _, _, beyond = (row[:, 0] for row in _in_balance(car, run))
    seen = np.isfinite(a_y) & (run.t >= 0.0)
    ends = np.array([0.0, 2.0 * A_FIT])
    curves = [
        Curve(a_y[seen], beyond[seen], run.label),
        Curve(ends, bicycle.understeer_gradient * ends, "linear theory", "theory"),
    ]
    labels = "lateral acceleration in m/s²", "angle beyond the kinematic one in rad"
    return Chart("Handling diagram to the limit", *labels, curves)
