"""From rolling to sliding: a slow car follows its wheels, a fast one its forces.

Tyre forces as functions of slip are stiff at walking pace and undefined at rest. Below `v_kin` a
car moves as its wheels point, above `v_dyn` as its tyres push, and in between as a mixture of both
rates. Above `v_dyn` the mixture is the dynamic rate to the last bit.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..ops import abs, clip, smooth_step, where
from ..units import m_s, one, rad_s, s


class Blend(Protocol):
    """Parameters of the mixture."""

    @property
    def v_kin(self) -> m_s:
        """Speed up to which the wheels alone lead the car."""
        ...

    @property
    def v_dyn(self) -> m_s:
        """Speed from which the tyre forces alone move it."""
        ...

    @property
    def t_kin(self) -> s:
        """Time in which a slow car gets into line with its wheels."""
        ...


def dynamic_share(v: m_s, p: Blend) -> one:
    """How much of the motion the tyre forces decide: 0 up to v_kin, 1 from v_dyn, either way."""
    # By the squared speed, which unlike the speed is smooth at rest.
    return smooth_step(v * v, p.v_kin * p.v_kin, p.v_dyn * p.v_dyn)


def mixed(share: one, dynamic: Any, kinematic: Any) -> Any:
    """The mixture; `dynamic` alone where the share is 1."""
    return share * dynamic + (1.0 - share) * kinematic


def led(value: Any, goal: Any, goal_rate: Any, t: s) -> Any:
    """Rate of a value that is led along a moving goal and closes in on it with time constant t.

    Integrating the goal's rate alone would keep an error for ever that was made once.
    """
    return goal_rate + (goal - value) * (1.0 / t)


def held_sign(omega: rad_s, omega_lock: rad_s) -> one:
    """The sign of a spin, smooth through zero: ±1 exactly beyond ±`omega_lock`.

    A brake resists the turning of its wheel and holds it at rest; the odd quintic t (15 - 10 t² +
    3 t⁴) / 8 takes the jump out of that.
    """
    t = clip(omega * (1.0 / omega_lock), -1.0, 1.0)
    t2 = t * t
    return t * (0.125 * (15.0 - t2 * (10.0 - 3.0 * t2)))


def above_zero(x: Any, width: Any) -> Any:
    """|x| to divide by: exactly |x| beyond ±`width`, and never below 3/8 of it.

    width (3 + 6 t² - t⁴) / 8 with t = x / width is twice continuously differentiable at the seam.
    """
    t2 = x * x / (width * width)
    return where(t2 < 1.0, width * (0.125 * (3.0 + t2 * (6.0 - t2))), abs(x))
