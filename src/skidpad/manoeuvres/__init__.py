"""The proving ground: standard manoeuvres of any vehicle, what they measure, and the report.

from skidpad.manoeuvres import StepSteer, Subject, perform

result, = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
print(result["yaw_rate_rise_time"])
"""

from __future__ import annotations

from .braking import BrakingInTurn, SplitBraking, StraightBraking
from .case import Case
from .case_run import CaseRun
from .catalogue import STANDARD, chosen, names
from .command_response import CommandSteps, StopFromSpeed
from .frequency_response import RandomSteer, SineSweep
from .kernels import Kernels
from .lane_change import DoubleLaneChange, ObstacleAvoidance
from .longitudinal import Acceleration, CoastDown, TurningCircle
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Manoeuvre, Performing, Result, perform
from .robots import SpinInPlace, SquarePath, StraightAndArc
from .sensitivity import Indices, Sensitivity, sensitivity, sobol
from .sine_with_dwell import SineWithDwell
from .steady_circle import ConstantRadius, ConstantSpeed, ConstantSteer
from .step_steer import StepSteer
from .subject import Subject
from .theory import Bicycle, LinearCar, linear_car
from .tune import Reached, Tuning, tune

__all__ = [
    "STANDARD",
    "Acceleration",
    "Bicycle",
    "BrakingInTurn",
    "Case",
    "CaseRun",
    "Chart",
    "CoastDown",
    "CommandSteps",
    "ConstantRadius",
    "ConstantSpeed",
    "ConstantSteer",
    "Curve",
    "DoubleLaneChange",
    "Findings",
    "Indices",
    "Kernels",
    "LinearCar",
    "Manoeuvre",
    "Metric",
    "ObstacleAvoidance",
    "Path",
    "Performing",
    "RandomSteer",
    "Reached",
    "Result",
    "Sensitivity",
    "SineSweep",
    "SineWithDwell",
    "SpinInPlace",
    "SplitBraking",
    "SquarePath",
    "StepSteer",
    "StopFromSpeed",
    "StraightAndArc",
    "StraightBraking",
    "Subject",
    "Tuning",
    "TurningCircle",
    "chosen",
    "linear_car",
    "names",
    "path_along",
    "perform",
    "sensitivity",
    "sobol",
    "tune",
]
