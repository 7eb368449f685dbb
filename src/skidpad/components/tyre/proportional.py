"""The lateral Magic Formula with grip in proportion to load.

The cars of `car_state` take their tyre by the class of the record `tyre` among their parameters. It
has a peak friction coefficient `D` and `friction(alpha)`, the lateral force per load at a slip
angle: with the sign of `alpha`, never above `D`, smooth at 0.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import atan, sin
from ...units import Allowed, N, N_rad, non_negative, one, positive, rad

__all__ = ["MagicFormula", "cornering_stiffness", "friction"]


class MagicFormula(NamedTuple):
    """Lateral Magic Formula coefficients, constant over load and without offsets.

    The defaults are those of the brains2 project's car (`car_constants.yaml`, lateral set).
    """

    B: Annotated[one, positive] = 14.550048996411983
    """Stiffness factor. Cornering stiffness is `B * C * D * F_z`, in N/rad."""
    C: Annotated[one, Allowed(0.0, 2.0, open_low=True)] = 1.57
    """Shape factor. Above 1 the curve falls after its peak; above 2 it would change sign."""
    D: Annotated[one, non_negative] = 1.655492775
    """Peak friction coefficient."""
    E: Annotated[one, Allowed(high=1.0)] = 0.5464720000000001
    """Curvature factor. Above 1 the curve would fold back and change sign at large slip."""

    def friction(self, alpha: rad) -> one:
        """Lateral force per load at a slip angle, with the sign of `alpha` and never above `D`.

        Pacejka, Tyre and Vehicle Dynamics, 3rd ed., eq. 4.49 without offsets, divided by the load.
        """
        s = self.B * alpha
        return self.D * sin(self.C * atan(s - self.E * (s - atan(s))))


def friction(alpha: rad, tyre: Any) -> one:
    """Lateral force per load at a slip angle, for any tyre."""
    return tyre.friction(alpha)


def cornering_stiffness(F_z: N, p: MagicFormula) -> N_rad:
    """Slope of the lateral force over slip angle at zero slip, for a tyre under load `F_z`."""
    return p.B * p.C * p.D * F_z
