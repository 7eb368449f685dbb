"""Cosines and sines of many angles, with the same bits on the CPU and on a GPU."""

from __future__ import annotations

from typing import Any

from ...compile.elementary.coefficients import COS, HALF_PI, SIN, TWO_OVER_PI
from .cuda_text import ROUNDER
from .lanes import fma, kernel

S0, S1, S2, S3, S4, S5 = SIN["float64"]
C0, C1, C2, C3, C4, C5, C6 = COS["float64"]
P0, P1, P2 = HALF_PI["float64"]
PER_QUADRANT = TWO_OVER_PI["float64"][0]


@kernel("void(float64[::1], float64[::1], float64[::1])")
def fill_units(angles: Any, cos: Any, sin: Any) -> None:
    """Cosines and sines of angles in rad, each within an ulp or so."""
    for at in range(len(angles)):
        n = fma(angles[at], PER_QUADRANT, ROUNDER) - ROUNDER
        r = fma(n, -P2, fma(n, -P1, fma(n, -P0, angles[at])))
        z = r * r
        s = fma(fma(fma(fma(fma(S0, z, S1), z, S2), z, S3), z, S4), z, S5)
        sine = fma(r * z, s, r)
        c = fma(fma(fma(fma(fma(fma(C0, z, C1), z, C2), z, C3), z, C4), z, C5), z, C6)
        cosine = fma(c, z, 1.0)
        quadrant = int(n) & 3
        if quadrant & 1:
            cosine, sine = -sine, cosine
        if quadrant & 2:
            cosine, sine = -cosine, -sine
        cos[at], sin[at] = cosine, sine
