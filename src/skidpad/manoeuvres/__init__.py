"""The proving ground: standard manoeuvres of any vehicle, what they measure, and the report.

from skidpad.manoeuvres import StepSteer, Subject, perform

result, = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
print(result["yaw_rate_rise_time"])
"""

from __future__ import annotations

from .autocross import Autocross
from .braking import BrakingInTurn, SplitBraking, StraightBraking
from .case import Case
from .case_run import CaseRun
from .catalogue import STANDARD, chosen, names
from .events import FormulaAcceleration, FormulaSkidpad
from .frequency_response import RandomSteer, SineSweep
from .hill import HillHold, HillStart
from .kernels import Kernels
from .lane_change import DoubleLaneChange, ObstacleAvoidance
from .longitudinal import Acceleration, CoastDown, TurningCircle
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Manoeuvre, Performing, Result, perform
from .ride import Bump, RoughRoad
from .sine_with_dwell import SineWithDwell
from .slalom import LongSlalom, Slalom
from .steady_circle import ConstantRadius, ConstantSpeed, ConstantSteer
from .step_steer import StepSteer
from .subject import Subject
from .theory import Bicycle, LinearCar, linear_car

__all__ = [
    "STANDARD",
    "Acceleration",
    "Autocross",
    "Bicycle",
    "BrakingInTurn",
    "Bump",
    "Case",
    "CaseRun",
    "Chart",
    "CoastDown",
    "ConstantRadius",
    "ConstantSpeed",
    "ConstantSteer",
    "Curve",
    "DoubleLaneChange",
    "Findings",
    "FormulaAcceleration",
    "FormulaSkidpad",
    "HillHold",
    "HillStart",
    "Kernels",
    "LinearCar",
    "LongSlalom",
    "Manoeuvre",
    "Metric",
    "ObstacleAvoidance",
    "Path",
    "Performing",
    "RandomSteer",
    "Result",
    "RoughRoad",
    "SineSweep",
    "SineWithDwell",
    "Slalom",
    "SplitBraking",
    "StepSteer",
    "StraightBraking",
    "Subject",
    "TurningCircle",
    "chosen",
    "linear_car",
    "names",
    "path_along",
    "perform",
]
