"""`eight`: the figure of eight of the skidpad, at 1.1 g.

A driver written in Python steers one car. The same function, compiled together with the car, then
drives a fleet of cars with ever less grip round one figure.
"""

from __future__ import annotations

from math import cos, hypot, pi, sin

from .. import vehicles
from ..runs import Driver, StartLine, TrajectoryShow, driven
from ..stage import Disc
from ..units import m_s2, s
from . import driver
from .figure_of_eight import LANE_WIDTH, SKIDPAD
from .sweep import sweep
from .track import BLUE, YELLOW

DT: s = 0.01
LAPS = 4
"""Figures; each is two laps of the rules, one on each circle."""
A_LATERAL: m_s2 = 1.1 * 9.81
"""Lateral acceleration that the driver aims at on the circles. The tyres hold 1.7 g."""
CARS, LEAST_GRIP = 256, 0.5


def show(seed: int) -> TrajectoryShow:
    """From standstill; nothing is random here."""
    car = vehicles.formula_student()
    params = driver.driver_of(car.params, A_LATERAL)
    swept = sweep(CARS, LEAST_GRIP, A_LATERAL, car)
    return driven(
        {"car": Driver(car, driver.driven_by(params).controller(DT))},
        dt=DT,
        title="Figure of eight at 1.1 g",
        duration=driver.duration(params, LAPS),
        start_line=StartLine(0.0, 0.0, 0.0, LANE_WIDTH),
        discs=cones(),
        remarks=(swept.sentence(),),
    )


def cones() -> tuple[Disc, ...]:
    """Inside and outside of the lanes; none where the circles meet."""
    r, half = SKIDPAD.radius, 0.5 * LANE_WIDTH
    discs: list[Disc] = []
    for side in (1.0, -1.0):
        for radius, count, colour in ((r - half, 16, BLUE), (r + half, 24, YELLOW)):
            for k in range(count):
                angle = 2.0 * pi * (k + 0.5) / count
                x, y = radius * cos(angle), side * r + radius * sin(angle)
                if hypot(x, y + side * r) > r + half - 0.1:
                    discs.append(Disc(x, y, 0.114, "cone", colour))
    return tuple(discs)
