"""Campaigns: many runs of an experiment, stored in a folder and resumable, on one or more machines.

from skidpad.study import Campaign, Drive, Sobol, metrics

drive = Drive(sp.vehicles.four_wheel(), duration=5.0, x0={"v_x": 20.0}, controls={"steer": 0.02},
              metrics={"slip": metrics.highest("abs(v_y)")})
study = Campaign(experiment=drive, factors={"m": {"range": [1300, 1700]}}, design=Sobol(4096)).run(
    "slippery")
print(study.quantile("slip", 0.95))

`metrics` has the metrics of drives; `worlds` has the metrics of worlds and the controllers of their
vehicles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from ..random.factors import Range
    from . import metrics, worlds
    from .adaptive import Converging, Refinement, SubsetSimulation
    from .campaign import Campaign
    from .designs import Grid, LatinHypercube, Random, Saltelli, Sobol
    from .engines import InProcess, WorkersLost
    from .experiment import Column, Resources, Rows
    from .folder import Keep, PlanChanged
    from .named_code import vehicle_by_text
    from .plan_file import campaign_of
    from .results import Study
    from .rollouts import Drive, LogDrive
    from .runs import FunctionRuns, ManoeuvreRuns, TaskRuns
    from .storage import CampaignInUse
    from .tables import DamagedPart
    from .worlds import WorldRuns

__all__ = [
    "Campaign",
    "CampaignInUse",
    "Column",
    "Converging",
    "DamagedPart",
    "Drive",
    "FunctionRuns",
    "Grid",
    "InProcess",
    "Keep",
    "LatinHypercube",
    "LogDrive",
    "ManoeuvreRuns",
    "PlanChanged",
    "Random",
    "Range",
    "Refinement",
    "Resources",
    "Rows",
    "Saltelli",
    "Sobol",
    "Study",
    "SubsetSimulation",
    "TaskRuns",
    "WorkersLost",
    "WorldRuns",
    "campaign_of",
    "metrics",
    "vehicle_by_text",
    "worlds",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "..random.factors": ("Range",),
        ".campaign": ("Campaign",),
        ".adaptive": ("Converging", "Refinement", "SubsetSimulation"),
        ".designs": ("Grid", "LatinHypercube", "Random", "Saltelli", "Sobol"),
        ".engines": ("InProcess", "WorkersLost"),
        ".experiment": ("Column", "Resources", "Rows"),
        ".folder": ("Keep", "PlanChanged"),
        ".plan_file": ("campaign_of",),
        ".results": ("Study",),
        ".rollouts": ("Drive", "LogDrive"),
        ".runs": ("FunctionRuns", "ManoeuvreRuns", "TaskRuns"),
        ".storage": ("CampaignInUse",),
        ".tables": ("DamagedPart",),
        ".named_code": ("vehicle_by_text",),
        ".worlds": ("WorldRuns",),
    },
    modules={name: f".{name}" for name in ("identify", "logs", "manoeuvres", "metrics", "worlds")},
)
