"""What the vehicles of a world did during a run, and how that looks from 80 columns up."""

from __future__ import annotations

from math import degrees

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..world.world import World

COLUMNS = ("distance", "top speed", "peak acc.", "contact", "x", "y", "yaw")
UNITS = ("m", "m/s", "m/s²", "steps", "m", "m", "°")


class Tally:
    """Sums and extremes of a run, kept up to date with `add` after every step.

    Arrays have one number per vehicle, in the order of `world.vehicles`.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        count = len(world.vehicles)
        self.steps = 0
        self.distance = np.zeros(count)
        """In m, of the reference point along its path."""
        self.top_speed = np.zeros(count)
        """In m/s."""
        self.peak_acceleration = np.zeros(count)
        """In m/s²: the largest change of velocity in a step, by the length of the step."""
        self.contacts = np.zeros(count, int)
        """Steps with contact."""
        self._rows = {name: k for k, name in enumerate(world.vehicles)}
        self.motion = world.motion()
        """Poses and velocities after the last step counted, as `World.motion` gives them."""

    def add(self) -> None:
        """Count the step that the world has just made."""
        world, before = self.world, self.motion
        now = world.motion()
        moved, changed = now - before, 1.0 / world.dt
        self.distance += np.hypot(moved[:, 0], moved[:, 1])
        np.maximum(self.top_speed, np.hypot(now[:, 3], now[:, 4]), out=self.top_speed)
        acceleration = np.hypot(moved[:, 3], moved[:, 4]) * changed
        np.maximum(self.peak_acceleration, acceleration, out=self.peak_acceleration)
        touching = {name for contact in world.contacts for name in (contact.a, contact.b)}
        for name in touching & self._rows.keys():
            self.contacts[self._rows[name]] += 1
        self.motion = now
        self.steps += 1


def run_table(tally: Tally, elapsed: float, wanted: float) -> RenderableType:
    """A line per vehicle, and how fast the run was; both times in s."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("vehicle", style="bold cyan", overflow="fold")
    for name, unit in zip(COLUMNS, UNITS, strict=True):
        table.add_column(f"{name}\n{unit}", justify="right", no_wrap=True)
    for k, name in enumerate(tally.world.vehicles):
        x, y, yaw = tally.motion[k, :3].tolist()
        table.add_row(
            name,
            f"{tally.distance[k]:.2f}",
            f"{tally.top_speed[k]:.2f}",
            f"{tally.peak_acceleration[k]:.2f}",
            str(tally.contacts[k]),
            f"{x:.2f}",
            f"{y:.2f}",
            f"{degrees(yaw):.1f}",
        )
    return Group(table, Text(_summary(tally, elapsed, wanted), "dim"))


def _summary(tally: Tally, elapsed: float, wanted: float) -> str:
    done = tally.steps * tally.world.dt
    stopped = tally.steps < round(wanted / tally.world.dt)
    parts = [f"stopped at {done:.3f} s of {wanted:g} s" if stopped else f"{done:.3f} s"]
    parts += [f"in {elapsed:.3f} s"]
    factor = f": {done / elapsed:.3g} times real time" if done and elapsed > 0.0 else ""
    vehicles = len(tally.world.vehicles)
    return f"{' '.join(parts)}{factor}, {vehicles} vehicle{'' if vehicles == 1 else 's'}"
