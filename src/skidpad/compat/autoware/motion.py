"""Motion of compiled command-driven vehicles in a planning simulator, in steps of any length."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import integrate
from ...compile.plant import Plant
from ...core import record
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.delay import DelayLine
from ...run.runner import Settings, not_numbers
from ...run.simulator import CompiledStepper
from ...units import s
from ...vehicles.command_driven import assembled
from .converter import ActuationStatus
from .learned import LearnedMotion
from .reports import Motion, MotionModel


class TorqueQueue:
    """Queue of the times in s at which the torques in upstream's steering column were computed.

    Each update appends a torque, and takes the oldest if it is old enough for the column to move.
    With updates of one length the column never stops once it has moved; with a jittering timer it
    stops occasionally.
    """

    def __init__(self, delay: s) -> None:
        self._delay = delay
        self._times = deque[float]()

    def clear(self) -> None:
        self._times.clear()

    def front_after(self, now: s) -> s:
        """Time of the oldest torque after an update that ended at `now`."""
        times = self._times
        moved = bool(times) and now - times[0] >= self._delay
        times.append(now)
        if moved:
            times.popleft()
        return times[0]


LONGEST_UPDATE = 0.03
"""Longest update in s of the repaired models: their least time constant.

The Euler step of the steering overshoots if it is longer. Longer ticks are divided.
"""


class CompiledMotion:
    """A compiled model with its queue of delayed commands.

    Args:
        vehicle: made by `skidpad.vehicles.command_driven`.
        period: nominal time between updates in s; upstream counts delays in it.
        status: pedal positions from acceleration and velocity; None if there are no pedals.
    """

    def __init__(
        self, vehicle: Vehicle, period: float, status: ActuationStatus | None = None
    ) -> None:
        model = vehicle.model
        self.vehicle, self.name = vehicle, model.name
        self.inputs = record.names(model.Input)
        method = integrate.get("rk4")
        self._stepper = CompiledStepper(Plant.of(vehicle, method), Settings(period, method))
        self._stepper.reset(record.flatten(record.build(model.State)), 0.0)
        self._row = record.flatten(record.build(model.Input))
        self._velocity_is_commanded = self.inputs[0] == "velocity" and not model.dead_times
        self._lags = hasattr(vehicle.params, "least_time_constant")
        self._status = status
        self._line = DelayLine.of(model, vehicle.params, period)
        self._period, self._clock = period, 0.0
        column = getattr(vehicle.params, "mechanical_params", None)
        self._torques = None
        if column is not None and model.reproduces:
            self._torques = TorqueQueue(column.torque_delay_time)
        self._undefined: float | None = None
        """Acceleration after an update of zero length, where upstream divides by that
        length."""

    def set_state(
        self, x: float, y: float, yaw: float, v_x: float, steer: float = 0.0, a_x: float = 0.0
    ) -> None:
        model = self.vehicle.model
        values = dict(x=x, y=y, yaw=yaw, v_x=v_x, steer=steer, a_x=a_x, acceleration=a_x)
        known = {name: values[name] for name in model.State._fields if name in values}
        keeps = [name for name in model.reset_keeps if name in model.State._fields]
        kept = {name: getattr(self._stepper.state, name) for name in keeps}
        if self._velocity_is_commanded and not model.reproduces:
            # An ideal model reports the commanded velocity, which would differ after the next
            # update.
            kept["v_x"] = self._row[0]
        state = record.build(model.State, {**known, **kept})
        self._stepper.reset(record.flatten(state), 0.0)
        if self._torques is not None:
            self._torques.clear()

    def set_input(self, row: Sequence[float]) -> None:
        """Set the latest command, finite numbers in the order of `inputs`."""
        try:
            usable = len(row) == len(self.inputs) and all(map(math.isfinite, row))
        except TypeError:
            usable = False
        if not usable:
            raise not_numbers(self.vehicle.Input, row)
        self._row = tuple(row)

    def step(self, dt: float) -> None:
        """Advance by `dt` in s with the latest command; a step that fails changes nothing.

        The repaired models with time constants divide dt into updates of at most `LONGEST_UPDATE`.
        """
        if not (math.isfinite(dt) and dt >= 0.0):
            raise InvalidValue(f"dt = {dt} s must be finite and not negative")
        model, acting = self.vehicle.model, self._row
        # Upstream ages a command by one per update, other models by the time that passes.
        after = self._clock + (1.0 if model.dead_time_rule == "nearest" else dt / self._period)
        if self._line is not None:
            acting = self._line.acting(self._row, self._clock, after)
        if dt == 0.0 and model.reproduces:
            self._step_of_no_time(acting)
        elif dt > LONGEST_UPDATE and self._lags and not model.reproduces:
            self._step_in_parts(acting, dt)
        else:
            self._stepper.step_of(acting, dt)
            self._undefined = None
        if self._torques is not None:
            # The compiled column's own queue assumes equal steps; replace its front by upstream's
            # oldest torque.
            x = self._stepper.state
            front = self._torques.front_after(x.column.clock)
            if front != x.column.front:
                state = x._replace(column=x.column._replace(front=front))
                self._stepper.reset(record.flatten(state), 0.0)
        self._clock = after

    def _step_in_parts(self, row: Sequence[float], dt: float) -> None:
        before = self._stepper.snapshot()
        parts = math.ceil(dt / LONGEST_UPDATE)
        try:
            for _ in range(parts):
                self._stepper.step_of(row, dt / parts)
        except BaseException:
            self._stepper.restore(before)
            raise

    def _step_of_no_time(self, row: Sequence[float]) -> None:
        """Apply upstream's first update (dt = 0), whose division by zero affects only the
        acceleration.
        """
        model = self.vehicle.model
        assert model.update is not None
        u = record.unflatten(model.Input, row)
        w = record.build(model.Disturbance)
        # NumPy's numbers divide by zero as C++ does.
        x = record.unflatten(model.State, [*map(np.float64, record.flatten(self._stepper.state))])
        with np.errstate(divide="ignore", invalid="ignore"):
            after = model.update(x, u, w, self.vehicle.params, np.float64(0.0))
        self._undefined = None if math.isfinite(after.a_x) else float(after.a_x)
        settled = after if self._undefined is None else after._replace(a_x=0.0)
        self._stepper.reset(tuple(float(v) for v in record.flatten(settled)), 0.0)

    @property
    def motion(self) -> Motion:
        model, x = self.vehicle.model, self._stepper.state
        # Only models without delay report their input, which is the latest command, applied or not.
        u = record.unflatten(model.Input, self._row)
        y = model.outputs(x, u, None, self.vehicle.params)
        a_x = y.a_x if self._undefined is None else self._undefined
        return Motion(x.x, x.y, x.yaw, y.v_x, y.v_y, a_x, y.omega, y.steer)

    def actuation_status(self) -> tuple[float, float] | None:
        """Accelerator and brake pedal positions for the current acceleration and velocity."""
        x = self._stepper.state
        return None if self._status is None else self._status(x.a_x, x.v_x)


def motion_model(
    name: str, values: Mapping[str, Any], period: float, compat: str | None = None
) -> MotionModel:
    """Model with this name and parameters from `parameters.gather`; `period` in s."""
    if name == "LEARNED_STEER_VEL":
        return LearnedMotion.of(values, period, compat)
    vehicle = assembled(name, values, compat)
    if "ACTUATION" not in name:
        return CompiledMotion(vehicle, period)
    limits = {limit: values[limit] for limit in ("vel_lim", "vel_rate_lim")}
    status = ActuationStatus(values["accel_map"], values["brake_map"], compat, **limits)
    return CompiledMotion(vehicle, period, status)
