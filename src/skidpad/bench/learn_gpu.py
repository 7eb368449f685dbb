"""The group `learn_gpu`: environment steps per second of a race on a CUDA device.

Actions and observations stay there. The functions take the device, so that the tests can measure
the same way without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .device import Device
from .learn_work import Driven, task_source
from .timing import RATE, Budget, Entry, best_rate, interleaved

SIZES = {"frenet": 65_536, "lidar108": 65_536, "lidar1080": 16_384}
"""Environments of each."""
WARM_UP = 400
"""Control periods before a measurement, and those that restarts are counted in."""
PERIODS = 100
"""Control periods of a timed run."""


def entries(budget: Budget, plants: Path | None = None) -> Iterator[Entry]:
    """All figures; `plants` is a folder of `learn_work.save_tasks`."""
    yield from measured(Device.of("cuda"), task_source(plants), SIZES, budget)


def measured(
    device: Device, task_of: Callable[[str], Any], sizes: Mapping[str, int], budget: Budget
) -> Iterator[Entry]:
    """The entries on any device, named after it."""
    for name, count in sizes.items():
        driven = Driven(task_of(name), count, device, WARM_UP)
        run = device.finished(partial(driven.run, PERIODS))
        (times,) = interleaved([run], 2 * budget.repeats)
        own = best_rate(count * PERIODS, times)
        yield Entry(f"race.{name}.{device.name}{count}", RATE, own, {}, {}, driven.details(WARM_UP))
        del driven, run
        device.free()
