"""What a Magic Formula tyre answers: the methods of its records."""

from __future__ import annotations

from typing import Any

from ....units import Pa, one
from ..contract import Contact, TyreForces
from .aligning import Forces, aligning
from .combined import weights
from .inputs import inputs, sections
from .lateral import pure_lateral
from .longitudinal import pure_longitudinal
from .moments import overturning, rolling_resistance
from .turn_slip import NO_SPIN

__all__ = ["MagicFormulaTyre"]


class MagicFormulaTyre:
    """Methods of every Magic Formula record; see `Tyre`."""

    __slots__ = ()

    model: Any
    operating: Any

    @property
    def measured_on(self) -> one:
        """Side of the car on which the tyre was measured: 1 left, -1 right."""
        return self.model.side

    @property
    def pressure(self) -> Pa:
        """Inflation pressure where nobody says otherwise."""
        return self.operating.INFLPRES

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments on the side on which the tyre was measured."""
        k, i = sections(self), inputs(self, at)
        spin = NO_SPIN
        x = pure_longitudinal(self, k, i, spin)
        y = pure_lateral(self, k, i, i.g, spin)
        w = weights(self, k, i, x, y)
        F_x, F_y = w.G_x * x.F, w.G_y * y.F + w.S_V
        M_z = aligning(self, k, i, Forces(x, y, w, F_x, F_y), spin).M
        return TyreForces(
            F_x,
            F_y,
            overturning(self, k, i, F_y),
            rolling_resistance(self, k, i, F_x, at.kappa, at.v_x),
            M_z,
        )
