"""Pedals and steering for the ACTUATION models, from accelerations and tyre angles, and back.

`CommandConverter` takes an acceleration and a tyre angle and returns pedal positions and a steering
command, as does the node `raw_vehicle_cmd_converter` that Autoware launches with these models
(documentation and source of `autoware_raw_vehicle_cmd_converter`, autoware.universe 0.43.0).

Given the speed and the tyre angle of the model, the model reproduces the demand within the range of
the maps. Upstream's node fails to do so in three cases, which `compat="upstream"` repeats (C1 to C3
of docs/errata.md): it looks up maps at |v| where the model uses v; it computes the gear ratio from
a steering wheel status that the simulator always reports as 0; and if braking is not converted, it
demands it with a brake pedal that the model then ignores.

`ActuationStatus` is the inverse, which the ACTUATION models report (getActuationStatus of
`simple_planning_simulator`). Upstream reverses the accelerations of the brake map for the search,
but not the pedal positions: weak braking is reported as a strong pedal. `compat="upstream"` repeats
that (P2).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike
from typing import Annotated, NamedTuple

from ... import ops
from ...core import record
from ...core.checks import finite, not_negative, one_of, positive
from ...errors import InvalidValue
from ...units import Allowed, Unit, m_s, m_s2, non_negative, one, rad, rad_s, s
from ...vehicles.command_driven.parameters import Table
from ...vehicles.parts.steering import gear_ratio, wheel_angle
from .reports import ActuationCommand

MapSource = Table | str | PathLike[str]
"""A table, or the path of the CSV file that holds it."""
Row = tuple[float, ...]


@dataclass(frozen=True)
class InverseTable:
    """Lookup table whose columns all rise or all fall, prepared for a search by value.

    It is linear between columns and between rows. A column coordinate outside the table is clamped.
    """

    columns: Row
    """Column coordinates, rising."""
    rows: Row
    """Row coordinates, in the order in which the values rise."""
    values: tuple[Row, ...]
    """One line per row coordinate."""
    below: float
    """Row coordinate for a value below those of the table."""
    above: float
    """Row coordinate for a value above those of the table."""

    def row_of(self, value: float, column: float) -> float:
        """Row coordinate of a value at a column coordinate."""
        at = self._interpolation(column)
        # Interpolate only the rows that the search visits.
        upper = bisect_left(self.values, value, key=at)
        if upper == len(self.values):
            return self.above
        high = at(self.values[upper])
        if value == high:
            return self.rows[upper]
        if upper == 0:
            return self.below
        low = at(self.values[upper - 1])
        start, end = self.rows[upper - 1], self.rows[upper]
        return start + (end - start) * ((value - low) / (high - low))

    def lowest(self, column: float) -> float:
        """Lowest value at a column coordinate."""
        return self._interpolation(column)(self.values[0])

    def _interpolation(self, column: float) -> Callable[[Row], float]:
        """Return the function that interpolates a line of the table at a column coordinate."""
        right = min(max(bisect_left(self.columns, column), 1), len(self.columns) - 1)
        left = right - 1
        start, end = self.columns[left], self.columns[right]
        share = min(max((column - start) / (end - start), 0.0), 1.0)
        return lambda line: line[left] + (line[right] - line[left]) * share


def inverse(source: MapSource, name: str, *, falls: bool = False) -> InverseTable:
    """Inverse of a table whose columns rise with the row coordinate, such as a throttle map, or
    fall with it, such as a brake map.

    `name` is used in errors.
    """
    table = Table.of(source)
    sign, direction = (-1.0, "fall") if falls else (1.0, "rise")
    for k, column in enumerate(table.columns):
        values = [line[k] for line in table.values]
        for (first, before), (second, after) in pairwise(zip(table.rows, values, strict=True)):
            if not sign * (after - before) > 0.0:
                raise InvalidValue(
                    f"{name} cannot be inverted: column {column:g} must {direction} with every "
                    f"row, but has {before:g} at row {first:g} and {after:g} at row {second:g}"
                )
    step = -1 if falls else 1
    rows, values = table.rows[::step], table.values[::step]
    return InverseTable(table.columns, rows, values, rows[0], rows[-1])


class ActuationStatus:
    """Pedal positions from acceleration and speed, through the inverse of the pedal maps.

    A map of None disables the conversion: its pedal is always at 0.
    """

    def __init__(
        self,
        accel_map: MapSource | None,
        brake_map: MapSource | None,
        compat: str | None = None,
        *,
        vel_lim: float = math.inf,
        vel_rate_lim: float = math.inf,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._vel_lim = _not_below_0("vel_lim", vel_lim)
        self._vel_rate_lim = _not_below_0("vel_rate_lim", vel_rate_lim)
        self._accel = self._brake = None
        if accel_map is not None:
            # Below the values of the lowest row the pedal is released, whatever that row's
            # coordinate.
            self._accel = replace(inverse(accel_map, "accel_map"), below=0.0)
        if brake_map is not None:
            self._brake = brake = inverse(brake_map, "brake_map", falls=True)
            if compat is not None:  # upstream is correct beyond the table
                self._brake = replace(brake, rows=brake.rows[::-1])

    def __call__(self, a_x: float, v_x: float) -> tuple[float, float] | None:
        """Pedal positions (accel, brake) at an acceleration in m/s² and a speed in m/s, both
        clamped.

        Returns None if neither pedal has a map.
        """
        if self._accel is None and self._brake is None:
            return None
        a = min(max(a_x, -self._vel_rate_lim), self._vel_rate_lim)
        v = min(max(v_x, -self._vel_lim), self._vel_lim)
        accel, brake = (
            m.row_of(a, v) if m is not None else 0.0 for m in (self._accel, self._brake)
        )
        return accel, brake


def actuation_status(
    accel_map: MapSource | None,
    brake_map: MapSource | None,
    a_x: float,
    v_x: float,
    compat: str | None = None,
) -> tuple[float, float] | None:
    """Pedal positions (accel, brake) for one acceleration in m/s² and speed in m/s.

    For many calls make one `ActuationStatus`, which checks and prepares the maps only once.
    """
    return ActuationStatus(accel_map, brake_map, compat)(a_x, v_x)


def _not_below_0(name: str, value: float) -> float:
    if not value >= 0.0:
        raise InvalidValue(f"{name} = {value} must be at least 0")
    return value


command = Annotated[float, Unit("1")]
"""Steering command in its own unit: rad, or the unit of the rows of a steer map."""
per_rad = Annotated[float, Unit("1/rad")]
"""Steering command per angle."""
per_rad_s = Annotated[float, Unit("1/(rad·s)", time=-1)]
"""Steering command per angle and time."""
s_per_rad = Annotated[float, Unit("s/rad", time=1)]
"""Steering command per rate of an angle."""

INTEGRATES_FROM: m_s = 0.01
"""Speed below which the integral term decays instead of growing."""


class SteerFeedback(NamedTuple):
    """Gains and limits of the steering feedback.

    The defaults are Autoware's, made for a steer map with rows up to ±10.
    """

    kp: Annotated[per_rad, non_negative] = 150.0
    """Proportional gain: command per error."""
    ki: Annotated[per_rad_s, non_negative] = 15.0
    """Integral gain: growth of the command per error and second."""
    kd: Annotated[s_per_rad, non_negative] = 0.0
    """Differential gain: command per rate of the error."""
    max: command = 8.0
    """Largest sum of the three terms."""
    min: command = -8.0
    """Smallest sum of the three terms."""
    max_p: command = 8.0
    """Largest proportional term."""
    min_p: command = -8.0
    """Smallest proportional term."""
    max_i: command = 8.0
    """Largest integral term."""
    min_i: command = -8.0
    """Smallest integral term."""
    max_d: command = 0.0
    """Largest differential term."""
    min_d: command = 0.0
    """Smallest differential term."""
    invalid_integration_decay: Annotated[one, Allowed(0.0, 1.0)] = 0.97
    """Factor on the integral term for each call at standstill."""


class Memory(NamedTuple):
    """Memory of the steering feedback between calls."""

    integral: command = 0.0
    """The integral term."""
    error: rad = 0.0
    """Error of the last call."""
    calls: one = 0.0
    """0 before the first call, then 1: the rate is known from the second call on."""


def feedback(
    p: SteerFeedback, memory: Memory, error: rad, v_x: m_s, dt: s
) -> tuple[command, Memory]:
    """Feedback term of the steering command, and the memory after the call.

    Proportional, integral and differential terms are each limited; structure and defaults are those
    of `pid.cpp` and the parameter file of `raw_vehicle_cmd_converter`. `error` is the demanded less
    the measured tyre angle, positive to the left; `dt` the time since the last call. With `dt` = 0
    nothing is integrated and the rate is 0.
    """
    proportional = ops.clip(p.kp * error, p.min_p, p.max_p)
    grown = ops.clip(memory.integral + p.ki * error * dt, p.min_i, p.max_i)
    faded = memory.integral * p.invalid_integration_decay
    integral = ops.where(ops.abs(v_x) >= INTEGRATES_FROM, grown, faded)
    known = ops.logical_and(memory.calls > 0.0, dt > 0.0)
    rate = ops.where(known, (error - memory.error) / ops.where(dt > 0.0, dt, 1.0), 0.0)
    differential = ops.clip(p.kd * rate, p.min_d, p.max_d)
    total = ops.clip(proportional + integral + differential, p.min, p.max)
    return total, Memory(integral, error, 1.0)


LONGEST_PAUSE: s = 1.0
"""Time between two calls above which the feedback counts as interrupted."""
AFTER_A_PAUSE: s = 0.1
"""Time step of the feedback after an interruption."""


@dataclass(frozen=True)
class TyreAngle:
    """Steering command as the tyre angle in rad, for the model ACTUATION_CMD."""

    feedback: SteerFeedback | None = None
    """Feedback added to the demanded tyre angle, or None; its gains are in rad per rad."""


@dataclass(frozen=True)
class SteeringWheel:
    """Steering command as the steering wheel angle in rad.

    For the models ACTUATION_CMD_VGR and ACTUATION_CMD_MECHANICAL.
    """

    vgr_coef_a: float = 15.713
    """Gear ratio at standstill, straight ahead."""
    vgr_coef_b: float = 0.053
    """Growth of the ratio with the square of the speed, in s²/m²."""
    vgr_coef_c: float = 0.042
    """Decrease of the ratio with the steering wheel angle, per rad."""
    feedback: SteerFeedback | None = None
    """Feedback added to the demanded tyre angle, or None; its gains are in rad per rad."""

    def angle(self, steer: rad, v_x: m_s, wheel: rad) -> rad:
        """Steering wheel angle for a tyre angle, with the gear ratio at the current wheel angle."""
        return steer * gear_ratio(v_x, wheel, *self._coefficients)

    def present(self, v_x: m_s, steer: rad) -> rad:
        """Steering wheel angle in rad at present, computed from the tyre angle `steer`."""
        return wheel_angle(v_x, steer, *self._coefficients)

    @property
    def _coefficients(self) -> tuple[float, float, float]:
        return self.vgr_coef_a, self.vgr_coef_b, self.vgr_coef_c


@dataclass(frozen=True)
class SteerMap:
    """Steering command as a row of a steer map, for the model ACTUATION_CMD_STEER_MAP.

    The map gives a rate of the tyre angle, so only the feedback makes the angle reach the demand;
    `steer_rate` is the feedforward.
    """

    table: MapSource
    """Rate of the tyre angle in rad/s over command (rows) and tyre angle in rad (columns)."""
    feedback: SteerFeedback | None = field(default_factory=SteerFeedback)
    """Feedback with gains in the unit of the rows per rad; without it only the rate is
    followed."""
    steer_time_constant: float = 1.0
    """Divisor of the map's rate in the vehicle, in s. The simulated model divides by its
    `steer_time_constant`; a map of true rates needs 1."""


class CommandConverter:
    """Converts accelerations and tyre angles to pedals and a steering command.

    Args:
        accel_map, brake_map: maps of the pedals; None disables the conversion.
        steer: meaning of the steering command; by default the tyre angle.
        max_throttle, max_brake: largest pedal commands; None for the last row of the map.
        min_steer, max_steer: limits of the steering command.
        compat: None, or "upstream" to repeat the errors of Autoware's node.
    """

    def __init__(
        self,
        accel_map: MapSource | None,
        brake_map: MapSource | None,
        steer: TyreAngle | SteeringWheel | SteerMap | None = None,
        *,
        max_throttle: float | None = None,
        max_brake: float | None = None,
        max_steer: float = math.inf,
        min_steer: float = -math.inf,
        compat: str | None = None,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._upstream = compat == "upstream"
        self._accel = None if accel_map is None else inverse(accel_map, "accel_map")
        self._brake = None if brake_map is None else inverse(brake_map, "brake_map", falls=True)
        limits = {"max_throttle": max_throttle, "max_brake": max_brake}
        self._max_throttle, self._max_brake = (
            math.inf if value is None else _not_below_0(name, value)
            for name, value in limits.items()
        )
        if not min_steer <= max_steer:
            raise InvalidValue(f"min_steer = {min_steer} must not be above max_steer = {max_steer}")
        self._min_steer, self._max_steer = min_steer, max_steer
        self._steer = method = TyreAngle() if steer is None else steer
        if not isinstance(method, (TyreAngle, SteeringWheel, SteerMap)):
            raise InvalidValue(
                f"steer = {method!r} must be a TyreAngle, a SteeringWheel or a SteerMap"
            )
        if method.feedback is not None:
            record.check(method.feedback)
        if isinstance(method, SteeringWheel):
            for name in ("vgr_coef_a", "vgr_coef_b", "vgr_coef_c"):
                finite(name, getattr(method, name))
        self._steer_map = None
        if isinstance(method, SteerMap):
            positive("steer_time_constant", method.steer_time_constant)
            self._steer_map = inverse(method.table, "steer_map")
        self._memory = Memory()

    def __repr__(self) -> str:
        return f"CommandConverter(upstream={self._upstream})"

    def reset(self) -> None:
        """Clear the memory of the steering feedback."""
        self._memory = Memory()

    def convert(
        self,
        acceleration: m_s2,
        steer: rad,
        v_x: m_s,
        measured_steer: rad,
        dt: s,
        *,
        steer_rate: rad_s = 0.0,
        steering_wheel: rad | None = None,
    ) -> ActuationCommand:
        """Pedals and steering command for an acceleration and a tyre angle, positive to the left.

        The acceleration is in the direction of the gear: positive speeds up, also backwards. `v_x`
        is signed; `dt` is the time since the last call. `steer_rate` is used with a steer map only.
        `steering_wheel` is the measured steering wheel angle; None computes it from
        `measured_steer`. A call that raises changes nothing.
        """
        numbers = {"acceleration": acceleration, "steer": steer, "v_x": v_x}
        numbers |= {"measured_steer": measured_steer, "steer_rate": steer_rate}
        for name, value in numbers.items():
            finite(name, value)
        if steering_wheel is not None:
            finite("steering_wheel", steering_wheel)
        not_negative("dt", dt, "s")
        accel, brake = self._pedals(acceleration, v_x)
        method, term = self._steer, 0.0
        if method.feedback is not None:
            counted = AFTER_A_PAUSE if dt > LONGEST_PAUSE else dt
            error = steer - measured_steer
            term, self._memory = feedback(method.feedback, self._memory, error, v_x, counted)
        if isinstance(method, SteerMap):
            assert self._steer_map is not None
            rate = steer_rate * method.steer_time_constant
            command = self._steer_map.row_of(rate, measured_steer) + term
        elif isinstance(method, TyreAngle):
            command = steer + term
        else:
            if steering_wheel is None:
                # Upstream's node reads the steering wheel status, which the simulator always
                # reports as 0.
                steering_wheel = 0.0 if self._upstream else method.present(v_x, measured_steer)
            command = method.angle(steer + term, v_x, steering_wheel)
        return ActuationCommand(accel, brake, min(max(command, self._min_steer), self._max_steer))

    def _pedals(self, a: m_s2, v_x: m_s) -> tuple[float, float]:
        v = abs(v_x) if self._upstream else v_x
        if self._accel is not None and a >= self._accel.lowest(v):
            return min(max(self._accel.row_of(a, v), 0.0), self._max_throttle), 0.0
        accel = 0.0 if self._accel is not None else max(a, 0.0)
        if self._brake is not None:
            return accel, min(max(self._brake.row_of(a, v), 0.0), self._max_brake)
        # A model without a brake map takes an acceleration of either sign in this field.
        if not self._upstream and a < 0.0:
            accel = a
        return accel, max(-a, 0.0)
