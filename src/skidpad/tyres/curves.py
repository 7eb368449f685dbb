"""Curves of a tyre for sheets and figures, by its equations on arrays: nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core import record as records
from ..core.arrays import Array
from ..core.checks import finite
from ..core.files import shortened
from ..errors import InvalidValue
from .tyre import SIDES, Tyre, evaluate_at

USUAL_LOAD = 4000.0
"""Load in N for tyres without a nominal load."""
USUAL_SPEED = 10.0
"""Speed in m/s for tyres without the speed at which they were measured."""
_WIDEST_SLIP, _WIDEST_ANGLE = 1.0, 0.7
"""A wheel that is locked or spins, and 40 degrees: beyond these no curve is of use."""
_NOMINAL = ("FNOMIN", "F_z0")
"""Leaves that are a nominal load."""


class Reach(NamedTuple):
    """Largest slip, slip angle in rad and load in N, to either side, of curves."""

    kappa: float
    alpha: float
    F_z: float


def nominal_load(tyre: Tyre) -> float | None:
    """Nominal load of a tyre in N, or None."""
    names = records.names(type(tyre.record))
    for name, value in zip(names, records.flatten(tyre.record), strict=True):
        if name.rpartition(".")[2] in _NOMINAL:
            return float(value)
    return None


def reference_speed(tyre: Tyre) -> float:
    """Speed in m/s at which a tyre was measured, or a usual one."""
    return float(tyre.record.model.LONGVL) if tyre.version else USUAL_SPEED


def reach(tyre: Tyre) -> Reach:
    """Range in which the numbers of a tyre hold by its file, and no more than is of use."""
    usual = 2.5 * (nominal_load(tyre) or USUAL_LOAD)
    if not tyre.version:
        return Reach(_WIDEST_SLIP, _WIDEST_ANGLE, usual)
    ranges = tyre.record.ranges
    return Reach(
        _within(_WIDEST_SLIP, -ranges.KPUMIN, ranges.KPUMAX),
        _within(_WIDEST_ANGLE, -ranges.ALPMIN, ranges.ALPMAX),
        ranges.FZMAX if ranges.FZMAX > ranges.FZMIN else usual,
    )


def _within(widest: float, *limits: float) -> float:
    """The nearest of some limits; one that leaves no range does not count."""
    return min([widest, *(float(limit) for limit in limits if limit > 0.0)])


def checked_tyre(tyre: Any) -> Tyre:
    """The tyre; raises for a path, a name or a record."""
    if not isinstance(tyre, Tyre):
        raise InvalidValue(
            f"tyre = {shortened(repr(tyre))} must be a Tyre: sp.tyres.read(path) reads one, "
            "sp.tyres.get(name) has skidpad's own, sp.tyres.Tyre(record) makes one"
        )
    return tyre


def several(values: Any) -> list[Any]:
    """Some values; a single one is a list of it."""
    return [values] if isinstance(values, str) or np.ndim(values) == 0 else list(values)


def checked_loads(loads: Iterable[float] | float | None, tyre: Tyre) -> list[float]:
    """Loads in N, sorted; by default half, once and one and a half times the nominal one."""
    if loads is None:
        usual = nominal_load(tyre) or USUAL_LOAD
        return [share * usual for share in (0.5, 1.0, 1.5)]
    values = sorted(finite("loads", load, "N") for load in several(loads))
    if not values or values[0] <= 0.0:
        raise InvalidValue(f"loads = {values} N must be one or more that are greater than 0")
    return values


def answers(tyre: Tyre, question: str, **contact: Any) -> Any:
    """Results of `tyre.forces` and the other methods for arrays, without compiling anything."""
    usual = {
        "F_z": 0.0, "kappa": 0.0, "alpha": 0.0, "gamma": 0.0, "phi_t": 0.0,
        "v_x": reference_speed(tyre), "p": tyre.pressure, "mu": 1.0,
    }  # fmt: skip
    known = {name: value for name, value in contact.items() if value is not None}
    arrays: list[Array] = [np.asarray(v, dtype=float) for v in (usual | known).values()]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    # Locked wheels and tails of curves overflow into infinities that no figure shows.
    with np.errstate(all="ignore"):
        values = tuple(np.broadcast_to(array, shape) for array in arrays)
        answered = evaluate_at(question, tyre.record, SIDES[tyre.side], values)
    leaves = records.flatten(answered)
    columns = [np.broadcast_to(np.asarray(leaf, dtype=float), shape) for leaf in leaves]
    return records.unflatten(type(answered), columns)
