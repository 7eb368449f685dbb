"""Scans on a CUDA device: the bits of the processor, which are stored in a file."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.raycast.cuda_cases import ANGLES, LIMIT, stored
from skidpad.errors import InvalidValue
from skidpad.geometry.raycast.cuda import CudaScene

pytestmark = pytest.mark.gpu
CASES = stored()


@pytest.fixture
def xp():
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_scans_have_the_bits_of_the_processor(case, xp) -> None:
    scene = CudaScene(case.scene)
    options = {"max_range": LIMIT, "movers": case.movers}
    found = scene.scan(case.poses, ANGLES, **options)
    assert found.get().tobytes() == case.ranges.tobytes()
    out = xp.empty(found.shape, "float32")
    there = xp.asarray(case.poses)
    assert scene.scan(there, ANGLES, out, **options) is out
    assert out.get().tobytes() == case.ranges.astype(np.float32).tobytes()


def test_fast_scans_are_near(xp) -> None:
    case = CASES["many"]
    poses, inside = case.poses, np.abs(case.poses[:, 0]) < 100.0
    options = {"max_range": LIMIT, "movers": xp.asarray(case.movers), "fast": True}
    found = CudaScene(case.scene).scan(poses, ANGLES, **options).get()
    with np.errstate(invalid="ignore"):
        same = np.abs(found - case.ranges) < 1e-4
    same |= np.isinf(found) & np.isinf(case.ranges)
    assert np.mean(same[inside]) > 0.998


def test_arguments_that_cannot_be_used(xp) -> None:
    scene = CudaScene(CASES["few"].scene)
    with pytest.raises(InvalidValue, match="float32"):
        scene.scan(xp.zeros((1, 3), "float32"), ANGLES)
    with pytest.raises(InvalidValue, match="shape"):
        scene.scan(xp.zeros((1, 3)), ANGLES, xp.zeros((2, len(ANGLES))))
    with pytest.raises(InvalidValue, match="y"):
        scene.scan([[0.0, np.nan, 0.0]], ANGLES)
    with pytest.raises(InvalidValue, match="movers"):
        scene.scan(xp.zeros((2, 3)), ANGLES, movers=np.zeros((3, 1, 4)))
    assert np.isnan(scene.scan(xp.full((1, 3), np.nan), ANGLES).get()).all()
