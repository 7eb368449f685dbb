"""The groups `learn` and `learn_gpu`: environment steps per second of a race, and the first step.

A step is a control period of one environment: 10 substeps of 1 ms of `four_wheel`, lidar scan,
contacts, reward, observation and, after an episode ends, its restart; in float32, on two threads of
the CPU. Episodes end at the walls or after a minute. Actions are random and generated in advance.
The peer does the work of f1tenth_gym in a period, compiled completely; see `MarchedRace`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..errors import InvalidValue, MissingExtra
from ..geometry.maps.track import random_track
from ..learn import tasks
from ..learn.environments import Environments
from ..learn.saved_task import load_task, save_task
from .core import first_call
from .peers import MarchedRace
from .timing import (
    RATE,
    TIME,
    Budget,
    Entry,
    best_rate,
    cold_and_cached,
    interleaved,
    seconds,
    typical,
)
from .work import Device, on_host

THREADS = 2
"""Number of threads for many environments, and for the peer."""


class Sizes(NamedTuple):
    """Sizes of the measurements; entries are defined by the numbers of environments."""

    frenet: int = 4096
    few_rays: int = 4096
    many_rays: int = 1024
    warm_up: int = 400
    """Control periods before a measurement, over which restarts are counted too."""
    periods: int = 40
    peer: int = 32
    """Number of environments in the peer's timed run, which does not affect its rate."""
    single: int = 2000


SIZES = Sizes()


def entries(budget: Budget) -> Iterator[Entry]:
    """Measure many environments, one environment and the first step, also on a GPU if there is
    one."""
    sizes = SIZES
    yield _many("race.frenet", "frenet", sizes.frenet, sizes, budget)
    yield _many("race.lidar108", "lidar108", sizes.few_rays, sizes, budget)
    count = sizes.many_rays
    driven = Driven(task_of("lidar1080"), count, Device.of("cpu"), sizes.warm_up, threads=THREADS)
    marched = MarchedRace(driven.task, sizes.peer)
    marched.step(THREADS)
    actions = [partial(driven.run, sizes.periods), partial(marched.step, THREADS)]
    own_times, peer_times = interleaved(actions, 2 * budget.repeats)
    own = best_rate(count * sizes.periods, own_times)
    peer = best_rate(sizes.peer, peer_times)._replace(error=marched.error())
    details = {
        "threads": THREADS, **driven.details(sizes.warm_up), "peer_cells": marched.cells,
        "peer_resolution": marched.resolution, "peer_mean_steps": marched.mean_marches(),
    }  # fmt: skip
    yield Entry(
        f"race.lidar1080.envs{count}", RATE, own, {"march": peer}, _not_installed(), details
    )
    yield _single(sizes)
    yield from _first(budget)
    try:
        device = Device.of("cuda")
    except MissingExtra:
        return
    yield from measure_on(device, task_of, GPU_SIZES, budget)


def _many(name: str, task: str, count: int, sizes: Sizes, budget: Budget) -> Entry:
    driven = Driven(task_of(task), count, Device.of("cpu"), sizes.warm_up, threads=THREADS)
    (times,) = interleaved([partial(driven.run, sizes.periods)], 2 * budget.repeats)
    own = best_rate(count * sizes.periods, times)
    details = {"threads": THREADS, **driven.details(sizes.warm_up)}
    return Entry(f"{name}.envs{count}", RATE, own, {}, {}, details)


def _not_installed() -> dict[str, str]:
    """Entry for f1tenth_gym with the reason why its method is measured instead."""
    if find_spec("f110_gym") is None:
        return {"f1tenth_gym": "not installed"}
    return {"f1tenth_gym": "its technique is measured, compiled"}


def _single(sizes: Sizes) -> Entry:
    """Median time of a step of one environment from Python, without restarts."""
    task = task_of("lidar1080")
    step, reset = _one_environment(task)
    reset()
    rng = np.random.default_rng(4)
    times: list[float] = []
    for action in rng.uniform(-1.0, 1.0, (sizes.single, 2)).astype(np.float32):
        over: list[bool] = []

        def one(action: Any = action, over: list[bool] = over) -> None:
            over.append(step(action))

        times.append(seconds(one))
        if over[0]:
            reset()
    marched = MarchedRace(task, 1)
    marched.step(1)
    (peer,) = interleaved([partial(marched.step, 1)], max(sizes.single // 20, 3))
    details = {"rays": 1080, "walls": len(task.tracks[0].walls), "substeps": task.substeps}
    return Entry(
        "race.single", TIME, typical(times), {"march": typical(peer)}, _not_installed(), details
    )


def _one_environment(task: Any) -> tuple[Callable[[Any], bool], Callable[[], object]]:
    """Functions `step`, which returns whether the episode has ended, and `reset`; through Gymnasium
    if installed."""
    if find_spec("gymnasium") is not None:
        from ..learn.gymnasium_envs import SkidpadEnv

        env = SkidpadEnv(task)

        def step(action: Any) -> bool:
            _, _, terminated, truncated, _ = env.step(action)
            return terminated or truncated

        return step, partial(env.reset, seed=0)
    alone = Environments(task, 1, autoreset="disabled", threads=1)

    def plain_step(action: Any) -> bool:
        stepped = alone.step(action[None])
        return bool(stepped.terminated[0] or stepped.truncated[0])

    return plain_step, partial(alone.reset, seed=0)


def _first(budget: Budget) -> Iterator[Entry]:
    """Median times of the first `make_vec` and step in a fresh process, without imports."""
    if find_spec("gymnasium") is None:
        return
    times = cold_and_cached(lambda cache: first_call("make_vec", cache), budget.fresh)
    for kind, own in times.items():
        yield Entry(f"make.{kind}", TIME, typical(own), {}, {}, {"environments": 4096})


GPU_SIZES = {"frenet": 65_536, "lidar108": 65_536, "lidar1080": 16_384}
"""Number of environments by task."""
GPU_WARM_UP = 400
"""Control periods before a measurement, over which restarts are counted too."""
GPU_PERIODS = 100


def gpu_entries(budget: Budget, plants: Path | None = None) -> Iterator[Entry]:
    """The group `learn_gpu`: races on a CUDA device, where actions and observations remain.

    `plants` is a folder written by `save_tasks`.
    """
    yield from measure_on(Device.of("cuda"), task_source(plants), GPU_SIZES, budget)


def measure_on(
    device: Device, task_of: Callable[[str], Any], sizes: Mapping[str, int], budget: Budget
) -> Iterator[Entry]:
    """Measure the entries of a device, whose name they contain; the tests use the CPU."""
    for name, count in sizes.items():
        driven = Driven(task_of(name), count, device, GPU_WARM_UP)
        run = device.finished(partial(driven.run, GPU_PERIODS))
        (times,) = interleaved([run], 2 * budget.repeats)
        own = best_rate(count * GPU_PERIODS, times)
        yield Entry(
            f"race.{name}.{device.name}{count}", RATE, own, {}, {}, driven.details(GPU_WARM_UP)
        )
        del driven, run
        device.free()


ACTIONS = 64
"""Number of sets of actions, which are used cyclically."""
RAYS = {"frenet": 0, "lidar108": 108, "lidar1080": 1080}


def task_of(name: str) -> Any:
    """Race without a lidar on eight random tracks, or with a lidar on one of them."""
    rays = RAYS[name]
    return tasks.race(tracks=random_track(0), lidar=rays) if rays else tasks.race()


def save_tasks(folder: str | Path) -> None:
    """Write the tasks for a GPU machine without CasADi, for `skidpad bench learn_gpu --plants`."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name in RAYS:
        save_task(task_of(name), _file(Path(folder), name))


def task_source(plants: Path | None) -> Callable[[str], Any]:
    """Function that returns a task by name: from files of `save_tasks`, or by tracing."""
    if plants is not None:
        return lambda name: load_task(_file(plants, name))
    if find_spec("casadi") is None:
        raise InvalidValue(
            "this group needs its tasks: install casadi, or name a folder with --plants that "
            "skidpad.bench.learn.save_tasks wrote"
        )
    return task_of


def _file(folder: Path, name: str) -> Path:
    return folder / f"race.{name}.task"


class Driven:
    """Environments driven by prepared actions.

    Args:
        task: the task.
        count: number of environments.
        device: the device.
        warm_up: control periods before a measurement, so that episodes end at different times.
        options: further options of `Environments`.
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
        """Run some control periods; returns the result of the last one."""
        stepped = None
        for _ in range(periods):
            stepped = self.environments.step(self._actions[self._periods % ACTIONS])
            self._periods += 1
        return stepped

    def restarts(self, periods: int) -> float:
        """Share of the environments that restart per control period, averaged over `periods`."""
        count, begun = len(self.environments), 0
        for _ in range(periods):
            ended: AnyArray = on_host(self.run(1).ended)
            begun += int(ended.sum()) if ended.dtype == np.bool_ else len(ended)
        return begun / (periods * count)

    def details(self, periods: int) -> dict[str, Any]:
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
