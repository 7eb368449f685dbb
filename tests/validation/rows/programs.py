"""Vehicles beside recordings of the programs whose equations they repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skidpad import Fleet, vehicles
from skidpad.vehicles import start
from skidpad.vehicles.brains2_sim import Held
from validation.reference import NO_LIMITS, columns, load, table, vehicle
from validation.rows.row import Row, recorded
from vehicles.autoware.recordings import Recording, files
from vehicles.commonroad.recorded import rates, recording

BRAINS2 = "brains2 sim, commit c975b02, recorded"
COMMONROAD = "commonroad-vehicle-models 3.0.2, recorded"
CONTROL = "commonroad-control, commit 0b672f9, recorded"
AUTOWARE = "autoware.universe 0.43.0, recorded"
DOUBLE = 1e-12
"""Sums of a few dozen terms in another order."""


def brains2_rates() -> Iterator[Row]:
    """Derivatives at 500 random points: as the program has them, and with its errors repaired."""
    for kind, name in (("dyn", "four_wheel"), ("kin", "kinematic_bicycle")):
        data = load(f"rhs_{kind}")
        repaired = vehicle(vehicles.get(name), data["P0/params"], **NO_LIMITS)
        x, u = columns(repaired.State, data["x"]), columns(repaired.Input, data["u"])
        yield recorded(
            name, "derivatives (SI)", f"{BRAINS2}, with its errata applied",
            data["P0/corrected/xdot"], table(repaired.derivative(x, u)), DOUBLE,
        )  # fmt: skip
        own = vehicle(vehicles.brains2, data["P0/params"])
        held = Held(*data["u"].T, dynamic=np.full(len(data["u"]), float(kind == "dyn")))
        rate = table(own.model.derivative(x, held, None, own.params))
        quantity = f"derivatives of its {'dynamic' if kind == 'dyn' else 'kinematic'} model (SI)"
        yield recorded("brains2", quantity, BRAINS2, data["P0/code/xdot"], rate, DOUBLE)


def commonroad_rates() -> Iterator[Row]:
    """Derivatives at recorded points, beyond the limits on purpose."""
    data = recording("vehiclemodels")
    for name in ("KS", "KST", "ST", "STD", "MB"):
        number = 4 if name == "KST" else 2  # of its sets only the truck has a trailer
        car = vehicles.get(f"commonroad_{name.lower()}")(parameters=number, compat="upstream")
        with np.errstate(all="ignore"):
            got = rates(car, data[f"v{number}_{name}_x"], data[f"v{number}_u"])
        want, quantity = data[f"v{number}_{name}_f"], f"derivatives, parameter set {number} (SI)"
        yield recorded(car.name, quantity, COMMONROAD, want, got, DOUBLE)
    bicycles = {
        "KB": vehicles.commonroad_kinematic_bicycle,
        "DB": vehicles.commonroad_dynamic_bicycle,
        "DI": vehicles.double_integrator,
    }
    for name, factory in bicycles.items():
        data, car = recording(f"rhs_{name}"), factory(compat="upstream")
        got = rates(car, data["x"], data["u"], data["w"])
        yield recorded(car.name, "derivatives, disturbed (SI)", CONTROL, data["xdot"], got, DOUBLE)


def commonroad_runs() -> Iterator[Row]:
    """A second of braking or accelerating in a bend; the recording's solver has 1e-9."""
    commands = {"braking": (0.15, -0.7 * 9.81), "accelerating": (0.15, 0.63 * 9.81)}
    for name, tolerance in (("KS", 2e-8), ("ST", 2e-8), ("STD", 2e-7)):
        car = vehicles.get(f"commonroad_{name.lower()}")(compat="upstream")
        fleet = Fleet(car, dt=5e-4, integrator="rk4", lanes=1)
        first = np.array(start(car, v=15.0))[None]
        for manoeuvre, command in commands.items():
            got = fleet.rollout(first, np.array([command]), steps=2000, every=100)[:, 0]
            want = recording("vehiclemodels")[f"traj_{name}_{manoeuvre}"]
            quantity = f"states of a run, {manoeuvre} at 15 m/s (SI)"
            yield recorded(car.name, quantity, COMMONROAD, want, got, tolerance, scale=1.0)


def autoware_runs() -> Iterator[Row]:
    """All recorded runs of each of its models, one row a model."""
    names: dict[str, list[str]] = {}
    for name in files():
        names.setdefault(name.partition("__")[0], []).append(name)
    for model, runs in names.items():
        parts = zip(*map(_autoware_run, runs), strict=True)
        want, got, scale = (np.concatenate(part) for part in parts)
        quantity = f"pose, speed and steering in {len(runs)} runs (SI)"
        yield recorded(f"autoware {model}", quantity, AUTOWARE, want, got, 1e-9, scale)


def _autoware_run(name: str) -> tuple[Any, Any, Any]:
    """What was recorded, ours, and the largest of each column."""
    run = Recording(name)
    car, want = run.vehicle(), run.arrays["out"]
    scale = np.broadcast_to(np.abs(want).max(axis=0), want.shape)
    return want, run.reports(car, run.states(car)), scale
