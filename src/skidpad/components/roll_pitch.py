"""A body that rolls, pitches and heaves on springs, dampers and anti-roll bars.

The velocity of the car is that of its whole centre of mass. When the body rolls, its mass goes one
way and the wheels the other, so the contact patches move across by m_s h / m per rad; by the same
lever the force of the tyres turns the body, and power at the patches is power into the roll, to the
last digit. Pitch and heave go with the force along the car in the same way. Small angles; the roll
axis stays where it is.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..units import J, N_s_m, kg_m2, m, m_s, m_s2, non_negative, positive, rad, rad_s
from .assembly import NoStates
from .chassis import FOLLOWED, Acting, Pressed, alike, leaning_arm, push_of, unless_moving
from .corner_loads import CornerLoads, loads_under, spread_loads
from .on_road import RoadUnderCar
from .ramp import ramp
from .sprung_mass import (
    Suspension,
    Travel,
    check_sprung,
    link_shares,
    pitch_transfer,
    roll_levers,
    roll_stiffness,
    sprung_mass,
)
from .upright import while_upright
from .wheel import Velocity

__all__ = ["RollPitch", "RollPitchState"]


class RollPitchState(NamedTuple):
    """Motion of the body on its springs."""

    roll: rad = 0.0
    """Positive with the right side down, as in a turn to the left."""
    roll_rate: rad_s = 0.0
    """Rate of roll."""
    pitch: rad = 0.0
    """Positive with the nose down, as in braking."""
    pitch_rate: rad_s = 0.0
    """Rate of pitch."""
    heave: m = 0.0
    """Of the sprung centre of mass above where it stands at rest."""
    heave_rate: m_s = 0.0
    """Rate of heave."""


class Compression(NamedTuple):
    """Compression of each axle, and its rate."""

    front: m
    rear: m
    front_rate: m_s
    rear_rate: m_s


class RollPitch(NamedTuple):
    """A body that moves on its suspension; the defaults are those of a Ford Escort (CommonRoad)."""

    suspension: Suspension = Suspension()
    """Masses, springs and links."""
    I_x: Annotated[kg_m2, positive] = 244.04723069965206
    """Roll inertia of the sprung mass about its centre of mass."""
    I_y: Annotated[kg_m2, positive] = 1342.2597688480864
    """Pitch inertia of the sprung mass about its centre of mass."""
    c_f: Annotated[N_s_m, non_negative] = 1459.3902937206362
    """Damping of a front wheel, force per rate of its travel."""
    c_r: Annotated[N_s_m, non_negative] = 1459.3902937206362
    """Damping of a rear wheel."""

    States = RollPitchState
    Outputs = NoStates
    follows = FOLLOWED
    fills = RollPitchState._fields
    replaces = ("roll_front",)
    turns_by_pitch = True

    def check(self, p: Any) -> None:
        """Raise for a car that this body cannot stand on."""
        check_sprung(self.suspension, p)

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Weight, springs and dampers as they are now; links as the loads have followed the
        tyres. The air presses the body and so reaches the wheels through the springs."""
        s, at = self.suspension, self.compression(x, p)
        (K_f, K_r), (G_f, G_r) = roll_stiffness(s, p), roll_levers(s, p)
        C_f, C_r = self._roll_damping(p)
        roll, rate, a_y = x.roll, x.roll_rate, x.load_a_y
        by_track_f, by_track_r = 1.0 / p.track_f, 1.0 / p.track_r
        shift_f = (K_f * by_track_f) * roll + (C_f * by_track_f) * rate + (G_f * by_track_f) * a_y
        shift_r = (K_r * by_track_r) * roll + (C_r * by_track_r) * rate + (G_r * by_track_r) * a_y
        front, rear = self._axle_forces(x, at, pitch_transfer(x.load_a_x, p))
        front, rear = (ramp(F, p.F_lift) for F in loads_under(p.m * road.press, front, rear, p))
        return spread_loads(front, rear, shift_f, shift_r, p)

    def compression(self, x: Any, p: Any) -> Compression:
        """Compression of the axles by pitch and heave."""
        body = sprung_mass(self.suspension, p)
        return Compression(
            body.l_f * x.pitch - x.heave,
            -(body.l_r * x.pitch) - x.heave,
            body.l_f * x.pitch_rate - x.heave_rate,
            -(body.l_r * x.pitch_rate) - x.heave_rate,
        )

    def travel(self, x: Any, p: Any) -> Travel:
        """How the body sits."""
        at = self.compression(x, p)
        return Travel(x.roll, at.front, at.rear)

    def outputs(self, x: Any, acting: Acting, p: Any) -> NoStates:
        """None: how it sits are states."""
        return NoStates()

    def carried(self, x: Any, p: Any) -> tuple[Velocity, ...]:
        """Velocity of the centre of mass and what rolling and pitching adds at the patches."""
        body, at = sprung_mass(self.suspension, p), self.compression(x, p)
        links = link_shares(x.load_a_x, self.suspension)
        pitching = (1.0 - links.front) * at.front_rate - (1.0 - links.rear) * at.rear_rate
        return alike(
            x.v_x - (p.z_cg * (1.0 / (p.l_f + p.l_r))) * pitching,
            x.v_y + (body.m * body.arm * (1.0 / p.m)) * x.roll_rate,
        )

    def rates(self, x: Any, acting: Acting, p: Any) -> RollPitchState:
        """Rates of angles, heave and their rates."""
        pushed, air = acting.pushed, acting.air
        s, at, body = self.suspension, self.compression(x, p), sprung_mass(self.suspension, p)
        K_f, K_r = roll_stiffness(s, p)
        C_f, C_r = self._roll_damping(p)
        leaning = body.m * body.arm
        across = pushed.y + push_of(acting.turned, p).y
        rolling = leaning * across - (K_f + K_r - leaning * p.g) * x.roll
        rolling = rolling - (C_f + C_r) * x.roll_rate
        front, rear = self._axle_forces(x, at, pitch_transfer(pushed.x, p))
        up_f, up_r = front - air.front, rear - air.rear
        pitching = body.l_r * up_r - body.l_f * up_f - (p.m * p.z_cg) * pushed.x
        pitching = pitching + acting.turned.pitch
        return RollPitchState(
            x.roll_rate,
            while_upright(x.roll, rolling * (1.0 / self.roll_inertia(p))),
            x.pitch_rate,
            while_upright(x.pitch, pitching * (1.0 / (self.I_y + acting.turned.inertia))),
            x.heave_rate,
            (up_f + up_r) * (1.0 / body.m),
        )

    def tilt_rate(self, x: Any, p: Any) -> rad_s:
        """Roll rate, times the share of a moment of the wheels that rolls the body, for balance of
        power."""
        body = sprung_mass(self.suspension, p)
        lever = body.m * body.arm / (p.m * leaning_arm(p))
        return lever * x.roll_rate

    def roll_inertia(self, p: Any) -> kg_m2:
        """Inertia of rolling: of the body, and of body and wheels going opposite ways."""
        body = sprung_mass(self.suspension, p)
        return self.I_x + body.m * (body.arm * body.arm) * (1.0 - body.m * (1.0 / p.m))

    def energy(self, x: Any, press: m_s2, p: Any) -> J:
        """Of roll, pitch and heave, springs and bars, and of the weight that sinks with roll."""
        s, at, body = self.suspension, self.compression(x, p), sprung_mass(self.suspension, p)
        K_f, K_r = roll_stiffness(s, p)
        rolling = self.roll_inertia(p) * (x.roll_rate * x.roll_rate)
        pitching = self.I_y * (x.pitch_rate * x.pitch_rate)
        heaving = body.m * (x.heave_rate * x.heave_rate)
        leaning = (K_f + K_r - body.m * body.arm * p.g) * (x.roll * x.roll)
        springs = s.k_f * (at.front * at.front) + s.k_r * (at.rear * at.rear)
        return 0.5 * (rolling + pitching + heaving + leaning) + springs

    def loss(self, x: Any, p: Any) -> Any:
        """Power that the dampers take, in W."""
        at, (C_f, C_r) = self.compression(x, p), self._roll_damping(p)
        axles = 2.0 * (self.c_f * at.front_rate**2 + self.c_r * at.rear_rate**2)
        return axles + (C_f + C_r) * (x.roll_rate * x.roll_rate)

    def bumped(self, x: Any, loads: CornerLoads, road: RoadUnderCar, p: Any) -> None:
        """Nothing."""

    def settled(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> RollPitchState:
        """The body sunk by what presses its axles, unless any of these states is not 0."""
        body, s = sprung_mass(self.suspension, p), self.suspension
        front, rear = air.front * (0.5 / s.k_f), air.rear * (0.5 / s.k_r)
        pitch = (front - rear) * (1.0 / (p.l_f + p.l_r))
        balance = RollPitchState(pitch=pitch, heave=body.l_f * pitch - front)
        own = RollPitchState(*(getattr(x, name) for name in RollPitchState._fields))
        return unless_moving(own, balance)

    def _roll_damping(self, p: Any) -> tuple[Any, Any]:
        """Moment per roll rate of each axle."""
        return (
            (0.5 * self.c_f) * (p.track_f * p.track_f),
            (0.5 * self.c_r) * (p.track_r * p.track_r),
        )

    def _axle_forces(self, x: Any, at: Compression, moved: Any) -> tuple[Any, Any]:
        """Force of springs, dampers and links of each axle beyond that at rest; `moved` is the
        load transfer that the links carry their shares of."""
        s, links = self.suspension, link_shares(x.load_a_x, self.suspension)
        return (
            2.0 * (s.k_f * at.front + self.c_f * at.front_rate) - links.front * moved,
            2.0 * (s.k_r * at.rear + self.c_r * at.rear_rate) + links.rear * moved,
        )
