"""Worlds as experiments: each run is a world of its own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control import Reference, stanley
from skidpad.core.lazy import RecentCache
from skidpad.random import of_run
from skidpad.random.factors import Range
from skidpad.study import worlds
from skidpad.study.campaign import Campaign
from skidpad.study.designs import Random
from skidpad.study.experiment import Column, Resources, Rows
from skidpad.study.folder import Keep
from skidpad.study.worlds import (
    Controlled,
    WorldRuns,
    collided,
    collision_time,
    final,
    measured,
    nearest,
    reached,
    time_to_reach,
    travelled,
)
from skidpad.view.recording import read
from skidpad.world import xml
from skidpad.world.world import World
from study import own_worlds
from study.own_worlds import CAR, CRATE, ROBOT, Counting, text
from study.test_function_runs import same
from study.test_manoeuvre_runs import in_another_process

WHERE = {"x": final("car", "x"), "y": final("car", "y"), "v": final("car", "v_x")}
ALL = {
    "hit": collided("r1", "crate"),
    "when": collision_time("r1"),
    "gap": nearest("r1", "crate"),
    "way": travelled("r1"),
    **WHERE,
}


def rows_of(**factors: Any) -> Rows:
    count = len(next(iter(factors.values()))) if factors else 1
    columns = {name: np.asarray(values, dtype=float) for name, values in factors.items()}
    return Rows(np.arange(count) + 2, columns, 6)


def test_a_car_that_rolls_goes_as_far_as_its_speed_says() -> None:
    runs = WorldRuns(text(CAR), 2.0, metrics=WHERE)
    v, yaw = np.array([1.0, 5.0, 9.0]), np.array([0.0, 0.5, -2.0])
    rows = rows_of(
        **{
            "vehicle.car.v": v,
            "vehicle.car.yaw": yaw,
            "vehicle.car.x": [0.0, 1.0, 2.0],
            "vehicle.car.y": [3.0, 2.0, 1.0],
        }
    )
    found = runs.evaluate(rows, Resources())
    np.testing.assert_allclose(found["x"], [0.0, 1.0, 2.0] + 2.0 * v * np.cos(yaw), atol=1e-6)
    np.testing.assert_allclose(found["y"], [3.0, 2.0, 1.0] + 2.0 * v * np.sin(yaw), atol=1e-6)
    assert not found["failed"].any()
    assert runs.columns()[0] == Column("x", "m", "x of car at the end")


@pytest.mark.parametrize(
    ("drive", "factors", "ends"),
    [
        ({"car": {"a": -1.0}}, {}, 4.0 - 1.0),
        ({"car": {"a": -1.0}}, {"vehicle.car.command.a": [-2.0]}, 4.0 - 2.0),
        ({"car": own_worlds.braking}, {}, 4.0 - 1.0),
        ({"car": sp.Demand(a=-3.0)}, {}, 4.0 - 3.0),
        (None, {}, 4.0),
    ],
)
def test_what_drives(drive: Any, factors: Any, ends: float) -> None:
    runs = WorldRuns(text(CAR), 1.0, drive=drive, metrics=WHERE)
    found = runs.evaluate(rows_of(**{"vehicle.car.v": [4.0]}, **factors), Resources())
    np.testing.assert_allclose(found["v"], [ends], atol=0.02)


def test_a_class_remembers_within_its_run_only() -> None:
    runs = WorldRuns(text(ROBOT), 0.5, drive=Counting, metrics={"x": final("r1", "x")})
    found = runs.evaluate(Rows(np.arange(3), {}, 0), Resources())
    assert found["x"][0] > 0.0
    assert len(set(found["x"].tolist())) == 1


@pytest.mark.slow
def test_a_controller_follows_its_path() -> None:
    path = Reference.along([(0.0, 0.0), (100.0, 0.0)], v=5.0)
    runs = WorldRuns(
        text(CAR), 4.0, drive={"car": Controlled(stanley.policy, (path,))}, metrics=WHERE
    )
    found = runs.evaluate(rows_of(**{"vehicle.car.v": [5.0], "vehicle.car.y": [-1.0]}), Resources())
    assert np.abs(found["y"]).max() < 0.2
    assert found["x"].min() > 15.0


def test_metrics_know_contacts_and_gaps() -> None:
    runs = WorldRuns(text(ROBOT, CRATE), 3.0, metrics={k: ALL[k] for k in ("hit", "when", "gap")})
    rows = rows_of(**{"block.crate.x": [1.5, 9.0, 9.0], "block.crate.y": [0.0, 0.0, 30.0]})
    found = runs.evaluate(rows, Resources())
    assert found["hit"].tolist() == [True, False, False]
    assert 0.0 < found["when"][0] < 3.0
    assert np.isnan(found["when"][1:]).all()
    assert found["gap"][0] == 0.0
    logs = [runs.logged(rows.part(slice(k, k + 1))) for k in (1, 2)]
    # Front of the robot 0.4 m ahead of its reference point, the crate 0.5 m to each side.
    ahead = 9.0 - 0.5 - 0.4 - logs[0].series("r1", "x")
    np.testing.assert_allclose(found["gap"][1], ahead.min(), atol=2e-3)
    across, along = 30.0 - 0.5 - 0.3, ahead.min()
    np.testing.assert_allclose(found["gap"][2], np.hypot(across, along), rtol=1e-3)


def test_metrics_of_places() -> None:
    metrics = {
        "there": reached("car", 4.0, 10.0, 0.5),
        "soon": time_to_reach("car", 4.0, 10.0, 0.5),
        "never": time_to_reach("car", 0.0, 0.0, 1.0),
        "way": travelled("car"),
        "far": measured(own_worlds.farthest, "m", "how far"),
        "late": own_worlds.is_late,
    }
    runs = WorldRuns(text(CAR), 2.0, metrics=metrics)
    found = runs.evaluate(rows_of(**{"vehicle.car.v": [2.0]}), Resources())
    assert found["there"][0]
    np.testing.assert_allclose(found["soon"], [1.75], atol=0.006)
    assert np.isnan(found["never"][0])
    np.testing.assert_allclose(found["way"], [4.0], atol=1e-6)
    np.testing.assert_allclose(found["far"], [np.hypot(4.0, 10.0)], atol=1e-6)
    assert found["late"].dtype == bool
    assert found["late"][0]
    assert runs.columns()[4] == Column("far", "m", "how far")
    assert runs.columns()[5].kind == "truth"


def test_parameters_of_a_robot_and_of_a_car() -> None:
    """Rolling without grip gets nowhere; a shorter car turns more."""
    metrics = {"way": travelled("r1"), "yaw": final("car", "yaw")}
    drive = {"car": sp.Demand(steer=0.2)}
    runs = WorldRuns(text(ROBOT, CAR), 1.0, drive=drive, metrics=metrics)
    rows = rows_of(
        **{
            "vehicle.r1.friction.mu": [0.8, 0.001],
            "vehicle.car.l_f": [1.0, 1.4],
            "vehicle.car.v": [5.0, 5.0],
        }
    )
    found = runs.evaluate(rows, Resources())
    assert found["way"][0] > 0.3
    assert found["way"][1] < 0.05
    assert found["yaw"][0] > 1.05 * found["yaw"][1] > 0.1
    plain = runs.evaluate(rows_of(**{"vehicle.car.v": [5.0]}), Resources())
    assert plain["way"][0] == found["way"][0]  # mu is 0.8 in the file: the same robot to the bit


@pytest.mark.slow
def test_neither_chunks_nor_order_nor_process_show() -> None:
    runs = WorldRuns(text(), 1.0, drive=own_worlds.turning, metrics=ALL)
    share = np.random.default_rng(3).random((3, 8))
    rows = rows_of(
        **{
            "block.crate.x": 0.95 + share[0],
            "vehicle.r1.friction.mu": 0.3 + share[1],
            "vehicle.car.v": 5.0 * share[2],
        }
    )
    whole = runs.evaluate(rows, Resources())
    assert set(whole["hit"].tolist()) == {True, False}
    parts = [runs.evaluate(rows.part(one), Resources()) for one in np.split(np.arange(8), [1, 5])]
    assert same({k: np.concatenate([p[k] for p in parts]) for k in whole}, whole)
    order = np.random.default_rng(4).permutation(8)
    shuffled = runs.evaluate(rows.part(order), Resources(threads=2))
    assert same(shuffled, {name: column[order] for name, column in whole.items()})
    identity, found = in_another_process(runs, rows.part(slice(2, 5)))
    assert identity == runs.identity()
    assert same(found, {name: column[2:5] for name, column in whole.items()})


def test_random_numbers_of_a_file_are_those_of_the_run() -> None:
    world = text(CAR, CRATE, crate="$f{5 + rand()} 10")
    runs = WorldRuns(world, 0.1, metrics={"x": final("crate", "x")})
    found = runs.evaluate(Rows(np.array([3, 4, 3]), {}, 8), Resources())
    assert found["x"][0] != found["x"][1]
    assert found["x"][0] == found["x"][2]
    (crate,) = xml.loads(world, seed=of_run(8, 3)).blocks
    np.testing.assert_allclose(found["x"][0], crate.pose.x, rtol=1e-6)  # contacts are in float32


@pytest.mark.parametrize("make", [own_worlds.scene_with_gap, own_worlds.world_with_gap])
def test_a_function_makes_the_world(make: Any) -> None:
    runs = WorldRuns(
        make, 0.1, variables={"gap": 7.0}, units={"gap": "m"}, metrics={"x": final("crate", "x")}
    )
    assert runs.factor_units()["variable.gap"] == "m"
    found = runs.evaluate(rows_of(**{"variable.gap": [6.0, 8.0]}), Resources())
    np.testing.assert_array_equal(found["x"], [6.0, 8.0])
    assert runs.evaluate(rows_of(), Resources())["x"][0] == 7.0


def test_variables_of_a_file() -> None:
    runs = WorldRuns(
        text(CAR, CRATE, crate="${GAP} 10"),
        0.1,
        variables={"GAP": 7.0},
        metrics={"x": final("crate", "x")},
    )
    found = runs.evaluate(rows_of(**{"variable.GAP": [6.0, 8.5]}), Resources())
    np.testing.assert_array_equal(found["x"], [6.0, 8.5])


def test_a_run_that_breaks_fails_alone() -> None:
    runs = WorldRuns(text(CAR), 0.2, drive=own_worlds.breaks_above, metrics=WHERE)
    rows = rows_of(**{"vehicle.car.y": [10.0, 11.0, 9.0]})
    found = runs.evaluate(rows, Resources())
    assert found["failed"].tolist() == [False, True, False]
    assert np.isnan(found["x"]).tolist() == [False, True, False]
    replay = runs.replay(rows.part(slice(1, 2)))
    assert isinstance(replay.error, FloatingPointError)
    assert len(replay.t) == 1


def test_a_replay_is_the_run_and_can_be_recorded(tmp_path: Path) -> None:
    runs = WorldRuns(text(), 1.0, drive=own_worlds.turning, metrics=ALL, replayed="car")
    rows = rows_of(**{"vehicle.car.v": [3.0, 4.0], "vehicle.car.command.a": [0.5, 1.0]})
    found, one = runs.evaluate(rows, Resources()), rows.part(slice(1, 2))
    replay = runs.replay(one)
    assert replay["x"][-1] == found["x"][1]
    assert (replay["u_a"] == 1.0).all()
    assert len(replay.t) == 201
    np.testing.assert_allclose(replay["v"], 4.0 + replay.t, atol=0.02)
    pytest.importorskip("mcap")
    runs.record(one, tmp_path / "run.mcap", rate=None)
    recorded = read(tmp_path / "run.mcap")
    np.testing.assert_allclose(recorded.trajectory("car")["x"], replay["x"], rtol=1e-12)
    assert len(recorded.column("r1", "x")) == 201


def test_identity_is_that_of_what_files_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(folder: str, robot: str, drive: Any = own_worlds.turning, **more: Any) -> WorldRuns:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "robot.xml").write_text(robot)
        (place / "world.xml").write_text(text('<include file="robot.xml"/>', CAR, CRATE))
        return WorldRuns(place / "world.xml", 0.5, drive=drive, metrics=ALL, **more)

    one = runs("one", ROBOT)
    assert runs("moved", ROBOT).identity() == one.identity()
    assert runs("noted", f"<!-- a robot -->{ROBOT}").identity() == one.identity()
    heavier = ROBOT.replace('mass="50"', 'mass="51"')
    assert runs("heavier", heavier).identity() != one.identity()
    assert runs("driven", ROBOT, {"r1": sp.Demand(v=1.0)}).identity() != one.identity()
    faster = runs("driven", ROBOT, {"r1": sp.Demand(v=1.1)})
    assert faster.identity() != runs("driven", ROBOT, {"r1": sp.Demand(v=1.0)}).identity()
    sent = pickle.dumps(one)
    (tmp_path / "one" / "robot.xml").write_text(heavier)
    monkeypatch.setattr(worlds, "_SETUPS", RecentCache())
    with pytest.raises(sp.InvalidValue, match=r"world\.xml has changed"):
        pickle.loads(sent).evaluate(rows_of(), Resources())


def test_more_metrics_extend_it() -> None:
    one = WorldRuns(text(CAR), 0.5, metrics=WHERE)
    more = WorldRuns(text(CAR), 0.5, metrics={**WHERE, "way": travelled("car")})
    assert more.extends(one.identity())
    assert not one.extends(more.identity())
    assert not WorldRuns(text(CAR), 1.0, metrics=WHERE).extends(one.identity())
    other = {**WHERE, "x": final("car", "yaw")}
    assert not WorldRuns(text(CAR), 0.5, metrics=other).extends(one.identity())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WorldRuns(text(CAR), 0.5, drive={"cat": sp.Demand()}), "car"),
        (lambda: WorldRuns(text(CAR), 0.5, drive={"car": 3.0}), "drive of car"),
        (lambda: WorldRuns(text(CAR), 0.5, metrics={"hit": collided("cat")}), "metric hit.*'cat'"),
        (lambda: WorldRuns(text(CAR), 0.5, metrics={"a": 3.0}), "metric a"),  # type: ignore[dict-item]
        (lambda: WorldRuns(text(CAR), 0.5017, metrics=WHERE), "duration"),
        (lambda: WorldRuns(text(CAR), 0.5, replayed="cat"), "'cat'"),
        (lambda: WorldRuns(3.0, 0.5), "world must be a file"),  # type: ignore[arg-type]
        (lambda: final("car", "speed"), "'speed'"),
        (lambda: WorldRuns(text(CAR), 0.5).check({"vehicle.car.l_f": (-1.0, 1.0)}), "l_f"),
        (lambda: WorldRuns(text(CAR), 0.5, drive={"car": {"b": 1.0}}).check({}), "'b'"),
        (lambda: WorldRuns(text(CAR), 0.5, metrics={"a": lambda run: 0.0}), "top of a module"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        make()


@pytest.mark.slow
def test_a_campaign_of_a_world(tmp_path: Path) -> None:
    campaign = Campaign(
        experiment=WorldRuns(text(), 0.5, metrics=ALL, replayed="r1"),
        factors={"block.crate.x": Range(0.95, 1.5), "vehicle.r1.command.v": Range(0.2, 1.0)},
        design=Random(12),
        keep=Keep(lowest={"gap": 2}),
    )
    study = campaign.run(tmp_path / "one", workers=1, progress=False)
    assert (
        campaign.run(tmp_path / "two", chunk_seconds=1e-6, workers=1, progress=False).digest()
        == study.digest()
    )
    worst = study.worst("way", 1)[0]
    moved = study.replay(worst)
    way = np.hypot(np.diff(moved["x"]), np.diff(moved["y"])).sum()
    np.testing.assert_allclose(way, worst.value, rtol=1e-9)


def test_a_scene_is_a_world_too() -> None:
    scene = xml.loads(text(CAR))
    runs = WorldRuns(scene, 0.5, metrics=WHERE)
    assert runs.identity() == WorldRuns(text(CAR), 0.5, metrics=WHERE).identity()
    world = World(scene)
    world.run(0.5)
    assert runs.evaluate(rows_of(), Resources())["x"][0] == world.vehicles["car"].truth.x
