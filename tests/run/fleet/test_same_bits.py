"""The same bits from Simulator and Fleet at any lane width, thread count and batch size."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from run.fleet.driving import inputs, starts
from skidpad.compile.pipeline import LANES
from skidpad.core import record

STEPS = 12
CASES = [
    ("kinematic_bicycle", "rk4", 2e-3),
    ("kinematic_bicycle", "radau", 1e-2),
    ("kinematic_bicycle", "heun", 1e-3),
    ("kinematic_bicycle", "euler", 1e-3),
    ("kinematic_bicycle", "semi_implicit", 1e-3),
    ("kinematic_bicycle", "dopri5", 2e-3),
    ("four_wheel", "rk4", 1e-3),
    ("brains2", "heun", 1e-3),
    ("formula_student", "euler", 5e-4),
]
"""The first two in single precision, too; all of them among the slow."""
LONG = [("four_wheel", "radau2", 1e-2)]
PRECISIONS = ("float64", "float32")


def by_simulator(
    vehicle: sp.Vehicle, dt: float, integrator: str, precision: str, x0: np.ndarray, u: np.ndarray
) -> np.ndarray:
    simulator = sp.Simulator(vehicle, dt, integrator, precision=precision)
    runs = []
    for start, controls in zip(x0, u.swapaxes(0, 1), strict=True):
        simulator.reset(start)
        first = tuple(start.astype(precision))
        runs.append([first, *(tuple(simulator.step(row)) for row in controls)])
    return np.array(runs, dtype=precision).swapaxes(0, 1)


@pytest.mark.slow_cases(
    "brains2-heun-0.001-float64",
    "kinematic_bicycle-dopri5-0.002-float64",
    "kinematic_bicycle-radau-0.01-float32",
)
@pytest.mark.parametrize(
    ("name", "integrator", "dt", "precision"),
    [
        *((*case, "float64") for case in CASES),
        *((*case, "float32") for case in CASES[:2]),
        *(pytest.param(*case, "float32", marks=pytest.mark.slow) for case in CASES[2:]),
        *(pytest.param(*case, p, marks=pytest.mark.slow) for case in LONG for p in PRECISIONS),
    ],
)
def test_simulator_and_every_lane_width(
    name: str, integrator: str, dt: float, precision: str
) -> None:
    vehicle = sp.vehicles.get(name)()
    x0, u = starts(vehicle, 11), inputs(vehicle, STEPS, 11)
    brakes = [name.startswith("brake") for name in record.names(vehicle.Input)]
    u[..., brakes] = np.abs(u[..., brakes])
    if vehicle.model.settle is not None:
        # Only a simulator settles its start; here both shall begin at the same place.
        simulator = sp.Simulator(vehicle, dt, integrator)
        x0 = np.array([simulator.reset(start) for start in x0])
    # All widths where the program is small, the ends and the middle where compiling takes longer.
    widths = LANES if integrator in ("rk4", "radau") and name == "kinematic_bicycle" else (1, 8)
    wanted = by_simulator(vehicle, dt, integrator, precision, x0[:3], u[:, :3])
    assert np.isfinite(wanted).all()
    for lanes in widths:
        fleet = sp.Fleet(vehicle, dt, integrator, precision=precision, lanes=lanes, threads=1)
        out = fleet.rollout(x0, u)
        assert out.dtype == precision
        assert out[:, :3].tobytes() == wanted.tobytes(), f"{lanes} lanes"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 31, 33, 100])
def test_batch_sizes(bicycle: sp.Vehicle, fleet: sp.Fleet, count: int) -> None:
    x0, u = starts(bicycle, 100), inputs(bicycle, STEPS, 100)
    whole = fleet.rollout(x0, u)
    part = fleet.rollout(x0[:count], u[:, :count])
    assert part.tobytes() == whole[:, :count].tobytes()
    end = fleet.rollout(x0[-count:], u[:, -count:])
    assert end.tobytes() == whole[:, -count:].tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 50])
def test_thread_counts(bicycle: sp.Vehicle, fleet: sp.Fleet, threads: int) -> None:
    x0, u = starts(bicycle, 77), inputs(bicycle, STEPS, 77)
    other = sp.Fleet(bicycle, dt=0.001, integrator="heun", threads=threads, lanes=8)
    assert other.threads == threads
    assert other.rollout(x0, u, every=3).tobytes() == fleet.rollout(x0, u, every=3).tobytes()


def test_a_vehicle_does_not_see_its_neighbours(bicycle: sp.Vehicle) -> None:
    fleet = sp.Fleet(bicycle, dt=0.001, integrator="heun", lanes=8, on_diverge="mask")
    x0, u = starts(bicycle, 16), inputs(bicycle, STEPS, 16)
    before = fleet.rollout(x0, u)
    wild = x0.copy()
    wild[5, 3] = 1e300
    after = fleet.rollout(wild, u)
    others = np.arange(16) != 5
    assert np.isnan(after[-1, 5]).all()
    assert after[:, others].tobytes() == before[:, others].tobytes()


def test_a_run_in_two_parts_is_the_same_run(bicycle: sp.Vehicle, fleet: sp.Fleet) -> None:
    x0, u = starts(bicycle, 9), inputs(bicycle, 10, 9)
    whole = fleet.rollout(x0, u)
    first = fleet.rollout(x0, u[:4])
    second = fleet.rollout(first[-1], u[4:])
    assert whole[:5].tobytes() == first.tobytes()
    assert whole[4:].tobytes() == second.tobytes()


def test_step_and_run_of_a_simulator(bicycle: sp.Vehicle) -> None:
    u = inputs(bicycle, 20, 1)[:, 0]
    stepped, driven, called = (sp.Simulator(bicycle, 0.001, "heun") for _ in range(3))
    for simulator in (stepped, driven, called):
        simulator.reset(v_x=4.0)
    states = np.array([tuple(stepped.step(row)) for row in u])
    assert driven.run(u).states[1:].tobytes() == states.tobytes()
    rows = iter(u)
    assert called.run(lambda t, x: next(rows), steps=20).states[1:].tobytes() == states.tobytes()
