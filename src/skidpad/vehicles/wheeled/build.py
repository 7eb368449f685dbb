"""Vehicles from the descriptions of wheeled robots: equations of a step, records, body and model.

A step runs the controller, then the wheels on the ground, then the body, which moves as in Box2D:
first the velocity changes by the forces, then the position by the new velocity. The records are
generated for the wheels and the controller of a vehicle. The reference point is the origin of wheel
and chassis positions. ISO 8855: x forward, y left, z up.

`Assembly.upstream` selects the points in which the upstream program differs from the repaired
vehicle; docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, pi
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...control.pid import Form
from ...control.wheeled import (
    Command,
    Controller,
    FrontSteerInput,
    MotorTorque,
    NoGains,
    NoMemory,
    Seen,
    SideTorques,
    TwistInput,
)
from ...core import record
from ...core.body import Body, Demand, Geometry, GroundUnder, Limits, Outline, Wheel, box
from ...core.body import Velocity as BodyVelocity
from ...core.model import Model, Vehicle, built_once
from ...errors import InvalidValue
from ...geometry.pose import to_world, turned, turned_back, unrotated
from ...ops import clip, cos, maximum, sin, sqrt, where
from ..parts.actuators import limited
from ..parts.assembly import Fields, pose, record_type, sliding_placed, sliding_velocity
from ..parts.kinematics import kinetic_energy
from ..parts.load_transfer import Place, dynamic_loads, load_shares, mean, static_loads, total
from ..parts.steering import upstream_wheel_angles, wheel_angles
from ..parts.wheel_friction import (
    Contact,
    Corners,
    Ellipse,
    Hub,
    SpeedLoop,
    SpinningWheel,
    Splits,
    Surface,
    Twist,
    estimated_twist,
    swivelling,
    torque_shares,
    traction,
    upstream_traction,
)
from .description import KINDS, Description, Kind, damping, mass_properties

LEAST_SHARE = 1e-6
"""Least share of the vehicle's mass that a wheel holds, even if its static load is 0."""


class Load(NamedTuple):
    """Load of a wheel, and the mass that it holds laterally."""

    F_z: si.N
    """Load, positive when pressed on the ground."""
    mass: si.kg
    """Mass that it holds against lateral motion."""


class Velocity(NamedTuple):
    """Velocity of the centre of mass in body axes, and the yaw rate."""

    x: si.m_s
    y: si.m_s
    omega: si.rad_s


def total_mass(p: Any, wheels: Sequence[Any]) -> si.kg:
    return total((p.body.chassis_mass, *(wheel.mass for wheel in wheels)))


class Push(NamedTuple):
    """Force of a wheel on the body, in body axes, and its spin."""

    F_x: si.N
    F_y: si.N
    spin: si.rad_s
    """Spin of the wheel at the end of the step."""


class Motion(NamedTuple):
    """Pose and velocity of the reference point, as in the state."""

    x: si.m
    y: si.m
    yaw: si.rad
    v_x: si.m_s
    v_y: si.m_s
    omega: si.rad_s


class Drive(NamedTuple):
    """Torques and angles of the wheels in a step."""

    torques: list[si.Nm]
    """Torque of each wheel, positive drives forward."""
    loops: list[SpeedLoop | None]
    """Dependence of each torque on the wheel's spin; None for a fixed torque."""
    angles: list[si.rad]
    """Angle of each wheel, positive to the left."""
    steered: tuple[si.rad, ...]
    """Angles of the steered wheels."""
    command: Command


@dataclass(frozen=True)
class Assembly:
    """Components of a vehicle without numbers; its methods are the functions of the model."""

    kind: Kind
    controller: Controller
    State: Any
    Outputs: Any
    drivetrain: str | None
    circle: bool
    """Whether friction limits a wheel's resultant force."""
    upstream: bool
    """Whether the vehicle moves as in the program MVSim, errors included."""

    def update(self, x: Any, u: Any, w: Any, p: Any, dt: si.s) -> Any:
        drive = self.drive(x, u, w, p, dt)
        pushes = self.pushes(x, w, p, drive, dt)
        velocity = self._pushed(x, w, p, pushes, dt)
        motion = self._moved(x, p, velocity, drive.command.twist, dt)
        return self._state(x, p, drive, pushes, motion, dt)

    def loads(self, x: Any, w: Any, p: Any, wheels: Sequence[Any]) -> list[Load]:
        """Wheel loads in balance with weight and overturning moments, and static mass shares.

        Upstream they are equal, whatever the wheel position, motion or slope.
        """
        if self.upstream:
            part: Any = p.body.chassis_mass * (1.0 / len(wheels))
            return [Load((part + wheel.mass) * p.g, part + wheel.mass) for wheel in wheels]
        mass: Any = total_mass(p, wheels)
        shares = load_shares([Place(at.x - p.body.com_x, at.y - p.body.com_y) for at in wheels])
        level2 = 1.0 - w.slope_x * w.slope_x - w.slope_y * w.slope_y
        weight = mass * p.g * sqrt(maximum(level2, 0.0))
        if hasattr(x, "a_x"):
            loads = dynamic_loads(shares, weight, mass, p.body.com_z, x.a_x, x.a_y)
        else:
            loads = static_loads(shares, weight)
        held = [maximum(share, LEAST_SHARE * mass) for share in static_loads(shares, mass)]
        return [Load(F_z, share) for F_z, share in zip(loads, held, strict=True)]

    def wheels(self, p: Any) -> list[Any]:
        return [getattr(p, f"wheel_{name}") for name in self.kind.wheels]

    def spins(self, x: Any) -> list[si.rad_s]:
        return [getattr(x, f"spin_{name}") for name in self.kind.wheels]

    def odometry(self, x: Any, p: Any) -> Twist:
        """Motion estimated from the spins of the first two wheels."""
        pair = [
            SpinningWheel(spin, Hub(wheel.radius, wheel.inertia), Place(wheel.x, wheel.y))
            for spin, wheel in zip(self.spins(x)[:2], self.wheels(p)[:2], strict=True)
        ]
        return estimated_twist(*pair)

    def drive(self, x: Any, u: Any, w: Any, p: Any, dt: si.s) -> Drive:
        """Run the controller and distribute its torques and angles to the wheels."""
        seen = self._seen(x, w, p)
        memory = getattr(x, "control", NoMemory())
        command = self.controller.act(seen, u, memory, getattr(p, "control", NoGains()), dt)
        steered = tuple(seen.angles_of(command.steer)) if self.kind.steered else ()
        fixed = self.wheels(p)[: len(self.kind.wheels) - len(steered)]
        angles = [*(wheel.yaw for wheel in fixed), *steered]
        torques, loops = self._torques(command, x, p), self._loops(command, x, p)
        return Drive(torques, loops, angles, steered, command)

    def _seen(self, x: Any, w: Any, p: Any) -> Seen:
        wheels = self.wheels(p)
        radius = mean(wheel.radius for wheel in wheels)
        # Driving force that balances the slope; upstream with the wrong sign, of the chassis alone.
        slope, mass = -w.slope_x, total_mass(p, wheels)
        if self.upstream:
            slope, mass = w.slope_x, p.body.chassis_mass
        common: dict[str, Any] = {
            "odometry": self.odometry(x, p),
            "track": wheels[0].y - wheels[1].y,
            "slope_torque": slope * mass * p.g * radius * (1.0 / self.kind.driven),
        }
        if not self.kind.steered:
            return Seen(**common)
        left, right = wheels[2:]
        wheel_base = left.x - wheels[0].x
        angles = upstream_wheel_angles if self.upstream else wheel_angles
        return Seen(
            **common,
            wheel_base=wheel_base,
            steer_max=p.steer_max,
            front=(Place(left.x, left.y), Place(right.x, right.y)),
            angles=(x.steer_fl, x.steer_fr),
            angles_of=lambda steer: angles(steer, p.steer_max, wheel_base, left.y - right.y),
        )

    def _torques(self, command: Command, x: Any, p: Any) -> list[si.Nm]:
        if self.drivetrain is not None:
            return [share * command.torques[0] for share in self._shares(command, x, p)]
        return [0.0 if side is None else command.torques[side] for side in self.kind.drives]

    def _shares(self, command: Command, x: Any, p: Any) -> Corners:
        assert self.drivetrain is not None
        spin, torque = Corners(*self.spins(x)), command.torques[0]
        return torque_shares(self.drivetrain, spin, p.drivetrain, torque, upstream=self.upstream)

    def _loops(self, command: Command, x: Any, p: Any) -> list[SpeedLoop | None]:
        """Speed loop of each wheel; those on one torque are alike, so all of them take effect."""
        wheels, loops = self.wheels(p), command.loops
        if not loops or (self.drivetrain or "").endswith("front"):
            # Odometry listens to the rear wheels.
            return [None for _ in wheels]
        if self.drivetrain is not None:
            shares = self._shares(command, x, p)
            return [
                loops[0]._replace(gain=loops[0].gain * wheel.radius, share=share)
                for wheel, share in zip(wheels, shares, strict=True)
            ]
        return [
            None if side is None else loops[side]._replace(gain=loops[side].gain * wheel.radius)
            for wheel, side in zip(wheels, self.kind.drives, strict=True)
        ]

    def pushes(self, x: Any, w: Any, p: Any, drive: Drive, dt: si.s) -> list[Push]:
        """Force of each wheel on the body and its new spin; no force if the motion is imposed.

        Upstream, wheels push a vehicle with imposed motion, too, which then acts a step later.
        """
        wheels = self.wheels(p)
        if self.controller.ideal and not self.upstream:
            assert drive.command.twist is not None
            return [
                Push(0.0, 0.0, _rolling(drive.command.twist, wheel, angle))
                for wheel, angle in zip(wheels, drive.angles, strict=True)
            ]
        loads = self.loads(x, w, p, wheels)
        return [self._push(k, load, x, w, p, drive, dt) for k, load in enumerate(loads)]

    def _push(self, k: int, load: Load, x: Any, w: Any, p: Any, drive: Drive, dt: si.s) -> Push:
        name, wheel, spin = self.kind.wheels[k], self.wheels(p)[k], self.spins(x)[k]
        hub = Hub(wheel.radius, wheel.inertia)
        ground = Surface(getattr(w, f"mu_{name}"), getattr(w, f"rolling_{name}"))
        v_x, v_y = x.v_x - x.omega * wheel.y, x.v_y + x.omega * wheel.x
        if self._swivels(k):
            contact = Contact(v_x, v_y, spin, 0.0, load.F_z, load.mass)
            return Push(*swivelling(contact, hub, ground, p.friction))
        angle, weight = drive.angles[k], load.mass * p.g
        c, s = cos(angle), sin(angle)
        s_x, s_y = w.slope_x * weight, w.slope_y * weight
        down = turned_back(c, s, s_x, s_y)
        contact = Contact(
            *turned_back(c, s, v_x, v_y), spin, drive.torques[k], *load, *down, drive.loops[k]
        )
        if self.upstream:
            forces = upstream_traction(contact, angle, hub, ground, p.friction, dt)
        else:
            forces = traction(contact, hub, ground, p.friction, dt, circle=self.circle)
        F_x, F_y = turned(c, s, forces.F_x, forces.F_y)
        if self.upstream:  # the weight along a slope acts at the wheels
            F_x, F_y = F_x + s_x, F_y + s_y
        return Push(F_x, F_y, forces.spin)

    def _pushed(self, x: Any, w: Any, p: Any, pushes: Sequence[Push], dt: si.s) -> Velocity:
        """Velocity of the centre of mass after the forces have acted for dt."""
        body, wheels = p.body, self.wheels(p)
        mass: Any = total_mass(p, wheels)
        F_x, F_y, moment = w.F_x, w.F_y, w.M_z
        if not self.upstream:
            F_x, F_y = F_x + w.slope_x * mass * p.g, F_y + w.slope_y * mass * p.g
        for wheel, push in zip(wheels, pushes, strict=True):
            F_x, F_y = F_x + push.F_x, F_y + push.F_y
            lever_x, lever_y = wheel.x - body.com_x, wheel.y - body.com_y
            moment = moment + lever_x * push.F_y - lever_y * push.F_x
        before = com_velocity(x.v_x, x.v_y, x.omega, body)
        slower = 1.0 / (1.0 + dt * body.linear_damping)
        after = Velocity(
            (before.x + dt * F_x * (1.0 / mass)) * slower,
            (before.y + dt * F_y * (1.0 / mass)) * slower,
            (before.omega + dt * moment * (1.0 / body.I_z))
            * (1.0 / (1.0 + dt * body.angular_damping)),
        )
        if not self.upstream:
            return after
        # As in Box2D: at most 2 m and a quarter turn in a step.
        way2 = (after.x * after.x + after.y * after.y) * dt * dt
        scale = 2.0 / sqrt(maximum(way2, 4.0))
        most = 0.5 * pi / dt
        return Velocity(after.x * scale, after.y * scale, clip(after.omega, -most, most))

    def _moved(self, x: Any, p: Any, v: Velocity, imposed: Twist | None, dt: si.s) -> Motion:
        """Pose and velocity of the reference point after dt with the new velocity.

        An imposed motion replaces that velocity; in the upstream mode only after the pose has
        moved.
        """
        body, after = p.body, v
        if imposed is not None:
            after = com_velocity(imposed.v, 0.0, imposed.omega, body)
            v = v if self.upstream else after
        turn = dt * v.omega
        c_turn, s_turn = cos(turn), sin(turn)
        # Where the reference point goes, in the axes that the body had.
        less = 1.0 - c_turn
        ahead = dt * v.x + less * body.com_x + s_turn * body.com_y
        left = dt * v.y + less * body.com_y - s_turn * body.com_x
        v_x, v_y = turned_back(c_turn, s_turn, after.x, after.y)
        omega = after.omega
        return Motion(
            *to_world((x.x, x.y, x.yaw), ahead, left),
            x.yaw + turn,
            v_x + omega * body.com_y,
            v_y - omega * body.com_x,
            omega,
        )

    def _state(
        self, x: Any, p: Any, drive: Drive, pushes: Sequence[Push], motion: Motion, dt: si.s
    ) -> Any:
        fields: dict[str, Any] = motion._asdict()
        for name, push in zip(self.kind.wheels, pushes, strict=True):
            fields[f"spin_{name}"] = push.spin
        steering = self.kind.wheels[-len(drive.steered) :] if drive.steered else ()
        for name, angle in zip(steering, drive.steered, strict=True):
            fields[f"steer_{name}"] = angle
        if hasattr(x, "a_x"):
            follow = dt / (dt + p.load_lag)
            by_mass = 1.0 / total_mass(p, self.wheels(p))
            F_x, F_y, _ = (total(column) for column in zip(*pushes, strict=True))
            fields["a_x"] = x.a_x + follow * (F_x * by_mass - x.a_x)
            fields["a_y"] = x.a_y + follow * (F_y * by_mass - x.a_y)
        if hasattr(x, "control"):
            fields["control"] = drive.command.memory
        return self.State(**fields)

    def outputs(self, x: Any, u: Any, w: Any, p: Any) -> Any:
        wheels = self.wheels(p)
        fields: dict[str, Any] = dict(
            zip(("v_odometry", "omega_odometry"), self.odometry(x, p), strict=True)
        )
        loads = self.loads(x, w, p, wheels)
        for name, wheel, load, spin in zip(
            self.kind.wheels, wheels, loads, self.spins(x), strict=True
        ):
            angle = getattr(x, f"steer_{name}", wheel.yaw)
            v_x, v_y = x.v_x - x.omega * wheel.y, x.v_y + x.omega * wheel.x
            u_x, u_y = unrotated(v_x, v_y, angle)
            fields[f"F_z_{name}"] = load.F_z
            fields[f"slip_x_{name}"] = u_x - spin * wheel.radius
            fields[f"slip_y_{name}"] = u_y
        return self.Outputs(**fields)

    def energy(self, x: Any, p: Any) -> si.J:
        """Kinetic energy of body and wheel spin; a swivelling wheel has no spin energy."""
        wheels = self.wheels(p)
        v = com_velocity(x.v_x, x.v_y, x.omega, p.body)
        total: Any = kinetic_energy(v.x, v.y, v.omega, total_mass(p, wheels), p.body.I_z)
        for k, (wheel, spin) in enumerate(zip(wheels, self.spins(x), strict=True)):
            if not self._swivels(k):
                total = total + 0.5 * wheel.inertia * spin * spin
        return total

    def _swivels(self, k: int) -> bool:
        return k == self.kind.caster and not self.upstream

    def body(self) -> Body:
        return Body(
            reference="the point that wheels and chassis are described from",
            pose=pose,
            velocity=sliding_velocity,
            placed=sliding_placed,
            geometry=self.geometry,
            limits=self.limits,
            command=self.command,
            steer=self.steer if self.kind.steered else None,
            on_ground=self.on_ground,
            odometry=self.velocity,
            wheels=self.wheels,
            gravity="g",
            lessens_loads=True,
            imposed=self.controller.ideal,
        )

    def steer(self, x: Any, u: Any, p: Any) -> si.rad:
        """Mean angle of both front wheels."""
        return 0.5 * (x.steer_fl + x.steer_fr)

    def velocity(self, x: Any, u: Any, p: Any) -> BodyVelocity:
        """Motion estimated from the spins of the first two wheels."""
        twist = self.odometry(x, p)
        return BodyVelocity(twist.v, 0.0 * twist.v, twist.omega)

    def on_ground(self, x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        """Apply slope, friction and rolling resistance of the ground as disturbances."""
        changes: dict[str, Any] = {}
        if ground.down is not None:
            changes |= {"slope_x": ground.down.x, "slope_y": ground.down.y}
        for name, values in (("mu", self._friction(ground, p)), ("rolling", ground.rolling)):
            if values is not None:
                wheels = zip(self.kind.wheels, values, strict=True)
                changes |= {f"{name}_{wheel}": value for wheel, value in wheels}
        return u, w._replace(**changes)

    def _friction(self, ground: GroundUnder, p: Any) -> tuple[si.one, ...] | None:
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
        kind, wheels = self.kind, self.wheels(p)
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
        if not self.kind.steered:
            return Limits(steer_max=0.0, grip=grip)
        steer = (-p.steer_max, p.steer_max)
        named = "steer" in self.controller.Input._fields
        inputs = {"steer": steer} if named else {}
        return Limits(steer_max=p.steer_max, omega_max=0.0, grip=grip, inputs=inputs)

    def command(self, x: Any, demand: Demand, p: Any) -> Any:
        """Convert a demand to the input of the controller."""
        Input = self.controller.Input
        if Input is TwistInput:
            return TwistInput(demand.v, demand.omega)
        if Input is SideTorques:
            return self._sides(x, demand, p)
        steer = limited(demand.steer, p.steer_max)
        if Input is FrontSteerInput:
            return FrontSteerInput(demand.v, steer)
        tau = self._torque(x, demand.a, p)
        return MotorTorque(tau, steer) if Input is MotorTorque else Input(tau, tau, steer)

    def _torque(self, x: Any, a: si.m_s2, p: Any) -> si.Nm:
        """Torque at each driven wheel, or of the one motor, for an acceleration."""
        # The wheels also compensate the damping of the body.
        return self._driving(a + p.body.linear_damping * x.v_x, p)

    def _driving(self, a: si.m_s2, p: Any) -> si.Nm:
        wheels = self.wheels(p)
        return a * total_mass(p, wheels) * wheels[0].radius * (1.0 / self.kind.driven)

    def _sides(self, x: Any, demand: Demand, p: Any) -> SideTorques:
        wheels = self.wheels(p)
        half: si.m = 0.5 * (wheels[0].y - wheels[1].y)
        faster: si.rad_s = demand.omega - x.omega
        # As fast as it gets to speed, half the track away from its middle.
        turn = self._driving(half * faster * (1.0 / TURN_TIME), p)
        tau = self._torque(x, demand.a, p)
        return SideTorques(tau - turn, tau + turn)


def _rolling(twist: Twist, wheel: Any, angle: si.rad) -> si.rad_s:
    """Spin of a wheel that rolls at the vehicle's motion."""
    v_x, v_y = twist.v - twist.omega * wheel.y, twist.omega * wheel.x
    along, _ = unrotated(v_x, v_y, angle)
    return along * (1.0 / wheel.radius)


def com_velocity(v_x: si.m_s, v_y: si.m_s, omega: si.rad_s, body: Any) -> Velocity:
    """Velocity of the centre of mass from that of the reference point, in body axes."""
    return Velocity(v_x - omega * body.com_y, v_y + omega * body.com_x, omega)


TURN_TIME: si.s = 0.2
"""Time constant with which side torques bring about a demanded yaw rate."""


def _around(wheels: Sequence[Wheel]) -> Outline:
    front = max(wheel.x + wheel.radius for wheel in wheels)
    rear = min(wheel.x - wheel.radius for wheel in wheels)
    half = max((abs(wheel.y) + 0.5 * wheel.width for wheel in wheels), default=inf)
    return box(rear, front, 2.0 * half)


class RigidBody(NamedTuple):
    """Parameters of the rigid body formed by chassis and wheels."""

    chassis_mass: Annotated[si.kg, si.positive]
    """Mass without wheels."""
    com_x: si.m
    """Forward position of the centre of mass with wheels, from the reference point."""
    com_y: si.m
    """Leftward position of the centre of mass with wheels, from the reference point."""
    com_z: Annotated[si.m, si.non_negative]
    """Height of the centre of mass above the ground."""
    I_z: Annotated[si.kg_m2, si.positive]
    """Yaw inertia with wheels about the centre of mass."""
    linear_damping: si.per_s
    """Drag over mass and speed."""
    angular_damping: si.per_s
    """Resistance moment over yaw inertia and yaw rate."""
    height: Annotated[si.m, si.non_negative] = 0.6
    """Height of the upper side of the chassis; it does not influence the motion."""


class WheelParams(NamedTuple):
    """Parameters of a wheel."""

    x: si.m
    """Position from the reference point, forward."""
    y: si.m
    """Position from the reference point, to the left."""
    yaw: si.rad
    """Angle relative to the vehicle, positive to the left; ignored for a steered wheel."""
    radius: Annotated[si.m, si.positive]
    mass: Annotated[si.kg, si.positive]
    inertia: Annotated[si.kg_m2, si.positive]
    """Inertia about the axle."""
    width: Annotated[si.m, si.positive] = 0.2
    """Width of the wheel; does not influence the motion."""


def state_type(wheels: Sequence[str], steered: bool, leans: bool, controller: Controller) -> Any:
    """State record type: pose, velocity, wheel spins, steering angles and controller memory."""
    fields: Fields = {
        "x": (si.m, 0.0, "Position of the reference point in the world frame."),
        "y": (si.m, 0.0, "Position of the reference point in the world frame."),
        "yaw": (si.rad, 0.0, "Heading from the world x axis, positive to the left, not wrapped."),
        "v_x": (
            si.m_s,
            0.0,
            "Velocity of the reference point along the vehicle, forward positive.",
        ),
        "v_y": (si.m_s, 0.0, "Velocity of the reference point across it, positive to the left."),
        "omega": (si.rad_s, 0.0, "Yaw rate, positive to the left."),
    }
    for wheel in wheels:
        meaning = f"Spin of the wheel {wheel} about its axle, positive when it rolls forward."
        fields[f"spin_{wheel}"] = (si.rad_s, 0.0, meaning)
    if steered:
        for wheel in wheels[-2:]:
            fields[f"steer_{wheel}"] = (si.rad, 0.0, f"Angle of the wheel {wheel}, left positive.")
    if leans:
        force = "Force of the wheels over the mass, which the loads follow:"
        fields["a_x"] = (si.m_s2, 0.0, f"{force} along the vehicle.")
        fields["a_y"] = (si.m_s2, 0.0, f"{force} across it, positive to the left.")
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
        fields["steer_max"] = (Annotated[si.rad, si.non_negative], None, meaning)
    fields["g"] = (Annotated[si.m_s2, si.positive], 9.81, "Gravity.")
    if leans:
        meaning = "Time constant with which the wheel loads follow the forces of the wheels."
        fields["load_lag"] = (Annotated[si.s, si.non_negative], 0.05, meaning)
    return record_type("Params", "Parameters of a wheeled vehicle.", fields)


def disturbance_type(wheels: Sequence[str]) -> Any:
    """Disturbance record type: ground and contact forces during a step; the defaults do nothing."""
    fields: Fields = {
        "slope_x": (si.one, 0.0, "Downward unit vector in body axes, x: positive downhill ahead."),
        "slope_y": (si.one, 0.0, "Downward unit vector in body axes, y: positive downhill left."),
        "F_x": (si.N, 0.0, "Force at the centre of mass along the vehicle, forward positive."),
        "F_y": (si.N, 0.0, "Force at the centre of mass across the vehicle, positive to the left."),
        "M_z": (si.Nm, 0.0, "Yaw moment about the centre of mass, positive to the left."),
    }
    for wheel in wheels:
        under = f"under the wheel {wheel}, in place of its own; negative: its own."
        fields[f"mu_{wheel}"] = (si.one, -1.0, f"Friction {under}")
        fields[f"rolling_{wheel}"] = (si.one, -1.0, f"Rolling resistance over load {under}")
    return record_type("Ground", "Ground and contact forces of a wheeled vehicle.", fields)


def outputs_type(wheels: Sequence[str]) -> Any:
    """Output record type: odometry, loads and slip."""
    fields: Fields = {
        "v_odometry": (si.m_s, None, "Velocity along the vehicle, estimated from the wheel spins."),
        "omega_odometry": (
            si.rad_s,
            None,
            "Yaw rate estimated from the wheel spins, left positive.",
        ),
    }
    for wheel in wheels:
        fields[f"F_z_{wheel}"] = (si.N, None, f"Load on the wheel {wheel}.")
        slip = f"of the contact patch of the wheel {wheel} over ground"
        fields[f"slip_x_{wheel}"] = (si.m_s, None, f"Velocity {slip}, along the wheel.")
        fields[f"slip_y_{wheel}"] = (si.m_s, None, f"Velocity {slip}, across it, left positive.")
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
        body=parts.body(),
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
