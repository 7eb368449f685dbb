"""Bad input: errors that name the argument, the value and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.compat.commonroad.simulation import Simulation
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian, by_name
from skidpad.sensors.models import FullStateFeedback

from .bicycles import (
    KINEMATIC,
    DynamicState,
    Input,
    KinematicDisturbance,
    KinematicState,
    dynamic,
    kinematic,
)

START = KinematicState(0.0, 0.0, 12.0, 0.1, 0.02)
HELD = Input(0.5, 0.05)
GAUSS = Gaussian(np.zeros(5), np.ones(5))
SENSOR = FullStateFeedback(kinematic)
BY_NAME = r"two orders of these arguments are in use, so write them by name: Simulation\("


class OfFour:
    state_dimension = 4

    def state_from_numpy_array(self, x_np): ...
    def trajectory_from_numpy_array(self, **given): ...


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # commonroad-control's order: the program's, not that of its documents.
        (
            (None, GAUSS, True, SENSOR, True),
            f"sensor_model must be a SensorModel, got True; {BY_NAME}",
        ),
        ((None, GAUSS, True), f"sensor_model must be a SensorModel, got True; {BY_NAME}"),
        ((None, GAUSS, None, SENSOR), "random_disturbance must be True or False, got a FullState"),
        ((None, GAUSS, None, True, 0.1), "random_noise must be True or False, got 0.1"),
        ((GAUSS,), "sidt_factory must have the methods state_from_numpy_array, .* got a Gaussian"),
        ((None, SENSOR), "disturbance_model must be an UncertaintyModel, got a FullStateFeedback"),
        ((None, Gaussian), "disturbance_model must be an UncertaintyModel, got the class Gaussian"),
        ((OfFour(),), "sidt_factory has state_dimension = 4; 'kinematic' has 5 states: x, y, v,"),
    ],
)
def test_misplaced_arguments(arguments, message):
    with pytest.raises(InvalidValue, match=message):
        Simulation(kinematic, *arguments)


def test_the_documented_order_is_taken():
    sim = Simulation(kinematic, None, GAUSS, SENSOR, True, False, 0.05)
    assert sim.disturbance_model is GAUSS
    assert sim.sensor_model is SENSOR
    assert (sim.random_disturbance, sim.random_noise, sim.delta_t_w) == (True, False, 0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta_t_w": 0.0}, r"delta_t_w = 0\.0 s must be finite and greater than 0"),
        ({"delta_t_w": -0.1}, r"delta_t_w = -0\.1 s must be finite and greater than 0"),
        ({"delta_t_w": float("nan")}, "delta_t_w = nan s must be finite"),
        ({"delta_t_w": None}, "delta_t_w = None s must be a number"),
        ({"delta_t_w": True}, "delta_t_w = True s must be a number"),
        ({"delta_t_w": "0.1"}, "delta_t_w = '0.1' s must be a number"),
        ({"substep": 0.0}, r"substep = 0\.0 s must be finite and greater than 0"),
        ({"rtol": -1e-3}, r"rtol = -0\.001 must be finite and greater than 0"),
        ({"rtol": 1e-16}, r"rtol = 1e-16 must be at least 2\.22e-14"),
        ({"atol": [1e-6, 1e-6]}, r"atol = \[1e-06, 1e-06\] must be finite .* one number or 5"),
        ({"atol": "small"}, "atol = 'small' must be a number"),
        ({"compat": "commonroad"}, "compat = 'commonroad' is unknown; allowed are None, upstream"),
        ({"seed": 1.5}, r"seed = 1\.5 must be a whole number"),
        (
            {"disturbance_model": Gaussian(np.zeros(4), np.ones(4))},
            r"disturbance_model has dim = 4; 'kinematic' takes 5 disturbances \(x, y, v, yaw",
        ),
        (
            {"disturbance_model": by_name(DynamicState, v_x=Gaussian(0.0, 1.0))},
            "disturbance_model has dim = 7; 'kinematic' takes 5",
        ),
        (
            {
                "disturbance_model": Gaussian(
                    np.zeros(5), np.ones(5), fields=["a", "b", "c", "d", "e"]
                )
            },
            "disturbance_model is a model of a, b, c, d, e, but .* has x, y, v, yaw,",
        ),
        (
            {"sensor_model": FullStateFeedback(dynamic)},
            "sensor_model is for 7 states; 'kinematic' has 5: x, y, v, yaw, steer",
        ),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidValue, match=message):
        Simulation(kinematic, **options)


@pytest.mark.parametrize("given", [None, "car", KinematicState, kinematic.model, 3.0])
def test_what_is_not_a_vehicle(given):
    with pytest.raises(InvalidValue, match="vehicle_model must be a Vehicle such as"):
        Simulation(given)


class Upstream:
    """An object of commonroad-control's kind, whose fields may be None."""

    def __init__(self, *values):
        self.values = values

    def convert_to_array(self):
        return np.array(self.values, dtype=float)


@pytest.mark.parametrize("method", ["RK45", "skidpad:rk4"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t_final": -0.1}, r"t_final = -0\.1 s must be finite and at least 0"),
        ({"t_final": float("nan")}, "t_final = nan s must be finite and at least 0"),
        ({"t_final": float("inf")}, "t_final = inf s must be finite"),
        ({"t_final": 1e300}, "steps .* more than there is: run it in parts"),
        ({"t_final": 1e15}, "steps .* more than there is: run it in parts"),
        ({"t_final": None}, "t_final = None s must be a number"),
        ({"t_final": "1"}, "t_final = '1' s must be a number"),
        ({"x0": {"x": 0.0, "y": 0.0, "v": 3.0}}, "x0: KinematicState needs a value for yaw, steer"),
        ({"x0": Upstream(0.0, 0.0, 3.0, None, None)}, "x0: .* needs a value for yaw, steer"),
        (
            {"x0": [0.0, 0.0, 3.0]},
            r"x0: KinematicState takes 5 numbers \(x, y, .* got shape \(3,\)",
        ),
        ({"x0": np.zeros((2, 5))}, r"x0: KinematicState takes 5 numbers .* got shape \(2, 5\)"),
        ({"x0": START._replace(v=float("nan"))}, "x0: KinematicState.v = nan must be finite"),
        ({"x0": np.array([0.0, 0.0, np.inf, 0.0, 0.0])}, "x0: KinematicState.v = inf must be"),
        ({"x0": START._replace(v=None)}, "x0: KinematicState needs a value for v"),
        ({"x0": START._replace(v="fast")}, "x0: KinematicState.v must be a number, got 'fast'"),
        ({"x0": {**START._asdict(), "speed": 1.0}}, "x0: KinematicState has no field 'speed'"),
        (
            {"x0": DynamicState(*[0.0] * 7)},
            "x0 is a record of DynamicState; expected are the fields",
        ),
        ({"x0": None}, "x0 = None must give x, y, v, yaw, steer"),
        ({"x0": "origin"}, "x0 = 'origin' must give x, y, v, yaw, steer"),
        ({"u": {"a": 1.0}}, "u: Input needs a value for steer_rate"),
        ({"u": {"acceleration": 1.0}}, "u: Input has no field 'acceleration'"),
        ({"u": [1.0]}, r"u: Input takes 2 numbers \(a, steer_rate\), got shape \(1,\)"),
        ({"u": HELD._replace(a=float("inf"))}, "u: Input.a = inf must be finite"),
        ({"u": START}, "u is a record of KinematicState; expected are the fields a, steer_rate"),
    ],
)
def test_bad_calls_change_nothing(change, message, method):
    def make():
        return Simulation(
            kinematic, disturbance_model=GAUSS, random_disturbance=True, sensor_model=SENSOR, seed=2
        )

    sim = make()
    with pytest.raises(InvalidValue, match=message):
        sim.simulate(**{"x0": START, "u": HELD, "t_final": 0.2, **change}, ivp_method=method)
    with pytest.raises(InvalidValue, match="nothing was simulated yet"):
        sim.replay(1)
    found = sim.simulate(START, HELD, 0.2, ivp_method=method)
    expected = make().simulate(START, HELD, 0.2, ivp_method=method)
    assert found[1].same_data(expected[1])


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            "rk45",
            "unknown ivp_method 'rk45'; did you mean 'RK45'. Allowed are RK23, RK45, DOP853, Radau",
        ),
        ("RK4", "unknown ivp_method 'RK4'"),
        ("skidpad:rk5", "unknown ivp_method 'skidpad:rk5'; did you mean 'skidpad:rk4'"),
        ("skidpad:scipy:RK45", "unknown ivp_method 'skidpad:scipy:RK45'"),
        ("rk4", "unknown ivp_method 'rk4'; did you mean 'skidpad:rk4'"),
        (None, "unknown ivp_method None"),
        (float, "unknown ivp_method <class 'float'>.* or a subclass of scipy.integrate.OdeSolver"),
        (["RK45"], r"unknown ivp_method \['RK45'\]"),
    ],
)
def test_unknown_methods_list_what_there_is(method, message):
    sim = Simulation(kinematic)
    with pytest.raises(InvalidValue, match=message):
        sim.simulate(START, HELD, 0.1, ivp_method=method)


def test_vectors_of_models_are_checked_when_they_are_made():
    for make, message in (
        (lambda: Gaussian(np.zeros(5), -np.ones(5)), "std"),
        (lambda: Gaussian(np.zeros(2), covariance=[[1.0, 2.0], [2.0, 1.0]]), "covariance"),
        (lambda: Gaussian(np.zeros(5), np.ones(4)), "std"),
    ):
        with pytest.raises(InvalidValue, match=message):
            make()


def test_a_record_of_another_class_with_the_same_fields_is_taken():
    moved = KinematicDisturbance(*START)
    assert KINEMATIC.model.State._fields == moved._fields
    found = Simulation(kinematic).simulate(moved, HELD, 0.1)[1]
    assert found.same_data(Simulation(kinematic).simulate(START, HELD, 0.1)[1])


def test_dead_time_is_refused():
    from dataclasses import replace

    late = replace(kinematic.model, dead_times={"a": "l_wb"})
    sim = Simulation(replace(kinematic, model=late))
    for method in ("RK45", "skidpad:rk4"):
        with pytest.raises(InvalidValue, match="'kinematic' has dead time, which a Simulation"):
            sim.simulate(START, HELD, 0.1, ivp_method=method)
