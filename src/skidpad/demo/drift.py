"""`drift`: one drift on five kinds of tyres.

Five cars (CommonRoad's single track with spinning wheels) are thrown into a left bend at the same
speed. Their drivers hold them at 10 m/s and 34° of slip angle. What the tyres hold decides how
large a circle that takes: with half the grip it is more than twice as wide.
"""

from __future__ import annotations

from .. import vehicles
from ..model import Vehicle
from ..runs import Driver, StartLine, TrajectoryShow, driven
from ..units import m_s, one, rad, s
from .drift_balance import DriftDriver, balance

DT: s = 0.01
SUBSTEPS = 13
"""The wheels need steps below 0.78 ms with RK4."""
GRIPS: tuple[one, ...] = (0.55, 0.7, 0.85, 1.0, 1.15)
"""Friction as a share of the standard tyre's."""
SPEED: m_s = 10.0
SLIP: rad = -0.6
ENTRY: rad = -0.3
"""Slip angle in which the cars begin."""


def car(grip: one) -> Vehicle:
    """A car with so much friction, and steering as quick as a drifter's."""
    standard = vehicles.commonroad_std()
    p = standard.params
    tyre = p.tyre._replace(p_dx1=grip * p.tyre.p_dx1, p_dy1=grip * p.tyre.p_dy1)
    return Vehicle(standard.model, p._replace(tyre=tyre, steer_rate_max=3.0, steer_max=0.9))


def show(seed: int) -> TrajectoryShow:
    """The cars around one middle; nothing is random here."""
    drivers: dict[str, Driver] = {}
    radii: list[str] = []
    for grip in GRIPS:
        one_car = car(grip)
        held = balance(one_car, SPEED, SLIP)
        radii.append(f"{held.radius:.1f}")
        roll = SPEED / one_car.params.R_w
        start = {
            "y": -held.radius,
            "v": SPEED,
            "beta": ENTRY,
            "omega": float(held.z[2]),
            "omega_f": roll,
            "omega_r": 1.2 * roll,
        }
        drivers[f"{100 * grip:.0f} % grip"] = Driver(one_car, DriftDriver(one_car, held), start)
    return driven(
        drivers,
        dt=DT,
        integrator="rk4",
        substeps=SUBSTEPS,
        title="One drift, five kinds of tyres",
        duration=20.0,
        start_line=StartLine(0.0, -15.0, 0.0, 15.0),
        remarks=(f"radius of the circles: {', '.join(radii)} m",),
    )
