"""What a planning simulator asks of a vehicle: commands in, motion out, steps of any length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ...units import m, m_s, m_s2, rad, rad_s


class Motion(NamedTuple):
    """What a vehicle reports of itself; the body point is the middle of the rear axle."""

    x: m
    y: m
    yaw: rad
    """From the x axis to the left; never wrapped."""
    v_x: m_s
    """Forward."""
    v_y: m_s
    """To the left."""
    a_x: m_s2
    """Forward."""
    omega: rad_s
    """Yaw rate, to the left."""
    steer: rad
    """Measured tyre angle, to the left; the true one plus the bias."""


class MotionModel(Protocol):
    """A vehicle that takes commands and moves."""

    name: str
    """Upstream's vehicle_model_type."""
    inputs: tuple[str, ...]
    """Names of the inputs, in order."""

    def set_state(
        self,
        x: float,
        y: float,
        yaw: float,
        v_x: float,
        steer: float = 0.0,
        a_x: float = 0.0,
    ) -> None:
        """Put the vehicle somewhere else. Commands that have not acted yet stay queued."""
        ...

    def set_input(self, row: Sequence[float]) -> None:
        """The latest command, in the order of `inputs`."""
        ...

    def step(self, dt: float) -> None:
        """One update of dt in s with the latest command; a step that fails changes nothing."""
        ...

    @property
    def motion(self) -> Motion:
        """As reported after the last update."""
        ...

    def actuation_status(self) -> tuple[float, float] | None:
        """Positions of accelerator and brake pedal that explain the motion; None if the vehicle
        has no pedals."""
        ...
