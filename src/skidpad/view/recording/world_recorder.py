"""Recorder of a running world."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.files import brief_repr
from ...world import scene
from ..stage import Line
from ..stages import WorldStage
from .messages import quaternion
from .recorder import Recorder
from .topics import SensorMount

if TYPE_CHECKING:
    from ...world.contact.solids import ContactEvent
    from ...world.world import World

RATE = 30.0
"""Default sampling rate, in Hz of simulated time."""
ODOMETRY_RATE = 50.0
"""Largest rate of wheel odometry, in Hz of simulated time: robot controllers send no more."""
_EARLY = 1e-6
"""Tolerance of the odometry times, in periods, as times are sums of steps."""
_ONE_STEP = 1.5
"""Time since the last call, in steps, below which `sample` missed no step."""


class WorldRecorder(Recorder):
    """Recorder of a world: `sample()` after every step records what is due.

    A sample is a copy of the states, inputs and disturbances; outputs such as wheel loads are
    computed from them later, in the writing thread. Call `flush()` before changing parameters of
    a vehicle, so that outputs are computed with the parameters of their time.

    Whatever the sampling rate, every reading of a lidar, an inertial unit or a GNSS receiver is
    written once, with its own time stamp, and so is every beginning and end of a contact. If
    several steps passed between two calls of `sample`, only the latest reading of each sensor is
    written. Wheel odometry comes with the samples, up to 50 times a second. A bumper is written
    when it changes: to pressed in the step of the contact, to released with a sample.

    Args:
        world: the world to record.
        path: file to write; an existing one is replaced.
        rate: samples per second of simulated time, in Hz; None for every step.
        meta: notes about the run, as plain JSON values.
        title: title of the stage; the name of the world's file if empty.
        lines: lines on the ground, besides those of the world.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        world: World,
        path: str | os.PathLike[str],
        *,
        rate: float | None = RATE,
        meta: Mapping[str, Any] | None = None,
        title: str = "",
        lines: Sequence[Line] = (),
    ) -> None:
        self.world = world
        self._view = WorldStage(world, title, lines)
        scans = enumerate(self._view.stage.scans)
        self._lidars = {(scan.body, scan.name): k for k, scan in scans}
        owned = ((spec.name, one) for spec in world.scene.vehicles for one in spec.sensors)
        mounts = [_mount(n, one) for n, one in owned if isinstance(one, scene.Imu | scene.Gnss)]
        self._numbers = {(one.body, one.name): k for k, one in enumerate(mounts)}
        self._mounts = mounts
        self._last: dict[tuple[str, str], Any] = {}
        self._bumpers = {name: len(mounts) + k for k, name in enumerate(world.vehicles)}
        self._odometry = len(mounts) + len(self._bumpers)
        # Not known at the start, so that all are written then.
        self._pressed: dict[str, bool | None] = dict.fromkeys(self._bumpers)
        self._looked, self._tick = world.time, -1
        groups: list[Any] = [*mounts, *(SensorMount("bumper", n, "bumper") for n in self._bumpers)]
        if world.vehicles:
            groups.append([SensorMount("odometry", name, "odometry") for name in world.vehicles])
        # What computes the outputs is compiled here, not while the world runs.
        self._view.row()
        super().__init__(
            path,
            self._view.stage,
            rate=rate,
            meta={"dt": world.dt, "seed": world.seed, **(meta or {})},
            sensors=groups,
            contacts=True,
            rows_of=self._view.rows,
            width=self._view.width,
        )

    def sample(self) -> bool:
        """Record new sensor readings, and a sample if one is due; returns whether it was."""
        time = self.world.time
        due = time >= self._next or time <= self._time
        if due:
            self._add_sample(time, self._view.take())
        if time > self._looked:
            self._take_readings(time)
            self._looked = time
        if due and self._bumpers:
            tick = int(time * ODOMETRY_RATE + _EARLY)
            if tick > self._tick:
                self._tick = tick
                self.add_reading(self._odometry, time, self.world.odometry().ravel())
            self._press(self.world.colliding, time, release=True)
        return due

    def _take_readings(self, time: float) -> None:
        """Add readings and contacts since the last call."""
        fresh, events = self._since_last(time)
        for owner, name, reading in fresh:
            lidar = self._lidars.get((owner, name))
            number = self._numbers.get((owner, name))
            if lidar is not None:
                self.add_scan(lidar, reading.stamp, reading.ranges)
            elif number is not None:
                self.add_reading(number, reading.stamp, _values(self._mounts[number], reading))
        for event in events:
            self.add_contact(event)
            if event.kind == "begin":
                self._press({event.a, event.b} & self._bumpers.keys(), event.time)

    def _since_last(
        self, time: float
    ) -> tuple[Iterable[tuple[str, str, Any]], Iterable[ContactEvent]]:
        """Readings, with vehicle and sensor name, and contacts since the last call."""
        world = self.world
        if time - self._looked < _ONE_STEP * world.dt:
            return world.sensing.fresh, world.new_contact_events
        latest = (
            (owner, name, world.sensing.latest(owner, name))
            for owner, name in (*self._lidars, *self._numbers)
        )
        fresh = [it for it in latest if it[2] is not None and it[2].stamp > self._looked]
        return fresh, [it for it in world.contact_events if it.time > self._looked]

    def _press(self, names: Iterable[str], time: float, *, release: bool = False) -> None:
        """Write the newly pressed bumpers of these vehicles and, with `release`, the newly released
        others."""
        pressed = set(names)
        for name in self._bumpers if release else pressed:
            now = name in pressed
            if self._pressed[name] is not now:
                self._pressed[name] = now
                self.add_reading(self._bumpers[name], time, [float(now)])


def _mount(owner: str, one: scene.Imu | scene.Gnss) -> SensorMount:
    p = one.pose
    place = (p.x, p.y, p.z, p.roll, p.pitch, p.yaw)
    if isinstance(one, scene.Imu):
        return SensorMount(one.name, owner, "imu", *place, oriented=one.measure_orientation)
    deviations = one.horizontal_std_noise, one.vertical_std_noise
    return SensorMount(one.name, owner, "gnss", *place, deviations=deviations)


def _values(mount: SensorMount, reading: Any) -> list[float]:
    """Numbers of a reading in the recorder's order."""
    if mount.kind == "gnss":
        return [reading.latitude, reading.longitude, reading.altitude]
    values = [*reading[3:6], *reading[0:3]]
    if mount.oriented:
        values += quaternion(reading.yaw, reading.pitch, reading.roll)
    return values
