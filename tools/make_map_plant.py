"""Write the vehicle with maps that the GPU tests load, with the CPU's results: `make_plants`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import skidpad as sp
from make_plants import BACK_STEPS, EVERY, FOLDER, STEPS, VEHICLES
from skidpad.units import m, m_s, m_s2, one


class Place(NamedTuple):
    """A block that slides over a map."""

    x: m = 0.0
    y: m = 0.0
    v_x: m_s = 0.0
    v_y: m_s = 0.0


class Push(NamedTuple):
    """What acts on it."""

    a_x: m_s2 = 0.0
    a_y: m_s2 = 0.0


Ground = sp.ops.grid_type(2, units=(m, m, m))
Ice = sp.ops.grid_type(2, "cubic", units=(one, m, m))
SIZE = (40, 30)


class Maps(NamedTuple):
    """Height and friction over the plane."""

    height: Ground
    friction: Ice
    g: m_s2 = 9.81
    deepest: m = 1.0


def slide(x: Place, u: Push, w: object, p: Maps) -> Place:
    """Friction against the motion, less where the ground is high."""
    high = sp.ops.called(sp.ops.interpolate, p.height, x.x, x.y) / p.deepest
    rest = p.g * sp.ops.interpolate(p.friction, x.x, x.y) * (1.0 - 0.1 * high)
    speed = sp.ops.smooth_hypot(x.v_x, x.v_y, 0.5)
    return Place(x.v_x, x.v_y, u.a_x - rest * x.v_x / speed, u.a_y - rest * x.v_y / speed)


MAPPED = "mapped.rk4"
MAP_COST = sp.Cost(stage=lambda x, u: x.x * x.x + x.v_y * u.a_y, terminal=lambda x: x.v_x * x.y)


def maps(seed: int) -> dict[str, object]:
    """Maps with random values: of one size, so that they can take each other's place."""
    random = np.random.default_rng(seed)
    return {
        "height": sp.ops.grid(random.uniform(0.0, 1.0, SIZE), start=(-5, -4), step=(0.5, 0.4)),
        "friction": sp.ops.grid(
            random.uniform(0.2, 1.0, SIZE), start=(-5, -4), step=(0.5, 0.4), method="cubic"
        ),
    }


def mapped(precision: str = "float64") -> sp.Fleet:
    """A fleet of vehicles that read maps."""
    model = sp.Model("mapped", Place, Push, Maps, derivative=slide)
    return sp.Fleet(sp.VehicleFactory(model)(**maps(1)), 1e-2, "rk4", precision=precision)


def mapped_results(fleet: sp.Fleet) -> dict[str, np.ndarray]:
    """Samples on two pairs of maps, one for every second vehicle, and gradients on the first."""
    random = np.random.default_rng(23)
    x0 = random.uniform((-8.0, -6.0, -9.0, -9.0), (18.0, 11.0, 9.0, 9.0), (VEHICLES, 4))
    controls = random.uniform(-3.0, 3.0, (STEPS, VEHICLES, 2))
    own, other = fleet.plant.params, maps(2)
    chosen = {
        f"{name}.values": [getattr(own, name).values, other[name].values] * (VEHICLES // 2)
        for name in other
    }
    value, gradient = fleet.gradient(x0, controls[:BACK_STEPS])
    states = fleet.rollout(x0, controls, params=chosen, every=EVERY)
    return {"states": states, "value": value, **gradient._asdict()}


def main() -> None:
    """Write the plant that reads maps, and its results."""
    path, found = FOLDER / f"{MAPPED}.plant", dict[str, np.ndarray]()
    mapped().save(path, cost=MAP_COST)
    for precision in ("float64", "float32"):
        parts = mapped_results(sp.Fleet.load(path, precision=precision))
        found |= {f"{precision}.{part}": array for part, array in parts.items()}
    np.savez_compressed(FOLDER / "mapped_results.npz", **found)


if __name__ == "__main__":
    main()
