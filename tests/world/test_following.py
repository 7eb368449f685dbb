"""Vehicles that follow a path in time by themselves."""

from __future__ import annotations

import math
from typing import Any

import pytest

from skidpad.world.scene import TimedPath, TimedPoint
from skidpad.world.vehicle import Route
from skidpad.world.world import World
from world.worlds import refused, world

SQUARE = ((0.0, 0.0, 0.0), (4.0, 4.0, 0.0), (8.0, 4.0, 4.0), (12.0, 0.0, 4.0), (16.0, 0.0, 0.0))


def route(points: Any = SQUARE, **changes: Any) -> Route:
    return Route(TimedPath(tuple(TimedPoint(*p) for p in points), **changes))


def test_on_a_straight_line_it_goes_on() -> None:
    v, omega = route(lookahead=1.0).twist(1.0, 1.0, 0.0, 0.0)
    assert (v, omega) == (1.0, 0.0)


def test_the_circle_leads_through_the_point_ahead() -> None:
    # The point ahead is at (2, 0); seen from (1, 1) looking along x it is at (1, -1). The circle
    # through both that leaves along x has its centre at (1, 0) and the radius 1, to the right.
    v, omega = route(lookahead=1.0).twist(1.0, 1.0, 1.0, 0.0)
    assert v == 1.0
    assert omega == pytest.approx(-1.0)
    # The same seen by a vehicle that looks the other way.
    assert route(lookahead=1.0).twist(1.0, 1.0, 1.0, math.pi)[1] == pytest.approx(1.0)


def test_it_slows_down_for_its_yaw_rate_and_keeps_the_circle() -> None:
    v, omega = route(lookahead=1.0, omega_max=0.25).twist(1.0, 1.0, 1.0, 0.0)
    assert omega == -0.25
    assert v / omega == pytest.approx(-1.0)


def test_legs_of_no_length_are_pauses() -> None:
    held = route(((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (2.0, 1.0, 0.0), (3.0, 2.0, 0.0)), loop=False)
    assert held.twist(0.5, 0.5, 0.0, 0.0)[0] == 1.0
    assert held.twist(1.5, 1.0, 0.0, 0.0) == (0.0, 0.0)
    assert held.twist(2.5, 1.5, 0.0, 0.0)[0] == 1.0


def test_the_end_and_the_beginning_again() -> None:
    assert route(loop=False).twist(16.0, 0.0, 0.0, 0.0) == (0.0, 0.0)
    again, first = route().twist(17.0, 1.0, 0.0, 0.0), route().twist(1.0, 1.0, 0.0, 0.0)
    assert again == pytest.approx(first)
    # Near the end the point ahead lies on the first leg.
    assert route(lookahead=1.0).twist(15.5, 0.0, 0.5, -math.pi / 2.0)[1] > 0.0


VEHICLE = (
    "<vehicle name='r'><init_pose>0 0 0</init_pose><dynamics class='{kind}'>"
    "<controller class='trajectory' {attributes}>{inside}</controller></dynamics></vehicle>"
)
POINTS = "".join(f"<waypoint t='{t}' x='{x}' y='{y}'/>" for t, x, y in SQUARE)


def robot(kind: str = "differential", attributes: str = "", inside: str = POINTS) -> str:
    return VEHICLE.format(kind=kind, attributes=attributes, inside=inside)


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_a_path_is_read(compat: Any) -> None:
    inside = f"<lookahead_distance>0.7</lookahead_distance>{POINTS}"
    text = robot(attributes="loop='false' max_angular_speed='1.5'", inside=inside)
    scene = world(text, compat=compat)
    path = scene.vehicles[0].path
    assert path is not None
    assert path == TimedPath(tuple(TimedPoint(*p) for p in SQUARE), False, 0.7, 1.5)
    assert scene.vehicles[0].dynamics.control.kind == "twist_ideal"
    assert scene.warnings == ()


def test_points_may_stand_in_any_order_and_in_a_file(tmp_path: Any) -> None:
    lines = POINTS.replace("/>", "/>\n").splitlines()
    (tmp_path / "square.xml").write_text("\n".join(reversed(lines)))
    inside = "<include file='${PATH_OF_R}.xml'/>"
    text = f"<variable name='PATH_OF_R' value='square'/>{robot(inside=inside)}"
    path = world(text, folder=tmp_path).vehicles[0].path
    assert path is not None
    assert [p.time for p in path.points] == [0.0, 4.0, 8.0, 12.0, 16.0]


def test_bad_paths_are_refused() -> None:
    assert "two or more <waypoint" in refused(robot(inside="<waypoint t='0' x='1' y='1'/>"))
    twice = "<waypoint t='1' x='1'/><waypoint t='1' x='2'/>"
    assert "two waypoints are at t = 1 s" in refused(robot(inside=twice))
    assert "lookahead_distance = 0 must be" in refused(robot(attributes="lookahead_distance='0'"))
    assert "twist_ideal' is unknown" in refused(robot("ackermann_drivetrain"))


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    # A car cannot turn on the spot, and swings out of the corners of the square.
    [("differential", 0.35), ("differential_4_wheels", 0.35), ("ackermann", 1.2)],
)
def test_a_vehicle_goes_round(kind: str, tolerance: float) -> None:
    running = World(world(robot(kind)))
    vehicle = running.vehicles["r"]
    farthest = 0.0
    for _ in range(40):
        running.run(0.4)
        t = vehicle.truth
        outside = max(abs(t.x - 2.0), abs(t.y - 2.0)) - 2.0
        farthest = max(farthest, abs(outside))
    assert farthest < tolerance
    # After a round it is near the start again.
    assert math.hypot(vehicle.truth.x, vehicle.truth.y) < tolerance


def test_commands_do_not_lead_it_astray_and_time_can_go_back() -> None:
    running = World(world(robot()))
    running.run(1.0)
    kept = running.snapshot()
    running.run(2.0)
    there = running.vehicles["r"].truth
    running.restore(kept)
    running.vehicles["r"].command(v=-3.0)
    running.run(2.0)
    assert running.vehicles["r"].truth == pytest.approx(there)


def test_wheels_that_ros_would_turn_obey_commands() -> None:
    inside = (
        "<command_interface>{}</command_interface><KP>5</KP><KI>1</KI><max_torque>10</max_torque>"
        "<controllers_yaml>c.yaml</controllers_yaml><robot_description>topic</robot_description>"
    )
    text = robot("differential_4_wheels", inside=inside).replace("'trajectory'", "'ros2_control'")
    scene = world(text.format("velocity"))
    assert scene.vehicles[0].dynamics.control.kind == "twist_pid"
    assert scene.vehicles[0].dynamics.control.gains.KP == 5.0
    (line,) = scene.warnings
    assert "ros2_control by twist_pid in r (" in line
    effort = world(text.format("effort"))
    assert effort.vehicles[0].dynamics.control.kind == "raw"
