"""Write a ground vehicle once, as a pure Python function; run it bit-exact and fast.

The names below are loaded on first use, so `import skidpad` costs little: the compiler, the tracer
and plotting come in only with the first call that needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        collision,
        conformance,
        controllers,
        engine,
        errors,
        identify,
        integrate,
        maps,
        monte_carlo,
        ops,
        planning,
        plots,
        raycast,
        record,
        sensors,
        stage,
        uncertainty,
        units,
        vehicles,
        world,
    )
    from .additive import with_disturbance
    from .compile.program import Program
    from .cost import Cost
    from .engine import Engine
    from .errors import (
        InvalidValue,
        MissingExtra,
        SimulationDiverged,
        SkidpadError,
        StepNotConverged,
        TraceError,
        UnknownOperation,
    )
    from .fleet import Fleet
    from .linearisation import linearise
    from .maps import Map
    from .model import Model, Vehicle, VehicleFactory
    from .planning.simulator import PlanningSimulator
    from .policy import Policy
    from .simulation import Simulation
    from .simulator import Simulator
    from .trajectory import Trajectory, TrajectoryMode
    from .world.world import World

__version__ = "0.1.0"

__all__ = [
    "Cost",
    "Engine",
    "Fleet",
    "InvalidValue",
    "Map",
    "MissingExtra",
    "Model",
    "PlanningSimulator",
    "Policy",
    "Program",
    "Simulation",
    "SimulationDiverged",
    "Simulator",
    "SkidpadError",
    "StepNotConverged",
    "TraceError",
    "Trajectory",
    "TrajectoryMode",
    "UnknownOperation",
    "Vehicle",
    "VehicleFactory",
    "World",
    "__version__",
    "collision",
    "conformance",
    "controllers",
    "engine",
    "errors",
    "identify",
    "integrate",
    "linearise",
    "maps",
    "monte_carlo",
    "ops",
    "planning",
    "plots",
    "raycast",
    "record",
    "sensors",
    "stage",
    "uncertainty",
    "units",
    "vehicles",
    "with_disturbance",
    "world",
]

_MODULES = frozenset(
    {
        "collision",
        "conformance",
        "controllers",
        "engine",
        "errors",
        "identify",
        "integrate",
        "maps",
        "monte_carlo",
        "ops",
        "planning",
        "plots",
        "raycast",
        "record",
        "sensors",
        "stage",
        "uncertainty",
        "units",
        "vehicles",
        "world",
    }
)
_HOMES = {
    "Cost": "cost",
    "Engine": "engine",
    "Fleet": "fleet",
    "InvalidValue": "errors",
    "Map": "maps",
    "MissingExtra": "errors",
    "Model": "model",
    "PlanningSimulator": "planning.simulator",
    "Policy": "policy",
    "Program": "compile.program",
    "SimulationDiverged": "errors",
    "Simulator": "simulator",
    "SkidpadError": "errors",
    "StepNotConverged": "errors",
    "TraceError": "errors",
    "Trajectory": "trajectory",
    "UnknownOperation": "errors",
    "Vehicle": "model",
    "VehicleFactory": "model",
    "Simulation": "simulation",
    "TrajectoryMode": "trajectory",
    "with_disturbance": "additive",
    "linearise": "linearisation",
    "World": "world.world",
}
"""The module each lazily loaded name lives in."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
