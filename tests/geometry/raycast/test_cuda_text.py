"""The CUDA text of scans, built for the processor: the bits of the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile import cuda_harness
from geometry.raycast import cuda_cases, plain_rays
from geometry.raycast.cuda_cases import ANGLES, LIMIT
from skidpad.geometry.raycast import Scene, cuda
from skidpad.geometry.raycast.cuda import source
from skidpad.geometry.raycast.fan import units
from skidpad.geometry.raycast.scene import NEVER

CASES = cuda_cases.stored()
# What CUDA adds to C++ beyond the words of the harness.
WORDS = """\
#define __forceinline__ inline
#define __align__(size) alignas(size)
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cuda")


def scanned(folder, scene, poses, movers, *, precision="float64", result="float64", limit=LIMIT):
    """What the kernel `scan` makes, thread by thread."""
    tables = cuda.Tables(scene, precision)
    grid, occupied = cuda.grid_of(scene)
    movers = movers if movers.ndim == 3 else movers[None]
    rows = np.zeros((*movers.shape[:2], 8))
    rows[..., :4] = movers - np.tile(tables.shift, 2)
    rows[..., 6] = NEVER
    rows = rows.astype(precision)
    out = np.full((len(poses), len(ANGLES)), -1.0, result)
    step = rows.shape[1] if len(rows) > 1 else 0
    arrays = (np.ascontiguousarray(poses), *units(ANGLES), tables.frame, tables.starts, tables.rows)
    numbers = (len(ANGLES), out.size, rows.shape[1], step, np.float64(limit))
    launch = cuda_harness.kernel(WORDS + source(precision, result), "scan", folder)
    launch(out.size, [], [*arrays, rows, occupied, grid, out, *numbers])
    return out


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_stored_scans_are_those_of_this_machine(case) -> None:
    assert case.scanned().tobytes() == case.ranges.tobytes()


@pytest.mark.slow_cases("few", "many")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_scans_have_the_bits_of_the_processor(case, folder) -> None:
    assert np.isfinite(case.ranges).any()
    found = scanned(folder, case.scene, case.poses, case.movers)
    assert found.tobytes() == case.ranges.tobytes()
    narrow = scanned(folder, case.scene, case.poses, case.movers, result="float32")
    assert narrow.tobytes() == case.ranges.astype(np.float32).tobytes()


def test_the_whole_range(folder) -> None:
    case = CASES["many"]
    expected = case.scene.scan(case.poses, ANGLES, movers=case.movers)
    found = scanned(folder, case.scene, case.poses, case.movers, limit=np.inf)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["many", "grid"])
def test_float32_arithmetic_is_near(name, folder) -> None:
    case = CASES[name]
    found = scanned(folder, case.scene, case.poses, case.movers, precision="float32")
    # A ray that just passes an edge may meet what lies behind it; those within 1e8 m only.
    inside = np.abs(case.poses[:, 0]) < 100.0
    with np.errstate(invalid="ignore"):
        same = np.abs(found - case.ranges) < 1e-4
    same |= np.isinf(found) & np.isinf(case.ranges)
    assert np.mean(same[inside]) > 0.998


def test_poses_that_are_not_finite_give_nan(folder) -> None:
    poses = np.array([[np.nan, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, np.nan], [5.0, 5.0, 0.0]])
    found = scanned(folder, Scene(plain_rays.clutter(2)), poses, np.empty((0, 4)))
    assert np.isnan(found[:3]).all()
    assert not np.isnan(found[3]).any()


def test_units_have_the_bits_of_the_processor(folder) -> None:
    angles = np.concatenate([np.linspace(-20.0, 20.0, 301), [1e9, -3e8, 0.0, -0.0]])
    cos, sin = np.empty_like(angles), np.empty_like(angles)
    launch = cuda_harness.kernel(WORDS + source("float64", "float64"), "units", folder)
    launch(len(angles), [], [angles, cos, sin, len(angles)])
    assert [cos.tobytes(), sin.tobytes()] == [part.tobytes() for part in units(angles)]
    assert cos == pytest.approx(np.cos(angles), abs=2e-16)
    assert sin == pytest.approx(np.sin(angles), abs=2e-16)


@pytest.mark.slow_cases("float32")
@pytest.mark.skipif(cuda_harness.NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_nvcc_takes_the_text(precision, tmp_path) -> None:
    assert cuda_harness.cubin(source(precision, "float32"), tmp_path, fast=precision == "float32")
