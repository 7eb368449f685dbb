"""How drivers that learn are judged, on tracks that they have not seen, and the learning curve."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import torch
from race_tasks import LAPS, AnyTask
from torch import Tensor

from skidpad.bench.timing import machine, versions
from skidpad.learn import Environments


class TensorEnvironments:
    """Environments that take tensors and give tensors, on the processor or the GPU."""

    def __init__(self, task: AnyTask, count: int, device: str, seed: int) -> None:
        self.environments = Environments(task, count, device=device, on_diverge="end")
        self.device = device
        self.observation = self._tensor(self.environments.reset(seed=seed))

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rewards, which episodes ended for good, and which ended at all, each (B,)."""
        stepped = self.environments.step(actions.numpy() if self.device == "cpu" else actions)
        self.observation = self._tensor(stepped.observation)
        terminated, cut_off = self._tensor(stepped.terminated), self._tensor(stepped.truncated)
        return self._tensor(stepped.reward), terminated, terminated | cut_off

    def _tensor(self, values: Any) -> Tensor:
        # A copy: the arrays of the environments change with the next step.
        return torch.as_tensor(values, device=self.device).clone()


class Laps(NamedTuple):
    """How a driver did on tracks that it has not seen."""

    finished: float
    """Share of the drives with a whole lap and no touch."""
    lap_time: float
    """Mean of these in s; NaN if there are none."""
    metres: float
    """Mean distance without a touch, a lap at most."""


@torch.no_grad()
def judged(act: Callable[[Tensor], Tensor], task: AnyTask, device: str, seed: int = 0) -> Laps:
    """One drive in each of `LAPS` environments by `act`, from observations to actions."""
    cars, lap = (
        TensorEnvironments(task, LAPS, device, seed),
        max(track.length for track in task.tracks),
    )
    metres = torch.zeros(LAPS, device=device)
    times = torch.full((LAPS,), math.nan, device=device)
    going = torch.ones(LAPS, dtype=torch.bool, device=device)
    for k in range(task.limit - 1):
        reward, terminated, _ = cars.step(act(cars.observation))
        going &= ~terminated
        after = metres + reward * going
        # Within the period, as if the speed were constant.
        crossing = task.dt * (k + (lap - metres) / (after - metres))
        times = torch.where(going & (after >= lap), crossing, times)
        metres, going = after, going & (after < lap)
        if not going.any():
            break
    done = times.isfinite()
    mean_metres = metres.clamp(max=lap).mean()
    return Laps(float(done.float().mean()), float(times[done].mean()), float(mean_metres))


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


def write_curve(file: Path, rows: Sequence[NamedTuple], seed: int, device: str = "cpu") -> None:
    """A learning curve as CSV, below what it was made with."""
    gpu = torch.cuda.get_device_name() if device == "cuda" else "none"
    about = {"command": " ".join(["python", *sys.argv]), "seed": seed, "gpu": gpu,
             "date": f"{datetime.now(UTC):%Y-%m-%d}", **machine(), **versions(),
             "torch": torch.__version__}  # fmt: skip
    with file.open("w", encoding="utf-8", newline="") as out:
        out.writelines(f"# {key}: {value}\n" for key, value in about.items())
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(rows[0]._fields)
        writer.writerows([f"{value:.6g}" for value in row] for row in rows)
