"""Pedal status: recordings of the upstream program, and what is right."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.compat.autoware.converter import ActuationStatus, actuation_status
from skidpad.errors import InvalidValue
from skidpad.vehicles.command_driven.parameters import Table, read_table

DATA = Path(__file__).parents[2] / "data" / "autoware"
RECORDINGS = sorted(DATA.glob("ACTUATION_CMD*__*.npz"))
ACCEL = read_table(DATA / "maps" / "accel_map.csv")
BRAKE = read_table(DATA / "maps" / "brake_map.csv")


def used_map(params: dict[str, Any], pedal: str) -> Path | None:
    """The map that a recording was made with; a file that is missing switches it off."""
    file = DATA / "maps" / params[f"{pedal}_map_path"]
    return file if params[f"convert_{pedal}_cmd"] and file.exists() else None


def test_there_are_recordings_of_all_four_models() -> None:
    assert len(RECORDINGS) == 43
    assert len({file.stem.split("__")[0] for file in RECORDINGS}) == 4


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_the_recordings_are_reproduced(file: Path) -> None:
    with np.load(file) as data:
        params = json.loads(str(data["meta"]))["params"]
        out, expected = data["out"], data["actuation_status"]
    status = ActuationStatus(
        used_map(params, "accel"),
        used_map(params, "brake"),
        "upstream",
        vel_lim=params["vel_lim"],
        vel_rate_lim=params["vel_rate_lim"],
    )
    got = [status(a_x, v_x) or (math.nan, math.nan) for v_x, a_x in out[:, [3, 5]]]
    np.testing.assert_allclose(np.array(got), expected, rtol=1e-9, atol=1e-12)


@given(pedal=st.floats(0.0, 0.8), v=st.floats(-3.0, 20.0))
def test_the_status_of_a_braking_is_its_pedal(pedal: float, v: float) -> None:
    status = actuation_status(ACCEL, BRAKE, BRAKE.value(pedal, v), v)
    assert status is not None
    assert status[1] == pytest.approx(pedal, abs=1e-9)


@given(pedal=st.floats(0.0, 0.6), v=st.floats(-3.0, 20.0))
def test_the_status_of_a_driving_is_its_pedal(pedal: float, v: float) -> None:
    for compat in (None, "upstream"):
        status = actuation_status(ACCEL, BRAKE, ACCEL.value(pedal, v), v, compat)
        assert status is not None
        assert status[0] == pytest.approx(pedal, abs=1e-9)


def test_upstream_reports_a_weak_braking_as_a_strong_one() -> None:
    weak, strong = -0.65, -1.7  # rows 0.2 and 0.4 of the column at 2 m/s
    assert actuation_status(ACCEL, BRAKE, weak, 2.0) == pytest.approx((0.0, 0.2))
    assert actuation_status(ACCEL, BRAKE, strong, 2.0) == pytest.approx((0.0, 0.4))
    # Upstream's rows go the wrong way: the second weakest value gets the second strongest pedal.
    assert actuation_status(ACCEL, BRAKE, weak, 2.0, "upstream") == pytest.approx((0.0, 0.4))
    assert actuation_status(ACCEL, BRAKE, strong, 2.0, "upstream") == pytest.approx((0.0, 0.2))


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_beyond_the_maps(compat: str | None) -> None:
    assert actuation_status(ACCEL, BRAKE, 9.0, 5.0, compat) == (0.6, 0.0)
    assert actuation_status(ACCEL, BRAKE, -9.0, 5.0, compat) == (0.0, 0.8)
    assert actuation_status(ACCEL, None, -9.0, 5.0, compat) == (0.0, 0.0)
    assert actuation_status(None, BRAKE, -9.0, 5.0, compat) == (0.0, 0.8)
    assert actuation_status(None, None, -9.0, 5.0, compat) is None
    limited = ActuationStatus(ACCEL, BRAKE, compat, vel_lim=2.0, vel_rate_lim=1.45)
    assert limited(9.0, 50.0) == pytest.approx((0.3, 0.0)), "row 0.3, column 2"


def test_a_throttle_map_that_starts_above_zero() -> None:
    table = Table((0.1, 0.5), (0.0, 10.0), ((0.0, -1.0), (2.0, 1.0)))
    assert actuation_status(table, None, -2.0, 0.0) == (0.0, 0.0)
    assert actuation_status(table, None, 0.0, 0.0) == (0.1, 0.0)


def test_maps_that_cannot_be_inverted_are_named() -> None:
    flat = Table((0.0, 0.2, 0.4), (0.0, 5.0), ((0.0, -0.1), (1.0, 0.5), (2.0, 0.5)))
    with pytest.raises(InvalidValue, match=r"accel_map .* column 5 .* row 0.2 .* row 0.4"):
        ActuationStatus(flat, BRAKE)
    with pytest.raises(InvalidValue, match=r"brake_map .* column 0 must fall"):
        ActuationStatus(ACCEL, ACCEL)
    with pytest.raises(InvalidValue, match="compat = 'mirrored'"):
        ActuationStatus(ACCEL, BRAKE, "mirrored")
    with pytest.raises(InvalidValue, match="vel_lim = -1"):
        ActuationStatus(ACCEL, BRAKE, vel_lim=-1.0)
