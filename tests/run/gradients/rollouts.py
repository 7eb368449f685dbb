"""Rollouts to differentiate: vehicles, a cost with references, and what it is in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from skidpad import Cost, Vehicle
from skidpad.core import record
from skidpad.integrate.radau import Radau
from skidpad.ops import cos
from skidpad.units import m, m_s

VEHICLES = ("kinematic_bicycle", "four_wheel", "four_wheel_with_brakes")
DT = {"rk4": 0.001, "radau": 0.01, "radau2": 0.01}
"""Step in s."""
SCALES = {"x": 10.0, "y": 10.0, "yaw": 1.0, "v_x": 10.0, "v_y": 1.0, "omega": 1.0, "steer": 0.3}
"""Typical size of a state or input; torques, in N·m, are not listed."""
TORQUE = 60.0


class Target(NamedTuple):
    """What a car is to do."""

    y: m = 0.5
    v_x: m_s = 8.0


def stage(x: Any, u: Any, p: Any, r: Any) -> Any:
    """Every argument, some of them in products."""
    effort = 1e-4 * (u.tau_rl * u.tau_rl + u.tau_fr * x.tau_fr)
    return (x.v_x - r.v_x) ** 2 + (x.y - r.y) ** 2 * p.l_f + 3.0 * u.steer * x.omega + effort


def terminal(x: Any, p: Any, r: Any) -> Any:
    return x.v_y**2 + p.m * 0.01 * cos(x.yaw) * (x.y - r.y) + x.x * x.omega


COST = Cost(stage=stage, terminal=terminal, Reference=Target)


@dataclass(frozen=True)
class Drive:
    """Arguments of a rollout with streamed controls."""

    x0: np.ndarray
    controls: np.ndarray
    params: np.ndarray
    references: np.ndarray
    disturbances: Any

    @property
    def given(self) -> dict[str, Any]:
        """What a rollout takes."""
        names = ("x0", "controls", "params", "disturbances")
        return {name: getattr(self, name) for name in names}

    def of(self, vehicles: slice) -> Drive:
        """Some of the vehicles."""
        return replace(
            self,
            x0=self.x0[vehicles],
            controls=self.controls[:, vehicles],
            params=self.params[vehicles],
            references=self.references[:, vehicles],
        )

    def repeated(self, copies: int) -> Drive:
        """All vehicles several times, one copy of all of them after the other."""
        return replace(
            self,
            x0=np.tile(self.x0, (copies, 1)),
            controls=np.tile(self.controls, (copies, 1)),
            params=np.tile(self.params, (copies, 1)),
            references=np.tile(self.references, (1, copies, 1)),
        )


@cache
def vehicle_of(name: str) -> Vehicle:
    if name == "four_wheel_with_brakes":
        return sp.vehicles.with_brakes(sp.vehicles.four_wheel())
    return getattr(sp.vehicles, name)()


def fleet_of(name: str, method: str = "rk4", **options: Any) -> sp.Fleet:
    """A fleet whose Newton iterations, if any, run to their end, as differences need it."""
    return _fleet(name, method, **options)


@cache
def _fleet(name: str, method: str, **options: Any) -> sp.Fleet:
    stages = {"radau": 3, "radau2": 2}
    integrator = Radau(stages[method], iterations=4) if method in stages else method
    return sp.Fleet(vehicle_of(name), DT[method], integrator, **{"threads": 1, **options})


def sizes(kind: type) -> np.ndarray:
    """Typical sizes of the fields of a State or an Input."""
    return np.array([SCALES.get(name, TORQUE) for name in record.names(kind)])


def parameter_sizes(vehicle: Vehicle) -> np.ndarray:
    return np.abs(record.flatten(vehicle.params))


def drive(name: str, steps: int, count: int = 3, seed: int = 3) -> Drive:
    """Cars at 4 to 15 m/s with some slip, their steering slower than its limit."""
    vehicle = vehicle_of(name)
    rng = np.random.default_rng(seed)
    fields = record.names(vehicle.State)
    x0 = rng.uniform(-0.3, 0.3, (count, len(fields))) * sizes(vehicle.State)
    x0[:, fields.index("v_x")] = rng.uniform(4.0, 15.0, count)
    nu = record.size(vehicle.Input)
    controls = rng.uniform(-0.5, 0.5, (steps, count, nu)) * sizes(vehicle.Input)
    near = rng.uniform(-0.01, 0.01, (steps, count))
    controls[:, :, 0] = x0[:, fields.index("steer")] + near
    base = np.array(record.flatten(vehicle.params))
    params = base * rng.uniform(0.98, 1.02, (count, len(base)))
    # Close to how the cars move, so that the costs are small and their differences sharp.
    now = x0[:, [fields.index("y"), fields.index("v_x")]]
    references = now + rng.uniform(-1.0, 1.0, (steps + 1, count, 2))
    calm = vehicle.model.Disturbance()
    # A wet road and wind, where the vehicle knows of them.
    wet = {"mu_scale": 0.8, "F_y": 50.0} if "mu_scale" in calm._fields else None
    return Drive(x0, controls, params, references, wet)


def plain_cost(vehicle: Vehicle, cost: Cost, states: Any, at: Drive) -> Any:
    """The cost (B,) of states (T + 1, B, nx), by calling its functions on arrays."""
    steps = len(states) - 1
    model = vehicle.model
    p = record.unflatten(model.Params, list(at.params.T))
    r = [record.unflatten(cost.Reference, list(row.T)) for row in _held(at.references, steps + 1)]
    x = [record.unflatten(model.State, list(row.T)) for row in states]
    u = [record.unflatten(model.Input, list(row.T)) for row in _held(at.controls, steps)]
    stages = (cost.at_step(x[k], u[k], p, r[k]) for k in range(steps))
    return sum(stages) + cost.at_end(x[-1], p, r[-1])


def _held(rows: np.ndarray, count: int) -> np.ndarray:
    return rows if rows.ndim == 3 else np.broadcast_to(rows, (count, *rows.shape))


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Equal relative to the largest value of each last-axis column, over vehicles and steps.

    A column that is small beside the others, such as a parameter with next to no influence, is held
    against a ten-thousandth of the largest one.
    """
    assert found.shape == wanted.shape
    scale = np.abs(wanted).reshape(-1, wanted.shape[-1]).max(axis=0)
    bound = tolerance * np.maximum(scale, 1e-4 * scale.max())
    assert (np.abs(found - wanted) <= bound).all(), (np.abs(found - wanted) / bound).max()
