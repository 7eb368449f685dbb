"""Figures for papers and notebooks, each with one call.

    plots.compare(lap_1, lap_2)
    plots.gg(lap, limit=car)
    plots.bode(car, speed=[10.0, 20.0, 30.0], path="bode.pdf")

All take `path` (PNG, SVG or PDF by its suffix), `title` and `size` (width and height in inches) and
return a Matplotlib figure. Angles are in degrees on screen, in radians in arguments. The picture to
zoom and point at is the replay page: `run.show(car)` in a notebook, `Film.to_html` for a file.

Matplotlib is loaded with the first figure (`pip install "skidpad[plots]"`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .figures.bode import bode
    from .figures.compare import compare
    from .figures.fan import fan
    from .figures.gg import gg
    from .figures.path import path
    from .figures.phase_portrait import phase_portrait
    from .figures.trajectory import trajectory
    from .figures.tyre_curves import tyre_curves
    from .numbers.frequency_response import steering_response

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "numbers.frequency_response" if name == "steering_response" else f"figures.{name}"
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
