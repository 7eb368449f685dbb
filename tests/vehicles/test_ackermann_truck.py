"""The truck against closed forms and an accurate integration of its differential equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.vehicles.truck import curvature_limit, steer_limit

TRUCK = sp.vehicles.ackermann_truck()
P = TRUCK.params
H = 1e-3


def simulator(dt: float = H, **state: float) -> sp.Simulator:
    sim = sp.Simulator(TRUCK, dt=dt)
    sim.reset(**state)
    return sim


def steer_for(curvature: float) -> float:
    """Middle steering angle for a curvature of the base point: sin of its slip angle is κb."""
    slip = math.asin(curvature * P.base_to_rear)
    return math.atan(P.wheel_base * math.tan(slip) / P.base_to_rear)


def test_it_gains_speed_at_the_limit_and_then_holds_it() -> None:
    run = simulator().run({"velocity": 0.8}, duration=2.0)
    t = run.t
    v = np.minimum(t, 0.8)
    x = np.where(t < 0.8, 0.5 * t**2, 0.32 + 0.8 * (t - 0.8))
    np.testing.assert_allclose(run["v_x"], v, atol=1e-12)
    np.testing.assert_allclose(run["x"], x, atol=1e-12)
    assert run["v_x"][-1] == 0.8


@pytest.mark.parametrize(
    ("v", "a", "used"), [(0.8, 1000.0, 2.0), (0.8, 0.4, 0.4), (-0.5, 9.0, 2.0)]
)
def test_stopping_distance(v: float, a: float, used: float) -> None:
    run = simulator(v_x=v).run({"acceleration": a}, duration=3.0)
    assert run["v_x"][-1] == 0.0
    assert abs(run["x"][-1]) == pytest.approx(v * v / (2.0 * used), abs=1e-6)


@pytest.mark.parametrize("a", [0.0, 0.1, 0.7])
def test_a_gentle_acceleration_is_honoured(a: float) -> None:
    x = simulator().run({"velocity": 0.8, "acceleration": a}, duration=1.0)
    assert x["v_x"][-1] == pytest.approx(a, abs=1e-12)


def test_to_reverse_it_stops_first_and_then_speeds_up() -> None:
    run = simulator(v_x=0.6).run({"velocity": -0.5}, duration=2.0)
    stop = 0.6 / P.d_max
    v = np.where(run.t < stop, 0.6 - P.d_max * run.t, -np.minimum(P.a_max * (run.t - stop), 0.5))
    np.testing.assert_allclose(run["v_x"], v, atol=1e-12)


@pytest.mark.parametrize("curvature", [0.4, -1.0, 1.6])
def test_it_drives_a_circle_of_the_curvature_commanded(curvature: float) -> None:
    steer = steer_for(curvature)
    rho = math.sqrt(1.0 - (curvature * P.base_to_rear) ** 2)
    run = simulator(steer=steer, v_x=0.4 * rho).run(
        {"velocity": 0.4, "curvature": curvature}, duration=5.0
    )
    # The rear axle starts at the origin along x; its centre of rotation is on the y axis.
    radius = rho / curvature
    turned = 0.4 * curvature * run.t
    np.testing.assert_allclose(run["x"], radius * np.sin(turned), atol=1e-10)
    np.testing.assert_allclose(run["y"], radius * (1.0 - np.cos(turned)), atol=1e-10)
    base = np.hypot(run["x_base"], run["y_base"] - radius)
    np.testing.assert_allclose(base, abs(1.0 / curvature), atol=1e-10)
    np.testing.assert_allclose(run["v_base"], 0.4, atol=1e-12)


def test_steering_moves_at_its_rate_and_lands() -> None:
    goal = steer_for(1.0)
    run = simulator().run({"curvature": 1.0}, duration=0.5)
    np.testing.assert_allclose(run["steer"], np.minimum(2.0 * run.t, goal), atol=1e-12)
    assert np.ptp(run["x"]) == 0.0


def test_a_slalom_follows_the_differential_equation() -> None:
    """Steering goes to and fro in straight ramps; scipy integrates them piece by piece."""
    goal = steer_for(1.2)
    sim = simulator(v_x=0.5)
    x = np.array([0.0, 0.0, 0.0])
    angle = 0.0
    for sign in (1, -1, 1, -1):
        run = sim.run({"velocity": 0.0, "acceleration": 0.0, "curvature": 1.2 * sign}, duration=1.0)
        ramp = abs(sign * goal - angle) / P.steer_rate_max
        for begin, end in ((0.0, ramp), (ramp, 1.0)):

            def rate(t: float, q: np.ndarray, a: float = angle, s: int = sign) -> list[float]:
                steer = a + s * P.steer_rate_max * min(t, abs(s * goal - a) / P.steer_rate_max)
                return [
                    0.5 * math.cos(q[2]),
                    0.5 * math.sin(q[2]),
                    0.5 * math.tan(steer) / P.wheel_base,
                ]

            x = solve_ivp(rate, (begin, end), x, rtol=1e-11, atol=1e-12).y[:, -1]
        angle = sign * goal
        reached = np.array([run[name][-1] for name in ("x", "y", "yaw")])
        np.testing.assert_allclose(reached, x, atol=1e-6)


@given(
    st.lists(
        st.tuples(st.floats(-2, 2), st.floats(0, 5), st.floats(-4, 4)), min_size=1, max_size=4
    ),
    st.sampled_from([1e-3, 0.02]),
)
@settings(max_examples=40, deadline=None)
def test_no_command_takes_it_past_a_limit(
    commands: list[tuple[float, float, float]], dt: float
) -> None:
    sim = SIMULATORS[dt]
    sim.reset()
    for command in commands:
        run = sim.run(TRUCK.Input(*command), steps=int(0.4 / dt))
        assert np.abs(run["curvature_base"]).max() <= curvature_limit(P) * (1.0 + 1e-12)
        assert P.v_min <= run["v_x"].min()
        assert run["v_x"].max() <= P.v_max
        assert np.abs(np.diff(run["steer"])).max() <= P.steer_rate_max * dt * (1.0 + 1e-9)
        speed = np.abs(run["v_x"])
        assert np.diff(speed).max() <= P.a_max * dt * (1.0 + 1e-9)
        assert -np.diff(speed).min() <= P.d_max * dt * (1.0 + 1e-9)


SIMULATORS = {dt: sp.Simulator(TRUCK, dt=dt) for dt in (1e-3, 0.02)}


def test_commands_beyond_the_limits_are_cut_to_them() -> None:
    run = simulator().run({"velocity": 5.0, "curvature": 10.0}, duration=3.0)
    assert run["v_base"][-1] == pytest.approx(0.8, abs=1e-12)
    assert run["curvature_base"][-1] == pytest.approx(curvature_limit(P), rel=1e-12)
    assert run["steer"][-1] == pytest.approx(steer_limit(P), rel=1e-12)
    assert run["steer_fl"][-1] == pytest.approx(math.radians(40.0), rel=1e-12)


def test_outputs_agree_with_the_motion_of_the_body() -> None:
    """Velocities of base and wheels by differences of their places, a central one over 2 ms."""
    run = simulator(v_x=0.2).run({"velocity": 0.8, "curvature": -1.1}, duration=0.5)
    k = 150
    span = run.t[k + 1] - run.t[k - 1]

    def moved(name: str) -> float:
        return (run[name][k + 1] - run[name][k - 1]) / span

    for wheel in ("fl", "fr", "rl", "rr"):
        yaw = run["yaw"][k] if wheel[0] == "r" else run[f"yaw_{wheel}"][k]
        rolled = P.wheel_radius * run[f"omega_{wheel}"][k]
        assert moved(f"x_{wheel}") == pytest.approx(rolled * math.cos(yaw), abs=5e-6)
        assert moved(f"y_{wheel}") == pytest.approx(rolled * math.sin(yaw), abs=5e-6)
    speed = math.hypot(moved("x_base"), moved("y_base"))
    assert run["v_base"][k] == pytest.approx(speed, abs=5e-6)
    assert math.hypot(run["v_x"][k], run["v_y_base"][k]) == pytest.approx(speed, abs=5e-6)
    assert run["omega"][k] == pytest.approx(moved("yaw"), abs=5e-6)
    turns = P.wheel_radius * P.gear_ratio * 2.0 * math.pi
    assert run["motor"][k] * turns == pytest.approx(run["v_base"][k], rel=1e-12)


def test_fleet_and_simulator_have_the_same_bits() -> None:
    commands = np.array([[0.7, 0.6, 1.0], [-0.4, 3.0, -2.0], [0.8, 0.0, 0.3]])
    starts = np.array([[0, 0, 0, 0, 0.1], [1, 2, 3, -0.2, 0.5], [0, 1, -2, 0.4, -0.3]], dtype=float)
    fleet = sp.Fleet(TRUCK, dt=H).rollout(starts, commands, steps=300)
    for k, (start, command) in enumerate(zip(starts, commands, strict=True)):
        sim = sp.Simulator(TRUCK, dt=H)
        sim.reset(start)
        alone = sim.run(TRUCK.Input(*command), steps=300)
        assert fleet[:, k].tobytes() == alone.states.tobytes()


def test_gradients_of_a_rollout_agree_with_central_differences() -> None:
    fleet = sp.Fleet(TRUCK, dt=0.01)
    x0 = np.array([[0.0, 0.0, 0.1, 0.05, 0.2]])
    controls = np.tile([0.5, 0.8, 0.7], (60, 1, 1))

    def cost(x):
        return x.x * x.x + x.y

    def value(u: np.ndarray) -> float:
        x = fleet.rollout(x0, u)[-1, 0]
        return x[0] * x[0] + x[1]

    _, gradient = fleet.gradient(x0, controls, cost)
    for step, field in ((5, 1), (20, 1), (40, 0), (50, 2)):
        moved = [controls.copy(), controls.copy()]
        for sign, u in zip((1.0, -1.0), moved, strict=True):
            u[step, 0, field] += sign * 1e-5
        slope = (value(moved[0]) - value(moved[1])) / 2e-5
        assert gradient.controls[step, 0, field] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_a_negative_acceleration_is_refused() -> None:
    sim = simulator()
    with pytest.raises(InvalidValue, match=r"acceleration.*at least 0"):
        sim.step(velocity=0.5, acceleration=-0.1)
    assert sim.state == TRUCK.State()


@pytest.mark.parametrize(
    ("field", "value"),
    [("wheel_base", 0.0), ("inner_max", 1.6), ("v_min", 0.1), ("v_max", 0.0), ("gear_ratio", -1.0)],
)
def test_impossible_trucks_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidValue, match=field):
        sp.vehicles.ackermann_truck(**{field: value})
