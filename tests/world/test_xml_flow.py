"""Variables, includes, loops, conditions and classes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skidpad.world.xml import load
from world.worlds import BOT, refused, world

POSTS = "<block name='{}'><init_pose>{} 0 0</init_pose></block>"


def places(inside: str, **options: object) -> list[tuple[str, float]]:
    return [(b.name, b.pose.x) for b in world(inside, **options).blocks]


def test_variables_are_evaluated_where_they_are_defined() -> None:
    inside = (
        "<variable name='A' value='2'/><variable name='B' value='$f{A * 3}'/>"
        "<variable name='A' value='5'/>"
    )
    assert places(inside + POSTS.format("b", "${B}")) == [("b", 6.0)]
    assert places(inside + POSTS.format("b", "$f{${A} + B}")) == [("b", 11.0)]


def test_variables_from_outside_come_first_and_can_be_replaced() -> None:
    assert places(POSTS.format("b", "${A}"), variables={"A": 7}) == [("b", 7.0)]
    changed = "<variable name='A' value='8'/>" + POSTS.format("b", "${A}")
    assert places(changed, variables={"A": "7"}) == [("b", 8.0)]


def test_defaults_may_hold_variables() -> None:
    inside = "<variable name='A' value='3'/>"
    assert places(inside + POSTS.format("b", "${NO|$f{A + 1}}")) == [("b", 4.0)]
    assert places(inside + POSTS.format("b", "${A|9}")) == [("b", 3.0)]


def test_the_environment_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKIDPAD_TESTS_X", "1.5")
    monkeypatch.delenv("SKIDPAD_TESTS_Y", raising=False)
    for text in ("$env{SKIDPAD_TESTS_X}", "${SKIDPAD_TESTS_X}", "$env{SKIDPAD_TESTS_Y|1.5}"):
        assert places(POSTS.format("b", text)) == [("b", 1.5)]
    assert "SKIDPAD_TESTS_Y is not set" in refused(POSTS.format("b", "$env{SKIDPAD_TESTS_Y}"))


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    inside = "<variable name='ROBOTS' value='1'/>\n" + POSTS.format("b", "${ROBOT}")
    said = refused(inside)
    assert "line 2" in said
    assert "<init_pose>" in said
    assert "${ROBOT} is not defined; did you mean ROBOTS?" in said


def test_commands_run_only_if_allowed() -> None:
    inside = POSTS.format("b", f"$({sys.executable} -c 'print(1+2)')")
    assert "allow_shell=True" in refused(inside)
    assert places(inside, allow_shell=True) == [("b", 3.0)]
    failing = POSTS.format("b", f"$({sys.executable} -c 'raise SystemExit(3)')")
    assert "failed with code 3" in refused(failing, allow_shell=True)


def test_loops_run_through_both_ends_and_their_body_in_order() -> None:
    body = POSTS.format("a${i}", "${i}") + POSTS.format("b${i}", "$f{-i}")
    inside = f"<for var='i' from='1' to='2'>{body}</for>"
    assert places(inside) == [("a1", 1.0), ("b1", -1.0), ("a2", 2.0), ("b2", -2.0)]


def test_upstream_takes_each_element_of_a_loop_through_all_values() -> None:
    inside = (
        f"<for var='i' from='1' to='2'>{POSTS.format('a', '${i}')}{POSTS.format('b', '${i}')}</for>"
    )
    found = places(inside, compat="upstream")
    assert found == [("a", 1.0), ("a_2", 2.0), ("b", 1.0), ("b_2", 2.0)]


def test_loops_nest_and_may_be_empty() -> None:
    inner = (
        f"<for var='j' from='$f{{i}}' to='3'>{POSTS.format('p${i}${j}', '$f{10 * i + j}')}</for>"
    )
    found = places(f"<for var='i' from='2' to='4'>{inner}</for>")
    assert found == [("p22", 22.0), ("p23", 23.0), ("p33", 33.0)]


def test_a_loop_inside_a_vehicle_keeps_its_values_apart() -> None:
    sensor = "<sensor class='laser' name='s${i}'><pose>${i} 0 0</pose></sensor>"
    inside = (
        f"<vehicle><init_pose>0 0 0</init_pose>{BOT}"
        f"<for var='i' from='1' to='3'>{sensor}</for></vehicle>"
    )
    (vehicle,) = world(inside).vehicles
    assert [(s.name, s.pose.x) for s in vehicle.sensors] == [("s1", 1.0), ("s2", 2.0), ("s3", 3.0)]


def test_a_class_sees_the_loop_it_is_used_in() -> None:
    inside = (
        "<block:class name='c'><mass>$f{10 * i}</mass></block:class>"
        "<for var='i' from='1' to='3'><block class='c'><init_pose>0 0 0</init_pose></block></for>"
    )
    assert [b.mass for b in world(inside).blocks] == [10.0, 20.0, 30.0]


def test_a_million_robots_are_refused_unless_the_limit_is_raised() -> None:
    robots = f"<vehicle><init_pose>0 0 0</init_pose>{BOT}</vehicle>"
    inside = f"\n<for var='i' from='1' to='1000000'>{robots}</for>"
    said = refused(inside)
    assert "line 2, column 1: <for>: 1000000 rounds" in said
    assert "raise limit=" in said
    nested = f"<for var='i' from='1' to='20'><for var='j' from='1' to='20'>{robots}</for></for>"
    assert "rounds" in refused(nested, limit=200)
    assert len(world(nested, limit=420).vehicles) == 400


@pytest.mark.parametrize(
    ("condition", "holds", "holds_upstream"),
    [
        ("true", True, True),
        ("Yes", True, True),
        ("on", True, True),
        ("y", True, True),
        ("1", True, True),
        ("-2", True, True),
        ("$f{2 > 1}", True, True),
        ("0", False, False),
        ("false", False, False),
        ("no", False, False),
        ("", False, False),
        ("$f{1 / 2}", True, False),
    ],
)
def test_conditions(condition: str, holds: bool, holds_upstream: bool) -> None:
    inside = f"<if condition='{condition}'>{POSTS.format('b', '0')}</if>"
    assert bool(world(inside).blocks) == holds
    assert bool(world(inside, compat="upstream").blocks) == holds_upstream


def test_include_attributes_are_variables_of_that_file_alone(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "post.xml").write_text(
        "<block name='${name|post}'><init_pose>${x} ${y|2} 0</init_pose></block>"
    )
    (tmp_path / "w.xml").write_text(
        "<mvsim_world><variable name='x' value='1'/><variable name='k' value='4'/>"
        "<include file='sub/post.xml' x='$f{k + 1}' name='a'/>"
        "<include file='sub/post.xml'/></mvsim_world>"
    )
    scene = load(tmp_path / "w.xml")
    assert [(b.name, b.pose.x, b.pose.y) for b in scene.blocks] == [
        ("a", 5.0, 2.0),
        ("post", 1.0, 2.0),
    ]
    assert scene.variables == {"x": "1", "k": "4"}
    assert scene.blocks[0].source.file.endswith("post.xml")


def test_paths_lead_from_the_file_they_are_written_in(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one.xml").write_text("<include file='b/two.xml'/>")
    (tmp_path / "a" / "b" / "two.xml").write_text(
        "<variable name='HERE' value='${MVSIM_CURRENT_FILE_DIRECTORY}'/>"
        "<include file='../../three.xml'/>"
    )
    (tmp_path / "three.xml").write_text(POSTS.format("b", "0"))
    (tmp_path / "w.xml").write_text("<mvsim_world><include file='a/one.xml'/></mvsim_world>")
    scene = load(tmp_path / "w.xml")
    assert len(scene.blocks) == 1
    assert Path(scene.variables["HERE"]) == tmp_path / "a" / "b"


def test_a_whole_world_can_be_included(tmp_path: Path) -> None:
    (tmp_path / "inner.xml").write_text(f"<mvsim_world>{POSTS.format('b', '1')}</mvsim_world>")
    assert places("<include file='inner.xml'/>", folder=tmp_path) == [("b", 1.0)]


def test_vehicles_take_single_tags_from_includes_then_themselves_then_their_class(
    tmp_path: Path,
) -> None:
    (tmp_path / "slick.xml").write_text("<friction><mu>0.1</mu></friction>")
    classes = f"<vehicle:class name='c'>{BOT}<friction><mu>0.3</mu></friction></vehicle:class>"
    own = "<vehicle class='c' name='{}'><init_pose>0 0 0</init_pose>{}</vehicle>"
    inside = (
        classes
        + own.format("plain", "")
        + own.format("own", "<friction><mu>0.2</mu></friction>")
        + own.format("both", "<friction><mu>0.2</mu></friction><include file='slick.xml'/>")
    )
    vehicles = world(inside, folder=tmp_path).vehicles
    assert [v.dynamics.friction.mu for v in vehicles] == [0.3, 0.2, 0.1]


def test_sensors_of_class_and_vehicle_are_both_there() -> None:
    inside = (
        f"<vehicle:class name='c'>{BOT}<sensor class='imu'/></vehicle:class>"
        "<vehicle class='c'><init_pose>0 0 0</init_pose><sensor class='gnss'/></vehicle>"
    )
    (vehicle,) = world(inside).vehicles
    assert [s.name for s in vehicle.sensors] == ["gnss1", "imu1"]


def test_names_given_twice_are_told_apart_and_said() -> None:
    twice = "<sensor class='imu' name='a'/>"
    inside = f"<vehicle><init_pose>0 0 0</init_pose>{BOT}{twice * 3}</vehicle>"
    inside += POSTS.format("p", 1) + POSTS.format("p", 2)
    scene = world(inside)
    assert [s.name for s in scene.vehicles[0].sensors] == ["a", "a_2", "a_3"]
    assert [b.name for b in scene.blocks] == ["p", "p_2"]
    (line,) = scene.warnings
    assert line.startswith("names given twice: 2 times sensor a of veh1")
    assert "block p" in line


@pytest.mark.parametrize("vehicle_first", [True, False])
def test_blocks_called_as_a_vehicle_get_another_name(vehicle_first: bool) -> None:
    robot = f"<vehicle name='p'><init_pose>0 0 0</init_pose>{BOT}</vehicle>"
    post = POSTS.format("p", 1)
    scene = world(robot + post if vehicle_first else post + robot)
    assert [v.name for v in scene.vehicles] == ["p"]
    assert [b.name for b in scene.blocks] == ["p_2"]
    assert scene.warnings[0].startswith("names given twice: p, here p_2 (")


def test_a_block_wins_over_its_class_and_upstream_has_it_the_other_way_round() -> None:
    inside = (
        "<block:class name='c'><mass>50</mass></block:class>"
        "<block class='c'><init_pose>0 0 0</init_pose><mass>7</mass></block>"
    )
    assert world(inside).blocks[0].mass == 7.0
    assert world(inside, compat="upstream").blocks[0].mass == 50.0


def test_an_actor_wins_over_its_class() -> None:
    inside = (
        "<actor:class name='c'><height>1.5</height><walking_speed>2</walking_speed></actor:class>"
        "<actor class='c'><init_pose>0 0 0</init_pose><walking_speed>1</walking_speed></actor>"
    )
    (actor,) = world(inside).actors
    assert (actor.height, actor.walking_speed, actor.name) == (1.5, 1.0, "actor001")


def test_a_class_may_be_defined_again() -> None:
    inside = (
        "<block:class name='c'><mass>1</mass></block:class>"
        "<block:class name='c'><mass>2</mass></block:class>"
        "<block class='c'><init_pose>0 0 0</init_pose></block>"
    )
    scene = world(inside)
    assert scene.blocks[0].mass == 2.0
    assert "classes defined twice" in scene.warnings[0]


def test_random_poses_follow_the_seed() -> None:
    inside = f"<for var='i' from='1' to='5'>{POSTS.format('b${i}', '$f{rand()}')}</for>"
    assert places(inside, seed=1) == places(inside, seed=1)
    assert places(inside, seed=1) != places(inside, seed=2)
    assert len({x for _, x in places(inside)}) == 5
