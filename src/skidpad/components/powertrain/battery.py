"""Where electric power comes from: a battery with its state of charge, or a plain supply.

Open-circuit voltage over charge and an inner resistance: V = ocv - R I. A power P at the terminals
takes the current I with ocv I - R I² = P. Stored energy is charge times the integral of the
voltage, so that its rate is -ocv I = -(P + R I²) exactly.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...brief import brief_repr
from ...ops import maximum, minimum, smooth_step, sqrt
from ...units import A, A_s, Allowed, J, Ohm, V, W, drifting, non_negative, one, per_s, positive
from ..assembly import NoStates
from ..table import curve, curve_integral, on_curve

__all__ = [
    "Battery",
    "Charge",
    "Pack",
    "PowerFlow",
    "PowerLimits",
    "Supply",
    "Terminals",
    "voltage_curve",
]

SHORT: one = 0.45
"""Current over that of a short circuit that a battery never exceeds: at one half its power is
largest, and more current gives less."""


class PowerLimits(NamedTuple):
    """Power that may be drawn and given back, both at least 0."""

    discharge: W
    charge: W


class PowerFlow(NamedTuple):
    """What a power at the terminals does."""

    rates: Any
    """Of the states."""
    source: W
    """Power that the stored charge gives."""
    lost: W
    """Power that becomes heat inside."""
    shown: Any
    """Outputs."""


class Charge(NamedTuple):
    """State of a battery."""

    soc: Annotated[one, drifting] = 0.8
    """State of charge: 0 is empty, 1 is full."""


class Terminals(NamedTuple):
    """What is measured at the terminals of a battery."""

    I_battery: A
    """Current, negative while it is charged."""
    V_battery: V
    """Voltage; times the current it is the power drawn."""


class Supply(NamedTuple):
    """Power without end, up to a limit."""

    P_max: Annotated[W, positive] = 80e3
    """Largest power drawn."""
    P_charge: Annotated[W, non_negative] = 40e3
    """Largest power given back."""

    States = NoStates
    Outputs = NoStates

    def limits(self, x: NoStates) -> PowerLimits:
        """The same at all times."""
        return PowerLimits(self.P_max, self.P_charge)

    def flow(self, x: NoStates, P: W) -> PowerFlow:
        """Without any loss."""
        return PowerFlow(NoStates(), P, 0.0 * P, NoStates())


class Pack(NamedTuple):
    """Numbers of a battery."""

    R: Annotated[Ohm, positive] = 0.08
    """Inner resistance."""
    Q: Annotated[A_s, positive] = 60e3
    """Charge when full, in ampere seconds: 3600 of them are 1 Ah."""
    I_max: Annotated[A, positive] = 300.0
    """Largest current drawn."""
    I_charge: Annotated[A, non_negative] = 120.0
    """Largest current given back."""
    P_max: Annotated[W, positive] = 80e3
    """Largest power drawn at the terminals."""
    P_charge: Annotated[W, non_negative] = 40e3
    """Largest power given back at the terminals."""
    soc_low: Annotated[one, Allowed(0.001, 0.5)] = 0.02
    """Charge below which less and less is given, and as near to full less and less is taken."""


def voltage_curve(socs: Any, volts: Any) -> Any:
    """Open-circuit voltage in V over the state of charge, straight between points."""
    return curve(socs, volts, (one, V))


class Battery(NamedTuple):
    """A battery; the default is one of a race car: 400 V, 6.7 kWh."""

    ocv: Any = voltage_curve((0.0, 0.1, 0.9, 1.0), (340.0, 380.0, 420.0, 440.0))
    """See `voltage_curve`."""
    pack: Pack = Pack()

    __repr__ = brief_repr

    States = Charge
    Outputs = Terminals

    def voltage(self, x: Charge) -> V:
        """Open-circuit voltage."""
        return on_curve(x.soc, self.ocv)

    def stored(self, x: Charge) -> J:
        """Energy above that of the empty battery."""
        return self.pack.Q * (curve_integral(x.soc, self.ocv) - curve_integral(0.0, self.ocv))

    def limits(self, x: Charge) -> PowerLimits:
        """What currents, powers and the state of charge allow."""
        p, ocv = self.pack, self.voltage(x)
        I_max = minimum(p.I_max, SHORT * ocv * (1.0 / p.R))
        discharge = minimum(p.P_max, (ocv - p.R * I_max) * I_max)
        charge = minimum(p.P_charge, (ocv + p.R * p.I_charge) * p.I_charge)
        left = smooth_step(x.soc, 0.0, p.soc_low)
        room = smooth_step(1.0 - x.soc, 0.0, p.soc_low)
        return PowerLimits(left * discharge, room * charge)

    def current(self, x: Charge, P: W) -> A:
        """Current at a power drawn, which is within the limits; negative while it is charged."""
        ocv = self.voltage(x)
        square = ocv * ocv
        least = (1.0 - 2.0 * SHORT) * (1.0 - 2.0 * SHORT) * square
        return 2.0 * P / (ocv + sqrt(maximum(square - 4.0 * self.pack.R * P, least)))

    def rate(self, current: A) -> per_s:
        """Rate of the state of charge."""
        return -current * (1.0 / self.pack.Q)

    def flow(self, x: Charge, P: W) -> PowerFlow:
        """Charge, source and loss while a power is drawn."""
        current = self.current(x, P)
        ocv = self.voltage(x)
        drop = self.pack.R * current
        shown = Terminals(current, ocv - drop)
        return PowerFlow(Charge(self.rate(current)), ocv * current, drop * current, shown)
