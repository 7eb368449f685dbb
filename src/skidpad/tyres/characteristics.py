"""The characteristics of a tyre in a few numbers, found on its curves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.checks import finite
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..units import N, N_rad, Nm, Pa, m, m_s, one, rad
from .curves import (
    Reach,
    answers,
    checked_loads,
    checked_tyre,
    nominal_load,
    reach,
    reference_speed,
)
from .reading import reversed_slopes
from .tyre import Tyre

POINTS = 2001
"""On a curve that is searched for its peak."""
SMALL = 1e-4
"""Slip angle in rad by which a trail is found."""
FLAT = 1e-9
"""Share of a peak by which a curve must fall to have one."""


class AtLoad(NamedTuple):
    """A tyre under one load. What differs from left to right is the mean of both directions."""

    F_z: N
    """Load."""
    mu_x: one
    """Largest driving force over load."""
    mu_brake: one
    """Largest braking force over load."""
    mu_y: one
    """Largest lateral force over load."""
    kappa_peak: one | None
    """Slip of the largest driving force; None where none is largest within the range."""
    kappa_brake: one | None
    """Slip of the largest braking force, negative; None likewise."""
    alpha_peak: rad | None
    """Slip angle of the largest lateral force, without its sign; None likewise."""
    K_x: N
    """Slip stiffness."""
    K_y: N_rad
    """Cornering stiffness."""
    M_z: Nm
    """Largest aligning moment."""
    trail: m
    """Pneumatic trail at small slip: the slope of the moment over that of the lateral force."""
    sigma_x: m
    """Relaxation length along the wheel."""
    sigma_y: m
    """Relaxation length across the wheel."""
    effective: m
    """Rolling radius."""
    loaded: m
    """Height of the wheel centre."""
    rolling: one
    """Rolling resistance over load."""


class Summary(NamedTuple):
    """Characteristics of a tyre; all values in SI."""

    name: str
    model: str
    """Equations: "Magic Formula 6.1" or the name of the record's class."""
    side: str
    """Side of the car for which the values hold."""
    measured_on: str
    """Side on which the tyre was measured."""
    radius: m
    """Of the free tyre at rest."""
    width: m | None
    """Nominal section width; None if the tyre has none."""
    F_z0: N | None
    """Nominal load; None if the tyre has none."""
    pressure: Pa | None
    """Inflation pressure of these values; None if the tyre has none."""
    camber: rad
    """Of these values."""
    v_x: m_s
    """Speed of these values: the one at which the tyre was measured."""
    C_z: float
    """Vertical stiffness at the nominal load, in N/m."""
    K_y_max: N_rad
    """Largest cornering stiffness up to the highest load."""
    F_z_of_K_y_max: N | None
    """Load at which it is largest; None where it still grows at the highest load."""
    F_z_range: tuple[N, N] | None
    """Loads for which the file says that its numbers hold."""
    at: tuple[AtLoad, ...]
    """The tyre under some loads."""
    filled: tuple[str, ...]
    """Keys that the file did not have."""
    warnings: tuple[str, ...]
    """Warnings to the reader of these values."""

    __repr__ = brief_repr

    def as_json(self) -> dict[str, Any]:
        """The same as plain values; numbers that are not finite become null."""
        rows = [_finite(row._asdict()) for row in self.at]
        return {**_finite(self._asdict()), "at": rows}


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    wrong = [k for k, v in values.items() if isinstance(v, float) and not np.isfinite(v)]
    return values | dict.fromkeys(wrong)


def summary(
    tyre: Tyre,
    *,
    loads: Iterable[float] | float | None = None,
    camber: float = 0.0,
    pressure: float | None = None,
) -> Summary:
    """Characteristics of a tyre: friction, stiffness, slip at the peaks, trail, radii and so on.

    Peaks are those of the curves, shifts included, within the ranges of the file.

    Args:
        tyre: from a file, of our own or of any tyre record.
        loads: in N; by default half, once and one and a half the nominal load.
        camber: in rad, positive when the top of the wheel leans to the right.
        pressure: in Pa; None: the tyre's own. Only MF 6 takes it into account.
    """
    F_z = np.array(checked_loads(loads, checked_tyre(tyre)))
    own = tyre.pressure if pressure is None else finite("pressure", pressure, "Pa")
    if pressure is not None and own <= 0.0:
        raise InvalidValue(f"pressure = {pressure} Pa must be greater than 0")
    at: dict[str, Any] = {"gamma": finite("camber", camber, "rad"), "p": own}
    far = reach(tyre)
    rows = _rows(tyre, F_z, at, far)
    up_to = np.linspace(0.0, far.F_z, POINTS)[1:]
    most = peak(up_to, answers(tyre, "stiffness", F_z=up_to, **at).K_y)
    magic = tyre.record if tyre.version else None
    kind = f"Magic Formula {tyre.version}" if magic else type(tyre.record).__name__
    ignored: list[str] = []
    if pressure is not None and not _takes_pressure(tyre):
        what = f"MF {tyre.version}" if tyre.version else kind
        ignored.append(f"{what} knows no pressure: the values hold for any")
    nominal = answers(tyre, "radii", F_z=nominal_load(tyre) or F_z[len(F_z) // 2], **at)
    return Summary(
        name=tyre.name,
        model=kind,
        side=tyre.side,
        measured_on=tyre.measured_on,
        radius=magic.dimension.UNLOADED_RADIUS if magic else float(nominal.free),
        width=(magic.dimension.WIDTH or None) if magic else None,
        F_z0=nominal_load(tyre),
        pressure=own if _takes_pressure(tyre) else None,
        camber=at["gamma"],
        v_x=reference_speed(tyre),
        C_z=float(nominal.C_z),
        K_y_max=most.value,
        F_z_of_K_y_max=most.slip,
        F_z_range=(magic.ranges.FZMIN, magic.ranges.FZMAX) if magic else None,
        at=rows,
        filled=tyre.filled,
        warnings=(*reversed_slopes(tyre), *ignored, *_range_warnings(tyre, F_z, at)),
    )


def _rows(tyre: Tyre, F_z: Array, at: dict[str, Any], far: Reach) -> tuple[AtLoad, ...]:
    column = F_z[:, None]
    kappa = np.linspace(0.0, far.kappa, POINTS)
    alpha = np.linspace(0.0, far.alpha, POINTS)
    drive = answers(tyre, "forces", F_z=column, kappa=kappa, **at).F_x
    brake = -answers(tyre, "forces", F_z=column, kappa=-kappa, **at).F_x
    right = answers(tyre, "forces", F_z=column, alpha=alpha, **at)
    left = answers(tyre, "forces", F_z=column, alpha=-alpha, **at)
    K, sigma = (answers(tyre, name, F_z=F_z, **at) for name in ("stiffness", "relaxation"))
    radii, free = (answers(tyre, name, F_z=F_z, **at) for name in ("radii", "forces"))
    trail = _trail(tyre, F_z, at)
    rows: list[AtLoad] = []
    for k, load in enumerate(F_z):
        driving, braking = peak(kappa, drive[k]), peak(kappa, brake[k])
        to_right, to_left = peak(alpha, -right.F_y[k]), peak(alpha, left.F_y[k])
        right_peak, left_peak = to_right.slip, to_left.slip
        moment = 0.5 * (right.M_z[k].max() - left.M_z[k].min())
        rows.append(
            AtLoad(
                F_z=float(load),
                mu_x=driving.value / float(load),
                mu_brake=braking.value / float(load),
                mu_y=0.5 * (to_right.value + to_left.value) / float(load),
                kappa_peak=driving.slip,
                kappa_brake=None if braking.slip is None else -braking.slip,
                alpha_peak=(
                    None
                    if right_peak is None or left_peak is None
                    else 0.5 * (right_peak + left_peak)
                ),
                K_x=float(K.K_x[k]),
                K_y=float(K.K_y[k]),
                M_z=float(moment),
                trail=float(trail[k]),
                sigma_x=float(sigma.sigma_x[k]),
                sigma_y=float(sigma.sigma_y[k]),
                effective=float(radii.effective[k]),
                loaded=float(radii.loaded[k]),
                rolling=float(-free.M_y[k] / (load * radii.effective[k])),
            )
        )
    return tuple(rows)


class Peak(NamedTuple):
    """The largest value of a curve."""

    value: float
    slip: float | None
    """Where it is, None where the curve does not fall behind it."""


def peak(slip: Array, force: Array) -> Peak:
    """The largest force of a curve over slip from 0 up, between samples by a parabola."""
    k = int(np.argmax(force))
    value = float(force[k])
    if k == 0 or k == len(force) - 1 or force[k:].min() > value - FLAT * abs(value):
        return Peak(value, None)
    low, high = force[k - 1] - value, force[k + 1] - value
    bend = low + high
    if bend == 0.0:
        return Peak(value, float(slip[k]))
    shift = 0.5 * (low - high) / bend
    height = value - 0.25 * (low - high) * shift
    return Peak(float(height), float(slip[k] + shift * (slip[1] - slip[0])))


def _trail(tyre: Tyre, F_z: Array, at: dict[str, Any]) -> Array:
    sides = answers(tyre, "forces", F_z=F_z[:, None], alpha=np.array([-SMALL, SMALL]), **at)
    force = sides.F_y[:, 1] - sides.F_y[:, 0]
    return -(sides.M_z[:, 1] - sides.M_z[:, 0]) / np.where(force == 0.0, np.inf, force)


def _range_warnings(tyre: Tyre, F_z: Array, at: dict[str, Any]) -> list[str]:
    """Sentences on values beyond the ranges of the file."""

    def farthest(values: Any, low: float, high: float) -> float:
        """The value that is farthest from the middle of a range."""
        flat = np.atleast_1d(values)
        return float(flat[np.argmax(np.abs(flat - 0.5 * (low + high)))])

    if not tyre.version:
        return []
    ranges = tyre.record.ranges
    asked = [
        ("load", F_z, ranges.FZMIN, ranges.FZMAX, 1.0, "N", 6),
        ("camber", at["gamma"], ranges.CAMMIN, ranges.CAMMAX, np.rad2deg(1.0), "°", 3),
    ]
    if _takes_pressure(tyre):
        asked.append(("pressure", at["p"], ranges.PRESMIN, ranges.PRESMAX, 1e-5, "bar", 6))
    return [
        f"{what} of {farthest(values, low, high) * scale:.{digits}g} {unit} is outside of the "
        f"file's range, {low * scale:.{digits}g} to {high * scale:.{digits}g} {unit}"
        for what, values, low, high, scale, unit, digits in asked
        if low < high and not np.all((values >= low) & (values <= high))
    ]


def _takes_pressure(tyre: Tyre) -> bool:
    """Whether a tyre's equations know its pressure: those of MF 6."""
    return tyre.version.startswith("6")
