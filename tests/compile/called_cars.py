"""Cars that use one tyre kernel at four wheels, called or copied, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import skidpad as sp
from skidpad import Model, Vehicle
from skidpad.core.model import NoDisturbance
from skidpad.core.policy import Policy
from skidpad.ops import atan, called, cos, exp, hypot, maximum, sin, smooth_abs, tanh

Call = Callable[..., Any]


def copied(kernel: Call, *arguments: Any) -> Any:
    """A plain call: the kernel is copied."""
    return kernel(*arguments)


class Tyre(NamedTuple):
    B: float = 9.0
    C: float = 1.3
    mu: float = 0.95
    F_0: float = 3000.0
    soft: float = 0.08


class Forces(NamedTuple):
    F_x: Any
    F_y: Any


class Params(NamedTuple):
    front: Tyre = Tyre()
    rear: Tyre = Tyre(B=11.0)
    m: float = 1200.0
    I_z: float = 1500.0
    l_f: float = 1.2
    l_r: float = 1.4
    half: float = 0.75
    radius: float = 0.3
    inertia: float = 1.1
    t_steer: float = 0.05


class Input(NamedTuple):
    steer: float = 0.0
    torque: float = 0.0


class Rolling(NamedTuple):
    """Three velocities that depend on each other: a block that is unrolled."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    v_x: float = 10.0
    v_y: float = 0.0
    omega: float = 0.0
    steer: float = 0.0


class Spinning(NamedTuple):
    """Seven of them, the spins of the wheels included: a large block."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    v_x: float = 10.0
    v_y: float = 0.0
    omega: float = 0.0
    steer: float = 0.0
    spin_fl: float = 33.0
    spin_fr: float = 33.0
    spin_rl: float = 33.0
    spin_rr: float = 33.0


class Outputs(NamedTuple):
    F_y: float


def tyre(slip_x: Any, slip_y: Any, F_z: Any, p: Tyre) -> Forces:
    """Force of a wheel; a part of it depends on parameters alone."""
    load = maximum(F_z, 0.0)
    grip = p.mu * (1.0 - p.soft * (load - p.F_0) / p.F_0) * exp(-p.soft * p.soft)
    slip = hypot(slip_x, hypot(slip_y, 1e-3))
    total = load * grip * sin(p.C * atan(p.B * slip)) / slip
    return Forces(-total * slip_x, -total * slip_y)


def limited(u: Input, v_x: Any, p: Params) -> Input:
    """What `hold` does; called as well."""
    return Input(0.5 * tanh(2.0 * u.steer), u.torque / (1.0 + 0.001 * v_x * v_x * p.radius))


def car(call: Call = called, State: Any = Rolling, *, hold: bool = True) -> Vehicle:
    """A car whose wheels call the tyre by `call`."""

    def wheels(x: Any, u: Any, p: Params) -> list[tuple[Forces, Any, Any, Any]]:
        found: list[tuple[Forces, Any, Any, Any]] = []
        places = [(p.l_f, p.half), (p.l_f, -p.half), (-p.l_r, p.half), (-p.l_r, -p.half)]
        spins: list[Any] = list(x[7:]) or [None] * 4
        for k, (a, b) in enumerate(places):
            angle = x.steer if k < 2 else 0.0 * x.steer
            c, s = cos(angle), sin(angle)
            v, w = x.v_x - b * x.omega, x.v_y + a * x.omega
            along, across = c * v + s * w, c * w - s * v
            speed = smooth_abs(along, 0.5) + 1.0
            slip_x = -0.02 * u.torque / p.m
            if spins[k] is not None:
                slip_x = (along - p.radius * spins[k]) / speed
            F_z = 0.25 * p.m * 9.81 * (1.0 + 0.02 * b * x.omega)
            F = call(tyre, slip_x, across / speed, F_z, p.front if k < 2 else p.rear)
            found.append((F, c * F.F_x - s * F.F_y, s * F.F_x + c * F.F_y, (a, b)))
        return found

    def derivative(x: Any, u: Any, w: NoDisturbance, p: Params) -> Any:
        forces = wheels(x, u, p)
        F_x, F_y = sum(f[1] for f in forces), sum(f[2] for f in forces)
        M_z = sum(f[3][0] * f[2] - f[3][1] * f[1] for f in forces)
        spin = [(u.torque - p.radius * f[0].F_x) / p.inertia for f in forces]
        c, s = cos(x.yaw), sin(x.yaw)
        return State(
            c * x.v_x - s * x.v_y,
            s * x.v_x + c * x.v_y,
            x.omega,
            F_x / p.m + x.omega * x.v_y,
            F_y / p.m - x.omega * x.v_x,
            M_z / p.I_z,
            (u.steer - x.steer) / p.t_steer,
            *(spin if len(State._fields) > 7 else ()),
        )

    def outputs(x: Any, u: Any, w: NoDisturbance, p: Params) -> Outputs:
        return Outputs(sum(f[2] for f in wheels(x, u, p)))

    def held(x: Any, u: Any, w: NoDisturbance, p: Params) -> Input:
        return call(limited, u, x.v_x, p)

    model: Any = Model(
        name=f"{call.__name__}_{State.__name__.lower()}",
        State=State,
        Input=Input,
        Params=Params,
        derivative=derivative,
        outputs=outputs,
        Outputs=Outputs,
        hold=held if hold else None,
    )
    return sp.VehicleFactory(model)()


def policy(call: Call = called) -> Policy:
    """A driver whose law is called too."""

    def law(v_x: Any, yaw: Any) -> Input:
        return Input(-0.3 * sin(yaw), 50.0 * tanh(12.0 - v_x))

    def act(x: Any) -> Input:
        return call(law, x.v_x, x.yaw)

    return Policy(act, name="driver")
