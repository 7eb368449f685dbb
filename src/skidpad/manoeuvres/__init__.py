"""The proving ground: standard manoeuvres of any vehicle, what they measure, and the report.

from skidpad.manoeuvres import StepSteer, Subject, perform

result, = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
print(result["yaw_rate_rise_time"])
Evaluation([result]).to_html("report.html")
"""

from __future__ import annotations

from .case import Case
from .case_run import CaseRun
from .catalogue import STANDARD, chosen, names
from .document import as_json, earlier, junit_xml, write_json, write_junit
from .evaluation import Evaluation, Reference, Row
from .kernels import Kernels
from .limits import Limit, Limits
from .measured import drive_of_log, measured, measured_reference
from .metric import Chart, Curve, Findings, Metric
from .path import Path, path_along
from .proving_ground import Manoeuvre, Performing, Result, perform
from .spread import parsed_spread, spread_out
from .steady_circle import ConstantRadius, ConstantSpeed, ConstantSteer
from .step_steer import StepSteer
from .subject import Subject
from .theory import Bicycle, LinearCar, linear_car

__all__ = [
    "STANDARD",
    "Bicycle",
    "Case",
    "CaseRun",
    "Chart",
    "ConstantRadius",
    "ConstantSpeed",
    "ConstantSteer",
    "Curve",
    "Evaluation",
    "Findings",
    "Kernels",
    "Limit",
    "Limits",
    "LinearCar",
    "Manoeuvre",
    "Metric",
    "Path",
    "Performing",
    "Reference",
    "Result",
    "Row",
    "StepSteer",
    "Subject",
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
    "spread_out",
    "write_json",
    "write_junit",
]
