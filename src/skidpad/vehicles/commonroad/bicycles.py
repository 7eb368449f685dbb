"""The vehicles of commonroad-control: kinematic bicycle, dynamic bicycle and point mass.

`commonroad_kinematic_bicycle` is a car without slip, moved by acceleration and steering rate. Its
reference point is the centre of mass, and `v` the speed of that point, so the yaw rate is
v sin(beta) / l_r.

`commonroad_dynamic_bicycle` has two linear tyres under loads that acceleration moves. By default
the slip angles are those of the wheel planes, with a smooth floor on the rolling speed below
`v_blend`: at standstill and in reverse the tyres resist, and above `v_blend` the motion is
upstream's.

`double_integrator` is a point mass along and across a reference path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from ...core.body import (
    Acceleration,
    Body,
    Demand,
    Geometry,
    GroundUnder,
    Limits,
    Pose,
    Velocity,
    car_geometry,
)
from ...core.model import Model, NoDisturbance
from ...core.record import extended
from ...ops import atan, cos, pow, sin, tan
from ...units import (
    J,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    s,
)
from ..parts import kinematics
from ..parts.actuators import limited
from ..parts.disturbance import additive
from ..parts.drive_command import demanded_acceleration
from ..parts.kinematics import (
    centre_track_rolling,
    drift_rate,
    kinetic_energy,
    path_acceleration,
    pose_rate,
    velocity_rate,
)
from ..parts.load_transfer import Velocity as WheelVelocity
from ..parts.load_transfer import in_wheel_frame, on_road, pitch_loads, smooth_slip_angle
from .body import dynamic_bicycle_body, rolling_body
from .records import (
    BMW_3_SERIES,
    CONTROL,
    AxleOutputs,
    BicycleInput,
    BicycleParams,
    CommonRoadFactory,
)


class KinematicBicycleState(NamedTuple):
    """Pose, speed and steering angle. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    v: m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""


class KinematicBicycleOutputs(NamedTuple):
    """Accelerations and slip."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    a_long: m_s2
    """Acceleration along the path, as commanded: what `a_long_max` limits."""
    a_lat: m_s2
    """Centripetal acceleration of the turn that the steering angle asks for, v omega: what
    `a_lat_max` limits. A moving steering angle turns the path further; `a_y` has that too."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    beta: rad
    """Slip angle at the centre of mass, positive to the left."""


def kinematic_bicycle_derivative(
    x: KinematicBicycleState, u: BicycleInput, w: NoDisturbance, p: BicycleParams
) -> KinematicBicycleState:
    """Time derivative of the state."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), omega)
    return KinematicBicycleState(pose.x, pose.y, u.a, pose.yaw, u.steer_rate)


def kinematic_bicycle_outputs(
    x: KinematicBicycleState, u: BicycleInput, w: NoDisturbance, p: BicycleParams
) -> KinematicBicycleOutputs:
    """Accelerations of the turning car."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    turning = omega + drift_rate(x.steer, u.steer_rate, p.l_f, p.l_r)
    a = path_acceleration(x.v, beta, u.a, turning)
    return KinematicBicycleOutputs(a.x, a.y, u.a, x.v * omega, omega, beta)


KINEMATIC_BICYCLE_MODEL = additive(
    Model(
        name="commonroad_kinematic_bicycle",
        State=KinematicBicycleState,
        Input=BicycleInput,
        Params=BicycleParams,
        Outputs=KinematicBicycleOutputs,
        derivative=kinematic_bicycle_derivative,
        outputs=kinematic_bicycle_outputs,
        body=rolling_body(),
        mirror_odd={"a_lat": True},
        summary="Car without slip under acceleration and steering rate",
    )
)

commonroad_kinematic_bicycle = CommonRoadFactory(KINEMATIC_BICYCLE_MODEL)


class DynamicBicycleState(NamedTuple):
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
class DynamicBicycleParams(BicycleParams):
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


def contact(x: DynamicBicycleState, p: DynamicBicycleParams) -> tuple[WheelVelocity, WheelVelocity]:
    """Velocity over ground of the front and rear contact patch, in the body frame."""
    return (
        WheelVelocity(x.v_x, x.v_y + p.l_f * x.omega),
        WheelVelocity(x.v_x, x.v_y - p.l_r * x.omega),
    )


def slip_angles(x: DynamicBicycleState, p: DynamicBicycleParams) -> Axles:
    """Slip angles of the wheels, at any speed and either way."""
    front, rear = contact(x, p)
    turned = in_wheel_frame(front, cos(x.steer), sin(x.steer))
    return Axles(smooth_slip_angle(turned, p.v_blend), smooth_slip_angle(rear, p.v_blend))


def upstream_slip_angles(x: DynamicBicycleState, p: DynamicBicycleParams) -> Axles:
    """Slip angles by one arc tangent: NaN at rest and of the wrong sign in reverse."""
    front, rear = contact(x, p)
    # A power and not a division, which Python refuses at 0.
    by_speed = pow(x.v_x, -1.0)
    return Axles(x.steer - atan(front.y * by_speed), -atan(rear.y * by_speed))


def loads(a: m_s2, p: DynamicBicycleParams) -> Axles:
    """Load on each axle under a commanded acceleration; negative beyond what can be."""
    return Axles(*pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.z_cg))


class DynamicBicycleMotion(NamedTuple):
    """What derivative and outputs need of one instant."""

    alpha: Axles
    F_y: Axles
    F_z: Axles
    a: kinematics.Acceleration


def _dynamic_bicycle_motion(
    slip: Callable[[DynamicBicycleState, DynamicBicycleParams], Axles],
    load: Callable[[m_s2, DynamicBicycleParams], Axles],
) -> Callable[[DynamicBicycleState, BicycleInput, DynamicBicycleParams], DynamicBicycleMotion]:
    """The motion under a rule of slip and one of loads."""

    def motion(
        x: DynamicBicycleState, u: BicycleInput, p: DynamicBicycleParams
    ) -> DynamicBicycleMotion:
        alpha, F_z = slip(x, p), load(u.a, p)
        front, rear = p.C_f * alpha.front * F_z.front, p.C_r * alpha.rear * F_z.rear
        by_mass = 1.0 / p.m
        a = kinematics.Acceleration(
            u.a - by_mass * front * sin(x.steer), by_mass * (front * cos(x.steer) + rear)
        )
        return DynamicBicycleMotion(alpha, Axles(front, rear), F_z, a)

    return motion


def _dynamic_bicycle_model(
    motion: Callable[
        [DynamicBicycleState, BicycleInput, DynamicBicycleParams], DynamicBicycleMotion
    ],
) -> Model:
    def derivative(
        x: DynamicBicycleState, u: BicycleInput, w: NoDisturbance, p: DynamicBicycleParams
    ) -> DynamicBicycleState:
        """Time derivative of the state."""
        now = motion(x, u, p)
        pose = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
        v = velocity_rate(now.a, x.v_x, x.v_y, x.omega)
        moment = p.l_f * now.F_y.front * cos(x.steer) - p.l_r * now.F_y.rear
        return DynamicBicycleState(
            pose.x, pose.y, v.x, v.y, pose.yaw, moment * (1.0 / p.I_z), u.steer_rate
        )

    def outputs(
        x: DynamicBicycleState, u: BicycleInput, w: NoDisturbance, p: DynamicBicycleParams
    ) -> AxleOutputs:
        """Accelerations, slip and forces."""
        now = motion(x, u, p)
        return AxleOutputs(*now.a, *now.alpha, *now.F_y, *now.F_z)

    return additive(
        Model(
            name="commonroad_dynamic_bicycle",
            State=DynamicBicycleState,
            Input=BicycleInput,
            Params=DynamicBicycleParams,
            Outputs=AxleOutputs,
            derivative=derivative,
            outputs=outputs,
            body=dynamic_bicycle_body(),
            energy=dynamic_bicycle_energy,
            summary="Bicycle on linear tyres with load transfer, at any speed",
        )
    )


def dynamic_bicycle_energy(x: DynamicBicycleState, p: DynamicBicycleParams) -> J:
    """Kinetic dynamic_bicycle_energy."""
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


def road_loads(a: m_s2, p: DynamicBicycleParams) -> Axles:
    """Load on each axle; 0 for one that would lift."""
    return Axles(*map(on_road, loads(a, p)))


DYNAMIC_BICYCLE_MODEL = _dynamic_bicycle_model(_dynamic_bicycle_motion(slip_angles, road_loads))
_ONE_ARC = "slip angles by one arc tangent of a quotient by v_x, which is NaN at rest"
DYNAMIC_BICYCLE_UPSTREAM_MODEL = replace(
    _dynamic_bicycle_model(_dynamic_bicycle_motion(upstream_slip_angles, loads)),
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

commonroad_dynamic_bicycle = CommonRoadFactory(
    DYNAMIC_BICYCLE_MODEL, upstream=DYNAMIC_BICYCLE_UPSTREAM_MODEL
)

TURN_TIME: s = 0.3
"""Time in which a command brings about a velocity across the path."""


class DoubleIntegratorState(NamedTuple):
    """Position and velocity in the coordinates of a path: along it and to its left."""

    s: m = 0.0
    """Distance along the path."""
    d: m = 0.0
    """Distance from the path, positive to the left."""
    v_s: m_s = 0.0
    """Velocity along the path."""
    v_d: m_s = 0.0
    """Velocity across the path, positive to the left."""


class Input(NamedTuple):
    """Accelerations, which act as they are."""

    a_s: m_s2 = 0.0
    """Acceleration along the path."""
    a_d: m_s2 = 0.0
    """Acceleration across the path, positive to the left."""


class DoubleIntegratorParams(NamedTuple):
    """Limits that the motion itself does not need."""

    a_long_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_long_max"]
    """Largest acceleration along the path, either way; see `skidpad.linearise`."""
    a_lat_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_lat_max"]
    """Largest acceleration across the path, either side."""


class Outputs(NamedTuple):
    """Accelerations."""

    a_long: m_s2
    """Acceleration along the path."""
    a_lat: m_s2
    """Acceleration across the path, positive to the left."""


def derivative(
    x: DoubleIntegratorState, u: Input, w: NoDisturbance, p: DoubleIntegratorParams
) -> DoubleIntegratorState:
    """Time derivative of the state."""
    return DoubleIntegratorState(x.v_s, x.v_d, u.a_s, u.a_d)


def outputs(
    x: DoubleIntegratorState, u: Input, w: NoDisturbance, p: DoubleIntegratorParams
) -> Outputs:
    """The accelerations commanded."""
    return Outputs(u.a_s, u.a_d)


def pose(x: DoubleIntegratorState, p: DoubleIntegratorParams) -> Pose:
    """On a straight path along the world's x axis, which the mass always faces."""
    return Pose(x.s, x.d, 0.0 * x.s)


def velocity(x: DoubleIntegratorState, u: Input, p: DoubleIntegratorParams) -> Velocity:
    """Along and across the path; it never turns."""
    return Velocity(x.v_s, x.v_d, 0.0 * x.v_s)


def acceleration(
    x: DoubleIntegratorState, rate: DoubleIntegratorState, p: DoubleIntegratorParams
) -> Acceleration:
    """Along and across the path."""
    return Acceleration(rate.v_s, rate.v_d, 0.0 * rate.v_s)


def placed(
    x: DoubleIntegratorState, pose: Pose, velocity: Velocity, p: DoubleIntegratorParams
) -> DoubleIntegratorState:
    """Elsewhere; a turn is left out."""
    return DoubleIntegratorState(pose.x, pose.y, velocity.v_x, velocity.v_y)


def geometry(p: DoubleIntegratorParams) -> Geometry:
    """A car of the size that commonroad-control draws for it; its wheels do not turn."""
    half = 0.5 * BMW_3_SERIES["length"]
    return car_geometry(
        front_axle=BMW_3_SERIES["l_f"],
        rear_axle=-BMW_3_SERIES["l_r"],
        front=half,
        rear=-half,
        width=BMW_3_SERIES["width"],
        height=1.45,
        mass=BMW_3_SERIES["m"],
        centre_of_mass=(0.0, 0.0),
        steer="",
    )


def limits(p: DoubleIntegratorParams) -> Limits:
    """Limits of the parameters; the motion does not apply them."""
    along, across = p.a_long_max, p.a_lat_max
    ranges = {"a_s": (-along, along), "a_d": (-across, across)}
    return Limits(a_max=along, a_min=-along, grip=across, inputs=ranges)


def command(x: DoubleIntegratorState, demand: Demand, p: DoubleIntegratorParams) -> Input:
    """It goes the way that the wheels of a car would point: at v tan(steer) to the left."""
    across = (x.v_s * tan(demand.steer) - x.v_d) * (1.0 / TURN_TIME)
    along = demanded_acceleration(demand, x.v_s)
    return Input(
        limited(along, p.a_long_max),
        limited(across, p.a_lat_max),
    )


def on_ground(
    x: DoubleIntegratorState, u: Input, w: Any, ground: GroundUnder, p: DoubleIntegratorParams
) -> tuple[Input, Any]:
    """Gravity as a disturbance of the velocities."""
    if ground.down is None:
        return u, w
    return u, w._replace(v_s=ground.g * ground.down.x, v_d=ground.g * ground.down.y)


DOUBLE_INTEGRATOR_MODEL = additive(
    Model(
        name="double_integrator",
        State=DoubleIntegratorState,
        Input=Input,
        Params=DoubleIntegratorParams,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        body=Body(
            reference="the mass",
            pose=pose,
            velocity=velocity,
            acceleration=acceleration,
            placed=placed,
            geometry=geometry,
            limits=limits,
            command=command,
            on_ground=on_ground,
        ),
        mirror_odd={"d": True, "v_d": True, "a_d": True, "a_lat": True},
        summary="Point mass along and across a path; CommonRoad's double integrator",
    )
)

double_integrator = CommonRoadFactory(DOUBLE_INTEGRATOR_MODEL)
