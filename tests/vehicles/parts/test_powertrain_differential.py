"""Differentials and layouts: torques add up, friction only takes, each law in closed form."""

from __future__ import annotations

from math import radians, tan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts import (
    AllWheelDrive,
    FrontWheelDrive,
    LimitedSlip,
    LockedDifferential,
    OpenDifferential,
    RearWheelDrive,
    TorsenDifferential,
    ViscousDifferential,
)
from skidpad.vehicles.parts.gearing import Reflected, lost_in, spin_rates, split_by

KINDS = (
    OpenDifferential(),
    LimitedSlip(),
    TorsenDifferential(),
    LockedDifferential(),
    ViscousDifferential(),
    OpenDifferential(share=0.3),
    TorsenDifferential(share=0.35, bias=3.0),
    LimitedSlip(share=0.4),
)
LAYOUTS = (
    RearWheelDrive(),
    RearWheelDrive(LockedDifferential()),
    FrontWheelDrive(TorsenDifferential()),
    AllWheelDrive(),
    AllWheelDrive(LimitedSlip(share=0.3), ViscousDifferential(), LimitedSlip()),
)
TORQUE, SPIN = st.floats(-3000.0, 3000.0), st.floats(-150.0, 150.0)
SPINS = st.tuples(SPIN, SPIN, SPIN, SPIN)


def name(value: Any) -> str:
    return type(value).__name__


@pytest.mark.parametrize("differential", KINDS, ids=name)
@given(T=TORQUE, spin_1=SPIN, spin_2=SPIN)
def test_torques_add_up_and_friction_only_takes(
    differential: Any, T: float, spin_1: float, spin_2: float
) -> None:
    """Power in = power out + lost, the input turning with the mean of the shares."""
    T_1, T_2 = split_by(differential, T, spin_1, spin_2)
    lost = lost_in(differential, T, spin_1, spin_2)
    scale = 1.0 + abs(T) + abs(T_1) + abs(T_2)
    assert pytest.approx(T, abs=1e-12 * scale) == T_1 + T_2
    assert lost >= 0.0
    share = differential.share
    mean = share * spin_1 + (1.0 - share) * spin_2
    assert T * mean - T_1 * spin_1 - T_2 * spin_2 == pytest.approx(lost, abs=1e-9 * scale)


@pytest.mark.parametrize("differential", KINDS, ids=name)
def test_without_slip_each_output_has_its_share(differential: Any) -> None:
    T_1, T_2 = split_by(differential, 1000.0, 50.0, 50.0)
    assert pytest.approx((1000.0 * differential.share, 1000.0 * (1.0 - differential.share))) == (
        T_1,
        T_2,
    )


@pytest.mark.parametrize(("T", "angle"), [(800.0, 40.0), (-800.0, 70.0), (0.0, 45.0)])
def test_a_salisbury_pack_locks_by_its_ramps(T: float, angle: float) -> None:
    """T_slow - T_fast = preload + |T| mu faces r_clutch / (r_ramp tan(angle)), slipping fast."""
    differential = LimitedSlip(
        preload=50.0,
        ramp_drive=radians(40.0),
        ramp_coast=radians(70.0),
        mu=0.12,
        faces=6.0,
        r_clutch=0.06,
        r_ramp=0.05,
    )
    fast, slow = split_by(differential, T, 1e6, 0.0)
    want = 50.0 + abs(T) * 0.12 * 6.0 * 0.06 / (0.05 * tan(radians(angle)))
    assert slow - fast == pytest.approx(want)
    left, right = split_by(differential, T, 0.0, 1e6)
    assert (left, right) == pytest.approx((slow, fast))


@pytest.mark.parametrize("T", [500.0, -500.0])
@pytest.mark.parametrize("share", [0.5, 0.3])
def test_a_torsen_keeps_its_bias(T: float, share: float) -> None:
    """The ratio of the torques is that of the shares times or over the bias, and never beyond."""
    differential = TorsenDifferential(share=share, bias=2.5)
    even = share / (1.0 - share)
    ratios = [np.divide(*split_by(differential, T, slip, 0.0)) for slip in (-1e6, -1.0, 1.0, 1e6)]
    ends = sorted((even / 2.5, even * 2.5))
    assert sorted((ratios[0], ratios[-1])) == pytest.approx(ends)
    assert all(ends[0] <= ratio <= ends[1] for ratio in ratios)


def test_a_viscous_coupling_grows_with_slip_up_to_its_torque() -> None:
    differential = ViscousDifferential(damping=40.0, torque_max=300.0)
    assert differential.transfer(0.0, 0.1) == pytest.approx(4.0, rel=1e-3)
    assert differential.transfer(0.0, 1e6) == pytest.approx(300.0)


def test_a_locked_one_is_as_stiff_as_it_says() -> None:
    assert LockedDifferential(damping=2000.0).transfer(0.0, -0.2) == pytest.approx(-400.0)


@pytest.mark.parametrize("layout", LAYOUTS, ids=name)
@given(T=TORQUE, spins=SPINS)
def test_layouts_hand_on_all_torque(layout: Any, T: float, spins: tuple[float, ...]) -> None:
    torques = np.array(layout.split(T, spins))
    weights = np.array(layout.weights())
    scale = 1.0 + np.abs(torques).sum()
    assert torques.sum() == pytest.approx(T, abs=1e-12 * scale)
    assert weights.sum() == pytest.approx(1.0)
    lost = layout.lost(T, spins)
    assert lost >= 0.0
    assert T * (weights @ spins) - torques @ spins == pytest.approx(lost, abs=1e-9 * scale)


def test_the_driven_wheels_are_those_of_the_layout() -> None:
    spins = (10.0, 11.0, 12.0, 13.0)
    assert RearWheelDrive().split(100.0, spins)[:2] == (0.0, 0.0)
    assert FrontWheelDrive().split(100.0, spins)[2:] == (0.0, 0.0)
    centre = OpenDifferential(share=0.4)
    assert AllWheelDrive(centre).split(100.0, spins) == pytest.approx((20.0, 20.0, 30.0, 30.0))


@pytest.mark.parametrize("layout", LAYOUTS, ids=name)
@given(torques=st.tuples(TORQUE, TORQUE, TORQUE, TORQUE), J=st.floats(0.0, 20.0))
def test_a_shared_inertia_solves_its_equations(
    layout: Any, torques: tuple[float, ...], J: float
) -> None:
    """(I_w 1 + J w wᵀ) spin' = torques, by linear algebra."""
    weights = np.array(layout.weights())
    matrix = 1.3 * np.eye(4) + J * np.outer(weights, weights)
    rates = spin_rates(torques, 1.3, Reflected(J, tuple(weights)))  # type: ignore[arg-type]
    assert rates == pytest.approx(np.linalg.solve(matrix, torques), rel=1e-9, abs=1e-9)
