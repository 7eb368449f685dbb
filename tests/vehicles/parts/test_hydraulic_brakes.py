"""Brakes by pedal: pressures, balance, discs, parking brake."""

from __future__ import annotations

import pytest

from skidpad.vehicles.parts.actuators import BrakePressures, Disc, HydraulicBrakes, PedalInputs

BRAKES = HydraulicBrakes(
    p_max=8e6,
    balance=0.6,
    t_lag=0.1,
    parking=1200.0,
    front=Disc(mu=0.4, area=0.002, radius=0.12, faces=2.0),
    rear=Disc(mu=0.35, area=0.001, radius=0.1, faces=2.0),
)


def test_torque_is_pressure_by_area_friction_radius_and_faces() -> None:
    torques = BRAKES.torques(BrakePressures(5e6, 3e6), PedalInputs())
    front, rear = 2.0 * 0.4 * 0.002 * 0.12 * 5e6, 2.0 * 0.35 * 0.001 * 0.1 * 3e6
    assert torques == pytest.approx((front, front, rear, rear))


def test_balance_shares_the_pressure_of_the_pedal() -> None:
    """Both together are twice the mean pressure, at any balance."""
    assert BRAKES.targets(0.5) == pytest.approx((4.8e6, 3.2e6))
    assert BRAKES.targets(7.0) == pytest.approx((9.6e6, 6.4e6))
    assert BRAKES.targets(-1.0) == (0.0, 0.0)


def test_pressures_follow_with_their_lag() -> None:
    rates = BRAKES.rates(BrakePressures(1e6, 0.0), PedalInputs(brake=0.5))
    assert rates == pytest.approx((3.8e6 / 0.1, 3.2e6 / 0.1))


def test_the_parking_brake_holds_the_rear_wheels() -> None:
    torques = BRAKES.torques(BrakePressures(), PedalInputs(handbrake=0.5))
    assert torques == pytest.approx((0.0, 0.0, 600.0, 600.0))


def test_pressures_below_zero_do_not_push() -> None:
    assert BRAKES.torques(BrakePressures(-1e6, -1e6), PedalInputs()) == (0.0,) * 4


def test_the_pedal_of_a_torque_gives_it() -> None:
    pedal = BRAKES.pedal(2000.0, 0.0)
    torques = BRAKES.torques(BrakePressures(*BRAKES.targets(pedal.brake)), pedal)
    assert sum(torques) == pytest.approx(2000.0)
    assert BRAKES.pedal(1e6, 2.0) == (1.0, 1.0)
