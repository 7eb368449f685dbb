"""The stage of recorded runs: one body per trajectory, a row per sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from .description import Body, Stage
from .layout import Named, Rows, wheels_with_channels
from .shapes import BodyShape, shape_of

_TRAILER = (Named("x", "m", "output"), Named("y", "m", "output"), Named("yaw", "rad", "output"))


def trajectory_stage(
    runs: Mapping[str, Trajectory],
    vehicles: Mapping[str, Vehicle | BodyShape] | Vehicle | BodyShape,
    *,
    title: str = "",
    **still: Any,
) -> tuple[Stage, Array, Array]:
    """The stage of some runs by name, its times (T,) in s and rows (T, channels).

    Runs that differ in their times are shown at those of the first, the shorter ones standing
    still at their end. `still` are lines, polygons and discs on the ground, by the fields of
    `Stage`.
    """
    if not runs:
        raise InvalidValue("a stage needs at least one trajectory")
    times = _common_times(list(runs.values()))
    rows = Rows()
    bodies: list[Body] = []
    tables: list[Array] = []
    for name, run in runs.items():
        given = vehicles.get(name) if isinstance(vehicles, Mapping) else vehicles
        if given is None:
            raise InvalidValue(f"no vehicle is given for the trajectory {name!r}")
        shape = given if isinstance(given, BodyShape) else shape_of(given)
        table = _sampled(run, times)
        tables.append(table)
        named = [Named(c.name, c.unit.symbol, c.role) for c in run.columns]
        body = _body(name, rows.add(name, named), shape, run.name)
        bodies.append(body)
        if shape.trailer is not None and "hitch" in body.channels:
            at = rows.add(f"{name} trailer", _TRAILER)
            tables.append(_trailer(table, [c.name for c in run.columns], shape))
            bodies.append(
                Body(
                    f"{name} trailer",
                    "trailer",
                    shape.trailer.outlines,
                    *(at[n] for n in ("x", "y", "yaw")),
                    wheels=shape.trailer.wheels,
                    channels=at,
                )
            )
    stage = Stage(title or next(iter(runs)), tuple(rows.channels), tuple(bodies), **still)
    return stage, times, np.concatenate(tables, axis=1)


def _body(name: str, places: dict[str, int], shape: BodyShape, model: str) -> Body:
    missing = [n for n in ("x", "y", "yaw") if n not in places]
    if missing:
        raise InvalidValue(
            f"the trajectory {name!r} has no {', '.join(missing)}, so it cannot be drawn"
        )
    wheels = wheels_with_channels(shape.wheels, places)
    pose = (places["x"], places["y"], places["yaw"])
    return Body(name, "vehicle", shape.outlines, *pose, wheels, places, model=model)


def _common_times(runs: Sequence[Trajectory]) -> Array:
    longest = max(runs, key=lambda run: run.t[-1])
    return longest.t


def _sampled(run: Trajectory, times: Array) -> Array:
    """The columns of a run (T, n) at these times; its ends beyond them."""
    inside = np.clip(times, run.t[0], run.t[-1])
    if len(times) == len(run) and np.array_equal(inside, run.t):
        return np.column_stack([c.values for c in run.columns])
    columns: list[Array] = []
    for column in run.columns:
        if column.role == "input":
            at = np.searchsorted(run.t, inside, side="right") - 1
            columns.append(column.values[at])
        else:
            columns.append(np.interp(inside, run.t, column.values))
    return np.column_stack(columns)


def _trailer(table: Array, names: list[str], shape: BodyShape) -> Array:
    """Pose (T, 3) of a trailer's axle behind its hitch."""
    x, y, yaw, hitch = (table[:, names.index(n)] for n in ("x", "y", "yaw", "hitch"))
    heading = yaw + hitch
    return np.column_stack(
        [
            x + shape.hitch_x * np.cos(yaw) - shape.drawbar * np.cos(heading),
            y + shape.hitch_x * np.sin(yaw) - shape.drawbar * np.sin(heading),
            heading,
        ]
    )
