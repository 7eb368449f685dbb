"""Linear theory of ride: body and axles of a car over a road whose tracks are alike.

    m z'' = S_f + S_r,    I_y θ'' = -l_f S_f + l_r S_r,    m_u u'' = -S + k_t (h - u) + c_t (h - u)'

with S = k (u - z_axle) + c (u - z_axle)' of each axle, all about rest. With I_y = m l_f l_r they
are two quarter cars that do not feel each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray, Array
from ..components.independent_suspension import IndependentSuspension, tyre_stiffness
from ..components.sprung_mass import sprung_mass
from ..components.suspension_elements import corner_force
from ..model import Vehicle
from ..road.iso8608 import WAVELENGTHS, psd
from ..units import N, N_m, N_s_m, kg, kg_m2, m, m_s

__all__ = ["HalfAxle", "HalfCar", "half_car", "standard_deviation"]

NUDGE = 1e-3
"""Travel in m and rate in m/s over which slopes about rest are taken."""


class HalfAxle(NamedTuple):
    """Both wheels of an axle together."""

    m_u: kg
    k: N_m
    c: N_s_m
    k_t: N_m
    c_t: N_s_m
    load: N
    """At rest."""


class HalfCar(NamedTuple):
    """A body on two axles."""

    m: kg
    I_y: kg_m2
    l_f: m
    l_r: m
    front: HalfAxle
    rear: HalfAxle

    def response(self, f: Array, v: m_s) -> dict[str, AnyArray]:
        """At a speed, per metre of the road at frequencies in Hz, each (F,): the acceleration of
        the body, "a_z", and the loads "F_front" and "F_rear" of the axles."""
        s = 2.0j * np.pi * f[:, None, None]
        road = np.array([1.0, 1.0]) * np.exp(-s[:, 0] * np.array([0.0, (self.l_f + self.l_r) / v]))
        axles = np.array([self.front, self.rear])
        m_u, k, c, k_t, c_t, _ = axles.T
        # Heights of the body over the axles from z and θ, positive with the nose down.
        T = np.array([[1.0, -self.l_f], [1.0, self.l_r]])
        spring, tyre = k + c * s[:, 0], k_t + c_t * s[:, 0]
        A = np.zeros((len(f), 4, 4), dtype=complex)
        A[:, :2, :2] = np.diag([self.m, self.I_y]) * s**2 + T.T @ (spring[:, :, None] * T)
        A[:, :2, 2:] = -T.T * spring[:, None, :]
        A[:, 2:, :2] = -spring[:, :, None] * T
        A[:, [2, 3], [2, 3]] = m_u * s[:, 0] ** 2 + spring + tyre
        b = np.concatenate([np.zeros((len(f), 2)), tyre * road], axis=1)
        motion = np.linalg.solve(A, b[..., None])[..., 0]
        loads = tyre * (road - motion[:, 2:])
        return {
            "a_z": s[:, 0, 0] ** 2 * motion[:, 0],
            "F_front": loads[:, 0],
            "F_rear": loads[:, 1],
        }


def half_car(vehicle: Vehicle) -> HalfCar | None:
    """That of a vehicle with springs at each wheel, about rest; None of any other."""
    p = vehicle.params
    chassis: Any = getattr(p, "chassis", None)
    if not hasattr(chassis, "front") or not hasattr(getattr(chassis, "body", None), "m_u_f"):
        return None
    springs: IndependentSuspension = chassis
    layout, k_t = springs.body, tyre_stiffness(p)
    body, L = sprung_mass(layout, p), p.l_f + p.l_r
    corners = (springs.front, springs.rear)
    unsprung, c_t = (layout.m_u_f, layout.m_u_r), (layout.c_t_f, layout.c_t_r)
    loads = p.m * p.g * p.l_r / L, p.m * p.g * p.l_f / L
    front, rear = (
        HalfAxle(unsprung[k], *_slopes(corners[k]), 2.0 * k_t[2 * k], 2.0 * c_t[k], loads[k])
        for k in range(2)
    )
    return HalfCar(body.m, layout.I_y, body.l_f, body.l_r, front, rear)


def _slopes(held: object) -> tuple[N_m, N_s_m]:
    """Stiffness and damping of both corners of an axle that move alike, about rest."""
    by = 1.0 / NUDGE  # two corners, over twice the nudge
    k = corner_force(held, NUDGE, 0.0, NUDGE) - corner_force(held, -NUDGE, 0.0, -NUDGE)
    c = corner_force(held, 0.0, NUDGE, 0.0) - corner_force(held, 0.0, -NUDGE, 0.0)
    return float(by * k), float(by * c)


def standard_deviation(gain: AnyArray, f: Array, v: m_s, roughness: str) -> float:
    """Of an answer with gains per metre of road at frequencies in Hz, on a road of ISO 8608."""
    n = f / v
    height = np.where(
        (n >= 1.0 / WAVELENGTHS[1]) & (n <= 1.0 / WAVELENGTHS[0]), psd(n, roughness) / v, 0.0
    )
    return float(np.sqrt(np.trapezoid(np.abs(gain) ** 2 * height, f)))
