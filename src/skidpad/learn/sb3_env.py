"""Vectorised environments of a task as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import AnyArray
from ..errors import InvalidValue
from .gymnasium_envs import SkidpadVectorEnv
from .saved_task import SavedTask
from .task import Task

if TYPE_CHECKING:
    VecEnv = Any
else:
    from stable_baselines3.common.vec_env import VecEnv


class SkidpadVecEnv(VecEnv):
    """Vectorised environments of a task for Stable-Baselines3.

    An ended episode restarts in the same step; its last observation is in
    `infos[i]["terminal_observation"]`, and `infos[i]["TimeLimit.truncated"]` says whether it was
    truncated by its maximum duration. The infos of ended episodes also have `end_reason`,
    `is_success`, `progress` and laps.

    Args:
        task: a `Task`, the result of `load_task`, or the name of a function of
            `skidpad.learn.tasks`.
        num_envs: number of environments.
        options: arguments of the task's function, if `task` is a name; also `render_mode`,
            `precision`, `threads` and `on_diverge`, as in `SkidpadVectorEnv`.
    """

    def __init__(
        self, task: Task | SavedTask | str = "race", num_envs: int = 1, **options: Any
    ) -> None:
        for name in ("autoreset_mode", "device", "copy", "statistics"):
            if name in options:
                raise InvalidValue(f"SkidpadVecEnv has no option {name}: Stable-Baselines3 sets it")
        self.vector = SkidpadVectorEnv(task, num_envs, autoreset_mode="same_step", **options)
        """The same environments as a Gymnasium vector environment."""
        self._actions: Any = None
        super().__init__(
            num_envs, self.vector.single_observation_space, self.vector.single_action_space
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vector.task.name!r}, num_envs={self.num_envs})"

    def reset(self) -> AnyArray:
        """Start new episodes with the seeds of `seed`; returns observations (num_envs, n)."""
        seeds: list[int | None] = self._seeds
        seed = None if all(one is None for one in seeds) else seeds
        if any(self._options):
            raise InvalidValue("set_options: the environments have no options")
        observation, _ = self.vector.reset(seed=seed)
        self._reset_seeds()
        return observation

    def step_async(self, actions: AnyArray) -> None:
        """Store the actions (num_envs, n) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[AnyArray, AnyArray, AnyArray, list[dict[str, Any]]]:
        """Advance by one control period: observations, rewards, which episodes ended, and infos."""
        if self._actions is None:
            raise InvalidValue("call step_async before step_wait")
        actions, self._actions = self._actions, None
        stepped = self.vector.environments.step(actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        cut_off = stepped.truncated & ~stepped.terminated
        final = stepped.final_observation.copy()
        ended = zip(stepped.ended.tolist(), self.vector.environments.ends.infos, final, strict=True)
        for row, info, last in ended:
            infos[row] = {
                **info, "TimeLimit.truncated": bool(cut_off[row]), "terminal_observation": last,
            }  # fmt: skip
        done = stepped.terminated | stepped.truncated
        return stepped.observation.copy(), stepped.reward.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the environments; further calls raise."""
        self.vector.close()

    def get_images(self) -> Sequence[AnyArray | None]:
        """Images of all environments; None without `render_mode="rgb_array"`."""
        return self.vector.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Value of an attribute, which is the same for all environments, once per index."""
        value = getattr(self.vector, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(
        self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None
    ) -> None:
        """Raise: environments that advance together have no attributes of their own."""
        raise InvalidValue(
            f"{attr_name} cannot be set: environments of a vector are not separate objects; pass "
            "it to the constructor"
        )

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: int | Iterable[int] | None = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Results of a method for some environments; only `render` is supported."""
        if method_name != "render":
            raise AttributeError(
                f"environments of a vector have no method {method_name!r}; the only one is 'render'"
            )
        images = self.get_images()
        return [images[k] for k in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type, indices: int | Iterable[int] | None = None
    ) -> list[bool]:
        """Return False for each environment: no wrappers are used."""
        return [False for _ in self._get_indices(indices)]
