"""A car in round numbers whose body sits on springs, states of it, and a corner with everything."""

from __future__ import annotations

from typing import NamedTuple

from skidpad.vehicles.parts.chassis import Acting, Pressed, Suspension
from skidpad.vehicles.parts.kinematics import Acceleration, PoseRate
from skidpad.vehicles.parts.load_transfer import CornerLoads, Force
from skidpad.vehicles.parts.on_road import RoadUnderCar
from skidpad.vehicles.parts.suspension import (
    AntiRollBar,
    BumpStop,
    KneedDamper,
    ProgressiveSpring,
    corner,
)

G = 9.81
CALM = Pressed(0.0, 0.0)
LEVEL = RoadUnderCar(PoseRate(0.0, 0.0, 0.0), None, G, None, G, G)


def acting(a: Acceleration, air: Pressed = CALM) -> Acting:
    """What acts on a body on level ground whose tyres push the mass with `a`."""
    return Acting(CornerLoads(0.0, 0.0, 0.0, 0.0), (Force(0.0, 0.0),) * 4, a, air, LEVEL)


class Car(NamedTuple):
    m: float = 1200.0
    l_f: float = 1.0
    l_r: float = 1.5
    track_f: float = 1.4
    track_r: float = 1.5
    z_cg: float = 0.5
    g: float = G
    F_lift: float = 1.0


class At(NamedTuple):
    """A state of the loads."""

    load_a_x: float = 0.0
    load_a_y: float = 0.0


class Moving(NamedTuple):
    """A state of the loads and of the body."""

    load_a_x: float = 0.0
    load_a_y: float = 0.0
    roll: float = 0.0
    roll_rate: float = 0.0
    pitch: float = 0.0
    pitch_rate: float = 0.0
    heave: float = 0.0
    heave_rate: float = 0.0


P = Car()
BY_HAND = Suspension(
    m_u_f=80.0, m_u_r=120.0, h_u_f=0.3, h_u_r=0.25, h_rc_f=0.06, h_rc_r=0.14,
    k_f=20000.0, k_r=30000.0, bar_f=8000.0, bar_r=2000.0,
)  # fmt: skip
FULL = corner(
    ratio=0.7,
    spring=ProgressiveSpring(k=30000.0, k_2=40000.0, k_3=3e5, F_0=4000.0),
    damper=KneedDamper(),
    bump_stop=BumpStop(gap=0.04),
    rebound_stop=BumpStop(gap=0.05, k=80000.0),
    bar=AntiRollBar(9000.0),
)
