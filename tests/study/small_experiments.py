"""Experiments of a few NumPy operations, for tests of everything around them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.core.arrays import AnyArray
from skidpad.random import Draw
from skidpad.run.trajectory import Trajectory
from skidpad.study.experiment import Column, Resources, Rows


@dataclass(frozen=True)
class Bowl:
    """(a - 0.3)² + b² and noise of the run's own; runs with a above `fails_above` fail."""

    columns_more: tuple[str, ...] = ()
    fails_above: float = 2.0
    pause: float = 0.0
    """Time in s that each chunk takes."""
    stops_at: int = -1
    """The run at which somebody presses Ctrl-C."""
    dies_once: str = ""
    """A file; the first process that finds it dies of it, as of kill -9."""
    raises: str = ""
    """What it raises, if anything."""
    block: int = 1
    threaded: bool = True

    def factor_units(self) -> Mapping[str, str]:
        return {"a": "m", "b": ""}

    def columns(self) -> tuple[Column, ...]:
        more = (Column(name, "", "a once more") for name in self.columns_more)
        return (Column("height", "m²", "how high"), Column("high", kind="truth"), *more)

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        if ends.get("a", (0.0, 0.0))[0] < -10.0:
            raise sp.InvalidValue(f"a = {ends['a'][0]} must be at least -10")

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        time.sleep(self.pause)
        if self.raises:
            raise sp.InvalidValue(self.raises)
        if self.stops_at in rows.runs:
            raise KeyboardInterrupt
        if self.dies_once and Path(self.dies_once).exists():
            Path(self.dies_once).unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        a, b = (rows.factors.get(name, np.zeros(len(rows.runs))) for name in "ab")
        noise = Draw(rows.seed, "bowl", rows.runs).normal()[:, 0]
        height = (a - 0.3) ** 2 + b**2 + 0.01 * noise
        failed = a > self.fails_above
        return {
            "height": np.where(failed, np.nan, height),
            "high": (height > 0.25) & ~failed,
            **{name: a.copy() for name in self.columns_more},
            "failed": failed,
        }

    def replay(self, rows: Rows) -> Trajectory:
        t = np.linspace(0.0, 1.0, 5)
        from skidpad.run.trajectory_table import Column as Series

        values = self.evaluate(rows, Resources())["height"][0] * t
        return Trajectory(t, (Series("height", sp.units.Unit("m²"), "state", values),), "bowl")

    def identity(self) -> dict[str, Any]:
        return {"kind": "bowl", "fails_above": self.fails_above, "more": list(self.columns_more)}

    def extends(self, before: Mapping[str, Any]) -> bool:
        more = tuple(before.get("more", ()))
        return self.columns_more[: len(more)] == more and {**before, "more": []} == {
            **self.identity(),
            "more": [],
        }
