"""`skidpad bench`: speed and accuracy on this machine, compared with the alternatives.

A group is a function `entries(budget)` in a module of this package, on a GPU
`entries(budget, plants)`; `GROUPS` lists them. Times are wall clock. A peer (an alternative
library) has the same model, step, precision, number of threads and random inputs, and both report
the error of their end state relative to a precise reference solution.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidValue
from . import timing as budgets
from .timing import Budget, Entry, machine, versions

__all__ = ["main"]


class Group(NamedTuple):
    module: str
    device: str = "cpu"
    """Device: "cpu" or "cuda"."""
    function: str = "entries"


GROUPS = {
    "core": Group(".core"),
    "planning": Group(".planning"),
    "lidar": Group(".world", function="lidar_entries"),
    "world": Group(".world"),
    "uncertainty": Group(".planning", function="commonroad_entries"),
    "viewer": Group(".viewer"),
    "ros2": Group(".ros2"),
    "tyres": Group(".cars", function="tyre_entries"),
    "proving_ground": Group(".campaigns", function="manoeuvre_entries"),
    "estimators": Group(".estimators"),
    "identify": Group(".estimators", function="fit_entries"),
    "lap": Group(".lap"),
    "cars": Group(".cars"),
    "campaigns": Group(".campaigns"),
    "learn": Group(".learn"),
    "export": Group(".export"),
    "gpu": Group(".gpu", "cuda"),
    "learn_gpu": Group(".learn", "cuda", "gpu_entries"),
}


def main(
    group: str | None = None,
    *,
    device: str | None = None,
    plants: Path | None = None,
    as_json: bool = False,
    quick: bool = False,
) -> None:
    """Measure one group, or all groups of a device, and print a table or one JSON object.

    Args:
        group: name of a group; None for all groups of the device.
        device: "cpu" or "cuda".
        plants: folder of saved vehicles, for a GPU machine without CasADi.
        as_json: print JSON and nothing else.
        quick: smaller sizes and fewer repetitions.
    """
    chosen = _select(group, device, plants)
    budget = budgets.QUICK if quick else budgets.FULL
    # Read the machine's load first, so that it does not include the measurement itself.
    about, libraries = _machine(GROUPS[chosen[0]].device), versions()
    entries = (entry for name in chosen for entry in measure(name, budget, plants))
    if as_json:
        listed = [entry.as_json() for entry in entries]
        document = {"machine": about, "versions": libraries, "entries": listed}
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
    else:
        budgets.show(about, libraries, entries)


def measure(group: str, budget: Budget, plants: Path | None = None) -> Iterator[Entry]:
    """Measure the entries of a group, yielding each when it is finished."""
    module: Any = import_module(GROUPS[group].module, __name__)
    arguments = (budget,) if GROUPS[group].device == "cpu" else (budget, plants)
    yield from getattr(module, GROUPS[group].function)(*arguments)


def _machine(measured_on: str) -> dict[str, Any]:
    if measured_on == "cpu":
        return machine()
    from .work import Device, described

    return {**machine(), "gpu": described(Device.of(measured_on))}


def _select(group: str | None, device: str | None, plants: Path | None) -> list[str]:
    devices = dict.fromkeys(g.device for g in GROUPS.values())
    if device is not None and device not in devices:
        raise InvalidValue(f"device = {device!r} is unknown; allowed are {', '.join(devices)}")
    if group is None:
        chosen = [name for name, g in GROUPS.items() if g.device == (device or "cpu")]
    elif group not in GROUPS:
        raise InvalidValue(f"group = {group!r} is unknown; allowed are {', '.join(GROUPS)}")
    elif device not in (None, GROUPS[group].device):
        raise InvalidValue(
            f"group = {group!r} is measured on device = {GROUPS[group].device!r}, not {device!r}"
        )
    else:
        chosen = [group]
    if plants is not None and GROUPS[chosen[0]].device == "cpu":
        raise InvalidValue("--plants is for device = 'cuda'; on the CPU the vehicle is traced")
    return chosen
