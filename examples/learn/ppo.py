"""A network learns to race by PPO, and laps tracks that it has never seen.

It is trained on 64 random tracks and judged on 16 others, from a standing start: a lap counts if no
wall was touched. The curve goes to a CSV file, the network to an .npz file of skidpad. Where there
is no CasADi, as on many machines with a GPU, the tasks are read from files that another wrote.

    python examples/learn/ppo.py --out race
    python examples/learn/ppo.py --save-tasks --out tasks
    python examples/learn/ppo.py --tasks tasks --device cuda --environments 16384 --out race

PPO is that of Schulman et al., "Proximal Policy Optimization Algorithms", 2017, with generalised
advantages (Schulman et al., 2016) and observations scaled by their running mean and deviation.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from laps_judge import Row, TensorEnvironments, judged, write_curve
from race_tasks import LAPS, AnyTask, made_tasks, read_tasks
from torch import Tensor, nn

from skidpad.control.networks import Network
from skidpad.learn import save_task

PARTS = ("simulation", "learning")
"""What is timed."""


@dataclass(frozen=True)
class Settings:
    """Of the training."""

    environments: int = 512
    horizon: int = 64
    """Periods between two updates."""
    epochs: int = 4
    """How often an update sees each period."""
    minibatches: int = 8
    rate: float = 1e-3
    """Of Adam, at most; it falls to a tenth."""
    divergence: float = 0.01
    """Of the actions before and after an update, about: the rate is made smaller beyond it."""
    discount: float = 0.99
    trace: float = 0.97
    """Lambda of the generalised advantages."""
    clip: float = 0.2
    """How far the probability of an action may move in an update, as a share."""
    reward_scale: float = 0.1
    """Of the rewards that it learns from."""
    largest_norm: float = 0.5
    """Of a gradient."""


class Driver(nn.Module):
    """Two networks: what to do, with a spread to explore by, and what that is worth."""

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, inputs: int, outputs: int, width: int = 64) -> None:
        super().__init__()
        self.actor = layers(inputs, width, outputs, last=0.01)
        self.critic = layers(inputs, width, 1, last=1.0)
        self.log_spread = nn.Parameter(torch.full((outputs,), -0.5))
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("variance", torch.ones(inputs))
        self.register_buffer("count", torch.tensor(0.0))

    @property
    def deviation(self) -> Tensor:
        """Of the observations; infinite of what never changed in the training, as the width of the
        tracks: nothing is known of what it means."""
        deviation = self.variance.sqrt()
        return torch.where(deviation > 1e-3, deviation, torch.inf)

    def scaled(self, observation: Tensor) -> Tensor:
        """Observations with about zero mean and unit deviation."""
        return (observation - self.mean) / self.deviation

    def forward(self, observation: Tensor) -> Tensor:
        """What it does, without exploring."""
        return self.actor(self.scaled(observation))

    def learn_scale(self, observation: Tensor) -> None:
        """Take observations (k, n) into the running mean and variance."""
        count = self.count + len(observation)
        share = len(observation) / count
        off = observation.mean(0) - self.mean
        spread = observation.var(0, correction=0)
        self.variance += share * (spread - self.variance + (1.0 - share) * off**2)
        self.mean += share * off
        self.count.copy_(count)

    def logarithm(self, scaled: Tensor, actions: Tensor) -> Tensor:
        """Logarithm of the density of actions (..., n)."""
        off = (actions - self.actor(scaled)) / self.log_spread.exp()
        return -(0.5 * off**2 + self.log_spread + 0.5 * math.log(2.0 * math.pi)).sum(-1)

    def network(self) -> Network:
        """What it does, without exploring, as a network of skidpad that takes observations."""
        state = {
            name: value.detach().cpu().clone() for name, value in self.actor.state_dict().items()
        }
        state["0.weight"] /= self.deviation.cpu()
        state["0.bias"] -= state["0.weight"] @ self.mean.cpu()
        return Network.of_state_dict(state, activation="tanh")


def layers(inputs: int, width: int, outputs: int, *, last: float) -> nn.Sequential:
    """Two hidden layers; `last` is the gain of the output."""
    parts: list[nn.Module] = []
    for before, after, gain in (
        (inputs, width, math.sqrt(2.0)), (width, width, math.sqrt(2.0)), (width, outputs, last)
    ):  # fmt: skip
        linear = nn.Linear(before, after)
        nn.init.orthogonal_(linear.weight, gain)
        nn.init.zeros_(linear.bias)
        parts += [linear, nn.Tanh()]
    return nn.Sequential(*parts[:-1])


class Batch(NamedTuple):
    """What was driven between two updates, (T, B, ...)."""

    logarithm: Tensor
    """Of the density of the actions."""
    advantage: Tensor
    target: Tensor
    """Of the critic."""
    driven: Tensor
    """Whether there was a period: what ended in the last one only begins anew."""
    scaled: Tensor
    """Observations."""
    actions: Tensor


class Trainer:
    """PPO.

    Args:
        task: what is learned.
        settings: how.
        seed: of the network, of what it tries and of the environments.
        device: "cpu" or "cuda".
    """

    def __init__(self, task: AnyTask, settings: Settings, seed: int, device: str) -> None:
        torch.manual_seed(seed)
        self.settings, self.seconds = settings, dict.fromkeys(PARTS, 0.0)
        self.environments = TensorEnvironments(task, settings.environments, device, seed)
        count, inputs = self.environments.observation.shape
        self.driver = Driver(inputs, len(task.Action._fields)).to(device)
        self.driver.learn_scale(self.environments.observation)
        self.adam = torch.optim.Adam(self.driver.parameters(), eps=1e-5)
        self.ended = torch.zeros(count, dtype=torch.bool, device=device)
        self.returns = torch.zeros(count, device=device)
        self.steps, self.rate = 0, settings.rate

    def update(self, progress: float) -> float:
        """Drive, and learn from it; the mean return of the episodes that ended, NaN if none did.

        `progress` is the share of the training that is over.
        """
        batch, mean_return = self.drive()
        with self.timed("learning"):
            self.learn(batch, self.settings.rate * (1.0 - 0.9 * progress))
        return mean_return

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count the seconds meanwhile."""
        begun = time.perf_counter()
        yield
        if self.environments.device == "cuda":
            torch.cuda.synchronize()
        self.seconds[part] += time.perf_counter() - begun

    @torch.no_grad()
    def drive(self) -> tuple[Batch, float]:
        """One horizon in all environments, and the mean return of the episodes that ended."""
        driver, cars = self.driver, self.environments
        rows, seen = list[tuple[Tensor, ...]](), [cars.observation]
        total, episodes = torch.zeros(2, device=cars.device)
        for _ in range(self.settings.horizon):
            scaled, driven = driver.scaled(seen[-1]), ~self.ended
            mean = driver.actor(scaled)
            actions = mean + driver.log_spread.exp() * torch.randn_like(mean)
            logarithm, value = driver.logarithm(scaled, actions), driver.critic(scaled)[:, 0]
            with self.timed("simulation"):
                reward, terminated, self.ended = cars.step(actions)
            rows.append((reward, terminated, self.ended, value, logarithm, driven, scaled, actions))
            seen.append(cars.observation)
            self.returns += reward
            total += (self.returns * self.ended).sum()
            episodes += self.ended.sum()
            self.returns *= ~self.ended
        columns = [torch.stack(column) for column in zip(*rows, strict=True)]
        reward, terminated, ended, values, logarithm, driven, scaled, actions = columns
        last = driver.critic(driver.scaled(seen[-1]))[:, 0]
        advantage = self.advantages(reward, terminated, ended, torch.cat([values, last[None]]))
        driver.learn_scale(torch.cat(seen[1:]))
        self.steps += reward.numel()
        batch = Batch(logarithm, advantage, advantage + values, driven, scaled, actions)
        return batch, float(total / episodes)

    def advantages(
        self, reward: Tensor, terminated: Tensor, ended: Tensor, values: Tensor
    ) -> Tensor:
        """Generalised advantages (T, B); `values` (T + 1, B)."""
        settings = self.settings
        # What was cut off has a future: the observation that follows is still its own.
        future = settings.discount * values[1:] * ~terminated
        errors = settings.reward_scale * reward + future - values[:-1]
        running, advantages = torch.zeros_like(errors[0]), torch.empty_like(errors)
        for t in reversed(range(len(errors))):
            running = errors[t] + settings.discount * settings.trace * running * ~ended[t]
            advantages[t] = running
        return advantages

    def learn(self, batch: Batch, highest: float) -> None:
        """Some epochs of Adam over what was driven, at a rate that is `highest` at most."""
        rows = batch.driven.flatten().nonzero()[:, 0]
        logarithm, advantage, target, _, scaled, actions = (part.flatten(0, 1) for part in batch)
        advantage = (advantage - advantage[rows].mean()) / (advantage[rows].std() + 1e-8)
        for _ in range(self.settings.epochs):
            mixed = rows[torch.randperm(len(rows), device=rows.device)]
            for some in mixed.chunk(self.settings.minibatches):
                now = self.driver.logarithm(scaled[some], actions[some])
                self.set_rate(now.detach() - logarithm[some], highest)
                off = self.driver.critic(scaled[some])[:, 0] - target[some]
                loss = self.surrogate(now - logarithm[some], advantage[some])
                loss = loss + 0.5 * (off**2).mean()
                self.adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.driver.parameters(), self.settings.largest_norm)
                self.adam.step()

    def set_rate(self, change: Tensor, highest: float) -> None:
        """Smaller after large changes of the policy, larger after small ones."""
        # Schulman's estimate of the divergence, "Approximating KL Divergence", 2020.
        divergence = float((change.exp() - 1.0 - change).mean())
        if divergence > 2.0 * self.settings.divergence:
            self.rate /= 1.5
        elif divergence < 0.5 * self.settings.divergence:
            self.rate *= 1.5
        self.rate = min(max(self.rate, 1e-5), highest)
        for group in self.adam.param_groups:
            group["lr"] = self.rate

    def surrogate(self, change: Tensor, advantage: Tensor) -> Tensor:
        """PPO's objective, to be made small; `change` is of the logarithm of the density."""
        ratio, clip = change.exp(), self.settings.clip
        cautious = ratio.clamp(1.0 - clip, 1.0 + clip) * advantage
        return -torch.minimum(ratio * advantage, cautious).mean()


def train(trainer: Trainer, unseen: AnyTask, options: argparse.Namespace) -> list[Row]:
    """Train until the steps or the minutes are over; the learning curve."""
    device, rows = options.device, list[Row]()
    judged(trainer.driver, unseen, device)  # compiles it, which is no part of the curve
    begun, told, mean_return = time.perf_counter(), -math.inf, math.nan
    while True:
        seconds = time.perf_counter() - begun
        progress = max(trainer.steps / options.steps, seconds / (60.0 * options.minutes))
        if progress >= 1.0 or seconds >= told + options.every:
            told, laps = seconds, judged(trainer.driver, unseen, device)
            rates = (trainer.steps / max(trainer.seconds[part], 1e-9) for part in PARTS)
            rows.append(Row(seconds, trainer.steps, mean_return, *laps, *rates))
            print("  ".join(f"{k} {v:.4g}" for k, v in rows[-1]._asdict().items()), flush=True)
        if progress >= 1.0:
            return rows
        mean_return = trainer.update(progress)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print how far it is, and write the curve and the networks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--environments", type=int, default=512)
    parser.add_argument("--horizon", type=int, default=64, help="periods between two updates")
    parser.add_argument("--steps", type=float, default=6e6, help="periods of all environments")
    parser.add_argument("--minutes", type=float, default=10.0, help="at most")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between judgements")
    # The matrices are small: a second thread gains little, and on a busy machine it waits.
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("race"), help="a folder")
    parser.add_argument("--save-tasks", action="store_true", help="only write the tasks to --out")
    parser.add_argument("--tasks", type=Path, help="a folder with such tasks, to do without CasADi")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    both = made_tasks() if options.tasks is None else read_tasks(options.tasks)
    if options.save_tasks:
        for name, task in both.items():
            save_task(task, options.out / f"{name}.task")
        return
    settings = Settings(environments=options.environments, horizon=options.horizon)
    trainer = Trainer(both["training"], settings, options.seed, options.device)
    trainer.driver.network().save(options.out / "first.npz")
    rows = train(trainer, both["unseen"], options)
    trainer.driver.network().save(options.out / "last.npz")
    write_curve(options.out / "curve.csv", rows, options.seed, options.device)
    last = rows[-1]
    print(
        f"{last.finished:.0%} of {LAPS} laps on unseen tracks finished, in {last.lap_time:.1f} s "
        f"on average, after {last.steps:,} steps and {last.seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
