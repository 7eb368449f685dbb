"""Many environments of a task that advance together: one call, one control period.

A call moves all vehicles, scans, tests contacts, computes rewards and restarts ended environments,
all in compiled code. Every environment has a seed of its own; its random samples depend only on
this seed and its own counters of episodes and periods. The results are therefore identical bit for
bit however environments are split over calls or cores. The functions at the top build the error
messages for the CPU and for CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import check_room, making_room, one_of, whole
from ..core.files import brief_repr
from ..errors import InvalidValue, SimulationDiverged
from ..random import streams as seeding
from ..random.streams import names_as_words, shares
from ..run.runner import DEVICES
from ..units import m
from .cpu_engine import CpuEngine
from .episodes import AUTORESET, NO_ENDS, Ends, EpisodeInfo, Rules
from .programs import TaskPrograms, compile_task, draws_parameters
from .task import Task


def diverged(task: Any, row: int, periods: int) -> str:
    """Error message for a state that is no longer finite."""
    return (
        f"{_row(task, row)}: the state of {task.vehicle.model.name!r} is no longer finite after "
        f"{periods} periods; with on_diverge='end' its episode ends"
    )


def not_finite(task: Any, row: int, at: int, value: float, periods: int) -> str:
    """Error message for a non-finite observation; `at` is its index."""
    names = record.names(task.Observation)
    name = names[at] if at < len(names) else f"ray {at - len(names)}"
    return (
        f"{_row(task, row)}: the observation {name} is {value} after {periods} periods; it must "
        "be finite"
    )


def touching(task: Any, row: int, motion: Sequence[float]) -> str:
    """Error message for a start in contact, at x, y in m and yaw in rad."""
    x, y, yaw = motion[:3]
    return (
        f"{_row(task, row)} starts in contact with a wall or another vehicle, at x = {x:.2f}, "
        f"y = {y:.2f} m, yaw = {yaw:.2f} rad: the start of task {task.name!r} must leave room"
    )


def reward_not_finite(task: Any, row: int, periods: int) -> str:
    """Error message for a non-finite reward."""
    return f"{_row(task, row)}: the reward after {periods} periods is not finite; it must be"


NOT_BEGUN = "no episode has begun: call reset() before the first step"


def has_ended(task: Any, row: int, worlds: int, masked_reset: str) -> str:
    """Error message for a step after the end; `masked_reset` is the call for some environments."""
    if worlds == 1:
        return "the episode has ended: call reset() to begin the next one"
    world = row // task.agents
    return (
        f"the episode of environment {world} has ended: call {masked_reset} with mask[{world}] = "
        "True to begin its next one, or reset() for those of all environments"
    )


def none_begun(masked_reset: str) -> str:
    """Error message for a reset of some environments before the first reset of all."""
    return f"no episode has begun: call reset() for all environments before {masked_reset}"


def _row(task: Any, row: int) -> str:
    world, agent = divmod(row, task.agents)
    return f"environment {world}" + (f", agent {agent}" if task.agents > 1 else "")


ON_DIVERGE = ("raise", "end")
_QUIET = np.empty((1, 0))
FARTHEST: m = 20_000.0
"""Largest distance from the origin in single precision, where its resolution is 2 mm."""


class Stepped(NamedTuple):
    """Result of a control period.

    The arrays belong to the environments and change with the next call: copy those you keep.
    """

    observation: AnyArray
    """Observations, (B, n), float32 or float64."""
    reward: AnyArray
    """Rewards of the period, (B,)."""
    terminated: AnyArray
    """Whether the episode terminated, (B,)."""
    truncated: AnyArray
    """Whether the episode was truncated by its maximum duration, (B,)."""
    ended: AnyArray
    """Indices (k,) of the environments that restarted in this call."""
    final_observation: AnyArray
    """Last observations (k, n) of the episodes that ended and restarted in this call."""

    __repr__ = brief_repr


class Environments:
    """Environments of a task that advance together, each with a seed of its own.

    Args:
        task: the task.
        count: number of worlds; each has as many vehicles as the task has agents, one row each.
        autoreset: when an ended episode restarts: "next_step", "same_step" or "disabled".
        precision: "float32" or "float64".
        device: "cpu" or "cuda"; with "cuda" all arrays stay on the GPU.
        threads: threads on the CPU; all processors if None. The results do not depend on it.
        on_diverge: if a state is no longer finite, "raise" an error or "end" the episode.
    """

    __repr__ = brief_repr

    def __new__(cls, *_: Any, device: str = "cpu", **__: Any) -> Any:
        """Create `CudaEnvironments`, which have the same interface, if the device is "cuda"."""
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
        one_of("device", device, DEVICES)
        self._check_places(precision)
        self.programs: TaskPrograms = compile_task(task)
        with making_room("count", self.worlds):
            self.engine = CpuEngine(self.programs, len(self), precision, threads)
            self._books = self.engine.books(Rules.of(autoreset, on_diverge, task))
        self._agent = np.tile(np.arange(task.agents), self.worlds)
        self._draw_words = names_as_words(self.programs.draws)
        self._noise_words = names_as_words(self.programs.noise)
        rows = len(self)
        self._seeds = np.zeros(rows, np.uint64)
        self._episodes = np.zeros(rows, np.uint64)
        self._periods = np.zeros(rows, np.uint64)
        self.engine.draw_from(self._seeds, self._periods)
        self.steps = np.zeros(rows, np.int64)
        """Control periods since the start of each episode, (B,)."""
        self._over = np.zeros(rows, np.bool_)
        self._overrides: dict[int, Array] = {}
        self.failed = np.zeros(rows, np.bool_)
        """Rows with non-finite states after the last period, (B,), for on_diverge "end"."""
        self.info = EpisodeInfo(task, self.engine)
        """Progress and laps of the current episodes."""
        self.ends: Ends = NO_ENDS
        """Episodes that ended in the last call, with their reasons and last infos."""
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
    """Call that resets some environments, for error messages; interfaces override it."""

    def __len__(self) -> int:
        """Number of rows: environments times agents."""
        return self.worlds * self.task.agents

    @property
    def state(self) -> AnyArray:
        """Copy of the vehicle states, (B, n)."""
        return np.array(self.engine.x[0, :, : record.size(self.task.vehicle.model.State)])

    @property
    def progress(self) -> Array:
        """Progress along the track since the start of each episode in m, (B,), a copy."""
        self._check_has_tracks()
        return np.array(self.engine.m[0, :, 1], dtype=float)

    def held(self) -> dict[str, AnyArray]:
        """All arrays that the next step depends on, by name, each (B, ...).

        They are the arrays themselves, valid until the next call: the next step reads what is
        written to them. Values supplied by `reset(given=...)` are settings and not included.
        """
        return {
            **held_by(self.engine, self.task), "seeds": self._seeds, "episodes": self._episodes,
            "periods": self._periods, "steps": self.steps, "over": self._over,
        }  # fmt: skip

    def close(self) -> None:
        """Close the environments; further calls raise."""
        self._closed = True

    def reset(
        self,
        seed: int | Sequence[int] | None = None,
        mask: Any = None,
        given: Mapping[str, Any] | None = None,
    ) -> AnyArray:
        """Start new episodes and return their observations (B, n).

        Args:
            seed: seed of the first environment, from which the others count up, or one for each;
                None to continue the current streams, or, at the first reset, for a fresh seed.
            mask: environments to reset, a boolean array (count,); all if None.
            given: values, scalar or (count,), of the task's `Given` parameters, by their names in
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
        """Advance all environments by one control period.

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
        healthy, of = engine.advance(), self._books.of
        of["over"][:], of["steps"][:], of["healthy"][:] = self._over, self.steps, healthy
        self._books.advance()
        if healthy is not True and of["fault"].any():
            self._raise_fault(lambda k: diverged(self.task, k, self.steps[k] + 1))
        # An environment that only restarts in this call does not advance by a period.
        self._periods += of["renewed"] < 0.5
        self.steps[:] = of["steps"]
        engine.judge(of["time"], self._noise(slice(None)))
        sound = self._sound()
        of["ended"][:], of["sound"][:] = engine.ended, sound
        self._books.conclude()
        if sound is not True and of["fault"].any():
            self._raise_fault(self._unsound)
        terminated, truncated = of["terminated"] > 0.5, of["truncated"] > 0.5
        again = np.flatnonzero(of["again"])
        if healthy is not True or again.size:
            engine.reward[(of["failed"] + of["renewed"]) > 0.5] = 0.0
        self.failed[:], self._over[:] = of["failed"], of["over"]
        over = terminated | truncated
        same_step = self.autoreset == "same_step"
        final = engine.observation[again] if same_step else self._nothing[1]
        self.info.advance(self.steps)
        self.ends = NO_ENDS
        if over.any():
            self.ends = self.info.ends_of(over, terminated, self.failed, self.steps)
        if again.size:
            self._restart(again)
        return Stepped(engine.observation, engine.reward, terminated, truncated, again, final)

    def _check_has_tracks(self) -> None:
        if not self.task.tracks:
            raise InvalidValue(f"task {self.task.name!r} has no tracks to progress on")

    def _check_places(self, precision: str) -> None:
        """Raise if the precision is too coarse for the coordinates of the tracks."""
        for k, track in enumerate(self.task.tracks if precision == "float32" else ()):
            far = float(np.abs(track.centre).max())
            if far > FARTHEST:
                raise InvalidValue(
                    f"task {self.task.name!r}: tracks[{k}] reaches {far:.3g} m from the origin, "
                    f"where float32 resolves {far * 2.0 ** (-23):.2g} m: take "
                    "precision='float64', or a track nearer to it"
                )

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
        hit = np.flatnonzero(engine.look(rows, self._noise(rows)) > 0.5)
        if hit.size:
            k = int(rows[hit[0]])
            raise InvalidValue(touching(self.task, k, engine.motion_of(k)))

    def _merged_overrides(self, numbers: Mapping[str, Any] | None) -> dict[int, AnyArray]:
        """All supplied parameter values, (B,) each, by their index among the samples."""
        names, task = self.programs.draws, self.task
        overrides, allowed = dict(self._overrides), task.given
        record.check_names("given", numbers or {}, allowed)
        for name, values in (numbers or {}).items():
            each = np.broadcast_to(np.asarray(values, dtype=float), (self.worlds,))
            overrides[names.index(name)] = np.repeat(each, task.agents)
        missing = [name for name in allowed if names.index(name) not in overrides]
        if missing:
            raise InvalidValue(f"{missing[0]} is Given: reset(given={{{missing[0]!r}: ...}})")
        return overrides

    def _noise(self, rows: Any) -> Array:
        if not self._noise_words.size:
            return _QUIET if isinstance(rows, slice) else np.empty((len(rows), 0))
        # Agents of a world share the samples of their start, but have separate noise.
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
            raise InvalidValue(f"mask must be booleans of shape ({self.worlds},), got {mask!r:.60}")
        return np.repeat(chosen, self.task.agents)

    def _must_be_open(self) -> None:
        if self._closed:
            raise InvalidValue("these environments are closed; make new ones")

    def _raise_fault(self, message: Callable[[int], str]) -> None:
        """Raise the error of the first row that has one, with all rows that have."""
        k, *_ = rows = np.flatnonzero(self._books.of["fault"])
        raise SimulationDiverged(message(int(k)), **self._last(int(k), rows))

    def _sound(self) -> Any:
        """Whether observation and reward of each row are finite, (B,) or True for all.

        Numbers that are not finite are replaced, unless they are errors; rays are always finite.
        """
        engine = self.engine
        values = engine.observation[:, : engine.fields]
        if np.isfinite(values).all() and np.isfinite(engine.reward).all():
            return True
        seen, earned = np.isfinite(values).all(axis=1), np.isfinite(engine.reward)
        if self.on_diverge == "end":
            values[~seen] = np.nan_to_num(values[~seen])
            engine.reward[~earned] = 0.0
        return seen & earned

    def _unsound(self, k: int) -> str:
        values = self.engine.observation[k, : self.engine.fields]
        bad = np.flatnonzero(~np.isfinite(values))
        if not bad.size:
            return reward_not_finite(self.task, k, self.steps[k])
        return not_finite(self.task, k, int(bad[0]), values[bad[0]], self.steps[k])

    def _last(self, k: int, failed: AnyArray) -> dict[str, Any]:
        """Attributes of the error for row `k`, with all rows that failed."""
        State = self.task.vehicle.model.State
        leaves = self.engine.x[0, k, : record.size(State)].tolist()
        return {
            "time": float(self.steps[k] * self.task.dt),
            "last_state": record.unflatten(State, leaves),
            "vehicles": tuple(failed.tolist()),
        }


def held_by(engine: Any, task: Any) -> dict[str, Any]:
    """Arrays of an engine that the next period depends on, by name, each (B, n)."""
    names = ("x", "a", "m", "q", "w", *(("p",) if draws_parameters(task) else ()))
    return {name: getattr(engine, name)[0] for name in names}
