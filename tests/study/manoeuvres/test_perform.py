"""Manoeuvres that end badly end for their vehicle alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import Case, Findings, Performing, StepSteer, Subject, perform
from skidpad.study.manoeuvres.transient_response import SingleSine
from study.manoeuvres.fakes import Drive


@dataclass(frozen=True)
class Broken:
    """Asks for something that one vehicle cannot drive."""

    how: str
    name: ClassVar[str] = "broken"
    title: ClassVar[str] = "Broken"
    source: ClassVar[str] = "no standard"

    def unfit(self, car: Subject) -> str:
        return ""

    def perform(self, car: Subject) -> Performing:
        case: Any = {"label": "first", "duration": 0.2, "v": 5.0}
        if car.name == "worse":
            if self.how == "nothing":
                yield []
            if self.how == "raises":
                raise InvalidValue("there is nothing to see")
            case |= {"signal": {"steer": np.nan}}.get(self.how, {})
            case |= {"angle": {"amplitude": np.nan}, "speed": {"v": np.nan}}.get(self.how, {})
        yield [Case(**case)]
        return Findings((), notes=("done",))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("nothing", "worse can drive no part of it within its limits"),
        ("raises", "ended early: there is nothing to see"),
        ("angle", "linear theory of worse gives no angle to start from, for first"),
        ("speed", "linear theory of worse gives no speed to start from, for first"),
        ("signal", "ended early: .* steer of vehicle 0 is nan"),
    ],
)
def test_what_one_vehicle_cannot_start_others_finish(how: str, says: str) -> None:
    bicycle = sp.vehicles.kinematic_bicycle()
    cars = [Subject(bicycle, name=name) for name in ("worse", "better")]
    worse, drive, better, other = perform([Broken(how), Drive(0.2)], cars)
    assert re.match(says, worse.unfit)
    assert worse.findings is None
    assert better.findings is not None
    assert drive.findings is not None
    assert other.findings is not None


@pytest.mark.parametrize("name", ["double_integrator", "commonroad_dynamic_bicycle"])
def test_vehicles_whose_angle_is_no_state_or_an_integral_say_so(name: str) -> None:
    """Step steer and single sine have to find an angle for them and cannot."""
    for result in perform([StepSteer(), SingleSine()], [Subject(sp.vehicles.get(name)())]):
        assert result.unfit
