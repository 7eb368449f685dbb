"""Comparison of runs in one figure: overlaid with their differences, as a g-g diagram, or as the
replays of a log by several vehicles and their errors over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from ...core import record
from ...core.arrays import Array
from ...core.checks import one_of
from ...core.files import shown
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.monte_carlo import MonteCarlo
from ...run.trajectory import Trajectory
from ...run.trajectory_table import Column, interpolated, is_heading, slack, snapped
from . import style
from .runs import accelerations, thin_line, with_motions
from .runs import speed as speed_of
from .style import BLUE, COLOURS, INK, FilePath, Size, on_screen, room, symbol
from .tyres import G, tyre_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Align = Literal["time", "start"]
USUAL = ("v_x", "v_y", "v", "a_x", "a_y", "omega", "steer", "beta")
"""Default columns, used if all runs have them."""
MOST_USUAL = 6


class Difference(NamedTuple):
    """Deviation of a run from the reference in one column."""

    t: Array
    """Times of the reference within the run, in s."""
    values: Array
    """Run minus reference, in SI units; heading differences are wrapped to half a turn."""


def align_runs(
    runs: Sequence[Trajectory], names: Sequence[str] | None, align: str
) -> dict[str, Trajectory]:
    """Runs by display name, with their times aligned."""
    if len(runs) < 2:
        raise InvalidValue(f"compare takes at least 2 trajectories, got {len(runs)}")
    if align not in get_args(Align):
        raise InvalidValue(f"align = {align!r} is unknown; allowed are 'time', 'start'")
    named_runs = run_names(runs, names)
    if align == "time":
        return named_runs
    return {name: run.starting_at(0.0) for name, run in named_runs.items()}


def run_names(runs: Sequence[Trajectory], names: Sequence[str] | None) -> dict[str, Trajectory]:
    """Runs by display name: their own names, numbered where these are the same."""
    if not runs:
        raise InvalidValue("no trajectory is given")
    own = [run.name or f"run {k + 1}" for k, run in enumerate(runs)] if names is None else names
    if len(own) != len(runs):
        raise InvalidValue(f"names = {list(own)}: {len(own)} names for {len(runs)} trajectories")
    if len(set(own)) < len(own):
        if names is not None:
            raise InvalidValue(f"names = {list(own)} must differ")
        own = [f"{name} {k + 1}" for k, name in enumerate(own)]
    return dict(zip(own, runs, strict=True))


def common_columns(runs: Mapping[str, Trajectory], columns: Sequence[str] | None) -> list[str]:
    """Columns to show; raises if a run lacks one or has it in another unit."""
    for name in () if columns is None else columns:
        for label, run in runs.items():
            if name not in run:
                raise InvalidValue(
                    f"{label!r} has no column {name!r}; it has {', '.join(run.names)}"
                )
    names = USUAL if columns is None else columns
    shown = [name for name in names if all(name in run for run in runs.values())]
    for name in shown:
        symbols = {label: run.unit(name).symbol for label, run in runs.items()}
        if len(set(symbols.values())) > 1:
            said = ", ".join(f"{symbol} in {label!r}" for label, symbol in symbols.items())
            raise InvalidValue(f"column {name!r} has different units: {said}")
    if not shown:
        raise InvalidValue(
            "the trajectories have no column in common: name some with columns=, or give vehicle="
        )
    return shown[:MOST_USUAL] if columns is None else shown


def difference(run: Trajectory, reference: Trajectory, name: str) -> Difference:
    """Difference of a column from the reference, at the times of the reference that both runs
    cover."""
    rounding = max(slack(run.t), slack(reference.t))
    first, last = run.t[0] - rounding, run.t[-1] + rounding
    inside = (reference.t >= first) & (reference.t <= last)
    t = reference.t[inside]
    if not t.size:
        return Difference(t, np.empty(0))
    moments = np.clip(snapped(run.t, t), run.t[0], run.t[-1])
    column = run.column(name)
    values = interpolated(column, run.t, moments) - reference[name][inside]
    if is_heading(column):
        values = values - 2.0 * np.pi * np.rint(values / (2.0 * np.pi))
    return Difference(t, values)


Looks = Mapping[str, Mapping[str, Any]]
"""Colour, width and dashes of each run, by display name."""


def compare(
    *runs: Trajectory,
    vehicle: Vehicle | Sequence[Vehicle] | None = None,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    align: str = "time",
    differences: bool = True,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Figure:
    """Runs overlaid, and below each quantity the differences from the first run.

    With `vehicle`, one for all or one for each run, motion is computed by the vehicle's body,
    regardless of the names of its states. `names` are the legend labels; by default the runs' own.
    `columns` replaces the default columns and the path. With align="start" all runs begin at 0 s.
    Differences are taken at the times of the first run within both, the other run interpolated.
    """
    style.check(path, backend, size)
    named_runs = align_runs(with_motions(runs, vehicle), names, align)
    shown = common_columns(named_runs, columns)
    looks = {name: _look(k) for k, name in enumerate(named_runs)}
    with_path = columns is None and all({"x", "y"} <= set(run.names) for run in named_runs.values())
    stacks = 2 if len(shown) > 2 else 1
    levels = -(-len(shown) // stacks)
    heights = np.array([1.35, 0.8] * levels if differences else [1.7] * levels)
    heights += max(0.0, (4.2 if with_path else 2.6) - heights.sum()) / len(heights)
    widths = (*[4.6] * with_path, *[4.2] * stacks)
    with style.new_figure(widths, heights.tolist(), size) as (figure, grid):
        if with_path:
            plane = figure.add_subplot(grid[:, 0])
            mark: Any = {"mew": 1.3, "zorder": 4.0}
            for label, run in named_runs.items():
                plane.plot(run["x"], run["y"], **looks[label])
                end: Any = {"color": looks[label]["color"], "ms": 5.0, "mec": "white", **mark}
                plane.plot(run["x"][-1:], run["y"][-1:], "s", **end)
            start = next(iter(named_runs.values()))
            plane.plot(start["x"][:1], start["y"][:1], "o", color="white", ms=7.0, mec=INK, **mark)
            plane.set(title="Path [m]", xlabel="x", ylabel="y")
            x, y = (room([run[name] for run in named_runs.values()], 0.08) for name in ("x", "y"))
            style.equal_axes(plane, x, y)
        first: Axes | None = None
        for k, name in enumerate(shown):
            stack, level = divmod(k, levels)
            row, column = level * (1 + differences), stack + with_path
            lowest = level == levels - 1 or k == len(shown) - 1
            axes = figure.add_subplot(grid[row, column], sharex=first)
            first = first or axes
            (_, reference), *others = named_runs.items()
            unit, overlaid = reference.unit(name).symbol, list[Array]()
            for label, run in named_runs.items():
                t, values = thin_line(run.t, on_screen(run[name], unit))
                _draw_line(axes, run.column(name), t, values, looks[label])
                overlaid.append(values)
            axes.set_title(style.quantity_title(name, unit))
            axes.set_ylim(*room(overlaid))
            if differences:
                axes.tick_params(labelbottom=False)
                axes = figure.add_subplot(grid[row + 1, column], sharex=first)
                axes.axhline(0.0, color="#999999", linewidth=0.6, zorder=1.5)
                # Runs that agree to rounding show a flat line, not the rounding.
                most = 1e-9 * max(1.0, _largest(on_screen(reference[name], unit)))
                for label, run in others:
                    apart = difference(run, reference, name)
                    t, values = thin_line(apart.t, on_screen(apart.values, unit))
                    look = {**looks[label], "linestyle": "-", "linewidth": 1.1}
                    _draw_line(axes, reference.column(name), t, values, look)
                    most = max(most, _largest(values))
                axes.set_ylabel("Δ")
                axes.set_ylim(-1.1 * most, 1.1 * most)
            axes.tick_params(labelbottom=lowest)
            axes.set_xlabel("time [s]" if lowest else "")
        early = (
            f"{name} ended early at {run.t[-1]:g} s"
            for name, run in named_runs.items()
            if run.error is not None
        )
        style.headings(figure, title, _keys(looks), warning="; ".join(early))
    return style.write_figure(figure, path)


def _look(k: int) -> dict[str, Any]:
    """Line style; the first run, which is the reference, has a thick solid line in the text
    colour."""
    if k == 0:
        return {"color": INK, "linestyle": "-", "linewidth": 2.0}
    return {"color": COLOURS[(k - 1) % len(COLOURS)], "linestyle": style.DASHES, "linewidth": 1.3}


def _keys(looks: Looks) -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=style.literal(name), **look) for name, look in looks.items()]


def _draw_line(axes: Axes, column: Column, t: Any, values: Any, look: Mapping[str, Any]) -> None:
    held = column.role in ("input", "disturbance")
    # A line of a single sample would be invisible.
    marker = "o" if t.size == 1 else ""
    drawstyle = "steps-post" if held else "default"
    axes.plot(t, values, drawstyle=drawstyle, marker=marker, markersize=4.0, **look)


def _largest(values: Any) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


CELLS = 60
"""Cells across the diagram for counting the density of points."""


class Limit(NamedTuple):
    """Largest longitudinal and lateral acceleration in m/s²: the half-axes of an ellipse."""

    along: float
    across: float


def limit_of(limit: Any) -> Limit:
    """Limit from a number in m/s², from a pair (longitudinal, lateral), or from a vehicle's
    tyres."""
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
    """Number of points near each point, as a share of the densest place."""
    edges = np.linspace(-radius, radius, CELLS + 1)
    counts, _, _ = np.histogram2d(x, y, bins=[edges, edges])
    rows, columns = (np.clip(np.searchsorted(edges, v, "right") - 1, 0, CELLS - 1) for v in (x, y))
    return counts[rows, columns] / max(1.0, counts.max())


MOST_POINTS = 20_000
MOST_VECTORS = 3000
"""Number of points above which a cloud is rasterised within a vector file, to limit its
size."""
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
    """g-g diagram of one or more runs: longitudinal over lateral acceleration.

    `limit` draws a dashed circle or ellipse: a radius in m/s², a pair (longitudinal, lateral),
    or a vehicle whose tyre friction sets it. Accelerations that were not recorded are computed
    by the body of `vehicle`, one for all or one for each run; None means that of the limit.
    `colour` of a single run is "speed", "density" or "none".
    """
    style.check(path, backend, size)
    one_of("colour", colour, get_args(Colour))
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
        step = 0.5 if radius < 2.2 * G else 1.0
        for share in np.arange(step, radius / G, step):
            r = share * G
            axes.plot(r * np.cos(_RING), r * np.sin(_RING), color="#BBBBBB", ls=style.DOTS, lw=0.8)
            at, side = (r * np.sqrt(0.5), -r * np.sqrt(0.5)), {"ha": "right", "va": "center"}
            style.label_at(axes, f"{share:g} g", at, xytext=(-5, 0), color=style.GREY, **side)
        if coloured:
            only = next(iter(named_runs.values()))
            along, across = accelerations(only)
            speed = speed_of(only)
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
        else:
            for k, (name, pair) in enumerate(pairs.items()):
                along, across = map(_some, pair)
                look = {"color": COLOURS[k % len(COLOURS)], "label": style.literal(name)}
                _draw_points(axes, across, along, alpha=0.6, **look)
        if bound is not None:
            round_ = abs(bound.along - bound.across) < 1e-9 * bound.along
            x, y = bound.across * np.cos(_RING), bound.along * np.sin(_RING)
            label = f"limit {bound.along:.3g} m/s²" if round_ else "limit"
            axes.plot(x, y, color=INK, linestyle=style.DASHES, linewidth=1.4, label=label)
        style.equal_axes(axes, (-radius, radius), (-radius, radius))
        # Dots as small as in the diagram would hardly show their colour.
        style.legend_above(axes, markerscale=2.0)
        style.headings(figure, title)
    return style.write_figure(figure, path)


def _draw_points(axes: Axes, across: Array, along: Array, **look: Any) -> Any:
    raster = along.size > MOST_VECTORS
    return axes.scatter(across, along, s=9.0, lw=0.0, rasterized=raster, zorder=2.5, **look)


def _some(values: Any) -> Any:
    """Evenly spaced subset of about `MOST_POINTS` values, to keep the file small."""
    return values[:: max(1, values.size // MOST_POINTS)]


class ReplayedChannel(NamedTuple):
    """A channel of a log and its replays by several vehicles, window by window."""

    unit: str
    t: Array
    """Times in s, (windows, rows)."""
    measured: Array
    """(windows, rows), NaN where not known."""
    replayed: Mapping[str, Array]
    """(windows, rows) by vehicle, NaN from where a window diverged."""
    errors: Mapping[str, Array]
    """Replayed minus measured, the yaw to half a turn."""


MEASURED: Any = {"color": style.GREY, "linewidth": 2.2}
SOLID: Any = {"linestyle": "-"}
MOST_MARKS = 40
"""Largest number of window starts that are marked; more would hide the curves."""


def replay_figure(
    title: str, channels: Mapping[str, ReplayedChannel], path: FilePath = None
) -> Figure:
    """Measured and replayed channels of a log in two columns, each with the errors below it."""
    style.check(path, "matplotlib", None)
    from matplotlib.lines import Line2D

    stacks = 2 if len(channels) > 2 else 1
    rows = -(-len(channels) // stacks)
    vehicles = dict.fromkeys(v for channel in channels.values() for v in channel.replayed)
    looks = {vehicle: _replayed_look(k) for k, vehicle in enumerate(vehicles)}
    with style.new_figure((5.2,) * stacks, (1.85, 0.85) * rows) as (figure, grid):
        first: Axes | None = None
        for i, (name, channel) in enumerate(channels.items()):
            stack, row = divmod(i, rows)
            above = figure.add_subplot(grid[2 * row, stack], sharex=first)
            first = first or above
            below = figure.add_subplot(grid[2 * row + 1, stack], sharex=first)
            unit, t = channel.unit, _broken(channel.t)
            above.set_title(style.quantity_title(name, unit))
            measured = on_screen(channel.measured, unit)
            above.plot(*thin_line(t, _broken(measured)), **MEASURED)
            # A replay that agrees to rounding shows a flat line, not the rounding.
            most = 1e-9 * max(1.0, _largest(measured))
            for vehicle, line in looks.items():
                if vehicle in channel.replayed:
                    replayed = on_screen(channel.replayed[vehicle], unit)
                    errors = on_screen(channel.errors[vehicle], unit)
                    above.plot(*thin_line(t, _broken(replayed)), **line)
                    below.plot(*thin_line(t, _broken(errors)), **{**line, **SOLID})
                    most = max(most, _largest(errors))
            below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
            below.set_ylabel("error")
            below.set_ylim(-1.1 * most, 1.1 * most)
            below.locator_params(axis="y", nbins=3)
            if 1 < len(channel.t) <= MOST_MARKS:
                mark: Any = {"color": "#BBBBBB", "linewidth": 0.6, "linestyle": ":"}
                for part in (above, below):
                    part.vlines(
                        channel.t[1:, 0], 0.0, 1.0, transform=part.get_xaxis_transform(), **mark
                    )
            lowest = row == rows - 1 or i == len(channels) - 1
            above.tick_params(labelbottom=False)
            below.tick_params(labelbottom=lowest)
            below.set_xlabel("time [s]" if lowest else "")
        if len(channels) % stacks and {"x", "y"} <= set(channels):
            # The paths over ground, in the place that an odd number of channels leaves.
            axes = figure.add_subplot(grid[2 * rows - 2 :, stacks - 1])
            axes.set_title("Path [m]")
            axes.set_aspect("equal", adjustable="datalim")
            x, y = channels["x"], channels["y"]
            axes.plot(_broken(x.measured), _broken(y.measured), **MEASURED)
            for vehicle, look in looks.items():
                if vehicle in x.replayed and vehicle in y.replayed:
                    axes.plot(_broken(x.replayed[vehicle]), _broken(y.replayed[vehicle]), **look)
        keys: list[Any] = [Line2D([], [], label="measured", **MEASURED)]
        style.headings(figure, title, [*keys, *_keys(looks)])
    return style.write_figure(figure, path)


def _replayed_look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "linewidth": 1.2, "linestyle": style.DASHES}


def _broken(values: Array) -> Array:
    """Values of all windows in sequence, with NaN between windows."""
    return np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan).ravel()[:-1]


def horizon_figure(
    title: str, errors: Sequence[tuple[str, str, str, float, float]], path: FilePath = None
) -> Figure:
    """Root mean square errors of vehicles over the time since the start of a window.

    `errors` are rows of channel, unit, vehicle, time in s and error in the unit; infinite errors
    are not drawn.
    """
    style.check(path, "matplotlib", None)
    units = {channel: unit for channel, unit, *_ in errors}
    vehicles = dict.fromkeys(vehicle for _, _, vehicle, *_ in errors)
    columns = min(len(units), 3)
    rows = -(-len(units) // columns)
    looks: dict[str, dict[str, Any]] = {
        vehicle: {**_replayed_look(k), "linestyle": "-", "marker": "o", "ms": 3.5}
        for k, vehicle in enumerate(vehicles)
    }
    with style.new_figure((3.4,) * columns, (2.3,) * rows) as (figure, grid):
        for k, (channel, unit) in enumerate(units.items()):
            axes = figure.add_subplot(grid[divmod(k, columns)])
            axes.set_title(style.quantity_title(channel, unit))
            for vehicle, look in looks.items():
                own = [(t, e) for c, _, v, t, e in errors if (c, v) == (channel, vehicle)]
                times, values = np.array(own).T if own else np.empty((2, 0))
                shown = on_screen(np.where(np.isfinite(values), values, np.nan), unit)
                axes.plot(times, shown, **look)
            axes.set_ylim(bottom=0.0)
            axes.set_xlim(left=0.0)
            axes.set_xlabel("time since the start [s]" if k >= len(units) - columns else "")
        style.headings(figure, title, _keys(looks))
    return style.write_figure(figure, path)


class Fan(NamedTuple):
    """Quantiles of a quantity of many runs over time, in SI units."""

    name: str
    unit: str
    """Symbol of the SI unit."""
    t: Array
    """Times in s."""
    levels: tuple[float, ...]
    """Quantile levels, increasing."""
    quantiles: Array
    """Quantiles, (T, levels)."""
    lines: tuple[Array, ...] = ()
    """Values of some single runs."""
    worst: tuple[Array, ...] = ()
    """Values of the worst runs."""


def study_fans(
    study: MonteCarlo, names: Sequence[str], *, lines: int, worst: int, units: Mapping[str, str]
) -> list[Fan]:
    """Fans of quantities of a Monte Carlo study; single runs are simulated again."""
    replays = [study.replay(study.seed_of(run)) for run in study.numbers[:lines]]
    fans: list[Fan] = []
    for name in names:
        furthest = [study.replay(case) for case in study.worst(name, worst)] if worst else []
        unit = units.get(name, study.unit(name))
        bands = np.column_stack([study.quantile(name, level) for level in study.levels])
        single, last = (tuple(study.along(name, r) for r in own) for own in (replays, furthest))
        fans.append(Fan(name, unit, study.t, study.levels, bands, single, last))
    return fans


def array_fans(
    samples: ArrayLike,
    names: Sequence[str],
    *,
    t: ArrayLike,
    vehicle: Vehicle | type | None,
    levels: Sequence[float],
    lines: int,
    units: Mapping[str, str],
) -> list[Fan]:
    """Fans of the result of `Fleet.rollout` (T, B, nx), or of one quantity (T, B); NaN is
    ignored."""
    table = np.asarray(samples, dtype=float)
    time = np.asarray(t, dtype=float)
    shares = np.unique(np.asarray(levels, dtype=float))
    if not shares.size or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise InvalidValue(f"levels = {list(levels)} must lie between 0 and 1")
    if table.ndim not in (2, 3) or table.shape[0] != time.size or not table.shape[1]:
        raise InvalidValue(
            f"samples must have shape (T, B) or (T, B, nx) with T = {time.size} times as in t, "
            f"got {table.shape}"
        )
    fans: list[Fan] = []
    for name in names:
        values, unit = _column(table, name, vehicle)
        single = tuple(values[:, k] for k in range(min(lines, values.shape[1])))
        bands, at = _quantiles(values, shares), tuple(shares.tolist())
        fans.append(Fan(name, units.get(name, unit), time, at, bands, single))
    return fans


def _column(table: Array, name: str, vehicle: Vehicle | type | None) -> tuple[Array, str]:
    """Values (T, B) of a quantity and its unit."""
    if table.ndim == 2:
        return table, ""
    if vehicle is None:
        raise InvalidValue("samples (T, B, nx) need vehicle=, whose states they are")
    State = vehicle.State if isinstance(vehicle, Vehicle) else vehicle
    fields = record.fields(State)
    known = [f.name for f in fields]
    if name not in known:
        raise InvalidValue(record.unknown_name("State", name, known, "quantity"))
    if table.shape[2] != len(known):
        raise InvalidValue(
            f"samples have {table.shape[2]} states, but {State.__qualname__} has {len(known)}"
        )
    place = known.index(name)
    return table[:, :, place], fields[place].unit.symbol


def _quantiles(values: Array, levels: Array) -> Array:
    """Quantiles (T, levels); NaN at times without a run."""
    quantiles = np.full((len(values), len(levels)), np.nan)
    known = np.isfinite(values).any(axis=1)
    finite = np.where(np.isfinite(values), values, np.nan)
    if known.any():
        quantiles[known] = np.nanquantile(finite[known], levels, axis=1).T
    return quantiles


def opposite(levels: Sequence[float]) -> list[tuple[int, int]]:
    """Index pairs of levels symmetric about the median, the widest first."""
    last = len(levels) - 1
    return [(k, last - k) for k in range((last + 1) // 2) if levels[k] < levels[last - k]]


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


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
    levels: Sequence[float] = LEVELS,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str = "",
    size: Size = None,
) -> Figure:
    """Fan chart: bands that hold given shares of many runs over time, and their median.

    `runs` is a `MonteCarlo`, or an array of samples: the result of `Fleet.rollout`, (T, B, nx),
    with `vehicle=` and the times `t=` in s, or one quantity (T, B) with `t=`. `quantity` is one
    name or several. `lines` single runs are drawn too, and the `worst` runs with the highest
    values (those of a MonteCarlo are simulated again). `rules` are values to mark, in SI units;
    `units` are unit symbols of quantities that are not states; `levels` are the quantile levels
    for arrays.
    """
    style.check(path, backend, size)
    names = [quantity] if isinstance(quantity, str) else list(quantity)
    if not names:
        raise InvalidValue("quantity: no name is given")
    own_units = dict(units or {})
    if isinstance(runs, MonteCarlo):
        if t is not None or vehicle is not None:
            raise InvalidValue("t and vehicle need arrays; a MonteCarlo has its own")
        fans = study_fans(runs, names, lines=lines, worst=worst, units=own_units)
    else:
        if t is None:
            raise InvalidValue("an array of samples needs t=, the times in s")
        if worst:
            raise InvalidValue("worst needs a MonteCarlo, got arrays")
        fans = array_fans(
            runs, names, t=t, vehicle=vehicle, levels=levels, lines=lines, units=own_units
        )
    if not isinstance(rules, Mapping):
        values = [float(rules)] if isinstance(rules, (int, float)) else rules
        rules = dict.fromkeys(names, values)
    across = min(len(fans), 3)
    widths = (6.0 if across == 1 else 4.2,) * across
    heights = (3.4,) * -(-len(fans) // across)
    with style.new_figure(widths, heights, size) as (figure, grid):
        draw_fans(figure, grid, fans, rules, title=title)
    return style.write_figure(figure, path)


def draw_fans(
    figure: Figure,
    grid: Any,
    fans: Sequence[Fan],
    rules: Mapping[str, Sequence[float]],
    *,
    title: str,
) -> None:
    """Draw a fan in each cell of a grid, row by row, with one legend."""
    from matplotlib.patches import Patch

    keys: dict[str, Any] = {}
    for cell, fan in zip(grid, fans, strict=False):
        axes = figure.add_subplot(cell)
        by, t = style.factor(fan.unit), fan.t
        drawn: list[Any] = []
        for at in rules.get(fan.name, ()):
            axes.axhline(
                by * at, color=style.GREY, linestyle=style.DASHES, linewidth=0.9, zorder=2.0
            )
        # The bands between symmetric levels, widest at the back.
        seen_through = 1.0
        for k, (low, high) in enumerate(opposite(fan.levels)):
            label = f"{100.0 * (fan.levels[high] - fan.levels[low]):.3g} % of the runs"
            ends = by * fan.quantiles[:, [low, high]]
            look: Any = {"color": BLUE, "linewidth": 0.0}
            axes.fill_between(t, *ends.T, alpha=0.22 + 0.1 * k, label=label, zorder=2.1, **look)
            # Where bands lie over each other they are as dense as the legend shows them.
            seen_through *= 1.0 - (0.22 + 0.1 * k)
            drawn.append(Patch(alpha=1.0 - seen_through, label=label, **look))
        for values, label, look in (
            *(
                (v, "single runs", {"color": BLUE, "linewidth": 0.5, "alpha": 0.6})
                for v in fan.lines
            ),
            *((v, "highest", {"color": style.ORANGE, "linewidth": 1.1}) for v in fan.worst),
        ):
            drawn += axes.plot(t[: values.size], by * values, label=label, zorder=2.2, **look)
        if 0.5 in fan.levels:
            middle = by * fan.quantiles[:, fan.levels.index(0.5)]
            look = {"color": style.INK, "linewidth": 1.7, "zorder": 2.3}
            drawn += axes.plot(t, middle, label="median", **look)
        axes.set(title=style.quantity_title(fan.name, fan.unit), xlabel="time [s]")
        if t[-1] > t[0]:
            axes.set_xlim(float(t[0]), float(t[-1]))
        for key in drawn:
            keys.setdefault(str(key.get_label()), key)
    style.headings(figure, title, list(keys.values()))
