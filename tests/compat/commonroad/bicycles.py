"""Bicycles of the tests' own, written operation by operation as commonroad-control rounds them.

With the same operations in the same order every recording of it is met to the last bits, also those
that magnify a difference in the last one.
"""

from __future__ import annotations

from typing import NamedTuple

from skidpad import ops
from skidpad.core.model import Model, VehicleFactory
from skidpad.units import kg, kg_m2, m, m_s, m_s2, one, rad, rad_s, rad_s2


class Input(NamedTuple):
    a: m_s2
    steer_rate: rad_s


class Params(NamedTuple):
    l_wb: m = 2.578
    l_f: m = 1.156
    l_r: m = 1.422
    m: kg = 1093.0
    I_z: kg_m2 = 1791.0
    C_f: one = 21.89272
    C_r: one = 21.89272
    z_cg: m = 0.574
    g: m_s2 = 9.81


class KinematicState(NamedTuple):
    x: m
    y: m
    v: m_s
    yaw: rad
    steer: rad


class KinematicDisturbance(NamedTuple):
    x: m_s = 0.0
    y: m_s = 0.0
    v: m_s2 = 0.0
    yaw: rad_s = 0.0
    steer: rad_s = 0.0


def kinematic_rates(x, u, w, p):
    beta = ops.atan(ops.tan(x.steer) * p.l_r / p.l_wb)
    return KinematicState(
        x.v * ops.cos(x.yaw + beta) + w.x,
        x.v * ops.sin(x.yaw + beta) + w.y,
        u.a + w.v,
        x.v * ops.sin(beta) / p.l_r + w.yaw,
        u.steer_rate + w.steer,
    )


class DynamicState(NamedTuple):
    x: m
    y: m
    v_x: m_s
    v_y: m_s
    yaw: rad
    omega: rad_s
    steer: rad


class DynamicDisturbance(NamedTuple):
    x: m_s = 0.0
    y: m_s = 0.0
    v_x: m_s2 = 0.0
    v_y: m_s2 = 0.0
    yaw: rad_s = 0.0
    omega: rad_s2 = 0.0
    steer: rad_s = 0.0


def dynamic_rates(x, u, w, p):
    alpha_f = ops.atan((x.v_y + p.l_f * x.omega) / x.v_x) - x.steer
    alpha_r = ops.atan((x.v_y - p.l_r * x.omega) / x.v_x)
    F_f = -p.C_f * alpha_f * ((p.m * p.g * p.l_r - p.m * u.a * p.z_cg) / p.l_wb)
    F_r = -p.C_r * alpha_r * ((p.m * p.g * p.l_f + p.m * u.a * p.z_cg) / p.l_wb)
    c, s = ops.cos(x.yaw), ops.sin(x.yaw)
    return DynamicState(
        x.v_x * c - x.v_y * s + w.x,
        x.v_x * s + x.v_y * c + w.y,
        x.omega * x.v_y + u.a - F_f * ops.sin(x.steer) / p.m + w.v_x,
        -x.omega * x.v_x + (F_f * ops.cos(x.steer) + F_r) / p.m + w.v_y,
        x.omega + w.yaw,
        (p.l_f * F_f * ops.cos(x.steer) - p.l_r * F_r) / p.I_z + w.omega,
        u.steer_rate + w.steer,
    )


KINEMATIC = VehicleFactory(
    Model(
        "kinematic",
        KinematicState,
        Input,
        Params,
        derivative=kinematic_rates,
        Disturbance=KinematicDisturbance,
    )
)
DYNAMIC = VehicleFactory(
    Model(
        "dynamic",
        DynamicState,
        Input,
        Params,
        derivative=dynamic_rates,
        Disturbance=DynamicDisturbance,
    )
)
kinematic, dynamic = KINEMATIC(), DYNAMIC()
