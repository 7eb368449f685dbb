"""A small vehicle to try the checker on: viscous friction at two axles, torque at two rear wheels.

It conforms. `cart(derivative)` puts another derivative in place of its own; `cart(body=BODY)` has a
body too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from skidpad.core.body import Demand, Geometry, Limits, car_geometry
from skidpad.core.model import Model, Vehicle, VehicleFactory
from skidpad.ops import clip, cos, sin
from skidpad.units import N, N_s_m, Nm, Unit, kg, kg_m2, m, m_s, m_s2, positive, rad, rad_s, s
from skidpad.vehicles.parts.assembly import sliding_car

J = Annotated[float, Unit("J", length=2, mass=1, time=-2)]


class State(NamedTuple):
    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0
    steer: rad = 0.0


class Input(NamedTuple):
    steer: rad = 0.0
    tau_left: Nm = 0.0
    tau_right: Nm = 0.0


class Params(NamedTuple):
    m: Annotated[kg, positive] = 200.0
    I_z: Annotated[kg_m2, positive] = 90.0
    l: Annotated[m, positive] = 0.7  # noqa: E741 (the symbol of the books)
    track: Annotated[m, positive] = 1.1
    r: Annotated[m, positive] = 0.2
    C: Annotated[N_s_m, positive] = 1500.0
    d: Annotated[N_s_m, positive] = 40.0
    t_steer: Annotated[s, positive] = 0.1
    v_0: Annotated[m_s, positive] = 1.0


class Outputs(NamedTuple):
    a_x: m_s2
    a_y: m_s2
    F_y_front: N
    F_y_rear: N


class Forces(NamedTuple):
    x: N
    front: N
    rear: N
    moment: Nm


def forces(x: State, u: Input, p: Any, grip: Any = 1.0) -> Forces:
    """Forces on the body; `front` across the steered wheel, the rest in body axes."""
    across_front = cos(x.steer) * (x.v_y + p.l * x.omega) - sin(x.steer) * x.v_x
    front = -grip * p.C * across_front
    rear = -grip * p.C * (x.v_y - p.l * x.omega)
    along = (u.tau_left + u.tau_right) / p.r - p.d * x.v_x - front * sin(x.steer)
    moment = p.l * (front * cos(x.steer) - rear)
    return Forces(along, front, rear, moment + 0.5 * p.track * (u.tau_right - u.tau_left) / p.r)


def motion(x: State, u: Input, p: Any, f: Forces) -> State:
    c, s = cos(x.yaw), sin(x.yaw)
    return State(
        x.v_x * c - x.v_y * s,
        x.v_x * s + x.v_y * c,
        x.omega,
        f.x / p.m + x.v_y * x.omega,
        (f.front * cos(x.steer) + f.rear) / p.m - x.v_x * x.omega,
        f.moment / p.I_z,
        (u.steer - x.steer) / p.t_steer,
    )


def derivative(x: State, u: Input, w: Any, p: Any) -> State:
    return motion(x, u, p, forces(x, u, p))


def outputs(x: State, u: Input, w: Any, p: Any) -> Outputs:
    f = forces(x, u, p)
    return Outputs(f.x / p.m, (f.front * cos(x.steer) + f.rear) / p.m, f.front, f.rear)


def kinetic_energy(x: State, p: Any) -> J:
    return 0.5 * p.m * (x.v_x * x.v_x + x.v_y * x.v_y) + 0.5 * p.I_z * x.omega * x.omega


def geometry(p: Any) -> Geometry:
    return car_geometry(
        front_axle=p.l,
        rear_axle=-p.l,
        front=1.1,
        rear=-1.0,
        width=p.track + 0.2,
        height=0.9,
        track=p.track,
        wheel_radius=p.r,
        wheel_width=0.15,
        mass=p.m,
        inertia=p.I_z,
    )


def limits(p: Any) -> Limits:
    return Limits(steer_max=0.5, a_max=6.0, a_min=-6.0, inputs={"steer": (-0.5, 0.5)})


def command(x: State, demand: Demand, p: Any) -> Input:
    tau = 0.5 * p.r * (p.m * demand.a + p.d * x.v_x)
    return Input(clip(demand.steer, -0.5, 0.5), tau, tau)


BODY = sliding_car(geometry=geometry, limits=limits, command=command)

MODEL = Model(
    name="cart",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    derivative=derivative,
    outputs=outputs,
    energy=kinetic_energy,
)


def cart(changed: Any = derivative, **changes: Any) -> Vehicle:
    """The cart, with another derivative or other fields of its model."""
    return VehicleFactory(replace(MODEL, derivative=changed, **changes))()
