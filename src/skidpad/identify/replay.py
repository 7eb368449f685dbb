"""Replays of a recording: every vehicle of a fleet gets the commands of a window of the log.

A window starts from the measured state, so that drift of the position stays that of its length.
Ahead of the first window lies the longest dead time: the commands of that stretch are still to act
when the window begins, and what came before the log is never needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..model import Vehicle
from ..run.fleet import Fleet
from .recording import CHANNELS, LEAST_ROWS, Recording

_MOST_NUMBERS = 8_000_000
"""Numbers in one rollout; more candidates are run one part after the other."""
_POSE = ("x", "y", "yaw")
"""Channels that are states; the others are reports."""
_REVERSE = (20.0, 21.0)


class Curve(NamedTuple):
    """One channel over time, window by window."""

    t: Array
    recorded: Array
    replayed: Array
    error: Array

    __repr__ = brief_repr


class Replay:
    """A model beside the windows of a recording.

    Args:
        vehicle: the model; its parameters are those of every candidate unless others are given.
        recorded: commands and measurements.
        period: longest step in s; the model makes several within a period of a slower log.
        window: length of the windows in s; None for the whole log.
        longest: longest dead time of any candidate in s; what the vehicle has if None.

    With a `period` much shorter than that of the log commands act at the times they were given at,
    to that period, and dead times may be as fine.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        recorded: Recording,
        period: float,
        window: float | None = None,
        longest: float | None = None,
    ) -> None:
        self.vehicle, self.recorded = vehicle, recorded
        # A hundredth, so that a log with a period of 25.01 ms is not replayed at half of it.
        self.split = max(1, ceil(recorded.dt / period - 0.01))
        self.dt = recorded.dt / self.split
        self.fleet = Fleet(vehicle, self.dt, on_diverge="mask")
        own = [getattr(vehicle.params, name) for name in vehicle.model.dead_times.values()]
        self._lead = (
            ceil(max(own, default=0.0) / recorded.dt - 1e-6)
            if longest is None
            else (ceil(longest / recorded.dt - 1e-6) if own else 0)
        )
        self.begins, self.steps = self._windows(window)
        rows = self.begins[None, :] + np.arange(self.steps + 1)[:, None]
        self.rows: NDArray[np.int64] = rows
        """Rows of the recording (steps + 1, windows)."""
        self.measured = {name: values[rows] for name, values in recorded.measured.items()}
        self._places = self._own_times(rows)
        self.start = self._starts()
        """Start states (windows, nx); measured, so steering has its bias still in it."""
        self._commands = recorded.split(rows[:-1], self.split)
        before = self.begins[None, :] + np.arange(-self._lead, 0)[:, None]
        self._pending = recorded.split(before, self.split) if self._lead else None
        led_there = np.maximum(rows - 1, 0)
        self._reporting = recorded.commands[led_there]

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.begins)

    def _windows(self, length: float | None) -> tuple[NDArray[np.int64], int]:
        """Rows at which windows begin and their length in rows; those with a gap are left out."""
        recorded, last = self.recorded, len(self.recorded) - 1
        whole = last - self._lead
        if whole < LEAST_ROWS:
            raise InvalidValue(
                f"{recorded.name} is {last * recorded.dt:.3g} s long; dead times of "
                f"{self._lead * recorded.dt:.3g} s need their commands ahead of the replay and at "
                f"least {LEAST_ROWS} rows after that"
            )
        rows = whole if length is None else max(LEAST_ROWS, round(length / recorded.dt))
        count = max(1, round(whole / rows))
        steps = whole // count
        begins = self._lead + steps * np.arange(count)
        if length is None:
            return begins, steps
        t = recorded.t
        fine = [
            not any(a < t[b + steps] and z > t[b - self._lead] for a, z in recorded.gaps)
            for b in begins
        ]
        if not any(fine):
            raise InvalidValue(
                f"{recorded.name} has a gap without samples in every window of "
                f"{steps * recorded.dt:.3g} s; take shorter windows or a part of the log"
            )
        return begins[fine], steps

    def _own_times(self, rows: NDArray[np.int64]) -> dict[str, Array]:
        """Where samples with uneven times lie, in steps after the begin of their window.

        These are compared with what the replay has at their own times. Between rows of the log it
        would be too coarse, so steps as long as those take samples put on even times instead.
        """
        places: dict[str, Array] = {}
        if self.split > 1:
            for name in self.recorded.samples:
                values, times = self.recorded.nearest(name, rows)
                self.measured[name] = values
                steps = (times - self.recorded.dt * self.begins) / self.dt
                places[name] = np.clip(steps, 0.0, float(self.steps * self.split))
        return places

    def _starts(self) -> Array:
        """The measured state at the begin of each window; what was not measured is guessed."""
        model, recorded = self.vehicle.model, self.recorded
        table = np.tile(np.array(record.flatten(record.build(model.State))), (self.windows, 1))
        inputs = dict(zip(record.names(model.Input), recorded.commands.T, strict=True))
        for k, name in enumerate(record.names(model.State)):
            if name in recorded.states:
                source = recorded.states[name]
            elif name in recorded.measured:
                source = recorded.measured[name]
            elif name == "pedal":
                source = _pedal(recorded.measured, inputs)
            else:
                source = self._acting({"a_x": "acceleration"}.get(name, name), inputs)
            if source is not None:
                table[:, k] = source[self.begins]
        return table

    def _acting(self, name: str, inputs: Mapping[str, Array]) -> Array | None:
        """The command that acts at each row, for a state that follows it; None if none does."""
        if name not in inputs:
            return None
        model = self.vehicle.model
        delay = getattr(self.vehicle.params, model.dead_times.get(name, ""), 0.0)
        late = min(round(delay / self.recorded.dt), self._lead)
        return np.roll(inputs[name], late)

    @property
    def start_has_bias(self) -> bool:
        """Whether the steering angle of the start states is the measured one."""
        return "steer_bias" in record.names(self.vehicle.model.Params)

    def run(
        self, params: Mapping[str, Array] | None = None, offsets: Array | None = None
    ) -> dict[str, Array]:
        """Channels (steps + 1, candidates, windows) for parameters (candidates,) by name.

        `offsets` (candidates or 1, windows, nx) are added to the start states. Candidates that
        diverge are NaN.
        """
        candidates = {name: np.atleast_1d(values) for name, values in (params or {}).items()}
        count = max((len(v) for v in candidates.values()), default=1)
        count = max(count, 1 if offsets is None else len(offsets))
        candidates = {name: np.broadcast_to(values, count) for name, values in candidates.items()}
        numbers = len(self._commands) * self.windows * self.start.shape[1]
        many = max(1, _MOST_NUMBERS // max(numbers, 1))
        parts: list[dict[str, Array]] = []
        for begin in range(0, count, many):
            part = slice(begin, begin + many)
            own_offsets = offsets if offsets is None or len(offsets) == 1 else offsets[part]
            parts.append(self._part({n: v[part] for n, v in candidates.items()}, own_offsets))
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([p[name] for p in parts], axis=1) for name in parts[0]}

    def _part(self, params: Mapping[str, Array], offsets: Array | None) -> dict[str, Array]:
        count = max((len(v) for v in params.values()), default=1)
        count = max(count, 1 if offsets is None else len(offsets))
        x0 = np.repeat(self.start[None], count, axis=0)
        if offsets is not None:
            x0 = x0 + offsets
        if self.start_has_bias:
            bias = params.get("steer_bias", np.array([self.vehicle.params.steer_bias]))
            x0[:, :, record.names(self.vehicle.State).index("steer")] -= bias[:, None]
        vehicles = count * self.windows
        per_vehicle = {name: np.repeat(v, self.windows) for name, v in params.items()}
        more: dict[str, Any] = {"params": per_vehicle} if per_vehicle else {}
        late = None if self._pending is None else np.tile(self._pending, (1, count, 1))
        states = self.fleet.rollout(
            x0.reshape(vehicles, -1),
            np.tile(self._commands, (1, count, 1)),
            every=1 if self._places else self.split,
            pending=late,
            **more,
        )
        reporting = self._reporting
        if self._places:
            reporting = np.concatenate([reporting[:1], self._commands])
        reports = self.fleet.outputs(states, np.tile(reporting, (1, count, 1)), **more)
        shape = (len(states), count, self.windows)
        fields = record.names(self.vehicle.State), record.names(self.vehicle.model.Outputs)
        channels = {
            name: (
                states[..., fields[0].index(name)]
                if name in _POSE
                else reports[..., fields[1].index(name)]
            ).reshape(shape)
            for name in CHANNELS
            if name in self.measured
        }
        return {name: self._sampled(name, values) for name, values in channels.items()}

    def _sampled(self, name: str, values: Array) -> Array:
        """A channel (steps, candidates, windows) at the rows of the log, or at its own times."""
        if name not in self._places:
            return values
        places = self._places[name]
        low = np.minimum(places.astype(int), len(values) - 2)
        share = (places - low)[:, None]
        window = np.arange(self.windows)[None]
        ends = (values[row, :, window].transpose(0, 2, 1) for row in (low, low + 1))
        before, after = ends
        return before + share * (after - before)


def _pedal(measured: Mapping[str, Array], inputs: Mapping[str, Array]) -> Array:
    """Pedal that explains the measured acceleration; the commanded one if there is none."""
    if "a_x" not in measured:
        return inputs["acceleration"]
    by_pedal = measured["a_x"] - inputs["slope"]
    return np.where(np.isin(inputs["gear"], _REVERSE), -by_pedal, by_pedal)


def error(name: str, replayed: Array, measured: Array) -> Array:
    """Replayed minus measured; of yaw the turn that is less than half."""
    difference = replayed - measured
    return np.arctan2(np.sin(difference), np.cos(difference)) if name == "yaw" else difference
