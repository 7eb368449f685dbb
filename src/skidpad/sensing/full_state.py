"""Any fields of the state and the outputs, each with its errors: what a test bench would log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from .. import record
from ..brief import brief_repr
from ..errors import InvalidValue
from ..model import Vehicle
from ..record import is_record_type
from ..trajectory.trajectory import Trajectory
from ..units import Unit, s
from .knobs import Channel, checked_channel
from .sensor import Sensor


@dataclass(frozen=True, kw_only=True)
class FullState(Sensor):
    """Chosen fields by name, each with a channel: `FullState(fields={"v_x": Channel(std=0.1)})`.

    It looks at a record, a mapping or a sample of a trajectory that has the fields, or a list of
    such: `[x, sim.outputs()]`. A dot in a name becomes an underscore in the reading.
    """

    name: str = "full_state"
    fields: Mapping[str, Channel]
    """The channel of each field, in the order of the reading."""
    units: Mapping[str, Unit] = field(default_factory=dict[str, Unit])
    """Units of the fields, for the record and the columns; pure numbers where not given."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidValue("FullState.fields is empty: name at least one field")
        for name, channel in self.fields.items():
            checked_channel(f"FullState.fields[{name!r}]", channel)
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "units", dict(self.units))
        super().__post_init__()

    @classmethod
    def of(
        cls, vehicle: Vehicle, fields: Mapping[str, Channel] | None = None, **settings: Any
    ) -> FullState:
        """Fields of a vehicle's state and outputs, with their units; the whole state if not
        given."""
        kinds = (vehicle.model.Outputs, vehicle.State)
        units = {leaf.name: leaf.unit for kind in kinds for leaf in record.fields(kind)}
        channels = (
            dict.fromkeys(record.names(vehicle.State), Channel()) if fields is None else fields
        )
        for name in channels:
            if name not in units:
                raise InvalidValue(record.unknown_name(vehicle.name, name, tuple(units)))
        return cls(fields=channels, units={name: units[name] for name in channels}, **settings)

    @cached_property
    def _records(self) -> tuple[type, type]:
        leaves: dict[str, Any] = {
            name.replace(".", "_"): Annotated[float, self.units.get(name, record.NO_UNIT)]
            for name in self.fields
        }
        reading = record.define("FullStateReading", {**leaves, "stamp": s})
        return record.define("Truth", leaves), reading

    @property
    def Truth(self) -> type:
        """A record of the fields chosen."""
        return self._records[0]

    @property
    def Reading(self) -> type:
        """A record of the fields chosen, and the stamp."""
        return self._records[1]

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One per field."""
        return tuple(self.fields.values())

    def measure(self, truth: Any) -> Any:
        """The fields without errors."""
        return self.Reading(*self.seen(truth), 0.0)

    def seen(self, truth: Any) -> Any:
        """The fields, found by name."""
        if isinstance(truth, self.Truth):
            return truth
        parts = truth if isinstance(truth, list) else [truth]
        # What comes first wins: a state before the outputs, as in a trajectory.
        named: dict[str, Any] = {}
        for part in reversed(parts):
            named |= by_field(part)
        for name in self.fields:
            if name not in named:
                raise InvalidValue(record.unknown_name("FullState: truth", name, tuple(named)))
        return self.Truth(*(named[name] for name in self.fields))

    def seen_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """The columns of the fields."""
        return self.Truth(*(trajectory[name] for name in self.fields))


def by_field(part: Any) -> Mapping[str, Any]:
    """The leaves of a record by name; a mapping as it is."""
    if isinstance(part, Mapping):
        return part
    if is_record_type(type(part)):
        return dict(zip(record.names(type(part)), record.flatten(part), strict=True))
    raise InvalidValue(
        f"FullState looks at a record, a mapping or a list of them, got {type(part).__qualname__}"
    )
