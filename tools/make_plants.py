"""Write the vehicles that the GPU tests load, with start states, inputs and the CPU's results.

A machine with a GPU need have neither CasADi nor llvmlite; it reads these files. A test on the CPU
checks that they are what this script would write now.

    python tools/make_plants.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import skidpad as sp

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "plants"
CASES = (
    ("four_wheel", "rk4", 1e-3),
    ("formula_student", "rk4", 1e-3),
    ("four_wheel", "radau", 1e-2),
)
VEHICLES, STEPS, EVERY = 96, 200, 50
BACK_STEPS = 40
COST = sp.Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer * u.steer + x.y * x.y,
    terminal=lambda x: x.yaw * x.yaw + x.omega * x.omega,
)


def inputs() -> tuple[np.ndarray, np.ndarray]:
    """Start states (B, nx) and streamed inputs (T, B, nu), the same for every case."""
    random = np.random.default_rng(20)
    x0 = np.zeros((VEHICLES, 11))
    x0[:, 2] = random.uniform(-3.0, 3.0, VEHICLES)
    x0[:, 3] = random.uniform(5.0, 15.0, VEHICLES)
    steer = random.uniform(-0.08, 0.08, (1, VEHICLES, 1)) * np.ones((STEPS, 1, 1))
    torque = random.uniform(0.0, 40.0, (STEPS, VEHICLES, 4))
    return x0, np.concatenate([steer, torque], axis=2)


def results(fleet: sp.Fleet) -> np.ndarray:
    """Samples of the rollout that the GPU has to repeat bit for bit."""
    x0, controls = inputs()
    return fleet.rollout(x0, controls, every=EVERY)


def gradients(fleet: sp.Fleet) -> dict[str, np.ndarray]:
    """Value and derivatives of the cost along the first steps."""
    x0, controls = inputs()
    value, gradient = fleet.gradient(x0, controls[:BACK_STEPS])
    return {"value": value, **gradient._asdict()}


def main() -> None:
    """Write a plant per case and all results into one archive."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found: dict[str, np.ndarray] = {}
    for vehicle, integrator, dt in CASES:
        name = f"{vehicle}.{integrator}"
        for precision in ("float64", "float32"):
            fleet = sp.Fleet(sp.vehicles.get(vehicle)(), dt, integrator, precision=precision)
            path = FOLDER / f"{name}.plant"
            fleet.save(path, cost=COST)
            found[f"{name}.{precision}"] = results(fleet)
            derived = gradients(sp.Fleet.load(path, precision=precision))
            found |= {f"{name}.{precision}.{part}": array for part, array in derived.items()}
    np.savez_compressed(FOLDER / "cpu_results.npz", **found)


if __name__ == "__main__":
    main()
