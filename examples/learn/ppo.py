"""A network learns to race by PPO, and laps tracks that it has never seen.

It is trained on 32 random tracks and judged on 16 others, from a standing start: a lap counts if no
wall was touched. The curve goes to a CSV file, the network to an .npz file of skidpad.

    python examples/learn/ppo.py --out race
    python examples/learn/ppo.py --device cuda --environments 16384 --out race

PPO is that of Schulman et al., "Proximal Policy Optimization Algorithms", 2017, with generalised
advantages (Schulman et al., 2016) and observations scaled by their running mean and deviation.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

import skidpad as sp
from skidpad.bench.machine import machine, versions
from skidpad.learn import Environments, Task, tasks
from skidpad.networks import Network

LENGTH = 300.0
"""Of a lap in m."""
TRAINING = range(32)
"""Seeds of the tracks that it learns on."""
UNSEEN = range(1000, 1016)
"""Seeds of the tracks that it is judged on."""
PERIOD, SUBSTEPS = 0.05, 20
"""Of the driver in s, and steps of the integrator in it."""
LAPS = 64
"""Drives of a judgement: each begins somewhere on one of the unseen tracks."""
EPISODE, SLOWEST = 30.0, 60.0
"""Longest time of an episode of the training, and of a lap that counts, in s."""
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
    """Of Adam at the start; it falls to a tenth."""
    discount: float = 0.99
    trace: float = 0.95
    """Lambda of the generalised advantages."""
    clip: float = 0.2
    """How far the probability of an action may move in an update, as a share."""
    entropy: float = 0.0
    reward_scale: float = 0.1
    """Of the rewards that it learns from."""
    largest_norm: float = 0.5
    """Of a gradient."""


def race(seeds: Sequence[int], *, standing: bool, duration: float) -> Task:
    """The task on random tracks, from standing or flying starts."""
    speed = 0.0 if standing else {"range": [0.0, 12.0]}
    tracks = [sp.maps.random_track(seed, length=LENGTH) for seed in seeds]
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.3, 0.3]}, "v": speed}
    return tasks.race(tracks=tracks, draws=draws, dt=PERIOD, substeps=SUBSTEPS, duration=duration)


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
        self.register_buffer("count", torch.tensor(1.0))

    def scaled(self, observation: Tensor) -> Tensor:
        """Observations with about zero mean and unit deviation."""
        # What hardly changes on the tracks of the training must not become large on others.
        return (observation - self.mean) / self.variance.sqrt().clamp(min=0.02)

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
        per = 1.0 / self.variance.sqrt().clamp(min=0.02).cpu()
        state["0.weight"] *= per
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


class Course:
    """Environments that take tensors and give tensors, on the processor or the GPU."""

    def __init__(self, task: Task, count: int, device: str, seed: int) -> None:
        self.environments = Environments(task, count, device=device, on_diverge="end")
        self.device = device
        self.observation = self._tensor(self.environments.reset(seed=seed))

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rewards, which episodes ended for good, and which ended at all, each (B,)."""
        stepped = self.environments.step(actions.numpy() if self.device == "cpu" else actions)
        self.observation = self._tensor(stepped.observation)
        terminated = self._tensor(stepped.terminated).clone()
        return (
            self._tensor(stepped.reward),
            terminated,
            terminated | self._tensor(stepped.truncated),
        )

    def _tensor(self, values: Any) -> Tensor:
        return torch.as_tensor(values, device=self.device)


class Batch(NamedTuple):
    """What was driven between two updates; (T, B) but for the last two, (T, B, n)."""

    logarithm: Tensor
    advantage: Tensor
    target: Tensor
    """Of the critic."""
    counts: Tensor
    """Whether the period was driven: what ended in the last one only begins anew."""
    scaled: Tensor
    """Observations."""
    actions: Tensor


@dataclass
class Clock:
    """Seconds that parts of the training took."""

    device: str
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Count what is done meanwhile."""
        begun = time.perf_counter()
        yield
        if self.device == "cuda":
            torch.cuda.synchronize()
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begun


class Trainer:
    """PPO.

    Args:
        task: what is learned.
        settings: how.
        seed: of the network, of what it tries and of the environments.
        device: "cpu" or "cuda".
    """

    def __init__(self, task: Task, settings: Settings, seed: int, device: str) -> None:
        torch.manual_seed(seed)
        self.settings, self.clock = settings, Clock(device)
        self.course = Course(task, settings.environments, device, seed)
        count, inputs = self.course.observation.shape
        self.driver = Driver(inputs, len(task.Action._fields)).to(device)
        self.driver.learn_scale(self.course.observation)
        self.adam = torch.optim.Adam(self.driver.parameters(), eps=1e-5)
        self.begins = torch.zeros(count, dtype=torch.bool, device=device)
        self.returns = torch.zeros(count, device=device)
        self.steps = 0

    def update(self, progress: float) -> float:
        """Drive, and learn from it; the mean return of the episodes that ended, NaN if none did.

        `progress` is the share of the training that is over.
        """
        batch, mean = self.drive()
        with self.clock("learning"):
            self.learn(batch, self.settings.rate * (1.0 - 0.9 * progress))
        return mean

    @torch.no_grad()
    def drive(self) -> tuple[Batch, float]:
        """One horizon in all environments, and the mean return of the episodes that ended."""
        driver, course, seen = self.driver, self.course, [self.course.observation.clone()]
        rows: list[tuple[Tensor, ...]] = []
        total, episodes = torch.zeros_like(self.returns[0]), 0
        for _ in range(self.settings.horizon):
            scaled, counts = driver.scaled(seen[-1]), ~self.begins
            mean = driver.actor(scaled)
            actions = mean + driver.log_spread.exp() * torch.randn_like(mean)
            logarithm, value = driver.logarithm(scaled, actions), driver.critic(scaled)[:, 0]
            with self.clock("simulation"):
                reward, terminated, self.begins = course.step(actions)
            seen.append(course.observation.clone())
            self.returns += reward
            total += (self.returns * self.begins).sum()
            episodes = episodes + self.begins.sum()
            self.returns *= ~self.begins
            kept = (reward.clone(), terminated, self.begins, value, logarithm, counts, scaled)
            rows.append((*kept, actions))
        last = driver.critic(driver.scaled(seen[-1]))[:, 0]
        reward, terminated, ended, values, *others = (
            torch.stack(c) for c in zip(*rows, strict=True)
        )
        advantage = self.advantages(reward, terminated, ended, torch.cat([values, last[None]]))
        logarithm, counts, scaled, actions = others
        driver.learn_scale(torch.cat(seen[1:]))
        self.steps += reward.numel()
        batch = Batch(logarithm, advantage, advantage + values, counts, scaled, actions)
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

    def learn(self, batch: Batch, rate: float) -> None:
        """Some epochs of Adam over what was driven."""
        for group in self.adam.param_groups:
            group["lr"] = rate
        rows = batch.counts.flatten().nonzero()[:, 0]
        logarithm, advantage, target, _, scaled, actions = (part.flatten(0, 1) for part in batch)
        advantage = (advantage - advantage[rows].mean()) / (advantage[rows].std() + 1e-8)
        for _ in range(self.settings.epochs):
            mixed = rows[torch.randperm(len(rows), device=rows.device)]
            for some in mixed.chunk(self.settings.minibatches):
                now = self.driver.logarithm(scaled[some], actions[some])
                off = self.driver.critic(scaled[some])[:, 0] - target[some]
                loss = (
                    self.surrogate(now - logarithm[some], advantage[some]) + 0.5 * (off**2).mean()
                )
                loss = loss - self.settings.entropy * self.driver.log_spread.sum()
                self.adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.driver.parameters(), self.settings.largest_norm)
                self.adam.step()

    def surrogate(self, change: Tensor, advantage: Tensor) -> Tensor:
        """PPO's objective, to be made small; `change` is of the logarithm of the density."""
        ratio, clip = change.exp(), self.settings.clip
        return -torch.minimum(
            ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage
        ).mean()


class Laps(NamedTuple):
    """How a driver did on tracks that it has not seen."""

    finished: float
    """Share of the drives with a whole lap and no touch."""
    lap_time: float
    """Mean of these in s; NaN if there are none."""
    metres: float
    """Mean distance without a touch, a lap at most."""


@torch.no_grad()
def judged(driver: Driver, task: Task, device: str, seed: int = 0) -> Laps:
    """One lap in each of so many environments, without exploring."""
    course = Course(task, LAPS, device, seed)
    metres = torch.zeros(LAPS, device=device)
    laps = torch.full((LAPS,), math.nan, device=device)
    going = torch.ones(LAPS, dtype=torch.bool, device=device)
    for k in range(task.limit - 1):
        reward, terminated, _ = course.step(driver.actor(driver.scaled(course.observation)))
        going &= ~terminated
        after = metres + reward * going
        # Within the period, as if the speed were constant.
        time_there = PERIOD * (k + (LENGTH - metres) / (after - metres))
        laps = torch.where(going & (after >= LENGTH), time_there, laps)
        metres, going = after, going & (after < LENGTH)
        if not going.any():
            break
    done = laps.isfinite()
    return Laps(
        float(done.float().mean()), float(laps[done].mean()), float(metres.clamp(max=LENGTH).mean())
    )


class Row(NamedTuple):
    """A point of the learning curve."""

    seconds: float
    """Since the start of the training, judgements included."""
    steps: int
    """Control periods that were driven, in all environments together."""
    mean_return: float
    """Of the episodes of the training that ended in the last update."""
    finished: float
    """This and the next two are those of `Laps`."""
    lap_time: float
    metres: float
    simulation_rate: float
    """Steps in a second of the simulation alone."""
    learning_rate: float
    """Steps in a second of the updates of the networks alone."""


def train(trainer: Trainer, options: argparse.Namespace) -> list[Row]:
    """Train until the steps or the minutes are over; the learning curve."""
    unseen = race(UNSEEN, standing=True, duration=SLOWEST)
    judged(trainer.driver, unseen, options.device)  # compiles it, which is no part of the curve
    trainer.clock.seconds.clear()
    rows: list[Row] = []
    begun, told, mean_return = time.perf_counter(), -math.inf, math.nan
    while True:
        seconds = time.perf_counter() - begun
        progress = max(trainer.steps / options.steps, seconds / (60.0 * options.minutes))
        if progress >= 1.0 or seconds >= told + options.every:
            told, laps = seconds, judged(trainer.driver, unseen, options.device)
            rates = (trainer.steps / trainer.clock.seconds.get(p, math.inf) for p in PARTS)
            rows.append(Row(seconds, trainer.steps, mean_return, *laps, *rates))
            print("  ".join(f"{k} {v:.4g}" for k, v in rows[-1]._asdict().items()), flush=True)
        if progress >= 1.0:
            return rows
        mean_return = trainer.update(progress)


def write_curve(file: Path, rows: Sequence[Row], options: argparse.Namespace) -> None:
    """The curve as CSV, below what it was made with."""
    gpu = torch.cuda.get_device_name() if options.device == "cuda" else "none"
    about = {"command": " ".join(["python", *sys.argv]), "seed": options.seed, "gpu": gpu,
             "date": f"{datetime.now(UTC):%Y-%m-%d}", **machine(), **versions(),
             "torch": torch.__version__}  # fmt: skip
    with file.open("w", encoding="utf-8", newline="") as out:
        out.writelines(f"# {key}: {value}\n" for key, value in about.items())
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows([f"{value:.6g}" for value in row] for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print how far it is, and write the curve and the networks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--environments", type=int, default=512)
    parser.add_argument("--horizon", type=int, default=64, help="periods between two updates")
    parser.add_argument("--steps", type=float, default=5e6, help="periods of all environments")
    parser.add_argument("--minutes", type=float, default=10.0, help="at most")
    parser.add_argument("--every", type=float, default=15.0, help="seconds between judgements")
    # The matrices are small: a second thread gains little, and on a busy machine it waits.
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("race"), help="a folder")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    settings = Settings(environments=options.environments, horizon=options.horizon)
    task = race(TRAINING, standing=False, duration=EPISODE)
    trainer = Trainer(task, settings, options.seed, options.device)
    trainer.driver.network().save(options.out / "first.npz")
    rows = train(trainer, options)
    trainer.driver.network().save(options.out / "last.npz")
    write_curve(options.out / "curve.csv", rows, options)
    last = rows[-1]
    print(
        f"{last.finished:.0%} of {LAPS} laps on unseen tracks finished, in {last.lap_time:.1f} s on "
        f"average, after {last.steps:,} steps and {last.seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
