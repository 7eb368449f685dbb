"""Characteristic values of a tyre, found on its curves: friction, stiffness, trail and others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.checks import finite
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..units import N, N_rad, Nm, Pa, m, m_s, one, rad
from .reading import (
    Reach,
    checked_loads,
    checked_tyre,
    evaluate_on_arrays,
    nominal_load,
    reach,
    reference_speed,
    reversed_slopes,
)
from .tyre import Tyre

POINTS = 2001
"""Number of points on a curve that is searched for its peak."""
SMALL = 1e-4
"""Slip angle in rad at which the pneumatic trail is evaluated."""
FLAT = 1e-9
"""Relative drop beyond the largest value from which a curve counts as having a peak."""


class AtLoad(NamedTuple):
    """Characteristics of a tyre under one load; lateral values are means over both directions."""

    F_z: N
    """Load on the tyre."""
    mu_x: one
    """Largest driving force over load."""
    mu_brake: one
    """Largest braking force over load."""
    mu_y: one
    """Largest lateral force over load."""
    kappa_peak: one | None
    """Slip at the largest driving force; None if the force does not fall beyond it."""
    kappa_brake: one | None
    """Slip at the largest braking force, negative; None as for `kappa_peak`."""
    alpha_peak: rad | None
    """Absolute slip angle at the largest lateral force; None as for `kappa_peak`."""
    K_x: N
    """Slip stiffness."""
    K_y: N_rad
    """Cornering stiffness."""
    M_z: Nm
    """Largest aligning moment."""
    trail: m
    """Pneumatic trail at small slip: slope of aligning moment over slope of lateral force."""
    sigma_x: m
    """Relaxation length along the wheel."""
    sigma_y: m
    """Relaxation length across the wheel."""
    effective: m
    """Effective rolling radius."""
    loaded: m
    """Height of the wheel centre above the road."""
    rolling: one
    """Rolling resistance over load."""


class Summary(NamedTuple):
    """Characteristics of a tyre; all values in SI units."""

    name: str
    model: str
    """Equations: "Magic Formula 6.1" or the name of the record's class."""
    side: str
    """Side of the car for which the values hold."""
    measured_on: str
    """Side of the car on which the tyre was measured."""
    radius: m
    """Free radius of the tyre at rest."""
    width: m | None
    """Nominal section width; None if unknown."""
    F_z0: N | None
    """Nominal load; None if unknown."""
    pressure: Pa | None
    """Inflation pressure at which the values hold; None if the tyre model ignores pressure."""
    camber: rad
    """Camber at which the values hold."""
    v_x: m_s
    """Speed at which the values hold: the speed at which the tyre was measured."""
    C_z: float
    """Vertical stiffness at the nominal load, in N/m."""
    K_y_max: N_rad
    """Largest cornering stiffness up to the highest load."""
    F_z_of_K_y_max: N | None
    """Load at the largest cornering stiffness; None if it still grows at the highest load."""
    F_z_range: tuple[N, N] | None
    """Range of loads for which the file is valid."""
    at: tuple[AtLoad, ...]
    """Characteristics under several loads."""
    filled: tuple[str, ...]
    """Keys that were missing in the file and filled with defaults."""
    warnings: tuple[str, ...]
    """Warnings about these values."""

    __repr__ = brief_repr

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON; non-finite numbers become null."""
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

    Peaks are searched on the full curves, including shifts, within the valid ranges of the file.

    Args:
        tyre: a tyre, from a file or made of any tyre record.
        loads: loads in N; by default 0.5, 1 and 1.5 times the nominal load.
        camber: in rad, positive when the top of the wheel leans to the right.
        pressure: in Pa; the tyre's own if None. Only MF 6 takes it into account.
    """
    F_z = np.array(checked_loads(loads, checked_tyre(tyre)))
    own = tyre.pressure if pressure is None else finite("pressure", pressure, "Pa")
    if pressure is not None and own <= 0.0:
        raise InvalidValue(f"pressure = {pressure} Pa must be greater than 0")
    at: dict[str, Any] = {"gamma": finite("camber", camber, "rad"), "p": own}
    far = reach(tyre)
    rows = _rows(tyre, F_z, at, far)
    up_to = np.linspace(0.0, far.F_z, POINTS)[1:]
    most = peak(up_to, evaluate_on_arrays(tyre, "stiffness", F_z=up_to, **at).K_y)
    magic = tyre.record if tyre.version else None
    kind = f"Magic Formula {tyre.version}" if magic else type(tyre.record).__name__
    ignored: list[str] = []
    if pressure is not None and not _takes_pressure(tyre):
        what = f"MF {tyre.version}" if tyre.version else kind
        ignored.append(f"{what} knows no pressure: the values hold for any")
    nominal = evaluate_on_arrays(tyre, "radii", F_z=nominal_load(tyre) or F_z[len(F_z) // 2], **at)
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
    drive = evaluate_on_arrays(tyre, "forces", F_z=column, kappa=kappa, **at).F_x
    brake = -evaluate_on_arrays(tyre, "forces", F_z=column, kappa=-kappa, **at).F_x
    right = evaluate_on_arrays(tyre, "forces", F_z=column, alpha=alpha, **at)
    left = evaluate_on_arrays(tyre, "forces", F_z=column, alpha=-alpha, **at)
    K, sigma = (
        evaluate_on_arrays(tyre, name, F_z=F_z, **at) for name in ("stiffness", "relaxation")
    )
    radii, free = (evaluate_on_arrays(tyre, name, F_z=F_z, **at) for name in ("radii", "forces"))
    trail = _trail(tyre, F_z, at)
    rows: list[AtLoad] = []
    for k, load in enumerate(F_z):
        driving, braking = peak(kappa, drive[k]), peak(kappa, brake[k])
        to_right, to_left = peak(alpha, -right.F_y[k]), peak(alpha, left.F_y[k])
        peaks: Any = (to_right.slip, to_left.slip)
        moment = 0.5 * (right.M_z[k].max() - left.M_z[k].min())
        F, K_x, K_y, sigma_x, sigma_y, effective, loaded = (
            float(column[k])
            for column in (F_z, K.K_x, K.K_y, *sigma, radii.effective, radii.loaded)
        )
        rows.append(
            AtLoad(
                F,
                driving.value / F,
                braking.value / F,
                0.5 * (to_right.value + to_left.value) / F,
                driving.slip,
                None if braking.slip is None else -braking.slip,
                None if None in peaks else 0.5 * sum(peaks),
                K_x,
                K_y,
                float(moment),
                float(trail[k]),
                sigma_x,
                sigma_y,
                effective,
                loaded,
                float(-free.M_y[k] / (load * radii.effective[k])),
            )
        )
    return tuple(rows)


class Peak(NamedTuple):
    value: float
    slip: float | None
    """Slip at the largest value; None if the curve does not fall beyond it."""


def peak(slip: Array, force: Array) -> Peak:
    """Peak of a force curve over slip from 0 upwards, interpolated between samples by a
    parabola."""
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
    sides = evaluate_on_arrays(
        tyre, "forces", F_z=F_z[:, None], alpha=np.array([-SMALL, SMALL]), **at
    )
    force = sides.F_y[:, 1] - sides.F_y[:, 0]
    return -(sides.M_z[:, 1] - sides.M_z[:, 0]) / np.where(force == 0.0, np.inf, force)


def _range_warnings(tyre: Tyre, F_z: Array, at: dict[str, Any]) -> list[str]:
    """Warnings about values outside the valid ranges of the file."""

    def farthest(values: Any, low: float, high: float) -> float:
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
    """Whether the tyre's equations use the pressure: true for MF 6 only."""
    return tyre.version.startswith("6")
