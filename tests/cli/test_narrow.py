"""On a narrow terminal nothing is cut off."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console, RenderableType

import skidpad as sp
from skidpad.cli.identify import change_table, error_table, estimate_table
from skidpad.cli.models import vehicle_sheet

NUMBERS = (-0.012345, 1234.5, 0.38012, 1e-7)


def shown(what: RenderableType, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(what)
    return file.getvalue()


def numbers_in(text: str) -> list[str]:
    return sorted(re.findall(r"\d[\d.e+-]*", text))


def error(name: str) -> Any:
    rmse, most, mean, _ = NUMBERS
    return SimpleNamespace(channel=name, unit="m/s", rmse=rmse, max=most, mean=mean)


def tables() -> dict[str, RenderableType]:
    estimate = SimpleNamespace(
        name="steer_time_constant", unit="s", start=0.27, value=0.38012, low=0.38001, high=0.38023
    )
    errors = (error("position"), error("v_x"))
    curve = SimpleNamespace(t=(0.0, 12.0))
    compared: Any = SimpleNamespace(
        log="run.mcap",
        model="DELAY_STEER_ACC_GEARED",
        errors=errors,
        curves={"v_x": curve},
        starts=(0.0,),
        dt=0.01,
    )
    fit: Any = SimpleNamespace(
        model="DELAY_STEER_ACC_GEARED",
        log="run.mcap",
        estimates=(estimate,),
        windows=3,
        resolution=0.01,
        before=compared,
        after=compared,
    )
    sheets = {name: vehicle_sheet(sp.vehicles.get(name)()) for name in sp.vehicles.names()}
    return {
        "errors": error_table(compared),
        "estimates": estimate_table(fit),
        "changes": change_table(fit),
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


def test_a_wide_terminal_has_tables() -> None:
    lines = shown(TABLES["estimates"], 100).splitlines()
    assert any({"parameter", "estimate"} <= set(line.split()) for line in lines)
