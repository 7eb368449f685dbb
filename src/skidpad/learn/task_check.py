"""Checks of any task, shipped or your own, and of any vector environment.

    report = skidpad.learn.check_task(my_task())
    report.raise_if_failed()

`check_vector_env` compares a vector environment with Gymnasium's own `SyncVectorEnv` of single
environments with the same seeds and actions: the results must be identical bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import AnyArray
from ..errors import SkidpadError, require
from .environments import Environments
from .task import Task

if TYPE_CHECKING:
    from ..testing.subject import Report

_WORLDS, _PERIODS = 24, 200
_ALONE = 2
"""Number of worlds that are simulated again on their own."""


class _Played(NamedTuple):
    """Recorded results of some environments, (periods, rows, ...)."""

    observation: AnyArray
    reward: AnyArray
    over: AnyArray
    state: AnyArray


def check_task(task: Task, seed: int = 0) -> Report:
    """Run the checks on a task and report on each.

    * `starts`: a thousand starts are finite and without contact;
    * `observations`: they are finite and within their bounds for any action, and each field varies;
    * `rewards`: they are finite;
    * `actions`: every field of the action affects the motion;
    * `episodes`: they end and restart, and last at most `duration`;
    * `bits`: the results of a world are the same bit for bit when it is simulated alone, among many
      others, or again.
    """
    # `testing` imports worlds, which takes time and is not needed for learning.
    from ..testing.subject import Report, Result

    @cache
    def played() -> _Played:
        return _play(task, _WORLDS, seed, _drawn_actions(task, _WORLDS, seed))

    def rewards() -> list[str]:
        return [] if np.isfinite(played().reward).all() else ["a reward is not finite"]

    def result(name: str, check: Callable[[], list[str]]) -> Result:
        try:
            faults = check()
        except SkidpadError as error:
            faults = [str(error)]
        except (AttributeError, TypeError, ValueError) as error:  # raised by a function of the task
            faults = [f"{type(error).__name__}: {error}"]
        return Result(name, "failed" if faults else "passed", "\n".join(faults))

    checks: dict[str, Callable[[], list[str]]] = {
        "starts": lambda: _starts(task, seed),
        "actions": lambda: _actions(task, seed),
        "observations": lambda: _observations(task, played()),
        "rewards": rewards,
        "episodes": lambda: _episodes(task, seed),
        "bits": lambda: _bits(task, seed, played()),
    }
    return Report(f"task {task.name}", tuple(result(*check) for check in checks.items()))


def _drawn_actions(task: Task, worlds: int, seed: int) -> AnyArray:
    """Random actions (periods, rows, n) within their bounds, each held for several periods."""
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
        stepped = environments.step(chosen)
        over = stepped.terminated | stepped.truncated
        rows.append((stepped.observation.copy(), stepped.reward.copy(), over, environments.state))
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
            stepped = environments.step(chosen)
            if stepped.terminated.any() or stepped.truncated.any():
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


def _episodes(task: Task, seed: int) -> list[str]:
    environments = Environments(task, 2, autoreset="same_step")
    environments.reset(seed)
    nothing = np.zeros((len(environments), record.size(task.Action)))
    longest = min(task.limit + 1, 5000)
    for _ in range(longest):
        stepped = environments.step(nothing)
        if (environments.steps >= task.limit).any():
            return [f"an episode is longer than {task.duration:g} s"]
        if (stepped.terminated | stepped.truncated).any():
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
    # Another check reports numbers that are not finite.
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


MODES = ("NEXT_STEP", "SAME_STEP", "DISABLED")
_SEED = 7


class NotConforming(SkidpadError, AssertionError):
    """A vector environment does not behave as Gymnasium specifies; the message says where."""


def check_vector_env(
    make: Callable[..., Any], make_single: Callable[[], Any], *, num_envs: int = 3, steps: int = 60
) -> None:
    """Raise `NotConforming` unless a vector environment conforms to Gymnasium's specification.

    Observations lie in their spaces; every autoreset mode, seeds and masks give the results of
    `SyncVectorEnv` with the single environments, bit for bit; environment i equals the single
    environment with seed + i; returned arrays do not change later; a closed vector raises. Episodes
    have to end within `steps`, so that the modes differ; this is checked, too.

    Args:
        make: creates the vector environment; called with `num_envs` and `autoreset_mode`.
        make_single: creates one `gymnasium.Env`, with otherwise the same arguments.
        num_envs: number of environments to check with.
        steps: number of steps in each mode.
    """
    require("gymnasium", purpose="learn.check_vector_env")
    for mode in MODES:
        _Check(make, make_single, num_envs, mode).run(steps)


class _Check:
    """Comparison of one mode of a vector environment with its reference, Gymnasium's vector."""

    def __init__(self, make: Any, make_single: Any, num_envs: int, mode: str) -> None:
        from gymnasium.vector import AutoresetMode, SyncVectorEnv

        self._mode, self._count = mode, num_envs
        theirs = AutoresetMode[mode]
        self._env = make(num_envs=num_envs, autoreset_mode=theirs)
        self._oracle: Any = SyncVectorEnv([make_single] * num_envs, autoreset_mode=theirs)
        self._single = make_single()
        self._seen_ends = 0
        self._kept: list[tuple[Any, Any]] = []

    def run(self, steps: int) -> None:
        self._spaces()
        self._seeds()
        self._same(self._env.reset(seed=_SEED), self._oracle.reset(seed=_SEED), "reset(seed)")
        rng = np.random.default_rng(_SEED)
        over = np.zeros(self._count, np.bool_)
        for k in range(steps):
            if self._mode == "DISABLED" and over.any():
                self._masked(over, f"reset of those that ended, step {k}")
            over = self._step(rng, f"step {k}")
        self._must(self._seen_ends > 0, f"no episode ended within {steps} steps: take more")
        if over.all():
            over[-1] = False
        self._masked(~over, "reset of the others")
        for was, copied in self._kept:
            self._must(_equal(was, copied), "what a call returned was changed by a later one")
        self._closed()

    def _step(self, rng: Any, where: str) -> Any:
        # Some actions are beyond the bounds of the Box, to which both clip them.
        space = self._env.action_space
        actions = (1.2 * rng.uniform(-1.0, 1.0, space.shape)).astype(space.dtype)
        ours, theirs = self._env.step(actions.copy()), self._oracle.step(actions.copy())
        self._same(ours, theirs, where)
        over = ours[2] | ours[3]
        self._seen_ends += int(over.sum())
        return over

    def _masked(self, mask: Any, where: str) -> None:
        ours = self._env.reset(options={"reset_mask": mask.copy()})
        self._same(ours, self._oracle.reset(options={"reset_mask": mask.copy()}), where)

    def _same(self, ours: tuple[Any, ...], theirs: tuple[Any, ...], where: str) -> None:
        names = ("observations", "infos")
        if len(theirs) == 5:
            names = ("observations", "rewards", "terminations", "truncations", "infos")
        self._must(len(ours) == len(theirs), f"{where} returns {len(ours)} values")
        for name, mine, right in zip(names, ours, theirs, strict=True):
            equal = _equal(mine, right)
            self._must(equal, f"{where}: {name} are {mine!r:.300}, expected {right!r:.300}")
        space = self._env.observation_space
        self._must(space.contains(ours[0]), f"{where}: observations are not in their space")
        self._kept.append((ours[0], ours[0].copy()))

    def _spaces(self) -> None:
        env, oracle = self._env, self._oracle
        for name in ("observation_space", "action_space"):
            for one in (name, f"single_{name}"):
                mine, right = getattr(env, one, None), getattr(oracle, one)
                self._must(mine == right, f"{one} is {mine!r:.200}, expected {right!r:.200}")
        self._must(env.num_envs == self._count, f"num_envs is {env.num_envs}")
        mode = env.metadata.get("autoreset_mode")
        right = oracle.metadata["autoreset_mode"]
        self._must(mode is right, f"metadata['autoreset_mode'] is {mode!r}, expected {right!r}")

    def _seeds(self) -> None:
        """Check that seeds reproduce and environment i equals a single one with seed + i."""
        env = self._env
        first, again = env.reset(seed=_SEED)[0].copy(), env.reset(seed=_SEED)[0].copy()
        self._must(_equal(first, again), "the same seed gives other observations")
        self._must(not _equal(first, env.reset(seed=_SEED + 1)[0]), "seeds change nothing")
        listed = env.reset(seed=[_SEED + k for k in range(self._count)])[0]
        self._must(_equal(first, listed), "a list of seeds differs from counting on from the first")
        for k in range(self._count):
            alone, _ = self._single.reset(seed=_SEED + k)
            self._must(
                _equal(first[k], alone), f"environment {k} is not the single one with seed + {k}"
            )

    def _closed(self) -> None:
        env = self._env
        env.close()
        env.close()
        self._must(env.closed is True, "a closed vector does not say so")
        for name, call in {
            "step": lambda: env.step(env.action_space.sample()),
            "reset": lambda: env.reset(seed=_SEED),
        }.items():
            try:
                call()
            except Exception:  # any exception will do
                continue
            raise NotConforming(
                f"{self._mode}: {name} of a closed vector environment does not raise"
            )
        self._oracle.close()
        self._single.close()

    def _must(self, holds: bool, message: str) -> None:
        if not holds:
            raise NotConforming(f"{self._mode}: {message}")


def _equal(mine: Any, right: Any) -> bool:
    """Whether two results are identical bit for bit, types included."""
    if isinstance(right, dict):
        if not isinstance(mine, dict) or mine.keys() != right.keys():
            return False
        return all(_equal(mine[key], right[key]) for key in right)
    if isinstance(right, np.ndarray):
        if not isinstance(mine, np.ndarray) or mine.dtype != right.dtype:
            return False
        if mine.shape != right.shape:
            return False
        if right.dtype == np.object_:
            return all(map(_equal, mine.ravel(), right.ravel()))
        return bool(np.array_equal(mine, right))
    return type(mine) is type(right) and bool(mine == right)
