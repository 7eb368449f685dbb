"""Recordings of scans in `tests/data/truck`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "data" / "truck"
HALF, FINE = np.radians(0.5), np.radians(0.1125)


class Recording(NamedTuple):
    segments: np.ndarray
    poses: np.ndarray
    exact: np.ndarray


class Truck:
    """Scans with ranges that were computed independently; the sensor is at the base point."""

    SCANS = (
        ("s13_scan_drive_room", 0.0, HALF),
        ("s15_scans_room", 0.0, HALF),
        ("s16_scans_room_default_lidar", 0.0, FINE),
        ("s17_scans_room_open_rings", 0.0, HALF),
        ("s17_scans_room_precision1e-4", 0.0, HALF),
    )

    @staticmethod
    def load(name: str) -> Recording:
        with np.load(FOLDER / f"{name}.npz") as file:
            columns = file["columns"].tolist()
            at = [columns.index(word) for word in ("base_x", "base_y", "base_yaw")]
            poses = file["state"][file["scan_record"]][:, at]
            exact = file["exact"]
            if "segments" in file:
                return Recording(file["segments"], poses, exact)
        # The drive is in the room that the other recordings list.
        return Recording(Truck.load("s15_scans_room").segments, poses, exact)


@pytest.fixture
def truck() -> type[Truck]:
    return Truck
