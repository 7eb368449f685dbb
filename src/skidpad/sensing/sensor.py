"""A sensor that looks at the motion of a vehicle and errs channel by channel.

A sensor is a frozen dataclass that says what it is. To write one:

1. `Reading` is a NamedTuple of numbers whose last field is `stamp: s`, the time it was taken.
2. `channels` has one `Channel` for each number measured.
3. `measure(truth)` gives the reading without errors, in `skidpad.ops`, so that it also traces.
4. `compared`, if the truth at the sample before is needed too, gives the true values instead, and
   `looks_back` is True; the first sample of a run then gives nothing.
5. `spread`, `visible` and `completed` say what else there is to it: noise that depends on what is
   measured, places without reception, fields computed from the measured ones.

`runner`, `along` and `along_fleet` follow from these, and agree with each other.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import record
from ..errors import InvalidValue
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from .error_source import ChannelErrors
from .instrument import Instrument
from .knobs import Channel
from .motion import NOT_KNOWN, Motion, motion_along


@dataclass(frozen=True, kw_only=True)
class Sensor(Instrument):
    """Base of the sensors with channels: what they can be set to."""

    name: str = "sensor"
    """Names its random streams: two sensors of one vehicle need two names."""
    rate: float | None = None
    """Samples per second in Hz; None for one at every step."""
    delay: float = 0.0
    """Age of a sample when it comes out, in s: at least this."""
    dropout: float = 0.0
    """Part of the samples that are lost, 0 to 1."""

    def __post_init__(self) -> None:
        self.check_sampling()
        for channel in self.channels:
            channel.white(self.rate)

    @property
    def Truth(self) -> type:
        """The record the sensor looks at."""
        return Motion

    @property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """The errors of each number measured."""

    @abstractmethod
    def measure(self, truth: Any) -> Any:
        """The reading without errors at one instant; its stamp is 0."""

    def compared(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """The true values, one per channel; `before` was `elapsed` s ago (0 at the first)."""
        return record.flatten(self.measure(truth))[: len(self.channels)]

    def errors(self, seed: int, vehicles: Any) -> ChannelErrors:
        """The random errors of this sensor on some vehicles."""
        return ChannelErrors(self.name, self.channels, self.rate, self.dropout, seed, vehicles)

    def seen(self, truth: Any) -> Any:
        """The truth as a `Truth` record, checked to be one."""
        if not isinstance(truth, self.Truth):
            raise InvalidValue(
                f"{type(self).__name__} looks at a {self.Truth.__name__} record, "
                f"got {type(truth).__qualname__}"
            )
        return truth

    def seen_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """The truth at every sample of a recorded run."""
        return motion_along(trajectory, model)

    @cached_property
    def shows_accelerations(self) -> bool:
        """Whether its numbers depend on the motion's accelerations, which discrete models do not
        tell."""
        count = len(self.channels)
        known, blind = (
            record.flatten(self.measure(Motion(**told)))[:count]
            for told in ({}, NOT_KNOWN._asdict())
        )
        pairs = zip(known, blind, strict=True)
        return any(math.isnan(b) and not math.isnan(a) for a, b in pairs)

    def may_be_unknown(self, name: str) -> bool:
        """Accelerations, of a sensor that does not show them."""
        seen = self.Truth is not Motion or name not in NOT_KNOWN._fields
        return not (seen or self.shows_accelerations)
