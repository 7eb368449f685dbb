"""What is said of an environment in which something went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import record


def diverged(task: Any, row: int, periods: int) -> str:
    """Of a state that is no longer finite."""
    return (
        f"{_row(task, row)}: the state of {task.vehicle.model.name!r} is no longer finite after "
        f"{periods} periods; with on_diverge='end' its episode ends"
    )


def not_finite(task: Any, row: int, at: int, value: float, periods: int) -> str:
    """Of an observation that is not finite; `at` is its place."""
    names = record.names(task.Observation)
    name = names[at] if at < len(names) else f"ray {at - len(names)}"
    return (
        f"{_row(task, row)}: the observation {name} is {value} after {periods} periods; it must "
        "be finite"
    )


def no_reward(task: Any, row: int, periods: int) -> str:
    """Of a reward that is not finite."""
    return f"{_row(task, row)}: the reward after {periods} periods is not finite; it must be"


def too_far(task: Any, track: int, far: float) -> str:
    """Of a track so far from the origin that float32 cannot tell its places apart."""
    return (
        f"task {task.name!r}: tracks[{track}] reaches {far:.3g} m from the origin, where float32 "
        f"tells {far * 2.0**-23:.2g} m apart: take precision='float64', or a track nearer to it"
    )


def touching(task: Any, row: int, motion: Sequence[float]) -> str:
    """Of a start in contact, at a motion of x, y in m and yaw in rad."""
    x, y, yaw = motion[:3]
    return (
        f"{_row(task, row)} starts in contact with a wall or another vehicle, at x = {x:.2f}, "
        f"y = {y:.2f} m, yaw = {yaw:.2f} rad: the start of task {task.name!r} must leave room"
    )


NOT_BEGUN = "no episode has begun: call reset() before the first step"


def has_ended(task: Any, row: int, worlds: int, masked_reset: str) -> str:
    """Of a step of an episode that has ended; `masked_reset` is the call for some environments."""
    if worlds == 1:
        return "the episode has ended: call reset() to begin the next one"
    world = row // task.agents
    return (
        f"the episode of environment {world} has ended: call {masked_reset} with mask[{world}] = "
        "True to begin its next one, or reset() for those of all environments"
    )


def none_begun(masked_reset: str) -> str:
    """Of a reset of some environments before one of all."""
    return f"no episode has begun: call reset() for all environments before {masked_reset}"


def _row(task: Any, row: int) -> str:
    world, agent = divmod(row, task.agents)
    return f"environment {world}" + (f", agent {agent}" if task.agents > 1 else "")
