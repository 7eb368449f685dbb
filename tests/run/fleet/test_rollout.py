"""What a rollout takes and gives: shapes, layouts, held and streamed values, samples."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.core import record
from skidpad.units import N, kg, m, m_s, one, positive, s

DT = 0.001


class Position(NamedTuple):
    p: m = 0.0
    v: m_s = 0.0


class Push(NamedTuple):
    F: N = 0.0


class Wind(NamedTuple):
    F: N = 0.0
    grip: one = 1.0


class Body(NamedTuple):
    m: Annotated[kg, positive] = 2.0
    tau: Annotated[s, positive] = 1.0


def pushed(x: Any, u: Any, w: Any, p: Any) -> Position:
    return Position(x.v, (w.grip * u.F + w.F) / p.m - x.v / p.tau)


BLOCK = sp.Vehicle(
    sp.Model("block", Position, Push, Body, derivative=pushed, Disturbance=Wind), Body()
)
"""A block pushed along a line, with a disturbance: small enough to follow by hand."""


@pytest.fixture(scope="module")
def blocks() -> sp.Fleet:
    return sp.Fleet(BLOCK, dt=0.5, integrator="euler", lanes=4, threads=1)


def follow(x: Any, u: Any, w: Any, p: Any, steps: int) -> np.ndarray:
    """Explicit Euler of blocks in NumPy; u (T, B, 1), w (T, B, 2), p (B, 2)."""
    rows = [np.array(x, float)]
    for k in range(steps):
        position, v = rows[-1].T
        slope = (w[k, :, 1] * u[k, :, 0] + w[k, :, 0]) / p[:, 0] - v / p[:, 1]
        rows.append(np.stack([position + 0.5 * v, v + 0.5 * slope], axis=1))
    return np.array(rows)


def random_case(count: int, steps: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(count)
    return (
        rng.normal(size=(count, 2)),
        rng.normal(size=(steps, count, 1)),
        rng.uniform(0.5, 1.5, (steps, count, 2)),
        rng.uniform(1.0, 3.0, (count, 2)),
    )


@pytest.mark.parametrize("count", [1, 3, 4, 5, 9])
def test_everything_streamed_and_per_vehicle(blocks: sp.Fleet, count: int) -> None:
    x, u, w, p = random_case(count, 6)
    got = blocks.rollout(x, u, disturbances=w, params=p)
    np.testing.assert_allclose(got, follow(x, u, w, p, 6), rtol=1e-13, atol=1e-13)


def test_held_values(blocks: sp.Fleet) -> None:
    x, u, w, p = random_case(5, 1)
    whole = (np.repeat(u, 4, axis=0), np.repeat(w, 4, axis=0))
    held = blocks.rollout(x, u[0], disturbances=w[0], params=p, steps=4)
    assert held.tobytes() == blocks.rollout(x, whole[0], disturbances=whole[1], params=p).tobytes()
    mixed = blocks.rollout(x, whole[0], disturbances=w[0], params=p)
    assert held.tobytes() == mixed.tobytes()


def test_one_input_for_all(blocks: sp.Fleet) -> None:
    x = random_case(5, 1)[0]
    wanted = blocks.rollout(x, np.full((5, 1), 3.0), steps=3)
    for given in ({"F": 3.0}, Push(3.0), [3.0], np.array([[3.0]])):
        assert blocks.rollout(x, given, steps=3).tobytes() == wanted.tobytes()
    per_step = np.full((3, 1, 1), 3.0)
    assert blocks.rollout(x, per_step).tobytes() == wanted.tobytes()


def test_no_input_is_the_default(blocks: sp.Fleet) -> None:
    x = random_case(3, 1)[0]
    assert blocks.rollout(x, steps=3).tobytes() == blocks.rollout(x, {"F": 0.0}, steps=3).tobytes()


def test_disturbances_by_name(blocks: sp.Fleet) -> None:
    x = np.zeros((2, 2))
    out = blocks.rollout(x, {"F": 4.0}, disturbances={"grip": 0.5, "F": 1.0}, steps=1)
    np.testing.assert_allclose(out[1, :, 1], 0.5 * (0.5 * 4.0 + 1.0) / 2.0)


def test_one_start_for_all_and_the_batch_from_elsewhere(blocks: sp.Fleet) -> None:
    for start in ([1.0, 2.0], Position(1.0, 2.0), {"p": 1.0, "v": 2.0}):
        out = blocks.rollout(start, np.zeros((7, 1)), steps=2)
        assert out.shape == (3, 7, 2)
        assert (out[0] == [1.0, 2.0]).all()
    assert blocks.rollout([1.0, 2.0], steps=2).shape == (3, 1, 2)
    assert blocks.rollout([1.0, 2.0], steps=2, params={"m": [1.0, 2.0]}).shape == (3, 2, 2)


def test_parameters_by_name_and_by_table(blocks: sp.Fleet) -> None:
    x, u, _, _ = random_case(3, 4)
    masses = np.array([1.0, 2.0, 4.0])
    table = np.stack([masses, np.full(3, 5.0)], axis=1)
    named = blocks.rollout(x, u, params={"m": masses, "tau": 5.0})
    assert named.tobytes() == blocks.rollout(x, u, params=table).tobytes()
    for k, mass in enumerate(masses):
        vehicle = BLOCK.with_params(m=mass, tau=5.0)
        alone = sp.Fleet(vehicle, dt=0.5, integrator="euler", lanes=1, threads=1)
        assert alone.rollout(x[k], u[:, k : k + 1])[:, 0].tobytes() == named[:, k].tobytes()


@pytest.mark.parametrize("every", [1, 2, 3, 6])
def test_samples_every_few_steps(fleet: sp.Fleet, bicycle: sp.Vehicle, every: int) -> None:
    x0, u = starts(bicycle, 5), inputs(bicycle, 6, 5)
    full = fleet.rollout(x0, u)
    part = fleet.rollout(x0, u, every=every)
    assert part.shape == (6 // every + 1, 5, 11)
    assert part.tobytes() == full[::every].tobytes()


def views(array: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers in other places of memory."""
    spread = np.zeros((array.shape[0] * 2, *array.shape[1:]))
    spread[::2] = array
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 2))
    wide[..., 1:-1] = array
    packed = np.zeros(array.size * 8 + 1, np.uint8)
    packed[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return {
        "Fortran": np.asfortranarray(array),
        "every other": spread[::2],
        "reversed": array[::-1].copy()[::-1],
        "middle": wide[..., 1:-1],
        "big-endian": array.astype(">f8"),
        "odd address": packed[1:].view(float).reshape(array.shape),
        "lists": array.tolist(),  # type: ignore[dict-item]
        "read-only": np.frombuffer(array.tobytes()).reshape(array.shape),
    }


@pytest.mark.parametrize("count", [1, 5, 8, 19])
def test_views(fleet: sp.Fleet, bicycle: sp.Vehicle, count: int) -> None:
    x0, u = starts(bicycle, count), inputs(bicycle, 4, count)
    p = np.repeat([record.flatten(bicycle.params)], count, axis=0) * 1.01
    wanted = fleet.rollout(x0, u, params=p).tobytes()
    for name, view in views(x0).items():
        assert fleet.rollout(view, u, params=p).tobytes() == wanted, name
    for name, view in views(u).items():
        assert fleet.rollout(x0, view, params=p).tobytes() == wanted, name
    for name, view in views(p).items():
        assert fleet.rollout(x0, u, params=view).tobytes() == wanted, name


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_layouts(bicycle: sp.Vehicle, lanes: int) -> None:
    fleet = sp.Fleet(bicycle, DT, "heun", lanes=lanes, threads=2)
    x0, u = starts(bicycle, 13), inputs(bicycle, 4, 13)
    wanted = fleet.rollout(x0, u, every=2)
    soa = fleet.rollout(x0.T, np.swapaxes(u, 1, 2), every=2, layout="soa")
    assert soa.shape == (3, 11, 13)
    assert soa.flags.c_contiguous
    assert np.swapaxes(soa, 1, 2).tobytes() == wanted.tobytes()
    contiguous = fleet.rollout(x0.T.copy(), np.swapaxes(u, 1, 2).copy(), every=2, layout="soa")
    assert contiguous.tobytes() == soa.tobytes()
    held = fleet.rollout(x0.T, u[0].T, steps=4, layout="soa")
    assert np.swapaxes(held, 1, 2).tobytes() == fleet.rollout(x0, u[0], steps=4).tobytes()


def test_broadcast_controls(fleet: sp.Fleet, bicycle: sp.Vehicle) -> None:
    x0, row = starts(bicycle, 5), inputs(bicycle, 1, 1)[0, 0]
    wanted = fleet.rollout(x0, np.tile(row, (4, 5, 1))).tobytes()
    assert fleet.rollout(x0, np.broadcast_to(row, (4, 5, 5))).tobytes() == wanted
    assert fleet.rollout(np.broadcast_to(x0[0], (5, 11)), row, steps=4).shape == (5, 5, 11)


def test_arguments_are_not_changed(fleet: sp.Fleet, bicycle: sp.Vehicle) -> None:
    x0, u = starts(bicycle, 5), inputs(bicycle, 4, 5)
    before = x0.tobytes() + u.tobytes()
    out = fleet.rollout(x0, u)
    assert x0.tobytes() + u.tobytes() == before
    assert not np.shares_memory(out, x0)
    out[:] = 0.0
    assert x0.tobytes() + u.tobytes() == before


def test_precision(bicycle: sp.Vehicle, fleet: sp.Fleet) -> None:
    x0, u = starts(bicycle, 5), inputs(bicycle, 50, 5)
    single = sp.Fleet(bicycle, DT, "heun", precision="float32", lanes=8).rollout(x0, u)
    assert single.dtype == np.float32
    double = fleet.rollout(x0, u)
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-4)


def test_a_discrete_model() -> None:
    def update(x: Any, u: Any, w: Any, p: Any, dt: Any) -> Position:
        return Position(x.p + dt * x.v, x.v + u.F / p.m)

    vehicle = sp.Vehicle(sp.Model("hop", Position, Push, Body, update=update), Body())
    out = sp.Fleet(vehicle, dt=0.25, lanes=4).rollout([0.0, 1.0], {"F": 4.0}, steps=2)
    np.testing.assert_allclose(out[:, 0], [[0.0, 1.0], [0.25, 3.0], [1.0, 5.0]])


def test_a_model_without_inputs() -> None:
    class Nothing(NamedTuple):
        pass

    vehicle = sp.Vehicle(
        sp.Model(
            "coast", Position, Nothing, Body, derivative=lambda x, u, w, p: Position(x.v, 0.0 * x.v)
        ),
        Body(),
    )
    out = sp.Fleet(vehicle, dt=0.5, lanes=4).rollout([[0.0, 2.0]] * 3, steps=2)
    np.testing.assert_array_equal(out[-1], [[2.0, 2.0]] * 3)


def test_the_interpreter_runs_meanwhile(bicycle: sp.Vehicle, fleet: sp.Fleet) -> None:
    """Two rollouts in two Python threads give what each gives alone."""
    from concurrent.futures import ThreadPoolExecutor

    cases = [(starts(bicycle, 50, k), inputs(bicycle, 40, 50, k)) for k in range(4)]
    alone = [fleet.rollout(*case).tobytes() for case in cases]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda case: fleet.rollout(*case).tobytes(), cases))
    assert together == alone
