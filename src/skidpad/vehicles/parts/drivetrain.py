"""Drivetrains: how the torque of one motor reaches four wheels through differentials.

An open differential splits in fixed proportion. A Torsen-like one gives more to the slower side
once the faster one turns more than `bias` times as fast, and up to `bias` times as much. When the
torque brakes, it is the faster side that gets more: what its gears rub takes energy either way. All
of them hand on the whole torque.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

from ...core.record import unknown_name
from ...errors import InvalidValue
from ...ops import abs, clip, logical_or, maximum, minimum, where
from ...units import Allowed, Nm, non_negative, one, rad_s

REST_SPIN: rad_s = 0.1
"""Spin that counts as none in a ratio of spins."""
fraction = Annotated[one, Allowed(0.0, 1.0)]


class Splits(NamedTuple):
    """How the differentials of a drivetrain are set; those that it does not have mean nothing."""

    front_rear_split: fraction = 0.5
    """Share of the torque that goes to the front axle."""
    front_rear_bias: Annotated[one, non_negative] = 1.5
    """Ratio of axle speeds from which a Torsen between the axles acts, and its most of torques."""
    front_left_right_split: fraction = 0.5
    """Share of the front axle's torque that goes to its left wheel."""
    front_left_right_bias: Annotated[one, non_negative] = 1.5
    """Ratio of wheel speeds from which a Torsen on the front axle acts, and its most of torques."""
    rear_left_right_split: fraction = 0.5
    """Share of the rear axle's torque that goes to its left wheel."""
    rear_left_right_bias: Annotated[one, non_negative] = 1.5
    """Ratio of wheel speeds from which a Torsen on the rear axle acts, and its most of torques."""


class Corners(NamedTuple):
    """A value for each wheel."""

    rl: float
    rr: float
    fl: float
    fr: float


Pair = tuple[one, one]
"""Shares of the two outputs of a differential; they sum to one."""


def open_shares(split: one) -> Pair:
    """Shares of an open differential."""
    return split, 1.0 - split


def torsen_shares(
    spin_1: rad_s, spin_2: rad_s, bias: one, split: one, torque: Nm | one = 1.0
) -> Pair:
    """Shares of a Torsen-like differential whose outputs turn at these rates.

    Of `torque` the sign counts. The shares are at most `bias` times as unequal as the split, which
    a bias of 1 or less leaves as it is. A vehicle at rest starts with the plain split.
    """
    speed_1, speed_2 = abs(spin_1), abs(spin_2)
    slower = where(spin_1 * spin_2 < 0.0, 0.0 * speed_1, minimum(speed_1, speed_2))
    ratio = (slower + REST_SPIN) / (maximum(speed_1, speed_2) + REST_SPIN)
    most = maximum((bias - 1.0) / (bias + 1.0), 0.0)
    lock = clip(1.0 - bias * ratio, 0.0, most)
    lock = where((spin_1 - spin_2) * torque > 0.0, -lock, lock)
    return _locked(split, lock)


def upstream_torsen_shares(
    spin_1: rad_s, spin_2: rad_s, bias: one, split: one, torque: Nm | one = 1.0
) -> Pair:
    """The shares by MVSim: without bound, the same for drive and brake, and open at rest."""
    speed_1, speed_2 = abs(spin_1), abs(spin_2)
    fastest = maximum(speed_1, speed_2)
    resting = logical_or(spin_1 == 0.0, spin_2 == 0.0)
    ratio = minimum(speed_1, speed_2) / where(resting, 1.0, fastest)
    lock = where(resting, 0.0, maximum(1.0 - bias * ratio, 0.0))
    lock = where(speed_1 > speed_2, -lock, lock)
    return _locked(split, lock)


def _locked(split: one, lock: one) -> Pair:
    to_1, to_2 = split * (1.0 + lock), (1.0 - split) * (1.0 - lock)
    by_sum = 1.0 / (to_1 + to_2)
    return to_1 * by_sum, to_2 * by_sum


def _front(pair: Pair) -> Corners:
    return Corners(0.0, 0.0, *pair)


def _rear(pair: Pair) -> Corners:
    return Corners(*pair, 0.0, 0.0)


def _all(axles: Pair, front: Pair, rear: Pair) -> Corners:
    to_front, to_rear = axles
    return Corners(to_rear * rear[0], to_rear * rear[1], to_front * front[0], to_front * front[1])


def _open_front(p: Splits) -> Pair:
    return open_shares(p.front_left_right_split)


def _open_rear(p: Splits) -> Pair:
    return open_shares(p.rear_left_right_split)


class _Turning(NamedTuple):
    """What the Torsens of a drivetrain see, and by which law they share."""

    spin: Corners
    torque: Nm | one
    shares: Callable[[rad_s, rad_s, one, one, Nm | one], Pair]


def _torsen_front(now: _Turning, p: Splits) -> Pair:
    bias, split = p.front_left_right_bias, p.front_left_right_split
    return now.shares(now.spin.fl, now.spin.fr, bias, split, now.torque)


def _torsen_rear(now: _Turning, p: Splits) -> Pair:
    bias, split = p.rear_left_right_bias, p.rear_left_right_split
    return now.shares(now.spin.rl, now.spin.rr, bias, split, now.torque)


def _torsen_axles(now: _Turning, p: Splits) -> Pair:
    front, rear = now.spin.fl + now.spin.fr, now.spin.rl + now.spin.rr
    return now.shares(front, rear, p.front_rear_bias, p.front_rear_split, now.torque)


_SHARES: dict[str, Callable[[_Turning, Splits], Corners]] = {
    "open_front": lambda now, p: _front(_open_front(p)),
    "open_rear": lambda now, p: _rear(_open_rear(p)),
    "open_4wd": lambda now, p: _all(open_shares(p.front_rear_split), _open_front(p), _open_rear(p)),
    "torsen_front": lambda now, p: _front(_torsen_front(now, p)),
    "torsen_rear": lambda now, p: _rear(_torsen_rear(now, p)),
    "torsen_4wd": lambda now, p: _all(
        _torsen_axles(now, p), _torsen_front(now, p), _torsen_rear(now, p)
    ),
}

DRIVETRAINS = tuple(_SHARES)
"""Names of the drivetrains."""


def torque_shares(
    drivetrain: str,
    spin: Corners,
    p: Splits,
    torque: Nm | one = 1.0,
    *,
    upstream: bool = False,
) -> Corners:
    """Share of the motor's torque that each wheel gets at these spins, by the drivetrain's name.

    With `upstream` Torsens react as in the program MVSim.
    """
    if drivetrain not in _SHARES:
        raise InvalidValue(unknown_name("skidpad", drivetrain, DRIVETRAINS, "drivetrain"))
    law = upstream_torsen_shares if upstream else torsen_shares
    return _SHARES[drivetrain](_Turning(spin, torque, law), p)
