"""An electric motor: limits of torque, power, speed and current; losses; regeneration."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.electric import (
    CurveEnvelope,
    ElectricMotor,
    Inverter,
    LossTerms,
    MotorStates,
    PowerEnvelope,
    PowerLimits,
    loss_map,
)
from skidpad.vehicles.parts.gearing import within_power

MOTOR = ElectricMotor()
COPPER = LossTerms().copper
MAPPED = ElectricMotor(
    losses=loss_map(
        (0.0, 500.0, 1500.0),
        TORQUES := tuple(np.linspace(0.0, 240.0, 9)),
        [[COPPER * tau**2 + drag for tau in TORQUES] for drag in (0.0, 600.0, 2500.0)],
    )
)
"""The copper of `MOTOR` on a grid: convex over the torque, and a straight line between points."""
LOSSY = ElectricMotor(inverter=Inverter(efficiency=0.6, P_standby=40.0))
AMPLE = PowerLimits(1e9, 1e9)
SPIN = st.floats(-1500.0, 1500.0)
TORQUE = st.floats(-500.0, 500.0)


def torque(motor: ElectricMotor, drive: float, spin: float, power: PowerLimits = AMPLE) -> float:
    return motor.torque(MotorStates(drive, 0.0), spin, power)


def test_torque_below_the_knee_and_power_above_it() -> None:
    """Far from the knee, at P / tau_max = 348 rad/s, each is there but for its knee."""
    assert torque(MOTOR, 1e9, 0.0) == pytest.approx(230.0, rel=1e-4)
    assert torque(MOTOR, 1e9, 35.0) == pytest.approx(230.0, rel=1e-3)
    assert torque(MOTOR, 1e9, 1100.0) * 1100.0 == pytest.approx(80e3, rel=1e-3)
    assert torque(MOTOR, -1e9, -1100.0) * -1100.0 == pytest.approx(80e3, rel=1e-3)


def test_at_the_knee_its_share_is_missing() -> None:
    """tau = P / spin there: 1 / (1 + knee) of it is left."""
    for knee in (0.01, 0.1, 0.5):
        at = within_power(100.0, 5000.0, 50.0, knee, 1e-9)
        assert at == pytest.approx(100.0 / (1.0 + knee), rel=1e-12)


@given(st.floats(0.0, 500.0), st.floats(1.0, 1e5), SPIN, st.floats(0.001, 1.0))
def test_never_above_torque_nor_power(tau: float, P: float, spin: float, knee: float) -> None:
    within = within_power(tau, P, spin, knee, 5.0)
    assert 0.0 <= within <= tau * (1.0 + 1e-12)
    assert within * abs(spin) <= P * (1.0 + 1e-12)


@pytest.mark.parametrize("motor", [MOTOR, MAPPED, LOSSY], ids=["terms", "map", "lossy inverter"])
@given(
    drive=TORQUE,
    regen=st.floats(0.0, 500.0),
    spin=st.one_of(SPIN, st.floats(-20.0, 20.0)),
    discharge=st.one_of(st.floats(0.0, 5e3), st.floats(0.0, 1e5)),
    charge=st.floats(0.0, 1e5),
)
def test_power_drawn_and_given_back_keeps_its_limits(
    motor: ElectricMotor, drive: float, regen: float, spin: float, discharge: float, charge: float
) -> None:
    """At the terminals, losses and all, whatever is asked for at whatever speed.

    About rest a torque that drives becomes one that brakes, of which a shaft that turns the other
    way gives back tau |spin| less its losses, whatever the battery takes: with those of copper at
    most spin²/(4 copper), a few watts.
    """
    limits = PowerLimits(discharge, charge)
    tau = motor.torque(MotorStates(drive, regen), spin, limits)
    drawn = tau * spin + motor.lost(tau, spin)
    assert drawn <= max(discharge, motor.lost(0.0, spin)) * (1.0 + 1e-9) + 1e-3
    about_rest = spin**2 / (4.0 * COPPER) if abs(spin) < motor.envelope.spin_low else 0.0
    assert drawn >= -max(charge, about_rest) * (1.0 + 1e-9) - 1e-3
    assert tau * spin <= 80e3 * (1.0 + 1e-9)
    assert tau * spin >= -40e3 * (1.0 + 1e-9)


def test_a_weak_battery_holds_back_what_would_push_a_shaft_that_turns_the_other_way() -> None:
    """2645 W of copper at 230 N·m: 1 kW is not enough, at rest and while it rolls back slowly."""
    for spin in (-3.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 3.0):
        low, high = MOTOR.bounds(spin, PowerLimits(1e3, 40e3))
        for tau in (low, high):
            assert tau * spin + MOTOR.lost(tau, spin) <= 1e3 * (1.0 + 1e-9)


@pytest.mark.parametrize("spin", [-800.0, -100.0, 100.0, 800.0])
@pytest.mark.parametrize("motor", [MOTOR, LOSSY], ids=["terms", "lossy inverter"])
def test_an_empty_battery_is_charged_by_braking(motor: ElectricMotor, spin: float) -> None:
    """As much as one that has power left: the shaft feeds the losses."""
    asked = MotorStates(0.0, 120.0)
    full = motor.torque(asked, spin, PowerLimits(80e3, 40e3))
    assert motor.torque(asked, spin, PowerLimits(0.0, 40e3)) == pytest.approx(full, rel=1e-12)
    assert full * spin < -2000.0


@pytest.mark.slow_cases("1.0", "100000.0", "2000.0", "300.0")
@pytest.mark.parametrize("discharge", [0.0, 1.0, 300.0, 2000.0, 1e5])
def test_bounds_have_no_jump_over_speed_with_any_battery(discharge: float) -> None:
    grid = np.linspace(-40.0, 40.0, 400001)
    for values in MOTOR.bounds(grid, PowerLimits(discharge, 40e3)):  # type: ignore[arg-type]
        assert values.shape == grid.shape
        assert np.abs(np.diff(values)).max() < 1.0


@given(st.floats(0.0, 1e4), st.floats(1200.0, 5000.0))
def test_nothing_drives_beyond_the_rev_limit(drive: float, spin: float) -> None:
    assert torque(MOTOR, drive, spin) == 0.0
    assert torque(MOTOR, -drive, -spin) == 0.0
    assert MOTOR.torque(MotorStates(0.0, 50.0), spin, AMPLE) < 0.0


@given(st.floats(0.0, 500.0), SPIN)
def test_regeneration_is_against_the_motion(regen: float, spin: float) -> None:
    """Also with a request that is left over from the other direction; at rest there is none."""
    tau = MOTOR.torque(MotorStates(0.0, regen), spin, AMPLE)
    assert tau * spin <= 0.0
    assert MOTOR.torque(MotorStates(0.0, regen), 0.0, AMPLE) == 0.0


def test_a_full_battery_takes_nothing_back() -> None:
    tau = MOTOR.torque(MotorStates(0.0, 100.0), 300.0, PowerLimits(80e3, 0.0))
    assert abs(tau * 300.0) < 1e-3


def test_the_current_of_the_inverter_limits_the_torque() -> None:
    motor = ElectricMotor(inverter=Inverter(I_max=200.0, k_t=0.5))
    assert torque(motor, 1e9, 100.0) == pytest.approx(100.0, rel=5e-3)
    assert motor.peak() == 100.0


def test_losses_are_the_sum_of_their_terms() -> None:
    motor = ElectricMotor(
        losses=LossTerms(copper=0.1, iron=2.0, windage=0.001),
        inverter=Inverter(efficiency=0.8, P_standby=30.0),
    )
    want = 0.1 * 50.0**2 + 2.0 * 400.0 + 0.001 * 400.0**2 + 50.0 * 400.0 * 0.25 + 30.0
    assert motor.lost(50.0, 400.0) == pytest.approx(want, rel=1e-3)
    assert motor.lost(-50.0, -400.0) == pytest.approx(motor.lost(50.0, 400.0))


def test_a_map_of_losses_is_met_on_its_grid() -> None:
    spins, torques = (0.0, 500.0, 1000.0), (0.0, 100.0, 200.0)
    losses = ((0.0, 500.0, 2000.0), (300.0, 1500.0, 5000.0), (900.0, 3000.0, 9000.0))
    motor = ElectricMotor(losses=loss_map(spins, torques, losses), inverter=Inverter(efficiency=1))
    for i, spin in enumerate(spins):
        for j, tau in enumerate(torques):
            assert motor.lost(-tau, spin) == pytest.approx(losses[i][j])


def test_a_curve_of_torque_is_met_at_its_points() -> None:
    motor = ElectricMotor(envelope=CurveEnvelope(), inverter=Inverter(I_max=1000.0))
    assert torque(motor, 1e9, 500.0) == pytest.approx(158.0, rel=1e-3)
    assert torque(motor, 1e9, 425.0) == pytest.approx(0.5 * (228.0 + 158.0), rel=1e-3)
    assert motor.peak() == 230.0


def test_requests_follow_the_throttle_with_the_lag() -> None:
    """(target - value) / t_lag: 0.5 of 230 N·m, and 0.25 of 120 N·m of regeneration."""
    rates = MOTOR.rates(MotorStates(20.0, 5.0), 0.5, -1.0)
    assert rates == pytest.approx(((-115.0 - 20.0) / 0.02, -5.0 / 0.02))
    rates = MOTOR.rates(MotorStates(20.0, 5.0), -0.25, 1.0)
    assert rates == pytest.approx((-20.0 / 0.02, (30.0 - 5.0) / 0.02))


def test_the_envelope_is_smooth_over_speed() -> None:
    """No jump of torque or slope, from reverse to beyond the rev limit."""
    spin = ca.SX.sym("spin")
    full = torque(ElectricMotor(envelope=PowerEnvelope(knee=0.1)), 1e9, spin)  # type: ignore[arg-type]
    function = ca.Function("f", [spin], [full, ca.jacobian(full, spin)])
    grid = np.linspace(-400.0, 1300.0, 170001)
    values, slopes = (np.asarray(row).ravel() for row in function(grid.reshape(1, -1)))
    assert np.isfinite(slopes).all()
    assert np.abs(np.diff(values)).max() < 2.0 * np.abs(slopes).max() * 0.01
    assert np.abs(np.diff(slopes)).max() < 0.05 * np.abs(slopes).max()
