"""Write a ground vehicle once, as a pure Python function; run it bit-exact and fast.

The names below are loaded on first use, so `import skidpad` costs little: the compiler, the tracer
and plotting come in only with the first call that needs them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import gymnasium_ids

if TYPE_CHECKING:
    from . import (
        body,
        campaigns,
        conformance,
        controllers,
        errors,
        export,
        identify,
        integrate,
        manoeuvres,
        networks,
        ops,
        plots,
        record,
        road,
        stage,
        tyres,
        units,
        vehicles,
        world,
    )
    from . import sensing as sensors
    from .body import (
        Acceleration,
        Body,
        Geometry,
        Limits,
        Pose,
        Trailer,
        Velocity,
        Wheel,
        Wish,
    )
    from .campaigns.campaign import Campaign
    from .compat import autoware as planning
    from .compat import truck as engine
    from .compat.autoware.simulator import PlanningSimulator
    from .compat.commonroad import Simulation
    from .compat.truck import Engine
    from .compile.program import Program
    from .components.additive_disturbance import with_disturbance
    from .cost import Cost
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
    from .model import Model, Vehicle, VehicleFactory
    from .plane import collision, maps, raycast
    from .plane.maps import Map
    from .policy import Policy
    from .road.road import Road
    from .run import monte_carlo
    from .run.fleet import Fleet
    from .run.linearisation import linearise
    from .run.simulator import Simulator
    from .sensing import uncertainty
    from .trajectory import Trajectory, TrajectoryMode
    from .world.world import World

__version__ = "0.1.0"

__all__ = [
    "Acceleration",
    "Body",
    "Campaign",
    "Cost",
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
    "Wish",
    "World",
    "__version__",
    "body",
    "campaigns",
    "collision",
    "conformance",
    "controllers",
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
    "tyres",
    "uncertainty",
    "units",
    "vehicles",
    "with_disturbance",
    "world",
]

_MODULES = {
    "body": "body",
    "campaigns": "campaigns",
    "collision": "plane.collision",
    "conformance": "conformance",
    "controllers": "controllers",
    "engine": "compat.truck",
    "errors": "errors",
    "export": "export",
    "identify": "identify",
    "integrate": "integrate",
    "manoeuvres": "manoeuvres",
    "maps": "plane.maps",
    "monte_carlo": "run.monte_carlo",
    "networks": "networks",
    "ops": "ops",
    "planning": "compat.autoware",
    "plots": "plots",
    "raycast": "plane.raycast",
    "record": "record",
    "road": "road",
    "sensors": "sensing",
    "stage": "stage",
    "tyres": "tyres",
    "uncertainty": "sensing.uncertainty",
    "units": "units",
    "vehicles": "vehicles",
    "world": "world",
}
"""Parts of the package under the names that users know, and where they lie."""
_HOMES = {
    "Acceleration": "body",
    "Body": "body",
    "Campaign": "campaigns.campaign",
    "Cost": "cost",
    "Engine": "compat.truck",
    "Fleet": "run.fleet",
    "Geometry": "body",
    "InvalidValue": "errors",
    "Limits": "body",
    "Map": "plane.maps",
    "MissingExtra": "errors",
    "MissingFile": "errors",
    "Model": "model",
    "PlanningSimulator": "compat.autoware",
    "Policy": "policy",
    "Pose": "body",
    "Program": "compile.program",
    "Road": "road.road",
    "Simulation": "compat.commonroad",
    "SimulationDiverged": "errors",
    "Simulator": "run.simulator",
    "SimulatorInUse": "errors",
    "SkidpadError": "errors",
    "StepNotConverged": "errors",
    "TraceError": "errors",
    "Trailer": "body",
    "Trajectory": "trajectory",
    "TrajectoryMode": "trajectory",
    "UnknownOperation": "errors",
    "Vehicle": "model",
    "VehicleFactory": "model",
    "Velocity": "body",
    "Wheel": "body",
    "Wish": "body",
    "World": "world.world",
    "linearise": "run.linearisation",
    "with_disturbance": "components.additive_disturbance",
}
"""The module each lazily loaded name lives in."""


if "gymnasium" in sys.modules:
    gymnasium_ids.register()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
