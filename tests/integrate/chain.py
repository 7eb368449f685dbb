"""A stiff nonlinear chain of states that depend on each other, as a vehicle.

Masses between springs that harden and dampers, the last of them pulled by a slipping clutch whose
spin is the last state. Of twelve masses at rest the rates of decay go from 1 to 360 000 per s.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from skidpad import Model, Vehicle, ops
from skidpad.core import record
from skidpad.units import one

Input: Any = record.define("Input", {"force": one, "drive": one}, {"force": 0.0, "drive": 0.0})
Params: Any = record.define(
    "Params",
    {"stiffness": one, "hardening": one, "grip": one, "sharpness": one},
    {"stiffness": 400.0, "hardening": 2e3, "grip": 8.0, "sharpness": 40.0},
)


@cache
def chain(masses: int, **params: float) -> Vehicle:
    """A chain of so many masses, with twice as many states and one."""
    numbers = range(masses)
    names = [f"x{i}" for i in numbers] + [f"v{i}" for i in numbers] + ["spin"]
    State: Any = record.define("State", dict.fromkeys(names, one), dict.fromkeys(names, 0.0))

    def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
        """Rates of the chain; `sharpness` is how suddenly the clutch lets go."""
        speeds = x[masses : 2 * masses]
        slip = x.spin - speeds[-1]
        friction = p.grip * ops.tanh(p.sharpness * slip)
        forces = _forces(x[:masses], speeds, u.force, p)
        forces[-1] = forces[-1] + friction
        mass = [1.0 / (1.0 + 0.5 * i) for i in numbers]
        rates = [f * (1.0 / m) for f, m in zip(forces, mass, strict=True)]
        return State(*speeds, *rates, (u.drive - friction) * 20.0)

    model = Model(name="chain", State=State, Input=Input, Params=Params, derivative=derivative)
    return Vehicle(model, Params(**params))


def _forces(places: Any, speeds: Any, force: Any, p: Any) -> list[Any]:
    """Forces of springs and dampers on the masses; the first is pulled by `force` as well."""
    forces: list[Any] = [force] + [0.0] * (len(places) - 1)
    for i in range(len(places)):
        stretch = places[i] - (places[i - 1] if i else 0.0)
        rate = speeds[i] - (speeds[i - 1] if i else 0.0)
        stiffness = p.stiffness * 2.0**i
        pull = stiffness * stretch + p.hardening * stretch * stretch * stretch
        pull = pull + 0.03 * stiffness * rate
        forces[i] = forces[i] - pull
        if i:
            forces[i - 1] = forces[i - 1] + pull
    return forces
