"""The g-g diagram: accelerations along over across, and the limit that the tyres set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...trajectory.trajectory import Trajectory
from ..panels import COLOURS, speed
from .sheet import GREY, INK, Axis, Cell, Curve, Diagram, Dots, Mark, Scale, Sheet, Words

G = 9.81
"""m/s², for the rings."""
PAIRS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Columns that are accelerations along and across, in the order they are looked for."""
MOST_POINTS = 20_000
CELLS = 60
"""Cells across the diagram in which points are counted for their density."""
Colour = Literal["speed", "density", "none"]


class Limit(NamedTuple):
    """Largest accelerations along and across, in m/s²: the half-axes of an ellipse."""

    along: float
    across: float


def accelerations(run: Trajectory) -> tuple[Array, Array]:
    """Accelerations along and across the vehicle, in m/s², at the samples of a run."""
    pair = next((pair for pair in PAIRS if set(pair) <= set(run.names)), None)
    if pair is None:
        raise InvalidValue(
            f"{run.name or 'the trajectory'} has no accelerations; needed are the columns a_x and "
            f"a_y, and there are {', '.join(run.names) or 'none'}"
        )
    return run[pair[0]], run[pair[1]]


def limit_of(given: Any) -> Limit:
    """A limit from a number in m/s², from two (along, across), or from a vehicle's tyres."""
    if isinstance(given, Vehicle):
        return _vehicle_limit(given)
    try:
        numbers = np.broadcast_to(np.asarray(given, dtype=float), (2,))
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"limit = {given!r} must be a vehicle, a number in m/s², or two (along, across)"
        ) from error
    if not (np.isfinite(numbers).all() and (numbers > 0.0).all()):
        raise InvalidValue(f"limit = {given} m/s² must be finite and greater than 0")
    return Limit(*numbers.tolist())


def _vehicle_limit(vehicle: Vehicle) -> Limit:
    """Friction at the tyres' peaks times gravity; downforce comes on top of it."""
    from ..numbers.tyre_laws import tyre_laws

    p = vehicle.params
    if hasattr(p, "a_long_max") and hasattr(p, "a_lat_max"):
        return Limit(float(p.a_long_max), float(p.a_lat_max))
    law = tyre_laws(vehicle)[0]
    if law.peak is None:
        raise InvalidValue(f"the tyres of {vehicle.name!r} have no friction limit: give limit=")
    g = float(getattr(p, "g", G))
    return Limit(law.peak.along * g, law.peak.across * g)


def density(x: Array, y: Array, radius: float) -> Array:
    """How many points are near each point, as a share of the densest place."""
    edges = np.linspace(-radius, radius, CELLS + 1)
    counts, _, _ = np.histogram2d(x, y, bins=[edges, edges])
    rows, columns = (np.clip(np.searchsorted(edges, v, "right") - 1, 0, CELLS - 1) for v in (x, y))
    return counts[rows, columns] / max(1.0, counts.max())


def gg_sheet(
    runs: Mapping[str, Trajectory], *, limit: Any = None, colour: str = "speed", title: str = ""
) -> Sheet:
    """Points of the runs, rings at multiples of half of gravity, and the limit if one is given."""
    if colour not in get_args(Colour):
        raise InvalidValue(
            f"colour = {colour!r} is unknown; allowed are {', '.join(get_args(Colour))}"
        )
    bound = None if limit is None else limit_of(limit)
    pairs = {name: accelerations(run) for name, run in runs.items()}
    reach = max(float(np.nanmax(np.hypot(*pair), initial=0.0)) for pair in pairs.values())
    radius = 1.08 * max(reach, *(bound or (0.0,)), 0.5 * G)
    marks = _rings(radius)
    scale: Scale | None = None
    if len(runs) > 1 or colour == "none":
        marks += _clouds(pairs)
    else:
        ((name, run),) = runs.items()
        cloud, scale = _coloured(run, *pairs[name], colour, radius)
        marks.append(cloud)
    if bound is not None:
        marks.append(_ellipse(bound))
    diagram = Diagram(
        tuple(marks),
        x=Axis("lateral acceleration `a_y` [m/s²], positive to the left", low=-radius, high=radius),
        y=Axis("longitudinal acceleration `a_x` [m/s²]", low=-radius, high=radius),
        equal=True,
        scale=scale,
    )
    return Sheet((Cell(diagram, 0, 0),), (5.6 if scale else 5.0,), (5.0,), title=title)


def _rings(radius: float) -> list[Mark]:
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    step = 0.5 if radius < 2.2 * G else 1.0
    marks: list[Mark] = []
    for share in np.arange(step, radius / G, step):
        r = share * G
        marks.append(Curve(r * np.cos(angle), r * np.sin(angle), "", "#BBBBBB", "dot", 0.8))
        at = np.deg2rad(-45.0)
        marks.append(Words(r * np.cos(at), r * np.sin(at), f"{share:g} g", GREY, "left"))
    return marks


def _coloured(
    run: Trajectory, along: Array, across: Array, colour: str, radius: float
) -> tuple[Dots, Scale | None]:
    rows = _some(along.size)
    along, across = along[rows], across[rows]
    whole = speed(run)
    if colour == "speed" and whole is not None:
        values, label = whole[rows], "speed [m/s]"
    else:
        values, label = density(across, along, radius), "density, share of the densest"
    known = values[np.isfinite(values)]
    ends = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    # Dense or fast points on top, so that they are not hidden by the many others.
    order = np.argsort(values, kind="stable")
    cloud = Dots(across[order], along[order], size=3.0, values=values[order], opacity=0.8)
    return cloud, Scale(label, *ends)


def _clouds(pairs: Mapping[str, tuple[Array, Array]]) -> list[Mark]:
    marks: list[Mark] = []
    for k, (name, (along, across)) in enumerate(pairs.items()):
        rows = _some(along.size)
        colour = COLOURS[k % len(COLOURS)]
        marks.append(Dots(across[rows], along[rows], name, colour, size=3.0, opacity=0.6))
    return marks


def _some(count: int) -> slice:
    """Every so many points, so that a figure stays light."""
    return slice(None, None, max(1, count // MOST_POINTS))


def _ellipse(bound: Limit) -> Mark:
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    round_ = abs(bound.along - bound.across) < 1e-9 * bound.along
    label = f"limit {bound.along:.3g} m/s²" if round_ else "limit"
    return Curve(bound.across * np.cos(angle), bound.along * np.sin(angle), label, INK, "dash", 1.4)
