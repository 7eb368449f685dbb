"""Many environments of a task that advance together: one call, one control period.

A call moves all vehicles, scans, tests contacts, rewards and restarts environments that have ended,
compiled from end to end. Every environment has a seed of its own, and its draws depend on that and
on its own counts of episodes and periods alone: any number of environments, split in any way, on
one core or many, gives each of them the same bits. The functions at the top are the messages of the
errors, for the processor and for CUDA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import check_room, making_room, one_of, whole
from ..core.files import brief_repr
from ..errors import InvalidValue, SimulationDiverged
from ..random import streams as seeding
from ..random.draw import names_as_words, shares
from ..units import m
from .cpu_engine import TaskEngine, engine_of
from .episode_info import NO_ENDS, Ends, EpisodeInfo
from .programs import TaskPrograms, compile_task, draws_parameters
from .task import Task


def diverged(task: Any, row: int, periods: int) -> str:
    """The message of a state that is no longer finite."""
    return (
        f"{_row(task, row)}: the state of {task.vehicle.model.name!r} is no longer finite after "
        f"{periods} periods; with on_diverge='end' its episode ends"
    )


def not_finite(task: Any, row: int, at: int, value: float, periods: int) -> str:
    """The message of an observation that is not finite; `at` is its index."""
    names = record.names(task.Observation)
    name = names[at] if at < len(names) else f"ray {at - len(names)}"
    return (
        f"{_row(task, row)}: the observation {name} is {value} after {periods} periods; it must "
        "be finite"
    )


def no_reward(task: Any, row: int, periods: int) -> str:
    """The message of a reward that is not finite."""
    return f"{_row(task, row)}: the reward after {periods} periods is not finite; it must be"


def too_far(task: Any, track: int, far: float) -> str:
    """The message of a track too far from the origin for the resolution of float32."""
    return (
        f"task {task.name!r}: tracks[{track}] reaches {far:.3g} m from the origin, where float32 "
        f"tells {far * 2.0**-23:.2g} m apart: take precision='float64', or a track nearer to it"
    )


def touching(task: Any, row: int, motion: Sequence[float]) -> str:
    """The message of a start in contact, at x, y in m and yaw in rad."""
    x, y, yaw = motion[:3]
    return (
        f"{_row(task, row)} starts in contact with a wall or another vehicle, at x = {x:.2f}, "
        f"y = {y:.2f} m, yaw = {yaw:.2f} rad: the start of task {task.name!r} must leave room"
    )


NOT_BEGUN = "no episode has begun: call reset() before the first step"


def has_ended(task: Any, row: int, worlds: int, masked_reset: str) -> str:
    """The message of a step after the end; `masked_reset` is the call for some environments."""
    if worlds == 1:
        return "the episode has ended: call reset() to begin the next one"
    world = row // task.agents
    return (
        f"the episode of environment {world} has ended: call {masked_reset} with mask[{world}] = "
        "True to begin its next one, or reset() for those of all environments"
    )


def none_begun(masked_reset: str) -> str:
    """The message of a reset of some environments before one of all."""
    return f"no episode has begun: call reset() for all environments before {masked_reset}"


def _row(task: Any, row: int) -> str:
    world, agent = divmod(row, task.agents)
    return f"environment {world}" + (f", agent {agent}" if task.agents > 1 else "")


AUTORESET = ("next_step", "same_step", "disabled")
"""When an environment that has ended restarts: in the next call, whose action it ignores, in the
same call, or only by `reset`."""
ON_DIVERGE = ("raise", "end")
_QUIET = np.empty((1, 0))
FARTHEST: m = 20_000.0
"""Largest distance from the origin in single precision, whose resolution there is 2 mm."""


class Stepped(NamedTuple):
    """The result of a control period. The arrays are the environments' own and change with the next
    call: copy those that are to stay."""

    observation: AnyArray
    """Observations, (B, n), float32 or float64."""
    reward: AnyArray
    """Rewards of the period, (B,)."""
    terminated: AnyArray
    """Whether the episode has terminated, (B,)."""
    truncated: AnyArray
    """Whether the episode was truncated by its duration, (B,)."""
    ended: AnyArray
    """Numbers (k,) of the environments that restarted in this call."""
    final_observation: AnyArray
    """Last observations (k, n) of their episodes, if these ended in this call; else (0, n)."""

    __repr__ = brief_repr


class Environments:
    """Environments of a task that advance together, each with a seed of its own.

    Args:
        task: the task.
        count: number of worlds; each has as many vehicles as the task has agents, one row each.
        autoreset: when an ended episode restarts: "next_step", "same_step" or "disabled".
        precision: "float32" or "float64".
        device: "cpu" or "cuda"; there all arrays live on the GPU.
        threads: on the CPU; all processors if None. The results do not depend on them.
        on_diverge: "raise" if a state is no longer finite, or "end" the episode.
    """

    __repr__ = brief_repr

    def __new__(cls, *_: Any, device: str = "cpu", **__: Any) -> Any:
        """Makes `CudaEnvironments`, which have the same interface, for a CUDA device."""
        if device != "cuda" or cls is not Environments:
            return object.__new__(cls)
        from .cuda_environments import CudaEnvironments

        return object.__new__(CudaEnvironments)

    def __init__(
        self,
        task: Task,
        count: int = 1,
        *,
        autoreset: str = "next_step",
        precision: str = "float32",
        device: str = "cpu",
        threads: int | None = None,
        on_diverge: str = "raise",
    ) -> None:
        self._take_settings(task, count, autoreset, on_diverge)
        if threads is not None:
            whole("threads", threads, "at least 1, or None for all processors")
        self._check_places(precision)
        self.programs: TaskPrograms = compile_task(task)
        with making_room("count", self.worlds):
            self.engine: TaskEngine = engine_of(
                self.programs, self.worlds * task.agents, precision, device, threads
            )
        self._agent = np.tile(np.arange(task.agents), self.worlds)
        self._draw_words = names_as_words(self.programs.draws)
        self._noise_words = names_as_words(self.programs.noise)
        rows = len(self)
        self._seeds = np.zeros(rows, np.uint64)
        self._episodes = np.zeros(rows, np.uint64)
        self._periods = np.zeros(rows, np.uint64)
        self.engine.draw_from(self._seeds, self._periods)
        self.steps = np.zeros(rows, np.int64)
        """Control periods of the present episodes, (B,)."""
        self._over = np.zeros(rows, np.bool_)
        self._overrides: dict[int, Array] = {}
        self.failed = np.zeros(rows, np.bool_)
        """Rows whose state was not finite after the last period, (B,), for on_diverge "end"."""
        self.info = EpisodeInfo(task, self.engine)
        """Progress and laps of the present episodes."""
        self.ends: Ends = NO_ENDS
        """Episodes that ended in the last call, why, and their last infos."""
        self._begun = self._closed = False
        engine = self.engine
        self._nothing = np.empty(0, np.int64), np.empty((0, engine.width), engine.dtype)

    def _take_settings(self, task: Task, count: int, autoreset: str, on_diverge: str) -> None:
        self.task = task
        self.worlds = whole("count", count, "at least 1", least=1)
        check_room("count", count, task.agents * record.size(task.vehicle.model.State))
        one_of("autoreset", autoreset, AUTORESET)
        one_of("on_diverge", on_diverge, ON_DIVERGE)
        self.autoreset, self.on_diverge = autoreset, on_diverge

    masked_reset = "reset(mask=mask)"
    """The call that resets some environments, for messages; interfaces have others."""

    def __len__(self) -> int:
        """Number of rows: environments times agents."""
        return self.worlds * self.task.agents

    @property
    def state(self) -> AnyArray:
        """States of the vehicles, (B, n), a copy."""
        return np.array(self.engine.x[0, :, : record.size(self.task.vehicle.model.State)])

    @property
    def progress(self) -> Array:
        """Progress along the track since the start of the present episodes in m, (B,), a copy."""
        self._check_has_tracks()
        return np.array(self.engine.m[0, :, 1], dtype=float)

    def held(self) -> dict[str, AnyArray]:
        """Everything that the next step depends on, by name: the arrays themselves, (B, ...), valid
        until the next call. The next step reads what is written to them. Numbers supplied by
        `reset(given=...)` are settings and not among them."""
        return {
            **held_by(self.engine, self.task), "seeds": self._seeds, "episodes": self._episodes,
            "periods": self._periods, "steps": self.steps, "over": self._over,
        }  # fmt: skip

    def close(self) -> None:
        """Close: further calls raise."""
        self._closed = True

    def reset(
        self,
        seed: int | Sequence[int] | None = None,
        mask: Any = None,
        given: Mapping[str, Any] | None = None,
    ) -> AnyArray:
        """Start new episodes; returns the observations (B, n).

        Args:
            seed: of the first environment, the others count up from it; or one for each; None to
                continue the present streams, or for a fresh seed at first.
            mask: which environments, a boolean array (count,); all if None.
            given: numbers, one or (count,), of the task's `Given` parameters, by the names of its
                `randomised` or as `draw.NAME`; they stay until replaced.
        """
        self._must_be_open()
        overrides, chosen = self._merged_overrides(given), self._chosen(mask)
        if not self._begun and mask is not None:
            raise InvalidValue(none_begun(self.masked_reset))
        if seed is not None or not self._begun:
            self._seed(seeding.fresh() >> 1 if seed is None else seed, chosen)
        self._overrides = overrides
        # After a start in contact there is no valid state, so a complete reset is needed.
        self._begun, self.ends = False, NO_ENDS
        if chosen.any():
            self._restart(np.flatnonzero(chosen))
        self._begun = True
        return self.engine.observation

    def step(self, actions: Any) -> Stepped:
        """One control period of all environments.

        Args:
            actions: (B, n) in the order of the fields of the task's `Action`; values beyond their
                bounds are clipped.
        """
        self._must_be_open()
        if not self._begun:
            raise InvalidValue(NOT_BEGUN)
        if self.autoreset == "disabled" and self._over.any():
            k = int(np.flatnonzero(self._over)[0])
            raise InvalidValue(has_ended(self.task, k, self.worlds, self.masked_reset))
        engine = self.engine
        engine.set_actions(actions)
        again = np.flatnonzero(self._over)
        failed = self._failed(engine.advance(), again)
        # For an environment that only restarts no period passes.
        self._periods += ~self._over
        self.steps += 1
        noise = self._noise(slice(None))
        engine.judge(self.steps * self.task.dt, noise)
        terminated = engine.ended > 0.5
        truncated = self.steps >= self.task.limit
        self.failed[:] = False
        if failed is not None:
            self.failed |= failed
            terminated[failed] = True
            engine.reward[failed] = 0.0
        self._check_observation(terminated, again)
        if not np.isfinite(engine.reward).all():
            self._check_reward(terminated, again)
        if self.task.agents > 1:
            terminated, truncated = self._together(terminated, truncated)
        over = terminated | truncated
        final = self._nothing[1]
        if self.autoreset == "same_step":
            again = np.flatnonzero(over)
            final = engine.observation[again]
        elif again.size:
            engine.reward[again], terminated[again], truncated[again] = 0.0, False, False
            over[again] = False
        self.info.advance(self.steps)
        self.ends = NO_ENDS
        if over.any():
            self.ends = self.info.ends_of(over, terminated, self.failed, self.steps)
        if again.size:
            self._restart(again)
        self._over = np.zeros_like(over) if self.autoreset == "same_step" else over
        return Stepped(engine.observation, engine.reward, terminated, truncated, again, final)

    def _check_has_tracks(self) -> None:
        if not self.task.tracks:
            raise InvalidValue(f"task {self.task.name!r} has no tracks to progress on")

    def _check_places(self, precision: str) -> None:
        """Raise if the precision is too coarse for the positions of the tracks."""
        for k, track in enumerate(self.task.tracks if precision == "float32" else ()):
            far = float(np.abs(track.centre).max())
            if far > FARTHEST:
                raise InvalidValue(too_far(self.task, k, far))

    def _together(self, terminated: Any, truncated: Any) -> tuple[Any, Any]:
        """All vehicles of a world stop when one of them does: the others are truncated."""
        shape = (self.worlds, self.task.agents)
        any_over = (terminated | truncated).reshape(shape).any(axis=1, keepdims=True)
        cut = (any_over & ~terminated.reshape(shape)).ravel()
        return terminated, cut

    def _restart(self, rows: Any) -> None:
        engine = self.engine
        self._episodes[rows] += np.uint64(1)
        self.steps[rows] = 0
        self._over[rows] = False
        drawn = shares("learn.start", self._seeds[rows], self._episodes[rows], self._draw_words)
        for place, values in self._overrides.items():
            drawn[:, place] = values[rows]
        engine.start(rows, drawn, self._agent[rows])
        self.info.begin(rows)
        contact = engine.look(rows, self._noise(rows))
        self._check_start(rows, contact)

    def _merged_overrides(self, numbers: Mapping[str, Any] | None) -> dict[int, AnyArray]:
        """The supplied numbers from now on, by index among the draws, (B,) each."""
        names, task = self.programs.draws, self.task
        overrides, allowed = dict(self._overrides), task.given
        for name, values in (numbers or {}).items():
            if name not in allowed:
                raise InvalidValue(record.unknown_name("given", name, allowed))
            each = np.broadcast_to(np.asarray(values, dtype=float), (self.worlds,))
            overrides[names.index(name)] = np.repeat(each, task.agents)
        missing = [name for name in allowed if names.index(name) not in overrides]
        if missing:
            raise InvalidValue(f"{missing[0]} is Given: reset(given={{{missing[0]!r}: ...}})")
        return overrides

    def _noise(self, rows: Any) -> Array:
        if not self._noise_words.size:
            return _QUIET if isinstance(rows, slice) else np.empty((len(rows), 0))
        # Agents of a world draw the same starts, and errors of their own.
        own = self._seeds[rows] + (self._agent[rows].astype(np.uint64) << np.uint64(40))
        return shares("learn.noise", own, self._periods[rows], self._noise_words)

    def _seed(self, seed: int | Sequence[int], chosen: AnyArray) -> None:
        self._seeds[chosen] = self._seeds_of(seed)[chosen]
        self._episodes[chosen] = self._periods[chosen] = 0

    def _seeds_of(self, seed: int | Sequence[int]) -> AnyArray:
        """Seeds of all rows, (B,)."""
        count = self.worlds
        if isinstance(seed, (Sequence, np.ndarray)):
            if len(seed) != count:
                raise InvalidValue(f"{len(seed)} seeds are given for {count} environments")
            each = [seeding.checked(one) & (2**63 - 1) for one in seed]
        else:
            first = seeding.checked(seed)
            each = [(first + k) & (2**63 - 1) for k in range(count)]
        return np.repeat(np.array(each, np.uint64), self.task.agents)

    def _chosen(self, mask: Any) -> AnyArray:
        if mask is None:
            return np.ones(len(self), np.bool_)
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_ or chosen.shape != (self.worlds,):
            raise InvalidValue(f"mask must be truths of shape ({self.worlds},), got {mask!r:.60}")
        return np.repeat(chosen, self.task.agents)

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidValue("these environments are closed; make new ones")

    def _failed(self, bad: AnyArray | None, again: AnyArray) -> AnyArray | None:
        """Rows whose state is no longer finite and which do not restart; raises for on_diverge =
        "raise"."""
        if bad is not None:
            bad[again] = False
        if bad is None or not bad.any():
            return None
        if self.on_diverge == "raise":
            k = int(np.flatnonzero(bad)[0])
            raise SimulationDiverged(
                diverged(self.task, k, self.steps[k] + 1),
                **self._last(k, np.flatnonzero(bad)),
            )
        return bad

    def _check_observation(self, terminated: AnyArray, again: AnyArray) -> None:
        # Ranges are finite by themselves.
        values = self.engine.observation[:, : record.size(self.task.Observation)]
        if np.isfinite(values).all():
            return
        bad = ~np.isfinite(values).all(axis=1)
        bad[again] = False
        if not bad.any():
            return
        if self.on_diverge == "end":
            terminated |= bad
            values[bad] = np.nan_to_num(values[bad])
            return
        k = int(np.flatnonzero(bad)[0])
        at = int(np.flatnonzero(~np.isfinite(values[k]))[0])
        raise SimulationDiverged(
            not_finite(self.task, k, at, values[k, at], self.steps[k]),
            **self._last(k, np.flatnonzero(bad)),
        )

    def _check_reward(self, terminated: AnyArray, again: AnyArray) -> None:
        bad = ~np.isfinite(self.engine.reward)
        bad[again] = False
        self.engine.reward[~np.isfinite(self.engine.reward)] = 0.0
        if self.on_diverge == "end":
            terminated |= bad
        elif bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise SimulationDiverged(
                no_reward(self.task, k, self.steps[k]), **self._last(k, np.flatnonzero(bad))
            )

    def _last(self, k: int, failed: AnyArray) -> dict[str, Any]:
        """Attributes of the error for a row, with all rows that failed."""
        State = self.task.vehicle.model.State
        leaves = self.engine.x[0, k, : record.size(State)].tolist()
        return {
            "time": float(self.steps[k] * self.task.dt),
            "last_state": record.unflatten(State, leaves),
            "vehicles": tuple(failed.tolist()),
        }

    def _check_start(self, rows: Any, contact: AnyArray) -> None:
        hit = np.flatnonzero(contact > 0.5)
        if hit.size:
            k = int(rows[hit[0]])
            raise InvalidValue(touching(self.task, k, self.engine.motion_of(k)))


def held_by(engine: Any, task: Any) -> dict[str, Any]:
    """The arrays of an engine that the next period depends on, each (B, n)."""
    names = ("x", "a", "m", "q", "w", *(("p",) if draws_parameters(task) else ()))
    return {name: getattr(engine, name)[0] for name in names}
