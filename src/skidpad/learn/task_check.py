"""Properties that every task must have, checked on any task: a shipped one or your own.

report = skidpad.learn.check_task(my_task())
report.raise_if_failed()
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..errors import SkidpadError
from .environments import Environments
from .task import Task

if TYPE_CHECKING:
    from ..conformance.report import Report, Result

_WORLDS, _PERIODS = 24, 200
_ALONE = 2
"""Worlds that are driven once more by themselves."""


class _Played(NamedTuple):
    """What came out of some environments, (periods, rows, ...)."""

    observation: AnyArray
    reward: AnyArray
    over: AnyArray
    state: AnyArray


def check_task(task: Task, seed: int = 0) -> Report:
    """Run the checks on a task and report on each.

    * `starts`: a thousand starts are finite and touch nothing;
    * `observations`: whatever is done they are finite and within their bounds, and all of them
      change;
    * `rewards`: they are finite;
    * `actions`: every field of the action makes a difference to the motion;
    * `episodes`: they end and begin anew, none is longer than `duration`;
    * `bits`: a world has the same bits alone and among many, and when it is driven again.
    """
    # The checks of vehicles bring worlds along, which no learner waits for.
    from ..conformance.report import Report

    checks: dict[str, Callable[[], list[str]]] = {
        "starts": partial(_starts, task, seed),
        "actions": partial(_actions, task, seed),
    }
    played: list[_Played] = []

    def shared() -> _Played:
        if not played:
            played.append(_play(task, _WORLDS, seed, _drawn_actions(task, _WORLDS, seed)))
        return played[0]

    checks["observations"] = lambda: _observations(task, shared())
    checks["rewards"] = lambda: _rewards(shared())
    checks["episodes"] = partial(_episodes, task, seed)
    checks["bits"] = lambda: _bits(task, seed, shared())
    results = tuple(_result(name, check) for name, check in checks.items())
    return Report(f"task {task.name}", results)


def _result(name: str, check: Callable[[], list[str]]) -> Result:
    from ..conformance.report import Result

    try:
        faults = check()
    except SkidpadError as error:
        faults = [str(error)]
    except (AttributeError, TypeError, ValueError) as error:  # of a function of the task
        faults = [f"{type(error).__name__}: {error}"]
    return Result(name, "failed" if faults else "passed", "\n".join(faults))


def _drawn_actions(task: Task, worlds: int, seed: int) -> AnyArray:
    """Actions (periods, rows, n) within their bounds, held for some periods each."""
    leaves = [leaf.allowed for leaf in record.fields(task.Action)]
    low, high = ([getattr(a, end) if a else sign for a in leaves]
                 for end, sign in (("low", -1.0), ("high", 1.0)))  # fmt: skip
    shape = (-(-_PERIODS // 10), worlds * task.agents, len(leaves))
    drawn = np.random.default_rng(seed).uniform(low, high, shape)
    return np.repeat(drawn, 10, axis=0)[:_PERIODS]


def _play(task: Task, worlds: int, seed: int, actions: AnyArray) -> _Played:
    environments = Environments(task, worlds, autoreset="same_step")
    environments.reset(seed)
    rows: list[tuple[AnyArray, ...]] = []
    for chosen in actions:
        told = environments.step(chosen)
        over = told.terminated | told.truncated
        rows.append((told.observation.copy(), told.reward.copy(), over, environments.state))
    return _Played(*(np.stack(column) for column in zip(*rows, strict=True)))


def _starts(task: Task, seed: int) -> list[str]:
    environments = Environments(task, 1000)
    seen = environments.reset(seed)
    apart = np.ptp(seen, axis=0).max() if len(seen) > 1 else 0.0
    if not apart and (task.draws or task.randomised):
        return ["all starts look the same, although something is drawn"]
    return []


def _actions(task: Task, seed: int) -> list[str]:
    size = record.size(task.Action)
    faults: list[str] = []
    ends: list[AnyArray] = []
    for k in range(size + 1):
        environments = Environments(task, 1, autoreset="disabled")
        environments.reset(seed)
        chosen = np.zeros((task.agents, size))
        if k < size:
            chosen[:, k] = 0.5
        for _ in range(min(10, task.limit - 1)):
            told = environments.step(chosen)
            if told.terminated.any() or told.truncated.any():
                break
        ends.append(environments.state)
    for name, end in zip(record.names(task.Action), ends[:-1], strict=True):
        if np.array_equal(end, ends[-1]):
            faults.append(f"the action {name} makes no difference to the motion in 10 periods")
    return faults


def _observations(task: Task, played: _Played) -> list[str]:
    names = record.names(task.Observation)
    seen = played.observation[:, :, : len(names)]
    faults = [
        f"the observation {names[k]} is outside of its bounds"
        for k in np.flatnonzero((np.abs(seen) > 1.0).any(axis=(0, 1)))
    ]
    still = np.ptp(seen.reshape(-1, len(names)), axis=0) == 0.0
    faults += [f"the observation {names[k]} never changes" for k in np.flatnonzero(still)]
    held = (np.abs(seen) == 1.0).mean(axis=(0, 1)) > 0.5
    faults += [
        f"the observation {names[k]} is at its bounds more than half of the time"
        for k in np.flatnonzero(held & ~still)
    ]
    return faults


def _rewards(played: _Played) -> list[str]:
    return [] if np.isfinite(played.reward).all() else ["a reward is not finite"]


def _episodes(task: Task, seed: int) -> list[str]:
    environments = Environments(task, 2, autoreset="same_step")
    environments.reset(seed)
    nothing = np.zeros((len(environments), record.size(task.Action)))
    longest = min(task.limit + 1, 5000)
    for _ in range(longest):
        told = environments.step(nothing)
        if (environments.steps >= task.limit).any():
            return [f"an episode is longer than {task.duration:g} s"]
        if (told.terminated | told.truncated).any():
            return []
    return [] if task.limit > longest else ["no episode ended"]


def _bits(task: Task, seed: int, played: _Played) -> list[str]:
    actions = _drawn_actions(task, _WORLDS, seed)
    if not _same(played, _play(task, _WORLDS, seed, actions)):
        return ["the same seed does not give the same bits"]
    for world in range(_ALONE):
        rows = slice(world * task.agents, (world + 1) * task.agents)
        alone = _play(task, 1, seed + world, actions[:, rows])
        if not _same(_Played(*(part[:, rows] for part in played)), alone):
            return [f"world {world} has other bits alone than among {_WORLDS}"]
    return []


def _same(one: Any, other: Any) -> bool:
    # What is not finite is told by another check.
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
