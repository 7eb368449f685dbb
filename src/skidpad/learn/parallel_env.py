"""Several vehicles in one world for PettingZoo: each is an agent, visible to the others' lidars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from ..core import record
from ..core.arrays import AnyArray
from ..errors import InvalidValue
from ..geometry.pixels import Pixels
from .episodes import info_of
from .gymnasium_envs import RENDER_MODES, Rendering, action_space, observation_space, one_world
from .saved_task import SavedTask
from .task import Task

Stepped = tuple[
    dict[str, AnyArray], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]
]


class SkidpadParallelEnv(ParallelEnv[str, AnyArray, AnyArray]):
    """PettingZoo environment of a task: the vehicles of one world are the agents "car_0", "car_1",
    ...

    When one episode ends, the episodes of all agents end: those of the others are truncated.

    Args:
        task: a `Task`, the result of `load_task`, or the name of a function of
            `skidpad.learn.tasks`.
        render_mode: "rgb_array" for images as arrays, "human" for a page in the browser.
        precision: "float32" or "float64".
        threads: threads of the lidars; 1 if None.
        on_diverge: if a state is no longer finite, "raise" an error or "end" the episode.
        options: arguments of the task's function, if `task` is a name.
    """

    def __init__(
        self,
        task: Task | SavedTask | str = "race_others",
        *,
        render_mode: str | None = None,
        precision: str = "float32",
        threads: int | None = None,
        on_diverge: str = "raise",
        **options: Any,
    ) -> None:
        self.environments = one_world(task, options, render_mode, precision, threads, on_diverge)
        self.task = self.environments.task
        self.metadata = {
            "name": f"skidpad/{self.task.name}",
            "render_modes": list(RENDER_MODES),
            "render_fps": 1.0 / self.task.dt,
            "is_parallelizable": True,
        }
        self.render_mode = render_mode
        self.possible_agents = [f"car_{k}" for k in range(self.task.agents)]
        self.agents: list[str] = []
        self._over = False
        names = self.possible_agents
        self.observation_spaces = {name: observation_space(self.task, precision) for name in names}
        self.action_spaces = {name: action_space(self.task, precision) for name in names}
        self._actions = np.zeros((len(names), record.size(self.task.Action)), precision)
        self._rendering = Rendering(self.environments, render_mode)

    def observation_space(self, agent: str) -> Space[AnyArray]:
        """Observation space of an agent, arrays (n,)."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[AnyArray]:
        """Action space of an agent, arrays (n,)."""
        return self.action_spaces[agent]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.task.name!r})"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, AnyArray], dict[str, dict[str, Any]]]:
        """Start an episode; returns observations (n,) and infos by agent.

        Args:
            seed: seed of a new stream of episodes; None to continue the current stream.
            options: ignored, as PettingZoo's own test requires.
        """
        observation = self.environments.reset(seed).copy()
        self.agents, self._over = list(self.possible_agents), False
        self._rendering.begin()
        return self._by_agent(observation), self._infos()

    def step(self, actions: Mapping[str, Any]) -> Stepped:
        """Advance by one control period.

        Returns observations (n,), rewards, terminated, truncated and infos by agent. Action values
        beyond their bounds are clipped.
        """
        self._take(actions)
        stepped = self.environments.step(self._actions)
        terminated, truncated = stepped.terminated.tolist(), stepped.truncated.tolist()
        if any(terminated) or any(truncated):
            self.agents, self._over = [], True
        if self._rendering.human:
            self._rendering.render()
        return (
            self._by_agent(stepped.observation.copy()),
            self._by_agent(stepped.reward.tolist()),
            self._by_agent(terminated),
            self._by_agent(truncated),
            self._infos(),
        )

    def _take(self, actions: Mapping[str, Any]) -> None:
        names = self.possible_agents
        if self._over:
            raise InvalidValue("the episode has ended: call reset() to begin the next one")
        if set(actions) != set(names):
            agents = ", ".join(map(str, actions)) or "none"
            raise InvalidValue(f"actions are given for {agents}; needed are {', '.join(names)}")
        shape = self._actions.shape[1:]
        for k, name in enumerate(names):
            action = np.asarray(actions[name])
            if action.shape != shape or not np.isfinite(action).all():
                raise InvalidValue(
                    f"the action of {name} is {action!r:.60}; it must be {shape[0]} finite numbers"
                )
            self._actions[k] = action

    def _by_agent(self, values: Any) -> dict[str, Any]:
        return dict(zip(self.possible_agents, values, strict=True))

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {name: info_of(self.environments, k) for k, name in enumerate(self.possible_agents)}

    def state(self) -> AnyArray:
        """States of all vehicles in one array, (agents * n,)."""
        return self.environments.state.ravel()

    def render(self) -> Pixels | None:
        """Image (height, width, 3) of bytes; None for "human" and without a render mode."""
        return self._rendering.render()

    def close(self) -> None:
        """Close the environment and its page: further calls raise."""
        self.environments.close()
        self._rendering.close()
