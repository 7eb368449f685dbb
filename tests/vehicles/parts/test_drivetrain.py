"""Differentials and drivetrains."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad import InvalidValue
from skidpad.vehicles.parts.wheel_friction import (
    DRIVETRAINS,
    Corners,
    Splits,
    torque_shares,
    torsen_shares,
    upstream_torsen_shares,
)
from vehicles.wheeled.recordings import table


def test_recorded_torsen_shares() -> None:
    t = table("tables", "torsen_split")
    got = upstream_torsen_shares(t["w1"], t["w2"], t["bias"], t["split"])
    for ours, theirs in zip(got, (t["t1"], t["t2"]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-9)


def test_recorded_drivetrains() -> None:
    t = table("tables", "drivetrain_split")
    names = ("front_rear", "front_lr", "rear_lr")
    for kind, *row in zip(t["type"], *(t[f"{n}_{x}"] for n in names for x in ("split", "bias")),
                          *(t[f"w_{k}"] for k in Corners._fields),
                          *(t[f"s_{k}"] for k in Corners._fields), strict=True):  # fmt: skip
        numbers = [float(value) for value in row]
        splits = Splits(*numbers[:6])
        got = torque_shares(DRIVETRAINS[int(kind)], Corners(*numbers[6:10]), splits, upstream=True)
        assert got == pytest.approx(tuple(numbers[10:]), abs=1e-9)


@pytest.mark.parametrize("kind", DRIVETRAINS)
def test_the_whole_torque_arrives(kind: str) -> None:
    draw = np.random.default_rng(2).uniform
    for _ in range(100):
        spin = Corners(*draw(-20.0, 20.0, 4))
        k, f, r = draw(0.05, 0.95, 3)
        b = draw(1.0, 3.0, 3)
        shares = torque_shares(kind, spin, Splits(k, b[0], f, b[1], r, b[2]))
        assert sum(shares) == pytest.approx(1.0)
        assert min(shares) >= 0.0


@pytest.mark.parametrize(
    ("kind", "idle"), [("open_front", ("rl", "rr")), ("torsen_rear", ("fl", "fr"))]
)
def test_an_axle_that_is_not_driven_gets_nothing(kind: str, idle: tuple[str, str]) -> None:
    shares = torque_shares(kind, Corners(1.0, 2.0, 3.0, 4.0), Splits())
    assert [getattr(shares, wheel) for wheel in idle] == [0.0, 0.0]


def test_a_torsen_helps_the_slower_wheel_beyond_its_bias() -> None:
    for shares in (torsen_shares, upstream_torsen_shares):
        assert shares(1.4, 1.0, 1.5, 0.5) == (0.5, 0.5)
    # The lock is (3 - 1.5) / 3 = 1/2, so that upstream's shares are as 3 to 1.
    assert upstream_torsen_shares(1.0, 3.0, 1.5, 0.5) == pytest.approx((0.75, 0.25))
    assert torsen_shares(1.0, 3.0, 1.5, 0.5) == pytest.approx((0.6, 0.4))


def test_a_torsen_locks_by_a_share_of_the_faster_spin() -> None:
    """MVSim's document multiplies by it, which gives shares of -49.5 and 50.5."""
    lock, fastest = 20.0 - 1.5 * 10.0, 20.0
    for factor, want in ((fastest, (-49.5, 50.5)), (1.0 / fastest, (0.375, 0.625))):
        by = lock * factor
        assert (0.5 * (1.0 - by), 0.5 * (1.0 + by)) == pytest.approx(want)
    assert upstream_torsen_shares(20.0, 10.0, 1.5, 0.5) == pytest.approx((0.375, 0.625))
    # The gears hand over no more than the bias allows: 0.6 to 0.4.
    assert max(torsen_shares(20.0, 10.0, 1.5, 0.5)) <= 0.6 + 1e-12


def test_the_rear_has_splits_of_its_own() -> None:
    """MVSim's document gives the rear right wheel what the front left does not get."""
    splits = Splits(front_left_right_split=0.8, rear_left_right_split=0.3, front_rear_split=0.4)
    shares = torque_shares("open_4wd", Corners(1.0, 1.0, 1.0, 1.0), splits)
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares.rl, shares.rr) / (shares.rl + shares.rr) == pytest.approx(0.3)


def test_a_torsen_is_bounded_by_its_bias_and_only_takes_energy() -> None:
    """Of two torques one is at most `bias` times the other; their power is at most the input's."""
    draw = np.random.default_rng(5).uniform
    largest = 0.0
    for _ in range(500):
        w_1, w_2 = draw(-20.0, 20.0, 2) * draw(0.0, 1.0, 2) ** 8
        bias, torque = draw(0.5, 5.0), draw(-1.0, 1.0)
        to_1, to_2 = torsen_shares(w_1, w_2, bias, 0.5, torque)
        ratio = max(to_1, to_2) / min(to_1, to_2)
        assert ratio <= max(bias, 1.0) * (1.0 + 1e-12)
        largest = max(largest, ratio / bias)
        assert torque * (to_1 * w_1 + to_2 * w_2) <= torque * 0.5 * (w_1 + w_2) + 1e-12
    assert largest > 0.999
    # A wheel that is held gets its part, and a vehicle at rest the plain split.
    assert torsen_shares(0.0, 20.0, 2.0, 0.5) == pytest.approx((2 / 3, 1 / 3))
    assert torsen_shares(0.0, 0.0, 2.0, 0.3) == pytest.approx((0.3, 0.7))


def test_an_unknown_drivetrain_names_the_known_ones() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'torsen_4wd'"):
        torque_shares("torsen_4wheel", Corners(0, 0, 0, 0), Splits())
