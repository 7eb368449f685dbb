"""Figures for papers and notebooks, each with one call.

    plots.compare(lap_1, lap_2)
    plots.gg(lap, limit=car)
    plots.bode(car, speed=[10.0, 20.0, 30.0], path="bode.pdf")

All take `path` (PNG, SVG or PDF by its suffix), `title` and `size` (width and height in inches) and
return a Matplotlib figure. Angles are in degrees on screen, in radians in arguments. For a picture
to zoom and inspect, use the replay page: `run.show(car)` in a notebook, `Film.to_html` for a file.

Matplotlib is loaded with the first figure (`pip install "skidpad[plots]"`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .comparison import compare, fan, gg
    from .handling import bode, phase_portrait, steering_response
    from .runs import path, trajectory
    from .tyres import tyre_curves

__all__ = [
    "bode",
    "compare",
    "fan",
    "gg",
    "path",
    "phase_portrait",
    "steering_response",
    "trajectory",
    "tyre_curves",
]


__getattr__ = lazy_attributes(
    __name__,
    {
        ".comparison": ("compare", "fan", "gg"),
        ".handling": ("bode", "phase_portrait", "steering_response"),
        ".runs": ("path", "trajectory"),
        ".tyres": ("tyre_curves",),
    },
)


def __dir__() -> list[str]:
    return __all__
