"""The Bode diagram of a vehicle's answer to steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InvalidValue
from ...model import Vehicle
from ..layout import FilePath, Size, check, finished, headings, new_figure
from ..numbers.frequency_response import Complex, phase, steering_response
from ..style import shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PER_DEGREE = float(np.deg2rad(1.0))
_POINTS = 241


def bode(
    vehicle: Vehicle,
    *,
    speed: float | Sequence[float],
    frequency: tuple[float, float] = (0.1, 10.0),
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Gain and phase of yaw rate and lateral acceleration for small steering in straight driving.

    `speed` in m/s, one or several; `frequency` the range in Hz. `input` is "steer", the angle of
    the wheels, or "u_steer", the command, which adds the steering actuator. The torques are those
    that hold the speed unless `inputs` says otherwise.
    """
    check(path, backend, size)
    speeds = [float(speed)] if isinstance(speed, (int, float)) else [float(v) for v in speed]
    if not speeds:
        raise InvalidValue("speed: no speed is given")
    low, high = frequency
    if not (np.isfinite([low, high]).all() and 0.0 < low < high):
        raise InvalidValue(
            f"frequency = {frequency} Hz must be two numbers above 0, the lower one first"
        )
    hertz = np.geomspace(low, high, _POINTS)
    responses = [steering_response(vehicle, v, hertz, input=input, inputs=inputs) for v in speeds]
    labels = [f"{v:g} m/s" for v in speeds]
    with new_figure((4.3, 4.3), (2.5, 1.9), size) as (figure, grid):
        axes: Any = grid.subplots(sharex=True, squeeze=False)
        turning = [r.yaw_rate for r in responses]
        axes[0, 0].set_title("Yaw rate per steering angle")
        lines = _draw(axes[:, 0], hertz, turning, labels, 1.0, "gain [1/s]")
        across = [r.lateral_acceleration for r in responses]
        axes[0, 1].set_title("Lateral acceleration per steering angle")
        _draw(axes[:, 1], hertz, across, labels, PER_DEGREE, "gain [(m/s²)/°]")
        own = f"Steering response of {vehicle.name}"
        headings(figure, own if title is None else title, lines)
    return finished(figure, path)


def _draw(
    pair: Sequence[Axes],
    hertz: Any,
    answers: Sequence[Complex],
    labels: Sequence[str],
    by: float,
    gain_label: str,
) -> list[Any]:
    """Gain above phase, a line for each answer; returns the lines of the gain."""
    from matplotlib.ticker import MultipleLocator

    gain, angle = pair
    lines: list[Any] = []
    for answer, label, colour in zip(answers, labels, shades(len(answers)), strict=True):
        look: Any = {"color": colour, "linewidth": 1.6, "label": label}
        lines += gain.plot(hertz, by * np.abs(answer), **look)
        angle.plot(hertz, phase(answer), **look)
    gain.set_ylabel(gain_label)
    _set_log(gain, "y")
    for axes in pair:
        _set_log(axes, "x")
        axes.set_xlim(hertz[0], hertz[-1])
    angle.set(xlabel="frequency [Hz]", ylabel="phase [°]")
    angle.yaxis.set_major_locator(MultipleLocator(30.0))
    return lines


def _set_log(axes: Axes, name: str) -> None:
    """A logarithmic axis with numbers 0.5, 1, 2, which over the few decades of a vehicle read
    better than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis: Any = axes.xaxis if name == "x" else axes.yaxis
    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="minor", alpha=0.4)
