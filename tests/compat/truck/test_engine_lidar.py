"""The engine's lidar: exact ranges, all rays, within the limits, where it is mounted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import yaml

from compat.truck.recordings import MAPS, model_path, recording, replay
from skidpad.compat.truck.engine import Engine
from skidpad.errors import InvalidValue
from skidpad.geometry.maps.map import Map

ROOM = MAPS / "room.geojson"
BOX = Map.from_polylines([[(-3, -2), (5, -2), (5, 2), (-3, 2)]], closed=True)


def model(**changes: Any) -> dict[str, Any]:
    """The truck with 720 rays, the lidar section changed."""
    content = yaml.safe_load(model_path("lidar720.yaml").read_text("utf-8"))
    content["lidar"] |= changes
    return content


@pytest.mark.parametrize(
    "name",
    [
        "s13_scan_drive_room",
        "s15_scans_room",
        "s16_scans_room_default_lidar",
        "s17_scans_room_precision1e-4",
    ],
)
def test_scans_are_exact(name: str) -> None:
    run = recording(name)
    scenario = {key: value for key, value in run.scenario.items() if key != "precision"}
    got = replay(scenario).scan
    exact = run.arrays["exact"]
    # Upstream's default lidar lacks its last ray.
    assert got.shape[1] in (exact.shape[1], exact.shape[1] + 1)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got[:, : exact.shape[1]], exact, rtol=0, atol=1e-9)


def test_the_default_lidar_has_all_its_rays() -> None:
    assert Engine(map=ROOM).state().lidar_ranges.shape == (3200,)


def test_the_rays_of_a_partial_view_are_those_of_the_whole_one() -> None:
    whole = Engine(model(), ROOM)
    part = Engine(model_path("lidar_partial.yaml"), ROOM)
    for truck in (whole, part):
        truck.reset_base((6, 4, 0.3))
    seen = whole.state().lidar_ranges[90 : 90 + 540]
    np.testing.assert_allclose(part.state().lidar_ranges, seen, rtol=1e-13)


def test_rings_that_are_left_open_are_closed() -> None:
    truck = Engine(model(), MAPS / "room_open_rings.geojson")
    truck.reset_base((1.0, 4.0, 0.0))
    # The wall at x = 0, behind the truck, is the edge that the file does not write.
    assert truck.state().lidar_ranges[360] == pytest.approx(1.0, abs=1e-12)


def test_what_is_out_of_range_is_not_seen() -> None:
    truck = Engine(model(range_max=4.0, range_min=2.5), BOX)
    ranges = truck.state().lidar_ranges
    angles = np.radians(0.5 * np.arange(720))
    with np.errstate(divide="ignore"):
        along = np.where(np.cos(angles) > 0, 5.0, -3.0) / np.cos(angles)
        across = np.where(np.sin(angles) > 0, 2.0, -2.0) / np.sin(angles)
    exact = np.minimum(np.where(along > 0, along, np.inf), np.where(across > 0, across, np.inf))
    seen = (exact >= 2.5) & (exact <= 4.0)
    assert 0 < np.count_nonzero(seen) < 720
    np.testing.assert_allclose(ranges[seen], exact[seen], atol=1e-9)
    assert (ranges[exact > 4.0] == np.inf).all()
    assert (ranges[exact < 2.5] == -np.inf).all()


def test_noise_does_not_lead_past_the_range_limits() -> None:
    truck = Engine(model(range_max=2.0, range_min=1.99), BOX, noise={"lidar": 0.5})
    ranges = truck.state().lidar_ranges
    finite = ranges[np.isfinite(ranges)]
    assert (finite <= 2.0).all()
    assert (finite >= 1.99).all()
    assert (ranges == -np.inf).any()


def test_without_a_map_nothing_is_seen() -> None:
    assert np.isinf(Engine(model()).state().lidar_ranges).all()
    upstream = Engine(model(), compat="upstream").state().lidar_ranges
    assert (upstream == np.finfo(np.float32).max).all()


def mounted(x: float, y: float, quaternion: tuple[float, float, float, float]) -> dict[str, Any]:
    content = model()
    link = next(e for e in content["tf_static"] if e["child_frame_id"] == "lidar_link")
    link["translation"] |= {"x": x, "y": y}
    link["rotation"] = dict(zip("xyzw", quaternion, strict=True))
    return content


def test_rays_start_where_the_lidar_is_and_point_as_it_does() -> None:
    quarter = math.sqrt(0.5)
    truck = Engine(mounted(0.2, 0.1, (0.0, 0.0, quarter, quarter)), BOX)
    truck.reset_base((1.0, 0.5, math.pi / 2))
    # Base at (1, 0.5) facing +y: the lidar is 0.2 further in y and 0.1 less in x; it looks to -x.
    ranges = truck.state().lidar_ranges
    assert ranges[0] == pytest.approx(0.9 + 3.0, abs=1e-9)
    assert ranges[180] == pytest.approx(0.7 + 2.0, abs=1e-9)
    assert ranges[360] == pytest.approx(5.0 - 0.9, abs=1e-9)
    assert ranges[540] == pytest.approx(2.0 - 0.7, abs=1e-9)


def test_a_lidar_on_its_side_is_refused() -> None:
    quarter = math.sqrt(0.5)
    with pytest.raises(InvalidValue, match=r"lidar_link.*level"):
        Engine(mounted(0.0, 0.0, (quarter, 0.0, 0.0, quarter)))


def test_a_grid_is_seen_too() -> None:
    occupied = np.zeros((40, 40), dtype=bool)
    occupied[:, 30] = True
    truck = Engine(model(), Map.from_grid(occupied, resolution=0.1))
    truck.reset_base((1.0, 2.0, 0.0))
    assert truck.state().lidar_ranges[0] == pytest.approx(2.0, abs=1e-9)
    truck.set_base_control(0.8, 0.0)
    truck.advance(5.0)
    assert truck.status.name == "COLLISION"
