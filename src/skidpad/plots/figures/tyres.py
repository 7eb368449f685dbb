"""Tyre curves: lateral force over slip angle, longitudinal over slip, and how they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ..numbers.tyre_laws import TyreLaw, tyre_laws
from .palette import shades
from .sheet import INK, Axis, Cell, Curve, Diagram, Mark, Rule, Sheet

POINTS = 241
SHARED_AT = (1.0, 2.0, 4.0, 8.0)
"""Slip angles in degrees at which the sharing of friction is shown."""
SLIP_MAX = 0.3
"""Longitudinal slip up to which curves are drawn."""


def tyre_sheet(given: Any, *, loads: Sequence[float] | None, alpha_max: float, title: str) -> Sheet:
    """Diagrams of each kind of tyre, in a row per kind."""
    if not (np.isfinite(alpha_max) and 0.0 < alpha_max < 1.5):
        raise InvalidValue(f"alpha_max = {alpha_max} rad must be above 0 and below 1.5")
    laws = tyre_laws(given)
    rows = [_diagrams(law, _loads(law, loads), alpha_max, len(laws) > 1) for law in laws]
    if all(len(row) == 1 for row in rows):
        rows = [[row[0] for row in rows]]
    cells = [Cell(diagram, i, j) for i, row in enumerate(rows) for j, diagram in enumerate(row)]
    across = max(len(row) for row in rows)
    return Sheet(tuple(cells), (4.3,) * across, (3.6,) * len(rows), title=title)


def _loads(law: TyreLaw, given: Sequence[float] | None) -> list[float]:
    """The loads asked for in N, or half, one, one and a half and twice that at rest, rounded."""
    if given is None:
        step = 10.0 ** np.floor(np.log10(law.load)) / 10.0
        return [float(step * np.rint(share * law.load / step)) for share in (0.5, 1.0, 1.5, 2.0)]
    loads = np.atleast_1d(np.asarray(given, dtype=float))
    if not (loads.size and np.isfinite(loads).all() and (loads > 0.0).all()):
        raise InvalidValue(f"loads = {list(given)} N must be greater than 0")
    return sorted(loads.tolist())


def _diagrams(law: TyreLaw, loads: Sequence[float], alpha_max: float, named: bool) -> list[Diagram]:
    prefix = f"{law.name}: " if named else ""
    made = [_lateral(law, loads, alpha_max, prefix)]
    if law.longitudinal is not None:
        made.append(_longitudinal(law, loads, prefix))
    if law.shared is not None:
        made.append(_shared(law, alpha_max, prefix))
    return made


def _by_load(x: Array, loads: Sequence[float], force: Any, slip: Array) -> list[Mark]:
    curves: list[Mark] = [
        Rule(0.0, "y", colour="#BBBBBB", dash="solid", width=0.6),
        Rule(0.0, "x", colour="#BBBBBB", dash="solid", width=0.6),
    ]
    # The heaviest first in the legend, as its curve is the highest.
    for F_z, colour in reversed(list(zip(loads, shades(len(loads)), strict=True))):
        values = np.asarray(force(slip, F_z), dtype=float)
        curves.append(Curve(x, values / 1000.0, f"`F_z` = {F_z / 1000.0:g} kN", colour, width=1.6))
    return curves


def _lateral(law: TyreLaw, loads: Sequence[float], alpha_max: float, prefix: str) -> Diagram:
    alpha = np.linspace(-alpha_max, alpha_max, POINTS)
    degrees = np.rad2deg(alpha)
    return Diagram(
        tuple(_by_load(degrees, loads, law.lateral, alpha)),
        _heading(prefix, "lateral force"),
        x=Axis("slip angle `alpha` [°], positive pushes left", low=degrees[0], high=degrees[-1]),
        y=Axis("`F_y` [kN]"),
        legend="upper left",
    )


def _longitudinal(law: TyreLaw, loads: Sequence[float], prefix: str) -> Diagram:
    kappa = np.linspace(-SLIP_MAX, SLIP_MAX, POINTS)
    return Diagram(
        tuple(_by_load(kappa, loads, law.longitudinal, kappa)),
        _heading(prefix, "longitudinal force"),
        x=Axis("longitudinal slip `kappa` [1]", low=-SLIP_MAX, high=SLIP_MAX),
        y=Axis("`F_x` [kN]"),
        legend="upper left",
    )


def _shared(law: TyreLaw, alpha_max: float, prefix: str) -> Diagram:
    """Force along and across at once, over the load: what cornering leaves for drive."""
    assert law.shared is not None
    angles = [angle for angle in SHARED_AT if np.deg2rad(angle) <= alpha_max]
    marks: list[Mark] = []
    reach = 0.0
    for angle, colour in zip(angles, shades(len(angles)), strict=True):
        F_x, F_y = law.shared(float(np.deg2rad(angle)), law.load)
        reach = max(reach, float(np.hypot(F_x, F_y).max()) / law.load)
        for sign in (1.0, -1.0):
            label = f"`alpha` = {angle:g}°" if sign > 0.0 else ""
            marks.append(Curve(F_x / law.load, sign * F_y / law.load, label, colour, width=1.5))
    if law.peak is not None:
        marks.append(_limit(law.peak.along, law.peak.across))
        reach = max(reach, *law.peak)
    reach *= 1.12
    return Diagram(
        tuple(marks),
        _heading(prefix, "shared friction"),
        x=Axis("`F_x` / `F_z` [1]", low=-reach, high=reach),
        y=Axis("`F_y` / `F_z` [1]", low=-reach, high=reach),
        equal=True,
        legend="upper left",
    )


def _limit(along: float, across: float) -> Mark:
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    return Curve(along * np.cos(angle), across * np.sin(angle), "peaks", INK, "dash", 1.1)


def _heading(prefix: str, text: str) -> str:
    return f"{prefix}{text}" if prefix else text[0].upper() + text[1:]
