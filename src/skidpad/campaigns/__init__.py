"""Campaigns: many runs of an experiment, written down, resumable, on one machine or a cluster.

from skidpad.campaigns import Campaign, Drive, Sobol, highest

drive = Drive(sp.vehicles.four_wheel(), duration=5.0, x0={"v_x": 20.0}, controls={"steer": 0.02},
              metrics={"slip": highest("abs(v_y)")})
study = Campaign(experiment=drive, factors={"m": {"range": [1300, 1700]}}, design=Sobol(4096)).run(
    "slippery")
print(study.quantile("slip", 0.95))
"""

from __future__ import annotations

from ..random.factors import Factor, Levels, LogRange, Normal, Range, Steps, factor_of, level_counts
from ..run.monte_carlo.intervals import Probability, proportion
from .answers import Interval
from .campaign import Campaign, Estimate
from .converging import Converging
from .design import Choosing, Design, Round
from .designs import design_of
from .drive import Drive
from .engine import Chunk, Engine, Finished
from .experiment import Column, Experiment, Means, Rows
from .folder import Folder, NoCampaign
from .folds import (
    Fold,
    at,
    first_time,
    fold_of,
    happened,
    highest,
    integral,
    last,
    lowest,
    mean,
    rms,
    time_of_highest,
)
from .function_runs import FunctionRuns
from .indices import SobolIndices
from .keep import Keep
from .listed import Grid, Table, table_of
from .local import InProcess
from .locks import CampaignInUse
from .log_drive import LogDrive
from .manoeuvre_runs import ManoeuvreRuns
from .parts import UnreadablePart
from .plan_changes import PlanChanged
from .plan_file import campaign_of
from .processes import Processes, WorkersLost
from .rare import SubsetSimulation
from .ray_engine import RayEngine
from .refinement import Refinement
from .run_table import DamagedPart, RunsDiffer
from .sampling import LatinHypercube, Random, Saltelli, Sobol
from .study import Case, Study
from .task_runs import TaskRuns
from .world_driving import Controlled
from .world_metrics import (
    WorldMetric,
    WorldRun,
    collided,
    collision_time,
    final,
    measured,
    nearest,
    reached,
    time_to_reach,
    travelled,
)
from .world_runs import WorldRuns

__all__ = [
    "Campaign",
    "CampaignInUse",
    "Case",
    "Choosing",
    "Chunk",
    "Column",
    "Controlled",
    "Converging",
    "DamagedPart",
    "Design",
    "Drive",
    "Engine",
    "Estimate",
    "Experiment",
    "Factor",
    "Finished",
    "Fold",
    "Folder",
    "FunctionRuns",
    "Grid",
    "InProcess",
    "Interval",
    "Keep",
    "LatinHypercube",
    "Levels",
    "LogDrive",
    "LogRange",
    "ManoeuvreRuns",
    "Means",
    "NoCampaign",
    "Normal",
    "PlanChanged",
    "Probability",
    "Processes",
    "Random",
    "Range",
    "RayEngine",
    "Refinement",
    "Round",
    "Rows",
    "RunsDiffer",
    "Saltelli",
    "Sobol",
    "SobolIndices",
    "Steps",
    "Study",
    "SubsetSimulation",
    "Table",
    "TaskRuns",
    "UnreadablePart",
    "WorkersLost",
    "WorldMetric",
    "WorldRun",
    "WorldRuns",
    "at",
    "campaign_of",
    "collided",
    "collision_time",
    "design_of",
    "factor_of",
    "final",
    "first_time",
    "fold_of",
    "happened",
    "highest",
    "integral",
    "last",
    "level_counts",
    "lowest",
    "mean",
    "measured",
    "nearest",
    "proportion",
    "reached",
    "rms",
    "table_of",
    "time_of_highest",
    "time_to_reach",
    "travelled",
]
