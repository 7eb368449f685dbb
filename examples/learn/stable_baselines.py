"""Stable-Baselines3's PPO learns to race through skidpad's `VecEnv`.

python examples/learn/stable_baselines.py --steps 2e6 --out race_sb3
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

import skidpad as sp
from skidpad.learn import tasks
from skidpad.learn.stable_baselines import SkidpadVecEnv


class Curve(BaseCallback):
    """Steps, seconds and mean return at every update."""

    def _on_training_start(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        import time

        episodes = self.model.ep_info_buffer or []
        mean = sum(e["r"] for e in episodes) / max(len(episodes), 1)
        seconds = (time.time_ns() - self.model.start_time) / 1e9
        self.rows.append((f"{seconds:.1f}", str(self.num_timesteps), f"{mean:.1f}"))
        print("seconds {} steps {} mean_return {}".format(*self.rows[-1]), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the curve and the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--environments", type=int, default=256)
    parser.add_argument("--steps", type=float, default=2e6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("race_sb3"), help="a folder")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    tracks = [sp.maps.random_track(seed) for seed in range(32)]
    task = tasks.race(tracks=tracks, dt=0.05, substeps=20, duration=30.0)
    environments = VecNormalize(VecMonitor(SkidpadVecEnv(task, options.environments)))
    model = PPO(
        "MlpPolicy", environments, n_steps=64, batch_size=4096, n_epochs=4, learning_rate=1e-3,
        seed=options.seed, device="cpu",
    )  # fmt: skip
    curve = Curve()
    model.learn(int(options.steps), callback=curve)
    options.out.mkdir(parents=True, exist_ok=True)
    model.save(options.out / "model.zip")
    with (options.out / "curve.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("seconds", "steps", "mean_return"), *curve.rows])


if __name__ == "__main__":
    main()
