"""The linear-quadratic regulator: the gain, the steady motion, and the loop that it closes."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from control.roads import DYNAMIC, KINEMATIC, circle, lane_change, straight
from skidpad.control import lqr
from skidpad.control.path_following import kinematic_steer
from skidpad.control.reference import Point
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.run.trim import steady
from skidpad.vehicles.parts import Battery, HydraulicBrakes, MotorDrive
from skidpad.vehicles.parts.electric import Supply
from unstable import unstable_fleet

DT = 0.05
R = {"a": 0.5, "steer_rate": 20.0}
Q = {
    KINEMATIC.name: {"x": 0.1, "y": 1.0, "yaw": 2.0, "v": 0.5},
    DYNAMIC.name: {"x": 0.1, "y": 1.0, "yaw": 2.0, "v_x": 0.5},
}
BOTH = pytest.mark.parametrize("car", [KINEMATIC, DYNAMIC], ids=["kinematic", "dynamic"])


def by_path(car: sp.Vehicle) -> dict[str, float]:
    """Weights without that of the distance ahead."""
    return {name: weight for name, weight in Q[car.name].items() if name != "x"}


def test_the_scalar_integrator_has_the_golden_gain() -> None:
    # P = P² / (1 + P)² ... = (1 + √5) / 2, and K = P / (1 + P).
    golden = (1.0 + math.sqrt(5.0)) / 2.0
    assert lqr.gain([[1.0]], [[1.0]], [[1.0]], [[1.0]])[0, 0] == pytest.approx(
        golden / (1 + golden)
    )


def test_the_gain_is_no_worse_than_its_neighbours() -> None:
    """Cost of a long run from many starts, by simulation of the linear system."""
    d = lqr.design(KINEMATIC, 20.0, DT, Q[KINEMATIC.name], R)
    q = np.diag([Q[KINEMATIC.name].get(n, 0.0) for n in d.states])
    r = np.diag([R[n] for n in d.inputs])
    rng = np.random.default_rng(5)
    starts = rng.normal(size=(len(d.states), 20))

    def cost(K: np.ndarray) -> float:
        e, total = starts, 0.0
        for _ in range(1500):
            u = -K @ e
            total += float((e * (q @ e)).sum() + (u * (r @ u)).sum())
            e = d.A @ e + d.B @ u
        return total

    best = cost(d.K)
    for _ in range(10):
        assert cost(d.K * (1.0 + 0.02 * rng.normal(size=d.K.shape))) > best


@pytest.mark.slow_cases("3.0-dynamic")
@BOTH
@pytest.mark.parametrize("v", [3.0, 20.0, 40.0])
def test_poles_are_inside_the_unit_circle(car: sp.Vehicle, v: float) -> None:
    design = lqr.design(car, v, DT, Q[car.name], R, integrator="radau")
    assert np.abs(design.poles).max() < 1.0


@BOTH
def test_the_compiled_loop_has_the_poles_of_the_design(car: sp.Vehicle) -> None:
    """By differences of one step of the closed loop about straight driving."""
    v = 20.0
    # The step of the fleet has the slopes of RK4, so the design takes these too.
    design = lqr.design(car, v, DT, Q[car.name], R, integrator="rk4")
    policy = lqr.policy(car, DT, v, Q[car.name], R, integrator="rk4")
    size = record.size(car.State)
    start = np.zeros((2 * size + 1, size))
    start[:, 2] = v  # v or v_x
    h = 1e-5
    start[1 : size + 1] += h * np.eye(size)
    start[size + 1 :] -= h * np.eye(size)
    fleet = unstable_fleet(car, DT, "rk4")
    end = fleet.rollout(start, Point(v=v), steps=1, policy=policy)[-1]
    slope = (end[1 : size + 1] - end[size + 1 :]).T / (2.0 * h)
    got, wanted = (
        np.sort_complex(np.linalg.eigvals(a)) for a in (slope, design.A - design.B @ design.K)
    )
    np.testing.assert_allclose(got, wanted, atol=1e-6)
    assert end[0] == pytest.approx(np.where(np.arange(size) == 0, v * DT, start[0]), abs=1e-9)


def test_steady_motion_of_the_kinematic_bicycle() -> None:
    p, kappa = KINEMATIC.params, 0.05
    x, u, _ = steady(KINEMATIC, 12.0, kappa)
    state = x
    assert state.steer == pytest.approx(kinematic_steer(kappa, p.l_f, p.l_r), rel=1e-9)
    assert state.yaw == pytest.approx(-math.asin(p.l_r * kappa), rel=1e-9)
    assert state.v == pytest.approx(12.0)
    np.testing.assert_allclose(u, 0.0, atol=1e-12)


def test_steady_motion_of_the_dynamic_bicycle() -> None:
    """Steering L + v² (1/C_f - 1/C_r) / g and slip l_r - v² / (C_r g) per curvature."""
    car = DYNAMIC.with_params(C_f=15.0, C_r=25.0)
    p, v = car.params, 18.0
    d = lqr.design(car, v, DT, Q[car.name], R)
    slope = dict(zip(d.states, d.slope.x, strict=True))
    under = v * v * (1.0 / p.C_f - 1.0 / p.C_r) / p.g
    assert slope["steer"] == pytest.approx(p.l_f + p.l_r + under, rel=1e-4)
    assert slope["yaw"] == pytest.approx(v * v / (p.C_r * p.g) - p.l_r, abs=1e-3)
    assert slope["omega"] == pytest.approx(v, rel=1e-9)


def test_the_torques_that_hold_a_car_against_its_drag_are_shared() -> None:
    car = sp.vehicles.four_wheel()
    x, u, _ = steady(car, 15.0, 0.0)
    inputs = car.Input(*u)
    assert inputs.tau_fl == pytest.approx(inputs.tau_rr, rel=1e-9)
    assert inputs.tau_fl > 5.0
    rate = car.derivative(car.State(*x), inputs)
    np.testing.assert_allclose(rate[1:], 0.0, atol=1e-9)


@pytest.mark.slow_cases("rows-dynamic", "scheduled-dynamic")
@BOTH
@pytest.mark.parametrize(
    "kind", ["rows", pytest.param("path", marks=pytest.mark.slow), "scheduled"]
)
def test_it_follows_a_circle_without_offset(car: sp.Vehicle, kind: str) -> None:
    road, v, steps = circle(100.0, 15.0, points=401), 15.0, 400
    speeds = [10.0, 15.0, 20.0] if kind == "scheduled" else v
    weights = Q[car.name] if kind == "rows" else by_path(car)
    path = None if kind == "rows" else road
    law = lqr.policy(car, DT, speeds, weights, R, path=path, knots=16)
    told = road.rows(steps, DT) if kind == "rows" else None
    start = {"v" if car is KINEMATIC else "v_x": v}
    x = sp.Fleet(car, DT, substeps=4).rollout(start, told, steps=steps, policy=law)[:, 0]
    offset = road.offset(x[:, 0], x[:, 1])
    assert np.abs(offset).max() < 0.6
    assert np.abs(offset[-100:]).max() < 0.02
    if kind == "rows":
        assert road.nearest(x[-1, 0], x[-1, 1]).s == pytest.approx(v * DT * steps, abs=0.1)


@BOTH
def test_the_schedule_takes_the_gains_of_the_speed(car: sp.Vehicle) -> None:
    weights = by_path(car)
    law = lqr.policy(car, DT, [10.0, 20.0], weights, R)
    for v in (5.0, 10.0, 20.0, 30.0):
        d = lqr.design(car, min(max(v, 10.0), 20.0), DT, weights, R)
        x = car.State(**{"v" if car is KINEMATIC else "v_x": v}, y=0.1)
        u, _ = law.command(x, law.Memory(), Point(v=v), law.params, DT)
        np.testing.assert_allclose(u, -d.K[:, d.states.index("y")] * 0.1, atol=1e-9)


def test_speed_far_from_all_designs_is_still_the_references() -> None:
    law = lqr.policy(KINEMATIC, DT, 20.0, by_path(KINEMATIC), R)
    u, _ = law.command(KINEMATIC.State(v=8.0), law.Memory(), Point(v=8.0), law.params, DT)
    np.testing.assert_allclose(u, 0.0, atol=1e-12)


def test_a_car_with_torques_and_steering_changes_the_lane() -> None:
    car, dt = sp.vehicles.kinematic_bicycle(t_tau=0.02), 0.02
    weights = {"y": 1.0, "yaw": 1.0, "v_x": 0.2}
    effort = {"steer": 30.0} | dict.fromkeys(("tau_fl", "tau_fr", "tau_rl", "tau_rr"), 1e-3)
    road = lane_change(15.0)
    law = lqr.policy(car, dt, 15.0, weights, effort)
    x = sp.Fleet(car, dt).rollout({"v_x": 13.0}, road.rows(400, dt), policy=law)[:, 0]
    offset = road.offset(x[:, 0], x[:, 1])
    assert np.abs(offset).max() < 0.2
    assert abs(offset[-1]) < 0.01
    assert x[-1, 3] == pytest.approx(15.0, abs=0.02)


def test_strength_and_feed_forward_are_parameters() -> None:
    law = lqr.policy(KINEMATIC, DT, 15.0, by_path(KINEMATIC), R)
    road = circle(100.0, 15.0, points=401)
    runs = sp.Fleet(KINEMATIC, DT).rollout(
        {"v": 15.0},
        road.rows(300, DT),
        policy=law,
        policy_params={"strength": [1.0, 0.5, 1.0], "feed_forward": [1.0, 1.0, 0.0]},
    )
    offsets = np.abs(road.offset(runs[-1, :, 0], runs[-1, :, 1]))
    assert offsets[0] < 0.01
    assert offsets[2] > 0.1, "without feed-forward it runs wide"
    assert runs[40, 0].tobytes() != runs[40, 1].tobytes()


def test_a_change_of_curvature_is_fed_forward() -> None:
    """Steering rate l_f + l_r per rate of the curvature; without it the car comes late."""
    d = lqr.design(KINEMATIC, 20.0, DT, by_path(KINEMATIC), R)
    assert d.swing == pytest.approx([0.0, KINEMATIC.params.l_f + KINEMATIC.params.l_r], rel=1e-4)
    road = lane_change(20.0)
    law = lqr.policy(KINEMATIC, DT, 20.0, by_path(KINEMATIC), R)
    told = road.rows(160, DT)
    late = told.copy()
    late[..., -1] = 0.0  # sharpness
    worst = []
    for rows in (told, late):
        x = sp.Fleet(KINEMATIC, DT).rollout({"v": 20.0}, rows, policy=law)[:, 0]
        worst.append(np.abs(road.offset(x[:, 0], x[:, 1])).max())
    assert worst[0] < 0.1
    assert worst[1] > 1.5 * worst[0]


def test_limits() -> None:
    law = lqr.policy(KINEMATIC, DT, 15.0, by_path(KINEMATIC), R, limits={"steer_rate": 0.4})
    u, _ = law.command(KINEMATIC.State(y=90.0, v=15.0), law.Memory(), Point(v=15.0), law.params, DT)
    assert u.steer_rate == -0.4


@BOTH
def test_without_limits_of_the_user_those_of_the_body_hold(car: sp.Vehicle) -> None:
    """Far from the line every input is at an end of its range, as the body tells it."""
    far = car.State(y=90.0)._replace(
        **{lqr.design(car, 15.0, DT, by_path(car), R).roles.speed: 5.0}
    )
    law = lqr.policy(car, DT, 15.0, by_path(car), R)
    u, _ = law.command(far, law.Memory(), Point(v=150.0), law.params, DT)
    ranges = car.limits.inputs
    assert set(ranges) == {"steer_rate", "a"}
    assert u.steer_rate == ranges["steer_rate"][0]
    assert u.a == ranges["a"][1]
    free = lqr.policy(
        car, DT, 15.0, by_path(car), R, limits={"a": math.inf, "steer_rate": math.inf}
    )
    u, _ = free.command(far, free.Memory(), Point(v=150.0), free.params, DT)
    assert u.a > ranges["a"][1]
    assert u.steer_rate < ranges["steer_rate"][0]


@BOTH
def test_slopes_are_finite(car: sp.Vehicle) -> None:
    law = lqr.policy(car, DT, [10.0, 20.0], by_path(car), R)
    x = ca.SX.sym("x", record.size(car.State))
    u, _ = law.command(
        car.State(*ca.vertsplit(x)), law.Memory(), Point(v=0.0, curvature=0.01), law.params, DT
    )
    slope = ca.Function("slope", [x], [ca.jacobian(ca.vertcat(*u), x)])
    assert np.isfinite(np.array(slope(np.zeros(x.numel())))).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"v": 0.0}, "v = 0.0 m/s must be finite and greater than 0"),
        ({"dt": -1.0}, "dt = -1.0 s"),
        ({"Q": {"z": 1.0}}, "Q has no field 'z'"),
        ({"Q": {"y": -1.0}}, "Q has the eigenvalue -1; none may be negative"),
        ({"Q": np.ones((5, 4))}, r"Q has shape \(5, 4\); expected \(5, 5\)"),
        ({"R": {"a": 1.0}}, "R has the eigenvalue 0; all must be greater than 0"),
    ],
)
def test_bad_designs_are_named(given: dict[str, object], message: str) -> None:
    good = {"v": 20.0, "dt": DT, "Q": Q[KINEMATIC.name], "R": R}
    with pytest.raises(InvalidValue, match=message):
        lqr.design(KINEMATIC, **(good | given))


def test_what_is_out_of_reach_has_no_regulator() -> None:
    with pytest.raises(InvalidValue, match="no regulator"):
        lqr.gain([[1.2]], [[0.0]], [[1.0]], [[1.0]])


def test_fields_that_nothing_depends_on_need_no_weight() -> None:
    d = lqr.design(KINEMATIC, 20.0, DT, {"yaw": 1.0, "v": 1.0}, R)
    assert d.states == ("v", "yaw", "steer")
    assert np.abs(d.poles).max() < 1.0


def test_bad_policies_are_named() -> None:
    with pytest.raises(InvalidValue, match="several that increase"):
        lqr.policy(KINEMATIC, DT, [20.0, 10.0], by_path(KINEMATIC), R)
    with pytest.raises(InvalidValue, match="Q weighs x"):
        lqr.policy(KINEMATIC, DT, 20.0, Q[KINEMATIC.name], R, path=straight(50.0, 20.0))
    with pytest.raises(InvalidValue, match=r"limits: 'tau' is not an input"):
        lqr.policy(KINEMATIC, DT, 20.0, by_path(KINEMATIC), R, limits={"tau": 1.0})
    with pytest.raises(InvalidValue, match="must be a continuous model"):
        lqr.design(sp.vehicles.ackermann_truck(), 0.5, DT, {"y": 1.0}, [1.0, 1.0, 1.0])


@pytest.mark.parametrize("name", ["commonroad_std", "commonroad_mb"])
def test_cars_with_wheels_that_spin_and_springs_have_a_steady_motion(name: str) -> None:
    """What the car itself says of it: nothing changes but the place, and the yaw in a bend."""
    car = sp.vehicles.get(name)()
    for v, curvature in ((5.0, 0.0), (10.0, 0.01), (10.0, -0.01), (30.0, 0.0)):
        motion = steady(car, v, curvature)
        x, u = motion.x, motion.u
        rates = dict(zip(record.names(car.State), car.derivative(x, u), strict=True))
        assert rates.pop("x") == pytest.approx(v, rel=1e-6)
        assert rates.pop("yaw") == pytest.approx(v * curvature, abs=1e-6)
        assert max(map(abs, rates.values())) < 1e-6


def test_a_car_with_wheels_that_spin_has_a_regulator() -> None:
    car = sp.vehicles.commonroad_std()
    d = lqr.design(car, 10.0, 0.01, {"y": 1.0, "yaw": 2.0, "v": 0.5}, R)
    assert np.abs(np.linalg.eigvals(d.A - d.B @ d.K)).max() < 1.0


def test_a_car_whose_charge_drains_has_the_regulator_of_one_with_a_supply() -> None:
    """The charge acts on nothing as long as the battery is not at a limit."""
    cars = [
        sp.vehicles.two_track(
            powertrain=MotorDrive(battery=battery), brakes=HydraulicBrakes(balance=0.6)
        )
        for battery in (Battery(), Supply())
    ]
    inputs = record.names(cars[0].Input)
    given = {"y": 1.0, "yaw": 2.0, "v_x": 0.5}, dict.fromkeys(inputs, 1.0)
    charged, supplied = (lqr.design(car, 20.0, DT, *given) for car in cars)
    np.testing.assert_allclose(charged.K, supplied.K, rtol=1e-9, atol=1e-12)
    assert "soc" not in charged.states
    # A gear is not regulated, and no brake is pulled to hold the speed.
    steady_inputs = dict(zip(inputs, charged.straight.u, strict=True))
    assert (steady_inputs["gear"], steady_inputs["brake"], steady_inputs["handbrake"]) == (1, 0, 0)
    assert not charged.K[inputs.index("gear")].any()
    assert not charged.slope.u[[inputs.index(name) for name in ("gear", "brake")]].any()
