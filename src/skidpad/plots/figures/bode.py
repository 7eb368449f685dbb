"""The Bode diagram of a vehicle's answer to steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ..numbers.frequency_response import Response, steering_response
from .palette import shades
from .sheet import Axis, Cell, Curve, Diagram, Sheet

PER_DEGREE = float(np.deg2rad(1.0))


def bode_sheet(
    vehicle: Vehicle,
    speeds: Sequence[float],
    frequency: tuple[float, float],
    *,
    input: str,
    inputs: Mapping[str, float] | None,
    title: str,
) -> Sheet:
    """Gain over phase, yaw rate beside lateral acceleration, a curve per speed."""
    low, high = frequency
    if not (np.isfinite([low, high]).all() and 0.0 < low < high):
        raise InvalidValue(
            f"frequency = {frequency} Hz must be two numbers above 0, the lower one first"
        )
    if not len(speeds):
        raise InvalidValue("speed: no speed is given")
    hertz = np.geomspace(low, high, 241)
    found = {v: steering_response(vehicle, v, hertz, input=input, inputs=inputs) for v in speeds}
    columns = [_column(found, "yaw_rate", "Yaw rate per steering angle", "gain [1/s]", 1.0)]
    if all(one.lateral_acceleration is not None for one in found.values()):
        columns.append(
            _column(
                found,
                "lateral_acceleration",
                "Lateral acceleration per steering angle",
                "gain [(m/s²)/°]",
                PER_DEGREE,
            )
        )
    cells = [
        Cell(diagram, row, column)
        for column, pair in enumerate(columns)
        for row, diagram in enumerate(pair)
    ]
    keys = tuple(
        Curve(hertz[:0], hertz[:0], f"{v:g} m/s", colour, width=1.6)
        for v, colour in zip(found, shades(len(found)), strict=True)
    )
    widths = (4.3,) * len(columns)
    return Sheet(tuple(cells), widths, (2.5, 1.9), title=title, keys=keys)


def _column(
    found: Mapping[float, Response], name: str, title: str, label: str, by: float
) -> tuple[Diagram, Diagram]:
    gains: list[Curve] = []
    phases: list[Curve] = []
    for (v, one), colour in zip(found.items(), shades(len(found)), strict=True):
        answer: Any = getattr(one, name)
        key = f"{v:g} m/s"
        gains.append(Curve(one.frequency, by * np.abs(answer), key, colour, width=1.6))
        phases.append(Curve(one.frequency, phase(answer), key, colour, width=1.6))
    ends = (float(gains[0].x[0]), float(gains[0].x[-1]))
    time = Axis(log=True, low=ends[0], high=ends[1], group="frequency", ticks=False)
    return (
        Diagram(tuple(gains), title, x=time, y=Axis(label, log=True), legend="none"),
        Diagram(
            tuple(phases),
            x=time._replace(label="frequency [Hz]", ticks=True),
            y=Axis("phase [°]", step=30.0),
            legend="none",
        ),
    )


def phase(answer: Any) -> Array:
    """Phase in degrees along a curve of complex amplitudes, without jumps, within ±180° at its
    start."""
    angle = np.rad2deg(np.unwrap(np.angle(answer)))
    return angle - 360.0 * np.round(angle[0] / 360.0)
