"""Objects of commonroad-control's kind go in and come out."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from skidpad.compat.commonroad.simulation import Simulation
from skidpad.random import Gaussian
from skidpad.sensors.models import FullStateFeedback, SelectedOutputs

from .bicycles import Input, kinematic


class TrajectoryMode(enum.Enum):
    """As in the module of such a factory: no member of it equals one of another enumeration."""

    State = "state"
    Input = "input"
    Disturbance = "disturbance"


@dataclass
class KBState:
    position_x: float | None = None
    position_y: float | None = None
    velocity: float | None = None
    heading: float | None = None
    steering_angle: float | None = None

    def convert_to_array(self):
        return np.array(list(vars(self).values()))


@dataclass
class KBTrajectory:
    points: dict
    mode: TrajectoryMode
    t_0: float
    delta_t: float


class KBFactory:
    state_dimension = 5

    @classmethod
    def state_from_numpy_array(cls, x_np):
        assert x_np.shape == (5,)
        return KBState(*x_np.tolist())

    @classmethod
    def trajectory_from_numpy_array(cls, traj_np, mode, time_steps, t_0, delta_t):
        points = {k: cls.state_from_numpy_array(traj_np[:, k]) for k in time_steps}
        return KBTrajectory(points, mode, t_0, delta_t)


def test_results_are_made_by_the_factory():
    x0 = KBState(0.0, 1.0, 12.0, 0.1, 0.02)
    expected = Simulation(kinematic, delta_t_w=0.05).simulate(
        x0.convert_to_array(), Input(0.5, 0.0), 0.2
    )[1]
    for factory in (KBFactory(), KBFactory):
        sim = Simulation(kinematic, sidt_factory=factory, delta_t_w=0.05)
        assert sim.state_input_factory is factory
        y, perturbed, nominal = sim.simulate(x0, Input(0.5, 0.0), 0.2)
        assert perturbed is nominal
        assert isinstance(y, KBState)
        assert nominal.mode is TrajectoryMode.State
        assert (nominal.t_0, nominal.delta_t) == (0.0, 0.05)
        assert nominal.points[0] == x0
        assert list(nominal.points) == [0, 1, 2, 3, 4]
        assert y == nominal.points[4] == KBState(*expected.final_point)


def test_a_perturbed_trajectory_is_one_of_its_own():
    sim = Simulation(
        kinematic,
        sidt_factory=KBFactory,
        disturbance_model=Gaussian(np.zeros(5), np.full(5, 0.1)),
        sensor_model=FullStateFeedback(kinematic, Gaussian(np.zeros(5), np.full(5, 0.1))),
        random_disturbance=True,
        random_noise=True,
        seed=1,
    )
    y, perturbed, nominal = sim.simulate(KBState(0.0, 1.0, 12.0, 0.1, 0.02), Input(0.5, 0.0), 0.2)
    assert perturbed.points[2] != nominal.points[2]
    assert isinstance(y, KBState)
    assert y != perturbed.points[2]


def test_another_output_than_the_state_is_left_as_it_is():
    sensor = SelectedOutputs(kinematic, ["v"])
    sim = Simulation(kinematic, sidt_factory=KBFactory, sensor_model=sensor)
    y = sim.simulate(KBState(0.0, 1.0, 12.0, 0.1, 0.02), Input(0.5, 0.0), 0.2)[0]
    assert y.v > 12.0
