"""The group `learn`: environment steps per second of a race, and how long the first one takes.

A step is a control period of one environment: 10 sub-steps of the car, the scan, contacts, reward,
observation and, for those that ended, the new episode; float32, two threads. The peer does what
f1tenth_gym does in a period, compiled from end to end; see `peers.marched_race`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..errors import MissingExtra
from ..learn.environments import Environments
from . import learn_gpu
from .device import Device
from .fresh import first_call
from .learn_work import Driven, task_of
from .peers.marched_race import MarchedRace
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, interleaved, seconds, typical

THREADS = 2
"""Of everything but a single environment, here and of the peer."""


class Sizes(NamedTuple):
    """How much is done; the environments are part of what an entry means."""

    frenet: int = 4096
    few_rays: int = 4096
    many_rays: int = 1024
    warm_up: int = 400
    """Control periods before a measurement, and those that restarts are counted in."""
    periods: int = 40
    """Control periods of a timed run."""
    peer: int = 32
    """Environments of the peer's timed run; its rate does not depend on that."""
    single: int = 2000
    """Timed steps of one environment."""


SIZES = Sizes()


def entries(budget: Budget) -> Iterator[Entry]:
    """Many environments, one, the first; and those of a GPU where there is one."""
    sizes = SIZES
    yield _many("race.frenet", "frenet", sizes.frenet, sizes, budget)
    yield _many("race.lidar108", "lidar108", sizes.few_rays, sizes, budget)
    yield _beside_the_peer(sizes, budget)
    yield _single(sizes)
    yield from _first(budget)
    try:
        device = Device.of("cuda")
    except MissingExtra:
        return
    yield from learn_gpu.measured(device, task_of, learn_gpu.SIZES, budget)


def _many(name: str, task: str, count: int, sizes: Sizes, budget: Budget) -> Entry:
    driven = Driven(task_of(task), count, Device.of("cpu"), sizes.warm_up, threads=THREADS)
    (times,) = interleaved([partial(driven.run, sizes.periods)], 2 * budget.repeats)
    own = best_rate(count * sizes.periods, times)
    details = {"threads": THREADS, **driven.details(sizes.warm_up)}
    return Entry(f"{name}.envs{count}", RATE, own, {}, {}, details)


def _beside_the_peer(sizes: Sizes, budget: Budget) -> Entry:
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
    return Entry(
        f"race.lidar1080.envs{count}", RATE, own, {"march": peer}, _not_installed(), details
    )


def _not_installed() -> dict[str, str]:
    """f1tenth_gym itself, with the reason why its technique stands for it."""
    if find_spec("f110_gym") is None:
        return {"f1tenth_gym": "not installed"}
    return {"f1tenth_gym": "its technique is measured, compiled"}


def _single(sizes: Sizes) -> Entry:
    """One environment from Python, a step at a time, its restarts not counted; the median."""
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
    """Step, which says whether the episode is over, and reset; by Gymnasium where it is there."""
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
    """The first `make_vec` and step in a fresh process, imports excluded; medians."""
    if find_spec("gymnasium") is None:
        return
    times: dict[str, list[float]] = {"cold": [], "cached": []}
    for _ in range(budget.fresh):
        with tempfile.TemporaryDirectory() as cache:
            for kind in times:
                times[kind].append(first_call("make_vec", cache))
    for kind, own in times.items():
        measured: Measured = typical(own)
        yield Entry(f"make.{kind}", TIME, measured, {}, {}, {"environments": 4096})
