"""A manoeuvre of one's own, for tests of what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skidpad.study.manoeuvres import Case, Findings, Metric, Performing, Subject
from skidpad.units import kg, m_s, rad_s


@dataclass(frozen=True)
class Moody:
    """Drives straight on, and cannot stand vehicles that are heavier than it likes."""

    speed: m_s = 10.0
    heaviest: kg = 1e9
    turning: rad_s = 0.0
    """Yaw rate that somebody has given the vehicle at the start."""
    name: ClassVar[str] = "moody"
    title: ClassVar[str] = "Moody"
    source: ClassVar[str] = "a test"

    def unfit(self, car: Subject) -> str:
        return ""

    def perform(self, car: Subject) -> Performing:
        start = {"omega": self.turning}
        (run,) = yield [Case(label="on", duration=0.5, v=self.speed, speed=self.speed, start=start)]
        if car.geometry.mass > self.heaviest:
            raise ZeroDivisionError("too heavy")
        way = np.where(run.done, run["x"][-1] - run["x"][0], np.nan)
        return Findings([Metric("way", way, "m", "How far it went.")])
