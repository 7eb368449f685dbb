"""How a drive was driven, as its signals tell: from which speed and how hard it braked, how and to
which side it steered. A log has no settings; a test that is to be compared with it needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..identify.log import how_to_name, nearest
from ..units import m_s, m_s2, one, rad, s
from .case_run import CaseRun
from .step_response import first_time

__all__ = [
    "Slowing",
    "Steering",
    "TimedDrive",
    "lasting",
    "locked_in",
    "must_tell",
    "slowing_of",
    "started_at",
    "steering_of",
]

SLOWER: one = 0.95
"""Share of its speed at which a vehicle certainly slows down."""
CRUISING: one = 0.99
"""Share of the speed down to which it did not yet."""
STARTED: m_s = 0.5
"""Speed at which a vehicle that stood has started."""
BEFORE: s = 2.0
"""Over which the speed before a change is looked at."""
LEAST_LOSS: one = 0.05
"""Of the speed after that, without which a deceleration is not told."""
LOCKED: one = 0.5
"""Share of the speed of a rolling wheel below which one counts as locked."""


FOLLOWS = {"a_y": ("omega", "yaw")}
"""Columns of which one is enough for a signal, beside `v_x`."""
CHANGING = {"a_y": ("v_y", "sideslip")}
"""Columns of which one is needed besides where it changes."""


SAMPLE: s = 0.01
"""Of which durations of tests are multiples."""


SHORTLY: s = 0.5
"""Before the test begins, from which its speed there is told."""


@dataclass(frozen=True, eq=False)
class TimedDrive(CaseRun):
    """A log of which it is known that the test in it begins at zero."""

    @property
    def speed_at_zero(self) -> m_s:
        """By a straight line through what is shortly before, for noise."""
        v = self["v_x"][:, 0]
        just = (self.t >= -SHORTLY) & (self.t <= 0.0)
        if just.sum() < 5:
            return float(np.interp(0.0, self.t, v))
        return float(np.polyfit(self.t[just], v[just], 1)[1])


def lasting(most: s, drive: CaseRun, begin: s) -> s:
    """How long a test can be compared with a drive from a time on, in whole samples."""
    return min(most, SAMPLE * int((float(drive.t[-1]) - begin) / SAMPLE + 1e-6))


class Slowing(NamedTuple):
    """A drive that brakes or rolls out."""

    v: m_s
    """Before."""
    when: s
    """When it is first slower than 0.95 of that."""
    deceleration: m_s2
    """Mean from there to 0.1 of the speed, or as far as it goes."""


class Steering(NamedTuple):
    """A drive in which the wheels are turned."""

    v: m_s
    """Before."""
    when: s
    """When they first have half of their largest angle."""
    side: one
    """1 if that is to the left, -1 to the right."""
    angle: rad
    """The largest, without its sign."""


def must_tell(drive: CaseRun, name: str, why: str, *, changing: bool = False) -> None:
    """Raise InvalidValue unless a signal of a log has numbers, also where it changes if that is
    needed; the error says which columns are there that could be meant."""
    others = FOLLOWS.get(name, ())
    if name in drive and np.isfinite(drive[name]).all():
        if not (changing and name in drive.source.steady):
            return
        others = CHANGING[name]
    lacks = " or ".join(others)
    text = f"{drive.label} has no column {name}" + (
        f", nor {lacks} to make it from" if lacks else ""
    )
    free = drive.source.unused
    if free:
        meant = next((one for one in (name, *others) if nearest(one, free)), name)
        why += f". Columns that are not used: {drive.source.listed}; {how_to_name(meant, free)}"
    raise InvalidValue(f"{text}: {why}")


def slowing_of(drive: CaseRun) -> Slowing:
    """How a drive slows down from its highest speed, or from where it begins, of its first
    variant."""
    t, v = drive.t, drive["v_x"][:, 0]
    if isinstance(drive, TimedDrive):
        top, fastest = int(np.searchsorted(t, 0.0)), drive.speed_at_zero
    else:
        top = int(np.argmax(_smooth(t, v)))
        fastest = _smooth(t, v)[top]
    when = _first(t[top:], -v[top:], -SLOWER * fastest)
    if not np.isfinite(when) or fastest <= STARTED:
        raise InvalidValue(
            f"{drive.label} does not slow down from {fastest:.1f} m/s: nothing brakes in it"
        )
    cruise = v[(t < when) & (t > when - BEFORE) & (v > CRUISING * fastest)]
    told = len(cruise) == 0 or isinstance(drive, TimedDrive)
    v_0 = float(fastest if told else np.median(cruise))
    when = _first(t[top:], -v[top:], -SLOWER * v_0)
    later = t >= when
    slowest = max(0.1 * v_0, float(_smooth(t, v)[later].min()))
    end = _first(t[later], -v[later], -slowest)
    if not SLOWER * v_0 - slowest > LEAST_LOSS * v_0:
        raise InvalidValue(
            f"{drive.label} slows down from {v_0:.1f} m/s to {slowest:.1f} m/s only: too little to "
            f"tell how hard it brakes"
        )
    lost = SLOWER * v_0 - float(np.interp(end, t, v))
    return Slowing(v_0, when, lost / (end - when))


def started_at(drive: CaseRun) -> s:
    """When a vehicle that stood has started; NaN if it never does."""
    return _first(drive.t, drive["v_x"][:, 0], STARTED)


def steering_of(drive: CaseRun) -> Steering:
    """How a drive is steered, of its first variant."""
    must_tell(drive, "steer", "how it was steered is not told")
    angle = drive["steer"][:, 0]
    most = np.abs(angle).max()
    if most == 0.0:
        raise InvalidValue(f"{drive.label} goes straight on: its wheels are never turned")
    when = _first(drive.t, np.abs(angle), 0.5 * most)
    side = float(np.sign(np.interp(when, drive.t, angle))) or 1.0
    if isinstance(drive, TimedDrive):
        return Steering(drive.speed_at_zero, when, side, float(most))
    before = drive.since(when - BEFORE, when)["v_x"][:, 0]
    v = float(before.mean()) if len(before) else float(drive["v_x"][0, 0])
    return Steering(v, when, side, float(most))


def locked_in(drive: CaseRun) -> bool:
    """Whether a wheel stands while the vehicle moves; False where wheels tell nothing."""
    v = drive["v_x"][:, 0]
    fast = v > 0.9 * v.max()
    moving = v > 3.0
    for name in (name for name in drive.signals if name.startswith("spin_")):
        spin = drive[name][:, 0]
        rolling = float(np.median(spin[fast] / v[fast]))
        if (moving & (spin < LOCKED * rolling * v)).sum() > 0.1 * moving.sum():
            return True
    return False


def _smooth(t: Array, values: Array, over: s = 0.2) -> Array:
    """Moving mean, for noise."""
    count = min(max(int(over / (t[1] - t[0])), 1), len(values)) | 1
    padded = np.pad(values, count // 2, mode="edge")
    return np.convolve(padded, np.full(count, 1.0 / count), mode="valid")


def _first(t: Array, values: Array, level: float) -> s:
    return float(first_time(t, values[:, None], level)[0])
