"""Seeds, streams and replays: the same draws whatever else runs."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.compat.commonroad.simulation import Simulation
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.random import Gaussian, Recorded, UncertaintyModel, of_run
from skidpad.random.streams import normals
from skidpad.run.fleet import Fleet
from skidpad.sensors.models import FullStateFeedback

from .bicycles import DynamicState, Input, KinematicState, dynamic, kinematic

START = KinematicState(0.0, 0.0, 12.0, 0.1, 0.02)
HELD = Input(0.5, 0.05)
STD = np.array([0.1, 0.1, 0.5, 0.02, 0.0])


def gusty(seed=None, **options):
    given = {
        "disturbance_model": Gaussian(np.zeros(5), STD),
        "sensor_model": FullStateFeedback(kinematic, Gaussian(np.zeros(5), STD)),
        "random_disturbance": True,
        "random_noise": True,
        **options,
    }
    return Simulation(kinematic, seed=seed, **given)


def same(first, second):
    return first[0] == second[0] and first[1].same_data(second[1]) and first[2].same_data(second[2])


def test_a_seed_names_a_run():
    for method in ("RK45", "skidpad:rk4"):
        first = gusty(7).simulate(START, HELD, 0.3, ivp_method=method)
        assert same(first, gusty(7).simulate(START, HELD, 0.3, ivp_method=method))
        assert not same(first, gusty(8).simulate(START, HELD, 0.3, ivp_method=method))


def test_what_is_drawn_is_the_stream_of_the_seed():
    seed = of_run(21, 4)
    sim = gusty(seed)
    y, perturbed, _ = sim.simulate(START, HELD, 0.3, ivp_method="skidpad:rk4")
    drawn = normals(21, "disturbance.normal.0", [0, 1, 2], 4, 5)[:, 0] * STD
    assert np.array_equal(sim.last_disturbances.to_array(), drawn)
    noise = normals(21, "noise.normal.0", [0], 4, 5)[0, 0] * STD
    np.testing.assert_allclose(np.array(y), np.array(perturbed.final_point) + noise, rtol=1e-15)
    sim.simulate(START, HELD, 0.2, ivp_method="skidpad:rk4")
    later = normals(21, "disturbance.normal.0", [3, 4], 4, 5)[:, 0] * STD
    assert np.array_equal(sim.last_disturbances.to_array(), later)


def test_without_a_seed_each_simulation_has_its_own_and_tells_it():
    first, second = gusty(), gusty()
    assert first.seed != second.seed
    run = first.simulate(START, HELD, 0.3)
    assert same(run, gusty(first.seed).simulate(START, HELD, 0.3))


def test_noise_and_disturbance_do_not_see_each_other():
    plain = gusty(5, random_noise=False).simulate(START, HELD, 0.3)[1]
    assert plain.same_data(gusty(5).simulate(START, HELD, 0.3)[1])
    y, perturbed, _ = gusty(5).simulate(START, HELD, 0.3)
    calm_y, calm, _ = gusty(5, random_disturbance=False).simulate(START, HELD, 0.3)
    np.testing.assert_allclose(
        np.array(y) - np.array(perturbed.final_point),
        np.array(calm_y) - np.array(calm.final_point),
        atol=1e-14,
    )


def test_global_random_numbers_are_not_touched():
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    gusty(1).simulate(START, HELD, 0.3)
    assert np.random.random() == expected


def test_draws_go_on_over_calls_and_start_again_with_reset():
    sim = gusty(9)
    first = sim.simulate(START, HELD, 0.2)
    second = sim.simulate(START, HELD, 0.2)
    assert not same(first, second)
    sim.reset()
    assert same(first, sim.simulate(START, HELD, 0.2))
    sim.reset(10)
    assert sim.seed == 10
    assert same(gusty(10).simulate(START, HELD, 0.2), sim.simulate(START, HELD, 0.2))


def test_replay_repeats_another_seed_and_leaves_this_one_alone():
    sim, undisturbed = gusty(1), gusty(1)
    sim.simulate(START, HELD, 0.2, ivp_method="skidpad:rk4")
    undisturbed.simulate(START, HELD, 0.2, ivp_method="skidpad:rk4")
    expected = gusty(2).simulate(START, HELD, 0.2, ivp_method="skidpad:rk4")
    assert same(expected, sim.replay(2))
    shorter = gusty(2).simulate(START._replace(v=3.0), HELD, 0.1, ivp_method="skidpad:rk4")
    assert same(shorter, sim.replay(2, x0=START._replace(v=3.0), t_final=0.1))
    assert sim.seed == 1
    assert same(undisturbed.simulate(START, HELD, 0.3), sim.simulate(START, HELD, 0.3))


def test_replay_before_anything_needs_arguments():
    sim = gusty(1)
    with pytest.raises(InvalidValue, match="nothing was simulated yet: replay needs x0, u and"):
        sim.replay(2)
    assert same(gusty(2).simulate(START, HELD, 0.1), sim.replay(2, START, HELD, 0.1))


def test_a_run_of_many_is_replayed_alone_with_the_same_bits():
    model = Gaussian(np.zeros(7), np.array([0.0, 0.0, 0.5, 0.3, 0.0, 0.025, 0.0]))
    start = DynamicState(0.0, 0.0, 15.0, 0.0, 0.0, 0.0, 0.0)
    sim = Simulation(dynamic, disturbance_model=model, random_disturbance=True)
    setup = sim.setup(start, HELD, 0.5)
    runs = np.arange(6)
    drawn = normals(33, "disturbance.normal.0", range(setup.steps), runs, 7) * model.std
    fleet = Fleet(setup.vehicle, setup.dt, setup.integrator, substeps=setup.substeps)
    states = fleet.rollout(
        np.tile(start, (6, 1)), np.tile(HELD, (6, 1)), disturbances=drawn, steps=setup.steps
    )
    for run in (0, 5):
        assert np.array_equal(sim.replay(of_run(33, run))[1].states, states[:, run])


class Bursting(UncertaintyModel):
    """Blows up at one step."""

    def __init__(self, step):
        super().__init__(5)
        self.step = step

    def sample(self, draw, memory=None, x=None):
        rows = draw.normal(5) * STD
        return (rows * 1e308 if draw.step == self.step else rows), None


@pytest.mark.parametrize("method", ["RK45", "skidpad:rk4"])
def test_a_call_that_fails_draws_nothing(method):
    sim = gusty(6, disturbance_model=Bursting(step=3))
    fine = gusty(6, disturbance_model=Bursting(step=-1))
    assert same(sim.simulate(START, HELD, 0.2, method), fine.simulate(START, HELD, 0.2, method))
    with pytest.raises(ArithmeticError):
        sim.simulate(START._replace(v=1e308), Input(1e308, 0.0), 0.3, ivp_method=method)
    for bad in ({"t_final": -1.0}, {"u": {"throttle": 1.0}}, {"x0": {"x": 0.0}}):
        given = {"x0": START, "u": HELD, "t_final": 0.1, **bad}
        with pytest.raises(InvalidValue):
            sim.simulate(**given, ivp_method=method)
    assert same(sim.simulate(START, HELD, 0.1, method), fine.simulate(START, HELD, 0.1, method))


def test_a_recording_that_runs_out_changes_nothing():
    rows = np.arange(15.0).reshape(3, 5) * 0.01
    sim = gusty(1, disturbance_model=Recorded(rows), random_noise=False)
    sim.simulate(START, HELD, 0.2)
    with pytest.raises(InvalidValue, match="step 3 is not in values"):
        sim.simulate(START, HELD, 0.2)
    sim.simulate(START, HELD, 0.1)
    assert np.array_equal(sim.last_disturbances.to_array(), rows[2:])


def test_a_model_that_looks_at_the_state_sees_the_perturbed_one():
    seen = []

    class Watching(UncertaintyModel):
        def sample(self, draw, memory=None, x=None):
            seen.append((draw.step, draw.time, draw.dt, x[0].tolist()))
            return np.full((1, 5), 0.1), None

    sim = Simulation(kinematic, disturbance_model=Watching(5), random_disturbance=True)
    for method in ("RK45", "skidpad:rk4"):
        seen.clear()
        sim.reset()
        perturbed = sim.simulate(START, HELD, 0.3, ivp_method=method)[1]
        sim.simulate(START, HELD, 0.1, ivp_method=method)
        assert [entry[0] for entry in seen] == [0, 1, 2, 3]
        assert [entry[1] for entry in seen] == pytest.approx([0.0, 0.1, 0.2, 0.3])
        assert [entry[3] for entry in seen[:3]] == perturbed.to_array()[:3].tolist()


def test_diverged_states_are_told_with_time_and_last_state():
    sim = Simulation(kinematic)
    with pytest.raises(SimulationDiverged, match="in the step from t = 0 s") as caught:
        sim.simulate(START._replace(v=1e308), Input(1e308, 0.0), 10.0, ivp_method="skidpad:rk4")
    assert caught.value.last_state == START._replace(v=1e308)
