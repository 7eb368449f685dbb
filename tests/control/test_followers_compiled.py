"""The policies of this package, compiled into a fleet and called in Python: the same drive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from control.roads import DYNAMIC, KINEMATIC, circle, lane_change
from skidpad.control import lqr, pid, pure_pursuit, stanley
from skidpad.control.car import Car, Geometry, Motion, front_axle, rear_axle
from skidpad.control.reference import Point, Reference
from skidpad.core import record
from skidpad.core.body import Pose, Velocity
from skidpad.core.model import NoOutputs
from skidpad.core.policy import Policy
from skidpad.errors import InvalidValue
from skidpad.ops import cos, sin, tan
from skidpad.units import m, m_s, m_s2, rad
from skidpad.vehicles import wheeled

DT, STEPS = 0.05, 120
ROAD = lane_change(15.0)
TORQUES = sp.vehicles.kinematic_bicycle(t_tau=0.02)
TRUCK = sp.vehicles.ackermann_truck()
WEIGHTS = {"y": 1.0, "yaw": 2.0, "v_x": 0.5}
EFFORT = {"a": 0.5, "steer_rate": 20.0}

CASES: dict[str, tuple[sp.Vehicle, Callable[[], Policy], float | None]] = {
    "pid_long_lat": (DYNAMIC, lambda: pid.policy(DYNAMIC), 0.5),
    "pure_pursuit": (DYNAMIC, lambda: pure_pursuit.policy(DYNAMIC), 0.8),
    "pure_pursuit path": (KINEMATIC, lambda: pure_pursuit.policy(KINEMATIC, ROAD, knots=24), None),
    "stanley": (DYNAMIC, lambda: stanley.policy(DYNAMIC, k_yaw=0.1), 0.0),
    "stanley path": (TORQUES, lambda: stanley.policy(TORQUES, ROAD, knots=24), None),
    "lqr": (DYNAMIC, lambda: lqr.policy(DYNAMIC, DT, [10.0, 20.0], WEIGHTS, EFFORT), 0.0),
    "lqr path": (
        DYNAMIC,
        lambda: lqr.policy(DYNAMIC, DT, 15.0, WEIGHTS, EFFORT, path=ROAD, knots=24),
        None,
    ),
}


def start(car: sp.Vehicle, count: int = 5) -> np.ndarray:
    """States beside the road, each with its own error."""
    rng = np.random.default_rng(1)
    names = record.names(car.State)
    x = np.zeros((count, len(names)))
    x[:, names.index("y")] = rng.normal(0.0, 0.5, count)
    x[:, names.index("yaw")] = rng.normal(0.0, 0.05, count)
    x[:, names.index("v" if "v" in names else "v_x")] = rng.uniform(12.0, 16.0, count)
    return x


@pytest.mark.slow_cases("lqr", "pid_long_lat", "pure_pursuit path", "stanley")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("stanley path", "lqr path") else name
        for name in CASES
    ],
)
def test_a_fleet_drives_as_a_simulator(name: str) -> None:
    car, make, ahead = CASES[name]
    policy = make()
    rows = None if ahead is None else ROAD.rows(STEPS, DT, ahead=ahead)
    fleet = sp.Fleet(car, DT, substeps=8)
    x0 = start(car)
    states, memories = fleet.rollout(x0, rows, steps=STEPS, policy=policy, return_memory=True)
    y = states[..., 1]
    assert np.abs(y[-1] - 3.5).max() < 0.3, "it should have changed the lane"
    whole = fleet.rollout(x0[1:3], rows, steps=STEPS, policy=policy)
    assert whole.tobytes() == np.ascontiguousarray(states[:, 1:3]).tobytes()

    # Step by step, memory handed on: the same bits.
    x, memory = x0, None
    for k in range(25):
        told = None if rows is None else rows[k : k + 1]
        out, kept = fleet.rollout(
            x, told, steps=1, policy=policy, memory=memory, return_memory=True
        )
        x, memory = out[-1], kept[-1] if kept.size else None
        assert x.tobytes() == states[k + 1].tobytes()
        assert kept[-1].tobytes() == memories[k + 1].tobytes()

    # In a Simulator the law runs on Python floats, whose sine is not the kernel's.
    sim = sp.Simulator(car, DT, substeps=8)
    sim.reset(x0[2])
    reference = None if rows is None else lambda t: Point(*rows[round(t / DT), 0].tolist())
    driven = sim.run(policy.controller(DT, reference=reference), steps=STEPS)
    scale = np.maximum(np.abs(driven.states).max(axis=0), 1.0)
    assert (np.abs(driven.states - states[:, 2]) <= 1e-10 * scale).all()


@pytest.mark.parametrize("name", ["ks", "st", pytest.param("std", marks=pytest.mark.slow)])
def test_commonroads_cars_change_the_lane(name: str) -> None:
    """By rear axle and speed, or by centre of mass with a slip angle."""
    car = sp.vehicles.get(f"commonroad_{name}")()
    policy = stanley.policy(car, k=1.5)
    rows = ROAD.rows(STEPS, DT)
    x0 = {"v": 15.0, "y": 0.3}
    if name == "std":
        x0 |= {"omega_f": 15.0 / car.params.R_w, "omega_r": 15.0 / car.params.R_w}
    x = sp.Fleet(car, DT, substeps=20).rollout(x0, rows, policy=policy)[:, 0]
    offset = ROAD.offset(x[:, 0], x[:, 1])
    assert np.abs(offset[20:]).max() < 0.3
    assert abs(offset[-1]) < 0.03
    g = policy.params.geometry
    assert g.l_f + g.l_r == pytest.approx(car.params.l_f + car.params.l_r)
    assert (g.l_r == 0.0) == (name == "ks")


@pytest.mark.parametrize("law", [pure_pursuit, pytest.param(stanley, marks=pytest.mark.slow)])
def test_a_truck_commanded_by_speed_and_curvature(law: Any) -> None:
    road = circle(2.0, 0.6)
    policy = law.policy(TRUCK, road, knots=40, **({"l_least": 0.4} if law is pure_pursuit else {}))
    x = sp.Fleet(TRUCK, 0.02).rollout({"y": 0.05}, steps=500, policy=policy)[:, 0]
    rear = np.hypot(x[-100:, 0], x[-100:, 1] - 2.0)
    wheel_base = TRUCK.params.wheel_base
    # The law's own axle is on the circle: the other one is where Pythagoras has it.
    on = 2.0 if law is pure_pursuit else np.sqrt(4.0 - wheel_base**2)
    np.testing.assert_allclose(rear, on, atol=4e-3)
    # The base point has the speed asked for, the rear axle is on a smaller circle.
    assert x[-1, 4] == pytest.approx(0.6, rel=0.02)


def test_on_a_circle_the_rear_axle_follows_exactly() -> None:
    """Pure pursuit with rows of the goal: the steering comes to atan(wheel base over radius)."""
    road, v = circle(40.0, 8.0, points=2001), 8.0
    policy = pure_pursuit.policy(KINEMATIC)
    p = KINEMATIC.params
    ratio = np.hypot(1.0, p.l_r / 40.0)  # the centre of mass is the faster point
    rows = road.rows(400, DT, ahead=0.8)
    x0 = {"x": p.l_r, "v": v * ratio, "steer": np.arctan((p.l_f + p.l_r) / 40.0)}
    rows[..., 4] = v * ratio
    x = sp.Fleet(KINEMATIC, DT, substeps=4).rollout(x0, rows, policy=policy)[:, 0]
    np.testing.assert_allclose(x[:, 4], np.arctan((p.l_f + p.l_r) / 40.0), rtol=2e-4)
    rear = np.hypot(x[:, 0] - p.l_r * np.cos(x[:, 3]), x[:, 1] - p.l_r * np.sin(x[:, 3]) - 40.0)
    np.testing.assert_allclose(rear, 40.0, atol=2e-3)


def test_cruise_control_takes_up_drag_and_does_not_wind_up() -> None:
    road = Reference.along([[0.0, 0.0], [2000.0, 0.0]], 12.0)
    policy = stanley.policy(TORQUES, speed={"k_i": 0.5, "limit": 6.0})
    unknown = {f"geometry.vehicle.{name}": 0.0 for name in ("C_r0", "C_r1", "C_r2")}
    x = sp.Fleet(TORQUES, 0.02).rollout(
        {"v_x": 2.0}, road.rows(1500, 0.02), policy=policy, policy_params=unknown
    )[:, 0, 3]
    assert x.max() < 12.3, "the limit is reached on the way, but the integral lets go"
    assert x[-1] == pytest.approx(12.0, abs=0.01)


@pytest.mark.slow
def test_many_followers_as_fast_as_vehicles() -> None:
    """Gains differ between vehicles without compiling anew."""
    fleet = sp.Fleet(DYNAMIC, DT, substeps=4)
    k = np.linspace(0.5, 4.0, 200)
    rows = ROAD.rows(STEPS, DT)
    y = fleet.rollout(
        {"v_x": 15.0, "y": 1.0}, rows, policy=stanley.policy(DYNAMIC), policy_params={"law.k": k}
    )[..., 1]
    early = np.abs(y[10])
    assert (np.diff(early) < 0.0).all(), "the larger the gain, the sooner it is back"


class Heading(NamedTuple):
    """A vehicle with words of its own."""

    east: m = 0.0
    north: m = 0.0
    psi: rad = 0.0
    knots: m_s = 0.0


class Rudder(NamedTuple):
    """Its input."""

    angle: rad = 0.0
    push: m_s2 = 0.0


def _sail(x: Heading, u: Rudder, w: Any, p: Any) -> Heading:
    turn = x.knots * tan(u.angle) * (1.0 / 2.0)
    return Heading(x.knots * cos(x.psi), x.knots * sin(x.psi), turn, u.push)


def test_a_vehicle_without_a_body_needs_a_car() -> None:
    model = sp.Model("boat", Heading, Rudder, NoOutputs, derivative=_sail)
    boat = sp.Vehicle(model, NoOutputs())
    with pytest.raises(InvalidValue, match="a controller needs to know the body of 'boat'"):
        stanley.policy(boat)
    known = Car(
        Geometry(l_f=2.0, l_r=0.0),
        motion=lambda x, g: Motion(x.east, x.north, x.psi, x.knots, 0.0 * x.knots),
        omega=lambda x, g: 0.0 * x.psi,
        speed=lambda x: x.knots,
        command=lambda x, demand, g: Rudder(demand.steer, demand.a),
    )
    policy = pure_pursuit.policy(boat, car=known)
    x = sp.Fleet(boat, DT).rollout(
        {"knots": 12.0, "north": 0.4}, ROAD.rows(STEPS, DT, ahead=0.8), policy=policy
    )[:, 0]
    assert x[-1, 1] == pytest.approx(3.5, abs=0.1)
    assert x[-1, 3] == pytest.approx(15.0, abs=0.2)


def _robot(control: str) -> sp.Vehicle:
    return wheeled.vehicle(wheeled.differential(control=wheeled.Control(control)))


@pytest.mark.slow_cases(
    "acceleration and gear-skidpad.control.pure_pursuit", "velocity-skidpad.control.pure_pursuit"
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("law", [pure_pursuit, pytest.param(stanley, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: sp.vehicles.autoware("IDEAL_STEER_ACC_GEARED"),
        lambda: sp.vehicles.autoware("IDEAL_STEER_VEL"),
        pytest.param(lambda: _robot("twist_pid"), marks=pytest.mark.slow),
        lambda: _robot("raw"),
    ],
    ids=["acceleration and gear", "velocity", "twist", "torques of the sides"],
)
def test_any_vehicle_with_a_body_follows_a_line(make: Any, law: Any) -> None:
    """Also one that is told a yaw rate and has no wheels to steer."""
    vehicle, v = make(), 1.0
    road, steps = circle(8.0, v), 2000
    rules = {"l_least": 1.0} if law is pure_pursuit else {"k": 1.0}
    policy = law.policy(vehicle, road, knots=48, **rules)
    state = vehicle.body.placed(
        vehicle.State(), Pose(0.0, 0.2, 0.0), Velocity(v, 0.0, 0.0), vehicle.params
    )
    x0 = np.array([record.flatten(state)])
    x = sp.Fleet(vehicle, 0.01).rollout(x0, steps=steps, policy=policy)[:, 0]
    g = policy.params.geometry
    poses = vehicle.body.pose(record.unflatten(vehicle.State, list(x.T)), vehicle.params)
    place = (rear_axle if law is pure_pursuit else front_axle)(Motion(*poses, 0.0, 0.0), g)
    offset = np.abs(road.offset(*place))
    assert offset[0] == pytest.approx(0.2, abs=0.15)
    # Torques of the sides bring about a yaw rate with a lag, which at this speed is worth 2 cm.
    by_torques = "tau_left" in record.names(vehicle.Input)
    assert offset[-200:].max() < (0.025 if by_torques else 0.02)
    assert road.nearest(*(column[-1] for column in place)).s > 0.9 * v * 0.01 * steps


def test_what_a_controller_believes_of_its_vehicle_is_a_parameter() -> None:
    """Who believes the car heavier asks for more torque; nothing is compiled for it.

    Twice the force for twice the mass, beside that against the driving resistance.
    """
    policy = stanley.policy(TORQUES)
    state = TORQUES.State(v_x=5.0)
    told = Point(v=8.0)
    light, heavy = (
        policy.command(state, policy.Memory(), told, p, 0.01)[0].tau_fl
        for p in (
            policy.params,
            record.build(policy.Params, {"geometry.vehicle.m": 460.0}, base=policy.params),
        )
    )
    p = TORQUES.params
    against = (p.C_r0 + 5.0 * p.C_r1 + 25.0 * p.C_r2) / (4.0 * p.C_m0)
    assert light > against
    assert heavy - against == pytest.approx(2.0 * (light - against))
