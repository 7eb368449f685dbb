"""Many simulations at once, and any one of them again."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from run.monte_carlo.models import explosive
from skidpad.compat.commonroad.simulation import Simulation
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.random import Gaussian, OrnsteinUhlenbeck
from skidpad.sensors import FullStateFeedback

X0 = {"x": 0.0, "y": 0.0, "v_x": 12.0, "v_y": 0.0, "yaw": 0.0, "omega": 0.0, "steer": 0.01}
STD = [0.0, 0.0, 0.5, 0.3, 0.0, 0.025, 0.0]


@pytest.mark.parametrize(
    "model",
    [Gaussian(mean=np.zeros(7), std=STD), OrnsteinUhlenbeck(np.zeros(7), STD, time_constant=0.4)],
    ids=["gaussian", "wind"],
)
@pytest.mark.parametrize("delta_t_w", [0.1, 0.03])
def test_a_case_is_replayed_with_its_bits(model, delta_t_w: float) -> None:
    car = sp.vehicles.commonroad_dynamic_bicycle()
    sim = Simulation(
        car,
        disturbance_model=model,
        random_disturbance=True,
        sensor_model=FullStateFeedback(car, noise=Gaussian(mean=np.zeros(7), std=[0.1] * 7)),
        random_noise=True,
        delta_t_w=delta_t_w,
    )
    study = sim.monte_carlo(X0, {"a": 0.2}, 0.7, runs=40, seed=21)
    for case in (*study.worst("y", 2), *study.worst("v_x", 1, lowest=True)):
        y, perturbed, nominal = sim.replay(case.seed)
        assert np.array_equal(perturbed.states[-1], study.final[case.run])
        assert not np.array_equal(nominal.states[-1], perturbed.states[-1])
        assert np.abs(np.array(y) - perturbed.states[-1]).max() < 0.6


def test_methods_of_scipy_cannot_run_in_a_fleet() -> None:
    sim = Simulation(sp.vehicles.commonroad_kinematic_bicycle())
    with pytest.raises(InvalidValue, match="skidpad:rk4"):
        sim.monte_carlo(np.zeros(5), np.zeros(2), 0.3, runs=3, ivp_method="RK45")


WIND = Gaussian(mean=np.zeros(7), std=STD)
CAR = sp.vehicles.commonroad_dynamic_bicycle()


@pytest.mark.parametrize(
    "options",
    [
        {"params": {"m": Gaussian(1200.0, 20.0)}},
        {"policy": sp.Policy(lambda x: CAR.Input(0.0 * x.x, 0.0 * x.x))},
        {"noise": WIND},
        {"disturbance": WIND},
        {"steps": 3},
        {"duration": 0.3},
        {"event": {}},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_a_replay_could_not_repeat_is_refused(options: dict) -> None:
    sim = Simulation(CAR, disturbance_model=WIND, random_disturbance=True)
    with pytest.raises(InvalidValue, match=f"{next(iter(options))}.*seed, .*events.*Fleet"):
        sim.monte_carlo(X0, {"a": 0.2}, 0.3, runs=3, **options)


def test_a_simulation_that_draws_nothing_is_no_monte_carlo() -> None:
    sim = Simulation(CAR, disturbance_model=WIND)
    with pytest.raises(InvalidValue, match="random_disturbance = False"):
        sim.monte_carlo(X0, {"a": 0.2}, 0.3, runs=3)


def test_runs_that_diverge_may_be_masked() -> None:
    burst = sp.with_disturbance(explosive())
    options = {"disturbance_model": Gaussian([0.0, 0.0], [0.0, 5.0]), "random_disturbance": True}
    sim = Simulation(burst, **options)
    with pytest.raises(SimulationDiverged):
        sim.monte_carlo({"x": 1.0}, {"a": 0.0}, 2.0, runs=9, seed=1)
    study = sim.monte_carlo({"x": 1.0}, {"a": 0.0}, 2.0, runs=9, seed=1, on_diverge="mask")
    assert study.diverged
    with pytest.raises(SimulationDiverged):
        sim.replay(study.seed_of(study.diverged[0]))
