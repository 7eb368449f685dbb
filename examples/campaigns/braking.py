"""Braking distances, as `braking.yaml` calls them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skidpad import units as si
from skidpad.random import Draw

GRAVITY = 9.81


def stop(v: si.m_s, mu: si.one, draw: Draw) -> dict[str, NDArray[np.float64]]:
    """Way and time until a car stands whose driver takes about a second to react."""
    reaction = 0.8 + 0.4 * draw.uniform()[:, 0]
    braking = v / (mu * GRAVITY)
    return {"distance": v * reaction + 0.5 * v * braking, "time": reaction + braking}
