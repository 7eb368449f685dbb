"""A battery: current and voltage of a power, limits, charge, and an exact balance of energy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts import Battery, Pack
from skidpad.vehicles.parts.electric import Charge, Supply, voltage_curve

BATTERY = Battery()
SOC = st.floats(0.0, 1.0)


@given(SOC, st.floats(-40e3, 80e3))
def test_current_and_voltage_give_the_power(soc: float, P: float) -> None:
    flow = BATTERY.flow(Charge(soc), P)
    current, voltage = flow.shown
    ocv = float(np.interp(soc, (0.0, 0.1, 0.9, 1.0), (340.0, 380.0, 420.0, 440.0)))
    assert voltage == pytest.approx(ocv - 0.08 * current, rel=1e-12)
    assert voltage * current == pytest.approx(P, rel=1e-9, abs=1e-6)
    assert flow.source == pytest.approx(P + 0.08 * current**2, rel=1e-9, abs=1e-6)
    assert flow.lost >= 0.0


def test_a_power_worked_by_hand() -> None:
    """100 V and 0.5 Ω: 40 A leave 80 V, 3200 W."""
    battery = Battery(ocv=voltage_curve((0.0, 1.0), (100.0, 100.0)), pack=Pack(R=0.5, Q=3600.0))
    flow = battery.flow(Charge(0.5), 3200.0)
    assert flow.shown == pytest.approx((40.0, 80.0))
    assert flow.lost == pytest.approx(800.0)
    assert flow.rates.soc == pytest.approx(-40.0 / 3600.0)


@given(SOC, st.floats(-40e3, 80e3))
def test_stored_energy_falls_by_what_the_charge_gives(soc: float, P: float) -> None:
    """d stored / dt = -(P + R I²) to rounding, at every state of charge."""
    symbol = ca.SX.sym("soc")
    stored = ca.SX(BATTERY.stored(Charge(symbol)))  # type: ignore[arg-type]
    slope = float(ca.Function("slope", [symbol], [ca.gradient(stored, symbol)])(soc))
    flow = BATTERY.flow(Charge(soc), P)
    if min(abs(soc - knot) for knot in (0.0, 0.1, 0.9, 1.0)) > 1e-9:
        assert slope * flow.rates.soc == pytest.approx(-flow.source, rel=1e-12, abs=1e-9)


def test_a_full_discharge_gives_what_was_stored() -> None:
    """Trapezium of the voltage curve times the charge, in small steps of constant power."""
    soc, given_out, dt = 0.95, 0.0, 0.05
    start = BATTERY.stored(Charge(soc))
    while soc > 0.3:
        middle = BATTERY.flow(
            Charge(soc + 0.5 * dt * BATTERY.flow(Charge(soc), 60e3).rates.soc), 60e3
        )
        given_out += middle.source * dt
        soc += middle.rates.soc * dt
    assert start - BATTERY.stored(Charge(soc)) == pytest.approx(given_out, rel=1e-7)
    assert BATTERY.stored(Charge(1.0)) == pytest.approx(
        60e3 * (36.0 + 0.8 * 400.0 + 43.0), rel=1e-12
    )
    assert BATTERY.stored(Charge(0.0)) == 0.0


def test_limits_of_current_and_of_power() -> None:
    tight = Battery(pack=Pack(I_max=100.0, I_charge=50.0))
    limits = tight.limits(Charge(0.5))
    assert limits.discharge == pytest.approx((400.0 - 8.0) * 100.0)
    assert limits.charge == pytest.approx((400.0 + 4.0) * 50.0)
    assert BATTERY.limits(Charge(0.5)) == pytest.approx((80e3, 40e3))


@given(SOC, st.floats(0.01, 5.0))
def test_what_it_allows_it_can_give(soc: float, R: float) -> None:
    """Also where a short circuit is near: the current stays below half of that."""
    battery = Battery(pack=Pack(R=R))
    P = battery.limits(Charge(soc)).discharge
    current, voltage = battery.flow(Charge(soc), P).shown
    assert voltage * current == pytest.approx(P, rel=1e-9, abs=1e-9)
    assert current <= min(300.0, 0.5 * battery.voltage(Charge(soc)) / R) * (1.0 + 1e-9)


def test_empty_gives_nothing_and_full_takes_nothing() -> None:
    assert BATTERY.limits(Charge(0.0)).discharge == 0.0
    assert BATTERY.limits(Charge(1.0)).charge == 0.0
    assert BATTERY.limits(Charge(1.0)).discharge == 80e3
    socs = np.linspace(0.0, 0.02, 50).tolist()
    assert (np.diff([BATTERY.limits(Charge(soc)).discharge for soc in socs]) >= 0.0).all()


def test_a_supply_has_no_states_and_no_losses() -> None:
    supply = Supply(P_max=1000.0, P_charge=0.0)
    assert supply.limits(supply.States()) == (1000.0, 0.0)
    assert supply.flow(supply.States(), 300.0)[1:3] == (300.0, 0.0)
