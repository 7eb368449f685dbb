"""The adjoint and the tangent of one step: against differences, JAX and each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from gradients.evaluate import central_differences, evaluate
from skidpad import Vehicle, integrate, ops, record
from skidpad.compile.adjoint import adjoint_program, tangent_program
from skidpad.compile.pipeline import step_program
from skidpad.cost import Cost
from skidpad.errors import InvalidValue
from skidpad.integrate import Radau
from skidpad.model import Model

VEHICLES = ("four_wheel", "formula_student", "kinematic_bicycle", "brains2")
METHODS = ("euler", "semi_implicit", "rk4", "radau")
DT = {"radau": 0.01}
"""Step in s; 1 ms for the explicit methods, whose actuators have lags of that size."""
POINTS = 6
SCALES = {"x": 10.0, "y": 10.0, "yaw": 1.0, "v_x": 10.0, "v_y": 1.0, "omega": 1.0, "steer": 0.3}
"""Typical size of a state or input; torques, in N·m, are not listed."""
TORQUE = 60.0


@dataclass(frozen=True)
class Points:
    """Where derivatives are compared: one row a point; and what makes them comparable."""

    x: np.ndarray
    u: np.ndarray
    w: np.ndarray
    p: np.ndarray
    lam: np.ndarray
    dt: float

    @property
    def ports(self) -> dict[str, Any]:
        """What a step takes."""
        return {"x": self.x, "u": self.u, "w": self.w, "p": self.p, "dt": np.full((len(self.x), 1), self.dt)}


def sizes(kind: type) -> np.ndarray:
    return np.array([SCALES.get(name, TORQUE) for name in record.names(kind)])


def parameter_sizes(vehicle: Vehicle) -> np.ndarray:
    values = np.abs(record.flatten(vehicle.params))
    return np.where(values > 0.0, values, 1.0)


def points(vehicle: Vehicle, method: str, seed: int = 7, *, at_rest: bool = False) -> Points:
    """Cars driven at 4 to 24 m/s with some slip, away from the corners of their limits."""
    rng = np.random.default_rng(seed)
    nx, nu = record.size(vehicle.State), record.size(vehicle.Input)
    x = rng.uniform(-0.5, 0.5, (POINTS, nx)) * sizes(vehicle.State)
    x[:, record.names(vehicle.State).index("v_x")] = rng.uniform(4.0, 24.0, POINTS)
    u = rng.uniform(-0.5, 0.5, (POINTS, nu)) * sizes(vehicle.Input)
    if at_rest:
        x, u = 0.0 * x, 0.0 * u
    w = np.array([record.flatten(record.build(vehicle.model.Disturbance))] * POINTS)
    p = np.array([record.flatten(vehicle.params)] * POINTS)
    if not at_rest:
        p = p * rng.uniform(0.98, 1.02, p.shape)
    lam = rng.uniform(-1.0, 1.0, (POINTS, nx)) / sizes(vehicle.State)
    return Points(x, u, w, p, lam, DT.get(method, 0.001))


@cache
def vehicle_of(name: str) -> Vehicle:
    return getattr(sp.vehicles, name)()


@cache
def adjoint_of(name: str, method: str) -> Any:
    return adjoint_program(vehicle_of(name), method)


@cache
def tangent_of(name: str, method: str) -> Any:
    return tangent_program(vehicle_of(name), method)


def converged(method: str) -> Any:
    """The method with Newton run to its end, as differences need it."""
    return Radau(iterations=4) if method == "radau" else integrate.get(method)


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Equal up to a tolerance relative to the largest value in each column.

    Columns that are small beside the others, such as parameters with next to no influence, are held
    against a ten-thousandth of the largest one.
    """
    scale = np.abs(wanted).max(axis=0)
    bound = tolerance * np.maximum(scale, 1e-4 * scale.max()) * np.ones_like(wanted)
    assert (np.abs(found - wanted) <= bound).all(), np.abs(found - wanted) / bound


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", VEHICLES)
def test_central_differences(name: str, method: str) -> None:
    vehicle = vehicle_of(name)
    at = points(vehicle, method)
    step = step_program(vehicle, converged(method))
    adjoint = adjoint_program(vehicle, converged(method))
    found = evaluate(adjoint, **at.ports, lam=at.lam)
    scales = {"x": sizes(vehicle.State), "u": sizes(vehicle.Input), "p": parameter_sizes(vehicle)}
    for port, scale in scales.items():

        def weighted(values: np.ndarray, port: str = port) -> np.ndarray:
            copies = len(values) // POINTS
            ports = {k: np.tile(v, (copies, 1)) for k, v in at.ports.items()}
            after = evaluate(step, **ports | {port: values})["x"]
            return (np.tile(at.lam, (copies, 1)) * after).sum(axis=1)

        wanted = central_differences(weighted, at.ports[port], 3e-4 * scale)[:, :, 0]
        assert_close(found[port] * scale, wanted * scale, 1e-6)
