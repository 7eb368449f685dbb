"""Steady turns of `two_track` and `full_car`, and tyres for closed forms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import root

import skidpad as sp
from skidpad.tyres import LinearTyre, LoadSensitiveTyre
from skidpad.tyres.contract import Carcass

FREE = Carcass(rolling=0.0, C_z=1e9)
"""Wheels that roll without resistance, on the same radius under any load."""
LINEAR = LinearTyre(trail=0.0, carcass=FREE)
SENSITIVE = LoadSensitiveTyre(trail=0.0, carcass=FREE)


def spinning_height(car: sp.Vehicle, radius: float) -> float:
    """Height over the mass at which a force at the road moves as much load as it does with the
    wheels that turn: z + Σ I_w / (m R), whether they are sped up or turned with the car."""
    p = car.params
    return p.z_cg + 4.0 * p.I_w / (p.m * radius)


class Turn(NamedTuple):
    """A steady turn to the left."""

    x: Any
    w: Any
    steer: float


def steady_turn(car: sp.Vehicle, v_x: float, a_y: float) -> Turn:
    """The turn in which the car keeps its speed, pulled along at its centre of mass.

    States of the chassis and of the alignment come to rest, too.
    """
    External = car.model.Disturbance
    plain = sp.vehicles.two_track().State._fields
    more = [name for name in car.State._fields if name not in plain]
    followed = [name for name in ("load_a_x", "load_a_y") if name in car.State._fields]
    wheels = ("fl", "fr", "rl", "rr")
    rolling = v_x / 0.3

    def at(z: np.ndarray) -> tuple[Any, Any]:
        spins = {f"spin_{w}": rolling * (1.0 + s) for w, s in zip(wheels, z[2:6], strict=True)}
        x = car.State(
            v_x=v_x, v_y=z[0], omega=a_y / v_x, steer=z[1], **spins,
            **dict(zip(followed, z[6:8], strict=False)), **dict(zip(more, z[9:], strict=True)),
        )  # fmt: skip
        return x, External(F_x=1e4 * z[8])

    def unsteady(z: np.ndarray) -> list[float]:
        x, w = at(z)
        rate = car.derivative(x, car.Input(steer=x.steer), w)
        spinning = [getattr(rate, f"spin_{w}") / 100.0 for w in wheels]
        others = [getattr(rate, name) for name in more]
        loads = [getattr(rate, name) for name in followed] + [z[7]] * (2 - len(followed))
        return [rate.v_x, rate.v_y, rate.omega, *spinning, *loads, *others]

    guess = np.array([0.0, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0, a_y, 0.0, *(0.0 for _ in more)])
    solved = root(unsteady, guess, tol=1e-12)
    assert np.abs(unsteady(solved.x)).max() < 1e-8, solved.message
    x, w = at(solved.x)
    return Turn(x, w, float(x.steer))
