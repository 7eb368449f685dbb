"""One step of a wheeled vehicle: its controller, its wheels on the ground, then its body.

The body moves as in Box2D: first the velocity by the forces, then the position by the new velocity.
`Rules` are the points on which the repaired vehicle differs from the program it comes from;
docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

from ...control.wheeled import Command, Controller, NoGains, NoMemory, Seen
from ...geometry.pose import to_world, turned, turned_back, unrotated
from ...ops import clip, cos, maximum, sin, sqrt
from ...units import J, N, Nm, kg, m, m_s, rad, rad_s, s
from ..parts.drivetrain import Corners, torque_shares
from ..parts.kinematics import FrontWheels, kinetic_energy
from ..parts.load_transfer import Place, dynamic_loads, load_shares, static_loads
from ..parts.steering import upstream_wheel_angles, wheel_angles
from ..parts.wheel_friction import (
    Contact,
    Hub,
    SpeedLoop,
    SpinningWheel,
    Surface,
    Traction,
    Twist,
    estimated_twist,
    swivelling,
    traction,
    upstream_traction,
)
from .description import Kind, damping, upstream_damping

LEAST_SHARE = 1e-6
"""Part of the vehicle's mass that a wheel holds at least, though its load at rest may be 0."""


class Load(NamedTuple):
    """What a wheel carries."""

    F_z: N
    """Load."""
    mass: kg
    """Mass that it holds against moving sideways."""


class Velocity(NamedTuple):
    """Velocity of the centre of mass in body axes, and the yaw rate."""

    x: m_s
    y: m_s
    omega: rad_s


@dataclass(frozen=True)
class Rules:
    """The points on which the two modes differ."""

    traction: Callable[[Contact, rad, Hub, Surface, Any, s, bool], Traction]
    """Force and spin of a wheel that stands at an angle."""
    loads: Callable[[Any, Any, Any, Sequence[Any]], list[Load]]
    """Loads of wheels from state, disturbance and parameters."""
    wheel_angles: Callable[[rad, rad, m, m], FrontWheels]
    """Angles of the front wheels."""
    slope_force: Callable[[Any, kg, Any], N]
    """Force that balances the slope, from disturbance, mass and parameters."""
    weight_at_wheels: bool
    """Whether the weight along a slope pulls at the wheels, not at the centre of mass."""
    caster_swivels: bool
    ideal_slips: bool
    """Whether wheels still push a vehicle whose motion is imposed, and one step later."""
    step_limit: Callable[[Velocity, s], Velocity]
    """The velocity that a step may have."""
    damping: Callable[[Any], tuple[float, float]]
    """Linear and angular damping of a described chassis."""
    hull: bool
    """Whether mass is spread over the convex hull of the chassis."""
    reproduces: str = ""
    """The program whose numbers these rules repeat; empty where it is repaired."""

    @property
    def upstream(self) -> bool:
        """Whether these are the rules of the upstream program."""
        return bool(self.reproduces)


def total_mass(p: Any, wheels: Sequence[Any]) -> kg:
    """Mass of chassis and wheels."""
    total: Any = p.body.chassis_mass
    for wheel in wheels:
        total = total + wheel.mass
    return total


def _loads(x: Any, w: Any, p: Any, wheels: Sequence[Any]) -> list[Load]:
    """Loads that balance weight and overturning moments, shares that balance the weight at rest."""
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


def _upstream_loads(x: Any, w: Any, p: Any, wheels: Sequence[Any]) -> list[Load]:
    """An equal part of the chassis on each wheel, whatever its place, motion or slope."""
    part: Any = p.body.chassis_mass * (1.0 / len(wheels))
    return [Load((part + wheel.mass) * p.g, part + wheel.mass) for wheel in wheels]


def _upstream_step_limit(v: Velocity, dt: s) -> Velocity:
    """Box2D moves a body by at most 2 m and a quarter turn in a step."""
    way2 = (v.x * v.x + v.y * v.y) * dt * dt
    scale = 2.0 / sqrt(maximum(way2, 4.0))
    most = 0.5 * pi / dt
    return Velocity(v.x * scale, v.y * scale, clip(v.omega, -most, most))


REPAIRED = Rules(
    traction=lambda c, yaw, hub, ground, p, dt, circle: traction(
        c, hub, ground, p, dt, circle=circle
    ),
    loads=_loads,
    wheel_angles=wheel_angles,
    slope_force=lambda w, mass, p: -w.slope_x * mass * p.g,
    weight_at_wheels=False,
    caster_swivels=True,
    ideal_slips=False,
    step_limit=lambda v, dt: v,
    damping=damping,
    hull=False,
)
UPSTREAM = Rules(
    traction=lambda c, yaw, hub, ground, p, dt, circle: upstream_traction(
        c, yaw, hub, ground, p, dt
    ),
    loads=_upstream_loads,
    wheel_angles=upstream_wheel_angles,
    slope_force=lambda w, mass, p: w.slope_x * p.body.chassis_mass * p.g,
    weight_at_wheels=True,
    caster_swivels=False,
    ideal_slips=True,
    step_limit=_upstream_step_limit,
    damping=upstream_damping,
    hull=True,
    reproduces="MVSim 1.2.0 (9c1b072)",
)


class Push(NamedTuple):
    """What a wheel does to the body, in body axes."""

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
    """What the controller does in a step."""

    torques: list[Nm]
    """Torque of each wheel, positive drives forward."""
    loops: list[SpeedLoop | None]
    """How these follow the spin of each wheel; None: they do not."""
    angles: list[rad]
    """Angle of each wheel, positive to the left."""
    steered: tuple[rad, ...]
    """Angles of the wheels that steer."""
    command: Command


@dataclass(frozen=True)
class Assembly:
    """What a vehicle consists of, besides numbers; its functions are those of the model."""

    kind: Kind
    rules: Rules
    controller: Controller
    State: Any
    Outputs: Any
    drivetrain: str | None
    circle: bool

    def update(self, x: Any, u: Any, w: Any, p: Any, dt: s) -> Any:
        """The state after dt."""
        drive = self.drive(x, u, w, p, dt)
        pushes = self.pushes(x, w, p, drive, dt)
        velocity = self._pushed(x, w, p, pushes, dt)
        motion = self._moved(x, p, velocity, drive.command.twist, dt)
        return self._state(x, p, drive, pushes, motion, dt)

    def wheels(self, p: Any) -> list[Any]:
        """Parameters of each wheel, in order."""
        return [getattr(p, f"wheel_{name}") for name in self.kind.wheels]

    def spins(self, x: Any) -> list[rad_s]:
        """Spin of each wheel, in order."""
        return [getattr(x, f"spin_{name}") for name in self.kind.wheels]

    def odometry(self, x: Any, p: Any) -> Twist:
        """Motion as the first two wheels tell it."""
        pair = [
            SpinningWheel(spin, _hub(wheel), Place(wheel.x, wheel.y))
            for spin, wheel in zip(self.spins(x)[:2], self.wheels(p)[:2], strict=True)
        ]
        return estimated_twist(*pair)

    def drive(self, x: Any, u: Any, w: Any, p: Any, dt: s) -> Drive:
        """Ask the controller, and let its torques and angles reach the wheels."""
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
        radius = _mean([wheel.radius for wheel in wheels])
        force = self.rules.slope_force(w, total_mass(p, wheels), p)
        common: dict[str, Any] = {
            "odometry": self.odometry(x, p),
            "track": wheels[0].y - wheels[1].y,
            "slope_torque": force * radius * (1.0 / self.kind.driven),
        }
        if not self.kind.steered:
            return Seen(**common)
        left, right = wheels[2:]
        wheel_base = left.x - wheels[0].x
        return Seen(
            **common,
            wheel_base=wheel_base,
            steer_max=p.steer_max,
            front=(Place(left.x, left.y), Place(right.x, right.y)),
            angles=(x.steer_fl, x.steer_fr),
            angles_of=lambda steer: self.rules.wheel_angles(
                steer, p.steer_max, wheel_base, left.y - right.y
            ),
        )

    def _torques(self, command: Command, x: Any, p: Any) -> list[Nm]:
        if self.drivetrain is not None:
            return [share * command.torques[0] for share in self._shares(command, x, p)]
        return [0.0 if side is None else command.torques[side] for side in self.kind.drives]

    def _shares(self, command: Command, x: Any, p: Any) -> Corners:
        """Share of the motor's torque that reaches each wheel."""
        assert self.drivetrain is not None
        spin, torque = Corners(*self.spins(x)), command.torques[0]
        upstream = self.rules.upstream
        return torque_shares(self.drivetrain, spin, p.drivetrain, torque, upstream=upstream)

    def _loops(self, command: Command, x: Any, p: Any) -> list[SpeedLoop | None]:
        """Loops over each wheel; those of one torque are alike, so that all of them count."""
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
        """What each wheel does to the body; nothing where the motion is imposed."""
        wheels = self.wheels(p)
        if self.controller.ideal and not self.rules.ideal_slips:
            assert drive.command.twist is not None
            return [
                Push(0.0, 0.0, _rolling(drive.command.twist, wheel, angle))
                for wheel, angle in zip(wheels, drive.angles, strict=True)
            ]
        loads = self.rules.loads(x, w, p, wheels)
        spins = self.spins(x)
        return [
            self._push(k, wheel, loads[k], spins[k], x, w, p, drive, dt)
            for k, wheel in enumerate(wheels)
        ]

    def _push(
        self,
        k: int,
        wheel: Any,
        load: Load,
        spin: rad_s,
        x: Any,
        w: Any,
        p: Any,
        drive: Drive,
        dt: s,
    ) -> Push:
        name = self.kind.wheels[k]
        ground = Surface(getattr(w, f"mu_{name}"), getattr(w, f"rolling_{name}"))
        v_x, v_y = x.v_x - x.omega * wheel.y, x.v_y + x.omega * wheel.x
        if self._swivels(k):
            contact = Contact(v_x, v_y, spin, 0.0, load.F_z, load.mass)
            return Push(*swivelling(contact, _hub(wheel), ground, p.friction))
        angle, weight = drive.angles[k], load.mass * p.g
        c, s = cos(angle), sin(angle)
        s_x, s_y = w.slope_x * weight, w.slope_y * weight
        down = turned_back(c, s, s_x, s_y)
        contact = Contact(
            *turned_back(c, s, v_x, v_y), spin, drive.torques[k], *load, *down, drive.loops[k]
        )
        forces = self.rules.traction(
            contact, angle, _hub(wheel), ground, p.friction, dt, self.circle
        )
        F_x, F_y = turned(c, s, forces.F_x, forces.F_y)
        if self.rules.weight_at_wheels:
            F_x, F_y = F_x + s_x, F_y + s_y
        return Push(F_x, F_y, forces.spin)

    def _pushed(self, x: Any, w: Any, p: Any, pushes: Sequence[Push], dt: s) -> Velocity:
        """Velocity of the centre of mass after the forces have acted for dt."""
        body, wheels = p.body, self.wheels(p)
        mass: Any = total_mass(p, wheels)
        F_x, F_y, moment = w.F_x, w.F_y, w.M_z
        if not self.rules.weight_at_wheels:
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
        return self.rules.step_limit(after, dt)

    def _moved(self, x: Any, p: Any, v: Velocity, imposed: Twist | None, dt: s) -> Motion:
        """Pose and velocity of the reference point after dt with the new velocity.

        An imposed motion takes the place of that velocity; upstream only after the pose has moved.
        """
        body = p.body
        imposed_velocity = (
            None if imposed is None else com_velocity(imposed.v, 0.0, imposed.omega, body)
        )
        if imposed_velocity is not None and not self.rules.ideal_slips:
            v = imposed_velocity
        turn = dt * v.omega
        c_turn, s_turn = cos(turn), sin(turn)
        # Where the reference point goes, in the axes that the body had.
        less = 1.0 - c_turn
        ahead = dt * v.x + less * body.com_x + s_turn * body.com_y
        left = dt * v.y + less * body.com_y - s_turn * body.com_x
        v = v if imposed_velocity is None else imposed_velocity
        velocity = Velocity(*turned_back(c_turn, s_turn, v.x, v.y), v.omega)
        return Motion(
            *to_world((x.x, x.y, x.yaw), ahead, left),
            x.yaw + turn,
            *reference_velocity(velocity, body),
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
            fields["a_x"] = x.a_x + follow * (_sum([f.F_x for f in pushes]) * by_mass - x.a_x)
            fields["a_y"] = x.a_y + follow * (_sum([f.F_y for f in pushes]) * by_mass - x.a_y)
        if hasattr(x, "control"):
            fields["control"] = drive.command.memory
        return self.State(**fields)

    def outputs(self, x: Any, u: Any, w: Any, p: Any) -> Any:
        """Odometry, loads and slip."""
        wheels = self.wheels(p)
        fields: dict[str, Any] = dict(
            zip(("v_odometry", "omega_odometry"), self.odometry(x, p), strict=True)
        )
        loads = self.rules.loads(x, w, p, wheels)
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
        """Kinetic energy of the body and of the spin of its wheels; a swivelling one has none."""
        wheels = self.wheels(p)
        v = com_velocity(x.v_x, x.v_y, x.omega, p.body)
        total: Any = kinetic_energy(v.x, v.y, v.omega, total_mass(p, wheels), p.body.I_z)
        for k, (wheel, spin) in enumerate(zip(wheels, self.spins(x), strict=True)):
            if not self._swivels(k):
                total = total + 0.5 * wheel.inertia * spin * spin
        return total

    def _swivels(self, k: int) -> bool:
        return k == self.kind.caster and self.rules.caster_swivels


def _hub(wheel: Any) -> Hub:
    return Hub(wheel.radius, wheel.inertia)


def _rolling(twist: Twist, wheel: Any, angle: rad) -> rad_s:
    """Spin of a wheel that rolls while the vehicle moves by a twist."""
    v_x, v_y = twist.v - twist.omega * wheel.y, twist.omega * wheel.x
    along, _ = unrotated(v_x, v_y, angle)
    return along * (1.0 / wheel.radius)


def com_velocity(v_x: m_s, v_y: m_s, omega: rad_s, body: Any) -> Velocity:
    """Velocity of the centre of mass from that of the reference point, in body axes."""
    return Velocity(v_x - omega * body.com_y, v_y + omega * body.com_x, omega)


def reference_velocity(v: Velocity, body: Any) -> Velocity:
    """Velocity of the reference point from that of the centre of mass, in body axes."""
    return Velocity(v.x + v.omega * body.com_y, v.y - v.omega * body.com_x, v.omega)


def _sum(values: Sequence[Any]) -> Any:
    total: Any = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _mean(values: Sequence[Any]) -> Any:
    return _sum(values) * (1.0 / len(values))
