"""The picture of a training: its curve, and drives of the first and of the last network.

It reads what examples/learn/ppo.py wrote, and needs no PyTorch: the networks are skidpad's.

    python examples/learn/plot_learning.py race --out learned.png
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from race_tasks import SLOWEST, UNSEEN, WIDE, race

from skidpad.control.networks import Network
from skidpad.core import record
from skidpad.learn import Environments, Task
from skidpad.view.plots.style import BLUE, GREY, INK, ORANGE, STYLE

Array = NDArray[np.float64]
CARS = 8
"""Drives of each network in the picture."""
FRESH, FRESH_LAPS = range(2000, 2032), 256
"""Seeds of tracks that nobody looked at while the example was made, and drives on them."""


class Drive(NamedTuple):
    """Positions of one car until it is out, by a crash or because it stood, or has driven a lap."""

    x: Array
    y: Array
    v: Array
    out: bool


def read_curve(file: Path) -> dict[str, Array]:
    """Columns of a curve by name."""
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def drives(network: Network, task: Task, count: int, seed: int = 0) -> list[Drive]:
    """Of a network on the tracks of a task, which are equally long."""
    cars = Environments(task, count)
    observation, lap = cars.reset(seed=seed), task.tracks[0].length
    columns = [record.names(task.vehicle.model.State).index(name) for name in ("x", "y", "v_x")]
    states, metres = [cars.state[:, columns]], np.zeros(count)
    last, out = np.full(count, task.limit), np.zeros(count, np.bool_)
    for k in range(1, task.limit):
        stepped = cars.step(np.column_stack(network(tuple(observation.T))))
        observation = stepped.observation
        metres += stepped.reward
        states.append(cars.state[:, columns])
        over = (last == task.limit) & (stepped.terminated | (metres >= lap))
        out |= over & stepped.terminated
        last[over] = k
        if (last < task.limit).all():
            break
    path = np.array(states)
    return [Drive(*path[: last[k] + 1, k].T, bool(out[k])) for k in range(count)]


def figure(folder: Path, seed: int = UNSEEN[0]) -> Any:
    """Learning curve, and drives on a track that was not trained on, before and after."""
    import matplotlib.pyplot as plt

    curve, task = (
        read_curve(folder / "curve.csv"),
        race([seed], width=WIDE, standing=True, duration=SLOWEST),
    )
    with plt.rc_context(STYLE):
        chart, axes = plt.subplots(1, 3, figsize=(10.0, 3.1), layout="constrained")
        draw_curve(axes[0], curve)
        for place, name in zip(axes[1:], ("first", "last"), strict=True):
            runs = drives(Network.load(folder / f"{name}.npz"), task, CARS)
            lines = draw_drives(place, task, runs)
            done = sum(not run.out and len(run.x) < task.limit for run in runs)
            place.set_title(f"{name.capitalize()} network: {done} of {CARS} laps")
        chart.colorbar(lines, ax=axes[2], label="speed [m/s]", shrink=0.8)
    return chart


def draw_curve(axes: Any, curve: dict[str, Array]) -> None:
    """Share of the laps and their time, over the time of the training."""
    axes.plot(curve["seconds"], 100.0 * curve["finished"], ".-", color=BLUE)
    axes.set(xlabel="training [s]", ylim=(0.0, 104.0), title="On tracks not trained on")
    axes.set_ylabel("laps without a touch [%]", color=BLUE)
    times = axes.twinx()
    times.plot(curve["seconds"], curve["lap_time"], ".-", color=ORANGE)
    times.set_ylabel("mean lap time [s]", color=ORANGE)
    times.set_ylim(bottom=0.0)
    times.grid(visible=False)


def draw_drives(axes: Any, task: Task, runs: Sequence[Drive]) -> Any:
    """The track, paths coloured by speed, and where a car was out."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(task.tracks[0].walls.reshape(-1, 2, 2), color=GREY, lw=0.7))
    points: Any = None
    for run in runs:
        points = axes.scatter(run.x, run.y, c=run.v, s=1.0, vmin=0.0, vmax=30.0)
        axes.plot(run.x[0], run.y[0], "o", color=INK, ms=2.5)
        if run.out:
            axes.plot(run.x[-1], run.y[-1], "x", color=ORANGE, ms=6.0)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    axes.grid(visible=False)
    return points


def fresh_laps(folder: Path) -> str:
    """How the last network does on tracks that nobody looked at."""
    task = race(FRESH, width=WIDE, standing=True, duration=SLOWEST)
    runs = drives(Network.load(folder / "last.npz"), task, FRESH_LAPS)
    times = [task.dt * (len(run.x) - 1) for run in runs if not run.out and len(run.x) < task.limit]
    share, mean = len(times) / len(runs), float(np.mean(times)) if times else float("nan")
    return (
        f"{share:.0%} of {len(runs)} laps on {len(FRESH)} fresh tracks, in {mean:.1f} s on average"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the picture of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="what examples/learn/ppo.py --out was told")
    parser.add_argument("--out", type=Path, default=Path("learned.png"))
    parser.add_argument("--fresh", action="store_true", help="drive on fresh tracks, too")
    options = parser.parse_args(arguments)
    figure(options.folder).savefig(options.out, dpi=130)
    if options.fresh:
        print(fresh_laps(options.folder))


if __name__ == "__main__":
    main()
