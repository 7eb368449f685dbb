"""Springs, dampers, anti-roll bars and stops between a wheel and the body.

Travel is positive when wheel and body approach each other (bump), and so is its rate; a force is
positive when it pushes them apart. A spring and a stop have `force(travel)` and `energy(travel)`, a
damper has `force(rate)`. `Corner` puts them together by class: `corner(spring=..., damper=...)`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import smooth_abs
from ..units import J, N, N_m, N_m2, N_m3, N_s_m, m, m_s, non_negative, one, positive
from .assembly import assembled
from .ramp import ramp, ramp_integral

__all__ = [
    "AntiRollBar",
    "BumpStop",
    "Corner",
    "KneedDamper",
    "LinearDamper",
    "LinearSpring",
    "Linkage",
    "NoStop",
    "ProgressiveSpring",
    "corner",
    "corner_energy",
    "corner_force",
    "corner_loss",
]


class LinearSpring(NamedTuple):
    """A spring whose force grows with its travel alike everywhere."""

    k: Annotated[N_m, positive] = 25000.0
    """Stiffness."""
    F_0: N = 0.0
    """Force at travel 0."""

    def force(self, travel: m) -> N:
        """F_0 + k z."""
        return self.F_0 + self.k * travel

    def energy(self, travel: m) -> J:
        """Beyond that at travel 0."""
        return travel * (self.F_0 + (0.5 * self.k) * travel)


class ProgressiveSpring(NamedTuple):
    """A spring that becomes stiffer: k + 2 k_2 z + 3 k_3 z². That must be positive wherever it
    is used."""

    k: Annotated[N_m, positive] = 25000.0
    """Stiffness at travel 0."""
    k_2: N_m2 = 0.0
    """Force per squared travel: stiffer in bump and softer in rebound."""
    k_3: Annotated[N_m3, non_negative] = 0.0
    """Force per cubed travel: stiffer both ways."""
    F_0: N = 0.0
    """Force at travel 0."""

    def force(self, travel: m) -> N:
        """F_0 + k z + k_2 z² + k_3 z³."""
        return self.F_0 + travel * (self.k + travel * (self.k_2 + self.k_3 * travel))

    def energy(self, travel: m) -> J:
        """Beyond that at travel 0."""
        cubic = (1.0 / 3.0) * self.k_2 + (0.25 * self.k_3) * travel
        return travel * (self.F_0 + travel * (0.5 * self.k + cubic * travel))


class LinearDamper(NamedTuple):
    """A damper with one slope."""

    c: Annotated[N_s_m, non_negative] = 1500.0
    """Force per rate."""

    def force(self, rate: m_s) -> N:
        """Against the rate: positive in bump."""
        return self.c * rate


class KneedDamper(NamedTuple):
    """A damper with slopes for bump and rebound, each lower beyond its knee."""

    c_bump: Annotated[N_s_m, non_negative] = 1200.0
    """Slope of slow bump."""
    c_rebound: Annotated[N_s_m, non_negative] = 2400.0
    """Slope of slow rebound."""
    c_bump_fast: Annotated[N_s_m, non_negative] = 500.0
    """Slope beyond the knee of bump."""
    c_rebound_fast: Annotated[N_s_m, non_negative] = 900.0
    """Slope beyond the knee of rebound."""
    v_bump: Annotated[m_s, positive] = 0.1
    """Rate of the knee of bump."""
    v_rebound: Annotated[m_s, positive] = 0.1
    """Rate of the knee of rebound, as a positive number."""
    width: Annotated[m_s, positive] = 0.02
    """Rate over which slopes pass into each other."""

    def force(self, rate: m_s) -> N:
        """Against the rate, 0 at rest, and never falling with it."""
        slow = self.c_bump * self._bend(rate, 0.0) - self.c_rebound * self._bend(-rate, 0.0)
        bump = (self.c_bump_fast - self.c_bump) * self._bend(rate, self.v_bump)
        rebound = (self.c_rebound_fast - self.c_rebound) * self._bend(-rate, self.v_rebound)
        return slow + bump - rebound

    def _bend(self, rate: m_s, knee: m_s) -> m_s:
        """The rate beyond a knee, smoothly; 0 at rest."""
        beyond, at_rest = rate - knee, smooth_abs(-knee + 0.0 * rate, self.width) - knee
        return 0.5 * (beyond + smooth_abs(beyond, self.width) - at_rest)


class AntiRollBar(NamedTuple):
    """A bar that takes up a difference in travel between the wheels of an axle."""

    k: Annotated[N_m, non_negative] = 0.0
    """Force on each wheel per difference in travel; k track² is its moment per rad of roll."""

    def force(self, travel: m, other: m) -> N:
        """On the wheel with `travel`; the other one has the opposite."""
        return self.k * (travel - other)

    def energy(self, travel: m, other: m) -> J:
        """Of the whole bar."""
        return (0.5 * self.k) * ((travel - other) * (travel - other))


class NoStop(NamedTuple):
    """In place of a stop: there is none."""

    def force(self, travel: m) -> N:
        """None."""
        return 0.0

    def energy(self, travel: m) -> J:
        """None."""
        return 0.0


class BumpStop(NamedTuple):
    """A spring that begins where a gap is used up: none below gap - width, k (z - gap) above gap +
    width, smooth between."""

    gap: m = 0.06
    """Travel to the stop."""
    k: Annotated[N_m, positive] = 150000.0
    """Stiffness of the stop."""
    width: Annotated[m, positive] = 0.01
    """Travel over which it comes in."""

    def force(self, travel: m) -> N:
        """Only pushes."""
        return self.k * ramp(travel - self.gap, self.width)

    def energy(self, travel: m) -> J:
        """Beyond that of a free stop."""
        return self.k * ramp_integral(travel - self.gap, self.width)


class Linkage(NamedTuple):
    """What is between the wheel and its spring, damper and stops."""

    ratio: Annotated[one, positive] = 1.0
    """Travel of the spring over that of the wheel: the wheel rate is the stiffness times its
    square."""


class Corner(NamedTuple):
    """What holds a wheel; made by `corner`."""

    linkage: Linkage
    """Between the wheel and the elements."""
    spring: Any
    """Carries the body."""
    damper: Any
    """Takes energy out."""
    bump_stop: Any
    """Ends the travel in bump."""
    rebound_stop: Any
    """Ends the travel in rebound; its travel counts the other way."""
    bar: AntiRollBar
    """To the other wheel, at the wheels themselves."""


def corner(
    *,
    ratio: one = 1.0,
    spring: Any = LinearSpring(),  # noqa: B008 (a tuple)
    damper: Any = LinearDamper(),  # noqa: B008
    bump_stop: Any = NoStop(),  # noqa: B008
    rebound_stop: Any = NoStop(),  # noqa: B008
    bar: AntiRollBar = AntiRollBar(),  # noqa: B008
) -> Any:
    """What holds a wheel, put together; its class follows from those of its elements."""
    return assembled(Corner(Linkage(ratio), spring, damper, bump_stop, rebound_stop, bar))


def corner_force(held: Any, travel: m, rate: m_s, other: m) -> N:
    """Force between wheel and body at the wheel; `other` is the travel of the axle's other wheel.

    A corner without a partner has its own travel there.
    """
    i = held.linkage.ratio
    z = i * travel
    stops = held.bump_stop.force(z) - held.rebound_stop.force(-z)
    inner = held.spring.force(z) + held.damper.force(i * rate) + stops
    return i * inner + held.bar.force(travel, other)


def corner_energy(held: Any, travel: m, other: m) -> J:
    """What spring and stops store, and half of what the bar does."""
    z = held.linkage.ratio * travel
    stops = held.bump_stop.energy(z) + held.rebound_stop.energy(-z)
    return held.spring.energy(z) + stops + 0.5 * held.bar.energy(travel, other)


def corner_loss(held: Any, rate: m_s) -> Any:
    """Power that the damper takes, in W; never negative."""
    v = held.linkage.ratio * rate
    return held.damper.force(v) * v
