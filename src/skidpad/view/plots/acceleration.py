"""The g-g diagram: accelerations along over across, and the limit that the tyres set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from ...core.arrays import Array
from ...core.files import shown
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from . import style
from .comparison import run_names
from .motion import accelerations, with_motions
from .motion import speed as speed_of
from .style import COLOURS, FilePath, Size, symbol
from .tyres import G, tyre_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELLS = 60
"""Cells across a diagram in which points are counted for their density."""


class Limit(NamedTuple):
    """Largest accelerations along and across, in m/s²: the half-axes of an ellipse."""

    along: float
    across: float


def limit_of(limit: Any) -> Limit:
    """A limit from a number in m/s², from two (along, across), or from a vehicle's tyres."""
    if isinstance(limit, Vehicle):
        p = limit.params
        if hasattr(p, "a_long_max") and hasattr(p, "a_lat_max"):
            return Limit(float(p.a_long_max), float(p.a_lat_max))
        law = tyre_laws(limit)[0]
        if law.peak is None:
            raise InvalidValue(f"the tyres of {limit.name!r} have no friction limit: give limit=")
        g = float(getattr(p, "g", G))
        return Limit(law.peak.along * g, law.peak.across * g)
    try:
        numbers = np.broadcast_to(np.asarray(limit, dtype=float), (2,))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"limit = {shown(limit)} must be a vehicle, a number in m/s², or two (along, across)"
        ) from error
    if not (np.isfinite(numbers).all() and (numbers > 0.0).all()):
        raise InvalidValue(f"limit = {limit} m/s² must be finite and greater than 0")
    return Limit(*numbers.tolist())


def density(x: Array, y: Array, radius: float) -> Array:
    """How many points are near each point, as a share of the densest place."""
    edges = np.linspace(-radius, radius, CELLS + 1)
    counts, _, _ = np.histogram2d(x, y, bins=[edges, edges])
    rows, columns = (np.clip(np.searchsorted(edges, v, "right") - 1, 0, CELLS - 1) for v in (x, y))
    return counts[rows, columns] / max(1.0, counts.max())


MOST_POINTS = 20_000
MOST_VECTORS = 3000
"""Points beyond which a cloud is a picture within a vector file, which would grow too large."""
Colour = Literal["speed", "density", "none"]
_RING = np.linspace(0.0, 2.0 * np.pi, 361)


def gg(
    *runs: Trajectory,
    vehicle: Vehicle | Sequence[Vehicle] | None = None,
    names: Sequence[str] | None = None,
    limit: Vehicle | float | tuple[float, float] | None = None,
    colour: str = "speed",
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Figure:
    """The g-g diagram of one or more runs: longitudinal over lateral acceleration.

    `limit` draws a dashed circle: a radius in m/s², two of an ellipse (along, across), or a vehicle
    whose tyres' friction sets it. Accelerations that were not recorded are those that the body of
    `vehicle` tells, one for all or one for each run; if None, that of the limit. One run is
    coloured by "speed" or "density", or not ("none").
    """
    style.check(path, backend, size)
    if colour not in get_args(Colour):
        raise InvalidValue(
            f"colour = {colour!r} is unknown; allowed are {', '.join(get_args(Colour))}"
        )
    own = limit if vehicle is None and isinstance(limit, Vehicle) else vehicle
    named_runs = run_names(with_motions(runs, own), names)
    bound = None if limit is None else limit_of(limit)
    pairs = {name: accelerations(run) for name, run in named_runs.items()}
    reach = max(float(np.nanmax(np.hypot(*pair), initial=0.0)) for pair in pairs.values())
    radius = 1.08 * max(reach, *(bound or (0.0,)), 0.5 * G)
    coloured = len(runs) == 1 and colour != "none"
    with style.new_figure((5.6 if coloured else 5.0,), (5.0,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        axes.set(
            xlabel=f"lateral acceleration {symbol('a_y')} [m/s²], positive to the left",
            ylabel=f"longitudinal acceleration {symbol('a_x')} [m/s²]",
        )
        _draw_rings(axes, radius)
        if coloured:
            _draw_coloured(axes, next(iter(named_runs.values())), colour, radius)
        else:
            for k, (name, pair) in enumerate(pairs.items()):
                along, across = map(_some, pair)
                look = {
                    "color": COLOURS[k % len(COLOURS)],
                    "alpha": 0.6,
                    "label": style.literal(name),
                }
                _draw_points(axes, across, along, **look)
        if bound is not None:
            round_ = abs(bound.along - bound.across) < 1e-9 * bound.along
            axes.plot(
                bound.across * np.cos(_RING),
                bound.along * np.sin(_RING),
                color=style.INK,
                linestyle=style.DASHES,
                linewidth=1.4,
                label=f"limit {bound.along:.3g} m/s²" if round_ else "limit",
            )
        style.equal_axes(axes, (-radius, radius), (-radius, radius))
        # Dots as small as in the diagram would hardly show their colour.
        style.legend_above(axes, markerscale=2.0)
        style.headings(figure, title)
    return style.write_figure(figure, path)


def _draw_rings(axes: Axes, radius: float) -> None:
    step = 0.5 if radius < 2.2 * G else 1.0
    for share in np.arange(step, radius / G, step):
        r = share * G
        axes.plot(r * np.cos(_RING), r * np.sin(_RING), color="#BBBBBB", ls=style.DOTS, lw=0.8)
        axes.annotate(
            f"{share:g} g",
            (r * np.sqrt(0.5), -r * np.sqrt(0.5)),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=style.GREY,
            fontsize=7.5,
            zorder=5.0,
        )


def _draw_coloured(axes: Axes, run: Trajectory, colour: str, radius: float) -> None:
    along, across = accelerations(run)
    speed = speed_of(run)
    if colour == "speed" and speed is not None:
        values, label = speed, "speed [m/s]"
    else:
        values, label = density(across, along, radius), "density, share of the densest"
    # Dense or fast points on top, so that they are not hidden by the many others.
    order = _some(np.argsort(values, kind="stable"))
    cloud = _draw_points(axes, across[order], along[order], c=values[order], alpha=0.8)
    known = values[np.isfinite(values)]
    if known.size:
        cloud.set_clim(known.min(), known.max())
    style.colour_bar(axes, cloud, label)


def _draw_points(axes: Axes, across: Array, along: Array, **look: Any) -> Any:
    raster = along.size > MOST_VECTORS
    return axes.scatter(across, along, s=9.0, lw=0.0, rasterized=raster, zorder=2.5, **look)


def _some(values: Any) -> Any:
    """At most about `MOST_POINTS` of the values, evenly chosen, so that a figure stays light."""
    return values[:: max(1, values.size // MOST_POINTS)]
