"""Solvers that fail raise; under `compat="upstream"` they freeze; none of them hangs."""

from __future__ import annotations

import pytest
from scipy.integrate import RK45

from skidpad.compat.commonroad.simulation import Simulation
from skidpad.errors import SimulationDiverged, StepNotConverged
from skidpad.vehicles import commonroad_dynamic_bicycle

from .bicycles import DynamicState, Input, KinematicState, dynamic, kinematic

AT_ORIGIN = DynamicState(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
AWAY = AT_ORIGIN._replace(x=3.0, y=4.0)
PUSHED = Input(1.0, 0.0)
ALL = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA", "skidpad:rk4", "skidpad:radau")


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("start", [AT_ORIGIN, AWAY], ids=["origin", "away"])
def test_upstreams_bicycle_at_rest_is_an_error(method, start):
    with pytest.raises((SimulationDiverged, StepNotConverged), match="t = 0 s") as caught:
        Simulation(dynamic).simulate(start, PUSHED, 0.3, ivp_method=method)
    assert caught.value.time == 0.0


def test_upstream_freezes_without_a_word_at_the_origin():
    sim = Simulation(dynamic, compat="upstream")
    y, perturbed, nominal = sim.simulate(AT_ORIGIN, PUSHED, 0.3)
    assert perturbed is nominal
    assert nominal.to_array().tolist() == [list(AT_ORIGIN)] * 4
    assert y == AT_ORIGIN


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_where_upstream_never_returns_is_an_error_even_then(method):
    with pytest.raises(StepNotConverged, match="the first step it looks for is NaN"):
        Simulation(dynamic, compat="upstream").simulate(AWAY, PUSHED, 0.3, ivp_method=method)


def test_a_solver_that_goes_on_at_one_moment_is_stopped():
    class Endless(RK45):
        def _step_impl(self):
            while True:
                self.fun(self.t, self.y)

    for compat in (None, "upstream"):
        sim = Simulation(kinematic, compat=compat)
        with pytest.raises(StepNotConverged, match=r"Endless failed .* time no longer advances"):
            sim.simulate(KinematicState(0.0, 0.0, 1.0, 0.0, 0.0), PUSHED, 0.1, ivp_method=Endless)


def test_a_solver_that_gives_up_says_when():
    class Tired(RK45):
        def _step_impl(self):
            return (False, "I am tired") if self.y[0] > 1.05 else super()._step_impl()

    start = KinematicState(0.0, 0.0, 10.0, 0.0, 0.0)
    with pytest.raises(StepNotConverged, match=r"Tired failed .* t = 0\.1 s: I am tired") as caught:
        Simulation(kinematic).simulate(start, Input(0.0, 0.0), 0.5, ivp_method=Tired)
    assert caught.value.time == pytest.approx(0.1)
    frozen = Simulation(kinematic, compat="upstream").simulate(
        start, Input(0.0, 0.0), 0.5, ivp_method=Tired
    )[1]
    # It stops on the way through the second step, and does not leave that place again.
    assert 1.05 < frozen.x[2] < 2.0
    assert frozen.x[2:].tolist() == [frozen.x[2]] * 4


def test_the_vehicle_of_this_package_starts_from_rest():
    for method in ("RK45", "skidpad:rk4", "skidpad:radau"):
        sim = Simulation(commonroad_dynamic_bicycle())
        trajectory = sim.simulate(AWAY, PUSHED, 2.0, ivp_method=method)[1]
        assert trajectory.final_point.v_x == pytest.approx(2.0, abs=1e-3)
        assert trajectory.final_point.x == pytest.approx(5.0, abs=1e-3)


def test_a_solver_that_would_take_forever_is_stopped():
    racing = KinematicState(0.0, 0.0, 1e300, 0.0, 0.1)
    with pytest.raises(StepNotConverged, match=r"100000 evaluations advanced .* of 0\.1 s"):
        Simulation(kinematic).simulate(racing, PUSHED, 0.1)
