"""The race of the examples that learn: tracks to train on, and others to be judged on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import skidpad as sp
from skidpad.learn import Task, load_task, tasks
from skidpad.learn.saved_task import SavedTask

TRAINING = range(64)
"""Seeds of the tracks that it learns on."""
UNSEEN = range(1000, 1016)
"""Seeds of the tracks that it is judged on."""
PERIOD, SUBSTEPS = 0.05, 20
"""Of the driver in s, and steps of the integrator in it."""
AHEAD = tuple(3.0 * k for k in range(1, 17))
"""Distances in m at which the curvature of the track is seen: as far as it takes to brake, and so
close that no bend lies between two of them."""
CRASH = 20.0
"""What touching a wall costs; a metre of progress is worth 1. Who pays less drives faster and
finishes fewer laps."""
NARROW, WIDE = 3.0, 3.5
"""Widths in m of the tracks of the training and of the others: who has trained on narrow ones keeps
a distance from the walls."""
LAPS = 64
"""Drives of a judgement: each begins somewhere on one of the unseen tracks."""
EPISODE, SLOWEST = 30.0, 60.0
"""Longest time of an episode of the training, and of a lap that counts, in s."""
AnyTask = Task | SavedTask


def race(seeds: Sequence[int], *, width: float, standing: bool, duration: float) -> Task:
    """The task on random tracks of a width in m, from standing or flying starts."""
    speed = 0.0 if standing else {"range": [0.0, 12.0]}
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.3, 0.3]}, "v": speed}
    tracks = [sp.geometry.maps.random_track(seed, width=width) for seed in seeds]
    return tasks.race(
        tracks=tracks, draws=draws, crash=CRASH, patience=2.0, ahead=AHEAD, dt=PERIOD,
        substeps=SUBSTEPS, duration=duration,
    )  # fmt: skip


def made_tasks(width: float = NARROW) -> dict[str, AnyTask]:
    """What is trained on, with tracks of a width in m, and what is judged on."""
    return {
        "training": race(TRAINING, width=width, standing=False, duration=EPISODE),
        "unseen": race(UNSEEN, width=WIDE, standing=True, duration=SLOWEST),
    }


def read_tasks(folder: Path) -> dict[str, AnyTask]:
    """The same from files."""
    return {name: load_task(folder / f"{name}.task") for name in ("training", "unseen")}
