"""The record classes of Magic Formula tyres, one for each version and choice of equations.

Their methods are those of every tyre (`contract.Tyre`); `evaluate` computes all intermediate values
as well.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ...core import record
from ...errors import InvalidValue
from ...ops import abs as absolute
from ...ops import maximum, where
from ...units import N, N_m, N_rad, Nm, Pa, m, one, per_m, rad
from ..contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from . import coefficients as c
from . import records
from . import records as r
from .forces import (
    Forces,
    PureLateral,
    PureLongitudinal,
    Spin,
    Weights,
    aligning,
    cornering_stiffness,
    lateral_friction,
    longitudinal_friction,
    overturning,
    pure_lateral,
    pure_longitudinal,
    rolling_resistance,
    slip_stiffness,
    spin,
    weights,
)
from .radii import contact_patch, effective_radius, radii, relaxed
from .records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    Inputs,
    NoLimits,
    PlainAngles,
    Sections,
    Tyre,
    Uncombined,
    UsualLimits,
    inputs,
    sections,
)

SHORTEST = 1.0 / 16.0
"""Least relaxation length over the radius: the lag must not vanish with the load."""


class Everything(NamedTuple):
    """Forces of a tyre and all that they are made of."""

    forces: TyreForces
    radii: Radii
    t: m
    """Pneumatic trail."""
    M_zr: Nm
    """Residual torque."""
    s: m
    """Arm of the longitudinal force in the aligning moment."""
    mu_x: one
    """Peak of the longitudinal force over load; 0 without load."""
    mu_y: one
    """Peak of the lateral force over load; 0 without load."""
    K_x: N
    """Slope of the longitudinal force over slip."""
    K_y: N_rad
    """Slope of the lateral force over slip angle; negative as a rule."""
    rho: m
    """Deflection."""
    two_a: m
    """Length of the contact patch."""
    two_b: m
    """Width of the contact patch."""
    C_x: N_m
    """Longitudinal stiffness of the tyre at rest; 0 for MF 5.2, which does not say."""
    C_y: N_m
    """Lateral stiffness of the tyre at rest; 0 for MF 5.2, which does not say."""
    sigma_x: m
    """Relaxation length of the longitudinal force; 0 without load."""
    sigma_y: m
    """Relaxation length of the lateral force; 0 without load."""
    F_x0: N
    """Longitudinal force of pure slip."""
    F_y0: N
    """Lateral force of pure slip."""
    G_x: one
    """What slip angle leaves of it."""
    G_y: one
    """What longitudinal slip leaves of it."""
    S_Vyk: N
    """Lateral force by longitudinal slip."""
    S_Hx: one
    """Shift of longitudinal slip."""
    S_Vx: N
    """Shift of the longitudinal force."""
    S_Hy: rad
    """Shift of slip angle."""
    S_Vy: N
    """Shift of the lateral force."""
    B_y: one
    """Stiffness factor of the lateral force."""
    phi: per_m
    """Spin; 0 without turn slip."""
    zeta_2: one
    """What spin leaves of the lateral force."""


class _Steady(NamedTuple):
    """Forces along and across the wheel and what leads to them."""

    k: Sections
    i: Inputs
    spin: Spin
    x: PureLongitudinal
    y: PureLateral
    weights: Weights
    F_x: N
    F_y: N


def _steady(tyre: Tyre, at: Contact) -> _Steady:
    k, i = sections(tyre), inputs(tyre, at)
    turning = spin(tyre, k, i, at.omega)
    x = pure_longitudinal(tyre, k, i, turning)
    y = pure_lateral(tyre, k, i, i.g, turning)
    w = weights(tyre, k, i, x, y)
    return _Steady(k, i, turning, x, y, w, w.G_x * x.F, w.G_y * y.F + w.S_V)


def _moments(tyre: Tyre, at: Contact, f: _Steady) -> tuple[TyreForces, Any]:
    forces = Forces(f.x, f.y, f.weights, f.F_x, f.F_y)
    turning = aligning(tyre, f.k, f.i, forces, f.spin)
    M_x = overturning(tyre, f.k, f.i, f.F_y)
    M_y = rolling_resistance(tyre, f.k, f.i, f.F_x, at.kappa, at.v_x)
    return TyreForces(f.F_x, f.F_y, M_x, M_y, turning.M), turning


def evaluate(tyre: Tyre, at: Contact) -> Everything:
    """Everything that the Magic Formula says about a contact."""
    f = _steady(tyre, at)
    forces, turning = _moments(tyre, at, f)
    standing = radii(tyre, f.i, at.omega, f.F_x, f.F_y)
    patch = contact_patch(tyre, f.i.F_unlimited, f.i.dpi)
    lag = relaxed(tyre, f.i, f.x.K, f.y.K)
    return Everything(
        forces=forces,
        radii=standing.radii,
        t=turning.t,
        M_zr=turning.M_r,
        s=turning.s,
        mu_x=where(f.i.slip.F_z > 0.0, f.x.mu, 0.0),
        mu_y=where(f.i.slip.F_z > 0.0, f.y.mu, 0.0),
        K_x=f.x.K,
        K_y=f.y.K,
        rho=standing.deflection,
        two_a=patch.length,
        two_b=patch.width,
        C_x=lag.C_x,
        C_y=lag.C_y,
        sigma_x=lag.sigma_x,
        sigma_y=lag.sigma_y,
        F_x0=f.x.F,
        F_y0=f.y.F,
        G_x=f.weights.G_x,
        G_y=f.weights.G_y,
        S_Vyk=f.weights.S_V,
        S_Hx=f.x.S_H,
        S_Vx=f.x.S_V,
        S_Hy=f.y.S_H,
        S_Vy=f.y.S_V,
        B_y=f.y.B,
        phi=f.spin.phi,
        zeta_2=f.spin.zeta2,
    )


class MagicFormulaTyre:
    """Methods of every Magic Formula record; see `Tyre`."""

    __slots__ = ()

    model: Any
    operating: Any
    dimension: Any

    @property
    def measured_on(self) -> one:
        """Side of the car on which the tyre was measured: 1 left, -1 right."""
        return self.model.side

    @property
    def pressure(self) -> Pa:
        """Default inflation pressure."""
        return self.operating.INFLPRES

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments on the side on which the tyre was measured."""
        return _moments(self, at, _steady(self, at))[0]

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slopes of the pure forces at their shifted origins."""
        k, i = sections(self), inputs(self, at)
        turning = spin(self, k, i, at.omega)
        K_y = cornering_stiffness(k, i, i.g, turning.zeta3)
        return SlipStiffness(absolute(slip_stiffness(k, i)), absolute(K_y))

    def peaks(self, at: Contact) -> Peaks:
        """Largest friction under this load, camber, pressure and grip."""
        k, i = sections(self), inputs(self, at)
        return Peaks(absolute(longitudinal_friction(k, i)), absolute(lateral_friction(k, i, i.g)))

    def relaxation(self, at: Contact) -> Relaxation:
        """Relaxation lengths; at least 1/16 of the radius, so that the lag does not vanish."""
        k, i = sections(self), inputs(self, at)
        turning = spin(self, k, i, at.omega)
        K_y = cornering_stiffness(k, i, i.g, turning.zeta3)
        lag = relaxed(self, i, slip_stiffness(k, i), K_y)
        least = SHORTEST * self.dimension.UNLOADED_RADIUS
        return Relaxation(maximum(lag.sigma_x, least), maximum(lag.sigma_y, least))

    def radii(self, at: Contact) -> Radii:
        """Radii at the load, spin and pressure of this contact, softened by its forces."""
        f = _steady(self, at)
        return radii(self, f.i, at.omega, f.F_x, f.F_y).radii

    def effective_radius(self, at: Contact) -> m:
        """Rolling radius, which unlike the loaded one does not depend on the forces."""
        i = inputs(self, at)
        return effective_radius(self, i.F_unlimited, at.omega, i.dpi)


_MF6: dict[str, type] = {
    "model": r.Model,
    "dimension": r.Dimension,
    "operating": r.Operating,
    "vertical": r.Vertical61,
    "structural": r.Structural,
    "contact_patch": r.ContactPatch,
    "ranges": r.Ranges,
    "scaling": r.Scaling,
    "longitudinal": c.Longitudinal,
    "overturning": c.Overturning,
    "lateral": c.Lateral,
    "rolling": c.Rolling,
    "aligning": c.Aligning,
}
_SECTIONS: dict[int, dict[str, type]] = {
    52: {
        **_MF6,
        "operating": records.Operating52,
        "vertical": records.Vertical52,
        "structural": records.NoStructural,
        "contact_patch": records.NoContactPatch,
        "scaling": records.Scaling52,
        "longitudinal": records.Longitudinal52,
        "overturning": records.Overturning52,
        "lateral": records.Lateral52,
        "rolling": records.Rolling52,
        "aligning": records.Aligning52,
    },
    61: _MF6,
    62: {**_MF6, "vertical": r.Vertical62},
}
_CHOICES: dict[str, tuple[type, ...]] = {
    "turn_slip": (c.NoTurnSlip, c.TurnSlip),
    "limits": (NoLimits, UsualLimits),
    "angles": (PlainAngles, BookAngles),
    "combination": (Combined, Uncombined, FrictionEllipse),
}
"""Allowed classes of the records that choose equations; the first is the default."""
_PREFIX = "MagicFormula"


def magic_formula_type(
    version: int,
    limits: type = NoLimits,
    angles: type = PlainAngles,
    combination: type = Combined,
    turn_slip: type = c.NoTurnSlip,
) -> Any:
    """The one record class of Magic Formula tyres of a version (52, 61 or 62) and these choices.

    Each choice is the class of a record: `limits` is `NoLimits` or `UsualLimits`, `angles`
    `PlainAngles` or `BookAngles`, `combination` `Combined`, `Uncombined` or `FrictionEllipse`,
    `turn_slip` `NoTurnSlip` or, for 61 and 62, `TurnSlip`.
    """
    if version not in _SECTIONS:
        raise InvalidValue(f"version = {version!r} must be one of 52, 61, 62")
    chosen = {
        "turn_slip": turn_slip,
        "limits": limits,
        "angles": angles,
        "combination": combination,
    }
    for name, kind in chosen.items():
        if kind not in _CHOICES[name]:
            allowed = ", ".join(k.__name__ for k in _CHOICES[name])
            raise InvalidValue(f"{name} = {kind!r} must be one of {allowed}")
    if version == 52 and turn_slip is c.TurnSlip:
        raise InvalidValue("turn_slip = TurnSlip must be NoTurnSlip for version 52")
    return _class(version, tuple(chosen.values()))


@cache
def _class(version: int, chosen: tuple[type, ...]) -> Any:
    sections = {**_SECTIONS[version], **dict(zip(_CHOICES, chosen, strict=True))}
    order = list(sections)
    # Sections before the last one that has a leaf without a default take none either.
    optional = order[order.index("vertical") + 1 :]
    defaults = [sections[name]() for name in optional]
    fields: Any = namedtuple("_Sections", order, defaults=defaults)  # pyright: ignore[reportUntypedNamedTuple]
    name = _name(version, chosen)
    body = {
        "__slots__": (),
        "__module__": __name__,
        "__qualname__": name,
        "__field_docs__": {},
        "__doc__": f"A tyre by the Magic Formula {version // 10}.{version % 10}.",
    }
    kind: Any = type(name, (MagicFormulaTyre, fields), body)
    kind.__annotations__ = sections
    record.document(kind)
    return kind


def _name(version: int, chosen: tuple[type, ...]) -> str:
    parts = zip(_CHOICES.values(), chosen, strict=True)
    return f"{_PREFIX}{version}" + "".join(k.__name__ for all_, k in parts if k is not all_[0])


def __getattr__(name: str) -> Any:
    """A class by its name, so that records and classes can be pickled."""
    if name.startswith(_PREFIX):
        for version in _SECTIONS:
            for chosen in _combinations():
                if _name(version, chosen) == name:
                    return _class(version, chosen)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _combinations() -> tuple[tuple[type, ...], ...]:
    return tuple(product(*_CHOICES.values()))


MagicFormula52: Any = magic_formula_type(52)
"""A tyre by the Magic Formula 5.2, also called PAC2002."""
MagicFormula61: Any = magic_formula_type(61)
"""A tyre by the Magic Formula 6.1."""
MagicFormula62: Any = magic_formula_type(62)
"""A tyre by the Magic Formula 6.2."""
