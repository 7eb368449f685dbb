"""Inputs that mean something else than was meant are refused, and nothing has changed then."""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import InvalidValue
from skidpad.core import record
from skidpad.units import m

CAR = sp.vehicles.four_wheel()


@pytest.fixture
def sim() -> sp.Simulator:
    sim = sp.Simulator(CAR, 0.001)
    sim.reset(v_x=5.0)
    return sim


@pytest.mark.parametrize("steer", [5.0, -5.0, 20.0, 1.01])
def test_an_angle_far_beyond_the_actuator_may_be_degrees(sim: sp.Simulator, steer: float) -> None:
    before = sim.snapshot()
    row = CAR.Input(steer=steer)
    wanted = rf"steer = {steer:g} rad.*±0\.5 rad.*degrees.*with_clipped_inputs"
    for call in (
        lambda: sim.step(steer=steer),
        lambda: sim.step(row),
        lambda: sim.step(np.array(row)),
        lambda: sim.step({"steer": steer}),
        lambda: sim.run({"steer": steer}, steps=3),
        lambda: sim.run(np.array([row] * 3)),
        lambda: sim.run(lambda t, x: row, steps=3),
        lambda: sp.Fleet(CAR, 0.001).rollout({}, np.tile(row, (2, 4, 1))),
    ):
        with pytest.raises(InvalidValue, match=wanted):
            call()
        assert sim.snapshot() == before


def test_the_place_in_a_fleet_is_named() -> None:
    controls = np.zeros((3, 4, 5))
    controls[2, 1, 0] = 30.0
    with pytest.raises(InvalidValue, match=r"controls: steer = 30 rad of vehicle 1, step 2"):
        sp.Fleet(CAR, 0.001).rollout({}, controls)


def test_all_there_is_may_be_wished_for(sim: sp.Simulator) -> None:
    for steer in (0.5, -0.5, 0.9, 0.0):
        sim.step(steer=steer)


def test_a_vehicle_that_clips_stops_at_its_end() -> None:
    ends = []
    for car, steer in ((CAR.with_clipped_inputs(), 7.0), (CAR, 0.5)):
        sim = sp.Simulator(car, 0.001)
        sim.reset(v_x=5.0)
        ends.append(sim.run({"steer": steer}, steps=500).states[-1])
    np.testing.assert_array_equal(*ends)
    assert pickle.loads(pickle.dumps(CAR.with_clipped_inputs())).clips_inputs
    assert not pickle.loads(pickle.dumps(CAR)).clips_inputs


def test_what_reproduces_a_program_takes_what_it_takes() -> None:
    car = sp.vehicles.commonroad_ks(compat="upstream")
    sp.Simulator(car, 0.01).step(steer_rate=9.0)


def test_a_controller_without_a_return_is_named(sim: sp.Simulator) -> None:
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match=r"controls returned None at t = 0 s.*return"):
        sim.run(lambda t, x: None, steps=3)
    assert sim.snapshot() == before


GEARED = sp.vehicles.autoware("DELAY_STEER_ACC_GEARED")


@pytest.mark.parametrize("gear", [20.4, 2.5, -1.0, 25.0])
def test_a_gear_is_a_whole_number_with_a_name(gear: float) -> None:
    wanted = r"gear = .* must be a whole number from 0 to 24"
    with pytest.raises(InvalidValue, match=wanted):
        sp.Simulator(GEARED, 0.03).step(gear=gear)
    rows = np.tile(record.flatten(GEARED.Input()), (2, 3, 1))
    rows[1, 2, record.names(GEARED.Input).index("gear")] = gear
    with pytest.raises(InvalidValue, match=wanted):
        sp.Fleet(GEARED, 0.03).rollout({}, rows)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_command_that_has_not_acted_yet_must_be_a_number_too(wrong: float) -> None:
    rows = np.tile(record.flatten(GEARED.Input()), (40, 3, 1))
    rows[-1, 1, record.names(GEARED.Input).index("steer")] = wrong
    fleet = sp.Fleet(GEARED, 0.03)
    with pytest.raises(InvalidValue, match=r"controls: steer of vehicle 1, step 39 is (nan|inf)"):
        fleet.rollout({}, rows)


@pytest.mark.parametrize(
    ("make", "start", "wanted"),
    [
        (sp.vehicles.four_wheel, {"steer": 0.7}, r"steering angle of 0\.7 rad.*from -0\.5 to 0\.5"),
        (sp.vehicles.commonroad_ks, {"v": 60.0}, r"velocity .* of 60 m/s.*to 50\.8 m/s"),
        (sp.vehicles.commonroad_ks, {"v": -20.0}, r"velocity .* of -20 m/s.*from -13\.9"),
    ],
)
def test_a_start_beyond_the_range_is_refused(make: Any, start: Any, wanted: str) -> None:
    car = make()
    sim = sp.Simulator(car, 0.001)
    before = sim.snapshot()
    with pytest.raises(InvalidValue, match=wanted):
        sim.reset(**start)
    assert sim.snapshot() == before
    with pytest.raises(InvalidValue, match=wanted):
        sp.Fleet(car, 0.001).rollout(start, {}, steps=1)
    x0 = np.tile(record.flatten(record.build(car.State)), (3, 1))
    for name, value in start.items():
        x0[1, record.names(car.State).index(name)] = value
    with pytest.raises(InvalidValue, match=f"the start of vehicle 1 has a {wanted}"):
        sp.Fleet(car, 0.001).rollout(x0, {}, steps=1)


FAST_CAR = sp.vehicles.commonroad_ks()
COASTING = sp.Policy(lambda x: FAST_CAR.Input(), name="coasting")


@pytest.mark.parametrize(
    "call",
    [
        lambda fleet, start: fleet.rollout(start, steps=2, policy=COASTING),
        lambda fleet, start: fleet.closed_loop(COASTING).rollout(start, steps=2),
        lambda fleet, start: fleet.gradient(start, {}, lambda x: x.v, steps=2),
        lambda fleet, start: fleet.monte_carlo(start, {}, runs=3, steps=2),
        lambda fleet, start: fleet.monte_carlo(start, runs=3, steps=2, policy=COASTING),
    ],
    ids=["policy", "closed loop", "gradient", "monte carlo", "monte carlo of a policy"],
)
def test_whatever_runs_looks_at_its_start(call: Any) -> None:
    fleet = sp.Fleet(FAST_CAR, 0.01)
    call(fleet, {"v": 50.0})
    with pytest.raises(InvalidValue, match=r"the start of vehicle 0 has a velocity .* of 60 m/s"):
        call(fleet, {"v": 60.0})


def test_only_the_start_of_a_run_is_looked_at() -> None:
    """Wind from behind may make it faster than its engine does."""
    wind = np.zeros(5)
    wind[3] = 10.0
    runs = sp.Fleet(FAST_CAR, 0.01).monte_carlo(
        {"v": 50.0}, {}, runs=3, steps=50, disturbance=sp.random.NoUncertainty(5, wind)
    )
    assert runs.replay(0)["v"][-1] == pytest.approx(55.0)


@pytest.mark.parametrize("policy", [None, COASTING])
def test_parameters_too_fast_for_the_steps_are_refused_with_a_policy_too(policy: Any) -> None:
    fleet = sp.Fleet(CAR, 0.001, "rk4")
    policy = policy and sp.Policy(lambda x: CAR.Input(), name="rolling")
    params = {"t_tau": np.array([0.01, 1e-5])}
    with pytest.raises(InvalidValue, match=r"rk4 with dt = 0.001 s is unstable"):
        fleet.rollout({"v_x": 5.0}, None, steps=2, params=params, policy=policy)


class Level(NamedTuple):
    h: m = 0.0


class Flow(NamedTuple):
    q: m = 0.0


def tank(derivative: Any) -> sp.Vehicle:
    return sp.Vehicle(sp.Model("tank", Level, Flow, Level, derivative=derivative), Level(1.0))


@pytest.mark.parametrize("integrator", ["auto", "rk4", "radau"])
@pytest.mark.parametrize("result", [None, 0.0, [0.0]])
def test_a_derivative_that_returns_no_record_is_named(integrator: str, result: Any) -> None:
    with pytest.raises(sp.TraceError, match=r"derivative of 'tank' must return a Level record"):
        sp.Simulator(tank(lambda x, u, w, p: result), 0.01, integrator)


def test_a_function_of_other_arguments_is_named() -> None:
    wanted = r"model 'tank': derivative must take \(x, u, w, p\), got \(x, u\)"
    with pytest.raises(InvalidValue, match=wanted):
        tank(lambda x, u: Level())


def test_an_uncertainty_model_of_other_fields_is_refused() -> None:
    car = sp.vehicles.commonroad_kinematic_bicycle()
    fleet = sp.Fleet(car, 0.05)
    names = ["a", "b", "c", "d", "e"]
    other = sp.random.Gaussian(np.zeros(5), np.full(5, 0.1), fields=names)
    for arguments in ({"x0": other}, {"x0": {}, "disturbance": other}):
        with pytest.raises(InvalidValue, match=r"is a model of a, b, c, d, e, but .* x, y, v, yaw"):
            fleet.monte_carlo(controls={}, runs=3, steps=2, **arguments)


BRANCHES = {
    "if": lambda x: x.h if x.h > 0.0 else 0.0,
    "min": lambda x: min(x.h, 1.0),
    "int": lambda x: float(int(x.h)),
    "and": lambda x: x.h > 0.0 and x.h,
}
"""What Python does to numbers and cannot do to a value that is only known at run time."""
ROUTES = {
    "simulator": lambda car: sp.Simulator(car, 0.01),
    "rk4": lambda car: sp.Simulator(car, 0.01, "rk4"),
    "radau": lambda car: sp.Simulator(car, 0.01, "radau"),
    "scipy": lambda car: sp.Simulator(car, 0.01, "scipy:RK45"),
    "fleet": lambda car: sp.Fleet(car, 0.01),
    "linearise": lambda car: sp.linearise(car, {}, {}, 0.01),
    "linearise_continuous": lambda car: car.linearise_continuous({}, {}),
    "casadi": lambda car: car.casadi("rk4"),
}
"""Everything that traces a model."""


@pytest.mark.parametrize("mistake", BRANCHES)
@pytest.mark.parametrize("route", ROUTES)
def test_python_on_a_traced_value_is_named_whoever_traces(route: str, mistake: str) -> None:
    branch = BRANCHES[mistake]
    with pytest.raises(sp.TraceError, match=r"skidpad\.ops"):
        ROUTES[route](tank(lambda x, u, w, p: Level(branch(x))))


class Pair(NamedTuple):
    a: m = 0.0
    b: m = 0.0


class Swapped(NamedTuple):
    b: m = 0.0
    a: m = 0.0


def paired(**functions: Any) -> sp.Vehicle:
    functions = {"derivative": lambda x, u, w, p: Pair(0.0, x.b), **functions}
    return sp.Vehicle(sp.Model("pair", Pair, Flow, Level, **functions), Level(1.0))


OTHERS = {
    "derivative": lambda x, u, w, p: Swapped(b=x.b, a=0.0),
    "update": lambda x, u, w, p, dt: Swapped(b=x.b, a=0.0),
    "outputs": lambda x, u, w, p: Swapped(b=x.b, a=0.0),
}
"""Records with the right number of fields, each at another's place."""


@pytest.mark.parametrize("what", OTHERS)
def test_a_record_of_other_fields_is_not_taken_by_position(what: str) -> None:
    more: dict[str, Any] = {"Outputs": Pair} if what == "outputs" else {}
    more |= {"derivative": None} if what == "update" else {}
    car = paired(**{**more, what: OTHERS[what]})
    wanted = rf"{what} of 'pair' must return a Pair record, got a Swapped with the fields b, a"
    routes = [
        lambda: sp.Simulator(car, 0.01).outputs(),
        lambda: sp.Fleet(car, 0.01).outputs({"a": 1.0}, {}),
        lambda: sp.Fleet(car, 0.01).rollout({"a": 1.0}, {}, steps=2),
        lambda: car.casadi("rk4"),
        lambda: sp.Simulator(car, 0.01, "scipy:RK45").run({}, steps=1),
    ]
    if what == "outputs":
        del routes[2]  # a rollout has no outputs
    for route in routes if what != "update" else routes[:4]:
        with pytest.raises(sp.TraceError, match=wanted):
            route()


def test_a_hold_that_returns_nothing_is_named() -> None:
    with pytest.raises(sp.TraceError, match=r"hold of 'pair' returned None"):
        sp.Simulator(paired(hold=lambda x, u, w, p: None), 0.01)
