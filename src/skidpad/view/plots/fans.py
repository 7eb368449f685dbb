"""Fan charts of many runs: quantile bands over time, the median, and single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core import record
from ...core.arrays import Array
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.monte_carlo import MonteCarlo
from . import style
from .style import BLUE, FilePath, Size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
            raise InvalidValue("t and vehicle go with arrays; a MonteCarlo knows its own")
        fans = study_fans(runs, names, lines=lines, worst=worst, units=own_units)
    else:
        if t is None:
            raise InvalidValue("an array of samples needs t=, the times in s")
        if worst:
            raise InvalidValue("worst goes with a MonteCarlo, not with arrays")
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
    keys: dict[str, Any] = {}
    for cell, fan in zip(grid, fans, strict=False):
        for key in _draw_fan(figure.add_subplot(cell), fan, rules.get(fan.name, ())):
            keys.setdefault(str(key.get_label()), key)
    style.headings(figure, title, list(keys.values()))


def _draw_fan(axes: Axes, fan: Fan, rules: Sequence[float]) -> list[Any]:
    """Draw the bands between symmetric levels, widest at the back; returns the legend's artists."""
    from matplotlib.patches import Patch

    by, t = style.factor(fan.unit), fan.t
    keys: list[Any] = []
    for at in rules:
        axes.axhline(by * at, color=style.GREY, linestyle=style.DASHES, linewidth=0.9, zorder=2.0)
    seen_through = 1.0
    for k, (low, high) in enumerate(opposite(fan.levels)):
        label = f"{100.0 * (fan.levels[high] - fan.levels[low]):.3g} % of the runs"
        ends = by * fan.quantiles[:, [low, high]]
        look: Any = {"color": BLUE, "linewidth": 0.0}
        axes.fill_between(t, *ends.T, alpha=0.22 + 0.1 * k, label=label, zorder=2.1, **look)
        # Where bands lie over each other they are as dense as the legend shows them.
        seen_through *= 1.0 - (0.22 + 0.1 * k)
        keys.append(Patch(alpha=1.0 - seen_through, label=label, **look))
    for values, label, look in (
        *((v, "single runs", {"color": BLUE, "linewidth": 0.5, "alpha": 0.6}) for v in fan.lines),
        *((v, "highest", {"color": style.ORANGE, "linewidth": 1.1}) for v in fan.worst),
    ):
        keys += axes.plot(t[: values.size], by * values, label=label, zorder=2.2, **look)
    if 0.5 in fan.levels:
        middle = by * fan.quantiles[:, fan.levels.index(0.5)]
        keys += axes.plot(t, middle, color=style.INK, linewidth=1.7, label="median", zorder=2.3)
    axes.set(title=style.quantity_title(fan.name, fan.unit), xlabel="time [s]")
    if t[-1] > t[0]:
        axes.set_xlim(float(t[0]), float(t[-1]))
    return keys
