"""`autoware`: names, parameters, what it refuses."""

from __future__ import annotations

import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.vehicles.registry import COMMAND_DRIVEN

TABLE = [["", 0.0, 10.0], [-1.0, -1.2, -0.8], [1.0, 0.9, 0.5]]


def test_every_name_of_upstream_is_known() -> None:
    assert len(COMMAND_DRIVEN) == 13
    with pytest.raises(InvalidValue, match="DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"):
        sp.vehicles.autoware("DELAY_STEER_ACCEL", wheel_base=2.79)


def test_the_learned_model_is_for_the_planning_simulator() -> None:
    with pytest.raises(InvalidValue, match=r"Python modules.*skidpad\.PlanningSimulator"):
        sp.vehicles.autoware("LEARNED_STEER_VEL")


def test_an_unknown_mode_is_named_with_both() -> None:
    with pytest.raises(InvalidValue, match=r"'Upstream'.*None.*'upstream'"):
        sp.vehicles.autoware("IDEAL_STEER_VEL", wheel_base=2.79, compat="Upstream")


def test_keywords_win_over_sources_and_later_sources_over_earlier() -> None:
    vehicle = sp.vehicles.autoware(
        "DELAY_STEER_ACC",
        [{"wheelbase": 2.0, "vel_lim": 20.0, "steer_lim": 0.5}, {"vel_lim": 25.0}],
        steer_lim=0.4,
    )
    p = vehicle.params
    assert (p.wheel_base, p.vel_lim, p.steer_lim) == (2.0, 25.0, 0.4)
    assert (p.vel_rate_lim, p.steer_time_delay) == (7.0, 0.24)


def test_a_map_may_be_numbers() -> None:
    vehicle = sp.vehicles.autoware(
        "DELAY_STEER_MAP_ACC_GEARED", {"acceleration_map": TABLE}, wheel_base=2.79
    )
    table = vehicle.params.acceleration_map
    assert (table.row_1, table.column_1, table.v_0_0, table.v_1_1) == (1.0, 10.0, -1.2, 0.5)


def test_a_conversion_that_is_off_has_no_table() -> None:
    pedals = dict.fromkeys(
        ("accel_time_delay", "accel_time_constant", "brake_time_delay", "brake_time_constant"), 0.1
    )
    vehicle = sp.vehicles.autoware(
        "ACTUATION_CMD",
        pedals,
        wheel_base=2.79,
        convert_accel_cmd=True,
        convert_brake_cmd=False,
        accel_map=TABLE,
    )
    assert len(vehicle.params.brake_map) == 0
    assert vehicle.params.accel_map.v_1_0 == 0.9
