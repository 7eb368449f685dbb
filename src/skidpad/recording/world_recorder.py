"""Recording a world while it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..brief import brief_repr
from ..stage.description import Line
from ..stage.world_stage import WorldStage
from ..world.scene import sensors
from .recorder import Recorder
from .rotations import quaternion
from .topics import ImuMount

if TYPE_CHECKING:
    from ..world.world import World

RATE = 30.0
"""In Hz of simulated time."""


class WorldRecorder(Recorder):
    """Records a world: `sample()` after every step takes what is due.

    A sample is a copy of the states, inputs and disturbances; outputs such as wheel loads are
    computed from them later, in the thread that writes. Whoever changes parameters of a vehicle
    calls `flush()` before, so that they are computed with those that were true.

    Scans and inertial readings are taken with the samples: of several in between, the latest.

    Args:
        world: what to record.
        path: of the file; what is there is replaced.
        rate: samples per second of simulated time, in Hz; None for every step.
        meta: anything worth knowing about the run, as plain JSON values.
        title: of the stage; the name of the world's file if empty.
        lines: on the ground, besides what the world has.
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
        units = [
            (spec.name, sensor)
            for spec in world.scene.vehicles
            for sensor in spec.sensors
            if isinstance(sensor, sensors.Imu)
        ]
        self._units = [(owner, unit.name) for owner, unit in units]
        self._last_scans: list[Any] = [None] * len(self._view.stage.scans)
        self._last_readings: list[Any] = [None] * len(units)
        # What computes the outputs is compiled here, not while the world runs.
        self._view.row()
        super().__init__(
            path,
            self._view.stage,
            rate=rate,
            meta={"dt": world.dt, "seed": world.seed, **(meta or {})},
            imus=[_mount(owner, unit) for owner, unit in units],
            rows_of=self._view.rows,
            width=self._view.width,
        )

    def sample(self) -> bool:
        """Take the world as it is now, if a sample is due; whether it was."""
        time = self.world.time
        if time < self._next and time > self._time:
            return False
        self._add_sample(time, self._view.take())
        if self._last_scans:
            self._take_scans()
        if self._last_readings:
            self._take_readings()
        return True

    def _take_scans(self) -> None:
        for k, scan in enumerate(self._view.readings()):
            if scan is not None and scan is not self._last_scans[k]:
                self._last_scans[k] = scan
                self.add_scan(k, scan.stamp, scan.ranges)

    def _take_readings(self) -> None:
        sensing = self.world.sensing
        for k, (owner, name) in enumerate(self._units):
            reading = sensing.of(owner)[name]
            if reading is None or reading is self._last_readings[k]:
                continue
            self._last_readings[k] = reading
            values = [*reading[3:6], *reading[0:3]]
            if self._imus[k].oriented:
                values += quaternion(reading.yaw, reading.pitch, reading.roll)
            self.add_imu(k, reading.stamp, values)


def _mount(owner: str, unit: sensors.Imu) -> ImuMount:
    p, oriented = unit.pose, unit.measure_orientation
    return ImuMount(unit.name, owner, p.x, p.y, p.z, p.roll, p.pitch, p.yaw, oriented)
