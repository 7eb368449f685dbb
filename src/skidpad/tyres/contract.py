"""What a tyre is to a vehicle: forces and moments of the road on a wheel, from its contact.

Axes are those of the wheel at the middle of the contact patch (ISO 8855 wheel axes, TYDEX W):
x forward in the wheel plane, y to the left, z up. Forces and moments act on the wheel. Slip angle,
camber and turn slip have TYDEX signs: a positive slip angle (the patch drifts to the left) gives a
negative lateral force, and so does a positive camber (the top of the wheel leans to the right).

A tyre is a record with the methods of `Tyre`; its class chooses the equations, so exchanging a tyre
exchanges equations, and changing one of its numbers compiles nothing. A set of tyres is a record of
tyre records, whose class says which equations each wheel has: `OneTyre(tyre)`,
`AxleTyres(front, rear)` or `WheelTyres(fl, fr, rl, rr)`.

`Carcass` has what simple tyres need in addition to friction: radii, relaxation lengths, rolling
resistance. `use` says how drive and brake use the friction of a tyre whose wheel spin is no state.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

from ..core import record
from ..core.files import shortened
from ..core.record import made_once
from ..errors import InvalidValue
from ..ops import clip, maximum, sqrt
from ..units import N, N_m, N_rad, Nm, Pa, m, m_s, non_negative, one, per_m, positive, rad, rad_s
from .low_speed import held_sign


class Contact(NamedTuple):
    """Contact of a wheel with the road: load, slip, motion and grip, in the axes of the wheel."""

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
    """Forces and moments of the road on a wheel, at the contact patch, in the axes of the wheel."""

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
    """Contract of every tyre record: pure functions of its leaves and of a contact.

    Everything is smooth through zero slip, zero speed and zero load, with finite gradients.
    """

    @property
    def measured_on(self) -> one:
        """Side of the car for which `forces` holds: 1 left, -1 right."""
        ...

    @property
    def pressure(self) -> Pa:
        """Default inflation pressure of the tyre; 0 if the model ignores pressure."""
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
    """Rolling radius of a contact: `radii(at).effective`, or the `effective_radius(at)` of a tyre
    whose other radii take much longer to compute."""
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
    """The tyre record: `tyre` itself, or the one that a tyre read from a file holds."""
    held = getattr(tyre, "record", tyre)
    if not isinstance(held, Tyre) or not hasattr(held, "_fields"):
        raise InvalidValue(
            "tyre must be a tyre record, or a tyre that was read from a file, got "
            + shortened(repr(tyre), 80)
        )
    return held


class Carcass(NamedTuple):
    """The tyre as a spring on which its wheel stands."""

    radius: Annotated[m, positive] = 0.3
    """Radius of the wheel without load."""
    C_z: Annotated[N_m, positive] = 2e5
    """Load over deflection."""
    sigma_x: Annotated[m, positive] = 0.2
    """Relaxation length along the wheel."""
    sigma_y: Annotated[m, positive] = 0.4
    """Relaxation length across the wheel."""
    rolling: Annotated[one, non_negative] = 0.01
    """Rolling resistance over load."""
    v_rolling: Annotated[m_s, positive] = 0.1
    """Speed of the tread from which rolling resistance is whole; below it fades to 0 at rest."""

    def relaxation(self) -> Relaxation:
        """Relaxation lengths, the same under any load."""
        return Relaxation(self.sigma_x, self.sigma_y)

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact, whatever the spin.

        A third of the deflection is missing from the rolling radius, as of a belt that is bent and
        hardly squeezed.
        """
        deflection = maximum(at.F_z, 0.0) / self.C_z
        return Radii(
            self.radius, self.radius - deflection, self.radius - deflection * (1.0 / 3.0), self.C_z
        )

    def resistance(self, at: Contact) -> Nm:
        """Moment of the rolling resistance; it always opposes the spin."""
        load = maximum(at.F_z, 0.0)
        return (
            -self.rolling * load * self.radius * held_sign(at.omega * self.radius, self.v_rolling)
        )


class Use(NamedTuple):
    """How drive or brake uses the friction limit of a tyre, all as shares of that limit.

    The longitudinal force is limit * (firm + sliding). While the wheel grips, the force is `firm`
    and set by the motor; when it spins or locks, it is `sliding` and set by the load. At a slightly
    different load the force is firm * limit + sliding * (limit at that load), to first order.
    """

    firm: one
    sliding: one
    across: one
    """What is left for cornering: `sqrt(1 - (firm + sliding)²)`, above 0."""


def use(demand: N, limit: N, most: one, floor: N) -> Use:
    """Shares of the friction limit `limit` taken by a demanded longitudinal force.

    `most`, below 1, is the largest share. The share follows r = demand / limit up to about 0.7 and
    saturates at `most`: t - t⁹ / (9 t₁⁸) with t = r clipped to ±t₁ and t₁ = 9/8 most, where its
    slope is zero. One division, no corner; `most` < 1 keeps the slope of `across` finite. `floor`
    stands in for a limit below it, as of a wheel in the air.
    """
    end = most * (9.0 / 8.0)
    by_end = (8.0 / 9.0) / most
    t = clip(demand / maximum(limit, floor), -end, end)
    r2 = (t * by_end) * (t * by_end)
    r4 = r2 * r2
    bent = t * (r4 * r4)
    firm, sliding = t - bent, bent * (8.0 / 9.0)
    along = firm + sliding
    return Use(firm, sliding, sqrt(1.0 - along * along))


_FIELDS: dict[int, tuple[str, str, dict[str, str]]] = {
    1: ("OneTyre", "The same tyre on all wheels.", {"tyre": "Of all wheels."}),
    2: (
        "AxleTyres",
        "A tyre for each axle.",
        {"front": "Of the front wheels.", "rear": "Of the rear wheels."},
    ),
    4: (
        "WheelTyres",
        "A tyre for each wheel.",
        {"fl": "Front left.", "fr": "Front right.", "rl": "Rear left.", "rr": "Rear right."},
    ),
}
"""Class, what it is, its fields and their meaning, by the number of tyres."""


@made_once
def tyre_set_type(*kinds: type) -> Any:
    """The record class of a set of one, two (front, rear) or four (fl, fr, rl, rr) tyre classes."""
    if len(kinds) not in _FIELDS:
        raise InvalidValue(f"a set has 1, 2 or 4 tyres, got {len(kinds)}")
    name, doc, docs = _FIELDS[len(kinds)]
    return record.define(name, dict(zip(docs, kinds, strict=True)), docs=docs, doc=doc)


def tyre_set(*tyres: Any) -> Any:
    """The set of one, two or four tyres: records, or tyres that were read from a file."""
    records = [record_of(tyre) for tyre in tyres]
    return tyre_set_type(*map(type, records))(*records)


def each_tyre(tyres: Any) -> tuple[Any, Any, Any, Any]:
    """The tyres of a set in the order fl, fr, rl, rr."""
    if len(tyres) == 1:
        return (tyres[0],) * 4
    if len(tyres) == 2:
        front, rear = tyres
        return front, front, rear, rear
    fl, fr, rl, rr = tyres
    return fl, fr, rl, rr
