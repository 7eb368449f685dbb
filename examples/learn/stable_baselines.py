"""Stable-Baselines3's PPO learns to race through skidpad's `VecEnv`, as examples/learn/ppo.py does.

python examples/learn/stable_baselines.py --out race_sb3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from laps_judge import judged, write_curve
from race_tasks import WIDE, made_tasks
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from skidpad.learn import stable_baselines_env


class Point(NamedTuple):
    """Of the learning curve: seconds, steps and mean return of the last 100 episodes."""

    seconds: float
    steps: int
    mean_return: float


class Curve(BaseCallback):
    """Adds a point in every update."""

    def _on_training_start(self) -> None:
        self.points, self.begun = list[Point](), time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        returns = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        mean = float(np.mean(returns)) if returns else float("nan")
        self.points.append(Point(time.perf_counter() - self.begun, self.num_timesteps, mean))
        print("  ".join(f"{k} {v:.4g}" for k, v in self.points[-1]._asdict().items()), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, judge on unseen tracks, and write the curve and the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--environments", type=int, default=256)
    parser.add_argument("--steps", type=float, default=2e6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("race_sb3"), help="a folder")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    # VecNormalize makes anything else of a width that it has never seen.
    both, curve = made_tasks(WIDE), Curve()
    cars = VecNormalize(VecMonitor(stable_baselines_env(both["training"], options.environments)))
    model = PPO("MlpPolicy", cars, n_steps=64, batch_size=4096, n_epochs=4, learning_rate=1e-3,
                seed=options.seed, device="cpu")  # fmt: skip
    model.learn(int(options.steps), callback=curve)
    model.save(options.out / "model.zip")
    write_curve(options.out / "curve.csv", curve.points, options.seed)

    def act(observation: torch.Tensor) -> torch.Tensor:
        scaled = cars.normalize_obs(observation.numpy())
        return torch.from_numpy(model.predict(scaled, deterministic=True)[0])

    print(judged(act, both["unseen"], "cpu"))


if __name__ == "__main__":
    main()
