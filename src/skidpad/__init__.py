"""Write a ground vehicle once, as a pure Python function; run it bit-exact and fast.

The names below are loaded on first use, so `import skidpad` costs little: the compiler, the tracer
and plotting come in only with the first call that needs them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import (
        control,
        errors,
        export,
        integrate,
        ops,
        road,
        sensors,
        study,
        testing,
        tyres,
        units,
        vehicles,
        world,
    )
    from .compat import autoware as planning
    from .compat import truck as engine
    from .compat.autoware.simulator import PlanningSimulator
    from .compat.commonroad.simulation import Simulation
    from .compat.truck.engine import Engine
    from .compile.program import Program
    from .control import networks
    from .core import body, record
    from .core.body import (
        Acceleration,
        Body,
        Demand,
        Geometry,
        Limits,
        Pose,
        Trailer,
        Velocity,
        Wheel,
    )
    from .core.model import Model, Vehicle, VehicleFactory
    from .core.policy import Cost, Policy
    from .errors import (
        InvalidValue,
        MissingExtra,
        MissingFile,
        SimulationDiverged,
        SimulatorInUse,
        SkidpadError,
        StepNotConverged,
        TraceError,
        UnknownOperation,
    )
    from .geometry import collision, maps, raycast
    from .geometry.maps.map import Map
    from .road.road import Road
    from .run import monte_carlo
    from .run.fleet import Fleet
    from .run.linearisation import linearise
    from .run.simulator import Simulator
    from .run.trajectory import Trajectory
    from .run.trajectory_table import TrajectoryMode
    from .sensors import uncertainty
    from .study import identify, manoeuvres
    from .study.campaign import Campaign
    from .vehicles.parts.disturbance import with_disturbance
    from .view import plots, stage
    from .world.world import World

__version__ = "0.1.0"

__all__ = [
    "Acceleration",
    "Body",
    "Campaign",
    "Cost",
    "Demand",
    "Engine",
    "Fleet",
    "Geometry",
    "InvalidValue",
    "Limits",
    "Map",
    "MissingExtra",
    "MissingFile",
    "Model",
    "PlanningSimulator",
    "Policy",
    "Pose",
    "Program",
    "Road",
    "Simulation",
    "SimulationDiverged",
    "Simulator",
    "SimulatorInUse",
    "SkidpadError",
    "StepNotConverged",
    "TraceError",
    "Trailer",
    "Trajectory",
    "TrajectoryMode",
    "UnknownOperation",
    "Vehicle",
    "VehicleFactory",
    "Velocity",
    "Wheel",
    "World",
    "__version__",
    "body",
    "collision",
    "control",
    "engine",
    "errors",
    "export",
    "identify",
    "integrate",
    "linearise",
    "manoeuvres",
    "maps",
    "monte_carlo",
    "networks",
    "ops",
    "planning",
    "plots",
    "raycast",
    "record",
    "road",
    "sensors",
    "stage",
    "study",
    "testing",
    "tyres",
    "uncertainty",
    "units",
    "vehicles",
    "with_disturbance",
    "world",
]

if "gymnasium" in sys.modules:
    from .learn import registration

    registration.register()


__getattr__ = lazy_attributes(
    __name__,
    {
        ".compat.autoware.simulator": ("PlanningSimulator",),
        ".compat.commonroad.simulation": ("Simulation",),
        ".compat.truck.engine": ("Engine",),
        ".compile.program": ("Program",),
        ".core.body": (
            "Acceleration",
            "Body",
            "Geometry",
            "Limits",
            "Pose",
            "Trailer",
            "Velocity",
            "Wheel",
            "Demand",
        ),
        ".core.model": (
            "Model",
            "Vehicle",
            "VehicleFactory",
        ),
        ".core.policy": (
            "Cost",
            "Policy",
        ),
        ".errors": (
            "InvalidValue",
            "MissingExtra",
            "MissingFile",
            "SimulationDiverged",
            "SimulatorInUse",
            "SkidpadError",
            "StepNotConverged",
            "TraceError",
            "UnknownOperation",
        ),
        ".geometry.maps.map": ("Map",),
        ".road.road": ("Road",),
        ".run.fleet": ("Fleet",),
        ".run.linearisation": ("linearise",),
        ".run.simulator": ("Simulator",),
        ".run.trajectory": ("Trajectory",),
        ".run.trajectory_table": ("TrajectoryMode",),
        ".study.campaign": ("Campaign",),
        ".vehicles.parts.disturbance": ("with_disturbance",),
        ".world.world": ("World",),
    },
    modules={
        "body": ".core.body",
        "collision": ".geometry.collision",
        "control": ".control",
        "engine": ".compat.truck",
        "errors": ".errors",
        "export": ".export",
        "identify": ".study.identify",
        "integrate": ".integrate",
        "manoeuvres": ".study.manoeuvres",
        "maps": ".geometry.maps",
        "monte_carlo": ".run.monte_carlo",
        "networks": ".control.networks",
        "ops": ".ops",
        "planning": ".compat.autoware",
        "plots": ".view.plots",
        "raycast": ".geometry.raycast",
        "record": ".core.record",
        "road": ".road",
        "sensors": ".sensors",
        "stage": ".view.stage",
        "study": ".study",
        "testing": ".testing",
        "tyres": ".tyres",
        "uncertainty": ".sensors.uncertainty",
        "units": ".units",
        "vehicles": ".vehicles",
        "world": ".world",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
