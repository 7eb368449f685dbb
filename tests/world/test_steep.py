"""Steep ground stops vehicles, ramps and bumps are driven over."""

from __future__ import annotations

import itertools
import math

import pytest

import skidpad as sp
from world.worlds import world

CONTROLLERS = {
    "differential": "<controller class='twist_pid'><KP>20</KP><KI>5</KI></controller>",
    "ackermann": (
        "<controller class='twist_front_steer_pid'><KP>2000</KP><KI>200</KI>"
        "<max_torque>3000</max_torque></controller>"
    ),
}
RAMP = (
    "<block name='ramp'><static>true</static><init_pose>{pose}</init_pose>"
    "<geometry type='ramp' lx='8' ly='20' lz='{height}'/></block>"
)


def driving(
    kind: str, v: float, yaw: float, ground: str, *, y: float = 0.0, compat: str | None = None
) -> sp.World:
    """A vehicle that drives ahead from the origin."""
    robot = (
        f"<vehicle name='r'><init_pose>0 {y} {yaw}</init_pose>"
        f"<dynamics class='{kind}'>{CONTROLLERS[kind]}</dynamics></vehicle>"
    )
    made = sp.World(world(robot + ground, compat=compat))
    made.vehicles["r"].command(v=v, omega=0.0)
    return made


def plateau(z: float) -> str:
    """Ground that is at another height from x = 3 m on."""
    return (
        "<element class='horizontal_plane'><x_min>3</x_min><x_max>90</x_max><y_min>-90</y_min>"
        f"<y_max>90</y_max><z>{z}</z></element>"
    )


def elevation(heights: list[float]) -> str:
    """Ground whose height depends on x, in steps of 0.5 m from x = -5 m on."""
    rows = ";".join(" ".join([str(z)] * 80) for z in heights)
    return (
        "<element class='elevation_map'><resolution>0.5</resolution><corner_min_x>-5</corner_min_x>"
        f"<corner_min_y>-20</corner_min_y><elevation_data_matrix>[{rows}]</elevation_data_matrix>"
        "</element>"
    )


def foremost(made: sp.World) -> float:
    """Largest x of its chassis."""
    truth, shape = made.vehicles["r"].truth, made.scene.vehicles[0].shape
    assert shape is not None
    c, s = math.cos(truth.yaw), math.sin(truth.yaw)
    return max(truth.x + c * x - s * y for x, y in shape.outline)


@pytest.mark.slow_cases(
    "3.0-0.0-ackermann-None",
    "3.0-0.0-differential-None",
    "2.0--50.0-ackermann-None",
    "2.0--50.0-ackermann-upstream",
    "2.0--50.0-differential-upstream",
    "3.0-0.0-ackermann-upstream",
)
@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize(
    ("v", "yaw"),
    [
        pytest.param(0.8, 0.0, marks=pytest.mark.slow),
        (3.0, 0.0),
        pytest.param(1.0, 30.0, marks=pytest.mark.slow),
        (2.0, -50.0),
    ],
)
def test_nobody_drives_up_a_cliff(kind: str, v: float, yaw: float, compat: str | None) -> None:
    made = driving(kind, v, yaw, plateau(0.5), compat=compat)
    for _ in range(round(3.0 / v / math.cos(math.radians(yaw)) / made.dt) + 300):
        made.step()
        assert foremost(made) < 3.06
        assert made.vehicles["r"].truth.z == 0.0
    assert foremost(made) > 2.8
    pairs = {(e.a, e.b) for e in made.contact_events}
    assert pairs == {("r", "steep ground")}


@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize(("v", "yaw"), [(3.0, 0.0), (1.5, 30.0)])
@pytest.mark.parametrize("ground", ["plane", "map"])
def test_a_cliff_stops_and_does_not_throw_back(
    kind: str, v: float, yaw: float, ground: str
) -> None:
    """No step is longer than the way of the speed, and no impulse larger than the momentum."""
    cliff = plateau(0.5) if ground == "plane" else elevation([0.0] * 16 + [0.5] * 60)
    made = driving(kind, v, yaw, cliff)
    handle = made.vehicles["r"]
    places, speeds = [handle.truth[:2]], [0.0]
    impulse = 0.0
    for _ in range(round(2.0 / v / made.dt) + 300):
        before = speeds[-1]
        made.step()
        truth = handle.truth
        places.append(truth[:2])
        speeds.append(math.hypot(truth.v_x, truth.v_y))
        if impulse == 0.0:
            impulse = sum(contact.normal_impulse for contact in made.contacts)
            momentum = handle.built.geometry.mass * before
            assert impulse <= 1.2 * momentum + 1e-9
    assert impulse > 0.0
    steps = [math.dist(a, b) for a, b in itertools.pairwise(places)]
    assert max(steps) < max(speeds) * made.dt + 0.002


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONTROLLERS)
def test_a_steep_bank_of_an_elevation_map_is_not_climbed_sideways(kind: str) -> None:
    """It rises 1 m on 0.5 m; a wheel that sticks out of the chassis comes to it first."""
    made = driving(kind, 1.0, 50.0, elevation([0.0] * 17 + [1.0] * 40))
    for _ in range(1200):
        made.step()
        assert made.vehicles["r"].truth.z < 0.1
    assert foremost(made) > 2.7


def test_a_low_step_is_driven_onto() -> None:
    """0.15 m is less than 0.55 of a wheel of 0.4 m, and than its radius."""
    made = driving("differential", 1.0, 0.0, plateau(0.15))
    made.run(5.0)
    truth = made.vehicles["r"].truth
    assert (truth.x > 3.5, truth.z) == (True, 0.15)
    assert not made.contact_events


def test_a_long_car_drives_up_an_even_slope_unlike_upstreams() -> None:
    """22 %, its nose 1.15 m ahead of the middle of its wheels: 0.25 m higher, more than 0.22 m."""
    slope = elevation([0.0] * 15 + [0.11 * k for k in range(60)])
    ends = {}
    for compat in (None, "upstream"):
        made = driving("ackermann", 1.0, 0.0, slope, compat=compat)
        made.run(7.0)
        ends[compat] = made.vehicles["r"].truth.x
        assert bool(made.contact_events) == (compat == "upstream")
    assert ends[None] > 3.4
    assert ends["upstream"] < 2.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", CONTROLLERS)
def test_a_ramp_is_climbed_from_its_foot_and_a_wall_from_behind(kind: str) -> None:
    up = driving(kind, 1.0, 0.0, RAMP.format(pose="3 0 0", height=0.8))
    up.run(6.0)
    truth = up.vehicles["r"].truth
    assert truth.x > 4.5
    assert truth.z == pytest.approx(0.1 * (truth.x - 3.0), abs=1e-6)
    assert not up.contact_events
    behind = driving(kind, 1.0, 0.0, RAMP.format(pose="11 0 180", height=0.8))
    behind.run(6.0)
    assert foremost(behind) == pytest.approx(3.0, abs=0.05)
    assert behind.contact_events


def test_upstreams_robots_collide_with_ramps_that_have_a_body() -> None:
    ramp = RAMP.format(pose="3 0 0", height=0.8).replace("</block>", "<shape_from_visual/></block>")
    made = driving("differential", 1.0, 0.0, ramp, compat="upstream")
    made.run(6.0)
    assert foremost(made) == pytest.approx(3.0, abs=0.02)
    assert [(c.a, c.b) for c in made.contacts] == [("r", "ramp")]


def test_other_things_collide_with_ramps() -> None:
    crate = (
        "<block name='crate'><init_pose>1.5 0 0</init_pose><init_vel>4 0 0</init_vel><mass>9</mass>"
        "<ground_friction>0.1</ground_friction></block>"
    )
    made = sp.World(world(crate + RAMP.format(pose="3 0 0", height=0.8)))
    made.run(2.0)
    assert made.block("crate").x == pytest.approx(2.5, abs=0.02)
    assert ("crate", "ramp") in {(e.a, e.b) for e in made.contact_events}


def test_low_floors_above_do_not_stop_and_obstacles_go_when_one_leaves() -> None:
    made = driving("differential", 1.0, 0.0, plateau(2.0))
    made.run(4.0)
    assert made.vehicles["r"].truth.x > 3.5
    assert not made.contact_events
    made = driving("differential", 1.0, 0.0, plateau(0.5))
    made.run(4.0)
    made.vehicles["r"].command(v=-1.0)
    made.run(2.0)
    assert made.vehicles["r"].truth.x < 1.5
    assert made.contact_events[-1].kind == "end"
    assert not made.vehicles["r"].in_collision
