"""Shared arrays: one number for the same values, for as long as somebody holds it."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from skidpad.core import record
from skidpad.core.arrays import ArrayNumber, alive
from skidpad.errors import InvalidValue
from skidpad.ops import read, shared_array
from waiting import PATIENCE


def fresh(size: int = 10) -> np.ndarray:
    """Values that no other test has."""
    return np.random.default_rng().normal(size=size)


def test_the_same_values_have_one_number_and_others_another() -> None:
    values = fresh()
    number = shared_array(values)
    assert number == int(number) >= 1
    assert shared_array(list(values)) is number
    assert shared_array(values[::-1]) != number
    assert shared_array(values.reshape(2, 5)) is number


def test_values_are_a_copy_in_the_order_of_c_that_nobody_can_write() -> None:
    values = fresh(6).reshape(2, 3)
    number = shared_array(np.asfortranarray(values))
    before = values.copy()
    values[:] = 0.0
    assert number.values.tolist() == before.ravel().tolist()
    assert number.values.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        number.values[0] = 1.0


def test_an_array_that_nobody_holds_reads_nan_and_its_number_is_not_used_again() -> None:
    number = shared_array(fresh())
    last = float(number)
    assert read(last, 0.0) == number.values[0]
    assert int(last) in alive()
    del number
    gc.collect()
    assert int(last) not in alive()
    assert np.isnan(read(last, 0.0))
    assert np.isnan(read(np.full(3, last), np.arange(3.0))).all()
    assert shared_array(fresh()) > last


def test_dropped_values_that_come_again_have_a_new_number() -> None:
    values = fresh()
    last = float(shared_array(values))
    gc.collect()
    again = shared_array(values)
    assert again > last
    assert read(again, 3.0) == values[3]


def test_who_holds_the_arrays_of_a_moment_keeps_their_memory() -> None:
    values = fresh(1000)
    number = shared_array(values)
    held = alive()[int(number)]
    del number
    gc.collect()
    assert held.float64[8:].view(np.float64).tolist() == values.tolist()


def test_a_number_is_a_float_that_is_pickled_and_copied_by_content() -> None:
    number = shared_array(fresh())
    assert isinstance(number, float)
    assert repr(number) == f"<array {int(number)} of 10 numbers>"
    assert f"{number:g}" == f"{int(number)}"
    for other in (pickle.loads(pickle.dumps(number)), copy.copy(number), copy.deepcopy(number)):
        assert other is number
    content, last = pickle.dumps(number), float(number)
    values = number.values.copy()
    del number, other
    gc.collect()
    again = pickle.loads(content)
    assert type(again) is ArrayNumber
    assert again > last
    assert again.values.tolist() == values.tolist()


@pytest.mark.parametrize("values", [[], "map", [["a"]], [[1.0], [1.0, 2.0]], None])
def test_what_is_no_array_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(InvalidValue, match="shared array"):
        shared_array(values)


class Inner(NamedTuple):
    values: float
    gain: float = 1.0


class Outer(NamedTuple):
    map: Inner
    m: float = 2.0


DEFAULT = shared_array([4.0, 5.0])


class WithDefault(NamedTuple):
    values: float = DEFAULT


def test_records_keep_the_number_that_keeps_the_array() -> None:
    number = shared_array(fresh())
    for made in (
        record.build(Outer, {"map.values": number}),
        record.build(Outer, map=Inner(number)),
        record.build(Outer, [number, 1.0, 2.0]),
        record.build(Outer, record.build(Outer, {"map.values": number})),
    ):
        assert record.flatten(made)[0] is number
    assert record.fields(WithDefault)[0].default is DEFAULT
    assert record.build(WithDefault).values is DEFAULT


def expected(values: np.ndarray, index: float) -> float:
    return float("nan") if np.isnan(index) else values[int(np.clip(index, 0, len(values) - 1))]


INDICES = [0.0, 3.0, 9.0, 10.0, 1e300, -1.0, -1e300, np.inf, -np.inf, np.nan, -0.0]


def test_reads_outside_give_the_nearest_and_nan_gives_nan() -> None:
    number = shared_array(fresh())
    wanted = [expected(number.values, i) for i in INDICES]
    floats = [read(number, i) for i in INDICES]
    arrays = read(number, np.array(INDICES))
    with jax.enable_x64(True):
        traced = jax.jit(read)(jax.numpy.asarray(number), jax.numpy.asarray(INDICES))
    for found in (floats, arrays, traced):
        assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("shift", [0.5, -1e6, 1e6, np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_no_array_has_read_nan(shift: float) -> None:
    number = float(DEFAULT) + shift
    assert np.isnan(read(number, 0.0))
    assert np.isnan(read(np.array([number]), np.array([0.0]))).all()
    with jax.enable_x64(True):
        assert np.isnan(read(jax.numpy.asarray(number), 0.0))


def test_arrays_of_single_precision_stay_so() -> None:
    found = read(np.float32(DEFAULT), np.zeros(3, np.float32))
    assert found.dtype == np.float32
    assert read(np.full(2, DEFAULT), np.zeros(2)).dtype == np.float64


def test_threads_that_make_and_drop_arrays_do_not_disturb_each_other() -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        random = np.random.default_rng([seed, 77])
        for _ in range(200):
            values = random.normal(size=random.integers(1, 50))
            number, same = shared_array(values), shared_array(values.copy())
            index = float(random.integers(0, len(values)))
            if number is not same or read(number, index) != values[int(index)]:
                failures.append(f"{number!r}")

    before = set(alive())
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not failures
    assert set(alive()) <= before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_has_the_arrays_of_its_parent_and_its_own() -> None:
    script = """
import os
from skidpad.ops import read, shared_array
mine = shared_array([1.0, 2.0])
child = os.fork()
own = shared_array([3.0 if child else 4.0])
good = read(mine, 1.0) == 2.0 and read(own, 0.0) == (3.0 if child else 4.0)
if child == 0:
    os._exit(0 if good else 1)
assert good and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)
