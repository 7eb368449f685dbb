"""One environment of a task for Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ..arrays import AnyArray
from ..checks import one_of
from ..errors import InvalidValue
from ..plane.pixels import Pixels
from .environments import Environments
from .episode_info import info_of
from .named_task import alone, drawable, task_of
from .pictures import RENDER_MODES, Rendering
from .saved_task import SavedTask
from .spaces import action_space, observation_space
from .task import Task

_BESIDE = ("render_mode", "precision", "threads", "on_diverge")


class SkidpadEnv(gymnasium.Env[AnyArray, AnyArray]):
    """One environment of a task.

    Args:
        task: a `Task`, one of `load_task`, or the name of a function of `skidpad.learn.tasks`.
        render_mode: "rgb_array" for pictures as arrays, "human" for a page in the browser.
        precision: "float32" or "float64".
        threads: of the lidar; 1 if None, which is fastest for most.
        on_diverge: "raise" if a state is no longer finite, or "end" the episode.
        options: of the task, if it is a name.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 100.0}  # noqa: RUF012

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
        one_of("render_mode", render_mode, (None, *RENDER_MODES))
        self.task = alone(drawable(task_of(task, options, _BESIDE), render_mode), "SkidpadEnv")
        self.environments = Environments(
            self.task,
            autoreset="disabled",
            precision=precision,
            threads=1 if threads is None else threads,
            on_diverge=on_diverge,
        )
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
        """Begin an episode; returns its first observation (n,) and `info`.

        Args:
            seed: of a new stream of episodes; None to go on with the one there is.
            options: there are none.
        """
        if options:
            raise InvalidValue(f"reset has no option {', '.join(options)}; allowed is none")
        super().reset(seed=seed)
        observation = self.environments.reset(seed)[0].copy()
        self._rendering.begin()
        return observation, info_of(self.environments, 0)

    def step(self, action: Any) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """One control period: observation (n,), reward, terminated, truncated and `info`.

        What is beyond the bounds of the action is cut off.
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
        """A picture (height, width, 3) of bytes, or, for "human", nothing: the page shows it."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() needs a render_mode: make the environment with render_mode='rgb_array' "
                "or 'human'"
            )
            return None
        return self._rendering.render()

    def close(self) -> None:
        """No call is answered any more; the page ends."""
        self.environments.close()
        self._rendering.close()
