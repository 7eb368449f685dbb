"""Vehicles from the descriptions of wheeled robots: records, body and model.

The records are generated for the wheels and the controller of a vehicle. The reference point is
the origin of wheel and chassis positions. ISO 8855: x forward, y left, z up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, Any, NamedTuple

from ...control.pid import Form
from ...control.wheeled import Controller, FrontSteerInput, MotorTorque, SideTorques, TwistInput
from ...core import record
from ...core.body import Body, Demand, Geometry, GroundUnder, Limits, Outline, Velocity, Wheel, box
from ...core.model import Model, Vehicle, built_once
from ...errors import InvalidValue
from ...ops import where
from ...units import (
    N,
    Nm,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    per_s,
    positive,
    rad,
    rad_s,
    s,
)
from ..parts.actuators import limited
from ..parts.assembly import Fields, pose, record_type, sliding_placed, sliding_velocity
from ..parts.wheel_friction import Ellipse, Splits
from .description import KINDS, Description, damping, mass_properties
from .model import Assembly, total_mass

TURN_TIME: s = 0.2
"""Time constant with which side torques bring about a demanded yaw rate."""


@dataclass(frozen=True)
class WheeledBody:
    """Functions of the `Body` of a wheeled vehicle."""

    parts: Assembly

    def body(self) -> Body:
        return Body(
            reference="the point that wheels and chassis are described from",
            pose=pose,
            velocity=sliding_velocity,
            placed=sliding_placed,
            geometry=self.geometry,
            limits=self.limits,
            command=self.command,
            steer=self.steer if self.parts.kind.steered else None,
            on_ground=self.on_ground,
            odometry=self.odometry,
            wheels=self.parts.wheels,
            gravity="g",
            lessens_loads=True,
            imposed=self.parts.controller.ideal,
        )

    def steer(self, x: Any, u: Any, p: Any) -> rad:
        """Mean angle of both front wheels."""
        return 0.5 * (x.steer_fl + x.steer_fr)

    def odometry(self, x: Any, u: Any, p: Any) -> Velocity:
        """Motion estimated from the spins of the first two wheels."""
        twist = self.parts.odometry(x, p)
        return Velocity(twist.v, 0.0 * twist.v, twist.omega)

    def on_ground(self, x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        """Apply slope, friction and rolling resistance of the ground as disturbances."""
        changes: dict[str, Any] = {}
        if ground.down is not None:
            changes |= {"slope_x": ground.down.x, "slope_y": ground.down.y}
        for name, values in (("mu", self._friction(ground, p)), ("rolling", ground.rolling)):
            if values is not None:
                wheels = zip(self.parts.kind.wheels, values, strict=True)
                changes |= {f"{name}_{wheel}": value for wheel, value in wheels}
        return u, w._replace(**changes)

    def _friction(self, ground: GroundUnder, p: Any) -> tuple[one, ...] | None:
        """Friction under each wheel; negative for the wheel's own."""
        if ground.grip is None:
            return ground.mu
        law = p.friction
        own = law.C_s * law.s_s + law.C_alpha * law.alpha_s if isinstance(law, Ellipse) else law.mu
        under = ground.mu or (-1.0,) * len(ground.grip)
        pairs = zip(under, ground.grip, strict=True)
        return tuple(where(mu < 0.0, own, mu) * grip for mu, grip in pairs)

    def geometry(self, p: Any) -> Geometry:
        """Geometry from the parameters; the outline is the rectangle around the wheels."""
        kind, wheels = self.parts.kind, self.parts.wheels(p)
        steering = kind.wheels[-2:] if kind.steered else ()
        axles = [wheel.x for k, wheel in enumerate(wheels) if k != kind.caster]
        drawn: list[Wheel] = []
        for name, at in zip(kind.wheels, wheels, strict=True):
            steer, size = f"steer_{name}" if name in steering else "", (at.radius, at.width)
            drawn.append(Wheel(name, at.x, at.y, *size, at.yaw, steer=steer, F_z=f"F_z_{name}"))
        return Geometry(
            front_axle=max(axles),
            rear_axle=min(axles),
            wheels=tuple(drawn),
            outlines=(_around(drawn),),
            height=p.body.height,
            mass=total_mass(p, wheels),
            inertia=p.body.I_z,
            centre_of_mass=(p.body.com_x, p.body.com_y),
        )

    def limits(self, p: Any) -> Limits:
        """Limits of friction and, for a steered vehicle, of steering."""
        # An ellipse gives forces by slip, with no bound on them that does not depend on load.
        grip = inf if isinstance(p.friction, Ellipse) else p.friction.mu * p.g
        if not self.parts.kind.steered:
            return Limits(steer_max=0.0, grip=grip)
        steer = (-p.steer_max, p.steer_max)
        named = "steer" in self.parts.controller.Input._fields
        inputs = {"steer": steer} if named else {}
        return Limits(steer_max=p.steer_max, omega_max=0.0, grip=grip, inputs=inputs)

    def command(self, x: Any, demand: Demand, p: Any) -> Any:
        """Convert a demand to the input of the controller."""
        Input = self.parts.controller.Input
        if Input is TwistInput:
            return TwistInput(demand.v, demand.omega)
        if Input is SideTorques:
            return self._sides(x, demand, p)
        steer = limited(demand.steer, p.steer_max)
        if Input is FrontSteerInput:
            return FrontSteerInput(demand.v, steer)
        tau = self._torque(x, demand.a, p)
        return MotorTorque(tau, steer) if Input is MotorTorque else Input(tau, tau, steer)

    def _torque(self, x: Any, a: m_s2, p: Any) -> Nm:
        """Torque at each driven wheel, or of the one motor, for an acceleration."""
        # The wheels also compensate the damping of the body.
        return self._driving(a + p.body.linear_damping * x.v_x, p)

    def _driving(self, a: m_s2, p: Any) -> Nm:
        wheels = self.parts.wheels(p)
        return a * total_mass(p, wheels) * wheels[0].radius * (1.0 / self.parts.kind.driven)

    def _sides(self, x: Any, demand: Demand, p: Any) -> SideTorques:
        wheels = self.parts.wheels(p)
        half: m = 0.5 * (wheels[0].y - wheels[1].y)
        faster: rad_s = demand.omega - x.omega
        # As fast as it gets to speed, half the track away from its middle.
        turn = self._driving(half * faster * (1.0 / TURN_TIME), p)
        tau = self._torque(x, demand.a, p)
        return SideTorques(tau - turn, tau + turn)


def _around(wheels: Sequence[Wheel]) -> Outline:
    front = max(wheel.x + wheel.radius for wheel in wheels)
    rear = min(wheel.x - wheel.radius for wheel in wheels)
    half = max((abs(wheel.y) + 0.5 * wheel.width for wheel in wheels), default=inf)
    return box(rear, front, 2.0 * half)


class RigidBody(NamedTuple):
    """Parameters of the rigid body formed by chassis and wheels."""

    chassis_mass: Annotated[kg, positive]
    """Mass without wheels."""
    com_x: m
    """Forward position of the centre of mass with wheels, from the reference point."""
    com_y: m
    """Leftward position of the centre of mass with wheels, from the reference point."""
    com_z: Annotated[m, non_negative]
    """Height of the centre of mass above the ground."""
    I_z: Annotated[kg_m2, positive]
    """Yaw inertia with wheels about the centre of mass."""
    linear_damping: per_s
    """Drag over mass and speed."""
    angular_damping: per_s
    """Resistance moment over yaw inertia and yaw rate."""
    height: Annotated[m, non_negative] = 0.6
    """Height of the upper side of the chassis; it does not influence the motion."""


class WheelParams(NamedTuple):
    """Parameters of a wheel."""

    x: m
    """Position from the reference point, forward."""
    y: m
    """Position from the reference point, to the left."""
    yaw: rad
    """Angle relative to the vehicle, positive to the left; ignored for a steered wheel."""
    radius: Annotated[m, positive]
    mass: Annotated[kg, positive]
    inertia: Annotated[kg_m2, positive]
    """Inertia about the axle."""
    width: Annotated[m, positive] = 0.2
    """Width of the wheel; does not influence the motion."""


def state_type(wheels: Sequence[str], steered: bool, leans: bool, controller: Controller) -> Any:
    """State record type: pose, velocity, wheel spins, steering angles and controller memory."""
    fields: Fields = {
        "x": (m, 0.0, "Position of the reference point in the world frame."),
        "y": (m, 0.0, "Position of the reference point in the world frame."),
        "yaw": (rad, 0.0, "Heading from the world x axis, positive to the left, not wrapped."),
        "v_x": (m_s, 0.0, "Velocity of the reference point along the vehicle, forward positive."),
        "v_y": (m_s, 0.0, "Velocity of the reference point across it, positive to the left."),
        "omega": (rad_s, 0.0, "Yaw rate, positive to the left."),
    }
    for wheel in wheels:
        meaning = f"Spin of the wheel {wheel} about its axle, positive when it rolls forward."
        fields[f"spin_{wheel}"] = (rad_s, 0.0, meaning)
    if steered:
        for wheel in wheels[-2:]:
            fields[f"steer_{wheel}"] = (rad, 0.0, f"Angle of the wheel {wheel}, left positive.")
    if leans:
        force = "Force of the wheels over the mass, which the loads follow:"
        fields["a_x"] = (m_s2, 0.0, f"{force} along the vehicle.")
        fields["a_y"] = (m_s2, 0.0, f"{force} across it, positive to the left.")
    if controller.Memory._fields:
        hints = controller.Memory.__annotations__
        blank = controller.Memory(*(hints[name]() for name in controller.Memory._fields))
        fields["control"] = (controller.Memory, blank, "Memory of the controller.")
    return record_type("State", "State of a wheeled vehicle.", fields)


def params_type(
    wheels: Sequence[str], steered: bool, leans: bool, friction: type, splits: bool, gains: Any
) -> Any:
    """Parameter record type of a wheeled vehicle."""
    fields: Fields = {"body": (RigidBody, None, "The rigid body.")}
    for wheel in wheels:
        fields[f"wheel_{wheel}"] = (WheelParams, None, f"The wheel {wheel}.")
    fields["friction"] = (friction, None, "Friction between wheels and ground.")
    if gains._fields:
        fields["control"] = (gains, None, "Gains of the controller.")
    if splits:
        fields["drivetrain"] = (Splits, None, "Settings of the differentials.")
    if steered:
        meaning = "Largest angle of a wheel in the middle of the front axle, either side."
        fields["steer_max"] = (Annotated[rad, non_negative], None, meaning)
    fields["g"] = (Annotated[m_s2, positive], 9.81, "Gravity.")
    if leans:
        meaning = "Time constant with which the wheel loads follow the forces of the wheels."
        fields["load_lag"] = (Annotated[s, non_negative], 0.05, meaning)
    return record_type("Params", "Parameters of a wheeled vehicle.", fields)


def disturbance_type(wheels: Sequence[str]) -> Any:
    """Disturbance record type: ground and contact forces during a step; the defaults do nothing."""
    fields: Fields = {
        "slope_x": (one, 0.0, "Downward unit vector in body axes, x: positive downhill ahead."),
        "slope_y": (one, 0.0, "Downward unit vector in body axes, y: positive downhill left."),
        "F_x": (N, 0.0, "Force at the centre of mass along the vehicle, forward positive."),
        "F_y": (N, 0.0, "Force at the centre of mass across the vehicle, positive to the left."),
        "M_z": (Nm, 0.0, "Yaw moment about the centre of mass, positive to the left."),
    }
    for wheel in wheels:
        under = f"under the wheel {wheel}, in place of its own; negative: its own."
        fields[f"mu_{wheel}"] = (one, -1.0, f"Friction {under}")
        fields[f"rolling_{wheel}"] = (one, -1.0, f"Rolling resistance over load {under}")
    return record_type("Ground", "Ground and contact forces of a wheeled vehicle.", fields)


def outputs_type(wheels: Sequence[str]) -> Any:
    """Output record type: odometry, loads and slip."""
    fields: Fields = {
        "v_odometry": (m_s, None, "Velocity along the vehicle, estimated from the wheel spins."),
        "omega_odometry": (rad_s, None, "Yaw rate estimated from the wheel spins, left positive."),
    }
    for wheel in wheels:
        fields[f"F_z_{wheel}"] = (N, None, f"Load on the wheel {wheel}.")
        slip = f"of the contact patch of the wheel {wheel} over ground"
        fields[f"slip_x_{wheel}"] = (m_s, None, f"Velocity {slip}, along the wheel.")
        fields[f"slip_y_{wheel}"] = (m_s, None, f"Velocity {slip}, across it, left positive.")
    return record_type("Outputs", "Odometry, loads and slip of a wheeled vehicle.", fields)


COMPAT = (None, "upstream")


def vehicle(description: Description, compat: str | None = None) -> Vehicle:
    """Return the vehicle of a description; descriptions that differ only in numbers share a model.

    `compat="upstream"` reproduces the program MVSim, errors included; by default the errors
    listed in docs/errata.md are repaired, and loads follow the forces.
    """
    if compat not in COMPAT:
        raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, 'upstream'")
    model = _model(*_structure(description, compat == "upstream"))
    params = record.build(model.Params, _numbers(description, model))
    return Vehicle(model, params, outlines=(tuple(description.chassis.shape),))


def assembly(vehicle: Vehicle) -> Assembly:
    """Components of a vehicle made by `vehicle`, for access to its wheel forces."""
    return assembly_of(vehicle.model)


def _structure(d: Description, upstream: bool) -> tuple[Any, ...]:
    """Properties of a description that select the model, as opposed to numbers."""
    form = replace(d.control.form, upstream=upstream)
    drivetrain = None if d.drivetrain is None else d.drivetrain.kind
    leans = d.loads == "dynamic" and not upstream
    circle = d.friction_circle and not upstream
    return d.kind, d.control.kind, form, type(d.friction), drivetrain, circle, leans, upstream


@built_once
def _model(
    name: str,
    control: str,
    form: Form,
    friction: type,
    drivetrain: str | None,
    circle: bool,
    leans: bool,
    upstream: bool,
) -> Model:
    kind = KINDS[name]
    controller = kind.controller(control, form)
    leans = leans and not controller.ideal
    shape = (kind.wheels, kind.steered, leans)
    State, Outputs = state_type(*shape, controller), outputs_type(kind.wheels)
    parts = Assembly(kind, controller, State, Outputs, drivetrain, circle, upstream)
    return Model(
        name=name,
        State=State,
        Input=controller.Input,
        Params=params_type(*shape, friction, drivetrain is not None, controller.Params),
        Outputs=Outputs,
        Disturbance=disturbance_type(kind.wheels),
        update=parts.update,
        outputs=parts.outputs,
        energy=parts.energy,
        body=WheeledBody(parts).body(),
        reproduces="MVSim 1.2.0 (9c1b072)" if upstream else "",
        summary=f"{name} with {control} control and {friction.__name__} friction",
    )


def _numbers(d: Description, model: Model) -> dict[str, Any]:
    kind, upstream = KINDS[d.kind], assembly_of(model).upstream
    place = mass_properties(d, hull=upstream)[1:]
    damped = damping(d.chassis, upstream=upstream)
    body = RigidBody(d.chassis.mass, *place, *damped, d.chassis.z_max)
    numbers: dict[str, Any] = {"body": body, "friction": d.friction, "g": d.gravity}
    for name, at in zip(kind.wheels, d.wheels, strict=True):
        size = (0.5 * at.diameter, at.mass, at.spin_inertia, at.width)
        numbers[f"wheel_{name}"] = WheelParams(at.x, at.y, at.yaw, *size)
    if kind.steered:
        numbers["steer_max"] = d.steer_max
    if d.drivetrain is not None:
        numbers["drivetrain"] = d.drivetrain.splits
    if "control" in model.Params._fields:
        numbers["control"] = d.control.gains or kind.default_gains(d.control.kind)
    return numbers


def assembly_of(model: Model) -> Assembly:
    """Components of a model made in this module."""
    parts = getattr(model.update, "__self__", None)
    if not isinstance(parts, Assembly):
        raise InvalidValue(f"{model.name!r} is not a wheeled vehicle")
    return parts
