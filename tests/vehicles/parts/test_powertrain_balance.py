"""Whole powertrains: every watt from charge or fuel reaches the wheels, is lost or stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts import (
    AllWheelDrive,
    Battery,
    EngineDrive,
    FrontWheelDrive,
    LockedDifferential,
    ManualShift,
    MotorDrive,
    RearWheelDrive,
)
from skidpad.vehicles.parts.assembly import assembled
from skidpad.vehicles.parts.electric import ElectricMotor, PowerEnvelope, Supply

SPIN = st.floats(-20.0, 140.0)
SPINS = st.tuples(SPIN, SPIN, SPIN, SPIN)
MOTORS = (
    MotorDrive(),
    MotorDrive(battery=Supply(), layout=AllWheelDrive()),
    MotorDrive(layout=FrontWheelDrive(LockedDifferential())),
)
ENGINES = (EngineDrive(), EngineDrive(shift=ManualShift(), layout=AllWheelDrive()))


def name(value: Any) -> str:
    return f"{type(value).__name__}-{type(value.layout).__name__}"


def motor_states(drive: MotorDrive, tau: float, regen: float, soc: float) -> Any:
    values = {"tau_drive": tau, "tau_regen": regen, "soc": soc}
    return drive.States(*(values[field] for field in drive.States._fields))


@pytest.mark.parametrize("drive", MOTORS, ids=name)
@given(tau=st.floats(-230, 230), regen=st.floats(0, 120), soc=st.floats(0, 1), spins=SPINS)
def test_electric_power_goes_to_the_wheels_or_is_lost(
    drive: Any, tau: float, regen: float, soc: float, spins: Any
) -> None:
    u = drive.Inputs(throttle=0.5)
    powers = drive.drive(motor_states(drive, tau, regen, soc), u, spins).shown
    scale = abs(powers.P_source) + abs(powers.P_wheels) + abs(powers.P_lost) + 1.0
    assert powers.P_source == pytest.approx(powers.P_wheels + powers.P_lost, abs=1e-10 * scale)
    assert powers.P_lost >= 0.0
    assert powers.P_stored == 0.0


@pytest.mark.parametrize("drive", MOTORS, ids=name)
@given(tau=st.floats(-230, 230), soc=st.floats(0.1, 0.9), spins=SPINS)
def test_wheels_never_get_more_than_the_motor_gives(
    drive: Any, tau: float, soc: float, spins: Any
) -> None:
    """Nor the motor more than 80 kW, with wheels that spin as they like."""
    powers = drive.drive(motor_states(drive, tau, 0.0, soc), drive.Inputs(), spins).shown
    shaft = powers.tau_motor * powers.spin_motor
    assert powers.P_wheels <= shaft + 1e-9 * abs(shaft) + 1e-9
    assert shaft <= 80e3
    if isinstance(drive.battery, Battery):
        assert powers.I_battery * powers.V_battery <= 80e3 * (1.0 + 1e-9)
    else:
        assert powers.P_source <= 80e3 * (1.0 + 1e-9)


@pytest.mark.parametrize("drive", ENGINES, ids=name)
@given(
    x=st.tuples(st.floats(0, 700), st.floats(0, 190), st.floats(-0.7, 0.7), st.floats(-1.0, 5.0)),
    gear=st.sampled_from([-1.0, 0.0, 1.0, 3.0]),
    spins=SPINS,
)
def test_heat_of_fuel_goes_to_the_wheels_or_is_lost_or_stored(
    drive: Any, x: tuple[float, ...], gear: float, spins: Any
) -> None:
    states = drive.States(*x[: len(drive.States._fields)])
    powers = drive.drive(states, drive.Inputs(0.3, gear), spins).shown
    out = powers.P_wheels + powers.P_lost + powers.P_stored
    scale = abs(powers.P_source) + abs(powers.P_lost) + abs(powers.P_stored) + 1.0
    assert powers.P_source == pytest.approx(out, abs=1e-10 * scale)
    assert powers.P_lost >= -1e-10 * scale
    assert powers.P_source >= 0.0


def test_in_neutral_the_wheels_turn_freely() -> None:
    drive = EngineDrive(shift=ManualShift())
    states = drive.States(400.0, 100.0, 0.5)
    assert (
        drive.drive(states, drive.Inputs(1.0, 0.0), (50.0, 50.0, 50.0, 50.0)).torques == (0.0,) * 4
    )


@pytest.mark.parametrize("T", [200.0, 1500.0])
def test_the_pedal_of_a_torque_gives_it(T: float) -> None:
    """Once the motor has followed, at a speed that asks for less than its power."""
    drive = MotorDrive(motor=ElectricMotor(envelope=PowerEnvelope(P_max=1e6)), battery=Supply(1e7))
    spins = (20.0,) * 4
    u = drive.pedals(None, -T, -1.0, tuple(-spin for spin in spins))  # type: ignore[arg-type]
    x = drive.States(u.gear * u.throttle * drive.motor.peak(), 0.0)
    torques = drive.drive(x, u, tuple(-spin for spin in spins)).torques  # type: ignore[arg-type]
    assert sum(torques) == pytest.approx(-T, rel=1e-3)


def test_reflected_inertia_is_that_of_the_rotor_by_the_square_of_the_ratio() -> None:
    drive = MotorDrive()
    assert pytest.approx(0.03 * 81.0 + 0.05) == drive.reflected().J
    turning = drive.rotating(None, (0.0, 0.0, 40.0, 60.0))
    assert turning == pytest.approx(0.5 * (0.03 * 81.0 + 0.05) * 50.0**2)


def test_a_powertrain_has_one_class_for_its_parts() -> None:
    first = assembled(MotorDrive(layout=AllWheelDrive(LockedDifferential())))
    again = assembled(MotorDrive(battery=Battery(), layout=AllWheelDrive(LockedDifferential())))
    other = assembled(MotorDrive(layout=RearWheelDrive(LockedDifferential())))
    assert type(first) is type(again)
    assert type(first) is not type(other)
    assert assembled(first) == first
    assert type(assembled(first)) is type(first)
