"""Campaigns: many runs of an experiment, written down, resumable, on one machine or a cluster.

from skidpad.study import Campaign, Drive, Sobol, highest

drive = Drive(sp.vehicles.four_wheel(), duration=5.0, x0={"v_x": 20.0}, controls={"steer": 0.02},
              metrics={"slip": highest("abs(v_y)")})
study = Campaign(experiment=drive, factors={"m": {"range": [1300, 1700]}}, design=Sobol(4096)).run(
    "slippery")
print(study.quantile("slip", 0.95))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from ..random.factors import (
        Factor,
        Levels,
        LogRange,
        Normal,
        Range,
        Steps,
        factor_of,
        level_counts,
    )
    from ..run.monte_carlo_runs import (
        Probability,
        proportion,
    )
    from .campaign import (
        Campaign,
        Estimate,
    )
    from .design import (
        Choosing,
        Design,
        LatinHypercube,
        Random,
        Round,
        Saltelli,
        Sobol,
    )
    from .designs import (
        Converging,
        Grid,
        Table,
        design_of,
        table_of,
    )
    from .engines import (
        Chunk,
        Engine,
        Finished,
        InProcess,
        Processes,
        RayEngine,
        WorkersLost,
    )
    from .experiment import (
        Column,
        Experiment,
        Means,
        Rows,
    )
    from .folder import (
        Folder,
        Keep,
        NoCampaign,
        PlanChanged,
    )
    from .metrics import (
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
    from .plan_file import (
        campaign_of,
    )
    from .rare_events import (
        Refinement,
        SubsetSimulation,
    )
    from .results import (
        Case,
        Study,
    )
    from .rollouts import (
        Drive,
        LogDrive,
    )
    from .runs import (
        FunctionRuns,
        ManoeuvreRuns,
        TaskRuns,
    )
    from .statistics import (
        Interval,
        SobolIndices,
    )
    from .storage import (
        CampaignInUse,
    )
    from .tables import (
        DamagedPart,
        RunsDiffer,
        UnreadablePart,
    )
    from .worlds import (
        Controlled,
        WorldMetric,
        WorldRun,
        WorldRuns,
        collided,
        collision_time,
        final,
        measured,
        nearest,
        reached,
        time_to_reach,
        travelled,
    )


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

__getattr__ = lazy_attributes(
    __name__,
    {
        "..random.factors": (
            "Factor",
            "Levels",
            "LogRange",
            "Normal",
            "Range",
            "Steps",
            "factor_of",
            "level_counts",
        ),
        "..run.monte_carlo_runs": (
            "Probability",
            "proportion",
        ),
        ".campaign": (
            "Campaign",
            "Estimate",
        ),
        ".design": (
            "Choosing",
            "Design",
            "LatinHypercube",
            "Random",
            "Round",
            "Saltelli",
            "Sobol",
        ),
        ".designs": (
            "Converging",
            "Grid",
            "Table",
            "design_of",
            "table_of",
        ),
        ".engines": (
            "Chunk",
            "Engine",
            "Finished",
            "InProcess",
            "Processes",
            "RayEngine",
            "WorkersLost",
        ),
        ".experiment": (
            "Column",
            "Experiment",
            "Means",
            "Rows",
        ),
        ".folder": (
            "Folder",
            "Keep",
            "NoCampaign",
            "PlanChanged",
        ),
        ".metrics": (
            "Fold",
            "at",
            "first_time",
            "fold_of",
            "happened",
            "highest",
            "integral",
            "last",
            "lowest",
            "mean",
            "rms",
            "time_of_highest",
        ),
        ".plan_file": ("campaign_of",),
        ".rare_events": (
            "Refinement",
            "SubsetSimulation",
        ),
        ".results": (
            "Case",
            "Study",
        ),
        ".rollouts": (
            "Drive",
            "LogDrive",
        ),
        ".runs": (
            "FunctionRuns",
            "ManoeuvreRuns",
            "TaskRuns",
        ),
        ".statistics": (
            "Interval",
            "SobolIndices",
        ),
        ".storage": ("CampaignInUse",),
        ".tables": (
            "DamagedPart",
            "RunsDiffer",
            "UnreadablePart",
        ),
        ".worlds": (
            "Controlled",
            "WorldMetric",
            "WorldRun",
            "WorldRuns",
            "collided",
            "collision_time",
            "final",
            "measured",
            "nearest",
            "reached",
            "time_to_reach",
            "travelled",
        ),
    },
)
