"""IMU, odometry, satellite navigation and wheel speeds of `skidpad.sensing` as sensor models.

What is measured at one instant is the sensor's reading without errors, which is a pure function,
plus noise. Delays, lost samples and errors that wander or grow belong to a sensor in a loop: see
`sensors.Sensor.runner`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Annotated, Any

from .. import record
from ..errors import InvalidValue
from ..model import Vehicle
from ..random.gaussian import Gaussian
from ..random.model import UncertaintyModel
from .knobs import PERFECT, Channel
from .motion import Motion, motion_of
from .sensor import Sensor
from .sensor_model import SensorModel, vehicle_of

_TAKEN = ("std", "density", "bias", "drift_time")
"""Settings of a channel that noise without memory can have; `drift_time` alone is no error."""
_GIVE_MOTION = "give motion=, a function of x, u and w that returns a sensors.Motion"


class MountedSensor(SensorModel):
    """A sensor on a vehicle: `MountedSensor(car, Imu(gyroscope=Channel(std=0.01)))`.

    The output has the values that the sensor measures, without a stamp. The noise is, if not given,
    the white noise and the bias of the sensor's channels. `motion(x, u, w)` returns the
    `sensors.Motion` of a vehicle that does not tell its own.
    """

    def __init__(
        self,
        vehicle: Any,
        sensor: Sensor,
        noise: UncertaintyModel | None = None,
        *,
        motion: Callable[[Any, Any, Any], Motion] | None = None,
    ) -> None:
        ridden = vehicle_of(vehicle)
        if not isinstance(sensor, Sensor) or sensor.Truth is not Motion:
            raise InvalidValue(
                f"sensor = {sensor!r} must be a Sensor that looks at a Motion, such as Imu, "
                "Odometry or Gnss"
            )
        _check_instant(sensor)
        if motion is None:
            _check_motion(sensor, ridden)
        self._sensor = sensor
        self._motion = motion or partial(motion_of, ridden)
        count = len(sensor.channels)
        shown = record.flatten(sensor.measure(Motion()))[:count]
        self._kept = [k for k, value in enumerate(shown) if not math.isnan(value)]
        leaves = [record.fields(sensor.Reading)[k] for k in self._kept]
        Output = record.define(
            f"{type(sensor).__name__}Output",
            {leaf.name: Annotated[float, leaf.unit] for leaf in leaves},
            docs={leaf.name: leaf.doc for leaf in leaves},
            doc=f"What {sensor.name!r} measures on {ridden.name}.",
        )
        own = _noise_of(sensor, self._kept) if noise is None else noise
        super().__init__(
            Output,
            own,
            State=ridden.State,
            Input=ridden.Input,
            name=sensor.name,
            rate=sensor.rate,
        )

    @property
    def sensor(self) -> Sensor:
        """The sensor."""
        return self._sensor

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """The sensor's reading without errors."""
        reading = record.flatten(self._sensor.measure(self._motion(x, u, w)))
        return record.unflatten(self.Output, [reading[k] for k in self._kept])


def _check_instant(sensor: Sensor) -> None:
    kind = type(sensor).__name__
    for name in ("delay", "dropout"):
        if getattr(sensor, name) != 0.0:
            raise InvalidValue(
                f"{kind}.{name} = {getattr(sensor, name)} must be 0 in a sensor model, which "
                "measures at one instant; a runner of the sensor has it"
            )
    if sensor.spread([1.0] * len(sensor.channels), 1.0) is not None:
        raise InvalidValue(
            f"{kind}.growth must be 0 in a sensor model, which measures at one instant; a runner "
            "of the sensor has it"
        )


def _check_motion(sensor: Sensor, vehicle: Vehicle) -> None:
    """Raise if the vehicle does not tell enough of its motion."""
    if vehicle.model.body is None:
        raise InvalidValue(f"vehicle = {vehicle.name!r} has no body: {_GIVE_MOTION}")
    if not vehicle.model.continuous and sensor.shows_accelerations:
        raise InvalidValue(
            f"vehicle = {vehicle.name!r} tells no accelerations, which {type(sensor).__name__} "
            f"shows: {_GIVE_MOTION}"
        )


def _noise_of(sensor: Sensor, kept: Sequence[int]) -> Gaussian:
    channels = [sensor.channels[k] for k in kept]
    names = [record.names(sensor.Reading)[k] for k in kept]
    for name, channel in zip(names, channels, strict=True):
        for setting in (f.name for f in fields(Channel) if f.name not in _TAKEN):
            value = getattr(channel, setting)
            if value != getattr(PERFECT, setting):
                raise InvalidValue(
                    f"{type(sensor).__name__}: the channel of {name} has {setting} = {value}; "
                    "allowed in a sensor model are std, density and bias. Give noise=, or use a "
                    "runner of the sensor"
                )
    return Gaussian(
        mean=[channel.bias for channel in channels],
        std=[channel.white(sensor.rate) for channel in channels],
        fields=names,
    )
