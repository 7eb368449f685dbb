"""The tyres of a vehicle as functions of slip and load, from its own components.

Found are the tyres that its parameters hold: `components.tyre.MagicFormula`, the coefficients of a
tyre file (`components.magic_formula.Coefficients`), the records of tyres of spinning wheels
(`components.tyre.Tyre`), and the cornering stiffnesses `C_f`, `C_r` over load of bicycles. The
equations are those of the components, which the vehicle itself uses. Slip angles are positive when
the tyre pushes to the left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...arrays import Array
from ...components import magic_formula, tyre
from ...errors import InvalidValue
from ...model import Vehicle

G = 9.81

Force = Callable[[Array, float], Array]
"""Force in N at slips (n,) under a load in N."""
Combined = Callable[[Array, Array, float], tuple[Array, Array]]
"""Forces along and across in N at the arguments' slips under a load in N."""


class Peak(NamedTuple):
    """Largest friction along and across the wheel."""

    along: float
    across: float


class TyreLaw(NamedTuple):
    """One kind of tyre on a vehicle."""

    name: str
    lateral: Force
    """Over slip angle in rad, without longitudinal slip or drive."""
    load: float
    """Load on one of them, or on an axle of them, at rest, in N."""
    longitudinal: Force | None = None
    """Over longitudinal slip, without slip angle; None where torque acts as a force at once."""
    shared: Callable[[float, float], tuple[Array, Array]] | None = None
    """Forces along and across under all drive and brake, at a slip angle in rad and a load in N."""
    peak: Peak | None = None
    """None for tyres whose force has no bound."""


def tyre_laws(vehicle: Any) -> list[TyreLaw]:
    """The tyres of a vehicle, or of a record of tyre coefficients."""
    if isinstance(vehicle, tyre.MagicFormula):
        return [_simple("tyre", vehicle, 1000.0, None, None)]
    if isinstance(vehicle, magic_formula.Coefficients):
        return [_combined("tyre", vehicle, 3000.0)]
    if isinstance(held := getattr(vehicle, "record", vehicle), tyre.Tyre):
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
        if isinstance(value, tyre.MagicFormula):
            most, floor = getattr(p, "use_max", None), getattr(p, "F_floor", 1.0)
            laws.append(_simple(name, value, load, most, floor))
        elif isinstance(value, magic_formula.Coefficients):
            laws.append(_combined(name, value, load))
        elif name == "tyres":
            laws += [_spinning(place, one, load) for place, one in value._asdict().items()]
    return laws


def _stiffnesses(vehicle: Vehicle) -> list[TyreLaw]:
    """Linear tyres of a bicycle: stiffness over load of each axle."""
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
    name: str, p: tyre.MagicFormula, load: float, most: float | None, floor: float | None
) -> TyreLaw:
    """The lateral formula; with `most` drive and brake take their share of its limit."""

    def lateral(alpha: Array, F_z: float) -> Array:
        return tyre.friction(alpha, p) * F_z  # type: ignore[arg-type]

    def shared(alpha: float, F_z: float) -> tuple[Array, Array]:
        limit = p.D * F_z
        demand = np.linspace(-1.25, 1.25, 201) * limit
        used: Any = tyre.use(demand, limit, most, floor)  # type: ignore[arg-type]
        return limit * (used.firm + used.sliding), tyre.friction(alpha, p) * F_z * used.across

    return TyreLaw(
        name, lateral, load, None, None if most is None else shared, Peak(float(p.D), float(p.D))
    )


def _combined(name: str, p: magic_formula.Coefficients, load: float) -> TyreLaw:
    """A tyre file's forces, the mean of a left and a right tyre: the pull to one side cancels."""

    def forces(kappa: Any, alpha: Any, F_z: float) -> tuple[Array, Array]:
        # These coefficients take slip angles positive when the patch moves to the left.
        force: Any = magic_formula.axle_force(magic_formula.Slip(kappa, -alpha, 0.0), F_z, p)
        return force.x, force.y

    def lateral(alpha: Array, F_z: float) -> Array:
        return forces(0.0 * alpha, alpha, F_z)[1]

    def longitudinal(kappa: Array, F_z: float) -> Array:
        return forces(kappa, 0.0 * kappa, F_z)[0]

    def shared(alpha: float, F_z: float) -> tuple[Array, Array]:
        kappa = np.linspace(-1.0, 1.0, 401) ** 3
        return forces(kappa, np.full_like(kappa, alpha), F_z)

    peak = Peak(float(p.p_dx1), float(p.p_dy1))
    return TyreLaw(name, lateral, load, longitudinal, shared, peak)


def _spinning(name: str, p: Any, load: float) -> TyreLaw:
    """Any tyre record, as on the side on which it was measured."""

    def forces(kappa: Any, alpha: Any, F_z: float) -> Any:
        # Tyres have slip angles that are positive when the patch moves to the left.
        kappa, alpha = np.broadcast_arrays(kappa, -alpha)
        at = tyre.Contact(
            F_z=F_z, kappa=kappa, alpha=alpha, v_x=10.0, v_y=10.0 * np.tan(alpha), p=p.pressure
        )
        at = at._replace(omega=(1.0 + kappa) * 10.0 / p.radii(at).effective)
        return p.forces(at)

    def lateral(alpha: Array, F_z: float) -> Array:
        return forces(0.0, alpha, F_z).F_y

    def longitudinal(kappa: Array, F_z: float) -> Array:
        return forces(kappa, np.zeros(()), F_z).F_x

    def shared(alpha: float, F_z: float) -> tuple[Array, Array]:
        force = forces(np.linspace(-1.0, 1.0, 401) ** 3, np.array(alpha), F_z)
        return force.F_x, force.F_y

    at = tyre.Contact(F_z=load, v_x=10.0, p=p.pressure)
    peaks = p.peaks(at)
    peak = Peak(float(peaks.mu_x), float(peaks.mu_y))
    return TyreLaw(name, lateral, load, longitudinal, shared, peak)
