"""The proving ground: standard manoeuvres of any vehicle, what they measure, and the report.

from skidpad.study.manoeuvres import StepSteer, Subject, perform

result, = perform([StepSteer(speed=25.0)], [Subject(sp.vehicles.two_track())])
print(result["yaw_rate_rise_time"])
Evaluation([result]).to_html("report.html")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .autocross import (
        Autocross,
    )
    from .braking import (
        BrakingInTurn,
        SplitBraking,
        StraightBraking,
    )
    from .case import (
        Case,
        Path,
        path_along,
    )
    from .case_run import (
        CaseRun,
    )
    from .catalogue import (
        STANDARD,
        chosen,
        names,
    )
    from .command_response import (
        CommandSteps,
        StopFromSpeed,
    )
    from .cone_courses import (
        DoubleLaneChange,
        LongSlalom,
        ObstacleAvoidance,
        Slalom,
    )
    from .evaluation import (
        Evaluation,
        Limit,
        Limits,
        Reference,
        Row,
        as_json,
        earlier,
        junit_xml,
        write_json,
        write_junit,
    )
    from .events import (
        FormulaAcceleration,
        FormulaSkidpad,
    )
    from .frequency_response import (
        RandomSteer,
        SineSweep,
    )
    from .hill import (
        HillHold,
        HillStart,
    )
    from .kernels import (
        Kernels,
    )
    from .logs import (
        adapted,
        drive_of_log,
        measured,
        measured_reference,
    )
    from .longitudinal import (
        Acceleration,
        CoastDown,
        TurningCircle,
    )
    from .metric import (
        Chart,
        Curve,
        Findings,
        Metric,
    )
    from .on_centre import (
        Transition,
        Weave,
    )
    from .proving_ground import (
        Manoeuvre,
        Performing,
        Result,
        perform,
        perform_each,
    )
    from .ride import (
        Bump,
        RoughRoad,
    )
    from .robots import (
        SpinInPlace,
        SquarePath,
        StraightAndArc,
    )
    from .sensitivities import (
        Indices,
        Sensitivity,
        parsed_spread,
        sensitivity,
        sobol,
        spread_out,
    )
    from .sine_with_dwell import (
        SineWithDwell,
    )
    from .single_sine import (
        SingleSine,
    )
    from .steady_state import (
        ConstantRadius,
        ConstantSpeed,
        ConstantSteer,
        SlowRamp,
    )
    from .step_steer import (
        StepSteer,
    )
    from .subject import (
        Subject,
    )
    from .theory import (
        Bicycle,
        LinearCar,
        linear_car,
    )
    from .tuning import (
        Optimised,
        Reached,
        Tuning,
        tune,
    )

from ...core import record

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

__getattr__ = lazy_attributes(
    __name__,
    {
        ".autocross": ("Autocross",),
        ".braking": (
            "BrakingInTurn",
            "SplitBraking",
            "StraightBraking",
        ),
        ".case": (
            "Case",
            "Path",
            "path_along",
        ),
        ".case_run": ("CaseRun",),
        ".catalogue": (
            "STANDARD",
            "chosen",
            "names",
        ),
        ".command_response": (
            "CommandSteps",
            "StopFromSpeed",
        ),
        ".cone_courses": (
            "DoubleLaneChange",
            "LongSlalom",
            "ObstacleAvoidance",
            "Slalom",
        ),
        ".evaluation": (
            "Evaluation",
            "Limit",
            "Limits",
            "Reference",
            "Row",
            "as_json",
            "earlier",
            "junit_xml",
            "write_json",
            "write_junit",
        ),
        ".events": (
            "FormulaAcceleration",
            "FormulaSkidpad",
        ),
        ".frequency_response": (
            "RandomSteer",
            "SineSweep",
        ),
        ".hill": (
            "HillHold",
            "HillStart",
        ),
        ".kernels": ("Kernels",),
        ".logs": (
            "adapted",
            "drive_of_log",
            "measured",
            "measured_reference",
        ),
        ".longitudinal": (
            "Acceleration",
            "CoastDown",
            "TurningCircle",
        ),
        ".metric": (
            "Chart",
            "Curve",
            "Findings",
            "Metric",
        ),
        ".on_centre": (
            "Transition",
            "Weave",
        ),
        ".proving_ground": (
            "Manoeuvre",
            "Performing",
            "Result",
            "perform",
            "perform_each",
        ),
        ".ride": (
            "Bump",
            "RoughRoad",
        ),
        ".robots": (
            "SpinInPlace",
            "SquarePath",
            "StraightAndArc",
        ),
        ".sensitivities": (
            "Indices",
            "Sensitivity",
            "parsed_spread",
            "sensitivity",
            "sobol",
            "spread_out",
        ),
        ".sine_with_dwell": ("SineWithDwell",),
        ".single_sine": ("SingleSine",),
        ".steady_state": (
            "ConstantRadius",
            "ConstantSpeed",
            "ConstantSteer",
            "SlowRamp",
        ),
        ".step_steer": ("StepSteer",),
        ".subject": ("Subject",),
        ".theory": (
            "Bicycle",
            "LinearCar",
            "linear_car",
        ),
        ".tuning": (
            "Optimised",
            "Reached",
            "Tuning",
            "tune",
        ),
    },
)

record.document_all()
