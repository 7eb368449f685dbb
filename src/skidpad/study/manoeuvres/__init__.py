"""Proving ground: standard manoeuvres for any vehicle, their metrics, and the report.

    from skidpad.study.manoeuvres import Evaluation, StepSteer, Subject, perform

    results = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
    print(results[0]["yaw_rate_rise_time"])
    Evaluation(results).to_html("report.html")

`STANDARD` holds all manoeuvres with their default settings; each is defined in a module named
after its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import record
from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .case import Case
    from .cone_courses import Slalom
    from .evaluation import Evaluation, Limits, write_json
    from .events import FormulaAcceleration, FormulaSkidpad
    from .kernels import Kernels
    from .logs import adapt, drive_of_log, measured_reference
    from .longitudinal import Acceleration
    from .manoeuvre import Chart, Curve, Findings, Manoeuvre, Metric, Performing
    from .proving_ground import STANDARD, Result, names, perform, select
    from .sensitivities import sensitivity, sobol, spread_out
    from .steady_state import ConstantSpeed, SlowRamp
    from .subject import Subject
    from .transient_response import StepSteer
    from .tuning import tune

__all__ = [
    "STANDARD",
    "Acceleration",
    "Case",
    "Chart",
    "ConstantSpeed",
    "Curve",
    "Evaluation",
    "Findings",
    "FormulaAcceleration",
    "FormulaSkidpad",
    "Kernels",
    "Limits",
    "Manoeuvre",
    "Metric",
    "Performing",
    "Result",
    "Slalom",
    "SlowRamp",
    "StepSteer",
    "Subject",
    "adapt",
    "drive_of_log",
    "measured_reference",
    "names",
    "perform",
    "select",
    "sensitivity",
    "sobol",
    "spread_out",
    "tune",
    "write_json",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".case": ("Case",),
        ".cone_courses": ("Slalom",),
        ".evaluation": ("Evaluation", "Limits", "write_json"),
        ".events": ("FormulaAcceleration", "FormulaSkidpad"),
        ".kernels": ("Kernels",),
        ".logs": ("adapt", "drive_of_log", "measured_reference"),
        ".longitudinal": ("Acceleration",),
        ".manoeuvre": ("Chart", "Curve", "Findings", "Manoeuvre", "Metric", "Performing"),
        ".proving_ground": ("STANDARD", "Result", "names", "perform", "select"),
        ".sensitivities": ("sensitivity", "sobol", "spread_out"),
        ".steady_state": ("ConstantSpeed", "SlowRamp"),
        ".transient_response": ("StepSteer",),
        ".subject": ("Subject",),
        ".tuning": ("tune",),
    },
)

record.document_all()
