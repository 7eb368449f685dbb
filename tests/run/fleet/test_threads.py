"""Two threads at once: simulators, fleets, one fleet for all, and first uses at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.core import record
from skidpad.geometry.raycast.scene import Scene
from waiting import PATIENCE

COUNT, STEPS = 100, 400


def at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What functions give that begin at the same moment, each in a thread of its own."""
    begin = threading.Barrier(len(works), timeout=PATIENCE)
    results: list[Any] = [None] * len(works)

    def run(k: int) -> None:
        begin.wait()
        try:
            results[k] = works[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def test_two_threads_step_two_simulators(bicycle: sp.Vehicle, car: sp.Vehicle) -> None:
    def run(vehicle: sp.Vehicle) -> Callable[[], list[Any]]:
        x0, table = starts(vehicle, 1)[0], inputs(vehicle, 3000, 1)[:, 0]

        def work() -> list[Any]:
            sim = sp.Simulator(vehicle, dt=0.001)
            sim.reset(tuple(x0))
            return [sim.step(tuple(row)) for row in table]

        return work

    works = [run(bicycle), run(car)]
    alone = [work() for work in works]
    assert at_once(works) == alone


@pytest.mark.parametrize("threads", [1, 2])
def test_two_threads_run_two_fleets(bicycle: sp.Vehicle, car: sp.Vehicle, threads: int) -> None:
    def run(vehicle: sp.Vehicle) -> Callable[[], bytes]:
        fleet = sp.Fleet(vehicle, dt=0.001, threads=threads)
        x0, u = starts(vehicle, COUNT), inputs(vehicle, STEPS, COUNT)
        return lambda: fleet.rollout(x0, u).tobytes()

    works = [run(bicycle), run(car)]
    alone = [work() for work in works]
    for _ in range(5):
        assert at_once(works) == alone


def test_one_fleet_is_used_by_many_threads(bicycle: sp.Vehicle) -> None:
    fleet = sp.Fleet(bicycle, dt=0.001, threads=2)
    cost = sp.Cost(stage=lambda x, u: x.y * x.y)
    x0, u = starts(bicycle, COUNT), inputs(bicycle, STEPS, COUNT)

    def rollout() -> bytes:
        return fleet.rollout(x0, u).tobytes()

    def gradient() -> bytes:
        return b"".join(a.tobytes() for a in fleet.gradient(x0, u, cost)[1])

    def outputs() -> bytes:
        return fleet.outputs(x0, u[0]).tobytes()

    works = [rollout, gradient, outputs, rollout, gradient, outputs]
    alone = [work() for work in works]
    for _ in range(3):
        assert at_once(works) == alone


def test_a_first_use_by_several_threads(car: sp.Vehicle) -> None:
    """What is compiled when it is needed may be compiled twice, and works."""
    fleet = sp.Fleet(car, dt=0.001, integrator="euler", threads=2)
    cost = sp.Cost(stage=lambda x, u: x.v_y * x.v_y)
    x0, u = starts(car, 20), inputs(car, 10, 20)
    rolled = at_once([lambda: fleet.rollout(x0, u).tobytes()] * 4)
    assert len(set(rolled)) == 1
    swept = at_once([lambda: fleet.gradient(x0, u, cost)[1].x0.tobytes()] * 4)
    assert len(set(swept)) == 1


def test_vehicles_are_built_and_compiled_by_several_threads() -> None:
    names = ["commonroad_ks", "commonroad_st", "double_integrator", "ackermann_truck"]

    def run(name: str) -> Callable[[], bytes]:
        def work() -> bytes:
            vehicle = sp.vehicles.get(name)()
            fleet = sp.Fleet(vehicle, dt=0.005, integrator="euler")
            sizes = (record.size(vehicle.State), record.size(vehicle.Input))
            x0, u = (np.full((5, n), 0.1) for n in sizes)
            return fleet.rollout(x0, u, steps=10).tobytes()

        return work

    works = [run(name) for name in names]
    assert at_once(works) == [work() for work in works]


def test_scans_by_several_threads() -> None:
    """From the first call on, which compiles."""
    random = np.random.default_rng(4)
    ends = random.uniform(-30.0, 30.0, (200, 2))
    scene = Scene(np.hstack([ends, ends + random.uniform(-2.0, 2.0, ends.shape)]))
    poses, angles = random.uniform(-3.0, 3.0, (200, 3)), np.linspace(-2.0, 2.0, 180)
    works = [lambda k=k: scene.scan(poses, angles, threads=k).tobytes() for k in (1, 2, 3, 4)]
    assert len(set(at_once(works))) == 1
    works = [lambda: scene.cast(0.0, 0.0, angles).tobytes()] * 4
    assert len(set(at_once(works))) == 1
