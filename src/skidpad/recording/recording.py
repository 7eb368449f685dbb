"""A recording in memory: a stage, its rows of numbers, readings of sensors and notes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..brief import counted
from ..errors import InvalidValue
from ..record import unknown_name
from ..stage import Channel, Stage
from ..stage.film import Film, ScanAt
from ..trajectory.columns import ROLES, Column, Role
from ..trajectory.files import known_units
from ..trajectory.trajectory import Trajectory
from ..units import Unit
from .parquet import write_folder, write_sensors, write_table
from .sensors import SensorLog
from .topics import channels_by_body

if TYPE_CHECKING:
    from ..world.contact.touches import ContactEvent


@dataclass(frozen=True, eq=False)
class Recording:
    """What was recorded; `read` makes it from a file."""

    stage: Stage
    times: Array
    """(T,) in s, increasing."""
    rows: Array
    """(T, channels) in the order of `stage.channels`, to the bit as they were given."""
    scans: tuple[ScanAt, ...]
    """In the order of their times; `inf` where nothing was in reach."""
    sensors: tuple[SensorLog, ...]
    """Of inertial units, satellite receivers, wheel odometry and bumpers; see `sensor`."""
    contacts: tuple[ContactEvent, ...]
    """Beginnings and ends of contacts, in the order of their times."""
    meta: Mapping[str, Any]
    """What was noted about the run; "error" is what ended it."""
    complete: bool
    """False of a file that was not closed, or that says what is lost (`meta["lost_samples"]`): what
    it has is whole, but there was more."""
    path: Path

    def __repr__(self) -> str:
        bodies = counted(len(self.stage.bodies), "body", "bodies")
        samples = f"{bodies}, {counted(self.times.size, 'sample')}"
        span = f" from {self.times[0]:g} to {self.times[-1]:g} s" if self.times.size else ""
        state = "complete" if self.complete else "not complete"
        return f"Recording({str(self.path)!r}: {samples}{span}, {state})"

    @property
    def duration(self) -> float:
        """In s."""
        return float(self.times[-1] - self.times[0]) if self.times.size else 0.0

    def column(self, body: str, name: str) -> Array:
        """A channel of a body over time."""
        places = self._places(body)
        if name not in places:
            raise InvalidValue(unknown_name(body, name, list(places), "channel"))
        return self.rows[:, places[name]]

    def sensor(self, body: str, name: str) -> SensorLog:
        """Readings of a sensor of a body; those of lidars are `scans`."""
        known = {log.mount.name: log for log in self.sensors if log.mount.body == body}
        if name not in known:
            raise InvalidValue(unknown_name(body, name, list(known), "sensor"))
        return known[name]

    def film(self, fps: float | None = None) -> Film:
        """For the page; with at most `fps` pictures per second of recorded time if given.

        Beams that hit nothing end at the largest range of their lidar.
        """
        far = [scan.max_range for scan in self.stage.scans]
        scans = [_for_show(scan, far[scan.index]) for scan in self.scans]
        film = Film(self.stage, self.times, self.rows.astype(np.float32), tuple(scans))
        return film if fps is None else film.thinned(fps)

    def show(self, *, height: int = 560, limit_mb: float = 5.0) -> Any:
        """The replay page for a notebook, as the last value of a cell; see `Film.show`."""
        return self.film().show(height=height, limit_mb=limit_mb)

    def _repr_html_(self) -> str | None:
        return self.show()._repr_html_() if self.times.size else None

    def trajectory(self, body: str) -> Trajectory:
        """The channels of one body as a trajectory."""
        columns = [
            _column(self.stage.channels[place], self.rows[:, place])
            for place in self._places(body).values()
        ]
        return Trajectory(self.times, tuple(columns), name=body, meta=dict(self.meta))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write Parquet for analysis: one table to a file `.parquet`, else a folder of them.

        The table has a row per body and time with columns `t`, `body` and every channel, empty
        where a body has none of that name; it has no readings of sensors.

        The folder has a file per body, which `Trajectory.from_parquet` reads; for each sensor a
        file `sensors/BODY/NAME.parquet` with `t` and the numbers of a reading, of lidars the list
        `ranges`, whose metadata has the angles of the rays; and `sensors/contacts.parquet` if
        there were contacts. Units are in the metadata of the columns, where a sensor sits in that
        of the file.
        """
        if not self.times.size:
            raise InvalidValue(f"{self.path} has no samples to write to {path}")
        bodies = dict.fromkeys(channel.body for channel in self.stage.channels)
        runs = {body: self.trajectory(body) for body in bodies}
        if Path(path).suffix == ".parquet":
            write_table(Path(path), self.stage.title, runs)
        else:
            write_folder(Path(path), runs)
            write_sensors(
                Path(path) / "sensors", self.stage.scans, self.scans, self.sensors, self.contacts
            )

    def between(self, start: float, end: float) -> Recording:
        """The part with start <= t <= end, in s."""
        inside = (self.times >= start) & (self.times <= end)
        scans = tuple(scan for scan in self.scans if start <= scan.time <= end)
        sensors = tuple(
            log._replace(times=log.times[chosen], values=log.values[chosen])
            for log in self.sensors
            for chosen in [(log.times >= start) & (log.times <= end)]
        )
        contacts = tuple(event for event in self.contacts if start <= event.time <= end)
        times, rows = self.times[inside], self.rows[inside]
        return replace(
            self, times=times, rows=rows, scans=scans, sensors=sensors, contacts=contacts
        )

    def _places(self, body: str) -> dict[str, int]:
        places = channels_by_body(self.stage).get(body)
        if places is None:
            places = [self.stage.body(body).x]  # raises for a name that there is not
        return {self.stage.channels[k].name: k for k in places}


def _for_show(scan: ScanAt, far: float) -> ScanAt:
    ranges = np.nan_to_num(scan.ranges, nan=far, posinf=far, neginf=0.0)
    return scan._replace(ranges=ranges.astype(np.float32))


def _column(channel: Channel, values: Array) -> Column:
    unit = known_units().get(channel.unit) or Unit(channel.unit)
    role: Role = channel.role if channel.role in ROLES else "output"
    return Column(channel.name, unit, role, values)
