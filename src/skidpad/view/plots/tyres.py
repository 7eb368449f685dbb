"""Tyre curves of a vehicle: lateral and longitudinal force over slip, and combined slip.

Supported tyres are those in the vehicle's parameters: `tyres.simple.MagicFormula`, the
coefficients of CommonRoad's tyre, tyre records (`tyres.contract.Tyre`), and the cornering
stiffnesses `C_f`, `C_r` over load of bicycle models. The equations are those of the vehicle
itself. Slip angles are positive when the tyre pushes to the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import finite, floats, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...tyres import contract
from ...tyres.characteristics import peak
from ...tyres.reading import (
    USUAL_LOAD,
    checked_loads,
    checked_tyre,
    evaluate_on_arrays,
    nominal_load,
    reach,
    several,
)
from ...tyres.simple import MagicFormula, friction
from ...tyres.tyre import Tyre
from ...vehicles.commonroad import tyre as magic_formula
from . import style
from .style import COLOURS, DASHES, DOTS, GREY, INK, FilePath, Size, new_figure, shades, symbol

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
    laws = _records(vehicle)
    if not laws:
        raise InvalidValue(
            f"{vehicle.name!r} has no tyres that can be drawn: none of its parameters is a "
            "MagicFormula, a set of tyre Coefficients, a tyre record, or a stiffness C_f, C_r"
        )
    return laws


def _records(vehicle: Vehicle) -> list[TyreLaw]:
    p = vehicle.params
    load = float(getattr(p, "m", 1200.0)) * float(getattr(p, "g", G)) / 4.0
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
    if {"C_f", "C_r", "l_f", "l_r"} <= set(record.names(vehicle.model.Params)):
        # Bicycle models have a cornering stiffness over load for each axle.
        for name, C, lever in (("front axle", p.C_f, p.l_r), ("rear axle", p.C_r, p.l_f)):
            laws.append(TyreLaw(name, _linear(C), 4.0 * load * lever / (p.l_f + p.l_r)))
    return laws


def _linear(stiffness: float) -> Force:
    return lambda alpha, F_z: stiffness * F_z * alpha


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
    tyre = Tyre(p)

    def forces(kappa: Any, alpha: Any, F_z: float) -> tuple[Array, Array]:
        # Tyres have slip angles that are positive when the patch moves to the left.
        force = evaluate_on_arrays(tyre, "forces", F_z=F_z, kappa=kappa, alpha=-alpha, v_x=10.0)
        return force.F_x, force.F_y

    peaks = evaluate_on_arrays(tyre, "peaks", F_z=load, v_x=10.0)
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

    def draw_lateral(axes: Axes) -> None:
        alpha = np.linspace(-alpha_max, alpha_max, POINTS)
        _draw_by_load(axes, np.rad2deg(alpha), loads, lambda F_z: law.lateral(alpha, F_z))
        slip = f"slip angle {symbol('alpha')} [°], positive pushes left"
        axes.set(xlabel=slip, ylabel=f"{symbol('F_y')} [kN]")

    def draw_longitudinal(axes: Axes) -> None:
        force: Any = law.longitudinal
        kappa = np.linspace(-SLIP_MAX, SLIP_MAX, POINTS)
        _draw_by_load(axes, kappa, loads, lambda F_z: force(kappa, F_z))
        axes.set(xlabel=f"longitudinal slip {symbol('kappa')} [1]", ylabel=f"{symbol('F_x')} [kN]")

    diagrams: dict[str, Callable[[Axes], None]] = {"lateral force": draw_lateral}
    if law.longitudinal is not None:
        diagrams["longitudinal force"] = draw_longitudinal
    if law.shared is not None:
        diagrams["shared friction"] = partial(_draw_shared, law=law, alpha_max=alpha_max)
    return [(f"{law.name}: {n}" if named else n.capitalize(), d) for n, d in diagrams.items()]


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
    # Room for the legend, left of the curves.
    style.equal_axes(axes, (-1.8 * reach, 1.1 * reach), (-reach, reach))
    F_x, F_y, F_z = map(symbol, ("F_x", "F_y", "F_z"))
    axes.set(xlabel=f"{F_x} / {F_z} [1]", ylabel=f"{F_y} / {F_z} [1]")


SHEET_POINTS = 361
BREAKS: tuple[Any, ...] = ("-", DASHES, DOTS, (0, (5, 1.5, 1, 1.5)), (0, (7, 2)))
"""Line styles that distinguish loads where colours distinguish tyres."""
THREE = (DOTS, "-", DASHES)
"""Line styles of three curves, the middle one for the nominal case."""
MOST_BESIDE = 3
"""Most legend entries next to the title of a diagram."""
USUAL_CAMBER = np.deg2rad(4.0)
SHEET_SHARED_AT = (2.0, 4.0, 8.0)
"""Slip angles in degrees of the combined-slip diagram."""
SMALLEST = (7.0, 4.0)
"""Smallest size in inches that leaves room for the diagrams between their labels."""
PER_DEGREE = np.pi / 180.0


class Subject(NamedTuple):
    """A tyre at one pressure, with its drawing style."""

    tyre: Tyre
    name: str
    loads: Sequence[float]
    """Loads in N."""
    p: float
    """Pressure in Pa."""
    colours: Sequence[str] | None
    """Colours by step of the varied quantity; None for shades if there is only one tyre."""

    @property
    def nominal(self) -> float:
        """Nominal load in N, or the middle one of the drawn loads."""
        return nominal_load(self.tyre) or self.loads[len(self.loads) // 2]

    def answers(self, question: str, **contact: Any) -> Any:
        """Quantity of the tyre at its pressure, as in `evaluate_on_arrays`."""
        return evaluate_on_arrays(self.tyre, question, p=self.p, **contact)

    def looks(self, count: int) -> list[dict[str, Any]]:
        """Colour and line style of each of `count` curves."""
        if self.colours is None:
            return [{"color": shade, "linestyle": "-"} for shade in style.shades(count)]
        breaks = THREE if count == len(THREE) else BREAKS
        return [
            {"color": self.colours[0], "linestyle": breaks[k % len(breaks)]} for k in range(count)
        ]


def sheet(
    tyres: Sequence[Tyre],
    *,
    loads: Iterable[float] | float | None = None,
    cambers: Iterable[float] | float | None = None,
    pressures: Iterable[float | None] | float | None = None,
    path: FilePath = None,
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Sheet of six diagrams of tyres: forces and moment over slip, camber, combined slip, load.

    Args:
        tyres: one, drawn in shades, or several, each in its colour.
        loads: in N; by default 0.5, 1 and 1.5 times each tyre's nominal load.
        cambers: in rad, for the diagram over camber.
        pressures: in Pa, each of which makes another set of curves; None: the tyre's own.
        path: PNG, SVG or PDF to write, by its suffix.
        title: in place of the tyre's name.
        size: width and height in inches.
    """
    style.check(path, "matplotlib", size)
    if size is not None and (size[0] < SMALLEST[0] or size[1] < SMALLEST[1]):
        least = f"{SMALLEST[0]:g} and {SMALLEST[1]:g}"
        raise InvalidValue(f"size = {size} of six diagrams must be at least {least} inches")
    for tyre in tyres:
        checked_tyre(tyre)
    asked = None if loads is None else several(loads)
    subjects = tyre_subjects(tyres, asked, several(pressures))
    angles = _cambers(subjects, cambers)
    with new_figure((4.4, 4.4, 4.4), (3.5, 3.5), size) as (figure, grid):
        above = [figure.add_subplot(grid[0, k]) for k in range(3)]
        below = [figure.add_subplot(grid[1, k]) for k in range(3)]
        for axes, what in zip(above, _FORCES, strict=True):
            draw_force(axes, subjects, what)
        _draw_camber(below[0], subjects, angles)
        _draw_combined(below[1], subjects)
        _draw_over_load(below[2], subjects)
        first = subjects[0]
        shares = asked is None and len({tuple(s.loads) for s in subjects}) > 1
        texts = [
            f"{F_z / first.nominal:g} {symbol('F_z0')}" if shares else _load(F_z)
            for F_z in first.loads
        ]
        keys = _steps(subjects, texts)
        beside = len(subjects) > 1 and len(keys) <= MOST_BESIDE
        for axes in above if beside else ():
            style.put_legend(axes, keys, handlelength=1.8)
        own = _title(subjects) if title is None else title
        tyres_by_colour = [
            _key(style.literal(s.name), color=s.colours[0]) for s in subjects if s.colours
        ]
        style.headings(figure, own, [*tyres_by_colour, *([] if beside else keys)])
    return style.write_figure(figure, path)


def tyre_subjects(
    tyres: Sequence[Tyre], loads: list[float] | None, pressures: Sequence[float | None]
) -> list[Subject]:
    count = len(tyres) * len(pressures)
    if not 1 <= count <= len(COLOURS):
        raise InvalidValue(
            f"{count} tyres and pressures cannot be distinguished: a sheet has 1 to {len(COLOURS)}"
        )
    subjects: list[Subject] = []
    for tyre in tyres:
        for pressure in pressures:
            p = tyre.pressure if pressure is None else positive("pressures", pressure, "Pa")
            name = tyre.name if len(pressures) == 1 else f"{tyre.name}, {p * 1e-5:.3g} bar"
            colours = None if count == 1 else [COLOURS[len(subjects)]]
            subjects.append(Subject(tyre, name, checked_loads(loads, tyre), p, colours))
    return subjects


def _cambers(subjects: Sequence[Subject], cambers: Iterable[float] | float | None) -> list[float]:
    if cambers is not None:
        return sorted({finite("cambers", angle, "rad") for angle in several(cambers)} | {0.0})
    widest = USUAL_CAMBER
    for subject in subjects:
        if subject.tyre.version:
            ranges = subject.tyre.record.ranges
            widest = min([widest, *(c for c in (-ranges.CAMMIN, ranges.CAMMAX) if c > 0.0)])
    degrees = np.floor(np.rad2deg(widest) + 1e-9)
    widest = np.deg2rad(degrees) if degrees else widest
    return [-widest, 0.0, widest]


def _title(subjects: Sequence[Subject]) -> str:
    if len(subjects) > 1:
        return "Tyres"
    (one,) = subjects
    version = one.tyre.version
    kind = f"Magic Formula {version}" if version else type(one.tyre.record).__name__
    parts = [f"{one.name}: {kind}" if one.name != kind else kind, one.tyre.side]
    if version.startswith("6"):
        parts.append(f"{one.p * 1e-5:.3g} bar")
    return ", ".join(parts)


def _key(label: str, **look: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, linewidth=1.6, **look)


def _load(F_z: float) -> str:
    return f"{F_z:.4g} N" if F_z < 1000.0 else f"{F_z / 1000.0:.4g} kN"


def _scale(subjects: Sequence[Subject]) -> tuple[float, str]:
    """Factor and unit of forces: kN, or N for tyres of small robots."""
    heavy = max(subject.loads[-1] for subject in subjects) >= 500.0
    return (1e-3, "kN") if heavy else (1.0, "N")


def _slip_angles(subjects: Sequence[Subject]) -> Array:
    """Slip angles that cover every tyre's peak and a margin beyond it, within the files' valid
    ranges."""
    widest = 0.0
    for subject in subjects:
        alpha = np.linspace(0.0, reach(subject.tyre).alpha, SHEET_POINTS)
        force = -subject.answers("forces", F_z=subject.loads[-1], alpha=alpha).F_y
        top = peak(alpha, force).slip or np.deg2rad(12.0)
        widest = max(widest, min(1.8 * top, alpha[-1]))
    widest = np.deg2rad(np.ceil(np.rad2deg(widest) - 1e-9))
    return np.linspace(-widest, widest, SHEET_POINTS)


def _slips(subjects: Sequence[Subject]) -> Array:
    widest = 0.0
    for subject in subjects:
        kappa = np.linspace(0.0, reach(subject.tyre).kappa, SHEET_POINTS)
        top = peak(kappa, subject.answers("forces", F_z=subject.loads[0], kappa=kappa).F_x).slip
        widest = max(widest, min(2.2 * (top or 0.15), kappa[-1]))
    widest = np.ceil(10.0 * widest - 1e-9) / 10.0
    return np.linspace(-widest, widest, SHEET_POINTS)


def _cross(axes: Axes) -> None:
    axes.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=1)
    axes.axvline(0.0, color="#BBBBBB", linewidth=0.6, zorder=1)


_FORCES = {"F_y": "Lateral force", "F_x": "Longitudinal force", "M_z": "Aligning moment"}


def draw_force(axes: Axes, subjects: Sequence[Subject], what: str) -> None:
    """Draw a force over its slip, or the aligning moment over slip angle."""
    scale, unit = (1.0, "N·m") if what == "M_z" else _scale(subjects)
    name, slip = ("kappa", _slips(subjects)) if what == "F_x" else ("alpha", _slip_angles(subjects))
    _cross(axes)
    for subject in subjects:
        for F_z, look in zip(subject.loads, subject.looks(len(subject.loads)), strict=True):
            values = getattr(subject.answers("forces", F_z=F_z, **{name: slip}), what)
            axes.plot(np.rad2deg(slip) if name == "alpha" else slip, scale * values, **look)
    axes.set_title(_FORCES[what])
    if name == "alpha":
        _label(axes, slip, what, unit)
        return
    axes.set(xlabel=f"longitudinal slip {symbol('kappa')} [1]", ylabel=f"{symbol('F_x')} [{unit}]")
    axes.set_xlim(slip[0], slip[-1])


def _label(axes: Axes, alpha: Array, what: str, unit: str) -> None:
    axes.set(xlabel=f"slip angle {symbol('alpha')} [°]", ylabel=f"{symbol(what)} [{unit}]")
    axes.set_xlim(np.rad2deg(alpha[0]), np.rad2deg(alpha[-1]))


def _draw_camber(axes: Axes, subjects: Sequence[Subject], cambers: Sequence[float]) -> None:
    scale, unit = _scale(subjects)
    alpha = 0.5 * _slip_angles(subjects)
    _cross(axes)
    for subject in subjects:
        for gamma, look in zip(cambers, subject.looks(len(cambers)), strict=True):
            force = subject.answers("forces", F_z=subject.nominal, alpha=alpha, gamma=gamma).F_y
            axes.plot(np.rad2deg(alpha), scale * force, **look)
    at = f"at {_load(subjects[0].nominal)}" if len(subjects) == 1 else "at nominal load"
    axes.set_title(f"Camber {at}")
    texts = [f"{np.rad2deg(gamma):.3g}°".replace("-", "−") for gamma in cambers]
    style.put_legend(axes, _steps(subjects, texts), handlelength=1.8)
    _label(axes, alpha, "F_y", unit)


def _steps(subjects: Sequence[Subject], texts: Sequence[str]) -> list[Any]:
    """Legend entries of the quantity varied within a diagram."""
    first = subjects[0]
    looks = first.looks(len(texts))
    if first.colours is not None:
        looks = [look | {"color": GREY} for look in looks]
    return [_key(text, **look) for text, look in zip(texts, looks, strict=True)]


def _draw_combined(axes: Axes, subjects: Sequence[Subject]) -> None:
    """Draw lateral over longitudinal force at combined slip, normalised by the load."""
    furthest = max(reach(subject.tyre).alpha for subject in subjects)
    angles = [a for a in SHEET_SHARED_AT if np.deg2rad(a) <= furthest] or [np.rad2deg(furthest)]
    _cross(axes)
    for subject in subjects:
        widest = reach(subject.tyre).kappa
        kappa = widest * np.linspace(-1.0, 1.0, SHEET_POINTS) ** 3
        for angle, look in zip(angles, subject.looks(len(angles)), strict=True):
            for sign in (1.0, -1.0):
                alpha = sign * np.deg2rad(angle)
                force = subject.answers("forces", F_z=subject.nominal, kappa=kappa, alpha=alpha)
                axes.plot(force.F_x / subject.nominal, force.F_y / subject.nominal, **look)
    axes.set_title("Combined slip")
    style.put_legend(
        axes, _steps(subjects, [f"±{angle:.3g}°" for angle in angles]), handlelength=1.8
    )
    F_x, F_y, F_z = map(symbol, ("F_x", "F_y", "F_z"))
    at = _load(subjects[0].nominal) if len(subjects) == 1 else "nominal load"
    axes.set(xlabel=f"{F_x} / {F_z} [1] at {at}", ylabel=f"{F_y} / {F_z} [1]")
    axes.set_aspect("equal", adjustable="datalim")


def _draw_over_load(axes: Axes, subjects: Sequence[Subject]) -> None:
    """Draw cornering stiffness on the left axis and friction on the right, over load."""
    scale, unit = _scale(subjects)
    right: Any = axes.twinx()
    right.grid(False)
    right.spines["right"].set_visible(True)
    for subject in subjects:
        highest = max(subject.loads[-1], 2.0 * (nominal_load(subject.tyre) or USUAL_LOAD))
        F_z = np.linspace(0.02, 1.0, SHEET_POINTS) * highest
        K, mu = (subject.answers(name, F_z=F_z) for name in ("stiffness", "peaks"))
        colour = subject.colours[0] if subject.colours else INK
        axes.plot(scale * F_z, scale * PER_DEGREE * K.K_y, color=colour)
        right.plot(scale * F_z, mu.mu_x, color=colour, linestyle=DASHES)
        right.plot(scale * F_z, mu.mu_y, color=colour, linestyle=DOTS)
    axes.set_title("Stiffness and friction")
    colour = INK if subjects[0].colours is None else GREY
    names = (("K_y", "-"), ("mu_x", DASHES), ("mu_y", DOTS))
    keys = [_key(symbol(name), color=colour, linestyle=line) for name, line in names]
    style.put_legend(axes, keys, handlelength=1.8)
    axes.set(xlabel=f"{symbol('F_z')} [{unit}]", ylabel=f"{symbol('K_y')} [{unit}/°]")
    right.set_ylabel("peak friction [1]")
    axes.set_xlim(0.0, None)
    axes.set_ylim(0.0, None)
    right.set_ylim(0.0, None)
