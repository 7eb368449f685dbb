"""Loads of two axles while the car is accelerated at a given rate."""

from __future__ import annotations

from typing import NamedTuple

from ..ops import maximum
from ..units import N, kg, m, m_s2


class AxleLoads(NamedTuple):
    """Load on each axle."""

    front: N
    rear: N


def pitch_loads(a: m_s2, mass: kg, g: m_s2, l_f: m, l_r: m, h: m) -> AxleLoads:
    """Loads by the pitch balance of a mass at height `h`; negative where an axle would lift."""
    # Rounded in upstream's order: a stiff car at walking pace magnifies the last bit.
    wheelbase = l_f + l_r
    moved = mass * a * h
    return AxleLoads((mass * g * l_r - moved) / wheelbase, (mass * g * l_f + moved) / wheelbase)


def on_road(F_z: N) -> N:
    """A load, 0 for a wheel or an axle in the air: a tyre cannot pull at the road."""
    return maximum(F_z, 0.0)
