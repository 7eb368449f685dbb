"""What commands have in common that take a vehicle, a world file or something else of a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidValue

NOT_GIVEN: tuple[Any, ...] = (None, False, (), {})
"""Values of options that were not given."""


def refuse(options: Mapping[str, Any], owner: str) -> None:
    """Raise if one of these options was given, which go with something else."""
    name = next((name for name, value in options.items() if value not in NOT_GIVEN), None)
    if name is not None:
        option = {"variables": "var"}.get(name, name).replace("_", "-")
        raise InvalidValue(f"--{option} goes with {owner}")


def vehicle_names() -> list[str]:
    """All vehicles, with Autoware's models."""
    from .. import vehicles
    from ..vehicles.autoware import NAMES

    return [*vehicles.names(), *NAMES]
