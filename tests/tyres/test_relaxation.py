"""First-order slip: a lag over distance that at rest is a spring, and holds without creeping."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import casadi
import numpy as np
import pytest

from skidpad.core import record
from skidpad.ops import atan
from skidpad.testing.equations import Quantity
from skidpad.tyres import (
    BrushTyre,
    Contact,
    LinearTyre,
    LoadSensitiveTyre,
    Peaks,
    ProportionalTyre,
    Relaxation,
    SlipStiffness,
)
from skidpad.tyres.contract import (
    LowSpeed,
    SlipState,
    Steady,
    full_slip,
    slip_of_forces,
    slip_rates,
    steady_slip,
)

DT = 1e-3
P = LowSpeed()
TYRES = (BrushTyre(), LinearTyre(), LoadSensitiveTyre(), ProportionalTyre())
every_tyre = pytest.mark.parametrize("tyre", TYRES, ids=lambda tyre: type(tyre).__name__)


def rk4(f: Callable[[list[Any]], Sequence[Any]], x: Sequence[float], steps: int) -> np.ndarray:
    """States of explicit Runge-Kutta at 1 ms, the first included."""
    now = casadi.SX.sym("x", len(x))
    rate = casadi.Function("rate", [now], [casadi.vertcat(*f(casadi.vertsplit(now)))])
    k1 = rate(now)
    k2 = rate(now + 0.5 * DT * k1)
    k3 = rate(now + 0.5 * DT * k2)
    k4 = rate(now + DT * k3)
    step = casadi.Function("step", [now], [now + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)])
    later = np.array(step.mapaccum(steps)(casadi.DM(x))).T
    return np.vstack([x, later])


class Wheel:
    """A tyre under a load, and the forces and slip rates of its motion."""

    def __init__(self, tyre: Any, F_z: float = 4000.0, mu: float = 1.0) -> None:
        self.tyre, self.at = tyre, Contact(F_z, mu=mu)
        self.stiffness, self.relaxation = tyre.stiffness(self.at), tyre.relaxation(self.at)
        self.full = full_slip(self.stiffness, tyre.peaks(self.at), F_z, P)

    def rates(self, slip: Sequence[Any], v_sx: Any, v_sy: Any, v_x: Any) -> SlipState:
        return slip_rates(SlipState(*slip), v_sx, v_sy, v_x, self.relaxation, self.full, P)

    def acting(self, slip: Any, v_sx: Any, v_sy: Any, v_x: Any) -> SlipState:
        moving, tyre = (v_sx, v_sy, v_x), (self.stiffness, self.relaxation)
        return slip_of_forces(slip, *moving, *tyre, self.at.F_z, P)

    def forces(self, slip: Sequence[Any], v_sx: Any, v_sy: Any, v_x: Any) -> Any:
        acting = self.acting(SlipState(*slip), v_sx, v_sy, v_x)
        return self.tyre.forces(self.at._replace(kappa=acting.kappa, alpha=atan(acting.tan_alpha)))

    def after(self, seconds: float, v_sx: float, v_sy: float, v_x: float) -> np.ndarray:
        """Slips of a wheel that starts without any and keeps sliding like this."""
        return rk4(lambda s: self.rates(s, v_sx, v_sy, v_x), (0.0, 0.0), round(seconds / DT))


@every_tyre
@pytest.mark.parametrize("v_x", [-20.0, 0.5, 3.0, 60.0])
def test_slip_that_lasts_gives_the_steady_force(tyre: Any, v_x: float) -> None:
    """At any speed, below the slips at which slow tyres wind up no more."""
    wheel = Wheel(tyre)
    kappa, tan_alpha = 0.3 * wheel.full.kappa, 0.2 * wheel.full.tan_alpha
    slides = -kappa * abs(v_x), tan_alpha * abs(v_x), v_x
    lasting = wheel.after(20.0 / abs(v_x) + 0.1, *slides)[-1]
    assert lasting == pytest.approx((kappa, tan_alpha), rel=1e-6)
    if abs(v_x) >= P.v_low:
        found = wheel.forces(lasting, *slides)
        steady = tyre.forces(wheel.at._replace(kappa=kappa, alpha=math.atan(tan_alpha)))
        assert found == pytest.approx(steady, rel=1e-5, abs=1e-3)
        assert wheel.acting(Steady(), *slides) == pytest.approx((kappa, tan_alpha))


@every_tyre
@pytest.mark.parametrize("v_x", [4.0, 20.0, -20.0])
def test_after_a_relaxation_length_there_are_63_percent(tyre: Any, v_x: float) -> None:
    wheel, small, v = Wheel(tyre), 1e-4, abs(v_x)
    ends = [1.0 - math.exp(-1.0)] * 2
    for sigma, slides, axis in (
        (wheel.relaxation.sigma_x, (-small * v, 0.0, v_x), 0),
        (wheel.relaxation.sigma_y, (0.0, small * v, v_x), 1),
    ):
        states = wheel.after(sigma / v, *slides)
        assert states[-1][axis] / small == pytest.approx(ends[axis], rel=1e-3)
        last = wheel.forces(states[-1], *slides)[axis]
        stiff = wheel.stiffness[axis] * (1.0, -1.0)[axis]
        assert last == pytest.approx(stiff * small * ends[axis], rel=1e-2)


@every_tyre
def test_a_locked_wheel_at_rest_is_a_spring(tyre: Any) -> None:
    """Pushed by u and stopped, the tyre pushes back with K / sigma u, and forgets nothing."""
    wheel = Wheel(tyre)
    slow, seconds = 1e-4, 0.5
    for axis, sigma, K in zip((0, 1), wheel.relaxation, wheel.stiffness, strict=True):
        slides = (slow, 0.0, slow) if axis == 0 else (0.0, slow, 0.0)
        pushed = wheel.after(seconds, *slides)[-1]
        F = wheel.forces(pushed, 0.0, 0.0, 0.0)[axis]
        assert pytest.approx(-K / sigma * slow * seconds, rel=1e-2) == F
        assert tuple(wheel.rates(pushed, 0.0, 0.0, 0.0)) == (0.0, 0.0)


@every_tyre
@pytest.mark.parametrize("mass", [60.0, pytest.param(400.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("across", [False, True])
def test_nothing_creeps_on_a_slope(tyre: Any, mass: float, across: bool) -> None:
    """A mass on a slope of 20 %, held by a locked wheel, along it and across it."""
    slope = math.atan(0.2)
    weight = mass * 9.81
    wheel = Wheel(tyre, weight * math.cos(slope))

    def rate(x: list[Any]) -> list[Any]:
        v = x[0]
        slides = (0.0, v, 0.0) if across else (v, 0.0, v)
        force = wheel.forces(x[1:], *slides)[1 if across else 0]
        return [(force - weight * math.sin(slope)) / mass, *wheel.rates(x[1:], *slides)]

    states = rk4(rate, (0.0, 0.0, 0.0), 10_000)
    assert abs(states[-1, 0]) < 1e-6
    # Held by deflection: the spring's force is the slope's.
    held = wheel.forces(states[-1, 1:], 0.0, 0.0, 0.0)[1 if across else 0]
    assert held == pytest.approx(weight * math.sin(slope), rel=1e-5)
    assert np.sum(states[-1000:, 0]) * DT == pytest.approx(0.0, abs=1e-7)


@every_tyre
def test_a_locked_wheel_slides_to_a_stop_and_stays(tyre: Any) -> None:
    wheel = Wheel(tyre)

    def rate(x: list[Any]) -> list[Any]:
        v = x[0]
        return [wheel.forces(x[1:], v, 0.0, v).F_x / 400.0, *wheel.rates(x[1:], v, 0.0, v)]

    states = rk4(rate, (8.0, 0.0, 0.0), 12_000)
    assert abs(states[-1, 0]) < 1e-4
    assert np.all(np.abs(states) <= [8.0, 1.0 + 1e-9, 1e-12])


@every_tyre
@pytest.mark.parametrize("mu", [0.05, 1.0])
@pytest.mark.parametrize("v_x", [0.0, 0.3, -0.9])
def test_winding_up_ends_at_a_share_of_the_slip_of_the_largest_force(
    tyre: Any, mu: float, v_x: float
) -> None:
    wheel = Wheel(tyre, mu=mu)
    for v_sx, v_sy in product((-40.0, -3.0, 0.0, 0.02), (0.0, 0.05, 8.0)):
        states = wheel.after(0.5, v_sx, v_sy, v_x)
        wound = np.hypot(*(states / np.array(wheel.full)).T) / P.wound
        assert np.max(wound) <= 1.02  # the blend of rolling and sliding leaves so much
        if math.hypot(v_sx, v_sy) > 2.0:
            assert wound[-1] == pytest.approx(1.0, abs=1e-6)
        # Sliding back is felt at once, not after a long way of unwinding.
        back = wheel.rates(states[-1], -v_sx, -v_sy, 0.0)
        assert states[-1] @ np.array(back) <= 0.0


@every_tyre
def test_no_rate_is_faster_than_the_largest(tyre: Any) -> None:
    """At any load, speed and sliding; up to 3/8 of the largest it is that of the tyre exactly."""
    slip = casadi.SX.sym("slip", 2)
    load, v_sx, v_sy, v_x = moving = casadi.vertsplit(casadi.SX.sym("moving", 4))
    at = Contact(load)
    full = full_slip(tyre.stiffness(at), tyre.peaks(at), load, P)
    state = SlipState(*casadi.vertsplit(slip))
    short = Relaxation(*(1e-6 + sigma * load / 4000.0 for sigma in tyre.relaxation(at)))
    rates = casadi.vertcat(*slip_rates(state, v_sx, v_sy, v_x, short, full, P))
    slopes = casadi.Function("f", [slip, *moving], [casadi.jacobian(rates, slip)])
    for F_z, slide, speed in product((0.0, 1.0, 50.0, 4000.0), (0.0, 0.1, 60.0), (0.0, 0.5, 60.0)):
        found = -np.diag(slopes([0.1, 0.1], F_z, slide, slide, speed).full())
        assert np.all((found >= 0.0) & (found <= P.rate_max * (1.0 + 1e-12)))
    rolling = -np.diag(slopes([0.1, 0.1], 4000.0, 0.0, 0.0, 25.0).full())
    lag = [25.0 / sigma for sigma in tyre.relaxation(Contact(4000.0))]
    assert rolling == pytest.approx(lag, rel=1e-5)


def test_a_fast_wheel_reaches_slips_beyond_the_largest_force() -> None:
    wheel = Wheel(ProportionalTyre())
    assert wheel.after(1.0, 20.0, 0.0, 20.0)[-1][0] == pytest.approx(-1.0, rel=1e-6)


@every_tyre
@pytest.mark.parametrize("v_x", [0.0, 0.01, 0.5, 1.9, 5.0, 20.0, 60.0])
def test_a_braked_and_driven_wheel_is_stable_at_steps_of_a_millisecond(
    tyre: Any, v_x: float
) -> None:
    """A wheel of 1 kg m² at a speed it is held to, kicked: its slip dies away."""
    wheel = Wheel(tyre)
    radius = wheel.tyre.radii(wheel.at).effective

    def rate(x: list[Any]) -> list[Any]:
        v_sx = v_x - x[0] * radius
        force = wheel.forces(x[1:], v_sx, 0.0, v_x).F_x
        return [-radius * force / 1.0, *wheel.rates(x[1:], v_sx, 0.0, v_x)]

    states = rk4(rate, (1.05 * v_x / radius + 1.0, 0.0, 0.01), 3000)
    assert np.all(np.isfinite(states))
    assert states[-1, 0] * radius == pytest.approx(v_x, abs=1e-4)
    assert abs(states[-1, 1]) < 1e-4


@pytest.mark.parametrize("v_x", [0.0, 1e-3, 1.0, 2.0, -2.0, 30.0])
def test_gradients_are_finite_at_rest(v_x: float) -> None:
    at = casadi.SX.sym("at", 5)
    load = casadi.SX.sym("load")
    kappa, tan_alpha, v_sx, v_sy, v = casadi.vertsplit(at)
    tyre = BrushTyre()
    stiffness = tyre.stiffness(Contact(load))
    full = full_slip(stiffness, tyre.peaks(Contact(load)), load, P)
    state, slides = SlipState(kappa, tan_alpha), (v_sx, v_sy, v)
    rates = slip_rates(state, *slides, Relaxation(0.2, 0.4), full, P)
    acting = slip_of_forces(state, *slides, stiffness, Relaxation(0.2, 0.4), load, P)
    out = casadi.vertcat(*rates, *acting, *steady_slip(*slides, P))
    slopes = casadi.jacobian(out, casadi.vertcat(at, load))
    function = casadi.Function("f", [at, load], [out, slopes])
    for kappa, slide, F_z in product((0.0, 0.1, -0.5), (0.0, 0.4), (0.0, 4000.0)):
        values = function([kappa, -kappa, slide, slide, v_x], F_z)
        assert all(np.all(np.isfinite(np.array(part))) for part in values)


def test_rates_have_no_jump_where_their_blends_begin_and_end() -> None:
    v = casadi.SX.sym("v")
    full, sigma = SlipState(0.1, 0.1), Relaxation(0.2, 0.4)
    rates = casadi.vertcat(*slip_rates(SlipState(0.05, 0.06), -1.0, 0.5, v, sigma, full, P))
    stiffness = SlipStiffness(1e5, 8e4)
    acting = casadi.vertcat(
        *slip_of_forces(SlipState(0.05, 0.06), -1.0, 0.5, v, stiffness, sigma, 4e3, P)
    )
    out = casadi.vertcat(rates, acting)
    slope = casadi.Function("f", [v], [casadi.jacobian(out, v)])
    for seam in (0.0, P.v_round, 0.5 * P.v_low, P.v_low):
        before, after = (np.array(slope(seam + h)) for h in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-4)


def test_units_balance() -> None:
    def with_units(value: Any) -> Any:
        leaves = zip(record.fields(type(value)), value, strict=True)
        return type(value)(*(Quantity(number, leaf.unit.dimension) for leaf, number in leaves))

    slides = [Quantity(v, (1.0, 0.0, -1.0)) for v in (-0.3, 0.2, 1.0)]
    stiffness, p = with_units(SlipStiffness(1e5, 8e4)), with_units(P)
    load, sigma = Quantity(4e3, (1.0, 1.0, -2.0)), with_units(Relaxation(0.2, 0.4))
    full = full_slip(stiffness, with_units(Peaks(1.0, 1.0)), load, p)
    state = with_units(SlipState(0.02, 0.01))
    acting = slip_of_forces(state, *slides, stiffness, sigma, load, p)
    rates = slip_rates(state, *slides, sigma, full, p)
    assert {slip.dimension for slip in (*full, *acting)} == {(0.0, 0.0, 0.0)}
    assert {rate.dimension for rate in rates} == {(0.0, 0.0, -1.0)}


def test_a_tyre_in_the_air_has_finite_rates() -> None:
    wheel = Wheel(BrushTyre(), 0.0)
    assert np.all(np.isfinite(wheel.after(0.2, -30.0, 2.0, 0.0)))
    assert wheel.forces((0.1, 0.1), -30.0, 2.0, 0.0).F_x == 0.0


def test_the_class_of_the_state_chooses_the_equations() -> None:
    wheel = Wheel(BrushTyre())
    assert record.names(Steady) == ()
    assert record.names(SlipState) == ("kappa", "tan_alpha")
    rates = slip_rates(Steady(), 1.0, 1.0, 0.0, wheel.relaxation, wheel.full, P)
    assert rates == Steady()
    assert isinstance(rates, Steady)
    at_rest = wheel.acting(Steady(), 1.0, -1.0, 0.0)
    assert at_rest == pytest.approx((-1.0 / (0.375 * P.v_low), -1.0 / (0.375 * P.v_low)))
