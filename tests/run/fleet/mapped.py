"""A block that slides over maps, and a driver with a map, for tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from skidpad import units as si
from skidpad.core.policy import Policy
from skidpad.ops import called, grid, grid_type, interpolate, smooth_hypot

Height = grid_type(2, units=(si.m, si.m, si.m))
Friction = grid_type(2, "cubic", units=(si.one, si.m, si.m))
Demand = grid_type(1, units=(si.m_s2, si.m))
SIZE, START, STEP = (30, 20), (-5.0, -4.0), (0.5, 0.4)


class State(NamedTuple):
    x: si.m = 0.0
    y: si.m = 0.0
    v_x: si.m_s = 4.0
    v_y: si.m_s = 1.0


class Input(NamedTuple):
    a_x: si.m_s2 = 0.0
    a_y: si.m_s2 = 0.0


class Params(NamedTuple):
    height: Height
    friction: Friction
    g: si.m_s2 = 9.81
    slow: si.m_s = 0.5


class Outputs(NamedTuple):
    z: si.m = 0.0


def derivative(x: State, u: Input, w: Any, p: Params) -> State:
    """Friction of a map, and a hill that is climbed."""
    rest = p.g * interpolate(p.friction, x.x, x.y) / smooth_hypot(x.v_x, x.v_y, p.slow)
    slope = called(interpolate, p.height, x.x, x.y) / p.height.step_0
    return State(x.v_x, x.v_y, u.a_x - rest * x.v_x - 0.1 * p.g * slope, u.a_y - rest * x.v_y)


def outputs(x: State, u: Input, w: Any, p: Params) -> Outputs:
    return Outputs(interpolate(p.height, x.x, x.y))


MODEL = sp.Model(
    "mapped", State, Input, Params, derivative=derivative, outputs=outputs, Outputs=Outputs
)


def maps(seed: int) -> dict[str, Any]:
    """Random maps of one size."""
    random = np.random.default_rng([seed, 4])
    where: dict[str, Any] = {"start": START, "step": STEP}
    return {
        "height": grid(random.uniform(0.0, 1.0, SIZE), **where, units=(si.m, si.m, si.m)),
        "friction": grid(
            random.uniform(0.1, 0.5, SIZE), **where, method="cubic", units=(si.one, si.m, si.m)
        ),
    }


def block(seed: int = 1, **params: Any) -> sp.Vehicle:
    """One with maps of its own."""
    return sp.VehicleFactory(MODEL)(**maps(seed), **params)


class Gains(NamedTuple):
    demand: Demand


def drive(x: State, p: Gains) -> Input:
    """Acceleration by place, from a map."""
    return Input(interpolate(p.demand, x.x), 0.0)


def driver(seed: int = 1) -> Policy:
    """A policy whose parameters have a map."""
    demand = np.random.default_rng([seed, 5]).uniform(-3.0, 3.0, 40)
    return Policy(drive, Params=Gains, params=Gains(grid(demand, start=-6.0, step=0.5)), name="map")


def starts(count: int) -> np.ndarray:
    """Some of them off the map."""
    random = np.random.default_rng(6)
    return random.uniform((-8.0, -6.0, -9.0, -9.0), (13.0, 7.0, 9.0, 9.0), (count, 4))


def pushes(steps: int, count: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(-3.0, 3.0, (steps, count, 2))
