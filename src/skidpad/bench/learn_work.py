"""The tasks of the groups `learn` and `learn_gpu`: races without a lidar and with one.

The car is `four_wheel`, a control period has 10 sub-steps of 1 ms, episodes end at the walls or
after a minute. Actions are random and prepared: to compute them is not what is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import AnyArray
from ..errors import InvalidValue
from ..geometry.maps.track import random_track
from ..learn import tasks
from ..learn.environments import Environments
from ..learn.saved_task import load_task, save_task
from .device import Device, on_host

ACTIONS = 64
"""Sets of actions, used one after the other, over and over."""
RAYS = {"frenet": 0, "lidar108": 108, "lidar1080": 1080}
"""What is measured, and the rays of its lidar."""


def task_of(name: str) -> Any:
    """The race without a lidar, on eight random tracks, or with one, on one of them."""
    rays = RAYS[name]
    return tasks.race(tracks=random_track(0), lidar=rays) if rays else tasks.race()


def save_tasks(folder: str | Path) -> None:
    """Write the tasks for a GPU's machine that has no CasADi: for `bench learn_gpu --plants`."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in RAYS:
        save_task(task_of(name), _file(Path(folder), name))


def task_source(plants: Path | None) -> Callable[[str], Any]:
    """What gives the task of a name: from files of `save_tasks`, or traced."""
    if plants is not None:
        return lambda name: load_task(_file(plants, name))
    if find_spec("casadi") is None:
        raise InvalidValue(
            "this group needs its tasks: install casadi, or name a folder with --plants that "
            "skidpad.bench.learn_work.save_tasks wrote"
        )
    return task_of


def _file(folder: Path, name: str) -> Path:
    return folder / f"race.{name}.task"


class Driven:
    """Environments that are driven by prepared actions, and how often they begin anew.

    Args:
        task: what is done.
        count: how many environments.
        device: where.
        warm_up: control periods before anything is measured, so that episodes end at any time.
        options: further ones of `Environments`.
    """

    def __init__(self, task: Any, count: int, device: Device, warm_up: int, **options: Any) -> None:
        self.task = task
        self.environments = Environments(
            task, count, autoreset="same_step", device=device.name, **options
        )
        rng = np.random.default_rng(3)
        drawn = rng.uniform(-1.0, 1.0, (ACTIONS, count, 2)).astype(np.float32)
        self._actions = [device.xp.asarray(one) for one in drawn]
        self._periods = 0
        self.environments.reset(seed=0)
        self.run(warm_up)

    def run(self, periods: int) -> Any:
        """Drive so many control periods; returns what the last one brought."""
        stepped = None
        for _ in range(periods):
            stepped = self.environments.step(self._actions[self._periods % ACTIONS])
            self._periods += 1
        return stepped

    def restarts(self, periods: int) -> float:
        """Share of the environments that begin anew in a control period."""
        count, begun = len(self.environments), 0
        for _ in range(periods):
            ended: AnyArray = on_host(self.run(1).ended)
            begun += int(ended.sum()) if ended.dtype == np.bool_ else len(ended)
        return begun / (periods * count)

    def details(self, periods: int) -> dict[str, Any]:
        """What a reader may want to know."""
        share = self.restarts(periods)
        return {
            "environments": len(self.environments),
            "substeps": self.task.substeps,
            "dt": self.task.dt,
            "tracks": len(self.task.tracks),
            "walls": max(len(track.walls) for track in self.task.tracks),
            "rays": self.task.lidar.rays if self.task.lidar else 0,
            "restarts": share,
            "mean_episode": 1.0 / share if share else None,
        }
