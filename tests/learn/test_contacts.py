"""What touches what: walls, trailers and other vehicles, against the collision checker."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.core.body import Pose
from skidpad.geometry.collision import Checker, Footprint, between
from skidpad.geometry.maps.map import Map
from skidpad.learn.course import touches, walls_of
from skidpad.learn.programs import touch_each_other
from skidpad.learn.task import unit_poses, units_of
from skidpad.vehicles import two_track, wheeled
from skidpad.vehicles.commonroad.single_track import commonroad_kst
from skidpad.vehicles.formula import four_wheel
from skidpad.vehicles.twin_track.trailers import SEMI_TRAILER, TRACTOR

RNG = np.random.default_rng(4)


def random_poses(count: int, extent: float) -> np.ndarray:
    return np.column_stack([RNG.uniform(-extent, extent, (count, 2)), RNG.uniform(-7, 7, count)])


def random_walls(count: int, extent: float) -> np.ndarray:
    begin = RNG.uniform(-extent, extent, (count, 2))
    return np.hstack([begin, begin + RNG.uniform(-6.0, 6.0, (count, 2))])


def test_units_touch_walls_where_their_footprints_do() -> None:
    truck = commonroad_kst()
    units, segments = units_of(truck), random_walls(12, 30.0)
    (walls,), most = walls_of([(segments, None)], max(unit.radius for unit in units))
    checker, poses = Checker(Map(segments=segments)), random_poses(400, 30.0)
    hitch = RNG.uniform(-1.5, 1.5, 400)
    x = truck.State(*poses.T[:2], yaw=poses[:, 2], hitch=hitch, steer=0.0, v=0.0)
    # CommonRoad's own words for where the trailer is.
    y = truck.model.outputs(x, truck.Input(), truck.model.Disturbance(), truck.params)
    expected = np.zeros(400, bool)
    for k, at in enumerate((poses, np.column_stack([y.x_trailer, y.y_trailer, y.yaw_trailer]))):
        own = checker.hits(Footprint.polygons(units[k].parts), at)
        found = touches(walls, most, unit_poses(units, Pose(*poses.T), x)[k], units[k].parts)
        assert (np.asarray(found) > 0.5).tolist() == own.tolist()
        expected |= own
    assert 50 < expected.sum() < 350


def test_trailers_of_trailers_hang_behind_each_other() -> None:
    """A chain in a straight line is as long as its drawbars; bent by a right angle it turns up."""
    road_train = two_track(**TRACTOR, trailers=(SEMI_TRAILER, SEMI_TRAILER))
    units = units_of(road_train)
    chain = road_train.geometry.trailers
    straight = unit_poses(units, Pose(0.0, 0.0, 0.0), road_train.State())
    reach = 0.0
    for pose, trailer in zip(straight[1:], chain, strict=True):
        reach += trailer.hitch_x - trailer.drawbar
        assert pose == pytest.approx((reach, 0.0, 0.0))
    bent = unit_poses(units, Pose(0.0, 0.0, 0.0), road_train.State(hitch_2=0.5 * np.pi))
    corner = straight[1].x + chain[1].hitch_x
    assert bent[2] == pytest.approx((corner, -chain[1].drawbar, 0.5 * np.pi))


def test_parts_go_round_counter_clockwise_whatever_the_outline() -> None:
    """MVSim's robots are described clockwise, and by the outline of their description."""
    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_ideal")))
    (unit,) = units_of(robot)
    (walls,), most = walls_of([(np.array([[0.55, -1.0, 0.55, 1.0]]), None)], unit.radius)
    assert touches(walls, most, Pose(0.0, 0.0, 0.0), unit.parts) == 1.0
    assert touches(walls, most, Pose(-0.06, 0.0, 0.0), unit.parts) == 0.0


def test_vehicles_touch_each_other_where_their_footprints_do() -> None:
    parts = units_of(four_wheel())[0].parts
    footprint, first, second = (
        Footprint.polygons(parts),
        random_poses(500, 3.0),
        random_poses(500, 3.0),
    )
    found = touch_each_other(Pose(*first.T), Pose(*second.T), parts)
    pairs = zip(first, second, strict=True)
    expected = [len(between(footprint, np.array(pair))) for pair in pairs]
    assert np.asarray(found).tolist() == expected
    assert 50 < sum(expected) < 450


@pytest.mark.parametrize("gap", [1e-9, -1e-9])
def test_boxes_touch_to_a_nanometre(gap: float) -> None:
    box = (((-1.0, -0.5), (2.0, -0.5), (2.0, 0.5), (-1.0, 0.5)),)
    for other in (Pose(3.0 + gap, 0.3, 0.0), Pose(0.0, -1.0 - gap, 0.0), Pose(4.0 + gap, 0, np.pi)):
        assert touch_each_other(Pose(0.0, 0.0, 0.0), other, box) == float(gap < 0.0)
