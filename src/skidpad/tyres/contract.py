"""Interface between tyre and vehicle: forces and moments of the road on a wheel, from its contact.

Axes are those of the wheel at the middle of the contact patch (ISO 8855 wheel axes, TYDEX W):
x forward in the wheel plane, y to the left, z up. Forces and moments act on the wheel. Slip angle,
camber and turn slip have TYDEX signs: a positive slip angle (the patch drifts to the left) gives a
negative lateral force, and so does a positive camber (the top of the wheel leans to the right).

A tyre is a record with the methods of `Tyre`. Its class defines the equations: a tyre of another
class changes the equations, whereas changing a value of the record recompiles nothing. A set of
tyres is a record of tyre records, whose class defines the equations of each wheel: `OneTyre(tyre)`,
`AxleTyres(front, rear)` or `WheelTyres(fl, fr, rl, rr)`.

`Carcass` has what simple tyres need in addition to friction: radii, relaxation lengths, rolling
resistance. `use` computes how drive and brake use the friction of a tyre whose wheel spin is not a
state.

**Low speed.** Tyre forces as functions of slip are stiff at walking pace and undefined at rest.
Below `v_kin` a car moves kinematically, in the direction of its wheels; above `v_dyn` it moves by
its tyre forces; in between the two rates are blended. Above `v_dyn` the result equals the dynamic
rate bit for bit.

**First-order slip.** The tyre force lags behind the motion of the wheel by a relaxation length. A
wheel that starts to slip deflects its tyre first, so the slip that generates force is a state,
`SlipState`. At rest the deflected tyre is a spring of stiffness K / sigma, which holds a braked car
on a slope. A vehicle has one such record per wheel among its states, or `Steady`, which is empty:
then slip is the instantaneous slip. The class of the record selects the equations; the calls are
the same:

    v_sx = v_x - omega * radii.effective          # sliding speed of the patch, forward positive
    v_sy = v_y                                    # to the left positive
    stiffness = tyre.stiffness(at)
    full = full_slip(stiffness, tyre.peaks(at), at.F_z, p)
    relaxation = tyre.relaxation(at)
    rates = slip_rates(slip, v_sx, v_sy, v_x, relaxation, full, p)
    acting = slip_of_forces(slip, v_sx, v_sy, v_x, stiffness, relaxation, at.F_z, p)
    tyre.forces(at._replace(kappa=acting.kappa, alpha=atan(acting.tan_alpha)))

with `p` a `LowSpeed`. Stiffness, peaks and relaxation lengths do not depend on slip, so `at` needs
no slip for them.

Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 7.2 (relaxation) and section 8.6 (damping and
the end of winding-up near standstill). His switches are smooth blends here.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from .. import units as si
from ..core import record
from ..core.files import shortened
from ..core.record import made_once
from ..errors import InvalidValue
from ..ops import abs, clip, maximum, smooth_step, sqrt, where


class Blend(Protocol):
    """Parameters of the blending."""

    @property
    def v_kin(self) -> si.m_s:
        """Speed up to which the motion is purely kinematic."""
        ...

    @property
    def v_dyn(self) -> si.m_s:
        """Speed from which the motion is purely dynamic."""
        ...

    @property
    def t_kin(self) -> si.s:
        """Time constant with which a slow car aligns with its wheels."""
        ...


def dynamic_share(v: si.m_s, p: Blend) -> si.one:
    """Weight of the dynamic rate: 0 up to v_kin, 1 from v_dyn on, forwards and backwards."""
    # By the squared speed, which unlike the speed is smooth at rest.
    return smooth_step(v * v, p.v_kin * p.v_kin, p.v_dyn * p.v_dyn)


def mixed(share: si.one, dynamic: Any, kinematic: Any) -> Any:
    """Blend of both rates; exactly `dynamic` if the share is 1."""
    return share * dynamic + (1.0 - share) * kinematic


def led(value: Any, goal: Any, goal_rate: Any, t: si.s) -> Any:
    """Rate of a value that follows a moving goal and converges to it with time constant t.

    Integrating the goal's rate alone would preserve any initial error.
    """
    return goal_rate + (goal - value) * (1.0 / t)


def held_sign(omega: si.rad_s, omega_lock: si.rad_s) -> si.one:
    """Sign of a spin, smooth through zero: exactly ±1 beyond ±`omega_lock`.

    A brake resists the rotation of its wheel and holds it at rest; the odd quintic t (15 - 10 t² +
    3 t⁴) / 8 with t = omega / omega_lock replaces the jump.
    """
    t = clip(omega * (1.0 / omega_lock), -1.0, 1.0)
    t2 = t * t
    return t * (0.125 * (15.0 - t2 * (10.0 - 3.0 * t2)))


def above_zero(x: Any, width: Any) -> Any:
    """|x| as a safe divisor: exactly |x| beyond ±`width`, and never below 3/8 of `width`.

    Inside, width (3 + 6 t² - t⁴) / 8 with t = x / width; twice continuously differentiable at the
    seam.
    """
    t2 = x * x / (width * width)
    return where(t2 < 1.0, width * (0.125 * (3.0 + t2 * (6.0 - t2))), abs(x))


class Contact(NamedTuple):
    """Contact of a wheel with the road: load, slip, motion and grip, in the axes of the wheel."""

    F_z: si.N
    """Load, positive when pressed on the road; a negative load counts as 0."""
    kappa: si.one = 0.0
    """Longitudinal slip (omega R_e - v_x) / |v_x|: -1 if locked, positive when driving."""
    alpha: si.rad = 0.0
    """Slip angle, positive when the patch drifts to the left: the force is then to the right."""
    gamma: si.rad = 0.0
    """Camber, positive when the top of the wheel leans to the right."""
    phi_t: si.per_m = 0.0
    """Turn slip: minus the yaw rate of the wheel over its speed."""
    v_x: si.m_s = 0.0
    """Velocity of the contact patch along the wheel, positive forward."""
    v_y: si.m_s = 0.0
    """Velocity of the contact patch to the left.

    In steady state `v_y = |v_x| tan(alpha)`; with a relaxation length `alpha` lags behind.
    """
    omega: si.rad_s = 0.0
    """Spin of the wheel, positive when it rolls forward."""
    p: si.Pa = 0.0
    """Inflation pressure; the tyre's own value is its `pressure`."""
    mu: Annotated[si.one, si.non_negative] = 1.0
    """Friction of the road relative to the road on which the tyre was measured.

    It scales the peak of the forces and does not affect the stiffness at small slip.
    """


class TyreForces(NamedTuple):
    """Forces and moments of the road on a wheel, at the contact patch, in the axes of the wheel."""

    F_x: si.N
    """Force along the wheel, positive forward."""
    F_y: si.N
    """Force across the wheel, positive to the left."""
    M_x: si.Nm
    """Overturning moment about the x axis."""
    M_y: si.Nm
    """Rolling resistance moment about the y axis; negative when the wheel rolls forward."""
    M_z: si.Nm
    """Aligning moment, positive to the left."""


class SlipStiffness(NamedTuple):
    """Slopes of the pure-slip forces at zero force; both are at least 0."""

    K_x: si.N
    """Slip stiffness: longitudinal force over longitudinal slip."""
    K_y: si.N_rad
    """Cornering stiffness: lateral force over slip angle, as an absolute value."""


class Peaks(NamedTuple):
    """Friction coefficients: largest force over load in pure slip; both are at least 0."""

    mu_x: si.one
    mu_y: si.one


class Relaxation(NamedTuple):
    """Relaxation lengths: distance rolled until 63 % of a small step in slip has become force."""

    sigma_x: si.m
    sigma_y: si.m


class Radii(NamedTuple):
    """Radii and vertical stiffness of a loaded wheel."""

    free: si.m
    """Radius without load at the current spin."""
    loaded: si.m
    """Height of the wheel centre above the road."""
    effective: si.m
    """Effective rolling radius: speed over spin of a freely rolling wheel."""
    C_z: si.N_m
    """Vertical stiffness: load over deflection."""


@runtime_checkable
class Tyre(Protocol):
    """Interface of every tyre record: pure functions of its leaves and of a contact.

    All results are smooth at zero slip, zero speed and zero load, with finite gradients.
    """

    @property
    def measured_on(self) -> si.one:
        """Side of the car for which `forces` holds: 1 left, -1 right."""
        ...

    @property
    def pressure(self) -> si.Pa:
        """Default inflation pressure of the tyre; 0 if the model ignores pressure."""
        ...

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments, for the side on which the tyre was measured."""
        ...

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slopes of the pure-slip forces at zero force, under this load, camber and pressure."""
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


def effective_radius(tyre: Any, at: Contact) -> si.m:
    """Effective rolling radius at a contact, in m.

    The result of `effective_radius(at)` if the tyre has this method, which saves computing its
    other radii; else `radii(at).effective`.
    """
    own = getattr(tyre, "effective_radius", None)
    return tyre.radii(at).effective if own is None else own(at)


def mounted(tyre: Any, at: Contact, side: si.one) -> TyreForces:
    """Forces of a tyre mounted on one side of the car: 1 left, -1 right.

    On the side opposite to the one on which it was measured, a tyre behaves as its mirror image.
    """
    s = side * tyre.measured_on
    here = at._replace(alpha=s * at.alpha, gamma=s * at.gamma, phi_t=s * at.phi_t, v_y=s * at.v_y)
    f = tyre.forces(here)
    return TyreForces(f.F_x, s * f.F_y, s * f.M_x, f.M_y, s * f.M_z)


def record_of(tyre: Any) -> Any:
    """The tyre record: `tyre` itself, or the record inside a `Tyre` that was read from a file."""
    held = getattr(tyre, "record", tyre)
    if not isinstance(held, Tyre) or not hasattr(held, "_fields"):
        raise InvalidValue(
            "tyre must be a tyre record, or a tyre that was read from a file, got "
            + shortened(repr(tyre), 80)
        )
    return held


class Carcass(NamedTuple):
    """Carcass of a simple tyre: radius, stiffness, relaxation lengths, rolling resistance."""

    radius: Annotated[si.m, si.positive] = 0.3
    """Radius of the wheel without load."""
    C_z: Annotated[si.N_m, si.positive] = 2e5
    """Vertical stiffness: load over deflection."""
    sigma_x: Annotated[si.m, si.positive] = 0.2
    """Relaxation length along the wheel."""
    sigma_y: Annotated[si.m, si.positive] = 0.4
    """Relaxation length across the wheel."""
    rolling: Annotated[si.one, si.non_negative] = 0.01
    """Rolling resistance coefficient: resistance over load."""
    v_rolling: Annotated[si.m_s, si.positive] = 0.1
    """Tread speed above which rolling resistance is complete; below, it fades to 0 at rest."""

    def relaxation(self) -> Relaxation:
        """Relaxation lengths, the same under any load."""
        return Relaxation(self.sigma_x, self.sigma_y)

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact, independent of the spin.

        The effective rolling radius is the free radius minus a third of the deflection, as for a
        belt that bends but is hardly compressed.
        """
        deflection = maximum(at.F_z, 0.0) / self.C_z
        return Radii(
            self.radius, self.radius - deflection, self.radius - deflection * (1.0 / 3.0), self.C_z
        )

    def resistance(self, at: Contact) -> si.Nm:
        """Rolling resistance moment, which always opposes the spin."""
        load = maximum(at.F_z, 0.0)
        return (
            -self.rolling * load * self.radius * held_sign(at.omega * self.radius, self.v_rolling)
        )


class Use(NamedTuple):
    """Use of a tyre's friction limit by drive or brake, in shares of that limit.

    The longitudinal force is limit * (firm + sliding). While the wheel grips, the force is `firm`
    and set by the motor; when it spins or locks, it is `sliding` and set by the load. At a slightly
    different load the force is firm * limit + sliding * (limit at that load), to first order.
    """

    firm: si.one
    sliding: si.one
    across: si.one
    """Share left for cornering: `sqrt(1 - (firm + sliding)²)`, above 0."""


def use(demand: si.N, limit: si.N, most: si.one, floor: si.N) -> Use:
    """Shares of the friction limit `limit` taken by a demanded longitudinal force.

    `most`, below 1, is the largest share. The share follows r = demand / limit up to about 0.7 and
    saturates at `most`: t - t⁹ / (9 t₁⁸) with t = r clipped to ±t₁ and t₁ = 9/8 most, where its
    slope is zero. This takes one division and has no corner; `most` < 1 keeps the slope of `across`
    finite. `floor` replaces a smaller limit, as of a wheel in the air.
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
    2: ("AxleTyres", "A tyre for each axle.",
        {"front": "Of the front wheels.", "rear": "Of the rear wheels."}),
    4: ("WheelTyres", "A tyre for each wheel.",
        {"fl": "Front left.", "fr": "Front right.", "rl": "Rear left.", "rr": "Rear right."}),
}  # fmt: skip
"""Class name, docstring and field docstrings of a tyre set, by the number of tyres."""


@made_once
def tyre_set_type(*kinds: type) -> Any:
    """Record class of a set of one, two (front, rear) or four (fl, fr, rl, rr) tyre classes."""
    if len(kinds) not in _FIELDS:
        raise InvalidValue(f"a set has 1, 2 or 4 tyres, got {len(kinds)}")
    name, doc, docs = _FIELDS[len(kinds)]
    return record.define(name, dict(zip(docs, kinds, strict=True)), docs=docs, doc=doc)


def tyre_set(*tyres: Any) -> Any:
    """Set of one, two or four tyres, each a record or a tyre read from a file."""
    records = [record_of(tyre) for tyre in tyres]
    return tyre_set_type(*map(type, records))(*records)


def each_tyre(tyres: Any) -> tuple[Any, Any, Any, Any]:
    """Tyres of a set in the order fl, fr, rl, rr."""
    if len(tyres) == 1:
        return (tyres[0],) * 4
    if len(tyres) == 2:
        front, rear = tyres
        return front, front, rear, rear
    fl, fr, rl, rr = tyres
    return fl, fr, rl, rr


class SlipState(NamedTuple):
    """Slip state of a tyre, which lags behind the slip of its wheel by the relaxation lengths."""

    kappa: si.one = 0.0
    """Longitudinal slip, positive when driving; times sigma_x it is the tyre's deflection."""
    tan_alpha: si.one = 0.0
    """Tangent of the slip angle, positive when the patch drifts to the left."""


class Steady(NamedTuple):
    """Slip without states. Near standstill it is finite, but cannot hold a car on a slope."""


Slip = TypeVar("Slip", SlipState, Steady)


class LowSpeed(NamedTuple):
    """Parameters that bound first-order slip and its rates, near standstill and at very low load.

    Near standstill the slip of a wheel is unbounded.
    """

    v_low: Annotated[si.m_s, si.positive] = 2.0
    """Speed along the wheel from which the slip of the forces is the state alone."""
    v_round: Annotated[si.m_s, si.positive] = 0.01
    """Speed below which |v_x| is rounded, so that rates are smooth when a wheel reverses."""
    wound: Annotated[si.one, si.positive] = 0.5
    """Share of the full slip up to which a slow tyre winds up; 0.5 holds 7/8 of the friction of a
    brush tyre.

    The remaining force of a sliding wheel comes from the damping, which stores no energy that
    could push a car back after it stops.
    """
    damping: Annotated[si.one, si.non_negative] = 0.3
    """Damping ratio at standstill of the spring of stiffness K / sigma, for the mass on the
    wheel.

    A freely turning wheel is much lighter, and stiff with this damping: beyond 0.4, RK4 needs
    steps below 5 ms on a typical car.
    """
    rate_max: Annotated[si.per_s, si.positive] = 400.0
    """Largest rate at which slip relaxes.

    The relaxation length of a wheel that loses its load goes to 0, so the rate |v_x| / sigma is
    unbounded, but there is no force left that could lag. Up to 3/8 of `rate_max` rates are
    exactly those of the tyre. Explicit steps should not exceed 2 / rate_max, which
    `integrator="auto"` does not check: it considers wheels that carry load.
    """
    F_floor: Annotated[si.N, si.positive] = 1.0
    """Load, and stiffness per slip, below which a tyre counts as off the road."""
    K_floor: Annotated[si.N, si.positive] = 1e3
    """Stiffness per slip below which the damping fades, as for a wheel in the air."""
    g: Annotated[si.m_s2, si.positive] = 9.81
    """Gravitational acceleration: load over it is the mass that a wheel carries."""


def full_slip(
    stiffness: SlipStiffness, peaks: Peaks, F_z: si.N, p: LowSpeed | None = None
) -> SlipState:
    """Slip in each direction at which most tyres reach their largest force.

    3 mu F_z / K, where a brush tyre slides completely; equal to Pacejka's 3 / (B C).
    """
    load, floor = maximum(F_z, 0.0), (p or LowSpeed()).F_floor
    return SlipState(
        (3.0 * peaks.mu_x * load + floor) / (stiffness.K_x + floor),
        (3.0 * peaks.mu_y * load + floor) / (stiffness.K_y + floor),
    )


def slip_rates(
    state: Slip,
    v_sx: si.m_s,
    v_sy: si.m_s,
    v_x: si.m_s,
    relaxation: Relaxation,
    full: SlipState,
    p: LowSpeed,
) -> Slip:
    """Time derivative of the slip, in the class of `state`.

    `v_sx`, `v_sy` is the sliding velocity of the patch over the road and `v_x` the velocity along
    the wheel. Slip relaxes over the distance in which the tread is renewed: the distance rolled,
    or, for a slow wheel whose slip exceeds `p.wound` times `full` (as a norm of both), the distance
    slid over that limit. So a wheel in constant motion reaches its steady slip, or the limit if it
    is slow.
    """
    if isinstance(state, Steady):
        return Steady()
    renewed = _renewal(v_sx, v_sy, v_x, full, p)
    # above_zero(x, w) is 3/8 w at least: no rate is beyond rate_max.
    shortest = (renewed + p.v_round) * (8.0 / 3.0) / p.rate_max
    sigma_x = above_zero(relaxation.sigma_x, shortest)
    sigma_y = above_zero(relaxation.sigma_y, shortest)
    return SlipState(
        -(v_sx + renewed * state.kappa) / sigma_x, (v_sy - renewed * state.tan_alpha) / sigma_y
    )


def _renewal(v_sx: si.m_s, v_sy: si.m_s, v_x: si.m_s, full: SlipState, p: LowSpeed) -> si.m_s:
    """Speed at which the tread is renewed: 0 at rest, where the tyre is a spring."""
    rolling = v_x * held_sign(v_x, p.v_round)
    along, across = v_sx / (p.wound * full.kappa), v_sy / (p.wound * full.tan_alpha)
    squared, least = across * across + along * along, p.v_round * p.v_round
    sliding = sqrt(squared + least)
    slow = 1.0 - smooth_step(v_x * v_x, 0.25 * p.v_low * p.v_low, p.v_low * p.v_low)
    share = smooth_step(squared / (squared + rolling * rolling + least), 0.4, 0.6)
    return rolling + slow * share * (sliding - rolling)


def slip_of_forces(
    state: Slip,
    v_sx: si.m_s,
    v_sy: si.m_s,
    v_x: si.m_s,
    stiffness: SlipStiffness,
    relaxation: Relaxation,
    F_z: si.N,
    p: LowSpeed,
) -> SlipState:
    """Slip used in the forces: the state plus, near standstill, the damping of its spring.

    The damping is a slip proportional to the sliding speed, so no force exceeds the friction. It is
    complete at rest and zero from `v_low` on. For `Steady`, the result is `steady_slip`.
    """
    if isinstance(state, Steady):
        return steady_slip(v_sx, v_sy, v_x, p)
    ratio = (2.0 * p.damping) * (1.0 - smooth_step(v_x * v_x, 0.0, p.v_low * p.v_low))
    mass = (maximum(F_z, 0.0) + p.F_floor) / p.g
    k_x = ratio * sqrt((stiffness.K_x + p.F_floor) / relaxation.sigma_x * mass)
    k_y = ratio * sqrt((stiffness.K_y + p.F_floor) / relaxation.sigma_y * mass)
    return SlipState(
        state.kappa - k_x * v_sx / _above_floor(stiffness.K_x, p.K_floor),
        state.tan_alpha + k_y * v_sy / _above_floor(stiffness.K_y, p.K_floor),
    )


def steady_slip(v_sx: si.m_s, v_sy: si.m_s, v_x: si.m_s, p: LowSpeed) -> SlipState:
    """Instantaneous slip: sliding speed over |v_x|, where the divisor is at least 3/8 of
    `v_low`."""
    speed = above_zero(v_x, p.v_low)
    return SlipState(-v_sx / speed, v_sy / speed)


def _above_floor(K: si.N, floor: si.N) -> si.N:
    return sqrt(K * K + floor * floor)
