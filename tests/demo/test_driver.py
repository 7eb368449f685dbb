"""The driver: symmetric, traceable, and the same inside and outside of compiled code."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest

import skidpad as sp
from skidpad.control import speed
from skidpad.core import record
from skidpad.demo import eight
from skidpad.demo.eight import SKIDPAD
from skidpad.vehicles.formula import State

CAR = sp.vehicles.formula_student()
DRIVER = eight.driver_of(CAR.params, 8.0)
STATES = [
    State(),
    State(x=4.0, y=-0.9, yaw=-0.4, v_x=6.0, v_y=-0.3, omega=-0.5),
    State(x=-3.0, y=0.2, yaw=0.1, v_x=12.0, v_y=0.2, omega=0.7),
]
MEMORIES = [
    eight.Memory(),
    eight.Memory(progress=4.0, throttle=speed.Memory(20.0)),
    eight.Memory(progress=112.0, throttle=speed.Memory(-10.0)),
]
MOMENTS = list(zip(STATES, MEMORIES, strict=True))


@pytest.mark.parametrize(("x", "memory"), MOMENTS)
def test_the_mirrored_driver_does_the_mirror_image(x: State, memory: eight.Memory) -> None:
    u, after = eight.drive(DRIVER, memory, x, 0.01)
    other = DRIVER._replace(eight=SKIDPAD._replace(first=-SKIDPAD.first))
    seen = x._replace(y=-x.y, yaw=-x.yaw, v_y=-x.v_y, omega=-x.omega)
    mirrored, mirrored_after = eight.drive(other, memory, seen, 0.01)
    assert mirrored == pytest.approx(u._replace(steer=-u.steer), abs=1e-12)
    assert record.flatten(mirrored_after) == pytest.approx(record.flatten(after), abs=1e-12)


@pytest.mark.parametrize(("x", "memory"), MOMENTS)
def test_the_driver_can_be_traced_with_finite_gradients(x: State, memory: eight.Memory) -> None:
    size = record.size(State), record.size(eight.Memory)
    symbols = [casadi.SX.sym("s", n) for n in size]
    records: list[Any] = [
        record.unflatten(kind, [v[i] for i in range(v.numel())])
        for kind, v in zip((State, eight.Memory), symbols, strict=True)
    ]
    u, after = eight.drive(DRIVER, records[1], records[0], 0.01)
    result = casadi.vertcat(*u, *record.flatten(after))
    jacobian = casadi.jacobian(result, casadi.vertcat(*symbols))
    traced = casadi.Function("drive", symbols, [result, jacobian])
    value, slopes = traced(casadi.DM(list(x)), casadi.DM(list(record.flatten(memory))))
    expected = eight.drive(DRIVER, memory, x, 0.01)
    np.testing.assert_allclose(
        value.full().ravel(), [*expected[0], *record.flatten(expected[1])], rtol=1e-12, atol=1e-12
    )
    assert np.isfinite(slopes.full()).all()


@pytest.mark.slow
def test_the_driver_compiled_into_the_car_drives_as_the_one_in_python() -> None:
    dt, seconds = 0.001, 2.0
    outside = sp.Simulator(CAR, dt=dt, integrator="rk4")
    path = outside.run(eight.driven_by(DRIVER).controller(dt), duration=seconds)
    fleet = sp.Fleet(CAR, dt, "rk4", lanes=1, threads=1)
    states = fleet.rollout(
        CAR.State(), steps=len(path) - 1, every=100, policy=eight.driven_by(DRIVER)
    )
    np.testing.assert_allclose(states[:, 0], path.states[::100], rtol=1e-8, atol=1e-8)
    assert path[-1].v_x > 5.0
