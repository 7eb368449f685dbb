"""A stiff nonlinear chain with 25 states that depend on each other, as functions and as a model.

Twelve masses between springs that harden and dampers, the last of them pulled by a slipping clutch
whose spin is the 25th state. At rest its rates of decay go from 1 to 360 000 per second.
"""

from __future__ import annotations

from typing import Any

from skidpad import ops, record
from skidpad.model import Model, Vehicle
from skidpad.units import one

MASSES = 12
STATES = 2 * MASSES + 1
NAMES = tuple([f"x{i}" for i in range(MASSES)] + [f"v{i}" for i in range(MASSES)] + ["spin"])
State: Any = record.define("State", dict.fromkeys(NAMES, one), dict.fromkeys(NAMES, 0.0))
Input: Any = record.define("Input", {"force": one, "drive": one}, {"force": 0.0, "drive": 0.0})
Params: Any = record.define(
    "Params",
    {"stiffness": one, "hardening": one, "grip": one, "sharpness": one},
    {"stiffness": 400.0, "hardening": 2e3, "grip": 8.0, "sharpness": 40.0},
)


def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
    """Rates of the chain; `sharpness` is how suddenly the clutch lets go."""
    places, speeds = x[:MASSES], x[MASSES : 2 * MASSES]
    forces: list[Any] = [u.force] + [0.0] * (MASSES - 1)
    for i in range(MASSES):
        stretch = places[i] - (places[i - 1] if i else 0.0)
        rate = speeds[i] - (speeds[i - 1] if i else 0.0)
        stiffness = p.stiffness * 2.0**i
        pull = stiffness * stretch + p.hardening * stretch * stretch * stretch
        pull = pull + 0.03 * stiffness * rate
        forces[i] = forces[i] - pull
        if i:
            forces[i - 1] = forces[i - 1] + pull
    slip = x.spin - speeds[-1]
    friction = p.grip * ops.tanh(p.sharpness * slip)
    forces[-1] = forces[-1] + friction
    mass = [1.0 / (1.0 + 0.5 * i) for i in range(MASSES)]
    rates = [f * (1.0 / m) for f, m in zip(forces, mass, strict=True)]
    return State(*speeds, *rates, (u.drive - friction) * 20.0)


MODEL = Model(name="chain", State=State, Input=Input, Params=Params, derivative=derivative)
CHAIN = Vehicle(MODEL, Params())
