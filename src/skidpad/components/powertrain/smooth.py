"""Smooth laws that parts of a powertrain share: limits with round knees, friction at rest."""

from __future__ import annotations

from typing import Any

from ...ops import smooth_hypot, sqrt
from ...units import Nm, W, one, rad_s

__all__ = ["friction_side", "saturated", "share_within", "within_power"]


def friction_side(spin: Any, width: Any) -> one:
    """The sign of a speed, smooth over about `width`: from -1 to 1, and 0 at rest."""
    return spin / smooth_hypot(spin, 0.0, width)


def saturated(x: Any) -> Any:
    """x for small x, towards ±1 for large: the friction of a clutch over its slip."""
    return x / sqrt(1.0 + x * x)


def share_within(asked: W, P: W, knee: one) -> one:
    """The share of a power that keeps it within a limit, with a round knee: `within_power`."""
    apart = asked - P
    return 2.0 * P / (asked + P + sqrt(apart * apart + (4.0 * knee * knee) * (asked * P)))


def within_power(tau: Nm, P: W, spin: rad_s, knee: one, width: rad_s) -> Nm:
    """The smaller of a torque and what a power gives at this speed, never above either.

    Where the two are equal it is short of them by the share knee / (1 + knee); at rest it is the
    torque, but for `width`, a speed that keeps it smooth there. Torque and power are at least 0,
    one of them greater.
    """
    asked = tau * smooth_hypot(spin, 0.0, width)
    apart = asked - P
    root = sqrt(apart * apart + (4.0 * knee * knee) * (asked * P))
    return 2.0 * (tau * P) / (asked + P + root)
