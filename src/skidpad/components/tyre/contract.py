"""What a tyre is to a vehicle: forces and moments of the road on a wheel from how it touches it.

Axes are those of the wheel at the middle of the contact patch (ISO 8855 wheel axes, TYDEX W):
x forward in the wheel plane, y to the left, z up. Forces and moments act on the wheel. Slip angle,
camber and turn slip have TYDEX signs: a positive slip angle (the patch drifts to the left) gives a
negative lateral force, and so does a positive camber (the top of the wheel leans to the right).

A tyre is a record with the methods of `Tyre`; which equations it has is its class, so exchanging a
tyre exchanges equations, and changing one of its numbers compiles nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

from ...brief import shortened
from ...errors import InvalidValue
from ...units import N, N_m, N_rad, Nm, Pa, m, m_s, non_negative, one, per_m, rad, rad_s

__all__ = [
    "Contact",
    "Peaks",
    "Radii",
    "Relaxation",
    "SlipStiffness",
    "Tyre",
    "TyreForces",
    "effective_radius",
    "mounted",
    "record_of",
]


class Contact(NamedTuple):
    """How a wheel touches the road and moves over it, in the axes of the wheel."""

    F_z: N
    """Load, positive when pressed on the road; a negative one counts as 0."""
    kappa: one = 0.0
    """Longitudinal slip (omega R_e - v_x) / |v_x|: -1 locked, positive drives."""
    alpha: rad = 0.0
    """Slip angle, positive when the patch drifts to the left: the force is then to the right."""
    gamma: rad = 0.0
    """Camber, positive when the top of the wheel leans to the right."""
    phi_t: per_m = 0.0
    """Turn slip: less the yaw rate of the wheel over its speed."""
    v_x: m_s = 0.0
    """Velocity of the contact patch along the wheel."""
    v_y: m_s = 0.0
    """Velocity of the contact patch to the left. Steady slip is `v_y = |v_x| tan(alpha)`; behind
    a relaxation length `alpha` follows later."""
    omega: rad_s = 0.0
    """Spin of the wheel, positive when it rolls forward."""
    p: Pa = 0.0
    """Inflation pressure; a tyre's own is its `pressure`."""
    mu: Annotated[one, non_negative] = 1.0
    """Grip of the road over that on which the tyre was measured. It scales the peak of the forces
    and leaves the stiffness at small slip alone."""


class TyreForces(NamedTuple):
    """What the road does to a wheel, at the contact patch, in the axes of the wheel."""

    F_x: N
    """Force along the wheel, positive forward."""
    F_y: N
    """Force across the wheel, positive to the left."""
    M_x: Nm
    """Overturning moment."""
    M_y: Nm
    """Rolling resistance moment; negative when it rolls forward."""
    M_z: Nm
    """Aligning moment, positive to the left."""


class SlipStiffness(NamedTuple):
    """Slope of the forces at the slip where they vanish; both are at least 0."""

    K_x: N
    """Longitudinal force over longitudinal slip."""
    K_y: N_rad
    """Cornering stiffness: lateral force over slip angle, without its sign."""


class Peaks(NamedTuple):
    """Largest force over load of pure slip; both are at least 0."""

    mu_x: one
    mu_y: one


class Relaxation(NamedTuple):
    """Distance that a wheel rolls until 63 % of a small step in slip has become force."""

    sigma_x: m
    sigma_y: m


class Radii(NamedTuple):
    """Radii of a loaded wheel and the stiffness it stands on."""

    free: m
    """Radius without load at the present spin."""
    loaded: m
    """Height of the wheel centre over the road."""
    effective: m
    """Rolling radius: speed over spin of a wheel that rolls free."""
    C_z: N_m
    """Load over deflection."""


@runtime_checkable
class Tyre(Protocol):
    """What every tyre record answers, as pure functions of its leaves and of a contact.

    Everything is smooth through zero slip, zero speed and zero load, with finite gradients.
    """

    @property
    def measured_on(self) -> one:
        """Side of the car for which `forces` holds: 1 left, -1 right."""
        ...

    @property
    def pressure(self) -> Pa:
        """Inflation pressure of the tyre where nobody says otherwise; 0 if it has no say."""
        ...

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments of the tyre on the side on which it was measured."""
        ...

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slope of the pure forces at their zero, under this load, camber and pressure."""
        ...

    def peaks(self, at: Contact) -> Peaks:
        """Largest friction under this load, camber, pressure and grip."""
        ...

    def relaxation(self, at: Contact) -> Relaxation:
        """Relaxation lengths under this load, camber and pressure; above 0 at any load."""
        ...

    def radii(self, at: Contact) -> Radii:
        """Radii at the load, spin and pressure of this contact."""
        ...


def effective_radius(tyre: Any, at: Contact) -> m:
    """Rolling radius of a contact: `radii(at).effective`, or what a tyre answers itself whose other
    radii take much more to compute."""
    own = getattr(tyre, "effective_radius", None)
    return tyre.radii(at).effective if own is None else own(at)


def mounted(tyre: Any, at: Contact, side: one) -> TyreForces:
    """Forces of a tyre on one side of a car: 1 left, -1 right.

    On the side on which it was not measured a tyre is its own mirror image.
    """
    s = side * tyre.measured_on
    here = at._replace(alpha=s * at.alpha, gamma=s * at.gamma, phi_t=s * at.phi_t, v_y=s * at.v_y)
    f = tyre.forces(here)
    return TyreForces(f.F_x, s * f.F_y, s * f.M_x, f.M_y, s * f.M_z)


def record_of(tyre: Any) -> Any:
    """The tyre record: `tyre` itself, or what it holds, as a tyre read from a file does."""
    held = getattr(tyre, "record", tyre)
    if not isinstance(held, Tyre) or not hasattr(held, "_fields"):
        raise InvalidValue(
            "tyre must be a tyre record, or a tyre that was read from a file, got "
            + shortened(repr(tyre), 80)
        )
    return held
