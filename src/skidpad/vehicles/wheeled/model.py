"""One step of a wheeled vehicle: its controller, its wheels on the ground, then its body.

The body moves as in Box2D: first the velocity by the forces, then the position by the new velocity.
`Assembly.upstream` selects the points in which the upstream program differs from the repaired
vehicle; docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

from ...control.wheeled import Command, Controller, NoGains, NoMemory, Seen
from ...geometry.pose import to_world, turned, turned_back, unrotated
from ...ops import clip, cos, maximum, sin, sqrt
from ...units import J, N, Nm, kg, m, m_s, rad, rad_s, s
from ..parts.kinematics import kinetic_energy
from ..parts.load_transfer import Place, dynamic_loads, load_shares, mean, static_loads, total
from ..parts.steering import upstream_wheel_angles, wheel_angles
from ..parts.wheel_friction import (
    Contact,
    Corners,
    Hub,
    SpeedLoop,
    SpinningWheel,
    Surface,
    Twist,
    estimated_twist,
    swivelling,
    torque_shares,
    traction,
    upstream_traction,
)
from .description import Kind

LEAST_SHARE = 1e-6
"""Least share of the vehicle's mass that a wheel holds, even if its static load is 0."""


class Load(NamedTuple):
    """Load of a wheel, and the mass that it holds laterally."""

    F_z: N
    """Load, positive when pressed on the ground."""
    mass: kg
    """Mass that it holds against lateral motion."""


class Velocity(NamedTuple):
    """Velocity of the centre of mass in body axes, and the yaw rate."""

    x: m_s
    y: m_s
    omega: rad_s


def total_mass(p: Any, wheels: Sequence[Any]) -> kg:
    return total((p.body.chassis_mass, *(wheel.mass for wheel in wheels)))


class Push(NamedTuple):
    """Force of a wheel on the body, in body axes, and its spin."""

    F_x: N
    F_y: N
    spin: rad_s
    """Spin of the wheel at the end of the step."""


class Motion(NamedTuple):
    """Pose and velocity of the reference point, as in the state."""

    x: m
    y: m
    yaw: rad
    v_x: m_s
    v_y: m_s
    omega: rad_s


class Drive(NamedTuple):
    """Torques and angles of the wheels in a step."""

    torques: list[Nm]
    """Torque of each wheel, positive drives forward."""
    loops: list[SpeedLoop | None]
    """Dependence of each torque on the wheel's spin; None for a fixed torque."""
    angles: list[rad]
    """Angle of each wheel, positive to the left."""
    steered: tuple[rad, ...]
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

    def update(self, x: Any, u: Any, w: Any, p: Any, dt: s) -> Any:
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

    def spins(self, x: Any) -> list[rad_s]:
        return [getattr(x, f"spin_{name}") for name in self.kind.wheels]

    def odometry(self, x: Any, p: Any) -> Twist:
        """Motion estimated from the spins of the first two wheels."""
        pair = [
            SpinningWheel(spin, Hub(wheel.radius, wheel.inertia), Place(wheel.x, wheel.y))
            for spin, wheel in zip(self.spins(x)[:2], self.wheels(p)[:2], strict=True)
        ]
        return estimated_twist(*pair)

    def drive(self, x: Any, u: Any, w: Any, p: Any, dt: s) -> Drive:
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

    def _torques(self, command: Command, x: Any, p: Any) -> list[Nm]:
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

    def pushes(self, x: Any, w: Any, p: Any, drive: Drive, dt: s) -> list[Push]:
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

    def _push(self, k: int, load: Load, x: Any, w: Any, p: Any, drive: Drive, dt: s) -> Push:
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

    def _pushed(self, x: Any, w: Any, p: Any, pushes: Sequence[Push], dt: s) -> Velocity:
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

    def _moved(self, x: Any, p: Any, v: Velocity, imposed: Twist | None, dt: s) -> Motion:
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
        self, x: Any, p: Any, drive: Drive, pushes: Sequence[Push], motion: Motion, dt: s
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

    def energy(self, x: Any, p: Any) -> J:
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


def _rolling(twist: Twist, wheel: Any, angle: rad) -> rad_s:
    """Spin of a wheel that rolls at the vehicle's motion."""
    v_x, v_y = twist.v - twist.omega * wheel.y, twist.omega * wheel.x
    along, _ = unrotated(v_x, v_y, angle)
    return along * (1.0 / wheel.radius)


def com_velocity(v_x: m_s, v_y: m_s, omega: rad_s, body: Any) -> Velocity:
    """Velocity of the centre of mass from that of the reference point, in body axes."""
    return Velocity(v_x - omega * body.com_y, v_y + omega * body.com_x, omega)
