"""Tyres that come with skidpad, as property files with invented numbers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..errors import InvalidValue
from ..record import unknown_name
from .reading import read
from .tyre import Tyre

__all__ = ["get", "names"]

FOLDER = Path(__file__).parent / "sets"


@cache
def names() -> tuple[str, ...]:
    """Names of the tyres that come with skidpad, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.tir")))


def get(name: str) -> Tyre:
    """A tyre that comes with skidpad: `"passenger_car"`, `"race_slick"` or `"robot"`.

    Their numbers are invented and plausible; each file says what for.
    """
    if name not in names():
        raise InvalidValue(unknown_name("skidpad", name, names(), "tyre"))
    return _kept(name)


@cache
def _kept(name: str) -> Tyre:
    return read(FOLDER / f"{name}.tir")
