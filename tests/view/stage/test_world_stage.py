"""The numbers of a stage are those of the world."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.view.stage import Stage
from skidpad.view.stages import WorldStage

WORLDS = Path(__file__).parents[3] / "examples" / "worlds"


@pytest.fixture(params=["warehouse", "trailers", "car_park"], scope="module")
def seen(request: pytest.FixtureRequest) -> tuple[sp.World, WorldStage]:
    with pytest.warns() if request.param == "car_park" else _quiet():
        world = sp.World.load(WORLDS / f"{request.param}.world.xml", seed=2)
    for vehicle in world.vehicles.values():
        first = record.names(type(vehicle.input))[0]
        vehicle.command({first: 0.4})
    stage = WorldStage(world)
    world.run(0.6)
    return world, stage


class _quiet:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_states_inputs_and_outputs_are_in_the_row(seen: tuple[sp.World, WorldStage]) -> None:
    world, stage = seen
    row = stage.row()
    assert row.shape == (len(stage.stage.channels),)
    for name, vehicle in world.vehicles.items():
        places = stage.stage.body(name).channels
        state = zip(record.names(type(vehicle.state)), record.flatten(vehicle.state), strict=True)
        inputs = zip(record.names(type(vehicle.input)), record.flatten(vehicle.input), strict=True)
        found = {**dict(state), **{f"u_{n}": v for n, v in inputs}}
        outputs = vehicle.outputs()
        for field, value in zip(record.names(type(outputs)), record.flatten(outputs), strict=True):
            found[f"out_{field}" if field in found else field] = value
        for field, value in found.items():
            assert row[places[field]] == pytest.approx(value, rel=1e-9, abs=1e-9), (name, field)


def test_blocks_and_actors_are_where_the_world_has_them(seen: tuple[sp.World, WorldStage]) -> None:
    world, stage = seen
    row = stage.row()
    for name in world.movable:
        body = stage.stage.body(name)
        assert tuple(row[[body.x, body.y, body.yaw]]) == world.block(name)[:3]


def test_many_moments_at_once_are_the_rows_of_each(seen: tuple[sp.World, WorldStage]) -> None:
    world, stage = seen
    taken, rows = [], []
    for _ in range(4):
        world.step()
        taken.append(stage.take())
        rows.append(stage.row())
    np.testing.assert_array_equal(stage.rows(np.array(taken)), np.array(rows))


def test_every_channel_has_one_place(seen: tuple[sp.World, WorldStage]) -> None:
    stage = seen[1].stage
    places = sorted(k for body in stage.bodies for k in body.channels.values())
    assert places == list(range(len(stage.channels)))
    for body in stage.bodies:
        for name, k in body.channels.items():
            assert (stage.channels[k].name, stage.channels[k].body) == (name, body.name)


def test_a_stage_survives_json(seen: tuple[sp.World, WorldStage]) -> None:
    stage = seen[1].stage
    assert Stage.from_json(json.loads(json.dumps(stage.to_json()))) == stage


def test_newer_and_damaged_stages_are_refused(seen: tuple[sp.World, WorldStage]) -> None:
    plain = seen[1].stage.to_json()
    with pytest.raises(InvalidValue, match="version 99"):
        Stage.from_json({**plain, "version": 99})
    with pytest.raises(InvalidValue, match="damaged"):
        Stage.from_json({**plain, "bodies": [{"name": "a"}]})


def test_lidars_of_the_warehouse_are_on_the_stage() -> None:
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    stage = WorldStage(world)
    assert stage.stage.scans
    assert stage.readings() == [None] * len(stage.stage.scans)
    world.run(0.5)
    for scan, reading in zip(stage.stage.scans, stage.readings(), strict=True):
        assert reading is not None
        assert len(reading.ranges) == scan.count
        assert (reading.ranges <= scan.max_range).all()
