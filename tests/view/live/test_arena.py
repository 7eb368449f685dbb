"""What drivers do to a world: who drives, parameters, obstacles, starting again."""

from __future__ import annotations

import json
from math import cos, hypot, pi, sin
from typing import Any

import numpy as np
import pytest

from skidpad import Vehicle
from skidpad.control.keyboard import Axes
from skidpad.errors import InvalidValue
from skidpad.view.live.arena import MOST, Arena, playground
from skidpad.view.stage import Line
from skidpad.world.scene import WorldWarning
from view.live.worlds import CAR, ROBOT, arena, run

AHEAD = Axes(1.0, 0.0)
RADIUS = 15.0
CIRCLE = Line(tuple((RADIUS * sin(a), RADIUS - RADIUS * cos(a)) for a in np.arange(60) * pi / 30))
PATROL = """
<vehicle name="patrol"><init_pose>0 60 0</init_pose><dynamics class="differential">
  <controller class="trajectory">
    <waypoint t="0" x="0" y="60"/> <waypoint t="9" x="9" y="60"/>
  </controller></dynamics></vehicle>"""


def speed(one: Arena, name: str = "car") -> float:
    return one.world.vehicles[name].truth.v_x


def momentum(state: Any, car: Vehicle, m: float) -> float:
    """Of a formula_student along x, with that of its wheels, in N·s."""
    spins = state.spin_fl + state.spin_fr + state.spin_rl + state.spin_rr
    return m * state.v_x + car.params.I_w / car.geometry.wheels[0].radius * spins


def push(state: Any, car: Vehicle, m: float) -> float:
    """Force of the motors of a formula_student, less what air and rolling take, in N."""
    p = car.params
    motors = (state.tau_fl + state.tau_fr + state.tau_rl + state.tau_rr) / (
        car.geometry.wheels[0].radius
    )
    return motors - p.tyres.tyre.carcass.rolling * m * p.g - p.C_drag * state.v_x**2


def mass_of(one: Arena) -> float:
    car = next(v for v in one.vehicles if v["name"] == "car")
    return next(p["value"] for p in car["params"] if p["label"] == "mass")


def test_twice_the_mass_is_felt_at_once() -> None:
    """The same pedal, so the same torques: momentum grows by the push times the time, from the
    first step on. The speed alone tells less: tyres slip less under a heavier car, and what turning
    wheels lose the car gains."""
    one = arena(CAR)
    # Half of what it has, which the tyres take without sliding.
    one.drive("car", Axes(0.5, 0.0))
    run(one, 0.4)
    handle = one.world.vehicles["car"]
    car, moment, dt = handle.built.vehicle, one.world.snapshot(), one.world.dt
    for m in (230.0, 460.0):
        one.world.restore(moment)
        one.tune("car", "m", m)
        for _ in range(10):
            before = handle.state
            one.step()
            change = momentum(handle.state, car, m) - momentum(before, car, m)
            # Within 2 %: the heavier car stands lower, on tyres with a smaller radius.
            assert change == pytest.approx(push(before, car, m) * dt, rel=0.02)
    assert mass_of(one) == 460.0


def test_less_friction_means_wider_turns() -> None:
    yaws: list[float] = []
    for factor in (1.0, 0.3):
        one = arena(CAR)
        own = one.world.vehicles["car"].built.vehicle.params.tyres.tyre.lateral.D
        one.tune("car", "tyres.tyre.lateral.D", factor * own)
        one.drive("car", AHEAD)
        run(one, 1.5)
        one.drive("car", Axes(0.0, 1.0))
        run(one, 1.0)
        yaws.append(one.world.vehicles["car"].truth.yaw)
    assert yaws[1] < 0.7 * yaws[0]


@pytest.mark.parametrize(
    ("vehicle", "name", "value", "words"),
    [
        ("car", "m", 1e6, "from 115 to 690"),
        ("car", "m", -1.0, "from 115 to 690"),
        ("car", "mm", 230.0, "no parameter 'mm'"),
        ("car", "l_f", 1.0, "no parameter 'l_f'"),
        ("bus", "m", 230.0, "no vehicle 'bus'"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(
    vehicle: str, name: str, value: float, words: str
) -> None:
    one = arena(CAR)
    before = one.world.groups[0].params.copy()
    with pytest.raises(InvalidValue, match=words):
        one.tune(vehicle, name, value)
    np.testing.assert_array_equal(one.world.groups[0].params, before)


def test_a_box_that_is_dropped_is_seen_hit_and_pushed() -> None:
    one = arena(CAR, ROBOT)
    one.tune("car", "m", 300.0)
    one.drive("car", AHEAD)
    run(one, 0.5)
    time, x = one.world.time, one.world.vehicles["car"].truth.x
    one.drop("box", 12.0, 0.0)
    assert one.world.time == time, "the clock goes on"
    assert one.world.vehicles["car"].truth.x == x
    assert mass_of(one) == 300.0
    assert one.stage.body("box 1").kind == "block"
    assert one.row().shape == (len(one.stage.channels),)
    seen = np.inf
    for _ in range(400):
        one.step()
        for scan, _ in one.scans():
            seen = min(seen, scan.ranges.min())
    assert seen < 10.0, "the lidar looks for 10 m ahead at most when it sees it first"
    events = [e for e in one.world.contact_events if {e.a, e.b} == {"car", "box 1"}]
    assert events
    assert one.world.block("box 1").x > 12.1


def test_what_was_dropped_before_stays_where_it_was_pushed() -> None:
    one = arena(CAR)
    one.drop("box", 6.0, 0.0)
    one.drive("car", AHEAD)
    run(one, 1.5)
    pushed = one.world.block("box 1")
    assert pushed.x > 6.1
    one.drop("cone", -20.0, 3.0)
    assert one.world.block("box 1").x == pytest.approx(pushed.x, abs=1e-6)
    assert one.world.block("box 1").v_x == pytest.approx(pushed.v_x, abs=1e-5)
    assert one.world.block("cone 1")[:2] == pytest.approx((-20.0, 3.0))


@pytest.mark.parametrize(
    ("kind", "x", "y", "words"),
    [
        ("box", 0.5, 0.5, "too near to car"),
        ("box", 8.2, 0.0, "too near to box 1"),
        ("tree", 30.0, 30.0, "no obstacle 'tree'"),
    ],
)
def test_a_drop_that_cannot_be_changes_nothing(kind: str, x: float, y: float, words: str) -> None:
    one = arena(CAR)
    one.drop("box", 8.0, 0.0)
    before, stage = one.world, one.stage
    with pytest.raises(InvalidValue, match=words):
        one.drop(kind, x, y)
    assert one.world is before
    assert one.stage is stage


def test_there_is_an_end_to_dropping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skidpad.view.live.arena.MOST", 2)
    assert MOST >= 100
    one = arena(ROBOT)
    one.drop("cone", 5.0, 0.0)
    one.drop("cone", 6.0, 0.0)
    with pytest.raises(InvalidValue, match="reset clears them"):
        one.drop("cone", 7.0, 0.0)


def test_reset_brings_everything_back() -> None:
    one = arena(CAR, ROBOT)
    start, stage = one.row(), one.stage.to_json()
    one.tune("car", "m", 300.0)
    one.drop("box", 12.0, 3.0)
    one.drive("car", AHEAD)
    run(one, 0.5)
    assert one.reset(), "the stage is another one without the box"
    np.testing.assert_array_equal(one.row(), start)
    assert one.stage.to_json() == stage
    assert one.world.time == 0.0
    assert mass_of(one) == 230.0
    assert {v["controller"] for v in one.vehicles} == {"file"}
    run(one, 0.5)
    assert speed(one) == pytest.approx(0.0, abs=1e-9), "nobody holds the keys any more"
    assert not one.reset()


def test_who_touches_the_keys_drives_and_who_does_not_leaves_others_alone() -> None:
    one = arena(CAR, PATROL)
    assert one.vehicles[0]["controllers"] == ["keyboard", "file"]
    assert not one.drive("patrol", Axes()), "no key is held"
    run(one, 2.0)
    assert one.world.vehicles["patrol"].truth.x == pytest.approx(2.0, abs=0.5)
    assert one.drive("patrol", Axes(-1.0, 0.0))
    run(one, 3.0)
    assert speed(one, "patrol") < -0.5
    one.choose("patrol", "file")
    run(one, 1.0)
    assert speed(one, "patrol") > 0.5, "back on its path"


def test_keys_are_held_in_one_vehicle_at_a_time() -> None:
    one = arena(CAR, ROBOT)
    one.drive("car", AHEAD)
    run(one, 1.0)
    one.drive("robot", AHEAD)
    run(one, 4.0)
    assert speed(one, "robot") > 0.5
    assert abs(speed(one)) < 0.1, "the car that was left has stopped"


def test_a_path_is_followed_where_there_is_a_line() -> None:
    line = Line(CIRCLE.points, "centre")
    one = arena(CAR, ROBOT, lines=(line,))
    assert one.stage.lines == (line,)
    assert one.vehicles[0]["controllers"] == ["keyboard", "file", "path"]
    one.choose("car", "path")
    for _ in range(600):
        one.step()
        at = one.world.vehicles["car"].truth
        assert abs(hypot(at.x, at.y - RADIUS) - RADIUS) < 0.5
    assert at.yaw > 0.5
    assert at.v_x > 5.0


@pytest.mark.parametrize("controller", ["path", "autopilot", ""])
def test_a_controller_that_is_not_there_is_refused(controller: str) -> None:
    one = arena(CAR)
    with pytest.raises(InvalidValue, match="no controller"):
        one.choose("car", controller)


def test_vehicles_are_described_for_json() -> None:
    described = json.loads(json.dumps(arena().vehicles, allow_nan=False))
    assert [v["name"] for v in described] == ["car", "robot"]
    car = described[0]
    assert car["inputs"][0] == {"name": "steer", "unit": "rad", "low": -0.5, "high": 0.5}
    for param in car["params"]:
        assert param["low"] <= param["value"] <= param["high"]
        assert param["label"]


def test_the_playground_starts_in_peace_and_its_pace_car_drives() -> None:
    play = playground()
    one = Arena(play.scene, lines=play.lines, starts=play.starts, title=play.title)
    run(one, 1.5)
    assert not one.world.contact_events
    assert speed(one, "pace") > 3.0
    assert speed(one, "car") == pytest.approx(0.0, abs=1e-6)
    assert one.vehicles[0]["name"] == "car"
    (ranges, _) = one.scans()[0]
    assert one.stage.scans[ranges.scan].body == "car"
    assert np.isfinite(ranges.ranges).sum() > 100


def test_a_vehicle_that_diverges_is_stopped_alone_and_told_once() -> None:
    both = arena(ROBOT, CAR)
    robot = next(name for name in both.world.vehicles if name != "car")
    handle = both.world.vehicles[robot]
    handle.bodies.group.params[handle.row] = np.nan
    with pytest.warns(WorldWarning, match=f"{robot} was stopped"):
        run(both, 0.1)
    (text,) = both.stopped()
    assert text.startswith(f"{robot} was stopped at t = ")
    assert not list(both.stopped())
    both.reset()
    run(both, 0.1)
    assert not list(both.stopped())
