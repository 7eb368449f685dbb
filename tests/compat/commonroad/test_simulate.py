"""What `simulate` gives: the grid, both trajectories, the measurement, the methods."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import RK23, RK45, solve_ivp

from skidpad import vehicles
from skidpad.compat.commonroad.motion import grid
from skidpad.compat.commonroad.simulation import Simulation
from skidpad.core.model import Model, Vehicle
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian, NoUncertainty, OrnsteinUhlenbeck, Recorded, Uniform
from skidpad.run.fleet import Fleet
from skidpad.run.trajectory import Trajectory
from skidpad.sensors.models import FullStateFeedback, SelectedOutputs, SensorModel
from skidpad.units import one

from .bicycles import DYNAMIC, DynamicState, Input, KinematicState, dynamic, kinematic

START = KinematicState(0.0, 0.0, 12.0, 0.1, 0.02)
SLIDING = DynamicState(0.0, 0.0, 12.0, 0.0, 0.1, 0.0, 0.02)
HELD = Input(0.5, 0.05)


@pytest.mark.parametrize(
    ("t_final", "delta_t_w", "steps", "raw"),
    [
        (0.14, 0.02, 7, 8),
        (0.3, 0.1, 3, 3),
        (0.25, 0.1, 3, 3),
        (0.1, 0.1, 1, 1),
        (0.05, 0.1, 1, 1),
        (1e-12, 0.1, 1, 1),
        (100.0, 0.001, 100_000, 100_000),
        (0.7, 0.1, 7, 7),
        (0.21, 0.07, 3, 3),
        (0.1000001, 0.1, 2, 2),
        (0.0, 0.1, 0, 0),
    ],
)
def test_the_fewest_equal_steps_no_longer_than_asked_for(t_final, delta_t_w, steps, raw):
    assert grid(t_final, delta_t_w, raw=False).steps == steps
    assert grid(t_final, delta_t_w, raw=True).steps == raw
    found = grid(t_final, delta_t_w, raw=False)
    assert found.dt * steps == pytest.approx(t_final, rel=1e-15)
    assert found.dt <= delta_t_w * (1.0 + 1e-9)


def test_rounding_never_adds_a_step_and_a_longer_time_does():
    for count in range(1, 400):
        for delta_t_w in (0.1, 0.02, 0.005, 1.0 / 3.0, 0.07):
            assert grid(count * delta_t_w, delta_t_w, raw=False).steps == count
            assert grid(count * delta_t_w * 1.0001, delta_t_w, raw=False).steps == count + 1


def test_a_trajectory_has_the_times_of_the_grid_and_the_states_there():
    y, perturbed, nominal = Simulation(kinematic).simulate(START, HELD, 0.25)
    assert isinstance(nominal, Trajectory)
    assert perturbed is nominal
    assert nominal.t.tolist() == [k * (0.25 / 3) for k in range(4)]
    assert nominal.initial_point == START
    assert y == nominal.final_point
    assert type(y) is KinematicState
    assert nominal.meta == {"dt": 0.25 / 3, "integrator": "RK45"}
    # Speed and steering are linear in time under a constant input.
    np.testing.assert_allclose(nominal.v, 12.0 + 0.5 * nominal.t, rtol=1e-14)
    np.testing.assert_allclose(nominal.steer, 0.02 + 0.05 * nominal.t, rtol=1e-13)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_numbers_are_those_of_solve_ivp(method):
    trajectory = Simulation(dynamic).simulate(SLIDING, HELD, 0.2, ivp_method=method)[2]
    x = np.array(SLIDING)
    for k in (1, 2):
        x = solve_ivp(
            lambda t, row: np.array(
                dynamic.model.derivative(
                    DynamicState(*row.tolist()), HELD, dynamic.model.Disturbance(), dynamic.params
                )
            ),
            (0.0, 0.1),
            x,
            method=method,
        ).y[:, -1]
        np.testing.assert_allclose(trajectory.to_array()[k], x, rtol=1e-12, atol=1e-14)


def test_tolerances_and_solver_classes():
    sim, tight = Simulation(dynamic), Simulation(dynamic, rtol=1e-9, atol=1e-12)
    by_name = sim.simulate(SLIDING, HELD, 1.0)[1]
    assert sim.simulate(SLIDING, HELD, 1.0, ivp_method=RK45)[1].same_data(by_name)
    exact = tight.simulate(SLIDING, HELD, 1.0, ivp_method="DOP853")[1]
    default = np.abs(by_name.states - exact.states).max()
    assert np.abs(tight.simulate(SLIDING, HELD, 1.0)[1].states - exact.states).max() < default / 100

    class Careful(RK23):
        """A solver with tolerances of its own, which nobody overrides."""

        def __init__(self, *args, rtol=1e-8, atol=1e-10, **options):
            super().__init__(*args, rtol=rtol, atol=atol, **options)

    careful = sim.simulate(SLIDING, HELD, 1.0, ivp_method=Careful)[1]
    assert careful.meta["integrator"] == "Careful"
    assert np.abs(careful.states - exact.states).max() < default / 100


@pytest.mark.parametrize("method", ["rk4", "radau"])
@pytest.mark.parametrize("delta_t_w", [0.1, 0.03])
def test_own_integrators_have_the_bits_of_a_fleet(method, delta_t_w):
    rows = np.random.default_rng(5).normal(scale=0.3, size=(4, 7))
    sim = Simulation(
        dynamic,
        disturbance_model=Recorded(rows, at_end="loop"),
        random_disturbance=True,
        delta_t_w=delta_t_w,
    )
    _, perturbed, nominal = sim.simulate(SLIDING, HELD, 0.32, ivp_method=f"skidpad:{method}")
    setup = sim.setup(SLIDING, HELD, 0.32, f"skidpad:{method}")
    assert setup.dt / setup.substeps <= 0.005
    fleet = Fleet(setup.vehicle, setup.dt, setup.integrator, substeps=setup.substeps)
    drawn = np.array([rows[k % 4] for k in range(setup.steps)])
    both = np.stack([np.zeros_like(drawn), drawn], axis=1)
    states = fleet.rollout(
        np.array([SLIDING, SLIDING]), np.array([HELD, HELD]), disturbances=both, steps=setup.steps
    )
    assert np.array_equal(nominal.states, states[:, 0])
    assert np.array_equal(perturbed.states, states[:, 1])


def test_a_shorter_substep_is_nearer():
    exact = Simulation(dynamic, rtol=1e-12, atol=1e-13).simulate(
        SLIDING, HELD, 0.5, ivp_method="DOP853"
    )[2]
    errors = [
        np.abs(
            Simulation(dynamic, substep=substep)
            .simulate(SLIDING, HELD, 0.5, ivp_method="skidpad:rk4")[2]
            .states
            - exact.states
        ).max()
        for substep in (0.02, 0.01, 0.005)
    ]
    # Fourth order: half the step, a sixteenth of the error.
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(16.0, rel=0.3)


def test_no_time_at_all_measures_the_start():
    noise = Gaussian(np.zeros(5), np.full(5, 0.1))
    for method in ("RK45", "skidpad:rk4"):
        sim = Simulation(
            kinematic,
            disturbance_model=Gaussian(np.zeros(5), np.ones(5)),
            random_disturbance=True,
            sensor_model=FullStateFeedback(kinematic, noise),
            random_noise=True,
            seed=3,
        )
        y, perturbed, nominal = sim.simulate(START, HELD, 0.0, ivp_method=method)
        assert perturbed is nominal
        assert len(nominal) == 1
        assert nominal.final_point == START
        assert nominal.t_final == 0.0
        assert y != START
        assert sim.last_disturbances is None


def test_the_nominal_motion_feels_the_nominal_value_and_not_zero():
    push = Gaussian([0.0, 0.0, 0.4, 0.0, 0.0], np.zeros(5))
    for method in ("RK45", "skidpad:rk4"):
        sim = Simulation(kinematic, disturbance_model=push, random_disturbance=True)
        _, perturbed, nominal = sim.simulate(START, HELD, 0.2, ivp_method=method)
        assert perturbed is nominal
        np.testing.assert_allclose(nominal.v, 12.0 + 0.9 * nominal.t, rtol=1e-14)
        calm = Simulation(kinematic, disturbance_model=push).simulate(START, HELD, 0.2, method)[2]
        assert calm.same_data(nominal)


def test_nominal_and_perturbed_motion_do_not_see_each_other():
    rows = np.zeros((3, 5))
    rows[1, 2] = -1.0
    sim = Simulation(kinematic, disturbance_model=Recorded(rows), random_disturbance=True)
    for method in ("RK45", "skidpad:rk4"):
        sim.reset()
        _, perturbed, nominal = sim.simulate(START, HELD, 0.3, ivp_method=method)
        np.testing.assert_allclose(nominal.v, [12.0, 12.05, 12.1, 12.15], rtol=1e-14)
        np.testing.assert_allclose(perturbed.v, [12.0, 12.05, 12.0, 12.05], rtol=1e-14)
        assert perturbed.point(1) == nominal.point(1)


class CountingSolver(RK45):
    """Counts how often it is made."""

    made = 0

    def __init__(self, *args, **options):
        type(self).made += 1
        super().__init__(*args, **options)


def test_nothing_is_integrated_twice():
    rows = np.zeros((5, 5))
    rows[3, 2] = 0.1
    sim = Simulation(kinematic, disturbance_model=Recorded(rows), random_disturbance=True)
    CountingSolver.made = 0
    _, perturbed, nominal = sim.simulate(START, HELD, 0.5, ivp_method=CountingSolver)
    assert CountingSolver.made == 5 + 2
    assert perturbed is not nominal
    CountingSolver.made = 0
    Simulation(kinematic).simulate(START, HELD, 0.5, ivp_method=CountingSolver)
    assert CountingSolver.made == 5


def test_without_models_there_is_no_uncertainty_whatever_is_asked_for():
    sim = Simulation(kinematic, random_disturbance=True, random_noise=True)
    assert isinstance(sim.disturbance_model, NoUncertainty)
    assert sim.disturbance_model.dim == 5
    assert isinstance(sim.sensor_model, FullStateFeedback)
    assert isinstance(sim.sensor_model.noise_model, NoUncertainty)
    assert (sim.random_disturbance, sim.random_noise) == (False, False)
    y, perturbed, nominal = sim.simulate(START, HELD, 0.1)
    assert perturbed is nominal
    assert y == nominal.final_point


def test_properties_say_what_was_given():
    disturbance, sensor = Gaussian(np.zeros(5), np.ones(5)), FullStateFeedback(kinematic)
    sim = Simulation(
        kinematic,
        disturbance_model=disturbance,
        sensor_model=sensor,
        random_disturbance=True,
        random_noise=True,
        delta_t_w=0.05,
        seed=11,
    )
    assert sim.vehicle_model is kinematic
    assert sim.state_input_factory is None
    assert sim.disturbance_model is disturbance
    assert sim.sensor_model is sensor
    assert (sim.random_disturbance, sim.random_noise) == (True, True)
    assert (sim.delta_t_w, sim.seed) == (0.05, 11)


def test_a_factory_is_called_for_its_vehicle():
    assert Simulation(DYNAMIC).vehicle_model == dynamic


def test_noise_that_is_not_drawn_adds_its_nominal_value():
    noise = Uniform(np.zeros(5), np.full(5, 2.0))
    sim = Simulation(kinematic, sensor_model=FullStateFeedback(kinematic, noise))
    y, _, nominal = sim.simulate(START, HELD, 0.1)
    np.testing.assert_allclose(np.array(y), np.array(nominal.final_point) + 1.0, rtol=1e-15)


def test_other_outputs_than_the_state_are_measured():
    sensor = SelectedOutputs(kinematic, ["v", "steer"])
    y, perturbed, _ = Simulation(kinematic, sensor_model=sensor).simulate(START, HELD, 0.1)
    assert y._fields == ("v", "steer")
    assert y.v == perturbed.final_point.v


def test_a_sensor_sees_the_input_and_the_disturbance_at_the_end():
    class Seen(SensorModel):
        def output(self, x, u, w=None):
            return Input(u.a + w.v, x.steer)

    rows = np.zeros((2, 5))
    rows[1, 2] = 3.0
    sensor = Seen(Input, State=KinematicState, Input=Input)
    sim = Simulation(
        kinematic,
        disturbance_model=Recorded(rows),
        random_disturbance=True,
        sensor_model=sensor,
    )
    assert sim.simulate(START, HELD, 0.2)[0].a == 3.5


def test_a_vehicle_without_a_disturbance_gets_one_added_to_its_derivative():
    car = vehicles.four_wheel()
    push = np.zeros(11)
    push[3] = 2.0
    sim = Simulation(
        car, disturbance_model=Recorded([push], at_end="hold"), random_disturbance=True
    )
    x0 = car.State(x=0.0, v_x=10.0)
    u = car.Input()
    for method in ("RK45", "skidpad:rk4"):
        sim.reset()
        _, perturbed, nominal = sim.simulate(x0, u, 0.1, ivp_method=method)
        gained = perturbed.final_point.v_x - nominal.final_point.v_x
        assert gained == pytest.approx(0.2, rel=0.05)
    assert Simulation(car).simulate(x0, u, 0.1, "skidpad:rk4")[1].same_data(nominal)
    own = Gaussian([0.0, 0.0, 0.0, 1.0], [100.0, 0.0, 0.0, 0.0])
    felt = Simulation(car, disturbance_model=own, random_disturbance=True, seed=1)
    felt.simulate(x0, u, 0.1, ivp_method="skidpad:rk4")
    assert felt.last_disturbances.names == ("w_F_x", "w_F_y", "w_M_z", "w_mu_scale")
    both = Gaussian(np.append(push, [0.0, 0.0, 0.0, 1.0]), np.zeros(15))
    pushed = Simulation(car, disturbance_model=both).simulate(x0, u, 0.1, "skidpad:rk4")[1]
    np.testing.assert_allclose(pushed.states, perturbed.states, rtol=1e-14)


class Count(NamedTuple):
    n: one


class Steps(NamedTuple):
    unit: one


class Factor(NamedTuple):
    by: one = 2.0


def test_a_discrete_model_makes_its_own_steps():
    def update(x, u, w, p, dt):
        return Count(x.n * p.by + u.unit)

    counter = Vehicle(Model("counter", Count, Steps, Factor, update=update), Factor())
    sim = Simulation(counter)
    found = sim.simulate(Count(1.0), Steps(1.0), 0.3, ivp_method="skidpad:rk4")[1]
    assert found.n.tolist() == [1.0, 3.0, 7.0, 15.0]
    with pytest.raises(InvalidValue, match="'RK45' needs a derivative, but 'counter' is discrete"):
        sim.simulate(Count(1.0), Steps(1.0), 0.3)


def test_states_and_inputs_in_any_form_give_the_same():
    class Upstream:
        def __init__(self, *values):
            self.values = values

        def convert_to_array(self):
            return np.array(self.values)

    sim = Simulation(kinematic)
    expected = sim.simulate(START, HELD, 0.2)[1]
    forms = [
        (START._asdict(), HELD._asdict()),
        (list(START), tuple(HELD)),
        (np.array(START), np.array(HELD)),
        (np.array(START, dtype=np.float32).astype(float), list(HELD)),
        (Upstream(*START), Upstream(*HELD)),
    ]
    for k, (x0, u) in enumerate(forms):
        found = sim.simulate(x0, u, 0.2)[1]
        if k == 3:  # rounded to float32
            np.testing.assert_allclose(found.states, expected.states, rtol=1e-6)
        else:
            assert found.same_data(expected)


def test_a_trajectory_does_not_change_with_the_next_call():
    sim = Simulation(kinematic)
    for method in ("RK45", "skidpad:rk4"):
        first = sim.simulate(START, HELD, 0.2, ivp_method=method)[1]
        kept = first.states.copy()
        sim.simulate(START._replace(v=3.0), HELD, 0.2, ivp_method=method)
        assert np.array_equal(first.states, kept)
        with pytest.raises(ValueError, match="read-only"):
            first.states[0, 0] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            first.t[0] = 1.0


def test_wind_remembers_from_one_call_to_the_next():
    wind = OrnsteinUhlenbeck([0.0] * 5, [0.0, 0.0, 1.0, 0.0, 0.0], time_constant=5.0)
    once = Simulation(kinematic, disturbance_model=wind, random_disturbance=True, seed=4)
    once.simulate(START, HELD, 0.6)
    felt = once.last_disturbances.w_v
    twice = Simulation(kinematic, disturbance_model=wind, random_disturbance=True, seed=4)
    parts = []
    for _ in range(2):
        twice.simulate(START, HELD, 0.3)
        parts.append(twice.last_disturbances.w_v)
    np.testing.assert_allclose(np.concatenate(parts), felt, rtol=1e-12)
    assert np.abs(np.diff(felt)).max() < 1.0


def test_disturbances_are_kept_as_a_trajectory():
    rows = np.arange(15.0).reshape(3, 5)
    sim = Simulation(kinematic, disturbance_model=Recorded(rows), random_disturbance=True)
    assert sim.last_disturbances is None
    sim.simulate(START, HELD, 0.3)
    found = sim.last_disturbances
    assert found.mode == "disturbance"
    assert np.array_equal(found.to_array(), rows)
    assert found.t.tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert str(found.unit("w_v")) == "m/s²"
    calm = Simulation(kinematic)
    calm.simulate(START, HELD, 0.3)
    assert np.array_equal(calm.last_disturbances.to_array(), np.zeros((3, 5)))


def test_setup_is_for_compiled_integrators():
    sim = Simulation(kinematic, delta_t_w=0.02)
    found = sim.setup(START, HELD, 0.1, "skidpad:radau")
    assert (found.steps, found.substeps, found.integrator.name) == (5, 8, "radau")
    assert math.isclose(found.dt, 0.02)
    with pytest.raises(InvalidValue, match="'RK45' cannot be compiled, which a fleet needs"):
        sim.setup(START, HELD, 0.1, "RK45")
