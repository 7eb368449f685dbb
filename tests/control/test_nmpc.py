"""The predictive controller: a recorded solve, its constraints, and the loop."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from control.roads import DYNAMIC, KINEMATIC, RECORDED, circle, lane_change, straight
from skidpad.control import Nmpc
from skidpad.control.car import rolling_velocity
from skidpad.control.nmpc import Plan, _available, packed, prediction_state, unpacked
from skidpad.errors import InvalidValue, MissingExtra, SkidpadError

P = KINEMATIC.params
BOUNDS = {"a": 11.5, "steer_rate": 0.4}
SOLVERS = pytest.mark.parametrize("solver", ["ipopt", "fatrop", "sqpmethod"])


def accelerations(x: Any, u: Any) -> tuple[float, float]:
    """As commonroad-control normalises them for the kinematic bicycle."""
    omega = rolling_velocity(x.v, x.steer, P.l_f, P.l_r).omega
    return u.a / P.a_long_max, x.v * omega / P.a_lat_max


def controller(solver: str = "ipopt", horizon: int = 20, **changed: object) -> Nmpc:
    given: dict[str, object] = {
        "Q": [1.0, 1.0, 1.0, 1.0, 0.0],
        "R": [0.1, 0.1],
        "input_bounds": BOUNDS,
        "accelerations": True,
        "solver": solver,
    }
    return Nmpc(KINEMATIC, 0.1, horizon, **(given | changed))


def recorded_cost(x: np.ndarray, u: np.ndarray) -> float:
    """Objective of the recorded problem; the last state weighs like the others."""
    e = x - RECORDED["scvx__xref"].T
    return float((e[:, :4] ** 2).sum() + 0.1 * (u**2).sum())


@SOLVERS
def test_a_recorded_solve(solver: str) -> None:
    """The recording is by successive convexification, to about 1e-5."""
    mpc = controller(solver, horizon=15)
    plan = mpc.solve(RECORDED["scvx__x0"], RECORDED["scvx__xref"].T, RECORDED["scvx__uref"].T)
    assert plan.optimal
    assert plan.feasible
    np.testing.assert_allclose(plan.states, RECORDED["scvx__xopt"].T, atol=2e-5)
    np.testing.assert_allclose(plan.inputs, RECORDED["scvx__uopt"].T, atol=3e-5)
    np.testing.assert_allclose(plan.inputs[0], RECORDED["scvx__u0"], atol=5e-6)
    theirs = recorded_cost(RECORDED["scvx__xopt"].T, RECORDED["scvx__uopt"].T)
    assert plan.cost == pytest.approx(theirs, rel=1e-7)
    assert plan.cost == pytest.approx(recorded_cost(plan.states, plan.inputs), rel=1e-9)
    assert plan.seconds > 0.0


def test_a_plan_is_a_motion_of_the_vehicle() -> None:
    plan = controller(horizon=15).solve(
        RECORDED["scvx__x0"], RECORDED["scvx__xref"].T, RECORDED["scvx__uref"].T
    )
    sim = sp.Simulator(KINEMATIC, 0.1)
    sim.reset(plan.states[0])
    for k, u in enumerate(plan.inputs):
        np.testing.assert_allclose(sim.step(u), plan.states[k + 1], atol=1e-9)


@pytest.mark.slow
@SOLVERS
def test_a_straight_line_at_constant_speed_leaves_no_error(solver: str) -> None:
    mpc = controller(solver)
    sim = sp.Simulator(KINEMATIC, 0.1)
    sim.reset(y=1.0, v=12.0, yaw=-0.1)
    road = straight(500.0, 15.0)
    driven = sim.run(mpc.controller(road), duration=15.0)
    assert abs(driven["y"][-1]) < 1e-3
    assert abs(driven["v"][-1] - 15.0) < 1e-3
    assert abs(driven["x"][-1] - 15.0 * 15.0) < 5e-3
    assert np.abs(driven["u_steer_rate"]).max() <= 0.4
    assert np.abs(driven["u_a"]).max() <= 11.5


def test_bounds_and_the_circle_of_accelerations_hold() -> None:
    """A lane change that is too quick for them."""
    mpc = controller(
        input_bounds={"a": (-3.0, 2.0), "steer_rate": 0.3},
        state_bounds={"steer": 0.03, "v": (0.0, 31.0)},
    )
    road = lane_change(30.0, begin=20.0, over=12.0)
    targets = mpc.controller(road).targets(road.horizon(0.0, 20, 0.1), 0.0)
    targets[:, 2] = 35.0
    plan = mpc.solve({"v": 30.0}, targets)
    assert plan.optimal
    assert plan.inputs[:, 0].max() <= 2.0
    assert plan.inputs[:, 0].max() > 0.3
    assert np.abs(plan.inputs[:, 1]).max() == pytest.approx(0.3, abs=1e-6)
    assert plan.states[1:, 2].max() == pytest.approx(31.0, abs=1e-4)
    assert np.abs(plan.states[1:, 4]).max() == pytest.approx(0.03, abs=1e-6)
    # Without the bound on steering, the accelerations are what limits the turn.
    free = controller().solve({"v": 30.0}, targets)
    size = [
        np.hypot(*accelerations(KINEMATIC.State(*x), KINEMATIC.Input(*u)))
        for x, u in zip(free.states[:-1], free.inputs, strict=True)
    ]
    assert max(size) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.slow_cases("ipopt", "sqpmethod")
@SOLVERS
def test_it_drives_the_dynamic_bicycle(solver: str) -> None:
    mpc = controller(solver)
    road = lane_change(20.0)
    driver = mpc.controller(road)
    sim = sp.Simulator(DYNAMIC, 0.02, substeps=4)
    sim.reset(v_x=20.0, y=0.5)
    driven = sim.run(driver, duration=6.0)
    offset = np.abs(road.offset(driven["x"], driven["y"]))
    assert len(driver.plans) == 60, "one plan for every 0.1 s"
    assert all(plan.optimal for plan in driver.plans)
    assert offset[100:].max() < 0.3
    assert offset[-1] < 0.05
    # The input is held between plans.
    held = driven["u_steer_rate"][:300].reshape(60, 5)
    assert np.ptp(held, axis=1).max() == 0.0


STARTS = [
    (0.3, 0.0, 25.0),
    (-0.3, 0.1, 15.0),
    (1.0, 0.1, 30.0),
    (-1.0, -0.1, 20.0),
    (-1.0, 0.1, 30.0),
    (1.0, 0.0, 15.0),
]
"""Offset in m, heading in rad and speed in m/s beside the x axis."""


def plans_of_a_single_track(solver: str, starts: Sequence[tuple[float, ...]]) -> list[Plan]:
    car, dt, horizon = sp.vehicles.single_track(), 0.05, 20
    mpc = Nmpc(
        car,
        dt,
        horizon,
        Q={"x": 0.1, "y": 1.0, "yaw": 1.0, "v_x": 1.0},
        R={"steer": 1.0, "F_drive": 1e-7},
        solver=solver,
    )
    plans = list[Plan]()
    for y, yaw, v_x in starts:
        targets = np.zeros((horizon + 1, 9))
        targets[:, 0], targets[:, 3] = v_x * dt * np.arange(horizon + 1), v_x
        mpc.forget()
        plans.append(mpc.solve({"y": y, "yaw": yaw, "v_x": v_x}, targets))
    return plans


SLOW_SPEEDS = pytest.mark.filterwarnings("ignore:rk4 with dt = 0.05 s is unstable")
"""RK4 is stable with these steps from 4 m/s on."""


@SLOW_SPEEDS
@pytest.mark.parametrize(
    "solvers",
    [("ipopt", "fatrop"), pytest.param(("ipopt", "fatrop", "sqpmethod"), marks=pytest.mark.slow)],
    ids=len,
)
def test_every_solver_plans_for_a_single_track_and_finds_the_same(solvers: tuple[str, ...]) -> None:
    """The steering rate is at its limit in most of them."""
    car = sp.vehicles.single_track()
    found = {name: plans_of_a_single_track(name, STARTS) for name in solvers}
    reach = car.params.t_steer * car.params.steer_rate_max
    felt = list[bool]()
    for k, (first, *others) in enumerate(zip(*found.values(), strict=True)):
        assert all(plan.optimal for plan in (first, *others)), STARTS[k]
        for plan in others:
            assert plan.cost == pytest.approx(first.cost, rel=1e-5)
        # The error of the steering at the start of a step is the rate times its time constant.
        error = np.abs(first.inputs[:, 0] - first.states[:-1, 6])
        assert error.max() <= reach * (1.0 + 1e-6)
        felt.append(bool(error.max() > 0.999 * reach))
        assert abs(first.states[-1, 1]) < abs(first.states[0, 1])
    assert sum(felt) >= 4
    # A plan is a motion of the car itself, whose limits are corners.
    plan = found["ipopt"][2]
    sim = sp.Simulator(car, 0.05, integrator="rk4")
    sim.reset(plan.states[0])
    for k, u in enumerate(plan.inputs):
        np.testing.assert_allclose(sim.step(u), plan.states[k + 1], rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@SLOW_SPEEDS
@SOLVERS
def test_every_solver_plans_for_a_single_track_from_many_starts(solver: str) -> None:
    starts = list(product((-1.0, -0.3, 0.3, 1.0), (-0.1, 0.0, 0.1), (15.0, 20.0, 25.0, 30.0)))
    plans = plans_of_a_single_track(solver, starts)
    assert [start for start, plan in zip(starts, plans, strict=True) if not plan.optimal] == []


def test_a_step_that_is_unstable_is_told_with_options_that_exist() -> None:
    car = sp.vehicles.single_track()
    given: dict[str, Any] = {"Q": {"y": 1.0}, "R": [1.0, 1e-7]}
    with pytest.warns(UserWarning, match="is unstable") as told:
        Nmpc(car, 0.05, 1, **given)
    advice = str(told[0].message).partition("Take ")[2]
    substeps = int(advice.rpartition("substeps = ")[2])
    assert "integrator='auto'" in advice
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Nmpc(car, 0.05, 1, **given, substeps=substeps)
        Nmpc(car, 0.05, 1, **given, integrator="auto")
    with pytest.raises(InvalidValue, match="substeps = 0 must be at least 1"):
        Nmpc(car, 0.05, 1, **given, substeps=0)


def test_a_constraint_of_ones_own() -> None:
    """The vehicle's own accelerations are those written by hand here."""
    targets = np.column_stack([np.linspace(0, 60, 21), np.full(21, 6.0), np.full((21, 3), 0.0)])
    plans = [
        controller("fatrop", accelerations=given).solve({"v": 30.0}, targets)
        for given in (True, accelerations, None)
    ]
    np.testing.assert_allclose(plans[0].inputs, plans[1].inputs, atol=1e-6)
    assert np.abs(plans[0].inputs - plans[2].inputs).max() > 0.1
    with pytest.raises(InvalidValue, match="'kinematic_bicycle' has no limits a_long_max"):
        Nmpc(sp.vehicles.kinematic_bicycle(), 0.1, 5, Q={}, R=[1.0] * 5, accelerations=True)


@pytest.mark.slow
def test_it_goes_round_and_round() -> None:
    """Headings beyond a full turn are those of the car."""
    road = circle(15.0, 8.0, angle=2.5 * math.tau, points=600)
    sim = sp.Simulator(KINEMATIC, 0.1)
    sim.reset(v=8.0, yaw=4.0 * math.tau)
    driven = sim.run(controller("fatrop").controller(road), duration=26.0)
    assert np.abs(road.offset(driven["x"], driven["y"])[50:]).max() < 0.05
    assert driven["yaw"][-1] > 6.0 * math.tau


def test_the_last_plan_is_a_good_start() -> None:
    mpc = controller()
    road = lane_change(20.0)
    driver = mpc.controller(road)
    sim = sp.Simulator(KINEMATIC, 0.1)
    sim.reset(v=20.0, y=0.5)
    sim.run(driver, duration=3.0)
    cold = []
    for k in (10, 15, 20):
        mpc.forget()
        targets = driver.targets(road.horizon(0.1 * k, 20, 0.1), 0.0)
        cold.append(mpc.solve(driver.plans[k].states[0], targets).iterations)
        assert mpc.plan is not None
        np.testing.assert_allclose(mpc.plan.cost, driver.plans[k].cost, rtol=1e-5)
    assert sum(driver.plans[k].iterations for k in (10, 15, 20)) < sum(cold)


@SOLVERS
def test_without_a_plan_it_goes_on_with_the_last_one(solver: str) -> None:
    """Speed may not fall below 5 m/s, and is 4 m/s: no step of 0.1 s gets there."""
    mpc = controller(solver, state_bounds={"v": (5.0, 50.0)}, max_iterations=60)
    targets = mpc.controller(straight(100.0, 10.0)).targets(
        straight(100.0, 10.0).horizon(0.0, 20, 0.1), 0.0
    )
    good = mpc.solve({"v": 10.0, "y": 0.5}, targets)
    with pytest.warns(UserWarning, match="found no plan"):
        plan = mpc.solve({"v": 3.0}, targets)
    assert not plan.feasible
    assert not plan.optimal
    assert plan.status
    assert plan.violation > 0.1
    np.testing.assert_array_equal(plan.inputs[:-1], good.inputs[1:])
    np.testing.assert_array_equal(plan.states[:-1], good.states[1:])
    with pytest.warns(UserWarning, match="found no plan"):
        again = mpc.solve({"v": 3.0}, targets)
    np.testing.assert_array_equal(again.inputs[:-2], good.inputs[2:])
    # And it recovers.
    assert mpc.solve({"v": 10.0}, targets).optimal


def test_with_no_plan_at_all_it_says_so() -> None:
    mpc = controller(state_bounds={"v": (5.0, 50.0)})
    with pytest.raises(SkidpadError, match=r"found no plan from .*status 'Infeasible"):
        mpc.solve({"v": 3.0}, np.zeros((21, 5)))
    assert mpc.plan is None


def test_few_iterations_may_be_enough_to_be_feasible_but_not_optimal() -> None:
    mpc = controller("sqpmethod", max_iterations=2)
    road = lane_change(20.0, begin=0.0)
    targets = mpc.controller(road).targets(road.horizon(0.0, 20, 0.1), 0.0)
    plan = mpc.solve({"v": 19.0, "y": 0.3}, targets)
    assert plan.iterations == 2
    assert plan.feasible
    assert not plan.optimal
    assert plan.status == "Maximum_Iterations_Exceeded"


def test_upstreams_name_for_the_first_input() -> None:
    mpc = controller(horizon=15)
    u = mpc.compute_control_input(RECORDED["scvx__x0"], RECORDED["scvx__xref"].T)
    assert isinstance(u, KINEMATIC.Input)
    np.testing.assert_allclose(u, RECORDED["scvx__u0"], atol=5e-6)


def test_time_that_starts_again_forgets_the_plan() -> None:
    driver = controller().controller(straight(100.0, 10.0))
    x = KINEMATIC.State(v=10.0, y=0.2)
    first = driver(0.0, x)
    driver(0.05, x)
    driver(0.1, x)
    assert len(driver.plans) == 2
    assert driver(0.0, x) == pytest.approx(first, abs=1e-9)
    assert len(driver.plans) == 3


def test_a_solver_that_is_missing_has_a_stand_in() -> None:
    with pytest.warns(UserWarning, match="no solver 'ipopt'; 'fatrop' takes its place"):
        assert _available("ipopt", lambda name: name != "ipopt") == "fatrop"
    with pytest.warns(UserWarning, match="'sqpmethod' takes its place"):
        assert _available("fatrop", lambda name: name == "sqpmethod") == "sqpmethod"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _available("fatrop", lambda name: True) == "fatrop"
    with pytest.raises(MissingExtra, match="none of the solvers"):
        _available("ipopt", lambda name: False)
    with pytest.raises(InvalidValue, match="solver = 'snopt' is unknown"):
        _available("snopt", lambda name: True)


def test_variables_are_in_the_order_of_the_steps() -> None:
    x, u = np.arange(12.0).reshape(4, 3), 100.0 + np.arange(6.0).reshape(3, 2)
    values = packed(x, u)
    assert values.tolist()[:8] == [0.0, 1.0, 2.0, 100.0, 101.0, 3.0, 4.0, 5.0]
    back = unpacked(values, 3, 2)
    np.testing.assert_array_equal(back[0], x)
    np.testing.assert_array_equal(back[1], u)


def test_the_prediction_sees_the_vehicle_by_its_fields() -> None:
    seen = prediction_state(DYNAMIC.State(x=1.0, v_x=3.0, v_y=4.0, steer=0.1), KINEMATIC.State)
    assert seen == KINEMATIC.State(x=1.0, v=5.0, steer=0.1)
    with pytest.raises(InvalidValue, match="the prediction model needs 'v_y'"):
        prediction_state(KINEMATIC.State(), DYNAMIC.State)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"horizon": 0}, "horizon = 0 must be at least 1"),
        ({"Q": [1.0, 1.0]}, r"Q has shape \(2, 2\); expected \(5, 5\)"),
        ({"input_bounds": {"tau": 1.0}}, "input_bounds has no field 'tau'"),
        ({"input_bounds": {"a": (2.0, -2.0)}}, "2 must be less than -2"),
        ({"state_bounds": {"v": (0.0, 1.0, 2.0)}}, "must be one number or a pair"),
        ({"max_iterations": 0}, "max_iterations = 0"),
        ({"solver": "acados"}, "solver = 'acados' is unknown"),
    ],
)
def test_bad_settings_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        controller(**given)  # type: ignore[arg-type]


def test_bad_problems_are_named_and_change_nothing() -> None:
    mpc = controller()
    targets = np.zeros((21, 5))
    with pytest.raises(InvalidValue, match=r"x_ref has shape \(20, 5\); expected \(21, 5\)"):
        mpc.solve({"v": 1.0}, targets[1:])
    with pytest.raises(InvalidValue, match="u_ref must be finite"):
        mpc.solve({"v": 1.0}, targets, np.full((20, 2), np.nan))
    with pytest.raises(InvalidValue, match="no field 'speed'"):
        mpc.solve({"speed": 1.0}, targets)
    assert mpc.plan is None
