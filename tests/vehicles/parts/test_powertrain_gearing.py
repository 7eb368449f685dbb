"""Gears, gear changes, their losses, and a clutch that holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts import AutomaticShift, ManualShift, gear_ratios
from skidpad.vehicles.parts.gearing import Clutch, FinalDrive, GearState, gear_ratio

RATIOS = gear_ratios(3.5, 2.0, 1.2, reverse=3.2)
ANY = st.floats(-300.0, 300.0)


def test_each_gear_has_its_ratio() -> None:
    gears = (-1.0, 0.0, 1.0, 2.0, 3.0)
    assert [gear_ratio(gear, RATIOS) for gear in gears] == pytest.approx([-3.2, 0.0, 3.5, 2.0, 1.2])
    manual = ManualShift()
    assert [manual.gear(None, gear, RATIOS) for gear in (-4.0, 2.0, 9.0)] == [-1.0, 2.0, 3.0]


def test_an_automatic_changes_at_its_speed() -> None:
    """The output turns with spin_up / ratio there: half way, and over the band to either side."""
    shift = AutomaticShift(spin_up=400.0, band=0.1)
    for k, ratio in enumerate((3.5, 2.0)):
        at = 400.0 / ratio
        gears = [shift.target(1.0, at * f, RATIOS) for f in (0.89, 1.0, 1.11)]
        assert gears == pytest.approx([k + 1.0, k + 1.5, k + 2.0])
    assert shift.target(1.0, 1e4, RATIOS) == 3.0
    assert shift.target(-1.0, -300.0, RATIOS) == -1.0
    assert shift.target(0.0, 300.0, RATIOS) == 0.0


def test_an_automatic_has_no_hysteresis() -> None:
    """One gear for each speed, never falling as the speed grows."""
    spins = np.linspace(0.0, 400.0, 2001).tolist()
    gears = [AutomaticShift().target(1.0, spin, RATIOS) for spin in spins]
    assert (np.diff(gears) >= 0.0).all()
    rate = AutomaticShift(t_shift=0.25).rates(GearState(2.0), 1.0, 0.0, RATIOS)
    assert rate.gear_engaged == pytest.approx((1.0 - 2.0) / 0.25)


def test_what_is_asked_for_a_direction_is_the_gear_of_the_speed() -> None:
    manual = ManualShift(spin_up=400.0)
    assert manual.command(1.0, 50.0, RATIOS) == (1.0, 1.0)
    assert manual.command(1.0, 150.0, RATIOS) == (2.0, 2.0)
    assert manual.command(-1.0, 150.0, RATIOS) == (-1.0, -1.0)
    assert AutomaticShift(spin_up=400.0).command(1.0, 150.0, RATIOS) == (1.0, pytest.approx(2.0))


@given(T=ANY, spin=ANY)
def test_gears_lose_and_never_give(T: float, spin: float) -> None:
    final = FinalDrive(efficiency=0.9)
    out = final.output(T, spin)
    assert (T - out) * spin == pytest.approx(final.lost(T, spin), abs=1e-9)
    assert final.lost(T, spin) >= 0.0


def test_efficiency_is_the_share_that_is_left_either_way() -> None:
    final = FinalDrive(efficiency=0.9)
    assert final.output(100.0, 50.0) == pytest.approx(90.0, rel=1e-3)
    assert final.output(-100.0, -50.0) == pytest.approx(-90.0, rel=1e-3)
    assert final.output(-100.0, 50.0) == pytest.approx(-110.0, rel=1e-3)
    assert final.output(100.0, 0.0) == 100.0


@given(
    twist=st.floats(-0.7, 0.7), closed=st.floats(0.0, 1.0), slip=ANY, damping=st.floats(0.0, 50.0)
)
def test_a_clutch_only_takes_power_and_keeps_its_capacity(
    twist: float, closed: float, slip: float, damping: float
) -> None:
    """What goes in is stored in the twist or lost, however far it is closed."""
    clutch = Clutch(damping=damping)
    torque, rate = clutch.transmitted(twist, closed, slip)
    storing = clutch.k * twist * rate
    assert torque * slip - storing >= -1e-9 * (abs(torque * slip) + abs(storing))
    assert abs(torque) <= closed * clutch.capacity * (1.0 + 1e-12)


def slipping(clutch: Clutch, closed: float, slip: float, t: float, dt: float = 1e-4) -> float:
    """Torque after a time of constant slip."""
    twist = 0.0
    for _ in range(round(t / dt)):
        twist += dt * clutch.transmitted(twist, closed, slip).twist_rate
    return clutch.transmitted(twist, closed, slip).torque


def test_a_clutch_that_slips_gives_its_capacity() -> None:
    clutch = Clutch(capacity=300.0)
    assert slipping(clutch, 1.0, 50.0, 1.0) == pytest.approx(300.0, rel=1e-6)
    assert slipping(clutch, 1.0, -50.0, 1.0) == pytest.approx(-300.0, rel=1e-6)
    assert slipping(clutch, 0.8, 50.0, 1.0) == pytest.approx(0.8 * 300.0, rel=1e-3)


def test_a_clutch_at_rest_holds_without_creeping() -> None:
    """A twist of torque / k carries a torque below the capacity, and does not change."""
    clutch = Clutch()
    torque, rate = clutch.transmitted(200.0 / clutch.k, 1.0, 0.0)
    assert (torque, rate) == (pytest.approx(200.0), 0.0)


def test_an_open_clutch_hands_on_nothing_and_untwists() -> None:
    clutch = Clutch(t_release=0.05)
    torque, rate = clutch.transmitted(0.3, 0.0, 80.0)
    assert (torque, rate) == (0.0, pytest.approx(-0.3 / 0.05))
    assert clutch.closed(clutch.spin_engage, 1.0) == 0.0
    assert clutch.closed(clutch.spin_closed, -1.0) == 1.0
    assert clutch.closed(400.0, 0.0) == 0.0
