"""What commands have in common that take a vehicle, a world file or something else of a name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidValue

Params = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Parameters in YAML or JSON; later files win."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter in SI, or tyre=FILE. May be repeated."
    ),
]

NOT_GIVEN: tuple[Any, ...] = (None, False, (), {})
"""Values of options that were not given."""


def refuse(options: Mapping[str, Any], owner: str) -> None:
    """Raise if one of these options was given, which go with something else."""
    name = next((name for name, value in options.items() if value not in NOT_GIVEN), None)
    if name is not None:
        option = {"variables": "var"}.get(name, name).replace("_", "-")
        raise InvalidValue(f"--{option} goes with {owner}")


def is_vehicle(target: str) -> bool:
    """Whether a text names a vehicle: a listed one, one with a parameter set, or `module:name`."""
    from ..by_text import is_own

    return target.partition(":")[0] in vehicle_names() or is_own(target)


def vehicle_names() -> list[str]:
    """All vehicles, with Autoware's models."""
    from .. import vehicles
    from ..vehicles.autoware import NAMES

    return [*vehicles.names(), *NAMES]
