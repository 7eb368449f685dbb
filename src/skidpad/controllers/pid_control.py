"""PID controllers that keep their memory, called by the names of commonroad-control.

See `pid_long_lat` for the laws and for the same as pure functions.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from .. import record
from ..brief import brief_repr
from ..checks import finite
from ..units import non_negative, one, per_s, positive, s
from .pid_long_lat import SpeedGains, answer, at_start

__all__ = ["PIDControl", "PIDLongLat", "Settings"]


class Settings(NamedTuple):
    """Settings of a PID controller whose error and output have any unit."""

    kp: one
    """Output per error."""
    ki: per_s
    """Growth of the output per second and error."""
    kd: s
    """Output per rate of the error."""
    delta_t: Annotated[s, positive]
    """Time between two calls."""
    limit: Annotated[one, non_negative] = 0.0
    """Largest output, either sign; 0 means no limit."""


class PIDControl:
    """One PID controller with its memory, called as commonroad-control calls it."""

    def __init__(
        self,
        kp: float,
        ki: float,
        kd: float,
        delta_t: float,
        *,
        limit: float = 0.0,
        anti_windup: bool = False,
        compat: str | None = None,
    ) -> None:
        self._settings = record.build(Settings, kp=kp, ki=ki, kd=kd, delta_t=delta_t, limit=limit)
        self._anti_windup = anti_windup
        self._start = at_start(compat).longitudinal
        self._memory: Any = self._start

    def __repr__(self) -> str:
        return f"PIDControl{tuple(self._settings)[:4]}"

    @property
    def kp(self) -> float:
        """Output per error."""
        return self._settings.kp

    @property
    def ki(self) -> float:
        """Growth of the output per second and error."""
        return self._settings.ki

    @property
    def kd(self) -> float:
        """Output per rate of the error."""
        return self._settings.kd

    @property
    def delta_t(self) -> float:
        """Time between two calls in s."""
        return self._settings.delta_t

    def compute_control_input(self, measured_output: float, reference_output: float) -> float:
        """The output for the coming step; the memory moves on."""
        p = self._settings
        acceleration, self._memory = answer(
            SpeedGains(p.kp, p.ki, p.kd, p.limit),
            self._memory,
            finite("measured_output", measured_output),
            finite("reference_output", reference_output),
            p.delta_t,
            anti_windup=self._anti_windup,
        )
        return acceleration

    def reset(self) -> None:
        """Forget what was."""
        self._memory = self._start


class PIDLongLat:
    """Speed and lateral offset by two controllers, called as commonroad-control calls them."""

    __repr__ = brief_repr

    def __init__(
        self,
        kp_long: float,
        ki_long: float,
        kd_long: float,
        kp_lat: float,
        ki_lat: float,
        kd_lat: float,
        delta_t: float,
        *,
        compat: str | None = None,
    ) -> None:
        self.longitudinal_pid = PIDControl(kp_long, ki_long, kd_long, delta_t, compat=compat)
        """From speed to acceleration."""
        self.lateral_pid = PIDControl(kp_lat, ki_lat, kd_lat, delta_t, compat=compat)
        """From lateral offset to steering rate."""

    @property
    def delta_t(self) -> float:
        """Time between two calls in s."""
        return self.longitudinal_pid.delta_t

    def compute_control_input(
        self,
        measured_v_long: float,
        reference_v_long: float,
        measured_lat_offset: float,
        reference_lat_offset: float = 0.0,
    ) -> tuple[float, float]:
        """Acceleration in m/s² and steering rate in rad/s for the coming step."""
        return (
            self.longitudinal_pid.compute_control_input(measured_v_long, reference_v_long),
            self.lateral_pid.compute_control_input(measured_lat_offset, reference_lat_offset),
        )

    def reset(self) -> None:
        """Forget what was."""
        self.longitudinal_pid.reset()
        self.lateral_pid.reset()
