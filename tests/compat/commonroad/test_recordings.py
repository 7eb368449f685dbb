"""commonroad-control's recordings: noise-free and perturbed runs, by the same solvers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import DOP853

from skidpad.compat.commonroad.simulation import Simulation
from skidpad.random import Recorded
from skidpad.sensors.models import FullStateFeedback
from skidpad.vehicles import (
    commonroad_dynamic_bicycle,
    commonroad_kinematic_bicycle,
    double_integrator,
)

from .bicycles import dynamic, kinematic

DATA = Path(__file__).parents[2] / "data" / "commonroad"
RECORDED = {name: dict(np.load(DATA / f"{name}.npz")) for name in ("traj_KB", "traj_DB", "traj_DI")}
PERTURBED = dict(np.load(DATA / "perturbed.npz"))


class Tight(DOP853):
    """The solver of the recordings called `tight`."""

    def __init__(self, *args, **options):
        super().__init__(*args, **{**options, "rtol": 1e-12, "atol": 1e-13})


METHODS = {"rk45": "RK45", "tight": Tight}

OWN = {"KB": kinematic, "DB": dynamic}
LISTED = {
    "KB": commonroad_kinematic_bicycle(compat="upstream"),
    "DB": commonroad_dynamic_bicycle(compat="upstream"),
    "DI": double_integrator(compat="upstream"),
}
VEHICLES = {
    **{f"own-{name}": (name, vehicle) for name, vehicle in OWN.items()},
    **{f"listed-{name}": (name, vehicle) for name, vehicle in LISTED.items()},
}


def close(found, expected, tolerance=1e-12):
    """Within a tolerance of the value or of the largest of its column."""
    assert found.shape == expected.shape
    scale = np.maximum(np.abs(expected), np.abs(expected).max(axis=0))
    np.testing.assert_array_less(np.abs(found - expected), tolerance * scale + 1e-300)


AT_THE_EDGE_OF_STABILITY = ("DB", "low_speed", "rk45")
"""RK45 takes steps there as large as its stability allows: one unit in the last place of the start
grows to 7e-12 of a column, and linear algebra on another processor rounds by as much."""


def scenarios(prefix):
    for label, (name, vehicle) in VEHICLES.items():
        recorded = RECORDED[f"traj_{name}"]
        found = {key.split("__")[0] for key in recorded if "__" in key}
        for scenario in sorted(s for s in found if s.startswith("chain") == (prefix == "chain")):
            for kind in METHODS:
                if f"{scenario}__{kind}" in recorded:
                    yield pytest.param(
                        name, vehicle, scenario, kind, id=f"{label}-{scenario}-{kind}"
                    )


@pytest.mark.parametrize(("name", "vehicle", "scenario", "kind"), [*scenarios("single")])
def test_single_calls(name, vehicle, scenario, kind):
    recorded = RECORDED[f"traj_{name}"]
    x0, u, (t_final, delta_t_w, dt, steps) = (
        recorded[f"{scenario}__{part}"] for part in ("x0", "u", "cfg")
    )
    upstream = scenario in ("fp_ceil", "standstill_frozen")
    sim = Simulation(vehicle, delta_t_w=delta_t_w, compat="upstream" if upstream else None)
    y, perturbed, nominal = sim.simulate(x0, u, t_final, ivp_method=METHODS[kind])
    assert perturbed is nominal
    assert len(nominal) == steps + 1
    assert nominal.delta_t == dt
    assert nominal.t_final == pytest.approx(t_final, rel=1e-15)
    edge = (name, scenario, kind) == AT_THE_EDGE_OF_STABILITY
    close(nominal.states, recorded[f"{scenario}__{kind}"], 1e-10 if edge else 1e-12)
    assert y == nominal.final_point


@pytest.mark.parametrize(("name", "vehicle", "scenario", "kind"), [*scenarios("chain")])
def test_chains_of_calls(name, vehicle, scenario, kind):
    recorded = RECORDED[f"traj_{name}"]
    sim = Simulation(vehicle)
    x = vehicle.State(*recorded[f"{scenario}__x0"])
    states = [x]
    for row in recorded[f"{scenario}__U"]:
        _, trajectory, _ = sim.simulate(x, row, 0.1, ivp_method=METHODS[kind])
        x = trajectory.final_point
        states.append(x)
    close(np.array(states), recorded[f"{scenario}__{kind}"])


def replaying(vehicle, scenario, **options):
    """A simulation that repeats the recorded disturbances and noise."""
    nominal = PERTURBED.get(f"{scenario}__w_nominal")
    return Simulation(
        vehicle,
        disturbance_model=Recorded(PERTURBED[f"{scenario}__w"], nominal_value=nominal),
        sensor_model=FullStateFeedback(vehicle, Recorded(PERTURBED[f"{scenario}__noise"])),
        random_disturbance=True,
        random_noise=True,
        **options,
    )


def disturbed():
    for source, vehicle in VEHICLES.values():
        for scenario in sorted({key.split("__")[0] for key in PERTURBED if "__traj_w" in key}):
            if scenario.startswith(source):
                for kind in METHODS:
                    yield vehicle, scenario, kind


@pytest.mark.parametrize(("vehicle", "scenario", "kind"), [*disturbed()])
def test_perturbed_calls(vehicle, scenario, kind):
    t_final, delta_t_w, _, steps, _ = PERTURBED[f"{scenario}__cfg"]
    sim = replaying(vehicle, scenario, delta_t_w=delta_t_w)
    x0, u = PERTURBED[f"{scenario}__x0"], PERTURBED[f"{scenario}__u"]
    y, perturbed, nominal = sim.simulate(x0, u, t_final, ivp_method=METHODS[kind])
    assert len(perturbed) == steps + 1
    close(perturbed.states, PERTURBED[f"{scenario}__traj_w_{kind}"])
    close(nominal.states, PERTURBED[f"{scenario}__traj_nom_{kind}"])
    close(np.array(y), PERTURBED[f"{scenario}__y_{kind}"])
    assert np.array_equal(sim.last_disturbances.to_array(), PERTURBED[f"{scenario}__w"])


@pytest.mark.parametrize("vehicle", [dynamic, LISTED["DB"]], ids=["own", "listed"])
def test_a_perturbed_chain(vehicle):
    sim = replaying(vehicle, "chainDB", delta_t_w=0.02)
    x = PERTURBED["chainDB__x"][0]
    states, measured = [x], []
    for row in PERTURBED["chainDB__U"]:
        y, perturbed, _ = sim.simulate(x, row, 0.1)
        x = perturbed.to_array()[-1]
        states.append(x)
        measured.append(y)
    close(np.array(states), PERTURBED["chainDB__x"])
    close(np.array(measured), PERTURBED["chainDB__y"])


@pytest.mark.parametrize("name", ["KB", "DB"])
def test_own_integrators_are_nearer_to_the_exact_motion_than_the_default(name):
    recorded = RECORDED[f"traj_{name}"]
    for scenario in ("circle", "steer_ramp"):
        x0, u, (t_final, delta_t_w, *_) = (recorded[f"{scenario}__{p}"] for p in ("x0", "u", "cfg"))
        exact = recorded[f"{scenario}__tight"]
        default = np.abs(recorded[f"{scenario}__rk45"] - exact).max()
        sim = Simulation(LISTED[name], delta_t_w=delta_t_w)
        for method in ("skidpad:rk4", "skidpad:radau"):
            found = sim.simulate(x0, u, t_final, ivp_method=method)[1].states
            assert np.abs(found - exact).max() < default
