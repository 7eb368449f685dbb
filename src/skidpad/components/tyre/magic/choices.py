"""Records whose type chooses equations: limits, angles, how slips combine.

None has a number of a tyre property file. What they decide is written as their methods, so that an
equation exists once and no value is ever asked in Python which way to go.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ....ops import abs as absolute
from ....ops import clip, cos, maximum, minimum, sin, where
from ....units import N, Pa, m_s, one, per_m, positive, rad
from .curves import sign1
from .records import Model, Ranges

__all__ = [
    "BookAngles",
    "Combined",
    "FrictionEllipse",
    "NoLimits",
    "PlainAngles",
    "Slip",
    "Uncombined",
    "UsualLimits",
    "low_speed",
]

PI = 3.141592653589793


class Slip(NamedTuple):
    """A contact as the equations take it, after the limits."""

    F_z: N
    F_least: N
    """Load in the aligning moment and for the deflection."""
    kappa: one
    alpha: rad
    gamma: rad
    phi_t: per_m
    direction: one
    """1 for a wheel that moves forward, -1 backwards; how it gets from one to the other is a
    matter of the limits."""
    awake: one
    """Share of the shifts: 0 at a standstill."""


class NoLimits(NamedTuple):
    """The equations as they are, smooth everywhere: the default."""

    small_force: Annotated[N, positive] = 1e-6
    """What keeps divisions by a force or a stiffness finite, as in Pacejka's book."""
    small_speed: Annotated[m_s, positive] = 1e-6
    """What keeps divisions by a speed finite, as in Pacejka's book."""

    def limited(self, s: Slip, v_x: Any, model: Model, _ranges: Ranges) -> Slip:
        """Nothing is cut. What changes sides with the direction of travel does so through 0,
        by a quintic between -VXLOW and VXLOW; what pulls a rolling wheel aside fades with its
        square, so that a wheel at rest is left alone."""
        t = clip(v_x * (1.0 / low_speed(self, model)), -1.0, 1.0)
        t2 = t * t
        direction = t * (1.875 + t2 * (0.375 * t2 - 1.25))
        return s._replace(direction=direction, awake=direction * direction)

    def pressure(self, p: Pa, _ranges: Ranges) -> Pa:
        """Inflation pressure: as it is."""
        return p

    def curvature(self, E: one) -> one:
        """The curvature factor: as it is."""
        return E

    def rolling(self, w: Any, _v_x: Any, model: Model) -> one:
        """Sense of the rolling resistance from the circumferential speed of the wheel."""
        return clip(w * (1.0 / low_speed(self, model)), -1.0, 1.0)


class UsualLimits(NamedTuple):
    """What usual solvers do: inputs cut at their ranges, slip and shifts reduced at low speed.

    It has jumps: of the residual torque at zero load, and at zero speed where there is slip.
    """

    small_force: Annotated[N, positive] = 1e-6
    """What keeps divisions by a force or a stiffness finite, as in Pacejka's book."""
    small_speed: Annotated[m_s, positive] = 1e-6
    """What keeps divisions by a speed finite, as in Pacejka's book."""

    def limited(self, s: Slip, v_x: Any, model: Model, ranges: Ranges) -> Slip:
        """Inputs after the rules for low speed and within their ranges."""
        speed, low = absolute(v_x), low_speed(self, model)
        slow = minimum(speed / low, 1.0)
        awake = where(speed <= low, 0.5 * (1.0 - cos(PI / low * v_x)), 1.0)
        d = sign1(v_x)
        cos_alpha = cos(s.alpha)
        w = speed * (1.0 + absolute(sin(s.alpha) / cos_alpha))
        alpha = s.alpha * minimum(w / low, 1.0)
        load = minimum(s.F_z, ranges.FZMAX)
        floor = where(load > 0.0, where(load < ranges.FZMIN, ranges.FZMIN, load), 0.0)
        return s._replace(
            F_z=load,
            F_least=floor,
            kappa=d * clip(d * s.kappa * slow, ranges.KPUMIN, ranges.KPUMAX),
            alpha=clip(alpha, ranges.ALPMIN, ranges.ALPMAX),
            gamma=clip(s.gamma, ranges.CAMMIN, ranges.CAMMAX),
            phi_t=s.phi_t * cos_alpha * slow,
            direction=d,
            awake=awake,
        )

    def pressure(self, p: Pa, ranges: Ranges) -> Pa:
        """Inflation pressure within its range."""
        return clip(p, ranges.PRESMIN, ranges.PRESMAX)

    def curvature(self, E: one) -> one:
        """The curvature factor: at most 1."""
        return minimum(E, 1.0)

    def rolling(self, w: Any, v_x: Any, model: Model) -> one:
        """Sense of the rolling resistance. Where the wheel turns against its motion, the limit of
        the ramp mixes units, as in the programs that have this rule."""
        d, low = sign1(v_x), low_speed(self, model)
        forward = d * w
        metre_per_second = 1e6 * self.small_speed
        backwards = -low - (low - metre_per_second) * absolute(v_x) / metre_per_second
        ramp = minimum(forward * (1.0 / low), 1.0)
        return d * where(forward < backwards, -1.0, ramp)


def low_speed(limits: NoLimits | UsualLimits, model: Model) -> m_s:
    """Speed below which a wheel counts as slow; above 0 whatever the file says."""
    return maximum(model.VXLOW, 1e3 * limits.small_speed)


class PlainAngles(NamedTuple):
    """Slip angle and camber enter as they are: what the usual solvers do, and the default."""


class BookAngles(NamedTuple):
    """Tangent of the slip angle and sine of camber in their place: as in Pacejka's book."""


class Combined(NamedTuple):
    """Longitudinal slip and slip angle weaken each other by the R coefficients."""


class Uncombined(NamedTuple):
    """Each force and moment as if the other slip were 0."""


class FrictionEllipse(NamedTuple):
    """Forces share friction as in an ellipse: for files without R coefficients."""
