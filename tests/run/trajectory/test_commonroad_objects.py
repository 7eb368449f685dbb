"""Trajectories as CommonRoad's objects, and its goals; needs commonroad-io."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from commonroad.common.util import AngleInterval, Interval
from commonroad.planning.goal import GoalRegion
from commonroad.planning.planning_problem import PlanningProblem
from commonroad.scenario.lanelet import Lanelet, LaneletNetwork
from commonroad.scenario.state import CustomState

from skidpad.errors import InvalidValue
from skidpad.run.trajectory import Trajectory
from skidpad.units import m, m_s, rad, rad_s

from .conftest import Input


class Rolling(NamedTuple):
    x: m
    y: m
    v: m_s
    yaw: rad
    steer: rad


class Sliding(NamedTuple):
    x: m
    y: m
    v_x: m_s
    v_y: m_s
    yaw: rad
    omega: rad_s
    steer: rad


ROLLING = [Rolling(float(k), 0.0, 10.0, 0.1 * k, 0.02) for k in range(4)]
SLIDING = [
    Sliding(0.0, 0.0, 3.0, 4.0, 0.0, 0.3, 0.0),
    Sliding(1.0, 0.0, -3.0, 4.0, 7.0, -0.3, 0.0),
]


@pytest.fixture
def drive():
    return Trajectory.from_points(ROLLING, delta_t=0.1)


def rectangle(x, y, length, width):
    """An area around a position, in whichever form this commonroad-io has it."""
    try:
        import shapely
        from commonroad.geometry.occupancy.rect_occupancy import RectOccupancy
    except ImportError:
        from commonroad.geometry.shape import Rectangle

        return Rectangle(length, width, center=np.array([x, y]))
    return RectOccupancy(shapely.Point(x, y), width, length, 0.0)


def test_states_of_a_kinematic_bicycle(drive):
    states = drive.to_commonroad_states(initial_time_step=5)
    assert [s.time_step for s in states] == [5, 6, 7, 8]
    last = states[-1]
    assert last.position.tolist() == [3.0, 0.0]
    assert last.orientation == pytest.approx(0.3)
    assert (last.velocity, last.steering_angle) == (10.0, 0.02)
    assert (last.yaw_rate, last.slip_angle, last.acceleration) == (0.0, 0.0, 0.0)


def test_speed_and_slip_of_a_dynamic_bicycle_also_in_reverse():
    forward, back = Trajectory.from_points(SLIDING, delta_t=0.1).to_commonroad_states()
    assert (forward.velocity, forward.yaw_rate) == (5.0, 0.3)
    assert forward.slip_angle == pytest.approx(math.atan2(4.0, 3.0))
    assert (back.velocity, back.yaw_rate) == (-5.0, -0.3)
    # Speed times direction is the velocity, whichever way the car drives.
    heading = back.orientation + back.slip_angle
    moved = back.velocity * np.array([math.cos(heading), math.sin(heading)])
    c, s = math.cos(7.0), math.sin(7.0)
    np.testing.assert_allclose(moved, [-3.0 * c - 4.0 * s, -3.0 * s + 4.0 * c])
    assert abs(back.orientation) <= math.pi


def test_a_trajectory_of_commonroad(drive):
    found = drive.to_commonroad_trajectory(2)
    assert found.initial_time_step == 2
    assert found.final_state.time_step == 5
    assert found.state_at_time_step(3).position.tolist() == [1.0, 0.0]


def test_a_dynamic_obstacle(drive):
    obstacle = drive.to_commonroad_dynamic_obstacle(1.8, 4.5, 42)
    assert obstacle.obstacle_id == 42
    assert obstacle.obstacle_type.value == "car"
    assert (obstacle.obstacle_shape.width, obstacle.obstacle_shape.length) == (1.8, 4.5)
    assert obstacle.initial_state.position.tolist() == [0.0, 0.0]
    assert obstacle.initial_state.velocity == 10.0
    assert len(obstacle.prediction.trajectory.state_list) == 4
    assert obstacle.state_at_time(3).position.tolist() == [3.0, 0.0]
    area = obstacle.occupancy_at_time(0)
    shape = getattr(area, "shape", area).shapely_object
    assert shape.area == pytest.approx(1.8 * 4.5)
    assert shape.bounds == pytest.approx((-2.25, -0.9, 2.25, 0.9))
    truck = drive.to_commonroad_dynamic_obstacle(2.5, 10.0, 7, kind="truck", initial_time_step=3)
    assert truck.initial_state.time_step == 3
    assert drive.to_cr_dynamic_obstacle(1.8, 4.5, 42).obstacle_id == 42


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 4.5, 1), r"width = 0\.0 m must be finite and greater than 0"),
        ((1.8, math.nan, 1), "length = nan m must be finite"),
    ],
)
def test_bad_sizes(drive, arguments, message):
    with pytest.raises(InvalidValue, match=message):
        drive.to_commonroad_dynamic_obstacle(*arguments)


def test_what_cannot_be_converted_says_why(drive):
    with pytest.raises(InvalidValue, match=r"kind = 'boat' is unknown; allowed are .*car"):
        drive.to_commonroad_dynamic_obstacle(1.8, 4.5, 1, kind="boat")
    commands = Trajectory.from_arrays([0.0], inputs=(Input, [[0.1, 5.0]]))
    with pytest.raises(InvalidValue, match=r"to_commonroad_states is for states; .* holds inputs"):
        commands.to_commonroad_states()

    class Spot(NamedTuple):
        x: m
        y: m

    with pytest.raises(InvalidValue, match="needs the state yaw, there are x, y"):
        Trajectory.from_points([Spot(0.0, 0.0)], delta_t=0.1).to_commonroad_trajectory()


def problem(**bounds):
    region = GoalRegion([CustomState(**{"time_step": Interval(0, 100), **bounds})])
    start = Trajectory.from_points(ROLLING, delta_t=0.1).to_commonroad_dynamic_obstacle(1.0, 1.0, 1)
    return PlanningProblem(1, start.initial_state, region)


def test_commonroads_goals_bound_position_time_heading_and_speed(drive):
    there = rectangle(3.0, 0.0, 0.5, 0.5)
    assert drive.reached(problem(position=there))
    assert drive.reached(problem(position=there).goal)
    assert drive.when_reached(problem(position=there)) == pytest.approx(0.3)
    assert not drive[:3].reached(problem(position=there))
    assert not drive.reached(problem(position=there, time_step=Interval(0, 2)))
    assert drive.reached(problem(position=there, time_step=Interval(10, 20)), initial_time_step=9)
    assert not drive.reached(problem(position=there, velocity=Interval(0.0, 9.0)))
    assert drive.reached(problem(position=there, velocity=Interval(9.0, 11.0)))
    assert not drive.reached(problem(position=there, orientation=AngleInterval(1.0, 1.5)))


def test_a_margin_looks_at_the_position_alone(drive):
    there = rectangle(4.0, 0.0, 0.5, 0.5)
    late = problem(position=there, time_step=Interval(50, 60))
    assert not drive.reached(late)
    assert drive.reached(late, margin=1.0)
    assert drive.check_goal_reached(late)
    assert not drive.reached(late, margin=0.7)


def test_goals_given_by_lanelets_need_the_network_for_a_margin(drive):
    left, right = np.array([[3.5, 1.0], [9.0, 1.0]]), np.array([[3.5, -1.0], [9.0, -1.0]])
    lanelet = Lanelet(left, 0.5 * (left + right), right, lanelet_id=17)
    network = LaneletNetwork.create_from_lanelet_list([lanelet])
    state = CustomState(time_step=Interval(0, 100), position=lanelet.polygon)
    region = GoalRegion([state], {0: [17]})
    assert not drive.reached(region)
    with pytest.raises(
        InvalidValue, match="a margin needs the scenario's network as lanelet_network="
    ):
        drive.reached(region, margin=1.0)
    assert drive.reached(region, margin=1.0, lanelet_network=network)
    assert not drive.reached(region, margin=0.4, lanelet_network=network)
    assert drive.check_goal_reached(PlanningProblem(1, problem().initial_state, region), network)


def test_acceleration_is_the_rate_of_the_speed_along_the_path():
    """A car on a circle that slides: its speed grows by 2 m/s², whatever a_x is."""
    t = np.linspace(0.0, 1.0, 101)
    speed, beta = 5.0 + 2.0 * t, 0.2 * np.sin(3.0 * t)
    points = [
        Sliding(0.0, 0.0, float(v * math.cos(b)), float(v * math.sin(b)), 0.0, 0.0, 0.0)
        for v, b in zip(speed, beta, strict=True)
    ]
    for sign in (1.0, -1.0):
        moved = [p._replace(v_x=sign * p.v_x, v_y=sign * p.v_y) for p in points]
        states = Trajectory.from_points(moved, delta_t=0.01).to_commonroad_states()
        inner = [s.acceleration for s in states[1:-1]]
        np.testing.assert_allclose(inner, sign * 2.0, rtol=2e-3)
        velocities = np.array([s.velocity for s in states])
        np.testing.assert_allclose(np.gradient(velocities, t)[1:-1], inner, rtol=2e-3)


def test_a_car_that_turns_round_decelerates_all_the_way():
    points = [Rolling(0.0, 0.0, 1.0 - 0.5 * k, 0.0, 0.0) for k in range(5)]
    states = Trajectory.from_points(points, delta_t=0.1).to_commonroad_states()
    assert [s.acceleration for s in states] == pytest.approx([-5.0] * 5)


def test_uneven_steps_are_refused():
    uneven = Trajectory.from_arrays([0.0, 0.1, 0.35], (Rolling, np.array(ROLLING[:3])))
    for export in (
        uneven.to_commonroad_states,
        uneven.to_commonroad_trajectory,
        lambda: uneven.to_commonroad_dynamic_obstacle(1.8, 4.5, 1),
    ):
        with pytest.raises(InvalidValue, match=r"not one number: .*`resample` makes it even"):
            export()


@pytest.mark.parametrize("name", ["commonroad_ks", "commonroad_st", "four_wheel"])
def test_an_obstacle_lies_where_the_body_of_the_vehicle_is(name):
    import shapely

    import skidpad as sp
    from skidpad.core.body import body_of

    vehicle = sp.vehicles.get(name)()
    body = body_of(vehicle, "a test")
    sim = sp.Simulator(vehicle, dt=0.02, integrator="radau")
    start = body.placed(
        sim.state, sp.Pose(3.0, -2.0, 0.8), sp.Velocity(8.0, 0.0, 0.0), vehicle.params
    )
    sim.reset(start)
    driven = sim.run(
        lambda t, x: body.command(x, sp.Demand(steer=0.1, a=0.5), vehicle.params), duration=2.0
    )
    obstacle = driven.to_commonroad_dynamic_obstacle(id=3, vehicle=vehicle)
    for k in (0, 50, len(driven) - 1):
        pose = body.pose(driven.point(k), vehicle.params)
        c, s = math.cos(pose.yaw), math.sin(pose.yaw)
        outline = shapely.MultiPoint(
            [
                (pose.x + c * x - s * y, pose.y + s * x + c * y)
                for piece in body.geometry(vehicle.params).outlines
                for x, y in piece
            ]
        )
        area = obstacle.occupancy_at_time(k)
        shape = getattr(area, "shape", area).shapely_object
        assert shape.distance(outline) == 0.0
        assert shape.buffer(1e-9).contains(outline)
        assert shape.area == pytest.approx(outline.minimum_rotated_rectangle.area, rel=1e-6)
    # The states are those of the middle: positions and speeds agree.
    states = obstacle.prediction.trajectory.state_list
    moved = np.diff([s.position for s in states], axis=0)
    speeds = [s.velocity for s in states]
    mean = 0.5 * (np.array(speeds[1:]) + speeds[:-1])
    np.testing.assert_allclose(np.hypot(*moved.T) / 0.02, mean, rtol=2e-3)


def test_what_was_exported_comes_back(drive):
    for source in (
        drive.to_commonroad_trajectory(3),
        drive.to_commonroad_states(3),
        drive.to_commonroad_dynamic_obstacle(1.8, 4.5, 42, initial_time_step=3),
    ):
        back = Trajectory.from_commonroad(source, 0.1)
        np.testing.assert_allclose(back.t, 0.3 + 0.1 * np.arange(4))
        for name in ("x", "y", "yaw", "v", "steer"):
            if name in back:
                np.testing.assert_allclose(back[name], drive[name], atol=1e-12)
        assert back.delta_t == pytest.approx(0.1)


def test_imported_headings_go_on_and_what_is_no_number_is_refused():
    states = [
        CustomState(time_step=k, position=np.array([k, 0.0]), orientation=o, velocity=1.0)
        for k, o in enumerate([3.0, -3.1, -2.9])
    ]
    path = Trajectory.from_commonroad(states, 0.2, name="round")
    assert path.name == "round"
    assert (np.diff(path["yaw"]) > 0.0).all()
    assert "steer" not in path
    with pytest.raises(InvalidValue, match=r"dt = 0"):
        Trajectory.from_commonroad(states, 0.0)
    with pytest.raises(InvalidValue, match="time_step = 0 follows 2; time steps must increase"):
        Trajectory.from_commonroad(states[::-1][:1] + states[:1], 0.1)
    states[1].velocity = Interval(0.0, 2.0)
    with pytest.raises(InvalidValue, match=r"state 1 has velocity = .*not a range"):
        Trajectory.from_commonroad(states, 0.1)
    with pytest.raises(InvalidValue, match="no CommonRoad state"):
        Trajectory.from_commonroad([], 0.1)
