"""Figures for papers and notebooks, each with one call.

    plots.compare(lap_1, lap_2)
    plots.gg(lap, limit=car)
    plots.bode(car, speed=[10.0, 20.0, 30.0], path="bode.pdf")

All take `path` (PNG, SVG or PDF by its suffix; HTML with Plotly), `backend` ("matplotlib", the
default, or "plotly" for a figure to zoom and point at), `title` and `size` (width and height in
inches). They return the figure of that library. Angles are in degrees on screen, in radians in
arguments.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValue
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from .figures.figure import check, figure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..plane.maps import Map
    from ..run.monte_carlo import MonteCarlo
    from ..stage import BodyShape, Stage

Path = str | os.PathLike[str] | None
Size = tuple[float, float] | None


def compare(
    *runs: Trajectory,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    align: str = "time",
    differences: bool = True,
    path: Path = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Any:
    """Runs over each other, and below each quantity how far the others are from the first.

    `names` are shown in the legend; the runs' own if None. `columns` are shown instead of the usual
    ones and the path. With align="start" all runs begin at 0 s. Differences are taken at the times
    of the first run within both, the other run interpolated.
    """
    from .figures.compare import aligned, compare_sheet

    check(backend, path, size)
    sheet = compare_sheet(
        aligned(runs, names, align), columns, differences=differences, title=title
    )
    return figure(sheet, backend=backend, path=path, size=size)


def gg(
    *runs: Trajectory,
    names: Sequence[str] | None = None,
    limit: Vehicle | float | tuple[float, float] | None = None,
    colour: str = "speed",
    path: Path = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Any:
    """The g-g diagram of one or more runs: longitudinal over lateral acceleration.

    `limit` draws a dashed circle: a radius in m/s², two of an ellipse (along, across), or a vehicle
    whose tyres' friction sets it. One run is coloured by "speed" or "density", or not ("none").
    """
    from .figures.compare import run_names
    from .figures.gg import gg_sheet

    check(backend, path, size)
    sheet = gg_sheet(run_names(runs, names), limit=limit, colour=colour, title=title)
    return figure(sheet, backend=backend, path=path, size=size)


def tyre_curves(
    vehicle: Any,
    *,
    loads: Sequence[float] | None = None,
    alpha_max: float = 0.2618,
    path: Path = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Any:
    """Forces of a vehicle's tyres: lateral over slip angle at several loads and, where the tyres
    have them, longitudinal over slip and the friction that drive and cornering share.

    Takes a vehicle or a record of tyre coefficients. `loads` in N, `alpha_max` in rad.
    """
    from .figures.tyres import tyre_sheet

    check(backend, path, size)
    if title is None:
        title = f"Tyres of {vehicle.name}" if isinstance(vehicle, Vehicle) else ""
    sheet = tyre_sheet(vehicle, loads=loads, alpha_max=alpha_max, title=title)
    return figure(sheet, backend=backend, path=path, size=size)


def phase_portrait(
    vehicle: Vehicle,
    x: str = "beta",
    y: str = "omega",
    *,
    speed: float,
    steer: float = 0.0,
    state: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    path: Path = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Any:
    """Where the motion of a vehicle goes from any point of a plane, with speed and steering held.

    `x` is "beta" or "v_y", `y` mostly "omega"; other states need a range. `speed` in m/s, `steer`
    in rad, ranges in SI units. `state` and `inputs` are values of the others. Points where nothing
    changes are marked as stable, saddles or unstable; the boundary through the saddles encloses the
    motions that come back by themselves.
    """
    from .figures.phase import phase_sheet
    from .numbers.phase_plane import Plane

    check(backend, path, size)
    plane = Plane(vehicle, (x, y), speed=speed, steer=steer, state=state, inputs=inputs)
    if title is None:
        title = f"{vehicle.name} at {speed:g} m/s, steered by {math.degrees(steer):.3g}°"
    sheet = phase_sheet(plane, x_range, y_range, title)
    return figure(sheet, backend=backend, path=path, size=size)


def bode(
    vehicle: Vehicle,
    *,
    speed: float | Sequence[float],
    frequency: tuple[float, float] = (0.1, 10.0),
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
    path: Path = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Any:
    """Gain and phase of yaw rate and lateral acceleration for small steering in straight driving.

    `speed` in m/s, one or several; `frequency` the range in Hz. `input` is "steer", the angle of
    the wheels, or "u_steer", the command, which adds the steering actuator. The torques are those
    that hold the speed unless `inputs` says otherwise.
    """
    from .figures.bode import bode_sheet

    check(backend, path, size)
    speeds = [float(speed)] if isinstance(speed, (int, float)) else [float(v) for v in speed]
    sheet = bode_sheet(
        vehicle,
        speeds,
        frequency,
        input=input,
        inputs=inputs,
        title=f"Steering response of {vehicle.name}" if title is None else title,
    )
    return figure(sheet, backend=backend, path=path, size=size)


def fan(
    runs: MonteCarlo | ArrayLike,
    quantity: str | Sequence[str],
    *,
    lines: int = 0,
    worst: int = 0,
    rules: float | Sequence[float] | Mapping[str, Sequence[float]] = (),
    units: Mapping[str, str] | None = None,
    t: ArrayLike | None = None,
    vehicle: Vehicle | type | None = None,
    levels: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
    path: Path = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Any:
    """Bands that hold shares of many runs over time, and their median.

    `runs` is a `MonteCarlo`, or an array of samples: what `Fleet.rollout` gave, (T, B, nx), with
    `vehicle=` and the times `t=` in s, or one quantity (T, B) with `t=`. `quantity` is one name or
    several. `lines` so many single runs are drawn too, and the `worst` with the highest values (of
    a MonteCarlo: they are run again). `rules` are values to mark, in SI units; `units` are unit
    symbols of quantities that are no states; `levels` are those of arrays.
    """
    from ..run.monte_carlo import MonteCarlo
    from .figures.fan import array_fans, fan_sheet, study_fans

    check(backend, path, size)
    names = [quantity] if isinstance(quantity, str) else list(quantity)
    if not names:
        raise InvalidValue("quantity: no name is given")
    known = dict(units or {})
    if isinstance(runs, MonteCarlo):
        if t is not None or vehicle is not None:
            raise InvalidValue("t and vehicle go with arrays; a MonteCarlo knows its own")
        fans = study_fans(runs, names, lines=lines, worst=worst, units=known)
    else:
        if t is None:
            raise InvalidValue("an array of samples needs t=, the times in s")
        if worst:
            raise InvalidValue("worst goes with a MonteCarlo, not with arrays")
        fans = array_fans(
            runs, names, t=t, vehicle=vehicle, levels=levels, lines=lines, units=known
        )
    marked = rules if isinstance(rules, Mapping) else dict.fromkeys(names, _values(rules))
    return figure(fan_sheet(fans, rules=marked, title=title), backend=backend, path=path, size=size)


def _values(given: float | Sequence[float]) -> Sequence[float]:
    return [float(given)] if isinstance(given, (int, float)) else given


def path(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    every: float | None = None,
    count: int = 12,
    path: Path = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Any:
    """The path over ground, coloured by speed, with the vehicle as it was at intervals.

    The vehicle is drawn every so many seconds, or `count` times at equal distances; its shape comes
    from its parameters. `map` draws walls and cones: a `Map`, or what stands still on a `Stage`.
    """
    from .figures.ground import ground_diagram, ground_sheet

    check(backend, path, size)
    diagram = ground_diagram(run, vehicle, map, every=every, count=count)
    sheet = ground_sheet(diagram, run.name if title is None else title)
    return figure(sheet, backend=backend, path=path, size=size)


def trajectory(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    columns: Sequence[str] | None = None,
    every: float | None = None,
    count: int = 12,
    path: Path = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Any:
    """A run: its path, as `plots.path` has it, beside panels of what was recorded.

    `columns` shows panels of these in place of the usual ones.
    """
    from .figures.ground import ground_diagram
    from .trajectory_plot import run_sheet

    check(backend, path, size)
    ground = None
    if vehicle is not None or map is not None:
        ground = ground_diagram(run, vehicle, map, every=every, count=count)
    sheet = run_sheet(run, title=title, columns=columns, path=ground)
    return figure(sheet, backend=backend, path=path, size=size)
