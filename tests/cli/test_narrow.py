"""On a narrow terminal nothing is cut off."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType

import skidpad as sp
from skidpad.cli.identify_sheets import comparison_sheet, fit_sheet, log_sheet
from skidpad.cli.vehicles import vehicle_sheet
from skidpad.study.identify.comparison import Comparison
from skidpad.study.identify.problem import ErrorRow
from skidpad.study.identify.window_errors import Error
from skidpad.study.logs.log import Channel, Log
from skidpad.study.logs.preparation import Line

NUMBERS = (-0.012345, 1234.5, 0.38012, 1e-7)


def shown(what: RenderableType, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(what)
    return file.getvalue()


def numbers_in(text: str) -> list[str]:
    return sorted(re.findall(r"\d[\d.e+-]*", text))


def comparison(*vehicles: str) -> Comparison:
    errors = [
        Error(vehicle, channel, "m/s", horizon, *NUMBERS[:3], 12, 0)
        for vehicle in vehicles
        for channel in ("position", "v_x")
        for horizon in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
    ]
    cars = dict.fromkeys(vehicles, sp.vehicles.kinematic_bicycle())
    verdict = f"The logs support {vehicles[0]}." if len(vehicles) > 1 else ""
    noise = {"v_x": 0.0321}
    return Comparison(cars, ("run.mcap",), 10.0, 12, tuple(errors), (), verdict, (), noise)


def tables() -> dict[str, RenderableType]:
    estimate = SimpleNamespace(
        name="steer_time_constant",
        unit="s",
        start=0.27,
        value=0.38012,
        low=0.38001,
        high=0.38023,
        at_bound="low",
    )
    errors = [
        ErrorRow(name, "m/s", 0.0, part, *NUMBERS[:2])
        for name in ("position", "v_x")
        for part in ("training", "held out")
    ]
    fit: Any = SimpleNamespace(
        title="DELAY_STEER_ACC_GEARED",
        logs=("run.mcap",),
        estimates=(estimate,),
        windows=3,
        window=5.0,
        errors=tuple(errors),
        untold=(),
        error_window=lambda part: 10.0,
        preparation={"run.mcap": [Line("latency", "omega", "moved 0.04 s earlier", 1.0)]},
    )
    sheets = {name: vehicle_sheet(sp.vehicles.get(name)()) for name in sp.vehicles.names()}
    t = np.arange(100) / 7.0
    log = Log("run.mcap", {"v_x": Channel(t, 12.5 - t, "m/s"), "wheel_speed_fl": Channel(t, t)})
    return {
        "one vehicle": comparison_sheet(comparison("DELAY_STEER_ACC_GEARED"), ["a note"]),
        "several": comparison_sheet(comparison("kinematic_bicycle", "two_track:sports"), []),
        "log": log_sheet(log, None, "speed and yaw rate contradict each other"),
        "estimates": fit_sheet(fit, []),
        **sheets,
    }


TABLES = tables()


@pytest.mark.slow_cases(
    "brains2-40",
    "brains2-60",
    "commonroad_dynamic_bicycle-40",
    "commonroad_dynamic_bicycle-60",
    "commonroad_kinematic_bicycle-40",
    "commonroad_kinematic_bicycle-60",
    "commonroad_ks-40",
    "commonroad_ks-60",
    "commonroad_kst-40",
    "commonroad_kst-60",
    "commonroad_st-40",
    "commonroad_st-60",
)
@pytest.mark.parametrize("width", [30, 40, 60, 80])
@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_cut_off(name: str, width: int) -> None:
    text, wide = shown(TABLES[name], width), shown(TABLES[name], 400)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    # Words and numbers may be put below each other, none may go.
    squeezed = "".join(sorted(text.split()))
    for number in numbers_in(wide):
        assert number in squeezed or number in text.replace("\n", "").replace(" ", ""), number


def test_three_long_names_are_a_table_of_80_columns() -> None:
    names = ("single_track:sports", "two_track:sports:mine.yaml", "DELAY_STEER_ACC_GEARED")
    lines = shown(comparison_sheet(comparison(*names), []), 80).splitlines()
    assert any(line.split()[:2] == ["all", "0.5"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_wide_terminal_has_tables() -> None:
    lines = shown(TABLES["estimates"], 100).splitlines()
    assert any({"parameter", "estimate"} <= set(line.split()) for line in lines)
