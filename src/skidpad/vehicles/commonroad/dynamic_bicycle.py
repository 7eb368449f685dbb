"""`commonroad_dynamic_bicycle`: two linear tyres under loads that acceleration moves.

The `DynamicBicycle` of commonroad-control. By default the slip angles are those of the wheel
planes, with a smooth floor on the rolling speed below `v_blend`: at standstill and in reverse the
tyres resist, and above `v_blend` the motion is upstream's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, NamedTuple

from ...components.additive_disturbance import additive
from ...components.pitch_load import on_road, pitch_loads
from ...components.rigid_body import Acceleration, kinetic_energy, pose_rate, velocity_rate
from ...components.wheel import Velocity, in_wheel_frame, smooth_slip_angle
from ...model import Model, NoDisturbance
from ...ops import atan, cos, pow, sin
from ...record import extended
from ...units import J, kg, kg_m2, m, m_s, m_s2, non_negative, one, positive, rad, rad_s
from .body import dynamic_bicycle_body
from .factory import CONTROL, CommonRoadFactory
from .records import AxleOutputs as Outputs
from .records import BicycleInput, BicycleParams
from .sets import BMW_3_SERIES


class State(NamedTuple):
    """Pose, velocity and steering angle. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    v_x: m_s = 0.0
    """Velocity of the centre of mass along the car, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the centre of mass across the car, positive to the left."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""


@extended
class Params(BicycleParams):
    """Masses, tyres and limits: the BMW of the 3 series of commonroad-control."""

    m: Annotated[kg, positive] = BMW_3_SERIES["m"]
    """Mass."""
    I_z: Annotated[kg_m2, positive] = BMW_3_SERIES["I_z"]
    """Yaw inertia about the centre of mass."""
    C_f: Annotated[one, non_negative] = BMW_3_SERIES["C_f"]
    """Cornering stiffness of the front axle over its load, in 1/rad."""
    C_r: Annotated[one, non_negative] = BMW_3_SERIES["C_r"]
    """Cornering stiffness of the rear axle over its load, in 1/rad."""
    z_cg: Annotated[m, non_negative] = BMW_3_SERIES["z_cg"]
    """Height of the centre of mass."""
    g: Annotated[m_s2, non_negative] = BMW_3_SERIES["g"]
    """Gravity."""
    v_blend: Annotated[m_s, positive] = 1.2
    """Rolling speed below which slip angles have a smooth floor; upstream has none. The fastest
    motion at rest then decays with 480 1/s (760 1/s under the largest acceleration), which RK4
    follows in steps of 5 ms (3.5 ms)."""


class Axles(NamedTuple):
    """A value for the front and the rear axle."""

    front: float
    rear: float


def contact(x: State, p: Params) -> tuple[Velocity, Velocity]:
    """Velocity over ground of the front and rear contact patch, in the body frame."""
    return (
        Velocity(x.v_x, x.v_y + p.l_f * x.omega),
        Velocity(x.v_x, x.v_y - p.l_r * x.omega),
    )


def slip_angles(x: State, p: Params) -> Axles:
    """Slip angles of the wheels, at any speed and either way."""
    front, rear = contact(x, p)
    turned = in_wheel_frame(front, cos(x.steer), sin(x.steer))
    return Axles(smooth_slip_angle(turned, p.v_blend), smooth_slip_angle(rear, p.v_blend))


def upstream_slip_angles(x: State, p: Params) -> Axles:
    """Slip angles by one arc tangent: NaN at rest and of the wrong sign in reverse."""
    front, rear = contact(x, p)
    # A power and not a division, which Python refuses at 0.
    by_speed = pow(x.v_x, -1.0)
    return Axles(x.steer - atan(front.y * by_speed), -atan(rear.y * by_speed))


def loads(a: m_s2, p: Params) -> Axles:
    """Load on each axle under a commanded acceleration; negative beyond what can be."""
    return Axles(*pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.z_cg))


class Motion(NamedTuple):
    """What derivative and outputs need of one instant."""

    alpha: Axles
    F_y: Axles
    F_z: Axles
    a: Acceleration


def _motion(
    slip: Callable[[State, Params], Axles], load: Callable[[m_s2, Params], Axles]
) -> Callable[[State, BicycleInput, Params], Motion]:
    """The motion under a rule of slip and one of loads."""

    def motion(x: State, u: BicycleInput, p: Params) -> Motion:
        alpha, F_z = slip(x, p), load(u.a, p)
        front, rear = p.C_f * alpha.front * F_z.front, p.C_r * alpha.rear * F_z.rear
        by_mass = 1.0 / p.m
        a = Acceleration(
            u.a - by_mass * front * sin(x.steer), by_mass * (front * cos(x.steer) + rear)
        )
        return Motion(alpha, Axles(front, rear), F_z, a)

    return motion


def _model(motion: Callable[[State, BicycleInput, Params], Motion]) -> Model:
    def derivative(x: State, u: BicycleInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        now = motion(x, u, p)
        pose = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
        v = velocity_rate(now.a, x.v_x, x.v_y, x.omega)
        moment = p.l_f * now.F_y.front * cos(x.steer) - p.l_r * now.F_y.rear
        return State(pose.x, pose.y, v.x, v.y, pose.yaw, moment * (1.0 / p.I_z), u.steer_rate)

    def outputs(x: State, u: BicycleInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations, slip and forces."""
        now = motion(x, u, p)
        return Outputs(*now.a, *now.alpha, *now.F_y, *now.F_z)

    return additive(
        Model(
            name="commonroad_dynamic_bicycle",
            State=State,
            Input=BicycleInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=dynamic_bicycle_body(),
            energy=energy,
            summary="Bicycle on linear tyres with load transfer, at any speed",
        )
    )


def energy(x: State, p: Params) -> J:
    """Kinetic energy."""
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


def road_loads(a: m_s2, p: Params) -> Axles:
    """Load on each axle; 0 for one that would lift."""
    return Axles(*map(on_road, loads(a, p)))


MODEL = _model(_motion(slip_angles, road_loads))
_ONE_ARC = "slip angles by one arc tangent of a quotient by v_x, which is NaN at rest"
UPSTREAM_MODEL = replace(
    _model(_motion(upstream_slip_angles, loads)),
    reproduces=CONTROL,
    exempt={
        "gradients": _ONE_ARC,
        "energy": "in reverse its tyres push the way they slip, so energy grows",
        "rest": _ONE_ARC,
        "motion": _ONE_ARC,
        "driving": _ONE_ARC,
        "standing": _ONE_ARC,
    },
)

commonroad_dynamic_bicycle = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL)
