"""What outer rings add to the objects of inner ones.

A vehicle offers `vehicle.casadi()`, a trajectory `trajectory.plot()`: the code of these lies
further out, where an inner ring must not import from. So the object asks for it by name, and the
package's own `__init__`, which lies outside all rings, says where each name is at home.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_homes: dict[str, str] = {}


def connect(homes: Mapping[str, str]) -> None:
    """Say where names are at home: `{"Trajectory.plot": "skidpad.plots.run:plot"}`."""
    _homes.update(homes)


def outer(name: str) -> Any:
    """The function of this name, from the ring that has it."""
    module, _, attribute = _homes[name].partition(":")
    return getattr(import_module(module), attribute)
