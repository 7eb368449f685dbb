"""`full_car`: `two_track` on independent suspensions, with 14 degrees of freedom.

The body heaves, rolls and pitches, each wheel moves up and down and spins, and all of it drives:
over bumps, kerbs and crests, too. Every other part is as of `two_track`. Slip is a state by
default, so that the car stands where it is braked. Equations: docs/vehicles.md.

    full_car()                                        # a compact car
    full_car("sports")                                # a car of a parameter set, with estimates
    full_car(chassis=independent_suspension(front=corner(spring=ProgressiveSpring())))
    full_car(tyre=T, road=Road.iso8608("C", length=200.0, seed=1))

Suspensions of the parameter sets are estimates, since no maker publishes them, derived in the same
way for all from the numbers of a set and a few that are usual for its kind of car:

* Unsprung mass of an axle: a share of the mass of the car, at the height of the wheel centres.
* Springs: a body on springs alone bounces at a frequency, a little faster behind than in front.
* Dampers: a share of critical damping, 0.7 of it in bump and 1.3 in rebound, less when fast.
* Bars: what is left to a roll per lateral acceleration, shared so that the front axle has
  `roll_front` of the load transfer, as in `two_track`.
* Inertias of roll and pitch: 0.16 m_s track², and 0.92 of the yaw inertia.
* Stops: a gap, then six times the spring.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core import record
from ...core.model import Vehicle
from ...core.record import recipe_of
from ...errors import InvalidValue
from ...tyres.relaxation import LowSpeed
from ..parts.chassis import SprungMass, roll_levers, sprung_mass
from ..parts.spinning_wheel import FirstOrderSlip
from ..parts.suspension import (
    AntiRollBar,
    BumpStop,
    KneedDamper,
    LinearSpring,
    SuspendedBody,
    corner,
    independent_suspension,
)
from .model import TwoTrackFactory, car_model
from .records import DEFAULT_TYRES, Params, Parts
from .sets import CarSet, car_set

G = 9.81


class SuspensionKind(NamedTuple):
    """What is usual for a kind of car; all of it estimates."""

    unsprung: float = 0.055
    """Unsprung mass of an axle over the mass of the car."""
    bounce_f: float = 1.2
    """Frequency of the body on the front springs, in Hz."""
    bounce_r: float = 1.4
    """Frequency of the body on the rear springs, in Hz."""
    damping: float = 0.3
    """Share of critical damping."""
    roll: float = 5.0
    """Roll of the body in deg per g."""
    h_rc_f: float = 0.04
    """Height of the front roll centre, in m."""
    h_rc_r: float = 0.1
    """Height of the rear roll centre, in m."""
    anti: float = 0.2
    """Share of the links in the loads that braking moves: anti-dive in front, anti-lift behind."""
    gap: float = 0.07
    """Travel to the stops, in m."""


KINDS: Mapping[str, SuspensionKind] = {
    "compact": SuspensionKind(),
    "sports": SuspensionKind(bounce_f=1.45, bounce_r=1.55, damping=0.35, roll=2.0, gap=0.05),
    "suv": SuspensionKind(bounce_f=1.2, bounce_r=1.35, roll=5.5, h_rc_f=0.06, h_rc_r=0.12),
    "race": SuspensionKind(0.05, 4.0, 4.5, 0.6, 0.2, 0.02, 0.04, 0.2, 0.025),
    "formula_student": SuspensionKind(0.08, 2.8, 3.0, 0.6, 0.8, 0.03, 0.05, 0.2, 0.025),
    "small_scale": SuspensionKind(0.05, 4.0, 4.2, 0.4, 2.0, 0.01, 0.015, 0.0, 0.008),
}
"""By the name of the parameter set."""


def estimated_slip(name: str) -> FirstOrderSlip:
    """Slip as a state, with the low speed of the set."""
    slip = car_set(name).slip
    return FirstOrderSlip() if slip is None else FirstOrderSlip(LowSpeed(v_low=slip.v_low))


def estimated_suspension(name: str) -> Any:
    """The suspension of a parameter set."""
    car = car_set(name)
    kind = KINDS[name]
    p = Params()._replace(**car.values)
    layout = _layout(kind, car, p)
    body = sprung_mass(layout, p)
    carried = (0.5 * body.front, 0.5 * body.rear)
    bounce = (kind.bounce_f, kind.bounce_r)
    rates = [m * (2.0 * math.pi * f) ** 2 for m, f in zip(carried, bounce, strict=True)]
    bars = _bars(kind, layout, body, rates, p)
    front, rear = (_corner(kind, m, k, bar) for m, k, bar in zip(carried, rates, bars, strict=True))
    return independent_suspension(layout, front, rear)


def _layout(kind: SuspensionKind, car: CarSet, p: Params) -> SuspendedBody:
    unsprung = kind.unsprung * p.m
    m_s = p.m - 2.0 * unsprung
    track = 0.5 * (p.track_f + p.track_r)
    lever = kind.anti * p.z_cg / (p.l_f + p.l_r)
    damping = [
        0.04 * math.sqrt(tyre.carcass.C_z * 0.5 * unsprung) for tyre in (car.front, car.rear)
    ]
    return SuspendedBody(
        I_x=0.16 * m_s * track**2,
        I_y=0.92 * p.I_z * m_s / p.m,
        m_u_f=unsprung,
        m_u_r=unsprung,
        h_u_f=car.front.carcass.radius,
        h_u_r=car.rear.carcass.radius,
        h_rc_f=kind.h_rc_f,
        h_rc_r=kind.h_rc_r,
        anti_f=lever / p.brake_front,
        anti_r=lever / (1.0 - p.brake_front),
        c_t_f=damping[0],
        c_t_r=damping[1],
    )


def _bars(
    kind: SuspensionKind, layout: SuspendedBody, body: SprungMass, rates: list[float], p: Params
) -> list[float]:
    """Stiffness of the bars by which the body rolls as its kind, and loads shift by `roll_front`;
    none where the springs alone are stiffer."""
    roll = math.radians(kind.roll) / G
    moment = p.m * p.z_cg + body.m * body.arm * G * roll
    shares = (p.roll_front, 1.0 - p.roll_front)
    columns = zip(shares, roll_levers(layout, p), rates, (p.track_f, p.track_r), strict=True)
    return [
        max((share * moment - past) / roll / track**2 - 0.5 * k, 0.0)
        for share, past, k, track in columns
    ]


def _corner(kind: SuspensionKind, carried: float, k: float, bar: float) -> Any:
    c = 2.0 * kind.damping * math.sqrt(k * carried)
    stop = BumpStop(gap=kind.gap, k=6.0 * k, width=0.15 * kind.gap)
    return corner(
        spring=LinearSpring(k=k),
        damper=KneedDamper(
            c_bump=0.7 * c, c_rebound=1.3 * c, c_bump_fast=0.35 * c, c_rebound_fast=0.6 * c
        ),
        bump_stop=stop,
        rebound_stop=stop._replace(gap=1.15 * kind.gap),
        bar=AntiRollBar(k=bar),
    )


DEFAULT = independent_suspension()


@dataclass(frozen=True, repr=False)
class FullCarFactory(TwoTrackFactory):
    """Makes cars on independent suspensions: `full_car(front=T1, rear=T2, m=1300.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `chassis` is an `independent_suspension`; all other parts are those that `two_track` takes.
        `params` may be the name of a parameter set, whose suspension is an estimate.
        """
        if isinstance(params, str):
            own = {"chassis": estimated_suspension(params), "slip": estimated_slip(params)}
        elif record.is_record_type(type(params)):
            own = {"chassis": getattr(params, "chassis", DEFAULT)}
        else:
            own = {"chassis": DEFAULT, "slip": FirstOrderSlip()}
        values = own | values
        if "z_fl" not in getattr(getattr(values["chassis"], "States", None), "_fields", ()):
            kind = type(values["chassis"]).__name__
            raise InvalidValue(
                f"chassis of a full_car must be an independent_suspension, got a {kind}; with "
                "another chassis it is a two_track"
            )
        return super().__call__(params, **values)


full_car = FullCarFactory(
    car_model(
        "full_car",
        Parts(slip=FirstOrderSlip, chassis=recipe_of(type(DEFAULT))),
        *map(type, DEFAULT_TYRES),
    )
)
