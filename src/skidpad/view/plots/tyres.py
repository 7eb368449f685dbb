"""Tyre curves of a vehicle: lateral and longitudinal force over slip, and combined slip.

Supported tyres are those in the vehicle's parameters: `tyres.simple.MagicFormula`, the
coefficients of CommonRoad's tyre, tyre records (`tyres.contract.Tyre`), and the cornering
stiffnesses `C_f`, `C_r` over load of bicycle models. The equations are those of the vehicle
itself. Slip angles are positive when the tyre pushes to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import finite, floats
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...tyres import contract
from ...tyres.contract import Contact
from ...tyres.simple import MagicFormula, friction
from ...vehicles.commonroad import tyre as magic_formula
from . import style
from .style import FilePath, Size, shades, symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

G = 9.81

Force = Callable[[Array, float], Array]
"""Force in N at slips (n,) under a load in N."""
Combined = Callable[[Array, Array, float], tuple[Array, Array]]
"""Longitudinal and lateral forces in N at the arguments' slips under a load in N."""


class Peak(NamedTuple):
    """Peak friction coefficients, longitudinal and lateral."""

    along: float
    across: float


class TyreLaw(NamedTuple):
    """Force curves of one kind of tyre on a vehicle."""

    name: str
    lateral: Force
    """Lateral force over slip angle in rad, without longitudinal slip or drive."""
    load: float
    """Static load in N on one tyre, or on the tyres of an axle."""
    longitudinal: Force | None = None
    """Longitudinal force over longitudinal slip, without slip angle; None if torque acts
    directly as force."""
    shared: Callable[[float, float], tuple[Array, Array]] | None = None
    """Longitudinal and lateral force over the full range of drive and brake, at a slip angle in
    rad and a load in N."""
    peak: Peak | None = None
    """None for tyres with unlimited force."""


def tyre_laws(vehicle: Any) -> list[TyreLaw]:
    """Tyres of a vehicle, or of a record of tyre coefficients."""
    if isinstance(vehicle, MagicFormula):
        return [_simple("tyre", vehicle, 1000.0, None, None)]
    if isinstance(vehicle, magic_formula.Coefficients):
        return [_combined("tyre", vehicle, 3000.0)]
    if isinstance(held := getattr(vehicle, "record", vehicle), contract.Tyre):
        return [_spinning("tyre", held, 4000.0)]
    if not isinstance(vehicle, Vehicle):
        raise InvalidValue(
            f"tyre curves need a vehicle or a record of tyre coefficients, got {vehicle!r}"
        )
    laws = [*_records(vehicle), *_stiffnesses(vehicle)]
    if not laws:
        raise InvalidValue(
            f"{vehicle.name!r} has no tyres that can be drawn: none of its parameters is a "
            "MagicFormula, a set of tyre Coefficients, a tyre record, or a stiffness C_f, C_r"
        )
    return laws


def _records(vehicle: Vehicle) -> list[TyreLaw]:
    p = vehicle.params
    load = _weight(p) / 4.0
    laws: list[TyreLaw] = []
    for name in type(p)._fields:
        value = getattr(p, name)
        if isinstance(value, MagicFormula):
            most, floor = getattr(p, "use_max", None), getattr(p, "F_floor", 1.0)
            laws.append(_simple(name, value, load, most, floor))
        elif isinstance(value, magic_formula.Coefficients):
            laws.append(_combined(name, value, load))
        elif name == "tyres":
            laws += [_spinning(place, one, load) for place, one in value._asdict().items()]
    return laws


def _stiffnesses(vehicle: Vehicle) -> list[TyreLaw]:
    """Linear tyres of a bicycle model: cornering stiffness over load of each axle."""
    p, names = vehicle.params, record.names(vehicle.model.Params)
    if not {"C_f", "C_r", "l_f", "l_r"} <= set(names):
        return []
    weight, base = _weight(p), p.l_f + p.l_r
    axles = (("front axle", p.C_f, p.l_r), ("rear axle", p.C_r, p.l_f))
    return [TyreLaw(name, _linear(C), weight * lever / base) for name, C, lever in axles]


def _linear(stiffness: float) -> Force:
    return lambda alpha, F_z: stiffness * F_z * alpha


def _weight(p: Any) -> float:
    return float(getattr(p, "m", 1200.0)) * float(getattr(p, "g", G))


def _simple(
    name: str, p: MagicFormula, load: float, most: float | None, floor: float | None
) -> TyreLaw:
    """Lateral-only tyre; with `most`, drive and brake take a share of its friction limit."""

    def lateral(alpha: Array, F_z: float) -> Array:
        return friction(alpha, p) * F_z  # type: ignore[arg-type]

    def shared(alpha: float, F_z: float) -> tuple[Array, Array]:
        limit = p.D * F_z
        demand = np.linspace(-1.25, 1.25, 201) * limit
        used: Any = contract.use(demand, limit, most, floor)  # type: ignore[arg-type]
        return limit * (used.firm + used.sliding), friction(alpha, p) * F_z * used.across

    return TyreLaw(
        name, lateral, load, None, None if most is None else shared, Peak(float(p.D), float(p.D))
    )


def _combined(name: str, p: magic_formula.Coefficients, load: float) -> TyreLaw:
    """Tyre of a tyre file, the mean of a left and a right one, so that the pull to one side
    cancels."""

    def forces(kappa: Any, alpha: Any, F_z: float) -> tuple[Array, Array]:
        # These coefficients take slip angles positive when the patch moves to the left.
        force: Any = magic_formula.axle_force(magic_formula.Slip(kappa, -alpha, 0.0), F_z, p)
        return force.x, force.y

    return _full(name, forces, load, Peak(float(p.p_dx1), float(p.p_dy1)))


def _full(name: str, forces: Combined, load: float, peak: Peak) -> TyreLaw:
    """Tyre with forces in both directions."""
    drive = np.linspace(-1.0, 1.0, 401) ** 3
    return TyreLaw(
        name,
        lambda alpha, F_z: forces(0.0 * alpha, alpha, F_z)[1],
        load,
        lambda kappa, F_z: forces(kappa, 0.0 * kappa, F_z)[0],
        lambda alpha, F_z: forces(drive, np.full_like(drive, alpha), F_z),
        peak,
    )


def _spinning(name: str, p: Any, load: float) -> TyreLaw:
    """Tyre of any tyre record, on the side on which it was measured."""

    def forces(kappa: Any, alpha: Any, F_z: float) -> Any:
        # Tyres have slip angles that are positive when the patch moves to the left.
        kappa, alpha = np.broadcast_arrays(kappa, -alpha)
        at = Contact(
            F_z=F_z, kappa=kappa, alpha=alpha, v_x=10.0, v_y=10.0 * np.tan(alpha), p=p.pressure
        )
        at = at._replace(omega=(1.0 + kappa) * 10.0 / p.radii(at).effective)
        force = p.forces(at)
        return force.F_x, force.F_y

    peaks = p.peaks(Contact(F_z=load, v_x=10.0, p=p.pressure))
    return _full(name, forces, load, Peak(float(peaks.mu_x), float(peaks.mu_y)))


POINTS = 241
SHARED_AT = (1.0, 2.0, 4.0, 8.0)
"""Slip angles in degrees of the combined-slip diagram."""
SLIP_MAX = 0.3
"""Largest longitudinal slip drawn."""


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
    """Tyre curves of a vehicle: lateral force over slip angle at several loads.

    Tyres that have them add longitudinal force over slip and the combined-slip diagram.
    Takes a vehicle or a record of tyre coefficients. `loads` in N, `alpha_max` in rad.
    """
    style.check(path, backend, size)
    if not 0.0 < finite("alpha_max", alpha_max, "rad") < 1.5:
        raise InvalidValue(f"alpha_max = {alpha_max} rad must be above 0 and below 1.5")
    laws = tyre_laws(vehicle)
    rows = [_diagrams(law, _loads(law, loads), alpha_max, len(laws) > 1) for law in laws]
    if all(len(row) == 1 for row in rows):
        rows = [[row[0] for row in rows]]
    across = max(len(row) for row in rows)
    with style.new_figure((4.3,) * across, (3.6,) * len(rows), size) as (figure, grid):
        for i, row in enumerate(rows):
            for j, (heading, draw) in enumerate(row):
                axes = figure.add_subplot(grid[i, j])
                axes.set_title(heading)
                draw(axes)
                axes.legend(loc="upper left", handlelength=1.4)
        own = f"Tyres of {vehicle.name}" if isinstance(vehicle, Vehicle) else ""
        style.headings(figure, own if title is None else title)
    return style.write_figure(figure, path)


def _loads(law: TyreLaw, loads: Sequence[float] | None) -> list[float]:
    """The given loads in N, or rounded 0.5, 1, 1.5 and 2 times the static load."""
    if loads is None:
        step = 10.0 ** np.floor(np.log10(law.load)) / 10.0
        return [float(step * np.rint(share * law.load / step)) for share in (0.5, 1.0, 1.5, 2.0)]
    values = np.atleast_1d(floats("loads", loads))
    if not (values.size and np.isfinite(values).all() and (values > 0.0).all()):
        raise InvalidValue(f"loads = {list(loads)} N must be greater than 0")
    return sorted(values.tolist())


def _diagrams(
    law: TyreLaw, loads: Sequence[float], alpha_max: float, named: bool
) -> list[tuple[str, Callable[[Axes], None]]]:
    """Headings and drawing functions of the diagrams available for a tyre."""
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
    """Draw lateral over longitudinal force normalised by load: the grip that cornering leaves for
    drive."""
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
        axes.plot(x, y, color=style.INK, linestyle=style.DASHES, linewidth=1.1, label="peaks")
        reach = max(reach, *law.peak)
    reach *= 1.12
    # Room at the left for the legend, beside the curves.
    style.equal_axes(axes, (-1.8 * reach, 1.1 * reach), (-reach, reach))
    F_x, F_y, F_z = map(symbol, ("F_x", "F_y", "F_z"))
    axes.set(xlabel=f"{F_x} / {F_z} [1]", ylabel=f"{F_y} / {F_z} [1]")
