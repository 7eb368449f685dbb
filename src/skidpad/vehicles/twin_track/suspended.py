"""`full_car`: `two_track` on independent suspensions, with 14 degrees of freedom.

The body heaves, rolls and pitches, each wheel moves up and down and spins, and the car drives over
bumps, kerbs and crests. Every other part is that of `two_track`. Slip is a state by default, so
that a braked car stands still. Equations: docs/vehicles.md.

    full_car()                                        # a compact car
    full_car("sports")                                # a car of a parameter set, with estimates
    full_car(chassis=independent_suspension(front=corner(spring=ProgressiveSpring())))
    full_car(tyre=T, road=Road.iso8608("C", length=200.0, seed=1))

Suspensions of the parameter sets are estimates, since no maker publishes them. All are derived in
the same way from the values of a set and a few typical of its kind of car:

* Unsprung mass of an axle: a share of the mass of the car, at the height of the wheel centres.
* Springs: from the bounce frequency of the body, a little higher at the rear than at the front.
* Dampers: a share of critical damping, 0.7 of it in bump and 1.3 in rebound, less at high rates.
* Anti-roll bars: from the roll per lateral acceleration, distributed so that the front axle has
  `roll_front` of the load transfer, as in `two_track`.
* Inertias of roll and pitch: 0.16 m_s track², and 0.92 of the yaw inertia.
* Stops: a gap, then six times the spring stiffness.
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
from ..parts.chassis import roll_levers, sprung_mass
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
    """Typical suspension values of a kind of car (all estimates)."""

    unsprung: float = 0.055
    """Unsprung mass of an axle over the mass of the car."""
    bounce_f: float = 1.2
    """Bounce frequency of the body on the front springs, in Hz."""
    bounce_r: float = 1.4
    """Bounce frequency of the body on the rear springs, in Hz."""
    damping: float = 0.3
    """Damping ratio."""
    roll: float = 5.0
    """Roll gradient, in deg per g."""
    h_rc_f: float = 0.04
    """Height of the front roll centre, in m."""
    h_rc_r: float = 0.1
    """Height of the rear roll centre, in m."""
    anti: float = 0.2
    """Share of the links in the load transfer of braking (anti-dive and rear anti-lift)."""
    gap: float = 0.07
    """Travel before the stops engage, in m."""


KINDS: Mapping[str, SuspensionKind] = {
    "compact": SuspensionKind(),
    "sports": SuspensionKind(bounce_f=1.45, bounce_r=1.55, damping=0.35, roll=2.0, gap=0.05),
    "suv": SuspensionKind(bounce_f=1.2, bounce_r=1.35, roll=5.5, h_rc_f=0.06, h_rc_r=0.12),
    "race": SuspensionKind(0.05, 4.0, 4.5, 0.6, 0.2, 0.02, 0.04, 0.2, 0.025),
    "formula_student": SuspensionKind(0.08, 2.8, 3.0, 0.6, 0.8, 0.03, 0.05, 0.2, 0.025),
    "small_scale": SuspensionKind(0.05, 4.0, 4.2, 0.4, 2.0, 0.01, 0.015, 0.0, 0.008),
}
"""Typical suspension values, by the name of the parameter set."""


def estimated_suspension(name: str) -> Any:
    """Estimated suspension of a parameter set."""
    car, kind = car_set(name), KINDS[name]
    p = Params()._replace(**car.values)
    layout = _layout(kind, car, p)
    body = sprung_mass(layout, p)
    carried = (0.5 * body.front, 0.5 * body.rear)
    bounce = (kind.bounce_f, kind.bounce_r)
    rates = [m * (2.0 * math.pi * f) ** 2 for m, f in zip(carried, bounce, strict=True)]
    # Anti-roll bars for the roll gradient of the kind, with a front share `roll_front` of the load
    # transfer; 0 where the springs alone are stiffer.
    roll = math.radians(kind.roll) / G
    moment = p.m * p.z_cg + body.m * body.arm * G * roll
    shares, tracks = (p.roll_front, 1.0 - p.roll_front), (p.track_f, p.track_r)
    columns = zip(shares, roll_levers(layout, p), rates, tracks, strict=True)
    bars = [
        max((share * moment - past) / roll / track**2 - 0.5 * k, 0.0)
        for share, past, k, track in columns
    ]
    front, rear = (_corner(kind, m, k, bar) for m, k, bar in zip(carried, rates, bars, strict=True))
    return independent_suspension(layout, front, rear)


def _layout(kind: SuspensionKind, car: CarSet, p: Params) -> SuspendedBody:
    unsprung = kind.unsprung * p.m
    m_s = p.m - 2.0 * unsprung
    track = 0.5 * (p.track_f + p.track_r)
    lever = kind.anti * p.z_cg / (p.l_f + p.l_r)
    c_t = [0.04 * math.sqrt(tyre.carcass.C_z * 0.5 * unsprung) for tyre in (car.front, car.rear)]
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
        c_t_f=c_t[0],
        c_t_r=c_t[1],
    )


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

        `chassis` is an `independent_suspension`; all other parts are those of `two_track`.
        `params` may be the name of a parameter set, whose suspension is an estimate.
        """
        if isinstance(params, str):
            slip = car_set(params).slip
            low = LowSpeed() if slip is None else LowSpeed(v_low=slip.v_low)
            own = {"chassis": estimated_suspension(params), "slip": FirstOrderSlip(low)}
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
