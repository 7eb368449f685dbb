"""Tyre curves: lateral force over slip angle, longitudinal over slip, and how they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...checks import finite
from ...errors import InvalidValue
from ...model import Vehicle
from ..layout import FilePath, Size, check, equal_axes, finished, headings, new_figure
from ..numbers.tyre_laws import TyreLaw, tyre_laws
from ..style import DASHES, INK, shades
from ..words import symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 241
SHARED_AT = (1.0, 2.0, 4.0, 8.0)
"""Slip angles in degrees at which the sharing of friction is shown."""
SLIP_MAX = 0.3
"""Longitudinal slip up to which curves are drawn."""


def tyre_curves(
    vehicle: Any,
    *,
    loads: Sequence[float] | None = None,
    alpha_max: float = 0.2618,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Forces of a vehicle's tyres: lateral over slip angle at several loads and, where the tyres
    have them, longitudinal over slip and the friction that drive and cornering share.

    Takes a vehicle or a record of tyre coefficients. `loads` in N, `alpha_max` in rad.
    """
    check(path, backend, size)
    if not 0.0 < finite("alpha_max", alpha_max, "rad") < 1.5:
        raise InvalidValue(f"alpha_max = {alpha_max} rad must be above 0 and below 1.5")
    laws = tyre_laws(vehicle)
    rows = [_diagrams(law, _loads(law, loads), alpha_max, len(laws) > 1) for law in laws]
    if all(len(row) == 1 for row in rows):
        rows = [[row[0] for row in rows]]
    across = max(len(row) for row in rows)
    with new_figure((4.3,) * across, (3.6,) * len(rows), size) as (figure, grid):
        for i, row in enumerate(rows):
            for j, (heading, draw) in enumerate(row):
                axes = figure.add_subplot(grid[i, j])
                axes.set_title(heading)
                draw(axes)
                axes.legend(loc="upper left", handlelength=1.4)
        own = f"Tyres of {vehicle.name}" if isinstance(vehicle, Vehicle) else ""
        headings(figure, own if title is None else title)
    return finished(figure, path)


def _loads(law: TyreLaw, loads: Sequence[float] | None) -> list[float]:
    """The loads asked for in N, or half, one, one and a half and twice that at rest, rounded."""
    if loads is None:
        step = 10.0 ** np.floor(np.log10(law.load)) / 10.0
        return [float(step * np.rint(share * law.load / step)) for share in (0.5, 1.0, 1.5, 2.0)]
    values = np.atleast_1d(np.asarray(loads, dtype=float))
    if not (values.size and np.isfinite(values).all() and (values > 0.0).all()):
        raise InvalidValue(f"loads = {list(loads)} N must be greater than 0")
    return sorted(values.tolist())


def _diagrams(
    law: TyreLaw, loads: Sequence[float], alpha_max: float, named: bool
) -> list[tuple[str, Callable[[Axes], None]]]:
    """Headings of what can be shown of a tyre, and what draws it."""
    diagrams = {"lateral force": partial(_draw_lateral, law=law, loads=loads, alpha_max=alpha_max)}
    if law.longitudinal is not None:
        diagrams["longitudinal force"] = partial(_draw_longitudinal, law=law, loads=loads)
    if law.shared is not None:
        diagrams["shared friction"] = partial(_draw_shared, law=law, alpha_max=alpha_max)
    return [(f"{law.name}: {n}" if named else n.capitalize(), d) for n, d in diagrams.items()]


def _draw_lateral(axes: Axes, law: TyreLaw, loads: Sequence[float], alpha_max: float) -> None:
    alpha = np.linspace(-alpha_max, alpha_max, POINTS)
    _draw_by_load(axes, np.rad2deg(alpha), loads, lambda F_z: law.lateral(alpha, F_z))
    slip = f"slip angle {symbol('alpha')} [°], positive pushes left"
    axes.set(xlabel=slip, ylabel=f"{symbol('F_y')} [kN]")


def _draw_longitudinal(axes: Axes, law: TyreLaw, loads: Sequence[float]) -> None:
    force: Any = law.longitudinal
    kappa = np.linspace(-SLIP_MAX, SLIP_MAX, POINTS)
    _draw_by_load(axes, kappa, loads, lambda F_z: force(kappa, F_z))
    axes.set(xlabel=f"longitudinal slip {symbol('kappa')} [1]", ylabel=f"{symbol('F_x')} [kN]")


def _draw_by_load(
    axes: Axes, slip: Array, loads: Sequence[float], force: Callable[[float], Array]
) -> None:
    axes.axhline(0.0, color="#BBBBBB", linewidth=0.6)
    axes.axvline(0.0, color="#BBBBBB", linewidth=0.6)
    # The heaviest first in the legend, as its curve is the highest.
    for F_z, colour in reversed(list(zip(loads, shades(len(loads)), strict=True))):
        label = f"{symbol('F_z')} = {F_z / 1000.0:g} kN"
        axes.plot(slip, force(F_z) / 1000.0, color=colour, linewidth=1.6, label=label)
    axes.set_xlim(slip[0], slip[-1])


def _draw_shared(axes: Axes, law: TyreLaw, alpha_max: float) -> None:
    """Force along and across at once, over the load: what cornering leaves for drive."""
    shared: Any = law.shared
    angles = [angle for angle in SHARED_AT if np.deg2rad(angle) <= alpha_max]
    reach = 0.0
    for angle, colour in zip(angles, shades(len(angles)), strict=True):
        F_x, F_y = shared(float(np.deg2rad(angle)), law.load)
        reach = max(reach, float(np.hypot(F_x, F_y).max()) / law.load)
        for sign in (1.0, -1.0):
            label = f"{symbol('alpha')} = {angle:g}°" if sign > 0.0 else None
            x, y = F_x / law.load, sign * F_y / law.load
            axes.plot(x, y, color=colour, linewidth=1.5, label=label)
    if law.peak is not None:
        turn = np.linspace(0.0, 2.0 * np.pi, 361)
        x, y = law.peak.along * np.cos(turn), law.peak.across * np.sin(turn)
        axes.plot(x, y, color=INK, linestyle=DASHES, linewidth=1.1, label="peaks")
        reach = max(reach, *law.peak)
    reach *= 1.12
    # Room at the left for the legend, beside the curves.
    equal_axes(axes, (-1.8 * reach, 1.1 * reach), (-reach, reach))
    F_x, F_y, F_z = map(symbol, ("F_x", "F_y", "F_z"))
    axes.set(xlabel=f"{F_x} / {F_z} [1]", ylabel=f"{F_y} / {F_z} [1]")
