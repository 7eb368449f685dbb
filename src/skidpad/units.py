"""Unit aliases for record fields and kernel arguments; SI only.

`m_s` is `Annotated[float, Unit(...)]`: a type checker sees a float, `record.fields` the unit. An
angle is dimensionless in SI; `rad` has its own symbol so that tables and plots can show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

__all__ = ["A", "Allowed", "J", "N", "N_s_m", "Nm", "Pa", "Unit", "V", "W", "drifting", "kg"]
__all__ += ["kg_m2", "m", "m_s", "m_s2", "non_negative", "one", "per_m", "per_s", "positive"]
__all__ += ["rad", "rad_s", "rad_s2", "s"]


@dataclass(frozen=True)
class Unit:
    """A unit: its symbol as printed and its exponents of metre, kilogram and second."""

    symbol: str
    length: float = 0.0
    mass: float = 0.0
    time: float = 0.0

    @property
    def dimension(self) -> tuple[float, float, float]:
        """Exponents of (metre, kilogram, second)."""
        return (self.length, self.mass, self.time)

    def behind(self, number: str) -> str:
        """Format a number with its unit; a dimensionless number has no symbol."""
        return number if self.symbol == "1" else f"{number} {self.symbol}"

    def __str__(self) -> str:
        return self.symbol


@dataclass(frozen=True)
class Allowed:
    """The open or closed range of a parameter; part of a field's annotation."""

    low: float = float("-inf")
    high: float = float("inf")
    open_low: bool = False
    whole: bool = False
    """Whether only integers are allowed, as for gears."""

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        return bool(above and value <= self.high and not (self.whole and value % 1.0))

    def __str__(self) -> str:
        if self.whole:
            return f"a whole number from {self.low:g} to {self.high:g}"
        if self.high == float("inf"):
            return f"{'greater than' if self.open_low else 'at least'} {self.low:g}"
        if self.low == float("-inf"):
            return f"at most {self.high:g}"
        return f"{'above' if self.open_low else 'from'} {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Drifting:
    """Type of the mark `drifting`."""


drifting = Drifting()
"""Marks a state whose rate is nonzero in steady motion, such as a charge, a temperature that
rises for minutes, or wear: `soc: Annotated[one, drifting]`. A trim keeps its value constant."""
positive = Allowed(low=0.0, open_low=True)
"""Marks a field that must be greater than zero: `m: Annotated[kg, positive]`."""
non_negative = Allowed(low=0.0)
"""Marks a field that must not be negative."""

one = Annotated[float, Unit("1")]
"""A dimensionless number."""
rad = Annotated[float, Unit("rad")]
rad_s = Annotated[float, Unit("rad/s", time=-1)]
rad_s2 = Annotated[float, Unit("rad/s²", time=-2)]
rad_m = Annotated[float, Unit("rad/m", length=-1)]
"""Angle per length, such as toe per wheel travel."""
rad_N = Annotated[float, Unit("rad/N", length=-1, mass=-1, time=2)]
"""Angle per force, as in a compliant suspension."""
rad_Nm = Annotated[float, Unit("rad/(N·m)", length=-2, mass=-1, time=2)]
m = Annotated[float, Unit("m", length=1)]
m2 = Annotated[float, Unit("m²", length=2)]
per_m = Annotated[float, Unit("1/m", length=-1)]
per_m2 = Annotated[float, Unit("1/m²", length=-2)]
s = Annotated[float, Unit("s", time=1)]
per_s = Annotated[float, Unit("1/s", time=-1)]
m_s = Annotated[float, Unit("m/s", length=1, time=-1)]
m_s2 = Annotated[float, Unit("m/s²", length=1, time=-2)]
m_s3 = Annotated[float, Unit("m/s³", length=1, time=-3)]
kg = Annotated[float, Unit("kg", mass=1)]
kg_m2 = Annotated[float, Unit("kg·m²", length=2, mass=1)]
kg_m3 = Annotated[float, Unit("kg/m³", length=-3, mass=1)]
"""Density."""
N = Annotated[float, Unit("N", length=1, mass=1, time=-2)]
Nm = Annotated[float, Unit("N·m", length=2, mass=1, time=-2)]
N_rad = Annotated[float, Unit("N/rad", length=1, mass=1, time=-2)]
N_Nm = Annotated[float, Unit("N/(N·m)", length=-1)]
"""Force per torque, such as 1/r for a wheel of radius r driven without slip."""
N_s_m = Annotated[float, Unit("N·s/m", mass=1, time=-1)]
N_s2_m2 = Annotated[float, Unit("N·s²/m²", length=-1, mass=1)]
N_m = Annotated[float, Unit("N/m", mass=1, time=-2)]
N_m2 = Annotated[float, Unit("N/m²", length=-1, mass=1, time=-2)]
"""Increase of a spring's stiffness per length."""
N_m3 = Annotated[float, Unit("N/m³", length=-2, mass=1, time=-2)]
"""Increase of a spring's stiffness per squared length."""
m_N = Annotated[float, Unit("m/N", mass=-1, time=2)]
Pa = Annotated[float, Unit("Pa", length=-1, mass=1, time=-2)]
"""Pressure."""
J = Annotated[float, Unit("J", length=2, mass=1, time=-2)]
Nm_s = Annotated[float, Unit("N·m/s", length=2, mass=1, time=-3)]
Nm_rad = Annotated[float, Unit("N·m/rad", length=2, mass=1, time=-2)]
"""Torsional stiffness."""
Nm_s_rad = Annotated[float, Unit("N·m·s/rad", length=2, mass=1, time=-1)]
"""Torsional damping: torque per angular rate."""
W = Annotated[float, Unit("W", length=2, mass=1, time=-3)]
"""Power."""
W_Nm2 = Annotated[float, Unit("W/(N²·m²)", length=-2, mass=-1, time=1)]
"""Power loss of a motor per squared torque."""
# The ampere counts as a pure number: volts and ohms then have the exponents of a power, and
# equations of power, torque and charge still balance.
A = Annotated[float, Unit("A")]
A_s = Annotated[float, Unit("A·s", time=1)]
"""Charge."""
V = Annotated[float, Unit("V", length=2, mass=1, time=-3)]
Ohm = Annotated[float, Unit("Ω", length=2, mass=1, time=-3)]
Nm_A = Annotated[float, Unit("N·m/A", length=2, mass=1, time=-2)]
"""Torque constant of a motor: torque per current."""
per_m_s = Annotated[float, Unit("1/(m·s)", length=-1, time=-1)]
"""Rate of change of curvature."""
