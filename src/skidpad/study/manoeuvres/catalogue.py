"""All manoeuvres with their usual settings, by name."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.record import unknown_name
from ...errors import InvalidValue
from .autocross import Autocross
from .braking import BrakingInTurn, SplitBraking, StraightBraking
from .command_response import CommandSteps, StopFromSpeed
from .cone_courses import DoubleLaneChange, LongSlalom, ObstacleAvoidance, Slalom
from .events import FormulaAcceleration, FormulaSkidpad
from .frequency_response import RandomSteer, SineSweep
from .hill import HillHold, HillStart
from .longitudinal import Acceleration, CoastDown, TurningCircle
from .manoeuvre import Manoeuvre
from .on_centre import Transition, Weave
from .ride import Bump, RoughRoad
from .robots import SpinInPlace, SquarePath, StraightAndArc
from .sine_with_dwell import SineWithDwell
from .single_sine import SingleSine
from .steady_state import ConstantRadius, ConstantSpeed, ConstantSteer, SlowRamp
from .step_steer import StepSteer

STANDARD: tuple[Manoeuvre, ...] = (
    ConstantRadius(),
    ConstantSpeed(),
    ConstantSteer(),
    SlowRamp(),
    StepSteer(),
    SingleSine(),
    SineSweep(),
    RandomSteer(),
    Weave(),
    Transition(),
    SineWithDwell(),
    DoubleLaneChange(),
    ObstacleAvoidance(),
    StraightBraking(),
    BrakingInTurn(),
    SplitBraking(),
    Acceleration(),
    CoastDown(),
    TurningCircle(),
    Slalom(),
    LongSlalom(),
    FormulaSkidpad(),
    FormulaAcceleration(),
    Autocross(),
    HillHold(),
    HillStart(),
    RoughRoad(),
    Bump(),
    CommandSteps(),
    StopFromSpeed(),
    SpinInPlace(),
    StraightAndArc(),
    SquarePath(),
)
"""In the order of tables and reports."""


def names() -> list[str]:
    """Names of all manoeuvres, in their order."""
    return [manoeuvre.name for manoeuvre in STANDARD]


def select(wanted: Iterable[str] | None = None) -> tuple[Manoeuvre, ...]:
    """The standard manoeuvres of these names, all if None."""
    if wanted is None:
        return STANDARD
    by_name = {manoeuvre.name: manoeuvre for manoeuvre in STANDARD}
    for name in (picked := list(wanted)):
        if name not in by_name:
            raise InvalidValue(unknown_name("skidpad", name, names(), "manoeuvre"))
    return tuple(by_name[name] for name in picked)
