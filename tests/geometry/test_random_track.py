"""What random tracks promise, for several seeds and sizes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.line import crossings
from skidpad.geometry.maps import Track, random_track
from skidpad.geometry.polygon import signed_area

SIZES: dict[str, dict[str, Any]] = {
    "formula student": {},
    "f1tenth": {"length": 60.0, "width": 2.0, "radius": 1.0, "spacing": 0.2},
    "short": {"length": 95.0, "width": 3.5, "radius": 4.5},
    "wide": {"length": 60.0, "width": 3.4, "radius": 0.8, "spacing": 0.2},
    "road": {"length": 4000.0, "width": 12.0, "radius": 15.0, "spacing": 3.0},
}
USUAL = {"length": 300.0, "width": 3.5, "radius": 4.5, "spacing": 0.5}


@pytest.mark.slow_cases("short-0", "short-1180591620717411303424")
@pytest.mark.parametrize("seed", [0, 1, 2**70])
@pytest.mark.parametrize("size", SIZES)
def test_promises(size: str, seed: int) -> None:
    asked = USUAL | SIZES[size]
    track = random_track(seed, **SIZES[size])
    assert track.closed
    assert track.length == pytest.approx(asked["length"], rel=1e-9)
    assert track.length / len(track.centre) == pytest.approx(asked["spacing"], rel=0.02)
    assert np.abs(track.line.curvature).max() * asked["radius"] <= 1.0
    np.testing.assert_array_equal(track.left + track.right, asked["width"])
    assert signed_area(track.centre) > 0.0
    assert track.centre[0].tolist() == [0.0, 0.0]
    assert len(crossings(track.walls)) == 0
    # Parts that do not follow each other are apart.
    away = track.line.s[:-1]
    along = np.abs(away[:, None] - away)
    along = np.minimum(along, track.length - along)
    gap = np.hypot(*(track.centre[:, None] - track.centre).transpose(2, 0, 1))
    assert gap[along > 3.0 * asked["width"]].min() > 1.5 * asked["width"]


def test_a_track_depends_on_its_seed_alone() -> None:
    track, other = random_track(5), random_track(6)
    assert not np.array_equal(track.centre[:50], other.centre[:50])
    script = (
        "from skidpad.geometry.maps import random_track; import hashlib;"
        "print(hashlib.sha256(random_track(5).centre.tobytes()).hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == hashlib.sha256(track.centre.tobytes()).hexdigest()


def test_a_rasterised_track_is_found_again() -> None:
    """What a grid is made of and what is found in it agree."""
    track = random_track(3, length=60.0, width=2.0, radius=1.5, spacing=0.2)
    again = Track.of_grid(track.map.rasterised(0.05, margin=0.5))
    assert np.abs(track.line.project(again.centre).left).max() < 0.1
    assert again.length == pytest.approx(track.length, rel=0.01)
    assert again.narrowest > 1.7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 1.5}, "seed = 1.5 must be a whole number"),
        ({"length": 50.0}, r"length = 50 m must be at least 72 m for width = 3.5 m"),
        ({"width": 0.0}, "width = 0.0 m must be finite and greater than 0"),
        ({"radius": float("nan")}, "radius = nan m must be"),
    ],
)
def test_what_cannot_be_made_is_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        random_track(**options)  # pyright: ignore[reportArgumentType]
