"""Integrators beside their order, gradients beside closed forms, and rays beside exact geometry."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from compat.truck.recordings import recording, replay
from geometry.raycast import plain_rays
from integrate.problems import PROBLEMS, observed_order
from skidpad import Fleet, integrate, vehicles
from skidpad.core import record
from skidpad.geometry.geodesy import to_utm
from skidpad.geometry.raycast import Scene
from validation.rows.row import Row, compared, recorded

STEPS = {"euler": 1000, "semi_implicit": 1000, "heun": 200, "rk4": 64, "dopri5": 48}
STEPS |= {"radau2": 100, "radau": 16, "radau3": 16, "radau4": 8}
"""So many that the order shows and rounding does not."""


def orders() -> Iterator[Row]:
    """Order of convergence when the step is halved; that of a method is a whole number."""
    logistic, _, circle = PROBLEMS
    for name, steps in STEPS.items():
        options = {"iterations": 6} if name.startswith("radau") else {}
        method = integrate.get(name, **options)
        problem = circle if name == "semi_implicit" else logistic  # which needs a position
        seen = observed_order(method, problem, steps)
        quantity = f"order from {steps} to {2 * steps} steps, {problem.name} equation (1)"
        source = "order of the method"
        yield compared(name, quantity, source, method.order, seen, 0.1, scale=1.0)


def single_steps() -> Iterator[Row]:
    """x' = -x over a step has the polynomial of the method."""
    for name, order in (("euler", 1), ("heun", 2), ("rk4", 4)):
        h = 0.5
        want = sum((-h) ** k / math.factorial(k) for k in range(order + 1))
        (got,), _ = integrate.get(name).step(lambda x: (-x[0],), (1.0,), h)
        source = "Taylor polynomial of exp(-h)"
        yield compared(name, "a step of x' = -x with h = 0.5 (1)", source, want, got, 1e-14)


def exact_ranges() -> Iterator[Row]:
    """Ranges among 404 walls, by every ray against every wall in extended precision."""
    walls, poses = plain_rays.clutter(100), plain_rays.poses(20)
    angles = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    found = Scene(walls).scan(poses, angles)
    want = [plain_rays.ranges(walls, x, y, yaw + angles) for x, y, yaw in poses]
    source = "every ray against every wall in extended precision"
    yield recorded("lidar", "ranges in a cluttered room (m)", source, want, found, 1e-12)


def truck_scans() -> Iterator[Row]:
    """Ranges of the truck's lidar, with its faults repeated, and without beside exact ones."""
    source = "simulator_2d of robotics-laboratory/truck, commit 332ff42, recorded in float32"
    run = recording("s15_scans_room")
    ours = replay(run.scenario, compat="upstream").scan
    want = np.asarray(run.arrays["scan"], dtype=float)
    met = want < 1e30
    quantity = "ranges in a room, as upstream (m)"
    yield recorded(
        "ackermann_truck lidar", quantity, source, want[met], ours[met], 2e-7, scale=want[met]
    )


def places() -> Iterator[Row]:
    """The CN Tower in Toronto, whose place is published to the metre."""
    latitude, longitude = 43 + 38 / 60 + 33.24 / 3600, -(79 + 23 / 60 + 13.7 / 3600)
    seen = to_utm(latitude, longitude, 17, south=False)
    source = "published place of the CN Tower, 17T, to the metre"
    for axis, want, got in zip(("easting", "northing"), (630084.0, 4833438.0), seen, strict=True):
        yield compared("UTM", f"{axis} (m)", source, want, got, 1.0, scale=1.0)


def gradients() -> Iterator[Row]:
    """Derivatives of the speed after coasting for 4 s, which has a closed form.

    v = (q tan(phi - q T / (2 m)) - b) / (2 c) with q² = 4 a c - b², and phi of the start.
    """
    car = vehicles.kinematic_bicycle()
    p, v_0, steps, dt = car.params, 15.0, 400, 0.01
    fleet = Fleet(car, dt=dt, integrator="radau")
    x0 = np.zeros((1, record.size(car.State)))
    speed = record.names(car.State).index("v_x")
    x0[0, speed] = v_0
    _, slopes = fleet.gradient(x0, car.Input(), lambda x: x.v_x, steps=steps, wrt=("x0", "params"))
    q = math.sqrt(4.0 * p.C_r0 * p.C_r2 - p.C_r1**2)
    at_start = (2.0 * p.C_r2 * v_0 + p.C_r1) / q
    left = 1.0 / math.cos(math.atan(at_start) - q * steps * dt / (2.0 * p.m)) ** 2
    source = "derivative of the closed form of coasting"
    want = left / (1.0 + at_start**2)
    subject, quantity = "gradients, kinematic_bicycle", "speed after 4 s by that at the start (1)"
    yield compared(subject, quantity, source, want, slopes.x0[0, speed], 1e-6)
    want = left * q * q * steps * dt / (4.0 * p.C_r2 * p.m**2)
    got = slopes.params[0, record.names(car.model.Params).index("m")]
    yield compared(subject, "speed after 4 s by the mass (m/(s kg))", source, want, got, 1e-6)
