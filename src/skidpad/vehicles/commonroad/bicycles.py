"""The vehicles of commonroad-control: kinematic bicycle, dynamic bicycle and point mass.

`commonroad_kinematic_bicycle` is a car without slip whose inputs are acceleration and steering
rate. Its reference point is the centre of mass, and `v` the speed of that point, so the yaw rate is
v sin(beta) / l_r.

`commonroad_dynamic_bicycle` has two linear tyres with longitudinal load transfer. By default the
slip angles are those of the wheel planes, with a smooth floor on the rolling speed below `v_blend`:
at standstill and in reverse the tyres resist, and above `v_blend` the motion is upstream's.

`double_integrator` is a point mass along and across a reference path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.body import (
    Acceleration,
    Body,
    Demand,
    Geometry,
    Limits,
    Pose,
    Velocity,
    car_geometry,
)
from ...core.model import Model
from ...core.record import extended
from ...geometry.pose import unrotated
from ...ops import atan, cos, pow, sin, tan
from ..parts import kinematics
from ..parts.actuators import demanded_acceleration, limited
from ..parts.assembly import sliding_car
from ..parts.kinematics import Acceleration as PlaneAcceleration
from ..parts.load_transfer import Velocity as WheelVelocity
from ..parts.load_transfer import in_wheel_frame, on_road, pitch_loads, smooth_slip_angle
from . import cars
from .cars import BMW_3_SERIES, CONTROL, AxleOutputs, BicycleInput, BicycleParams, CommonRoadFactory


class KinematicBicycleState(NamedTuple):
    """Pose, speed and steering angle. ISO 8855: x forward, y left."""

    x: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    y: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    v: si.m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: si.rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    steer: si.rad = 0.0
    """Steering angle, positive to the left."""


class KinematicBicycleOutputs(NamedTuple):
    """Accelerations, yaw rate and slip angle of the kinematic bicycle."""

    a_x: si.m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: si.m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    a_long: si.m_s2
    """Acceleration along the path, as commanded: what `a_long_max` limits."""
    a_lat: si.m_s2
    """Centripetal acceleration at the present steering angle, v omega: what `a_lat_max` limits.
    `a_y` also contains the effect of a steering rate."""
    omega: si.rad_s
    """Yaw rate, positive to the left."""
    beta: si.rad
    """Slip angle at the centre of mass, positive to the left."""


def kinematic_motion(x: KinematicBicycleState, u: BicycleInput, p: BicycleParams) -> cars.Motion:
    """State rates, slip angle and yaw rate of wheels that roll."""
    beta, omega = line = kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    pose = kinematics.pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), omega)
    return cars.Motion(KinematicBicycleState(pose.x, pose.y, u.a, pose.yaw, u.steer_rate), line)


def kinematic_shown(
    x: KinematicBicycleState, now: cars.Motion, p: BicycleParams
) -> Sequence[float]:
    """Accelerations of the centre of mass, its slip angle and the yaw rate."""
    beta, omega = now.acting
    turning = omega + kinematics.drift_rate(x.steer, now.rate.steer, p.l_f, p.l_r)
    a = kinematics.path_acceleration(x.v, beta, now.rate.v, turning)
    return *a, now.rate.v, x.v * omega, omega, beta


def rolling_velocity(x: KinematicBicycleState, u: Any, p: BicycleParams) -> Velocity:
    """Velocity of the kinematic bicycle; its slip angle follows from the steering angle."""
    beta, omega = kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    return Velocity(x.v * cos(beta), x.v * sin(beta), omega)


def rolling_acceleration(
    x: KinematicBicycleState, rate: KinematicBicycleState, p: BicycleParams
) -> Acceleration:
    """Acceleration of the kinematic bicycle and its yaw acceleration."""
    beta, omega = kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta_rate, omega_rate = kinematics.rolling_rate(x.v, rate.v, x.steer, rate.steer, p.l_f, p.l_r)
    a = kinematics.path_acceleration(x.v, beta, rate.v, omega + beta_rate)
    return Acceleration(a.x, a.y, omega_rate)


def rolling_placed(
    x: KinematicBicycleState, pose: Pose, velocity: Velocity, p: BicycleParams
) -> KinematicBicycleState:
    """Kinematic bicycle at another pose; keeps only the velocity along its direction of travel."""
    v, _ = unrotated(velocity.v_x, velocity.v_y, kinematics.drift(x.steer, p.l_f, p.l_r))
    return x._replace(**pose._asdict(), v=v)


KINEMATIC_BICYCLE_MODEL = cars.car_model(
    "commonroad_kinematic_bicycle",
    KinematicBicycleState,
    BicycleParams,
    KinematicBicycleOutputs,
    kinematic_motion,
    kinematic_shown,
    BicycleInput,
    body=sliding_car(
        velocity=rolling_velocity,
        speed=lambda x, p: x.v,
        acceleration=rolling_acceleration,
        placed=rolling_placed,
        geometry=cars.sized,
        limits=cars.bicycle_limits,
        command=cars.bicycle_command,
        on_ground=cars.on_slope_ahead(lambda x, p: kinematics.drift(x.steer, p.l_f, p.l_r)),
    ),
    mirror_odd={"a_lat": True},
    summary="Car without slip under acceleration and steering rate",
)

commonroad_kinematic_bicycle = CommonRoadFactory(KINEMATIC_BICYCLE_MODEL)


class DynamicBicycleState(NamedTuple):
    """Pose, velocity and steering angle. ISO 8855: x forward, y left."""

    x: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    y: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    v_x: si.m_s = 0.0
    """Velocity of the centre of mass along the car, forward positive."""
    v_y: si.m_s = 0.0
    """Velocity of the centre of mass across the car, positive to the left."""
    yaw: si.rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: si.rad_s = 0.0
    """Yaw rate, positive to the left."""
    steer: si.rad = 0.0
    """Steering angle, positive to the left."""


@extended
class DynamicBicycleParams(BicycleParams):
    """Masses, tyres and limits; by default the BMW 3 series of commonroad-control."""

    m: Annotated[si.kg, si.positive] = BMW_3_SERIES["m"]
    """Mass."""
    I_z: Annotated[si.kg_m2, si.positive] = BMW_3_SERIES["I_z"]
    """Yaw inertia about the centre of mass."""
    C_f: Annotated[si.one, si.non_negative] = BMW_3_SERIES["C_f"]
    """Cornering stiffness of the front axle over its load, in 1/rad."""
    C_r: Annotated[si.one, si.non_negative] = BMW_3_SERIES["C_r"]
    """Cornering stiffness of the rear axle over its load, in 1/rad."""
    z_cg: Annotated[si.m, si.non_negative] = BMW_3_SERIES["z_cg"]
    """Height of the centre of mass."""
    g: Annotated[si.m_s2, si.non_negative] = BMW_3_SERIES["g"]
    """Gravity."""
    v_blend: Annotated[si.m_s, si.positive] = 1.2
    """Rolling speed below which slip angles have a smooth floor; upstream has none. The fastest
    motion at rest then decays with 480 1/s (760 1/s under the largest acceleration), which RK4
    follows in steps of 5 ms (3.5 ms)."""


class Axles(NamedTuple):
    """A value for the front and the rear axle."""

    front: float
    rear: float


def slip_angles(x: DynamicBicycleState, p: DynamicBicycleParams) -> Axles:
    """Slip angles of the front and the rear wheels, valid at any speed, forwards and in reverse."""
    front = WheelVelocity(x.v_x, x.v_y + p.l_f * x.omega)
    rear = WheelVelocity(x.v_x, x.v_y - p.l_r * x.omega)
    turned = in_wheel_frame(front, cos(x.steer), sin(x.steer))
    return Axles(smooth_slip_angle(turned, p.v_blend), smooth_slip_angle(rear, p.v_blend))


def upstream_slip_angles(x: DynamicBicycleState, p: DynamicBicycleParams) -> Axles:
    """Slip angles by one arctangent: NaN at rest and of the wrong sign in reverse."""
    front, rear = x.v_y + p.l_f * x.omega, x.v_y - p.l_r * x.omega
    # A power and not a division, which Python refuses at 0.
    by_speed = pow(x.v_x, -1.0)
    return Axles(x.steer - atan(front * by_speed), -atan(rear * by_speed))


def _dynamic_bicycle_model(*, upstream: bool, **others: Any) -> Model:
    slip = upstream_slip_angles if upstream else slip_angles

    def motion(x: DynamicBicycleState, u: BicycleInput, p: DynamicBicycleParams) -> cars.Motion:
        alpha, loads = slip(x, p), Axles(*pitch_loads(u.a, p.m, p.g, p.l_f, p.l_r, p.z_cg))
        # In upstream, an axle that would lift off pulls at the road.
        F_z = loads if upstream else Axles(*map(on_road, loads))
        front, rear = p.C_f * alpha.front * F_z.front, p.C_r * alpha.rear * F_z.rear
        by_mass = 1.0 / p.m
        along = u.a - by_mass * front * sin(x.steer)
        a = PlaneAcceleration(along, by_mass * (front * cos(x.steer) + rear))
        pose = kinematics.pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
        v = kinematics.velocity_rate(a, x.v_x, x.v_y, x.omega)
        omega = (p.l_f * front * cos(x.steer) - p.l_r * rear) * (1.0 / p.I_z)
        rate = DynamicBicycleState(pose.x, pose.y, v.x, v.y, pose.yaw, omega, u.steer_rate)
        return cars.Motion(rate, (*a, *alpha, front, rear, *F_z))

    return cars.car_model(
        "commonroad_dynamic_bicycle",
        DynamicBicycleState,
        DynamicBicycleParams,
        AxleOutputs,
        motion,
        lambda x, now, p: now.acting,
        BicycleInput,
        body=sliding_car(
            geometry=cars.seen_from_the_mass,
            limits=cars.bicycle_limits,
            command=cars.bicycle_command,
            on_ground=cars.on_slope("v_x", "v_y"),
            gravity="g",
        ),
        energy=lambda x, p: kinematics.kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z),
        summary="Bicycle on linear tyres with load transfer, at any speed",
        **others,
    )


DYNAMIC_BICYCLE_MODEL = _dynamic_bicycle_model(upstream=False)
_ONE_ARC = "slip angles by one arc tangent of a quotient by v_x, which is NaN at rest"
DYNAMIC_BICYCLE_UPSTREAM_MODEL = _dynamic_bicycle_model(
    upstream=True,
    reproduces=CONTROL,
    exempt={
        "gradients": _ONE_ARC,
        "energy": "in reverse its tyres push the way they slip, so energy grows",
        **dict.fromkeys(("rest", "motion", "driving", "standing"), _ONE_ARC),
    },
)

commonroad_dynamic_bicycle = CommonRoadFactory(
    DYNAMIC_BICYCLE_MODEL, upstream=DYNAMIC_BICYCLE_UPSTREAM_MODEL
)

TURN_TIME: si.s = 0.3
"""Time constant with which a command changes the velocity across the path."""


class DoubleIntegratorState(NamedTuple):
    """Position and velocity in path coordinates: along the path and to its left."""

    s: si.m = 0.0
    """Distance along the path."""
    d: si.m = 0.0
    """Distance from the path, positive to the left."""
    v_s: si.m_s = 0.0
    """Velocity along the path."""
    v_d: si.m_s = 0.0
    """Velocity across the path, positive to the left."""


class Input(NamedTuple):
    """Acceleration inputs, applied without limits."""

    a_s: si.m_s2 = 0.0
    """Acceleration along the path."""
    a_d: si.m_s2 = 0.0
    """Acceleration across the path, positive to the left."""


class DoubleIntegratorParams(NamedTuple):
    """Acceleration limits; the motion itself does not apply them."""

    a_long_max: Annotated[si.m_s2, si.positive] = BMW_3_SERIES["a_long_max"]
    """Largest acceleration along the path, either way; see `skidpad.linearise`."""
    a_lat_max: Annotated[si.m_s2, si.positive] = BMW_3_SERIES["a_lat_max"]
    """Largest acceleration across the path, either side."""


class Outputs(NamedTuple):
    """Accelerations along and across the path."""

    a_long: si.m_s2
    """Acceleration along the path."""
    a_lat: si.m_s2
    """Acceleration across the path, positive to the left."""


def geometry(p: DoubleIntegratorParams) -> Geometry:
    """Outline of the size that commonroad-control draws; the wheels do not steer."""
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
    """Convert a demand to accelerations; the mass moves where a car's wheels would point, with the
    velocity v tan(steer) to the left."""
    across = (x.v_s * tan(demand.steer) - x.v_d) * (1.0 / TURN_TIME)
    along = demanded_acceleration(demand, x.v_s)
    return Input(limited(along, p.a_long_max), limited(across, p.a_lat_max))


DOUBLE_INTEGRATOR_MODEL = cars.car_model(
    "double_integrator",
    DoubleIntegratorState,
    DoubleIntegratorParams,
    Outputs,
    lambda x, u, p: cars.Motion(DoubleIntegratorState(x.v_s, x.v_d, u.a_s, u.a_d), u),
    lambda x, now, p: now.acting,
    Input,
    body=Body(
        reference="the mass",
        # The path is the world's x axis; heading, yaw rate and their demands are 0.
        pose=lambda x, p: Pose(x.s, x.d, 0.0 * x.s),
        velocity=lambda x, u, p: Velocity(x.v_s, x.v_d, 0.0 * x.v_s),
        acceleration=lambda x, rate, p: Acceleration(rate.v_s, rate.v_d, 0.0 * rate.v_s),
        placed=lambda x, pose, v, p: DoubleIntegratorState(pose.x, pose.y, v.v_x, v.v_y),
        geometry=geometry,
        limits=limits,
        command=command,
        on_ground=cars.on_slope("v_s", "v_d"),
    ),
    mirror_odd={"d": True, "v_d": True, "a_d": True, "a_lat": True},
    summary="Point mass along and across a path; CommonRoad's double integrator",
)

double_integrator = CommonRoadFactory(DOUBLE_INTEGRATOR_MODEL)
