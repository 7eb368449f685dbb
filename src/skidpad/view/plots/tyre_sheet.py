"""Sheet of tyre curves, of one tyre or several overlaid, and the notebook view of a tyre."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.checks import finite, positive
from ...errors import InvalidValue
from ...tyres.characteristics import Summary, peak, summary
from ...tyres.reading import (
    USUAL_LOAD,
    answers,
    checked_loads,
    checked_tyre,
    nominal_load,
    reach,
    several,
)
from ...tyres.tyre import Tyre
from ..sheet import Sheet
from . import style
from .notebook import beside, drawing, fold, heading, page, short, warning
from .style import COLOURS, DASHES, DOTS, GREY, INK, FilePath, Size, new_figure, symbol

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


POINTS = 361
BREAKS: tuple[Any, ...] = ("-", DASHES, DOTS, (0, (5, 1.5, 1, 1.5)), (0, (7, 2)))
"""Line styles that distinguish loads where colours distinguish tyres."""
THREE = (DOTS, "-", DASHES)
"""Line styles of three curves, the middle one for the nominal case."""
MOST_BESIDE = 3
"""Most legend entries next to the title of a diagram."""
USUAL_CAMBER = np.deg2rad(4.0)
SHARED_AT = (2.0, 4.0, 8.0)
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
        """Quantity of the tyre at its pressure, as in `tyres.curves.answers`."""
        return answers(self.tyre, question, p=self.p, **contact)

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
    subjects = _subjects(tyres, asked, several(pressures))
    angles = _cambers(subjects, cambers)
    with new_figure((4.4, 4.4, 4.4), (3.5, 3.5), size) as (figure, grid):
        above = [figure.add_subplot(grid[0, k]) for k in range(3)]
        below = [figure.add_subplot(grid[1, k]) for k in range(3)]
        for axes, what in zip(above, _FORCES, strict=True):
            _draw_force(axes, subjects, what)
        _draw_camber(below[0], subjects, angles)
        _draw_shared(below[1], subjects)
        _draw_over_load(below[2], subjects)
        keys = _load_keys(subjects, by_share=asked is None)
        beside = len(subjects) > 1 and len(keys) <= MOST_BESIDE
        for axes in above if beside else ():
            style.put_legend(axes, keys, handlelength=1.8)
        own = _title(subjects) if title is None else title
        tyres_by_colour = [
            _key(style.literal(s.name), color=s.colours[0]) for s in subjects if s.colours
        ]
        style.headings(figure, own, [*tyres_by_colour, *([] if beside else keys)])
    return style.write_figure(figure, path)


def _subjects(
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


def _load_keys(subjects: Sequence[Subject], *, by_share: bool) -> list[Artist]:
    """Legend entries of loads: shades, or line styles if colours distinguish tyres."""
    first = subjects[0]
    shares = by_share and len({tuple(s.loads) for s in subjects}) > 1
    texts = [
        f"{F_z / first.nominal:g} {symbol('F_z0')}" if shares else _load(F_z) for F_z in first.loads
    ]
    return _steps(subjects, texts)


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
        alpha = np.linspace(0.0, reach(subject.tyre).alpha, POINTS)
        force = -subject.answers("forces", F_z=subject.loads[-1], alpha=alpha).F_y
        top = peak(alpha, force).slip or np.deg2rad(12.0)
        widest = max(widest, min(1.8 * top, alpha[-1]))
    widest = np.deg2rad(np.ceil(np.rad2deg(widest) - 1e-9))
    return np.linspace(-widest, widest, POINTS)


def _slips(subjects: Sequence[Subject]) -> Array:
    widest = 0.0
    for subject in subjects:
        kappa = np.linspace(0.0, reach(subject.tyre).kappa, POINTS)
        top = peak(kappa, subject.answers("forces", F_z=subject.loads[0], kappa=kappa).F_x).slip
        widest = max(widest, min(2.2 * (top or 0.15), kappa[-1]))
    widest = np.ceil(10.0 * widest - 1e-9) / 10.0
    return np.linspace(-widest, widest, POINTS)


def _cross(axes: Axes) -> None:
    axes.axhline(0.0, color="#BBBBBB", linewidth=0.6, zorder=1)
    axes.axvline(0.0, color="#BBBBBB", linewidth=0.6, zorder=1)


_FORCES = {"F_y": "Lateral force", "F_x": "Longitudinal force", "M_z": "Aligning moment"}


def _draw_force(axes: Axes, subjects: Sequence[Subject], what: str) -> None:
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


def _draw_shared(axes: Axes, subjects: Sequence[Subject]) -> None:
    """Draw lateral over longitudinal force at combined slip, normalised by the load."""
    furthest = max(reach(subject.tyre).alpha for subject in subjects)
    angles = [a for a in SHARED_AT if np.deg2rad(a) <= furthest] or [np.rad2deg(furthest)]
    _cross(axes)
    for subject in subjects:
        widest = reach(subject.tyre).kappa
        kappa = widest * np.linspace(-1.0, 1.0, POINTS) ** 3
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
        F_z = np.linspace(0.02, 1.0, POINTS) * highest
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


def tyre_html(tyre: Tyre) -> str:
    facts = summary(tyre)
    about = f"{facts.model}, {facts.side}"
    left_out = fold(f"{len(facts.filled)} keys were left out", ", ".join(facts.filled))
    return page(
        heading(facts.name, about if facts.name != facts.model else facts.side),
        beside(_drawing(tyre), Sheet(("", "value", "unit"), _rows(facts), [1]).notebook()),
        *map(warning, facts.warnings),
        left_out if facts.filled else "",
    )


def _drawing(tyre: Tyre) -> str:
    def draw(figure: Any, grid: Any) -> None:
        both = [figure.add_subplot(grid[0, k]) for k in range(2)]
        for axes, what in zip(both, ("F_y", "F_x"), strict=True):
            _draw_force(axes, _subjects([tyre], None, [None]), what)

    return drawing(tyre.name, new_figure((3.4, 3.4), (2.6,)), draw)


def _rows(facts: Summary) -> list[tuple[str, str, str]]:
    """Summary of the tyre at the middle of the loads."""
    at = facts.at[len(facts.at) // 2]
    angle = None if at.alpha_peak is None else float(np.rad2deg(at.alpha_peak))
    rows = [
        ("load", at.F_z, "N"),
        ("free radius", facts.radius, "m"),
        ("peak friction, driving", at.mu_x, ""),
        ("peak friction, lateral", at.mu_y, ""),
        ("slip stiffness", at.K_x, "N"),
        ("cornering stiffness", at.K_y, "N/rad"),
        ("angle of the lateral peak", angle, "°"),
        ("trail at small slip", at.trail, "m"),
        ("relaxation across", at.sigma_y, "m"),
        ("effective radius", at.effective, "m"),
    ]
    return [(name, short(value), unit) for name, value, unit in rows if value is not None]
