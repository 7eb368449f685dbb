"""What a planning simulator is made of is looked at when it is made, and shown."""

from __future__ import annotations

from typing import Any

import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.vehicles.command_driven.parameters import AssumedParameter

MODEL = "DELAY_STEER_ACC_GEARED"


@pytest.mark.parametrize("road", [5, "road.osm", [], object()])
def test_a_road_knows_its_pitch(road: Any) -> None:
    with pytest.raises(InvalidValue, match=r"must have a method pitch\(x, y, yaw\)"):
        sp.PlanningSimulator(MODEL, road=road)
    simulator = sp.PlanningSimulator(MODEL)
    with pytest.raises(InvalidValue, match="pitch"):
        simulator.road = road
    assert simulator.road is None


def test_a_model_that_nobody_named_is_told_of() -> None:
    with pytest.warns(AssumedParameter, match=r"IDEAL_STEER_VEL with a wheel_base of 2\.79 m"):
        simulator = sp.PlanningSimulator()
    assert simulator.model.name == "IDEAL_STEER_VEL"


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_it_shows_its_model(compat: str | None) -> None:
    text = repr(sp.PlanningSimulator(MODEL, compat=compat))
    assert MODEL in text
    assert ("upstream" in text) == (compat is not None)
    assert "0x" not in text


def test_learned_models_need_their_modules() -> None:
    with pytest.raises(InvalidValue, match=r"model_module_paths\[0\] = '' is empty"):
        sp.PlanningSimulator("LEARNED_STEER_VEL")
