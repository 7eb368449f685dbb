"""Shared arrays on a CUDA device: the bits of the CPU, exchanged and dropped arrays."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile.gpu import CudaMap, cupy
from skidpad.compile.program import Instruction, Port, Program

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import make_map_plant
from make_plants import FOLDER

pytestmark = pytest.mark.gpu
PLANT = FOLDER / f"{make_map_plant.MAPPED}.plant"
PRECISIONS = ("float32", "float64")
READ = Program(
    "read",
    (Port("a", ("number", "index")),),
    (Port("r", ("element",)),),
    (
        Instruction("input", (), (0, 0)),
        Instruction("input", (), (0, 1)),
        Instruction("read", (0, 1)),
    ),
    ((2,),),
)


def read(kernel: CudaMap, numbers: object, indices: object) -> np.ndarray:
    columns = np.broadcast_arrays(np.asarray(numbers, float), np.asarray(indices, float))
    table = np.stack(columns, axis=-1)
    port = cupy().asarray(table[None], kernel.precision)
    return kernel.run([port], len(table))[0].get()[0, :, 0]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rollouts_and_gradients_have_the_bits_of_the_cpu(precision):
    with np.load(FOLDER / "mapped_results.npz") as file:
        wanted = dict(file)
    fleet = sp.Fleet.load(PLANT, precision=precision, device="cuda")
    for part, array in make_map_plant.mapped_results(fleet).items():
        assert array.tobytes() == wanted[f"{precision}.{part}"].tobytes(), part


@pytest.mark.parametrize("precision", PRECISIONS)
def test_elements_of_any_numbers(precision):
    random = np.random.default_rng(3)
    few, many = sp.ops.shared_array([7.5]), sp.ops.shared_array(random.normal(size=10_000_000))
    odd = [0.0, -1.0, 0.5, float(few) + 0.5, 1e30, np.inf, -np.inf, np.nan, float(many) + 1000.0]
    numbers = random.choice([*[float(few), float(many)] * 5, *odd], 4000)
    indices = np.floor(random.uniform(-5.0, 1.1e7, 4000))
    indices[::7] = random.choice([np.nan, np.inf, -np.inf, -1e30, 1e30, 1e7, -0.0], 572)
    wanted = sp.ops.read(numbers.astype(precision), indices.astype(precision))
    found = read(CudaMap(READ, precision), numbers, indices)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert 0.3 < np.isfinite(found).mean() < 0.9


@pytest.mark.parametrize("precision", PRECISIONS)
def test_arrays_come_and_go(precision):
    kernel = CudaMap(READ, precision)
    first = sp.ops.shared_array([1.0, 2.0])
    assert read(kernel, first, [0.0, 1.0]).tolist() == [1.0, 2.0]
    second = sp.ops.shared_array([3.0])
    assert read(kernel, [first, second], [1.0, 1.0]).tolist() == [2.0, 3.0]
    gone = float(first)
    del first
    assert np.isnan(read(kernel, gone, [0.0])).all()
    third = sp.ops.shared_array([4.0, 5.0])
    assert float(third) != gone
    assert read(kernel, [third, second, gone], [0.0, 0.0, 0.0])[:2].tolist() == [4.0, 3.0]
