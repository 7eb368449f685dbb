"""What a driver sees of a moment: shares of bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import record
from ..errors import InvalidValue
from ..ops import clip
from .task import Task


def scaled_observation(task: Task, told: Mapping[str, Any]) -> tuple[Any, ...]:
    """What is observed, as shares of its bounds from -1 to 1."""
    seen = task.called("observe", told)
    if not isinstance(seen, task.Observation):
        raise InvalidValue(
            f"task {task.name!r}: observe must return its {task.Observation.__name__} record, got "
            f"a {type(seen).__name__}"
        )
    scaled: list[Any] = []
    leaves = zip(record.names(task.Observation), record.flatten(seen), task.lowest, task.highest,
                 strict=True)  # fmt: skip
    for name, value, low, high in leaves:
        noisy = value + getattr(told["e"], name) if name in task.noise else value
        # The share is cut off, not the value: rounding must not lead out of the space.
        scaled.append(clip((2.0 * noisy - (high + low)) / (high - low), -1.0, 1.0))
    return tuple(scaled)
