"""All manoeuvres with their default settings, by name."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.record import unknown_name
from ...errors import InvalidValue
from .braking import BrakingInTurn, SplitBraking, StraightBraking
from .command_response import CommandSteps, SpinInPlace, SquarePath, StopFromSpeed, StraightAndArc
from .cone_courses import Autocross, DoubleLaneChange, LongSlalom, ObstacleAvoidance, Slalom
from .events import FormulaAcceleration, FormulaSkidpad
from .longitudinal import Acceleration, CoastDown, HillHold, HillStart, TurningCircle
from .manoeuvre import Manoeuvre
from .on_centre import Transition, Weave
from .ride import Bump, RoughRoad
from .sine_with_dwell import SineWithDwell
from .steady_state import ConstantRadius, ConstantSpeed, ConstantSteer, SlowRamp
from .transient_response import RandomSteer, SineSweep, SingleSine, StepSteer

STANDARD: tuple[Manoeuvre, ...] = (
    *(ConstantRadius(), ConstantSpeed(), ConstantSteer(), SlowRamp()),
    *(StepSteer(), SingleSine(), SineSweep(), RandomSteer(), Weave(), Transition()),
    *(SineWithDwell(), DoubleLaneChange(), ObstacleAvoidance()),
    *(StraightBraking(), BrakingInTurn(), SplitBraking(), Acceleration(), CoastDown()),
    *(TurningCircle(), Slalom(), LongSlalom(), FormulaSkidpad(), FormulaAcceleration()),
    *(Autocross(), HillHold(), HillStart(), RoughRoad(), Bump(), CommandSteps()),
    *(StopFromSpeed(), SpinInPlace(), StraightAndArc(), SquarePath()),
)
"""All standard manoeuvres, in the order of tables and reports."""


def names() -> list[str]:
    """Names of all standard manoeuvres, in the order of `STANDARD`."""
    return [manoeuvre.name for manoeuvre in STANDARD]


def select(wanted: Iterable[str] | None = None) -> tuple[Manoeuvre, ...]:
    """Return the standard manoeuvres with these names; all of them for None."""
    if wanted is None:
        return STANDARD
    by_name = {manoeuvre.name: manoeuvre for manoeuvre in STANDARD}
    for name in (picked := list(wanted)):
        if name not in by_name:
            raise InvalidValue(unknown_name("skidpad", name, names(), "manoeuvre"))
    return tuple(by_name[name] for name in picked)
