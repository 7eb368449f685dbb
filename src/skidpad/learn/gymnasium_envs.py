"""Tasks as Gymnasium environments: a single one (`SkidpadEnv`) or a vector (`SkidpadVectorEnv`).

The vector runs no Python code per environment. Spaces have the bounds of the task;
`EpisodeStatistics` records return, length and time of episodes as Gymnasium's wrapper does.

`Rendering` shows an environment with its vehicles, as image arrays or on a page in the browser.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Pose, body_of
from ..core.checks import flag, one_of, whole
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.pixels import Pixels
from ..geometry.pose import to_world
from ..random import streams as seeding
from ..units import s
from ..view.frames import FramePainter
from ..view.stage import Polygon, place_vehicle
from .environments import Environments, Stepped
from .episodes import AUTORESET, end_arrays, info_arrays, info_of
from .programs import action_bounds
from .saved_task import SavedTask, require_drawable, require_single, task_of
from .task import Task, lane_of

RENDER_MODES = ("human", "rgb_array")
_MOST_PAINTERS = 64
"""Largest number of cached painters: one per ground, which differs with the goal."""


class Seen(NamedTuple):
    """State of one vehicle in a rendered environment."""

    vehicle: Vehicle
    """Vehicle with the parameters of this episode."""
    x: Any
    u: Any
    """Input of the last control period."""
    ranges: AnyArray
    """Ranges of its lidar in m; empty without a lidar."""


class SeenMoment(NamedTuple):
    """State of one rendered environment at the current time."""

    time: s
    """Time since the start of the episode."""
    track: int | None
    """Index of its track, or None."""
    marks: tuple[Polygon, ...]
    """Markings on the ground."""
    vehicles: tuple[Seen, ...]


class Rendering:
    """Display of one environment: as images, on a page, or not at all.

    Args:
        environments: environments with one world.
        mode: "rgb_array", "human" or None.
    """

    def __init__(self, environments: Environments, mode: str | None) -> None:
        self.human = mode == "human"
        self._environments, self._mode, self._begun = environments, mode, False
        self._pictures = Pictures(environments)
        self._page: Any = None

    def begin(self) -> None:
        self._begun = True
        if self.human:
            self.render()

    def render(self) -> Pixels | None:
        """Image (height, width, 3), or None if it is shown on the page."""
        if not self._begun:
            raise InvalidValue("no episode has begun: call reset() before render()")
        if not self.human:
            return self._pictures.frame(0) if self._mode else None
        if self._page is None:
            from ..view.live.server import EpisodePage

            self._page = EpisodePage(self._environments.task)
        self._page.show(self._pictures.moment(0))
        return None

    def close(self) -> None:
        page, self._page, self._begun = self._page, None, False
        if page is not None:
            page.close()


class Pictures:
    def __init__(self, environments: Environments) -> None:
        self._environments, self._task = environments, environments.task
        self._lanes: dict[int, Polygon] = {}
        self._painters: dict[tuple[Any, ...], FramePainter] = {}

    def frame(self, world: int) -> Pixels:
        """Image (height, width, 3) of one environment, centred on its first vehicle."""
        moment = self.moment(world)
        shown = (moment.track, moment.marks)
        painter = self._painters.get(shown)
        if painter is None:
            if len(self._painters) >= _MOST_PAINTERS:
                self._painters.clear()
            of_track: dict[str, Any] = {}
            if moment.track is not None:
                track = self._task.tracks[moment.track]
                of_track = {"walls": track.walls, "grid": track.grid}
            painter = self._painters[shown] = FramePainter(polygons=moment.marks, **of_track)
        shapes = [place_vehicle(one.vehicle, one.x, u=one.u) for one in moment.vehicles]
        hits = [self._hits(one) for one in moment.vehicles]
        return painter.frame(shapes, lidar=np.concatenate(hits))

    def moment(self, world: int) -> SeenMoment:
        """Current state of one environment, ready to be drawn."""
        environments, task = self._environments, self._task
        engine: Any = environments.engine
        rows = range(world * task.agents, (world + 1) * task.agents)
        track = int(engine.q[0, rows[0], 0]) if task.tracks else None
        time = float(environments.steps[rows[0]] * task.dt)
        marks = self._marks(engine, rows[0], track)
        return SeenMoment(time, track, marks, tuple(self._seen(engine, row) for row in rows))

    def _marks(self, engine: Any, row: int, track: int | None) -> tuple[Polygon, ...]:
        task = self._task
        if task.marks is not None:
            m = record.unflatten(task.Memory, _last(engine.m[0, row], record.size(task.Memory)))
            return tuple(task.called("marks", {"m": m, "q": self._own(engine, row)}))
        if track is None:
            return ()
        if track not in self._lanes:
            self._lanes[track] = lane_of(task.tracks[track])
        return (self._lanes[track],)

    def _own(self, engine: Any, row: int) -> Any:
        """Parameters of the task in this episode."""
        Params = self._task.Params
        return record.unflatten(Params, _last(engine.q[0, row], record.size(Params)))

    def _seen(self, engine: Any, row: int) -> Seen:
        task, model = self._task, self._task.vehicle.model
        x = record.unflatten(model.State, engine.x[0, row, : record.size(model.State)].tolist())
        leaves = engine.p[0, row if engine.p.shape[1] > 1 else 0, : record.size(model.Params)]
        vehicle = task.vehicle
        if any(name.startswith("params.") for name in task.randomised):
            vehicle = vehicle.with_params(record.unflatten(model.Params, leaves.tolist()))
        a = record.unflatten(task.Action, engine.a[0, row].tolist())
        q = self._own(engine, row)
        u = task.called("act", {"x": x, "a": a, "p": task.vehicle.params, "q": q, "dt": task.dt})
        fields = record.size(task.Observation)
        reach = 0.0 if task.lidar is None else task.lidar.range
        return Seen(vehicle, x, u, engine.observation[row, fields:] * reach)

    def _hits(self, seen: Seen) -> Array:
        """Points (n, 2) hit by the lidar of a vehicle, in the world frame, in m."""
        lidar = self._task.lidar
        if lidar is None:
            return np.empty((0, 2))
        body = body_of(seen.vehicle, "a picture")
        pose = Pose(*map(float, body.pose(seen.x, seen.vehicle.params)))
        x, y = to_world(pose, lidar.x, lidar.y)
        ranges = np.asarray(seen.ranges.tolist())
        hit = ranges < 0.999 * lidar.range
        along = lidar.angles[hit] + pose.yaw
        reach = ranges[hit]
        return np.column_stack([x + reach * np.cos(along), y + reach * np.sin(along)])


def _last(values: Any, count: int) -> list[float]:
    numbers = values.tolist()
    return numbers[len(numbers) - count :]


def observation_space(task: Task, precision: str) -> Box:
    """Observation space: values normalised by their bounds to [-1, 1], then ranges to [0, 1]."""
    fields = record.size(task.Observation)
    rays = 0 if task.lidar is None else task.lidar.rays
    low = np.concatenate([np.full(fields, -1.0), np.zeros(rays)])
    dtype = np.dtype(precision).type
    return Box(low.astype(dtype), np.ones(fields + rays, dtype), dtype=dtype)


def action_space(task: Task, precision: str) -> Box:
    dtype = np.dtype(precision).type
    low, high = (np.array(ends, dtype) for ends in action_bounds(task))
    return Box(low, high, dtype=dtype)


_OPTIONS = ("render_mode", "precision", "threads", "on_diverge")


def one_world(
    task: Task | SavedTask | str,
    options: dict[str, Any],
    render_mode: str | None,
    precision: str,
    threads: int | None,
    on_diverge: str,
    *,
    single: str = "",
) -> Environments:
    """One world of a task for an interface.

    Raises for a task with several agents if `single` names the interface, which has one agent.
    """
    one_of("render_mode", render_mode, (None, *RENDER_MODES))
    made = require_drawable(task_of(task, options, _OPTIONS), render_mode)
    return Environments(
        require_single(made, single) if single else made,
        autoreset="disabled",
        precision=precision,
        threads=1 if threads is None else threads,
        on_diverge=on_diverge,
    )


class SkidpadEnv(gymnasium.Env[AnyArray, AnyArray]):
    """Gymnasium environment of a task.

    Args:
        task: a `Task`, the result of `load_task`, or the name of a function of
            `skidpad.learn.tasks`.
        render_mode: "rgb_array" for images as arrays, "human" for a page in the browser.
        precision: "float32" or "float64".
        threads: threads of the lidar; 1 if None, which is fastest in most cases.
        on_diverge: if a state is no longer finite, "raise" an error or "end" the episode.
        options: arguments of the task's function, if `task` is a name.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(RENDER_MODES),
        "render_fps": 100.0,
    }

    def __init__(
        self,
        task: Task | SavedTask | str = "race",
        *,
        render_mode: str | None = None,
        precision: str = "float32",
        threads: int | None = None,
        on_diverge: str = "raise",
        **options: Any,
    ) -> None:
        self.environments = one_world(
            task, options, render_mode, precision, threads, on_diverge, single="SkidpadEnv"
        )
        self.task = self.environments.task
        self.observation_space = observation_space(self.task, precision)
        self.action_space = action_space(self.task, precision)
        self.metadata = {**self.metadata, "render_fps": 1.0 / self.task.dt}
        self.render_mode = render_mode
        self._rendering = Rendering(self.environments, render_mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.task.name!r})"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start an episode; returns its first observation (n,) and `info`.

        Args:
            seed: seed of a new stream of episodes; None to continue the current stream.
            options: not used.
        """
        if options:
            raise InvalidValue(f"reset has no option {', '.join(options)}; allowed is none")
        super().reset(seed=seed)
        observation = self.environments.reset(seed)[0].copy()
        self._rendering.begin()
        return observation, info_of(self.environments, 0)

    def step(self, action: Any) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """Advance by one control period: observation (n,), reward, terminated, truncated and
        `info`.

        Action values beyond their bounds are clipped.
        """
        stepped = self.environments.step(np.asarray(action)[None])
        if self._rendering.human:
            self._rendering.render()
        return (
            stepped.observation[0].copy(),
            stepped.reward.item(),
            stepped.terminated.item(),
            stepped.truncated.item(),
            info_of(self.environments, 0),
        )

    def render(self) -> Pixels | None:
        """Image (height, width, 3) of bytes, or None for "human", which shows it on its page."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() needs a render_mode: make the environment with render_mode='rgb_array' "
                "or 'human'"
            )
            return None
        return self._rendering.render()

    def close(self) -> None:
        """Close the environment and its page; further calls raise."""
        self.environments.close()
        self._rendering.close()


class EpisodeStatistics:
    """Return, length and time of the current episodes."""

    def __init__(self, count: int) -> None:
        self._returns = np.zeros(count)
        self._lengths = np.zeros(count, np.int64)
        self._since = np.full(count, perf_counter())

    def begin(self, which: AnyArray | None = None) -> None:
        """Reset the statistics of the environments of a mask (count,), or of all if None."""
        rows = slice(None) if which is None else which
        self._returns[rows] = self._lengths[rows] = 0
        self._since[rows] = perf_counter()

    def infos(
        self, rewards: AnyArray, ended: AnyArray, restarted: AnyArray | None
    ) -> dict[str, Any]:
        """Statistics of the episodes that ended in this period, as an `info` entry.

        Args:
            rewards: rewards of the period, (count,).
            ended: mask of the episodes that ended in it, (count,).
            restarted: indices of the environments that only restarted in this period; None if an
                episode starts in the same call in which the previous one ends.
        """
        self._returns += rewards
        self._lengths += 1
        if restarted is not None and len(restarted):
            self.begin(restarted)
        if not ended.any():
            return {}
        times = np.round(perf_counter() - self._since, 6)
        episode = {
            "r": np.where(ended, self._returns, 0.0),
            "l": np.where(ended, self._lengths, 0),
            "t": np.where(ended, times, 0.0),
        }
        if restarted is None:
            self.begin(ended)
        return {"episode": episode, "_episode": ended}


VECTOR_RENDER_MODES = ("rgb_array",)
_VECTOR_OPTIONS = (
    *("num_envs", "autoreset_mode", "render_mode", "precision", "device", "library"),
    *("threads", "on_diverge", "copy", "statistics"),
)
_MODES: dict[str, str] = {mode: mode.upper() for mode in AUTORESET}


class SkidpadVectorEnv(VectorEnv[Any, Any, Any]):
    """Gymnasium vector environment of a task.

    The results equal those of `gymnasium.vector.SyncVectorEnv` with `SkidpadEnv` bit for bit.

    Args:
        task: a `Task`, the result of `load_task`, or the name of a function of
            `skidpad.learn.tasks`.
        num_envs: number of environments.
        autoreset_mode: when an ended episode restarts: an `AutoresetMode`, or "next_step",
            "same_step" or "disabled".
        render_mode: "rgb_array" for images as arrays.
        precision: "float32" or "float64".
        device: "cpu" or "cuda". With "cuda", actions and results are arrays on the GPU, rewards
            have the same precision as observations, and with "same_step" every call returns
            `final_obs`, valid in the rows of `_final_obs`: counting them would wait for the device.
        library: array library on the GPU: "cupy", "torch" or "jax".
        threads: threads on the CPU; all processors if None.
        on_diverge: if a state is no longer finite, "raise" an error or "end" the episode.
        copy: whether to return copies of observations; if not, they change with the next call.
        statistics: whether `infos["episode"]` has return, length and time of ended episodes, as
            with `gymnasium.wrappers.vector.RecordEpisodeStatistics`.
        options: arguments of the task's function, if `task` is a name.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": list(VECTOR_RENDER_MODES),
        "render_fps": 100.0,
    }

    def __init__(
        self,
        task: Task | SavedTask | str = "race",
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        precision: str = "float32",
        device: str = "cpu",
        library: str | None = None,
        threads: int | None = None,
        on_diverge: str = "raise",
        copy: bool = True,
        statistics: bool = False,
        **options: Any,
    ) -> None:
        one_of("render_mode", render_mode, (None, *VECTOR_RENDER_MODES))
        mode = _mode(autoreset_mode)
        self._on_host = device == "cpu"
        if not self._on_host and flag("statistics", statistics):
            raise InvalidValue("statistics are counted on the host: leave them out on the GPU")
        if self._on_host and library is not None:
            raise InvalidValue(f"library = {library!r} is for arrays on the GPU: omit it here")
        self.copy, self.render_mode = flag("copy", copy), render_mode
        self.num_envs = whole("num_envs", num_envs, "at least 1")
        self.task = require_single(
            require_drawable(task_of(task, options, _VECTOR_OPTIONS), render_mode),
            "SkidpadVectorEnv",
        )
        self.environments = Environments(
            self.task,
            self.num_envs,
            autoreset=mode,
            precision=precision,
            device=device,
            threads=threads,
            on_diverge=on_diverge,
            **({} if library is None else {"library": library}),
        )
        self.environments.masked_reset = 'reset(options={"reset_mask": mask})'
        self.single_observation_space = observation_space(self.task, precision)
        self.single_action_space = action_space(self.task, precision)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {
            **self.metadata,
            "render_fps": 1.0 / self.task.dt,
            "autoreset_mode": AutoresetMode[_MODES[mode]],
        }
        self._same_step = mode == "same_step"
        self._statistics = (
            EpisodeStatistics(self.num_envs) if flag("statistics", statistics) else None
        )
        self._begun = False
        self._pictures: Pictures | None = None

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start new episodes; returns the observations (num_envs, n) and infos.

        Args:
            seed: seed of the first environment, from which the others count up, or one for each,
                where None continues the stream of that environment.
            options: `{"reset_mask": mask}` with a boolean array (num_envs,) to reset some
                environments.
        """
        mask = self._mask(options)
        if isinstance(seed, (list, tuple, np.ndarray)):
            observation = self._reset_each(list(seed), mask)
        else:
            super().reset(seed=seed)
            observation = self.environments.reset(seed, mask)
        self._begun = True
        if self._statistics is not None:
            self._statistics.begin(mask)
        infos = self.environments.info.of_rows(mask) if self._on_host else {}
        return _copied(observation) if self.copy else observation, infos

    def _reset_each(self, seeds: list[int | None], mask: AnyArray | None) -> AnyArray:
        """Reset with one seed per environment; None continues its stream."""
        if len(seeds) != self.num_envs:
            raise InvalidValue(f"{len(seeds)} seeds are given for {self.num_envs} environments")
        has_seed = np.array([one is not None for one in seeds])
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else mask
        if has_seed[chosen].all() or not self._begun:
            each = [seeding.fresh() >> 1 if one is None else one for one in seeds]
            return self.environments.reset(each, mask)
        each = [seeding.checked(one or 0) for one in seeds]
        observation = self.environments.reset(mask=chosen & ~has_seed)
        if (chosen & has_seed).any():
            observation = self.environments.reset(each, chosen & has_seed)
        return observation

    def step(self, actions: Any) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, dict[str, Any]]:
        """Advance all environments by one control period.

        Returns observations (num_envs, n), rewards, terminated, truncated (num_envs,) and infos.
        Action values beyond their bounds are clipped.
        """
        stepped = self.environments.step(actions)
        if not self._on_host:
            return self._device_step(stepped)
        observation = stepped.observation
        terminated, truncated = stepped.terminated.copy(), stepped.truncated.copy()
        rewards = stepped.reward.astype(np.float64)
        infos = self.environments.info.of_rows()
        if self._same_step:
            infos |= self._final(stepped)
        else:
            infos |= end_arrays(self.environments.ends, self.num_envs)
        if self._statistics is not None:
            anew = None if self._same_step else stepped.ended
            infos |= self._statistics.infos(rewards, terminated | truncated, anew)
        return (
            observation.copy() if self.copy else observation,
            rewards,
            terminated,
            truncated,
            infos,
        )

    def _device_step(self, stepped: Stepped) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, *rest = stepped
        reward, terminated, truncated, anew, final = map(_copied, rest)
        infos: dict[str, Any] = {}
        if self._same_step:
            infos = {"final_obs": final, "_final_obs": anew, "final_info": {}, "_final_info": anew}
        seen = _copied(observation) if self.copy else observation
        return seen, reward, terminated, truncated, infos

    def _final(self, stepped: Stepped) -> dict[str, Any]:
        """Info entries with the last observations of the episodes that ended in this call."""
        rows, final = stepped.ended, stepped.final_observation
        if not len(rows):
            return {}
        seen = np.full(self.num_envs, None, np.object_)
        seen[rows] = np.fromiter(final.copy(), np.object_, len(rows))
        which = np.zeros(self.num_envs, np.bool_)
        which[rows] = True
        return {
            "final_obs": seen,
            "_final_obs": which,
            "final_info": info_arrays(self.environments.ends, self.num_envs),
            "_final_info": which.copy(),
        }

    def render(self) -> tuple[Pixels, ...] | None:
        """Image (height, width, 3) of bytes for each environment; None without a render mode."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise InvalidValue("no episode has begun: call reset() before render()")
        if self._pictures is None:
            self._pictures = Pictures(self.environments)
        return tuple(map(self._pictures.frame, range(self.num_envs)))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments; further calls raise."""
        self.environments.close()

    def _mask(self, options: dict[str, Any] | None) -> AnyArray | None:
        entries = options or {}
        for name in entries:
            if name != "reset_mask":
                raise InvalidValue(f"reset has no option {name}; allowed is reset_mask")
        mask = entries.get("reset_mask")
        if mask is None:
            return None
        truths = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
        if not truths or mask.shape != (self.num_envs,) or not mask.any():
            raise InvalidValue(
                f"options['reset_mask'] must be an array of booleans of shape ({self.num_envs},) "
                f"with at least one True, got {mask!r:.60}"
            )
        return mask


def _copied(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def _mode(mode: Any) -> str:
    """Name of a Gymnasium autoreset mode in `Environments`."""
    if isinstance(mode, AutoresetMode):
        return next(ours for ours, theirs in _MODES.items() if theirs == mode.name)
    # Gymnasium's own text for a mode, or ours.
    known = {AutoresetMode[theirs].value: ours for ours, theirs in _MODES.items()}
    if isinstance(mode, str):
        mode = known.get(mode, mode.lower())
    one_of("autoreset_mode", mode, AUTORESET)
    return mode
