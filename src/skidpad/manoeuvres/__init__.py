"""The proving ground: standard manoeuvres of any vehicle, what they measure, and the report.

from skidpad.manoeuvres import StepSteer, Subject, perform

result, = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
print(result["yaw_rate_rise_time"])
Evaluation([result]).to_html("report.html")
"""

from __future__ import annotations

from .. import record
from .autocross import Autocross
from .braking import BrakingInTurn, StraightBraking
from .case import Case
from .case_run import CaseRun
from .catalogue import STANDARD, chosen, names
from .command_response import CommandSteps, StopFromSpeed
from .document import as_json, earlier, junit_xml, write_json, write_junit
from .evaluation import Evaluation, Reference, Row
from .events import FormulaAcceleration, FormulaSkidpad
from .frequency_response import RandomSteer, SineSweep
from .hill import HillHold, HillStart
from .kernels import Kernels
from .lane_change import DoubleLaneChange, ObstacleAvoidance
from .limits import Limit, Limits
from .logged_drive import drive_of_log
from .longitudinal import Acceleration, CoastDown, TurningCircle
from .measured import adapted, measured, measured_reference
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Manoeuvre, Performing, Result, perform, perform_each
from .ride import Bump, RoughRoad
from .robots import SpinInPlace, SquarePath, StraightAndArc
from .sensitivity import Indices, Sensitivity, sensitivity, sobol
from .sine_with_dwell import SineWithDwell
from .single_sine import SingleSine
from .slalom import LongSlalom, Slalom
from .slow_ramp import SlowRamp
from .split_braking import SplitBraking
from .spread import parsed_spread, spread_out
from .steady_circle import ConstantRadius, ConstantSpeed, ConstantSteer
from .step_steer import StepSteer
from .subject import Subject
from .theory import Bicycle, LinearCar, linear_car
from .transition import Transition
from .tune import Optimised, Reached, Tuning, tune
from .weave import Weave

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
    "CommandSteps",
    "ConstantRadius",
    "ConstantSpeed",
    "ConstantSteer",
    "Curve",
    "DoubleLaneChange",
    "Evaluation",
    "Findings",
    "FormulaAcceleration",
    "FormulaSkidpad",
    "HillHold",
    "HillStart",
    "Indices",
    "Kernels",
    "Limit",
    "Limits",
    "LinearCar",
    "LongSlalom",
    "Manoeuvre",
    "Metric",
    "ObstacleAvoidance",
    "Optimised",
    "Path",
    "Performing",
    "RandomSteer",
    "Reached",
    "Reference",
    "Result",
    "RoughRoad",
    "Row",
    "Sensitivity",
    "SineSweep",
    "SineWithDwell",
    "SingleSine",
    "Slalom",
    "SlowRamp",
    "SpinInPlace",
    "SplitBraking",
    "SquarePath",
    "StepSteer",
    "StopFromSpeed",
    "StraightAndArc",
    "StraightBraking",
    "Subject",
    "Transition",
    "Tuning",
    "TurningCircle",
    "Weave",
    "adapted",
    "as_json",
    "chosen",
    "drive_of_log",
    "earlier",
    "junit_xml",
    "linear_car",
    "measured",
    "measured_reference",
    "names",
    "parsed_spread",
    "path_along",
    "perform",
    "perform_each",
    "sensitivity",
    "sobol",
    "spread_out",
    "tune",
    "write_json",
    "write_junit",
]

record.document_all()
