"""Write a ground vehicle once, as a pure Python function; simulate it fast and bit-exactly.

The names below are loaded on first use, so `import skidpad` is quick: the compiler, the tracer and
plotting are imported by the first call that needs them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import (
        compat,
        control,
        core,
        export,
        geometry,
        integrate,
        learn,
        ops,
        random,
        road,
        ros2,
        run,
        sensors,
        study,
        testing,
        tyres,
        units,
        vehicles,
        view,
        world,
    )
    from .compat.autoware.simulator import PlanningSimulator
    from .compat.commonroad.simulation import Simulation
    from .compat.truck.engine import Engine
    from .compile.program import Program
    from .core.body import Body, Demand, Geometry, Limits, Pose, Trailer, Velocity, Wheel
    from .core.model import Model, Vehicle, VehicleFactory
    from .core.policy import Cost, Policy
    from .errors import (
        ImplausibleParameter,
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
    from .geometry.maps.map import Map
    from .road.road import Road
    from .run.fleet import Fleet
    from .run.linearisation import linearise
    from .run.simulator import Simulator
    from .run.trajectory import Trajectory
    from .study.campaign import Campaign
    from .vehicles.parts.assembly import with_disturbance
    from .world.world import World

__version__ = "0.1.0"

__all__ = ["Body", "Campaign", "Cost", "Demand", "Engine", "Fleet", "Geometry"]
__all__ += ["ImplausibleParameter", "InvalidValue", "Limits", "Map", "MissingExtra", "MissingFile"]
__all__ += ["Model", "PlanningSimulator", "Policy", "Pose", "Program", "Road", "Simulation"]
__all__ += ["SimulationDiverged", "Simulator", "SimulatorInUse", "SkidpadError", "StepNotConverged"]
__all__ += ["TraceError", "Trailer", "Trajectory", "UnknownOperation", "Vehicle", "VehicleFactory"]
__all__ += ["Velocity", "Wheel", "World", "__version__", "compat", "control", "core", "export"]
__all__ += ["geometry", "integrate", "learn", "linearise", "ops", "random", "road", "ros2", "run"]
__all__ += ["sensors", "study", "testing", "tyres", "units", "vehicles", "view", "with_disturbance"]
__all__ += ["world"]

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
            *("Body", "Demand", "Geometry", "Limits"),
            *("Pose", "Trailer", "Velocity", "Wheel"),
        ),
        ".core.model": ("Model", "Vehicle", "VehicleFactory"),
        ".core.policy": ("Cost", "Policy"),
        ".errors": (
            *("ImplausibleParameter", "InvalidValue", "MissingExtra", "MissingFile"),
            *("SimulationDiverged", "SimulatorInUse", "SkidpadError", "StepNotConverged"),
            *("TraceError", "UnknownOperation"),
        ),
        ".geometry.maps.map": ("Map",),
        ".road.road": ("Road",),
        ".run.fleet": ("Fleet",),
        ".run.linearisation": ("linearise",),
        ".run.simulator": ("Simulator",),
        ".run.trajectory": ("Trajectory",),
        ".study.campaign": ("Campaign",),
        ".vehicles.parts.assembly": ("with_disturbance",),
        ".world.world": ("World",),
    },
    modules={
        name: f".{name}"
        for name in __all__
        if name.islower() and name not in ("__version__", "linearise", "with_disturbance")
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
