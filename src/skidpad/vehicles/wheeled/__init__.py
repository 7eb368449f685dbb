"""Wheeled robots as in MVSim: differential drive and Ackermann steering, with spinning wheels.

    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_pid")))

A `Description` defines the vehicle; the model is assembled from the parts that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .build import vehicle
    from .description import Control, ackermann, differential

__all__ = ["Control", "ackermann", "differential", "vehicle"]

__getattr__ = lazy_attributes(
    __name__,
    {".build": ("vehicle",), ".description": ("Control", "ackermann", "differential")},
)
