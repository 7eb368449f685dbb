"""Round numbers along an axis."""

from __future__ import annotations

import numpy as np

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def ticks(low: float, high: float, most: int = 5, log: bool = False) -> list[float]:
    """At most so many round numbers from low to high; 1, 2, 5 times powers of ten for `log`."""
    if not (np.isfinite([low, high]).all() and high > low):
        return []
    if log:
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            found = [f * p for p in powers for f in factors if low <= f * p <= high]
            if len(found) <= most + 1:
                break
        return found
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * (1.0 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]
