"""The body of a wheeled vehicle, whichever wheels and controller it has."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from ...body import Body, Geometry, GroundUnder, Limits, Outline, Velocity, Wheel, Wish, box
from ...components.actuator import limited
from ...components.car_bodies import pose, sliding_placed, sliding_velocity
from ...components.wheel_friction import Ellipse
from ...controllers.wheeled import FrontSteerInput, MotorTorque, SideTorques, TwistInput
from ...ops import where
from ...units import Nm, m, m_s2, one, rad, rad_s, s
from .rules import total_mass
from .update import Assembly

TURN_TIME: s = 0.2
"""In which torques of the two sides bring about a yaw rate that is wished for."""


@dataclass(frozen=True)
class WheeledBody:
    """The functions of a `Body`, for the parts that a vehicle consists of."""

    parts: Assembly

    def body(self) -> Body:
        """What the model carries."""
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
        """The mean of both front wheels."""
        return 0.5 * (x.steer_fl + x.steer_fr)

    def odometry(self, x: Any, u: Any, p: Any) -> Velocity:
        """As its first two wheels tell it."""
        twist = self.parts.odometry(x, p)
        return Velocity(twist.v, 0.0 * twist.v, twist.omega)

    def on_ground(self, x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        """Slope, friction and rolling resistance as they are."""
        changes: dict[str, Any] = {}
        if ground.down is not None:
            changes |= {"slope_x": ground.down.x, "slope_y": ground.down.y}
        for name, values in (("mu", self._friction(ground, p)), ("rolling", ground.rolling)):
            if values is not None:
                wheels = zip(self.parts.kind.wheels, values, strict=True)
                changes |= {f"{name}_{wheel}": value for wheel, value in wheels}
        return u, w._replace(**changes)

    def _friction(self, ground: GroundUnder, p: Any) -> tuple[one, ...] | None:
        """Under each wheel; negative: its own."""
        if ground.grip is None:
            return ground.mu
        law = p.friction
        own = law.C_s * law.s_s + law.C_alpha * law.alpha_s if isinstance(law, Ellipse) else law.mu
        under = ground.mu or (-1.0,) * len(ground.grip)
        pairs = zip(under, ground.grip, strict=True)
        return tuple(where(mu < 0.0, own, mu) * grip for mu, grip in pairs)

    def geometry(self, p: Any) -> Geometry:
        """Wheels and mass as the parameters say; the outline goes round the wheels."""
        kind, wheels = self.parts.kind, self.parts.wheels(p)
        steering = kind.wheels[-2:] if kind.steered else ()
        axles = [wheel.x for k, wheel in enumerate(wheels) if k != kind.caster]
        drawn = tuple(
            Wheel(
                name,
                wheel.x,
                wheel.y,
                wheel.radius,
                wheel.width,
                yaw=wheel.yaw,
                steer=f"steer_{name}" if name in steering else "",
                F_z=f"F_z_{name}",
            )
            for name, wheel in zip(kind.wheels, wheels, strict=True)
        )
        return Geometry(
            front_axle=max(axles),
            rear_axle=min(axles),
            wheels=drawn,
            outlines=(_around(drawn),),
            height=p.body.height,
            mass=total_mass(p, wheels),
            inertia=p.body.I_z,
            centre_of_mass=(p.body.com_x, p.body.com_y),
        )

    def limits(self, p: Any) -> Limits:
        """Friction, and the steering of one that steers."""
        # An ellipse gives forces by slip, with no bound on them that does not depend on load.
        grip = inf if isinstance(p.friction, Ellipse) else p.friction.mu * p.g
        if not self.parts.kind.steered:
            return Limits(steer_max=0.0, grip=grip)
        steer = (-p.steer_max, p.steer_max)
        named = "steer" in self.parts.controller.Input._fields
        inputs = {"steer": steer} if named else {}
        return Limits(steer_max=p.steer_max, omega_max=0.0, grip=grip, inputs=inputs)

    def command(self, x: Any, wish: Wish, p: Any) -> Any:
        """What its controller is told."""
        Input = self.parts.controller.Input
        if Input is TwistInput:
            return TwistInput(wish.v, wish.omega)
        if Input is SideTorques:
            return self._sides(x, wish, p)
        steer = limited(wish.steer, p.steer_max)
        if Input is FrontSteerInput:
            return FrontSteerInput(wish.v, steer)
        tau = self._torque(_undamped(x, wish.a, p), p)
        return MotorTorque(tau, steer) if Input is MotorTorque else Input(tau, tau, steer)

    def _torque(self, a: m_s2, p: Any) -> Nm:
        """At each driven wheel, or of the one motor, for an acceleration by its force alone."""
        wheels = self.parts.wheels(p)
        return a * total_mass(p, wheels) * wheels[0].radius * (1.0 / self.parts.kind.driven)

    def _sides(self, x: Any, wish: Wish, p: Any) -> SideTorques:
        wheels = self.parts.wheels(p)
        half: m = 0.5 * (wheels[0].y - wheels[1].y)
        faster: rad_s = wish.omega - x.omega
        # As fast as it gets to speed, half the track away from its middle.
        turn = self._torque(half * faster * (1.0 / TURN_TIME), p)
        tau = self._torque(_undamped(x, wish.a, p), p)
        return SideTorques(tau - turn, tau + turn)


def _undamped(x: Any, a: m_s2, p: Any) -> m_s2:
    """Acceleration to ask of the wheels for one in spite of the damping of the body."""
    return a + p.body.linear_damping * x.v_x


def _around(wheels: tuple[Wheel, ...]) -> Outline:
    """The rectangle about some wheels."""
    front = max(wheel.x + wheel.radius for wheel in wheels)
    rear = min(wheel.x - wheel.radius for wheel in wheels)
    half = max((abs(wheel.y) + 0.5 * wheel.width for wheel in wheels), default=inf)
    return box(rear, front, 2.0 * half)
