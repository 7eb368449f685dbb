"""Write the vehicles that the GPU tests load, with start states, inputs and the CPU's results.

A machine with a GPU need have neither CasADi nor llvmlite; it reads these files. A test on the CPU
checks that they are what this script would write now.

    python tools/make_plants.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import skidpad as sp
from skidpad.bench import work
from skidpad.control import speed
from skidpad.core.policy import Policy
from skidpad.units import m, m_s, one, per_m
from skidpad.vehicles.command_driven.records import PARAMETERS
from skidpad.vehicles.formula import Input, State
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip
from skidpad.vehicles.registry import COMMAND_DRIVEN

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "plants"
CASES = (
    ("four_wheel", "rk4", 1e-3),
    ("formula_student", "rk4", 1e-3),
    ("four_wheel", "radau", 1e-2),
    ("two_track", "rk4", 1e-3),
    ("full_car", "rk4", 1e-3),
)
VEHICLES, STEPS, EVERY = 96, 200, 50
BACK_STEPS = 40
COST = sp.Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer * u.steer + x.y * x.y,
    terminal=lambda x: x.yaw * x.yaw + x.omega * x.omega,
)


class Reference(NamedTuple):
    """A speed and a line parallel to the world x axis."""

    v: m_s = 10.0
    y: m = 0.0


class Gains(NamedTuple):
    """Of the closed loop."""

    throttle: speed.Params = speed.Params(k_p=40.0, k_i=30.0, tau_min=-80.0, tau_max=80.0)
    k_y: per_m = 0.05
    k_yaw: one = 0.5


def follow(
    x: State, m: speed.Memory, r: Reference, p: Gains, dt: float
) -> tuple[Input, speed.Memory]:
    """PI control of speed and steering back to the line."""
    tau, memory = speed.torque(p.throttle, m, x.v_x, r.v, dt)
    steer = sp.ops.clip(p.k_y * (r.y - x.y) - p.k_yaw * sp.ops.sin(x.yaw), -0.3, 0.3)
    return Input(steer, tau, tau, tau, tau), memory


LOOP = "four_wheel.follow.rk4"
POLICY = Policy(follow, speed.Memory, Reference, Gains, name="follow")


def closed_loop(precision: str = "float64") -> sp.Fleet:
    """A fleet of cars with a driver, two sub-steps to a command."""
    fleet = sp.Fleet(sp.vehicles.four_wheel(), 2e-3, precision=precision, substeps=2)
    return fleet.closed_loop(POLICY)


def loop_results(fleet: sp.Fleet) -> np.ndarray:
    """Samples of closed loops with gains of their own and streamed references."""
    x0 = np.concatenate([inputs()[0], np.zeros((VEHICLES, 1))], axis=1)
    random = np.random.default_rng(21)
    references = random.uniform((5.0, -1.0), (15.0, 1.0), (STEPS, VEHICLES, 2))
    gains = {"policy.k_y": random.uniform(0.0, 0.1, VEHICLES)}
    return fleet.rollout(x0, references, params=gains, every=EVERY)


MAPS = FOLDER.parent / "autoware" / "maps"
COMMANDED = tuple(name for name in COMMAND_DRIVEN if name != "LEARNED_STEER_VEL")
COMMAND_PERIOD = 0.02
_RANGES = {
    "velocity": (-3.0, 8.0),
    "acceleration": (-3.0, 3.0),
    "accel": (0.0, 0.6),
    "brake": (0.0, 0.4),
    "steer": (-0.5, 0.5),
    "slope": (-0.5, 0.5),
}


def commanded(name: str, precision: str = "float64") -> sp.Fleet:
    """A fleet of a command-driven model with every map it takes."""
    params = {
        "wheel_base": 2.79,
        **{f"{kind}_map_path": str(MAPS / f"{kind}_map.csv") for kind in ("accel", "brake")},
        **{f"{kind}_map_path": str(MAPS / f"{kind}_map.csv") for kind in ("steer", "acceleration")},
        **{f"{kind}_time_delay": 0.1 for kind in ("accel", "brake")},
        **{f"{kind}_time_constant": 0.1 for kind in ("accel", "brake")},
        **{f"convert_{kind}_cmd": True for kind in ("accel", "brake")},
        **{"vgr_coef_a": 15.713, "vgr_coef_b": 0.053, "vgr_coef_c": 0.042},
        **{p.name: p.example for p in PARAMETERS.values() if p.name.startswith("mechanical")},
    }
    return sp.Fleet(sp.vehicles.autoware(name, params), COMMAND_PERIOD, precision=precision)


def commanded_results(fleet: sp.Fleet) -> dict[str, np.ndarray]:
    """Samples and the queue at the end, with random commands, gears and delays per vehicle."""
    random = np.random.default_rng(22)
    plant = fleet.plant
    x0 = np.zeros((VEHICLES, sp.core.record.size(plant.State)))
    x0[:, sp.core.record.names(plant.State).index("v_x")] = random.uniform(0.0, 9.0, VEHICLES)
    if "column.front" in sp.core.record.names(plant.State):
        x0[:, sp.core.record.names(plant.State).index("column.front")] = -1.0
    columns = [
        random.choice([0.0, 1.0, 2.0, 20.0, 22.0, 23.0], (STEPS // 20, VEHICLES)).repeat(20, axis=0)
        if name == "gear"
        else random.uniform(*_RANGES[name], (STEPS, VEHICLES))
        for name in sp.core.record.names(plant.Input)
    ]
    delays = {name: random.uniform(0.0, 0.3, VEHICLES) for name in plant.dead_times.values()}
    delayed = bool(delays)
    found = fleet.rollout(
        x0, np.stack(columns, axis=2), params=delays, every=EVERY, return_pending=delayed
    )
    return dict(zip(("states", "pending"), found if delayed else (found,), strict=False))


def car(name: str) -> sp.Vehicle:
    """A vehicle of `CASES`: `two_track` on a tyre by the Magic Formula with slip as a state."""
    if name != "two_track":
        return sp.vehicles.get(name)()
    return sp.vehicles.two_track(tyre=sp.tyres.get("passenger_car"), slip=FirstOrderSlip())


def inputs(State: type = State, Input: type = Input) -> tuple[np.ndarray, np.ndarray]:
    """Start states (B, nx) and streamed inputs (T, B, nu): motion, and torques of the wheels."""
    random = np.random.default_rng(20)
    states, controls = sp.core.record.names(State), sp.core.record.names(Input)
    x0 = np.zeros((VEHICLES, len(states)))
    x0[:, 2] = random.uniform(-3.0, 3.0, VEHICLES)
    x0[:, 3] = random.uniform(5.0, 15.0, VEHICLES)
    for k, name in enumerate(states):
        if name.startswith("spin_"):
            x0[:, k] = x0[:, 3] / 0.3
    u = np.zeros((STEPS, VEHICLES, len(controls)))
    u[:, :, 0] = random.uniform(-0.08, 0.08, VEHICLES)
    u[:, :, 1:5] = random.uniform(0.0, 40.0, (STEPS, VEHICLES, 4))
    return x0, u


def results(fleet: sp.Fleet) -> np.ndarray:
    """Samples of the rollout that the GPU has to repeat bit for bit."""
    x0, controls = inputs(fleet.plant.State, fleet.plant.Input)
    return fleet.rollout(x0, controls, every=EVERY)


def gradients(fleet: sp.Fleet) -> dict[str, np.ndarray]:
    """Value and derivatives of the cost along the first steps."""
    x0, controls = inputs(fleet.plant.State, fleet.plant.Input)
    value, gradient = fleet.gradient(x0, controls[:BACK_STEPS])
    return {"value": value, **gradient._asdict()}


def main() -> None:
    """Write a plant per case and all results into one archive."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found: dict[str, np.ndarray] = {}
    for vehicle, integrator, dt in CASES:
        name = f"{vehicle}.{integrator}"
        for precision in ("float64", "float32"):
            fleet = sp.Fleet(car(vehicle), dt, integrator, precision=precision)
            path = FOLDER / f"{name}.plant"
            fleet.save(path, cost=COST)
            found[f"{name}.{precision}"] = results(fleet)
            derived = gradients(sp.Fleet.load(path, precision=precision))
            found |= {f"{name}.{precision}.{part}": array for part, array in derived.items()}
    for name in COMMANDED:
        commanded(name).save(FOLDER / f"{name}.plant")
        for precision in ("float64", "float32"):
            parts = commanded_results(commanded(name, precision))
            found |= {f"{name}.{precision}.{part}": array for part, array in parts.items()}
    closed_loop().save(FOLDER / f"{LOOP}.plant")
    work.traced_tyre().save(FOLDER / work.TYRE_FILE)
    for precision in ("float64", "float32"):
        found[f"{LOOP}.{precision}"] = loop_results(closed_loop(precision))
    np.savez_compressed(FOLDER / "cpu_results.npz", **found)


if __name__ == "__main__":
    main()
